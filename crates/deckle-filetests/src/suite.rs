//! All files of a folder, run in parallel.

use crate::diff::diff;
use crate::file::{self, Test};
use crate::program::Program;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The files to run, and the handling of differences.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only files whose path contains this.
    pub filter: String,
    /// Whether to write the output of the commands into the files.
    pub bless: bool,
}

impl Selection {
    /// From `DECKLE_FILTER` and `DECKLE_BLESS`.
    pub fn from_env() -> Selection {
        Selection {
            filter: std::env::var("DECKLE_FILTER").unwrap_or_default(),
            bless: std::env::var_os("DECKLE_BLESS").is_some_and(|v| v == "1"),
        }
    }
}

/// The outcome.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of files that were run.
    pub files: usize,
    /// The number of their commands.
    pub commands: usize,
    /// The files that were rewritten.
    pub blessed: Vec<String>,
    /// The faults, in order of the files.
    pub faults: Vec<String>,
}

/// The repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// All `.dk` files under a folder except those in folders named `lib`, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|n| n != "lib") {
                pending.push(path);
            } else if path.extension().is_some_and(|e| e == "dk") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs the files of a folder.
pub fn run(folder: &Path, selection: &Selection) -> Report {
    let shown = |path: &Path| path.strip_prefix(root()).unwrap_or(path).display().to_string().replace('\\', "/");
    let files: Vec<(PathBuf, String)> = files(folder)
        .into_iter()
        .map(|path| (path.clone(), shown(&path)))
        .filter(|(_, shown)| shown.contains(&selection.filter))
        .collect();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(|| {
                while let Some((path, shown)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run_file(path, shown, selection.bless);
                    outcomes.lock().unwrap_or_else(|e| e.into_inner()).push((shown.clone(), outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(|e| e.into_inner());
    outcomes.sort_by(|a, b| a.0.cmp(&b.0));
    let mut report = Report { files: outcomes.len(), ..Report::default() };
    for (shown, outcome) in outcomes {
        report.commands += outcome.commands;
        report.faults.extend(outcome.faults);
        report.blessed.extend(outcome.blessed.then_some(shown));
    }
    report
}

#[derive(Default)]
struct Outcome {
    commands: usize,
    faults: Vec<String>,
    blessed: bool,
}

/// The program of a test file, which may be in another file.
pub(crate) fn load(path: &Path, text: &str) -> Result<Program, String> {
    let Some(named) = file::program(text) else { return Ok(Program::compile(path, text)) };
    let path = root().join(named);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("`{named}`: {e}"))?;
    Ok(Program::compile(&path, &text.replace("\r\n", "\n")))
}

fn run_file(path: &Path, shown: &str, bless: bool) -> Outcome {
    let mut outcome = Outcome::default();
    let read = std::fs::read_to_string(path).map_err(|e| e.to_string()).map(|text| text.replace("\r\n", "\n"));
    let (text, tests) = match read.and_then(|text| file::parse(&text).map(|tests| (text, tests))) {
        Ok(found) => found,
        Err(e) => {
            outcome.faults.push(format!("{shown}: {e}\n"));
            return outcome;
        }
    };
    outcome.commands = tests.len();
    let program = match load(path, &text) {
        Ok(program) => program,
        Err(e) => {
            outcome.faults.push(format!("{shown}: {e}\n"));
            return outcome;
        }
    };
    outcome.faults.extend(program.check().err().map(|e| format!("{shown}: {e}\n")));
    let mut answers = Vec::new();
    for test in &tests {
        let Test { line, command, expected } = test;
        let actual = match program.answer(command) {
            Ok(text) => text.trim_end().lines().map(|l| l.trim_end().to_string()).collect(),
            Err(e) => {
                outcome.faults.push(format!("{shown}:{line}: {e}\n"));
                expected.clone()
            }
        };
        if actual != *expected && !bless {
            let command = text.lines().nth(line - 1).unwrap_or_default();
            outcome.faults.push(format!("{shown}:{line}: {command}\n{}", diff(expected, &actual)));
        }
        answers.push(actual);
    }
    let blessed = file::rewrite(&text, &answers);
    if bless && blessed != text {
        outcome.blessed = true;
        outcome.faults.extend(std::fs::write(path, blessed).err().map(|e| format!("{shown}: {e}\n")));
    }
    outcome
}
