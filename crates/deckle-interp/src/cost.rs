//! The meter: the rules of [`deckle_ir::cost`] applied to the values of a run.

use deckle_ir::array::Op;
pub use deckle_ir::cost::Cost;
use deckle_ir::cost::{self, Measure};
pub(crate) use deckle_ir::cost::{Bodies, body};
use deckle_ir::value::{Space, Value};

/// The runs of one body of a statement, summed up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Runs(cost::Runs);

impl std::ops::Deref for Runs {
    type Target = cost::Runs;
    fn deref(&self) -> &cost::Runs {
        &self.0
    }
}

impl Runs {
    /// Counts one more run.
    pub(crate) fn add(&mut self, args: &[Value], result: &Value, cost: Cost) {
        let v = args.iter().fold(Space::default(), |s, a| s.plus(a.space()));
        self.0.add(v, result.space(), cost);
    }
}

fn measure(value: &Value) -> Measure {
    let items = value.items().map_or(0, |items| items.len() as u64);
    Measure { space: value.space(), items, is_seq: matches!(value, Value::Seq(_)) }
}

/// The cost of one statement: its operator, facts about its bodies, its operands, its result, and the runs of its bodies.
pub(crate) fn statement(op: &Op, bodies: Bodies, args: &[Value], result: &Value, runs: &[Runs; 2]) -> Cost {
    let args: Vec<Measure> = args.iter().map(measure).collect();
    cost::statement(op, bodies, &args, &measure(result), &[runs[0].0, runs[1].0])
}

#[cfg(test)]
mod tests;
