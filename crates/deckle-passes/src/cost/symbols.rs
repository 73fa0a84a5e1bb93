//! Symbols: what formulas are written in.
//!
//! Every atom of a formula is a symbol (a size variable whose number is a place in the table of symbols), a position, or made of those.
//! Lengths and integers of the arguments are symbols; so is what only a run tells, with a bound where there is one.
//! Symbols are natural numbers: what a formula says is meant for arguments in which no integer that it mentions is negative.
//!
//! A symbol may be a *family*, applied to positions: the lengths of the rows of an argument. Of a family that the
//! operator itself makes (the groups of `group_by`, the parts of `flagpart`) the sum is known even where no member is, and
//! a Σ over it closes to that.

use super::formula::Formula;
use deckle_diag::Span;
use deckle_ir::entity::{Body, SizeVar};
use deckle_ir::size::{Atom, Size};
use std::collections::HashMap;

/// How many terms, how many factors in one, and how many atoms in all a formula may have before it gets a name of its own.
const MOST_TERMS: usize = 40;
const MOST_FACTORS: usize = 16;
const MOST_ATOMS: usize = 160;

/// A step into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A component of a tuple or record.
    Field(u32),
    /// The elements of a vector or sequence.
    Elem,
}

/// A place in the arguments of a function: a parameter, and the way from there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which parameter.
    pub param: usize,
    /// The way from it.
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

/// Where the number behind a symbol comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The length of the vector or sequence at a place of the arguments, less a constant. Applied to as many positions as
    /// there are elements on the way, or to none, where all have the same length.
    Length(Place, i128),
    /// The integer at a place of the arguments.
    Value(Place),
    /// Only a run tells. Applied to nothing and inside a body, it is the greatest of all runs.
    Run,
    /// Another formula, of which this is the name: its bound.
    Formula,
    /// How many elements of a sequence are there at once.
    Chunk,
    /// How many threads there are.
    Threads,
}

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// What it is called; unique among the symbols of a prediction.
    pub name: String,
    /// To how many positions it is applied.
    pub arity: u32,
    /// Where its number comes from.
    pub origin: Origin,
    /// What it is at most, in terms of symbols before it; position `k` of `arity` is `Pos(arity - 1 - k)`.
    pub bound: Option<Size>,
    /// Of a family of arity 1: what its members are together, at most.
    pub total: Option<Size>,
    /// What in the source it belongs to.
    pub span: Span,
    /// What it is, in words.
    pub why: String,
}

/// The symbols of a function.
#[derive(Clone, Debug)]
pub struct Symbols {
    list: Vec<Symbol>,
    /// How many symbols have asked for a name.
    names: HashMap<String, u32>,
}

/// The symbol for how many elements of a sequence are there at once.
pub const CHUNK: SizeVar = SizeVar(0);
/// The symbol for how many threads there are.
pub const THREADS: SizeVar = SizeVar(1);

impl Symbols {
    /// Only those that every table has.
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

    /// The symbols, in the order of their numbers.
    pub fn list(&self) -> &[Symbol] {
        &self.list
    }

    /// The symbol behind an atom of a formula.
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

    /// A bound on Σ over `k < count` of `body`, in which `k` is `Pos(0)`, for natural terms.
    ///
    /// Beside what [`Size::sum`] closes: powers of `k` up to the third, factors without `k`, and families of known sum.
    pub fn sum(&self, count: &Size, body: &Size) -> Size {
        let mut total = Size::constant(0);
        let mut rest: Vec<(Size, Size)> = Vec::new();
        for (atoms, c) in body.terms() {
            let (free, bound): (Vec<&Atom>, Vec<&Atom>) =
                atoms.iter().partition(|a| !Size::from((*a).clone()).mentions_pos(0));
            let free = product(&free).shift(-1);
            let closed = match bound.as_slice() {
                [] => Some(count.scale(*c)),
                powers if powers.iter().all(|a| **a == Atom::Pos(0)) => sum_of_power(count, powers.len(), *c),
                [Atom::Var(s, at)] if *c > 0 => self.total_of(*s, at).map(|t| t.scale(*c)),
                _ => None,
            };
            match closed {
                Some(closed) => total = total.add(&closed.mul(&free)),
                None => {
                    let term = product(&bound).scale(*c);
                    match rest.iter_mut().find(|(f, _)| *f == free) {
                        Some((_, terms)) => *terms = terms.add(&term),
                        None => rest.push((free, term)),
                    }
                }
            }
        }
        for (free, terms) in rest {
            let common = terms.terms().iter().fold(0, |g, (_, c)| gcd(g, *c)).max(1);
            let sum = Size::sum(count, &terms.div(&Size::constant(common)));
            total = total.add(&sum.scale(common).mul(&free));
        }
        total
    }

    /// What the members of a family are together, at distinct positions.
    fn total_of(&self, family: SizeVar, at: &[Size]) -> Option<Size> {
        let [at] = at else { return None };
        let offset = at.sub(&Size::pos(0)).as_constant();
        offset.and(self.get(family)?.total.clone())
    }

    /// A bound on the greatest of `body` over `k < count`, in which `k` is `Pos(0)`. Where there is no `k`, a part of it that does not
    /// mention `k` is counted nevertheless.
    ///
    /// What grows with `k` is taken at the last one; of several terms each is taken where it is greatest.
    pub fn most(&self, count: &Size, body: &Size) -> Size {
        let mut total = Size::constant(0);
        let mut grouped = Size::constant(0);
        let negative = |(m, c): &&(Vec<Atom>, i128)| *c < 0 && term(m, 1).mentions_pos(0);
        let differs = body.terms().iter().any(|t| negative(&t));
        for (atoms, c) in body.terms() {
            let whole = term(atoms, *c);
            if !whole.mentions_pos(0) {
                total = total.add(&whole.shift(-1));
            } else if differs {
                grouped = grouped.add(&whole);
            } else {
                let (free, bound): (Vec<&Atom>, Vec<&Atom>) =
                    atoms.iter().partition(|a| !Size::from((*a).clone()).mentions_pos(0));
                let greatest = if bound.iter().all(|a| **a == Atom::Pos(0)) {
                    let last = count.sub(&1.into());
                    let last = if last.is_natural() { last } else { count.clone() };
                    bound.iter().fold(Size::constant(1), |p, _| p.mul(&last))
                } else {
                    Size::greatest(count, &product(&bound))
                };
                total = total.add(&greatest.mul(&product(&free).shift(-1)).scale(*c));
            }
        }
        let common = grouped.terms().iter().fold(0, |g, (_, c)| gcd(g, *c));
        if common == 0 {
            return total;
        }
        total.add(&Size::greatest(count, &grouped.div(&Size::constant(common))).scale(common))
    }

    /// As [`Symbols::sum`].
    pub fn sum_all(&self, count: &Size, body: &Formula) -> Formula {
        if body.alternatives().iter().any(|a| a.mentions_pos(0)) {
            return self.sum(count, &body.merged()).into();
        }
        body.map(|a| self.sum(count, a))
    }

    /// As [`Symbols::most`].
    pub fn most_all(&self, count: &Size, body: &Formula) -> Formula {
        body.map(|a| self.most(count, a))
    }

    /// The formula, or a name for it if it is large.
    pub fn named(&mut self, formula: Formula) -> Formula {
        if formula.alternatives().iter().all(is_small) { formula } else { formula.map(|a| self.named_size(a)) }
    }

    /// The size, or a name for it if it is large: a family of the positions that it mentions.
    pub fn named_size(&mut self, size: &Size) -> Size {
        if is_small(size) {
            return size.clone();
        }
        self.name("f", size, None)
    }

    /// A name for the length of a row, of which the sum over all rows is known.
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
        let same = |s: &Symbol| s.origin == Origin::Formula && s.bound == symbol.bound && s.total == symbol.total;
        let known = self.list.iter().position(same).map(|k| SizeVar(k as u32));
        let var = known.unwrap_or_else(|| self.add(symbol));
        Atom::Var(var, at.into_iter().map(Size::from).collect()).into()
    }
}

/// Makes the position at which `body` runs a bound position: the size then stands under one more binder.
pub fn close(size: &Size, body: Body) -> Size {
    size.shift(1).rewrite(&mut |a, depth| match a {
        Atom::At(b) if *b == body => Some(Size::pos(depth)),
        _ => None,
    })
}

/// How many atoms there are in a size, however deep.
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

fn product(atoms: &[&Atom]) -> Size {
    atoms.iter().fold(Size::constant(1), |s, a| s.mul(&(*a).clone().into()))
}

fn term(atoms: &[Atom], c: i128) -> Size {
    product(&atoms.iter().collect::<Vec<_>>()).scale(c)
}

/// `c` times the sum of the `power`th powers of the numbers below `n`.
fn sum_of_power(n: &Size, power: usize, c: i128) -> Option<Size> {
    let n2 = n.mul(n);
    let (numerator, divisor) = match power {
        1 => (n2.sub(n), 2),
        2 => (n2.mul(n).scale(2).sub(&n2.scale(3)).add(n), 6),
        3 => (n2.mul(&n2).sub(&n2.mul(n).scale(2)).add(&n2), 4),
        _ => return None,
    };
    // The numerator is a multiple of the divisor.
    Some(match c % divisor {
        0 => numerator.scale(c / divisor),
        _ => numerator.div(&Size::constant(divisor)).scale(c),
    })
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::text::parse_size;

    fn family(total: Option<&str>) -> Symbols {
        let mut symbols = Symbols::new();
        let symbol = |name: &str, arity, total| Symbol {
            name: name.into(),
            arity,
            origin: Origin::Run,
            bound: None,
            total,
            span: Span::NONE,
            why: String::new(),
        };
        symbols.add(symbol("n", 0, None));
        symbols.add(symbol("s", 1, total.map(|t| parse_size(t).unwrap())));
        symbols
    }

    fn sum(symbols: &Symbols, body: &str) -> String {
        symbols.sum(&parse_size("n2").unwrap(), &parse_size(body).unwrap()).to_string()
    }

    fn most(body: &str) -> String {
        family(None).most(&parse_size("n2").unwrap(), &parse_size(body).unwrap()).to_string()
    }

    #[test]
    fn sums_of_powers_close() {
        let symbols = family(None);
        assert_eq!(sum(&symbols, "2*#0 + 3"), "2*n2 + n2*n2");
        assert_eq!(sum(&symbols, "6*#0*#0*n5"), "n2*n5 + 2*n2*n2*n2*n5 - 3*n2*n2*n5");
        assert_eq!(sum(&symbols, "4*#0*#0*#0"), "n2*n2 + n2*n2*n2*n2 - 2*n2*n2*n2");
        assert_eq!(sum(&symbols, "n3(#0)*n4 + 1"), "n2 + sum(i0 < n2: n3(i0))*n4");
    }

    #[test]
    fn a_family_of_known_sum_closes() {
        assert_eq!(sum(&family(Some("n2 + 5")), "3*n3(#0) + 1"), "4*n2 + 15");
        assert_eq!(sum(&family(Some("n9")), "n3(#0)*n3(#0)"), "sum(i0 < n2: n3(i0)*n3(i0))");
    }

    #[test]
    fn what_grows_is_greatest_at_the_end() {
        assert_eq!(most("7*#0 + 9"), "7*n2 + 9");
        assert_eq!(most("3*n3(#0) + 4"), "3*most(i0 < n2: n3(i0)) + 4");
        assert_eq!(most("2*n3(#0 + 1) - 2*n3(#0)"), "2*most(i0 < n2: n3(i0 + 1) - n3(i0))");
    }

    #[test]
    fn large_formulas_get_a_name() {
        let mut symbols = family(None);
        let many = (0..50).map(|k| format!("n{k}(^3)")).collect::<Vec<_>>().join(" + ");
        let named = symbols.named_size(&parse_size(&many).unwrap());
        assert_eq!(named.to_string(), "n4(^3)");
        assert_eq!(symbols.list()[4].bound.as_ref().unwrap().terms().len(), 50);
        assert!(symbols.list()[4].bound.as_ref().unwrap().mentions_pos(0));
    }
}
