//! File tests: `.dk` programs with their expected output.
//!
//! A file under `tests/` is a program with commands and expected text in its comments:
//! ```text
//! // The sum of nothing is zero.
//! def main(xs: [int]) = sum(xs)
//!
//! //> run xs=[1, 2, 3]
//! //= 6
//! //> run xs=[]
//! //= 0
//! ```
//! | command | expected text |
//! |---|---|
//! | `run NAME=VALUE ...` | the result as `deckle run` prints it, or the error; `--entry NAME` selects a function, `--full` prints all of a long result |
//! | `check` | the signature of every function that can be run, or every error |
//! | `ir [NAME]` | the array IR of one function, or of all |
//! | `simple [NAME]` | the same, simplified |
//! | `explain [NAME]` | the explanation of one function, or of each, before it runs |
//! | `predict [NAME]` | the cost of one function, or of each, as a formula |
//! | `kept` | the sequences that must be in memory |
//! | `schedule [NAME [KERNEL]] [--on gpu]` | the schedules of the loops of one function, or of each, on a processor with native gathers, or on a GPU; of one kernel (`k2`; on a GPU `g2`), or of all |
//! | `kernels [NAME]` | `kernels K, in loops L, launches M, sorts S` of one function, or of each; redundant counts are omitted |
//! | `cost NAME=VALUE ...` | `work W, depth D, space M / N`: sequential and parallel space; `--entry NAME` as above |
//!
//! Arguments are split as by a shell, but a value extends to its closing bracket: `xs=[1, 2]` needs no quotes. Commands follow
//! the program, since errors name lines. A line `//@ examples/dot.dk` names the file of the program, relative to the root of the repository. Files in a folder named `lib` are imported by others, and have no commands.
//!
//! Every file is also checked as follows: the program verifies, its IR is read back from its text as the same IR, and every
//! backend of [`backend`] agrees with the interpreter on every `run`. So a file tests one behaviour on all of them.
//!
//! `DECKLE_BLESS=1` writes the output of the commands into the files, for you to review in the diff; `DECKLE_FILTER=text` runs only the files
//! whose path contains the text.

pub mod backend;
mod command;
pub mod coverage;
mod diff;
mod file;
mod program;
mod runs;
mod suite;
mod words;

pub use runs::{FileRun, runs};
pub use suite::{Report, Selection, files, root, run};
