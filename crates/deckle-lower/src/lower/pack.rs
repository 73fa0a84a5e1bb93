//! Filters: the lanes in which a condition holds are stored one after another, and counted.

use super::emit::{Emitter, Res};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op};
use deckle_ir::loops::{Expr, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

impl Emitter<'_> {
    /// A scan that numbers the lanes of the mask: it goes on by how many they are.
    pub(super) fn pack(&mut self, n: Node) -> Res<()> {
        let (count, mask) = (self.vector()?.count, self.vector()?.mask.ok_or("nothing to pack")?);
        let mut acc = self.accs.get(&n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
        let first = match &acc.before {
            Some(before) => self.b.add(before.vals[0], acc.vals[0]),
            None => acc.vals[0],
        };
        self.packed.insert(n, first);
        let ones = self.b.let_lanes(Expr::Cast(ScalarType::I64, mask), count);
        let more = self.b.let_(Expr::Total(BinOp::Add, ones));
        acc.vals[0] = self.b.add(acc.vals[0], more);
        if acc.has.is_some() {
            acc.has = Some(self.constant(Scalar::Bool(true)));
        }
        self.accs.insert(n, acc);
        Ok(())
    }

    /// Where the first lane goes that is stored at such a number.
    pub(super) fn packed_at(&self, at: Node) -> Option<Val> {
        let n = match self.p.node(at).op {
            Op::Part(x, 0) => x,
            _ => at,
        };
        self.packed.get(&n).copied()
    }
}
