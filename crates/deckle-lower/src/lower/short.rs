//! Rows of different lengths, short ones side by side.
//!
//! Where each of many rows is folded, a window of rows is folded together, in three steps:
//!
//! 1. The lengths of as many rows as a vector has lanes are computed at once. If elements lie side by side, each of these rows gives one vector, under a mask and without a loop, and these are
//!    combined crosswise, every step on full vectors, until one is left whose lanes are the sums of the rows. (To combine the lanes of one vector takes as many steps, each of which works on
//!    fewer lanes than the last.) The numbers of the rows that are longer are put on a list.
//! 2. The rows of the list are folded one after another. No empty or short row comes between them, whose end a processor would mispredict.
//! 3. Everything else that is done for rows is done in lanes.
//!
//! Gathered elements can be loaded ahead for all rows of a window (`staged.rs`), if the window has few enough and its rows would leave many lanes of their gathers empty. Then the lengths of all rows come first.
//!
//! What a row folds to depends on itself alone.

use super::emit::{Emitter, Res, Width};
use super::lanes::Lane;
use super::points::Over;
use crate::facts::parts_of;
use crate::facts::rows::{Ahead, ShortRows};
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{Node, Region, Sink, Space};
use deckle_ir::loops::{Buf, Expr, Gathers, LoopHint, Place, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{Item, Level, Walks};

/// How rows of different lengths are traversed together.
struct Short {
    rows: ShortRows,
    /// The rows of a window.
    window: u16,
    /// How many lanes there are.
    count: u16,
    /// Whether rows of no more elements are folded side by side.
    crosswise: bool,
    /// The elements of a window that may be loaded ahead.
    staged: u16,
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
    /// Traverses the points from `lo` below `hi`, the rows of a window together. What is folded over the rows is carried in vectors.
    pub(super) fn in_windows(&mut self, over: Over<'_>, (lo, hi): (Val, Val), level: Level) -> Res<()> {
        let Level::Windows { rows: window, width: count, crosswise, staged } = level else {
            return Err(format!("`{level}` has no windows"));
        };
        let space = over.space;
        let rows = self.facts.short_rows(space, over.items).ok_or_else(|| format!("{space} has no rows to fold"))?;
        let short = Short { rows, window, count, crosswise, staged, inside: over.inside.clone() };
        let sums = self.sums_of(space, over.items)?;
        let types: Vec<(BinOp, ScalarType)> = sums.iter().flat_map(|s| s.types.clone()).collect();
        let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, count)).collect();
        let last = self.b.add_const(hi, -1);
        let (first, now) = self.b.begin_for(lo, hi, i64::from(window), &units, LoopHint::Plain);
        let end = self.b.add_const(first, i64::from(window));
        let end = self.b.min(end, hi);
        let window = self.window(&short, first, last)?;
        let over = Over { short: true, ..over };
        match short.rows.ahead.clone().filter(|_| staged > 0) {
            None => self.fold_window(over, &short, &window, end, None)?,
            Some(ahead) => self.fold_ahead(over, &short, &window, end, &ahead)?,
        }
        let outer = self.window.replace(window);
        // What the windows have checked of their rows needs no other check.
        let checked = self.p.needs_to_run(&short.rows.wanted);
        let is_new =
            |i: &&Item| !matches!(i, Item::Sink(k) if matches!(self.sinks[*k], Sink::Check(n) if checked.contains(&n)));
        let items: Vec<Item> = over.items.iter().filter(is_new).copied().collect();
        let after = self.masked_rounds(Over { items: &items, ..over }, (first, end), count, (&sums, &now))?;
        self.window = outer;
        let end = self.b.end(&after);
        self.add_totals(&sums, &end, (lo, hi))
    }

    /// Folds the rows of a window: those that are short side by side, the others one after another. `sizes` is where their lengths are, if they have been computed.
    fn fold_window(&mut self, over: Over<'_>, short: &Short, window: &Window, end: Val, sizes: Option<Buf>) -> Res<()> {
        let zero = self.int(0);
        let many = self.groups(over, short, (window.first, end), &[zero], |e, many| {
            let at = e.place_in(window)?;
            let sizes = match sizes {
                Some(buf) => e.b.load_lanes(buf, at, short.count, None),
                None => e.lengths(short, window, at)?,
            };
            Ok(vec![e.sort_out(short, window, (at, sizes), many[0])?])
        })?;
        self.listed(over.space, short, window, many[0])
    }

    /// Folds the rows of a window, whose gathered elements are loaded ahead where there are few enough of them.
    fn fold_ahead(&mut self, over: Over<'_>, short: &Short, window: &Window, end: Val, ahead: &Ahead) -> Res<()> {
        let Region::Dim(size) = self.p.space(short.rows.dim).region else { return Err("a row is a dimension".into()) };
        let sizes = window.wanted.iter().find(|(n, _)| *n == size).map(|(_, buf)| *buf);
        let sizes = sizes.ok_or("the lengths of rows are lost")?;
        let (zero, most) = (self.int(0), self.int(i64::from(short.staged)));
        let counted = self.groups(over, short, (window.first, end), &[zero, zero], |e, counted| {
            let at = e.place_in(window)?;
            let sizes = e.lengths(short, window, at)?;
            // No sum of lengths that are too many overflows.
            let over = e.b.add_const(most, 1);
            let over = e.b.splat(over, short.count);
            let few = e.b.let_lanes(Expr::Binary(BinOp::Min, sizes, over), short.count);
            let whole = e.whole_vectors(few, short.count);
            let more = [few, whole].map(|v| e.b.total(BinOp::Add, v));
            Ok(counted.iter().zip(more).map(|(sum, more)| e.b.add(*sum, more)).collect())
        })?;
        let (elements, places) = (counted[0], counted[1]);
        // Offsets that have failed their check are not those of rows side by side.
        let (failed, fits) = (self.b.let_(Expr::Failed), self.b.let_(Expr::Binary(BinOp::Le, elements, most)));
        let fine = self.b.let_(Expr::Unary(UnOp::Not, failed));
        let fits = self.b.and(fits, fine);
        let worth = self.worth_staging(elements, places);
        let ahead_here = self.b.and(fits, worth);
        self.b.begin_if(ahead_here);
        self.open_row(over.space, short, window, (window.first, zero));
        let staged = self.stage(short.rows.dim, ahead, elements, (short.staged, short.count))?;
        self.close();
        let outer = self.staged.replace(staged);
        self.fold_window(over, short, window, end, Some(sizes))?;
        self.staged = outer;
        self.b.begin_else(&[]);
        // Without gather instructions, rows of which each gathers its own are better folded one after another.
        let crosswise = short.crosswise && self.gathers == Gathers::Native;
        let own = Short { crosswise, rows: short.rows.clone(), inside: short.inside.clone(), ..*short };
        self.fold_window(over, &own, window, end, Some(sizes))?;
        self.b.end(&[]);
        Ok(())
    }

    /// A loop over the rows of a window, as many at once as a vector has lanes.
    fn groups(
        &mut self,
        over: Over<'_>,
        short: &Short,
        (first, end): (Val, Val),
        state: &[Val],
        body: impl FnOnce(&mut Self, &[Val]) -> Res<Vec<Val>>,
    ) -> Res<Vec<Val>> {
        let (start, params) = self.b.begin_for(first, end, i64::from(short.count), state, LoopHint::Short);
        let lane = self.masked_lane(over, short.count, (start, end));
        let before = self.set_vectors(Some(lane));
        self.open_point(over.space, None, over.inside);
        let next = body(self, &params)?;
        self.close();
        self.set_vectors(before);
        Ok(self.b.end(&next))
    }

    /// The place in a window of the first of the rows that are lanes.
    fn place_in(&mut self, window: &Window) -> Res<Val> {
        let start = self.vector()?.start;
        Ok(self.b.sub(start, window.first))
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

    /// Computes the lengths of the rows that are lanes, and stores what is known of these rows.
    fn lengths(&mut self, short: &Short, window: &Window, at: Val) -> Res<Val> {
        let Region::Dim(size) = self.p.space(short.rows.dim).region else { return Err("a row is a dimension".into()) };
        let (count, zero) = (short.count, self.int(0));
        let sizes = self.lane_val(size)?;
        let zeros = self.b.splat(zero, count);
        let sizes = self.where_active(sizes, zeros);
        for (n, buf) in &window.wanted {
            let vals = if *n == size { sizes } else { self.lane_val(*n)? };
            self.b.store(*buf, at, vals);
        }
        Ok(sizes)
    }

    /// Folds those of the rows that are lanes which are short, and puts the others on the list: how many are on it then.
    fn sort_out(&mut self, short: &Short, window: &Window, (at, sizes): (Val, Val), many: Val) -> Res<Val> {
        let (count, zero) = (short.count, self.int(0));
        let zeros = self.b.splat(zero, count);
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
        let (k, _) = self.b.begin_for(zero, many, 1, &[], LoopHint::Short);
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
