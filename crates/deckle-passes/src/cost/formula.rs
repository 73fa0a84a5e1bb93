//! Formulas: the greatest of a few sizes.
//!
//! Space is a chain of maxima of sums. Kept as a list of alternatives, of which those that another one dominates are dropped, it stays
//! a polynomial nearly always: `max(5n + 1, 2n + 1)` is `5n + 1`. All quantities in a formula are natural numbers, so one
//! polynomial dominates another if no coefficient of their difference is negative.
//!
//! Where there would be more than [`MOST_ALTERNATIVES`], one polynomial takes the place of all: for every product of atoms the greatest
//! coefficient. That is a bound from above, at most as many times too large as there were alternatives.

use deckle_ir::cost::Quantity;
use deckle_ir::size::{Atom, Size};

/// How many alternatives are kept apart.
const MOST_ALTERNATIVES: usize = 3;

/// The greatest of one or more sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    alternatives: Vec<Size>,
}

impl Default for Formula {
    fn default() -> Self {
        Size::constant(0).into()
    }
}

impl From<Size> for Formula {
    fn from(size: Size) -> Self {
        // What is a maximum already is taken apart, so that a dominated part of it goes.
        match size.as_atom() {
            Some(Atom::Max(list)) => Formula::of(list.clone()),
            _ => Formula { alternatives: vec![size] },
        }
    }
}

impl Formula {
    fn of(list: impl IntoIterator<Item = Size>) -> Formula {
        let mut kept: Vec<Size> = Vec::new();
        for size in list {
            if kept.iter().any(|k| dominates(k, &size)) {
                continue;
            }
            kept.retain(|k| !dominates(&size, k));
            kept.push(size);
        }
        if kept.len() > MOST_ALTERNATIVES {
            let merged = kept.iter().skip(1).fold(kept[0].clone(), |a, b| merge(&a, b));
            return Formula { alternatives: vec![merged] };
        }
        if kept.is_empty() { Formula::default() } else { Formula { alternatives: kept } }
    }

    /// The alternatives.
    pub fn alternatives(&self) -> &[Size] {
        &self.alternatives
    }

    /// Another formula, whose alternatives `f` makes of those of this one.
    pub fn map(&self, f: impl FnMut(&Size) -> Size) -> Formula {
        Formula::of(self.alternatives.iter().map(f))
    }

    /// One polynomial that bounds all alternatives.
    pub fn merged(&self) -> Size {
        self.alternatives.iter().skip(1).fold(self.alternatives[0].clone(), |a, b| merge(&a, b))
    }

    /// As a size.
    pub fn size(&self) -> Size {
        self.alternatives.iter().skip(1).fold(self.alternatives[0].clone(), |a, b| a.greater(b))
    }
}

fn dominates(a: &Size, b: &Size) -> bool {
    a.sub(b).is_natural()
}

/// For each product of atoms the greater coefficient.
fn merge(a: &Size, b: &Size) -> Size {
    let difference = b.sub(a);
    let mut sum = a.clone();
    for (atoms, c) in difference.terms().iter().filter(|(_, c)| *c > 0) {
        sum = sum.add(&atoms.iter().fold(Size::constant(*c), |s, a| s.mul(&a.clone().into())));
    }
    sum
}

impl Quantity for Formula {
    fn number(n: u64) -> Formula {
        Size::constant(n as i128).into()
    }
    fn plus(&self, other: &Formula) -> Formula {
        let pairs = self.alternatives.iter().flat_map(|a| other.alternatives.iter().map(move |b| a.add(b)));
        Formula::of(pairs)
    }
    fn times(&self, other: &Formula) -> Formula {
        let pairs = self.alternatives.iter().flat_map(|a| other.alternatives.iter().map(move |b| a.mul(b)));
        Formula::of(pairs)
    }
    fn most(&self, other: &Formula) -> Formula {
        Formula::of(self.alternatives.iter().chain(&other.alternatives).cloned())
    }
    fn log2(&self) -> Formula {
        self.map(Size::log2)
    }
    fn is_zero(&self) -> bool {
        self.alternatives.iter().all(|a| a.as_constant() == Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::text::parse_size;

    fn f(text: &str) -> Formula {
        parse_size(text).unwrap().into()
    }

    #[test]
    fn what_is_dominated_goes() {
        assert_eq!(f("5*n0 + 1").most(&f("2*n0 + 1")), f("5*n0 + 1"));
        assert_eq!(f("11").most(&f("n0 + 5")).size().to_string(), "max(n0 + 5, 11)");
        assert_eq!(f("11").most(&f("n0 + 5")).plus(&f("2")), f("13").most(&f("n0 + 7")));
        assert_eq!(f("max(n0, n0 + n1)"), f("n0 + n1"));
    }

    #[test]
    fn too_many_alternatives_become_one_bound() {
        let all = (1..=4).fold(f("0"), |all, k| all.most(&f(&format!("{k}*n{k} + {}", 9 - k))));
        assert_eq!(all.alternatives().len(), 1);
        assert_eq!(all, f("n1 + 2*n2 + 3*n3 + 4*n4 + 8"));
    }

    #[test]
    fn differences_are_bounded_by_what_is_positive_in_them() {
        assert_eq!(merge(&parse_size("n0 - n1").unwrap(), &parse_size("n2").unwrap()).to_string(), "n0 + n2");
    }
}
