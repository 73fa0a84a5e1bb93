//! Arguments and results of programs: no copy if the layout permits, correct shapes, and no partial conversion.

use deckle::prelude::*;
use deckle::{Error, OneCore, Seq as One};
use std::error::Error as _;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_vector_is_overwritten_and_comes_back() {
    let f = compile(|xs: Arr<f32>| xs.map(|x| x * 2.0)).unwrap();
    for n in [1usize, 63, 1000, 1_000_000] {
        let xs: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let wanted: Vec<f32> = xs.iter().map(|x| x * 2.0).collect();
        let (xs, at) = grown(xs);
        let out = f.call(xs).unwrap().into_vec();
        assert_eq!(out.as_ptr(), at, "{n}");
        assert_eq!(out, wanted);
    }
}

/// A vector with spare capacity, so that it need not grow, and the address of its elements.
fn grown(mut xs: Vec<f32>) -> (Vec<f32>, *const f32) {
    xs.reserve(16);
    let at = xs.as_ptr();
    (xs, at)
}

#[test]
fn what_is_borrowed_is_as_it_was() {
    let f = compile(|xs: Arr<f64>, ys: Arr<f64>| (xs.map(|x| x + 1.0), ys.sum(), ys)).unwrap();
    let (xs, ys) = (vec![1.0; 5000], [1.0, 2.0]);
    for _ in 0..3 {
        let (more, sum, same) = f.call(&xs, &ys[..]).unwrap();
        assert_eq!((more.to_vec(), sum), (vec![2.0; 5000], 3.0));
        // A returned argument is a copy: it would not live long enough.
        assert_eq!(same.to_vec(), ys);
        assert_ne!(same.as_slice().as_ptr(), ys.as_ptr());
    }
    assert!(xs.iter().all(|x| *x == 1.0));
}

/// Results that are larger than the caches use non-temporal stores, into memory of a `Vec`, which has any alignment.
#[test]
fn large_results_are_new_vectors() {
    let n = 5_000_003usize;
    let xs: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let f = compile(|xs: Arr<f64>| xs.map(|x| x + 1.0)).unwrap();
    let g = compile(|xs: Arr<f64>| (xs.map(|x| x + 1.0), xs.map(|x| x.cast::<f32>()))).unwrap();
    for threads in [1, 2] {
        let more = f.on(Cpu::threads(threads)).call(&xs).unwrap();
        let (same, narrow) = g.on(Cpu::threads(threads)).call(&xs).unwrap();
        assert!((0..n).all(|i| more.as_slice()[i] == xs[i] + 1.0));
        assert!((0..n).all(|i| same.as_slice()[i] == xs[i] + 1.0 && narrow.as_slice()[i] == xs[i] as f32));
    }
}

/// Every kind of scalar, alone and in a struct whose fields have awkward names.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Mixed {
    i: i8,
    data: u16,
    items: (f32, bool),
    get: i64,
    pool: f64,
    x: bool,
    at: u8,
}

#[test]
fn structs_are_taken_apart_and_put_together() {
    let f = compile(|ms: Arr<Mixed>| ms.rev()).unwrap();
    let mixed = |k: usize| Mixed {
        i: k as i8,
        data: k as u16,
        items: (k as f32, k.is_multiple_of(3)),
        get: -(k as i64),
        pool: k as f64 * 0.5,
        x: k.is_multiple_of(2),
        at: (k % 251) as u8,
    };
    for n in [0, 1, 2, 1023, 1024, 1025, 5000, 400_000] {
        let all: Vec<Mixed> = (0..n).map(mixed).collect();
        let mut wanted = all.clone();
        wanted.reverse();
        assert_eq!(f.call(&all).unwrap().to_vec(), wanted);
        assert_eq!(f.call(all).unwrap().to_vec(), wanted);
    }
}

fn same<T: Elt + PartialEq + fmt::Debug>(all: &[T]) {
    let f = compile(|xs: Arr<T>| xs.rev().rev()).unwrap();
    assert_eq!(f.call(all).unwrap().as_slice(), all);
    assert_eq!(f.call(all.to_vec()).unwrap().as_slice(), all);
    assert_eq!(f.on(Interp).call(all).unwrap().as_slice(), all);
    let s = compile(|xs: Seq<T>| xs).unwrap();
    assert_eq!(s.call(all).unwrap(), all);
    assert_eq!(s.call(feed(all.iter().copied())).unwrap(), all);
}

#[test]
fn all_scalars_cross() {
    same(&[true, false, true]);
    same(&[i8::MIN, 0, i8::MAX]);
    same(&[i16::MIN, 0, i16::MAX]);
    same(&[i32::MIN, 0, i32::MAX]);
    same(&[i64::MIN, 0, i64::MAX]);
    same(&[u8::MIN, u8::MAX]);
    same(&[u16::MIN, u16::MAX]);
    same(&[u32::MIN, u32::MAX]);
    same(&[u64::MIN, u64::MAX]);
    same(&[f32::MIN_POSITIVE, -0.0, f32::INFINITY]);
    same(&[f64::MIN_POSITIVE, -0.0, f64::INFINITY]);
    same(&[(1u8, -1i64), (2, -2)]);
    same::<f64>(&[]);
}

#[test]
fn nesting_of_any_kind_crosses() {
    let deep = vec![vec![vec![1i64, 2], vec![]], vec![], vec![vec![3]]];
    let f = compile(|xs: Arr<Arr<Arr<i64>>>| xs.map(|x| x.map(|y| y.map(|z| z * 10)))).unwrap();
    let tens = vec![vec![vec![10i64, 20], vec![]], vec![], vec![vec![30]]];
    assert_eq!(f.call(&deep).unwrap().to_vec(), tens);
    assert_eq!(f.call(deep).unwrap().to_vec(), tens);

    let pairs = vec![(1i64, vec![1.5f32]), (2, vec![])];
    let f = compile(|ps: Arr<Tup<(i64, Arr<f32>)>>| {
        ps.map(|p| {
            let (n, xs) = p.unpack();
            tup((n + 1, xs.map(|x| x * 2.0)))
        })
    })
    .unwrap();
    assert_eq!(f.call(pairs).unwrap().to_vec(), [(2, vec![3.0]), (3, vec![])]);

    let grids = vec![
        Array::<i64, D2>::new(&[2, 3], (0..6).collect()).unwrap(),
        Array::new(&[1, 1], vec![7]).unwrap(),
        Array::new(&[2, 0], vec![]).unwrap(),
    ];
    let f = compile(|gs: Arr<Arr<i64, D2>>| gs.map(|g| g.map(|x| x + 1))).unwrap();
    let more = f.call(grids).unwrap().to_vec();
    let shapes: Vec<&[usize]> = more.iter().map(Array::shape).collect();
    assert_eq!(shapes, [&[2, 3][..], &[1, 1], &[2, 0]]);
    assert_eq!(more[0].as_slice(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn ragged_rows_cross_as_offsets_and_elements() {
    let f = compile(|rows: Arr<Arr<f64>>| rows.map(|r| r.sum())).unwrap();
    let s = compile(|rows: Seq<Arr<f64>>| rows.map(|r| r.sum())).unwrap();
    let rows = Ragged::new(vec![0, 2, 2, 5], vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    assert_eq!(f.call(&rows).unwrap().to_vec(), [3.0, 0.0, 12.0]);
    assert_eq!(s.call(&rows).unwrap(), [3.0, 0.0, 12.0]);
    assert_eq!(rows.row(2), Some(&[3.0, 4.0, 5.0][..]));
    assert_eq!(f.call(rows).unwrap().to_vec(), [3.0, 0.0, 12.0]);
    let none = Ragged::<f64>::new(vec![0], vec![]).unwrap();
    assert_eq!(f.call(&none).unwrap().to_vec(), [0.0; 0]);
    for bad in [&[][..], &[1, 5], &[0, 6], &[0, 3, 2, 5], &[0, -1, 5], &[0, i64::MAX, 5]] {
        assert!(Ragged::new(bad.to_vec(), vec![0.0; 5]).is_err(), "{bad:?}");
    }
}

#[test]
fn shapes_without_elements_stay() {
    let f = compile(|m: Arr<f64, D2>| (m.shape(), m.map(|x| x + 1.0), m.transpose())).unwrap();
    for shape in [[0usize, 3], [3, 0], [0, 0], [2, 2]] {
        let m = Array::<f64, D2>::new(&shape, vec![1.0; shape[0] * shape[1]]).unwrap();
        let (seen, more, turned) = f.call(&m).unwrap();
        assert_eq!(seen, (shape[0] as i64, shape[1] as i64));
        assert_eq!((more.shape(), turned.shape()), (&shape[..], &[shape[1], shape[0]][..]));
    }
    let cube = compile(|c: Arr<i64, D3>| c).unwrap();
    let c = Array::<i64, D3>::new(&[2, 0, 5], vec![]).unwrap();
    assert_eq!(cube.call(&c).unwrap().shape(), [2, 0, 5]);
}

#[derive(Debug)]
struct Broken(u32);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pipe {} broke", self.0)
    }
}

impl std::error::Error for Broken {}

#[test]
fn the_error_of_an_iterator_is_the_source_of_the_errors_of_calls() {
    let f = compile(|xs: Seq<i64>| xs.sum()).unwrap();
    let items = || (0..100).map(|i| if i < 50 { Ok(i) } else { Err(Broken(7)) });
    let check = |e: Error| {
        assert!(e.to_string().contains("pipe 7 broke"), "{e}");
        let source = e.source().and_then(|s| s.downcast_ref::<Broken>());
        assert_eq!(source.map(|b| b.0), Some(7));
    };
    check(f.call(feed_results(items())).unwrap_err());
    check(f.on(Interp).call(feed_results(items())).unwrap_err());
    let s = compile(|xs: Seq<i64>| xs.map(|x| x + 1)).unwrap();
    let results: Vec<_> = s.stream(feed_results(items())).collect();
    assert_eq!(results.len(), 51);
    check(results.into_iter().next_back().unwrap().unwrap_err());
}

#[test]
fn a_panic_of_an_iterator_is_passed_on() {
    let items = || (0..1000i64).inspect(|i| assert!(*i < 700, "on purpose"));
    let said = |r: Result<(), Box<dyn std::any::Any + Send>>| {
        let e = r.unwrap_err();
        assert!(e.downcast_ref::<&str>().is_some_and(|s| s.contains("on purpose")));
    };
    let f = compile(|xs: Seq<i64>| xs.sum()).unwrap();
    said(catch_unwind(AssertUnwindSafe(|| drop(f.call(feed(items()))))));
    said(catch_unwind(AssertUnwindSafe(|| drop(f.on(Interp).call(feed(items()))))));
    let s = compile(|xs: Seq<i64>| xs.map(|x| x + 1)).unwrap();
    said(catch_unwind(AssertUnwindSafe(|| s.stream(feed(items())).for_each(|x| assert!(x.is_ok())))));
}

#[test]
fn feeds_borrow_and_are_gone_when_the_call_returns() {
    let f = compile(|xs: Seq<f64>, rows: Seq<Arr<f64>>| (xs.sum(), rows.map(|r| r.sum()).sum())).unwrap();
    let (numbers, rows) = (vec![0.5; 10_000], vec![vec![1.0; 3]; 100]);
    let mut seen = 0;
    let counted = numbers.iter().inspect(|_| seen += 1).copied();
    assert_eq!(f.call(feed(counted), feed(rows.iter().cloned())).unwrap(), (5000.0, 300.0));
    assert_eq!(seen, 10_000);
    // An endless one ends with the program.
    let first = compile(|xs: Seq<i64>| xs.map(|x| 100 / (3 - x))).unwrap();
    let mut given = 0;
    assert!(first.call(feed((0..).inspect(|_| given += 1))).is_err());
    assert!(given >= 4);
}

#[test]
fn blocks_are_what_elements_are() {
    let s = compile(|xs: Seq<i64>| xs.map(|x| x * x)).unwrap();
    let mut results = s.stream(feed(0..100_000));
    assert_eq!(results.next().unwrap().unwrap(), 0);
    let mut all = vec![0];
    while let Some(block) = results.next_block() {
        all.extend(block.unwrap());
    }
    assert_eq!(all, (0..100_000).map(|x| x * x).collect::<Vec<i64>>());
}

#[test]
fn programs_run_on_all_cores_unless_something_is_said() {
    let f = compile(|n: Exp<i64>| count_to(n).map(|x| x % 7).sum()).unwrap();
    let cpu: &Compiled<(Exp<i64>,), Exp<i64>, Cpu> = &f;
    let one: Compiled<(Exp<i64>,), Exp<i64>, OneCore> = f.on(One);
    assert_eq!(cpu.call(1_000_000), one.call(1_000_000));
}

/// A resident result is independent of lent arguments: these may change, or be dropped.
#[test]
fn what_is_kept_does_not_depend_on_what_was_lent() {
    let same = compile(|xs: Arr<f64>, rows: Arr<Arr<i64>>| (xs, rows)).unwrap();
    let rows = Ragged::new(vec![0, 1, 3], vec![1, 2, 3]).unwrap();
    let mut xs = vec![1.0; 1000];
    let kept = same.keep(&xs, &rows).unwrap();
    xs.fill(2.0);
    drop(rows);
    let (xs, rows) = kept.into_host().unwrap();
    assert_eq!((xs.to_vec(), rows.to_vec()), (vec![1.0; 1000], vec![vec![1], vec![2, 3]]));
}

/// A result stays in the engine from call to call: in the same memory, if it is given away each time.
#[test]
fn what_is_kept_is_an_argument_again() {
    let step = compile(|xs: Arr<f64>| xs.map(|x| x * 0.5 + 1.0)).unwrap();
    let mut xs = step.keep(vec![0.0; 100_000]).unwrap();
    for _ in 0..60 {
        xs = step.keep(xs).unwrap();
    }
    assert_eq!(xs.bytes(), 800_000);
    let total = compile(|xs: Arr<f64>, ys: Arr<f64>| xs.zip_with(ys, |x, y| x + y).sum()).unwrap();
    assert_eq!(total.call(&xs, &xs).unwrap(), 400_000.0);
    assert!(xs.into_host().unwrap().as_slice().iter().all(|x| *x == 2.0));
}

/// Blocks of any size, including empty ones.
#[test]
fn blocks_come_as_elements_do() {
    let sums = compile(|xs: Seq<i64>| xs.map(|x| x * 2)).unwrap();
    for sizes in [vec![], vec![0], vec![3, 0, 1], vec![100_000, 1]] {
        let blocks: Vec<Vec<i64>> = sizes.iter().map(|n| (0..*n).collect()).collect();
        let wanted: Vec<i64> = blocks.concat().iter().map(|x| x * 2).collect();
        assert_eq!(sums.call(feed_blocks(blocks)).unwrap(), wanted);
    }
    let rows = compile(|xs: Seq<Arr<i64>>| xs.map(|x| x.sum())).unwrap();
    assert_eq!(rows.call(feed_blocks([vec![vec![1, 2], vec![]], vec![vec![3]]])).unwrap(), [3, 0, 3]);
    let panics = std::panic::catch_unwind(|| sums.call(feed_blocks((0..3).map(|k| vec![1 / (1 - k)]))));
    assert!(panics.is_err());
}

#[test]
fn limits_are_those_of_one_program() {
    let sort = compile(|n: Exp<i64>| iota(n).map(|x| x * 7 % 1009).sort().sum()).unwrap();
    let small = sort.memory(1 << 20);
    assert!(small.call(1_000_000).unwrap_err().to_string().contains("budget"));
    assert_eq!(small.call(1000).unwrap(), sort.call(1000).unwrap());
    assert!(sort.call(1_000_000).is_ok());
    let scanned = compile(|xs: Seq<i64>| xs.scan(0, |a, b| a + b).map(|x| x % 1000)).unwrap();
    let wanted = scanned.call(feed(0..3000)).unwrap();
    for n in [0, 1, 7, 1000] {
        assert_eq!(scanned.chunk(n).call(feed(0..3000)).unwrap(), wanted);
    }
}

/// A result is written to existing memory, if it fits; its contents are correct in any case.
#[test]
fn results_go_where_the_caller_says() {
    let ramp = compile(|n: Exp<i64>| iota(n).map(|i| i.cast::<f32>() * 0.5)).unwrap();
    let wanted = |n: usize| (0..n).map(|i| i as f32 * 0.5).collect::<Vec<f32>>();
    // With room for the padding that compiled code reads past the end, it is never moved.
    let mut out = Vec::with_capacity(5064);
    out.resize(5000, 7.0);
    let place = out.as_ptr();
    for n in [5000usize, 4999, 17, 0] {
        ramp.call_into(&mut out, n as i64).unwrap();
        assert_eq!(out, wanted(n));
        assert!(n < 17 || out.as_ptr() == place, "{n}");
    }
    for n in [1usize, 100_000] {
        ramp.call_into(&mut out, n as i64).unwrap();
        assert_eq!(out, wanted(n));
        ramp.on(Interp).call_into(&mut out, n.min(100) as i64).unwrap();
        assert_eq!(out, wanted(n.min(100)));
    }
    let turned = compile(|m: Arr<i64, D2>| m.transpose()).unwrap();
    let mut out = vec![0; 6];
    turned.call_into(&mut out, [[1, 2, 3], [4, 5, 6]]).unwrap();
    assert_eq!(out, [1, 4, 2, 5, 3, 6]);
    assert!(ramp.call_into(&mut Vec::new(), -1).is_err());
    // The argument itself, and an argument that is used again after it is the result.
    let same = compile(|xs: Arr<i64>| xs).unwrap();
    let xs = vec![1, 2, 3];
    same.call_into(&mut out, &xs).unwrap();
    assert_eq!(out, xs);
    let rounds = compile(|xs: Arr<i64>| repeat(5, xs, |_, xs| xs.scan_inclusive(|a, b| a + b))).unwrap();
    let wanted = rounds.call(&xs).unwrap();
    rounds.call_into(&mut out, &xs).unwrap();
    assert_eq!(out, wanted.to_vec());
}

/// The interpreter takes elements on demand: an endless sequence is allowed.
#[test]
fn an_endless_feed_ends_in_the_interpreter_too() {
    let sums = compile(|xs: Seq<i64>| xs.map(|x| x * x)).unwrap().on(Interp);
    let first: Vec<i64> = sums.stream(feed(1..)).take(3).map(Result::unwrap).collect();
    assert_eq!(first, [1, 4, 9]);
    let failing = sums.stream(feed_results((0..10).map(|k| if k < 3 { Ok(k) } else { Err("no more") })));
    let all: Vec<Result<i64, Error>> = failing.collect();
    assert_eq!(all.iter().flatten().copied().collect::<Vec<i64>>(), [0, 1, 4]);
    assert!(all.last().unwrap().as_ref().unwrap_err().to_string().contains("no more"));
}

/// Structs and tuples as columns of any kind: lent or given, of vectors and of sequences; columns of other types or lengths are errors.
#[test]
fn columns_are_structs() {
    let both = compile(|ps: Arr<(i64, bool)>| {
        let kept = ps.map(|p| {
            let (x, keep) = p.unpack();
            select(keep, x, 0)
        });
        kept.sum()
    });
    let both = both.unwrap();
    let (xs, keep) = (vec![1i64, 2, 3], vec![true, false, true]);
    assert_eq!(both.call(columns((&xs, &keep))).unwrap(), 4);
    assert_eq!(both.call(columns((&xs[..2], keep[..2].to_vec()))).unwrap(), 1);
    assert_eq!(both.call(columns((Vec::<i64>::new(), Vec::<bool>::new()))).unwrap(), 0);
    assert_eq!(both.on(Interp).call(columns((&xs, &keep))).unwrap(), 4);
    let short = both.call(columns((&xs, &keep[..1]))).unwrap_err().to_string();
    assert!(short.contains("component 1 has 1 elements, for 3 values"), "{short}");
    let other = both.call(columns((&keep, &xs))).unwrap_err().to_string();
    assert!(other.contains("not of the type"), "{other}");
    let many = both.call(columns((&xs, &keep, &keep))).unwrap_err().to_string();
    assert!(many.contains("not of the type"), "{many}");
}
