//! Control: what Rust cannot overload, said with functions.

use crate::bundle::{Bundle, IntoBundle};
use crate::elt::{Elt, IntoExp, IntoHandle};
use crate::exp::Exp;
use crate::trace::{apply, apply_if, apply_loop};
use deckle_ir::array::Op;

/// The first if the condition holds, else the second; only the one that is chosen is evaluated. It reads as
/// `if` does and works on arrays and sequences too.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|x: Exp<i64>| choose(x.equals(0), || 0, || 10 / x)).unwrap();
/// assert_eq!(f.call(0).unwrap(), 0);
/// assert_eq!(f.call(5).unwrap(), 2);
/// ```
#[track_caller]
pub fn choose<A, B, H>(cond: Exp<bool>, yes: impl FnOnce() -> A, no: impl FnOnce() -> B) -> H
where
    A: IntoHandle<Handle = H>,
    B: IntoHandle<Handle = H>,
    H: Handle,
{
    H::from_raw(apply_if(cond.raw_elt(), || yes().into_handle().raw(), || no().into_handle().raw()))
}

/// The first if the condition holds, else the second; both are already evaluated.
///
/// ```
/// # use deckle::prelude::*;
/// let relu = compile(|x: Exp<f64>| select(x.gt(0.0), x, 0.0)).unwrap();
/// assert_eq!(relu.call(-1.0).unwrap(), 0.0);
/// ```
#[track_caller]
pub fn select<T: Elt>(cond: Exp<bool>, yes: impl Into<Exp<T>>, no: impl Into<Exp<T>>) -> Exp<T> {
    Exp::from_raw_elt(apply(Op::Select, &[cond.raw_elt(), yes.into().raw_elt(), no.into().raw_elt()]))
}

/// Starts with `init` and applies `step` as long as `test` holds.
///
/// ```
/// # use deckle::prelude::*;
/// let log2 = compile(|n: Exp<i64>| {
///     let (_, k) = loop_while(pack((n, 0.into())), |s| s.unpack().0.gt(1), |s| {
///         let (n, k) = s.unpack();
///         (n / 2, k + 1)
///     })
///     .unpack();
///     k
/// })
/// .unwrap();
/// assert_eq!(log2.call(1000).unwrap(), 9);
/// ```
#[track_caller]
pub fn loop_while<S, R>(init: S, test: impl FnOnce(S) -> Exp<bool>, step: impl FnOnce(S) -> R) -> S
where
    S: Handle,
    R: IntoHandle<Handle = S>,
{
    S::from_raw(apply_loop(
        None,
        init.raw(),
        |s| Some(test(S::from_raw(s)).raw_elt()),
        |_, s| step(S::from_raw(s)).into_handle().raw(),
    ))
}

/// Starts with `init` and applies `step` for `i` from 0 below `n`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>, xs: Arr<f64>| repeat(n, xs, |_, xs| xs.map(|x| x * 2.0))).unwrap();
/// assert_eq!(f.call(3, vec![1.0, 0.5]).unwrap().to_vec(), [8.0, 4.0]);
/// ```
#[track_caller]
pub fn repeat<S, R>(n: impl Into<Exp<i64>>, init: S, step: impl FnOnce(Exp<i64>, S) -> R) -> S
where
    S: Handle,
    R: IntoHandle<Handle = S>,
{
    S::from_raw(apply_loop(
        Some(n.into().raw_elt()),
        init.raw(),
        |_| None,
        |i, s| {
            let i = i.map_or_else(|| crate::exp::constant(0), Exp::from_raw_elt);
            step(i, S::from_raw(s)).into_handle().raw()
        },
    ))
}
