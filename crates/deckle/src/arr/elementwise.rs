//! Operators that work element by element, at every rank.

use super::{Arr, Made, Rank, wrap};
use crate::elt::{Elt, Handle, IntoHandle, Item};
use crate::trace::{apply, apply_body, each};
use crate::{control, trace};
use deckle_ir::array::{Coll, Op};

impl<T: Item, D: Rank> Arr<T, D> {
    /// Applies a function to each element.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.map(|x| x * x + 1.0)).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0]).unwrap().to_vec(), [2.0, 5.0]);
    ///
    /// let g = compile(|a: Arr<i64, D2>| a.map(|x| x + 1)).unwrap();
    /// assert_eq!(g.call(Array::from_rows(vec![vec![1], vec![2]]).unwrap()).unwrap().to_rows(), [[2], [3]]);
    /// ```
    #[track_caller]
    pub fn map<R: IntoHandle>(self, f: impl FnOnce(T::Handle) -> R) -> Arr<Made<R>, D> {
        wrap(each(D::N, &[self.raw], Box::new(|x| f(T::Handle::from_raw(x[0])).into_handle().raw())))
    }

    /// Applies a function to the position and the element.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.imap(|i, x| x * 10 + i)).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap().to_vec(), [10, 21]);
    ///
    /// let diagonal = compile(|a: Arr<i64, D2>| a.imap(|(i, j), x| select(i.equals(j), x, 0))).unwrap();
    /// let a = Array::from_rows(vec![vec![1, 2], vec![3, 4]]).unwrap();
    /// assert_eq!(diagonal.call(a).unwrap().to_rows(), [[1, 0], [0, 4]]);
    /// ```
    #[track_caller]
    pub fn imap<R: IntoHandle>(self, f: impl FnOnce(D::Index, T::Handle) -> R) -> Arr<Made<R>, D> {
        if D::N == 1 {
            let n = apply(Op::Length, &[self.raw]);
            let positions = apply(Op::Iota(Coll::Array), &[n]);
            return wrap(apply_body(Op::Map, &[positions, self.raw], |x| {
                f(D::index(&x[..1]), T::Handle::from_raw(x[1])).into_handle().raw()
            }));
        }
        let a = trace::regular(self.raw, D::N);
        let shape = apply(Op::Shape(D::N as u32), &[a]);
        let sizes: Vec<_> = (0..D::N as u32).map(|k| apply(Op::Proj(k), &[shape])).collect();
        wrap(apply_body(Op::Generate, &sizes, |i| {
            let args: Vec<_> = [a].into_iter().chain(i.iter().copied()).collect();
            f(D::index(i), T::Handle::from_raw(apply(Op::Index, &args))).into_handle().raw()
        }))
    }

    /// Applies a function to corresponding elements; unequal sizes are an error.
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
        ys: Arr<U, D>,
        f: impl FnOnce(T::Handle, U::Handle) -> R,
    ) -> Arr<Made<R>, D> {
        let f = |x: &[_]| f(T::Handle::from_raw(x[0]), U::Handle::from_raw(x[1])).into_handle().raw();
        wrap(each(D::N, &[self.raw, ys.raw], Box::new(f)))
    }

    /// Applies a function to corresponding elements of three arrays.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.zip_with3(xs, xs, |x, y, z| x * y * z)).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap().to_vec(), [1, 8]);
    /// ```
    #[track_caller]
    pub fn zip_with3<U: Item, V: Item, R: IntoHandle>(
        self,
        ys: Arr<U, D>,
        zs: Arr<V, D>,
        f: impl FnOnce(T::Handle, U::Handle, V::Handle) -> R,
    ) -> Arr<Made<R>, D> {
        let f = |x: &[_]| {
            f(T::Handle::from_raw(x[0]), U::Handle::from_raw(x[1]), V::Handle::from_raw(x[2])).into_handle().raw()
        };
        wrap(each(D::N, &[self.raw, ys.raw, zs.raw], Box::new(f)))
    }

    /// Applies a function to corresponding elements of four arrays.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.zip_with4(xs, xs, xs, |a, b, c, d| a + b + c + d)).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap().to_vec(), [4, 8]);
    /// ```
    #[track_caller]
    pub fn zip_with4<U: Item, V: Item, W: Item, R: IntoHandle>(
        self,
        ys: Arr<U, D>,
        zs: Arr<V, D>,
        ws: Arr<W, D>,
        f: impl FnOnce(T::Handle, U::Handle, V::Handle, W::Handle) -> R,
    ) -> Arr<Made<R>, D> {
        let f = |x: &[_]| {
            let (t, u) = (T::Handle::from_raw(x[0]), U::Handle::from_raw(x[1]));
            f(t, u, V::Handle::from_raw(x[2]), W::Handle::from_raw(x[3])).into_handle().raw()
        };
        wrap(each(D::N, &[self.raw, ys.raw, zs.raw, ws.raw], Box::new(f)))
    }
}

impl<T: Elt, D: Rank> Arr<T, D> {
    /// Pairs of corresponding elements. (For rows and other arrays as elements, `zip_with` and [`crate::tup`].)
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ys: Arr<f64>| xs.zip(ys)).unwrap();
    /// assert_eq!(f.call(vec![1], vec![0.5]).unwrap().to_vec(), [(1, 0.5)]);
    /// ```
    #[track_caller]
    pub fn zip<U: Elt>(self, ys: Arr<U, D>) -> Arr<(T, U), D> {
        wrap(each(D::N - 1, &[self.raw, ys.raw], Box::new(|x| apply(Op::Zip, x))))
    }

    /// Triples of corresponding elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ys: Arr<bool>| xs.zip3(ys, xs)).unwrap();
    /// assert_eq!(f.call(vec![1], vec![true]).unwrap().to_vec(), [(1, true, 1)]);
    /// ```
    #[track_caller]
    pub fn zip3<U: Elt, V: Elt>(self, ys: Arr<U, D>, zs: Arr<V, D>) -> Arr<(T, U, V), D> {
        wrap(each(D::N - 1, &[self.raw, ys.raw, zs.raw], Box::new(|x| apply(Op::Zip, x))))
    }

    /// Quadruples of corresponding elements.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.zip4(xs, xs, xs)).unwrap();
    /// assert_eq!(f.call(vec![1]).unwrap().to_vec(), [(1, 1, 1, 1)]);
    /// ```
    #[track_caller]
    pub fn zip4<U: Elt, V: Elt, W: Elt>(self, ys: Arr<U, D>, zs: Arr<V, D>, ws: Arr<W, D>) -> Arr<(T, U, V, W), D> {
        wrap(each(D::N - 1, &[self.raw, ys.raw, zs.raw, ws.raw], Box::new(|x| apply(Op::Zip, x))))
    }
}

impl<T: Elt, U: Elt> Arr<(T, U)> {
    /// The first components, and the second components.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|ps: Arr<(i64, f64)>| ps.unzip()).unwrap();
    /// let (xs, ys) = f.call([(1, 0.5), (2, 1.5)]).unwrap();
    /// assert_eq!((xs.to_vec(), ys.to_vec()), (vec![1, 2], vec![0.5, 1.5]));
    /// ```
    #[track_caller]
    pub fn unzip(self) -> (Arr<T>, Arr<U>) {
        let both = apply(Op::Unzip, &[self.raw]);
        (wrap(apply(Op::Proj(0), &[both])), wrap(apply(Op::Proj(1), &[both])))
    }
}

impl<T: Elt, U: Elt, V: Elt> Arr<(T, U, V)> {
    /// The first, second and third components.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|ps: Arr<(i64, i64, i64)>| ps.unzip().2).unwrap();
    /// assert_eq!(f.call([(1, 2, 3), (4, 5, 6)]).unwrap().to_vec(), [3, 6]);
    /// ```
    #[track_caller]
    pub fn unzip(self) -> (Arr<T>, Arr<U>, Arr<V>) {
        let all = apply(Op::Unzip, &[self.raw]);
        let part = |k| apply(Op::Proj(k), &[all]);
        (wrap(part(0)), wrap(part(1)), wrap(part(2)))
    }
}

impl<D: Rank> Arr<bool, D> {
    /// At each position the element of the first array where the flag is true, else of the second.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, ys: Arr<i64>| xs.zip_with(ys, |x, y| x.lt(y)).select(xs, ys)).unwrap();
    /// assert_eq!(f.call([1, 5], [3, 2]).unwrap().to_vec(), [1, 2]);
    /// ```
    #[track_caller]
    pub fn select<T: Elt>(self, yes: Arr<T, D>, no: Arr<T, D>) -> Arr<T, D> {
        self.zip_with3(yes, no, |c, x, y| control::select(c, x, y))
    }
}
