//! The arenas under construction, with the depth of every node.

use deckle_diag::{Code, Diagnostic, FileId, Span};

use super::{Fail, Parsed, Parser};
use crate::ast::{
    Expr, ExprId, ExprKind, IndexItem, LoopKind, MAX_TREE_DEPTH, Module, Pat, PatId, PatKind, TypeExpr, TypeId,
    TypeKind,
};

pub(super) struct Builder {
    pub(super) module: Module,
    expr_depths: Vec<u32>,
    type_depths: Vec<u32>,
}

impl Builder {
    pub(super) fn new(file: FileId) -> Self {
        let module = Module { file, ..Module::default() };
        Builder { module, expr_depths: Vec::new(), type_depths: Vec::new() }
    }

    fn expr_depth(&self, id: ExprId) -> u32 {
        self.expr_depths[id.0 as usize]
    }

    fn type_depth(&self, id: TypeId) -> u32 {
        self.type_depths[id.0 as usize]
    }

    fn deepest(&self, exprs: impl IntoIterator<Item = ExprId>) -> u32 {
        exprs.into_iter().map(|e| self.expr_depth(e)).max().unwrap_or(0)
    }

    /// The depth of the deepest part of an expression.
    fn depth_below(&self, kind: &ExprKind) -> u32 {
        use ExprKind::*;
        match kind {
            Int { .. } | Float { .. } | Bool(_) | Char(_) | Str(_) | Name(_) | Operator(_) | Error => 0,
            Tuple(parts) | Seq(parts) | Array(parts) => self.deepest(parts.iter().copied()),
            Let { ty, value, body, .. } => self.deepest([*value, *body]).max(ty.map_or(0, |ty| self.type_depth(ty))),
            If { cond, then, els } => self.deepest([*cond, *then, *els]),
            Loop { init, kind, body, .. } => self.deepest([*init, *body]).max(match kind {
                LoopKind::While(cond) => self.expr_depth(*cond),
                LoopKind::For { lo, hi, .. } => self.deepest(lo.iter().copied().chain([*hi])),
            }),
            Lambda { body: e, .. } | Field(e, _) | Component(e, ..) | Unary(_, e) => self.expr_depth(*e),
            Call { func, args } => self.deepest(args.iter().map(|a| a.value).chain([*func])),
            With { base, fields } => self.deepest(fields.iter().map(|f| f.1).chain([*base])),
            Index { base, items } => {
                let parts = items.iter().flat_map(|item| match item {
                    IndexItem::All(_) => [None, None],
                    IndexItem::At(i) => [Some(*i), None],
                    IndexItem::Range(lo, hi) => [*lo, *hi],
                });
                self.deepest(parts.flatten().chain([*base]))
            }
            Binary(_, a, b) | Guarded { body: a, cond: b } => self.deepest([*a, *b]),
            Range { lo, hi, step, .. } => self.deepest(step.iter().copied().chain([*lo, *hi])),
            SeqComp { body, gens, guard } | ArrayComp { body, gens, guard } => {
                self.deepest(gens.iter().map(|g| g.source).chain(*guard).chain([*body]))
            }
        }
    }

    fn depth_below_type(&self, kind: &TypeKind) -> u32 {
        let deepest = |types: &mut dyn Iterator<Item = TypeId>| types.map(|t| self.type_depth(t)).max().unwrap_or(0);
        match kind {
            TypeKind::Error => 0,
            TypeKind::Name { args: types, .. } | TypeKind::Tuple(types) => deepest(&mut types.iter().copied()),
            TypeKind::Seq(elem) => self.type_depth(*elem),
            TypeKind::Record(fields) => deepest(&mut fields.iter().map(|f| f.1)),
            TypeKind::Array { elem, sizes, .. } => self.type_depth(*elem).max(self.deepest(sizes.iter().copied())),
        }
    }
}

impl Parser<'_> {
    /// Adds an expression, unless it is too deep.
    pub(super) fn expr_node(&mut self, kind: ExprKind, span: Span) -> Parsed<ExprId> {
        let depth = self.build.depth_below(&kind) + 1;
        if depth > MAX_TREE_DEPTH {
            return Err(self.tree_too_deep(span));
        }
        self.build.expr_depths.push(depth);
        self.build.module.exprs.push(Expr { kind, span });
        Ok(ExprId(self.build.module.exprs.len() as u32 - 1))
    }

    /// Adds a type, unless it is too deep.
    pub(super) fn type_node(&mut self, kind: TypeKind, span: Span) -> Parsed<TypeId> {
        let depth = self.build.depth_below_type(&kind) + 1;
        if depth > MAX_TREE_DEPTH {
            return Err(self.tree_too_deep(span));
        }
        self.build.type_depths.push(depth);
        self.build.module.types.push(TypeExpr { kind, span });
        Ok(TypeId(self.build.module.types.len() as u32 - 1))
    }

    pub(super) fn pat_node(&mut self, kind: PatKind, span: Span) -> PatId {
        self.build.module.pats.push(Pat { kind, span });
        PatId(self.build.module.pats.len() as u32 - 1)
    }

    pub(super) fn error_expr(&mut self, span: Span) -> ExprId {
        self.build.expr_depths.push(1);
        self.build.module.exprs.push(Expr { kind: ExprKind::Error, span });
        ExprId(self.build.module.exprs.len() as u32 - 1)
    }

    pub(super) fn error_type(&mut self, span: Span) -> TypeId {
        self.build.type_depths.push(1);
        self.build.module.types.push(TypeExpr { kind: TypeKind::Error, span });
        TypeId(self.build.module.types.len() as u32 - 1)
    }

    fn tree_too_deep(&mut self, span: Span) -> Fail {
        let start = Span { hi: span.lo + 1, ..span };
        let start = if self.text.is_char_boundary(start.hi as usize) { start } else { span };
        let message = format!("this expression is more than {MAX_TREE_DEPTH} operations deep");
        self.report(
            Diagnostic::new(Code::TooDeep, message, start, "it starts here")
                .note(
                    "in a chain such as `a + b + c` every operator is one level more, as is every `let` and `else if`",
                )
                .help("split it: name parts of it with `let` in brackets of their own, or make them functions"),
        );
        Fail::Item
    }
}
