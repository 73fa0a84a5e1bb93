//! Rules for tuples, conditionals, loops, calls and checks.

use super::{Misfit, TypeError, Typer, fail};
use crate::array::{Inst, Op};
use crate::entity::{Body, Path, SizeVar, Var};
use crate::size::{Atom, Size};
use crate::types::{RecordType, Type};
use std::collections::HashMap;
use std::sync::Arc;

impl Typer<'_> {
    pub(super) fn control(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        let a = &inst.args;
        match &inst.op {
            Op::Tuple => Ok(Type::tuple(a.iter().map(|v| self.ty(*v).clone()).collect())),
            Op::Record(shape) => {
                if shape.fields.len() != a.len() {
                    return fail(format!("record `{}` has {} fields", shape.name, shape.fields.len()));
                }
                let fields = shape.fields.iter().zip(a).map(|(n, v)| (n.clone(), self.ty(*v).clone())).collect();
                Ok(Type::Record(Arc::new(RecordType { name: shape.name.clone(), fields })))
            }
            Op::Proj(k) => match self.ty(a[0]).parts().and_then(|p| p.get(*k as usize).map(|t| (*t).clone())) {
                Some(t) => Ok(t),
                None => fail(format!("{} has no component {k}", a[0])),
            },
            Op::Ensure(ty) => {
                if !ty.same_kind(self.ty(a[0])) {
                    return fail("`ensure` may change sizes only");
                }
                Ok(ty.clone())
            }
            Op::If => {
                self.want_bool(a[0])?;
                self.branches(self.func.path(a[0]), inst.bodies[0], inst.bodies[1])
            }
            Op::While => {
                self.same_params(inst.bodies[0], inst.bodies[1])?;
                self.want_bool(self.body(inst.bodies[0]).result)?;
                self.looped(a[0], inst.bodies[1], 0)
            }
            Op::Stream => {
                self.want_int(a[0])?;
                self.same_params(inst.bodies[0], inst.bodies[1])?;
                self.want_bool(self.body(inst.bodies[0]).result)?;
                self.looped(a[1], inst.bodies[1], 0)
            }
            Op::For => {
                self.want_int(a[0])?;
                self.looped(a[1], inst.bodies[0], 1)
            }
            Op::Call(f) => self.call(f.index(), a),
            _ => fail("not a control operator"),
        }
    }

    /// The common type of two branches: sizes agree, or are a conditional, or are fresh.
    fn branches(&mut self, cond: Path, yes: Body, no: Body) -> Result<Type, TypeError> {
        let (t, u) = (self.result_of(yes).clone(), self.result_of(no).clone());
        if !t.same_kind(&u) {
            return fail("the branches of `if` differ in type");
        }
        let func = self.func;
        let first = func.body(yes).first;
        let mut others = Vec::new();
        u.for_each_size(&mut |s, _| others.push(s.clone()));
        let mut others = others.into_iter();
        Ok(t.map_sizes(&mut |s, depth| {
            let other = others.next().unwrap_or_else(|| s.clone());
            if func.visible(s, first, yes) && func.visible(&other, first, yes) {
                Size::select(cond.clone(), s, &other)
            } else {
                self.fresh_size(depth)
            }
        }))
    }

    fn same_params(&self, a: Body, b: Body) -> Result<(), TypeError> {
        let (p, q) = (self.body(a).params[0], self.body(b).params[0]);
        let mut theirs = Vec::new();
        self.ty(q).for_each_size(&mut |s, _| theirs.push(s.clone()));
        let mut theirs = theirs.into_iter();
        let mut agree = true;
        self.ty(p).for_each_size(&mut |s, _| {
            let t = theirs.next();
            let own = t.as_ref().is_some_and(|t| self.bound_by(s, p) && self.bound_by(t, q));
            agree &= own || t.as_ref() == Some(s);
        });
        if agree { Ok(()) } else { fail("the two bodies of `while` disagree about the sizes of the state") }
    }

    fn bound_by(&self, s: &Size, param: Var) -> bool {
        s.as_var().is_some_and(|v| self.func.size_binder(v) == Some(param))
    }

    /// Whether every value of type `ty` may be passed to `param`.
    fn admits(&self, param: Var, ty: &Type) -> bool {
        if !self.ty(param).same_kind(ty) {
            return false;
        }
        let mut theirs = Vec::new();
        ty.for_each_size(&mut |s, _| theirs.push(s.clone()));
        let mut theirs = theirs.into_iter();
        let mut good = true;
        self.ty(param).for_each_size(&mut |s, _| {
            let t = theirs.next();
            good &= self.bound_by(s, param) || t.as_ref() == Some(s);
        });
        good
    }

    /// The state of a loop after it: sizes that no step changes stay, the rest is fresh.
    fn looped(&mut self, init: Var, step: Body, param: usize) -> Result<Type, TypeError> {
        if !self.ty(init).is_concrete() {
            return fail("the state of a loop cannot hold a sequence");
        }
        let param = self.body(step).params[param];
        if !self.admits(param, self.ty(init)) {
            return fail("the state of a loop does not start with the sizes that its body expects");
        }
        if !self.admits(param, self.result_of(step)) {
            return fail("the body of a loop changes sizes that it promises to keep");
        }
        let func = self.func;
        let ty = func.ty(param).clone();
        Ok(self.freshen(&ty, 0, &mut |s, _| s.as_var().is_some_and(|v| func.size_binder(v) == Some(param))))
    }

    /// The result type of a function in terms of the arguments of a call.
    fn call(&mut self, index: usize, args: &[Var]) -> Result<Type, TypeError> {
        let Some(callee) = self.funcs.get(index) else { return fail("a call of a function that comes later") };
        if callee.params().len() != args.len() {
            return fail(format!("`{}` takes {} arguments", callee.name, callee.params().len()));
        }
        // A family of arity k is bound where it is applied to exactly the k positions around it, so its
        // argument's size can be read with those positions in place. `[int; n + 1]` binds `n` to one less.
        let mut bound: HashMap<SizeVar, Size> = HashMap::new();
        for (&p, &arg) in callee.params().iter().zip(args) {
            let want = callee.ty(p);
            if !want.same_kind(self.ty(arg)) {
                return fail(format!("an argument of `{}` has the wrong type", callee.name));
            }
            let mut theirs = Vec::new();
            self.ty(arg).for_each_size(&mut |s, _| theirs.push(s.clone()));
            let mut theirs = theirs.into_iter();
            want.for_each_size(&mut |s, depth| {
                let given = theirs.next();
                if let (Some((v, at, extra)), Some(given)) = (s.determines(), given)
                    && (at.len() as u32 == depth || at.is_empty() && !given.varies(depth))
                {
                    bound.entry(v).or_insert_with(|| given.sub(&Size::constant(extra)));
                }
            });
        }
        let func = self.func;
        let path = |p: &Path| -> Option<Path> {
            let k = callee.params().iter().position(|q| *q == p.root)?;
            Some(p.fields.iter().fold(func.path(args[k]), |p, f| p.field(*f)))
        };
        for (&p, &arg) in callee.params().iter().zip(args) {
            let mut theirs = Vec::new();
            self.ty(arg).for_each_size(&mut |s, _| theirs.push(s.clone()));
            let mut theirs = theirs.into_iter();
            let mut wrong = None;
            callee.ty(p).for_each_size(&mut |s, _| {
                let Some(given) = theirs.next() else { return };
                let known = s.as_constant().is_some()
                    || s.determines().is_some_and(|(v, at, _)| at.is_empty() && bound.contains_key(&v));
                let want = s.rewrite(&mut |a, _| match a {
                    Atom::Var(v, at) if at.is_empty() => bound.get(v).cloned(),
                    _ => None,
                });
                if known && want.sub(&given).as_constant().is_some_and(|d| d != 0) {
                    wrong = Some((want, given));
                }
            });
            if let Some((want, given)) = wrong {
                let message =
                    format!("an argument of `{}` has the size `{given}` where `{want}` is needed", callee.name);
                return Err(TypeError { message, misfit: Misfit::Sizes });
            }
        }
        let ty = callee.result_type().clone();
        // A variable that the callee binds, and that the result mentions, is one new variable here, however often it occurs.
        let mut own: HashMap<SizeVar, Size> = HashMap::new();
        ty.for_each_size(&mut |s, depth| {
            if let Some((v, at, _)) = s.determines()
                && !bound.contains_key(&v)
                && (at.is_empty() || at.iter().eq((0..depth).rev().map(Size::pos).collect::<Vec<_>>().iter()))
            {
                own.entry(v).or_insert_with(|| self.fresh_size(at.len() as u32));
            }
        });
        bound.extend(own);
        let translate = |s: &Size| -> Option<Size> {
            let mut known = true;
            let out = s.rewrite(&mut |a, d| {
                let new: Option<Size> = match a {
                    Atom::Var(v, at) => bound.get(v).map(|given| apply(given, at, d)),
                    Atom::Value(p) => path(p).map(|p| path_size(func, p)),
                    Atom::Read(p, at) => path(p).map(|p| Atom::Read(p, at.clone()).into()),
                    Atom::If(p, x, y) => path(p).map(|p| Size::select(p, x, y)),
                    Atom::At(_) => None,
                    _ => return None,
                };
                known &= new.is_some();
                new
            });
            known.then_some(out)
        };
        let mut memo: Vec<(Size, u32, Size)> = Vec::new();
        Ok(ty.map_sizes(&mut |s, depth| {
            if let Some(new) = translate(s) {
                return new;
            }
            if let Some((_, _, new)) = memo.iter().find(|(old, d, _)| old == s && *d == depth) {
                return new.clone();
            }
            let new = self.fresh_size(depth);
            memo.push((s.clone(), depth, new.clone()));
            new
        }))
    }
}

fn path_size(func: &crate::array::Function, p: Path) -> Size {
    if p.fields.is_empty() { func.size_of(p.root) } else { Size::value(p) }
}

/// A size that mentions as many positions as `at` has, at these.
fn apply(given: &Size, at: &[Size], _depth: u32) -> Size {
    let k = at.len() as u32;
    given.rewrite(&mut |a, d| match a {
        Atom::Pos(p) if *p >= d && *p - d < k => {
            let which = (k - 1 - (*p - d)) as usize;
            Some(at[which].shift(d as i32))
        }
        _ => None,
    })
}
