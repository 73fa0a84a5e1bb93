//! Written types, and type definitions.

use super::Infer;
use super::env::{Record, TypeDefId, unknown};
use super::types::{Node, Ty};
use crate::ast::{ExprKind, Name, TypeId, TypeKind};
use deckle_diag::{Code, Diagnostic};
use deckle_ir::scalar::ScalarType;
use std::collections::HashMap;
use std::rc::Rc;

/// The scalar type of a written name.
pub(crate) fn scalar_type(name: &str) -> Option<ScalarType> {
    match name {
        "int" => Some(ScalarType::I64),
        "real" => Some(ScalarType::F64),
        _ => ScalarType::from_name(name),
    }
}

/// How deeply type definitions may use each other.
const MAX_EXPANSION: usize = 64;

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
            self.facts.records.push(Record { def: id, name: def.name.text.clone(), params, fields: Vec::new() });
        }
        self.in_type_def = true;
        for (number, id) in ids.into_iter().enumerate() {
            self.module = id.module;
            let def = self.facts.type_def(id).clone();
            let TypeKind::Record(written) = self.ast()[def.body].kind.clone() else { continue };
            let env: HashMap<Rc<str>, Ty> =
                def.params.iter().map(|p| p.text.clone()).zip(self.facts.records[number].params.clone()).collect();
            let mut fields: Vec<(Rc<str>, Ty)> = Vec::new();
            for (name, ty) in written {
                if fields.iter().any(|(n, _)| *n == name.text) {
                    let d = Diagnostic::new(
                        Code::Duplicate,
                        format!("two fields are called `{}`", name.text),
                        name.span,
                        "again here",
                    );
                    self.diags.push(d);
                }
                let ty = self.type_in(ty, &env, 0);
                fields.push((name.text, ty));
            }
            if fields.iter().any(|(_, t)| self.contains_record(*t, number, 0)) {
                let d = Diagnostic::new(
                    Code::InfiniteType,
                    format!("`{}` contains itself", def.name.text),
                    def.name.span,
                    "recursive type",
                )
                .note("values have a fixed layout, so a type cannot be part of itself")
                .help("store the indices of other elements instead of the elements");
                self.diags.push(d);
                fields.clear();
            }
            self.facts.records[number].fields = fields;
        }
        self.in_type_def = false;
    }

    fn contains_record(&self, t: Ty, number: usize, depth: usize) -> bool {
        if depth > MAX_EXPANSION {
            return true;
        }
        if let Node::Record(r, _) = self.facts.types.node(t)
            && (*r == number
                || self.facts.records[*r].fields.iter().any(|(_, f)| self.contains_record(*f, number, depth + 1)))
        {
            return true;
        }
        self.facts.types.parts(t).into_iter().any(|p| self.contains_record(p, number, depth + 1))
    }

    /// The type that is written; its sizes are inferred as integers.
    pub(super) fn type_expr(&mut self, t: TypeId) -> Ty {
        self.type_in(t, &HashMap::new(), 0)
    }

    fn type_in(&mut self, t: TypeId, env: &HashMap<Rc<str>, Ty>, depth: usize) -> Ty {
        let written = self.ast()[t].clone();
        if depth > MAX_EXPANSION {
            let d = Diagnostic::new(
                Code::InfiniteType,
                "this type expands without end",
                written.span,
                "a definition that uses itself?",
            );
            self.diags.push(d);
            return self.facts.types.error;
        }
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
                if !self.in_type_def {
                    for s in &sizes {
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
            let d = Diagnostic::new(
                Code::WrongArity,
                format!("type `{}` takes {} arguments, not {}", name.text, def.params.len(), args.len()),
                name.span,
                "used here",
            )
            .label(def.name.span, "defined here");
            self.diags.push(d);
            return self.facts.types.error;
        }
        if let Some(&number) = self.facts.record_of.get(&id) {
            return self.facts.types.add(Node::Record(number, args));
        }
        let env: HashMap<Rc<str>, Ty> = def.params.iter().map(|p| p.text.clone()).zip(args).collect();
        let here = std::mem::replace(&mut self.module, id.module);
        let outside = std::mem::replace(&mut self.in_type_def, true);
        let ty = self.type_in(def.body, &env, depth + 1);
        self.module = here;
        self.in_type_def = outside;
        ty
    }

    pub(super) fn find_type(&mut self, module: Option<&Name>, name: &Name) -> Option<TypeDefId> {
        let home = match module {
            None => self.module,
            Some(m) => match self.facts.modules[self.module].modules.get(&m.text) {
                Some(found) => *found,
                None => {
                    let known = self.facts.modules[self.module].modules.keys().map(|k| &**k);
                    let d = unknown("module", &m.text, m.span, known);
                    self.diags.push(d);
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
            "string" | "str" | "String" => Some("[u8]"),
            _ => None,
        };
        if let Some(meant) = meant {
            d.helps = vec![format!("here it is called `{meant}`")];
        }
        self.diags.push(d);
        None
    }

    /// Checks an expression that stands for a size.
    fn size_expr(&mut self, e: crate::ast::ExprId) {
        let ok = matches!(
            self.ast()[e].kind,
            ExprKind::Int { .. }
                | ExprKind::Name(_)
                | ExprKind::Binary(..)
                | ExprKind::Index { .. }
                | ExprKind::Call { .. }
                | ExprKind::If { .. }
                | ExprKind::Field(..)
                | ExprKind::Error
        );
        if !ok {
            let span = self.span(e);
            let d = Diagnostic::new(Code::Unexpected, "this cannot be a size", span, "not a size")
                .note("sizes are made of integers, names, `+`, `-`, `*`, `/`, `min`, `max`, `if`, and elements of integer vectors such as `off[i+1]`");
            self.diags.push(d);
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
        });
    }
}
