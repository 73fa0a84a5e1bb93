//! The functions on numbers of this machine: one lane, computed at once.
//!
//! Rust's `mul_add` is exactly rounded whether or not the machine has the instruction, so this gives the same bits
//! as compiled code. If the build targets a machine that has it, loops over these functions vectorise.

use super::arith::Arith;

macro_rules! native {
    ($(#[$doc:meta])* $name:ident $float:ident $int:ident $unsigned:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl Arith for $name {
            type F = $float;
            type I = $int;
            type M = bool;

            #[inline(always)]
            fn f(&mut self, value: f64) -> $float {
                value as $float
            }
            #[inline(always)]
            fn i(&mut self, value: i64) -> $int {
                value as $int
            }
            #[inline(always)]
            fn add(&mut self, x: $float, y: $float) -> $float {
                x + y
            }
            #[inline(always)]
            fn sub(&mut self, x: $float, y: $float) -> $float {
                x - y
            }
            #[inline(always)]
            fn mul(&mut self, x: $float, y: $float) -> $float {
                x * y
            }
            #[inline(always)]
            fn div(&mut self, x: $float, y: $float) -> $float {
                x / y
            }
            #[inline(always)]
            fn fma(&mut self, x: $float, y: $float, z: $float) -> $float {
                x.mul_add(y, z)
            }
            #[inline(always)]
            fn neg(&mut self, x: $float) -> $float {
                -x
            }
            #[inline(always)]
            fn abs(&mut self, x: $float) -> $float {
                x.abs()
            }
            #[inline(always)]
            fn copysign(&mut self, x: $float, sign: $float) -> $float {
                x.copysign(sign)
            }
            #[inline(always)]
            fn sqrt(&mut self, x: $float) -> $float {
                x.sqrt()
            }
            #[inline(always)]
            fn floor(&mut self, x: $float) -> $float {
                x.floor()
            }
            #[inline(always)]
            fn ceil(&mut self, x: $float) -> $float {
                x.ceil()
            }
            #[inline(always)]
            fn trunc(&mut self, x: $float) -> $float {
                x.trunc()
            }
            #[inline(always)]
            fn rint(&mut self, x: $float) -> $float {
                x.round_ties_even()
            }
            #[inline(always)]
            fn lt(&mut self, x: $float, y: $float) -> bool {
                x < y
            }
            #[inline(always)]
            fn le(&mut self, x: $float, y: $float) -> bool {
                x <= y
            }
            #[inline(always)]
            fn eq(&mut self, x: $float, y: $float) -> bool {
                x == y
            }
            #[inline(always)]
            fn is_nan(&mut self, x: $float) -> bool {
                x.is_nan()
            }
            #[inline(always)]
            fn select(&mut self, mask: bool, x: $float, y: $float) -> $float {
                if mask { x } else { y }
            }
            #[inline(always)]
            fn select_i(&mut self, mask: bool, x: $int, y: $int) -> $int {
                if mask { x } else { y }
            }
            #[inline(always)]
            fn and_m(&mut self, a: bool, b: bool) -> bool {
                a & b
            }
            #[inline(always)]
            fn or_m(&mut self, a: bool, b: bool) -> bool {
                a | b
            }
            #[inline(always)]
            fn not_m(&mut self, a: bool) -> bool {
                !a
            }
            #[inline(always)]
            fn bits_of(&mut self, x: $float) -> $int {
                x.to_bits() as $int
            }
            #[inline(always)]
            fn of_bits(&mut self, x: $int) -> $float {
                $float::from_bits(x as $unsigned)
            }
            #[inline(always)]
            fn add_i(&mut self, x: $int, y: $int) -> $int {
                x.wrapping_add(y)
            }
            #[inline(always)]
            fn sub_i(&mut self, x: $int, y: $int) -> $int {
                x.wrapping_sub(y)
            }
            #[inline(always)]
            fn and_i(&mut self, x: $int, y: $int) -> $int {
                x & y
            }
            #[inline(always)]
            fn or_i(&mut self, x: $int, y: $int) -> $int {
                x | y
            }
            #[inline(always)]
            fn xor_i(&mut self, x: $int, y: $int) -> $int {
                x ^ y
            }
            #[inline(always)]
            fn shl(&mut self, x: $int, by: u32) -> $int {
                x << by
            }
            #[inline(always)]
            fn lshr(&mut self, x: $int, by: u32) -> $int {
                (x as $unsigned >> by) as $int
            }
            #[inline(always)]
            fn eq_i(&mut self, x: $int, y: $int) -> bool {
                x == y
            }
            #[inline(always)]
            fn lt_i(&mut self, x: $int, y: $int) -> bool {
                x < y
            }
            #[inline(always)]
            fn if_any<const N: usize>(
                &mut self,
                mask: bool,
                usual: [$float; N],
                rare: impl FnOnce(&mut Self) -> [$float; N],
            ) -> [$float; N] {
                if mask { rare(self) } else { usual }
            }
            #[inline(always)]
            fn repeat<const N: usize>(
                &mut self,
                times: u32,
                mut state: [$float; N],
                mut step: impl FnMut(&mut Self, [$float; N]) -> [$float; N],
            ) -> [$float; N] {
                for _ in 0..times {
                    state = step(self, state);
                }
                state
            }
        }
    };
}

native! {
    /// The arithmetic of `f64`.
    Native64 f64 i64 u64
}

native! {
    /// The arithmetic of `f32`.
    Native32 f32 i32 u32
}
