//! What the sizes of types are during a run: binding size variables, and comparing sizes with values.
//!
//! A [`Frame`] is one running call: the values of its variables, the numbers bound to its size variables, and the position
//! at which each body runs. Binding and checking both walk a type and a value together, with the
//! positions of the arrays and sequences around.

use crate::error;
use deckle_diag::{Diagnostic, Span};
use deckle_ir::array::{Function, Inst, Op};
use deckle_ir::cost;
use deckle_ir::entity::{Body, Path, SizeVar, Var};
use deckle_ir::fault::Fault;
use deckle_ir::size::Atom;
use deckle_ir::size_eval::SizeEnv;
use deckle_ir::types::{ArrayType, Type};
use deckle_ir::value::Value;
use std::collections::HashMap;
use std::rc::Rc;

/// What is known of a function before it runs.
#[derive(Debug)]
pub(crate) struct Info {
    /// For each body, the widths of what it uses from outside.
    pub aux: Vec<u64>,
    /// For each body, whether it is a single scalar operator applied to its two parameters.
    pub basic: Vec<bool>,
    /// For each variable, the size variables that it binds and that something will ask for.
    binds: Vec<Vec<SizeVar>>,
}

impl Info {
    /// Without `all`, only the size variables are bound that `ensure`, `shape`, `transpose` and `call` may read.
    pub(crate) fn new(function: &Function, all: bool) -> Info {
        let mut wanted = vec![all; function.sizes.len()];
        let mut want = |ty: &Type| {
            ty.any_atom(&mut |a, _| {
                if let Atom::Var(s, _) = a
                    && let Some(w) = wanted.get_mut(s.index())
                {
                    *w = true;
                }
                false
            });
        };
        for v in (0..function.vars.len()).map(|i| Var(i as u32)) {
            match function.inst(v).map(|inst| (&inst.op, &inst.args)) {
                Some((Op::Ensure(ty), _)) => want(ty),
                Some((Op::Shape(_) | Op::Transpose(_) | Op::Call(_), args)) => {
                    args.iter().for_each(|a| want(function.ty(*a)))
                }
                _ => {}
            }
        }
        let mut binds = vec![Vec::new(); function.vars.len()];
        for (i, data) in function.sizes.iter().enumerate() {
            let parameter = function.params().contains(&data.binder);
            if let Some(list) = binds.get_mut(data.binder.index())
                && (wanted[i] || parameter)
            {
                list.push(SizeVar(i as u32));
            }
        }
        let bodies = || (0..function.bodies.len() as u32).map(Body);
        let aux = bodies().map(|b| cost::aux(function, b)).collect();
        let basic = bodies().map(|b| cost::basic(function, b)).collect();
        Info { aux, basic, binds }
    }
}

/// A number bound to a size variable, and the array type whose value gave it.
#[derive(Clone, Copy, Debug)]
struct Bound {
    size: i128,
    node: usize,
}

/// One running call.
#[derive(Debug)]
pub(crate) struct Frame<'p> {
    pub function: &'p Function,
    pub info: Rc<Info>,
    values: Vec<Option<Value>>,
    sizes: Vec<HashMap<Vec<i128>, Bound>>,
    at: Vec<Option<i128>>,
}

/// A size that is not the one that its type says.
#[derive(Debug, PartialEq)]
pub(crate) struct Mismatch {
    /// The size as the source has it, where it says one.
    pub size: Option<String>,
    /// What that is here, if it can be told.
    pub expected: Option<i128>,
    /// How many elements there are.
    pub actual: usize,
    /// Where.
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
        }
    }

    /// The value of a variable that has one.
    pub(crate) fn get(&self, v: Var) -> Option<&Value> {
        self.values.get(v.index())?.as_ref()
    }

    /// Says at which position a body runs.
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
            self.bind(self.function.ty(v), &value, &|b| b == v, &mut Vec::new());
            // What no row shows, the type of what is ensured tells.
            if let Some(Inst { op: Op::Ensure(ty), args, .. }) = self.function.inst(v) {
                let told = self.told([(ty, self.function.ty(args[0]))].into_iter());
                self.know(told.into_iter().filter(|(s, _)| binds.contains(s)));
            }
        }
        self.values[v.index()] = Some(value);
    }

    /// Sizes of those variables that are not known yet.
    fn know(&mut self, sizes: impl Iterator<Item = (SizeVar, i128)>) {
        for (s, size) in sizes {
            self.sizes[s.index()].entry(Vec::new()).or_insert(Bound { size, node: 0 });
        }
    }

    /// Gives parameters of the function their values. A size that several of them mention is that of the first that
    /// shows it, unless it is known already.
    pub(crate) fn define_params(&mut self, args: &[(Var, Value)], known: Vec<(SizeVar, i128)>) {
        let params = self.function.params();
        self.know(known.into_iter());
        for (p, arg) in args {
            self.values[p.index()] = Some(arg.clone());
        }
        for (p, arg) in args {
            self.bind(self.function.ty(*p), arg, &|b| params.contains(&b), &mut Vec::new());
        }
    }

    /// Releases the value of a variable. The sizes that it has bound stay.
    pub(crate) fn forget(&mut self, v: Var) {
        self.values[v.index()] = None;
    }

    /// The sizes of the parameters of `callee` that the types of these variables tell, as the typing rule of a call has them: a
    /// matrix without rows does not show how long they are.
    pub(crate) fn sizes_for(&self, callee: &Function, args: &[Var]) -> Vec<(SizeVar, i128)> {
        self.told(callee.params().iter().map(|p| callee.ty(*p)).zip(args.iter().map(|arg| self.function.ty(*arg))))
    }

    /// The sizes of size variables in types that the types of what is given for them tell.
    fn told<'t>(&self, given: impl Iterator<Item = (&'t Type, &'t Type)>) -> Vec<(SizeVar, i128)> {
        let told = given.flat_map(|(ty, given)| ty.told_by(given));
        let sizes = told.filter_map(|(s, extra, size)| Some((s, size.eval(self, &mut Vec::new())? - extra)));
        sizes.filter(|(_, size)| *size >= 0).collect()
    }

    fn bind(&mut self, ty: &'p Type, value: &Value, owns: &dyn Fn(Var) -> bool, positions: &mut Vec<i128>) {
        if let Type::Array(a) = ty
            && let Some(items) = value.items()
            && let Some((s, args, extra)) = a.size.determines()
            && items.len() as i128 >= extra
            && self.function.size_binder(s).is_some_and(owns)
            && let Some(at) = args.iter().map(|arg| arg.eval(self, positions)).collect::<Option<Vec<_>>>()
        {
            let bound = Bound { size: items.len() as i128 - extra, node: address(a) };
            self.sizes[s.index()].entry(at).or_insert(bound);
        }
        let _ = for_each_part(ty, value, positions, &mut |ty, value, positions| -> Result<(), ()> {
            self.bind(ty, value, owns, positions);
            Ok(())
        });
    }

    /// Compares the value of a variable with the sizes of its type.
    pub(crate) fn check(&self, v: Var) -> Result<(), Mismatch> {
        match self.get(v) {
            Some(value) => self.check_sizes(self.function.ty(v), value, &mut Vec::new()),
            None => Ok(()),
        }
    }

    fn check_sizes(&self, ty: &'p Type, value: &Value, positions: &mut Vec<i128>) -> Result<(), Mismatch> {
        if let (Type::Array(a), Some(items)) = (ty, value.items()) {
            // Nothing makes `n + 1` smaller than 1.
            let least = a.size.determines().map(|(_, _, extra)| extra).filter(|least| (items.len() as i128) < *least);
            let expected = least.or(a.size.eval(self, positions));
            if expected != Some(items.len() as i128) {
                let rows = least.is_none() && !positions.is_empty() && self.came_from(a, positions);
                let size = self.function.readable(&a.size);
                return Err(Mismatch { size, expected, actual: items.len(), at: positions.clone(), rows });
            }
        }
        for_each_part(ty, value, positions, &mut |ty, value, positions| self.check_sizes(ty, value, positions))
    }

    /// Whether the size of `a` is a variable bound by an earlier value of the same array type.
    fn came_from(&self, a: &ArrayType, positions: &mut Vec<i128>) -> bool {
        let Some((s, args, _)) = a.size.determines() else { return false };
        let at = args.iter().map(|arg| arg.eval(self, positions)).collect::<Option<Vec<_>>>();
        at.and_then(|at| self.sizes[s.index()].get(&at)).is_some_and(|b| b.node == address(a))
    }

    /// The sizes of the outer dimensions of a variable as its type has them, where they are known.
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

fn address(a: &ArrayType) -> usize {
    std::ptr::from_ref(a).addr()
}

/// Whether there is any array, and so any size, in a type.
fn has_sizes(ty: &Type) -> bool {
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
        self.get(binder).map(|_| 0)
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

/// Whether a value is of a type, but for sizes; if not, what is where.
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
