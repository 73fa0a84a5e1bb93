//! From a node to expressions: in one lane, or in all lanes of a vector.
//!
//! What is the same for all lanes is computed once, in one. Where a condition differs from lane to lane, both branches are computed under masks, and a loop goes on as long as any
//! lane does; where it does not, they are branches and loops as for one.

use super::emit::{Emitter, Res, Width};
use crate::facts::Rounds;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{self, Node, Op, Region, Space};
use deckle_ir::loops::{Expr, Stmt, Val};
use deckle_ir::scalar::Scalar;

/// A loop of the kernel IR: its variables, and what is computed in each round.
struct Loop<'n> {
    space: Space,
    init: &'n [Node],
    cond: Node,
    inside: Space,
    next: &'n [Node],
    checks: &'n [Node],
}

impl Emitter<'_> {
    /// The values of a node, in the block that is open.
    pub(super) fn make(&mut self, n: Node, w: Width) -> Res<Vec<Val>> {
        let expr = match self.p.node(n).op.clone() {
            Op::Const(c) => Expr::Const(c),
            Op::Pos => return Ok(vec![self.pos(n, w)?]),
            Op::Var(k) => {
                let vars = self.vars_of(n)?;
                return vars.get(k as usize).map(|v| vec![*v]).ok_or_else(|| format!("{n} has no value"));
            }
            Op::Unary(op, x) => Expr::Unary(op, self.value(x, w)?),
            Op::Binary(op, a, b) => match self.narrow_bound(op, a, b, w)? {
                Some((x, bound)) => Expr::Binary(op, x, bound),
                None => match self.narrow_comparison(op, a, b, w)? {
                    Some((number, x)) => Expr::Binary(op, number, x),
                    None => Expr::Binary(op, self.value(a, w)?, self.value(b, w)?),
                },
            },
            Op::Cast(to, x) => Expr::Cast(to, self.value(x, w)?),
            Op::Select(c, x, y) => Expr::Select(self.value(c, w)?, self.value(x, w)?, self.value(y, w)?),
            Op::Fma(x, y, z) => Expr::Fma(self.value(x, w)?, self.value(y, w)?, self.value(z, w)?),
            Op::Load(buf, at) => self.load(n, buf, at, w)?,
            Op::Check { value, .. } if self.p.settled.contains(&n) => return Ok(vec![self.value(value, w)?]),
            Op::Check { cond, value, site, operands } => return self.check(cond, value, (site.0, &operands), w),
            Op::Part(x, k) => {
                let vals = self.vals(x, w)?;
                return vals.get(k as usize).map(|v| vec![*v]).ok_or_else(|| format!("{x} has no part {k}"));
            }
            Op::Fold { .. } => return self.fold(n, w),
            Op::Scan { .. } => return self.scan(n, w),
            Op::If { yes, then, no, other } => return self.branch((yes, &then), (no, &other), w),
            Op::Loop { space, init, cond, inside, next, checks } => {
                let (init, next, checks) = (&init[..], &next[..], &checks[..]);
                return self.looped(&Loop { space, init, cond, inside, next, checks }, w);
            }
        };
        Ok(vec![self.let_(expr, w)?])
    }

    /// Defines a value.
    pub(super) fn let_(&mut self, expr: Expr, w: Width) -> Res<Val> {
        let lanes = self.lanes(w)?;
        Ok(self.b.let_lanes(expr, lanes))
    }

    /// A constant in every lane.
    fn constant_in(&mut self, c: Scalar, w: Width) -> Res<Val> {
        let (lanes, c) = (self.lanes(w)?, self.constant(c));
        Ok(self.b.splat(c, lanes))
    }

    fn pos(&mut self, n: Node, w: Width) -> Res<Val> {
        if w == Width::One {
            let (row, first) = (self.row_of(n), self.position(self.p.space_of(n))?);
            return Ok(self.b.add_const(first, row as i64));
        }
        let (start, count) = (self.vector()?.start, self.vector()?.count);
        let start = self.b.splat(start, count);
        let lanes = self.b.let_lanes(Expr::Lanes, count);
        self.let_(Expr::Binary(BinOp::Add, start, lanes), w)
    }

    fn load(&mut self, n: Node, buf: kernel::Buf, at: Node, w: Width) -> Res<Expr> {
        if let Some(load) = self.staged_load(n, w)? {
            return Ok(load);
        }
        if w == Width::Lanes {
            if let Some(load) = self.panel_load(n)? {
                return Ok(load);
            }
            if let Some(picked) = self.strided(n, buf, at)? {
                return Ok(picked);
            }
        }
        let buf = self.buf(buf)?;
        // Some lane needs it, and all need the same.
        if w == Width::Lanes && !self.facts.varies(at) && self.mask().is_none_or(|m| self.inhabited.contains(&m)) {
            let at = self.val(at)?;
            return Ok(Expr::Splat(self.b.let_(Expr::Load { buf, at, mask: None })));
        }
        let (at, mask) = self.place(at, w)?;
        Ok(Expr::Load { buf, at, mask })
    }

    fn check(&mut self, cond: Node, value: Node, (site, operands): (u32, &[Node]), w: Width) -> Res<Vec<Val>> {
        let c = self.value(cond, w)?;
        let zero = self.constant_in(Scalar::zero(self.p.ty(value)), w)?;
        if self.jumps && w == Width::One {
            let (v, yes) = (self.val(value)?, self.constant(Scalar::Bool(true)));
            self.b.begin_if(c);
            self.b.begin_else(&[v]);
            self.b.stmt(Stmt::Flag(yes));
            return Ok(self.b.end(&[zero]));
        }
        let bad = self.let_(Expr::Unary(UnOp::Not, c), w)?;
        if self.diagnose {
            let operands = self.all(operands)?;
            self.b.begin_if(bad);
            self.b.stmt(Stmt::Fail { site, operands });
            self.b.begin_else(&[]);
            self.b.end(&[]);
        }
        let bad = if w == Width::One { bad } else { self.narrowed(bad)? };
        self.b.stmt(Stmt::Flag(bad));
        let v = self.value(value, w)?;
        Ok(vec![self.let_(Expr::Select(c, v, zero), w)?])
    }

    /// Whether a guard holds.
    pub(super) fn guard(&mut self, s: Space, w: Width) -> Res<Val> {
        let Region::Guard(cond, when) = self.p.space(s).region else { return Err(format!("{s} is no guard")) };
        let c = self.value(cond, w)?;
        if when { Ok(c) } else { self.let_(Expr::Unary(UnOp::Not, c), w) }
    }

    /// A branch, if all lanes take the same; otherwise both, each under its mask.
    fn branch(&mut self, yes: (Space, &[Node]), no: (Space, &[Node]), w: Width) -> Res<Vec<Val>> {
        if let Some(holds) = self.facts.guard_holds(yes.0) {
            return self.side(if holds { yes } else { no }, w);
        }
        if w == Width::One || self.facts.same_for_all(yes.0) {
            let c = self.guard(yes.0, Width::One)?;
            self.b.begin_if(c);
            let a = self.side(yes, w)?;
            self.b.begin_else(&a);
            let b = self.side(no, w)?;
            return Ok(self.b.end(&b));
        }
        let c = self.guard(yes.0, w)?;
        let outer = self.mask();
        let mut sides = Vec::new();
        for side in [yes, no] {
            let holds = self.guard(side.0, w)?;
            let mask = self.narrowed(holds)?;
            sides.push(self.masked_side(side, mask)?);
            self.set_mask(outer);
        }
        let pairs = sides[0].iter().zip(&sides[1]);
        pairs.map(|(a, b)| self.let_(Expr::Select(c, *a, *b), w)).collect()
    }

    /// What is computed in the lanes of a mask. If it takes longer than a jump, it is jumped over where there are none.
    fn masked_side(&mut self, side: (Space, &[Node]), mask: Val) -> Res<Vec<Val>> {
        self.set_mask(Some(mask));
        if !self.facts.is_worth_a_jump(side.0, side.1) {
            return self.side(side, Width::Lanes);
        }
        let any = self.b.let_(Expr::Total(BinOp::Or, mask));
        self.b.begin_if(any);
        let known = self.inhabited.insert(mask);
        let vals = self.side(side, Width::Lanes)?;
        if known {
            self.inhabited.remove(&mask);
        }
        self.b.begin_else(&vals);
        let zero = |e: &mut Self, n: &Node| e.constant_in(Scalar::zero(e.p.ty(*n)), Width::Lanes);
        let zeros = side.1.iter().map(|n| zero(self, n)).collect::<Res<Vec<_>>>()?;
        Ok(self.b.end(&zeros))
    }

    /// What is computed where a guard holds.
    fn side(&mut self, (guard, nodes): (Space, &[Node]), w: Width) -> Res<Vec<Val>> {
        self.open(guard, None, Vec::new());
        let vals = self.values(nodes, w);
        self.close();
        vals
    }

    /// A loop. In lanes whose rounds are the same it is one for all of them, with what is the same computed once; otherwise it goes on as long as any lane does, and those
    /// that still go on are part of its state.
    fn looped(&mut self, l: &Loop<'_>, w: Width) -> Res<Vec<Val>> {
        let vars = l.init.len();
        let (widths, masked) = match w {
            Width::One => (vec![w; vars], false),
            Width::Lanes => match self.facts.rounds_of(l.space) {
                Rounds::Own => (vec![w; vars], true),
                Rounds::Same(same) => (same.iter().map(|s| if *s { Width::One } else { w }).collect(), false),
            },
        };
        let outer = self.mask();
        let mut state = self.values_in(l.init, &widths)?;
        if masked {
            let all = self.constant_in(Scalar::Bool(true), w)?;
            state.push(outer.unwrap_or(all));
        }
        let mut vars = self.b.begin_while(&state);
        if masked {
            let active = vars.pop();
            self.set_mask(active);
        }
        self.open(l.space, None, vars.clone());
        let mut goes_on = self.value(l.cond, if masked { w } else { Width::One })?;
        if masked {
            let active = self.narrowed(goes_on)?;
            self.set_mask(Some(active));
            goes_on = self.b.let_(Expr::Total(BinOp::Or, active));
            self.inhabited.insert(active);
        }
        // A failure may have made a loop endless.
        let failed = self.b.let_(Expr::Failed);
        let fine = self.b.let_(Expr::Unary(UnOp::Not, failed));
        let goes_on = self.b.let_(Expr::Binary(BinOp::And, goes_on, fine));
        self.b.begin_body(goes_on);
        self.open(l.inside, None, Vec::new());
        let mut next = self.values_in(l.next, &widths)?;
        self.values(l.checks, w)?;
        if masked {
            for (new, old) in next.iter_mut().zip(&vars) {
                *new = self.where_active(*new, *old);
            }
            next.extend(self.mask());
        }
        let mut after = self.b.end(&next);
        self.close();
        self.close();
        if masked {
            self.set_mask(outer);
            after.pop();
        }
        let lanes = self.lanes(w)?;
        Ok(after
            .into_iter()
            .zip(widths)
            .map(|(v, width)| if width == w { v } else { self.b.splat(v, lanes) })
            .collect())
    }

    /// The values of nodes, each as wide as it says.
    fn values_in(&mut self, nodes: &[Node], widths: &[Width]) -> Res<Vec<Val>> {
        nodes.iter().zip(widths).map(|(n, w)| self.value(*n, *w)).collect()
    }
}
