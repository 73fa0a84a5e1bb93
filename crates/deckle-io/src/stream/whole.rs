//! A value that was read as a whole, as a source.

use super::build::Build;
use super::{Outcome, Reader};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Block, Pool};

pub(super) struct Whole {
    value: Value,
    /// How many elements have been given.
    given: usize,
    build: Build,
}

impl Whole {
    /// The elements of a sequence, which are of this type.
    pub(super) fn new(value: Value, elem: &Type) -> Whole {
        Whole { value, given: 0, build: Build::new(elem) }
    }
}

impl Reader for Whole {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Block>) -> Outcome<()> {
        let rest = &self.value.items().unwrap_or_default()[self.given..];
        let mut n = 0;
        while n < rest.len() && (n == 0 || self.build.bytes() < bytes) {
            self.build.push_value(&rest[n]);
            n += 1;
        }
        self.given += n;
        if n > 0 {
            *found = Some(self.build.take(n, pool)?);
        }
        Ok(())
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}
