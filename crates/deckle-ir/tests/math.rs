//! The mathematical functions against references: bounds of their errors, and special values.
//!
//! `f64`: `math/reference.txt` holds arguments and results to 60 bits and more, from MPFR, written by
//! `src/math/accuracy.py`: special and hard arguments, those with the largest errors, random ones.
//! `f32`: against `libm` in `f64`, whose error does not show, on a sample of all arguments; on all of them with
//!
//! ```text
//! RUSTFLAGS="-C target-cpu=native" cargo test --release -p deckle-ir --test math -- --ignored --nocapture
//! MATH=exp,log MATH_STEP=97 ...        only these functions, only every 97th argument
//! ```

use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::math::{self, F32, F64, Native32, Native64};
use std::collections::BTreeMap;

/// Operator, and the greatest error in units in the last place: in `f64`, in `f32`.
const BOUNDS: &[(&str, f64, f64)] = &[
    ("sqrt", 0.5, 0.5),
    ("exp", 0.9, 0.9),
    ("exp2", 0.9, 0.9),
    ("expm1", 1.25, 1.25),
    ("log", 0.8, 0.8),
    ("log2", 0.8, 0.8),
    ("log10", 0.75, 0.75),
    ("log1p", 0.8, 0.8),
    ("cbrt", 0.51, 0.51),
    ("sin", 0.9, 0.9),
    ("cos", 0.9, 0.9),
    ("tan", 1.0, 1.1),
    ("asin", 0.85, 0.85),
    ("acos", 0.8, 0.8),
    ("atan", 1.25, 1.25),
    ("sinh", 1.0, 1.0),
    ("cosh", 0.8, 0.8),
    ("tanh", 1.1, 1.1),
    ("erf", 1.25, 1.25),
    ("erfc", 2.0, 2.0),
    ("pow", 0.85, 0.85),
    ("atan2", 1.25, 1.6),
    ("hypot", 1.05, 1.05),
    ("rem", 0.0, 0.0),
];

#[derive(Clone, Copy)]
enum Op {
    One(UnOp),
    Two(BinOp),
}

fn named(op: &str) -> Op {
    UnOp::from_name(op).map(Op::One).or(BinOp::from_name(op).map(Op::Two)).expect("an operator")
}

fn call64(op: &str, x: &[f64]) -> f64 {
    let result = match named(op) {
        Op::One(op) => math::unary::<F64, _>(&mut Native64, op, x[0]),
        Op::Two(op) => math::binary::<F64, _>(&mut Native64, op, x[0], x[1]),
    };
    result.expect("a float operator")
}

fn call32(op: Op, x: &[f32]) -> f32 {
    let result = match op {
        Op::One(op) => math::unary::<F32, _>(&mut Native32, op, x[0]),
        Op::Two(op) => math::binary::<F32, _>(&mut Native32, op, x[0], x[1]),
    };
    result.expect("a float operator")
}

fn is_binary(op: &str) -> bool {
    matches!(named(op), Op::Two(_))
}

/// The reference of the special values, and for `f32` of all.
fn reference(op: &str, x: &[f64]) -> f64 {
    match op {
        "sqrt" => x[0].sqrt(),
        "exp" => libm::exp(x[0]),
        "exp2" => libm::exp2(x[0]),
        "expm1" => libm::expm1(x[0]),
        "log" => libm::log(x[0]),
        "log2" => libm::log2(x[0]),
        "log10" => libm::log10(x[0]),
        "log1p" => libm::log1p(x[0]),
        "cbrt" => libm::cbrt(x[0]),
        "sin" => libm::sin(x[0]),
        "cos" => libm::cos(x[0]),
        "tan" => libm::tan(x[0]),
        "asin" => libm::asin(x[0]),
        "acos" => libm::acos(x[0]),
        "atan" => libm::atan(x[0]),
        "sinh" => libm::sinh(x[0]),
        "cosh" => libm::cosh(x[0]),
        "tanh" => libm::tanh(x[0]),
        "erf" => libm::erf(x[0]),
        "erfc" => libm::erfc(x[0]),
        "pow" => libm::pow(x[0], x[1]),
        "atan2" => libm::atan2(x[0], x[1]),
        "hypot" => libm::hypot(x[0], x[1]),
        "rem" => x[0] % x[1],
        _ => panic!("no reference for {op}"),
    }
}

/// The unit in the last place of the binade of x.
fn ulp64(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff).max(1) as i32;
    2f64.powi((exponent - 1075).max(-1000)) * 2f64.powi((exponent - 1075).min(-1000) + 1000)
}

fn ulp32(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2f64.powi(exponent.clamp(-126, 127) - 23)
}

/// The error of a result in `f32`, in ulp.
fn error32(got: f32, exact: f64) -> f64 {
    let limit = 2f64.powi(128);
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    // What rounds to infinity is infinity; beside it, infinity counts as the number after the greatest.
    let exact = if exact.abs() >= limit - 2f64.powi(103) { exact.signum() * limit } else { exact };
    let got = if got.is_infinite() { got.signum() as f64 * limit } else { got as f64 };
    if got == exact && got != 0.0 {
        return 0.0;
    }
    if got == 0.0 && exact == 0.0 && got.is_sign_negative() != exact.is_sign_negative() {
        return f64::INFINITY;
    }
    (got - exact).abs() / ulp32(exact)
}

#[test]
fn doubles_are_within_their_bounds() {
    let mut worst: BTreeMap<&str, (f64, String)> = BTreeMap::new();
    for line in include_str!("math/reference.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (op, rest) = (words[0], words[words.len() - 1].parse::<f64>().expect("a number"));
        let number = |hex: &&str| f64::from_bits(u64::from_str_radix(hex, 16).expect("bits in hexadecimal"));
        let numbers: Vec<f64> = words[1..words.len() - 1].iter().map(number).collect();
        let (near, args) = numbers.split_last().expect("a result");
        let got = call64(op, args);
        // Both are near each other, so their difference is exact.
        let error = ((got - near) / ulp64(*near) - rest).abs();
        let entry = worst.entry(op).or_insert((0.0, String::new()));
        if error > entry.0 || error.is_nan() {
            *entry = (error, format!("{op}{args:?} = {got}, should be {near}"));
        }
    }
    assert_eq!(worst.len(), BOUNDS.len());
    let is_over = |error: f64, bound: f64| error.is_nan() || error > bound + 0.001;
    let over = BOUNDS.iter().filter(|(op, bound, _)| is_over(worst[op].0, *bound)).map(|(op, ..)| &worst[op]);
    let over: Vec<_> = over.collect();
    assert!(over.is_empty(), "{over:#?}");
}

struct Random(u64);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }
}

/// The largest error of an operator in `f32` over arguments `from`, `from + step`, ...; random pairs for two operands.
fn worst32(op: &str, from: u32, step: u32) -> (f64, String) {
    let mut worst = (0.0, String::new());
    let mut random = Random(from as u64);
    let mut bits = from;
    let operands = 1 + is_binary(op) as usize;
    let call = named(op);
    loop {
        let mut pair = [f32::from_bits(bits), 0.0];
        if operands == 2 {
            // Half of the pairs of like size.
            let (x, mut y) = (random.bits(), random.bits());
            if y & 1 == 0 {
                y = (x & 0x7f80_0000).wrapping_add((y % 8) << 23) ^ (y & 0x807f_ffff);
            }
            // Powers near the range of results.
            let y = if op == "pow" && y & 2 == 0 { (y as i32 as f32 * 4e-8).to_bits() } else { y };
            pair = [f32::from_bits(x), f32::from_bits(y)];
        }
        let args = &pair[..operands];
        let got = call32(call, args);
        let exact = if op == "rem" { (pair[0] % pair[1]) as f64 } else { reference(op, &pair.map(f64::from)) };
        let error = error32(got, exact);
        if error > worst.0 {
            worst = (error, format!("{op}{args:?} = {got}, should be {exact}"));
        }
        match bits.checked_add(step) {
            Some(next) => bits = next,
            None => return worst,
        }
    }
}

#[test]
fn singles_are_within_their_bounds() {
    let over = BOUNDS.iter().map(|(op, _, bound)| (bound, worst32(op, 11, 50_021)));
    let over: Vec<_> = over.filter(|(bound, worst)| worst.0 > *bound + 1e-4).collect();
    assert!(over.is_empty(), "{over:#?}");
}

#[test]
#[ignore = "minutes for each function"]
fn all_singles_are_within_their_bounds() {
    let only = std::env::var("MATH").unwrap_or_default();
    let step: u32 = std::env::var("MATH_STEP").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut over = Vec::new();
    for (op, _, bound) in BOUNDS.iter().filter(|b| only.is_empty() || only.split(',').any(|o| o == b.0)) {
        let (error, place) = worst32(op, 0, step);
        println!("{op} {error:.4} {place}");
        if error > bound + 1e-4 {
            over.push(place);
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

fn specials() -> Vec<f64> {
    let positive = [
        0.0,
        5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        1e-45,
        f32::MIN_POSITIVE as f64,
        1e-5,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        4.0,
        7.0,
        1e3,
        1e4,
        16_777_215.0,
        16_777_216.0,
        9_007_199_254_740_991.0,
        9_007_199_254_740_992.0,
        f32::MAX as f64,
        1e300,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    positive.into_iter().flat_map(|x| [x, -x]).collect()
}

fn special_arguments(op: &str) -> Vec<Vec<f64>> {
    let specials = specials();
    if !is_binary(op) {
        return specials.iter().map(|x| vec![*x]).collect();
    }
    specials.iter().flat_map(|x| specials.iter().map(|y| vec![*x, *y])).collect()
}

#[test]
fn special_values_are_those_of_the_library() {
    for (op, bound, _) in BOUNDS {
        for args in special_arguments(op) {
            let (got, exact) = (call64(op, &args), reference(op, &args));
            let same = if exact.is_nan() || exact.is_infinite() || exact == 0.0 {
                got.to_bits() == exact.to_bits() || got.is_nan() && exact.is_nan()
            } else {
                got.is_sign_negative() == exact.is_sign_negative()
                    && (got - exact).abs() <= (bound + 1.0).max(1.0) * ulp64(exact)
            };
            assert!(same, "{op}{args:?} = {got}, should be {exact}");
        }
    }
}

#[test]
fn special_values_of_singles_are_those_of_the_library() {
    for (op, _, bound) in BOUNDS {
        for args in special_arguments(op) {
            let narrow: Vec<f32> = args.iter().map(|x| *x as f32).collect();
            let wide: Vec<f64> = narrow.iter().map(|x| *x as f64).collect();
            let exact = if op == &"rem" { (narrow[0] % narrow[1]) as f64 } else { reference(op, &wide) };
            let got = call32(named(op), &narrow);
            let error = error32(got, exact);
            assert!(error <= bound + 1e-4, "{op}{narrow:?} = {got}, should be {exact}: {error} ulp");
            assert!(got.is_nan() || got.is_sign_negative() == exact.is_sign_negative(), "{op}{narrow:?} = {got}");
        }
    }
}

#[test]
fn rounding_is_exact() {
    let near = |x: f64| [x.next_down(), x, x.next_up()];
    let wholes = [0.0, 0.5, 1.0, 1.5, 2.5, 1e6 + 0.5, 2f64.powi(51) + 0.5, 2f64.powi(52), 2f64.powi(53) - 1.0, 1e300];
    for x in wholes.into_iter().flat_map(near).flat_map(|x| [x, -x]).chain(specials()) {
        for (op, expected) in
            [("round", x.round()), ("floor", x.floor()), ("ceil", x.ceil()), ("trunc", x.trunc()), ("abs", x.abs())]
        {
            let got = call64(op, &[x]);
            assert!(got.to_bits() == expected.to_bits() || x.is_nan() && got.is_nan(), "{op}({x}) = {got}");
        }
        let y = x as f32;
        let got = call32(Op::One(UnOp::Round), &[y]);
        assert!(got.to_bits() == y.round().to_bits() || y.is_nan() && got.is_nan(), "round({y}) = {got}");
    }
}

#[test]
fn extremes_and_signs_are_those_of_the_interpreter() {
    use deckle_ir::scalar::Scalar;
    use deckle_ir::scalar_eval;
    for x in specials() {
        for y in specials() {
            for op in [BinOp::Min, BinOp::Max, BinOp::Rem] {
                let expected = scalar_eval::binary(op, Scalar::F64(x), Scalar::F64(y)).ok().and_then(|s| s.as_float());
                let (got, expected) = (call64(op.name(), &[x, y]), expected.expect("a float"));
                let same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
                assert!(same, "{}({x}, {y}) = {got}, should be {expected}", op.name());
            }
        }
        let expected = scalar_eval::unary(UnOp::Sign, Scalar::F64(x)).ok().and_then(|s| s.as_float()).expect("a float");
        let got = call64("sign", &[x]);
        assert!(got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(), "sign({x}) = {got}");
    }
}

#[test]
fn functions_of_whole_numbers_are_exact() {
    for k in -1074..1024 {
        let power = call64("exp2", &[k as f64]);
        assert_eq!(power, libm::ldexp(1.0, k), "2^{k}");
        assert_eq!(call64("log2", &[power]), k as f64);
    }
    for k in 0..=22 {
        let power = 10f64.powi(k);
        assert_eq!(call64("log10", &[power]), k as f64);
        assert_eq!(call64("pow", &[10.0, k as f64]), power);
    }
    for n in 0..2000 {
        let x = n as f64;
        assert_eq!(call64("cbrt", &[x * x * x]), x);
        assert_eq!(call64("pow", &[x, 3.0]), x * x * x);
    }
    assert_eq!(call64("exp", &[0.0]), 1.0);
    assert_eq!(call64("cos", &[0.0]), 1.0);
}
