//! Conversions, as `Scalar::cast` defines them: integers wrap, floats truncate and saturate, NaN becomes 0.

use super::function::Writer;
use super::module::Target;
use super::types;
use deckle_ir::loops::{Ty, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

impl Writer<'_> {
    pub(super) fn cast(&mut self, to: ScalarType, v: Val) -> String {
        let (from, x) = (self.ty(v), self.name(v));
        let target = from.with(to);
        let (source, result) = (types::value(from), types::value(target));
        if from.scalar == to {
            return x;
        }
        if to == ScalarType::Bool {
            let zero = self.literal(from, 0);
            let compare = if from.scalar.is_float() { "fcmp une" } else { "icmp ne" };
            return self.op(format!("{compare} {source} {x}, {zero}"));
        }
        let name = match (from.scalar.is_float(), to.is_float()) {
            (true, true) if to == ScalarType::F64 => "fpext",
            (true, true) => "fptrunc",
            (true, false) if self.module.target == Target::Host => return self.truncated(from, to, &x),
            (true, false) => {
                let kind = if to.is_signed() { "fptosi" } else { "fptoui" };
                let suffix = |ty: &str| types::suffix(ty, from.lanes);
                let (to_name, from_name) = (suffix(types::scalar(to)), suffix(types::scalar(from.scalar)));
                let callee = format!("{result} @llvm.{kind}.sat.{to_name}.{from_name}");
                self.module.declare(format!("{callee}({source})"));
                return self.op(format!("call {callee}({source} {x})"));
            }
            (false, true) if from.scalar.is_signed() => "sitofp",
            (false, true) => "uitofp",
            (false, false) => {
                // A truth value has one bit here, and one byte as a type.
                let bits = |ty: ScalarType| if ty == ScalarType::Bool { 1 } else { 8 * ty.bytes() };
                match bits(from.scalar).cmp(&bits(to)) {
                    std::cmp::Ordering::Equal => return x,
                    std::cmp::Ordering::Greater => "trunc",
                    std::cmp::Ordering::Less if from.scalar.is_signed() => "sext",
                    std::cmp::Ordering::Less => "zext",
                }
            }
        };
        self.op(format!("{name} {source} {x} to {result}"))
    }

    /// A float to an integer. LLVM's saturating conversion does the same, but takes vectors apart on most processors.
    fn truncated(&mut self, from: Ty, to: ScalarType, x: &str) -> String {
        let (source, result, mask) = (types::value(from), types::value(from.with(to)), types::value(from.mask()));
        let (least, most) = to.int_range().unwrap_or((0, 0));
        let double = from.scalar == ScalarType::F64;
        // The greatest float that is in range, which need not be the greatest integer.
        let exact = if double { (most as f64) as i128 == most } else { (most as f32) as i128 == most };
        let top = match (exact, double) {
            (true, _) => most as f64,
            (false, true) => (most as f64).next_down(),
            (false, false) => f64::from((most as f32).next_down()),
        };
        let float = |v: f64| types::constants(Scalar::float(from.scalar, v).unwrap_or(Scalar::F64(v)), from.lanes);
        let (low, high) = (float(least as f64), float(top));
        let below = self.op(format!("fcmp olt {source} {x}, {high}"));
        let capped = self.op(format!("select {mask} {below}, {source} {x}, {source} {high}"));
        let above = self.op(format!("fcmp ogt {source} {capped}, {low}"));
        let within = self.op(format!("select {mask} {above}, {source} {capped}, {source} {low}"));
        let convert = if to.is_signed() { "fptosi" } else { "fptoui" };
        let mut value = self.op(format!("{convert} {source} {within} to {result}"));
        if !exact {
            let over = self.op(format!("fcmp ogt {source} {x}, {high}"));
            let greatest = self.literal(from.with(to), most);
            value = self.op(format!("select {mask} {over}, {result} {greatest}, {result} {value}"));
        }
        let nan = self.op(format!("fcmp uno {source} {x}, {x}"));
        let zero = self.literal(from.with(to), 0);
        self.op(format!("select {mask} {nan}, {result} {zero}, {result} {value}"))
    }
}
