//! The sizes of types during a run: binding size variables, and comparing sizes with values.
//!
//! A [`Frame`] is one running call: the values of its variables, the numbers bound to its size variables, and the position
//! at which each body runs. Binding and checking both traverse a type and a value together, with the
//! positions of the enclosing arrays and sequences.

mod info;
mod observe;

pub(crate) use info::Info;
pub(crate) use observe::{Learnt, Open};

use crate::error;
use deckle_diag::{Diagnostic, Span};
use deckle_ir::array::{Function, Inst, Op};
use deckle_ir::entity::{Body, Path, SizeVar, Var};
use deckle_ir::fault::Fault;
use deckle_ir::size::{Atom, Size};
use deckle_ir::size_eval::SizeEnv;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::collections::HashMap;
use std::rc::Rc;

/// A number bound to a size variable, and the array type whose value determined it.
#[derive(Clone, Copy, Debug)]
struct Bound {
    size: i128,
    node: usize,
    /// The number of the parameter that determined it, if several may.
    rank: u32,
}

/// One running call.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'p> {
    pub function: &'p Function,
    pub info: Rc<Info>,
    values: Vec<Option<Value>>,
    sizes: Vec<HashMap<Vec<i128>, Bound>>,
    at: Vec<Option<i128>>,
    /// The sequences that have ended.
    over: Vec<Var>,
    /// Whether sizes may be left open.
    pub streams: bool,
}

/// A size that differs from its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mismatch {
    /// The size as written in the source, if it is.
    pub size: Option<String>,
    /// Its value here, if known.
    pub expected: Option<i128>,
    /// The number of elements.
    pub actual: usize,
    /// The position.
    pub at: Vec<i128>,
    /// Whether the size comes from an earlier row of the same array.
    pub rows: bool,
}

impl Mismatch {
    /// As an error of the user's data; `what` names the value.
    pub(crate) fn report(self, what: &str, span: Span) -> Box<Diagnostic> {
        let what = what.to_string().into();
        let (fault, mut operands) = match self.expected {
            Some(n) if self.rows => (Fault::UnequalRows(what), vec![self.actual as i128, n]),
            Some(n) => (Fault::Size(what, self.size), vec![self.actual as i128, n]),
            None => (Fault::UnknownSize(what), vec![self.actual as i128]),
        };
        operands.extend(self.at);
        error::fault(&fault, &operands, span)
    }
}

impl<'p> Frame<'p> {
    pub(crate) fn new(function: &'p Function, info: Rc<Info>) -> Self {
        Frame {
            function,
            info,
            values: vec![None; function.vars.len()],
            sizes: vec![HashMap::new(); function.sizes.len()],
            at: vec![None; function.bodies.len()],
            over: Vec::new(),
            streams: false,
        }
    }

    /// The value of a variable that has one.
    pub(crate) fn get(&self, v: Var) -> Option<&Value> {
        self.values.get(v.index())?.as_ref()
    }

    /// Sets the position at which a body runs.
    pub(crate) fn place(&mut self, body: Body, at: Option<i128>) {
        if let Some(slot) = self.at.get_mut(body.index()) {
            *slot = at;
        }
    }

    /// Gives a variable its value, and the size variables that it binds theirs.
    pub(crate) fn define(&mut self, v: Var, value: Value) {
        let info = Rc::clone(&self.info);
        let binds = &info.binds[v.index()];
        binds.iter().for_each(|s| self.sizes[s.index()].clear());
        if !binds.is_empty() {
            self.bind(self.function.ty(v), &value, &|b| b == v, 0, &mut Vec::new());
            // Sizes that no row determines are taken from the type of the ensured value.
            if let Some(Inst { op: Op::Ensure(ty), args, .. }) = self.function.inst(v) {
                let told = self.told([(ty, self.function.ty(args[0]))].into_iter());
                self.know(told.into_iter().filter(|(s, _)| binds.contains(s)));
            }
        }
        self.values[v.index()] = Some(value);
    }

    /// Sets those of the sizes that are not known yet.
    fn know(&mut self, sizes: impl Iterator<Item = (SizeVar, i128)>) {
        for (s, size) in sizes {
            self.sizes[s.index()].entry(Vec::new()).or_insert(Bound { size, node: 0, rank: 0 });
        }
    }

    /// Sets the values of parameters. A size that several of them mention is that of the first that
    /// determines it, unless it is known already.
    pub(crate) fn define_params(&mut self, args: &[(Var, Value)], known: Vec<(SizeVar, i128)>) {
        let params = self.function.params();
        self.know(known.into_iter());
        for (p, arg) in args {
            self.values[p.index()] = Some(arg.clone());
        }
        for (p, arg) in args {
            self.bind(self.function.ty(*p), arg, &|b| params.contains(&b), rank(*p), &mut Vec::new());
        }
    }

    /// Releases the value of a variable. The sizes that it has bound stay.
    pub(crate) fn forget(&mut self, v: Var) {
        self.values[v.index()] = None;
    }

    /// The sizes of the parameters of `callee` that the types of these variables determine, as in the typing rule of a call: a
    /// matrix without rows does not have their length.
    pub(crate) fn sizes_for(&self, callee: &Function, args: &[Var]) -> Vec<(SizeVar, i128)> {
        self.told(callee.params().iter().map(|p| callee.ty(*p)).zip(args.iter().map(|arg| self.function.ty(*arg))))
    }

    /// The sizes of size variables in types that the types of the arguments determine.
    fn told<'t>(&self, given: impl Iterator<Item = (&'t Type, &'t Type)>) -> Vec<(SizeVar, i128)> {
        let told = given.flat_map(|(ty, given)| ty.told_by(given));
        let sizes = told.filter_map(|(s, extra, size)| Some((s, size.eval(self, &mut Vec::new())? - extra)));
        sizes.filter(|(_, size)| *size >= 0).collect()
    }

    /// The size variable that the length of an array determines, at positions.
    fn shown(
        &self,
        ty: &Type,
        value: &Value,
        owns: &dyn Fn(Var) -> bool,
        rank: u32,
        positions: &mut Vec<i128>,
    ) -> Option<(SizeVar, Vec<i128>, Bound)> {
        let (Type::Array(a), items) = (ty, value.items()?) else { return None };
        let (s, args, extra) = a.size.determines()?;
        if (items.len() as i128) < extra || !self.function.size_binder(s).is_some_and(owns) {
            return None;
        }
        let at = args.iter().map(|arg| arg.eval(self, positions)).collect::<Option<Vec<_>>>()?;
        Some((s, at, Bound { size: items.len() as i128 - extra, node: address(ty), rank }))
    }

    fn bind(&mut self, ty: &'p Type, value: &Value, owns: &dyn Fn(Var) -> bool, rank: u32, positions: &mut Vec<i128>) {
        if let Some((s, at, bound)) = self.shown(ty, value, owns, rank, positions) {
            self.sizes[s.index()].entry(at).or_insert(bound);
        }
        let _ = for_each_part(ty, value, positions, &mut |ty, value, positions| -> Result<(), ()> {
            self.bind(ty, value, owns, rank, positions);
            Ok(())
        });
    }

    /// Compares the value of a variable with the sizes of its type. Returns those that are left open.
    pub(crate) fn check(&self, v: Var) -> Result<Vec<Open>, Mismatch> {
        let mut open = Vec::new();
        if let Some(value) = self.get(v) {
            self.check_sizes(self.function.ty(v), value, &mut Vec::new(), &mut open)?;
        }
        Ok(open)
    }

    fn check_sizes(
        &self,
        ty: &'p Type,
        value: &Value,
        positions: &mut Vec<i128>,
        open: &mut Vec<Open>,
    ) -> Result<(), Mismatch> {
        if let (Type::Array(a), Some(items)) = (ty, value.items()) {
            // `n + 1` is never smaller than 1.
            let least = a.size.determines().map(|(_, _, extra)| extra).filter(|least| (items.len() as i128) < *least);
            let expected = least.or(a.size.eval(self, positions));
            if expected != Some(items.len() as i128) {
                let rows = least.is_none() && !positions.is_empty() && self.came_from(address(ty), &a.size, positions);
                let size = self.function.readable(&a.size);
                let mismatch = Mismatch { size, expected, actual: items.len(), at: positions.clone(), rows };
                if expected.is_some() || !self.streams {
                    return Err(mismatch);
                }
                // A size that only this element mentions equals its length.
                if a.size.determines().is_none_or(|(s, ..)| self.info.lasting[s.index()]) {
                    open.push(Open { size: self.what_is_open(&a.size, positions), mismatch, node: address(ty) });
                }
            }
        }
        for_each_part(ty, value, positions, &mut |ty, value, positions| self.check_sizes(ty, value, positions, open))
    }

    /// Whether the size of an array type is a variable bound by an earlier value of the same array type.
    fn came_from(&self, node: usize, size: &Size, positions: &mut Vec<i128>) -> bool {
        let Some((s, args, _)) = size.determines() else { return false };
        let at = args.iter().map(|arg| arg.eval(self, positions)).collect::<Option<Vec<_>>>();
        at.and_then(|at| self.sizes[s.index()].get(&at)).is_some_and(|b| b.node == node)
    }

    /// Whether all values that may determine a size bound by `binder` are available.
    fn complete(&self, var: SizeVar, binder: Var) -> bool {
        let there = |v: Var| self.get(v).is_some() || self.over.contains(&v);
        let params = self.function.params();
        if !self.streams || !params.contains(&binder) {
            return there(binder);
        }
        let mentions = |p: Var| self.function.ty(p).any_atom(&mut |a, _| matches!(a, Atom::Var(s, _) if *s == var));
        params.iter().filter(|p| mentions(**p)).all(|p| there(*p))
    }

    /// The sizes of the outer dimensions of a variable according to its type, if known.
    pub(crate) fn dims_of_type(&self, v: Var, depth: usize) -> Vec<Option<i128>> {
        match self.function.ty(v).regular_dims(depth) {
            Some(dims) => dims.iter().map(|d| d.eval(self, &mut Vec::new())).collect(),
            None => vec![None; depth],
        }
    }

    fn follow(&self, path: &Path) -> Option<&Value> {
        path.fields.iter().try_fold(self.get(path.root)?, |v, f| v.parts()?.get(*f as usize))
    }
}

/// Of two parameters that determine a size, the earlier one has the smaller rank.
fn rank(v: Var) -> u32 {
    v.0 + 1
}

/// The identity of a part of a type. Components are distinct even if they share their contents.
fn address(ty: &Type) -> usize {
    std::ptr::from_ref(ty).addr()
}

/// Whether a type contains any array, and so any size.
pub(crate) fn has_sizes(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) => false,
        Type::Array(_) => true,
        Type::Seq(e) => has_sizes(e),
        Type::Tuple(parts) => parts.iter().any(has_sizes),
        Type::Record(r) => r.fields.iter().any(|(_, t)| has_sizes(t)),
    }
}

type Part<'f, 'p, E> = dyn FnMut(&'p Type, &Value, &mut Vec<i128>) -> Result<(), E> + 'f;

/// Visits the components or elements of a value that may have sizes, with their types and positions.
fn for_each_part<'p, E>(ty: &'p Type, value: &Value, at: &mut Vec<i128>, f: &mut Part<'_, 'p, E>) -> Result<(), E> {
    let elem = match ty {
        Type::Scalar(_) => return Ok(()),
        Type::Tuple(types) => {
            return types.iter().zip(value.parts().unwrap_or_default()).try_for_each(|(t, v)| f(t, v, at));
        }
        Type::Record(r) => {
            let types = r.fields.iter().map(|(_, t)| t);
            return types.zip(value.parts().unwrap_or_default()).try_for_each(|(t, v)| f(t, v, at));
        }
        Type::Array(a) => &a.elem,
        Type::Seq(e) => &**e,
    };
    if !has_sizes(elem) {
        return Ok(());
    }
    for (i, item) in value.items().unwrap_or_default().iter().enumerate() {
        at.push(i as i128);
        let done = f(elem, item, at);
        at.pop();
        done?;
    }
    Ok(())
}

impl SizeEnv for Frame<'_> {
    /// A variable whose binder has a value, but not at these positions, belongs to a dimension without elements: it is 0.
    fn var(&self, var: SizeVar, at: &[i128]) -> Option<i128> {
        if let Some(bound) = self.sizes.get(var.index())?.get(at) {
            return Some(bound.size);
        }
        let binder = self.function.size_binder(var)?;
        self.complete(var, binder).then_some(0)
    }

    fn value(&self, path: &Path) -> Option<i128> {
        self.follow(path)?.as_scalar()?.as_int()
    }

    fn truth(&self, path: &Path) -> Option<bool> {
        self.follow(path)?.as_scalar()?.as_bool()
    }

    fn read(&self, path: &Path, at: &[i128]) -> Option<i128> {
        let element = at.iter().try_fold(self.follow(path)?, |v, i| v.items()?.get(usize::try_from(*i).ok()?))?;
        element.as_scalar()?.as_int()
    }

    fn at(&self, body: Body) -> Option<i128> {
        self.at.get(body.index()).copied().flatten()
    }
}

/// Whether a value is of a type, ignoring sizes; if not, a description and the place.
pub(crate) fn fits(ty: &Type, value: &Value) -> Result<(), String> {
    let all = |types: &mut dyn Iterator<Item = &Type>, values: &[Value]| -> Result<(), String> {
        types.zip(values).try_for_each(|(t, v)| fits(t, v))
    };
    match (ty, value) {
        (Type::Scalar(t), Value::Scalar(s)) if s.ty() == *t => Ok(()),
        (Type::Tuple(types), Value::Tuple(parts)) if types.len() == parts.len() => all(&mut types.iter(), parts),
        (Type::Record(r), Value::Tuple(parts)) if r.fields.len() == parts.len() => {
            all(&mut r.fields.iter().map(|(_, t)| t), parts)
        }
        (Type::Array(a), Value::Array(items)) => items.iter().try_for_each(|v| fits(&a.elem, v)),
        (Type::Seq(e), Value::Seq(items)) => items.iter().try_for_each(|v| fits(e, v)),
        _ => Err(format!("{} where {} is needed", kind_of_value(value), kind_of_type(ty))),
    }
}

fn kind_of_type(ty: &Type) -> String {
    match ty {
        Type::Scalar(t) => format!("`{t}`"),
        Type::Tuple(parts) => format!("a tuple of {}", parts.len()),
        Type::Record(r) => format!("the record `{}`", r.name),
        Type::Array(_) => "an array".into(),
        Type::Seq(_) => "a sequence".into(),
    }
}

fn kind_of_value(value: &Value) -> String {
    match value {
        Value::Scalar(s) => format!("`{}`", s.ty()),
        Value::Tuple(parts) => format!("a tuple of {}", parts.len()),
        Value::Array(_) => "an array".into(),
        Value::Seq(_) => "a sequence".into(),
    }
}

#[cfg(test)]
mod tests;
