//! Operators that move elements.

use super::{common_length, int, items, truth};
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::fault::Fault;
use deckle_ir::value::Value;

/// An array whose elements below some depth can be replaced.
enum Tree {
    Leaf(Value),
    Node(Vec<Tree>),
}

impl Tree {
    fn thaw(cx: &Cx<'_, '_>, v: &Value, depth: usize) -> Result<Tree> {
        if depth == 0 {
            return Ok(Tree::Leaf(v.clone()));
        }
        let elems = items(cx, v)?.iter().map(|e| Tree::thaw(cx, e, depth - 1));
        Ok(Tree::Node(elems.collect::<Result<Vec<_>>>()?))
    }

    fn freeze(self) -> Value {
        match self {
            Tree::Leaf(v) => v,
            Tree::Node(elems) => Value::array(elems.into_iter().map(Tree::freeze).collect()),
        }
    }

    /// The element at a target (D0301).
    fn at(&mut self, cx: &Cx<'_, '_>, target: &[i64]) -> Result<&mut Value> {
        match (self, target) {
            (Tree::Leaf(v), []) => Ok(v),
            (Tree::Node(elems), [i, rest @ ..]) => {
                let len = elems.len();
                match usize::try_from(*i).ok().and_then(|i| elems.get_mut(i)) {
                    Some(elem) => elem.at(cx, rest),
                    None => Err(cx.fault(&Fault::Index("target".into()), &[(*i).into(), len as i128])),
                }
            }
            _ => Err(cx.bug("a target with another number of indices")),
        }
    }
}

pub(super) fn permute(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    move_into(cx, args, &mut |cx, i, new, old| cx.body(0, Place::Element(i), &[new, old]))
}

pub(super) fn scatter(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    move_into(cx, args, &mut |_, _, new, _| Ok(new))
}

type Combine<'f> = dyn FnMut(&mut Cx<'_, '_>, usize, Value, Value) -> Result<Value> + 'f;

/// Combines each element into its target, in order. Elements that the mask excludes have no target to check.
fn move_into(cx: &mut Cx<'_, '_>, args: &[Value], combine: &mut Combine<'_>) -> Result<Value> {
    let n = common_length(cx, args, 1)?;
    let (targets, elems) = (items(cx, &args[1])?, items(cx, &args[2])?);
    let targets = targets.iter().map(|t| target(cx, t)).collect::<Result<Vec<_>>>()?;
    let Some(depth) = targets.first().map(Vec::len) else { return Ok(args[0].clone()) };
    let mut into = Tree::thaw(cx, &args[0], depth)?;
    for i in 0..n {
        if let Some(mask) = args.get(3)
            && !truth(cx, &items(cx, mask)?[i])?
        {
            continue;
        }
        let place = Place::Element(i);
        let old = into.at(cx, &targets[i]).map_err(|e| cx.locate(e, place))?;
        *old = combine(cx, i, elems[i].clone(), old.clone())?;
    }
    Ok(into.freeze())
}

fn target(cx: &Cx<'_, '_>, t: &Value) -> Result<Vec<i64>> {
    match t.parts() {
        Some(parts) => parts.iter().map(|i| int(cx, i)).collect(),
        None => Ok(vec![int(cx, t)?]),
    }
}

pub(super) fn filter(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    divide(cx, args).map(|(yes, _)| Value::array(yes))
}

pub(super) fn partition(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    divide(cx, args).map(|(yes, no)| Value::tuple(vec![Value::array(yes), Value::array(no)]))
}

/// The elements for which the body returns `true`, and the others.
fn divide(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<(Vec<Value>, Vec<Value>)> {
    let (mut yes, mut no) = (Vec::new(), Vec::new());
    for (i, x) in items(cx, &args[0])?.iter().enumerate() {
        let keep = cx.body(0, Place::Element(i), std::slice::from_ref(x))?;
        if truth(cx, &keep)? { yes.push(x.clone()) } else { no.push(x.clone()) }
    }
    Ok((yes, no))
}

pub(super) fn compact(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    common_length(cx, args, 0)?;
    let mut kept = Vec::new();
    for (x, flag) in items(cx, &args[0])?.iter().zip(items(cx, &args[1])?) {
        if truth(cx, flag)? {
            kept.push(x.clone());
        }
    }
    Ok(Value::array(kept))
}

pub(super) fn expand(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let xs = items(cx, &args[0])?;
    let mut counts = Vec::with_capacity(xs.len());
    let mut total = 0i128;
    for (i, x) in xs.iter().enumerate() {
        let n = cx.body(0, Place::Element(i), std::slice::from_ref(x))?;
        let n = int(cx, &n)?;
        if n < 0 {
            let e = cx.fault(&Fault::Negative("the number of elements that an element expands to".into()), &[n.into()]);
            return Err(cx.locate(e, Place::Element(i)));
        }
        total += n as i128;
        counts.push(n);
    }
    let total = cx.room(total)?;
    let mut elems = cx.alloc(total)?;
    for ((i, x), n) in xs.iter().enumerate().zip(counts) {
        for j in 0..n {
            elems.push(cx.collect(1, Place::Element(i), &[x.clone(), Value::int(j)])?);
        }
    }
    Ok(Value::array(elems))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, bools, failure, ints, program, rows, tuple, value};
    use deckle_diag::Code;
    use deckle_ir::array::{BinOp, Op};
    use deckle_ir::value::Value;

    #[test]
    fn permute_combines_new_with_old_in_order() {
        let p = program(&["[i64; n0]", "[i64; n1]", "[i64; n2]"], |b, p| {
            b.op1(Op::Permute, p, |b, q| b.bin(BinOp::Sub, q[0], q[1]))
        });
        // At 0: 3 - (2 - (1 - 10)) = 3 - 11.
        assert_eq!(value(&p, &[ints(&[10, 20]), ints(&[0, 0, 0]), ints(&[1, 2, 3])]), ints(&[-8, 20]));
        assert_eq!(value(&p, &[ints(&[10]), ints(&[]), ints(&[])]), ints(&[10]));
        let e = failure(&p, &[ints(&[10, 20]), ints(&[0, 2]), ints(&[1, 2])], Code::IndexRange);
        assert_eq!(e.message, "target 2 is out of range for an array of 2 elements");
        assert_eq!(e.notes[1], "at element 1 of this `permute`");
        failure(&p, &[ints(&[10]), ints(&[0]), ints(&[1, 2])], Code::LengthMismatch);
    }

    #[test]
    fn a_mask_leaves_out_elements_and_their_targets() {
        let p = program(&["[i64; n0]", "[i64; n1]", "[i64; n1]", "[bool; n1]"], |b, p| b.op(Op::Scatter, p));
        let args = [ints(&[0, 0]), ints(&[0, -7, 0]), ints(&[1, 2, 3]), bools("TFT")];
        assert_eq!(value(&p, &args), ints(&[3, 0]));
        let args = [ints(&[0, 0]), ints(&[0, -7, 0]), ints(&[1, 2, 3]), bools("TTT")];
        failure(&p, &args, Code::IndexRange);
    }

    #[test]
    fn targets_may_have_several_indices() {
        let p = program(&["[[i64; n1]; n0]", "[(i64, i64); n2]", "[i64; n2]"], |b, p| {
            b.op1(Op::Permute, p, |b, q| b.bin(BinOp::Add, q[0], q[1]))
        });
        let target = |i: i64, j: i64| tuple(&[Value::int(i), Value::int(j)]);
        let at = |j: i64| Value::array(vec![target(1, 0), target(0, j), target(1, 0)]);
        let into = rows(&[&[0, 0], &[5, 0]]);
        assert_eq!(value(&p, &[into.clone(), at(1), ints(&[1, 2, 3])]), rows(&[&[0, 2], &[9, 0]]));
        failure(&p, &[into, at(2), ints(&[1, 2, 3])], Code::IndexRange);
    }

    #[test]
    fn filter_partition_and_compact_keep_the_order() {
        let args = [ints(&[3, -1, 0, 7])];
        let p = program(&["[i64; n0]", "i64"], |b, p| b.op1(Op::Filter, &p[..1], |b, q| b.bin(BinOp::Gt, q[0], p[1])));
        assert_eq!(value(&p, &[args[0].clone(), Value::int(0)]), ints(&[3, 7]));
        let p = program(&["[i64; n0]"], |b, p| {
            b.op1(Op::Partition, p, |b, q| {
                let zero = b.int(0);
                b.bin(BinOp::Gt, q[0], zero)
            })
        });
        assert_eq!(value(&p, &args), tuple(&[ints(&[3, 7]), ints(&[-1, 0])]));
        assert_eq!(value(&p, &[ints(&[])]), tuple(&[ints(&[]), ints(&[])]));
        let p = program(&["[i64; n0]", "[bool; n1]"], |b, p| b.op(Op::Compact, p));
        assert_eq!(value(&p, &[args[0].clone(), bools("FTTF")]), ints(&[-1, 0]));
        failure(&p, &[args[0].clone(), bools("F")], Code::LengthMismatch);
    }

    #[test]
    fn filtering_rows_of_different_length() {
        let p = program(&["[i0 -> [i64; n1(i0)]; n0]"], |b, p| {
            let kept = b.op1(Op::Filter, p, |b, q| {
                let n = b.op(Op::Length, q);
                let one = b.int(1);
                b.bin(BinOp::Gt, n, one)
            });
            b.op(Op::Flatten, &[kept])
        });
        assert_eq!(value(&p, &[rows(&[&[1, 2], &[3], &[4, 5, 6]])]), ints(&[1, 2, 4, 5, 6]));
    }

    #[test]
    fn expand_makes_any_number_of_elements() {
        let p = program(&["[i64; n0]"], |b, p| b.op2(Op::Expand, p, |_, q| q[0], |b, q| b.bin(BinOp::Sub, q[0], q[1])));
        assert_eq!(value(&p, &[ints(&[2, 0, 3])]), ints(&[2, 1, 3, 2, 1]));
        assert_eq!(value(&p, &[ints(&[])]), ints(&[]));
        assert_eq!(failure(&p, &[ints(&[1, -2])], Code::BadSize).notes, ["at element 1 of this `expand`"]);
        failure(&p, &[ints(&[i64::MAX, i64::MAX])], Code::LimitExceeded);
    }
}
