//! Transcendental functions and remainders of floats: those of [`deckle_ir::math`], written as one LLVM function for each
//! operator and type, which is inlined wherever it is used.
//!
//! [`Lanes`] is the [`Arith`] that writes instructions. They carry no flags: the functions mean exactly what they say.
//! What rarely matters is branched around: with several lanes if no lane needs it. Where LLVM vectorises a loop of one lane it
//! computes both sides instead.

use super::function::Writer;
use super::module::Target;
use super::types;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::loops::{Block, Function, Ty};
use deckle_ir::math::{self, Arith, F32, F64};
use deckle_ir::scalar::{Scalar, ScalarType};

/// Loops of up to so many steps are written out.
const UNROLLED: u32 = 4;

impl Writer<'_> {
    pub(super) fn transcendental(&mut self, op: UnOp, ty: Ty, x: &str) -> String {
        self.helper(op.name(), ty, &[x], |a, x| match ty.scalar {
            ScalarType::F32 => math::unary::<F32, _>(a, op, x[0]),
            _ => math::unary::<F64, _>(a, op, x[0]),
        })
    }

    /// One over the square root.
    pub(super) fn rsqrt(&mut self, ty: Ty, x: &str) -> String {
        if self.module.target == Target::Nvptx && ty == ScalarType::F32.into() {
            return self.helper("rsqrt", ty, &[x], |a, x| Some(a.refined_rsqrt(x[0])));
        }
        self.helper("rsqrt", ty, &[x], |a, x| {
            Some(match ty.scalar {
                ScalarType::F32 => math::rsqrt::<F32, _>(a, x[0]),
                _ => math::rsqrt::<F64, _>(a, x[0]),
            })
        })
    }

    /// The square root of an `f32` on a GPU, whose own one has a branch: loads of other elements would wait for it.
    pub(super) fn sqrt(&mut self, ty: Ty, x: &str) -> String {
        self.helper("sqrt", ty, &[x], |a, x| Some(a.refined_sqrt(x[0])))
    }

    pub(super) fn transcendental_of_two(&mut self, op: BinOp, ty: Ty, x: &str, y: &str) -> String {
        self.helper(op.name(), ty, &[x, y], |a, x| match ty.scalar {
            ScalarType::F32 => math::binary::<F32, _>(a, op, x[0], x[1]),
            _ => math::binary::<F64, _>(a, op, x[0], x[1]),
        })
    }

    /// Calls the function of that name, and writes it if it was not written before.
    fn helper(
        &mut self,
        name: &str,
        ty: Ty,
        operands: &[&str],
        body: impl FnOnce(&mut Lanes<'_, '_>, &[Name]) -> Option<Name>,
    ) -> String {
        let text = types::value(ty);
        let full = format!("@deckle.{name}.{}", types::suffix(types::scalar(ty.scalar), ty.lanes));
        if self.module.is_new(&full) {
            let nothing = Function {
                name: String::new(),
                buffers: Vec::new(),
                locals: Vec::new(),
                scalars: Vec::new(),
                vals: Vec::new(),
                body: Block::default(),
                block: 0,
                resident: 0,
            };
            let mut writer = Writer::new(self.module, &nothing);
            let mut lanes = Lanes { writer: &mut writer, names: Vec::new(), ty };
            let names: Vec<Name> = (0..operands.len()).map(|k| lanes.name(format!("%x{k}"))).collect();
            let result = body(&mut lanes, &names).map_or("poison".to_string(), |n| lanes.text(n).to_string());
            writer.line(format!("ret {text} {result}"));
            let params: Vec<String> = (0..operands.len()).map(|k| format!("{text} %x{k}")).collect();
            let code = std::mem::take(&mut writer.text);
            let head = format!("define internal {text} {full}({}) alwaysinline #1", params.join(", "));
            self.module.function(&format!("{head} {{\nentry:\n{code}}}\n"));
        }
        let operands: Vec<String> = operands.iter().map(|o| format!("{text} {o}")).collect();
        self.op(format!("call {text} {full}({})", operands.join(", ")))
    }
}

/// The place of an operand's text in [`Lanes::names`].
#[derive(Clone, Copy)]
struct Name(u32);

/// Writes operations on floats of one type.
struct Lanes<'w, 'a> {
    writer: &'w mut Writer<'a>,
    names: Vec<String>,
    ty: Ty,
}

impl Lanes<'_, '_> {
    fn name(&mut self, text: String) -> Name {
        self.names.push(text);
        Name(self.names.len() as u32 - 1)
    }

    fn text(&self, n: Name) -> &str {
        self.names.get(n.0 as usize).map_or("poison", String::as_str)
    }

    /// The integers of the same width.
    fn int(&self) -> Ty {
        self.ty.with(if self.ty.scalar == ScalarType::F32 { ScalarType::I32 } else { ScalarType::I64 })
    }

    fn op(&mut self, text: String) -> Name {
        let name = self.writer.op(text);
        self.name(name)
    }

    /// An instruction of two operands of one type.
    fn two(&mut self, inst: &str, ty: Ty, x: Name, y: Name) -> Name {
        self.op(format!("{inst} {} {}, {}", types::value(ty), self.text(x), self.text(y)))
    }

    fn choose(&mut self, ty: Ty, mask: Name, x: Name, y: Name) -> Name {
        let (mask_ty, ty) = (types::value(self.ty.mask()), types::value(ty));
        self.op(format!("select {mask_ty} {}, {ty} {}, {ty} {}", self.text(mask), self.text(x), self.text(y)))
    }

    fn intrinsic(&mut self, name: &str, operands: &[Name]) -> Name {
        let texts: Vec<String> = operands.iter().map(|&n| self.text(n).to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let result = self.writer.intrinsic(name, types::scalar(self.ty.scalar), self.ty.lanes, &texts);
        self.name(result)
    }

    /// One over the square root: what a GPU has for that, with one step of Newton's method. The guess is exact where that step does not apply: at zero, infinity and NaN, and below zero.
    fn refined_rsqrt(&mut self, x: Name) -> Name {
        let guess = self.approximated("rsqrt.approx.f", x);
        let (one, half) = (self.f(1.0), self.f(0.5));
        let root = self.mul(x, guess);
        let error = self.fnma(root, guess, one);
        let by_half = self.mul(guess, half);
        let better = self.fma(by_half, error, guess);
        let size = self.abs(error);
        let applies = self.lt(size, one);
        self.select(applies, better, guess)
    }

    /// The square root, exactly rounded, as a GPU computes it where nothing is out of range: small numbers are scaled, and zero and infinity selected.
    fn refined_sqrt(&mut self, x: Name) -> Name {
        let (least, up, down) = (self.f(2f64.powi(-100)), self.f(2f64.powi(64)), self.f(2f64.powi(-32)));
        let (zero, half, infinity) = (self.f(0.0), self.f(0.5), self.f(f64::INFINITY));
        let is_small = self.lt(x, least);
        let larger = self.mul(x, up);
        let scaled = self.select(is_small, larger, x);
        let guess = self.approximated("rsqrt.approx.ftz.f", scaled);
        let near = self.mul(scaled, guess);
        let by_half = self.mul(guess, half);
        let rest = self.fnma(near, near, scaled);
        let root = self.fma(rest, by_half, near);
        let smaller = self.mul(root, down);
        let root = self.select(is_small, smaller, root);
        let (is_zero, is_infinite) = (self.eq(x, zero), self.eq(x, infinity));
        let is_itself = self.or_m(is_zero, is_infinite);
        self.select(is_itself, x, root)
    }

    /// What a GPU has for a function of one float.
    fn approximated(&mut self, name: &str, x: Name) -> Name {
        let ty = types::value(self.ty);
        self.writer.module.declare(format!("{ty} @llvm.nvvm.{name}({ty})"));
        self.op(format!("call {ty} @llvm.nvvm.{name}({ty} {})", self.text(x)))
    }

    fn shift(&mut self, inst: &str, x: Name, by: u32) -> Name {
        let by = self.i(i64::from(by));
        self.two(inst, self.int(), x, by)
    }

    fn convert(&mut self, x: Name, from: Ty, to: Ty) -> Name {
        self.op(format!("bitcast {} {} to {}", types::value(from), self.text(x), types::value(to)))
    }

    /// One phi for each of some floats.
    fn phis<const N: usize>(&mut self, a: [Name; N], from_a: &str, b: [Name; N], from_b: &str) -> [Name; N] {
        let ty = types::value(self.ty);
        std::array::from_fn(|k| {
            let (a, b) = (self.text(a[k]).to_string(), self.text(b[k]).to_string());
            self.op(format!("phi {ty} [ {a}, %{from_a} ], [ {b}, %{from_b} ]"))
        })
    }
}

impl Arith for Lanes<'_, '_> {
    type F = Name;
    type I = Name;
    type M = Name;

    fn f(&mut self, value: f64) -> Name {
        let s = Scalar::float(self.ty.scalar, value).unwrap_or(Scalar::F64(value));
        self.name(types::constants(s, self.ty.lanes))
    }
    fn i(&mut self, value: i64) -> Name {
        let text = self.writer.literal(self.int(), i128::from(value));
        self.name(text)
    }
    fn add(&mut self, x: Name, y: Name) -> Name {
        self.two("fadd", self.ty, x, y)
    }
    fn sub(&mut self, x: Name, y: Name) -> Name {
        self.two("fsub", self.ty, x, y)
    }
    fn mul(&mut self, x: Name, y: Name) -> Name {
        self.two("fmul", self.ty, x, y)
    }
    fn div(&mut self, x: Name, y: Name) -> Name {
        self.two("fdiv", self.ty, x, y)
    }
    fn quotient(&mut self, x: Name, y: Name) -> Name {
        if self.writer.module.target == Target::Host || self.ty.lanes > 1 {
            return self.div(x, y);
        }
        // As a GPU divides, without asking whether something is out of range. The last step makes it exact.
        let single = self.ty.scalar == ScalarType::F32;
        let one = self.f(1.0);
        let mut inverse = self.approximated(if single { "rcp.approx.ftz.f" } else { "rcp.approx.ftz.d" }, y);
        if !single {
            let error = self.fnma(y, inverse, one);
            let error = self.fma(error, error, error);
            inverse = self.fma(inverse, error, inverse);
        }
        let error = self.fnma(y, inverse, one);
        let inverse = self.fma(inverse, error, inverse);
        let near = self.mul(x, inverse);
        let rest = self.fnma(y, near, x);
        self.fma(rest, inverse, near)
    }
    fn fma(&mut self, x: Name, y: Name, z: Name) -> Name {
        self.intrinsic("fma", &[x, y, z])
    }
    fn neg(&mut self, x: Name) -> Name {
        self.op(format!("fneg {} {}", types::value(self.ty), self.text(x)))
    }
    fn abs(&mut self, x: Name) -> Name {
        self.intrinsic("fabs", &[x])
    }
    fn copysign(&mut self, x: Name, sign: Name) -> Name {
        self.intrinsic("copysign", &[x, sign])
    }
    fn sqrt(&mut self, x: Name) -> Name {
        self.intrinsic("sqrt", &[x])
    }
    fn floor(&mut self, x: Name) -> Name {
        self.intrinsic("floor", &[x])
    }
    fn ceil(&mut self, x: Name) -> Name {
        self.intrinsic("ceil", &[x])
    }
    fn trunc(&mut self, x: Name) -> Name {
        self.intrinsic("trunc", &[x])
    }
    fn rint(&mut self, x: Name) -> Name {
        self.intrinsic("rint", &[x])
    }
    fn lt(&mut self, x: Name, y: Name) -> Name {
        self.two("fcmp olt", self.ty, x, y)
    }
    fn le(&mut self, x: Name, y: Name) -> Name {
        self.two("fcmp ole", self.ty, x, y)
    }
    fn eq(&mut self, x: Name, y: Name) -> Name {
        self.two("fcmp oeq", self.ty, x, y)
    }
    fn is_nan(&mut self, x: Name) -> Name {
        self.two("fcmp uno", self.ty, x, x)
    }
    fn select(&mut self, mask: Name, x: Name, y: Name) -> Name {
        self.choose(self.ty, mask, x, y)
    }
    fn select_i(&mut self, mask: Name, x: Name, y: Name) -> Name {
        self.choose(self.int(), mask, x, y)
    }
    fn and_m(&mut self, a: Name, b: Name) -> Name {
        self.two("and", self.ty.mask(), a, b)
    }
    fn or_m(&mut self, a: Name, b: Name) -> Name {
        self.two("or", self.ty.mask(), a, b)
    }
    fn not_m(&mut self, a: Name) -> Name {
        let all = self.name(types::constants(Scalar::Bool(true), self.ty.lanes));
        self.two("xor", self.ty.mask(), a, all)
    }
    fn bits_of(&mut self, x: Name) -> Name {
        self.convert(x, self.ty, self.int())
    }
    fn of_bits(&mut self, x: Name) -> Name {
        self.convert(x, self.int(), self.ty)
    }
    fn add_i(&mut self, x: Name, y: Name) -> Name {
        self.two("add", self.int(), x, y)
    }
    fn sub_i(&mut self, x: Name, y: Name) -> Name {
        self.two("sub", self.int(), x, y)
    }
    fn and_i(&mut self, x: Name, y: Name) -> Name {
        self.two("and", self.int(), x, y)
    }
    fn or_i(&mut self, x: Name, y: Name) -> Name {
        self.two("or", self.int(), x, y)
    }
    fn xor_i(&mut self, x: Name, y: Name) -> Name {
        self.two("xor", self.int(), x, y)
    }
    fn shl(&mut self, x: Name, by: u32) -> Name {
        self.shift("shl", x, by)
    }
    fn lshr(&mut self, x: Name, by: u32) -> Name {
        self.shift("lshr", x, by)
    }
    fn eq_i(&mut self, x: Name, y: Name) -> Name {
        self.two("icmp eq", self.int(), x, y)
    }
    fn lt_i(&mut self, x: Name, y: Name) -> Name {
        self.two("icmp slt", self.int(), x, y)
    }

    fn if_any<const N: usize>(
        &mut self,
        mask: Name,
        usual: [Name; N],
        rare: impl FnOnce(&mut Self) -> [Name; N],
    ) -> [Name; N] {
        let k = self.writer.unique();
        let text = self.text(mask).to_string();
        let any = self.writer.any(&text, self.ty.lanes);
        let before = self.writer.label.clone();
        // Weighed so that the usual path falls through.
        let rarely = self.writer.weighed("i32 1, i32 1000");
        self.writer.line(format!("br i1 {any}, label %rare{k}, label %rare{k}.end{rarely}"));
        self.writer.begin(format!("rare{k}"));
        let found = rare(self);
        let found = std::array::from_fn(|n| self.choose(self.ty, mask, found[n], usual[n]));
        let after = self.writer.label.clone();
        self.writer.line(format!("br label %rare{k}.end"));
        self.writer.begin(format!("rare{k}.end"));
        self.phis(usual, &before, found, &after)
    }

    fn repeat<const N: usize>(
        &mut self,
        times: u32,
        state: [Name; N],
        mut step: impl FnMut(&mut Self, [Name; N]) -> [Name; N],
    ) -> [Name; N] {
        if times <= UNROLLED {
            return (0..times).fold(state, |state, _| step(self, state));
        }
        let k = self.writer.unique();
        let before = self.writer.label.clone();
        self.writer.line(format!("br label %repeat{k}"));
        self.writer.begin(format!("repeat{k}"));
        let phis_at = self.writer.text.len();
        let inside: [Name; N] = std::array::from_fn(|n| self.name(format!("%state{k}.{n}")));
        let next = step(self, inside);
        let count = self.writer.op(format!("add i32 %count{k}, 1"));
        let done = self.writer.op(format!("icmp eq i32 {count}, {times}"));
        let latch = self.writer.label.clone();
        self.writer.line(format!("br i1 {done}, label %repeat{k}.end, label %repeat{k}"));
        let ty = types::value(self.ty);
        let mut phis = format!("  %count{k} = phi i32 [ 0, %{before} ], [ {count}, %{latch} ]\n");
        for n in 0..N {
            let (init, next) = (self.text(state[n]), self.text(next[n]));
            phis.push_str(&format!("  %state{k}.{n} = phi {ty} [ {init}, %{before} ], [ {next}, %{latch} ]\n"));
        }
        self.writer.text.insert_str(phis_at, &phis);
        self.writer.begin(format!("repeat{k}.end"));
        next
    }
}
