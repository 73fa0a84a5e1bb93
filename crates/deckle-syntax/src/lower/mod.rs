//! From typed trees to array IR.
//!
//! A function is lowered once for each combination of types that its open variables are used at, callees before
//! callers. Types are known here; the typing rules of the IR compute sizes while the function is built. Requirements of operators that those rules
//! cannot prove (a regular array, a written size) become an `ensure`.

mod annotate;
mod builtin;
mod expr;
mod fault;
mod func;
mod index;
mod looping;
mod sequence;

use crate::ast::{ExprId, ExprKind, IndexItem, LoopKind};
use crate::infer::env::{Callee, DefId, Facts};
use crate::infer::measure::{Extent, Extents, too_large};
use crate::infer::types::{Node, Ty};
use crate::{Compiled, Entry};
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array::{Coll, Function, Program};
use deckle_ir::entity::Func;
use deckle_ir::size::Size;
use deckle_ir::types::{RecordType, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// The maximal number of functions beyond the written ones, counting each once for every combination of types.
const MAX_INSTANCES: usize = 5_000;

/// The type at which an open variable of a function is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Choice {
    Type(Type),
    Kind(Coll),
}

pub(crate) type Choices = HashMap<Ty, Choice>;

/// A function at particular types.
type Key = (DefId, Vec<Choice>);

/// The state of lowering.
pub(crate) struct Lower {
    facts: Facts,
    funcs: Vec<Function>,
    instances: HashMap<Key, Option<Func>>,
    diags: Vec<Diagnostic>,
    root: usize,
    /// The number of written functions.
    written: usize,
    /// The number of functions with each name.
    names: HashMap<String, u32>,
    /// The chain of calls to the current function, each if its function has several instances.
    calls: Vec<Option<Span>>,
    /// Whether the limit on instances was exceeded.
    exhausted: bool,
}

/// Lowers every function of the root module that has a definite type, and their callees.
pub(crate) fn lower(facts: Facts, root: usize) -> Result<Compiled, Vec<Diagnostic>> {
    let written = facts.modules.iter().map(|m| m.ast.defs.len()).sum();
    let mut lower = Lower {
        facts,
        funcs: Vec::new(),
        instances: HashMap::new(),
        diags: Vec::new(),
        root,
        written,
        names: HashMap::new(),
        calls: Vec::new(),
        exhausted: false,
    };
    let mut entries = Vec::new();
    let modules = lower.facts.modules.len();
    for module in 0..modules {
        for index in 0..lower.facts.modules[module].ast.defs.len() {
            let id = DefId { module, index };
            let Some(choices) = lower.entry_choices(id) else { continue };
            if let Some(func) = lower.instance(id, choices)
                && module == root
            {
                let def = lower.facts.def(id);
                entries.push(Entry {
                    name: def.name.text.to_string(),
                    func,
                    doc: def.doc.clone(),
                    span: def.name.span,
                });
            }
        }
    }
    if lower.diags.is_empty() {
        Ok(Compiled { program: Program { funcs: lower.funcs }, entries })
    } else {
        Err(lower.diags)
    }
}

impl Lower {
    /// The types at which a function is run from outside: its own, with the defaults of open numbers and
    /// collections. `None` if other types are open.
    fn entry_choices(&self, id: DefId) -> Option<Vec<Choice>> {
        let scheme = self.facts.schemes.get(&id)?;
        if !scheme.demands.is_empty() {
            return None;
        }
        let choice = |v: &Ty| match self.facts.types.node(*v) {
            Node::Var(Some(set)) => set.default().map(|s| Choice::Type(s.into())),
            Node::AnyKind(_) => Some(Choice::Kind(Coll::Array)),
            _ => None,
        };
        scheme.vars.iter().map(choice).collect()
    }

    /// The function at these types, lowered on demand; `None` if that fails.
    fn instance(&mut self, id: DefId, choices: Vec<Choice>) -> Option<Func> {
        let key = (id, choices);
        if let Some(done) = self.instances.get(&key) {
            return *done;
        }
        if self.exhausted {
            return None;
        }
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            let scheme = self.facts.schemes.get(&id)?.clone();
            let map: Choices = scheme.vars.iter().copied().zip(key.1.iter().cloned()).collect();
            let mut known = self.extents(&map);
            let mut ready = self.is_small(id, &mut known);
            for (callee, types, span) in self.callees(id) {
                if !ready {
                    break;
                }
                let is_large = |t: &Ty, known: &mut Extents| self.facts.measure(*t, known).is_too_large();
                if types.iter().any(|t| is_large(t, &mut known)) {
                    let name = &self.facts.def(callee).name.text;
                    self.refuse(vec![too_large(&format!("a type at which `{name}` is used"), span)]);
                    ready = false;
                    break;
                }
                let generic = !types.is_empty();
                let choices = types.iter().map(|t| self.choice(*t, &map)).collect();
                self.calls.push(generic.then_some(span));
                ready &= self.instance(callee, choices).is_some();
                self.calls.pop();
            }
            if !ready {
                self.instances.insert(key, None);
                return None;
            }
            if self.funcs.len() >= self.written + MAX_INSTANCES {
                self.exhaust(id);
                return None;
            }
            let name = self.instance_name(id);
            let funcs = std::mem::take(&mut self.funcs);
            let built = func::FnLower::new(self, &funcs, id, &map, name).run();
            self.funcs = funcs;
            let func = match built {
                Ok(f) => {
                    self.funcs.push(f);
                    Some(Func(self.funcs.len() as u32 - 1))
                }
                Err(diags) => {
                    self.refuse(diags);
                    None
                }
            };
            self.instances.insert(key, func);
            func
        })
    }

    /// Records the errors of an instance, and the calls that created it.
    fn refuse(&mut self, diags: Vec<Diagnostic>) {
        let calls: Vec<Span> = self.calls.iter().rev().map_while(|c| *c).take(3).collect();
        for d in diags {
            let d = calls.iter().fold(d, |d, call| d.label(*call, "because of this call"));
            self.diags.push(d);
        }
    }

    fn exhaust(&mut self, id: DefId) {
        self.exhausted = true;
        let name = &self.facts.def(id).name;
        let d = Diagnostic::new(
            Code::TooDeep,
            "functions are used at too many types",
            name.span,
            format!("`{}` at one more", name.text),
        )
        .note("a function without written types is compiled again for every combination of types at which it is used")
        .note(format!("a program may have {MAX_INSTANCES} functions more than are written"))
        .help("write the types of parameters, so that functions are used at fewer types");
        self.diags.push(d);
    }

    /// The extents of the types of the variables of a function.
    fn extents(&self, map: &Choices) -> Extents {
        let of = |c: &Choice| match c {
            Choice::Type(t) => extent(t),
            Choice::Kind(_) => Extent::LEAF,
        };
        map.iter().map(|(var, c)| (self.facts.types.root(*var), of(c))).collect()
    }

    /// Whether all types in a function can be written out; rejects it if not.
    fn is_small(&mut self, id: DefId, known: &mut Extents) -> bool {
        if known.values().all(|e| e.parts <= 8) {
            return true;
        }
        let ast = &self.facts.modules[id.module].ast;
        let mut pending = vec![ast.defs[id.index].body];
        while let Some(e) = pending.pop() {
            let ty = self.facts.expr_types[id.module][e.0 as usize];
            if ty.is_some_and(|t| self.facts.measure(t, known).is_too_large()) {
                self.refuse(vec![too_large("the type of this", ast[e].span)]);
                return false;
            }
            children(&ast[e].kind, &mut pending);
        }
        true
    }

    /// A name that no function has yet.
    fn instance_name(&mut self, id: DefId) -> String {
        let name = &self.facts.def(id).name.text;
        let base = if id.module == self.root { name.to_string() } else { format!("{name}@{}", id.module) };
        let count = self.names.entry(base.clone()).or_default();
        *count += 1;
        // Names of functions contain no `'`, so this is unique.
        if *count == 1 { base } else { format!("{base}'{count}") }
    }

    fn lookup(&self, id: DefId, choices: Vec<Choice>) -> Option<Func> {
        self.instances.get(&(id, choices)).copied().flatten()
    }

    /// The callees of a function, the types of each call, and its place.
    fn callees(&self, id: DefId) -> Vec<(DefId, Vec<Ty>, Span)> {
        let ast = &self.facts.modules[id.module].ast;
        let mut out = Vec::new();
        let mut pending = vec![ast.defs[id.index].body];
        while let Some(e) = pending.pop() {
            if let Some(Callee::User(def, types)) = self.facts.callees.get(&(id.module, e)) {
                out.push((*def, types.clone(), ast[e].span));
            }
            children(&ast[e].kind, &mut pending);
        }
        out
    }

    pub(super) fn choice(&self, t: Ty, map: &Choices) -> Choice {
        match self.facts.types.node(t) {
            Node::AnyKind(_) | Node::ArrayKind | Node::SeqKind => Choice::Kind(self.coll(t, map)),
            _ => Choice::Type(self.kind(t, map)),
        }
    }

    fn coll(&self, t: Ty, map: &Choices) -> Coll {
        match self.facts.types.node(t) {
            Node::SeqKind => Coll::Seq,
            Node::AnyKind(_) => match map.get(&self.facts.types.root(t)) {
                Some(Choice::Kind(c)) => *c,
                _ => Coll::Array,
            },
            _ => Coll::Array,
        }
    }

    /// A type without sizes (all of them are zero).
    pub(super) fn kind(&self, t: Ty, map: &Choices) -> Type {
        match self.facts.types.node(t) {
            Node::Scalar(s) => (*s).into(),
            Node::Var(set) => match (map.get(&self.facts.types.root(t)), set) {
                (Some(Choice::Type(ty)), _) => ty.clone(),
                (_, Some(set)) => set.default().map_or(Type::INT, Type::from),
                _ => Type::tuple(vec![]),
            },
            Node::Tuple(parts) => Type::tuple(parts.iter().map(|p| self.kind(*p, map)).collect()),
            Node::Record(r, args) => {
                let record = &self.facts.records[*r];
                let mut inner = map.clone();
                for (p, a) in record.params.iter().zip(args) {
                    inner.insert(self.facts.types.root(*p), self.choice(*a, map));
                }
                let fields = record.fields.iter().map(|(n, t)| (n.to_string(), self.kind(*t, &inner))).collect();
                Type::Record(Arc::new(RecordType { name: record.name.to_string(), fields }))
            }
            Node::Coll(kind, elem) => {
                let elem = self.kind(*elem, map);
                match self.coll(*kind, map) {
                    Coll::Array => Type::array(Size::constant(0), elem),
                    Coll::Seq => Type::seq(elem),
                }
            }
            _ => Type::tuple(vec![]),
        }
    }
}

/// The extent of a type without variables.
fn extent(t: &Type) -> Extent {
    match t {
        Type::Scalar(_) => Extent::LEAF,
        Type::Array(a) => Extent::around(std::iter::once(extent(&a.elem))),
        Type::Seq(e) => Extent::around(std::iter::once(extent(e))),
        Type::Tuple(_) | Type::Record(_) => Extent::around(t.parts().into_iter().flatten().map(extent)),
    }
}

/// The expressions directly inside another.
fn children(kind: &ExprKind, out: &mut Vec<ExprId>) {
    match kind {
        ExprKind::Tuple(l) | ExprKind::Seq(l) | ExprKind::Array(l) => out.extend(l),
        ExprKind::Let { value, body, .. } => out.extend([value, body]),
        ExprKind::If { cond, then, els } => out.extend([cond, then, els]),
        ExprKind::Loop { init, kind, body, .. } => {
            out.extend([init, body]);
            match kind {
                LoopKind::While(c) => out.push(*c),
                LoopKind::For { lo, hi, .. } => out.extend(lo.iter().chain([hi])),
            }
        }
        ExprKind::Lambda { body, .. } => out.push(*body),
        ExprKind::Call { args, .. } => out.extend(args.iter().map(|a| a.value)),
        ExprKind::With { base, fields } => {
            out.push(*base);
            out.extend(fields.iter().map(|f| f.1));
        }
        ExprKind::Index { base, items } => {
            out.push(*base);
            for item in items {
                match item {
                    IndexItem::All(_) => {}
                    IndexItem::At(e) => out.push(*e),
                    IndexItem::Range(a, b) => out.extend(a.iter().chain(b)),
                }
            }
        }
        ExprKind::Field(e, _) | ExprKind::Component(e, ..) | ExprKind::Unary(_, e) => out.push(*e),
        ExprKind::Binary(_, a, b) => out.extend([a, b]),
        ExprKind::Range { lo, hi, step, .. } => out.extend([lo, hi].into_iter().chain(step)),
        ExprKind::SeqComp { body, gens, guard } | ExprKind::ArrayComp { body, gens, guard } => {
            out.push(*body);
            out.extend(gens.iter().map(|g| g.source));
            out.extend(guard);
        }
        ExprKind::Guarded { body, cond } => out.extend([body, cond]),
        ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_) | ExprKind::Char(_) | ExprKind::Str(_) => {}
        ExprKind::Name(_) | ExprKind::Operator(_) | ExprKind::Error => {}
    }
}
