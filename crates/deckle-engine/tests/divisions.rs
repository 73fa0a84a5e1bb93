//! How a grid divides points, at the borders of threads, warps, blocks and parts: scans, filters, scatters and rows of every size around these agree with the interpreter, and their bits do not depend on the
//! order of blocks.

use deckle_diag::SourceMap;
use deckle_engine::{Cuts, Layout, Options, Order, Settings, Simulated, pipeline};
use deckle_gen::Rng;
use deckle_gen::compare::{same_bits, same_error, shown};
use deckle_gen::schedules::leave_rounds;
use deckle_ir::scalar::Scalar;
use deckle_ir::schedule::{Grid, Schedule, Share, Take, parse};
use deckle_ir::value::Value;
use deckle_syntax::Compiled;
use std::cell::Cell;

const PROGRAMS: &str = "
def running(xs: [int]) = scan_incl(+, xs)
def before(xs: [int]) = scan(+, 7, xs)
def twice(xs: [int]) = scan(+, 0, scan_incl(+, xs))
def affine(xs: [int]) = scan_incl(\\(a, b) (c, d) -> (a * c, b * c + d), [ (x, 1) : x in xs ])
def highest(xs: [real]) = scan_incl(max, xs)
def positive(xs: [int]) = filter(\\x -> x > 0, xs)
def positions(xs: [real]) = [ i : i in iota(length(xs)); x in xs | is_nan(x) ]
def both(xs: [int]) = let s = scan_incl(+, xs) in (s, sum(xs), fold(max, -1000000, s))
def counts(xs: [int]) = histogram(+, 0, 5, [ x % 5 * (if x < 0 then -1 else 1) : x in xs ], xs)
def bytes(xs: [int]) = histogram(max, 0u8, 3, [ i % 3 : i in iota(length(xs)) ], [ u8(x % 100 + 100) : x in xs ])
def products(xs: [int]) = histogram(*, 1, 2, [ i % 2 : i in iota(length(xs)) ], [ 2 * x + 1 : x in xs ])
def extremes(xs: [real]) = histogram(min, 1.0 / 0.0, 4, [ i % 4 : i in iota(length(xs)) ], xs)
def flags(xs: [int]) = permute(\\new old -> new || old, fill(false, 101), [ abs(x) : x in xs ], [ x > 0 : x in xs ])
def sums(xs: [real]) = scan_incl(+, xs)
def row_sums(rows: [[int]]) = [ sum(r) : r in rows ]
def real_rows(rows: [[real]]) = [ sum(r) : r in rows ]
def real_cube(a: [real; n, m, k]) = sum(flatten(flatten(generate(n, m, k, \\i j l -> abs(a[i, j, l])))))
def real_product(a: [real; n, m], b: [real; m, k]) =
  [ [ sum([ x * y : x in row; y in column ]) : column in transpose(b) ] : row in a ]
def row_tops(rows: [[int]]) = [ (fold(max, -1000, r), length(r)) : r in rows ]
def nested(rows: [[int]]) = [ [ x * s : x in r ] : r in rows; s in [ sum(r) : r in rows ] ]
def centred(rows: [[int]]) = [ let s = sum(r) in [ x - s : x in r ] : r in rows ]
def some(rows: [[int]]) = [ (if length(r) > 2 then sum(r) else -1) : r in rows ]
def row_counts(rows: [[int]]) = histogram(+, 0, 7, [ length(r) % 7 : r in rows ], [ sum(r) : r in rows ])
def table(rows: [[int]]) = [ [ length(r) * i : i in iota(3) ] : r in rows ]
def affine_rows(rows: [[int]]) = [ fold(\\(a, b) (c, d) -> (a * c, b * c + d), (1, 0), [ (x % 3, 1) : x in r ]) : r in rows ]
def spread(rows: [[int]]) = [ let m = sum(r) / max(1, length(r)) in sum({ (x - m) * (x - m) : x in r }) : r in rows ]
def from_mean(rows: [[int]]) =
  [ let m = sum(r) / max(1, length(r)) in let s = sum({ abs(x - m) : x in r }) in [ (x - m) * s : x in r ] : r in rows ]
def all_rows(rows: [[int]]) = sum({ sum(r) * sum(r) : r in rows })
def longest(rows: [[int]]) = filter(\\s -> s > 0, [ sum(r) : r in rows ])
def running_rows(rows: [[int]]) = [ scan_incl(+, r) : r in rows ]
def before_rows(rows: [[int]]) = [ scan(+, length(r), [ x - sum(r) : x in r ]) : r in rows ]
def affine_running(rows: [[int]]) = [ scan_incl(\\(a, b) (c, d) -> (a * c, b * c + d), [ (x % 3, 1) : x in r ]) : r in rows ]
def weighted_rows(rows: [[int]]) = [ sum({ x * length(r) : x in r }) + fold(min, 1000, r) : r in rows ]
def few_of_rows(rows: [[int]]) = [ sum({ x : x in r | x > 0 }) : r in rows ]
def sliced(off: [int], xs: [int]) = [ sum(r) : r in split_offsets(xs, off) ]
def sliced_running(off: [int], xs: [int]) = flatten([ scan_incl(+, r) : r in split_offsets(xs, off) ])
def sliced_twice(off: [int], xs: [int]) = flatten([ [ 2 * x : x in r ] : r in split_offsets(xs, off) ])
def sliced_picks(off: [int], xs: [int]) = [ sum({ xs[abs(x) % length(xs)] : x in r }) : r in split_offsets(xs, off) ]
def computed(xs: [int]) = [ sum({ i * x : i in iota(abs(x) * 7) }) : x in xs ]
def mapped(a: [int; n, m, k]) = [ [ [ 2 * x : x in r ] : r in s ] : s in a ]
def turned(a: [int; n, m, k]) = [ [ transpose(s)[j] : j in iota(k) ] : s in a ]
def placed(a: [int; n, m, k]) = generate(k, m, n, \\i j l -> 100 * i + 10 * j + a[l, j, i])
def relaxed(a: [int; n, m, k]) = stencil((1, 1, 1), constant(0), \\v -> v[1, 1, 0] + 2 * v[1, 1, 2] - v[0, 1, 1] + 3 * v[1, 2, 1], a)
def clamped(a: [int; n, m, k]) = stencil((0, 1, 2), clamp, \\v -> v[0, 0, 0] + 2 * v[0, 1, 4] - v[0, 2, 1], a)
def blurred(a: [int; n, m, k]) =
  let s = flatten(a) in generate(n * m, \\i -> sum([ s[max(i - 1, 0), j] * (j + 1) - s[min(i + 1, n * m - 1), j] : j in iota(k) ]))
def convolved(a: [int; n, m, k]) = [ [ sum([ (if i + d < m then s[i + d, 0] else 0) * d : d in iota(9) ]) : i in iota(m) ] : s in a ]
def below(a: [int; n, m, k]) = generate(n, m, k, \\i j l -> (if j + 1 < i then a[i, j, l] else if l < j then 1 else 0))
def rising(a: [int; n, m, k]) = [ [ scan_incl(+, r) : r in s ] : s in a ]
def depths(a: [int; n, m, k]) = [ [ (sum(r), fold(max, -1000, r)) : r in s ] : s in a ]
def folded(a: [int; n, m, k]) = sum(flatten(flatten(generate(n, m, k, \\i j l -> (i - j) * a[i, j, l]))))
def in_turn(a: [int; n, m, k]) =
  fold(\\(a, b) (c, d) -> (a * c, b * c + d), (1, 0), flatten([ flatten([ [ (x, 1) : x in r ] : r in s ]) : s in a ]))
def tallied(a: [int; n, m, k]) = histogram(+, 0, 7, flatten(flatten([ [ [ abs(x) % 7 : x in r ] : r in s ] : s in a ])), flatten(flatten(a)))
def beyond(a: [int; n, m, k]) = generate(n, m, k, \\i j l -> (if a[i, j, l] > 90 then a[i, j + 1, l] else 0))
def product(a: [int; n, m], b: [int; m, k]) =
  let columns = transpose(b) in [ [ sum([ x * y : x in row; y in column ]) : column in columns ] : row in a ]
def reals(a: [int; n, m], b: [int; m, k]) =
  [ [ sum([ real(x) * real(y) : x in row; y in column ]) : column in transpose(b) ] : row in a ]
def singles(a: [int; n, m], b: [int; m, k]) =
  [ [ sum([ f32(x) * f32(y) : x in row; y in column ]) : column in transpose(b) ] : row in a ]
def nearest(a: [int; n, m], b: [int; m, k]) =
  [ [ 2 * fold(min, 500, [ abs(x - y) : x in row; y in column ]) - j : column in transpose(b); j in iota(k) ] : row in a ]
def grams(a: [int; n, m], b: [int; m, k]) =
  let at = transpose(a) in generate(m, m, \\i j -> sum([ x * y : x in at[i]; y in at[j] ]) + b[i, 0] - i)
def onto(a: [int; n, m], b: [int; m, k], c: [int; n, k]) =
  [ [ fold(+, z, [ x * y : x in row; y in column ]) : z in r; column in transpose(b) ] : r in c; row in a ]
def sparse(xs: [int]) = histogram(+, 0, 1000, [ abs(x) * 9 : x in xs ], xs)
def last(xs: [int]) = scatter(fill(-1, 101), [ abs(x) : x in xs ], iota(length(xs)))
def last_of_few(xs: [int]) = let few = filter(\\x -> x % 5 == 0, xs) in scatter(fill(0, 20), [ abs(x) / 5 : x in few ], few)
def last_if(xs: [int]) = permute(\\new old -> (if new < 0 then old else new), fill(0, 3), [ i % 3 : i in iota(length(xs)) ], xs)
def all_in_one(xs: [int]) = permute(\\new old -> (2 * old + new) % 1009, [1], [ 0 : x in xs ], xs)
def real_sums(xs: [real]) = histogram(+, 0.5, 4, [ i % 4 : i in iota(length(xs)) ], [ (if is_nan(x) then 0.1 else x) : x in xs ])
def pairs(xs: [int]) =
  permute(\\(c, d) (a, b) -> ((a * c) % 97, (b * c + d) % 97), fill((1, 0), 7), [ abs(x) % 7 : x in xs ], [ (x, 1) : x in xs ])
def too_far(xs: [int]) = scatter(fill(0, 99), [ abs(x) : x in xs ], xs)
def tops(rows: [[int]]) = scatter(fill(0, 7), [ length(r) % 7 : r in rows ], [ fold(max, -1000, r) : r in rows ])
";

fn compiled() -> Compiled {
    let mut load = |_: &str, _: &str| Err("nothing is imported".to_string());
    deckle_syntax::compile(&mut SourceMap::new(), "divisions.dk", PROGRAMS.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"))
}

fn ints(n: usize, rng: &mut Rng) -> Value {
    Value::array((0..n).map(|_| Value::int(rng.between(0, 200) - 100)).collect())
}

/// Numbers with signed zeros, infinities and NaN among them.
fn reals(n: usize, rng: &mut Rng) -> Value {
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY];
    let mut one = |_| match rng.below(12) {
        k @ 0..5 => special[k],
        k => k as f64 - 8.0,
    };
    Value::array((0..n).map(|k| Value::Scalar(Scalar::F64(one(k)))).collect())
}

/// Runs an entry with a layout, and its schedules changed, in three orders of blocks.
fn agree(compiled: &Compiled, entry: &str, args: &[Value], layout: Layout, change: &dyn Fn(&mut Grid)) {
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    let program = &compiled.program;
    let expected = deckle_interp::run(program, func, args, &deckle_interp::Options::default()).map(|o| o.value);
    let options = Options { cuts: Cuts::small(), given: Options::ALL, ..Options::default() };
    let chosen = pipeline::scheduled_on_grid(program, func, options, layout, None).unwrap();
    let mut given = Schedule::default();
    for mut function in chosen.functions {
        if let Some(threads) = &mut function.threads
            && let Share::Grid(grid) = &mut threads.share
        {
            let in_rounds = matches!(grid.take, Take::Rounds { .. });
            change(grid);
            if in_rounds && !matches!(grid.take, Take::Rounds { .. }) {
                leave_rounds(&mut function);
            }
            given.functions.push(function);
        }
    }
    let simulated = Simulated::compile_as(program, func, options, layout, Some(&given));
    let simulated = simulated.unwrap_or_else(|d| panic!("{entry}: {}\n{given}", d.message));
    let mut first = None;
    for order in [Order::Ascending, Order::Descending, Order::Shuffled(5)] {
        let got = simulated.run_in(order, args, &Settings::new(1, None));
        let how = || format!("{entry}, {layout:?}, {order:?}\n{given}");
        let (value, wanted) = match (got, &expected) {
            (Ok(value), Ok(wanted)) => (value, wanted),
            (Err(d), Err(wanted)) if same_error(&d, wanted) => continue,
            (got, wanted) => panic!("{}: {}, not {}", how(), shown(&got), shown(wanted)),
        };
        // A fold of floats by their extremes, and integers: exact in any order.
        assert_eq!(shown(&Ok(value.clone())), shown(&Ok(wanted.clone())), "{}", how());
        assert!(
            first.get_or_insert(value.clone()) == &value || same_bits(first.as_ref().unwrap(), &value),
            "{}",
            how()
        );
    }
}

#[test]
fn schedules_that_are_printed_can_be_given() {
    let compiled = compiled();
    for entry in &compiled.entries {
        for cuts in [Cuts::small(), Cuts::default()] {
            let options = Options { cuts, ..Options::default() };
            let scheduled = |given: Option<&Schedule>| {
                pipeline::scheduled_on_grid(&compiled.program, entry.func, options, Layout::default(), given)
            };
            let chosen = scheduled(None).unwrap_or_else(|d| panic!("{}: {}", entry.name, d.message));
            let read = |text: String| parse(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", entry.name));
            let again = read(chosen.to_string());
            let given = scheduled(Some(&again)).unwrap_or_else(|d| panic!("{}: {}\n{chosen}", entry.name, d.message));
            assert_eq!(read(given.to_string()).to_string(), again.to_string(), "{}", entry.name);
        }
    }
}

/// Around the borders of a thread's points, of a warp, of a block, and of several parts.
const SIZES: [usize; 11] = [0, 1, 2, 31, 33, 63, 65, 128, 129, 257, 600];

fn layouts() -> [Layout; 3] {
    [(64, None), (64, Some(3)), (128, Some(1))].map(|(threads, parts)| Layout { threads, parts, wide: Some(false) })
}

#[test]
fn scans_and_filters_agree_at_every_border() {
    let (compiled, mut rng) = (compiled(), Rng::new(11));
    for n in SIZES {
        let (xs, rs) = (ints(n, &mut rng), reals(n, &mut rng));
        for (k, layout) in layouts().into_iter().enumerate() {
            for each in [1, 4] {
                let change = |grid: &mut Grid| {
                    if let Take::Rounds { .. } | Take::Parts = grid.take {
                        grid.take = Take::Rounds { each };
                    }
                };
                for entry in ["running", "before", "twice", "affine", "positive"] {
                    agree(&compiled, entry, std::slice::from_ref(&xs), layout, &change);
                }
                if n > 0 {
                    agree(&compiled, "both", std::slice::from_ref(&xs), layout, &change);
                }
                for entry in ["highest", "positions"] {
                    agree(&compiled, entry, std::slice::from_ref(&rs), layout, &change);
                }
            }
            if k == 0 {
                let parts = |grid: &mut Grid| {
                    if let Take::Rounds { .. } = grid.take {
                        grid.take = Take::Parts;
                    }
                };
                ["running", "twice", "affine"]
                    .iter()
                    .for_each(|entry| agree(&compiled, entry, std::slice::from_ref(&xs), layout, &parts));
            }
        }
    }
}

#[test]
fn scatters_agree_with_and_without_bins() {
    let (compiled, mut rng) = (compiled(), Rng::new(12));
    for n in SIZES {
        let (xs, rs) = (ints(n, &mut rng), reals(n, &mut rng));
        for layout in layouts() {
            for bytes in [16, 4096, 0] {
                let change = |grid: &mut Grid| {
                    if let Take::Binned { .. } = grid.take {
                        grid.take = if bytes == 0 { Take::Strided } else { Take::Binned { bytes } };
                    }
                };
                for entry in ["counts", "bytes", "products", "flags", "sparse"] {
                    agree(&compiled, entry, std::slice::from_ref(&xs), layout, &change);
                }
                agree(&compiled, "extremes", std::slice::from_ref(&rs), layout, &change);
            }
        }
    }
}

#[test]
fn scatters_in_order_agree_at_every_border() {
    let (compiled, mut rng) = (compiled(), Rng::new(13));
    for n in SIZES {
        let (xs, rs) = (ints(n, &mut rng), reals(n, &mut rng));
        let rows = Value::array((0..n / 8).map(|k| ints(k % 5 * 3, &mut rng)).collect());
        for layout in layouts() {
            let of_ints = ["last", "last_if", "last_of_few", "all_in_one", "pairs", "too_far"].map(|e| (e, &xs));
            for (entry, args) in of_ints.into_iter().chain([("real_sums", &rs), ("tops", &rows)]) {
                let sorted = Cell::new(false);
                let look = |grid: &mut Grid| sorted.set(sorted.get() || grid.take == Take::Sorted);
                agree(&compiled, entry, std::slice::from_ref(args), layout, &look);
                assert!(sorted.get(), "{entry} is not sorted");
            }
        }
    }
}

/// The sum before each thread of a block, and that of all, of what each has: as `docs/order-of-floats.md` says.
fn block_scan(mine: &[f64]) -> (Vec<f64>, f64) {
    let (mut before, mut running) = (Vec::new(), -0.0);
    for warp in mine.chunks(32) {
        let mut upto = warp.to_vec();
        for apart in [1, 2, 4, 8, 16] {
            upto = (0..32).map(|k| if k < apart { upto[k] } else { upto[k - apart] + upto[k] }).collect();
        }
        before.extend((0..32).map(|k| running + if k == 0 { -0.0 } else { upto[k - 1] }));
        running += upto[31];
    }
    (before, running)
}

/// A scan without an initial value on a grid, as the page says: parts of so many points, `threads` in a block, `each` points of a thread in a round.
fn scan_on_grid(xs: &[f64], part: usize, threads: usize, each: usize) -> Vec<f64> {
    let sum = |xs: &mut dyn Iterator<Item = f64>| xs.fold(-0.0, |sum, x| sum + x);
    let total = |xs: &[f64]| {
        met(&(0..threads).map(|t| sum(&mut xs.iter().copied().skip(t).step_by(threads))).collect::<Vec<f64>>())
    };
    let adds: Vec<f64> = xs.chunks(part).map(total).collect();
    let own = |t: usize| adds.len() * t / threads..adds.len() * (t + 1) / threads;
    let sums: Vec<f64> = (0..threads).map(|t| sum(&mut adds[own(t)].iter().copied())).collect();
    let (starts, _) = block_scan(&sums);
    let mut befores = vec![0.0; adds.len()];
    for (t, start) in starts.into_iter().enumerate() {
        own(t).fold(-0.0 + start, |before, k| {
            befores[k] = before;
            before + adds[k]
        });
    }
    let mut result = Vec::new();
    for (points, mut carry) in xs.chunks(part).zip(befores) {
        for round in points.chunks(threads * each) {
            let of = |t: usize| &round[(t * each).min(round.len())..((t + 1) * each).min(round.len())];
            let mine: Vec<f64> = (0..threads).map(|t| sum(&mut of(t).iter().copied())).collect();
            let (before, total) = block_scan(&mine);
            for (t, before) in before.into_iter().enumerate() {
                let mut upto = -0.0;
                for x in of(t) {
                    upto += x;
                    result.push((carry + before) + upto);
                }
            }
            carry += total;
        }
    }
    result
}

#[test]
fn floats_are_scanned_in_the_order_of_the_page() {
    let (compiled, mut rng) = (compiled(), Rng::new(13));
    let func = compiled.entries.iter().find(|e| e.name == "sums").unwrap().func;
    for n in SIZES {
        let xs: Vec<f64> = (0..n).map(|_| rng.between(1, 1 << 40) as f64 / 3e7).collect();
        let arg = Value::array(xs.iter().map(|x| Value::Scalar(Scalar::F64(*x))).collect());
        for parts in [1, 3, 100] {
            let layout = Layout { threads: 64, parts: Some(parts), wide: None };
            let simulated = Simulated::compile(&compiled.program, func, Options::default(), layout).unwrap();
            let got =
                simulated.run_in(Order::Shuffled(1), std::slice::from_ref(&arg), &Settings::new(1, None)).unwrap();
            let wanted = scan_on_grid(&xs, n.div_ceil(parts as usize).max(1), 64, 4);
            let wanted = Value::array(wanted.into_iter().map(|x| Value::Scalar(Scalar::F64(x))).collect());
            assert!(same_bits(&got, &wanted), "{n} elements in {parts} parts");
        }
    }
}

/// What threads have folded, each its own: lanes of a warp are added 1, 2, 4, 8 and 16 apart, then warps from the first to the last.
fn met(mine: &[f64]) -> f64 {
    let warps = mine.chunks(32).map(|warp| {
        let mut all = warp.to_vec();
        while all.len() > 1 {
            all = all.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        all[0]
    });
    warps.reduce(|sum, warp| sum + warp).unwrap()
}

/// The sum of all points on a grid, as the page says: parts of so many points, `threads` in a block.
fn sum_on_grid(xs: &[f64], part: usize, threads: usize) -> f64 {
    let sum = |xs: &mut dyn Iterator<Item = f64>| xs.fold(-0.0, |sum, x| sum + x);
    let of_block = |of: &dyn Fn(usize) -> f64| met(&(0..threads).map(of).collect::<Vec<f64>>());
    let parts = xs.chunks(part).map(|xs| of_block(&|t| sum(&mut xs.iter().copied().skip(t).step_by(threads))));
    let parts: Vec<f64> = parts.collect();
    let own = |t: usize| parts.len() * t / threads..parts.len() * (t + 1) / threads;
    0.0 + of_block(&|t| sum(&mut parts[own(t)].iter().copied()))
}

fn rough(n: usize, rng: &mut Rng) -> Vec<f64> {
    (0..n).map(|_| rng.between(1, 1 << 40) as f64 / 3e7).collect()
}

/// Numbers in rows of so many.
fn in_rows(xs: Vec<Value>, row: usize) -> Value {
    Value::array(xs.chunks(row).map(|row| Value::array(row.to_vec())).collect())
}

fn values(xs: &[f64]) -> Vec<Value> {
    xs.iter().map(|x| Value::Scalar(Scalar::F64(*x))).collect()
}

#[test]
fn floats_of_dense_dimensions_are_added_in_the_order_of_the_page() {
    let (compiled, mut rng) = (compiled(), Rng::new(19));
    let func = compiled.entries.iter().find(|e| e.name == "real_cube").unwrap().func;
    let schedule =
        pipeline::scheduled_on_grid(&compiled.program, func, Options::default(), layouts()[0], None).unwrap();
    assert!(schedule.to_string().contains("joined"), "{schedule}");
    for [n, m, k] in [[1, 1, 1], [3, 31, 7], [2, 33, 32], [5, 7, 33], [1, 1, 300], [300, 1, 1]] {
        let xs = rough(n * m * k, &mut rng);
        let rows = xs.chunks(m * k).map(|plane| in_rows(values(plane), k));
        let arg = Value::array(rows.collect());
        for parts in [1, 3, 100] {
            let layout = Layout { threads: 64, parts: Some(parts), wide: Some(false) };
            let simulated = Simulated::compile(&compiled.program, func, Options::default(), layout).unwrap();
            let wanted = sum_on_grid(&xs, xs.len().div_ceil(parts as usize), 64);
            for order in [Order::Ascending, Order::Shuffled(3)] {
                let got = simulated.run_in(order, std::slice::from_ref(&arg), &Settings::new(1, None)).unwrap();
                let wanted = Value::Scalar(Scalar::F64(wanted));
                assert!(same_bits(&got, &wanted), "{n} by {m} by {k} in {parts} parts: {got:?}, not {wanted:?}");
            }
        }
    }
}

#[test]
fn floats_of_products_in_tiles_are_added_one_after_another() {
    let (compiled, mut rng) = (compiled(), Rng::new(23));
    let func = compiled.entries.iter().find(|e| e.name == "real_product").unwrap().func;
    let layout = Layout { threads: 64, parts: None, wide: None };
    let mut given = pipeline::scheduled_on_grid(&compiled.program, func, Options::default(), layout, None).unwrap();
    let mut tiles = 0;
    for function in &mut given.functions {
        if let Some(Share::Grid(Grid { take: Take::Tiles { at_least, .. }, .. })) =
            function.threads.as_mut().map(|t| &mut t.share)
        {
            *at_least = 0;
            tiles += 1;
        }
    }
    assert_eq!(tiles, 1);
    let simulated = Simulated::compile_as(&compiled.program, func, Options::default(), layout, Some(&given)).unwrap();
    for [n, m, k] in [[1, 1, 1], [17, 5, 33], [33, 50, 3], [2, 129, 2]] {
        let (a, b) = (rough(n * m, &mut rng), rough(m * k, &mut rng));
        let args = [in_rows(values(&a), m), in_rows(values(&b), k)];
        let at = |i: usize, j: usize| (0..m).fold(0.0, |sum, l| a[i * m + l].mul_add(b[l * k + j], sum));
        let all: Vec<f64> = (0..n * k).map(|p| at(p / k, p % k)).collect();
        let got = simulated.run(&args, &Settings::new(1, None)).unwrap();
        assert!(same_bits(&got, &in_rows(values(&all), k)), "{n} by {m} by {k}");
    }
}

/// The sum of a row on a grid where rows of more than `limit` elements are split, as the page says: `threads` in a block, pieces of at least `least` elements.
fn sum_of_row(xs: &[f64], limit: usize, threads: usize, least: usize) -> f64 {
    let sum = |xs: &mut dyn Iterator<Item = f64>| xs.fold(-0.0, |sum, x| sum + x);
    let n = xs.len();
    if n <= limit {
        return xs.iter().fold(0.0, |sum, x| sum + x);
    }
    let pieces = (n / least.max(limit)).clamp(1, 2048);
    let of_piece = |xs: &[f64]| {
        met(&(0..threads).map(|t| sum(&mut xs.iter().copied().skip(t).step_by(threads))).collect::<Vec<f64>>())
    };
    let mut folded: Vec<f64> = xs.chunks(n.div_ceil(pieces)).map(of_piece).collect();
    folded.resize(pieces, -0.0);
    if pieces == 1 {
        return 0.0 + folded[0];
    }
    let share = pieces.div_ceil(threads);
    let own = |t: usize| &folded[(t * share).min(pieces)..((t + 1) * share).min(pieces)];
    0.0 + met(&(0..threads).map(|t| sum(&mut own(t).iter().copied())).collect::<Vec<f64>>())
}

#[test]
fn floats_of_rows_that_are_split_are_added_in_the_order_of_the_page() {
    let (compiled, mut rng) = (compiled(), Rng::new(17));
    let func = compiled.entries.iter().find(|e| e.name == "real_rows").unwrap().func;
    let lengths = [0, 1, 60, 700, 3, 65, 64, 129, 2000, 0, 33];
    let rows: Vec<Vec<f64>> =
        lengths.iter().map(|n| (0..*n).map(|_| rng.between(1, 1 << 40) as f64 / 3e7).collect()).collect();
    let real = |x: f64| Value::Scalar(Scalar::F64(x));
    let arg = Value::array(rows.iter().map(|r| Value::array(r.iter().copied().map(real).collect())).collect());
    let (options, layout) = (Options { cuts: Cuts::small(), ..Options::default() }, layouts()[0]);
    for split in [1, 60, 128] {
        let mut given = pipeline::scheduled_on_grid(&compiled.program, func, options, layout, None).unwrap();
        for function in &mut given.functions {
            if let Some(Share::Grid(grid)) = function.threads.as_mut().map(|t| &mut t.share) {
                grid.split = Some(split);
            }
        }
        let simulated = Simulated::compile_as(&compiled.program, func, options, layout, Some(&given)).unwrap();
        let sum = |row: &Vec<f64>| real(sum_of_row(row, split as usize, 64, options.cuts.piece as usize));
        let wanted = Value::array(rows.iter().map(sum).collect());
        for order in [Order::Ascending, Order::Shuffled(3)] {
            let got = simulated.run_in(order, std::slice::from_ref(&arg), &Settings::new(1, None)).unwrap();
            assert!(same_bits(&got, &wanted), "rows of more than {split} elements are split: {got:?}, not {wanted:?}");
        }
    }
}

#[test]
fn rows_of_computed_length_agree() {
    let (compiled, mut rng) = (compiled(), Rng::new(15));
    for n in [0, 1, 2, 33, 70] {
        for layout in layouts() {
            for split in [None, Some(1), Some(20)] {
                agree(&compiled, "computed", &[ints(n, &mut rng)], layout, &|grid| grid.split = split);
            }
        }
    }
}

const ROWS: [&str; 15] = [
    "row_sums",
    "row_tops",
    "nested",
    "centred",
    "some",
    "row_counts",
    "table",
    "affine_rows",
    "spread",
    "from_mean",
    "all_rows",
    "longest",
    "running_rows",
    "before_rows",
    "affine_running",
];

#[test]
fn rows_agree_with_groups_of_every_width() {
    let (compiled, mut rng) = (compiled(), Rng::new(14));
    let rows = |lengths: &[usize], rng: &mut Rng| Value::array(lengths.iter().map(|n| ints(*n, rng)).collect());
    let mut cases = vec![vec![], vec![0], vec![1], vec![300], vec![0; 40], vec![3; 70]];
    cases.push((0..100).map(|_| rng.below(9)).collect());
    cases.push((0..37).map(|k| if k == 20 { 500 } else { rng.below(40) }).collect());
    for lengths in cases {
        let arg = rows(&lengths, &mut rng);
        for parts in [None, Some(2)] {
            let layout = Layout { threads: 64, parts, wide: None };
            for asked in [0, 2, 8, 16, 32, 64] {
                // Only the function of this width is worth its threads.
                let change = |grid: &mut Grid| {
                    if let Take::Runs { at_least, .. } = &mut grid.take {
                        *at_least = i64::MAX;
                    }
                    if let Take::Groups { width, at_least } = &mut grid.take {
                        let is_asked = if asked < 32 { *width < 32 } else { *width == asked };
                        *at_least = if is_asked && asked > 0 { 0 } else { i64::MAX };
                        *width = if is_asked && asked > 0 { asked } else { *width };
                    }
                };
                let few = parts.is_some() || ![0, 8, 64].contains(&asked) || [1, 40, 70].contains(&lengths.len());
                for entry in &ROWS[..if few { 4 } else { ROWS.len() }] {
                    agree(&compiled, entry, std::slice::from_ref(&arg), layout, &change);
                }
            }
        }
    }
}

const IN_RUNS: [&str; 7] =
    ["row_sums", "row_tops", "running_rows", "affine_rows", "affine_running", "weighted_rows", "few_of_rows"];

/// Lets only the function for runs take points; whether this is that of one.
fn only_runs(grid: &mut Grid, of: u32) -> bool {
    match &mut grid.take {
        Take::Runs { elements, at_least } => {
            (*elements, *at_least) = (of, 0);
            true
        }
        Take::Groups { at_least, .. } => {
            *at_least = i64::MAX;
            false
        }
        _ => false,
    }
}

#[test]
fn rows_agree_in_runs_of_every_size() {
    let (compiled, mut rng) = (compiled(), Rng::new(18));
    let in_runs = Cell::new(0);
    let mut cases = vec![vec![], vec![0; 40], vec![3; 70], vec![300, 0, 1]];
    cases.push((0..100).map(|_| rng.below(9)).collect());
    cases.push((0..37).map(|k| if k % 20 == 4 { 90 } else { rng.below(40) }).collect());
    for (number, lengths) in cases.into_iter().enumerate() {
        let arg = Value::array(lengths.iter().map(|n| ints(*n, &mut rng)).collect());
        let layout = Layout { threads: [32, 64][number % 2], parts: [None, Some(2)][number / 2 % 2], wide: None };
        let variants = [(1, None), (3, Some(20)), (40, Some(1)), (33, Some(30)), (300, None), (32, Some(9))];
        for (k, entry) in IN_RUNS.iter().enumerate() {
            let (elements, split) = variants[(number + k) % variants.len()];
            let change = |grid: &mut Grid| {
                if only_runs(grid, elements) {
                    in_runs.set(in_runs.get() + 1);
                    grid.split = split;
                }
            };
            agree(&compiled, entry, std::slice::from_ref(&arg), layout, &change);
        }
    }
    assert!(in_runs.get() >= 36, "{}", in_runs.get());
}

#[test]
fn rows_of_wrong_offsets_are_errors_in_runs() {
    let (compiled, mut rng) = (compiled(), Rng::new(19));
    let layout = Layout { threads: 32, parts: Some(2), wide: None };
    let mut sorted = 0;
    for number in 0..18 {
        let len = rng.below(50);
        let mut off: Vec<i64> = (0..rng.below(70)).map(|_| rng.between(0, len as i64)).collect();
        off.sort();
        if number % 6 > 0 && !off.is_empty() {
            let wrong = [-1, i64::MIN, i64::MAX, len as i64 + 1, 0, 7][number % 6];
            let at = rng.below(off.len());
            off[at] = wrong;
        }
        sorted += usize::from(off.is_sorted());
        let args = [Value::array(off.into_iter().map(Value::int).collect()), ints(len, &mut rng)];
        for entry in ["sliced", "sliced_running", "sliced_twice", "sliced_picks"] {
            let change = |grid: &mut Grid| {
                only_runs(grid, 7);
            };
            agree(&compiled, entry, &args, layout, &change);
        }
    }
    assert!((2..16).contains(&sorted), "{sorted}");
}

/// An array of three dimensions.
fn cube([n, m, k]: [usize; 3], rng: &mut Rng) -> Value {
    let plane = |rng: &mut Rng| Value::array((0..m).map(|_| ints(k, rng)).collect());
    Value::array((0..n).map(|_| plane(rng)).collect())
}

#[test]
fn dense_dimensions_agree_together_and_apart() {
    let (compiled, mut rng) = (compiled(), Rng::new(15));
    let mut sizes = vec![[0, 3, 3], [3, 0, 3], [3, 3, 0], [1, 1, 1], [1, 1, 300], [1, 300, 1]];
    sizes.extend([[3, 31, 7], [2, 33, 32], [5, 7, 33], [9, 8, 8]]);
    for (number, size) in sizes.into_iter().enumerate() {
        let arg = cube(size, &mut rng);
        let layouts = [(64, None, Some(false)), (64, Some(3), Some(false)), (32, Some(2), Some(true))];
        let (threads, parts, wide) = layouts[number % 3];
        let layout = Layout { threads, parts, wide };
        for entry in [
            "mapped", "turned", "placed", "relaxed", "clamped", "below", "rising", "depths", "folded", "in_turn",
            "tallied",
        ] {
            agree(&compiled, entry, std::slice::from_ref(&arg), layout, &|_| ());
        }
        let asked = [2, 8, 32, 64][number % 4];
        let change = |grid: &mut Grid| {
            if let Take::Groups { width, at_least } = &mut grid.take {
                let is_asked = if asked < 32 { *width < 32 } else { *width == asked };
                *at_least = if is_asked { 0 } else { i64::MAX };
                *width = if is_asked { asked } else { *width };
            }
        };
        for entry in ["relaxed", "depths", "blurred", "convolved", "beyond"] {
            agree(
                &compiled,
                entry,
                std::slice::from_ref(&arg),
                Layout { threads: 64, parts: Some(2), wide: None },
                &change,
            );
        }
    }
}

#[test]
fn products_agree_in_tiles_of_every_size() {
    let (compiled, mut rng) = (compiled(), Rng::new(16));
    let mut sizes = vec![[0, 3, 3], [3, 0, 3], [3, 3, 0], [1, 1, 1], [2, 3, 5], [1, 40, 1], [15, 3, 31], [16, 4, 32]];
    sizes.extend([[17, 5, 33], [33, 9, 65], [1, 4, 70], [70, 8, 1], [31, 11, 64]]);
    // The threads of a block, the rows and columns of a thread, the threads beside each other, and the steps.
    let tiles = [(32, 4, 4, 8, 4), (64, 2, 4, 8, 8), (64, 1, 2, 16, 16), (32, 8, 8, 8, 4), (96, 4, 4, 8, 12)];
    for (number, [n, m, k]) in sizes.into_iter().enumerate() {
        let matrix = |n: usize, m: usize, rng: &mut Rng| Value::array((0..n).map(|_| ints(m, rng)).collect());
        let args = [matrix(n, m, &mut rng), matrix(m, k, &mut rng), matrix(n, k, &mut rng)];
        let (threads, rows, columns, across, deep) = tiles[number % tiles.len()];
        let change = |grid: &mut Grid| {
            if let Take::Tiles { .. } = grid.take {
                grid.threads = threads;
                grid.take = Take::Tiles { rows, columns, across, deep, at_least: 0 };
            }
        };
        for entry in ["product", "reals", "singles", "nearest", "grams"] {
            if entry != "grams" || m == 0 || k > 0 {
                agree(&compiled, entry, &args[..2], Layout { threads: 64, parts: None, wide: None }, &change);
            }
        }
        agree(&compiled, "onto", &args, Layout { threads: 64, parts: None, wide: None }, &change);
    }
}
