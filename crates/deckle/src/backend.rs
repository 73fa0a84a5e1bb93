//! Where programs run.
//!
//! A backend is a value: [`Interp`], [`Seq`](const@Seq), [`Cpu`], [`Gpu`](const@Gpu). Except for the first, a program is compiled once, at its first call, regardless of the number of handles to it and
//! of the number of threads; all programs share the threads and the memory, unless a program has limits of its own.

use deckle_diag::Diagnostic;
use deckle_engine::{On, Progress, Settings};
use deckle_runtime::{Pool, Team, cpu};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Where a program runs.
pub trait Backend: Copy + Send + 'static {
    /// The kind of backend.
    #[doc(hidden)]
    fn place(self) -> Result<On, Box<Diagnostic>>;

    /// The number of threads.
    #[doc(hidden)]
    fn threads(self) -> usize {
        1
    }
}

/// The reference interpreter: slow, checked, and correct by definition.
///
/// It also tests the functions of folds and scans on some of their elements: a function that is not associative gives results that depend on the grouping of elements, and is an error here.
///
/// ```
/// # use deckle::prelude::*;
/// let wrong = compile(|xs: Arr<i64>| xs.fold(0, |a, b| a - b))?.on(Interp);
/// assert!(wrong.call([1, 2, 3]).unwrap_err().to_string().contains("associative"));
/// # Ok::<(), deckle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Interp;

impl Backend for Interp {
    fn place(self) -> Result<On, Box<Diagnostic>> {
        Ok(On::Interp(deckle_engine::Interp { check_associative: true, ..Default::default() }))
    }
}

impl Interp {
    /// The interpreter with a limit on the steps of a run: endless loops become an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let halve = compile(|x: Exp<i64>| loop_while(x, |x| x.differs(1), |x| x / 2))?;
    /// let halve = halve.on(Interp.at_most(10_000));
    /// assert_eq!(halve.call(40)?, 1);
    /// assert!(halve.call(0).is_err());
    /// # Ok::<(), deckle::Error>(())
    /// ```
    pub fn at_most(self, steps: u64) -> Patient {
        Patient { steps }
    }
}

/// The reference interpreter with a limit: [`Interp::at_most`].
#[derive(Clone, Copy, Debug)]
pub struct Patient {
    steps: u64,
}

impl Backend for Patient {
    fn place(self) -> Result<On, Box<Diagnostic>> {
        Ok(On::Interp(deckle_engine::Interp { max_steps: Some(self.steps), ..Default::default() }))
    }
}

/// Native code on all cores that this process may use.
///
/// The program is compiled at its first call. Results do not depend on the number of threads, not even in their last bit; compared to [`Interp`]
/// sums of floats may be grouped differently. If no LLVM is available the interpreter runs the program, and one line on standard
/// error says what to install.
///
/// ```
/// # use deckle::prelude::*;
/// let norm = compile(|xs: Arr<f64>| xs.map(|x| x * x).sum().sqrt())?;
/// assert_eq!(norm.call([3.0, 4.0])?, 5.0);
/// assert_eq!(norm.on(Cpu::threads(2)).call([6.0, 8.0])?, 10.0);
/// # Ok::<(), deckle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Cpu {
    /// Native code on a number of threads, at least one.
    pub fn threads(n: usize) -> SomeCores {
        SomeCores { threads: n.max(1) }
    }
}

impl Backend for Cpu {
    fn place(self) -> Result<On, Box<Diagnostic>> {
        Ok(On::Best)
    }

    fn threads(self) -> usize {
        cpu::usable_cores()
    }
}

/// Native code on a number of threads: [`Cpu::threads`].
#[derive(Clone, Copy, Debug)]
pub struct SomeCores {
    threads: usize,
}

impl Backend for SomeCores {
    fn place(self) -> Result<On, Box<Diagnostic>> {
        Ok(On::Best)
    }

    fn threads(self) -> usize {
        self.threads
    }
}

/// The type of the backend [`Seq`](const@Seq): native code on one core, without threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneCore;

/// Native code on one core, without threads. (As a type, `Seq` is a sequence.)
///
/// ```
/// # use deckle::prelude::*;
/// let total = compile(|xs: Seq<i64>| xs.sum())?;
/// assert_eq!(total.on(Seq).call([1, 2, 3])?, 6);
/// # Ok::<(), deckle::Error>(())
/// ```
#[allow(non_upper_case_globals)] // It is used as `Cpu` and `Interp` are.
pub const Seq: OneCore = OneCore;

impl Backend for OneCore {
    fn place(self) -> Result<On, Box<Diagnostic>> {
        Ok(On::Best)
    }
}

/// A GPU of NVIDIA: the type of the backend [`Gpu`](const@Gpu).
#[derive(Clone, Copy, Debug, Default)]
pub struct OneGpu {
    device: usize,
    memory: Option<u64>,
}

/// A GPU of NVIDIA: the first device, with a budget of most of the memory that is free when it is first used.
///
/// Only the driver is needed. Arguments are copied to the device and results back, except results that stay there:
/// [`Compiled::keep`](crate::Compiled::keep) leaves a result on the device, and as an argument of a call on the same device it is not copied. Integers and errors are the same as on the CPU; floats
/// differ by rounding. Without a GPU the first call is an error with the reason; there is no fallback.
///
/// ```
/// # use deckle::prelude::*;
/// let squares = compile(|xs: Arr<f64>| xs.map(|x| x * x))?;
/// let total = compile(|xs: Arr<f64>| xs.sum())?;
/// let on = Gpu.device(0).memory(1 << 30);
/// match squares.on(on).keep(vec![1.0, 2.0, 3.0]) {
///     Ok(kept) => assert_eq!(total.on(on).call(&kept)?, 14.0),
///     Err(e) => assert!(e.to_string().contains("no GPU can be used"), "{e}"),
/// }
/// # Ok::<(), deckle::Error>(())
/// ```
#[allow(non_upper_case_globals)] // It is used as `Cpu` and `Interp` are.
pub const Gpu: OneGpu = OneGpu { device: 0, memory: None };

impl OneGpu {
    /// Selects a device by its number; `deckle doctor` lists them.
    pub fn device(self, number: usize) -> OneGpu {
        OneGpu { device: number, ..self }
    }

    /// Limits the bytes of all arrays on the device. Exceeding the limit is an error that names the array. Each budget has memory of its own: a result that is kept is copied for
    /// calls with another budget.
    pub fn memory(self, bytes: u64) -> OneGpu {
        OneGpu { memory: Some(bytes), ..self }
    }
}

impl Backend for OneGpu {
    /// Devices are opened on first use and kept open. Failures are not remembered: a driver may be loaded later.
    fn place(self) -> Result<On, Box<Diagnostic>> {
        static OPENED: Mutex<Vec<(OneGpu, deckle_engine::Gpu)>> = Mutex::new(Vec::new());
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |other: &OneGpu| (other.device, other.memory) == (self.device, self.memory);
        if let Some((_, gpu)) = opened.iter().find(|(of, _)| is_same(of)) {
            return Ok(On::Gpu(gpu.clone()));
        }
        let gpu = deckle_engine::Gpu::open(self.device, self.memory)?;
        opened.push((self, gpu.clone()));
        Ok(On::Gpu(gpu))
    }

    /// Threads of the host, which sorts and copies.
    fn threads(self) -> usize {
        cpu::usable_cores()
    }
}

/// The limits of a program, where they differ from those of the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub memory: Option<u64>,
    pub chunk: Option<i64>,
    pub progress: Option<Arc<Progress>>,
}

impl Limits {
    /// The threads and memory of the limits, by default those of the process.
    pub(crate) fn settings(&self, threads: usize) -> Arc<Settings> {
        if let Limits { memory: None, chunk: None, progress: None } = self {
            return shared(threads);
        }
        let pool = if self.memory.is_some() { deckle_engine::pool(self.memory) } else { shared_pool().clone() };
        Arc::new(Settings {
            chunk: self.chunk,
            owned_results: true,
            progress: self.progress.clone().unwrap_or_default(),
            ..Settings::with(Team::new(threads), pool)
        })
    }
}

fn shared_pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| deckle_engine::pool(None))
}

/// The threads and the memory of this process, created at first use and never released.
fn shared(threads: usize) -> Arc<Settings> {
    static TEAMS: Mutex<Option<HashMap<usize, Arc<Settings>>>> = Mutex::new(None);
    let mut teams = TEAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || {
        let settings = Settings::with(Team::new(threads), shared_pool().clone());
        Arc::new(Settings { owned_results: true, ..settings })
    };
    teams.get_or_insert_default().entry(threads).or_insert_with(new).clone()
}
