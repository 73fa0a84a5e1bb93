//! Shorthand for [`Builder`]: one method for each common statement, and loops by closures.

use super::*;

impl Builder {
    /// A constant.
    pub fn constant(&mut self, s: Scalar) -> Val {
        self.let_(Expr::Const(s))
    }

    /// A constant in every lane.
    pub fn constant_lanes(&mut self, s: Scalar, lanes: u16) -> Val {
        self.let_lanes(Expr::Const(s), lanes)
    }

    /// A constant `i64`.
    pub fn i64(&mut self, n: i64) -> Val {
        self.constant(Scalar::I64(n))
    }

    /// A constant `f64`.
    pub fn f64(&mut self, x: f64) -> Val {
        self.constant(Scalar::F64(x))
    }

    /// A constant truth value.
    pub fn bool(&mut self, b: bool) -> Val {
        self.constant(Scalar::Bool(b))
    }

    /// The numbers of the lanes.
    pub fn lanes(&mut self, lanes: u16) -> Val {
        self.let_lanes(Expr::Lanes, lanes)
    }

    /// A scalar in every lane; a value that already has that number of lanes is returned unchanged.
    pub fn splat(&mut self, v: Val, lanes: u16) -> Val {
        if self.ty(v).lanes == lanes { v } else { self.let_lanes(Expr::Splat(v), lanes) }
    }

    /// An operator of one operand.
    pub fn unary(&mut self, op: UnOp, x: Val) -> Val {
        self.let_(Expr::Unary(op, x))
    }

    /// An operator of two operands. A scalar operand is splat to the lanes of the other.
    pub fn binary(&mut self, op: BinOp, x: Val, y: Val) -> Val {
        let (x, y) = self.alike(x, y);
        self.let_(Expr::Binary(op, x, y))
    }

    /// As [`Builder::binary`], of an operator that may be regrouped.
    pub fn assoc(&mut self, op: BinOp, x: Val, y: Val) -> Val {
        let (x, y) = self.alike(x, y);
        self.let_(Expr::Assoc(op, x, y))
    }

    fn alike(&mut self, x: Val, y: Val) -> (Val, Val) {
        let lanes = self.ty(x).lanes.max(self.ty(y).lanes);
        let mut wide = |v| if self.ty(v).lanes == 1 { self.splat(v, lanes) } else { v };
        (wide(x), wide(y))
    }

    /// The sum.
    pub fn add(&mut self, x: Val, y: Val) -> Val {
        self.binary(BinOp::Add, x, y)
    }

    /// The difference.
    pub fn sub(&mut self, x: Val, y: Val) -> Val {
        self.binary(BinOp::Sub, x, y)
    }

    /// The product.
    pub fn mul(&mut self, x: Val, y: Val) -> Val {
        self.binary(BinOp::Mul, x, y)
    }

    /// A sum with a constant `i64`.
    pub fn add_const(&mut self, x: Val, n: i64) -> Val {
        let n = self.i64(n);
        self.add(x, n)
    }

    /// A product with a constant `i64`.
    pub fn mul_const(&mut self, x: Val, n: i64) -> Val {
        let n = self.i64(n);
        self.mul(x, n)
    }

    /// Whether the first is less.
    pub fn lt(&mut self, x: Val, y: Val) -> Val {
        self.binary(BinOp::Lt, x, y)
    }

    /// The minimum.
    pub fn min(&mut self, x: Val, y: Val) -> Val {
        self.binary(BinOp::Min, x, y)
    }

    /// The maximum.
    pub fn max(&mut self, x: Val, y: Val) -> Val {
        self.binary(BinOp::Max, x, y)
    }

    /// Conjunction.
    pub fn and(&mut self, x: Val, y: Val) -> Val {
        self.binary(BinOp::And, x, y)
    }

    /// Disjunction.
    pub fn or(&mut self, x: Val, y: Val) -> Val {
        self.binary(BinOp::Or, x, y)
    }

    /// The opposite truth value, or all bits flipped.
    pub fn not(&mut self, x: Val) -> Val {
        self.unary(UnOp::Not, x)
    }

    /// A product and a sum, rounded once.
    pub fn fma(&mut self, x: Val, y: Val, z: Val) -> Val {
        self.let_(Expr::Fma(x, y, z))
    }

    /// One of two.
    pub fn select(&mut self, cond: Val, yes: Val, no: Val) -> Val {
        let (yes, no) = self.alike(yes, no);
        self.let_(Expr::Select(cond, yes, no))
    }

    /// A conversion.
    pub fn cast(&mut self, to: ScalarType, x: Val) -> Val {
        self.let_(Expr::Cast(to, x))
    }

    /// One element, or with an index of several lanes one for each.
    pub fn load(&mut self, buf: Buf, at: Val) -> Val {
        self.let_(Expr::Load { buf, at, mask: None })
    }

    /// Successive elements, or with an index of several lanes one for each.
    pub fn load_lanes(&mut self, buf: Buf, at: Val, lanes: u16, mask: Option<Val>) -> Val {
        self.let_lanes(Expr::Load { buf, at, mask }, lanes)
    }

    /// Stores a value of any number of lanes.
    pub fn store(&mut self, buf: Buf, at: Val, value: Val) {
        self.store_with(buf, at, value, None, StoreHint::Cached);
    }

    /// Stores the lanes whose mask is `true`.
    pub fn store_with(&mut self, buf: Buf, at: Val, value: Val, mask: Option<Val>, hint: StoreHint) {
        self.stmt(Stmt::Store { buf, at, value, mask, hint });
    }

    /// Combines into an element.
    pub fn atomic(&mut self, op: BinOp, buf: Buf, at: Val, value: Val) {
        self.stmt(Stmt::Atomic { op, buf, at, value, before: None });
    }

    /// Adds to an element; the value that it had before.
    pub fn fetch_add(&mut self, buf: Buf, at: Val, value: Val) -> Val {
        let before = self.fresh_val(self.ty(value));
        self.stmt(Stmt::Atomic { op: BinOp::Add, buf, at, value, before: Some(before) });
        before
    }

    /// All lanes combined.
    pub fn total(&mut self, op: BinOp, x: Val) -> Val {
        self.let_(Expr::Total(op, x))
    }

    /// Records a failure if any lane is `true`.
    pub fn flag(&mut self, v: Val) {
        if self.constant_of(v) != Some(Scalar::Bool(false)) {
            self.stmt(Stmt::Flag(v));
        }
    }

    /// Records a failure with its site and operands.
    pub fn fail(&mut self, site: u32, operands: &[Val]) {
        self.stmt(Stmt::Fail { site, operands: operands.to_vec() });
    }

    /// Waits for the threads of the block.
    pub fn barrier(&mut self) {
        self.stmt(Stmt::Barrier);
    }

    /// Waits for the threads of the warp.
    pub fn warp_barrier(&mut self) {
        self.stmt(Stmt::WarpBarrier);
    }

    /// A counted loop. The closure is passed the counter and the carried values, and returns the next ones.
    pub fn for_(
        &mut self,
        lo: Val,
        hi: Val,
        step: i64,
        inits: &[Val],
        hint: LoopHint,
        body: impl FnOnce(&mut Builder, Val, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let (i, params) = self.begin_for(lo, hi, step, inits, hint);
        let results = body(self, i, &params);
        self.end(&results)
    }

    /// A loop while the test holds. Both closures are passed the carried values.
    pub fn while_(
        &mut self,
        inits: &[Val],
        test: impl FnOnce(&mut Builder, &[Val]) -> Val,
        body: impl FnOnce(&mut Builder, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let params = self.begin_while(inits);
        let test = test(self, &params);
        self.begin_body(test);
        let results = body(self, &params);
        self.end(&results)
    }

    /// One of two blocks; only the selected one, if the condition is constant.
    pub fn if_(
        &mut self,
        cond: Val,
        yes: impl FnOnce(&mut Builder) -> Vec<Val>,
        no: impl FnOnce(&mut Builder) -> Vec<Val>,
    ) -> Vec<Val> {
        match self.constant_of(cond).and_then(Scalar::as_bool) {
            Some(true) => return yes(self),
            Some(false) => return no(self),
            None => {}
        }
        self.begin_if(cond);
        let first = yes(self);
        self.begin_else(&first);
        let second = no(self);
        self.end(&second)
    }

    /// A block that runs if the condition holds.
    pub fn when(&mut self, cond: Val, yes: impl FnOnce(&mut Builder)) {
        self.if_(
            cond,
            |b| {
                yes(b);
                Vec::new()
            },
            |_| Vec::new(),
        );
    }
}
