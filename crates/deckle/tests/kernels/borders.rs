//! Integer operators at the borders of their types, as Rust computes them without overflow checks; sizes beyond 2^63.

use crate::agree::{Random, interp};
use deckle::prelude::*;

/// Compares arithmetic of one type with its wrapping form on generated operands around the borders of the type.
macro_rules! borders {
    ($($t:ident)*) => {$({
        #[kernel]
        fn arithmetic(x: $t, y: $t) -> ($t, $t, $t) {
            (x + y, x - y, x * y)
        }
        #[kernel]
        fn shifts(x: $t, n: u32) -> ($t, $t) {
            (x << n, x >> n)
        }
        #[kernel]
        fn quotients(x: $t, y: $t) -> ($t, $t) {
            if y == 0 { (0, 0) } else { (x / y, x % y) }
        }
        let mut r = Random::new(7);
        let ends = [$t::MIN, $t::MAX, 0, $t::MAX / 2, 1 << ($t::BITS - 1)];
        let mut near = || {
            let end = ends[(r.next() % 5) as usize];
            if r.next() % 4 == 0 { r.next() as $t } else { end.wrapping_add((r.next() % 5) as $t).wrapping_sub(2) }
        };
        let xs: Vec<$t> = (0..400).map(|_| near()).collect();
        let ys: Vec<$t> = (0..400).map(|_| near()).collect();
        let ns: Vec<u32> = (0..400).map(|k| k % 70).collect();
        let all = |x: &[$t], y: &[$t]| x.iter().zip(y).map(|(x, y)| (x.wrapping_add(*y), x.wrapping_sub(*y), x.wrapping_mul(*y))).collect::<Vec<_>>();
        let f = compile(|x: Arr<$t>, y: Arr<$t>| x.zip_with(y, arithmetic::kernel)).unwrap();
        assert_eq!(f.call(&xs, &ys).unwrap().to_vec(), all(&xs, &ys));
        assert_eq!(f.on(interp()).call(&xs, &ys).unwrap().to_vec(), all(&xs, &ys));
        let f = compile(|x: Arr<$t>, n: Arr<u32>| x.zip_with(n, shifts::kernel)).unwrap();
        let expected: Vec<_> = xs.iter().zip(&ns).map(|(x, n)| (x.wrapping_shl(*n), x.wrapping_shr(*n))).collect();
        assert_eq!(f.call(&xs, &ns).unwrap().to_vec(), expected);
        assert_eq!(f.on(interp()).call(&xs, &ns).unwrap().to_vec(), expected);
        let f = compile(|x: Arr<$t>, y: Arr<$t>| x.zip_with(y, quotients::kernel)).unwrap();
        let one = |x: $t, y: $t| if y == 0 { (0, 0) } else { (x.wrapping_div(y), x.wrapping_rem(y)) };
        let expected: Vec<_> = xs.iter().zip(&ys).map(|(x, y)| one(*x, *y)).collect();
        assert_eq!(f.call(&xs, &ys).unwrap().to_vec(), expected);
        assert_eq!(f.on(interp()).call(&xs, &ys).unwrap().to_vec(), expected);
    })*};
}

#[test]
fn signed_integers_wrap() {
    borders! { i8 i16 i32 i64 }
}

#[test]
fn unsigned_integers_wrap() {
    borders! { u8 u16 u32 u64 }
}

#[kernel]
fn inside(x: i32, n: usize) -> bool {
    (x as usize) < n
}

#[kernel]
fn halves(x: i64) -> (usize, u64, f64) {
    let huge = x as usize;
    (huge / 2, huge as u64 >> 1, huge as f64)
}

#[kernel]
fn is_none(x: usize) -> bool {
    x == usize::MAX || x > usize::MAX - 2
}

#[test]
fn sizes_converted_from_negative_numbers_are_huge() {
    let xs: Vec<i32> = (-5..5).collect();
    let f = compile(|xs: Arr<i32>| xs.map(|x| inside::kernel(x, 3usize))).unwrap();
    assert_eq!(f.call(&xs).unwrap().to_vec(), xs.iter().map(|x| inside(*x, 3)).collect::<Vec<_>>());
    let ys = [-1, i64::MIN, 7, i64::MAX];
    let f = compile(|ys: Arr<i64>| ys.map(halves::kernel)).unwrap();
    assert_eq!(f.call(ys).unwrap().to_vec(), ys.map(halves));
    let f = compile(|xs: Arr<usize>| xs.map(is_none::kernel)).unwrap();
    assert_eq!(f.call([3, usize::MAX]).unwrap().to_vec(), [3, usize::MAX].map(is_none));
}
