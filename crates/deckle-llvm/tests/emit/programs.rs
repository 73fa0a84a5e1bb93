//! Random programs as machine code and on the simulator: the same bits.
//!
//! Products of floats are left out: a product and a sum may be contracted. So are the signs and payloads of NaN.

use super::{Random, call, compile, compiler, same};
use ScalarType::{Bool, F32, F64, I8, I32, I64, U16, U64};
use deckle_interp::simt::{self, BufferMem};
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::loops::{Access, Buf, Builder, Expr, Function, LoopHint, Place, RECORD, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

/// Elements of each buffer.
const LEN: i64 = 64;
const TYPES: [ScalarType; 8] = [Bool, I8, U16, I32, I64, U64, F32, F64];

struct Maker<'r> {
    random: &'r mut Random,
    inputs: Vec<Buf>,
    outputs: Vec<Buf>,
    scratch: Vec<Buf>,
    lanes: u16,
}

impl Maker<'_> {
    /// An index from which all lanes are in range, aligned to them.
    fn index(&mut self, b: &mut Builder, seed: Val) -> Val {
        let groups = b.i64(LEN / i64::from(self.lanes) - 1);
        let group = b.and(seed, groups);
        b.mul_const(group, i64::from(self.lanes))
    }

    /// A value of that type among those that are known, or a constant.
    fn some(&mut self, b: &mut Builder, known: &[Val], ty: ScalarType) -> Val {
        let fitting: Vec<Val> =
            known.iter().copied().filter(|&v| b.ty(v).scalar == ty && b.ty(v).lanes == self.lanes).collect();
        if !fitting.is_empty() && self.random.below(8) > 0 {
            return self.random.pick(&fitting);
        }
        let n = self.random.next() as i64 >> self.random.below(64);
        let s = if ty.is_float() { Scalar::F64((n % 1000) as f64 / 8.0).cast(ty) } else { Scalar::I64(n).cast(ty) };
        b.constant_lanes(s, self.lanes)
    }

    fn not_nan(&mut self, b: &mut Builder, v: Val) -> Val {
        let ty = b.ty(v);
        let (nan, one) = (b.unary(UnOp::IsNan, v), b.constant_lanes(Scalar::one(ty.scalar), ty.lanes));
        b.select(nan, one, v)
    }

    fn value(&mut self, b: &mut Builder, known: &[Val], seed: Val) -> Val {
        let ty = self.random.pick(&TYPES);
        let x = self.some(b, known, ty);
        match self.random.below(10) {
            0 => {
                let at = self.index(b, seed);
                let k = self.random.below(self.inputs.len());
                let mask = self.some(b, known, Bool);
                let mask = (self.random.below(3) == 0).then_some(mask);
                b.load_lanes(self.inputs[k], at, self.lanes, mask)
            }
            1 => {
                let (ix, limit) = (self.some(b, known, I64), b.constant_lanes(Scalar::I64(LEN - 1), self.lanes));
                let at = b.and(ix, limit);
                let k = self.random.below(self.inputs.len());
                let mask = self.some(b, known, Bool);
                let mask = (self.random.below(3) == 0).then_some(mask);
                b.load_lanes(self.inputs[k], at, self.lanes, mask)
            }
            2 => {
                let c = self.some(b, known, Bool);
                let y = self.some(b, known, ty);
                b.select(c, x, y)
            }
            3 => {
                let to = self.random.pick(&TYPES);
                b.cast(to, x)
            }
            4 if ty.is_float() => {
                let y = self.some(b, known, ty);
                let y = self.not_nan(b, y);
                match self.random.below(3) {
                    0 => b.let_(Expr::CopySign(x, y)),
                    1 => b.let_(Expr::Rint(x)),
                    _ => b.fma(x, y, y),
                }
            }
            4 => {
                let total = b.total(BinOp::Xor, if ty == Bool || ty.is_int() { x } else { seed });
                b.splat(total, self.lanes)
            }
            5 => {
                let from = (0..self.lanes).map(|_| self.random.below(2 * usize::from(self.lanes)) as u16).collect();
                let y = self.some(b, known, ty);
                b.let_(Expr::Swizzle(x, y, from))
            }
            6 => self.unary(b, x),
            _ => self.binary(b, known, x),
        }
    }

    fn unary(&mut self, b: &mut Builder, x: Val) -> Val {
        use UnOp::*;
        let ops = [Neg, Not, Abs, Sign, Sqrt, Floor, Ceil, Round, Trunc, IsNan, Popcount, Clz, Ctz];
        let fitting: Vec<UnOp> = ops.into_iter().filter(|op| op.operands().has(b.ty(x).scalar)).collect();
        let op = self.random.pick(&fitting);
        b.unary(op, x)
    }

    fn binary(&mut self, b: &mut Builder, known: &[Val], x: Val) -> Val {
        use BinOp::*;
        let ops = [Add, Sub, Mul, Div, Rem, Pow, Min, Max, And, Or, Xor, Shl, Shr, Eq, Ne, Lt, Le, Gt, Ge];
        let ty = b.ty(x).scalar;
        let left_out = |op: &BinOp| ty.is_float() && matches!(op, Mul | Pow);
        let fitting: Vec<BinOp> = ops.into_iter().filter(|op| op.operands().has(ty) && !left_out(op)).collect();
        let y = self.some(b, known, ty);
        let op = self.random.pick(&fitting);
        b.binary(op, x, y)
    }

    /// Statements; gives what they define.
    fn statements(&mut self, b: &mut Builder, known: &mut Vec<Val>, seed: Val, depth: usize) {
        for _ in 0..5 + self.random.below(12) {
            match self.random.below(12) {
                0 if depth < 3 => self.loop_(b, known, seed, depth),
                1 if depth < 3 => self.branch(b, known, seed, depth),
                2 => {
                    let k = self.random.below(self.outputs.len());
                    let ty = b.elem(self.outputs[k]);
                    let (value, mask, at) = (self.some(b, known, ty), self.some(b, known, Bool), self.index(b, seed));
                    let mask = (self.random.below(3) == 0).then_some(mask);
                    let hint = match self.random.pick(&[StoreHint::Cached, StoreHint::Streaming, StoreHint::Packed]) {
                        StoreHint::Packed if mask.is_none() || self.lanes == 1 => StoreHint::Cached,
                        hint => hint,
                    };
                    b.store_with(self.outputs[k], at, value, mask, hint);
                }
                3 => {
                    // Scattered, to places that lanes may have in common.
                    let k = self.random.below(self.outputs.len());
                    let ty = b.elem(self.outputs[k]);
                    let (value, ix) = (self.some(b, known, ty), self.some(b, known, I64));
                    let limit = b.constant_lanes(Scalar::I64(7), self.lanes);
                    let at = b.and(ix, limit);
                    b.store(self.outputs[k], at, value);
                }
                4 => {
                    let k = self.random.below(self.scratch.len());
                    let ty = b.elem(self.scratch[k]);
                    let (value, at) = (self.some(b, known, ty), self.index(b, seed));
                    b.store(self.scratch[k], at, value);
                    known.push(b.load_lanes(self.scratch[k], at, self.lanes, None));
                }
                5 => {
                    let k = self.random.below(self.outputs.len());
                    let buf = self.outputs[k];
                    if b.elem(buf).is_int() {
                        let ty = b.elem(buf);
                        let value = self.some(b, known, ty);
                        let value = b.let_(Expr::Lane(value, 0));
                        let (at, ops) = (self.index(b, seed), [BinOp::Add, BinOp::Min, BinOp::Max, BinOp::Xor]);
                        let op = self.random.pick(&ops);
                        b.atomic(op, buf, at, value);
                    }
                }
                6 if self.random.below(4) == 0 => {
                    let (x, y) = (self.some(b, known, I32), self.some(b, known, I32));
                    let bad = b.binary(BinOp::Eq, x, y);
                    b.flag(bad);
                }
                _ => {
                    let v = self.value(b, known, seed);
                    known.push(v);
                }
            }
        }
    }

    fn loop_(&mut self, b: &mut Builder, known: &mut Vec<Val>, seed: Val, depth: usize) {
        let inits: Vec<Val> = (0..self.random.below(3))
            .map(|_| {
                let ty = self.random.pick(&TYPES);
                self.some(b, known, ty)
            })
            .collect();
        let (zero, step) = (b.i64(0), 1 + self.random.below(3) as i64);
        let rounds = b.i64(self.random.below(6) as i64);
        let hint = self.random.pick(&[LoopHint::Plain, LoopHint::Unroll]);
        let results = b.for_(zero, rounds, step, &inits, hint, |b, i, carried| {
            let mut inner = known.clone();
            inner.extend(carried);
            let seed = b.add(seed, i);
            self.statements(b, &mut inner, seed, depth + 1);
            inits.iter().map(|&v| self.some(b, &inner, b.ty(v).scalar)).collect()
        });
        known.extend(results);
    }

    fn branch(&mut self, b: &mut Builder, known: &mut Vec<Val>, seed: Val, depth: usize) {
        let c = self.some(b, known, Bool);
        let c = b.let_(Expr::Lane(c, 0));
        let ty = self.random.pick(&TYPES);
        b.begin_if(c);
        let mut inner = known.clone();
        self.statements(b, &mut inner, seed, depth + 1);
        let yes = self.some(b, &inner, ty);
        b.begin_else(&[yes]);
        let mut inner = known.clone();
        self.statements(b, &mut inner, seed, depth + 1);
        let no = self.some(b, &inner, ty);
        known.extend(b.end(&[no]));
    }
}

/// A random function: reads inputs, writes outputs, one of each type.
fn function(name: &str, random: &mut Random) -> Function {
    let mut b = Builder::new(name);
    let lanes = random.pick(&[1, 2, 4, 8, 16]);
    let inputs = TYPES.iter().map(|&ty| b.buffer(ty, Access::Read)).collect();
    let outputs = TYPES.iter().map(|&ty| b.buffer(ty, Access::Write)).collect();
    let scratch = TYPES.iter().map(|&ty| b.local(ty, LEN as u32, Place::Private)).collect();
    let mut maker = Maker { random, inputs, outputs, scratch, lanes };
    let mut known: Vec<Val> = TYPES
        .iter()
        .map(|&ty| {
            let v = b.scalar(ty);
            b.splat(v, lanes)
        })
        .collect();
    let (zero, rounds) = (b.i64(0), b.i64(4));
    b.for_(zero, rounds, 1, &[], LoopHint::Plain, |b, i, _| {
        let mut inner = known.clone();
        let lane_numbers = b.lanes(lanes);
        let seeds = b.add(lane_numbers, i);
        inner.push(seeds);
        maker.statements(b, &mut inner, i, 0);
        known.truncate(TYPES.len());
        for ty in TYPES {
            let v = maker.some(b, &inner, ty);
            let k = TYPES.iter().position(|&t| t == ty).unwrap();
            let at = maker.index(b, i);
            b.store(maker.outputs[k], at, v);
        }
        Vec::new()
    });
    b.finish().unwrap()
}

fn data(random: &mut Random, ty: ScalarType) -> BufferMem {
    let items: Vec<Scalar> = (0..LEN)
        .map(|_| {
            let n = random.next() as i64 >> random.below(64);
            let special = [f64::NAN, f64::INFINITY, -0.0, 0.0, 1e300, -1.5];
            match ty {
                _ if !ty.is_float() => Scalar::I64(n),
                _ if random.below(6) == 0 => Scalar::F64(random.pick(&special)),
                _ => Scalar::F64(n as f64 / 16.0),
            }
        })
        .collect();
    BufferMem::of(ty, &items)
}

#[test]
fn machine_code_and_simulator_agree() {
    let cases: u64 = std::env::var("DECKLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(120);
    let first: u64 = std::env::var("DECKLE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let seeds: Vec<u64> = (first..first + cases).collect();
    for chunk in seeds.chunks(20) {
        let functions: Vec<Function> =
            chunk.iter().map(|&seed| function(&format!("f{seed}"), &mut Random(seed))).collect();
        let code = compile(&functions);
        for (f, &seed) in functions.iter().zip(chunk) {
            let text = f.to_string();
            assert_eq!(deckle_ir::loops::parse(&text).unwrap(), std::slice::from_ref(f));
            let mut random = Random(!seed);
            let mut simulated: Vec<BufferMem> = f.buffers.iter().map(|p| data(&mut random, p.elem)).collect();
            let mut ran = simulated.clone();
            let scalars: Vec<Scalar> = TYPES.iter().map(|&ty| data(&mut random, ty).get(0).unwrap()).collect();
            let mut expected = [0; RECORD];
            simt::run(f, 1, &mut simulated, &scalars, &mut expected).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let error = call(&code, &f.name, &mut ran, &scalars);
            assert_eq!(error[0], expected[0], "{text}");
            for (k, (s, r)) in simulated.iter().zip(&ran).enumerate() {
                for (i, (s, r)) in s.scalars().into_iter().zip(r.scalars()).enumerate() {
                    assert!(same(s, r), "seed {seed}: b{k}[{i}] is {r}, not {s}\n{text}");
                }
            }
        }
    }
}

#[test]
fn failures_are_recorded_as_simulated() {
    let mut b = Builder::new("fails");
    let xs = b.buffer(F32, Access::Read);
    let n = b.scalar(I64);
    let zero = b.i64(0);
    let limit = b.constant(Scalar::F32(2.0));
    b.for_(zero, n, 1, &[], LoopHint::Plain, |b, i, _| {
        let x = b.load(xs, i);
        let bad = b.lt(limit, x);
        b.when(bad, |b| b.fail(42, &[x, i, bad, limit]));
        Vec::new()
    });
    let f = b.finish().unwrap();
    let code = compile(std::slice::from_ref(&f));
    let mut buffers = [BufferMem::of(F32, &[1.0, 2.0, 2.5, 7.0].map(Scalar::F64))];
    let mut simulated = [0; RECORD];
    simt::run(&f, 1, &mut buffers, &[Scalar::I64(4)], &mut simulated).unwrap();
    assert_eq!(simulated[..7], [1, 42, 4, u64::from(2.5f32.to_bits()), 2, 1, u64::from(2f32.to_bits())]);
    assert_eq!(call(&code, "fails", &mut buffers, &[Scalar::I64(4)]), simulated);
    assert_eq!(call(&code, "fails", &mut buffers, &[Scalar::I64(2)]), [0; RECORD]);
}

/// The sum and the least element, and a flag if one is negative.
fn sum_and_least(ty: ScalarType, start: Scalar, top: Scalar) -> Function {
    let mut b = Builder::new("sum");
    let (xs, out) = (b.buffer(ty, Access::Read), b.buffer(ty, Access::Write));
    let n = b.scalar(I64);
    let (zero, start, top) = (b.i64(0), b.let_(Expr::Const(start)), b.let_(Expr::Const(top)));
    let sums = b.for_(zero, n, 1, &[start, top], LoopHint::Independent, |b, i, c| {
        let x = b.load(xs, i);
        let bad = b.lt(x, start);
        b.flag(bad);
        vec![b.assoc(BinOp::Add, c[0], x), b.assoc(BinOp::Min, c[1], x)]
    });
    b.store(out, zero, sums[0]);
    let one = b.i64(1);
    b.store(out, one, sums[1]);
    b.finish().unwrap()
}

fn optimised(f: &Function) -> String {
    let text = deckle_llvm::emit::host(std::slice::from_ref(f), deckle_ir::loops::Gathers::Native);
    compiler().optimised_ir(&text, deckle_llvm::Pipeline::O3).unwrap()
}

#[test]
fn independent_loops_become_vector_code() {
    let f = sum_and_least(I64, Scalar::I64(0), Scalar::I64(1 << 40));
    let ir = optimised(&f);
    assert!(ir.contains("x i64>") && ir.contains("llvm.vector.reduce.add"), "{ir}");
    let code = compile(std::slice::from_ref(&f));
    let items: Vec<Scalar> = (1..=1000).map(Scalar::I64).collect();
    let mut buffers = [BufferMem::of(I64, &items), BufferMem::new(I64, 2)];
    assert_eq!(call(&code, "sum", &mut buffers, &[Scalar::I64(1000)]), [0; RECORD]);
    assert_eq!(buffers[1].scalars(), [Scalar::I64(500500), Scalar::I64(1)]);
    buffers[0] = BufferMem::of(I64, &(1..=1000).map(|k| Scalar::I64(500 - k)).collect::<Vec<_>>());
    assert_eq!(call(&code, "sum", &mut buffers, &[Scalar::I64(1000)])[..2], [1, 0]);
    assert_eq!(call(&code, "sum", &mut buffers, &[Scalar::I64(0)]), [0; RECORD]);
}

#[test]
fn floats_are_added_in_the_order_in_which_the_schedule_has_them() {
    let f = sum_and_least(F64, Scalar::F64(0.0), Scalar::F64(1e9));
    let ir = optimised(&f);
    assert!(!ir.contains("reassoc"), "{ir}");
    let code = compile(std::slice::from_ref(&f));
    let items: Vec<f64> = (1..=1000).map(|k| 1.0 / f64::from(k)).collect();
    let scalars: Vec<Scalar> = items.iter().map(|x| Scalar::F64(*x)).collect();
    let mut buffers = [BufferMem::of(F64, &scalars), BufferMem::new(F64, 2)];
    assert_eq!(call(&code, "sum", &mut buffers, &[Scalar::I64(1000)]), [0; RECORD]);
    let sum = items.iter().fold(0.0, |a, x| a + x);
    assert_ne!(sum, items.iter().rev().fold(0.0, |a, x| a + x), "another order gives other bits");
    assert_eq!(buffers[1].scalars(), [Scalar::F64(sum), Scalar::F64(0.001)]);
}

#[test]
fn gathers_by_instruction_and_by_loads() {
    let mut b = Builder::new("gather");
    let (xs, at, out) = (b.buffer(F64, Access::Read), b.buffer(I64, Access::Read), b.buffer(F64, Access::Write));
    let zero = b.i64(0);
    let indices = b.load_lanes(at, zero, 8, None);
    let eight = b.i64(8);
    let many = b.splat(eight, 8);
    let mask = b.lt(indices, many);
    let some = b.load_lanes(xs, indices, 8, Some(mask));
    b.store(out, zero, some);
    let f = b.finish().unwrap();
    let compiler = compiler();
    for gathers in
        [deckle_ir::loops::Gathers::Native, deckle_ir::loops::Gathers::Emulated, deckle_ir::loops::Gathers::Scalar]
    {
        let text = deckle_llvm::emit::host(std::slice::from_ref(&f), gathers);
        let code = compiler.load(&text, deckle_llvm::Pipeline::O3).unwrap();
        let items: Vec<Scalar> = (0..8).map(|k| Scalar::F64(f64::from(k) + 0.5)).collect();
        let indices: Vec<Scalar> = [7, 0, 900, 3, 3, 1 << 40, 1, 6].map(Scalar::I64).to_vec();
        let mut buffers = [BufferMem::of(F64, &items), BufferMem::of(I64, &indices), BufferMem::new(F64, 8)];
        let record = call(&code, "gather", &mut buffers, &[]);
        assert_eq!(record[0], 0);
        let want: Vec<Scalar> = [7.5, 0.5, 0.0, 3.5, 3.5, 0.0, 1.5, 6.5].map(Scalar::F64).to_vec();
        let got: Vec<Scalar> = (0..8).filter_map(|k| buffers[2].get(k)).collect();
        assert_eq!(got, want, "{gathers:?}");
    }
}

/// A loop that may never end, in one that is counted.
#[test]
fn that_loops_end_is_promised_only_of_those_that_do() {
    let text = |inner: bool| {
        let mut b = Builder::new("loops");
        let (xs, out) = (b.buffer(I64, Access::Read), b.buffer(I64, Access::Write));
        let (zero, n) = (b.i64(0), b.i64(10));
        b.for_(zero, n, 1, &[], LoopHint::Plain, |b, i, _| {
            let x = b.load(xs, i);
            let last = match inner {
                true => b.while_(&[x], |b, c| b.lt(zero, c[0]), |b, c| vec![b.mul(c[0], c[0])])[0],
                false => x,
            };
            b.store(out, i, last);
            vec![]
        });
        deckle_llvm::emit::host(&[b.finish().unwrap()], deckle_ir::loops::Gathers::Native)
    };
    assert!(text(false).contains("mustprogress"));
    assert!(!text(true).contains("mustprogress"), "{}", text(true));
}
