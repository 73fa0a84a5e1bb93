//! Scans: along the innermost axis at every rank, and over segments.

use super::folding::operator;
use super::{Arr, Rank, wrap};
use crate::elt::{Elt, IntoExp};
use crate::exp::Exp;
use crate::trace::{Raw, apply, apply_body, each};
use deckle_ir::array::{Direction, Op, ScanKind, SplitBy};

impl<T: Elt, D: Rank> Arr<T, D> {
    #[track_caller]
    fn scanning(self, d: Direction, k: ScanKind, z: Option<Raw>, f: impl FnOnce(&[Raw]) -> Raw) -> Arr<T, D> {
        let rows = |x: &[Raw]| {
            let args: Vec<Raw> = z.into_iter().chain([x[0]]).collect();
            apply_body(Op::Scan(d, k), &args, f)
        };
        wrap(each(D::N - 1, &[self.raw], Box::new(rows)))
    }

    /// Exclusive: `[z, z+a, ...]`, one for each element.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan(0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4]).unwrap().to_vec(), [0, 3, 8]);
    /// ```
    #[track_caller]
    pub fn scan<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Arr<T, D> {
        self.scanning(Direction::Left, ScanKind::Exclusive, Some(z.into_exp().raw_elt()), operator(f))
    }

    /// Inclusive: `[a, a+b, ...]`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_inclusive(|a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4]).unwrap().to_vec(), [3, 8, 12]);
    ///
    /// let rows = compile(|a: Arr<i64, D2>| a.scan_inclusive(|a, b| a + b)).unwrap();
    /// assert_eq!(rows.call(Array::new(&[2, 2], vec![1, 2, 3, 4]).unwrap()).unwrap().to_rows(), [[1, 3], [3, 7]]);
    /// ```
    #[track_caller]
    pub fn scan_inclusive<R: IntoExp<T>>(self, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Arr<T, D> {
        self.scanning(Direction::Left, ScanKind::Inclusive, None, operator(f))
    }

    /// Inclusive with a start: `[z+a, z+a+b, ...]`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_inclusive_from(10, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5]).unwrap().to_vec(), [13, 18]);
    /// ```
    #[track_caller]
    pub fn scan_inclusive_from<R: IntoExp<T>>(
        self,
        z: impl IntoExp<T>,
        f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    ) -> Arr<T, D> {
        self.scanning(Direction::Left, ScanKind::Inclusive, Some(z.into_exp().raw_elt()), operator(f))
    }

    /// Exclusive, with the total at the end: one more than there are elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_full(0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5]).unwrap().to_vec(), [0, 3, 8]);
    /// ```
    #[track_caller]
    pub fn scan_full<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Arr<T, D> {
        self.scanning(Direction::Left, ScanKind::Full, Some(z.into_exp().raw_elt()), operator(f))
    }

    /// Exclusive from the right.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_right(0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4]).unwrap().to_vec(), [9, 4, 0]);
    /// ```
    #[track_caller]
    pub fn scan_right<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Arr<T, D> {
        self.scanning(Direction::Right, ScanKind::Exclusive, Some(z.into_exp().raw_elt()), operator(f))
    }

    /// Inclusive from the right.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_right_inclusive(|a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4]).unwrap().to_vec(), [12, 9, 4]);
    /// ```
    #[track_caller]
    pub fn scan_right_inclusive<R: IntoExp<T>>(self, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Arr<T, D> {
        self.scanning(Direction::Right, ScanKind::Inclusive, None, operator(f))
    }

    /// Inclusive from the right with a start.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_right_inclusive_from(10, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5]).unwrap().to_vec(), [18, 15]);
    /// ```
    #[track_caller]
    pub fn scan_right_inclusive_from<R: IntoExp<T>>(
        self,
        z: impl IntoExp<T>,
        f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    ) -> Arr<T, D> {
        self.scanning(Direction::Right, ScanKind::Inclusive, Some(z.into_exp().raw_elt()), operator(f))
    }

    /// Exclusive from the right, with the total at the beginning.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_right_full(0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5]).unwrap().to_vec(), [8, 5, 0]);
    /// ```
    #[track_caller]
    pub fn scan_right_full<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Arr<T, D> {
        self.scanning(Direction::Right, ScanKind::Full, Some(z.into_exp().raw_elt()), operator(f))
    }
}

/// Segmented forms: a vector split into segments of these lengths.
impl<T: Elt> Arr<T> {
    #[track_caller]
    fn seg_scanning(self, lengths: Arr<i64>, k: ScanKind, z: Option<Raw>, f: impl FnOnce(&[Raw]) -> Raw) -> Arr<T> {
        let rows = apply(Op::Split(SplitBy::Lengths), &[self.raw, lengths.raw]);
        let scanned = apply_body(Op::Map, &[rows], |row| {
            let args: Vec<Raw> = z.into_iter().chain([row[0]]).collect();
            apply_body(Op::Scan(Direction::Left, k), &args, f)
        });
        wrap(apply(Op::Flatten, &[scanned]))
    }

    /// The exclusive scan of each segment.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ls: Arr<i64>| xs.seg_scan(ls, 0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call([3, 1, 2], [2, 1]).unwrap().to_vec(), [0, 3, 0]);
    /// ```
    #[track_caller]
    pub fn seg_scan<R: IntoExp<T>>(
        self,
        lengths: Arr<i64>,
        z: impl IntoExp<T>,
        f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    ) -> Arr<T> {
        self.seg_scanning(lengths, ScanKind::Exclusive, Some(z.into_exp().raw_elt()), operator(f))
    }

    /// The inclusive scan of each segment.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ls: Arr<i64>| xs.seg_scan_inclusive(ls, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call([3, 1, 2], [2, 1]).unwrap().to_vec(), [3, 4, 2]);
    /// ```
    #[track_caller]
    pub fn seg_scan_inclusive<R: IntoExp<T>>(self, lengths: Arr<i64>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Arr<T> {
        self.seg_scanning(lengths, ScanKind::Inclusive, None, operator(f))
    }
}
