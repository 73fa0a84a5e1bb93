//! Rows that are too long for the threads that take a point: all blocks of the grid share them, before the other functions run.
//!
//! As on a CPU ([`super::rows`]), long rows come first, cut into pieces, and what comes after them finds in memory what they folded.
//!
//! ```text
//! lengths   the number of elements of all rows, if there is no buffer of offsets
//! rows      a thread looks at each row; those with more elements than the limit are listed, once for each of their pieces
//! row0      a block takes a piece, and folds it; `row1` does so with what needs other folds of the row
//! row0_sum  a block takes a row, and combines what its pieces have folded, in order; for scans, it computes what comes before each piece
//! row       a block takes a piece, and stores what the row stores; what is scanned it traverses in rounds, as in `scanned.rs`
//! main      skips the elements of long rows, and loads what they folded
//! ```
//!
//! Threads list rows in any order. That changes no result: a piece is folded by one block, and pieces are combined in the order of the row. The limit, and with it the pieces, depend on the data only. All
//! buffers have a size that the host knows without waiting for the device; the limit is raised if the pieces of all rows might not fit.

use super::emit::{Emitter, Res};
use super::folds::Acc;
use super::gpu::{Gpu, Who, share};
use super::meet::join;
use super::scanned::{Accs, Rounds};
use crate::facts::grid::all_commute;
use crate::facts::parts_of;
use crate::facts::ragged::Ragged;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{self, Node, Region, Space};
use deckle_ir::loops::{Access, Axis, Buf, Expr, Function, LoopHint, SplitRows, Val};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::{Item, Level, Nest, Walks, find};
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
pub(super) struct PieceBufs {
    lists: [Buf; 3],
    partial: BTreeMap<Node, Vec<Buf>>,
}

/// Which of the values that are stored for a piece.
#[derive(Clone, Copy, PartialEq)]
enum Stored {
    /// What it folds.
    Own,
    /// What comes before it, for scans.
    Before,
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
    /// The rows whose elements blocks can share: nothing in them has an order, and nothing that is folded or scanned along them needs a scan.
    pub(super) fn splittable(&self) -> Option<Ragged> {
        let rows = self.s.rows.filter(|r| r.divisible)?;
        let items = self.s.of_rows(rows.dim);
        let scans = nodes_of(&items, true);
        let needs_scan = |n: Node| self.s.p.needs(&[n]).iter().any(|m| *m != n && scans.contains(m));
        (!items.iter().any(|(item, _)| node_of(item).is_some_and(needs_scan))).then_some(rows)
    }

    /// The buffers that a function is passed of split rows, after the others.
    pub(super) fn piece_bufs(&self, e: &mut Emitter<'k>) -> Option<PieceBufs> {
        let rows = self.split_over?;
        let lists = [(); 3].map(|()| e.b.buffer(ScalarType::I64, Access::Write));
        let items = self.s.of_rows(rows.dim);
        let stored = items.iter().filter_map(|(item, _)| Some((node_of(item)?, self.stored(item))));
        let passed = |types: Vec<ScalarType>, e: &mut Emitter<'k>| -> Vec<Buf> {
            types.into_iter().map(|ty| e.b.buffer(ty, Access::Write)).collect()
        };
        Some(PieceBufs { lists, partial: stored.map(|(n, types)| (n, passed(types, e))).collect() })
    }

    /// The types of what is stored for each piece: what a fold comes to; what a scan adds, and what comes before the piece.
    fn stored(&self, item: &Item) -> Vec<ScalarType> {
        match item {
            Item::Fold(n) => self.s.types_of(*n),
            Item::Scan(n) => [self.s.types_of(*n), self.s.types_of(*n)].concat(),
            Item::Sink(_) => Vec::new(),
        }
    }

    /// Tells an emitter how rows are split, with two scalars after the others.
    pub(super) fn set_split(&self, e: &mut Emitter<'k>, lists: Option<PieceBufs>) {
        let (Some(rows), Some(PieceBufs { lists: [totals, pieces, places], partial })) = (self.split_over, lists)
        else {
            return;
        };
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
        let Some(rows) = self.split_over else { return Ok(None) };
        let items = self.s.of_rows(rows.dim);
        let partial = items.iter().flat_map(|(item, _)| self.stored(item)).collect();
        let lengths = if rows.offsets.is_some() { None } else { Some(self.elements_of_rows(rows.dim)?) };
        let mut phases = Vec::new();
        let ranks = items.iter().map(|(_, rank)| rank + 1).max().unwrap_or(0);
        for rank in 0..ranks {
            let mine: Vec<(Item, usize)> = items.iter().copied().filter(|(_, r)| *r == rank).collect();
            phases.push(self.fold_pieces(&format!("_row{rank}"), &mine)?);
            phases.push(self.sum_pieces(&format!("_row{rank}_sum"), &mine)?);
        }
        let is_inside = |i: &usize| {
            let at = self.s.p.sink_parts(&self.s.sinks[*i]).0;
            self.s.p.encloses(rows.dim, at)
        };
        let sinks: Vec<Item> = (0..self.s.sinks.len()).filter(is_inside).map(Item::Sink).collect();
        if !sinks.is_empty() {
            phases.push(self.store_pieces("_row", &sinks, nodes_of(&items, true))?);
        }
        let (room, blocks) = (self.s.purpose.cuts.pieces, self.s.purpose.cuts.row_blocks);
        Ok(Some(SplitRows { partial, lengths, list: self.list_rows(rows.dim)?, phases, room, blocks }))
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
        let inside = e.inside_of_point(self.s.first, &[])?;
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
                let count = e.val(count)?;
                let size = e.capped_length(size, count);
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

    /// A function whose blocks take the pieces of long rows, and traverse some items or others there. The row of a piece is open.
    fn by_pieces(
        &self,
        part: &str,
        items: [&[Item]; 2],
        body: impl FnOnce(&mut Emitter<'k>, &Who, &Piece) -> Res<()>,
    ) -> Res<Function> {
        let walks = self.s.walks(part, |c| {
            let [one, other] = items.map(|items| c.walks_at_points(self.s.first, items, false));
            if items[0] == items[1] { one } else { both(&one, &other) }
        })?;
        let (mut e, _, who) = self.open_with(part, walks);
        let inside = e.inside_of_point(self.s.first, &[])?;
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

    /// Folds each piece, also for scans.
    fn fold_pieces(&self, part: &str, mine: &[(Item, usize)]) -> Res<Function> {
        let items: Vec<Item> = mine.iter().map(|(item, _)| *item).collect();
        let folds: Vec<Node> = items.iter().filter_map(node_of).collect();
        self.by_pieces(part, [&items; 2], |e, who, piece| {
            let range = if all_commute(self.s.p, &folds) {
                e.grid.stride = i64::from(self.threads);
                (e.b.add(piece.lo, who.thread), piece.hi)
            } else {
                self.share_of_thread(&mut e.b, who, (piece.lo, piece.hi))
            };
            self.begin_folds(e, &folds)?;
            e.traverse(self.s.first, &items, Some(range))?;
            self.store_folds(e, who, &folds, piece.number)
        })
    }

    /// Combines what the pieces of a row have folded, in place of that of the first. Of scans, computes what comes before each piece.
    fn sum_pieces(&self, part: &str, mine: &[(Item, usize)]) -> Res<Function> {
        let (folds, scans) = (nodes_of(mine, false), nodes_of(mine, true));
        self.by_pieces(part, [&[]; 2], |e, who, piece| {
            let (zero, least) = (e.b.i64(0), e.b.i64(if scans.is_empty() { 2 } else { 1 }));
            let is_first = e.b.binary(BinOp::Eq, piece.in_row, zero);
            let is_worth_it = e.b.binary(BinOp::Ge, piece.count, least);
            let both = e.b.and(is_first, is_worth_it);
            e.b.begin_if(both);
            let end = e.b.add(piece.base, piece.count);
            let (lo, hi) = self.share_of_thread(&mut e.b, who, (piece.base, end));
            for n in &folds {
                let (_, _, how) = parts_of(self.s.p, *n)?;
                let none = self.s.nothing(e, *n)?;
                let sum = e.folded_over((lo, hi), &none, |e, acc, at| {
                    let more = e.stored_of(*n, Stored::Own, at)?;
                    join(e, how, acc, &more.vals, more.has)
                })?;
                e.accs.insert(*n, sum);
            }
            for n in &scans {
                let bufs = e.bufs_of(*n)?;
                let load = |e: &mut Emitter<'k>, at| e.stored_of(*n, Stored::Own, at);
                let store = |e: &mut Emitter<'k>, acc: &Acc, at| self.s.store(e, &bufs, acc, bufs.len() / 2, at);
                self.scan_parts(e, who, *n, (lo, hi), (load, store))?;
            }
            if !folds.is_empty() {
                self.store_folds(e, who, &folds, piece.base)?;
            }
            e.b.end(&[]);
            Ok(())
        })
    }

    /// Stores what the block has folded, of a piece or of the row that begins with it.
    fn store_folds(&self, e: &mut Emitter<'k>, who: &Who, folds: &[Node], piece: Val) -> Res<()> {
        let stored = folds.iter().map(|n| e.bufs_of(*n)).collect::<Res<Vec<_>>>()?;
        self.store_met(e, who, folds, |k| (&stored[k], 0), piece)
    }

    /// Stores what each piece stores.
    fn store_pieces(&self, part: &str, sinks: &[Item], scans: Vec<Node>) -> Res<Function> {
        if scans.is_empty() {
            return self.by_pieces(part, [sinks; 2], |e, who, piece| {
                e.grid.stride = i64::from(self.threads);
                let lo = e.b.add(piece.lo, who.thread);
                e.traverse(self.s.first, sinks, Some((lo, piece.hi)))
            });
        }
        let scanned: Vec<Item> = scans.iter().map(|n| Item::Scan(*n)).collect();
        let (each, first, levels) = (self.s.purpose.cuts.in_round, self.s.first, [scans]);
        self.by_pieces(part, [&scanned, sinks], |e, who, piece| {
            let mut carry = Accs::new();
            for n in &levels[0] {
                carry.insert(*n, e.stored_of(*n, Stored::Before, piece.number)?);
            }
            let rounds = Rounds { levels: &levels, each, from: first, bounds: (piece.lo, piece.hi) };
            self.rounds(e, who, &rounds, carry, |gpu, e, befores, points| {
                for n in &levels[0] {
                    gpu.start_from(e, befores, *n)?;
                }
                e.traverse(first, sinks, Some(points))
            })?;
            Ok(())
        })
    }
}

/// The node that an item folds or scans.
fn node_of(item: &Item) -> Option<Node> {
    match item {
        Item::Fold(n) | Item::Scan(n) => Some(*n),
        Item::Sink(_) => None,
    }
}

/// Those that are scanned, or folded.
fn nodes_of(items: &[(Item, usize)], scanned: bool) -> Vec<Node> {
    let is_wanted = |item: &&(Item, usize)| matches!(item.0, Item::Scan(_)) == scanned;
    items.iter().filter(is_wanted).filter_map(|(item, _)| node_of(item)).collect()
}

/// The walks at the points of two functions that open points of the same dimension.
fn both(one: &Walks, other: &Walks) -> Walks {
    let mut all = one.to_vec();
    for walk in other.iter() {
        let Some(same) = all.iter_mut().find(|w| (w.dim, &w.items) == (walk.dim, &walk.items)) else {
            all.push(walk.clone());
            continue;
        };
        if let (Nest::Level { inside, .. }, Nest::Level { inside: more, .. }) = (&mut same.nest, &walk.nest) {
            let new = more.iter().filter(|w| find(inside, w.dim, &w.items).is_none()).cloned();
            *inside = inside.iter().cloned().chain(new).collect();
        }
    }
    all.into()
}

/// The elements of a block, of so many: successive ones.
fn share_of_block(e: &mut Emitter<'_>, who: &Who, count: Val) -> (Val, Val) {
    let (blocks, zero) = (e.b.let_(Expr::Id(Axis::Blocks)), e.b.i64(0));
    share(&mut e.b, (zero, count), who.block, blocks)
}

impl Emitter<'_> {
    /// The number of elements above which a row is split: as many as the host wants, or more, so that there is room for all pieces.
    pub(super) fn limit(&mut self) -> Res<Val> {
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

    /// The number of pieces of a long row of this size, and the elements of each but the last.
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

    /// The buffers for what is stored of a fold or scan of long rows.
    fn bufs_of(&self, n: Node) -> Res<Vec<Buf>> {
        let bufs = self.split.as_ref().and_then(|s| s.partial.get(&n)).cloned();
        bufs.ok_or_else(|| format!("{n} was not folded"))
    }

    /// What is stored of a fold or scan of long rows at a place.
    fn stored_of(&mut self, n: Node, which: Stored, at: Val) -> Res<Acc> {
        let width = parts_of(self.p, n)?.1.len() + 1;
        let bufs = self.bufs_of(n)?.into_iter().skip(if which == Stored::Own { 0 } else { width });
        let mut vals: Vec<Val> = bufs.take(width).map(|b| self.b.load(b, at)).collect();
        let has = vals.pop();
        Ok(Acc { vals, has, before: None })
    }

    /// Traverses a row. If it is long, skips its elements and loads what its pieces folded. Returns whether rows of this dimension are split.
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
            let row = self.position(split.first)?;
            self.found_if(&folds, found, row)?;
        }
        Ok(true)
    }

    /// Adds what a row has folded, if it is a long one.
    pub(super) fn found_if(&mut self, folds: &[Node], is_long: Val, row: Val) -> Res<()> {
        let split = self.split.clone().ok_or("no rows are split")?;
        let before = self.carried(folds);
        self.b.begin_if(is_long);
        let base = self.b.load(split.places, row);
        self.found_row(folds, base)?;
        let after = self.carried(folds);
        self.b.begin_else(&after);
        let after = self.b.end(&before);
        self.carry(folds, &after);
        Ok(())
    }

    /// Adds what a long row has folded.
    fn found_row(&mut self, folds: &[Node], base: Val) -> Res<()> {
        for n in folds {
            let more = self.stored_of(*n, Stored::Own, base)?;
            let acc = self.accs.get(n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
            let (_, _, how) = parts_of(self.p, *n)?;
            let next = self.step(how, &acc, &more.vals, more.has)?;
            self.accs.insert(*n, next);
        }
        Ok(())
    }
}
