//! From nodes to statements.
//!
//! Code is made on demand. To open a space is to open a loop or a branch; each open space remembers the values of its nodes. Where a node is asked for, it is
//! computed in the block of its own space, which is open: so what does not depend on a loop comes to stand before it.
//!
//! A fold is a loop that carries its value. Folds, scans and sinks over the same space can share a loop; a [`Item`] is one of them.

use crate::facts::{Facts, is_one_value, parts_of, unit, with_stack};
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{self, Combine, Node, Op, Program, ROOT, Region, Sink, Space};
use deckle_ir::loops::{Access, Buf, Builder, Expr, Stmt, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{self, Item, Nest, Walks};
use std::collections::HashMap;

use super::Purpose;
use super::warp::Grid;

/// A schedule that does not work out: a bug.
pub(super) type Res<T> = Result<T, String>;

/// A fold or scan under way.
#[derive(Clone, Debug)]
pub(super) struct Acc {
    pub vals: Vec<Val>,
    /// Whether there is a value yet, where that is not certain.
    pub has: Option<Val>,
    /// What comes before all of this, for a scan that starts in the middle.
    pub before: Option<Box<Acc>>,
}

/// The values of nodes, for each row where they differ.
type Memo = HashMap<(Node, usize), Vec<Val>>;

struct Scope {
    space: Space,
    depth: usize,
    pos: Option<Val>,
    vars: Vec<Val>,
    memo: Memo,
    lanes: Memo,
    /// The mask under which it was opened, in lanes.
    mask: Option<Val>,
    /// What the schedule traverses at its points; those of the space around, if there is nothing.
    inside: Option<Walks>,
}

pub(super) struct Emitter<'k> {
    pub p: &'k Program,
    pub sinks: &'k [Sink],
    pub facts: Facts<'k>,
    pub b: Builder,
    bufs: HashMap<kernel::Buf, Buf>,
    scopes: Vec<Scope>,
    pub accs: HashMap<Node, Acc>,
    /// Whether failures are recorded rather than flagged.
    pub diagnose: bool,
    /// Whether a check is a jump: where one point comes after another, one that is always taken costs least.
    pub jumps: bool,
    /// Whether there are checks at all.
    pub can_fail: bool,
    pub grid: Grid,
    /// The vectors in which code is being made.
    pub vectors: Option<super::lanes::Lane>,
    /// The rows for which code is being made together.
    pub tile: Option<super::tile::Tile>,
    /// Buffers that each thread needs for itself: of what, and how many.
    pub private: Vec<(ScalarType, usize)>,
    /// Where the array begins that is scattered into, if it is one of several.
    pub scatter_to: Option<Val>,
    /// Where the first lane goes that a scan numbers, for scans that only do that.
    pub packed: HashMap<Node, Val>,
    /// The rows that have been folded, where code is being made for some of them.
    pub window: Option<super::short::Window>,
    /// How rows of different lengths are gone through.
    pub rows: Option<super::rows::RowBlocks>,
}

impl<'k> Emitter<'k> {
    /// A function over these buffers, those that are written told by a flag, with what its schedule traverses from the root on.
    pub(super) fn new(
        p: &'k Program,
        sinks: &'k [Sink],
        name: &str,
        buffers: &[(kernel::Buf, bool)],
        purpose: Purpose,
        walks: Walks,
    ) -> Emitter<'k> {
        let mut b = Builder::new(name);
        let mut bufs = HashMap::new();
        for (buf, written) in buffers {
            let access = if *written { Access::Write } else { Access::Read };
            bufs.insert(*buf, b.buffer(p.bufs[buf.index()].elem, access));
        }
        let root = Scope {
            space: ROOT,
            depth: 0,
            pos: None,
            vars: Vec::new(),
            memo: HashMap::new(),
            lanes: HashMap::new(),
            mask: None,
            inside: Some(walks),
        };
        Emitter {
            p,
            sinks,
            b,
            bufs,
            facts: Facts::new(p, sinks, purpose.cuts),
            scopes: vec![root],
            accs: HashMap::new(),
            diagnose: purpose.diagnose,
            jumps: false,
            can_fail: sinks.iter().any(|s| p.sink_needs(s).iter().any(|n| matches!(p.node(*n).op, Op::Check { .. }))),
            grid: Grid::default(),
            vectors: None,
            tile: None,
            private: Vec::new(),
            scatter_to: None,
            packed: HashMap::new(),
            window: None,
            rows: None,
        }
    }

    /// The value of a node where code is being made.
    pub(super) fn val(&mut self, n: Node) -> Res<Val> {
        self.vals(n)?.first().copied().ok_or_else(|| format!("{n} has no value"))
    }

    pub(super) fn all(&mut self, nodes: &[Node]) -> Res<Vec<Val>> {
        nodes.iter().map(|n| self.val(*n)).collect()
    }

    pub(super) fn vals(&mut self, n: Node) -> Res<Vec<Val>> {
        if let Some(holds) = self.facts.truth(n) {
            return Ok(vec![self.constant(Scalar::Bool(holds))]);
        }
        let n = self.facts.resolved(n);
        let k = self.scope_of(n)?;
        let key = (n, self.row_of(n));
        if let Some(vals) = self.scopes[k].memo.get(&key) {
            return Ok(vals.clone());
        }
        let vals = self.deeper(k, |e| e.make(n))?;
        self.scopes[k].memo.insert(key, vals.clone());
        Ok(vals)
    }

    /// Makes code in the block of an open space.
    fn at_scope<R>(&mut self, k: usize, f: impl FnOnce(&mut Self) -> Res<R>) -> Res<R> {
        if k + 1 == self.scopes.len() && self.scopes[k].depth == self.b.depth() {
            return f(self);
        }
        let inner = self.scopes.split_off(k + 1);
        let depth = self.scopes[k].depth;
        let mut b = std::mem::replace(&mut self.b, Builder::new(""));
        let result = b.at_depth(depth, |b| {
            std::mem::swap(b, &mut self.b);
            let result = f(self);
            std::mem::swap(b, &mut self.b);
            result
        });
        self.b = b;
        self.scopes.extend(inner);
        result
    }

    /// The open spaces, from the root on.
    pub(super) fn around(&self) -> impl DoubleEndedIterator<Item = Space> + '_ {
        self.scopes.iter().map(|s| s.space)
    }

    /// Lets what is computed for the root from now on stand in the innermost block.
    pub(super) fn root_here(&mut self) {
        self.scopes[0].depth = self.b.depth();
    }

    /// Gives a node of the innermost open space values that come from elsewhere.
    pub(super) fn set_here(&mut self, n: Node, vals: Vec<Val>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.memo.insert((n, 0), vals);
        }
    }

    /// Gives a node of the root values that come from elsewhere.
    pub(super) fn set(&mut self, n: Node, vals: Vec<Val>) {
        self.scopes[0].memo.insert((n, 0), vals);
    }

    pub(super) fn constant(&mut self, c: Scalar) -> Val {
        self.b.let_(Expr::Const(c))
    }

    fn make(&mut self, n: Node) -> Res<Vec<Val>> {
        let data = self.p.node(n).clone();
        let expr = match data.op {
            Op::Const(c) => Expr::Const(c),
            Op::Pos => {
                let row = self.row_of(n);
                let first = self.position(data.space)?;
                return Ok(vec![self.b.add_const(first, row as i64)]);
            }
            Op::Var(k) => {
                let var = self.scopes.last().and_then(|s| s.vars.get(k as usize));
                return var.map(|v| vec![*v]).ok_or_else(|| format!("{n} has no value"));
            }
            Op::Unary(op, x) => Expr::Unary(op, self.val(x)?),
            Op::Binary(op, a, b) => Expr::Binary(op, self.val(a)?, self.val(b)?),
            Op::Cast(to, x) => Expr::Cast(to, self.val(x)?),
            Op::Select(c, x, y) => Expr::Select(self.val(c)?, self.val(x)?, self.val(y)?),
            Op::Fma(x, y, z) => Expr::Fma(self.val(x)?, self.val(y)?, self.val(z)?),
            Op::Load(buf, at) => Expr::Load { buf: self.buf(buf)?, at: self.val(at)?, mask: None },
            Op::Check { cond, value, site, operands } => return self.check(cond, value, site.0, &operands),
            Op::Part(x, k) => {
                let vals = self.vals(x)?;
                return vals.get(k as usize).map(|v| vec![*v]).ok_or_else(|| format!("{x} has no part {k}"));
            }
            Op::Fold { .. } => return self.fold(n),
            Op::Scan { .. } => return self.scanned(n),
            Op::If { yes, then, no, other } => return self.branch(yes, &then, no, &other),
            Op::Loop { space, init, cond, inside, next, checks } => {
                return self.looped(space, &init, cond, inside, &next, &checks);
            }
        };
        Ok(vec![self.b.let_(expr)])
    }

    pub(super) fn buf(&self, buf: kernel::Buf) -> Res<Buf> {
        self.bufs.get(&buf).copied().ok_or_else(|| format!("{buf} is not passed"))
    }

    fn check(&mut self, cond: Node, value: Node, site: u32, operands: &[Node]) -> Res<Vec<Val>> {
        let c = self.val(cond)?;
        let zero = self.constant(Scalar::zero(self.p.ty(value)));
        if self.jumps {
            let (v, yes) = (self.val(value)?, self.constant(Scalar::Bool(true)));
            self.b.begin_if(c);
            self.b.begin_else(&[v]);
            self.b.stmt(Stmt::Flag(yes));
            return Ok(self.b.end(&[zero]));
        }
        let bad = self.b.let_(Expr::Unary(UnOp::Not, c));
        if self.diagnose {
            let operands = self.all(operands)?;
            self.b.begin_if(bad);
            self.b.stmt(Stmt::Fail { site, operands });
            self.b.begin_else(&[]);
            self.b.end(&[]);
        }
        self.b.stmt(Stmt::Flag(bad));
        let v = self.val(value)?;
        Ok(vec![self.b.let_(Expr::Select(c, v, zero))])
    }

    pub(super) fn open(&mut self, space: Space, pos: Option<Val>, vars: Vec<Val>) {
        self.open_with(space, pos, vars, None);
    }

    /// Opens a point of a dimension, and what the schedule traverses there.
    pub(super) fn open_point(&mut self, dim: Space, pos: Option<Val>, inside: &Walks) {
        self.open_with(dim, pos, Vec::new(), Some(inside.clone()));
    }

    fn open_with(&mut self, space: Space, pos: Option<Val>, vars: Vec<Val>, inside: Option<Walks>) {
        let mask = self.vectors.as_ref().and_then(|l| l.mask);
        let (memo, lanes) = (HashMap::new(), HashMap::new());
        self.scopes.push(Scope { space, depth: self.b.depth(), pos, vars, memo, lanes, mask, inside });
    }

    /// How the schedule traverses a dimension for some items.
    pub(super) fn nest_of(&self, dim: Space, items: &[Item]) -> Res<Nest> {
        let walks = self.scopes.iter().rev().find_map(|s| s.inside.as_ref());
        let walk = walks.and_then(|walks| schedule::find(walks, dim, items));
        let missing = || {
            let items: Vec<String> = items.iter().map(Item::to_string).collect();
            format!("the schedule has no walk over {dim} for {} here", items.join(", "))
        };
        walk.map(|w| w.nest.clone()).ok_or_else(missing)
    }

    /// What the schedule traverses at a point of a dimension that is opened on its own.
    pub(super) fn inside_of_point(&self, dim: Space) -> Res<Walks> {
        match self.nest_of(dim, &[])? {
            Nest::Level { inside, .. } => Ok(inside),
            Nest::When(..) => Err(format!("a point of {dim} on its own is traversed in one way")),
        }
    }

    /// Makes code in these vectors from now on, or in scalars; returns what was before.
    pub(super) fn set_vectors(&mut self, lane: Option<super::lanes::Lane>) -> Option<super::lanes::Lane> {
        self.facts.set_lane(lane.as_ref().map(|l| l.space));
        std::mem::replace(&mut self.vectors, lane)
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    /// The open space in which a node is computed.
    pub(super) fn scope_of(&self, n: Node) -> Res<usize> {
        let space = self.p.space_of(n);
        self.scopes.iter().rposition(|s| s.space == space).ok_or_else(|| format!("{n} is asked for outside {space}"))
    }

    /// The position in an open dimension; in a tile, of the first row.
    pub(super) fn position(&self, dim: Space) -> Res<Val> {
        let scope = self.scopes.iter().rfind(|s| s.space == dim);
        scope.and_then(|s| s.pos).ok_or_else(|| format!("{dim} has no position"))
    }

    pub(super) fn lane_memo(&mut self, scope: usize, n: Node) -> Option<Vec<Val>> {
        let key = (n, self.row_of(n));
        self.scopes[scope].lanes.get(&key).cloned()
    }

    pub(super) fn remember_lanes(&mut self, scope: usize, n: Node, vals: Vec<Val>) {
        let key = (n, self.row_of(n));
        self.scopes[scope].lanes.insert(key, vals);
    }

    /// The mask under which an open space was opened.
    pub(super) fn mask_at(&self, scope: usize) -> Option<Val> {
        self.scopes[scope].mask
    }

    /// Makes code in the block of an open space, with room on the stack.
    pub(super) fn deeper<R>(&mut self, scope: usize, f: impl FnOnce(&mut Self) -> Res<R>) -> Res<R> {
        with_stack(|| self.at_scope(scope, f))
    }

    /// The variables of the loop or lambda of a node.
    pub(super) fn vars_of(&self, n: Node) -> Res<Vec<Val>> {
        Ok(self.scopes[self.scope_of(n)?].vars.clone())
    }

    pub(super) fn guard(&mut self, s: Space) -> Res<Val> {
        let Region::Guard(cond, when) = self.p.space(s).region else { return Err(format!("{s} is no guard")) };
        let c = self.val(cond)?;
        Ok(if when { c } else { self.b.let_(Expr::Unary(UnOp::Not, c)) })
    }

    fn branch(&mut self, yes: Space, then: &[Node], no: Space, other: &[Node]) -> Res<Vec<Val>> {
        if let Some(holds) = self.facts.guard_holds(yes) {
            let (side, nodes) = if holds { (yes, then) } else { (no, other) };
            self.open(side, None, Vec::new());
            let vals = self.all(nodes);
            self.scopes.pop();
            return vals;
        }
        let c = self.guard(yes)?;
        self.b.begin_if(c);
        self.open(yes, None, Vec::new());
        let a = self.all(then)?;
        self.scopes.pop();
        self.b.begin_else(&a);
        self.open(no, None, Vec::new());
        let b = self.all(other)?;
        self.scopes.pop();
        Ok(self.b.end(&b))
    }

    fn looped(
        &mut self,
        space: Space,
        init: &[Node],
        cond: Node,
        inside: Space,
        next: &[Node],
        checks: &[Node],
    ) -> Res<Vec<Val>> {
        let init = self.all(init)?;
        let params = self.b.begin_while(&init);
        self.open(space, None, params);
        let c = self.val(cond)?;
        // A failure may have made a loop endless.
        let failed = self.b.let_(Expr::Failed);
        let fine = self.b.let_(Expr::Unary(UnOp::Not, failed));
        let c = self.b.let_(Expr::Binary(BinOp::And, c, fine));
        self.b.begin_body(c);
        self.open(inside, None, Vec::new());
        let next = self.all(next)?;
        self.all(checks)?;
        let after = self.b.end(&next);
        self.scopes.pop();
        self.scopes.pop();
        Ok(after)
    }

    /// Two values combined.
    pub(super) fn combine(&mut self, how: &Combine, left: &[Val], right: &[Val]) -> Res<Vec<Val>> {
        match how {
            Combine::Ops(ops) => {
                let pairs = ops.iter().zip(left.iter().zip(right));
                Ok(pairs.map(|(op, (a, b))| self.b.let_(Expr::Assoc(*op, *a, *b))).collect())
            }
            Combine::Lambda(space, results) | Combine::InOrder(space, results) => {
                self.open(*space, None, [left, right].concat());
                let results = self.all(results);
                self.scopes.pop();
                results
            }
        }
    }

    /// One more value for a fold or scan.
    pub(super) fn step(&mut self, how: &Combine, acc: &Acc, elems: &[Val], has: Option<Val>) -> Res<Acc> {
        let Some(before) = acc.has else {
            // There is a value. The other one may be none.
            let next = match has {
                None => self.combine(how, &acc.vals, elems)?,
                Some(has) => {
                    self.b.begin_if(has);
                    let next = self.combine(how, &acc.vals, elems)?;
                    self.b.begin_else(&next);
                    self.b.end(&acc.vals)
                }
            };
            return Ok(Acc { vals: next, ..acc.clone() });
        };
        let yes = self.constant(Scalar::Bool(true));
        let (vals, after) = match how {
            Combine::Ops(_) if has.is_none() => {
                // The start changes nothing, so that there is none does not matter.
                (self.combine(how, &acc.vals, elems)?, yes)
            }
            _ => {
                let there = has.unwrap_or(yes);
                let both = self.b.let_(Expr::Binary(BinOp::And, before, there));
                self.b.begin_if(both);
                let next = self.combine(how, &acc.vals, elems)?;
                self.b.begin_else(&next);
                let mut one = Vec::new();
                for (a, e) in acc.vals.iter().zip(elems) {
                    one.push(self.b.let_(Expr::Select(there, *e, *a)));
                }
                let vals = self.b.end(&one);
                (vals, self.b.let_(Expr::Binary(BinOp::Or, before, there)))
            }
        };
        Ok(Acc { vals, has: Some(after), before: acc.before.clone() })
    }

    /// Nothing yet, of these types.
    pub(super) fn nothing(&mut self, how: &Combine, types: &[ScalarType]) -> Acc {
        let no = self.constant(Scalar::Bool(false));
        let vals = types
            .iter()
            .enumerate()
            .map(|(i, ty)| {
                let unit = match how {
                    Combine::Ops(ops) => unit(ops[i], *ty),
                    Combine::Lambda(..) | Combine::InOrder(..) => None,
                };
                self.constant(unit.unwrap_or(Scalar::zero(*ty)))
            })
            .collect();
        Acc { vals, has: Some(no), before: None }
    }

    /// What a fold or scan starts from.
    pub(super) fn start(&mut self, n: Node) -> Res<Acc> {
        let (init, elems, how) = parts_of(self.p, n)?;
        match init {
            Some(init) => Ok(Acc { vals: self.all(init)?, has: None, before: None }),
            None => {
                let types: Vec<ScalarType> = elems.iter().map(|e| self.p.ty(*e)).collect();
                Ok(self.nothing(how, &types))
            }
        }
    }

    fn fold(&mut self, n: Node) -> Res<Vec<Val>> {
        if let Some(parts) = self.warp_fold(n)? {
            return Ok(parts);
        }
        let here = self.scopes.last().map_or(ROOT, |s| s.space);
        let acc = self.start(n)?;
        self.accs.insert(n, acc);
        // It is the same for all lanes of the vectors around, and may have lanes of its own.
        let vectors = self.set_vectors(None);
        self.traverse(here, &[Item::Fold(n)], None)?;
        self.set_vectors(vectors);
        self.folded(n)
    }

    /// The parts of a fold that has been gone through.
    pub(super) fn folded(&mut self, n: Node) -> Res<Vec<Val>> {
        let acc = self.accs.remove(&n).ok_or_else(|| format!("{n} is not folded"))?;
        let (_, elems, _) = parts_of(self.p, n)?;
        let yes = self.constant(Scalar::Bool(true));
        let has = acc.has.unwrap_or(yes);
        let mut parts = Vec::new();
        for (v, e) in acc.vals.into_iter().zip(elems) {
            // Of nothing, zero.
            let ty = self.p.ty(*e);
            parts.push(match acc.has {
                Some(has) => {
                    let zero = self.constant(Scalar::zero(ty));
                    self.b.let_(Expr::Select(has, v, zero))
                }
                None => v,
            });
        }
        parts.push(has);
        Ok(parts)
    }

    /// Goes through all points of the items, from a space on which is open. `range` restricts the first dimension.
    pub(super) fn traverse(&mut self, from: Space, items: &[Item], range: Option<(Val, Val)>) -> Res<()> {
        let mut items = self.facts.with_scans(from, items);
        let mut fresh = Vec::new();
        for item in &items {
            if let Item::Scan(n) = item
                && !self.accs.contains_key(n)
            {
                let acc = self.start(*n)?;
                self.accs.insert(*n, acc);
                fresh.push(*n);
            }
        }
        while let Some(first) = items.first().copied() {
            let next = self.facts.below(from, self.facts.space_of(first))?;
            let (mine, rest): (Vec<Item>, Vec<Item>) =
                items.into_iter().partition(|i| self.facts.below(from, self.facts.space_of(*i)) == Ok(next));
            self.enter(next, &mine, range)?;
            items = rest;
        }
        for n in fresh {
            self.accs.remove(&n);
        }
        Ok(())
    }

    /// The values that go from round to round.
    pub(super) fn carried(&mut self, nodes: &[Node]) -> Vec<Val> {
        nodes.iter().filter_map(|n| self.accs.get(n)).flat_map(|a| a.vals.iter().chain(&a.has).copied()).collect()
    }

    pub(super) fn carry(&mut self, nodes: &[Node], vals: &[Val]) {
        let mut vals = vals.iter().copied();
        for n in nodes {
            if let Some(acc) = self.accs.get_mut(n) {
                acc.vals.iter_mut().chain(&mut acc.has).zip(&mut vals).for_each(|(a, v)| *a = v);
            }
        }
    }

    pub(super) fn inside(&mut self, space: Space, items: &[Item]) -> Res<()> {
        let (here, deeper): (Vec<Item>, Vec<Item>) = items.iter().partition(|i| self.facts.space_of(**i) == space);
        for item in &here {
            match *item {
                Item::Sink(i) => self.sink(&self.sinks[i])?,
                Item::Scan(n) => {
                    self.vals(n)?;
                }
                Item::Fold(n) => {
                    let (_, elems, how) = parts_of(self.p, n)?;
                    let elems = self.all(elems)?;
                    let acc = self.accs.get(&n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
                    let acc = self.step(how, &acc, &elems, None)?;
                    self.accs.insert(n, acc);
                }
            }
        }
        if !deeper.is_empty() {
            self.traverse(space, &deeper, None)?;
        }
        Ok(())
    }

    /// The value of a scan at a point, which also goes on to the next.
    fn scanned(&mut self, n: Node) -> Res<Vec<Val>> {
        let Op::Scan { exclusive, .. } = self.p.node(n).op else { return Err(format!("{n} is no scan")) };
        let (_, elems, how) = parts_of(self.p, n)?;
        let elems = self.all(elems)?;
        let acc = self.accs.get(&n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
        let next = self.step(how, &acc, &elems, None)?;
        self.accs.insert(n, next.clone());
        let shown = if exclusive { acc } else { next };
        match shown.before.clone() {
            None => Ok(shown.vals),
            Some(before) => Ok(self.step(how, &before, &shown.vals, shown.has)?.vals),
        }
    }

    pub(super) fn sink(&mut self, sink: &Sink) -> Res<()> {
        if self.grid_sink(sink)? {
            return Ok(());
        }
        match sink {
            Sink::Write { buf, at, value, .. } => {
                let (buf, at, value) = (self.buf(*buf)?, self.val(*at)?, self.val(*value)?);
                self.b.stmt(Stmt::Store { buf, at, value, mask: None, hint: StoreHint::Cached });
            }
            Sink::Check(n) => {
                self.val(*n)?;
            }
            Sink::Scatter { bufs, at, values, combine, .. } => {
                let at = self.val(*at)?;
                let at = self.scatter_to.map_or(at, |start| self.b.add(start, at));
                let values = self.all(values)?;
                let bufs: Vec<Buf> = bufs.iter().map(|b| self.buf(*b)).collect::<Res<_>>()?;
                let new = match combine {
                    None => values,
                    Some(how) => {
                        let mut old = Vec::new();
                        for buf in &bufs {
                            old.push(self.b.let_(Expr::Load { buf: *buf, at, mask: None }));
                        }
                        self.combine(how, &values, &old)?
                    }
                };
                let hint = if is_one_value(self.p, sink) { StoreHint::Shared } else { StoreHint::Cached };
                for (buf, value) in bufs.into_iter().zip(new) {
                    self.b.stmt(Stmt::Store { buf, at, value, mask: None, hint });
                }
            }
        }
        Ok(())
    }
}
