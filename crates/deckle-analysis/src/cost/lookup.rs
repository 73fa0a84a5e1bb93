//! The values of the atoms of a size: positions, size variables, integers, and elements of vectors of integers.

use super::raise::{Leaves, apply, raise};
use super::shape::{Bound, Shape};
use super::symbols::Symbols;
use super::walk::Walk;
use deckle_diag::Span;
use deckle_ir::entity::{Body, Path, Var};
use deckle_ir::size::{Atom, Size};

impl Walk<'_> {
    /// A size of a type, in terms of symbols.
    pub fn upper(&mut self, size: &Size) -> Bound {
        let bound = raise(size, self);
        Bound { size: self.symbols.named_size(&bound.size), exact: bound.exact }
    }

    /// The value of an integer; a symbol if it is unknown.
    pub fn int(&mut self, v: Var) -> Bound {
        if let Some(known) = self.shape(v).as_int() {
            return known.clone();
        }
        self.int_at(&self.function.path(v))
    }

    /// The value of the integer at a path.
    pub fn int_at(&mut self, path: &Path) -> Bound {
        if let Some(known) = self.follow(path).and_then(Shape::as_int) {
            return known.clone();
        }
        if let Some(known) = self.values.get(path) {
            return known.clone();
        }
        let inner = self.lanes_of.get(path.root.index()).is_some_and(|l| *l > 0);
        let lanes = std::mem::replace(&mut self.lanes, u32::from(inner));
        let span = self.function.span(path.root);
        let bound = self.unknown("x", 0, None, span, "an integer computed here".into());
        self.lanes = lanes;
        self.values.insert(path.clone(), bound.clone());
        bound
    }

    fn follow(&self, path: &Path) -> Option<&Shape> {
        let root = self.shapes.get(path.root.index())?.as_ref()?;
        path.fields.iter().try_fold(root, |s, f| s.part(*f))
    }

    /// The element at `at` of the array of integers at a path.
    fn element(&mut self, path: &Path, at: &[Bound]) -> Bound {
        let mut shape = self.follow(path).cloned().unwrap_or(Shape::UNKNOWN);
        for index in at {
            shape = match shape.items() {
                Some((_, elem)) if index.exact => elem.at(&index.size),
                Some((len, elem)) => elem.loosen(&len.size, &self.symbols),
                None => Shape::UNKNOWN,
            };
        }
        if let Some(known) = shape.as_int() {
            return known.clone();
        }
        if let Some(known) = self.elements.get(path) {
            return known.clone();
        }
        let lanes = std::mem::replace(&mut self.lanes, 1);
        let bound = self.unknown("x", 0, None, self.function.span(path.root), "an element of this".into());
        self.lanes = lanes;
        self.elements.insert(path.clone(), bound.clone());
        bound
    }
}

impl Leaves for Walk<'_> {
    fn leaf(&mut self, atom: &Atom, at: &[Bound]) -> Bound {
        let here = |b: &Body, at: &[Option<Body>]| at.get(b.index()).copied().flatten();
        match atom {
            Atom::At(b) => match here(b, &self.at) {
                Some(stand_in) => Bound::exact(Atom::At(stand_in).into()),
                None => self.unknown("x", 0, None, Span::NONE, "a position".into()),
            },
            Atom::Value(path) => self.int_at(path),
            Atom::Read(path, _) => self.element(path, at),
            Atom::Var(s, _) => {
                let known = self.size(*s).cloned();
                let depends = |b: &Bound| b.size.varies(at.len() as u32);
                match known {
                    Some(b) if at.iter().all(|a| a.exact) || !depends(&b) => apply(&b, at),
                    _ => {
                        let binder = self.function.size_binder(*s);
                        let span = binder.map_or(Span::NONE, |v| self.function.span(v));
                        self.unknown("m", 0, None, span, "a length".into())
                    }
                }
            }
            _ => Bound::exact(atom.clone().into()),
        }
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }
}
