//! Programs on a GPU, through NVIDIA's driver.
//!
//! Arrays stay in the memory of the device from step to step; the host reads single elements where it has to decide something. Sorting is done on this machine.
#![allow(unsafe_code)] // Launches.

use crate::Settings;
use crate::native::device::Device;
use crate::native::fault::Failure;
use crate::native::grid::{self, Layout};
use crate::native::pipeline::Timings;
use crate::native::plan::Plan;
use crate::native::run::{self, Memory};
use crate::native::{Input, Options, bug, unloadable};
use deckle_diag::Diagnostic;
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::Kernel;
use deckle_ir::loops::{Function, GridLaunch, RECORD};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::value::Value;
use deckle_llvm::{Compiler, Gpu, Pipeline, emit};
use deckle_runtime::Data;
use deckle_runtime::cuda::{Arg, Context, CudaError, DeviceBuffer, Module};
use deckle_runtime::{Buffer, OverBudget};
use std::sync::Arc;

impl From<CudaError> for Failure {
    fn from(e: CudaError) -> Failure {
        Failure::Bug(e.to_string())
    }
}

/// A program as PTX, which any device of its kind can run.
#[derive(Debug)]
pub struct Ptx {
    plan: Plan,
    launches: Vec<Vec<GridLaunch>>,
    layout: Layout,
    text: String,
}

impl Ptx {
    /// Compiles a function. With `text`, which an earlier call has given for the same program, there is no need for LLVM.
    ///
    /// # Errors
    /// There is no LLVM, the program does what is not supported, or Deckle has a bug.
    pub fn compile(
        program: &array::Program,
        func: Func,
        options: Options,
        gpu: &Gpu,
        text: Option<String>,
    ) -> Result<Ptx, Box<Diagnostic>> {
        let plan = Plan::new(program, func, options, &mut Timings::default())?;
        let layout = Layout::default();
        let kernels = grid::lowered(&plan, layout, None)?;
        let launches: Vec<_> = kernels.into_iter().map(|k| k.launches).collect();
        let text = match text {
            Some(text) => text,
            None => ptx(&launches, gpu).map_err(unloadable)?,
        };
        Ok(Ptx { plan, launches, layout, text })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Another layout than the usual one; the number of threads stays.
    pub fn set_layout(&mut self, layout: Layout) {
        self.layout = Layout { threads: self.layout.threads, ..layout };
    }

    /// Has the driver compile it for a device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn load(self, context: Context) -> Result<OnCuda, Box<Diagnostic>> {
        let failed = |e: CudaError| bug(e.to_string());
        let module = context.module(&self.text).map_err(failed)?;
        Ok(OnCuda { ptx: self, context, module })
    }
}

fn ptx(launches: &[Vec<GridLaunch>], gpu: &Gpu) -> Result<String, String> {
    let functions: Vec<Function> = launches.iter().flatten().flat_map(GridLaunch::functions).cloned().collect();
    let compiler = Compiler::host().map_err(|e| e.to_string())?;
    compiler.ptx(&emit::nvptx(&functions), gpu, Pipeline::O3).map_err(|e| e.to_string())
}

/// A program on a device.
#[derive(Debug)]
pub struct OnCuda {
    ptx: Ptx,
    context: Context,
    module: Module,
}

impl OnCuda {
    /// Runs it.
    ///
    /// # Errors
    /// What the program's data does wrong, a limit that is passed, or what the driver says.
    pub fn run(&self, args: &[Value], settings: &Settings) -> Result<Value, Box<Diagnostic>> {
        let device = Cuda { on: self, settings };
        run::run(&self.ptx.plan, &device, args, settings).map_err(|f| f.report(&self.ptx.plan.program))
    }

    /// Runs it on buffers of this machine: one value for each parameter, and one result.
    ///
    /// # Errors
    /// As [`OnCuda::run`], and arguments that are not of the shape of their parameters.
    pub fn call(&self, args: Vec<Data>, settings: &Settings) -> Result<Data, Box<Diagnostic>> {
        let device = Cuda { on: self, settings };
        run::stream(&self.ptx.plan, &device, args.into_iter().map(Input::Data).collect(), None, settings)
            .map_err(|f| f.report(&self.ptx.plan.program))
    }
}

struct Cuda<'a> {
    on: &'a OnCuda,
    settings: &'a Settings,
}

impl Device for Cuda<'_> {
    type Mem = Arc<DeviceBuffer>;

    fn is_checked(&self) -> bool {
        self.settings.pool.is_checked()
    }

    fn alloc(&self, bytes: usize, name: &str) -> Result<Self::Mem, Failure> {
        Ok(Arc::new(self.new_memory(bytes, name)?))
    }

    fn put(&self, buffer: Buffer) -> Result<Self::Mem, Failure> {
        Ok(Arc::new(self.on.context.alloc_from(buffer.as_slice::<u8>())?))
    }

    fn get(&self, mem: &Self::Mem) -> Result<Buffer, Failure> {
        let mut bytes = vec![0u8; mem.len()];
        mem.copy_out(0, &mut bytes)?;
        Ok(self.settings.pool.alloc_from(&bytes, "a copy")?)
    }

    fn element(&self, mem: &Self::Mem, ty: ScalarType, at: usize) -> Result<Scalar, Failure> {
        let size = ty.bytes();
        let mut word = [0u8; 8];
        if (at + 1) * size <= mem.len() {
            mem.copy_out(at * size, &mut word[..size])?;
        }
        Ok(Scalar::from_bits(ty, u64::from_le_bytes(word)))
    }

    fn copy(&self, mem: &Self::Mem, bytes: usize, name: &str) -> Result<Self::Mem, Failure> {
        let mut contents = vec![0u8; bytes.min(mem.len())];
        mem.copy_out(0, &mut contents)?;
        let mut new = self.new_memory(bytes, name)?;
        new.copy_in(0, &contents)?;
        Ok(Arc::new(new))
    }

    fn run(&self, memory: &Memory<'_, Self>, _: &Kernel, at: usize) -> Result<bool, Failure> {
        for launch in &self.on.ptx.launches[at] {
            if self.launch(memory, launch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn diagnose(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize) -> Result<Failure, Failure> {
        grid::diagnose(memory, kernel, at, self.on.ptx.plan.contract)
    }
}

impl Cuda<'_> {
    /// New memory. Where the device has no more, the error names the array.
    fn new_memory(&self, bytes: usize, name: &str) -> Result<DeviceBuffer, Failure> {
        match self.on.context.alloc(bytes) {
            Err(CudaError::Driver { name: what, .. }) if what == "CUDA_ERROR_OUT_OF_MEMORY" => {
                let (free, all) = self.on.context.memory()?;
                let what = name.to_string();
                Err(OverBudget { what, asked: bytes as u64, in_use: all - free.min(all), budget: Some(all) }.into())
            }
            other => Ok(other?),
        }
    }

    /// Runs the functions of a launch; tells whether something failed.
    fn launch(&self, memory: &Memory<'_, Self>, launch: &GridLaunch) -> Result<bool, Failure> {
        let mut passed: Vec<Arc<DeviceBuffer>> = Vec::new();
        let mut elements = 0;
        for b in &launch.buffers {
            let mem = memory.buffer(*b)?;
            elements = elements.max(mem.len() / memory.program.bufs[b.index()].elem.bytes());
            passed.push(mem.clone());
        }
        let calls = grid::calls(memory, launch, self.on.ptx.layout, elements as i64)?;
        for ty in &launch.scratch {
            passed.push(self.alloc((calls.parts as usize + 1) * ty.bytes(), "a list of partial results")?);
        }
        let record = self.on.context.alloc_from(&[0u64; RECORD])?;
        let mut args: Vec<Arg<'_>> = passed.iter().map(|b| Arg::Buffer(b)).collect();
        args.extend([Arg::I64(calls.points), Arg::I64(calls.parts), Arg::Buffer(&record)]);
        for (function, grid) in &calls.all {
            let grid = u32::try_from(*grid).map_err(|_| Failure::bug("a grid that is too large"))?;
            let entry = self.on.module.function(&function.name)?;
            // SAFETY: the parameters are those that `emit::nvptx` gives every function; schedules stay within the sizes of buffers, as is tested on
            // the simulator.
            unsafe { entry.launch([grid, 1, 1], [function.block, 1, 1], 0, &args)? };
        }
        let mut failed = [0u64];
        record.copy_out(0, &mut failed)?;
        Ok(failed[0] != 0)
    }
}
