//! A session on a terminal: lines are edited, completed and recorded.

use super::complete::Names;
use super::{Next, Repl, command, history, say};
use crate::interrupt;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const PROMPT: &str = "deckle> ";

/// The number of recorded lines.
const REMEMBERED: usize = 10_000;

/// Reads and processes inputs until the user exits.
pub fn run(repl: &mut Repl) {
    stop_on_interrupt(repl);
    let mut editor = match editor() {
        Ok(editor) => editor,
        Err(e) => return say(&format!("this terminal cannot be used: {e}")),
    };
    let file = history::file();
    if let Some(file) = &file {
        // No history yet, or an unreadable one: the session starts without.
        let _ = editor.load_history(file);
    }
    say(&format!("Deckle {}. `:help` for help, Ctrl-D to leave.", env!("CARGO_PKG_VERSION")));
    loop {
        editor.set_helper(Some(Assistant::new(repl)));
        match editor.readline(PROMPT) {
            Ok(line) => {
                // An earlier Ctrl-C does not apply to this line.
                repl.session.interrupt.store(false, Ordering::Relaxed);
                remember(&mut editor, file.as_deref(), &line);
                if repl.input(&line) == Next::Leave {
                    return;
                }
            }
            // The line is dropped, and the session goes on.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return,
            Err(ReadlineError::Io(e)) if e.kind() == std::io::ErrorKind::InvalidData => {
                say("this line is not UTF-8 text");
            }
            Err(e) => return say(&format!("cannot read from this terminal any more: {e}")),
        }
    }
}

/// While a line is edited the terminal reports Ctrl-C as a key; otherwise it is a signal.
fn stop_on_interrupt(repl: &Repl) {
    if let Err(e) = interrupt::on_ctrl_c(repl.session.interrupt.clone()) {
        say(&format!("Ctrl-C will end the session: {e}"));
    }
}

fn editor() -> rustyline::Result<Editor<Assistant, FileHistory>> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .max_history_size(REMEMBERED)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .build();
    Editor::with_config(config)
}

/// Records a line, also for later sessions if that is possible.
fn remember(editor: &mut Editor<Assistant, FileHistory>, file: Option<&Path>, line: &str) {
    let added = editor.add_history_entry(line.trim_end()).unwrap_or(false);
    if let Some(file) = file.filter(|_| added) {
        let folder = file.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let _ = std::fs::create_dir_all(folder).map(|()| editor.append_history(file));
    }
}

/// The callbacks of the editor while a line is typed.
struct Assistant {
    names: Names,
    files: FilenameCompleter,
}

impl Assistant {
    fn new(repl: &Repl) -> Assistant {
        Assistant { names: Names::of(&repl.session), files: FilenameCompleter::new() }
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        if line.trim_start().starts_with(":load ") {
            return self.files.complete_path(line, pos);
        }
        let (at, choices) = self.names.complete(line, pos);
        Ok((at, choices.into_iter().map(|c| Pair { display: c.shown, replacement: c.text }).collect()))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        // An empty line ends any input: an unclosed bracket cannot trap the user.
        let given_up = input.rsplit_once('\n').is_some_and(|(_, last)| last.trim().is_empty());
        let more = !given_up && command::goes_on(input);
        Ok(if more { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Helper for Assistant {}
