//! Rows that are too long for the threads that take a point: all blocks of the grid share them, before the other functions run.
//!
//! As on a CPU ([`super::rows`]), long rows come first, cut into pieces, and what comes after them finds in memory what they folded.
//!
//! ```text
//! lengths   the number of elements of all rows, where no buffer of offsets tells it
//! rows      a thread looks at each row; those with more elements than the limit are listed, once for each of their pieces
//! row0      a block takes a piece, and folds it; `row1` does so with what needs other folds of the row
//! row0_sum  a block takes a row, and combines what its pieces have folded, in order
//! row       a block takes a piece, and stores what the row stores
//! main      skips the elements of long rows, and loads what they folded
//! ```
//!
//! Threads list rows in any order. That changes no result: a piece is folded by one block, and pieces are combined in the order of the row. The limit, and with it the pieces, depend on the data only. All
//! buffers have a size that the host knows without waiting for the device; the limit is raised if the pieces of all rows might not fit.

use super::emit::{Emitter, Res};
use super::folds::Acc;
use super::gpu::{Gpu, Who};
use super::meet::join;
use crate::facts::grid::all_commute;
use crate::facts::parts_of;
use crate::facts::ragged::Ragged;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{self, Node, Region, Space};
use deckle_ir::loops::{Access, Axis, Buf, Expr, Function, LoopHint, SplitRows, Val};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::{Item, Level, Nest};
use std::collections::BTreeMap;

/// The most pieces of a row: a thread lists them one after another.
const MOST_PIECES: i64 = 1 << 11;
/// The elements of the list of totals: how many pieces there are, and how many elements in all rows.
const PIECES: i64 = 0;
const ELEMENTS: i64 = 1;

/// How an emitter traverses rows of which the long ones are split.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// The dimension of a row, and the one around it.
    dim: Space,
    first: Space,
    offsets: Option<kernel::Buf>,
    /// See [`SplitRows`].
    totals: Buf,
    pieces: Buf,
    places: Buf,
    partial: BTreeMap<Node, Vec<Buf>>,
    /// The number of elements above which the host wants rows to be split, and the room for pieces.
    longer: Val,
    room: Val,
    /// The elements of a piece, at least.
    least: i64,
    /// The number of elements above which rows are split, once it has been computed.
    limit: Option<Val>,
    /// In a function for pieces: the first piece of the open row.
    base: Option<Val>,
}

/// The buffers of a function for split rows.
pub(super) struct Lists {
    lists: [Buf; 3],
    partial: BTreeMap<Node, Vec<Buf>>,
}

/// A piece of a long row that is open.
struct Piece {
    /// Its number among all pieces, and in the row.
    number: Val,
    in_row: Val,
    /// The first piece of the row, and how many it has.
    base: Val,
    count: Val,
    /// Its elements.
    lo: Val,
    hi: Val,
}

impl<'k> Gpu<'k> {
    /// The rows whose elements blocks can share: nothing in them has an order, and nothing is scanned.
    pub(super) fn splittable(&self) -> Option<Ragged> {
        let rows = self.s.rows.filter(|r| r.divisible)?;
        let scans = self.s.of_rows(rows.dim).iter().any(|(item, _)| matches!(item, Item::Scan(_)));
        (!scans).then_some(rows)
    }

    /// The buffers that a function is passed of split rows, after the others.
    pub(super) fn row_lists(&self, e: &mut Emitter<'k>) -> Option<Lists> {
        let rows = self.rows?;
        let lists = [(); 3].map(|()| e.b.buffer(ScalarType::I64, Access::Write));
        Some(Lists { lists, partial: self.s.partial(e, &self.s.of_rows(rows.dim)) })
    }

    /// Tells an emitter how rows are split, with two scalars after the others.
    pub(super) fn set_split(&self, e: &mut Emitter<'k>, lists: Option<Lists>) {
        let (Some(rows), Some(Lists { lists: [totals, pieces, places], partial })) = (self.rows, lists) else { return };
        let (longer, room) = (e.b.scalar(ScalarType::I64), e.b.scalar(ScalarType::I64));
        e.split = Some(Split {
            dim: rows.dim,
            first: self.s.first,
            offsets: rows.offsets,
            totals,
            pieces,
            places,
            partial,
            longer,
            room,
            least: self.s.purpose.cuts.piece,
            limit: None,
            base: None,
        });
    }

    /// The functions that run long rows.
    pub(super) fn split_rows(&self) -> Res<Option<SplitRows>> {
        let Some(rows) = self.rows else { return Ok(None) };
        let items = self.s.of_rows(rows.dim);
        let (partial, _) = self.s.kept(&items);
        let lengths = if rows.offsets.is_some() { None } else { Some(self.elements_of_rows(rows.dim)?) };
        let mut phases = Vec::new();
        let ranks = items.iter().map(|(_, rank)| rank + 1).max().unwrap_or(0);
        for rank in 0..ranks {
            let folds: Vec<Node> = items
                .iter()
                .filter_map(|(item, r)| match item {
                    Item::Fold(n) if *r == rank => Some(*n),
                    _ => None,
                })
                .collect();
            phases.push(self.fold_pieces(&format!("_row{rank}"), &folds)?);
            phases.push(self.sum_pieces(&format!("_row{rank}_sum"), &folds)?);
        }
        let is_inside = |i: &usize| {
            let at = self.s.p.sink_parts(&self.s.sinks[*i]).0;
            self.s.p.encloses(rows.dim, at)
        };
        let sinks: Vec<Item> = (0..self.s.sinks.len()).filter(is_inside).map(Item::Sink).collect();
        if !sinks.is_empty() {
            phases.push(self.store_pieces("_row", &sinks)?);
        }
        let room = self.s.purpose.cuts.pieces;
        Ok(Some(SplitRows { partial, lengths, list: self.list_rows(rows.dim)?, phases, room }))
    }

    /// A function whose threads take the points of the first dimension: each is open, with the size of its row.
    fn at_rows(
        &self,
        part: &str,
        dim: Space,
        init: impl FnOnce(&mut Emitter<'k>) -> Vec<Val>,
        body: impl FnOnce(&mut Emitter<'k>, Val, Val, &[Val]) -> Res<Vec<Val>>,
        end: impl FnOnce(&mut Emitter<'k>, &[Val]) -> Res<()>,
    ) -> Res<Function> {
        let (Region::Dim(count), Region::Dim(size)) = (self.s.p.space(self.s.first).region, self.s.p.space(dim).region)
        else {
            return Err(format!("lower_gpu: {dim} has no size"));
        };
        let walks = self.s.walks(part, |c| c.walks_at_points(self.s.first, &[], false))?;
        let (mut e, _, who) = self.open_with(part, walks);
        let inside = e.inside_of_point(self.s.first)?;
        let count = e.val(count)?;
        let (lo, hi) = share_of_block(&mut e, &who, count);
        let lo = e.b.add(lo, who.thread);
        let init = init(&mut e);
        let (row, carried) = e.b.begin_for(lo, hi, i64::from(self.threads), &init, LoopHint::Plain);
        e.open_point(self.s.first, Some(row), &inside);
        let size = e.val(size)?;
        let next = body(&mut e, row, size, &carried)?;
        e.close();
        let after = e.b.end(&next);
        end(&mut e, &after)?;
        Gpu::close(e, self.threads)
    }

    /// How many elements all rows have together. A length counts at most so much that the sum does not overflow.
    fn elements_of_rows(&self, dim: Space) -> Res<Function> {
        let Region::Dim(count) = self.s.p.space(self.s.first).region else { return Err("no dimension".into()) };
        self.at_rows(
            "_lengths",
            dim,
            |e| vec![e.b.i64(0)],
            |e, _, size, sum| {
                let (zero, most, count) = (e.b.i64(0), e.b.i64(i64::MAX), e.val(count)?);
                let most = e.b.binary(BinOp::Div, most, count);
                let size = e.b.max(size, zero);
                let size = e.b.min(size, most);
                Ok(vec![e.b.add(sum[0], size)])
            },
            |e, sum| {
                let totals = e.split.as_ref().map(|s| s.totals).ok_or("no rows are split")?;
                let at = e.b.i64(ELEMENTS);
                e.b.atomic(BinOp::Add, totals, at, sum[0]);
                Ok(())
            },
        )
    }

    /// Lists the pieces of long rows.
    fn list_rows(&self, dim: Space) -> Res<Function> {
        let list = |e: &mut Emitter<'k>, row: Val, size: Val, _: &[Val]| {
            let limit = e.limit()?;
            let split = e.split.clone().ok_or("no rows are split")?;
            let is_long = e.b.lt(limit, size);
            e.b.begin_if(is_long);
            let (count, _) = e.cut(size)?;
            let zero = e.b.i64(PIECES);
            let base = e.b.fetch_add(split.totals, zero, count);
            let end = e.b.add(base, count);
            let too_many = e.b.lt(split.room, end);
            // The limit leaves room for all pieces of rows whose lengths are what the offsets say.
            e.b.begin_if(too_many);
            e.b.flag(too_many);
            e.b.begin_else(&[]);
            e.b.store(split.places, row, base);
            let (piece, _) = e.b.begin_for(base, end, 1, &[], LoopHint::Plain);
            e.b.store(split.pieces, piece, row);
            e.b.end(&[]);
            e.b.end(&[]);
            e.b.end(&[]);
            Ok(Vec::new())
        };
        self.at_rows("_rows", dim, |_| Vec::new(), list, |_, _| Ok(()))
    }

    /// A function whose blocks take the pieces of long rows. The row of a piece is open.
    fn by_pieces(
        &self,
        part: &str,
        items: &[Item],
        body: impl FnOnce(&mut Emitter<'k>, &Who, &Piece) -> Res<()>,
    ) -> Res<Function> {
        let walks = self.s.walks(part, |c| c.walks_at_points(self.s.first, items, false))?;
        let (mut e, _, who) = self.open_with(part, walks);
        let inside = e.inside_of_point(self.s.first)?;
        e.limit()?;
        let split = e.split.clone().ok_or("no rows are split")?;
        let Region::Dim(size) = self.s.p.space(split.dim).region else {
            return Err(format!("lower_gpu: {} has no size", split.dim));
        };
        let at = e.b.i64(PIECES);
        let all = e.b.load(split.totals, at);
        let (lo, hi) = share_of_block(&mut e, &who, all);
        let (number, _) = e.b.begin_for(lo, hi, 1, &[], LoopHint::Plain);
        let row = e.b.load(split.pieces, number);
        let base = e.b.load(split.places, row);
        let in_row = e.b.sub(number, base);
        e.open_point(self.s.first, Some(row), &inside);
        let size = e.val(size)?;
        let (count, length) = e.cut(size)?;
        let lo = e.b.mul(in_row, length);
        let lo = e.b.min(lo, size);
        let hi = e.b.add(lo, length);
        let hi = e.b.min(hi, size);
        e.split = Some(Split { base: Some(base), ..split });
        body(&mut e, &who, &Piece { number, in_row, base, count, lo, hi })?;
        e.accs.clear();
        e.close();
        // The next piece uses the same shared memory.
        e.b.barrier();
        e.b.end(&[]);
        Gpu::close(e, self.threads)
    }

    /// Folds each piece.
    fn fold_pieces(&self, part: &str, folds: &[Node]) -> Res<Function> {
        let items: Vec<Item> = folds.iter().map(|n| Item::Fold(*n)).collect();
        self.by_pieces(part, &items, |e, who, piece| {
            let range = if all_commute(self.s.p, folds) {
                e.grid.stride = i64::from(self.threads);
                (e.b.add(piece.lo, who.thread), piece.hi)
            } else {
                self.share_of_thread(e, who, (piece.lo, piece.hi))
            };
            self.begin_folds(e, folds)?;
            e.traverse(self.s.first, &items, Some(range))?;
            self.keep_met(e, who, folds, piece.number)
        })
    }

    /// Combines what the pieces of a row have folded, in place of that of the first.
    fn sum_pieces(&self, part: &str, folds: &[Node]) -> Res<Function> {
        self.by_pieces(part, &[], |e, who, piece| {
            let (zero, one) = (e.b.i64(0), e.b.i64(1));
            let is_first = e.b.binary(BinOp::Eq, piece.in_row, zero);
            let are_more = e.b.lt(one, piece.count);
            let both = e.b.and(is_first, are_more);
            e.b.begin_if(both);
            let end = e.b.add(piece.base, piece.count);
            let (lo, hi) = self.share_of_thread(e, who, (piece.base, end));
            for n in folds {
                let (_, _, how) = parts_of(self.s.p, *n)?;
                let none = self.s.nothing(e, *n)?;
                let sum = e.folded_over((lo, hi), &none, |e, acc, at| {
                    let more = e.folded_before(*n, at)?;
                    join(e, how, acc, &more.vals, more.has)
                })?;
                e.accs.insert(*n, sum);
            }
            self.keep_met(e, who, folds, piece.base)?;
            e.b.end(&[]);
            Ok(())
        })
    }

    /// Stores what each piece stores.
    fn store_pieces(&self, part: &str, sinks: &[Item]) -> Res<Function> {
        self.by_pieces(part, sinks, |e, who, piece| {
            e.grid.stride = i64::from(self.threads);
            let lo = e.b.add(piece.lo, who.thread);
            e.traverse(self.s.first, sinks, Some((lo, piece.hi)))
        })
    }

    /// Combines what the threads of the block have folded, and keeps it at a place of the partial results.
    fn keep_met(&self, e: &mut Emitter<'k>, who: &Who, folds: &[Node], at: Val) -> Res<()> {
        let shared = self.meet(e, who, folds)?;
        let partial = e.split.as_ref().map(|s| s.partial.clone()).ok_or("no rows are split")?;
        let zero = e.b.i64(0);
        let is_first = e.b.binary(BinOp::Eq, who.thread, zero);
        e.b.begin_if(is_first);
        for (n, shared) in folds.iter().zip(&shared) {
            let total = self.total(e, *n, shared)?;
            self.s.store(e, &partial[n], &total, 0, at);
        }
        e.b.end(&[]);
        Ok(())
    }

    /// Successive ones of a range, for a thread of a block.
    fn share_of_thread(&self, e: &mut Emitter<'k>, who: &Who, (lo, hi): (Val, Val)) -> (Val, Val) {
        let count = e.b.sub(hi, lo);
        let threads = i64::from(self.threads);
        let more = e.b.add_const(count, threads - 1);
        let threads = e.b.i64(threads);
        let share = e.b.binary(BinOp::Div, more, threads);
        let skip = e.b.mul(share, who.thread);
        let from = e.b.add(lo, skip);
        let from = e.b.min(from, hi);
        let to = e.b.add(from, share);
        (from, e.b.min(to, hi))
    }
}

/// Successive ones of so many, for a block.
fn share_of_block(e: &mut Emitter<'_>, who: &Who, count: Val) -> (Val, Val) {
    let (blocks, one) = (e.b.let_(Expr::Id(Axis::Blocks)), e.b.i64(1));
    // Without overflow, however large the number.
    let less = e.b.sub(count, one);
    let share = e.b.binary(BinOp::Div, less, blocks);
    let share = e.b.add(share, one);
    let lo = e.b.mul(share, who.block);
    let lo = e.b.min(lo, count);
    let hi = e.b.add(lo, share);
    (lo, e.b.min(hi, count))
}

impl Emitter<'_> {
    /// The number of elements above which a row is split: as many as the host wants, or more, so that there is room for all pieces.
    fn limit(&mut self) -> Res<Val> {
        let split = self.split.clone().ok_or("no rows are split")?;
        if let Some(limit) = split.limit {
            return Ok(limit);
        }
        let Region::Dim(count) = self.p.space(split.first).region else { return Err("no dimension".into()) };
        let offsets = split.offsets.map(|b| self.buf(b)).transpose()?;
        let limit = self.at_root(|e| {
            let elements = match offsets {
                Some(offsets) => {
                    // Where there are no rows, there may be no offsets either.
                    let (zero, count) = (e.b.i64(0), e.val(count)?);
                    let some = e.b.lt(zero, count);
                    let ends = [count, zero].map(|at| e.b.let_(Expr::Load { buf: offsets, at, mask: Some(some) }));
                    e.b.sub(ends[0], ends[1])
                }
                None => {
                    let at = e.b.i64(ELEMENTS);
                    e.b.load(split.totals, at)
                }
            };
            let least = e.b.binary(BinOp::Div, elements, split.room);
            let least = e.b.add_const(least, 1);
            Ok(e.b.max(split.longer, least))
        })?;
        if let Some(split) = &mut self.split {
            split.limit = Some(limit);
        }
        Ok(limit)
    }

    /// How many pieces a long row of this size has, and how many elements each of them but the last.
    fn cut(&mut self, size: Val) -> Res<(Val, Val)> {
        let (limit, split) = (self.limit()?, self.split.clone().ok_or("no rows are split")?);
        let (least, one, most) = (self.b.i64(split.least), self.b.i64(1), self.b.i64(MOST_PIECES));
        let least = self.b.max(least, limit);
        let count = self.b.binary(BinOp::Div, size, least);
        let count = self.b.max(count, one);
        let count = self.b.min(count, most);
        let less = self.b.sub(size, one);
        let length = self.b.binary(BinOp::Div, less, count);
        Ok((count, self.b.add(length, one)))
    }

    /// What is kept of a fold of long rows at a place.
    fn folded_before(&mut self, n: Node, at: Val) -> Res<Acc> {
        let bufs = self.split.as_ref().and_then(|s| s.partial.get(&n)).cloned();
        let bufs = bufs.ok_or_else(|| format!("{n} was not folded"))?;
        let mut vals: Vec<Val> = bufs.iter().map(|b| self.b.load(*b, at)).collect();
        let has = vals.pop();
        Ok(Acc { vals, has, before: None })
    }

    /// Traverses a row of which the elements are skipped if it is a long one, and its folds found in memory: whether rows of this dimension may be long.
    pub(super) fn split_row(&mut self, space: Space, items: &[Item], size: Val) -> Res<bool> {
        let Some(split) = self.split.clone().filter(|s| s.dim == space) else { return Ok(false) };
        let folds: Vec<Node> =
            items.iter().filter_map(|i| if let Item::Fold(n) = i { Some(*n) } else { None }).collect();
        if let Some(base) = split.base {
            self.found_row(&folds, base)?;
            return Ok(true);
        }
        let (limit, zero) = (self.limit()?, self.b.i64(0));
        let is_long = self.b.lt(limit, size);
        let size = self.b.select(is_long, zero, size);
        self.dimension(space, items, (zero, size, 1))?;
        if !folds.is_empty() {
            // The threads of a group combine what they have: one of them has all of it.
            let nest = self.nest_of(space, items)?;
            let found = match self.thread_of_group() {
                Some(thread) if matches!(nest, Nest::Level { level: Level::Group, .. }) => {
                    let is_first = self.b.binary(BinOp::Eq, thread, zero);
                    self.b.and(is_long, is_first)
                }
                _ => is_long,
            };
            let before = self.carried(&folds);
            self.b.begin_if(found);
            let row = self.position(split.first)?;
            let base = self.b.load(split.places, row);
            self.found_row(&folds, base)?;
            let after = self.carried(&folds);
            self.b.begin_else(&after);
            let after = self.b.end(&before);
            self.carry(&folds, &after);
        }
        Ok(true)
    }

    /// Adds what a long row has folded.
    fn found_row(&mut self, folds: &[Node], base: Val) -> Res<()> {
        for n in folds {
            let more = self.folded_before(*n, base)?;
            let acc = self.accs.get(n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
            let (_, _, how) = parts_of(self.p, *n)?;
            let next = self.step(how, &acc, &more.vals, more.has)?;
            self.accs.insert(*n, next);
        }
        Ok(())
    }
}
