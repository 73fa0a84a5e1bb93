//! Rows of different lengths, short ones side by side.
//!
//! Where each of many rows is folded, hundreds of them are gone through together, in three steps:
//!
//! 1. The lengths of as many rows as a vector has lanes are computed at once. If elements lie side by side, each of these rows gives one vector, under a mask and without a loop, and these are
//!    combined crosswise, every step on full vectors, until one is left whose lanes are the sums of the rows. (To combine the lanes of one vector takes as many steps, each of which works on
//!    fewer lanes than the last.) The numbers of the rows that are longer are put on a list.
//! 2. The rows of the list are gone through each for itself. No empty or short row comes between them, of which a processor would have to guess where.
//! 3. All else that is done for rows is done in lanes.
//!
//! What a row folds to depends on itself alone.

use super::emit::{Emitter, Item, Res, parts_of};
use super::lanes::{Lane, is_plain};
use super::rounds::Sums;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, Region, Space};
use deckle_ir::loops::{Buf, Expr, LoopHint, Place, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::collections::BTreeSet;

/// So many nodes at a point are little: the code for a short row is written out for each.
const LITTLE: usize = 16;

/// The folds of rows that are gone through together.
#[derive(Clone, Debug)]
pub(super) struct Short {
    /// The dimension of a row.
    pub dim: Space,
    pub folds: Vec<Node>,
    /// How many lanes there are.
    pub count: u16,
    /// Whether rows of no more elements are folded side by side.
    side_by_side: bool,
    /// What is computed for rows in lanes and needed inside them.
    wanted: Vec<Node>,
}

impl Short {
    fn items(&self) -> Vec<Item> {
        self.folds.iter().map(|n| Item::Fold(*n)).collect()
    }
}

/// Where what is known of some rows is kept.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The first of the rows.
    first: Val,
    /// The last row that there is.
    last: Val,
    /// The parts of each fold.
    folds: Vec<(Node, Vec<Buf>)>,
    wanted: Vec<(Node, Buf)>,
    /// The rows that are not short, counted from the first.
    list: Buf,
}

impl Emitter<'_> {
    /// Whether there are rows at the points of a dimension, of different lengths, that can be folded together.
    pub(super) fn plan_short(&mut self, space: Space, inside: &[Node]) -> Option<Short> {
        let mut dims = BTreeSet::new();
        let mut folds = Vec::new();
        for n in inside {
            let Op::Fold { over, ref init, ref combine, .. } = self.p.node(*n).op else { continue };
            let path = self.p.between(self.p.space_of(*n), over);
            let dim = *path.first()?;
            let Region::Dim(size) = self.p.space(dim).region else { continue };
            if self.p.space_of(*n) != space || !self.varies(size) {
                continue;
            }
            // Of rows where no element counts, something has to be known.
            if !matches!(combine, Combine::Ops(_)) || path.len() > 1 && init.is_none() {
                return None;
            }
            dims.insert(dim);
            folds.push(*n);
        }
        let dim = *dims.first()?;
        let Region::Dim(size) = self.p.space(dim).region else { return None };
        let deeper: Vec<Node> = inside.iter().copied().filter(|n| self.p.encloses(dim, self.p.space_of(*n))).collect();
        if dims.len() > 1 || !deeper.iter().all(|n| is_plain(&self.p.node(*n).op)) {
            return None;
        }
        let mut along = |n: &Node| match self.p.node(*n).op {
            Op::Load(_, at) => self.goes_along(at, dim),
            // What is the same for all elements would be tested for empty rows too.
            Op::Check { .. } => self.mentions(*n, dim),
            _ => true,
        };
        let side_by_side = deeper.len() <= LITTLE && deeper.iter().all(&mut along);
        let mut used: BTreeSet<Node> = deeper.iter().flat_map(|n| self.on_of(*n)).collect();
        for n in &folds {
            used.extend(parts_of(self.p, *n).ok()?.1);
        }
        used.insert(size);
        used.retain(|n| self.p.space_of(*n) == space);
        // What one fold needs of another is not there yet.
        let needs = self.p.needs(&used.iter().copied().collect::<Vec<_>>());
        if folds.iter().any(|n| needs.contains(n)) {
            return None;
        }
        used.retain(|n| match self.p.node(*n).op {
            Op::Pos | Op::Const(_) => false,
            Op::Load(_, at) => !self.follows(at, space),
            _ => true,
        });
        let items: Vec<Item> = folds.iter().map(|n| Item::Fold(*n)).collect();
        let (vectors, varying) = (self.vectors.take(), std::mem::take(&mut self.varying));
        let plan = self.plan_lanes(dim, &items);
        (self.vectors, self.varying) = (vectors, varying);
        let plan = plan.filter(|p| !p.is_deep())?;
        Some(Short { dim, folds, count: plan.count, side_by_side, wanted: used.into_iter().collect() })
    }

    /// Goes through the points from `lo` below `hi`, some hundred rows together. What is folded over the rows goes along in vectors.
    pub(super) fn in_windows(
        &mut self,
        space: Space,
        items: &[Item],
        (lo, hi): (Val, Val),
        short: &Short,
        (sums, before): (&[Sums], &[Val]),
    ) -> Res<Vec<Val>> {
        let (width, count) = (i64::from(self.cuts.row_window), short.count);
        let last = self.b.add_const(hi, -1);
        let (first, now) = self.b.begin_for(lo, hi, width, before, LoopHint::Plain);
        let end = self.b.add_const(first, width);
        let end = self.b.min(end, hi);
        let window = self.window(short, first, last)?;
        let zero = self.int(0);
        let (start, many) = self.b.begin_for(first, end, i64::from(count), &[zero], LoopHint::Plain);
        let lane = self.masked_lane(space, count, (start, end));
        self.varying.clear();
        self.vectors = Some(lane);
        self.open(space, None, Vec::new());
        let many = self.lengths(short, &window, many[0])?;
        self.close();
        self.vectors = None;
        self.varying.clear();
        let many = self.b.end(&[many]);
        self.listed(space, short, &window, many[0])?;
        let outer = self.window.replace(window);
        let after = self.masked_rounds(space, items, (first, end), count, (sums, &now))?;
        self.window = outer;
        Ok(self.b.end(&after))
    }

    fn window(&mut self, short: &Short, first: Val, last: Val) -> Res<Window> {
        let mut local = |ty| self.b.local(ty, u32::from(self.cuts.row_window), Place::Private);
        let list = local(ScalarType::I64);
        let wanted = short.wanted.iter().map(|n| (*n, local(self.p.ty(*n)))).collect();
        let mut folds = Vec::new();
        for n in &short.folds {
            let types = parts_of(self.p, *n)?.1.iter().map(|e| self.p.ty(*e));
            folds.push((*n, types.chain([ScalarType::Bool]).map(&mut local).collect()));
        }
        Ok(Window { first, last, folds, wanted, list })
    }

    /// The parts of a fold in all lanes, if its rows have been gone through.
    pub(super) fn in_window(&mut self, n: Node) -> Res<Option<Vec<Val>>> {
        let Some(window) = self.window.clone() else { return Ok(None) };
        let Some((_, bufs)) = window.folds.into_iter().find(|(m, _)| *m == n) else { return Ok(None) };
        let Lane { start, count, .. } = *self.vector()?;
        let at = self.b.sub(start, window.first);
        Ok(Some(bufs.into_iter().map(|buf| self.b.load_lanes(buf, at, count, None)).collect()))
    }

    /// What is known of the rows of all lanes, and how many are on the list then.
    fn lengths(&mut self, short: &Short, window: &Window, many: Val) -> Res<Val> {
        let Region::Dim(size) = self.p.space(short.dim).region else { return Err("a row is a dimension".into()) };
        let (count, zero) = (short.count, self.int(0));
        let start = self.vector()?.start;
        let at = self.b.sub(start, window.first);
        let sizes = self.lane_val(size)?;
        let zeros = self.b.splat(zero, count);
        let sizes = self.where_active(sizes, zeros);
        for (n, buf) in &window.wanted {
            let vals = if *n == size { sizes } else { self.lane_val(*n)? };
            self.b.store(*buf, at, vals);
        }
        let most = self.int(if short.side_by_side { i64::from(count) } else { 0 });
        let most = match &self.rows {
            // Those of more than one block are not combined in this way.
            Some(rows) if rows.dim == short.dim => self.b.min(most, rows.piece),
            _ => most,
        };
        let most = self.b.splat(most, count);
        let is_long = self.b.let_lanes(Expr::Binary(BinOp::Lt, most, sizes), count);
        let totals = if short.side_by_side {
            let lengths = self.b.let_lanes(Expr::Select(is_long, zeros, sizes), count);
            Some(self.side_by_side(short, window, at, lengths)?)
        } else {
            None
        };
        self.keep(short, window, at, sizes, totals)?;
        let numbers = self.b.lanes(count);
        let at = self.b.splat(at, count);
        let numbers = self.b.let_lanes(Expr::Binary(BinOp::Add, at, numbers), count);
        self.b.store_with(window.list, many, numbers, Some(is_long), StoreHint::Packed);
        let ones = self.b.let_lanes(Expr::Cast(ScalarType::I64, is_long), count);
        let more = self.b.total(BinOp::Add, ones);
        Ok(self.b.add(many, more))
    }

    /// Keeps what rows fold to, as if each had been folded for itself; of rows without elements, if there are no totals.
    fn keep(&mut self, short: &Short, window: &Window, at: Val, sizes: Val, totals: Option<Vec<Val>>) -> Res<()> {
        let count = short.count;
        let mut totals = totals.map(Vec::into_iter);
        for (n, bufs) in &window.folds {
            let (init, elems, how) = parts_of(self.p, *n)?;
            let sums: Option<Vec<Val>> = totals.as_mut().map(|t| t.take(elems.len()).collect());
            let mut has = self.b.constant_lanes(Scalar::Bool(true), count);
            let mut parts = Vec::new();
            match init {
                Some(init) => {
                    for n in init {
                        parts.push(self.lane_val(*n)?);
                    }
                    if let Some(sums) = sums {
                        parts = self.lane_combine(how, &parts, &sums)?;
                    }
                }
                None => {
                    let none = self.b.constant_lanes(Scalar::I64(0), count);
                    has = self.b.let_lanes(Expr::Binary(BinOp::Lt, none, sizes), count);
                    for (k, e) in elems.iter().enumerate() {
                        let none = self.b.constant_lanes(Scalar::zero(self.p.ty(*e)), count);
                        parts.push(match &sums {
                            Some(sums) => self.b.let_lanes(Expr::Select(has, sums[k], none), count),
                            None => none,
                        });
                    }
                }
            }
            parts.push(has);
            for (buf, part) in bufs.iter().zip(parts) {
                self.b.store(*buf, at, part);
            }
        }
        Ok(())
    }

    /// Opens a row for itself, with what was computed for all of them.
    fn open_row(&mut self, space: Space, window: &Window, row: Val, at: Val) {
        self.open(space, Some(row), Vec::new());
        for (n, buf) in &window.wanted {
            let v = self.b.load(*buf, at);
            self.set_here(*n, vec![v]);
        }
    }

    /// The sums of rows that are no longer than a vector.
    fn side_by_side(&mut self, short: &Short, window: &Window, at: Val, lengths: Val) -> Res<Vec<Val>> {
        let (count, items) = (short.count, short.items());
        let lengths = self.b.let_lanes(Expr::Cast(ScalarType::I32, lengths), count);
        let zero = self.int(0);
        let kept = self.b.local(ScalarType::I32, u32::from(count), Place::Private);
        self.b.store(kept, zero, lengths);
        let (lane, varying) = (self.vectors.take(), std::mem::take(&mut self.varying));
        let Some(Lane { space, start, .. }) = lane else { return Err("not in lanes".into()) };
        let sums = self.sums_of(short.dim, &items)?;
        let types: Vec<(BinOp, ScalarType)> = sums.iter().flat_map(|s| s.types.clone()).collect();
        let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, count)).collect();
        let mut rows: Vec<Vec<Val>> = vec![Vec::new(); types.len()];
        for k in 0..i64::from(count) {
            let row = self.b.add_const(start, k);
            let (row, at, k) = (self.b.min(row, window.last), self.b.add_const(at, k), self.int(k));
            self.open_row(space, window, row, at);
            let length = self.b.load(kept, k);
            let mask = self.first_lanes(length, count);
            let lane = Lane { space: short.dim, count, hint: StoreHint::Cached, start: zero, mask: Some(mask) };
            let vectors = self.round(lane, &items, (&sums, &units))?;
            rows.iter_mut().zip(vectors).for_each(|(rows, v)| rows.push(v));
            self.close();
        }
        (self.vectors, self.varying) = (lane, varying);
        Ok(types.iter().zip(rows).map(|((op, _), rows)| self.crosswise(*op, rows)).collect())
    }

    /// As many vectors as each has lanes: one whose lanes are their totals, each combined as [`Expr::Total`] does.
    fn crosswise(&mut self, op: BinOp, mut vectors: Vec<Val>) -> Val {
        let lanes = vectors.len() as u16;
        // So many lanes are left of each.
        let mut width = lanes;
        while width > 1 {
            let half = width / 2;
            let side = |first: u16| (0..2 * lanes).filter(|l| l % width / half == first).collect::<Vec<u16>>();
            let mut next = Vec::new();
            for pair in vectors.chunks(2) {
                let [low, high] = [0, 1].map(|first| self.b.let_(Expr::Swizzle(pair[0], pair[1], side(first))));
                next.push(self.b.let_lanes(Expr::Assoc(op, low, high), lanes));
            }
            (vectors, width) = (next, half);
        }
        vectors[0]
    }

    /// Folds the rows of the list, each for itself.
    fn listed(&mut self, space: Space, short: &Short, window: &Window, many: Val) -> Res<()> {
        let zero = self.int(0);
        let (k, _) = self.b.begin_for(zero, many, 1, &[], LoopHint::Plain);
        let at = self.b.load(window.list, k);
        let row = self.b.add(window.first, at);
        self.open_row(space, window, row, at);
        for n in &short.folds {
            let acc = self.start(*n)?;
            self.accs.insert(*n, acc);
        }
        self.traverse(space, &short.items(), None)?;
        for (n, bufs) in &window.folds {
            for (value, buf) in self.folded(*n)?.into_iter().zip(bufs) {
                self.b.store(*buf, at, value);
            }
        }
        self.close();
        self.b.end(&[]);
        Ok(())
    }
}
