//! Static facts about a value: its shape.
//!
//! A shape is a type without scalar types, in which sequences have lengths too and integers may have values. All of those are
//! upper bounds, marked if exact. As in a type, an element is under the binder of its position.

use super::formula::Formula;
use super::symbols::{Symbols, close, weight};
use deckle_ir::cost::Quantity;
use deckle_ir::entity::Body;
use deckle_ir::size::{Atom, Size};
use deckle_ir::value::Space;

/// An integer with more atoms than this is not decomposed.
const MOST_ATOMS_OF_AN_INTEGER: usize = 24;

/// A natural number that is at most this, or exactly this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The formula.
    pub size: Size,
    /// Whether the bound is exact.
    pub exact: bool,
}

impl Bound {
    /// Exactly this.
    pub fn exact(size: Size) -> Bound {
        Bound { size, exact: true }
    }

    /// At most this.
    pub fn at_most(size: Size) -> Bound {
        Bound { size, exact: false }
    }

    /// Either of two bounds.
    pub fn or(&self, other: &Bound) -> Bound {
        if self == other { self.clone() } else { Bound::at_most(self.size.greater(&other.size)) }
    }

    /// The sum.
    pub fn plus(&self, other: &Bound) -> Bound {
        Bound { size: self.size.add(&other.size), exact: self.exact && other.exact }
    }

    fn with(&self, size: Size) -> Bound {
        Bound { size, exact: self.exact }
    }
}

/// Static facts about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A scalar; its value, if it is an integer with known bounds.
    Scalar(Option<Bound>),
    /// A tuple or record.
    Tuple(Vec<Shape>),
    /// A vector.
    Array(Bound, Box<Shape>),
    /// A sequence.
    Seq(Bound, Box<Shape>),
}

impl Shape {
    /// An unknown scalar.
    pub const UNKNOWN: Shape = Shape::Scalar(None);

    /// An integer, unless the bound is too large to keep.
    pub fn int(bound: Bound) -> Shape {
        Shape::Scalar(Some(bound).filter(|b| weight(&b.size) <= MOST_ATOMS_OF_AN_INTEGER))
    }

    /// A vector or sequence.
    pub fn coll(is_seq: bool, len: Bound, elem: Shape) -> Shape {
        if is_seq { Shape::Seq(len, Box::new(elem)) } else { Shape::Array(len, Box::new(elem)) }
    }

    /// The value of an integer.
    pub fn as_int(&self) -> Option<&Bound> {
        match self {
            Shape::Scalar(value) => value.as_ref(),
            _ => None,
        }
    }

    /// The length and the elements, under their binder.
    pub fn items(&self) -> Option<(&Bound, &Shape)> {
        match self {
            Shape::Array(len, elem) | Shape::Seq(len, elem) => Some((len, elem)),
            _ => None,
        }
    }

    /// A component.
    pub fn part(&self, k: u32) -> Option<&Shape> {
        match self {
            Shape::Tuple(parts) => parts.get(k as usize),
            _ => None,
        }
    }

    /// Whether it is a sequence.
    pub fn is_seq(&self) -> bool {
        matches!(self, Shape::Seq(..))
    }

    /// Rewrites every bound; `f` also gets the number of binders around it.
    pub fn map(&self, f: &mut dyn FnMut(&Bound, u32) -> Bound) -> Shape {
        self.map_at(0, f)
    }

    fn map_at(&self, depth: u32, f: &mut dyn FnMut(&Bound, u32) -> Bound) -> Shape {
        match self {
            Shape::Scalar(None) => Shape::UNKNOWN,
            Shape::Scalar(Some(b)) => Shape::int(f(b, depth)),
            Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|p| p.map_at(depth, f)).collect()),
            Shape::Array(len, elem) | Shape::Seq(len, elem) => {
                let len = f(len, depth);
                Shape::coll(self.is_seq(), len, elem.map_at(depth + 1, f))
            }
        }
    }

    /// Adds `by` to all free positions.
    pub fn shift(&self, by: i32) -> Shape {
        self.map(&mut |b, depth| {
            b.with(b.size.rewrite(&mut |a, d| match a {
                Atom::Pos(p) if *p >= depth + d => Some(Size::pos(p.saturating_add_signed(by))),
                _ => None,
            }))
        })
    }

    /// As [`Shape::shift`] for positions but the innermost free one.
    pub fn shift_under(&self, by: i32) -> Shape {
        self.map(&mut |b, depth| {
            b.with(b.size.rewrite(&mut |a, d| match a {
                Atom::Pos(p) if *p > depth + d => Some(Size::pos(p.saturating_add_signed(by))),
                _ => None,
            }))
        })
    }

    /// Substitutes `index` for the innermost free position.
    pub fn at(&self, index: &Size) -> Shape {
        self.map(&mut |b, depth| b.with(b.size.instantiate_under(depth, index)))
    }

    /// Makes the position at which `body` runs a bound position: the shape is then under one more binder.
    pub fn close(&self, body: Body) -> Shape {
        self.map(&mut |b, depth| {
            let closed = close(&b.size, body);
            // `close` binds outside all binders of the shape: free positions move out by one, and so does the new position.
            b.with(closed.rewrite(&mut |a, d| match a {
                Atom::Pos(p) if *p == d => Some(Size::pos(depth + d)),
                Atom::Pos(p) if *p > d && *p - d <= depth => Some(Size::pos(*p - 1)),
                _ => None,
            }))
        })
    }

    /// The shape of the elements at all `count` positions of the innermost binder, with the maximum where they differ. The binder
    /// is removed.
    pub fn loosen(&self, count: &Size, symbols: &Symbols) -> Shape {
        self.map(&mut |b, depth| loosen(b, depth, count, symbols))
    }

    /// A shape that covers both of two values.
    pub fn or(&self, other: &Shape) -> Shape {
        match (self, other) {
            (Shape::Scalar(Some(a)), Shape::Scalar(Some(b))) => Shape::int(a.or(b)),
            (Shape::Tuple(a), Shape::Tuple(b)) => Shape::Tuple(a.iter().zip(b).map(|(x, y)| x.or(y)).collect()),
            (Shape::Array(n, x) | Shape::Seq(n, x), Shape::Array(m, y) | Shape::Seq(m, y)) => {
                Shape::coll(self.is_seq(), n.or(m), x.or(y))
            }
            _ => Shape::UNKNOWN,
        }
    }

    /// `‖v‖`.
    pub fn space(&self, symbols: &Symbols) -> Space<Formula> {
        let one = Formula::number(1);
        match self {
            Shape::Scalar(_) => Space::both(one),
            Shape::Tuple(parts) => parts.iter().fold(Space::default(), |s, p| s.plus(p.space(symbols))),
            Shape::Array(len, elem) => {
                let each = elem.space(symbols).par;
                Space::both(symbols.sum_all(&len.size, &each).plus(&one))
            }
            Shape::Seq(len, elem) => {
                let each = elem.space(symbols).plus(Space::both(one));
                if len.size.as_constant() == Some(0) {
                    return Space::default();
                }
                Space { seq: symbols.most_all(&len.size, &each.seq), par: symbols.sum_all(&len.size, &each.par) }
            }
        }
    }
}

/// The maximum of a bound over the binder that is `under` others further out; the binder is removed.
pub fn loosen(b: &Bound, under: u32, count: &Size, symbols: &Symbols) -> Bound {
    if !b.size.mentions_pos(under) {
        return b.with(b.size.rewrite(&mut |a, d| match a {
            Atom::Pos(p) if *p > under + d => Some(Size::pos(p - 1)),
            _ => None,
        }));
    }
    // The removed position becomes the innermost, those inside it move out by one.
    let turned = b.size.rewrite(&mut |a, d| match a {
        Atom::Pos(p) if *p == under + d => Some(Size::pos(d)),
        Atom::Pos(p) if *p >= d && *p < under + d => Some(Size::pos(p + 1)),
        _ => None,
    });
    Bound::at_most(symbols.most(&count.shift(under as i32), &turned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::text::parse_size;

    fn bound(text: &str) -> Bound {
        Bound::exact(parse_size(text).unwrap())
    }

    fn vector(len: &str, elem: Shape) -> Shape {
        Shape::Array(bound(len), Box::new(elem))
    }

    fn par(shape: &Shape) -> String {
        shape.space(&Symbols::new()).par.size().to_string()
    }

    #[test]
    fn space_is_that_of_the_values() {
        assert_eq!(par(&vector("n5", Shape::UNKNOWN)), "n5 + 1");
        assert_eq!(par(&vector("n5", vector("n6", Shape::UNKNOWN))), "n5 + n5*n6 + 1");
        assert_eq!(par(&vector("n5", vector("n6(#0)", Shape::UNKNOWN))), "n5 + sum(i0 < n5: n6(i0)) + 1");
        let nested = Shape::Seq(bound("n5"), Box::new(Shape::Seq(bound("n6(#0)"), Box::new(Shape::UNKNOWN))));
        assert_eq!(par(&nested), "n5 + 2*sum(i0 < n5: n6(i0))");
        assert_eq!(nested.space(&Symbols::new()).seq, Formula::number(3));
    }

    #[test]
    fn closing_undoes_taking_an_element() {
        let rows = vector("n6(#0)", vector("n7(#1, #0)*n8(#0)", Shape::UNKNOWN));
        let row = rows.at(&Atom::At(Body(4)).into());
        assert_eq!(row, vector("n6(^4)", vector("n7(^4, #0)*n8(#0)", Shape::UNKNOWN)));
        assert_eq!(row.close(Body(4)), rows);
    }

    #[test]
    fn loosening_takes_the_greatest() {
        let rows = vector("n6(#0)", Shape::int(bound("#1 + n9")));
        let Shape::Array(len, elem) = rows.loosen(&parse_size("n5").unwrap(), &Symbols::new()) else { panic!() };
        assert_eq!(len, Bound::at_most(parse_size("most(i0 < n5: n6(i0))").unwrap()));
        assert_eq!(elem.as_int(), Some(&Bound::at_most(parse_size("n5 + n9").unwrap())));
    }
}
