//! Patterns, and the names that sizes bind.

use super::{Infer, Local};
use crate::ast::{Def, ExprId, ExprKind, Name, PatId, PatKind, TypeId, TypeKind};
use crate::infer::types::{Node, Ty};
use deckle_diag::{Code, Diagnostic, Span};

impl Infer {
    /// Binds the names of a pattern, which destructures a value of type `ty`.
    pub(super) fn bind_pattern(&mut self, pat: PatId, ty: Ty) {
        let p = self.ast()[pat].clone();
        match p.kind {
            PatKind::Name(name) => self.bind(&name, ty),
            PatKind::Wild | PatKind::Error => {}
            PatKind::Tuple(parts) => {
                let mut tys: Vec<Ty> = parts.iter().map(|_| self.facts.types.fresh()).collect();
                let tuple = self.facts.types.tuple(tys.clone());
                if self.facts.types.unify(ty, tuple).is_err() {
                    let have = self.facts.quote(ty);
                    let mut d = Diagnostic::new(
                        Code::TypeMismatch,
                        format!("this pattern has {} parts, but its value is {have}", parts.len()),
                        p.span,
                        format!("takes {have} apart"),
                    );
                    if let Node::Tuple(have) = self.facts.types.node(ty) {
                        d = d.help(format!("name {} parts; `_` leaves one unnamed", have.len()));
                    } else {
                        d = d.help("only tuples are taken apart; with its position, an element is `(i, x) in zip(iota(length(xs)), xs)`");
                    }
                    self.diags.push(d);
                    tys.fill(self.facts.types.error);
                }
                for (part, ty) in parts.into_iter().zip(tys) {
                    self.bind_pattern(part, ty);
                }
            }
        }
    }

    pub(super) fn bind(&mut self, name: &Name, ty: Ty) {
        self.scope.push(Local { name: name.text.clone(), ty, span: name.span });
    }

    /// Binds the undefined names in the sizes of the parameter types: `n` in `[real; n]`.
    pub(super) fn bind_size_names(&mut self, def: &Def) {
        for (k, p) in def.params.iter().enumerate() {
            let Some(ty) = p.ty else { continue };
            for later in &def.params[k + 1..] {
                let PatKind::Name(name) = self.ast()[later.pat].kind.clone() else { continue };
                if let Some(use_) = self.size_mention(ty, &name.text) {
                    let d = Diagnostic::new(
                        Code::UnknownName,
                        format!("this size mentions `{}`, a parameter that comes after it", name.text),
                        use_,
                        "not known yet",
                    )
                    .label(name.span, "the parameter")
                    .help(format!("put `{}` before the parameters whose sizes mention it", name.text));
                    self.diags.push(d);
                }
            }
            self.size_names(ty, &mut Vec::new());
        }
        if let Some(ret) = def.ret {
            self.size_names(ret, &mut Vec::new());
        }
    }

    /// Where a size in a written type mentions a name.
    fn size_mention(&self, ty: TypeId, name: &str) -> Option<Span> {
        match &self.ast()[ty].kind {
            TypeKind::Name { args, .. } => args.iter().find_map(|t| self.size_mention(*t, name)),
            TypeKind::Tuple(parts) => parts.iter().find_map(|t| self.size_mention(*t, name)),
            TypeKind::Seq(elem) => self.size_mention(*elem, name),
            TypeKind::Record(fields) => fields.iter().find_map(|(_, t)| self.size_mention(*t, name)),
            TypeKind::Array { binder, elem, sizes } => {
                let own = sizes.iter().find_map(|s| self.expr_mention(*s, name));
                let hidden = binder.as_ref().is_some_and(|b| &*b.text == name);
                own.or_else(|| if hidden { None } else { self.size_mention(*elem, name) })
            }
            TypeKind::Error => None,
        }
    }

    fn expr_mention(&self, e: ExprId, name: &str) -> Option<Span> {
        match &self.ast()[e].kind {
            ExprKind::Name(n) if &*n.text == name => Some(n.span),
            ExprKind::Binary(_, a, b) => self.expr_mention(*a, name).or_else(|| self.expr_mention(*b, name)),
            ExprKind::Index { base, items } => self.expr_mention(*base, name).or_else(|| {
                items.iter().find_map(|i| match i {
                    crate::ast::IndexItem::At(e) => self.expr_mention(*e, name),
                    _ => None,
                })
            }),
            ExprKind::Call { args, .. } => args.iter().find_map(|a| self.expr_mention(a.value, name)),
            ExprKind::Field(base, _) => self.expr_mention(*base, name),
            _ => None,
        }
    }

    /// The same for one type. `positions` are the enclosing position names.
    pub(super) fn size_names(&mut self, ty: TypeId, positions: &mut Vec<Name>) {
        match self.ast()[ty].kind.clone() {
            TypeKind::Name { args, .. } => args.into_iter().for_each(|t| self.size_names(t, positions)),
            TypeKind::Tuple(parts) => parts.into_iter().for_each(|t| self.size_names(t, positions)),
            TypeKind::Seq(elem) => self.size_names(elem, positions),
            TypeKind::Record(fields) => fields.into_iter().for_each(|(_, t)| self.size_names(t, positions)),
            TypeKind::Array { binder, elem, sizes } => {
                for s in sizes {
                    self.size_names_in(s, positions);
                }
                let depth = positions.len();
                positions.extend(binder);
                self.size_names(elem, positions);
                positions.truncate(depth);
            }
            TypeKind::Error => {}
        }
    }

    fn size_names_in(&mut self, e: ExprId, positions: &[Name]) {
        let mut pending = vec![e];
        while let Some(e) = pending.pop() {
            match self.ast()[e].kind.clone() {
                ExprKind::Name(name) => {
                    let known = self.local(&name.text).is_some() || positions.iter().any(|p| p.text == name.text);
                    if !known {
                        let int = self.facts.types.int();
                        self.bind(&name, int);
                    }
                }
                ExprKind::Unary(_, a) => pending.push(a),
                ExprKind::Binary(_, a, b) => pending.extend([b, a]),
                ExprKind::Index { items, .. } => {
                    for item in items {
                        if let crate::ast::IndexItem::At(i) = item {
                            pending.push(i);
                        }
                    }
                }
                ExprKind::Call { args, .. } => pending.extend(args.iter().rev().map(|a| a.value)),
                _ => {}
            }
        }
    }
}
