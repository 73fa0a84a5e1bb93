//! How much memory a file takes as a tree of values, counted before the tree is made.
//!
//! A tree takes ten to a hundred times as many bytes as its file. Files are therefore read into flat memory, vectors of tables, sound and texts block by block
//! ([`stream::open_whole`](crate::stream::open_whole)). A tree is made for the interpreter, and of written values and tables as columns. What it
//! takes is estimated and compared with a limit:
//!
//! - of a packed file, what it may unpack to ([`gz::limit`]): a bomb is refused when a few megabytes of it are there;
//! - of others, the memory that the machine has free.

use crate::format::Format;
use crate::text::is_text;
use crate::{Error, Result, gz, plain};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::cpu;
use deckle_runtime::pool::Bytes;

/// Bytes of a value in a vector or tuple.
pub(crate) const VALUE: u64 = size_of::<Value>() as u64;
/// Bytes of a vector besides its elements: counts, the space that it has in the cost model, and what the allocator adds to both parts.
const VECTOR: u64 = 96;
/// Bytes of a tuple besides its components.
const TUPLE: u64 = 32;

/// How much a tree may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Room {
    /// What a packed file of this length may become.
    Packed(usize),
    /// The memory of the machine.
    Machine,
}

impl Room {
    /// Compares what a tree would take.
    pub(crate) fn check(self, tree: u64) -> Result<()> {
        let help =
            "take it as a vector `[t]` or a sequence `{t}`, without `--on interp`: those are read block by block";
        match self {
            Room::Packed(len) if tree > gz::limit(len) => {
                let message =
                    format!("{len} bytes unpack to a value of about {}, which is taken for an attack", Bytes(tree));
                Err(Error::new(message).help("if the file is meant to be that large, unpack it first"))
            }
            // What is small is not worth asking for.
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

/// An estimate of the tree that the contents of a file become, if they become one at once.
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

/// A regular array of so many scalars and vectors.
pub(crate) fn array(scalars: u64, vectors: u64) -> u64 {
    scalars.saturating_mul(VALUE).saturating_add(vectors.saturating_mul(VALUE + VECTOR))
}

/// So many tuples, without their components.
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
