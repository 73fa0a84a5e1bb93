//! A warp at one point of the outermost dimension: what the emitter does otherwise then.
//!
//! All 32 threads compute what belongs to the point itself, so that it is the same in all of them. Dimensions just inside, of which they take the points round-robin, are a level of the schedule:
//! a fold is combined by shuffles afterwards, and what is stored once per point is stored by the first thread.
//!
//! Shuffles need all threads of the warp. They are made only where all come: not inside loops that a failure ends, which is a matter of the thread.

use super::emit::{Emitter, Res, Width};
use super::folds::Acc;
use super::meet::join;
use super::points::Over;
use crate::facts::grid::is_atomic;
use crate::facts::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{self, Combine, Node, Op, Region, Sink, Space};
use deckle_ir::loops::{Expr, Shuffle, Val, WARP};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::{Item, Level, Nest};

/// How the threads of a grid share work. On a CPU, nothing of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Grid {
    /// Whether this is for a GPU at all.
    pub on: bool,
    /// How far apart the points of a thread are in the range that it traverses; 0 is 1.
    pub stride: i64,
    /// The dimension whose points are for a warp, and the number of the thread in it.
    pub lane: Option<(Space, Val)>,
}

impl Emitter<'_> {
    /// The number of the thread in its warp, where the threads of the warp are at one point together.
    pub(super) fn lane(&self) -> Option<Val> {
        let (first, lane) = self.grid.lane?;
        let mut inside = false;
        for space in self.around() {
            match self.p.space(space).region {
                Region::Root | Region::Guard(..) => {}
                Region::Dim(_) if space == first => inside = true,
                _ => return None,
            }
        }
        inside.then_some(lane)
    }

    /// Traverses the points of a dimension by the threads of the warp that is at the point around it, round-robin.
    pub(super) fn by_threads(&mut self, over: Over<'_>, (lo, hi): (Val, Val)) -> Res<()> {
        let lane = self.lane().ok_or_else(|| format!("no warp takes the point around {}", over.space))?;
        let (lo, hint) = (self.b.add(lo, lane), self.hint(over));
        self.one_by_one(over, (lo, hi, i64::from(WARP)), hint)
    }

    /// A fold whose points the threads of a warp take: all of them get the result. `None` for a fold that is computed by a thread.
    pub(super) fn warp_fold(&mut self, n: Node) -> Res<Option<Vec<Val>>> {
        if self.lane().is_none() {
            return Ok(None);
        }
        let here = self.innermost();
        let Op::Fold { over, .. } = self.p.node(n).op else { return Err(format!("{n} is no fold")) };
        let is_dim = |s: &Space| matches!(self.p.space(*s).region, Region::Dim(_));
        let Some(dim) = self.p.between(here, over).into_iter().find(is_dim) else { return Ok(None) };
        if !matches!(self.nest_of(dim, &[Item::Fold(n)])?, Nest::Level { level: Level::Warp, .. }) {
            return Ok(None);
        }
        let (_, elems, how) = parts_of(self.p, n)?;
        let types: Vec<ScalarType> = elems.iter().map(|e| self.p.ty(*e)).collect();
        let none = self.nothing(how, &types);
        self.accs.insert(n, none);
        self.traverse(here, &[Item::Fold(n)], None)?;
        let mut acc = self.accs.remove(&n).ok_or_else(|| format!("{n} is not folded"))?;
        for apart in [16, 8, 4, 2, 1] {
            let other = self.shuffled(Shuffle::Xor, &acc, apart);
            acc = join(self, how, &acc, &other.vals, other.has)?;
        }
        // The same bits in all threads, so that all take the same way from here on.
        let total = self.shuffled(Shuffle::From, &acc, 0);
        let start = self.start(n)?;
        let acc = self.step(how, &start, &total.vals, total.has)?;
        self.accs.insert(n, acc);
        Ok(Some(self.folded(n)?))
    }

    fn shuffled(&mut self, how: Shuffle, acc: &Acc, by: i64) -> Acc {
        let by = self.b.i64(by);
        let vals = acc.vals.iter().map(|v| self.b.let_(Expr::Shuffle(how, *v, by))).collect();
        let has = acc.has.map(|v| self.b.let_(Expr::Shuffle(how, v, by)));
        Acc { vals, has, before: None }
    }

    /// A sink in the way of a GPU, if that is another: whether it is.
    pub(super) fn grid_sink(&mut self, sink: &Sink) -> Res<bool> {
        let lane = self.lane();
        match sink {
            Sink::Write { buf, at, value, .. } if lane.is_some() => {
                let in_place = self.loads(*buf);
                let (buf, at, value) = (self.buf(*buf)?, self.val(*at)?, self.val(*value)?);
                if in_place {
                    // All threads have loaded what is there before one of them stores.
                    self.b.warp_barrier();
                }
                self.once(lane, |e| {
                    e.b.store(buf, at, value);
                    Ok(())
                })?;
            }
            Sink::Scatter { bufs, at, values, combine: Some(Combine::Ops(ops)), .. }
                if self.grid.on && is_atomic(self.p, sink) =>
            {
                let (at, values) = (self.val(*at)?, self.all(values)?);
                let bin = |b: &kernel::Buf| self.bins.get(b).map_or_else(|| self.buf(*b), |bin| Ok(*bin));
                let bufs = bufs.iter().map(bin).collect::<Res<Vec<_>>>()?;
                self.once(lane, |e| {
                    for ((op, buf), value) in ops.iter().zip(bufs).zip(values) {
                        e.b.atomic(*op, buf, at, value);
                    }
                    Ok(())
                })?;
            }
            // To places of its own, or the value that all others store: what all threads compute is computed before.
            Sink::Scatter { at, values, .. } if lane.is_some() => {
                self.val(*at)?;
                self.all(values)?;
                self.once(lane, |e| e.sink_of_thread(sink, Width::One))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a sink needs what is in a buffer.
    fn loads(&self, buf: kernel::Buf) -> bool {
        let is_load = |n: &Node| matches!(self.p.node(*n).op, Op::Load(b, _) if b == buf);
        self.sinks.iter().any(|s| self.p.sink_needs(s).iter().any(is_load))
    }

    /// By the first thread of a warp.
    fn once(&mut self, lane: Option<Val>, body: impl FnOnce(&mut Self) -> Res<()>) -> Res<()> {
        let Some(lane) = lane else { return body(self) };
        let zero = self.b.i64(0);
        let first = self.b.binary(BinOp::Eq, lane, zero);
        self.b.begin_if(first);
        body(self)?;
        self.b.end(&[]);
        Ok(())
    }
}
