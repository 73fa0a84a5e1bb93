//! Lending: what is borrowed for the time of a call, as buffers and sources that have no lifetime.
//!
//! [`lending`] runs a call with a [`Lender`]. What the lender hands out keeps a mark of it. The call is over when all marks are gone: `lending` waits for them
//! before it returns, so nothing that was lent is seen after that, whoever has it: a thread that reads ahead, say. As with [`std::thread::scope`], an iterator that does
//! not give its next element keeps the call waiting.

#![allow(unsafe_code)] // Lifetimes end where `lending` does, which the compiler cannot see.

use crate::buffer::{Buffer, Number};
use crate::data::{Data, Form, Malformed, Offsets};
use crate::pool::Pool;
use crate::stream::{Error, Source};
use deckle_ir::scalar::ScalarType;
use std::cell::OnceCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Lends what lives as long as `'a`.
pub struct Lender<'a> {
    /// Made when something is first lent: a call with numbers only lends nothing.
    mark: OnceCell<Arc<()>>,
    threads: usize,
    of: PhantomData<fn(&'a ()) -> &'a ()>,
}

impl fmt::Debug for Lender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lender({} lent)", self.lent())
    }
}

/// How long whoever waits sleeps between two looks.
const LOOK: Duration = Duration::from_micros(50);
/// So many looks are made before anybody sleeps.
const LOOKS: usize = 100;

/// Makes a call with what is lent to it, and returns when it has all been given back. The call is one on so many threads.
pub fn lending<'a, R>(threads: usize, call: impl FnOnce(&Lender<'a>) -> R) -> R {
    /// Waits also where the call panics.
    struct Waits<'l, 'a>(&'l Lender<'a>);
    impl Drop for Waits<'_, '_> {
        fn drop(&mut self) {
            let mut looks = 0;
            while self.0.lent() > 0 {
                looks += 1;
                if looks < LOOKS { std::thread::yield_now() } else { std::thread::sleep(LOOK) }
            }
            // What others did with it before they let go of it has happened.
            std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        }
    }
    let lender = Lender { mark: OnceCell::new(), threads, of: PhantomData };
    let waits = Waits(&lender);
    let result = call(&lender);
    drop(waits);
    result
}

impl<'a> Lender<'a> {
    /// A mark for something that is lent.
    fn mark(&self) -> Arc<()> {
        self.mark.get_or_init(|| Arc::new(())).clone()
    }

    /// How much is lent and has not been given back.
    fn lent(&self) -> usize {
        self.mark.get().map_or(0, |mark| Arc::strong_count(mark) - 1)
    }

    /// On how many threads the call is made, and what is given to it may be put in order.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The elements of a slice, without copying.
    pub fn lend<T: Number>(&self, elements: &'a [T]) -> Data {
        // SAFETY: the elements are borrowed for `'a`, which does not end before `lending` returns, and that waits for the mark.
        let buffer = unsafe { Buffer::from_external(self.mark(), elements.as_ptr().cast(), size_of_val(elements)) };
        Data::all_of(T::TYPE, buffer)
    }

    /// Truth values.
    pub fn lend_bools(&self, elements: &'a [bool]) -> Data {
        // SAFETY: as above; a `bool` is a byte, 0 or 1.
        let buffer = unsafe { Buffer::from_external(self.mark(), elements.as_ptr().cast(), elements.len()) };
        Data::all_of(ScalarType::Bool, buffer)
    }

    /// Rows at offsets that were checked before, which are neither copied nor read.
    ///
    /// # Errors
    /// The offsets do not end where the elements do.
    pub fn lend_rows(&self, offsets: &'a Offsets, elements: Data) -> Result<Data, Malformed> {
        offsets.are_of(&elements)?;
        let all = offsets.as_slice();
        // SAFETY: as above.
        let buffer = unsafe { Buffer::from_external(self.mark(), all.as_ptr().cast(), size_of_val(all)) };
        // SAFETY: `Offsets` begin with 0 and do not decrease, and these end where the elements do.
        Ok(unsafe { Data::new_unchecked(all.len() - 1, Form::Offsets(buffer, Box::new(elements))) })
    }

    /// A source.
    pub fn lend_source(&self, source: Box<dyn Source + 'a>) -> Box<dyn Source> {
        // SAFETY: only the lifetime changes. What the source borrows is borrowed for `'a`, which does not end before `lending` returns; that waits for the mark, which is dropped
        // after the source.
        let source = unsafe { std::mem::transmute::<Box<dyn Source + 'a>, Box<dyn Source>>(source) };
        Box::new(Lent { source, _mark: self.mark() })
    }
}

/// A source that is lent. Its fields are dropped in this order.
struct Lent {
    source: Box<dyn Source>,
    _mark: Arc<()>,
}

impl Source for Lent {
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Data>, Error> {
        self.source.next(bytes, pool)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    #[test]
    fn what_is_lent_is_not_copied_and_has_been_given_back() {
        let xs = vec![1.5f64; 1000];
        let sum = lending(1, |lender| {
            let b = lender.lend(&xs).as_scalars().unwrap().clone();
            assert!(b.as_ptr() == xs.as_ptr().cast() && b.is_external());
            assert_eq!(lender.lend_bools(&[true, false]).as_scalars().unwrap().as_slice::<u8>(), [1, 0]);
            b.as_slice::<f64>().iter().sum::<f64>()
        });
        assert_eq!(sum, 1500.0);
    }

    #[test]
    fn a_thread_that_still_has_it_is_waited_for() {
        let (xs, done) = (vec![7i64; 10], Arc::new(AtomicBool::new(false)));
        let told = done.clone();
        lending(1, |lender| {
            let b = lender.lend(&xs).as_scalars().unwrap().clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                assert_eq!(b.as_slice::<i64>(), [7; 10]);
                told.store(true, SeqCst);
                drop(b);
            });
        });
        assert!(done.load(SeqCst));
    }

    #[test]
    fn a_call_that_panics_waits_too() {
        let (xs, done) = (vec![7i64; 10], Arc::new(AtomicBool::new(false)));
        let told = done.clone();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            lending(1, |lender| {
                let b = lender.lend(&xs).as_scalars().unwrap().clone();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(30));
                    told.store(b.len() == 80, SeqCst);
                });
                panic!("on purpose");
            })
        }));
        assert!(caught.is_err() && done.load(SeqCst));
    }
}
