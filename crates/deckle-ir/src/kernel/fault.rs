//! What a check is about, and its text form.
//!
//! ```text
//! index "index"            range           negative "a size"        bad_size "steps of {}" "give another"
//! divide_by_zero           lengths 1       negative_exponent        segments "no offsets" "give some"
//! empty fold1              reshape         not_regular transpose    size "argument `xs`" of n
//! not_singleton            count "a size"  too_many "the result"
//! ```

use crate::text::Name;
use crate::text::scan::{Cursor, Read};
use deckle_diag::Code;
use std::borrow::Cow;
use std::fmt;

/// Words that are written in the compiler, or were read.
type Text = Cow<'static, str>;

/// What can go wrong, with the meaning of the operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Operands: the index, the length. The name says of what.
    Index(Text),
    /// Operands: from, to, the length.
    Range,
    /// Operand: the number. The name says of what.
    Negative(String),
    /// Operand: a number of elements that is negative, or more than there can be. The name says of what.
    Count(String),
    /// Operand: how many elements that would be; at the end of the range, or more. The array.
    TooMany(String),
    /// Operand: the number. The message has `{}` in its place, the second text says what to do.
    BadSize(Text, Text),
    /// Operand: the dividend.
    DivideByZero,
    /// Operands: the exponent.
    NegativeExponent,
    /// Operands: the first length, the other one. The number says which.
    Lengths(usize),
    /// Operands: how many there are, how many there should be.
    Reshape,
    /// The operator.
    Empty(Text),
    /// Operands: the least and the greatest length of a row. The operator or value.
    NotRegular(String),
    /// Operand: how many there are.
    NotSingleton,
    /// Operands as the message says.
    Segments(Text, Text),
    /// Operands: how many there are, what the type says. The value, and the size as written.
    Size(String, Option<String>),
}

impl Fault {
    /// Of these words.
    pub fn bad_size(message: &'static str, help: &'static str) -> Fault {
        Fault::BadSize(message.into(), help.into())
    }

    /// Of these words.
    pub fn segments(message: &'static str, help: &'static str) -> Fault {
        Fault::Segments(message.into(), help.into())
    }

    /// Its error code.
    pub fn code(&self) -> Code {
        match self {
            Fault::Index(_) | Fault::Range => Code::IndexRange,
            Fault::Negative(_) | Fault::BadSize(..) | Fault::NegativeExponent => Code::BadSize,
            Fault::Count(_) => Code::BadSize,
            Fault::TooMany(_) => Code::LimitExceeded,
            Fault::DivideByZero => Code::DivideByZero,
            Fault::Lengths(_) | Fault::Reshape => Code::LengthMismatch,
            Fault::Empty(_) => Code::Empty,
            Fault::NotRegular(_) => Code::NotRegular,
            Fault::NotSingleton => Code::NotSingleton,
            Fault::Segments(..) => Code::BadSegments,
            Fault::Size(..) => Code::SizeCheck,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Index(what) => write!(f, "index {}", Name(what)),
            Fault::Range => f.write_str("range"),
            Fault::Negative(what) => write!(f, "negative {}", Name(what)),
            Fault::Count(what) => write!(f, "count {}", Name(what)),
            Fault::TooMany(what) => write!(f, "too_many {}", Name(what)),
            Fault::BadSize(message, help) => write!(f, "bad_size {} {}", Name(message), Name(help)),
            Fault::DivideByZero => f.write_str("divide_by_zero"),
            Fault::NegativeExponent => f.write_str("negative_exponent"),
            Fault::Lengths(which) => write!(f, "lengths {which}"),
            Fault::Reshape => f.write_str("reshape"),
            Fault::Empty(name) => write!(f, "empty {}", Name(name)),
            Fault::NotRegular(what) => write!(f, "not_regular {}", Name(what)),
            Fault::NotSingleton => f.write_str("not_singleton"),
            Fault::Segments(message, help) => write!(f, "segments {} {}", Name(message), Name(help)),
            Fault::Size(what, None) => write!(f, "size {}", Name(what)),
            Fault::Size(what, Some(size)) => write!(f, "size {} of {}", Name(what), Name(size)),
        }
    }
}

/// Reads a fault.
pub(super) fn read(c: &mut Cursor<'_>) -> Read<Fault> {
    let place = c.here();
    let word = c.word("a fault")?;
    let text = |c: &mut Cursor<'_>| c.name("words").map(Text::from);
    Ok(match word {
        "index" => Fault::Index(text(c)?),
        "range" => Fault::Range,
        "negative" => Fault::Negative(c.name("words")?),
        "count" => Fault::Count(c.name("words")?),
        "too_many" => Fault::TooMany(c.name("words")?),
        "bad_size" => Fault::BadSize(text(c)?, text(c)?),
        "divide_by_zero" => Fault::DivideByZero,
        "negative_exponent" => Fault::NegativeExponent,
        "lengths" => Fault::Lengths(c.number("a number")?),
        "reshape" => Fault::Reshape,
        "empty" => Fault::Empty(text(c)?),
        "not_regular" => Fault::NotRegular(c.name("words")?),
        "not_singleton" => Fault::NotSingleton,
        "segments" => Fault::Segments(text(c)?, text(c)?),
        "size" => {
            let what = c.name("words")?;
            let of = c.peek_word() == "of" && c.eat("of");
            Fault::Size(what, if of { Some(c.name("a size")?) } else { None })
        }
        other => return c.error_at(place, format!("there is no fault `{other}`")),
    })
}
