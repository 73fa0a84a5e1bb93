//! Which function is run.

use deckle_diag::{Code, Diagnostic, closest};
use deckle_io::text::signature;
use deckle_ir::array::Function;
use deckle_syntax::{Compiled, Entry};

/// The entry of that name; without one `main`, or the only entry there is.
///
/// # Errors
/// There is none: with what there is.
pub fn choose<'a>(compiled: &'a Compiled, name: Option<&str>) -> Result<&'a Entry, Diagnostic> {
    let find = |name: &str| compiled.entries.iter().find(|e| e.name == name);
    let found = match (name, &compiled.entries[..]) {
        (Some(name), _) => find(name),
        (None, [only]) => Some(only),
        (None, _) => find("main"),
    };
    found.ok_or_else(|| nothing(compiled, name))
}

/// The function behind an entry.
pub fn function<'a>(compiled: &'a Compiled, entry: &Entry) -> &'a Function {
    &compiled.program.funcs[entry.func.index()]
}

fn nothing(compiled: &Compiled, name: Option<&str>) -> Diagnostic {
    let entries = &compiled.entries;
    let message = match name {
        Some(name) => format!("the program has no function `{name}`"),
        None if entries.is_empty() => "the program has no function that could be run".to_string(),
        None => "the program has several functions, and none of them is `main`".to_string(),
    };
    let mut d = Diagnostic::nowhere(Code::NoEntry, message);
    if !entries.is_empty() {
        let list: Vec<String> = entries.iter().map(|e| signature(&e.name, function(compiled, e))).collect();
        d = d.note(format!("it has\n  {}", list.join("\n  ")));
    }
    let meant = name.and_then(|n| closest(n, entries.iter().map(|e| e.name.as_str())));
    match (meant, entries.first()) {
        (Some(meant), _) => d.help(format!("did you mean `--entry {meant}`?")),
        (None, Some(first)) => d.help(format!("choose one, as in `--entry {}`", first.name)),
        (None, None) => d.help("define one: `def main(xs: [real]): real = sum(xs)`"),
    }
}
