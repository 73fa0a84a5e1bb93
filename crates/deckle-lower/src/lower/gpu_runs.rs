//! Runs of rows on a GPU: the threads of a warp load the elements of several rows together, and each then goes along a row of its own.
//!
//! Rows differ in length and most are short. If a thread loaded its own row, neighbouring threads would load what lies apart. Here a warp takes a run of successive rows, as many as it has threads, and loads
//! their elements, which lie side by side, into shared memory, some at a time:
//!
//! ```text
//! while base < hi {
//!     the run: rows base, base + 1, … up to one for each thread, or up to the first row that is split
//!     for at = the first element of the run .. the last one step `elements` {
//!         shared memory = what depends on the place of an element only, for the elements from `at` on
//!         each thread: the elements of its row among these, one after another
//!             fold, scan; shared memory = what is stored for an element
//!         store that, neighbours side by side
//!     }
//!     each thread: what its row comes to
//! }
//! ```
//!
//! A row is traversed by one thread from its first element to its last, so that floats are combined as by `serial`. Rows with more elements than the limit are left to all blocks (`split.rs`); one ends a run.
//! The warps of a block do not wait for each other: while one waits for memory, others run.

use super::emit::{Emitter, Res};
use super::gpu::{Gpu, share};
use crate::facts::Facts;
use crate::facts::dense::dense;
use crate::facts::runs::Runs;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{Node, Region, Space};
use deckle_ir::loops::{Buf, Expr, LoopHint, Place, Shuffle, Val, WARP, Wide};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{Grid, Item, Take, Threads};
use std::ops::Range;

/// After so many elements, one is left free in shared memory: otherwise threads whose rows have a length that is a multiple of it would access the same bank.
const BANKS: u32 = 32;
/// The threads that a multiprocessor should have room for: each has several loads under way.
const RESIDENT: u32 = 768;
/// A thread loads up to so many values before it stores one.
const LOADS: u32 = 8;

/// A run that is being computed by a warp.
struct Run<'r> {
    rows: &'r Runs,
    first: Space,
    elements: u32,
    /// The shared memory of each value that passes through it, and where that of the warp begins.
    shared: Vec<(Node, Buf)>,
    begins: Val,
    /// The number of the thread in the warp.
    lane: Val,
    /// The first row.
    base: Val,
    /// The elements of all its rows.
    from: Val,
    to: Val,
}

/// The elements of a row.
#[derive(Clone, Copy)]
struct Row {
    start: Val,
    size: Val,
    end: Val,
}

/// Where a run ends.
struct Stop {
    /// The number of its rows, and that of rows until the next run: a row that is split is passed over.
    rows: Val,
    next: Val,
}

impl<'k> Gpu<'k> {
    /// The rows of which a warp can traverse several together, if that is all there is.
    pub(super) fn runs(&self) -> Option<Runs> {
        let s = &self.s;
        let free = s.folds.is_empty() && s.scans.is_empty() && !s.alone;
        let rows = self.splittable().filter(|_| free && dense(s.p, s.sinks, s.first).len() == 1)?;
        Facts::new(s.p, s.sinks, s.purpose.cuts).runs(s.first, rows, s.purpose.contract)
    }

    /// The bytes of shared memory that an element of a run takes; 0 if there are no runs.
    pub(super) fn run_bytes(&self) -> u32 {
        self.runs().map_or(0, |runs| runs.shared().map(|n| self.s.p.ty(n).bytes() as u32).sum::<u32>().max(1))
    }

    /// A block takes a part, and its warps shares of it, in runs of rows.
    pub(super) fn by_runs(&self, part: &str, threads: Threads, grid: Grid) -> Res<Wide> {
        let Grid { threads: in_block, take: Take::Runs { elements, at_least }, split } = grid else {
            return Err(format!("lower_gpu: `{threads}` has no runs"));
        };
        let rows = self.runs().ok_or("lower_gpu: there are no runs of rows")?;
        let items = self.s.items();
        let (mut opened, _, who) =
            self.open_with(part, self.s.walks_of(part, Some(threads), |c| c.walks(&items, false))?);
        let (e, first, warps) = (&mut opened, self.s.first, in_block / WARP);
        let inside = e.inside_of_point(first, &items)?;
        let len = elements + elements / BANKS + 1;
        let shared = rows.shared().map(|n| (n, e.b.local(self.s.p.ty(n), warps * len, Place::Shared))).collect();
        let width = e.b.i64(i64::from(WARP));
        let [warp, lane] = [BinOp::Div, BinOp::Rem].map(|op| e.b.binary(op, who.thread, width));
        let (bounds, warps) = (self.bounds(e, &who, who.block)?, e.b.i64(i64::from(warps)));
        let (lo, hi) = share(&mut e.b, bounds, warp, warps);
        let begins = e.b.mul_const(warp, i64::from(len));
        let base = e.b.begin_while(&[lo])[0];
        let more = e.b.lt(base, hi);
        e.b.begin_body(more);
        let count = e.b.sub(hi, base);
        let count = e.b.min(count, width);
        let there = e.b.lt(lane, count);
        // Threads without a row look at the first one.
        let own = e.b.add(base, lane);
        let own = e.b.select(there, own, base);
        e.open_point(first, Some(own), &inside);
        let row = row(e, &rows)?;
        let stop = end_of_run(e, row, lane, count)?;
        let (zero, last) = (e.b.i64(0), e.b.add_const(stop.rows, -1));
        let last = e.b.max(last, zero);
        let [from, to] =
            [(row.start, zero), (row.end, last)].map(|(v, of)| e.b.let_(Expr::Shuffle(Shuffle::From, v, of)));
        let any = e.b.lt(zero, stop.rows);
        let to = e.b.select(any, to, from);
        let run = Run { rows: &rows, first, elements, shared, begins, lane, base, from, to };
        let (in_run, is_mine) = (e.b.lt(lane, stop.rows), e.b.lt(lane, stop.next));
        for n in rows.carried() {
            let acc = e.start(n)?;
            e.accs.insert(n, acc);
        }
        let end = e.b.select(in_run, row.end, row.start);
        run.elements(e, Row { end, ..row })?;
        let folds: Vec<Node> = rows.along.iter().filter_map(fold_of).collect();
        if e.split.is_some() {
            let other = e.b.not(in_run);
            let is_long = e.b.and(is_mine, other);
            e.found_if(&folds, is_long, own)?;
        }
        let folded = folds.iter().map(|n| Ok((*n, e.folded(*n)?))).collect::<Res<Vec<_>>>()?;
        e.accs.clear();
        e.close();
        // What a row comes to is checked where there is one.
        e.b.begin_if(is_mine);
        e.open_point(first, Some(own), &inside);
        folded.into_iter().for_each(|(n, parts)| e.set_here(n, parts));
        e.inside(first, &rows.outside)?;
        e.close();
        e.b.end(&[]);
        let next = e.b.add(base, stop.next);
        e.b.end(&[next]);
        let mut function = Gpu::close(opened, in_block)?;
        function.resident = RESIDENT;
        let sizes = self.shared_sizes(part);
        Ok(Wide { function, at_least, groups: i64::from(in_block), split, sizes, inside: Vec::new() })
    }
}

/// The elements of the row that is open.
fn row(e: &mut Emitter<'_>, rows: &Runs) -> Res<Row> {
    let Region::Dim(size) = e.p.space(rows.dim).region else { return Err(format!("{} has no size", rows.dim)) };
    let (start, size, zero) = (e.val(rows.start)?, e.val(size)?, e.b.i64(0));
    let size = e.b.max(size, zero);
    Ok(Row { start, size, end: e.b.add(start, size) })
}

/// Where a run ends, of up to `count` rows: before a row that is split, or that does not begin where the one before it ends. Then offsets are wrong, and a check fails; but what is loaded is of rows that are as
/// they should be.
fn end_of_run(e: &mut Emitter<'_>, row: Row, lane: Val, count: Val) -> Res<Stop> {
    let one = e.b.i64(1);
    let following = e.b.let_(Expr::Shuffle(Shuffle::Down, row.start, one));
    let (differs, after) = (e.b.binary(BinOp::Ne, following, row.end), e.b.add_const(lane, 1));
    let inside = e.b.lt(after, count);
    let is_last = e.b.and(differs, inside);
    let last = first_lane(e, is_last);
    let rows = e.b.add_const(last, 1);
    let rows = e.b.min(rows, count);
    if e.split.is_none() {
        return Ok(Stop { rows, next: rows });
    }
    let limit = e.limit()?;
    let (is_long, there) = (e.b.lt(limit, row.size), e.b.lt(lane, count));
    let is_long = e.b.and(is_long, there);
    let long = first_lane(e, is_long);
    let ends = e.b.lt(long, rows);
    let stop = e.b.min(long, rows);
    let after = e.b.add_const(stop, 1);
    Ok(Stop { rows: stop, next: e.b.select(ends, after, stop) })
}

/// The first lane of a warp for which something holds; if there is none, the number of lanes.
fn first_lane(e: &mut Emitter<'_>, holds: Val) -> Val {
    let all = e.b.let_(Expr::Ballot(holds));
    let first = e.b.let_(Expr::Unary(UnOp::Ctz, all));
    e.b.cast(ScalarType::I64, first)
}

impl Run<'_> {
    fn buf(&self, n: Node) -> Res<Buf> {
        let found = self.shared.iter().find(|(m, _)| *m == n);
        found.map(|(_, buf)| *buf).ok_or_else(|| format!("{n} is not in shared memory"))
    }

    /// Where an element is in shared memory, of which the number is known among those that are there.
    fn slot(&self, e: &mut Emitter<'_>, number: Val) -> Val {
        let number = e.b.cast(ScalarType::I32, number);
        let by = e.b.constant(Scalar::I32(BANKS.ilog2() as i32));
        let free = e.b.binary(BinOp::Shr, number, by);
        let slot = e.b.add(number, free);
        let slot = e.b.cast(ScalarType::I64, slot);
        e.b.add(self.begins, slot)
    }

    /// The elements of a run, some at a time. The folds and scans of the row of each thread are carried.
    fn elements(&self, e: &mut Emitter<'_>, row: Row) -> Res<()> {
        let carried = self.rows.carried();
        let init = e.carried(&carried);
        let (at, params) = e.b.begin_for(self.from, self.to, i64::from(self.elements), &init, LoopHint::Plain);
        e.carry(&carried, &params);
        let upto = e.b.add_const(at, i64::from(self.elements));
        let upto = e.b.min(upto, self.to);
        if !self.rows.loaded.is_empty() {
            self.load(e, (at, upto))?;
            e.b.warp_barrier();
        }
        if !self.rows.along.is_empty() || self.rows.stored.iter().any(|s| s.value.is_some()) {
            self.along_row(e, &carried, (at, upto), row)?;
            e.b.warp_barrier();
        }
        if !self.rows.stored.is_empty() {
            self.store(e, (at, upto))?;
            // The next elements use the same shared memory.
            e.b.warp_barrier();
        }
        let after = e.carried(&carried);
        let after = e.b.end(&after);
        e.carry(&carried, &after);
        Ok(())
    }

    /// Makes code for the element at a place, as if it were one of the first row.
    fn at_place<'k, R>(&self, e: &mut Emitter<'k>, k: Val, body: impl FnOnce(&mut Emitter<'k>) -> Res<R>) -> Res<R> {
        let pos = e.b.sub(k, self.from);
        e.open(self.first, Some(self.base), Vec::new());
        e.set_here(self.rows.start, vec![self.from]);
        e.open(self.rows.dim, Some(pos), Vec::new());
        let result = body(e);
        e.close();
        e.close();
        result
    }

    /// Loads elements into shared memory: the threads take them round-robin, each several before it stores one, so that it waits for all of them at once.
    fn load(&self, e: &mut Emitter<'_>, (at, upto): (Val, Val)) -> Res<()> {
        let (count, all) = (e.b.sub(upto, at), e.b.i64(i64::from(self.elements)));
        let whole = e.b.binary(BinOp::Eq, count, all);
        let whole = if self.elements.is_multiple_of(WARP) { whole } else { e.b.bool(false) };
        let together = (LOADS / self.rows.loaded.len() as u32).clamp(1, LOADS);
        e.b.begin_if(whole);
        for first in (0..self.elements / WARP).step_by(together as usize) {
            let numbers = first..(first + together).min(self.elements / WARP);
            self.load_some(e, at, numbers, None)?;
        }
        e.b.begin_else(&[]);
        let (zero, step) = (e.b.i64(0), i64::from(WARP * together));
        let (from, _) = e.b.begin_for(zero, count, step, &[], LoopHint::Plain);
        let (at, rest) = (e.b.add(at, from), e.b.sub(count, from));
        let skip = self.slot(e, from);
        let shifted = Run { begins: skip, shared: self.shared.clone(), ..*self };
        shifted.load_some(e, at, 0..together, Some(rest))?;
        e.b.end(&[]);
        e.b.end(&[]);
        Ok(())
    }

    /// Loads elements of these numbers, for each thread of the warp; only the first so many, if there are not more.
    fn load_some(&self, e: &mut Emitter<'_>, at: Val, numbers: Range<u32>, rest: Option<Val>) -> Res<()> {
        let last = rest.map(|rest| {
            let (rest, one) = (e.b.cast(ScalarType::I32, rest), e.b.constant(Scalar::I32(1)));
            e.b.sub(rest, one)
        });
        let (lane, mut all) = (e.b.cast(ScalarType::I32, self.lane), Vec::new());
        let begins = e.b.add(self.begins, self.lane);
        for number in numbers {
            let skip = e.b.constant(Scalar::I32((number * WARP) as i32));
            let own = e.b.add(lane, skip);
            // Past the end, the last one again.
            let there = match last {
                Some(last) => e.b.min(own, last),
                None => own,
            };
            let there = e.b.cast(ScalarType::I64, there);
            let k = e.b.add(at, there);
            let vals = self.at_place(e, k, |e| e.all(&self.rows.loaded))?;
            let slot = e.b.add_const(begins, i64::from(number * (WARP + WARP / BANKS)));
            all.push((own, slot, vals));
        }
        for (own, slot, vals) in all {
            if let Some(last) = last {
                let there = e.b.binary(BinOp::Le, own, last);
                e.b.begin_if(there);
            }
            for (n, v) in self.rows.loaded.iter().zip(vals) {
                e.b.store(self.buf(*n)?, slot, v);
            }
            if last.is_some() {
                e.b.end(&[]);
            }
        }
        Ok(())
    }

    /// Stores what is computed for elements: the threads take them round-robin.
    fn store(&self, e: &mut Emitter<'_>, (at, upto): (Val, Val)) -> Res<()> {
        let count = e.b.sub(upto, at);
        let (number, _) = e.b.begin_for(self.lane, count, i64::from(WARP), &[], LoopHint::Plain);
        let (slot, k) = (self.slot(e, number), e.b.add(at, number));
        self.at_place(e, k, |e| {
            for value in self.rows.stored.iter().filter_map(|s| s.value) {
                let v = e.b.load(self.buf(value)?, slot);
                e.set_where_it_is(value, vec![v])?;
            }
            let sinks: Vec<Item> = self.rows.stored.iter().map(|s| Item::Sink(s.sink)).collect();
            e.inside(self.rows.dim, &sinks)
        })?;
        e.b.end(&[]);
        Ok(())
    }

    /// The elements of the row of a thread that are in shared memory.
    fn along_row(&self, e: &mut Emitter<'_>, carried: &[Node], (at, upto): (Val, Val), row: Row) -> Res<()> {
        let (lo, hi) = (e.b.max(row.start, at), e.b.min(row.end, upto));
        let before = e.carried(carried);
        let (lo, hi) = (e.b.sub(lo, at), e.b.sub(hi, at));
        let (number, params) = e.b.begin_for(lo, hi, 1, &before, LoopHint::Plain);
        e.carry(carried, &params);
        let (slot, k) = (self.slot(e, number), e.b.add(at, number));
        let pos = e.b.sub(k, row.start);
        e.open(self.rows.dim, Some(pos), Vec::new());
        for n in &self.rows.loaded {
            let v = e.b.load(self.buf(*n)?, slot);
            e.set_here(*n, vec![v]);
        }
        e.inside(self.rows.dim, &self.rows.along)?;
        for value in self.rows.stored.iter().filter_map(|s| s.value) {
            let v = e.val(value)?;
            e.b.store(self.buf(value)?, slot, v);
        }
        e.close();
        let after = e.carried(carried);
        let after = e.b.end(&after);
        e.carry(carried, &after);
        Ok(())
    }
}

fn fold_of(item: &Item) -> Option<Node> {
    match item {
        Item::Fold(n) => Some(*n),
        _ => None,
    }
}
