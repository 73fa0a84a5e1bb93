//! How the functions of a kernel are run.
//!
//! The outermost dimension of a kernel is cut into blocks of a fixed number of points, counted from its start. A call of `main` runs a range of blocks. What the
//! kernel folds or scans along that dimension passes from block to block through scratch buffers, so that results do not depend on which thread ran which
//! block: `totals` gives what each block adds to the scans, `prefix` turns that into what comes before each block, and `finish`
//! combines what the blocks gave for the folds.
//!
//! All functions of a kernel are passed the same buffers, those of the kernel and then the scratch, and the same four scalars, all `i64`: the first block,
//! the block after the last, the number of points in a block, and the number of blocks in all.

use super::Function;
use crate::kernel::{self, Node};
use crate::scalar::ScalarType;

/// The functions of a kernel, and what the host has to know to run them.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The buffers of the kernel that are passed.
    pub buffers: Vec<kernel::Buf>,
    /// Buffers with an element for each block and one more, of these types.
    pub scratch: Vec<ScalarType>,
    /// The size of the dimension that is cut into blocks: a node of the root. Without, there is one call with one block.
    pub size: Option<Node>,
    /// How many points a block has, where results depend on it.
    pub block: Option<i64>,
    /// Whether the blocks must run in order, by one thread.
    pub ordered: bool,
    /// Whether there are loops inside a point of the dimension: then few points are worth a thread.
    pub nested: bool,
    /// What each block adds to the scans.
    pub totals: Option<Function>,
    /// What comes before each block.
    pub prefix: Option<Function>,
    /// The kernel itself.
    pub main: Function,
    /// What the folds give.
    pub finish: Option<Function>,
}

impl Launch {
    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.totals.iter().chain(&self.prefix).chain([&self.main]).chain(&self.finish)
    }
}
