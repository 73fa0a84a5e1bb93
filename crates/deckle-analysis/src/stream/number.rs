//! Value numbering: values that are computed in the same way are known to be equal.
//!
//! This is how `flagpart` recognises that its elements are exactly those where the flag is `false`.

use super::flow::Flow;
use super::graph::Choice;
use deckle_ir::array::{BinOp, Inst, Op, UnOp};
use deckle_ir::entity::Func;
use deckle_ir::scalar::{Scalar, ScalarType};
use std::collections::HashMap;

/// A value; for a boolean, the lowest bit is set if it is the negation of the number above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(pub u32);

impl Id {
    pub(super) const TRUE: Id = Id(0);

    pub(super) fn not(self) -> Id {
        Id(self.0 ^ 1)
    }

    pub(super) fn is_not(self) -> bool {
        self.0 & 1 == 1
    }

    /// Without the negation.
    pub(super) fn base(self) -> Id {
        Id(self.0 & !1)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Const(String),
    Unary(UnOp, Id),
    Binary(BinOp, Id, Id),
    Cast(ScalarType, Id),
    Select(Id, Id, Id),
    Fma(Id, Id, Id),
    Index(Vec<Id>),
    Call(Func, Vec<Id>),
}

/// The numbers given so far.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    next: u32,
    known: HashMap<Key, Id>,
}

impl Numbers {
    pub(super) fn fresh(&mut self) -> Id {
        self.next += 2;
        Id(self.next)
    }

    /// The choice of a boolean, and its value when the boolean is `true`.
    pub(super) fn choice(&self, id: Id) -> (Choice, bool) {
        (Choice::Condition(id.0 >> 1), !id.is_not())
    }

    /// The value of a choice that the program determines.
    pub(super) fn made(choice: Choice) -> Option<bool> {
        (choice == Choice::Condition(Id::TRUE.0 >> 1)).then_some(true)
    }

    /// The number of the result of a scalar operator. Comparisons are each other's negations if `ordered`: no operand is
    /// NaN.
    pub(super) fn of(&mut self, inst: &Inst, args: &[Flow], ordered: bool) -> Option<Id> {
        let ids: Option<Vec<Id>> = args
            .iter()
            .map(|a| match a {
                Flow::Known(_, id) => Some(*id),
                _ => None,
            })
            .collect();
        let ids = ids?;
        let key = match (&inst.op, ids.as_slice()) {
            (Op::Const(Scalar::Bool(b)), []) => return Some(if *b { Id::TRUE } else { Id::TRUE.not() }),
            (Op::Const(c), []) => Key::Const(format!("{c:?}")),
            (Op::Unary(UnOp::Not), [x]) => return Some(x.not()),
            (Op::Unary(op), [x]) => Key::Unary(*op, *x),
            (Op::Binary(op), [x, y]) => return Some(self.binary(*op, *x, *y, ordered)),
            (Op::Cast(to), [x]) => Key::Cast(*to, *x),
            (Op::Select, [c, x, y]) => return Some(self.select(*c, *x, *y)),
            (Op::Fma, [x, y, z]) => Key::Fma(*x, *y, *z),
            (Op::Index, list) => Key::Index(list.to_vec()),
            (Op::Call(f), list) => Key::Call(*f, list.to_vec()),
            _ => return None,
        };
        Some(self.number(key))
    }

    /// The boolean, if it is a constant of the program.
    pub(super) fn truth(&self, id: Id) -> Option<bool> {
        (id.base() == Id::TRUE).then_some(!id.is_not())
    }

    /// One of two values.
    pub(super) fn select(&mut self, condition: Id, yes: Id, no: Id) -> Id {
        if yes == no { yes } else { self.number(Key::Select(condition, yes, no)) }
    }

    fn binary(&mut self, op: BinOp, x: Id, y: Id, ordered: bool) -> Id {
        match op {
            BinOp::Eq if x == y && ordered => Id::TRUE,
            BinOp::Lt if x == y => Id::TRUE.not(),
            BinOp::Eq => self.number(Key::Binary(op, x.min(y), x.max(y))),
            BinOp::Ne => self.binary(BinOp::Eq, x, y, ordered).not(),
            BinOp::Gt => self.binary(BinOp::Lt, y, x, ordered),
            BinOp::Ge => self.binary(BinOp::Le, y, x, ordered),
            BinOp::Le if ordered => self.binary(BinOp::Lt, y, x, ordered).not(),
            _ => self.number(Key::Binary(op, x, y)),
        }
    }

    fn number(&mut self, key: Key) -> Id {
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.fresh();
        self.known.insert(key, id);
        id
    }
}
