//! Moving elements: gathering, scattering, filtering, expanding, sorting and grouping.

use super::{Arr, Extent, Made, Rank, wrap};
use crate::bundle::Tup;
use crate::elt::{Elt, Handle, IntoExp, IntoHandle, Item};
use crate::exp::Exp;
use crate::trace::{Raw, apply, apply_bodies, apply_body};
use deckle_ir::array::Op;

impl<T: Item, D: Rank> Arr<T, D> {
    /// The array of another shape whose element at each position is the one at the position that `f` returns.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let evens = compile(|xs: Arr<i64>| xs.backpermute(xs.len() / 2, |i| i * 2)).unwrap();
    /// assert_eq!(evens.call([1, 2, 3, 4]).unwrap().to_vec(), [1, 3]);
    ///
    /// let diagonal = compile(|a: Arr<i64, D2>| a.backpermute(a.len(), |i| (i, i))).unwrap();
    /// assert_eq!(diagonal.call(Array::new(&[2, 2], vec![1, 2, 3, 4]).unwrap()).unwrap().to_vec(), [1, 4]);
    /// ```
    #[track_caller]
    pub fn backpermute<E: Extent>(
        self,
        shape: E,
        f: impl FnOnce(<E::Rank as Rank>::Index) -> D::Index,
    ) -> Arr<T, E::Rank> {
        wrap(apply_body(Op::Generate, &shape.sizes(), |i| {
            let args: Vec<Raw> = [self.raw].into_iter().chain(D::raws(f(E::Rank::index(i)))).collect();
            apply(Op::Index, &args)
        }))
    }
}

impl<T: Item> Arr<T> {
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

    /// The elements for which the function returns `true`.
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

    /// The elements whose flag is true.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, flags: Arr<bool>| xs.compact(flags)).unwrap();
    /// assert_eq!(f.call([1, 2, 3], [true, false, true]).unwrap().to_vec(), [1, 3]);
    /// ```
    #[track_caller]
    pub fn compact(self, flags: Arr<bool>) -> Arr<T> {
        wrap(apply(Op::Compact, &[self.raw, flags.raw]))
    }

    /// The elements for which the function returns `true`, and the others.
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

    /// The concatenation of `get(x, i)` for `i` below `size(x)`, for each element `x`.
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

    /// In ascending order of a key, stable.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.sort_by_key(|x| -x)).unwrap();
    /// assert_eq!(f.call(vec![1, 3, 2]).unwrap().to_vec(), [3, 2, 1]);
    /// ```
    #[track_caller]
    pub fn sort_by_key<K: Elt, R: IntoHandle<Handle = Exp<K>>>(self, key: impl FnOnce(T::Handle) -> R) -> Arr<T> {
        wrap(apply_body(Op::SortBy, &[self.raw], |x| key(T::Handle::from_raw(x[0])).into_handle().raw_elt()))
    }

    /// In ascending order of the keys in another vector, stable.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, keys: Arr<f64>| xs.sort_with(keys)).unwrap();
    /// assert_eq!(f.call([1, 2, 3], [0.5, 0.1, 0.3]).unwrap().to_vec(), [2, 3, 1]);
    /// ```
    #[track_caller]
    pub fn sort_with<K: Elt>(self, keys: Arr<K>) -> Arr<T> {
        let pairs = apply(Op::Zip, &[keys.raw, self.raw]);
        let sorted = apply_body(Op::SortBy, &[pairs], |x| apply(Op::Proj(0), &[x[0]]));
        wrap(apply_body(Op::Map, &[sorted], |x| apply(Op::Proj(1), &[x[0]])))
    }

    /// For each key that occurs, in ascending order, the key and its elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.group_by(|x| x % 2)).unwrap();
    /// assert_eq!(f.call([3, 4, 5]).unwrap().to_vec(), [(0, vec![4]), (1, vec![3, 5])]);
    /// ```
    #[track_caller]
    pub fn group_by<K: Elt, R: IntoHandle<Handle = Exp<K>>>(
        self,
        key: impl FnOnce(T::Handle) -> R,
    ) -> Arr<Tup<(K, Arr<T>)>> {
        wrap(apply_body(Op::GroupBy, &[self.raw], |x| key(T::Handle::from_raw(x[0])).into_handle().raw_elt()))
    }

    /// The same with the keys in another vector.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let totals = compile(|keys: Arr<i64>, xs: Arr<f64>| {
    ///     xs.group_with(keys).map(|group| {
    ///         let (key, members) = group.unpack();
    ///         (key, members.sum())
    ///     })
    /// })
    /// .unwrap();
    /// assert_eq!(totals.call([7, 2, 7], [1.0, 2.0, 3.0]).unwrap().to_vec(), [(2, 2.0), (7, 4.0)]);
    /// ```
    #[track_caller]
    pub fn group_with<K: Elt>(self, keys: Arr<K>) -> Arr<Tup<(K, Arr<T>)>> {
        let pairs = apply(Op::Zip, &[keys.raw, self.raw]);
        let groups = apply_body(Op::GroupBy, &[pairs], |x| apply(Op::Proj(0), &[x[0]]));
        wrap(apply_body(Op::Map, &[groups], |g| {
            let (key, members) = (apply(Op::Proj(0), &[g[0]]), apply(Op::Proj(1), &[g[0]]));
            let values = apply_body(Op::Map, &[members], |x| apply(Op::Proj(1), &[x[0]]));
            apply(Op::Tuple, &[key, values])
        }))
    }
}

impl<T: Elt> Arr<T> {
    /// In ascending order, stable; tuples component by component, NaN last.
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

    /// A vector of `bins` elements that starts with `z` everywhere and combines each element into its bin: reduce by index.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>, bins: Arr<i64>| xs.histogram(bins, 3, 0.0, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call([1.0, 2.0, 4.0], [2, 0, 2]).unwrap().to_vec(), [2.0, 0.0, 5.0]);
    /// ```
    #[track_caller]
    pub fn histogram<R: IntoExp<T>>(
        self,
        targets: Arr<i64>,
        bins: impl IntoExp<i64>,
        z: impl IntoExp<T>,
        f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    ) -> Arr<T> {
        let into: Arr<T> = wrap(apply(Op::Replicate, &[z.into_exp().raw_elt(), bins.into_exp().raw_elt()]));
        into.permute(targets, self, f)
    }
}

impl<T: Elt, D: Rank> Arr<T, D> {
    /// Stores each element at its target in `self`; if several have one target the last is stored. The targets of a matrix are pairs.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| fill(0i64, 4).scatter(array([1i64, 3, 1]), xs)).unwrap();
    /// assert_eq!(f.call(vec![7, 8, 9]).unwrap().to_vec(), [0, 9, 0, 8]);
    /// ```
    #[track_caller]
    pub fn scatter(self, targets: Arr<D::Position>, xs: Arr<T>) -> Arr<T, D> {
        wrap(apply(Op::Scatter, &[self.raw, targets.raw, xs.raw]))
    }

    /// As [`Arr::scatter`], without the elements whose flag is false.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| fill(0i64, 3).scatter_where(xs, xs, xs.map(|x| x.lt(3)))).unwrap();
    /// assert_eq!(f.call(vec![1, 5, 2]).unwrap().to_vec(), [0, 1, 2]);
    /// ```
    #[track_caller]
    pub fn scatter_where(self, targets: Arr<D::Position>, xs: Arr<T>, mask: Arr<bool>) -> Arr<T, D> {
        wrap(apply(Op::Scatter, &[self.raw, targets.raw, xs.raw, mask.raw]))
    }

    /// Combines each element of `xs` into `self` at its target by `f(new, old)`, in order. The targets of a matrix are pairs.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let histogram =
    ///     compile(|is: Arr<i64>| fill(0i64, 3).permute(is, fill(1i64, is.len()), |new, old| old + new)).unwrap();
    /// assert_eq!(histogram.call(vec![2, 0, 2]).unwrap().to_vec(), [1, 0, 2]);
    ///
    /// let counts = compile(|at: Arr<(i64, i64)>| {
    ///     fill(0i64, (2, 2)).permute(at, fill(1i64, at.len()), |new, old| new + old)
    /// })
    /// .unwrap();
    /// assert_eq!(counts.call([(0, 1), (1, 1), (0, 1)]).unwrap().to_rows(), [[0, 2], [0, 1]]);
    /// ```
    #[track_caller]
    pub fn permute<U: Elt, R: IntoExp<T>>(
        self,
        targets: Arr<D::Position>,
        xs: Arr<U>,
        f: impl FnOnce(Exp<U>, Exp<T>) -> R,
    ) -> Arr<T, D> {
        self.permuting(&[targets.raw, xs.raw], f)
    }

    /// As [`Arr::permute`], without the elements whose flag is false.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|is: Arr<i64>, xs: Arr<i64>| {
    ///     fill(0i64, 2).permute_where(is, xs, is.map(|i| i.ge(0)), |new, old| old + new)
    /// })
    /// .unwrap();
    /// assert_eq!(f.call([0, -1, 0], [1, 2, 3]).unwrap().to_vec(), [4, 0]);
    /// ```
    #[track_caller]
    pub fn permute_where<U: Elt, R: IntoExp<T>>(
        self,
        targets: Arr<D::Position>,
        xs: Arr<U>,
        mask: Arr<bool>,
        f: impl FnOnce(Exp<U>, Exp<T>) -> R,
    ) -> Arr<T, D> {
        self.permuting(&[targets.raw, xs.raw, mask.raw], f)
    }

    #[track_caller]
    fn permuting<U: Elt, R: IntoExp<T>>(self, rest: &[Raw], f: impl FnOnce(Exp<U>, Exp<T>) -> R) -> Arr<T, D> {
        let args: Vec<Raw> = [self.raw].into_iter().chain(rest.iter().copied()).collect();
        wrap(apply_body(Op::Permute, &args, |x| {
            f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).into_exp().raw_elt()
        }))
    }
}
