//! Building functions: the only way in which front ends create IR.
//!
//! The builder maintains the order of the arenas (a body's variables before the statement that owns
//! it) and gives every statement the type of its typing rule, so the functions it builds verify.

use super::typing::{ParamRule, TypeError, Typer};
use super::{BodyData, Def, Function, Inst, Op, SizeVarData, VarData};
use crate::entity::{Body, SizeVar, Var};
use crate::size::{Atom, Size};
use crate::types::Type;
use deckle_diag::Span;

/// A function under construction.
#[derive(Debug)]
pub struct Builder<'a> {
    funcs: &'a [Function],
    func: Function,
    open: Vec<Body>,
}

impl Mark {
    /// The first size variable created after the mark.
    pub fn first_size(&self) -> SizeVar {
        SizeVar(self.sizes as u32)
    }
}

/// A point to which a builder can return.
#[derive(Clone, Debug)]
pub struct Mark {
    sizes: usize,
    vars: usize,
    bodies: usize,
    open: Vec<Body>,
    stmts: usize,
}

impl<'a> Builder<'a> {
    /// A function that may call `funcs`. Its own body is open.
    pub fn new(funcs: &'a [Function], name: impl Into<String>, span: Span) -> Self {
        let func = Function {
            name: name.into(),
            param_names: Vec::new(),
            span,
            sizes: Vec::new(),
            size_names: Vec::new(),
            vars: Vec::new(),
            bodies: Vec::new(),
        };
        let mut builder = Builder { funcs, func, open: Vec::new() };
        builder.begin_body();
        builder
    }

    /// The function so far.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// The functions that it may call.
    pub fn funcs(&self) -> &'a [Function] {
        self.funcs
    }

    /// The type of a variable.
    pub fn ty(&self, v: Var) -> &Type {
        self.func.ty(v)
    }

    /// The next variable: it binds a new size variable of a parameter's type.
    pub fn next_var(&self) -> Var {
        Var(self.func.vars.len() as u32)
    }

    /// A new size variable, to be mentioned first in the type of the next variable.
    pub fn new_size(&mut self, arity: u32) -> SizeVar {
        self.func.sizes.push(SizeVarData { arity, binder: self.next_var() });
        SizeVar(self.func.sizes.len() as u32 - 1)
    }

    /// Records the source name of a size variable.
    pub fn name_size(&mut self, s: SizeVar, name: impl Into<String>) {
        self.func.size_names.push((s, name.into()));
    }

    /// The type with a new size variable, bound by the next variable, in place of every size.
    pub fn opened(&mut self, ty: &Type) -> Type {
        ty.map_sizes(&mut |_, depth| {
            let s = self.new_size(depth);
            family(s, depth)
        })
    }

    /// Adds a parameter to the function.
    pub fn param(&mut self, name: impl Into<String>, ty: Type, span: Span) -> Var {
        let name = name.into();
        self.func.param_names.push(name.clone());
        let v = self.body_param(ty, span);
        self.name(v, &name);
        v
    }

    /// Records the source name of a variable without a name.
    pub fn name(&mut self, v: Var, name: &str) {
        if let Some(data) = self.func.vars.get_mut(v.index()) {
            data.name.get_or_insert_with(|| name.to_string());
        }
    }

    /// Opens a body. Its statements follow until it is closed.
    pub fn begin_body(&mut self) -> Body {
        let body = Body(self.func.bodies.len() as u32);
        let first = self.next_var();
        self.func.bodies.push(BodyData { first, params: Vec::new(), stmts: Vec::new(), result: first });
        self.open.push(body);
        body
    }

    /// Adds a parameter to the open body.
    pub fn body_param(&mut self, ty: Type, span: Span) -> Var {
        let body = self.current();
        let v = self.next_var();
        let data = &mut self.func.bodies[body.index()];
        let index = data.params.len() as u32;
        data.params.push(v);
        self.func.vars.push(VarData { ty, def: Def::Param(body, index), span, name: None });
        v
    }

    /// Sets the source span of a parameter of a body.
    pub fn locate(&mut self, param: Var, span: Span) {
        if let Some(VarData { def: Def::Param(..), span: at, .. }) = self.func.vars.get_mut(param.index()) {
            *at = span;
        }
    }

    /// Opens body number `which` of an operator applied to `args`, with the parameters of its typing rule.
    pub fn begin_body_of(
        &mut self,
        op: &Op,
        args: &[Var],
        which: usize,
        span: Span,
    ) -> Result<(Body, Vec<Var>), TypeError> {
        let body = Body(self.func.bodies.len() as u32);
        let rules = Typer::new(self.funcs, &self.func).params(op, args, which, body)?;
        let body = self.begin_body();
        let mut params = Vec::new();
        for rule in rules {
            let ty = match rule {
                ParamRule::Exact(ty) => ty,
                ParamRule::Open(ty) => self.opened(&ty),
            };
            params.push(self.body_param(ty, span));
        }
        Ok((body, params))
    }

    /// Closes the open body.
    pub fn end_body(&mut self, result: Var) {
        if let Some(body) = self.open.pop() {
            self.func.bodies[body.index()].result = result;
        }
    }

    fn current(&self) -> Body {
        self.open.last().copied().unwrap_or(Function::ROOT)
    }

    /// Adds a statement to the open body. Its bodies must have been built since its last operand.
    pub fn push(&mut self, op: Op, args: &[Var], bodies: &[Body], span: Span) -> Result<Var, TypeError> {
        let inst = Inst { op, args: args.to_vec(), bodies: bodies.to_vec() };
        let mut typer = Typer::new(self.funcs, &self.func);
        let ty = typer.check(&inst)?;
        let fresh = typer.into_fresh();
        let v = self.next_var();
        for arity in fresh {
            self.new_size(arity);
        }
        self.func.vars.push(VarData { ty, def: Def::Inst(inst), span, name: None });
        let current = self.current();
        self.func.bodies[current.index()].stmts.push(v);
        Ok(v)
    }

    /// The array with its outer `depth` dimensions known to be regular: the array itself if its type shows it, otherwise checked by an `ensure`.
    pub fn regular(&mut self, v: Var, depth: usize, span: Span) -> Result<Var, TypeError> {
        if self.ty(v).regular_dims(depth).is_some() {
            return Ok(v);
        }
        let ty = self.ty(v).clone();
        let ty = self.regularised(&ty, depth, 0);
        self.push(Op::Ensure(ty), &[v], &[], span)
    }

    fn regularised(&mut self, ty: &Type, left: usize, level: u32) -> Type {
        let Some(array) = ty.as_array().filter(|_| left > 0).cloned() else {
            return ty.map_sizes(&mut |s, d| {
                if (d..level + d).any(|p| s.mentions_pos(p)) {
                    family(self.new_size(level + d), level + d)
                } else {
                    s.clone()
                }
            });
        };
        let free = array.size.varies(level);
        let size = if free { Size::var(self.new_size(0)) } else { array.size };
        Type::array(size, self.regularised(&array.elem, left - 1, level + 1))
    }

    /// The current position of the builder.
    pub fn mark(&self) -> Mark {
        Mark {
            sizes: self.func.sizes.len(),
            vars: self.func.vars.len(),
            bodies: self.func.bodies.len(),
            open: self.open.clone(),
            stmts: self.func.body(self.current()).stmts.len(),
        }
    }

    /// Discards everything since the mark.
    pub fn rollback(&mut self, mark: &Mark) {
        self.func.sizes.truncate(mark.sizes);
        self.func.size_names.retain(|(s, _)| s.index() < mark.sizes);
        self.func.vars.truncate(mark.vars);
        self.func.bodies.truncate(mark.bodies);
        self.open.clone_from(&mark.open);
        let current = self.current();
        self.func.bodies[current.index()].stmts.truncate(mark.stmts);
    }

    /// The finished function.
    pub fn finish(mut self, result: Var) -> Function {
        while !self.open.is_empty() {
            self.end_body(result);
        }
        self.func
    }
}

/// A size variable applied to all `depth` positions around it.
pub(super) fn family(s: SizeVar, depth: u32) -> Size {
    Atom::Var(s, (0..depth).rev().map(Size::pos).collect()).into()
}
