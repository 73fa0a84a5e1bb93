//! The commands of test files.

use crate::words;

/// A command of a test file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run a function and show its result.
    Run { call: Call, full: bool },
    /// The signature of every function, or every error.
    Check,
    /// The array IR of one function, or of all.
    Ir(Option<String>),
    /// The same, simplified.
    Simple(Option<String>),
    /// The explanation before running of one function, or of all.
    Explain(Option<String>),
    /// The schedules of the loops of one function, or of each, on a processor with native gathers, or on a GPU; of all its kernels, or of one.
    Schedule { name: Option<String>, kernel: Option<String>, gpu: bool },
    /// The number of kernels of one function, or of each.
    Kernels(Option<String>),
    /// The sequences that must be materialised for the program to run.
    Kept,
    /// The predicted cost of one function, or of each.
    Predict(Option<String>),
    /// The cost of a run in the model.
    Cost(Call),
}

/// A function and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// `main`, or the only function, if none is named.
    pub entry: Option<String>,
    /// Names and values as written.
    pub arguments: Vec<(String, String)>,
}

/// Parses the text after `//>`.
pub fn parse(line: &str) -> Result<Command, String> {
    let words = words::split(line)?;
    let (name, rest) = words.split_first().ok_or("there is no command after `//>`")?;
    match (name.as_str(), rest) {
        ("run", _) => call(rest, true).map(|(call, full)| Command::Run { call, full }),
        ("cost", _) => call(rest, false).map(|(call, _)| Command::Cost(call)),
        ("check", []) => Ok(Command::Check),
        ("ir", []) => Ok(Command::Ir(None)),
        ("ir", [name]) => Ok(Command::Ir(Some(name.clone()))),
        ("simple", []) => Ok(Command::Simple(None)),
        ("simple", [name]) => Ok(Command::Simple(Some(name.clone()))),
        ("explain", []) => Ok(Command::Explain(None)),
        ("explain", [name]) => Ok(Command::Explain(Some(name.clone()))),
        ("schedule", [names @ .., on, device]) if on == "--on" && device == "gpu" => scheduled(names, true),
        ("schedule", names) => scheduled(names, false),
        ("kernels", []) => Ok(Command::Kernels(None)),
        ("kernels", [name]) => Ok(Command::Kernels(Some(name.clone()))),
        ("kept", []) => Ok(Command::Kept),
        ("predict", []) => Ok(Command::Predict(None)),
        ("predict", [name]) => Ok(Command::Predict(Some(name.clone()))),
        ("check" | "ir" | "simple" | "explain" | "kernels" | "kept" | "predict", _) => {
            Err(format!("`{name}` takes fewer words"))
        }
        _ => Err(format!(
            "there is no command `{name}`: write `run`, `check`, `ir`, `simple`, `explain`, `schedule`, `kernels`, `kept`, `predict` or `cost`"
        )),
    }
}

/// Functions and kernels whose schedules are shown.
fn scheduled(names: &[String], gpu: bool) -> Result<Command, String> {
    let (name, kernel) = match names {
        [] => (None, None),
        [name] => (Some(name.clone()), None),
        [name, kernel] => (Some(name.clone()), Some(kernel.clone())),
        _ => return Err("`schedule` takes a function, a kernel and `--on gpu`".into()),
    };
    Ok(Command::Schedule { name, kernel, gpu })
}

fn call(words: &[String], shows: bool) -> Result<(Call, bool), String> {
    let (mut call, mut full) = (Call::default(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--full" && shows {
            full = true;
        } else if word == "--entry" {
            call.entry = Some(words.next().ok_or("`--entry` needs a name")?.clone());
        } else if let (Some((name, value)), false) = (word.split_once('='), word.starts_with('-')) {
            call.arguments.push((name.to_string(), value.to_string()));
        } else {
            return Err(format!("`{word}` is neither `NAME=VALUE` nor an option"));
        }
    }
    Ok((call, full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let pair = |n: &str, v: &str| (n.to_string(), v.to_string());
        let arguments = vec![pair("xs", "[1, 2]"), pair("n", "-3")];
        let call = Call { entry: Some("f".into()), arguments };
        assert_eq!(parse(" run xs=[1, 2] n=-3 --entry f --full"), Ok(Command::Run { call, full: true }));
        assert_eq!(parse("check"), Ok(Command::Check));
        assert_eq!(parse("ir main"), Ok(Command::Ir(Some("main".into()))));
        assert_eq!(parse("simple"), Ok(Command::Simple(None)));
        assert_eq!(parse("explain main"), Ok(Command::Explain(Some("main".into()))));
        let schedule = |name: Option<&str>, kernel: Option<&str>, gpu| Command::Schedule {
            name: name.map(str::to_string),
            kernel: kernel.map(str::to_string),
            gpu,
        };
        assert_eq!(parse("schedule"), Ok(schedule(None, None, false)));
        assert_eq!(parse("schedule main"), Ok(schedule(Some("main"), None, false)));
        assert_eq!(parse("schedule main k2"), Ok(schedule(Some("main"), Some("k2"), false)));
        assert_eq!(parse("schedule main g2 --on gpu"), Ok(schedule(Some("main"), Some("g2"), true)));
        assert_eq!(parse("kernels main"), Ok(Command::Kernels(Some("main".into()))));
        assert_eq!(parse("kept"), Ok(Command::Kept));
        assert_eq!(parse("cost"), Ok(Command::Cost(Call::default())));
    }

    #[test]
    fn mistakes_are_named() {
        for line in
            ["", "walk", "run 5", "check x", "run --entry", "cost --full", "run --ful x=1", "kept x", "schedule a b c"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
