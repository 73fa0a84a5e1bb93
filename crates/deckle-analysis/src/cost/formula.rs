//! Formulas: the maximum of a few sizes.
//!
//! Space is a chain of maxima of sums. Represented as a list of alternatives without dominated ones, it is almost always
//! a polynomial: `max(5n + 1, 2n + 1)` is `5n + 1`. All quantities in a formula are natural numbers, so one
//! polynomial dominates another if no coefficient of their difference is negative.
//!
//! If there would be more than [`MOST_ALTERNATIVES`], one polynomial replaces all: for every product of atoms the maximal
//! coefficient. That is an upper bound, too large by at most a factor of the number of alternatives.

use deckle_ir::cost::Quantity;
use deckle_ir::size::{Atom, Size};
use std::borrow::Cow;

/// The maximal number of separate alternatives.
const MOST_ALTERNATIVES: usize = 3;

/// The maximum of one or more sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula(Repr);

/// Most formulas of scalar code are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Repr {
    Number(i128),
    /// Not a single number, and not empty.
    Greatest(Vec<Size>),
}

impl Default for Formula {
    fn default() -> Self {
        Formula(Repr::Number(0))
    }
}

impl From<Size> for Formula {
    fn from(size: Size) -> Self {
        // A maximum is decomposed, so that its dominated parts are dropped.
        match size.as_atom() {
            Some(Atom::Max(list)) if list.iter().all(Size::is_natural) => Formula::of(list.clone()),
            _ => Formula::of([size]),
        }
    }
}

impl Formula {
    fn of(list: impl IntoIterator<Item = Size>) -> Formula {
        let mut kept: Vec<Size> = Vec::new();
        for size in list {
            if kept.iter().any(|k| k.is_at_least(&size)) {
                continue;
            }
            kept.retain(|k| !size.is_at_least(k));
            kept.push(size);
        }
        if kept.len() > MOST_ALTERNATIVES {
            kept = vec![merge_all(&kept)];
        }
        match kept.as_slice() {
            [] => Formula::default(),
            [one] => match one.as_constant() {
                Some(n) => Formula(Repr::Number(n)),
                None => Formula(Repr::Greatest(kept)),
            },
            _ => Formula(Repr::Greatest(kept)),
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<i128> {
        match &self.0 {
            Repr::Number(n) => Some(*n),
            Repr::Greatest(_) => None,
        }
    }

    /// The alternatives.
    pub fn alternatives(&self) -> Cow<'_, [Size]> {
        match &self.0 {
            Repr::Number(n) => Cow::Owned(vec![Size::constant(*n)]),
            Repr::Greatest(list) => Cow::Borrowed(list),
        }
    }

    /// Another formula, with `f` applied to the alternatives of this one.
    pub fn map(&self, f: impl FnMut(&Size) -> Size) -> Formula {
        Formula::of(self.alternatives().iter().map(f))
    }

    /// As [`Formula::map`], for an `f` that does not change numbers.
    pub fn map_variables(&self, f: impl FnMut(&Size) -> Size) -> Formula {
        if self.as_number().is_some() { self.clone() } else { self.map(f) }
    }

    /// One polynomial that bounds all alternatives.
    pub fn merged(&self) -> Size {
        merge_all(&self.alternatives())
    }

    /// As a size.
    pub fn size(&self) -> Size {
        let list = self.alternatives();
        list.iter().skip(1).fold(list[0].clone(), |a, b| a.greater(b))
    }

    fn pairs(&self, other: &Formula, f: fn(&Size, &Size) -> Size) -> Formula {
        let (left, right) = (self.alternatives(), other.alternatives());
        Formula::of(left.iter().flat_map(|a| right.iter().map(move |b| f(a, b))))
    }
}

fn merge_all(list: &[Size]) -> Size {
    list.iter().skip(1).fold(list[0].clone(), |a, b| a.upper(b))
}

impl Quantity for Formula {
    fn number(n: u64) -> Formula {
        Formula(Repr::Number(n as i128))
    }
    fn plus(&self, other: &Formula) -> Formula {
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => Formula(Repr::Number(a.saturating_add(b))),
            (Some(0), _) => other.clone(),
            (_, Some(0)) => self.clone(),
            _ => self.pairs(other, Size::add),
        }
    }
    fn times(&self, other: &Formula) -> Formula {
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => Formula(Repr::Number(a.saturating_mul(b))),
            (Some(0), _) | (_, Some(0)) => Formula::default(),
            (Some(1), _) => other.clone(),
            (_, Some(1)) => self.clone(),
            _ => self.pairs(other, Size::mul),
        }
    }
    fn most(&self, other: &Formula) -> Formula {
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => Formula(Repr::Number(a.max(b))),
            _ => Formula::of(self.alternatives().iter().chain(other.alternatives().iter()).cloned()),
        }
    }
    fn log2(&self) -> Formula {
        self.map(Size::log2)
    }
    fn is_zero(&self) -> bool {
        self.as_number() == Some(0)
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
}
