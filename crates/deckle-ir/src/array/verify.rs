//! The verifier: checks the invariants of the array IR.
//!
//! It checks a function in three steps, each of which relies on the one before:
//! 1. *arenas*: every variable and every body occurs exactly once, numbered in the order of a
//!    builder, and handles are in range;
//! 2. *scopes* (`verify/scopes.rs`): operands, and what sizes mention, are visible where they are used; sizes and
//!    counts are well-formed;
//! 3. *types* (`verify/rules.rs`): every statement has the type that its rule gives, up to the names of the size variables that
//!    it binds.
//!
//! The first step stops at its first fault; the others continue and report everything that does not follow from a fault
//! already reported. No step panics, whatever the program.

mod rules;
mod scopes;
#[cfg(test)]
mod tests;

use super::*;
use std::fmt;

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The function.
    pub func: Func,
    /// The variable, unless it is the function as a whole.
    pub var: Option<Var>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.var {
            Some(v) => write!(f, "{} {v}: {}", self.func, self.message),
            None => write!(f, "{}: {}", self.func, self.message),
        }
    }
}

impl std::error::Error for VerifyError {}

/// A fault of a function, without the function.
type Fault = (Option<Var>, String);

/// Checks a whole program.
pub fn verify(program: &Program) -> Result<(), Vec<VerifyError>> {
    let mut errors: Vec<VerifyError> = Vec::new();
    // Statements are typed only if everything they call is well-formed.
    let mut sound: Vec<bool> = Vec::new();
    for (k, func) in program.funcs.iter().enumerate() {
        let mut faults: Vec<Fault> = Vec::new();
        let before = &program.funcs[..k];
        if before.iter().any(|f| f.name == func.name) {
            faults.push((None, format!("there are two functions called `{}`", func.name)));
        }
        if let Err(fault) = check_arenas(func) {
            faults.push(fault);
        } else {
            scopes::check(before, func, &mut faults);
            if faults.is_empty() {
                rules::check(before, &sound, func, &mut faults);
            }
        }
        sound.push(faults.is_empty());
        let at = Func(k as u32);
        errors.extend(faults.into_iter().map(|(var, message)| VerifyError { func: at, var, message }));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The arenas of a function: a walk that visits every variable and body in the order of their numbers.
fn check_arenas(func: &Function) -> Result<(), Fault> {
    let mut walk = Walk { func, next_var: 0, next_body: 0 };
    walk.body(Function::ROOT, None)?;
    if walk.next_var < func.vars.len() {
        let v = Var(walk.next_var as u32);
        return Err((Some(v), "is in no body".to_string()));
    }
    if walk.next_body < func.bodies.len() {
        return Err((None, format!("{} is used by no statement", Body(walk.next_body as u32))));
    }
    let params = func.params().len();
    if func.param_names.len() != params {
        return Err((None, format!("{params} parameters have {} names", func.param_names.len())));
    }
    Ok(())
}

/// The name of an operator as in the text form.
fn name(op: &Op) -> &'static str {
    match op {
        Op::Unary(op) => op.name(),
        Op::Binary(op) => op.name(),
        op => op.info().name,
    }
}

struct Walk<'a> {
    func: &'a Function,
    next_var: usize,
    next_body: usize,
}

impl Walk<'_> {
    fn body(&mut self, b: Body, owner: Option<Var>) -> Result<(), Fault> {
        if b.index() != self.next_body {
            return Err((owner, format!("{b} is not the next body, ^{}", self.next_body)));
        }
        let Some(data) = self.func.bodies.get(b.index()) else {
            return Err((owner, format!("there is no body {b}")));
        };
        self.next_body += 1;
        if data.first.index() != self.next_var {
            return Err((owner, format!("{b} begins at v{}, not at {}", self.next_var, data.first)));
        }
        for (k, &p) in data.params.iter().enumerate() {
            self.variable(p, b)?;
            if self.func.vars[p.index()].def != Def::Param(b, k as u32) {
                return Err((Some(p), format!("is not defined as parameter {k} of {b}")));
            }
        }
        for &s in &data.stmts {
            let Some(VarData { def: Def::Inst(inst), .. }) = self.func.vars.get(s.index()) else {
                return Err((Some(s), format!("is a statement of {b} but not defined as one")));
            };
            inst.args.iter().try_for_each(|&a| self.in_range(a, Some(s)))?;
            inst.bodies.iter().try_for_each(|&inner| self.body(inner, Some(s)))?;
            self.variable(s, b)?;
        }
        self.in_range(data.result, owner)
    }

    fn variable(&mut self, v: Var, b: Body) -> Result<(), Fault> {
        if v.index() != self.next_var {
            return Err((Some(v), format!("is not the next variable of {b}, v{}", self.next_var)));
        }
        self.next_var += 1;
        self.in_range(v, Some(v))
    }

    fn in_range(&self, v: Var, at: Option<Var>) -> Result<(), Fault> {
        if v.index() < self.func.vars.len() { Ok(()) } else { Err((at, format!("there is no variable {v}"))) }
    }
}
