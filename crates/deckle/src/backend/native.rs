//! Native code: one core, all cores, so many threads.

use super::{Backend, Interp, Run, Target};
use deckle_diag::{Code, Diagnostic};
use deckle_exec::{Grain, Native, Options, Settings};
use deckle_ir::entity::Func;
use deckle_ir::value::Value;
use deckle_runtime::{Pool, Team, cpu};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

/// Native code for a program, or why there is none, once somebody has asked. It does not depend on the number of threads.
pub(super) type Made = OnceLock<Result<Native, Box<Diagnostic>>>;

/// The most bytes of one array: more than any machine has.
const LARGEST: u64 = 1 << 40;

/// Native code on all cores that this process may use.
///
/// The program is compiled when it is first called. Results do not depend on the number of threads, not even in their last bit; next to [`Interp`]
/// sums of floats may be grouped in another way. Where no LLVM can be used the interpreter runs the program, and one line on standard
/// error says what to install.
///
/// ```
/// # use deckle::prelude::*;
/// let norm = compile(|xs: Arr<f64>| xs.map(|x| x * x).sum().sqrt())?.on(Cpu);
/// assert_eq!(norm.call([3.0, 4.0])?, 5.0);
/// assert_eq!(norm.on(Cpu::threads(2)).call([6.0, 8.0])?, 10.0);
/// # Ok::<(), deckle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Cpu {
    /// Native code on so many threads, at least one.
    pub fn threads(n: usize) -> SomeCores {
        SomeCores { threads: n.max(1) }
    }
}

/// Native code on a number of threads: [`Cpu::threads`].
#[derive(Clone, Copy, Debug)]
pub struct SomeCores {
    threads: usize,
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

impl Backend for Cpu {
    fn run(self, target: &Target, args: &[Value]) -> Run {
        compiled(target, args, cpu::usable_cores())
    }
}

impl Backend for SomeCores {
    fn run(self, target: &Target, args: &[Value]) -> Run {
        compiled(target, args, self.threads)
    }
}

impl Backend for OneCore {
    fn run(self, target: &Target, args: &[Value]) -> Run {
        compiled(target, args, 1)
    }
}

fn compiled(target: &Target, args: &[Value], threads: usize) -> Run {
    // Values are put into buffers of the program's own.
    let options = Options { given: Options::ALL, ..Options::default() };
    let make = || Native::compile(&target.program, Func(0), options);
    match target.native.get_or_init(make) {
        Ok(native) => {
            deckle_interp::check(&target.program, Func(0), args)?;
            native.run(args, &settings(threads))
        }
        Err(d) if d.code == Code::NoLlvm => {
            tell(d);
            Interp.run(target, args)
        }
        Err(d) => Err(d.clone()),
    }
}

/// The threads and the memory of this process, made when they are first needed and kept.
fn settings(threads: usize) -> Arc<Settings> {
    static POOL: OnceLock<Pool> = OnceLock::new();
    static TEAMS: Mutex<Option<HashMap<usize, Arc<Settings>>>> = Mutex::new(None);
    let pool = POOL.get_or_init(Pool::default);
    let mut teams = TEAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || {
        Arc::new(Settings {
            team: Team::new(threads),
            pool: pool.clone(),
            max_bytes: LARGEST,
            grain: Grain::default(),
            chunk: None,
            progress: std::sync::Arc::default(),
        })
    };
    teams.get_or_insert_default().entry(threads).or_insert_with(new).clone()
}

/// Says once that the interpreter stands in, and what to install.
fn tell(missing: &Diagnostic) {
    static TOLD: Once = Once::new();
    let remedy = missing.helps.first().map_or(String::new(), |h| format!("; {h}"));
    TOLD.call_once(|| {
        eprintln!("deckle: {}, so the reference interpreter runs programs, slowly{remedy}", missing.message);
    });
}
