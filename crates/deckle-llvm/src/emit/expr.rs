//! Expressions: constants, lanes and threads. Scalar operators are in `ops.rs`, loads in `memory.rs`.

use super::function::Writer;
use super::types;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::loops::{Axis, Expr, Shuffle, Ty, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

impl Writer<'_> {
    /// Writes what computes a value.
    pub(super) fn define(&mut self, v: Val, expr: &Expr) {
        let ty = self.ty(v);
        let constant = match *expr {
            Expr::Const(s) => Some(s),
            Expr::Splat(of) => self.constant(of),
            _ => None,
        };
        if let Some(s) = constant {
            self.set_constant(v, s);
            self.set(v, types::constants(s, ty.lanes));
            return;
        }
        if let Expr::Unary(UnOp::Sqrt, x) = expr {
            self.set_root(v, *x);
        }
        self.defines = v;
        let name = self.expr(ty, expr);
        self.set(v, name);
    }

    fn expr(&mut self, ty: Ty, expr: &Expr) -> String {
        let element = types::scalar(ty.scalar);
        match *expr {
            Expr::Const(s) => types::constants(s, ty.lanes),
            Expr::Lanes if ty.lanes == 1 => "0".to_string(),
            Expr::Lanes => {
                let numbers: Vec<String> = (0..ty.lanes).map(|k| format!("i64 {k}")).collect();
                format!("<{}>", numbers.join(", "))
            }
            Expr::Splat(v) => {
                let scalar = self.name(v);
                self.splat(&scalar, element, ty.lanes)
            }
            Expr::Unary(op, v) => self.unary(op, v),
            Expr::Binary(op, a, b) | Expr::Assoc(op, a, b) => self.binary(op, a, b),
            Expr::Fma(a, b, c) => {
                let (a, b, c) = (self.name(a), self.name(b), self.name(c));
                self.intrinsic("fma", element, ty.lanes, &[&a, &b, &c])
            }
            Expr::Rint(v) => {
                let v = self.name(v);
                self.intrinsic("rint", element, ty.lanes, &[&v])
            }
            Expr::CopySign(a, b) => {
                let (a, b) = (self.name(a), self.name(b));
                self.intrinsic("copysign", element, ty.lanes, &[&a, &b])
            }
            Expr::Cast(to, v) => self.cast(to, v),
            Expr::Bitcast(to, v) => {
                let (from, to) = (types::value(self.ty(v)), types::many(types::scalar(to), ty.lanes));
                let name = self.name(v);
                if from == to { name } else { self.op(format!("bitcast {from} {name} to {to}")) }
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.typed(c), self.typed(a), self.typed(b));
                self.op(format!("select {c}, {a}, {b}"))
            }
            Expr::Load { buf, at, mask } => self.load(buf, at, mask, ty.lanes),
            Expr::Total(op, v) => self.total(op, v),
            Expr::Lane(v, _) if self.ty(v).lanes == 1 => self.name(v),
            Expr::Lane(v, lane) => {
                let v = self.typed(v);
                self.op(format!("extractelement {v}, i64 {lane}"))
            }
            Expr::Swizzle(a, b, ref from) => self.swizzle(ty, a, b, from),
            Expr::Unaligned(buf) => self.unaligned(buf),
            Expr::Failed => self.failed(),
            Expr::Id(axis) => self.id(axis),
            Expr::Shuffle(how, v, by) => self.shuffle(how, v, by),
            Expr::Ballot(v) => {
                let callee = "i32 @llvm.nvvm.vote.ballot.sync";
                self.module.declare(format!("{callee}(i32, i1)"));
                self.op(format!("call {callee}(i32 -1, i1 {})", self.name(v)))
            }
        }
    }

    /// A scalar in every lane.
    pub(super) fn splat(&mut self, scalar: &str, element: &str, lanes: u16) -> String {
        if lanes == 1 {
            return scalar.to_string();
        }
        let ty = types::many(element, lanes);
        let first = self.op(format!("insertelement {ty} poison, {element} {scalar}, i64 0"));
        self.op(format!("shufflevector {ty} {first}, {ty} poison, <{lanes} x i32> zeroinitializer"))
    }

    fn swizzle(&mut self, ty: Ty, a: Val, b: Val, from: &[u16]) -> String {
        let source = self.ty(a).lanes;
        let element = types::scalar(ty.scalar);
        if source > 1 && ty.lanes > 1 {
            let lanes: Vec<String> = from.iter().map(|l| format!("i32 {l}")).collect();
            let (a, b) = (self.typed(a), self.typed(b));
            return self.op(format!("shufflevector {a}, {b}, <{} x i32> <{}>", ty.lanes, lanes.join(", ")));
        }
        let mut all = "poison".to_string();
        for (k, &lane) in from.iter().enumerate() {
            let (v, lane) = if lane < source { (a, lane) } else { (b, lane - source) };
            let one = if source == 1 {
                self.name(v)
            } else {
                let v = self.typed(v);
                self.op(format!("extractelement {v}, i64 {lane}"))
            };
            if ty.lanes == 1 {
                return one;
            }
            all = self.op(format!("insertelement {} {all}, {element} {one}, i64 {k}", types::value(ty)));
        }
        all
    }

    /// All lanes combined: integers by LLVM's reductions where there is one, everything else by halves.
    fn total(&mut self, op: BinOp, v: Val) -> String {
        let Ty { scalar, lanes } = self.ty(v);
        let element = types::scalar(scalar);
        let mut name = self.name(v);
        if lanes == 1 {
            return name;
        }
        if !scalar.is_float() && !matches!(op, BinOp::AddSat | BinOp::MulSat) {
            let kind = match op {
                BinOp::Min if scalar.is_signed() => "smin",
                BinOp::Max if scalar.is_signed() => "smax",
                BinOp::Min => "umin",
                BinOp::Max => "umax",
                other => other.name(),
            };
            return self.reduced(kind, element, lanes, &name);
        }
        if matches!(op, BinOp::Min | BinOp::Max) {
            return self.extreme_of_all(op, scalar, lanes, &name);
        }
        let mut width = lanes;
        while width > 1 {
            let half = width / 2;
            let ty = types::many(element, width);
            let mut part = |first: u16| {
                let lanes: Vec<String> = (first..first + half).map(|l| format!("i32 {l}")).collect();
                if half == 1 {
                    return self.op(format!("extractelement {ty} {name}, i64 {first}"));
                }
                let lanes = lanes.join(", ");
                self.op(format!("shufflevector {ty} {name}, {ty} poison, <{half} x i32> <{lanes}>"))
            };
            let (low, high) = (part(0), part(half));
            let ty = Ty { scalar, lanes: half };
            name = match scalar.is_float() {
                true => self.float_binary(op, ty, &low, &high),
                false => self.int_binary(op, ty, &low, &high),
            };
            width = half;
        }
        name
    }

    fn reduced(&mut self, kind: &str, element: &str, lanes: u16, name: &str) -> String {
        let ty = types::many(element, lanes);
        let callee = format!("{element} @llvm.vector.reduce.{kind}.v{lanes}{element}");
        self.module.declare(format!("{callee}({ty})"));
        self.op(format!("call {callee}({ty} {name})"))
    }

    /// The least or greatest of all lanes; NaN if one of them is. Integers that are ordered as the floats are need no care at every step: the bits, of negative
    /// ones all but the sign inverted, and beyond both ends the NaNs.
    fn extreme_of_all(&mut self, op: BinOp, scalar: ScalarType, lanes: u16, name: &str) -> String {
        let bits = if scalar == ScalarType::F32 { ScalarType::I32 } else { ScalarType::I64 };
        let (one, many) = (Ty::from(bits), Ty { scalar: bits, lanes });
        let (floats, ints) = (types::value(Ty { scalar, lanes }), types::value(many));
        let nans = self.op(format!("fcmp uno {floats} {name}, {name}"));
        let keys = self.op(format!("bitcast {floats} {name} to {ints}"));
        let keys = self.ordered(many, &keys);
        let (kind, nan) = if op == BinOp::Min { ("smin", i128::MIN) } else { ("smax", i128::MAX) };
        let nan = self.literal(many, nan >> (128 - 8 * bits.bytes()));
        let keys = self.op(format!("select {} {nans}, {ints} {nan}, {ints} {keys}", types::many("i1", lanes)));
        let key = self.reduced(kind, types::scalar(bits), lanes, &keys);
        let key = self.ordered(one, &key);
        self.op(format!("bitcast {} {key} to {}", types::value(one), types::scalar(scalar)))
    }

    /// The bits of floats as integers of the same order, or back.
    fn ordered(&mut self, ty: Ty, bits: &str) -> String {
        let (text, sign) = (types::value(ty), 8 * ty.scalar.bytes() as i128 - 1);
        let (by, all) = (self.literal(ty, sign), self.literal(ty, (1 << sign) - 1));
        let negative = self.op(format!("ashr {text} {bits}, {by}"));
        let flip = self.op(format!("and {text} {negative}, {all}"));
        self.op(format!("xor {text} {bits}, {flip}"))
    }

    fn id(&mut self, axis: Axis) -> String {
        let register = match axis {
            Axis::Block => "ctaid",
            Axis::Blocks => "nctaid",
            Axis::Thread => "tid",
        };
        let callee = format!("i32 @llvm.nvvm.read.ptx.sreg.{register}.x()");
        self.module.declare(callee.clone());
        let narrow = self.op(format!("call {callee}"));
        self.op(format!("zext i32 {narrow} to i64"))
    }

    /// Exchanges the value in pieces of 32 bits.
    fn shuffle(&mut self, how: Shuffle, v: Val, by: Val) -> String {
        let scalar = self.ty(v).scalar;
        let (ty, name) = (types::scalar(scalar), self.name(v));
        let by = self.op(format!("trunc i64 {} to i32", self.name(by)));
        let bits = match scalar {
            ScalarType::F32 => self.op(format!("bitcast float {name} to i32")),
            ScalarType::F64 => self.op(format!("bitcast double {name} to i64")),
            _ => name,
        };
        let exchanged = match scalar.bytes() {
            4 => self.exchange(how, &bits, &by),
            8 => {
                let low = self.op(format!("trunc i64 {bits} to i32"));
                let shifted = self.op(format!("lshr i64 {bits}, 32"));
                let high = self.op(format!("trunc i64 {shifted} to i32"));
                let (low, high) = (self.exchange(how, &low, &by), self.exchange(how, &high, &by));
                let low = self.op(format!("zext i32 {low} to i64"));
                let high = self.op(format!("zext i32 {high} to i64"));
                let high = self.op(format!("shl i64 {high}, 32"));
                self.op(format!("or i64 {low}, {high}"))
            }
            _ => {
                let wide = self.op(format!("zext {ty} {bits} to i32"));
                let wide = self.exchange(how, &wide, &by);
                self.op(format!("trunc i32 {wide} to {ty}"))
            }
        };
        match scalar {
            ScalarType::F32 => self.op(format!("bitcast i32 {exchanged} to float")),
            ScalarType::F64 => self.op(format!("bitcast i64 {exchanged} to double")),
            _ => exchanged,
        }
    }

    fn exchange(&mut self, how: Shuffle, bits: &str, by: &str) -> String {
        let (kind, bound) = match how {
            Shuffle::From => ("idx", 31),
            Shuffle::Up => ("up", 0),
            Shuffle::Down => ("down", 31),
            Shuffle::Xor => ("bfly", 31),
        };
        let callee = format!("i32 @llvm.nvvm.shfl.sync.{kind}.i32");
        self.module.declare(format!("{callee}(i32, i32, i32, i32)"));
        self.op(format!("call {callee}(i32 -1, i32 {bits}, i32 {by}, i32 {bound})"))
    }

    /// A constant of the type of a value, in every lane.
    pub(super) fn literal(&self, ty: Ty, n: i128) -> String {
        let s = Scalar::wrap_int(ty.scalar, n)
            .unwrap_or_else(|| Scalar::float(ty.scalar, n as f64).unwrap_or(Scalar::Bool(n != 0)));
        types::constants(s, ty.lanes)
    }
}
