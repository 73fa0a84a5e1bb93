//! Index checks that sizes prove redundant, whatever the data.
//!
//! [`proven`] returns for every statement whether its index check can be omitted. A proof compares two sizes: the
//! index, as a polynomial of positions, lengths and integers of the program, and the size of the array, from its type. A
//! position is below the number of elements that its body iterates over; an index of `generate` or a
//! counter is below its bound; a remainder is below the divisor; and so on (`facts.rs`). `prove.rs` substitutes
//! such bounds for atoms until the form of the remainder alone shows that it is not negative.
//!
//! ```text
//! generate(n, m) { i, j -> index(a, i*m + j) }      a: [f64; n*m]
//!   n·m - 1 - (i·m + j)  ≥  n·m - 1 - i·m - (m - 1)  =  n·m - m - i·m  ≥  n·m - m - (n - 1)·m  =  0
//! ```
//!
//! # Soundness with wrapping integers
//! Sizes are mathematical integers, integers of the program are residues modulo 2⁶⁴. Let `I` be the polynomial of an index and
//! `i` its value. Sums, differences and products preserve residues, so `i ≡ I`; every other operator in `I` is applied only to operands
//! that certainly do not wrap, or is an atom of its own. Let `S` be the size of an array in its type, and `l` its length at run time.
//! 1. *If `l = S` and `0 ≤ I < S` then `i = I`*: no array has 2⁶⁰ elements, so `I` is below that, and only one residue is.
//! 2. *`l = S` wherever `S` is trusted.* A length may differ from its size only if it was computed by the program and wrapped: as the
//!    operand of `generate`, `reshape`, `take` and so on. There `l ≡ S` and `0 ≤ l`; so if `S < 2⁶⁴` as well, either they are equal, or
//!    `S` is negative, and then nothing can be proven to be below it. If an operand may reach 2⁶⁴ (a product of two
//!    integers, say) its products are *doubtful*, and no size that mentions one of them is trusted from there on. Sizes of parameters and of
//!    `ensure` are checked exactly; sizes from operators such as `flatten` are counted, not computed.
//! 3. *Bounds of atoms are bounds of values*: an operand that may have wrapped is not decomposed but an atom.
//!
//! # A proof uses only sizes that were checked on this path
//! `l = S` is always established by a check. Before any access that a proof allows:
//! - no array has more than 2⁶⁰ elements (`MANY`): every integer that becomes a size, and every sum or product of sizes, is compared with this bound where it is computed
//!   (`flatten/extents.rs`);
//! - the sizes in the types of a callee's parameters, including those inside the elements of sequences, and those of `ensure`, are compared with the arguments by a
//!   kernel or a step of the host before the first kernel of the body (`check_arguments`, `ensure` in `flatten/sizes.rs`). A size that cannot be computed there is
//!   an error of the pass, never an omitted check;
//! - a call is inlined only if no check of its arguments remains, or the check is inlined too (`Copier::can_inline`).

mod facts;
mod prove;
#[cfg(test)]
mod tests;
mod trust;

pub use facts::{Facts, MANY};

use deckle_ir::array::{Function, Inst, Op, Slicer};
use deckle_ir::entity::{Body, Var};
use deckle_ir::size::{Atom, Size};

/// For each variable: whether it is an `index` or a `slice` whose indices are all proven to be in range.
pub fn proven(func: &Function) -> Vec<bool> {
    let mut proven = vec![false; func.vars.len()];
    walk(func, &mut Facts::default(), Function::ROOT, &mut |facts, s, inst| {
        proven[s.index()] = in_range(func, facts, inst);
    });
    proven
}

/// Traverses the statements of a body, those of their bodies first, with the facts at each.
pub fn walk(func: &Function, facts: &mut Facts, body: Body, each: &mut dyn FnMut(&Facts, Var, &Inst)) {
    stacker::maybe_grow(128 << 10, 2 << 20, || {
        for &s in &func.body(body).stmts {
            let Some(inst) = func.inst(s) else { continue };
            for (which, &b) in inst.bodies.iter().enumerate() {
                facts.enter(b, &inst.op, &inst.args, which);
                walk(func, facts, b, each);
                facts.leave();
            }
            facts.note(func, s);
            each(facts, s, inst);
        }
    })
}

/// Whether a statement is an access that cannot be out of range.
pub fn in_range(func: &Function, facts: &Facts, inst: &Inst) -> bool {
    match &inst.op {
        Op::Index => {
            let sizes = axes(func, inst);
            let indices = &inst.args[1..];
            sizes.len() == indices.len() && indices.iter().zip(sizes).all(|(i, n)| facts.is_index(func, *i, &n))
        }
        Op::Slice(spec) => {
            let sizes = axes(func, inst);
            let mut operands = inst.args[1..].iter();
            sizes.len() == spec.len()
                && spec.iter().zip(sizes).all(|(s, n)| match s {
                    Slicer::All => true,
                    Slicer::At => operands.next().is_some_and(|i| facts.is_index(func, *i, &n)),
                    Slicer::Range => match (operands.next(), operands.next()) {
                        (Some(lo), Some(hi)) => facts.is_range(func, *lo, *hi, &n),
                        _ => false,
                    },
                })
        }
        _ => false,
    }
}

/// The sizes of the axes of an access, each at the indices before it. A size that depends on the position in a kept axis
/// is not returned, nor are those after it.
fn axes(func: &Function, inst: &Inst) -> Vec<Size> {
    let mut sizes = Vec::new();
    let mut ty = func.ty(inst.args[0]).clone();
    let mut operands = inst.args[1..].iter();
    let all = match &inst.op {
        Op::Slice(spec) => spec.clone(),
        _ => vec![Slicer::At; inst.args.len() - 1],
    };
    for slicer in all {
        let Some(array) = ty.as_array() else { break };
        if array.size.any_atom(&mut |a, d| matches!(a, Atom::Pos(p) if *p >= d)) {
            break;
        }
        sizes.push(array.size.clone());
        let own: Vec<Var> = operands.by_ref().take(slicer.operands()).copied().collect();
        ty = match own.as_slice() {
            [i] => array.elem.instantiate(&func.size_of(*i)),
            // Under the binder the position is free: a size that mentions it ends the list.
            _ => array.elem.clone(),
        };
    }
    sizes
}

/// The number of accesses of a function, and of those proven to be in range.
pub fn count(func: &Function) -> (usize, usize) {
    let proven = proven(func);
    let access = |v: &Var| match func.inst(*v) {
        Some(Inst { op: Op::Index, .. }) => true,
        Some(Inst { op: Op::Slice(spec), .. }) => spec.iter().any(|s| *s != Slicer::All),
        _ => false,
    };
    let all: Vec<Var> = (0..func.vars.len() as u32).map(Var).filter(access).collect();
    (all.len(), all.iter().filter(|v| proven[v.index()]).count())
}
