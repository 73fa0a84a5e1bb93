//! Rows of different lengths.
//!
//! Rows are cut into blocks of their own, and what a row folds and scans is combined block by block: so it does not matter to a result whether one
//! thread goes through the row or several do. Most rows are one block. Those that are too much for one thread are run before everything else, by functions
//! that are made when they are first needed; see [`Long`]. What comes after them finds what they folded, block by block, in memory.
//!
//! How long rows are is told by a buffer of offsets. Where there is none, by a function that computes it ahead, which several threads need and one does not: see [`Lengths`]. Rows that
//! cannot be long are left alone.

use super::emit::{Emitter, Res};
use super::scans::ranks;
use super::{Lowering, Purpose, Range, finished, groups};
use crate::facts::ragged::Ragged;
use crate::facts::{carried_by, parts_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Kernel, Node, Op, Program, Region, Space};
use deckle_ir::loops::{Access, Buf, Expr, Function, Lengths, Long, LoopHint, Phase, Rows, Val};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::Item;
use std::collections::{BTreeMap, BTreeSet};

/// How an emitter goes through rows.
#[derive(Clone, Debug)]
pub(super) struct RowBlocks {
    /// The dimension of a row.
    pub dim: Space,
    /// How many points a block of it has.
    pub piece: Val,
    /// Whether the code for rows of one block comes first: better where rows are not read from memory.
    one_first: bool,
    /// What is known of long rows.
    pub long: Option<LongRows>,
}

/// Long rows that have been run.
#[derive(Clone, Debug)]
pub(super) struct LongRows {
    /// How many there are, which, and an end that no row reaches; and where the first block of each is. Not in phases, which run for one row.
    lists: Option<(Buf, Buf)>,
    /// What their blocks folded.
    partial: BTreeMap<Node, Vec<Buf>>,
    /// Where the first block of this row is, if it is a long one.
    base: Option<Val>,
}

/// What the scans along a row pass from block to block, and where.
type Scratch = Vec<(Node, Vec<Buf>)>;

/// The functions that run long rows, for the launch of that number of [`super::lower_kernel`].
///
/// # Errors
/// A bug: a kernel that is not well formed, or a launch whose rows are not divisible.
pub fn lower_long(
    program: &Program,
    kernel: &Kernel,
    name: &str,
    which: usize,
    purpose: Purpose,
) -> Result<Long, String> {
    let groups = groups(program, kernel);
    let (first, sinks) = groups.into_iter().nth(which).ok_or_else(|| format!("there is no launch {which}"))?;
    Lowering { long: true, ..Lowering::new(program, &sinks, first, name, purpose) }.long()
}

impl<'k> Lowering<'k> {
    /// The folds over rows and the scans along them, each with how many of these come before it: what one needs of another has to be there.
    pub(super) fn of_rows(&self, dim: Space) -> Vec<(Item, usize)> {
        let mut needed: BTreeSet<Node> = BTreeSet::new();
        self.sinks.iter().for_each(|s| needed.extend(self.p.sink_needs(s)));
        let item = |n: &Node| match self.p.node(*n).op {
            Op::Fold { over, .. } if self.p.encloses(dim, over) && !self.p.encloses(dim, self.p.space_of(*n)) => {
                Some(Item::Fold(*n))
            }
            Op::Scan { from, .. } if from == self.first && self.p.encloses(dim, self.p.space_of(*n)) => {
                Some(Item::Scan(*n))
            }
            _ => None,
        };
        let items: Vec<(Item, Node)> = needed.iter().filter_map(|n| Some((item(n)?, *n))).collect();
        let nodes: Vec<Node> = items.iter().map(|(_, n)| *n).collect();
        let ranks = ranks(self.p, &nodes);
        items.into_iter().map(|(item, _)| item).zip(ranks).collect()
    }

    /// The types of what is kept of each block of a row that folds, and of one that scans.
    fn kept(&self, items: &[(Item, usize)]) -> (Vec<ScalarType>, Vec<ScalarType>) {
        let (mut partial, mut scratch) = (Vec::new(), Vec::new());
        for (item, _) in items {
            match item {
                Item::Fold(n) => partial.extend(self.types_of(*n)),
                Item::Scan(n) => scratch.extend([self.types_of(*n), self.types_of(*n)].concat()),
                Item::Sink(_) => {}
            }
        }
        (partial, scratch)
    }

    /// What a function is passed of the blocks of long rows that were folded.
    fn partial(&self, e: &mut Emitter<'k>, items: &[(Item, usize)]) -> BTreeMap<Node, Vec<Buf>> {
        let folds = items.iter().filter_map(|(i, _)| if let Item::Fold(n) = i { Some(*n) } else { None });
        folds.map(|n| (n, self.types_of(n).into_iter().map(|ty| e.b.buffer(ty, Access::Write)).collect())).collect()
    }

    /// The dimension of rows that are cut into blocks.
    pub(super) fn row_dim(&self) -> Option<Space> {
        let Ragged { dim, offsets, .. } = self.rows.filter(|_| !self.grid)?;
        // Where nothing is combined, blocks are for those who share a row.
        let shared = offsets.is_some() || self.long || !self.of_rows(dim).is_empty();
        shared.then_some(dim)
    }

    /// Tells the emitter of a function how rows are traversed.
    pub(super) fn set_rows(&self, e: &mut Emitter<'k>, piece: Val) {
        let (Some(dim), Some(Ragged { offsets, .. })) = (self.row_dim(), self.rows) else { return };
        let long = self.long.then(|| {
            let mut list = || e.b.buffer(ScalarType::I64, Access::Read);
            let lists = Some((list(), list()));
            LongRows { lists, partial: self.partial(e, &self.of_rows(dim)), base: None }
        });
        e.rows = Some(RowBlocks { dim, piece, one_first: offsets.is_none(), long });
    }

    /// What the host has to know of the rows; after long ones, it knows.
    pub(super) fn launch_rows(&self) -> Res<Option<Rows>> {
        let Some(Ragged { dim, offsets, divisible }) = self.rows.filter(|_| !self.long) else { return Ok(None) };
        let lengths = match offsets {
            Some(buf) => Lengths::Offsets(buf),
            None => Lengths::Computed(self.lengths(dim)?),
        };
        Ok(Some(Rows { lengths, divisible }))
    }

    /// A function that tells how many elements the rows of each block have.
    fn lengths(&self, dim: Space) -> Res<Function> {
        let walks = self.walks("_lengths", |c| c.walks(&[], false))?;
        let name = format!("{}_lengths", self.name);
        let mut e = Emitter::new(self.p, self.sinks, &name, &self.buffers, self.purpose, walks);
        let lengths = e.b.buffer(ScalarType::I64, Access::Write);
        let range = Range::new(&mut e);
        let Region::Dim(size) = self.p.space(dim).region else { return Err(format!("{dim} is no dimension")) };
        let zero = e.int(0);
        let (block, _) = e.b.begin_for(range.first, range.last, 1, &[], LoopHint::Plain);
        let (lo, hi) = self.bounds(&mut e, &range, block)?;
        let (row, sum) = e.b.begin_for(lo, hi, 1, &[zero], LoopHint::Independent);
        e.open(self.first, Some(row), Vec::new());
        let length = e.val(size)?;
        e.close();
        let length = e.capped_length(length, range.block);
        let sum = e.b.add(sum[0], length);
        let sum = e.b.end(&[sum]);
        let at = e.b.sub(block, range.first);
        e.b.store(lengths, at, sum[0]);
        e.b.end(&[]);
        finished(e)
    }

    fn long(self) -> Res<Long> {
        let Some(Ragged { dim, divisible: true, .. }) = self.rows else {
            return Err("rows that are not divisible".into());
        };
        let items = self.of_rows(dim);
        let (partial, scratch) = self.kept(&items);
        let mut phases = Vec::new();
        let last = items.iter().map(|(_, rank)| rank + 1).max().unwrap_or(0);
        for rank in 0..last {
            let mine: Vec<Item> = items.iter().filter(|(_, r)| *r == rank).map(|(item, _)| *item).collect();
            phases.push(Phase { function: self.row_blocks(dim, &items, &mine, &format!("_row{rank}"))?, alone: false });
            let scans: Vec<Node> =
                mine.iter().filter_map(|i| if let Item::Scan(n) = i { Some(*n) } else { None }).collect();
            if !scans.is_empty() {
                phases.push(Phase {
                    function: self.row_prefix(dim, &items, &scans, &format!("_row{rank}_prefix"))?,
                    alone: true,
                });
            }
        }
        let is_inside = |i: &usize| self.p.encloses(dim, self.p.sink_parts(&self.sinks[*i]).0);
        let sinks: Vec<Item> = (0..self.sinks.len()).filter(is_inside).map(Item::Sink).collect();
        if !sinks.is_empty() {
            phases.push(Phase { function: self.row_blocks(dim, &items, &sinks, "_row")?, alone: false });
        }
        Ok(Long { partial, scratch, phases, launch: self.launch()? })
    }

    /// A function for a row, in which that row is open: with the scratch of its scans.
    fn row_emitter(
        &self,
        dim: Space,
        items: &[(Item, usize)],
        mine: &[Item],
        part: &str,
    ) -> Res<(Emitter<'k>, Scratch, Range)> {
        let walks = self.walks(part, |c| c.walks_at_points(self.first, mine, true))?;
        let name = format!("{}{part}", self.name);
        let mut e = Emitter::new(self.p, self.sinks, &name, &self.buffers, self.purpose, walks);
        let inside = e.inside_of_point(self.first, &[])?;
        let partial = self.partial(&mut e, items);
        let mut scratch = Vec::new();
        for (item, _) in items {
            if let Item::Scan(n) = item {
                let types = [self.types_of(*n), self.types_of(*n)].concat();
                scratch.push((*n, types.into_iter().map(|ty| e.b.buffer(ty, Access::Write)).collect()));
            }
        }
        let range = Range::new(&mut e);
        let (row, base) = (e.b.scalar(ScalarType::I64), e.b.scalar(ScalarType::I64));
        let long = LongRows { lists: None, partial, base: Some(base) };
        e.rows = Some(RowBlocks { dim, piece: range.piece, one_first: false, long: Some(long) });
        e.open_point(self.first, Some(row), &inside);
        Ok((e, scratch, range))
    }

    /// A phase that goes through the blocks of a row.
    fn row_blocks(&self, dim: Space, items: &[(Item, usize)], mine: &[Item], part: &str) -> Res<Function> {
        let (mut e, scratch, range) = self.row_emitter(dim, items, mine, part)?;
        let Some(LongRows { partial, base: Some(base), .. }) = e.rows.clone().and_then(|r| r.long) else {
            return Err("no row".into());
        };
        let Region::Dim(size) = self.p.space(dim).region else { return Err(format!("{dim} is no dimension")) };
        let size = e.val(size)?;
        let (block, _) = e.b.begin_for(range.first, range.last, 1, &[], LoopHint::Plain);
        let lo = e.b.mul(block, range.piece);
        let hi = e.b.add(lo, range.piece);
        let hi = e.b.min(hi, size);
        // Sinks come after all scans.
        let rank_of = |item: &Item| items.iter().find(|(i, _)| i == item).map_or(usize::MAX, |(_, rank)| *rank);
        let rank = mine.first().map_or(usize::MAX, rank_of);
        for (n, bufs) in &scratch {
            let mut acc = self.nothing(&mut e, *n)?;
            if rank_of(&Item::Scan(*n)) < rank {
                acc.before = Some(Box::new(self.load(&mut e, bufs, *n, self.width(*n), block)));
            }
            e.accs.insert(*n, acc);
        }
        for n in partial.keys().filter(|n| mine.contains(&Item::Fold(**n))) {
            let acc = self.nothing(&mut e, *n)?;
            e.accs.insert(*n, acc);
        }
        e.traverse(self.first, mine, Some((lo, hi)))?;
        let at = e.b.add(base, block);
        for item in mine {
            let (n, bufs, at) = match item {
                Item::Fold(n) => (n, &partial[n], at),
                Item::Scan(n) => {
                    (n, scratch.iter().find(|(m, _)| m == n).map(|(_, b)| b).ok_or("a scan was lost")?, block)
                }
                Item::Sink(_) => continue,
            };
            let acc = e.accs.remove(n).ok_or("a fold was lost")?;
            self.store(&mut e, bufs, &acc, 0, at);
        }
        e.accs.clear();
        e.b.end(&[]);
        e.close();
        finished(e)
    }

    /// A phase that tells what comes before each block of a row.
    fn row_prefix(&self, dim: Space, items: &[(Item, usize)], scans: &[Node], part: &str) -> Res<Function> {
        let mine: Vec<Item> = scans.iter().map(|n| Item::Scan(*n)).collect();
        let (mut e, scratch, range) = self.row_emitter(dim, items, &mine, part)?;
        for (n, bufs) in scratch.iter().filter(|(n, _)| scans.contains(n)) {
            self.sum_up(&mut e, bufs, *n, (0, self.width(*n)), &range)?;
        }
        e.close();
        finished(e)
    }
}

impl Emitter<'_> {
    /// The length of a row, at most so much that the sum of that many lengths does not overflow.
    pub(super) fn capped_length(&mut self, length: Val, many: Val) -> Val {
        let (zero, most) = (self.b.i64(0), self.b.i64(i64::MAX));
        let most = self.b.binary(BinOp::Div, most, many);
        let length = self.b.max(length, zero);
        self.b.min(length, most)
    }
}

impl Emitter<'_> {
    /// Goes through a row, where that is done block by block: whether it is.
    pub(super) fn row(&mut self, space: Space, items: &[Item], size: Val) -> Res<bool> {
        let Some(RowBlocks { dim, piece, one_first, long }) = self.rows.clone() else { return Ok(false) };
        if dim != space {
            return Ok(false);
        }
        match long {
            Some(LongRows { partial, base: Some(base), .. }) => self.done_row(items, size, (piece, base), &partial)?,
            _ => {
                // Nearly all rows are one block.
                let carried = carried_by(items);
                let before = self.carried(&carried);
                let test = if one_first { self.b.binary(BinOp::Le, size, piece) } else { self.b.lt(piece, size) };
                self.b.begin_if(test);
                self.one_or_more(space, items, (size, piece), one_first)?;
                let after = self.carried(&carried);
                self.b.begin_else(&after);
                self.carry(&carried, &before);
                self.one_or_more(space, items, (size, piece), !one_first)?;
                let after = self.carried(&carried);
                let after = self.b.end(&after);
                self.carry(&carried, &after);
            }
        }
        Ok(true)
    }

    /// Goes through a row of one block, or of more.
    fn one_or_more(&mut self, space: Space, items: &[Item], (size, piece): (Val, Val), one: bool) -> Res<()> {
        if !one {
            return self.row_by_blocks(space, items, size, piece);
        }
        // A block ends soon, also where something has failed.
        let zero = self.int(0);
        let outer = self.short_row.replace(space);
        self.dimension(space, items, (zero, size, 1))?;
        self.short_row = outer;
        Ok(())
    }

    fn row_by_blocks(&mut self, space: Space, items: &[Item], size: Val, piece: Val) -> Res<()> {
        let carried = carried_by(items);
        let zero = self.int(0);
        let size = self.unless_failed(zero, size);
        let before = self.carried(&carried);
        let params = self.b.begin_while(&[&[zero], before.as_slice()].concat());
        let lo = params[0];
        let some = self.b.lt(lo, size);
        self.b.begin_body(some);
        self.carry(&carried, &params[1..]);
        let end = self.b.add(lo, piece);
        let hi = self.b.min(end, size);
        let mut outer = Vec::new();
        for n in &carried {
            let acc = self.accs.get(n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
            let (_, elems, how) = parts_of(self.p, *n)?;
            let types: Vec<ScalarType> = elems.iter().map(|e| self.p.ty(*e)).collect();
            let mut inner = self.nothing(how, &types);
            if items.contains(&Item::Scan(*n)) {
                inner.before = Some(Box::new(acc.clone()));
            }
            outer.push(acc);
            self.accs.insert(*n, inner);
        }
        self.dimension(space, items, (lo, hi, 1))?;
        for (n, acc) in carried.iter().zip(outer) {
            let inner = self.accs.remove(n).ok_or_else(|| format!("{n} is not carried"))?;
            let (_, _, how) = parts_of(self.p, *n)?;
            // A block has a point, and all points count unless there are more spaces inside.
            let all = self.p.space_of(*n) == space || self.facts.space_of(Item::Fold(*n)) == space;
            let next = self.step(how, &acc, &inner.vals, if all { None } else { inner.has })?;
            self.accs.insert(*n, next);
        }
        let after = self.carried(&carried);
        let after = self.b.end(&[&[end], after.as_slice()].concat());
        self.carry(&carried, &after[1..]);
        Ok(())
    }

    /// What the blocks of a row that has been run have folded.
    fn done_row(
        &mut self,
        items: &[Item],
        size: Val,
        (piece, base): (Val, Val),
        partial: &BTreeMap<Node, Vec<Buf>>,
    ) -> Res<()> {
        let folds: Vec<Node> =
            items.iter().filter_map(|i| if let Item::Fold(n) = i { Some(*n) } else { None }).collect();
        let (zero, one) = (self.int(0), self.int(1));
        let less = self.b.sub(piece, one);
        let blocks = self.b.add(size, less);
        let blocks = self.b.let_(Expr::Binary(BinOp::Div, blocks, piece));
        let before = self.carried(&folds);
        let (block, params) = self.b.begin_for(zero, blocks, 1, &before, LoopHint::Plain);
        self.carry(&folds, &params);
        let at = self.b.add(base, block);
        for n in &folds {
            let bufs = partial.get(n).ok_or_else(|| format!("{n} was not folded"))?;
            let mut vals: Vec<Val> = bufs.iter().map(|b| self.b.load(*b, at)).collect();
            let has = vals.pop();
            let acc = self.accs.get(n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
            let (_, _, how) = parts_of(self.p, *n)?;
            let next = self.step(how, &acc, &vals, has)?;
            self.accs.insert(*n, next);
        }
        let after = self.carried(&folds);
        let after = self.b.end(&after);
        self.carry(&folds, &after);
        Ok(())
    }

    /// Goes through points of which some are long rows that have been run: whether there may be such.
    pub(super) fn around_long(&mut self, space: Space, items: &[Item], (lo, hi): (Val, Val)) -> Res<bool> {
        let Some(LongRows { lists: Some((list, places)), .. }) = self.rows.as_ref().and_then(|r| r.long.clone()) else {
            return Ok(false);
        };
        let carried = carried_by(items);
        let before = self.carried(&carried);
        let first = self.first_long(list, lo);
        let params = self.b.begin_while(&[&[lo, first], before.as_slice()].concat());
        let (from, k) = (params[0], params[1]);
        let some = self.b.lt(from, hi);
        self.b.begin_body(some);
        self.carry(&carried, &params[2..]);
        let row = self.b.load(list, k);
        let upto = self.b.min(row, hi);
        self.dimension(space, items, (from, upto, 1))?;
        let before = self.carried(&carried);
        let is_here = self.b.lt(row, hi);
        self.b.begin_if(is_here);
        let base = self.b.load(places, k);
        self.set_base(Some(base));
        let inside = self.inside_of_point(space, &[])?;
        self.open_point(space, Some(row), &inside);
        self.inside(space, items)?;
        self.close();
        self.set_base(None);
        let after = self.carried(&carried);
        self.b.begin_else(&after);
        let after = self.b.end(&before);
        let (from, k) = (self.b.add_const(upto, 1), self.b.add_const(k, 1));
        let after = self.b.end(&[&[from, k], after.as_slice()].concat());
        self.carry(&carried, &after[2..]);
        Ok(true)
    }

    fn set_base(&mut self, base: Option<Val>) {
        if let Some(long) = self.rows.as_mut().and_then(|r| r.long.as_mut()) {
            long.base = base;
        }
    }

    /// The place in the list of the first long row that is not before a position. The list begins with how many there are.
    fn first_long(&mut self, list: Buf, pos: Val) -> Val {
        let (zero, one, two) = (self.int(0), self.int(1), self.int(2));
        let count = self.b.load(list, zero);
        let end = self.b.add(count, one);
        let params = self.b.begin_while(&[one, end]);
        let more = self.b.lt(params[0], params[1]);
        self.b.begin_body(more);
        let sum = self.b.add(params[0], params[1]);
        let middle = self.b.let_(Expr::Binary(BinOp::Div, sum, two));
        let row = self.b.load(list, middle);
        let is_before = self.b.lt(row, pos);
        let next = self.b.add(middle, one);
        let lo = self.b.select(is_before, next, params[0]);
        let hi = self.b.select(is_before, params[1], middle);
        self.b.end(&[lo, hi])[0]
    }
}
