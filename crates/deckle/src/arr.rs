//! Arrays of a program: [`Arr`].
//!
//! `Arr<T>` is a vector; `Arr<T, D2>` a regular matrix; `Arr<Arr<T>>` a vector of vectors of any lengths. The rank is in the type,
//! so that a matrix where a vector is meant is an error of the Rust compiler.

use crate::elt::{Elt, Handle, IntoHandle, Item, Num, Scalars};
use crate::exp::Exp;
use crate::seq::Seq;
use crate::trace::{self, Raw, apply, apply_bodies, apply_body};
use deckle_ir::array::{Boundary, Coll, Direction, Monoid, Op, ScanKind, Slicer, SplitBy};
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use std::marker::PhantomData;

/// How many dimensions.
pub trait Rank: Copy + 'static {
    /// The number.
    const N: usize;
}

/// One dimension: a vector.
#[derive(Clone, Copy, Debug)]
pub struct D1;
/// Two dimensions: a matrix.
#[derive(Clone, Copy, Debug)]
pub struct D2;
/// Three dimensions.
#[derive(Clone, Copy, Debug)]
pub struct D3;

impl Rank for D1 {
    const N: usize = 1;
}
impl Rank for D2 {
    const N: usize = 2;
}
impl Rank for D3 {
    const N: usize = 3;
}

/// A rank with one below it.
pub trait Above: Rank {
    /// The rank of a row.
    type Below: Rank;
}
impl Above for D2 {
    type Below = D1;
}
impl Above for D3 {
    type Below = D2;
}

/// An array of a program under construction.
#[derive(Debug)]
pub struct Arr<T, D = D1> {
    raw: Raw,
    of: PhantomData<(T, D)>,
}

impl<T, D> Clone for Arr<T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, D> Copy for Arr<T, D> {}

impl<T: Item, D: Rank> Item for Arr<T, D> {
    type Handle = Arr<T, D>;
    fn kind() -> Type {
        (0..D::N).fold(T::kind(), |t, _| Type::array(Size::constant(0), t))
    }
}

#[allow(private_interfaces)]
impl<T: Item, D: Rank> Handle for Arr<T, D> {
    type Item = Arr<T, D>;
    fn raw(self) -> Raw {
        self.raw
    }
    fn from_raw(raw: Raw) -> Self {
        Arr { raw, of: PhantomData }
    }
}

/// What a closure gives, in a collection.
type Made<R> = <<R as IntoHandle>::Handle as Handle>::Item;

fn wrap<T, D>(raw: Raw) -> Arr<T, D> {
    Arr { raw, of: PhantomData }
}

/// The integers from 0 below `n`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| iota(n)).unwrap();
/// assert_eq!(f.call(3).unwrap().to_vec(), [0, 1, 2]);
/// ```
#[track_caller]
pub fn iota(n: impl Into<Exp<i64>>) -> Arr<i64> {
    wrap(apply(Op::Iota(Coll::Array), &[n.into().raw_elt()]))
}

/// The integers from `a` below `b`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| range(2, n)).unwrap();
/// assert_eq!(f.call(5).unwrap().to_vec(), [2, 3, 4]);
/// ```
#[track_caller]
pub fn range(a: impl Into<Exp<i64>>, b: impl Into<Exp<i64>>) -> Arr<i64> {
    range_by(a, b, 1)
}

/// The integers from `a` below `b` (or above it, for a negative step) in steps.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| range_by(n, 0, -2)).unwrap();
/// assert_eq!(f.call(5).unwrap().to_vec(), [5, 3, 1]);
/// ```
#[track_caller]
pub fn range_by(a: impl Into<Exp<i64>>, b: impl Into<Exp<i64>>, step: impl Into<Exp<i64>>) -> Arr<i64> {
    let args = [a.into().raw_elt(), b.into().raw_elt(), step.into().raw_elt()];
    wrap(apply(Op::Range(Coll::Array, false), &args))
}

/// The vector whose element at `i` is `f(i)`.
///
/// ```
/// # use deckle::prelude::*;
/// let squares = compile(|n: Exp<i64>| generate(n, |i| i * i)).unwrap();
/// assert_eq!(squares.call(4).unwrap().to_vec(), [0, 1, 4, 9]);
/// ```
#[track_caller]
pub fn generate<R: IntoHandle>(n: impl Into<Exp<i64>>, f: impl FnOnce(Exp<i64>) -> R) -> Arr<Made<R>> {
    let n = n.into().raw_elt();
    wrap(apply_body(Op::Generate, &[n], |i| f(Exp::from_raw_elt(i[0])).into_handle().raw()))
}

/// The matrix whose element at `(i, j)` is `f(i, j)`.
///
/// ```
/// # use deckle::prelude::*;
/// let table = compile(|n: Exp<i64>| generate2(n, 3, |i, j| i * j)).unwrap();
/// assert_eq!(table.call(2).unwrap().to_rows(), [[0, 0, 0], [0, 1, 2]]);
/// ```
#[track_caller]
pub fn generate2<R: IntoHandle>(
    n: impl Into<Exp<i64>>,
    m: impl Into<Exp<i64>>,
    f: impl FnOnce(Exp<i64>, Exp<i64>) -> R,
) -> Arr<Made<R>, D2> {
    let sizes = [n.into().raw_elt(), m.into().raw_elt()];
    wrap(apply_body(Op::Generate, &sizes, |i| f(Exp::from_raw_elt(i[0]), Exp::from_raw_elt(i[1])).into_handle().raw()))
}

/// `n` times the same element.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| fill(0.5, n)).unwrap();
/// assert_eq!(f.call(2).unwrap().to_vec(), [0.5, 0.5]);
/// ```
#[track_caller]
pub fn fill<X: IntoHandle>(x: X, n: impl Into<Exp<i64>>) -> Arr<Made<X>> {
    wrap(apply(Op::Replicate, &[x.into_handle().raw(), n.into().raw_elt()]))
}

/// The vector of these scalars.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|x: Exp<i64>| array([x, x + 1])).unwrap();
/// assert_eq!(f.call(1).unwrap().to_vec(), [1, 2]);
/// ```
#[track_caller]
pub fn array<X: IntoHandle, const K: usize>(items: [X; K]) -> Arr<Made<X>> {
    let items: Vec<Raw> = items.into_iter().map(|x| x.into_handle().raw()).collect();
    wrap(apply(Op::Array(<Made<X> as Item>::kind()), &items))
}

impl<T: Item> Arr<T> {
    /// How many elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.len()).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0]).unwrap(), 2);
    /// ```
    #[allow(clippy::len_without_is_empty)]
    #[track_caller]
    pub fn len(self) -> Exp<i64> {
        Exp::from_raw_elt(apply(Op::Length, &[self.raw]))
    }

    /// The element at `i`; outside the array, an error when run.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>, i: Exp<i64>| xs.at(i)).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0], 1).unwrap(), 2.0);
    /// assert!(f.call(vec![1.0, 2.0], 2).is_err());
    /// ```
    #[track_caller]
    pub fn at(self, i: impl Into<Exp<i64>>) -> T::Handle {
        T::Handle::from_raw(apply(Op::Index, &[self.raw, i.into().raw_elt()]))
    }

    /// Applies a function to each element.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.map(|x| x * x + 1.0)).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0]).unwrap().to_vec(), [2.0, 5.0]);
    /// ```
    #[track_caller]
    pub fn map<R: IntoHandle>(self, f: impl FnOnce(T::Handle) -> R) -> Arr<Made<R>> {
        wrap(apply_body(Op::Map, &[self.raw], |x| f(T::Handle::from_raw(x[0])).into_handle().raw()))
    }

    /// Applies a function to the position and the element.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.imap(|i, x| x * 10 + i)).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap().to_vec(), [10, 21]);
    /// ```
    #[track_caller]
    pub fn imap<R: IntoHandle>(self, f: impl FnOnce(Exp<i64>, T::Handle) -> R) -> Arr<Made<R>> {
        iota(self.len()).zip_with(self, f)
    }

    /// Applies a function to corresponding elements; unequal lengths are an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let dot = compile(|xs: Arr<f32>, ys: Arr<f32>| xs.zip_with(ys, |x, y| x * y).sum()).unwrap();
    /// assert_eq!(dot.call(vec![1.0, 2.0], vec![3.0, 4.0]).unwrap(), 11.0);
    /// assert!(dot.call(vec![1.0], vec![3.0, 4.0]).is_err());
    /// ```
    #[track_caller]
    pub fn zip_with<U: Item, R: IntoHandle>(
        self,
        ys: Arr<U>,
        f: impl FnOnce(T::Handle, U::Handle) -> R,
    ) -> Arr<Made<R>> {
        wrap(apply_body(Op::Map, &[self.raw, ys.raw], |x| {
            f(T::Handle::from_raw(x[0]), U::Handle::from_raw(x[1])).into_handle().raw()
        }))
    }

    /// The elements for which the function gives `true`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.filter(|x| (x % 2).equals(0))).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3, 4]).unwrap().to_vec(), [2, 4]);
    /// ```
    #[track_caller]
    pub fn filter(self, f: impl FnOnce(T::Handle) -> Exp<bool>) -> Arr<T> {
        wrap(apply_body(Op::Filter, &[self.raw], |x| f(T::Handle::from_raw(x[0])).raw_elt()))
    }

    /// The elements for which the function gives `true`, and the others.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| { let (a, b) = xs.partition(|x| x.lt(3)); a.append(b) }).unwrap();
    /// assert_eq!(f.call(vec![4, 1, 3, 2]).unwrap().to_vec(), [1, 2, 4, 3]);
    /// ```
    #[track_caller]
    pub fn partition(self, f: impl FnOnce(T::Handle) -> Exp<bool>) -> (Arr<T>, Arr<T>) {
        let both = apply_body(Op::Partition, &[self.raw], |x| f(T::Handle::from_raw(x[0])).raw_elt());
        (wrap(apply(Op::Proj(0), &[both])), wrap(apply(Op::Proj(1), &[both])))
    }

    /// For each element `x` the `get(x, i)` for `i` below `size(x)`, all one after another.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.expand(|x| x, |x, i| x * 10 + i)).unwrap();
    /// assert_eq!(f.call(vec![2, 0, 1]).unwrap().to_vec(), [20, 21, 10]);
    /// ```
    #[track_caller]
    pub fn expand<R: IntoHandle>(
        self,
        size: impl FnOnce(T::Handle) -> Exp<i64>,
        get: impl FnOnce(T::Handle, Exp<i64>) -> R,
    ) -> Arr<Made<R>> {
        wrap(apply_bodies(
            Op::Expand,
            &[self.raw],
            |x| size(T::Handle::from_raw(x[0])).raw_elt(),
            |x| get(T::Handle::from_raw(x[0]), Exp::from_raw_elt(x[1])).into_handle().raw(),
        ))
    }

    /// One after another.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.append(xs)).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap().to_vec(), [1, 2, 1, 2]);
    /// ```
    #[track_caller]
    pub fn append(self, ys: Arr<T>) -> Arr<T> {
        wrap(apply(Op::Concat(0), &[self.raw, ys.raw]))
    }

    /// From last to first.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.rev()).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [3, 2, 1]);
    /// ```
    #[track_caller]
    pub fn rev(self) -> Arr<T> {
        wrap(apply(Op::Reverse(0), &[self.raw]))
    }

    /// The first `n` elements, or all if there are fewer.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.take(2)).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [1, 2]);
    /// ```
    #[track_caller]
    pub fn take(self, n: impl Into<Exp<i64>>) -> Arr<T> {
        wrap(apply(Op::Take, &[self.raw, n.into().raw_elt()]))
    }

    /// All but the first `n` elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.skip(2)).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [3]);
    /// ```
    #[track_caller]
    pub fn skip(self, n: impl Into<Exp<i64>>) -> Arr<T> {
        wrap(apply(Op::Drop, &[self.raw, n.into().raw_elt()]))
    }

    /// The elements from `a` below `b`; outside the array, an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.slice(1, 3)).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3, 4]).unwrap().to_vec(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn slice(self, a: impl Into<Exp<i64>>, b: impl Into<Exp<i64>>) -> Arr<T> {
        wrap(apply(Op::Slice(vec![Slicer::Range]), &[self.raw, a.into().raw_elt(), b.into().raw_elt()]))
    }

    /// The elements at these positions.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>, is: Arr<i64>| xs.gather(is)).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0], vec![1, 1, 0]).unwrap().to_vec(), [2.0, 2.0, 1.0]);
    /// ```
    #[track_caller]
    pub fn gather(self, positions: Arr<i64>) -> Arr<T> {
        wrap(apply_body(Op::Map, &[positions.raw], |i| apply(Op::Index, &[self.raw, i[0]])))
    }

    /// Cuts into rows of these lengths.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ls: Arr<i64>| xs.split(ls).map(|row| row.sum())).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3], vec![2, 0, 1]).unwrap().to_vec(), [3, 0, 3]);
    /// ```
    #[track_caller]
    pub fn split(self, lengths: Arr<i64>) -> Arr<Arr<T>> {
        wrap(apply(Op::Split(SplitBy::Lengths), &[self.raw, lengths.raw]))
    }

    /// Cuts into rows: row `i` holds the elements from `offsets[i]` below `offsets[i+1]`, as in CSR.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, os: Arr<i64>| xs.split_offsets(os).map(|row| row.len())).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3], vec![0, 2, 3]).unwrap().to_vec(), [2, 1]);
    /// ```
    #[track_caller]
    pub fn split_offsets(self, offsets: Arr<i64>) -> Arr<Arr<T>> {
        wrap(apply(Op::Split(SplitBy::Offsets), &[self.raw, offsets.raw]))
    }

    /// Streams the elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.stream().map(|x| x * 2).sum()).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap(), 6);
    /// ```
    #[track_caller]
    pub fn stream(self) -> Seq<T> {
        Seq::from_raw(apply(Op::Seq, &[self.raw]))
    }

    /// In ascending order of a key, stable.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.sort_by_key(|x| -x)).unwrap();
    /// assert_eq!(f.call(vec![1, 3, 2]).unwrap().to_vec(), [3, 2, 1]);
    /// ```
    #[track_caller]
    pub fn sort_by_key<K: Elt>(self, key: impl FnOnce(T::Handle) -> Exp<K>) -> Arr<T> {
        wrap(apply_body(Op::SortBy, &[self.raw], |x| key(T::Handle::from_raw(x[0])).raw_elt()))
    }
}

impl<T: Item> Arr<Arr<T>> {
    /// All rows one after another.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xss: Arr<Arr<i64>>| xss.flatten()).unwrap();
    /// assert_eq!(f.call(vec![vec![1, 2], vec![], vec![3]]).unwrap().to_vec(), [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn flatten(self) -> Arr<T> {
        wrap(apply(Op::Flatten, &[self.raw]))
    }

    /// As a matrix; rows of different length are an error when run.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xss: Arr<Arr<i64>>| xss.regular().transpose()).unwrap();
    /// assert_eq!(f.call(vec![vec![1, 2], vec![3, 4]]).unwrap().to_rows(), [[1, 3], [2, 4]]);
    /// assert!(f.call(vec![vec![1, 2], vec![3]]).is_err());
    /// ```
    #[track_caller]
    pub fn regular(self) -> Arr<T, D2> {
        wrap(trace::regular(self.raw, 2))
    }
}

impl<T: Item + Elt> Arr<T> {
    /// All elements combined with an associative function, starting with `z`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.fold(0, |a, b| a.max(b))).unwrap();
    /// assert_eq!(f.call(vec![3, 7, 5]).unwrap(), 7);
    /// ```
    #[track_caller]
    pub fn fold(self, z: impl Into<Exp<T>>, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Exp<T> {
        let z = z.into().raw_elt();
        Exp::from_raw_elt(apply_body(Op::Fold, &[z, self.raw], |x| {
            f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).raw_elt()
        }))
    }

    /// The same without a start; no elements are an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.fold1(|a, b| a * b)).unwrap();
    /// assert_eq!(f.call(vec![3, 7]).unwrap(), 21);
    /// ```
    #[track_caller]
    pub fn fold1(self, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Exp<T> {
        Exp::from_raw_elt(apply_body(Op::Fold1, &[self.raw], |x| {
            f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).raw_elt()
        }))
    }

    #[track_caller]
    fn scanning(self, d: Direction, k: ScanKind, z: Option<Raw>, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Arr<T> {
        let args: Vec<Raw> = z.into_iter().chain([self.raw]).collect();
        wrap(apply_body(Op::Scan(d, k), &args, |x| f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).raw_elt()))
    }

    /// Exclusive: `[z, z+a, ...]`, as many as there are elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan(0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4]).unwrap().to_vec(), [0, 3, 8]);
    /// ```
    #[track_caller]
    pub fn scan(self, z: impl Into<Exp<T>>, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Arr<T> {
        self.scanning(Direction::Left, ScanKind::Exclusive, Some(z.into().raw_elt()), f)
    }

    /// Inclusive: `[a, a+b, ...]`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_inclusive(|a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4]).unwrap().to_vec(), [3, 8, 12]);
    /// ```
    #[track_caller]
    pub fn scan_inclusive(self, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Arr<T> {
        self.scanning(Direction::Left, ScanKind::Inclusive, None, f)
    }

    /// Exclusive, and the total at the end.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_full(0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5]).unwrap().to_vec(), [0, 3, 8]);
    /// ```
    #[track_caller]
    pub fn scan_full(self, z: impl Into<Exp<T>>, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Arr<T> {
        self.scanning(Direction::Left, ScanKind::Full, Some(z.into().raw_elt()), f)
    }

    /// Exclusive from the right.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.scan_right(0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4]).unwrap().to_vec(), [9, 4, 0]);
    /// ```
    #[track_caller]
    pub fn scan_right(self, z: impl Into<Exp<T>>, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Arr<T> {
        self.scanning(Direction::Right, ScanKind::Exclusive, Some(z.into().raw_elt()), f)
    }

    /// In ascending order, stable.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.sort()).unwrap();
    /// assert_eq!(f.call(vec![3, 1, 2]).unwrap().to_vec(), [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn sort(self) -> Arr<T> {
        wrap(apply(Op::Sort, &[self.raw]))
    }

    /// Pairs of corresponding elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ys: Arr<f64>| xs.zip(ys)).unwrap();
    /// assert_eq!(f.call(vec![1], vec![0.5]).unwrap().to_vec(), [(1, 0.5)]);
    /// ```
    #[track_caller]
    pub fn zip<U: Item + Elt>(self, ys: Arr<U>) -> Arr<(T, U)> {
        wrap(apply(Op::Zip, &[self.raw, ys.raw]))
    }

    /// Stores each element at its target in `self`; of several with one target the last stays.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| fill(0, 4).scatter(array([1, 3, 1]), xs)).unwrap();
    /// assert_eq!(f.call(vec![7, 8, 9]).unwrap().to_vec(), [0, 9, 0, 8]);
    /// ```
    #[track_caller]
    pub fn scatter(self, targets: Arr<i64>, xs: Arr<T>) -> Arr<T> {
        wrap(apply(Op::Scatter, &[self.raw, targets.raw, xs.raw]))
    }

    /// Combines each element of `xs` into `self` at its target by `f(new, old)`, in order.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let histogram = compile(|is: Arr<i64>| fill(0, 3).permute(is, fill(1, is.len()), |new, old| old + new)).unwrap();
    /// assert_eq!(histogram.call(vec![2, 0, 2]).unwrap().to_vec(), [1, 0, 2]);
    /// ```
    #[track_caller]
    pub fn permute<U: Item + Elt>(
        self,
        targets: Arr<i64>,
        xs: Arr<U>,
        f: impl FnOnce(Exp<U>, Exp<T>) -> Exp<T>,
    ) -> Arr<T> {
        wrap(apply_body(Op::Permute, &[self.raw, targets.raw, xs.raw], |x| {
            f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).raw_elt()
        }))
    }

    /// At each position the function of the window of `2 * radius + 1` elements around it.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let blur = compile(|xs: Arr<f64>| xs.stencil(1, Edge::Clamp, |w| (w.at(0) + w.at(1) + w.at(2)) / 3.0)).unwrap();
    /// assert_eq!(blur.call(vec![0.0, 3.0, 6.0]).unwrap().to_vec(), [1.0, 3.0, 5.0]);
    /// ```
    #[track_caller]
    pub fn stencil<U: Elt + Item<Handle = Exp<U>>>(
        self,
        radius: u32,
        edge: Edge<T>,
        f: impl FnOnce(Arr<T>) -> Exp<U>,
    ) -> Arr<U> {
        let (boundary, extra) = edge.parts();
        let args: Vec<Raw> = [self.raw].into_iter().chain(extra).collect();
        wrap(apply_body(Op::Stencil(vec![radius], boundary), &args, |w| f(wrap(w[0])).raw_elt()))
    }
}

/// What a stencil sees beyond the edge.
#[derive(Clone, Copy, Debug)]
pub enum Edge<T> {
    /// The nearest element.
    Clamp,
    /// Mirrored, with the edge repeated.
    Mirror,
    /// From the other side.
    Wrap,
    /// A given element.
    Constant(Exp<T>),
}

impl<T> Edge<T> {
    fn parts(self) -> (Boundary, Option<Raw>) {
        match self {
            Edge::Clamp => (Boundary::Clamp, None),
            Edge::Mirror => (Boundary::Mirror, None),
            Edge::Wrap => (Boundary::Wrap, None),
            Edge::Constant(x) => (Boundary::Constant, Some(x.raw_elt())),
        }
    }
}

macro_rules! reductions {
    ($class:ident: $($(#[$doc:meta])* $method:ident $monoid:ident $result:ty;)*) => {
        impl<T: Item + $class> Arr<T> {
            $($(#[$doc])* #[track_caller] pub fn $method(self) -> Exp<$result> {
                Exp::from_raw_elt(apply(Op::Reduce(Monoid::$monoid), &[self.raw]))
            })*
        }
    };
}

reductions! { Num:
    /// The sum; of nothing, 0.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.sum()).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.5]).unwrap(), 3.5);
    /// ```
    sum Sum T;
    /// The product; of nothing, 1.
    product Product T;
    /// The least; no elements are an error.
    min Min T;
    /// The greatest; no elements are an error.
    max Max T;
    /// The position of the first least element.
    argmin ArgMin i64;
    /// The position of the first greatest element.
    argmax ArgMax i64;
}

impl Arr<bool> {
    /// Whether any is true.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.map(|x| x.gt(2)).any()).unwrap();
    /// assert!(f.call(vec![1, 3]).unwrap());
    /// ```
    #[track_caller]
    pub fn any(self) -> Exp<bool> {
        Exp::from_raw_elt(apply(Op::Reduce(Monoid::Any), &[self.raw]))
    }

    /// Whether all are true.
    #[track_caller]
    pub fn all(self) -> Exp<bool> {
        Exp::from_raw_elt(apply(Op::Reduce(Monoid::All), &[self.raw]))
    }
}

impl<T: Item, D: Above> Arr<T, D> {
    /// The rows, as a vector of arrays of one rank less.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<f64, D2>, x: Arr<f64>| a.rows().map(|row| row.zip_with(x, |a, b| a * b).sum())).unwrap();
    /// let a = Array::from_rows(vec![vec![1.0, 2.0], vec![3.0, 4.0]]).unwrap();
    /// assert_eq!(f.call(a, vec![1.0, 10.0]).unwrap().to_vec(), [21.0, 43.0]);
    /// ```
    pub fn rows(self) -> Arr<Arr<T, D::Below>> {
        wrap(self.raw)
    }
}

impl<T: Item> Arr<T, D2> {
    /// Exchanges rows and columns.
    #[track_caller]
    pub fn transpose(self) -> Arr<T, D2> {
        wrap(apply(Op::Transpose(vec![1, 0]), &[trace::regular(self.raw, 2)]))
    }

    /// How many rows and columns.
    #[track_caller]
    pub fn shape(self) -> (Exp<i64>, Exp<i64>) {
        let shape = apply(Op::Shape(2), &[trace::regular(self.raw, 2)]);
        (Exp::from_raw_elt(apply(Op::Proj(0), &[shape])), Exp::from_raw_elt(apply(Op::Proj(1), &[shape])))
    }

    /// The element at `(i, j)`.
    #[track_caller]
    pub fn at(self, i: impl Into<Exp<i64>>, j: impl Into<Exp<i64>>) -> T::Handle {
        T::Handle::from_raw(apply(Op::Index, &[self.raw, i.into().raw_elt(), j.into().raw_elt()]))
    }
}

impl<T: Item + Elt> Arr<T, D2> {
    /// Applies a function to each element, keeping the shape.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.map(|x| x + 1)).unwrap();
    /// assert_eq!(f.call(Array::from_rows(vec![vec![1], vec![2]]).unwrap()).unwrap().to_rows(), [[2], [3]]);
    /// ```
    #[track_caller]
    pub fn map<U: Elt + Item<Handle = Exp<U>>>(self, f: impl FnOnce(Exp<T>) -> Exp<U>) -> Arr<U, D2> {
        wrap(apply_body(Op::Map, &[self.raw], |row| {
            apply_body(Op::Map, &[row[0]], |x| f(Exp::from_raw_elt(x[0])).raw_elt())
        }))
    }

    /// At each position the function of the window of `2 * radius + 1` rows and columns around it.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let cross = compile(|a: Arr<i64, D2>| a.stencil((1, 1), Edge::Wrap, |w| w.at(0, 1) + w.at(2, 1))).unwrap();
    /// let a = Array::from_rows(vec![vec![1, 2], vec![10, 20], vec![100, 200]]).unwrap();
    /// assert_eq!(cross.call(a).unwrap().to_rows(), [[110, 220], [101, 202], [11, 22]]);
    /// ```
    #[track_caller]
    pub fn stencil<U: Elt + Item<Handle = Exp<U>>>(
        self,
        radius: (u32, u32),
        edge: Edge<T>,
        f: impl FnOnce(Arr<T, D2>) -> Exp<U>,
    ) -> Arr<U, D2> {
        let (boundary, extra) = edge.parts();
        let args: Vec<Raw> = [trace::regular(self.raw, 2)].into_iter().chain(extra).collect();
        wrap(apply_body(Op::Stencil(vec![radius.0, radius.1], boundary), &args, |w| f(wrap(w[0])).raw_elt()))
    }
}

/// A vector of Rust values as a constant of the program.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|i: Exp<i64>| constant_array(&[2.0, 3.0, 5.0]).at(i)).unwrap();
/// assert_eq!(f.call(2).unwrap(), 5.0);
/// ```
#[track_caller]
pub fn constant_array<T: Scalars + Item>(items: &[T]) -> Arr<T> {
    let value = deckle_ir::value::Value::array(items.iter().map(|x| x.to_value()).collect());
    let ty = Type::array(Size::constant(items.len() as i128), <T as Elt>::ty());
    wrap(apply(Op::Use(std::sync::Arc::new(deckle_ir::array::Constant { ty, value })), &[]))
}
