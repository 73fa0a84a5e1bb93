//! Values in flat memory, built incrementally: every reader of files fills one.
//!
//! A reader of elements pushes them one by one and delivers them as blocks ([`Build::take`]). A format that is decoded as a whole (a picture, a matrix, an
//! archive) pushes one value, which is returned without copying ([`Build::finish`]).
//!
//! ```text
//! [[(int, real)]]:  Rows { ends: 0 2, elem: Rows { ends: 0 1 3, elem: Tuple [Scalars, Scalars] } }
//! ```

use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Buffer, Data, OverBudget, Pool};

const WHAT: &str = "the elements of a sequence";
/// From this many bytes on, elements are delivered without copying. Blocks of streams are smaller, and copied to memory that a pool reuses.
const MOVED: usize = if cfg!(test) { 100 } else { 4 << 20 };
/// The padding of buffers.
const PADDING: usize = 64;

/// The elements of a type so far.
#[derive(Debug)]
pub(crate) enum Build {
    Scalars {
        ty: ScalarType,
        bytes: Vec<u8>,
    },
    Tuple(Vec<Build>),
    /// `ends` has a 0 before the ends; elements behind the last one belong to an unfinished row.
    Rows {
        ends: Vec<i64>,
        elem: Box<Build>,
    },
}

impl Build {
    pub(crate) fn new(ty: &Type) -> Build {
        match ty {
            Type::Scalar(s) => Build::Scalars { ty: *s, bytes: Vec::new() },
            Type::Array(_) | Type::Seq(_) => {
                Build::Rows { ends: vec![0], elem: Box::new(Build::new(ty.elem().unwrap_or(ty))) }
            }
            Type::Tuple(_) | Type::Record(_) => {
                Build::Tuple(ty.parts().unwrap_or_default().into_iter().map(Build::new).collect())
            }
        }
    }

    /// The number of bytes they take.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Build::Scalars { bytes, .. } => bytes.len(),
            Build::Tuple(parts) => parts.iter().map(Build::bytes).sum(),
            Build::Rows { ends, elem } => (ends.len() - 1) * 8 + elem.bytes(),
        }
    }

    /// Adds a scalar, if the elements are scalars.
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

    /// Adds a text, if the elements are texts.
    pub(crate) fn push_text(&mut self, text: &[u8]) {
        if let Build::Rows { elem, .. } = self
            && let Build::Scalars { bytes, .. } = &mut **elem
        {
            bytes.extend_from_slice(text);
        }
        self.end_row(text.len());
    }

    /// Ends a row of the `len` elements that were last pushed to [`Build::inner`].
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

    /// Adds one value with these dimensions around its scalars or tuples, which are returned, to be filled row after row.
    pub(crate) fn push_regular(&mut self, dims: &[usize]) -> &mut Build {
        let (mut build, mut rows) = (self, 1);
        for &n in dims {
            (0..rows).for_each(|_| build.end_row(n));
            build = build.inner();
            rows *= n;
        }
        build
    }

    /// The bytes of scalars, to be extended.
    pub(crate) fn scalars(&mut self) -> Option<&mut Vec<u8>> {
        if let Build::Scalars { bytes, .. } = self { Some(bytes) } else { None }
    }

    /// The only value, without copying, in memory not counted by a pool.
    pub(crate) fn into_data(self) -> Data {
        self.finish(None).expect("there is room where nobody counts")
    }

    /// The only value, without copying, counted by a pool if there is one.
    pub(crate) fn finish(self, pool: Option<&Pool>) -> Result<Data, OverBudget> {
        self.all(1, pool)
    }

    /// All `len` elements.
    fn all(self, len: usize, pool: Option<&Pool>) -> Result<Data, OverBudget> {
        Ok(match self {
            Build::Scalars { ty, bytes } => {
                let data = Data::scalars(ty, counted(bytes, pool)?);
                data.expect("what allocators give is aligned for scalars, and what was pushed are scalars")
            }
            Build::Tuple(parts) => {
                let parts = parts.into_iter().map(|p| p.all(len, pool)).collect::<Result<_, _>>()?;
                Data::tuples(len, parts).expect("all components were pushed")
            }
            Build::Rows { ends, elem } => {
                let inside = ends.last().map_or(0, |end| *end as usize);
                Data::rows(counted(ends, pool)?, elem.all(inside, pool)?).expect("rows end where they were ended")
            }
        })
    }

    /// Reserves memory for `n` more, which are known to come: scalars and tuples of them.
    pub(crate) fn reserve(&mut self, n: usize) {
        match self {
            // Buffers are padded, and must not be moved for that.
            Build::Scalars { ty, bytes } => bytes.reserve_exact(n * ty.bytes() + PADDING),
            Build::Tuple(parts) => parts.iter_mut().for_each(|part| part.reserve(n)),
            Build::Rows { ends, .. } => ends.reserve_exact(n + PADDING / 8),
        }
    }

    /// Delivers the first `n`. Many are not copied if they are all.
    pub(crate) fn take(&mut self, n: usize, pool: &Pool) -> Result<Data, OverBudget> {
        if self.bytes() >= MOVED && self.is_all(n) {
            return self.emptied().all(n, Some(pool));
        }
        let block = self.first(n, pool, WHAT)?;
        self.drop_first(n);
        Ok(block)
    }

    /// Whether there are exactly `n`, and no part of another.
    fn is_all(&self, n: usize) -> bool {
        match self {
            Build::Scalars { ty, bytes } => bytes.len() == n * ty.bytes(),
            Build::Tuple(parts) => parts.iter().all(|part| part.is_all(n)),
            Build::Rows { ends, elem } => ends.len() == n + 1 && elem.is_all(ends[n] as usize),
        }
    }

    /// Takes the contents, leaving it empty.
    fn emptied(&mut self) -> Build {
        match self {
            Build::Scalars { ty, bytes } => Build::Scalars { ty: *ty, bytes: std::mem::take(bytes) },
            Build::Tuple(parts) => Build::Tuple(parts.iter_mut().map(Build::emptied).collect()),
            Build::Rows { ends, elem } => {
                Build::Rows { ends: std::mem::replace(ends, vec![0]), elem: Box::new(elem.emptied()) }
            }
        }
    }

    /// Copies the first `n`, under a name.
    pub(crate) fn first(&self, n: usize, pool: &Pool, what: &str) -> Result<Data, OverBudget> {
        Ok(match self {
            Build::Scalars { ty, bytes } => {
                let data = Data::scalars(*ty, pool.alloc_from(&bytes[..n * ty.bytes()], what)?);
                data.expect("what was pushed are scalars")
            }
            Build::Tuple(parts) => {
                let parts = parts.iter().map(|p| p.first(n, pool, what)).collect::<Result<_, _>>()?;
                Data::tuples(n, parts).expect("all components were pushed")
            }
            Build::Rows { ends, elem } => {
                let inner = elem.first(ends[n] as usize, pool, what)?;
                Data::rows(pool.alloc_from(&ends[..=n], what)?, inner).expect("rows end where they were ended")
            }
        })
    }

    fn drop_first(&mut self, n: usize) {
        match self {
            Build::Scalars { ty, bytes } => drop(bytes.drain(..n * ty.bytes())),
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

/// The memory of a vector, without excess capacity.
fn counted<T: deckle_runtime::Plain>(mut elements: Vec<T>, pool: Option<&Pool>) -> Result<Buffer, OverBudget> {
    let most = elements.len() + PADDING / size_of::<T>();
    if elements.capacity() > most + elements.len() / 8 {
        elements.shrink_to(most);
    }
    match pool {
        Some(pool) => pool.adopt(elements, WHAT),
        None => Ok(Buffer::from_vec(elements)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{byte, int, real, tuple, value, vector};
    use crate::tree;

    #[test]
    fn what_is_pushed_is_given_back_in_any_parts() {
        let ty = vector(vector(tuple(&[int(), vector(byte())])));
        let pushed = value("[[(1, \"ab\")], [], [(2, \"\"), (3, \"c\")]]", &ty);
        let mut build = Build::new(&ty);
        build.push_value(&pushed);
        let pool = Pool::new(None);
        let data = build.finish(Some(&pool)).unwrap();
        assert_eq!(tree::value(&ty, &data, 0), pushed);
        let rows = data.into_elements().unwrap();
        assert_eq!(rows.len(), 3);
        let elem = ty.elem().unwrap();
        assert_eq!(tree::values(elem, &rows.slice(1, 3, &pool).unwrap()), pushed.items().unwrap()[1..]);
        let mut build = Build::new(elem);
        pushed.items().unwrap().iter().for_each(|row| build.push_value(row));
        for row in pushed.items().unwrap() {
            assert_eq!(&tree::value(elem, &build.take(1, &pool).unwrap(), 0), row);
        }
    }

    #[test]
    fn what_is_taken_is_taken_once_whether_it_is_moved_or_copied() {
        let (pool, ty) = (Pool::new(None), vector(tuple(&[int(), vector(byte())])));
        let pushed = value("[(1, \"some text\"), (2, \"\"), (3, \"more text\")]", &ty);
        let elem = ty.elem().unwrap();
        for rounds in [1, 2, 10] {
            let items = vec![pushed.items().unwrap(); rounds].concat();
            let mut build = Build::new(elem);
            for _ in 0..2 {
                items.iter().for_each(|v| build.push_value(v));
                // The text of an incomplete element stays behind.
                build.parts()[1].inner().push(Scalar::U8(b'x'));
                assert!(!build.is_all(items.len()));
                let block = build.take(items.len(), &pool).unwrap();
                assert_eq!(tree::values(elem, &block), items);
                assert_eq!(build.parts()[1].inner().bytes(), 1);
                build.parts()[1].inner().scalars().unwrap().clear();
                items.iter().for_each(|v| build.push_value(v));
                assert_eq!(tree::values(elem, &build.take(items.len(), &pool).unwrap()), items);
                assert_eq!(build.bytes(), 0);
            }
        }
    }

    #[test]
    fn regular_arrays_have_rows_where_a_dimension_is_empty() {
        for (dims, written) in [(&[2, 3][..], "[[1, 2, 3], [4, 5, 6]]"), (&[2, 0], "[[], []]"), (&[0, 3], "[]")] {
            let ty = vector(vector(real()));
            let mut build = Build::new(&ty);
            let scalars = build.push_regular(dims);
            (1..=dims.iter().product::<usize>()).for_each(|x| scalars.push(Scalar::F64(x as f64)));
            assert_eq!(tree::value(&ty, &build.into_data(), 0), value(written, &ty));
        }
    }
}
