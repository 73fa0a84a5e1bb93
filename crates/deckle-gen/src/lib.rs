//! Random well-typed programs of the array IR, with arguments, for tests.
//!
//! [`program`] makes a [`Case`] from a seed: the same one on every machine. Programs are built with
//! [`deckle_ir::array::Builder`] alone, so they are well-typed by construction, and use every operator of the table.
//! Most runs succeed; some end in an error of the user's kind (an index out of range, say), which every
//! backend must report alike. Work is small: a guess of how many elements each variable has keeps it so.
//!
//! [`shrink`](fn@shrink) makes a failing case smaller, [`rebuild`] is the tool that it does so with.
//!
//! ```
//! use deckle_gen::{Config, program};
//! let case = program(7, &Config::default());
//! assert_eq!(case.program, program(7, &Config::default()).program);
//! deckle_ir::array::verify(&case.program).unwrap();
//! ```

pub mod compare;
mod generate;
mod guess;
mod idioms;
mod ops;
mod params;
pub mod rebuild;
mod rng;
mod scalars;
pub mod schedules;
pub mod shrink;
pub mod sweep;

pub use rng::Rng;
pub use shrink::shrink;

use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::value::Value;
use std::fmt;

/// What programs to make.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many random statements a function's own body has at most, beside those that they need.
    pub max_stmts: usize,
    /// How many random statements any other body has at most.
    pub body_stmts: usize,
    /// How deeply bodies are inside one another at most.
    pub max_depth: usize,
    /// How many random statements a function has at most, all bodies together.
    pub fuel: usize,
    /// How many functions there are at most beside the entry.
    pub helpers: usize,
    /// How many arrays are inside one another at most in types made up at random.
    pub nesting: usize,
    /// Whether there are sequences.
    pub sequences: bool,
    /// Whether bodies that run many times over arrays, or loops, may use sequences from outside.
    pub retraverse: bool,
    /// Whether all operators of folds and scans are associative, as the language demands.
    pub associative: bool,
    /// Whether folds and scans may add floats, where the order of evaluation shows.
    pub float_sums: bool,
    /// In how many of 100 choices a run may fail.
    pub risk: usize,
    /// About how many elements a variable has at most, over all runs of its body together.
    pub max_elements: u64,
    /// Of how many of 100 statements several are made together, in a way in which compilers have gone wrong.
    pub idioms: usize,
    /// The most elements of a vector that is meant to be long.
    pub long: i64,
    /// Names of operators and idioms that do not occur: those that a backend lacks, say.
    pub avoid: Vec<&'static str>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            max_stmts: 8,
            body_stmts: 3,
            max_depth: 3,
            fuel: 28,
            helpers: 2,
            nesting: 3,
            sequences: true,
            retraverse: false,
            associative: true,
            float_sums: true,
            risk: 10,
            max_elements: 1500,
            idioms: 0,
            long: 0,
            avoid: Vec::new(),
        }
    }
}

impl Config {
    /// Vectors, of scalars for the most part: no sequences, little nesting.
    pub fn flat() -> Config {
        Config { nesting: 1, max_depth: 2, helpers: 1, sequences: false, ..Config::default() }
    }

    /// Nested arrays, regular and jagged, without sequences.
    pub fn nested() -> Config {
        Config { sequences: false, ..Config::default() }
    }

    /// The same with idioms, and vectors that are long enough to be cut in several places where tests make blocks small. If `DECKLE_IDIOM` names an
    /// idiom, there is no other.
    pub fn with_idioms(mut self) -> Config {
        if let Ok(only) = std::env::var("DECKLE_IDIOM") {
            self.avoid.extend(idioms::IDIOMS.iter().map(|i| i.name).filter(|name| *name != only));
        }
        Config { idioms: 35, long: 50, max_elements: 4000, ..self }
    }

    /// The same with vectors of real sizes.
    pub fn at_size(self, long: i64) -> Config {
        Config { long, max_elements: 12 * long as u64, max_stmts: 4, ..self }
    }
}

/// A program and what to apply it to.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program, which verifies.
    pub program: Program,
    /// The function to run.
    pub entry: Func,
    /// Its arguments.
    pub args: Vec<Value>,
    /// What it was made from.
    pub seed: u64,
}

/// The case of a seed.
pub fn program(seed: u64, config: &Config) -> Case {
    generate::case(seed, config)
}

/// The program and its arguments, as text.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.program)?;
        let Some(entry) = self.program.funcs.get(self.entry.index()) else { return Ok(()) };
        writeln!(f, "run @{} with", entry.name)?;
        for (name, arg) in entry.param_names.iter().zip(&self.args) {
            writeln!(f, "  {name} = {}", Show(arg))?;
        }
        Ok(())
    }
}

/// A value as text: `[...]` for vectors, `{...}` for sequences.
pub struct Show<'a>(pub &'a Value);

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, parts, close): (_, &[Value], _) = match self.0 {
            Value::Scalar(s) => return write!(f, "{s}"),
            Value::Tuple(parts) => ("(", parts, ")"),
            Value::Array(items) => ("[", items, "]"),
            Value::Seq(items) => ("{", items, "}"),
        };
        f.write_str(open)?;
        for (k, part) in parts.iter().enumerate() {
            write!(f, "{}{}", if k > 0 { ", " } else { "" }, Show(part))?;
        }
        f.write_str(close)
    }
}
