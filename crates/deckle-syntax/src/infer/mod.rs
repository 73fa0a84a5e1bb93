//! Names and types: reports every error at once, and infers the type of every expression for lowering.
//!
//! Functions are inferred on demand, each once; the open variables in the types of its parameters
//! are replaced at each use. An error is reported where it arises, its type becomes [`Node::Error`], which agrees with everything, and
//! inference continues.

pub(crate) mod annotate;
pub(crate) mod call;
mod demand;
pub(crate) mod env;
mod expr;
mod help;
pub(crate) mod measure;
mod misuse;
mod pattern;
pub(crate) mod show;
mod sig;
mod special;
pub(crate) mod types;

use crate::ast::{ExprId, ExprKind};
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::scalar::ScalarType;
use env::{DefId, Demand, Facts, Scheme};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use types::{Clash, Node, Ty, Types};

/// The meaning of a local name.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub name: Rc<str>,
    pub ty: Ty,
    pub span: Span,
}

/// Inference of a whole program.
pub(crate) struct Infer {
    pub facts: Facts,
    pub diags: Vec<Diagnostic>,
    module: usize,
    scope: Vec<Local>,
    demands: Vec<Demand>,
    running: Vec<DefId>,
    /// The types created for other functions while the current one was inferred, as ranges.
    others: Vec<(u32, u32)>,
    generalized: HashSet<Ty>,
    /// Type definitions that are being expanded, the expansions of those without parameters, and the number of expansions.
    expanding: Vec<env::TypeDefId>,
    expanded: HashMap<env::TypeDefId, Ty>,
    expansions: usize,
    /// Calls of which one demand has been rejected.
    refused: HashSet<(u32, u32, u32)>,
    /// Whether a type definition is being read: its sizes are checked at its uses, with its fields in scope.
    in_type_def: bool,
    /// Empty literals, whose element type may remain undetermined.
    undetermined: Vec<(Ty, Span)>,
    /// Number literals, to be checked against their type once it is known.
    literals: Vec<(usize, ExprId, bool)>,
}

impl Infer {
    pub fn new(modules: Vec<env::Module>, texts: Vec<String>) -> Infer {
        let expr_types = modules.iter().map(|m| vec![None; m.ast.exprs.len()]).collect();
        let facts = Facts {
            types: Types::new(),
            modules,
            texts,
            records: Vec::new(),
            expr_types,
            callees: Default::default(),
            schemes: Default::default(),
            record_of: Default::default(),
        };
        Infer {
            facts,
            diags: Vec::new(),
            module: 0,
            scope: Vec::new(),
            demands: Vec::new(),
            running: Vec::new(),
            others: Vec::new(),
            generalized: HashSet::new(),
            expanding: Vec::new(),
            expanded: HashMap::new(),
            expansions: 0,
            refused: HashSet::new(),
            in_type_def: false,
            undetermined: Vec::new(),
            literals: Vec::new(),
        }
    }

    /// Infers every function of every module.
    pub fn run(&mut self) {
        self.declare_records();
        for module in 0..self.facts.modules.len() {
            for index in 0..self.facts.modules[module].ast.defs.len() {
                self.def(DefId { module, index });
            }
        }
        self.check_literals();
        if self.diags.is_empty() {
            self.check_extents();
        }
    }

    /// The type of a function, inferred on demand.
    fn def(&mut self, id: DefId) -> Option<Scheme> {
        if let Some(scheme) = self.facts.schemes.get(&id) {
            return Some(scheme.clone());
        }
        if self.running.contains(&id) {
            return None;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let module = std::mem::replace(&mut self.module, id.module);
            let scope = std::mem::take(&mut self.scope);
            let demands = std::mem::take(&mut self.demands);
            let undetermined = std::mem::take(&mut self.undetermined);
            let mut others = std::mem::take(&mut self.others);
            let first = self.facts.types.fresh();
            self.running.push(id);
            let scheme = self.infer_def(id, first);
            self.running.pop();
            others.push((first.0, self.facts.types.fresh().0));
            self.others = others;
            self.module = module;
            self.scope = scope;
            self.demands = demands;
            self.undetermined = undetermined;
            self.facts.schemes.insert(id, scheme.clone());
            Some(scheme)
        })
    }

    fn infer_def(&mut self, id: DefId, first: Ty) -> Scheme {
        let def = self.facts.def(id).clone();
        let mut params = Vec::new();
        let mut seen: HashMap<Rc<str>, Span> = HashMap::new();
        for p in &def.params {
            let ty = self.facts.types.fresh();
            let depth = self.scope.len();
            self.bind_pattern(p.pat, ty);
            for local in &self.scope[depth..] {
                if let Some(old) = seen.insert(local.name.clone(), local.span) {
                    let d = Diagnostic::new(
                        Code::Duplicate,
                        format!("two parameters are called `{}`", local.name),
                        local.span,
                        "again here",
                    )
                    .label(old, "first here");
                    self.diags.push(d);
                }
            }
            params.push(ty);
        }
        self.bind_size_names(&def);
        for (p, ty) in def.params.iter().zip(&params) {
            if let Some(written) = p.ty {
                let want = self.type_expr(written);
                self.agree(*ty, want, self.ast()[written].span, "");
            }
        }
        let want = def.ret.map(|r| self.type_expr(r));
        let body = self.expr(def.body);
        if let (Some(want), Some(ret)) = (want, def.ret) {
            let span = self.ast()[ret].span;
            self.expect(def.body, body, want, |have, want| {
                Diagnostic::new(
                    Code::TypeMismatch,
                    format!("`{}` is said to give {want}, but gives {have}", def.name.text),
                    Span::NONE,
                    "",
                )
                .label(span, "written here")
            });
        }
        let scheme = self.settle(first, &params, body);
        self.bounded(scheme, &def.name)
    }

    /// The scheme, if its types are small enough for every caller to have a copy.
    fn bounded(&mut self, scheme: Scheme, name: &crate::ast::Name) -> Scheme {
        let mut known = measure::Extents::new();
        let mut is_large = |t: &Ty| self.facts.measure(*t, &mut known).is_too_large();
        if !scheme.params.iter().any(&mut is_large) && !is_large(&scheme.result) {
            return scheme;
        }
        // Types built from it would be too large again.
        if self.diags.iter().all(|d| d.code != Code::TooDeep) {
            self.diags.push(measure::too_large(&format!("the type of `{}`", name.text), name.span));
        }
        let error = self.facts.types.error;
        let params = vec![error; scheme.params.len()];
        Scheme { vars: Vec::new(), params, result: error, demands: Vec::new() }
    }

    /// Solves the demands, gives undetermined types their defaults, and leaves the rest to the callers.
    fn settle(&mut self, first: Ty, params: &[Ty], result: Ty) -> Scheme {
        self.solve(false);
        let (vars, ..) = self.left_to_callers(params);
        self.default_types(first, &vars);
        self.solve(false);
        let (vars, open, stuck) = self.left_to_callers(params);
        self.demands = stuck;
        self.solve(true);
        for (ty, span) in std::mem::take(&mut self.undetermined) {
            let mut free = Vec::new();
            self.facts.types.free(ty, &mut free);
            let said = self.diags.iter().any(|d| d.labels.first().is_some_and(|l| l.span == span));
            if free.iter().any(|v| !vars.contains(v)) && !said {
                let d = Diagnostic::new(
                    Code::Ambiguous,
                    "nothing says what the elements of this are",
                    span,
                    "of which type?",
                )
                .help("give it a type: `let xs: [int] = [] in ...`");
                self.diags.push(d);
                let error = self.facts.types.error;
                let _ = self.facts.types.unify(ty, error);
            }
        }
        self.generalized.extend(vars.iter().copied());
        Scheme { vars, params: params.to_vec(), result, demands: open }
    }

    /// The types that callers determine, and the demands that they can then solve: the variables of the parameters, and what demands
    /// of these determine, such as the type of a field, of an element of that field, and so on. The other demands come last.
    fn left_to_callers(&self, params: &[Ty]) -> (Vec<Ty>, Vec<Demand>, Vec<Demand>) {
        let mut vars = Vec::new();
        params.iter().for_each(|p| self.facts.types.free(*p, &mut vars));
        let (mut open, mut rest) = (Vec::new(), self.demands.clone());
        loop {
            let before = open.len();
            // A demand usually follows those that it depends on, so one pass finds a whole chain.
            for d in std::mem::take(&mut rest) {
                if self.mentions(&d, &vars) {
                    demand::types_of(&d.kind).into_iter().for_each(|t| self.facts.types.free(t, &mut vars));
                    open.push(d);
                } else {
                    rest.push(d);
                }
            }
            if open.len() == before {
                return (vars, open, rest);
            }
        }
    }

    fn default_types(&mut self, first: Ty, keep: &[Ty]) {
        let end = self.facts.types.fresh();
        let keep: HashSet<Ty> = keep.iter().copied().collect();
        let mut own = Vec::new();
        let mut from = first.0;
        for (lo, hi) in std::mem::take(&mut self.others) {
            own.extend(from..lo);
            from = hi;
        }
        own.extend(from..end.0);
        for t in own.into_iter().map(Ty) {
            if self.facts.types.root(t) != t || keep.contains(&t) || self.generalized.contains(&t) {
                continue;
            }
            let new = match self.facts.types.node(t).clone() {
                Node::Var(Some(set)) => set.default().map(|s| self.facts.types.scalar(s)),
                Node::AnyKind(true) => Some(self.facts.types.seq_kind),
                Node::AnyKind(false) => Some(self.facts.types.array_kind),
                _ => None,
            };
            if let Some(new) = new {
                let _ = self.facts.types.unify(t, new);
            }
        }
    }

    // Utilities.

    fn ast(&self) -> &crate::ast::Module {
        &self.facts.modules[self.module].ast
    }

    fn span(&self, e: ExprId) -> Span {
        self.ast()[e].span
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.scope.iter().rev().find(|l| &*l.name == name)
    }

    /// Requires that `e`, of type `have`, is a `want`; `explain` builds the message from the two as text.
    fn expect(&mut self, e: ExprId, have: Ty, want: Ty, explain: impl FnOnce(&str, &str) -> Diagnostic) {
        if let Err(clash) = self.facts.types.unify(have, want) {
            let span = self.span(e);
            let (h, w) = (self.facts.quote(have), self.facts.quote(want));
            let mut d = explain(&h, &w);
            if clash == Clash::Infinite {
                d.code = Code::InfiniteType;
                d = d.note("no type fits both: it would have to contain itself");
            }
            if d.labels.first().is_none_or(|l| l.span.is_none()) {
                let label = deckle_diag::Label { span, text: format!("this is {h}") };
                let rest = d.labels.iter().filter(|l| !l.span.is_none()).cloned();
                d.labels = std::iter::once(label).chain(rest).collect();
            }
            if d.helps.is_empty()
                && let Some(help) = self.mismatch_help(e, have, want)
            {
                d = d.help(help);
            }
            self.diags.push(d);
        }
    }

    /// Requires that two types agree, for a message without an expression to point at.
    fn agree(&mut self, have: Ty, want: Ty, span: Span, why: &str) {
        if self.facts.types.unify(have, want).is_err() {
            let (h, w) = (self.facts.quote(have), self.facts.quote(want));
            let mut d =
                Diagnostic::new(Code::TypeMismatch, format!("{h} where {w} is needed"), span, format!("this is {h}"));
            if !why.is_empty() {
                d = d.note(why);
            }
            self.diags.push(d);
        }
    }

    /// Checks number literals against their inferred types.
    fn check_literals(&mut self) {
        for (module, e, negative) in std::mem::take(&mut self.literals) {
            let ast = &self.facts.modules[module].ast;
            let ExprKind::Int { value, .. } = ast[e].kind else { continue };
            let span = ast[e].span;
            let Some(ty) = self.facts.expr_types[module][e.0 as usize] else { continue };
            let scalar = match self.facts.types.node(ty) {
                Node::Scalar(s) => *s,
                _ => continue,
            };
            let Some((lo, hi)) = scalar.int_range() else { continue };
            let v = if negative { -(value as i128) } else { value as i128 };
            // `-5u8` is 5 negated, which wraps as documented; the magnitude has to fit.
            let fits = (lo..=hi).contains(&v) || (negative && lo == 0 && (value as i128) <= hi);
            if !fits {
                let name = show::scalar_name(scalar);
                let mut d =
                    Diagnostic::new(Code::BadLiteral, format!("{v} does not fit `{name}`"), span, "out of range")
                        .note(format!("`{name}` holds {lo} to {hi}"));
                let holds = |t: &&ScalarType| t.int_range().is_some_and(|(lo, hi)| (lo..=hi).contains(&v));
                if let Some(wider) = ScalarType::ALL
                    .iter()
                    .filter(holds)
                    .min_by_key(|t| (t.bytes(), t.is_signed() != scalar.is_signed()))
                {
                    d = d.help(format!("`{}` holds it: `{v}{}`", show::scalar_name(*wider), wider.name()));
                } else {
                    d = d.help(format!("a `real` holds it, rounded: `{v}.0`"));
                }
                self.diags.push(d);
            }
        }
    }
}
