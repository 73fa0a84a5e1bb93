//! Elements that are put together one by one, and handed over as blocks.

use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Block, Data, OverBudget, Pool};

const WHAT: &str = "the elements of a sequence";

/// Elements of a type, as many as have come.
pub(super) enum Build {
    Scalars {
        width: usize,
        bytes: Vec<u8>,
    },
    Tuple(Vec<Build>),
    /// `ends` has a 0 before the ends; elements behind the last one are those of a row that has not ended.
    Rows {
        ends: Vec<i64>,
        elem: Box<Build>,
    },
}

impl Build {
    pub(super) fn new(ty: &Type) -> Build {
        match ty {
            Type::Scalar(s) => Build::Scalars { width: s.bytes(), bytes: Vec::new() },
            Type::Array(_) | Type::Seq(_) => {
                Build::Rows { ends: vec![0], elem: Box::new(Build::new(ty.elem().unwrap_or(ty))) }
            }
            Type::Tuple(_) | Type::Record(_) => {
                Build::Tuple(ty.parts().unwrap_or_default().into_iter().map(Build::new).collect())
            }
        }
    }

    /// How many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Build::Scalars { bytes, .. } => bytes.len(),
            Build::Tuple(parts) => parts.iter().map(Build::bytes).sum(),
            Build::Rows { ends, elem } => (ends.len() - 1) * 8 + elem.bytes(),
        }
    }

    /// A scalar, to scalars.
    #[inline]
    pub(super) fn push(&mut self, scalar: Scalar) {
        let Build::Scalars { bytes, .. } = self else { return };
        match scalar {
            Scalar::Bool(v) => bytes.push(v.into()),
            Scalar::I8(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
            Scalar::I16(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
            Scalar::I32(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
            Scalar::I64(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
            Scalar::U8(v) => bytes.push(v),
            Scalar::U16(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
            Scalar::U32(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
            Scalar::U64(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
            Scalar::F32(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
            Scalar::F64(v) => bytes.extend_from_slice(&v.to_ne_bytes()),
        }
    }

    /// A text, to texts.
    pub(super) fn push_text(&mut self, text: &[u8]) {
        if let Build::Rows { elem, .. } = self
            && let Build::Scalars { bytes, .. } = &mut **elem
        {
            bytes.extend_from_slice(text);
        }
        self.end_row(text.len());
    }

    /// So many elements, which have been pushed to [`Build::inner`], are a row.
    pub(super) fn end_row(&mut self, len: usize) {
        if let Build::Rows { ends, .. } = self {
            let begins = ends.last().copied().unwrap_or(0);
            ends.push(begins + len as i64);
        }
    }

    /// The elements of rows.
    pub(super) fn inner(&mut self) -> &mut Build {
        if let Build::Rows { elem, .. } = self { elem } else { self }
    }

    /// The components of tuples, or the elements themselves.
    pub(super) fn parts(&mut self) -> &mut [Build] {
        if let Build::Tuple(parts) = self { parts } else { std::slice::from_mut(self) }
    }

    pub(super) fn push_value(&mut self, value: &Value) {
        match (&mut *self, value) {
            (_, Value::Scalar(s)) => self.push(*s),
            (Build::Tuple(parts), Value::Tuple(values)) => {
                parts.iter_mut().zip(values.iter()).for_each(|(part, value)| part.push_value(value));
            }
            (Build::Rows { elem, .. }, Value::Array(items) | Value::Seq(items)) => {
                items.iter().for_each(|item| elem.push_value(item));
                self.end_row(items.len());
            }
            _ => {}
        }
    }

    /// Hands over the first `n`.
    pub(super) fn take(&mut self, n: usize, pool: &Pool) -> Result<Block, OverBudget> {
        Ok(Block::new(self.data(n, pool)?, n))
    }

    fn data(&mut self, n: usize, pool: &Pool) -> Result<Data, OverBudget> {
        Ok(match self {
            Build::Scalars { width, bytes } => {
                let taken = n * *width;
                let buffer = pool.alloc_from(&bytes[..taken], WHAT)?;
                bytes.drain(..taken);
                Data::Scalars(buffer)
            }
            Build::Tuple(parts) => Data::Tuple(parts.iter_mut().map(|p| p.data(n, pool)).collect::<Result<_, _>>()?),
            Build::Rows { ends, elem } => {
                let end = ends[n];
                let inner = elem.data(end as usize, pool)?;
                let offsets = pool.alloc_from(&ends[..=n], WHAT)?;
                ends.drain(..n);
                ends.iter_mut().for_each(|at| *at -= end);
                Data::Offsets(offsets, Box::new(inner))
            }
        })
    }
}
