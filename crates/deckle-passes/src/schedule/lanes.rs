//! Several points of a dimension at once.
//!
//! The points of an innermost dimension are independent but for what is folded over them, so they can be computed in the lanes of vectors: as long as there are
//! enough points, several vectors in a round, each with sums of its own; then one vector at a time under a mask, so that there is no
//! remainder to go through one by one. Short rows, of which ragged arrays are full, are one masked round.
//!
//! What is said here decides in which order floats are added, and so the bits of a result: it depends on the types, never on the data or the threads.

use super::emit::{Acc, Emitter, Item, Res, parts_of, unit};
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{Combine, Node, Op, Sink, Space};
use deckle_ir::loops::{Expr, LoopHint, Stmt, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::collections::HashMap;

/// The bytes of a vector.
const BYTES: usize = 64;
/// The most lanes.
const MOST: usize = 16;
/// How many vectors a round of folds handles.
const VECTORS: usize = 4;

/// A vector of points: from `start` on, those of the mask.
struct Lanes {
    space: Space,
    count: u16,
    hint: StoreHint,
    start: Val,
    mask: Option<Val>,
    memo: HashMap<Node, Val>,
}

impl Emitter<'_> {
    /// How many lanes suit these items of a dimension; `None` if they cannot be computed so.
    pub(super) fn lanes_for(&mut self, space: Space, items: &[Item]) -> Option<u16> {
        // A few points are better written out.
        if self.written_out(space) {
            return None;
        }
        let mut widest = 1;
        let mut folds = false;
        for item in items {
            if self.space_of(*item) != space {
                return None;
            }
            match item {
                Item::Scan(_) => return None,
                Item::Fold(n) => {
                    folds = true;
                    let (_, elems, how) = parts_of(self.p, *n).ok()?;
                    if !matches!(how, Combine::Ops(_)) {
                        return None;
                    }
                    widest = elems.iter().map(|e| self.p.ty(*e).bytes()).fold(widest, usize::max);
                }
                Item::Sink(i) => match &self.sinks[*i] {
                    Sink::Write { value, .. } => widest = widest.max(self.p.ty(*value).bytes()),
                    _ => return None,
                },
            }
        }
        // Without folds the compiler does as well.
        if !folds {
            return None;
        }
        self.is_simple(space, items).then_some((BYTES / widest).min(MOST) as u16)
    }

    /// As [`Emitter::lanes_for`], for arrays that are written from one end to the other: those can go past the cache. With the bytes of a point.
    pub(super) fn streaming_lanes(&mut self, space: Space, items: &[Item]) -> Option<(u16, i64)> {
        let (mut widest, mut bytes) = (4, 0);
        for item in items {
            let Item::Sink(i) = item else { return None };
            let Sink::Write { space: s, at, value, .. } = &self.sinks[*i] else { return None };
            let width = self.p.ty(*value).bytes();
            if *s != space || !matches!(self.p.node(*at).op, Op::Pos) || self.p.space_of(*at) != space || width < 4 {
                return None;
            }
            widest = widest.max(width);
            bytes += width as i64;
        }
        self.is_simple(space, items).then_some(((BYTES / widest) as u16, bytes))
    }

    /// Whether everything at the points of a dimension can be computed in lanes.
    fn is_simple(&mut self, space: Space, items: &[Item]) -> bool {
        let mut simple = true;
        for item in items {
            for n in self.needs_of(*item) {
                let s = self.p.space_of(n);
                if s == space {
                    use Op::*;
                    let plain = matches!(
                        self.p.node(n).op,
                        Const(_) | Pos | Unary(..) | Binary(..) | Cast(..) | Select(..) | Load(..) | Check { .. }
                    );
                    let slow = matches!(self.p.node(n).op, Binary(BinOp::Pow, a, _) if !self.p.ty(a).is_float());
                    simple &= plain && !slow;
                } else if self.p.encloses(space, s) {
                    simple = false;
                }
            }
        }
        simple
    }

    /// Goes through the points from `lo` below `hi` in lanes. Whether there were any is noted for the folds.
    pub(super) fn in_lanes(
        &mut self,
        space: Space,
        items: &[Item],
        (lo, hi): (Val, Val),
        count: u16,
        hint: StoreHint,
    ) -> Res<()> {
        let folds: Vec<Node> = items.iter().filter_map(|i| if let Item::Fold(n) = i { Some(*n) } else { None }).collect();
        let types = self.fold_types(&folds)?;
        let width = i64::from(count);
        let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, count)).collect();
        // Several vectors a round.
        let round = width * VECTORS as i64;
        let points = self.b.let_(Expr::Binary(BinOp::Sub, hi, lo));
        // A round is a power of two, and there is no less than nothing.
        let (zero, below) = (self.int(0), self.int(round - 1));
        let points = self.b.let_(Expr::Binary(BinOp::Max, points, zero));
        let rest = self.b.let_(Expr::Binary(BinOp::And, points, below));
        let whole = self.b.let_(Expr::Binary(BinOp::Sub, points, rest));
        let middle = self.b.let_(Expr::Binary(BinOp::Add, lo, whole));
        let inits: Vec<Val> = (0..VECTORS).flat_map(|_| units.iter().copied()).collect();
        let (pos, params) = self.b.begin_for(lo, middle, round, &inits, LoopHint::Plain);
        let mut after = Vec::new();
        for k in 0..VECTORS {
            let sums = &params[k * types.len()..(k + 1) * types.len()];
            let by = self.int(k as i64 * width);
            let start = self.b.let_(Expr::Binary(BinOp::Add, pos, by));
            let mut lanes = Lanes { space, count, hint, start, mask: None, memo: HashMap::new() };
            after.extend(self.round(&mut lanes, items, &folds, sums)?);
        }
        let sums = self.b.end(&after);
        let n = types.len();
        let mut total: Vec<Val> = sums.iter().take(n).copied().collect();
        for more in sums.chunks(n.max(1)).skip(1) {
            for (i, (t, s)) in total.clone().into_iter().zip(more).enumerate() {
                total[i] = self.b.let_lanes(Expr::Assoc(types[i].0, t, *s), count);
            }
        }
        // Then one at a time, under a mask.
        let (pos, params) = self.b.begin_for(middle, hi, width, &total, LoopHint::Plain);
        let left = self.b.let_(Expr::Binary(BinOp::Sub, hi, pos));
        let most = self.int(width);
        let left = self.b.let_(Expr::Binary(BinOp::Min, left, most));
        let left = self.b.let_(Expr::Cast(ScalarType::I32, left));
        let left = self.b.splat(left, count);
        let numbers = self.b.let_lanes(Expr::Lanes, count);
        let numbers = self.b.let_lanes(Expr::Cast(ScalarType::I32, numbers), count);
        let mask = self.b.let_lanes(Expr::Binary(BinOp::Lt, numbers, left), count);
        let mut lanes = Lanes { space, count, hint: StoreHint::Cached, start: pos, mask: Some(mask), memo: HashMap::new() };
        let after = self.round(&mut lanes, items, &folds, &params)?;
        let total = self.b.end(&after);
        let any = self.b.let_(Expr::Binary(BinOp::Lt, lo, hi));
        let mut total = total.into_iter().zip(types);
        for n in folds {
            let (_, elems, how) = parts_of(self.p, n)?;
            let parts: Vec<Val> = total
                .by_ref()
                .take(elems.len())
                .map(|(v, (op, _))| self.b.let_(Expr::Total(op, v)))
                .collect();
            let acc = self.accs.get(&n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
            let vals = self.combine(how, &acc.vals, &parts)?;
            let has = match acc.has {
                Some(has) => Some(self.b.let_(Expr::Binary(BinOp::Or, has, any))),
                None => None,
            };
            self.accs.insert(n, Acc { vals, has, before: acc.before });
        }
        Ok(())
    }

    fn int(&mut self, n: i64) -> Val {
        self.constant(Scalar::I64(n))
    }

    /// The operator and the type of each sum.
    fn fold_types(&self, folds: &[Node]) -> Res<Vec<(BinOp, ScalarType)>> {
        let mut types = Vec::new();
        for n in folds {
            let (_, elems, how) = parts_of(self.p, *n)?;
            let Combine::Ops(ops) = how else { return Err(format!("{n} cannot be folded in lanes")) };
            types.extend(ops.iter().copied().zip(elems.iter().map(|e| self.p.ty(*e))));
        }
        Ok(types)
    }

    fn unit_lanes(&mut self, op: BinOp, ty: ScalarType, count: u16) -> Val {
        let c = unit(op, ty).unwrap_or(Scalar::zero(ty));
        let v = self.constant(c);
        self.b.splat(v, count)
    }

    /// The positions of a vector.
    fn numbers(&mut self, start: Val, count: u16) -> Val {
        let start = self.b.splat(start, count);
        let lanes = self.b.let_lanes(Expr::Lanes, count);
        self.b.let_lanes(Expr::Binary(BinOp::Add, start, lanes), count)
    }

    /// One vector: the sinks take their values, and the sums are added to.
    fn round(&mut self, lanes: &mut Lanes, items: &[Item], folds: &[Node], sums: &[Val]) -> Res<Vec<Val>> {
        for item in items {
            let Item::Sink(i) = item else { continue };
            let Sink::Write { buf, at, value, .. } = &self.sinks[*i] else { continue };
            let value = self.lane_val(lanes, *value)?;
            let at = self.place(lanes, *at)?;
            let buf = self.buf(*buf)?;
            self.b.stmt(Stmt::Store { buf, at, value, mask: lanes.mask, hint: lanes.hint });
        }
        let mut after = Vec::new();
        let mut sums = sums.iter();
        for n in folds {
            let (_, elems, how) = parts_of(self.p, *n)?;
            let Combine::Ops(ops) = how else { continue };
            for (op, e) in ops.iter().zip(elems) {
                let Some(sum) = sums.next() else { continue };
                let x = self.lane_val(lanes, *e)?;
                let next = self.b.let_lanes(Expr::Assoc(*op, *sum, x), lanes.count);
                after.push(match lanes.mask {
                    Some(mask) => self.b.let_lanes(Expr::Select(mask, next, *sum), lanes.count),
                    None => next,
                });
            }
        }
        Ok(after)
    }

    /// Where lanes are stored or loaded: a scalar where they follow each other.
    fn place(&mut self, lanes: &mut Lanes, at: Node) -> Res<Val> {
        let is_pos = |e: &Self, n: Node| matches!(e.p.node(n).op, Op::Pos) && e.p.space_of(n) == lanes.space;
        if is_pos(self, at) {
            return Ok(lanes.start);
        }
        if let Op::Binary(BinOp::Add, a, b) = self.p.node(at).op {
            for (pos, base) in [(a, b), (b, a)] {
                if is_pos(self, pos) && self.p.space_of(base) != lanes.space {
                    let base = self.val(base)?;
                    return Ok(self.b.let_(Expr::Binary(BinOp::Add, base, lanes.start)));
                }
            }
        }
        self.lane_val(lanes, at)
    }

    /// The value of a node in all lanes.
    fn lane_val(&mut self, lanes: &mut Lanes, n: Node) -> Res<Val> {
        let count = lanes.count;
        if self.p.space_of(n) != lanes.space {
            let v = self.val(n)?;
            return Ok(self.b.splat(v, count));
        }
        if let Some(v) = lanes.memo.get(&n) {
            return Ok(*v);
        }
        let expr = match self.p.node(n).op.clone() {
            Op::Pos => {
                let v = self.numbers(lanes.start, count);
                lanes.memo.insert(n, v);
                return Ok(v);
            }
            Op::Const(c) => Expr::Const(c),
            Op::Unary(op, x) => Expr::Unary(op, self.lane_val(lanes, x)?),
            Op::Binary(op, a, b) => Expr::Binary(op, self.lane_val(lanes, a)?, self.lane_val(lanes, b)?),
            Op::Cast(to, x) => Expr::Cast(to, self.lane_val(lanes, x)?),
            Op::Select(c, x, y) => {
                Expr::Select(self.lane_val(lanes, c)?, self.lane_val(lanes, x)?, self.lane_val(lanes, y)?)
            }
            Op::Load(buf, at) => {
                let at = self.place(lanes, at)?;
                Expr::Load { buf: self.buf(buf)?, at, mask: lanes.mask }
            }
            Op::Check { cond, value, .. } => {
                let c = self.lane_val(lanes, cond)?;
                let mut bad = self.b.let_lanes(Expr::Unary(UnOp::Not, c), count);
                if let Some(mask) = lanes.mask {
                    bad = self.b.let_lanes(Expr::Binary(BinOp::And, bad, mask), count);
                }
                self.b.stmt(Stmt::Flag(bad));
                let v = self.lane_val(lanes, value)?;
                let zero = self.constant(Scalar::zero(self.p.ty(value)));
                let zero = self.b.splat(zero, count);
                Expr::Select(c, v, zero)
            }
            _ => return Err(format!("{n} cannot be computed in lanes")),
        };
        let v = self.b.let_lanes(expr, count);
        lanes.memo.insert(n, v);
        Ok(v)
    }
}
