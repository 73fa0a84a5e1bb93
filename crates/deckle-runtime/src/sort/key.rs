//! Keys as unsigned integers of the same order, packed into few words.

use super::entry::{Entry, Layout};
use crate::team::{Interrupted, Team};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A column of keys: one component of the key of every element.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // The variants are the scalar types.
pub enum Key<'a> {
    /// False is 0, true is anything else.
    Bool(&'a [u8]),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

/// The order-preserving integer of a scalar.
trait Ordinal: Copy {
    fn ordinal(self) -> u64;
}

macro_rules! ordinals {
    ($($unsigned:ident)*; $($signed:ident)*; $($float:ident $bits:ident)*) => {
        $(impl Ordinal for $unsigned {
            #[inline]
            fn ordinal(self) -> u64 {
                self as u64
            }
        })*
        $(impl Ordinal for $signed {
            #[inline]
            fn ordinal(self) -> u64 {
                (self as i64 as u64) ^ 1 << 63
            }
        })*
        $(impl Ordinal for $float {
            /// The bits of a negative float count down, so they are inverted; those of others follow. NaN, whatever its
            /// sign and payload, is the value above infinity.
            #[inline]
            fn ordinal(self) -> u64 {
                const SIGN: $bits = 1 << ($bits::BITS - 1);
                let bits = self.to_bits();
                let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                u64::from(if self.is_nan() { ($float::INFINITY.to_bits() | SIGN) + 1 } else { ordered })
            }
        })*
    };
}
ordinals!(u8 u16 u32 u64; i8 i16 i32 i64; f32 u32 f64 u64);

/// Evaluates `$body` with `$column` the column's slice and `$ordinal` its mapping, once for each type.
macro_rules! for_type {
    ($key:expr, $column:ident, $ordinal:ident => $body:expr) => {
        match $key {
            Key::Bool($column) => for_type!(@ |x: u8| u64::from(x != 0), $ordinal, $body),
            Key::I8($column) => for_type!(@ i8::ordinal, $ordinal, $body),
            Key::I16($column) => for_type!(@ i16::ordinal, $ordinal, $body),
            Key::I32($column) => for_type!(@ i32::ordinal, $ordinal, $body),
            Key::I64($column) => for_type!(@ i64::ordinal, $ordinal, $body),
            Key::U8($column) => for_type!(@ u8::ordinal, $ordinal, $body),
            Key::U16($column) => for_type!(@ u16::ordinal, $ordinal, $body),
            Key::U32($column) => for_type!(@ u32::ordinal, $ordinal, $body),
            Key::U64($column) => for_type!(@ u64::ordinal, $ordinal, $body),
            Key::F32($column) => for_type!(@ f32::ordinal, $ordinal, $body),
            Key::F64($column) => for_type!(@ f64::ordinal, $ordinal, $body),
        }
    };
    (@ $map:expr, $ordinal:ident, $body:expr) => {{
        let $ordinal = $map;
        $body
    }};
}

impl Key<'_> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        for_type!(self, column, _ordinal => column.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `f` with the ordinal of every element of a range.
    #[inline]
    fn each(&self, range: Range<usize>, mut f: impl FnMut(u64)) {
        for_type!(self, column, ordinal => column[range].iter().for_each(|&x| f(ordinal(x))));
    }

    /// Calls `f` with every place and the ordinal of the element that belongs to it: the elements from `start` on.
    #[inline]
    fn zip_from<T>(&self, start: usize, places: &mut [T], mut f: impl FnMut(&mut T, u64)) {
        let range = start..start + places.len();
        for_type!(self, column, ordinal => places.iter_mut().zip(&column[range]).for_each(|(p, &x)| f(p, ordinal(x))));
    }

    /// Calls `f` with every place and the ordinal of the element that belongs to it: the elements of these indices.
    #[inline]
    pub(super) fn zip_at<T>(&self, indices: &[i64], places: &mut [T], mut f: impl FnMut(&mut T, u64)) {
        for_type!(self, column, ordinal => {
            places.iter_mut().zip(indices).for_each(|(p, &i)| f(p, ordinal(column[i as usize])))
        });
    }

    /// The ordinal of one element.
    pub(super) fn at(&self, index: i64) -> u64 {
        for_type!(self, column, ordinal => ordinal(column[index as usize]))
    }
}

pub(super) fn check_lengths(keys: &[Key<'_>], n: usize) {
    for key in keys {
        assert_eq!(key.len(), n, "a key of {} elements for an order of {n}", key.len());
    }
}

/// A column of keys, from the least one on.
pub struct Column<'a> {
    key: &'a Key<'a>,
    least: u64,
}

impl Column<'_> {
    /// Calls `f` with the key of every element of a range, less the least one.
    #[inline]
    pub fn each(&self, range: Range<usize>, mut f: impl FnMut(u64)) {
        self.key.each(range, |x| f(x - self.least));
    }
}

/// How columns are laid out in words. No words if all elements have the same key.
#[derive(Default, Debug)]
pub struct Words {
    /// The most significant first.
    words: Vec<Word>,
    widths: Vec<u32>,
}

/// Several columns packed into 64 bits.
#[derive(Default, Debug)]
pub struct Word {
    parts: Vec<Part>,
    bits: u32,
    /// Whether elements are still at their own index when this word is filled in.
    is_first: bool,
}

#[derive(Debug)]
struct Part {
    column: usize,
    least: u64,
    bits: u32,
    shift: u32,
}

impl Words {
    /// Computes the minimum and maximum of each column, in blocks of `size` elements.
    pub fn measure(keys: &[Key<'_>], n: usize, size: usize, team: &Team) -> Result<Words, Interrupted> {
        let ranges: Vec<_> = keys.iter().map(|_| (AtomicU64::new(u64::MAX), AtomicU64::new(0))).collect();
        let blocks = n.div_ceil(size);
        team.run(blocks * keys.len(), &|task, _| {
            let (column, block) = (task / blocks, task % blocks);
            let (mut least, mut greatest) = (u64::MAX, 0);
            keys[column].each(block * size..((block + 1) * size).min(n), |x| {
                least = least.min(x);
                greatest = greatest.max(x);
            });
            // Relaxed: the end of the run orders them before what follows.
            ranges[column].0.fetch_min(least, Ordering::Relaxed);
            ranges[column].1.fetch_max(greatest, Ordering::Relaxed);
        })?;
        Ok(Words::pack(ranges.into_iter().map(|(least, greatest)| (least.into_inner(), greatest.into_inner()))))
    }

    fn pack(ranges: impl Iterator<Item = (u64, u64)>) -> Words {
        let mut words: Vec<Word> = Vec::new();
        for (column, (least, greatest)) in ranges.enumerate() {
            let bits = u64::BITS - greatest.saturating_sub(least).leading_zeros();
            if bits == 0 {
                continue;
            }
            if words.last().is_none_or(|w| w.bits + bits > u64::BITS) {
                words.push(Word::default());
            }
            if let Some(word) = words.last_mut() {
                word.bits += bits;
                word.parts.push(Part { column, least, bits, shift: 0 });
            }
        }
        for word in &mut words {
            let mut shift = word.bits;
            for part in &mut word.parts {
                shift -= part.bits;
                part.shift = shift;
            }
        }
        if let Some(last) = words.last_mut() {
            last.is_first = true;
        }
        let widths = words.iter().map(|w| w.bits).collect();
        Words { words, widths }
    }

    /// The column of all keys and its bits, if only one has any.
    pub fn only_column<'a>(&self, keys: &'a [Key<'a>]) -> Option<(Column<'a>, u32)> {
        let [word] = &self.words[..] else { return None };
        let [part] = &word.parts[..] else { return None };
        Some((Column { key: &keys[part.column], least: part.least }, part.bits))
    }

    /// The bits of each word.
    pub fn widths(&self) -> &[u32] {
        &self.widths
    }

    pub fn least_significant_first(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().rev()
    }
}

impl Word {
    /// The layout of entries of this word, given that of all words.
    pub fn layout(&self, of_all: Layout) -> Layout {
        Layout { low: of_all.low, high: of_all.low + self.bits }
    }

    /// Creates the entries of the elements at the positions from `start` on: the elements of these indices if this is
    /// the first word to be sorted by, otherwise those of `order`.
    pub fn fill<E: Entry>(&self, keys: &[Key<'_>], start: usize, layout: Layout, entries: &mut [E], order: &[i64]) {
        for (p, part) in self.parts.iter().enumerate() {
            let (key, shift, least) = (&keys[part.column], part.shift, part.least);
            match (p == 0, self.is_first) {
                (true, true) => {
                    let mut index = start;
                    key.zip_from(start, entries, |entry, x| {
                        *entry = E::new((x - least) << shift, index, layout);
                        index += 1;
                    });
                }
                (true, false) => {
                    let mut indices = order.iter();
                    key.zip_at(order, entries, |entry, x| {
                        let index = indices.next().map_or(0, |&i| i as usize);
                        *entry = E::new((x - least) << shift, index, layout);
                    });
                }
                (false, is_first) => {
                    let add = |entry: &mut E, x| *entry = entry.with((x - least) << shift, layout);
                    if is_first { key.zip_from(start, entries, add) } else { key.zip_at(order, entries, add) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ascend(keys: &[Key<'_>]) {
        for key in keys {
            let mut ordinals = Vec::new();
            key.each(0..key.len(), |x| ordinals.push(x));
            assert!(ordinals.is_sorted_by(|a, b| a < b), "{key:?}: {ordinals:x?}");
        }
    }

    #[test]
    fn ordinals_have_the_order_of_scalars() {
        let f32s = [f32::NEG_INFINITY, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, f32::MAX, f32::INFINITY, f32::NAN];
        let f64s = [f64::NEG_INFINITY, f64::MIN, -0.0, 0.0, 5e-324, 1.0, f64::INFINITY, -f64::NAN];
        ascend(&[Key::Bool(&[0, 7]), Key::U8(&[0, 1, 255]), Key::U64(&[0, 1, u64::MAX])]);
        ascend(&[Key::I8(&[-128, -1, 0, 127]), Key::I64(&[i64::MIN, -1, 0, i64::MAX])]);
        ascend(&[Key::F32(&f32s), Key::F64(&f64s)]);
    }

    #[test]
    fn all_nans_are_one() {
        let signalling = f64::from_bits(0x7ff0_0000_0000_0001);
        let nans = [f64::NAN, -f64::NAN, signalling, f64::from_bits(u64::MAX)].map(Ordinal::ordinal);
        assert!(nans.iter().all(|&x| x == nans[0]));
        assert_eq!(f32::NAN.ordinal(), f32::from_bits(u32::MAX).ordinal());
    }

    #[test]
    fn columns_share_a_word_while_they_fit() {
        let words = |ranges: &[(u64, u64)]| Words::pack(ranges.iter().copied()).widths;
        assert_eq!(words(&[(5, 5), (7, 7)]), []);
        assert_eq!(words(&[(5, 6), (1000, 2023), (0, 0)]), [11]);
        assert_eq!(words(&[(0, u32::MAX.into()), (0, u32::MAX.into()), (0, 1)]), [64, 1]);
        assert_eq!(words(&[(0, u64::MAX), (0, u64::MAX)]), [64, 64]);
    }
}
