//! Types of values, in the syntax of scripts.
//!
//! A record is written with the name of its definition, which is searched for among the definitions of the session and
//! in the modules that it imports. The arguments of a parametrised record are derived from its fields.

use super::item::{Bring, Item, Kind, module};
use deckle_diag::FileId;
use deckle_io::text::scalar_name;
use deckle_ir::types::{RecordType, Type};
use deckle_syntax::ast::{Module, TypeDef, TypeKind};
use std::collections::HashMap;

/// The type definitions that a session can name.
pub struct Known {
    types: Vec<(String, Module, TypeDef)>,
}

impl Known {
    /// Those of these definitions.
    pub fn new(items: &[Item]) -> Known {
        let mut types = Vec::new();
        for item in items {
            match &item.kind {
                Kind::Def(_) => {}
                Kind::Type(name) => {
                    let (module, _) = deckle_syntax::parse(FileId(0), item.part.text());
                    if let Some(def) = module.type_defs.first().cloned() {
                        types.push((name.clone(), module, def));
                    }
                }
                Kind::Import { origin, bring } => {
                    let Some(module) = module(origin) else { continue };
                    for def in &module.type_defs {
                        let name = match bring {
                            Bring::Module(alias) => format!("{alias}.{}", def.name.text),
                            Bring::Names(names) if names.iter().any(|n| **n == *def.name.text) => {
                                def.name.text.to_string()
                            }
                            Bring::Names(_) => continue,
                        };
                        types.push((name, module.clone(), def.clone()));
                    }
                }
            }
        }
        Known { types }
    }

    /// A type in the syntax of scripts, or the name of a record that cannot be named.
    pub fn write(&self, ty: &Type) -> Result<String, String> {
        Ok(match ty {
            Type::Scalar(s) => scalar_name(*s).to_string(),
            Type::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|t| self.write(t)).collect::<Result<_, _>>()?;
                format!("({})", parts.join(", "))
            }
            Type::Seq(elem) => format!("{{{}}}", self.write(elem)?),
            Type::Array(a) => match a.size.as_constant() {
                Some(n) => format!("[{}; {n}]", self.write(&a.elem)?),
                None => format!("[{}]", self.write(&a.elem)?),
            },
            Type::Record(r) => {
                self.types.iter().find_map(|(name, module, def)| self.record(r, name, module, def)).ok_or(&*r.name)?
            }
        })
    }

    fn record(&self, r: &RecordType, name: &str, module: &Module, def: &TypeDef) -> Option<String> {
        let TypeKind::Record(fields) = &module[def.body].kind else { return None };
        let names = fields.iter().map(|f| &*f.0.text);
        if *def.name.text != *r.name || !names.eq(r.fields.iter().map(|f| f.0.as_str())) {
            return None;
        }
        let mut solved = HashMap::new();
        for ((_, written), (_, ty)) in fields.iter().zip(&r.fields) {
            solve(module, *written, ty, &mut solved);
        }
        let args: Option<Vec<String>> = def.params.iter().map(|p| self.write(solved.get(&*p.text)?).ok()).collect();
        let args = args?;
        Some(if args.is_empty() { name.to_string() } else { format!("{name}[{}]", args.join(", ")) })
    }
}

/// The meanings of the names in a written type, if it denotes this type.
fn solve<'a>(
    module: &'a Module,
    written: deckle_syntax::ast::TypeId,
    ty: &'a Type,
    solved: &mut HashMap<&'a str, &'a Type>,
) {
    match (&module[written].kind, ty) {
        (TypeKind::Name { module: None, name, args }, _) if args.is_empty() => {
            solved.entry(&name.text).or_insert(ty);
        }
        (TypeKind::Tuple(parts), Type::Tuple(types)) => {
            parts.iter().zip(types.iter()).for_each(|(p, t)| solve(module, *p, t, solved));
        }
        (TypeKind::Seq(elem), Type::Seq(t)) => solve(module, *elem, t, solved),
        (TypeKind::Array { elem, sizes, .. }, _) => {
            // `[t; n, m]` is an array of arrays.
            let inner = (0..sizes.len().max(1)).try_fold(ty, |t, _| t.elem());
            if let Some(inner) = inner {
                solve(module, *elem, inner, solved);
            }
        }
        _ => {}
    }
}
