//! Filters: the lanes in which a condition holds are stored one after another, and counted.

use super::emit::{Emitter, Item, Res};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, Region, Sink};
use deckle_ir::loops::{Expr, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::collections::BTreeSet;

impl Emitter<'_> {
    /// Whether a scan only numbers what is stored one after another.
    pub(super) fn is_packing(&mut self, n: Node, items: &[Item]) -> bool {
        let Op::Scan { exclusive: true, elems, combine: Combine::Ops(ops), .. } = &self.p.node(n).op else {
            return false;
        };
        if ops.as_slice() != [BinOp::Add]
            || self.p.ty(elems[0]) != ScalarType::I64
            || self.p.as_int(elems[0]) != Some(1)
        {
            return false;
        }
        let is_guard = matches!(self.p.space(self.p.space_of(n)).region, Region::Guard(..));
        let number = |m: Node| m == n || matches!(self.p.node(m).op, Op::Part(x, 0) if x == n);
        let mut needs: BTreeSet<Node> = BTreeSet::new();
        items.iter().for_each(|i| needs.extend(self.needs_of(*i)));
        let uses = |m: &Node| !number(*m) && self.p.operands(*m).into_iter().any(number);
        let stores = |item: &Item| match item {
            Item::Sink(i) => match &self.sinks[*i] {
                Sink::Write { space, value, at, .. } => {
                    !number(*value) && (!number(*at) || *space == self.p.space_of(n))
                }
                sink => !self.p.sink_parts(sink).1.into_iter().any(number),
            },
            _ => true,
        };
        is_guard && !needs.iter().any(uses) && items.iter().all(stores)
    }

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
