//! Making a failing case smaller.
//!
//! The search is greedy: each pass tries changes that remove parts of the program or of its arguments, keeps the first
//! that verifies and still fails, and continues from there until no pass finds any. The caller defines a failure.

use crate::Case;
use crate::rebuild::{Edit, Stand, rebuild};
use deckle_ir::array::{Function, Op, Program, verify};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::collections::{HashMap, HashSet};

/// The maximal number of candidates that are tried.
const PATIENCE: usize = 6000;

/// A smaller case for which `fails` still holds; the case itself if none is found.
pub fn shrink(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    // If the failure is that of the verifier, candidates need not verify.
    let strict = verify(&case.program).is_ok();
    let mut search = Search { best: case.clone(), fails, strict, left: PATIENCE };
    loop {
        let before = search.best.measure();
        search.unused_functions();
        for k in (0..search.best.program.funcs.len()).rev() {
            search.earlier_results(Func(k as u32));
            search.dead(Func(k as u32));
            search.statements(Func(k as u32));
            search.body_results(Func(k as u32));
        }
        search.unused_params();
        search.shorter_args();
        search.plainer_args();
        if search.left == 0 || search.best.measure() >= before {
            return search.best;
        }
    }
}

impl Case {
    /// The size of a case; only smaller ones are kept.
    fn measure(&self) -> (usize, usize, u64, u64) {
        let funcs = &self.program.funcs;
        let stmts: usize = funcs.iter().map(|f| f.vars.len() + 4 * f.bodies.len()).sum();
        // An earlier variable in place of a later one is simpler.
        let operands = funcs.iter().map(handles).sum();
        let room = self.args.iter().map(|v| v.space().par).sum();
        (stmts, operands, room, self.args.iter().map(weight).sum())
    }
}

/// The sum of all operands and results, as numbers.
fn handles(f: &Function) -> usize {
    let args = (0..f.vars.len()).filter_map(|v| f.inst(Var(v as u32))).flat_map(|i| i.args.iter().map(|a| a.index()));
    args.sum::<usize>() + f.bodies.iter().map(|b| b.result.index()).sum::<usize>()
}

/// The number of non-zero scalars.
fn weight(v: &Value) -> u64 {
    match v {
        Value::Scalar(s) => u64::from(*s != Scalar::zero(s.ty())),
        Value::Tuple(parts) => parts.iter().map(weight).sum(),
        Value::Array(items) | Value::Seq(items) => items.iter().map(weight).sum(),
    }
}

struct Search<'f> {
    best: Case,
    fails: &'f mut dyn FnMut(&Case) -> bool,
    strict: bool,
    left: usize,
}

impl Search<'_> {
    /// Keeps a candidate if it is smaller, verifies and still fails.
    fn offer(&mut self, case: Case) -> bool {
        if self.left == 0 || case.measure() >= self.best.measure() || (self.strict && verify(&case.program).is_err()) {
            return false;
        }
        self.left -= 1;
        let kept = (self.fails)(&case);
        if kept {
            self.best = case;
        }
        kept
    }

    fn func(&self, f: Func) -> &Function {
        &self.best.program.funcs[f.index()]
    }

    /// Offers the program with one function changed. Later functions are copied, as the types of their calls may differ.
    fn edit(&mut self, f: Func, edit: &Edit) -> bool {
        let mut funcs: Vec<Function> = Vec::new();
        for (k, old) in self.best.program.funcs.iter().enumerate() {
            let none = Edit::default();
            let edit = if k == f.index() { edit } else { &none };
            let Some(func) = (if k < f.index() { Some(old.clone()) } else { rebuild(&funcs, old, edit) }) else {
                return false;
            };
            funcs.push(func);
        }
        self.offer(Case { program: Program { funcs }, ..self.best.clone() })
    }

    /// Offers a change together with the removal of statements that it leaves unused, or else alone.
    fn edit_and_sweep(&mut self, f: Func, edit: Edit) -> bool {
        let mut swept = edit.clone();
        swept.drop.extend(unused(self.func(f), &edit));
        self.edit(f, &swept) || self.edit(f, &edit)
    }

    fn unused_functions(&mut self) {
        let mut k = 0;
        while k < self.best.program.funcs.len() {
            let gone = Func(k as u32);
            let funcs = &self.best.program.funcs;
            let called = funcs.iter().any(|f| calls(f).contains(&gone));
            let candidate = if called || gone == self.best.entry { None } else { without_function(&self.best, gone) };
            if !candidate.is_some_and(|case| self.offer(case)) {
                k += 1;
            }
        }
    }

    fn dead(&mut self, f: Func) {
        let all = unused(self.func(f), &Edit::default());
        if all.is_empty() || self.edit(f, &Edit { drop: all, ..Edit::default() }) {
            return;
        }
        // Together they matter, perhaps because one of them fails; those before the last may not.
        let mut at = self.func(f).vars.len();
        while at > 0 {
            at -= 1;
            let v = Var(at as u32);
            if at < self.func(f).vars.len() && unused(self.func(f), &Edit::default()).contains(&v) {
                self.edit(f, &Edit { drop: HashSet::from([v]), ..Edit::default() });
            }
        }
    }

    fn earlier_results(&mut self, f: Func) {
        let body = self.func(f).body(Function::ROOT);
        let all: Vec<Var> = body.params.iter().chain(&body.stmts).copied().filter(|v| *v < body.result).collect();
        for v in all {
            if self.edit_and_sweep(f, Edit { results: HashMap::from([(Function::ROOT, v)]), ..Edit::default() }) {
                return;
            }
        }
    }

    fn statements(&mut self, f: Func) {
        let mut at = self.func(f).vars.len();
        while at > 0 {
            at = at.min(self.func(f).vars.len()) - 1;
            let func = self.func(f);
            let v = Var(at as u32);
            if func.inst(v).is_none() {
                continue;
            }
            let ty = func.ty(v).clone();
            let mut stands: Vec<Stand> = Vec::new();
            if let Type::Scalar(s) = ty
                && !matches!(func.inst(v).map(|i| &i.op), Some(Op::Const(_)))
            {
                stands.push(Stand::Const(Scalar::zero(s)));
                stands.push(Stand::Const(Scalar::one(s)));
            }
            let visible = scope_of(func, v);
            let alike = visible.into_iter().filter(|u| func.ty(*u).same_kind(&ty));
            stands.splice(0..0, alike.take(5).map(Stand::Var));
            stands.extend((0..func.inst(v).map_or(0, |i| i.bodies.len())).map(Stand::Inline));
            for stand in stands {
                if self.edit_and_sweep(f, Edit { replace: HashMap::from([(v, stand)]), ..Edit::default() }) {
                    break;
                }
            }
        }
    }

    fn body_results(&mut self, f: Func) {
        for b in (1..self.func(f).bodies.len()).rev() {
            let func = self.func(f);
            let body = Body(b as u32);
            let Some(data) = func.bodies.get(b) else { continue };
            let ty = func.ty(data.result);
            let own = data.params.iter().chain(&data.stmts).copied();
            let all: Vec<Var> = own.filter(|v| *v < data.result && func.ty(*v).same_kind(ty)).collect();
            for v in all {
                if self.edit_and_sweep(f, Edit { results: HashMap::from([(body, v)]), ..Edit::default() }) {
                    break;
                }
            }
        }
    }

    fn unused_params(&mut self) {
        let entry = self.best.entry;
        if self.best.program.funcs.iter().any(|f| calls(f).contains(&entry)) {
            return;
        }
        for k in (0..self.best.args.len()).rev() {
            let func = self.func(entry);
            let p = func.params()[k];
            let edit = Edit { drop: HashSet::from([p]), ..Edit::default() };
            let before = &self.best.program.funcs[..entry.index()];
            let Some(func) = rebuild(before, func, &edit) else { continue };
            let mut case = self.best.clone();
            case.program.funcs[entry.index()] = func;
            case.args.remove(k);
            self.offer(case);
        }
    }

    /// Cuts all vectors of the same depth and length: their sizes may be shared.
    fn shorter_args(&mut self) {
        let mut seen = HashSet::new();
        self.best.args.iter().for_each(|v| lengths(v, 0, &mut seen));
        let mut all: Vec<(usize, usize)> = seen.into_iter().collect();
        all.sort_unstable();
        for (depth, len) in all {
            for to in [0, 1, len / 2, len.saturating_sub(1)].into_iter().filter(|to| *to < len) {
                let args = self.best.args.iter().map(|v| cut(v, depth, len, to)).collect();
                if self.offer(Case { args, ..self.best.clone() }) {
                    break;
                }
            }
        }
    }

    fn plainer_args(&mut self) {
        for k in 0..self.best.args.len() {
            let mut args = self.best.args.clone();
            args[k] = plain(&args[k], &mut usize::MAX.clone(), true);
            if self.offer(Case { args, ..self.best.clone() }) {
                continue;
            }
            for nth in 0..200 {
                let mut args = self.best.args.clone();
                let mut left = nth;
                args[k] = plain(&args[k], &mut left, false);
                if left != usize::MAX {
                    break;
                }
                self.offer(Case { args, ..self.best.clone() });
            }
        }
    }
}

fn calls(f: &Function) -> HashSet<Func> {
    let insts = (0..f.vars.len()).filter_map(|v| f.inst(Var(v as u32)));
    insts.filter_map(|i| if let Op::Call(f) = i.op { Some(f) } else { None }).collect()
}

fn without_function(case: &Case, gone: Func) -> Option<Case> {
    let later = |f: Func| if f > gone { Func(f.0 - 1) } else { f };
    let mut funcs: Vec<Function> = Vec::new();
    for (k, func) in case.program.funcs.iter().enumerate() {
        if k != gone.index() {
            let calls = (0..case.program.funcs.len() as u32).map(|f| (Func(f), later(Func(f)))).collect();
            let func = rebuild(&funcs, func, &Edit { calls, ..Edit::default() })?;
            funcs.push(func);
        }
    }
    Some(Case { program: Program { funcs }, entry: later(case.entry), ..case.clone() })
}

/// The statements that are unused, directly or through others, after an edit.
fn unused(func: &Function, edit: &Edit) -> HashSet<Var> {
    let mut live: HashSet<Var> = HashSet::new();
    let result = |b: Body| edit.results.get(&b).copied().unwrap_or(func.body(b).result);
    let mut pending = vec![result(Function::ROOT)];
    while let Some(v) = pending.pop() {
        if !live.insert(v) {
            continue;
        }
        // Variables in sizes are used as well.
        func.ty(v).any_atom(&mut |a, _| {
            use deckle_ir::size::Atom;
            if let Atom::Value(p) | Atom::Read(p, _) | Atom::If(p, ..) = a {
                pending.push(p.root);
            }
            false
        });
        match (edit.replace.get(&v), func.inst(v)) {
            (Some(Stand::Var(u)), _) => pending.push(*u),
            (Some(Stand::Const(_)), _) | (_, None) => {}
            (_, Some(inst)) => {
                pending.extend(&inst.args);
                pending.extend(inst.bodies.iter().map(|b| result(*b)));
            }
        }
    }
    let stmts = func.bodies.iter().flat_map(|b| b.stmts.iter().copied());
    stmts.filter(|v| !live.contains(v) && !edit.replace.contains_key(v)).collect()
}

/// The variables that the statement `v` may use, oldest first.
fn scope_of(func: &Function, v: Var) -> Vec<Var> {
    fn find(func: &Function, body: Body, v: Var, scope: &mut Vec<Var>) -> bool {
        let data = func.body(body);
        let before = scope.len();
        scope.extend(&data.params);
        for &s in &data.stmts {
            if s == v {
                return true;
            }
            let inside = func.inst(s).is_some_and(|i| i.bodies.iter().any(|b| find(func, *b, v, scope)));
            if inside {
                return true;
            }
            scope.push(s);
        }
        scope.truncate(before);
        false
    }
    let mut scope = Vec::new();
    find(func, Function::ROOT, v, &mut scope);
    scope
}

fn lengths(v: &Value, depth: usize, seen: &mut HashSet<(usize, usize)>) {
    if let Value::Array(items) | Value::Seq(items) = v {
        seen.insert((depth, items.len()));
        items.iter().for_each(|e| lengths(e, depth + 1, seen));
    } else if let Value::Tuple(parts) = v {
        parts.iter().for_each(|p| lengths(p, depth, seen));
    }
}

/// Cuts the collections at a depth that have `len` elements to `to`.
fn cut(v: &Value, depth: usize, len: usize, to: usize) -> Value {
    let list = |items: &[Value]| -> Vec<Value> {
        match depth {
            0 => items[..if items.len() == len { to } else { items.len() }].to_vec(),
            _ => items.iter().map(|e| cut(e, depth - 1, len, to)).collect(),
        }
    };
    match v {
        Value::Scalar(_) => v.clone(),
        Value::Tuple(parts) => Value::tuple(parts.iter().map(|p| cut(p, depth, len, to)).collect()),
        Value::Array(items) => Value::array(list(items)),
        Value::Seq(items) => Value::seq(list(items)),
    }
}

/// Sets the scalar number `nth` to zero, or all of them. `nth` counts down, and ends as `usize::MAX` if it was reached.
fn plain(v: &Value, nth: &mut usize, all: bool) -> Value {
    let mut each = |parts: &[Value]| parts.iter().map(|p| plain(p, nth, all)).collect();
    match v {
        Value::Tuple(parts) => Value::tuple(each(parts)),
        Value::Array(items) => Value::array(each(items)),
        Value::Seq(items) => Value::seq(each(items)),
        Value::Scalar(s) => {
            let here = *nth == 0;
            if *nth != usize::MAX {
                *nth = nth.wrapping_sub(1);
            }
            if here || all { Scalar::zero(s.ty()).into() } else { v.clone() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, program};

    fn uses_flatten(case: &Case) -> bool {
        let f = &case.program.funcs[case.entry.index()];
        (0..f.vars.len()).filter_map(|v| f.inst(Var(v as u32))).any(|i| i.op == Op::Flatten)
    }

    #[test]
    fn little_more_is_left_than_what_fails() {
        let cases = (0..400).map(|seed| program(seed, &Config::default())).filter(uses_flatten);
        for case in cases.take(8) {
            let small = shrink(&case, &mut |c| uses_flatten(c));
            let f = &small.program.funcs[small.entry.index()];
            assert!(uses_flatten(&small) && verify(&small.program).is_ok());
            assert!(f.vars.len() <= 12, "{case}\nbecame\n{small}");
        }
    }
}
