//! GPUs: copies and launches are enqueued, and the host waits only for values that it needs.
//!
//! | file | what it has |
//! |---|---|
//! | `port.rs` | the interface to a device: [`port::Port`] |
//! | `cuda.rs`, `simulator.rs` | NVIDIA's driver and the simulator as ports |
//! | `overlap.rs` | finds missing waits, in the simulator |
//! | `pool.rs` | the caching allocator, with a budget |
//! | `memory.rs` | arrays on the device, and staged copies |
//! | `feed.rs` | copies of the next chunk while kernels run |
//! | `kept.rs` | results that stay on the device |
//! | `compiled.rs` | compiled programs, and the repetition of runs that fail |
//! | `sort.rs` | sorting |
//! | `run.rs` | runs: the [`Device`](crate::native::device::Device) |
//!
//! # Failures
//! Kernels are enqueued without waiting for the previous one. A check that fails sets a word of the run, and every later kernel does nothing: see
//! [`port::Launching`]. The host reads the word whenever it waits for a number or a result, and at the end. If a check has failed, the run is
//! repeated from its arguments with a wait after each kernel, to find the first failure and its operands. A run with streams cannot be repeated. There the
//! host looks once in each round of a stream, which is repeated in smaller chunks if it fails ([`again`](crate::native::again)), and waits after each
//! kernel elsewhere.

mod compiled;
mod cuda;
mod feed;
mod kept;
mod memory;
mod overlap;
mod pool;
mod port;
mod run;
mod simulator;
mod sort;

pub(crate) use compiled::{OnUnit, Taken};
pub use kept::Kept;
pub(crate) use kept::{KeptForm, Remote};
pub use pool::PoolStats;
pub use run::Traffic;
pub use simulator::{Simulated, Simulator};

use crate::native::fault::Failure;
use crate::native::grid::Layout;
use crate::native::{Input, Options};
use crate::settings::Settings;
use cuda::CudaPort;
pub(in crate::native) use cuda::ptx;
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::schedule::Schedule;
use deckle_runtime::OverBudget;
use deckle_runtime::cuda::{Cuda, CudaError};
use deckle_runtime::stream::Sink;
use memory::Staging;
use pool::{NoMemory, Pool};
use port::{Lane, Port, PortError, Ported};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The default budget, in percent of the memory that is free when the device is opened. The rest is for code and for other programs.
const SHARE: u64 = 90;
/// A wait polls this many times without a pause. Then the thread sleeps between polls.
const LOOKS: u32 = 2000;
/// The first and the longest sleep.
const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];
/// How long to wait for a device to become idle before its memory is freed.
const REST: Duration = Duration::from_secs(1);

/// A device with its memory.
#[derive(Debug)]
pub(crate) struct Unit<P: Port> {
    id: u64,
    port: P,
    pool: Pool<P>,
    inward: Mutex<Staging<P>>,
    ahead: Mutex<Staging<P>>,
    outward: Mutex<Staging<P>>,
    /// Why the device has failed.
    lost: OnceLock<PortError>,
}

impl<P: Port> Unit<P> {
    /// A device with a budget in bytes.
    pub(crate) fn new(port: P, budget: u64) -> Arc<Unit<P>> {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Arc::new(Unit {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            port,
            pool: Pool::new(budget),
            inward: Mutex::default(),
            ahead: Mutex::default(),
            outward: Mutex::default(),
            lost: OnceLock::new(),
        })
    }

    /// The result of a call of the port. A device that is lost stays lost.
    fn ask<T>(&self, given: Ported<T>) -> Result<T, Failure> {
        given.map_err(|e| {
            if matches!(e, PortError::Lost(_) | PortError::Kernel(_)) {
                let _ = self.lost.set(e.clone());
            }
            self.failure(e)
        })
    }

    fn failure(&self, e: PortError) -> Failure {
        match e {
            PortError::Lost(why) => Failure::Lost(format!("{}: {why}", self.port.name())),
            PortError::Steps(message) => Failure::Steps(message),
            PortError::Kernel(message) | PortError::Refused(message) => Failure::Bug(message),
            PortError::OutOfMemory => {
                let (what, asked, in_use) = ("the driver".into(), 0, self.pool.stats().in_use);
                Failure::DeviceMemory(OverBudget { what, asked, in_use, budget: None }, Span::NONE)
            }
        }
    }

    /// An error if the device has failed.
    fn works(&self) -> Result<(), Failure> {
        match self.lost.get() {
            Some(e) => Err(self.failure(e.clone())),
            None => Ok(()),
        }
    }

    /// Waits for an event by polling, so that a kernel that does not terminate can be interrupted and a lost device is noticed.
    fn wait(&self, event: &P::Event, interrupt: &AtomicBool) -> Result<(), Failure> {
        let (mut looks, mut nap) = (0, NAPS[0]);
        while !self.ask(self.port.is_past(event))? {
            if interrupt.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                std::thread::sleep(nap);
                nap = (2 * nap).min(NAPS[1]);
            }
        }
        Ok(())
    }

    fn alloc(&self, bytes: usize, what: &str) -> Result<(P::Mem, usize), Failure> {
        self.pool.alloc(&self.port, bytes, what).map_err(|e| match e {
            NoMemory::Over(e) => Failure::DeviceMemory(e, Span::NONE),
            NoMemory::Port(e) => match self.ask::<()>(Err(e)) {
                Err(failure) => failure,
                Ok(()) => Failure::bug("an error that is none"),
            },
        })
    }
}

impl<P: Port> Drop for Unit<P> {
    fn drop(&mut self) {
        let begun = Instant::now();
        let is_idle = |lane| self.port.record(lane).and_then(|end| self.port.is_past(&end));
        let rests = || loop {
            match is_idle(Lane::Ahead).and_then(|is| Ok(is && is_idle(Lane::Compute)?)) {
                Ok(true) => return true,
                Ok(false) if begun.elapsed() < REST => std::thread::sleep(NAPS[0]),
                _ => return false,
            }
        };
        if rests() {
            for staging in [&mut self.inward, &mut self.ahead, &mut self.outward] {
                staging.get_mut().unwrap_or_else(PoisonError::into_inner).rest();
            }
        } else {
            // Freeing memory that the device uses would block.
            self.pool.leak();
        }
    }
}

/// A GPU with a memory budget. Clones are handles of the same device.
#[derive(Clone, Debug)]
pub struct Gpu(Which);

#[derive(Clone, Debug)]
enum Which {
    Cuda(Arc<Unit<CudaPort>>),
    Simulated(Arc<Unit<Simulator>>),
}

/// The same expression for either kind of device.
macro_rules! either {
    ($which:expr, $unit:ident => $body:expr) => {
        match $which {
            Which::Cuda($unit) => $body,
            Which::Simulated($unit) => $body,
        }
    };
}

impl Gpu {
    /// Opens NVIDIA's driver and a device by its number. `memory` is the budget in bytes; the default is most of the free memory.
    ///
    /// # Errors
    /// There is no driver, an old one, no such device, or one that is too old.
    pub fn open(device: usize, memory: Option<u64>) -> Result<Gpu, Box<Diagnostic>> {
        let context = Cuda::open().and_then(|cuda| cuda.context(device)).map_err(unavailable)?;
        let free = context.memory().map_err(unavailable)?.0;
        let port = CudaPort::new(context).map_err(unavailable)?;
        Ok(Gpu(Which::Cuda(Unit::new(port, memory.unwrap_or(free / 100 * SHARE)))))
    }

    /// The simulator of GPUs, for tests.
    #[doc(hidden)]
    pub fn simulated(simulator: Simulator, memory: Option<u64>) -> Gpu {
        let memory = memory.unwrap_or(simulator.bytes());
        Gpu(Which::Simulated(Unit::new(simulator, memory)))
    }

    /// The name of the device.
    pub fn name(&self) -> String {
        either!(&self.0, unit => unit.port.name())
    }

    /// Its memory.
    pub fn memory(&self) -> PoolStats {
        either!(&self.0, unit => unit.pool.stats())
    }

    /// Identifies the device.
    pub(crate) fn id(&self) -> u64 {
        either!(&self.0, unit => unit.id)
    }

    pub(crate) fn compile(
        &self,
        (program, func): (&array::Program, Func),
        options: Options,
        given: Option<&Schedule>,
        ptx: Option<&str>,
    ) -> Result<OnGpu, Box<Diagnostic>> {
        let layout = Layout::default();
        Ok(match &self.0 {
            Which::Cuda(unit) => {
                let load = |kernels: &_| CudaPort::load(&unit.port, kernels, ptx);
                OnGpu::Cuda(OnUnit::compile(unit.clone(), (program, func), options, layout, given, &load)?)
            }
            Which::Simulated(unit) => {
                OnGpu::Simulated(OnUnit::compile(unit.clone(), (program, func), options, layout, given, &|_| Ok(()))?)
            }
        })
    }
}

const DOCTOR: &str = "`deckle doctor` prints what was found; without `--on gpu` the program runs on all cores";

/// No GPU can be used.
fn unavailable(e: CudaError) -> Box<Diagnostic> {
    Box::new(match &e {
        CudaError::Unavailable(_) => Diagnostic::nowhere(Code::NoGpu, e.to_string()).help(DOCTOR),
        _ => Diagnostic::nowhere(Code::NoGpu, format!("no GPU can be used: {e}")).help(DOCTOR),
    })
}

/// A program compiled for a GPU.
#[derive(Debug)]
pub(crate) enum OnGpu {
    Cuda(OnUnit<CudaPort>),
    Simulated(OnUnit<Simulator>),
}

impl OnGpu {
    /// Runs it; the result comes back, or stays if that is asked for.
    pub(crate) fn run(
        &self,
        args: Vec<Input>,
        sink: Option<Box<dyn Sink>>,
        keep: bool,
        settings: &Settings,
    ) -> (Result<Taken, Box<Diagnostic>>, Traffic) {
        match self {
            OnGpu::Cuda(on) => on.run(args, sink, keep, settings),
            OnGpu::Simulated(on) => on.run(args, sink, keep, settings),
        }
    }

    /// How many kernels there are, in all branches and loops.
    pub(crate) fn kernels(&self) -> usize {
        match self {
            OnGpu::Cuda(on) => on.kernels(),
            OnGpu::Simulated(on) => on.kernels(),
        }
    }
}
