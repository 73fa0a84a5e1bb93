//! Tests on some elements whether the operator of a fold or scan is associative.
//!
//! The results of a non-associative operator depend on how a backend groups elements, and types cannot exclude it. Three operands
//! `a`, `b`, `c` are combined as `(a · b) · c` and as `a · (b · c)`: the first ones, each with its neighbours, and some random
//! ones, in order. A trial that fails, by a division by zero for example, shows nothing.

use crate::error::{self, Result};
use crate::machine::{Cx, Place};
use deckle_ir::array::Op;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::value::Value;

/// The number of neighbours tested from the beginning, and of random operands.
const NEIGHBOURS: usize = 8;
const DRAWN: usize = 8;
/// The maximal number of steps of all trials of one statement.
const STEPS: u64 = 1 << 20;
/// The tolerance of floats, relative to the largest number that occurs.
const TOLERANCE: f64 = 1e-9;
const TOLERANCE_F32: f64 = 1e-4;
/// The number of scalars of a value that are shown.
const SHOWN: usize = 8;

/// Tests the operator of a statement on the operands that it has combined, in that order (D0311).
pub(super) fn check<'v>(cx: &mut Cx<'_, '_>, operands: impl Iterator<Item = &'v Value>) -> Result<()> {
    let in_order = matches!(cx.inst.op, Op::FoldOrdered | Op::ScanOrdered);
    if in_order || !cx.tries_associativity() {
        return Ok(());
    }
    let operands: Vec<&Value> = operands.collect();
    let found = cx.trial(STEPS, |cx| {
        triples(operands.len()).into_iter().find_map(|at| {
            let [a, b, c] = at.map(|i| operands[i].clone());
            let grouped = group(cx, [&a, &b, &c], at)?;
            (!grouped.agrees()).then(|| ([a, b, c].map(|v| show(&v)), grouped.results.map(|v| show(&v))))
        })
    });
    match found {
        None => Ok(()),
        Some((operands, results)) => {
            Err(error::not_associative(cx.name(), (cx.span(), cx.body_span()), operands, results))
        }
    }
}

/// The operands to test: ascending positions, the same in every run.
fn triples(n: usize) -> Vec<[usize; 3]> {
    let mut list: Vec<[usize; 3]> = (2..n).take(NEIGHBOURS).map(|k| [k - 2, k - 1, k]).collect();
    if n <= NEIGHBOURS + 2 {
        return list;
    }
    let mut state = n as u64;
    let mut below = |n: usize| {
        // Knuth's generator; its high bits are the random ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for _ in 0..DRAWN {
        let k = 2 + below(n - 2);
        let j = 1 + below(k - 1);
        list.push([below(j), j, k]);
    }
    list
}

/// The results of both groupings.
struct Grouped {
    results: [Value; 2],
    /// The largest number among the operands and results.
    scale: f64,
}

/// Combines three operands both ways. `None` if that fails.
fn group(cx: &mut Cx<'_, '_>, [a, b, c]: [&Value; 3], [_, j, k]: [usize; 3]) -> Option<Grouped> {
    let mut combine = |x: &Value, y: &Value, i| cx.body(0, Place::Element(i), &[x.clone(), y.clone()]).ok();
    let (ab, bc) = (combine(a, b, j)?, combine(b, c, k)?);
    let results = [combine(&ab, c, k)?, combine(a, &bc, j)?];
    let scale = [a, b, c, &ab, &bc, &results[0], &results[1]].into_iter().map(largest).fold(0.0, f64::max);
    Some(Grouped { results, scale })
}

impl Grouped {
    fn agrees(&self) -> bool {
        agree(&self.results[0], &self.results[1], self.scale)
    }
}

fn agree(a: &Value, b: &Value, scale: f64) -> bool {
    match (a, b) {
        (Value::Scalar(a), Value::Scalar(b)) => scalars_agree(*a, *b, scale),
        (Value::Tuple(a), Value::Tuple(b)) => all_agree(a, b, scale),
        (Value::Array(a), Value::Array(b)) | (Value::Seq(a), Value::Seq(b)) => all_agree(a, b, scale),
        _ => false,
    }
}

fn all_agree(a: &[Value], b: &[Value], scale: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b, scale))
}

fn scalars_agree(a: Scalar, b: Scalar, scale: f64) -> bool {
    let (Some(x), Some(y)) = (a.as_float(), b.as_float()) else { return a == b };
    let tolerance = if a.ty() == ScalarType::F32 { TOLERANCE_F32 } else { TOLERANCE };
    !x.is_finite() || !y.is_finite() || (x - y).abs() <= tolerance * scale
}

/// The largest absolute value of the finite floats in a value.
fn largest(v: &Value) -> f64 {
    match v {
        Value::Scalar(s) => s.as_float().filter(|x| x.is_finite()).map_or(0.0, f64::abs),
        Value::Tuple(parts) => parts.iter().map(largest).fold(0.0, f64::max),
        Value::Array(items) | Value::Seq(items) => items.iter().map(largest).fold(0.0, f64::max),
    }
}

/// A value in a message; of a large one the beginning.
fn show(v: &Value) -> String {
    let mut text = String::new();
    show_some(v, &mut text, &mut { SHOWN });
    text
}

fn show_some(v: &Value, text: &mut String, left: &mut usize) {
    let (open, parts, close) = match v {
        Value::Scalar(s) => {
            *left = left.saturating_sub(1);
            return text.push_str(&show_scalar(*s));
        }
        Value::Tuple(parts) => ("(", &parts[..], ")"),
        Value::Array(items) => ("[", &items[..], "]"),
        Value::Seq(items) => ("{", &items[..], "}"),
    };
    text.push_str(open);
    for (i, part) in parts.iter().enumerate() {
        text.push_str(if i > 0 { ", " } else { "" });
        if *left == 0 {
            text.push_str("...");
            break;
        }
        show_some(part, text, left);
    }
    text.push_str(close);
}

fn show_scalar(s: Scalar) -> String {
    match (s.as_bool(), s.as_int(), s.as_float()) {
        (Some(b), _, _) => b.to_string(),
        (_, Some(n), _) => n.to_string(),
        (_, _, Some(x)) => format!("{x:?}"),
        _ => s.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, ints, program, reals, seq, tuple};
    use crate::{Options, Outcome, run};
    use deckle_diag::{Code, Diagnostic};
    use deckle_ir::array::{BinOp, Builder, Direction, Op, Program, ScanKind};
    use deckle_ir::entity::{Func, Var};
    use deckle_ir::value::Value;

    fn tried(program: &Program, args: &[Value]) -> Result<Outcome, Box<Diagnostic>> {
        let plain = run(program, Func(0), args, &Options::default());
        let tried = run(program, Func(0), args, &Options { check_associative: true, ..Options::default() });
        match &tried {
            Err(e) if e.code == Code::NotAssociative => assert!(plain.is_ok(), "{plain:?}"),
            _ => assert_eq!(plain, tried, "\n{program}"),
        }
        tried
    }

    #[track_caller]
    fn passes(program: &Program, args: &[Value]) {
        tried(program, args).unwrap();
    }

    #[track_caller]
    fn fails(program: &Program, args: &[Value]) -> Diagnostic {
        let e = *tried(program, args).unwrap_err();
        assert_eq!(e.code, Code::NotAssociative, "{e:?}");
        e
    }

    fn fold(ty: &str, op: impl FnOnce(&mut Builder<'_>, &[Var]) -> Var) -> Program {
        program(&[ty], |b, p| b.op1(Op::Fold1, p, op))
    }

    fn difference(b: &mut Builder<'_>, q: &[Var]) -> Var {
        b.bin(BinOp::Sub, q[0], q[1])
    }

    /// `(x + y) / 2`.
    fn mean(b: &mut Builder<'_>, q: &[Var]) -> Var {
        let sum = b.bin(BinOp::Add, q[0], q[1]);
        let half = b.op(Op::Const(deckle_ir::scalar::Scalar::F64(0.5)), &[]);
        b.bin(BinOp::Mul, sum, half)
    }

    #[test]
    fn a_difference_is_reported_with_its_operands() {
        let e = fails(&fold("[i64; n0]", difference), &[ints(&[10, 3, 2])]);
        assert_eq!(e.message, "the operator of `fold1` is not associative");
        assert_eq!(e.notes[0], "with a = 10, b = 3 and c = 2, (a · b) · c is 5, but a · (b · c) is 9");
        assert!(e.notes[1].starts_with("`fold1` may group elements in any way"), "{e:?}");
        assert!(e.helps[0].contains("`fold_ordered`"), "{e:?}");
        fails(&fold("{i64}", difference), &[seq(&ints(&[10, 3, 2]))]);
        fails(&fold("[f64; n0]", mean), &[reals(&[1.0, 2.0, 3.0])]);
        // Two elements have only one grouping, and a zero at the end does not matter.
        passes(&fold("[i64; n0]", difference), &[ints(&[10, 3])]);
        passes(&fold("[i64; n0]", difference), &[ints(&[10, 3, 0])]);
    }

    #[test]
    fn the_start_of_a_fold_is_an_operand() {
        let p = program(&["i64", "[i64; n0]"], |b, p| b.op1(Op::Fold, p, difference));
        fails(&p, &[Value::int(1), ints(&[10, 3])]);
        passes(&p, &[Value::int(1), ints(&[10])]);
    }

    #[test]
    fn scans_of_all_kinds() {
        for direction in [Direction::Left, Direction::Right] {
            for kind in [ScanKind::Inclusive, ScanKind::Exclusive, ScanKind::Full] {
                let p = program(&["i64", "[i64; n0]"], |b, p| b.op1(Op::Scan(direction, kind), p, difference));
                fails(&p, &[Value::int(1), ints(&[2, 3, 4])]);
                let p = program(&["i64", "[i64; n0]"], |b, p| {
                    b.op1(Op::Scan(direction, kind), p, |b, q| b.bin(BinOp::Max, q[0], q[1]))
                });
                passes(&p, &[Value::int(1), ints(&[2, 3, 4])]);
            }
        }
        // Only combined elements are tested: not the last element of an exclusive scan.
        let left = Op::Scan(Direction::Left, ScanKind::Exclusive);
        let p = program(&["i64", "[i64; n0]"], |b, p| b.op1(left, p, difference));
        passes(&p, &[Value::int(1), ints(&[2, 3])]);
    }

    #[test]
    fn folds_of_rows() {
        let p =
            program(&["[i0 -> [i64; n1(i0)]; n0]"], |b, p| b.op1(Op::Map, p, |b, q| b.op1(Op::Fold1, q, difference)));
        let e = fails(&p, &[crate::testing::rows(&[&[1, 2], &[5, 4, 3]])]);
        assert!(e.notes.contains(&"at element 1 of this `map`".to_string()), "{e:?}");
        // Rows themselves, concatenated or zipped.
        let p = fold("[i0 -> [i64; n1(i0)]; n0]", |b, q| b.op(Op::Concat(0), q));
        passes(&p, &[crate::testing::rows(&[&[1, 2], &[], &[5, 4, 3], &[6]])]);
        let p = fold("[[i64; n1]; n0]", |b, q| b.op1(Op::Map, q, difference));
        let e = fails(&p, &[crate::testing::rows(&[&[1, 0], &[1, 0], &[1, 0]])]);
        assert!(e.notes[0].starts_with("with a = [1, 0], b = [1, 0] and c = [1, 0], "), "{e:?}");
    }

    #[test]
    fn floats_may_round() {
        // As a tuple, so that it is not a known operator.
        let sums = fold("[(f64, i64); n0]", |b, q| {
            let x = [0, 1].map(|i| b.op(Op::Proj(0), &[q[i]]));
            let n = [0, 1].map(|i| b.op(Op::Proj(1), &[q[i]]));
            let (x, n) = (b.bin(BinOp::Add, x[0], x[1]), b.bin(BinOp::Add, n[0], n[1]));
            b.op(Op::Tuple, &[x, n])
        });
        let numbers = |v: &[f64]| Value::array(v.iter().map(|x| tuple(&[Value::real(*x), Value::int(1)])).collect());
        passes(&sums, &[numbers(&[0.1, 0.2, 0.3, 1e16, 1.0, -1e16, 1e-9])]);
        passes(&sums, &[numbers(&[1e308, 1e308, -1e308])]);
        passes(&sums, &[numbers(&[f64::NAN, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, 1.0])]);
        let products = fold("[f64; n0]", |b, q| {
            let one = b.op(Op::Const(deckle_ir::scalar::Scalar::F64(1.0)), &[]);
            let y = b.bin(BinOp::Mul, q[1], one);
            b.bin(BinOp::Mul, q[0], y)
        });
        passes(&products, &[reals(&[0.1, 0.7, 1e-3, 1e200, 1e200, 1e-300])]);
    }

    #[test]
    fn elements_far_from_the_beginning_are_tried() {
        let xs: Vec<i64> = (0..1000).map(|i| i64::from(i >= 500)).collect();
        fails(&fold("[i64; n0]", difference), &[ints(&xs)]);
    }

    #[test]
    fn what_fails_on_trial_shows_nothing() {
        // 3 / (2 / 4) divides by zero.
        let p = fold("[i64; n0]", |b, q| b.bin(BinOp::Div, q[0], q[1]));
        passes(&p, &[ints(&[3, 2, 4])]);
        // A loop that only another grouping makes endless.
        let p = fold("[i64; n0]", |b, q| {
            b.op2(
                Op::While,
                &[q[0]],
                |b, r| b.bin(BinOp::Lt, r[0], q[1]),
                |b, r| {
                    let zero = b.int(0);
                    let step = b.bin(BinOp::Max, q[0], zero);
                    b.bin(BinOp::Add, r[0], step)
                },
            )
        });
        passes(&p, &[ints(&[5, 0, 1])]);
    }

    #[test]
    fn operators_that_are_associative_are_never_reported() {
        let options = Options { max_steps: Some(1_000_000), max_elements: 1 << 20, ..Options::default() };
        let trying = Options { check_associative: true, ..options.clone() };
        for seed in 0..2000 {
            let case = deckle_gen::program(seed, &deckle_gen::Config::default());
            let outcomes = [&options, &trying].map(|o| run(&case.program, case.entry, &case.args, o));
            assert_eq!(format!("{:?}", outcomes[0]), format!("{:?}", outcomes[1]), "seed {seed}\n{case}");
        }
    }

    #[test]
    fn trials_are_not_counted() {
        let p = program(&["[i64; n0]"], |b, p| {
            b.op1(Op::Fold1, p, |b, q| {
                let sum = b.bin(BinOp::Add, q[0], q[1]);
                let zero = b.int(0);
                b.bin(BinOp::Add, sum, zero)
            })
        });
        let args = [ints(&[1, 2, 3, 4, 5])];
        let watch = (0..p.funcs[0].vars.len()).map(|v| (Func(0), Var(v as u32))).collect();
        let plain = Options { watch, ..Options::default() };
        let trying = Options { check_associative: true, ..plain.clone() };
        assert_eq!(run(&p, Func(0), &args, &plain), run(&p, Func(0), &args, &trying));
        for max_steps in 0..40 {
            let ends = [&plain, &trying].map(|options| {
                let options = Options { max_steps: Some(max_steps), ..options.clone() };
                run(&p, Func(0), &args, &options).map_err(|e| e.code)
            });
            assert_eq!(ends[0], ends[1]);
        }
    }
}
