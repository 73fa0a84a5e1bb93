//! The table of faults: all run-time errors of a program, with their codes and messages.
//!
//! A fault is the subject of a check. With its *operands*, the numbers that were checked, it renders to a diagnostic. The interpreter and
//! native code render only from this table, so a program fails with the same message wherever it runs.
//!
//! ```text
//! index "index"             range             negative "a size"       zero_step i64      tile_size
//! divide_by_zero i64        lengths 1         negative_exponent       size "argument `xs`" of n
//! unknown_size "`xs`"       count "a size"    uneven
//! empty fold1               reshape           unequal_rows transpose  not_singleton
//! row_length                row_total         no_offsets              first_offset       descending
//! offset_beyond             flags             many_flags              few_flags          open_group
//! too_large "`xs`"          no_memory         steps                   interrupted        too_many "`xs`"
//! ```

use crate::scalar::ScalarType;
use crate::text::Name;
use crate::text::scan::{Cursor, Read};
use deckle_diag::{Code, Diagnostic, Span};
use std::borrow::Cow;
use std::fmt;

/// Words that are written in the compiler, or read from text.
type Text = Cow<'static, str>;

/// The kinds of run-time errors, with the meaning of the operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Operands: the index, the length. The name is that of the index.
    Index(Text),
    /// Operands: from, to, the length.
    Range,
    /// Operand: the size. The name is that of the size.
    Negative(Text),
    /// Operand: a number of elements that is negative, or above the limit. The name is that of the number.
    Count(Text),
    /// Operands: the ends of a range whose step is zero, of this type.
    ZeroStep(ScalarType),
    /// Operand: the extent of a tile.
    TileSize,
    /// Operand: the dividend, of this type.
    DivideByZero(ScalarType),
    /// Operands: the base, the exponent.
    NegativeExponent,
    /// Operands: the first length, the other one. The number is the index of the other.
    Lengths(usize),
    /// As [`Fault::Lengths`], of sequences of which it is only known that one ends before another. No operands.
    Uneven,
    /// Operands: the number of elements, and the sizes of the new shape.
    Reshape,
    /// The operator.
    Empty(Text),
    /// Operands: the length of a row, that of a row before it, and the position of the row, which has an index for each dimension. The operator or value.
    UnequalRows(Text),
    /// Operand: the number of elements.
    NotSingleton,
    /// Operands: the row, its length.
    RowLength,
    /// Operands: the total length of all rows, the number of elements.
    RowTotal,
    /// No operands.
    NoOffsets,
    /// Operand: the offset.
    FirstOffset,
    /// Operands: the number of the offset, the offset, the one before it.
    Descending,
    /// Operands: the number of the offset, the offset, the number of elements.
    OffsetBeyond,
    /// Operands: the number of `false` flags, the number of elements.
    Flags,
    /// As [`Fault::Flags`], if it is only known that more flags are `false` than there are elements, or fewer.
    ManyFlags,
    /// See [`Fault::ManyFlags`].
    FewFlags,
    /// No operands.
    OpenGroup,
    /// Operands: the number of elements, the size in the type, and the position of the array, which has an index for each dimension around it. The value, and
    /// the size as written.
    Size(Text, Option<String>),
    /// As [`Fault::Size`], if the size in the type is not known. Operands: the number of elements, and the position.
    UnknownSize(Text),
    /// Operands: the number of elements, the limit of the run. The name is that of the value.
    TooLarge(Text),
    /// Operand: the number of elements, above the limit; the end of the range of `i64` stands for any larger number. The name is that of the value.
    TooMany(Text),
    /// Operand: the number of elements.
    NoMemory,
    /// Operand: the maximal number of steps of a run.
    Steps,
    /// No operands.
    Interrupted,
}

/// An operator that runs a body repeatedly. An error in the body names the run in which it arose: at most [`MOST_PLACES`] of them, the innermost first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The operator.
    pub op: Text,
    /// The number of indices of an element; a step of a loop has none.
    pub indices: Option<u32>,
}

/// No array has more elements.
pub const MOST_ELEMENTS: i128 = 1 << 60;

/// The maximal number of places in a message.
pub const MOST_PLACES: usize = 2;

impl Place {
    /// An element of an operator with this number of indices.
    pub fn element(op: &'static str, indices: u32) -> Place {
        Place { op: op.into(), indices: Some(indices) }
    }

    /// A step of a loop.
    pub fn step(op: &'static str) -> Place {
        Place { op: op.into(), indices: None }
    }

    /// The number of operands that give the position.
    pub fn operands(&self) -> usize {
        self.indices.map_or(1, |n| n as usize)
    }

    /// In words.
    pub fn note(&self, at: &[i128]) -> String {
        let op = &self.op;
        match (self.indices, at) {
            (None, _) => format!("at step {} of this `{op}`", list(at, ", ")),
            (Some(_), [i]) => format!("at element {i} of this `{op}`"),
            (Some(_), at) => format!("at element ({}) of this `{op}`", list(at, ", ")),
        }
    }
}

/// Whether a note names a place.
pub fn is_place(note: &str) -> bool {
    note.starts_with("at ") && note.contains(" of this `")
}

/// Whether a place is one at which elements are combined.
fn combines(place: &str) -> bool {
    ["fold", "fold1", "scan", "permute"].iter().any(|op| place.ends_with(&format!(" of this `{op}`")))
}

/// Whether an error is that of the reference, word for word, except for what native code does not know and omits:
/// - places: positions of filtered elements, of chunks in a sequence, and of the operands of the function of a fold;
/// - the lengths of sequences that end in different chunks, or come from outside ([`Fault::Uneven`] for [`Fault::Lengths`]);
/// - the function of which a value is an argument, if the call is inlined because it traverses sequences: it is `this value` then.
///
/// It never names other places or lengths. Two errors of a limit agree: limits are those of a machine. So do two errors of one place of the source in the function by which a
/// fold, scan or permutation combines elements, whatever its operands: the order of combination is not defined.
pub fn agrees(reference: &Diagnostic, other: &Diagnostic) -> bool {
    let split = |d: &Diagnostic| d.notes.iter().cloned().partition::<Vec<String>, _>(|n| is_place(n));
    let ((known, why), (told, because)) = (split(reference), split(other));
    if reference.code != other.code {
        return false;
    }
    let place = |d: &Diagnostic| d.labels.first().map(|l| l.span);
    let written_out = reference.message.starts_with("argument ") && other.message.starts_with(VALUE);
    let is_combined = known.iter().any(|k| combines(k) && !told.contains(k));
    if other.code == Code::LimitExceeded || (written_out || is_combined) && place(reference) == place(other) {
        return true;
    }
    let mut known = known.iter();
    let same = (&reference.labels, &reference.helps) == (&other.labels, &other.helps);
    let message = reference.message == other.message || other.code == Code::LengthMismatch && other.message == UNEVEN;
    same && message && why == because && told.iter().all(|place| known.any(|k| k == place))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.indices {
            None => write!(f, "step {}", self.op),
            Some(n) => write!(f, "element {n} {}", self.op),
        }
    }
}

/// The message of a fault with its operands.
struct Words {
    message: String,
    label: &'static str,
    note: Option<String>,
    help: &'static str,
}

/// An operand converted to a type: native code records words of 64 bits, without a type.
fn read_as(ty: ScalarType, n: i128) -> i128 {
    if ty == ScalarType::U64 { i128::from(n as u64) } else { n }
}

/// `1 element`, `2 elements`.
pub fn elements(n: i128) -> String {
    if n == 1 { "1 element".into() } else { format!("{n} elements") }
}

fn list(numbers: &[i128], between: &str) -> String {
    numbers.iter().map(i128::to_string).collect::<Vec<_>>().join(between)
}

const LENGTHS: &str = "cut the longer one with `take(n, xs)`, or pad the shorter one with `pad(0, k, x, xs)`";
/// The name of an argument in an error about the type of its parameter.
pub fn argument(parameter: &str, function: &str) -> String {
    format!("argument `{parameter}` of `{function}`")
}

/// The name of a value in an error about a written type.
pub const VALUE: &str = "this value";
const UNEVEN: &str = "equal lengths are needed, but one sequence ends before another";
const OFFSETS: &str = "give where each row starts, in ascending order, and then where the last one ends";
const FLAGS: &str = "give a `false` for each element, and a `true` at the end of each subsequence";
const SIZES: &str = "give values of the sizes that are written, or write another size";

impl Fault {
    /// Its error code.
    fn code(&self, operands: &[i128]) -> Code {
        match self {
            Fault::Index(_) | Fault::Range => Code::IndexRange,
            Fault::Count(_) if operands.first().is_some_and(|n| *n >= 0) => Code::LimitExceeded,
            Fault::Negative(_) | Fault::Count(_) | Fault::ZeroStep(_) | Fault::TileSize | Fault::NegativeExponent => {
                Code::BadSize
            }
            Fault::DivideByZero(_) => Code::DivideByZero,
            Fault::Lengths(_) | Fault::Uneven | Fault::Reshape => Code::LengthMismatch,
            Fault::Empty(_) => Code::Empty,
            Fault::UnequalRows(_) => Code::NotRegular,
            Fault::NotSingleton => Code::NotSingleton,
            Fault::RowLength
            | Fault::RowTotal
            | Fault::NoOffsets
            | Fault::FirstOffset
            | Fault::Descending
            | Fault::OffsetBeyond
            | Fault::Flags
            | Fault::ManyFlags
            | Fault::FewFlags
            | Fault::OpenGroup => Code::BadSegments,
            Fault::Size(..) | Fault::UnknownSize(_) => Code::SizeCheck,
            Fault::TooLarge(_) | Fault::TooMany(_) | Fault::NoMemory | Fault::Steps | Fault::Interrupted => {
                Code::LimitExceeded
            }
        }
    }

    /// The fault with its operands, at a place of the source.
    pub fn report(&self, span: Span, operands: &[i128]) -> Diagnostic {
        let Words { message, label, note, help } = self.words(operands);
        let code = self.code(operands);
        let mut d = match span.is_none() {
            true => Diagnostic::nowhere(code, message),
            false => Diagnostic::new(code, message, span, label),
        };
        if let Some(note) = note {
            d = d.note(note);
        }
        if help.is_empty() { d } else { d.help(help) }
    }

    fn words(&self, operands: &[i128]) -> Words {
        let op = |i: usize| operands.get(i).copied().unwrap_or(0);
        let rest = |i: usize| operands.get(i..).unwrap_or_default();
        let words =
            |message: String, label: &'static str, help: &'static str| Words { message, label, note: None, help };
        match self {
            Fault::Index(what) => {
                let message = format!("{what} {} is out of range for an array of {}", op(0), elements(op(1)));
                let note = match op(1) {
                    0 => "an empty array has no elements".to_string(),
                    n => format!("positions run from 0 to {}", n - 1),
                };
                let help = "check that the index is at least 0 and below the length before using it";
                Words { message, label: "this index", note: Some(note), help }
            }
            Fault::Range => {
                let (lo, hi, n) = (op(0), op(1), op(2));
                let message = format!("the range from {lo} to {hi} does not lie within an array of {}", elements(n));
                let note = format!("a slice needs 0 <= from <= to <= {n}; the end itself is left out");
                let help = "clamp both ends to the length, or use `take` and `drop`, which do so";
                Words { message, label: "this slice", note: Some(note), help }
            }
            Fault::Count(what) if op(0) >= 0 => words(
                format!("{what} is {}, more elements than there can be", op(0)),
                "computed here",
                "use a sequence instead of an array",
            ),
            Fault::Negative(what) | Fault::Count(what) => words(
                format!("{what} is {}, but must not be negative", op(0)),
                "computed here",
                "use `max(0, ...)` where nothing is meant by less than zero",
            ),
            Fault::ZeroStep(ty) => words(
                format!(
                    "a range from {} to {} in steps of 0 would never end",
                    read_as(*ty, op(0)),
                    read_as(*ty, op(1))
                ),
                "computed here",
                "give a step that is not 0",
            ),
            Fault::TileSize => words(
                format!("a tile size is {}, but must be at least 1", op(0)),
                "computed here",
                "give a positive number of elements for each dimension",
            ),
            Fault::DivideByZero(ty) => words(
                format!("the integer {} is divided by zero", read_as(*ty, op(0))),
                "this division",
                "test the divisor first; `select` evaluates both of its values, `if` only one",
            ),
            Fault::NegativeExponent => words(
                format!("the integer {} is raised to the negative power {}", op(0), op(1)),
                "computed here",
                "convert both to `f64` first, where powers may be negative",
            ),
            Fault::Lengths(which) => {
                let ordinal = ["first", "second", "third", "fourth"].get(*which).copied().unwrap_or("next");
                words(
                    format!("equal lengths are needed, but one has {} and the {ordinal} {}", elements(op(0)), op(1)),
                    "traversed together here",
                    LENGTHS,
                )
            }
            Fault::Uneven => words(UNEVEN.into(), "traversed together here", LENGTHS),
            Fault::Reshape => words(
                format!("{} cannot be given the shape {}", elements(op(0)), list(rest(1), " by ")),
                "this reshape",
                "the product of the new sizes must be the number of elements",
            ),
            Fault::Empty(name) => words(
                format!("`{name}` of no elements"),
                "this has no elements",
                "give it a start value (`fold`), or test for emptiness first",
            ),
            Fault::UnequalRows(what) => {
                let row = match rest(2) {
                    [i] => format!("row {i}"),
                    at => format!("the row at [{}]", list(at, ", ")),
                };
                let (have, first) = (elements(op(0)), op(1));
                words(
                    format!("{what} needs rows of equal length, but {row} has {have} and a row before it {first}"),
                    "this has rows of different length",
                    "cut or pad the rows to one length, or use operators that work on jagged arrays",
                )
            }
            Fault::NotSingleton => words(
                format!("`the` needs exactly one element, but the sequence has {}", elements(op(0))),
                "this sequence",
                "use `fold` or `tab` for sequences of another length",
            ),
            Fault::RowLength => words(
                format!("the length of row {} is {}, but must not be negative", op(0), op(1)),
                "cut here",
                "give the lengths of the rows, none below 0",
            ),
            Fault::RowTotal => words(
                format!("rows of {} in all cannot be cut from {}", elements(op(0)), elements(op(1))),
                "cut here",
                "the lengths must add up to the number of elements",
            ),
            Fault::NoOffsets => words("there are no offsets, but n rows need n + 1".into(), "cut here", OFFSETS),
            Fault::FirstOffset => {
                words(format!("the first offset is {}, but must not be negative", op(0)), "cut here", OFFSETS)
            }
            Fault::Descending => {
                let (i, offset, before) = (op(0), op(1), op(2));
                words(format!("offset {i} is {offset}, below the one before it, {before}"), "cut here", OFFSETS)
            }
            Fault::OffsetBeyond => {
                let message = format!("offset {} is {}, but there are {}", op(0), op(1), elements(op(2)));
                words(message, "cut here", OFFSETS)
            }
            Fault::Flags => {
                let message = format!("{} of the flags are `false`, but there are {}", op(0), elements(op(1)));
                words(message, "cut here", FLAGS)
            }
            Fault::ManyFlags => {
                words("more of the flags are `false` than there are elements".into(), "cut here", FLAGS)
            }
            Fault::FewFlags => {
                words("fewer of the flags are `false` than there are elements".into(), "cut here", FLAGS)
            }
            Fault::OpenGroup => {
                words("the last flag is `false`, so the last subsequence does not end".into(), "cut here", FLAGS)
            }
            Fault::Size(what, written) => {
                let (what, have, n) = (placed(what, rest(2)), elements(op(0)), op(1));
                let message = match written {
                    // Native code does not compute the number.
                    Some(size) if n > MOST_ELEMENTS => {
                        format!("{what} has {have}, but its type says `{size}`, which is more than there can be")
                    }
                    Some(size) if *size != n.to_string() => {
                        format!("{what} has {have}, but its type says `{size}`, which is {n} here")
                    }
                    _ => format!("{what} has {have}, but its type says {n}"),
                };
                words(message, "this size is checked", SIZES)
            }
            Fault::UnknownSize(what) => {
                let (what, have) = (placed(what, rest(1)), elements(op(0)));
                words(format!("{what} has {have}, which is not what its type says"), "this size is checked", SIZES)
            }
            Fault::TooLarge(what) => words(
                format!("{what} comes to {} elements, more than the limit of {} for one value", op(0), op(1)),
                "made here",
                "use a sequence instead of an array, or raise the limit of the run",
            ),
            Fault::TooMany(what) => {
                let more = if op(0) == i128::from(i64::MAX) { " or more" } else { "" };
                let message = format!("{what} comes to {}{more} elements, more than there can be", op(0));
                words(message, "made here", "use a sequence instead of an array")
            }
            Fault::NoMemory => words(
                format!("there is no memory for an array of {}", elements(op(0))),
                "made here",
                "use a sequence instead of an array, or run a backend that needs less memory",
            ),
            Fault::Steps => words(
                format!("the run took more than {} steps", op(0)),
                "running this",
                "check that every loop ends, or raise the limit of the run",
            ),
            Fault::Interrupted => words("interrupted".into(), "while running this", ""),
        }
    }
}

/// A value, or the array at a position of it.
fn placed(what: &str, at: &[i128]) -> String {
    if at.is_empty() { what.to_string() } else { format!("{what} at [{}]", list(at, ", ")) }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Index(what) => write!(f, "index {}", Name(what)),
            Fault::Range => f.write_str("range"),
            Fault::Negative(what) => write!(f, "negative {}", Name(what)),
            Fault::Count(what) => write!(f, "count {}", Name(what)),
            Fault::ZeroStep(ty) => write!(f, "zero_step {ty}"),
            Fault::TileSize => f.write_str("tile_size"),
            Fault::DivideByZero(ty) => write!(f, "divide_by_zero {ty}"),
            Fault::NegativeExponent => f.write_str("negative_exponent"),
            Fault::Lengths(which) => write!(f, "lengths {which}"),
            Fault::Uneven => f.write_str("uneven"),
            Fault::Reshape => f.write_str("reshape"),
            Fault::Empty(name) => write!(f, "empty {}", Name(name)),
            Fault::UnequalRows(what) => write!(f, "unequal_rows {}", Name(what)),
            Fault::NotSingleton => f.write_str("not_singleton"),
            Fault::RowLength => f.write_str("row_length"),
            Fault::RowTotal => f.write_str("row_total"),
            Fault::NoOffsets => f.write_str("no_offsets"),
            Fault::FirstOffset => f.write_str("first_offset"),
            Fault::Descending => f.write_str("descending"),
            Fault::OffsetBeyond => f.write_str("offset_beyond"),
            Fault::Flags => f.write_str("flags"),
            Fault::ManyFlags => f.write_str("many_flags"),
            Fault::FewFlags => f.write_str("few_flags"),
            Fault::OpenGroup => f.write_str("open_group"),
            Fault::Size(what, None) => write!(f, "size {}", Name(what)),
            Fault::Size(what, Some(size)) => write!(f, "size {} of {}", Name(what), Name(size)),
            Fault::UnknownSize(what) => write!(f, "unknown_size {}", Name(what)),
            Fault::TooLarge(what) => write!(f, "too_large {}", Name(what)),
            Fault::TooMany(what) => write!(f, "too_many {}", Name(what)),
            Fault::NoMemory => f.write_str("no_memory"),
            Fault::Steps => f.write_str("steps"),
            Fault::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// Reads the places of a check: `in element 1 map in step for`.
pub(crate) fn read_places(c: &mut Cursor<'_>) -> Read<Vec<Place>> {
    let mut places = Vec::new();
    while c.peek_word() == "in" && c.eat("in") {
        let place = c.here();
        let indices = match c.word("`element` or `step`")? {
            "element" => Some(c.number::<u32>("a number")?),
            "step" => None,
            other => return c.error_at(place, format!("there is no place `{other}`")),
        };
        places.push(Place { op: c.word("an operator")?.to_string().into(), indices });
    }
    Ok(places)
}

fn scalar_type(c: &mut Cursor<'_>) -> Read<ScalarType> {
    let at = c.here();
    let ty = c.word("a type")?;
    match ScalarType::from_name(ty) {
        Some(ty) => Ok(ty),
        None => c.error_at(at, format!("there is no type `{ty}`")),
    }
}

/// Reads a fault.
pub(crate) fn read(c: &mut Cursor<'_>) -> Read<Fault> {
    let place = c.here();
    let word = c.word("a fault")?;
    let text = |c: &mut Cursor<'_>| c.name("words").map(Text::from);
    Ok(match word {
        "index" => Fault::Index(text(c)?),
        "range" => Fault::Range,
        "negative" => Fault::Negative(text(c)?),
        "count" => Fault::Count(text(c)?),
        "zero_step" => Fault::ZeroStep(scalar_type(c)?),
        "tile_size" => Fault::TileSize,
        "divide_by_zero" => Fault::DivideByZero(scalar_type(c)?),
        "negative_exponent" => Fault::NegativeExponent,
        "lengths" => Fault::Lengths(c.number("a number")?),
        "uneven" => Fault::Uneven,
        "reshape" => Fault::Reshape,
        "empty" => Fault::Empty(text(c)?),
        "unequal_rows" => Fault::UnequalRows(text(c)?),
        "not_singleton" => Fault::NotSingleton,
        "row_length" => Fault::RowLength,
        "row_total" => Fault::RowTotal,
        "no_offsets" => Fault::NoOffsets,
        "first_offset" => Fault::FirstOffset,
        "descending" => Fault::Descending,
        "offset_beyond" => Fault::OffsetBeyond,
        "flags" => Fault::Flags,
        "many_flags" => Fault::ManyFlags,
        "few_flags" => Fault::FewFlags,
        "open_group" => Fault::OpenGroup,
        "size" => {
            let what = text(c)?;
            let of = c.peek_word() == "of" && c.eat("of");
            Fault::Size(what, if of { Some(c.name("a size")?) } else { None })
        }
        "unknown_size" => Fault::UnknownSize(text(c)?),
        "too_large" => Fault::TooLarge(text(c)?),
        "too_many" => Fault::TooMany(text(c)?),
        "no_memory" => Fault::NoMemory,
        "steps" => Fault::Steps,
        "interrupted" => Fault::Interrupted,
        other => return c.error_at(place, format!("there is no fault `{other}`")),
    })
}
