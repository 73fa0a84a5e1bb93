//! The library for sparse matrices compared to SciPy and MKL, on matrices from files: `programs/sparse.dk` beside `sparse.py`, in turns.
//!
//! The files are those of `--matrices`, or of the folder `$DECKLE_MATRICES`; `$DECKLE_SCIPY` names the Python that has SciPy (`python3` if
//! it is not set), and MKL is found beside it. Without matrices there are no benchmarks, and without SciPy no rivals. A turn is as many calls as take 20 ms, or
//! one; its time is their median, and the time of a library is the median of its turns. On one thread it is the CPU time of the process, which other programs disturb less. A result is
//! new memory each time. Its elements are summed and compared with those of SciPy.

use crate::measure::{Times, cpu_seconds, seconds};
use crate::options::Options;
use crate::program;
use crate::report::Row;
use deckle_diag::{Diagnostic, SourceMap};
use deckle_engine::{Callable, Data, Input, On, Ran, Settings, bind};
use deckle_runtime::Form;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The operations, and the functions that prepare the arguments of each from the matrix.
const OPS: [(&str, &[&str]); 9] = [
    ("mv", &["load", "ones"]),
    ("mv32", &["narrow", "ones"]),
    ("tmv", &["load", "ones_of_rows"]),
    ("transpose", &["load"]),
    ("convert", &[""]),
    ("add", &["load", "load"]),
    ("hadamard", &["load", "load"]),
    ("mul", &["load", "load"]),
    ("solve", &["triangle", "ones_of_rows"]),
];
/// Operations that need a square matrix.
const SQUARE: [&str; 2] = ["mul", "solve"];
const TRIES: usize = 7;
/// The seconds after which no further turn begins.
const ENOUGH: f64 = 15.0;

/// The names of the selected benchmarks. All of them only if matrices are given.
pub fn wanted(options: &Options) -> Vec<String> {
    let given = matrices(options).is_ok_and(|files| !files.is_empty());
    let is_meant = |n: &String| match options.names.is_empty() {
        true => given,
        false => options.names.iter().any(|w| w == n || w == "sparse"),
    };
    OPS.iter().map(|(op, _)| format!("sparse-{op}")).filter(is_meant).collect()
}

/// Runs them.
///
/// # Errors
/// If no matrices are given.
pub fn run(options: &Options, tell: &mut dyn FnMut(Row)) -> Result<(), String> {
    let names = wanted(options);
    if names.is_empty() {
        return Ok(());
    }
    let files = matrices(options)?;
    if files.is_empty() {
        return Err("benchmarks of sparse matrices need --matrices or $DECKLE_MATRICES".into());
    }
    for &threads in &options.threads {
        let mut rivals = Rivals::start(threads);
        for name in &names {
            for file in &files {
                let size = file.file_name().unwrap_or_default().to_string_lossy();
                let size = size.split('.').next().unwrap_or_default();
                let mut row =
                    Row { line: json!({"bench": name, "size": size, "threads": threads}), rivals: BTreeMap::new() };
                let op =
                    OPS.iter().find(|(op, _)| name.strip_prefix("sparse-") == Some(op)).ok_or("no such operation")?;
                match bench(op, file, threads, options.quick, &mut rivals) {
                    Ok(None) => continue,
                    Ok(Some((ours, theirs))) => {
                        row.line["seconds"] = json!(ours.median());
                        row.line["min"] = json!(ours.min());
                        row.line["max"] = json!(ours.max());
                        row.line["runs"] = json!(ours.len());
                        row.rivals =
                            theirs.into_iter().map(|(name, times)| (name, Times::new(times).median())).collect();
                    }
                    Err(message) => (row.line["failed"], row.line["message"]) = (json!("run"), json!(message)),
                }
                tell(row);
            }
        }
    }
    Ok(())
}

/// The files of matrices, in alphabetical order.
fn matrices(options: &Options) -> Result<Vec<PathBuf>, String> {
    let given = options.matrices.clone().or_else(|| std::env::var("DECKLE_MATRICES").ok());
    let mut files = Vec::new();
    for part in given.iter().flat_map(|g| g.split(',')).map(Path::new) {
        if part.is_dir() {
            let entries = std::fs::read_dir(part).map_err(|e| format!("{}: {e}", part.display()))?;
            let found = entries.flatten().map(|e| e.path());
            files.extend(found.filter(|p| p.extension().is_some_and(|e| e == "mtx")));
        } else {
            files.push(part.to_path_buf());
        }
    }
    files.sort();
    Ok(files)
}

type Outcome<T> = Result<T, String>;

/// The times of Deckle, and of each rival; nothing if the operation is not one on this matrix.
type Figures = Option<(Times, BTreeMap<String, Vec<f64>>)>;

fn bench(op: &(&str, &[&str]), file: &Path, threads: usize, quick: bool, rivals: &mut Rivals) -> Outcome<Figures> {
    let settings = Settings::new(threads, None);
    let coo = read(file, &settings)?;
    let square = coo.component(0).and_then(|n| Some(n.as_numbers::<i64>()? == coo.component(1)?.as_numbers::<i64>()?));
    if SQUARE.contains(&op.0) && square != Some(true) {
        return Ok(None);
    }
    let csr = call(&function("load")?, std::slice::from_ref(&coo), &settings)?;
    let mut args = Vec::new();
    for prepare in op.1 {
        args.push(match *prepare {
            "" => coo.clone(),
            "load" => csr.clone(),
            other => call(&function(other)?, std::slice::from_ref(&csr), &settings)?,
        });
    }
    let function = function(op.0)?;
    let result = call(&function, &args, &settings)?;
    let (sum, scale) = total(&result);
    drop(result);
    let (mut ours, mut theirs) = (Vec::new(), BTreeMap::<String, Vec<f64>>::new());
    let mut spent = 0.0;
    while ours.is_empty() || !quick && ours.len() < TRIES && spent < ENOUGH {
        let mut turn = Vec::new();
        while turn.iter().sum::<f64>() < 0.02 && turn.len() < 1000 {
            let (mut outcome, begun) = (Ok(()), cpu_seconds());
            let elapsed = seconds(|| outcome = call(&function, &args, &settings).map(drop));
            let spent = cpu_seconds() - begun;
            outcome?;
            turn.push(if threads == 1 && !spent.is_nan() { spent } else { elapsed });
        }
        spent += turn.iter().sum::<f64>();
        ours.push(Times::new(turn).median());
        if let Some(line) = rivals.turn(file, op.0)? {
            let wanted = line["sum"].as_f64().unwrap_or(f64::NAN);
            let is_near = (wanted - sum).abs() <= 1e-6 * scale.max(f64::MIN_POSITIVE);
            if !is_near {
                return Err(format!("the elements add up to {sum}, those of SciPy to {wanted}"));
            }
            for (name, time) in line["seconds"].as_object().into_iter().flatten() {
                let time = time.as_f64().unwrap_or(f64::NAN);
                spent += time;
                theirs.entry(name.clone()).or_default().push(time);
            }
        }
    }
    Ok(Some((Times::new(ours), theirs)))
}

fn function(name: &str) -> Outcome<Callable> {
    let (program, func) = program::read("sparse.dk", name)?;
    Ok(Callable::new(program, func))
}

/// The matrix of a file, with its entries in any order.
fn read(file: &Path, settings: &Settings) -> Outcome<Data> {
    let read = function("read")?;
    let given = [format!("m=@{}", file.display())];
    let inputs = bind::inputs("read", read.function(), &given, &settings.pool, &mut SourceMap::new());
    let inputs = inputs.map_err(|ds| ds.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; "))?;
    result(read.call(&On::Native, inputs, None, settings))
}

/// Calls a function on arguments that the caller keeps.
fn call(function: &Callable, args: &[Data], settings: &Settings) -> Outcome<Data> {
    let args = args.iter().cloned().map(Input::Lent).collect();
    result(function.call(&On::Native, args, None, settings))
}

fn result(ran: Result<Ran, Box<Diagnostic>>) -> Outcome<Data> {
    ran.map_err(|d| d.message.clone())?.result.ok_or_else(|| "no result".to_string())
}

/// The sum of all floats of a value, and of their absolute values.
fn total(data: &Data) -> (f64, f64) {
    match data.form() {
        Form::Scalars(..) => {
            let numbers = data.as_numbers::<f64>().unwrap_or_default();
            (numbers.iter().sum(), numbers.iter().map(|x| x.abs()).sum())
        }
        Form::Tuple(parts) => parts.iter().map(total).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)),
        Form::Equal(_, elements) | Form::Offsets(_, elements) => total(elements),
    }
}

/// The process that runs SciPy and MKL, if there is SciPy.
struct Rivals(Option<(Child, ChildStdin, BufReader<ChildStdout>)>);

impl Rivals {
    fn start(threads: usize) -> Rivals {
        let python = std::env::var("DECKLE_SCIPY").unwrap_or_else(|_| "python3".into());
        let found = Command::new(&python).args(["-c", "import scipy.sparse"]).stderr(Stdio::null()).status();
        if !found.is_ok_and(|s| s.success()) {
            eprintln!("SciPy is not installed for `{python}` ($DECKLE_SCIPY): there are no rivals");
            return Rivals(None);
        }
        let mut command = Command::new(&python);
        command.arg("-Wignore").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("sparse.py"));
        command.env("MKL_NUM_THREADS", threads.to_string()).env("OMP_NUM_THREADS", threads.to_string());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Rivals(child.ok().and_then(|mut child| {
            let (input, output) = (child.stdin.take()?, child.stdout.take()?);
            Some((child, input, BufReader::new(output)))
        }))
    }

    /// One turn of an operation on a matrix.
    fn turn(&mut self, file: &Path, op: &str) -> Outcome<Option<Value>> {
        let Some((_, input, output)) = &mut self.0 else { return Ok(None) };
        writeln!(input, "{} {op}", file.display()).and_then(|()| input.flush()).map_err(|e| format!("SciPy: {e}"))?;
        let mut line = String::new();
        output.read_line(&mut line).map_err(|e| format!("SciPy: {e}"))?;
        serde_json::from_str(&line).map(Some).map_err(|_| "SciPy has ended".to_string())
    }
}

impl Drop for Rivals {
    fn drop(&mut self) {
        if let Some((mut child, input, _)) = self.0.take() {
            drop(input);
            let _ = child.wait();
        }
    }
}
