//! What a benchmark is: a program, data for it, a check of what it gives, and what bounds its speed.

use crate::data::Float;
use deckle_engine::Data;
use deckle_runtime::{Buffer, Form, Number, Plain, Pool};

/// What memory does for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// It is read.
    Read,
    /// Two arrays are read, one is written.
    Triad,
    /// One array is read, one is changed in place.
    Update,
}

/// The least that a program has to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bound {
    /// Bytes read and written at least, and how.
    pub bytes: f64,
    /// How they are read and written; nothing if memory does not bound the program.
    pub stream: Option<Stream>,
    /// Operations; what they count is in `unit`.
    pub ops: f64,
    /// Bytes of the floats that are multiplied and added; 0 if that does not bound the program.
    pub fma: usize,
    /// What `ops` counts: flop, log, key.
    pub unit: &'static str,
}

impl Bound {
    /// Reading so many bytes.
    pub fn read(bytes: f64, ops: f64, unit: &'static str) -> Bound {
        Bound { bytes, stream: Some(Stream::Read), ops, fma: 0, unit }
    }

    /// Nothing that is simple.
    pub fn none(ops: f64, unit: &'static str) -> Bound {
        Bound { ops, unit, ..Bound::default() }
    }

    /// Reading and writing as `stream` does.
    pub fn stream(stream: Stream, bytes: f64, ops: f64) -> Bound {
        Bound { bytes, stream: Some(stream), ops, fma: 0, unit: "flop" }
    }

    /// Multiplying and adding floats of type `T`, besides what it was.
    pub fn and_flops<T: Float>(self, flops: f64) -> Bound {
        Bound { ops: flops, fma: size_of::<T>(), unit: "flop", ..self }
    }

    /// Multiplying and adding floats of type `T`.
    pub fn flops<T: Float>(flops: f64) -> Bound {
        Bound::default().and_flops::<T>(flops)
    }
}

/// Tells the relative error of a result, or what is wrong with it.
pub type Check = Box<dyn Fn(&Data) -> Result<f64, String>>;

/// A benchmark with its data.
pub struct Job {
    /// One for each parameter.
    pub args: Vec<Data>,
    /// The parameter that the result is given to in the next run, for updates in place.
    pub again: Option<usize>,
    /// The check.
    pub check: Check,
    /// The bound.
    pub bound: Bound,
}

/// Makes the data, of the full size or a small one.
type Make = Box<dyn Fn(&Pool, bool) -> Job>;

/// A benchmark.
pub struct Case {
    /// Its name.
    pub name: String,
    /// The folder of its rivals.
    pub group: &'static str,
    /// What they call it.
    pub rival: &'static str,
    /// What they call its size.
    pub size: String,
    /// The file of the program.
    pub program: &'static str,
    /// The function.
    pub entry: String,
    /// Makes the data.
    pub make: Make,
}

impl Case {
    /// Whether a word on the command line means this benchmark: its name, the beginning of it, or its group.
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

/// Rows that begin at offsets.
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

/// The elements of the only buffer of a value, which has to hold `n`.
pub fn elements<T: Plain>(data: &Data, n: usize) -> Result<&[T], String> {
    match leaves(data)[..] {
        [b] if b.len() == n * size_of::<T>() => Ok(b.as_slice()),
        [b] => Err(format!("{} bytes in the place of {}", b.len(), n * size_of::<T>())),
        ref other => Err(format!("{} arrays in the place of one", other.len())),
    }
}
