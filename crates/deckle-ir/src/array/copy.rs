//! Copying a function with changes.
//!
//! A copy goes statement by statement through a [`Builder`], which types every statement again: the typing rules determine the effect of a
//! change on later sizes. If they reject a statement, there is no copy: [`Refused`] gives the reason.

use super::{Builder, Function, Inst, Misfit, Op, TypeError};
use crate::entity::{Body, Func, Path, SizeVar, Var};
use crate::size::{Atom, Size};
use crate::types::Type;
use deckle_diag::Span;
use std::fmt;

/// The reason why there is no copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A size of the original is not known in the copy, two sizes cannot be equal there, or rows are not known to be of equal size.
    Sizes(String),
    /// Any other reason: the copy would be malformed, which is a bug of the rewriting unless it tries changes at random.
    Bug(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Sizes(why) | Refused::Bug(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refused {}

impl From<TypeError> for Refused {
    fn from(e: TypeError) -> Refused {
        match e.misfit {
            Misfit::Type => Refused::Bug(e.message),
            Misfit::Sizes | Misfit::Irregular => Refused::Sizes(e.message),
        }
    }
}

/// The result of a part of a copy.
pub type Copied<T> = Result<T, Refused>;

/// The changes in a copy. Handles are those of the original.
pub trait Rewrite {
    /// Called before the first statement, after the parameters exist.
    ///
    /// # Errors
    /// If there is no copy.
    fn begin(&mut self, _copy: &mut Copier<'_>) -> Copied<()> {
        Ok(())
    }

    /// Copies a statement, or replaces it: afterwards [`Copier::var`] of it is defined where it is used.
    ///
    /// # Errors
    /// If there is no copy.
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Copied<()>;

    /// Whether a parameter of the function is kept.
    fn keeps(&self, _param: Var) -> bool {
        true
    }

    /// The result of a body.
    fn result(&self, _body: Body, result: Var) -> Var {
        result
    }

    /// The function to call instead of another.
    fn callee(&self, func: Func) -> Func {
        func
    }
}

/// A copy of `func`, which may call `funcs`.
///
/// # Errors
/// If the copy would have no type.
pub fn rewrite(funcs: &[Function], func: &Function, changes: &mut dyn Rewrite) -> Copied<Function> {
    let mut copy = Copier {
        old: func,
        b: Builder::new(funcs, func.name.clone(), func.span),
        vars: vec![None; func.vars.len()],
        bodies: vec![None; func.bodies.len()],
        sizes: vec![None; func.sizes.len()],
    };
    copy.bodies[0] = Some(Function::ROOT);
    for (&p, name) in func.params().iter().zip(&func.param_names) {
        if changes.keeps(p) {
            copy.bind(p);
            let ty = copy.ty(func.ty(p))?;
            copy.vars[p.index()] = Some(copy.b.param(name.clone(), ty, func.span(p)));
        }
    }
    changes.begin(&mut copy)?;
    let result = copy.statements(changes, Function::ROOT)?;
    for (size, name) in &func.size_names {
        if let Some(now) = copy.sizes[size.index()] {
            copy.b.name_size(now, name.clone());
        }
    }
    Ok(copy.b.finish(result))
}

/// A copy under construction.
#[derive(Debug)]
pub struct Copier<'a> {
    /// The original.
    pub old: &'a Function,
    /// The copy so far.
    pub b: Builder<'a>,
    vars: Vec<Option<Var>>,
    bodies: Vec<Option<Body>>,
    sizes: Vec<Option<SizeVar>>,
}

impl<'a> Copier<'a> {
    /// The variable of the copy that replaces a variable.
    ///
    /// # Errors
    /// If there is none.
    pub fn var(&self, v: Var) -> Copied<Var> {
        self.vars[v.index()].ok_or_else(|| Refused::Bug(format!("{v} is not in the copy")))
    }

    /// A statement of the original.
    ///
    /// # Errors
    /// If it is not a statement.
    pub fn inst(&self, s: Var) -> Copied<&'a Inst> {
        self.old.inst(s).ok_or_else(|| Refused::Bug(format!("{s} is no statement")))
    }

    /// Replaces `old` by `new`.
    pub fn stand(&mut self, old: Var, new: Var) {
        self.vars[old.index()] = Some(new);
        if let Some(name) = &self.old.vars[old.index()].name {
            self.b.name(new, name);
        }
        self.learn(old, new);
    }

    /// Creates the size variables that `v` binds, for a type that is copied rather than inferred.
    fn bind(&mut self, v: Var) {
        for (k, data) in self.old.sizes.iter().enumerate() {
            if data.binder == v {
                self.sizes[k] = Some(self.b.new_size(data.arity));
            }
        }
    }

    /// Records the new names of size variables from the type that a variable has been given.
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

    /// Copies the statements of a body into the open one, and returns its result.
    ///
    /// # Errors
    /// If there is no copy.
    pub fn statements(&mut self, changes: &mut dyn Rewrite, body: Body) -> Copied<Var> {
        for &s in &self.old.body(body).stmts {
            changes.statement(self, s)?;
        }
        self.var(changes.result(body, self.old.body(body).result))
    }

    /// Inlines the statements of another function for these arguments, and returns its result. Sizes are checked as in a call; if that is not possible,
    /// there is no copy.
    ///
    /// # Errors
    /// If there is no copy.
    pub fn inlined(
        &mut self,
        changes: &mut dyn Rewrite,
        callee: &'a Function,
        args: &[Var],
        span: Span,
    ) -> Copied<Var> {
        if !self.can_inline(callee, args) {
            return Err(Refused::Sizes(format!("a call of `{}` checks sizes in a sequence", callee.name)));
        }
        let vars = std::mem::replace(&mut self.vars, vec![None; callee.vars.len()]);
        let bodies = std::mem::replace(&mut self.bodies, vec![None; callee.bodies.len()]);
        let sizes = std::mem::replace(&mut self.sizes, vec![None; callee.sizes.len()]);
        let old = std::mem::replace(&mut self.old, callee);
        let result = self.arguments(args, span).and_then(|()| self.statements(changes, Function::ROOT));
        (self.vars, self.bodies, self.sizes, self.old) = (vars, bodies, sizes, old);
        result
    }

    /// Whether a function can be inlined for these arguments: only a call checks sizes in the elements of a sequence, as they arrive, so there must be nothing to check.
    pub fn can_inline(&self, callee: &Function, args: &[Var]) -> bool {
        let params = callee.params();
        params.iter().zip(args).all(|(&p, &arg)| {
            let ty = callee.ty(p);
            let Some((was, is)) = sizes(ty).zip(sizes(self.b.ty(arg))).filter(|_| !ty.is_concrete()) else {
                return true;
            };
            was.len() == is.len()
                && was.iter().zip(&is).enumerate().all(|(k, (s, t))| match s.as_var() {
                    None => s.as_constant().is_some() && s == t,
                    Some(v) => {
                        // A size that only this parameter mentions, and no written type; if all elements share it, those of the argument must too.
                        let alone = was.iter().enumerate().all(|(j, other)| j == k || other.as_var() != Some(v));
                        callee.size_binder(v) == Some(p)
                            && alone
                            && (varies(s) || !varies(t))
                            && params.iter().all(|q| *q == p || !mentions(callee.ty(*q), v))
                            && !callee.written_types().any(|ty| mentions(ty, v))
                    }
                })
        })
    }

    fn arguments(&mut self, args: &[Var], span: Span) -> Copied<()> {
        self.bodies[0] = Some(Function::ROOT);
        for (&p, &arg) in self.old.params().iter().zip(args) {
            let ty = self.old.ty(p);
            if ty.is_concrete() && sizes(ty).is_some() {
                self.bind(p);
                let ty = self.ty(ty)?;
                let checked = self.b.push(Op::Ensure(ty), &[arg], &[], span)?;
                self.vars[p.index()] = Some(checked);
            } else {
                self.stand(p, arg);
            }
        }
        Ok(())
    }

    /// Copies a statement.
    ///
    /// # Errors
    /// If there is no copy.
    pub fn statement(&mut self, changes: &mut dyn Rewrite, s: Var) -> Copied<()> {
        let args = self.inst(s)?.args.iter().map(|v| self.var(*v)).collect::<Copied<Vec<_>>>()?;
        self.statement_with(changes, s, &args)
    }

    /// Copies a statement with these operands, which are variables of the copy.
    ///
    /// # Errors
    /// If there is no copy.
    pub fn statement_with(&mut self, changes: &mut dyn Rewrite, s: Var, args: &[Var]) -> Copied<()> {
        let old = self.old;
        let inst = self.inst(s)?;
        let span = old.span(s);
        let early = self.op(changes, &inst.op);
        let mut bodies = Vec::new();
        for (which, &body) in inst.bodies.iter().enumerate() {
            let early = early.as_ref().map_err(Clone::clone)?;
            let (new, params) = self.b.begin_body_of(early, args, which, span)?;
            self.bodies[body.index()] = Some(new);
            let theirs = &old.body(body).params;
            if theirs.len() != params.len() {
                return Err(Refused::Bug(format!(
                    "a body of {s} has {} parameters, not {}",
                    theirs.len(),
                    params.len()
                )));
            }
            for (&p, q) in theirs.iter().zip(params) {
                self.stand(p, q);
            }
            let result = self.statements(changes, body)?;
            self.b.end_body(result);
            bodies.push(new);
        }
        if matches!(inst.op, Op::Ensure(_)) {
            self.bind(s);
        }
        let op = self.op(changes, &inst.op)?;
        let new = self.b.push(op, args, &bodies, span)?;
        self.stand(s, new);
        Ok(())
    }

    fn op(&self, changes: &dyn Rewrite, op: &Op) -> Copied<Op> {
        Ok(match op {
            Op::Ensure(t) => Op::Ensure(self.ty(t)?),
            Op::Array(t) => Op::Array(self.ty(t)?),
            Op::MkSeq(t) => Op::MkSeq(self.ty(t)?),
            Op::Call(f) => Op::Call(changes.callee(*f)),
            other => other.clone(),
        })
    }

    /// A type of the original in terms of the copy.
    fn ty(&self, ty: &Type) -> Copied<Type> {
        let mut known = true;
        let path = |p: &Path| self.vars[p.root.index()].map(|root| Path { root, fields: p.fields.clone() });
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
        known.then_some(new).ok_or_else(|| Refused::Sizes("a type mentions a size that is not known".into()))
    }
}

/// The sizes in a type, if there are any.
fn sizes(ty: &Type) -> Option<Vec<Size>> {
    let mut all = Vec::new();
    ty.for_each_size(&mut |s, _| all.push(s.clone()));
    (!all.is_empty()).then_some(all)
}

/// Whether a size inside a collection may depend on the element.
fn varies(size: &Size) -> bool {
    size.any_atom(&mut |a, depth| matches!(a, Atom::Pos(p) if *p >= depth))
}

/// Whether a type mentions a size variable.
fn mentions(ty: &Type, v: SizeVar) -> bool {
    let mut found = false;
    ty.for_each_size(&mut |size, _| found |= size.any_atom(&mut |a, _| matches!(a, Atom::Var(w, _) if *w == v)));
    found
}
