//! The type of every form of expression.

use super::Infer;
use super::env::{DemandKind, unknown};
use super::types::{Node, Ty};
use crate::ast::{BinOp, ExprId, ExprKind, Gen, IndexItem, LoopKind, Name, ScalarSuffix, UnOp};
use crate::builtins::{self, CONSTANTS};
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array::OperandClass;
use deckle_ir::scalar::ScalarType;

impl Infer {
    /// The type of an expression, which is also recorded for lowering.
    pub(super) fn expr(&mut self, e: ExprId) -> Ty {
        let ty = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.expr_kind(e));
        self.facts.expr_types[self.module][e.0 as usize] = Some(ty);
        ty
    }

    fn expr_kind(&mut self, e: ExprId) -> Ty {
        let span = self.span(e);
        match self.ast()[e].kind.clone() {
            ExprKind::Error => self.facts.types.error,
            ExprKind::Int { suffix, .. } => {
                self.literals.push((self.module, e, false));
                match suffix {
                    Some(s) => self.facts.types.scalar(suffix_type(s)),
                    None => self.facts.types.fresh_of(OperandClass::Num),
                }
            }
            ExprKind::Float { suffix, .. } => match suffix {
                Some(s) => self.facts.types.scalar(suffix_type(s)),
                None => self.facts.types.fresh_of(OperandClass::Float),
            },
            ExprKind::Bool(_) => self.facts.types.bool(),
            ExprKind::Char(_) => self.facts.types.scalar(ScalarType::U8),
            ExprKind::Str(_) => {
                let byte = self.facts.types.scalar(ScalarType::U8);
                self.facts.types.array(byte)
            }
            ExprKind::Name(name) => self.name(&name),
            ExprKind::Tuple(parts) => {
                let parts = parts.into_iter().map(|p| self.expr(p)).collect();
                self.facts.types.tuple(parts)
            }
            ExprKind::Let { pat, ty, value, body } => {
                let have = self.expr(value);
                if let Some(written) = ty {
                    let depth = self.scope.len();
                    self.size_names(written, &mut Vec::new());
                    let want = self.type_expr(written);
                    self.scope.truncate(depth);
                    let at = self.ast()[written].span;
                    self.expect(value, have, want, |have, want| {
                        Diagnostic::new(
                            Code::TypeMismatch,
                            format!("the type written here is {want}, but the value is {have}"),
                            Span::NONE,
                            "",
                        )
                        .label(at, "written here")
                    });
                }
                let depth = self.scope.len();
                self.bind_pattern(pat, have);
                let result = self.expr(body);
                self.scope.truncate(depth);
                result
            }
            ExprKind::If { cond, then, els } => {
                self.want_bool(cond, "the condition of an `if`");
                let yes = self.expr(then);
                let no = self.expr(els);
                let at = self.span(then);
                let help = self.conversion((then, yes, "first"), (els, no, "second"));
                self.expect(els, no, yes, |have, want| {
                    let d = mismatch(format!("the branches of this `if` differ: {want} and {have}"))
                        .label(at, format!("this is {want}"));
                    help.into_iter().fold(d, Diagnostic::help)
                });
                yes
            }
            ExprKind::Loop { pat, init, kind, body } => {
                let state = self.expr(init);
                let depth = self.scope.len();
                if let LoopKind::For { var, lo, hi, .. } = &kind {
                    for end in lo.iter().chain([hi]) {
                        let have = self.expr(*end);
                        let int = self.facts.types.int();
                        self.expect(*end, have, int, |have, _| {
                            mismatch(format!("the bounds of a loop are `int`, not {have}"))
                        });
                    }
                    let int = self.facts.types.int();
                    self.bind(var, int);
                }
                self.bind_pattern(pat, state);
                if let LoopKind::While(cond) = kind {
                    self.want_bool(cond, "the condition of a loop");
                }
                let next = self.expr(body);
                let at = self.span(init);
                let help = self.conversion((init, state, "start"), (body, next, "result of a round"));
                self.expect(body, next, state, |have, want| {
                    let d = mismatch(format!("the loop starts with {want}, but a round gives {have}"))
                        .label(at, format!("starts as {want}"));
                    help.into_iter().fold(d, Diagnostic::help)
                });
                self.scope.truncate(depth);
                state
            }
            ExprKind::Lambda { .. } | ExprKind::Operator(_) => {
                let d = Diagnostic::new(Code::NotAFunction, "functions are not values", span, "a function here")
                    .note("a function can only be called, or given to a built-in function such as `map` or `fold`")
                    .help("define it outside, as in `def f(x) = ...`, or write it where it is used");
                self.diags.push(d);
                self.facts.types.error
            }
            ExprKind::Call { func, args } => self.call(e, func, &args),
            ExprKind::With { base, fields } => {
                let record = self.expr(base);
                for (name, value) in fields {
                    let have = self.expr(value);
                    let ty = self.facts.types.fresh();
                    self.demand(DemandKind::Field(record, name.text.clone(), ty), name.span);
                    self.expect(value, have, ty, |have, want| {
                        mismatch(format!("field `{}` is {want}, not {have}", name.text))
                    });
                }
                record
            }
            ExprKind::Index { base, items } => self.index(base, &items),
            ExprKind::Field(base, name) => self.field(base, &name),
            ExprKind::Component(base, k, at) => {
                let have = self.expr(base);
                let ty = self.facts.types.fresh();
                self.demand(DemandKind::Component(have, k, ty), at);
                ty
            }
            ExprKind::Unary(op, a) => self.unary(op, a),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.expr(a), self.expr(b));
                self.binary(op, (a, x), (b, y), span)
            }
            ExprKind::Range { lo, hi, step, .. } => {
                let ty = self.facts.types.fresh_of(OperandClass::Int);
                let before = self.diags.len();
                for end in [Some(lo), Some(hi), step].into_iter().flatten() {
                    let have = self.expr(end);
                    self.expect(end, have, ty, |have, want| {
                        if have.contains("real") || have.contains("f32") {
                            return mismatch(format!("a range counts in integers, not in {have}"))
                                .help("scale integers: `{ 0.5 * real(i) : i in 0..<n }`");
                        }
                        mismatch(format!("the ends of a range are integers of one type, not {want} and {have}"))
                            .help("convert them to one type, for example `int(...)`")
                    });
                    // One error about a range is enough.
                    if self.diags.len() > before {
                        break;
                    }
                }
                let kind = self.facts.types.fresh_kind();
                self.facts.types.add(Node::Coll(kind, ty))
            }
            ExprKind::Seq(items) => {
                let elem = self.elements(&items, span);
                self.facts.types.seq(elem)
            }
            ExprKind::Array(items) => {
                let elem = self.elements(&items, span);
                self.facts.types.array(elem)
            }
            ExprKind::SeqComp { body, gens, guard } => {
                let elem = self.comprehension(body, &gens, guard, true);
                self.facts.types.seq(elem)
            }
            ExprKind::ArrayComp { body, gens, guard } => {
                let elem = self.comprehension(body, &gens, guard, false);
                self.facts.types.array(elem)
            }
            ExprKind::Guarded { body, cond } => {
                self.want_bool(cond, "the condition of a restricted comprehension");
                let elem = self.expr(body);
                self.facts.types.seq(elem)
            }
        }
    }

    fn name(&mut self, name: &Name) -> Ty {
        if let Some(local) = self.local(&name.text) {
            return local.ty;
        }
        let here = &self.facts.modules[self.module];
        if here.ast.broken.iter().any(|b| b.text == name.text) {
            return self.facts.types.error;
        }
        let is_func = here.funcs.contains_key(&name.text) || !builtins::lookup(&name.text).is_empty();
        if is_func && !CONSTANTS.iter().any(|c| c.0 == &*name.text) {
            let d = Diagnostic::new(
                Code::NotAFunction,
                format!("`{}` is a function; functions are not values", name.text),
                name.span,
                "used as a value",
            )
            .note("a function can only be called, or given to a built-in function such as `map` or `fold`")
            .help(format!("call it: `{}(...)`", name.text));
            self.diags.push(d);
            return self.facts.types.error;
        }
        if CONSTANTS.iter().any(|c| c.0 == &*name.text) {
            return self.facts.types.fresh_of(OperandClass::Float);
        }
        let mut known: Vec<&str> = self.scope.iter().map(|l| &*l.name).chain(here.funcs.keys().map(|k| &**k)).collect();
        builtins::names().for_each(|n| known.push(n));
        // Hundreds of suggestions are of no use.
        known.retain(|_| self.diags.len() < 100);
        let mut d = unknown("name", &name.text, name.span, known.into_iter());
        match &*name.text {
            "True" | "False" | "TRUE" | "FALSE" => {
                d.helps = vec![format!("write `{}`", name.text.to_lowercase())];
            }
            "None" | "null" | "nil" | "undefined" => {
                d.helps =
                    vec!["there is no missing value; use a value that cannot occur, or a `bool` beside it".into()];
            }
            "e" => d.helps = vec!["the base of the logarithm is `exp(1.0)`".into()],
            "self" | "this" => d.helps = vec!["functions belong to no value; name it as a parameter".into()],
            _ => {}
        }
        if here.types.contains_key(&name.text) || crate::infer::annotate::scalar_type(&name.text).is_some() {
            d = Diagnostic::new(
                Code::NotAFunction,
                format!("`{}` is a type, not a value", name.text),
                name.span,
                "a type",
            )
            .help(format!("a value of it is made by calling it: `{}(...)`", name.text));
        } else if here.modules.contains_key(&name.text) {
            d = Diagnostic::new(
                Code::NotAFunction,
                format!("`{}` is a module, not a value", name.text),
                name.span,
                "a module",
            )
            .help(format!("write the name of something in it: `{}.f(...)`", name.text));
        }
        self.diags.push(d);
        self.facts.types.error
    }

    /// `e.x`: a field of a record. (A name of a module is handled where it is called.)
    fn field(&mut self, base: ExprId, name: &Name) -> Ty {
        if let Some(module) = self.module_named(base) {
            let known = self.facts.modules[module].funcs.contains_key(&name.text);
            let broken = self.facts.modules[module].ast.broken.iter().any(|b| b.text == name.text);
            if broken {
                return self.facts.types.error;
            }
            let d = if known {
                Diagnostic::new(
                    Code::NotAFunction,
                    format!("`{}` is a function; functions are not values", name.text),
                    name.span,
                    "used as a value",
                )
                .help(format!("call it: `{}(...)`", name.text))
            } else {
                unknown("function", &name.text, name.span, self.facts.modules[module].funcs.keys().map(|k| &**k))
            };
            self.diags.push(d);
            return self.facts.types.error;
        }
        let have = self.expr(base);
        let ty = self.facts.types.fresh();
        self.demand(DemandKind::Field(have, name.text.clone(), ty), name.span);
        ty
    }

    /// The module that an expression names, unless a variable shadows it.
    pub(super) fn module_named(&self, e: ExprId) -> Option<usize> {
        match &self.ast()[e].kind {
            ExprKind::Name(m) if self.local(&m.text).is_none() => {
                self.facts.modules[self.module].modules.get(&m.text).copied()
            }
            _ => None,
        }
    }

    fn index(&mut self, base: ExprId, items: &[IndexItem]) -> Ty {
        let have = self.expr(base);
        for end in items.iter().flat_map(|i| match i {
            IndexItem::All(_) => vec![],
            IndexItem::At(e) => vec![*e],
            IndexItem::Range(a, b) => a.iter().chain(b).copied().collect(),
        }) {
            let ty = self.expr(end);
            let int = self.facts.types.int();
            self.expect(end, ty, int, |have, _| mismatch(format!("an index must be an `int`, not {have}")));
        }
        let mut elem = self.facts.types.fresh();
        let inner = elem;
        for _ in items {
            elem = self.facts.types.array(elem);
        }
        let n = items.len();
        let whole = self.text(base, "xs");
        self.expect(base, have, elem, |have, _| {
            if have.starts_with("`{") || have.starts_with("a sequence") {
                return mismatch(format!("a sequence has no positions, so {have} cannot be indexed"))
                    .note("a sequence is never all in memory; its elements come one after another")
                    .help(format!("materialise it first: `tab({whole})[...]`"));
            }
            let what = if n == 1 { "a vector".into() } else { format!("an array of {n} dimensions") };
            mismatch(format!("only {what} can be indexed like this, not {have}"))
        });
        items
            .iter()
            .rev()
            .fold(inner, |t, item| if matches!(item, IndexItem::At(_)) { t } else { self.facts.types.array(t) })
    }

    fn unary(&mut self, op: UnOp, a: ExprId) -> Ty {
        if op == UnOp::Neg && matches!(self.ast()[a].kind, ExprKind::Int { .. }) {
            let ty = self.expr(a);
            self.literals.pop();
            self.literals.push((self.module, a, true));
            return ty;
        }
        let ty = self.expr(a);
        let class = match op {
            UnOp::Neg => OperandClass::Num,
            UnOp::Not => {
                let bool = self.facts.types.bool();
                let text = self.operand_text(a);
                self.expect(a, ty, bool, |have, _| {
                    let d = mismatch(format!("`!` needs a `bool`, not {have}"));
                    match have {
                        "`bool`" => d,
                        h if h.starts_with("`[") || h.starts_with("`{") => {
                            d.help(format!("apply it to each element: `[ !x : x in {text} ]`"))
                        }
                        _ => d
                            .help(format!("to compare with zero write `{text} == 0`"))
                            .help(format!("to flip the bits of an integer write `~{text}`")),
                    }
                });
                return bool;
            }
            UnOp::BitNot => OperandClass::Bits,
        };
        let want = self.facts.types.fresh_of(class);
        let text = self.text(a, "xs");
        let before = self.diags.len();
        self.expect(a, ty, want, |have, _| {
            let d = no_instance(op.text(), have);
            match have.starts_with("`[") || have.starts_with("`{") {
                true => {
                    let (open, close) = if have.starts_with("`{") { ("{", "}") } else { ("[", "]") };
                    d.help(format!("apply it to each element: `{open} {}x : x in {text} {close}`", op.text()))
                }
                false if have == "`bool`" => d.help(format!("the opposite of a `bool` is `!{text}`")),
                false => d,
            }
        });
        if self.diags.len() > before { self.facts.types.error } else { ty }
    }

    /// The type of an operator applied to two operands of known types.
    pub(super) fn binary(&mut self, op: BinOp, (a, x): (ExprId, Ty), (b, y): (ExprId, Ty), span: Span) -> Ty {
        if op == BinOp::Append {
            let (kind, elem) = (self.facts.types.fresh_kind(), self.facts.types.fresh());
            let coll = self.facts.types.add(Node::Coll(kind, elem));
            self.expect(a, x, coll, |have, _| {
                no_instance("++", have).note("`++` puts vectors or sequences one after another")
            });
            let left = self.span(a);
            self.expect(b, y, coll, |have, want| {
                mismatch(format!("`++` needs two vectors or two sequences of one type, not {want} and {have}"))
                    .label(left, format!("this is {want}"))
            });
            return coll;
        }
        let class = match op {
            BinOp::Or | BinOp::And => {
                let before = self.diags.len();
                for (e, t) in [(a, x), (b, y)] {
                    let bool = self.facts.types.bool();
                    let text = self.operand_text(e);
                    self.expect(e, t, bool, |have, _| {
                        let d = mismatch(format!("`{}` needs `bool` on both sides, not {have}", op.text()));
                        if have.starts_with("`[") || have.starts_with("`{") {
                            return d;
                        }
                        d.help(format!("to compare with zero write `{text} != 0`")).help(format!(
                            "for the bits of integers write `{}`",
                            if op == BinOp::And { "&" } else { "|" }
                        ))
                    });
                    // The other operand probably has the same error.
                    if self.diags.len() > before {
                        break;
                    }
                }
                return self.facts.types.bool();
            }
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => OperandClass::Any,
            BinOp::BitOr | BinOp::BitXor | BinOp::BitAnd => OperandClass::Bits,
            BinOp::Shl | BinOp::Shr => OperandClass::Int,
            _ => OperandClass::Num,
        };
        let want = self.facts.types.fresh_of(class);
        let before = self.diags.len();
        let help = self.elementwise(op, (a, x), (b, y));
        let explain = |have: &str| {
            let d = no_instance(op.text(), have);
            match (&help, op) {
                (Some(help), _) => d.help(help.clone()),
                (None, BinOp::BitXor) if have.contains("real") || have.contains("f32") => {
                    d.help("a power is written `x ** y`")
                }
                _ => d,
            }
        };
        self.expect(a, x, want, |have, _| explain(have));
        if self.diags.len() == before {
            self.expect(b, y, want, |have, _| explain(have));
        }
        // Both operands are valid alone but differ: report both.
        if self.diags.len() == before + 1 && self.agreeable(x, class) && self.agreeable(y, class) {
            self.diags.pop();
            let (h, w) = (self.facts.quote(x), self.facts.quote(y));
            let (at, other) = (self.span(a), self.span(b));
            let mut d = Diagnostic::new(
                Code::TypeMismatch,
                format!("the operands of `{}` must have one type, but are {h} and {w}", op.text()),
                other,
                format!("this is {w}"),
            )
            .label(at, format!("this is {h}"));
            if let Some(help) = self.conversion((a, x, "first"), (b, y, "second")) {
                d = d.help(help);
            }
            self.diags.push(d);
        }
        let _ = span;
        match () {
            _ if op.is_comparison() => self.facts.types.bool(),
            _ if self.diags.len() > before => self.facts.types.error,
            _ => want,
        }
    }

    fn agreeable(&mut self, t: Ty, class: OperandClass) -> bool {
        match self.facts.types.node(t) {
            Node::Scalar(s) => class.has(*s),
            Node::Var(Some(_)) => true,
            _ => false,
        }
    }

    fn elements(&mut self, items: &[ExprId], span: Span) -> Ty {
        let elem = self.facts.types.fresh();
        if items.is_empty() {
            self.undetermined.push((elem, span));
        }
        for (k, &item) in items.iter().enumerate() {
            let have = self.expr(item);
            let at = self.span(items[0]);
            let before = self.diags.len();
            self.expect(item, have, elem, |have, want| {
                mismatch(format!("all elements must have one type, but the first is {want} and this is {have}"))
                    .label(at, format!("this is {want}"))
            });
            // The others probably have the same error.
            if self.diags.len() > before {
                items[k + 1..].iter().for_each(|i| {
                    self.expr(*i);
                });
                break;
            }
        }
        elem
    }

    fn comprehension(&mut self, body: ExprId, gens: &[Gen], guard: Option<ExprId>, seq: bool) -> Ty {
        let mut elems = Vec::new();
        for g in gens {
            let have = self.expr(g.source);
            let (kind, elem) = (self.facts.types.fresh_kind(), self.facts.types.fresh());
            let coll = self.facts.types.add(Node::Coll(kind, elem));
            let (pat, source) = (self.pattern_text(g), self.text(g.source, "n"));
            self.expect(g.source, have, coll, |have, _| {
                let d = mismatch(format!("a generator runs over a vector or sequence, not {have}"));
                match have {
                    "`int`" | "a number" | "an integer" => {
                        d.help(format!("to count from 0, write a range: `{pat} in 0..<{source}`"))
                    }
                    _ => d,
                }
            });
            if seq && self.is_counting(g.source) {
                self.facts.types.prefer_seq(kind);
            }
            elems.push(elem);
        }
        let depth = self.scope.len();
        for (g, elem) in gens.iter().zip(elems) {
            self.bind_pattern(g.pat, elem);
        }
        if let Some(guard) = guard {
            self.want_bool(guard, "the condition of a comprehension");
        }
        let result = self.expr(body);
        self.scope.truncate(depth);
        result
    }

    /// Whether an expression counts (a range or `iota`), so that it need not be materialised to be traversed.
    pub(super) fn is_counting(&self, e: ExprId) -> bool {
        match &self.ast()[e].kind {
            ExprKind::Range { .. } => true,
            ExprKind::Call { func, .. } => matches!(&self.ast()[*func].kind, ExprKind::Name(n) if &*n.text == "iota"),
            _ => false,
        }
    }

    pub(super) fn want_bool(&mut self, e: ExprId, what: &str) {
        let have = self.expr(e);
        let bool = self.facts.types.bool();
        self.expect(e, have, bool, |have, _| mismatch(format!("{what} must be a `bool`, not {have}")));
    }

    fn pattern_text(&self, g: &Gen) -> String {
        let span = self.ast()[g.pat].span;
        self.facts.texts[self.module].get(span.lo as usize..span.hi as usize).unwrap_or("i").to_string()
    }
}

pub(super) fn mismatch(message: String) -> Diagnostic {
    Diagnostic::new(Code::TypeMismatch, message, Span::NONE, "")
}

fn no_instance(op: &str, have: &str) -> Diagnostic {
    Diagnostic::new(Code::NoInstance, format!("`{op}` is not defined for {have}"), Span::NONE, "")
}

pub(crate) fn suffix_type(s: ScalarSuffix) -> ScalarType {
    ScalarType::from_name(s.text()).unwrap_or(ScalarType::I64)
}
