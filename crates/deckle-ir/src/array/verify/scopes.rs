//! Scopes: operands, results, and the variables in sizes.

use super::*;
use crate::types::Type;

/// Checks a function whose arenas are well-formed.
pub(super) fn check(before: &[Function], func: &Function, faults: &mut Vec<Fault>) {
    check_binders(func, faults);
    let visible = vec![false; func.vars.len()];
    let mut scopes = Scopes { func, callees: before.len(), visible, open: Vec::new(), faults };
    scopes.body(Function::ROOT, None);
}

/// Every size variable is bound by the first variable that mentions it, which must determine it: it occurs alone there.
fn check_binders(func: &Function, faults: &mut Vec<Fault>) {
    for (k, (first, data)) in func.first_mentions().into_iter().zip(&func.sizes).enumerate() {
        let s = SizeVar(k as u32);
        let Some(first) = first else {
            if data.binder.index() >= func.vars.len() {
                faults.push((None, format!("{s} is bound by {}, which does not exist", data.binder)));
            }
            continue;
        };
        let mut alone = false;
        func.ty(first).for_each_size(&mut |size, _| alone |= size.determines().is_some_and(|(v, ..)| v == s));
        if first != data.binder {
            faults.push((Some(first), format!("mentions {s} first, but {} is said to bind it", data.binder)));
        } else if !alone {
            faults.push((Some(first), format!("binds {s}, which no size in its type determines")));
        }
    }
}

struct Scopes<'a, 'e> {
    func: &'a Function,
    /// The number of functions it may call.
    callees: usize,
    visible: Vec<bool>,
    open: Vec<Body>,
    faults: &'e mut Vec<Fault>,
}

impl Scopes<'_, '_> {
    fn fault(&mut self, v: Var, message: impl Into<String>) {
        self.faults.push((Some(v), message.into()));
    }

    fn body(&mut self, b: Body, owner: Option<Var>) {
        let func = self.func;
        let data = func.body(b);
        self.open.push(b);
        for &p in &data.params {
            self.ty(p, func.ty(p), "its type");
            self.visible[p.index()] = true;
        }
        for &s in &data.stmts {
            if let Some(inst) = func.inst(s) {
                self.inst(s, inst);
            }
            self.ty(s, func.ty(s), "its type");
            self.visible[s.index()] = true;
        }
        if !self.visible[data.result.index()] {
            self.faults.push((owner, format!("the result {} of {b} is not in scope", data.result)));
        }
        for v in data.params.iter().chain(&data.stmts) {
            self.visible[v.index()] = false;
        }
        self.open.pop();
    }

    fn inst(&mut self, v: Var, inst: &Inst) {
        for &a in &inst.args {
            if !self.visible[a.index()] {
                self.fault(v, format!("the operand {a} is not in scope"));
            }
        }
        let (name, info) = (name(&inst.op), inst.op.info());
        let (args, bodies) = (inst.args.len(), inst.bodies.len());
        if args < info.min_args || info.max_args.is_some_and(|max| args > max) {
            self.fault(v, format!("`{name}` does not take {args} operands"));
        }
        if bodies < info.bodies.0 || bodies > info.bodies.1 {
            self.fault(v, format!("`{name}` does not take {bodies} bodies"));
        }
        match &inst.op {
            Op::Call(f) if f.index() >= self.callees => self.fault(v, format!("calls {f}, which does not come before")),
            Op::Ensure(ty) | Op::Array(ty) | Op::MkSeq(ty) => self.ty(v, ty, "its attribute"),
            Op::Use(c) => self.ty(v, &c.ty, "its attribute"),
            _ => {}
        }
        for &b in &inst.bodies {
            self.body(b, Some(v));
        }
    }

    /// A type that belongs to `v`, as seen at `v`.
    fn ty(&mut self, v: Var, ty: &Type, what: &str) {
        let mut wrong = Vec::new();
        if holds_sequence_in_array(ty) {
            wrong.push("has an array of sequences".to_string());
        }
        ty.any_atom(&mut |a, depth| {
            wrong.extend(self.atom(v, ty, a, depth));
            false
        });
        wrong.dedup();
        for message in wrong {
            self.fault(v, format!("{what} {message}"));
        }
    }

    /// What is wrong with an atom of a type that belongs to `v`.
    fn atom(&self, v: Var, ty: &Type, a: &Atom, depth: u32) -> Option<String> {
        match a {
            Atom::Pos(p) if *p >= depth => Some(format!("has a free position #{}", p - depth)),
            Atom::At(b) if !self.open.contains(b) => {
                Some(format!("mentions the position of {b}, which is not around it"))
            }
            Atom::Var(s, at) => match self.func.sizes.get(s.index()) {
                None => Some(format!("mentions {s}, which does not exist")),
                Some(data) if data.arity as usize != at.len() => {
                    Some(format!("applies {s} to {} positions, not to {}", at.len(), data.arity))
                }
                Some(data) if data.binder != v && !self.visible.get(data.binder.index()).is_some_and(|seen| *seen) => {
                    Some(format!("mentions {s}, whose binder {} is not in scope", data.binder))
                }
                Some(_) => None,
            },
            Atom::Value(p) => self.path(v, ty, p, "an integer", |t| t.as_scalar().is_some_and(|s| s.is_int())),
            Atom::If(p, ..) => self.path(v, ty, p, "a truth value", |t| *t == Type::BOOL),
            Atom::Read(p, at) => self.path(v, ty, p, "an array of integers", |t| {
                let inner = at.iter().try_fold(t, |t, _| t.as_array().map(|a| &a.elem));
                !at.is_empty() && inner.is_some_and(|t| t.as_scalar().is_some_and(|s| s.is_int()))
            }),
            Atom::Pos(_) | Atom::At(_) | Atom::Sum(..) | Atom::Min(_) | Atom::Max(_) | Atom::Div(..) => None,
            Atom::Log(_) | Atom::Most(..) => Some("mentions what only a cost may".into()),
        }
    }

    /// A path in a size. A type may mention components of its own variable, as a record of offsets and rows does.
    fn path(&self, v: Var, ty: &Type, p: &Path, kind: &str, fits: impl Fn(&Type) -> bool) -> Option<String> {
        let own = p.root == v && !p.fields.is_empty();
        let root = match self.visible.get(p.root.index()) {
            Some(true) => self.func.ty(p.root),
            _ if own => ty,
            _ => return Some(format!("mentions {p}, which is not in scope")),
        };
        let component =
            p.fields.iter().try_fold(root.clone(), |t, k| t.parts()?.get(*k as usize).map(|t| (*t).clone()));
        match component {
            Some(t) if fits(&t) => None,
            _ => Some(format!("mentions {p}, which is not {kind}")),
        }
    }
}

fn holds_sequence_in_array(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) => false,
        Type::Array(a) => !a.elem.is_concrete(),
        Type::Seq(e) => holds_sequence_in_array(e),
        Type::Tuple(_) | Type::Record(_) => ty.parts().is_some_and(|p| p.into_iter().any(holds_sequence_in_array)),
    }
}
