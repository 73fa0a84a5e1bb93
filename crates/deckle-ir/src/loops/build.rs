//! Building functions of the loop IR.
//!
//! ```
//! use deckle_ir::array::BinOp;
//! use deckle_ir::loops::{Access, Builder, LoopHint};
//! use deckle_ir::scalar::ScalarType::F64;
//!
//! let mut b = Builder::new("sum");
//! let (xs, out) = (b.buffer(F64, Access::Read), b.buffer(F64, Access::Write));
//! let n = b.scalar(deckle_ir::scalar::ScalarType::I64);
//! let (first, zero) = (b.i64(0), b.f64(0.0));
//! let sum = b.for_(first, n, 1, &[zero], LoopHint::Independent, |b, i, carried| {
//!     let x = b.load(xs, i);
//!     vec![b.assoc(BinOp::Add, carried[0], x)]
//! });
//! b.store(out, first, sum[0]);
//! assert!(b.finish().is_ok());
//! ```
//!
//! # Where statements go
//! Blocks that are being built form a stack; the innermost has depth [`Builder::depth`]. Statements go to the innermost, or with
//! [`Builder::at_depth`] to an enclosing one, before the block that is being built inside it. [`Builder::hoist`] finds the outermost
//! block in which all operands are defined. Constants always go to the outermost. The same expression of the same operands is built once per scope, and
//! constants are folded.
//!
//! # Errors
//! Ill-typed statements and unclosed blocks are built anyway; [`Builder::finish`] reports them.

use super::fold::{Known, fold};
use super::unroll::{Rounds, renumber};
use super::*;
use rustc_hash::FxHashMap;

/// A function under construction.
pub struct Builder {
    function: Function,
    open: Vec<Scope>,
    /// The constant values.
    constants: FxHashMap<Val, Scalar>,
    /// The depth of the block in which each value is defined.
    depths: Vec<usize>,
    faults: Vec<String>,
    /// Whether a loop is unrolled, so that its values have no definition.
    written_out: bool,
}

/// A block that is being built.
struct Scope {
    block: Block,
    /// Its purpose.
    head: Head,
    /// Expressions built in it.
    seen: FxHashMap<(Expr, Ty), Val>,
}

/// The owner of a block.
enum Head {
    Body,
    For { var: Val, lo: Val, hi: Val, step: i64, carries: Vec<(Val, Val)>, hint: LoopHint },
    Test { carries: Vec<(Val, Val)> },
    While,
    Yes { cond: Val },
    No { cond: Val, yes: Block },
}

/// Set in the number of a local buffer until the number of buffer parameters is known.
const LOCAL: u32 = 1 << 31;

impl Builder {
    /// A function for a CPU.
    pub fn new(name: &str) -> Builder {
        Builder::for_gpu(name, 0)
    }

    /// A function for a GPU with this many threads in a block.
    pub fn for_gpu(name: &str, block: u32) -> Builder {
        let function = Function {
            name: name.to_string(),
            buffers: Vec::new(),
            locals: Vec::new(),
            scalars: Vec::new(),
            vals: Vec::new(),
            body: Block::default(),
            block,
            resident: 0,
        };
        let mut builder = Builder {
            function,
            open: Vec::new(),
            constants: FxHashMap::default(),
            depths: Vec::new(),
            faults: Vec::new(),
            written_out: false,
        };
        builder.enter(Head::Body);
        builder
    }

    /// A buffer parameter. May be called at any time.
    pub fn buffer(&mut self, elem: ScalarType, access: Access) -> Buf {
        self.function.buffers.push(Param { elem, access });
        Buf(self.function.buffers.len() as u32 - 1)
    }

    /// A scalar parameter. May be called at any time.
    pub fn scalar(&mut self, ty: ScalarType) -> Val {
        let v = self.fresh(ty.into(), 0);
        self.function.scalars.push(v);
        v
    }

    /// A local buffer. Its number is not final before [`Builder::finish`].
    pub fn local(&mut self, elem: ScalarType, len: u32, place: Place) -> Buf {
        self.function.locals.push(Local { elem, len, place });
        Buf(LOCAL | (self.function.locals.len() as u32 - 1))
    }

    /// The type of a value.
    pub fn ty(&self, v: Val) -> Ty {
        self.function.vals.get(v.index()).copied().unwrap_or(ScalarType::I64.into())
    }

    /// The type of the elements of a buffer.
    pub fn elem(&self, buf: Buf) -> ScalarType {
        let local = self.function.locals.get((buf.0 & !LOCAL) as usize).map(|l| l.elem);
        let found = if buf.0 & LOCAL != 0 { local } else { self.function.elem(buf) };
        found.unwrap_or(ScalarType::I64)
    }

    /// The value of a constant (equal in every lane).
    pub fn constant_of(&self, v: Val) -> Option<Scalar> {
        self.constants.get(&v).copied()
    }

    /// The depth of the innermost open block; the body of the function has depth 0.
    pub fn depth(&self) -> usize {
        self.open.len().saturating_sub(1)
    }

    /// The depth of the block that defines a value (which may be closed already).
    pub fn depth_of(&self, v: Val) -> usize {
        self.depths.get(v.index()).copied().unwrap_or(0)
    }

    /// Builds into the open block of a given depth.
    pub fn at_depth<R>(&mut self, depth: usize, build: impl FnOnce(&mut Builder) -> R) -> R {
        let inner = self.open.split_off((depth + 1).min(self.open.len()));
        let here = self.open.len();
        let result = build(self);
        if self.open.len() != here {
            self.faults.push(format!("a block was opened at depth {depth} and not closed there"));
            self.open.truncate(here);
        }
        self.open.extend(inner);
        result
    }

    /// Defines a value in the outermost open block in which its operands are defined. Only for expressions that can be computed at any time: not for loads.
    pub fn hoist(&mut self, expr: Expr, lanes: u16) -> Val {
        let mut depth = 0;
        operands(&expr, |v| depth = depth.max(self.depth_of(v)));
        self.at_depth(depth, |b| b.let_lanes(expr, lanes))
    }

    /// Defines a value. If the expression does not determine the number of lanes, it is one.
    pub fn let_(&mut self, expr: Expr) -> Val {
        self.let_lanes(expr, 1)
    }

    /// Defines a value, with this number of lanes if the expression does not determine it.
    pub fn let_lanes(&mut self, expr: Expr, lanes: u16) -> Val {
        let ty = self.type_of(&expr, lanes);
        let known = fold(&expr, ty, &self.function.vals, |v| self.constant_of(v));
        let (expr, constant) = match known {
            // With a scalar condition the operands may have another type than the result.
            Some(Known::Val(v)) if self.ty(v) == ty => return v,
            Some(Known::Const(s)) if s.ty() == ty.scalar => (Expr::Const(s), Some(s)),
            _ => (expr, None),
        };
        let depth = if constant.is_some() { 0 } else { self.depth() };
        let key = (expr, ty);
        if let Some(v) = self.open[..=depth].iter().find_map(|scope| scope.seen.get(&key)) {
            return *v;
        }
        let v = self.fresh(ty, depth);
        let shared = self.shared(&key.0);
        if let Some(scope) = self.open.get_mut(depth) {
            scope.block.stmts.push(Stmt::Let(v, key.0.clone()));
            if shared {
                scope.seen.insert(key, v);
            }
        }
        if let Some(s) = constant {
            self.constants.insert(v, s);
        }
        v
    }

    /// Adds a given statement.
    pub fn stmt(&mut self, stmt: Stmt) {
        if let Some(scope) = self.open.last_mut() {
            scope.block.stmts.push(stmt);
        }
    }

    /// A value of that type without a definition, for a statement that is constructed manually.
    pub fn fresh_val(&mut self, ty: Ty) -> Val {
        self.fresh(ty, self.depth())
    }

    fn fresh(&mut self, ty: Ty, depth: usize) -> Val {
        self.function.vals.push(ty);
        self.depths.push(depth);
        Val(self.function.vals.len() as u32 - 1)
    }

    /// Whether an expression has the same value wherever its operands are defined.
    fn shared(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Load { buf, .. } => self.function.buffers.get(buf.index()).is_some_and(|p| p.access == Access::Read),
            Expr::Failed | Expr::Shuffle(..) | Expr::Ballot(_) => false,
            _ => true,
        }
    }

    fn type_of(&mut self, expr: &Expr, lanes: u16) -> Ty {
        let local = |buf: &Buf| buf.0 & LOCAL != 0;
        let final_expr = match expr {
            Expr::Load { buf, at, mask } if local(buf) => {
                Some(Expr::Load { buf: self.numbered(*buf), at: *at, mask: *mask })
            }
            _ => None,
        };
        self.function.names().result(final_expr.as_ref().unwrap_or(expr), lanes).unwrap_or_else(|fault| {
            self.faults.push(fault);
            ScalarType::I64.into()
        })
    }

    /// The final number of a buffer, if no buffer parameters are added.
    fn numbered(&self, buf: Buf) -> Buf {
        if buf.0 & LOCAL == 0 { buf } else { Buf((buf.0 & !LOCAL) + self.function.buffers.len() as u32) }
    }

    fn enter(&mut self, head: Head) {
        self.open.push(Scope { block: Block::default(), head, seen: FxHashMap::default() });
    }

    fn carry(&mut self, inits: &[Val]) -> (Vec<(Val, Val)>, Vec<Val>) {
        let depth = self.depth() + 1;
        let params: Vec<Val> = inits.iter().map(|&init| self.fresh(self.ty(init), depth)).collect();
        (inits.iter().copied().zip(params.iter().copied()).collect(), params)
    }

    /// Opens the body of a `for`; returns the counter and the carried values. [`Builder::end`] closes it.
    pub fn begin_for(&mut self, lo: Val, hi: Val, step: i64, inits: &[Val], hint: LoopHint) -> (Val, Vec<Val>) {
        let var = self.fresh(ScalarType::I64.into(), self.depth() + 1);
        let (carries, params) = self.carry(inits);
        self.enter(Head::For { var, lo, hi, step, carries, hint });
        (var, params)
    }

    /// Opens the test of a `while`; returns the carried values. [`Builder::begin_body`] closes it.
    pub fn begin_while(&mut self, inits: &[Val]) -> Vec<Val> {
        let (carries, params) = self.carry(inits);
        self.enter(Head::Test { carries });
        params
    }

    /// Closes the test of a `while` and opens its body, inside. [`Builder::end`] closes it.
    pub fn begin_body(&mut self, test: Val) {
        match self.open.last_mut() {
            Some(Scope { head: Head::Test { .. }, block, .. }) => block.results = vec![test],
            _ => self.faults.push("the body of a `while` without a test".to_string()),
        }
        self.enter(Head::While);
    }

    /// Opens the first block of an `if`. [`Builder::begin_else`] or [`Builder::end`] closes it.
    pub fn begin_if(&mut self, cond: Val) {
        self.enter(Head::Yes { cond });
    }

    /// Closes the first block of an `if` and opens the second. [`Builder::end`] closes it.
    pub fn begin_else(&mut self, results: &[Val]) {
        match self.open.pop() {
            Some(Scope { head: Head::Yes { cond }, mut block, .. }) => {
                block.results = results.to_vec();
                self.enter(Head::No { cond, yes: block });
            }
            other => {
                self.faults.push("`else` without an `if`".to_string());
                self.open.extend(other);
                self.enter(Head::Body);
            }
        }
    }

    /// Closes the innermost loop or `if` with the results of its block; returns those of the statement.
    pub fn end(&mut self, results: &[Val]) -> Vec<Val> {
        let scope = if self.open.len() > 1 { self.open.pop() } else { None };
        let Some(Scope { head, mut block, .. }) = scope else {
            self.faults.push("nothing to close".to_string());
            return results.to_vec();
        };
        block.results = results.to_vec();
        match head {
            Head::For { var, lo, hi, step, carries, mut hint } => {
                if hint == LoopHint::Unroll
                    && let (Some(Scalar::I64(lo)), Some(Scalar::I64(hi))) = (self.constant_of(lo), self.constant_of(hi))
                {
                    let rounds = Rounds { var, lo, hi, step, carries: &carries, body: &block };
                    if rounds.is_short() {
                        self.written_out = true;
                        return self.write_out(&rounds);
                    }
                    if rounds.is_long() {
                        hint = LoopHint::Plain;
                    }
                }
                let (carries, after) = self.carried(carries);
                self.stmt(Stmt::For { var, lo, hi, step, carries, body: block, hint });
                after
            }
            Head::While => match self.open.pop() {
                Some(Scope { head: Head::Test { carries }, block: test, .. }) => {
                    let (carries, after) = self.carried(carries);
                    self.stmt(Stmt::While { carries, test, body: block });
                    after
                }
                other => {
                    self.faults.push("the body of a `while` without a test".to_string());
                    self.open.extend(other);
                    results.to_vec()
                }
            },
            Head::Yes { cond } => self.end_if(cond, block, Block::default()),
            Head::No { cond, yes } => self.end_if(cond, yes, block),
            Head::Body | Head::Test { .. } => {
                self.faults.push("a block was closed too early".to_string());
                results.to_vec()
            }
        }
    }

    fn carried(&mut self, carries: Vec<(Val, Val)>) -> (Vec<Carry>, Vec<Val>) {
        let depth = self.depth();
        let carries: Vec<Carry> = carries
            .into_iter()
            .map(|(init, param)| Carry { init, param, result: self.fresh(self.ty(init), depth) })
            .collect();
        let after = carries.iter().map(|c| c.result).collect();
        (carries, after)
    }

    fn end_if(&mut self, cond: Val, yes: Block, no: Block) -> Vec<Val> {
        let depth = self.depth();
        let results: Vec<Val> = yes.results.iter().map(|&v| self.fresh(self.ty(v), depth)).collect();
        self.stmt(Stmt::If { cond, yes, no, results: results.clone() });
        results
    }

    /// The function, or all errors made while it was built.
    pub fn finish(mut self) -> Result<Function, Vec<String>> {
        if self.open.len() != 1 {
            self.faults.push(format!("{} blocks are open", self.open.len().saturating_sub(1)));
        }
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        let passed = self.function.buffers.len() as u32;
        if let Some(scope) = self.open.pop() {
            self.function.body = scope.block;
        }
        number_locals(&mut self.function.body, passed);
        if self.written_out {
            renumber(&mut self.function);
        }
        Ok(self.function)
    }
}

/// Renumbers local buffers after the buffer parameters.
fn number_locals(block: &mut Block, passed: u32) {
    for stmt in &mut block.stmts {
        match stmt {
            Stmt::Let(_, Expr::Load { buf, .. }) | Stmt::Store { buf, .. } | Stmt::Atomic { buf, .. }
                if buf.0 & LOCAL != 0 =>
            {
                *buf = Buf((buf.0 & !LOCAL) + passed);
            }
            Stmt::For { body, .. } => number_locals(body, passed),
            Stmt::While { test: first, body: second, .. } | Stmt::If { yes: first, no: second, .. } => {
                number_locals(first, passed);
                number_locals(second, passed);
            }
            _ => {}
        }
    }
}
