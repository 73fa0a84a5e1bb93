//! Rules for shapes: lengths that types know, and operators that undo one another or do nothing.

use super::pass::Pass;
use deckle_diag::Span;
use deckle_ir::array::{Op, Slicer, SplitBy};
use deckle_ir::entity::Var;
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

impl Pass<'_> {
    /// The replacement of an operator that reads or changes a shape.
    pub(super) fn shape_rule(&mut self, op: &Op, args: &[Var], span: Span) -> Option<Var> {
        match op {
            Op::Length => self.length(args[0], span),
            Op::Size(depth) => {
                let n = self.dims(args[0], *depth)?.iter().fold(Size::constant(1), |p, s| p.mul(s));
                n.as_constant()?;
                self.as_variable(&n, span)
            }
            Op::Shape(depth) => {
                let dims = self.dims(args[0], *depth)?;
                if !dims.iter().all(|n| self.known(n)) {
                    return None;
                }
                let parts = dims.iter().map(|n| self.as_variable(n, span)).collect::<Option<Vec<_>>>()?;
                self.emit(Op::Tuple, &parts, span)
            }
            Op::Proj(k) => {
                let (depth, array) = match self.inst(args[0])? {
                    inst if matches!(inst.op, Op::Shape(_)) => match inst.op {
                        Op::Shape(depth) => (depth, inst.args[0]),
                        _ => return None,
                    },
                    _ => return None,
                };
                let n = self.dims(array, depth)?.get(*k as usize)?.clone();
                if self.known(&n) {
                    self.as_variable(&n, span)
                } else {
                    (*k == 0).then(|| self.emit(Op::Length, &[array], span))?
                }
            }
            Op::Zip => self.zipped(args),
            _ => self.undone(op, args, span).or_else(|| {
                let same = self.does_nothing(op, args)?;
                self.may_stand(same, op, args).then_some(same)
            }),
        }
    }

    /// The outer sizes of a regular array, if they are its actual sizes.
    fn dims(&self, v: Var, depth: u32) -> Option<Vec<Size>> {
        let dims = self.b.ty(v).regular_dims(depth as usize)?;
        dims.iter().all(|s| self.facts.trusted(self.func(), s)).then_some(dims)
    }

    /// Whether a size can be written as it is. A negative one is of the rows of an empty array.
    fn known(&self, size: &Size) -> bool {
        size.as_constant().is_some_and(|n| n >= 0)
            || matches!(size.as_atom(), Some(Atom::Value(p)) if p.fields.is_empty())
    }

    /// The number or the integer that a length equals, or the length of the array that determines those of the others.
    fn length(&mut self, v: Var, span: Span) -> Option<Var> {
        let size = self.b.ty(v).as_array()?.size.clone();
        if !self.facts.trusted(self.func(), &size) {
            return None;
        }
        if self.known(&size) {
            return self.as_variable(&size, span);
        }
        match size.as_atom()? {
            Atom::Var(s, at) if at.is_empty() => {
                let binder = self.func().size_binder(*s)?;
                let shows = self.b.ty(binder).as_array().is_some_and(|a| a.size == size);
                (shows && binder != v).then(|| self.emit(Op::Length, &[binder], span))?
            }
            _ => None,
        }
    }

    /// All columns of a vector of tuples, in order, are that vector.
    fn zipped(&self, args: &[Var]) -> Option<Var> {
        let column = |v: Var| match self.inst(v) {
            Some(inst) => match inst.op {
                Op::Proj(k) => Some((k, inst.args[0])),
                _ => None,
            },
            None => None,
        };
        let (_, columns) = column(*args.first()?)?;
        let whole = self.inst(columns).filter(|i| i.op == Op::Unzip)?.args[0];
        let all = args.iter().enumerate().all(|(k, v)| column(*v) == Some((k as u32, columns)));
        let parts = self.b.ty(columns).parts()?.len();
        let good = all && parts == args.len() && self.b.ty(whole).is_concrete();
        (good && self.may_stand(whole, &Op::Zip, args)).then_some(whole)
    }

    /// Two operators of which the second undoes the first, or includes its work.
    fn undone(&mut self, op: &Op, args: &[Var], span: Span) -> Option<Var> {
        let inner = self.inst(*args.first()?)?.clone();
        let from = *inner.args.first()?;
        let alias = |s: &Self| s.may_stand(from, op, args).then_some(from);
        match (op, &inner.op) {
            (Op::Reshape(depth), Op::Reshape(before)) if *depth as usize == inner.args.len() - 1 => {
                let new: Vec<Var> = [from].iter().chain(&args[1..]).copied().collect();
                self.may_be(op, args, &Op::Reshape(*before), &new)
                    .then(|| self.emit(Op::Reshape(*before), &new, span))?
            }
            (Op::Reshape(1), Op::Flatten) if self.b.ty(from).regular_dims(2).is_some() => {
                let new: Vec<Var> = [from].iter().chain(&args[1..]).copied().collect();
                self.may_be(op, args, &Op::Reshape(2), &new).then(|| self.emit(Op::Reshape(2), &new, span))?
            }
            (Op::Transpose(axes), Op::Transpose(before))
                if axes.len() == before.len() && self.b.ty(from).regular_dims(axes.len()).is_some() =>
            {
                let both: Vec<u32> = axes.iter().map(|k| before[*k as usize]).collect();
                let new = Op::Transpose(both);
                self.may_be(op, args, &new, &[from]).then(|| self.emit(new, &[from], span))?
            }
            (Op::Reverse(k), Op::Reverse(before)) if k == before => alias(self),
            (Op::Flatten, Op::Split(SplitBy::Lengths)) => alias(self),
            (Op::Flatten, Op::Reshape(1)) if inner.args.len() == 3 => alias(self),
            (Op::Split(_), Op::Flatten) => {
                // By their types, the cut rows are the original ones.
                let ty = self.type_of(op, args)?;
                (ty == *self.b.ty(from)).then_some(from)
            }
            (Op::Tab, Op::Seq) => alias(self),
            _ => None,
        }
    }

    /// The operand of an operator that returns it unchanged.
    fn does_nothing(&self, op: &Op, args: &[Var]) -> Option<Var> {
        let a = *args.first()?;
        let func = self.func();
        let size = || match self.b.ty(a) {
            Type::Array(t) => Some(t.size.clone()).filter(|s| self.facts.trusted(func, s)),
            _ => None,
        };
        let exact = |v: Var| self.facts.exact(func, v);
        let idle = match op {
            Op::Reshape(depth) => {
                let dims = self.dims(a, *depth)?;
                dims.len() == args.len() - 1 && dims.iter().zip(&args[1..]).all(|(n, v)| *n == exact(*v))
            }
            Op::Transpose(axes) => {
                self.dims(a, axes.len() as u32).is_some() && axes.iter().enumerate().all(|(k, axis)| k as u32 == *axis)
            }
            Op::Slice(spec) => {
                let dims = self.dims(a, spec.len() as u32);
                let mut own = args[1..].iter();
                spec.iter().enumerate().all(|(k, s)| match s {
                    Slicer::All => true,
                    Slicer::At => false,
                    Slicer::Range => match (own.next(), own.next(), &dims) {
                        (Some(lo), Some(hi), Some(dims)) => exact(*lo) == Size::constant(0) && exact(*hi) == dims[k],
                        _ => false,
                    },
                })
            }
            Op::Take => self.facts.natural(func, &exact(args[1]).sub(&size()?)),
            Op::Drop => exact(args[1]) == Size::constant(0),
            Op::Concat(_) => args.len() == 1,
            _ => false,
        };
        idle.then_some(a)
    }
}
