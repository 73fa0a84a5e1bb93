//! Values at run time, as the interpreter, the command line and the file readers exchange them.
//!
//! The representation is a plain tree. Backends have their own flat one.
//! Vectors and sequences keep their [`Space`], so that metering a value costs nothing.

use crate::cost::Quantity;
use crate::scalar::Scalar;
use std::sync::Arc;

/// The size of a value in the cost model (section 2.2 of the streaming NESL paper): the space it takes
/// if sequences are processed one element at a time, and if all elements are in memory at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space<Q = u64> {
    /// Sequential: the paper's `M`.
    pub seq: Q,
    /// Parallel: the paper's `N`.
    pub par: Q,
}

impl<Q: Quantity> Space<Q> {
    /// The same space in both.
    pub fn both(n: Q) -> Space<Q> {
        Space { seq: n.clone(), par: n }
    }

    /// Component by component; numbers saturate.
    pub fn plus(self, other: Space<Q>) -> Space<Q> {
        Space { seq: self.seq.plus(&other.seq), par: self.par.plus(&other.par) }
    }

    /// The maximum, component by component.
    pub fn max(self, other: Space<Q>) -> Space<Q> {
        Space { seq: self.seq.most(&other.seq), par: self.par.most(&other.par) }
    }
}

/// The elements of a vector or of a sequence, with their space.
#[derive(Debug, PartialEq)]
pub struct Items {
    elems: Vec<Value>,
    space: Space,
}

impl std::ops::Deref for Items {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        &self.elems
    }
}

/// A value. Records are tuples here: their names are in their type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A scalar.
    Scalar(Scalar),
    /// A tuple or record.
    Tuple(Arc<[Value]>),
    /// A materialised vector.
    Array(Arc<Items>),
    /// A sequence, here with all its elements.
    Seq(Arc<Items>),
}

impl Value {
    /// A vector of these elements.
    pub fn array(elems: Vec<Value>) -> Value {
        let inner = elems.iter().fold(Space::default(), |s, v| s.plus(v.space()));
        let space = inner.plus(Space::both(1));
        Value::Array(Arc::new(Items { elems, space }))
    }

    /// A sequence of these elements.
    pub fn seq(elems: Vec<Value>) -> Value {
        let space = elems.iter().fold(Space::default(), |s: Space, v| {
            let e = v.space();
            Space { seq: s.seq.max(e.seq.saturating_add(1)), par: s.par.saturating_add(e.par).saturating_add(1) }
        });
        Value::Seq(Arc::new(Items { elems, space }))
    }

    /// A tuple.
    pub fn tuple(parts: Vec<Value>) -> Value {
        Value::Tuple(parts.into())
    }

    /// The 64-bit integer `v`.
    pub fn int(v: i64) -> Value {
        Value::Scalar(Scalar::I64(v))
    }

    /// The double `v`.
    pub fn real(v: f64) -> Value {
        Value::Scalar(Scalar::F64(v))
    }

    /// The truth value `v`.
    pub fn bool(v: bool) -> Value {
        Value::Scalar(Scalar::Bool(v))
    }

    /// Its size in the cost model.
    pub fn space(&self) -> Space {
        match self {
            Value::Scalar(_) => Space::both(1),
            Value::Tuple(parts) => parts.iter().fold(Space::default(), |s, v| s.plus(v.space())),
            Value::Array(items) | Value::Seq(items) => items.space,
        }
    }

    /// Its bytes in flat storage: scalars at their width, and 8 for each vector inside another.
    pub fn bytes(&self) -> u64 {
        let inner = |v: &Value| v.bytes() + if matches!(v, Value::Array(_) | Value::Seq(_)) { 8 } else { 0 };
        match self {
            Value::Scalar(s) => s.ty().bytes() as u64,
            Value::Tuple(parts) => parts.iter().map(Value::bytes).sum(),
            Value::Array(items) | Value::Seq(items) => items.iter().map(inner).sum(),
        }
    }

    /// The elements of a vector or sequence.
    pub fn items(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) | Value::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Value::Scalar(s) => Some(*s),
            _ => None,
        }
    }

    /// The components of a tuple or record.
    pub fn parts(&self) -> Option<&[Value]> {
        match self {
            Value::Tuple(parts) => Some(parts),
            _ => None,
        }
    }
}

impl From<Scalar> for Value {
    fn from(s: Scalar) -> Value {
        Value::Scalar(s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(v: &[i64]) -> Vec<Value> {
        v.iter().map(|&x| Value::int(x)).collect()
    }

    #[test]
    fn sizes_follow_section_2_2() {
        assert_eq!(Value::int(3).space(), Space { seq: 1, par: 1 });
        assert_eq!(Value::tuple(vec![]).space(), Space { seq: 0, par: 0 });
        assert_eq!(Value::array(ints(&[1, 2, 3])).space(), Space { seq: 4, par: 4 });
        assert_eq!(Value::seq(ints(&[1, 2, 3])).space(), Space { seq: 2, par: 6 });
        assert_eq!(Value::seq(vec![]).space(), Space { seq: 0, par: 0 });
        let nested = Value::seq(vec![Value::seq(ints(&[3, 1, 4])), Value::seq(vec![]), Value::seq(ints(&[1]))]);
        assert_eq!(nested.space(), Space { seq: 3, par: (6 + 1) + 1 + (2 + 1) });
        let vectors = Value::seq(vec![Value::array(ints(&[1, 2])), Value::array(vec![])]);
        assert_eq!(vectors.space(), Space { seq: 4, par: 4 + 2 });
    }
}
