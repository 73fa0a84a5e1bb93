//! `deckle repl`: definitions, values and expressions, one after another.
//!
//! On a terminal lines are edited, completed and recorded. Other input is read as it arrives, without a prompt,
//! and the exit code is that of the first failure.

mod command;
mod complete;
mod finish;
mod help;
mod history;
mod item;
mod scan;
mod session;
mod terminal;
mod types;
mod unit;

use crate::report::{fail, guard, print};
use deckle_io::text::type_name;
use finish::{DEFINING, is_binding};
use item::{Part, Source};
use session::{Answer, Defined, Session};
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::rc::Rc;

/// Runs a session, with the definitions of these files, and returns the exit code.
pub fn repl(files: &[std::path::PathBuf]) -> u8 {
    let mut repl = Repl::default();
    for file in files {
        repl.load(file);
    }
    if io::stdin().is_terminal() {
        terminal::run(&mut repl);
        0
    } else {
        plain(&mut repl);
        repl.code
    }
}

/// Reads inputs from a source that is not a terminal.
fn plain(repl: &mut Repl) {
    let mut input = String::new();
    for line in io::stdin().lock().split(b'\n') {
        let Ok(line) = line else { break };
        input += &String::from_utf8_lossy(&line);
        if command::goes_on(&input) {
            input.push('\n');
            continue;
        }
        if repl.input(&std::mem::take(&mut input)) == Next::Leave {
            return;
        }
    }
    repl.input(&input);
}

/// The action after an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Go,
    Leave,
}

/// A session and its dialogue.
#[derive(Default)]
struct Repl {
    session: Session,
    /// The number of inputs so far.
    inputs: usize,
    /// The exit code of the first failure, or 0.
    code: u8,
}

impl Repl {
    /// Processes an input of any kind. Only `:quit` ends the session.
    fn input(&mut self, text: &str) -> Next {
        self.inputs += 1;
        let source = Rc::new(Source { name: format!("repl[{}]", self.inputs), text: text.trim_end().to_string() });
        let mut next = Next::Go;
        let code = guard(|| match self.answer(&source) {
            Ok(n) => {
                next = n;
                0
            }
            Err(failure) => fail(&failure.diagnostics, &failure.sources),
        });
        self.failed(code);
        next
    }

    fn failed(&mut self, code: u8) {
        if self.code == 0 {
            self.code = code;
        }
    }

    fn answer(&mut self, source: &Rc<Source>) -> Answer<Next> {
        let text = source.text.as_str();
        if text.trim_start().starts_with(':') {
            return command::run(self, source);
        }
        let first = scan::scan(text).tokens.first().map(|t| t.text);
        let whole = Part::whole(source.clone());
        match first {
            None => {}
            Some(word) if DEFINING.contains(&word) => {
                let defined = self.session.define(source)?;
                self.tell(&defined);
            }
            Some("let") if is_binding(text) => {
                for name in &self.session.bind(&whole)? {
                    if let Some(kept) = self.session.value(name) {
                        say(&format!("{name}: {}", type_name(&kept.ty)));
                    }
                }
            }
            Some(_) => {
                let evaluated = self.session.evaluate(&whole)?;
                say(&evaluated.show(false));
            }
        }
        Ok(Next::Go)
    }

    fn load(&mut self, path: &Path) {
        let code = guard(|| match self.session.load(path) {
            Ok(defined) => {
                let n = defined.names.len();
                say(&format!("{}: {n} definition{}", path.display(), if n == 1 { "" } else { "s" }));
                self.tell_broken(&defined);
                0
            }
            Err(failure) => fail(&failure.diagnostics, &failure.sources),
        });
        self.failed(code);
    }

    fn tell(&self, defined: &Defined) {
        say(&format!("defined {}", defined.names.join(", ")));
        self.tell_broken(defined);
    }

    fn tell_broken(&self, defined: &Defined) {
        let others: Vec<String> = defined.broken.iter().map(|n| format!("`{n}`")).collect();
        match &others[..] {
            [] => {}
            [one] => say(&format!("{one} does not fit this any more; define it anew before you use it")),
            _ => say(&format!("{} do not fit this any more; define them anew before you use them", others.join(", "))),
        }
    }
}

/// Prints a line. Errors of a closed standard output are ignored.
fn say(line: &str) {
    let _ = print(|out| writeln!(out, "{line}"));
}
