//! Arrays of more than one block, and of more than the caches hold: the same bits on any number of threads, and what plain Rust computes.

use deckle_diag::{Code, SourceMap};
use deckle_engine::{Data, Native, Options, Settings};
use deckle_ir::loops::Gathers;
use deckle_runtime::{Form, Number, Plain};

const PROGRAMS: &str = r"
def add(xs: [f32; n], ys: [f32; n]) = [ x + y : x in xs; y in ys ]
def dot(xs: [f64; n], ys: [f64; n]) = sum({ x * y : x in xs; y in ys })
def running(xs: [int]) = scan_incl(+, 0, xs)
def large(xs: [int]) = filter(\x -> x % 3 == 0, xs)
def rows(off: [int], xs: [int]) = [ sum(r) : r in split_offsets(xs, off) ]
def row_sums(off: [int], xs: [f32]) = [ sum(r) : r in split_offsets(xs, off) ]
def row_scans(off: [int], xs: [f64]) = flatten([ scan(+, 0.5, r) : r in split_offsets(xs, off) ])
def row_shares(off: [int], xs: [f64]) =
  flatten([ let m = fold(max, -inf, r) in let s = sum({ x - m : x in r }) in [ (x - m) / (s - 1.0) : x in r ] : r in split_offsets(xs, off) ])
def row_average(off: [int], xs: [f64]) = sum({ sum(r) * 0.5 : r in split_offsets(xs, off) })
def row_heads(off: [int], xs: [int]) = scan_incl(+, [ sum({ x : x in r | x % 3 == 0 }) : r in split_offsets(xs, off) ])
def some_sum(xs: [f64]) = sum({ x : x in xs | x > 100.0 })
def row_tops(off: [int], xs: [int]) = [ fold(max, -1, [ x : x in r | x % 4 == 1 ]) : r in split_offsets(xs, off) ]
def kept_bytes(xs: [u8]) = [ x : x in xs | x > 100 ]
def kept_halves(xs: [f32]) = [ x * 0.5 : x in xs | x > 0.0 ]
def kept_places(xs: [int]) = [ i : i in iota(length(xs)) | xs[i] % 5 == 0 ]
def next_ones(xs: [int]) = sum({ xs[i + 1] : i in iota(length(xs) - 1) })
def pairs(xs: [int; n, 2]) = sum({ x[0] * 3 - x[1] : x in xs })
def sparse_sums(off: [int], at: [i32], xs: [f64]) = [ sum({ xs[int(j)] : j in r }) : r in split_offsets(at, off) ]
def counts(xs: [int]) = histogram(+, 0, 100, [ x % 100 : x in xs ], fill(1, length(xs)))
def weights(xs: [int], ws: [f64]) = histogram(+, 0.0, 300, [ x % 300 : x in xs ], ws)
def binned(bins: int, xs: [int]) =
  unzip(histogram(\(a, x) (b, y) -> (a + b, max(x, y)), (0, -1i32), bins, [ x % bins : x in xs ], [ (x, i32(x % 77)) : x in xs ]))
def multiples(n: int, ps: [int]) =
  let all = expand(\p -> n / p, \p i -> p * i, ps)
  in scatter(fill(0i32, n), all, fill(1i32, length(all)))
def steps(n: int, starts: [int], by: int) =
  let all = expand(\_ -> 3, \s i -> s + by * i, starts)
  in scatter(fill(0i32, n), all, fill(1i32, length(all)))
def later(n: int, ps: [int]) = scatter(fill(0, n), expand(\p -> n / p, \p i -> p * i, ps), expand(\p -> n / p, \p i -> p + i, ps))
def seen(n: int, xs: [int]) =
  let found = filter(\x -> x >= 0, xs)
  in scatter(fill(0i32, n), found, fill(7i32, length(found)))
def least(xs: [int]) = (min(xs), max(xs), argmin(xs))
def twice(xs: [f64]) = (sum(xs), [ x * 2.0 : x in xs ], max(xs))
def endless_rows(xs: [int]) = sum([ sum([ j % 7 : j in iota(k) ]) : k in xs ])
def endless(xs: [int]) = sum({ xs[i] : i in iota(1 << 59) })
def endless_checks(xs: [int]) = max({ if i % 2 == 0 then 100 / xs[i % 5] else i : i in iota(1 << 59) })
";

fn native(entry: &str) -> Native {
    native_with(entry, Options::default())
}

fn native_with(entry: &str, options: Options) -> Native {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "large.dk", PROGRAMS.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    Native::compile(&compiled.program, func, options).unwrap()
}

fn array<T: Number>(settings: &Settings, elements: &[T]) -> Data {
    Data::array(Data::copied(elements, &settings.pool, "data").unwrap())
}

fn elements<T: Plain>(data: &Data) -> Vec<T> {
    match data.form() {
        Form::Scalars(_, b) => b.as_slice().to_vec(),
        Form::Equal(_, elem) => elements(elem),
        other => panic!("{other:?}"),
    }
}

/// Runs on 1, 2 and 5 threads.
fn on_all<R: PartialEq + std::fmt::Debug>(
    native: &Native,
    args: &dyn Fn(&Settings) -> Vec<Data>,
    result: &dyn Fn(&Data) -> R,
) -> R {
    let mut first = None;
    for threads in [1, 2, 5] {
        let settings = Settings::new(threads, None);
        let r = result(&native.call(args(&settings), &settings).unwrap());
        match &first {
            None => first = Some(r),
            Some(f) => assert_eq!(*f, r, "on {threads} threads"),
        }
    }
    first.unwrap()
}

const SIZES: [usize; 9] = [0, 1, 15, 63, 16383, 16384, 16385, 100_000, 1_000_003];

fn numbers(n: usize) -> Vec<i64> {
    (0..n as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i64 - 1000).collect()
}

#[test]
fn maps_beyond_the_caches() {
    let f = native("add");
    for n in SIZES.into_iter().chain([(32 << 20) / 4 + 77]) {
        let xs: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
        let ys: Vec<f32> = (0..n).map(|i| (i % 777) as f32 * 0.5).collect();
        let zs = on_all(&f, &|s| vec![array(s, &xs), array(s, &ys)], &elements::<f32>);
        assert!(zs.len() == n && zs.iter().zip(xs.iter().zip(&ys)).all(|(z, (x, y))| *z == x + y), "{n}");
    }
}

#[test]
fn sums_have_the_same_bits_on_any_number_of_threads() {
    let f = native("dot");
    for n in SIZES {
        let xs: Vec<f64> = numbers(n).iter().map(|x| *x as f64 * 0.37).collect();
        let ys: Vec<f64> = numbers(n).iter().map(|x| 1.0 / (*x as f64 + 0.5)).collect();
        let bits = on_all(&f, &|s| vec![array(s, &xs), array(s, &ys)], &|d| elements::<f64>(d)[0].to_bits());
        let exact: f64 = xs.iter().zip(&ys).map(|(x, y)| x * y).sum();
        let (got, size) = (f64::from_bits(bits), xs.iter().zip(&ys).map(|(x, y)| (x * y).abs()).sum::<f64>());
        assert!((got - exact).abs() <= 1e-12 * size, "{n}: {got} for {exact}");
    }
}

#[test]
fn scans_and_filters_pass_from_block_to_block() {
    let (running, large) = (native("running"), native("large"));
    for n in SIZES {
        let xs = numbers(n);
        let mut total = 0i64;
        let sums: Vec<i64> = xs
            .iter()
            .map(|x| {
                total += x;
                total
            })
            .collect();
        assert_eq!(on_all(&running, &|s| vec![array(s, &xs)], &elements::<i64>), sums, "{n}");
        let kept: Vec<i64> = xs.iter().copied().filter(|x| x % 3 == 0).collect();
        assert_eq!(on_all(&large, &|s| vec![array(s, &xs)], &elements::<i64>), kept, "{n}");
    }
}

#[test]
fn rows_of_all_lengths() {
    let f = native("rows");
    // One huge row among empty and short ones.
    let lengths: Vec<usize> = (0..3000)
        .map(|i| match i {
            1500 => 300_000,
            i if i % 7 == 0 => 0,
            i => i % 90,
        })
        .collect();
    let mut off = vec![0i64];
    lengths.iter().for_each(|l| off.push(off[off.len() - 1] + *l as i64));
    let xs = numbers(*off.last().unwrap() as usize);
    let want: Vec<i64> = off.windows(2).map(|w| xs[w[0] as usize..w[1] as usize].iter().sum()).collect();
    assert_eq!(on_all(&f, &|s| vec![array(s, &off), array(s, &xs)], &elements::<i64>), want);
}

#[test]
fn what_a_condition_leaves_is_summed_and_kept() {
    let (sum, bytes, halves) = (native("some_sum"), native("kept_bytes"), native("kept_halves"));
    let (places, next, pairs) = (native("kept_places"), native("next_ones"), native("pairs"));
    for n in SIZES {
        let xs = numbers(n);
        // Whole numbers: sums are exact.
        let doubles: Vec<f64> = xs.iter().map(|x| *x as f64).collect();
        let wanted: f64 = doubles.iter().filter(|x| **x > 100.0).sum();
        assert_eq!(on_all(&sum, &|s| vec![array(s, &doubles)], &|d| elements::<f64>(d)[0]), wanted, "{n}");
        let small: Vec<u8> = xs.iter().map(|x| (*x & 255) as u8).collect();
        let kept: Vec<u8> = small.iter().copied().filter(|x| *x > 100).collect();
        assert_eq!(on_all(&bytes, &|s| vec![array(s, &small)], &elements::<u8>), kept, "{n}");
        let singles: Vec<f32> = xs.iter().map(|x| *x as f32).collect();
        let kept: Vec<f32> = singles.iter().filter(|x| **x > 0.0).map(|x| x * 0.5).collect();
        assert_eq!(on_all(&halves, &|s| vec![array(s, &singles)], &elements::<f32>), kept, "{n}");
        let kept: Vec<i64> = (0..n).filter(|i| xs[*i] % 5 == 0).map(|i| i as i64).collect();
        assert_eq!(on_all(&places, &|s| vec![array(s, &xs)], &elements::<i64>), kept, "{n}");
        if n > 0 {
            let wanted: i64 = xs[1..].iter().sum();
            assert_eq!(on_all(&next, &|s| vec![array(s, &xs)], &|d| elements::<i64>(d)[0]), wanted, "{n}");
        }
        let rows = n / 2;
        let args = |s: &Settings| {
            let elems = Data::copied(&xs[..2 * rows], &s.pool, "data").unwrap();
            vec![Data::array(Data::equal(rows, 2, elems).unwrap())]
        };
        let wanted: i64 = xs[..2 * rows].chunks(2).map(|x| x[0] * 3 - x[1]).sum();
        assert_eq!(on_all(&pairs, &args, &|d| elements::<i64>(d)[0]), wanted, "{n}");
    }
}

#[test]
fn rows_under_a_condition_may_have_nothing_left() {
    let (off, xs) = long_rows();
    let tops = on_all(&native("row_tops"), &|s| vec![array(s, &off), array(s, &xs)], &elements::<i64>);
    for (got, w) in tops.iter().zip(off.windows(2)) {
        let row = xs[w[0] as usize..w[1] as usize].iter().copied();
        assert_eq!(*got, row.filter(|x| x % 4 == 1).fold(-1, i64::max));
    }
}

#[test]
fn elements_from_anywhere_are_summed_in_lanes_and_in_turns() {
    let (off, xs) = long_rows();
    let at: Vec<i32> = xs.iter().map(|x| (x.rem_euclid(5000)) as i32).collect();
    let values: Vec<f64> = (0..5000).map(|i| f64::from(i) * 0.25).collect();
    for gathers in [Gathers::Native, Gathers::Emulated, Gathers::Scalar] {
        let f = native_with("sparse_sums", Options { gathers: Some(gathers), ..Options::default() });
        let args = |s: &Settings| vec![array(s, &off), array(s, &at), array(s, &values)];
        let sums = on_all(&f, &args, &elements::<f64>);
        for (got, w) in sums.iter().zip(off.windows(2)) {
            let wanted: f64 = at[w[0] as usize..w[1] as usize].iter().map(|j| values[*j as usize]).sum();
            assert_eq!(*got, wanted, "{gathers:?}");
        }
        // One that is out of range is told.
        let s = Settings::new(2, None);
        let mut wrong = at.clone();
        wrong[4_000_000] = 5000;
        let d = f.call(vec![array(&s, &off), array(&s, &wrong), array(&s, &values)], &s).unwrap_err();
        assert!(d.message.contains("5000"), "{}", d.message);
    }
}

#[test]
fn rows_that_make_no_sense_are_told() {
    let f = native("row_sums");
    let s = Settings::new(2, None);
    let xs = vec![1.0f32; 100_000];
    for (bad, told) in [
        (vec![0, 70_000, 60_000, 100_000], "offset 2 is 60000, below the one before it, 70000"),
        (vec![0, -5, 100_000], "offset 1 is -5, below the one before it, 0"),
        (vec![0, 1 << 40, 100_000], "offset 1 is 1099511627776, but there are 100000 elements"),
        (vec![i64::MIN, 3, 100_000], "the first offset is -9223372036854775808, but must not be negative"),
    ] {
        let d = f.call(vec![array(&s, &bad), array(&s, &xs)], &s).unwrap_err();
        assert_eq!(d.message, told);
    }
}

/// Rows of which one is more than a thread should do alone, between empty and short ones, and their data.
fn long_rows() -> (Vec<i64>, Vec<i64>) {
    let mut off = vec![0];
    for i in 0..2000 {
        let length = match i {
            700 => (4 << 20) + 12345,
            1999 => 20_000,
            i if i % 5 == 0 => 0,
            i => i % 70,
        };
        off.push(off[i as usize] + length);
    }
    let xs = numbers(*off.last().unwrap() as usize);
    (off, xs)
}

#[test]
fn a_long_row_has_the_same_bits_on_any_number_of_threads() {
    let (off, xs) = long_rows();
    let rows = || off.windows(2).map(|w| w[0] as usize..w[1] as usize);
    let singles: Vec<f32> = xs.iter().map(|x| *x as f32 * 0.37).collect();
    let f = native("row_sums");
    let sums = on_all(&f, &|s| vec![array(s, &off), array(s, &singles)], &elements::<f32>);
    assert_eq!(f.kernels_for_long_rows(), 1);
    for (got, row) in sums.iter().zip(rows()) {
        let exact: f64 = singles[row].iter().map(|x| f64::from(*x)).sum();
        assert!((f64::from(*got) - exact).abs() <= 1e-5 * exact.abs().max(1.0), "{got} for {exact}");
    }
    let doubles: Vec<f64> = xs.iter().map(|x| *x as f64 * 0.37).collect();
    let args = |s: &Settings| vec![array(s, &off), array(s, &doubles)];
    let average = on_all(&native("row_average"), &args, &|d| elements::<f64>(d)[0]);
    let exact: f64 = doubles.iter().sum::<f64>() * 0.5;
    assert!((average - exact).abs() <= 1e-9 * exact.abs(), "{average} for {exact}");
}

#[test]
fn a_long_row_is_scanned_and_written_by_all_threads() {
    let (off, xs) = long_rows();
    let rows = || off.windows(2).map(|w| w[0] as usize..w[1] as usize);
    let doubles: Vec<f64> = xs.iter().map(|x| *x as f64 * 0.25).collect();
    let args = |s: &Settings| vec![array(s, &off), array(s, &doubles)];
    let scans = on_all(&native("row_scans"), &args, &elements::<f64>);
    let f = native("row_shares");
    let shares = on_all(&f, &args, &elements::<f64>);
    assert!(f.kernels_for_long_rows() > 0);
    for row in rows() {
        let most = doubles[row.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = doubles[row.clone()].iter().map(|x| x - most).sum();
        let mut total = 0.5;
        for i in row {
            // Multiples of a quarter: exact.
            assert_eq!(scans[i], total, "{i}");
            assert_eq!(shares[i], (doubles[i] - most) / (sum - 1.0), "{i}");
            total += doubles[i];
        }
    }
    let heads = on_all(&native("row_heads"), &|s| vec![array(s, &off), array(s, &xs)], &elements::<i64>);
    let mut total = 0;
    for (got, row) in heads.iter().zip(rows()) {
        total += xs[row].iter().filter(|x| **x % 3 == 0).sum::<i64>();
        assert_eq!(*got, total);
    }
}

#[test]
fn copies_are_merged_in_the_same_order_on_any_number_of_threads() {
    let f = native("weights");
    for n in [1, 1000, 100_000, 3_000_003] {
        let xs: Vec<i64> = numbers(n).iter().map(|x| x + 1000).collect();
        let ws: Vec<f64> = xs.iter().map(|x| 1.0 / (*x as f64 + 0.5)).collect();
        let bits = |d: &Data| elements::<f64>(d).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let got = on_all(&f, &|s| vec![array(s, &xs), array(s, &ws)], &bits);
        let mut want = vec![0f64; 300];
        xs.iter().zip(&ws).for_each(|(x, w)| want[(x % 300) as usize] += w);
        let close = |(a, b): (&u64, &f64)| (f64::from_bits(*a) - b).abs() <= 1e-12 * b.abs();
        assert!(got.len() == 300 && got.iter().zip(&want).all(close), "{n}");
    }
}

#[test]
fn owners_of_parts_scatter_what_falls_into_them() {
    let (f, later) = (native("multiples"), native("later"));
    for n in [0i64, 1, 70_000, 1_000_000, 3_000_017] {
        let ps: Vec<i64> = vec![2, 3, 70_001, 999_983, 7, 1_500_001];
        let (mut marks, mut last) = (vec![0i32; n as usize], vec![0i64; n as usize]);
        for p in &ps {
            for i in 0..n / p {
                marks[(p * i) as usize] = 1;
                last[(p * i) as usize] = p + i;
            }
        }
        let args = |s: &Settings| vec![Data::copied(&[n], &s.pool, "n").unwrap(), array(s, &ps)];
        assert_eq!(on_all(&f, &args, &elements::<i32>), marks, "{n}");
        assert_eq!(on_all(&later, &args, &elements::<i64>), last, "{n}");
    }
    // Places that descend, that stay, and that are out of range.
    let f = native("steps");
    let n = 1_000_000i64;
    for (by, start, fails) in
        [(-5i64, 500i64, false), (0, 7, false), (400_000, 300_000, true), (-300, 500, true), (3, 999_993, false)]
    {
        for threads in [1, 2] {
            let s = Settings::new(threads, None);
            let one = |x: i64| Data::copied(&[x], &s.pool, "x").unwrap();
            let result = f.call(vec![one(n), array(&s, &[start]), one(by)], &s);
            assert_eq!(result.is_err(), fails, "{by} {start}");
            if let Ok(marks) = result {
                let marks = elements::<i32>(&marks);
                let mut want = vec![0; n as usize];
                (0..3).for_each(|i| want[(start + by * i) as usize] = 1);
                assert_eq!(marks, want, "{by} {start}");
            }
        }
    }
}

#[test]
fn histograms_and_extremes() {
    let (counts, least, twice) = (native("counts"), native("least"), native("twice"));
    for n in SIZES.into_iter().skip(1) {
        let xs: Vec<i64> = numbers(n).iter().map(|x| x + 1000).collect();
        let mut want = vec![0i64; 100];
        xs.iter().for_each(|x| want[(x % 100) as usize] += 1);
        assert_eq!(on_all(&counts, &|s| vec![array(s, &xs)], &elements::<i64>), want, "{n}");
        let (lo, hi) = (*xs.iter().min().unwrap(), *xs.iter().max().unwrap());
        let at = xs.iter().position(|x| *x == lo).unwrap() as i64;
        let parts = |d: &Data| match d.form() {
            Form::Tuple(parts) => parts.iter().map(|p| elements::<i64>(p)[0]).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        assert_eq!(on_all(&least, &|s| vec![array(s, &xs)], &parts), [lo, hi, at], "{n}");
        let fs: Vec<f64> = xs.iter().map(|x| *x as f64).collect();
        let parts = |d: &Data| match d.form() {
            Form::Tuple(p) => (elements::<f64>(&p[0])[0], elements::<f64>(&p[1]).len(), elements::<f64>(&p[2])[0]),
            _ => (0.0, 0, 0.0),
        };
        assert_eq!(on_all(&twice, &|s| vec![array(s, &fs)], &parts), (fs.iter().sum(), n, hi as f64), "{n}");
    }
}

#[test]
fn histograms_of_few_and_many_bins() {
    let f = native("binned");
    let xs: Vec<i64> = numbers(100_003).iter().map(|x| x + 1000).collect();
    // Of 12 bytes each: with 8 tables, with 4, and with one.
    for bins in [1i64, 7, 16, 340, 341, 342, 682, 683, 5000] {
        let mut want = (vec![0i64; bins as usize], vec![-1i32; bins as usize]);
        for x in &xs {
            let bin = (x % bins) as usize;
            want.0[bin] += x;
            want.1[bin] = want.1[bin].max((x % 77) as i32);
        }
        let parts = |d: &Data| match d.form() {
            Form::Tuple(p) => (elements::<i64>(&p[0]), elements::<i32>(&p[1])),
            _ => Default::default(),
        };
        let args = |s: &Settings| vec![Data::copied(&[bins], &s.pool, "bins").unwrap(), array(s, &xs)];
        assert_eq!(on_all(&f, &args, &parts), want, "{bins}");
    }
}

#[test]
fn one_value_is_scattered_in_any_order() {
    let f = native("seen");
    for n in [1i64, 1000, 300_000] {
        let xs: Vec<i64> = numbers(2_000_000).iter().map(|x| x.rem_euclid(2 * n) - n).collect();
        let args = |s: &Settings| vec![Data::copied(&[n], &s.pool, "n").unwrap(), array(s, &xs)];
        let mut want = vec![0i32; n as usize];
        xs.iter().filter(|x| **x >= 0).for_each(|x| want[*x as usize] = 7);
        assert_eq!(on_all(&f, &args, &elements::<i32>), want, "{n}");
        // How many there are is asked for, and need not be known.
        assert_eq!(f.program().to_string().matches("fold").count(), 0, "{}", f.program());
    }
}

#[test]
fn what_has_failed_does_not_go_on_for_ever() {
    for (entry, xs) in
        [("endless_rows", vec![3i64, -2, 1 << 59]), ("endless", vec![3, 2]), ("endless_checks", vec![3, 2])]
    {
        for threads in [1, 3] {
            let settings = Settings::new(threads, None);
            let failed = native(entry).call(vec![array(&settings, &xs)], &settings).unwrap_err();
            let wanted = if entry == "endless_rows" { Code::BadSize } else { Code::IndexRange };
            assert_eq!(failed.code, wanted, "{entry}: {}", failed.message);
        }
    }
}
