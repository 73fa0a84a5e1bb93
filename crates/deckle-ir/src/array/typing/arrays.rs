//! Rules for operators that construct arrays, work element by element, or change shape.

use super::{TypeError, Typer, fail, with_dims};
use crate::array::{Coll, Inst, Op, Slicer, SplitBy};
use crate::entity::{Body, Var};
use crate::size::{Atom, Size};
use crate::types::Type;

/// A stand-in for the position along an axis while a rule works below it; no program has this many bodies.
fn axis(level: usize) -> Body {
    Body(u32::MAX - level as u32)
}

impl Typer<'_> {
    pub(super) fn arrays(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        let a = &inst.args;
        match &inst.op {
            Op::Index => {
                let mut ty = self.ty(a[0]).clone();
                for &i in &a[1..] {
                    let at = self.want_int(i)?;
                    let Some(array) = ty.as_array() else { return fail("more indices than dimensions") };
                    ty = array.elem.instantiate(&at);
                }
                Ok(ty)
            }
            Op::Use(c) => Ok(c.ty.clone()),
            Op::Array(elem) => {
                let elem = self.literal(elem, a)?;
                self.concrete(&elem)?;
                Ok(Type::array(Size::constant(a.len() as i128), elem))
            }
            Op::Replicate => {
                let n = self.want_int(a[1])?;
                self.concrete(self.ty(a[0]))?;
                Ok(Type::array_of(n, self.ty(a[0])))
            }
            Op::Generate => {
                let dims = a.iter().map(|&n| self.want_int(n)).collect::<Result<Vec<_>, _>>()?;
                let inner = self.lift_indices(inst.bodies[0]);
                self.concrete(&inner)?;
                Ok(with_dims(&dims, inner))
            }
            Op::Iota(coll) => {
                let n = self.want_int(a[0])?;
                Ok(self.collect(*coll, n, Type::INT))
            }
            Op::Range(coll, inclusive) => {
                let t = self.scalar(a[0])?;
                if !t.is_int() || a.iter().any(|v| self.ty(*v) != self.ty(a[0])) {
                    return fail("`range` takes three integers of one type");
                }
                let n = self.range_length(*inclusive, a);
                let n = n.unwrap_or_else(|| if *coll == Coll::Array { self.fresh_size(0) } else { Size::constant(0) });
                Ok(self.collect(*coll, n, t.into()))
            }
            Op::Map => self.map(inst),
            Op::Zip => {
                let (kind, size) = self.zipped("zip", a)?;
                let parts = a.iter().map(|v| self.coll(*v).map(|(_, e)| e)).collect::<Result<Vec<_>, _>>()?;
                Ok(self.collect(kind, size, Type::tuple(parts)))
            }
            Op::Unzip => {
                let (kind, elem) = self.coll(a[0])?;
                let Some(parts) = elem.parts() else { return fail("`unzip` needs elements that are tuples") };
                let size = self.ty(a[0]).as_array().map_or(Size::constant(0), |x| x.size.clone());
                Ok(Type::tuple(parts.into_iter().map(|t| self.collect(kind, size.clone(), t.clone())).collect()))
            }
            Op::Length => self.coll(a[0]).map(|_| Type::INT),
            Op::Shape(depth) => {
                let (dims, _) = self.regular(a[0], *depth as usize)?;
                Ok(Type::tuple(dims.iter().map(|_| Type::INT).collect()))
            }
            Op::Size(depth) => self.inner(self.ty(a[0]), *depth as usize).map(|_| Type::INT),
            Op::Reshape(depth) => {
                let dims = a[1..].iter().map(|&n| self.want_int(n)).collect::<Result<Vec<_>, _>>()?;
                let inner = self.inner(self.ty(a[0]), *depth as usize)?;
                let inner = self.relocate(&inner, *depth, dims.len() as u32);
                Ok(with_dims(&dims, inner))
            }
            Op::Flatten => match self.coll(a[0])? {
                (Coll::Array, inner) => {
                    let Some(row) = inner.as_array() else { return fail("`flatten` needs an array of arrays") };
                    let (n, _) = self.array(a[0])?;
                    let elem = self.relocate(&row.elem, 2, 1);
                    Ok(Type::array(Size::sum(&n, &row.size), elem))
                }
                (Coll::Seq, Type::Seq(elem)) => Ok(Type::seq(self.relocate(&elem, 2, 1))),
                _ => fail("`flatten` needs a sequence of sequences"),
            },
            Op::Split(by) => {
                let (_, elem) = self.array(a[0])?;
                let (n, int) = self.array(a[1])?;
                if int != Type::INT {
                    return fail("`split` needs integers");
                }
                let elem = self.relocate(&elem, 1, 2);
                let at = |i: Size| Size::from(Atom::Read(self.func.path(a[1]), vec![i]));
                let i = Size::pos(0);
                Ok(match by {
                    SplitBy::Lengths => Type::array(n, Type::array(at(i), elem)),
                    SplitBy::Offsets => {
                        let row = at(i.add(&1.into())).sub(&at(i));
                        Type::array(n.sub(&1.into()), Type::array(row, elem))
                    }
                })
            }
            Op::Slice(spec) => {
                if a.len() != 1 + spec.iter().map(|s| s.operands()).sum::<usize>() {
                    return fail("`slice` has the wrong number of operands");
                }
                self.slice(self.ty(a[0]).clone(), spec, &a[1..], 0)
            }
            Op::Transpose(axes) => {
                let mut sorted = axes.clone();
                sorted.sort_unstable();
                if sorted.iter().enumerate().any(|(i, x)| i as u32 != *x) {
                    return fail("`transpose` needs each axis once");
                }
                let (dims, inner) = self.regular(a[0], axes.len())?;
                let inner = self.relocate(&inner, axes.len() as u32, axes.len() as u32);
                let dims: Vec<Size> = axes.iter().map(|x| dims[*x as usize].clone()).collect();
                Ok(with_dims(&dims, inner))
            }
            Op::Reverse(k) => self.along(self.ty(a[0]).clone(), *k, 0, &mut |array, here| {
                let mirrored = array.size.sub(&1.into()).sub(&here);
                (array.size.clone(), array.elem.instantiate(&mirrored))
            }),
            Op::Take => {
                let (n, elem) = self.array(a[0])?;
                Ok(Type::array(n.lesser(&self.want_int(a[1])?), elem))
            }
            Op::Drop => {
                let k = self.want_int(a[1])?;
                let (n, _) = self.array(a[0])?;
                let kept = n.sub(&k).greater(&Size::constant(0));
                let start = n.sub(&kept);
                self.along(self.ty(a[0]).clone(), 0, 0, &mut |array, here| {
                    (kept.clone(), array.elem.instantiate(&here.add(&start)))
                })
            }
            Op::Concat(k) => {
                let types: Vec<Type> = a.iter().map(|v| self.ty(*v).clone()).collect();
                self.concat(&types, *k, 0)
            }
            Op::Pad(k) => self.pad(inst, *k),
            _ => fail("not an array operator"),
        }
    }

    fn map(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        let (kind, size) = self.zipped("map", &inst.args)?;
        let elem = self.lift(inst.bodies[0], &inst.args);
        if kind == Coll::Array {
            self.concrete(&elem)?;
        }
        Ok(self.collect(kind, size, elem))
    }

    /// The common kind and length of collections that are traversed together.
    fn zipped(&mut self, what: &str, args: &[Var]) -> Result<(Coll, Size), TypeError> {
        let (kind, _) = self.coll(args[0])?;
        let size = self.ty(args[0]).as_array().map_or(Size::constant(0), |x| x.size.clone());
        for &v in &args[1..] {
            if self.coll(v)?.0 != kind {
                return fail(format!("`{what}` takes arrays or sequences, not both"));
            }
            if let Some(array) = self.ty(v).as_array() {
                self.same_length(what, &size, &array.size)?;
            }
        }
        Ok((kind, size))
    }

    fn collect(&self, kind: Coll, size: Size, elem: Type) -> Type {
        match kind {
            Coll::Array => Type::array(size, elem),
            Coll::Seq => Type::seq(elem),
        }
    }

    pub(super) fn concrete(&self, ty: &Type) -> Result<(), TypeError> {
        if ty.is_concrete() { Ok(()) } else { fail("an array cannot hold a sequence") }
    }

    /// A type under `from` binders, moved under `to` others: sizes that mention a position are fresh.
    pub(super) fn relocate(&mut self, ty: &Type, from: u32, to: u32) -> Type {
        let depends = ty.any_atom(&mut |a, d| matches!(a, Atom::Pos(p) if *p >= d && *p - d < from));
        if !depends {
            return ty.shift(to as i32 - from as i32);
        }
        // Positions inside `ty` itself are renumbered with it; those of the old binders disappear.
        let mut seen: Vec<(Size, u32, Size)> = Vec::new();
        ty.map_sizes(&mut |s, depth| {
            if !(depth..depth + from).any(|p| s.mentions_pos(p)) {
                return s.rewrite(&mut |a, d| match a {
                    Atom::Pos(p) if *p >= depth + d => Some(Size::pos(*p - from + to)),
                    _ => None,
                });
            }
            if let Some((_, _, new)) = seen.iter().find(|(old, d, _)| old == s && *d == depth) {
                return new.clone();
            }
            let new = self.fresh_size(to + depth);
            seen.push((s.clone(), depth, new.clone()));
            new
        })
    }

    /// The number of elements of a range whose step is a constant.
    pub(super) fn range_length(&self, inclusive: bool, args: &[Var]) -> Option<Size> {
        if *self.ty(args[0]) != Type::INT {
            return None;
        }
        let at = |k: usize| self.func.size_of(args[k]);
        let step = at(2).as_constant().filter(|s| *s != 0)?;
        let span = if step > 0 { at(1).sub(&at(0)) } else { at(0).sub(&at(1)) };
        let span = if inclusive { span } else { span.sub(&1.into()) };
        let n = span.div(&Size::constant(step.abs())).add(&1.into());
        Some(n.greater(&Size::constant(0)))
    }

    fn slice(&mut self, ty: Type, spec: &[Slicer], operands: &[Var], level: usize) -> Result<Type, TypeError> {
        let Some((first, rest)) = spec.split_first() else { return Ok(ty) };
        let Some(array) = ty.as_array() else { return fail("`slice` names more axes than there are") };
        let (own, after) = operands.split_at(first.operands());
        let here = Size::from(Atom::At(axis(level)));
        match first {
            Slicer::At => {
                let i = self.want_int(own[0])?;
                self.slice(array.elem.instantiate(&i), rest, after, level)
            }
            Slicer::All => {
                let elem = self.slice(array.elem.instantiate(&here), rest, after, level + 1)?;
                Ok(Type::array(array.size.clone(), elem.abstract_at(axis(level))))
            }
            Slicer::Range => {
                let (lo, hi) = (self.want_int(own[0])?, self.want_int(own[1])?);
                let elem = self.slice(array.elem.instantiate(&here.add(&lo)), rest, after, level + 1)?;
                Ok(Type::array(hi.sub(&lo), elem.abstract_at(axis(level))))
            }
        }
    }

    /// Changes the size and elements of one axis, but not the outer ones.
    fn along(
        &mut self,
        ty: Type,
        k: u32,
        level: usize,
        change: &mut dyn FnMut(&crate::types::ArrayType, Size) -> (Size, Type),
    ) -> Result<Type, TypeError> {
        let Some(array) = ty.as_array() else { return fail("there is no such axis") };
        let here = Size::from(Atom::At(axis(level)));
        let (size, elem) = if level as u32 == k {
            change(array, here)
        } else {
            (array.size.clone(), self.along(array.elem.instantiate(&here), k, level + 1, change)?)
        };
        Ok(Type::array(size, elem.abstract_at(axis(level))))
    }

    fn concat(&mut self, types: &[Type], k: u32, level: usize) -> Result<Type, TypeError> {
        let arrays = types.iter().map(|t| t.as_array()).collect::<Option<Vec<_>>>();
        let Some(arrays) = arrays else { return fail("`concat` names an axis that there is not") };
        if level as u32 == k {
            let size = arrays.iter().fold(Size::constant(0), |s, a| s.add(&a.size));
            let elems: Vec<Type> = arrays.iter().map(|a| a.elem.clone()).collect();
            let elem = if elems.len() == 1 {
                elems[0].clone()
            } else {
                let merged = self.merge(&elems, 1)?;
                self.settle(merged, level)
            };
            return Ok(Type::array(size, elem));
        }
        let here = Size::from(Atom::At(axis(level)));
        for pair in arrays.windows(2) {
            self.same_length("concat", &pair[0].size, &pair[1].size)?;
        }
        let inner: Vec<Type> = arrays.iter().map(|a| a.elem.instantiate(&here)).collect();
        let size = arrays[0].size.clone();
        let elem = self.concat(&inner, k, level + 1)?;
        let elem = self.settle(elem, level + 1);
        Ok(Type::array(size, elem.abstract_at(axis(level))))
    }

    /// Adds the positions of outer axes to the fresh sizes created below these axes.
    fn settle(&mut self, ty: Type, level: usize) -> Type {
        let known = self.func.sizes.len() as u32;
        ty.map_sizes(&mut |s, _| {
            s.rewrite(&mut |a, _| match a {
                Atom::Var(v, at) if v.0 >= known => {
                    let slot = (v.0 - known) as usize;
                    let outer: Vec<Size> = (0..level).map(|l| Atom::At(axis(l)).into()).collect();
                    let missing = outer.len() + at.iter().filter(|p| !outer.contains(p)).count();
                    if missing == at.len() {
                        return None;
                    }
                    self.fresh[slot] = missing as u32;
                    let own = at.iter().filter(|p| !outer.contains(p)).cloned();
                    Some(Atom::Var(*v, outer.iter().cloned().chain(own).collect()).into())
                }
                _ => None,
            })
        })
    }

    fn pad(&mut self, inst: &Inst, k: u32) -> Result<Type, TypeError> {
        let a = &inst.args;
        let (lo, hi) = (self.want_int(a[1])?, self.want_int(a[2])?);
        let x = self.ty(a[3]).clone();
        if !x.is_flat() {
            return fail("`pad` needs a flat element");
        }
        let mut matches = true;
        let ty = self.along(self.ty(a[0]).clone(), k, 0, &mut |array, here| {
            matches &= array.elem == x;
            (array.size.add(&lo).add(&hi), array.elem.instantiate(&here))
        })?;
        if matches { Ok(ty) } else { fail("`pad` needs an element of the array's own type") }
    }
}
