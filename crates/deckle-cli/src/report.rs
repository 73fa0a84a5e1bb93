//! The outcome of the command: diagnostics on standard error, an exit code, and panics converted into both.

use deckle_diag::{Class, Code, Diagnostic, SourceMap, render_all};
use deckle_engine::Outcome;
use deckle_engine::bind::quote;
use deckle_io::Output;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

/// The code of a panic or of a diagnostic that is Deckle's own bug.
const BUG: u8 = 101;

/// Prints the diagnostics and returns their exit code.
pub fn fail(diagnostics: &[Diagnostic], sources: &SourceMap) -> u8 {
    let diagnostics: Vec<Diagnostic> = diagnostics.iter().cloned().map(ask_for_report).collect();
    let color = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    // If standard error is closed, the message is dropped.
    let _ = io::stderr().write_all(render_all(&diagnostics, sources, color).as_bytes());
    exit_code(&diagnostics)
}

fn exit_code(diagnostics: &[Diagnostic]) -> u8 {
    let any = |class| diagnostics.iter().any(|d| d.class() == class);
    if any(Class::Bug) {
        BUG
    } else if any(Class::User) {
        1
    } else if any(Class::Limitation) {
        3
    } else {
        0
    }
}

fn ask_for_report(d: Diagnostic) -> Diagnostic {
    if d.class() != Class::Bug {
        return d;
    }
    let words: Vec<String> = std::env::args().skip(1).map(|a| quote(&a)).collect();
    let version = env!("CARGO_PKG_VERSION");
    d.note(format!("this is deckle {version} on {}-{}", std::env::consts::ARCH, std::env::consts::OS)).help(format!(
        "please report it with the program, its data files and this command line: deckle {}",
        words.join(" ")
    ))
}

/// Writes to standard output. A closed pipe (`| head`) is not an error.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Outcome<()> {
    let written = Output::standard().and_then(|mut out| {
        write(&mut out)?;
        out.finish()
    });
    match written {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            let reason = deckle_io::Error::io(&e).message;
            Err(vec![Diagnostic::nowhere(Code::BadFile, format!("cannot write to standard output: {reason}"))])
        }
        _ => Ok(()),
    }
}

/// Runs the command; a panic becomes a report about a bug in Deckle.
pub fn guard(command: impl FnOnce() -> u8) -> u8 {
    let said = Arc::new(Mutex::new(String::new()));
    let hook = said.clone();
    panic::set_hook(Box::new(move |info| {
        if let Ok(mut said) = hook.lock() {
            *said = info.to_string();
        }
    }));
    // The state of the command is not used after a panic.
    panic::catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|_| {
        let said = said.lock().map(|s| s.clone()).unwrap_or_default();
        let bug = Diagnostic::nowhere(Code::Internal, "Deckle stopped, and it is Deckle's fault").note(said);
        fail(&[bug], &SourceMap::new())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: Code) -> Diagnostic {
        Diagnostic::nowhere(code, "m")
    }

    #[test]
    fn exit_codes_follow_the_class() {
        assert_eq!(exit_code(&[]), 0);
        assert_eq!(exit_code(&[of(Code::BadFile)]), 1);
        assert_eq!(exit_code(&[of(Code::Unsupported)]), 3);
        assert_eq!(exit_code(&[of(Code::Unsupported), of(Code::BadFile)]), 1);
        assert_eq!(exit_code(&[of(Code::BadFile), of(Code::Internal)]), 101);
    }

    #[test]
    fn a_panic_is_a_bug() {
        assert_eq!(guard(|| panic!("boom")), 101);
        assert_eq!(guard(|| 3), 3);
        let _ = panic::take_hook();
    }
}
