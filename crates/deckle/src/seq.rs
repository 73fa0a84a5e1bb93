//! Sequences of a program: [`Seq`]. A sequence is never all in memory; only [`Seq::tab`] makes it a vector.

use crate::arr::Arr;
use crate::elt::{Elt, Handle, IntoHandle, Item, Num};
use crate::exp::Exp;
use crate::trace::{Raw, apply, apply_body};
use deckle_ir::array::{Coll, Direction, Monoid, Op, ScanKind};
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

type Made<R> = <<R as IntoHandle>::Handle as Handle>::Item;

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
pub fn count(a: impl Into<Exp<i64>>, b: impl Into<Exp<i64>>) -> Seq<i64> {
    let step = crate::exp::constant(1i64);
    wrap(apply(Op::Range(Coll::Seq, false), &[a.into().raw_elt(), b.into().raw_elt(), step.raw_elt()]))
}

/// The sequence of `f(i)` for `i` from 0 below `n`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| produce(n, |i| iota(i).sum()).tab()).unwrap();
/// assert_eq!(f.call(4).unwrap().to_vec(), [0, 0, 1, 3]);
/// ```
#[track_caller]
pub fn produce<R: IntoHandle>(n: impl Into<Exp<i64>>, f: impl FnOnce(Exp<i64>) -> R) -> Seq<Made<R>> {
    wrap(apply_body(Op::Produce, &[n.into().raw_elt()], |i| f(Exp::from_raw_elt(i[0])).into_handle().raw()))
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
    /// Applies a function to each element: the comprehension `{f(x) : x in s}`. The function may use from outside only what is
    /// in memory as a whole, not another sequence.
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

    /// The elements for which the function gives `true`.
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

    /// One after another.
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

    /// How many elements, known at the end.
    #[track_caller]
    pub fn count(self) -> Exp<i64> {
        Exp::from_raw_elt(apply(Op::Length, &[self.raw]))
    }

    /// Whether there are none.
    #[track_caller]
    pub fn is_empty(self) -> Exp<bool> {
        Exp::from_raw_elt(apply(Op::Empty, &[self.raw]))
    }

    /// The only element; none or several are an error.
    #[track_caller]
    pub fn the(self) -> A::Handle {
        A::Handle::from_raw(apply(Op::The, &[self.raw]))
    }

    /// Materialises the sequence as a vector.
    #[track_caller]
    pub fn tab(self) -> Arr<A> {
        Arr::from_raw(apply(Op::Tab, &[self.raw]))
    }

    /// Cuts into subsequences: each `false` takes an element, each `true` ends one.
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
    /// All subsequences one after another.
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

impl<T: Item + Elt> Seq<T> {
    /// All elements combined with an associative function, starting with `z`.
    #[track_caller]
    pub fn fold(self, z: impl Into<Exp<T>>, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Exp<T> {
        let z = z.into().raw_elt();
        Exp::from_raw_elt(apply_body(Op::Fold, &[z, self.raw], |x| {
            f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).raw_elt()
        }))
    }

    /// Exclusive scan: `{z, z+a, ...}`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.scan(0, |a, b| a + b).tab()).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4, 2]).unwrap().to_vec(), [0, 3, 8, 12]);
    /// ```
    #[track_caller]
    pub fn scan(self, z: impl Into<Exp<T>>, f: impl FnOnce(Exp<T>, Exp<T>) -> Exp<T>) -> Seq<T> {
        let z = z.into().raw_elt();
        wrap(apply_body(Op::Scan(Direction::Left, ScanKind::Exclusive), &[z, self.raw], |x| {
            f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).raw_elt()
        }))
    }
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $method:ident $monoid:ident $result:ty;)*) => {
        impl<T: Item + Num> Seq<T> {
            $($(#[$doc])* #[track_caller] pub fn $method(self) -> Exp<$result> {
                Exp::from_raw_elt(apply(Op::Reduce(Monoid::$monoid), &[self.raw]))
            })*
        }
    };
}

reductions! {
    /// The sum; of nothing, 0.
    sum Sum T;
    /// The product; of nothing, 1.
    product Product T;
    /// The least; no elements are an error.
    min Min T;
    /// The greatest; no elements are an error.
    max Max T;
}
