//! Which operators and built-in functions the files of a folder use.

use crate::program::Program;
use crate::suite;
use deckle_ir::array::{BinOp, Def, Op, UnOp};
use std::collections::BTreeSet;
use std::path::Path;

/// What a folder uses.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Operators in the IR of the programs, scalar ones by their own names.
    pub operators: BTreeSet<&'static str>,
    /// Words of the programs: names that are called or passed to a function, and constants.
    pub words: BTreeSet<String>,
}

/// Compiles every file of a folder and notes what it uses.
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

/// The names in a text that are not those of definitions, fields or parameters, as far as the characters around them tell.
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
    fn definitions_and_comments_are_no_uses() {
        let found = words("def sum(xs: [int]) = fold(min, 0, xs.take) // drop(1)\n");
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["0", "def", "fold", "int", "min", "xs"]);
    }
}
