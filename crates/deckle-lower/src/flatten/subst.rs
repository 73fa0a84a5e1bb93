//! Moving computations to other points: the element at another index, a traversal in an inner context.
//!
//! A move maps some spaces to others. Nodes of a mapped space, or of one below it, are recreated there, with all
//! their dependencies; all others stay unchanged. As equal nodes are the same node, moving a computation to its own place costs nothing.

use super::control::Counter;
use super::value::{Arr, Val};
use super::{Flattener, Res};
use deckle_ir::kernel::{Combine, FoldSpec, Node, Op, Region, Space};
use deckle_ir::scalar::Scalar;
use std::collections::HashMap;
use std::rc::Rc;

/// The remaining stack below which more is allocated before recursing, and how much.
const RED_ZONE: usize = 64 << 10;
const MORE_STACK: usize = 1 << 20;

/// The state of a move.
#[derive(Default)]
struct Move {
    spaces: HashMap<Space, Space>,
    /// The replacements of the positions of mapped dimensions.
    positions: HashMap<Space, Node>,
    nodes: HashMap<Node, Node>,
    /// The guard whose folds, loops and conditionals are not moved, but computed before.
    once: Option<Guard>,
}

/// One of the two guards of a condition: its space, the condition, and the required value.
#[derive(Clone, Copy)]
pub(super) struct Guard {
    pub ctx: Space,
    pub cond: Node,
    pub when: bool,
}

impl Flattener<'_> {
    /// `elem`, of the dimension `dim`, at an index in a context.
    pub(super) fn element(&mut self, dim: Space, elem: &Val, index: Node, ctx: Space) -> Val {
        let mut m = Move::default();
        m.spaces.insert(dim, ctx);
        m.positions.insert(dim, index);
        self.move_val(elem, &mut m)
    }

    /// Moves a value from spaces to others.
    pub(super) fn move_to(&mut self, val: &Val, spaces: &[(Space, Space)]) -> Val {
        let mut m = Move { spaces: spaces.iter().copied().collect(), ..Move::default() };
        self.move_val(val, &mut m)
    }

    /// Moves a value from spaces to others, where one scalar has another value.
    pub(super) fn renumbered(&mut self, val: &Val, (from, to): (Node, Node), spaces: &[(Space, Space)]) -> Val {
        let nodes = HashMap::from([(from, to)]);
        let mut m = Move { spaces: spaces.iter().copied().collect(), nodes, ..Move::default() };
        self.move_val(val, &mut m)
    }

    /// Moves a value of a guard to the same guard below a dimension. A value that takes a loop and does not depend on that dimension is computed before it, once.
    pub(super) fn move_below(&mut self, val: &Val, guard: Guard, to: Space) -> Val {
        let from = self.k.guard(guard.ctx, guard.cond, guard.when);
        let mut m = Move { once: Some(guard), ..Move::default() };
        m.spaces.insert(from, to);
        self.move_val(val, &mut m)
    }

    /// A part of a fold, loop or conditional of a guard that is computed once: as a value of the space around the guard.
    fn computed_once(&mut self, n: Node, m: &Move) -> Option<Node> {
        let Guard { ctx, cond, when } = m.once?;
        let Op::Part(of, _) = self.k.node(n).op else { return None };
        let takes_a_loop = matches!(self.k.node(of).op, Op::Fold { .. } | Op::Loop { .. } | Op::If { .. });
        let mine = self.k.space_of(of) == self.k.guard(ctx, cond, when);
        (takes_a_loop && mine).then(|| {
            let zero = self.k.constant(Scalar::zero(self.k.ty(n)));
            self.branch(ctx, cond, when, &[n], &[zero])[0]
        })
    }

    /// Moves a traversal to an inner context.
    pub(super) fn move_chain(&mut self, home: Space, inner: Space, elem: &Val, ctx: Space) -> (Space, Val) {
        let mut m = Move::default();
        let mut parent = ctx;
        for s in self.k.between(home, inner) {
            parent = match self.k.space(s).region {
                Region::Dim(n) => {
                    let n = self.move_node(n, &mut m);
                    self.k.dim(parent, n)
                }
                Region::Guard(c, when) => {
                    let c = self.move_node(c, &mut m);
                    self.k.guard(parent, c, when)
                }
                _ => parent,
            };
            m.spaces.insert(s, parent);
        }
        (parent, self.move_val(elem, &mut m))
    }

    /// The same traversal, with every condition on its path that needs a loop stored as an array and loaded. Storing the points of a filter traverses it several times: to count
    /// them, to number them, and to write their elements. Each traversal would compute the condition again, and compile it again.
    pub(super) fn with_masks(&mut self, inner: Space, elem: &Val, ctx: Space) -> Res<(Space, Val)> {
        let path = self.k.between(ctx, inner);
        let Some(first) = path.iter().copied().find(|s| self.heavy_condition(*s).is_some()) else {
            return Ok((inner, elem.clone()));
        };
        // Checks inside the condition are made after it.
        let inside: Vec<Node> =
            self.pending.iter().copied().filter(|n| self.k.encloses(first, self.k.space_of(*n))).collect();
        self.pending.retain(|n| !inside.contains(n));
        let mut m = Move::default();
        let mut to = ctx;
        for s in path {
            to = match self.heavy_condition(s) {
                Some((cond, when)) => {
                    let cond = self.move_node(cond, &mut m);
                    let mask = self.mask(cond, to)?;
                    let guard = self.k.guard(to, mask, when);
                    m.spaces.insert(s, guard);
                    guard
                }
                None => self.move_space(s, &mut m),
            };
        }
        for n in inside {
            let n = self.move_node(n, &mut m);
            self.pending.insert(n);
        }
        Ok((to, self.move_val(elem, &mut m)))
    }

    /// The condition of a guard, if it takes a loop that is not unrolled.
    fn heavy_condition(&self, s: Space) -> Option<(Node, bool)> {
        let Region::Guard(cond, when) = self.k.space(s).region else { return None };
        let is_short = |over: Space| match self.k.space(over).region {
            Region::Dim(n) => self.k.as_int(n).is_some_and(|n| n <= self.options.cuts.unrolled),
            _ => false,
        };
        let is_loop = |n: &Node| match self.k.node(*n).op {
            Op::Fold { over, .. } => !self.k.between(self.k.space_of(*n), over).into_iter().all(is_short),
            Op::Loop { .. } => true,
            _ => false,
        };
        self.k.needs_to_run(&[cond]).iter().any(is_loop).then_some((cond, when))
    }

    /// A condition at the points of a space, loaded from its array.
    fn mask(&mut self, cond: Node, space: Space) -> Res<Node> {
        if let Some(mask) = self.scopes().find_map(|s| s.masks.get(&cond)) {
            return Ok(*mask);
        }
        let mask = self.load_of(cond, space, &format!("the list of conditions of {}", self.name))?;
        self.here.scope.masks.insert(cond, mask);
        Ok(mask)
    }

    fn move_val(&mut self, val: &Val, m: &mut Move) -> Val {
        match val {
            Val::Scalar(n) => Val::Scalar(self.move_node(*n, m)),
            Val::Tuple(parts) => Val::tuple(parts.iter().map(|p| self.move_val(p, m)).collect()),
            Val::Array(arr) => match &**arr {
                Arr::Kept { size, base, rep } => {
                    let (size, base) = (self.move_node(*size, m), self.move_node(*base, m));
                    Val::array(Arr::Kept { size, base, rep: Rc::clone(rep) })
                }
                Arr::Body { dim, elem, linear } => {
                    let dim = self.move_space(*dim, m);
                    let elem = self.move_val(elem, m);
                    Val::array(Arr::Body { dim, elem, linear: *linear })
                }
                Arr::Chain { home, inner, elem, size, linear } => {
                    let size = size.map(|n| self.move_node(n, m));
                    let (home, inner) = (self.move_space(*home, m), self.move_space(*inner, m));
                    let elem = self.move_val(elem, m);
                    Val::array(Arr::Chain { home, inner, elem, size, linear: *linear })
                }
            },
        }
    }

    fn is_moved(&self, s: Space, m: &Move) -> bool {
        let mut s = s;
        loop {
            if m.spaces.contains_key(&s) {
                return true;
            }
            let parent = self.k.space(s).parent;
            if parent == s {
                return false;
            }
            s = parent;
        }
    }

    fn move_space(&mut self, s: Space, m: &mut Move) -> Space {
        if let Some(to) = m.spaces.get(&s) {
            return *to;
        }
        if !self.is_moved(s, m) {
            return s;
        }
        let data = *self.k.space(s);
        let parent = self.move_space(data.parent, m);
        let to = match data.region {
            Region::Root => s,
            Region::Dim(n) => {
                let n = self.move_node(n, m);
                self.k.dim(parent, n)
            }
            Region::Guard(c, when) => {
                let c = self.move_node(c, m);
                self.k.guard(parent, c, when)
            }
            Region::Loop => self.k.new_loop(parent),
            Region::Lambda => self.k.new_lambda(parent),
        };
        m.spaces.insert(s, to);
        to
    }

    fn move_node(&mut self, n: Node, m: &mut Move) -> Node {
        if let Some(to) = m.nodes.get(&n) {
            return *to;
        }
        let space = self.k.space_of(n);
        if !self.is_moved(space, m) {
            return n;
        }
        let to = match self.computed_once(n, m) {
            Some(to) => to,
            None => stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.move_op(n, space, m)),
        };
        m.nodes.insert(n, to);
        to
    }

    fn move_all(&mut self, nodes: &[Node], m: &mut Move) -> Vec<Node> {
        nodes.iter().map(|n| self.move_node(*n, m)).collect()
    }

    fn move_combine(&mut self, combine: &Combine, m: &mut Move) -> Combine {
        match combine {
            Combine::Ops(_) => combine.clone(),
            Combine::Lambda(s, results) => {
                let s = self.move_space(*s, m);
                Combine::Lambda(s, self.move_all(results, m))
            }
            Combine::InOrder(s, results) => {
                let s = self.move_space(*s, m);
                Combine::InOrder(s, self.move_all(results, m))
            }
        }
    }

    fn move_op(&mut self, n: Node, space: Space, m: &mut Move) -> Node {
        let op = self.k.node(n).op.clone();
        let ty = self.k.ty(n);
        match op {
            Op::Const(_) => n,
            Op::Pos => match m.positions.get(&space) {
                Some(index) => *index,
                None => {
                    let to = self.move_space(space, m);
                    self.k.pos(to)
                }
            },
            Op::Var(k) => {
                let to = self.move_space(space, m);
                let var = self.k.var(to, k, ty);
                if let Some(Counter { most, limit }) = self.counters.get(&n).copied() {
                    let limit = self.move_node(limit, m);
                    self.counters.insert(var, Counter { most, limit });
                }
                if let Some(most) = self.natural.get(&n).copied() {
                    self.natural.insert(var, most);
                }
                var
            }
            Op::Unary(op, x) => {
                let x = self.move_node(x, m);
                self.k.unary(op, x)
            }
            Op::Binary(op, a, b) => {
                let (a, b) = (self.move_node(a, m), self.move_node(b, m));
                let ctx = self.move_space(space, m);
                self.compared(op, a, b, ctx)
            }
            Op::Cast(to, x) => {
                let x = self.move_node(x, m);
                self.k.cast(to, x)
            }
            Op::Select(c, x, y) => {
                let (c, x, y) = (self.move_node(c, m), self.move_node(x, m), self.move_node(y, m));
                self.k.select(c, x, y)
            }
            Op::Fma(x, y, z) => {
                let (x, y, z) = (self.move_node(x, m), self.move_node(y, m), self.move_node(z, m));
                self.k.fma(x, y, z)
            }
            Op::Load(buf, at) => {
                let at = self.move_node(at, m);
                let ctx = self.move_space(space, m);
                self.k.load(buf, at, ctx)
            }
            Op::Check { cond, value, site, operands } => {
                let (cond, value) = (self.move_node(cond, m), self.move_node(value, m));
                let operands = self.move_all(&operands, m);
                let ctx = self.move_space(space, m);
                self.k.check(cond, value, site, operands, ctx)
            }
            Op::Fold { over, init, elems, combine } => {
                let ctx = self.move_space(space, m);
                let over = self.move_space(over, m);
                let init = init.map(|i| self.move_all(&i, m));
                let elems = self.move_all(&elems, m);
                let combine = self.move_combine(&combine, m);
                self.k.fold(over, FoldSpec { init, elems, combine }, ctx)
            }
            Op::Scan { from, init, elems, combine, exclusive } => {
                let (over, from) = (self.move_space(space, m), self.move_space(from, m));
                let init = init.map(|i| self.move_all(&i, m));
                let elems = self.move_all(&elems, m);
                let combine = self.move_combine(&combine, m);
                self.k.scan(over, from, FoldSpec { init, elems, combine }, exclusive)
            }
            Op::If { yes, then, no, other } => {
                let ctx = self.move_space(space, m);
                let (yes, no) = (self.move_space(yes, m), self.move_space(no, m));
                let (then, other) = (self.move_all(&then, m), self.move_all(&other, m));
                self.k.intern(Op::If { yes, then, no, other }, ty, ctx)
            }
            Op::Loop { space: rounds, init, cond, inside, next, checks } => {
                let ctx = self.move_space(space, m);
                let init = self.move_all(&init, m);
                let rounds = self.move_space(rounds, m);
                let cond = self.move_node(cond, m);
                let inside = self.move_space(inside, m);
                let next = self.move_all(&next, m);
                let checks = self.move_all(&checks, m);
                self.k.intern(Op::Loop { space: rounds, init, cond, inside, next, checks }, ty, ctx)
            }
            Op::Part(x, k) => {
                let x = self.move_node(x, m);
                self.k.part(x, k)
            }
        }
    }
}
