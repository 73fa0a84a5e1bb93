//! Scalar operators: one table each for one and for two operands.

use crate::scalar::ScalarType;

/// The operand types that a scalar operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandClass {
    /// Integers and floats.
    Num,
    /// Signed integers and floats.
    Signed,
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Truth values and integers.
    Bits,
    /// Everything.
    Any,
}

impl OperandClass {
    /// Whether a scalar type belongs to the class.
    pub fn has(self, t: ScalarType) -> bool {
        match self {
            OperandClass::Num => t.is_num(),
            OperandClass::Signed => t.is_float() || t.is_signed(),
            OperandClass::Int => t.is_int(),
            OperandClass::Float => t.is_float(),
            OperandClass::Bits => !t.is_float(),
            OperandClass::Any => true,
        }
    }

    /// The name of its members in a message.
    pub fn describe(self) -> &'static str {
        match self {
            OperandClass::Num => "a number",
            OperandClass::Signed => "a signed number",
            OperandClass::Int => "an integer",
            OperandClass::Float => "a float (`f32` or `f64`)",
            OperandClass::Bits => "a truth value or an integer",
            OperandClass::Any => "a scalar",
        }
    }
}

/// What an operator returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultClass {
    /// The type of its operands.
    Same,
    /// `bool`.
    Bool,
}

macro_rules! scalar_ops {
    ($(#[$meta:meta])* $enum:ident {
        $($name:ident $text:literal $class:ident $result:ident $doc:literal;)*
    } lowered {
        $($low:ident $low_text:literal $low_class:ident $low_result:ident $low_doc:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $enum { $(#[doc = $doc] $name,)* $(#[doc = $low_doc] $low,)* }

        impl $enum {
            /// All operators of the language.
            pub const ALL: &[$enum] = &[$($enum::$name,)*];

            /// The operators that only lowering introduces.
            pub const LOWERED: &[$enum] = &[$($enum::$low,)*];

            /// The name in the text form.
            pub fn name(self) -> &'static str {
                match self { $($enum::$name => $text,)* $($enum::$low => $low_text,)* }
            }

            /// The operator with a given name.
            pub fn from_name(name: &str) -> Option<$enum> {
                Self::ALL.iter().chain(Self::LOWERED).copied().find(|op| op.name() == name)
            }

            /// The class of its operands.
            pub fn operands(self) -> OperandClass {
                match self { $($enum::$name => OperandClass::$class,)* $($enum::$low => OperandClass::$low_class,)* }
            }

            /// The class of its result.
            pub fn result(self) -> ResultClass {
                match self { $($enum::$name => ResultClass::$result,)* $($enum::$low => ResultClass::$low_result,)* }
            }

            /// Its meaning.
            pub fn doc(self) -> &'static str {
                match self { $($enum::$name => $doc,)* $($enum::$low => $low_doc,)* }
            }
        }
    };
}

scalar_ops! {
    /// A scalar operator of one operand.
    UnOp {
        Neg "neg" Num Same "The negative; integers wrap, also unsigned ones.";
        Not "not" Bits Same "Logical not of a truth value, all bits flipped of an integer.";
        Abs "abs" Num Same "The absolute value; of the least signed integer, itself.";
        Sign "sign" Num Same "-1, 0 or 1 with the sign of the operand; of NaN, NaN; of a zero, that zero.";
        Sqrt "sqrt" Float Same "The square root; of a negative number, NaN.";
        Cbrt "cbrt" Float Same "The cube root.";
        Exp "exp" Float Same "e to the power of x.";
        Exp2 "exp2" Float Same "2 to the power of x.";
        Expm1 "expm1" Float Same "exp(x) - 1, accurate near zero.";
        Log "log" Float Same "The natural logarithm; of zero, minus infinity; of a negative number, NaN.";
        Log2 "log2" Float Same "The logarithm to base 2.";
        Log10 "log10" Float Same "The logarithm to base 10.";
        Log1p "log1p" Float Same "log(1 + x), accurate near zero.";
        Sin "sin" Float Same "The sine.";
        Cos "cos" Float Same "The cosine.";
        Tan "tan" Float Same "The tangent.";
        Asin "asin" Float Same "The inverse sine.";
        Acos "acos" Float Same "The inverse cosine.";
        Atan "atan" Float Same "The inverse tangent.";
        Sinh "sinh" Float Same "The hyperbolic sine.";
        Cosh "cosh" Float Same "The hyperbolic cosine.";
        Tanh "tanh" Float Same "The hyperbolic tangent.";
        Erf "erf" Float Same "The error function.";
        Erfc "erfc" Float Same "1 - erf(x), accurate for large x.";
        Floor "floor" Float Same "The greatest integer not above x.";
        Ceil "ceil" Float Same "The least integer not below x.";
        Round "round" Float Same "The nearest integer, halves away from zero.";
        Trunc "trunc" Float Same "The integer part.";
        IsNan "is_nan" Float Bool "Whether x is not a number.";
        Popcount "popcount" Int Same "How many bits are set.";
        Clz "clz" Int Same "How many high bits are zero.";
        Ctz "ctz" Int Same "How many low bits are zero; of zero, the width of the type.";
    } lowered {}
}

scalar_ops! {
    /// A scalar operator of two operands of one type.
    BinOp {
        Add "add" Num Same "The sum; integers wrap.";
        Sub "sub" Num Same "The difference; integers wrap.";
        Mul "mul" Num Same "The product; integers wrap.";
        Div "div" Num Same "The quotient; integers truncate towards zero, and a zero divisor is an error (D0303); the least signed integer divided by -1 wraps to itself.";
        Rem "rem" Num Same "The remainder, with the sign of the dividend; an integer zero divisor is an error (D0303); floats as C's fmod.";
        Pow "pow" Num Same "The power. Integers wrap, and a negative exponent is an error (D0302).";
        Min "min" Num Same "The lesser; NaN if either is NaN, and -0.0 is below 0.0.";
        Max "max" Num Same "The greater; NaN if either is NaN, and -0.0 is below 0.0.";
        Atan2 "atan2" Float Same "The angle of the point (y, x), y first.";
        Hypot "hypot" Float Same "The length of the vector (x, y), without undue overflow.";
        And "and" Bits Same "Conjunction of truth values (both are evaluated), or of bits.";
        Or "or" Bits Same "Disjunction of truth values (both are evaluated), or of bits.";
        Xor "xor" Bits Same "Exclusive or of truth values or of bits.";
        Shl "shl" Int Same "Shift left by the second operand, modulo the width of the type.";
        Shr "shr" Int Same "Shift right by the second operand, modulo the width; signed integers keep their sign.";
        Eq "eq" Any Bool "Whether the operands are equal; NaN equals nothing.";
        Ne "ne" Any Bool "Whether the operands differ; NaN differs from everything.";
        Lt "lt" Any Bool "Whether the first is less; false with NaN; `false` is less than `true`.";
        Le "le" Any Bool "Whether the first is less or equal; false with NaN.";
        Gt "gt" Any Bool "Whether the first is greater; false with NaN.";
        Ge "ge" Any Bool "Whether the first is greater or equal; false with NaN.";
    } lowered {
        AddSat "add_sat" Int Same "The sum, or the end of the type's range beyond which it lies. Associative over numbers that are not negative.";
        MulSat "mul_sat" Int Same "The product, or the end of the type's range beyond which it lies. Associative over numbers that are not negative.";
    }
}
