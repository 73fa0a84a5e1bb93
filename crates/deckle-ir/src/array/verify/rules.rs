//! Types: every statement against its typing rule.

use super::*;
use crate::types::Type;
use crate::value::Value;
use std::collections::{HashMap, HashSet};

/// Checks a function whose arenas and scopes are well-formed. `sound` gives for each earlier function whether it is.
pub(super) fn check(before: &[Function], sound: &[bool], func: &Function, faults: &mut Vec<Fault>) {
    // Faulty variables, and those that depend on them: rules may rely on the types of everything below.
    let mut tainted = vec![false; func.vars.len()];
    for (k, data) in func.vars.iter().enumerate() {
        let Def::Inst(inst) = &data.def else { continue };
        let v = Var(k as u32);
        let inside = inst.bodies.first().map_or(k, |b| func.body(*b).first.index());
        let callee = matches!(&inst.op, Op::Call(f) if !sound[f.index()]);
        if callee || inst.args.iter().any(|a| tainted[a.index()]) || tainted[inside..k].contains(&true) {
            tainted[k] = true;
        } else if let Err(message) = check_statement(before, func, v, inst) {
            tainted[k] = true;
            faults.push((Some(v), message));
        }
    }
}

fn check_statement(before: &[Function], func: &Function, v: Var, inst: &Inst) -> Result<(), String> {
    let name = name(&inst.op);
    let mut typer = Typer::new(before, func);
    let rule = typer.check(inst).map_err(|e| e.message)?;
    let fresh = typer.into_fresh();
    if !matches(func, v, &rule, &fresh) {
        return Err(format!("has type `{}`, but the rule of `{name}` gives `{rule}`", func.ty(v)));
    }
    match &inst.op {
        Op::Use(c) if !fits(&c.value, &c.ty) => Err(format!("the value of `use` is not a `{}`", c.ty)),
        _ => Ok(()),
    }
}

/// Whether the type of `v` is the one that its rule gives, where each fresh size variable of the rule is some variable
/// that `v` binds, a different one for each. The variable is known where the size determines the fresh variable.
fn matches(func: &Function, v: Var, rule: &Type, fresh: &[u32]) -> bool {
    let stored = func.ty(v);
    if !rule.same_kind(stored) {
        return false;
    }
    let known = func.sizes.len();
    let (rule, stored) = (sizes_of(rule), sizes_of(stored));
    let mut named: HashMap<SizeVar, SizeVar> = HashMap::new();
    let mut taken: HashSet<SizeVar> = HashSet::new();
    for (r, s) in rule.iter().zip(&stored) {
        let (Some((x, at, extra)), Some((y, there, more))) = (r.determines(), s.determines()) else { continue };
        let Some(arity) = x.index().checked_sub(known).and_then(|k| fresh.get(k)) else { continue };
        let bound_here = func.sizes[y.index()] == SizeVarData { arity: *arity, binder: v };
        if bound_here && at == there && extra == more && !named.contains_key(&x) && taken.insert(y) {
            named.insert(x, y);
        }
    }
    let renamed = |s: &Size| {
        s.rewrite(&mut |a, _| match a {
            Atom::Var(x, at) => named.get(x).map(|y| Atom::Var(*y, at.clone()).into()),
            _ => None,
        })
    };
    rule.iter().zip(&stored).all(|(r, s)| r == s || renamed(r) == *s)
}

fn sizes_of(ty: &Type) -> Vec<Size> {
    let mut sizes = Vec::new();
    ty.for_each_size(&mut |s, _| sizes.push(s.clone()));
    sizes
}

/// Whether a value has a type whose sizes are all numbers.
fn fits(value: &Value, ty: &Type) -> bool {
    match (value, ty) {
        (Value::Scalar(s), Type::Scalar(t)) => s.ty() == *t,
        (Value::Tuple(values), Type::Tuple(_) | Type::Record(_)) => ty
            .parts()
            .is_some_and(|types| types.len() == values.len() && values.iter().zip(types).all(|(v, t)| fits(v, t))),
        (Value::Array(items), Type::Array(a)) => {
            a.size.as_constant() == Some(items.len() as i128) && items.iter().all(|v| fits(v, &a.elem))
        }
        (Value::Seq(items), Type::Seq(elem)) => items.iter().all(|v| fits(v, elem)),
        _ => false,
    }
}
