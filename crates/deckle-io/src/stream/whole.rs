//! A value that was decoded as a whole, as a source: its elements if it is a vector or sequence, else itself.

use super::{Outcome, Reader};
use crate::build::Build;
use deckle_runtime::{Block, Pool};

pub(super) struct Whole {
    elements: Build,
    count: usize,
    /// How many elements have been given.
    given: usize,
    /// How many bytes they all take.
    bytes: usize,
}

impl Whole {
    /// The elements of the only value.
    pub(super) fn new(value: Build) -> Whole {
        let (elements, count) = value.into_elements();
        let bytes = elements.bytes();
        Whole { elements, count, given: 0, bytes }
    }

    /// The only value as the only element.
    pub(super) fn single(value: Build) -> Whole {
        let bytes = value.bytes();
        Whole { elements: value, count: 1, given: 0, bytes }
    }
}

impl Reader for Whole {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Block>) -> Outcome<()> {
        let left = self.count - self.given;
        if left == 0 {
            return Ok(());
        }
        let each = (self.bytes / self.count).max(1);
        let n = if bytes >= self.bytes { left } else { (bytes / each).clamp(1, left) };
        *found = Some(self.elements.copy(self.given, self.given + n, pool)?);
        self.given += n;
        Ok(())
    }

    /// Of the elements, all of which are there: whoever needs all of them asks for all at once.
    fn progress(&self) -> (u64, Option<u64>) {
        let done = self.bytes as u128 * self.given as u128 / self.count.max(1) as u128;
        (done as u64, Some(self.bytes as u64))
    }

    fn is_whole(&self) -> bool {
        true
    }
}
