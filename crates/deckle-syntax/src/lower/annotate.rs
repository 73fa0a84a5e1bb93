//! Written types with their sizes.
//!
//! A parameter's type binds the names in its sizes; a type written elsewhere is checked by an `ensure`. A dimension without a written
//! size gets a variable of its own, one for each enclosing position: it may be jagged.

use super::func::{Binding, FnLower, Lowered};
use crate::ast::{self, BinOp, ExprId, ExprKind, IndexItem, TypeId, TypeKind};
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array::Op;
use deckle_ir::entity::{Path, SizeVar, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::{RecordType, Type};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// A written type and its environment.
#[derive(Clone)]
struct Written {
    module: usize,
    ty: TypeId,
    /// The arguments of the type definition it is part of.
    args: Rc<HashMap<Rc<str>, Option<Written>>>,
}

/// The names that sizes may mention besides variables in scope.
#[derive(Clone, Default)]
struct Around {
    /// Names bound by this type, or by an enclosing one.
    names: HashMap<Rc<str>, SizeVar>,
    /// The number of dimensions around the type definition to which the names belong. Each of its values has sizes of its own.
    outer: usize,
    /// Names of positions, outermost first; `None` for a dimension without a name.
    positions: Vec<Option<Rc<str>>>,
    /// The enclosing record, field by field, as a value in scope, and its type.
    fields: HashMap<Rc<str>, (Path, Type)>,
    /// The fields of an enclosing record that is in an array: no name leads to their values.
    unnamed: HashSet<Rc<str>>,
    /// The path of this part of the value, if it can be named.
    path: Option<Path>,
    /// Whether the names belong to a type definition rather than to the function.
    foreign: bool,
}

impl FnLower<'_> {
    /// The type of the next parameter. Names in its sizes come into scope.
    pub fn param_type(&mut self, written: Option<TypeId>, kind: &Type) -> Type {
        let around = Around { path: Some(self.b.next_var().into()), ..Around::default() };
        match written {
            None => self.b.opened(kind),
            Some(ty) => {
                let w = Written { module: self.id.module, ty, args: Rc::default() };
                let named = self.named.len();
                let ty = self.sized(&w, kind, &mut around.clone());
                self.check_names(&ty, named);
                ty
            }
        }
    }

    /// Every name that a type binds must be determined by one of its sizes. `since` is the number of names before it.
    /// Names that come into scope are those of a parameter, which has a separate check.
    fn check_names(&mut self, ty: &Type, since: usize) {
        for (s, name, span) in self.named.split_off(since) {
            if self.scope.iter().any(|(_, b)| matches!(b, Binding::Size(x) if *x == s)) {
                continue;
            }
            let (mut mentioned, mut told) = (false, false);
            ty.for_each_size(&mut |size, _| {
                mentioned |= size.any_atom(&mut |a, _| matches!(a, Atom::Var(v, _) if *v == s));
                told |= size.determines().is_some_and(|(v, ..)| v == s);
            });
            if mentioned && !told {
                let d = Diagnostic::new(
                    Code::Ambiguous,
                    format!("the size `{name}` cannot be determined from the length of an array"),
                    span,
                    "how large?",
                )
                .note(format!("a name is bound where it stands alone, as in `[real; {name}]`, or beside a number: `[real; {name} + 1]`"))
                .help(format!("write a number, or add a field that has `{name}` elements, or is `{name}`: `{name}: int`"));
                self.diags.push(d);
            }
        }
    }

    fn report_no_size(&mut self, name: &str, what: &str, span: Span) {
        let message = format!("{what} is needed in a size, and `{name}` is not one");
        self.diags.push(Diagnostic::new(Code::TypeMismatch, message, span, format!("not {what}")));
    }

    /// `v`, after checking the sizes of a type written for it.
    pub fn ensure_written(&mut self, v: Var, written: TypeId) -> Lowered<Var> {
        let w = Written { module: self.id.module, ty: written, args: Rc::default() };
        if !self.has_sizes(&w, 0) {
            return Ok(v);
        }
        let depth = self.scope.len();
        let named = self.named.len();
        let mark = self.b.mark();
        let kind = self.ty(v).clone();
        let mut around = Around { path: Some(self.b.func().path(v)), ..Around::default() };
        let ty = self.sized(&w, &kind, &mut around);
        self.scope.truncate(depth);
        let ty = solved(&ty, self.ty(v), mark.first_size());
        self.check_names(&ty, named);
        if ty == *self.ty(v) {
            self.b.rollback(&mark);
            return Ok(v);
        }
        let span = self.ast()[written].span;
        self.op(Op::Ensure(ty), &[v], span)
    }

    /// The same for a new record, whose definition may require sizes of its fields.
    pub fn ensure_record(&mut self, v: Var, number: usize, fields: &[Var], span: Span) -> Lowered<Var> {
        let record = self.cx.facts.records[number].clone();
        let body = self.cx.facts.type_def(record.def).body;
        let params = self.cx.facts.type_def(record.def).params.iter().map(|p| (p.text.clone(), None)).collect();
        let w = Written { module: record.def.module, ty: body, args: Rc::new(params) };
        if !self.has_sizes(&w, 0) {
            return Ok(v);
        }
        let kind = self.ty(v).clone();
        let named = self.named.len();
        let values = fields.iter().map(|f| (self.b.func().path(*f), self.ty(*f).clone()));
        let known = record.fields.iter().map(|(n, _)| n.clone()).zip(values);
        let mut around = Around { fields: known.collect(), foreign: true, ..Around::default() };
        let mark = self.b.mark();
        let ty = self.record(&w, &kind, &mut around);
        let ty = solved(&ty, self.ty(v), mark.first_size());
        self.check_names(&ty, named);
        if ty == *self.ty(v) {
            self.b.rollback(&mark);
            return Ok(v);
        }
        self.op(Op::Ensure(ty), &[v], span)
    }

    fn written(&self, w: &Written) -> ast::TypeExpr {
        self.cx.facts.modules[w.module].ast[w.ty].clone()
    }

    fn has_sizes(&self, w: &Written, depth: usize) -> bool {
        let at = |ty| Written { module: w.module, ty, args: w.args.clone() };
        if depth > 64 {
            return false;
        }
        match self.written(w).kind {
            TypeKind::Array { elem, sizes, .. } => !sizes.is_empty() || self.has_sizes(&at(elem), depth + 1),
            TypeKind::Seq(t) => self.has_sizes(&at(t), depth + 1),
            TypeKind::Tuple(parts) => parts.into_iter().any(|t| self.has_sizes(&at(t), depth + 1)),
            TypeKind::Record(fields) => fields.into_iter().any(|(_, t)| self.has_sizes(&at(t), depth + 1)),
            TypeKind::Name { .. } => self.expansion(w).is_some_and(|x| self.has_sizes(&x, depth + 1)),
            TypeKind::Error => false,
        }
    }

    /// The definition of a named type, if there is one.
    fn expansion(&self, w: &Written) -> Option<Written> {
        let TypeKind::Name { module, name, args } = self.written(w).kind else { return None };
        if module.is_none()
            && let Some(arg) = w.args.get(&name.text)
        {
            return arg.clone();
        }
        let here = &self.cx.facts.modules[w.module];
        let home = match module {
            None => here,
            Some(m) => &self.cx.facts.modules[*here.modules.get(&m.text)?],
        };
        let id = *home.types.get(&name.text)?;
        let def = self.cx.facts.type_def(id);
        let given = args.into_iter().map(|ty| Some(Written { module: w.module, ty, args: w.args.clone() }));
        let args = def.params.iter().map(|p| p.text.clone()).zip(given).collect();
        Some(Written { module: id.module, ty: def.body, args: Rc::new(args) })
    }

    /// The written type with its sizes. The kind gives the type; the text only gives the sizes.
    fn sized(&mut self, w: &Written, kind: &Type, around: &mut Around) -> Type {
        let at = |ty| Written { module: w.module, ty, args: w.args.clone() };
        match (self.written(w).kind, kind) {
            (TypeKind::Name { .. }, _) => match self.expansion(w) {
                Some(x) => {
                    let foreign = x.module != w.module || !Rc::ptr_eq(&x.args, &w.args);
                    let mut inner = around.clone();
                    if foreign {
                        inner.names.clear();
                        inner.fields.clear();
                        inner.unnamed.clear();
                        inner.outer = around.positions.len();
                        inner.foreign = true;
                    }
                    self.sized(&x, kind, &mut inner)
                }
                None => self.unsized_type(kind, around),
            },
            (TypeKind::Tuple(parts), Type::Tuple(kinds)) => {
                let path = around.path.clone();
                let mut out = Vec::new();
                for (k, (p, kind)) in parts.into_iter().zip(kinds.iter()).enumerate() {
                    around.path = path.clone().map(|p| p.field(k as u32));
                    out.push(self.sized(&at(p), kind, around));
                }
                around.path = path;
                Type::tuple(out)
            }
            (TypeKind::Record(_), Type::Record(_)) => self.record(w, kind, around),
            (TypeKind::Seq(elem), Type::Seq(kind)) => {
                around.positions.push(None);
                let path = around.path.take();
                let elem = self.sized(&at(elem), kind, around);
                around.path = path;
                around.positions.pop();
                Type::seq(elem)
            }
            (TypeKind::Array { binder, elem, sizes }, Type::Array(_)) => {
                let path = around.path.take();
                let ty = self.dimensions(&at(elem), binder.map(|b| b.text), &sizes, kind, around, w.module);
                around.path = path;
                ty
            }
            _ => self.unsized_type(kind, around),
        }
    }

    fn dimensions(
        &mut self,
        elem: &Written,
        binder: Option<Rc<str>>,
        sizes: &[ExprId],
        kind: &Type,
        around: &mut Around,
        module: usize,
    ) -> Type {
        let Some(array) = kind.as_array().cloned() else { return self.unsized_type(kind, around) };
        let size = match sizes.first() {
            Some(s) => self.size(*s, module, around),
            None => self.new_family(around.positions.len() as u32),
        };
        around.positions.push(binder);
        let inner = match sizes.get(1..) {
            Some(rest) if !rest.is_empty() => self.dimensions(elem, None, rest, &array.elem, around, module),
            _ => self.sized(elem, &array.elem, around),
        };
        around.positions.pop();
        Type::array(size, inner)
    }

    fn record(&mut self, w: &Written, kind: &Type, around: &mut Around) -> Type {
        let (TypeKind::Record(fields), Type::Record(r)) = (self.written(w).kind, kind) else {
            return self.unsized_type(kind, around);
        };
        let path = around.path.clone();
        let mut inner = around.clone();
        inner.foreign = true;
        if path.is_none() && inner.fields.is_empty() {
            inner.unnamed = fields.iter().map(|(n, _)| n.text.clone()).collect();
        }
        if let Some(path) = &path {
            let parts = fields.iter().zip(&r.fields).enumerate();
            inner.fields = parts
                .map(|(k, ((n, _), (_, kind)))| (n.text.clone(), (path.clone().field(k as u32), kind.clone())))
                .collect();
        }
        let mut out = Vec::new();
        for (k, ((name, ty), (_, kind))) in fields.into_iter().zip(&r.fields).enumerate() {
            inner.path = path.clone().map(|p| p.field(k as u32));
            let w = Written { module: w.module, ty, args: w.args.clone() };
            out.push((name.text.to_string(), self.sized(&w, kind, &mut inner)));
        }
        Type::Record(Arc::new(RecordType { name: r.name.clone(), fields: out }))
    }

    fn unsized_type(&mut self, kind: &Type, around: &Around) -> Type {
        let outer = around.positions.len() as u32;
        kind.map_sizes(&mut |_, depth| self.new_family(outer + depth))
    }

    fn new_family(&mut self, depth: u32) -> Size {
        let s = self.b.new_size(depth);
        Atom::Var(s, (0..depth).rev().map(Size::pos).collect()).into()
    }

    /// A written size. One that depends on what cannot be named, such as a field of a record in an array, is a variable of its own.
    fn size(&mut self, e: ExprId, module: usize, around: &mut Around) -> Size {
        let size = self.size_expr(e, module, around);
        size.unwrap_or_else(|| self.new_family(around.positions.len() as u32))
    }

    fn size_expr(&mut self, e: ExprId, module: usize, around: &mut Around) -> Option<Size> {
        let ast = &self.cx.facts.modules[module].ast;
        match &ast[e].kind {
            ExprKind::Int { value, .. } => Some(Size::constant(*value as i128)),
            ExprKind::Name(n) => self.size_name(n, around),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.size_expr(*a, module, around), self.size_expr(*b, module, around));
                let (a, b) = (a?, b?);
                match op {
                    BinOp::Add => Some(a.add(&b)),
                    BinOp::Sub => Some(a.sub(&b)),
                    BinOp::Mul => Some(a.mul(&b)),
                    BinOp::Div => Some(a.div(&b)),
                    _ => None,
                }
            }
            ExprKind::Call { func, args } => {
                let args: Vec<Option<Size>> = args.iter().map(|a| self.size_expr(a.value, module, around)).collect();
                match (&ast[*func].kind, args.as_slice()) {
                    (ExprKind::Name(n), [Some(a), Some(b)]) if &*n.text == "min" => Some(a.lesser(b)),
                    (ExprKind::Name(n), [Some(a), Some(b)]) if &*n.text == "max" => Some(a.greater(b)),
                    _ => None,
                }
            }
            ExprKind::Index { base, items } => {
                let [IndexItem::At(i)] = items.as_slice() else { return None };
                let (path, ty) = self.size_path(*base, module, around)?;
                if ty.as_array().is_none_or(|a| a.elem != Type::INT) {
                    let span = ast[*base].span;
                    let text = self.cx.facts.texts[module].get(span.lo as usize..span.hi as usize).unwrap_or("this");
                    self.report_no_size(text, "a vector of `int`", span);
                    return None;
                }
                let i = self.size_expr(*i, module, around)?;
                Some(Atom::Read(path, vec![i]).into())
            }
            ExprKind::Field(..) => {
                let (path, ty) = self.size_path(e, module, around)?;
                if ty == Type::INT {
                    return Some(Size::value(path));
                }
                let span = ast[e].span;
                let text = self.cx.facts.texts[module].get(span.lo as usize..span.hi as usize).unwrap_or("this");
                self.report_no_size(text, "an `int`", span);
                None
            }
            _ => None,
        }
    }

    /// The value of a name or a field in a size.
    fn size_path(&self, e: ExprId, module: usize, around: &Around) -> Option<(Path, Type)> {
        let ast = &self.cx.facts.modules[module].ast;
        match &ast[e].kind {
            ExprKind::Name(n) => match around.fields.get(&n.text) {
                Some(p) => Some(p.clone()),
                None => match self.lookup(&n.text)? {
                    Binding::Var(v) if !around.foreign => Some((self.b.func().path(*v), self.ty(*v).clone())),
                    _ => None,
                },
            },
            ExprKind::Field(base, name) => {
                let (path, ty) = self.size_path(*base, module, around)?;
                let Type::Record(r) = ty else { return None };
                let k = r.fields.iter().position(|(n, _)| *n == *name.text)?;
                Some((path.field(k as u32), r.fields[k].1.clone()))
            }
            _ => None,
        }
    }

    fn size_name(&mut self, name: &ast::Name, around: &mut Around) -> Option<Size> {
        let (name, span) = (&name.text, name.span);
        let depth = around.positions.len();
        let at = |level: usize| Size::pos((depth - 1 - level) as u32);
        if let Some(level) = around.positions.iter().rposition(|p| p.as_ref() == Some(name)) {
            return Some(at(level));
        }
        let each = around.outer;
        let family = move |s: SizeVar| Size::from(Atom::Var(s, (0..each).map(at).collect()));
        if let Some(s) = around.names.get(name) {
            return Some(family(*s));
        }
        if around.unnamed.contains(name) {
            return None;
        }
        if let Some((path, ty)) = around.fields.get(name) {
            if *ty == Type::INT {
                return Some(Size::value(path.clone()));
            }
            self.report_no_size(name, "an `int`", span);
            return None;
        }
        match self.lookup(name).filter(|_| !around.foreign) {
            Some(Binding::Size(s)) => return Some(Size::var(*s)),
            Some(Binding::Var(v)) => return Some(self.b.func().size_of(*v)),
            Some(Binding::Poison) | None => {}
        }
        let s = self.b.new_size(each as u32);
        self.b.name_size(s, &**name);
        self.named.push((s, name.clone(), span));
        around.names.insert(name.clone(), s);
        if !around.foreign {
            self.scope.push((name.clone(), Binding::Size(s)));
        }
        Some(family(s))
    }

    /// A constant of a scalar type.
    pub fn scalar(&mut self, s: Scalar, span: Span) -> Lowered<Var> {
        self.op(Op::Const(s), &[], span)
    }
}

/// A written type whose new size variables, those from `first` on, are taken from the value's own type if possible: a variable
/// of the whole type from a size that does not vary, and a variable for each position from the size at that position.
fn solved(written: &Type, actual: &Type, first: SizeVar) -> Type {
    let mut sizes = Vec::new();
    actual.for_each_size(&mut |s, _| sizes.push(s.clone()));
    let mut sizes = sizes.into_iter();
    // `None` where occurrences disagree.
    let mut known: HashMap<SizeVar, Option<Size>> = HashMap::new();
    written.for_each_size(&mut |s, depth| {
        let Some(given) = sizes.next() else { return };
        let told =
            s.determines().filter(|(_, at, _)| is_each_position(at, depth) || at.is_empty() && !given.varies(depth));
        let told = told.map(|(v, at, extra)| (v, at.is_empty(), given.sub(&Size::constant(extra))));
        s.any_atom(&mut |a, _| {
            if let Atom::Var(v, at) = a
                && *v >= first
            {
                match &told {
                    Some((w, _, size)) if v == w => {
                        let old = known.entry(*v).or_insert_with(|| Some(size.clone()));
                        if !at.is_empty() && old.as_ref() != Some(size) {
                            *old = None;
                        }
                    }
                    _ if at.is_empty() => {}
                    _ => {
                        known.insert(*v, None);
                    }
                }
            }
            false
        });
    });
    written.map_sizes(&mut |s, _| {
        s.rewrite(&mut |a, _| match a {
            Atom::Var(v, _) => known.get(v).cloned().flatten(),
            _ => None,
        })
    })
}

/// Whether these are the positions of all enclosing dimensions, outermost first.
fn is_each_position(at: &[Size], depth: u32) -> bool {
    depth > 0 && at.iter().cloned().eq((0..depth).rev().map(Size::pos))
}
