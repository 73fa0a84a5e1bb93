//! Creating spaces and nodes: equal ones are created once, each in the outermost possible space, and constants are folded.

use super::*;
use crate::scalar_eval;
use std::collections::BTreeSet;

/// The operands of a fold or scan, and its operator.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldSpec {
    /// The initial values.
    pub init: Option<Vec<Node>>,
    /// The values that are combined.
    pub elems: Vec<Node>,
    /// How they are combined.
    pub combine: Combine,
}

impl Default for Program {
    fn default() -> Program {
        Program {
            spaces: vec![SpaceData { parent: ROOT, depth: 0, region: Region::Root, offsets: None }],
            nodes: Vec::new(),
            bufs: Vec::new(),
            sites: Vec::new(),
            made_sites: FxHashMap::default(),
            data: Vec::new(),
            params: Vec::new(),
            steps: Vec::new(),
            result: Rep::Tuple(Vec::new()),
            notes: Vec::new(),
            settled: BTreeSet::new(),
            made_nodes: FxHashMap::default(),
            made_spaces: FxHashMap::default(),
        }
    }
}

impl Program {
    /// A space of the arena.
    pub fn space(&self, s: Space) -> &SpaceData {
        &self.spaces[s.index()]
    }

    /// A node of the arena.
    pub fn node(&self, n: Node) -> &NodeData {
        &self.nodes[n.index()]
    }

    /// The type of a node.
    pub fn ty(&self, n: Node) -> ScalarType {
        self.nodes[n.index()].ty
    }

    /// The space of a node.
    pub fn space_of(&self, n: Node) -> Space {
        self.nodes[n.index()].space
    }

    /// Whether `outer` is `inner` or encloses it.
    pub fn encloses(&self, outer: Space, inner: Space) -> bool {
        let depth = self.space(outer).depth;
        let mut s = inner;
        while self.space(s).depth > depth {
            s = self.space(s).parent;
        }
        s == outer
    }

    /// The inner one of two spaces, one of which encloses the other.
    pub fn inner(&self, a: Space, b: Space) -> Space {
        if self.space(a).depth >= self.space(b).depth { a } else { b }
    }

    /// The innermost space, `s` or an enclosing one, that is not a dimension.
    pub fn pin(&self, mut s: Space) -> Space {
        while let Region::Dim(_) = self.space(s).region {
            s = self.space(s).parent;
        }
        s
    }

    /// The spaces from just below `outer` down to `inner`, which it encloses.
    pub fn between(&self, outer: Space, inner: Space) -> Vec<Space> {
        let mut chain = Vec::new();
        let mut s = inner;
        while s != outer && s != ROOT {
            chain.push(s);
            s = self.space(s).parent;
        }
        chain.reverse();
        chain
    }

    fn new_space(&mut self, parent: Space, region: Region) -> Space {
        let offsets = if let Region::Dim(size) = region { self.offsets_of(parent, size) } else { None };
        let data = SpaceData { parent, depth: self.space(parent).depth + 1, region, offsets };
        let shared = matches!(region, Region::Dim(_) | Region::Guard(..));
        if shared && let Some(s) = self.made_spaces.get(&data) {
            return *s;
        }
        let s = Space(self.spaces.len() as u32);
        self.spaces.push(data);
        if shared {
            self.made_spaces.insert(data, s);
        }
        s
    }

    /// The buffer if a size is the difference of two successive elements of it, at the position in a dimension.
    pub(super) fn offsets_of(&self, dim: Space, size: Node) -> Option<Buf> {
        let mut size = size;
        while let Op::Check { value, .. } = self.node(size).op {
            size = value;
        }
        let Op::Binary(BinOp::Sub, end, start) = self.node(size).op else { return None };
        let (Op::Load(buf, after), Op::Load(other, at)) = (&self.node(end).op, &self.node(start).op) else {
            return None;
        };
        let at = self.linear(*at, &|n| n)?;
        let mut by = self.linear(*after, &|n| n)?;
        by.add(&at, -1)?;
        let is_pos =
            |(n, times): (&Node, &i64)| matches!(self.node(*n).op, Op::Pos) && self.space_of(*n) == dim && *times == 1;
        let is_next = by.terms.is_empty() && by.constant == 1;
        let is_here = at.constant == 0 && at.terms.len() == 1 && at.terms.iter().all(is_pos);
        (buf == other && self.ty(end) == ScalarType::I64 && is_here && is_next).then_some(*buf)
    }

    /// The dimension of that size below a space. Whether its points are rows is derived from the size.
    pub fn dim(&mut self, parent: Space, size: Node) -> Space {
        self.new_space(parent, Region::Dim(size))
    }

    /// Changes the size of a dimension.
    pub fn resize(&mut self, dim: Space, size: Node) {
        let offsets = self.offsets_of(self.space(dim).parent, size);
        let data = &mut self.spaces[dim.index()];
        (data.region, data.offsets) = (Region::Dim(size), offsets);
    }

    /// The guard with that condition below a space.
    pub fn guard(&mut self, parent: Space, cond: Node, when: bool) -> Space {
        self.new_space(parent, Region::Guard(cond, when))
    }

    /// A new loop below a space.
    pub fn new_loop(&mut self, parent: Space) -> Space {
        self.new_space(parent, Region::Loop)
    }

    /// A new combining function below a space.
    pub fn new_lambda(&mut self, parent: Space) -> Space {
        self.new_space(parent, Region::Lambda)
    }

    /// A new buffer.
    pub fn buf(&mut self, elem: ScalarType, name: impl Into<String>) -> Buf {
        self.bufs.push(BufData { elem, name: name.into(), span: Span::NONE, len: None });
        Buf(self.bufs.len() as u32 - 1)
    }

    /// Records the number of elements of the buffers of a representation, given the count of the outermost elements.
    pub fn measure(&mut self, rep: &Rep, count: Node) {
        match rep {
            Rep::Scalar(b) => self.bufs[b.index()].len = Some(count),
            Rep::Tuple(parts) => parts.iter().for_each(|p| self.measure(p, count)),
            Rep::Array(Rows::Equal(n), elem) => {
                let all = self.binary(BinOp::Mul, count, *n);
                self.measure(elem, all);
            }
            Rep::Array(Rows::Offsets(b), elem) => {
                let all = self.load(*b, count, ROOT);
                self.measure(elem, all);
            }
        }
    }

    /// The site with that description.
    pub fn site(&mut self, data: SiteData) -> Site {
        if let Some(site) = self.made_sites.get(&data) {
            return *site;
        }
        let site = Site(self.sites.len() as u32);
        self.sites.push(data.clone());
        self.made_sites.insert(data, site);
        site
    }

    /// The node with that description.
    pub fn intern(&mut self, op: Op, ty: ScalarType, space: Space) -> Node {
        let data = NodeData { op, ty, space };
        if let Some(n) = self.made_nodes.get(&data) {
            return *n;
        }
        let n = Node(self.nodes.len() as u32);
        self.made_nodes.insert(data.clone(), n);
        self.nodes.push(data);
        n
    }

    /// A number.
    pub fn constant(&mut self, c: Scalar) -> Node {
        self.intern(Op::Const(c), c.ty(), ROOT)
    }

    /// An `i64`.
    pub fn int(&mut self, n: i64) -> Node {
        self.constant(Scalar::I64(n))
    }

    /// The value of a node, if it is constant.
    pub fn as_const(&self, n: Node) -> Option<Scalar> {
        match self.node(n).op {
            Op::Const(c) => Some(c),
            _ => None,
        }
    }

    /// The `i64` value of a node, if it is constant.
    pub fn as_int(&self, n: Node) -> Option<i64> {
        match self.as_const(n) {
            Some(Scalar::I64(k)) => Some(k),
            _ => None,
        }
    }

    /// The position in a dimension.
    pub fn pos(&mut self, dim: Space) -> Node {
        self.intern(Op::Pos, ScalarType::I64, dim)
    }

    /// A variable of a loop or lambda.
    pub fn var(&mut self, space: Space, k: u32, ty: ScalarType) -> Node {
        self.intern(Op::Var(k), ty, space)
    }

    fn outermost(&self, operands: &[Node]) -> Space {
        operands.iter().fold(ROOT, |s, n| self.inner(s, self.space_of(*n)))
    }

    /// An operator of one operand.
    pub fn unary(&mut self, op: UnOp, x: Node) -> Node {
        if let Some(c) = self.as_const(x)
            && let Ok(c) = scalar_eval::unary(op, c)
        {
            return self.constant(c);
        }
        if let (UnOp::Not, Op::Unary(UnOp::Not, inner)) = (op, &self.node(x).op) {
            return *inner;
        }
        let ty = if op == UnOp::IsNan { ScalarType::Bool } else { self.ty(x) };
        let space = self.space_of(x);
        self.intern(Op::Unary(op, x), ty, space)
    }

    /// An operator of two operands; of integers simplified.
    pub fn binary(&mut self, op: BinOp, a: Node, b: Node) -> Node {
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b))
            && let Ok(c) = scalar_eval::binary(op, x, y)
        {
            return self.constant(c);
        }
        if let Some(n) = self.simple(op, a, b) {
            return n;
        }
        let (a, b) = match op {
            // One order, so equal sums are the same node.
            BinOp::Add | BinOp::Mul | BinOp::AddSat | BinOp::MulSat | BinOp::And | BinOp::Or
                if !self.ty(a).is_float() && a > b =>
            {
                (b, a)
            }
            _ => (a, b),
        };
        let ty = match op {
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => ScalarType::Bool,
            _ => self.ty(a),
        };
        let space = self.outermost(&[a, b]);
        self.intern(Op::Binary(op, a, b), ty, space)
    }

    fn simple(&mut self, op: BinOp, a: Node, b: Node) -> Option<Node> {
        let ty = self.ty(a);
        if ty.is_float() {
            return None;
        }
        let known = |n: Node| self.as_const(n).and_then(|c| c.as_int().or(c.as_bool().map(i128::from)));
        let (x, y) = (known(a), known(b));
        match op {
            BinOp::Add | BinOp::AddSat if x == Some(0) => Some(b),
            BinOp::Add | BinOp::AddSat | BinOp::Sub if y == Some(0) => Some(a),
            BinOp::Sub if a == b => Some(self.constant(Scalar::zero(ty))),
            BinOp::Add | BinOp::Sub => self.cancel(op, a, b),
            BinOp::Mul | BinOp::MulSat if x == Some(1) => Some(b),
            BinOp::Mul | BinOp::MulSat | BinOp::Div if y == Some(1) => Some(a),
            BinOp::Mul | BinOp::MulSat if x == Some(0) => Some(a),
            BinOp::Mul | BinOp::MulSat if y == Some(0) => Some(b),
            BinOp::Min | BinOp::Max | BinOp::And | BinOp::Or if a == b => Some(a),
            BinOp::And if ty == ScalarType::Bool && x == Some(1) => Some(b),
            BinOp::And if ty == ScalarType::Bool && y == Some(1) => Some(a),
            BinOp::Or if ty == ScalarType::Bool && x == Some(0) => Some(b),
            BinOp::Or if ty == ScalarType::Bool && y == Some(0) => Some(a),
            BinOp::Eq | BinOp::Le | BinOp::Ge if a == b => Some(self.constant(Scalar::Bool(true))),
            BinOp::Ne | BinOp::Lt | BinOp::Gt if a == b => Some(self.constant(Scalar::Bool(false))),
            _ => None,
        }
    }

    /// `(x + y) - y`, `(x - y) + y`, and sums with numbers on both levels.
    fn cancel(&mut self, op: BinOp, a: Node, b: Node) -> Option<Node> {
        let (other, inverse) = match op {
            BinOp::Add => (BinOp::Sub, BinOp::Add),
            _ => (BinOp::Add, BinOp::Sub),
        };
        let _ = inverse;
        match self.node(a).op {
            Op::Binary(o, x, y) if o == other && y == b => return Some(x),
            Op::Binary(BinOp::Add, x, y) if op == BinOp::Sub && x == b => return Some(y),
            Op::Binary(o @ (BinOp::Add | BinOp::Sub), x, y) if self.ty(a) == ScalarType::I64 => {
                // (x ± c) ± d = x + e
                let d = self.as_int(b)?;
                let c = self.as_int(y)?;
                let c = if o == BinOp::Add { c } else { c.checked_neg()? };
                let e = if op == BinOp::Add { c.checked_add(d)? } else { c.checked_sub(d)? };
                let e = self.int(e);
                return Some(self.binary(BinOp::Add, x, e));
            }
            _ => {}
        }
        None
    }

    /// A conversion.
    pub fn cast(&mut self, to: ScalarType, x: Node) -> Node {
        if self.ty(x) == to {
            return x;
        }
        if let Some(c) = self.as_const(x) {
            return self.constant(c.cast(to));
        }
        let space = self.space_of(x);
        self.intern(Op::Cast(to, x), to, space)
    }

    /// One of two values, both computed.
    pub fn select(&mut self, c: Node, x: Node, y: Node) -> Node {
        match self.as_const(c) {
            Some(Scalar::Bool(true)) => return x,
            Some(Scalar::Bool(false)) => return y,
            _ if x == y => return x,
            _ => {}
        }
        let space = self.outermost(&[c, x, y]);
        let ty = self.ty(x);
        self.intern(Op::Select(c, x, y), ty, space)
    }

    /// `x * y + z`, rounded once.
    pub fn fma(&mut self, x: Node, y: Node, z: Node) -> Node {
        if let [Some(a), Some(b), Some(c)] = [x, y, z].map(|n| self.as_const(n)) {
            return self.constant(scalar_eval::fma(a, b, c));
        }
        let space = self.outermost(&[x, y, z]);
        let ty = self.ty(x);
        self.intern(Op::Fma(x, y, z), ty, space)
    }

    /// An index that is 0 if a check fails on which it depends. A failed check has the value zero, and an index computed from it, such as the start of a row plus a position in it, need
    /// not be in range. An index that is itself the checked value is.
    pub fn index_even_so(&mut self, at: Node) -> Node {
        let conds = self.checks_of(self.operands_of_index(at), false);
        let Some(ok) = conds.into_iter().reduce(|a, b| self.binary(BinOp::And, a, b)) else { return at };
        let zero = self.constant(Scalar::zero(self.ty(at)));
        match self.node(at).op {
            Op::Select(c, _, other) if c == ok && other == zero => at,
            _ => self.select(ok, at, zero),
        }
    }

    /// The conditions checked by kernels from which nodes are computed by arithmetic: the first on each path, or all those *behind* it as well.
    pub fn checks_of(&self, mut nodes: Vec<Node>, behind: bool) -> BTreeSet<Node> {
        let (mut conds, mut seen) = (BTreeSet::new(), BTreeSet::new());
        while let Some(n) = nodes.pop() {
            // The host has made the checks of the root before a kernel runs.
            if self.space_of(n) == ROOT || !seen.insert(n) {
                continue;
            }
            match self.node(n).op {
                Op::Check { cond, value, .. } => {
                    conds.insert(cond);
                    nodes.extend(behind.then_some(value));
                }
                _ => nodes.extend(self.operands_of_index(n)),
            }
        }
        conds
    }

    /// The operands of a node that computes an index by arithmetic.
    fn operands_of_index(&self, n: Node) -> Vec<Node> {
        match self.node(n).op {
            Op::Unary(_, x) | Op::Cast(_, x) => vec![x],
            Op::Binary(_, a, b) | Op::Select(_, a, b) => vec![a, b],
            _ => Vec::new(),
        }
    }

    /// An element of a buffer, loaded in the context `ctx`.
    pub fn load(&mut self, buf: Buf, at: Node, ctx: Space) -> Node {
        // The elements of data of the program are known.
        if let Some(i) = self.as_int(at)
            && let Some((_, data)) = self.data.iter().find(|(b, _)| *b == buf)
            && let Some(c) = usize::try_from(i).ok().and_then(|i| data.get(i))
        {
            return self.constant(*c);
        }
        let at = self.index_even_so(at);
        let space = self.inner(self.pin(ctx), self.space_of(at));
        let ty = self.bufs[buf.index()].elem;
        self.intern(Op::Load(buf, at), ty, space)
    }

    /// The value, if the condition holds; the check is made at every point of `ctx`.
    pub fn check(&mut self, cond: Node, value: Node, site: Site, operands: Vec<Node>, ctx: Space) -> Node {
        if let Some(Scalar::Bool(true)) = self.as_const(cond) {
            return value;
        }
        let ty = self.ty(value);
        self.intern(Op::Check { cond, value, site, operands }, ty, ctx)
    }

    /// A component.
    pub fn part(&mut self, n: Node, k: u32) -> Node {
        let space = self.space_of(n);
        let ty = match &self.node(n).op {
            Op::Fold { elems, .. } if k as usize == elems.len() => ScalarType::Bool,
            Op::Fold { elems, .. } | Op::Scan { elems, .. } => self.ty(elems[k as usize]),
            Op::If { then, .. } => self.ty(then[k as usize]),
            Op::Loop { init, .. } => self.ty(init[k as usize]),
            _ => self.ty(n),
        };
        self.intern(Op::Part(n, k), ty, space)
    }

    /// A fold in the context `ctx` over a space below it.
    pub fn fold(&mut self, over: Space, spec: FoldSpec, ctx: Space) -> Node {
        let ty = self.ty(spec.elems[0]);
        let FoldSpec { init, elems, combine } = spec;
        self.intern(Op::Fold { over, init, elems, combine }, ty, ctx)
    }

    /// A scan over `over`, which restarts at each point of `from`.
    pub fn scan(&mut self, over: Space, from: Space, spec: FoldSpec, exclusive: bool) -> Node {
        let ty = self.ty(spec.elems[0]);
        let FoldSpec { init, elems, combine } = spec;
        self.intern(Op::Scan { from, init, elems, combine, exclusive }, ty, over)
    }

    /// The operands of a node, in order, without those of its regions.
    pub fn operands(&self, n: Node) -> Vec<Node> {
        let mut all = Vec::new();
        self.each_operand(n, &mut |m| all.push(m));
        all
    }

    /// The same, one by one.
    pub(super) fn each_operand(&self, n: Node, f: &mut impl FnMut(Node)) {
        match &self.node(n).op {
            Op::Const(_) | Op::Pos | Op::Var(_) => {}
            Op::Unary(_, x) | Op::Cast(_, x) | Op::Load(_, x) | Op::Part(x, _) => f(*x),
            Op::Binary(_, a, b) => [*a, *b].into_iter().for_each(f),
            Op::Select(a, b, c) | Op::Fma(a, b, c) => [*a, *b, *c].into_iter().for_each(f),
            Op::Check { cond, value, operands, .. } => [cond, value].into_iter().chain(operands).copied().for_each(f),
            Op::Fold { init, elems, combine, .. } | Op::Scan { init, elems, combine, .. } => {
                let results = combine.function().map(|(_, results)| results);
                init.iter().flatten().chain(elems).chain(results.into_iter().flatten()).copied().for_each(f);
            }
            Op::If { then, other, .. } => then.iter().chain(other).copied().for_each(f),
            Op::Loop { init, cond, next, checks, .. } => {
                init.iter().chain([cond]).chain(next).chain(checks).copied().for_each(f);
            }
        }
    }
}
