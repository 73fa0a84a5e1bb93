//! Runs of rows on a GPU: the threads of a block load the elements of several rows together, and each then goes along a row of its own.
//!
//! Rows differ in length and most are short. If a thread loaded its own row, neighbouring threads would load what lies apart. Here a block takes a run of successive rows, as many as it has threads, and loads
//! their elements, which lie side by side, into shared memory, some at a time:
//!
//! ```text
//! while base < hi {
//!     the run: rows base, base + 1, … up to one for each thread, or up to the first row that is split
//!     for at = the first element of the run .. the last one step `elements` {
//!         shared memory = what depends on the place of an element only, for the elements from `at` on;  barrier
//!         each thread: the elements of its row among these, one after another
//!             fold, scan; shared memory = what is stored for an element;  barrier
//!         store that, neighbours side by side
//!     }
//!     each thread: what its row comes to
//! }
//! ```
//!
//! A row is traversed by one thread from its first element to its last, so that floats are combined as by `serial`. Rows with more elements than the limit are left to all blocks (`split.rs`); one ends a run.

use super::emit::{Emitter, Res};
use super::gpu::{Gpu, Who};
use crate::facts::Facts;
use crate::facts::dense::dense;
use crate::facts::runs::Runs;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Region, Space};
use deckle_ir::loops::{Buf, Function, LoopHint, Place, Val};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::Item;

/// After so many elements, one is left free in shared memory: otherwise threads whose rows have a length that is a multiple of it would access the same bank.
const BANKS: u32 = 32;
/// A thread loads up to so many elements before it stores one.
const LOADS: i64 = 8;

/// A run that is being computed by a block.
struct Run<'r> {
    rows: &'r Runs,
    elements: u32,
    /// The shared memory of each value that passes through it.
    shared: Vec<(Node, Buf)>,
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
    /// The row after it, and the one before that.
    row: Val,
    before: Val,
    /// The row at which the next run begins: a row that is split is passed over.
    next: Val,
}

impl<'k> Gpu<'k> {
    /// The rows of which a block can traverse several together, if that is all there is.
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

    /// A block takes a part, in runs of rows.
    pub(super) fn by_runs(&self, elements: u32) -> Res<Function> {
        let rows = self.runs().ok_or("lower_gpu: there are no runs of rows")?;
        let items = self.s.items();
        let (mut opened, _, who) = self.open("", &items)?;
        let (e, first) = (&mut opened, self.s.first);
        let inside = e.inside_of_point(first, &items)?;
        let len = elements + elements / BANKS + 1;
        let shared = rows.shared().map(|n| (n, e.b.local(self.s.p.ty(n), len, Place::Shared))).collect();
        let ends = e.b.local(ScalarType::I64, 1, Place::Shared);
        let (lo, hi) = self.bounds(e, &who, who.block)?;
        let base = e.b.begin_while(&[lo])[0];
        let more = e.b.lt(base, hi);
        e.b.begin_body(more);
        let end = e.b.add_const(base, i64::from(self.threads));
        let end = e.b.min(end, hi);
        let own = e.b.add(base, who.thread);
        let there = e.b.lt(own, end);
        // Threads without a row look at the first one.
        let own = e.b.select(there, own, base);
        e.open_point(first, Some(own), &inside);
        let row = self.row(e, &rows)?;
        let stop = self.end_of_run(e, &who, &rows, (ends, own, row), end)?;
        let (last, from) = (self.row_at(e, &rows, stop.before)?, self.start_at(e, &rows, base)?);
        let any = e.b.lt(base, stop.row);
        let to = e.b.select(any, last.end, from);
        let run = Run { rows: &rows, elements, shared, base, from, to };
        let (in_run, before_next) = (e.b.lt(own, stop.row), e.b.lt(own, stop.next));
        let (in_run, is_mine) = (e.b.and(there, in_run), e.b.and(there, before_next));
        for n in rows.carried() {
            let acc = e.start(n)?;
            e.accs.insert(n, acc);
        }
        let end = e.b.select(in_run, row.end, row.start);
        self.elements_of(e, &who, &run, Row { end, ..row })?;
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
        // The next run uses the same shared memory.
        e.b.barrier();
        e.b.end(&[stop.next]);
        Gpu::close(opened, self.threads)
    }

    /// The elements of the row that is open.
    fn row(&self, e: &mut Emitter<'k>, rows: &Runs) -> Res<Row> {
        let Region::Dim(size) = self.s.p.space(rows.dim).region else {
            return Err(format!("lower_gpu: {} has no size", rows.dim));
        };
        let (start, size, zero) = (e.val(rows.start)?, e.val(size)?, e.b.i64(0));
        let size = e.b.max(size, zero);
        Ok(Row { start, size, end: e.b.add(start, size) })
    }

    fn start_at(&self, e: &mut Emitter<'k>, rows: &Runs, number: Val) -> Res<Val> {
        e.open(self.s.first, Some(number), Vec::new());
        let start = e.val(rows.start);
        e.close();
        start
    }

    fn row_at(&self, e: &mut Emitter<'k>, rows: &Runs, number: Val) -> Res<Row> {
        e.open(self.s.first, Some(number), Vec::new());
        let row = self.row(e, rows);
        e.close();
        row
    }

    /// Where a run ends: before a row that is split, or that does not begin where the one before it ends. Then offsets are wrong, and a check fails; but what is loaded is of rows that are as they should be.
    fn end_of_run(
        &self,
        e: &mut Emitter<'k>,
        who: &Who,
        rows: &Runs,
        (ends, own, row): (Buf, Val, Row),
        end: Val,
    ) -> Res<Stop> {
        let (zero, last) = (e.b.i64(0), e.b.add_const(end, -1));
        let is_first = e.b.binary(BinOp::Eq, who.thread, zero);
        e.b.begin_if(is_first);
        e.b.store(ends, zero, end);
        e.b.end(&[]);
        e.b.barrier();
        let after = e.b.add_const(own, 1);
        let following = e.b.min(after, last);
        let following = self.start_at(e, rows, following)?;
        let (differs, inside) = (e.b.binary(BinOp::Ne, following, row.end), e.b.lt(after, end));
        let (mut is_end, mut number) = (e.b.and(differs, inside), after);
        let limit = if e.split.is_some() { Some(e.limit()?) } else { None };
        if let Some(limit) = limit {
            let is_long = e.b.lt(limit, row.size);
            number = e.b.select(is_long, own, after);
            is_end = e.b.binary(BinOp::Or, is_long, is_end);
        }
        e.b.begin_if(is_end);
        e.b.atomic(BinOp::Min, ends, zero, number);
        e.b.end(&[]);
        e.b.barrier();
        let stop = e.b.load(ends, zero);
        let before = e.b.add_const(stop, -1);
        let before = e.b.max(before, zero);
        let Some(limit) = limit else { return Ok(Stop { row: stop, before, next: stop }) };
        let last = e.b.min(stop, last);
        let size = self.row_at(e, rows, last)?.size;
        let (is_long, inside) = (e.b.lt(limit, size), e.b.lt(stop, end));
        let is_long = e.b.and(is_long, inside);
        let after = e.b.add_const(stop, 1);
        Ok(Stop { row: stop, before, next: e.b.select(is_long, after, stop) })
    }

    /// The elements of a run, some at a time. The folds and scans of the row of each thread are carried.
    fn elements_of(&self, e: &mut Emitter<'k>, who: &Who, run: &Run<'_>, row: Row) -> Res<()> {
        let carried = run.rows.carried();
        let init = e.carried(&carried);
        let (at, params) = e.b.begin_for(run.from, run.to, i64::from(run.elements), &init, LoopHint::Plain);
        e.carry(&carried, &params);
        let upto = e.b.add_const(at, i64::from(run.elements));
        let upto = e.b.min(upto, run.to);
        if !run.rows.loaded.is_empty() {
            self.load(e, who, run, (at, upto))?;
            e.b.barrier();
        }
        if !run.rows.along.is_empty() || run.rows.stored.iter().any(|s| s.value.is_some()) {
            run.along_row(e, &carried, (at, upto), row)?;
            e.b.barrier();
        }
        if !run.rows.stored.is_empty() {
            self.store_elements(e, who, run, (at, upto))?;
        }
        let after = e.carried(&carried);
        let after = e.b.end(&after);
        e.carry(&carried, &after);
        Ok(())
    }

    /// Loads elements into shared memory: the threads take them round-robin, each several before it stores one, so that it waits for all of them at once.
    fn load(&self, e: &mut Emitter<'k>, who: &Who, run: &Run<'_>, (at, upto): (Val, Val)) -> Res<()> {
        let threads = i64::from(self.threads);
        let (mine, last) = (e.b.add(at, who.thread), e.b.add_const(upto, -1));
        let each = i64::from(run.elements).div_euclid(threads).clamp(1, LOADS);
        let (from, _) = e.b.begin_for(mine, upto, threads * each, &[], LoopHint::Plain);
        let mut all = Vec::new();
        for number in 0..each {
            let k = e.b.add_const(from, number * threads);
            // Past the end, the last one again.
            let there = e.b.min(k, last);
            let vals = run.at_place(e, self.s.first, there, |e| e.all(&run.rows.loaded))?;
            all.push((k, vals));
        }
        for (k, vals) in all {
            let there = e.b.lt(k, upto);
            e.b.begin_if(there);
            let slot = slot(e, at, k);
            for (n, v) in run.rows.loaded.iter().zip(vals) {
                e.b.store(run.buf(*n)?, slot, v);
            }
            e.b.end(&[]);
        }
        e.b.end(&[]);
        Ok(())
    }

    /// Stores what is computed for elements: the threads take them round-robin.
    fn store_elements(&self, e: &mut Emitter<'k>, who: &Who, run: &Run<'_>, (at, upto): (Val, Val)) -> Res<()> {
        let mine = e.b.add(at, who.thread);
        let (k, _) = e.b.begin_for(mine, upto, i64::from(self.threads), &[], LoopHint::Plain);
        let slot = slot(e, at, k);
        run.at_place(e, self.s.first, k, |e| {
            for stored in &run.rows.stored {
                if let Some(value) = stored.value {
                    let v = e.b.load(run.buf(value)?, slot);
                    e.set_here(value, vec![v]);
                }
            }
            let sinks: Vec<Item> = run.rows.stored.iter().map(|s| Item::Sink(s.sink)).collect();
            e.inside(run.rows.dim, &sinks)
        })?;
        e.b.end(&[]);
        Ok(())
    }
}

impl Run<'_> {
    fn buf(&self, n: Node) -> Res<Buf> {
        let found = self.shared.iter().find(|(m, _)| *m == n);
        found.map(|(_, buf)| *buf).ok_or_else(|| format!("{n} is not in shared memory"))
    }

    /// Makes code for the element at a place, as if it were one of the first row.
    fn at_place<'k, R>(
        &self,
        e: &mut Emitter<'k>,
        first: Space,
        k: Val,
        body: impl FnOnce(&mut Emitter<'k>) -> Res<R>,
    ) -> Res<R> {
        let pos = e.b.sub(k, self.from);
        e.open(first, Some(self.base), Vec::new());
        e.set_here(self.rows.start, vec![self.from]);
        e.open(self.rows.dim, Some(pos), Vec::new());
        let result = body(e);
        e.close();
        e.close();
        result
    }

    /// The elements of the row of a thread that are in shared memory.
    fn along_row(&self, e: &mut Emitter<'_>, carried: &[Node], (at, upto): (Val, Val), row: Row) -> Res<()> {
        let (lo, hi) = (e.b.max(row.start, at), e.b.min(row.end, upto));
        let before = e.carried(carried);
        let (k, params) = e.b.begin_for(lo, hi, 1, &before, LoopHint::Plain);
        e.carry(carried, &params);
        let (slot, pos) = (slot(e, at, k), e.b.sub(k, row.start));
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

/// Where an element is in shared memory.
fn slot(e: &mut Emitter<'_>, at: Val, k: Val) -> Val {
    let number = e.b.sub(k, at);
    let by = e.b.i64(i64::from(BANKS.ilog2()));
    let free = e.b.binary(BinOp::Shr, number, by);
    e.b.add(number, free)
}

fn fold_of(item: &Item) -> Option<Node> {
    match item {
        Item::Fold(n) => Some(*n),
        _ => None,
    }
}
