//! Comprehensions, and functions on both vectors and sequences.

use super::func::{FnLower, Lowered};
use crate::ast::{ExprId, Gen};
use deckle_diag::Span;
use deckle_ir::array::{Misfit, Op, TypeError};
use deckle_ir::entity::Var;

impl FnLower<'_> {
    /// `{ body : p in s; ... | guard }`
    pub fn seq_comprehension(&mut self, body: ExprId, gens: &[Gen], guard: Option<ExprId>, span: Span) -> Lowered<Var> {
        let from: Vec<ExprId> = gens.iter().map(|g| g.source).collect();
        let from = self.exprs(&from)?;
        self.same_lengths(&from, span)?;
        let mut sources = Vec::new();
        for (g, v) in gens.iter().zip(from) {
            sources.push(self.streamed(v, g.span)?);
        }
        let mapped = self.map(&sources, span, &mut |f, params| {
            f.bind_generators(gens, params)?;
            match guard {
                None => f.expr(body),
                Some(g) => {
                    let c = f.expr(g)?;
                    f.with_body(Op::Guard, &[c], span, &mut |f, _| f.expr(body))
                }
            }
        })?;
        if guard.is_some() { self.op(Op::Flatten, &[mapped], span) } else { Ok(mapped) }
    }

    /// `[ body : p in s; ... | guard ]`
    pub fn array_comprehension(
        &mut self,
        body: ExprId,
        gens: &[Gen],
        guard: Option<ExprId>,
        span: Span,
    ) -> Lowered<Var> {
        let elem = self.kind_of(body);
        self.need_concrete(&elem, self.span(body), "a vector")?;
        if gens.iter().any(|g| self.kind_of(g.source).is_seq()) {
            let s = self.seq_comprehension(body, gens, guard, span)?;
            return self.op(Op::Tab, &[s], span);
        }
        let sources: Vec<ExprId> = gens.iter().map(|g| g.source).collect();
        let sources = self.exprs(&sources)?;
        let Some(guard) = guard else {
            return self.map(&sources, span, &mut |f, params| {
                f.bind_generators(gens, params)?;
                f.expr(body)
            });
        };
        let single = sources.len() == 1;
        let all = if single { sources[0] } else { self.op(Op::Zip, &sources, span)? };
        let bind = |f: &mut Self, params: &[Var]| -> Lowered<()> {
            if single {
                return f.bind_generators(gens, params);
            }
            let parts = (0..gens.len() as u32).map(|k| f.proj(params[0], k, span)).collect::<Lowered<Vec<_>>>()?;
            f.bind_generators(gens, &parts)
        };
        let kept = self.with_body(Op::Filter, &[all], span, &mut |f, params| {
            bind(f, params)?;
            f.expr(guard)
        })?;
        self.with_body(Op::Map, &[kept], span, &mut |f, params| {
            bind(f, params)?;
            f.expr(body)
        })
    }

    /// Sequences have no sizes, so the lengths of the vectors that they come from are compared here.
    fn same_lengths(&self, from: &[Var], span: Span) -> Lowered<()> {
        let mut sizes = from.iter().filter_map(|v| Some(&self.ty(*v).as_array()?.size));
        let Some(first) = sizes.next() else { return Ok(()) };
        match sizes.find(|s| s.sub(first).as_constant().is_some_and(|d| d != 0)) {
            None => Ok(()),
            Some(other) => {
                let message = format!("`generators` need equal lengths, but one is `{first}` and the other `{other}`");
                Err(self.type_error(TypeError { message, misfit: Misfit::Sizes }, from, span))
            }
        }
    }

    fn bind_generators(&mut self, gens: &[Gen], params: &[Var]) -> Lowered<()> {
        gens.iter().zip(params).try_for_each(|(g, v)| self.bind_pattern(g.pat, *v))
    }

    /// A collection as a sequence.
    pub fn streamed(&mut self, v: Var, span: Span) -> Lowered<Var> {
        if self.ty(v).is_seq() { Ok(v) } else { self.op(Op::Seq, &[v], span) }
    }

    /// `map` over one or more collections of one kind.
    pub fn map(
        &mut self,
        args: &[Var],
        span: Span,
        build: &mut dyn FnMut(&mut Self, &[Var]) -> Lowered<Var>,
    ) -> Lowered<Var> {
        let body = self.body(&Op::Map, args, 0, span, build)?;
        if !self.ty(args[0]).is_seq() {
            let elem = self.ty(self.b.func().body(body).result).clone();
            self.need_concrete(&elem, span, "a vector")?;
        }
        self.push(Op::Map, args, &[body], span)
    }

    /// `filter` of a vector or sequence.
    pub fn filter(
        &mut self,
        xs: Var,
        span: Span,
        pred: &mut dyn FnMut(&mut Self, Var) -> Lowered<Var>,
    ) -> Lowered<Var> {
        if !self.ty(xs).is_seq() {
            return self.with_body(Op::Filter, &[xs], span, &mut |f, x| pred(f, x[0]));
        }
        let kept = self.map(&[xs], span, &mut |f, x| {
            let c = pred(f, x[0])?;
            let x = x[0];
            f.with_body(Op::Guard, &[c], span, &mut |_, _| Ok(x))
        })?;
        self.op(Op::Flatten, &[kept], span)
    }

    /// `flatten` of vectors of vectors, sequences of sequences, or sequences of vectors.
    pub fn flatten(&mut self, xss: Var, span: Span) -> Lowered<Var> {
        let rows_are_arrays = self.ty(xss).elem().is_some_and(|e| e.as_array().is_some());
        if self.ty(xss).is_seq() && rows_are_arrays {
            let streams = self.map(&[xss], span, &mut |f, row| f.op(Op::Seq, row, span))?;
            return self.op(Op::Flatten, &[streams], span);
        }
        self.op(Op::Flatten, &[xss], span)
    }
}
