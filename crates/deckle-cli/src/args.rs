//! The arguments of `deckle`.

use crate::output::Target;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use deckle_engine::pipeline::{STAGES, Stage};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Example, with this text in mean.dk:

  def main(xs: [real]): real = sum(xs) / real(length(xs))

  $ deckle run mean.dk 'xs=[1, 2, 4.5]'
  2.5

Exit codes: 0 done, 1 the program or its data is wrong, 2 usage, 3 a limitation of
this version, 101 a bug in Deckle, 130 stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP).";

const RUN_EXAMPLES: &str = "\
Values are written as the parameter's type asks:
  n=3   x=1e-9   x=inf   ok=true   name=hello   xs='[1, 2, 3]'   rows='[[1], [2, 3]]'
  p='(1, 2.0)'   p='(x = 1.0, y = 2.0)'   s='{1, 2, 3}'

Examples:
  deckle run mean.dk 'xs=[1, 2, 4.5]'       a value on the command line
  deckle run mean.dk xs=@data.npy           an array saved with NumPy
  deckle run words.dk text=@book.txt        the bytes of a file, for a [u8]
  deckle run sum.dk xs=@huge.npy --memory 256M --progress   a sequence, read while the program runs
  zcat log.gz | deckle run visits.dk lines=@- --out -.csv   from standard input to standard output
  deckle run blur.dk img=@in.npy --out out.npy
  deckle run blur.dk img=@in.npy --threads 4 --memory 512M
  deckle run mean.dk xs=@data.npy --on gpu --stats   on a GPU, and what was launched and copied
  deckle run mean.dk xs=@data.npy --on interp   without a compiler: slow, and by definition right";

const CHECK_EXAMPLES: &str = "\
Example:
  $ deckle check mean.dk
  ok: 1 function
    main(xs: [real]): real";

const COST_EXAMPLES: &str = "\
Examples:
  deckle cost mean.dk                       the formulas
  deckle cost mean.dk n=1000000             and what they are for a size, or an integer parameter
  deckle cost mean.dk 'xs=[1, 2, 4.5]'      and for arguments, beside what the interpreter meters
  deckle cost mean.dk n=1e9 --memory 512M   and the chunk that fits a budget";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  deckle explain mean.dk                    what is streamed, lifted, proven and fused
  deckle explain mean.dk --ir array         the operators of the program
  deckle explain mean.dk --ir simple        the same, simplified
  deckle explain mean.dk --ir kernel        what is computed together
  deckle explain mean.dk --ir schedule      how loops run, and why
  deckle explain mean.dk --ir schedule --on gpu
                                            and how they would on a GPU
  deckle explain mean.dk --ir asm           the machine code
  deckle explain mean.dk --timing           what each pass of the compiler took

A function whose types are open is there once for each way in which others use it.";

const REPL_EXAMPLES: &str = "\
Example:
  deckle> let xs = [1, 2, 4.5]
  xs: [real; 3]
  deckle> sum(xs) / real(length(xs))
  2.5
  deckle> :type it
  real

`:help` lists the commands. From anything but a terminal the inputs are read without a prompt:
  echo '1 + 1' | deckle repl";

/// Deckle: a data-parallel language for ragged data.
#[derive(Debug, Parser)]
#[command(name = "deckle", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program
    Run(RunArgs),
    /// Check a program without running it: report all errors, or print the signature of every function
    Check(CheckArgs),
    /// Predict the cost of a program: work, depth, space and bytes, next to the measured cost of a run
    Cost(CostArgs),
    /// Show what the compiler decides: what is streamed, lifted and proven, and the program at each stage
    Explain(ExplainArgs),
    /// Evaluate definitions and expressions interactively
    Repl(ReplArgs),
    /// Report what Deckle finds on this machine: CPU, memory, LLVM, GPU, cache
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// The program
    #[arg(value_name = "FILE.dk")]
    pub file: PathBuf,
    /// An argument for each parameter: a value, or @ and a file to read it from (.npy, .npz, .mtx, .csv, .txt, .png, .wav, ...)
    #[arg(value_name = "NAME=VALUE | NAME=@FILE")]
    pub arguments: Vec<String>,
    /// The function to run [default: `main`, or the only one]
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Where to run [default: cpu, or interp without LLVM]
    #[arg(long, value_name = "WHERE", value_enum)]
    pub on: Option<Backend>,
    /// The number of threads, with `--on cpu` [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// The memory budget of arrays: 512M, 2G, or a number of bytes
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
    /// The number of the GPU, with `--on gpu`, as `deckle doctor` lists them [default: 0]
    #[arg(long, value_name = "N")]
    pub device: Option<usize>,
    /// The budget of device memory for arrays: 512M, 20G, or a number of bytes [default: most of what is free]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub device_memory: Option<u64>,
    /// The chunk size of sequences: a number of elements, or `auto` to adapt to time and memory. Results do not depend on it [default: auto]
    #[arg(long, value_name = "N | auto", value_parser = chunk)]
    pub chunk: Option<ChunkSize>,
    /// Follow the schedule in this file, in the form that `deckle explain --ir schedule` prints, for the functions that it names; the others are scheduled as usual
    #[arg(long, value_name = "FILE")]
    pub schedule: Option<PathBuf>,
    /// Write the result to this file instead (`-.csv`: to standard output), in the format of its extension: .npy, .npz, .mtx, .csv, .json, .txt, .png, .pgm, .wav, ...
    #[arg(long, value_name = "FILE", value_parser = Target::parse, allow_hyphen_values = true)]
    pub out: Option<Target>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print all elements of a long result
    #[arg(long)]
    pub full: bool,
    /// Store sequences in memory where the program needs them twice, and report which
    #[arg(long)]
    pub materialize: bool,
    /// In sums of products, round each product before it is added, instead of using fused multiply-add: slower, with other last bits
    #[arg(long)]
    pub no_contract: bool,
    /// Show progress over sequences: a bar on standard error with the rate, the chunk size and the memory of arrays
    #[arg(long)]
    pub progress: bool,
    /// Print time, memory and other statistics of the run as one JSON object on standard error
    #[arg(long)]
    pub stats: bool,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// The program
    #[arg(value_name = "FILE.dk")]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = COST_EXAMPLES)]
pub struct CostArgs {
    /// The program
    #[arg(value_name = "FILE.dk")]
    pub file: PathBuf,
    /// Sizes, or arguments as for `run`
    #[arg(value_name = "NAME=VALUE | NAME=@FILE")]
    pub arguments: Vec<String>,
    /// The function [default: all of them, or `main` if arguments are given]
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// The chunk size of sequences
    #[arg(long, value_name = "ELEMENTS", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..))]
    pub chunk: u64,
    /// The number of threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub threads: u64,
    /// A memory budget: 512M, 2G, or a number of bytes. Reports the largest chunk size that stays within it
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
}

/// The chunk size of sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkSize {
    /// An automatic number, and chunks only if something would be materialised.
    Auto,
    /// This many.
    Elements(i64),
}

fn chunk(text: &str) -> Result<ChunkSize, String> {
    if text == "auto" {
        return Ok(ChunkSize::Auto);
    }
    let number = text.parse().ok().filter(|n| *n > 0).map(ChunkSize::Elements);
    number.ok_or_else(|| "write a positive number of elements, or `auto`".into())
}

fn threads(text: &str) -> Result<usize, String> {
    let most = deckle_runtime::team::MOST_THREADS;
    text.parse().ok().filter(|n| (1..=most).contains(n)).ok_or_else(|| format!("write a number from 1 to {most}"))
}

impl Cli {
    /// Checks exclusive options that the parser cannot check.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn checked(self) -> Result<Cli, clap::Error> {
        match &self.command {
            Command::Run(RunArgs { threads: Some(n), on: Some(on @ (Backend::Interp | Backend::Seq)), .. })
                if *n > 1 =>
            {
                let on = on.to_possible_value().map_or(String::new(), |v| v.get_name().to_string());
                let message = format!("`--on {on}` has one thread: leave `--threads {n}` out, or write `--on cpu`");
                Err(Cli::command().error(ErrorKind::ArgumentConflict, message))
            }
            Command::Run(RunArgs { chunk: Some(ChunkSize::Elements(_)), on: Some(Backend::Interp), .. }) => {
                let message =
                    "the interpreter takes sequences one element at a time: leave `--chunk` out, or `--on interp`";
                Err(Cli::command().error(ErrorKind::ArgumentConflict, message))
            }
            Command::Run(RunArgs { on, device, device_memory, .. })
                if (device.is_some() || device_memory.is_some())
                    && !matches!(on, Some(Backend::Gpu | Backend::Simulated)) =>
            {
                let option = if device.is_some() { "--device" } else { "--device-memory" };
                let message = format!("`{option}` is for GPUs: write `--on gpu`, or leave it out");
                Err(Cli::command().error(ErrorKind::ArgumentConflict, message))
            }
            Command::Explain(ExplainArgs { ir, on: Some(device), .. }) => {
                let fits = match ir {
                    Some(Stage::Schedule | Stage::Loop) => true,
                    Some(Stage::Ptx) => *device == Device::Gpu,
                    _ => *device == Device::Cpu,
                };
                let message =
                    "only `--ir schedule` and `--ir loop` are for one device or another; `--ir ptx` is for GPUs";
                if fits { Ok(self) } else { Err(Cli::command().error(ErrorKind::ArgumentConflict, message)) }
            }
            _ => Ok(self),
        }
    }
}

/// `512M`: a number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim_end_matches(['B', 'b', 'i']);
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return Err("write a number of bytes, or one with K, M, G or T behind it".into()),
    };
    let number: u64 =
        digits.trim().parse().map_err(|_| "write a number of bytes, or one with K, M, G or T behind it".to_string())?;
    number.checked_mul(1 << shift).ok_or_else(|| "that is more than there can be".into())
}

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct ExplainArgs {
    /// The program
    #[arg(value_name = "FILE.dk")]
    pub file: PathBuf,
    /// The function [default: all of them; for `--timing`, and `--ir` below `simple`, `main` or the only one]
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Print the program at this stage of the compiler instead
    #[arg(long, value_name = "STAGE", value_parser = stages())]
    pub ir: Option<Stage>,
    /// The target of schedules and loops [default: cpu]
    #[arg(long, value_name = "DEVICE", requires = "ir")]
    pub on: Option<Device>,
    /// Compile the program, and print the time of each pass
    #[arg(long, conflicts_with = "ir")]
    pub timing: bool,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Remove all compiled code that is cached for later runs
    #[arg(long)]
    pub clear_cache: bool,
}

#[derive(Debug, Args)]
#[command(after_help = REPL_EXAMPLES)]
pub struct ReplArgs {
    /// Files to load at the start, as with `:load`
    #[arg(value_name = "FILE.dk")]
    pub files: Vec<PathBuf>,
}

/// A stage of the compiler, by name.
fn stages() -> impl TypedValueParser<Value = Stage> {
    let named = STAGES.iter().map(|s| PossibleValue::new(s.name).help(s.about));
    // Other names have been rejected by the parser.
    PossibleValuesParser::new(named).map(|name| Stage::from_name(&name).unwrap_or(Stage::Array))
}

/// What kernels are lowered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Device {
    /// The cores of this machine
    Cpu,
    /// A GPU
    Gpu,
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The reference interpreter
    Interp,
    /// Compiled, on one core
    Seq,
    /// Compiled, on all cores
    Cpu,
    /// Compiled, on an NVIDIA GPU
    Gpu,
    /// Compiled for a GPU, on the simulator that tests use
    #[value(hide = true)]
    Simulated,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_may_stand_before_and_after_options() {
        let cli = Cli::try_parse_from(["deckle", "run", "a.dk", "x=-1", "--json", "y=@f.npy"]).unwrap();
        let Command::Run(args) = cli.command else { panic!("not run") };
        assert_eq!(args.arguments, ["x=-1", "y=@f.npy"]);
        assert!(args.json && args.on.is_none());
    }

    #[test]
    fn several_threads_need_several_cores() {
        let parse = |options: &str| {
            let words = ["deckle", "run", "a.dk"].into_iter().chain(options.split(' '));
            Cli::try_parse_from(words).and_then(Cli::checked).map_err(|e| e.exit_code())
        };
        for fine in [
            "--on gpu --device 1 --device-memory 20G",
            "--threads 2",
            "--threads 2 --on cpu",
            "--threads 1 --on seq",
            "--memory 512M",
        ] {
            assert!(parse(fine).is_ok(), "{fine}");
        }
        for wrong in ["--device 1", "--on cpu --device-memory 1G", "--on gpu --device x"] {
            assert_eq!(parse(wrong).err(), Some(2), "{wrong}");
        }
        for wrong in ["--threads 0", "--threads 2 --on seq", "--threads 2 --on interp", "--threads x", "--memory 5X"] {
            assert_eq!(parse(wrong).err(), Some(2), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_ending_is_a_usage_error() {
        let error = Cli::try_parse_from(["deckle", "run", "a.dk", "--out", "r.xls"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(".npy, .json or .txt"), "{error}");
    }
}
