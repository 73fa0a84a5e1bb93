//! Written types, and type definitions.

use super::Infer;
use super::env::{Record, TypeDefId, unknown};
use super::types::{Node, Ty};
use crate::ast::{BinOp, ExprId, ExprKind, IndexItem, Name, TypeId, TypeKind};
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::scalar::ScalarType;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The scalar type of a written name.
pub(crate) fn scalar_type(name: &str) -> Option<ScalarType> {
    match name {
        "int" => Some(ScalarType::I64),
        "real" => Some(ScalarType::F64),
        _ => ScalarType::from_name(name),
    }
}

/// The maximal depth of type definitions that use each other.
const MAX_EXPANSION: usize = 500;

/// The maximal number of uses of type definitions in a program, including those within definitions.
const MAX_EXPANSIONS: usize = 200_000;

impl Infer {
    /// Gives every record type its number and its fields.
    pub(super) fn declare_records(&mut self) {
        let mut ids = Vec::new();
        for (module, m) in self.facts.modules.iter().enumerate() {
            for (index, def) in m.ast.type_defs.iter().enumerate() {
                if let TypeKind::Record(_) = m.ast[def.body].kind {
                    ids.push(TypeDefId { module, index });
                }
            }
        }
        for &id in &ids {
            let def = self.facts.type_def(id).clone();
            let params: Vec<Ty> = def.params.iter().map(|_| self.facts.types.fresh()).collect();
            self.generalized.extend(params.iter().copied());
            self.facts.record_of.insert(id, self.facts.records.len());
            let record = Record { def: id, name: def.name.text.clone(), params, fields: Vec::new() };
            self.facts.records.push(Rc::new(record));
        }
        self.in_type_def = true;
        for (number, id) in ids.into_iter().enumerate() {
            self.module = id.module;
            let def = self.facts.type_def(id).clone();
            let TypeKind::Record(written) = self.ast()[def.body].kind.clone() else { continue };
            let env: HashMap<Rc<str>, Ty> =
                def.params.iter().map(|p| p.text.clone()).zip(self.facts.records[number].params.clone()).collect();
            let mut fields: Vec<(Rc<str>, Ty)> = Vec::new();
            let mut seen: HashMap<Rc<str>, Span> = HashMap::new();
            for (name, ty) in written {
                if let Some(first) = seen.insert(name.text.clone(), name.span) {
                    let d = Diagnostic::new(
                        Code::Duplicate,
                        format!("two fields are called `{}`", name.text),
                        name.span,
                        "again here",
                    )
                    .label(first, "first here");
                    self.diags.push(d);
                }
                let ty = self.type_in(ty, &env, 0);
                fields.push((name.text, ty));
            }
            if self.contains_record(&fields, number) {
                let d = Diagnostic::new(
                    Code::InfiniteType,
                    format!("`{}` contains itself", def.name.text),
                    def.name.span,
                    "a type in itself",
                )
                .note("values have a fixed layout, so a type cannot be part of itself")
                .help("keep all elements in one vector, and store the positions of others: `tail: int`");
                self.diags.push(d);
                let error = self.facts.types.error;
                fields.iter_mut().for_each(|(_, t)| *t = error);
            }
            Rc::make_mut(&mut self.facts.records[number]).fields = fields;
        }
        self.check_aliases();
        self.in_type_def = false;
    }

    /// Reads the other definitions too, so that an error in one is reported even if nothing uses it.
    fn check_aliases(&mut self) {
        for module in 0..self.facts.modules.len() {
            self.module = module;
            for index in 0..self.facts.modules[module].ast.type_defs.len() {
                let id = TypeDefId { module, index };
                if self.facts.record_of.contains_key(&id) || self.expanded.contains_key(&id) {
                    continue;
                }
                let def = self.facts.type_def(id).clone();
                let env: HashMap<Rc<str>, Ty> =
                    def.params.iter().map(|p| (p.text.clone(), self.facts.types.fresh())).collect();
                self.generalized.extend(env.values().copied());
                self.expanding.push(id);
                let ty = self.type_in(def.body, &env, 0);
                self.expanding.pop();
                if env.is_empty() {
                    self.expanded.insert(id, ty);
                }
            }
        }
    }

    /// Whether one of these fields is, or contains, the record of that number.
    fn contains_record(&self, fields: &[(Rc<str>, Ty)], number: usize) -> bool {
        let mut pending: Vec<Ty> = fields.iter().map(|(_, t)| *t).collect();
        let mut seen = HashSet::new();
        while let Some(t) = pending.pop() {
            let t = self.facts.types.root(t);
            if let Node::Record(r, _) = self.facts.types.node(t) {
                if *r == number {
                    return true;
                }
                if seen.insert(Err(*r)) {
                    pending.extend(self.facts.records[*r].fields.iter().map(|(_, t)| *t));
                }
            }
            let parts = self.facts.types.parts(t);
            if !parts.is_empty() && seen.insert(Ok(t)) {
                pending.extend(parts);
            }
        }
        false
    }

    /// The type of a type expression; its sizes are inferred as integers.
    pub(super) fn type_expr(&mut self, t: TypeId) -> Ty {
        self.type_in(t, &HashMap::new(), 0)
    }

    fn type_in(&mut self, t: TypeId, env: &HashMap<Rc<str>, Ty>, depth: usize) -> Ty {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.type_kind(t, env, depth))
    }

    fn type_kind(&mut self, t: TypeId, env: &HashMap<Rc<str>, Ty>, depth: usize) -> Ty {
        let written = self.ast()[t].clone();
        match written.kind {
            TypeKind::Error => self.facts.types.error,
            TypeKind::Tuple(parts) => {
                let parts = parts.into_iter().map(|p| self.type_in(p, env, depth)).collect();
                self.facts.types.tuple(parts)
            }
            TypeKind::Seq(elem) => {
                let elem = self.type_in(elem, env, depth);
                self.facts.types.seq(elem)
            }
            TypeKind::Record(_) => {
                let d = Diagnostic::new(
                    Code::Unexpected,
                    "records need a name",
                    written.span,
                    "a record type without a name",
                )
                .help("define it: `type point = { x: real, y: real }`, then write `point` here");
                self.diags.push(d);
                self.facts.types.error
            }
            TypeKind::Array { binder, elem, sizes } => {
                let scope = self.scope.len();
                for s in &sizes {
                    if self.in_type_def {
                        self.size_form(*s);
                    } else {
                        self.size_expr(*s);
                    }
                }
                if let Some(b) = &binder {
                    let int = self.facts.types.int();
                    self.bind(b, int);
                }
                let mut ty = self.type_in(elem, env, depth);
                self.scope.truncate(scope);
                for _ in 0..sizes.len().max(1) {
                    ty = self.facts.types.array(ty);
                }
                ty
            }
            TypeKind::Name { module, name, args } => {
                if module.is_none()
                    && let Some(t) = env.get(&name.text)
                {
                    return *t;
                }
                if module.is_none()
                    && let Some(s) = scalar_type(&name.text)
                {
                    if !args.is_empty() {
                        let d = Diagnostic::new(
                            Code::WrongArity,
                            format!("type `{}` takes no arguments", name.text),
                            written.span,
                            "used here",
                        )
                        .help(format!("a vector is written `[{}]`", name.text));
                        self.diags.push(d);
                    }
                    return self.facts.types.scalar(s);
                }
                let args: Vec<Ty> = args.into_iter().map(|a| self.type_in(a, env, depth)).collect();
                self.named_type(module.as_ref(), &name, args, depth)
            }
        }
    }

    fn named_type(&mut self, module: Option<&Name>, name: &Name, args: Vec<Ty>, depth: usize) -> Ty {
        let Some(id) = self.find_type(module, name) else { return self.facts.types.error };
        let def = self.facts.type_def(id).clone();
        if def.params.len() != args.len() {
            let takes = match def.params.len() {
                0 => "no arguments".to_string(),
                n => format!("{}, not {}", super::call::count(n), args.len()),
            };
            let mut d = Diagnostic::new(
                Code::WrongArity,
                format!("type `{}` takes {takes}", name.text),
                name.span,
                "used here",
            )
            .label(def.name.span, "defined here");
            if !def.params.is_empty() {
                let example = vec!["int"; def.params.len()].join(", ");
                d = d.help(format!("say what it holds, for example `{}[{example}]`", name.text));
            }
            self.diags.push(d);
            return self.facts.types.error;
        }
        if let Some(&number) = self.facts.record_of.get(&id) {
            return self.facts.types.add(Node::Record(number, args));
        }
        if let Some(ty) = self.expanded.get(&id) {
            return *ty;
        }
        if self.expanding.contains(&id) {
            self.report_circle(id);
            return self.facts.types.error;
        }
        self.expansions += 1;
        if depth > MAX_EXPANSION || self.expansions > MAX_EXPANSIONS {
            self.expansions = MAX_EXPANSIONS;
            let d = Diagnostic::new(
                Code::TooDeep,
                format!("the type `{}` uses too many others", name.text),
                name.span,
                "expanded here",
            )
            .note(format!("type definitions may use each other {MAX_EXPANSION} deep"))
            .help("define a record: its name stands for itself");
            let reported = self.diags.iter().any(|d| d.code == Code::TooDeep);
            if !reported {
                self.diags.push(d);
            }
            return self.facts.types.error;
        }
        let simple = args.is_empty();
        let env: HashMap<Rc<str>, Ty> = def.params.iter().map(|p| p.text.clone()).zip(args).collect();
        let here = std::mem::replace(&mut self.module, id.module);
        let outside = std::mem::replace(&mut self.in_type_def, true);
        self.expanding.push(id);
        let ty = self.type_in(def.body, &env, depth + 1);
        self.expanding.pop();
        self.module = here;
        self.in_type_def = outside;
        if simple {
            self.expanded.insert(id, ty);
        }
        ty
    }

    /// A definition that refers to itself.
    fn report_circle(&mut self, id: TypeDefId) {
        let circle: Vec<TypeDefId> = self.expanding.iter().copied().skip_while(|d| *d != id).collect();
        let name = self.facts.type_def(id).name.clone();
        let mut d = Diagnostic::new(
            Code::InfiniteType,
            format!("the type `{}` is defined by itself", name.text),
            name.span,
            "a type in itself",
        )
        .note("a type stands for what is written after its `=`, so this would never end")
        .help("keep all elements in one vector, and store the positions of others in it");
        for other in circle.iter().skip(1).take(4) {
            let other = self.facts.type_def(*other).name.clone();
            d = d.label(other.span, "which leads back");
        }
        self.diags.push(d);
        let error = self.facts.types.error;
        self.expanded.extend(circle.into_iter().map(|d| (d, error)));
    }

    pub(super) fn find_type(&mut self, module: Option<&Name>, name: &Name) -> Option<TypeDefId> {
        let home = match module {
            None => self.module,
            Some(m) => match self.facts.modules[self.module].modules.get(&m.text) {
                Some(found) => *found,
                None => {
                    let here = &self.facts.modules[self.module];
                    if !here.ast.broken.iter().any(|b| b.text == m.text) {
                        let mut d = unknown("module", &m.text, m.span, here.modules.keys().map(|k| &**k));
                        if d.helps.is_empty() {
                            let library = crate::library::text(&m.text).is_some();
                            let origin = if library { m.text.to_string() } else { format!("\"{}.dk\"", m.text) };
                            d = d.help(format!("import it first: `import {origin}`"));
                        }
                        self.diags.push(d);
                    }
                    return None;
                }
            },
        };
        let here = &self.facts.modules[home];
        if let Some(id) = here.types.get(&name.text) {
            return Some(*id);
        }
        if here.ast.broken.iter().any(|b| b.text == name.text) {
            return None;
        }
        let scalars = ["int", "real"].into_iter().chain(ScalarType::ALL.iter().map(|t| t.name()));
        let mut d = unknown("type", &name.text, name.span, here.types.keys().map(|k| &**k).chain(scalars));
        let meant = match &*name.text {
            "float" | "double" | "Float" | "Double" => Some("real"),
            "integer" | "Int" | "usize" | "isize" | "long" => Some("int"),
            "boolean" | "Bool" => Some("bool"),
            "char" | "byte" => Some("u8"),
            "string" | "str" | "String" | "text" => Some("[u8]"),
            "float32" | "single" => Some("f32"),
            "float64" => Some("f64"),
            "int8" => Some("i8"),
            "int16" => Some("i16"),
            "int32" => Some("i32"),
            "int64" => Some("i64"),
            _ => None,
        };
        if let Some(meant) = meant {
            d.helps = vec![format!("in Deckle it is called `{meant}`")];
        }
        self.diags.push(d);
        None
    }

    /// Checks that an expression has a form that a size can have; returns whether it does.
    fn size_form(&mut self, e: ExprId) -> bool {
        let mut pending = vec![e];
        while let Some(e) = pending.pop() {
            let ok = match &self.ast()[e].kind {
                ExprKind::Int { .. } | ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Error => true,
                ExprKind::Binary(op, a, b) => {
                    pending.extend([*b, *a]);
                    matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div)
                }
                ExprKind::Index { base, items } => {
                    let is_place = matches!(self.ast()[*base].kind, ExprKind::Name(_) | ExprKind::Field(..));
                    match items[..] {
                        [IndexItem::At(i)] => {
                            pending.push(i);
                            is_place
                        }
                        _ => false,
                    }
                }
                ExprKind::Call { func, args } => {
                    pending.extend(args.iter().map(|a| a.value));
                    let known =
                        matches!(&self.ast()[*func].kind, ExprKind::Name(n) if matches!(&*n.text, "min" | "max"));
                    known && args.len() == 2
                }
                _ => false,
            };
            if !ok {
                let span = self.span(e);
                let d = Diagnostic::new(Code::Unexpected, "this cannot be a size", span, "not a size").note(
                    "sizes are made of integers, names, `+`, `-`, `*`, `/`, `min`, `max`, and elements of integer vectors such as `off[i+1]`",
                );
                self.diags.push(d);
                return false;
            }
        }
        true
    }

    /// Checks an expression that is used as a size.
    fn size_expr(&mut self, e: ExprId) {
        if !self.size_form(e) {
            return;
        }
        let have = self.expr(e);
        let int = self.facts.types.int();
        self.expect(e, have, int, |have, _| {
            Diagnostic::new(
                Code::TypeMismatch,
                format!("a size must be an `int`, not {have}"),
                deckle_diag::Span::NONE,
                "",
            )
            .help("elements are counted in `int`: make it one where it comes from")
        });
    }
}
