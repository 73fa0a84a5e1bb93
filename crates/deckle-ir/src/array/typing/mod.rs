//! Typing rules: from an operator and its operands to the type of its result.
//!
//! There is one rule per operator, used by the builder (which stores its type) and by the verifier (which compares it
//! with the stored type). A rule may need sizes known only at run time: it creates *fresh* size
//! variables, numbered after those of the function, which the new statement binds.
//!
//! # How sizes leave a body
//! The type of a body's result may mention variables of the body. [`Typer::lift`] rewrites it under a binder: the
//! position of the body becomes the bound position; a parameter that is an element of a vector of integers becomes a
//! read of that vector; any size that still mentions something inside becomes a fresh variable applied to the
//! positions around it. The first two make `{iota(n) : n in ns}` a `[i -> [i64; ns[i]]; k]`.

mod arrays;
mod control;
mod moving;
mod sequences;

use super::build::family;
use super::{BodyData, Coll, Function, Inst, Op};
use crate::array::scalar_ops::ResultClass;
use crate::entity::{Body, SizeVar, Var};
use crate::scalar::ScalarType;
use crate::size::{Atom, Size};
use crate::types::Type;
use std::fmt;

/// Why a statement cannot be typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// What is wrong.
    pub message: String,
    /// The kind of the error.
    pub misfit: Misfit,
}

/// What the typing rules reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// A type.
    Type,
    /// Two sizes that cannot be equal.
    Sizes,
    /// Rows that are not known to be of equal size.
    Irregular,
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TypeError {}

pub(super) fn fail<T>(message: impl Into<String>) -> Result<T, TypeError> {
    Err(TypeError { message: message.into(), misfit: Misfit::Type })
}

/// The required type of a body's parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamRule {
    /// This type.
    Exact(Type),
    /// A type of this kind, each of whose sizes is either that of all arguments, or a variable bound by
    /// the parameter itself.
    Open(Type),
}

/// Applies typing rules in the context of a function.
#[derive(Debug)]
pub struct Typer<'a> {
    funcs: &'a [Function],
    func: &'a Function,
    fresh: Vec<u32>,
}

impl<'a> Typer<'a> {
    /// Rules for statements of `func`, which may call `funcs`.
    pub fn new(funcs: &'a [Function], func: &'a Function) -> Self {
        Typer { funcs, func, fresh: Vec::new() }
    }

    /// The arities of the fresh size variables created so far, which are numbered from `func.sizes.len()`.
    pub fn into_fresh(self) -> Vec<u32> {
        self.fresh
    }

    /// The type of a statement, after checking its operands and the parameters of its bodies.
    pub fn check(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        self.check_counts(inst)?;
        for (which, &body) in inst.bodies.iter().enumerate() {
            self.check_params(inst, which, body)?;
        }
        self.check_captures(inst)?;
        self.rule(inst)
    }

    /// A sequence is traversed once, so a body that may run more than once must not use a sequence from outside.
    fn check_captures(&self, inst: &Inst) -> Result<(), TypeError> {
        if matches!(inst.op, Op::If | Op::Guard) {
            return Ok(());
        }
        for &body in &inst.bodies {
            let traversed = |v: &Var| !self.ty(*v).is_concrete() && !self.func.only_pulls(body, *v);
            if let Some(v) = self.func.free_vars(body).into_iter().find(traversed) {
                return fail(format!("{v} is a sequence from outside, used in a body that runs more than once"));
            }
        }
        Ok(())
    }

    fn check_counts(&self, inst: &Inst) -> Result<(), TypeError> {
        let info = inst.op.info();
        let n = inst.args.len();
        if n < info.min_args || info.max_args.is_some_and(|max| n > max) {
            return fail(format!("`{}` does not take {n} operands", info.name));
        }
        if inst.bodies.len() < info.bodies.0 || inst.bodies.len() > info.bodies.1 {
            return fail(format!("`{}` does not take {} bodies", info.name, inst.bodies.len()));
        }
        Ok(())
    }

    fn check_params(&mut self, inst: &Inst, which: usize, body: Body) -> Result<(), TypeError> {
        let rules = self.params(&inst.op, &inst.args, which, body)?;
        let params = self.body(body).params.clone();
        let name = inst.op.info().name;
        // A loop determines which sizes of its state stay; see `looped`.
        let keeps_sizes = matches!(inst.op, Op::While | Op::For | Op::Stream);
        if rules.len() != params.len() {
            return fail(format!(
                "body {which} of `{name}` must have {} parameters, not {}",
                rules.len(),
                params.len()
            ));
        }
        for (rule, param) in rules.iter().zip(params) {
            let have = self.ty(param);
            let good = match rule {
                ParamRule::Exact(want) => want == have,
                ParamRule::Open(want) => want.same_kind(have) && (keeps_sizes || self.all_bound_by(have, param)),
            };
            if !good {
                return fail(format!(
                    "parameter {param} of a body of `{name}` has a type that its operands do not give"
                ));
            }
        }
        Ok(())
    }

    fn all_bound_by(&self, ty: &Type, param: Var) -> bool {
        let mut all = true;
        ty.for_each_size(&mut |s, _| all &= s.as_var().is_some_and(|v| self.func.size_binder(v) == Some(param)));
        all
    }

    /// The required types of the parameters of body number `which` of an operator. `body` is its handle.
    pub fn params(&self, op: &Op, args: &[Var], which: usize, body: Body) -> Result<Vec<ParamRule>, TypeError> {
        use ParamRule::{Exact, Open};
        let here = Size::from(Atom::At(body));
        let elem = |v: &Var| match self.ty(*v).elem_at(&here) {
            Some(t) => Ok(t),
            None => fail(format!("operand {v} of `{}` is not a collection", op.info().name)),
        };
        Ok(match (op, which) {
            (Op::If | Op::Guard, _) => vec![],
            (Op::While, _) => vec![Open(self.ty(args[0]).clone())],
            (Op::Stream, _) => vec![Open(self.ty(args[1]).clone())],
            (Op::For, _) => vec![Exact(Type::INT), Open(self.ty(args[1]).clone())],
            (Op::Generate, _) => args.iter().map(|_| Exact(Type::INT)).collect(),
            (Op::Produce, _) => vec![Exact(Type::INT)],
            (Op::Map, _) => args.iter().map(|v| elem(v).map(Exact)).collect::<Result<_, _>>()?,
            (Op::Expand, 1) => vec![Exact(elem(&args[0])?), Exact(Type::INT)],
            (Op::Filter | Op::Partition | Op::SortBy | Op::GroupBy | Op::Expand, _) => vec![Exact(elem(&args[0])?)],
            (Op::Fold, _) => vec![Open(self.ty(args[0]).clone()), Open(elem(&args[1])?)],
            (Op::FoldOrdered | Op::ScanOrdered, _) => vec![Open(self.ty(args[0]).clone()), Open(elem(&args[1])?)],
            (Op::Fold1, _) => vec![Open(elem(&args[0])?), Open(elem(&args[0])?)],
            (Op::Scan(..), _) => {
                let xs = args.last().map_or_else(|| fail("`scan` needs an operand"), elem)?;
                vec![Open(xs.clone()), Open(xs)]
            }
            (Op::Permute, _) => {
                let depth = self.target_depth(args[1])?;
                let old = self.inner(self.ty(args[0]), depth as usize)?;
                vec![Open(elem(&args[2])?), Open(old)]
            }
            (Op::Stencil(radii, _), 0) => vec![Exact(self.window(args[0], radii)?)],
            (Op::Stencil(radii, _), _) => radii.iter().map(|_| Exact(Type::INT)).collect(),
            _ => return fail(format!("`{}` has no body {which}", op.info().name)),
        })
    }

    fn rule(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        let a = &inst.args;
        match &inst.op {
            Op::Const(c) => Ok(c.ty().into()),
            Op::Unary(op) => self.scalar_op(op.name(), op.operands().has(self.scalar(a[0])?), op.result(), a),
            Op::Binary(op) => {
                if self.scalar(a[0])? != self.scalar(a[1])? {
                    return fail(format!("the operands of `{}` differ in type", op.name()));
                }
                self.scalar_op(op.name(), op.operands().has(self.scalar(a[0])?), op.result(), a)
            }
            Op::Cast(to) => self.scalar(a[0]).map(|_| (*to).into()),
            Op::Select => {
                self.want_bool(a[0])?;
                if self.ty(a[1]) != self.ty(a[2]) || !self.ty(a[1]).is_flat() {
                    return fail("`select` takes a truth value and two flat values of one type");
                }
                Ok(self.ty(a[1]).clone())
            }
            Op::Fma => {
                let ty = self.scalar(a[0])?;
                if !ty.is_float() || self.scalar(a[1])? != ty || self.scalar(a[2])? != ty {
                    return fail("`fma` takes three floats of one type");
                }
                Ok(ty.into())
            }
            Op::If
            | Op::While
            | Op::For
            | Op::Stream
            | Op::Call(_)
            | Op::Ensure(_)
            | Op::Tuple
            | Op::Record(_)
            | Op::Proj(_) => self.control(inst),
            Op::MkSeq(_)
            | Op::Empty
            | Op::The
            | Op::Append
            | Op::FlagPart
            | Op::Tab
            | Op::Seq
            | Op::Guard
            | Op::Produce
            | Op::Tiles(_)
            | Op::Tabulate(_)
            | Op::Pull(_)
            | Op::Push(_) => self.sequence(inst),
            Op::Permute
            | Op::Scatter
            | Op::Filter
            | Op::Compact
            | Op::Partition
            | Op::Expand
            | Op::Sort
            | Op::SortBy
            | Op::GroupBy
            | Op::Fold
            | Op::Fold1
            | Op::FoldOrdered
            | Op::ScanOrdered
            | Op::Reduce(_)
            | Op::Scan(..)
            | Op::Stencil(..) => self.moving(inst),
            _ => self.arrays(inst),
        }
    }

    fn scalar_op(&self, name: &str, fits: bool, result: ResultClass, args: &[Var]) -> Result<Type, TypeError> {
        if !fits {
            return fail(format!("`{name}` is not defined for `{}`", self.scalar(args[0])?));
        }
        Ok(match result {
            ResultClass::Same => self.ty(args[0]).clone(),
            ResultClass::Bool => Type::BOOL,
        })
    }

    // Operands.

    fn ty(&self, v: Var) -> &'a Type {
        self.func.ty(v)
    }

    fn body(&self, b: Body) -> &'a BodyData {
        self.func.body(b)
    }

    fn result_of(&self, b: Body) -> &'a Type {
        self.ty(self.body(b).result)
    }

    fn scalar(&self, v: Var) -> Result<ScalarType, TypeError> {
        self.ty(v).as_scalar().map_or_else(|| fail(format!("{v} is not a scalar")), Ok)
    }

    fn want_int(&self, v: Var) -> Result<Size, TypeError> {
        if *self.ty(v) == Type::INT { Ok(self.func.size_of(v)) } else { fail(format!("{v} is not an `i64`")) }
    }

    fn want_bool(&self, v: Var) -> Result<(), TypeError> {
        if *self.ty(v) == Type::BOOL { Ok(()) } else { fail(format!("{v} is not a `bool`")) }
    }

    /// The size and the element type (under its binder) of a vector.
    fn array(&self, v: Var) -> Result<(Size, Type), TypeError> {
        match self.ty(v).as_array() {
            Some(a) => Ok((a.size.clone(), a.elem.clone())),
            None => fail(format!("{v} is not an array")),
        }
    }

    /// The element type (under its binder) of a sequence.
    fn seq(&self, v: Var) -> Result<Type, TypeError> {
        match self.ty(v) {
            Type::Seq(e) => Ok((**e).clone()),
            _ => fail(format!("{v} is not a sequence")),
        }
    }

    /// Its kind of collection, and its element type under the binder.
    fn coll(&self, v: Var) -> Result<(Coll, Type), TypeError> {
        match self.ty(v) {
            Type::Seq(e) => Ok((Coll::Seq, (**e).clone())),
            Type::Array(a) => Ok((Coll::Array, a.elem.clone())),
            _ => fail(format!("{v} is neither an array nor a sequence")),
        }
    }

    /// The type below `depth` arrays, under that many binders.
    fn inner(&self, ty: &Type, depth: usize) -> Result<Type, TypeError> {
        let mut ty = ty;
        for _ in 0..depth {
            ty = match ty {
                Type::Array(a) => &a.elem,
                _ => return fail(format!("an array of {depth} dimensions is needed")),
            };
        }
        Ok(ty.clone())
    }

    fn regular(&self, v: Var, depth: usize) -> Result<(Vec<Size>, Type), TypeError> {
        let inner = self.inner(self.ty(v), depth)?;
        match self.ty(v).regular_dims(depth) {
            Some(dims) => Ok((dims, inner)),
            None => Err(TypeError {
                message: format!("{v} is not known to be regular: `ensure` it first"),
                misfit: Misfit::Irregular,
            }),
        }
    }

    fn same_length(&self, what: &str, a: &Size, b: &Size) -> Result<(), TypeError> {
        match a.sub(b).as_constant() {
            None | Some(0) => Ok(()),
            Some(_) => Err(TypeError {
                message: format!("`{what}` needs equal lengths, but one is `{a}` and the other `{b}`"),
                misfit: Misfit::Sizes,
            }),
        }
    }

    // Fresh sizes.

    fn fresh(&mut self, arity: u32) -> SizeVar {
        self.fresh.push(arity);
        SizeVar((self.func.sizes.len() + self.fresh.len()) as u32 - 1)
    }

    /// A fresh size for each position of `depth` enclosing binders.
    fn fresh_size(&mut self, depth: u32) -> Size {
        let s = self.fresh(depth);
        family(s, depth)
    }

    /// A type under `under` binders with a fresh size wherever `opaque` holds. Equal sizes at one depth stay equal.
    fn freshen(&mut self, ty: &Type, under: u32, opaque: &mut dyn FnMut(&Size, u32) -> bool) -> Type {
        let mut seen: Vec<(Size, u32, Size)> = Vec::new();
        ty.map_sizes(&mut |s, depth| {
            let total = under + depth;
            if !opaque(s, total) {
                return s.clone();
            }
            if let Some((_, _, new)) = seen.iter().find(|(old, d, _)| old == s && *d == total) {
                return new.clone();
            }
            let new = self.fresh_size(total);
            seen.push((s.clone(), total, new.clone()));
            new
        })
    }

    /// A type under `under` binders whose outermost `moved` positions have lost their meaning: sizes that mention them are
    /// fresh.
    fn blur(&mut self, ty: &Type, under: u32) -> Type {
        self.freshen(ty, under, &mut |s, total| (total - under..total).any(|p| s.mentions_pos(p)))
    }

    /// One type for values of several types that differ in sizes only, all under `under` binders whose positions have lost their
    /// meaning: sizes that agree and mention none stay, the others are fresh.
    fn merge(&mut self, types: &[Type], under: u32) -> Result<Type, TypeError> {
        let Some(first) = types.first() else { return fail("nothing to merge") };
        if types.iter().any(|t| !t.same_kind(first)) {
            return fail("elements differ in type");
        }
        let mut lists: Vec<Vec<Size>> = vec![Vec::new(); types.len()];
        for (t, list) in types.iter().zip(&mut lists) {
            t.for_each_size(&mut |s, _| list.push(s.clone()));
        }
        let mut at = 0;
        Ok(first.map_sizes(&mut |s, depth| {
            let moved = (depth..depth + under).any(|p| s.mentions_pos(p));
            let agree = !moved && lists.iter().all(|l| l[at] == *s);
            at += 1;
            if agree { s.clone() } else { self.fresh_size(under + depth) }
        }))
    }

    /// A type under `under` binders as seen from outside bodies that begin at `body`.
    fn seal(&mut self, ty: &Type, under: u32, body: Body) -> Type {
        let func = self.func;
        let first = func.body(body).first;
        self.freshen(ty, under, &mut |s, _| !func.visible(s, first, body))
    }

    /// The type of a per-element body's result, under one binder.
    fn lift(&mut self, body: Body, args: &[Var]) -> Type {
        let ty = self.lift_type(self.result_of(body), body, args);
        self.seal(&ty, 1, body)
    }

    /// A type of the inside of a per-element body, under one binder, in terms of the outside where possible.
    fn lift_type(&self, ty: &Type, body: Body, args: &[Var]) -> Type {
        let func = self.func;
        let data = func.body(body);
        let here = Size::from(Atom::At(body));
        let read = |root: Var, fields: &[u32]| -> Option<Size> {
            let k = data.params.iter().position(|p| *p == root)?;
            let arg = *args.get(k)?;
            let array = match (fields, func.inst(arg)) {
                ([], _) => arg,
                ([f], Some(Inst { op: Op::Zip, args, .. })) => *args.get(*f as usize)?,
                _ => return None,
            };
            func.ty(array).as_array()?;
            Some(Atom::Read(func.path(array), vec![here.clone()]).into())
        };
        let ty = ty.map_sizes(&mut |s, _| {
            s.rewrite(&mut |a, _| match a {
                Atom::Value(p) => read(p.root, &p.fields),
                _ => None,
            })
        });
        ty.abstract_at(body)
    }

    /// The type of the result of a body that runs for each combination of its integer parameters, under one binder for each.
    fn lift_indices(&mut self, body: Body) -> Type {
        let params = &self.body(body).params;
        let k = params.len() as u32;
        let ty = self.result_of(body).shift(k as i32).map_sizes(&mut |s, depth| {
            s.rewrite(&mut |a, d| match a {
                Atom::Value(p) if p.fields.is_empty() => {
                    let at = params.iter().position(|q| *q == p.root)? as u32;
                    Some(Size::pos(depth + d + k - 1 - at))
                }
                _ => None,
            })
        });
        self.seal(&ty, k, body)
    }

    /// Every size fresh: the type of a value of which only the kind is known.
    fn unknown(&mut self, ty: &Type, under: u32) -> Type {
        // Sizes that are equal in `ty` need not be equal in the type that replaces it.
        ty.map_sizes(&mut |_, depth| self.fresh_size(under + depth))
    }
}

/// An array of these dimensions over an element type that is under one binder for each.
fn with_dims(dims: &[Size], inner: Type) -> Type {
    dims.iter().rev().fold(inner, |elem, size| Type::array(size.clone(), elem))
}
