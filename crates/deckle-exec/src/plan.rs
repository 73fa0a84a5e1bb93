//! A program with its steps, before there is code for a device.

use crate::Options;
use deckle_diag::Diagnostic;
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Buf, Kernel, Rep, Rows, Step};
use deckle_ir::types::Type;
use deckle_passes::flatten::{self, flatten};
use deckle_passes::simplify::simplify;
use std::collections::HashSet;

/// What every device needs to know of a program.
#[derive(Debug)]
pub(crate) struct Plan {
    pub program: kernel::Program,
    pub result_ty: Type,
    pub param_names: Vec<String>,
    /// For each outermost step the buffers that nothing needs after it.
    pub last_uses: Vec<Vec<Buf>>,
}

impl Plan {
    /// Simplifies and flattens a function.
    pub(crate) fn new(program: &array::Program, func: Func, options: Options) -> Result<Plan, Box<Diagnostic>> {
        let simple;
        let program = if options.simplify {
            simple = simplify(program);
            &simple
        } else {
            program
        };
        let flat = flatten(program, func, flatten::Options { fuse: options.fuse })?;
        let function = &program.funcs[func.index()];
        let result_ty = function.ty(function.body(array::Function::ROOT).result).clone();
        let last_uses = last_uses(&flat);
        Ok(Plan { program: flat, result_ty, param_names: function.param_names.clone(), last_uses })
    }

    /// Something made of every kernel, in the order of the text, given its number.
    pub(crate) fn kernels<T>(&self, f: &mut dyn FnMut(&Kernel, usize) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        each_kernel(&self.program.steps, &mut |kernel| all.push(f(kernel, all.len())));
        all.into_iter().collect()
    }
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

/// The buffers that each outermost step is the last to need.
fn last_uses(program: &kernel::Program) -> Vec<Vec<Buf>> {
    let mut last = vec![None; program.bufs.len()];
    for (i, step) in program.steps.iter().enumerate() {
        let mut used = HashSet::new();
        buffers_of(program, step, &mut used);
        used.iter().for_each(|b| last[b.index()] = Some(i));
    }
    let mut kept = HashSet::new();
    rep_buffers(program, &program.result, &mut kept);
    let mut uses = vec![Vec::new(); program.steps.len()];
    for (b, at) in last.iter().enumerate() {
        if let Some(i) = at
            && !kept.contains(&Buf(b as u32))
        {
            uses[*i].push(Buf(b as u32));
        }
    }
    uses
}

fn node_buffers(program: &kernel::Program, nodes: &[kernel::Node], used: &mut HashSet<Buf>) {
    for n in program.needs(nodes) {
        if let kernel::Op::Load(b, _) = program.node(n).op {
            used.insert(b);
        }
    }
}

fn rep_buffers(program: &kernel::Program, rep: &Rep, used: &mut HashSet<Buf>) {
    match rep {
        Rep::Scalar(b) => drop(used.insert(*b)),
        Rep::Tuple(parts) => parts.iter().for_each(|p| rep_buffers(program, p, used)),
        Rep::Array(rows, elem) => {
            match rows {
                Rows::Equal(n) => node_buffers(program, &[*n], used),
                Rows::Offsets(b) => drop(used.insert(*b)),
            }
            rep_buffers(program, elem, used);
        }
    }
}

fn buffers_of(program: &kernel::Program, step: &Step, used: &mut HashSet<Buf>) {
    match step {
        Step::Alloc(b, n) => {
            used.insert(*b);
            node_buffers(program, &[*n], used);
        }
        Step::Check(n) => node_buffers(program, &[*n], used),
        Step::Run(kernel) => {
            for sink in &kernel.sinks {
                let nodes: Vec<kernel::Node> = program.sink_needs(sink).into_iter().collect();
                node_buffers(program, &nodes, used);
                match sink {
                    kernel::Sink::Write { buf, .. } => drop(used.insert(*buf)),
                    kernel::Sink::Scatter { bufs, .. } => used.extend(bufs),
                    kernel::Sink::Check(_) => {}
                }
            }
        }
        Step::Sort { order, keys, len, offsets, rows } => {
            used.insert(*order);
            used.extend(keys);
            used.extend(offsets);
            node_buffers(program, &[*len, *rows], used);
        }
        Step::Bind(pairs) => pairs.iter().for_each(|(a, b)| used.extend([*a, *b])),
        Step::Own(a, b, n) => {
            used.extend([*a, *b]);
            node_buffers(program, &[*n], used);
        }
        Step::If(c, yes, no) => {
            node_buffers(program, &[*c], used);
            yes.iter().chain(no).for_each(|s| buffers_of(program, s, used));
        }
        Step::While { test, cond, body } => {
            node_buffers(program, &[*cond], used);
            test.iter().chain(body).for_each(|s| buffers_of(program, s, used));
        }
    }
}
