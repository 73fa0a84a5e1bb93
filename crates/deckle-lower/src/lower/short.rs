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

use super::emit::{Emitter, Res, Width};
use super::lanes::Lane;
use super::points::Over;
use crate::facts::parts_of;
use crate::facts::rows::ShortRows;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Region, Space};
use deckle_ir::loops::{Buf, Expr, LoopHint, Place, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::Walks;

/// How rows of different lengths are traversed together.
struct Short {
    rows: ShortRows,
    /// The rows of a window.
    window: u16,
    /// How many lanes there are.
    count: u16,
    /// Whether rows of no more elements are folded side by side.
    crosswise: bool,
    /// What is traversed at the points of the dimension around.
    inside: Walks,
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
    /// Traverses the points from `lo` below `hi`, the rows of a window together. What is folded over the rows goes along in vectors.
    pub(super) fn in_windows(
        &mut self,
        over: Over<'_>,
        (lo, hi): (Val, Val),
        (window, count, crosswise): (u16, u16, bool),
    ) -> Res<()> {
        let space = over.space;
        let rows = self.facts.short_rows(space, over.items).ok_or_else(|| format!("{space} has no rows to fold"))?;
        let short = Short { rows, window, count, crosswise, inside: over.inside.clone() };
        let sums = self.sums_of(space, over.items)?;
        let types: Vec<(BinOp, ScalarType)> = sums.iter().flat_map(|s| s.types.clone()).collect();
        let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, count)).collect();
        let last = self.b.add_const(hi, -1);
        let (first, now) = self.b.begin_for(lo, hi, i64::from(window), &units, LoopHint::Plain);
        let end = self.b.add_const(first, i64::from(window));
        let end = self.b.min(end, hi);
        let window = self.window(&short, first, last)?;
        let zero = self.int(0);
        let (start, many) = self.b.begin_for(first, end, i64::from(count), &[zero], LoopHint::Plain);
        let lane = self.masked_lane(over, count, (start, end));
        let before = self.set_vectors(Some(lane));
        self.open_point(space, None, over.inside);
        let many = self.lengths(&short, &window, many[0])?;
        self.close();
        self.set_vectors(before);
        let many = self.b.end(&[many]);
        self.listed(space, &short, &window, many[0])?;
        let outer = self.window.replace(window);
        let after = self.masked_rounds(over, (first, end), count, (&sums, &now))?;
        self.window = outer;
        let end = self.b.end(&after);
        self.add_totals(&sums, &end, (lo, hi))
    }

    fn window(&mut self, short: &Short, first: Val, last: Val) -> Res<Window> {
        let mut local = |ty| self.b.local(ty, u32::from(short.window), Place::Private);
        let list = local(ScalarType::I64);
        let wanted = short.rows.wanted.iter().map(|n| (*n, local(self.p.ty(*n)))).collect();
        let mut folds = Vec::new();
        for n in &short.rows.folds {
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
        let Region::Dim(size) = self.p.space(short.rows.dim).region else { return Err("a row is a dimension".into()) };
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
        let most = self.int(if short.crosswise { i64::from(count) } else { 0 });
        let most = match &self.rows {
            // Those of more than one block are not combined in this way.
            Some(rows) if rows.dim == short.rows.dim => self.b.min(most, rows.piece),
            _ => most,
        };
        let most = self.b.splat(most, count);
        let is_long = self.b.let_lanes(Expr::Binary(BinOp::Lt, most, sizes), count);
        let totals = if short.crosswise {
            let lengths = self.b.let_lanes(Expr::Select(is_long, zeros, sizes), count);
            Some(self.if_any_is_short(short, window, at, lengths)?)
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
                        parts = self.combine(how, &parts, &sums, Width::Lanes)?;
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
    fn open_row(&mut self, space: Space, short: &Short, window: &Window, (row, at): (Val, Val)) {
        self.open_point(space, Some(row), &short.inside);
        for (n, buf) in &window.wanted {
            let v = self.b.load(*buf, at);
            self.set_here(*n, vec![v]);
        }
    }

    /// The sums of rows that are no longer than a vector: where there is none with elements, that of nothing.
    fn if_any_is_short(&mut self, short: &Short, window: &Window, at: Val, lengths: Val) -> Res<Vec<Val>> {
        let count = short.count;
        let sums = self.sums_of(short.rows.dim, &short.rows.items())?;
        let types = sums.iter().flat_map(|s| s.types.clone());
        let units: Vec<Val> = types.map(|(op, ty)| self.unit_lanes(op, ty, count)).collect();
        let zeros = self.b.constant_lanes(Scalar::I64(0), count);
        let has = self.b.let_lanes(Expr::Binary(BinOp::Lt, zeros, lengths), count);
        let any = self.b.let_(Expr::Total(BinOp::Or, has));
        self.b.begin_if(any);
        let sums = self.side_by_side(short, window, at, lengths)?;
        self.b.begin_else(&sums);
        Ok(self.b.end(&units))
    }

    /// The sums of rows that are no longer than a vector.
    fn side_by_side(&mut self, short: &Short, window: &Window, at: Val, lengths: Val) -> Res<Vec<Val>> {
        let (count, items) = (short.count, short.rows.items());
        let lengths = self.b.let_lanes(Expr::Cast(ScalarType::I32, lengths), count);
        let zero = self.int(0);
        let kept = self.b.local(ScalarType::I32, u32::from(count), Place::Private);
        self.b.store(kept, zero, lengths);
        let lane = self.set_vectors(None);
        let Some(Lane { space, start, .. }) = lane.clone() else { return Err("not in lanes".into()) };
        let sums = self.sums_of(short.rows.dim, &items)?;
        let types: Vec<(BinOp, ScalarType)> = sums.iter().flat_map(|s| s.types.clone()).collect();
        let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, count)).collect();
        let mut rows: Vec<Vec<Val>> = vec![Vec::new(); types.len()];
        for k in 0..i64::from(count) {
            let row = self.b.add_const(start, k);
            let (row, at, k) = (self.b.min(row, window.last), self.b.add_const(at, k), self.int(k));
            self.open_row(space, short, window, (row, at));
            let length = self.b.load(kept, k);
            let mask = self.first_lanes(length, count);
            let (space, inside) = (short.rows.dim, Walks::from([]));
            let lane = Lane { space, inside, count, hint: StoreHint::Cached, start: zero, mask: Some(mask) };
            let vectors = self.round(lane, &items, (&sums, &units))?;
            rows.iter_mut().zip(vectors).for_each(|(rows, v)| rows.push(v));
            self.close();
        }
        self.set_vectors(lane);
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
        self.open_row(space, short, window, (row, at));
        for n in &short.rows.folds {
            let acc = self.start(*n)?;
            self.accs.insert(*n, acc);
        }
        self.traverse(space, &short.rows.items(), None)?;
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
