//! The command line.

/// What to do.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The selected benchmarks; all, if none is named.
    pub names: Vec<String>,
    /// One JSON object per line instead of a table.
    pub json: bool,
    /// The table as Markdown, with the machine and the date.
    pub markdown: bool,
    /// The rivals as well, alternating.
    pub peers: bool,
    /// On a GPU as well, where a benchmark can.
    pub gpu: bool,
    /// A file for the picture of `nine` or `fused`.
    pub plot: Option<String>,
    /// A folder for the pictures that the nine programs compute.
    pub pictures: Option<String>,
    /// Small data.
    pub quick: bool,
    /// Print only the names.
    pub list: bool,
    /// A file of earlier figures to show instead of new ones.
    pub from: Option<String>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// The number of starts of each benchmark, and of each rival.
    pub rounds: usize,
    /// A file of a schedule that the benchmarks follow, alternating with the chosen one.
    pub schedule: Option<String>,
    /// Files of edges, for the benchmarks of graphs.
    pub graphs: Vec<String>,
    /// Files of matrices, or folders of them, separated by commas.
    pub matrices: Option<String>,
    /// In this process: a single benchmark, or a job of `latency`.
    pub inner: Option<Inner>,
}

/// The job of a child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inner {
    /// One benchmark.
    Case(String),
    /// Compiles a function of a file once.
    Compile(String, String),
}

/// What is printed for `--help`.
pub const USAGE: &str = "\
usage: deckle-bench [NAME ...] [--json] [--markdown] [--peers] [--gpu] [--quick] [--threads 1,2] [--rounds N] [--schedule FILE] [--graph FILE ...] [--matrices FILE,...] [--plot FILE] [--pictures DIR] [--list] [--from FILE]

  NAME         a benchmark, the beginning of its name, or a folder of rivals; all if there is none
  --json       one JSON object a line
  --markdown   the table of docs/performance.md
  --peers      runs the rival programs in turns with Deckle's: $DECKLE_PEERS, or ../shared/peers beside the checkout
  --gpu        measures `nine` and `fused` on a GPU as well
  --plot       a file for their picture, as SVG
  --pictures   a folder for what back-projection and volume rendering show
  --quick      small data, for trying out; such figures mean nothing
  --threads    numbers of threads; 1 and all cores unless said otherwise
  --rounds     how often everything is started anew; 3 with rivals, otherwise 1
  --schedule   a file with the schedule of some functions, as `deckle explain --ir schedule` prints it: the benchmark alternates between it and
               the chosen schedule, whose time divided by that of the given one is shown as a rival's
  --graph FILE a graph for the benchmarks of graphs in the place of the generated ones: two vertices on a line, or Matrix Market; may be repeated
  --list       only the names
  --from FILE  shows what was printed earlier with --json, in the place of measuring
  --matrices   the Matrix Market files of the benchmarks `sparse`, or folders of them, separated by commas; $DECKLE_MATRICES unless said
               otherwise. They run in turns with SciPy, and MKL if it is there, of the Python that $DECKLE_SCIPY names";

/// Reads the command line.
pub fn parse(args: &[String], cores: usize) -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().cloned().ok_or(format!("`{arg}` needs a value"));
        match arg.as_str() {
            "--json" => options.json = true,
            "--markdown" => options.markdown = true,
            "--peers" => options.peers = true,
            "--gpu" => options.gpu = true,
            "--pictures" => options.pictures = Some(value()?),
            "--plot" => options.plot = Some(value()?),
            "--quick" => options.quick = true,
            "--list" => options.list = true,
            "--from" => options.from = Some(value()?),
            "--schedule" => options.schedule = Some(value()?),
            "--matrices" => options.matrices = Some(value()?),
            "--threads" => options.threads = numbers(&value()?)?,
            "--graph" => options.graphs.push(value()?),
            "--rounds" => options.rounds = numbers(&value()?)?[0],
            "--inner-case" => options.inner = Some(Inner::Case(value()?)),
            "--inner-compile" => options.inner = Some(Inner::Compile(value()?, value()?)),
            other if other.starts_with('-') => return Err(format!("`{other}` is no option")),
            name => options.names.push(name.to_string()),
        }
    }
    if options.threads.is_empty() {
        options.threads = if cores > 1 { vec![1, cores] } else { vec![1] };
    }
    if options.rounds == 0 {
        options.rounds = if options.peers && !options.quick { 3 } else { 1 };
    }
    Ok(options)
}

fn numbers(text: &str) -> Result<Vec<usize>, String> {
    let number = |t: &str| t.trim().parse().ok().filter(|n| *n > 0).ok_or(format!("`{t}` is no number above 0"));
    text.split(',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>(), 2)
    }

    #[test]
    fn words_and_options() {
        let o = parsed("dot sum --json --threads 1,4").unwrap();
        assert_eq!((o.names.len(), o.json, o.threads, o.rounds), (2, true, vec![1, 4], 1));
        assert_eq!(parsed("--peers").unwrap().rounds, 3);
        assert_eq!(parsed("dot --schedule s.txt").unwrap().schedule.as_deref(), Some("s.txt"));
        assert!(parsed("--threads 0").is_err() && parsed("--threads").is_err() && parsed("--what").is_err());
    }
}
