//! Comparing the twin of a kernel with its function: on the interpreter, on native code on one core and on several, and on the simulator of GPUs.
//!
//! `agree!(small: f(i32, f64))` draws arguments from a set that includes special values: every combination of these, then random ones.

use deckle::prelude::*;
use deckle::{Backend, Hosted, Patient};
use deckle_diag::Diagnostic;
use deckle_engine::On;

/// A simulated GPU for each thread.
#[derive(Clone, Copy)]
pub struct Simulated;

thread_local! {
    static GPU: deckle_engine::Gpu = deckle_engine::Gpu::simulated(deckle_engine::Simulator::default(), None);
}

impl Backend for Simulated {
    fn place(self) -> Result<On, Box<Diagnostic>> {
        Ok(On::Gpu(GPU.with(Clone::clone)))
    }
}

/// The interpreter; an endless loop is an error.
pub fn interp() -> Patient {
    Interp.at_most(50_000_000)
}

/// The number of arguments for native code, and for the interpreter and the simulator unless `DECKLE_INPUTS` says another.
pub const MANY: usize = 100_000;
const FEW: usize = 160;

/// The number of arguments where kernels run slowly.
pub fn few() -> usize {
    let asked = std::env::var("DECKLE_INPUTS").ok();
    asked.map_or(FEW, |n| n.parse().unwrap_or_else(|_| panic!("DECKLE_INPUTS={n} is no number")))
}

/// Random numbers that are the same on every run.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// The set from which arguments are drawn: small numbers, whose arithmetic does not overflow, or all.
#[derive(Clone, Copy, PartialEq)]
pub enum From {
    Small,
    All,
}

/// A type of arguments.
pub trait Sample: Elt {
    fn special(from: From) -> Vec<Self>;
    fn random(from: From, r: &mut Random) -> Self;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Sample for $t {
            fn special(from: From) -> Vec<$t> {
                match from {
                    From::Small => vec![0, 1, 2, 3, 7, 8, 9, 10],
                    From::All => vec![0, 1, 2, 7, $t::MAX, $t::MAX - 1, $t::MIN, $t::MIN + 1, $t::MAX / 2, 100],
                }
            }
            #[allow(unused_comparisons)]
            fn random(from: From, r: &mut Random) -> $t {
                let lo = if $t::MIN < 0 { 10 } else { 0 };
                match (from, r.next() % 3) {
                    (From::Small, _) => (r.next() % 21) as $t - lo,
                    (From::All, 0) => (r.next() % 256) as $t,
                    (From::All, _) => r.next() as $t,
                }
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 usize }

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Sample for $t {
            fn special(from: From) -> Vec<$t> {
                let mut all = vec![0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 1e-3];
                if from == From::All {
                    all.extend([$t::NAN, $t::INFINITY, $t::NEG_INFINITY, $t::MAX, $t::MIN, $t::MIN_POSITIVE, 1e10]);
                }
                all
            }
            fn random(from: From, r: &mut Random) -> $t {
                let unit = (r.next() >> 11) as $t / (1u64 << 53) as $t * 2.0 - 1.0;
                match (from, r.next() % 4) {
                    (From::All, 0) => unit * 1e30,
                    (From::All, 1) => unit * 1e-30,
                    (_, 2) => (unit * 20.0).round(),
                    _ => unit * 10.0,
                }
            }
        }
    )*};
}

floats! { f32 f64 }

impl Sample for bool {
    fn special(_: From) -> Vec<bool> {
        vec![false, true]
    }
    fn random(_: From, r: &mut Random) -> bool {
        r.next() & 1 == 1
    }
}

impl<A: Sample, B: Sample> Sample for (A, B) {
    fn special(from: From) -> Vec<(A, B)> {
        let all = |a: A| B::special(from).into_iter().map(move |b| (a, b));
        A::special(from).into_iter().flat_map(all).collect()
    }
    fn random(from: From, r: &mut Random) -> (A, B) {
        (A::random(from, r), B::random(from, r))
    }
}

impl<A: Sample, const N: usize> Sample for [A; N] {
    fn special(from: From) -> Vec<[A; N]> {
        let all = A::special(from);
        (0..all.len()).map(|k| std::array::from_fn(|j| all[(k + j) % all.len()])).collect()
    }
    fn random(from: From, r: &mut Random) -> [A; N] {
        std::array::from_fn(|_| A::random(from, r))
    }
}

/// Columns of arguments: the combinations of special values first.
pub fn column<T: Sample>(from: From, seed: u64, period: &mut usize, n: usize) -> Vec<T> {
    let special = T::special(from);
    let mut r = Random::new(seed);
    let repeat = *period;
    *period = repeat * special.len();
    let combined = |k: usize| special[k / repeat % special.len()];
    let border = 1000.min(n / 2);
    (0..n).map(|k| if k < border { combined(k) } else { T::random(from, &mut r) }).collect()
}

/// A result: how far from that of the function it may be.
pub trait Same: Elt + std::fmt::Debug {
    /// The difference in relation to the value, 0 for equal ones.
    fn far(self, other: Self) -> f64;
}

macro_rules! exact {
    ($($t:ident)*) => {$(
        impl Same for $t {
            fn far(self, other: $t) -> f64 {
                if self == other { 0.0 } else { f64::INFINITY }
            }
        }
    )*};
}

exact! { bool i8 i16 i32 i64 u8 u16 u32 u64 usize isize }

macro_rules! measured {
    ($($t:ident)*) => {$(
        impl Same for $t {
            fn far(self, other: $t) -> f64 {
                match self == other || self.is_nan() && other.is_nan() {
                    true => 0.0,
                    false => {
                        let far = ((self - other).abs() / other.abs().max($t::MIN_POSITIVE)) as f64;
                        if far.is_nan() { f64::INFINITY } else { far / $t::EPSILON as f64 }
                    }
                }
            }
        }
    )*};
}

measured! { f32 f64 }

impl<A: Same, B: Same> Same for (A, B) {
    fn far(self, other: (A, B)) -> f64 {
        self.0.far(other.0).max(self.1.far(other.1))
    }
}

impl<A: Same, B: Same, C: Same> Same for (A, B, C) {
    fn far(self, other: (A, B, C)) -> f64 {
        self.0.far(other.0).max(self.1.far(other.1)).max(self.2.far(other.2))
    }
}

impl<A: Same, const N: usize> Same for [A; N] {
    fn far(self, other: [A; N]) -> f64 {
        self.into_iter().zip(other).map(|(a, b)| a.far(b)).fold(0.0, f64::max)
    }
}

/// Compares results with those of the function; `ulps` is what rounding may change.
pub fn compare<R: Same>(
    name: &str,
    on: &str,
    found: Result<Array<R>, Error>,
    expected: &[R],
    ulps: f64,
    arg: impl Fn(usize) -> String,
) {
    let found = found.unwrap_or_else(|e| panic!("{name} on {on}: {e}"));
    assert_eq!(found.as_slice().len(), expected.len(), "{name} on {on}");
    for (k, (x, y)) in found.as_slice().iter().zip(expected).enumerate() {
        let far = x.far(*y);
        assert!(far <= ulps, "{name}({}) on {on} is {x:?}, the function returns {y:?}", arg(k));
    }
}

/// A program whose result holds elements.
pub fn program<A, R: Elt>(name: &str, built: Result<Compiled<A, Arr<R>>, Error>) -> Compiled<A, Arr<R>>
where
    Arr<R>: Hosted,
{
    built.unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Compares a kernel with its function: `agree!(Small: f(f32, i32))`, or `near!` with a bound on the difference in units in the last place.
macro_rules! agree {
    ($($from:ident: $f:ident($($t:ty),+);)+) => { $(near!(0.0, $from: $f($($t),+));)+ };
}

macro_rules! near {
    ($ulps:expr, $from:ident: $f:ident($a:ty)) => {
        near!(@with $ulps, $from, $f, |a: $a| [Arr<$a>], |xs: Arr<$a>| xs.map($f::kernel))
    };
    ($ulps:expr, $from:ident: $f:ident($a:ty, $b:ty)) => {
        near!(@with $ulps, $from, $f, |a: $a, b: $b| [], |xs: Arr<$a>, ys: Arr<$b>| xs.zip_with(ys, $f::kernel))
    };
    ($ulps:expr, $from:ident: $f:ident($a:ty, $b:ty, $c:ty)) => {
        near!(@with $ulps, $from, $f, |a: $a, b: $b, c: $c| [],
            |xs: Arr<$a>, ys: Arr<$b>, zs: Arr<$c>| xs.zip_with3(ys, zs, $f::kernel))
    };
    (@with $ulps:expr, $from:ident, $f:ident, |$($x:ident: $t:ty),+| [$($unused:tt)*], $program:expr) => {{
        let name = stringify!($f);
        let program = agree::program(name, compile($program));
        let run = |n: usize, native: bool| {
            let (mut period, mut seed) = (1, n as u64);
            $(
                seed += 1;
                let $x: Vec<$t> = agree::column(agree::From::$from, seed, &mut period, n);
            )+
            let expected: Vec<_> = (0..n).map(|k| $f($($x[k]),+)).collect();
            let arg = |k: usize| [$(format!("{:?}", $x[k])),+].join(", ");
            let ulps: f64 = $ulps;
            if native {
                agree::compare(name, "one core", program.on(deckle::Seq).call($(&$x),+), &expected, ulps, arg);
                agree::compare(name, "cores", program.on(Cpu::threads(2)).call($(&$x),+), &expected, ulps, arg);
            } else {
                agree::compare(name, "the interpreter", program.on(agree::interp()).call($(&$x),+), &expected, ulps, arg);
                agree::compare(name, "a GPU", program.on(agree::Simulated).call($(&$x),+), &expected, ulps, arg);
            }
        };
        run(agree::MANY, true);
        run(agree::few(), false);
    }};
}
