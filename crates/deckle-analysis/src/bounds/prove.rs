//! Proving that a size is not negative.

use super::facts::{Facts, MANY};
use deckle_ir::array::{BinOp, Function, Inst, Op};
use deckle_ir::entity::Var;
use deckle_ir::size::{Atom, Size};

/// The maximal number of substitutions of bounds for atoms in one proof.
const STEPS: u32 = 200;
/// The maximal number in sequence.
const DEPTH: u32 = 12;
/// The maximal nesting depth of proofs.
const NESTED: u32 = 3;

impl Facts {
    /// Whether a size is certainly not negative.
    pub fn natural(&self, func: &Function, size: &Size) -> bool {
        // A bound may need a proof of its own.
        if self.nested.get() >= NESTED {
            return size.is_natural();
        }
        self.nested.set(self.nested.get() + 1);
        let proven = Proof { facts: self, func, left: STEPS }.natural(size, DEPTH);
        self.nested.set(self.nested.get() - 1);
        proven
    }

    /// Whether an integer is certainly not negative.
    pub fn is_natural(&self, func: &Function, v: Var) -> bool {
        self.natural(func, &self.exact(func, v))
    }

    /// Whether an integer is an index of an axis of this size.
    pub fn is_index(&self, func: &Function, v: Var, size: &Size) -> bool {
        let i = self.residue(func, v);
        self.trusted(func, size) && self.natural(func, &i) && self.natural(func, &size.sub(&i).sub(&1.into()))
    }

    /// Whether two integers are the ends of a part of an axis of this size.
    pub fn is_range(&self, func: &Function, lo: Var, hi: Var, size: &Size) -> bool {
        let (lo, hi) = (self.residue(func, lo), self.residue(func, hi));
        let ordered = [lo.clone(), hi.sub(&lo), size.sub(&hi)];
        self.trusted(func, size) && ordered.iter().all(|s| self.natural(func, s))
    }

    /// Whether a polynomial whose residue is that of an integer is that integer: it is not negative, and below the number of elements of
    /// an existing array.
    pub fn is_value(&self, func: &Function, size: &Size) -> bool {
        self.within(func, size, (0, i64::MAX as i128))
            || self.natural(func, size) && self.made(func).iter().any(|n| self.natural(func, &n.sub(size)))
    }
}

struct Proof<'a> {
    facts: &'a Facts,
    func: &'a Function,
    left: u32,
}

impl Proof<'_> {
    fn natural(&mut self, size: &Size, depth: u32) -> bool {
        if size.terms().iter().any(|(_, c)| c.unsigned_abs() > MANY as u128 * MANY as u128) {
            return false;
        }
        if size.terms().iter().all(|(m, c)| *c > 0 && m.iter().all(|a| self.atom_is_natural(a))) {
            return true;
        }
        if self.left == 0 || depth == 0 || size.terms().iter().all(|(m, c)| m.is_empty() && *c < 0) {
            return false;
        }
        self.left -= 1;
        // Later atoms depend on earlier ones: positions of inner bodies are below sizes that mention outer ones.
        let mut atoms: Vec<&Atom> = size.terms().iter().flat_map(|(m, _)| m).collect();
        atoms.sort_by_key(|a| std::cmp::Reverse(rank(a)));
        atoms.dedup();
        atoms.into_iter().any(|a| self.by_atom(size, a, depth - 1))
    }

    fn atom_is_natural(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Pos(_) | Atom::At(_) | Atom::Var(..) => true,
            Atom::Min(list) => list.iter().all(|s| self.form_is_natural(s)),
            Atom::Max(list) => list.iter().any(|s| self.form_is_natural(s)),
            Atom::If(_, x, y) => self.form_is_natural(x) && self.form_is_natural(y),
            Atom::Value(_) | Atom::Read(..) => {
                self.facts.lower(self.func, atom).iter().any(|s| s.as_constant().is_some_and(|c| c >= 0))
            }
            _ => false,
        }
    }

    fn form_is_natural(&self, size: &Size) -> bool {
        size.terms().iter().all(|(m, c)| *c > 0 && m.iter().all(|a| self.atom_is_natural(a)))
    }

    /// `size = a·x + b`: an upper bound of `x` may replace it if `a` is not positive, a lower one if it is not negative.
    fn by_atom(&mut self, size: &Size, x: &Atom, depth: u32) -> bool {
        let Some((a, b)) = linear(size, x) else { return false };
        let rises = self.form_is_natural(&a);
        if !rises && !self.form_is_natural(&a.scale(-1)) {
            return false;
        }
        let put = |proof: &mut Self, bound: &Size| proof.natural(&a.mul(bound).add(&b), depth);
        match x {
            Atom::Min(list) if rises => return list.iter().all(|s| put(self, s)),
            Atom::Max(list) if !rises => return list.iter().all(|s| put(self, s)),
            Atom::If(_, yes, no) => return put(self, yes) && put(self, no),
            Atom::Min(list) | Atom::Max(list) => return list.iter().any(|s| put(self, s)),
            _ => {}
        }
        let bounds = if rises { self.facts.lower(self.func, x) } else { self.facts.upper(self.func, x) };
        bounds.iter().any(|s| put(self, s)) || !rises && a.as_constant() == Some(-1) && self.by_quotient(&b, x, depth)
    }

    /// `x = y / m` with `y` natural and `m` positive: `b - x ≥ 0` where `m·b + m - 1 ≥ y`.
    fn by_quotient(&mut self, b: &Size, x: &Atom, depth: u32) -> bool {
        let Atom::Value(p) = x else { return false };
        let Some(Inst { op: Op::Binary(BinOp::Div), args, .. }) =
            self.func.inst(p.root).filter(|_| p.fields.is_empty())
        else {
            return false;
        };
        let (y, m) = (self.facts.exact(self.func, args[0]), self.facts.exact(self.func, args[1]));
        let one = Size::constant(1);
        self.natural(&y, depth)
            && self.natural(&m.sub(&one), depth)
            && self.natural(&m.mul(b).add(&m).sub(&one).sub(&y), depth)
    }
}

/// `a` and `b` with `size = a·x + b`, where `x` is in no product twice.
fn linear(size: &Size, x: &Atom) -> Option<(Size, Size)> {
    let (mut a, mut b) = (Size::constant(0), Size::constant(0));
    for (m, c) in size.terms() {
        let rest: Vec<&Atom> = m.iter().filter(|y| *y != x).collect();
        let product = rest.iter().fold(Size::constant(*c), |p, y| p.mul(&Size::from((*y).clone())));
        match m.len() - rest.len() {
            0 => b = b.add(&product),
            1 => a = a.add(&product),
            _ => return None,
        }
    }
    Some((a, b))
}

/// Atoms of inner bodies after those of outer ones.
fn rank(atom: &Atom) -> (u32, u32) {
    match atom {
        Atom::Min(_) | Atom::Max(_) | Atom::If(..) => (2, 0),
        Atom::Value(p) => (1, p.root.0),
        Atom::At(b) => (1, b.0),
        _ => (0, 0),
    }
}
