//! Scans on a grid: all threads of a block scan its part together, round by round.
//!
//! As on a CPU, what each part adds to a scan is computed first (`totals`), then what comes before each part (`prefix`), and with that every part runs on its own. No block waits for another one, and all
//! results are combined in the order of the points, so their bits do not depend on which block runs when.
//!
//! ```text
//! carry = what comes before the part
//! for each round of the part: as many points as the threads of the block times `each` {
//!     a thread folds its `each` successive points
//!     the block scans these results: by shuffles in a warp, through shared memory from warp to warp
//!     a thread traverses its points again, starting from the carry and the threads before it
//!     carry = carry + what the block has folded
//! }
//! ```
//!
//! A scan that needs other scans comes after them in a round: see the levels of `scans.rs`.

use super::emit::{Emitter, Res};
use super::folds::Acc;
use super::gpu::{Gpu, Who, begin_first};
use super::meet::{accumulated, join};
use crate::facts::grid::all_commute;
use crate::facts::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, ROOT, Space};
use deckle_ir::loops::{Buf, Expr, Function, LoopHint, Place, Shuffle, Val, WARP};
use deckle_ir::scalar::Scalar;
use deckle_ir::schedule::Item;
use std::collections::BTreeMap;

/// What goes on with each scan.
pub(super) type Accs = BTreeMap<Node, Acc>;

/// What the threads of a block have before them, and what all of them have together.
pub(super) struct Scanned {
    pub before: Acc,
    total: Acc,
}

/// What a block traverses in rounds.
pub(super) struct Rounds<'a> {
    /// The scans of each level.
    pub levels: &'a [Vec<Node>],
    /// The points of a thread in a round.
    pub each: u32,
    /// The space around the dimension, which is open.
    pub from: Space,
    pub bounds: (Val, Val),
}

/// A round of a block.
struct Round<'a> {
    levels: &'a [Vec<Node>],
    from: Space,
    /// Shared memory for each scan.
    shared: &'a BTreeMap<Node, Vec<Buf>>,
    /// The points of this thread.
    points: (Val, Val),
}

impl<'k> Gpu<'k> {
    /// The kernel itself: a block takes a part, in rounds.
    pub(super) fn by_rounds(&self, each: u32) -> Res<Function> {
        let levels = self.s.levels();
        let items = self.s.items();
        let (mut e, scratch, who) = self.open_rounds("", &levels, Some(&items))?;
        let carry = self.befores(&mut e, &scratch, &self.s.scans, who.block);
        self.begin_folds(&mut e, &self.s.folds)?;
        let bounds = self.bounds(&mut e, &who, who.block)?;
        let rounds = Rounds { levels: &levels, each, from: ROOT, bounds };
        self.rounds(&mut e, &who, &rounds, carry, |gpu, e, befores, points| {
            for n in &gpu.s.scans {
                gpu.start_from(e, befores, *n)?;
            }
            e.traverse(ROOT, &items, Some(points))?;
            gpu.s.scans.iter().for_each(|n| drop(e.accs.remove(n)));
            Ok(())
        })?;
        self.end_folds(&mut e, &scratch, &who)?;
        Gpu::close(e, self.threads)
    }

    /// What each part adds to the scans of a level.
    pub(super) fn totals_of_blocks(&self, levels: &[Vec<Node>], level: usize, each: u32) -> Res<Function> {
        let (part, scans) = (format!("_totals{level}"), &levels[level]);
        let items: Vec<Item> = scans.iter().map(|n| Item::Scan(*n)).collect();
        if level == 0 && all_commute(self.s.p, scans) {
            let (mut e, scratch, who) = self.open(&part, &items)?;
            let (lo, hi) = self.bounds(&mut e, &who, who.block)?;
            e.grid.stride = i64::from(self.threads);
            let from = e.b.add(lo, who.thread);
            self.begin_folds(&mut e, scans)?;
            e.traverse(ROOT, &items, Some((from, hi)))?;
            self.store_totals(&mut e, &scratch, &who, scans)?;
            return Gpu::close(e, self.threads);
        }
        let (mut e, scratch, who) = self.open_rounds(&part, &levels[..=level], None)?;
        let lower: Vec<Node> = levels[..level].concat();
        let mut carry = self.befores(&mut e, &scratch, &lower, who.block);
        for n in scans {
            carry.insert(*n, self.s.nothing(&mut e, *n)?);
        }
        let bounds = self.bounds(&mut e, &who, who.block)?;
        let rounds = Rounds { levels: &levels[..=level], each, from: ROOT, bounds };
        let carry = self.rounds(&mut e, &who, &rounds, carry, |_, _, _, _| Ok(()))?;
        begin_first(&mut e, who.thread);
        for n in scans {
            let total = carry.get(n).ok_or("a scan was lost")?;
            self.s.store(&mut e, &scratch, total, self.s.place(*n).0, who.block);
        }
        e.b.end(&[]);
        Gpu::close(e, self.threads)
    }

    /// What comes before each part: of the first what the scan starts from. One block; each of its threads takes successive parts.
    pub(super) fn prefix(&self, scans: &[Node], level: usize) -> Res<Function> {
        let (mut e, scratch, who) = self.open(&format!("_prefix{level}"), &[])?;
        let (lo, hi) = self.own_parts(&mut e, &who);
        for n in scans {
            let (adds, before) = self.s.place(*n);
            let load = |e: &mut Emitter<'k>, part| Ok(self.s.load(e, &scratch, *n, adds, part));
            let store = |e: &mut Emitter<'k>, acc: &Acc, part| self.s.store(e, &scratch, acc, before, part);
            let end = self.scan_parts(&mut e, &who, *n, (lo, hi), (load, store))?;
            let last = e.b.i64(i64::from(self.threads) - 1);
            let is_last = e.b.binary(BinOp::Eq, who.thread, last);
            e.b.begin_if(is_last);
            self.s.store(&mut e, &scratch, &end, before, who.parts);
            e.b.end(&[]);
        }
        Gpu::close(e, self.threads)
    }

    /// Stores what comes before each part: what the scan starts from, and all parts before. The block scans what its threads have, each of them successive parts. `load` returns what a part adds. Returns
    /// what comes after the last part of the thread.
    pub(super) fn scan_parts(
        &self,
        e: &mut Emitter<'k>,
        who: &Who,
        n: Node,
        parts: (Val, Val),
        (load, store): (impl Fn(&mut Emitter<'k>, Val) -> Res<Acc>, impl Fn(&mut Emitter<'k>, &Acc, Val)),
    ) -> Res<Acc> {
        let (_, _, how) = parts_of(self.s.p, n)?;
        let none = self.s.nothing(e, n)?;
        let total = e.folded_over(parts, &none, |e, acc, part| {
            let add = load(e, part)?;
            join(e, how, acc, &add.vals, add.has)
        })?;
        let shared = self.shared_for(e, n)?;
        let before = self.block_scan(e, who, n, total, &shared)?.before;
        let (start, yes) = (e.start(n)?, e.b.bool(true));
        let start = Acc { has: Some(start.has.unwrap_or(yes)), ..start };
        let start = e.step(how, &start, &before.vals, before.has)?;
        e.folded_over(parts, &start, |e, acc, part| {
            store(e, acc, part);
            let add = load(e, part)?;
            e.step(how, acc, &add.vals, add.has)
        })
    }

    /// The emitter of a function that traverses the scans of each level, and some items after them.
    fn open_rounds(&self, part: &str, levels: &[Vec<Node>], items: Option<&[Item]>) -> Res<super::gpu::Opened<'k>> {
        let walks = self.s.walks(part, |c| {
            let mut all = Vec::new();
            let of_levels = levels.iter().map(|scans| scans.iter().map(|n| Item::Scan(*n)).collect());
            for items in of_levels.chain(items.map(<[Item]>::to_vec)) {
                let items: Vec<Item> = items;
                for walk in c.walks(&items, false).iter() {
                    if deckle_ir::schedule::find(&all, walk.dim, &walk.items).is_none() {
                        all.push(walk.clone());
                    }
                }
            }
            all.into()
        })?;
        Ok(self.open_with(part, walks))
    }

    /// What comes before a part, for some scans.
    fn befores(&self, e: &mut Emitter<'k>, scratch: &[Buf], scans: &[Node], part: Val) -> Accs {
        scans.iter().map(|n| (*n, self.s.load(e, scratch, *n, self.s.place(*n).1, part))).collect()
    }

    /// Lets a scan start at a thread: nothing yet, after what comes before.
    pub(super) fn start_from(&self, e: &mut Emitter<'k>, befores: &Accs, n: Node) -> Res<()> {
        let mut acc = self.s.nothing(e, n)?;
        acc.before = Some(Box::new(befores.get(&n).cloned().ok_or("a scan was lost")?));
        e.accs.insert(n, acc);
        Ok(())
    }

    /// The rounds of a block. In each, the scans of all levels are scanned, and what `inside` does follows. Folds of the emitter are carried from round to round; what the scans come to is returned.
    pub(super) fn rounds(
        &self,
        e: &mut Emitter<'k>,
        who: &Who,
        &Rounds { levels, each, from: space, bounds: (lo, hi) }: &Rounds<'_>,
        carry: Accs,
        inside: impl FnOnce(&Self, &mut Emitter<'k>, &Accs, (Val, Val)) -> Res<()>,
    ) -> Res<Accs> {
        let each = i64::from(each);
        let skip = e.b.mul_const(who.thread, each);
        let mut shared = BTreeMap::new();
        for n in levels.iter().flatten() {
            shared.insert(*n, self.shared_for(e, *n)?);
        }
        let folds: Vec<Node> = self.s.folds.iter().copied().filter(|n| e.accs.contains_key(n)).collect();
        let flat =
            |accs: &Accs| -> Vec<Val> { accs.values().flat_map(|a| a.vals.iter().chain(&a.has).copied()).collect() };
        let rebuilt = |vals: &[Val]| -> Accs {
            let mut vals = vals.iter().copied();
            let one = |acc: &Acc, vals: &mut dyn Iterator<Item = Val>| {
                let own: Vec<Val> = acc.vals.iter().map_while(|_| vals.next()).collect();
                Acc { vals: own, has: acc.has.and_then(|_| vals.next()), before: None }
            };
            carry.iter().map(|(n, acc)| (*n, one(acc, &mut vals))).collect()
        };
        let init = [flat(&carry), e.carried(&folds)].concat();
        let scans = flat(&carry).len();
        let (from, params) = e.b.begin_for(lo, hi, i64::from(self.threads) * each, &init, LoopHint::Plain);
        let mut carry_now = rebuilt(&params[..scans]);
        e.carry(&folds, &params[scans..]);
        let first = e.b.add(from, skip);
        let first = e.b.min(first, hi);
        let end = e.b.add_const(first, each);
        let end = e.b.min(end, hi);
        let folded: Vec<(Node, Acc)> = folds.iter().filter_map(|n| e.accs.remove_entry(n)).collect();
        let round = Round { levels, from: space, shared: &shared, points: (first, end) };
        let befores = self.round(e, who, &round, &mut carry_now)?;
        e.accs.extend(folded);
        inside(self, e, &befores, (first, end))?;
        let after = [flat(&carry_now), e.carried(&folds)].concat();
        let after = e.b.end(&after);
        e.carry(&folds, &after[scans..]);
        Ok(rebuilt(&after[..scans]))
    }

    /// One round: what comes before the points of this thread, for each scan. The carry goes on to the next round.
    fn round(&self, e: &mut Emitter<'k>, who: &Who, round: &Round<'_>, carry: &mut Accs) -> Res<Accs> {
        let mut befores = Accs::new();
        for (level, scans) in round.levels.iter().enumerate() {
            for n in round.levels[..level].iter().flatten() {
                self.start_from(e, &befores, *n)?;
            }
            self.begin_folds(e, scans)?;
            let items: Vec<Item> = scans.iter().map(|n| Item::Scan(*n)).collect();
            e.traverse(round.from, &items, Some(round.points))?;
            for n in scans {
                let (_, _, how) = parts_of(self.s.p, *n)?;
                let mine = e.accs.remove(n).ok_or("a scan was lost")?;
                let scanned = self.block_scan(e, who, *n, mine, &round.shared[n])?;
                let upto = carry.get(n).cloned().ok_or("a scan was lost")?;
                befores.insert(*n, join(e, how, &upto, &scanned.before.vals, scanned.before.has)?);
                carry.insert(*n, join(e, how, &upto, &scanned.total.vals, scanned.total.has)?);
            }
            e.accs.clear();
        }
        Ok(befores)
    }

    /// Shared memory for what the warps of a block have of a scan, and whether they have something.
    pub(super) fn shared_for(&self, e: &mut Emitter<'k>, n: Node) -> Res<Vec<Buf>> {
        let types = self.s.types_of(n);
        Ok(types.into_iter().map(|ty| e.b.local(ty, self.threads / WARP, Place::Shared)).collect())
    }

    /// Scans what the threads of a block have, in their order. All threads of the block come here.
    pub(super) fn block_scan(
        &self,
        e: &mut Emitter<'k>,
        who: &Who,
        n: Node,
        mine: Acc,
        shared: &[Buf],
    ) -> Res<Scanned> {
        let (_, _, how) = parts_of(self.s.p, n)?;
        let none = self.s.nothing(e, n)?;
        let (width, yes) = (e.b.i64(i64::from(WARP)), e.constant(Scalar::Bool(true)));
        let (warp, lane) = (e.b.binary(BinOp::Div, who.thread, width), e.b.binary(BinOp::Rem, who.thread, width));
        let mut upto = Acc { has: Some(mine.has.unwrap_or(yes)), ..mine };
        for apart in [1, 2, 4, 8, 16] {
            let earlier = from_below(e, how, (&upto, &none), lane, apart);
            upto = join(e, how, &earlier, &upto.vals, upto.has)?;
        }
        let in_warp = from_below(e, how, (&upto, &none), lane, 1);
        let last = e.b.i64(i64::from(WARP) - 1);
        let is_last = e.b.binary(BinOp::Eq, lane, last);
        e.b.begin_if(is_last);
        let all = upto.vals.iter().chain(&upto.has);
        shared.iter().zip(all).for_each(|(buf, v)| e.b.store(*buf, warp, *v));
        e.b.end(&[]);
        e.b.barrier();
        let (zero, warps) = (e.b.i64(0), e.b.i64(i64::from(self.threads / WARP)));
        let flat = |acc: &Acc| -> Vec<Val> { acc.vals.iter().chain(&acc.has).copied().collect() };
        let init = [flat(&none), flat(&none)].concat();
        let (k, params) = e.b.begin_for(zero, warps, 1, &init, LoopHint::Plain);
        let (running, before) = params.split_at(params.len() / 2);
        let here = e.b.binary(BinOp::Eq, k, warp);
        let before: Vec<Val> = running.iter().zip(before).map(|(r, b)| e.b.select(here, *r, *b)).collect();
        let more = accumulated(shared.iter().map(|buf| e.b.load(*buf, k)).collect());
        let next = join(e, how, &accumulated(running.to_vec()), &more.vals, more.has)?;
        let after = e.b.end(&[flat(&next), before].concat());
        let (total, before) = after.split_at(after.len() / 2);
        // The next scan uses the same shared memory.
        e.b.barrier();
        let before = join(e, how, &accumulated(before.to_vec()), &in_warp.vals, in_warp.has)?;
        Ok(Scanned { before, total: accumulated(total.to_vec()) })
    }
}

/// What a lane so far below has; nothing, if there is none.
fn from_below(e: &mut Emitter<'_>, how: &Combine, (acc, none): (&Acc, &Acc), lane: Val, apart: i64) -> Acc {
    let by = e.b.i64(apart);
    let there = e.b.binary(BinOp::Ge, lane, by);
    let shuffled = |e: &mut Emitter<'_>, v: Val| e.b.let_(Expr::Shuffle(Shuffle::Up, v, by));
    let vals: Vec<Val> = acc.vals.iter().map(|v| shuffled(e, *v)).collect();
    let has = acc.has.map(|has| {
        let has = shuffled(e, has);
        e.b.and(has, there)
    });
    // Operators combine what is missing as well: it has to be their identity element.
    let vals = match how {
        Combine::Ops(_) => vals.iter().zip(&none.vals).map(|(v, unit)| e.b.select(there, *v, *unit)).collect(),
        _ => vals,
    };
    Acc { vals, has, before: None }
}

impl<'k> Emitter<'k> {
    /// A loop that carries what has been folded so far.
    pub(super) fn folded_over(
        &mut self,
        (lo, hi): (Val, Val),
        start: &Acc,
        body: impl FnOnce(&mut Self, &Acc, Val) -> Res<Acc>,
    ) -> Res<Acc> {
        let init: Vec<Val> = start.vals.iter().chain(&start.has).copied().collect();
        let (at, params) = self.b.begin_for(lo, hi, 1, &init, LoopHint::Plain);
        let next = body(self, &accumulated(params), at)?;
        let next: Vec<Val> = next.vals.into_iter().chain(next.has).collect();
        Ok(accumulated(self.b.end(&next)))
    }
}
