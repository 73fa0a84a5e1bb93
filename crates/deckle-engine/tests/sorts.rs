//! Sorts on a grid: keys of every type, in rows of every kind, in one word and in several, at the borders of warps, rounds and parts.

use deckle_diag::SourceMap;
use deckle_engine::{Cuts, Layout, Options, Order, Settings, Simulated};
use deckle_gen::Rng;
use deckle_gen::compare::same_bits;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::value::Value;
use deckle_syntax::Compiled;

const PROGRAM: &str = "
def order(keys: [t]) = sort_by(\\i -> keys[i], iota(length(keys)))
def pairs(keys: [t]) = sort_by(\\i -> (keys[i], keys[length(keys) - 1 - i], i % 3), iota(length(keys)))
def rows(rows: [[int]]) = [ sort_by(\\x -> x % 50, r) : r in rows ]
def equal(rows: [int; n, m]) = [ sort_by(\\x -> -x, r) : r in rows ]
def groups(keys: [t]) = [ (key, length(members)) : (key, members) in group_by(\\x -> x, keys) ]
";

fn compiled(ty: ScalarType) -> Compiled {
    let mut load = |_: &str, _: &str| Err("nothing is imported".to_string());
    let text = PROGRAM.replace("[t]", &format!("[{ty}]"));
    deckle_syntax::compile(&mut SourceMap::new(), "sorts.dk", text.into_bytes(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"))
}

/// Keys among which many are equal, with extremes of their type.
fn keys(ty: ScalarType, n: usize, rng: &mut Rng) -> Value {
    let mut one = || {
        let small = rng.between(-20, 20);
        let bits = rng.bits();
        match rng.below(4) {
            0 if ty != ScalarType::Bool => Scalar::from_bits(ty, bits),
            1 if ty.is_float() => {
                let special = [f64::NAN, -f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -5e-324];
                Scalar::float(ty, special[rng.below(8)]).unwrap()
            }
            _ if ty.is_float() => Scalar::float(ty, small as f64).unwrap(),
            _ if ty == ScalarType::Bool => Scalar::Bool(small > 0),
            _ => Scalar::wrap_int(ty, i128::from(small)).unwrap(),
        }
    };
    Value::array((0..n).map(|_| Value::Scalar(one())).collect())
}

fn agree(compiled: &Compiled, entry: &str, arg: &Value, threads: u32) {
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    let args = std::slice::from_ref(arg);
    let wanted = deckle_interp::run(&compiled.program, func, args, &deckle_interp::Options::default()).unwrap().value;
    for cuts in [Cuts::small(), Cuts::default()] {
        let layout = Layout { threads, ..Layout::default() };
        let options = Options { cuts, ..Options::default() };
        let simulated = Simulated::compile_as(&compiled.program, func, options, layout, None).unwrap();
        for order in [Order::Descending, Order::Shuffled(7)] {
            let got = simulated.run_in(order, args, &Settings::new(1, None));
            let got = got.unwrap_or_else(|d| panic!("{entry}, {threads} threads: {}", d.message));
            assert!(same_bits(&got, &wanted), "{entry}, {threads} threads: {got:?}, not {wanted:?}");
        }
    }
}

/// Around a warp, a round of 64 or 128 entries, and several rounds of three parts.
const SIZES: [usize; 10] = [0, 1, 2, 31, 33, 64, 65, 129, 400, 1030];

#[test]
fn keys_of_every_type_are_sorted() {
    let mut rng = Rng::new(31);
    for ty in ScalarType::ALL {
        let compiled = compiled(ty);
        for (k, n) in SIZES.into_iter().enumerate() {
            let threads = [32, 64, 96][k % 3];
            let entries = ["order", "pairs", "groups"];
            let is_usual = [ScalarType::I64, ScalarType::F64].contains(&ty);
            for entry in &entries[if is_usual { 0..3 } else { k % 3..k % 3 + 1 }] {
                agree(&compiled, entry, &keys(ty, n, &mut rng), threads);
            }
        }
    }
}

#[test]
fn rows_are_sorted_apart() {
    let (compiled, mut rng) = (compiled(ScalarType::I64), Rng::new(32));
    let mut ints = |n: usize| Value::array((0..n).map(|_| Value::int(rng.between(-1000, 1000))).collect());
    for lengths in [vec![], vec![0], vec![0, 0, 1], vec![3; 50], vec![0, 200, 0, 1, 0, 0, 70, 2], vec![1; 40]] {
        let rows = Value::array(lengths.into_iter().map(&mut ints).collect());
        [32, 64].into_iter().for_each(|threads| agree(&compiled, "rows", &rows, threads));
    }
    for (n, m) in [(0, 7), (1, 7), (65, 7), (3, 0), (2, 200), (129, 1)] {
        agree(&compiled, "equal", &Value::array((0..n).map(|_| ints(m)).collect()), 64);
    }
}
