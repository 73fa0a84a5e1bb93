//! The environment of inference: modules, definitions, and facts about each expression.

use super::types::{Ty, Types};
use crate::ast::{self, ExprId};
use crate::builtins::Builtin;
use deckle_diag::{Code, Diagnostic, Span, closest};
use std::collections::HashMap;
use std::rc::Rc;

/// A file and the meaning of its names.
#[derive(Debug)]
pub(crate) struct Module {
    /// The name in messages; also the qualifier that importers use.
    pub ast: ast::Module,
    /// Modules by the name that this one uses for them.
    pub modules: HashMap<Rc<str>, usize>,
    /// Functions by name, own and imported.
    pub funcs: HashMap<Rc<str>, DefId>,
    /// Types by name, own and imported.
    pub types: HashMap<Rc<str>, TypeDefId>,
}

/// A function of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DefId {
    pub module: usize,
    pub index: usize,
}

/// A type definition of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeDefId {
    pub module: usize,
    pub index: usize,
}

/// A record type, numbered as in [`super::types::Node::Record`].
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub def: TypeDefId,
    pub name: Rc<str>,
    /// Its type parameters, as variables to be replaced.
    pub params: Vec<Ty>,
    pub fields: Vec<(Rc<str>, Ty)>,
}

/// The type of a function: its free variables are replaced at each use.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    pub vars: Vec<Ty>,
    pub params: Vec<Ty>,
    pub result: Ty,
    /// Demands that could not be met without knowing the variables.
    pub demands: Vec<Demand>,
}

/// A constraint on types that are not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pub kind: DemandKind,
    /// The source of the demand.
    pub span: Span,
    /// The call through which it reached the current function, if it arose in another.
    pub via: Option<Span>,
}

/// The constraint.
#[derive(Clone, Debug)]
pub(crate) enum DemandKind {
    /// `base` has a field of that name and type.
    Field(Ty, Rc<str>, Ty),
    /// `base` has a component of that number and type.
    Component(Ty, u32, Ty),
    /// The second is the shape of an array of the first type.
    Shape(Ty, Ty),
    /// The second is the type inside all arrays of the first.
    Base(Ty, Ty),
    /// `into`, `targets` and the element type of `into` below as many dimensions as a target has indices.
    Targets(Ty, Ty, Ty),
}

/// The resolved meaning of a name in function position.
#[derive(Clone, Debug)]
pub(crate) enum Callee {
    Builtin(Builtin),
    /// A function with the types for the variables of its scheme.
    User(DefId, Vec<Ty>),
    /// The constructor of a record.
    Record(usize),
}

/// The results of inference, for lowering.
#[derive(Debug)]
pub(crate) struct Facts {
    pub types: Types,
    pub modules: Vec<Module>,
    /// The text of each module, for messages that quote it.
    pub texts: Vec<String>,
    pub records: Vec<Rc<Record>>,
    /// Per module and expression.
    pub expr_types: Vec<Vec<Option<Ty>>>,
    pub callees: HashMap<(usize, ExprId), Callee>,
    pub schemes: HashMap<DefId, Scheme>,
    /// Record numbers of type definitions.
    pub record_of: HashMap<TypeDefId, usize>,
}

impl Facts {
    pub fn def(&self, id: DefId) -> &ast::Def {
        &self.modules[id.module].ast.defs[id.index]
    }

    pub fn type_def(&self, id: TypeDefId) -> &ast::TypeDef {
        &self.modules[id.module].ast.type_defs[id.index]
    }
}

/// A diagnostic for an undefined name.
pub(crate) fn unknown<'a>(what: &str, name: &str, span: Span, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let code = if what == "type" { Code::UnknownType } else { Code::UnknownName };
    let d = Diagnostic::new(code, format!("there is no {what} `{name}`"), span, "not defined");
    match closest(name, known) {
        Some(c) => d.help(format!("did you mean `{c}`?")),
        None => d,
    }
}
