//! Whether a function is flattened in chunks or as a whole.

use super::{ChunkSizes, Chunked, Unchunked, Whole, chunk};
use crate::flatten::{Options, flatten};
use deckle_diag::Diagnostic;
use deckle_ir::array::{Function, Program};
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Buf, Rep, Rows, Step};

/// Whether sequences are gone through in chunks, where that can be done, or each as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// As a whole.
    Never,
    /// In chunks if as a whole something would be kept in memory on the way, or sequences come from outside or go there.
    Needed,
    /// In chunks.
    Always,
}

/// A function as kernels.
#[derive(Debug)]
pub struct Lowered {
    /// The kernels.
    pub program: kernel::Program,
    /// The function that they were made of.
    pub function: Function,
    /// For each sequence in the result, in order, the number of the push by which it is handed over. Without chunks the result holds them.
    pub pushes: Vec<u32>,
    /// If its sequences are traversed in chunks, the parameters that it has for their sizes; or what stands in the way, if something does.
    pub chunked: Result<Option<ChunkSizes>, Whole>,
}

/// Flattens a function of a simplified program, its sequences in chunks where they are to be.
///
/// # Errors
/// As [`flatten`], or a bug in making chunks.
pub fn lower(simple: &Program, func: Func, options: Options, chunks: Chunks) -> Result<Lowered, Box<Diagnostic>> {
    let program = flatten(simple, func, options)?;
    let function = simple.funcs[func.index()].clone();
    let wanted = match chunks {
        Chunks::Never => false,
        Chunks::Needed => keeps_something(&program) || flows(&function),
        Chunks::Always => true,
    };
    match if wanted { chunk(simple, func, options.cuts) } else { Ok(None) } {
        Ok(None) => Ok(Lowered { program, function, pushes: Vec::new(), chunked: Ok(None) }),
        Err(Unchunked::Whole(whole)) => Ok(Lowered { program, function, pushes: Vec::new(), chunked: Err(whole) }),
        Err(Unchunked::Bug(d)) => Err(d),
        Ok(Some(chunks)) => {
            let Chunked { program: chunks, sizes, pushes } = chunks;
            let program = flatten(&chunks, func, options)?;
            let function = chunks.funcs[func.index()].clone();
            Ok(Lowered { program, function, pushes, chunked: Ok(Some(sizes)) })
        }
    }
}

/// Whether sequences come from outside or go there.
fn flows(function: &Function) -> bool {
    let mut all = function.params().iter().map(|p| function.ty(*p)).chain([function.result_type()]);
    all.any(|ty| !ty.is_concrete())
}

/// Whether arrays of unknown size are made that are no part of the result.
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
