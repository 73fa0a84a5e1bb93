//! Types.
//!
//! There is one array type: `[i -> T; n]`, a vector of `n` elements, in whose element type the position
//! `i` may occur. All array forms are instances of it:
//! - `[f64; n]`, a vector;
//! - `[[f64; m]; n]`, a matrix: the inner size does not mention the position, so it is *regular*;
//! - `[i -> [f64; s(i)]; n]`, a jagged vector: the inner size depends on the position;
//! - `[i -> [(u32, f64); off[i+1] - off[i]]; n]`, a CSR matrix: the inner size is read from an array.
//!
//! The rank of a regular array is its nesting depth.
//!
//! A sequence `{i -> T}` is the same in time rather than in memory: it may hold anything, and has no size.
//! A type is *concrete* if it holds no sequence; arrays hold concrete types only.

use crate::entity::{Body, SizeVar};
use crate::scalar::ScalarType;
use crate::size::{Atom, Size};
use std::sync::Arc;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A scalar.
    Scalar(ScalarType),
    /// A tuple; the empty one is the unit type.
    Tuple(Arc<[Type]>),
    /// A record: a tuple whose components have names.
    Record(Arc<RecordType>),
    /// A vector. Binds a position in its element type.
    Array(Arc<ArrayType>),
    /// A sequence. Binds a position in its element type.
    Seq(Arc<Type>),
}

/// A named record type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordType {
    /// The name of its definition.
    pub name: String,
    /// Its fields, in order.
    pub fields: Vec<(String, Type)>,
}

/// A vector: the number and the type of its elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayType {
    /// The number of elements.
    pub size: Size,
    /// The type of the element at `Pos(0)`.
    pub elem: Type,
}

impl From<ScalarType> for Type {
    fn from(s: ScalarType) -> Type {
        Type::Scalar(s)
    }
}

impl Type {
    /// `i64`, the type of indices and sizes.
    pub const INT: Type = Type::Scalar(ScalarType::I64);
    /// `bool`.
    pub const BOOL: Type = Type::Scalar(ScalarType::Bool);

    /// A vector; `elem` may mention `Pos(0)`.
    pub fn array(size: Size, elem: Type) -> Type {
        Type::Array(Arc::new(ArrayType { size, elem }))
    }

    /// A vector whose elements all have the type `elem`, which has no free position.
    pub fn array_of(size: Size, elem: &Type) -> Type {
        Type::array(size, elem.shift(1))
    }

    /// A sequence; `elem` may mention `Pos(0)`.
    pub fn seq(elem: Type) -> Type {
        Type::Seq(Arc::new(elem))
    }

    /// A sequence whose elements all have the type `elem`, which has no free position.
    pub fn seq_of(elem: &Type) -> Type {
        Type::seq(elem.shift(1))
    }

    /// A tuple.
    pub fn tuple(parts: Vec<Type>) -> Type {
        Type::Tuple(parts.into())
    }

    /// The scalar type, if it is one.
    pub fn as_scalar(&self) -> Option<ScalarType> {
        match self {
            Type::Scalar(s) => Some(*s),
            _ => None,
        }
    }

    /// The array type, if it is one.
    pub fn as_array(&self) -> Option<&ArrayType> {
        match self {
            Type::Array(a) => Some(a),
            _ => None,
        }
    }

    /// Whether it is a sequence.
    pub fn is_seq(&self) -> bool {
        matches!(self, Type::Seq(_))
    }

    /// The element type of a sequence, under its binder.
    pub fn as_seq(&self) -> Option<&Type> {
        match self {
            Type::Seq(elem) => Some(elem),
            _ => None,
        }
    }

    /// The components of a tuple or record.
    pub fn parts(&self) -> Option<Vec<&Type>> {
        match self {
            Type::Tuple(parts) => Some(parts.iter().collect()),
            Type::Record(r) => Some(r.fields.iter().map(|(_, t)| t).collect()),
            _ => None,
        }
    }

    /// The element type of a vector or sequence, under its binder.
    pub fn elem(&self) -> Option<&Type> {
        match self {
            Type::Array(a) => Some(&a.elem),
            Type::Seq(e) => Some(e),
            _ => None,
        }
    }

    /// The type of the element at `index`.
    pub fn elem_at(&self, index: &Size) -> Option<Type> {
        self.elem().map(|e| e.instantiate(index))
    }

    /// The type with vectors in place of sequences. Their sizes must be given elsewhere.
    pub fn with_vectors(&self) -> Type {
        match self {
            Type::Scalar(_) => self.clone(),
            Type::Seq(elem) => Type::array(Size::constant(0), elem.with_vectors()),
            Type::Array(a) => Type::array(a.size.clone(), a.elem.with_vectors()),
            Type::Tuple(parts) => Type::Tuple(parts.iter().map(Type::with_vectors).collect()),
            Type::Record(r) => {
                let fields = r.fields.iter().map(|(n, t)| (n.clone(), t.with_vectors())).collect();
                Type::Record(Arc::new(RecordType { name: r.name.clone(), fields }))
            }
        }
    }

    /// Whether it holds no sequence.
    pub fn is_concrete(&self) -> bool {
        match self {
            Type::Scalar(_) => true,
            Type::Seq(_) => false,
            Type::Array(a) => a.elem.is_concrete(),
            Type::Tuple(_) | Type::Record(_) => self.parts().is_some_and(|p| p.iter().all(|t| t.is_concrete())),
        }
    }

    /// Whether it consists of scalars only, without array or sequence.
    pub fn is_flat(&self) -> bool {
        match self {
            Type::Scalar(_) => true,
            Type::Seq(_) | Type::Array(_) => false,
            Type::Tuple(_) | Type::Record(_) => self.parts().is_some_and(|p| p.iter().all(|t| t.is_flat())),
        }
    }

    /// The number of directly nested arrays: the rank of a regular array.
    pub fn depth(&self) -> usize {
        let mut ty = self;
        let mut depth = 0;
        while let Type::Array(a) = ty {
            depth += 1;
            ty = &a.elem;
        }
        depth
    }

    /// The sizes of the outer `depth` dimensions, if those are regular: none depends on a position.
    pub fn regular_dims(&self, depth: usize) -> Option<Vec<Size>> {
        let mut ty = self;
        let mut dims = Vec::with_capacity(depth);
        for level in 0..depth as u32 {
            let array = ty.as_array()?;
            if array.size.varies(level) {
                return None;
            }
            dims.push(array.size.shift(-(level as i32)));
            ty = &array.elem;
        }
        Some(dims)
    }

    /// `|σ|`: the space of one element of this type inside a comprehension (section 2.3 of the paper).
    /// Vectors are copied as pointers.
    pub fn width(&self) -> u64 {
        match self {
            Type::Scalar(_) | Type::Array(_) => 1,
            Type::Seq(e) => e.width() + 1,
            Type::Tuple(_) | Type::Record(_) => self.parts().map_or(0, |p| p.iter().map(|t| t.width()).sum()),
        }
    }

    /// Rewrites every size in it. `f` also gets the number of binders around the size.
    pub fn map_sizes(&self, f: &mut dyn FnMut(&Size, u32) -> Size) -> Type {
        self.map_sizes_at(0, f)
    }

    fn map_sizes_at(&self, depth: u32, f: &mut dyn FnMut(&Size, u32) -> Size) -> Type {
        match self {
            Type::Scalar(_) => self.clone(),
            Type::Tuple(parts) => Type::Tuple(parts.iter().map(|t| t.map_sizes_at(depth, f)).collect()),
            Type::Record(r) => {
                let fields = r.fields.iter().map(|(n, t)| (n.clone(), t.map_sizes_at(depth, f))).collect();
                Type::Record(Arc::new(RecordType { name: r.name.clone(), fields }))
            }
            Type::Array(a) => {
                let size = f(&a.size, depth);
                Type::array(size, a.elem.map_sizes_at(depth + 1, f))
            }
            Type::Seq(e) => Type::seq(e.map_sizes_at(depth + 1, f)),
        }
    }

    /// Visits every size in it, with the number of binders around it.
    pub fn for_each_size(&self, f: &mut dyn FnMut(&Size, u32)) {
        self.map_sizes(&mut |s, depth| {
            f(s, depth);
            s.clone()
        });
    }

    /// The size variables of a parameter of this type that the type of an argument determines: each with the number added to it, and the size of the argument.
    pub fn told_by(&self, argument: &Type) -> Vec<(SizeVar, i128, Size)> {
        let mut given = Vec::new();
        argument.for_each_size(&mut |s, depth| given.push((!s.varies(depth)).then(|| s.clone())));
        let mut given = given.into_iter();
        let mut told = Vec::new();
        self.for_each_size(&mut |s, _| {
            if let (Some(Some(given)), Some((s, [], extra))) = (given.next(), s.determines()) {
                told.push((s, extra, given));
            }
        });
        told
    }

    /// Whether any atom of any size satisfies `f`.
    pub fn any_atom(&self, f: &mut dyn FnMut(&Atom, u32) -> bool) -> bool {
        let mut found = false;
        self.for_each_size(&mut |s, depth| found = found || s.any_atom(&mut |a, d| f(a, depth + d)));
        found
    }

    /// Adds `by` to all free positions.
    pub fn shift(&self, by: i32) -> Type {
        self.map_sizes(&mut |s, depth| {
            s.rewrite(&mut |a, d| match a {
                Atom::Pos(p) if *p >= depth + d => Some(Size::pos(p.saturating_add_signed(by))),
                _ => None,
            })
        })
    }

    /// Substitutes `index` for the innermost free position.
    pub fn instantiate(&self, index: &Size) -> Type {
        self.map_sizes(&mut |s, depth| s.instantiate_under(depth, index))
    }

    /// Makes the position at which `body` runs a bound position: the converse of
    /// `instantiate(At(body))`. The result is under one more binder.
    pub fn abstract_at(&self, body: Body) -> Type {
        self.shift(1).map_sizes(&mut |s, depth| {
            s.rewrite(&mut |a, d| match a {
                Atom::At(b) if *b == body => Some(Size::pos(depth + d)),
                _ => None,
            })
        })
    }

    /// Whether two types are equal except for their sizes.
    pub fn same_kind(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Scalar(a), Type::Scalar(b)) => a == b,
            (Type::Array(a), Type::Array(b)) => a.elem.same_kind(&b.elem),
            (Type::Seq(a), Type::Seq(b)) => a.same_kind(b),
            (Type::Tuple(a), Type::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| x.same_kind(y))
            }
            (Type::Record(a), Type::Record(b)) => {
                a.name == b.name
                    && a.fields.len() == b.fields.len()
                    && a.fields.iter().zip(&b.fields).all(|((m, x), (n, y))| m == n && x.same_kind(y))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{SizeVar, Var};

    fn csr() -> Type {
        let off = |i: Size| Size::from(Atom::Read(Var(0).into(), vec![i]));
        let row = off(Size::pos(0).add(&1.into())).sub(&off(Size::pos(0)));
        Type::array(Size::var(SizeVar(0)), Type::array(row, Type::tuple(vec![Type::INT, ScalarType::F64.into()])))
    }

    #[test]
    fn a_matrix_is_regular_and_csr_is_not() {
        let matrix = Type::array_of(3.into(), &Type::array_of(4.into(), &Type::INT));
        assert_eq!(matrix.regular_dims(2), Some(vec![3.into(), 4.into()]));
        assert_eq!(csr().regular_dims(2), None);
        assert_eq!(csr().regular_dims(1), Some(vec![Size::var(SizeVar(0))]));
        assert_eq!(csr().depth(), 2);
    }

    #[test]
    fn every_position_around_counts() {
        let deep = |size: Size| Type::array(5.into(), Type::array(5.into(), Type::array(size, Type::INT)));
        assert_eq!(deep(7.into()).regular_dims(3), Some(vec![5.into(), 5.into(), 7.into()]));
        assert_eq!(deep(Size::pos(0)).regular_dims(3), None);
        assert_eq!(deep(Size::pos(1)).regular_dims(3), None, "the position two arrays out");
        assert_eq!(deep(Size::pos(1)).regular_dims(2), Some(vec![5.into(), 5.into()]));
    }

    #[test]
    fn abstracting_undoes_instantiating() {
        let body = Body(4);
        let row = csr().elem_at(&Atom::At(body).into()).unwrap();
        assert!(row.any_atom(&mut |a, _| *a == Atom::At(body)));
        assert_eq!(&row.abstract_at(body), csr().elem().unwrap());
    }

    #[test]
    fn width_counts_vectors_as_pointers() {
        assert_eq!(csr().width(), 1);
        assert_eq!(Type::seq_of(&Type::seq_of(&Type::INT)).width(), 3);
        assert_eq!(Type::tuple(vec![Type::INT, csr()]).width(), 2);
    }
}
