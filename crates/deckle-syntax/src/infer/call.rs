//! Calls: of built-in functions, of the program's own, and of the constructors of records.

use super::Infer;
use super::env::{Callee, DefId, unknown};
use super::expr::mismatch;
use super::misuse::elsewhere;
use super::sig::{self, Param};
use super::types::{Node, Ty};
use crate::ast::{Arg, BinOp, ExprId, ExprKind, Name};
use crate::builtins::{self, Builtin};
use deckle_diag::{Code, Diagnostic, Span};
use std::collections::HashMap;

/// The meaning of a name in function position.
pub(super) enum Target {
    User(DefId),
    Record(usize),
    Builtin(&'static [Builtin]),
}

impl Infer {
    pub(super) fn call(&mut self, e: ExprId, func: ExprId, args: &[Arg]) -> Ty {
        let span = self.span(e);
        let values: Vec<ExprId> = args.iter().map(|a| a.value).collect();
        let Some((name, target)) = self.target(func, &values) else {
            self.look_through(&values);
            return self.facts.types.error;
        };
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

    /// The function named in a call; an unknown name is reported.
    pub(super) fn target(&mut self, func: ExprId, args: &[ExprId]) -> Option<(Name, Target)> {
        let span = self.span(func);
        let (home, name) = match self.ast()[func].kind.clone() {
            ExprKind::Name(name) => (self.module, name),
            ExprKind::Field(base, name) => match self.module_named(base) {
                Some(home) => (home, name),
                None => {
                    let have = self.expr(base);
                    if *self.facts.types.node(have) != Node::Error {
                        self.report_method(base, &name, args);
                    }
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
            if *self.facts.types.node(local.ty) != Node::Error {
                self.report_value_called(&name, &local, args);
            }
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
        let mut known: Vec<&str> = module.funcs.keys().map(|k| &**k).collect();
        if !qualified {
            builtins::names().for_each(|n| known.push(n));
        }
        // Hundreds of suggestions are of no use.
        known.retain(|_| self.diags.len() < 100);
        let mut d = unknown("function", &name.text, name.span, known.into_iter());
        if let Some(instead) = elsewhere(&name.text).filter(|_| !qualified) {
            d.helps = vec![instead.to_string()];
        }
        if module.types.contains_key(&name.text) {
            d = d.note(format!("`{}` is a type, but not a record: there is nothing to construct", name.text));
        }
        self.diags.push(d);
        None
    }

    /// Infers the arguments of an unknown function, to report the errors in them.
    fn look_through(&mut self, args: &[ExprId]) {
        for a in args {
            if !self.is_function_like(*a) {
                self.expr(*a);
            }
        }
    }

    /// A fresh copy of a function's type: the replacements of its variables, its parameters, its result.
    fn instantiate(&mut self, id: DefId, name: &Name, span: Span) -> Option<(Vec<Ty>, Vec<Ty>, Ty)> {
        let Some(scheme) = self.def(id) else {
            let chain: Vec<String> = self
                .running
                .iter()
                .skip_while(|r| **r != id)
                .map(|r| format!("`{}`", self.facts.def(*r).name.text))
                .collect();
            let message = match chain.len() {
                1 => format!("`{}` calls itself", name.text),
                _ => format!("`{}` calls itself, through others", name.text),
            };
            let mut d = Diagnostic::new(Code::Recursive, message, name.span, "called here")
                .label(self.facts.def(id).name.span, "defined here");
            if chain.len() > 8 {
                d = d.note(format!("{} calls lead from `{1}` back to `{1}`", chain.len(), name.text));
            } else if chain.len() > 1 {
                d = d.note(format!("the calls are {} → `{}`", chain.join(" → "), name.text));
            }
            d = d
                .help("repeat with a loop: `loop x = start while condition do next`")
                .help("or say it of all elements at once, with `fold`, `scan` or a comprehension");
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
        let span = self.span(e);
        let have: Vec<Ty> = args.iter().map(|a| self.passed(*a, name)).collect();
        let arity = self.facts.def(id).params.len();
        let def = self.facts.def(id).name.span;
        if arity != args.len() {
            self.report_arity(format!("`{}` takes {}, not {}", name.text, count(arity), args.len()), span, args, |d| {
                d.label(def, "defined here")
            });
            return self.facts.types.error;
        }
        let Some((fresh, params, result)) = self.instantiate(id, name, span) else { return self.facts.types.error };
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
            self.look_through(args);
            self.report_arity(format!("`{}` does not take {}", name.text, count(args.len())), span, args, |d| {
                forms.iter().fold(d, |d, f| d.note(sig::usage(f)))
            });
            return self.facts.types.error;
        };
        self.facts.callees.insert((self.module, e), Callee::Builtin(*form));
        let Some(signature) = sig::read(form.signature, &mut self.facts.types) else {
            return self.special(form, args, span);
        };
        if self.report_misplaced_function(form, &signature, args) {
            return self.facts.types.error;
        }
        // Functions last: by then the types of their parameters are known.
        let have: Vec<Option<Ty>> = args
            .iter()
            .zip(&signature.params)
            .map(|(arg, param)| matches!(param, Param::Value(_)).then(|| self.expr(*arg)))
            .collect();
        if self.report_exchanged(form, &signature, args, &have, span) {
            return self.facts.types.error;
        }
        for (k, (arg, param)) in args.iter().zip(&signature.params).enumerate() {
            if let (Param::Value(want), Some(have)) = (param, have[k]) {
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

    /// An argument of a function of the program, which cannot be a function.
    fn passed(&mut self, arg: ExprId, of: &Name) -> Ty {
        if !self.is_function_like(arg) || self.is_constant(arg) {
            return self.expr(arg);
        }
        let d = Diagnostic::new(
            Code::NotAFunction,
            format!("`{}` cannot be given a function", of.text),
            self.span(arg),
            "a function here",
        )
        .note("functions are not values: only built-in functions such as `map` and `fold` take them")
        .help(format!("call the function inside `{}`", of.text));
        self.diags.push(d);
        self.facts.types.error
    }

    /// Whether a name that could be a function is a constant.
    pub(super) fn is_constant(&self, e: ExprId) -> bool {
        matches!(&self.ast()[e].kind, ExprKind::Name(n) if builtins::CONSTANTS.iter().any(|c| c.0 == &*n.text))
    }

    fn argument(&mut self, form: &Builtin, k: usize, arg: ExprId, have: Ty, want: Ty) {
        self.expect(arg, have, want, |have, want| {
            let d = mismatch(format!("argument {} of `{}` must be {want}, not {have}", k + 1, form.name))
                .note(sig::usage(form));
            match form.name {
                "tab" if have.starts_with("`[") => d.help("it is a vector already: leave out `tab`"),
                "seq" | "rows" if have.starts_with("`{") => d.help("it is a sequence already: leave out `seq`"),
                _ => d,
            }
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
    pub(super) fn is_function_like(&self, e: ExprId) -> bool {
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
                        let tuple = matches!(self.ast()[pats[0]].kind, crate::ast::PatKind::Tuple(_));
                        d = d.help(match (params.len(), tuple) {
                            (_, true) => "separate the parameters by spaces, without parentheses: `\\x y -> ...`",
                            (2, _) => "give it two parameters, with a space between them: `\\x y -> ...`",
                            _ => "give it as many parameters, with spaces between them: `\\x y z -> ...`",
                        });
                    }
                    self.diags.push(d);
                }
                let depth = self.scope.len();
                let fits = pats.len() == params.len();
                for (k, p) in pats.iter().enumerate() {
                    let ty = if fits { params[k] } else { self.facts.types.error };
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
                    let d = match params.len() {
                        1 => d.help(format!("say what the other operand is: `\\x -> x {} 1`", op.text())),
                        _ => d,
                    };
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
            ExprKind::Call { func, args } => {
                self.look_through(&args.iter().map(|a| a.value).collect::<Vec<_>>());
                let mut given: Vec<String> = args.iter().map(|a| self.text(a.value, "...")).collect();
                given.push("x".into());
                let name = self.text(func, "f");
                let d = Diagnostic::new(
                    Code::NotAFunction,
                    format!("`{}` needs a function here, and this is the result of a call", of.text),
                    span,
                    "a value, not a function",
                )
                .note("a function cannot be given some of its arguments now and the others later")
                .help(format!("write `\\x -> {name}({})`", given.join(", ")));
                self.diags.push(d);
            }
            _ => {
                let have = self.expr(e);
                if *self.facts.types.node(have) == Node::Error {
                    return;
                }
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

    /// The meaning of the name of a function argument.
    fn function_named(&mut self, e: ExprId, of: &Name) -> Option<(Name, Target)> {
        let base = match &self.ast()[e].kind {
            ExprKind::Name(n) => Some(n.clone()),
            _ => None,
        };
        let is_value = match &base {
            Some(n) => self.local(&n.text).is_some() || self.is_constant(e),
            None => matches!(self.ast()[e].kind, ExprKind::Field(m, _) if self.module_named(m).is_none()),
        };
        if !is_value {
            return self.target(e, &[]);
        }
        let have = self.expr(e);
        if *self.facts.types.node(have) != Node::Error {
            let have = self.facts.quote(have);
            let d = Diagnostic::new(
                Code::NotAFunction,
                format!("`{}` needs a function here, not {have}", of.text),
                self.span(e),
                format!("this is {have}"),
            )
            .help("write a function: `\\x -> ...`");
            self.diags.push(d);
        }
        None
    }

    fn named_function(&mut self, e: ExprId, params: &[Ty], result: Ty, of: &Name) {
        let span = self.span(e);
        let Some((name, target)) = self.function_named(e, of) else { return };
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
                    .help(format!("wrap it: `\\x -> {}(...)`", name.text));
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
                            .help(format!("wrap it: `\\x -> {}(...)`", name.text));
                            self.diags.push(d);
                            return;
                        }
                    }
                }
                (values, signature.result, Callee::Builtin(*form))
            }
            Target::Record(r) => {
                let record = std::rc::Rc::clone(&self.facts.records[r]);
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
            )
            .help(match params.len() {
                1 => format!("wrap it: `\\x -> {}(...)`", name.text),
                _ => format!("wrap it: `\\x y -> {}(...)`", name.text),
            });
            self.diags.push(d);
            return;
        }
        for (want, given) in have.iter().zip(params) {
            if self.facts.types.unify(*given, *want).is_err() {
                let (g, w) = (self.facts.quote(*given), self.facts.quote(*want));
                let mut d = Diagnostic::new(
                    Code::TypeMismatch,
                    format!("`{}` passes {g} to `{}`, which takes {w}", of.text, name.text),
                    span,
                    format!("takes {w}"),
                );
                let types = &self.facts.types;
                if let (Node::Scalar(s), [_]) = (types.node(*given), params)
                    && s.is_int()
                    && w.contains("real")
                {
                    d = d.help(format!("convert it: `\\x -> {}(real(x))`", name.text));
                }
                self.diags.push(d);
                return;
            }
        }
        self.expect(e, ret, result, |have, want| {
            mismatch(format!("`{}` needs a function that gives {want}, but `{}` gives {have}", of.text, name.text))
                .help(format!("wrap it: `\\x -> ... {}(x)`", name.text))
        });
    }

    fn construct(&mut self, r: usize, name: &Name, args: &[Arg], span: Span) -> Ty {
        let record = std::rc::Rc::clone(&self.facts.records[r]);
        let mut map: HashMap<Ty, Ty> = record.params.iter().map(|p| (*p, self.facts.types.fresh())).collect();
        let fields: Vec<Ty> = record.fields.iter().map(|(_, t)| self.facts.types.copy(*t, &mut map)).collect();
        let mut given: Vec<Option<Span>> = vec![None; fields.len()];
        let mut unknown_field = false;
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
                );
                let near = arg.name.as_ref().and_then(|n| deckle_diag::closest(&n.text, names.iter().copied()));
                let d = match near {
                    Some(c) => d.help(format!("did you mean `{c}`?")),
                    None => d.note(super::demand::listing(&names)),
                };
                self.diags.push(d);
                unknown_field |= arg.name.is_some();
                continue;
            };
            let at = arg.name.as_ref().map_or(self.span(arg.value), |n| n.span);
            if let Some(first) = given[slot].replace(at) {
                let d = Diagnostic::new(
                    Code::Duplicate,
                    format!("field `{}` is given twice", record.fields[slot].0),
                    at,
                    "again here",
                )
                .label(first, "first here");
                self.diags.push(d);
            }
            self.expect(arg.value, have, fields[slot], |have, want| {
                mismatch(format!("field `{}` of `{}` is {want}, not {have}", record.fields[slot].0, name.text))
            });
        }
        let missing: Vec<&str> =
            record.fields.iter().zip(&given).filter(|(_, g)| g.is_none()).map(|((f, _), _)| &**f).collect();
        let readable = args.iter().all(|a| !matches!(self.ast()[a.value].kind, ExprKind::Error));
        if !missing.is_empty() && !unknown_field && readable {
            let def = self.facts.type_def(record.def).name.span;
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
            )
            .label(def, "defined here")
            .help("a record is made with all of its fields; to change some of another one, write `p with (x = ...)`");
            self.diags.push(d);
        }
        let args = record.params.iter().map(|p| map[p]).collect();
        self.facts.types.add(Node::Record(r, args))
    }
}

pub(super) fn count(n: usize) -> String {
    if n == 1 { "1 argument".into() } else { format!("{n} arguments") }
}

/// The IR's name of a scalar operator.
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
