//! Whether the sequences of a function are traversed in chunks or as a whole.

use deckle_ir::array::Function;
use deckle_ir::kernel::{self, Buf, Rep, Rows, Step};

/// When sequences are traversed in chunks, if they can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// Never: each is an array.
    Never,
    /// If something would be materialised otherwise, or elements come from outside or are delivered there.
    Needed,
    /// Always.
    Always,
}

/// Whether a function with these kernels, whose sequences are materialised, should have its sequences in chunks.
pub(crate) fn is_chunked(chunks: Chunks, function: &Function, whole: &kernel::Program) -> bool {
    match chunks {
        Chunks::Never => false,
        Chunks::Needed => keeps_something(whole) || flows(function),
        Chunks::Always => true,
    }
}

/// Whether sequences come from outside or are delivered there.
fn flows(function: &Function) -> bool {
    let mut all = function.params().iter().map(|p| function.ty(*p)).chain([function.result_type()]);
    all.any(|ty| !ty.is_concrete())
}

/// Whether arrays of unknown size are created that are not part of the result.
fn keeps_something(program: &kernel::Program) -> bool {
    let mut given = Vec::new();
    results(&program.result, &mut given);
    makes(program, &program.steps, &given)
}

fn results(rep: &Rep, bufs: &mut Vec<Buf>) {
    match rep {
        Rep::Scalar(b) => bufs.push(*b),
        Rep::Tuple(parts) => parts.iter().for_each(|p| results(p, bufs)),
        Rep::Array(rows, elem) => {
            if let Rows::Offsets(b) = rows {
                bufs.push(*b);
            }
            results(elem, bufs);
        }
    }
}

fn makes(program: &kernel::Program, steps: &[Step], given: &[Buf]) -> bool {
    steps.iter().any(|step| match step {
        Step::Alloc(buf, len) => program.as_int(*len).is_none() && !given.contains(buf),
        Step::If(_, yes, no) => makes(program, yes, given) || makes(program, no, given),
        Step::While { test, body, .. } => makes(program, test, given) || makes(program, body, given),
        _ => false,
    })
}
