//! The error index: every code, its class, and a line about it.
//!
//! A code is never reused. `docs/errors.md` has a section for each, and a test holds the two together.

use crate::Class;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $class:ident, $title:literal;)*) => {
        /// A stable error code such as `D0102`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $name,)* }

        /// Every code there is, in order.
        pub const CODES: &[(Code, CodeInfo)] = &[
            $((Code::$name, CodeInfo { id: $id, class: Class::$class, title: $title, doc: concat!($($doc, "\n"),+) }),)*
        ];
    };
}

/// What the index says of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// As printed.
    pub id: &'static str,
    /// Whose fault.
    pub class: Class,
    /// A line for the table of contents.
    pub title: &'static str,
    /// The page: when it arises, and what to do.
    pub doc: &'static str,
}

impl Code {
    /// The entry of the index.
    pub fn info(self) -> &'static CodeInfo {
        &CODES[self as usize].1
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info().id)
    }
}

codes! {
    /// The text is not UTF-8, or holds a character that no token starts with.
    BadCharacter = "D0001", User, "a character that means nothing here";
    /// A number, character or string literal is malformed or out of the range of its type.
    BadLiteral = "D0002", User, "a malformed literal";
    /// A comment, string, bracket or brace is opened and never closed.
    Unclosed = "D0003", User, "opened and never closed";
    /// The parser met a token that cannot stand here.
    Unexpected = "D0004", User, "an unexpected token";
    /// Brackets, operators or definitions are nested more deeply than the limit.
    TooDeep = "D0005", Limitation, "nested too deeply";
    /// A file that is imported cannot be read, or imports itself.
    BadImport = "D0006", User, "an import that cannot be followed";

    /// A name is used that nothing in scope defines.
    UnknownName = "D0101", User, "an unknown name";
    /// A type is named that nothing defines.
    UnknownType = "D0102", User, "an unknown type";
    /// The same name is defined twice in one place.
    Duplicate = "D0103", User, "defined twice";
    /// A function is called, or a type used, with the wrong number of arguments.
    WrongArity = "D0104", User, "the wrong number of arguments";
    /// A function calls itself, directly or through others.
    Recursive = "D0105", User, "a recursive function";
    /// A record has no such field, or a tuple no such component.
    NoField = "D0106", User, "no such field";
    /// A function is used as a value, or a value as a function.
    NotAFunction = "D0107", User, "a function where a value is meant, or the reverse";

    /// Two types that must be the same are not.
    TypeMismatch = "D0201", User, "types that do not agree";
    /// An operator is used at a type that does not have it.
    NoInstance = "D0202", User, "an operator that its operands do not have";
    /// A type cannot be inferred and must be written.
    Ambiguous = "D0203", User, "a type that must be written";
    /// A vector or array holds a sequence, or a sequence is used where everything must be in memory.
    NotConcrete = "D0204", User, "a sequence where a materialised value is needed";
    /// A sequence from outside is used inside a comprehension, where it would be traversed many times.
    CapturedSequence = "D0205", User, "a sequence used inside a comprehension";
    /// Two sizes that must be equal are known to differ.
    SizeMismatch = "D0206", User, "sizes that cannot be equal";
    /// A type is infinite: it would have to contain itself.
    InfiniteType = "D0207", User, "a type that contains itself";
    /// An argument of an operator must be a literal known before running.
    NotConstant = "D0208", User, "a value that must be known before running";

    /// An index lies outside its array.
    IndexRange = "D0301", User, "index out of range";
    /// A size or count is negative, or too large to exist.
    BadSize = "D0302", User, "a negative or impossible size";
    /// An integer is divided by zero.
    DivideByZero = "D0303", User, "integer division by zero";
    /// Two lengths that must be equal are not.
    LengthMismatch = "D0304", User, "unequal lengths";
    /// An operator that needs at least one element was given none.
    Empty = "D0305", User, "empty where an element is needed";
    /// A nested array had to be regular (all rows alike), and is not.
    NotRegular = "D0306", User, "rows of different length where a regular array is needed";
    /// `the` was applied to a sequence that does not have exactly one element.
    NotSingleton = "D0307", User, "not exactly one element";
    /// Segment lengths, offsets or flags do not describe the data they are applied to.
    BadSegments = "D0308", User, "segments that do not fit their data";
    /// A value does not have the size that its written type demands.
    SizeCheck = "D0309", User, "a size that is not the one written";
    /// A loop ran longer, or a value grew larger, than the limit set for the run.
    LimitExceeded = "D0310", User, "a limit of the run was passed";

    /// No function to run: none is named `main`, or none has the name given.
    NoEntry = "D0401", User, "nothing to run";
    /// An argument on the command line is missing, unknown or malformed.
    BadArgument = "D0402", User, "an argument that does not fit";
    /// A file cannot be read or written, or its contents are damaged.
    BadFile = "D0403", User, "a file that cannot be used";

    /// The program is right, but this version of Deckle cannot run it.
    Unsupported = "D0801", Limitation, "not supported yet";
    /// Something that should be impossible happened inside Deckle.
    Internal = "D0901", Bug, "a bug in Deckle";
}
