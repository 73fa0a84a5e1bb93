//! Types during inference: a union-find over nodes.
//!
//! These types have no sizes; sizes are computed during lowering, by the typing rules of the IR.
//! A vector and a sequence are one node, [`Node::Coll`], whose *kind* is itself inferred: so a generator takes
//! either, and `sum`, `map` or `++` work on both.
//!
//! A variable that must be a scalar carries the set of its possible scalar types; unifying two variables intersects
//! their sets, and a set of one is that type.

use deckle_ir::array::OperandClass;
use deckle_ir::scalar::ScalarType;
use std::collections::{HashMap, HashSet};

/// A type under inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ty(pub u32);

/// The possible scalar types of a variable, as bits in the order of [`ScalarType::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScalarSet(u16);

impl ScalarSet {
    pub fn of(class: OperandClass) -> ScalarSet {
        let bits = ScalarType::ALL.iter().enumerate().filter(|(_, t)| class.has(**t)).map(|(i, _)| 1 << i);
        ScalarSet(bits.sum())
    }

    fn and(self, other: ScalarSet) -> ScalarSet {
        ScalarSet(self.0 & other.0)
    }

    pub fn has(self, t: ScalarType) -> bool {
        ScalarType::ALL.iter().position(|x| *x == t).is_some_and(|i| self.0 & (1 << i) != 0)
    }

    fn single(self) -> Option<ScalarType> {
        (self.0.count_ones() == 1).then(|| ScalarType::ALL[self.0.trailing_zeros() as usize])
    }

    /// The default type of an undetermined number: `i64` if possible, else `f64`.
    pub fn default(self) -> Option<ScalarType> {
        [ScalarType::I64, ScalarType::F64].into_iter().find(|t| self.has(*t))
    }

    /// A description.
    pub fn describe(self) -> &'static str {
        self.words().0
    }

    /// As a part of a type: `number` in `[number]`.
    pub fn part(self) -> &'static str {
        self.words().1
    }

    /// Many of them.
    pub fn plural(self) -> &'static str {
        match self.part() {
            "number" => "numbers",
            "integer" => "integers",
            "real" => "`real` (or `f32`)",
            _ => "numbers or `bool`",
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        use OperandClass::*;
        let is = |class| ScalarSet::of(class) == self;
        match () {
            _ if is(Num) || is(Signed) => ("a number", "number"),
            _ if is(Int) => ("an integer", "integer"),
            _ if is(Float) => ("a `real` (or `f32`)", "real"),
            _ if is(Bits) => ("an integer or `bool`", "integer"),
            _ => ("a number or `bool`", "scalar"),
        }
    }
}

/// The state of a type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// Unknown, or only known to be one of some scalars.
    Var(Option<ScalarSet>),
    /// Equal to another.
    Link(Ty),
    Scalar(ScalarType),
    Tuple(Vec<Ty>),
    /// A record type and its arguments.
    Record(usize, Vec<Ty>),
    /// A collection: its kind and its elements.
    Coll(Ty, Ty),
    /// An unknown kind of collection; whether a sequence is preferred.
    AnyKind(bool),
    ArrayKind,
    SeqKind,
    /// After a reported error: agrees with everything.
    Error,
}

/// Why two types do not unify.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Clash {
    /// They are different.
    Differ,
    /// One would have to contain itself.
    Infinite,
}

/// All types of a compilation.
#[derive(Debug)]
pub(crate) struct Types {
    nodes: Vec<Node>,
    /// For each root, the number of types it represents.
    weights: Vec<u32>,
    pub error: Ty,
    pub array_kind: Ty,
    pub seq_kind: Ty,
}

impl Types {
    pub fn new() -> Self {
        Types {
            nodes: vec![Node::Error, Node::ArrayKind, Node::SeqKind],
            weights: vec![1 << 30; 3],
            error: Ty(0),
            array_kind: Ty(1),
            seq_kind: Ty(2),
        }
    }

    pub fn add(&mut self, node: Node) -> Ty {
        self.nodes.push(node);
        self.weights.push(1);
        Ty(self.nodes.len() as u32 - 1)
    }

    pub fn fresh(&mut self) -> Ty {
        self.add(Node::Var(None))
    }

    pub fn fresh_of(&mut self, class: OperandClass) -> Ty {
        self.add(Node::Var(Some(ScalarSet::of(class))))
    }

    pub fn fresh_kind(&mut self) -> Ty {
        self.add(Node::AnyKind(false))
    }

    pub fn scalar(&mut self, t: ScalarType) -> Ty {
        self.add(Node::Scalar(t))
    }

    pub fn int(&mut self) -> Ty {
        self.scalar(ScalarType::I64)
    }

    pub fn bool(&mut self) -> Ty {
        self.scalar(ScalarType::Bool)
    }

    pub fn tuple(&mut self, parts: Vec<Ty>) -> Ty {
        self.add(Node::Tuple(parts))
    }

    pub fn array(&mut self, elem: Ty) -> Ty {
        self.add(Node::Coll(self.array_kind, elem))
    }

    pub fn seq(&mut self, elem: Ty) -> Ty {
        self.add(Node::Coll(self.seq_kind, elem))
    }

    pub fn root(&self, mut t: Ty) -> Ty {
        while let Node::Link(next) = self.nodes[t.0 as usize] {
            t = next;
        }
        t
    }

    pub fn node(&self, t: Ty) -> &Node {
        &self.nodes[self.root(t).0 as usize]
    }

    fn set(&mut self, t: Ty, node: Node) {
        self.nodes[t.0 as usize] = node;
    }

    /// Unifies two roots, with the node of the second. The root of more types remains one, so that every type is a few links from its root.
    fn link(&mut self, a: Ty, b: Ty) {
        let (i, j) = (a.0 as usize, b.0 as usize);
        if self.weights[i] > self.weights[j] {
            self.nodes.swap(i, j);
            self.nodes[j] = Node::Link(a);
            self.weights[i] += self.weights[j];
        } else {
            self.nodes[i] = Node::Link(b);
            self.weights[j] += self.weights[i];
        }
    }

    /// Lets an undetermined kind default to a sequence.
    pub fn prefer_seq(&mut self, kind: Ty) {
        let kind = self.root(kind);
        if let Node::AnyKind(_) = self.nodes[kind.0 as usize] {
            self.set(kind, Node::AnyKind(true));
        }
    }

    /// Unifies two types.
    pub fn unify(&mut self, a: Ty, b: Ty) -> Result<(), Clash> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.unify_roots(a, b))
    }

    fn unify_roots(&mut self, a: Ty, b: Ty) -> Result<(), Clash> {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return Ok(());
        }
        match (self.nodes[a.0 as usize].clone(), self.nodes[b.0 as usize].clone()) {
            // A type that depends on an error is an error, so that it is not reported again.
            (Node::Error, Node::Var(_)) => {
                self.link(b, a);
                Ok(())
            }
            (Node::Var(_), Node::Error) => {
                self.link(a, b);
                Ok(())
            }
            (Node::Error, _) | (_, Node::Error) => Ok(()),
            (Node::Var(None), _) => self.bind(a, b),
            (_, Node::Var(None)) => self.bind(b, a),
            (Node::Var(Some(s)), Node::Var(Some(t))) => {
                let both = s.and(t);
                if both.0 == 0 {
                    return Err(Clash::Differ);
                }
                self.set(b, both.single().map_or(Node::Var(Some(both)), Node::Scalar));
                self.link(a, b);
                Ok(())
            }
            (Node::Var(Some(s)), Node::Scalar(t)) if s.has(t) => {
                self.link(a, b);
                Ok(())
            }
            (Node::Scalar(t), Node::Var(Some(s))) if s.has(t) => {
                self.link(b, a);
                Ok(())
            }
            (Node::Scalar(s), Node::Scalar(t)) if s == t => Ok(()),
            (Node::Tuple(s), Node::Tuple(t)) if s.len() == t.len() => self.unify_parts(a, b, &s, &t),
            (Node::Record(i, s), Node::Record(j, t)) if i == j => self.unify_parts(a, b, &s, &t),
            (Node::Coll(k, s), Node::Coll(l, t)) => self.unify_parts(a, b, &[k, s], &[l, t]),
            (Node::AnyKind(p), Node::AnyKind(q)) => {
                self.set(b, Node::AnyKind(p || q));
                self.link(a, b);
                Ok(())
            }
            (Node::AnyKind(_), Node::ArrayKind | Node::SeqKind) => {
                self.link(a, b);
                Ok(())
            }
            (Node::ArrayKind | Node::SeqKind, Node::AnyKind(_)) => {
                self.link(b, a);
                Ok(())
            }
            _ => Err(Clash::Differ),
        }
    }

    /// Unifies part by part. Then both are one node, so that parts which occur many times are compared once.
    fn unify_parts(&mut self, a: Ty, b: Ty, s: &[Ty], t: &[Ty]) -> Result<(), Clash> {
        s.iter().zip(t).try_for_each(|(x, y)| self.unify(*x, *y))?;
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.link(a, b);
        }
        Ok(())
    }

    /// Whether two types may be equal, as far as can be decided without changing them. Errs towards yes.
    pub fn may_agree(&self, a: Ty, b: Ty) -> bool {
        self.may_agree_at(a, b, 0)
    }

    fn may_agree_at(&self, a: Ty, b: Ty, depth: usize) -> bool {
        let all = |s: &[Ty], t: &[Ty]| {
            s.len() == t.len() && s.iter().zip(t).all(|(x, y)| self.may_agree_at(*x, *y, depth + 1))
        };
        if depth > 8 {
            return true;
        }
        match (self.node(a), self.node(b)) {
            (Node::Error | Node::Var(None), _) | (_, Node::Error | Node::Var(None)) => true,
            (Node::Var(Some(s)), Node::Var(Some(t))) => s.and(*t).0 != 0,
            (Node::Var(Some(s)), Node::Scalar(t)) | (Node::Scalar(t), Node::Var(Some(s))) => s.has(*t),
            (Node::Scalar(s), Node::Scalar(t)) => s == t,
            (Node::Tuple(s), Node::Tuple(t)) => all(s, t),
            (Node::Record(i, s), Node::Record(j, t)) => i == j && all(s, t),
            (Node::Coll(k, s), Node::Coll(l, t)) => all(&[*k, *s], &[*l, *t]),
            (Node::AnyKind(_), Node::AnyKind(_) | Node::ArrayKind | Node::SeqKind) => true,
            (Node::ArrayKind | Node::SeqKind, Node::AnyKind(_)) => true,
            (x, y) => x == y,
        }
    }

    fn bind(&mut self, var: Ty, to: Ty) -> Result<(), Clash> {
        if self.occurs(var, to) {
            return Err(Clash::Infinite);
        }
        self.link(var, to);
        Ok(())
    }

    fn occurs(&self, var: Ty, inside: Ty) -> bool {
        let mut pending = vec![inside];
        let mut seen = HashSet::new();
        while let Some(t) = pending.pop() {
            let t = self.root(t);
            if t == var {
                return true;
            }
            let parts = self.parts(t);
            if !parts.is_empty() && seen.insert(t) {
                pending.extend(parts);
            }
        }
        false
    }

    /// The types directly inside another.
    pub fn parts(&self, t: Ty) -> Vec<Ty> {
        match self.node(t) {
            Node::Tuple(p) | Node::Record(_, p) => p.clone(),
            Node::Coll(k, e) => vec![*k, *e],
            _ => Vec::new(),
        }
    }

    /// The undetermined variables in a type, kinds included, each once.
    pub fn free(&self, t: Ty, into: &mut Vec<Ty>) {
        let mut pending = vec![t];
        let mut seen = HashSet::new();
        while let Some(t) = pending.pop() {
            let t = self.root(t);
            if let Node::Var(_) | Node::AnyKind(_) = self.node(t) {
                if !into.contains(&t) {
                    into.push(t);
                }
                continue;
            }
            let parts = self.parts(t);
            if !parts.is_empty() && seen.insert(t) {
                pending.extend(parts.into_iter().rev());
            }
        }
    }

    /// A copy of a type in which the variables of `map` are replaced.
    pub fn copy(&mut self, t: Ty, map: &mut HashMap<Ty, Ty>) -> Ty {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let t = self.root(t);
            if let Some(new) = map.get(&t) {
                return *new;
            }
            let new = match self.node(t).clone() {
                Node::Tuple(p) => {
                    let p = p.into_iter().map(|x| self.copy(x, map)).collect();
                    self.add(Node::Tuple(p))
                }
                Node::Record(r, p) => {
                    let p = p.into_iter().map(|x| self.copy(x, map)).collect();
                    self.add(Node::Record(r, p))
                }
                Node::Coll(k, e) => {
                    let (k, e) = (self.copy(k, map), self.copy(e, map));
                    self.add(Node::Coll(k, e))
                }
                _ => return t,
            };
            // A shared part remains one node: a type may be exponentially larger when written out.
            map.insert(t, new);
            new
        })
    }

    /// A fresh variable with the constraint of another.
    pub fn fresh_like(&mut self, var: Ty) -> Ty {
        let node = self.node(var).clone();
        self.add(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_scalars_intersect() {
        let mut t = Types::new();
        let (a, b) = (t.fresh_of(OperandClass::Num), t.fresh_of(OperandClass::Bits));
        t.unify(a, b).unwrap();
        assert_eq!(*t.node(a), Node::Var(Some(ScalarSet::of(OperandClass::Int))));
        let f = t.fresh_of(OperandClass::Float);
        assert_eq!(t.unify(a, f), Err(Clash::Differ));
    }

    #[test]
    fn a_collection_learns_its_kind() {
        let mut t = Types::new();
        let (k, e) = (t.fresh_kind(), t.fresh());
        let any = t.add(Node::Coll(k, e));
        let int = t.int();
        let vector = t.array(int);
        t.unify(any, vector).unwrap();
        assert_eq!(*t.node(k), Node::ArrayKind);
        let stream = t.seq(int);
        assert_eq!(t.unify(any, stream), Err(Clash::Differ));
    }

    #[test]
    fn infinite_types_are_refused() {
        let mut t = Types::new();
        let a = t.fresh();
        let v = t.array(a);
        assert_eq!(t.unify(a, v), Err(Clash::Infinite));
    }
}
