//! Stencils: the window around a position is an array whose elements are those of the source at other indices.

use super::value::{Arr, Val};
use super::{Cx, Flattener, Frame, Res, Run, as_array};
use deckle_ir::array::{BinOp, Boundary};
use deckle_ir::kernel::{Node, Space};
use std::rc::Rc;

impl<'p> Flattener<'p> {
    pub(super) fn stencil(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, radii: &[u32], boundary: Boundary) -> Res<Val> {
        let val = self.get(fx, cx.inst.args[0])?;
        let sizes = self.regular_operand(fx, cx, radii.len(), "stencil")?;
        let arr = self.random(&as_array(&val)?)?;
        let source = Source { arr, sizes, radii: radii.to_vec(), boundary };
        self.around(fx, cx, &source, &mut Vec::new(), cx.ctx)
    }

    /// The result, one dimension after another.
    fn around(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        source: &Source,
        middle: &mut Vec<Node>,
        ctx: Space,
    ) -> Res<Val> {
        if middle.len() == source.sizes.len() {
            let window = self.window(fx, cx, source, middle, &mut Vec::new(), ctx)?;
            return self.inside(fx, cx.inst.bodies[0], &[window], ctx, Run::Indices(middle, false));
        }
        let n = source.sizes[middle.len()];
        self.body_array(n, ctx, &mut |f, pos, dim| {
            middle.push(pos);
            let elem = f.around(fx, cx, source, middle, dim);
            middle.pop();
            elem
        })
    }

    fn window(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        source: &Source,
        middle: &[Node],
        at: &mut Vec<Node>,
        ctx: Space,
    ) -> Res<Val> {
        let k = at.len();
        if k == middle.len() {
            return self.neighbour(fx, cx, source, at, ctx);
        }
        let r = source.radii[k] as i64;
        let (extent, back) = (self.k.int(2 * r + 1), self.k.int(r));
        let start = self.sub(middle[k], back);
        self.body_array(extent, ctx, &mut |f, pos, dim| {
            at.push(f.add(start, pos));
            let elem = f.window(fx, cx, source, middle, at, dim);
            at.pop();
            elem
        })
    }

    /// The element at indices that may lie beyond the edges.
    fn neighbour(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, source: &Source, at: &[Node], ctx: Space) -> Res<Val> {
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let mut inward = Vec::new();
        for (i, n) in at.iter().zip(&source.sizes) {
            inward.push(match source.boundary {
                Boundary::Clamp => {
                    let last = self.sub(*n, one);
                    let low = self.max(*i, zero);
                    self.min(low, last)
                }
                Boundary::Wrap => self.euclid(*i, *n),
                Boundary::Mirror => {
                    let twice = self.add(*n, *n);
                    let j = self.euclid(*i, twice);
                    let last = self.sub(twice, one);
                    let back = self.sub(last, j);
                    self.min(j, back)
                }
                Boundary::Constant | Boundary::Function => *i,
            });
        }
        let outside = match source.boundary {
            Boundary::Constant => Some(self.get(fx, cx.inst.args[1])?),
            Boundary::Function => None,
            _ => return self.at_all(&source.arr, &inward, ctx),
        };
        let mut within = self.k.constant(deckle_ir::scalar::Scalar::Bool(true));
        for (i, n) in at.iter().zip(&source.sizes) {
            let (a, b) = (self.ge(*i, zero), self.lt(*i, *n));
            let both = self.and(a, b);
            within = self.and(within, both);
        }
        self.either(within, ctx, &mut |f, ctx| f.at_all(&source.arr, &inward, ctx), &mut |f, ctx| match &outside {
            Some(fill) => f.lower_into(fill, ctx),
            None => {
                let indices: Vec<Val> = at.iter().map(|i| Val::Scalar(*i)).collect();
                f.inside(fx, cx.inst.bodies[1], &indices, ctx, Run::Indices(at, false))
            }
        })
    }

    fn at_all(&mut self, arr: &Rc<Arr>, at: &[Node], ctx: Space) -> Res<Val> {
        let mut val = Val::Array(Rc::clone(arr));
        for i in at {
            val = self.at(&as_array(&val)?, *i, ctx)?;
        }
        Ok(val)
    }

    /// The remainder that is never negative.
    fn euclid(&mut self, i: Node, n: Node) -> Node {
        let r = self.k.binary(BinOp::Rem, i, n);
        let zero = self.k.int(0);
        let negative = self.lt(r, zero);
        let up = self.add(r, n);
        self.k.select(negative, up, r)
    }
}

/// The source of a stencil.
struct Source {
    arr: Rc<Arr>,
    sizes: Vec<Node>,
    radii: Vec<u32>,
    boundary: Boundary,
}
