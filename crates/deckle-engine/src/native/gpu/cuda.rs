//! NVIDIA's driver as a [`Port`].
#![allow(unsafe_code)] // Launches, and copies that go on while the host does.

use crate::native::gpu::port::{Lane, Launching, Port, PortError, Ported};
use crate::native::{bug, unloadable};
use deckle_diag::Diagnostic;
use deckle_ir::loops::Function;
use deckle_llvm::{Compiler, DiskCache, Gpu, Pipeline, emit};
use deckle_runtime::cuda::{
    self, Arg, Context, CudaError, DeviceBuffer, Event, LEAST_CAPABILITY, Module, Pinned, Stream,
};
use std::collections::HashMap;
use std::ops::Range;

/// The capabilities that PTX is made for, with what every LLVM from 16 on can write.
const KNOWN: [(u32, u32); 6] = [LEAST_CAPABILITY, (7, 5), (8, 0), (8, 6), (8, 9), (9, 0)];

impl From<CudaError> for PortError {
    fn from(e: CudaError) -> PortError {
        match e {
            e if e.is_out_of_memory() => PortError::OutOfMemory,
            e if e.is_of_kernel() => PortError::Kernel(format!("a kernel failed: {e}")),
            e if e.is_of_device() => PortError::Lost(e.to_string()),
            e => PortError::Refused(e.to_string()),
        }
    }
}

/// A device of the driver, and its lanes.
#[derive(Debug)]
pub(crate) struct CudaPort {
    // Fields are dropped in order: the streams before their context.
    stream: Stream,
    ahead: Stream,
    context: Context,
}

impl CudaPort {
    pub(super) fn new(context: Context) -> Result<CudaPort, CudaError> {
        Ok(CudaPort { stream: context.stream()?, ahead: context.stream()?, context })
    }

    fn stream(&self, lane: Lane) -> &Stream {
        match lane {
            Lane::Compute => &self.stream,
            Lane::Ahead => &self.ahead,
        }
    }

    /// What kernels are compiled for: the newest capability that the device has and every LLVM knows. The driver compiles PTX for the device that it is.
    fn target(&self) -> Gpu {
        let has = self.context.info().compute_capability;
        let (major, minor) = KNOWN.into_iter().rev().find(|known| *known <= has).unwrap_or(LEAST_CAPABILITY);
        Gpu::new(major, minor)
    }

    /// Compiles and loads kernels; with PTX that was made of them elsewhere, without LLVM.
    pub(super) fn load(&self, kernels: &[Function], ptx: Option<&str>) -> Result<Loaded, Box<Diagnostic>> {
        let made;
        let ptx = match ptx {
            Some(ptx) => ptx,
            None => {
                made = self::ptx(kernels, &self.target())?;
                &made
            }
        };
        let refused = |e: CudaError| bug(e.to_string());
        let module = self.module(ptx).map_err(refused)?;
        let entry = |f: &Function| Ok((f.name.clone(), module.function(&f.name)?));
        let entries = kernels.iter().map(entry).collect::<Result<_, CudaError>>().map_err(refused)?;
        Ok(Loaded { entries, _module: module })
    }
}

impl CudaPort {
    /// Has the driver compile PTX, unless it has in an earlier process.
    fn module(&self, ptx: &str) -> Result<Module, CudaError> {
        let (target, (major, minor)) = (self.target(), self.context.driver_version()?);
        let (disk, driver) = (DiskCache::from_env(), format!("CUDA {major}.{minor}"));
        if let Some(image) = disk.as_ref().and_then(|disk| disk.binary(ptx, &target, &driver)) {
            // SAFETY: the cache gives what was put there, below.
            match unsafe { self.context.module(&image) } {
                Err(CudaError::Module { .. } | CudaError::Driver { .. }) => {}
                loaded => return loaded,
            }
        }
        let image = self.context.binary(ptx)?;
        // SAFETY: the driver has just made the binary.
        let module = unsafe { self.context.module(&image)? };
        if let Some(disk) = disk {
            disk.keep_binary(ptx, &target, &driver, &image);
        }
        Ok(module)
    }
}

/// PTX for kernels.
pub(in crate::native) fn ptx(kernels: &[Function], target: &Gpu) -> Result<String, Box<Diagnostic>> {
    let compiler = Compiler::host().map_err(|e| unloadable(e.to_string()))?;
    compiler.ptx(&emit::nvptx(kernels), target, Pipeline::O3).map_err(|e| unloadable(e.to_string()))
}

/// Kernels by name.
#[derive(Debug)]
pub(crate) struct Loaded {
    entries: HashMap<String, cuda::Function>,
    _module: Module,
}

impl Port for CudaPort {
    type Mem = DeviceBuffer;
    type Pinned = Pinned;
    type Event = Event;
    type Code = Loaded;

    fn name(&self) -> String {
        self.context.info().name.clone()
    }

    fn alloc(&self, bytes: usize) -> Ported<DeviceBuffer> {
        Ok(self.context.alloc(bytes)?)
    }

    fn pinned(&self, bytes: usize) -> Ported<Pinned> {
        Ok(self.context.pinned(bytes)?)
    }

    fn bytes<'a>(&self, pinned: &'a mut Pinned, range: Range<usize>) -> Ported<&'a mut [u8]> {
        let outside = || PortError::Refused(format!("bytes {range:?} are not within page-locked memory"));
        pinned.bytes_mut().get_mut(range.clone()).ok_or_else(outside)
    }

    fn copy_in(&self, lane: Lane, to: &DeviceBuffer, at: usize, from: (&Pinned, usize), bytes: usize) -> Ported<()> {
        // SAFETY: what the trait asks of the caller.
        unsafe { self.stream(lane).copy_in(to, at, from, bytes) }.map_err(PortError::from)
    }

    fn copy_out(&self, from: &DeviceBuffer, at: usize, to: (&mut Pinned, usize), bytes: usize) -> Ported<()> {
        // SAFETY: what the trait asks of the caller.
        unsafe { self.stream.copy_out(from, at, to, bytes) }.map_err(PortError::from)
    }

    fn copy(&self, from: &DeviceBuffer, to: &DeviceBuffer, bytes: usize) -> Ported<()> {
        Ok(self.stream.copy(from, to, bytes)?)
    }

    fn zero(&self, to: &DeviceBuffer, bytes: usize) -> Ported<()> {
        Ok(self.stream.fill(to, bytes, 0)?)
    }

    fn launch(&self, code: &Loaded, launching: &Launching<'_, CudaPort>) -> Ported<()> {
        let Launching { function, grid, buffers, scalars, records, record } = launching;
        let refused = |what: &str| PortError::Refused(format!("{what} `{}`", function.name));
        let grid = u32::try_from(*grid).map_err(|_| refused("a grid that is too large, for"))?;
        let entry = code.entries.get(&function.name).ok_or_else(|| refused("no code for"))?;
        let mut args: Vec<Arg<'_>> = buffers.iter().map(|(mem, _)| Arg::Buffer(mem)).collect();
        args.extend(scalars.iter().copied().map(Arg::I64));
        args.push(Arg::Address(records.address() + 8 * (*record as u64 + 1)));
        // SAFETY: the parameters are those that `emit::nvptx` gives every function; schedules stay within the sizes of buffers, as is tested on
        // the simulator.
        unsafe { entry.launch(&self.stream, [grid, 1, 1], [function.block, 1, 1], 0, &args) }.map_err(PortError::from)
    }

    fn record(&self, lane: Lane) -> Ported<Event> {
        Ok(self.stream(lane).record()?)
    }

    fn wait(&self, lane: Lane, event: &Event) -> Ported<()> {
        Ok(self.stream(lane).wait(event)?)
    }

    fn is_past(&self, event: &Event) -> Ported<bool> {
        Ok(event.is_past()?)
    }

    fn seconds(&self, from: &Event, to: &Event) -> Ported<f64> {
        Ok(to.seconds_since(from)?)
    }
}
