//! The runs of the test files and of the examples, for other test programs.

use crate::command::{self, Call, Command};
use crate::{file, suite};
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::value::Value;
use std::path::Path;

/// A function of a program with arguments.
#[derive(Clone, Debug)]
pub struct FileRun {
    /// The file, relative to the root of the repository, and the line of the command.
    pub name: String,
    /// The program.
    pub program: array::Program,
    /// The function.
    pub func: Func,
    /// Its arguments.
    pub args: Vec<Value>,
}

/// The runs of all files under `tests/` and `examples/` whose name is wanted. Runs that end before anything is computed are omitted: those of
/// programs with errors or that cannot be streamed, and those whose arguments do not fit.
pub fn runs(is_wanted: &dyn Fn(&str) -> bool) -> Vec<FileRun> {
    let root = suite::root();
    let mut runs = Vec::new();
    for folder in ["tests", "examples"] {
        for path in suite::files(&root.join(folder)) {
            let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string().replace('\\', "/");
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if is_wanted(&shown) {
                let text = text.replace("\r\n", "\n");
                let calls = if folder == "tests" { calls(&text) } else { calls_of_example(&text, &root.join(folder)) };
                runs.extend(of_file(&path, &shown, &text, calls));
            }
        }
    }
    runs
}

fn of_file(path: &Path, shown: &str, text: &str, calls: Vec<(usize, Call)>) -> Vec<FileRun> {
    let Ok(program) = suite::load(path, text) else { return Vec::new() };
    let one = |(line, call): (usize, Call)| {
        let (func, args) = program.bound(&call)?;
        let name = format!("{shown}:{line}");
        Some(FileRun { name, program: program.compiled()?.program.clone(), func, args })
    };
    calls.into_iter().filter_map(one).collect()
}

/// The `run` commands of a test file, with their lines.
fn calls(text: &str) -> Vec<(usize, Call)> {
    let tests = file::parse(text).unwrap_or_default().into_iter();
    let call = |test: file::Test| match test.command {
        Command::Run { call, .. } => Some((test.line, call)),
        _ => None,
    };
    tests.filter_map(call).collect()
}

/// Those of an example: lines `// run: ARGS` in its leading comment. Files are relative to its folder.
fn calls_of_example(text: &str, folder: &Path) -> Vec<(usize, Call)> {
    let header = text.lines().enumerate().take_while(|(_, line)| line.starts_with("//"));
    let call = |(i, line): (usize, &str)| {
        let arguments = line.trim_start_matches('/').trim().strip_prefix("run:")?;
        // Runs with other options are about output.
        let Ok(Command::Run { mut call, .. }) = command::parse(&format!("run {arguments}")) else { return None };
        for (_, value) in &mut call.arguments {
            if let Some(file) = value.strip_prefix('@') {
                *value = format!("@{}/{file}", folder.display());
            }
        }
        Some((i + 1, call))
    };
    header.filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_and_test_files_have_runs() {
        let found = runs(&|name| name == "examples/dot.dk" || name.starts_with("tests/ops/"));
        let of = |start: &str| found.iter().filter(|r| r.name.starts_with(start)).count();
        assert!(of("examples/dot.dk:") == 1 && of("tests/ops/") > 10, "{}", found.len());
        let arguments = calls_of_example("// run: xs=@a.npy --full\n// run: n=1 --out -.csv\n", Path::new("/x"));
        assert_eq!(arguments.len(), 1);
        assert_eq!(arguments[0].1.arguments, [("xs".to_string(), "@/x/a.npy".to_string())]);
    }
}
