//! File tests: `.dk` programs that say what they give.
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
//! | `run NAME=VALUE ...` | the result as `deckle run` prints it, or the error; `--entry NAME` chooses a function, `--full` prints all of a long result |
//! | `check` | the signature of every function that can be run, or every error |
//! | `ir [NAME]` | the array IR of one function, or of all |
//! | `simple [NAME]` | the same, simplified |
//! | `explain [NAME]` | what is known of one function, or of each, before it runs |
//! | `predict [NAME]` | the cost of one function, or of each, as a formula |
//! | `kept` | the sequences that have to be in memory |
//! | `schedule [NAME [KERNEL]] [--on gpu]` | how the loops of one function, or of each, run on a processor with native gathers, or on a GPU; of one kernel (`k2`; on a GPU `g2`), or of all |
//! | `kernels [NAME]` | `kernels K, in loops L, launches M, sorts S` of one function, or of each; counts that say nothing more are left out |
//! | `cost NAME=VALUE ...` | `work W, depth D, space M / N`: sequential and parallel space; `--entry NAME` as above |
//!
//! Arguments are split as a shell does, but a value reaches over its brackets: `xs=[1, 2]` needs no quotes. Commands stand
//! below the program, since errors name lines. A line `//@ examples/dot.dk` says that the program is that file, from the root of the repository on. Files in a folder named `lib` are there to be imported, and have no commands.
//!
//! Behind every file stand more checks: the program verifies, its IR is read back from its text as the same IR, and every
//! backend of [`backend`] agrees with the interpreter on every `run`. So a file tests one behaviour on all of them.
//!
//! `DECKLE_BLESS=1` writes what the commands give into the files, for you to read in the diff; `DECKLE_FILTER=text` runs only the files
//! whose path contains the text.

pub mod backend;
mod command;
pub mod coverage;
mod diff;
mod file;
mod program;
mod suite;
mod words;

pub use suite::{Report, Selection, files, root, run};
