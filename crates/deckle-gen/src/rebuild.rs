//! Copying a function with given changes.

use deckle_ir::array::{Copied, Copier, Function, Op, Refused, Rewrite, rewrite};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use std::collections::{HashMap, HashSet};

/// The changes of the copy. Handles are those of the original.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    /// Omitted statements, with their replacements.
    pub replace: HashMap<Var, Stand>,
    /// Omitted and unused statements and parameters of the function.
    pub drop: HashSet<Var>,
    /// Bodies with another result.
    pub results: HashMap<Body, Var>,
    /// Functions that are called in place of others; those not mentioned stay.
    pub calls: HashMap<Func, Func>,
}

/// The replacement of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stand {
    /// A variable that is in scope there.
    Var(Var),
    /// A constant.
    Const(Scalar),
    /// The statements of one of its bodies, run once: at the first element, if the body has elements as parameters.
    Inline(usize),
}

/// A copy of `func`, which may call `funcs`; `None` if it would have no type.
pub fn rebuild(funcs: &[Function], func: &Function, edit: &Edit) -> Option<Function> {
    rewrite(funcs, func, &mut Editor(edit)).ok()
}

struct Editor<'a>(&'a Edit);

impl Rewrite for Editor<'_> {
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Copied<()> {
        if self.0.drop.contains(&s) {
            return Ok(());
        }
        match self.0.replace.get(&s) {
            Some(Stand::Var(v)) => copy.stand(s, copy.var(*v)?),
            Some(Stand::Const(c)) => {
                let new = copy.b.push(Op::Const(*c), &[], &[], copy.old.span(s))?;
                copy.stand(s, new);
            }
            Some(Stand::Inline(which)) => self.inline(copy, s, *which)?,
            None => copy.statement(self, s)?,
        }
        Ok(())
    }

    fn keeps(&self, param: Var) -> bool {
        !self.0.drop.contains(&param)
    }

    fn result(&self, body: Body, result: Var) -> Var {
        self.0.results.get(&body).copied().unwrap_or(result)
    }

    fn callee(&self, func: Func) -> Func {
        self.0.calls.get(&func).copied().unwrap_or(func)
    }
}

impl Editor<'_> {
    fn inline(&mut self, copy: &mut Copier<'_>, s: Var, which: usize) -> Copied<()> {
        let refused = || Refused::Bug(format!("{s} cannot be written out"));
        let old = copy.old;
        let (inst, span) = (copy.inst(s)?, old.span(s));
        let body = *inst.bodies.get(which).ok_or_else(refused)?;
        let zero = copy.b.push(Op::Const(Scalar::I64(0)), &[], &[], span)?;
        for (k, &p) in old.body(body).params.iter().enumerate() {
            let ty = old.ty(p);
            let arg = inst.args.get(k).or(inst.args.last()).copied();
            let first = match arg {
                Some(arg) if old.ty(arg).elem().is_some_and(|e| e.same_kind(ty)) => {
                    let arg = copy.var(arg)?;
                    copy.b.push(Op::Index, &[arg, zero], &[], span)?
                }
                Some(arg) if old.ty(arg).same_kind(ty) => copy.var(arg)?,
                _ if *ty == Type::INT => zero,
                _ => return Err(refused()),
            };
            copy.stand(p, first);
        }
        let result = copy.statements(self, body)?;
        copy.stand(s, result);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, program};
    use deckle_diag::Span;
    use deckle_ir::array::Builder;

    #[test]
    fn a_copy_without_changes_is_equal() {
        for seed in 0..200 {
            let case = program(seed, &Config::default());
            for (k, func) in case.program.funcs.iter().enumerate() {
                let copy = rebuild(&case.program.funcs[..k], func, &Edit::default());
                assert_eq!(copy.as_ref(), Some(func), "seed {seed}\n{}", case.program);
            }
        }
    }

    #[test]
    fn a_change_that_breaks_a_type_gives_no_copy() {
        let mut b = Builder::new(&[], "f", Span::NONE);
        let x = b.param("x", Type::INT, Span::NONE);
        let y = b.push(Op::Cast(deckle_ir::scalar::ScalarType::F64), &[x], &[], Span::NONE).unwrap();
        let z = b.push(Op::Unary(deckle_ir::array::UnOp::Sqrt), &[y], &[], Span::NONE).unwrap();
        let func = b.finish(z);
        let edit = Edit { replace: HashMap::from([(y, Stand::Var(x))]), ..Edit::default() };
        assert_eq!(rebuild(&[], &func, &edit), None);
        let edit = Edit { results: HashMap::from([(Function::ROOT, y)]), drop: HashSet::from([z]), ..Edit::default() };
        assert_eq!(rebuild(&[], &func, &edit).unwrap().vars.len(), 2);
    }
}
