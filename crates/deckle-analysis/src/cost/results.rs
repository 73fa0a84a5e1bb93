//! The shapes of results: lengths of sequences, values of integers, and sizes known only at run time. Sizes of vectors come
//! from types.

use super::integer;
use super::shape::{Bound, Shape};
use super::walk::Walk;
use deckle_ir::array::{Coll, Inst, Monoid, Op, ScanKind, SplitBy};
use deckle_ir::entity::Var;
use deckle_ir::size::Size;
use deckle_ir::types::Type;

impl Walk<'_> {
    /// The shape of the result of a statement without bodies, or whose bodies do not determine it.
    pub fn result(&mut self, v: Var, inst: &Inst, args: &[Shape]) -> Shape {
        let function = self.function;
        let ty = function.ty(v);
        let int = Bound::exact;
        let arg = |k: usize| args.get(k).cloned().unwrap_or(Shape::UNKNOWN);
        let items = |k: usize| match arg(k).items() {
            Some((len, elem)) => (len.clone(), elem.clone()),
            None => (int(Size::constant(0)), Shape::UNKNOWN),
        };
        match &inst.op {
            Op::Const(_) | Op::Unary(_) | Op::Binary(_) | Op::Cast(_) => {
                if *ty != Type::INT {
                    return Shape::UNKNOWN;
                }
                let from = inst.args.first().map_or(ty, |a| function.ty(*a));
                integer::scalar(&inst.op, from, &args.iter().collect::<Vec<_>>())
            }
            Op::Select => arg(1).or(&arg(2)),
            Op::Tuple | Op::Record(_) => Shape::Tuple(args.to_vec()),
            Op::Proj(k) => args[0].part(*k).cloned().unwrap_or(Shape::UNKNOWN),
            Op::Index => inst.args[1..].iter().zip(1..).fold(arg(0), |shape, (_, k)| match shape.items() {
                Some((len, elem)) => match arg(k).as_int().filter(|i| i.exact) {
                    Some(at) => elem.at(&at.size),
                    None => elem.loosen(&len.size, &self.symbols),
                },
                None => Shape::UNKNOWN,
            }),
            Op::Array(_) | Op::MkSeq(_) => {
                let elem = args.iter().map(|a| a.shift(1)).reduce(|a, b| a.or(&b));
                let elem = elem.unwrap_or_else(|| match ty.elem() {
                    Some(t) => self.shape_of_type(t, &mut vec![0.into()], function.span(v), "a size of no element"),
                    None => Shape::UNKNOWN,
                });
                Shape::coll(ty.is_seq(), int(Size::constant(args.len() as i128)), elem)
            }
            Op::Replicate => Shape::coll(false, self.int(inst.args[1]), arg(0).shift(1)),
            Op::Iota(coll) => Shape::coll(*coll == Coll::Seq, self.int(inst.args[0]), Shape::int(int(Size::pos(0)))),
            Op::Range(coll, inclusive) => self.range(v, *coll == Coll::Seq, *inclusive, inst),
            Op::Zip => {
                let elem = Shape::Tuple((0..args.len()).map(|k| items(k).1).collect());
                Shape::coll(args[0].is_seq(), items(0).0, elem)
            }
            Op::Unzip => match items(0) {
                (len, Shape::Tuple(parts)) => {
                    Shape::Tuple(parts.into_iter().map(|p| Shape::coll(args[0].is_seq(), len.clone(), p)).collect())
                }
                _ => self.typed_shape(v, "a length"),
            },
            Op::Length => Shape::int(items(0).0),
            Op::Shape(depth) => {
                let mut dims = Vec::new();
                let mut shape = arg(0);
                for _ in 0..*depth {
                    let Some((len, elem)) = shape.items().map(|(l, e)| (l.clone(), e.clone())) else { break };
                    shape = elem.loosen(&len.size, &self.symbols);
                    dims.push(Shape::int(len));
                }
                Shape::Tuple(dims)
            }
            Op::Size(depth) => Shape::int(self.count(&args[0], *depth)),
            Op::Flatten => self.flatten(&args[0]),
            Op::Split(by) => self.split(v, *by, inst, args),
            Op::Scatter => {
                self.open(v, "m", "a size of an element");
                let moved = self.innermost(&arg(0)).or(&self.innermost(&arg(2)));
                self.typed(v, &moved)
            }
            Op::Reshape(_) | Op::Slice(_) | Op::Transpose(_) | Op::Reverse(_) | Op::Take | Op::Drop => {
                self.open(v, "m", "a size of an element");
                let moved = self.innermost(&arg(0));
                self.typed(v, &moved)
            }
            Op::Concat(_) | Op::Pad(_) => {
                self.open(v, "m", "a size of an element");
                let others = if matches!(inst.op, Op::Concat(_)) { &args[1..] } else { &args[3..] };
                let moved = others.iter().fold(self.innermost(&arg(0)), |m, a| m.or(&self.innermost(a)));
                self.typed(v, &moved)
            }
            Op::Filter | Op::Compact => {
                let (n, elem) = items(0);
                let k = self.unknown(
                    "k",
                    0,
                    Some(n.size.clone()),
                    function.span(v),
                    "the number of elements that pass".into(),
                );
                let elem = self.reordered(v, &n.size, &elem);
                Shape::coll(false, k, elem)
            }
            Op::Partition => {
                let (n, elem) = items(0);
                let k = self.unknown(
                    "k",
                    0,
                    Some(n.size.clone()),
                    function.span(v),
                    "the number of elements that pass".into(),
                );
                let others = match n.exact && k.exact {
                    true => int(n.size.sub(&k.size)),
                    false => Bound::at_most(n.size.clone()),
                };
                let (yes, no) = (self.reordered(v, &n.size, &elem), self.reordered(v, &n.size, &elem));
                Shape::Tuple(vec![Shape::coll(false, k, yes), Shape::coll(false, others, no)])
            }
            Op::Sort | Op::SortBy => {
                let (n, elem) = items(0);
                let elem = self.reordered(v, &n.size, &elem);
                Shape::coll(false, n, elem)
            }
            Op::Reduce(Monoid::Min | Monoid::Max) => items(0).1.loosen(&items(0).0.size, &self.symbols),
            Op::Reduce(Monoid::ArgMin | Monoid::ArgMax) => Shape::int(Bound::at_most(items(0).0.size)),
            Op::Scan(..) | Op::ScanOrdered => {
                let (n, _) = items(args.len() - 1);
                let n = if inst.op.scan_kind() == Some(ScanKind::Full) { n.plus(&int(1.into())) } else { n };
                self.open(v, "m", "a size of a partial result");
                let elem = match ty.elem() {
                    Some(t) => self.shape_of_type(
                        t,
                        &mut vec![n.size.clone()],
                        function.span(v),
                        "a length of a partial result",
                    ),
                    None => Shape::UNKNOWN,
                };
                Shape::coll(ty.is_seq(), n, elem)
            }
            Op::The => items(0).1.at(&Size::constant(0)),
            Op::Append => {
                let ((n, x), (m, y)) = (items(0), items(1));
                let (x, y) = (x.loosen(&n.size, &self.symbols), y.loosen(&m.size, &self.symbols));
                Shape::coll(true, n.plus(&m), x.or(&y).shift(1))
            }
            Op::FlagPart => {
                let ((n, elem), (flags, _)) = (items(0), items(1));
                let parts = match n.exact && flags.exact {
                    true => int(flags.size.sub(&n.size)),
                    false => Bound::at_most(flags.size),
                };
                let why = "the lengths of the parts";
                let s = self.unknown_family("s", n.size.clone(), n.size.clone(), function.span(v), why.into());
                let elem = elem.loosen(&n.size, &self.symbols).shift(2);
                Shape::coll(true, parts, Shape::coll(true, s, elem))
            }
            Op::Tab => Shape::coll(false, items(0).0, items(0).1),
            Op::Seq => Shape::coll(true, items(0).0, items(0).1),
            Op::Tiles(depth) => self.tiles(&args[0], *depth, inst),
            Op::Tabulate(_) => {
                let (n, elem) = items(0);
                Shape::coll(false, n.clone(), elem.loosen(&n.size, &self.symbols).shift(1))
            }
            Op::Ensure(_) => self.ensured(v, &args[0]),
            _ => {
                self.open(v, "m", "a size of this");
                self.typed_shape(v, "a length")
            }
        }
    }

    /// The shape given by the type of `v`, with these innermost elements if they are flat.
    fn typed(&mut self, v: Var, moved: &Shape) -> Shape {
        fn graft(shape: Shape, inner: &Shape) -> Shape {
            match shape {
                Shape::Array(len, elem) => Shape::Array(len, Box::new(graft(*elem, &inner.shift(1)))),
                _ => inner.clone(),
            }
        }
        let shape = self.typed_shape(v, "a length");
        let mut inner = self.function.ty(v);
        while let Some(a) = inner.as_array() {
            inner = &a.elem;
        }
        if inner.is_flat() { graft(shape, moved) } else { shape }
    }

    /// The common shape of the innermost elements of an array.
    fn innermost(&self, shape: &Shape) -> Shape {
        match shape {
            Shape::Array(len, elem) => self.innermost(&elem.loosen(&len.size, &self.symbols)),
            _ => shape.clone(),
        }
    }

    /// The elements at other positions: rows of different length have a new family of lengths, but the same sum.
    fn reordered(&mut self, v: Var, n: &Size, elem: &Shape) -> Shape {
        if let Shape::Array(row, inner) = elem
            && row.size.mentions_pos(0)
        {
            let bound = self.symbols.most(n, &row.size);
            let total = self.symbols.sum(n, &row.size);
            let s =
                self.unknown_family("s", bound.shift(1), total, self.function.span(v), "the lengths of rows".into());
            let inner = inner.map(&mut |b, d| super::shape::loosen(b, d + 1, n, &self.symbols));
            return Shape::coll(false, s, inner.shift_under(1));
        }
        elem.loosen(n, &self.symbols).shift(1)
    }

    /// The result of `group_by`.
    pub fn groups(&mut self, v: Var, xs: &Shape, key: Shape) -> Shape {
        let Some((n, elem)) = xs.items() else { return Shape::UNKNOWN };
        let span = self.function.span(v);
        let g = self.unknown("g", 0, Some(n.size.clone()), span, "how many groups there are".into());
        let s = self.unknown_family("s", n.size.clone(), n.size.clone(), span, "the sizes of the groups".into());
        let members = elem.loosen(&n.size, &self.symbols).shift(2);
        Shape::coll(false, g, Shape::Tuple(vec![key.shift(1), Shape::coll(false, s, members)]))
    }

    /// The number of elements in the outer `depth` dimensions.
    fn count(&self, shape: &Shape, depth: u32) -> Bound {
        match shape.items() {
            Some((len, elem)) if depth > 1 => {
                let inner = self.count(elem, depth - 1);
                Bound { size: self.symbols.sum(&len.size, &inner.size), exact: len.exact && inner.exact }
            }
            Some((len, _)) => len.clone(),
            None => Bound::exact(1.into()),
        }
    }

    fn flatten(&self, shape: &Shape) -> Shape {
        let Some((outer, inner)) = shape.items() else { return Shape::UNKNOWN };
        let Some((row, elem)) = inner.items() else { return Shape::UNKNOWN };
        let len = Bound { size: self.symbols.sum(&outer.size, &row.size), exact: outer.exact && row.exact };
        let elem = elem.loosen(&row.size, &self.symbols).loosen(&outer.size, &self.symbols);
        Shape::coll(shape.is_seq(), len, elem.shift(1))
    }

    fn split(&mut self, v: Var, by: SplitBy, inst: &Inst, args: &[Shape]) -> Shape {
        let (Some((n, elem)), Some((_, told))) = (args[0].items(), args[1].items()) else { return Shape::UNKNOWN };
        let moved = elem.loosen(&n.size, &self.symbols);
        if by == SplitBy::Lengths && !told.as_int().is_some_and(|t| t.exact) {
            // The rows are unknown, but their sum is known.
            let span = self.function.span(v);
            let s = self.unknown_family("s", n.size.clone(), n.size.clone(), span, "the lengths of the rows".into());
            self.refine(inst.args[1], Shape::int(s));
        }
        self.open(v, "m", "a size of an element");
        self.typed(v, &moved)
    }

    fn range(&mut self, v: Var, is_seq: bool, inclusive: bool, inst: &Inst) -> Shape {
        let step = self.shape(inst.args[2]).as_int().filter(|s| s.exact).and_then(|s| s.size.as_constant());
        let step = step.filter(|s| *s != 0 && *self.function.ty(v).elem().unwrap_or(&Type::BOOL) == Type::INT);
        let ends = step.map(|step| {
            let (a, b) = (self.int(inst.args[0]), self.int(inst.args[1]));
            (step, if step > 0 { (a.clone(), b) } else { (b, a.clone()) }, a)
        });
        let Some((step, (low, high), first)) = ends.filter(|(_, (low, _), _)| low.exact) else {
            let len = self.unknown("m", 0, None, self.function.span(v), "the length of this range".into());
            return Shape::coll(is_seq, len, Shape::UNKNOWN);
        };
        let span = high.size.sub(&low.size).sub(&Size::constant(i128::from(!inclusive)));
        let size = span.div(&Size::constant(step.abs())).add(&1.into()).greater(&Size::constant(0));
        let elem = first.size.add(&Size::pos(0).scale(step));
        let elem = if first.exact { Bound::exact(elem) } else { Bound::at_most(high.size.clone()) };
        Shape::coll(is_seq, Bound { size, exact: high.exact }, Shape::int(elem))
    }

    fn tiles(&mut self, array: &Shape, depth: u32, inst: &Inst) -> Shape {
        let mut count = Bound::exact(1.into());
        let mut dims = Vec::new();
        let mut shape = array.clone();
        for k in 1..=depth as usize {
            let Some((len, elem)) = shape.items().map(|(l, e)| (l.clone(), e.clone())) else { break };
            let each = self.int(inst.args[k]);
            let tiles = match each.exact {
                true => len.size.add(&each.size).sub(&1.into()).div(&each.size),
                false => len.size.clone(),
            };
            count = Bound { size: count.size.mul(&tiles), exact: count.exact && each.exact && len.exact };
            dims.push(Bound::at_most(len.size.lesser(&each.size)));
            shape = elem.loosen(&len.size, &self.symbols);
        }
        let inner = shape.shift(depth as i32 + 1);
        let tile = dims.iter().enumerate().rev().fold(inner, |elem, (k, n)| {
            let n = Bound { size: n.size.shift(k as i32 + 1), exact: false };
            Shape::coll(false, n, elem)
        });
        Shape::coll(true, count, tile)
    }

    /// After `ensure` the sizes are those of the value and those of the type: the type's, if it mentions variables bound before.
    fn ensured(&mut self, v: Var, given: &Shape) -> Shape {
        fn lengths(shape: &Shape, of: &Shape) -> Shape {
            match (shape, of) {
                (Shape::Array(a, x), Shape::Array(b, y)) => {
                    let len = if b.exact || !a.exact { b } else { a };
                    Shape::coll(false, len.clone(), lengths(x, y))
                }
                (Shape::Tuple(a), Shape::Tuple(b)) => {
                    Shape::Tuple(a.iter().zip(b).map(|(x, y)| lengths(x, y)).collect())
                }
                _ => shape.clone(),
            }
        }
        self.define(v, given.clone());
        if !self.function.ty(v).is_concrete() {
            return given.clone();
        }
        let typed = self.typed_shape(v, "a length");
        lengths(given, &typed)
    }
}
