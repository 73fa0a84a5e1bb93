//! Facts about a kernel that both choosing a schedule and following it need.
//!
//! Which nodes depend on the position in which dimension, which indices ascend with it, which nodes differ between the lanes of a vector, in which order items need each other, and which
//! conditions are constant away from the edges of a dimension ([`edges`]). Answers are cached.

pub(crate) mod dense;
pub(crate) mod edges;
pub(crate) mod grid;
pub(crate) mod lines;
pub(crate) mod product;
pub(crate) mod ragged;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod tiles;

use crate::cuts::Cuts;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{Combine, Node, Op, Program, ROOT, Region, Sink, Space};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{Item, Level};
use edges::{Fact, Interior};
use std::collections::{BTreeSet, HashMap};

/// Continues on a new stack segment if little of this one is left.
pub(crate) fn with_stack<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 << 10, 1 << 20, f)
}

/// The rounds of a loop inside lanes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rounds {
    /// Each lane has as many as it needs.
    Own,
    /// All lanes have the same; which of the variables are the same, too.
    Same(Vec<bool>),
}

/// Facts about the kernel of some sinks.
pub(crate) struct Facts<'k> {
    pub p: &'k Program,
    pub sinks: &'k [Sink],
    pub cuts: Cuts,
    /// The dimensions, from outside in, for whose interior code is being generated.
    interiors: Vec<Interior>,
    /// The dimension whose points are the lanes of vectors, if there are vectors.
    lane: Option<Space>,
    /// Which nodes differ from lane to lane, as far as computed.
    varying: HashMap<Node, bool>,
    /// Which loops have the same rounds in all lanes, as far as computed.
    rounds: HashMap<Space, Rounds>,
    /// Which nodes depend on the position in which dimension, as far as computed.
    mentioned: HashMap<(Node, Space), bool>,
    needs: HashMap<Node, BTreeSet<Node>>,
}

impl<'k> Facts<'k> {
    pub(crate) fn new(p: &'k Program, sinks: &'k [Sink], cuts: Cuts) -> Facts<'k> {
        let (varying, mentioned, needs) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (interiors, rounds) = (Vec::new(), HashMap::new());
        Facts { p, sinks, cuts, interiors, lane: None, varying, rounds, mentioned, needs }
    }

    /// Makes the points of a dimension the lanes from now on, or none; returns the previous dimension.
    pub(crate) fn set_lane(&mut self, lane: Option<Space>) -> Option<Space> {
        self.forget_lanes();
        std::mem::replace(&mut self.lane, lane)
    }

    /// Runs `ask` while the points of a dimension are lanes.
    pub(crate) fn in_lanes_of<R>(&mut self, dim: Space, ask: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.set_lane(Some(dim));
        let answer = ask(self);
        self.set_lane(before);
        answer
    }

    /// All nodes that an item needs.
    pub(crate) fn needs_of(&mut self, item: Item) -> BTreeSet<Node> {
        match item {
            Item::Fold(n) | Item::Scan(n) => self.needs.entry(n).or_insert_with(|| self.p.needs(&[n])).clone(),
            Item::Sink(i) => self.p.sink_needs(&self.sinks[i]),
        }
    }

    /// The space at whose points an item takes its values.
    pub(crate) fn space_of(&self, item: Item) -> Space {
        match item {
            Item::Fold(n) => match self.p.node(n).op {
                Op::Fold { over, .. } => over,
                _ => self.p.space_of(n),
            },
            Item::Scan(n) => self.p.space_of(n),
            Item::Sink(i) => self.p.sink_parts(&self.sinks[i]).0,
        }
    }

    /// The space just below `from` on the path to `to`.
    pub(crate) fn below(&self, from: Space, to: Space) -> Result<Space, String> {
        self.p.between(from, to).first().copied().ok_or_else(|| format!("{to} is not below {from}"))
    }

    /// The scans that items need and that begin at `from`.
    pub(crate) fn with_scans(&mut self, from: Space, items: &[Item]) -> Vec<Item> {
        let mut all = items.to_vec();
        for item in items {
            for n in self.needs_of(*item) {
                if let Op::Scan { from: f, .. } = self.p.node(n).op
                    && f == from
                    && !all.contains(&Item::Scan(n))
                {
                    let inside = self.p.encloses(self.p.space_of(n), self.space_of(*item));
                    if inside || self.p.encloses(self.space_of(*item), self.p.space_of(n)) {
                        all.push(Item::Scan(n));
                    }
                }
            }
        }
        all
    }

    /// The number of points of a dimension, if known statically.
    pub(crate) fn points_of(&self, dim: Space) -> Option<i64> {
        match self.p.space(dim).region {
            Region::Dim(size) => self.p.as_int(size),
            _ => None,
        }
    }

    /// Whether a dimension never has more than one point: the rest of a row that a chunk has cut, for example.
    pub(crate) fn is_single(&self, dim: Space) -> bool {
        match self.p.space(dim).region {
            Region::Dim(size) => self.is_at_most(size, 1),
            _ => false,
        }
    }

    fn is_at_most(&self, n: Node, most: i64) -> bool {
        match self.p.node(n).op {
            Op::Binary(BinOp::Min, a, b) => self.is_at_most(a, most) || self.is_at_most(b, most),
            Op::Binary(BinOp::Max, a, b) | Op::Select(_, a, b) => self.is_at_most(a, most) && self.is_at_most(b, most),
            // If it fails, there is no point.
            Op::Check { value, .. } => self.is_at_most(value, most),
            _ => self.p.as_int(n).is_some_and(|n| n <= most),
        }
    }

    /// Whether a node depends on the position in a dimension.
    pub(crate) fn mentions(&mut self, n: Node, dim: Space) -> bool {
        if !self.p.encloses(dim, self.p.space_of(n)) {
            return false;
        }
        if let Some(known) = self.mentioned.get(&(n, dim)) {
            return *known;
        }
        let found = match &self.p.node(n).op {
            Op::Pos => self.p.space_of(n) == dim,
            _ => {
                let on = self.on_of(n);
                with_stack(|| on.into_iter().any(|m| self.mentions(m, dim)))
            }
        };
        self.mentioned.insert((n, dim), found);
        found
    }

    /// The nodes on which the value of a node depends.
    pub(crate) fn on_of(&self, n: Node) -> Vec<Node> {
        let mut on = self.p.operands(n);
        // Conditions and the number of rounds; the spaces of other nodes do not affect their values.
        if matches!(self.p.node(n).op, Op::Fold { .. } | Op::Scan { .. } | Op::If { .. } | Op::Loop { .. }) {
            on.extend(self.p.sizes_of(n));
        }
        on
    }

    /// Whether the number of points of a dimension is known statically and so small that its loop is unrolled.
    pub(crate) fn written_out(&self, space: Space) -> bool {
        self.points_of(space).is_some_and(|n| n <= self.cuts.unrolled)
    }

    /// The level of a scalar loop over a dimension: in any order if only sums are carried and nothing is combined into memory.
    pub(crate) fn serial_level(&mut self, space: Space, items: &[Item]) -> Level {
        let simple = items.iter().all(|i| match i {
            Item::Fold(n) => matches!(parts_of(self.p, *n), Ok((_, _, Combine::Ops(_)))),
            Item::Scan(_) => false,
            Item::Sink(i) => !matches!(self.sinks[*i], Sink::Scatter { .. }),
        });
        let innermost = items.iter().all(|i| self.space_of(*i) == space) && !self.has_loops(space, items);
        match simple && innermost {
            _ if self.written_out(space) => Level::Unrolled,
            true => Level::Independent,
            false => Level::Serial,
        }
    }

    /// The nodes that items need inside a dimension.
    pub(crate) fn needed_inside(&mut self, space: Space, items: &[Item]) -> Vec<Node> {
        let needs: BTreeSet<Node> = items.iter().flat_map(|i| self.needs_of(*i)).collect();
        needs.into_iter().filter(|n| self.p.encloses(space, self.p.space_of(*n))).collect()
    }

    /// Assumes the facts of the interior of a dimension, until [`Facts::forget_last`].
    pub(crate) fn assume(&mut self, interior: Interior) {
        self.interiors.push(interior);
        self.forget_lanes();
    }

    /// Drops the last assumption.
    pub(crate) fn forget_last(&mut self) {
        self.interiors.pop();
        self.forget_lanes();
    }

    /// Assumes the interiors of dimensions that have one, from outside in; how many there are. Each is dropped by [`Facts::forget_last`].
    pub(crate) fn assume_interiors(&mut self, dims: &[Space], items: &[Item]) -> usize {
        let mut count = 0;
        for dim in dims {
            if let Some(interior) = self.interior_among(dims, *dim, items) {
                self.assume(interior);
                count += 1;
            }
        }
        count
    }

    /// Removes and returns the assumptions about all dimensions except those around the place where code is generated next. [`Facts::assume_too`] restores them.
    pub(crate) fn forget_but(&mut self, around: impl Fn(Space) -> bool) -> Vec<Interior> {
        let kept = self.interiors.iter().take_while(|i| around(i.dim)).count();
        if kept < self.interiors.len() {
            self.forget_lanes();
        }
        self.interiors.split_off(kept)
    }

    /// Restores removed assumptions.
    pub(crate) fn assume_too(&mut self, taken: Vec<Interior>) {
        if !taken.is_empty() {
            self.forget_lanes();
        }
        self.interiors.extend(taken);
    }

    /// The assumed fact about a node.
    fn assumed(&self, n: Node) -> Option<Fact> {
        self.interiors.iter().rev().find_map(|i| i.facts.get(&n).copied())
    }

    /// Whether there are loops at the points of a space.
    pub(crate) fn has_loops(&mut self, space: Space, items: &[Item]) -> bool {
        let needs: BTreeSet<Node> = items.iter().flat_map(|i| self.needs_of(*i)).collect();
        needs.into_iter().filter(|n| self.p.encloses(space, self.p.space_of(*n))).any(|n| match self.p.node(n).op {
            Op::Fold { over, .. } => !self.p.between(space, over).iter().all(|s| self.written_out(*s)),
            Op::Loop { .. } => true,
            _ => false,
        })
    }

    /// Whether a node may differ from lane to lane.
    pub(crate) fn varies(&mut self, n: Node) -> bool {
        if self.truth(n).is_some() {
            return false;
        }
        let n = self.resolved(n);
        let Some(space) = self.lane else { return false };
        let outer = self.p.space_of(n);
        if !self.p.encloses(space, outer) {
            return false;
        }
        if let Some(known) = self.varying.get(&n) {
            return *known;
        }
        let around = self.p.between(space, outer);
        let mut looped = around.iter().any(|s| matches!(self.p.space(*s).region, Region::Lambda));
        for s in around.iter().filter(|s| matches!(self.p.space(**s).region, Region::Loop)) {
            looped = looped || self.rounds_of(*s) == Rounds::Own;
        }
        let varies = match self.p.node(n).op {
            Op::Var(k) if !looped => match self.rounds_of(outer) {
                Rounds::Same(vars) => !vars.get(k as usize).is_some_and(|same| *same),
                Rounds::Own => true,
            },
            Op::Pos => outer == space,
            Op::Scan { .. } => true,
            // If no lane needs them they must have no effect, even if they would be the same for all.
            Op::Load(..) | Op::Check { .. } if around.iter().any(|s| self.guarded_by_lanes(*s)) => true,
            _ => looped || with_stack(|| self.on_of(n).into_iter().any(|m| self.varies(m))),
        };
        self.varying.insert(n, varies);
        varies
    }

    /// What is known of lanes depends on which they are, and on what is assumed.
    fn forget_lanes(&mut self) {
        self.varying.clear();
        self.rounds.clear();
    }

    /// Whether all lanes have the same rounds of a loop, and which of its variables are the same in them. They are assumed to be if they begin so, until one turns out to
    /// depend on a variable that is not.
    pub(crate) fn rounds_of(&mut self, s: Space) -> Rounds {
        if let Some(known) = self.rounds.get(&s) {
            return known.clone();
        }
        let of = |op: &Op| match op {
            Op::Loop { space, init, cond, next, .. } if *space == s => Some((init.clone(), *cond, next.clone())),
            _ => None,
        };
        let Some((init, cond, next)) = self.p.nodes.iter().find_map(|n| of(&n.op)) else { return Rounds::Own };
        let mut same: Vec<bool> = init.iter().map(|n| !self.varies(*n)).collect();
        let before = (self.varying.clone(), self.rounds.clone());
        loop {
            self.rounds.insert(s, Rounds::Same(same.clone()));
            let shared = !self.varies(cond);
            let still: Vec<bool> = next.iter().zip(&same).map(|(n, same)| *same && !self.varies(*n)).collect();
            if shared && still == same {
                return Rounds::Same(same);
            }
            (self.varying, self.rounds) = before.clone();
            if !shared {
                self.rounds.insert(s, Rounds::Own);
                return Rounds::Own;
            }
            same = still;
        }
    }

    /// Whether a space is a guard that may hold in some lanes only.
    pub(crate) fn guarded_by_lanes(&mut self, s: Space) -> bool {
        match self.p.space(s).region {
            Region::Guard(cond, _) => self.varies(cond),
            _ => false,
        }
    }

    /// Whether nodes under a guard, computed in lanes, cost more than a branch over them: there are gathered elements, or loops.
    pub(crate) fn is_worth_a_jump(&mut self, guard: Space, nodes: &[Node]) -> bool {
        let Some(lane) = self.lane else { return false };
        let (mut pending, mut seen) = (nodes.to_vec(), BTreeSet::new());
        while let Some(n) = pending.pop() {
            let n = self.resolved(n);
            if !self.p.encloses(guard, self.p.space_of(n)) || !seen.insert(n) {
                continue;
            }
            match self.p.node(n).op {
                Op::Loop { .. } => return true,
                Op::Load(_, at) if self.varies(at) && !self.goes_along(at, lane) => return true,
                _ => pending.extend(self.p.operands(n)),
            }
        }
        false
    }

    /// Whether an index increases by one with the position.
    pub(crate) fn follows(&mut self, at: Node, dim: Space) -> bool {
        let at = self.resolved(at);
        match self.p.node(at).op {
            Op::Pos => self.p.space_of(at) == dim,
            Op::Binary(BinOp::Add, a, b) => match (self.mentions(a, dim), self.mentions(b, dim)) {
                (true, false) => self.follows(a, dim),
                (false, true) => self.follows(b, dim),
                _ => false,
            },
            Op::Binary(BinOp::Sub, a, b) => !self.mentions(b, dim) && self.follows(a, dim),
            _ => false,
        }
    }

    /// Whether an index increases by one with the position, apart from checks.
    pub(crate) fn goes_along(&mut self, at: Node, dim: Space) -> bool {
        let at = self.resolved(at);
        match self.p.node(at).op {
            Op::Check { value, .. } => self.follows(value, dim),
            _ => self.follows(at, dim),
        }
    }

    /// The node that equals another one, as far as is known here.
    pub(crate) fn resolved(&self, n: Node) -> Node {
        match self.assumed(n) {
            Some(Fact::Same(m)) => m,
            _ => n,
        }
    }

    /// Whether a condition holds, if that is known here.
    pub(crate) fn truth(&self, n: Node) -> Option<bool> {
        if self.interiors.is_empty() {
            return None;
        }
        match (self.assumed(n), &self.p.node(n).op) {
            (Some(Fact::Is(holds)), _) => Some(holds),
            (_, Op::Const(Scalar::Bool(holds))) => Some(*holds),
            (_, Op::Unary(UnOp::Not, x)) => self.truth(*x).map(|holds| !holds),
            (_, Op::Binary(BinOp::And, a, b)) if self.p.ty(n) == ScalarType::Bool => {
                match (self.truth(*a), self.truth(*b)) {
                    (Some(true), Some(true)) => Some(true),
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    _ => None,
                }
            }
            (_, Op::Binary(BinOp::Or, a, b)) if self.p.ty(n) == ScalarType::Bool => {
                match (self.truth(*a), self.truth(*b)) {
                    (Some(false), Some(false)) => Some(false),
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a guard holds, if that is known here.
    pub(crate) fn guard_holds(&self, s: Space) -> Option<bool> {
        match self.p.space(s).region {
            Region::Guard(cond, when) => self.truth(cond).map(|holds| holds == when),
            _ => None,
        }
    }

    /// Whether a guard holds in all lanes or in none.
    pub(crate) fn same_for_all(&mut self, s: Space) -> bool {
        match self.p.space(s).region {
            Region::Guard(cond, _) => !self.varies(cond),
            _ => false,
        }
    }

    /// Whether a scan only numbers elements that are stored contiguously.
    pub(crate) fn is_packing(&mut self, n: Node, items: &[Item]) -> bool {
        let Op::Scan { exclusive: true, elems, combine: Combine::Ops(ops), .. } = &self.p.node(n).op else {
            return false;
        };
        if ops.as_slice() != [BinOp::Add]
            || self.p.ty(elems[0]) != ScalarType::I64
            || self.p.as_int(elems[0]) != Some(1)
        {
            return false;
        }
        let is_guard = matches!(self.p.space(self.p.space_of(n)).region, Region::Guard(..));
        let number = |m: Node| m == n || matches!(self.p.node(m).op, Op::Part(x, 0) if x == n);
        let mut needs: BTreeSet<Node> = BTreeSet::new();
        items.iter().for_each(|i| needs.extend(self.needs_of(*i)));
        let uses = |m: &Node| !number(*m) && self.p.operands(*m).into_iter().any(number);
        let stores = |item: &Item| match item {
            Item::Sink(i) => match &self.sinks[*i] {
                Sink::Write { space, value, at, .. } => {
                    !number(*value) && (!number(*at) || *space == self.p.space_of(n))
                }
                sink => !self.p.sink_parts(sink).1.into_iter().any(number),
            },
            _ => true,
        };
        is_guard && !needs.iter().any(uses) && items.iter().all(stores)
    }

    /// Whether floats are added up along a dimension: splitting it would then change bits.
    pub(crate) fn adds_floats(&self, space: Space, item: Item) -> bool {
        let (Item::Fold(n) | Item::Scan(n)) = item else { return false };
        self.space_of(item) == space && adds_floats(self.p, n)
    }
}

/// Whether a node is a fold or scan that adds up floats: then its bits depend on how elements are grouped.
pub(crate) fn adds_floats(p: &Program, n: Node) -> bool {
    let Ok((_, elems, how)) = parts_of(p, n) else { return false };
    let exact = |k: usize, e: &Node| {
        !p.ty(*e).is_float() || matches!(how, Combine::Ops(ops) if matches!(ops[k], BinOp::Min | BinOp::Max))
    };
    !elems.iter().enumerate().all(|(k, e)| exact(k, e))
}

/// The start, elements and operator of a fold or scan.
pub(crate) type Parts<'k> = (Option<&'k Vec<Node>>, &'k Vec<Node>, &'k Combine);

/// The parts of a fold or scan.
pub(crate) fn parts_of(p: &Program, n: Node) -> Result<Parts<'_>, String> {
    match &p.node(n).op {
        Op::Fold { init, elems, combine, .. } | Op::Scan { init, elems, combine, .. } => {
            Ok((init.as_ref(), elems, combine))
        }
        _ => Err(format!("{n} is neither a fold nor a scan")),
    }
}

/// The factors of an element, if it is a product of floats that a fold adds: then the product and the addition can be one fused operation, which rounds once.
pub(crate) fn product_of(p: &Program, op: BinOp, elem: Node) -> Option<(Node, Node)> {
    match p.node(elem).op {
        Op::Binary(BinOp::Mul, x, y) if op == BinOp::Add && p.ty(elem).is_float() => Some((x, y)),
        _ => None,
    }
}

/// Whether a node is a check that compiled code makes: not if a step has made it before.
pub(crate) fn makes_check(p: &Program, n: Node) -> bool {
    matches!(p.node(n).op, Op::Check { .. }) && !p.settled.contains(&n)
}

/// The identity element of an operator, if it has one.
pub(crate) fn unit(op: BinOp, ty: ScalarType) -> Option<Scalar> {
    Some(match op {
        // 0.0 would make 0.0 of -0.0.
        BinOp::Add => Scalar::float(ty, -0.0).unwrap_or(Scalar::zero(ty)),
        BinOp::Or | BinOp::Xor | BinOp::AddSat => Scalar::zero(ty),
        BinOp::Mul => Scalar::one(ty),
        BinOp::And if ty == ScalarType::Bool => Scalar::Bool(true),
        BinOp::And => Scalar::wrap_int(ty, -1)?,
        BinOp::Min => Scalar::float(ty, f64::INFINITY).or_else(|| Scalar::wrap_int(ty, ty.int_range()?.1))?,
        BinOp::Max => Scalar::float(ty, f64::NEG_INFINITY).or_else(|| Scalar::wrap_int(ty, ty.int_range()?.0))?,
        _ => return None,
    })
}

/// The folds and scans of items.
pub(crate) fn carried_by(items: &[Item]) -> Vec<Node> {
    let folds = items.iter().filter_map(|i| match i {
        Item::Fold(n) | Item::Scan(n) => Some(*n),
        Item::Sink(_) => None,
    });
    folds.collect()
}

/// Whether a node is a function of floats that takes tens of instructions, most of them dependent on one another.
pub(crate) fn is_transcendental(p: &Program, n: Node) -> bool {
    let is_short = |op| {
        use UnOp::{Abs, Ceil, Floor, IsNan, Neg, Round, Sign, Sqrt, Trunc};
        matches!(op, Abs | Ceil | Floor | IsNan | Neg | Round | Sign | Sqrt | Trunc)
    };
    match p.node(n).op {
        Op::Unary(op, x) => p.ty(x).is_float() && !is_short(op),
        Op::Binary(BinOp::Pow | BinOp::Atan2 | BinOp::Hypot | BinOp::Rem, x, _) => p.ty(x).is_float(),
        _ => false,
    }
}

/// Whether a function branches around rare cases.
pub(crate) fn has_branches(op: UnOp) -> bool {
    matches!(op, UnOp::Sin | UnOp::Cos | UnOp::Tan | UnOp::Log | UnOp::Log2 | UnOp::Log10 | UnOp::Log1p)
}

/// Whether a node takes a few instructions, and no loop or branch.
pub(crate) fn is_plain(op: &Op) -> bool {
    match op {
        Op::Unary(op, _) => !has_branches(*op),
        Op::Binary(BinOp::Pow | BinOp::Rem, ..)
        | Op::Fold { .. }
        | Op::Scan { .. }
        | Op::If { .. }
        | Op::Loop { .. } => false,
        _ => true,
    }
}

/// Whether a sink is a scatter into elements that points may share.
pub(crate) fn is_ordered(p: &Program, sink: &Sink) -> bool {
    let Sink::Scatter { space, at, within: ROOT, .. } = sink else { return false };
    let is_pos = |n: &Node| matches!(p.node(*n).op, Op::Pos) && p.space_of(*n) == *space;
    // In the outermost dimension: further in, each point would begin again.
    let steps = p.linear(*at, &|n| n).is_some_and(|sum| {
        sum.terms.iter().all(|(n, times)| if is_pos(n) { *times == 1 } else { p.space_of(*n) == ROOT })
            && sum.terms.keys().any(is_pos)
    });
    !(steps && p.space(*space).parent == ROOT)
}

/// Whether a scatter stores the same value everywhere.
pub(crate) fn is_one_value(p: &Program, sink: &Sink) -> bool {
    match sink {
        Sink::Scatter { values, combine: None, .. } => values.iter().all(|v| p.space_of(*v) == ROOT),
        _ => false,
    }
}
