//! How threads share the points of the outermost dimension of a launch: the rules for cores, and what is legal.
//!
//! The first rule that applies decides:
//!
//! 1. owners, where a scatter goes to places that ascend along an inner dimension, as the multiples of a number do: each part of the array stays in a cache meanwhile;
//! 2. copies, where a scatter has an operator with an identity element: they are merged in order;
//! 3. one thread, where what is done at a point has to come after what is done at those before it;
//! 4. rows by their elements, where they differ in length;
//! 5. blocks.
//!
//! None of this changes a result but for the points of a block, where floats are combined block by block.

use crate::cuts::Cuts;
use deckle_ir::schedule::{Share, Threads, Why};

/// The most points of a block that can be asked for.
const LARGEST_BLOCK: i64 = 1 << 40;

/// What is known of the outermost dimension of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outermost {
    /// Whether all of it is one call: what is folded has an order, or the number of points is not known outside.
    pub whole: bool,
    /// Whether something is folded along it, or scanned: then results are combined block by block.
    pub folds: bool,
    pub scans: bool,
    /// Whether there are dimensions inside.
    pub nested: bool,
    /// Whether there is a scatter that has to keep the order of points: not if all have the same value.
    pub ordered: bool,
    /// Whether a scatter can go into copies, or be divided by places.
    pub copies: bool,
    pub owners: bool,
    /// Whether its points are rows of different lengths.
    pub rows: bool,
}

impl Outermost {
    /// How threads share its points.
    pub(crate) fn threads(&self, cuts: Cuts) -> Threads {
        let (share, why) = match self {
            Outermost { whole: true, .. } => (Share::One, "an ordered fold or scan takes one element after another"),
            Outermost { owners: true, .. } => {
                (Share::Owners, "places ascend, so each part of the array can have an owner")
            }
            Outermost { copies: true, .. } => {
                (Share::Copies, "the operator has an identity element that copies start from")
            }
            Outermost { ordered: true, .. } => (Share::One, "points that store to the same element keep their order"),
            Outermost { rows: true, .. } => (Share::Rows, "rows differ in length"),
            Outermost { scans: true, .. } => {
                (Share::Blocks, "each block of a scan starts from the sum of the blocks before it")
            }
            Outermost { folds: true, .. } => (Share::Blocks, "the results of blocks are combined in order"),
            _ => (Share::Blocks, "points are independent"),
        };
        let block = if self.nested { cuts.nested_block } else { cuts.block };
        Threads { share, block: self.is_fixed().then_some(block), why: Why::new(why) }
    }

    /// Whether results depend on the points of a block.
    fn is_fixed(&self) -> bool {
        !self.whole && (self.folds || self.scans)
    }

    /// Whether threads can share points so.
    pub(crate) fn legal(&self, given: Threads) -> Result<(), String> {
        let no = |why: &str| Err(format!("`{given}`: {why}"));
        let in_order = self.whole || self.ordered;
        match given.share {
            Share::Blocks | Share::Rows if in_order => return no("the points have an order"),
            Share::Rows if !self.rows => return no("there are no rows of different lengths"),
            Share::Copies if !self.copies => {
                return no("nothing is scattered with an operator that has an identity element");
            }
            Share::Owners if !self.owners => return no("no scatter has targets that ascend along an inner dimension"),
            Share::Grid(_) => return no("only a GPU has a grid of threads"),
            _ => {}
        }
        match given.block {
            None if self.is_fixed() => no("folds and scans need a number of points for each block"),
            Some(_) if !self.is_fixed() => no("nothing is folded or scanned, so blocks have no number of points"),
            Some(points) if !(1..=LARGEST_BLOCK).contains(&points) => {
                no("a block has at least one point, and not too many")
            }
            _ => Ok(()),
        }
    }
}
