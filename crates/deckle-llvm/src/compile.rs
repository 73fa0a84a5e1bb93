//! Text in, machine code out: parse, verify, run the passes, emit.
//!
//! ```text
//! textual IR ─► Module::parse (verified) ─► Module::optimise (a Pipeline) ─► Module::emit ─► Object | assembly | PTX
//! ```
//!
//! The text needs neither a data layout nor a triple: missing ones are taken from the target and inserted before the first line, so that omitted alignments
//! are the target's, and line numbers are those of the text. Functions need no `target-cpu` or `target-features`:
//! without them they use all features of the target machine.

use crate::error::{Error, Refusal, Stage};
use crate::library::{self, Llvm};
use crate::module::{Emit, Fault, Machine, Module, Target, take_message};
use crate::object::Object;
use crate::worker::{self, Fatal};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Which passes to run, in the words of `opt -passes=`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pipeline(Cow<'static, str>);

impl Pipeline {
    /// Only what is needed to emit code.
    pub const O0: Pipeline = Pipeline(Cow::Borrowed("default<O0>"));
    /// Cheap passes only.
    pub const O1: Pipeline = Pipeline(Cow::Borrowed("default<O1>"));
    /// Most passes.
    pub const O2: Pipeline = Pipeline(Cow::Borrowed("default<O2>"));
    /// All passes.
    pub const O3: Pipeline = Pipeline(Cow::Borrowed("default<O3>"));
    /// The passes of `O3` that improve the loops of Deckle, each once; the default. Those loops have few calls and no pointers in memory, and their schedule has already done most of
    /// what `O3` tries repeatedly; the code is as fast, and compiles in two thirds of the time.
    pub const LOOPS: Pipeline = Pipeline(Cow::Borrowed(
        "inline,function(\
         sroa,early-cse<memssa>,simplifycfg,instcombine,\
         loop-mssa(loop-rotate,licm),simplifycfg,loop(indvars,loop-deletion,loop-unroll-full),\
         sroa,gvn,loop-mssa(licm),\
         loop-vectorize,slp-vectorizer,vector-combine,instcombine,simplifycfg,\
         loop-unroll<O3>,sroa,loop-mssa(licm))",
    ));

    /// Any pipeline, `"function(sroa,instcombine)"` for example. An invalid one is rejected at first use.
    pub fn new(passes: impl Into<Cow<'static, str>>) -> Pipeline {
        Pipeline(passes.into())
    }

    /// The text that is passed to LLVM.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text for an LLVM version. Since version 18 an explicitly named `instcombine` must reach a fixed point in its one round, or compilation is aborted.
    fn text(&self, llvm: &Llvm) -> Cow<'_, str> {
        match llvm.version.0 {
            ..18 => Cow::Borrowed(&self.0),
            _ => Cow::Owned(self.0.replace("instcombine,", "instcombine<no-verify-fixpoint>,")),
        }
    }

    /// The optimisation level of instruction selection, 0 to 3.
    fn level(&self) -> i32 {
        let level = |n: &i32| self.0.contains(&format!("<O{n}>"));
        (0..=3).find(level).unwrap_or(3)
    }
}

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline::LOOPS
    }
}

/// The machine that this process runs on, as LLVM names it.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub triple: String,
    pub cpu: String,
    pub features: String,
}

/// The host; queried once.
pub(crate) fn host(llvm: &Llvm) -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| Host::ask(llvm))
}

/// To increment memory, `inc` takes three of a core's slots and `add` two: a loop that counts keys issues little else, and is an eighth faster.
const NO_INCREMENTS: &str = ",+slow-incdec";

impl Host {
    #[allow(unsafe_code)]
    fn ask(llvm: &Llvm) -> Host {
        let api = &llvm.api;
        // SAFETY: the three functions take no arguments and return strings that are ours.
        let (triple, cpu, features) =
            unsafe { ((api.LLVMGetDefaultTargetTriple)(), (api.LLVMGetHostCPUName)(), (api.LLVMGetHostCPUFeatures)()) };
        let (triple, cpu) = (take_message(api, triple), take_message(api, cpu));
        let mut features = take_message(api, features);
        if cfg!(target_arch = "x86_64") {
            features.push_str(NO_INCREMENTS);
        }
        Host { triple, cpu, features }
    }

    fn target<'a>(&'a self, pipeline: &Pipeline) -> Target<'a> {
        Target { triple: &self.triple, cpu: &self.cpu, features: &self.features, level: pipeline.level() }
    }
}

/// Machine code for the host.
pub(crate) fn object(ir: &str, pipeline: &Pipeline) -> Result<Object, Error> {
    let pipeline = pipeline.clone();
    on_worker(ir, move |llvm, ir| {
        let (module, machine) = optimised(llvm, ir, &host(llvm).target(&pipeline), &pipeline)?;
        let functions = module.functions();
        Ok(Object { functions, bytes: module.emit(&machine, Emit::Object)? })
    })
}

/// The text of the module after the passes, for the host.
pub(crate) fn optimised_ir(ir: &str, pipeline: &Pipeline) -> Result<String, Error> {
    let pipeline = pipeline.clone();
    on_worker(ir, move |llvm, ir| Ok(optimised(llvm, ir, &host(llvm).target(&pipeline), &pipeline)?.0.text()))
}

/// Assembly for the host.
pub(crate) fn assembly(ir: &str, pipeline: &Pipeline) -> Result<String, Error> {
    let pipeline = pipeline.clone();
    on_worker(ir, move |llvm, ir| emit_text(llvm, ir, &host(llvm).target(&pipeline), &pipeline))
}

/// Assembly for any target.
pub(crate) fn emit_text(llvm: &Llvm, ir: &str, target: &Target<'_>, pipeline: &Pipeline) -> Result<String, Fault> {
    let (module, machine) = optimised(llvm, ir, target, pipeline)?;
    let text = module.emit(&machine, Emit::Assembly)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn optimised<'a>(
    llvm: &'a Llvm,
    ir: &str,
    target: &Target<'_>,
    pipeline: &Pipeline,
) -> Result<(Module<'a>, Machine<'a>), Fault> {
    let machine = Machine::new(&llvm.api, target)?;
    let module = Module::parse(&llvm.api, &with_target(ir, target.triple, &machine))?;
    module.optimise(&machine, &pipeline.text(llvm))?;
    Ok((module, machine))
}

/// The text with a missing layout or triple added on its first line.
fn with_target<'a>(ir: &'a str, triple: &str, machine: &Machine<'_>) -> Cow<'a, str> {
    let has = |what: &str| {
        let is = |line: &str| {
            line.trim_start().strip_prefix("target").is_some_and(|rest| rest.trim_start().starts_with(what))
        };
        ir.lines().any(is)
    };
    let mut front = String::new();
    if !has("datalayout") {
        front += &format!("target datalayout = \"{}\" ", machine.layout());
    }
    if !has("triple") {
        front += &format!("target triple = \"{triple}\" ");
    }
    if front.is_empty() { Cow::Borrowed(ir) } else { Cow::Owned(front + ir) }
}

/// Runs a job in LLVM on a thread of its own and adds the text to its errors.
pub(crate) fn on_worker<T: Send + 'static>(
    ir: &str,
    job: impl FnOnce(&'static Llvm, &str) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Error> {
    let llvm = library::open()?;
    let ir: Arc<str> = ir.into();
    let text = ir.clone();
    let (stage, message) = match worker::run(llvm, move || job(llvm, &text)) {
        Ok(Ok(result)) => return Ok(result),
        Ok(Err(fault)) => fault,
        Err(Fatal { stage, message }) => (stage, message),
    };
    Err(refused(stage, message, ir))
}

/// Opens LLVM on another thread and compiles a trivial module, so that its pages are in memory when they are needed.
pub(crate) fn prepare() {
    worker::in_background(|| drop(object("define void @nothing() { ret void }", &Pipeline::LOOPS)));
}

/// The error for rejected code.
pub(crate) fn refused(stage: Stage, message: String, ir: Arc<str>) -> Error {
    Error::Refused(Box::new(Refusal { stage, message, ir }))
}
