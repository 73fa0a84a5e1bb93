//! Names of arrays for messages: as in the source, or the operator that computes them.

use super::value::{Arr, Val};
use super::{Flattener, Frame};
use deckle_diag::Span;
use deckle_ir::array::{Def, Function, Monoid, Op};
use deckle_ir::entity::Var;
use deckle_ir::kernel::{Op as K, Rep, Rows};
use std::rc::Rc;

/// The name of a value, and its place in the source.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub name: String,
    pub span: Span,
    /// Whether the name is from the source.
    pub given: bool,
}

/// The names of the components of a loop's state.
pub(super) struct StateNames(Vec<Option<String>>);

impl StateNames {
    /// A state without names in the source.
    pub(super) const NONE: StateNames = StateNames(Vec::new());
}

impl<'p> Flattener<'p> {
    /// The label of a statement's result.
    fn label(&self, function: &Function, v: Var) -> Label {
        let data = &function.vars[v.index()];
        let name = data.name.as_ref().map(|n| format!("`{n}`"));
        let given = name.is_some();
        let of_operator = || match function.inst(v).map(|i| &i.op) {
            Some(Op::Call(f)) => format!("the result of `{}`", self.program.funcs[f.index()].name),
            Some(Op::While | Op::For | Op::Stream) => "the state of a loop".to_string(),
            Some(Op::Reduce(monoid)) => {
                let name = Monoid::ALL.iter().find(|(m, _)| m == monoid).map_or("reduce", |(_, name)| *name);
                format!("the result of `{name}`")
            }
            Some(Op::Binary(op)) => format!("the result of `{}`", op.name()),
            Some(Op::Unary(op)) => format!("the result of `{}`", op.name()),
            Some(op) => format!("the result of `{}`", op.info().name),
            None => "a value".to_string(),
        };
        Label { name: name.unwrap_or_else(of_operator), span: data.span, given }
    }

    /// From here on, new nodes belong to a statement.
    pub(super) fn begin(&mut self, function: &Function, v: Var) {
        let label = self.label(function, v);
        self.name = label.name;
        self.span = label.span;
    }

    /// Records the names of the arrays of a value.
    pub(super) fn remember(&mut self, fx: &Frame<'p>, v: Var, val: &Val) {
        if val.has_array() {
            let label = self.label(fx.function, v);
            self.remember_all(val, &label);
        }
    }

    fn remember_all(&mut self, val: &Val, label: &Label) {
        match val {
            Val::Scalar(_) => {}
            Val::Tuple(parts) => parts.iter().for_each(|p| self.remember_all(p, label)),
            Val::Array(arr) => {
                let known = self.labels.entry(Rc::as_ptr(arr)).or_insert_with(|| (Rc::clone(arr), label.clone()));
                if label.given && !known.1.given {
                    known.1 = label.clone();
                }
            }
        }
    }

    /// The name of an array: without one, a description of the current computation.
    pub(super) fn label_of(&self, arr: &Rc<Arr>) -> (String, Span) {
        match self.labels.get(&Rc::as_ptr(arr)) {
            Some((_, label)) => (label.name.clone(), label.span),
            None => (self.name.clone(), self.span),
        }
    }

    /// Runs `f` under this name.
    pub(super) fn within<R>(&mut self, (name, span): (String, Span), f: impl FnOnce(&mut Self) -> R) -> R {
        let outside = (std::mem::replace(&mut self.name, name), std::mem::replace(&mut self.span, span));
        let result = f(self);
        (self.name, self.span) = outside;
        result
    }

    /// The names of the components of a loop's state in its body.
    pub(super) fn state_names(&self, function: &Function, state: Option<Var>) -> StateNames {
        let Some(state) = state else { return StateNames::NONE };
        if let Some(name) = &function.vars[state.index()].name {
            return StateNames(vec![Some(name.clone())]);
        }
        let parts = function.ty(state).parts().map_or(0, |p| p.len());
        let mut names = vec![None; parts];
        for data in &function.vars {
            if let Def::Inst(inst) = &data.def
                && let Op::Proj(k) = inst.op
                && inst.args == [state]
            {
                names[k as usize] = data.name.clone();
            }
        }
        StateNames(names)
    }

    /// Names the buffers of a loop's state.
    pub(super) fn name_state(&mut self, variable: &Rep, names: &StateNames) {
        match (variable, &names.0[..]) {
            (rep, [Some(name)]) => self.rename(rep, name),
            (Rep::Tuple(parts), names) => {
                for (part, name) in parts.iter().zip(names) {
                    if let Some(name) = name {
                        self.rename(part, name);
                    }
                }
            }
            _ => {}
        }
    }

    fn rename(&mut self, rep: &Rep, name: &str) {
        match rep {
            Rep::Scalar(b) => self.k.bufs[b.index()].name = format!("`{name}`"),
            Rep::Tuple(parts) => parts.iter().for_each(|p| self.rename(p, name)),
            Rep::Array(rows, elem) => {
                match rows {
                    Rows::Offsets(b) => self.k.bufs[b.index()].name = format!("the list of offsets of `{name}`"),
                    Rows::Equal(n) => {
                        if let K::Load(b, _) = self.k.node(*n).op {
                            self.k.bufs[b.index()].name = format!("the size of `{name}`");
                        }
                    }
                }
                self.rename(elem, name);
            }
        }
    }
}
