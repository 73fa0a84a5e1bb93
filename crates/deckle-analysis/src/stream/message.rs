//! Messages for programs that cannot be streamed, with remedies.

use super::{Fault, Place, Reason};
use crate::words::Words;
use deckle_diag::{Code, Diagnostic, SourceMap, Span};
use deckle_ir::array::{Def, Function, Inst, Op, Program};

/// A fault as a diagnostic for users.
pub(super) fn report(program: &Program, sources: &SourceMap, fault: &Fault) -> Diagnostic {
    let teller = Teller { program, sources };
    match fault {
        Fault::Order(reasons) => teller.order(reasons),
        Fault::Rates(place) => teller.rates(*place),
        Fault::TooLarge(func) => {
            let function = &program.funcs[func.index()];
            Diagnostic::new(
                Code::TooDeep,
                format!("`{}` is too large to decide whether it can run as a stream", function.name),
                function.span,
                "this function, with all that it calls",
            )
            .help("give the functions that it calls vectors in the place of sequences: `tab` makes one")
        }
    }
}

struct Teller<'a> {
    program: &'a Program,
    sources: &'a SourceMap,
}

impl Teller<'_> {
    fn span(&self, place: Place) -> Span {
        self.program.funcs[place.func.index()].span(place.var)
    }

    fn inst(&self, place: Place) -> Option<&Inst> {
        self.program.funcs[place.func.index()].inst(place.var)
    }

    /// The source text of a variable, if it is short enough to quote.
    fn name(&self, place: Place) -> Option<String> {
        let function = &self.program.funcs[place.func.index()];
        let words = Words::new(function, self.sources);
        if let Def::Param(body, _) = &function.vars[place.var.index()].def
            && *body != Function::ROOT
        {
            return words
                .text(function.span(place.var))
                .filter(|text| text.chars().all(|c| c.is_alphanumeric() || c == '_'));
        }
        let known = function.params().contains(&place.var) || words.text(function.span(place.var)).is_some();
        known.then(|| words.value(place.var)).filter(|text| !text.ends_with('…'))
    }

    /// The sequences that a statement traverses.
    fn sequences(&self, place: Place) -> Vec<Place> {
        let function = &self.program.funcs[place.func.index()];
        let Some(inst) = self.inst(place) else { return Vec::new() };
        let mut vars = inst.args.clone();
        if matches!(inst.op, Op::If | Op::Guard) {
            vars.extend(inst.bodies.iter().flat_map(|b| function.free_vars(*b)));
        }
        vars.retain(|v| function.ty(*v).is_seq());
        vars.into_iter().map(|var| Place { func: place.func, var }).collect()
    }

    /// The parameter from which a sequence is derived, if any.
    fn parameter(&self, place: Place) -> Option<String> {
        let function = &self.program.funcs[place.func.index()];
        let mut pending = vec![place.var];
        while let Some(v) = pending.pop() {
            match &function.vars[v.index()].def {
                Def::Inst(inst) => pending.extend(inst.args.iter().filter(|a| !function.ty(**a).is_concrete())),
                Def::Param(..) => return self.name(Place { func: place.func, var: v }),
            }
        }
        None
    }

    fn order(&self, reasons: &[Reason]) -> Diagnostic {
        // The statement that needs a value too early, and the value that is known too late.
        let needs = reasons.iter().find_map(|r| match r {
            Reason::Uses(p) | Reason::Follows(p) => Some((*p, *r)),
            _ => None,
        });
        let needs = needs.or(reasons.iter().find_map(|r| match r {
            Reason::Starts(p) | Reason::Together(p) => Some((*p, *r)),
            _ => None,
        }));
        let late = reasons.iter().find_map(|r| match r {
            Reason::Ends(p) => Some(*p),
            _ => None,
        });
        let Some((place, reason)) = needs.or(late.map(|p| (p, Reason::Ends(p)))) else {
            return Diagnostic::nowhere(Code::NotStreamable, "a sequence would have to be traversed before itself");
        };
        let value = late.and_then(|p| self.name(p));
        let named = value.as_ref().map_or("a value".to_string(), |v| format!("`{v}`"));
        let (message, label) = match reason {
            Reason::Follows(_) if late.is_none() => (
                "both parts of `++` are made from one traversal".to_string(),
                "the second part is to come after the first, but they advance together".to_string(),
            ),
            Reason::Follows(_) => (
                format!("{named} is needed before the sequence that it is made from has been traversed"),
                "the second part waits until the first is done, and the first waits for the second".to_string(),
            ),
            Reason::Uses(_) => (
                format!("{named} is needed while the sequence that it is made from is still being traversed"),
                "needed here at the first element of the same traversal".to_string(),
            ),
            _ => (
                format!("{named} is needed while the sequence that it is made from is still being traversed"),
                "needed here before this can start, in the same traversal".to_string(),
            ),
        };
        let mut d = Diagnostic::new(Code::NotStreamable, message, self.span(place), label);
        for reason in reasons {
            let told = match reason {
                Reason::Ends(p) => (*p, "known only when its sequence has been seen to the end"),
                Reason::Starts(p) => (*p, "this sequence cannot start before that is known"),
                Reason::Together(p) => (*p, "these advance together: one traversal"),
                Reason::Follows(p) => (*p, "the second part is traversed after the first"),
                Reason::Uses(p) => (*p, "uses a value that is not known yet"),
            };
            if told.0 != place && d.labels.len() < 4 && !self.span(told.0).is_none() {
                d = d.label(self.span(told.0), told.1);
            }
        }
        self.remedies(d, place, reason, late)
    }

    /// The three remedies, as source text.
    fn remedies(&self, mut d: Diagnostic, place: Place, reason: Reason, late: Option<Place>) -> Diagnostic {
        d = d.note("a sequence is traversed once, and nothing of it is stored");
        // The traversed sequence: for an append the second operand, for a fold that is known too late its operand.
        let again = match reason {
            Reason::Starts(_) => late.map_or(Vec::new(), |p| self.sequences(p)),
            _ => self.sequences(place),
        };
        let sequence = match reason {
            Reason::Follows(_) => again.last().copied(),
            _ => again.first().copied(),
        };
        let name = sequence.and_then(|s| self.name(s)).unwrap_or("the sequence".into());
        d = d.help(format!(
            "materialise: `let kept = tab({name}) in ...`, with `kept` in the place of each later `{name}`; `--materialize` does so"
        ));
        d = match sequence.and_then(|s| self.parameter(s)) {
            Some(param) => {
                d.help(format!("recompute: take the data as a vector, `{param}: [...]`, which can be traversed again"))
            }
            None => d.help(format!("recompute: write `{name}` a second time, so that there are two traversals of it")),
        };
        let value = late.and_then(|p| self.name(p)).unwrap_or("the value".into());
        let op = self.inst(place).map(|inst| &inst.op);
        let late_op = late.and_then(|p| self.inst(p)).map(|inst| &inst.op);
        d.help(match (op, late_op) {
            (Some(Op::Append), None) => {
                "restructure: let one traversal give both, as pairs: `zip` in the place of `++`".into()
            }
            (Some(Op::Append), _) => format!("restructure: put `{value}` behind: `{name} ++ {{{value}}}`"),
            (_, Some(Op::Length)) => {
                format!("restructure: count as you go, with a scan: `scan(+, 0, {{1 : _ in {name}}})`")
            }
            _ => format!("restructure: leave `{value}` out of the body, and apply it to what the traversal gives"),
        })
    }

    fn rates(&self, place: Place) -> Diagnostic {
        let what = match self.inst(place).map(|inst| &inst.op) {
            Some(Op::FlagPart) => "the flags and the elements",
            _ => "these sequences",
        };
        let mut d = Diagnostic::new(
            Code::NotStreamable,
            format!("{what} cannot advance together: they come from one traversal, at different rates"),
            self.span(place),
            "an element of each is needed at the same time",
        );
        let seqs = self.sequences(place);
        for &s in &seqs {
            if !self.span(s).is_none() && self.span(s) != self.span(place) {
                d = d.label(self.span(s), "made from the same traversal");
            }
        }
        let names: Vec<String> = seqs.iter().filter_map(|s| self.name(*s)).collect();
        let first = names.first().cloned().unwrap_or("the sequence".into());
        let last = names.last().cloned().unwrap_or("the sequence".into());
        d.note("a sequence is traversed once, and nothing of it is stored; one side would run ahead of the other")
            .help(format!("materialise: `tab({first})` and `tab({last})` in their places; `--materialize` does so"))
            .help("recompute: write what both are made from a second time, so that there are two traversals of it")
            .help("restructure: make both sides in one comprehension, as a tuple, and `unzip` it")
    }
}
