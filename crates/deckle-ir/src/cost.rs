//! The cost semantics: figure 3 of the streaming NESL paper, extended to the operators that the paper does not have.
//!
//! A cost is `(W, D; M, N)`: work, depth, sequential and parallel space. `‖v‖` is the [`Space`] of a value; in work, its parallel
//! part. `aux` is the sum of the widths of the variables that a body uses from outside, `l` the number of elements of the
//! main operand of an operator.
//!
//! The rules are written once, over any [`Quantity`]. With numbers they are the interpreter's meter: the cost of a run. With
//! formulas they are the prediction: the cost from sizes alone. There a formula is an upper bound, and
//! [`Quantity::is_zero`] holds only for formulas that are zero for all arguments.

use crate::array::{Function, Inst, Op};
use crate::entity::Body;
use crate::value::Space;

/// The unit of costs.
pub trait Quantity: Clone {
    /// The number `n`.
    fn number(n: u64) -> Self;
    /// The sum.
    fn plus(&self, other: &Self) -> Self;
    /// The product.
    fn times(&self, other: &Self) -> Self;
    /// The maximum.
    fn most(&self, other: &Self) -> Self;
    /// `⌈log₂ n⌉`, and 0 for 0.
    fn log2(&self) -> Self;
    /// Whether it is known to be 0.
    fn is_zero(&self) -> bool;
}

/// Numbers, whose arithmetic saturates.
impl Quantity for u64 {
    fn number(n: u64) -> u64 {
        n
    }
    fn plus(&self, other: &u64) -> u64 {
        self.saturating_add(*other)
    }
    fn times(&self, other: &u64) -> u64 {
        self.saturating_mul(*other)
    }
    fn most(&self, other: &u64) -> u64 {
        *self.max(other)
    }
    fn log2(&self) -> u64 {
        self.checked_sub(1).map_or(0, |m| (u64::BITS - m.leading_zeros()) as u64)
    }
    fn is_zero(&self) -> bool {
        *self == 0
    }
}

/// Work, depth, and space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost<Q = u64> {
    /// `W`: the number of unit operations.
    pub work: Q,
    /// `D`: the longest chain of dependent operations.
    pub depth: Q,
    /// `M` and `N`: the space needed by one processor and by the maximal number of processors that can be used.
    pub space: Space<Q>,
}

impl<Q: Quantity> Cost<Q> {
    fn new(work: Q, depth: Q, space: Space<Q>) -> Self {
        Cost { work, depth, space }
    }

    /// `let x = (self) in (rest)` where `‖x‖` is `held`: work and depth add up, and the space of the rest adds to that of the value.
    fn then(self, held: Space<Q>, rest: Cost<Q>) -> Self {
        Cost {
            work: self.work.plus(&rest.work),
            depth: self.depth.plus(&rest.depth),
            space: self.space.max(held.plus(rest.space)),
        }
    }

    /// The maximum in every component: an upper bound of either.
    pub fn or(self, other: Cost<Q>) -> Self {
        Cost {
            work: self.work.most(&other.work),
            depth: self.depth.most(&other.depth),
            space: self.space.max(other.space),
        }
    }
}

/// The facts about bodies that the cost of a statement needs before they run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bodies {
    /// The widths of the outer variables of each.
    pub aux: [u64; 2],
    /// Whether the first is a single scalar operator applied to its two parameters: one of the paper's basic monoids, for the purpose of
    /// costs.
    pub basic: bool,
}

impl Bodies {
    /// The facts about the bodies of a statement of this function.
    pub fn of(function: &Function, inst: &Inst) -> Bodies {
        let aux = |k: usize| inst.bodies.get(k).map_or(0, |b| aux(function, *b));
        Bodies { aux: [aux(0), aux(1)], basic: inst.bodies.first().is_some_and(|b| basic(function, *b)) }
    }
}

/// The total width of the variables that a body uses from outside.
pub fn aux(function: &Function, body: Body) -> u64 {
    function.free_vars(body).iter().map(|v| function.ty(*v).width()).sum()
}

/// Whether a body is a single scalar operator applied to its two parameters.
pub fn basic(function: &Function, body: Body) -> bool {
    let data = function.body(body);
    match (data.params.as_slice(), data.stmts.as_slice()) {
        ([_, _], [s]) if *s == data.result => matches!(
            function.inst(*s),
            Some(Inst { op: Op::Binary(_), args, .. })
                if args.iter().all(|a| data.params.contains(a)) && args[0] != args[1]
        ),
        _ => false,
    }
}

/// The runs of one body of a statement, accumulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs<Q = u64> {
    /// The number of runs.
    pub count: Q,
    /// `Σ Wᵢ`.
    pub work: Q,
    /// `max Dᵢ`.
    pub depth: Q,
    /// `Σ Dᵢ`.
    pub depth_sum: Q,
    /// `max Mᵢ` and `Σ Nᵢ`.
    pub space: Space<Q>,
    /// `max (Mvᵢ + Mᵢ)` and `Σ (Nvᵢ + Nᵢ)`, where `vᵢ` are the arguments of the run.
    pub beside: Space<Q>,
    /// `max (Mvᵢ + Mᵢ)` and `max (Nvᵢ + Nᵢ)`: for runs that are sequential in any execution.
    pub in_turn: Space<Q>,
    /// `Σ ‖resultᵢ‖`.
    pub results: Space<Q>,
}

impl<Q: Quantity> Runs<Q> {
    /// Counts one more run, given `‖vᵢ‖`, `‖resultᵢ‖` and its cost.
    pub fn add(&mut self, v: Space<Q>, result: Space<Q>, cost: Cost<Q>) {
        let held = v.plus(cost.space.clone());
        let gather =
            |total: &Space<Q>, one: &Space<Q>| Space { seq: total.seq.most(&one.seq), par: total.par.plus(&one.par) };
        self.count = self.count.plus(&Q::number(1));
        self.work = self.work.plus(&cost.work);
        self.depth = self.depth.most(&cost.depth);
        self.depth_sum = self.depth_sum.plus(&cost.depth);
        self.space = gather(&self.space, &cost.space);
        self.beside = gather(&self.beside, &held);
        self.in_turn = self.in_turn.clone().max(held);
        self.results = self.results.clone().plus(result);
    }

    /// The cost of the only run.
    fn only(&self) -> Cost<Q> {
        Cost::new(self.work.clone(), self.depth.clone(), self.space.clone())
    }
}

/// The facts about an operand or the result that a rule needs.
#[derive(Clone, Debug)]
pub struct Measure<Q = u64> {
    /// `‖v‖`.
    pub space: Space<Q>,
    /// The number of elements of a vector or a sequence, else 0.
    pub items: Q,
    /// Whether it is a sequence.
    pub is_seq: bool,
}

/// `let x₁ = e₁ in … in r`, given for each statement its cost and `‖xᵢ‖`, and `‖r‖`.
///
/// If `r` is the last statement (`tail`), it is the expression after the last `let`, not another variable.
pub fn body<Q: Quantity>(stmts: &[(Cost<Q>, Space<Q>)], result: Space<Q>, tail: bool) -> Cost<Q> {
    let (lets, last) = match stmts.split_last() {
        Some(((cost, _), lets)) if tail => (lets, cost.clone()),
        _ => (stmts, Cost::new(Q::number(0), Q::number(0), result)),
    };
    lets.iter().rev().fold(last, |rest, (cost, held)| cost.clone().then(held.clone(), rest))
}

/// `(W, 1; ‖v‖)`: a primitive.
fn primitive<Q: Quantity>(work: Q, result: Space<Q>) -> Cost<Q> {
    Cost::new(work, Q::number(1), result)
}

fn one<Q: Quantity>() -> Space<Q> {
    Space::both(Q::number(1))
}

/// `((l+1)·aux + Σ Wᵢ, aux + max Dᵢ; …)`, the common part of vectors and sequences.
fn distributed<Q: Quantity>(aux: u64, runs: &Runs<Q>, space: Space<Q>) -> Cost<Q> {
    let aux = Q::number(aux);
    let copies = runs.count.times(&aux);
    let shared = Space { seq: aux.plus(&Q::number(1)), par: copies.plus(&Q::number(1)) };
    Cost::new(copies.plus(&aux).plus(&runs.work), aux.plus(&runs.depth), shared.plus(space))
}

/// A comprehension over a sequence: `M = 1 + aux + max(Mvᵢ + Mᵢ)`, `N = 1 + l·aux + Σ(Nvᵢ + Nᵢ)`.
fn over_sequence<Q: Quantity>(aux: u64, runs: &Runs<Q>) -> Cost<Q> {
    distributed(aux, runs, runs.beside.clone())
}

/// A body at each element of a vector: `M = 1 + aux + ‖result‖ + max Mᵢ`, `N = 1 + l·aux + ‖result‖ + Σ Nᵢ`.
fn over_vector<Q: Quantity>(aux: u64, runs: &Runs<Q>, result: Space<Q>) -> Cost<Q> {
    distributed(aux, runs, result.plus(runs.space.clone()))
}

/// `{e | b}`: if the body ran, `(aux + W, aux + D; 1 + aux + M, 1 + aux + N)`, else `(aux, aux; 1, 1)`.
fn guard<Q: Quantity>(aux: u64, runs: &Runs<Q>) -> Cost<Q> {
    let aux = Q::number(aux);
    let space =
        if runs.count.is_zero() { one() } else { Space::both(aux.plus(&Q::number(1))).plus(runs.space.clone()) };
    Cost::new(aux.plus(&runs.work), aux.plus(&runs.depth), space)
}

/// `if b then x else y` is
/// `let n = not b in let s = {x | b} in let t = {y | n} in let u = s ++ t in the(u)`.
fn conditional<Q: Quantity>(aux: [u64; 2], runs: &[Runs<Q>; 2], result: Space<Q>) -> Cost<Q> {
    let single = result.clone().plus(one());
    let held = |r: &Runs<Q>| if r.count.is_zero() { Space::both(Q::number(0)) } else { single.clone() };
    let the = primitive(Q::number(0), result);
    let append = primitive(single.par.clone(), single.clone()).then(single.clone(), the);
    let no = guard(aux[1], &runs[1]).then(held(&runs[1]), append);
    let yes = guard(aux[0], &runs[0]).then(held(&runs[0]), no);
    primitive(Q::number(1), one()).then(one(), yes)
}

/// `(l·⌈log₂ l⌉ + ‖result‖, ⌈log₂ l⌉ + 1; ‖result‖)`.
fn sort<Q: Quantity>(l: Q, result: Space<Q>) -> Cost<Q> {
    Cost::new(l.times(&l.log2()).plus(&result.par), l.log2().plus(&Q::number(1)), result)
}

/// `(W + Σ Wᵢ, 1 + ⌈log₂(l+1)⌉·max Dᵢ; …)`: folds and scans.
fn tree<Q: Quantity>(work: Q, l: Q, runs: &Runs<Q>, space: Space<Q>) -> Cost<Q> {
    let levels = l.plus(&Q::number(1)).log2();
    Cost::new(work.plus(&runs.work), levels.times(&runs.depth).plus(&Q::number(1)), space)
}

/// A fold: an application holds its operands, one after another or all at once; the space is at least that of the result.
fn fold<Q: Quantity>(l: Q, runs: &Runs<Q>, result: Space<Q>) -> Cost<Q> {
    tree(l.clone(), l, runs, result.max(runs.beside.clone()))
}

/// `(W + Σ Wᵢ, 1 + Σ Dᵢ; max(vᵢ + Mᵢ))`: runs that are sequential in any execution.
fn in_order<Q: Quantity>(work: Q, runs: &Runs<Q>, result: Space<Q>) -> Cost<Q> {
    let depth = runs.depth_sum.plus(&Q::number(1));
    Cost::new(work.plus(&runs.work), depth, result.max(runs.in_turn.clone()))
}

/// `‖iota(n)‖` as a sequence.
fn iota<Q: Quantity>(n: &Q) -> Space<Q> {
    let two = Q::number(2);
    Space { par: n.times(&two), seq: if n.is_zero() { Q::number(0) } else { two } }
}

/// The cost of one statement: its operator, the facts about its bodies, its operands, its result, and the costs of the runs of its bodies.
pub fn statement<Q: Quantity>(
    op: &Op,
    bodies: Bodies,
    args: &[Measure<Q>],
    result: &Measure<Q>,
    runs: &[Runs<Q>; 2],
) -> Cost<Q> {
    let Bodies { aux, basic } = bodies;
    let v = result.space.clone();
    let l = |k: usize| args.get(k).map_or(Q::number(0), |a| a.items.clone());
    let is_seq = args.first().is_some_and(|a| a.is_seq);
    let vector_of = |elems: &Space<Q>| elems.clone().plus(one());
    match op {
        Op::Tuple | Op::Record(_) | Op::Proj(_) => Cost::new(Q::number(0), Q::number(0), v),
        Op::Const(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Cast(_)
        | Op::Select
        | Op::Fma
        | Op::Index
        | Op::Use(_)
        | Op::Ensure(_) => primitive(Q::number(1), v),
        Op::If => conditional(aux, runs, v),
        Op::While | Op::For | Op::Stream => Cost {
            work: runs[0].work.plus(&runs[1].work),
            depth: runs[0].depth_sum.plus(&runs[1].depth_sum),
            space: v.max(runs[0].in_turn.clone()).max(runs[1].in_turn.clone()),
        },
        Op::Call(_) => runs[0].only(),
        Op::Array(_)
        | Op::Replicate
        | Op::Iota(_)
        | Op::Range(..)
        | Op::MkSeq(_)
        | Op::Append
        | Op::FlagPart
        | Op::Tab
        | Op::Seq
        | Op::Tiles(_)
        | Op::Reshape(_)
        | Op::Slice(_)
        | Op::Transpose(_)
        | Op::Reverse(_)
        | Op::Take
        | Op::Drop
        | Op::Concat(_)
        | Op::Pull(_)
        | Op::Pad(_) => primitive(v.par.clone(), v),
        Op::Push(_) => primitive(args.get(1).map_or(Q::number(0), |xs| xs.space.par.clone()), v),
        Op::Zip | Op::Unzip | Op::The => primitive(Q::number(0), v),
        Op::Length if is_seq => primitive(l(0), v),
        Op::Length | Op::Shape(_) | Op::Empty => primitive(Q::number(1), v),
        Op::Flatten if is_seq => primitive(l(0), v),
        Op::Flatten => primitive(v.par.clone(), v),
        Op::Size(_) | Op::Reduce(_) => primitive(l(0), v),
        Op::Split(_) => primitive(result.items.clone(), v),
        Op::Tabulate(_) => primitive(args.first().map_or(Q::number(0), |s| s.space.par.clone()), v),
        Op::Generate => over_vector(aux[0], &runs[0], v),
        Op::Map => {
            let cost = if is_seq { over_sequence(aux[0], &runs[0]) } else { over_vector(aux[0], &runs[0], v) };
            Cost { depth: cost.depth.plus(&Q::number(u64::from(args.len() > 1))), ..cost }
        }
        Op::Produce => {
            let numbers = iota(&runs[0].count);
            primitive(numbers.par.clone(), numbers.clone()).then(numbers, over_sequence(aux[0], &runs[0]))
        }
        Op::Guard => guard(aux[0], &runs[0]),
        Op::Filter | Op::Partition => {
            let cost = over_vector(aux[0], &runs[0], v);
            Cost { work: cost.work.plus(&l(0)), depth: cost.depth.plus(&Q::number(1)), ..cost }
        }
        Op::Compact => primitive(l(0).plus(&v.par), v),
        Op::Expand => {
            let counts = vector_of(&runs[0].results);
            over_vector(aux[0], &runs[0], counts.clone()).then(counts, over_vector(aux[1], &runs[1], v))
        }
        Op::Permute => {
            let work = v.par.plus(&l(2)).plus(&runs[0].work);
            Cost::new(work, runs[0].depth.plus(&Q::number(1)), v.plus(runs[0].space.clone()))
        }
        Op::Scatter => primitive(v.par.plus(&l(2)), v),
        Op::Sort => sort(l(0), v),
        Op::SortBy | Op::GroupBy => {
            let keys = vector_of(&runs[0].results);
            over_vector(aux[0], &runs[0], keys.clone()).then(keys, sort(l(0), v))
        }
        Op::Fold if basic => primitive(l(1), v),
        Op::Fold1 if basic => primitive(l(0), v),
        Op::Scan(..) if basic => primitive(v.par.clone(), v),
        Op::Fold => fold(l(1), &runs[0], v),
        Op::Fold1 => fold(l(0), &runs[0], v),
        Op::FoldOrdered => in_order(l(1), &runs[0], v),
        Op::ScanOrdered => in_order(v.par.clone(), &runs[0], v.plus(runs[0].in_turn.clone())),
        Op::Scan(..) => {
            let space = v.clone().plus(runs[0].space.clone());
            tree(v.par, l(args.len().saturating_sub(1)), &runs[0], space)
        }
        Op::Stencil(..) => {
            // The border elements are computed first, if a body computes them.
            let inside = over_vector(aux[0], &runs[0], v);
            let beyond = vector_of(&runs[1].results);
            match aux[1] == 0 && runs[1].count.is_zero() {
                true => inside,
                false => over_vector(aux[1], &runs[1], beyond.clone()).then(beyond, inside),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(work: u64, depth: u64, seq: u64, par: u64) -> Cost {
        Cost { work, depth, space: Space { seq, par } }
    }

    #[test]
    fn logarithms_round_up() {
        assert_eq!([0u64, 1, 2, 3, 4, 5, 8, 9].map(|n| n.log2()), [0, 0, 1, 2, 2, 3, 3, 4]);
        assert_eq!(u64::MAX.log2(), 64);
    }

    #[test]
    fn a_body_is_a_chain_of_lets() {
        // let x = (5, 2; 9, 9) of size 3 in let y = (1, 1; 1, 1) of size 1 in x:
        // from the end: 3; max(1, 1 + 3) = 4; max(9, 3 + 4) = 9.
        let stmts = [(cost(5, 2, 9, 9), Space::both(3)), (cost(1, 1, 1, 1), Space::both(1))];
        assert_eq!(body(&stmts, Space::both(3), false), cost(6, 3, 9, 9));
        // As the last expression y is not held together with a result: 1; max(9, 3 + 1) = 9.
        assert_eq!(body(&stmts, Space::both(1), true), cost(6, 3, 9, 9));
        // With a smaller first statement the difference shows: max(1, 3 + 4) = 7 against max(1, 3 + 1) = 4.
        let stmts = [(cost(5, 2, 1, 1), Space::both(3)), (cost(1, 1, 1, 1), Space::both(1))];
        assert_eq!(body(&stmts, Space::both(3), false), cost(6, 3, 7, 7));
        assert_eq!(body(&stmts, Space::both(1), true), cost(6, 3, 4, 4));
        assert_eq!(body(&[], Space::both(2), false), cost(0, 0, 2, 2));
    }

    #[test]
    fn numbers_saturate() {
        let huge = Runs { count: u64::MAX - 1, work: u64::MAX, depth: u64::MAX, ..Runs::default() };
        assert_eq!(over_vector(3, &huge, Space::both(u64::MAX)).work, u64::MAX);
        assert_eq!(tree(u64::MAX, u64::MAX, &huge, Space::both(1)).depth, u64::MAX);
        assert_eq!(conditional([u64::MAX; 2], &[huge, huge], Space::both(u64::MAX)).space.par, u64::MAX);
    }
}
