//! The operators: one function each, in files by chapter of the operator reference, and common functions.

mod associative;
mod construct;
mod control;
mod cutting;
mod elementwise;
mod folding;
mod moving;
mod scalars;
mod sequence;
mod shape;
mod sorting;
mod stencil;

use crate::error::Result;
use crate::machine::Cx;
use deckle_ir::array::{Coll, Direction, Op, ScanKind};
use deckle_ir::fault::Fault;
use deckle_ir::scalar_eval;
use deckle_ir::value::Value;
pub(crate) use folding::Folding;

/// Applies the operator of a statement to its operands.
pub(crate) fn apply(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let inst = cx.inst;
    if args.len() < inst.op.info().min_args {
        return Err(cx.bug("too few operands"));
    }
    match &inst.op {
        Op::Const(c) => Ok(Value::Scalar(*c)),
        Op::Unary(op) => scalars::unary(cx, *op, args),
        Op::Binary(op) => scalars::binary(cx, *op, args),
        Op::Cast(to) => Ok(Value::Scalar(scalar(cx, &args[0])?.cast(*to))),
        Op::Select => Ok(if truth(cx, &args[0])? { args[1].clone() } else { args[2].clone() }),
        Op::Fma => {
            Ok(Value::Scalar(scalar_eval::fma(scalar(cx, &args[0])?, scalar(cx, &args[1])?, scalar(cx, &args[2])?)))
        }
        Op::Tuple | Op::Record(_) => Ok(Value::tuple(args.to_vec())),
        Op::Proj(k) => scalars::proj(cx, *k, args),
        Op::Index => scalars::index(cx, args),
        Op::If => control::if_(cx, args),
        Op::While => control::while_(cx, args),
        Op::Stream => control::stream(cx, args),
        Op::For => control::for_(cx, args),
        Op::Call(f) => cx.call(*f, args),
        // The check itself is made against the type of the result.
        Op::Ensure(_) => Ok(args[0].clone()),
        Op::Use(c) => Ok(c.value.clone()),
        Op::Array(_) => Ok(Value::array(args.to_vec())),
        Op::Replicate => construct::replicate(cx, args),
        Op::Generate => construct::generate(cx, args),
        Op::Iota(coll) => construct::iota(cx, *coll, args),
        Op::Range(coll, inclusive) => construct::range(cx, *coll, *inclusive, args),
        Op::Map => elementwise::map(cx, args),
        Op::Zip => elementwise::zip(cx, args),
        Op::Unzip => elementwise::unzip(cx, args),
        Op::Length => Ok(count(items(cx, &args[0])?.len())),
        Op::Shape(depth) => shape::shape(cx, *depth as usize, args),
        Op::Size(depth) => shape::size(cx, *depth as usize, args),
        Op::Reshape(depth) => shape::reshape(cx, *depth as usize, args),
        Op::Flatten => shape::flatten(cx, args),
        Op::Split(by) => cutting::split(cx, *by, args),
        Op::Slice(spec) => cutting::slice(cx, spec, args),
        Op::Transpose(axes) => shape::transpose(cx, axes, args),
        Op::Reverse(axis) => shape::reverse(cx, *axis, &args[0]),
        Op::Take => cutting::take(cx, args),
        Op::Drop => cutting::drop(cx, args),
        Op::Concat(axis) => shape::concat(cx, *axis, args),
        Op::Pad(axis) => shape::pad(cx, *axis, args),
        Op::Permute => moving::permute(cx, args),
        Op::Scatter => moving::scatter(cx, args),
        Op::Filter => moving::filter(cx, args),
        Op::Compact => moving::compact(cx, args),
        Op::Partition => moving::partition(cx, args),
        Op::Expand => moving::expand(cx, args),
        Op::Sort => sorting::sort(cx, args),
        Op::SortBy => sorting::sort_by(cx, args),
        Op::GroupBy => sorting::group_by(cx, args),
        Op::Fold | Op::Fold1 | Op::FoldOrdered | Op::Reduce(_) => folding::fold(cx, args),
        Op::ScanOrdered => folding::scan(cx, Direction::Left, ScanKind::Inclusive, args),
        Op::Scan(direction, kind) => folding::scan(cx, *direction, *kind, args),
        Op::Stencil(radii, boundary) => stencil::stencil(cx, radii, *boundary, args),
        Op::MkSeq(_) => Ok(Value::seq(args.to_vec())),
        Op::Empty => Ok(Value::bool(items(cx, &args[0])?.is_empty())),
        Op::The => sequence::the(cx, args),
        Op::Append => sequence::append(cx, args),
        Op::FlagPart => sequence::flagpart(cx, args),
        Op::Tab => Ok(Value::array(items(cx, &args[0])?.to_vec())),
        Op::Seq => Ok(Value::seq(items(cx, &args[0])?.to_vec())),
        Op::Guard => sequence::guard(cx, args),
        Op::Produce => sequence::produce(cx, args),
        Op::Tiles(depth) => sequence::tiles(cx, *depth as usize, args),
        Op::Tabulate(depth) => sequence::tabulate(cx, *depth as usize, args),
        Op::Pull(_) => sequence::pull(cx, args),
        Op::Push(k) => sequence::push(cx, *k, args),
    }
}

// Destructuring of operands. In a well-typed program none of these fail.

fn scalar(cx: &Cx<'_, '_>, v: &Value) -> Result<deckle_ir::scalar::Scalar> {
    v.as_scalar().ok_or_else(|| cx.bug("something that is not a scalar"))
}

fn truth(cx: &Cx<'_, '_>, v: &Value) -> Result<bool> {
    scalar(cx, v)?.as_bool().ok_or_else(|| cx.bug("something that is not a truth value"))
}

fn int(cx: &Cx<'_, '_>, v: &Value) -> Result<i64> {
    match scalar(cx, v)? {
        deckle_ir::scalar::Scalar::I64(n) => Ok(n),
        _ => Err(cx.bug("something that is not an `i64`")),
    }
}

fn items<'v>(cx: &Cx<'_, '_>, v: &'v Value) -> Result<&'v [Value]> {
    v.items().ok_or_else(|| cx.bug("something that is neither an array nor a sequence"))
}

fn parts<'v>(cx: &Cx<'_, '_>, v: &'v Value) -> Result<&'v [Value]> {
    v.parts().ok_or_else(|| cx.bug("something that is not a tuple"))
}

/// An operand that counts elements: not negative (D0302), and not above the limit of the run (D0310).
fn size(cx: &Cx<'_, '_>, v: &Value, what: &'static str) -> Result<usize> {
    let n = int(cx, v)?;
    if n < 0 {
        return Err(cx.fault(&Fault::Negative(what.into()), &[n.into()]));
    }
    cx.room(n as i128)
}

// Construction of results.

fn count(n: usize) -> Value {
    Value::int(n as i64)
}

fn coll(v: &Value) -> Coll {
    if matches!(v, Value::Seq(_)) { Coll::Seq } else { Coll::Array }
}

fn collect(coll: Coll, elems: Vec<Value>) -> Value {
    match coll {
        Coll::Array => Value::array(elems),
        Coll::Seq => Value::seq(elems),
    }
}

/// The common length of the operands from `first` on (D0304).
fn common_length(cx: &Cx<'_, '_>, args: &[Value], first: usize) -> Result<usize> {
    let Some((head, rest)) = args.get(first..).and_then(<[Value]>::split_first) else {
        return Err(cx.bug("too few operands"));
    };
    let n = items(cx, head)?.len();
    for (i, other) in rest.iter().enumerate() {
        let m = items(cx, other)?.len();
        if m != n {
            return Err(cx.fault(&Fault::Lengths(first + 1 + i), &[n as i128, m as i128]));
        }
    }
    Ok(n)
}

/// The array of these sizes whose element at given indices is the result of `f`, in row-major order.
fn nest(
    cx: &mut Cx<'_, '_>,
    dims: &[usize],
    f: &mut dyn FnMut(&mut Cx<'_, '_>, &[i64]) -> Result<Value>,
) -> Result<Value> {
    dims.iter().try_fold(1i128, |n, d| {
        let n = n.saturating_mul(*d as i128);
        cx.room(n).map(|_| n)
    })?;
    nest_below(cx, dims, &mut Vec::new(), f)
}

fn nest_below(
    cx: &mut Cx<'_, '_>,
    dims: &[usize],
    at: &mut Vec<i64>,
    f: &mut dyn FnMut(&mut Cx<'_, '_>, &[i64]) -> Result<Value>,
) -> Result<Value> {
    let Some((n, rest)) = dims.split_first() else { return f(cx, at) };
    let mut elems = cx.alloc(*n)?;
    for i in 0..*n {
        at.push(i as i64);
        let elem = nest_below(cx, rest, at, f);
        at.pop();
        elems.push(elem?);
    }
    Ok(Value::array(elems))
}

/// The sizes of the outer dimensions of a regular operand (D0306). Those that an empty dimension hides are taken from its type.
fn regular_dims(cx: &Cx<'_, '_>, operand: usize, v: &Value, depth: usize) -> Result<Vec<usize>> {
    let mut dims = shown_dims(cx, v, depth)?;
    let known = cx.dims_of_type(operand, depth);
    let hidden = known.iter().skip(dims.len()).map(|n| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0));
    dims.extend(hidden);
    Ok(dims)
}

/// The sizes of the elements, one dimension after another; the first that differ are an error (D0306).
fn shown_dims(cx: &Cx<'_, '_>, v: &Value, depth: usize) -> Result<Vec<usize>> {
    let mut dims: Vec<usize> = vec![items(cx, v)?.len()];
    let mut rows: Vec<&Value> = items(cx, v)?.iter().collect();
    for _ in 1..depth {
        let Some(first) = rows.first() else { break };
        let n = items(cx, first)?.len();
        let mut inside = Vec::new();
        for (k, row) in rows.iter().enumerate() {
            let elems = items(cx, row)?;
            if elems.len() != n {
                let what = format!("`{}`", cx.name()).into();
                let mut at: Vec<i128> = Vec::new();
                dims.iter().rev().fold(k, |k, n| {
                    at.insert(0, (k % n) as i128);
                    k / n
                });
                return Err(cx.fault(&Fault::UnequalRows(what), &[&[elems.len() as i128, n as i128], &at[..]].concat()));
            }
            inside.extend(elems);
        }
        dims.push(n);
        rows = inside;
    }
    Ok(dims)
}

/// The element at these indices, all of which are known to be in range.
fn element(cx: &Cx<'_, '_>, v: &Value, at: &[usize]) -> Result<Value> {
    let mut v = v;
    for i in at {
        v = items(cx, v)?.get(*i).ok_or_else(|| cx.bug("an index that was checked"))?;
    }
    Ok(v.clone())
}
