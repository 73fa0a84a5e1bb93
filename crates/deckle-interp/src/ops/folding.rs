//! Operators that combine all elements, or all prefixes of them.

use super::associative;
use super::scalars::computed;
use super::{coll, collect, count, items, scalar};
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::array::{BinOp, Direction, Monoid, Op, ScanKind};
use deckle_ir::fault::Fault;
use deckle_ir::scalar::Scalar;
use deckle_ir::scalar_eval as arithmetic;
use deckle_ir::value::Value;

/// `fold`, `fold1` and `reduce` of a vector or of a materialised sequence.
pub(super) fn fold(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let (start, xs) = match args {
        [xs] => (None, xs),
        [z, xs] => (Some(z.clone()), xs),
        _ => return Err(cx.bug("the wrong number of operands")),
    };
    let mut folding = Folding::new(cx, start.clone())?;
    let elems = items(cx, xs)?;
    for x in elems {
        if matches!(cx.inst.op, Op::Reduce(_)) {
            cx.tick()?;
        }
        folding.add(cx, x)?;
    }
    associative::check(cx, start.iter().chain(elems))?;
    folding.finish(cx)
}

/// A `fold`, `fold1` or `reduce` that processes elements one after another.
pub(crate) struct Folding {
    total: Option<Value>,
    /// The position of the total, for `argmin` and `argmax`.
    best: usize,
    /// The number of elements so far.
    n: usize,
}

impl Folding {
    /// The state before the first element. `start` is the first operand of `fold`.
    pub(crate) fn new(cx: &Cx<'_, '_>, start: Option<Value>) -> Result<Folding> {
        let total = match &cx.inst.op {
            Op::Reduce(monoid) => unit(cx, *monoid)?.map(Value::Scalar),
            _ => start,
        };
        Ok(Folding { total, best: 0, n: 0 })
    }

    /// Combines the next element with those before.
    pub(crate) fn add(&mut self, cx: &mut Cx<'_, '_>, x: &Value) -> Result<()> {
        let i = self.n;
        self.n += 1;
        self.total = Some(match (&cx.inst.op, self.total.take()) {
            (_, None) => x.clone(),
            (Op::Reduce(monoid @ (Monoid::ArgMin | Monoid::ArgMax)), Some(best)) => {
                let better = better(*monoid, scalar(cx, x)?, scalar(cx, &best)?);
                self.best = if better { i } else { self.best };
                if better { x.clone() } else { best }
            }
            (Op::Reduce(monoid), Some(total)) => combine(cx, *monoid, scalar(cx, &total)?, scalar(cx, x)?)?,
            (_, Some(total)) => cx.body(0, Place::Element(i), &[total, x.clone()])?,
        });
        Ok(())
    }

    /// The result, after the last element.
    pub(crate) fn finish(self, cx: &Cx<'_, '_>) -> Result<Value> {
        let Some(total) = self.total else {
            let name = if let Op::Reduce(monoid) = &cx.inst.op { monoid_name(*monoid) } else { cx.name() };
            return Err(cx.fault(&Fault::Empty(name.into()), &[]));
        };
        Ok(match &cx.inst.op {
            Op::Reduce(Monoid::ArgMin | Monoid::ArgMax) => count(self.best),
            _ => total,
        })
    }
}

/// The identity element of a reduction that has one.
fn unit(cx: &Cx<'_, '_>, monoid: Monoid) -> Result<Option<Scalar>> {
    let ty = || cx.ty().as_scalar().ok_or_else(|| cx.bug("something that is not a scalar"));
    Ok(match monoid {
        Monoid::Sum => Some(Scalar::zero(ty()?)),
        Monoid::Product => Some(Scalar::one(ty()?)),
        Monoid::Any => Some(Scalar::Bool(false)),
        Monoid::All => Some(Scalar::Bool(true)),
        Monoid::Min | Monoid::Max | Monoid::ArgMin | Monoid::ArgMax => None,
    })
}

fn monoid_name(monoid: Monoid) -> &'static str {
    Monoid::ALL.iter().find(|(m, _)| *m == monoid).map_or("reduce", |(_, name)| name)
}

fn combine(cx: &Cx<'_, '_>, monoid: Monoid, total: Scalar, x: Scalar) -> Result<Value> {
    let op = match monoid {
        Monoid::Sum => BinOp::Add,
        Monoid::Product => BinOp::Mul,
        Monoid::Any => BinOp::Or,
        Monoid::All => BinOp::And,
        Monoid::Min | Monoid::ArgMin => BinOp::Min,
        Monoid::Max | Monoid::ArgMax => BinOp::Max,
    };
    computed(cx, op, total, x).map(Value::Scalar)
}

/// Whether `argmin` or `argmax` prefers an element to the best one before it: the first NaN is the best.
fn better(monoid: Monoid, x: Scalar, best: Scalar) -> bool {
    let nan = |x: Scalar| x.as_float().is_some_and(f64::is_nan);
    match (nan(best), nan(x), monoid) {
        (true, _, _) => false,
        (_, true, _) => true,
        (_, _, Monoid::ArgMin) => arithmetic::compare_scalars(x, best).is_lt(),
        _ => arithmetic::compare_scalars(x, best).is_gt(),
    }
}

/// From the right, the element is the left operand and the combination so far the right one.
pub(super) fn scan(cx: &mut Cx<'_, '_>, direction: Direction, kind: ScanKind, args: &[Value]) -> Result<Value> {
    let (start, xs) = match args {
        [xs] => (None, xs),
        [z, xs] => (Some(z.clone()), xs),
        _ => return Err(cx.bug("the wrong number of operands")),
    };
    let elems = items(cx, xs)?;
    if start.is_none() && kind != ScanKind::Inclusive {
        return Err(cx.bug("no start"));
    }
    // Exclusive partial results are those before each element: the last element is never combined.
    let combined = match kind {
        ScanKind::Exclusive => elems.len().saturating_sub(1),
        _ => elems.len(),
    };
    let mut partial = cx.alloc(elems.len() + usize::from(kind == ScanKind::Full))?;
    if kind == ScanKind::Full || (kind == ScanKind::Exclusive && !elems.is_empty()) {
        partial.extend(start.clone());
    }
    let mut total = start.clone();
    for k in 0..combined {
        let i = if direction == Direction::Left { k } else { elems.len() - 1 - k };
        let x = elems[i].clone();
        let next = match total {
            None => x,
            Some(t) if direction == Direction::Left => cx.collect(0, Place::Element(i), &[t, x])?,
            Some(t) => cx.collect(0, Place::Element(i), &[x, t])?,
        };
        partial.push(next.clone());
        total = Some(next);
    }
    match direction {
        Direction::Left => associative::check(cx, start.iter().chain(&elems[..combined]))?,
        Direction::Right => {
            associative::check(cx, elems[elems.len() - combined..].iter().chain(&start))?;
            partial.reverse();
        }
    }
    Ok(collect(coll(xs), partial))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, bools, failure, ints, program, reals, seq, value};
    use deckle_diag::Code;
    use deckle_ir::array::{BinOp, Direction, Monoid, Op, Program, ScanKind};
    use deckle_ir::value::Value;

    fn reduce(monoid: Monoid, ty: &str) -> Program {
        program(&[ty], |b, p| b.op(Op::Reduce(monoid), p))
    }

    #[test]
    fn reductions_of_nothing() {
        let none = [ints(&[])];
        assert_eq!(value(&reduce(Monoid::Sum, "[i64; n0]"), &none), Value::int(0));
        assert_eq!(value(&reduce(Monoid::Product, "[f64; n0]"), &none), Value::real(1.0));
        assert_eq!(value(&reduce(Monoid::Any, "[bool; n0]"), &none), Value::bool(false));
        assert_eq!(value(&reduce(Monoid::All, "{bool}"), &[seq(&none[0])]), Value::bool(true));
        for monoid in [Monoid::Min, Monoid::Max, Monoid::ArgMin, Monoid::ArgMax] {
            failure(&reduce(monoid, "[i64; n0]"), &none, Code::Empty);
        }
    }

    #[test]
    fn reductions_of_floats() {
        let nan = f64::NAN;
        let all = |v: &[f64]| {
            [Monoid::Min, Monoid::Max, Monoid::ArgMin, Monoid::ArgMax]
                .map(|m| value(&reduce(m, "[f64; n0]"), &[reals(v)]))
        };
        let expected = [Value::real(-0.0), Value::real(2.0), Value::int(1), Value::int(2)];
        assert_eq!(all(&[0.0, -0.0, 2.0, -0.0, 2.0]), expected);
        assert_eq!(all(&[1.0, nan, 0.0, nan]), [Value::real(nan), Value::real(nan), Value::int(1), Value::int(1)]);
        // From left to right: (1e16 + 1) + 1 rounds twice.
        assert_eq!(value(&reduce(Monoid::Sum, "[f64; n0]"), &[reals(&[1e16, 1.0, 1.0])]), Value::real(1e16));
        assert_eq!(value(&reduce(Monoid::Any, "[bool; n0]"), &[bools("FTF")]), Value::bool(true));
        assert_eq!(value(&reduce(Monoid::All, "[bool; n0]"), &[bools("FTF")]), Value::bool(false));
    }

    #[test]
    fn folds_run_from_the_left() {
        let p = program(&["i64", "[i64; n0]"], |b, p| b.op1(Op::Fold, p, |b, q| b.bin(BinOp::Sub, q[0], q[1])));
        assert_eq!(value(&p, &[Value::int(10), ints(&[1, 2])]), Value::int(7));
        assert_eq!(value(&p, &[Value::int(10), ints(&[])]), Value::int(10));
        let p = program(&["{i64}"], |b, p| b.op1(Op::Fold1, p, |b, q| b.bin(BinOp::Div, q[0], q[1])));
        assert_eq!(value(&p, &[seq(&ints(&[100, 5, 2]))]), Value::int(10));
        assert_eq!(value(&p, &[seq(&ints(&[0]))]), Value::int(0));
        failure(&p, &[seq(&ints(&[]))], Code::Empty);
        let e = failure(&p, &[seq(&ints(&[1, 1, 0]))], Code::DivideByZero);
        assert_eq!(e.notes, ["at element 2 of this `fold1`"]);
    }

    /// With the operator `10·a + b`, which shows the order of its operands.
    fn scan(direction: Direction, kind: ScanKind, start: Option<i64>, xs: &[i64]) -> Value {
        let p = program(&["i64", "[i64; n0]"], |b, p| {
            let args = if start.is_some() { p } else { &p[1..] };
            b.op1(Op::Scan(direction, kind), args, |b, q| {
                let ten = b.int(10);
                let a = b.bin(BinOp::Mul, q[0], ten);
                b.bin(BinOp::Add, a, q[1])
            })
        });
        value(&p, &[Value::int(start.unwrap_or(0)), ints(xs)])
    }

    #[test]
    fn scans_from_the_left() {
        let left = |kind, start, xs| scan(Direction::Left, kind, start, xs);
        assert_eq!(left(ScanKind::Inclusive, Some(9), &[1, 2]), ints(&[91, 912]));
        assert_eq!(left(ScanKind::Inclusive, None, &[1, 2]), ints(&[1, 12]));
        assert_eq!(left(ScanKind::Exclusive, Some(9), &[1, 2]), ints(&[9, 91]));
        assert_eq!(left(ScanKind::Full, Some(9), &[1, 2]), ints(&[9, 91, 912]));
        assert_eq!(left(ScanKind::Inclusive, None, &[]), ints(&[]));
        assert_eq!(left(ScanKind::Exclusive, Some(9), &[]), ints(&[]));
        assert_eq!(left(ScanKind::Full, Some(9), &[]), ints(&[9]));
    }

    #[test]
    fn scans_from_the_right_keep_the_order_of_operands() {
        let right = |kind, start, xs| scan(Direction::Right, kind, start, xs);
        // op(2, 9) = 29, op(1, 29) = 39.
        assert_eq!(right(ScanKind::Inclusive, Some(9), &[1, 2]), ints(&[39, 29]));
        assert_eq!(right(ScanKind::Inclusive, None, &[1, 2]), ints(&[12, 2]));
        assert_eq!(right(ScanKind::Exclusive, Some(9), &[1, 2]), ints(&[29, 9]));
        assert_eq!(right(ScanKind::Full, Some(9), &[1, 2]), ints(&[39, 29, 9]));
        assert_eq!(right(ScanKind::Exclusive, Some(9), &[1]), ints(&[9]));
    }
}
