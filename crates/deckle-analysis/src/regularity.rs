//! Regularity: how the values inside a body are lifted over the elements that the body runs at.
//!
//! Every value in a body has two facts: the bodies on whose element its *value* depends, and those on whose element a
//! *size* of it depends. These determine the decision, without search:
//! - a value that does not depend on the element is *invariant*: it is computed once and not lifted;
//! - a value none of whose sizes does is *regular*: all elements together are an array of one more dimension;
//! - anything else is *ragged*: the elements together need offsets.
//!
//! Tuples are decided component by component.

use deckle_ir::array::{Def, Function, Inst, Op};
use deckle_ir::entity::{Body, Path, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

/// How one value is lifted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lift {
    /// Not at all: it is the same at every element.
    Invariant,
    /// By one more dimension.
    Regular,
    /// With offsets, because of this size. `None` for a sequence whose length is known only at run time.
    Ragged(Option<Size>),
}

/// The decision about one variable in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The variable.
    pub var: Var,
    /// The body that runs at each element.
    pub body: Body,
    /// For each component that is no tuple, in order: its path, and the decision.
    pub parts: Vec<(Path, Lift)>,
}

/// Decides for every variable in every body that runs once for each element, innermost body first.
pub fn decide(function: &Function) -> Vec<Decision> {
    let facts = Facts::new(function);
    let mut decisions = Vec::new();
    for k in 0..function.vars.len() {
        let var = Var(k as u32);
        for body in facts.around(var) {
            let mut parts = Vec::new();
            facts.lift(Path::from(var), function.ty(var), &facts.deps[k], body, &mut parts);
            decisions.push(Decision { var, body, parts });
        }
    }
    decisions
}

/// Whether a body of this operator runs once for each element.
pub fn per_element(op: &Op) -> bool {
    matches!(
        op,
        Op::Map
            | Op::Generate
            | Op::Filter
            | Op::Partition
            | Op::Expand
            | Op::SortBy
            | Op::GroupBy
            | Op::Stencil(..)
            | Op::Produce
    )
}

/// The bodies on whose element a value depends, by component for a tuple that the program builds.
#[derive(Clone, Debug, PartialEq)]
enum Deps {
    All(Vec<Body>),
    Parts(Vec<Deps>),
}

impl Deps {
    fn none() -> Deps {
        Deps::All(Vec::new())
    }

    fn collect(&self, into: &mut Vec<Body>) {
        match self {
            Deps::All(list) => into.extend(list),
            Deps::Parts(parts) => parts.iter().for_each(|p| p.collect(into)),
        }
    }

    fn part(&self, k: usize) -> Deps {
        match self {
            Deps::All(_) => self.clone(),
            Deps::Parts(parts) => parts.get(k).cloned().unwrap_or_else(Deps::none),
        }
    }

    /// The dependencies of both.
    fn or(&self, other: &Deps) -> Deps {
        match (self, other) {
            (Deps::Parts(a), Deps::Parts(b)) if a.len() == b.len() => {
                Deps::Parts(a.iter().zip(b).map(|(a, b)| a.or(b)).collect())
            }
            _ => {
                let mut list = Vec::new();
                self.collect(&mut list);
                other.collect(&mut list);
                list.sort();
                list.dedup();
                Deps::All(list)
            }
        }
    }

    fn without(&self, body: Body) -> Deps {
        match self {
            Deps::All(list) => Deps::All(list.iter().copied().filter(|b| *b != body).collect()),
            Deps::Parts(parts) => Deps::Parts(parts.iter().map(|p| p.without(body)).collect()),
        }
    }

    fn has(&self, body: Body) -> bool {
        match self {
            Deps::All(list) => list.contains(&body),
            Deps::Parts(parts) => parts.iter().any(|p| p.has(body)),
        }
    }
}

struct Facts<'f> {
    function: &'f Function,
    /// For each body, the statement that it belongs to.
    owner: Vec<Option<Var>>,
    /// For each variable, its body.
    home: Vec<Body>,
    deps: Vec<Deps>,
}

impl<'f> Facts<'f> {
    fn new(function: &'f Function) -> Self {
        let mut owner = vec![None; function.bodies.len()];
        let mut home = vec![Function::ROOT; function.vars.len()];
        for (k, data) in function.bodies.iter().enumerate() {
            for v in data.params.iter().chain(&data.stmts) {
                home[v.index()] = Body(k as u32);
            }
        }
        for (k, data) in function.vars.iter().enumerate() {
            if let Def::Inst(inst) = &data.def {
                inst.bodies.iter().for_each(|b| owner[b.index()] = Some(Var(k as u32)));
            }
        }
        let mut facts = Facts { function, owner, home, deps: Vec::with_capacity(function.vars.len()) };
        for data in &function.vars {
            let deps = match &data.def {
                Def::Param(body, k) => facts.param(*body, *k as usize),
                Def::Inst(inst) => facts.inst(inst),
            };
            facts.deps.push(deps);
        }
        facts
    }

    fn of(&self, v: Var) -> &Deps {
        &self.deps[v.index()]
    }

    fn param(&self, body: Body, k: usize) -> Deps {
        let Some(inst) = self.owner[body.index()].and_then(|v| self.function.inst(v)) else { return Deps::none() };
        let own = Deps::All(vec![body]);
        match &inst.op {
            Op::Generate | Op::Produce => own,
            // The second body of `expand` gets an element of the operand, and the index of its own element.
            op if per_element(op) => {
                inst.args.get(k).or(inst.args.first()).map_or(own.clone(), |a| self.of(*a).or(&own))
            }
            // The state of a loop, or the accumulator of a fold: depends on everything that the operator uses.
            _ => {
                let outside = inst.bodies.iter().flat_map(|b| self.function.free_vars(*b));
                let used = inst.args.iter().copied().chain(outside.filter(|v| v.index() < self.deps.len()));
                used.fold(Deps::All(Vec::new()), |all, v| all.or(self.of(v)))
            }
        }
    }

    fn inst(&self, inst: &Inst) -> Deps {
        let all = |list: &[Var]| list.iter().fold(Deps::All(Vec::new()), |all, v| all.or(self.of(*v)));
        let results = || inst.bodies.iter().map(|b| self.of(self.function.body(*b).result).without(*b));
        match &inst.op {
            Op::Tuple | Op::Record(_) => Deps::Parts(inst.args.iter().map(|v| self.of(*v).clone()).collect()),
            Op::Proj(k) => self.of(inst.args[0]).part(*k as usize),
            Op::Ensure(_) => self.of(inst.args[0]).clone(),
            // The length of a row does not depend on the row if all rows have equal length.
            Op::Length if self.function.ty(inst.args[0]).as_array().is_some() => {
                self.function.ty(inst.args[0]).as_array().map_or_else(Deps::none, |a| self.of_size(&a.size))
            }
            Op::Shape(depth) => match self.function.ty(inst.args[0]).regular_dims(*depth as usize) {
                Some(dims) => Deps::Parts(dims.iter().map(|d| self.of_size(d)).collect()),
                None => all(&inst.args),
            },
            Op::If => {
                let both = results().reduce(|a, b| a.or(&b)).unwrap_or_else(Deps::none);
                add(both, self.of(inst.args[0]))
            }
            _ => results().fold(all(&inst.args), |all, r| Deps::All(Vec::new()).or(&all).or(&r)),
        }
    }

    /// The bodies around a variable that run once for each element, innermost first.
    fn around(&self, v: Var) -> Vec<Body> {
        let mut list = Vec::new();
        let mut body = self.home[v.index()];
        while let Some(owner) = self.owner[body.index()] {
            if self.function.inst(owner).is_some_and(|inst| per_element(&inst.op)) {
                list.push(body);
            }
            body = self.home[owner.index()];
        }
        list
    }

    fn lift(&self, path: Path, ty: &Type, deps: &Deps, body: Body, parts: &mut Vec<(Path, Lift)>) {
        if let Some(components) = ty.parts() {
            for (k, t) in components.into_iter().enumerate() {
                self.lift(path.clone().field(k as u32), t, &deps.part(k), body, parts);
            }
            return;
        }
        let lift = if !deps.has(body) {
            Lift::Invariant
        } else if ty.is_seq() {
            match self.length(path.root) {
                Some(length) if !self.depends(&length, body) => Lift::Regular,
                length => Lift::Ragged(length),
            }
        } else {
            let mut ragged = None;
            ty.for_each_size(&mut |s, _| {
                if ragged.is_none() && self.depends(s, body) {
                    ragged = Some(s.clone());
                }
            });
            ragged.map_or(Lift::Regular, |s| Lift::Ragged(Some(s)))
        };
        parts.push((path, lift));
    }

    /// The length of a sequence, if known statically.
    fn length(&self, v: Var) -> Option<Size> {
        let inst = self.function.inst(v)?;
        match &inst.op {
            Op::Iota(_) | Op::Produce => Some(self.function.size_of(inst.args[0])),
            Op::Seq => self.function.ty(inst.args[0]).as_array().map(|a| a.size.clone()),
            Op::Map | Op::Zip => inst.args.iter().find_map(|a| self.length(*a)),
            Op::Scan(..) | Op::ScanOrdered => self.length(*inst.args.last()?),
            Op::MkSeq(_) => Some(Size::from(inst.args.len() as i64)),
            _ => None,
        }
    }

    /// Whether a size depends on the element of a body.
    fn depends(&self, size: &Size, body: Body) -> bool {
        self.of_size(size).has(body)
    }

    /// The bodies on whose element a size depends.
    fn of_size(&self, size: &Size) -> Deps {
        let mut list = Vec::new();
        let mut note = |v: Var| {
            if let Some(deps) = self.deps.get(v.index()) {
                deps.collect(&mut list);
            }
        };
        let mut at = Vec::new();
        size.any_atom(&mut |a, _| {
            match a {
                Atom::At(b) => at.push(*b),
                Atom::Var(s, _) => self.function.size_binder(*s).into_iter().for_each(&mut note),
                Atom::Value(p) | Atom::Read(p, _) | Atom::If(p, ..) => note(p.root),
                _ => {}
            }
            false
        });
        list.extend(at);
        list.sort();
        list.dedup();
        Deps::All(list)
    }
}

/// Every component depends on this too.
fn add(deps: Deps, more: &Deps) -> Deps {
    match deps {
        Deps::Parts(parts) => Deps::Parts(parts.into_iter().map(|p| add(p, more)).collect()),
        all => Deps::All(Vec::new()).or(&all).or(more),
    }
}

#[cfg(test)]
mod tests;
