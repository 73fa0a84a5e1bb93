//! Lowering every form of expression.

use super::fault::Stop;
use super::func::{Binding, FnLower, Lowered};
use crate::ast::{Arg, BinOp, ExprId, ExprKind, Name, UnOp};
use crate::builtins::CONSTANTS;
use crate::infer::call::scalar_op;
use crate::infer::env::Callee;
use deckle_diag::Span;
use deckle_ir::array::{self, Coll, Constant, Op, RecordShape};
use deckle_ir::entity::{Body, Var};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::sync::Arc;

impl FnLower<'_> {
    pub fn expr(&mut self, e: ExprId) -> Lowered<Var> {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.expr_kind(e))
    }

    fn expr_kind(&mut self, e: ExprId) -> Lowered<Var> {
        let span = self.span(e);
        let ast = self.ast();
        match &ast[e].kind {
            ExprKind::Int { value, .. } => self.number(e, *value as i128, span),
            ExprKind::Float { value, text, .. } => {
                let s = match self.kind_of(e).as_scalar() {
                    Some(ScalarType::F32) => Scalar::F32(text.parse().unwrap_or(*value as f32)),
                    _ => Scalar::F64(*value),
                };
                self.scalar(s, span)
            }
            ExprKind::Bool(b) => self.scalar(Scalar::Bool(*b), span),
            ExprKind::Char(c) => self.scalar(Scalar::U8(*c), span),
            ExprKind::Str(bytes) => {
                let ty = Type::array(Size::constant(bytes.len() as i128), ScalarType::U8.into());
                let value = Value::array(bytes.iter().map(|b| Scalar::U8(*b).into()).collect());
                self.op(Op::Use(Arc::new(Constant { ty, value })), &[], span)
            }
            ExprKind::Name(name) => self.name(e, name, span),
            ExprKind::Tuple(parts) => {
                let parts = self.exprs(parts)?;
                self.op(Op::Tuple, &parts, span)
            }
            ExprKind::Let { pat, ty, value, body } => {
                let v = self.attempt(|f| {
                    let v = f.expr(*value)?;
                    ty.map_or(Ok(v), |ty| f.ensure_written(v, ty))
                });
                let depth = self.scope.len();
                match v {
                    Some(v) => self.bind_pattern(*pat, v)?,
                    None => self.poison(*pat),
                }
                let result = self.expr(*body);
                self.scope.truncate(depth);
                match v {
                    Some(_) => result,
                    None => Err(result.err().unwrap_or(Stop::SAID)),
                }
            }
            ExprKind::If { cond, then, els } => {
                let c = self.expr(*cond)?;
                self.branch(c, span, &mut |f| f.expr(*then), &mut |f| f.expr(*els))
            }
            ExprKind::Loop { pat, init, kind, body } => self.looping(*pat, *init, kind, *body, span),
            ExprKind::Call { func: _, args } => self.call(e, args, span),
            ExprKind::With { base, fields } => self.with(*base, fields, span),
            ExprKind::Index { base, items } => self.index(*base, items, span),
            ExprKind::Field(base, name) => {
                let v = self.expr(*base)?;
                let k = self.field_number(v, name)?;
                self.proj(v, k, span)
            }
            ExprKind::Component(base, k, _) => {
                let v = self.expr(*base)?;
                self.proj(v, *k, span)
            }
            ExprKind::Unary(op, a) => self.unary(e, *op, *a, span),
            ExprKind::Binary(op, a, b) => self.binary_expr(*op, *a, *b, span),
            ExprKind::Range { lo, hi, inclusive, step } => {
                let (lo, hi) = (self.expr(*lo)?, self.expr(*hi)?);
                let step = match step {
                    Some(s) => self.expr(*s)?,
                    None => {
                        let ty = self.ty(lo).as_scalar().unwrap_or(ScalarType::I64);
                        self.scalar(Scalar::one(ty), span)?
                    }
                };
                let coll = if self.kind_of(e).is_seq() { Coll::Seq } else { Coll::Array };
                self.op(Op::Range(coll, *inclusive), &[lo, hi, step], span)
            }
            ExprKind::Seq(items) => {
                let elem = self.elem_kind(e);
                let items = self.exprs(items)?;
                self.op(Op::MkSeq(elem), &items, span)
            }
            ExprKind::Array(items) => {
                let elem = self.elem_kind(e);
                self.need_concrete(&elem, span, "a vector")?;
                let items = self.exprs(items)?;
                self.op(Op::Array(elem), &items, span)
            }
            ExprKind::SeqComp { body, gens, guard } => self.seq_comprehension(*body, gens, *guard, span),
            ExprKind::ArrayComp { body, gens, guard } => self.array_comprehension(*body, gens, *guard, span),
            ExprKind::Guarded { body, cond } => {
                let c = self.expr(*cond)?;
                self.with_body(Op::Guard, &[c], span, &mut |f, _| f.expr(*body))
            }
            ExprKind::Lambda { .. } | ExprKind::Operator(_) | ExprKind::Error => Err(self.surprise(span)),
        }
    }

    /// The element type of a collection expression, without sizes.
    pub fn elem_kind(&self, e: ExprId) -> Type {
        self.kind_of(e).elem().cloned().unwrap_or(Type::tuple(vec![]))
    }

    fn number(&mut self, e: ExprId, v: i128, span: Span) -> Lowered<Var> {
        let ty = self.kind_of(e).as_scalar().unwrap_or(ScalarType::I64);
        let s = Scalar::wrap_int(ty, v).or(Scalar::float(ty, v as f64));
        self.scalar(s.unwrap_or(Scalar::I64(v as i64)), span)
    }

    fn name(&mut self, e: ExprId, name: &Name, span: Span) -> Lowered<Var> {
        match self.lookup(&name.text).cloned() {
            Some(Binding::Var(v)) => Ok(v),
            Some(Binding::Size(s)) => self.size_value(s, span),
            Some(Binding::Poison) => Err(Stop::SAID),
            None => {
                let Some((_, value, _)) = CONSTANTS.iter().find(|c| c.0 == &*name.text) else {
                    return Err(self.surprise(span));
                };
                let ty = self.kind_of(e).as_scalar().unwrap_or(ScalarType::F64);
                self.scalar(Scalar::float(ty, *value).unwrap_or(Scalar::F64(*value)), span)
            }
        }
    }

    /// `if` with two bodies.
    pub fn branch(
        &mut self,
        cond: Var,
        span: Span,
        yes: &mut dyn FnMut(&mut Self) -> Lowered<Var>,
        no: &mut dyn FnMut(&mut Self) -> Lowered<Var>,
    ) -> Lowered<Var> {
        let arm = |f: &mut Self, build: &mut dyn FnMut(&mut Self) -> Lowered<Var>| -> Lowered<Body> {
            let body = f.b.begin_body();
            let depth = f.scope.len();
            let result = build(f)?;
            f.scope.truncate(depth);
            f.b.end_body(result);
            Ok(body)
        };
        let bodies = [arm(self, yes)?, arm(self, no)?];
        self.push(Op::If, &[cond], &bodies, span)
    }

    fn unary(&mut self, e: ExprId, op: UnOp, a: ExprId, span: Span) -> Lowered<Var> {
        if op == UnOp::Neg
            && let ExprKind::Int { value, .. } = self.ast()[a].kind
        {
            return self.number(e, -(value as i128), span);
        }
        let v = self.expr(a)?;
        let op = match op {
            UnOp::Neg => array::UnOp::Neg,
            UnOp::Not | UnOp::BitNot => array::UnOp::Not,
        };
        self.op(Op::Unary(op), &[v], span)
    }

    fn binary_expr(&mut self, op: BinOp, a: ExprId, b: ExprId, span: Span) -> Lowered<Var> {
        let Some(x) = self.attempt(|f| f.expr(a)) else {
            self.attempt(|f| f.expr(b));
            return Err(Stop::SAID);
        };
        match op {
            BinOp::And => self.branch(x, span, &mut |f| f.expr(b), &mut |f| f.scalar(Scalar::Bool(false), span)),
            BinOp::Or => self.branch(x, span, &mut |f| f.scalar(Scalar::Bool(true), span), &mut |f| f.expr(b)),
            _ => {
                let y = self.expr(b)?;
                self.apply_operator(op, x, y, span)
            }
        }
    }

    /// An operator applied to values.
    pub fn apply_operator(&mut self, op: BinOp, x: Var, y: Var, span: Span) -> Lowered<Var> {
        match op {
            BinOp::Append => self.append(x, y, span),
            BinOp::And => self.binary(array::BinOp::And, x, y, span),
            BinOp::Or => self.binary(array::BinOp::Or, x, y, span),
            _ => match scalar_op(op) {
                Some(op) => self.binary(op, x, y, span),
                None => Err(self.surprise(span)),
            },
        }
    }

    pub fn append(&mut self, x: Var, y: Var, span: Span) -> Lowered<Var> {
        let op = if self.ty(x).is_seq() { Op::Append } else { Op::Concat(0) };
        self.op(op, &[x, y], span)
    }

    fn field_number(&mut self, v: Var, name: &Name) -> Lowered<u32> {
        let found = match self.ty(v) {
            Type::Record(r) => r.fields.iter().position(|(n, _)| *n == *name.text),
            _ => None,
        };
        found.map(|k| k as u32).ok_or_else(|| self.surprise(name.span))
    }

    /// The record type of an expression.
    fn record_number(&self, e: ExprId) -> Option<usize> {
        let ty = self.cx.facts.expr_types[self.id.module][e.0 as usize]?;
        match self.cx.facts.types.node(ty) {
            crate::infer::types::Node::Record(number, _) => Some(*number),
            _ => None,
        }
    }

    fn with(&mut self, base: ExprId, fields: &[(Name, ExprId)], span: Span) -> Lowered<Var> {
        let v = self.expr(base)?;
        let Type::Record(r) = self.ty(v).clone() else { return Err(self.surprise(span)) };
        let mut values: Vec<Option<Var>> = vec![None; r.fields.len()];
        for (name, value) in fields {
            let k = self.field_number(v, name)?;
            values[k as usize] = Some(self.expr(*value)?);
        }
        let mut args = Vec::new();
        for (k, value) in values.into_iter().enumerate() {
            args.push(match value {
                Some(v) => v,
                None => self.proj(v, k as u32, span)?,
            });
        }
        let shape = RecordShape { name: r.name.clone(), fields: r.fields.iter().map(|f| f.0.clone()).collect() };
        let made = self.op(Op::Record(Arc::new(shape)), &args, span)?;
        match self.record_number(base) {
            Some(number) => self.ensure_record(made, number, &args, span),
            None => Ok(made),
        }
    }

    fn call(&mut self, e: ExprId, args: &[Arg], span: Span) -> Lowered<Var> {
        let Some(callee) = self.cx.facts.callees.get(&(self.id.module, e)).cloned() else {
            return Err(self.surprise(span));
        };
        match callee {
            Callee::Builtin(form) => {
                let args: Vec<ExprId> = args.iter().map(|a| a.value).collect();
                self.builtin(e, &form, &args, span)
            }
            Callee::User(..) => {
                let args: Vec<ExprId> = args.iter().map(|a| a.value).collect();
                let args = self.exprs(&args)?;
                self.apply_callee(&callee, &args, span)
            }
            Callee::Record(r) => {
                let record = &self.cx.facts.records[r];
                let mut slots: Vec<Option<Var>> = vec![None; record.fields.len()];
                let values: Vec<ExprId> = args.iter().map(|a| a.value).collect();
                let values = self.exprs(&values)?;
                for (k, (arg, v)) in args.iter().zip(values).enumerate() {
                    let slot = match &arg.name {
                        None => k,
                        Some(n) => record.fields.iter().position(|(f, _)| *f == n.text).unwrap_or(k),
                    };
                    if let Some(s) = slots.get_mut(slot) {
                        *s = Some(v);
                    }
                }
                let Some(args) = slots.into_iter().collect::<Option<Vec<_>>>() else { return Err(self.surprise(span)) };
                self.apply_callee(&callee, &args, span)
            }
        }
    }

    /// A function of the program, a constructor, or a built-in function that takes only values, applied to values.
    pub fn apply_callee(&mut self, callee: &Callee, args: &[Var], span: Span) -> Lowered<Var> {
        match callee {
            Callee::Builtin(form) => self.value_builtin(form, args, None, span),
            Callee::User(id, types) => {
                let choices = types.iter().map(|t| self.cx.choice(*t, self.map)).collect();
                match self.cx.lookup(*id, choices) {
                    Some(f) => self.op(Op::Call(f), args, span),
                    None => Err(self.surprise(span)),
                }
            }
            Callee::Record(r) => {
                let record = &self.cx.facts.records[*r];
                let fields = record.fields.iter().map(|f| f.0.to_string()).collect();
                let shape = RecordShape { name: record.name.to_string(), fields };
                let v = self.op(Op::Record(Arc::new(shape)), args, span)?;
                self.ensure_record(v, *r, args, span)
            }
        }
    }

    /// A function argument applied to values.
    pub fn apply(&mut self, f: ExprId, args: &[Var]) -> Lowered<Var> {
        let span = self.span(f);
        match &self.ast()[f].kind {
            ExprKind::Lambda { params, body } => {
                let depth = self.scope.len();
                for (p, v) in params.iter().zip(args) {
                    self.bind_pattern(*p, *v)?;
                }
                let result = self.expr(*body)?;
                self.scope.truncate(depth);
                Ok(result)
            }
            ExprKind::Operator(op) => match args {
                [a, b] => self.apply_operator(*op, *a, *b, span),
                _ => Err(self.surprise(span)),
            },
            _ => match self.cx.facts.callees.get(&(self.id.module, f)).cloned() {
                Some(callee) => self.apply_callee(&callee, args, span),
                None => Err(self.surprise(span)),
            },
        }
    }
}
