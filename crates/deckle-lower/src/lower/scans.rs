//! Scans along the outermost dimension, block by block.
//!
//! What each block adds to a scan is computed first (`totals`), then what comes before each block (`prefix`); with that every block can be run on its own. A scan
//! whose elements depend on another scan can do so only when it is known what comes before each block in that one. So scans are ranked: level 0 needs no
//! other scan, level 1 only those of level 0, and so on, and each level has a `totals` and a `prefix` of its own.
//!
//! ```text
//! b = scan(+, a)                   level 0:  totals of b, prefix of b
//! c = scan(+, b)                   level 1:  totals of c, given what comes before each block in b; prefix of c
//! ```

use super::emit::{Emitter, Res};
use super::folds::Acc;
use super::{Lowering, Range, finished};
use crate::facts::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Program, ROOT};
use deckle_ir::loops::{Buf, Expr, Function, LoopHint, ScanLevel, Val};
use deckle_ir::scalar::Scalar;
use deckle_ir::schedule::Item;

/// For each of some folds and scans, in ascending order, the length of the longest chain of others that it needs, one after another.
pub(super) fn ranks(p: &Program, nodes: &[Node]) -> Vec<usize> {
    let mut ranks: Vec<usize> = Vec::with_capacity(nodes.len());
    // Nodes only need nodes before them.
    for n in nodes {
        let needs = p.needs(&[*n]);
        let others = nodes.iter().zip(&ranks).filter(|(m, _)| needs.contains(*m));
        ranks.push(others.map(|(_, rank)| rank + 1).max().unwrap_or(0));
    }
    ranks
}

impl<'k> Lowering<'k> {
    /// The scans of each level.
    pub(super) fn levels(&self) -> Vec<Vec<Node>> {
        let ranks = ranks(self.p, &self.scans);
        let mut levels = vec![Vec::new(); ranks.iter().max().map_or(0, |r| r + 1)];
        self.scans.iter().zip(ranks).for_each(|(n, rank)| levels[rank].push(*n));
        levels
    }

    /// The functions of each level.
    pub(super) fn scan_levels(&self) -> Res<Vec<ScanLevel>> {
        let levels = self.levels();
        (0..levels.len())
            .map(|k| Ok(ScanLevel { totals: self.totals(&levels, k)?, prefix: self.prefix(&levels[k], k)? }))
            .collect()
    }

    /// What each block adds to the scans of a level.
    fn totals(&self, levels: &[Vec<Node>], level: usize) -> Res<Function> {
        let items: Vec<Item> = levels[level].iter().map(|n| Item::Scan(*n)).collect();
        let (mut e, scratch, range) = self.emitter(&format!("_totals{level}"), &items, true)?;
        let (block, _) = e.b.begin_for(range.first, range.last, 1, &[], LoopHint::Plain);
        self.begin_level(&mut e, &scratch, (levels, level), block)?;
        let bounds = self.bounds(&mut e, &range, block)?;
        self.end_level(&mut e, &scratch, &levels[level], bounds, block)?;
        e.accs.clear();
        e.b.end(&[]);
        finished(e)
    }

    /// Lets the scans of a level begin at a block, and those of the levels before go on from what comes before it.
    pub(super) fn begin_level(
        &self,
        e: &mut Emitter<'k>,
        scratch: &[Buf],
        (levels, level): (&[Vec<Node>], usize),
        block: Val,
    ) -> Res<()> {
        for (k, scans) in levels[..=level].iter().enumerate() {
            for n in scans {
                let mut acc = self.nothing(e, *n)?;
                if k < level {
                    acc.before = Some(Box::new(self.load(e, scratch, *n, self.place(*n).1, block)));
                }
                e.accs.insert(*n, acc);
            }
        }
        Ok(())
    }

    /// Traverses a block, and stores what it adds to the scans of a level.
    pub(super) fn end_level(
        &self,
        e: &mut Emitter<'k>,
        scratch: &[Buf],
        scans: &[Node],
        bounds: (Val, Val),
        block: Val,
    ) -> Res<()> {
        let items: Vec<Item> = scans.iter().map(|n| Item::Scan(*n)).collect();
        e.traverse(ROOT, &items, Some(bounds))?;
        for n in scans {
            let acc = e.accs.remove(n).ok_or("a scan was lost")?;
            self.store(e, scratch, &acc, self.place(*n).0, block);
        }
        Ok(())
    }

    /// What comes before each block: of the first what the scan starts from.
    fn prefix(&self, scans: &[Node], level: usize) -> Res<Function> {
        let (mut e, scratch, range) = self.emitter(&format!("_prefix{level}"), &[], false)?;
        for n in scans {
            self.sum_up(&mut e, &scratch, *n, self.place(*n), &range)?;
        }
        finished(e)
    }

    /// What comes before each block, of what each adds.
    pub(super) fn sum_up(
        &self,
        e: &mut Emitter<'k>,
        scratch: &[Buf],
        n: Node,
        (adds, before): (usize, usize),
        range: &Range,
    ) -> Res<()> {
        let start = e.start(n)?;
        let yes = e.constant(Scalar::Bool(true));
        let zero = e.constant(Scalar::I64(0));
        let start = Acc { has: Some(start.has.unwrap_or(yes)), ..start };
        // Later blocks go on from what an earlier call has found; before the first there is none.
        let is_first = e.b.let_(Expr::Binary(BinOp::Eq, range.first, zero));
        let is_later = e.b.not(is_first);
        let found = self.load_where(e, scratch, n, before, (range.first, Some(is_later)));
        let both = start.vals.iter().chain(&start.has).zip(found.vals.iter().chain(&found.has));
        let init: Vec<Val> = both.map(|(s, f)| e.b.select(is_first, *s, *f)).collect();
        let (has, vals) = (init.last().copied(), init[..init.len() - 1].to_vec());
        self.store(e, scratch, &Acc { vals, has, before: None }, before, range.first);
        let (block, mut params) = e.b.begin_for(range.first, range.last, 1, &init, LoopHint::Plain);
        let has = params.pop();
        let acc = Acc { vals: params, has, before: None };
        let add = self.load(e, scratch, n, adds, block);
        let (_, _, how) = parts_of(self.p, n)?;
        let next = e.step(how, &acc, &add.vals, add.has)?;
        let one = e.constant(Scalar::I64(1));
        let at = e.b.let_(Expr::Binary(BinOp::Add, block, one));
        self.store(e, scratch, &next, before, at);
        let after: Vec<Val> = next.vals.iter().chain(&next.has).copied().collect();
        e.b.end(&after);
        Ok(())
    }
}
