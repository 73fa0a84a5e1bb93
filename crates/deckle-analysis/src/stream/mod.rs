//! Streamability: whether a program can run with every sequence traversed once and none stored.
//!
//! # The rule
//! Every traversal has events: it is *ready* when all values that its consumers need at an element are known, it *goes* on after its
//! first elements, and it *ends*. A fold is known at the end of its operand. A body that uses a value from
//! outside needs it before its traversal is ready. Zip unifies two traversals; the second operand of `++` waits for the end of the
//! first; the computation of a comprehension at an element is inside that step. A program is rejected exactly if these
//! constraints contradict each other: if in some case (a branch that is taken, a first operand that is empty) an event would
//! have to come before itself, or a traversal would have to advance at two rates at once.
//!
//! # Method
//! `walk` traverses a function once, including calls and bodies, and replaces each value by the event at which it is available
//! (`flow`): `consume` for operators that traverse sequences, `join` and `parts` for those that combine and split them, `branch`
//! for conditions. Meanwhile it collects the order of events (`graph`), and which traversals advance together and which
//! are derived from which (`clocks`). A contradiction is a cycle in either; the edges of the cycle are the explanation in
//! `message`. `materialize` breaks cycles by storing sequences in memory.
//!
//! # Tests
//! `deckle_interp::run_streaming` runs a program one element at a time without any buffer. A program that is accepted here never gets
//! stuck there; one that is rejected does for some data. Tests compare the two on random programs.

mod branch;
mod clocks;
mod consume;
mod flow;
mod graph;
mod join;
mod materialize;
mod message;
mod number;
mod parts;
mod walk;

pub use materialize::{Kept, materialize};
pub use materialize::{streamed, whole};

use deckle_diag::{Diagnostic, SourceMap};
use deckle_ir::array::Program;
use deckle_ir::entity::{Func, Var};
use graph::{Choice, Why};
use number::Numbers;
use std::collections::HashSet;
use walk::Walk;

/// A statement of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The function.
    pub func: Func,
    /// Its result.
    pub var: Var,
}

/// Why a program cannot be streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A value is needed before it is known. The reasons form a cycle.
    Order(Vec<Reason>),
    /// A statement requires sequences to advance together of which one is derived from another.
    Rates(Place),
    /// The program is too large to analyse.
    TooLarge(Func),
}

/// Why one thing waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// This is known at the end of the sequence that it traverses.
    Ends(Place),
    /// This sequence starts when its operands are known.
    Starts(Place),
    /// This traverses a sequence with a body that uses a value from outside.
    Uses(Place),
    /// This `++` traverses its second operand after its first.
    Follows(Place),
    /// This requires sequences to advance together.
    Together(Place),
}

/// A sequence of a function and the traversal that it belongs to.
#[derive(Clone, Copy, Debug)]
struct Traversal {
    place: Place,
    class: u32,
}

/// The analysis of a function.
#[derive(Clone, Debug)]
pub struct Streams {
    /// The first fault, if any.
    pub fault: Option<Fault>,
    /// Its sequences, by traversal: those in one list advance together. In order of their first statement.
    pub traversals: Vec<Vec<Place>>,
}

/// Analyses one function as an entry, with all functions that it calls.
pub fn analyse(program: &Program, func: Func) -> Streams {
    let mut walk = Walk::new(program);
    walk.entry(func);
    let mut merged = walk.clocks.merged_all();
    let never: HashSet<clocks::Class> = walk.facts.never.iter().map(|c| merged.find(*c)).collect();
    let root = |choice, way| match choice {
        Choice::Empty(mut class) => {
            while let Some(other) = walk.facts.empty_as.get(&class) {
                class = *other;
            }
            match walk.facts.filled_if.get(&class) {
                Some((choice, filled)) => (*choice, way != *filled),
                None => (Choice::Empty(merged.find(class)), way),
            }
        }
        other => (other, way),
    };
    let made = |choice| match choice {
        Choice::Empty(class) => never.contains(&class).then_some(true),
        other => Numbers::made(other),
    };
    walk.graph.settle(root, made);
    walk.clocks.retain(|tie| {
        let both = [tie.outer, tie.inner];
        let filled = both.iter().filter_map(|c| walk.facts.filled_if.get(c).copied());
        let given: graph::Given = tie.given.iter().copied().chain(filled).collect();
        !both.iter().any(|c| never.contains(&merged.find(*c)))
            && given.iter().all(|&(c, way)| made(c).is_none_or(|m| m == way))
            && graph::conflict(std::iter::once(&given)).is_none()
    });
    let fault = if walk.too_large {
        Some(Fault::TooLarge(func))
    } else {
        order(&walk).or_else(|| walk.clocks.fault().map(Fault::Rates))
    };
    let mut traversals: Vec<(u32, Vec<Place>)> = Vec::new();
    for t in &walk.traversals {
        let class = merged.find(clocks::Class(t.class)).0;
        match traversals.iter_mut().find(|(c, _)| *c == class) {
            Some((_, list)) => list.push(t.place),
            None => traversals.push((class, vec![t.place])),
        }
    }
    Streams { fault, traversals: traversals.into_iter().map(|(_, list)| list).collect() }
}

fn order(walk: &Walk<'_>) -> Option<Fault> {
    let mut reasons: Vec<Reason> = Vec::new();
    for edge in walk.graph.cycle()? {
        let reason = match edge.why {
            Why::Nature | Why::Computed(_) => continue,
            Why::Ends(p) => Reason::Ends(p),
            Why::Starts(p) => Reason::Starts(p),
            Why::Uses(p) => Reason::Uses(p),
            Why::Follows(p) => Reason::Follows(p),
            Why::Together(p) => Reason::Together(p),
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    Some(Fault::Order(reasons))
}

/// The first fault of every function, each reported once.
pub fn faults(program: &Program) -> Vec<Fault> {
    faults_among(program, &vec![true; program.funcs.len()])
}

/// The faults of a function and of those that it calls. A function with sequences as parameters or results is analysed at each call.
pub fn faults_of(program: &Program, func: Func) -> Vec<Fault> {
    let mut reached = vec![false; program.funcs.len()];
    let mut pending = vec![func];
    while let Some(f) = pending.pop() {
        if !std::mem::replace(&mut reached[f.index()], true) {
            pending.extend(program.funcs[f.index()].callees());
        }
    }
    let apart = |k: usize| k == func.index() || program.funcs[k].is_concrete();
    let which: Vec<bool> = reached.iter().enumerate().map(|(k, r)| *r && apart(k)).collect();
    faults_among(program, &which)
}

fn faults_among(program: &Program, which: &[bool]) -> Vec<Fault> {
    let mut found: Vec<Fault> = Vec::new();
    for k in (0..program.funcs.len()).filter(|k| which[*k]) {
        if let Some(fault) = analyse(program, Func(k as u32)).fault
            && !found.contains(&fault)
        {
            found.push(fault);
        }
    }
    found
}

/// All faults that prevent a program, or one function of it and those that it calls, from being streamed, as diagnostics.
pub fn check(program: &Program, sources: &SourceMap, func: Option<Func>) -> Vec<Diagnostic> {
    let faults = func.map_or_else(|| faults(program), |f| faults_of(program, f));
    faults.iter().map(|f| message::report(program, sources, f)).collect()
}

#[cfg(test)]
mod tests;
