//! MD5 of words, and which of them has a given digest: a dictionary attack. The twin of `md5.dk`.
//!
//! Words have different lengths, so this is nested and ragged: each word is a vector, and its message is padded to a length of its own.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// The four words that a digest is made of.
type State = (Exp<u32>, Exp<u32>, Exp<u32>, Exp<u32>);

const START: (u32, u32, u32, u32) = (0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
const SHIFTS: [u32; 16] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

fn rotate(x: Exp<u32>, n: Exp<u32>) -> Exp<u32> {
    (x << n) | (x >> (32 - n))
}

/// The constants of the 64 steps are sines. What does not depend on a program's arguments is ordinary Rust.
fn sines() -> [u32; 64] {
    std::array::from_fn(|i| (((i + 1) as f64).sin().abs() * 4294967296.0) as u32)
}

/// The message with its padding: a one bit, zeros up to a multiple of 64 bytes, and the length in bits.
fn padded(word: Arr<u8>) -> Arr<u8> {
    let n = word.len();
    let total = (n + 8) / 64 * 64 + 64;
    let bits = (n * 8).cast::<u64>();
    let bits = |i: Exp<i64>| (bits >> (8 * (i - (total - 8))).cast::<u64>()).cast::<u8>();
    let zeros = |i: Exp<i64>| choose(i.ge(total - 8), || bits(i), || 0);
    let rest = |i: Exp<i64>| choose(i.equals(n), || constant(0x80), || zeros(i));
    generate(total, |i| choose(i.lt(n), || word.at(i), || rest(i)))
}

/// Four bytes as a number, the lowest first.
fn little(bytes: Arr<u8>, at: Exp<i64>) -> Exp<u32> {
    (1..4).fold(bytes.at(at).cast(), |x, k| x | (bytes.at(at + k).cast() << (8 * k as u32)))
}

/// How step `i` mixes three of the words, and which part of the block it takes.
fn mix(i: Exp<i64>, b: Exp<u32>, c: Exp<u32>, d: Exp<u32>) -> (Exp<u32>, Exp<i64>) {
    let late = || choose(i.lt(48), || (b ^ c ^ d, (3 * i + 5) % 16), || (c ^ (b | !d), 7 * i % 16));
    let later = || choose(i.lt(32), || ((d & b) | (!d & c), (5 * i + 1) % 16), late);
    choose(i.lt(16), || ((b & c) | (!b & d), i), later)
}

fn block(state: State, bytes: Arr<u8>, start: Exp<i64>) -> State {
    let (sines, shifts) = (constant_array(&sines()), constant_array(&SHIFTS));
    let (a, b, c, d) = repeat(64, state, |i, (a, b, c, d)| {
        let (f, g) = mix(i, b, c, d);
        let sum = a + f + sines.at(i) + little(bytes, start + 4 * g);
        (d, b + rotate(sum, shifts.at(i / 16 * 4 + i % 4)), b, c)
    });
    let (a0, b0, c0, d0) = state;
    (a0 + a, b0 + b, c0 + c, d0 + d)
}

fn bytes_of(x: Exp<u32>) -> Arr<u8> {
    array([0u32, 8, 16, 24].map(|k| (x >> k).cast::<u8>()))
}

fn md5(word: Arr<u8>) -> Arr<u8> {
    let message = padded(word);
    let start = constant(START).unpack();
    let (a, b, c, d) = repeat(message.len() / 64, start, |i, state| block(state, message, 64 * i));
    bytes_of(a).append(bytes_of(b)).append(bytes_of(c)).append(bytes_of(d))
}

/// Hexadecimal digits of bytes.
fn hex(bytes: Arr<u8>) -> Arr<u8> {
    let digits = constant_array(b"0123456789abcdef");
    bytes.map(|x| array([digits.at((x / 16).cast::<i64>()), digits.at((x % 16).cast::<i64>())])).flatten()
}

/// Builds the program: the digests of words.
pub fn program() -> Result<Compiled<(Arr<Arr<u8>>,), Arr<Arr<u8>>>, Error> {
    compile(|words: Arr<Arr<u8>>| words.map(|word| hex(md5(word))))
}

/// Builds the search for the words whose digest begins with the bytes given.
pub fn find() -> Result<Compiled<(Arr<Arr<u8>>, Arr<u8>), Arr<Arr<u8>>>, Error> {
    compile(|words: Arr<Arr<u8>>, digest: Arr<u8>| {
        words.filter(|word| {
            let begin = md5(word).take(digest.len());
            begin.stream().zip_with(digest.stream(), |x, y| x.equals(y)).all()
        })
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let words = |list: &[&str]| list.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>();
    for digest in program()?.call(words(&["abc", "message digest", "ragged", ""]))? {
        println!("{}", String::from_utf8_lossy(&digest));
    }
    for word in find()?.call(words(&["apple", "deckle", "paper"]), [0x2e, 0x4a, 0xc5, 0x26])? {
        println!("found {}", String::from_utf8_lossy(&word));
    }
    Ok(())
}
