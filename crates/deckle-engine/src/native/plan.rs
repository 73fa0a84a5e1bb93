//! A program with its steps, before there is code for a device.

use crate::native::Options;
use crate::native::pipeline::Timings;
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Buf, Rep};
use deckle_ir::types::Type;
use deckle_lower::chunk::Whole;
use deckle_lower::cuts::Cuts;
use deckle_lower::pipeline::{self, Kernels, kernels};

/// What every device needs to know of a program.
#[derive(Debug)]
pub(crate) struct Plan {
    pub program: kernel::Program,
    pub result_ty: Type,
    pub name: String,
    pub param_names: Vec<String>,
    /// Where each parameter stands in the source.
    pub param_spans: Vec<Span>,
    /// Of parameters that are square, the size of both sides, as the source has it.
    pub square: Vec<Option<String>>,
    /// Of the parameters that the caller gives.
    pub param_types: Vec<Type>,
    /// Which of them are sequences that come bit by bit.
    pub pulled: Vec<bool>,
    /// For each sequence in the result, in order, the number of the push by which it is handed over.
    pub pushes: Vec<u32>,
    /// The parameters that the caller does not give: for the elements of a chunk, and for those that are traversed at once inside elements, if there are chunks.
    pub sizes: Option<[Buf; 2]>,
    /// Why sequences are not traversed in chunks, if they should be.
    pub whole: Option<Whole>,
    pub cuts: Cuts,
    /// Whether folds round the products that they add only once.
    pub contract: bool,
}

/// The size of both sides of a square matrix, as the source has it.
fn side(function: &array::Function, ty: &Type) -> Option<String> {
    let (Type::Array(rows), Some(Type::Array(row))) = (ty, ty.elem()) else { return None };
    if rows.size.determines().is_none() || row.size != rows.size {
        return None;
    }
    function.readable(&rows.size)
}

impl Plan {
    /// Takes a function through the pipeline up to its kernels and their memory.
    pub(crate) fn new(
        program: &array::Program,
        func: Func,
        options: Options,
        timings: &mut Timings,
    ) -> Result<Plan, Box<Diagnostic>> {
        let Options { simplify, branches, fuse, chunks, given, cuts, .. } = options;
        let lowering = pipeline::Options { simplify, branches, fuse, chunks, given, cuts };
        let kernels = kernels(program, func, lowering, &mut timings.passes)?;
        let Kernels { program: flat, function, pushes, chunked } = kernels;
        let original = &program.funcs[func.index()];
        let param_types: Vec<Type> = original.params().iter().map(|p| original.ty(*p).clone()).collect();
        let mut pulled = vec![false; flat.params.len()];
        flat.streams().iter().flat_map(|s| &s.sources).for_each(|k| pulled[*k as usize] = true);
        let (sizes, whole) = match chunked {
            Ok(Some(sizes)) => (Some([scalar(&flat, sizes.chunk)?, scalar(&flat, sizes.inside)?]), None),
            Ok(None) => (None, None),
            Err(why) => (None, Some(why)),
        };
        Ok(Plan {
            program: flat,
            result_ty: original.result_type().clone(),
            name: original.name.clone(),
            param_names: function.param_names.clone(),
            square: original.params().iter().map(|p| side(original, original.ty(*p))).collect(),
            param_spans: original.params().iter().map(|p| original.span(*p)).collect(),
            param_types,
            pulled,
            pushes,
            sizes,
            whole,
            cuts: options.cuts,
            contract: options.contract,
        })
    }

    /// The type of the result that a push hands over.
    pub(crate) fn pushed_type(&self, number: u32) -> Option<&Type> {
        let mut all = Vec::new();
        sequences(&self.result_ty, &mut all);
        all.into_iter().zip(&self.pushes).find(|(_, k)| **k == number).map(|(ty, _)| ty)
    }
}

/// The sequences in a type, in order.
fn sequences<'t>(ty: &'t Type, all: &mut Vec<&'t Type>) {
    match ty {
        Type::Seq(_) => all.push(ty),
        _ => ty.parts().unwrap_or_default().into_iter().for_each(|t| sequences(t, all)),
    }
}

/// The buffer of a parameter that is a scalar.
fn scalar(program: &kernel::Program, param: usize) -> Result<Buf, Box<Diagnostic>> {
    match program.params.get(param) {
        Some(Rep::Scalar(b)) => Ok(*b),
        _ => {
            let message = format!("plan: parameter {param} is the size of a chunk, and no scalar");
            Err(Box::new(Diagnostic::nowhere(Code::Internal, message)))
        }
    }
}
