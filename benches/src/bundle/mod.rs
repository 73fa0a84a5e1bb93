//! Tests and benchmarks for a machine with a GPU, its driver and nothing else: `gpu-bundle` builds a folder, `gpu-run` runs it.
//!
//! | in the folder | |
//! |---|---|
//! | `run.sh`, `deckle-bench` | this program, and how it is started |
//! | `manifest.json` | the names of the cases, and what was left out |
//! | `cases/NUMBER.json` | a case: the array IR, the arguments, the expected result ([`stored`]) |
//! | `ptx/NUMBER.ptx` | the code of a function |
//!
//! A case is a `run` command of a test file, an example, or a random program; its expected result is that of the interpreter. A case can also be a benchmark, whose data is
//! computed from its size and whose result is checked by the benchmark itself; those of [`streams`] have more data than the device may hold. [`make`](mod@make) builds the folder and needs LLVM. [`run`](mod@run) runs each case in a child
//! process ([`child`]), so that a lost device, a crash or an endless kernel fails one case only, and writes `results.json`.

mod child;
mod compare;
mod device;
mod make;
mod run;
mod stored;
mod streams;

use crate::case::Size;
use std::path::PathBuf;
use std::process::ExitCode;

/// The version of the folder and of `results.json`.
const SCHEMA: u64 = 1;

const USAGE: &str = "\
usage: deckle-bench gpu-bundle [DIR] [--random N] [--seed N] [--only TEXT]...
       deckle-bench gpu-run DIR [--json FILE] [--on simulated] [--device N] [--jobs N] [--only TEXT]... [--quick]

  gpu-bundle   builds a folder of tests and benchmarks for a machine with a GPU
  gpu-run      runs it there; `run.sh` in the folder does so
  DIR          the folder; target/gpu-bundle, if none is given
  --random N   the number of random programs; 300, if none is given
  --seed N     the seed of the first one
  --only TEXT  only test files, examples and benchmarks whose name contains one of the texts, and with `gpu-run` random programs, too
  --json FILE  where the results are written; results.json in the folder, if none is given
  --on simulated   the simulator instead of a GPU, with little data: for testing the bundle
  --device N   the number of the GPU
  --jobs N     the number of processes that run tests at the same time, each with half a GiB of device memory or more;
               the cores, at most 16, if none is given. Benchmarks run alone
  --quick      small data for benchmarks, as on a GPU with less than 16 GiB";

/// The most processes that run tests at the same time, if no number is given: the driver takes about half a GiB of device memory for each.
const MOST_JOBS: usize = 16;

/// The command line of both commands.
#[derive(Clone, Debug, Default)]
struct Asked {
    dir: Option<PathBuf>,
    random: Option<u64>,
    seed: u64,
    only: Vec<String>,
    json: Option<PathBuf>,
    simulated: bool,
    device: usize,
    jobs: usize,
    quick: bool,
    /// In a child process: its cases.
    part: Option<run::Part>,
}

impl Asked {
    fn is_wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| name.contains(text))
    }

    /// The size of the data of benchmarks, if arrays may take this many bytes.
    fn size(&self, budget: u64) -> Size {
        match (self.simulated, self.quick || budget < 16 << 30) {
            (true, _) => Size::Tiny,
            (_, true) => Size::Quick,
            _ => Size::Full,
        }
    }
}

/// Runs the command, if it is one of these two.
pub fn command(args: &[String]) -> Option<ExitCode> {
    let (name, rest) = args.split_first()?;
    let run = match name.as_str() {
        "gpu-bundle" => make::make,
        "gpu-run" => run::run,
        _ => return None,
    };
    Some(parse(rest).map_err(|e| format!("{e}\n{USAGE}")).and_then(|asked| run(&asked)).unwrap_or_else(|e| {
        eprintln!("{e}");
        ExitCode::from(2)
    }))
}

fn parse(args: &[String]) -> Result<Asked, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut asked = Asked { seed: 1, jobs: cores.min(MOST_JOBS), ..Asked::default() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("`{arg}` needs a value"));
        let number = |text: &String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
        match arg.as_str() {
            "--random" => asked.random = Some(number(value()?)?),
            "--seed" => asked.seed = number(value()?)?,
            "--only" => asked.only.push(value()?.clone()),
            "--json" => asked.json = Some(value()?.into()),
            "--on" if value()? == "simulated" => asked.simulated = true,
            "--on" => return Err("`--on` can only be `simulated`".into()),
            "--device" => asked.device = number(value()?)? as usize,
            "--quick" => asked.quick = true,
            "--jobs" => asked.jobs = number(value()?)? as usize,
            "--inner-part" => asked.part = Some(value()?.parse()?),
            dir if !dir.starts_with('-') && asked.dir.is_none() => asked.dir = Some(dir.into()),
            other => return Err(format!("`{other}` is no option")),
        }
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Asked, String> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line() {
        let asked = parsed("out --random 5 --only a --only b --on simulated").unwrap();
        assert_eq!((asked.dir, asked.random, asked.simulated), (Some("out".into()), Some(5), true));
        assert_eq!(asked.only, ["a", "b"]);
        assert!(parsed("--random").is_err() && parsed("--on cpu").is_err() && parsed("a b").is_err());
        let part = run::Part { from: 3, to: 9, step: 4 };
        assert_eq!(parsed(&format!("out --jobs 4 --inner-part {part}")).unwrap().part, Some(part));
        assert!(parsed("out --inner-part 1:2:0").is_err() && parsed("out --inner-part 1:2").is_err());
    }

    #[test]
    fn the_device_decides_the_size() {
        let of = |line: &str, budget: u64| parsed(line).unwrap().size(budget);
        assert_eq!((of("", 80 << 30), of("", 8 << 30)), (Size::Full, Size::Quick));
        assert_eq!((of("--quick", 80 << 30), of("--on simulated", 80 << 30)), (Size::Quick, Size::Tiny));
    }
}
