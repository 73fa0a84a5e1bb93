//! The index of a text: every word, in alphabetical order, and the positions at which it begins. The twin of `index.dk`.

#![allow(clippy::type_complexity, clippy::manual_range_contains)] // `#[kernel]` translates comparisons.

use deckle::prelude::*;

#[kernel]
fn small(c: u8) -> u8 {
    if b'A' <= c && c <= b'Z' { c + 32 } else { c }
}

#[kernel]
fn is_letter(c: u8) -> bool {
    b'a' <= small(c) && small(c) <= b'z' || c == b'\''
}

/// Eight letters of a word as a number; where it has ended, zeros.
#[kernel]
fn letters(text: &[u8], begin: i64, end: i64) -> u64 {
    let mut all = 0;
    for k in 0..8 {
        let letter = if begin + k < end { small(text[(begin + k) as usize]) as u64 } else { 0 };
        all = all * 256 + letter;
    }
    all
}

/// For each word where it begins and ends.
fn words(text: Arr<u8>) -> Arr<(i64, i64)> {
    let inside = text.map(is_letter::kernel);
    let last = text.len() - 1;
    let begin = inside.imap(|i, is| is.and(|| i.equals(0).or(|| !inside.at(i - 1))));
    let end = inside.imap(|i, is| is.and(|| i.equals(last).or(|| !inside.at(i + 1))));
    iota(text.len()).compact(begin).zip(iota(text.len()).compact(end).map(|i| i + 1))
}

/// The words in order with their ranks: equal words have equal ranks.
fn ranked(text: Arr<u8>) -> Arr<(i64, i64, i64)> {
    let all = words(text).map(|w| pack((0i64, w.unpack().0, w.unpack().1)));
    let longest = all.map(|w| w.unpack().2 - w.unpack().1).fold(0, |a, b| a.max(b));
    repeat((longest + 7) / 8, all, |k, all| {
        let keyed = all.map(|w| {
            let (r, b, e) = w.unpack();
            pack((r, letters::kernel(text, b + 8 * k, e), b, e))
        });
        let sorted = keyed.sort_by_key(|w| pack((w.unpack().0, w.unpack().1)));
        let new = sorted.imap(|i, w| {
            let (before, (r, key, ..)) = (|| sorted.at(i - 1).unpack(), w.unpack());
            i.gt(0).and(|| before().0.differs(r).or(|| before().1.differs(key))).cast::<i64>()
        });
        new.scan_inclusive(|a, b| a + b).zip_with(sorted, |r, w| pack((r, w.unpack().2, w.unpack().3)))
    })
}

/// Builds the program.
pub fn program() -> Result<Compiled<(Arr<u8>,), Arr<Tup<(Arr<u8>, Arr<i64>)>>>, Error> {
    compile(|text: Arr<u8>| {
        ranked(text).group_by(|w| w.unpack().0).map(|group| {
            let (_, places) = group.unpack();
            let (_, b, e) = places.at(0).unpack();
            tup((text.slice(b, e).map(small::kernel), places.map(|w| w.unpack().1)))
        })
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    println!("{:?}", program()?.call(b"To be, or not to be".to_vec())?.to_vec());
    Ok(())
}
