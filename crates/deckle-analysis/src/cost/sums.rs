//! Sums and maxima over positions: in closed form if there is one, else as atoms, and always as upper bounds.

use super::formula::Formula;
use super::symbols::Symbols;
use deckle_ir::entity::SizeVar;
use deckle_ir::size::{Atom, Size};

impl Symbols {
    /// A bound on Σ over `k < count` of `body`, in which `k` is `Pos(0)`, for natural terms.
    ///
    /// In addition to the closed forms of [`Size::sum`]: powers of `k` up to the third, factors without `k`, and families of known sum.
    pub fn sum(&self, count: &Size, body: &Size) -> Size {
        let mut total = Size::constant(0);
        if count.as_constant() == Some(0) {
            return total;
        }
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

    /// The total of the members of a family, at distinct positions.
    fn total_of(&self, family: SizeVar, at: &[Size]) -> Option<Size> {
        let [at] = at else { return None };
        let offset = at.sub(&Size::pos(0)).as_constant();
        offset.and(self.get(family)?.total.clone())
    }

    /// A bound on the maximum of `body` over `k < count`, in which `k` is `Pos(0)`. If there is no `k`, a part of it that does not
    /// mention `k` is counted nevertheless.
    ///
    /// Terms that grow with `k` are taken at the last one; each of several terms is taken at its maximum.
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
        match body.as_number() {
            Some(c) => count.scale(c).into(),
            None if body.alternatives().iter().any(|a| a.mentions_pos(0)) => self.sum(count, &body.merged()).into(),
            None => body.map(|a| self.sum(count, a)),
        }
    }

    /// As [`Symbols::most`].
    pub fn most_all(&self, count: &Size, body: &Formula) -> Formula {
        body.map_variables(|a| self.most(count, a))
    }
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
    use super::super::symbols::{Origin, Symbol};
    use super::*;
    use deckle_diag::Span;
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
        assert_eq!(sum(&symbols, "6*#0*#0*n5"), "2*n2*n2*n2*n5 + n2*n5 - 3*n2*n2*n5");
        assert_eq!(sum(&symbols, "4*#0*#0*#0"), "n2*n2 + n2*n2*n2*n2 - 2*n2*n2*n2");
        assert_eq!(sum(&symbols, "n3(#0)*n4 + 1"), "n2 + n4*sum(i0 < n2: n3(i0))");
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
}
