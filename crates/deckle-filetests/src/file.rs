//! The text of a test file: its commands and their expected output.

use crate::command::{self, Command};

const COMMAND: &str = "//>";
const EXPECTED: &str = "//=";
const PROGRAM: &str = "//@";

/// The file that the commands are about, relative to the root of the repository, if it is another one.
pub fn program(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(PROGRAM)).map(str::trim)
}

/// A command, and its expected output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The line of the command, from 1.
    pub line: usize,
    /// The command.
    pub command: Command,
    /// Its expected output, line by line.
    pub expected: Vec<String>,
}

/// The tests of a file, in order.
pub fn parse(text: &str) -> Result<Vec<Test>, String> {
    let mut tests: Vec<Test> = Vec::new();
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        if let Some(command) = line.strip_prefix(COMMAND) {
            let command = command::parse(command).map_err(|e| format!("line {}: {e}", i + 1))?;
            tests.push(Test { line: i + 1, command, expected: Vec::new() });
            open = true;
        } else if let Some(expected) = line.strip_prefix(EXPECTED) {
            match tests.last_mut().filter(|_| open) {
                Some(test) => test.expected.push(expected.strip_prefix(' ').unwrap_or(expected).to_string()),
                None => return Err(format!("line {}: `{EXPECTED}` does not follow a command", i + 1)),
            }
        } else {
            open = false;
        }
    }
    if tests.is_empty() {
        return Err(format!("the file has no command: add a line such as `{COMMAND} run xs=[1, 2]`"));
    }
    Ok(tests)
}

/// The file with other output after its commands, one for each.
pub fn rewrite(text: &str, actual: &[Vec<String>]) -> String {
    let mut out = String::new();
    let mut actual = actual.iter();
    for line in text.lines().filter(|l| !l.starts_with(EXPECTED)) {
        out += line;
        out.push('\n');
        if line.starts_with(COMMAND) {
            for line in actual.next().into_iter().flatten() {
                out += format!("{EXPECTED} {line}").trim_end();
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "def main = 1\n\n//> run\n//= 1\n//=\n//= 2\n\n//> check\n";

    #[test]
    fn expectations_belong_to_the_command_before_them() {
        let tests = parse(FILE).unwrap();
        assert_eq!(tests.iter().map(|t| t.line).collect::<Vec<_>>(), [3, 8]);
        assert_eq!(tests[0].expected, ["1", "", "2"]);
        assert!(tests[1].expected.is_empty());
    }

    #[test]
    fn a_file_without_commands_is_an_error() {
        assert!(parse("def main = 1\n").unwrap_err().contains("no command"));
        assert!(parse("//= 1\n//> run\n").unwrap_err().contains("line 1"));
        assert!(parse("//> run\n\n//= 1\n").unwrap_err().contains("line 3"));
        assert!(parse("//> fly\n").unwrap_err().contains("line 1: there is no command `fly`"));
    }

    #[test]
    fn the_program_may_be_in_another_file() {
        assert_eq!(program(FILE), None);
        assert_eq!(program("// The same.\n//@ examples/dot.dk\n\n//> kernels\n"), Some("examples/dot.dk"));
    }

    #[test]
    fn blessing_changes_expectations_only() {
        let actual = [vec!["3".to_string(), String::new()], vec!["ok".to_string()]];
        let blessed = rewrite(FILE, &actual);
        assert_eq!(blessed, "def main = 1\n\n//> run\n//= 3\n//=\n\n//> check\n//= ok\n");
        assert_eq!(rewrite(&blessed, &actual), blessed);
    }
}
