//! Folds and scans of sequences.

use super::{Seq, wrap};
use crate::elt::{Elt, Handle, IntoExp, IntoHandle, Item, Num, in_order};
use crate::exp::Exp;
use crate::trace::{Raw, apply, apply_body};
use deckle_ir::array::{Direction, Monoid, Op, ScanKind};

fn operator<T: Elt, R: IntoExp<T>>(f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> impl FnOnce(&[Raw]) -> Raw {
    |x| f(Exp::from_raw_elt(x[0]), Exp::from_raw_elt(x[1])).into_exp().raw_elt()
}

impl<T: Elt> Seq<T> {
    /// All elements combined with an associative function, starting with `z`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.fold(1, |a, b| a * b)).unwrap();
    /// assert_eq!(f.call(vec![2, 3]).unwrap(), 6);
    /// ```
    #[track_caller]
    pub fn fold<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Exp<T> {
        let z = z.into_exp().raw_elt();
        Exp::from_raw_elt(apply_body(Op::Fold, &[z, self.raw], operator(f)))
    }

    /// The same without a start; an empty sequence is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.fold1(|a, b| a.max(b))).unwrap();
    /// assert_eq!(f.call(vec![2, 3]).unwrap(), 3);
    /// ```
    #[track_caller]
    pub fn fold1<R: IntoExp<T>>(self, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Exp<T> {
        Exp::from_raw_elt(apply_body(Op::Fold1, &[self.raw], operator(f)))
    }

    /// Exclusive scan: `{z, z+a, ...}`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.scan(0, |a, b| a + b).tab()).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4, 2]).unwrap().to_vec(), [0, 3, 8, 12]);
    /// ```
    #[track_caller]
    pub fn scan<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Seq<T> {
        let args = [z.into_exp().raw_elt(), self.raw];
        wrap(apply_body(Op::Scan(Direction::Left, ScanKind::Exclusive), &args, operator(f)))
    }

    /// Inclusive scan: `{a, a+b, ...}`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.scan_inclusive(|a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5, 4]).unwrap(), [3, 8, 12]);
    /// ```
    #[track_caller]
    pub fn scan_inclusive<R: IntoExp<T>>(self, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Seq<T> {
        wrap(apply_body(Op::Scan(Direction::Left, ScanKind::Inclusive), &[self.raw], operator(f)))
    }

    /// Inclusive scan with a start: `{z+a, z+a+b, ...}`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<i64>| s.scan_inclusive_from(10, |a, b| a + b)).unwrap();
    /// assert_eq!(f.call(vec![3, 5]).unwrap(), [13, 18]);
    /// ```
    #[track_caller]
    pub fn scan_inclusive_from<R: IntoExp<T>>(self, z: impl IntoExp<T>, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> Seq<T> {
        let args = [z.into_exp().raw_elt(), self.raw];
        wrap(apply_body(Op::Scan(Direction::Left, ScanKind::Inclusive), &args, operator(f)))
    }
}

impl<A: Item> Seq<A> {
    /// All elements combined, of any type: vectors, for example. The function must be associative.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|s: Seq<Arr<i64>>| s.fold_items(iota(0), |a, b| a.append(b))).unwrap();
    /// assert_eq!(f.call(vec![vec![1], vec![2, 3]]).unwrap().to_vec(), [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn fold_items<R: IntoHandle<Handle = A::Handle>>(
        self,
        z: impl IntoHandle<Handle = A::Handle>,
        f: impl FnOnce(A::Handle, A::Handle) -> R,
    ) -> A::Handle {
        let z = z.into_handle().raw();
        A::Handle::from_raw(apply_body(Op::Fold, &[z, self.raw], |x| {
            f(A::Handle::from_raw(x[0]), A::Handle::from_raw(x[1])).into_handle().raw()
        }))
    }

    /// A state that starts with `start` and is updated by one element after another. It has a type of its own, and the function need not be associative; so
    /// only the computation of the elements is parallel.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// // The number of words, and whether the last character was none of a word.
    /// let words = compile(|text: Seq<u8>| {
    ///     text.fold_ordered((0i64, true), |s, c| {
    ///         let (n, outside) = s.unpack();
    ///         let space = c.equals(b' ');
    ///         (select(outside & !space, n + 1, n), space)
    ///     })
    /// });
    /// assert_eq!(words.unwrap().call(b"two words".to_vec()).unwrap(), (2, false));
    /// ```
    #[track_caller]
    pub fn fold_ordered<S: IntoHandle, R: IntoHandle<Handle = S::Handle>>(
        self,
        start: S,
        f: impl FnOnce(S::Handle, A::Handle) -> R,
    ) -> S::Handle {
        S::Handle::from_raw(in_order::<S, A, R>(Op::FoldOrdered, start, self.raw, f))
    }

    /// The state of [`Seq::fold_ordered`] after each element: filters, automata.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let smooth = compile(|xs: Seq<f64>| xs.scan_ordered(0.0, |s, x| s + 0.5 * (x - s))).unwrap();
    /// assert_eq!(smooth.call(vec![1.0, 2.0, 3.0]).unwrap(), [0.5, 1.25, 2.125]);
    /// ```
    #[track_caller]
    pub fn scan_ordered<S: IntoHandle, R: IntoHandle<Handle = S::Handle>>(
        self,
        start: S,
        f: impl FnOnce(S::Handle, A::Handle) -> R,
    ) -> Seq<<S::Handle as Handle>::Item> {
        wrap(in_order::<S, A, R>(Op::ScanOrdered, start, self.raw, f))
    }
}

macro_rules! reductions {
    ($class:ty: $($method:ident $monoid:ident $result:ty, $doc:literal, $input:literal => $output:literal;)*) => {
        $(
        #[doc = $doc]
        ///
        /// ```
        /// # use deckle::prelude::*;
        #[doc = concat!("let f = compile(|s: Seq<", stringify!($class), ">| s.", stringify!($method), "()).unwrap();")]
        #[doc = concat!("assert_eq!(f.call(vec!", $input, ").unwrap(), ", $output, ");")]
        /// ```
        #[track_caller]
        pub fn $method(self) -> Exp<$result> {
            Exp::from_raw_elt(apply(Op::Reduce(Monoid::$monoid), &[self.raw]))
        })*
    };
}

impl<T: Num> Seq<T> {
    reductions! { i64:
        sum Sum T, "The sum; 0 if there are no elements.", "[1, 2]" => "3";
        product Product T, "The product; 1 if there are no elements.", "[2, 3]" => "6";
        min Min T, "The least; no elements are an error.", "[2, 3]" => "2";
        max Max T, "The greatest; no elements are an error.", "[2, 3]" => "3";
        argmin ArgMin i64, "The position of the first least element; no elements are an error.", "[2, 1, 1]" => "1";
        argmax ArgMax i64, "The position of the first greatest element; no elements are an error.", "[2, 3]" => "1";
    }
}

impl Seq<bool> {
    reductions! { bool:
        any Any bool, "Whether any is true.", "[false, true]" => "true";
        all All bool, "Whether all are true.", "[false, true]" => "false";
    }
}
