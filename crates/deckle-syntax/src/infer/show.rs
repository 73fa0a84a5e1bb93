//! Types in the words of the script language.

use super::env::Facts;
use super::types::{Node, Ty};
use deckle_ir::scalar::ScalarType;

impl Facts {
    /// A type as a user would write it; what is not known is `_`, or what class it is of.
    pub fn show(&self, t: Ty) -> String {
        self.show_at(t, 0)
    }

    fn show_at(&self, t: Ty, depth: usize) -> String {
        if depth > 12 {
            return "...".into();
        }
        let list = |ts: &[Ty]| ts.iter().map(|t| self.show_at(*t, depth + 1)).collect::<Vec<_>>().join(", ");
        match self.types.node(t) {
            Node::Var(None) | Node::Error | Node::Link(_) => "_".into(),
            Node::Var(Some(set)) => set.describe().into(),
            Node::Scalar(s) => scalar_name(*s).into(),
            Node::Tuple(parts) => format!("({})", list(parts)),
            Node::Record(r, args) if args.is_empty() => self.records[*r].name.to_string(),
            Node::Record(r, args) => format!("{}[{}]", self.records[*r].name, list(args)),
            Node::Coll(kind, elem) => {
                let elem = self.show_at(*elem, depth + 1);
                match self.types.node(*kind) {
                    Node::SeqKind => format!("{{{elem}}}"),
                    _ => format!("[{elem}]"),
                }
            }
            Node::AnyKind(_) | Node::ArrayKind | Node::SeqKind => "a collection".into(),
        }
    }

    /// A type in quotes, or in words where it is not known.
    pub fn quote(&self, t: Ty) -> String {
        match self.types.node(t) {
            Node::Var(Some(set)) => set.describe().into(),
            Node::Var(None) | Node::Error => "a type that is not known yet".into(),
            _ => format!("`{}`", self.show(t)),
        }
    }
}

/// `int` and `real` for the two that everybody uses.
pub(crate) fn scalar_name(s: ScalarType) -> &'static str {
    match s {
        ScalarType::I64 => "int",
        ScalarType::F64 => "real",
        other => other.name(),
    }
}
