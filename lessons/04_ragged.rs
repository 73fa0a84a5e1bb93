//! Lesson 4: ragged data.
//!
//! A sparse matrix is a vector of rows, and a row is a vector of entries, each a column and a value. It needs nothing else.

use deckle::prelude::*;

/// The lesson.
pub fn main() -> Result<(), Error> {
    // `Arr<Arr<T>>` is a vector of vectors of any lengths. Inside `map`, a row is an ordinary vector.
    let mean = compile(|rows: Arr<Arr<f64>>| {
        rows.map(|row| choose(row.len().equals(0), || f64::NAN, || row.sum() / row.len().cast::<f64>()))
    })?;
    let means = mean.call(vec![vec![1.0, 2.0, 3.0], vec![], vec![10.0]])?;
    assert_eq!(means.as_slice()[0], 2.0);
    assert!(means.as_slice()[1].is_nan());

    // External data is usually flat, with offsets. `split_offsets` makes rows of it without moving anything.
    let spmv = compile(|off: Arr<i64>, col: Arr<i64>, val: Arr<f64>, x: Arr<f64>| {
        col.zip(val).split_offsets(off).map(|row| {
            row.map(|entry| {
                let (j, v) = entry.unpack();
                v * x.at(j)
            })
            .sum()
        })
    })?;
    // 7 0 0
    // 0 0 0    times (1, 10, 100)
    // 0 2 3
    let y = spmv.call([0, 1, 1, 3], [0, 1, 2], [7.0, 2.0, 3.0], [1.0, 10.0, 100.0])?;
    assert_eq!(y.to_vec(), [7.0, 0.0, 320.0]);

    // `expand` is the other way to create ragged data: each element is replaced by any number of elements. Examples are the edges of a triangle mesh's
    // fans, or the multiples of each prime. Together with `scatter` it is a sieve.
    let composite = compile(|n: Exp<i64>, primes: Arr<i64>| {
        let multiples = primes.expand(|p| (n - 1) / p - 1, |p, i| p * (i + 2));
        fill(false, n).scatter(multiples, fill(true, multiples.len()))
    })?;
    let flags = composite.call(30, [2, 3, 5])?;
    let primes: Vec<usize> = (2..30).filter(|i| !flags.as_slice()[*i]).collect();
    assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);

    // Invalid data is detected: offsets beyond the data, a column that does not exist.
    assert!(spmv.call([0, 9], [0], [7.0], [1.0]).is_err());
    println!("{}", spmv.call([0, 1], [5], [7.0], [1.0]).unwrap_err());
    Ok(())
}
