//! The tree as s-expressions, one line per item: compared by tests.

use std::fmt::Write;

use crate::ast::{Def, ExprId, ExprKind, Gen, Import, IndexItem, LoopKind, Module, Name, PatId, PatKind, ScalarSuffix};
use crate::ast::{TypeDef, TypeId, TypeKind, UnOp};

impl Module {
    /// All items.
    pub fn dump(&self) -> String {
        let mut dump = Dump { module: self, out: String::new() };
        self.imports.iter().for_each(|i| dump.import(i));
        self.type_defs.iter().for_each(|t| dump.type_def(t));
        self.defs.iter().for_each(|d| dump.def(d));
        dump.out
    }

    /// One expression.
    pub fn dump_expr(&self, expr: ExprId) -> String {
        let mut dump = Dump { module: self, out: String::new() };
        dump.expr(expr);
        dump.out
    }
}

struct Dump<'a> {
    module: &'a Module,
    out: String,
}

impl Dump<'_> {
    fn put(&mut self, text: impl std::fmt::Display) {
        let _ = write!(self.out, "{text}");
    }

    fn spaced<T>(&mut self, items: impl IntoIterator<Item = T>, mut one: impl FnMut(&mut Self, T)) {
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.put(" ");
            }
            one(self, item);
        }
    }

    fn names(&mut self, names: &[Name]) {
        self.spaced(names, |d, n| d.put(&n.text));
    }

    fn import(&mut self, import: &Import) {
        self.put(format_args!("(import {}", import.origin));
        if let Some(alias) = &import.alias {
            self.put(format_args!(" as {}", alias.text));
        }
        if let Some(names) = &import.names {
            self.put(" (");
            self.names(names);
            self.put(")");
        }
        self.put(")\n");
    }

    fn type_def(&mut self, def: &TypeDef) {
        self.put(format_args!("(type {}", def.name.text));
        if !def.params.is_empty() {
            self.put("[");
            self.names(&def.params);
            self.put("]");
        }
        self.put(" ");
        self.ty(def.body);
        self.put(")\n");
    }

    fn def(&mut self, def: &Def) {
        self.put(format_args!("(def {} (", def.name.text));
        self.spaced(&def.params, |d, p| {
            d.pat(p.pat);
            d.annotation(p.ty);
        });
        self.put(") ");
        if def.ret.is_some() {
            self.annotation(def.ret);
            self.put(" ");
        }
        self.expr(def.body);
        self.put(")\n");
    }

    fn annotation(&mut self, ty: Option<TypeId>) {
        if let Some(ty) = ty {
            self.put(":");
            self.ty(ty);
        }
    }

    fn pat(&mut self, pat: PatId) {
        match &self.module[pat].kind {
            PatKind::Name(name) => self.put(&name.text),
            PatKind::Wild => self.put("_"),
            PatKind::Tuple(parts) => {
                self.put("(tuple");
                for part in parts {
                    self.put(" ");
                    self.pat(*part);
                }
                self.put(")");
            }
            PatKind::Error => self.put("(error)"),
        }
    }

    fn ty(&mut self, ty: TypeId) {
        match &self.module[ty].kind {
            TypeKind::Name { module, name, args } => {
                if let Some(module) = module {
                    self.put(format_args!("{}.", module.text));
                }
                self.put(&name.text);
                if !args.is_empty() {
                    self.put("[");
                    self.spaced(args, |d, a| d.ty(*a));
                    self.put("]");
                }
            }
            TypeKind::Tuple(parts) => {
                self.put("(");
                self.spaced(parts, |d, p| d.ty(*p));
                self.put(")");
            }
            TypeKind::Seq(elem) => {
                self.put("{");
                self.ty(*elem);
                self.put("}");
            }
            TypeKind::Record(fields) => {
                self.put("{");
                self.spaced(fields, |d, (name, ty)| {
                    d.put(format_args!("{}:", name.text));
                    d.ty(*ty);
                });
                self.put("}");
            }
            TypeKind::Array { binder, elem, sizes } => {
                self.put("[");
                if let Some(binder) = binder {
                    self.put(format_args!("{} -> ", binder.text));
                }
                self.ty(*elem);
                if !sizes.is_empty() {
                    self.put("; ");
                    self.spaced(sizes, |d, s| d.expr(*s));
                }
                self.put("]");
            }
            TypeKind::Error => self.put("(error)"),
        }
    }

    fn expr(&mut self, expr: ExprId) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_here(&self.module[expr].kind));
    }

    /// `(head a b)`
    fn node(&mut self, head: &str, parts: &[ExprId]) {
        self.put(format_args!("({head}"));
        for part in parts {
            self.put(" ");
            self.expr(*part);
        }
        self.put(")");
    }

    fn expr_here(&mut self, kind: &ExprKind) {
        let suffixed = |s: &Option<ScalarSuffix>| s.map_or("", ScalarSuffix::text);
        match kind {
            ExprKind::Int { value, suffix } => self.put(format_args!("{value}{}", suffixed(suffix))),
            ExprKind::Float { text, suffix, .. } => self.put(format_args!("{text}{}", suffixed(suffix))),
            ExprKind::Bool(value) => self.put(value),
            ExprKind::Char(byte) => self.put(format_args!("'{}'", byte.escape_ascii())),
            ExprKind::Str(bytes) => self.put(format_args!("\"{}\"", bytes.escape_ascii())),
            ExprKind::Name(name) => self.put(&name.text),
            ExprKind::Tuple(parts) => self.node("tuple", parts),
            ExprKind::Seq(parts) => self.node("seq", parts),
            ExprKind::Array(parts) => self.node("array", parts),
            ExprKind::If { cond, then, els } => self.node("if", &[*cond, *then, *els]),
            ExprKind::Guarded { body, cond } => self.node("guarded", &[*body, *cond]),
            ExprKind::Binary(op, a, b) => self.node(op.text(), &[*a, *b]),
            ExprKind::Unary(UnOp::Neg, a) => self.node("neg", &[*a]),
            ExprKind::Unary(UnOp::Not, a) => self.node("not", &[*a]),
            ExprKind::Unary(UnOp::BitNot, a) => self.node("bitnot", &[*a]),
            ExprKind::Operator(op) => self.put(format_args!("(op {})", op.text())),
            ExprKind::Error => self.put("(error)"),
            ExprKind::Field(base, name) => {
                self.put("(. ");
                self.expr(*base);
                self.put(format_args!(" {})", name.text));
            }
            ExprKind::Component(base, n, _) => {
                self.put("(. ");
                self.expr(*base);
                self.put(format_args!(" {n})"));
            }
            ExprKind::Range { lo, hi, inclusive, step } => {
                self.put(if *inclusive { "(.. " } else { "(..< " });
                self.spaced([*lo, *hi], |d, e| d.expr(e));
                if let Some(step) = step {
                    self.put(" by ");
                    self.expr(*step);
                }
                self.put(")");
            }
            ExprKind::Let { pat, ty, value, body } => {
                self.put("(let ");
                self.pat(*pat);
                self.annotation(*ty);
                self.put(" ");
                self.spaced([*value, *body], |d, e| d.expr(e));
                self.put(")");
            }
            ExprKind::Lambda { params, body } => {
                self.put("(lambda (");
                self.spaced(params, |d, p| d.pat(*p));
                self.put(") ");
                self.expr(*body);
                self.put(")");
            }
            ExprKind::Loop { pat, init, kind, body } => self.loop_expr(*pat, *init, kind, *body),
            ExprKind::Call { func, args } => {
                self.put("(call ");
                self.expr(*func);
                for arg in args {
                    self.put(" ");
                    if let Some(name) = &arg.name {
                        self.put(format_args!("{}=", name.text));
                    }
                    self.expr(arg.value);
                }
                self.put(")");
            }
            ExprKind::With { base, fields } => {
                self.put("(with ");
                self.expr(*base);
                for (name, value) in fields {
                    self.put(format_args!(" {}=", name.text));
                    self.expr(*value);
                }
                self.put(")");
            }
            ExprKind::Index { base, items } => {
                self.put("(index ");
                self.expr(*base);
                items.iter().for_each(|i| self.index_item(i));
                self.put(")");
            }
            ExprKind::SeqComp { body, gens, guard } => self.comprehension("seq-comp", *body, gens, *guard),
            ExprKind::ArrayComp { body, gens, guard } => self.comprehension("array-comp", *body, gens, *guard),
        }
    }

    fn loop_expr(&mut self, pat: PatId, init: ExprId, kind: &LoopKind, body: ExprId) {
        self.put("(loop ");
        self.pat(pat);
        self.put(" ");
        self.expr(init);
        match kind {
            LoopKind::While(cond) => {
                self.put(" (while ");
                self.expr(*cond);
            }
            LoopKind::For { var, lo, hi, inclusive } => {
                self.put(format_args!(" (for {}", var.text));
                if let Some(lo) = lo {
                    self.put(" in ");
                    self.expr(*lo);
                }
                self.put(match (lo, inclusive) {
                    (None, _) => " < ",
                    (_, true) => " .. ",
                    (_, false) => " ..< ",
                });
                self.expr(*hi);
            }
        }
        self.put(") ");
        self.expr(body);
        self.put(")");
    }

    fn index_item(&mut self, item: &IndexItem) {
        self.put(" ");
        match item {
            IndexItem::All(_) => self.put(":"),
            IndexItem::At(index) => self.expr(*index),
            IndexItem::Range(lo, hi) => {
                lo.iter().for_each(|e| self.expr(*e));
                self.put(":");
                hi.iter().for_each(|e| self.expr(*e));
            }
        }
    }

    fn comprehension(&mut self, head: &str, body: ExprId, gens: &[Gen], guard: Option<ExprId>) {
        self.put(format_args!("({head} "));
        self.expr(body);
        for one in gens {
            self.put(" (");
            self.pat(one.pat);
            self.put(" ");
            self.expr(one.source);
            self.put(")");
        }
        if let Some(guard) = guard {
            self.put(" | ");
            self.expr(guard);
        }
        self.put(")");
    }
}
