//! The text form of the array IR.
//!
//! ```text
//! fn spmv [n0, n1/1, n2] (v0 off: [i64; n0 + 1], v1 x: [f64; n2]) -> [f64; n0] {
//!   v2: i64 = length(v1)
//!   v5: [f64; n0] = map(v0) ^1(v3: i64) {
//!     v4: f64 = cast<f64>(v3)
//!     v4
//!   }
//!   v5
//! }
//! ```
//! After the name come the size variables, each with its number of positions if it has any, and with `@v5` if
//! it is not bound by the first variable that mentions it, because no type does. Scalar operators are written by their own
//! name, attributes in `<...>`, bodies after the operands. The last line of a body is its result.
//!
//! Numbers are those of the arenas. A statement follows the variables of its bodies there, so it has the higher number,
//! although it comes first in the text.
//!
//! A program that does not verify is printed as far as possible.

use super::*;
use crate::text::{Name, comma_separated};
use crate::value::Value;
use std::collections::HashSet;
use std::fmt::{Display, Formatter, Result};

/// The words for an attribute, in the printer and the parser.
pub(super) type Words<T, const N: usize> = [(T, &'static str); N];

pub(super) const COLLS: Words<Coll, 2> = [(Coll::Array, "array"), (Coll::Seq, "seq")];
pub(super) const ENDS: Words<bool, 2> = [(true, "inclusive"), (false, "exclusive")];
pub(super) const PULLS: Words<bool, 2> = [(true, "all"), (false, "some")];
pub(super) const SLICERS: Words<Slicer, 3> = [(Slicer::All, "all"), (Slicer::At, "at"), (Slicer::Range, "range")];
pub(super) const SPLITS: Words<SplitBy, 2> = [(SplitBy::Lengths, "lengths"), (SplitBy::Offsets, "offsets")];
pub(super) const DIRECTIONS: Words<Direction, 2> = [(Direction::Left, "left"), (Direction::Right, "right")];
pub(super) const SCANS: Words<ScanKind, 3> =
    [(ScanKind::Inclusive, "inclusive"), (ScanKind::Exclusive, "exclusive"), (ScanKind::Full, "full")];

fn word<T: PartialEq>(words: &[(T, &'static str)], item: &T) -> &'static str {
    words.iter().find(|(t, _)| t == item).map_or("?", |(_, w)| w)
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (k, func) in self.funcs.iter().enumerate() {
            if k > 0 {
                f.write_str("\n")?;
            }
            Printer { funcs: &self.funcs, func, printed: HashSet::new() }.function(f)?;
        }
        Ok(())
    }
}

/// Alone, a function calls others by their handles: it does not know their names.
impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Printer { funcs: &[], func: self, printed: HashSet::new() }.function(f)
    }
}

struct Printer<'a> {
    funcs: &'a [Function],
    func: &'a Function,
    /// Bodies printed so far: one that is wrongly used twice is not printed again.
    printed: HashSet<Body>,
}

impl Printer<'_> {
    fn function(&mut self, f: &mut Formatter<'_>) -> Result {
        write!(f, "fn {} ", Name(&self.func.name))?;
        self.sizes(f)?;
        let root = self.func.bodies.first();
        f.write_str("(")?;
        let params = root.map_or(&[][..], |b| &b.params);
        comma_separated(f, params.iter().enumerate(), |f, (k, &p)| {
            write!(f, "{p}")?;
            if let Some(name) = self.func.param_names.get(k) {
                write!(f, " {}", Name(name))?;
            }
            f.write_str(": ")?;
            self.ty(f, p)
        })?;
        f.write_str(") -> ")?;
        match root {
            Some(root) => self.ty(f, root.result)?,
            None => f.write_str("?")?,
        }
        f.write_str(" ")?;
        self.block(f, Function::ROOT, 0)?;
        f.write_str("\n")
    }

    fn sizes(&self, f: &mut Formatter<'_>) -> Result {
        if self.func.sizes.is_empty() {
            return Ok(());
        }
        let binders = self.func.first_mentions();
        f.write_str("[")?;
        comma_separated(f, self.func.sizes.iter().enumerate(), |f, (k, data)| {
            write!(f, "{}", SizeVar(k as u32))?;
            if data.arity != 0 {
                write!(f, "/{}", data.arity)?;
            }
            if binders[k] != Some(data.binder) {
                write!(f, "@{}", data.binder)?;
            }
            Ok(())
        })?;
        f.write_str("] ")
    }

    fn ty(&self, f: &mut Formatter<'_>, v: Var) -> Result {
        match self.func.vars.get(v.index()) {
            Some(data) => write!(f, "{}", data.ty),
            None => f.write_str("?"),
        }
    }

    /// The statements and the result of a body, in braces.
    fn block(&mut self, f: &mut Formatter<'_>, b: Body, indent: usize) -> Result {
        let Some(body) = self.func.bodies.get(b.index()).filter(|_| self.printed.insert(b)) else {
            return f.write_str("{ ... }");
        };
        f.write_str("{\n")?;
        for &s in &body.stmts {
            write!(f, "{:1$}{s}: ", "", indent + 2)?;
            self.ty(f, s)?;
            match self.func.vars.get(s.index()).map(|d| &d.def) {
                Some(Def::Inst(inst)) => self.inst(f, inst, indent + 2)?,
                _ => f.write_str(" = ?")?,
            }
            f.write_str("\n")?;
        }
        writeln!(f, "{:1$}{2}", "", indent + 2, body.result)?;
        write!(f, "{:1$}}}", "", indent)
    }

    fn inst(&mut self, f: &mut Formatter<'_>, inst: &Inst, indent: usize) -> Result {
        f.write_str(" = ")?;
        self.op(f, &inst.op)?;
        f.write_str("(")?;
        comma_separated(f, &inst.args, |f, a| write!(f, "{a}"))?;
        f.write_str(")")?;
        for &b in &inst.bodies {
            write!(f, " {b}(")?;
            let params = self.func.bodies.get(b.index()).map_or(&[][..], |data| &data.params);
            comma_separated(f, params, |f, &p| {
                write!(f, "{p}: ")?;
                self.ty(f, p)
            })?;
            f.write_str(") ")?;
            self.block(f, b, indent)?;
        }
        Ok(())
    }

    /// The name of an operator and its attributes.
    fn op(&self, f: &mut Formatter<'_>, op: &Op) -> Result {
        let name = op.info().name;
        match op {
            Op::Unary(op) => f.write_str(op.name()),
            Op::Binary(op) => f.write_str(op.name()),
            Op::Const(c) => write!(f, "{name}<{c}>"),
            Op::Cast(t) => write!(f, "{name}<{t}>"),
            Op::Record(shape) => {
                write!(f, "{name}<{}{{", Name(&shape.name))?;
                comma_separated(f, &shape.fields, |f, field| write!(f, "{}", Name(field)))?;
                f.write_str("}>")
            }
            Op::Call(callee) => match self.funcs.get(callee.index()) {
                Some(callee) => write!(f, "{name}<@{}>", Name(&callee.name)),
                None => write!(f, "{name}<{callee}>"),
            },
            Op::Ensure(t) | Op::Array(t) | Op::MkSeq(t) => write!(f, "{name}<{t}>"),
            Op::Use(c) => {
                write!(f, "{name}<{} = ", c.ty)?;
                value(f, &c.value)?;
                f.write_str(">")
            }
            Op::Pull(all) => write!(f, "{name}<{}>", word(&PULLS, all)),
            Op::Iota(coll) => write!(f, "{name}<{}>", word(&COLLS, coll)),
            Op::Range(coll, inclusive) => write!(f, "{name}<{}, {}>", word(&COLLS, coll), word(&ENDS, inclusive)),
            Op::Proj(k) | Op::Shape(k) | Op::Size(k) | Op::Reshape(k) | Op::Reverse(k) | Op::Concat(k) | Op::Pad(k) => {
                write!(f, "{name}<{k}>")
            }
            Op::Tiles(k) | Op::Tabulate(k) | Op::Push(k) => write!(f, "{name}<{k}>"),
            Op::Split(by) => write!(f, "{name}<{}>", word(&SPLITS, by)),
            Op::Slice(axes) => {
                write!(f, "{name}<[")?;
                comma_separated(f, axes, |f, axis| f.write_str(word(&SLICERS, axis)))?;
                f.write_str("]>")
            }
            Op::Transpose(axes) => {
                write!(f, "{name}<[")?;
                comma_separated(f, axes, |f, axis| write!(f, "{axis}"))?;
                f.write_str("]>")
            }
            Op::Reduce(monoid) => write!(f, "{name}<{}>", word(&Monoid::ALL, monoid)),
            Op::Scan(from, kind) => write!(f, "{name}<{}, {}>", word(&DIRECTIONS, from), word(&SCANS, kind)),
            Op::Stencil(radii, boundary) => {
                write!(f, "{name}<[")?;
                comma_separated(f, radii, |f, r| write!(f, "{r}"))?;
                write!(f, "], {}>", word(&Boundary::ALL, boundary))
            }
            plain => f.write_str(plain.info().name),
        }
    }
}

/// A value as in `use<...>`.
fn value(f: &mut Formatter<'_>, v: &Value) -> Result {
    let (open, parts, close): (_, &[Value], _) = match v {
        Value::Scalar(s) => return write!(f, "{s}"),
        Value::Tuple(parts) if parts.len() == 1 => ("(", parts, ",)"),
        Value::Tuple(parts) => ("(", parts, ")"),
        Value::Array(items) => ("[", items, "]"),
        Value::Seq(items) => ("{", items, "}"),
    };
    f.write_str(open)?;
    comma_separated(f, parts, value)?;
    f.write_str(close)
}

impl Function {
    /// For each size variable the first variable, in arena order, whose type mentions it.
    pub(super) fn first_mentions(&self) -> Vec<Option<Var>> {
        let mut first = vec![None; self.sizes.len()];
        for (v, data) in self.vars.iter().enumerate() {
            data.ty.any_atom(&mut |a, _| {
                if let Atom::Var(s, _) = a
                    && let Some(slot @ None) = first.get_mut(s.index())
                {
                    *slot = Some(Var(v as u32));
                }
                false
            });
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scalar_operator_has_the_name_of_another_operator() {
        let table = Op::TABLE.iter().map(|info| info.name);
        let unary = UnOp::ALL.iter().map(|op| op.name());
        let binary = BinOp::ALL.iter().map(|op| op.name());
        let mut seen = HashSet::new();
        for name in table.chain(unary).chain(binary) {
            assert!(seen.insert(name), "two operators are called `{name}`");
        }
    }

    #[test]
    fn a_broken_function_is_printed_as_far_as_it_goes() {
        let span = deckle_diag::Span::NONE;
        let inst = Inst { op: Op::Guard, args: vec![Var(9)], bodies: vec![Body(0), Body(7)] };
        let body = BodyData { first: Var(0), params: vec![Var(4)], stmts: vec![Var(0), Var(5)], result: Var(3) };
        let func = Function {
            name: "f".to_string(),
            param_names: vec![],
            span,
            sizes: vec![SizeVarData { arity: 2, binder: Var(0) }],
            size_names: Vec::new(),
            vars: vec![VarData { ty: Type::INT, def: Def::Inst(inst), span, name: None }],
            bodies: vec![body],
        };
        let expected = "fn f [n0/2@v0] (v4: ?) -> ? {\n  v0: i64 = guard(v9) ^0(v4: ?) { ... } ^7() { ... }\n  \
                        v5: ? = ?\n  v3\n}\n";
        assert_eq!(func.to_string(), expected);
    }
}
