//! What the builder makes verifies, and reads back as it was.

use deckle_diag::Span;
use deckle_ir::array::{Builder, Constant, Op, Program, parse, verify};
use deckle_ir::entity::{Func, SizeVar, Var};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::size::{Atom, Size};
use deckle_ir::text::parse_type;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::sync::Arc;

const HERE: Span = Span::NONE;

fn check(program: &Program) {
    assert_eq!(verify(program), Ok(()), "{program}");
    assert_eq!(parse(&program.to_string()).as_ref(), Ok(program), "{program}");
}

fn alone(build: impl FnOnce(&mut Builder) -> Var) -> Program {
    let mut builder = Builder::new(&[], "f", HERE);
    let result = build(&mut builder);
    Program { funcs: vec![builder.finish(result)] }
}

#[test]
fn bodies_begin_where_the_builder_began_them() {
    let program = alone(|b| {
        let c = b.param("c", Type::BOOL, HERE);
        let (outer, _) = b.begin_body_of(&Op::If, &[c], 0, HERE).unwrap();
        let (inner, _) = b.begin_body_of(&Op::Guard, &[c], 0, HERE).unwrap();
        b.end_body(c);
        let yes = b.push(Op::Guard, &[c], &[inner], HERE).unwrap();
        b.end_body(yes);
        let (other, _) = b.begin_body_of(&Op::If, &[c], 1, HERE).unwrap();
        let no = b.push(Op::MkSeq(Type::BOOL), &[c], &[], HERE).unwrap();
        b.end_body(no);
        b.push(Op::If, &[c], &[outer, other], HERE).unwrap()
    });
    check(&program);
    assert_eq!(program.funcs[0].bodies.iter().map(|b| b.first.0).collect::<Vec<_>>(), [0, 1, 1, 2]);
}

#[test]
fn a_size_variable_that_no_type_mentions_keeps_its_binder() {
    let program = alone(|b| {
        let x = b.param("x", Type::INT, HERE);
        b.new_size(2);
        let y = b.push(Op::Tuple, &[x], &[], HERE).unwrap();
        assert_eq!(b.func().sizes[0].binder, y);
        y
    });
    assert!(program.to_string().starts_with("fn f [n0/2@v1] (v0 x: i64)"), "{program}");
    check(&program);
}

#[test]
fn ragged_sizes_leave_their_bodies_and_come_back() {
    let program = alone(|b| {
        let n = b.new_size(0);
        let lengths = b.param("a name", Type::array_of(Size::var(n), &Type::INT), HERE);
        let (body, params) = b.begin_body_of(&Op::Map, &[lengths], 0, HERE).unwrap();
        let row = b.push(Op::Iota(deckle_ir::array::Coll::Array), &params, &[], HERE).unwrap();
        b.end_body(row);
        let rows = b.push(Op::Map, &[lengths], &[body], HERE).unwrap();
        let (body, params) = b.begin_body_of(&Op::Map, &[rows], 0, HERE).unwrap();
        let (test, elems) = b.begin_body_of(&Op::Filter, &params, 0, HERE).unwrap();
        let flag = b.push(Op::Cast(ScalarType::Bool), &elems, &[], HERE).unwrap();
        b.end_body(flag);
        let kept = b.push(Op::Filter, &params, &[test], HERE).unwrap();
        b.end_body(kept);
        b.push(Op::Map, &[rows], &[body], HERE).unwrap()
    });
    let family = Atom::Var(SizeVar(2), vec![Size::pos(0)]);
    let ragged = Type::array(Size::var(SizeVar(0)), Type::array(family.into(), Type::INT));
    assert_eq!(*program.funcs[0].result_type(), ragged);
    check(&program);
}

#[test]
fn calls_and_constants_read_back() {
    let mut callee = Builder::new(&[], "two words", HERE);
    let x = callee.param("f64", parse_type("[f64; 3]").unwrap(), HERE);
    let mut program = Program { funcs: vec![callee.finish(x)] };
    let mut caller = Builder::new(&program.funcs, "g", HERE);
    let value = Value::array([f64::NAN, -0.0, 1e300].map(|x| Value::Scalar(Scalar::F64(x))).to_vec());
    let constant = Constant { ty: parse_type("[f64; 3]").unwrap(), value };
    let xs = caller.push(Op::Use(Arc::new(constant)), &[], &[], HERE).unwrap();
    let ys = caller.push(Op::Call(Func(0)), &[xs], &[], HERE).unwrap();
    let caller = caller.finish(ys);
    program.funcs.push(caller);
    assert_eq!(verify(&program), Ok(()), "{program}");
    assert_eq!(parse(&program.to_string()), Ok(program));
}
