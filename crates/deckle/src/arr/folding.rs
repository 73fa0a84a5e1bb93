//! Folds: along the innermost axis at every rank, over all elements, over segments.

use super::{Arr, Rank, wrap};
use crate::elt::{Elt, Handle, IntoExp, IntoHandle, Item, Num, in_order};
use crate::exp::Exp;
use crate::trace::{Raw, apply, apply_body, each};
use deckle_ir::array::{Monoid, Op, SplitBy};

/// The body of a fold or scan.
pub(super) fn operator<T: Elt, R: IntoExp<T>>(f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> impl FnOnce(&[Raw]) -> Raw {
    |x| f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).into_exp().raw_elt()
}

impl<T: Elt, D: Rank> Arr<T, D> {
    /// The elements along the innermost axis combined with an associative function, starting with `z`: one result for a vector, one per
    /// row for a matrix.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.fold(0, |a, b| a.max(b))).unwrap();
    /// assert_eq!(f.call(vec![3, 7, 5]).unwrap(), 7);
    ///
    /// let rows = compile(|a: Arr<i64, D2>| a.fold(1, |a, b| a * b)).unwrap();
    /// assert_eq!(rows.call(Array::new(&[2, 2], vec![1, 2, 3, 4]).unwrap()).unwrap().to_vec(), [2, 12]);
    /// ```
    #[track_caller]
    pub fn fold<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> D::Folded<T> {
        let z = z.into_exp().raw_elt();
        let rows = |x: &[Raw]| apply_body(Op::Fold, &[z, x[0]], operator(f));
        D::Folded::from_raw(each(D::N - 1, &[self.raw], Box::new(rows)))
    }

    /// The same without a start; an empty array is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.fold1(|a, b| a * b)).unwrap();
    /// assert_eq!(f.call(vec![3, 7]).unwrap(), 21);
    /// assert!(f.call(vec![]).is_err());
    /// ```
    #[track_caller]
    pub fn fold1<R: IntoExp<T>>(self, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> D::Folded<T> {
        let rows = |x: &[Raw]| apply_body(Op::Fold1, &[x[0]], operator(f));
        D::Folded::from_raw(each(D::N - 1, &[self.raw], Box::new(rows)))
    }

    /// All elements of all dimensions combined.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.fold_all(0, |a, b| a.max(b))).unwrap();
    /// assert_eq!(f.call(Array::new(&[2, 2], vec![1, 9, 3, 4]).unwrap()).unwrap(), 9);
    /// ```
    #[track_caller]
    pub fn fold_all<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Exp<T> {
        self.elements().fold(z, f)
    }

    #[track_caller]
    fn reduce<U: Elt>(self, m: Monoid) -> D::Folded<U> {
        D::Folded::from_raw(each(D::N - 1, &[self.raw], Box::new(|x| apply(Op::Reduce(m), x))))
    }
}

impl<T: Item> Arr<T> {
    /// All elements combined, of any type: rows, for example. The function must be associative.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xss: Arr<Arr<i64>>| xss.fold_items(iota(0), |a, b| a.append(b))).unwrap();
    /// assert_eq!(f.call(vec![vec![1], vec![2, 3]]).unwrap().to_vec(), [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn fold_items<R: IntoHandle<Handle = T::Handle>>(
        self,
        z: impl IntoHandle<Handle = T::Handle>,
        f: impl FnOnce(T::Handle, T::Handle) -> R,
    ) -> T::Handle {
        let z = z.into_handle().raw();
        T::Handle::from_raw(apply_body(Op::Fold, &[z, self.raw], |x| {
            f(T::Handle::from_raw(x[0]), T::Handle::from_raw(x[1])).into_handle().raw()
        }))
    }

    /// A state that starts with `start` and is updated by one element after another. It has a type of its own, and the function need not be associative; so
    /// only the computation of the elements is parallel.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let digits = compile(|xs: Arr<u8>| xs.fold_ordered(0i64, |n, x| n * 10 + x.cast::<i64>())).unwrap();
    /// assert_eq!(digits.call(vec![3, 7, 5]).unwrap(), 375);
    ///
    /// let rows = compile(|xss: Arr<Arr<i64>>| xss.fold_ordered(1, |s, xs| s * 2 + xs.sum())).unwrap();
    /// assert_eq!(rows.call(vec![vec![1], vec![2, 3]]).unwrap(), 11);
    /// ```
    #[track_caller]
    pub fn fold_ordered<S: IntoHandle, R: IntoHandle<Handle = S::Handle>>(
        self,
        start: S,
        f: impl FnOnce(S::Handle, T::Handle) -> R,
    ) -> S::Handle {
        S::Handle::from_raw(in_order::<S, T, R>(Op::FoldOrdered, start, self.raw, f))
    }

    /// The state of [`Arr::fold_ordered`] after each element: filters, automata.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let smooth = compile(|xs: Arr<f64>| xs.scan_ordered(0.0, |s, x| s + 0.5 * (x - s))).unwrap();
    /// assert_eq!(smooth.call(vec![1.0, 2.0, 3.0]).unwrap().to_vec(), [0.5, 1.25, 2.125]);
    /// ```
    #[track_caller]
    pub fn scan_ordered<S: IntoHandle, R: IntoHandle<Handle = S::Handle>>(
        self,
        start: S,
        f: impl FnOnce(S::Handle, T::Handle) -> R,
    ) -> Arr<<S::Handle as Handle>::Item> {
        wrap(in_order::<S, T, R>(Op::ScanOrdered, start, self.raw, f))
    }
}

impl<T: Num, D: Rank> Arr<T, D> {
    /// The sum along the innermost axis; 0 if empty.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.sum()).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.5]).unwrap(), 3.5);
    ///
    /// fn row_sums<D: Rank>(a: Arr<f64, D>) -> D::Folded<f64> {
    ///     a.sum()
    /// }
    /// let g = compile(|a: Arr<f64, D2>| row_sums(a)).unwrap();
    /// assert_eq!(g.call(Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap()).unwrap().to_vec(), [3.0, 7.0]);
    /// ```
    #[track_caller]
    pub fn sum(self) -> D::Folded<T> {
        self.reduce(Monoid::Sum)
    }

    /// The product along the innermost axis; 1 if empty.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let factorial = compile(|n: Exp<i64>| range_inclusive(1, n).product()).unwrap();
    /// assert_eq!(factorial.call(5).unwrap(), 120);
    /// ```
    #[track_caller]
    pub fn product(self) -> D::Folded<T> {
        self.reduce(Monoid::Product)
    }

    /// The minimum along the innermost axis; an empty axis is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.min()).unwrap();
    /// assert_eq!(f.call([3, 1, 2]).unwrap(), 1);
    /// assert!(f.call([]).is_err());
    /// ```
    #[track_caller]
    pub fn min(self) -> D::Folded<T> {
        self.reduce(Monoid::Min)
    }

    /// The maximum along the innermost axis; an empty axis is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.max()).unwrap();
    /// assert_eq!(f.call([3, 1, 2]).unwrap(), 3);
    /// ```
    #[track_caller]
    pub fn max(self) -> D::Folded<T> {
        self.reduce(Monoid::Max)
    }

    /// The position of the first minimum along the innermost axis; an empty axis is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.argmin()).unwrap();
    /// assert_eq!(f.call([3.0, 1.0, 1.0]).unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn argmin(self) -> D::Folded<i64> {
        self.reduce(Monoid::ArgMin)
    }

    /// The position of the first maximum along the innermost axis; an empty axis is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.argmax()).unwrap();
    /// assert_eq!(f.call([3.0, 1.0, 3.0]).unwrap(), 0);
    /// ```
    #[track_caller]
    pub fn argmax(self) -> D::Folded<i64> {
        self.reduce(Monoid::ArgMax)
    }

    /// The sum of all elements of all dimensions.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.sum_all()).unwrap();
    /// assert_eq!(f.call(Array::new(&[2, 2], vec![1, 2, 3, 4]).unwrap()).unwrap(), 10);
    /// ```
    #[track_caller]
    pub fn sum_all(self) -> Exp<T> {
        self.elements().sum()
    }
}

impl<D: Rank> Arr<bool, D> {
    /// Whether any is true, along the innermost axis.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.map(|x| x.gt(2)).any()).unwrap();
    /// assert!(f.call(vec![1, 3]).unwrap());
    /// ```
    #[track_caller]
    pub fn any(self) -> D::Folded<bool> {
        self.reduce(Monoid::Any)
    }

    /// Whether all are true, along the innermost axis.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.map(|x| x.gt(2)).all()).unwrap();
    /// assert!(!f.call(vec![1, 3]).unwrap());
    /// ```
    #[track_caller]
    pub fn all(self) -> D::Folded<bool> {
        self.reduce(Monoid::All)
    }
}

/// Segmented forms: a vector split into segments of these lengths.
impl<T: Elt> Arr<T> {
    /// The fold of each segment.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ls: Arr<i64>| xs.seg_fold(ls, 0, |a, b| a.max(b))).unwrap();
    /// assert_eq!(f.call([3, 1, 2], [2, 0, 1]).unwrap().to_vec(), [3, 0, 2]);
    /// ```
    #[track_caller]
    pub fn seg_fold<R: IntoExp<T>>(
        self,
        lengths: Arr<i64>,
        z: impl IntoExp<T>,
        f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    ) -> Arr<T> {
        let z = z.into_exp().raw_elt();
        let rows = apply(Op::Split(SplitBy::Lengths), &[self.raw, lengths.raw]);
        wrap(apply_body(Op::Map, &[rows], |row| apply_body(Op::Fold, &[z, row[0]], operator(f))))
    }

    /// The sum of each segment.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ls: Arr<i64>| xs.seg_sum(ls)).unwrap();
    /// assert_eq!(f.call([3, 1, 2], [2, 0, 1]).unwrap().to_vec(), [4, 0, 2]);
    /// ```
    #[track_caller]
    pub fn seg_sum(self, lengths: Arr<i64>) -> Arr<T>
    where
        T: Num,
    {
        let rows = apply(Op::Split(SplitBy::Lengths), &[self.raw, lengths.raw]);
        wrap(apply_body(Op::Map, &[rows], |row| apply(Op::Reduce(Monoid::Sum), row)))
    }
}
