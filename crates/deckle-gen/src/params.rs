//! Random types of parameters, and arguments that fit them.
//!
//! A type is made in two steps: its *kind*, in which all sizes are 0, and then its sizes. Sizes are shared between
//! parameters, so that there is something to zip; they may be constants, regular or jagged, the value of
//! an earlier integer parameter, or read from an earlier vector of lengths or offsets.

use crate::{Config, Rng, scalars};
use deckle_ir::array::Builder;
use deckle_ir::entity::{Body, Path, SizeVar, Var};
use deckle_ir::scalar::ScalarType;
use deckle_ir::size::{Atom, Size};
use deckle_ir::size_eval::SizeEnv;
use deckle_ir::types::{RecordType, Type};
use deckle_ir::value::Value;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A type without sequences, in which all sizes are 0.
pub(crate) fn concrete_kind(rng: &mut Rng, nesting: usize) -> Type {
    match rng.below(if nesting == 0 { 12 } else { 20 }) {
        0..=8 => scalars::any_type(rng).into(),
        9..=10 => Type::tuple((0..rng.below(4)).map(|_| concrete_kind(rng, nesting.saturating_sub(1))).collect()),
        11 => {
            let fields = ["x", "y", "z"][..1 + rng.below(3)].iter();
            let fields = fields.map(|n| (n.to_string(), concrete_kind(rng, nesting.saturating_sub(1)))).collect();
            Type::Record(Arc::new(RecordType { name: "point".into(), fields }))
        }
        _ => Type::array(0.into(), concrete_kind(rng, nesting - 1)),
    }
}

/// A type in which all sizes are 0.
pub(crate) fn kind(rng: &mut Rng, config: &Config) -> Type {
    if !config.sequences || rng.chance(60) {
        return match rng.below(10) {
            0..=1 => scalars::any_type(rng).into(),
            2..=3 => concrete_kind(rng, config.nesting),
            _ => Type::array(0.into(), concrete_kind(rng, config.nesting.saturating_sub(1))),
        };
    }
    match rng.below(10) {
        0..=6 => Type::seq(concrete_kind(rng, config.nesting.min(2).saturating_sub(1))),
        7..=8 => Type::seq(Type::seq(concrete_kind(rng, 1))),
        _ => Type::tuple(vec![kind(rng, config), Type::seq(scalars::any_type(rng).into())]),
    }
}

/// How the sizes of later parameters use a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Not at all.
    Plain,
    /// Its integers are small and not negative: they are sizes.
    Natural,
    /// A vector of integers that begins with 0 and does not decrease.
    Offsets,
}

/// A binder around a size: a vector of that size, or a sequence.
#[derive(Clone, PartialEq)]
enum Around {
    Vector(Size),
    Sequence(usize),
}

/// Parameters of one function.
#[derive(Default)]
pub(crate) struct Params {
    /// Each with its type and role.
    pub list: Vec<(Type, Role)>,
    /// Sizes that later types may reuse, with their binders.
    known: Vec<(Vec<Around>, Size)>,
    sequences: usize,
}

impl Params {
    /// Adds a parameter to the function under construction.
    pub fn add(&mut self, b: &mut Builder<'_>, rng: &mut Rng, config: &Config) -> Var {
        let v = b.next_var();
        let (ty, role) = match rng.below(20) {
            0 => (Type::INT, Role::Natural),
            1..=2 => (Type::array(self.size(b, rng, &[]), Type::INT), Role::Natural),
            3 if config.nesting > 1 => {
                let n = self.size(b, rng, &[]);
                let Some(s) = n.as_var() else { return self.finish(b, Type::array(n, Type::INT), Role::Natural) };
                let rows = Size::var(s);
                let at = |i: Size| Size::from(Atom::Read(v.into(), vec![i]));
                let row = at(Size::pos(0).add(&1.into())).sub(&at(Size::pos(0)));
                let bound = b.func().size_binder(s).is_some_and(|binder| binder < v);
                // A size that this parameter binds must occur alone in its type.
                if !bound {
                    return self.finish(b, Type::array(n, Type::INT), Role::Natural);
                }
                self.known.push((vec![Around::Vector(rows.clone())], row));
                (Type::array(rows.add(&1.into()), Type::INT), Role::Offsets)
            }
            _ => {
                let kind = kind(rng, config);
                (self.sized(b, rng, &kind, &mut Vec::new()), Role::Plain)
            }
        };
        if role == Role::Natural {
            match ty.as_array() {
                None => self.known.push((Vec::new(), Size::value(v))),
                Some(a) => {
                    let around = vec![Around::Vector(a.size.clone())];
                    self.known.push((around, Atom::Read(v.into(), vec![Size::pos(0)]).into()));
                }
            }
        }
        self.finish(b, ty, role)
    }

    fn finish(&mut self, b: &mut Builder<'_>, ty: Type, role: Role) -> Var {
        let name = ["a", "b", "c", "d", "e", "f"].get(self.list.len()).copied().unwrap_or("x");
        self.list.push((ty.clone(), role));
        b.param(name, ty, deckle_diag::Span::NONE)
    }

    fn sized(&mut self, b: &mut Builder<'_>, rng: &mut Rng, kind: &Type, around: &mut Vec<Around>) -> Type {
        match kind {
            Type::Scalar(_) => kind.clone(),
            Type::Seq(elem) => {
                self.sequences += 1;
                around.push(Around::Sequence(self.sequences));
                let elem = self.sized(b, rng, elem, around);
                around.pop();
                Type::seq(elem)
            }
            Type::Tuple(parts) => Type::tuple(parts.iter().map(|t| self.sized(b, rng, t, around)).collect()),
            Type::Record(r) => {
                let fields = r.fields.iter().map(|(n, t)| (n.clone(), self.sized(b, rng, t, around))).collect();
                Type::Record(Arc::new(RecordType { name: r.name.clone(), fields }))
            }
            Type::Array(a) => {
                let size = self.size(b, rng, around);
                around.push(Around::Vector(size.clone()));
                let elem = self.sized(b, rng, &a.elem, around);
                around.pop();
                Type::array(size, elem)
            }
        }
    }

    fn size(&mut self, b: &mut Builder<'_>, rng: &mut Rng, around: &[Around]) -> Size {
        let depth = around.len() as u32;
        if rng.chance(8) {
            return rng.between(0, 4).into();
        }
        let known: Vec<usize> =
            (0..self.known.len()).filter(|&k| self.known[k].0.is_empty() || self.known[k].0 == around).collect();
        if let Some(k) = rng.of(&known)
            && rng.chance(60)
        {
            return self.known[k].1.clone();
        }
        let regular = depth == 0 || rng.chance(45);
        let arity = if regular { 0 } else { depth };
        let s = b.new_size(arity);
        let size = Size::from(Atom::Var(s, (0..arity).rev().map(Size::pos).collect()));
        // A size below a dimension that may be empty has no value to share.
        if !regular {
            self.known.push((around.to_vec(), size.clone()));
        } else if depth == 0 {
            self.known.push((Vec::new(), size.clone()));
        }
        size
    }
}

/// Arguments for parameters.
pub(crate) fn arguments(params: &Params, rng: &mut Rng, config: &Config) -> Vec<Value> {
    let mut inner = HashSet::new();
    for (ty, _) in &params.list {
        ty.for_each_size(&mut |size, depth| inner.extend(size.as_var().filter(|_| depth > 0)));
    }
    let (rng, sizes) = (RefCell::new(rng), RefCell::default());
    let mut maker = Maker { rng, long: config.long, inner, sizes, args: Vec::new() };
    for (ty, role) in &params.list {
        let arg = maker.value(ty, *role, &mut Vec::new());
        maker.args.push(arg);
    }
    maker.args
}

/// A value of a type whose sizes are numbers.
pub(crate) fn constant(ty: &Type, rng: &mut Rng) -> Value {
    let (rng, sizes) = (RefCell::new(rng), RefCell::default());
    let maker = Maker { rng, long: 0, inner: HashSet::new(), sizes, args: Vec::new() };
    maker.value(ty, Role::Plain, &mut Vec::new())
}

struct Maker<'r> {
    rng: RefCell<&'r mut Rng>,
    /// See [`Config::long`].
    long: i64,
    /// Sizes of vectors inside others: none of them is long, or there would be too many elements.
    inner: HashSet<SizeVar>,
    /// The values chosen for size variables, at positions.
    sizes: RefCell<HashMap<(SizeVar, Vec<i128>), i128>>,
    args: Vec<Value>,
}

impl Maker<'_> {
    fn value(&self, ty: &Type, role: Role, at: &mut Vec<i128>) -> Value {
        match ty {
            Type::Scalar(ScalarType::I64) if role == Role::Natural => Value::int(self.rng.borrow_mut().between(0, 4)),
            Type::Scalar(s) => scalars::any(&mut self.rng.borrow_mut(), *s).into(),
            Type::Tuple(_) | Type::Record(_) => {
                let parts = ty.parts().unwrap_or_default();
                Value::tuple(parts.into_iter().map(|t| self.value(t, role, at)).collect())
            }
            Type::Seq(elem) => {
                let n = length(&mut self.rng.borrow_mut(), at.len(), self.long);
                Value::seq(self.elems(n, elem, role, at))
            }
            Type::Array(a) if role == Role::Offsets => {
                let n = a.size.eval(self, at).unwrap_or(1);
                let mut sum = 0;
                let next = |_| {
                    let here = sum;
                    sum += self.rng.borrow_mut().between(0, 3);
                    Value::int(here)
                };
                Value::array((0..n).map(next).collect())
            }
            Type::Array(a) => {
                let n = a.size.eval(self, at).unwrap_or(0);
                Value::array(self.elems(n, &a.elem, role, at))
            }
        }
    }

    fn elems(&self, n: i128, elem: &Type, role: Role, at: &mut Vec<i128>) -> Vec<Value> {
        let one = |i: i128| {
            at.push(i);
            let v = self.value(elem, role, at);
            at.pop();
            v
        };
        (0..n).map(one).collect()
    }
}

/// The length of a vector or sequence `depth` binders deep.
fn length(rng: &mut Rng, depth: usize, long: i64) -> i128 {
    if long > 0 && depth == 0 && rng.chance(35) {
        return rng.between(long / 2, long).into();
    }
    match rng.below(40) {
        0..=3 => 0,
        4..=8 => 1,
        9 if depth == 0 => rng.between(33, 45).into(),
        _ if depth == 0 => rng.between(2, 6).into(),
        _ => rng.between(1, 4).into(),
    }
}

impl SizeEnv for Maker<'_> {
    fn var(&self, var: SizeVar, at: &[i128]) -> Option<i128> {
        let mut sizes = self.sizes.borrow_mut();
        let long = if self.inner.contains(&var) { 0 } else { self.long };
        let n = sizes.entry((var, at.to_vec())).or_insert_with(|| length(&mut self.rng.borrow_mut(), at.len(), long));
        Some(*n)
    }

    fn value(&self, path: &Path) -> Option<i128> {
        self.args.get(path.root.index())?.as_scalar()?.as_int()
    }

    fn truth(&self, _: &Path) -> Option<bool> {
        None
    }

    fn read(&self, path: &Path, at: &[i128]) -> Option<i128> {
        let item = |v: &Value, i: i128| v.items()?.get(usize::try_from(i).ok()?).cloned();
        let found = at.iter().try_fold(self.args.get(path.root.index())?.clone(), |v, i| item(&v, *i))?;
        found.as_scalar()?.as_int()
    }

    fn at(&self, _: Body) -> Option<i128> {
        None
    }
}
