//! Lowering one function: its scope, its statements, and its errors.

pub(super) use super::fault::Lowered;
use super::{Choices, Lower};
use crate::ast::{self, ExprId, PatId, PatKind};
use crate::infer::env::DefId;
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array::{BinOp, Builder, Function, Op};
use deckle_ir::entity::{Body, SizeVar, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use std::rc::Rc;

/// The maximal number of names and operators in a size.
const MAX_SIZE: usize = 100;

/// The meaning of a name in scope.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    Var(Var),
    /// A size named in a parameter's type.
    Size(SizeVar),
    /// A rejected value.
    Poison,
}

/// A function being lowered.
pub(super) struct FnLower<'a> {
    pub cx: &'a Lower,
    pub b: Builder<'a>,
    pub id: DefId,
    pub map: &'a Choices,
    pub scope: Vec<(Rc<str>, Binding)>,
    /// The number of enclosing loops.
    pub loops: usize,
    /// The names bound by the sizes of the type being read, with their places.
    pub named: Vec<(SizeVar, Rc<str>, Span)>,
    /// The errors so far.
    pub diags: Vec<Diagnostic>,
}

impl<'a> FnLower<'a> {
    pub fn new(cx: &'a Lower, funcs: &'a [Function], id: DefId, map: &'a Choices, name: String) -> Self {
        let span = cx.facts.def(id).name.span;
        FnLower {
            cx,
            b: Builder::new(funcs, name, span),
            id,
            map,
            scope: Vec::new(),
            loops: 0,
            named: Vec::new(),
            diags: Vec::new(),
        }
    }

    pub fn run(mut self) -> Result<Function, Vec<Diagnostic>> {
        match self.result() {
            Ok(result) if self.diags.is_empty() => Ok(self.b.finish(result)),
            Ok(_) => Err(self.diags),
            Err(stop) => {
                self.diags.extend(stop.into_diagnostic());
                Err(self.diags)
            }
        }
    }

    fn result(&mut self) -> Lowered<Var> {
        let def = self.cx.facts.def(self.id).clone();
        let scheme = &self.cx.facts.schemes[&self.id];
        let mut bound = Vec::new();
        for (k, (p, ty)) in def.params.iter().zip(&scheme.params).enumerate() {
            let kind = self.cx.kind(*ty, self.map);
            let pat = self.ast()[p.pat].clone();
            let name = match &pat.kind {
                PatKind::Name(n) => n.text.to_string(),
                _ => format!("arg{k}"),
            };
            let names = self.scope.len();
            let ty = self.param_type(p.ty, &kind);
            self.check_told(names, &ty, p.ty)?;
            let v = self.b.param(name, ty, pat.span);
            // Later sizes may mention this parameter.
            if let PatKind::Name(n) = &pat.kind {
                self.scope.push((n.text.clone(), Binding::Var(v)));
            }
            bound.push((p.pat, v));
        }
        for (pat, v) in bound {
            if !matches!(self.ast()[pat].kind, PatKind::Name(_)) {
                self.bind_pattern(pat, v)?;
            }
        }
        let mut result = self.expr(def.body)?;
        if let Some(ret) = def.ret {
            result = self.ensure_written(result, ret)?;
        }
        Ok(result)
    }

    pub fn ast(&self) -> &'a ast::Module {
        &self.cx.facts.modules[self.id.module].ast
    }

    pub fn span(&self, e: ExprId) -> Span {
        self.ast()[e].span
    }

    /// The type of an expression, without sizes.
    pub fn kind_of(&self, e: ExprId) -> Type {
        match self.cx.facts.expr_types[self.id.module][e.0 as usize] {
            Some(t) => self.cx.kind(t, self.map),
            None => Type::tuple(vec![]),
        }
    }

    pub fn ty(&self, v: Var) -> &Type {
        self.b.ty(v)
    }

    // Statements.

    pub fn push(&mut self, op: Op, args: &[Var], bodies: &[Body], span: Span) -> Lowered<Var> {
        if !matches!(op, Op::If | Op::Guard) {
            let func = self.b.func();
            let mut captured = bodies.iter().flat_map(|b| func.free_vars(*b));
            if let Some(v) = captured.find(|v| !func.ty(*v).is_concrete()) {
                return Err(self.captured(v, matches!(op, Op::While | Op::For), span));
            }
        }
        let v = self.b.push(op, args, bodies, span).map_err(|e| self.type_error(e, args, span))?;
        self.forget_large_sizes(v, span)
    }

    /// Sizes grow with every operator. One that is too large to be useful is replaced by a variable.
    fn forget_large_sizes(&mut self, v: Var, span: Span) -> Lowered<Var> {
        let mut large = false;
        self.ty(v).for_each_size(&mut |s, _| {
            let mut atoms = 0;
            large |= s.any_atom(&mut |_, _| {
                atoms += 1;
                atoms > MAX_SIZE
            });
        });
        if !large {
            return Ok(v);
        }
        let ty = self.ty(v).clone();
        let ty = self.b.opened(&ty);
        self.b.push(Op::Ensure(ty), &[v], &[], span).map_err(|e| self.type_error(e, &[v], span))
    }

    pub fn op(&mut self, op: Op, args: &[Var], span: Span) -> Lowered<Var> {
        self.push(op, args, &[], span)
    }

    pub fn int(&mut self, n: i64, span: Span) -> Lowered<Var> {
        self.op(Op::Const(Scalar::I64(n)), &[], span)
    }

    pub fn binary(&mut self, op: BinOp, a: Var, b: Var, span: Span) -> Lowered<Var> {
        self.op(Op::Binary(op), &[a, b], span)
    }

    pub fn proj(&mut self, v: Var, k: u32, span: Span) -> Lowered<Var> {
        self.op(Op::Proj(k), &[v], span)
    }

    /// Builds body number `which` of an operator.
    pub fn body(
        &mut self,
        op: &Op,
        args: &[Var],
        which: usize,
        span: Span,
        build: &mut dyn FnMut(&mut Self, &[Var]) -> Lowered<Var>,
    ) -> Lowered<Body> {
        let (body, params) = match self.b.begin_body_of(op, args, which, span) {
            Ok(begun) => begun,
            Err(e) => return Err(self.type_error(e, args, span)),
        };
        let depth = self.scope.len();
        let result = build(self, &params)?;
        self.scope.truncate(depth);
        self.b.end_body(result);
        Ok(body)
    }

    /// An operator with one body.
    pub fn with_body(
        &mut self,
        op: Op,
        args: &[Var],
        span: Span,
        build: &mut dyn FnMut(&mut Self, &[Var]) -> Lowered<Var>,
    ) -> Lowered<Var> {
        let body = self.body(&op, args, 0, span, build)?;
        self.push(op, args, &[body], span)
    }

    // Names.

    pub fn bind_pattern(&mut self, pat: PatId, v: Var) -> Lowered<()> {
        let p = &self.ast()[pat];
        match &p.kind {
            PatKind::Name(n) => {
                let binding = (n.text.clone(), Binding::Var(v));
                let span = p.span;
                self.b.locate(v, span);
                self.b.name(v, &binding.0);
                self.scope.push(binding);
            }
            PatKind::Wild | PatKind::Error => {}
            PatKind::Tuple(parts) => {
                for (k, part) in parts.iter().enumerate() {
                    if matches!(self.ast()[*part].kind, PatKind::Wild) {
                        continue;
                    }
                    let component = self.proj(v, k as u32, p.span)?;
                    self.bind_pattern(*part, component)?;
                }
            }
        }
        Ok(())
    }

    /// Binds the names of a pattern whose value was rejected.
    pub fn poison(&mut self, pat: PatId) {
        match &self.ast()[pat].kind {
            PatKind::Name(n) => self.scope.push((n.text.clone(), Binding::Poison)),
            PatKind::Wild | PatKind::Error => {}
            PatKind::Tuple(parts) => parts.iter().for_each(|p| self.poison(*p)),
        }
    }

    pub fn lookup(&self, name: &str) -> Option<&Binding> {
        self.scope.iter().rev().find(|(n, _)| &**n == name).map(|(_, b)| b)
    }

    /// The value of a size named by a parameter's type: the length of an array that determines it.
    pub fn size_value(&mut self, s: SizeVar, span: Span) -> Lowered<Var> {
        for param in self.b.func().params().to_vec() {
            let mut path = Vec::new();
            let Some((depth, extra)) = find_size(self.ty(param), s, &mut path) else { continue };
            let mut v = param;
            for k in path {
                v = self.proj(v, k, span)?;
            }
            let n = if depth == 0 {
                self.op(Op::Length, &[v], span)?
            } else {
                let shape = self.op(Op::Shape(depth + 1), &[v], span)?;
                self.proj(shape, depth, span)?
            };
            if extra == 0 {
                return Ok(n);
            }
            let extra = self.int(extra as i64, span)?;
            return self.binary(BinOp::Sub, n, extra, span);
        }
        Err(Diagnostic::new(
            Code::Ambiguous,
            "this size cannot be determined from the arguments",
            span,
            "a size that no array has",
        )
        .note("a name in a size is bound where it stands alone, as in `[real; n]`")
        .help("use `length(...)` of an array instead")
        .into())
    }

    /// A name that a parameter's sizes bind must be determined by one of them.
    fn check_told(&self, names: usize, ty: &Type, written: Option<ast::TypeId>) -> Lowered<()> {
        for (name, binding) in &self.scope[names..] {
            let Binding::Size(s) = binding else { continue };
            let mut told = false;
            ty.for_each_size(&mut |size, _| {
                told |= size.determines().is_some_and(|(v, at, _)| v == *s && at.is_empty())
            });
            if !told {
                let span = written.map_or(Span::NONE, |t| self.ast()[t].span);
                return Err(Diagnostic::new(
                    Code::Ambiguous,
                    format!("the size `{name}` cannot be determined from this argument"),
                    span,
                    format!("does not tell `{name}`"),
                )
                .note("a name in a size is bound by the first parameter that mentions it, where it stands alone or with a number added")
                .help(format!("put a parameter before it that has `{name}` elements, or pass `{name}` itself: `{name}: int`"))
                .into());
            }
        }
        Ok(())
    }

    /// The array with regular outer dimensions, checked at run time unless that is known.
    pub fn regular(&mut self, v: Var, depth: usize, span: Span) -> Lowered<Var> {
        self.b.regular(v, depth, span).map_err(|e| self.type_error(e, &[v], span))
    }
}

/// The place where a type determines a size: the components to take, the dimension of the array there, and the constant to subtract from its length.
fn find_size(ty: &Type, s: SizeVar, path: &mut Vec<u32>) -> Option<(u32, i128)> {
    if let Some(parts) = ty.parts() {
        for (k, part) in parts.into_iter().enumerate() {
            path.push(k as u32);
            if let Some(found) = find_size(part, s, path) {
                return Some(found);
            }
            path.pop();
        }
        return None;
    }
    let mut depth = 0;
    let mut ty = ty;
    while let Type::Array(a) = ty {
        if let Some((v, [], extra)) = a.size.determines()
            && v == s
        {
            return Some((depth, extra));
        }
        depth += 1;
        ty = &a.elem;
    }
    None
}
