//! The meter: the cost semantics of figure 3 of the streaming NESL paper, and of the operators that the paper does not
//! have, as pure functions.
//!
//! A cost is `(W, D; M, N)`: work, depth, sequential and parallel space. All arithmetic saturates.
//! `‖v‖` is [`Value::space`]; in work, its parallel part. `aux` is the sum of the widths of the variables that a body uses from
//! outside, `l` the number of elements of the operand that an operator is about.

use deckle_ir::array::Op;
use deckle_ir::value::{Space, Value};

/// Work, depth, and space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// `W`: how many unit operations there are.
    pub work: u64,
    /// `D`: the longest chain of operations that wait for one another.
    pub depth: u64,
    /// `M` and `N`: the space needed by one processor and by as many as can be used.
    pub space: Space,
}

impl Cost {
    fn new(work: u64, depth: u64, space: Space) -> Cost {
        Cost { work, depth, space }
    }

    /// `let x = (self) in (rest)` where `‖x‖` is `held`: work and depth add up, and the rest runs beside the value.
    fn then(self, held: Space, rest: Cost) -> Cost {
        Cost {
            work: self.work.saturating_add(rest.work),
            depth: self.depth.saturating_add(rest.depth),
            space: self.space.max(held.plus(rest.space)),
        }
    }
}

/// What the cost of a statement needs to know of its bodies before they run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bodies {
    /// The widths of what each uses from outside.
    pub aux: [u64; 2],
    /// Whether the first is a single scalar operator applied to its two parameters: one of the paper's basic monoids, as far as cost
    /// goes.
    pub basic: bool,
}

/// The runs of one body of a statement, summed up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Runs {
    /// How many.
    pub count: u64,
    /// `Σ Wᵢ`.
    pub work: u64,
    /// `max Dᵢ`.
    pub depth: u64,
    /// `Σ Dᵢ`.
    pub depth_sum: u64,
    /// `max Mᵢ` and `Σ Nᵢ`.
    pub space: Space,
    /// `max (Mvᵢ + Mᵢ)` and `Σ (Nvᵢ + Nᵢ)`, where `vᵢ` are the arguments of the run.
    pub beside: Space,
    /// `max (Mvᵢ + Mᵢ)` and `max (Nvᵢ + Nᵢ)`: for runs that come one after another in any execution.
    pub in_turn: Space,
    /// `Σ ‖resultᵢ‖`.
    pub results: Space,
}

impl Runs {
    /// Counts one more run.
    pub(crate) fn add(&mut self, args: &[Value], result: &Value, cost: Cost) {
        let v = args.iter().fold(Space::default(), |s, a| s.plus(a.space()));
        let held = v.plus(cost.space);
        let gather =
            |total: Space, one: Space| Space { seq: total.seq.max(one.seq), par: total.par.saturating_add(one.par) };
        self.count += 1;
        self.work = self.work.saturating_add(cost.work);
        self.depth = self.depth.max(cost.depth);
        self.depth_sum = self.depth_sum.saturating_add(cost.depth);
        self.space = gather(self.space, cost.space);
        self.beside = gather(self.beside, held);
        self.in_turn = self.in_turn.max(held);
        self.results = self.results.plus(result.space());
    }

    /// The cost of the only run.
    fn only(&self) -> Cost {
        Cost::new(self.work, self.depth, self.space)
    }
}

/// `let x₁ = e₁ in … in r`, given for each statement its cost and `‖xᵢ‖`, and `‖r‖`.
///
/// Where `r` is the last statement (`tail`), that is the expression after the last `let`, not another variable.
pub(crate) fn body(stmts: &[(Cost, Space)], result: Space, tail: bool) -> Cost {
    let (lets, last) = match stmts.split_last() {
        Some(((cost, _), lets)) if tail => (lets, *cost),
        _ => (stmts, Cost::new(0, 0, result)),
    };
    lets.iter().rev().fold(last, |rest, (cost, held)| cost.then(*held, rest))
}

/// `(W, 1; ‖v‖)`: a primitive.
fn primitive(work: u64, result: Space) -> Cost {
    Cost::new(work, 1, result)
}

/// `((l+1)·aux + Σ Wᵢ, aux + max Dᵢ; …)`, the part that vectors and sequences have in common.
fn distributed(aux: u64, runs: &Runs, space: Space) -> Cost {
    let work = (runs.count + 1).saturating_mul(aux).saturating_add(runs.work);
    let shared = Space { seq: aux.saturating_add(1), par: runs.count.saturating_mul(aux).saturating_add(1) };
    Cost::new(work, aux.saturating_add(runs.depth), shared.plus(space))
}

/// A comprehension over a sequence: `M = 1 + aux + max(Mvᵢ + Mᵢ)`, `N = 1 + l·aux + Σ(Nvᵢ + Nᵢ)`.
fn over_sequence(aux: u64, runs: &Runs) -> Cost {
    distributed(aux, runs, runs.beside)
}

/// A body at each element of a vector: `M = 1 + aux + ‖result‖ + max Mᵢ`, `N = 1 + l·aux + ‖result‖ + Σ Nᵢ`.
fn over_vector(aux: u64, runs: &Runs, result: Space) -> Cost {
    distributed(aux, runs, result.plus(runs.space))
}

/// `{e | b}`: if the body ran, `(aux + W, aux + D; 1 + aux + M, 1 + aux + N)`, else `(aux, aux; 1, 1)`.
fn guard(aux: u64, runs: &Runs) -> Cost {
    let space = if runs.count == 0 { Space::both(1) } else { Space::both(aux.saturating_add(1)).plus(runs.space) };
    Cost::new(aux.saturating_add(runs.work), aux.saturating_add(runs.depth), space)
}

/// `if b then x else y` is
/// `let n = not b in let s = {x | b} in let t = {y | n} in let u = s ++ t in the(u)`.
fn conditional(aux: [u64; 2], runs: &[Runs; 2], result: Space) -> Cost {
    let one = Space { seq: result.seq.saturating_add(1), par: result.par.saturating_add(1) };
    let held = |r: &Runs| if r.count == 0 { Space::default() } else { one };
    let the = primitive(0, result);
    let append = primitive(one.par, one).then(one, the);
    let no = guard(aux[1], &runs[1]).then(held(&runs[1]), append);
    let yes = guard(aux[0], &runs[0]).then(held(&runs[0]), no);
    primitive(1, Space::both(1)).then(Space::both(1), yes)
}

/// `⌈log₂ n⌉`, and 0 for 0.
fn log2(n: u64) -> u64 {
    n.checked_sub(1).map_or(0, |m| (u64::BITS - m.leading_zeros()) as u64)
}

/// `(l·⌈log₂ l⌉ + ‖result‖, ⌈log₂ l⌉ + 1; ‖result‖)`.
fn sort(l: u64, result: Space) -> Cost {
    Cost::new(l.saturating_mul(log2(l)).saturating_add(result.par), log2(l) + 1, result)
}

/// `(W + Σ Wᵢ, 1 + ⌈log₂(l+1)⌉·max Dᵢ; …)`: folds and scans.
fn tree(work: u64, l: u64, runs: &Runs, space: Space) -> Cost {
    let depth = log2(l.saturating_add(1)).saturating_mul(runs.depth).saturating_add(1);
    Cost::new(work.saturating_add(runs.work), depth, space)
}

/// A fold: an application holds its operands, one after another or all at once; the result is at least there.
fn fold(l: u64, runs: &Runs, result: Space) -> Cost {
    tree(l, l, runs, result.max(runs.beside))
}

/// `‖iota(n)‖` as a sequence.
fn iota(n: u64) -> Space {
    Space { seq: if n == 0 { 0 } else { 2 }, par: n.saturating_mul(2) }
}

/// The cost of one statement: its operator, what is known of its bodies, its operands, its result, and what its bodies did.
pub(crate) fn statement(op: &Op, bodies: Bodies, args: &[Value], result: &Value, runs: &[Runs; 2]) -> Cost {
    let Bodies { aux, basic } = bodies;
    let v = result.space();
    let l = |k: usize| args.get(k).and_then(Value::items).map_or(0, |items| items.len() as u64);
    let is_seq = matches!(args.first(), Some(Value::Seq(_)));
    let vector_of = |elems: Space| Space::both(1).plus(elems);
    match op {
        Op::Tuple | Op::Record(_) | Op::Proj(_) => Cost::new(0, 0, v),
        Op::Const(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Cast(_)
        | Op::Select
        | Op::Index
        | Op::Use(_)
        | Op::Ensure(_) => primitive(1, v),
        Op::If => conditional(aux, runs, v),
        Op::While | Op::For => Cost {
            work: runs[0].work.saturating_add(runs[1].work),
            depth: runs[0].depth_sum.saturating_add(runs[1].depth_sum),
            space: v.max(runs[0].in_turn).max(runs[1].in_turn),
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
        | Op::Pad(_) => primitive(v.par, v),
        Op::Zip | Op::Unzip | Op::The => primitive(0, v),
        Op::Length if is_seq => primitive(l(0), v),
        Op::Length | Op::Shape(_) | Op::Empty => primitive(1, v),
        Op::Flatten if is_seq => primitive(l(0), v),
        Op::Flatten => primitive(v.par, v),
        Op::Size(_) | Op::Reduce(_) => primitive(l(0), v),
        Op::Split(_) => primitive(result.items().map_or(0, |rows| rows.len() as u64), v),
        Op::Tabulate(_) => primitive(args.first().map_or(0, |s| s.space().par), v),
        Op::Generate => over_vector(aux[0], &runs[0], v),
        Op::Map => {
            let cost = if is_seq { over_sequence(aux[0], &runs[0]) } else { over_vector(aux[0], &runs[0], v) };
            Cost { depth: cost.depth.saturating_add(u64::from(args.len() > 1)), ..cost }
        }
        Op::Produce => {
            let numbers = iota(runs[0].count);
            primitive(numbers.par, numbers).then(numbers, over_sequence(aux[0], &runs[0]))
        }
        Op::Guard => guard(aux[0], &runs[0]),
        Op::Filter | Op::Partition => {
            let cost = over_vector(aux[0], &runs[0], v);
            Cost { work: cost.work.saturating_add(l(0)), depth: cost.depth.saturating_add(1), ..cost }
        }
        Op::Compact => primitive(l(0).saturating_add(v.par), v),
        Op::Expand => {
            let counts = vector_of(runs[0].results);
            over_vector(aux[0], &runs[0], counts).then(counts, over_vector(aux[1], &runs[1], v))
        }
        Op::Permute => {
            let work = v.par.saturating_add(l(2)).saturating_add(runs[0].work);
            Cost::new(work, runs[0].depth.saturating_add(1), v.plus(runs[0].space))
        }
        Op::Scatter => primitive(v.par.saturating_add(l(2)), v),
        Op::Sort => sort(l(0), v),
        Op::SortBy | Op::GroupBy => {
            let keys = vector_of(runs[0].results);
            over_vector(aux[0], &runs[0], keys).then(keys, sort(l(0), v))
        }
        Op::Fold if basic => primitive(l(1), v),
        Op::Fold1 if basic => primitive(l(0), v),
        Op::Scan(..) if basic => primitive(v.par, v),
        Op::Fold => fold(l(1), &runs[0], v),
        Op::Fold1 => fold(l(0), &runs[0], v),
        Op::Scan(..) => tree(v.par, l(args.len().saturating_sub(1)), &runs[0], v.plus(runs[0].space)),
        Op::Stencil(..) => {
            // What lies beyond the edge is made first, where a body makes it.
            let inside = over_vector(aux[0], &runs[0], v);
            let beyond = vector_of(runs[1].results);
            match aux[1] == 0 && runs[1].count == 0 {
                true => inside,
                false => over_vector(aux[1], &runs[1], beyond).then(beyond, inside),
            }
        }
    }
}

#[cfg(test)]
mod tests;
