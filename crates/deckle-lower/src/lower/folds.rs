//! Folds and scans at a point: loops that carry their values, in one lane or in all lanes of a vector.

use super::emit::{Emitter, Res, Width};
use crate::facts::{parts_of, product_of, unit};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, Region, Space};
use deckle_ir::loops::{Expr, LoopHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{Item, Level, Nest};

/// A fold or scan under way.
#[derive(Clone, Debug)]
pub(super) struct Acc {
    pub vals: Vec<Val>,
    /// Whether there is a value yet, where that is not certain.
    pub has: Option<Val>,
    /// What comes before all of this, for a scan that starts in the middle.
    pub before: Option<Box<Acc>>,
}

/// What a fold in lanes does in each round.
struct Each<'n> {
    fold: Node,
    elems: &'n [Node],
    how: &'n Combine,
}

impl Emitter<'_> {
    /// Two values combined. In one lane the elements of a fold come in turn, which may be grouped; in lanes each is in its own.
    pub(super) fn combine(&mut self, how: &Combine, left: &[Val], right: &[Val], w: Width) -> Res<Vec<Val>> {
        match how {
            Combine::Ops(ops) => {
                let pairs = ops.iter().zip(left.iter().zip(right));
                let both = |(op, (a, b)): (&BinOp, (&Val, &Val))| match w {
                    Width::One => Expr::Assoc(*op, *a, *b),
                    Width::Lanes => Expr::Binary(*op, *a, *b),
                };
                pairs.map(|pair| self.let_(both(pair), w)).collect()
            }
            Combine::Lambda(space, results) | Combine::InOrder(space, results) => {
                self.open(*space, None, [left, right].concat());
                let results = self.values(results, w);
                self.close();
                results
            }
        }
    }

    /// The elements of a fold at a point, or at the points of a vector, added to its values. A product of floats is added by one operation that rounds once, where folds may contract: see
    /// docs/order-of-floats.md.
    pub(super) fn add_elements(&mut self, how: &Combine, vals: &[Val], elems: &[Node], w: Width) -> Res<Vec<Val>> {
        let Combine::Ops(ops) = how else {
            let elems = self.values(elems, w)?;
            return self.combine(how, vals, &elems, w);
        };
        let mut next = Vec::new();
        for ((op, val), elem) in ops.iter().zip(vals).zip(elems) {
            let expr = match product_of(self.p, *op, *elem).filter(|_| self.contract) {
                Some((x, y)) => Expr::Fma(self.value(x, w)?, self.value(y, w)?, *val),
                None => Expr::Assoc(*op, *val, self.value(*elem, w)?),
            };
            next.push(self.let_(expr, w)?);
        }
        Ok(next)
    }

    /// One more point for a fold.
    pub(super) fn fold_point(&mut self, how: &Combine, acc: &Acc, elems: &[Node]) -> Res<Acc> {
        if !matches!(how, Combine::Ops(_)) {
            let elems = self.all(elems)?;
            return self.step(how, acc, &elems, None);
        }
        // Without a value yet, there is the identity element.
        let vals = self.add_elements(how, &acc.vals, elems, Width::One)?;
        let has = acc.has.map(|_| self.constant(Scalar::Bool(true)));
        Ok(Acc { vals, has, before: acc.before.clone() })
    }

    /// One more value for a fold or scan.
    pub(super) fn step(&mut self, how: &Combine, acc: &Acc, elems: &[Val], has: Option<Val>) -> Res<Acc> {
        let Some(before) = acc.has else {
            // There is a value. The other one may be none.
            let next = match has {
                None => self.combine(how, &acc.vals, elems, Width::One)?,
                Some(has) => {
                    self.b.begin_if(has);
                    let next = self.combine(how, &acc.vals, elems, Width::One)?;
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
                (self.combine(how, &acc.vals, elems, Width::One)?, yes)
            }
            _ => {
                let there = has.unwrap_or(yes);
                let both = self.b.let_(Expr::Binary(BinOp::And, before, there));
                self.b.begin_if(both);
                let next = self.combine(how, &acc.vals, elems, Width::One)?;
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

    /// The parts of a fold.
    pub(super) fn fold(&mut self, n: Node, w: Width) -> Res<Vec<Val>> {
        if w == Width::Lanes {
            return match self.in_window(n)? {
                Some(parts) => Ok(parts),
                None => self.fold_in_lanes(n),
            };
        }
        // A scan that it needs may be under way in a loop further in, for something else.
        let scans = self.facts.with_scans(self.innermost(), &[Item::Fold(n)]);
        let scans = scans.into_iter().filter_map(|i| if let Item::Scan(s) = i { Some(s) } else { None });
        let under_way: Vec<(Node, Acc)> = scans.filter_map(|s| self.accs.remove_entry(&s)).collect();
        let parts = match self.group_fold(n)? {
            Some(parts) => parts,
            None => self.fold_here(n)?,
        };
        self.accs.extend(under_way);
        Ok(parts)
    }

    /// A fold that is the same for all lanes of the vectors around, and may have lanes of its own.
    fn fold_here(&mut self, n: Node) -> Res<Vec<Val>> {
        let acc = self.start(n)?;
        self.accs.insert(n, acc);
        let vectors = self.set_vectors(None);
        self.traverse(self.innermost(), &[Item::Fold(n)], None)?;
        self.set_vectors(vectors);
        self.folded(n)
    }

    /// The parts of a fold that has been gone through.
    pub(super) fn folded(&mut self, n: Node) -> Res<Vec<Val>> {
        let acc = self.accs.remove(&n).ok_or_else(|| format!("{n} is not folded"))?;
        let (_, elems, _) = parts_of(self.p, n)?;
        let yes = self.constant(Scalar::Bool(true));
        Ok(self.parts(&acc.vals, (acc.has.unwrap_or(yes), acc.has.is_none()), elems))
    }

    /// The parts of a fold after its last round: of nothing, zero. Whether there was anything is told, and whether that is certain.
    fn parts(&mut self, vals: &[Val], (has, is_certain): (Val, bool), elems: &[Node]) -> Vec<Val> {
        let count = self.b.ty(has).lanes;
        let mut parts = Vec::new();
        for (v, e) in vals.iter().zip(elems) {
            parts.push(if is_certain {
                *v
            } else {
                let zero = self.constant(Scalar::zero(self.p.ty(*e)));
                let zero = self.b.splat(zero, count);
                self.b.let_lanes(Expr::Select(has, *v, zero), count)
            });
        }
        parts.push(has);
        parts
    }

    /// A fold inside vectors: a loop for all lanes together. In a tile, all rows share it.
    fn fold_in_lanes(&mut self, n: Node) -> Res<Vec<Val>> {
        let (init, elems, how) = parts_of(self.p, n)?;
        let Op::Fold { over, .. } = self.p.node(n).op else { return Err(format!("{n} is no fold")) };
        let count = self.vector()?.count;
        let (rows, width) = (self.rows_of(n), elems.len() + 1);
        let mut state: Vec<Val> = Vec::new();
        let current = self.set_row(0);
        for row in 0..rows {
            self.set_row(row);
            match init {
                Some(init) => state.extend(self.values(init, Width::Lanes)?),
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
        let state = self.fold_rounds(&Each { fold: n, elems, how }, &path, state)?;
        let scope = self.scope_of(n)?;
        let mut mine = Vec::new();
        for (row, state) in state.chunks(width).enumerate() {
            let (vals, has) = state.split_at(elems.len());
            let parts = self.parts(vals, (has[0], init.is_some()), elems);
            self.set_row(row);
            self.remember(scope, n, Width::Lanes, parts.clone());
            if row == current || rows == 1 {
                mine = parts;
            }
        }
        self.set_row(current);
        Ok(mine)
    }

    /// Opens the spaces on the way to the elements of a fold in lanes, and combines them with its state, that of each row.
    fn fold_rounds(&mut self, each: &Each<'_>, path: &[Space], state: Vec<Val>) -> Res<Vec<Val>> {
        let Some((space, rest)) = path.split_first() else {
            let rows = state.chunks(each.elems.len() + 1).enumerate();
            return Ok(rows.map(|(row, state)| self.fold_round(each, row, state)).collect::<Res<Vec<_>>>()?.concat());
        };
        match self.p.space(*space).region {
            Region::Dim(size) => {
                let (lo, hi) = (self.int(0), self.val(size)?);
                let Nest::Level { level, inside, .. } = self.nest_of(*space, &[Item::Fold(each.fold)])? else {
                    return Err(format!("the lanes around {space} cannot take different ways"));
                };
                let hint = if level == Level::Unrolled { LoopHint::Unroll } else { LoopHint::Plain };
                let (pos, params) = self.b.begin_for(lo, hi, 1, &state, hint);
                self.open_point(*space, Some(pos), &inside);
                let after = self.fold_rounds(each, rest, params)?;
                self.close();
                Ok(self.b.end(&after))
            }
            Region::Guard(..) if self.facts.same_for_all(*space) => {
                let c = self.guard(*space, Width::One)?;
                self.b.begin_if(c);
                self.open(*space, None, Vec::new());
                let after = self.fold_rounds(each, rest, state.clone())?;
                self.close();
                self.b.begin_else(&after);
                Ok(self.b.end(&state))
            }
            Region::Guard(..) => {
                let outer = self.mask();
                let holds = self.guard(*space, Width::Lanes)?;
                let mask = self.narrowed(holds)?;
                self.set_mask(Some(mask));
                self.open(*space, None, Vec::new());
                let after = self.fold_rounds(each, rest, state)?;
                self.close();
                self.set_mask(outer);
                Ok(after)
            }
            _ => Err(format!("{space} cannot be traversed in lanes")),
        }
    }

    /// One more element in all lanes that count.
    fn fold_round(&mut self, each: &Each<'_>, row: usize, state: &[Val]) -> Res<Vec<Val>> {
        self.set_row(row);
        let (vals, has) = state.split_at(each.elems.len());
        let mut next = self.add_elements(each.how, vals, each.elems, Width::Lanes)?;
        if each.how.function().is_some() {
            // Without a value yet, the first one.
            let xs = self.values(each.elems, Width::Lanes)?;
            for (n, x) in next.iter_mut().zip(&xs) {
                *n = self.let_(Expr::Select(has[0], *n, *x), Width::Lanes)?;
            }
        }
        let (yes, count) = (self.constant(Scalar::Bool(true)), self.vector()?.count);
        next.push(self.b.splat(yes, count));
        Ok(next.into_iter().zip(state).map(|(n, old)| self.where_active(n, *old)).collect())
    }

    /// The values of a scan at a point or the points of a vector, which also go on to the next.
    pub(super) fn scan(&mut self, n: Node, w: Width) -> Res<Vec<Val>> {
        let Op::Scan { exclusive, .. } = self.p.node(n).op else { return Err(format!("{n} is no scan")) };
        if w == Width::Lanes {
            return self.scan_in_lanes(n, exclusive);
        }
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

    /// A scan in all lanes: each is combined with those before it, in so many steps as the lanes can be halved, and with what came before this round.
    fn scan_in_lanes(&mut self, n: Node, exclusive: bool) -> Res<Vec<Val>> {
        let types = self.fold_types(&[n])?;
        let (_, elems, _) = parts_of(self.p, n)?;
        let count = self.vector()?.count;
        let mut acc = self.accs.get(&n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
        let mut shown = Vec::new();
        for (k, (e, (op, ty))) in elems.iter().zip(types).enumerate() {
            let unit = self.unit_lanes(op, ty, count);
            let x = self.lane_val(*e)?;
            let mut sums = self.where_active(x, unit);
            let mut by = 1;
            while by < count {
                let from = (0..count).map(|i| if i < by { i } else { count + i - by }).collect();
                let earlier = self.b.let_(Expr::Swizzle(unit, sums, from));
                sums = self.b.let_lanes(Expr::Assoc(op, earlier, sums), count);
                by *= 2;
            }
            let before = self.b.splat(acc.vals[k], count);
            let mut upto = self.b.let_lanes(Expr::Assoc(op, before, sums), count);
            if exclusive {
                let from = (0..count).map(|i| if i == 0 { 0 } else { count + i - 1 }).collect();
                upto = self.b.let_(Expr::Swizzle(before, upto, from));
            }
            if let Some(first) = &acc.before {
                let first = self.b.splat(first.vals[k], count);
                upto = self.b.let_lanes(Expr::Assoc(op, first, upto), count);
            }
            shown.push(upto);
            let all = self.b.let_(Expr::Lane(sums, count - 1));
            acc.vals[k] = self.b.let_(Expr::Assoc(op, acc.vals[k], all));
        }
        if acc.has.is_some() {
            acc.has = Some(self.constant(Scalar::Bool(true)));
        }
        self.accs.insert(n, acc);
        Ok(shown)
    }
}
