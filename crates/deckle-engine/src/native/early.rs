//! Blocks of a sequence that are copied to a device before they are pulled.
//!
//! While the kernels of a chunk run, the elements of the next one are copied. A block that is copied early has left its [`Ahead`](deckle_runtime::stream::Ahead); it goes back if the next pull wants
//! other elements, if the round is repeated, or if memory is short.
//!
//! ```text
//!  round 1   pull [a], start to copy [b]     kernels on a
//!  round 2   pull [b], start to copy [c]     kernels on b
//!  round 3   fails: [c] and [b] go back      pull the first half of [b]
//! ```

use crate::native::fault::Failure;
use crate::native::gpu::{Kept, KeptForm, Remote};
use deckle_ir::kernel::{Rep, Rows};
use deckle_runtime::{Buffer, Data};
use std::fmt;

/// Arrays that are on their way to a device. If they are dropped, their memory is freed when the device no longer uses it.
pub(crate) trait Coming: fmt::Debug {
    /// The arrays, for work that is enqueued from now on.
    fn arrays(self: Box<Self>) -> Result<Vec<Remote>, Failure>;
}

/// A block that is copied early.
#[derive(Debug)]
pub(crate) struct Early {
    pub block: Data,
    pub coming: Box<dyn Coming>,
}

impl Early {
    /// Whether a pull of `count` elements, or of at most as many, can return it.
    pub(crate) fn is_for(&self, count: usize, all: bool) -> bool {
        self.block.len() == count || (!all && self.block.len() <= count)
    }

    /// The block, with its arrays on the device, and on this machine.
    pub(crate) fn arrived(self, rep: &Rep) -> Result<(Data, Kept), Failure> {
        let mut arrays = self.coming.arrays()?.into_iter();
        let kept = placed(rep, Data::array(self.block.clone()).into(), &mut |buffer| match arrays.next() {
            Some(array) => array,
            None => Remote::Here(buffer),
        });
        Ok((self.block, kept))
    }
}

/// The arrays of a block that are copied as a whole when it is pulled into a representation.
pub(crate) fn arrays(rep: &Rep, block: &Data) -> Vec<Buffer> {
    let mut all = Vec::new();
    placed(rep, Data::array(block.clone()).into(), &mut |buffer| {
        all.push(buffer.clone());
        Remote::Here(buffer)
    });
    all
}

/// Replaces these arrays, in the order of [`arrays`].
fn placed(rep: &Rep, kept: Kept, place: &mut dyn FnMut(Buffer) -> Remote) -> Kept {
    let mut put = |array| match array {
        Remote::Here(buffer) => place(buffer),
        there => there,
    };
    let form = match (rep, kept.form) {
        (Rep::Scalar(_), KeptForm::Scalars(ty, array)) => KeptForm::Scalars(ty, put(array)),
        (Rep::Tuple(reps), KeptForm::Tuple(parts)) => {
            KeptForm::Tuple(reps.iter().zip(parts).map(|(rep, part)| placed(rep, part, place)).collect())
        }
        (Rep::Array(Rows::Offsets(_), elem), KeptForm::Offsets(offsets, inner)) => {
            let offsets = put(offsets);
            KeptForm::Offsets(offsets, Box::new(placed(elem, *inner, place)))
        }
        // The host reads these offsets.
        (Rep::Array(Rows::Equal(_), elem), KeptForm::Offsets(offsets, inner)) => {
            KeptForm::Offsets(offsets, Box::new(placed(elem, *inner, place)))
        }
        (Rep::Array(_, elem), KeptForm::Equal(n, inner)) => KeptForm::Equal(n, Box::new(placed(elem, *inner, place))),
        (_, form) => form,
    };
    Kept { len: kept.len, form }
}
