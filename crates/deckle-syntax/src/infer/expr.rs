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
    /// The type of an expression, which is also noted for lowering.
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
                self.expect(els, no, yes, |have, want| {
                    Diagnostic::new(
                        Code::TypeMismatch,
                        format!("the branches of this `if` differ: {want} and {have}"),
                        Span::NONE,
                        "",
                    )
                    .label(at, format!("this is {want}"))
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
                self.expect(body, next, state, |have, want| {
                    mismatch(format!("the loop starts with {want}, but a round gives {have}"))
                        .label(at, format!("starts as {want}"))
                });
                self.scope.truncate(depth);
                state
            }
            ExprKind::Lambda { .. } | ExprKind::Operator(_) => {
                let d = Diagnostic::new(Code::NotAFunction, "functions are not values", span, "a function here")
                    .note("a function can only be the argument of an operator such as `map` or `fold`")
                    .help("name it with `def`, or write it where it is used");
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
                for end in [Some(lo), Some(hi), step].into_iter().flatten() {
                    let have = self.expr(end);
                    self.expect(end, have, ty, |have, want| {
                        mismatch(format!("the ends of a range are integers of one type: {have} beside {want}"))
                    });
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
            .help(format!("call it: `{}(...)`", name.text));
            self.diags.push(d);
            return self.facts.types.error;
        }
        if CONSTANTS.iter().any(|c| c.0 == &*name.text) {
            return self.facts.types.fresh_of(OperandClass::Float);
        }
        let mut known: Vec<String> = self.scope.iter().map(|l| l.name.to_string()).collect();
        known.extend(here.funcs.keys().map(|k| k.to_string()));
        known.extend(builtins::names().map(str::to_string));
        let mut d = unknown("name", &name.text, name.span, known.iter().map(|s| s.as_str()));
        if here.modules.contains_key(&name.text) {
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

    /// The module that an expression names, unless a variable hides it.
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
        self.expect(base, have, elem, |have, _| {
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
                self.expect(a, ty, bool, |have, _| {
                    mismatch(format!("`!` needs a `bool`, not {have}"))
                        .help("to flip the bits of an integer write `~x`")
                });
                return ty;
            }
            UnOp::BitNot => OperandClass::Bits,
        };
        let want = self.facts.types.fresh_of(class);
        self.expect(a, ty, want, |have, _| no_instance(op.text(), have));
        ty
    }

    /// The type of an operator applied to two operands of known types.
    pub(super) fn binary(&mut self, op: BinOp, (a, x): (ExprId, Ty), (b, y): (ExprId, Ty), span: Span) -> Ty {
        if op == BinOp::Append {
            let (kind, elem) = (self.facts.types.fresh_kind(), self.facts.types.fresh());
            let coll = self.facts.types.add(Node::Coll(kind, elem));
            self.expect(a, x, coll, |have, _| {
                no_instance("++", have).note("`++` puts vectors or sequences one after another")
            });
            self.expect(b, y, coll, |have, want| {
                mismatch(format!("`++` needs two collections of one type: {want} and {have}"))
            });
            return coll;
        }
        let class = match op {
            BinOp::Or | BinOp::And => {
                for (e, t) in [(a, x), (b, y)] {
                    let bool = self.facts.types.bool();
                    self.expect(e, t, bool, |have, _| {
                        mismatch(format!("`{}` needs `bool` on both sides, not {have}", op.text()))
                            .help("for the bits of integers write `&` and `|`")
                    });
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
        self.expect(a, x, want, |have, _| no_instance(op.text(), have));
        self.expect(b, y, want, |have, _| no_instance(op.text(), have));
        // Both sides are fine alone but differ: say so with both in view.
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
            for help in self.mismatch_help(x, y).into_iter().take(1) {
                d = d.help(help.replace("convert it", "convert the first"));
            }
            self.diags.push(d);
        }
        let _ = span;
        if op.is_comparison() { self.facts.types.bool() } else { want }
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
            self.expect(item, have, elem, |have, want| {
                mismatch(format!("all elements must have one type: element {k} is {have}, the first is {want}"))
                    .label(at, format!("this is {want}"))
            });
        }
        elem
    }

    fn comprehension(&mut self, body: ExprId, gens: &[Gen], guard: Option<ExprId>, seq: bool) -> Ty {
        let mut elems = Vec::new();
        for g in gens {
            let have = self.expr(g.source);
            let (kind, elem) = (self.facts.types.fresh_kind(), self.facts.types.fresh());
            let coll = self.facts.types.add(Node::Coll(kind, elem));
            self.expect(g.source, have, coll, |have, _| {
                mismatch(format!("a generator runs over a vector or sequence, not {have}"))
                    .help("to count, write a range: `i in 0..<n`")
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
}

pub(super) fn mismatch(message: String) -> Diagnostic {
    Diagnostic::new(Code::TypeMismatch, message, Span::NONE, "")
}

fn no_instance(op: &str, have: &str) -> Diagnostic {
    let d = Diagnostic::new(Code::NoInstance, format!("`{op}` is not defined for {have}"), Span::NONE, "");
    if have.starts_with("`[") || have.starts_with("`{") {
        return d.help(format!(
            "apply it to each element: `map(\\x -> x {op} ..., xs)`, or `[ x {op} y : x in xs; y in ys ]`"
        ));
    }
    d
}

pub(crate) fn suffix_type(s: ScalarSuffix) -> ScalarType {
    ScalarType::from_name(s.text()).unwrap_or(ScalarType::I64)
}
