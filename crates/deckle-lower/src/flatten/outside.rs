//! Sequences from outside and results that are sequences: the host supplies the next elements, and takes the results.

use super::value::Val;
use super::{Cx, Flattener, Frame, Res, Stuck, bug, elem_of, parts_of};
use deckle_ir::array::{Def, Function, Op};
use deckle_ir::entity::Var;
use deckle_ir::kernel::{ROOT, Rep, Rows, Step};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;

/// Whether a parameter is a sequence that is only pulled in parts, one after another.
pub(super) fn is_pulled(function: &Function, p: Var) -> bool {
    function.vars.iter().any(|v| match &v.def {
        Def::Inst(inst) => matches!(inst.op, Op::Pull(_)) && inst.args[0] == p,
        Def::Param(..) => false,
    })
}

impl<'p> Flattener<'p> {
    pub(super) fn pull(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, all: bool) -> Res<Val> {
        let param = fx.function.params().iter().position(|p| *p == cx.inst.args[0]);
        let param = param.ok_or_else(|| bug("what is pulled is no parameter"))?;
        if cx.ctx != ROOT {
            return Err(Stuck::InLoop);
        }
        let name = fx.function.param_names.get(param).cloned().unwrap_or_else(|| format!("{param}"));
        let count = self.scalar(fx, cx.inst.args[2])?;
        let elem = self.ragged(elem_of(cx.ty)?, &name)?;
        let size = self.k.buf(ScalarType::I64, format!("the size of a part of `{name}`"));
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let size = self.k.load(size, zero, ROOT);
        let rep = Rep::Array(Rows::Equal(size), Box::new(elem));
        self.in_memory(&rep, one);
        // In program order: earlier checks fail before elements are waited for.
        self.flush()?;
        if let Some(stream) = &mut self.stream {
            stream.sources.insert(param as u32);
        }
        self.step(Step::Pull { param: param as u32, count, all, rep: rep.clone() });
        Ok(self.kept_at(&rep, zero, ROOT))
    }

    /// New buffers for values of a type, all of whose rows have offsets.
    fn ragged(&mut self, ty: &Type, name: &str) -> Res<Rep> {
        Ok(match ty {
            Type::Scalar(s) => Rep::Scalar(self.k.buf(*s, format!("`{name}`"))),
            Type::Array(_) | Type::Seq(_) => {
                let offsets = self.k.buf(ScalarType::I64, format!("the list of offsets of `{name}`"));
                let elem = self.ragged(elem_of(ty)?, name)?;
                Rep::Array(Rows::Offsets(offsets), Box::new(elem))
            }
            _ => Rep::Tuple(parts_of(ty)?.into_iter().map(|t| self.ragged(t, name)).collect::<Res<_>>()?),
        })
    }

    pub(super) fn push(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, to: u32) -> Res<Val> {
        if cx.ctx != ROOT {
            return Err(Stuck::InLoop);
        }
        let before = self.scalar(fx, cx.inst.args[0])?;
        let xs = self.array(fx, cx.inst.args[1])?;
        let size = self.size(&xs, ROOT)?;
        let rep = self.store(&Val::Array(xs), ROOT, "a part of the result")?;
        // Nothing after an error is delivered.
        self.flush()?;
        if let Some(stream) = &mut self.stream {
            stream.sinks.insert(to);
        }
        self.step(Step::Push { to, rep });
        Ok(Val::Scalar(self.add(before, size)))
    }
}
