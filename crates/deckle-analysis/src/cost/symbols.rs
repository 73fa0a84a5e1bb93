//! Symbols: the variables of formulas.
//!
//! Every atom of a formula is a symbol (a size variable whose number is an index into the table of symbols), a position, or composed of these.
//! Lengths and integers of the arguments are symbols; so are quantities known only at run time, with a bound if there is one.
//! Symbols are natural numbers: a formula holds for arguments in which no integer that it mentions is negative.
//!
//! A symbol may be a *family*, applied to positions: the lengths of the rows of an argument. For a family that the
//! operator itself creates (the groups of `group_by`, the parts of `flagpart`) the sum is known even if no member is, and
//! a Σ over it closes to that.

use super::formula::Formula;
use deckle_diag::Span;
use deckle_ir::entity::{Body, SizeVar};
use deckle_ir::size::{Atom, Size};
use std::collections::HashMap;

/// The maximal numbers of terms, of factors in one, and of atoms of a formula without a name of its own.
const MOST_TERMS: usize = 24;
const MOST_FACTORS: usize = 16;
const MOST_ATOMS: usize = 64;

/// A step into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A component of a tuple or record.
    Field(u32),
    /// The elements of a vector or sequence.
    Elem,
}

/// A place in the arguments of a function: a parameter, and a path in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The parameter.
    pub param: usize,
    /// The path.
    pub steps: Vec<Step>,
}

impl Place {
    /// One step further.
    pub fn then(&self, step: Step) -> Place {
        let mut steps = self.steps.clone();
        steps.push(step);
        Place { param: self.param, steps }
    }
}

/// The origin of a symbol's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The length of the vector or sequence at a place of the arguments, minus a constant. Applied to as many positions as
    /// there are elements on the path, or to none, if all have the same length.
    Length(Place, i128),
    /// The integer at a place of the arguments.
    Value(Place),
    /// Known only at run time. Applied to nothing and inside a body, it is the maximum of all runs.
    Run,
    /// A name for another formula: its bound.
    Formula,
    /// The number of elements of a sequence in memory at once.
    Chunk,
    /// The number of threads.
    Threads,
}

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name; unique among the symbols of a prediction.
    pub name: String,
    /// The number of positions to which it is applied.
    pub arity: u32,
    /// The origin of its value.
    pub origin: Origin,
    /// Its upper bound, in terms of symbols before it; position `k` of `arity` is `Pos(arity - 1 - k)`.
    pub bound: Option<Size>,
    /// For a family of arity 1: an upper bound of the total of its members.
    pub total: Option<Size>,
    /// The place in the source that it belongs to.
    pub span: Span,
    /// A description.
    pub why: String,
}

/// The symbols of a function.
#[derive(Clone, Debug)]
pub struct Symbols {
    list: Vec<Symbol>,
    /// The number of symbols that have requested each name.
    names: HashMap<String, u32>,
}

/// The symbol for the number of elements of a sequence in memory at once.
pub const CHUNK: SizeVar = SizeVar(0);
/// The symbol for the number of threads.
pub const THREADS: SizeVar = SizeVar(1);

impl Symbols {
    /// Only the symbols of every table.
    pub fn new() -> Symbols {
        let fixed = |name: &str, origin: Origin, why: &str| Symbol {
            name: name.into(),
            arity: 0,
            origin,
            bound: None,
            total: None,
            span: Span::NONE,
            why: why.into(),
        };
        let chunk = fixed("chunk", Origin::Chunk, "how many elements of a sequence are there at once");
        let threads = fixed("threads", Origin::Threads, "how many threads there are");
        let mut symbols = Symbols { list: Vec::new(), names: HashMap::new() };
        symbols.add(chunk);
        symbols.add(threads);
        symbols
    }

    /// Those of a prediction, read-only.
    pub fn of(list: Vec<Symbol>) -> Symbols {
        Symbols { list, names: HashMap::new() }
    }

    /// The symbols, in the order of their numbers.
    pub fn list(&self) -> &[Symbol] {
        &self.list
    }

    /// The symbol of an atom of a formula.
    pub fn get(&self, var: SizeVar) -> Option<&Symbol> {
        self.list.get(var.index())
    }

    /// Adds a symbol. A name that is taken gets a number.
    pub fn add(&mut self, mut symbol: Symbol) -> SizeVar {
        let base = symbol.name.clone();
        while let Some(asked) = self.names.get_mut(&symbol.name) {
            *asked += 1;
            let k = *asked;
            symbol.name = format!("{base}{k}");
        }
        self.names.insert(symbol.name.clone(), 1);
        self.list.push(symbol);
        SizeVar(self.list.len() as u32 - 1)
    }

    /// The formula, or a name for it if it is large.
    pub fn named(&mut self, formula: Formula) -> Formula {
        let small = formula.as_number().is_some() || formula.alternatives().iter().all(is_small);
        if small { formula } else { formula.map(|a| self.named_size(a)) }
    }

    /// The size, or a name for it if it is large: a family of the positions that it mentions.
    pub fn named_size(&mut self, size: &Size) -> Size {
        if is_small(size) {
            return size.clone();
        }
        self.name("f", size, None)
    }

    /// A name for the length of a row; the sum over all rows is known.
    pub fn row(&mut self, size: &Size, total: Size) -> Size {
        self.name("r", size, Some(total))
    }

    fn name(&mut self, name: &str, size: &Size, total: Option<Size>) -> Size {
        let mut at: Vec<Atom> = Vec::new();
        size.any_atom(&mut |a, depth| {
            let outer = match a {
                Atom::At(_) => a.clone(),
                Atom::Pos(p) if *p >= depth => Atom::Pos(*p - depth),
                _ => return false,
            };
            if !at.contains(&outer) {
                at.push(outer);
            }
            false
        });
        let arity = at.len() as u32;
        let bound = size.rewrite(&mut |a, depth| {
            let outer = match a {
                Atom::At(_) => a.clone(),
                Atom::Pos(p) if *p >= depth => Atom::Pos(*p - depth),
                _ => return None,
            };
            let k = at.iter().position(|x| *x == outer)? as u32;
            Some(Size::pos(arity - 1 - k + depth))
        });
        let why = if total.is_some() { "the length of a row" } else { "a part of the formula" };
        let total = total.filter(|_| at.as_slice() == [Atom::Pos(0)]);
        let symbol = Symbol {
            name: name.into(),
            arity,
            origin: Origin::Formula,
            bound: Some(bound),
            total,
            span: Span::NONE,
            why: why.into(),
        };
        // The same row has the same name; other symbols are not searched.
        let same = |s: &Symbol| s.total.is_some() && s.total == symbol.total && s.bound == symbol.bound;
        let known = self.list.iter().position(same).map(|k| SizeVar(k as u32));
        let var = known.unwrap_or_else(|| self.add(symbol));
        Atom::Var(var, at.into_iter().map(Size::from).collect()).into()
    }
}

/// Makes the position at which `body` runs a bound position: the size is then under one more binder.
pub fn close(size: &Size, body: Body) -> Size {
    if size.as_constant().is_some() {
        return size.clone();
    }
    size.shift(1).rewrite(&mut |a, depth| match a {
        Atom::At(b) if *b == body => Some(Size::pos(depth)),
        _ => None,
    })
}

/// The number of atoms in a size, at any depth.
pub fn weight(size: &Size) -> usize {
    let mut atoms = 0;
    size.any_atom(&mut |_, _| {
        atoms += 1;
        false
    });
    atoms
}

fn is_small(size: &Size) -> bool {
    size.terms().len() <= MOST_TERMS
        && size.terms().iter().all(|(m, _)| m.len() <= MOST_FACTORS)
        && weight(size) <= MOST_ATOMS
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::text::parse_size;

    #[test]
    fn large_formulas_get_a_name() {
        let mut symbols = Symbols::new();
        let many = (0..50).map(|k| format!("n{k}(^3)")).collect::<Vec<_>>().join(" + ");
        let named = symbols.named_size(&parse_size(&many).unwrap());
        assert_eq!(named.to_string(), "n2(^3)");
        assert_eq!(symbols.list()[2].bound.as_ref().unwrap().terms().len(), 50);
        assert!(symbols.list()[2].bound.as_ref().unwrap().mentions_pos(0));
    }
}
