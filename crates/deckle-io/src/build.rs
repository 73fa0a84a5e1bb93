//! Values in flat memory, put together bit by bit: what every reader of files fills.
//!
//! A reader of elements pushes them one by one and hands them over as blocks ([`Build::take`]). A format that is decoded as a whole (a picture, a matrix, an
//! archive) pushes one value, which becomes the elements of a [`stream::open`](crate::stream::open) or a tree ([`Build::value`]).
//!
//! ```text
//! [[(int, real)]]:  Rows { ends: 0 2, elem: Rows { ends: 0 1 3, elem: Tuple [Scalars, Scalars] } }
//! ```

use crate::room;
use crate::text::collection;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Block, Data, OverBudget, Pool};

const WHAT: &str = "the elements of a sequence";

/// Elements of a type, as many as have come.
#[derive(Debug)]
pub(crate) enum Build {
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
    pub(crate) fn new(ty: &Type) -> Build {
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
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Build::Scalars { bytes, .. } => bytes.len(),
            Build::Tuple(parts) => parts.iter().map(Build::bytes).sum(),
            Build::Rows { ends, elem } => (ends.len() - 1) * 8 + elem.bytes(),
        }
    }

    /// A scalar, to scalars.
    #[inline]
    pub(crate) fn push(&mut self, scalar: Scalar) {
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
    pub(crate) fn push_text(&mut self, text: &[u8]) {
        if let Build::Rows { elem, .. } = self
            && let Build::Scalars { bytes, .. } = &mut **elem
        {
            bytes.extend_from_slice(text);
        }
        self.end_row(text.len());
    }

    /// So many elements, which have been pushed to [`Build::inner`], are a row.
    pub(crate) fn end_row(&mut self, len: usize) {
        if let Build::Rows { ends, .. } = self {
            let begins = ends.last().copied().unwrap_or(0);
            ends.push(begins + len as i64);
        }
    }

    /// The elements of rows.
    pub(crate) fn inner(&mut self) -> &mut Build {
        if let Build::Rows { elem, .. } = self { elem } else { self }
    }

    /// The components of tuples, or the elements themselves.
    pub(crate) fn parts(&mut self) -> &mut [Build] {
        if let Build::Tuple(parts) = self { parts } else { std::slice::from_mut(self) }
    }

    pub(crate) fn push_value(&mut self, value: &Value) {
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

    /// One value that has these dimensions around its scalars or tuples, which are given, to be filled row after row.
    pub(crate) fn push_regular(&mut self, dims: &[usize]) -> &mut Build {
        let (mut build, mut rows) = (self, 1);
        for &n in dims {
            (0..rows).for_each(|_| build.end_row(n));
            build = build.inner();
            rows *= n;
        }
        build
    }

    /// The bytes of scalars, to which those of more are added.
    pub(crate) fn scalars(&mut self) -> Option<&mut Vec<u8>> {
        if let Build::Scalars { bytes, .. } = self { Some(bytes) } else { None }
    }

    /// The elements of the only value, which is a vector or sequence, and how many they are; or the value itself.
    pub(crate) fn into_elements(self) -> (Build, usize) {
        match self {
            Build::Rows { ends, elem } => (*elem, ends.get(1).map_or(0, |n| *n as usize)),
            other => (other, 1),
        }
    }

    /// About how many bytes these elements take as trees.
    pub(crate) fn tree(&self) -> u64 {
        match self {
            Build::Scalars { width, bytes } => room::array((bytes.len() / width) as u64, 0),
            Build::Tuple(parts) => {
                let count = parts.first().map_or(0, Build::len) as u64;
                parts.iter().fold(room::tuples(count), |all, part| all.saturating_add(part.tree()))
            }
            Build::Rows { ends, elem } => room::array(0, ends.len() as u64 - 1).saturating_add(elem.tree()),
        }
    }

    /// How many there are.
    fn len(&self) -> usize {
        match self {
            Build::Scalars { width, bytes } => bytes.len() / width,
            Build::Tuple(parts) => parts.first().map_or(0, Build::len),
            Build::Rows { ends, .. } => ends.len() - 1,
        }
    }

    /// The value of a type at a place, as a tree.
    pub(crate) fn value(&self, ty: &Type, at: usize) -> Value {
        match self {
            Build::Scalars { width, bytes } => {
                let mut bits = [0; 8];
                bits[..*width].copy_from_slice(&bytes[at * width..][..*width]);
                // The low bytes of a number come first or last, as everywhere on this machine.
                let bits = u64::from_ne_bytes(bits) >> if cfg!(target_endian = "big") { 64 - 8 * width } else { 0 };
                Value::Scalar(Scalar::from_bits(ty.as_scalar().unwrap_or(ScalarType::U8), bits))
            }
            Build::Tuple(parts) => {
                let types = ty.parts().unwrap_or_default();
                Value::tuple(types.into_iter().zip(parts).map(|(ty, part)| part.value(ty, at)).collect())
            }
            Build::Rows { ends, elem } => {
                let (lo, hi) = (ends[at] as usize, ends[at + 1] as usize);
                let elem_ty = ty.elem().unwrap_or(ty);
                collection((lo..hi).map(|i| elem.value(elem_ty, i)).collect(), ty)
            }
        }
    }

    /// Hands over the first `n`.
    pub(crate) fn take(&mut self, n: usize, pool: &Pool) -> Result<Block, OverBudget> {
        let block = self.copy(0, n, pool)?;
        self.drop_first(n);
        Ok(block)
    }

    /// Those from `lo` below `hi`.
    pub(crate) fn copy(&self, lo: usize, hi: usize, pool: &Pool) -> Result<Block, OverBudget> {
        Ok(Block::new(self.data(lo, hi, pool)?, hi - lo))
    }

    fn data(&self, lo: usize, hi: usize, pool: &Pool) -> Result<Data, OverBudget> {
        Ok(match self {
            Build::Scalars { width, bytes } => Data::Scalars(pool.alloc_from(&bytes[lo * width..hi * width], WHAT)?),
            Build::Tuple(parts) => Data::Tuple(parts.iter().map(|p| p.data(lo, hi, pool)).collect::<Result<_, _>>()?),
            Build::Rows { ends, elem } => {
                let begin = ends[lo];
                let inner = elem.data(begin as usize, ends[hi] as usize, pool)?;
                let mut offsets = pool.alloc_from(&ends[lo..=hi], WHAT)?;
                if begin != 0 {
                    offsets.get_mut::<i64>().into_iter().flatten().for_each(|at| *at -= begin);
                }
                Data::Offsets(offsets, Box::new(inner))
            }
        })
    }

    fn drop_first(&mut self, n: usize) {
        match self {
            Build::Scalars { width, bytes } => drop(bytes.drain(..n * *width)),
            Build::Tuple(parts) => parts.iter_mut().for_each(|p| p.drop_first(n)),
            Build::Rows { ends, elem } => {
                let end = ends[n];
                elem.drop_first(end as usize);
                ends.drain(..n);
                ends.iter_mut().for_each(|at| *at -= end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{byte, int, real, tuple, value, vector};

    #[test]
    fn what_is_pushed_is_given_back_in_any_parts() {
        let ty = vector(vector(tuple(&[int(), vector(byte())])));
        let pushed = value("[[(1, \"ab\")], [], [(2, \"\"), (3, \"c\")]]", &ty);
        let mut build = Build::new(&ty);
        build.push_value(&pushed);
        assert_eq!(build.value(&ty, 0), pushed);
        let (rows, n) = build.into_elements();
        assert_eq!(n, 3);
        let pool = Pool::new(None);
        let block = rows.copy(1, 3, &pool).unwrap();
        let elem = ty.elem().unwrap();
        assert_eq!(crate::stream::values(elem, &block), pushed.items().unwrap()[1..]);
    }

    #[test]
    fn regular_arrays_have_rows_where_a_dimension_is_empty() {
        for (dims, written) in [(&[2, 3][..], "[[1, 2, 3], [4, 5, 6]]"), (&[2, 0], "[[], []]"), (&[0, 3], "[]")] {
            let ty = vector(vector(real()));
            let mut build = Build::new(&ty);
            let scalars = build.push_regular(dims);
            (1..=dims.iter().product::<usize>()).for_each(|x| scalars.push(Scalar::F64(x as f64)));
            assert_eq!(build.value(&ty, 0), value(written, &ty));
        }
    }
}
