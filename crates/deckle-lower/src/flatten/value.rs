//! Values during flattening: a scalar is a node, and an array is a rule for computing its elements.

use super::{Flattener, Res, bug};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, ROOT, Region, Rep, Rows, Space};
use std::rc::Rc;

/// A value at every point of a context.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Scalar(Node),
    Tuple(Rc<[Val]>),
    Array(Rc<Arr>),
}

/// An array at every point of a context.
#[derive(Clone, Debug)]
pub(super) enum Arr {
    /// Computed: the element at the position of `dim`, a dimension below the context.
    Body { dim: Space, elem: Val, linear: bool },
    /// In memory, from `base` on.
    Kept { size: Node, base: Node, rep: Rc<Rep> },
    /// Computed in order, without a position: the points of `inner`, with dimensions and guards between `home` and it.
    Chain { home: Space, inner: Space, elem: Val, size: Option<Node>, linear: bool },
}

impl Val {
    pub(super) fn tuple(parts: Vec<Val>) -> Val {
        Val::Tuple(parts.into())
    }

    pub(super) fn array(arr: Arr) -> Val {
        Val::Array(Rc::new(arr))
    }

    /// All scalars of a flat value, in order.
    pub(super) fn leaves(&self) -> Option<Vec<Node>> {
        match self {
            Val::Scalar(n) => Some(vec![*n]),
            Val::Array(_) => None,
            Val::Tuple(parts) => {
                let mut all = Vec::new();
                for p in parts.iter() {
                    all.extend(p.leaves()?);
                }
                Some(all)
            }
        }
    }

    /// All scalars of a value that is flat by its type, in order.
    pub(super) fn scalars(&self) -> Res<Vec<Node>> {
        self.leaves().ok_or_else(|| bug("scalars are expected, and an array is there"))
    }

    /// The only scalar of a value that is one by its type.
    pub(super) fn scalar(&self) -> Res<Node> {
        match self {
            Val::Scalar(n) => Ok(*n),
            _ => Err(bug("a scalar is expected, and something else is there")),
        }
    }

    /// The components of a value that has some by its type.
    pub(super) fn parts(&self) -> Res<&Rc<[Val]>> {
        match self {
            Val::Tuple(parts) => Ok(parts),
            _ => Err(bug("a tuple is expected, and something else is there")),
        }
    }

    /// The same value with other scalars.
    pub(super) fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Node>) -> Res<Val> {
        Ok(match self {
            Val::Scalar(_) => Val::Scalar(leaves.next().ok_or_else(|| bug("too few scalars for a value"))?),
            Val::Tuple(parts) => Val::tuple(parts.iter().map(|p| p.with_leaves(leaves)).collect::<Res<_>>()?),
            Val::Array(_) => return Err(bug("scalars for an array")),
        })
    }

    pub(super) fn has_array(&self) -> bool {
        match self {
            Val::Scalar(_) => false,
            Val::Array(_) => true,
            Val::Tuple(parts) => parts.iter().any(Val::has_array),
        }
    }
}

/// The elements of an array in order: the innermost space of a traversal, and the element there.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub inner: Space,
    pub elem: Val,
    /// Whether the element holds a scan, and so cannot be computed on its own.
    pub linear: bool,
}

impl Flattener<'_> {
    /// The array in memory that begins at element `at` of a representation.
    pub(super) fn kept_at(&mut self, rep: &Rep, at: Node, ctx: Space) -> Val {
        match rep {
            Rep::Scalar(buf) => Val::Scalar(self.k.load(*buf, at, ctx)),
            Rep::Tuple(parts) => Val::tuple(parts.iter().map(|r| self.kept_at(r, at, ctx)).collect()),
            Rep::Array(Rows::Equal(size), rep) => {
                // Empty rows may begin anywhere. If a type mentions elements that no row has, these must not be loaded outside of the loop over the rows.
                let is_empty = self.k.as_int(*size) == Some(0);
                let base = if is_empty { at } else { self.k.binary(BinOp::Mul, at, *size) };
                Val::array(Arr::Kept { size: *size, base, rep: Rc::new((**rep).clone()) })
            }
            Rep::Array(Rows::Offsets(offsets), rep) => {
                let lo = self.k.load(*offsets, at, ctx);
                let size = match self.equal_rows.get(offsets) {
                    Some(size) => *size,
                    None => {
                        let one = self.k.int(1);
                        let next = self.k.binary(BinOp::Add, at, one);
                        let hi = self.k.load(*offsets, next, ctx);
                        self.k.binary(BinOp::Sub, hi, lo)
                    }
                };
                Val::array(Arr::Kept { size, base: lo, rep: Rc::new((**rep).clone()) })
            }
        }
    }

    /// The size of a dimension.
    pub(super) fn dim_size(&self, dim: Space) -> Res<Node> {
        match self.k.space(dim).region {
            Region::Dim(n) => Ok(n),
            _ => Err(bug(format!("{dim} is no dimension"))),
        }
    }

    /// The number of elements of an array, in a context at or below its own.
    pub(super) fn size(&mut self, arr: &Rc<Arr>, ctx: Space) -> Res<Node> {
        let size = match &**arr {
            Arr::Kept { size, .. } => *size,
            Arr::Body { dim, .. } => self.dim_size(*dim)?,
            Arr::Chain { size: Some(n), .. } => *n,
            Arr::Chain { .. } => {
                let walk = self.walk(arr, ctx)?;
                let label = self.label_of(arr);
                self.within(label, |f| f.count_points(walk.inner, ctx))?
            }
        };
        if self.k.space_of(size) == ROOT {
            self.here.scope.sizes.insert(size);
        }
        Ok(size)
    }

    /// The number of points of a space at each point of a context around it.
    pub(super) fn count_points(&mut self, inner: Space, ctx: Space) -> Res<Node> {
        if ctx != ROOT {
            return self.count_anew(inner, ctx);
        }
        if let Some(known) = self.scopes().find_map(|s| s.counts.get(&inner)) {
            return Ok(*known);
        }
        let count = self.count_anew(inner, ctx)?;
        self.here.scope.counts.insert(inner, count);
        Ok(count)
    }

    fn count_anew(&mut self, inner: Space, ctx: Space) -> Res<Node> {
        let label = (format!("the size of {}", self.name), self.span);
        // The innermost dimension need not be traversed: its size is the count.
        if let Region::Dim(size) = self.k.space(inner).region {
            let parent = self.k.space(inner).parent;
            if parent == ctx {
                return Ok(size);
            }
            if let Some((_, count)) = self.numbered(inner, ctx)? {
                return Ok(count);
            }
            return self.within(label, |f| f.size_sum(parent, size, ctx));
        }
        let one = self.k.int(1);
        self.within(label, |f| f.sum(inner, one, ctx))
    }

    /// The elements in order, in a context at or below the array's own.
    pub(super) fn walk(&mut self, arr: &Rc<Arr>, ctx: Space) -> Res<Walk> {
        match &**arr {
            Arr::Kept { size, base, rep } => {
                let dim = self.k.dim(ctx, *size);
                let pos = self.k.pos(dim);
                let at = self.k.binary(BinOp::Add, *base, pos);
                let elem = self.kept_at(rep, at, dim);
                Ok(Walk { inner: dim, elem, linear: false })
            }
            Arr::Body { dim, elem, linear } => {
                let home = self.k.space(*dim).parent;
                if home == ctx {
                    return Ok(Walk { inner: *dim, elem: elem.clone(), linear: *linear });
                }
                if *linear {
                    let kept = self.keep(arr, home)?;
                    return self.walk(&kept, ctx);
                }
                let size = self.dim_size(*dim)?;
                let moved = self.k.dim(ctx, size);
                let elem = self.move_to(elem, &[(*dim, moved)]);
                Ok(Walk { inner: moved, elem, linear: false })
            }
            Arr::Chain { home, inner, elem, linear, .. } => {
                if *home == ctx {
                    return Ok(Walk { inner: *inner, elem: elem.clone(), linear: *linear });
                }
                if *linear {
                    let kept = self.keep(arr, *home)?;
                    return self.walk(&kept, ctx);
                }
                let (inner, elem) = self.move_chain(*home, *inner, elem, ctx);
                Ok(Walk { inner, elem, linear: false })
            }
        }
    }

    /// The element at an index that is in range, in a context at or below the array's own.
    pub(super) fn at(&mut self, arr: &Rc<Arr>, index: Node, ctx: Space) -> Res<Val> {
        match &**arr {
            Arr::Kept { base, rep, .. } => {
                let at = self.k.binary(BinOp::Add, *base, index);
                Ok(self.kept_at(rep, at, ctx))
            }
            Arr::Body { dim, elem, linear } => {
                let pos = self.k.pos(*dim);
                if index == pos && self.k.encloses(*dim, ctx) {
                    return Ok(elem.clone());
                }
                if *linear {
                    let home = self.k.space(*dim).parent;
                    let kept = self.keep(arr, home)?;
                    return self.at(&kept, index, ctx);
                }
                let element = self.element(*dim, elem, index, ctx);
                if ctx == ROOT { self.on_hand(element) } else { Ok(element) }
            }
            Arr::Chain { home, .. } => {
                let kept = self.keep(arr, *home)?;
                self.at(&kept, index, ctx)
            }
        }
    }

    /// The array whose element at each position of a new dimension is the result of `f`.
    pub(super) fn body_array(
        &mut self,
        size: Node,
        ctx: Space,
        f: &mut dyn FnMut(&mut Self, Node, Space) -> Res<Val>,
    ) -> Res<Val> {
        let dim = self.k.dim(ctx, size);
        let pos = self.k.pos(dim);
        let elem = f(self, pos, dim)?;
        let elem = self.at_home(elem, dim)?;
        Ok(Val::array(Arr::Body { dim, elem, linear: false }))
    }

    /// A value of a space with arrays of that space. The dimension of one from outside may also be around here: moving the value would confuse
    /// them.
    pub(super) fn at_home(&mut self, val: Val, ctx: Space) -> Res<Val> {
        let home = |f: &Self, arr: &Arr| match arr {
            Arr::Kept { .. } => ctx,
            Arr::Body { dim, .. } => f.k.space(*dim).parent,
            Arr::Chain { home, .. } => *home,
        };
        match &val {
            Val::Tuple(parts) if val.has_array() => {
                Ok(Val::tuple(parts.iter().map(|p| self.at_home(p.clone(), ctx)).collect::<Res<_>>()?))
            }
            Val::Array(arr) if home(self, arr) != ctx => {
                let walk = self.walk(arr, ctx)?;
                Ok(self.walked(ctx, walk))
            }
            _ => Ok(val),
        }
    }

    /// The result of a traversal as an array: with positions, if it is over one dimension.
    pub(super) fn walked(&mut self, ctx: Space, walk: Walk) -> Val {
        let Walk { inner, elem, linear } = walk;
        match self.k.space(inner).region {
            Region::Dim(_) if self.k.space(inner).parent == ctx => Val::array(Arr::Body { dim: inner, elem, linear }),
            _ => Val::array(Arr::Chain { home: ctx, inner, elem, size: None, linear }),
        }
    }

    /// An array with a size and random access: chains and scans are stored.
    pub(super) fn indexed(&mut self, arr: &Rc<Arr>) -> Res<Rc<Arr>> {
        match &**arr {
            Arr::Chain { home, .. } => self.keep(arr, *home),
            Arr::Body { dim, linear: true, .. } => {
                let home = self.k.space(*dim).parent;
                self.keep(arr, home)
            }
            _ => Ok(Rc::clone(arr)),
        }
    }

    /// An array whose elements may be read many times: it is stored if an element costs more than a load and storing is possible.
    pub(super) fn random(&mut self, arr: &Rc<Arr>) -> Res<Rc<Arr>> {
        let arr = self.indexed(arr)?;
        if let Arr::Body { dim, elem, .. } = &*arr {
            let home = self.k.space(*dim).parent;
            if !self.is_cheap(*dim, elem)? && self.on_host(home) {
                return self.keep(&arr, home);
            }
        }
        Ok(arr)
    }

    /// Whether the host can run kernels at the points of a space: no loop and no function encloses it.
    pub(super) fn on_host(&self, mut s: Space) -> bool {
        while s != ROOT {
            if matches!(self.k.space(s).region, Region::Loop | Region::Lambda) {
                return false;
            }
            s = self.k.space(s).parent;
        }
        true
    }
}
