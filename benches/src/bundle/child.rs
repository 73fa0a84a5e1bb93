//! Runs cases in a child process, and prints a line of JSON for each event: the device, the begin of a case, its result, the end.

use super::run::Part;
use super::stored::Stored;
use super::{Asked, compare, device, make, streams};
use crate::case::{Case, Size};
use crate::cases;
use crate::measure::Times;
use deckle_engine::{Callable, Data, Gpu, Input, On, RanOn, Settings, Traffic};
use deckle_gen::compare::{Run, same_bits};
use deckle_io::tree;
use deckle_runtime::Pool;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The seconds in which a benchmark is repeated, and the least and the most number of repetitions.
const REPEATED: f64 = 2.0;
const REPETITIONS: [usize; 2] = [5, 21];

/// A result, and whether the process must end, since it can no longer use the device.
struct Judged {
    result: Value,
    is_last: bool,
}

/// Runs the cases of a part.
pub fn run(asked: &Asked, dir: &Path, files: &[String], part: Part) -> Result<(), String> {
    let gpu = match device::open(asked) {
        Ok(gpu) => gpu,
        Err(e) => {
            println!("{}", json!({"unusable": e}));
            return Ok(());
        }
    };
    println!("{}", json!({"device": device::describe(asked, &gpu)}));
    let settings = Settings { measured: true, ..Settings::new(1, None) };
    let mut bandwidth = None;
    for (k, file) in files.iter().enumerate().take(part.to).skip(part.from).step_by(part.step) {
        let path = dir.join("cases").join(file);
        let read = std::fs::read_to_string(&path).map_err(|e| e.to_string());
        let case = read.and_then(|text| Stored::from_json(&text)).map_err(|e| format!("{}: {e}", path.display()))?;
        if !asked.is_wanted(&case.name) {
            continue;
        }
        println!("{}", json!({"begin": k, "of": head(&case)}));
        if case.kind == "benchmark" && bandwidth.is_none() && !asked.simulated {
            bandwidth = Some(device::copy_bandwidth(asked.device).map_err(|e| e.to_string())?);
            println!("{}", json!({"copy_bytes_per_second": bandwidth}));
            // There may be no room for page-locked memory; benchmarks run without.
            match device::transfer_bandwidth(asked.device) {
                Ok(transfer) => println!("{}", json!({"transfer_bytes_per_second": transfer})),
                Err(e) => eprintln!("the bandwidth of transfers was not measured: {e}"),
            }
        }
        let ptx = std::fs::read_to_string(dir.join("ptx").join(&case.ptx));
        let ptx = ptx.map_err(|e| format!("{}: {e}", case.ptx))?;
        let callable = Callable::with(case.program.clone(), case.func, make::options()).with_ptx(ptx);
        let on = (&callable, &gpu, &settings);
        let judged = match case.kind.as_str() {
            "benchmark" if streams::entry(&case.name).is_some() => {
                let mut result = head(&case);
                match streams::run(&case.name, &callable, asked, asked.size(gpu.memory().budget), &mut result) {
                    Ok(()) => passed(result),
                    Err(why) => failed(result, why, true),
                }
            }
            "benchmark" => benchmark(&case, on, asked.size(gpu.memory().budget)),
            _ => test(&case, on),
        };
        println!("{}", json!({"result": judged.result}));
        if judged.is_last {
            println!("{}", json!({"again": k + part.step}));
            return Ok(());
        }
    }
    println!("{}", json!({"end": true}));
    Ok(())
}

/// The name of a case.
fn head(case: &Stored) -> Value {
    json!({"name": case.name, "kind": case.kind, "seed": case.seed})
}

/// What calls need.
type Place<'a> = (&'a Callable, &'a Gpu, &'a Settings);

/// A result on the host, with launches and times.
struct Called {
    data: Data,
    traffic: Traffic,
    seconds: f64,
}

/// Calls the function; a call that takes too long is interrupted.
fn call((callable, gpu, settings): Place<'_>, args: &[Data]) -> Result<Called, Box<deckle_diag::Diagnostic>> {
    let interrupt = settings.team.interrupt().clone();
    let args = args.iter().cloned().map(Input::Data).collect();
    thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                interrupt.store(true, Relaxed);
            }
        });
        let begun = Instant::now();
        let ran = callable.call(&On::Gpu(gpu.clone()), args, None, settings);
        let seconds = begun.elapsed().as_secs_f64();
        drop(done);
        let ran = ran?;
        let traffic = match ran.report.on {
            RanOn::Gpu { traffic, .. } => traffic,
            _ => Traffic::default(),
        };
        let nothing = || Data::numbers(Vec::<u8>::new());
        Ok(Called { data: ran.result.unwrap_or_else(nothing), traffic, seconds })
    })
}

/// Whether an error means that this process can no longer use the device.
fn is_last(error: &deckle_diag::Diagnostic, settings: &Settings) -> bool {
    error.code == deckle_diag::Code::LostGpu
        || error.class() == deckle_diag::Class::Bug
        || settings.team.interrupt().load(Relaxed)
}

/// A program twice: the result is the expected one, and both have the same bits.
fn test(case: &Stored, place: Place<'_>) -> Judged {
    let (callable, _, settings) = place;
    let mut result = head(case);
    let types = callable.function().params().iter().map(|p| callable.function().ty(*p));
    let flat = types.zip(&case.args).map(|(ty, v)| tree::flat(ty, [v], &settings.pool, "an argument"));
    let args: Vec<Data> = match flat.collect() {
        Ok(args) => args,
        Err(e) => return failed(result, e.to_string(), false),
    };
    let value = |called: &Called| tree::value(callable.function().result_type(), &called.data, 0);
    let first = call(place, &args);
    if let Ok(called) = &first {
        result["launches"] = json!(called.traffic.launches);
        result["kernel_seconds"] = json!(called.traffic.kernel_seconds);
    }
    let run: Run = first.as_ref().map(value).map_err(Clone::clone);
    if let Err(d) = &run {
        if matches!(case.expected, Some(Err(_))) && settings.team.interrupt().load(Relaxed) {
            // A check whose value is not needed is not made, and what follows it may be a loop of 2⁶³ rounds.
            result["status"] = json!("skipped");
            result["why"] = json!("it takes too long, and an error is expected");
            return Judged { result, is_last: true };
        }
        result["error"] = json!(compare::line(d));
    }
    let is_last = run.as_ref().is_err_and(|d| is_last(d, settings));
    if let Err(difference) = compare::compare(case, &run) {
        return failed(result, difference, is_last);
    }
    if let Ok(before) = &run {
        match call(place, &args) {
            Ok(called) if same_bits(before, &value(&called)) => {}
            Ok(_) => return failed(result, "a second run has other bits".into(), false),
            Err(d) => {
                let is_last = self::is_last(&d, settings);
                return failed(result, format!("a second run fails: {}", compare::line(&d)), is_last);
            }
        }
    }
    result["status"] = json!("passed");
    Judged { result, is_last }
}

fn passed(mut result: Value) -> Judged {
    result["status"] = json!("passed");
    Judged { result, is_last: false }
}

fn failed(mut result: Value, why: String, is_last: bool) -> Judged {
    result["status"] = json!("failed");
    result["why"] = json!(why);
    Judged { result, is_last }
}

/// A benchmark: checked, then timed.
fn benchmark(case: &Stored, place: Place<'_>, size: Size) -> Judged {
    let mut result = head(case);
    let Some(bench) = cases::all().into_iter().find(|b| b.name == case.name) else {
        return failed(result, "there is no such benchmark".into(), false);
    };
    let checked = measured(&bench, place, size, &mut result);
    match checked {
        Ok(()) => passed(result),
        Err((why, is_last)) => failed(result, why, is_last),
    }
}

fn measured(bench: &Case, place: Place<'_>, size: Size, result: &mut Value) -> Result<(), (String, bool)> {
    let job = (bench.make)(&Pool::new(None), size);
    let called = || call(place, &job.args).map_err(|d| (compare::line(&d), is_last(&d, place.2)));
    result["size"] =
        json!(size.of(bench.size.clone(), format!("{} quick", bench.size), format!("{} tiny", bench.size)));
    let first = called()?;
    result["relative_error"] = json!((job.check)(&first.data).map_err(|e| (e, false))?);
    result["first_seconds"] = json!(first.seconds);
    drop(first);
    let (mut kernels, mut calls) = (Vec::new(), Vec::new());
    let (begun, [least, most]) = (Instant::now(), REPETITIONS);
    while kernels.len() < least || kernels.len() < most && begun.elapsed().as_secs_f64() < REPEATED {
        let called = called()?;
        kernels.push(called.traffic.kernel_seconds);
        calls.push(called.seconds);
        result["launches"] = json!(called.traffic.launches);
        result["peak_device_bytes"] = json!(called.traffic.device_bytes);
    }
    let (kernels, calls) = (Times::new(kernels), Times::new(calls));
    let seconds = kernels.median();
    result["kernel_seconds"] = json!(seconds);
    result["kernel_seconds_min"] = json!(kernels.min());
    result["kernel_seconds_max"] = json!(kernels.max());
    result["runs"] = json!(kernels.len());
    result["call_seconds"] = json!(calls.median());
    if job.bound.stream.is_some() {
        result["bytes"] = json!(job.bound.bytes);
        result["bytes_per_second"] = json!(job.bound.bytes / seconds);
    }
    if job.bound.ops > 0.0 {
        result["ops"] = json!(job.bound.ops);
        result["unit"] = json!(job.bound.unit);
        result["ops_per_second"] = json!(job.bound.ops / seconds);
    }
    Ok(())
}
