//! A value that was decoded as a whole, as a source: its elements if it is a vector or sequence, else the value itself.

use super::{Outcome, Reader};
use crate::build::Build;
use deckle_runtime::{Data, Pool};

pub(super) struct Whole {
    /// The value, until it is first requested: from then on it counts against the budget.
    value: Option<Build>,
    /// Whether the source returns its elements, or the value itself.
    apart: bool,
    elements: Option<Data>,
    /// The number of elements that have been returned.
    given: usize,
    /// The number of bytes it takes.
    bytes: usize,
}

impl Whole {
    /// The elements of the only value.
    pub(super) fn new(value: Build) -> Whole {
        Whole { bytes: value.bytes(), value: Some(value), apart: true, elements: None, given: 0 }
    }

    /// The only value as the only element.
    pub(super) fn single(value: Build) -> Whole {
        Whole { apart: false, ..Whole::new(value) }
    }
}

impl Reader for Whole {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Data>) -> Outcome<()> {
        if let Some(value) = self.value.take() {
            let value = value.finish(Some(pool))?;
            self.elements = if self.apart { value.into_elements() } else { Some(value) };
        }
        let Some(elements) = self.elements.as_ref().filter(|e| e.len() > self.given) else { return Ok(()) };
        let (left, each) = (elements.len() - self.given, (self.bytes / elements.len()).max(1));
        let n = if bytes >= self.bytes { left } else { (bytes / each).clamp(1, left) };
        *found = Some(elements.slice(self.given, self.given + n, pool)?);
        self.given += n;
        Ok(())
    }

    /// In bytes of elements, all of which are in memory: a caller that needs all of them requests all at once.
    fn progress(&self) -> (u64, Option<u64>) {
        let count = self.elements.as_ref().map_or(1, Data::len).max(1);
        let done = self.bytes as u128 * self.given as u128 / count as u128;
        (done as u64, Some(self.bytes as u64))
    }

    fn is_whole(&self) -> bool {
        true
    }
}
