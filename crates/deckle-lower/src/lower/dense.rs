//! Dense dimensions whose points the threads of a grid share together: the level `joined` on a GPU.
//!
//! The points of all these dimensions are numbered, those of the innermost one fastest, and a thread takes some of the numbers. It divides once, for the positions of its first point and of its step; from
//! point to point it adds these, digit by digit with carries:
//!
//! ```text
//! (i, j) = (first / m, first % m);  (di, dj) = (step / m, step % m)
//! for p = first .. end step step carry (i, j) {
//!     the point (i, j), which is element p of a matrix with m columns
//!     j = j + dj;  over = j >= m;  (i, j) = over ? (i + di + 1, j - m) : (i + di, j)
//! }
//! ```

use super::Lowering;
use super::emit::{Emitter, Res};
use super::gpu::{Gpu, Who};
use super::points::Over;
use crate::choose::Chooser;
use crate::facts::dense::{dense, host_size, is_flat_position, is_one, sizes};
use crate::facts::grid::{can_share_points, stays_together};
use crate::facts::{Facts, carried_by};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Region, Space};
use deckle_ir::loops::{Expr, LoopHint, Val, WARP};
use deckle_ir::scalar::Scalar;
use deckle_ir::schedule::{Level, Nest, Take, Walk, Walks, find};
use std::collections::BTreeSet;

/// A dimension that is shared with others, and what is traversed at its points.
type Joined = (Space, Walks);

/// The dimensions that a level joins, from that of its walk on, and how the last one is traversed.
pub(super) fn joined_from(
    level: Level,
    over: Over<'_>,
    below: impl Fn(Space) -> Res<Space>,
) -> Res<(Vec<Joined>, LoopHint)> {
    let (mut dims, mut level) = (vec![(over.space, over.inside.clone())], level);
    while level == Level::Joined {
        let (last, inside) = &dims[dims.len() - 1];
        let next = below(*last)?;
        let walk = find(inside, next, over.items).ok_or_else(|| format!("the schedule has no walk over {next}"))?;
        let Nest::Level { level: next_level, inside, .. } = &walk.nest else {
            return Err(format!("the points of {next} are shared in one way"));
        };
        level = *next_level;
        let inside = inside.clone();
        dims.push((next, inside));
    }
    Ok((dims, if level == Level::Independent { LoopHint::Independent } else { LoopHint::Plain }))
}

/// The dimensions that walks from the root on join, if they do.
pub(super) fn joined_dims(walks: &[Walk]) -> Vec<Space> {
    fn of<'w>(mut nest: &'w Nest, walk: &Walk) -> Option<&'w Walk> {
        while let Nest::When(_, then, _) = nest {
            nest = then;
        }
        match nest {
            Nest::Level { level: Level::Joined, inside, .. } => inside.iter().find(|i| i.items == walk.items),
            _ => None,
        }
    }
    let mut dims = Vec::new();
    let mut walk = walks.iter().find(|w| of(&w.nest, w).is_some());
    while let Some(w) = walk {
        dims.push(w.dim);
        walk = of(&w.nest, w);
    }
    dims
}

impl Emitter<'_> {
    /// Traverses every `step`-th of the numbers from `lo` below `hi`, each the number of a point of one dimension or several. `edges` is how points are traversed that are not in the interior of all of
    /// them, if that is another way.
    pub(super) fn in_joined(
        &mut self,
        level: Level,
        over: Over<'_>,
        (lo, hi, step): (Val, Val, i64),
        edges: Option<(Level, &Walks)>,
    ) -> Res<()> {
        let Some(item) = over.items.first() else { return Err(format!("nothing is traversed over {}", over.space)) };
        let end = self.facts.space_of(*item);
        let below = |dim: Space| self.facts.below(dim, end);
        let (dims, hint) = joined_from(level, over, below)?;
        let edges = match edges {
            Some((level, inside)) => Some(joined_from(level, Over { inside, ..over }, below)?.0),
            None => None,
        };
        let spaces: Vec<Space> = dims.iter().map(|(dim, _)| *dim).collect();
        let last = spaces[spaces.len() - 1];
        let counts = self.all(&sizes(self.p, &spaces))?;
        let interior = if edges.is_some() { self.interiors(&spaces, &counts, over)? } else { Vec::new() };
        let number = self.number_in_warp(last);
        let first = number.map_or(lo, |number| self.b.add(lo, number));
        // Where only the number of a point is used, it is not divided into positions.
        let numbered = edges.is_none() && is_one(self.p, self.facts.sinks, &spaces);
        let digits = |e: &mut Self, number: Val| if numbered { Vec::new() } else { e.positions(number, &counts) };
        let start = digits(self, first);
        let step_by = self.b.i64(step);
        let step_by = digits(self, step_by);
        let carried = carried_by(over.items);
        let before = self.carried(&carried);
        let (pos, params) = self.b.begin_for(lo, hi, step, &[before.clone(), start].concat(), hint);
        let (accs, digits) = params.split_at(before.len());
        self.carry(&carried, accs);
        let zero = self.b.i64(0);
        let (mut own, mut at) = (pos, if numbered { vec![zero; spaces.len()] } else { digits.to_vec() });
        if let Some(number) = number {
            // Of the groups of a warp, those without a point compute the first one again.
            own = self.b.add(pos, number);
            let live = self.b.lt(own, hi);
            self.set_live(live);
            own = self.b.select(live, own, zero);
            at = at.into_iter().map(|d| self.b.select(live, d, zero)).collect();
        }
        if let Some(edges) = edges {
            let mut within = self.b.bool(true);
            for (k, (first, end)) in interior {
                let (a, b) = (self.b.binary(BinOp::Ge, at[k], first), self.b.lt(at[k], end));
                let both = self.b.and(a, b);
                within = self.b.and(within, both);
            }
            if number.is_some() {
                // The groups of a warp take the same way: their threads exchange values there.
                let outside = self.b.not(within);
                let outside = self.b.let_(Expr::Ballot(outside));
                let none = self.constant(Scalar::U32(0));
                within = self.b.binary(BinOp::Eq, outside, none);
            }
            self.b.begin_if(within);
            let count = self.facts.assume_interiors(&spaces, over.items);
            self.at_joined(&dims, &at, own, over)?;
            (0..count).for_each(|_| self.facts.forget_last());
            let after = self.carried(&carried);
            self.b.begin_else(&after);
            self.carry(&carried, accs);
            self.at_joined(&edges, &at, own, over)?;
            let after = self.carried(&carried);
            let after = self.b.end(&after);
            self.carry(&carried, &after);
        } else {
            self.at_joined(&dims, &at, own, over)?;
        }
        let next = self.next_positions(digits, &step_by, &counts);
        let after = [self.carried(&carried), next].concat();
        let after = self.b.end(&after);
        self.carry(&carried, &after);
        Ok(())
    }

    /// What is computed at a point of dimensions, of which the number is known, too.
    fn at_joined(&mut self, dims: &[Joined], at: &[Val], number: Val, over: Over<'_>) -> Res<()> {
        for ((dim, inside), at) in dims.iter().zip(at) {
            self.open_point(*dim, Some(*at), inside);
        }
        let spaces: Vec<Space> = dims.iter().map(|(dim, _)| *dim).collect();
        let last = spaces[spaces.len() - 1];
        let nodes = (0..self.p.nodes.len()).map(|n| Node(n as u32));
        let flat = nodes.filter(|n| self.p.space_of(*n) == last && is_flat_position(self.p, &spaces, *n));
        flat.collect::<Vec<_>>().into_iter().for_each(|n| self.set_here(n, vec![number]));
        self.inside(last, over.items)?;
        dims.iter().for_each(|_| self.close());
        Ok(())
    }

    /// The interiors of those dimensions that have one: the number of the dimension, and its first position in it and the one after the last.
    fn interiors(&mut self, dims: &[Space], counts: &[Val], over: Over<'_>) -> Res<Vec<(usize, (Val, Val))>> {
        let (mut ranges, zero) = (Vec::new(), self.b.i64(0));
        for (k, dim) in dims.iter().enumerate() {
            if let Some(interior) = self.facts.interior_among(dims, *dim, over.items) {
                ranges.push((k, self.interior_range(&interior, (zero, counts[k]))?));
                self.facts.assume(interior);
            }
        }
        ranges.iter().for_each(|_| self.facts.forget_last());
        Ok(ranges)
    }

    /// Traverses points whose threads are those of a grid, those of the interior apart.
    pub(super) fn around_edges_on_grid(
        &mut self,
        over: Over<'_>,
        range: (Val, Val, i64),
        (then, other): (&Nest, &Nest),
    ) -> Res<()> {
        let (Nest::Level { level, inside, .. }, Nest::Level { level: at_edges, inside: edges, .. }) = (then, other)
        else {
            return Err(format!("the points of {} are traversed in two ways", over.space));
        };
        let over = Over { inside, ..over };
        if *level != Level::Group {
            return self.in_joined(*level, over, range, Some((*at_edges, edges)));
        }
        let interior = self.facts.interior(over.space, over.items);
        let interior = interior.ok_or_else(|| format!("{} has no interior", over.space))?;
        let (lo, hi, _) = range;
        let (first, end) = self.interior_range(&interior, (lo, hi))?;
        self.facts.assume(interior);
        self.by_threads(over, (first, end))?;
        self.facts.forget_last();
        // The points before and after it in one loop.
        let (group, hint) = (self.group().ok_or("no group takes the point")?, LoopHint::Plain);
        let (before, after) = (self.b.sub(first, lo), self.b.sub(hi, end));
        let all = self.b.add(before, after);
        let zero = self.b.i64(0);
        let all = group.live.map_or(all, |live| self.b.select(live, all, zero));
        let (k, _) = self.b.begin_for(group.thread, all, i64::from(group.width), &[], hint);
        let (low, is_low) = (self.b.add(lo, k), self.b.lt(k, before));
        let high = self.b.sub(k, before);
        let high = self.b.add(end, high);
        let pos = self.b.select(is_low, low, high);
        self.open_point(over.space, Some(pos), edges);
        self.inside(over.space, over.items)?;
        self.close();
        self.b.end(&[]);
        Ok(())
    }

    /// The position in each dimension of the point with a number.
    fn positions(&mut self, number: Val, counts: &[Val]) -> Vec<Val> {
        let (mut rest, mut at) = (number, Vec::new());
        for count in counts[1..].iter().rev() {
            at.push(self.b.binary(BinOp::Rem, rest, *count));
            rest = self.b.binary(BinOp::Div, rest, *count);
        }
        at.push(rest);
        at.reverse();
        at
    }

    /// The positions of the point that a step further has.
    fn next_positions(&mut self, at: &[Val], step: &[Val], counts: &[Val]) -> Vec<Val> {
        let (mut next, mut over) = (Vec::new(), None);
        for k in (0..at.len()).rev() {
            let mut sum = self.b.add(at[k], step[k]);
            if let Some(over) = over {
                let more = self.b.add_const(sum, 1);
                sum = self.b.select(over, more, sum);
            }
            if k > 0 {
                let is_over = self.b.binary(BinOp::Ge, sum, counts[k]);
                let less = self.b.sub(sum, counts[k]);
                sum = self.b.select(is_over, less, sum);
                over = Some(is_over);
            }
            next.push(sum);
        }
        next.reverse();
        next
    }
}

impl Lowering<'_> {
    /// The dimensions whose points a grid can share together, from the first one on.
    fn dense(&self) -> Vec<Space> {
        let whole = self.grid && self.scans.is_empty() && !self.alone;
        if whole { dense(self.p, self.sinks, self.first) } else { vec![self.first] }
    }

    /// The dimension of which groups of threads take points where they do: the last of those that can be shared, below which there is something for all threads of a group.
    pub(super) fn taken_by_groups(&self) -> Space {
        let (dense, facts) = (self.dense(), Facts::new(self.p, self.sinks, self.purpose.cuts));
        let needed = self.sinks.iter().flat_map(|s| self.p.sink_needs(s)).map(|n| self.p.space_of(n));
        let spaces: BTreeSet<Space> = self.sinks.iter().map(|s| self.p.sink_parts(s).0).chain(needed).collect();
        let is_long = |s: &Space| matches!(self.p.space(*s).region, Region::Dim(_)) && !facts.written_out(*s);
        let has_long = |dim: Space| {
            let inside = spaces.iter().filter(|s| **s != dim && self.p.encloses(dim, **s));
            inside.flat_map(|s| self.p.between(dim, *s)).any(|s| is_long(&s))
        };
        let shared = |dim: &Space| can_share_points(self.p, self.sinks, *dim, &self.folds);
        let (mut all, long) = (dense.iter().copied().filter(shared), |dim: &Space| has_long(*dim));
        all.clone().rfind(long).or_else(|| all.next_back()).unwrap_or(self.first)
    }

    /// The sizes that the host knows of dimensions inside another one, for each chain of them.
    pub(super) fn sizes_inside(&self, dim: Space) -> Vec<Vec<Node>> {
        let needed: BTreeSet<Node> = self.sinks.iter().flat_map(|s| self.p.sink_needs(s)).collect();
        let below = needed.iter().map(|n| self.p.space_of(*n)).filter(|s| self.p.encloses(dim, *s));
        let chains: BTreeSet<Vec<Space>> = below.map(|s| self.p.between(dim, s)).collect();
        let known = |chain: &Vec<Space>| chain.iter().filter_map(|s| host_size(self.p, *s)).collect::<Vec<Node>>();
        chains.iter().map(known).filter(|sizes| !sizes.is_empty()).collect()
    }

    /// Whether groups of threads may take points of a dimension, and whether that may be better than a thread for each point.
    pub(super) fn shares_points(&self, taken: Space) -> bool {
        can_share_points(self.p, self.sinks, taken, &self.folds) && !is_one(self.p, self.sinks, &self.dense())
    }

    /// Lets the walks of a function join dimensions: as it is given, or as many as can be.
    pub(super) fn join(&self, chooser: &mut Chooser<'_>, part: &str, take: Take) -> Res<()> {
        let (dense, name) = (self.dense(), format!("{}{part}", self.name));
        let groups = matches!(take, Take::Groups { .. });
        let last = if groups { self.taken_by_groups() } else { dense[dense.len() - 1] };
        let chosen = dense.iter().position(|dim| *dim == last).unwrap_or(0);
        let given = self.given_function(&name).map(|f| joined_dims(&f.walks).len().saturating_sub(1));
        let joined = given.map_or(chosen, |n| n.min(dense.len() - 1));
        chooser.joined = dense[..=joined].to_vec();
        chooser.at_edges = matches!(take, Take::Tiles { .. } | Take::Runs { .. });
        if let Take::Groups { width, .. } = take {
            let taken = dense[joined];
            let shared = can_share_points(self.p, self.sinks, taken, &self.folds);
            if !shared || width < WARP && !stays_together(self.p, self.sinks, taken) {
                return self
                    .refuse(&name, "a group has nothing to share at the points of the dimensions that are joined");
            }
            chooser.grouped = Some(taken);
        }
        Ok(())
    }
}

impl<'k> Gpu<'k> {
    /// The bounds of a part, where a function shares the points of several dimensions.
    pub(super) fn joined_bounds(&self, e: &mut Emitter<'k>, who: &Who, part: Val) -> Res<(Val, Val)> {
        let counts = e.all(&sizes(self.s.p, &e.grid.joined.clone()))?;
        let one = e.b.i64(1);
        let all = counts.into_iter().fold(one, |all, n| e.b.mul(all, n));
        let lo = e.b.mul(part, who.points);
        let end = e.b.add(lo, who.points);
        Ok((lo, e.b.min(end, all)))
    }

    /// The sizes of the dimensions whose points the function of that name part shares.
    pub(super) fn shared_sizes(&self, part: &str) -> Vec<Node> {
        let name = format!("{}{part}", self.s.name);
        let chosen = self.s.chosen.borrow();
        let dims = chosen.iter().rfind(|f| f.name == name).map_or(Vec::new(), |f| joined_dims(&f.walks));
        sizes(self.s.p, if dims.is_empty() { std::slice::from_ref(&self.s.first) } else { &dims })
    }
}
