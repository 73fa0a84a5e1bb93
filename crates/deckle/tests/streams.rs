//! Sequences that come from iterators, and results that are iterators.

use deckle::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// An endless sequence of numbers that counts how many were produced.
fn counted() -> (Arc<AtomicU64>, impl Iterator<Item = i64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let numbers = (0..).inspect(move |_| {
        counter.fetch_add(1, Relaxed);
    });
    (count, numbers)
}

#[test]
fn scalars_and_arrays_come_from_iterators_on_every_backend() {
    let f = compile(|xs: Seq<f64>, rows: Seq<Arr<i64>>, k: Exp<f64>| {
        (xs.map(|x| x * k).sum(), rows.map(|row| row.sum()).tab())
    })
    .unwrap();
    let rows = || (0..5i64).map(|i| (0..i).collect::<Vec<_>>());
    let wanted = (190.0 * 0.5, vec![0, 0, 1, 3, 6]);
    let xs = || (0..20).map(f64::from);
    let (sum, sums) = f.call(feed(xs()), feed(rows()), 0.5).unwrap();
    assert_eq!((sum, sums.to_vec()), wanted);
    let (sum, sums) = f.on(Cpu::threads(2)).call(feed(xs()), feed(rows()), 0.5).unwrap();
    assert_eq!((sum, sums.to_vec()), wanted);
    // All at once is still allowed.
    let (sum, sums) = f.on(Cpu).call(xs().collect::<Vec<_>>(), rows().collect::<Vec<_>>(), 0.5).unwrap();
    assert_eq!((sum, sums.to_vec()), wanted);
}

#[test]
fn a_result_is_an_iterator() {
    let f = compile(|xs: Seq<i64>| xs.filter(|x| (x % 3).equals(0)).map(|x| x * x)).unwrap();
    let wanted: Vec<i64> = (0..1000).filter(|x| x % 3 == 0).map(|x| x * x).collect();
    let all: Result<Vec<i64>, Error> = f.stream(feed(0..1000)).collect();
    assert_eq!(all.unwrap(), wanted);
    let all: Result<Vec<i64>, Error> = f.on(Cpu).stream(feed(0..1000)).collect();
    assert_eq!(all.unwrap(), wanted);
}

#[test]
fn whoever_has_enough_drops_the_rest() {
    let f = compile(|xs: Seq<i64>| xs.map(|x| x + 1)).unwrap().on(Cpu);
    let (count, numbers) = counted();
    let mut results = f.stream(feed(numbers));
    let first: Vec<i64> = results.by_ref().take(10).map(Result::unwrap).collect();
    assert_eq!(first, (1..=10).collect::<Vec<i64>>());
    drop(results);
    let begun = Instant::now();
    while Arc::strong_count(&count) > 1 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the iterator lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = count.load(Relaxed);
    assert!(seen < 50_000_000, "{seen}");
}

#[test]
fn an_error_comes_behind_the_results_of_what_was_before_it() {
    let f = compile(|xs: Seq<i64>| xs.map(|x| x * 10)).unwrap();
    let items = || (0..5).map(|i| if i < 3 { Ok(i) } else { Err("the pipe broke") });
    let mut results = f.on(Cpu).stream(feed_results(items()));
    for i in 0..3 {
        assert_eq!(results.next().unwrap().unwrap(), i * 10);
    }
    let e = results.next().unwrap().unwrap_err();
    assert!(e.to_string().contains("the pipe broke"), "{e}");
    assert!(results.next().is_none());
    assert!(f.call(feed_results(items())).is_err());
}

#[test]
fn an_element_that_fails_comes_behind_all_results_before_it() {
    let f = compile(|xs: Seq<i64>| xs.filter(|x| !(x % 3).equals(1)).map(|x| 1000 / x)).unwrap();
    let (items, wanted) = (|| (-500..500).collect::<Vec<i64>>(), (-500i64..0).filter(|x| x % 3 != 1));
    let wanted: Vec<i64> = wanted.map(|x| 1000 / x).collect();
    for chunk in [Some(1), Some(7), Some(64), Some(100_000), None] {
        for threads in [1, 2, 3] {
            let mut f = f.on(Cpu::threads(threads));
            if let Some(n) = chunk {
                f = f.chunk(n);
            }
            let mut results = f.stream(feed(items()));
            let before: Vec<i64> = results.by_ref().map_while(Result::ok).collect();
            assert_eq!(before, wanted, "{chunk:?}");
            assert!(results.next().is_none());
        }
    }
}

#[test]
fn elements_are_not_waited_for_when_there_are_some() {
    // The second element is not produced before the result of the first is consumed.
    let (tell, told) = std::sync::mpsc::channel();
    let f = compile(|xs: Seq<i64>| xs.map(|x| -x)).unwrap().on(Cpu);
    let slow = (0..3i64).inspect(move |i| {
        if *i > 0 {
            std::thread::sleep(Duration::from_millis(20));
            told.recv_timeout(Duration::from_secs(20)).expect("the result of the element before");
        }
    });
    let mut results = f.stream(feed(slow));
    assert_eq!(results.next().unwrap().unwrap(), 0);
    tell.send(()).unwrap();
    assert_eq!(results.next().unwrap().unwrap(), -1);
    tell.send(()).unwrap();
    assert_eq!(results.next().unwrap().unwrap(), -2);
    assert!(results.next().is_none());
}

#[test]
fn a_fault_of_the_program_has_its_place() {
    let at = line!();
    let f = compile(|xs: Seq<i64>| xs.map(|x| 12 / x)).unwrap().on(Cpu);
    let results: Vec<Result<i64, Error>> = f.stream(feed(vec![3, 0])).collect();
    let e = results.last().unwrap().as_ref().unwrap_err();
    assert_eq!(e.place(), Some((file!(), at + 1)));
}
