//! Operators, comparisons and casts of kernels.
//!
//! Integers wrap, as in Rust without overflow checks; constants are computed immediately. A `usize` is stored as `i64`: where Rust would see 2^63 or more it is
//! negative, and operators whose result depends on that convert their operands.

use super::value::part;
use crate::elt::{Elt, Int, Num, Scalars};
use crate::exp::{Bits, Exp};
use crate::trace::{Raw, apply, constant_of, may_be_huge};
use deckle_ir::array::{BinOp, Op, UnOp};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::scalar_eval;
use deckle_ir::types::Type;

/// An operator of two operands of one type, or its value if both are constants.
#[track_caller]
pub(super) fn apply2(op: BinOp, a: Raw, b: Raw) -> Raw {
    if let (Some(x), Some(y)) = (constant_of(a), constant_of(b))
        && !x.ty().is_float()
        && let Ok(known) = scalar_eval::binary(op, x, y)
    {
        return apply(Op::Const(known), &[]);
    }
    apply(Op::Binary(op), &[a, b])
}

#[track_caller]
pub(super) fn apply1(op: UnOp, a: Raw) -> Raw {
    apply(Op::Unary(op), &[a])
}

#[track_caller]
pub(super) fn convert(a: Raw, to: ScalarType) -> Raw {
    match constant_of(a) {
        Some(x) => apply(Op::Const(x.cast(to)), &[]),
        None => apply(Op::Cast(to), &[a]),
    }
}

#[track_caller]
pub(super) fn binary<T, U>(op: BinOp, a: Exp<T>, b: Exp<T>) -> Exp<U> {
    Exp::from_raw_elt(apply2(op, a.raw_elt(), b.raw_elt()))
}

#[track_caller]
pub(super) fn unary<T, U>(op: UnOp, a: Exp<T>) -> Exp<U> {
    Exp::from_raw_elt(apply1(op, a.raw_elt()))
}

/// The operands as they are, or as `u64` if they are of type `usize` and may be huge.
#[track_caller]
fn unsigned<T: Scalars>(a: Exp<T>, b: Exp<T>) -> Option<(Raw, Raw)> {
    let (a, b) = (a.raw_elt(), b.raw_elt());
    (T::POSITION && (may_be_huge(a) || may_be_huge(b)))
        .then(|| (convert(a, ScalarType::U64), convert(b, ScalarType::U64)))
}

/// An operator whose result depends on the order of the operands.
#[track_caller]
pub(super) fn ordered<T: Scalars, U>(op: BinOp, a: Exp<T>, b: Exp<T>) -> Exp<U> {
    match unsigned(a, b) {
        None => binary(op, a, b),
        Some((x, y)) => {
            let made = apply2(op, x, y);
            let is_comparison = matches!(op, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge);
            Exp::from_raw_elt(if is_comparison { made } else { convert(made, T::TYPE) })
        }
    }
}

macro_rules! operators {
    ($($name:ident $how:ident $op:ident $class:ident;)*) => {$(
        /// The operator of this name.
        #[track_caller]
        pub fn $name<T: $class>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
            $how(BinOp::$op, a, b)
        }
    )*};
}

operators! {
    add binary Add Num;
    sub binary Sub Num;
    mul binary Mul Num;
    div ordered Div Num;
    rem ordered Rem Num;
    bitand binary And Bits;
    bitor binary Or Bits;
    bitxor binary Xor Bits;
}

macro_rules! comparisons {
    ($($name:ident $op:ident;)*) => {$(
        /// The comparison of this name.
        #[track_caller]
        pub fn $name<T: Scalars>(a: Exp<T>, b: Exp<T>) -> Exp<bool> {
            ordered(BinOp::$op, a, b)
        }
    )*};
}

comparisons! {
    lt Lt;
    le Le;
    gt Gt;
    ge Ge;
}

/// `a == b`: of tuples, arrays and structs component by component, as their derived `PartialEq`.
#[track_caller]
pub fn eq<T: Elt + PartialEq>(a: Exp<T>, b: Exp<T>) -> Exp<bool> {
    Exp::from_raw_elt(equal(&T::ty(), a.raw_elt(), b.raw_elt()))
}

/// Whether a value is that of a pattern.
#[track_caller]
pub fn is<T: Elt>(a: Exp<T>, b: Exp<T>) -> Exp<bool> {
    Exp::from_raw_elt(equal(&T::ty(), a.raw_elt(), b.raw_elt()))
}

/// `a != b`
#[track_caller]
pub fn ne<T: Elt + PartialEq>(a: Exp<T>, b: Exp<T>) -> Exp<bool> {
    match T::ty() {
        Type::Scalar(_) => binary(BinOp::Ne, a, b),
        _ => not(eq(a, b)),
    }
}

#[track_caller]
fn equal(ty: &Type, a: Raw, b: Raw) -> Raw {
    let Some(parts) = ty.parts() else { return apply2(BinOp::Eq, a, b) };
    let mut all = apply(Op::Const(Scalar::Bool(true)), &[]);
    for (k, ty) in parts.iter().enumerate() {
        all = apply2(BinOp::And, all, equal(ty, part(a, k), part(b, k)));
    }
    all
}

/// `-x`
#[track_caller]
pub fn neg<T: Num>(x: Exp<T>) -> Exp<T> {
    unary(UnOp::Neg, x)
}

/// `!x`
#[track_caller]
pub fn not<T: Bits>(x: Exp<T>) -> Exp<T> {
    unary(UnOp::Not, x)
}

/// `x << n`: the count modulo the width, as in Rust without overflow checks.
#[track_caller]
pub fn shl<T: Int, N: Int>(x: Exp<T>, n: Exp<N>) -> Exp<T> {
    Exp::from_raw_elt(apply2(BinOp::Shl, x.raw_elt(), convert(n.raw_elt(), T::TYPE)))
}

/// `x >> n`
#[track_caller]
pub fn shr<T: Int, N: Int>(x: Exp<T>, n: Exp<N>) -> Exp<T> {
    ordered(BinOp::Shr, x, Exp::from_raw_elt(convert(n.raw_elt(), T::TYPE)))
}

/// A type that `as` converts: a scalar, or an enum without data.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot convert `{Self}` with `as`",
    label = "neither a number nor `bool`"
)]
pub trait Castable: Elt {
    /// As a scalar of the language, before the conversion.
    #[doc(hidden)]
    #[track_caller]
    fn number(x: Exp<Self>) -> ErasedScalar;
}

/// A scalar of any type.
#[derive(Clone, Copy, Debug)]
pub struct ErasedScalar {
    raw: Raw,
    from: ScalarType,
    huge: bool,
}

impl<T: Scalars> Castable for T {
    fn number(x: Exp<T>) -> ErasedScalar {
        ErasedScalar { raw: x.raw_elt(), from: T::TYPE, huge: T::POSITION && may_be_huge(x.raw_elt()) }
    }
}

/// The discriminant of a variant, given by its number: for enums that derive `Elt`.
#[track_caller]
pub fn discriminant<T: Elt>(x: Exp<T>, values: &[i64]) -> ErasedScalar {
    let at = convert(x.raw_elt(), ScalarType::I64);
    let same = values.iter().enumerate().all(|(k, v)| *v == k as i64);
    let raw = if same { at } else { super::in_table(values, Exp::from_raw_elt(at)).raw_elt() };
    ErasedScalar { raw, from: ScalarType::I64, huge: false }
}

/// `x as U`: integers wrap, floats truncate and saturate, NaN is 0.
#[track_caller]
pub fn cast<T: Castable, U: Scalars>(x: Exp<T>) -> Exp<U> {
    let ErasedScalar { raw, from, huge } = T::number(x);
    if T::ty() == U::ty() && !U::POSITION {
        return Exp::from_raw_elt(raw);
    }
    let raw = if huge && U::TYPE.is_float() { convert(raw, ScalarType::U64) } else { raw };
    let made = match from.is_float() && U::POSITION {
        true => apply2(BinOp::Max, convert(raw, U::TYPE), apply(Op::Const(Scalar::I64(0)), &[])),
        false => convert(raw, U::TYPE),
    };
    Exp::from_raw_elt(made)
}

/// `f64::from(x)`: a conversion that loses nothing.
#[track_caller]
pub fn from<U: Scalars + From<T>, T: Castable>(x: Exp<T>) -> Exp<U> {
    cast(x)
}

/// Both, which are already evaluated.
#[track_caller]
pub fn both(a: Exp<bool>, b: Exp<bool>) -> Exp<bool> {
    match constant_of(a.raw_elt()).and_then(Scalar::as_bool) {
        Some(true) => b,
        _ => binary(BinOp::And, a, b),
    }
}
