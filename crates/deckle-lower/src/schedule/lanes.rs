//! Several points of a dimension at once.
//!
//! The points of a dimension are independent but for what is folded over them, so they can be computed in the lanes of vectors: as long as there are
//! enough points, as many as fit several registers in a round; then one register at a time under a mask, so that there is no
//! remainder to go through one by one. Short rows, of which ragged arrays are full, are one masked round.
//!
//! What does not depend on the position is computed once for all lanes. Loops inside, if they have as many rounds for all lanes, run once with vectors in them; where a
//! condition differs from lane to lane, both branches are computed under masks, and a loop goes on as long as any lane does.
//!
//! What is said here decides in which order floats are added, and so the bits of a result: it depends on the program, never on the data or the threads.

use super::combine::is_one_value;
use super::emit::{Emitter, Item, Res, parts_of, with_stack};
use super::short::Short;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{Combine, Node, Op, Region, Sink, Space};
use deckle_ir::loops::{Expr, Gathers, LoopHint, Stmt, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::collections::BTreeSet;

/// So many nodes are not much.
const LITTLE: usize = 100;

/// A vector of points: from `start` on, those of the mask.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub space: Space,
    pub count: u16,
    pub hint: StoreHint,
    pub start: Val,
    pub mask: Option<Val>,
}

impl Lane {
    /// The lanes that count; all, if there is none.
    pub(super) fn mask(&self) -> Option<Val> {
        self.mask
    }
}

/// How the points of a dimension are gone through in lanes.
pub(super) struct Plan {
    pub count: u16,
    /// How many lanes a round has: several times as many as fit a register, so that its operations do not wait for each other.
    pub wide: u16,
    /// Whether there are loops inside.
    deep: bool,
    /// Whether arrays are written from one end to the other that are more than the caches hold.
    long: bool,
    pub hint: StoreHint,
    /// The rows inside that are folded together.
    pub short: Option<Short>,
}

impl Plan {
    /// Whether there are loops inside, which all lanes share.
    pub(super) fn is_deep(&self) -> bool {
        self.deep
    }

    /// Whether arrays are written from one end to the other that are more than the caches hold.
    pub(super) fn is_long(&self) -> bool {
        self.long
    }

    /// The same with vectors that fit a register.
    pub(super) fn narrow(&self) -> Plan {
        Plan { wide: self.count, short: self.short.clone(), ..*self }
    }
}

impl Emitter<'_> {
    /// How to compute these items of a dimension in lanes, if that is possible and worth it.
    pub(super) fn plan_lanes(&mut self, space: Space, items: &[Item]) -> Option<Plan> {
        // A few points are better written out.
        if self.written_out(space) || self.vectors.is_some() {
            return None;
        }
        let is_guard = |s: &Space| matches!(self.p.space(*s).region, Region::Guard(..));
        if !items.iter().all(|i| self.p.between(space, self.space_of(*i)).iter().all(is_guard)) {
            return None;
        }
        let guarded = items.iter().any(|i| self.space_of(*i) != space);
        let mut widest = 1;
        let (mut folds, mut scans) = (false, false);
        let mut needs = BTreeSet::new();
        for item in items {
            needs.extend(self.needs_of(*item));
            match item {
                Item::Fold(n) | Item::Scan(n) => {
                    folds |= matches!(item, Item::Fold(_));
                    scans |= matches!(item, Item::Scan(_));
                    let (_, elems, how) = parts_of(self.p, *n).ok()?;
                    if !matches!(how, Combine::Ops(_)) {
                        return None;
                    }
                    if matches!(item, Item::Scan(_)) && self.is_packing(*n, items) {
                        continue;
                    }
                    widest = elems.iter().map(|e| self.p.ty(*e).bytes()).fold(widest, usize::max);
                }
                Item::Sink(i) => match &self.sinks[*i] {
                    Sink::Write { value, .. } => widest = widest.max(self.p.ty(*value).bytes()),
                    Sink::Check(_) => {}
                    // In any order, if that does not matter.
                    sink if is_one_value(self.p, sink) && self.gathers == Gathers::Native => {
                        let (_, nodes) = self.p.sink_parts(sink);
                        widest = nodes.iter().map(|n| self.p.ty(*n).bytes()).fold(widest, usize::max);
                    }
                    Sink::Scatter { .. } => return None,
                },
            }
        }
        let inside: Vec<Node> = needs.into_iter().filter(|n| self.p.encloses(space, self.p.space_of(*n))).collect();
        self.vectors = Some(Lane { space, count: 1, hint: StoreHint::Cached, start: Val(0), mask: None });
        let short = self.plan_short(space, &inside);
        let mut lanes = inside.clone();
        if let Some(short) = &short {
            lanes.retain(|n| !short.folds.contains(n) && !self.p.encloses(short.dim, self.p.space_of(*n)));
        }
        let worth = self.judge(space, &lanes, items, folds || scans || guarded || short.is_some());
        self.vectors = None;
        self.varying.clear();
        if let Some(short) = short {
            // What is folded over rows of which some were run before has to be added up in one order.
            let possible = worth.is_some() && !folds && !scans && !guarded;
            let (count, hint) = (short.count, StoreHint::Cached);
            return possible.then_some(Plan { count, wide: count, deep: true, long: false, hint, short: Some(short) });
        }
        // What is folded may be wider than what it is computed from.
        let mut narrow = 0;
        for n in &inside {
            let works = matches!(self.p.node(*n).op, Op::Unary(..) | Op::Binary(..) | Op::Select(..) | Op::Fma(..));
            let bytes = self.p.ty(*n).bytes();
            narrow += if !works || bytes == 1 {
                0
            } else if bytes < widest {
                1
            } else {
                -1
            };
        }
        let widest = if folds && narrow > 0 { widest.min(4) } else { widest };
        let count = (self.cuts.register / widest).min(self.cuts.lanes) as u16;
        let deep = worth?;
        if deep && guarded {
            return None;
        }
        let wide = match inside.len() {
            // One vector after another adds to a scan.
            _ if scans || deep && folds => count,
            _ if deep => count * self.widening(&inside),
            0..=LITTLE => count * self.cuts.vectors,
            _ => count * 2,
        };
        Some(Plan { count, wide, deep, long: false, hint: StoreHint::Cached, short: None })
    }

    /// How many registers a vector should take with these nodes inside: enough that sums do not wait for each other, and not so many that they
    /// do not fit.
    fn widening(&self, inside: &[Node]) -> u16 {
        let mut sums = 0;
        for n in inside {
            match &self.p.node(*n).op {
                Op::Loop { .. } | Op::If { .. } => return 1,
                Op::Fold { over, elems, .. } if !self.written_out(*over) => sums += elems.len(),
                _ => {}
            }
        }
        match sums {
            1 => 4,
            2..=4 => 2,
            _ => 1,
        }
    }

    /// Whether the nodes of a dimension can be computed in lanes, and should be: if so, whether there is more in it than one vector of each.
    fn judge(&mut self, space: Space, inside: &[Node], items: &[Item], carries: bool) -> Option<bool> {
        let (mut deep, mut branches, mut slow, mut mine, mut theirs) = (false, false, false, 0, 0);
        let mut beside = false;
        for n in inside {
            let s = self.p.space_of(*n);
            match &self.p.node(*n).op {
                Op::Scan { .. } if !items.contains(&Item::Scan(*n)) => return None,
                Op::Loop { .. } => deep = true,
                Op::If { yes, .. } => branches |= self.guard_holds(*yes).is_none(),
                Op::Fold { over, .. } => {
                    deep = true;
                    for inner in self.p.between(s, *over) {
                        match self.p.space(inner).region {
                            // Away from the edges, rows may be of one length. They are cut into blocks even so.
                            Region::Dim(size) if self.varies(size) || self.is_row(inner) => return None,
                            Region::Dim(_) | Region::Guard(..) => {}
                            _ => return None,
                        }
                    }
                }
                Op::Binary(BinOp::Pow, a, _) if !self.p.ty(*a).is_float() => return None,
                // These have branches for unusual numbers, around which nothing but lanes gets.
                Op::Binary(BinOp::Rem | BinOp::Pow, a, _) => slow |= self.p.ty(*a).is_float(),
                Op::Unary(op, _) => slow |= has_branches(*op),
                Op::Load(_, at) => {
                    mine += usize::from(self.varies(*at) && !self.goes_along(*at, space));
                    let own = matches!(self.p.space(s).region, Region::Dim(_)) && s != space;
                    theirs += usize::from(own && self.mentions(*at, s) && !self.goes_along(*at, s));
                    // What is tested element by element is loaded side by side only in lanes.
                    beside |= s == space && !self.follows(*at, space) && self.goes_along(*at, space);
                }
                _ => {}
            }
        }
        // Loads one by one for all lanes, of which few may count.
        let guarded = items.iter().any(|i| self.space_of(*i) != space);
        if guarded && mine > 0 && self.gathers == Gathers::Emulated {
            return None;
        }
        // A loop inside can have lanes of its own: better where it reads what lies side by side.
        let loops = inside.iter().any(|n| matches!(self.p.node(*n).op, Op::Loop { .. }));
        let scans = items.iter().any(|i| matches!(i, Item::Scan(_)));
        match (deep, carries || slow || branches || beside) {
            (false, true) => Some(false),
            (true, _) if scans => None,
            (true, _) if mine <= theirs || loops => Some(true),
            _ => None,
        }
    }

    /// As [`Emitter::plan_lanes`], for arrays that are written from one end to the other: those can go past the cache, unless they are computed in place. With the bytes of
    /// a point.
    pub(super) fn plan_streaming(&mut self, space: Space, items: &[Item]) -> Option<(Plan, i64)> {
        let (mut widest, mut bytes, mut hint) = (4, 0, StoreHint::Streaming);
        for item in items {
            let Item::Sink(i) = item else { return None };
            let Sink::Write { space: s, buf, at, value } = &self.sinks[*i] else { return None };
            let width = self.p.ty(*value).bytes();
            if *s != space || !matches!(self.p.node(*at).op, Op::Pos) || self.p.space_of(*at) != space || width < 4 {
                return None;
            }
            widest = widest.max(width);
            bytes += width as i64;
            for n in self.needs_of(*item) {
                // What is computed in place is in the caches.
                if matches!(self.p.node(n).op, Op::Load(b, _) if b == *buf) {
                    hint = StoreHint::Cached;
                }
                let s = self.p.space_of(n);
                let plain =
                    !matches!(self.p.node(n).op, Op::Scan { .. } | Op::Fold { .. } | Op::If { .. } | Op::Loop { .. });
                if self.p.encloses(space, s) && (s != space || !plain) {
                    return None;
                }
            }
        }
        let count = (self.cuts.register / widest) as u16;
        Some((Plan { count, wide: count * self.cuts.vectors, deep: false, long: true, hint, short: None }, bytes))
    }

    pub(super) fn vector(&self) -> Res<&Lane> {
        self.vectors.as_ref().ok_or_else(|| "not in lanes".to_string())
    }

    /// Whether a node differs from lane to lane, or may.
    pub(super) fn varies(&mut self, n: Node) -> bool {
        if self.truth(n).is_some() {
            return false;
        }
        let n = self.resolved(n);
        let Some(lane) = &self.vectors else { return false };
        let (space, outer) = (lane.space, self.p.space_of(n));
        if !self.p.encloses(space, outer) {
            return false;
        }
        if let Some(known) = self.varying.get(&n) {
            return *known;
        }
        let around = self.p.between(space, outer);
        let looped = around.iter().any(|s| matches!(self.p.space(*s).region, Region::Loop | Region::Lambda));
        let varies = match self.p.node(n).op {
            Op::Pos => outer == space,
            Op::Scan { .. } => true,
            // Where no lane needs them they must do nothing, even if they would be the same for all.
            Op::Load(..) | Op::Check { .. } if around.iter().any(|s| self.guarded_by_lanes(*s)) => true,
            _ => looped || with_stack(|| self.on_of(n).into_iter().any(|m| self.varies(m))),
        };
        self.varying.insert(n, varies);
        varies
    }

    /// Whether a space is a guard that holds in some lanes only, or may.
    fn guarded_by_lanes(&mut self, s: Space) -> bool {
        match self.p.space(s).region {
            Region::Guard(cond, _) => self.varies(cond),
            _ => false,
        }
    }

    /// Whether an index goes up by one with the position.
    pub(super) fn follows(&mut self, at: Node, dim: Space) -> bool {
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

    /// Whether an index goes up by one with the position, but for being tested.
    pub(super) fn goes_along(&mut self, at: Node, dim: Space) -> bool {
        let at = self.resolved(at);
        match self.p.node(at).op {
            Op::Check { value, .. } => self.follows(value, dim),
            _ => self.follows(at, dim),
        }
    }

    /// Where lanes are stored or loaded: a scalar where they follow each other.
    pub(super) fn place(&mut self, at: Node) -> Res<Val> {
        let space = self.vector()?.space;
        if self.follows(at, space)
            && let Some(first) = self.first(at)?
        {
            return Ok(first);
        }
        self.lane_val(at)
    }

    /// The value in the first lane of an index that follows the position, if all else in it is the same for all lanes.
    fn first(&mut self, at: Node) -> Res<Option<Val>> {
        let at = self.resolved(at);
        if !self.varies(at) {
            return self.val(at).map(Some);
        }
        match self.p.node(at).op {
            Op::Pos => Ok(Some(self.vector()?.start)),
            Op::Binary(op, a, b) => match (self.first(a)?, self.first(b)?) {
                (Some(a), Some(b)) => Ok(Some(self.b.let_(Expr::Binary(op, a, b)))),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The value of a node in all lanes.
    pub(super) fn lane_val(&mut self, n: Node) -> Res<Val> {
        if !self.varies(n) {
            let v = self.val(n)?;
            let count = self.vector()?.count;
            return Ok(self.b.splat(v, count));
        }
        self.lane_vals(n)?.first().copied().ok_or_else(|| format!("{n} has no value"))
    }

    fn lane_all(&mut self, nodes: &[Node]) -> Res<Vec<Val>> {
        nodes.iter().map(|n| self.lane_val(*n)).collect()
    }

    fn lane_vals(&mut self, n: Node) -> Res<Vec<Val>> {
        let n = self.resolved(n);
        if !self.varies(n) {
            let vals = self.vals(n)?;
            let count = self.vector()?.count;
            return Ok(vals.into_iter().map(|v| self.b.splat(v, count)).collect());
        }
        let k = self.scope_of(n)?;
        if let Some(vals) = self.lane_memo(k, n) {
            return Ok(vals);
        }
        // What is computed further out is computed under the mask of there.
        let mask = self.vector()?.mask;
        let outer = self.mask_at(k);
        self.set_mask(outer);
        let vals = self.deeper(k, |e| e.lane_make(n));
        self.set_mask(mask);
        let vals = vals?;
        self.remember_lanes(k, n, vals.clone());
        Ok(vals)
    }

    pub(super) fn set_mask(&mut self, mask: Option<Val>) {
        if let Some(lane) = &mut self.vectors {
            lane.mask = mask;
        }
    }

    /// The mask of this context, narrowed.
    pub(super) fn narrowed(&mut self, cond: Val) -> Res<Val> {
        let lane = self.vector()?;
        let (mask, count) = (lane.mask, lane.count);
        Ok(match mask {
            Some(mask) => self.b.let_lanes(Expr::Binary(BinOp::And, mask, cond), count),
            None => cond,
        })
    }

    fn lane_make(&mut self, n: Node) -> Res<Vec<Val>> {
        let (count, mask) = (self.vector()?.count, self.vector()?.mask);
        let expr = match self.p.node(n).op.clone() {
            Op::Pos => {
                let start = self.vector()?.start;
                let start = self.b.splat(start, count);
                let lanes = self.b.let_lanes(Expr::Lanes, count);
                Expr::Binary(BinOp::Add, start, lanes)
            }
            Op::Const(c) => Expr::Const(c),
            Op::Var(k) => return self.variable(n, k),
            Op::Unary(op, x) => Expr::Unary(op, self.lane_val(x)?),
            Op::Binary(op, a, b) => match self.narrow_bound(op, a, b)? {
                Some((x, bound)) => Expr::Binary(op, x, bound),
                None => Expr::Binary(op, self.lane_val(a)?, self.lane_val(b)?),
            },
            Op::Cast(to, x) => Expr::Cast(to, self.lane_val(x)?),
            Op::Select(c, x, y) => Expr::Select(self.lane_val(c)?, self.lane_val(x)?, self.lane_val(y)?),
            Op::Fma(x, y, z) => Expr::Fma(self.lane_val(x)?, self.lane_val(y)?, self.lane_val(z)?),
            Op::Load(buf, at) => match self.panel_load(n, count)? {
                Some(load) => load,
                None => match self.strided(n, buf, at)? {
                    Some(picked) => picked,
                    None => {
                        let (at, mask) = self.gathered(at, mask)?;
                        Expr::Load { at, buf: self.buf(buf)?, mask }
                    }
                },
            },
            Op::Check { cond, value, .. } => {
                let c = self.lane_val(cond)?;
                let bad = self.b.let_lanes(Expr::Unary(UnOp::Not, c), count);
                let bad = self.narrowed(bad)?;
                self.b.stmt(Stmt::Flag(bad));
                let v = self.lane_val(value)?;
                let zero = self.constant(Scalar::zero(self.p.ty(value)));
                let zero = self.b.splat(zero, count);
                Expr::Select(c, v, zero)
            }
            Op::Part(x, k) => {
                let vals = self.lane_vals(x)?;
                return vals.get(k as usize).map(|v| vec![*v]).ok_or_else(|| format!("{x} has no part {k}"));
            }
            Op::If { yes, then, no, other } => return self.lane_if(yes, &then, no, &other),
            Op::Fold { over, init, elems, combine } => {
                if let Some(parts) = self.in_window(n)? {
                    return Ok(parts);
                }
                return self.lane_fold(n, over, init.as_deref(), &elems, &combine);
            }
            Op::Loop { space, init, cond, inside, next, checks } => {
                return self.lane_loop(space, &init, cond, inside, &next, &checks);
            }
            Op::Scan { .. } => return self.lane_scan(n),
        };
        Ok(vec![self.b.let_lanes(expr, count)])
    }

    /// The lanes in which a guard holds.
    pub(super) fn lane_guard(&mut self, s: Space) -> Res<Val> {
        let Region::Guard(cond, when) = self.p.space(s).region else { return Err(format!("{s} is no guard")) };
        let c = self.lane_val(cond)?;
        let count = self.vector()?.count;
        Ok(if when { c } else { self.b.let_lanes(Expr::Unary(UnOp::Not, c), count) })
    }

    /// Whether a guard holds in all lanes or in none.
    pub(super) fn same_for_all(&mut self, s: Space) -> bool {
        match self.p.space(s).region {
            Region::Guard(cond, _) => !self.varies(cond),
            _ => false,
        }
    }

    /// Both branches, each under its mask, unless all lanes take the same.
    fn lane_if(&mut self, yes: Space, then: &[Node], no: Space, other: &[Node]) -> Res<Vec<Val>> {
        if let Some(holds) = self.guard_holds(yes) {
            let (side, nodes) = if holds { (yes, then) } else { (no, other) };
            self.open(side, None, Vec::new());
            let vals = self.lane_all(nodes);
            self.close();
            return vals;
        }
        let (count, outer) = (self.vector()?.count, self.vector()?.mask);
        if self.same_for_all(yes) {
            let c = self.guard(yes)?;
            self.b.begin_if(c);
            self.open(yes, None, Vec::new());
            let a = self.lane_all(then)?;
            self.close();
            self.b.begin_else(&a);
            self.open(no, None, Vec::new());
            let b = self.lane_all(other)?;
            self.close();
            return Ok(self.b.end(&b));
        }
        let c = self.lane_guard(yes)?;
        let mut sides = Vec::new();
        for (space, nodes) in [(yes, then), (no, other)] {
            let holds = self.lane_guard(space)?;
            let mask = self.narrowed(holds)?;
            self.set_mask(Some(mask));
            self.open(space, None, Vec::new());
            sides.push(self.lane_all(nodes)?);
            self.close();
            self.set_mask(outer);
        }
        let pairs = sides[0].iter().zip(&sides[1]);
        Ok(pairs.map(|(a, b)| self.b.let_lanes(Expr::Select(c, *a, *b), count)).collect())
    }

    /// A fold inside: a loop for all lanes together.
    fn lane_fold(
        &mut self,
        n: Node,
        over: Space,
        init: Option<&[Node]>,
        elems: &[Node],
        how: &Combine,
    ) -> Res<Vec<Val>> {
        let count = self.vector()?.count;
        // In a tile, all rows share the loop.
        let (rows, width) = (self.rows_of(n), elems.len() + 1);
        let mut state: Vec<Val> = Vec::new();
        let current = self.set_row(0);
        for row in 0..rows {
            self.set_row(row);
            match init {
                Some(init) => state.extend(self.lane_all(init)?),
                None => {
                    let types: Vec<ScalarType> = elems.iter().map(|e| self.p.ty(*e)).collect();
                    let start = self.nothing(how, &types);
                    state.extend(start.vals.into_iter().map(|v| self.b.splat(v, count)));
                }
            }
            let on = self.constant(Scalar::Bool(init.is_some()));
            state.push(self.b.splat(on, count));
        }
        let path = self.p.between(self.p.space_of(n), over);
        let state = self.lane_rounds(&path, state, elems, how)?;
        let scope = self.scope_of(n)?;
        let mut mine = Vec::new();
        for (row, state) in state.chunks(width).enumerate() {
            let parts = self.lane_folded(state, init.is_some(), elems);
            self.set_row(row);
            self.remember_lanes(scope, n, parts.clone());
            if row == current || rows == 1 {
                mine = parts;
            }
        }
        self.set_row(current);
        Ok(mine)
    }

    /// The parts of a fold after its last round: of nothing, zero.
    fn lane_folded(&mut self, state: &[Val], started: bool, elems: &[Node]) -> Vec<Val> {
        let (vals, has) = state.split_at(elems.len());
        let mut parts = Vec::new();
        let count = self.b.ty(has[0]).lanes;
        for (v, e) in vals.iter().zip(elems) {
            parts.push(if started {
                *v
            } else {
                let zero = self.constant(Scalar::zero(self.p.ty(*e)));
                let zero = self.b.splat(zero, count);
                self.b.let_lanes(Expr::Select(has[0], *v, zero), count)
            });
        }
        parts.push(has[0]);
        parts
    }

    fn lane_rounds(&mut self, path: &[Space], state: Vec<Val>, elems: &[Node], how: &Combine) -> Res<Vec<Val>> {
        let count = self.vector()?.count;
        let Some((space, rest)) = path.split_first() else {
            let mut after = Vec::new();
            for (row, state) in state.chunks(elems.len() + 1).enumerate() {
                self.set_row(row);
                let xs = self.lane_all(elems)?;
                let (vals, has) = state.split_at(elems.len());
                let mut next = self.lane_combine(how, vals, &xs)?;
                if how.function().is_some() {
                    // Without a value yet, the first one.
                    for (n, x) in next.iter_mut().zip(&xs) {
                        *n = self.b.let_lanes(Expr::Select(has[0], *n, *x), count);
                    }
                }
                let yes = self.constant(Scalar::Bool(true));
                next.push(self.b.splat(yes, count));
                after.extend(next.into_iter().zip(state).map(|(n, old)| self.where_active(n, *old)));
            }
            return Ok(after);
        };
        match self.p.space(*space).region {
            Region::Dim(size) => {
                let (lo, hi) = (self.int(0), self.val(size)?);
                let hint = if self.written_out(*space) { LoopHint::Unroll } else { LoopHint::Plain };
                let (pos, params) = self.b.begin_for(lo, hi, 1, &state, hint);
                self.open(*space, Some(pos), Vec::new());
                let after = self.lane_rounds(rest, params, elems, how)?;
                self.close();
                Ok(self.b.end(&after))
            }
            Region::Guard(..) if self.same_for_all(*space) => {
                let c = self.guard(*space)?;
                self.b.begin_if(c);
                self.open(*space, None, Vec::new());
                let after = self.lane_rounds(rest, state.clone(), elems, how)?;
                self.close();
                self.b.begin_else(&after);
                Ok(self.b.end(&state))
            }
            Region::Guard(..) => {
                let outer = self.vector()?.mask;
                let holds = self.lane_guard(*space)?;
                let mask = self.narrowed(holds)?;
                self.set_mask(Some(mask));
                self.open(*space, None, Vec::new());
                let after = self.lane_rounds(rest, state, elems, how)?;
                self.close();
                self.set_mask(outer);
                Ok(after)
            }
            _ => Err(format!("{space} cannot be gone through in lanes")),
        }
    }

    pub(super) fn lane_combine(&mut self, how: &Combine, left: &[Val], right: &[Val]) -> Res<Vec<Val>> {
        let count = self.vector()?.count;
        match how {
            Combine::Ops(ops) => {
                let pairs = ops.iter().zip(left.iter().zip(right));
                Ok(pairs.map(|(op, (a, b))| self.b.let_lanes(Expr::Binary(*op, *a, *b), count)).collect())
            }
            Combine::Lambda(space, results) | Combine::InOrder(space, results) => {
                self.open(*space, None, [left, right].concat());
                let results = self.lane_all(results);
                self.close();
                results
            }
        }
    }

    /// A loop that goes on as long as any lane does.
    fn lane_loop(
        &mut self,
        space: Space,
        init: &[Node],
        cond: Node,
        inside: Space,
        next: &[Node],
        checks: &[Node],
    ) -> Res<Vec<Val>> {
        let (count, outer) = (self.vector()?.count, self.vector()?.mask);
        let mut state = self.lane_all(init)?;
        let yes = self.constant(Scalar::Bool(true));
        let all = self.b.splat(yes, count);
        state.push(outer.unwrap_or(all));
        let params = self.b.begin_while(&state);
        let (active, vars) = params.split_last().ok_or("a loop without a state")?;
        self.set_mask(Some(*active));
        self.open(space, None, vars.to_vec());
        let c = self.lane_val(cond)?;
        let active = self.narrowed(c)?;
        let any = self.b.let_(Expr::Total(BinOp::Or, active));
        let failed = self.b.let_(Expr::Failed);
        let fine = self.b.let_(Expr::Unary(UnOp::Not, failed));
        let go_on = self.b.let_(Expr::Binary(BinOp::And, any, fine));
        self.b.begin_body(go_on);
        self.set_mask(Some(active));
        self.open(inside, None, Vec::new());
        let next = self.lane_all(next)?;
        self.lane_all(checks)?;
        let mut after: Vec<Val> = Vec::new();
        for (n, old) in next.iter().zip(vars) {
            after.push(self.b.let_lanes(Expr::Select(active, *n, *old), count));
        }
        after.push(active);
        let mut end = self.b.end(&after);
        self.close();
        self.close();
        self.set_mask(outer);
        end.pop();
        Ok(end)
    }

    fn variable(&mut self, n: Node, k: u32) -> Res<Vec<Val>> {
        let vars = self.vars_of(n)?;
        vars.get(k as usize).map(|v| vec![*v]).ok_or_else(|| format!("{n} has no value"))
    }
}

/// Whether a function jumps over what numbers hardly ever need.
pub(super) fn has_branches(op: UnOp) -> bool {
    matches!(op, UnOp::Sin | UnOp::Cos | UnOp::Tan | UnOp::Log | UnOp::Log2 | UnOp::Log10 | UnOp::Log1p)
}

/// Whether a node takes a few instructions, and no loop or branch.
pub(super) fn is_plain(op: &Op) -> bool {
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
