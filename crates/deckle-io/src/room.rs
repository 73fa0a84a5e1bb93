//! The memory that a file takes as a tree of values, estimated before the tree is built.
//!
//! A tree takes ten to a hundred times as many bytes as its file. Files are therefore read into flat memory, vectors of tables, sound and texts block by block
//! ([`stream::open_whole`](crate::stream::open_whole)). Trees are built for the interpreter, and from written values and tables as columns. Their
//! estimated size is compared with a limit:
//!
//! - for a compressed file, the size to which it may expand ([`gz::limit`]): a bomb is rejected after a few megabytes;
//! - for others, the free memory of the machine.

use crate::format::Format;
use crate::text::is_text;
use crate::{Error, Result, gz, plain};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::cpu;
use deckle_runtime::pool::Bytes;

/// Bytes of a value in a vector or tuple.
pub(crate) const VALUE: u64 = size_of::<Value>() as u64;
/// Bytes of a vector besides its elements: counts, its space in the cost model, and the overhead of the allocator for both parts.
const VECTOR: u64 = 96;
/// Bytes of a tuple besides its components.
const TUPLE: u64 = 32;

/// The memory that a tree may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Room {
    /// The limit for a compressed file of this length.
    Packed(usize),
    /// The memory of the machine.
    Machine,
}

impl Room {
    /// Compares the size of a tree with the limit.
    pub(crate) fn check(self, tree: u64) -> Result<()> {
        let help =
            "take it as a vector `[t]` or a sequence `{t}`, without `--on interp`: those are read block by block";
        match self {
            Room::Packed(len) if tree > gz::limit(len) => {
                let message =
                    format!("{len} bytes unpack to a value of about {}, which is taken for an attack", Bytes(tree));
                Err(Error::new(message).help("if the file is meant to be that large, unpack it first"))
            }
            // Small trees are not checked.
            Room::Machine if tree > gz::FREE => match cpu::free_memory().filter(|free| tree > *free) {
                Some(free) => {
                    let message =
                        format!("as a whole it takes about {}, and {} of memory are free", Bytes(tree), Bytes(free));
                    Err(Error::new(message).help(help))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// An estimate of the tree of the contents of a file, if they are read as a whole.
pub(crate) fn tree(format: Format, bytes: &[u8], ty: &Type) -> u64 {
    let len = bytes.len() as u64;
    let count = |wanted: &[u8]| bytes.iter().filter(|b| wanted.contains(b)).count() as u64;
    match format {
        Format::Table(separator) => {
            let (fields, lines) = (count(&[separator, b'\n']), count(b"\n"));
            let texts = if has_texts(ty) { len * VALUE + fields * VECTOR } else { 0 };
            fields * VALUE + lines * (VALUE + VECTOR) + texts
        }
        Format::Txt | Format::Unknown if is_text(ty) => len * VALUE,
        Format::Txt | Format::Unknown if plain::is_lines(ty) => len * VALUE + count(b" \t\r\n") * (VALUE + VECTOR),
        Format::Txt | Format::Unknown => count(b",") * VALUE + count(b"[({\"") * (VALUE + VECTOR) + quoted(bytes),
        // Decoded into flat memory, which is compared.
        Format::Npy | Format::Npz | Format::Mtx | Format::Image(_) | Format::Wav | Format::Json | Format::Later => 0,
    }
}

/// A regular array of this number of scalars and vectors.
pub(crate) fn array(scalars: u64, vectors: u64) -> u64 {
    scalars.saturating_mul(VALUE).saturating_add(vectors.saturating_mul(VALUE + VECTOR))
}

/// This number of tuples, without their components.
pub(crate) fn tuples(count: u64) -> u64 {
    count.saturating_mul(VALUE + TUPLE)
}

/// Texts in quotes have a value for each byte.
fn quoted(bytes: &[u8]) -> u64 {
    if bytes.contains(&b'"') { bytes.len() as u64 * VALUE } else { 0 }
}

fn has_texts(ty: &Type) -> bool {
    is_text(ty) || ty.elem().is_some_and(has_texts) || ty.parts().is_some_and(|parts| parts.into_iter().any(has_texts))
}
