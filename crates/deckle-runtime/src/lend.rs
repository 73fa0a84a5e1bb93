//! Lending: borrows data for the time of a call, as buffers and sources without a lifetime.
//!
//! [`lending`] runs a call with a [`Lender`]. Everything that the lender hands out holds a mark. The call is over when all marks are dropped: `lending` waits for them
//! before it returns, so no thread sees lent data after that, not even one that reads ahead. As with [`std::thread::scope`], an iterator that does
//! not return its next element blocks the call.

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

/// Lends data that lives as long as `'a`.
pub struct Lender<'a> {
    /// Created when something is first lent: a call with numbers only lends nothing.
    mark: OnceCell<Arc<()>>,
    threads: usize,
    of: PhantomData<fn(&'a ()) -> &'a ()>,
}

impl fmt::Debug for Lender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lender({} lent)", self.lent())
    }
}

/// How long a waiting thread sleeps between two checks.
const LOOK: Duration = Duration::from_micros(50);
/// The number of checks before a thread sleeps.
const LOOKS: usize = 100;

/// Runs a call with lent data, and returns when all of it has been given back. The call uses this many threads.
pub fn lending<'a, R>(threads: usize, call: impl FnOnce(&Lender<'a>) -> R) -> R {
    /// Also waits if the call panics.
    struct Waits<'l, 'a>(&'l Lender<'a>);
    impl Drop for Waits<'_, '_> {
        fn drop(&mut self) {
            let mut looks = 0;
            while self.0.lent() > 0 {
                looks += 1;
                if looks < LOOKS { std::thread::yield_now() } else { std::thread::sleep(LOOK) }
            }
            // Orders the accesses of other threads, before they dropped their marks, before this.
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
    /// A mark for lent data.
    fn mark(&self) -> Arc<()> {
        self.mark.get_or_init(|| Arc::new(())).clone()
    }

    /// The number of marks that have not been dropped.
    fn lent(&self) -> usize {
        self.mark.get().map_or(0, |mark| Arc::strong_count(mark) - 1)
    }

    /// The number of threads of the call, which may also prepare its arguments.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The elements of a slice, without copying.
    pub fn lend<T: Number>(&self, elements: &'a [T]) -> Data {
        // SAFETY: the elements are borrowed for `'a`, which does not end before `lending` returns, and that waits for the mark.
        let buffer = unsafe { Buffer::from_external(self.mark(), elements.as_ptr().cast(), size_of_val(elements)) };
        Data::all_of(T::TYPE, buffer)
    }

    /// Booleans.
    pub fn lend_bools(&self, elements: &'a [bool]) -> Data {
        // SAFETY: as above; a `bool` is a byte, 0 or 1.
        let buffer = unsafe { Buffer::from_external(self.mark(), elements.as_ptr().cast(), elements.len()) };
        Data::all_of(ScalarType::Bool, buffer)
    }

    /// Rows at offsets that were validated before, which are neither copied nor read.
    ///
    /// # Errors
    /// The offsets do not end at the number of elements.
    pub fn lend_rows(&self, offsets: &'a Offsets, elements: Data) -> Result<Data, Malformed> {
        offsets.are_of(&elements)?;
        let all = offsets.as_slice();
        // SAFETY: as above.
        let buffer = unsafe { Buffer::from_external(self.mark(), all.as_ptr().cast(), size_of_val(all)) };
        // SAFETY: `Offsets` begin with 0 and do not decrease, and these end at the number of elements.
        Ok(unsafe { Data::new_unchecked(all.len() - 1, Form::Offsets(buffer, Box::new(elements))) })
    }

    /// A source.
    pub fn lend_source(&self, source: Box<dyn Source + 'a>) -> Box<dyn Source> {
        // SAFETY: only the lifetime changes. The source borrows for `'a`, which does not end before `lending` returns; that waits for the mark, which is dropped
        // after the source.
        let source = unsafe { std::mem::transmute::<Box<dyn Source + 'a>, Box<dyn Source>>(source) };
        Box::new(Lent { source, _mark: self.mark() })
    }
}

/// A lent source. Its fields are dropped in this order.
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
