//! Random scalars: mostly small numbers, and all edge cases.

use crate::Rng;
use deckle_ir::scalar::{Scalar, ScalarType};

/// A type. Indices, doubles and booleans are the most common in programs, and here.
pub(crate) fn any_type(rng: &mut Rng) -> ScalarType {
    match rng.below(10) {
        0..=3 => ScalarType::I64,
        4..=5 => ScalarType::F64,
        6 => ScalarType::Bool,
        _ => ScalarType::ALL[rng.below(ScalarType::ALL.len())],
    }
}

/// A value of a type.
pub(crate) fn any(rng: &mut Rng, ty: ScalarType) -> Scalar {
    match ty.int_range() {
        Some((lo, hi)) => {
            let v = match rng.below(20) {
                0..=12 => rng.between(-4, 9).into(),
                13..=16 => rng.between(-1, 1).into(),
                17 => [lo, hi, lo + 1, hi - 1][rng.below(4)],
                18 => rng.between(-200, 200).into(),
                _ => rng.bits().into(),
            };
            let v = if lo == 0 && (-4..0).contains(&v) { -v } else { v };
            Scalar::wrap_int(ty, v).unwrap_or(Scalar::zero(ty))
        }
        None if ty == ScalarType::Bool => Scalar::Bool(rng.chance(50)),
        None => Scalar::float(ty, float(rng)).unwrap_or(Scalar::zero(ty)),
    }
}

/// A float: preferably one of those that are unordered, or compare as equal to others.
pub(crate) fn special(rng: &mut Rng, ty: ScalarType) -> Scalar {
    let f = if rng.chance(60) { EDGES[rng.below(EDGES.len())] } else { rng.between(-2, 2) as f64 };
    Scalar::float(ty, f).unwrap_or(Scalar::zero(ty))
}

const EDGES: [f64; 10] = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e-300, 5e-324, 3.4e38, 0.1];

fn float(rng: &mut Rng) -> f64 {
    match rng.below(20) {
        0..=13 => rng.between(-8, 12) as f64 / 2.0,
        14..=15 => rng.between(-1_000_000, 1_000_000) as f64 / 1024.0,
        16..=18 => EDGES[rng.below(EDGES.len())],
        _ => {
            // One NaN is enough: which of two survives an operation is unspecified.
            let f = f64::from_bits(rng.bits());
            if f.is_nan() { f64::NAN } else { f }
        }
    }
}
