//! Sizes and shapes; slicing, joining and transposing arrays.

use super::{Above, Arr, Below, D2, D3, Extent, Rank, wrap};
use crate::elt::{Elt, Handle, IntoExp, Item};
use crate::exp::Exp;
use crate::seq::Seq;
use crate::trace::{self, Raw, apply};
use deckle_ir::array::{Op, Slicer, SplitBy};

impl<T: Item, D: Rank> Arr<T, D> {
    /// The number of elements; of a matrix, the number of rows.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.len()).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0]).unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn len(self) -> Exp<i64> {
        Exp::from_raw_elt(apply(Op::Length, &[self.raw]))
    }

    /// Whether it has no elements, or no rows.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>| xs.is_empty()).unwrap();
    /// assert!(f.call(vec![]).unwrap());
    /// ```
    #[track_caller]
    pub fn is_empty(self) -> Exp<bool> {
        self.len().equals(0)
    }

    /// The total number of elements in all dimensions.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.size()).unwrap();
    /// assert_eq!(f.call(Array::new(&[2, 3], vec![0; 6]).unwrap()).unwrap(), 6);
    /// ```
    #[track_caller]
    pub fn size(self) -> Exp<i64> {
        Exp::from_raw_elt(apply(Op::Size(D::N as u32), &[self.raw]))
    }

    /// The size of each dimension: one number, or a tuple of two or three.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.shape()).unwrap();
    /// assert_eq!(f.call(Array::new(&[2, 3], vec![0; 6]).unwrap()).unwrap(), (2, 3));
    /// ```
    #[track_caller]
    pub fn shape(self) -> D::Index {
        if D::N == 1 {
            return D::index(&[apply(Op::Length, &[self.raw])]);
        }
        let shape = apply(Op::Shape(D::N as u32), &[trace::regular(self.raw, D::N)]);
        let sizes: Vec<Raw> = (0..D::N as u32).map(|k| apply(Op::Proj(k), &[shape])).collect();
        D::index(&sizes)
    }

    /// The same elements, in order, with another shape; another number of elements is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>, n: Exp<i64>| xs.reshape((n, 2))).unwrap();
    /// assert_eq!(f.call([1, 2, 3, 4], 2).unwrap().to_rows(), [[1, 2], [3, 4]]);
    /// assert!(f.call([1, 2, 3], 2).is_err());
    /// ```
    #[track_caller]
    pub fn reshape<E: Extent>(self, shape: E) -> Arr<T, E::Rank> {
        let args: Vec<Raw> = [self.raw].into_iter().chain(shape.sizes()).collect();
        wrap(apply(Op::Reshape(D::N as u32), &args))
    }

    /// All elements, in order, as a vector.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|n: Exp<i64>| generate((n, 2, 2), |(i, j, k)| i * 4 + j * 2 + k).elements()).unwrap();
    /// assert_eq!(f.call(1).unwrap().to_vec(), [0, 1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn elements(self) -> Arr<T> {
        let mut raw = self.raw;
        for _ in 1..D::N {
            raw = apply(Op::Flatten, &[raw]);
        }
        wrap(raw)
    }

    /// The concatenation along the outermost axis.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.append(xs)).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap().to_vec(), [1, 2, 1, 2]);
    /// ```
    #[track_caller]
    pub fn append(self, ys: Arr<T, D>) -> Arr<T, D> {
        self.append_on(0, ys)
    }

    /// The concatenation along an axis, counted from the outermost, 0.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.append_on(1, a)).unwrap();
    /// assert_eq!(f.call(Array::from_rows(vec![vec![1, 2]]).unwrap()).unwrap().to_rows(), [[1, 2, 1, 2]]);
    /// assert!(compile(|a: Arr<i64, D2>| a.append_on(2, a)).is_err());
    /// ```
    #[track_caller]
    pub fn append_on(self, axis: u32, ys: Arr<T, D>) -> Arr<T, D> {
        let axis = on_axis::<D>(axis);
        wrap(apply(Op::Concat(axis), &[self.raw, ys.raw]))
    }

    /// The reversal along the outermost axis.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.rev()).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [3, 2, 1]);
    /// ```
    #[track_caller]
    pub fn rev(self) -> Arr<T, D> {
        self.rev_on(0)
    }

    /// The reversal along an axis.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.rev_on(1)).unwrap();
    /// assert_eq!(f.call(Array::from_rows(vec![vec![1, 2]]).unwrap()).unwrap().to_rows(), [[2, 1]]);
    /// ```
    #[track_caller]
    pub fn rev_on(self, axis: u32) -> Arr<T, D> {
        wrap(apply(Op::Reverse(on_axis::<D>(axis)), &[self.raw]))
    }

    /// The first `n` elements or rows, or all if there are fewer.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.take(2)).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [1, 2]);
    /// ```
    #[track_caller]
    pub fn take(self, n: impl IntoExp<i64>) -> Arr<T, D> {
        wrap(apply(Op::Take, &[self.raw, n.into_exp().raw_elt()]))
    }

    /// All but the first `n` elements or rows.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.skip(2)).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [3]);
    /// ```
    #[track_caller]
    pub fn skip(self, n: impl IntoExp<i64>) -> Arr<T, D> {
        wrap(apply(Op::Drop, &[self.raw, n.into_exp().raw_elt()]))
    }

    /// All but the last element or row; empty if the array is.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.init()).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [1, 2]);
    /// assert_eq!(f.call(vec![]).unwrap().to_vec(), []);
    /// ```
    #[track_caller]
    pub fn init(self) -> Arr<T, D> {
        self.take((self.len() - 1).max(0))
    }

    /// All but the first element or row; empty if the array is.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.tail()).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn tail(self) -> Arr<T, D> {
        self.skip(1)
    }

    /// The elements or rows from `a` below `b`; outside the array, an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.slice(1, 3)).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3, 4]).unwrap().to_vec(), [2, 3]);
    /// assert!(f.call(vec![1, 2]).is_err());
    /// ```
    #[track_caller]
    pub fn slice(self, a: impl IntoExp<i64>, b: impl IntoExp<i64>) -> Arr<T, D> {
        self.slice_on(0, a, b)
    }

    /// The part from `a` below `b` along an axis.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.slice(0, 1).slice_on(1, 1, 3)).unwrap();
    /// let a = Array::from_rows(vec![vec![1, 2, 3], vec![4, 5, 6]]).unwrap();
    /// assert_eq!(f.call(a).unwrap().to_rows(), [[2, 3]]);
    /// ```
    #[track_caller]
    pub fn slice_on(self, axis: u32, a: impl IntoExp<i64>, b: impl IntoExp<i64>) -> Arr<T, D> {
        let axis = on_axis::<D>(axis);
        wrap(apply(Op::Slice(spec(axis, Slicer::Range)), &[self.raw, a.into_exp().raw_elt(), b.into_exp().raw_elt()]))
    }

    /// The pieces of at most this shape, row by row; those at the far edges are smaller if the size does not divide.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.tiles(2).map(|tile| tile.sum()).tab()).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3, 4, 5]).unwrap().to_vec(), [3, 7, 5]);
    ///
    /// let g = compile(|a: Arr<i64, D2>| a.tiles((2, 2)).map(|tile| tile.sum_all()).tab()).unwrap();
    /// let a = Array::from_rows(vec![vec![1, 2, 3], vec![4, 5, 6]]).unwrap();
    /// assert_eq!(g.call(a).unwrap().to_vec(), [12, 9]);
    /// ```
    #[track_caller]
    pub fn tiles<E: Extent<Rank = D>>(self, size: E) -> Seq<Arr<T, D>> {
        let a = trace::regular(self.raw, D::N);
        let args: Vec<Raw> = [a].into_iter().chain(size.sizes()).collect();
        Seq::from_raw(apply(Op::Tiles(D::N as u32), &args))
    }

    /// The element at a position; outside the array, a run-time error. Functions that work at every rank use this; at a known rank
    /// `at` reads better.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// fn or_zero<D: Rank>(a: Arr<i64, D>, at: D::Index) -> Exp<i64> {
    ///     choose(a.size().equals(0), || 0, || a.at_index(at))
    /// }
    /// let f = compile(|a: Arr<i64, D2>, i: Exp<i64>| or_zero(a, (i, i))).unwrap();
    /// assert_eq!(f.call(Array::new(&[2, 2], vec![1, 2, 3, 4]).unwrap(), 1).unwrap(), 4);
    /// ```
    #[track_caller]
    pub fn at_index(self, at: D::Index) -> T::Handle {
        let args: Vec<Raw> = [self.raw].into_iter().chain(D::raws(at)).collect();
        T::Handle::from_raw(apply(Op::Index, &args))
    }
}

impl<T: Elt, D: Rank> Arr<T, D> {
    /// `x` added `lo` times before and `hi` times after, along the outermost axis of a vector.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.pad(1, 2, 0)).unwrap();
    /// assert_eq!(f.call(vec![7]).unwrap().to_vec(), [0, 7, 0, 0]);
    /// ```
    #[track_caller]
    pub fn pad(self, lo: impl IntoExp<i64>, hi: impl IntoExp<i64>, x: impl IntoExp<T>) -> Arr<T, D> {
        self.pad_on(0, lo, hi, x)
    }

    /// The same along an axis.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.pad_on(1, 1, 0, 9)).unwrap();
    /// let a = Array::from_rows(vec![vec![1], vec![2]]).unwrap();
    /// assert_eq!(f.call(a).unwrap().to_rows(), [[9, 1], [9, 2]]);
    /// ```
    #[track_caller]
    pub fn pad_on(self, axis: u32, lo: impl IntoExp<i64>, hi: impl IntoExp<i64>, x: impl IntoExp<T>) -> Arr<T, D> {
        let args = [self.raw, lo.into_exp().raw_elt(), hi.into_exp().raw_elt(), x.into_exp().raw_elt()];
        wrap(apply(Op::Pad(on_axis::<D>(axis)), &args))
    }
}

impl<T: Item> Arr<T> {
    /// The element at `i`; outside the array, a run-time error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<f64>, i: Exp<i64>| xs.at(i)).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0], 1).unwrap(), 2.0);
    /// assert!(f.call(vec![1.0, 2.0], 2).is_err());
    /// ```
    #[track_caller]
    pub fn at(self, i: impl IntoExp<i64>) -> T::Handle {
        T::Handle::from_raw(apply(Op::Index, &[self.raw, i.into_exp().raw_elt()]))
    }

    /// Splits into rows of these lengths.
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

    /// Splits into rows: row `i` holds the elements from `offsets[i]` below `offsets[i+1]`, as in CSR.
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

    /// Streams the elements. Rows of a matrix are streamed with `a.rows().stream()`.
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
}

impl<T: Item> Arr<Arr<T>> {
    /// The concatenation of all rows.
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
}

impl<T: Item, D: Below> Arr<Arr<T, D>> {
    /// As one array with one more dimension; rows of different shapes are a run-time error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xss: Arr<Arr<i64>>| xss.regular().transpose()).unwrap();
    /// assert_eq!(f.call(vec![vec![1, 2], vec![3, 4]]).unwrap().to_rows(), [[1, 3], [2, 4]]);
    /// assert!(f.call(vec![vec![1, 2], vec![3]]).is_err());
    /// ```
    #[track_caller]
    pub fn regular(self) -> Arr<T, D::Up> {
        wrap(trace::regular(self.raw, D::N + 1))
    }
}

impl<T: Item, D: Below> Arr<T, D> {
    /// `n` copies, as a new outer dimension.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.replicate(2)).unwrap();
    /// assert_eq!(f.call([1, 2, 3]).unwrap().to_rows(), [[1, 2, 3], [1, 2, 3]]);
    /// ```
    #[track_caller]
    pub fn replicate(self, n: impl IntoExp<i64>) -> Arr<T, D::Up> {
        wrap(apply(Op::Replicate, &[self.raw, n.into_exp().raw_elt()]))
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
    pub fn rows(self) -> Arr<Arr<T, D::Row>> {
        wrap(self.raw)
    }

    /// The row at `i`; outside the array, a run-time error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>, i: Exp<i64>| a.row(i)).unwrap();
    /// assert_eq!(f.call(Array::new(&[2, 2], vec![1, 2, 3, 4]).unwrap(), 1).unwrap().to_vec(), [3, 4]);
    /// ```
    #[track_caller]
    pub fn row(self, i: impl IntoExp<i64>) -> Arr<T, D::Row> {
        wrap(apply(Op::Index, &[self.raw, i.into_exp().raw_elt()]))
    }

    /// The part at one position of an axis.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let column = compile(|a: Arr<i64, D2>, j: Exp<i64>| a.pick_on(1, j)).unwrap();
    /// assert_eq!(column.call(Array::new(&[2, 2], vec![1, 2, 3, 4]).unwrap(), 1).unwrap().to_vec(), [2, 4]);
    /// ```
    #[track_caller]
    pub fn pick_on(self, axis: u32, i: impl IntoExp<i64>) -> Arr<T, D::Row> {
        let axis = on_axis::<D>(axis);
        wrap(apply(Op::Slice(spec(axis, Slicer::At)), &[self.raw, i.into_exp().raw_elt()]))
    }
}

impl<T: Item> Arr<T, D2> {
    /// Exchanges rows and columns.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.transpose()).unwrap();
    /// assert_eq!(f.call(Array::from_rows(vec![vec![1, 2]]).unwrap()).unwrap().to_rows(), [[1], [2]]);
    /// ```
    #[track_caller]
    pub fn transpose(self) -> Arr<T, D2> {
        wrap(apply(Op::Transpose(vec![1, 0]), &[trace::regular(self.raw, 2)]))
    }

    /// The element at `(i, j)`; outside the array, a run-time error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D2>| a.at(0, 1)).unwrap();
    /// assert_eq!(f.call(Array::from_rows(vec![vec![1, 2]]).unwrap()).unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn at(self, i: impl IntoExp<i64>, j: impl IntoExp<i64>) -> T::Handle {
        self.at_index((i.into_exp(), j.into_exp()))
    }
}

impl<T: Item> Arr<T, D3> {
    /// Permutes axes: axis `k` of the result is the axis given at index `k`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|n: Exp<i64>| generate((n, 3, 4), |(i, _, _)| i).transpose([2, 0, 1]).shape()).unwrap();
    /// assert_eq!(f.call(2).unwrap(), (4, 2, 3));
    /// ```
    #[track_caller]
    pub fn transpose(self, axes: [u32; 3]) -> Arr<T, D3> {
        wrap(apply(Op::Transpose(axes.to_vec()), &[trace::regular(self.raw, 3)]))
    }

    /// The element at `(i, j, k)`; outside the array, a run-time error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|a: Arr<i64, D3>| a.at(0, 1, 0)).unwrap();
    /// assert_eq!(f.call(Array::new(&[1, 2, 1], vec![5, 6]).unwrap()).unwrap(), 6);
    /// ```
    #[track_caller]
    pub fn at(self, i: impl IntoExp<i64>, j: impl IntoExp<i64>, k: impl IntoExp<i64>) -> T::Handle {
        self.at_index((i.into_exp(), j.into_exp(), k.into_exp()))
    }
}

/// The axis, or one that every operator rejects: an array of arrays has more axes in the IR than its rank.
fn on_axis<D: Rank>(axis: u32) -> u32 {
    if (axis as usize) < D::N { axis } else { u32::MAX }
}

fn spec(axis: u32, last: Slicer) -> Vec<Slicer> {
    // An axis that does not exist stays an error, but a short one.
    let before = axis.min(8) as usize;
    std::iter::repeat_n(Slicer::All, before).chain([last]).collect()
}
