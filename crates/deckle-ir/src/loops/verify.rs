//! The verifier of the loop IR: checks the invariants of functions.
//!
//! Every value is defined once and used only where it is visible; every expression has the type that its rule gives; buffers exist, and those that
//! are read-only are only read; statements for threads are in functions that have them; the results of blocks are those that their statement
//! takes. No function makes it panic, and one that passes can be printed, run and emitted.

use super::*;

/// How deeply blocks may nest: bounds the stack of everything that walks a function.
const DEEPEST: usize = 190;

/// Checks a function; reports all errors.
pub fn verify(function: &Function) -> Result<(), Vec<String>> {
    let n = function.vals.len();
    let mut v =
        Verifier { function, defined: vec![false; n], visible: vec![false; n], scope: Vec::new(), faults: Vec::new() };
    v.heading();
    for &s in &function.scalars {
        v.define(s);
        v.lanes(s, 1);
    }
    v.block(&function.body, 0, 0, |v| v.results(&function.body, &[], "the function"));
    for (k, _) in v.defined.clone().iter().enumerate().filter(|(_, d)| !**d) {
        v.faults.push(format!("{} is defined nowhere", Val(k as u32)));
    }
    if v.faults.is_empty() { Ok(()) } else { Err(v.faults) }
}

struct Verifier<'a> {
    function: &'a Function,
    defined: Vec<bool>,
    visible: Vec<bool>,
    /// The visible values, in the order of definition.
    scope: Vec<Val>,
    faults: Vec<String>,
}

impl Verifier<'_> {
    fn fault(&mut self, text: impl Into<String>) {
        self.faults.push(text.into());
    }

    fn check(&mut self, what: &str, result: Result<(), String>) {
        if let Err(fault) = result {
            self.faults.push(format!("{what}: {fault}"));
        }
    }

    fn heading(&mut self) {
        let function = self.function;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if function.name.is_empty() || !function.name.chars().all(plain) {
            self.fault(format!("`{}` is no name", function.name.escape_debug()));
        }
        if !function.block.is_multiple_of(32) || function.block > 1024 {
            self.fault(format!("blocks of {} threads", function.block));
        }
        for (k, ty) in function.vals.iter().enumerate().filter(|(_, ty)| ty.lanes == 0) {
            self.fault(format!("{} has no lanes: {ty}", Val(k as u32)));
        }
        for (k, local) in function.locals.iter().enumerate() {
            let buf = Buf((function.buffers.len() + k) as u32);
            if local.place == Place::Shared && function.block == 0 {
                self.fault(format!("{buf} is shared by no threads"));
            }
            if local.len == 0 {
                self.fault(format!("{buf} has no elements"));
            }
        }
    }

    fn define(&mut self, v: Val) {
        match self.defined.get_mut(v.index()) {
            None => self.fault(format!("there is no {v}")),
            Some(true) => self.fault(format!("{v} is defined a second time")),
            Some(slot) => {
                *slot = true;
                self.visible[v.index()] = true;
                self.scope.push(v);
            }
        }
    }

    fn using(&mut self, v: Val) {
        if !self.visible.get(v.index()).copied().unwrap_or(false) {
            self.fault(format!("{v} is not known here"));
        }
    }

    fn lanes(&mut self, v: Val, lanes: u16) {
        let ty = self.function.names().ty(v);
        if ty.as_ref().is_ok_and(|ty| ty.lanes != lanes) {
            self.fault(format!("{v} should have lanes: {lanes}"));
        }
    }

    fn typed(&mut self, what: &str, v: Val, ty: impl Into<Ty>) {
        let result = self.function.names().expect(v, ty.into());
        self.check(what, result);
    }

    /// The statements of a block; removes afterwards the values defined since `scope`.
    fn block(&mut self, block: &Block, depth: usize, scope: usize, end: impl FnOnce(&mut Self)) {
        if depth > DEEPEST {
            return self.fault(format!("nested more than {DEEPEST} deep"));
        }
        for stmt in &block.stmts {
            self.stmt(stmt, depth);
        }
        end(self);
        for v in self.scope.split_off(scope.min(self.scope.len())) {
            self.visible[v.index()] = false;
        }
    }

    /// Checks that a block has results of these types.
    fn results(&mut self, block: &Block, types: &[Ty], what: &str) {
        if block.results.len() != types.len() {
            self.fault(format!("{what}: {} results where {} are expected", block.results.len(), types.len()));
        }
        for (&v, &ty) in block.results.iter().zip(types) {
            self.using(v);
            self.typed(what, v, ty);
        }
    }

    fn types(&self, vals: impl Iterator<Item = Val>) -> Vec<Ty> {
        vals.map(|v| self.function.names().ty(v).unwrap_or(ScalarType::I64.into())).collect()
    }

    /// The carried values of a loop: the initial ones are defined, and the types agree.
    fn carries(&mut self, what: &str, carries: &[Carry]) -> Vec<Ty> {
        let types = self.types(carries.iter().map(|c| c.param));
        for (c, &ty) in carries.iter().zip(&types) {
            self.using(c.init);
            self.typed(what, c.init, ty);
            self.typed(what, c.result, ty);
        }
        types
    }

    /// A buffer that is stored to.
    fn stored(&mut self, buf: Buf) -> Option<ScalarType> {
        if self.function.buffers.get(buf.index()).is_some_and(|p| p.access == Access::Read) {
            self.fault(format!("{buf} is only read"));
        }
        let elem = self.function.elem(buf);
        if elem.is_none() {
            self.fault(format!("there is no {buf}"));
        }
        elem
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) {
        match stmt {
            Stmt::Let(v, expr) => self.let_(*v, expr),
            Stmt::Store { buf, at, value, mask, hint } => {
                [*at, *value].into_iter().chain(*mask).for_each(|v| self.using(v));
                if *hint == StoreHint::Packed {
                    self.typed("packed store", *at, ScalarType::I64);
                    if mask.is_none() {
                        self.fault("packed store of all lanes");
                    }
                }
                let names = self.function.names();
                if let (Some(elem), Ok(ty)) = (self.stored(*buf), names.ty(*value)) {
                    self.check("store", names.place(*at, *mask, ty.lanes));
                    self.typed("store", *value, ty.with(elem));
                }
            }
            Stmt::Atomic { op, buf, at, value, before } => {
                self.using(*at);
                self.using(*value);
                self.typed("atomic", *at, ScalarType::I64);
                if let Some(elem) = self.stored(*buf) {
                    self.typed("atomic", *value, elem);
                    if !super::is_atomic(*op, elem) {
                        self.fault(format!("atomic {} of {elem}", op.name()));
                    }
                    if let Some(before) = before {
                        self.threads("the element before an atomic");
                        if *op != BinOp::Add || !elem.is_int() || elem.bytes() < 4 {
                            self.fault(format!("the element before an atomic {} of {elem}", op.name()));
                        }
                        self.define(*before);
                        self.typed("atomic", *before, elem);
                    }
                }
            }
            Stmt::For { var, lo, hi, step, carries, body, .. } => {
                for v in [*var, *lo, *hi] {
                    self.typed("for", v, ScalarType::I64);
                }
                self.using(*lo);
                self.using(*hi);
                if *step < 1 {
                    self.fault(format!("a step of {step}"));
                }
                let types = self.carries("for", carries);
                let scope = self.scope.len();
                self.define(*var);
                carries.iter().for_each(|c| self.define(c.param));
                self.block(body, depth + 1, scope, |s| s.results(body, &types, "for"));
                carries.iter().for_each(|c| self.define(c.result));
            }
            Stmt::While { carries, test, body } => {
                let types = self.carries("while", carries);
                let scope = self.scope.len();
                carries.iter().for_each(|c| self.define(c.param));
                self.block(test, depth + 1, scope, |s| {
                    s.results(test, &[ScalarType::Bool.into()], "while");
                    let inner = s.scope.len();
                    s.block(body, depth + 1, inner, |s| s.results(body, &types, "while"));
                });
                carries.iter().for_each(|c| self.define(c.result));
            }
            Stmt::If { cond, yes, no, results } => {
                self.using(*cond);
                self.typed("if", *cond, ScalarType::Bool);
                let types = self.types(results.iter().copied());
                let scope = self.scope.len();
                self.block(yes, depth + 1, scope, |s| s.results(yes, &types, "if"));
                self.block(no, depth + 1, scope, |s| s.results(no, &types, "if"));
                results.iter().for_each(|&r| self.define(r));
            }
            Stmt::Flag(v) => {
                self.using(*v);
                if self.function.names().ty(*v).is_ok_and(|ty| ty.scalar != ScalarType::Bool) {
                    self.fault(format!("flag of {v}, which is no truth value"));
                }
            }
            Stmt::Fail { operands, .. } => {
                if operands.len() > MOST_OPERANDS {
                    self.fault(format!("fail with {} operands", operands.len()));
                }
                for &v in operands {
                    self.using(v);
                    self.lanes(v, 1);
                }
            }
            Stmt::Barrier | Stmt::WarpBarrier => self.threads("barrier"),
        }
    }

    fn threads(&mut self, what: &str) {
        if self.function.block == 0 {
            self.fault(format!("{what} without threads"));
        }
    }

    fn let_(&mut self, v: Val, expr: &Expr) {
        operands(expr, |o| self.using(o));
        if matches!(expr, Expr::Id(_) | Expr::Shuffle(..) | Expr::Ballot(_)) {
            self.threads("an expression");
        }
        let names = self.function.names();
        if let Ok(ty) = names.ty(v) {
            match names.result(expr, ty.lanes) {
                Ok(found) if found == ty => {}
                Ok(found) => self.fault(format!("{v} is {ty}, but `{expr}` is {found}")),
                Err(fault) => self.fault(format!("{v}: {fault}")),
            }
        }
        self.define(v);
    }
}
