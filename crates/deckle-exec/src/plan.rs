//! A program with its steps, before there is code for a device.

use crate::{Chunks, Options};
use crate::pipeline::{Stage, Timings, verified};
use deckle_diag::Diagnostic;
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Buf, Kernel, Rep, Rows, Step};
use deckle_ir::types::Type;
use deckle_passes::chunk::{Whole, chunk};
use deckle_passes::flatten::{self, flatten};
use deckle_passes::reuse::reuse;
use deckle_passes::simplify::simplify;

/// What every device needs to know of a program.
#[derive(Debug)]
pub(crate) struct Plan {
    pub program: kernel::Program,
    pub result_ty: Type,
    pub param_names: Vec<String>,
    /// Why sequences are not gone through in chunks, or that they are: then there is a parameter more, the elements of a chunk.
    pub chunked: Result<bool, Whole>,
}

impl Plan {
    /// Simplifies and flattens a function, and says where its memory comes from.
    pub(crate) fn new(
        program: &array::Program,
        func: Func,
        options: Options,
        timings: &mut Timings,
    ) -> Result<Plan, Box<Diagnostic>> {
        let simple;
        let program = if options.simplify {
            simple = timings.time(Stage::Simple, || simplify(program));
            &simple
        } else {
            program
        };
        let fusing = flatten::Options { fuse: options.fuse };
        let (mut chunked, mut function) = (Ok(false), &program.funcs[func.index()]);
        let mut flat = timings.time(Stage::Kernel, || flatten(program, func, fusing))?;
        let wanted = match options.chunks {
            Chunks::Never => false,
            Chunks::Needed => keeps_something(&flat),
            Chunks::Always => true,
        };
        let chunks = if wanted { chunk(program, func) } else { Ok(None) };
        match &chunks {
            Ok(None) => {}
            Ok(Some(program)) => {
                let func = Func(program.funcs.len() as u32 - 1);
                flat = timings.time(Stage::Kernel, || flatten(program, func, fusing))?;
                (chunked, function) = (Ok(true), &program.funcs[func.index()]);
            }
            Err(whole) => chunked = Err(whole.clone()),
        }
        verified(&flat, Stage::Kernel)?;
        timings.time(Stage::Memory, || reuse(&mut flat, options.given));
        verified(&flat, Stage::Memory)?;
        let result_ty = function.ty(function.body(array::Function::ROOT).result).clone();
        Ok(Plan { program: flat, result_ty, param_names: function.param_names.clone(), chunked })
    }

    /// Something made of every kernel, in the order of the text, given its number.
    pub(crate) fn kernels<T>(&self, f: &mut dyn FnMut(&Kernel, usize) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        each_kernel(&self.program.steps, &mut |kernel| all.push(f(kernel, all.len())));
        all.into_iter().collect()
    }
}

/// Whether arrays of unknown size are made that are no part of the result.
fn keeps_something(program: &kernel::Program) -> bool {
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
    fn any(program: &kernel::Program, steps: &[Step], given: &[Buf]) -> bool {
        steps.iter().any(|step| match step {
            Step::Alloc(buf, len) => program.as_int(*len).is_none() && !given.contains(buf),
            Step::If(_, yes, no) => any(program, yes, given) || any(program, no, given),
            Step::While { test, body, .. } => any(program, test, given) || any(program, body, given),
            _ => false,
        })
    }
    let mut given = Vec::new();
    results(&program.result, &mut given);
    any(program, &program.steps, &given)
}

pub(crate) fn each_kernel(steps: &[Step], f: &mut dyn FnMut(&Kernel)) {
    for step in steps {
        match step {
            Step::Run(k) => f(k),
            Step::If(_, yes, no) => {
                each_kernel(yes, f);
                each_kernel(no, f);
            }
            Step::While { test, body, .. } => {
                each_kernel(test, f);
                each_kernel(body, f);
            }
            _ => {}
        }
    }
}
