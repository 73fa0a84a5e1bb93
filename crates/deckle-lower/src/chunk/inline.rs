//! Simplifications before chunking: calls of functions that traverse sequences are inlined, scans of sequences get a start, and a literal of sequences that is only flattened becomes a concatenation.

use super::state::{neutral, only_operator};
use super::{OrBug, push};
use crate::flatten::MOST_STATEMENTS;
use deckle_ir::array::{Copied, Copier, Def, Function, Op, Refused, Rewrite, rewrite};
use deckle_ir::entity::Var;

/// The function with such calls inlined, unless sizes in sequences must be checked, which only a call does.
///
/// # Errors
/// A bug.
pub(super) fn inline(funcs: &[Function], func: &Function) -> Copied<Function> {
    let mut streams: Vec<bool> = Vec::new();
    for f in funcs {
        let is_one = f.body(Function::ROOT).stmts.iter().any(|s| match f.inst(*s).map(|i| &i.op) {
            Some(Op::Call(callee)) => streams[callee.index()],
            _ => !f.ty(*s).is_concrete(),
        });
        streams.push(is_one);
    }
    match rewrite(funcs, func, &mut Inline { streams, left: MOST_STATEMENTS }) {
        // If sizes have to be checked after all, calls stay calls.
        Err(Refused::Sizes(_)) => Ok(func.clone()),
        flat => flat,
    }
}

struct Inline {
    /// Which functions traverse sequences, directly or in functions that they call.
    streams: Vec<bool>,
    /// How many statements may still be added; after that, calls stay calls.
    left: usize,
}

/// The sequences in a literal whose only use is to flatten it.
fn literal(function: &Function, s: Var) -> Option<&[Var]> {
    let inst = function.inst(s).filter(|inst| matches!(inst.op, Op::MkSeq(_)) && !inst.args.is_empty())?;
    function.ty(s).as_seq().filter(|elem| elem.is_seq())?;
    let is_result = function.bodies.iter().any(|b| b.result == s);
    let mut users = function.vars.iter().filter_map(|v| match &v.def {
        Def::Inst(inst) if inst.args.contains(&s) => Some(&inst.op),
        _ => None,
    });
    (!is_result && users.all(|op| *op == Op::Flatten)).then_some(&inst.args)
}

impl Rewrite for Inline {
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Copied<()> {
        let inst = copy.inst(s)?;
        self.left = self.left.saturating_sub(1);
        if let Op::Scan(..) = inst.op
            && let [xs] = inst.args[..]
            && let Some(elem) = copy.old.ty(xs).as_seq()
            && let Some(start) = only_operator(copy.old, inst.bodies[0]).and_then(|op| neutral(op, elem))
        {
            let start = push(copy, Op::Const(start), &[], copy.old.span(s))?;
            let xs = copy.var(xs)?;
            return copy.statement_with(self, s, &[start, xs]);
        }
        if literal(copy.old, s).is_some() {
            return Ok(());
        }
        if let (Op::Flatten, [xs]) = (&inst.op, &inst.args[..])
            && let Some([first, others @ ..]) = literal(copy.old, *xs)
        {
            let mut all = copy.var(*first)?;
            for v in others {
                let more = copy.var(*v)?;
                all = push(copy, Op::Append, &[all, more], copy.old.span(s))?;
            }
            copy.stand(s, all);
            return Ok(());
        }
        let Op::Call(f) = inst.op else { return copy.statement(self, s) };
        let callee = copy.b.funcs().get(f.index()).or_bug("a function that is called")?;
        let args = inst.args.iter().map(|v| copy.var(*v)).collect::<Copied<Vec<_>>>()?;
        if self.left == 0 || !self.streams[f.index()] || !copy.can_inline(callee, &args) {
            return copy.statement(self, s);
        }
        let span = copy.old.span(s);
        let result = copy.inlined(self, callee, &args, span)?;
        copy.stand(s, result);
        Ok(())
    }
}
