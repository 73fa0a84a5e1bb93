//! The emitter: what is open, and the values of nodes there.
//!
//! Code is made on demand. To open a space is to open a loop or a branch; each open space remembers the values of its nodes. Where a node is asked for, it is
//! computed in the block of its own space, which is open: so what does not depend on a loop comes to stand before it.
//!
//! A fold is a loop that carries its value. Folds, scans and sinks over the same space can share a loop; a [`Item`] is one of them.
//!
//! Code is made in one lane or in all lanes of a vector ([`Width`]), by the same functions: `nodes.rs` makes values, `folds.rs` folds and scans, `sinks.rs` what is stored.

use crate::facts::{Facts, makes_check, with_stack};
use deckle_ir::kernel::{self, Node, Program, ROOT, Sink, Space};
use deckle_ir::loops::{Access, Buf, Builder, Expr, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{self, Item, Nest, Walks};
use rustc_hash::FxHashMap;
use std::collections::HashSet;

use super::Purpose;
use super::folds::Acc;
use super::group::Grid;

/// A schedule that does not work out: a bug.
pub(super) type Res<T> = Result<T, String>;

/// In how many lanes code is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Width {
    /// In one: for one point, or once for all lanes of a vector.
    One,
    /// In all lanes of the vector that is being computed.
    Lanes,
}

/// The values of nodes, for each width, and for each row where they differ.
type Memo = FxHashMap<(Node, usize, Width), Vec<Val>>;

struct Scope {
    space: Space,
    depth: usize,
    pos: Option<Val>,
    vars: Vec<Val>,
    memo: Memo,
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
    bufs: FxHashMap<kernel::Buf, Buf>,
    scopes: Vec<Scope>,
    pub accs: FxHashMap<Node, Acc>,
    /// Whether failures are recorded rather than flagged.
    pub diagnose: bool,
    /// How gathered elements are loaded.
    pub gathers: deckle_ir::loops::Gathers,
    /// Whether folds add products by fused operations.
    pub contract: bool,
    /// Whether a check is a jump: where one point comes after another, one that is always taken costs least.
    pub jumps: bool,
    /// Whether there are checks at all.
    pub can_fail: bool,
    pub grid: Grid,
    /// The bins of arrays that are scattered into, where code is being made that combines into these.
    pub bins: FxHashMap<kernel::Buf, Buf>,
    /// The vectors in which code is being made.
    pub vectors: Option<super::lanes::Lane>,
    /// The masks of which it is known, where code is being made, that some lane is in them.
    pub inhabited: HashSet<Val>,
    /// The rows for which code is being made together.
    pub tile: Option<super::tile::Tile>,
    /// Buffers that each thread needs for itself: of what, and how many.
    pub private: Vec<(ScalarType, usize)>,
    /// The points of the outermost dimension that are computed together: the most that a round has.
    pub together: i64,
    /// Where the array begins that is scattered into, if it is one of several.
    pub scatter_to: Option<Val>,
    /// Where the first lane goes that a scan numbers, for scans that only do that.
    pub packed: FxHashMap<Node, Val>,
    /// The rows that have been folded, where code is being made for some of them.
    pub window: Option<super::short::Window>,
    /// Gathered elements that have been loaded ahead.
    pub staged: Option<super::staged::Staged>,
    /// The dimension of rows, where code is being made for a row of one block at most.
    pub short_row: Option<Space>,
    /// How rows of different lengths are traversed.
    pub rows: Option<super::rows::RowBlocks>,
    /// How rows are traversed that the blocks of a GPU share.
    pub split: Option<super::split::Split>,
    /// The sinks whose rows leave in whole cache lines where code is being made.
    pub line_buffers: Vec<super::lines::LineBuffer>,
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
        let mut bufs = FxHashMap::default();
        for (buf, written) in buffers {
            let access = if *written { Access::Write } else { Access::Read };
            bufs.insert(*buf, b.buffer(p.bufs[buf.index()].elem, access));
        }
        let root = Scope {
            space: ROOT,
            depth: 0,
            pos: None,
            vars: Vec::new(),
            memo: FxHashMap::default(),
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
            accs: FxHashMap::default(),
            diagnose: purpose.diagnose,
            gathers: purpose.gathers,
            contract: purpose.contract,
            jumps: false,
            can_fail: sinks.iter().any(|s| p.sink_needs(s).iter().any(|n| makes_check(p, *n))),
            grid: Grid::default(),
            bins: FxHashMap::default(),
            vectors: None,
            inhabited: HashSet::new(),
            tile: None,
            private: Vec::new(),
            together: 1,
            scatter_to: None,
            packed: FxHashMap::default(),
            window: None,
            staged: None,
            short_row: None,
            rows: None,
            split: None,
            line_buffers: Vec::new(),
        }
    }

    /// The value of a node where code is being made, in one lane.
    pub(super) fn val(&mut self, n: Node) -> Res<Val> {
        self.value(n, Width::One)
    }

    pub(super) fn all(&mut self, nodes: &[Node]) -> Res<Vec<Val>> {
        self.values(nodes, Width::One)
    }

    /// The value of a node in all lanes.
    pub(super) fn lane_val(&mut self, n: Node) -> Res<Val> {
        self.value(n, Width::Lanes)
    }

    /// The value of a node.
    pub(super) fn value(&mut self, n: Node, w: Width) -> Res<Val> {
        if w == Width::Lanes && !self.facts.varies(n) {
            let (v, count) = (self.val(n)?, self.vector()?.count);
            return Ok(self.b.splat(v, count));
        }
        self.vals(n, w)?.first().copied().ok_or_else(|| format!("{n} has no value"))
    }

    pub(super) fn values(&mut self, nodes: &[Node], w: Width) -> Res<Vec<Val>> {
        nodes.iter().map(|n| self.value(*n, w)).collect()
    }

    /// All values of a node. What is computed further out is computed there, and under the mask of there.
    pub(super) fn vals(&mut self, n: Node, w: Width) -> Res<Vec<Val>> {
        if w == Width::One
            && let Some(holds) = self.facts.truth(n)
        {
            return Ok(vec![self.constant(Scalar::Bool(holds))]);
        }
        let n = self.facts.resolved(n);
        if w == Width::Lanes && !self.facts.varies(n) {
            let (vals, count) = (self.vals(n, Width::One)?, self.vector()?.count);
            return Ok(vals.into_iter().map(|v| self.b.splat(v, count)).collect());
        }
        let k = self.scope_of(n)?;
        let key = (n, self.row_of(n), w);
        if let Some(vals) = self.scopes[k].memo.get(&key) {
            return Ok(vals.clone());
        }
        let mask = self.mask();
        if w == Width::Lanes {
            self.set_mask(self.scopes[k].mask);
        }
        let vals = with_stack(|| self.at_scope(k, |e| e.make(n, w)));
        self.set_mask(mask);
        let vals = vals?;
        self.scopes[k].memo.insert(key, vals.clone());
        Ok(vals)
    }

    /// Remembers the values of a node of an open space, for the row for which code is being made.
    pub(super) fn remember(&mut self, scope: usize, n: Node, w: Width, vals: Vec<Val>) {
        let key = (n, self.row_of(n), w);
        self.scopes[scope].memo.insert(key, vals);
    }

    /// Makes code in the block of an open space.
    fn at_scope<R>(&mut self, k: usize, f: impl FnOnce(&mut Self) -> Res<R>) -> Res<R> {
        // What holds at a point further in does not hold at all points of its dimension, which may be traversed here.
        let assumed = self.facts.forget_but(|dim| self.scopes[..=k].iter().any(|s| s.space == dim));
        if k + 1 == self.scopes.len() && self.scopes[k].depth == self.b.depth() {
            let result = f(self);
            self.facts.assume_too(assumed);
            return result;
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
        self.facts.assume_too(assumed);
        self.scopes.extend(inner);
        result
    }

    /// Makes code that depends on the root only where that stands.
    pub(super) fn at_root<R>(&mut self, f: impl FnOnce(&mut Self) -> Res<R>) -> Res<R> {
        self.at_scope(0, f)
    }

    /// The innermost open space.
    pub(super) fn innermost(&self) -> Space {
        self.scopes.last().map_or(ROOT, |s| s.space)
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
            scope.memo.insert((n, 0, Width::One), vals);
        }
    }

    /// Gives a node of an open space values that come from elsewhere.
    pub(super) fn set_where_it_is(&mut self, n: Node, vals: Vec<Val>) -> Res<()> {
        let scope = self.scope_of(n)?;
        self.scopes[scope].memo.insert((n, 0, Width::One), vals);
        Ok(())
    }

    /// Gives a node of the root values that come from elsewhere.
    pub(super) fn set(&mut self, n: Node, vals: Vec<Val>) {
        self.scopes[0].memo.insert((n, 0, Width::One), vals);
    }

    pub(super) fn constant(&mut self, c: Scalar) -> Val {
        self.b.let_(Expr::Const(c))
    }

    pub(super) fn buf(&self, buf: kernel::Buf) -> Res<Buf> {
        self.bufs.get(&buf).copied().ok_or_else(|| format!("{buf} is not passed"))
    }

    pub(super) fn open(&mut self, space: Space, pos: Option<Val>, vars: Vec<Val>) {
        self.open_with(space, pos, vars, None);
    }

    /// Opens a point of a dimension, and what the schedule traverses there.
    pub(super) fn open_point(&mut self, dim: Space, pos: Option<Val>, inside: &Walks) {
        self.open_with(dim, pos, Vec::new(), Some(inside.clone()));
    }

    fn open_with(&mut self, space: Space, pos: Option<Val>, vars: Vec<Val>, inside: Option<Walks>) {
        let (mask, memo) = (self.mask(), FxHashMap::default());
        self.scopes.push(Scope { space, depth: self.b.depth(), pos, vars, memo, mask, inside });
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

    /// What the schedule traverses for some items at a point of a dimension that is opened on its own.
    pub(super) fn inside_of_point(&self, dim: Space, items: &[Item]) -> Res<Walks> {
        match self.nest_of(dim, items)? {
            Nest::Level { inside, .. } => Ok(inside),
            Nest::When(..) => Err(format!("a point of {dim} on its own is traversed in one way")),
        }
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

    /// The variables of the loop or lambda of a node.
    pub(super) fn vars_of(&self, n: Node) -> Res<Vec<Val>> {
        Ok(self.scopes[self.scope_of(n)?].vars.clone())
    }
}
