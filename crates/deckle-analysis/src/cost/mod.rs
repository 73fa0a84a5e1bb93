//! Predicted work, depth and space of every function, as formulas in the sizes of its arguments.
//!
//! The rules are those of the meter ([`deckle_ir::cost`]), applied to `Shape`s instead of values and to
//! [`Formula`]s instead of numbers. A formula is an upper bound: a quantity known only from a run is replaced by the maximum
//! (both branches of a conditional, a `{x | c}` with its element), or by a [`Symbol`].
//!
//! ```text
//! def main(n: int) = sum({ log(real(x + 1)) : x in iota(n) })
//! work 7 n, depth 6, space 8 / 7 n + 1
//! ```
//!
//! | file | |
//! |---|---|
//! | `formula.rs` | the quantities: maxima of polynomials |
//! | `symbols.rs`, `sums.rs` | the symbols of formulas, and closed forms of Σ and maxima |
//! | `shape.rs`, `integer.rs`, `results.rs`, `params.rs` | facts about values |
//! | `raise.rs` | sizes as bounds |
//! | `walk.rs`, `lookup.rs`, `statement.rs`, `call.rs` | from bodies to functions |
//! | `memory.rs` | bytes at the peak, for a chunk size and a number of threads |
//! | `numbers.rs`, `show.rs` | formulas as numbers and as text |
//!
//! A function is walked once, callees first, in time that is linear in its statements as long as formulas are small; large ones get
//! names ([`Origin::Formula`]).

mod call;
mod formula;
mod integer;
mod lookup;
mod memory;
mod numbers;
mod params;
mod raise;
mod results;
mod shape;
mod show;
mod statement;
mod sums;
mod symbols;
mod walk;

pub use formula::Formula;
pub use numbers::Numbers;
pub use symbols::{Origin, Place, Step, Symbol};

use deckle_ir::array::{Function, Program};
use deckle_ir::cost::Cost;
use deckle_ir::size::Size;
use deckle_ir::value::Space;
use memory::Memory;
use shape::Shape;
use symbols::Symbols;
use walk::Walk;

/// The predicted cost of a function.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Work, depth and space, in terms of [`Prediction::symbols`]: atom `Var(k)` is symbol number `k`.
    pub cost: Cost<Size>,
    /// Bytes at the peak, in terms of the symbols `chunk` and `threads` in addition to the others.
    pub peak: Size,
    /// The symbols; not all of them occur in every formula.
    pub symbols: Vec<Symbol>,
}

/// The facts about a function that its callers need.
struct Summary {
    symbols: Symbols,
    cost: Cost<Formula>,
    result: Shape,
    memory: Memory,
}

/// Predicts the cost of every function of a program that verifies, in its order.
pub fn predict(program: &Program) -> Vec<Prediction> {
    let mut summaries: Vec<Summary> = Vec::with_capacity(program.funcs.len());
    for function in &program.funcs {
        let mut walk = Walk::new(&summaries, function);
        let params = walk.params();
        let ran = walk.body(Function::ROOT, None, params);
        let Walk { symbols, .. } = walk;
        summaries.push(Summary { symbols, cost: ran.cost, result: ran.result, memory: ran.memory });
    }
    summaries.iter().map(Summary::prediction).collect()
}

impl Summary {
    fn prediction(&self) -> Prediction {
        let Cost { work, depth, space } = &self.cost;
        let space = Space { seq: space.seq.size(), par: space.par.size() };
        Prediction {
            cost: Cost { work: work.size(), depth: depth.size(), space },
            peak: self.memory.peak.size(),
            symbols: self.symbols.list().to_vec(),
        }
    }
}
