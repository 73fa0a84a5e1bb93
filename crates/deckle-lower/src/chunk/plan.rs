//! The order of execution: unchanged statements, loops over groups of others, and branches that decide which sequences loops traverse.
//!
//! A sequence that a condition selects is no sequence of its own: everything connected with it is duplicated in both branches, where the sequence is known.

use super::group::{Group, Sets, group};
use super::{Whole, uses};
use crate::cuts::Cuts;
use deckle_ir::array::{Function, Inst, Op};
use deckle_ir::entity::{Body, Var};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximal number of conditions among connected statements: each of them doubles the code.
const CONDITIONS: usize = 3;

/// A unit of execution.
#[derive(Clone, Debug)]
pub(super) enum Unit {
    /// A statement that traverses no sequence.
    Statement(Var),
    /// A decided condition, and its value.
    Decided(Var, Var),
    /// A loop that traverses a group.
    Loop(Group),
    /// A branch on a condition.
    Branch(Branch),
}

/// Statements of which some traverse a sequence that a condition selects.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    /// The `if`.
    pub stmt: Var,
    /// The units if the condition holds, and if it does not.
    pub ways: [Vec<Unit>; 2],
    /// The results that are used afterwards.
    pub gives: Vec<Var>,
}

/// A function in which some conditions are decided, with the value of each.
#[derive(Clone, Debug)]
pub(super) struct Text<'a> {
    pub function: &'a Function,
    pub decided: Vec<(Var, Var)>,
    /// Whether results are gathered rather than delivered.
    pub gathers: bool,
    pub cuts: Arc<Cuts>,
}

impl Text<'_> {
    /// The value of a decided condition.
    pub(super) fn stands_for(&self, s: Var) -> Option<Var> {
        self.decided.iter().find(|(v, _)| *v == s).map(|(_, v)| *v)
    }

    /// The variables that a statement uses.
    pub(super) fn uses(&self, s: Var) -> Vec<Var> {
        self.stands_for(s).map_or_else(|| uses(self.function, s), |v| vec![v])
    }

    /// What statements use from outside.
    pub(super) fn outside(&self, stmts: &[Var]) -> Vec<Var> {
        let all = stmts.iter().flat_map(|s| self.uses(*s));
        all.filter(|v| !stmts.contains(v)).collect()
    }

    fn is_seq(&self, v: Var) -> bool {
        !self.function.ty(v).is_concrete()
    }

    /// The first statement that selects a sequence, its condition, and the bodies of its branches.
    fn undecided(&self, stmts: &[Var]) -> Option<(Var, Var, [Body; 2])> {
        stmts.iter().filter(|s| self.stands_for(**s).is_none()).find_map(|s| match self.function.inst(*s)? {
            Inst { op: Op::If, args, bodies } => Some((*s, *args.first()?, bodies[..].try_into().ok()?)),
            _ => None,
        })
    }
}

/// The units of a function.
///
/// # Errors
/// The reason why a sequence cannot be traversed in chunks.
pub(super) fn units(function: &Function, cuts: Cuts) -> Result<Vec<Unit>, Whole> {
    let (results, tuples) = results(function);
    let mut stmts: Vec<Var> = results.iter().copied().filter(|v| function.inst(*v).is_none()).collect();
    stmts.extend(&function.body(Function::ROOT).stmts);
    plan(&Text { function, decided: Vec::new(), gathers: false, cuts: Arc::new(cuts) }, &stmts, &results, &tuples)
}

/// The units of the statements of a body, for one element; if its result is a sequence, that is gathered.
///
/// # Errors
/// As [`units`].
pub(super) fn inside(text: &Text<'_>, body: Body, gathers: bool) -> Result<Vec<Unit>, Whole> {
    let text = Text { decided: Vec::new(), gathers, ..text.clone() };
    let data = text.function.body(body);
    let results = if gathers { &[data.result][..] } else { &[] };
    plan(&text, &data.stmts, results, &BTreeSet::new())
}

/// The units of statements, of which some only build tuples of results.
fn plan(text: &Text<'_>, stmts: &[Var], results: &[Var], tuples: &BTreeSet<Var>) -> Result<Vec<Unit>, Whole> {
    let mut sets = Sets::default();
    let (mut units, mut connected) = (Vec::new(), Vec::new());
    for &s in stmts {
        let touched: Vec<Var> = text.uses(s).into_iter().filter(|v| text.is_seq(*v)).collect();
        if touched.is_empty() && !text.is_seq(s) || tuples.contains(&s) {
            let decided = text.stands_for(s).map(|v| Unit::Decided(s, v));
            units.push((vec![s], decided.unwrap_or(Unit::Statement(s))));
            continue;
        }
        connected.push(s);
        touched.into_iter().for_each(|v| sets.join(s, v));
    }
    let mut parts: Vec<(Var, Vec<Var>)> = Vec::new();
    for s in connected {
        let root = sets.find(s);
        match parts.iter_mut().find(|(r, _)| *r == root) {
            Some((_, stmts)) => stmts.push(s),
            None => parts.push((root, vec![s])),
        }
    }
    for (_, stmts) in parts {
        let unit = match text.undecided(&stmts) {
            Some(choice) => Unit::Branch(branch(text, choice, &stmts, results)?),
            None => Unit::Loop(group(text, stmts.clone(), results)?),
        };
        units.push((stmts, unit));
    }
    in_order(text, units)
}

/// The statements with a condition decided, once for each value.
fn branch(
    text: &Text<'_>,
    (s, cond, [yes, no]): (Var, Var, [Body; 2]),
    stmts: &[Var],
    results: &[Var],
) -> Result<Branch, Whole> {
    let function = text.function;
    let span = function.span(s);
    if text.decided.len() >= CONDITIONS {
        return Err(Whole::new(format!("more than {CONDITIONS} conditions select the traversals"), span));
    }
    // The branch is selected before the traversal.
    if stmts.contains(&cond) {
        return Err(Whole::new("it needs a result of a traversal before that ends", span));
    }
    let gives = stmts.iter().copied().filter(|v| !text.is_seq(*v) || results.contains(v)).collect();
    let way = |body: Body| {
        let body = function.body(body);
        let mut text = text.clone();
        text.decided.push((s, body.result));
        let all: Vec<Var> = body.stmts.iter().chain(stmts).copied().collect();
        plan(&text, &all, results, &BTreeSet::new())
    };
    Ok(Branch { stmt: s, ways: [way(yes)?, way(no)?], gives })
}

/// Units, each after those that it needs.
fn in_order(text: &Text<'_>, mut left: Vec<(Vec<Var>, Unit)>) -> Result<Vec<Unit>, Whole> {
    let mut missing: BTreeSet<Var> = left.iter().flat_map(|(stmts, _)| stmts.iter().copied()).collect();
    let mut done = Vec::new();
    while !left.is_empty() {
        let ready = left.iter().position(|(stmts, _)| text.outside(stmts).iter().all(|v| !missing.contains(v)));
        let why = || Whole::new("it needs a result of a traversal before that ends", text.function.span);
        let (stmts, unit) = left.remove(ready.ok_or_else(why)?);
        stmts.iter().for_each(|s| {
            missing.remove(s);
        });
        done.push(unit);
    }
    Ok(done)
}

/// For each sequence in the result of a function, in order, its number among the distinct ones.
pub(super) fn pushes(function: &Function) -> Vec<u32> {
    let (results, _) = results(function);
    let mut all = Vec::new();
    leaves(function, function.body(Function::ROOT).result, &mut all);
    all.iter().filter_map(|v| results.iter().position(|r| r == v)).map(|k| k as u32).collect()
}

/// The sequences of a result, in order.
fn leaves(function: &Function, v: Var, all: &mut Vec<Var>) {
    match function.inst(v) {
        _ if function.ty(v).is_concrete() => {}
        Some(inst) if matches!(inst.op, Op::Tuple | Op::Record(_)) => {
            inst.args.iter().for_each(|v| leaves(function, *v, all));
        }
        _ => all.push(v),
    }
}

/// The sequences that a function returns, each once, and the statements that only build tuples of them.
fn results(function: &Function) -> (Vec<Var>, BTreeSet<Var>) {
    let body = function.body(Function::ROOT);
    let (mut kept, mut tuples, mut pending) = (Vec::new(), BTreeSet::new(), vec![body.result]);
    while let Some(v) = pending.pop() {
        let used = || body.stmts.iter().filter(|s| uses(function, **s).contains(&v)).count();
        match function.inst(v) {
            _ if function.ty(v).is_concrete() => {}
            Some(inst) if matches!(inst.op, Op::Tuple | Op::Record(_)) && used() <= usize::from(v != body.result) => {
                tuples.insert(v);
                pending.extend(&inst.args);
            }
            _ if kept.contains(&v) => {}
            _ => kept.push(v),
        }
    }
    (kept, tuples)
}
