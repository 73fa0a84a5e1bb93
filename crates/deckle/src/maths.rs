//! Scalar mathematics: comparison, conversion, and the functions of `f32`, `f64` and the integers, with Rust's names.

use crate::elt::{Float, Int, IntoExp, Num, Scalars};
use crate::exp::Exp;
use crate::trace::apply;
use deckle_ir::array::{BinOp, Op, UnOp};

macro_rules! comparisons {
    ($($method:ident $op:ident $doc:literal $example:literal;)*) => {
        /// Comparison: Rust's own operators return a `bool` immediately, not an expression of one.
        impl<T: Scalars> Exp<T> {
            $(
            #[doc = $doc]
            ///
            /// ```
            /// # use deckle::prelude::*;
            #[doc = concat!("let f = compile(|x: Exp<i64>, y: Exp<i64>| x.", stringify!($method), "(y)).unwrap();")]
            #[doc = concat!("assert!(f.call(", $example, ").unwrap());")]
            /// ```
            #[track_caller]
            pub fn $method(self, other: impl IntoExp<T>) -> Exp<bool> {
                self.binary(BinOp::$op, other.into_exp())
            })*
        }
    };
}

comparisons! {
    lt Lt "Whether it is less." "1, 2";
    le Le "Whether it is less or equal." "2, 2";
    gt Gt "Whether it is greater." "2, 1";
    ge Ge "Whether it is greater or equal." "2, 2";
    equals Eq "Whether it is equal." "2, 2";
    differs Ne "Whether it differs." "1, 2";
}

impl<T: Scalars> Exp<T> {
    /// Converts to another scalar type: integers wrap, floats truncate and saturate.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<f64>| x.cast::<i64>()).unwrap();
    /// assert_eq!(f.call(2.9).unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn cast<U: Scalars>(self) -> Exp<U> {
        Exp::from_raw_elt(apply(Op::Cast(U::TYPE), &[self.raw_elt()]))
    }
}

macro_rules! functions {
    ($type:ty: $($method:ident $op:ident $doc:literal $input:literal => $output:literal;)*) => {$(
        #[doc = $doc]
        ///
        /// ```
        /// # use deckle::prelude::*;
        #[doc = concat!("let f = compile(|x: Exp<", stringify!($type), ">| x.", stringify!($method), "()).unwrap();")]
        #[doc = concat!("assert!((f.call(", $input, ").unwrap() as f64 - ", $output, ").abs() < 1e-12);")]
        /// ```
        #[track_caller]
        pub fn $method(self) -> Exp<T> {
            self.unary(UnOp::$op)
        }
    )*};
}

impl<T: Float> Exp<T> {
    functions! { f64:
        sqrt Sqrt "The square root; of a negative number, NaN." "9.0" => "3.0";
        cbrt Cbrt "The cube root." "27.0" => "3.0";
        exp Exp "e to the power of it." "1.0" => "std::f64::consts::E";
        exp2 Exp2 "2 to the power of it." "3.0" => "8.0";
        exp_m1 Expm1 "`exp(x) - 1`, accurate near zero." "1e-20" => "1e-20";
        ln Log "The natural logarithm." "std::f64::consts::E" => "1.0";
        log2 Log2 "The logarithm to base 2." "8.0" => "3.0";
        log10 Log10 "The logarithm to base 10." "1000.0" => "3.0";
        ln_1p Log1p "`ln(1 + x)`, accurate near zero." "1e-20" => "1e-20";
        sin Sin "The sine." "0.5" => "0.5f64.sin()";
        cos Cos "The cosine." "0.5" => "0.5f64.cos()";
        tan Tan "The tangent." "0.5" => "0.5f64.tan()";
        asin Asin "The inverse sine." "0.5" => "0.5f64.asin()";
        acos Acos "The inverse cosine." "0.5" => "0.5f64.acos()";
        atan Atan "The inverse tangent." "0.5" => "0.5f64.atan()";
        sinh Sinh "The hyperbolic sine." "0.5" => "0.5f64.sinh()";
        cosh Cosh "The hyperbolic cosine." "0.5" => "0.5f64.cosh()";
        tanh Tanh "The hyperbolic tangent." "0.5" => "0.5f64.tanh()";
        erf Erf "The error function." "0.0" => "0.0";
        erfc Erfc "`1 - erf(x)`, accurate for large x." "0.0" => "1.0";
        floor Floor "The greatest integer not above it." "-1.5" => "-2.0";
        ceil Ceil "The least integer not below it." "-1.5" => "-1.0";
        round Round "The nearest integer, halves away from zero." "2.5" => "3.0";
        trunc Trunc "The integer part." "-1.5" => "-1.0";
    }

    /// The angle of the point `(x, self)`: `self` is y.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|y: Exp<f64>, x: Exp<f64>| y.atan2(x)).unwrap();
    /// assert_eq!(f.call(0.0, 1.0).unwrap(), 0.0);
    /// ```
    #[track_caller]
    pub fn atan2(self, x: impl IntoExp<T>) -> Exp<T> {
        self.binary(BinOp::Atan2, x.into_exp())
    }

    /// The length of the vector `(self, y)`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<f64>| x.hypot(4.0)).unwrap();
    /// assert_eq!(f.call(3.0).unwrap(), 5.0);
    /// ```
    #[track_caller]
    pub fn hypot(self, y: impl IntoExp<T>) -> Exp<T> {
        self.binary(BinOp::Hypot, y.into_exp())
    }

    /// `self * y + z`, rounded once.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<f64>| x.mul_add(x, -0.01)).unwrap();
    /// assert_eq!(f.call(0.1).unwrap(), 0.1f64.mul_add(0.1, -0.01));
    /// ```
    #[track_caller]
    pub fn mul_add(self, y: impl IntoExp<T>, z: impl IntoExp<T>) -> Exp<T> {
        Exp::from_raw_elt(apply(Op::Fma, &[self.raw_elt(), y.into_exp().raw_elt(), z.into_exp().raw_elt()]))
    }

    /// Whether it is not a number.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<f64>| x.sqrt().is_nan()).unwrap();
    /// assert!(f.call(-1.0).unwrap());
    /// ```
    #[track_caller]
    pub fn is_nan(self) -> Exp<bool> {
        self.unary(UnOp::IsNan)
    }
}

impl<T: Num> Exp<T> {
    functions! { i64:
        abs Abs "The absolute value." "-2" => "2.0";
        signum Sign "-1, 0 or 1; a zero or NaN itself." "-2" => "-1.0";
    }

    /// The minimum; NaN if either is.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<i64>| x.min(3)).unwrap();
    /// assert_eq!(f.call(5).unwrap(), 3);
    /// ```
    #[track_caller]
    pub fn min(self, other: impl IntoExp<T>) -> Exp<T> {
        self.binary(BinOp::Min, other.into_exp())
    }

    /// The maximum; NaN if either is.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<i64>| x.max(3)).unwrap();
    /// assert_eq!(f.call(5).unwrap(), 5);
    /// ```
    #[track_caller]
    pub fn max(self, other: impl IntoExp<T>) -> Exp<T> {
        self.binary(BinOp::Max, other.into_exp())
    }

    /// The value limited to at least `lo` and at most `hi`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<i64>| x.clamp(0, 9)).unwrap();
    /// assert_eq!(f.call(-5).unwrap(), 0);
    /// ```
    #[track_caller]
    pub fn clamp(self, lo: impl IntoExp<T>, hi: impl IntoExp<T>) -> Exp<T> {
        self.max(lo).min(hi)
    }

    /// The power. A negative exponent of integers is an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<i64>, y: Exp<i64>| x.pow(y)).unwrap();
    /// assert_eq!(f.call(2, 10).unwrap(), 1024);
    /// assert!(f.call(2, -1).is_err());
    /// ```
    #[track_caller]
    pub fn pow(self, other: impl IntoExp<T>) -> Exp<T> {
        self.binary(BinOp::Pow, other.into_exp())
    }
}

impl<T: Int> Exp<T> {
    functions! { i64:
        count_ones Popcount "How many bits are set." "7" => "3.0";
        leading_zeros Clz "How many high bits are zero." "1" => "63.0";
        trailing_zeros Ctz "How many low bits are zero." "8" => "3.0";
    }
}
