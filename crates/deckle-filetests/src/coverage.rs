//! The operators and built-in functions that the files of a folder use, and the programs whose schedules they show.

use crate::command::Command;
use crate::program::Program;
use crate::{file, suite};
use deckle_ir::array::{self, BinOp, Chapter, Def, Op, UnOp};
use deckle_ir::entity::Func;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The coverage of a folder.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Operators in the IR of the programs, scalar ones by their own names.
    pub operators: BTreeSet<&'static str>,
    /// Words of the programs: names that are called or passed to a function, and constants.
    pub words: BTreeSet<String>,
}

/// Compiles every file of a folder and records what it uses.
pub fn of(folder: &Path) -> Coverage {
    let mut coverage = Coverage::default();
    for path in suite::files(folder) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let program = Program::compile(&path, &text);
        // A file that does not compile tests an error, and runs nothing.
        let Some(compiled) = program.compiled() else { continue };
        coverage.words.extend(words(&text));
        let vars = compiled.program.funcs.iter().flat_map(|f| &f.vars);
        coverage.operators.extend(vars.filter_map(|v| match &v.def {
            Def::Inst(inst) => Some(name(&inst.op)),
            Def::Param(..) => None,
        }));
    }
    coverage
}

/// The schedules and kernels that a folder shows.
#[derive(Debug, Default)]
pub struct Shown {
    /// Operators in functions whose schedule and number of kernels are shown.
    pub operators: BTreeSet<&'static str>,
    /// Words of the files.
    pub words: BTreeSet<String>,
    /// Functions whose number of kernels is shown, in programs that are other files: the file, relative to the root of the repository, and the function.
    pub counted: BTreeSet<(String, String)>,
    /// Files that show nothing, because they cannot be read or their program does not compile.
    pub broken: Vec<PathBuf>,
}

/// Compiles every file of a folder and records the functions that it shows.
pub fn shown(folder: &Path) -> Shown {
    let mut shown = Shown::default();
    for path in suite::files(folder) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let program = suite::load(&path, &text);
        let (Some(compiled), Ok(tests)) = (program.as_ref().ok().and_then(Program::compiled), file::parse(&text))
        else {
            shown.broken.push(path);
            continue;
        };
        shown.words.extend(words(&text));
        let (mut scheduled, mut counted) = (BTreeSet::new(), BTreeSet::new());
        for test in tests {
            match test.command {
                Command::Schedule { name: Some(name), gpu: false, .. } => scheduled.extend([name]),
                Command::Kernels(Some(name)) => counted.extend([name]),
                _ => {}
            }
        }
        for func in scheduled.intersection(&counted).filter_map(|name| compiled.program.find(name)) {
            used(&compiled.program, func, &mut shown.operators);
        }
        let other = file::program(&text);
        shown.counted.extend(counted.into_iter().filter_map(|name| Some((other?.to_string(), name))));
    }
    shown
}

/// The operators of a function, and of those that it calls.
fn used(program: &array::Program, func: Func, operators: &mut BTreeSet<&'static str>) {
    for var in &program.funcs[func.index()].vars {
        let Def::Inst(inst) = &var.def else { continue };
        operators.insert(name(&inst.op));
        if let Op::Call(callee) = inst.op {
            used(program, callee, operators);
        }
    }
}

fn name(op: &Op) -> &'static str {
    match op {
        Op::Unary(op) => op.name(),
        Op::Binary(op) => op.name(),
        op => op.info().name,
    }
}

/// All operators that a program may have, scalar ones by their own names.
pub fn operators() -> impl Iterator<Item = &'static str> {
    let table = Op::TABLE.iter().map(|info| info.name).filter(|n| !["unary", "binary"].contains(n));
    let table = table.filter(|n| !Op::OF_THE_COMPILER.contains(n));
    table.chain(UnOp::ALL.iter().map(|op| op.name())).chain(BinOp::ALL.iter().map(|op| op.name()))
}

/// The operators of [`operators`] that are not scalar: a kernel may be created from each.
pub fn array_operators() -> impl Iterator<Item = &'static str> {
    let table = Op::TABLE.iter().filter(|info| info.chapter != Chapter::Scalar).map(|info| info.name);
    table.filter(|n| !Op::OF_THE_COMPILER.contains(n))
}

/// The functions that the lines of an example's leading comment run: `// run: ARGS`, `// deckle run FILE ARGS`.
pub fn entries(example: &str) -> BTreeSet<&str> {
    let comment = example.lines().take_while(|line| line.starts_with("//"));
    let runs = comment.filter(|line| line.starts_with("// run:") || line.starts_with("// deckle run "));
    runs.map(|line| line.split_once("--entry ").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or("main"))
        .collect()
}

/// The names in a text that are not those of definitions, fields or parameters, judged by the characters around them.
fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut from = 0;
        while let Some(start) = code[from..].find(is_name).map(|at| from + at) {
            let end = code[start..].find(|c| !is_name(c)).map_or(code.len(), |at| start + at);
            let before = code[..start].trim_end();
            let after = code[end..].chars().next();
            let defined = before.ends_with("def") || before.ends_with("type") || before.ends_with('.');
            if !defined && !matches!(after, Some(':' | '=')) {
                words.insert(code[start..end].to_string());
            }
            from = end;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_names_its_entries() {
        let example = "// Sums.\n//\n// run: x=1\n// run: x=2 --entry f --full\n// deckle run a.dk --entry g x=1\n\ndef main() = 1\n";
        assert_eq!(entries(example).into_iter().collect::<Vec<_>>(), ["f", "g", "main"]);
    }

    #[test]
    fn definitions_and_comments_are_no_uses() {
        let found = words("def sum(xs: [int]) = fold(min, 0, xs.take) // drop(1)\n");
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["0", "def", "fold", "int", "min", "xs"]);
    }
}
