//! Writes arguments and results of a mathematical function, for `math/accuracy.py` to compare with MPFR.
//!
//! ```text
//! math_values OP f32|f64 COUNT SEED        binary f64, little endian: x [y] result, again and again
//! math_values ops                          how many operations each function takes
//! ```
//!
//! A third of the arguments are random bits (every exponent is as likely as any other), the others are uniform in
//! ranges where the function does something.

use deckle_ir::array::{BinOp, OperandClass, UnOp};
use deckle_ir::math::{Count, F32, F64, Native32, Native64, Ops, binary, unary};
use std::io::Write;

struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn uniform(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }

    fn argument(&mut self, ranges: &[(f64, f64)], wide: bool) -> f64 {
        let x = match self.bits() % 3 {
            0 if wide => f64::from_bits(self.bits()),
            0 => f32::from_bits(self.bits() as u32) as f64,
            _ => {
                let range = ranges[self.bits() as usize % ranges.len()];
                self.uniform(range)
            }
        };
        if wide { x } else { x as f32 as f64 }
    }
}

fn ranges_unary(op: UnOp) -> Ranges {
    match op {
        UnOp::Exp | UnOp::Expm1 => &[(-1.0, 1.0), (-40.0, 40.0), (-750.0, 712.0), (-105.0, 90.0)],
        UnOp::Exp2 => &[(-1.0, 1.0), (-40.0, 40.0), (-1080.0, 1026.0), (-152.0, 130.0)],
        UnOp::Log | UnOp::Log2 | UnOp::Log10 => &[(0.4, 3.0), (0.9, 1.1), (0.999, 1.001), (0.0, 100.0)],
        UnOp::Log1p => &[(-0.1, 0.1), (-1.0, 3.0), (-0.3, -0.29), (0.41, 0.42), (0.0, 1e3)],
        UnOp::Sin | UnOp::Cos | UnOp::Tan => &[(-0.8, 0.8), (-10.0, 10.0), (-2e3, 2e3), (-4e6, 4e6), (4e6, 1e9)],
        UnOp::Asin | UnOp::Acos => &[(-1.0, 1.0), (0.4, 0.6), (0.99, 1.0), (-0.6, -0.4)],
        UnOp::Sinh | UnOp::Cosh => &[(-1.0, 1.0), (0.3, 0.4), (-10.0, 10.0), (-711.0, 711.0), (-90.0, 90.0)],
        UnOp::Tanh => &[(-0.6, 0.6), (0.5, 0.6), (-3.0, 3.0), (-20.0, 20.0)],
        UnOp::Erf => &[(-1.1, 1.1), (0.9, 1.2), (-4.0, 4.0), (-7.0, 7.0)],
        UnOp::Erfc => &[(-1.0, 1.0), (0.0, 4.0), (-6.0, 27.3), (-4.0, 10.1)],
        _ => &[(-1.0, 1.0), (-4.0, 4.0), (-1e3, 1e3)],
    }
}

type Ranges = &'static [(f64, f64)];

fn ranges_binary(op: BinOp) -> (Ranges, Ranges) {
    match op {
        BinOp::Pow => {
            (&[(0.0, 2.0), (0.9, 1.1), (0.0, 100.0), (-3.0, 0.0)], &[(-10.0, 10.0), (-500.0, 500.0), (-1e4, 1e4)])
        }
        _ => (&[(-1.0, 1.0), (-10.0, 10.0), (-1e5, 1e5)], &[(-1.0, 1.0), (-10.0, 10.0), (-1e5, 1e5)]),
    }
}

fn print_operations() {
    let line = |name: &str, [a, b]: [Ops; 2]| {
        let show = |o: Ops| {
            let rare = if o.rare > 0 { format!(" (+{})", o.rare) } else { String::new() };
            format!("{}: {} float, {} div, {} choice, {} int{rare}", o.usual(), o.float, o.division, o.choice, o.int)
        };
        println!("{name:8} f64 {}   f32 {}", show(a), show(b));
    };
    for op in UnOp::ALL.iter().copied().filter(|op| op.operands() == OperandClass::Float) {
        let (mut a, mut b) = (Count::<Native64>::default(), Count::<Native32>::default());
        let done = unary::<F64, _>(&mut a, op, 0.5).is_some() && unary::<F32, _>(&mut b, op, 0.5).is_some();
        if done {
            line(op.name(), [a.ops, b.ops]);
        }
    }
    for op in [BinOp::Pow, BinOp::Atan2, BinOp::Hypot, BinOp::Rem, BinOp::Min, BinOp::Max] {
        let (mut a, mut b) = (Count::<Native64>::default(), Count::<Native32>::default());
        let done = binary::<F64, _>(&mut a, op, 0.5, 0.7).is_some() && binary::<F32, _>(&mut b, op, 0.5, 0.7).is_some();
        if done {
            line(op.name(), [a.ops, b.ops]);
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args == ["ops"] {
        return print_operations();
    }
    let [op, width, count, seed] = &args[..] else { panic!("math_values OP f32|f64 COUNT SEED") };
    let wide = width == "f64";
    let (count, seed): (u64, u64) = (count.parse().expect("a count"), seed.parse().expect("a seed"));
    let mut random = Random(seed);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut put = |x: f64| out.write_all(&x.to_le_bytes()).expect("written");
    for i in 0..count {
        if let Some(op) = UnOp::from_name(op) {
            let x = random.argument(ranges_unary(op), wide);
            let y = if wide {
                unary::<F64, _>(&mut Native64, op, x)
            } else {
                unary::<F32, _>(&mut Native32, op, x as f32).map(f64::from)
            };
            [x, y.expect("a float operator")].into_iter().for_each(&mut put);
        } else {
            let op = BinOp::from_name(op).expect("an operator");
            let (xs, ys) = ranges_binary(op);
            let (x, mut y) = (random.argument(xs, wide), random.argument(ys, wide));
            if op == BinOp::Pow && i % 4 == 0 {
                y = y.round();
            }
            let z = if wide {
                binary::<F64, _>(&mut Native64, op, x, y)
            } else {
                binary::<F32, _>(&mut Native32, op, x as f32, y as f32).map(f64::from)
            };
            [x, y, z.expect("a float operator")].into_iter().for_each(&mut put);
        }
    }
}
