//! How the functions of a kernel are run.
//!
//! The outermost dimension of a kernel is cut into blocks of a fixed number of points, counted from its start. A call of `main` runs a range of blocks. What the
//! kernel folds or scans along that dimension passes from block to block through scratch buffers, so that results do not depend on which thread ran which
//! block: `totals` gives what each block adds to the scans, `prefix` turns that into what comes before each block, and `finish`
//! combines what the blocks gave for the folds. A scan of another scan needs to know what comes before each block in that one first: there is a pair of
//! `totals` and `prefix` for each level of dependence. These and `main` may run on some blocks first and then on the next, so that what they read is still in a cache.
//!
//! All functions of a kernel are passed the same buffers, those of the kernel and then the scratch, and the same five scalars, all `i64`: the first block,
//! the block after the last, the number of points in a block, the number of blocks in all, and the number of points in a block of a row (see [`Rows`]).

use super::{Function, WARP};
use crate::kernel::{self, Node};
use crate::scalar::{Scalar, ScalarType};

/// The functions of a kernel, and what the host has to know to run them.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The buffers of the kernel that are passed.
    pub buffers: Vec<kernel::Buf>,
    /// Buffers with an element for each block and one more, of these types.
    pub scratch: Vec<ScalarType>,
    /// Buffers that each thread has for itself, which only `main` is passed, last: of what, and how many elements.
    pub private: Vec<(ScalarType, usize)>,
    /// The size of the dimension that is cut into blocks: a node of the root. Without, there is one call with one block.
    pub size: Option<Node>,
    /// How much is done at a point of that dimension.
    pub work: Work,
    /// How many points a block has, where results depend on it.
    pub block: Option<i64>,
    /// How many points of that dimension are computed together: where the size of a block is free, it is best a multiple of this.
    pub together: i64,
    /// Whether the blocks must run in order, by one thread.
    pub ordered: bool,
    /// Where the points of the first dimension are rows of different lengths: how long they are.
    pub rows: Option<Rows>,
    /// How several threads can combine into the same arrays.
    pub copies: Option<Copies>,
    /// How several threads can each take a part of the array that is combined into.
    pub owned: Option<Owned>,
    /// The scans along that dimension: first those that need no other one, then those that need only these, and so on.
    pub scans: Vec<ScanLevel>,
    /// The kernel itself.
    pub main: Function,
    /// What the folds give.
    pub finish: Option<Function>,
}

/// Scans that can be computed at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanLevel {
    /// What each block adds to them; it is given what comes before each block in those of the levels before.
    pub totals: Function,
    /// What comes before each block.
    pub prefix: Function,
}

/// How much is done at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A bounded number of operations.
    Little,
    /// There are loops inside. The product of these sizes, nodes of the root, tells how many rounds; other loops go through what is read.
    Rounds(Vec<Node>),
    /// There are loops inside, of which nothing is known before they run.
    Unknown,
}

/// Rows of different lengths.
///
/// A row is cut into blocks of its own, and what it folds and scans is combined block by block, so that several threads can share a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// How the host gets to know how long they are.
    pub lengths: Lengths,
    /// Whether rows that are too much for one thread can be run by several: see [`Long`].
    pub divisible: bool,
}

/// How the host gets to know how long rows are.
#[derive(Clone, Debug, PartialEq)]
pub enum Lengths {
    /// They lie one after another: element `i` of a buffer of `i64` tells where row `i` begins, and the next one where it ends.
    Offsets(kernel::Buf),
    /// They are computed: of each block of rows, the function tells how many elements they have together. It is passed the buffers of the kernel, one of `i64` with an element
    /// for each block of the call, and the scalars of all functions. A row counts for no more than the largest number divided by how many rows a block has, so that no sum is too
    /// large; where a block is one row, its length is exact. The function fails nowhere.
    Computed(Function),
}

/// How rows that are too much for one thread are run. First each of them by all threads: the phases, in order, over the blocks of the row. Then everything
/// else, by functions that find there what these rows gave.
///
/// The phases are passed the buffers of the kernel, the partial results and the scratch, and seven scalars: the five of all functions, where the blocks are those of the row and
/// have as many points as the last says; the row; and the place of its first block among the partial results. The functions of the launch are passed two more buffers
/// of `i64` after their scratch, the long rows in ascending order with an end that no row reaches, and the places of their first blocks; then the partial results.
#[derive(Clone, Debug, PartialEq)]
pub struct Long {
    /// Buffers with an element for each block of each long row, of these types.
    pub partial: Vec<ScalarType>,
    /// Buffers with an element for each block of a row and one more, of these types.
    pub scratch: Vec<ScalarType>,
    /// What is done for each long row. A phase that is alone takes all blocks in one call.
    pub phases: Vec<Phase>,
    /// What is done after that.
    pub launch: Launch,
}

impl Long {
    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.phases.iter().map(|p| &p.function).chain(self.launch.functions())
    }
}

/// Arrays that are combined into, and how that is done with copies: `main` combines each part of the points into copies of its own, or of its thread, which start
/// from the identity element, and `merge` combines these with the arrays, in the order of the parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Copies {
    /// Which buffers of the launch.
    pub targets: Vec<usize>,
    /// What the copies start from.
    pub units: Vec<Scalar>,
    /// Whether the result is the same for any division of the points and any order of the copies: integers that do not saturate.
    pub exact: bool,
    /// How many elements they have: a node of the root.
    pub len: Node,
    /// Is passed the targets and then their copies; the first two scalars are a range of elements.
    pub merge: Function,
    /// How a copy can be several arrays.
    pub turns: Option<Turns>,
}

/// A copy of an array as several tables, which take the points round-robin: a point that combines into an element does not wait for the point before it.
///
/// ```
/// # use deckle_ir::loops::Turns;
/// # let function = deckle_ir::loops::Builder::new("k1_turns").finish().unwrap();
/// let turns = Turns { function, most: 8, wide: 512, line: 8 };
/// assert_eq!((turns.tables(256), turns.stride(256)), (8, 264));
/// assert_eq!((turns.tables(1000), turns.stride(1000)), (4, 1000));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    /// As `main`, but it combines into the tables of a copy.
    pub function: Function,
    /// The most tables of a copy, a power of two.
    pub most: i64,
    /// An array of more elements has half as many tables.
    pub wide: i64,
    /// The elements of a cache line, a power of two.
    pub line: i64,
}

impl Turns {
    /// The number of tables for an array of this many elements.
    pub fn tables(&self, len: i64) -> i64 {
        if len > self.wide { self.most / 2 } else { self.most }
    }

    /// The elements from the start of a table to that of the next one: an odd number of cache lines. Otherwise the same element of two tables could be a multiple
    /// of 4 KiB apart, and processors that compare the low bits of addresses first take a load of the one to depend on a store to the other.
    pub fn stride(&self, len: i64) -> i64 {
        (len + self.line - 1) & -self.line | self.line
    }
}

/// An array that is combined into at places which ascend within each point of the first dimension: whoever owns a part of the array can find those
/// that fall into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    /// Goes through all points, and does what falls into a range of blocks of the array: is passed what `main` is, the blocks being those of the array.
    /// It fails where places do not ascend or are out of range; then `main` has to do everything.
    pub function: Function,
    /// How many elements the array has: a node of the root.
    pub len: Node,
    /// The bytes of an element.
    pub bytes: usize,
}

impl Launch {
    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        let copies = self.copies.iter().flat_map(|c| [&c.merge].into_iter().chain(c.turns.iter().map(|t| &t.function)));
        let owned = self.owned.iter().map(|o| &o.function);
        let scans = self.scans.iter().flat_map(|level| [&level.totals, &level.prefix]);
        scans.chain([&self.main]).chain(&self.finish).chain(copies).chain(owned).chain(self.lengths())
    }

    /// The function that tells how long rows are.
    pub fn lengths(&self) -> Option<&Function> {
        match self.rows.as_ref()?.lengths {
            Lengths::Computed(ref function) => Some(function),
            Lengths::Offsets(_) => None,
        }
    }
}

/// The functions of a kernel for a GPU, which run one after another, and what the host has to know to run them.
///
/// The outermost dimension is cut into parts of successive points, each for the threads of a block together or for one thread. As on
/// a CPU, what the parts fold and scan goes through scratch buffers in the order of the parts: no result depends on timing.
///
/// All functions are passed the buffers of the kernel, then the scratch, and two scalars, both `i64`: the number of points in a part, and the number of parts.
#[derive(Clone, Debug, PartialEq)]
pub struct GridLaunch {
    /// The buffers of the kernel that are passed.
    pub buffers: Vec<kernel::Buf>,
    /// Buffers with an element for each part and one more, of these types.
    pub scratch: Vec<ScalarType>,
    /// The size of the dimension that is cut into parts: a node of the root. Without, there is one part.
    pub size: Option<Node>,
    /// Who takes a part.
    pub parts: Parts,
    /// The least points of a part, where there are as many.
    pub least: i64,
    /// The functions, in order. Those that are not `alone` are launched only if there are parts.
    pub phases: Vec<Phase>,
    /// What runs instead of the phases that are not `alone` where points have many points inside: a group of threads takes a point. Wider groups come later.
    pub wide: Vec<Wide>,
}

/// The function of a [`GridLaunch`] in which a group of threads takes a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Wide {
    /// What runs.
    pub function: Function,
    /// It runs where the largest array has at least so many elements for each point.
    pub at_least: i64,
    /// The groups of a block.
    pub groups: i64,
}

/// Who takes a part of the outermost dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The threads of a block.
    Block,
    /// One thread.
    Thread,
}

/// A function of a [`GridLaunch`] or of [`Long`] rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// What runs.
    pub function: Function,
    /// Whether it runs on one block, however many parts there are.
    pub alone: bool,
}

/// At most about so many parts for blocks, and for threads.
const MANY: [i64; 2] = [1 << 12, 1 << 16];
/// No fewer points for a thread than this, where one takes a part.
const FEW: i64 = 32;

impl Wide {
    /// As [`GridLaunch::points`].
    pub fn points(&self, all: i64) -> i64 {
        ((all / MANY[1]).max(1) + self.groups - 1) / self.groups * self.groups
    }
}

impl GridLaunch {
    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.phases.iter().map(|p| &p.function).chain(self.wide.iter().map(|w| &w.function))
    }

    /// The widest function that is worth its threads where there are so many elements for each point; whether any runs may be asked for.
    pub fn wide(&self, elements: i64, asked: Option<bool>) -> Option<&Wide> {
        let worth = self.wide.iter().rfind(|w| w.at_least <= elements);
        match asked {
            None => worth,
            Some(true) => worth.or(self.wide.first()),
            Some(false) => None,
        }
    }

    /// How many points a part should have if there are so many in all: a matter of that number alone.
    pub fn points(&self, all: i64) -> i64 {
        let threads = self.threads();
        match self.parts {
            Parts::Block => ((all / MANY[0]).max(self.least).max(1) + threads - 1) / threads * threads,
            Parts::Thread => (all / MANY[1]).max(self.least).max(FEW),
        }
    }

    fn threads(&self) -> i64 {
        self.phases.iter().map(|p| i64::from(p.function.block)).max().unwrap_or(0).max(i64::from(WARP))
    }

    /// How many blocks a phase needs for so many parts.
    pub fn grid(&self, phase: &Phase, parts: i64) -> u64 {
        let blocks = match (phase.alone, self.parts) {
            (true, _) => 1,
            (false, Parts::Block) => parts,
            (false, Parts::Thread) => (parts + self.threads() - 1) / self.threads(),
        };
        blocks.max(0) as u64
    }
}
