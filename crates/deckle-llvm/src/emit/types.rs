//! Types and constants as LLVM writes them.
//!
//! Truth values are `i1` in registers and `i8` in memory. Floats are written as the bits of a double.

use deckle_ir::loops::Ty;
use deckle_ir::scalar::{Scalar, ScalarType};

/// A scalar in a register.
pub(super) fn scalar(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "i1",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
        ty => int(ty.bytes()),
    }
}

/// A scalar in memory.
pub(super) fn stored(ty: ScalarType) -> &'static str {
    if ty == ScalarType::Bool { "i8" } else { scalar(ty) }
}

/// The integer of that many bytes.
pub(super) fn int(bytes: usize) -> &'static str {
    match bytes {
        1 => "i8",
        2 => "i16",
        4 => "i32",
        _ => "i64",
    }
}

/// So many of a type: a vector, if it is more than one.
pub(super) fn many(element: &str, lanes: u16) -> String {
    if lanes == 1 { element.to_string() } else { format!("<{lanes} x {element}>") }
}

/// A value in a register.
pub(super) fn value(ty: Ty) -> String {
    many(scalar(ty.scalar), ty.lanes)
}

/// How a type is called in the name of an intrinsic.
pub(super) fn suffix(element: &str, lanes: u16) -> String {
    let element = match element {
        "float" => "f32",
        "double" => "f64",
        other => other,
    };
    if lanes == 1 { element.to_string() } else { format!("v{lanes}{element}") }
}

/// A constant of one lane.
pub(super) fn constant(s: Scalar) -> String {
    match s {
        Scalar::Bool(b) => b.to_string(),
        Scalar::F64(x) => format!("0x{:016X}", x.to_bits()),
        Scalar::F32(x) if x.is_nan() => {
            let bits = u64::from(x.to_bits());
            format!("0x{:016X}", (bits >> 31 << 63) | (0x7ff << 52) | ((bits & 0x7f_ffff) << 29))
        }
        Scalar::F32(x) => format!("0x{:016X}", f64::from(x).to_bits()),
        other => other.as_int().unwrap_or(0).to_string(),
    }
}

/// The same constant in every lane.
pub(super) fn repeated(element: &str, constant: &str, lanes: u16) -> String {
    if lanes == 1 {
        return constant.to_string();
    }
    let each: Vec<String> = (0..lanes).map(|_| format!("{element} {constant}")).collect();
    format!("<{}>", each.join(", "))
}

/// A constant in every lane.
pub(super) fn constants(s: Scalar, lanes: u16) -> String {
    repeated(scalar(s.ty()), &constant(s), lanes)
}
