//! Calls that are wrong as a whole: methods, values used as functions, arguments in another order, names of other languages.

use super::Infer;
use super::sig::{self, Param};
use super::types::{Node, Ty};
use crate::ast::{ExprId, ExprKind, Name};
use crate::builtins::{self, Builtin};
use deckle_diag::{Code, Diagnostic, Span};

impl Infer {
    /// `xs.map(f)`, where `map(f, xs)` is meant.
    pub(super) fn report_method(&mut self, base: ExprId, name: &Name, args: &[ExprId]) {
        let meant = match &*name.text {
            "len" | "count" => "length",
            "T" => "transpose",
            other => other,
        };
        let functions_first = args.iter().any(|a| self.is_function_like(*a));
        let mut texts: Vec<String> = args.iter().map(|a| self.text(*a, "...")).collect();
        let at = if functions_first { texts.len() } else { 0 };
        texts.insert(at, self.text(base, "x"));
        let d = Diagnostic::new(
            Code::NotAFunction,
            format!("values have no functions of their own, so `.{}(...)` cannot be called", name.text),
            name.span,
            "a method call",
        );
        let known = !builtins::lookup(meant).is_empty() || self.facts.modules[self.module].funcs.contains_key(meant);
        let d = match elsewhere(&name.text).filter(|_| !known) {
            Some(instead) => d.help(instead),
            None => d.help(format!("functions are written before their arguments: `{meant}({})`", texts.join(", "))),
        };
        self.diags.push(d);
    }

    /// `xs(0)`, or `f(x)` where `f` is a parameter.
    pub(super) fn report_value_called(&mut self, name: &Name, local: &super::Local, args: &[ExprId]) {
        let node = self.facts.types.node(local.ty).clone();
        let have = self.facts.quote(local.ty);
        let message = match node {
            Node::Var(None) => format!("`{}` is a value, not a function", name.text),
            _ => format!("`{}` is {have}, not a function", name.text),
        };
        let mut d =
            Diagnostic::new(Code::NotAFunction, message, name.span, "called here").label(local.span, "bound here");
        if let Node::Coll(..) = node {
            let items: Vec<String> = args.iter().map(|a| self.text(*a, "i")).collect();
            let items = if items.is_empty() { "i".to_string() } else { items.join(", ") };
            d = d.help(format!("an element of a vector is written with brackets: `{}[{items}]`", name.text));
        } else if let Node::Var(None) = node {
            d = d.note("only built-in functions such as `map` and `fold` take functions");
            let error = self.facts.types.error;
            let _ = self.facts.types.unify(local.ty, error);
        } else if self.facts.modules[self.module].funcs.contains_key(&name.text)
            || !builtins::lookup(&name.text).is_empty()
        {
            d = d.help(format!("this hides the function `{}`: choose another name", name.text));
        }
        self.diags.push(d);
    }

    /// Reports a wrong number of arguments, unless they had syntax errors.
    pub(super) fn report_arity(
        &mut self,
        message: String,
        span: Span,
        args: &[ExprId],
        more: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        if args.iter().all(|a| !matches!(self.ast()[*a].kind, ExprKind::Error)) {
            self.diags.push(more(Diagnostic::new(Code::WrongArity, message, span, "called here")));
        }
    }

    /// `map(xs, f)`, where `map(f, xs)` is meant.
    pub(super) fn report_misplaced_function(
        &mut self,
        form: &Builtin,
        signature: &sig::Signature,
        args: &[ExprId],
    ) -> bool {
        let takes_function: Vec<bool> = signature.params.iter().map(|p| matches!(p, Param::Func(..))).collect();
        let is_function: Vec<bool> = args.iter().map(|a| self.is_function_like(*a) && !self.is_constant(*a)).collect();
        let wrong = |k: &usize| is_function[*k] && !takes_function[*k];
        let Some(at) = (0..args.len()).find(wrong) else { return false };
        let Some(place) = (0..args.len()).find(|k| takes_function[*k] && !is_function[*k]) else { return false };
        let mut order = args.to_vec();
        let moved = order.remove(at);
        order.insert(place, moved);
        let texts: Vec<String> = order.iter().map(|a| self.text(*a, "...")).collect();
        let d = Diagnostic::new(
            Code::NotAFunction,
            format!("argument {} of `{}` must be a value, not a function", at + 1, form.name),
            self.span(args[at]),
            "a function here",
        )
        .note(sig::usage(form))
        .help(format!("the function is argument {}: `{}({})`", place + 1, form.name, texts.join(", ")));
        self.diags.push(d);
        true
    }

    /// Two arguments that fit if they are swapped.
    pub(super) fn report_exchanged(
        &mut self,
        form: &Builtin,
        signature: &sig::Signature,
        args: &[ExprId],
        have: &[Option<Ty>],
        span: Span,
    ) -> bool {
        let want = |k: usize| match signature.params[k] {
            Param::Value(t) => t,
            Param::Func(..) => self.facts.types.error,
        };
        let fits = |have: Option<Ty>, k: usize| have.is_none_or(|h| self.facts.types.may_agree(h, want(k)));
        let wrong: Vec<usize> = (0..args.len()).filter(|k| !fits(have[*k], *k)).collect();
        let [i, j] = wrong[..] else { return false };
        if !fits(have[i], j) || !fits(have[j], i) {
            return false;
        }
        let mut order = args.to_vec();
        order.swap(i, j);
        let texts: Vec<String> = order.iter().map(|a| self.text(*a, "...")).collect();
        let quote = |k: usize| have[k].map_or(String::new(), |t| format!("this is {}", self.facts.quote(t)));
        let d = Diagnostic::new(
            Code::TypeMismatch,
            format!("arguments {} and {} of `{}` are exchanged", i + 1, j + 1, form.name),
            self.span(args[i]),
            quote(i),
        )
        .label(self.span(args[j]), quote(j))
        .note(sig::usage(form))
        .help(format!("write `{}({})`", form.name, texts.join(", ")));
        let _ = span;
        self.diags.push(d);
        true
    }
}

/// The Deckle name for a name of another language.
pub(super) fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "len" | "count" | "size_of" | "numel" => "the number of elements is `length(xs)`",
        "foldl" | "foldr" | "reduce_left" => "write `fold(f, z, xs)`",
        "range" | "arange" => "write a range: `0..<n`, or with a step `0..<n by 2`",
        "zeros" => "write `fill(0.0, n)`",
        "ones" => "write `fill(1.0, n)`",
        "print" | "println" => "a program prints the value of `main`; there is no printing inside it",
        "float" | "double" | "toFloat" | "fromIntegral" => "write `real(x)`",
        "toInt" | "round_int" | "integer" => "write `int(x)`",
        "sum_of" | "total" => "write `sum(xs)`",
        "foreach" | "for_each" | "apply" | "pmap" => "write `map(f, xs)`, or a comprehension: `[ f(x) : x in xs ]`",
        "enumerate" => "number the elements: `zip(iota(length(xs)), xs)`, or `imap(\\i x -> ..., xs)`",
        "cumsum" | "prefix_sum" => "write `scan_incl(+, xs)`",
        "dot" => "write `sum({ x * y : x in xs; y in ys })`",
        "mean" | "average" => "write `sum(xs) / real(length(xs))`",
        "linspace" => "write `generate(n, \\i -> lo + real(i) * step)`",
        "append_to" | "push" | "cons" => "write `xs ++ [x]`",
        "tolist" | "collect" | "to_list" | "to_vec" | "toList" => "write `tab(s)`",
        "concatMap" | "concat_map" | "flat_map" | "flatMap" => "write `flatten(map(f, xs))`",
        "where" => "write `select(flags, xs, ys)`, or `[ if c then x else y : ... ]`",
        "bincount" => "write `histogram(+, 0, bins, is, fill(1, length(is)))`",
        "not" => "write `!x`",
        "head" | "first" => "write `xs[0]`",
        "last" => "write `xs[length(xs) - 1]`",
        "mod" => "write `x % y`",
        "sqr" | "square" => "write `x * x`",
        "tabulate_1d" | "build" => "write `generate(n, \\i -> ...)`",
        _ => return None,
    })
}
