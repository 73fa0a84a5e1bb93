//! Native code: one core, all cores, so many threads.

use super::{Backend, Interp, Run, Target};
use crate::stream::{Arg, Take};
use deckle_diag::{Code, Diagnostic};
use deckle_engine::{Input, Native, Options, Settings};
use deckle_ir::entity::Func;
use deckle_runtime::stream::{Error as StreamError, Sink};
use deckle_runtime::{Data, Pool, Team, cpu};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

/// Native code for a program, or why there is none, once somebody has asked: for each set of arguments that it may keep. It does not depend on the number of threads.
pub(super) type Made = Mutex<HashMap<u64, Arc<OnceLock<Result<Native, Box<Diagnostic>>>>>>;

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
/// let norm = compile(|xs: Arr<f64>| xs.map(|x| x * x).sum().sqrt())?;
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
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run {
        compiled(target, args, take, self.threads())
    }

    fn threads(self) -> usize {
        cpu::usable_cores()
    }
}

impl Backend for SomeCores {
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run {
        compiled(target, args, take, self.threads)
    }

    fn threads(self) -> usize {
        self.threads
    }
}

impl Backend for OneCore {
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run {
        compiled(target, args, take, 1)
    }
}

fn compiled(target: &Target, args: Vec<Arg>, take: Option<Take>, threads: usize) -> Run {
    let is_given = |arg: &Arg| !matches!(arg, Arg::Data { given: false, .. });
    let given = args.iter().enumerate().filter(|(_, arg)| is_given(arg)).fold(0, |all, (k, _)| all | 1 << k);
    let made = target.native.lock().unwrap_or_else(PoisonError::into_inner).entry(given).or_default().clone();
    match made.get_or_init(|| Native::compile(&target.program, Func(0), Options { given, ..Options::default() })) {
        Ok(native) => stream(native, args, take, &settings(threads)),
        Err(d) if d.code == Code::NoLlvm => {
            tell(d);
            Interp.run(target, args, take)
        }
        Err(d) => Err(d.clone()),
    }
}

fn stream(native: &Native, args: Vec<Arg>, take: Option<Take>, settings: &Settings) -> Run {
    let input = |arg| match arg {
        Arg::Data { data, .. } => Input::Data(data),
        Arg::Feed(source, _) => Input::Stream(source),
    };
    let sink = take.map(|take| Box::new(Taker(take)) as Box<dyn Sink>);
    native.stream(args.into_iter().map(input).collect(), sink, settings)
}

/// Whoever takes a result.
struct Taker(Take);

impl Sink for Taker {
    fn take(&mut self, block: Data) -> Result<(), StreamError> {
        if (self.0)(block) { Ok(()) } else { Err(StreamError::Closed) }
    }
}

/// The threads and the memory of this process, made when they are first needed and kept.
fn settings(threads: usize) -> Arc<Settings> {
    static POOL: OnceLock<Pool> = OnceLock::new();
    static TEAMS: Mutex<Option<HashMap<usize, Arc<Settings>>>> = Mutex::new(None);
    let pool = POOL.get_or_init(|| deckle_engine::pool(None));
    let mut teams = TEAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || {
        Arc::new(Settings {
            team: Team::new(threads),
            pool: pool.clone(),
            max_bytes: LARGEST,
            chunk: None,
            owned_results: true,
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
