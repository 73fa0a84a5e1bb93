//! The machine that the functions are written for: straight-line code on the lanes of a vector.
//!
//! A function of this module never asks what a lane holds. It calls the methods of an [`Arith`], each of which is one
//! operation on all lanes, and gets handles for the results. What a handle is, the implementation decides:
//!
//! - [`Native64`](super::Native64) and [`Native32`](super::Native32) compute at once, on one lane: a handle is a number;
//! - [`Count`](super::Count) does the same and counts;
//! - a code generator emits an instruction and hands out its name.
//!
//! Every operation is exactly rounded (or exact) in IEEE 754, so all implementations give the same bits. That is why
//! measuring the error of the native ones says what compiled code does. It also means that a code generator must not
//! mark the operations as free to contract, reassociate or flush subnormal numbers.

/// Operations on lanes of one float format, on integers of the same width, and on masks.
///
/// Integers wrap. Comparisons are ordered: false where an operand is NaN.
pub trait Arith {
    /// A float in each lane.
    type F: Copy;
    /// An integer of the same width in each lane.
    type I: Copy;
    /// A truth value in each lane.
    type M: Copy;

    /// The same float in all lanes: the nearest of the format.
    fn f(&mut self, value: f64) -> Self::F;
    /// The same integer in all lanes; `value` fits the width.
    fn i(&mut self, value: i64) -> Self::I;

    /// `x + y`
    fn add(&mut self, x: Self::F, y: Self::F) -> Self::F;
    /// `x - y`
    fn sub(&mut self, x: Self::F, y: Self::F) -> Self::F;
    /// `x * y`
    fn mul(&mut self, x: Self::F, y: Self::F) -> Self::F;
    /// `x / y`
    fn div(&mut self, x: Self::F, y: Self::F) -> Self::F;
    /// `x * y + z`, rounded once: never a product followed by a sum.
    fn fma(&mut self, x: Self::F, y: Self::F, z: Self::F) -> Self::F;
    /// `-x`: the sign bit flipped, also of zeros and NaN.
    fn neg(&mut self, x: Self::F) -> Self::F;
    /// The sign bit cleared.
    fn abs(&mut self, x: Self::F) -> Self::F;
    /// The sign bit of `sign`, everything else of `x`.
    fn copysign(&mut self, x: Self::F, sign: Self::F) -> Self::F;
    /// The square root.
    fn sqrt(&mut self, x: Self::F) -> Self::F;
    /// The greatest integer not above.
    fn floor(&mut self, x: Self::F) -> Self::F;
    /// The least integer not below.
    fn ceil(&mut self, x: Self::F) -> Self::F;
    /// The integer part.
    fn trunc(&mut self, x: Self::F) -> Self::F;
    /// The nearest integer, halves to the even one.
    fn rint(&mut self, x: Self::F) -> Self::F;

    /// `x < y`
    fn lt(&mut self, x: Self::F, y: Self::F) -> Self::M;
    /// `x <= y`
    fn le(&mut self, x: Self::F, y: Self::F) -> Self::M;
    /// `x == y`
    fn eq(&mut self, x: Self::F, y: Self::F) -> Self::M;
    /// Whether `x` is NaN.
    fn is_nan(&mut self, x: Self::F) -> Self::M;

    /// `x` where the mask holds, elsewhere `y`.
    fn select(&mut self, mask: Self::M, x: Self::F, y: Self::F) -> Self::F;
    /// The same for integers.
    fn select_i(&mut self, mask: Self::M, x: Self::I, y: Self::I) -> Self::I;
    /// Both.
    fn and_m(&mut self, a: Self::M, b: Self::M) -> Self::M;
    /// Either.
    fn or_m(&mut self, a: Self::M, b: Self::M) -> Self::M;
    /// The opposite.
    fn not_m(&mut self, a: Self::M) -> Self::M;

    /// The bits of a float.
    fn bits_of(&mut self, x: Self::F) -> Self::I;
    /// The float of those bits.
    fn of_bits(&mut self, x: Self::I) -> Self::F;
    /// `x + y`
    fn add_i(&mut self, x: Self::I, y: Self::I) -> Self::I;
    /// `x - y`
    fn sub_i(&mut self, x: Self::I, y: Self::I) -> Self::I;
    /// Bitwise and.
    fn and_i(&mut self, x: Self::I, y: Self::I) -> Self::I;
    /// Bitwise or.
    fn or_i(&mut self, x: Self::I, y: Self::I) -> Self::I;
    /// Bitwise exclusive or.
    fn xor_i(&mut self, x: Self::I, y: Self::I) -> Self::I;
    /// Shifted left by a constant below the width.
    fn shl(&mut self, x: Self::I, by: u32) -> Self::I;
    /// Shifted right by a constant below the width, zeros coming in.
    fn lshr(&mut self, x: Self::I, by: u32) -> Self::I;
    /// `x == y`
    fn eq_i(&mut self, x: Self::I, y: Self::I) -> Self::M;
    /// `x < y`, signed.
    fn lt_i(&mut self, x: Self::I, y: Self::I) -> Self::M;

    /// In lanes where the mask holds what `rare` gives, elsewhere `usual`.
    ///
    /// Meant for cases that hardly ever occur and are dear. An implementation may evaluate `rare` always and select, or
    /// jump over it when the mask holds in no lane. It is called at most once, and only through the `Arith` that it
    /// is handed; what it computes in lanes where the mask does not hold is dropped and never traps.
    fn if_any<const N: usize>(
        &mut self,
        mask: Self::M,
        usual: [Self::F; N],
        rare: impl FnOnce(&mut Self) -> [Self::F; N],
    ) -> [Self::F; N];

    /// The state after `times` steps.
    ///
    /// An implementation may unroll, or call `step` once with the variables of a loop; so a step depends on nothing but
    /// the state and values from before the loop, and `step` must not count its calls.
    fn repeat<const N: usize>(
        &mut self,
        times: u32,
        state: [Self::F; N],
        step: impl FnMut(&mut Self, [Self::F; N]) -> [Self::F; N],
    ) -> [Self::F; N];

    /// `z - x * y`, rounded once.
    fn fnma(&mut self, x: Self::F, y: Self::F, z: Self::F) -> Self::F {
        let x = self.neg(x);
        self.fma(x, y, z)
    }

    /// `x * y - z`, rounded once.
    fn fms(&mut self, x: Self::F, y: Self::F, z: Self::F) -> Self::F {
        let z = self.neg(z);
        self.fma(x, y, z)
    }

    /// The lesser; `y` where an operand is NaN or both are zeros. One instruction on x86.
    fn min(&mut self, x: Self::F, y: Self::F) -> Self::F {
        let less = self.lt(x, y);
        self.select(less, x, y)
    }

    /// The greater; `y` where an operand is NaN or both are zeros. One instruction on x86.
    fn max(&mut self, x: Self::F, y: Self::F) -> Self::F {
        let greater = self.lt(y, x);
        self.select(greater, x, y)
    }
}
