//! The static attributes that operators carry.

use crate::types::Type;
use crate::value::Value;

/// Whether an operator returns a vector or a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coll {
    /// All in memory.
    Array,
    /// In time.
    Seq,
}

/// The treatment of one axis by `slice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slicer {
    /// Keeps the axis. Takes no operand.
    All,
    /// Selects one position and drops the axis. Takes the index.
    At,
    /// Keeps a half-open range. Takes its two ends.
    Range,
}

impl Slicer {
    /// The number of its operands.
    pub fn operands(self) -> usize {
        match self {
            Slicer::All => 0,
            Slicer::At => 1,
            Slicer::Range => 2,
        }
    }
}

/// How `split` specifies the rows.
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
    /// `+`; of an empty collection 0.
    Sum,
    /// `*`; of an empty collection 1.
    Product,
    /// The minimum; of an empty collection an error.
    Min,
    /// The maximum; of an empty collection an error.
    Max,
    /// Whether any is true; of an empty collection `false`.
    Any,
    /// Whether all are true; of an empty collection `true`.
    All,
    /// The position of the first minimum; of an empty collection an error.
    ArgMin,
    /// The position of the first maximum; of an empty collection an error.
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

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the first element.
    Left,
    /// From the last element.
    Right,
}

/// The partial results that a scan returns. For `[a, b]` from the left with start `z`:
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanKind {
    /// `[z+a, z+a+b]`, or without a start `[a, a+b]`: one for each element.
    Inclusive,
    /// `[z, z+a]`: one for each element.
    Exclusive,
    /// `[z, z+a, z+a+b]`: one more.
    Full,
}

/// The values that a stencil reads beyond the edge.
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
    /// The value that a second body returns for the index.
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
