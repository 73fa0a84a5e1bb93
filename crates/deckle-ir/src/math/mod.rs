//! Deckle's own mathematical functions: branch-free, for any vector machine.
//!
//! Each function is written once, as straight-line code over an [`Arith`], and for both float formats, whose constants
//! are a [`Format`]. There are no tables, and no branches on data: a lane that needs a special value gets it by a select.
//! Two functions need long computations in rare cases (angles beyond `Format::LARGE`; remainders of huge quotients);
//! these go through [`Arith::if_any`], which may skip them.
//!
//! All special values are those of IEEE 754 and of C. `docs/mathematics.md` lists the measured error of each function
//! and its operations.
//!
//! ```
//! use deckle_ir::math::{F64, Native64, exp};
//! let y = exp::<F64, _>(&mut Native64, 1.0);
//! assert!((y - std::f64::consts::E).abs() <= f64::EPSILON * 2.0);
//! ```

mod arith;
mod coefficients;
mod count;
mod erf;
mod exp;
mod format;
mod hyperbolic;
mod inverse;
mod log;
mod native;
mod pow;
mod reduce;
mod rem;
mod root;
mod trig;

pub use arith::Arith;
pub use count::{Count, Ops};
pub use erf::{erf, erfc};
pub use exp::{exp, exp2, expm1};
pub use format::{F32, F64, Format};
pub use hyperbolic::{cosh, sinh, tanh};
pub use inverse::{acos, asin, atan, atan2};
pub use log::{log, log1p, log2, log10};
pub use native::{Native32, Native64};
pub use pow::pow;
pub use rem::{rem, round, sign};
pub use root::{cbrt, hypot, rsqrt};
pub use trig::{cos, sin, tan};

use crate::array::{BinOp, UnOp};

/// The float operators of one operand that return a float; `None` for the others.
#[inline(always)]
pub fn unary<W: Format, A: Arith>(a: &mut A, op: UnOp, x: A::F) -> Option<A::F> {
    Some(match op {
        UnOp::Neg => a.neg(x),
        UnOp::Abs => a.abs(x),
        UnOp::Sign => sign(a, x),
        UnOp::Sqrt => a.sqrt(x),
        UnOp::Cbrt => cbrt::<W, A>(a, x),
        UnOp::Exp => exp::<W, A>(a, x),
        UnOp::Exp2 => exp2::<W, A>(a, x),
        UnOp::Expm1 => expm1::<W, A>(a, x),
        UnOp::Log => log::<W, A>(a, x),
        UnOp::Log2 => log2::<W, A>(a, x),
        UnOp::Log10 => log10::<W, A>(a, x),
        UnOp::Log1p => log1p::<W, A>(a, x),
        UnOp::Sin => sin::<W, A>(a, x),
        UnOp::Cos => cos::<W, A>(a, x),
        UnOp::Tan => tan::<W, A>(a, x),
        UnOp::Asin => asin::<W, A>(a, x),
        UnOp::Acos => acos::<W, A>(a, x),
        UnOp::Atan => atan::<W, A>(a, x),
        UnOp::Sinh => sinh::<W, A>(a, x),
        UnOp::Cosh => cosh::<W, A>(a, x),
        UnOp::Tanh => tanh::<W, A>(a, x),
        UnOp::Erf => erf::<W, A>(a, x),
        UnOp::Erfc => erfc::<W, A>(a, x),
        UnOp::Floor => a.floor(x),
        UnOp::Ceil => a.ceil(x),
        UnOp::Round => round::<W, A>(a, x),
        UnOp::Trunc => a.trunc(x),
        UnOp::Not | UnOp::IsNan | UnOp::Popcount | UnOp::Clz | UnOp::Ctz => return None,
    })
}

/// The float operators of two operands that return a float; `None` for the others.
#[inline(always)]
pub fn binary<W: Format, A: Arith>(a: &mut A, op: BinOp, x: A::F, y: A::F) -> Option<A::F> {
    Some(match op {
        BinOp::Add => a.add(x, y),
        BinOp::Sub => a.sub(x, y),
        BinOp::Mul => a.mul(x, y),
        BinOp::Div => a.div(x, y),
        BinOp::Rem => rem::<W, A>(a, x, y),
        BinOp::Pow => pow::<W, A>(a, x, y),
        BinOp::Atan2 => atan2::<W, A>(a, x, y),
        BinOp::Hypot => hypot::<W, A>(a, x, y),
        BinOp::Min => extreme(a, x, y, true),
        BinOp::Max => extreme(a, x, y, false),
        _ => return None,
    })
}

/// The minimum or the maximum: NaN if either operand is, and -0 below +0.
#[inline(always)]
fn extreme<A: Arith>(a: &mut A, x: A::F, y: A::F, least: bool) -> A::F {
    let (bits_x, bits_y) = (a.bits_of(x), a.bits_of(y));
    // Equal numbers differ at most in the sign of zero, which is an or of signs for the minimum, an and for the maximum.
    let both = if least { a.or_i(bits_x, bits_y) } else { a.and_i(bits_x, bits_y) };
    let both = a.of_bits(both);
    let equal = a.eq(x, y);
    let chosen = if least { a.lt(x, y) } else { a.lt(y, x) };
    let other = a.select(chosen, x, y);
    let y = a.select(equal, both, other);
    let nan = a.is_nan(x);
    a.select(nan, x, y)
}
