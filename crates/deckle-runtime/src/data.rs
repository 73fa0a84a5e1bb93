//! Values in flat memory.
//!
//! ```text
//! [1.5, 2.5]                  one value:    Equal(2) of Scalars f64 [1.5 2.5]
//! [[1, 2], [], [3]]           one value:    Equal(3) of Offsets [0 2 2 3] of Scalars i64 [1 2 3]
//! (1, true), (2, false)       two values:   Tuple of Scalars i64 [1 2] and Scalars bool [1 0]
//! ```

#![allow(unsafe_code)] // One constructor does not validate: `Data::new_unchecked`.

use crate::buffer::{Buffer, Number};
use crate::pool::{OverBudget, Pool};
use deckle_ir::scalar::ScalarType;
use std::fmt;

/// Values of one type in flat memory, contiguously: the arguments and results of programs, and the blocks of sequences, without trees.
///
/// # Invariants
/// Values are well-formed, because only validating constructors create them: buffers hold the elements of the values and nothing else, offsets begin with 0, do not decrease and
/// end at the number of elements, components have equal lengths, and a `bool` is 0 or 1. Compiled code relies on it.
#[derive(Clone, Debug)]
pub struct Data {
    len: usize,
    form: Form,
}

/// The memory layout of values.
#[derive(Clone, Debug)]
pub enum Form {
    /// Scalars of a type; `bool` is a byte.
    Scalars(ScalarType, Buffer),
    /// Each component separately.
    Tuple(Vec<Data>),
    /// Arrays of equal size.
    Equal(usize, Box<Data>),
    /// Arrays that begin and end at offsets, of `i64`: one more than the number of arrays.
    Offsets(Buffer, Box<Data>),
}

/// Why memory is not well-formed as values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // The description of each variant covers its fields.
pub enum Malformed {
    /// The number of bytes is not a multiple of the size of the scalars.
    Bytes(usize, ScalarType),
    /// Memory is not aligned for such scalars.
    Unaligned(ScalarType),
    /// A byte that is no `bool`, and its position.
    Bool(usize, u8),
    /// A component has another number of elements than there are values.
    Component { component: usize, has: usize, values: usize },
    /// The number of elements is not the number of arrays times their size.
    Equal { arrays: usize, size: usize, has: usize },
    /// There is no offset: for no arrays there is one, 0.
    NoOffsets,
    /// The first offset is not 0.
    FirstOffset(i64),
    /// The last offset is not the number of elements.
    LastOffset { last: i64, has: usize },
    /// An array ends before it begins.
    Decreasing { row: usize, begins: i64, ends: i64 },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Bytes(n, ty) => write!(f, "{n} bytes are no whole number of `{ty}`, which have {}", ty.bytes()),
            Malformed::Unaligned(ty) => write!(f, "memory of `{ty}` must begin at a multiple of {} bytes", ty.bytes()),
            Malformed::Bool(at, byte) => write!(f, "element {at} is no `bool`: its byte is {byte}, neither 0 nor 1"),
            Malformed::Component { component, has, values } => {
                write!(f, "component {component} has {has} elements, for {values} values")
            }
            Malformed::Equal { arrays, size, has } => {
                write!(f, "{arrays} arrays of {size} elements are not {has} elements together")
            }
            Malformed::NoOffsets => f.write_str("there are no offsets: of no arrays there is one, 0"),
            Malformed::FirstOffset(first) => write!(f, "offsets begin with 0, not with {first}"),
            Malformed::LastOffset { last, has } => {
                write!(f, "offsets of {has} elements end with {has}, not with {last}")
            }
            Malformed::Decreasing { row, begins, ends } => {
                write!(f, "row {row} begins at {begins}, but ends at {ends}")
            }
        }
    }
}

impl std::error::Error for Malformed {}

impl Data {
    /// Scalars of a type.
    ///
    /// # Errors
    /// The number of bytes is no multiple of their size, memory is not aligned for them, or a byte is no `bool`.
    pub fn scalars(ty: ScalarType, buffer: Buffer) -> Result<Data, Malformed> {
        let size = ty.bytes();
        if !buffer.len().is_multiple_of(size) {
            return Err(Malformed::Bytes(buffer.len(), ty));
        }
        if !(buffer.as_ptr() as usize).is_multiple_of(size) {
            return Err(Malformed::Unaligned(ty));
        }
        if ty == ScalarType::Bool
            && let Some(at) = find(buffer.as_slice::<u8>(), 0, |bytes| bytes.iter().fold(0, |all, b| all | b) > 1)
        {
            let all = buffer.as_slice::<u8>();
            let at = (at..all.len()).find(|i| all[*i] > 1).unwrap_or(at);
            return Err(Malformed::Bool(at, all[at]));
        }
        Ok(Data { len: buffer.len() / size, form: Form::Scalars(ty, buffer) })
    }

    /// The numbers of a vector, without copying.
    pub fn numbers<T: Number>(elements: Vec<T>) -> Data {
        Data::all_of(T::TYPE, Buffer::from_vec(elements))
    }

    /// The booleans of a vector, without copying.
    pub fn bools(elements: Vec<bool>) -> Data {
        Data::all_of(ScalarType::Bool, Buffer::from_bools(elements))
    }

    /// As [`Data::numbers`], counted by a pool.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn counted_numbers<T: Number>(elements: Vec<T>, pool: &Pool, what: &str) -> Result<Data, OverBudget> {
        Ok(Data::all_of(T::TYPE, pool.adopt(elements, what)?))
    }

    /// As [`Data::bools`], counted by a pool.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn counted_bools(elements: Vec<bool>, pool: &Pool, what: &str) -> Result<Data, OverBudget> {
        let bytes = Buffer::from_bools(elements).into_vec::<u8>();
        Ok(Data::all_of(ScalarType::Bool, pool.adopt(bytes, what)?))
    }

    /// A copy of numbers in memory of a pool.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn copied<T: Number>(elements: &[T], pool: &Pool, what: &str) -> Result<Data, OverBudget> {
        Ok(Data::all_of(T::TYPE, pool.alloc_from(elements, what)?))
    }

    /// The scalars that a buffer holds, which are of this type.
    pub(crate) fn all_of(ty: ScalarType, buffer: Buffer) -> Data {
        Data { len: buffer.len() / ty.bytes(), form: Form::Scalars(ty, buffer) }
    }

    /// One number.
    pub fn number<T: Number>(number: T) -> Data {
        Data::all_of(T::TYPE, Buffer::of_one(number))
    }

    /// `len` tuples of these components.
    ///
    /// # Errors
    /// A component has another number of elements.
    pub fn tuples(len: usize, components: Vec<Data>) -> Result<Data, Malformed> {
        match components.iter().position(|c| c.len != len) {
            Some(component) => Err(Malformed::Component { component, has: components[component].len, values: len }),
            None => Ok(Data { len, form: Form::Tuple(components) }),
        }
    }

    /// `len` arrays of one size.
    ///
    /// # Errors
    /// There are more or fewer elements.
    pub fn equal(len: usize, size: usize, elements: Data) -> Result<Data, Malformed> {
        if len.checked_mul(size) != Some(elements.len) {
            return Err(Malformed::Equal { arrays: len, size, has: elements.len });
        }
        Ok(Data { len, form: Form::Equal(size, Box::new(elements)) })
    }

    /// One array of these elements.
    pub fn array(elements: Data) -> Data {
        Data { len: 1, form: Form::Equal(elements.len, Box::new(elements)) }
    }

    /// Arrays that begin and end at offsets, of `i64`.
    ///
    /// # Errors
    /// Offsets that do not begin with 0, that decrease, or that do not end at the number of elements.
    pub fn rows(offsets: Buffer, elements: Data) -> Result<Data, Malformed> {
        let ty = ScalarType::I64;
        if !offsets.len().is_multiple_of(ty.bytes()) {
            return Err(Malformed::Bytes(offsets.len(), ty));
        }
        if !(offsets.as_ptr() as usize).is_multiple_of(ty.bytes()) {
            return Err(Malformed::Unaligned(ty));
        }
        let all = offsets.as_slice::<i64>();
        let last = well_formed(all)?;
        if usize::try_from(last) != Ok(elements.len) {
            return Err(Malformed::LastOffset { last, has: elements.len });
        }
        Ok(Data { len: all.len() - 1, form: Form::Offsets(offsets, Box::new(elements)) })
    }

    /// Arrays at offsets that were validated before, which are not read again.
    ///
    /// # Errors
    /// The offsets do not end at the number of elements.
    pub fn rows_at(offsets: Offsets, elements: Data) -> Result<Data, Malformed> {
        offsets.are_of(&elements)?;
        let len = offsets.0.len() - 1;
        Ok(Data { len, form: Form::Offsets(Buffer::from_vec(offsets.0), Box::new(elements)) })
    }

    /// Values of this form, without validation.
    ///
    /// # Safety
    /// They are well-formed, as defined by the invariants of [`Data`].
    pub unsafe fn new_unchecked(len: usize, form: Form) -> Data {
        Data { len, form }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Their layout.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Their layout, by value.
    pub fn into_form(self) -> Form {
        self.form
    }

    /// The elements of the only value, which is an array; `None` if it is none.
    pub fn into_elements(self) -> Option<Data> {
        match self.form {
            Form::Equal(_, elements) | Form::Offsets(_, elements) if self.len == 1 => Some(*elements),
            _ => None,
        }
    }

    /// The numbers, if the values are numbers of this type.
    pub fn as_numbers<T: Number>(&self) -> Option<&[T]> {
        match &self.form {
            Form::Scalars(ty, buffer) if *ty == T::TYPE => Some(buffer.as_slice()),
            _ => None,
        }
    }

    /// The scalars, if the values are scalars of any type.
    pub fn as_scalars(&self) -> Option<&Buffer> {
        if let Form::Scalars(_, buffer) = &self.form { Some(buffer) } else { None }
    }

    /// A component of values that are tuples.
    pub fn component(&self, k: usize) -> Option<&Data> {
        if let Form::Tuple(components) = &self.form { components.get(k) } else { None }
    }

    /// The range of the elements of an array; `None` if there is no such array.
    pub fn row(&self, at: usize) -> Option<(usize, usize)> {
        match &self.form {
            _ if at >= self.len => None,
            Form::Equal(size, _) => Some((at * size, (at + 1) * size)),
            Form::Offsets(offsets, _) => {
                let offsets = offsets.as_slice::<i64>();
                Some((offsets[at] as usize, offsets[at + 1] as usize))
            }
            _ => None,
        }
    }

    /// The number of bytes they take.
    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::Scalars(_, b) => b.len(),
            Form::Tuple(components) => components.iter().map(Data::bytes).sum(),
            Form::Equal(_, elem) => elem.bytes(),
            Form::Offsets(b, elem) => b.len() + elem.bytes(),
        }
    }

    /// The same in owned memory: external memory is copied.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn owned(self, pool: &Pool, what: &str) -> Result<Data, OverBudget> {
        let own = |b: Buffer| if b.is_external() { pool.alloc_from(b.as_slice::<u8>(), what) } else { Ok(b) };
        let form = match self.form {
            Form::Scalars(ty, b) => Form::Scalars(ty, own(b)?),
            Form::Tuple(parts) => {
                Form::Tuple(parts.into_iter().map(|p| p.owned(pool, what)).collect::<Result<_, _>>()?)
            }
            Form::Equal(m, elem) => Form::Equal(m, Box::new(elem.owned(pool, what)?)),
            Form::Offsets(b, elem) => Form::Offsets(own(b)?, Box::new(elem.owned(pool, what)?)),
        };
        Ok(Data { len: self.len, form })
    }

    /// The values from `lo` below `hi`, which share the memory of these.
    ///
    /// # Errors
    /// There is not enough memory for rebased offsets.
    ///
    /// # Panics
    /// If the range is out of bounds, or `hi` is below `lo`.
    pub fn slice(&self, lo: usize, hi: usize, pool: &Pool) -> Result<Data, OverBudget> {
        assert!(lo <= hi && hi <= self.len, "there are {} values: none from {lo} below {hi}", self.len);
        let form = match &self.form {
            Form::Scalars(ty, b) => Form::Scalars(*ty, b.slice(lo * ty.bytes(), hi * ty.bytes())),
            Form::Tuple(parts) => Form::Tuple(parts.iter().map(|p| p.slice(lo, hi, pool)).collect::<Result<_, _>>()?),
            Form::Equal(m, elem) => Form::Equal(*m, Box::new(elem.slice(lo * m, hi * m, pool)?)),
            Form::Offsets(b, elem) => {
                let offsets = &b.as_slice::<i64>()[lo..=hi];
                let (first, last) = (offsets[0], offsets[hi - lo]);
                let elem = elem.slice(first as usize, last as usize, pool)?;
                let moved = if first == 0 {
                    b.slice(lo * 8, (hi + 1) * 8)
                } else {
                    let mut moved = pool.alloc((hi - lo + 1) * 8, WHAT)?;
                    for (to, from) in moved.get_mut::<i64>().into_iter().flatten().zip(offsets) {
                        *to = from - first;
                    }
                    moved
                };
                Form::Offsets(moved, Box::new(elem))
            }
        };
        Ok(Data { len: hi - lo, form })
    }

    /// The concatenation of these.
    ///
    /// # Errors
    /// There is not enough memory.
    ///
    /// # Panics
    /// If there are none, or they have different types.
    pub fn join(parts: &[Data], pool: &Pool) -> Result<Data, OverBudget> {
        join(&parts.iter().collect::<Vec<_>>(), pool)
    }
}

const WHAT: &str = "a part of a sequence";
const ONE_TYPE: &str = "what is joined is of one type";

/// Validation examines this many elements between tests for a result: few enough for a cache, enough for vectors.
const LOOKED_AT: usize = 4096;
/// From this many elements on, several threads validate.
const SHARED: usize = 1 << 22;
/// The maximal number of threads: more do not read memory faster.
const THREADS: usize = 8;

/// The start of the first part that has an invalid element, if any. Parts overlap by `overlap` elements.
fn find<T: Sync>(all: &[T], overlap: usize, is_wrong: impl Fn(&[T]) -> bool + Sync) -> Option<usize> {
    let look = |from: usize, to: usize| {
        let mut parts = (from..to).step_by(LOOKED_AT);
        parts.find(|at| is_wrong(&all[*at..(at + LOOKED_AT).min(to).saturating_add(overlap).min(all.len())]))
    };
    if all.len() < SHARED {
        return look(0, all.len());
    }
    let threads = crate::cpu::usable_cores().clamp(1, THREADS);
    let each = all.len().div_ceil(threads).next_multiple_of(LOOKED_AT);
    std::thread::scope(|scope| {
        let look = &look;
        let spawn = |from: usize| scope.spawn(move || look(from, (from + each).min(all.len())));
        let looks: Vec<_> = (0..all.len()).step_by(each).map(spawn).collect();
        // Validation does not panic.
        looks.into_iter().find_map(|look| look.join().ok().flatten())
    })
}

/// Whether an offset is less than the one before, or negative: the sign of a difference is that of the comparison if none is negative. Without an early exit, so that the loop vectorises.
fn decreases(offsets: &[i64]) -> bool {
    let pairs = offsets.iter().zip(&offsets[1.min(offsets.len())..]);
    pairs.fold(0, |all, (a, b)| all | b.wrapping_sub(*a) | b) < 0
}

/// The last of some offsets, which begin with 0 and do not decrease.
fn well_formed(all: &[i64]) -> Result<i64, Malformed> {
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Err(Malformed::NoOffsets) };
    if *first != 0 {
        return Err(Malformed::FirstOffset(*first));
    }
    if let Some(at) = find(all, 1, decreases) {
        let row = (at..all.len() - 1).find(|i| all[i + 1] < all[*i]).unwrap_or(at);
        return Err(Malformed::Decreasing { row, begins: all[row], ends: all[row + 1] });
    }
    Ok(*last)
}

/// Offsets that begin with 0 and do not decrease. They are validated once, and used for rows any number of times: see [`Data::rows_at`] and
/// [`crate::Lender::lend_rows`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offsets(Vec<i64>);

impl Offsets {
    /// Validates offsets.
    ///
    /// # Errors
    /// There are none, the first is not 0, or they decrease.
    pub fn new(offsets: Vec<i64>) -> Result<Offsets, Malformed> {
        well_formed(&offsets)?;
        Ok(Offsets(offsets))
    }

    /// The offsets: at least one.
    pub fn as_slice(&self) -> &[i64] {
        &self.0
    }

    /// The offsets as a vector, without copying.
    pub fn into_vec(self) -> Vec<i64> {
        self.0
    }

    /// Whether they end at the number of elements.
    pub(crate) fn are_of(&self, elements: &Data) -> Result<(), Malformed> {
        let (last, has) = (self.0[self.0.len() - 1], elements.len);
        if usize::try_from(last) == Ok(has) { Ok(()) } else { Err(Malformed::LastOffset { last, has }) }
    }
}

fn join(parts: &[&Data], pool: &Pool) -> Result<Data, OverBudget> {
    if let [one] = parts {
        return Ok((*one).clone());
    }
    let len = parts.iter().map(|d| d.len).sum();
    let form = match &parts[0].form {
        Form::Scalars(ty, _) => {
            let is_same = |d: &&Data| matches!(&d.form, Form::Scalars(own, _) if own == ty);
            assert!(parts.iter().all(is_same), "{ONE_TYPE}");
            let buffers: Vec<&Buffer> = parts.iter().filter_map(|d| d.as_scalars()).collect();
            let mut all = pool.alloc(buffers.iter().map(|b| b.len()).sum(), WHAT)?;
            let mut rest = all.get_mut::<u8>().unwrap_or_default();
            for b in buffers {
                let (here, after) = rest.split_at_mut(b.len());
                here.copy_from_slice(b.as_slice());
                rest = after;
            }
            Form::Scalars(*ty, all)
        }
        Form::Tuple(first) => {
            let is_same = |d: &&Data| matches!(&d.form, Form::Tuple(own) if own.len() == first.len());
            assert!(parts.iter().all(is_same), "{ONE_TYPE}");
            let column = |k: usize| join(&parts.iter().filter_map(|d| d.component(k)).collect::<Vec<_>>(), pool);
            Form::Tuple((0..first.len()).map(column).collect::<Result<_, _>>()?)
        }
        // Arrays of different sizes, if there are any, need offsets.
        Form::Equal(m, _) if parts.iter().all(|d| matches!(&d.form, Form::Equal(k, _) if k == m)) => {
            Form::Equal(*m, Box::new(join(&parts.iter().filter_map(|d| d.inside()).collect::<Vec<_>>(), pool)?))
        }
        Form::Equal(..) | Form::Offsets(..) => {
            let inner: Vec<&Data> = parts.iter().filter_map(|d| d.inside()).collect();
            assert_eq!(inner.len(), parts.len(), "{ONE_TYPE}");
            let mut offsets = pool.alloc((len + 1) * 8, WHAT)?;
            let to = offsets.get_mut::<i64>().unwrap_or_default();
            to[0] = 0;
            let mut at = 0;
            for d in parts {
                let begins = to[at];
                for i in 0..d.len {
                    to[at + 1] = begins + d.row(i).map_or(0, |(_, end)| end as i64);
                    at += 1;
                }
            }
            Form::Offsets(offsets, Box::new(join(&inner, pool)?))
        }
    };
    Ok(Data { len, form })
}

impl Data {
    fn inside(&self) -> Option<&Data> {
        if let Form::Equal(_, elem) | Form::Offsets(_, elem) = &self.form { Some(elem) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(xs: &[i64]) -> Data {
        Data::numbers(xs.to_vec())
    }

    fn offsets(xs: &[i64]) -> Buffer {
        Buffer::from_vec(xs.to_vec())
    }

    fn rows(rows: &[&[i64]]) -> Data {
        let mut ends = vec![0i64];
        rows.iter().for_each(|r| ends.push(ends[ends.len() - 1] + r.len() as i64));
        Data::rows(offsets(&ends), ints(&rows.concat())).unwrap()
    }

    fn shown(data: &Data) -> String {
        match &data.form {
            Form::Scalars(_, b) => format!("{:?}", b.as_slice::<i64>()),
            Form::Tuple(parts) => format!("({})", parts.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Form::Equal(m, elem) => format!("{m} of {}", shown(elem)),
            Form::Offsets(b, elem) => format!("{:?} of {}", b.as_slice::<i64>(), shown(elem)),
        }
    }

    #[test]
    fn a_part_of_ragged_rows_is_counted_from_its_beginning() {
        let pool = Pool::new(None);
        let data = rows(&[&[1, 2], &[], &[3], &[4, 5, 6]]);
        assert_eq!(shown(&data.slice(0, 2, &pool).unwrap()), "[0, 2, 2] of [1, 2]");
        assert_eq!(shown(&data.slice(2, 4, &pool).unwrap()), "[0, 1, 4] of [3, 4, 5, 6]");
        assert_eq!(shown(&data.slice(4, 4, &pool).unwrap()), "[0] of []");
    }

    #[test]
    fn offsets_are_checked_once_for_many_elements() {
        let checked = Offsets::new(vec![0, 2, 2, 3]).unwrap();
        assert_eq!(shown(&Data::rows_at(checked.clone(), ints(&[1, 2, 3])).unwrap()), "[0, 2, 2, 3] of [1, 2, 3]");
        let wrong = Data::rows_at(checked.clone(), ints(&[1, 2])).unwrap_err();
        assert_eq!(wrong, Malformed::LastOffset { last: 3, has: 2 });
        crate::lending(1, |lender| {
            let lent = lender.lend_rows(&checked, ints(&[1, 2, 3])).unwrap();
            assert_eq!(shown(&lent), "[0, 2, 2, 3] of [1, 2, 3]");
            assert!(lender.lend_rows(&checked, ints(&[])).is_err());
        });
        assert_eq!(Offsets::new(vec![]), Err(Malformed::NoOffsets));
        assert_eq!(Offsets::new(vec![1, 2]), Err(Malformed::FirstOffset(1)));
        assert_eq!(Offsets::new(vec![0, 3, 1]), Err(Malformed::Decreasing { row: 1, begins: 3, ends: 1 }));
    }

    #[test]
    fn what_was_cut_is_joined_again() {
        let pool = Pool::new(None);
        let pairs = Data::equal(3, 2, ints(&[1, 2, 3, 4, 5, 6])).unwrap();
        let both = Data::tuples(3, vec![ints(&[1, 2, 3]), pairs]).unwrap();
        for data in [rows(&[&[1, 2], &[], &[3], &[4, 5, 6]]), both] {
            for k in 0..=data.len() {
                let parts = [data.slice(0, k, &pool).unwrap(), data.slice(k, data.len(), &pool).unwrap()];
                let joined = Data::join(&parts, &pool).unwrap();
                assert_eq!((shown(&joined), joined.len()), (shown(&data), data.len()));
                assert_eq!(parts[0].len() + parts[1].len(), data.len());
            }
        }
    }

    #[test]
    fn rows_of_different_equal_sizes_are_ragged_together() {
        let pool = Pool::new(None);
        let of = |m: usize, xs: &[i64]| Data::equal(xs.len() / m, m, ints(xs)).unwrap();
        let joined = Data::join(&[of(1, &[7, 8]), of(2, &[1, 2])], &pool).unwrap();
        assert_eq!(shown(&joined), "[0, 1, 2, 4] of [7, 8, 1, 2]");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let made = |ends: &[i64], n: usize| Data::rows(offsets(ends), ints(&vec![0; n])).unwrap_err().to_string();
        assert_eq!(made(&[], 0), "there are no offsets: of no arrays there is one, 0");
        assert_eq!(made(&[1, 2], 2), "offsets begin with 0, not with 1");
        assert_eq!(made(&[0, 3, 1], 1), "row 1 begins at 3, but ends at 1");
        assert_eq!(made(&[0, 3], 2), "offsets of 2 elements end with 2, not with 3");
        let bytes = Buffer::from_vec(vec![1u8, 0, 7]);
        let wrong = |ty, b: Buffer| Data::scalars(ty, b).unwrap_err().to_string();
        assert_eq!(wrong(ScalarType::Bool, bytes.clone()), "element 2 is no `bool`: its byte is 7, neither 0 nor 1");
        assert_eq!(wrong(ScalarType::F32, bytes.clone()), "3 bytes are no whole number of `f32`, which have 4");
        let odd = Buffer::from_vec(vec![0u32; 3]).slice(1, 9);
        assert_eq!(wrong(ScalarType::U32, odd), "memory of `u32` must begin at a multiple of 4 bytes");
        let tuples = Data::tuples(2, vec![ints(&[1, 2]), ints(&[1])]).unwrap_err();
        assert_eq!(tuples.to_string(), "component 1 has 1 elements, for 2 values");
        let equal = Data::equal(usize::MAX, 2, ints(&[1])).unwrap_err().to_string();
        assert!(equal.ends_with("arrays of 2 elements are not 1 elements together"), "{equal}");
    }

    /// Errors are found at every border of the parts that are validated, by one thread and by several.
    #[test]
    fn what_is_wrong_is_found_wherever_it_is() {
        for n in [1, LOOKED_AT - 1, LOOKED_AT, LOOKED_AT + 1, 3 * LOOKED_AT, SHARED + 5] {
            let ends: Vec<i64> = (0..=n as i64).collect();
            assert!(Data::rows(offsets(&ends), Data::numbers(vec![0u8; n])).is_ok());
            let middle = [1, n / 2, LOOKED_AT - 1, LOOKED_AT, LOOKED_AT + 1, n - 1, n];
            for at in middle.into_iter().filter(|at| (1..=n).contains(at)) {
                let mut bad = ends.clone();
                bad[at] = -1;
                let wrong = Data::rows(offsets(&bad), Data::numbers(vec![0u8; n])).unwrap_err();
                assert_eq!(wrong, Malformed::Decreasing { row: at - 1, begins: at as i64 - 1, ends: -1 });
                let mut bools = vec![1u8; n];
                bools[at - 1] = 2;
                let wrong = Data::scalars(ScalarType::Bool, Buffer::from_vec(bools)).unwrap_err();
                assert_eq!(wrong, Malformed::Bool(at - 1, 2));
            }
        }
    }
}
