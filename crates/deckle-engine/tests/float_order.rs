//! Sums of floats are combined in the order that `docs/order-of-floats.md` specifies, to the last bit, whatever the schedule, the threads and the chunks.

use deckle_diag::SourceMap;
use deckle_engine::{Cuts, Data, Effort, Native, Options, Settings, pipeline};
use deckle_gen::Rng;
use deckle_io::tree;
use deckle_ir::schedule::{Function, Lanes, Level, Nest, Schedule, Walk};
use deckle_ir::value::Value;
use deckle_syntax::Compiled;

fn compiled(text: &str) -> Compiled {
    let mut load = |_: &str, _: &str| Err("nothing is imported".to_string());
    deckle_syntax::compile(&mut SourceMap::new(), "sums.dk", text.as_bytes().to_vec(), &mut load).unwrap()
}

/// Values added by halves: `k` and `k + n/2` first, until so many are left.
fn halved(mut all: Vec<f64>, left: usize) -> Vec<f64> {
    while all.len() > left {
        let half = all.len() / 2;
        all = (0..half).map(|k| all[k] + all[k + half]).collect();
    }
    all
}

/// The sum of a block, as the page says.
fn block(level: Level, xs: &[f64]) -> f64 {
    match level {
        Level::Accumulators(n) => {
            let n = usize::from(n);
            let (whole, rest) = xs.split_at(xs.len() / n * n);
            let mut sums = vec![-0.0; n];
            whole.iter().enumerate().for_each(|(i, x)| sums[i % n] += x);
            rest.iter().for_each(|x| sums[0] += x);
            halved(sums, 1)[0]
        }
        Level::Lanes(Lanes { width, vectors, apart, .. }) => {
            let (width, vectors) = (usize::from(width), usize::from(vectors));
            let (whole, rest) = xs.split_at(xs.len() / (width * vectors) * (width * vectors));
            let mut sums = vec![-0.0; width * vectors];
            let part = whole.len() / vectors;
            for (i, x) in whole.iter().enumerate() {
                let lane = if apart { i / part * width + i % part % width } else { i % (width * vectors) };
                sums[lane] += x;
            }
            let mut sums = halved(sums, width);
            rest.iter().enumerate().for_each(|(i, x)| sums[i % width] += x);
            halved(sums, 1)[0]
        }
        _ => xs.iter().fold(-0.0, |sum, x| sum + x),
    }
}

/// The sum of a vector, as the page says: blocks in order, from 0.
fn total(level: Level, xs: &[f64], size: usize) -> f64 {
    xs.chunks(size).fold(0.0, |sum, xs| sum + (-0.0 + block(level, xs)))
}

fn with_level(function: &Function, level: Level) -> Function {
    let change = |w: &Walk| {
        let Nest::Level { inside, .. } = &w.nest else { panic!("{function}") };
        Walk { nest: Nest::level(level, inside.clone(), ""), ..w.clone() }
    };
    Function { walks: function.walks.iter().map(change).collect(), ..function.clone() }
}

#[test]
fn sums_follow_the_page_at_every_level() {
    let Compiled { program, .. } = compiled("def main(xs: [real]) = sum(xs)");
    let func = program.find("main").unwrap();
    let lanes = |width, vectors, apart| Level::Lanes(Lanes { width, vectors, apart, non_temporal: false });
    let mut levels = vec![Level::Serial, Level::Independent];
    levels.extend([1, 2, 4, 8].map(Level::Accumulators));
    for width in [2, 4, 8, 16] {
        levels.extend([1, 2, 4].map(|vectors| lanes(width, vectors, false)));
        levels.extend([2, 4].map(|vectors| lanes(width, vectors, true)));
    }
    let mut rng = Rng::new(7);
    let xs: Vec<f64> = (0..40_000).map(|_| rng.between(-1_000_000, 1_000_000) as f64 * 1e-3 + 1e7).collect();
    for cuts in [Cuts::default(), Cuts::small()] {
        let options = Options { effort: Effort::Little, cuts, checked: false, ..Options::default() };
        let chosen = pipeline::scheduled(&program, func, options, None).unwrap();
        let main = &chosen.functions[0];
        for level in &levels {
            let given = Schedule { functions: vec![with_level(main, *level)] };
            let native = Native::compile_as(&program, func, options, Some(&given))
                .unwrap_or_else(|d| panic!("{level}: {}", d.message));
            assert_eq!(native.schedule().functions[0], given.functions[0]);
            let block = cuts.block as usize;
            let large = [16_383, 16_384, 16_385, 32_768 + 77, 40_000];
            let few = [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100];
            let sizes = few.into_iter().chain(large.into_iter().filter(|_| block > 3));
            for n in sizes {
                // More blocks than this are larger ones.
                let mut size = block;
                while n as i64 / size as i64 >= cuts.partial {
                    size *= 2;
                }
                let wanted = total(*level, &xs[..n], size);
                for threads in [1, 2, 5] {
                    let settings = Settings::new(threads, None);
                    let data = Data::array(Data::numbers(xs[..n].to_vec()));
                    let result = native.call(vec![data], &settings).unwrap();
                    let Value::Scalar(got) = tree::value(native.result_type(), &result, 0) else { panic!("no scalar") };
                    let got = got.as_float().unwrap();
                    assert_eq!(
                        got.to_bits(),
                        wanted.to_bits(),
                        "{level}, {n} elements on {threads} threads: {got} for {wanted}"
                    );
                }
            }
        }
    }
}
