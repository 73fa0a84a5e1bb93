//! Rules for accesses: an index of an array computed from another becomes an index of the other.
//!
//! The check must stay equivalent, and report the index that was written. So all rules except those that only combine indices (`index`, a `slice` without ranges) need a
//! proof that the index is in range: an index out of range in a row or a part may be in range of the whole array, and a mirrored one would be reported differently. The bypassed operator
//! must not be able to fail, so that it can be removed.

use super::dead::can_fail;
use super::pass::Pass;
use deckle_analysis::bounds::in_range;
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Inst, Op, Slicer};
use deckle_ir::entity::Var;
use deckle_ir::scalar::Scalar;
use deckle_ir::size::Size;

impl Pass<'_> {
    /// The replacement of an access.
    pub(super) fn index_rule(&mut self, op: &Op, args: &[Var], span: Span) -> Option<Var> {
        let at = args.get(1..).filter(|_| *op == Op::Index)?;
        let from = self.inst(args[0])?.clone();
        if can_fail(self.func(), &self.facts, &from) {
            return None;
        }
        let flat = self.result_is_flat(args);
        let a = &from.args;
        match &from.op {
            Op::Index => {
                let whole: Vec<Var> = a.iter().chain(at).copied().collect();
                self.emit(Op::Index, &whole, span)
            }
            Op::Slice(spec) => self.index_of_slice(spec, a, args, span),
            Op::Array(_) => {
                let k = self.scalar(at[0])?.as_int().and_then(|k| usize::try_from(k).ok())?;
                let elem = *a.get(k)?;
                match &at[1..] {
                    [] => self.may_stand(elem, op, args).then_some(elem),
                    rest => flat.then(|| self.emit_index(elem, &[], rest, span))?,
                }
            }
            _ if !self.is_proven(args) => None,
            Op::Transpose(axes) if at.len() >= axes.len() => {
                let mut moved = vec![a[0]; axes.len()];
                for (k, i) in axes.iter().zip(at) {
                    moved[*k as usize] = *i;
                }
                let whole: Vec<Var> = [a[0]].into_iter().chain(moved).chain(at[axes.len()..].iter().copied()).collect();
                (flat || self.typed_alike(args, &whole)).then(|| self.emit(Op::Index, &whole, span))?
            }
            Op::Reverse(0) if flat => {
                let n = self.emit(Op::Length, &[a[0]], span)?;
                let one = self.constant(Scalar::I64(1), span)?;
                let last = self.emit(Op::Binary(BinOp::Sub), &[n, one], span)?;
                let i = self.emit(Op::Binary(BinOp::Sub), &[last, at[0]], span)?;
                self.emit_index(a[0], &[i], &at[1..], span)
            }
            Op::Iota(_) if at.len() == 1 => Some(at[0]),
            Op::Replicate => match &at[1..] {
                [] => self.may_stand(a[0], op, args).then_some(a[0]),
                rest => flat.then(|| self.emit_index(a[0], &[], rest, span))?,
            },
            Op::Take if flat => self.emit_index(a[0], at, &[], span),
            Op::Drop if flat => {
                let i = self.emit(Op::Binary(BinOp::Add), &[at[0], a[1]], span)?;
                self.emit_index(a[0], &[i], &at[1..], span)
            }
            Op::Reshape(depth) if flat && at.len() >= a.len() - 1 => self.index_of_reshape(*depth, a, at, span),
            Op::Flatten if flat => {
                let k = self.facts.residue(self.func(), at[0]);
                let (i, j) = self.row_and_column(&k, a[0], span)?;
                self.emit_index(a[0], &[i, j], &at[1..], span)
            }
            _ => None,
        }
    }

    fn is_proven(&self, args: &[Var]) -> bool {
        let inst = Inst { op: Op::Index, args: args.to_vec(), bodies: Vec::new() };
        in_range(self.func(), &self.facts, &inst)
    }

    fn emit_index(&mut self, a: Var, first: &[Var], rest: &[Var], span: Span) -> Option<Var> {
        let args: Vec<Var> = [a].iter().chain(first).chain(rest).copied().collect();
        self.emit(Op::Index, &args, span)
    }

    fn result_is_flat(&self, args: &[Var]) -> bool {
        let mut ty = self.b.ty(args[0]);
        for _ in &args[1..] {
            match ty.as_array() {
                Some(a) => ty = &a.elem,
                None => return false,
            }
        }
        ty.is_flat()
    }

    /// Whether two accesses have types with the same sizes.
    fn typed_alike(&self, args: &[Var], other: &[Var]) -> bool {
        let ty = |args: &[Var]| self.type_of(&Op::Index, args);
        ty(args).is_some() && ty(args) == ty(other)
    }

    fn index_of_slice(&mut self, spec: &[Slicer], a: &[Var], args: &[Var], span: Span) -> Option<Var> {
        let at = &args[1..];
        let kept = spec.iter().filter(|s| **s != Slicer::At).count();
        let ranges = spec.contains(&Slicer::Range);
        if at.len() < kept || !self.result_is_flat(args) || ranges && !self.is_proven(args) {
            return None;
        }
        let (mut own, mut at) = (a[1..].iter().copied(), at.iter().copied());
        let mut whole = vec![a[0]];
        for slicer in spec {
            let i = match slicer {
                Slicer::All => at.next()?,
                Slicer::At => own.next()?,
                Slicer::Range => {
                    let (lo, _) = (own.next()?, own.next()?);
                    let i = at.next()?;
                    self.emit(Op::Binary(BinOp::Add), &[i, lo], span)?
                }
            };
            whole.push(i);
        }
        whole.extend(at);
        self.emit(Op::Index, &whole, span)
    }

    /// The access is proven: its linear index is that of an element, so nothing wraps.
    fn index_of_reshape(&mut self, depth: u32, a: &[Var], at: &[Var], span: Span) -> Option<Var> {
        let (at, rest) = at.split_at(a.len() - 1);
        match depth {
            1 => {
                let mut linear = at[0];
                for (i, n) in at[1..].iter().zip(&a[2..]) {
                    let row = self.emit(Op::Binary(BinOp::Mul), &[linear, *n], span)?;
                    linear = self.emit(Op::Binary(BinOp::Add), &[row, *i], span)?;
                }
                self.emit_index(a[0], &[linear], rest, span)
            }
            2 => {
                let func = self.func();
                let mut linear = self.facts.residue(func, at[0]);
                for (i, n) in at[1..].iter().zip(&a[2..]) {
                    linear = linear.mul(&self.facts.exact(func, *n)).add(&self.facts.residue(func, *i));
                }
                let (i, j) = self.row_and_column(&linear, a[0], span)?;
                self.emit_index(a[0], &[i, j], rest, span)
            }
            _ => None,
        }
    }

    /// A linear index of the elements of a matrix as two.
    fn row_and_column(&mut self, linear: &Size, matrix: Var, span: Span) -> Option<(Var, Var)> {
        let dims = self.b.ty(matrix).regular_dims(2)?;
        if !dims.iter().all(|n| self.facts.trusted(self.func(), n)) {
            return None;
        }
        let (q, r) = self.quotient(linear, &dims[1])?;
        Some((self.as_variable(&q, span)?, self.as_variable(&r, span)?))
    }
}
