//! Building programs: sharing, escape, mixing, divergence, use outside of a program; every built program verifies and round-trips.

use deckle::prelude::*;
use deckle_ir::array::{BinOp, Def, Op, Program, parse, verify};
use std::cell::Cell;

fn count_ops(program: &Program, want: impl Fn(&Op) -> bool) -> usize {
    let vars = &program.funcs[0].vars;
    vars.iter().filter(|v| matches!(&v.def, Def::Inst(inst) if want(&inst.op))).count()
}

fn muls(program: &Program) -> usize {
    count_ops(program, |op| *op == Op::Binary(BinOp::Mul))
}

#[test]
fn the_same_expression_is_one_statement() {
    let f = compile(|x: Exp<i64>| {
        let y = x * x;
        y + y + x * x
    })
    .unwrap();
    assert_eq!(muls(f.program()), 1);
    assert_eq!(f.call(3).unwrap(), 27);
}

#[test]
fn sharing_reaches_into_closures_and_holds_inside_them() {
    let f = compile(|xs: Arr<i64>, k: Exp<i64>| {
        let outside = k * k;
        xs.map(|x| {
            let square = x * x;
            square + square + x * x + k * k + outside
        })
    })
    .unwrap();
    assert_eq!(muls(f.program()), 2);
    assert_eq!(f.call([2], 3).unwrap().to_vec(), [30]);
}

#[test]
fn what_one_closure_shares_another_does_not_see() {
    let f = compile(|xs: Arr<i64>, k: Exp<i64>| xs.map(|x| x + k * k).zip_with(xs, |a, b| a + b + k * k)).unwrap();
    assert_eq!(muls(f.program()), 2);
    assert_eq!(verify(f.program()), Ok(()));
    assert_eq!(f.call([1], 2).unwrap().to_vec(), [10]);
}

fn count_bodies(program: &Program) -> usize {
    count_ops(program, |op| matches!(op, Op::Map | Op::If | Op::While | Op::For | Op::Fold))
}

#[test]
fn the_same_closure_on_the_same_operands_is_one_statement() {
    let f = compile(|xs: Arr<i64>, k: Exp<i64>| {
        let twice = || xs.map(|x| choose(x.gt(k), || x * 2, || iota(x).map(|i| i + k).sum()));
        let steps = || repeat(k, 1i64, |i, s| s + i * loop_while(s, |t| t.lt(9), |t| t + 1));
        (twice().sum() + twice().sum(), steps() * steps())
    })
    .unwrap();
    // One outer map, a choice and a map in it; one loop and one in it.
    assert_eq!(count_bodies(f.program()), 5);
    assert_eq!(verify(f.program()), Ok(()));
    assert_eq!(f.call([1, 5], 2).unwrap(), (24, 100));
    let text = f.program().to_string();
    assert_eq!(parse(&text).unwrap().to_string(), text);
}

#[test]
fn closures_that_differ_anywhere_are_two_statements() {
    let f = compile(|xs: Arr<i64>, ys: Arr<i64>, k: Exp<i64>| {
        let results = [
            xs.map(|x| x + k),
            ys.map(|x| x + k),
            xs.map(|x| k + x),
            xs.map(|x| x + 1),
            xs.map(|x| x + 2),
            xs.map(|_| k),
            xs.map(|x| choose(x.gt(0), || k, || x)),
            xs.map(|x| choose(x.gt(0), || x, || k)),
            xs.map(|x| {
                let _ = x + k;
                x
            }),
            xs.zip_with(ys, |x, _| x),
            xs.zip_with(ys, |_, y| y),
        ];
        results.into_iter().fold(constant(0), |sum, r| sum + r.sum())
    })
    .unwrap();
    assert_eq!(count_ops(f.program(), |op| *op == Op::Map), 11);
    assert_eq!(f.call([1], [10], 3).unwrap(), 4 + 13 + 4 + 2 + 3 + 3 + 3 + 1 + 1 + 1 + 10);
}

#[test]
fn what_is_shared_with_a_closure_has_its_sizes_too() {
    // Two equal filters are one, so their results are known to have the same length.
    let f = compile(|xs: Arr<i64>| xs.filter(|x| x.gt(1)).zip(xs.filter(|x| x.gt(1)).map(|x| x * x))).unwrap();
    assert_eq!(f.call([1, 2, 3]).unwrap().to_vec(), [(2, 4), (3, 9)]);
    let once = compile(|xs: Arr<i64>| xs.filter(|x| x.gt(1))).unwrap();
    let twice = compile(|xs: Arr<i64>| xs.filter(|x| x.gt(1)).append(xs.filter(|x| x.gt(1)))).unwrap();
    assert_eq!(twice.program().funcs[0].vars.len(), once.program().funcs[0].vars.len() + 1);
    let turned = compile(|a: Arr<Arr<i64>>| a.regular().transpose().append(a.regular().transpose())).unwrap();
    assert_eq!(count_ops(turned.program(), |op| matches!(op, Op::Ensure(_))), 1);
}

#[test]
fn places_are_right_after_a_closure_was_taken_back() {
    let f = compile(|xs: Arr<i64>, i: Exp<i64>| {
        let ys = xs.map(|x| x * x + 1);
        let zs = xs.map(|x| x * x + 1);
        (ys.sum() + zs.sum(), xs.at(i))
    })
    .unwrap();
    let e = f.call([1], 7).unwrap_err();
    assert_eq!(e.place().unwrap().1, line!() - 4);
}

#[test]
fn many_closures_over_one_array_are_built_fast() {
    let start = std::time::Instant::now();
    let f = compile(|xs: Arr<f64>| (0..20_000).fold(xs.sum(), |s, k| s + xs.map(|x| x * k as f64).sum())).unwrap();
    assert_eq!(count_ops(f.program(), |op| *op == Op::Map), 20_000);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn constants_are_shared_by_their_bits() {
    let f = compile(|x: Exp<f64>| (x + 0.0) * (x + -0.0) * (x + 0.0)).unwrap();
    assert_eq!(count_ops(f.program(), |op| matches!(op, Op::Const(_))), 2);
}

#[test]
fn operators_that_differ_in_attributes_only_are_not_shared() {
    let f = compile(|a: Arr<i64, D3>| {
        (a.rev_on(0).at(0, 0, 0), a.rev_on(1).at(0, 0, 0), a.rev_on(2).at(0, 0, 0), a.rev_on(2).at(0, 0, 0))
    })
    .unwrap();
    assert_eq!(count_ops(f.program(), |op| matches!(op, Op::Reverse(_))), 3);
}

#[test]
fn a_variable_must_not_leave_its_closure() {
    let kept = Cell::new(None);
    let e = compile(|xs: Arr<i64>| {
        let ys = xs.map(|x| {
            kept.set(Some(x));
            x
        });
        ys.sum() + kept.get().unwrap()
    })
    .unwrap_err();
    assert_eq!(*e.fault(), Fault::Escaped);
    assert_eq!(e.place().unwrap().0, file!());
    assert!(e.to_string().contains("outside of its closure"), "{e}");
}

#[test]
fn a_variable_that_escapes_into_a_derived_operator_is_blamed_on_its_user() {
    let kept = Cell::new(None);
    let mut line = 0;
    let e = compile(|xs: Arr<i64>| {
        xs.map(|x| {
            kept.set(Some(x));
            x
        });
        line = line!() + 1;
        xs.map(|x| (x, kept.get().unwrap()))
    })
    .unwrap_err();
    assert_eq!(*e.fault(), Fault::Escaped);
    assert_eq!(e.place(), Some((file!(), line)));
}

#[test]
fn programs_do_not_mix() {
    let kept = Cell::new(None);
    compile(|x: Exp<i64>| {
        kept.set(Some(x));
        x
    })
    .unwrap();
    let e = compile(|x: Exp<i64>| x + kept.get().unwrap()).unwrap_err();
    assert_eq!(*e.fault(), Fault::Mixed);
    assert!(e.to_string().contains("of one program"), "{e}");
}

#[test]
fn programs_of_two_threads_do_not_mix() {
    let other = std::thread::spawn(|| {
        let kept = Cell::new(None);
        compile(|x: Exp<i64>| {
            kept.set(Some(x));
            x
        })
        .unwrap();
        kept.get().unwrap()
    });
    let theirs = other.join().unwrap();
    assert_eq!(*compile(|x: Exp<i64>| x + theirs).unwrap_err().fault(), Fault::Mixed);
}

#[test]
fn a_program_may_be_built_while_another_is() {
    let f = compile(|x: Exp<i64>| {
        let inner = compile(|y: Exp<i64>| y * 2).unwrap();
        x + inner.call(21).unwrap()
    })
    .unwrap();
    assert_eq!(f.call(0).unwrap(), 42);
    let e = compile(|x: Exp<i64>| {
        let inner = compile(|y: Exp<i64>| y * x);
        assert_eq!(*inner.unwrap_err().fault(), Fault::Mixed);
        x
    });
    assert!(e.is_ok());
}

#[test]
fn expressions_live_inside_compile() {
    let five = constant(5i64) + 1;
    let e = compile(|x: Exp<i64>| x + five).unwrap_err();
    assert_eq!(*e.fault(), Fault::NoProgram);
    assert_eq!(*compile(|| five).unwrap_err().fault(), Fault::NoProgram);
    assert!(e.to_string().contains("inside the closure"), "{e}");
}

#[test]
fn a_rust_loop_without_end_is_an_error() {
    let e = compile(|x: Exp<i64>| -> Exp<i64> {
        let mut y = x;
        loop {
            y = y * x + 1;
        }
    })
    .unwrap_err();
    assert_eq!(*e.fault(), Fault::Endless);
    assert!(e.to_string().contains("without end"), "{e}");
    assert_eq!(e.place().unwrap().0, file!());
}

#[test]
fn a_rust_loop_that_adds_nothing_ends_too() {
    let e = compile(|x: Exp<i64>| -> Exp<i64> {
        loop {
            let _ = x + 1;
        }
    })
    .unwrap_err();
    assert_eq!(*e.fault(), Fault::Endless);
}

fn nest(x: Exp<i64>) -> Exp<i64> {
    iota(x).map(nest).sum()
}

#[allow(unconditional_recursion)]
fn recurse(x: Exp<i64>) -> Exp<i64> {
    recurse(x + 1) + 1
}

#[test]
fn recursion_is_an_error_and_not_a_stack_overflow() {
    assert_eq!(*compile(nest).unwrap_err().fault(), Fault::Endless);
    assert_eq!(*compile(recurse).unwrap_err().fault(), Fault::Endless);
}

#[test]
fn a_panic_in_the_closure_is_the_users() {
    let caught = std::panic::catch_unwind(|| compile(|x: Exp<i64>| if true { panic!("mine") } else { x }).is_ok());
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
    assert_eq!(compile(|x: Exp<i64>| x).unwrap().call(1).unwrap(), 1);
}

#[test]
fn what_types_cannot_catch_is_an_error_of_compile() {
    let e = compile(|a: Arr<i64, D2>| a.rev_on(7)).unwrap_err();
    assert!(matches!(e.fault(), Fault::Type(m) if m.contains("axis")), "{e}");
    let e = compile(|| array([1i64, 2]).zip(array([1i64]))).unwrap_err();
    assert!(matches!(e.fault(), Fault::Type(m) if m.contains("equal lengths")), "{e}");
    let e = compile(|s: Seq<i64>| s.map(|x| x + s.sum())).unwrap_err();
    assert!(matches!(e.fault(), Fault::Type(_)), "{e}");
}

#[test]
fn a_million_nodes_are_built_and_dropped() {
    let f = compile(|x: Exp<f64>| (0..500_000).fold(x, |y, k| y * x + k as f64)).unwrap();
    assert!(f.program().funcs[0].vars.len() > 1_000_000);
    drop(f);
}

#[test]
fn programs_print_and_parse() {
    let f = compile(|off: Arr<i64>, xs: Arr<(f64, i64)>, a: Arr<f64, D2>| {
        let rows = xs.split_offsets(off).map(|row| row.map(|e| e.unpack().0).sum());
        (rows, a.transpose().stencil((1, 1), Edge::Clamp, |w| w.at(1, 1)).sum(), a.tiles((2, 2)).shapes())
    })
    .unwrap();
    let text = f.program().to_string();
    assert_eq!(verify(f.program()), Ok(()));
    assert_eq!(parse(&text).unwrap().to_string(), text);
}

#[test]
fn a_sum_that_its_own_traversal_needs_is_refused() {
    let e = compile(|n: Exp<i64>| {
        let s = count_to(n);
        let total = s.sum();
        s.map(move |x| x - total).sum()
    })
    .unwrap_err();
    assert!(matches!(e.fault(), Fault::Stream(_)), "{e}");
    let text = e.to_string();
    assert!(text.contains("D0209") && text.contains("s.tab()") && text.contains("building.rs"), "{text}");
}

#[test]
fn a_sequence_that_is_built_twice_is_traversed_twice() {
    let built = compile(|n: Exp<i64>| {
        let s = || count_to(n);
        let total = s().sum();
        s().map(move |x| x - total).sum()
    })
    .unwrap();
    assert_eq!(built.call(4).unwrap(), (0..4).map(|x| x - 6).sum::<i64>());
}
