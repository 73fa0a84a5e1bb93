//! Types in the notation of the script language.

use super::env::Facts;
use super::types::{Node, Ty};
use deckle_ir::scalar::ScalarType;

impl Facts {
    /// A type as a user would write it; unknown parts are `...`, or the name of their class.
    pub fn show(&self, t: Ty) -> String {
        let mut out = String::new();
        self.show_in(t, &mut out);
        out
    }

    fn show_in(&self, t: Ty, out: &mut String) {
        // A type may be too large to read.
        if out.len() > 60 {
            if !out.ends_with("...") {
                out.push_str("...");
            }
            return;
        }
        match self.types.node(t) {
            Node::Var(None) | Node::Error | Node::Link(_) => out.push_str("..."),
            Node::Var(Some(set)) => out.push_str(set.part()),
            Node::Scalar(s) => out.push_str(scalar_name(*s)),
            Node::Tuple(parts) => self.show_list("(", parts, ")", out),
            Node::Record(r, args) => {
                out.push_str(&self.records[*r].name);
                if !args.is_empty() {
                    self.show_list("[", args, "]", out);
                }
            }
            Node::Coll(kind, elem) => {
                let seq = *self.types.node(*kind) == Node::SeqKind;
                self.show_list(if seq { "{" } else { "[" }, &[*elem], if seq { "}" } else { "]" }, out);
            }
            Node::AnyKind(_) | Node::ArrayKind | Node::SeqKind => out.push_str("a collection"),
        }
    }

    fn show_list(&self, open: &str, parts: &[Ty], close: &str, out: &mut String) {
        out.push_str(open);
        for (k, p) in parts.iter().enumerate() {
            if k > 0 {
                out.push_str(", ");
            }
            self.show_in(*p, out);
            if out.len() > 60 {
                break;
            }
        }
        out.push_str(close);
    }

    /// A type in quotes, or a description if it is unknown.
    pub fn quote(&self, t: Ty) -> String {
        match self.types.node(t) {
            Node::Var(Some(set)) => set.describe().into(),
            Node::Var(None) | Node::Error => "a value of unknown type".into(),
            Node::Coll(kind, elem) => {
                let what = match self.types.node(*kind) {
                    Node::ArrayKind => "a vector",
                    Node::SeqKind => "a sequence",
                    _ => "a vector or sequence",
                };
                match (self.types.node(*elem), self.types.node(*kind)) {
                    (Node::Var(None) | Node::Error, _) => what.into(),
                    (Node::Var(Some(set)), _) => format!("{what} of {}", set.plural()),
                    (_, Node::ArrayKind | Node::SeqKind) => format!("`{}`", self.show(t)),
                    _ => format!("{what} of `{}`", self.show(*elem)),
                }
            }
            Node::Tuple(parts) if parts.iter().all(|p| *self.types.node(*p) == Node::Var(None)) => match parts.len() {
                0 => "`()`".into(),
                2 => "a pair".into(),
                n => format!("a tuple of {n}"),
            },
            _ => format!("`{}`", self.show(t)),
        }
    }
}

/// `int` and `real` for the two most common types.
pub(crate) fn scalar_name(s: ScalarType) -> &'static str {
    match s {
        ScalarType::I64 => "int",
        ScalarType::F64 => "real",
        other => other.name(),
    }
}
