//! Programs as native code.
//!
//! [`Native::compile`] takes a function of a program through all stages: simplify, flatten, schedule, code. [`Native::run`] then runs it on values, any number
//! of times, on the threads and within the memory of its [`Settings`].
#![allow(unsafe_code)] // Entry points are pointers into compiled code.

mod data;
mod fault;
mod host;
mod run;

pub use data::Data;

use deckle_diag::{Code as ErrorCode, Diagnostic};
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Buf, Kernel, Rep, Rows, Step};
use deckle_ir::loops::{Function, Launch};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_llvm::{Code, Compiler, Pipeline};
use deckle_passes::flatten::{self, flatten};
use deckle_passes::schedule::schedule;
use deckle_passes::simplify::simplify;
use deckle_runtime::{Pool, Team};
use std::collections::HashSet;
use std::sync::Arc;

/// How to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether arrays are computed where they are used.
    pub fuse: bool,
    /// Whether the program is simplified first.
    pub simplify: bool,
    /// Whether code is made quickly rather than well.
    pub quick: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { fuse: true, simplify: true, quick: false }
    }
}

/// What a run may use.
#[derive(Debug)]
pub struct Settings {
    /// The threads.
    pub team: Team,
    /// The memory.
    pub pool: Pool,
    /// The most bytes of one array.
    pub max_bytes: u64,
}

impl Settings {
    /// So many threads, and as much memory as there is, or so many bytes.
    pub fn new(threads: usize, memory: Option<u64>) -> Settings {
        Settings { team: Team::new(threads), pool: Pool::new(memory), max_bytes: 1 << 40 }
    }
}

/// A compiled function: buffers, scalars, error record.
type Entry = unsafe extern "C" fn(*const *mut u8, *const u64, *mut u64);

/// The entry points of a launch.
#[derive(Clone, Copy, Debug)]
struct Entries {
    totals: Option<Entry>,
    prefix: Option<Entry>,
    main: Entry,
    finish: Option<Entry>,
}

/// A program as native code.
#[derive(Debug)]
pub struct Native {
    program: kernel::Program,
    result_ty: Type,
    param_names: Vec<String>,
    /// For each kernel, in the order of the text.
    launches: Vec<Vec<Launch>>,
    entries: Vec<Vec<Entries>>,
    /// For each outermost step the buffers that nothing needs after it.
    last_uses: Vec<Vec<Buf>>,
    pipeline: Pipeline,
    _code: Arc<Code>,
}

fn bug(message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::nowhere(ErrorCode::Internal, message))
}

impl Native {
    /// Compiles a function.
    ///
    /// # Errors
    /// There is no LLVM, the program does what is not supported, or Deckle has a bug.
    pub fn compile(program: &array::Program, func: Func, options: Options) -> Result<Native, Box<Diagnostic>> {
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
        let mut launches = Vec::new();
        each_kernel(&flat.steps, &mut |kernel| {
            let name = format!("k{}", launches.len());
            launches.push(schedule(&flat, kernel, &name, false));
        });
        let launches: Vec<Vec<Launch>> = launches.into_iter().collect::<Result<_, _>>().map_err(bug)?;
        let pipeline = if options.quick { Pipeline::O1 } else { Pipeline::O3 };
        let (code, entries) = load(&launches, pipeline.clone()).map_err(bug)?;
        let last_uses = last_uses(&flat);
        let param_names = function.param_names.clone();
        Ok(Native { program: flat, result_ty, param_names, launches, entries, last_uses, pipeline, _code: code })
    }

    /// The kernels.
    pub fn program(&self) -> &kernel::Program {
        &self.program
    }

    /// The loops of all kernels.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.launches.iter().flatten().flat_map(Launch::functions)
    }

    /// Runs it.
    ///
    /// # Errors
    /// What the program's data does wrong, or a limit that is passed.
    pub fn run(&self, args: &[Value], settings: &Settings) -> Result<Value, Box<Diagnostic>> {
        run::run(self, args, settings).map_err(|f| f.report(&self.program))
    }

    /// Runs it on buffers: one value for each parameter, and one result.
    ///
    /// # Errors
    /// As [`Native::run`], and arguments that are not of the shape of their parameters. Sizes that types have in common are checked, those of
    /// ragged rows are not.
    pub fn call(&self, args: Vec<Data>, settings: &Settings) -> Result<Data, Box<Diagnostic>> {
        run::call(self, args, settings).map_err(|f| f.report(&self.program))
    }

    /// A kernel that records what fails.
    fn diagnosing(&self, kernel: &Kernel, at: usize) -> Result<(Vec<Launch>, Vec<Entries>), String> {
        let launches = schedule(&self.program, kernel, &format!("d{at}"), true)?;
        let (code, mut entries) = load(std::slice::from_ref(&launches), self.pipeline.clone())?;
        // Kept for good: a failure is rare.
        std::mem::forget(code);
        Ok((launches, entries.pop().unwrap_or_default()))
    }
}

fn load(launches: &[Vec<Launch>], pipeline: Pipeline) -> Result<(Arc<Code>, Vec<Vec<Entries>>), String> {
    let functions: Vec<Function> = launches.iter().flatten().flat_map(Launch::functions).cloned().collect();
    let ir = deckle_llvm::emit::host(&functions);
    let compiler = Compiler::host().map_err(|e| e.to_string())?;
    let code = compiler.load(&ir, pipeline).map_err(|e| e.to_string())?;
    let entry = |f: &Function| -> Result<Entry, String> {
        let p = code.symbol(run::symbol(f)).ok_or_else(|| format!("`{}` is not there", f.name))?;
        // SAFETY: `emit::host` gives every function this signature.
        Ok(unsafe { std::mem::transmute::<std::ptr::NonNull<std::ffi::c_void>, Entry>(p) })
    };
    let one = |l: &Launch| -> Result<Entries, String> {
        Ok(Entries {
            totals: l.totals.as_ref().map(entry).transpose()?,
            prefix: l.prefix.as_ref().map(entry).transpose()?,
            main: entry(&l.main)?,
            finish: l.finish.as_ref().map(entry).transpose()?,
        })
    };
    let entries = launches.iter().map(|k| k.iter().map(one).collect()).collect::<Result<_, _>>()?;
    Ok((code, entries))
}

fn each_kernel(steps: &[Step], f: &mut dyn FnMut(&Kernel)) {
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
