//! Help for tests: programs from a builder, values from literals.

use crate::error::Result;
use crate::{Cost, Options, Outcome, run};
use deckle_diag::{Code, Diagnostic, FileId, Span};
use deckle_ir::array::{BinOp, Builder, Function, Op, Program, verify};
use deckle_ir::entity::{Func, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::size::Atom;
use deckle_ir::text::parse_type;
use deckle_ir::types::Type;
use deckle_ir::value::{Space, Value};

/// The place of every statement in these programs.
pub(crate) const HERE: Span = Span { file: FileId(0), lo: 1, hi: 2 };

/// Short names for building.
pub(crate) trait Build {
    /// A statement without bodies.
    fn op(&mut self, op: Op, args: &[Var]) -> Var;
    /// A statement with one body.
    fn op1(&mut self, op: Op, args: &[Var], f: impl FnOnce(&mut Self, &[Var]) -> Var) -> Var;
    /// A statement with two bodies.
    fn op2(
        &mut self,
        op: Op,
        args: &[Var],
        f: impl FnOnce(&mut Self, &[Var]) -> Var,
        g: impl FnOnce(&mut Self, &[Var]) -> Var,
    ) -> Var;
    /// A constant.
    fn int(&mut self, n: i64) -> Var {
        self.op(Op::Const(Scalar::I64(n)), &[])
    }
    /// An arithmetic operator.
    fn bin(&mut self, op: BinOp, a: Var, b: Var) -> Var {
        self.op(Op::Binary(op), &[a, b])
    }
    /// The type written in `text`, which mentions size variables in order; new ones are bound by the next variable.
    fn typed(&mut self, text: &str) -> Type;
}

impl Build for Builder<'_> {
    fn op(&mut self, op: Op, args: &[Var]) -> Var {
        self.push(op, args, &[], HERE).unwrap()
    }

    fn op1(&mut self, op: Op, args: &[Var], f: impl FnOnce(&mut Self, &[Var]) -> Var) -> Var {
        let (body, params) = self.begin_body_of(&op, args, 0, HERE).unwrap();
        let result = f(self, &params);
        self.end_body(result);
        self.push(op, args, &[body], HERE).unwrap()
    }

    fn op2(
        &mut self,
        op: Op,
        args: &[Var],
        f: impl FnOnce(&mut Self, &[Var]) -> Var,
        g: impl FnOnce(&mut Self, &[Var]) -> Var,
    ) -> Var {
        let (first, params) = self.begin_body_of(&op, args, 0, HERE).unwrap();
        let result = f(self, &params);
        self.end_body(result);
        let (second, params) = self.begin_body_of(&op, args, 1, HERE).unwrap();
        let result = g(self, &params);
        self.end_body(result);
        self.push(op, args, &[first, second], HERE).unwrap()
    }

    fn typed(&mut self, text: &str) -> Type {
        let ty = parse_type(text).unwrap();
        let mut arities = Vec::new();
        ty.any_atom(&mut |a, _| {
            if let Atom::Var(s, at) = a
                && s.index() >= self.func().sizes.len()
            {
                arities.push((*s, at.len() as u32));
            }
            false
        });
        arities.sort();
        arities.dedup();
        for (s, arity) in arities {
            assert_eq!(self.new_size(arity), s);
        }
        ty
    }
}

/// A function with parameters of these types, called `p0`, `p1` and so on.
pub(crate) fn function(
    funcs: &[Function],
    name: &str,
    params: &[&str],
    f: impl FnOnce(&mut Builder<'_>, &[Var]) -> Var,
) -> Function {
    let mut b = Builder::new(funcs, name, HERE);
    let mut vars = Vec::new();
    for (i, text) in params.iter().enumerate() {
        let ty = b.typed(text);
        vars.push(b.param(format!("p{i}"), ty, HERE));
    }
    let result = f(&mut b, &vars);
    b.finish(result)
}

/// A program of one function.
pub(crate) fn program(params: &[&str], f: impl FnOnce(&mut Builder<'_>, &[Var]) -> Var) -> Program {
    Program { funcs: vec![function(&[], "main", params, f)] }
}

/// Runs the last function of a program, with and without checking of sizes.
pub(crate) fn outcome(program: &Program, args: &[Value]) -> Result<Outcome> {
    if let Err(errors) = verify(program) {
        panic!("{errors:?}\n{program}");
    }
    let main = Func(program.funcs.len() as u32 - 1);
    let checked = run(program, main, args, &Options { check_sizes: true, ..Options::default() });
    let plain = run(program, main, args, &Options::default());
    assert_eq!(checked, plain, "\n{program}");
    checked
}

/// The value of a program that must run.
pub(crate) fn value(program: &Program, args: &[Value]) -> Value {
    match outcome(program, args) {
        Ok(outcome) => outcome.value,
        Err(e) => panic!("{e:?}\n{program}"),
    }
}

/// The cost of a program that must run, as `[W, D, M, N]`.
pub(crate) fn cost(program: &Program, args: &[Value]) -> [u64; 4] {
    let Cost { work, depth, space: Space { seq, par } } = outcome(program, args).unwrap().cost;
    [work, depth, seq, par]
}

/// The error of a program that must fail with this code, at a place if it is not about an argument.
pub(crate) fn failure(program: &Program, args: &[Value], code: Code) -> Diagnostic {
    let e = *outcome(program, args).unwrap_err();
    assert_eq!(e.code, code, "{e:?}");
    assert!(e.labels.first().is_some_and(|l| l.span == HERE) || code == Code::BadArgument, "{e:?}");
    assert!(!e.helps.is_empty(), "{e:?}");
    e
}

/// A vector of integers.
pub(crate) fn ints(v: &[i64]) -> Value {
    Value::array(v.iter().map(|x| Value::int(*x)).collect())
}

/// A vector of doubles.
pub(crate) fn reals(v: &[f64]) -> Value {
    Value::array(v.iter().map(|x| Value::real(*x)).collect())
}

/// A vector of booleans: `T` and `F`.
pub(crate) fn bools(v: &str) -> Value {
    Value::array(v.chars().map(|c| Value::bool(c == 'T')).collect())
}

/// A vector of vectors of integers.
pub(crate) fn rows(v: &[&[i64]]) -> Value {
    Value::array(v.iter().map(|row| ints(row)).collect())
}

/// The same as a sequence.
pub(crate) fn seq(v: &Value) -> Value {
    Value::seq(v.items().unwrap().to_vec())
}

/// A tuple.
pub(crate) fn tuple(parts: &[Value]) -> Value {
    Value::tuple(parts.to_vec())
}
