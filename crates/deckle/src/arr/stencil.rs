//! Stencils: a function of the neighbourhood of each element, in one to three dimensions.

use super::{Arr, Rank, wrap};
use crate::elt::{Elt, IntoExp, IntoHandle};
use crate::exp::Exp;
use crate::trace::{self, Raw, apply_bodies, apply_body};
use deckle_ir::array::{Boundary, Op};

/// The values that a stencil reads beyond the edge.
#[derive(Clone, Copy, Debug)]
pub enum Edge<T> {
    /// The nearest element.
    Clamp,
    /// Mirrored, with the edge repeated.
    Mirror,
    /// From the opposite side.
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

impl<T: Elt, D: Rank> Arr<T, D> {
    /// At each position the function of the window around it: `2 * radius + 1` elements along each axis, the position in the middle.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let blur = compile(|xs: Arr<f64>| xs.stencil(1, Edge::Clamp, |w| (w.at(0) + w.at(1) + w.at(2)) / 3.0)).unwrap();
    /// assert_eq!(blur.call(vec![0.0, 3.0, 6.0]).unwrap().to_vec(), [1.0, 3.0, 5.0]);
    ///
    /// let cross = compile(|a: Arr<i64, D2>| a.stencil((1, 1), Edge::Wrap, |w| w.at(0, 1) + w.at(2, 1))).unwrap();
    /// let a = Array::from_rows(vec![vec![1, 2], vec![10, 20], vec![100, 200]]).unwrap();
    /// assert_eq!(cross.call(a).unwrap().to_rows(), [[110, 220], [101, 202], [11, 22]]);
    /// ```
    #[track_caller]
    pub fn stencil<U: Elt, R: IntoHandle<Handle = Exp<U>>>(
        self,
        radius: D::Radius,
        edge: Edge<T>,
        f: impl FnOnce(Arr<T, D>) -> R,
    ) -> Arr<U, D> {
        let (boundary, extra) = edge.parts();
        let args: Vec<Raw> = [trace::regular(self.raw, D::N)].into_iter().chain(extra).collect();
        let op = Op::Stencil(D::radii(radius), boundary);
        wrap(apply_body(op, &args, |w| f(wrap(w[0])).into_handle().raw_elt()))
    }

    /// The same with a second function that returns the elements beyond the edge, from their positions.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|xs: Arr<i64>| xs.stencil_by(1, |i| i * 100, |w| w.at(0) + w.at(2))).unwrap();
    /// assert_eq!(f.call([1, 2]).unwrap().to_vec(), [-98, 201]);
    /// ```
    #[track_caller]
    pub fn stencil_by<U: Elt, R: IntoHandle<Handle = Exp<U>>, S: IntoExp<T>>(
        self,
        radius: D::Radius,
        beyond: impl FnOnce(D::Index) -> S,
        f: impl FnOnce(Arr<T, D>) -> R,
    ) -> Arr<U, D> {
        let op = Op::Stencil(D::radii(radius), Boundary::Function);
        wrap(apply_bodies(
            op,
            &[trace::regular(self.raw, D::N)],
            |w| f(wrap(w[0])).into_handle().raw_elt(),
            |i| beyond(D::index(i)).into_exp().raw_elt(),
        ))
    }
}
