//! Scatters by several threads, with results that do not depend on how many.
//!
//! A scatter combines values into an array in the order of the points, so one thread does it, unless
//! - each point has a place of its own, the next after the last one's: then any order will do;
//! - all points have the same value: so too;
//! - the operator has something that changes nothing: then each of some parts of the points has a copy of the array, and the copies are merged in the order of the parts.
//!   How many parts there are is a matter of sizes alone; of integers, which give the same in any order, each thread may have a copy instead;
//! - the places ascend along the inner dimension, as the multiples of a number do: then each thread owns a part of the array and does what falls into it. The part
//!   stays in the cache meanwhile, so this pays on one thread too.

use super::emit::{Emitter, Res, Width};
use super::{Lowering, finished};
use crate::facts::{Facts, is_one_value, is_ordered, unit};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, ROOT, Region, Sink};
use deckle_ir::loops::{Access, Builder, Copies, Expr, LoopHint, Owned, Turns, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::Item;

/// The bytes of a cache line.
const LINE: i64 = 64;

impl Lowering<'_> {
    /// The only scatter that must keep an order, if there is one and nothing else passes from block to block.
    fn scatter(&self) -> Option<usize> {
        let mut ordered = (0..self.sinks.len()).filter(|i| is_ordered(self.p, &self.sinks[*i]));
        let first = ordered.next()?;
        (ordered.next().is_none() && self.folds.is_empty() && self.scans.is_empty()).then_some(first)
    }

    /// Whether all points scatter the same value, so that it does not matter which comes last.
    pub(super) fn scatters_one(&self) -> bool {
        self.scatter().is_some_and(|i| is_one_value(self.p, &self.sinks[i]))
    }

    /// Whether the scatter of this launch can go into copies.
    pub(super) fn can_copy(&self) -> bool {
        let units = |i: usize| match &self.sinks[i] {
            Sink::Scatter { len, .. } => self.p.space_of(*len) == ROOT && self.units(i).is_some(),
            _ => false,
        };
        self.scatter().is_some_and(units)
    }

    /// What the copies start from that a scatter goes into.
    fn units(&self, i: usize) -> Option<Vec<Scalar>> {
        let Sink::Scatter { bufs, combine: Some(Combine::Ops(ops)), .. } = &self.sinks[i] else { return None };
        ops.iter().zip(bufs).map(|(op, b)| unit(*op, self.p.bufs[b.index()].elem)).collect()
    }

    /// How the scatter of this launch is done with copies.
    pub(super) fn copies(&self) -> Res<Copies> {
        let i = self.scatter().ok_or("no scatter to be done with copies")?;
        let (Sink::Scatter { bufs, len, combine: Some(Combine::Ops(ops)), .. }, Some(units)) =
            (&self.sinks[i], self.units(i))
        else {
            return Err("a scatter without what copies start from".into());
        };
        let types: Vec<_> = bufs.iter().map(|b| self.p.bufs[b.index()].elem).collect();
        let targets: Option<Vec<usize>> =
            bufs.iter().map(|b| self.buffers.iter().position(|(other, _)| other == b)).collect();
        let targets = targets.ok_or("an array that is scattered into is not passed")?;
        let mut b = Builder::new(&format!("{}_merge", self.name));
        let all: Vec<_> = types.iter().map(|ty| b.buffer(*ty, Access::Write)).collect();
        let copies: Vec<_> = types.iter().map(|ty| b.buffer(*ty, Access::Read)).collect();
        let scalars: Vec<Val> = (0..4).map(|_| b.scalar(ScalarType::I64)).collect();
        b.for_(scalars[0], scalars[1], 1, &[], LoopHint::Independent, |b, at, _| {
            for ((op, target), copy) in ops.iter().zip(&all).zip(&copies) {
                let (new, old) = (b.load(*copy, at), b.load(*target, at));
                let both = b.binary(*op, new, old);
                b.store(*target, at, both);
            }
            Vec::new()
        });
        let merge = super::verified(b.finish().map_err(|faults| faults.join("; "))?)?;
        let turns = self.turns(i, *len, &types)?;
        let exact = types.iter().all(|ty| !ty.is_float()) && ops.iter().all(|op| *op != BinOp::AddSat);
        let space = self.p.sink_parts(&self.sinks[i]).0;
        let nested =
            self.p.between(self.first, space).iter().any(|s| matches!(self.p.space(*s).region, Region::Dim(_)));
        Ok(Copies { targets, units, exact, nested, len: *len, merge, turns })
    }

    /// How points that do nothing else scatter into several tables round-robin.
    fn turns(&self, i: usize, len: Node, types: &[ScalarType]) -> Res<Option<Turns>> {
        if self.p.sink_parts(&self.sinks[i]).0 != self.first || self.sinks.len() != 1 || self.purpose.diagnose {
            return Ok(None);
        }
        let mine = [Item::Sink(i)];
        let (mut e, _, range) = self.emitter_at_points("_turns", &mine)?;
        let inside = e.inside_of_point(self.first, &[])?;
        let (most, cached) = (e.facts.cuts.tables, e.facts.cuts.cached_copies);
        let widths = || types.iter().map(|ty| ty.bytes() as i64);
        let wide = cached / (most * widths().sum::<i64>());
        // With the narrowest elements: wider ones lie a multiple of that many lines apart.
        let line = LINE / widths().min().unwrap_or(LINE);
        let length = e.val(len)?;
        let places = e.tables(length, (most, wide, line));
        let (block, _) = e.b.begin_for(range.first, range.last, 1, &[], LoopHint::Plain);
        let (lo, hi) = self.bounds(&mut e, &range, block)?;
        let points = e.b.sub(hi, lo);
        let whole = e.b.i64(-most);
        let whole = e.b.let_(Expr::Binary(BinOp::And, points, whole));
        let middle = e.b.add(lo, whole);
        e.jumps = true;
        for (from, to, step) in [(lo, middle, most), (middle, hi, 1)] {
            let (pos, _) = e.b.begin_for(from, to, step, &[], LoopHint::Plain);
            for turn in 0..step {
                let pos = e.b.add_const(pos, turn);
                e.open_point(self.first, Some(pos), &inside);
                e.scatter_to = Some(places[turn as usize]);
                e.sink(&self.sinks[i], Width::One)?;
                e.close();
            }
            e.b.end(&[]);
        }
        e.b.end(&[]);
        Ok(Some(Turns { function: finished(e)?, most, wide, line }))
    }

    /// Whether parts of the array that the scatter of this launch goes into can have owners.
    pub(super) fn can_own(&self) -> bool {
        let Some(i) = self.scatter().filter(|_| !self.purpose.diagnose) else { return false };
        // What is done again after a failure must do no harm.
        let Sink::Scatter { space, at, len, combine: None, .. } = &self.sinks[i] else { return false };
        // What else is done at the points would be done again for each part.
        let inner = self.p.space(*space);
        let flat = matches!(inner.region, Region::Dim(_)) && inner.parent == self.first;
        if !flat || self.p.space_of(*len) != ROOT || self.sinks.len() != 1 {
            return false;
        }
        let mut facts = Facts::new(self.p, self.sinks, self.purpose.cuts);
        is_affine(&mut facts, self.unchecked(*at), *space)
            && !facts.needs_of(Item::Sink(i)).iter().any(|n| self.is_long(*n))
    }

    /// An index without its check.
    fn unchecked(&self, at: Node) -> Node {
        match self.p.node(at).op {
            Op::Check { value, .. } => value,
            _ => at,
        }
    }

    /// How the scatter of this launch is done by the owners of parts of the array.
    pub(super) fn owned(&self) -> Res<Owned> {
        let i = self.scatter().ok_or("no scatter to be done by owners")?;
        let Sink::Scatter { space, bufs, at, len, .. } = &self.sinks[i] else { return Err("no scatter".into()) };
        let (Region::Dim(size), index) = (self.p.space(*space).region, self.unchecked(*at)) else {
            return Err(format!("{space} is no dimension"));
        };
        let mine = [Item::Sink(i)];
        let (mut e, _, range) = self.emitter_at_points("_owned", &mine)?;
        let inside = e.inside_of_point(self.first, &[])?;
        let length = e.val(*len)?;
        let Region::Dim(points) = self.p.space(self.first).region else { return Err("no dimension".into()) };
        let points = e.val(points)?;
        let (block, _) = e.b.begin_for(range.first, range.last, 1, &[], LoopHint::Plain);
        let from = e.b.mul(block, range.block);
        let to = e.b.add(from, range.block);
        let to = e.b.min(to, length);
        let zero = e.b.i64(0);
        let (pos, _) = e.b.begin_for(zero, points, 1, &[], LoopHint::Plain);
        e.open_point(self.first, Some(pos), &inside);
        let size = e.val(size)?;
        // The place of the first element, and how far the next one is.
        let (start, step) = e.affine(index, *space)?;
        e.check_ends((start, step), size, length);
        let (first, last) = e.falling_into((start, step), (from, to), size);
        let (k, _) = e.b.begin_for(first, last, 1, &[], LoopHint::Plain);
        e.open(*space, Some(k), Vec::new());
        let by = e.b.mul(k, step);
        let place = e.b.add(start, by);
        e.set_here(*at, vec![place]);
        e.sink(&self.sinks[i], Width::One)?;
        e.close();
        e.b.end(&[]);
        e.close();
        e.b.end(&[]);
        e.b.end(&[]);
        let bytes = bufs.iter().map(|b| self.p.bufs[b.index()].elem.bytes()).sum();
        Ok(Owned { function: finished(e)?, len: *len, bytes })
    }

    /// Whether a node takes more than a few operations: too many to do them again for each part.
    fn is_long(&self, n: Node) -> bool {
        self.p.space_of(n) != ROOT && matches!(self.p.node(n).op, Op::Loop { .. } | Op::Fold { .. })
    }
}

/// Whether an index is a multiple of the position in a dimension plus something, both the same for all positions.
fn is_affine(facts: &mut Facts<'_>, n: Node, dim: deckle_ir::kernel::Space) -> bool {
    if !facts.mentions(n, dim) {
        return true;
    }
    match facts.p.node(n).op {
        Op::Pos => true,
        Op::Binary(BinOp::Add | BinOp::Sub, a, b) => is_affine(facts, a, dim) && is_affine(facts, b, dim),
        Op::Binary(BinOp::Mul, a, b) => {
            let both = facts.mentions(a, dim) && facts.mentions(b, dim);
            is_affine(facts, a, dim) && is_affine(facts, b, dim) && !both
        }
        _ => false,
    }
}

impl Emitter<'_> {
    /// Where the table of each point of a round begins: see [`Turns::tables`] and [`Turns::stride`].
    fn tables(&mut self, length: Val, (most, wide, line): (i64, i64, i64)) -> Vec<Val> {
        let (wide, bits) = (self.b.i64(wide), (self.b.i64(-line), self.b.i64(line)));
        let half = self.b.lt(wide, length);
        let up = self.b.add_const(length, line - 1);
        let up = self.b.let_(Expr::Binary(BinOp::And, up, bits.0));
        let stride = self.b.let_(Expr::Binary(BinOp::Or, up, bits.1));
        let all: Vec<Val> = (0..most).map(|turn| self.b.mul_const(stride, turn)).collect();
        let (first, second) = all.split_at(most as usize / 2);
        let second: Vec<Val> = first.iter().zip(second).map(|(a, b)| self.b.select(half, *a, *b)).collect();
        [first, &second].concat()
    }

    /// An affine index at position 0, and what each position adds.
    fn affine(&mut self, n: Node, dim: deckle_ir::kernel::Space) -> Res<(Val, Val)> {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        if !self.facts.mentions(n, dim) {
            return Ok((self.val(n)?, zero));
        }
        match self.p.node(n).op {
            Op::Pos => Ok((zero, one)),
            Op::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
                let (a, b) = (self.affine(a, dim)?, self.affine(b, dim)?);
                Ok((self.b.binary(op, a.0, b.0), self.b.binary(op, a.1, b.1)))
            }
            Op::Binary(BinOp::Mul, a, b) => {
                let (a, b) = if self.facts.mentions(a, dim) { (a, b) } else { (b, a) };
                let (a, by) = (self.affine(a, dim)?, self.val(b)?);
                Ok((self.b.mul(a.0, by), self.b.mul(a.1, by)))
            }
            _ => Err(format!("{n} is not affine")),
        }
    }

    /// Notes a failure unless the first and the last place are in range, and the steps upward: then the others are too.
    fn check_ends(&mut self, (start, step): (Val, Val), size: Val, length: Val) {
        let zero = self.b.i64(0);
        let one = self.b.i64(1);
        let some = self.b.lt(zero, size);
        let before = self.b.sub(size, one);
        let (low, upward) = (self.b.lt(start, zero), self.b.lt(step, one));
        // How many steps fit from the start to the end of the array.
        let room = self.b.sub(length, one);
        let room = self.b.sub(room, start);
        let outside = self.b.lt(room, zero);
        let safe = self.b.max(step, one);
        let steps = self.b.let_(Expr::Binary(BinOp::Div, room, safe));
        let beyond = self.b.lt(steps, before);
        let bad = [upward, outside, beyond].into_iter().fold(low, |all, one| self.b.or(all, one));
        let bad = self.b.and(bad, some);
        self.b.flag(bad);
    }

    /// The positions whose places are from `from` below `to`.
    fn falling_into(&mut self, (start, step): (Val, Val), (from, to): (Val, Val), size: Val) -> (Val, Val) {
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let step = self.b.max(step, one);
        let less = self.b.sub(step, one);
        let first_from = |e: &mut Self, bound: Val| {
            let distance = e.b.sub(bound, start);
            let distance = e.b.max(distance, zero);
            let up = e.b.add(distance, less);
            let steps = e.b.let_(Expr::Binary(BinOp::Div, up, step));
            e.b.min(steps, size)
        };
        let first = first_from(self, from);
        let last = first_from(self, to);
        let failed = self.b.let_(Expr::Failed);
        let last = self.b.select(failed, first, last);
        (first, last)
    }
}
