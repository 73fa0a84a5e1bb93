//! The tokens of a `.dk` file.

use crate::ast::{BinOp, ScalarSuffix};

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) tok: Tok,
    pub(crate) lo: u32,
    pub(crate) hi: u32,
    /// Whether it is the first token on its line.
    pub(crate) first: bool,
}

/// An index into the strings of the lexed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StrId(pub(crate) u32);

macro_rules! tokens {
    (keywords { $($kw:ident = $kw_text:literal,)* } signs { $($sign:ident = $sign_text:literal,)* }) => {
        /// The kind of a token.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Tok {
            Int { value: u64, suffix: Option<ScalarSuffix> },
            /// Its digits are read from the text.
            Float { suffix: Option<ScalarSuffix> },
            Char(u8),
            Str(StrId),
            Ident,
            /// An error that the lexer has reported.
            Bad,
            Eof,
            $($kw,)*
            $($sign,)*
        }

        impl Tok {
            /// The keyword with this spelling.
            pub(crate) fn keyword(text: &str) -> Option<Tok> {
                match text {
                    $($kw_text => Some(Tok::$kw),)*
                    _ => None,
                }
            }

            pub(crate) fn is_keyword(self) -> bool {
                matches!(self, $(Tok::$kw)|*)
            }

            /// The spelling of a keyword or sign.
            pub(crate) fn text(self) -> Option<&'static str> {
                match self {
                    $(Tok::$kw => Some($kw_text),)*
                    $(Tok::$sign => Some($sign_text),)*
                    _ => None,
                }
            }
        }

        /// Every sign, in the order of declaration.
        pub(crate) const SIGNS: &[(&str, Tok)] = &[$(($sign_text, Tok::$sign),)*];
    };
}

// Note [Longest sign first]: the lexer takes the first sign that matches, so a prefix of another sign comes after it.
tokens! {
    keywords {
        Def = "def", Type = "type", Import = "import", As = "as", Let = "let", In = "in", If = "if",
        Then = "then", Else = "else", Loop = "loop", While = "while", For = "for", Do = "do",
        With = "with", Not = "not", True = "true", False = "false", Underscore = "_",
    }
    signs {
        DotDotEq = "..=", DotDotLt = "..<", DotDot = "..", Dot = ".",
        EqEq = "==", FatArrow = "=>", Eq = "=",
        NotEq = "!=", Bang = "!",
        LessEq = "<=", Shl = "<<", LessGreater = "<>", Less = "<",
        GreaterEq = ">=", Shr = ">>", Greater = ">",
        BarBar = "||", Bar = "|",
        AmpAmp = "&&", Amp = "&",
        PlusPlus = "++", Plus = "+",
        Arrow = "->", Minus = "-",
        StarStar = "**", Star = "*",
        ColonColon = "::", Colon = ":",
        Caret = "^", Tilde = "~", Slash = "/", Percent = "%", Backslash = "\\",
        Comma = ",", Semi = ";",
        ParenL = "(", ParenR = ")", BracketL = "[", BracketR = "]", BraceL = "{", BraceR = "}",
    }
}

impl Tok {
    /// The binary operator of this token.
    pub(crate) fn bin_op(self) -> Option<BinOp> {
        Some(match self {
            Tok::BarBar => BinOp::Or,
            Tok::AmpAmp => BinOp::And,
            Tok::EqEq => BinOp::Eq,
            Tok::NotEq => BinOp::Ne,
            Tok::Less => BinOp::Lt,
            Tok::LessEq => BinOp::Le,
            Tok::Greater => BinOp::Gt,
            Tok::GreaterEq => BinOp::Ge,
            Tok::Bar => BinOp::BitOr,
            Tok::Caret => BinOp::BitXor,
            Tok::Amp => BinOp::BitAnd,
            Tok::Shl => BinOp::Shl,
            Tok::Shr => BinOp::Shr,
            Tok::PlusPlus => BinOp::Append,
            Tok::Plus => BinOp::Add,
            Tok::Minus => BinOp::Sub,
            Tok::Star => BinOp::Mul,
            Tok::Slash => BinOp::Div,
            Tok::Percent => BinOp::Rem,
            Tok::StarStar => BinOp::Pow,
            _ => return None,
        })
    }

    /// Whether an expression can begin with it.
    pub(crate) fn starts_expr(self) -> bool {
        use Tok::*;
        matches!(self, Int { .. } | Float { .. } | Char(_) | Str(_) | Ident | True | False)
            || matches!(self, Let | If | Loop | Backslash | Not | Bang | Minus | Tilde | ParenL | BracketL | BraceL)
    }

    /// Whether an expression can end with it.
    pub(crate) fn ends_expr(self) -> bool {
        use Tok::*;
        matches!(self, Int { .. } | Float { .. } | Char(_) | Str(_) | Ident | True | False)
            || matches!(self, ParenR | BracketR | BraceR)
    }

    pub(crate) fn is_closer(self) -> bool {
        matches!(self, Tok::ParenR | Tok::BracketR | Tok::BraceR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sign_hides_a_longer_one_that_begins_with_it() {
        for (i, (text, _)) in SIGNS.iter().enumerate() {
            assert!(SIGNS[i + 1..].iter().all(|(later, _)| !later.starts_with(text)), "{text} comes too early");
        }
    }
}
