//! How fast the functions are when compiled for vectors of this machine.
//!
//! ```text
//! RUSTFLAGS="-C target-cpu=native -C target-feature=-prefer-256-bit" cargo run --release -p deckle-ir --example math_speed
//! ```
//!
//! Each function runs over an array that stays in cache, in a plain loop that LLVM vectorises, as it does Deckle's loops.
//! What is under `if_any` is left out, as it would be where no lane needs it. Prints nanoseconds a value.

use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::math::{Arith, F32, F64, Format, Native32, Native64, binary, unary};
use std::hint::black_box;
use std::time::Instant;

/// Another arithmetic without the rare cases.
struct Usual<A>(A);

macro_rules! forward {
    ($($name:ident($($arg:ident $ty:ident),*) $result:ident;)*) => {
        $(
            #[inline(always)]
            fn $name(&mut self, $($arg: Self::$ty),*) -> Self::$result {
                self.0.$name($($arg),*)
            }
        )*
    };
}

impl<A: Arith> Arith for Usual<A> {
    type F = A::F;
    type I = A::I;
    type M = A::M;

    forward! {
        add(x F, y F) F; sub(x F, y F) F; mul(x F, y F) F; div(x F, y F) F; fma(x F, y F, z F) F; neg(x F) F; abs(x F) F;
        copysign(x F, y F) F; sqrt(x F) F; floor(x F) F; ceil(x F) F; trunc(x F) F; rint(x F) F; lt(x F, y F) M;
        le(x F, y F) M; eq(x F, y F) M; is_nan(x F) M; select(m M, x F, y F) F; select_i(m M, x I, y I) I;
        and_m(x M, y M) M; or_m(x M, y M) M; not_m(x M) M; bits_of(x F) I; of_bits(x I) F; add_i(x I, y I) I;
        sub_i(x I, y I) I; and_i(x I, y I) I; or_i(x I, y I) I; xor_i(x I, y I) I; eq_i(x I, y I) M; lt_i(x I, y I) M;
    }
    #[inline(always)]
    fn f(&mut self, value: f64) -> A::F {
        self.0.f(value)
    }
    #[inline(always)]
    fn i(&mut self, value: i64) -> A::I {
        self.0.i(value)
    }
    #[inline(always)]
    fn shl(&mut self, x: A::I, by: u32) -> A::I {
        self.0.shl(x, by)
    }
    #[inline(always)]
    fn lshr(&mut self, x: A::I, by: u32) -> A::I {
        self.0.lshr(x, by)
    }
    #[inline(always)]
    fn if_any<const N: usize>(
        &mut self,
        _: A::M,
        usual: [A::F; N],
        _: impl FnOnce(&mut Self) -> [A::F; N],
    ) -> [A::F; N] {
        usual
    }
    #[inline(always)]
    fn repeat<const N: usize>(
        &mut self,
        _: u32,
        state: [A::F; N],
        _: impl FnMut(&mut Self, [A::F; N]) -> [A::F; N],
    ) -> [A::F; N] {
        state
    }
}

/// Values a function is timed on: three arrays of them are in the first-level cache.
const VALUES: usize = 1024;

/// Nanoseconds a value, the best of some runs.
fn time<T: Copy>(xs: &[T], ys: &[T], out: &mut [T], f: impl Fn(T, T) -> T) -> f64 {
    let rounds = 100;
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let start = Instant::now();
        for _ in 0..rounds {
            for ((x, y), to) in black_box(xs).iter().zip(black_box(ys)).zip(&mut *out) {
                *to = f(*x, *y);
            }
            black_box(&mut *out);
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    best / (rounds * VALUES) as f64 * 1e9
}

#[inline(always)]
fn one<W: Format, A: Arith>(_: W, a: A, op: UnOp, x: A::F, _: A::F) -> A::F {
    unary::<W, _>(&mut Usual(a), op, x).unwrap_or(x)
}

#[inline(always)]
fn both<W: Format, A: Arith>(_: W, a: A, op: BinOp, x: A::F, y: A::F) -> A::F {
    binary::<W, _>(&mut Usual(a), op, x, y).unwrap_or(x)
}

fn main() {
    let (low, high) = (0.1, 0.9);
    let xs: Vec<f64> = (0..VALUES).map(|i| low + (high - low) * i as f64 / VALUES as f64).collect();
    let ys: Vec<f64> = xs.iter().rev().map(|x| 3.0 * x).collect();
    let xs32: Vec<f32> = xs.iter().map(|x| *x as f32).collect();
    let ys32: Vec<f32> = ys.iter().map(|y| *y as f32).collect();
    let (mut out, mut out32) = (vec![0f64; VALUES], vec![0f32; VALUES]);
    println!("{:8} {:>8} {:>8}   nanoseconds a value", "", "f64", "f32");
    macro_rules! show {
        ($table:ident: $($op:ident)*; $call:expr) => { $({
            let op = $table::$op;
            let a = time(&xs, &ys, &mut out, |x, y| $call(F64, Native64, op, x, y));
            let b = time(&xs32, &ys32, &mut out32, |x, y| $call(F32, Native32, op, x, y));
            println!("{:8} {a:8.3} {b:8.3}", op.name());
        })* };
    }
    show!(UnOp: Sqrt Exp Exp2 Expm1 Log Log2 Log10 Log1p Sin Cos Tan; one);
    show!(UnOp: Asin Acos Atan Sinh Cosh Tanh Erf Erfc Cbrt Round; one);
    show!(BinOp: Pow Atan2 Hypot Rem; both);
    // Against gcc's libmvec: 2^28 logarithms of what comes from memory.
    let many: Vec<f64> = (0..1 << 22).map(|i| 1.0 + i as f64 * 1e-3).collect();
    let start = Instant::now();
    for _ in 0..64 {
        for block in black_box(&many[..]).chunks_exact(VALUES) {
            for (x, to) in block.iter().zip(&mut out) {
                *to = deckle_ir::math::log::<F64, _>(&mut Native64, *x);
            }
            black_box(&mut out);
        }
    }
    println!("2^28 logarithms: {:.3} s", start.elapsed().as_secs_f64());
}
