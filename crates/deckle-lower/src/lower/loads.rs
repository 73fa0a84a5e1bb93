//! Where lanes load from: every few elements of an array, or anywhere, and only what is in range.

use super::emit::{Emitter, Res, Width};
use super::lanes::Lane;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{self, Node, Op};
use deckle_ir::loops::{Expr, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

impl Emitter<'_> {
    /// Every second, third or fourth element: all are loaded, and these picked. Fields of records that lie one after another are read so, and what is
    /// loaded serves all of them. At the end of an array up to three elements too many are loaded, which its padding has.
    pub(super) fn strided(&mut self, n: Node, buf: kernel::Buf, at: Node) -> Res<Option<Expr>> {
        let Lane { space, count, start, mask, .. } = self.vector()?.clone();
        if mask.is_some() || self.facts.follows(at, space) || !self.p.encloses(space, self.p.space_of(n)) {
            return Ok(None);
        }
        let resolve = |n: Node| self.facts.resolved(n);
        let Some(sum) = self.p.linear(at, &resolve) else { return Ok(None) };
        let (mut stride, mut rest) = (0, Vec::new());
        for (term, times) in &sum.terms {
            match self.p.node(*term).op {
                Op::Pos if self.p.space_of(*term) == space => stride = *times,
                // Nothing before the array may be loaded, so nothing that may be negative is added.
                Op::Pos if *times > 0 => rest.push((*term, *times)),
                _ => return Ok(None),
            }
        }
        if !(2..=4).contains(&stride) || sum.constant < 0 {
            return Ok(None);
        }
        let first = sum.constant % stride;
        let mut from = self.b.mul_const(start, stride);
        for (term, times) in rest {
            let v = self.val(term)?;
            let v = self.b.mul_const(v, times);
            from = self.b.add(from, v);
        }
        let from = self.b.add_const(from, sum.constant - first);
        let buf = self.buf(buf)?;
        // A register at a time.
        let part = count.min((self.facts.cuts.register / self.p.ty(n).bytes()).min(self.facts.cuts.lanes) as u16);
        let picked: Vec<u16> = (0..part).map(|i| i * stride as u16 + first as u16).collect();
        let mut vectors = Vec::new();
        for k in 0..count / part {
            let at = self.b.add_const(from, i64::from(k * part) * stride);
            let all = self.b.let_lanes(Expr::Load { buf, at, mask: None }, part * stride as u16);
            vectors.push(self.b.let_(Expr::Swizzle(all, all, picked.clone())));
        }
        while vectors.len() > 1 {
            let lanes = self.b.ty(vectors[0]).lanes;
            let join = |e: &mut Self, v: &[Val]| e.b.let_(Expr::Swizzle(v[0], v[1], (0..2 * lanes).collect()));
            vectors = vectors.chunks(2).map(|v| join(self, v)).collect();
        }
        Ok(Some(Expr::Swizzle(vectors[0], vectors[0], (0..count).collect())))
    }

    /// Whether an `i32` is an index below a size that is the same for all lanes can be told in 32 bits: the negative ones are the greatest there.
    pub(super) fn narrow_bound(&mut self, op: BinOp, a: Node, b: Node, w: Width) -> Res<Option<(Val, Val)>> {
        if w == Width::One {
            return Ok(None);
        }
        let unsigned = |n: Node, to: ScalarType| match self.p.node(n).op {
            Op::Cast(ty, x) if ty == to => Some(x),
            _ => None,
        };
        let x = unsigned(a, ScalarType::U64).and_then(|x| unsigned(x, ScalarType::I64));
        let Some(x) = x.filter(|x| op == BinOp::Lt && self.p.ty(*x) == ScalarType::I32) else { return Ok(None) };
        if self.facts.varies(b) {
            return Ok(None);
        }
        let count = self.vector()?.count;
        let (x, bound) = (self.lane_val(x)?, self.val(b)?);
        let x = self.b.let_lanes(Expr::Cast(ScalarType::U32, x), count);
        let most = self.constant(Scalar::U64(1 << 31));
        let bound = self.b.hoist(Expr::Binary(BinOp::Min, bound, most), 1);
        let bound = self.b.hoist(Expr::Cast(ScalarType::U32, bound), 1);
        Ok(Some((x, self.b.splat(bound, count))))
    }

    /// Compares a number of 32 bits with what differs between lanes in 32 bits: twice as many lanes fit a register. What is out of their range is greater, or less, than any such number. The narrow vector
    /// stands beside the wide one, for all numbers that it is compared with.
    pub(super) fn narrow_comparison(&mut self, op: BinOp, a: Node, b: Node, w: Width) -> Res<Option<(Val, Val)>> {
        let compares = matches!(op, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne);
        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let number = self.p.as_int(a).filter(|c| compares && least < *c && *c < most);
        let Some(number) = number.filter(|_| w == Width::Lanes && self.facts.varies(b)) else { return Ok(None) };
        let count = self.vector()?.count;
        if usize::from(count) * ScalarType::I64.bytes() <= self.facts.cuts.register {
            return Ok(None);
        }
        let wide = self.lane_val(b)?;
        let [least, most] = [least, most].map(|c| self.int(c));
        let (least, most) = (self.b.splat(least, count), self.b.splat(most, count));
        let narrow = self.b.hoist(Expr::Binary(BinOp::Max, wide, least), count);
        let narrow = self.b.hoist(Expr::Binary(BinOp::Min, narrow, most), count);
        let narrow = self.b.hoist(Expr::Cast(ScalarType::I32, narrow), count);
        let number = self.constant(Scalar::I32(number as i32));
        Ok(Some((self.b.splat(number, count), narrow)))
    }
}
