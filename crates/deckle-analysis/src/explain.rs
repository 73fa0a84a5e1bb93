//! The text of `deckle explain`: the decisions about a program.

use crate::bounds;
use crate::regularity::{self, Decision, Lift};
use crate::stream::{self, Fault, Place};
use crate::words::Words;
use deckle_diag::SourceMap;
use deckle_ir::array::{Function, Op, Program};
use deckle_ir::entity::{Body, Func, Var};
use std::fmt::Write;

/// The description of some functions of a program, given the simplified program. Lines are indented by two; the caller prints
/// the first one.
pub fn explain(program: &Program, simple: &Program, sources: &SourceMap, funcs: &[Func]) -> Vec<String> {
    funcs.iter().map(|f| one(program, simple, sources, *f)).collect()
}

fn one(program: &Program, simple: &Program, sources: &SourceMap, func: Func) -> String {
    let function = &program.funcs[func.index()];
    let words = Words::new(function, sources);
    let mut out = String::new();
    traversals(&mut out, program, func, &words);
    lifting(&mut out, function, &words);
    checks(&mut out, function, &words);
    simplified(&mut out, function, &simple.funcs[func.index()]);
    out
}

/// Which index checks are redundant.
fn checks(out: &mut String, function: &Function, words: &Words<'_>) {
    let (all, proven) = bounds::count(function);
    if all == 0 {
        return;
    }
    let _ = writeln!(out, "  index checks: {proven} of {all} proven by sizes");
    for (k, proven) in bounds::proven(function).into_iter().enumerate() {
        let var = Var(k as u32);
        if function.inst(var).is_some_and(|inst| matches!(inst.op, Op::Index | Op::Slice(_))) {
            let verdict = if proven { "proven" } else { "checked when it runs" };
            let _ = writeln!(out, "      {}", aligned(&words.value(var), &words.place(function.span(var)), verdict));
        }
    }
}

/// The result of simplification.
fn simplified(out: &mut String, function: &Function, simple: &Function) {
    let statements = |f: &Function| f.bodies.iter().map(|b| b.stmts.len()).sum::<usize>();
    let (before, after) = (statements(function), statements(simple));
    let _ = match before == after {
        true => writeln!(out, "  simplified: no change"),
        false => writeln!(out, "  simplified: {before} statements to {after}"),
    };
}

fn traversals(out: &mut String, program: &Program, func: Func, words: &Words<'_>) {
    let streams = stream::analyse(program, func);
    let function = &program.funcs[func.index()];
    if streams.traversals.is_empty() {
        let _ = writeln!(out, "  streams: none, all data is in memory");
        return;
    }
    let n = streams.traversals.len();
    let verdict = match &streams.fault {
        None => "each sequence is traversed once, and nothing of it is stored".to_string(),
        Some(Fault::TooLarge(_)) => "too large to decide".to_string(),
        Some(Fault::Order(_) | Fault::Rates(_)) => "cannot run in one pass: see `deckle check`".to_string(),
    };
    let _ = writeln!(out, "  streams: {n} traversal{}; {verdict}", if n == 1 { "" } else { "s" });
    for (k, list) in streams.traversals.iter().enumerate() {
        for (first, place) in list.iter().enumerate().map(|(k, p)| (k == 0, p)) {
            let label = if first { format!("{:>4}", k + 1) } else { "    ".into() };
            let _ = writeln!(out, "{label}  {}", member(function, words, *place));
        }
    }
}

fn member(function: &Function, words: &Words<'_>, place: Place) -> String {
    let op = function.inst(place.var).map_or("from outside", |inst| inst.op.info().name);
    aligned(&words.value(place.var), &words.place(function.span(place.var)), op)
}

/// The columns of all lists: subject, place, and verdict.
fn aligned(what: &str, place: &str, verdict: &str) -> String {
    let pad = 40usize.saturating_sub(what.chars().count());
    format!("{what}{:pad$}  {place:<7} {verdict}", "")
}

fn lifting(out: &mut String, function: &Function, words: &Words<'_>) {
    let mut bodies: Vec<(Body, Vec<Decision>)> = Vec::new();
    let mut told: Vec<Var> = Vec::new();
    for decision in regularity::decide(function) {
        // A variable is reported in its innermost body.
        if told.contains(&decision.var) || !worth_telling(function, decision.var) {
            continue;
        }
        told.push(decision.var);
        match bodies.iter_mut().find(|(b, _)| *b == decision.body) {
            Some((_, list)) => list.push(decision),
            None => bodies.push((decision.body, vec![decision])),
        }
    }
    bodies.sort_by_key(|(b, _)| *b);
    for (body, decisions) in bodies {
        let Some(owner) = words.owner(body) else { continue };
        let (what, place) = (words.value(owner), words.place(function.span(owner)));
        let _ = writeln!(out, "  lifted over {} in {what}  {place}", words.position(body));
        for d in decisions {
            for (path, lift) in &d.parts {
                let name = words.path(path);
                let _ = writeln!(
                    out,
                    "      {}",
                    aligned(&name, &words.place(function.span(d.var)), &verdict(lift, words, body))
                );
            }
        }
    }
}

/// Literals, and wrappers that the front end adds to values, are not worth reporting.
fn worth_telling(function: &Function, v: Var) -> bool {
    match function.inst(v) {
        None => true,
        Some(inst) => !matches!(inst.op, Op::Const(_) | Op::Proj(_) | Op::Ensure(_) | Op::Seq),
    }
}

fn verdict(lift: &Lift, words: &Words<'_>, body: Body) -> String {
    let i = words.position(body);
    match lift {
        Lift::Invariant => "invariant".into(),
        Lift::Regular => "regular".into(),
        Lift::Ragged(Some(size)) => format!("ragged, because its length `{}` depends on `{i}`", words.size(size)),
        Lift::Ragged(None) => "ragged, because its length is known only at run time".into(),
    }
}
