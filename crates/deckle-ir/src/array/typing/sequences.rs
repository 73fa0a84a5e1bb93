//! Rules for sequences.

use super::{TypeError, Typer, fail, with_dims};
use crate::array::{Coll, Def, Function, Inst, Op};
use crate::entity::Var;
use crate::size::Size;
use crate::types::Type;

impl Typer<'_> {
    pub(super) fn sequence(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        let a = &inst.args;
        match &inst.op {
            Op::MkSeq(elem) => {
                let elem = self.literal(elem, a)?;
                Ok(Type::seq(elem))
            }
            Op::Empty => self.seq(a[0]).map(|_| Type::BOOL),
            Op::The => self.seq(a[0]).map(|e| e.instantiate(&Size::constant(0))),
            Op::Append => {
                let parts = [self.seq(a[0])?, self.seq(a[1])?];
                Ok(Type::seq(self.merge(&parts, 1)?))
            }
            Op::FlagPart => {
                let elem = self.seq(a[0])?;
                if self.seq(a[1])? != Type::BOOL {
                    return fail("the flags of `flagpart` must be truth values");
                }
                let elem = self.blur(&elem, 1).shift(1);
                let elem = self.unsettled(&elem, 2);
                Ok(Type::seq(Type::seq(elem)))
            }
            Op::Tab => {
                let elem = self.seq(a[0])?;
                if !elem.is_concrete() {
                    return fail("`tab` cannot materialise a sequence of sequences");
                }
                let size = self.seq_length(a[0], 64).unwrap_or_else(|| self.fresh_size(0));
                Ok(Type::array(size, elem))
            }
            Op::Seq => self.array(a[0]).map(|(_, elem)| Type::seq(elem)),
            Op::Guard => {
                self.want_bool(a[0])?;
                let ty = self.result_of(inst.bodies[0]).shift(1);
                Ok(Type::seq(self.seal(&ty, 1, inst.bodies[0])))
            }
            Op::Produce => {
                self.want_int(a[0])?;
                Ok(Type::seq(self.lift_indices(inst.bodies[0])))
            }
            Op::Tiles(depth) => {
                let depth = *depth as usize;
                if depth == 0 || a.len() != depth + 1 {
                    return fail("`tiles` needs a tile size for each dimension");
                }
                for &n in &a[1..] {
                    self.want_int(n)?;
                }
                let (_, inner) = self.regular(a[0], depth)?;
                let inner = self.blur(&inner, depth as u32);
                let inner = self.unsettled(&inner.shift(1), depth as u32 + 1);
                let dims: Vec<Size> = (0..depth).map(|_| Size::constant(0)).collect();
                let mut at = 0;
                Ok(Type::seq(with_dims(&dims, inner).map_sizes(&mut |s, d| {
                    at += 1;
                    if at > depth {
                        return s.clone();
                    }
                    // One size per tile: it depends on the tile, not on the position in the tile.
                    let f = self.fresh(1);
                    crate::size::Atom::Var(f, vec![Size::pos(d)]).into()
                })))
            }
            Op::Tabulate(depth) => {
                let elem = self.seq(a[0])?;
                if !elem.is_concrete() {
                    return fail("`tabulate` cannot materialise a sequence of sequences");
                }
                let depth = *depth as usize;
                let inner = self.inner(&elem, depth)?;
                let inner = self.unsettled(&inner, depth as u32 + 1);
                let dims: Vec<Size> = (0..=depth).map(|_| self.fresh_size(0)).collect();
                Ok(with_dims(&dims, inner))
            }
            Op::Pull(_) => {
                let elem = self.seq(a[0])?.with_vectors();
                if !matches!(self.func.vars[a[0].index()].def, Def::Param(Function::ROOT, _)) {
                    return fail("`pull` takes from a parameter of the function");
                }
                self.want_int(a[1])?;
                self.want_int(a[2])?;
                let elem = elem.map_sizes(&mut |_, depth| self.fresh_size(1 + depth));
                Ok(Type::array(self.fresh_size(0), elem))
            }
            Op::Push(_) => {
                self.want_int(a[0])?;
                self.array(a[1]).map(|_| Type::INT)
            }
            _ => fail("not a sequence operator"),
        }
    }

    /// A type under `under` binders, with a fresh size wherever any position is mentioned.
    fn unsettled(&mut self, ty: &Type, under: u32) -> Type {
        self.freshen(ty, under, &mut |s, total| s.varies(total))
    }

    /// The element type (under a binder) of a literal of these elements.
    pub(super) fn literal(&mut self, elem: &Type, args: &[Var]) -> Result<Type, TypeError> {
        if args.is_empty() {
            return Ok(elem.shift(1));
        }
        let types: Vec<Type> = args.iter().map(|v| self.ty(*v).shift(1)).collect();
        if types.iter().any(|t| !t.same_kind(elem)) {
            return fail("an element of the literal has another type");
        }
        self.merge(&types, 1)
    }

    /// The length of a sequence, if the program shows it.
    pub(super) fn seq_length(&self, v: Var, fuel: u32) -> Option<Size> {
        let inst = self.func.inst(v)?;
        if fuel == 0 {
            return None;
        }
        match &inst.op {
            Op::Seq => Some(self.ty(inst.args[0]).as_array()?.size.clone()),
            Op::Iota(Coll::Seq) | Op::Produce => Some(self.func.size_of(inst.args[0])),
            Op::Range(Coll::Seq, inclusive) => self.range_length(*inclusive, &inst.args),
            Op::Map | Op::Zip => self.seq_length(inst.args[0], fuel - 1),
            op if op.scan_kind().is_some_and(|kind| kind != crate::array::ScanKind::Full) => {
                self.seq_length(*inst.args.last()?, fuel - 1)
            }
            Op::MkSeq(_) => Some(Size::constant(inst.args.len() as i128)),
            Op::Append => Some(self.seq_length(inst.args[0], fuel / 2)?.add(&self.seq_length(inst.args[1], fuel / 2)?)),
            _ => None,
        }
    }
}
