//! Calls of functions that go through sequences, written out.

use deckle_ir::array::{Copier, Function, Op, Rewrite, rewrite};
use deckle_ir::entity::Var;

/// The function with such calls written out, as far as the sizes in sequences need not be checked, which only a call does.
pub(super) fn inline(funcs: &[Function], func: &Function) -> Function {
    let mut streams: Vec<bool> = Vec::new();
    for f in funcs {
        let is_one = f.body(Function::ROOT).stmts.iter().any(|s| match f.inst(*s).map(|i| &i.op) {
            Some(Op::Call(callee)) => streams[callee.index()],
            _ => !f.ty(*s).is_concrete(),
        });
        streams.push(is_one);
    }
    rewrite(funcs, func, &mut Inline { streams }).unwrap_or_else(|| func.clone())
}

struct Inline {
    /// Which functions go through sequences themselves, or through what they call.
    streams: Vec<bool>,
}

impl Rewrite for Inline {
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Option<()> {
        let inst = copy.old.inst(s)?;
        let Op::Call(f) = inst.op else { return copy.statement(self, s) };
        let callee = copy.b.funcs().get(f.index())?;
        let is_checked = |p: &Var| {
            let mut has_sizes = false;
            callee.ty(*p).for_each_size(&mut |_, _| has_sizes = true);
            has_sizes && !callee.ty(*p).is_concrete()
        };
        if !self.streams[f.index()] || callee.params().iter().any(is_checked) {
            return copy.statement(self, s);
        }
        let args = inst.args.iter().map(|v| copy.var(*v)).collect::<Option<Vec<_>>>()?;
        let span = copy.old.span(s);
        let result = copy.inlined(self, callee, &args, span)?;
        copy.stand(s, result);
        Some(())
    }
}
