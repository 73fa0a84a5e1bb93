//! Schedules: how the loops of a kernel run.
//!
//! A kernel says *what* is computed: spaces, the scalars at their points, and sinks. A schedule says *how*: in which order the points of each dimension are traversed, by what, and how
//! many at once. It is chosen by a pure function of the kernel and the target, can be printed, read and replaced, and code generation follows it.
//!
//! # Structure
//! A [`Schedule`] has a [`Function`] for each function that a launch of the kernel consists of. The one that computes the kernel says how [`Threads`] share the points of its outermost
//! dimension. A function is a list of [`Walk`]s. A walk traverses one dimension for some
//! [`Item`]s: folds, scans and sinks that share the loop. Its [`Nest`] says how: a [`Level`], or two nests of which a condition selects one at run time. What is traversed at each point of the
//! dimension, further dimensions and the folds that are computed there, are walks of their own inside the level.
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
//! On a GPU, a launch runs on a grid of threads, and [`Grid`] is who takes which points:
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
//! Level, width, the points of a block and, on a GPU, who takes which points decide in which order floats are combined. Everything else in a schedule leaves every bit as it is.

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
    /// How threads share the points of the outermost dimension, if it has one that is cut into blocks.
    pub threads: Option<Threads>,
    /// What it traverses from the root on.
    pub walks: Walks,
    /// What its dimensions and items are, in the words of the source.
    pub legend: Legend,
}

/// How threads share the points of the outermost dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threads {
    /// Who takes which points.
    pub share: Share,
    /// The points of a block, where results depend on it; otherwise they follow from how much there is to do.
    pub block: Option<i64>,
    /// Why.
    pub why: Why,
}

/// Who takes which points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// One thread takes all, in order.
    One,
    /// Each thread takes blocks of points.
    Blocks,
    /// Each takes blocks of rows that have about as many elements together; a row that is too long for one thread is shared.
    Rows,
    /// Each scatters some of the points into a copy of the arrays, and the copies are merged in order, where there are enough points for that: else one thread takes all.
    Copies,
    /// Each owns a part of the array that is scattered into and does what falls into it, where the array is large enough for that: else they take points, if these may come in any order.
    Owners,
    /// The threads of a GPU.
    Grid(Grid),
}

/// How the threads of a grid share points, of which parts are cut. How many points a part has follows from how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The threads of a block, a multiple of [`WARP`](crate::loops::WARP).
    pub threads: u32,
    /// Who takes a part, and which of its points.
    pub take: Take,
}

/// Who takes a part of the points, and which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// A block takes a part. Its threads take the points round-robin, so that neighbours access neighbouring memory.
    Strided,
    /// As [`Take::Strided`]. What the threads of a block scatter they combine in shared memory first, in bins of so many bytes, where the arrays fit these.
    Binned {
        /// Of all bins of a block together.
        bytes: u32,
    },
    /// A block takes a part. Each of its threads takes successive points, so that what they fold is combined in order.
    Successive,
    /// A block takes a part, in rounds. In each, a thread takes `each` successive points, and what the threads scan is combined through shared memory.
    Rounds {
        /// The points of a thread in a round.
        each: u32,
    },
    /// A thread takes a part, in order.
    Parts,
    /// A block takes a part, each group of its threads a point, and [`Level::Group`] shares the points inside. The function runs instead of the main one, and of those of narrower groups, where the largest
    /// array has at least so many elements for each point.
    Groups {
        /// The threads of a group: a power of two below a warp, a warp, or the block.
        width: u32,
        /// The elements for each point.
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

/// Lines for people. All are equal, and none is read back.
#[derive(Clone, Debug, Default)]
pub struct Legend(pub Vec<String>);

impl PartialEq for Legend {
    fn eq(&self, _: &Legend) -> bool {
        true
    }
}

/// The walks at a point. They are shared by everything that is emitted there.
pub type Walks = Arc<[Walk]>;

/// What takes values at the points of a space.
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
    /// What takes values in the traversal.
    pub items: Vec<Item>,
    /// How.
    pub nest: Nest,
}

/// How a dimension is traversed.
#[derive(Clone, Debug, PartialEq)]
pub enum Nest {
    /// The first nest where the condition holds, else the second.
    When(When, Box<Nest>, Box<Nest>),
    /// All points alike.
    Level {
        /// How many points at once, and in which order.
        level: Level,
        /// What is traversed at each point.
        inside: Walks,
        /// Why this level was chosen.
        why: Why,
    },
}

/// The reason for a choice, for people. All reasons are equal, and none is read back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Why {
    /// In words.
    pub text: &'static str,
    /// What the best other way would take.
    pub instead: Option<Instead>,
}

/// Another level, and about how many times as long it would take.
#[derive(Clone, Copy, Debug)]
pub struct Instead {
    /// The level.
    pub level: Level,
    /// Its time divided by that of the level that was chosen.
    pub times: f32,
}

impl Why {
    /// A reason that compares nothing.
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
    /// At points where no clamp, wrap or comparison of a position has an effect: away from the edges.
    Interior,
    /// If fewer points than this are traversed.
    Fewer(i64),
    /// If the dimension has at least as many points.
    AtLeast(i64),
    /// If the rows at the points of the dimension have at least as many elements together.
    Elements(i64),
    /// If at least as many points are traversed, the dimension that is folded has at most `deepest` points, and there is a full round of columns.
    Tiles {
        /// Of the rows.
        least: i64,
        /// Of the dimension that is folded.
        deepest: i64,
    },
}

/// How many points are traversed at once, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// One after another.
    Serial,
    /// One after another, where order does not matter: LLVM may vectorise the loop.
    Independent,
    /// One after another, without a loop.
    Unrolled,
    /// The elements of all their rows as those of one row.
    Joined,
    /// One after another; what their rows write side by side into an array is gathered in a small buffer and leaves it in whole cache lines.
    Lines {
        /// The lines that leave together.
        together: u16,
        /// Whether they bypass the caches.
        non_temporal: bool,
    },
    /// In the lanes of vectors; the last points under a mask.
    Lanes(Lanes),
    /// Rows of different lengths, in windows of `rows`: rows that fit a vector are folded side by side if they may, longer ones each on its own, and everything else is done in lanes.
    Windows {
        /// The rows of a window.
        rows: u16,
        /// The lanes of a vector.
        width: u16,
        /// Whether rows that fit a vector are folded side by side and combined crosswise.
        crosswise: bool,
        /// Gathered elements of all rows of a window are first loaded into a buffer of this many elements, regardless of where rows end, if they fit it. 0: each row gathers its own.
        staged: u16,
    },
    /// One after another, round-robin into as many accumulators.
    Accumulators(u16),
    /// Rows and the columns below them in tiles of registers.
    Tile {
        /// The rows of a tile.
        rows: u16,
        /// The lanes of the columns.
        columns: Lanes,
    },
    /// The threads of a group take points round-robin, at a point that the group has taken. What they fold is combined by shuffles, and from warp to warp through shared memory.
    Group,
}

impl Level {
    /// How many points are computed together: those of a round of vectors.
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
    /// The vectors of a round: the latency of one hides behind the others.
    pub vectors: u16,
    /// Whether each vector of a round has a contiguous part of the points for itself, instead of standing beside the others.
    pub apart: bool,
    /// Whether stores bypass the caches.
    pub non_temporal: bool,
    /// Whether all rounds are under a mask, not only the last: there is one loop instead of two, which takes half as long to compile.
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

    /// A nest where a condition holds, and another one where it does not.
    pub fn when(when: When, then: Nest, other: Nest) -> Nest {
        Nest::When(when, Box::new(then), Box::new(other))
    }
}

/// All walks, those inside others too, each before what is inside it.
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
