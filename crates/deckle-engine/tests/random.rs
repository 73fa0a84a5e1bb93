//! Random programs give on native code what they give in the interpreter: fused and not, on any number of threads, in chunks of any size, with sequences in memory and from outside,
//! with small cuts and with those that everybody has, in checked mode and not, and on the simulator of GPUs. Each program is run in a few of these ways, drawn from its seed.
//!
//! New seeds on every run: see `deckle_gen::sweep`. `DECKLE_IDIOM='scan of scan'` makes programs with that idiom and no other.

use deckle_diag::{Code, Diagnostic};
use deckle_engine::{
    Branches, Chunks, Cuts, Data, Effort, Input, Layout, Native, Options, Order, Settings, Simulated, pipeline,
};
use deckle_gen::compare::{Run, agree, differ_by_rounding, is_limit, same_bits, same_error, shown};
use deckle_gen::sweep::Sweep;
use deckle_gen::{Case, Config, Rng, program, schedules};
use deckle_io::tree;
use deckle_ir::loops::{Gathers, Stores};
use deckle_ir::schedule::Schedule;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::Pool;
use deckle_runtime::stream::{self, Source};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How a program is compiled, and then run on native code.
#[derive(Clone, Copy, Debug)]
struct Way {
    options: Options,
    /// On how many threads, and in chunks of how many elements.
    runs: [(usize, Option<i64>); 2],
    /// Whether sequences come from outside.
    outside: bool,
}

/// A way to run a program. What is not associative is grouped in a way that nobody has promised: then cuts and chunks are not
/// small. With `DECKLE_CHECKED=1` all programs run in checked mode and with small cuts.
fn way(rng: &mut Rng, config: &Config) -> Way {
    let always = Options::default().checked;
    let small = (rng.chance(75) || always) && config.associative;
    let chunks = match rng.below(4) {
        0 => Chunks::Never,
        1 => Chunks::Needed,
        _ if config.sequences => Chunks::Always,
        _ => Chunks::Never,
    };
    // Nearly all of the time of a test goes into LLVM, and it is not LLVM that is tested.
    let effort = match rng.below(200) {
        0 => Effort::Full,
        1..=3 => Effort::Little,
        _ => Effort::None,
    };
    let options = Options {
        fuse: rng.chance(70),
        simplify: rng.chance(90),
        branches: if rng.chance(80) { Branches::Merged } else { Branches::Apart },
        chunks,
        effort,
        gathers: Some([Gathers::Native, Gathers::Emulated, Gathers::Scalar][rng.below(3)]),
        stores: Some(if rng.chance(50) { Stores::InLines } else { Stores::Anywhere }),
        given: Options::ALL,
        cuts: if small { Cuts::small() } else { Cuts::default() },
        checked: rng.chance(50) || always,
        contract: !rng.chance(20),
    };
    let runs = [0; 2].map(|_| {
        let threads = [1, 2, 3, 5, 7][rng.below(5)];
        let chunk = [None, Some(1), Some(2), Some(7), Some(64)][rng.below(5)].filter(|_| config.associative);
        (threads, chunk)
    });
    Way { options, runs, outside: rng.chance(40) }
}

/// The elements of a sequence, in blocks of as many bytes as are asked for.
struct Blocks {
    elements: Data,
    given: usize,
}

impl Source for Blocks {
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Data>, stream::Error> {
        let (from, all) = (self.given, self.elements.len());
        if from == all {
            return Ok(None);
        }
        let each = self.elements.bytes() / all;
        self.given = all.min(from + (bytes / each.max(1)).max(1));
        Ok(Some(self.elements.slice(from, self.given, pool)?))
    }
}

/// Runs native code on arguments of which the sequences come from outside.
fn from_outside(native: &Native, args: &[Value], settings: &Settings) -> Run {
    let args = outside(native.param_types(), args, settings);
    native.stream(args, None, settings).map(|result| tree::value(native.result_type(), &result, 0))
}

/// Arguments of which the sequences come from outside.
fn outside(types: &[Type], args: &[Value], settings: &Settings) -> Vec<Input> {
    let input = |(ty, value): (&Type, &Value)| {
        let data = tree::flat(ty, [value], &settings.pool, "an argument").expect("there is room");
        match (ty, data) {
            (Type::Seq(_), data) => {
                let elements = data.into_elements().expect("a sequence has elements");
                Input::Stream(Box::new(Blocks { elements, given: 0 }))
            }
            (_, data) => Input::Data(data),
        }
    };
    types.iter().zip(args).map(input).collect()
}

thread_local! {
    /// The threads of a team are kept: to start them takes longer than most programs.
    static SETTINGS: RefCell<Vec<Settings>> = const { RefCell::new(Vec::new()) };
}

/// Runs with the settings of so many threads, in checked mode or not.
fn with_settings<R>(threads: usize, chunk: Option<i64>, checked: bool, run: impl FnOnce(&Settings) -> R) -> R {
    let found = SETTINGS.with_borrow_mut(|all| {
        let at = all.iter().position(|s| s.team.threads() == threads && s.pool.is_checked() == checked);
        at.map(|at| all.swap_remove(at))
    });
    let new = if checked { Settings::checked } else { Settings::new };
    let mut settings = found.unwrap_or_else(|| new(threads, Some(1 << 30)));
    settings.chunk = chunk;
    let result = run(&settings);
    SETTINGS.with_borrow_mut(|all| all.push(settings));
    result
}

/// How long a run may take if the interpreter reports an error.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a program of which the interpreter reports an error, or a result. Native code makes no check whose value is not needed, and what follows that check may be a loop of 2⁶³ rounds: such a
/// run is interrupted, and returns nothing. If the interpreter returns a result, so does native code, in any time.
fn patiently(reference: &Run, settings: &Settings, run: impl FnOnce(&Settings) -> Run) -> Option<Run> {
    if reference.is_ok() {
        return Some(run(settings));
    }
    let interrupt = settings.team.interrupt();
    let result = thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                interrupt.store(true, Relaxed);
            }
        });
        let result = run(settings);
        drop(done);
        result
    });
    interrupt.store(false, Relaxed);
    Some(result).filter(|r| !matches!(r, Err(e) if e.message.starts_with("interrupted")))
}

/// What the interpreter gives; nothing if it reaches a limit.
fn reference(case: &Case, elements: u64) -> Option<Run> {
    let limits =
        deckle_interp::Options { max_steps: Some(60 * elements), max_elements: 20 * elements, ..Default::default() };
    let run = deckle_interp::run(&case.program, case.entry, &case.args, &limits).map(|o| o.value);
    if matches!(&run, Err(e) if is_limit(e)) { None } else { Some(run) }
}

/// What the interpreter gives where it makes errors of rounding, in a few runs.
fn rounded(case: &Case) -> Vec<Run> {
    let run = |rounding| {
        let options = deckle_interp::Options { rounding: Some(rounding), ..Default::default() };
        deckle_interp::run(&case.program, case.entry, &case.args, &options).map(|o| o.value)
    };
    (0..8).map(run).collect()
}

/// Native code in one way, against the reference, and the bits of its runs against each other.
fn on_cores(case: &Case, reference: &Run, way: &Way) -> Result<(), String> {
    on_cores_as(case, reference, way, None)
}

/// The same, as a schedule says.
fn on_cores_as(case: &Case, reference: &Run, way: &Way, given: Option<&Schedule>) -> Result<(), String> {
    let native = Native::compile_as(&case.program, case.entry, way.options, given)
        .map_err(|e| format!("{}\nbut it does not compile with {:?}: {}", shown(reference), way.options, e.message))?;
    let mut first: Option<(Option<i64>, Run)> = None;
    for (threads, chunk) in way.runs {
        let run = with_settings(threads, chunk, way.options.checked, |s| {
            patiently(reference, s, |s| match way.outside {
                true => from_outside(&native, &case.args, s),
                false => native.run(&case.args, s),
            })
        });
        let Some(run) = run else { return Ok(()) };
        let how = || {
            let outside = if way.outside { ", from outside" } else { "" };
            format!("on {threads} threads, in chunks of {chunk:?}{outside}, with {:?}", way.options)
        };
        if !agree(&case.program, reference, &run) && !differ_by_rounding(reference, &run, &rounded(case)) {
            let (wanted, got) = (shown(reference), shown(&run));
            let schedule = given.map_or(String::new(), Schedule::to_string);
            return Err(format!("{wanted}\nbut {}\n{got}\n{}\n{schedule}", how(), native.program()));
        }
        match (&first, &run) {
            (Some((_, Ok(a))), Ok(b)) if !same_bits(a, b) => {
                return Err(format!("{}\nbut {}\n{}", shown(&Ok(a.clone())), how(), shown(&run)));
            }
            // Of several checks that fail, which comes first depends on where chunks end, and on nothing else. How much memory is in use depends on more.
            (Some((before, Err(a))), Err(b))
                if *before == chunk && !same_error(a, b) && !(is_limit(a) && is_limit(b)) =>
            {
                return Err(format!("{}\nbut {}\n{}", shown(&Err(a.clone())), how(), shown(&run)));
            }
            _ => {}
        }
        first = first.or(Some((chunk, run)));
    }
    Ok(())
}

/// A layout for GPUs and options.
fn grid(rng: &mut Rng) -> (Layout, Options) {
    let (wide, parts) = ([None, Some(false), Some(true)][rng.below(3)], [None, Some(3), Some(5)][rng.below(3)]);
    let layout = Layout { threads: 64, parts, wide };
    let chunks = if rng.chance(30) { Chunks::Always } else { Chunks::Never };
    let cuts = if rng.chance(50) { Cuts::small() } else { Cuts::simulated() };
    (layout, Options { fuse: rng.chance(70), chunks, given: Options::ALL, cuts, ..Options::default() })
}

/// The schedule for GPUs, on the simulator.
fn on_grid(case: &Case, reference: &Run, rng: &mut Rng) -> Result<(), String> {
    on_grid_as(case, reference, grid(rng), None)
}

/// The same, as a schedule says.
fn on_grid_as(
    case: &Case,
    reference: &Run,
    (layout, options): (Layout, Options),
    given: Option<&Schedule>,
) -> Result<(), String> {
    let simulated = Simulated::compile_as(&case.program, case.entry, options, layout, given)
        .map_err(|e| format!("{}\nbut it does not compile for a GPU: {}", shown(reference), e.message))?;
    let order = Order::Shuffled(case.seed);
    let function = &case.program.funcs[case.entry.index()];
    let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p).clone()).collect();
    let run = |s: &Settings| match case.seed % 3 {
        0 => {
            let result = simulated.call(outside(&types, &case.args, s), s);
            result.map(|result| tree::value(function.result_type(), &result, 0))
        }
        _ => simulated.run_in(order, &case.args, s),
    };
    let chunk = [None, Some(2), Some(7), Some(64)][(case.seed / 3 % 4) as usize];
    let run = with_settings(1, chunk, false, |s| patiently(reference, s, run));
    let Some(run) = run else { return Ok(()) };
    if !agree(&case.program, reference, &run) && !differ_by_rounding(reference, &run, &rounded(case)) {
        let (wanted, got) = (shown(reference), shown(&run));
        let schedule = given.map_or(String::new(), Schedule::to_string);
        return Err(format!(
            "{wanted}\nbut simulated with {layout:?}, {options:?}\n{got}\n{}\n{schedule}",
            simulated.program()
        ));
    }
    Ok(())
}

/// What is drawn from the seed of a case, which shrinking does not change.
fn ways_of(case: &Case) -> Rng {
    Rng::new(case.seed ^ 0x5eed)
}

fn check(case: &Case, config: &Config, elements: u64) -> Result<(), String> {
    let Some(reference) = reference(case, elements) else { return Ok(()) };
    let mut rng = ways_of(case);
    if config.associative && rng.chance(15) {
        return on_grid(case, &reference, &mut rng);
    }
    on_cores(case, &reference, &way(&mut rng, config))
}

/// How many programs all tests of this file run together, so that the test command stays short; `DECKLE_CASES=10000` runs more.
const ALL: u64 = 2000;

fn sweep(name: &str, config: &Config, cases: u64, elements: u64) {
    let sweep = Sweep { test: ["deckle-engine", "random", name], config, cases, of: ALL, threads: 2 };
    sweep.run(&|case| check(case, config, elements));
}

#[test]
fn flat_arrays() {
    sweep("flat_arrays", &Config::flat(), 200, 2000);
}

#[test]
fn nested_arrays() {
    sweep("nested_arrays", &Config::nested(), 300, 2000);
}

#[test]
fn sequences() {
    sweep("sequences", &Config::default(), 300, 2000);
}

#[test]
fn careless_programs() {
    let config = Config { retraverse: true, risk: 40, ..Config::default() };
    sweep("careless_programs", &config, 200, 2000);
}

#[test]
fn idioms_of_arrays() {
    sweep("idioms_of_arrays", &Config::nested().with_idioms(), 500, 4000);
}

#[test]
fn idioms_of_sequences() {
    sweep("idioms_of_sequences", &Config::default().with_idioms(), 495, 4000);
}

#[test]
fn real_sizes() {
    let config = Config { idioms: 60, ..Config::nested().with_idioms() }.at_size(40_000);
    sweep("real_sizes", &config, 5, 400_000);
}

/// The schedule of a program, if that of some functions is given.
type Scheduled<'a> = dyn Fn(Option<&Schedule>) -> Result<Schedule, Box<Diagnostic>> + 'a;

/// A legal schedule at random, and how many functions differ from those that are chosen, of how many.
fn legal_schedule(asked: &Scheduled<'_>, rng: &mut Rng) -> Result<(Schedule, [usize; 2]), String> {
    let chosen = asked(None).map_err(|d| d.message.clone())?;
    let mut legal = Schedule::default();
    for function in &chosen.functions {
        for _ in 0..6 {
            // Beside those before: how a block takes its part, for example, decides what the functions of a scan traverse.
            let mut new = legal.clone();
            new.functions.push(schedules::changed(function, rng));
            match asked(Some(&new)) {
                Ok(_) => {
                    legal = new;
                    break;
                }
                Err(d) if d.code == Code::BadFile => {}
                Err(d) => return Err(d.message.clone()),
            }
        }
    }
    let text = legal.to_string();
    if deckle_ir::schedule::parse(&text) != Ok(legal.clone()) {
        return Err(format!("the schedule is not read as it is printed:\n{text}"));
    }
    let changed = legal.functions.iter().filter(|f| !chosen.functions.contains(f)).count();
    Ok((legal, [changed, chosen.functions.len()]))
}

/// Random programs under random legal schedules, against the interpreter.
fn under_legal_schedules<F>(name: &str, run: F)
where
    F: Fn(&Case, &Run, &mut Rng) -> Result<[usize; 2], String> + Sync,
{
    let config = Config::nested().with_idioms();
    let (all, changed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let sweep = Sweep { test: ["deckle-engine", "random", name], config: &config, cases: 50, of: ALL, threads: 2 };
    sweep.run(&|case| {
        let Some(reference) = reference(case, 4000) else { return Ok(()) };
        let counts = run(case, &reference, &mut ways_of(case))?;
        changed.fetch_add(counts[0], Relaxed);
        all.fetch_add(counts[1], Relaxed);
        Ok(())
    });
    let (all, changed) = (all.into_inner(), changed.into_inner());
    println!("{name}: {changed} of {all} functions have another schedule");
    assert!(changed * 10 >= all, "{changed} of {all} functions have another schedule: too few to say anything");
}

#[test]
fn legal_schedules() {
    under_legal_schedules("legal_schedules", |case, reference, rng| {
        let way = Way { outside: false, ..way(rng, &Config::nested().with_idioms()) };
        let asked = |given: Option<&Schedule>| pipeline::scheduled(&case.program, case.entry, way.options, given);
        let (given, counts) = legal_schedule(&asked, rng)?;
        on_cores_as(case, reference, &way, Some(&given))?;
        Ok(counts)
    });
}

#[test]
fn legal_schedules_on_a_grid() {
    under_legal_schedules("legal_schedules_on_a_grid", |case, reference, rng| {
        let (layout, options) = grid(rng);
        let asked =
            |given: Option<&Schedule>| pipeline::scheduled_on_grid(&case.program, case.entry, options, layout, given);
        let (given, counts) = legal_schedule(&asked, rng)?;
        on_grid_as(case, reference, (layout, options), Some(&given))?;
        Ok(counts)
    });
}

/// Programs that once failed: checks after the state of a loop was new, a condition that holds in no lane, loops inside a traversal.
#[test]
fn what_failed_once() {
    for seed in [504, 559, 709, 714, 837] {
        let case = program(seed, &Config::default());
        let reference = reference(&case, 2000).unwrap();
        let options =
            Options { chunks: Chunks::Always, effort: Effort::Little, given: Options::ALL, ..Options::default() };
        for runs in [[(1, Some(1)), (1, Some(2))], [(2, Some(7)), (1, Some(64))], [(2, None), (1, Some(1))]] {
            on_cores(&case, &reference, &Way { options, runs, outside: false })
                .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
    }
    // Of no rows, at each element of a map, the first offset was loaded.
    let case = program(425_426_427_630, &Config::default().with_idioms());
    let reference = reference(&case, 4000).unwrap();
    let options = Options {
        fuse: false,
        chunks: Chunks::Always,
        effort: Effort::None,
        cuts: Cuts::small(),
        checked: true,
        ..Options::default()
    };
    let way = Way { options, runs: [(5, Some(7)), (2, None)], outside: false };
    on_cores(&case, &reference, &way).unwrap_or_else(|why| panic!("{why}"));
    // A scan over all rows, after long rows were run: the schedule had no walk for a long row as a point on its own.
    let config = Config::nested().with_idioms();
    check(&program(20_000_934, &config), &config, 4000).unwrap_or_else(|why| panic!("{why}"));
    // A scan that is under way, and that a fold needs which is asked for meanwhile and stands before that loop.
    let case = program(246_143_530_304, &Config::default().with_idioms());
    let options = Options { fuse: true, simplify: false, ..way.options };
    let reference = self::reference(&case, 4000).unwrap();
    on_cores(&case, &reference, &Way { options, ..way }).unwrap_or_else(|why| panic!("{why}"));
    // A fold that is asked for in the interior of the dimension that it goes through.
    let sequences = Config::default().with_idioms();
    let case = program(384_292_353_972, &sequences);
    let reference = self::reference(&case, 4000).unwrap();
    on_cores(&case, &reference, &Way { options, ..way }).unwrap_or_else(|why| panic!("{why}"));
    // A size for which the host had to run a loop; a store at a place that a failure had changed; a size of an argument that a check of something else was taken to tell.
    for (seed, config) in [(237_275_443_005, &sequences), (541_751_624_513, &sequences), (299_777_390_196, &config)] {
        let case = program(seed, config);
        let reference = self::reference(&case, 4000).unwrap();
        on_grid(&case, &reference, &mut ways_of(&case)).unwrap_or_else(|why| panic!("{why}"));
        let options = Options { simplify: true, chunks: Chunks::Never, ..options };
        on_cores(&case, &reference, &Way { options, ..way }).unwrap_or_else(|why| panic!("{why}"));
    }
    // A size that the rows of one of several states of a loop show, of an array without rows.
    let careless = Config { retraverse: true, risk: 40, ..Config::default() };
    check(&program(811_079_567_645, &careless), &careless, 2000).unwrap_or_else(|why| panic!("{why}"));
    // A fold over rows that starts from another fold over the same rows.
    check(&program(511_656_352_603, &careless), &careless, 2000).unwrap_or_else(|why| panic!("{why}"));
}
