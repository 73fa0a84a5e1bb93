//! Errors that stop lowering, and their messages.

use super::func::{Binding, FnLower};
use crate::ast::{ExprId, ExprKind};
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array::{Misfit, TypeError};
use deckle_ir::entity::Var;
use deckle_ir::types::Type;

/// Why lowering an expression stops.
#[derive(Debug)]
pub(super) struct Stop(Option<Box<Diagnostic>>);

impl Stop {
    /// It depends on something that was rejected before.
    pub const SAID: Stop = Stop(None);

    pub fn into_diagnostic(self) -> Option<Diagnostic> {
        self.0.map(|d| *d)
    }
}

impl From<Diagnostic> for Stop {
    fn from(d: Diagnostic) -> Stop {
        Stop(Some(Box::new(d)))
    }
}

pub(super) type Lowered<T> = Result<T, Stop>;

/// A number of elements as text.
fn elements(n: &str) -> String {
    if n == "1" { "1 element".into() } else { format!("{n} elements") }
}

fn not_concrete(what: &str, span: Span) -> Diagnostic {
    let d = Diagnostic::new(Code::NotConcrete, format!("{what} cannot hold a sequence"), span, "holds a sequence");
    match what {
        "the state of a loop" => d
            .note("the state is in memory as a whole between two rounds; a sequence never is")
            .help("materialise it: `tab(...)`"),
        "what is combined" => d
            .note("what has been combined so far is in memory as a whole; a sequence never is")
            .help("materialise the inner sequences with `tab(...)`, or put them one after another with `flatten(...)`"),
        _ => d
            .note("a vector is in memory as a whole; a sequence never is")
            .help("materialise the inner sequence with `tab(...)`, or make the outer one a sequence: `{ ... }`"),
    }
}

impl FnLower<'_> {
    /// Lowers a part of an expression. An error is recorded and lowering continues with the other parts.
    pub fn attempt<T>(&mut self, build: impl FnOnce(&mut Self) -> Lowered<T>) -> Option<T> {
        let mark = self.b.mark();
        let (depth, loops) = (self.scope.len(), self.loops);
        match build(self) {
            Ok(v) => Some(v),
            Err(stop) => {
                self.diags.extend(stop.into_diagnostic());
                self.b.rollback(&mark);
                self.scope.truncate(depth);
                self.loops = loops;
                None
            }
        }
    }

    /// All of these, or all their errors.
    pub fn exprs(&mut self, es: &[ExprId]) -> Lowered<Vec<Var>> {
        let all: Vec<Option<Var>> = es.iter().map(|e| self.attempt(|f| f.expr(*e))).collect();
        all.into_iter().collect::<Option<Vec<_>>>().ok_or(Stop::SAID)
    }

    /// An error of the typing rules of the IR.
    pub fn type_error(&self, e: TypeError, args: &[Var], span: Span) -> Stop {
        if e.message.contains("cannot hold a sequence") || e.message.contains("sequence of sequences") {
            return not_concrete("a vector", span).into();
        }
        if e.misfit != Misfit::Sizes {
            return Diagnostic::new(
                Code::Internal,
                format!("the typing rules refuse what was lowered: {}", e.message),
                span,
                "from here",
            )
            .help("please report this program")
            .into();
        }
        let quoted: Vec<&str> = e.message.split('`').skip(1).step_by(2).collect();
        let sizes: Vec<(&str, String)> =
            quoted.iter().skip(1).filter_map(|s| Some((*s, self.size_in_words(s)?))).collect();
        let [(_, one), (_, other)] = &sizes[..] else {
            return Diagnostic::new(Code::SizeMismatch, "these lengths cannot be equal", span, "different lengths")
                .help("cut the longer one with `take`, or pad the shorter one")
                .into();
        };
        let (one, other) = (elements(one), elements(other));
        let message = match e.message.strip_prefix("an argument of `").and_then(|m| m.split(['\'', '@', '`']).next()) {
            Some(callee) => format!("an argument of `{callee}` has {one} where {other} are needed"),
            None => format!("these must have equal lengths, but one has {one} and another {other}"),
        };
        let mut d = Diagnostic::new(Code::SizeMismatch, message, span, "different lengths");
        for v in args {
            let size = self.ty(*v).as_array().map(|x| x.size.to_string()).unwrap_or_default();
            let at = self.b.func().span(*v);
            let inside = at.file == span.file && at != span && !at.is_none();
            if let Some((_, words)) = sizes.iter().find(|(s, _)| *s == size).filter(|_| inside) {
                d = d.label(at, elements(words));
            }
        }
        d.help("cut the longer one with `take`, or pad the shorter one with `pad`").into()
    }

    /// A size in the user's names; `None` if a part of it has no name.
    pub fn size_in_words(&self, size: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = size;
        while let Some(c) = rest.chars().next() {
            let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            if word == 0 {
                out.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
            let (name, tail) = rest.split_at(word);
            let is_entity =
                name.len() > 1 && name.starts_with(['n', 'v']) && name[1..].chars().all(|c| c.is_ascii_digit());
            if is_entity {
                out.push_str(&self.entity_in_words(name)?);
            } else {
                out.push_str(name);
            }
            rest = tail;
        }
        let plain = out.chars().all(|c| c.is_ascii_digit());
        Some(if plain { out } else { format!("`{out}`") })
    }

    fn entity_in_words(&self, entity: &str) -> Option<String> {
        let named = self.scope.iter().rev().find(|(_, b)| match b {
            Binding::Var(v) => v.to_string() == entity,
            Binding::Size(s) => s.to_string() == entity,
            Binding::Poison => false,
        });
        if let Some((name, _)) = named {
            return Some(name.to_string());
        }
        let measured = self.scope.iter().rev().find(|(_, b)| match b {
            Binding::Var(v) => self.ty(*v).as_array().is_some_and(|a| a.size.to_string() == entity),
            _ => false,
        });
        measured.map(|(name, _)| format!("length({name})"))
    }

    /// Inference has accepted this, so it is a bug.
    pub fn surprise(&self, span: Span) -> Stop {
        Diagnostic::new(Code::Internal, "an expression passed inference that lowering does not know", span, "this one")
            .help("please report this program")
            .into()
    }

    pub fn need_concrete(&self, ty: &Type, span: Span, what: &str) -> Lowered<()> {
        if ty.is_concrete() { Ok(()) } else { Err(not_concrete(what, span).into()) }
    }

    pub fn need_flat(&self, ty: &Type, span: Span, what: &str) -> Lowered<()> {
        if ty.is_flat() {
            return Ok(());
        }
        let d =
            Diagnostic::new(Code::NoInstance, format!("{what} must be made of scalars"), span, "holds a collection")
                .note("numbers, truth values, and tuples or records of those can be compared and stored in place");
        Err(match what {
            "a key" | "what is sorted" => d.help("choose a scalar to sort by, as in `sort_by(\\row -> row[0], a)`"),
            _ => d,
        }
        .into())
    }

    /// The place of argument `k` of a call, or the call if the argument is not written.
    pub fn argument_span(&self, call: Option<ExprId>, k: usize, span: Span) -> Span {
        match call.map(|e| &self.ast()[e].kind) {
            Some(ExprKind::Call { args, .. }) => args.get(k).map_or(span, |a| self.span(a.value)),
            _ => span,
        }
    }

    /// A sequence is traversed once, so a body that runs many times cannot use one from outside.
    pub fn captured(&self, v: Var, rounds: bool, span: Span) -> Stop {
        let name = self.scope.iter().rev().find(|(_, b)| matches!(b, Binding::Var(x) if *x == v)).map(|(n, _)| n);
        // The first use of that name inside, according to the text.
        let used = self.ast().exprs.iter().find(|e| {
            let inside = e.span.file == span.file && e.span.lo >= span.lo && e.span.hi <= span.hi;
            inside && matches!((&e.kind, name), (ExprKind::Name(n), Some(name)) if n.text == *name)
        });
        let what = name.map_or("a sequence".to_string(), |n| format!("the sequence `{n}`"));
        let text = name.map_or("s".to_string(), |n| n.to_string());
        let (each, per) = if rounds { ("in each round", "round") } else { ("for each element", "element") };
        let mut d = Diagnostic::new(
            Code::CapturedSequence,
            format!("{what} from outside is used again {each}"),
            used.map_or(span, |e| e.span),
            format!("{} once per {per}", if used.is_some() { "used" } else { "runs" }),
        )
        .label(self.b.func().span(v), "the sequence");
        if used.is_some() {
            d = d.label(span, format!("runs once per {per}"));
        }
        d = d
            .note(format!("a sequence is never all in memory: it can be traversed once, and not again {each}"))
            .help(format!("materialise it before: `let xs = tab({text}) in ...`"))
            .help("or compute it again inside");
        if !rounds {
            d = d.help("or traverse both together, if they have the same length: `{ ... : x in s; y in t }`");
        }
        d.into()
    }
}
