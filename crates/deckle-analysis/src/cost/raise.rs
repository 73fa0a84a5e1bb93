//! Rewriting sizes as bounds: each variable of a size is replaced by its upper bound.
//!
//! In a sum of products of natural numbers that is sound. A subtracted term must not be replaced by a greater one: if
//! the number is not exactly known, nothing is subtracted. A divisor is at least one.

use super::shape::Bound;
use super::symbols::Symbols;
use deckle_ir::size::{Atom, Size};

/// The values of the variables of a size.
pub trait Leaves {
    /// A position of a body, a variable, an integer or an element. `at` are the positions that it is applied to.
    fn leaf(&mut self, atom: &Atom, at: &[Bound]) -> Bound;
    /// The symbols of the result.
    fn symbols(&self) -> &Symbols;
}

/// A size in terms of the values that `leaves` returns for its variables.
pub fn raise(size: &Size, leaves: &mut dyn Leaves) -> Bound {
    let mut total = Bound::exact(Size::constant(0));
    for (atoms, c) in size.terms() {
        let factors: Vec<Bound> = atoms.iter().map(|a| raise_atom(a, leaves)).collect();
        let exact = factors.iter().all(|f| f.exact);
        if !exact && *c < 0 {
            total.exact = false;
            continue;
        }
        let product = factors.iter().fold(Size::constant(*c), |p, f| p.mul(&f.size));
        total = Bound { size: total.size.add(&product), exact: total.exact && exact };
    }
    total
}

fn raise_atom(atom: &Atom, leaves: &mut dyn Leaves) -> Bound {
    let mut all = |list: &[Size]| list.iter().map(|s| raise(s, leaves)).collect::<Vec<_>>();
    match atom {
        Atom::Pos(_) => Bound::exact(atom.clone().into()),
        Atom::Var(_, at) | Atom::Read(_, at) => {
            let at = all(at);
            leaves.leaf(atom, &at)
        }
        Atom::At(_) | Atom::Value(_) => leaves.leaf(atom, &[]),
        Atom::Min(list) => extreme(&all(list), Size::lesser),
        Atom::Max(list) => extreme(&all(list), Size::greater),
        Atom::If(_, yes, no) => {
            let (yes, no) = (raise(yes, leaves), raise(no, leaves));
            yes.or(&no)
        }
        Atom::Sum(count, body) => {
            let (count, body) = (raise(count, leaves), raise(body, leaves));
            Bound { size: leaves.symbols().sum(&count.size, &body.size), exact: count.exact && body.exact }
        }
        Atom::Most(count, body) => {
            let (count, body) = (raise(count, leaves), raise(body, leaves));
            Bound::at_most(leaves.symbols().most(&count.size, &body.size))
        }
        Atom::Log(x) => {
            let x = raise(x, leaves);
            Bound { size: x.size.log2(), exact: x.exact }
        }
        Atom::Div(a, b) => {
            let (a, b) = (raise(a, leaves), raise(b, leaves));
            let size = if b.exact { a.size.div(&b.size) } else { a.size.greater(&Size::constant(0)) };
            Bound { size, exact: a.exact && b.exact }
        }
    }
}

fn extreme(list: &[Bound], pick: fn(&Size, &Size) -> Size) -> Bound {
    let size = list.iter().map(|b| b.size.clone()).reduce(|a, b| pick(&a, &b));
    Bound { size: size.unwrap_or(Size::constant(0)), exact: list.iter().all(|b| b.exact) }
}

/// A bound that mentions as many positions as there are in `at`, at these: the first is the outermost.
pub fn apply(bound: &Bound, at: &[Bound]) -> Bound {
    let k = at.len() as u32;
    let size = bound.size.rewrite(&mut |a, d| match a {
        Atom::Pos(p) if *p >= d && *p - d < k => Some(at[(k - 1 - (*p - d)) as usize].size.shift(d as i32)),
        Atom::Pos(p) if *p >= d => Some(Size::pos(*p - k)),
        _ => None,
    });
    Bound { size, exact: bound.exact && at.iter().all(|a| a.exact) }
}
