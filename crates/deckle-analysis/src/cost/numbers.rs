//! Formulas as numbers.

use super::Prediction;
use super::raise::{Leaves, apply, raise};
use super::shape::Bound;
use super::symbols::{CHUNK, Origin, Step, Symbols, THREADS};
use deckle_ir::cost::Cost;
use deckle_ir::entity::{Body, Path, SizeVar};
use deckle_ir::size::{Atom, Size};
use deckle_ir::size_eval::SizeEnv;
use deckle_ir::value::{Space, Value};
use std::cell::Cell;
use std::collections::HashMap;

/// The maximal number of symbol lookups for one number.
const MOST_LOOKUPS: u64 = 1 << 25;

/// The values of the symbols of a prediction.
#[derive(Clone, Debug, Default)]
pub struct Numbers<'v> {
    given: HashMap<u32, i128>,
    args: &'v [Value],
}

impl<'v> Numbers<'v> {
    /// No known values.
    pub fn new() -> Numbers<'v> {
        Numbers::default()
    }

    /// The values given by the arguments of the function.
    pub fn of_arguments(args: &'v [Value]) -> Numbers<'v> {
        Numbers { given: HashMap::new(), args }
    }

    /// Sets the value of a symbol, for a family at every position. `xs` also stands for `|xs|`, the length of an argument without a name.
    ///
    /// Returns whether there is such a symbol.
    pub fn set(&mut self, prediction: &Prediction, name: &str, number: u64) -> bool {
        let find = |name: &str| prediction.symbols.iter().position(|s| s.name == name);
        let Some(k) = find(name).or_else(|| find(&format!("|{name}|"))) else { return false };
        self.given.insert(k as u32, number as i128);
        true
    }

    fn with(&self, symbol: SizeVar, number: u64) -> Numbers<'v> {
        let mut numbers = self.clone();
        numbers.given.insert(symbol.0, number as i128);
        numbers
    }
}

impl Prediction {
    /// The value of a formula of this prediction. A symbol without a known value counts as its bound. `None` if
    /// it has no bound either, if an integer that the formula mentions is negative, or if a Σ is too long to add up.
    pub fn number(&self, formula: &Size, numbers: &Numbers<'_>) -> Option<u64> {
        let formula = self.bounded(formula, numbers);
        let env = Env { prediction: self, numbers, fuel: Cell::new(MOST_LOOKUPS) };
        let n = formula.eval(&env, &mut Vec::new())?;
        Some(u64::try_from(n.max(0)).unwrap_or(u64::MAX))
    }

    /// A formula with bounds in place of symbols known only from a run, if they have bounds and `numbers` has no values for them.
    pub fn bounded(&self, formula: &Size, numbers: &Numbers<'_>) -> Size {
        let symbols = Symbols::of(self.symbols.clone());
        raise(formula, &mut Bounds { symbols, numbers }).size
    }

    /// The cost in numbers.
    pub fn evaluate(&self, numbers: &Numbers<'_>) -> Option<Cost> {
        let n = |f: &Size| self.number(f, numbers);
        let space = Space { seq: n(&self.cost.space.seq)?, par: n(&self.cost.space.par)? };
        Some(Cost { work: n(&self.cost.work)?, depth: n(&self.cost.depth)?, space })
    }

    /// A bound on the bytes at the peak of a run that has `chunk` elements of each sequence at once, on `threads` threads.
    pub fn peak_bytes(&self, numbers: &Numbers<'_>, chunk: u64, threads: u64) -> Option<u64> {
        self.number(&self.peak, &numbers.with(CHUNK, chunk).with(THREADS, threads))
    }

    /// The largest chunk for which the bound on the peak fits a budget of bytes; `None` if not even one element at a time does, or
    /// if the bound is unknown. If every chunk size fits, it is `u32::MAX`.
    pub fn chunk_for(&self, numbers: &Numbers<'_>, budget: u64, threads: u64) -> Option<u64> {
        let holds = |chunk: u64| self.peak_bytes(numbers, chunk, threads).map(|b| b <= budget);
        if !holds(1)? {
            return None;
        }
        let (mut low, mut high) = (1, u64::from(u32::MAX));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if holds(middle)? { low = middle } else { high = middle - 1 }
        }
        Some(low)
    }
}

/// Symbols replaced by their bounds.
struct Bounds<'e> {
    symbols: Symbols,
    numbers: &'e Numbers<'e>,
}

impl Leaves for Bounds<'_> {
    fn leaf(&mut self, atom: &Atom, at: &[Bound]) -> Bound {
        let itself = Bound::exact(atom.clone().into());
        let Atom::Var(var, _) = atom else { return itself };
        let symbol = self.symbols.get(*var).filter(|_| !self.numbers.given.contains_key(&var.0));
        let at_exactly = at.iter().all(|a| a.exact);
        match symbol.map(|s| (&s.origin, s.bound.clone())) {
            Some((Origin::Run, Some(bound))) if at_exactly => {
                let bound = raise(&bound, self);
                apply(&Bound::at_most(bound.size), at)
            }
            Some((Origin::Formula, Some(bound))) if at_exactly => {
                let bound = raise(&bound, self);
                if bound.exact { itself } else { apply(&bound, at) }
            }
            _ => itself,
        }
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }
}

struct Env<'e> {
    prediction: &'e Prediction,
    numbers: &'e Numbers<'e>,
    fuel: Cell<u64>,
}

/// The value at the end of the path, at these positions. A symbol applied to no positions has the same length at all of them: then it is
/// the first that exists.
fn follow<'v>(value: &'v Value, steps: &[Step], at: &[i128]) -> Option<&'v Value> {
    match (steps.split_first(), at.split_first()) {
        (None, _) => Some(value),
        (Some((Step::Field(k), rest)), _) => follow(value.parts()?.get(*k as usize)?, rest, at),
        (Some((Step::Elem, rest)), Some((i, at))) => follow(value.items()?.get(usize::try_from(*i).ok()?)?, rest, at),
        (Some((Step::Elem, rest)), None) => value.items()?.iter().find_map(|v| follow(v, rest, at)),
    }
}

impl SizeEnv for Env<'_> {
    fn var(&self, var: SizeVar, at: &[i128]) -> Option<i128> {
        self.fuel.set(self.fuel.get().checked_sub(1)?);
        if let Some(n) = self.numbers.given.get(&var.0) {
            return Some(*n);
        }
        let symbol = self.prediction.symbols.get(var.index())?;
        let told = match &symbol.origin {
            Origin::Length(place, _) | Origin::Value(place) => self.numbers.args.get(place.param).map(|v| (v, place)),
            _ => None,
        };
        let Some((arg, place)) = told else { return symbol.bound.as_ref()?.eval(self, &mut at.to_vec()) };
        // Without rows, their length does not matter.
        let Some(value) = follow(arg, &place.steps, at) else { return Some(0) };
        match symbol.origin {
            Origin::Length(_, less) => Some((value.items()?.len() as i128 - less).max(0)),
            _ => value.as_scalar()?.as_int().filter(|n| *n >= 0),
        }
    }

    fn value(&self, _: &Path) -> Option<i128> {
        None
    }

    fn truth(&self, _: &Path) -> Option<bool> {
        None
    }

    fn read(&self, _: &Path, _: &[i128]) -> Option<i128> {
        None
    }

    fn at(&self, _: Body) -> Option<i128> {
        None
    }
}
