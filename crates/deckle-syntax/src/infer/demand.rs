//! Demands: constraints on types that become known later.

use super::Infer;
use super::env::{Demand, DemandKind};
use super::types::{Node, Ty};
use deckle_diag::{Code, Diagnostic, Span, closest};
use std::collections::HashMap;
use std::rc::Rc;

/// The types in a demand.
pub(super) fn types_of(kind: &DemandKind) -> Vec<Ty> {
    match kind {
        DemandKind::Field(a, _, b)
        | DemandKind::Component(a, _, b)
        | DemandKind::Shape(a, b)
        | DemandKind::Base(a, b) => {
            vec![*a, *b]
        }
        DemandKind::Targets(a, b, c) => vec![*a, *b, *c],
    }
}

/// The fields of a record, for a message.
pub(super) fn listing(fields: &[&str]) -> String {
    match fields {
        [] => "it has no fields".into(),
        [one] => format!("its only field is `{one}`"),
        _ => format!("its fields are `{}`", fields.join("`, `")),
    }
}

impl Infer {
    pub(super) fn demand(&mut self, kind: DemandKind, span: Span) {
        self.demand_via(kind, span, None);
    }

    fn demand_via(&mut self, kind: DemandKind, span: Span, via: Option<Span>) {
        let demand = Demand { kind, span, via };
        if !self.meet(&demand, false) {
            self.demands.push(demand);
        }
    }

    /// Solves all demands that can be solved; the others stay, or are errors if this is the `last` chance.
    pub(super) fn solve(&mut self, last: bool) {
        loop {
            let pending = std::mem::take(&mut self.demands);
            let before = pending.len();
            for d in pending {
                if !self.meet(&d, last) {
                    self.demands.push(d);
                }
            }
            if self.demands.is_empty() || self.demands.len() == before {
                break;
            }
        }
        if last {
            self.demands.clear();
        }
    }

    /// Whether a demand mentions one of these variables.
    pub(super) fn mentions(&self, d: &Demand, vars: &[Ty]) -> bool {
        let mut free = Vec::new();
        types_of(&d.kind).into_iter().for_each(|t| self.facts.types.free(t, &mut free));
        free.iter().any(|v| vars.contains(v))
    }

    /// The demands of a function with its variables replaced.
    pub(super) fn renew(&mut self, demands: &[Demand], map: &mut HashMap<Ty, Ty>, span: Span) {
        for d in demands {
            let kind = match d.kind.clone() {
                DemandKind::Field(a, n, b) => {
                    DemandKind::Field(self.facts.types.copy(a, map), n, self.facts.types.copy(b, map))
                }
                DemandKind::Component(a, n, b) => {
                    DemandKind::Component(self.facts.types.copy(a, map), n, self.facts.types.copy(b, map))
                }
                DemandKind::Shape(a, b) => {
                    DemandKind::Shape(self.facts.types.copy(a, map), self.facts.types.copy(b, map))
                }
                DemandKind::Base(a, b) => {
                    DemandKind::Base(self.facts.types.copy(a, map), self.facts.types.copy(b, map))
                }
                DemandKind::Targets(a, b, c) => DemandKind::Targets(
                    self.facts.types.copy(a, map),
                    self.facts.types.copy(b, map),
                    self.facts.types.copy(c, map),
                ),
            };
            self.demand_via(kind, d.span, Some(span));
        }
    }

    /// Tries to solve a demand; returns whether it is finished (solved, or reported).
    fn meet(&mut self, d: &Demand, last: bool) -> bool {
        let before = self.diags.len();
        let done = self.meet_kind(d, last);
        if let Some(call) = d.via
            && self.diags.len() > before
        {
            // The user has to change the call; one error about it is enough.
            let first = self.refused.insert((call.file.0, call.lo, call.hi));
            for mut diag in self.diags.split_off(before).into_iter().take(usize::from(first)) {
                let why = diag.labels.first().map_or(String::new(), |l| l.text.clone());
                diag.labels.insert(0, deckle_diag::Label { span: call, text: "because of this call".into() });
                if let Some(l) = diag.labels.get_mut(1) {
                    l.text = if why.is_empty() { "needed here".into() } else { why };
                }
                self.diags.push(diag);
            }
        }
        done
    }

    fn meet_kind(&mut self, d: &Demand, last: bool) -> bool {
        match d.kind.clone() {
            DemandKind::Field(base, name, result) => self.meet_field(base, &name, result, d.span, last),
            DemandKind::Component(base, k, result) => match self.facts.types.node(base).clone() {
                Node::Tuple(parts) => {
                    match parts.get(k as usize) {
                        Some(t) => self.agree(*t, result, d.span, ""),
                        None => {
                            let d = Diagnostic::new(
                                Code::NoField,
                                format!("there is no component {k} in `{}`", self.facts.show(base)),
                                d.span,
                                "no such component",
                            )
                            .note("components are counted from 0");
                            let last = parts.len().checked_sub(1);
                            let d = match last {
                                Some(last) => d.help(format!("the last one is `.{last}`")),
                                None => d,
                            };
                            self.fail(d, result);
                        }
                    }
                    true
                }
                Node::Error => self.give_up(result),
                Node::Var(None) if !last => false,
                _ => {
                    let have = self.facts.quote(base);
                    let mut d = match self.facts.types.node(base) {
                        Node::Var(None) => Diagnostic::new(
                            Code::Ambiguous,
                            "the type of this must be known to find its component",
                            d.span,
                            format!("component {k} of what?"),
                        )
                        .help("write the type of the parameter: `def f(p: (int, int)) = ...`"),
                        _ => Diagnostic::new(
                            Code::NoField,
                            format!("{have} is not a tuple, so it has no component {k}"),
                            d.span,
                            "only tuples have components",
                        ),
                    };
                    if let Node::Coll(..) = self.facts.types.node(base) {
                        d = d.help(format!("an element of a vector is written `xs[{k}]`"));
                    }
                    self.fail(d, result);
                    true
                }
            },
            DemandKind::Shape(array, result) => match self.depth(array) {
                Some((depth, _)) => {
                    let int = self.facts.types.int();
                    let shape = if depth == 1 { int } else { self.facts.types.tuple(vec![int; depth]) };
                    self.agree(shape, result, d.span, "");
                    true
                }
                None => self.stuck(array, result, d.span, last),
            },
            DemandKind::Base(array, result) => match self.depth(array) {
                Some((_, base)) => {
                    self.agree(base, result, d.span, "");
                    true
                }
                None => self.stuck(array, result, d.span, last),
            },
            DemandKind::Targets(into, targets, elem) => {
                let k = match self.facts.types.node(targets).clone() {
                    Node::Tuple(parts) => parts.len(),
                    Node::Error => return true,
                    Node::Var(None) if !last => return false,
                    _ => 1,
                };
                let int = self.facts.types.int();
                let want = if k == 1 { int } else { self.facts.types.tuple(vec![int; k]) };
                if self.facts.types.unify(targets, want).is_err() {
                    let have = self.facts.quote(targets);
                    let d = Diagnostic::new(
                        Code::TypeMismatch,
                        format!("each target must be an `int`, or for a matrix a pair of them, not {have}"),
                        d.span,
                        format!("holds {have}"),
                    );
                    self.diags.push(d);
                    return true;
                }
                let nest = (0..k).fold(elem, |t, _| self.facts.types.array(t));
                self.agree(into, nest, d.span, "");
                true
            }
        }
    }

    fn meet_field(&mut self, base: Ty, name: &Rc<str>, result: Ty, span: Span, last: bool) -> bool {
        match self.facts.types.node(base).clone() {
            Node::Record(r, args) => {
                let record = std::rc::Rc::clone(&self.facts.records[r]);
                match record.fields.iter().find(|(n, _)| n == name) {
                    Some((_, ty)) => {
                        let mut map: HashMap<Ty, Ty> = record.params.iter().copied().zip(args).collect();
                        let ty = self.facts.types.copy(*ty, &mut map);
                        self.agree(ty, result, span, "");
                    }
                    None => {
                        let fields: Vec<&str> = record.fields.iter().map(|(n, _)| &**n).collect();
                        let mut d = Diagnostic::new(
                            Code::NoField,
                            format!("`{}` has no field `{name}`", record.name),
                            span,
                            "no such field",
                        );
                        d = match closest(name, fields.iter().copied()) {
                            Some(c) => d.help(format!("did you mean `{c}`?")),
                            None => d.note(listing(&fields)),
                        };
                        self.fail(d, result);
                    }
                }
                true
            }
            Node::Error => self.give_up(result),
            Node::Var(None) if !last => false,
            Node::Var(None) => {
                let d = Diagnostic::new(
                    Code::Ambiguous,
                    format!("the type of this must be known to find its field `{name}`"),
                    span,
                    "of which type?",
                )
                .help("write the type of the parameter: `def f(p: point) = ...`");
                self.fail(d, result);
                true
            }
            _ => {
                let have = self.facts.quote(base);
                let mut d =
                    Diagnostic::new(Code::NoField, format!("{have} has no fields"), span, format!("no field `{name}`"));
                let call = match &**name {
                    "len" | "count" => "length",
                    "T" => "transpose",
                    other => other,
                };
                if !crate::builtins::lookup(call).is_empty() {
                    d = d.help(format!("functions are written before their argument: `{call}(...)`"));
                } else if let Node::Tuple(_) = self.facts.types.node(base) {
                    d = d.help("the components of a tuple are `.0`, `.1` and so on; a type with names is a record");
                }
                self.fail(d, result);
                true
            }
        }
    }

    fn fail(&mut self, d: Diagnostic, result: Ty) {
        self.diags.push(d);
        self.give_up(result);
    }

    fn give_up(&mut self, result: Ty) -> bool {
        let error = self.facts.types.error;
        let _ = self.facts.types.unify(result, error);
        true
    }

    fn stuck(&mut self, array: Ty, result: Ty, span: Span, last: bool) -> bool {
        match self.facts.types.node(array) {
            Node::Var(None) | Node::Coll(..) if !last => false,
            Node::Error => self.give_up(result),
            Node::Var(None) | Node::Coll(..) => {
                let d =
                    Diagnostic::new(Code::Ambiguous, "the rank of this array must be known", span, "of which type?")
                        .help("write the type of the parameter: `def f(a: [[real]]) = ...`");
                self.fail(d, result);
                true
            }
            _ => {
                let have = self.facts.quote(array);
                let d = Diagnostic::new(
                    Code::TypeMismatch,
                    format!("an array is needed, not {have}"),
                    span,
                    format!("this is {have}"),
                );
                self.fail(d, result);
                true
            }
        }
    }

    /// The number of nested arrays, and the type inside, if known.
    fn depth(&self, t: Ty) -> Option<(usize, Ty)> {
        let mut t = t;
        let mut depth = 0;
        loop {
            match self.facts.types.node(t) {
                Node::Coll(kind, elem) => match self.facts.types.node(*kind) {
                    Node::SeqKind if depth > 0 => return Some((depth, t)),
                    Node::SeqKind => return None,
                    _ => {
                        depth += 1;
                        t = *elem;
                    }
                },
                Node::Var(None) | Node::Error => return None,
                _ if depth == 0 => return None,
                _ => return Some((depth, t)),
            }
        }
    }
}
