//! Calls: of built-in functions, of the program's own, and of the constructors of records.

use super::Infer;
use super::env::{Callee, DefId, unknown};
use super::expr::mismatch;
use super::sig::{self, Param};
use super::types::{Node, Ty};
use crate::ast::{Arg, BinOp, ExprId, ExprKind, Name};
use crate::builtins::{self, Builtin};
use deckle_diag::{Code, Diagnostic, Span};
use std::collections::HashMap;

/// What a name in function position is.
pub(super) enum Target {
    User(DefId),
    Record(usize),
    Builtin(&'static [Builtin]),
}

impl Infer {
    pub(super) fn call(&mut self, e: ExprId, func: ExprId, args: &[Arg]) -> Ty {
        let span = self.span(e);
        let Some((name, target)) = self.target(func) else {
            args.iter().for_each(|a| {
                if !self.is_function_like(a.value) {
                    self.expr(a.value);
                }
            });
            return self.facts.types.error;
        };
        let values: Vec<ExprId> = args.iter().map(|a| a.value).collect();
        if let Target::Record(r) = target {
            self.facts.callees.insert((self.module, e), Callee::Record(r));
            return self.construct(r, &name, args, span);
        }
        if let Some(named) = args.iter().find_map(|a| a.name.as_ref()) {
            let d = Diagnostic::new(
                Code::Unexpected,
                "only records are made with named arguments",
                named.span,
                "a name here",
            )
            .help(format!("give the arguments of `{}` in order", name.text));
            self.diags.push(d);
        }
        match target {
            Target::User(id) => self.call_user(e, id, &name, &values),
            Target::Builtin(forms) => self.call_builtin(e, forms, &name, &values),
            Target::Record(_) => self.facts.types.error,
        }
    }

    /// What the function position of a call names; reports it if it names nothing.
    pub(super) fn target(&mut self, func: ExprId) -> Option<(Name, Target)> {
        let span = self.span(func);
        let (home, name) = match self.ast()[func].kind.clone() {
            ExprKind::Name(name) => (self.module, name),
            ExprKind::Field(base, name) => match self.module_named(base) {
                Some(home) => (home, name),
                None => {
                    self.expr(base);
                    let d = Diagnostic::new(
                        Code::NotAFunction,
                        format!("values have no functions of their own, so `{}` cannot be called like this", name.text),
                        name.span,
                        "a method call",
                    )
                    .help(format!("write `{}(x, ...)`", name.text));
                    self.diags.push(d);
                    return None;
                }
            },
            ExprKind::Error => return None,
            _ => {
                let d = Diagnostic::new(Code::NotAFunction, "this is not a function", span, "called here")
                    .help("only named functions can be called; bind values with `let`");
                self.diags.push(d);
                return None;
            }
        };
        let qualified = home != self.module || !matches!(self.ast()[func].kind, ExprKind::Name(_));
        if !qualified && let Some(local) = self.local(&name.text).cloned() {
            let have = self.facts.quote(local.ty);
            let mut d = Diagnostic::new(
                Code::NotAFunction,
                format!("`{}` is {have}, not a function", name.text),
                name.span,
                "called here",
            )
            .label(local.span, "bound here");
            if matches!(self.facts.types.node(local.ty), Node::Coll(..)) {
                d = d.help(format!("an element of a vector is written with brackets: `{}[i]`", name.text));
            }
            self.diags.push(d);
            return None;
        }
        let module = &self.facts.modules[home];
        if let Some(id) = module.funcs.get(&name.text) {
            return Some((name, Target::User(*id)));
        }
        if let Some(r) = module.types.get(&name.text).and_then(|id| self.facts.record_of.get(id)) {
            return Some((name, Target::Record(*r)));
        }
        if module.ast.broken.iter().any(|b| b.text == name.text) {
            return None;
        }
        if !qualified {
            let forms = builtins::lookup(&name.text);
            if !forms.is_empty() {
                return Some((name, Target::Builtin(forms)));
            }
        }
        let known: Vec<String> =
            module.funcs.keys().map(|k| k.to_string()).chain(builtins::names().map(str::to_string)).collect();
        let mut d = unknown("function", &name.text, name.span, known.iter().map(|s| s.as_str()));
        if let Some(instead) = elsewhere(&name.text) {
            d.helps = vec![instead.to_string()];
        }
        self.diags.push(d);
        None
    }

    /// A fresh copy of a function's type: what replaces its variables, its parameters, its result.
    fn instantiate(&mut self, id: DefId, name: &Name, span: Span) -> Option<(Vec<Ty>, Vec<Ty>, Ty)> {
        let Some(scheme) = self.def(id) else {
            let chain: Vec<String> = self
                .running
                .iter()
                .skip_while(|r| **r != id)
                .map(|r| format!("`{}`", self.facts.def(*r).name.text))
                .collect();
            let d = Diagnostic::new(Code::Recursive, format!("`{}` calls itself", name.text), name.span, "called here")
                .note(format!("the chain of calls is {}", chain.join(" → ")))
                .help("write it as a loop: `loop x = start while condition do next`");
            self.diags.push(d);
            return None;
        };
        let mut map: HashMap<Ty, Ty> = HashMap::new();
        let fresh: Vec<Ty> = scheme.vars.iter().map(|v| self.facts.types.fresh_like(*v)).collect();
        map.extend(scheme.vars.iter().copied().zip(fresh.iter().copied()));
        let params = scheme.params.iter().map(|p| self.facts.types.copy(*p, &mut map)).collect();
        let result = self.facts.types.copy(scheme.result, &mut map);
        self.renew(&scheme.demands, &mut map, span);
        Some((fresh, params, result))
    }

    fn call_user(&mut self, e: ExprId, id: DefId, name: &Name, args: &[ExprId]) -> Ty {
        let have: Vec<Ty> = args.iter().map(|a| self.expr(*a)).collect();
        let span = self.span(e);
        let Some((fresh, params, result)) = self.instantiate(id, name, span) else { return self.facts.types.error };
        let def = self.facts.def(id).name.span;
        if params.len() != args.len() {
            let d = Diagnostic::new(
                Code::WrongArity,
                format!("`{}` takes {}, not {}", name.text, count(params.len()), args.len()),
                span,
                "called here",
            )
            .label(def, "defined here");
            self.diags.push(d);
            return result;
        }
        for (k, (arg, want)) in args.iter().zip(&params).enumerate() {
            self.expect(*arg, have[k], *want, |have, want| {
                mismatch(format!("argument {} of `{}` must be {want}, not {have}", k + 1, name.text))
                    .label(def, "defined here")
            });
        }
        self.facts.callees.insert((self.module, e), Callee::User(id, fresh));
        result
    }

    fn call_builtin(&mut self, e: ExprId, forms: &'static [Builtin], name: &Name, args: &[ExprId]) -> Ty {
        let span = self.span(e);
        let form = forms.iter().find(|f| sig::arity(f.signature) == Some(args.len()));
        let special = forms.iter().find(|f| f.signature == "special");
        let Some(form) = form.or(special) else {
            args.iter().filter(|a| !self.is_function_like(**a)).copied().collect::<Vec<_>>().into_iter().for_each(
                |a| {
                    self.expr(a);
                },
            );
            let mut d = Diagnostic::new(
                Code::WrongArity,
                format!("`{}` does not take {}", name.text, count(args.len())),
                span,
                "called here",
            );
            for f in forms {
                d = d.note(format!("`{}: {}`", f.name, f.signature));
            }
            self.diags.push(d);
            return self.facts.types.error;
        };
        self.facts.callees.insert((self.module, e), Callee::Builtin(*form));
        let Some(signature) = sig::read(form.signature, &mut self.facts.types) else {
            return self.special(form, args, span);
        };
        // Functions last: by then the types of their parameters are known.
        for (k, (arg, param)) in args.iter().zip(&signature.params).enumerate() {
            if let Param::Value(want) = param {
                let have = self.expr(*arg);
                self.argument(form, k, *arg, have, *want);
            }
        }
        for (arg, param) in args.iter().zip(&signature.params) {
            if let Param::Func(params, result) = param {
                self.function(*arg, params, *result, name);
            }
        }
        signature.result
    }

    fn argument(&mut self, form: &Builtin, k: usize, arg: ExprId, have: Ty, want: Ty) {
        self.expect(arg, have, want, |have, want| {
            mismatch(format!("argument {} of `{}` must be {want}, not {have}", k + 1, form.name))
                .note(format!("`{}: {}`", form.name, form.signature))
        });
        let consumes = !form.signature.rsplit("->").next().unwrap_or("").contains('<');
        if consumes
            && self.is_counting(arg)
            && let Node::Coll(kind, _) = *self.facts.types.node(want)
        {
            self.facts.types.prefer_seq(kind);
        }
    }

    /// Whether an expression can only be a function argument.
    fn is_function_like(&self, e: ExprId) -> bool {
        match &self.ast()[e].kind {
            ExprKind::Lambda { .. } | ExprKind::Operator(_) => true,
            ExprKind::Name(n) => {
                self.local(&n.text).is_none()
                    && (self.facts.modules[self.module].funcs.contains_key(&n.text)
                        || !builtins::lookup(&n.text).is_empty())
            }
            _ => false,
        }
    }

    /// A function argument: a lambda, an operator, or the name of a function.
    pub(super) fn function(&mut self, e: ExprId, params: &[Ty], result: Ty, of: &Name) {
        let span = self.span(e);
        match self.ast()[e].kind.clone() {
            ExprKind::Lambda { params: pats, body } => {
                if pats.len() != params.len() {
                    let mut d = Diagnostic::new(
                        Code::WrongArity,
                        format!(
                            "`{}` calls this function with {}, but it takes {}",
                            of.text,
                            count(params.len()),
                            pats.len()
                        ),
                        span,
                        "this function",
                    );
                    if pats.len() > 1 && params.len() == 1 {
                        d = d.help("to take a tuple apart write it as a pattern: `\\(x, y) -> ...`");
                    } else if pats.len() == 1 && params.len() > 1 {
                        d = d.help("separate the parameters by spaces: `\\x y -> ...`");
                    }
                    self.diags.push(d);
                }
                let depth = self.scope.len();
                for (k, p) in pats.iter().enumerate() {
                    let ty = params.get(k).copied().unwrap_or(self.facts.types.error);
                    self.bind_pattern(*p, ty);
                }
                let have = self.expr(body);
                self.scope.truncate(depth);
                self.expect(body, have, result, |have, want| {
                    mismatch(format!("`{}` needs a function that gives {want}, but this gives {have}", of.text))
                });
            }
            ExprKind::Operator(op) => {
                let [a, b] = params else {
                    let d = Diagnostic::new(
                        Code::WrongArity,
                        format!(
                            "`{}` needs a function of {} here, and `{}` takes 2",
                            of.text,
                            count(params.len()),
                            op.text()
                        ),
                        span,
                        "this operator",
                    );
                    self.diags.push(d);
                    return;
                };
                let have = self.binary(op, (e, *a), (e, *b), span);
                self.expect(e, have, result, |have, want| {
                    mismatch(format!(
                        "`{}` needs a function that gives {want}, but `{}` gives {have}",
                        of.text,
                        op.text()
                    ))
                });
            }
            ExprKind::Name(_) | ExprKind::Field(..) => self.named_function(e, params, result, of),
            ExprKind::Error => {}
            _ => {
                let have = self.expr(e);
                let have = self.facts.quote(have);
                let d = Diagnostic::new(
                    Code::NotAFunction,
                    format!("`{}` needs a function here, not {have}", of.text),
                    span,
                    format!("this is {have}"),
                )
                .help("write a function: `\\x -> ...`");
                self.diags.push(d);
            }
        }
    }

    fn named_function(&mut self, e: ExprId, params: &[Ty], result: Ty, of: &Name) {
        let span = self.span(e);
        let Some((name, target)) = self.target(e) else { return };
        let (have, ret, callee) = match target {
            Target::User(id) => {
                let Some((fresh, have, ret)) = self.instantiate(id, &name, span) else { return };
                (have, ret, Callee::User(id, fresh))
            }
            Target::Builtin(forms) => {
                let form = forms.iter().find(|f| sig::arity(f.signature) == Some(params.len()));
                let signature = form.and_then(|f| sig::read(f.signature, &mut self.facts.types));
                let (Some(form), Some(signature)) = (form, signature) else {
                    let d = Diagnostic::new(
                        Code::WrongArity,
                        format!("`{}` cannot be used as a function of {} here", name.text, count(params.len())),
                        span,
                        "this function",
                    )
                    .help("wrap it: `\\x -> ...`");
                    self.diags.push(d);
                    return;
                };
                let mut values = Vec::new();
                for p in &signature.params {
                    match p {
                        Param::Value(t) => values.push(*t),
                        Param::Func(..) => {
                            let d = Diagnostic::new(
                                Code::NotAFunction,
                                format!("`{}` itself takes a function, so it cannot be passed as one", name.text),
                                span,
                                "this function",
                            )
                            .help("wrap it: `\\x -> ...`");
                            self.diags.push(d);
                            return;
                        }
                    }
                }
                (values, signature.result, Callee::Builtin(*form))
            }
            Target::Record(r) => {
                let record = self.facts.records[r].clone();
                let mut map: HashMap<Ty, Ty> = record.params.iter().map(|p| (*p, self.facts.types.fresh())).collect();
                let have = record.fields.iter().map(|(_, t)| self.facts.types.copy(*t, &mut map)).collect();
                let args = record.params.iter().map(|p| map[p]).collect();
                (have, self.facts.types.add(Node::Record(r, args)), Callee::Record(r))
            }
        };
        self.facts.callees.insert((self.module, e), callee);
        if have.len() != params.len() {
            let d = Diagnostic::new(
                Code::WrongArity,
                format!(
                    "`{}` calls this function with {}, but `{}` takes {}",
                    of.text,
                    count(params.len()),
                    name.text,
                    have.len()
                ),
                span,
                "this function",
            );
            self.diags.push(d);
            return;
        }
        for (want, given) in have.iter().zip(params) {
            self.agree(*given, *want, span, &format!("`{}` passes its elements to `{}`", of.text, name.text));
        }
        self.agree(ret, result, span, &format!("this is what `{}` gives", name.text));
    }

    fn construct(&mut self, r: usize, name: &Name, args: &[Arg], span: Span) -> Ty {
        let record = self.facts.records[r].clone();
        let mut map: HashMap<Ty, Ty> = record.params.iter().map(|p| (*p, self.facts.types.fresh())).collect();
        let fields: Vec<Ty> = record.fields.iter().map(|(_, t)| self.facts.types.copy(*t, &mut map)).collect();
        let mut given = vec![false; fields.len()];
        for (k, arg) in args.iter().enumerate() {
            let have = self.expr(arg.value);
            let slot = match &arg.name {
                None => Some(k).filter(|k| *k < fields.len()),
                Some(n) => record.fields.iter().position(|(f, _)| *f == n.text),
            };
            let Some(slot) = slot else {
                let at = arg.name.as_ref().map_or(self.span(arg.value), |n| n.span);
                let which = arg.name.as_ref().map_or(format!("{}", k + 1), |n| format!("`{}`", n.text));
                let names: Vec<&str> = record.fields.iter().map(|(f, _)| &**f).collect();
                let d = Diagnostic::new(
                    Code::NoField,
                    format!("`{}` has no field {which}", name.text),
                    at,
                    "no such field",
                )
                .note(format!("its fields are `{}`", names.join("`, `")));
                self.diags.push(d);
                continue;
            };
            if std::mem::replace(&mut given[slot], true) {
                let d = Diagnostic::new(
                    Code::Duplicate,
                    format!("field `{}` is given twice", record.fields[slot].0),
                    self.span(arg.value),
                    "again here",
                );
                self.diags.push(d);
            }
            self.expect(arg.value, have, fields[slot], |have, want| {
                mismatch(format!("field `{}` of `{}` is {want}, not {have}", record.fields[slot].0, name.text))
            });
        }
        let missing: Vec<&str> =
            record.fields.iter().zip(&given).filter(|(_, g)| !**g).map(|((f, _), _)| &**f).collect();
        if !missing.is_empty() && !record.fields.is_empty() {
            let d = Diagnostic::new(
                Code::WrongArity,
                format!(
                    "`{}` lacks the field{} `{}`",
                    name.text,
                    if missing.len() > 1 { "s" } else { "" },
                    missing.join("`, `")
                ),
                span,
                "made here",
            );
            self.diags.push(d);
        }
        let args = record.params.iter().map(|p| map[p]).collect();
        self.facts.types.add(Node::Record(r, args))
    }
}

/// How another language calls it, and what it is called here.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "len" | "count" => "the number of elements is `length(xs)`",
        "foldl" | "foldr" | "reduce_left" => "write `fold(f, z, xs)`",
        "range" | "arange" => "write a range: `0..<n`, or with a step `0..<n by 2`",
        "zeros" => "write `fill(0.0, n)`",
        "ones" => "write `fill(1.0, n)`",
        "print" | "println" => "a program prints the value of `main`; there is no printing inside it",
        "float" | "double" | "toFloat" | "fromIntegral" => "write `real(x)`",
        "toInt" | "round_int" | "integer" => "write `int(x)`",
        "sum_of" | "total" => "write `sum(xs)`",
        "head" | "first" => "write `xs[0]`",
        "last" => "write `xs[length(xs) - 1]`",
        "mod" => "write `x % y`",
        "sqr" | "square" => "write `x * x`",
        "tabulate_1d" | "build" => "write `generate(n, \\i -> ...)`",
        _ => return None,
    })
}

fn count(n: usize) -> String {
    if n == 1 { "1 argument".into() } else { format!("{n} arguments") }
}

/// The IR's name of an operator that is a scalar one.
pub(crate) fn scalar_op(op: BinOp) -> Option<deckle_ir::array::BinOp> {
    use deckle_ir::array::BinOp as Ir;
    Some(match op {
        BinOp::Eq => Ir::Eq,
        BinOp::Ne => Ir::Ne,
        BinOp::Lt => Ir::Lt,
        BinOp::Le => Ir::Le,
        BinOp::Gt => Ir::Gt,
        BinOp::Ge => Ir::Ge,
        BinOp::BitOr => Ir::Or,
        BinOp::BitXor => Ir::Xor,
        BinOp::BitAnd => Ir::And,
        BinOp::Shl => Ir::Shl,
        BinOp::Shr => Ir::Shr,
        BinOp::Add => Ir::Add,
        BinOp::Sub => Ir::Sub,
        BinOp::Mul => Ir::Mul,
        BinOp::Div => Ir::Div,
        BinOp::Rem => Ir::Rem,
        BinOp::Pow => Ir::Pow,
        BinOp::Or | BinOp::And | BinOp::Append => return None,
    })
}
