//! A size is an expression.
//!
//! Every dimension of every array carries a [`Size`]: a polynomial with integer coefficients over
//! [`Atom`]s, stored in normal form, so that two sizes are equal exactly when their normal forms are.
//! Atoms are the terms that a polynomial cannot decompose: a variable bound at run time, an integer of the program,
//! an element read from an array of the program, a position, a sum, a minimum, a conditional, a quotient.
//!
//! # Positions
//! An array type `[i -> T; n]` binds a position `i` in `T`; so does a sum Σ, and so does a sequence type.
//! Positions are de Bruijn indices ([`Atom::Pos`]): `Pos(0)` is the innermost binder around it. Inside a
//! body that runs once per element, the position at which it runs is [`Atom::At`] that body.
//! A type outside all binders has no free `Pos`.
//!
//! # Arithmetic
//! Sizes are mathematical integers: they do not wrap. A size that is negative when its array is
//! created is an error at run time (D0302); a count of a Σ is the size of an array and therefore not negative,
//! which makes the closed form of a telescoping Σ correct.

use crate::entity::{Body, Path, SizeVar};

/// A size in normal form: a sum of products, sorted, without zero terms.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    terms: Vec<(Vec<Atom>, i128)>,
}

/// A term that a polynomial cannot decompose.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A position bound by an array type, a sequence type or a Σ; 0 is the innermost.
    Pos(u32),
    /// The position at which a body runs.
    At(Body),
    /// A size bound at run time; applied to positions, it is a size for each of them (a jagged dimension).
    Var(SizeVar, Vec<Size>),
    /// An integer of the program.
    Value(Path),
    /// An element of an integer array of the program: `off[i + 1]`.
    Read(Path, Vec<Size>),
    /// Σ over `k < count` of `body`, in which `k` is `Pos(0)`.
    Sum(Box<Size>, Box<Size>),
    /// The minimum of two or more.
    Min(Vec<Size>),
    /// The maximum of two or more.
    Max(Vec<Size>),
    /// The first size if the truth value of the program is `true`, else the second.
    If(Path, Box<Size>, Box<Size>),
    /// The quotient, rounded down.
    Div(Box<Size>, Box<Size>),
    /// `⌈log₂ n⌉`, and 0 if `n` is not positive. Occurs in costs, not in types.
    Log(Box<Size>),
    /// The maximum of `body` over `k < count`, in which `k` is `Pos(0)`; 0 if there is none. Occurs in costs, not in types.
    Most(Box<Size>, Box<Size>),
}

impl From<i64> for Size {
    fn from(n: i64) -> Size {
        Size::constant(n as i128)
    }
}

impl From<Atom> for Size {
    fn from(atom: Atom) -> Size {
        Size { terms: vec![(vec![atom], 1)] }
    }
}

impl Size {
    /// The number `n`.
    pub fn constant(n: i128) -> Size {
        Size { terms: if n == 0 { Vec::new() } else { vec![(Vec::new(), n)] } }
    }

    /// A variable that does not depend on a position.
    pub fn var(v: SizeVar) -> Size {
        Atom::Var(v, Vec::new()).into()
    }

    /// The position bound `depth` binders out.
    pub fn pos(depth: u32) -> Size {
        Atom::Pos(depth).into()
    }

    /// An integer of the program.
    pub fn value(path: impl Into<Path>) -> Size {
        Atom::Value(path.into()).into()
    }

    /// The terms: products of atoms, each with its coefficient.
    pub fn terms(&self) -> &[(Vec<Atom>, i128)] {
        &self.terms
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<i128> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(m, c)] if m.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// The atom, if it is a single one.
    pub fn as_atom(&self) -> Option<&Atom> {
        match self.terms.as_slice() {
            [(m, 1)] if m.len() == 1 => Some(&m[0]),
            _ => None,
        }
    }

    /// The variable, if it is a bare one (possibly a family applied to positions).
    pub fn as_var(&self) -> Option<SizeVar> {
        match self.as_atom()? {
            Atom::Var(v, _) => Some(*v),
            _ => None,
        }
    }

    /// The size variable that an array of this size determines, with the positions it is applied to, and the number to subtract from
    /// the array's length: `n` of `n + 1` is one less.
    pub fn determines(&self) -> Option<(SizeVar, &[Size], i128)> {
        let (constant, var) = match self.terms.as_slice() {
            [(m, 1)] => (0, m),
            [(one, c), (m, 1)] if one.is_empty() => (*c, m),
            _ => return None,
        };
        match var.as_slice() {
            [Atom::Var(v, at)] => Some((*v, at, constant)),
            _ => None,
        }
    }

    fn from_terms(mut raw: Vec<(Vec<Atom>, i128)>) -> Size {
        raw.iter_mut().for_each(|(m, _)| m.sort());
        raw.sort_by(|a, b| a.0.cmp(&b.0));
        let mut terms: Vec<(Vec<Atom>, i128)> = Vec::with_capacity(raw.len());
        for (m, c) in raw {
            match terms.last_mut() {
                Some((last, sum)) if *last == m => *sum = sum.saturating_add(c),
                _ => terms.push((m, c)),
            }
        }
        terms.retain(|(_, c)| *c != 0);
        Size { terms }
    }

    /// The sum.
    pub fn add(&self, other: &Size) -> Size {
        self.combine(other, 1)
    }

    /// The difference.
    pub fn sub(&self, other: &Size) -> Size {
        self.combine(other, -1)
    }

    /// `self + k * other`. Terms are sorted, so this is a merge.
    fn combine(&self, other: &Size, k: i128) -> Size {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let mut theirs = other.terms.iter().peekable();
        for (m, c) in &self.terms {
            while let Some((n, d)) = theirs.next_if(|(n, _)| n < m) {
                terms.push((n.clone(), d.saturating_mul(k)));
            }
            let d = theirs.next_if(|(n, _)| n == m).map_or(0, |(_, d)| d.saturating_mul(k));
            match c.saturating_add(d) {
                0 => {}
                sum => terms.push((m.clone(), sum)),
            }
        }
        terms.extend(theirs.map(|(n, d)| (n.clone(), d.saturating_mul(k))));
        Size { terms }
    }

    /// A multiple.
    pub fn scale(&self, k: i128) -> Size {
        if k == 0 {
            return Size::constant(0);
        }
        Size { terms: self.terms.iter().map(|(m, c)| (m.clone(), c.saturating_mul(k))).collect() }
    }

    /// The product.
    pub fn mul(&self, other: &Size) -> Size {
        match (self.as_constant(), other.as_constant()) {
            (Some(k), _) => return other.scale(k),
            (_, Some(k)) => return self.scale(k),
            _ => {}
        }
        let product = |(m, c): &(Vec<Atom>, i128)| {
            let c = *c;
            let m = m.clone();
            other
                .terms
                .iter()
                .map(move |(n, d)| (m.iter().chain(n).cloned().collect(), c.saturating_mul(*d)))
                .collect::<Vec<_>>()
        };
        Size::from_terms(self.terms.iter().flat_map(product).collect())
    }

    /// A polynomial that is at least the maximum of both: for each product of atoms the greater coefficient. Products that may be negative get
    /// the lesser, plus the difference where the product is positive.
    pub fn upper(&self, other: &Size) -> Size {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let mut rest = Size::constant(0);
        let mut put = |m: &Vec<Atom>, c: i128, d: i128| {
            let natural = m.iter().all(Atom::is_natural);
            let kept = if natural { c.max(d) } else { c.min(d) };
            if kept != 0 {
                terms.push((m.clone(), kept));
            }
            if !natural && c != d {
                let positive = Size { terms: vec![(m.clone(), 1)] }.greater(&Size::constant(0));
                rest = rest.add(&positive.scale(c.saturating_sub(d).saturating_abs()));
            }
        };
        let mut theirs = other.terms.iter().peekable();
        for (m, c) in &self.terms {
            while let Some((n, d)) = theirs.next_if(|(n, _)| n < m) {
                put(n, 0, *d);
            }
            put(m, *c, theirs.next_if(|(n, _)| n == m).map_or(0, |(_, d)| *d));
        }
        theirs.for_each(|(n, d)| put(n, 0, *d));
        Size { terms }.add(&rest)
    }

    /// Whether it is never less than another, as far as the forms show: no coefficient of the difference is negative.
    pub fn is_at_least(&self, other: &Size) -> bool {
        let mut theirs = other.terms.iter().peekable();
        let covers = |m: &[Atom], d: i128| d == 0 || d > 0 && m.iter().all(Atom::is_natural);
        for (m, c) in &self.terms {
            while let Some((n, d)) = theirs.next_if(|(n, _)| n < m) {
                if !covers(n, -d) {
                    return false;
                }
            }
            let d = theirs.next_if(|(n, _)| n == m).map_or(0, |(_, d)| *d);
            if !covers(m, c.saturating_sub(d)) {
                return false;
            }
        }
        theirs.all(|(n, d)| covers(n, d.saturating_neg()))
    }

    /// The quotient rounded down; division by a constant zero is not simplified, and fails when evaluated.
    pub fn div(&self, other: &Size) -> Size {
        match (self.as_constant(), other.as_constant()) {
            (_, Some(1)) => self.clone(),
            (Some(a), Some(b)) if b != 0 => Size::constant(a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)),
            (_, Some(b)) if b > 0 && self.terms.iter().all(|(_, c)| c % b == 0) => {
                Size::from_terms(self.terms.iter().map(|(m, c)| (m.clone(), c / b)).collect())
            }
            _ => Atom::Div(Box::new(self.clone()), Box::new(other.clone())).into(),
        }
    }

    /// The minimum.
    pub fn lesser(&self, other: &Size) -> Size {
        self.extreme(other, |a| matches!(a, Atom::Min(_)), Atom::Min, |d| d <= 0)
    }

    /// The maximum.
    pub fn greater(&self, other: &Size) -> Size {
        if self.as_constant() == Some(0) && other.is_natural() {
            return other.clone();
        }
        if other.as_constant() == Some(0) && self.is_natural() {
            return self.clone();
        }
        let max = self.extreme(other, |a| matches!(a, Atom::Max(_)), Atom::Max, |d| d >= 0);
        // A bound of zero next to something that is never negative is redundant, whatever its origin.
        match max.as_atom() {
            Some(Atom::Max(list)) if list.iter().any(|s| s.as_constant() != Some(0) && s.is_natural()) => {
                let kept: Vec<Size> = list.iter().filter(|s| s.as_constant().is_none_or(|c| c > 0)).cloned().collect();
                if kept.len() == 1 { kept[0].clone() } else { Atom::Max(kept).into() }
            }
            _ => max,
        }
    }

    /// Flattens nested extremes and drops operands that another one dominates.
    fn extreme(
        &self,
        other: &Size,
        same: fn(&Atom) -> bool,
        make: fn(Vec<Size>) -> Atom,
        wins: fn(i128) -> bool,
    ) -> Size {
        let operands = |s: &Size| match s.as_atom() {
            Some(Atom::Min(list) | Atom::Max(list)) if s.as_atom().is_some_and(same) => list.clone(),
            _ => vec![s.clone()],
        };
        let mut kept: Vec<Size> = Vec::new();
        for candidate in operands(self).into_iter().chain(operands(other)) {
            if kept.iter().any(|k| k.sub(&candidate).as_constant().is_some_and(wins)) {
                continue;
            }
            kept.retain(|k| !candidate.sub(k).as_constant().is_some_and(wins));
            kept.push(candidate);
        }
        kept.sort();
        if kept.len() == 1 { kept.remove(0) } else { make(kept).into() }
    }

    /// `self` if the truth value at `cond` holds, else `other`.
    pub fn select(cond: Path, yes: &Size, no: &Size) -> Size {
        if yes == no { yes.clone() } else { Atom::If(cond, Box::new(yes.clone()), Box::new(no.clone())).into() }
    }

    /// Σ over `k < count` of `body`, where `k` is `Pos(0)` in `body`.
    ///
    /// Terms without `k` are multiplied by the count, a pair `f(k+1) - f(k)` closes to `f(count) - f(0)`,
    /// `k` itself closes to `count (count - 1) / 2`; the rest remains a Σ.
    pub fn sum(count: &Size, body: &Size) -> Size {
        let mut total = Size::constant(0);
        let mut rest: Vec<(Vec<Atom>, i128)> = Vec::new();
        for (m, c) in &body.terms {
            let term = Size { terms: vec![(m.clone(), *c)] };
            if !term.mentions_pos(0) {
                total = total.add(&count.mul(&term.shift(-1)));
            } else if m.as_slice() == [Atom::Pos(0)] {
                let pairs = count.mul(count).sub(count);
                total = total.add(&pairs.div(&Size::constant(2)).scale(*c));
            } else {
                rest.push((m.clone(), *c));
            }
        }
        while let Some((upper, lower)) = telescoping_pair(&rest) {
            let c = rest[upper].1.abs().min(rest[lower].1.abs()) * rest[upper].1.signum();
            let f = Size { terms: vec![(rest[lower].0.clone(), 1)] };
            let closed = f.instantiate(count).sub(&f.instantiate(&Size::constant(0)));
            total = total.add(&closed.scale(c));
            rest[upper].1 -= c;
            rest[lower].1 += c;
            rest.retain(|(_, c)| *c != 0);
        }
        if !rest.is_empty() {
            let body = Size::from_terms(rest);
            total = total.add(&Atom::Sum(Box::new(count.clone()), Box::new(body)).into());
        }
        total
    }

    /// `⌈log₂ n⌉`, and 0 if `n` is not positive.
    pub fn log2(&self) -> Size {
        match self.as_constant() {
            Some(n) => Size::constant(log2(n)),
            None => Atom::Log(Box::new(self.clone())).into(),
        }
    }

    /// The maximum of `body` over `k < count`, where `k` is `Pos(0)` in `body`; 0 if there is none.
    pub fn greatest(count: &Size, body: &Size) -> Size {
        match count.as_constant() {
            Some(n) if n <= 0 => Size::constant(0),
            Some(_) if !body.mentions_pos(0) => body.shift(-1),
            Some(1) => body.instantiate(&Size::constant(0)),
            _ if body.as_constant() == Some(0) => Size::constant(0),
            _ => Atom::Most(Box::new(count.clone()), Box::new(body.clone())).into(),
        }
    }

    /// As text, with the names that `name` returns for atoms: `2 * n + 1`. `None` if an atom has no name.
    pub fn spelled(&self, name: &mut dyn FnMut(&Atom) -> Option<String>) -> Option<String> {
        let mut text = String::new();
        let (plus, minus): (Vec<_>, Vec<_>) = self.terms.iter().rev().partition(|(_, c)| *c > 0);
        for (atoms, c) in plus.into_iter().chain(minus) {
            let mut factors = atoms.iter().map(&mut *name).collect::<Option<Vec<String>>>()?;
            if factors.is_empty() || c.unsigned_abs() != 1 {
                factors.insert(0, c.unsigned_abs().to_string());
            }
            text += match (text.is_empty(), *c < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            text += &factors.join(" * ");
        }
        Some(if text.is_empty() { "0".into() } else { text })
    }

    /// Whether it is never negative, as far as its form shows.
    pub fn is_natural(&self) -> bool {
        self.terms.iter().all(|(m, c)| *c > 0 && m.iter().all(Atom::is_natural))
    }

    /// Rewrites atoms from the leaves up. `f` is passed each atom, already rewritten inside, and the number of
    /// binders between it and the outside of this size; `None` keeps the atom.
    pub fn rewrite(&self, f: &mut dyn FnMut(&Atom, u32) -> Option<Size>) -> Size {
        self.rewrite_at(0, f)
    }

    fn rewrite_at(&self, depth: u32, f: &mut dyn FnMut(&Atom, u32) -> Option<Size>) -> Size {
        if self.as_constant().is_some() {
            return self.clone();
        }
        let mut terms = Vec::with_capacity(self.terms.len());
        for (m, c) in &self.terms {
            let mut product = Size::constant(*c);
            for a in m {
                let (rebuilt, size) = a.rebuild(depth, f);
                let new = match rebuilt {
                    Some(atom) => f(&atom, depth).unwrap_or(size),
                    None => size,
                };
                product = product.mul(&new);
            }
            terms.extend(product.terms);
        }
        Size::from_terms(terms)
    }

    /// Whether any atom satisfies `f`, which is also passed the number of binders around it.
    pub fn any_atom(&self, f: &mut dyn FnMut(&Atom, u32) -> bool) -> bool {
        self.any_atom_at(0, f)
    }

    fn any_atom_at(&self, depth: u32, f: &mut dyn FnMut(&Atom, u32) -> bool) -> bool {
        self.terms.iter().flat_map(|(m, _)| m).any(|a| {
            f(a, depth)
                || match a {
                    Atom::Pos(_) | Atom::At(_) | Atom::Value(_) => false,
                    Atom::Var(_, l) | Atom::Read(_, l) | Atom::Min(l) | Atom::Max(l) => {
                        l.iter().any(|s| s.any_atom_at(depth, f))
                    }
                    Atom::Log(x) => x.any_atom_at(depth, f),
                    Atom::Sum(n, b) | Atom::Most(n, b) => n.any_atom_at(depth, f) || b.any_atom_at(depth + 1, f),
                    Atom::If(_, x, y) | Atom::Div(x, y) => x.any_atom_at(depth, f) || y.any_atom_at(depth, f),
                }
        })
    }

    /// Whether the position bound `at` binders out is mentioned.
    pub fn mentions_pos(&self, at: u32) -> bool {
        self.any_atom(&mut |a, depth| matches!(a, Atom::Pos(p) if *p == at + depth))
    }

    /// Whether it depends on any of the positions that the `depth` innermost binders bind.
    pub fn varies(&self, depth: u32) -> bool {
        (0..depth).any(|p| self.mentions_pos(p))
    }

    /// Adds `by` to all free positions.
    pub fn shift(&self, by: i32) -> Size {
        if !self.any_atom(&mut |a, depth| matches!(a, Atom::Pos(p) if *p >= depth)) {
            return self.clone();
        }
        self.rewrite(&mut |a, depth| match a {
            Atom::Pos(p) if *p >= depth => Some(Size::pos(p.saturating_add_signed(by))),
            _ => None,
        })
    }

    /// Substitutes `index` for the innermost free position, and renumbers the others.
    pub fn instantiate(&self, index: &Size) -> Size {
        self.instantiate_under(0, index)
    }

    /// As [`Size::instantiate`], seen from `under` binders further in.
    pub fn instantiate_under(&self, under: u32, index: &Size) -> Size {
        self.rewrite(&mut |a, depth| match a {
            Atom::Pos(p) if *p == under + depth => Some(index.shift((under + depth) as i32)),
            Atom::Pos(p) if *p > under + depth => Some(Size::pos(p - 1)),
            _ => None,
        })
    }
}

impl Atom {
    fn is_natural(&self) -> bool {
        match self {
            Atom::Pos(_) | Atom::At(_) | Atom::Var(..) | Atom::Log(_) => true,
            Atom::Value(_) | Atom::Read(..) => false,
            Atom::Sum(_, body) | Atom::Most(_, body) => body.is_natural(),
            Atom::Min(list) => list.iter().all(Size::is_natural),
            Atom::Max(list) => list.iter().any(Size::is_natural),
            Atom::If(_, a, b) => a.is_natural() && b.is_natural(),
            Atom::Div(a, b) => a.is_natural() && b.is_natural(),
        }
    }

    /// The atom with its inner sizes rewritten: as an atom if it still is one of its kind, and as a
    /// size. If it simplifies to something else, the parts of that are already rewritten and must not be rewritten again.
    fn rebuild(&self, depth: u32, f: &mut dyn FnMut(&Atom, u32) -> Option<Size>) -> (Option<Atom>, Size) {
        let same =
            |s: &Size| s.as_atom().filter(|a| std::mem::discriminant(*a) == std::mem::discriminant(self)).cloned();
        let atom = match self {
            Atom::Pos(_) | Atom::At(_) | Atom::Value(_) => self.clone(),
            Atom::Var(v, l) => Atom::Var(*v, l.iter().map(|s| s.rewrite_at(depth, f)).collect()),
            Atom::Read(p, l) => Atom::Read(p.clone(), l.iter().map(|s| s.rewrite_at(depth, f)).collect()),
            Atom::Sum(n, b) => {
                let s = Size::sum(&n.rewrite_at(depth, f), &b.rewrite_at(depth + 1, f));
                return (same(&s), s);
            }
            Atom::Most(n, b) => {
                let s = Size::greatest(&n.rewrite_at(depth, f), &b.rewrite_at(depth + 1, f));
                return (same(&s), s);
            }
            Atom::Log(x) => {
                let s = x.rewrite_at(depth, f).log2();
                return (same(&s), s);
            }
            Atom::Min(l) => {
                let s =
                    l.iter().map(|s| s.rewrite_at(depth, f)).reduce(|a, b| a.lesser(&b)).unwrap_or(Size::constant(0));
                return (same(&s), s);
            }
            Atom::Max(l) => {
                let s =
                    l.iter().map(|s| s.rewrite_at(depth, f)).reduce(|a, b| a.greater(&b)).unwrap_or(Size::constant(0));
                return (same(&s), s);
            }
            Atom::If(c, x, y) => {
                let (x, y) = (x.rewrite_at(depth, f), y.rewrite_at(depth, f));
                if x == y {
                    return (None, x);
                }
                Atom::If(c.clone(), Box::new(x), Box::new(y))
            }
            Atom::Div(x, y) => {
                let s = x.rewrite_at(depth, f).div(&y.rewrite_at(depth, f));
                return (same(&s), s);
            }
        };
        (Some(atom.clone()), atom.into())
    }
}

/// `⌈log₂ n⌉`, and 0 if `n` is not positive.
pub(crate) fn log2(n: i128) -> i128 {
    if n <= 1 { 0 } else { (i128::BITS - (n - 1).leading_zeros()) as i128 }
}

/// Two terms of opposite sign, the first of which is the second one position further.
fn telescoping_pair(terms: &[(Vec<Atom>, i128)]) -> Option<(usize, usize)> {
    if terms.len() < 2 {
        return None;
    }
    let next = Size::pos(0).add(&Size::constant(1));
    let bump = |m: &Vec<Atom>| {
        let one = Size { terms: vec![(m.clone(), 1)] };
        one.rewrite(&mut |a, depth| match a {
            Atom::Pos(p) if *p == depth => Some(next.shift(depth as i32)),
            _ => None,
        })
    };
    for (lower, (m, c)) in terms.iter().enumerate() {
        let bumped = bump(m);
        let Some(upper) = terms.iter().position(|(n, d)| d.signum() == -c.signum() && bumped.terms == [(n.clone(), 1)])
        else {
            continue;
        };
        return Some((upper, lower));
    }
    None
}
