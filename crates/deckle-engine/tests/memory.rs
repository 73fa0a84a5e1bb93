//! Memory that is used again: what fits a budget, what is overwritten, and what is not.

use deckle_diag::{Code, SourceMap};
use deckle_engine::{Data, Native, Options, Settings};
use deckle_runtime::{Form, Number, Plain, pool::counted_bytes};

const PROGRAMS: &str = r"
def axpy(a: f64, xs: [f64; n], ys: [f64; n]) = [ a * x + y : x in xs; y in ys ]
def halved(xs: [f64], rounds: int) = loop ys = xs for i < rounds do [ y * 0.5 + 1.0 : y in ys ]
def smoothed(xs: [f64], rounds: int) =
  loop ys = xs for i < rounds do
    let sums = scan_incl(+, 0.0, ys)
    in if sums[0] > 0.0 then [ s - y : s in sums; y in ys ] else reverse(sums)
def marked(xs: [int], rounds: int) = loop ys = xs for i < rounds do scatter(ys, [i], [ys[i + 1] + 1])
def placed(xs: [int], rounds: int) = loop ys = xs for i < rounds do scatter(ys, [i], [i * i])
def one_of(xs: [int]) = sum([ sum(sort([ (x + y) * 7 % 100 : y in xs ])) : x in xs | x == 3 ])
def if_one(xs: [int]) = sum([ if x == 3 then sum(scan_incl(max, sort([ (x + y) * 7 % 100 : y in xs ]))) else 1 : x in xs ])
def in_some(xs: [int]) =
  sum([ loop s = 0 while x % 500 == 3 && s < 10 do s + 1 + sort([ (x + y) * 7 % 100 : y in xs ])[x % 5] : x in xs ])
def lifted(xs: [int]) =
  sum([ if x % 500 == 3 then (loop r = sort([ x * y : y in xs ]) for k < 3 do scan_incl(+, sort(r)))[0] else 0 : x in xs ])
def quotients(xs: [int], ys: [int]) = [ x / y : x in xs; y in ys ]
";

/// Large enough for everything else to be small.
const N: usize = 1 << 18;

fn native(text: &str, entry: &str, given: u64) -> Native {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "memory.dk", text.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    Native::compile(&compiled.program, func, Options { given, ..Options::default() }).unwrap()
}

/// Settings with room for so many arrays of `N` numbers, and for small ones.
fn room_for(arrays: u64) -> Settings {
    let one = counted_bytes(N * 8).unwrap();
    Settings::new(2, Some(arrays * one + one / 2))
}

fn scalar<T: Number>(s: &Settings, x: T) -> Data {
    Data::copied(&[x], &s.pool, "a number").unwrap()
}

fn array<T: Number>(s: &Settings, elements: &[T]) -> Data {
    Data::array(Data::copied(elements, &s.pool, "an array").unwrap())
}

fn elements<T: Plain>(data: &Data) -> &[T] {
    match data.form() {
        Form::Scalars(_, b) => b.as_slice(),
        Form::Equal(_, elem) => elements(elem),
        other => panic!("{other:?}"),
    }
}

fn floats() -> Vec<f64> {
    (0..N).map(|i| (i % 1000) as f64).collect()
}

#[test]
fn an_argument_that_is_given_away_becomes_the_result() {
    let f = native(PROGRAMS, "axpy", 0b100);
    let s = room_for(2);
    let (xs, ys) = (floats(), floats());
    let kept = array(&s, &xs);
    let mut given = array(&s, &ys);
    let place = elements::<f64>(&given).as_ptr();
    for round in 1..=3 {
        given = f.call(vec![scalar(&s, 2.0), kept.clone(), given], &s).unwrap();
        assert_eq!(elements::<f64>(&given).as_ptr(), place);
        assert!((0..N).all(|i| elements::<f64>(&given)[i] == ys[i] + f64::from(2 * round) * xs[i]));
    }
    assert_eq!(elements::<f64>(&kept), xs);
    // Without that there is no room for the result.
    let f = native(PROGRAMS, "axpy", 0);
    let e = f.call(vec![scalar(&s, 2.0), kept, given], &s).unwrap_err();
    assert_eq!(e.code, Code::LimitExceeded, "{}", e.message);
}

#[test]
fn what_the_caller_keeps_is_not_overwritten() {
    for given in [0, Options::ALL] {
        let f = native(PROGRAMS, "axpy", given);
        let s = room_for(3);
        let (xs, ys) = (floats(), floats());
        let (kept_xs, kept_ys) = (array(&s, &xs), array(&s, &ys));
        let zs = f.call(vec![scalar(&s, 0.5), kept_xs.clone(), kept_ys.clone()], &s).unwrap();
        assert!((0..N).all(|i| elements::<f64>(&zs)[i] == 0.5 * xs[i] + ys[i]));
        assert!(elements::<f64>(&kept_xs) == xs && elements::<f64>(&kept_ys) == ys);
        // Passed twice, it is somebody else's too.
        drop((kept_xs, kept_ys, zs));
        let only = array(&s, &xs);
        let zs = f.call(vec![scalar(&s, 0.5), only.clone(), only], &s).unwrap();
        assert!((0..N).all(|i| elements::<f64>(&zs)[i] == 1.5 * xs[i]));
    }
}

#[test]
fn a_loop_of_many_rounds_needs_no_more_than_one_of_few() {
    let xs = floats();
    for (given, arrays) in [(0, 3), (Options::ALL, 1)] {
        let f = native(PROGRAMS, "halved", given);
        let s = room_for(arrays);
        let ys = f.call(vec![array(&s, &xs), scalar(&s, 1000i64)], &s).unwrap();
        let wanted = |x: f64| (0..1000).fold(x, |y, _| y * 0.5 + 1.0);
        assert!((0..N).all(|i| elements::<f64>(&ys)[i] == wanted(xs[i])));
    }
    let f = native(PROGRAMS, "smoothed", 0);
    let s = room_for(4);
    f.call(vec![array(&s, &xs), scalar(&s, 50i64)], &s).unwrap();
}

#[test]
fn a_scatter_in_a_loop_writes_to_the_same_memory() {
    let f = native(PROGRAMS, "placed", Options::ALL);
    let s = room_for(1);
    let xs = vec![-1i64; N];
    let ys = f.call(vec![array(&s, &xs), scalar(&s, 1000i64)], &s).unwrap();
    assert!((0..N).all(|i| elements::<i64>(&ys)[i] == if i < 1000 { (i * i) as i64 } else { -1 }));
    // What is computed from other elements is stored before they are overwritten.
    let f = native(PROGRAMS, "marked", Options::ALL);
    let s = room_for(2);
    let ys = f.call(vec![array(&s, &xs), scalar(&s, 100i64)], &s).unwrap();
    assert!((0..N).all(|i| elements::<i64>(&ys)[i] == if i < 100 { 0 } else { -1 }));
}

#[test]
fn a_search_through_a_graph_copies_no_distances() {
    let text = include_str!("../../deckle-analysis/tests/search.dk");
    let f = native(text, "main", 0);
    // A chain of short cuts: vertex v leads to v + 1 and to 2 v.
    let n = 1 << 12;
    let to = |v: usize| [v + 1, 2 * v].into_iter().filter(move |w| *w < n && *w != v);
    let mut offsets = vec![0i64];
    let mut targets = Vec::new();
    for v in 0..n {
        targets.extend(to(v).map(|w| w as i64));
        offsets.push(targets.len() as i64);
    }
    let s = Settings::new(2, None);
    let args = vec![array(&s, &offsets), array(&s, &targets), scalar(&s, 1i64)];
    let dist = f.call(args, &s).unwrap();
    let dist = elements::<i64>(&dist);
    let wanted = |v: usize| if v == 0 { -1 } else { i64::from(v.ilog2() + v.count_ones()) - 1 };
    assert!((0..n).all(|v| dist[v] == wanted(v)), "{dist:?}");
    let kernels = f.program().to_string().matches("kernel \"`dist`\"").count();
    assert_eq!(kernels, 1, "{}", f.program());
}

#[test]
fn what_fails_is_told_as_if_nothing_were_overwritten() {
    let f = native(PROGRAMS, "quotients", Options::ALL);
    let s = Settings::new(2, None);
    let xs: Vec<i64> = (0..N as i64).collect();
    let ys: Vec<i64> = (0..N as i64).map(|i| (i - 100_000).min(200_000 - i)).collect();
    let e = f.call(vec![array(&s, &xs), array(&s, &ys)], &s).unwrap_err();
    assert_eq!(e.message, "the integer 100000 is divided by zero");
}

#[test]
fn rows_have_places_where_a_guard_is_passed_only() {
    // Rows for all points would be 25 million numbers.
    let xs: Vec<i64> = (1..=5000).collect();
    for (entry, wanted) in [("one_of", 247_500), ("if_one", 252_499), ("in_some", 100), ("lifted", 22_530)] {
        let s = Settings::new(2, Some(8 << 20));
        let sum =
            native(PROGRAMS, entry, 0).call(vec![array(&s, &xs)], &s).unwrap_or_else(|e| panic!("{entry}: {e:?}"));
        assert_eq!(elements::<i64>(&sum), [wanted], "{entry}");
    }
}
