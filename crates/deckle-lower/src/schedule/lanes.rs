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

use super::emit::{Emitter, Res};
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{Combine, Node, Op, Region, Space};
use deckle_ir::loops::{Expr, LoopHint, Stmt, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{Item, Level, Nest, Walks};

/// A vector of points: from `start` on, those of the mask.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub space: Space,
    /// What is traversed at its points.
    pub inside: Walks,
    pub count: u16,
    pub hint: StoreHint,
    pub start: Val,
    /// The lanes that count; all, if there is none.
    pub mask: Option<Val>,
}

impl Emitter<'_> {
    pub(super) fn vector(&self) -> Res<&Lane> {
        self.vectors.as_ref().ok_or_else(|| "not in lanes".to_string())
    }

    /// Where lanes are stored or loaded: a scalar where they follow each other.
    pub(super) fn place(&mut self, at: Node) -> Res<Val> {
        let space = self.vector()?.space;
        if self.facts.follows(at, space)
            && let Some(first) = self.first(at)?
        {
            return Ok(first);
        }
        self.lane_val(at)
    }

    /// The value in the first lane of an index that follows the position, if all else in it is the same for all lanes.
    fn first(&mut self, at: Node) -> Res<Option<Val>> {
        let at = self.facts.resolved(at);
        if !self.facts.varies(at) {
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
        if !self.facts.varies(n) {
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
        let n = self.facts.resolved(n);
        if !self.facts.varies(n) {
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

    /// Both branches, each under its mask, unless all lanes take the same.
    fn lane_if(&mut self, yes: Space, then: &[Node], no: Space, other: &[Node]) -> Res<Vec<Val>> {
        if let Some(holds) = self.facts.guard_holds(yes) {
            let (side, nodes) = if holds { (yes, then) } else { (no, other) };
            self.open(side, None, Vec::new());
            let vals = self.lane_all(nodes);
            self.close();
            return vals;
        }
        let (count, outer) = (self.vector()?.count, self.vector()?.mask);
        if self.facts.same_for_all(yes) {
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
        let state = self.lane_rounds(n, &path, state, elems, how)?;
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

    fn lane_rounds(
        &mut self,
        n: Node,
        path: &[Space],
        state: Vec<Val>,
        elems: &[Node],
        how: &Combine,
    ) -> Res<Vec<Val>> {
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
                let Nest::Level { level, inside, .. } = self.nest_of(*space, &[Item::Fold(n)])? else {
                    return Err(format!("the lanes around {space} cannot take different ways"));
                };
                let hint = if level == Level::Unrolled { LoopHint::Unroll } else { LoopHint::Plain };
                let (pos, params) = self.b.begin_for(lo, hi, 1, &state, hint);
                self.open_point(*space, Some(pos), &inside);
                let after = self.lane_rounds(n, rest, params, elems, how)?;
                self.close();
                Ok(self.b.end(&after))
            }
            Region::Guard(..) if self.facts.same_for_all(*space) => {
                let c = self.guard(*space)?;
                self.b.begin_if(c);
                self.open(*space, None, Vec::new());
                let after = self.lane_rounds(n, rest, state.clone(), elems, how)?;
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
                let after = self.lane_rounds(n, rest, state, elems, how)?;
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
