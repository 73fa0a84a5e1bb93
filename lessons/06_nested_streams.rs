//! Lesson 6: nested streams.
//!
//! Sequences nest to any depth, and the inner ones may have any lengths. This is the origin of Deckle: a program over streams of
//! streams, in the memory of one element at a time.

use deckle::prelude::*;

/// Ordinary Rust functions over handles compose programs.
fn logsum(n: Exp<i64>) -> Exp<f64> {
    count(1, n + 1).map(|i| i.cast::<f64>().ln()).sum()
}

fn is_letter(c: Exp<u8>) -> Exp<bool> {
    c.ge(b'a').and(|| c.le(b'z'))
}

/// The lesson.
pub fn main() -> Result<(), Error> {
    // For each n a sequence of n² logarithms: some short, some long, none of them in memory.
    let sums = compile(|n: Exp<i64>| count(1, n + 1).map(|i| logsum(i * i)).sum())?;
    let expected: f64 = (1..=6).map(|i| (1..=i * i).map(|k| f64::from(k).ln()).sum::<f64>()).sum();
    assert!((sums.call(6)? - expected).abs() < 1e-9);

    // `flatten` turns a sequence of sequences into one.
    let triangle = compile(|n: Exp<i64>| count(0, n).map(|i| count(0, i)).flatten().tab())?;
    assert_eq!(triangle.call(4)?.to_vec(), [0, 0, 1, 0, 1, 2]);

    // `flagpart` does the opposite: it splits a stream as it arrives. Each `false` takes an element, each `true` ends a piece. Here the
    // pieces are words; a text of any length is processed, a letter at a time.
    let words = compile(|text: Seq<u8>| {
        let letters = text.filter(is_letter);
        let ends = text.map(|c| !is_letter(c)).chain(only_if(constant(true), || true));
        letters.flagpart(ends).map(|word| word.count()).filter(|n| n.gt(0)).tab()
    })?;
    assert_eq!(words.call(b"one stream  of bytes".to_vec())?.to_vec(), [3, 6, 2, 5]);

    // Vectors inside sequences are the middle way: each is in memory while it is the current element. A stream of rows, each sorted.
    let medians = compile(|rows: Seq<Arr<f64>>| {
        rows.filter(|row| row.len().gt(0)).map(|row| row.sort().at(row.len() / 2)).tab()
    })?;
    assert_eq!(medians.call(vec![vec![3.0, 1.0, 2.0], vec![], vec![5.0]])?.to_vec(), [2.0, 5.0]);
    println!("{}", medians.program());
    Ok(())
}
