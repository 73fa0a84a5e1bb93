//! Lesson 5: sequences.
//!
//! A vector is entirely in memory. A sequence is not: it is produced, consumed and discarded, an element (or a chunk) at a time. The type shows
//! which one you have, so the source shows how much memory a program needs.

use deckle::prelude::*;

/// The lesson.
pub fn main() -> Result<(), Error> {
    // `count` is a sequence of integers. Nothing here is ever stored, for any n: it is one loop with an accumulator.
    let logsum = compile(|n: Exp<i64>| count(1, n + 1).map(|i| i.cast::<f64>().ln()).sum())?;
    assert!((logsum.call(10)? - 3628800f64.ln()).abs() < 1e-9);
    println!("{}", logsum.program());

    // `stream` turns a vector into a sequence, `tab` a sequence into a vector: these two decide what is in memory.
    let evens = compile(|xs: Arr<i64>| xs.stream().map(|x| x * x).filter(|x| (x % 2).equals(0)).tab())?;
    assert_eq!(evens.call([1, 2, 3, 4])?.to_vec(), [4, 16]);

    // Several results of one traversal: zip a sequence with a scan of it. Number the elements by scanning ones.
    let number = compile(|s: Seq<f64>| {
        let positions = s.map(|_| 1).scan(0, |a, b| a + b);
        s.zip_with(positions, |x, i| x * i.cast::<f64>()).tab()
    })?;
    assert_eq!(number.call(vec![5.0, 6.0, 7.0])?.to_vec(), [0.0, 6.0, 14.0]);

    // The function of a `fold` or `scan` is associative: elements are combined in groups. Filters and automata instead have a state, of a type of its own,
    // which is updated by one element after another.
    let smooth = compile(|s: Seq<f64>| s.scan_ordered(0.0, |state, x| state + 0.5 * (x - state)))?;
    assert_eq!(smooth.call([1.0, 2.0, 3.0])?, [0.5, 1.25, 2.125]);

    // A sequence is traversed once. A closure that runs for every element of another sequence would traverse it repeatedly, so
    // it must not use one from outside; this is an error before anything runs.
    let refused = compile(|s: Seq<i64>, t: Seq<i64>| s.map(|x| x * t.sum()).tab());
    println!("{}", refused.unwrap_err());
    // It may use a vector, or a single number: computing it outside of the closure makes the choice explicit.
    let fine = compile(|s: Seq<i64>, t: Seq<i64>| {
        let total = t.sum();
        s.map(|x| x * total).tab()
    })?;
    assert_eq!(fine.call(vec![1, 2], vec![10, 20])?.to_vec(), [30, 60]);
    Ok(())
}
