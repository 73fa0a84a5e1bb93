//! Scalar operators, lane by lane. What they compute is defined by `deckle_ir::scalar_eval`.

use super::function::Writer;
use super::module::Target;
use super::types;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::loops::{Ty, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

impl Writer<'_> {
    pub(super) fn unary(&mut self, op: UnOp, v: Val) -> String {
        let (ty, x) = (self.ty(v), self.name(v));
        if ty.scalar.is_float() { self.float_unary(op, ty, &x) } else { self.int_unary(op, ty, &x) }
    }

    fn int_unary(&mut self, op: UnOp, ty: Ty, x: &str) -> String {
        let (text, element, lanes) = (types::value(ty), types::scalar(ty.scalar), ty.lanes);
        let zero = self.literal(ty, 0);
        let counted = |w: &mut Self, name: &str| {
            let callee = format!("{text} @llvm.{name}.{}", types::suffix(element, lanes));
            w.module.declare(format!("{callee}({text}, i1)"));
            w.op(format!("call {callee}({text} {x}, i1 false)"))
        };
        match op {
            UnOp::Neg => self.op(format!("sub {text} {zero}, {x}")),
            UnOp::Not => {
                let ones = if ty.scalar == ScalarType::Bool { self.literal(ty, 1) } else { self.literal(ty, -1) };
                // An unsigned constant of all ones is written as a large number; LLVM takes either.
                self.op(format!("xor {text} {x}, {ones}"))
            }
            UnOp::Abs if ty.scalar.is_signed() => counted(self, "abs"),
            UnOp::Sign => {
                let some = self.op(format!("icmp ne {text} {x}, {zero}"));
                let one = self.op(format!("zext {} {some} to {text}", types::value(ty.mask())));
                if !ty.scalar.is_signed() {
                    return one;
                }
                let top = self.literal(ty, 8 * ty.scalar.bytes() as i128 - 1);
                let sign = self.op(format!("ashr {text} {x}, {top}"));
                self.op(format!("or {text} {sign}, {one}"))
            }
            UnOp::Popcount => self.intrinsic("ctpop", element, lanes, &[x]),
            UnOp::Clz => counted(self, "ctlz"),
            UnOp::Ctz => counted(self, "cttz"),
            // The absolute value of an unsigned integer; the others take floats.
            _ => x.to_string(),
        }
    }

    fn float_unary(&mut self, op: UnOp, ty: Ty, x: &str) -> String {
        let (text, element, lanes) = (types::value(ty), types::scalar(ty.scalar), ty.lanes);
        let name = match op {
            UnOp::Neg => return self.op(format!("fneg {text} {x}")),
            UnOp::IsNan => return self.op(format!("fcmp uno {text} {x}, {x}")),
            UnOp::Sign => {
                let (zero, one) = (self.literal(ty, 0), self.literal(ty, 1));
                let some = self.op(format!("fcmp one {text} {x}, {zero}"));
                let unit = self.intrinsic("copysign", element, lanes, &[&one, x]);
                return self.op(format!("select {} {some}, {text} {unit}, {text} {x}", types::value(ty.mask())));
            }
            UnOp::Abs => "fabs",
            UnOp::Sqrt if self.module.target == Target::Nvptx && ty == ScalarType::F32.into() => {
                return self.sqrt(ty, x);
            }
            UnOp::Sqrt => "sqrt",
            UnOp::Floor => "floor",
            UnOp::Ceil => "ceil",
            UnOp::Round => "round",
            UnOp::Trunc => "trunc",
            other => return self.transcendental(other, ty, x),
        };
        self.intrinsic(name, element, lanes, &[x])
    }

    pub(super) fn binary(&mut self, op: BinOp, a: Val, b: Val) -> String {
        let ty = self.ty(a);
        let (x, y) = (self.name(a), self.name(b));
        if let Some(predicate) = predicate(op, ty.scalar) {
            let text = types::value(ty);
            let kind = if ty.scalar.is_float() { "fcmp" } else { "icmp" };
            return self.op(format!("{kind} {predicate} {text} {x}, {y}"));
        }
        match op {
            BinOp::Pow if ty.scalar.is_float() && self.constant(b).and_then(Scalar::as_float) == Some(2.0) => {
                self.float_binary(BinOp::Mul, ty, &x, &x)
            }
            // On a CPU one lane alone would wait no less, and could not be vectorised as well.
            BinOp::Div
                if (ty.lanes > 1 || self.module.target == Target::Nvptx)
                    && self.constant(a).and_then(Scalar::as_float) == Some(1.0) =>
            {
                match self.root_of(b) {
                    Some(root) => self.rsqrt(ty, &self.name(root)),
                    None => self.float_binary(op, ty, &x, &y),
                }
            }
            _ if ty.scalar.is_float() => self.float_binary(op, ty, &x, &y),
            BinOp::Div | BinOp::Rem => self.divide(op, ty, &x, &y, self.constant(b)),
            BinOp::Pow => self.int_power(ty, &x, &y, self.constant(b)),
            _ => self.int_binary(op, ty, &x, &y),
        }
    }

    pub(super) fn float_binary(&mut self, op: BinOp, ty: Ty, x: &str, y: &str) -> String {
        let text = types::value(ty);
        match op {
            BinOp::Add => self.op(format!("fadd {text} {x}, {y}")),
            BinOp::Sub => self.op(format!("fsub {text} {x}, {y}")),
            BinOp::Mul => self.op(format!("fmul {text} {x}, {y}")),
            BinOp::Div => self.op(format!("fdiv {text} {x}, {y}")),
            BinOp::Min | BinOp::Max => self.extreme(op, ty, x, y),
            other => self.transcendental_of_two(other, ty, x, y),
        }
    }

    /// The lesser or the greater; NaN if one of them is.
    fn extreme(&mut self, op: BinOp, ty: Ty, x: &str, y: &str) -> String {
        let (least, element, lanes) = (op == BinOp::Min, types::scalar(ty.scalar), ty.lanes);
        if self.module.target == Target::Host || ty.scalar != ScalarType::F64 {
            return self.intrinsic(if least { "minimum" } else { "maximum" }, element, lanes, &[x, y]);
        }
        // PTX has no such instruction for f64, though LLVM 17 writes one. The one that it has puts -0.0 before 0.0 as well.
        let text = types::value(ty);
        let number = self.intrinsic(if least { "minnum" } else { "maxnum" }, element, lanes, &[x, y]);
        let unordered = self.op(format!("fcmp uno {text} {x}, {y}"));
        let nan = self.op(format!("fadd {text} {x}, {y}"));
        self.op(format!("select {} {unordered}, {text} {nan}, {text} {number}", types::many("i1", lanes)))
    }

    pub(super) fn int_binary(&mut self, op: BinOp, ty: Ty, x: &str, y: &str) -> String {
        let (text, element) = (types::value(ty), types::scalar(ty.scalar));
        let signed = ty.scalar.is_signed();
        match op {
            BinOp::Min => self.intrinsic(if signed { "smin" } else { "umin" }, element, ty.lanes, &[x, y]),
            BinOp::Max => self.intrinsic(if signed { "smax" } else { "umax" }, element, ty.lanes, &[x, y]),
            BinOp::Shl | BinOp::Shr => {
                let most = self.literal(ty, 8 * ty.scalar.bytes() as i128 - 1);
                let by = self.op(format!("and {text} {y}, {most}"));
                let name = match op {
                    BinOp::Shl => "shl",
                    _ if signed => "ashr",
                    _ => "lshr",
                };
                self.op(format!("{name} {text} {x}, {by}"))
            }
            BinOp::AddSat => self.intrinsic(if signed { "sadd.sat" } else { "uadd.sat" }, element, ty.lanes, &[x, y]),
            BinOp::MulSat => {
                // A fixed-point product with no digits after the point.
                let name = if signed { "smul.fix.sat" } else { "umul.fix.sat" };
                let full = format!("{text} @llvm.{name}.{}", types::suffix(element, ty.lanes));
                self.module.declare(format!("{full}({text}, {text}, i32)"));
                self.op(format!("call {full}({text} {x}, {text} {y}, i32 0)"))
            }
            // `add`, `sub`, `mul`, `and`, `or` and `xor` have the names that LLVM gives them.
            other => self.op(format!("{} {text} {x}, {y}", other.name())),
        }
    }

    /// Quotient or remainder: 0 where the divisor is 0, and the least signed integer divided by -1 wraps.
    fn divide(&mut self, op: BinOp, ty: Ty, x: &str, y: &str, divisor: Option<Scalar>) -> String {
        let (text, mask) = (types::value(ty), types::value(ty.mask()));
        let signed = ty.scalar.is_signed();
        let name = match (op, signed) {
            (BinOp::Div, true) => "sdiv",
            (BinOp::Div, false) => "udiv",
            (_, true) => "srem",
            (_, false) => "urem",
        };
        let (zero, one) = (self.literal(ty, 0), self.literal(ty, 1));
        match divisor.and_then(Scalar::as_int) {
            Some(0) => return zero,
            Some(-1) if op == BinOp::Div => return self.op(format!("sub {text} {zero}, {x}")),
            Some(-1) => return zero,
            Some(_) => return self.op(format!("{name} {text} {x}, {y}")),
            None => {}
        }
        let is_zero = self.op(format!("icmp eq {text} {y}, {zero}"));
        let minus = self.literal(ty, -1);
        let is_minus = signed.then(|| self.op(format!("icmp eq {text} {y}, {minus}")));
        let unsafe_ = match &is_minus {
            Some(m) => self.op(format!("or {mask} {is_zero}, {m}")),
            None => is_zero.clone(),
        };
        let safe = self.op(format!("select {mask} {unsafe_}, {text} {one}, {text} {y}"));
        let result = self.op(format!("{name} {text} {x}, {safe}"));
        if op == BinOp::Rem {
            // The remainder of a division by 1 is what it should be.
            return result;
        }
        let result = match is_minus {
            Some(m) => {
                let negative = self.op(format!("sub {text} {zero}, {x}"));
                self.op(format!("select {mask} {m}, {text} {negative}, {text} {result}"))
            }
            None => result,
        };
        self.op(format!("select {mask} {is_zero}, {text} {zero}, {text} {result}"))
    }

    /// Small constant exponents by squaring, others by the helper, lane by lane.
    fn int_power(&mut self, ty: Ty, x: &str, y: &str, exponent: Option<Scalar>) -> String {
        let text = types::value(ty);
        match exponent.and_then(Scalar::as_int) {
            Some(e) if e < 0 => return self.literal(ty, 0),
            Some(mut e) if e <= 64 => {
                let (mut square, mut product) = (x.to_string(), None);
                while e > 0 {
                    if e & 1 == 1 {
                        product = Some(match product {
                            None => square.clone(),
                            Some(p) => self.op(format!("mul {text} {p}, {square}")),
                        });
                    }
                    e >>= 1;
                    if e > 0 {
                        square = self.op(format!("mul {text} {square}, {square}"));
                    }
                }
                return product.unwrap_or_else(|| self.literal(ty, 1));
            }
            _ => {}
        }
        self.module.need_power();
        let one: Ty = ty.scalar.into();
        self.by_lane(ty, &[x, y], |w, lane| {
            let (base, exponent) = (w.widened(ty.scalar, &lane[0]), w.widened(ty.scalar, &lane[1]));
            let power = w.op(format!("call i64 @deckle.pow(i64 {base}, i64 {exponent})"));
            let power = w.narrowed(ty.scalar, &power);
            if !ty.scalar.is_signed() {
                return power;
            }
            let negative = w.op(format!("icmp slt i64 {exponent}, 0"));
            let (text, zero) = (types::value(one), w.literal(one, 0));
            w.op(format!("select i1 {negative}, {text} {zero}, {text} {power}"))
        })
    }

    fn widened(&mut self, ty: ScalarType, x: &str) -> String {
        match (ty.bytes(), ty.is_signed()) {
            (8, _) => x.to_string(),
            (_, true) => self.op(format!("sext {} {x} to i64", types::scalar(ty))),
            (_, false) => self.op(format!("zext {} {x} to i64", types::scalar(ty))),
        }
    }

    fn narrowed(&mut self, ty: ScalarType, x: &str) -> String {
        if ty.bytes() == 8 { x.to_string() } else { self.op(format!("trunc i64 {x} to {}", types::scalar(ty))) }
    }

    /// Applies something of scalars to each lane; operands and result have type `ty`.
    pub(super) fn by_lane(
        &mut self,
        ty: Ty,
        operands: &[&str],
        mut apply: impl FnMut(&mut Self, &[String]) -> String,
    ) -> String {
        let (text, element) = (types::value(ty), types::scalar(ty.scalar));
        if ty.lanes == 1 {
            let operands: Vec<String> = operands.iter().map(|o| o.to_string()).collect();
            return apply(self, &operands);
        }
        let mut all = "poison".to_string();
        for k in 0..ty.lanes {
            let lane: Vec<String> =
                operands.iter().map(|o| self.op(format!("extractelement {text} {o}, i64 {k}"))).collect();
            let one = apply(self, &lane);
            all = self.op(format!("insertelement {text} {all}, {element} {one}, i64 {k}"));
        }
        all
    }
}

/// How LLVM calls a comparison; `None` for other operators.
fn predicate(op: BinOp, ty: ScalarType) -> Option<&'static str> {
    let (float, signed) = (ty.is_float(), ty.is_signed());
    let choose = |f: &'static str, s: &'static str, u: &'static str| {
        Some(if float {
            f
        } else if signed {
            s
        } else {
            u
        })
    };
    match op {
        BinOp::Eq => choose("oeq", "eq", "eq"),
        BinOp::Ne => choose("une", "ne", "ne"),
        BinOp::Lt => choose("olt", "slt", "ult"),
        BinOp::Le => choose("ole", "sle", "ule"),
        BinOp::Gt => choose("ogt", "sgt", "ugt"),
        BinOp::Ge => choose("oge", "sge", "uge"),
        _ => None,
    }
}
