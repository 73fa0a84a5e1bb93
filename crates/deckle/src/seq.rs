//! Sequences of a program: [`Seq`]. A sequence is never entirely in memory; only [`Seq::tab`] turns it into a vector.

mod folding;

use crate::arr::{Arr, Below, Made, Rank};
use crate::elt::{Elt, Handle, IntoExp, IntoHandle, Item};
use crate::exp::Exp;
use crate::trace::{self, Raw, apply, apply_body};
use deckle_ir::array::{Coll, Op};
use deckle_ir::types::Type;
use std::marker::PhantomData;

/// A sequence of a program under construction: of scalars (`Seq<f64>`), of arrays (`Seq<Arr<f64>>`), of sequences.
#[derive(Debug)]
pub struct Seq<A> {
    raw: Raw,
    of: PhantomData<A>,
}

impl<A> Clone for Seq<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Seq<A> {}

impl<A: Item> Item for Seq<A> {
    type Handle = Seq<A>;
    fn kind() -> Type {
        Type::seq(A::kind())
    }
}

#[allow(private_interfaces)]
impl<A: Item> Handle for Seq<A> {
    type Item = Seq<A>;
    fn raw(self) -> Raw {
        self.raw
    }
    fn from_raw(raw: Raw) -> Self {
        Seq { raw, of: PhantomData }
    }
}

fn wrap<A>(raw: Raw) -> Seq<A> {
    Seq { raw, of: PhantomData }
}

/// The integers from `a` below `b`, as a sequence.
///
/// ```
/// # use deckle::prelude::*;
/// let logsum = compile(|n: Exp<i64>| count(1, n + 1).map(|i| i.cast::<f64>().ln()).sum()).unwrap();
/// assert!((logsum.call(5).unwrap() - 120f64.ln()).abs() < 1e-12);
/// ```
#[track_caller]
pub fn count(a: impl IntoExp<i64>, b: impl IntoExp<i64>) -> Seq<i64> {
    let step = crate::exp::constant(1i64);
    wrap(apply(Op::Range(Coll::Seq, false), &[a.into_exp().raw_elt(), b.into_exp().raw_elt(), step.raw_elt()]))
}

/// The integers from 0 below `n`, as a sequence.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| count_to(n).map(|i| i * i)).unwrap();
/// assert_eq!(f.call(4).unwrap(), [0, 1, 4, 9]);
/// ```
#[track_caller]
pub fn count_to(n: impl IntoExp<i64>) -> Seq<i64> {
    wrap(apply(Op::Iota(Coll::Seq), &[n.into_exp().raw_elt()]))
}

/// The sequence of these elements.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|x: Exp<i64>| sequence([x, x + 1]).chain(sequence([x]))).unwrap();
/// assert_eq!(f.call(5).unwrap(), [5, 6, 5]);
/// ```
#[track_caller]
pub fn sequence<X: IntoHandle, const K: usize>(items: [X; K]) -> Seq<Made<X>> {
    let items: Vec<Raw> = items.into_iter().map(|x| x.into_handle().raw()).collect();
    wrap(apply(Op::MkSeq(<Made<X> as Item>::kind()), &items))
}

/// The sequence of `f(i)` for `i` from 0 below `n`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| produce(n, |i| iota(i).sum()).tab()).unwrap();
/// assert_eq!(f.call(4).unwrap().to_vec(), [0, 0, 1, 3]);
/// ```
#[track_caller]
pub fn produce<R: IntoHandle>(n: impl IntoExp<i64>, f: impl FnOnce(Exp<i64>) -> R) -> Seq<Made<R>> {
    wrap(apply_body(Op::Produce, &[n.into_exp().raw_elt()], |i| f(Exp::from_raw_elt(i[0])).into_handle().raw()))
}

/// One element if the condition holds, else none: the restricted comprehension `{x | cond}`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|x: Exp<i64>| only_if(x.gt(0), || x).tab()).unwrap();
/// assert_eq!(f.call(-1).unwrap().to_vec(), []);
/// ```
#[track_caller]
pub fn only_if<R: IntoHandle>(cond: Exp<bool>, f: impl FnOnce() -> R) -> Seq<Made<R>> {
    wrap(apply_body(Op::Guard, &[cond.raw_elt()], |_| f().into_handle().raw()))
}

impl<A: Item> Seq<A> {
    /// Applies a function to each element: the comprehension `{f(x) : x in s}`. The function may use from outside only values that are
    /// entirely in memory, not another sequence.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<f64>, k: Exp<f64>| s.map(|x| x * k)).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0], 3.0).unwrap(), [3.0, 6.0]);
    /// ```
    #[track_caller]
    pub fn map<R: IntoHandle>(self, f: impl FnOnce(A::Handle) -> R) -> Seq<Made<R>> {
        wrap(apply_body(Op::Map, &[self.raw], |x| f(A::Handle::from_raw(x[0])).into_handle().raw()))
    }

    /// Applies a function to corresponding elements of two sequences of equal length.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Seq<i64>, ys: Seq<i64>| xs.zip_with(ys, |x, y| x * y).sum()).unwrap();
    /// assert_eq!(f.call(vec![1, 2], vec![3, 4]).unwrap(), 11);
    /// ```
    #[track_caller]
    pub fn zip_with<B: Item, R: IntoHandle>(
        self,
        t: Seq<B>,
        f: impl FnOnce(A::Handle, B::Handle) -> R,
    ) -> Seq<Made<R>> {
        wrap(apply_body(Op::Map, &[self.raw, t.raw], |x| {
            f(A::Handle::from_raw(x[0]), B::Handle::from_raw(x[1])).into_handle().raw()
        }))
    }

    /// Applies a function to corresponding elements of three sequences of equal length.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.zip_with3(s, s, |x, y, z| x * y + z)).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap(), [2, 6]);
    /// ```
    #[track_caller]
    pub fn zip_with3<B: Item, C: Item, R: IntoHandle>(
        self,
        t: Seq<B>,
        u: Seq<C>,
        f: impl FnOnce(A::Handle, B::Handle, C::Handle) -> R,
    ) -> Seq<Made<R>> {
        wrap(apply_body(Op::Map, &[self.raw, t.raw, u.raw], |x| {
            f(A::Handle::from_raw(x[0]), B::Handle::from_raw(x[1]), C::Handle::from_raw(x[2])).into_handle().raw()
        }))
    }

    /// Applies a function that returns a sequence, and concatenates the results: a comprehension with two generators.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|n: Exp<i64>| count_to(n).flat_map(|i| count_to(i).map(|j| i * 10 + j))).unwrap();
    /// assert_eq!(f.call(3).unwrap(), [10, 20, 21]);
    /// ```
    #[track_caller]
    pub fn flat_map<B: Item>(self, f: impl FnOnce(A::Handle) -> Seq<B>) -> Seq<B> {
        let mapped = apply_body(Op::Map, &[self.raw], |x| f(A::Handle::from_raw(x[0])).raw);
        wrap(apply(Op::Flatten, &[mapped]))
    }

    /// The elements for which the function returns `true`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Seq<i64>| xs.filter(|x| x.gt(1)).tab()).unwrap();
    /// assert_eq!(f.call(vec![1, 2, 3]).unwrap().to_vec(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn filter(self, f: impl FnOnce(A::Handle) -> Exp<bool>) -> Seq<A> {
        let kept = apply_body(Op::Map, &[self.raw], |x| {
            let keep = f(A::Handle::from_raw(x[0])).raw_elt();
            apply_body(Op::Guard, &[keep], |_| x[0])
        });
        wrap(apply(Op::Flatten, &[kept]))
    }

    /// The concatenation of two sequences.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Seq<i64>, ys: Seq<i64>| xs.chain(ys).tab()).unwrap();
    /// assert_eq!(f.call(vec![1], vec![2, 3]).unwrap().to_vec(), [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn chain(self, t: Seq<A>) -> Seq<A> {
        wrap(apply(Op::Append, &[self.raw, t.raw]))
    }

    /// The number of elements, known at the end.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<f64>| s.count()).unwrap();
    /// assert_eq!(f.call(vec![1.0, 2.0]).unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn count(self) -> Exp<i64> {
        Exp::from_raw_elt(apply(Op::Length, &[self.raw]))
    }

    /// Whether it is empty.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<f64>| s.is_empty()).unwrap();
    /// assert!(f.call(vec![]).unwrap());
    /// ```
    #[track_caller]
    pub fn is_empty(self) -> Exp<bool> {
        Exp::from_raw_elt(apply(Op::Empty, &[self.raw]))
    }

    /// The only element; an empty or longer sequence is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.the()).unwrap();
    /// assert_eq!(f.call(vec![7]).unwrap(), 7);
    /// assert!(f.call(vec![7, 8]).is_err());
    /// ```
    #[track_caller]
    pub fn the(self) -> A::Handle {
        A::Handle::from_raw(apply(Op::The, &[self.raw]))
    }

    /// Materialises the sequence as a vector.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.tab().rev()).unwrap();
    /// assert_eq!(f.call(vec![1, 2]).unwrap().to_vec(), [2, 1]);
    /// ```
    #[track_caller]
    pub fn tab(self) -> Arr<A> {
        Arr::from_raw(apply(Op::Tab, &[self.raw]))
    }

    /// Splits into subsequences: each `false` takes an element, each `true` ends one.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>, flags: Seq<bool>| s.flagpart(flags).map(|part| part.sum()).tab()).unwrap();
    /// let flags = vec![false, false, true, true, false, true];
    /// assert_eq!(f.call(vec![3, 1, 4], flags).unwrap().to_vec(), [4, 0, 4]);
    /// ```
    #[track_caller]
    pub fn flagpart(self, flags: Seq<bool>) -> Seq<Seq<A>> {
        wrap(apply(Op::FlagPart, &[self.raw, flags.raw]))
    }
}

impl<A: Item> Seq<Seq<A>> {
    /// The concatenation of all subsequences.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|n: Exp<i64>| count(0, n).map(|i| count(0, i)).flatten().tab()).unwrap();
    /// assert_eq!(f.call(4).unwrap().to_vec(), [0, 0, 1, 0, 1, 2]);
    /// ```
    #[track_caller]
    pub fn flatten(self) -> Seq<A> {
        wrap(apply(Op::Flatten, &[self.raw]))
    }
}

impl<T: Elt> Seq<T> {
    /// Pairs of corresponding elements of two sequences of equal length.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>, t: Seq<f64>| s.zip(t)).unwrap();
    /// assert_eq!(f.call(vec![1], vec![0.5]).unwrap(), [(1, 0.5)]);
    /// ```
    #[track_caller]
    pub fn zip<U: Elt>(self, t: Seq<U>) -> Seq<(T, U)> {
        wrap(apply(Op::Zip, &[self.raw, t.raw]))
    }

    /// Triples of corresponding elements of three sequences of equal length.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.zip3(s, s)).unwrap();
    /// assert_eq!(f.call(vec![1]).unwrap(), [(1, 1, 1)]);
    /// ```
    #[track_caller]
    pub fn zip3<U: Elt, V: Elt>(self, t: Seq<U>, u: Seq<V>) -> Seq<(T, U, V)> {
        wrap(apply(Op::Zip, &[self.raw, t.raw, u.raw]))
    }
}

impl<T: Elt, U: Elt> Seq<(T, U)> {
    /// The first components, and the second components.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<(i64, f64)>| { let (a, b) = s.unzip(); (a.sum(), b.sum()) }).unwrap();
    /// assert_eq!(f.call(vec![(1, 0.5), (2, 0.5)]).unwrap(), (3, 1.0));
    /// ```
    #[track_caller]
    pub fn unzip(self) -> (Seq<T>, Seq<U>) {
        let both = apply(Op::Unzip, &[self.raw]);
        (wrap(apply(Op::Proj(0), &[both])), wrap(apply(Op::Proj(1), &[both])))
    }
}

impl<T: Item, D: Rank> Seq<Arr<T, D>> {
    /// All elements of all arrays, as one vector.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<Arr<i64>>| s.elements()).unwrap();
    /// assert_eq!(f.call(vec![vec![1, 2], vec![], vec![3]]).unwrap().to_vec(), [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn elements(self) -> Arr<T> {
        let streams = apply_body(Op::Map, &[self.raw], |a| {
            let flat = Arr::<T, D>::from_raw(a[0]).elements();
            apply(Op::Seq, &[flat.raw()])
        });
        let all = apply(Op::Flatten, &[streams]);
        Arr::from_raw(apply(Op::Tab, &[all]))
    }

    /// The shapes of the arrays.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<Arr<i64>>| s.shapes()).unwrap();
    /// assert_eq!(f.call(vec![vec![1, 2], vec![]]).unwrap(), [2, 0]);
    ///
    /// let g = compile(|a: Arr<i64, D2>| a.tiles((2, 2)).shapes()).unwrap();
    /// assert_eq!(g.call(Array::new(&[2, 3], vec![0; 6]).unwrap()).unwrap(), [(2, 2), (2, 1)]);
    /// ```
    #[track_caller]
    pub fn shapes(self) -> Seq<D::Position> {
        wrap(apply_body(Op::Map, &[self.raw], |a| match D::N {
            1 => apply(Op::Length, &[a[0]]),
            n => apply(Op::Shape(n as u32), &[trace::regular(a[0], n)]),
        }))
    }
}

impl<T: Item> Seq<Arr<T>> {
    /// The concatenation of all arrays, as one sequence.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<Arr<i64>>| s.flatten().sum()).unwrap();
    /// assert_eq!(f.call(vec![vec![1, 2], vec![3]]).unwrap(), 6);
    /// ```
    #[track_caller]
    pub fn flatten(self) -> Seq<T> {
        let streams = apply_body(Op::Map, &[self.raw], |row| apply(Op::Seq, row));
        wrap(apply(Op::Flatten, &[streams]))
    }
}

impl<T: Item, D: Below> Seq<Arr<T, D>> {
    /// Materialises the arrays as one array with one more dimension; all are cut to the minimal extent along each dimension.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<Arr<i64>>| s.tabulate()).unwrap();
    /// assert_eq!(f.call(vec![vec![1, 2], vec![3]]).unwrap().to_rows(), [[1], [3]]);
    /// ```
    #[track_caller]
    pub fn tabulate(self) -> Arr<T, D::Up> {
        Arr::from_raw(apply(Op::Tabulate(D::N as u32), &[self.raw]))
    }
}
