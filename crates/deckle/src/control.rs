//! Control: functions in place of what Rust cannot overload.

use crate::bundle::{Becomes, Bundle, IntoBundle};
use crate::elt::{Elt, IntoExp, IntoHandle};
use crate::exp::Exp;
use crate::trace::{apply, apply_if, apply_loop};
use deckle_ir::array::Op;

/// The first if the condition holds, else the second; only the selected one is evaluated. It reads like
/// `if` and also works on arrays, sequences and tuples of them.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|x: Exp<i64>| choose(x.equals(0), || 0, || 10 / x)).unwrap();
/// assert_eq!(f.call(0).unwrap(), 0);
/// assert_eq!(f.call(5).unwrap(), 2);
///
/// let ends = compile(|xs: Arr<i64>| choose(xs.is_empty(), || (0, xs), || (xs.at(0), xs.skip(1)))).unwrap();
/// assert_eq!(ends.call([7, 8]).unwrap(), (7, [8].into()));
/// ```
#[track_caller]
pub fn choose<A, B, H>(cond: Exp<bool>, yes: impl FnOnce() -> A, no: impl FnOnce() -> B) -> H
where
    A: IntoBundle<Bundle = H>,
    B: Becomes<H>,
    H: Bundle,
{
    let both = apply_if(cond.raw_elt(), || yes().into_bundle().bundle_raw(), || no().becomes().bundle_raw());
    H::unbundle(both)
}

/// The first if the condition holds, else the second; both are already evaluated.
///
/// ```
/// # use deckle::prelude::*;
/// let relu = compile(|x: Exp<f64>| select(x.gt(0.0), x, 0.0)).unwrap();
/// assert_eq!(relu.call(-1.0).unwrap(), 0.0);
/// ```
#[track_caller]
pub fn select<A, B, T>(cond: Exp<bool>, yes: A, no: B) -> Exp<T>
where
    A: IntoHandle<Handle = Exp<T>>,
    B: IntoHandle<Handle = Exp<T>>,
    T: Elt,
{
    let (yes, no) = (yes.into_handle(), no.into_handle());
    Exp::from_raw_elt(apply(Op::Select, &[cond.raw_elt(), yes.raw_elt(), no.raw_elt()]))
}

/// Starts with `init` and applies `step` while `test` holds. The state is a handle or a tuple of handles, and its arrays may
/// change their sizes.
///
/// ```
/// # use deckle::prelude::*;
/// let log2 = compile(|n: Exp<i64>| {
///     let (_, k) = loop_while((n, 0i64), |(n, _)| n.gt(1), |(n, k)| (n / 2, k + 1));
///     k
/// })
/// .unwrap();
/// assert_eq!(log2.call(1000).unwrap(), 9);
/// ```
#[track_caller]
pub fn loop_while<I, S, R>(init: I, test: impl FnOnce(S) -> Exp<bool>, step: impl FnOnce(S) -> R) -> S
where
    I: IntoBundle<Bundle = S>,
    R: Becomes<S>,
    S: Bundle,
{
    S::unbundle(apply_loop(
        None,
        init.into_bundle().bundle_raw(),
        |s| Some(test(S::unbundle(s)).raw_elt()),
        |_, s| step(S::unbundle(s)).becomes().bundle_raw(),
    ))
}

/// Starts with `init` and applies `step` for `i` from 0 below `n`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>, xs: Arr<f64>| repeat(n, xs, |_, xs| xs.map(|x| x * 2.0))).unwrap();
/// assert_eq!(f.call(3, vec![1.0, 0.5]).unwrap().to_vec(), [8.0, 4.0]);
///
/// let fib = compile(|n: Exp<i64>| repeat(n, (0i64, 1i64), |_, (a, b)| (b, a + b)).0).unwrap();
/// assert_eq!(fib.call(10).unwrap(), 55);
/// ```
#[track_caller]
pub fn repeat<I, S, R>(n: impl IntoExp<i64>, init: I, step: impl FnOnce(Exp<i64>, S) -> R) -> S
where
    I: IntoBundle<Bundle = S>,
    R: Becomes<S>,
    S: Bundle,
{
    S::unbundle(apply_loop(
        Some(n.into_exp().raw_elt()),
        init.into_bundle().bundle_raw(),
        |_| None,
        |i, s| {
            let i = i.map_or_else(|| crate::exp::constant(0), Exp::from_raw_elt);
            step(i, S::unbundle(s)).becomes().bundle_raw()
        },
    ))
}
