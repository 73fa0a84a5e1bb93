//! Native code: one core, all cores, so many threads.

use super::{Backend, Interp, Run, Target};
use crate::stream::{Arg, Ended, Take};
use deckle_diag::{Code, Diagnostic};
use deckle_exec::{Input, Native, Options, Settings, data_of, value_of};
use deckle_ir::entity::Func;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::stream::{Error as StreamError, Sink, Source};
use deckle_runtime::{Block, OverBudget, Pool, Team, cpu};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Native code for a program, or why there is none, once somebody has asked. It does not depend on the number of threads.
pub(super) type Made = OnceLock<Result<Native, Box<Diagnostic>>>;

/// The most bytes of one array: more than any machine has.
const LARGEST: u64 = 1 << 40;
/// An iterator is not waited for longer than this when there are elements to go on with.
const PATIENCE: Duration = Duration::from_millis(1);

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
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run {
        compiled(target, args, take, cpu::usable_cores())
    }
}

impl Backend for SomeCores {
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run {
        compiled(target, args, take, self.threads)
    }
}

impl Backend for OneCore {
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run {
        compiled(target, args, take, 1)
    }
}

fn compiled(target: &Target, args: Vec<Arg>, take: Option<Take>, threads: usize) -> Run {
    // Values are put into buffers of the program's own.
    let options = Options { given: Options::ALL, ..Options::default() };
    let make = || Native::compile(&target.program, Func(0), options);
    match target.native.get_or_init(make) {
        Ok(native) => {
            // What comes later is checked when it is there.
            let now = |arg: &Arg| match arg {
                Arg::Value(value) => value.clone(),
                Arg::Feed(..) => Value::seq(Vec::new()),
            };
            let values: Vec<Value> = args.iter().map(now).collect();
            deckle_interp::check(&target.program, Func(0), &values)?;
            stream(native, args, take, &settings(threads))
        }
        Err(d) if d.code == Code::NoLlvm => {
            tell(d);
            Interp.run(target, args, take)
        }
        Err(d) => Err(d.clone()),
    }
}

fn stream(native: &Native, args: Vec<Arg>, take: Option<Take>, settings: &Settings) -> Run {
    let input = |(arg, ty): (Arg, &Type)| match arg {
        Arg::Value(value) => Ok(Input::Data(data_of(ty, &[&value], &settings.pool, "an argument")?)),
        Arg::Feed(elem, items) => Ok(Input::Stream(Box::new(Items { elem, most: 1, items }) as Box<dyn Source>)),
    };
    let args = args.into_iter().zip(native.param_types()).map(input).collect::<Result<Vec<_>, OverBudget>>();
    let args = args.map_err(|e| Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string())))?;
    let result_ty = native.result_type();
    match (take, result_ty.elem()) {
        (Some(take), Some(elem)) => {
            native.stream(args, Some(Box::new(Taker { elem: elem.clone(), take })), settings)?;
            Ok(Value::seq(Vec::new()))
        }
        _ => Ok(value_of(result_ty, &native.stream(args, None, settings)?, 0)),
    }
}

/// An iterator as a source.
struct Items {
    elem: Type,
    /// How many elements are asked for at once: more and more, as long as that does not take long.
    most: usize,
    items: Box<dyn Iterator<Item = Result<Value, Ended>> + Send>,
}

impl Source for Items {
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Block>, StreamError> {
        let (begun, mut values, mut have) = (Instant::now(), Vec::new(), 0);
        while have < bytes as u64 && values.len() < self.most && (values.is_empty() || begun.elapsed() < PATIENCE) {
            let Some(item) = self.items.next() else { break };
            match item {
                Ok(value) => {
                    have += value.bytes().max(1);
                    values.push(value);
                }
                // The next time it is all that comes.
                Err(e) if values.is_empty() => return Err(StreamError::Failed(e)),
                Err(e) => {
                    self.items = Box::new(std::iter::once(Err(e)));
                    break;
                }
            }
        }
        self.most = if begun.elapsed() < PATIENCE { self.most.saturating_mul(2) } else { 1 };
        let all: Vec<&Value> = values.iter().collect();
        let block = |data| Block::new(data, all.len());
        if all.is_empty() {
            Ok(None)
        } else {
            Ok(Some(block(data_of(&self.elem, &all, pool, "elements of a stream")?)))
        }
    }
}

/// Whoever takes a result.
struct Taker {
    elem: Type,
    take: Take,
}

impl Sink for Taker {
    fn take(&mut self, block: Block) -> Result<(), StreamError> {
        let values = (0..block.len).map(|i| value_of(&self.elem, &block.data, i)).collect();
        if (self.take)(values) { Ok(()) } else { Err(StreamError::Closed) }
    }
}

/// The threads and the memory of this process, made when they are first needed and kept.
fn settings(threads: usize) -> Arc<Settings> {
    static POOL: OnceLock<Pool> = OnceLock::new();
    static TEAMS: Mutex<Option<HashMap<usize, Arc<Settings>>>> = Mutex::new(None);
    let pool = POOL.get_or_init(|| deckle_exec::pool(None));
    let mut teams = TEAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || {
        Arc::new(Settings {
            team: Team::new(threads),
            pool: pool.clone(),
            max_bytes: LARGEST,
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
