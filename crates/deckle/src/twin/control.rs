//! Control flow of kernels: the variables that branches and loops assign are their results and their state.
//!
//! `if c { x = 1.0 }` becomes `(x, ()) = branch(c, || { x = lit(1.0); (x, ()) }, || (x, ()))`. The twin has no other control flow: the attribute rewrites
//! `return`, `break` and `continue` to conditions before.
//!
//! A condition that is a constant selects its branch while tracing, and a loop of a few rounds of known number is unrolled: so a kernel that is called with a
//! constant is specialised, and arrays that such a loop indexes stay in registers.

use crate::elt::{Elt, Int};
use crate::exp::Exp;
use crate::trace::{Raw, apply, apply_body, apply_if, apply_loop, constant_of, is_length};
use deckle_ir::array::{BinOp, Coll, Op};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::cell::Cell;
use std::thread::LocalKey;

use super::arithmetic::{apply2, convert};

/// Variables that are assigned together: `(Exp<A>, (Exp<B>, ()))`.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot assign this variable in a branch or loop",
    label = "`{Self}` is no scalar, tuple, struct or array: a slice is a parameter and stays what it is"
)]
pub trait Vars: Copy {
    /// The number of variables.
    #[doc(hidden)]
    const COUNT: usize;
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn list(self, raws: &mut Vec<Raw>);
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn read(raws: &mut dyn Iterator<Item = Raw>) -> Option<Self>;
}

#[allow(private_interfaces)]
impl Vars for () {
    const COUNT: usize = 0;
    fn list(self, _: &mut Vec<Raw>) {}
    fn read(_: &mut dyn Iterator<Item = Raw>) -> Option<()> {
        Some(())
    }
}

#[allow(private_interfaces)]
impl<T: Elt, R: Vars> Vars for (Exp<T>, R) {
    const COUNT: usize = 1 + R::COUNT;
    fn list(self, raws: &mut Vec<Raw>) {
        raws.push(self.0.raw_elt());
        self.1.list(raws);
    }
    fn read(raws: &mut dyn Iterator<Item = Raw>) -> Option<Self> {
        Some((Exp::from_raw_elt(raws.next()?), R::read(raws)?))
    }
}

/// Variables as a list, and back.
fn listed<S: Vars>(state: S) -> Vec<Raw> {
    let mut raws = Vec::new();
    state.list(&mut raws);
    raws
}

fn restored<S: Vars>(raws: Vec<Raw>) -> S {
    let mut raws = raws.into_iter();
    // A list that was made of a state has its length, whatever the program does.
    S::read(&mut raws).unwrap_or_else(|| unreachable!("a state has as many variables as it had"))
}

/// One value of the language: the variable itself, a tuple of several, and something if there are none.
#[track_caller]
fn pack(raws: &[Raw]) -> Raw {
    match raws {
        [] => apply(Op::Const(Scalar::Bool(true)), &[]),
        [one] => *one,
        _ => apply(Op::Tuple, raws),
    }
}

/// The `n` variables of a value.
#[track_caller]
fn unpack(raw: Raw, n: usize) -> Vec<Raw> {
    match n {
        1 => vec![raw],
        _ => (0..n as u32).map(|k| apply(Op::Proj(k), &[raw])).collect(),
    }
}

/// A closure that is called once or never. The closures of twins are nested as deeply as the statements of kernels: each is compiled once, and not into its callers.
type Once<'a, R> = &'a mut dyn FnMut() -> R;

fn once<R>(f: impl FnOnce() -> R) -> impl FnMut() -> R {
    let mut f = Some(f);
    move || match f.take() {
        Some(f) => f(),
        None => unreachable!("a body is built once"),
    }
}

fn known(cond: Raw) -> Option<bool> {
    constant_of(cond).and_then(Scalar::as_bool)
}

/// `if`, whose branches return the variables that either assigns.
#[track_caller]
pub fn branch<S: Vars>(cond: Exp<bool>, yes: impl FnOnce() -> S, no: impl FnOnce() -> S) -> S {
    let (mut yes, mut no) = (once(|| listed(yes())), once(|| listed(no())));
    restored(branch_of(cond.raw_elt(), S::COUNT, &mut yes, &mut no))
}

#[track_caller]
fn branch_of(cond: Raw, n: usize, yes: Once<'_, Vec<Raw>>, no: Once<'_, Vec<Raw>>) -> Vec<Raw> {
    match known(cond) {
        Some(true) => yes(),
        Some(false) => no(),
        None => unpack(apply_if(cond, || pack(&yes()), || pack(&no())), n),
    }
}

/// `a && b`
#[track_caller]
pub fn and(a: Exp<bool>, b: impl FnOnce() -> Exp<bool>) -> Exp<bool> {
    Exp::from_raw_elt(lazy(a.raw_elt(), true, &mut once(|| b().raw_elt())))
}

/// `a || b`
#[track_caller]
pub fn or(a: Exp<bool>, b: impl FnOnce() -> Exp<bool>) -> Exp<bool> {
    Exp::from_raw_elt(lazy(a.raw_elt(), false, &mut once(|| b().raw_elt())))
}

/// The second operand, if the first has this value; else the first.
#[track_caller]
fn lazy(a: Raw, needed: bool, b: Once<'_, Raw>) -> Raw {
    let other = || apply(Op::Const(Scalar::Bool(!needed)), &[]);
    match (known(a), needed) {
        (Some(known), _) if known == needed => b(),
        (Some(_), _) => a,
        (None, true) => apply_if(a, b, other),
        (None, false) => apply_if(a, other, b),
    }
}

/// `while`: the state before, the condition, a round.
#[track_caller]
pub fn repeated<S: Vars>(start: S, test: impl Fn(S) -> Exp<bool>, round: impl Fn(S) -> S) -> S {
    let test = |s: Vec<Raw>| test(restored(s)).raw_elt();
    let round = |_: Raw, s: Vec<Raw>| listed(round(restored(s)));
    restored(loop_of(None, listed(start), &test, &round))
}

type Test<'a> = &'a dyn Fn(Vec<Raw>) -> Raw;
type Round<'a> = &'a dyn Fn(Raw, Vec<Raw>) -> Vec<Raw>;

/// `for` with a count, `while` without.
#[track_caller]
fn loop_of(count: Option<Raw>, start: Vec<Raw>, test: Test<'_>, round: Round<'_>) -> Vec<Raw> {
    let n = start.len();
    let _inside = Around::with(&INSIDE, INSIDE.get() + 1);
    let end = apply_loop(
        count,
        pack(&start),
        |s| Some(test(unpack(s, n))),
        |k, s| pack(&round(k.unwrap_or(s), unpack(s, n))),
    );
    unpack(end, n)
}

/// The values of a `for`: `first`, `first + step`, and so on, `count` of them.
#[derive(Clone, Copy, Debug)]
pub struct Steps<T> {
    first: Raw,
    step: Raw,
    count: Raw,
    of: std::marker::PhantomData<T>,
}

#[track_caller]
fn int(n: i64) -> Raw {
    apply(Op::Const(Scalar::I64(n)), &[])
}

#[track_caller]
fn on(op: BinOp, a: Raw, b: Raw) -> Raw {
    match (op, constant_of(a).and_then(Scalar::as_int), constant_of(b).and_then(Scalar::as_int)) {
        (BinOp::Add | BinOp::Sub, _, Some(0)) | (BinOp::Mul, _, Some(1)) => a,
        (BinOp::Add, Some(0), _) | (BinOp::Mul, Some(1), _) => b,
        _ => apply2(op, a, b),
    }
}

#[track_caller]
fn steps<T: Int>(a: Exp<T>, b: Exp<T>, included: i64) -> Steps<T> {
    let wide = |x: Exp<T>| if T::TYPE == ScalarType::I64 { x.raw_elt() } else { convert(x.raw_elt(), ScalarType::I64) };
    let (first, end) = (wide(a), wide(b));
    let count = on(BinOp::Add, on(BinOp::Sub, end, first), int(included));
    Steps { first, step: int(1), count, of: std::marker::PhantomData }
}

/// `a..b`
#[track_caller]
pub fn range<T: Int>(a: Exp<T>, b: Exp<T>) -> Steps<T> {
    steps(a, b, 0)
}

/// `a..=b`
#[track_caller]
pub fn range_inclusive<T: Int>(a: Exp<T>, b: Exp<T>) -> Steps<T> {
    steps(a, b, 1)
}

impl<T: Int> Steps<T> {
    /// The value of round `k`.
    #[track_caller]
    pub fn at(self, k: Exp<i64>) -> Exp<T> {
        let wide = on(BinOp::Add, self.first, on(BinOp::Mul, k.raw_elt(), self.step));
        Exp::from_raw_elt(if T::TYPE == ScalarType::I64 { wide } else { convert(wide, T::TYPE) })
    }

    /// Whether there is a round `k`.
    #[track_caller]
    pub fn has(self, k: Exp<i64>) -> Exp<bool> {
        Exp::from_raw_elt(apply2(BinOp::Lt, k.raw_elt(), self.count))
    }

    /// `.rev()`
    #[track_caller]
    pub fn rev(self) -> Steps<T> {
        let last = on(BinOp::Mul, on(BinOp::Sub, self.count, int(1)), self.step);
        Steps { first: on(BinOp::Add, self.first, last), step: on(BinOp::Sub, int(0), self.step), ..self }
    }

    /// `.step_by(n)`
    #[track_caller]
    pub fn step_by(self, n: Exp<usize>) -> Steps<T> {
        let n = n.raw_elt();
        let rounded = on(BinOp::Add, apply2(BinOp::Max, self.count, int(0)), on(BinOp::Sub, n, int(1)));
        Steps { step: on(BinOp::Mul, self.step, n), count: on(BinOp::Div, rounded, n), ..self }
    }
}

/// The most rounds, of all loops around each other, that are unrolled.
const UNROLLED: i128 = 32;

thread_local! {
    /// The rounds of the loops that are being unrolled.
    static AROUND: Cell<i128> = const { Cell::new(1) };
    /// The loops around that are not unrolled.
    static INSIDE: Cell<i128> = const { Cell::new(0) };
}

/// A number that holds inside of a loop, even if tracing is given up there.
struct Around {
    cell: &'static LocalKey<Cell<i128>>,
    before: i128,
}

impl Around {
    fn with(cell: &'static LocalKey<Cell<i128>>, inside: i128) -> Around {
        Around { cell, before: cell.replace(inside) }
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        self.cell.set(self.before);
    }
}

/// `for` without `break` and `return`.
#[track_caller]
pub fn counted<T: Int, S: Vars>(steps: Steps<T>, start: S, round: impl Fn(Exp<T>, S) -> S) -> S {
    let round = |k: Raw, s: Vec<Raw>| listed(round(steps.at(Exp::from_raw_elt(k)), restored(s)));
    restored(counted_of(steps.count, listed(start), &round))
}

#[track_caller]
fn counted_of(count: Raw, start: Vec<Raw>, round: Round<'_>) -> Vec<Raw> {
    let around = AROUND.get();
    if let Some(n) = constant_of(count).and_then(Scalar::as_int).filter(|n| n * around <= UNROLLED) {
        let _inside = Around::with(&AROUND, around * n.max(1));
        return (0..n as i64).fold(start, |s, k| round(int(k), s));
    }
    loop_of(Some(count), start, &|s| pack(&s), round)
}

/// `for` that only adds to its variables what does not depend on them: what is added is computed for many values at once, and added in order.
#[track_caller]
pub fn accumulated<T: Int, S: Vars, E: Vars>(
    steps: Steps<T>,
    start: S,
    item: impl Fn(Exp<T>) -> E,
    add: impl Fn(S, E) -> S,
) -> S {
    let item = |k: Raw| listed(item(steps.at(Exp::from_raw_elt(k))));
    let add = |s: Vec<Raw>, e: Vec<Raw>| listed(add(restored(s), restored(e)));
    restored(accumulated_of(steps.count, listed(start), E::COUNT, &item, &add))
}

#[track_caller]
fn accumulated_of(
    count: Raw,
    start: Vec<Raw>,
    added: usize,
    item: &dyn Fn(Raw) -> Vec<Raw>,
    add: &dyn Fn(Vec<Raw>, Vec<Raw>) -> Vec<Raw>,
) -> Vec<Raw> {
    let unrolls = constant_of(count).and_then(Scalar::as_int).is_some_and(|n| n * AROUND.get() <= UNROLLED);
    if unrolls || INSIDE.get() > 0 {
        return counted_of(count, start, &|k, s| add(s, item(k)));
    }
    let n = start.len();
    let size = if is_length(count) { count } else { apply2(BinOp::Max, count, int(0)) };
    let values = apply(Op::Iota(Coll::Array), &[size]);
    let items = apply_body(Op::Map, &[values], |k| pack(&item(k[0])));
    let end = apply_body(Op::FoldOrdered, &[pack(&start), items], |x| pack(&add(unpack(x[0], n), unpack(x[1], added))));
    unpack(end, n)
}
