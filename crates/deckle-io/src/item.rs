//! A value in flat data: read by formats that are written value by value, without a tree.

use crate::{Error, Result, fit, tree};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_runtime::{Data, Form};
use std::ops::Range;

/// The value at a place, which must exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub data: &'a Data,
    pub at: usize,
}

impl<'a> Item<'a> {
    /// The elements of a vector or sequence: the data that holds them, and their range.
    pub(crate) fn elements(self) -> Option<(&'a Data, Range<usize>)> {
        let (Form::Equal(_, elem) | Form::Offsets(_, elem)) = self.data.form() else { return None };
        let (lo, hi) = self.data.row(self.at)?;
        Some((elem, lo..hi))
    }

    /// The same, one by one: none for other types.
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = Item<'a>> + Clone {
        let (data, range) = self.elements().unwrap_or((self.data, 0..0));
        range.map(move |at| Item { data, at })
    }

    pub(crate) fn len(self) -> usize {
        self.iter().len()
    }

    /// The components of a tuple or record.
    pub(crate) fn parts(self) -> impl ExactSizeIterator<Item = Item<'a>> {
        let parts = if let Form::Tuple(parts) = self.data.form() { &parts[..] } else { &[] };
        parts.iter().map(move |data| Item { data, at: self.at })
    }

    /// The bytes of a text.
    pub(crate) fn bytes(self) -> Result<&'a [u8]> {
        let (elements, range) = self.elements().ok_or_else(fit::confused)?;
        match elements.form() {
            Form::Scalars(ScalarType::U8, buffer) => buffer.as_slice::<u8>().get(range).ok_or_else(fit::confused),
            _ => Err(fit::confused()),
        }
    }

    pub(crate) fn scalar(self) -> Result<Scalar> {
        match self.data.form() {
            Form::Scalars(ty, buffer) => Ok(tree::scalar(*ty, buffer, self.at)),
            _ => Err(fit::confused()),
        }
    }

    /// An integer used as an index or a count.
    pub(crate) fn index(self, what: &str) -> Result<usize> {
        let n = self.scalar()?.as_int().ok_or_else(fit::confused)?;
        // Indices are `i64` in the language.
        let index = i64::try_from(n).ok().and_then(|n| usize::try_from(n).ok());
        index.ok_or_else(|| Error::new(format!("{what} is {n}, which is no index")))
    }
}
