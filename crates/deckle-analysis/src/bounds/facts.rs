//! Facts about atoms: lower and upper bounds, and whether integers wrapped.

use deckle_ir::array::{BinOp, Coll, Def, Function, Inst, Monoid, Op};
use deckle_ir::entity::{Body, Path, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

/// More than the elements of any array, and the rounds of any loop.
pub const MANY: i128 = 1 << 60;
pub(super) const INTS: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);
/// The number of operators of one integer that are decomposed.
const STEPS: u32 = 24;
const MAX_TERMS: usize = 12;

/// Facts at one place of a function: the enclosing bodies, and the untrusted sizes. Statements are added in
/// order.
#[derive(Debug, Default)]
pub struct Facts {
    pub(super) owners: HashMap<Body, Owner>,
    pub(super) stack: Vec<Body>,
    /// Products that may have wrapped.
    pub(super) doubtful: HashSet<Vec<Atom>>,
    /// The number of doubtful products so far.
    pub(super) doubts: usize,
    /// Whether a size that depends on the position is doubtful: then only sizes that cannot be large are trusted.
    pub(super) strict: bool,
    /// The nesting depth of proofs.
    pub(super) nested: Cell<u32>,
}

/// The statement of a body, which need not exist yet.
#[derive(Debug)]
pub(super) struct Owner {
    pub op: Op,
    pub args: Vec<Var>,
    pub which: usize,
    /// The number of doubtful products before it.
    pub doubts: usize,
}

impl Facts {
    /// Enters a body.
    pub fn enter(&mut self, body: Body, op: &Op, args: &[Var], which: usize) {
        self.owners.insert(body, Owner { op: op.clone(), args: args.to_vec(), which, doubts: self.doubts });
        self.stack.push(body);
    }

    /// Leaves it.
    pub fn leave(&mut self) {
        self.stack.pop();
    }

    /// The number of enclosing bodies.
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Leaves all bodies except the outer `depth`.
    pub fn unwind(&mut self, depth: usize) {
        self.stack.truncate(depth);
    }

    /// An integer as a polynomial with the same residue modulo 2⁶⁴. Atoms that are not integers of the program are exact.
    pub fn residue(&self, func: &Function, v: Var) -> Size {
        self.residue_of(func, &func.path(v), &mut STEPS.clone())
    }

    /// An integer as a polynomial that has exactly its value.
    pub fn exact(&self, func: &Function, v: Var) -> Size {
        let size = self.residue(func, v);
        if self.within(func, &size, INTS) { size } else { Size::value(func.path(v)) }
    }

    fn residue_of(&self, func: &Function, path: &Path, fuel: &mut u32) -> Size {
        let opaque = || Size::value(path.clone());
        let Some(inst) = func.inst(path.root).filter(|_| *fuel > 0) else { return opaque() };
        *fuel -= 1;
        let known = |size: &Size| if self.trusted(func, size) { size.clone() } else { opaque() };
        if let ([k], Op::Shape(depth)) = (path.fields.as_slice(), &inst.op) {
            let dims = func.ty(inst.args[0]).regular_dims(*depth as usize);
            return dims.map_or_else(opaque, |d| known(&d[*k as usize]));
        }
        if !path.fields.is_empty() || *func.ty(path.root) != Type::INT {
            return opaque();
        }
        let mut arg = |k: usize| self.residue_of(func, &func.path(inst.args[k]), fuel);
        let size = match &inst.op {
            Op::Const(c) => c.as_int().map_or_else(opaque, Size::constant),
            Op::Binary(BinOp::Add) => arg(0).add(&arg(1)),
            Op::Binary(BinOp::Sub) => arg(0).sub(&arg(1)),
            Op::Binary(BinOp::Mul) => arg(0).mul(&arg(1)),
            Op::Binary(op @ (BinOp::Min | BinOp::Max)) => {
                let (x, y) = (arg(0), arg(1));
                match op {
                    _ if !self.within(func, &x, INTS) || !self.within(func, &y, INTS) => opaque(),
                    BinOp::Min => x.lesser(&y),
                    _ => x.greater(&y),
                }
            }
            Op::Select => {
                let (x, y) = (arg(1), arg(2));
                let exact = self.within(func, &x, INTS) && self.within(func, &y, INTS);
                if exact { Size::select(func.path(inst.args[0]), &x, &y) } else { opaque() }
            }
            Op::Length => func.ty(inst.args[0]).as_array().map_or_else(opaque, |a| known(&a.size)),
            _ => opaque(),
        };
        let large = size.terms().len() > MAX_TERMS || size.terms().iter().any(|(m, _)| m.len() > 4);
        if large { opaque() } else { size }
    }

    /// Lower bounds of an atom.
    pub(super) fn lower(&self, func: &Function, atom: &Atom) -> Vec<Size> {
        let mut found = self.bounds(func, atom).map_or_else(Vec::new, |(lo, _)| vec![lo]);
        if matches!(atom, Atom::Pos(_) | Atom::At(_) | Atom::Var(..)) {
            found.push(0.into());
        }
        // A body that runs over elements has at least one inside.
        for &body in &self.stack {
            for n in self.counts(func, body) {
                let rest = n.sub(&atom.clone().into());
                if rest.terms().len() < n.terms().len() {
                    found.push(Size::constant(1).sub(&rest));
                }
            }
        }
        found
    }

    /// Upper bounds of an atom.
    pub(super) fn upper(&self, func: &Function, atom: &Atom) -> Vec<Size> {
        let below = self.bounds(func, atom).and_then(|(_, hi)| hi);
        below.map(|n| n.sub(&1.into())).into_iter().collect()
    }

    /// The minimum of an atom, and an exclusive upper bound.
    fn bounds(&self, func: &Function, atom: &Atom) -> Option<(Size, Option<Size>)> {
        let zero = || Size::constant(0);
        match atom {
            Atom::At(body) => self.count(func, *body).map(|n| (zero(), Some(n))),
            Atom::Read(p, at) if p.fields.is_empty() && func.ty(p.root).depth() == at.len() => {
                self.elements(func, p.root, 8).map(|(lo, hi)| (lo, Some(hi)))
            }
            Atom::Value(p) => match (&func.vars[p.root.index()].def, p.fields.as_slice()) {
                (Def::Param(body, k), fields) => self.of_param(func, *body, *k as usize, fields),
                (Def::Inst(inst), []) => self.of_inst(func, inst),
                _ => None,
            },
            _ => None,
        }
    }

    fn of_param(&self, func: &Function, body: Body, k: usize, fields: &[u32]) -> Option<(Size, Option<Size>)> {
        let zero = || Size::constant(0);
        let owner = self.owners.get(&body)?;
        let arg = *owner.args.get(k)?;
        match (&owner.op, fields) {
            (Op::Generate, []) => Some((zero(), Some(self.exact(func, arg)))),
            (Op::For | Op::Produce, []) if k == 0 => Some((zero(), Some(self.exact(func, arg)))),
            (Op::Map, []) if func.ty(arg).elem().is_some_and(|t| *t == Type::INT) => {
                self.elements(func, arg, 8).map(|(lo, hi)| (lo, Some(hi)))
            }
            (Op::Map, [f]) => match func.inst(arg)? {
                Inst { op: Op::Zip, args, .. } => {
                    let part = *args.get(*f as usize)?;
                    let flat = func.ty(part).elem().is_some_and(|t| *t == Type::INT);
                    self.elements(func, part, 8).filter(|_| flat).map(|(lo, hi)| (lo, Some(hi)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn of_inst(&self, func: &Function, inst: &Inst) -> Option<(Size, Option<Size>)> {
        let zero = || Size::constant(0);
        let arg = |k: usize| self.exact(func, inst.args[k]);
        match &inst.op {
            Op::Binary(BinOp::Rem) if self.natural(func, &arg(0)) && self.natural(func, &arg(1).sub(&1.into())) => {
                Some((zero(), Some(arg(1))))
            }
            Op::Binary(BinOp::Div) if self.natural(func, &arg(0)) && self.natural(func, &arg(1).sub(&1.into())) => {
                Some((zero(), Some(arg(0).add(&1.into()))))
            }
            Op::Binary(BinOp::And) => {
                let mask = (0..2).filter_map(|k| arg(k).as_constant()).find(|c| *c >= 0)?;
                Some((zero(), Some(Size::constant(mask + 1))))
            }
            Op::Cast(_) => {
                let (lo, hi) =
                    func.ty(inst.args[0]).as_scalar()?.int_range().filter(|r| r.0 >= INTS.0 && r.1 < INTS.1)?;
                Some((Size::constant(lo), Some(Size::constant(hi + 1))))
            }
            Op::Reduce(Monoid::ArgMin | Monoid::ArgMax) => {
                let n = func.ty(inst.args[0]).as_array().map(|a| a.size.clone());
                Some((zero(), n.filter(|n| self.trusted(func, n))))
            }
            Op::Length | Op::Size(_) => Some((zero(), None)),
            _ => None,
        }
    }

    /// The range of all integers in an array, at any depth: the minimum, and an exclusive upper bound.
    fn elements(&self, func: &Function, array: Var, fuel: u32) -> Option<(Size, Size)> {
        let inst = func.inst(array).filter(|_| fuel > 0)?;
        match &inst.op {
            Op::Iota(_) => Some((0.into(), self.exact(func, inst.args[0]))),
            Op::Range(_, false) if *func.ty(inst.args[0]) == Type::INT => {
                let step = self.exact(func, inst.args[2]).as_constant()?;
                (step > 0).then(|| (self.exact(func, inst.args[0]), self.exact(func, inst.args[1])))
            }
            Op::Filter
            | Op::Sort
            | Op::SortBy
            | Op::Compact
            | Op::Reverse(_)
            | Op::Take
            | Op::Drop
            | Op::Slice(_)
            | Op::Reshape(_)
            | Op::Transpose(_)
            | Op::Flatten
            | Op::Seq
            | Op::Tab
            | Op::Ensure(_)
            | Op::Split(_) => self.elements(func, inst.args[0], fuel - 1),
            Op::Array(t) if *t == Type::INT => {
                let all: Option<Vec<i128>> = inst.args.iter().map(|v| self.exact(func, *v).as_constant()).collect();
                let all = all?;
                Some((Size::constant(*all.iter().min()?), Size::constant(*all.iter().max()? + 1)))
            }
            _ => None,
        }
    }

    /// The number of elements that a body iterates over, if it does.
    fn count(&self, func: &Function, body: Body) -> Option<Size> {
        let owner = self.owners.get(&body)?;
        let over = match &owner.op {
            Op::Map | Op::Filter | Op::Partition | Op::SortBy | Op::GroupBy | Op::Expand | Op::Fold1 => {
                owner.args.first()?
            }
            Op::Fold | Op::FoldOrdered | Op::Scan(..) | Op::ScanOrdered => owner.args.last()?,
            Op::Permute => owner.args.get(2)?,
            Op::Produce => return Some(self.exact(func, *owner.args.first()?)),
            _ => return None,
        };
        match func.inst(*over) {
            Some(Inst { op: Op::Iota(Coll::Seq), args, .. }) => Some(self.exact(func, args[0])),
            Some(Inst { op: Op::Seq, args, .. }) => self.length(func, args[0]),
            _ => self.length(func, *over),
        }
    }

    fn length(&self, func: &Function, array: Var) -> Option<Size> {
        func.ty(array).as_array().map(|a| a.size.clone()).filter(|n| self.trusted(func, n))
    }

    /// The numbers that are at least 1 because a body runs.
    fn counts(&self, func: &Function, body: Body) -> Vec<Size> {
        match self.owners.get(&body) {
            Some(Owner { op: Op::Generate, args, .. }) => args.iter().map(|v| self.exact(func, *v)).collect(),
            Some(Owner { op: Op::For, args, .. }) => vec![self.exact(func, args[0])],
            _ => self.count(func, body).into_iter().collect(),
        }
    }

    /// The indices of enclosing `generate`s, and the total number of elements: an array of that size is being created.
    pub(super) fn made(&self, func: &Function) -> Vec<Size> {
        let dims = |body: &Body| match self.owners.get(body) {
            Some(Owner { op: Op::Generate, args, .. }) => {
                Some(args.iter().fold(Size::constant(1), |n, v| n.mul(&self.exact(func, *v))))
            }
            _ => None,
        };
        self.stack.iter().filter_map(dims).collect()
    }
}
