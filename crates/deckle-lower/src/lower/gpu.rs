//! Scheduling for GPUs: from kernels to functions of the loop IR that run on a grid of threads.
//!
//! The outermost dimension is cut into parts; see [`GridLaunch`]. What happens to a part depends on the kernel:
//! - *maps, folds of the root and atomic scatters*: the threads of a block take the points of a part in turn, so that neighbours touch neighbouring memory. What they
//!   fold is combined by shuffles within a warp, through shared memory within the block, and from block to block by a second function. Operators that do
//!   not commute get successive points on each thread, and are only ever combined with what comes next;
//! - *scans*: a thread takes a part. First all parts are folded, one thread then turns that into what comes before each part, and with it
//!   the parts run again;
//! - *scatters* into shared elements whose operator has no atomic instruction, and kernels whose outermost space is no dimension: one
//!   thread does all of it in order. That is right and slow.
//!
//! Further in, a thread goes through the points of its point in order. Where that is a lot, there is another function of the same effect in which a warp takes each point
//! of the outermost dimension and its threads take turns further in; see `warp.rs`.

use super::emit::{Emitter, Res, Width};
use super::folds::Acc;
use super::warp::commutes;
use super::{Lowering, Purpose, Range, groups, verified};
use crate::cuts::Cuts;
use crate::facts::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Kernel, Node, Op, Program, ROOT, Region, Sink, Space};
use deckle_ir::loops::{Axis, Buf, Expr, Function, Gathers, GridLaunch, LoopHint, Parts, Phase, Place, Shuffle, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::Item;
use std::collections::BTreeSet;

/// The functions of a kernel for a GPU, with so many threads in a block (a multiple of 32): one launch or more for each outermost dimension, to be run in order.
///
/// # Errors
/// A bug: a kernel that is not well formed.
pub fn lower_gpu(
    program: &Program,
    kernel: &Kernel,
    name: &str,
    threads: u32,
    cuts: Cuts,
) -> Result<Vec<GridLaunch>, String> {
    let mut launches = Vec::new();
    let purpose = Purpose { gathers: Gathers::Native, diagnose: false, compare: false, cuts };
    for (i, (first, sinks)) in groups(program, kernel).into_iter().enumerate() {
        let (ordered, free): (Vec<Sink>, Vec<Sink>) = sinks.into_iter().partition(|s| is_ordered(program, s));
        for (sinks, mark) in [(free, ""), (ordered, "_ordered")] {
            if !sinks.is_empty() {
                let s = Lowering::new(program, &sinks, first, &format!("{name}_{i}{mark}"), purpose);
                let s = Lowering { grid: true, ..s };
                let alone = s.alone || !mark.is_empty();
                let launch = Gpu { s, threads: threads.max(32), alone }.launch()?;
                launches.push(launch);
            }
        }
    }
    Ok(launches)
}

/// A scatter into elements that points share, with an operator that no instruction has.
fn is_ordered(p: &Program, sink: &Sink) -> bool {
    matches!(sink, Sink::Scatter { within: ROOT, .. }) && !is_atomic(p, sink)
}

/// A scatter that atomic instructions can do: their order does not matter.
pub(super) fn is_atomic(p: &Program, sink: &Sink) -> bool {
    use BinOp::*;
    let Sink::Scatter { values, combine: Some(Combine::Ops(ops)), .. } = sink else { return false };
    let wide = |v: &Node| p.ty(*v).is_int() && p.ty(*v).bytes() >= 4;
    ops.iter().all(|op| matches!(op, Add | Min | Max | And | Or | Xor)) && values.iter().all(wide)
}

struct Gpu<'k> {
    s: Lowering<'k>,
    threads: u32,
    /// Whether one thread has to do it.
    alone: bool,
}

/// The scalars of every function, and who runs it.
struct Who {
    /// The points of a part, and how many parts there are.
    points: Val,
    parts: Val,
    block: Val,
    thread: Val,
}

impl<'k> Gpu<'k> {
    fn launch(self) -> Res<GridLaunch> {
        let p = self.s.p;
        let size = match p.space(self.s.first).region {
            Region::Dim(size) if p.space_of(size) == ROOT && !self.alone => Some(size),
            _ => None,
        };
        let at_root = self.s.sinks.iter().any(|s| p.sink_parts(s).0 == ROOT);
        let phase = |function: Function, alone: bool| Phase { function, alone };
        let mut phases = Vec::new();
        let mut wide = None;
        let mut parts = Parts::Block;
        if size.is_none() {
            phases.push(phase(self.single()?, true));
        } else if self.s.scans.is_empty() {
            phases.push(phase(self.tiles()?, false));
            wide = if self.can_be_wide() { Some(self.wide()?) } else { None };
        } else {
            parts = Parts::Thread;
            let levels = self.s.levels();
            for level in 0..levels.len() {
                phases.push(phase(self.totals(&levels, level)?, false));
                phases.push(phase(self.prefix(&levels[level], level)?, true));
            }
            phases.push(phase(self.chains()?, false));
        }
        if size.is_some() && at_root {
            phases.push(phase(self.finish()?, true));
        }
        let buffers = self.s.buffers.iter().map(|(b, _)| *b).collect();
        Ok(GridLaunch { buffers, scratch: self.s.scratch_types(), size, parts, phases, wide })
    }

    fn open(&self, part: &str, items: &[Item]) -> Res<(Emitter<'k>, Vec<Buf>, Who)> {
        let name = format!("{}{part}", self.s.name);
        let walks = self.s.walks(part, |c| c.walks(items, false))?;
        let mut e = Emitter::new(self.s.p, self.s.sinks, &name, &self.s.buffers, self.s.purpose, walks);
        e.grid.on = true;
        let types = self.s.scratch_types();
        let scratch = types.into_iter().map(|ty| e.b.buffer(ty, deckle_ir::loops::Access::Write)).collect();
        let (points, parts) = (e.b.scalar(ScalarType::I64), e.b.scalar(ScalarType::I64));
        let (block, thread) = (e.b.let_(Expr::Id(Axis::Block)), e.b.let_(Expr::Id(Axis::Thread)));
        Ok((e, scratch, Who { points, parts, block, thread }))
    }

    fn close(e: Emitter<'_>, threads: u32) -> Res<Function> {
        let mut function = e.b.finish().map_err(|faults| faults.join("; "))?;
        function.block = threads;
        verified(function)
    }

    /// A function whose body one thread runs.
    fn one(
        &self,
        part: &str,
        items: &[Item],
        body: impl FnOnce(&mut Emitter<'k>, &[Buf], &Who) -> Res<()>,
    ) -> Res<Function> {
        let (mut e, scratch, who) = self.open(part, items)?;
        begin_first(&mut e, who.thread);
        body(&mut e, &scratch, &who)?;
        e.b.end(&[]);
        Gpu::close(e, 32)
    }

    /// A function whose body a thread runs for each part.
    fn each(
        &self,
        part: &str,
        items: &[Item],
        body: impl FnOnce(&mut Emitter<'k>, &[Buf], &Who, Val) -> Res<()>,
    ) -> Res<Function> {
        let (mut e, scratch, who) = self.open(part, items)?;
        let base = e.b.mul_const(who.block, i64::from(self.threads));
        let mine = e.b.add(base, who.thread);
        let there = e.b.lt(mine, who.parts);
        e.b.begin_if(there);
        e.root_here();
        body(&mut e, &scratch, &who, mine)?;
        e.b.end(&[]);
        Gpu::close(e, self.threads)
    }

    /// The bounds of a part.
    fn bounds(&self, e: &mut Emitter<'k>, who: &Who, part: Val) -> Res<(Val, Val)> {
        let range = Range { first: part, last: part, block: who.points, blocks: who.parts, piece: who.points };
        self.s.bounds(e, &range, part)
    }

    /// All of it, in order.
    fn single(&self) -> Res<Function> {
        self.one("", &self.s.items(), |e, _, _| {
            e.traverse(ROOT, &self.s.items(), None)?;
            self.root_sinks(e)
        })
    }

    fn root_sinks(&self, e: &mut Emitter<'k>) -> Res<()> {
        let sinks = self.s.sinks;
        sinks.iter().filter(|s| self.s.p.sink_parts(s).0 == ROOT).try_for_each(|sink| e.sink(sink, Width::One))
    }

    fn begin_folds(&self, e: &mut Emitter<'k>, nodes: &[Node]) -> Res<()> {
        for n in nodes {
            let acc = self.s.nothing(e, *n)?;
            e.accs.insert(*n, acc);
        }
        Ok(())
    }

    /// A block takes a part.
    fn tiles(&self) -> Res<Function> {
        let (mut e, scratch, who) = self.open("", &self.s.items())?;
        let (lo, hi) = self.bounds(&mut e, &who, who.block)?;
        let threads = i64::from(self.threads);
        let in_turn = self.s.folds.iter().all(|n| parts_of(self.s.p, *n).is_ok_and(|(_, _, how)| commutes(how)));
        let range = if in_turn {
            e.grid.stride = threads;
            (e.b.add(lo, who.thread), hi)
        } else {
            let more = e.b.add_const(who.points, threads - 1);
            let threads = e.b.i64(threads);
            let share = e.b.binary(BinOp::Div, more, threads);
            let skip = e.b.mul(share, who.thread);
            let from = e.b.add(lo, skip);
            let to = e.b.add(from, share);
            (from, e.b.min(to, hi))
        };
        self.begin_folds(&mut e, &self.s.folds)?;
        e.traverse(ROOT, &self.s.items(), Some(range))?;
        if self.s.folds.is_empty() {
            return Gpu::close(e, self.threads);
        }
        let shared = self.meet(&mut e, &who)?;
        begin_first(&mut e, who.thread);
        for (n, shared) in self.s.folds.iter().zip(&shared) {
            let total = self.total(&mut e, *n, shared)?;
            self.s.store(&mut e, &scratch, &total, self.s.place(*n).0, who.block);
        }
        e.b.end(&[]);
        Gpu::close(e, self.threads)
    }

    /// What the warps of a block have folded, in shared memory for each fold: the values, and whether there is one.
    fn meet(&self, e: &mut Emitter<'k>, who: &Who) -> Res<Vec<Vec<Buf>>> {
        let warps = self.threads / 32;
        let width = e.b.i64(32);
        let warp = e.b.binary(BinOp::Div, who.thread, width);
        let lane = e.b.binary(BinOp::Rem, who.thread, width);
        let mut shared = Vec::new();
        for n in &self.s.folds {
            let mut acc = e.accs.remove(n).ok_or("a fold was lost")?;
            let (_, _, how) = parts_of(self.s.p, *n)?;
            for apart in [1, 2, 4, 8, 16] {
                let by = e.b.i64(apart);
                let next = |e: &mut Emitter<'k>, v: Val| e.b.let_(Expr::Shuffle(Shuffle::Down, v, by));
                let vals: Vec<Val> = acc.vals.iter().map(|v| next(e, *v)).collect();
                let has = acc.has.map(|v| next(e, v));
                // The last lanes have no such neighbour.
                let limit = e.b.i64(32 - apart);
                let inside = e.b.lt(lane, limit);
                let has = has.map(|has| e.b.and(has, inside));
                acc = join(e, how, &acc, &vals, has)?;
            }
            let yes = e.constant(Scalar::Bool(true));
            let all: Vec<Val> = acc.vals.iter().copied().chain([acc.has.unwrap_or(yes)]).collect();
            let bufs: Vec<Buf> = all.iter().map(|v| e.b.local(e.b.ty(*v).scalar, warps, Place::Shared)).collect();
            let zero = e.b.i64(0);
            let first = e.b.binary(BinOp::Eq, lane, zero);
            e.b.begin_if(first);
            bufs.iter().zip(&all).for_each(|(buf, v)| e.b.store(*buf, warp, *v));
            e.b.end(&[]);
            shared.push(bufs);
        }
        e.b.barrier();
        Ok(shared)
    }

    /// What the block has folded, of what its warps have.
    fn total(&self, e: &mut Emitter<'k>, n: Node, shared: &[Buf]) -> Res<Acc> {
        let (_, _, how) = parts_of(self.s.p, n)?;
        let read = |e: &mut Emitter<'k>, at: Val| -> Vec<Val> { shared.iter().map(|b| e.b.load(*b, at)).collect() };
        let (zero, one) = (e.b.i64(0), e.b.i64(1));
        let init = read(e, zero);
        let warps = e.b.i64(i64::from(self.threads / 32));
        let (warp, params) = e.b.begin_for(one, warps, 1, &init, LoopHint::Plain);
        let before = accumulated(params);
        let more = accumulated(read(e, warp));
        let next = join(e, how, &before, &more.vals, more.has)?;
        let next: Vec<Val> = next.vals.into_iter().chain(next.has).collect();
        Ok(accumulated(e.b.end(&next)))
    }

    /// A thread takes a part, and knows what comes before.
    fn chains(&self) -> Res<Function> {
        self.each("", &self.s.items(), |e, scratch, who, mine| {
            for n in &self.s.scans {
                let before = self.s.load(e, scratch, *n, self.s.place(*n).1, mine);
                let mut acc = self.s.nothing(e, *n)?;
                acc.before = Some(Box::new(before));
                e.accs.insert(*n, acc);
            }
            self.begin_folds(e, &self.s.folds)?;
            let bounds = self.bounds(e, who, mine)?;
            e.traverse(ROOT, &self.s.items(), Some(bounds))?;
            for n in &self.s.folds {
                let acc = e.accs.remove(n).ok_or("a fold was lost")?;
                self.s.store(e, scratch, &acc, self.s.place(*n).0, mine);
            }
            Ok(())
        })
    }

    /// What each part adds to the scans of a level.
    fn totals(&self, levels: &[Vec<Node>], level: usize) -> Res<Function> {
        let items: Vec<Item> = levels[level].iter().map(|n| Item::Scan(*n)).collect();
        self.each(&format!("_totals{level}"), &items, |e, scratch, who, mine| {
            self.s.begin_level(e, scratch, (levels, level), mine)?;
            let bounds = self.bounds(e, who, mine)?;
            self.s.end_level(e, scratch, &levels[level], bounds, mine)?;
            e.accs.clear();
            Ok(())
        })
    }

    /// What comes before each part: of the first what the scan starts from.
    fn prefix(&self, scans: &[Node], level: usize) -> Res<Function> {
        self.one(&format!("_prefix{level}"), &[], |e, scratch, who| {
            let (zero, yes) = (e.b.i64(0), e.constant(Scalar::Bool(true)));
            for n in scans {
                let (adds, before) = self.s.place(*n);
                let start = e.start(*n)?;
                let init: Vec<Val> = start.vals.iter().copied().chain([start.has.unwrap_or(yes)]).collect();
                self.s.store(e, scratch, &accumulated(init.clone()), before, zero);
                let (part, params) = e.b.begin_for(zero, who.parts, 1, &init, LoopHint::Plain);
                let add = self.s.load(e, scratch, *n, adds, part);
                let (_, _, how) = parts_of(self.s.p, *n)?;
                let next = e.step(how, &accumulated(params), &add.vals, add.has)?;
                let at = e.b.add_const(part, 1);
                self.s.store(e, scratch, &next, before, at);
                let next: Vec<Val> = next.vals.into_iter().chain(next.has).collect();
                e.b.end(&next);
            }
            Ok(())
        })
    }

    /// The folds of all parts combined, and what the root makes of them.
    fn finish(&self) -> Res<Function> {
        if self.s.folds.is_empty() {
            return self.one("_finish", &[], |e, _, _| self.root_sinks(e));
        }
        let (mut e, scratch, who) = self.open("_finish", &[])?;
        let threads = e.b.i64(i64::from(self.threads));
        let lo = e.b.mul(who.parts, who.thread);
        let lo = e.b.binary(BinOp::Div, lo, threads);
        let next = e.b.add_const(who.thread, 1);
        let hi = e.b.mul(who.parts, next);
        let hi = e.b.binary(BinOp::Div, hi, threads);
        for n in &self.s.folds {
            let (_, _, how) = parts_of(self.s.p, *n)?;
            let none = self.s.nothing(&mut e, *n)?;
            let init: Vec<Val> = none.vals.iter().chain(&none.has).copied().collect();
            let (part, params) = e.b.begin_for(lo, hi, 1, &init, LoopHint::Plain);
            let more = self.s.load(&mut e, &scratch, *n, self.s.place(*n).0, part);
            let next = join(&mut e, how, &accumulated(params), &more.vals, more.has)?;
            let next: Vec<Val> = next.vals.into_iter().chain(next.has).collect();
            let after = e.b.end(&next);
            e.accs.insert(*n, accumulated(after));
        }
        let shared = self.meet(&mut e, &who)?;
        begin_first(&mut e, who.thread);
        for (n, shared) in self.s.folds.iter().zip(&shared) {
            let (_, _, how) = parts_of(self.s.p, *n)?;
            let total = self.total(&mut e, *n, shared)?;
            let start = e.start(*n)?;
            let acc = e.step(how, &start, &total.vals, total.has)?;
            e.accs.insert(*n, acc);
            let parts = e.folded(*n)?;
            e.set(*n, parts);
        }
        self.root_sinks(&mut e)?;
        e.b.end(&[]);
        Gpu::close(e, self.threads)
    }

    /// Whether a warp can take a point: there are dimensions inside, nothing in them has an order, and nothing outside is folded.
    fn can_be_wide(&self) -> bool {
        let p = self.s.p;
        let mut needed: BTreeSet<Node> = BTreeSet::new();
        self.s.sinks.iter().for_each(|s| needed.extend(p.sink_needs(s)));
        let deeper = |s: Space| {
            let inner = p.encloses(self.s.first, s) && s != self.s.first;
            inner && p.between(self.s.first, s).iter().any(|s| matches!(p.space(*s).region, Region::Dim(_)))
        };
        let free = |n: &Node| match &p.node(*n).op {
            Op::Scan { .. } => false,
            Op::Fold { combine, .. } => deeper(p.space_of(*n)) || commutes(combine),
            _ => true,
        };
        let sinks = self.s.sinks.iter();
        self.s.folds.is_empty()
            && sinks
                .clone()
                .all(|s| p.sink_parts(s).0 != ROOT && (!matches!(s, Sink::Scatter { .. }) || is_atomic(p, s)))
            && needed.iter().all(free)
            && (sinks.map(|s| p.sink_parts(s).0).chain(needed.iter().map(|n| p.space_of(*n))).any(deeper))
    }

    /// A block takes a part, a warp each point, its threads the points inside.
    fn wide(&self) -> Res<Function> {
        let (mut e, _, who) = self.open("_wide", &self.s.items())?;
        let (lo, hi) = self.bounds(&mut e, &who, who.block)?;
        let width = e.b.i64(32);
        let warp = e.b.binary(BinOp::Div, who.thread, width);
        let lane = e.b.binary(BinOp::Rem, who.thread, width);
        let from = e.b.add(lo, warp);
        e.grid.stride = i64::from(self.threads / 32);
        e.grid.lane = Some((self.s.first, lane));
        e.traverse(ROOT, &self.s.items(), Some((from, hi)))?;
        Gpu::close(e, self.threads)
    }
}

/// Opens a block that the first thread runs, and lets it have what is computed for the root.
fn begin_first(e: &mut Emitter<'_>, thread: Val) {
    let zero = e.b.i64(0);
    let first = e.b.binary(BinOp::Eq, thread, zero);
    e.b.begin_if(first);
    e.root_here();
}

/// Values of which the last tells whether there are any.
fn accumulated(mut vals: Vec<Val>) -> Acc {
    let has = vals.pop();
    Acc { vals, has, before: None }
}

/// What comes next added to what has been folded; either may be nothing.
pub(super) fn join(e: &mut Emitter<'_>, how: &Combine, acc: &Acc, vals: &[Val], has: Option<Val>) -> Res<Acc> {
    match (how, acc.has, has) {
        // Nothing is what changes nothing.
        (Combine::Ops(_), Some(before), Some(there)) => {
            let vals = e.combine(how, &acc.vals, vals, Width::One)?;
            Ok(Acc { vals, has: Some(e.b.or(before, there)), before: None })
        }
        _ => e.step(how, acc, vals, has),
    }
}
