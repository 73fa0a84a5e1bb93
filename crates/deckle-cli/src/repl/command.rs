//! The commands of a session: inputs that begin with a colon.

use super::item::{Item, Kind, Part, Source};
use super::session::Answer;
use super::unit::Failure;
use super::{Next, Repl, finish, help, say};
use deckle_diag::{Code, Diagnostic, closest};
use deckle_io::text::{signature, type_name};
use deckle_ir::array::Program;
use deckle_syntax::{Compiled, builtins};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// A command: its name, its argument, and its effect.
pub struct Command {
    pub name: &'static str,
    pub takes: &'static str,
    pub doc: &'static str,
    run: fn(&mut Repl, &Part) -> Answer<Next>,
}

/// All commands, in the order of the help. A prefix is sufficient; if several commands have it, the first is selected.
pub const COMMANDS: &[Command] = &[
    Command { name: "type", takes: "EXPR", doc: "the type of an expression or function", run: type_of },
    Command { name: "cost", takes: "EXPR", doc: "evaluate, and show work, depth and space", run: cost },
    Command { name: "time", takes: "EXPR", doc: "evaluate, and show how long it took", run: time },
    Command { name: "ir", takes: "EXPR | NAME", doc: "the array IR of an expression or function", run: ir },
    Command { name: "read", takes: "NAME: TYPE = FILE", doc: "a value from a file", run: read },
    Command { name: "load", takes: "FILE", doc: "take in the definitions of a file", run: load },
    Command { name: "reload", takes: "", doc: "read all loaded files again", run: reload },
    Command { name: "names", takes: "", doc: "everything this session has defined", run: names },
    Command { name: "help", takes: "[NAME]", doc: "this list, or about a function", run: about },
    Command { name: "quit", takes: "", doc: "leave; so does Ctrl-D", run: |_, _| Ok(Next::Leave) },
];

/// The name of the command, its argument, and the place of the argument.
fn split(text: &str) -> Option<(&str, usize)> {
    let start = text.len() - text.trim_start().len();
    let rest = text[start..].strip_prefix(':')?;
    let name = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
    let after = start + 1 + name.len();
    let blanks = text[after..].len() - text[after..].trim_start().len();
    Some((name, after + blanks))
}

/// Whether an input, a command or not, needs more lines.
pub fn goes_on(text: &str) -> bool {
    match split(text) {
        None => finish::goes_on(text),
        Some((name, at)) => {
            let expression = find(name).is_some_and(|c| c.takes.starts_with("EXPR"));
            expression && finish::goes_on(&text[at..])
        }
    }
}

fn find(name: &str) -> Option<&'static Command> {
    let exact = COMMANDS.iter().find(|c| c.name == name);
    exact.or_else(|| COMMANDS.iter().find(|c| !name.is_empty() && c.name.starts_with(name)))
}

/// Runs the command of an input.
pub fn run(repl: &mut Repl, source: &Rc<Source>) -> Answer<Next> {
    let Some((name, at)) = split(&source.text) else { return Ok(Next::Go) };
    let argument = Part { source: source.clone(), range: at..source.text.len() };
    let command = find(name).ok_or_else(|| unknown(source, name))?;
    let given = !argument.text().is_empty();
    let wrong = match command.takes {
        "" => given,
        takes => !given && !takes.starts_with('['),
    };
    if wrong {
        let usage = format!(":{} {}", command.name, command.takes);
        let part = if given { argument } else { Part::whole(source.clone()) };
        return Err(Failure::at(&part, |span| {
            let message = if given { "this command stands alone" } else { "something is missing after this command" };
            Diagnostic::new(Code::Unexpected, message, span, "").help(format!("write `{}`", usage.trim_end()))
        })
        .into());
    }
    (command.run)(repl, &argument)
}

fn unknown(source: &Rc<Source>, name: &str) -> Failure {
    Failure::at(&Part::whole(source.clone()), |span| {
        let d = Diagnostic::new(Code::UnknownName, format!("there is no command `:{name}`"), span, "");
        match closest(name, COMMANDS.iter().map(|c| c.name)) {
            Some(meant) => d.help(format!("did you mean `:{meant}`?")),
            None => d.help("`:help` lists the commands"),
        }
    })
}

fn type_of(repl: &mut Repl, argument: &Part) -> Answer<Next> {
    let name = argument.text().trim();
    let defined = repl.session.item(name).filter(|_| repl.session.value(name).is_none());
    if let Some(item) = defined {
        say(&describe(repl, name, item)?);
    } else if repl.session.value(name).is_none() && !builtins::lookup(name).is_empty() {
        builtins::lookup(name).iter().for_each(|b| say(&help::signature(b)));
    } else {
        let prepared = repl.session.prepare(argument)?;
        say(&type_name(prepared.function().result_type()));
    }
    Ok(Next::Go)
}

/// A definition in a line or a few: of a function its signature, if its types are known, otherwise its source.
fn describe(repl: &Repl, name: &str, item: &Item) -> Answer<String> {
    if let Kind::Def(_) = &item.kind {
        let compiled = repl.session.prepare_item(name)?;
        return Ok(signature_of(&compiled, name).unwrap_or_else(|| header(item.part.text())));
    }
    Ok(item.part.text().to_string())
}

fn signature_of(compiled: &Compiled, name: &str) -> Option<String> {
    let entry = compiled.entries.iter().find(|e| e.name == name)?;
    Some(signature(name, &compiled.program.funcs[entry.func.index()]))
}

/// `f(x, y)` of `def f(x, y) = ...`.
fn header(text: &str) -> String {
    let mut depth = 0;
    let tokens = super::scan::scan(text).tokens;
    let end = tokens.iter().find(|t| {
        match t.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && t.text == "="
    });
    let head = &text[..end.map_or(text.len(), |t| t.at)];
    head.trim_start_matches("def").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cost(repl: &mut Repl, argument: &Part) -> Answer<Next> {
    let cost = repl.session.meter(argument)?.cost.unwrap_or_default();
    say(&format!("work   {}", cost.work));
    say(&format!("depth  {}", cost.depth));
    say(&format!("space  {} sequential, {} parallel", cost.space.seq, cost.space.par));
    Ok(Next::Go)
}

fn time(repl: &mut Repl, argument: &Part) -> Answer<Next> {
    let evaluated = repl.session.evaluate(argument)?;
    say(&evaluated.show(false));
    say(&format!("compiled in {}, ran in {}", duration(evaluated.compile_time), duration(evaluated.run_time)));
    Ok(Next::Go)
}

/// About three digits, with a unit.
fn duration(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}

fn ir(repl: &mut Repl, argument: &Part) -> Answer<Next> {
    let name = argument.text().trim();
    let is_function = repl.session.item(name).is_some_and(|i| matches!(i.kind, Kind::Def(_)));
    let program: Program = if is_function && repl.session.value(name).is_none() {
        let compiled = repl.session.prepare_item(name)?;
        if compiled.entries.iter().all(|e| e.name != name) {
            return Err(Failure::at(argument, |span| {
                let message = format!("`{name}` has no IR of its own: its types are open");
                Diagnostic::new(Code::Ambiguous, message, span, "open to each use")
                    .help(format!("show a use of it: `:ir {name}(...)`, or write the types of its parameters"))
            })
            .into());
        }
        compiled.program
    } else {
        repl.session.prepare(argument)?.compiled.program
    };
    say(program.to_string().trim_end());
    Ok(Next::Go)
}

fn read(repl: &mut Repl, argument: &Part) -> Answer<Next> {
    let name = repl.session.read(argument)?;
    if let Some(kept) = repl.session.value(&name) {
        say(&format!("{name}: {}", type_name(&kept.ty)));
    }
    Ok(Next::Go)
}

fn load(repl: &mut Repl, argument: &Part) -> Answer<Next> {
    let path = argument.text().trim();
    let path = path.strip_prefix('"').and_then(|p| p.strip_suffix('"')).unwrap_or(path);
    repl.load(Path::new(path));
    Ok(Next::Go)
}

fn reload(repl: &mut Repl, _: &Part) -> Answer<Next> {
    let files = repl.session.loaded().to_vec();
    if files.is_empty() {
        say("no file has been loaded");
    }
    files.iter().for_each(|file| repl.load(file));
    Ok(Next::Go)
}

fn names(repl: &mut Repl, _: &Part) -> Answer<Next> {
    let session = &repl.session;
    if session.items.is_empty() && session.values.is_empty() {
        say("nothing has been defined");
    }
    for item in &session.items {
        match &item.kind {
            Kind::Def(name) => {
                let text = describe(repl, name, item).unwrap_or_else(|_| header(item.part.text()));
                say(&format!("def {text}"));
            }
            Kind::Type(_) | Kind::Import { .. } => say(item.part.text()),
        }
    }
    for kept in &session.values {
        say(&format!("{}: {}", kept.name, type_name(&kept.ty)));
    }
    Ok(Next::Go)
}

fn about(repl: &mut Repl, argument: &Part) -> Answer<Next> {
    let name = argument.text().trim();
    if name.is_empty() {
        say(&help::overview());
    } else if let Some(kept) = repl.session.value(name) {
        say(&format!("{name}: {}", type_name(&kept.ty)));
    } else if let Some(item) = repl.session.item(name) {
        say(&describe(repl, name, item)?);
        if !item.doc.is_empty() {
            say(&item.doc);
        }
    } else if let Some(text) = help::about(name) {
        say(&text);
    } else {
        return Err(Failure::at(argument, |span| {
            let d = Diagnostic::new(Code::UnknownName, format!("there is no help on `{name}`"), span, "");
            match closest(name, builtins::names()) {
                Some(meant) => d.help(format!("did you mean `{meant}`?")),
                None => d.help("`:help` lists the commands"),
            }
        })
        .into());
    }
    Ok(Next::Go)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_may_be_shortened() {
        let name = |text| find(text).map(|c| c.name);
        assert_eq!([name("q"), name("t"), name("ti")], [Some("quit"), Some("type"), Some("time")]);
        assert_eq!([name("x"), name(""), name("quite")], [None; 3]);
    }

    #[test]
    fn the_argument_is_where_it_is() {
        assert_eq!(split(" :type  1 + 1"), Some(("type", 8)));
        assert_eq!(split(":quit"), Some(("quit", 5)));
        assert_eq!(split("1"), None);
    }

    #[test]
    fn expressions_of_commands_may_take_lines() {
        assert!(goes_on(":type [1,") && goes_on(":cost 1 +"));
        assert!(!goes_on(":load a+") && !goes_on(":type 1") && !goes_on(":nothing ("));
    }

    #[test]
    fn headers_leave_the_body_out() {
        assert_eq!(header("def f(x: [int; n],\n  y) =\n  x == y"), "f(x: [int; n], y)");
    }
}
