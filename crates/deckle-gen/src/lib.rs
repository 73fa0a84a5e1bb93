//! Random well-typed programs of the array IR, with arguments, for tests.
//!
//! [`program`] makes a [`Case`] from a seed: the same one on every machine. Programs are built with
//! [`deckle_ir::array::Builder`] alone, so they are well-typed by construction, and use every operator of the table.
//! Most runs succeed; some end in a user error (an index out of range, for example), which every
//! backend must report alike. Work is small: a guess of the number of elements of each variable bounds it.
//!
//! [`shrink`](fn@shrink) makes a failing case smaller, with [`rebuild`].
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

/// The kind of programs to generate.
#[derive(Clone, Debug)]
pub struct Config {
    /// The maximal number of random statements in a function's own body, in addition to those that they need.
    pub max_stmts: usize,
    /// The maximal number of random statements in any other body.
    pub body_stmts: usize,
    /// The maximal nesting depth of bodies.
    pub max_depth: usize,
    /// The maximal number of random statements of a function, all bodies together.
    pub fuel: usize,
    /// The maximal number of functions besides the entry.
    pub helpers: usize,
    /// The maximal nesting depth of arrays in random types.
    pub nesting: usize,
    /// Whether there are sequences.
    pub sequences: bool,
    /// Whether bodies that run many times over arrays, or loops, may use sequences from outside.
    pub retraverse: bool,
    /// Whether all operators of folds and scans are associative, as the language requires.
    pub associative: bool,
    /// Whether folds and scans may add floats, where the order of evaluation shows.
    pub float_sums: bool,
    /// The percentage of choices in which a run may fail.
    pub risk: usize,
    /// The approximate maximal number of elements of a variable, over all runs of its body together.
    pub max_elements: u64,
    /// The percentage of statements that are idioms: combinations in which compilers had bugs.
    pub idioms: usize,
    /// The maximal number of elements of a long vector.
    pub long: i64,
    /// Names of operators and idioms that do not occur: those that a backend does not support, for example.
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
    /// Vectors, mostly of scalars: no sequences, little nesting.
    pub fn flat() -> Config {
        Config { nesting: 1, max_depth: 2, helpers: 1, sequences: false, ..Config::default() }
    }

    /// Nested arrays, regular and jagged, without sequences.
    pub fn nested() -> Config {
        Config { sequences: false, ..Config::default() }
    }

    /// The same with idioms, and vectors that are long enough to be cut in several places if tests make blocks small. If `DECKLE_IDIOM` names an
    /// idiom, there is no other.
    pub fn with_idioms(mut self) -> Config {
        if let Ok(only) = std::env::var("DECKLE_IDIOM") {
            self.avoid.extend(idioms::IDIOMS.iter().map(|i| i.name).filter(|name| *name != only));
        }
        Config { idioms: 35, long: 50, max_elements: 4000, ..self }
    }

    /// The same with vectors of realistic sizes.
    pub fn at_size(self, long: i64) -> Config {
        Config { long, max_elements: 12 * long as u64, max_stmts: 4, ..self }
    }
}

/// A program with arguments.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program, which verifies.
    pub program: Program,
    /// The function to run.
    pub entry: Func,
    /// Its arguments.
    pub args: Vec<Value>,
    /// Its seed.
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
