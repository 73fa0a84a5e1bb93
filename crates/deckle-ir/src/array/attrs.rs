//! The static attributes that operators carry.

use crate::types::Type;
use crate::value::Value;

/// Whether an operator makes a vector or a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coll {
    /// All in memory.
    Array,
    /// In time.
    Seq,
}

/// What `slice` does with one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slicer {
    /// Keeps the axis. Takes no operand.
    All,
    /// Picks one position and drops the axis. Takes the index.
    At,
    /// Keeps a half-open range. Takes its two ends.
    Range,
}

impl Slicer {
    /// How many operands it takes.
    pub fn operands(self) -> usize {
        match self {
            Slicer::All => 0,
            Slicer::At => 1,
            Slicer::Range => 2,
        }
    }
}

/// How `split` is told where the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitBy {
    /// The length of each row.
    Lengths,
    /// Where each row starts, and one more for the end, as in CSR.
    Offsets,
}

/// A built-in reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Monoid {
    /// `+`; of nothing, 0.
    Sum,
    /// `*`; of nothing, 1.
    Product,
    /// The least; of nothing, an error.
    Min,
    /// The greatest; of nothing, an error.
    Max,
    /// Whether any is true; of nothing, `false`.
    Any,
    /// Whether all are true; of nothing, `true`.
    All,
    /// The position of the first least; of nothing, an error.
    ArgMin,
    /// The position of the first greatest; of nothing, an error.
    ArgMax,
}

impl Monoid {
    /// All of them, with their names.
    pub const ALL: [(Monoid, &'static str); 8] = [
        (Monoid::Sum, "sum"),
        (Monoid::Product, "product"),
        (Monoid::Min, "min"),
        (Monoid::Max, "max"),
        (Monoid::Any, "any"),
        (Monoid::All, "all"),
        (Monoid::ArgMin, "argmin"),
        (Monoid::ArgMax, "argmax"),
    ];
}

/// From which end a scan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the first element.
    Left,
    /// From the last element.
    Right,
}

/// Which partial results a scan keeps. For `[a, b]` from the left with start `z`:
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanKind {
    /// `[z+a, z+a+b]`, or without a start `[a, a+b]`: as many as there are elements.
    Inclusive,
    /// `[z, z+a]`: as many as there are elements.
    Exclusive,
    /// `[z, z+a, z+a+b]`: one more.
    Full,
}

/// What a stencil sees beyond the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// The nearest element: `a b c | c c`.
    Clamp,
    /// Mirrored with the edge repeated: `a b c | c b`.
    Mirror,
    /// From the other side: `a b c | a b`.
    Wrap,
    /// A given element.
    Constant,
    /// What a second body gives for the index.
    Function,
}

impl Boundary {
    /// All of them, with their names.
    pub const ALL: [(Boundary, &'static str); 5] = [
        (Boundary::Clamp, "clamp"),
        (Boundary::Mirror, "mirror"),
        (Boundary::Wrap, "wrap"),
        (Boundary::Constant, "constant"),
        (Boundary::Function, "function"),
    ];
}

/// A host value that is part of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its type; all sizes are numbers.
    pub ty: Type,
    /// The value.
    pub value: Value,
}

/// The name and the field names of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordShape {
    /// The type's name.
    pub name: String,
    /// The fields, in order.
    pub fields: Vec<String>,
}
