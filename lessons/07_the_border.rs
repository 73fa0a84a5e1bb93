//! Lesson 7: the border.
//!
//! A compiled program runs at the speed of memory. Its arguments and results cross the border between host and program; this lesson shows what that costs, and when it is free.

use deckle::prelude::*;

/// A measurement: a record of the language and a struct of Rust.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Reading {
    seconds: f64,
    celsius: f32,
    valid: bool,
}

/// The lesson.
pub fn main() -> Result<(), Error> {
    // Programs run on all cores, `Cpu`, by default. `on` selects another backend; the result has the same bits on any number of threads.
    let dot = compile(|xs: Arr<f64>, ys: Arr<f64>| xs.zip_with(ys, |x, y| x * y).sum())?;
    let (xs, ys) = (vec![0.5; 100_000], vec![2.0; 100_000]);
    let all = dot.call(&xs, &ys)?;
    assert_eq!(all, dot.on(Cpu::threads(2)).call(&xs, &ys)?);
    assert_eq!(all, dot.on(deckle::Seq).call(&xs, &ys)?);

    // Borrowed data is lent until the call returns, and nothing is copied: `&xs` above is free. Owned data is given away. The program may compute its result in that
    // memory, and here it does: the result is the vector that was passed.
    let twice = compile(|xs: Arr<f64>| xs.map(|x| x * 2.0))?;
    let mut data = Vec::with_capacity(100_016);
    data.extend_from_slice(&xs);
    let place = data.as_ptr();
    let doubled = twice.call(data)?.into_vec();
    assert_eq!((doubled[0], doubled.as_ptr()), (1.0, place));

    // Ragged data is offsets and elements: two arrays, whatever the number of rows. The offsets are read once, to validate them. A `Vec<Vec<_>>` is accepted too, and
    // copied into one array, row by row.
    let means = compile(|rows: Arr<Arr<f64>>| rows.map(|row| row.sum() / row.len().cast::<f64>()))?;
    let rows = Ragged::new(vec![0, 2, 3], vec![1.0, 3.0, 10.0])?;
    assert_eq!(means.call(&rows)?.to_vec(), [2.0, 10.0]);
    assert_eq!(means.call(vec![vec![1.0, 3.0], vec![10.0]])?.to_vec(), [2.0, 10.0]);

    // Structs are split into a column for each field, in one pass, and reassembled: some nanoseconds each.
    let warm = compile(|rs: Arr<Reading>| rs.filter(|r| r.valid() & r.celsius().gt(20.0)))?;
    let reading = |k: i32| Reading { seconds: f64::from(k), celsius: 18.0 + k as f32, valid: k != 3 };
    assert_eq!(warm.call((0..5).map(reading).collect::<Vec<_>>())?.to_vec(), [reading(4)]);

    // A sequence need not be in memory. `feed` takes any iterator, which may borrow, and reads it ahead of the program on a thread of its own.
    let hottest = compile(|rs: Seq<Reading>| rs.map(|r| r.celsius()).fold(f32::MIN, |a, b| a.max(b)))?;
    let many: Vec<Reading> = (0..1000).map(|k| reading(k % 7)).collect();
    assert_eq!(hottest.call(feed(many.iter().copied()))?, 24.0);

    // A result that is a sequence is returned while it is computed: one element at a time, or in blocks, which is cheaper.
    let kelvin = compile(|rs: Seq<Reading>| rs.map(|r| r.celsius() + 273.15))?;
    let (mut results, mut sum) = (kelvin.stream(feed(many)), 0.0);
    while let Some(block) = results.next_block() {
        sum += block?.into_iter().map(f64::from).sum::<f64>();
    }
    println!("{:.1} K", sum / 1000.0);

    // Results that one program passes to the next need not cross at all: `keep` leaves a result in the engine, and it is an argument of the next call.
    let kept = twice.keep(xs)?;
    assert_eq!(dot.call(&kept, &ys)?, 2.0 * all);

    // A program may have limits of its own. Exceeding them is an error that names the array; the process is not killed.
    let sorted = compile(|n: Exp<i64>| iota(n).map(|x| x * x % 1009).sort())?.memory(1 << 20);
    println!("{}", sorted.call(1_000_000).unwrap_err());

    // Errors on the way are not lost. An error of the iterator is the source of the error of the call, and follows the results of the elements before it.
    let lines = ["1", "2", "three"].map(|line| line.parse::<i64>());
    let total = compile(|xs: Seq<i64>| xs.sum())?;
    let failed = total.call(feed_results(lines)).unwrap_err();
    println!("{failed}\n{:?}", std::error::Error::source(&failed));
    Ok(())
}
