//! The generator's estimates of the values of variables, to keep programs small and runs free of errors.

use deckle_ir::value::Value;

/// A guess. Only `bound` is relied on, and only for choices that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guess {
    /// The approximate number of elements of the outermost dimension.
    pub len: u64,
    /// The approximate total number of scalars.
    pub total: u64,
    /// The range of every `i64` in it is from 0 to this, if given.
    pub bound: Option<i64>,
}

impl Guess {
    /// One unknown scalar.
    pub const SCALAR: Guess = Guess { len: 1, total: 1, bound: None };

    /// An `i64` from 0 to `bound`.
    pub fn natural(bound: i64) -> Guess {
        Guess { bound: Some(bound), ..Guess::SCALAR }
    }

    /// A collection of `len` elements.
    pub fn many(len: u64, elem: Guess) -> Guess {
        Guess { len, total: len.saturating_mul(elem.total).saturating_add(1), bound: elem.bound }
    }

    /// An element of a collection.
    pub fn elem(self) -> Guess {
        let each = self.total.div_ceil(self.len.max(1));
        Guess { len: each, total: each, bound: self.bound }
    }

    /// The same elements as before and others: a tuple, a concatenation.
    pub fn with(self, other: Guess) -> Guess {
        let bound = match (self.bound, other.bound) {
            (Some(a), Some(b)) => Some(a.max(b)),
            _ => None,
        };
        Guess { len: self.len.max(other.len), total: self.total.saturating_add(other.total), bound }
    }

    /// As long as both together.
    pub fn after(self, other: Guess) -> Guess {
        Guess { len: self.len.saturating_add(other.len), ..self.with(other) }
    }

    /// Other elements of the same number.
    pub fn unbound(self) -> Guess {
        Guess { bound: None, ..self }
    }

    /// The exact values of an argument. `bound` must state that integers are natural.
    pub fn of(value: &Value, bound: Option<i64>) -> Guess {
        let total = value.space().par.max(1);
        let len = match value {
            Value::Scalar(_) => 1,
            Value::Tuple(parts) => parts.iter().map(|p| Guess::of(p, None).len).max().unwrap_or(1),
            Value::Array(items) | Value::Seq(items) => items.len() as u64,
        };
        Guess { len, total, bound }
    }
}
