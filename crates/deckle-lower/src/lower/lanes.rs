//! Several points of a dimension at once.
//!
//! The points of a dimension are independent but for what is folded over them, so they can be computed in the lanes of vectors: as long as there are
//! enough points, as many as fit several registers in a round; then one register at a time under a mask, so that there is no
//! remainder to go through one by one. Short rows, of which ragged arrays are full, are one masked round.
//!
//! What does not depend on the position is computed once for all lanes. Loops inside, if they have as many rounds for all lanes, run once with vectors in them.
//!
//! What is said here decides in which order floats are added, and so the bits of a result: it depends on the program, never on the data or the threads.

use super::emit::{Emitter, Res, Width};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op, Space};
use deckle_ir::loops::{Expr, StoreHint, Val};
use deckle_ir::schedule::Walks;

/// A vector of points: from `start` on, those of the mask.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub space: Space,
    /// What is traversed at its points.
    pub inside: Walks,
    pub count: u16,
    pub hint: StoreHint,
    pub start: Val,
    /// The lanes that count; all, if there is none.
    pub mask: Option<Val>,
}

impl Emitter<'_> {
    pub(super) fn vector(&self) -> Res<&Lane> {
        self.vectors.as_ref().ok_or_else(|| "not in lanes".to_string())
    }

    /// How many lanes values of a width have.
    pub(super) fn lanes(&self, w: Width) -> Res<u16> {
        if w == Width::One { Ok(1) } else { Ok(self.vector()?.count) }
    }

    /// Makes code in these vectors from now on, or in scalars; returns what was before.
    pub(super) fn set_vectors(&mut self, lane: Option<Lane>) -> Option<Lane> {
        self.facts.set_lane(lane.as_ref().map(|l| l.space));
        std::mem::replace(&mut self.vectors, lane)
    }

    /// The lanes that count here; all, if there is none.
    pub(super) fn mask(&self) -> Option<Val> {
        self.vectors.as_ref().and_then(|l| l.mask)
    }

    pub(super) fn set_mask(&mut self, mask: Option<Val>) {
        if let Some(lane) = &mut self.vectors {
            lane.mask = mask;
        }
    }

    /// The mask of this context, narrowed.
    pub(super) fn narrowed(&mut self, cond: Val) -> Res<Val> {
        match self.mask() {
            Some(mask) => self.let_(Expr::Binary(BinOp::And, mask, cond), Width::Lanes),
            None => Ok(cond),
        }
    }

    /// The first value in the lanes of the mask, the second in the others.
    pub(super) fn where_active(&mut self, new: Val, old: Val) -> Val {
        match &self.vectors {
            Some(Lane { mask: Some(mask), count, .. }) => {
                let (mask, count) = (*mask, *count);
                self.b.let_lanes(Expr::Select(mask, new, old), count)
            }
            _ => new,
        }
    }

    /// Where a value is loaded from or stored, and in which lanes: where an index was checked, only those in which it is in range.
    pub(super) fn place(&mut self, at: Node, w: Width) -> Res<(Val, Option<Val>)> {
        if w == Width::One {
            return Ok((self.val(at)?, None));
        }
        match self.p.node(at).op {
            Op::Check { cond, value, .. } if self.facts.varies(at) => {
                self.lane_val(at)?;
                let holds = self.lane_val(cond)?;
                let mask = self.narrowed(holds)?;
                Ok((self.lane_place(value)?, Some(mask)))
            }
            _ => Ok((self.lane_place(at)?, self.mask())),
        }
    }

    /// Where lanes are stored or loaded: a scalar where they follow each other.
    pub(super) fn lane_place(&mut self, at: Node) -> Res<Val> {
        let space = self.vector()?.space;
        if self.facts.follows(at, space)
            && let Some(first) = self.first(at)?
        {
            return Ok(first);
        }
        self.lane_val(at)
    }

    /// The value in the first lane of an index that follows the position, if all else in it is the same for all lanes.
    fn first(&mut self, at: Node) -> Res<Option<Val>> {
        let at = self.facts.resolved(at);
        if !self.facts.varies(at) {
            return self.val(at).map(Some);
        }
        match self.p.node(at).op {
            Op::Pos => Ok(Some(self.vector()?.start)),
            Op::Binary(op, a, b) => match (self.first(a)?, self.first(b)?) {
                (Some(a), Some(b)) => Ok(Some(self.b.let_(Expr::Binary(op, a, b)))),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}
