//! The functions of a launch that run its blocks: the kernel itself, and what combines the blocks.

use super::emit::{Emitter, Res, Width};
use super::folds::Acc;
use super::{Lowering, Range, finished};
use crate::facts::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, ROOT, Region};
use deckle_ir::loops::{Buf, Expr, Function, Launch, LoopHint, Stmt, StoreHint, Val, Work};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::Item;

/// The kernel itself.
pub(super) struct Main {
    pub function: Function,
    /// The buffers that each thread needs for it: of what, and how many elements.
    pub private: Vec<(ScalarType, usize)>,
    /// How many points of the first dimension are computed together.
    pub together: i64,
}

impl<'k> Lowering<'k> {
    /// A kernel that is not cut into blocks.
    pub(super) fn single(&self) -> Res<Launch> {
        let items = self.items();
        let (mut e, _, _) = self.emitter("", &items, false)?;
        e.traverse(ROOT, &items, None)?;
        for sink in self.sinks.iter().filter(|s| self.p.sink_parts(s).0 == ROOT) {
            e.sink(sink, Width::One)?;
        }
        Ok(Launch {
            buffers: self.buffers.iter().map(|(b, _)| *b).collect(),
            scratch: self.scratch_types(),
            private: Vec::new(),
            size: None,
            work: Work::Unknown,
            block: None,
            together: 1,
            ordered: true,
            rows: None,
            copies: None,
            owned: None,
            scans: Vec::new(),
            main: finished(e)?,
            finish: None,
        })
    }

    pub(super) fn load(&self, e: &mut Emitter<'k>, scratch: &[Buf], n: Node, place: usize, at: Val) -> Acc {
        self.load_where(e, scratch, n, place, (at, None))
    }

    /// The same if a condition holds, else zeros.
    pub(super) fn load_where(
        &self,
        e: &mut Emitter<'k>,
        scratch: &[Buf],
        n: Node,
        place: usize,
        (at, mask): (Val, Option<Val>),
    ) -> Acc {
        let width = self.width(n);
        let mut vals: Vec<Val> =
            (0..width).map(|i| e.b.let_(Expr::Load { buf: scratch[place + i], at, mask })).collect();
        let has = vals.pop();
        Acc { vals, has, before: None }
    }

    pub(super) fn store(&self, e: &mut Emitter<'k>, scratch: &[Buf], acc: &Acc, place: usize, at: Val) {
        let yes = e.constant(Scalar::Bool(true));
        let has = acc.has.unwrap_or(yes);
        for (i, value) in acc.vals.iter().chain([&has]).enumerate() {
            let hint = StoreHint::Cached;
            e.b.stmt(Stmt::Store { buf: scratch[place + i], at, value: *value, mask: None, hint });
        }
    }

    /// Nothing yet, for a fold or scan.
    pub(super) fn nothing(&self, e: &mut Emitter<'k>, n: Node) -> Res<Acc> {
        let (_, elems, how) = parts_of(self.p, n)?;
        let types: Vec<ScalarType> = elems.iter().map(|x| self.p.ty(*x)).collect();
        Ok(e.nothing(how, &types))
    }

    /// The bounds of a block.
    pub(super) fn bounds(&self, e: &mut Emitter<'k>, range: &Range, block: Val) -> Res<(Val, Val)> {
        let Region::Dim(size) = self.p.space(self.first).region else { return Err("no dimension".into()) };
        let n = e.val(size)?;
        let lo = e.b.let_(Expr::Binary(BinOp::Mul, block, range.block));
        let end = e.b.let_(Expr::Binary(BinOp::Add, lo, range.block));
        let hi = e.b.let_(Expr::Binary(BinOp::Min, end, n));
        Ok((lo, hi))
    }

    /// Traverses a block: where something may fail, in parts, so that a block of very many points ends soon after it has. Most blocks are one part.
    pub(super) fn part_by_part(&self, e: &mut Emitter<'k>, items: &[Item], (lo, hi): (Val, Val)) -> Res<()> {
        if !e.can_fail {
            return e.traverse(ROOT, items, Some((lo, hi)));
        }
        let carried: Vec<Node> = self.folds.iter().chain(&self.scans).copied().collect();
        let (hi, before) = (e.unless_failed(lo, hi), e.carried(&carried));
        let part = e.facts.cuts.part;
        let (from, params) = e.b.begin_for(lo, hi, part, &before, LoopHint::Plain);
        e.carry(&carried, &params);
        let to = e.b.add_const(from, part);
        let to = e.b.min(to, hi);
        e.traverse(ROOT, items, Some((from, to)))?;
        let after = e.carried(&carried);
        let after = e.b.end(&after);
        e.carry(&carried, &after);
        Ok(())
    }

    /// The kernel itself.
    pub(super) fn main(&self) -> Res<Main> {
        let items = self.items();
        let (mut e, scratch, range) = self.emitter("", &items, true)?;
        // What comes before the first block of the call; from block to block it is carried.
        let mut befores = Vec::new();
        for n in &self.scans {
            let acc = self.load(&mut e, &scratch, *n, self.place(*n).1, range.first);
            befores.extend(acc.vals.iter().chain(&acc.has).copied());
        }
        if let Region::Dim(size) = self.p.space(self.first).region {
            e.val(size)?;
        }
        let (block, params) = e.b.begin_for(range.first, range.last, 1, &befores, LoopHint::Plain);
        let mut params = params.into_iter();
        for n in &self.scans {
            let width = self.width(*n);
            let mut vals: Vec<Val> = params.by_ref().take(width).collect();
            let has = vals.pop();
            let before = Acc { vals, has, before: None };
            let mut acc = self.nothing(&mut e, *n)?;
            acc.before = Some(Box::new(before));
            e.accs.insert(*n, acc);
        }
        for n in &self.folds {
            let acc = self.nothing(&mut e, *n)?;
            e.accs.insert(*n, acc);
        }
        let bounds = self.bounds(&mut e, &range, block)?;
        self.part_by_part(&mut e, &items, bounds)?;
        for n in &self.folds {
            let acc = e.accs.remove(n).ok_or("a fold was lost")?;
            self.store(&mut e, &scratch, &acc, self.place(*n).0, block);
        }
        let mut after = Vec::new();
        for n in &self.scans {
            let acc = e.accs.remove(n).ok_or("a scan was lost")?;
            let (_, _, how) = parts_of(self.p, *n)?;
            let before = acc.before.clone().ok_or("a scan was lost")?;
            let next = e.step(how, &before, &acc.vals, acc.has)?;
            let yes = e.constant(Scalar::Bool(true));
            after.extend(next.vals.iter().copied().chain([next.has.unwrap_or(yes)]));
        }
        e.b.end(&after);
        let (private, together) = (std::mem::take(&mut e.private), e.together);
        Ok(Main { function: finished(e)?, private, together })
    }

    /// The folds combined, and what the root makes of them.
    pub(super) fn finish(&self) -> Res<Function> {
        let (mut e, scratch, range) = self.emitter_after("_finish")?;
        let zero = e.constant(Scalar::I64(0));
        for n in &self.folds {
            let start = e.start(*n)?;
            let mut init: Vec<Val> = start.vals.iter().chain(&start.has).copied().collect();
            let (block, mut params) = e.b.begin_for(zero, range.blocks, 1, &init, LoopHint::Plain);
            let has = if start.has.is_some() { params.pop() } else { None };
            let acc = Acc { vals: params, has, before: None };
            let part = self.load(&mut e, &scratch, *n, self.place(*n).0, block);
            let (_, _, how) = parts_of(self.p, *n)?;
            let next = e.step(how, &acc, &part.vals, part.has)?;
            let after: Vec<Val> = next.vals.iter().chain(&next.has).copied().collect();
            init = e.b.end(&after);
            let has = if start.has.is_some() { init.pop() } else { None };
            e.accs.insert(*n, Acc { vals: init, has, before: None });
            let parts = e.folded(*n)?;
            e.set(*n, parts);
        }
        for sink in self.sinks.iter().filter(|s| self.p.sink_parts(s).0 == ROOT) {
            e.sink(sink, Width::One)?;
        }
        finished(e)
    }
}
