//! Rows whose lengths are computed, some of them so long that all threads share them: the same bits on any number of threads, and what plain Rust computes.

use deckle_diag::SourceMap;
use deckle_engine::{Cuts, Data, Native, Options, Settings};
use deckle_runtime::{Form, Plain};

const PROGRAMS: &str = r"
def length(i: int, m: int, big: int) = if i == m / 2 then big else i % 4
def total(m: int, big: int) = sum({ sum({ real(j % 13) * 0.37 : j in iota(n) }) : n in { length(i, m, big) : i in iota(m) } })
def sums(m: int, big: int) = tab({ sum({ real((i + j) % 13) * 0.37 : j in iota(length(i, m, big)) }) : i in iota(m) })
def tops(m: int, big: int) = tab({ fold(max, -1.0, { real(j * 7 % 1009) * 0.5 : j in iota(length(i, m, big)) }) : i in iota(m) })
def scans(m: int, big: int) = [ scan(+, 0.5, [ real((i + j) % 13) * 0.25 : j in iota(length(i, m, big)) ]) : i in iota(m) ]
def shares(m: int, big: int) =
  [ let r = [ real((i + j) % 13) : j in iota(length(i, m, big)) ]
    let most = fold(max, 0.0, r)
    let s = sum({ x - most : x in r })
    in [ (x - most) / (s - 1.0) : x in r ] : i in iota(m) ]
def kept(m: int, big: int) = [ [ i * 3 + j : j in iota(length(i, m, big)) ] : i in iota(m) ]
def averages(m: int, big: int) =
  tab({ let r = scan(+, 0.5, { real((i + j) % 13) * 0.25 : j in iota(length(i, m, big)) }) in sum({ x * 0.5 : x in r }) : i in iota(m) })
def given(ns: [int]) = [ sum({ real(j % 13) * 0.37 : j in iota(n) }) : n in ns ]
def some(ns: [int]) = [ sum({ real(j) * 0.01 : j in iota(n) | j % 3 != 1 }) : n in ns ]
def running(ns: [int]) = scan_incl(+, [ sum({ j % 5 : j in iota(n) }) : n in ns ])
def alike(m: int, big: int) = [ sum({ real((i + j) % 13) * 0.37 : j in iota(if i < 3 then 5 else big) }) : i in iota(m) ]
def far(xs: [int], big: int) = [ sum({ xs[if j < 5000000 then 0 else 7] : j in iota(if i == 1 then big else 2) }) : i in iota(3) ]
";

fn native(entry: &str, cuts: Cuts) -> Native {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "rows.dk", PROGRAMS.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    Native::compile(&compiled.program, func, Options { cuts, ..Options::default() }).unwrap()
}

fn ints(settings: &Settings, numbers: &[i64]) -> Vec<Data> {
    numbers.iter().map(|n| Data::copied(&[*n], &settings.pool, "a number").unwrap()).collect()
}

fn array(settings: &Settings, elements: &[i64]) -> Data {
    Data::array(Data::copied(elements, &settings.pool, "data").unwrap())
}

fn elements<T: Plain>(data: &Data) -> Vec<T> {
    match data.form() {
        Form::Scalars(_, b) => b.as_slice().to_vec(),
        Form::Equal(_, elem) | Form::Offsets(_, elem) => elements(elem),
        other => panic!("{other:?}"),
    }
}

fn bits(data: &Data) -> Vec<u64> {
    elements::<f64>(data).iter().map(|x| x.to_bits()).collect()
}

/// As it is, and so that a few elements are worth several threads, of which rows have several blocks.
fn cuts(k: usize) -> Cuts {
    match k {
        0 => Cuts::default(),
        1 => Cuts { worth: 1, block: 3, nested_block: 3, row_block: 5, long: 8, ..Cuts::default() },
        2 => Cuts { row_block: 64, long: 500, ..Cuts::default() },
        _ => Cuts::small(),
    }
}

/// Runs on 1, 2 and 5 threads. Rows have been shared then if there are long ones.
fn on_all<R: PartialEq + std::fmt::Debug>(
    entry: &str,
    k: usize,
    args: &dyn Fn(&Settings) -> Vec<Data>,
    result: &dyn Fn(&Data) -> R,
    has_long: bool,
) -> R {
    let native = native(entry, cuts(k));
    let mut first = None;
    for threads in [1, 2, 5] {
        let settings = Settings::new(threads, None);
        let r = result(&native.call(args(&settings), &settings).unwrap());
        assert!(threads > 1 || native.kernels_for_long_rows() == 0, "{entry}: one thread shares nothing");
        match &first {
            None => first = Some(r),
            Some(f) => assert!(*f == r, "{entry} on {threads} threads, cuts {k}"),
        }
    }
    assert_eq!(native.kernels_for_long_rows() > 0, has_long, "{entry}, cuts {k}");
    first.unwrap()
}

fn length(i: i64, m: i64, big: i64) -> i64 {
    if i == m / 2 { big } else { i % 4 }
}

/// How many rows, how long the long one is, and whether it is.
fn shapes(k: usize) -> Vec<(i64, i64, bool)> {
    match k {
        0 => vec![(0, 9, false), (1000, 9, false), (100_000, (5 << 20) + 77, true), (3, (5 << 20) + 77, true)],
        _ => {
            vec![(1, 2000, true), (50, 3001, true), (4096, 20_003, true), (9000, 40_000, true), (9000, 4, false)]
        }
    }
}

fn is_close(got: f64, want: f64) -> bool {
    (got - want).abs() <= 1e-9 * want.abs().max(1.0)
}

#[test]
fn sums_of_rows_have_the_same_bits_on_any_number_of_threads() {
    for k in 0..4 {
        for (m, big, has_long) in shapes(k) {
            let args = |s: &Settings| ints(s, &[m, big]);
            let row =
                |i: i64, shift: i64| (0..length(i, m, big)).map(|j| ((i * shift + j) % 13) as f64 * 0.37).sum::<f64>();
            let sums = on_all("sums", k, &args, &bits, has_long);
            assert_eq!(sums.len() as i64, m);
            assert!((0..m).zip(&sums).all(|(i, got)| is_close(f64::from_bits(*got), row(i, 1))), "{m} {big}");
            let total = on_all("total", k, &args, &bits, has_long);
            assert!(is_close(f64::from_bits(total[0]), (0..m).map(|i| row(i, 0)).sum()), "{m} {big}");
            let tops = on_all("tops", k, &args, &elements::<f64>, has_long);
            let top = |i| (0..length(i, m, big)).map(|j| (j * 7 % 1009) as f64 * 0.5).fold(-1.0, f64::max);
            assert!((0..m).zip(&tops).all(|(i, got)| *got == top(i)), "{m} {big}");
        }
    }
}

#[test]
fn rows_are_scanned_and_written_by_all_threads() {
    for k in 0..4 {
        for (m, big, has_long) in shapes(k) {
            let args = |s: &Settings| ints(s, &[m, big]);
            let scans = on_all("scans", k, &args, &elements::<f64>, has_long);
            let shares = on_all("shares", k, &args, &elements::<f64>, has_long);
            let averages = on_all("averages", k, &args, &bits, has_long);
            let kept = on_all("kept", k, &args, &elements::<i64>, has_long);
            let mut at = 0;
            for i in 0..m {
                let row: Vec<f64> = (0..length(i, m, big)).map(|j| ((i + j) % 13) as f64).collect();
                let most = row.iter().copied().fold(0.0, f64::max);
                let sum: f64 = row.iter().map(|x| x - most).sum();
                let (mut total, mut sum_of_totals) = (0.5, 0.0);
                for (j, x) in row.iter().enumerate() {
                    // Multiples of a quarter: exact.
                    assert_eq!(scans[at], total, "{i} {j}");
                    assert_eq!(shares[at], (x - most) / (sum - 1.0), "{i} {j}");
                    assert_eq!(kept[at], i * 3 + j as i64);
                    sum_of_totals += total * 0.5;
                    total += x * 0.25;
                    at += 1;
                }
                assert!(is_close(f64::from_bits(averages[i as usize]), sum_of_totals), "{i}");
            }
            assert_eq!([scans.len(), shares.len(), kept.len()], [at; 3]);
        }
    }
}

#[test]
fn lengths_may_come_from_memory() {
    for k in 0..4 {
        for (m, big, has_long) in shapes(k) {
            let ns: Vec<i64> = (0..m).map(|i| length(i, m, big)).collect();
            let args = |s: &Settings| vec![array(s, &ns)];
            let given = on_all("given", k, &args, &bits, has_long);
            let some = on_all("some", k, &args, &bits, has_long);
            let running = on_all("running", k, &args, &elements::<i64>, has_long);
            let mut all = 0;
            for (i, n) in ns.iter().enumerate() {
                let sum = (0..*n).map(|j| (j % 13) as f64 * 0.37).sum();
                assert!(is_close(f64::from_bits(given[i]), sum), "{i}");
                let sum = (0..*n).filter(|j| j % 3 != 1).map(|j| j as f64 * 0.01).sum();
                assert!(is_close(f64::from_bits(some[i]), sum), "{i}");
                all += (0..*n).map(|j| j % 5).sum::<i64>();
                assert_eq!(running[i], all, "{i}");
            }
        }
    }
}

/// Away from the edge of the first dimension all rows are of one length: they have to be cut into blocks even so.
#[test]
fn rows_that_are_alike_away_from_an_edge_are_cut_too() {
    for (k, m, big) in [(0, 5, 6 << 20), (1, 6, 1000), (2, 40, 5000), (2, 5, 70_000), (3, 6, 1000)] {
        let sums = on_all("alike", k, &|s| ints(s, &[m, big]), &bits, m < 40);
        for (i, got) in (0..m).zip(sums) {
            let want = (0..if i < 3 { 5 } else { big }).map(|j| ((i + j) % 13) as f64 * 0.37).sum();
            assert!(is_close(f64::from_bits(got), want), "{i}");
        }
    }
}

#[test]
fn without_memory_for_partial_results_one_thread_takes_a_row() {
    let f = native("total", Cuts { worth: 1, row_block: 2, long: 3, ..Cuts::default() });
    let run = |threads: usize, memory: Option<u64>| {
        let settings = Settings::new(threads, memory);
        bits(&f.call(ints(&settings, &[100, 1_000_000]), &settings).unwrap())
    };
    let alone = run(1, None);
    assert_eq!(run(2, Some(1 << 20)), alone);
    assert_eq!(run(2, None), alone);
}

#[test]
fn failures_in_lengths_and_in_long_rows_are_told() {
    let s = Settings::new(2, None);
    for big in [-1, i64::MIN] {
        let d = native("total", Cuts::default()).call(ints(&s, &[1000, big]), &s).unwrap_err();
        assert!(d.message.contains("length"), "{}", d.message);
    }
    let f = native("far", Cuts::default());
    let args = |big: i64| [vec![array(&s, &[3, 4])], ints(&s, &[big])].concat();
    assert_eq!(elements::<i64>(&f.call(args(5_000_000), &s).unwrap()), [6, 15_000_000, 6]);
    assert!(f.kernels_for_long_rows() > 0);
    let d = f.call(args(5_000_001), &s).unwrap_err();
    assert!(d.message.contains('7'), "{}", d.message);
}
