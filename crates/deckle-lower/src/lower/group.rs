//! A group of threads at one point of the outermost dimension: what the emitter does otherwise then.
//!
//! All threads of the group compute what belongs to the point itself, so that it is the same in all of them. Dimensions just inside, of which they take the points round-robin, are a level of the schedule:
//! a fold is combined afterwards, and what is stored once per point is stored by the first thread.
//!
//! A group is a part of a warp, a warp, or a block. Shuffles need all threads of the warp, and barriers all of the block. They are made only where all come: not inside loops that a failure ends, which is a matter
//! of the thread, and not under conditions that differ between the groups of a warp. Groups of a warp for which there is no point left compute the last one again, without storing.

use super::emit::{Emitter, Res, Width};
use super::folds::Acc;
use super::meet::{accumulated, join};
use super::points::Over;
use crate::facts::grid::is_atomic;
use crate::facts::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{self, Combine, Node, Op, Region, Sink, Space};
use deckle_ir::loops::{Buf, Expr, LoopHint, Place, Shuffle, Val, WARP};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::{Item, Level, Nest};

/// How the threads of a grid share work. On a CPU, nothing of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    /// Whether this is for a GPU at all.
    pub on: bool,
    /// How far apart the points of a thread are in the range that it traverses; 0 is 1.
    pub stride: i64,
    /// The group of threads that takes a point together.
    pub group: Option<Group>,
    /// The dimensions whose points are shared together, if there are several.
    pub joined: Vec<Space>,
    /// In a function that computes the keys of points, where they are stored, and the number of the point.
    pub keys: Option<(Buf, Val)>,
}

/// A group of threads that takes each point of a dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    first: Space,
    /// Its threads.
    pub width: u32,
    /// The number of the thread in it.
    pub thread: Val,
    /// The number of the group in its warp, where there are several.
    in_warp: Option<Val>,
    /// Whether the group has a point of its own, where it may have none.
    pub live: Option<Val>,
}

impl Emitter<'_> {
    /// Lets groups of that many threads take the points of a dimension, from `lo` on. The first point of the warp, or of the block.
    pub(super) fn begin_groups(&mut self, (first, width): (Space, u32), lo: Val, thread: Val) -> Val {
        let (threads, warp) = (self.b.i64(i64::from(width)), self.b.i64(i64::from(WARP)));
        let own = self.b.binary(BinOp::Rem, thread, threads);
        let (in_warp, skip) = if width < WARP {
            let lane = self.b.binary(BinOp::Rem, thread, warp);
            let warp = self.b.binary(BinOp::Div, thread, warp);
            (Some(self.b.binary(BinOp::Div, lane, threads)), self.b.mul_const(warp, i64::from(WARP / width)))
        } else {
            (None, self.b.binary(BinOp::Div, thread, threads))
        };
        self.grid.group = Some(Group { first, width, thread: own, in_warp, live: None });
        self.b.add(lo, skip)
    }

    /// The point of this group, where the points from `pos` on are for the groups of a warp.
    pub(super) fn point_of_group(&mut self, dim: Space, pos: Val, hi: Val) -> Val {
        let Some(Group { first, in_warp: Some(number), .. }) = self.grid.group else { return pos };
        if first != dim {
            return pos;
        }
        let own = self.b.add(pos, number);
        let live = self.b.lt(own, hi);
        let last = self.b.add_const(hi, -1);
        if let Some(group) = &mut self.grid.group {
            group.live = Some(live);
        }
        self.b.min(own, last)
    }

    /// The number of this group in its warp, where there are several and each takes a point of that dimension.
    pub(super) fn number_in_warp(&self, dim: Space) -> Option<Val> {
        self.grid.group.filter(|g| g.first == dim)?.in_warp
    }

    /// Whether the group has a point of its own from here on.
    pub(super) fn set_live(&mut self, live: Val) {
        if let Some(group) = &mut self.grid.group {
            group.live = Some(live);
        }
    }

    /// The group whose threads are at one point together.
    pub(super) fn group(&self) -> Option<Group> {
        let group = self.grid.group?;
        let mut inside = false;
        for space in self.around() {
            match self.p.space(space).region {
                Region::Root | Region::Guard(..) => {}
                Region::Dim(_) if space == group.first => inside = true,
                Region::Dim(_) if !inside && self.grid.joined.contains(&space) => {}
                _ => return None,
            }
        }
        inside.then_some(group)
    }

    /// The number of a thread in the group that is at one point together.
    pub(super) fn thread_of_group(&self) -> Option<Val> {
        self.group().map(|group| group.thread)
    }

    /// Traverses the points of a dimension by the threads of the group that is at the point around it, round-robin.
    pub(super) fn by_threads(&mut self, over: Over<'_>, (lo, hi): (Val, Val)) -> Res<()> {
        let group = self.group().ok_or_else(|| format!("no group takes the point around {}", over.space))?;
        let stores = over.items.iter().any(|i| matches!(i, Item::Sink(_)));
        let hi = group.live.filter(|_| stores).map_or(hi, |live| self.b.select(live, hi, lo));
        let (lo, hint) = (self.b.add(lo, group.thread), self.hint(over));
        self.one_by_one(over, (lo, hi, i64::from(group.width)), hint)
    }

    /// A fold whose points the threads of a group take: all of them get the result. `None` for a fold that is computed by a thread.
    pub(super) fn group_fold(&mut self, n: Node) -> Res<Option<Vec<Val>>> {
        let Some(group) = self.group() else { return Ok(None) };
        let here = self.innermost();
        let Op::Fold { over, .. } = self.p.node(n).op else { return Err(format!("{n} is no fold")) };
        let is_dim = |s: &Space| matches!(self.p.space(*s).region, Region::Dim(_));
        let Some(dim) = self.p.between(here, over).into_iter().find(is_dim) else { return Ok(None) };
        if !matches!(self.nest_of(dim, &[Item::Fold(n)])?, Nest::Level { level: Level::Group, .. }) {
            return Ok(None);
        }
        let (_, elems, how) = parts_of(self.p, n)?;
        let types: Vec<ScalarType> = elems.iter().map(|e| self.p.ty(*e)).collect();
        let none = self.nothing(how, &types);
        self.accs.insert(n, none);
        self.traverse(here, &[Item::Fold(n)], None)?;
        let mut acc = self.accs.remove(&n).ok_or_else(|| format!("{n} is not folded"))?;
        let mut apart = group.width.min(WARP) / 2;
        while apart > 0 {
            let by = self.b.i64(i64::from(apart));
            let other = self.shuffled(Shuffle::Xor, &acc, by);
            acc = join(self, how, &acc, &other.vals, other.has)?;
            apart /= 2;
        }
        // The same bits in all threads, so that all take the same way from here on.
        let total = if group.width > WARP {
            self.across_warps(how, acc, group)?
        } else {
            let zero = self.b.i64(0);
            let first = group.in_warp.map_or(zero, |number| self.b.mul_const(number, i64::from(group.width)));
            self.shuffled(Shuffle::From, &acc, first)
        };
        let start = self.start(n)?;
        let acc = self.step(how, &start, &total.vals, total.has)?;
        self.accs.insert(n, acc);
        Ok(Some(self.folded(n)?))
    }

    fn shuffled(&mut self, how: Shuffle, acc: &Acc, by: Val) -> Acc {
        let vals = acc.vals.iter().map(|v| self.b.let_(Expr::Shuffle(how, *v, by))).collect();
        let has = acc.has.map(|v| self.b.let_(Expr::Shuffle(how, v, by)));
        Acc { vals, has, before: None }
    }

    /// What the warps of a block have together, from the first to the last.
    fn across_warps(&mut self, how: &Combine, acc: Acc, group: Group) -> Res<Acc> {
        let (warps, width, zero) = (group.width / WARP, self.b.i64(i64::from(WARP)), self.b.i64(0));
        let yes = self.b.bool(true);
        let all: Vec<Val> = acc.vals.iter().copied().chain([acc.has.unwrap_or(yes)]).collect();
        let bufs: Vec<Buf> = all.iter().map(|v| self.b.local(self.b.ty(*v).scalar, warps, Place::Shared)).collect();
        let warp = self.b.binary(BinOp::Div, group.thread, width);
        let lane = self.b.binary(BinOp::Rem, group.thread, width);
        let first = self.b.binary(BinOp::Eq, lane, zero);
        self.b.begin_if(first);
        bufs.iter().zip(&all).for_each(|(buf, v)| self.b.store(*buf, warp, *v));
        self.b.end(&[]);
        self.b.barrier();
        let (one, end) = (self.b.i64(1), self.b.i64(i64::from(warps)));
        let init: Vec<Val> = bufs.iter().map(|buf| self.b.load(*buf, zero)).collect();
        let (k, params) = self.b.begin_for(one, end, 1, &init, LoopHint::Plain);
        let more = accumulated(bufs.iter().map(|buf| self.b.load(*buf, k)).collect());
        let next = join(self, how, &accumulated(params), &more.vals, more.has)?;
        let next: Vec<Val> = next.vals.into_iter().chain(next.has).collect();
        let total = accumulated(self.b.end(&next));
        // The next point uses the same shared memory.
        self.b.barrier();
        Ok(total)
    }

    /// A sink in the way of a GPU, if that is another: whether it is.
    pub(super) fn grid_sink(&mut self, sink: &Sink) -> Res<bool> {
        let group = self.group();
        match sink {
            Sink::Write { buf, at, value, .. } if group.is_some() => {
                let in_place = self.loads(*buf);
                let (buf, at, value) = (self.buf(*buf)?, self.val(*at)?, self.val(*value)?);
                if in_place {
                    // All threads have loaded what is there before one of them stores.
                    match group {
                        Some(Group { width, .. }) if width > WARP => self.b.barrier(),
                        _ => self.b.warp_barrier(),
                    }
                }
                self.once(group, |e| {
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
                self.once(group, |e| {
                    for ((op, buf), value) in ops.iter().zip(bufs).zip(values) {
                        e.b.atomic(*op, buf, at, value);
                    }
                    Ok(())
                })?;
            }
            // To places of its own, or the value that all others store: what all threads compute is computed before.
            Sink::Scatter { at, values, .. } if group.is_some() => {
                self.val(*at)?;
                self.all(values)?;
                self.once(group, |e| e.sink_of_thread(sink, Width::One))?;
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

    /// By the first thread of a group that has a point.
    fn once(&mut self, group: Option<Group>, body: impl FnOnce(&mut Self) -> Res<()>) -> Res<()> {
        let Some(group) = group else { return body(self) };
        let zero = self.b.i64(0);
        let first = self.b.binary(BinOp::Eq, group.thread, zero);
        let first = group.live.map_or(first, |live| self.b.and(first, live));
        self.b.begin_if(first);
        body(self)?;
        self.b.end(&[]);
        Ok(())
    }
}
