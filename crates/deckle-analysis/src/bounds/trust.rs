//! Whether integers wrapped: which sizes equal the lengths of arrays, and the range of a size from the ranges of its atoms.

use super::facts::{Facts, INTS, MANY};
use deckle_ir::array::{Def, Function, Inst, Monoid, Op};
use deckle_ir::entity::{Path, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

impl Facts {
    /// Records a statement: the sizes that it computes may have wrapped.
    pub fn note(&mut self, func: &Function, v: Var) {
        let Some(inst) = func.inst(v) else { return };
        let a = &inst.args;
        let computed: Vec<Size> = match &inst.op {
            Op::Generate | Op::Iota(_) | Op::Produce => a.iter().map(|v| func.size_of(*v)).collect(),
            Op::Replicate | Op::Take | Op::Drop => vec![func.size_of(a[1])],
            Op::Reshape(_) | Op::Slice(_) | Op::Tiles(_) => a[1..].iter().map(|v| func.size_of(*v)).collect(),
            Op::Pad(_) => a[1..3].iter().map(|v| func.size_of(*v)).collect(),
            Op::Expand => vec![func.size_of(func.body(inst.bodies[0]).result)],
            Op::Range(..) => {
                // The ends are not checked, so they must be exact.
                for end in a.iter().filter(|v| *func.ty(**v) == Type::INT).map(|v| func.size_of(*v)) {
                    if !self.within(func, &end, INTS) {
                        self.doubt(&end);
                    }
                }
                vec![]
            }
            _ => vec![],
        };
        computed.iter().filter(|s| !self.is_tame(func, s)).collect::<Vec<_>>().into_iter().for_each(|s| self.doubt(s));
        // Computations of bodies and functions appear in the type of the statement, in other terms.
        let inside = inst.bodies.first().and_then(|b| self.owners.get(b)).is_some_and(|o| o.doubts < self.doubts);
        if inside || matches!(inst.op, Op::Call(_)) {
            let mut sizes = Vec::new();
            func.ty(v).for_each_size(&mut |s, _| sizes.push(s.clone()));
            for size in sizes.iter().filter(|s| !self.is_tame(func, s)).collect::<Vec<_>>() {
                self.strict |= size.any_atom(&mut |a, _| matches!(a, Atom::Pos(_)));
                self.doubt(size);
            }
        }
    }

    /// Whether a number of this size is certainly below 2⁶⁴.
    fn is_tame(&self, func: &Function, size: &Size) -> bool {
        self.within(func, size, (i128::MIN, (1 << 64) - 1)) && self.extremes_are_exact(func, size)
    }

    fn doubt(&mut self, size: &Size) {
        self.doubts += 1;
        self.strict |= size.as_constant().is_some();
        for (m, _) in size.terms().iter().filter(|(m, _)| !m.is_empty()) {
            self.doubtful.insert(m.clone());
            for a in m {
                if let Atom::Min(list) | Atom::Max(list) = a {
                    list.iter().for_each(|s| self.doubt(s));
                }
            }
        }
    }

    /// Whether every minimum and maximum inside is of numbers that do not wrap.
    fn extremes_are_exact(&self, func: &Function, size: &Size) -> bool {
        size.terms().iter().flat_map(|(m, _)| m).all(|a| match a {
            Atom::Min(list) | Atom::Max(list) => {
                list.iter().all(|s| self.within(func, s, INTS) && self.extremes_are_exact(func, s))
            }
            _ => true,
        })
    }

    /// Whether an array of this size certainly has this number of elements.
    pub fn trusted(&self, func: &Function, size: &Size) -> bool {
        self.doubts == 0 || !self.mentions_doubtful(size) && (!self.strict || self.is_tame(func, size))
    }

    fn mentions_doubtful(&self, size: &Size) -> bool {
        size.terms().iter().any(|(m, _)| {
            // A doubtful product may be part of a longer one.
            let part = |d: &Vec<Atom>| {
                d.iter().all(|x| m.iter().filter(|y| *y == x).count() >= d.iter().filter(|y| *y == x).count())
            };
            self.doubtful.iter().any(part)
                || m.iter().any(|a| match a {
                    Atom::Min(l) | Atom::Max(l) | Atom::Var(_, l) => l.iter().any(|s| self.mentions_doubtful(s)),
                    Atom::Sum(n, b) | Atom::Most(n, b) | Atom::Div(n, b) | Atom::If(_, n, b) => {
                        self.mentions_doubtful(n) || self.mentions_doubtful(b)
                    }
                    Atom::Log(x) => self.mentions_doubtful(x),
                    Atom::Pos(_) | Atom::At(_) | Atom::Value(_) | Atom::Read(..) => false,
                })
        })
    }

    /// Whether a size certainly lies between two numbers, by the ranges of its atoms alone.
    pub fn within(&self, func: &Function, size: &Size, (lo, hi): (i128, i128)) -> bool {
        self.range(func, size).is_some_and(|(a, b)| a >= lo && b <= hi)
    }

    fn range(&self, func: &Function, size: &Size) -> Option<(i128, i128)> {
        let mut total = (0i128, 0i128);
        for (m, c) in size.terms() {
            let mut product = (*c, *c);
            for a in m {
                let (x, y) = self.range_of_atom(func, a)?;
                let corners = [
                    product.0.checked_mul(x)?,
                    product.0.checked_mul(y)?,
                    product.1.checked_mul(x)?,
                    product.1.checked_mul(y)?,
                ];
                product = (*corners.iter().min()?, *corners.iter().max()?);
            }
            total = (total.0.checked_add(product.0)?, total.1.checked_add(product.1)?);
        }
        Some(total)
    }

    fn range_of_atom(&self, func: &Function, atom: &Atom) -> Option<(i128, i128)> {
        let all = |list: &[Size]| list.iter().map(|s| self.range(func, s)).collect::<Option<Vec<_>>>();
        Some(match atom {
            Atom::Pos(_) | Atom::At(_) | Atom::Var(..) => (0, MANY),
            Atom::Value(p) => self.small(func, p).unwrap_or(INTS),
            Atom::Read(..) => INTS,
            Atom::Min(list) => {
                let all = all(list)?;
                (all.iter().map(|r| r.0).min()?, all.iter().map(|r| r.1).min()?)
            }
            Atom::Max(list) => {
                let all = all(list)?;
                (all.iter().map(|r| r.0).max()?, all.iter().map(|r| r.1).max()?)
            }
            Atom::If(_, x, y) => {
                let (x, y) = (self.range(func, x)?, self.range(func, y)?);
                (x.0.min(y.0), x.1.max(y.1))
            }
            Atom::Sum(..) | Atom::Div(..) | Atom::Log(_) | Atom::Most(..) => return None,
        })
    }

    /// The range of an integer of the program by its form, without a proof.
    fn small(&self, func: &Function, path: &Path) -> Option<(i128, i128)> {
        if !path.fields.is_empty() {
            return None;
        }
        match &func.vars[path.root.index()].def {
            Def::Param(body, k) => {
                let owner = self.owners.get(body)?;
                let counter = match owner.op {
                    Op::Generate | Op::Produce => true,
                    Op::For => *k == 0,
                    Op::Expand => owner.which == 1 && *k == 1,
                    Op::Map => matches!(func.inst(*owner.args.get(*k as usize)?), Some(Inst { op: Op::Iota(_), .. })),
                    _ => false,
                };
                counter.then_some((0, MANY))
            }
            Def::Inst(inst) => match &inst.op {
                Op::Cast(_) => {
                    func.ty(inst.args[0]).as_scalar()?.int_range().filter(|r| r.0 >= INTS.0 && r.1 <= INTS.1)
                }
                Op::Length | Op::Size(_) | Op::Reduce(Monoid::ArgMin | Monoid::ArgMax) => Some((0, MANY)),
                _ => None,
            },
        }
    }
}
