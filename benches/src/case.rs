//! The definition of a benchmark: a program, data for it, a check of its result, and the bound on its speed.

use crate::data::Float;
use deckle_engine::Data;
use deckle_runtime::{Buffer, Form, Number, Plain, Pool};

/// The memory traffic of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Reads only.
    Read,
    /// Reads two arrays, writes one.
    Triad,
    /// Reads one array, updates one in place.
    Update,
}

/// The minimal work of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound {
    /// The minimal bytes read and written.
    pub bytes: f64,
    /// How they are read and written; `None` if memory does not bound the program.
    pub stream: Option<Stream>,
    /// The operations; `unit` names what they count.
    pub ops: f64,
    /// The bytes of the floats that are multiplied and added; 0 if that does not bound the program.
    pub fma: usize,
    /// The unit of `ops`: flop, log, key.
    pub unit: &'static str,
}

impl Bound {
    /// A program that reads this many bytes.
    pub fn read(bytes: f64, ops: f64, unit: &'static str) -> Bound {
        Bound { bytes, stream: Some(Stream::Read), ops, fma: 0, unit }
    }

    /// No simple bound.
    pub fn none(ops: f64, unit: &'static str) -> Bound {
        Bound { ops, unit, ..Bound::default() }
    }

    /// Reading and writing like `stream`.
    pub fn stream(stream: Stream, bytes: f64, ops: f64) -> Bound {
        Bound { bytes, stream: Some(stream), ops, fma: 0, unit: "flop" }
    }

    /// Adds multiplications and additions of floats of type `T` to the bound.
    pub fn and_flops<T: Float>(self, flops: f64) -> Bound {
        Bound { ops: flops, fma: size_of::<T>(), unit: "flop", ..self }
    }

    /// Multiplications and additions of floats of type `T`.
    pub fn flops<T: Float>(flops: f64) -> Bound {
        Bound::default().and_flops::<T>(flops)
    }
}

/// Returns the relative error of a result, or what is wrong with it.
pub type Check = Box<dyn Fn(&Data) -> Result<f64, String>>;

/// A benchmark with its data.
pub struct Job {
    /// The arguments, one for each parameter.
    pub args: Vec<Data>,
    /// The parameter that receives the result in the next run, for updates in place.
    pub again: Option<usize>,
    /// The check.
    pub check: Check,
    /// The bound.
    pub bound: Bound,
}

/// The size of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// For figures: many times the caches.
    Full,
    /// For trying out, and for GPUs with little memory.
    Quick,
    /// For the simulator of GPUs.
    Tiny,
}

impl Size {
    /// A number for each size.
    pub fn of<T>(self, full: T, quick: T, tiny: T) -> T {
        match self {
            Size::Full => full,
            Size::Quick => quick,
            Size::Tiny => tiny,
        }
    }
}

/// Creates the data.
type Make = Box<dyn Fn(&Pool, Size) -> Job>;

/// A benchmark.
pub struct Case {
    /// Its name.
    pub name: String,
    /// The folder of its rivals.
    pub group: &'static str,
    /// Its name in the rivals.
    pub rival: &'static str,
    /// Its size in the rivals.
    pub size: String,
    /// The file of the program.
    pub program: &'static str,
    /// The function.
    pub entry: String,
    /// Creates the data of a size.
    pub make: Make,
}

impl Case {
    /// Whether a word on the command line selects this benchmark: its name, a prefix of it, or its group.
    pub fn answers_to(&self, word: &str) -> bool {
        self.name == word
            || self.name.strip_prefix(word).is_some_and(|rest| rest.starts_with('-'))
            || self.group == word
            || self.group.split_once('-').is_some_and(|(number, name)| number == word || name == word)
    }
}

/// A buffer of the pool.
pub fn buffer<T: Plain>(pool: &Pool, elements: &[T]) -> Buffer {
    pool.alloc_from(elements, "data").unwrap_or_else(|e| panic!("{e:?}"))
}

/// Scalars, one after another.
pub fn scalars<T: Number>(pool: &Pool, elements: &[T]) -> Data {
    Data::copied(elements, pool, "data").unwrap_or_else(|e| panic!("{e:?}"))
}

/// Arrays of `size` elements.
pub fn equal(size: usize, elements: Data) -> Data {
    Data::equal(elements.len() / size, size, elements).unwrap_or_else(|e| panic!("{e}"))
}

/// Rows given by offsets.
pub fn rows(pool: &Pool, offsets: &[i64], elements: Data) -> Data {
    Data::rows(buffer(pool, offsets), elements).unwrap_or_else(|e| panic!("{e}"))
}

/// One tuple.
pub fn tuple(parts: Vec<Data>) -> Data {
    Data::tuples(1, parts).unwrap_or_else(|e| panic!("{e}"))
}

/// A scalar as an argument.
pub fn scalar<T: Number>(pool: &Pool, x: T) -> Data {
    scalars(pool, &[x])
}

/// A vector as an argument.
pub fn vector<T: Number>(pool: &Pool, elements: &[T]) -> Data {
    Data::array(scalars(pool, elements))
}

/// A matrix as an argument: rows of `width` elements.
pub fn matrix<T: Number>(pool: &Pool, elements: &[T], width: usize) -> Data {
    Data::array(equal(width, scalars(pool, elements)))
}

/// The buffers of a value, in order, without those of its offsets.
pub fn leaves(data: &Data) -> Vec<&Buffer> {
    match data.form() {
        Form::Scalars(_, b) => vec![b],
        Form::Tuple(parts) => parts.iter().flat_map(leaves).collect(),
        Form::Equal(_, elem) | Form::Offsets(_, elem) => leaves(elem),
    }
}

/// The elements of the only buffer of a value, which must hold `n`.
pub fn elements<T: Plain>(data: &Data, n: usize) -> Result<&[T], String> {
    match leaves(data)[..] {
        [b] if b.len() == n * size_of::<T>() => Ok(b.as_slice()),
        [b] => Err(format!("{} bytes in the place of {}", b.len(), n * size_of::<T>())),
        ref other => Err(format!("{} arrays in the place of one", other.len())),
    }
}
