//! The rules for GPUs: who takes which points of a launch.
//!
//! Scatters whose points have an order are a launch of their own ([`launches`]). Of each launch, the first rule that applies decides how the threads of the grid share the points of the outermost
//! dimension ([`OnGrid::threads`]):
//!
//! 1. sorted points, where one array is scattered into in order and nothing else is done: the points of an element follow each other, and one thread takes them;
//! 2. one thread, where points have another order, or there is no dimension to share: correct but slow;
//! 3. a part for each block, in rounds, where something is scanned: all parts are folded, one block computes what comes before each of them, and with it the parts run again. Where folds beside it do not
//!    commute, a part for each thread;
//! 4. successive points for each thread of a block, where what is folded does not commute: results are only combined with those that come next;
//! 5. bins in shared memory, where something is scattered whose operator is atomic: the threads of a block meet in their bins, blocks in the array;
//! 6. points round-robin for the threads of a block, so that neighbours access neighbouring memory.
//!
//! Where dense dimensions are inside each other, the points of all of them are shared together ([`Chooser::on_grid`]), or by groups those of all but the last. Products of matrices have one more function,
//! in which blocks take tiles ([`OnGrid::tiles`]).
//!
//! Where points have dimensions inside that have no order, there are more functions, in which a group of threads takes each point and shares what is inside ([`OnGrid::groups`]): 8 threads, a warp, or the
//! block. The host runs the widest that is worth it: where arrays have many
//! elements for each point. Rows whose elements lie one after another come in runs, and are not for 8 threads each: the threads of a warp load those of several rows together. Inside a point that one thread has taken, loops are serial: the threads are the lanes.

use super::Chooser;
use crate::cuts::Cuts;
use crate::facts::grid::{commutes, needs_order};
use crate::facts::parts_of;
use crate::facts::product::{PAD, ProductBytes};
use deckle_ir::kernel::{Program, Region, Sink, Space};
use deckle_ir::loops::WARP;
use deckle_ir::schedule::{Grid, Item, Level, Nest, Share, Take, Threads, When, Why};

/// What the names of functions end in whose points are for a group of threads within a warp, for a warp, and for a block.
const GROUP: &str = "_group";
const IN_WARP: &str = "_warp";
const IN_BLOCK: &str = "_block";
/// What the names of functions end in whose warps take runs of rows.
const RUNS: &str = "_runs";
/// What the names of functions end in whose blocks take tiles.
pub(crate) const TILE: &str = "_tile";
/// The most rows or columns of a tile for a thread, and the most elements of a step.
const MOST_OF_TILE: u32 = 8;
const MOST_DEEP: u32 = 32;
/// The most bytes of what a tile shares.
const MOST_SHARED: u32 = 40 << 10;
/// The threads of a group within a warp.
const FEW_THREADS: u32 = 8;
/// The most threads of a block.
const MOST_THREADS: u32 = 1024;
/// The most points of a thread in a round.
const MOST_IN_ROUND: u32 = 64;
/// The most bytes of bins: shared memory of a block is at least 48 KiB, and folds need some.
const MOST_BINS: u32 = 1 << 15;

/// What is known of the points of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnGrid {
    /// Why one thread has to take all of them, if it has to.
    pub alone: Option<&'static str>,
    /// Whether something is scanned along the outermost dimension.
    pub scans: bool,
    /// Whether something is folded along it, and whether that may come in any order.
    pub folds: bool,
    pub commutes: bool,
    /// The bytes of a bin of all scatters that can go through shared memory; 0 if there is none.
    pub bin: u32,
    /// Whether a group of threads can take a point and share what is inside, and whether several groups can be in a warp.
    pub shared: bool,
    pub together: bool,
    /// Whether points scatter in order, and can be sorted for that.
    pub sorted: bool,
    /// Whether there are rows whose elements blocks can share.
    pub rows: bool,
    /// The bytes of shared memory for an element of a row, if a block can take runs of rows; else 0.
    pub run_bytes: u32,
    /// Of the product that is computed, if one is.
    pub product: Option<ProductBytes>,
}

/// The launches that the sinks of an outermost dimension need, each with what its name ends in.
pub(crate) fn launches(p: &Program, sinks: Vec<Sink>) -> impl Iterator<Item = (Vec<Sink>, &'static str)> {
    let (ordered, free): (Vec<Sink>, Vec<Sink>) = sinks.into_iter().partition(|s| needs_order(p, s));
    [(free, ""), (ordered, "_ordered")].into_iter().filter(|(sinks, _)| !sinks.is_empty())
}

impl OnGrid {
    /// How threads share the points, with as many in a block.
    pub(crate) fn threads(&self, threads: u32, cuts: Cuts) -> Threads {
        let on_grid = |take| Share::Grid(Grid { threads, take, split: self.split(1, cuts) });
        let (share, why) = match self {
            OnGrid { alone: Some(why), .. } => (Share::One, *why),
            OnGrid { sorted: true, .. } => (
                on_grid(Take::Sorted),
                "points are sorted by target: one thread combines all points of an element, in order",
            ),
            OnGrid { scans: true, folds, commutes, .. } if !folds || *commutes => (
                on_grid(Take::Rounds { each: cuts.in_round }),
                "each block scans its part, starting from the sum of the parts before it",
            ),
            OnGrid { scans: true, .. } => (
                on_grid(Take::Parts),
                "each part of a scan starts from the sum of the parts before it, and the operator of a fold is not commutative",
            ),
            OnGrid { folds: true, commutes: false, .. } => {
                (on_grid(Take::Successive), "the operator of a fold is not commutative")
            }
            OnGrid { bin: 1.., .. } => {
                (on_grid(Take::Binned { bytes: cuts.bins }), "blocks combine scattered values in shared memory first")
            }
            OnGrid { folds: true, .. } => (on_grid(Take::Strided), "the operators of the folds are commutative"),
            _ => (on_grid(Take::Strided), "points are independent"),
        };
        Threads { share, block: None, why: Why::new(why) }
    }

    /// The elements of a row above which it is split, where so many threads take it.
    fn split(&self, width: u32, cuts: Cuts) -> Option<i64> {
        self.rows.then(|| cuts.split * i64::from(width))
    }

    /// How groups share the points, in functions that run instead of the other where there are many points inside, each with what its name ends in.
    pub(crate) fn groups(&self, threads: u32, cuts: Cuts) -> Vec<(&'static str, Threads)> {
        if self.alone.is_some() {
            return Vec::new();
        }
        let of_take = |width, take, why| {
            let share = Share::Grid(Grid { threads, take, split: self.split(width, cuts) });
            Threads { share, block: None, why: Why::new(why) }
        };
        let of = |width, at_least, why| of_take(width, Take::Groups { width, at_least }, why);
        let [group, warp, block] = cuts.worth_group;
        let mut all = Vec::new();
        if self.run_bytes > 0 {
            let most = MOST_SHARED / (self.run_bytes * (threads / WARP));
            let take = Take::Runs { elements: cuts.run.min(most), at_least: group };
            all.push((
                RUNS,
                of_take(FEW_THREADS, take, "the threads of a warp load the elements of several rows together"),
            ));
        }
        if !self.shared {
            return all;
        }
        if self.together && self.run_bytes == 0 {
            all.push((
                GROUP,
                of(FEW_THREADS, group, "one thread would load the elements of a point one after another"),
            ));
        }
        all.push((IN_WARP, of(WARP, warp, "a point has enough elements for a warp")));
        if threads > WARP {
            all.push((IN_BLOCK, of(threads, block, "a point has enough elements for a block")));
        }
        all
    }

    /// How blocks take tiles of a product, in a function that runs instead of the others where there are many points.
    pub(crate) fn tiles(&self, threads: u32, cuts: Cuts) -> Option<Threads> {
        let ProductBytes { sum, .. } = self.product?;
        let columns = if sum > 4 { cuts.grid_tile.div_ceil(2) } else { cuts.grid_tile };
        let across = if threads < 128 { 8 } else { 16 };
        let (rows, deep, at_least) = (cuts.grid_tile, cuts.grid_tile_depth, cuts.worth_tile);
        let take = Take::Tiles { rows, columns, across, deep, at_least };
        let why = Why::new("the points of a tile share what they load");
        let threads = Threads { share: Share::Grid(Grid { threads, take, split: None }), block: None, why };
        self.legal(threads, TILE).is_ok().then_some(threads)
    }

    /// Whether tiles can be so; if not, why.
    fn legal_tiles(&self, threads: u32, take: Take) -> Result<(), &'static str> {
        let (
            Some(ProductBytes { panels: [below, beside], .. }),
            Take::Tiles { rows, columns, across, deep, at_least: 0.. },
        ) = (self.product, take)
        else {
            return Err("tiles need a product of matrices, and `at_least` is not negative");
        };
        let small = |n: u32| n.is_power_of_two() && n <= MOST_OF_TILE;
        if !small(rows) || !small(columns) || !(1..=MOST_DEEP).contains(&deep) {
            return Err("a thread has 1, 2, 4 or 8 rows and columns of a tile, whose steps have up to 32 elements");
        }
        if across == 0 || !threads.is_multiple_of(across) {
            return Err("`across` must divide the threads of a block");
        }
        let (high, wide) = (rows * (threads / across), columns * across);
        if high * deep % threads != 0 || wide * deep % threads != 0 {
            return Err("the threads of a block must divide the elements of a step of both sides");
        }
        match deep * ((high + PAD) * below + (wide + PAD) * beside) {
            ..=MOST_SHARED => Ok(()),
            _ => Err("a step takes up to 40 KiB of shared memory"),
        }
    }

    /// Whether threads can share points so, in the function whose name ends in that: empty for the main one.
    pub(crate) fn legal(&self, given: Threads, part: &str) -> Result<(), String> {
        let wide = !part.is_empty();
        let no = |why: &str| Err(format!("`{given}`: {why}"));
        if given.block.is_some() {
            return no("the number of points of a part follows from that of the dimension");
        }
        let Share::Grid(Grid { threads, take, split }) = given.share else {
            return match given.share {
                Share::One if wide => no("a group of threads takes each point here"),
                Share::One => Ok(()),
                _ => no("on a GPU, `threads` is `one` or `grid`"),
            };
        };
        if threads % WARP != 0 || !(WARP..=MOST_THREADS).contains(&threads) {
            return no("a block has 32 to 1024 threads, a multiple of 32");
        }
        match (take, self.alone) {
            (_, Some(why)) => no(why),
            _ if split.is_some() && !self.rows => no("there are no rows whose elements blocks can share"),
            _ if split.is_some_and(|n| n < 1) => no("`split` needs a number of at least 1"),
            (Take::Sorted, _) if self.sorted => Ok(()),
            (Take::Sorted, _) => no("points do not scatter in order, or do more than that"),
            (_, _) if self.sorted => no("points that store to the same element keep their order"),
            (Take::Tiles { .. }, _) if part == TILE => self.legal_tiles(threads, take).or_else(no),
            (Take::Tiles { .. }, _) => no("blocks take no tiles here"),
            (Take::Runs { elements, at_least: 0.. }, _) if part == RUNS => {
                match (1..=MOST_SHARED / (self.run_bytes.max(1) * (threads / WARP))).contains(&elements) {
                    true => Ok(()),
                    false => no("the elements of runs take up to 40 KiB of the shared memory of a block at a time"),
                }
            }
            (Take::Runs { .. }, _) => no("warps take no runs of rows here"),
            (_, _) if part == RUNS => no("warps take runs of rows here, if there are at least so many elements"),
            (Take::Groups { width, at_least: 0.. }, _) if wide && part != TILE => match part {
                GROUP if width < WARP && width > 1 && width.is_power_of_two() => Ok(()),
                IN_WARP if width == WARP => Ok(()),
                IN_BLOCK if width == threads && threads > WARP => Ok(()),
                GROUP => no("a group has 2, 4, 8 or 16 threads here"),
                _ => no("a group is a warp, or the block, as the name of the function says"),
            },
            (_, _) if wide => no("a group of threads takes each point here, if there are at least so many elements"),
            (Take::Groups { .. }, _) => no("a thread takes each point here"),
            (Take::Strided | Take::Binned { .. } | Take::Successive, _) if self.scans => {
                no("a thread takes a part of what is scanned, or a block does in rounds")
            }
            (Take::Rounds { .. }, _) if !self.scans => no("nothing is scanned"),
            (Take::Rounds { .. }, _) if self.folds && !self.commutes => no("the operator of a fold is not commutative"),
            (Take::Rounds { each }, _) if !(1..=MOST_IN_ROUND).contains(&each) => {
                no("a thread has 1 to 64 points in a round")
            }
            (Take::Strided | Take::Binned { .. }, _) if self.folds && !self.commutes => {
                no("the operator of a fold is not commutative")
            }
            (Take::Binned { .. }, _) if self.bin == 0 => no("nothing is scattered that bins could hold"),
            (Take::Binned { bytes }, _) if !(self.bin..=MOST_BINS).contains(&bytes) => {
                no("bins have at least one element, and no more than 32 KiB")
            }
            _ => Ok(()),
        }
    }
}

impl Chooser<'_> {
    /// Whether a dimension is just inside a point that a group of threads takes: then its threads are together there.
    pub(super) fn is_in_group(&self, dim: Space) -> bool {
        let p = self.facts.p;
        let inside = |first: &Space| *first != dim && p.encloses(*first, dim);
        let Some(first) = self.grouped.filter(inside) else { return false };
        let path = p.between(first, dim);
        path[..path.len() - 1].iter().all(|s| matches!(p.space(*s).region, Region::Guard(..)))
    }

    /// How a group traverses a dimension just inside its point.
    pub(super) fn in_group(&mut self, dim: Space, items: &[Item]) -> Nest {
        let folds = items.iter().any(|i| matches!(i, Item::Fold(_)));
        let why = match folds {
            true => "the operators of the folds are commutative",
            false => "points are independent",
        };
        let nest = |c: &mut Self| Nest::level(Level::Group, c.inside(dim, items), why);
        if self.at_edges || !self.has_interior_in_group(dim, items) || self.is_large(dim, items) {
            return nest(self);
        }
        let count = self.facts.assume_interiors(&[dim], items);
        let then = nest(self);
        (0..count).for_each(|_| self.facts.forget_last());
        Nest::when(When::Interior, then, nest(self))
    }

    /// Whether the points of a dimension that a group shares can be apart from those at its edges.
    fn has_interior_in_group(&mut self, dim: Space, items: &[Item]) -> bool {
        let flat = |i: &Item| matches!(i, Item::Sink(_)) && self.facts.space_of(*i) == dim;
        items.iter().all(flat) && self.facts.interior(dim, items).is_some()
    }

    /// Whether code for points should not be made several times.
    fn is_large(&mut self, dim: Space, items: &[Item]) -> bool {
        self.facts.needed_inside(dim, items).len() > self.facts.cuts.large_point
    }

    /// Whether a dimension is joined to the next one.
    pub(super) fn is_joined(&self, dim: Space) -> bool {
        self.joined.split_last().is_some_and(|(_, outer)| outer.contains(&dim))
    }

    /// The dimensions whose points are shared together, if this is the first of them and there are dimensions inside.
    fn shared_from(&self, dim: Space) -> Option<Vec<Space>> {
        match self.joined[..] {
            [first, _, ..] => (first == dim).then(|| self.joined.clone()),
            _ => (self.grouped == Some(dim)).then(|| vec![dim]),
        }
    }

    /// How the threads of a grid traverse a dimension, if no group shares it: one point after another.
    pub(super) fn on_grid(&mut self, dim: Space, items: &[Item]) -> Nest {
        let nest = |c: &mut Self| match c.is_joined(dim) {
            true => {
                let why = "the points of all dense dimensions are shared as those of one";
                Nest::level(Level::Joined, c.inside(dim, items), why)
            }
            false => c.one_by_one(dim, items),
        };
        let apart = !self.at_edges && !self.is_large(dim, items);
        let Some(dims) = self.shared_from(dim).filter(|_| apart) else { return nest(self) };
        let count = self.facts.assume_interiors(&dims, items);
        if count == 0 {
            return nest(self);
        }
        let then = nest(self);
        (0..count).for_each(|_| self.facts.forget_last());
        let before = std::mem::replace(&mut self.at_edges, true);
        let other = nest(self);
        self.at_edges = before;
        Nest::when(When::Interior, then, other)
    }

    /// The dimensions whose interior a condition is about, for threads of a grid; or why it is not legal.
    pub(super) fn interior_on_grid(
        &mut self,
        dim: Space,
        items: &[Item],
        (then, other): (&Nest, &Nest),
    ) -> Result<Vec<Space>, String> {
        let level = |nest: &Nest| match nest {
            Nest::Level { level, .. } => Some(*level),
            Nest::When(..) => None,
        };
        let sides = [level(then), level(other)];
        if self.is_in_group(dim) {
            let both = sides.iter().all(|level| *level == Some(Level::Group));
            return if both && self.has_interior_in_group(dim, items) {
                Ok(vec![dim])
            } else {
                Err("only what a group stores is apart at edges, and the group shares both".into())
            };
        }
        let joined = self.is_joined(dim);
        let fits = |level: &Option<Level>| match level {
            Some(Level::Joined) => joined,
            Some(Level::Serial | Level::Independent) => !joined,
            _ => false,
        };
        match self.shared_from(dim) {
            Some(dims) if sides.iter().all(fits) && !self.at_edges => Ok(dims),
            _ => Err("all points are traversed in one way here".into()),
        }
    }

    /// Whether a level is legal for a dimension just inside a point that a group of threads takes.
    pub(super) fn legal_in_group(&self, items: &[Item], level: Level) -> Result<(), String> {
        let no = |why: &str| Err(why.to_string());
        let free = |i: &Item| match i {
            Item::Fold(n) => parts_of(self.facts.p, *n).is_ok_and(|(_, _, how)| commutes(how)),
            Item::Scan(_) => false,
            Item::Sink(_) => true,
        };
        match level {
            Level::Group if items.iter().all(free) => Ok(()),
            Level::Group => no("the operator of a fold is not commutative"),
            _ if items.iter().any(|i| matches!(i, Item::Sink(_))) => no("all threads of the group would store"),
            _ => Ok(()),
        }
    }
}
