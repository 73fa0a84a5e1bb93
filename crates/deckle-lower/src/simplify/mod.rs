//! Simplification: a smaller program of the same meaning.
//!
//! [`simplify`] returns a program whose functions compute the same values, floats bit for bit, and fail where they failed, with an error
//! of the same code. It runs to a fixed point: simplifying once more changes nothing.
//!
//! A round traverses a function in order and rebuilds it (`pass.rs`), so that every rule sees simplified operands. Each statement
//! is rewritten by the rules for
//! - scalars (`scalar.rs`): constants, identities that are exact, sums and products of integers that cancel, quotients and
//!   remainders of `i*m + j`;
//! - accesses (`index.rs`): an index of a reshaped, cut, transposed or reversed array is one of the array itself;
//! - shapes (`shape.rs`): operators that undo one another or do nothing are removed, lengths come from types;
//! - conditionals (`branch.rs`): a constant condition, cheap branches, similar branches;
//!
//! and the result is looked up among the statements before it (`same.rs`). Unused statements are removed if they
//! cannot fail and must end (`dead.rs`).
//!
//! ```text
//! v1 = const<1i64>()                      v1 = index(a, i, j)
//! v2 = transpose<[1, 0]>(a)          ⇒
//! v3 = index(v2, j, i)
//! v4 = mul(v3, v1)
//! ```
//!
//! # Limits
//! - A sequence that is written twice is computed twice: that is how a program requests two traversals. So no statement whose
//!   result holds a sequence is shared.
//! - A check stays. Evaluation is strict: an unused statement that can fail is kept, and an access is moved only to
//!   where it fails exactly when it did, or where it is proven not to fail ([`bounds`](deckle_analysis::bounds)).
//! - The limits of a run (D0310) are no part of the meaning: a program that was stopped by one may now run to its end.
//!
//! # Sizes known only from types
//! If an outer dimension is empty, its inner sizes are given by the type, and `shape` returns them. So a variable replaces another
//! only if its type has the same inner sizes.

mod branch;
mod dead;
mod index;
mod pass;
mod same;
mod scalar;
mod shape;
#[cfg(test)]
mod tests;

use deckle_ir::array::{Def, Function, Inst, Op, Program, VarData};
use pass::Pass;

/// More rounds than any program needs: each makes the program smaller or is the last.
const ROUNDS: usize = 16;

/// What becomes of conditionals whose branches are cheap, or do the same work on different operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Branches {
    /// They are selections: in lanes and on GPUs both sides of a branch are computed anyway.
    #[default]
    Merged,
    /// They stay branches, to measure what merging them does.
    Apart,
}

/// The program with every function simplified.
pub fn simplify(program: &Program) -> Program {
    simplify_as(program, Branches::Merged)
}

/// The program with every function simplified, and branches as asked.
///
/// If a size that becomes known shows that a statement must fail, that has no type, and its function stays unchanged, as does
/// every function that it calls.
pub fn simplify_as(program: &Program, branches: Branches) -> Program {
    let mut frozen = vec![false; program.funcs.len()];
    loop {
        match attempt(program, branches, &frozen) {
            Ok(program) => return program,
            Err(at) => freeze(program, at, &mut frozen),
        }
    }
}

/// Leaves frozen functions unchanged. The error is a function that can neither be simplified nor stay: one that it calls
/// has another type now.
fn attempt(program: &Program, branches: Branches, frozen: &[bool]) -> Result<Program, usize> {
    let mut done: Vec<Function> = Vec::with_capacity(program.funcs.len());
    let mut safe: Vec<bool> = Vec::new();
    for (k, func) in program.funcs.iter().enumerate() {
        let new = if frozen[k] { None } else { function(&done, &safe, branches, func) };
        let changed = |f: usize| done[f] != program.funcs[f];
        if new.is_none() && callees(func).into_iter().any(changed) {
            return Err(k);
        }
        let new = new.unwrap_or_else(|| func.clone());
        safe.push(dead::is_safe(&safe, &new));
        done.push(new);
    }
    Ok(Program { funcs: done })
}

/// `funcs` are the functions before it, and `safe` holds for each whether a call of it cannot fail.
fn function(funcs: &[Function], safe: &[bool], branches: Branches, func: &Function) -> Option<Function> {
    let mut now = Pass::run(funcs, safe, branches, func)?;
    for _ in 0..ROUNDS {
        match Pass::run(funcs, safe, branches, &now) {
            Some(next) if next != now => now = next,
            _ => break,
        }
    }
    Some(now)
}

fn freeze(program: &Program, at: usize, frozen: &mut [bool]) {
    let mut pending = vec![at];
    while let Some(k) = pending.pop() {
        if !std::mem::replace(&mut frozen[k], true) {
            pending.extend(callees(&program.funcs[k]));
        }
    }
}

fn callees(func: &Function) -> Vec<usize> {
    let call = |v: &VarData| match &v.def {
        Def::Inst(Inst { op: Op::Call(f), .. }) => Some(f.index()),
        _ => None,
    };
    func.vars.iter().filter_map(call).collect()
}
