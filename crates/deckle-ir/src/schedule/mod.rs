//! Schedules: how the loops of a kernel run.
//!
//! A kernel says *what* is computed: spaces, the scalars at their points, and sinks. A schedule says *how*: in which order the points of each dimension are traversed, by which threads, and how
//! many at once. It is chosen by a pure function of the kernel and the target, can be printed, read and replaced, and code generation follows it.
//!
//! # Structure
//! A [`Schedule`] has a [`Function`] for each function that a launch of the kernel consists of. The one that computes the kernel says how [`Threads`] share the points of its outermost
//! dimension. A function is a list of [`Walk`]s. A walk traverses one dimension for some
//! [`Item`]s: folds, scans and sinks that share the loop. Its [`Nest`] says how: a [`Level`], or two nests, one of which a condition selects at run time. Further dimensions and the folds
//! computed at each point of the dimension are walks of their own inside the level.
//!
//! ```text
//! function k0 {
//!   threads rows                  // rows differ in length
//!   s1: sink 0 {
//!     serial {
//!       s2: fold t12 {
//!         when fewer 33 {
//!           accumulators 4          // gathers of short rows overlap with those of the next row
//!         } else {
//!           lanes 8 x 4             // the points of a dimension are independent
//!         }
//!       }
//!     }
//!   }
//! }
//! ```
//!
//! On a GPU, a launch runs on a grid of threads, and [`Grid`] assigns points to them:
//!
//! ```text
//! function g0 {
//!   threads grid 256 strided      // points are independent
//!   s1: sink 0 {
//!     independent
//!   }
//! }
//! ```
//!
//! # Order
//! Level, width, the points of a block and, on a GPU, the assignment of points determine the order in which floats are combined. Everything else in a schedule preserves every bit.

use crate::kernel::{Node, Space};
use crate::loops::StoreHint;
use std::sync::Arc;

mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use parse::parse;

/// The schedule of all functions of a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Each with its name.
    pub functions: Vec<Function>,
}

/// The schedule of one function of the loop IR.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name that the function has in the loop IR.
    pub name: String,
    /// How threads share the points of the outermost dimension, if it has one that is divided into blocks.
    pub threads: Option<Threads>,
    /// What it traverses from the root on.
    pub walks: Walks,
    /// The meaning of its dimensions and items, in source terms.
    pub legend: Legend,
}

/// How threads share the points of the outermost dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threads {
    /// The assignment of points.
    pub share: Share,
    /// The points of a block, if results depend on it; otherwise they follow from the amount of work.
    pub block: Option<i64>,
    /// The reason.
    pub why: Why,
}

/// The assignment of points to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// One thread takes all, in order.
    One,
    /// Each thread takes blocks of points.
    Blocks,
    /// Each takes blocks of rows that have about as many elements together; a row that is too long for one thread is shared.
    Rows,
    /// Each scatters a part of the points into a copy of the arrays, and the copies are merged in order, if there are enough points for that: otherwise one thread takes all.
    Copies,
    /// Each owns a part of the array that is scattered into and handles the points that fall into it, if the array is large enough for that: otherwise they take points, if their order is free.
    Owners,
    /// The threads of a GPU.
    Grid(Grid),
}

/// How the threads of a grid share points, which are divided into parts. The size of a part follows from the number of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The threads of a block, a multiple of [`WARP`](crate::loops::WARP).
    pub threads: u32,
    /// The assignment of parts, and of their points.
    pub take: Take,
    /// The elements of a row above which all blocks share it, before the points are assigned.
    pub split: Option<i64>,
}

/// The assignment of parts of the points, and of the points in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// A block takes a part. Its threads take the points round-robin, so neighbouring threads access neighbouring memory.
    Strided,
    /// As [`Take::Strided`]. The threads of a block first combine what they scatter in shared memory, in bins of this size, if the arrays fit.
    Binned {
        /// The bytes of all bins of a block together.
        bytes: u32,
    },
    /// A block takes a part. Each of its threads takes successive points, so that their folds are combined in order.
    Successive,
    /// A block takes a part, in rounds. In each, a thread takes `each` successive points, and the scans of the threads are combined through shared memory.
    Rounds {
        /// The points of a thread in a round.
        each: u32,
    },
    /// A block takes a part, and its warps shares of that, in runs of successive rows. The threads of a warp load the elements of a run together, so many at a time, and each then traverses a row, in order.
    /// The function replaces the main one if the largest array has at least the given number of elements for each point.
    Runs {
        /// The elements that a warp has in shared memory at a time.
        elements: u32,
        /// The elements for each point.
        at_least: i64,
    },
    /// A thread takes a part, in order.
    Parts,
    /// Points are sorted by the element into which they scatter. A block takes a part of them, and each of its threads elements: the first point of each that is in the part, and all others of the element.
    Sorted,
    /// A block takes a part, each group of its threads a point, and [`Level::Group`] shares the points inside. The function replaces the main one, that of runs, and those of narrower groups, if the largest
    /// array has at least the given number of elements for each point.
    Groups {
        /// The threads of a group: a power of two below a warp, a warp, or the block.
        width: u32,
        /// The elements for each point.
        at_least: i64,
    },
    /// A block takes a tile of two dimensions at whose points a third is folded, and each of its threads several points of the tile: what these share goes through shared memory. The function
    /// replaces the others if there are at least the given number of points.
    Tiles {
        /// The rows of the tile for a thread, and its columns.
        rows: u32,
        /// See `rows`.
        columns: u32,
        /// The threads beside each other.
        across: u32,
        /// The elements of the fold between two barriers.
        deep: u32,
        /// The points.
        at_least: i64,
    },
}

impl Share {
    /// The grid that shares points, if one does.
    pub fn grid(self) -> Option<Grid> {
        match self {
            Share::Grid(grid) => Some(grid),
            _ => None,
        }
    }
}

/// Lines for readers. All compare equal, and none is parsed back.
#[derive(Clone, Debug, Default)]
pub struct Legend(pub Vec<String>);

impl PartialEq for Legend {
    fn eq(&self, _: &Legend) -> bool {
        true
    }
}

/// The walks at a point. They are shared by all code that is emitted there.
pub type Walks = Arc<[Walk]>;

/// A consumer of values at the points of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// A fold, at the points that it folds.
    Fold(Node),
    /// A scan, at its own points.
    Scan(Node),
    /// The sink of that number.
    Sink(usize),
}

/// How one dimension is traversed for some items.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// The dimension.
    pub dim: Space,
    /// The items of the traversal.
    pub items: Vec<Item>,
    /// The nest.
    pub nest: Nest,
}

/// How a dimension is traversed.
#[derive(Clone, Debug, PartialEq)]
pub enum Nest {
    /// The first nest if the condition holds, else the second.
    When(When, Box<Nest>, Box<Nest>),
    /// All points in the same way.
    Level {
        /// How many points at once, and the order.
        level: Level,
        /// The walks at each point.
        inside: Walks,
        /// The reason for this level.
        why: Why,
    },
}

/// The reason for a choice, for readers. All reasons compare equal, and none is parsed back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Why {
    /// In words.
    pub text: &'static str,
    /// The estimate for the best alternative.
    pub instead: Option<Instead>,
}

/// Another level, and its relative estimated time.
#[derive(Clone, Copy, Debug)]
pub struct Instead {
    /// The level.
    pub level: Level,
    /// Its time divided by that of the chosen level.
    pub times: f32,
}

impl Why {
    /// A reason without a comparison.
    pub fn new(text: &'static str) -> Why {
        Why { text, instead: None }
    }
}

impl PartialEq for Why {
    fn eq(&self, _: &Why) -> bool {
        true
    }
}

/// A condition that selects a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At points where no clamp, wrap or comparison of a position has an effect: in the interior.
    Interior,
    /// If fewer points than this are traversed.
    Fewer(i64),
    /// If the dimension has at least as many points.
    AtLeast(i64),
    /// If the rows at the points of the dimension have at least this many elements together.
    Elements(i64),
    /// If at least this many points are traversed, the folded dimension has at most `deepest` points, and there is a full round of columns.
    Tiles {
        /// Of the rows.
        least: i64,
        /// Of the folded dimension.
        deepest: i64,
    },
}

/// How many points are traversed at once, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// One after another.
    Serial,
    /// One after another; the order does not matter, so LLVM may vectorise the loop.
    Independent,
    /// One after another, without a loop.
    Unrolled,
    /// The elements of all their rows as those of one row. On a GPU, the points of dense dimensions that a grid shares together: this one, and the one just inside.
    Joined,
    /// One after another; the adjacent writes of their rows to an array are collected in a small buffer and stored in whole cache lines.
    Lines {
        /// The lines that are stored together.
        together: u16,
        /// Whether they bypass the caches.
        non_temporal: bool,
    },
    /// In the lanes of vectors; the last points with a mask.
    Lanes(Lanes),
    /// Rows of different lengths, in windows of `rows`: rows that fit a vector are folded in parallel if allowed, longer ones one at a time, and everything else is done in lanes.
    Windows {
        /// The rows of a window.
        rows: u16,
        /// The lanes of a vector.
        width: u16,
        /// Whether rows that fit a vector are folded in parallel and combined across lanes.
        crosswise: bool,
        /// Gathered elements of all rows of a window are first loaded into a buffer of this size, regardless of row boundaries, if they fit. 0: each row gathers its own.
        staged: u16,
    },
    /// One after another, round-robin into this many accumulators.
    Accumulators(u16),
    /// Rows and the columns below them in register tiles.
    Tile {
        /// The rows of a tile.
        rows: u16,
        /// The lanes of the columns.
        columns: Lanes,
    },
    /// The threads of a group take points round-robin, at a point that the group has taken. Their folds are combined by shuffles, and across warps through shared memory.
    Group,
}

impl Level {
    /// The number of points computed together: those of a round of vectors.
    pub fn together(&self) -> u16 {
        match self {
            Level::Lanes(lanes) => lanes.round(),
            _ => 1,
        }
    }
}

/// Vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// The lanes of a vector.
    pub width: u16,
    /// The vectors of a round: their latencies overlap.
    pub vectors: u16,
    /// Whether each vector of a round has a contiguous part of the points of its own, instead of being adjacent to the others.
    pub apart: bool,
    /// Whether stores bypass the caches.
    pub non_temporal: bool,
    /// Whether all rounds have a mask, not only the last: there is one loop instead of two, which takes half as long to compile.
    pub masked: bool,
}

impl Lanes {
    /// One vector of that width in a round.
    pub fn of_width(width: u16) -> Lanes {
        Lanes { width, vectors: 1, apart: false, non_temporal: false, masked: false }
    }

    /// How whole vectors are stored.
    pub fn stores(&self) -> StoreHint {
        if self.non_temporal { StoreHint::Streaming } else { StoreHint::Cached }
    }

    /// The lanes of a round.
    pub fn round(&self) -> u16 {
        self.width * self.vectors
    }
}

impl Nest {
    /// A level for all points.
    pub fn level(level: Level, inside: impl Into<Walks>, why: &'static str) -> Nest {
        Nest::Level { level, inside: inside.into(), why: Why::new(why) }
    }

    /// A nest selected by a condition.
    pub fn when(when: When, then: Nest, other: Nest) -> Nest {
        Nest::When(when, Box::new(then), Box::new(other))
    }
}

/// All walks, including nested ones, each before those inside it.
pub fn all_walks(walks: &[Walk]) -> Vec<&Walk> {
    let mut all = Vec::new();
    for walk in walks {
        all.push(walk);
        let mut nests = vec![&walk.nest];
        while let Some(nest) = nests.pop() {
            match nest {
                Nest::When(_, then, other) => nests.extend([&**other, &**then]),
                Nest::Level { inside, .. } => all.extend(all_walks(inside)),
            }
        }
    }
    all
}

/// The walk over a dimension for some items, among those at a point.
pub fn find<'w>(walks: &'w [Walk], dim: Space, items: &[Item]) -> Option<&'w Walk> {
    walks.iter().find(|w| w.dim == dim && w.items == items)
}
