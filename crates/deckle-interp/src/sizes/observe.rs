//! Sizes under the streaming discipline, where a sequence is not the value of a variable.
//!
//! Its elements are observed one by one: the sizes they determine are *learnt*, and compared with their type. A size that
//! only later elements determine is left *open*, and compared when it is known.

use super::{Bound, Frame, Mismatch, for_each_part, rank};
use deckle_ir::array::{Inst, Op};
use deckle_ir::entity::{SizeVar, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// The sizes that the elements of sequences have determined, for the frames inside.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    sizes: Vec<(SizeVar, Vec<i128>, Bound)>,
    over: Vec<Var>,
}

/// A size that could not be compared yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Open {
    /// The required value, in terms of unknown sizes.
    pub size: Size,
    pub(super) mismatch: Mismatch,
    pub(super) node: usize,
}

impl Open {
    /// Whether another open size makes the same comparison.
    pub(crate) fn says_the_same(&self, other: &Open) -> bool {
        self.size == other.size && self.mismatch.actual == other.mismatch.actual && self.node == other.node
    }

    /// The report if it never becomes known.
    pub(crate) fn unknown(self) -> Mismatch {
        self.mismatch
    }
}

impl<'p> Frame<'p> {
    /// A size with all known values replaced by numbers.
    pub(super) fn what_is_open(&self, size: &Size, positions: &[i128]) -> Size {
        size.rewrite(&mut |atom, depth| {
            // Under a Σ the positions of the Σ come first.
            let outer = |p: u32| positions.iter().rev().nth(p.checked_sub(depth)? as usize).copied();
            let known = match atom {
                Atom::Pos(p) => outer(*p),
                Atom::At(_) | Atom::Value(_) => Size::from(atom.clone()).eval(self, &mut Vec::new()),
                atom if depth == 0 => Size::from(atom.clone()).eval(self, &mut Vec::new()),
                _ => None,
            };
            known.map(Size::constant)
        })
    }

    /// Compares an open size, if it is known now.
    pub(crate) fn settle(&self, open: &Open) -> Option<Result<(), Mismatch>> {
        let expected = open.size.eval(self, &mut Vec::new())?;
        if expected == open.mismatch.actual as i128 {
            return Some(Ok(()));
        }
        let rows = !open.mismatch.at.is_empty() && self.came_from(open.node, &open.size, &mut Vec::new());
        Some(Err(Mismatch { expected: Some(expected), rows, ..open.mismatch.clone() }))
    }

    /// Learns sizes from a part of the value of `v`, of this type at these positions. A size that several parameters mention is
    /// that of the first of them that determines it. Parameters and operands of `ensure` are compared with their types.
    pub(crate) fn observe(
        &mut self,
        v: Var,
        (ty, at): (&'p Type, &[i128]),
        value: &Value,
        learnt: &mut Learnt,
    ) -> Result<Vec<Open>, Mismatch> {
        let params = self.function.params();
        let owns = |b: Var| if params.contains(&v) { params.contains(&b) } else { b == v };
        let before = learnt.sizes.len();
        self.learn(ty, value, &owns, rank(v), &mut at.to_vec(), learnt);
        let mut open = Vec::new();
        if params.contains(&v) || self.is_ensured(v) {
            self.check_sizes(ty, value, &mut at.to_vec(), &mut open)?;
        }
        for (s, at, _) in learnt.sizes.extract_if(before.., |(s, ..)| !self.info.lasting[s.index()]) {
            self.sizes[s.index()].remove(&at);
        }
        Ok(open)
    }

    fn is_ensured(&self, v: Var) -> bool {
        matches!(self.function.inst(v).map(|inst| &inst.op), Some(Op::Ensure(_)))
    }

    fn learn(
        &mut self,
        ty: &'p Type,
        value: &Value,
        owns: &dyn Fn(Var) -> bool,
        rank: u32,
        positions: &mut Vec<i128>,
        learnt: &mut Learnt,
    ) {
        if let Some((s, at, bound)) = self.shown(ty, value, owns, rank, positions) {
            let earlier = self.sizes[s.index()].get(&at);
            if earlier.is_none_or(|e| e.size == bound.size && e.rank > rank) {
                self.sizes[s.index()].insert(at.clone(), bound);
                learnt.sizes.push((s, at, bound));
            }
        }
        let _ = for_each_part(ty, value, positions, &mut |ty, value, positions| -> Result<(), ()> {
            self.learn(ty, value, owns, rank, positions, learnt);
            Ok(())
        });
    }

    /// A variable with sequences in it has all its elements: sizes that none of them has determined are given by the type of the
    /// ensured value, or 0.
    pub(crate) fn end(&mut self, v: Var, learnt: &mut Learnt) {
        if let Some(Inst { op: Op::Ensure(ty), args, .. }) = self.function.inst(v) {
            for (s, size) in self.told([(ty, self.function.ty(args[0]))].into_iter()) {
                let unknown = self.function.size_binder(s) == Some(v) && !self.sizes[s.index()].contains_key(&[][..]);
                if unknown {
                    self.know([(s, size)].into_iter());
                    learnt.sizes.push((s, Vec::new(), Bound { size, node: 0, rank: 0 }));
                }
            }
        }
        self.over.push(v);
        learnt.over.push(v);
    }

    /// Takes over the known sizes of the enclosing frame.
    pub(crate) fn inherit(&mut self, learnt: &Learnt) {
        for (s, at, bound) in &learnt.sizes {
            self.sizes[s.index()].insert(at.clone(), *bound);
        }
        for v in &learnt.over {
            if !self.over.contains(v) {
                self.over.push(*v);
            }
        }
    }

    /// Sets one parameter of the function when earlier ones may be unknown.
    pub(crate) fn define_param(&mut self, v: Var, value: Value) {
        let params = self.function.params();
        self.bind(self.function.ty(v), &value, &|b| params.contains(&b), rank(v), &mut Vec::new());
        self.values[v.index()] = Some(value);
    }

    /// Sets the parameter of a body: an element of a sequence, for example, which determines sizes that the sequence binds.
    pub(crate) fn define_element(&mut self, v: Var, value: Value) {
        let function = self.function;
        self.bind(function.ty(v), &value, &|b| !function.ty(b).is_concrete(), 0, &mut Vec::new());
        self.define(v, value);
    }

    /// Sizes of parameters given by the caller.
    pub(crate) fn know_params(&mut self, sizes: &[(SizeVar, i128)]) {
        self.know(sizes.iter().copied());
    }
}
