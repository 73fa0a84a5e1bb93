//! Whole computations: a program with its arguments, which runs where one word says.
//!
//! ```
//! use deckle::prelude::*;
//!
//! let (xs, ys) = (vec![1.0, 2.0], vec![3.0, 4.0]);
//! let dot = |xs: Arr<f64>, ys: Arr<f64>| xs.zip_with(ys, |x, y| x * y).sum();
//! assert_eq!(compute((&xs, &ys), dot).on(Cpu)?, 11.0);
//! # Ok::<(), deckle::Error>(())
//! ```

use crate::backend::Backend;
use crate::compile::{Builds, Compiled, compile};
use crate::error::Error;
use crate::host::{Hosted, Resident};
use crate::stream::Argument;
use std::marker::PhantomData;

/// A program and its arguments: [`compute`].
#[derive(Debug)]
#[must_use = "a computation runs when it is given a place: `.on(Cpu)`"]
pub struct Computation<'a, A, P, R> {
    built: Result<Compiled<A, R>, Error>,
    args: P,
    of: PhantomData<&'a ()>,
}

/// Computes something from arguments: `.on(Seq)` on one core, `.on(Cpu)` on all, `.on(Gpu)` on a GPU.
///
/// It is [`compile`] and a call in one. Arguments are those of [`Compiled`]'s `call`: one, or a tuple of several; borrowed ones are lent. What is computed more than once is
/// compiled once, with [`compile`].
///
/// ```
/// # use deckle::prelude::*;
/// #[kernel]
/// fn damped(x: f32) -> f32 {
///     if x.abs() < 0.5 { 0.0 } else { x * 0.9 }
/// }
///
/// let xs = vec![0.25, 1.0, -2.0];
/// let on_one_core = compute(&xs, |xs: Arr<f32>| xs.map(damped::kernel)).on(deckle::Seq)?;
/// let on_all = compute(&xs, |xs: Arr<f32>| xs.map(damped::kernel)).on(Cpu)?;
/// assert_eq!(on_one_core, on_all);
/// # Ok::<(), deckle::Error>(())
/// ```
#[track_caller]
pub fn compute<'a, A, P, F>(args: P, f: F) -> Computation<'a, A, P, F::Result>
where
    F: Builds<A>,
    P: Given<'a, A>,
{
    Computation { built: compile(f), args, of: PhantomData }
}

impl<'a, A, P: Given<'a, A>, R: Hosted> Computation<'a, A, P, R> {
    /// Runs it there.
    ///
    /// # Errors
    /// Those of [`compile`] and of a call.
    pub fn on<B: Backend>(self, backend: B) -> Result<R::Host, Error> {
        self.args.call(&self.built?.on(backend))
    }

    /// Runs it there and leaves the result where it was computed, as an argument of other computations.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let squares = compute(vec![1.0, 2.0], |xs: Arr<f64>| xs.map(|x| x * x)).keep_on(Cpu)?;
    /// assert_eq!(compute(&squares, |xs: Arr<f64>| xs.sum()).on(Cpu)?, 5.0);
    /// assert_eq!(compute(&squares, |xs: Arr<f64>| xs.max()).on(Cpu)?, 4.0);
    /// # Ok::<(), deckle::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`compile`] and of a call.
    pub fn keep_on<B: Backend>(self, backend: B) -> Result<Resident<R>, Error> {
        self.args.keep(&self.built?.on(backend))
    }
}

/// The arguments of a computation: one, or a tuple with one for each parameter of the closure.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no arguments for the parameters `{A}`",
    label = "expected an argument, or a tuple with one for each parameter",
    note = "a `Vec`, slice or array is an argument for a vector, and `feed(iterator)` for a sequence"
)]
pub trait Given<'a, A>: Sized {
    #[doc(hidden)]
    fn call<R: Hosted, B: Backend>(self, program: &Compiled<A, R, B>) -> Result<R::Host, Error>;
    #[doc(hidden)]
    fn keep<R: Hosted, B: Backend>(self, program: &Compiled<A, R, B>) -> Result<Resident<R>, Error>;
}

impl<'a, A: Hosted, X: Argument<'a, A>> Given<'a, (A,)> for X {
    fn call<R: Hosted, B: Backend>(self, program: &Compiled<(A,), R, B>) -> Result<R::Host, Error> {
        program.call(self)
    }
    fn keep<R: Hosted, B: Backend>(self, program: &Compiled<(A,), R, B>) -> Result<Resident<R>, Error> {
        program.keep(self)
    }
}

macro_rules! several {
    ($(($($name:ident $arg:ident $index:tt),*);)*) => {$(
        impl<'a, $($name: Hosted, $arg: Argument<'a, $name>),*> Given<'a, ($($name,)*)> for ($($arg,)*) {
            fn call<R: Hosted, Back: Backend>(
                self,
                program: &Compiled<($($name,)*), R, Back>,
            ) -> Result<R::Host, Error> {
                program.call($(self.$index),*)
            }
            fn keep<R: Hosted, Back: Backend>(
                self,
                program: &Compiled<($($name,)*), R, Back>,
            ) -> Result<Resident<R>, Error> {
                program.keep($(self.$index),*)
            }
        }
    )*};
}

several! {
    ();
    (A X1 0, B X2 1);
    (A X1 0, B X2 1, C X3 2);
    (A X1 0, B X2 1, C X3 2, D X4 3);
    (A X1 0, B X2 1, C X3 2, D X4 3, E X5 4);
    (A X1 0, B X2 1, C X3 2, D X4 3, E X5 4, F X6 5);
    (A X1 0, B X2 1, C X3 2, D X4 3, E X5 4, F X6 5, G X7 6);
    (A X1 0, B X2 1, C X3 2, D X4 3, E X5 4, F X6 5, G X7 6, H X8 7);
}
