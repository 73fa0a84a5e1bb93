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

use super::emit::{Emitter, Res};
use super::gpu::{Gpu, Who};
use super::Lowering;
use super::points::Over;
use crate::choose::Chooser;
use crate::facts::grid::{can_share_points, stays_together};
use crate::facts::nest::{dense, is_flat_position, is_one, sizes};
use crate::facts::{Facts, carried_by};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Region, Space};
use deckle_ir::loops::{LoopHint, Val, WARP};
use deckle_ir::schedule::{Level, Nest, Take, Walk, Walks, find};
use std::collections::BTreeSet;

/// A dimension that is shared with others, and what is traversed at its points.
type Joined = (Space, Walks);

/// The dimensions that a walk joins, from its own on, and how the last one is traversed.
pub(super) fn joined(over: Over<'_>, below: impl Fn(Space) -> Res<Space>) -> Res<(Vec<Joined>, LoopHint)> {
    let mut dims = vec![(over.space, over.inside.clone())];
    loop {
        let (last, inside) = &dims[dims.len() - 1];
        let next = below(*last)?;
        let walk = find(inside, next, over.items).ok_or_else(|| format!("the schedule has no walk over {next}"))?;
        let Nest::Level { level, inside, .. } = &walk.nest else {
            return Err(format!("the points of {next} are shared in one way"));
        };
        let (level, inside) = (*level, inside.clone());
        dims.push((next, inside));
        match level {
            Level::Joined => {}
            Level::Independent => return Ok((dims, LoopHint::Independent)),
            _ => return Ok((dims, LoopHint::Plain)),
        }
    }
}

/// The dimensions that walks from the root on join, if they do.
pub(super) fn joined_dims(walks: &[Walk]) -> Vec<Space> {
    let mut dims = Vec::new();
    let is_joined = |nest: &Nest| matches!(nest, Nest::Level { level: Level::Joined, .. });
    let mut walk = walks.iter().find(|w| is_joined(&w.nest));
    while let Some(w) = walk {
        dims.push(w.dim);
        walk = match &w.nest {
            Nest::Level { level: Level::Joined, inside, .. } => inside.iter().find(|i| i.items == w.items),
            _ => None,
        };
    }
    dims
}

impl Emitter<'_> {
    /// Traverses every `step`-th of the numbers from `lo` below `hi`, each the number of a point of several dimensions.
    pub(super) fn in_joined(&mut self, over: Over<'_>, (lo, hi, step): (Val, Val, i64)) -> Res<()> {
        let Some(item) = over.items.first() else { return Err(format!("nothing is traversed over {}", over.space)) };
        let end = self.facts.space_of(*item);
        let (dims, hint) = joined(over, |dim| self.facts.below(dim, end))?;
        let spaces: Vec<Space> = dims.iter().map(|(dim, _)| *dim).collect();
        let counts = self.all(&sizes(self.p, &spaces))?;
        let number = self.number_in_warp(spaces[spaces.len() - 1]);
        let first = number.map_or(lo, |number| self.b.add(lo, number));
        let start = self.positions(first, &counts);
        let step_by = self.b.i64(step);
        let step_by = self.positions(step_by, &counts);
        let carried = carried_by(over.items);
        let before = self.carried(&carried);
        let (pos, params) = self.b.begin_for(lo, hi, step, &[before.clone(), start].concat(), hint);
        let (accs, digits) = params.split_at(before.len());
        self.carry(&carried, accs);
        let (mut own, mut at) = (pos, digits.to_vec());
        if let Some(number) = number {
            // Of the groups of a warp, those without a point compute the first one again.
            own = self.b.add(pos, number);
            let live = self.b.lt(own, hi);
            self.set_live(live);
            let zero = self.b.i64(0);
            own = self.b.select(live, own, zero);
            at = at.into_iter().map(|d| self.b.select(live, d, zero)).collect();
        }
        for ((dim, inside), at) in dims.iter().zip(at) {
            self.open_point(*dim, Some(at), inside);
        }
        let last = spaces[spaces.len() - 1];
        let nodes = (0..self.p.nodes.len()).map(|n| Node(n as u32));
        let flat = nodes.filter(|n| self.p.space_of(*n) == last && is_flat_position(self.p, &spaces, *n));
        flat.collect::<Vec<_>>().into_iter().for_each(|n| self.set_here(n, vec![own]));
        self.inside(last, over.items)?;
        dims.iter().for_each(|_| self.close());
        let next = self.next_positions(digits, &step_by, &counts);
        let after = [self.carried(&carried), next].concat();
        let after = self.b.end(&after);
        self.carry(&carried, &after);
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
        chooser.joined = dense[..joined].to_vec();
        if let Take::Groups { width, .. } = take {
            let taken = dense[joined];
            let shared = can_share_points(self.p, self.sinks, taken, &self.folds);
            if !shared || width < WARP && !stays_together(self.p, self.sinks, taken) {
                return self.refuse(&name, "a group has nothing to share at the points of the dimensions that are joined");
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

