//! Copying a function with changes.
//!
//! A copy goes statement by statement through a [`Builder`], which gives every statement its type anew: what a change
//! does to sizes further down is worked out by the typing rules. Where they refuse, there is no copy.

use deckle_diag::Span;
use deckle_ir::array::{Builder, Def, Function, Op};
use deckle_ir::entity::{Body, Func, Path, SizeVar, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;
use std::collections::{HashMap, HashSet};

/// What is to be different in the copy. Handles are those of the original.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    /// Statements that are left out, with what is used in their place.
    pub replace: HashMap<Var, Stand>,
    /// Statements and parameters of the function that are left out, and not used.
    pub drop: HashSet<Var>,
    /// Bodies with another result.
    pub results: HashMap<Body, Var>,
    /// Functions that are called in the place of others; those not mentioned stay.
    pub calls: HashMap<Func, Func>,
}

/// What is used in the place of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stand {
    /// A variable that is in scope there.
    Var(Var),
    /// A constant.
    Const(Scalar),
    /// The statements of one of its bodies, run once: at the first element, where the body has elements as parameters.
    Inline(usize),
}

/// A copy of `func`, which may call `funcs`; none where it would have no type.
pub fn rebuild(funcs: &[Function], func: &Function, edit: &Edit) -> Option<Function> {
    let mut copy = Copier {
        old: func,
        edit,
        b: Builder::new(funcs, func.name.clone(), func.span),
        vars: vec![None; func.vars.len()],
        bodies: vec![None; func.bodies.len()],
        sizes: vec![None; func.sizes.len()],
    };
    copy.bodies[0] = Some(Function::ROOT);
    for (&p, name) in func.params().iter().zip(&func.param_names) {
        if edit.drop.contains(&p) {
            continue;
        }
        copy.bind(p);
        let ty = copy.ty(func.ty(p))?;
        copy.vars[p.index()] = Some(copy.b.param(name.clone(), ty, func.span(p)));
    }
    let result = copy.statements(Function::ROOT)?;
    Some(copy.b.finish(result))
}

struct Copier<'a> {
    old: &'a Function,
    edit: &'a Edit,
    b: Builder<'a>,
    vars: Vec<Option<Var>>,
    bodies: Vec<Option<Body>>,
    sizes: Vec<Option<SizeVar>>,
}

impl Copier<'_> {
    fn var(&self, v: Var) -> Option<Var> {
        self.vars[v.index()]
    }

    /// Makes the size variables that `v` binds, for a type that is copied rather than worked out.
    fn bind(&mut self, v: Var) {
        for (k, data) in self.old.sizes.iter().enumerate() {
            if data.binder == v {
                self.sizes[k] = Some(self.b.new_size(data.arity));
            }
        }
    }

    /// Learns what size variables are called now from the type that a variable has been given.
    fn learn(&mut self, old: Var, new: Var) {
        let (was, is) = (self.old.ty(old), self.b.ty(new));
        if !was.same_kind(is) {
            return;
        }
        let mut list = Vec::new();
        is.for_each_size(&mut |s, _| list.push(s.clone()));
        let mut list = list.into_iter();
        let func = self.old;
        let sizes = &mut self.sizes;
        was.for_each_size(&mut |s, _| {
            let now = list.next();
            if let (Some(s), Some(t)) = (s.as_var(), now.and_then(|t| t.as_var()))
                && func.size_binder(s) == Some(old)
            {
                sizes[s.index()] = Some(t);
            }
        });
    }

    fn statements(&mut self, body: Body) -> Option<Var> {
        let data = self.old.body(body);
        for &s in &data.stmts {
            if self.edit.drop.contains(&s) {
                continue;
            }
            let span = self.old.span(s);
            match self.edit.replace.get(&s) {
                Some(Stand::Var(v)) => self.vars[s.index()] = Some(self.var(*v)?),
                Some(Stand::Const(c)) => {
                    self.vars[s.index()] = Some(self.b.push(Op::Const(*c), &[], &[], span).ok()?);
                }
                Some(Stand::Inline(which)) => self.inline(s, *which, span)?,
                None => self.statement(s, span)?,
            }
        }
        let result = self.edit.results.get(&body).copied().unwrap_or(data.result);
        self.var(result)
    }

    fn statement(&mut self, s: Var, span: Span) -> Option<()> {
        let Def::Inst(inst) = &self.old.vars[s.index()].def else { return None };
        let args = inst.args.iter().map(|v| self.var(*v)).collect::<Option<Vec<_>>>()?;
        let early = self.op(&inst.op);
        let mut bodies = Vec::new();
        for (which, &old) in inst.bodies.iter().enumerate() {
            let (new, params) = self.b.begin_body_of(early.as_ref()?, &args, which, span).ok()?;
            self.bodies[old.index()] = Some(new);
            let theirs = &self.old.body(old).params;
            if theirs.len() != params.len() {
                return None;
            }
            for (&p, q) in theirs.iter().zip(params) {
                self.vars[p.index()] = Some(q);
                self.learn(p, q);
            }
            let result = self.statements(old)?;
            self.b.end_body(result);
            bodies.push(new);
        }
        if matches!(inst.op, Op::Ensure(_)) {
            self.bind(s);
        }
        let op = self.op(&inst.op)?;
        let new = self.b.push(op, &args, &bodies, span).ok()?;
        self.vars[s.index()] = Some(new);
        self.learn(s, new);
        Some(())
    }

    fn inline(&mut self, s: Var, which: usize, span: Span) -> Option<()> {
        let inst = self.old.inst(s)?;
        let body = *inst.bodies.get(which)?;
        let zero = self.b.push(Op::Const(Scalar::I64(0)), &[], &[], span).ok()?;
        for (k, &p) in self.old.body(body).params.iter().enumerate() {
            let ty = self.old.ty(p);
            let arg = inst.args.get(k).or(inst.args.last()).copied();
            let first = match arg {
                Some(arg) if self.old.ty(arg).elem().is_some_and(|e| e.same_kind(ty)) => {
                    self.b.push(Op::Index, &[self.var(arg)?, zero], &[], span).ok()?
                }
                Some(arg) if self.old.ty(arg).same_kind(ty) => self.var(arg)?,
                _ if *ty == Type::INT => zero,
                _ => return None,
            };
            self.vars[p.index()] = Some(first);
            self.learn(p, first);
        }
        self.vars[s.index()] = Some(self.statements(body)?);
        Some(())
    }

    fn op(&self, op: &Op) -> Option<Op> {
        Some(match op {
            Op::Ensure(t) => Op::Ensure(self.ty(t)?),
            Op::Array(t) => Op::Array(self.ty(t)?),
            Op::MkSeq(t) => Op::MkSeq(self.ty(t)?),
            Op::Call(f) => Op::Call(self.edit.calls.get(f).copied().unwrap_or(*f)),
            other => other.clone(),
        })
    }

    /// A type of the original in terms of the copy.
    fn ty(&self, ty: &Type) -> Option<Type> {
        let mut known = true;
        let path = |p: &Path| self.var(p.root).map(|root| Path { root, fields: p.fields.clone() });
        let new = ty.map_sizes(&mut |s, _| {
            s.rewrite(&mut |a, _| {
                let new: Option<Size> = match a {
                    Atom::Var(s, at) => self.sizes[s.index()].map(|s| Atom::Var(s, at.clone()).into()),
                    Atom::Value(p) => path(p).map(Size::value),
                    Atom::Read(p, at) => path(p).map(|p| Atom::Read(p, at.clone()).into()),
                    Atom::If(p, x, y) => path(p).map(|p| Size::select(p, x, y)),
                    Atom::At(b) => self.bodies[b.index()].map(|b| Atom::At(b).into()),
                    _ => return None,
                };
                known &= new.is_some();
                new
            })
        });
        known.then_some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, program};

    #[test]
    fn a_copy_without_changes_is_equal() {
        for seed in 0..200 {
            let case = program(seed, &Config::default());
            for (k, func) in case.program.funcs.iter().enumerate() {
                let copy = rebuild(&case.program.funcs[..k], func, &Edit::default());
                assert_eq!(copy.as_ref(), Some(func), "seed {seed}\n{}", case.program);
            }
        }
    }

    #[test]
    fn a_change_that_breaks_a_type_gives_no_copy() {
        let mut b = Builder::new(&[], "f", Span::NONE);
        let x = b.param("x", Type::INT, Span::NONE);
        let y = b.push(Op::Cast(deckle_ir::scalar::ScalarType::F64), &[x], &[], Span::NONE).unwrap();
        let z = b.push(Op::Unary(deckle_ir::array::UnOp::Sqrt), &[y], &[], Span::NONE).unwrap();
        let func = b.finish(z);
        let edit = Edit { replace: HashMap::from([(y, Stand::Var(x))]), ..Edit::default() };
        assert_eq!(rebuild(&[], &func, &edit), None);
        let edit = Edit { results: HashMap::from([(Function::ROOT, y)]), drop: HashSet::from([z]), ..Edit::default() };
        assert_eq!(rebuild(&[], &func, &edit).unwrap().vars.len(), 2);
    }
}
