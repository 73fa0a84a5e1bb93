//! The size of a type when it is written out.
//!
//! Inference shares the parts of types, so a few lines can create a type of astronomical size: each `def f1(x) = f0(f0(x))` after
//! `def f0(x) = (x, x)` squares it. Lowering writes types out, so this bounds the types that pass inference.

use super::Infer;
use super::env::Facts;
use super::types::{Node, Ty};
use deckle_diag::{Code, Diagnostic, Span};
use std::collections::HashMap;

/// The maximal number of parts of a type when it is written out.
pub(crate) const MAX_TYPE_SIZE: u64 = 2000;

/// The maximal nesting depth of a type.
pub(crate) const MAX_TYPE_DEPTH: u64 = 100;

/// The extent of a type when it is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The number of its parts, including itself.
    pub parts: u64,
    /// Its nesting depth.
    pub depth: u64,
}

impl Extent {
    pub const LEAF: Extent = Extent { parts: 1, depth: 1 };

    pub fn is_too_large(self) -> bool {
        self.parts > MAX_TYPE_SIZE || self.depth > MAX_TYPE_DEPTH
    }

    /// For a type around parts of these extents.
    pub fn around(parts: impl Iterator<Item = Extent>) -> Extent {
        let mut whole = Extent { parts: 1, depth: 0 };
        for p in parts {
            whole.parts = whole.parts.saturating_add(p.parts);
            whole.depth = whole.depth.max(p.depth);
        }
        Extent { parts: whole.parts, depth: whole.depth.saturating_add(1) }
    }
}

/// Extents computed already; those of variables can be added in advance.
pub(crate) type Extents = HashMap<Ty, Extent>;

impl Facts {
    /// The extent of a type, or more where a record uses its parameters unevenly.
    pub fn measure(&self, t: Ty, known: &mut Extents) -> Extent {
        let t = self.types.root(t);
        if let Some(e) = known.get(&t) {
            return *e;
        }
        let extent = stacker::maybe_grow(64 * 1024, 1024 * 1024, || match self.types.node(t) {
            Node::Tuple(parts) => Extent::around(parts.clone().into_iter().map(|p| self.measure(p, known))),
            Node::Coll(_, elem) => Extent::around(std::iter::once(self.measure(*elem, known))),
            Node::Record(r, args) => {
                let own = self.records[*r].fields.iter().map(|(_, f)| self.measure(*f, known)).collect::<Vec<_>>();
                let own = Extent::around(own.into_iter());
                let args = Extent::around(args.clone().into_iter().map(|a| self.measure(a, known)));
                Extent { parts: own.parts.saturating_mul(args.parts), depth: own.depth.saturating_add(args.depth) - 1 }
            }
            _ => Extent::LEAF,
        });
        known.insert(t, extent);
        extent
    }
}

/// A diagnostic for a type that is too large to be written out.
pub(crate) fn too_large(what: &str, span: Span) -> Diagnostic {
    Diagnostic::new(Code::TooDeep, format!("{what} is too large"), span, "made here")
        .note(format!("a type may have {MAX_TYPE_SIZE} parts, nested {MAX_TYPE_DEPTH} deep"))
        .help("use a vector for values of one type, and fewer tuples in tuples")
}

impl Infer {
    /// Rejects the first expression whose type is too large.
    pub(super) fn check_extents(&mut self) {
        let mut known = Extents::new();
        for (module, types) in self.facts.expr_types.iter().enumerate() {
            for (e, ty) in types.iter().enumerate() {
                if ty.is_some_and(|t| self.facts.measure(t, &mut known).is_too_large()) {
                    let span = self.facts.modules[module].ast.exprs[e].span;
                    self.diags.push(too_large("the type of this", span));
                    return;
                }
            }
        }
    }
}
