//! The machine that the functions are written for: straight-line code on the lanes of a vector.
//!
//! A function of this module never inspects the contents of a lane. It calls the methods of an [`Arith`], each of which is one
//! operation on all lanes, and receives handles for the results. The implementation determines what a handle is:
//!
//! - [`Native64`](super::Native64) and [`Native32`](super::Native32) compute at once, on one lane: a handle is a number;
//! - [`Count`](super::Count) does the same and counts;
//! - a code generator emits an instruction and returns its name.
//!
//! Every operation is exactly rounded (or exact) in IEEE 754, so all implementations give the same bits. Therefore
//! the error measured with the native ones is that of compiled code. It also means that a code generator must not
//! mark the operations as free to contract, reassociate or flush subnormal numbers.

/// Operations on lanes of one float format, on integers of the same width, and on masks.
///
/// Integers wrap. Comparisons are ordered: false if an operand is NaN.
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
    /// `x / y` to the same bits, where `x` is 0 or a number from 2^-100 to 2^20 in size, and `y` one from 2^-20 to 2^20.
    fn quotient(&mut self, x: Self::F, y: Self::F) -> Self::F {
        self.div(x, y)
    }
    /// `x * y + z`, rounded once: never a product followed by a sum.
    fn fma(&mut self, x: Self::F, y: Self::F, z: Self::F) -> Self::F;
    /// `-x`: the sign bit flipped, also of zeros and NaN.
    fn neg(&mut self, x: Self::F) -> Self::F;
    /// The sign bit cleared.
    fn abs(&mut self, x: Self::F) -> Self::F;
    /// The sign bit of `sign`, all other bits of `x`.
    fn copysign(&mut self, x: Self::F, sign: Self::F) -> Self::F;
    /// The square root.
    fn sqrt(&mut self, x: Self::F) -> Self::F;
    /// The floor.
    fn floor(&mut self, x: Self::F) -> Self::F;
    /// The ceiling.
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

    /// `x` if the mask holds, otherwise `y`.
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
    /// Shifted right by a constant below the width, with zero fill.
    fn lshr(&mut self, x: Self::I, by: u32) -> Self::I;
    /// `x == y`
    fn eq_i(&mut self, x: Self::I, y: Self::I) -> Self::M;
    /// `x < y`, signed.
    fn lt_i(&mut self, x: Self::I, y: Self::I) -> Self::M;

    /// The value of `rare` in lanes where the mask holds, `usual` in the others.
    ///
    /// For rare and expensive cases. An implementation may always evaluate `rare` and select, or
    /// skip it if the mask holds in no lane. It is called at most once, and only through the `Arith` that it
    /// is passed; its results in lanes where the mask does not hold are discarded and never trap.
    fn if_any<const N: usize>(
        &mut self,
        mask: Self::M,
        usual: [Self::F; N],
        rare: impl FnOnce(&mut Self) -> [Self::F; N],
    ) -> [Self::F; N];

    /// The state after `times` steps.
    ///
    /// An implementation may unroll, or call `step` once with the variables of a loop; so a step may depend only on
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

    /// The minimum; `y` if an operand is NaN or both are zeros. One instruction on x86.
    fn min(&mut self, x: Self::F, y: Self::F) -> Self::F {
        let less = self.lt(x, y);
        self.select(less, x, y)
    }

    /// The maximum; `y` if an operand is NaN or both are zeros. One instruction on x86.
    fn max(&mut self, x: Self::F, y: Self::F) -> Self::F {
        let greater = self.lt(y, x);
        self.select(greater, x, y)
    }
}
