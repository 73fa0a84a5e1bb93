//! How the functions of a kernel are run.
//!
//! The outermost dimension of a kernel is divided into blocks of a fixed number of points, counted from its start. A call of `main` runs a range of blocks. The folds and
//! scans of the kernel along that dimension pass values from block to block through scratch buffers, so that results do not depend on which thread ran which
//! block: `totals` returns the contribution of each block to the scans, `prefix` turns these into the prefix before each block, and `finish`
//! combines the partial folds of the blocks. A scan of another scan needs the prefix before each block in that one first: there is a pair of
//! `totals` and `prefix` for each level of dependence. These and `main` may run on some blocks first and then on the next, so that their inputs are still in a cache.
//!
//! All functions of a kernel are passed the same buffers, those of the kernel and then the scratch, and the same five scalars, all `i64`: the first block,
//! the block after the last, the number of points in a block, the number of blocks in all, and the number of points in a block of a row (see [`Rows`]).

use super::{Function, WARP};
use crate::kernel::{self, Node};
use crate::scalar::{Scalar, ScalarType};

/// The functions of a kernel, and the data with which the host runs them.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The buffers of the kernel that are passed.
    pub buffers: Vec<kernel::Buf>,
    /// Buffers with an element for each block and one more, of these types.
    pub scratch: Vec<ScalarType>,
    /// Private buffers of each thread, passed only to `main`, last: their types and numbers of elements.
    pub private: Vec<(ScalarType, usize)>,
    /// The size of the dimension that is divided into blocks: a node of the root. Without it, there is one call with one block.
    pub size: Option<Node>,
    /// The work at a point of that dimension.
    pub work: Work,
    /// The number of points of a block, if results depend on it.
    pub block: Option<i64>,
    /// The number of points of that dimension that are computed together: if the size of a block is free, it is best a multiple of this.
    pub together: i64,
    /// Whether the blocks must run in order, by one thread.
    pub ordered: bool,
    /// If the points of the first dimension are rows of different lengths: their lengths.
    pub rows: Option<Rows>,
    /// How several threads can combine into the same arrays.
    pub copies: Option<Copies>,
    /// How several threads can each take a part of the array that is combined into.
    pub owned: Option<Owned>,
    /// The scans along that dimension: first those that do not depend on another, then those that depend only on these, and so on.
    pub scans: Vec<ScanLevel>,
    /// The kernel itself.
    pub main: Function,
    /// The function that combines the folds.
    pub finish: Option<Function>,
}

/// Scans that can be computed at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanLevel {
    /// The contribution of each block to them; it is passed the prefix of each block in the scans of earlier levels.
    pub totals: Function,
    /// The prefix before each block.
    pub prefix: Function,
}

/// The work at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A bounded number of operations.
    Little,
    /// There are loops inside. The product of these sizes, nodes of the root, is the number of rounds; other loops iterate over the data read.
    Rounds(Vec<Node>),
    /// There are loops inside, whose lengths are unknown before they run.
    Unknown,
}

/// Rows of different lengths.
///
/// A row is divided into blocks of its own, and its folds and scans are combined block by block, so that several threads can share a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// How the host finds their lengths.
    pub lengths: Lengths,
    /// Whether rows that are too long for one thread can be run by several: see [`Long`].
    pub divisible: bool,
}

/// How the host finds the lengths of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Lengths {
    /// They are contiguous: element `i` of a buffer of `i64` is the start of row `i`, and the next one its end.
    Offsets(kernel::Buf),
    /// They are computed: the function returns for each block of rows the total number of elements. It is passed the buffers of the kernel, one of `i64` with an element
    /// for each block of the call, and the scalars of all functions. The length of a row is capped at the largest number divided by the number of rows of a block, so that no sum
    /// overflows; if a block is one row, its length is exact. The function cannot fail.
    Computed(Function),
}

/// How rows that are too long for one thread are run. First each of them by all threads: the phases, in order, over the blocks of the row. Then everything
/// else, by functions that read the results of these rows.
///
/// The phases are passed the buffers of the kernel, the partial results and the scratch, and seven scalars: the five of all functions, where the blocks are those of the row and
/// have the number of points in the last scalar; the row; and the index of its first block among the partial results. The functions of the launch are passed two more buffers
/// of `i64` after their scratch, the long rows in ascending order with an end marker above every row, and the indices of their first blocks; then the partial results.
#[derive(Clone, Debug, PartialEq)]
pub struct Long {
    /// Buffers with an element for each block of each long row, of these types.
    pub partial: Vec<ScalarType>,
    /// Buffers with an element for each block of a row and one more, of these types.
    pub scratch: Vec<ScalarType>,
    /// The phases of each long row. A phase that is alone takes all blocks in one call.
    pub phases: Vec<Phase>,
    /// The launch that runs afterwards.
    pub launch: Launch,
}

impl Long {
    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.phases.iter().map(|p| &p.function).chain(self.launch.functions())
    }
}

/// Arrays that are combined into, with copies: `main` combines each part of the points into copies of its own, or of its thread, which start
/// from the identity element, and `merge` combines these with the arrays, in the order of the parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Copies {
    /// The buffers of the launch.
    pub targets: Vec<usize>,
    /// The initial values of the copies.
    pub units: Vec<Scalar>,
    /// Whether the result is the same for any division of the points and any order of the copies: true for integers without saturation.
    pub exact: bool,
    /// Whether each point scatters any number of elements.
    pub nested: bool,
    /// Their number of elements: a node of the root.
    pub len: Node,
    /// Is passed the targets and then their copies; the first two scalars are a range of elements.
    pub merge: Function,
    /// How a copy is divided into several arrays.
    pub turns: Option<Turns>,
}

/// A copy of an array as several tables, which take the points round-robin: combining a point into an element does not wait for the point before it.
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
    /// The maximal number of tables of a copy, a power of two.
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

/// An array that is combined into at indices that ascend within each point of the first dimension: the owner of a part of the array can find those
/// that fall into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    /// Traverses all points, and handles those that fall into a range of blocks of the array: is passed the arguments of `main`, with the blocks of the array.
    /// It fails if indices do not ascend or are out of range; then `main` must do everything.
    pub function: Function,
    /// The number of elements of the array: a node of the root.
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

    /// The function that computes the lengths of rows.
    pub fn lengths(&self) -> Option<&Function> {
        match self.rows.as_ref()?.lengths {
            Lengths::Computed(ref function) => Some(function),
            Lengths::Offsets(_) => None,
        }
    }
}

/// The functions of a kernel for a GPU, which run one after another, and the data with which the host runs them.
///
/// The outermost dimension is divided into parts of successive points, each for the threads of a block together or for one thread. As on
/// a CPU, the folds and scans of parts are passed through scratch buffers in the order of the parts: no result depends on timing.
///
/// All functions are passed the buffers of the kernel, then the scratch, and two scalars, both `i64`: the number of points in a part, and the number of parts. If there are [`SplitRows`], the buffers of
/// these follow the scratch, and their scalars the two.
#[derive(Clone, Debug, PartialEq)]
pub struct GridLaunch {
    /// The buffers of the kernel that are passed.
    pub buffers: Vec<kernel::Buf>,
    /// Buffers with an element for each part and one more, of these types.
    pub scratch: Vec<ScalarType>,
    /// The sizes of the dimensions that are divided into parts together, nodes of the root: their product is the number of points. Without any, there is one part.
    pub sizes: Vec<Node>,
    /// The assignment of parts.
    pub parts: Parts,
    /// The minimal number of points of a part, if there are as many.
    pub least: i64,
    /// The functions, in order. Those that are not `alone` are launched only if there are parts.
    pub phases: Vec<Phase>,
    /// The functions that replace the phases that are not `alone` if points have many points inside: a group of threads takes a point, or warps take runs of rows. Wider groups come later.
    pub wide: Vec<Wide>,
    /// Whether floats are added up, so that bits depend on which of the functions run.
    pub adds_floats: bool,
    /// The number of elements above which a row should be split, if the phases run.
    pub split: Option<i64>,
    /// The functions that run before all others if rows are split.
    pub rows: Option<SplitRows>,
    /// The function that replaces these if it computes a product of many points.
    pub tiles: Option<Tiles>,
    /// If the phases take points sorted by where they scatter, what tells where.
    pub sorted: Option<SortedPoints>,
}

/// What points are sorted by before the phases of a [`GridLaunch`] run. These are passed two more buffers: the keys, and the order of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct SortedPoints {
    /// Computes the keys of all points. It is passed one more buffer, of `u64`, in which they are 0; keys of points that scatter nothing stay 0.
    pub keys: Function,
    /// The greatest key, a node of the root.
    pub len: Node,
}

/// How the blocks of a grid share rows that are too long for the threads that take a point. `lengths`, `list` and the phases run in this order, each on as many blocks as the host likes; the functions
/// of the launch follow, and find what these rows have folded.
///
/// The buffers, all of `i64` but the last: two elements that are zero, a list with room for some pieces, an element for each point of the outermost dimension, then partial results with
/// as much room. The scalars: the number of elements above which a row is split, and the room for pieces, at least 1.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitRows {
    /// Buffers with an element for each piece, of these types.
    pub partial: Vec<ScalarType>,
    /// Adds up the lengths of all rows, where no buffer of offsets tells them.
    pub lengths: Option<Function>,
    /// Lists the pieces of long rows.
    pub list: Function,
    /// They take one piece after another.
    pub phases: Vec<Function>,
    /// The room for pieces, at least, if lengths are added up: the host does not know their sum. With less room, only longer rows are split.
    pub room: i64,
    /// The most blocks of a function.
    pub blocks: i64,
}

impl SplitRows {
    /// All functions, in order.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.lengths.iter().chain([&self.list]).chain(&self.phases)
    }
}

/// The function of a [`GridLaunch`] in which a group of threads takes a point, or warps take runs of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Wide {
    /// The function.
    pub function: Function,
    /// It runs if the largest array has at least this many elements for each point.
    pub at_least: i64,
    /// The groups of a block; of runs, its threads.
    pub groups: i64,
    /// As [`GridLaunch::split`], if it runs.
    pub split: Option<i64>,
    /// As [`GridLaunch::sizes`], of the points that the groups take.
    pub sizes: Vec<Node>,
    /// For each chain of dimensions inside a point, the sizes of those that the host knows, nodes of the root.
    pub inside: Vec<Vec<Node>>,
}

/// How many elements a function for groups finds.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The points.
    pub points: i64,
    /// Elements of the largest array for each point.
    pub elements: i64,
    /// Elements inside a point, as the sizes of dimensions say.
    pub inside: i64,
}

/// The function of a [`GridLaunch`] in which a block takes a tile of two dimensions: block `i * across + j` the `j`-th of the `i`-th tiles below each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiles {
    /// The function. Its scalars are not used.
    pub function: Function,
    /// The sizes of the two dimensions, nodes of the root.
    pub sizes: [Node; 2],
    /// The rows and columns of a tile.
    pub shape: [i64; 2],
    /// It runs if there are at least this many points.
    pub at_least: i64,
}

/// The functions that sort on a grid of threads. An *entry* is a word of `u64`, by some digits of which it is sorted, one after another from the lowest on.
///
/// An element is a key of several *columns*, each an array or the number of the row that the element is in. A column adds to the word of each entry what is told apart by it: the *ordinal* of a value, an unsigned
/// integer, less the least one, shifted. Where a word has room for the number of the element too, that is in its lowest bits; otherwise an entry has a second word, of `i64`.
#[derive(Clone, Debug, PartialEq)]
pub struct GridSort {
    /// For each type of values.
    pub columns: Vec<(ScalarType, SortColumn)>,
    /// As [`SortColumn::fill`], of rows: is passed their offsets, and their number as the least ordinal.
    pub rows: Function,
    /// As [`SortColumn::fill`], of rows of equal length, which is the least ordinal: is passed no values.
    pub equal_rows: Function,
    /// Numbers elements: is passed the numbers, and their count.
    pub number: Function,
    /// Returns the numbers in the lowest bits of words: is passed the words and the numbers, their count, and a mask.
    pub numbers: Function,
    /// Counts the entries of each part that have a digit. All three are passed the number of entries, the lowest bit of the digit, the entries of a part and the number of parts. It is passed the words, and the
    /// counts: of the first digit in each part, then of the second, and so on.
    pub count: Function,
    /// Replaces the counts by those of all parts before. Block `i` takes digit `i`. It is passed the counts, and a list of totals.
    pub places: Function,
    /// Moves entries to their places: is passed words, counts, totals, and the words of the sorted entries.
    pub move_words: Function,
    /// The same with numbers beside words: these are passed last, the sorted ones after the others.
    pub move_pairs: Function,
    /// The bits of a digit.
    pub bits: u32,
    /// A part has a multiple of so many entries.
    pub round: i64,
    /// The maximal number of parts.
    pub parts: i64,
}

/// The functions for the values of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct SortColumn {
    /// Computes the greatest complement of an ordinal, and the greatest ordinal: is passed the values and two numbers of `u64` that are zero, and how many values there are.
    pub measure: Function,
    /// Adds to words: is passed the values, the numbers of the elements, and the words; then how many elements there are, the least ordinal, the shift, and how a word begins ([`SortFill`]).
    pub fill: Function,
}

/// How a function begins to fill words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortFill {
    /// It adds to what is there. Element `i` is number `i`.
    Add = 0,
    /// Words are 0.
    Zero = 1,
    /// Words are numbers of elements.
    Number = 2,
    /// It adds to what is there, and elements are numbered by the list.
    AddListed = 4,
    /// Words are 0, and elements are numbered by the list.
    ZeroListed = 5,
}

impl GridSort {
    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        let columns = self.columns.iter().flat_map(|(_, column)| [&column.measure, &column.fill]);
        let others = [&self.rows, &self.equal_rows, &self.number, &self.numbers, &self.count, &self.places];
        columns.chain(others).chain([&self.move_words, &self.move_pairs])
    }

    /// The entries of a part, of so many.
    pub fn points(&self, all: i64) -> i64 {
        let rounds = all / self.parts / self.round;
        (rounds + 1) * self.round
    }

    /// The functions for values of a type.
    pub fn column(&self, ty: ScalarType) -> Option<&SortColumn> {
        self.columns.iter().find(|(t, _)| *t == ty).map(|(_, column)| column)
    }
}

/// The assignment of parts of the outermost dimension.
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
    /// The function.
    pub function: Function,
    /// Whether it runs on one block, regardless of the number of parts.
    pub alone: bool,
}

/// The approximate maximal number of parts for blocks, and for threads.
const MANY: [i64; 2] = [1 << 12, 1 << 16];
/// The approximate number of threads that a device runs at the same time.
const RESIDENT: i64 = 1 << 18;
/// The minimal number of points for a thread, if one takes a part.
const FEW: i64 = 32;

impl Wide {
    /// The threads of a group.
    pub fn width(&self) -> i64 {
        i64::from(self.function.block) / self.groups.max(1)
    }

    /// As [`GridLaunch::points`].
    pub fn points(&self, all: i64) -> i64 {
        let many = if self.width() > 1 { MANY[1] } else { MANY[0] };
        ((all / many).max(1) + self.groups - 1) / self.groups * self.groups
    }
}

impl GridLaunch {
    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        let rows = self.rows.iter().flat_map(SplitRows::functions);
        let taken = rows.chain(self.phases.iter().map(|p| &p.function)).chain(self.wide.iter().map(|w| &w.function));
        taken.chain(self.tiles.iter().map(|t| &t.function)).chain(self.sorted.iter().map(|s| &s.keys))
    }

    /// The index of the widest function that is worth its threads: each point has elements of its own for them, or narrower groups would not occupy the device. `found` has an entry for each function.
    /// `asked` overrides whether any runs.
    pub fn wide(&self, found: &[Found], asked: Option<bool>) -> Option<usize> {
        let is_worth = |k: usize| {
            let (wide, found, narrower) =
                (&self.wide[k], found[k], k.checked_sub(1).map_or(1, |k| self.wide[k].width()));
            let few = found.points.saturating_mul(narrower) < RESIDENT;
            wide.at_least <= found.elements || few && wide.at_least <= found.inside
        };
        let worth = (0..self.wide.len().min(found.len())).rfind(|k| is_worth(*k));
        match asked {
            None => worth,
            Some(true) => worth.or((!self.wide.is_empty()).then_some(0)),
            Some(false) => None,
        }
    }

    /// The blocks of the tiles for this many rows and columns, if they are worth it; `asked` overrides that.
    pub fn tiles(&self, [rows, columns]: [i64; 2], asked: Option<bool>) -> Option<(&Tiles, i64)> {
        let tiles = self.tiles.as_ref()?;
        let of = |n: i64, by: i64| n / by + i64::from(n % by > 0);
        let blocks = of(rows, tiles.shape[0]).checked_mul(of(columns, tiles.shape[1]))?;
        let worth = rows.saturating_mul(columns) >= tiles.at_least;
        (blocks <= i64::from(i32::MAX) && asked.unwrap_or(worth)).then_some((tiles, blocks))
    }

    /// The number of points of a part, as a function of the number of all points only.
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

    /// The number of blocks of a phase for this many parts.
    pub fn grid(&self, phase: &Phase, parts: i64) -> u64 {
        let blocks = match (phase.alone, self.parts) {
            (true, _) => 1,
            (false, Parts::Block) => parts,
            (false, Parts::Thread) => (parts + self.threads() - 1) / self.threads(),
        };
        blocks.max(0) as u64
    }
}
