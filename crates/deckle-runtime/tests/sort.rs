//! Sorting against `std`'s stable sort under the order of the reference interpreter.

use deckle_ir::scalar::Scalar;
use deckle_ir::scalar_eval::compare_scalars;
use deckle_runtime::sort::{Key, Segments, Sizes, argsort, group_flags};
use deckle_runtime::{Pool, Team};
use std::cmp::Ordering;

/// A small random generator: the tests need variety, and the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn scalar(key: &Key<'_>, i: i64) -> Scalar {
    let i = i as usize;
    match key {
        Key::Bool(x) => Scalar::Bool(x[i] != 0),
        Key::I8(x) => Scalar::I8(x[i]),
        Key::I16(x) => Scalar::I16(x[i]),
        Key::I32(x) => Scalar::I32(x[i]),
        Key::I64(x) => Scalar::I64(x[i]),
        Key::U8(x) => Scalar::U8(x[i]),
        Key::U16(x) => Scalar::U16(x[i]),
        Key::U32(x) => Scalar::U32(x[i]),
        Key::U64(x) => Scalar::U64(x[i]),
        Key::F32(x) => Scalar::F32(x[i]),
        Key::F64(x) => Scalar::F64(x[i]),
    }
}

fn compare(keys: &[Key<'_>], a: i64, b: i64) -> Ordering {
    keys.iter().map(|k| compare_scalars(scalar(k, a), scalar(k, b))).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn check(keys: &[Key<'_>], n: usize, offsets: Option<&[i64]>, teams: &[Team], pool: &Pool) {
    let segments = offsets.map_or(Segments::Whole, Segments::Offsets);
    let whole = [0, n as i64];
    let mut expected: Vec<i64> = (0..n as i64).collect();
    let mut flags = vec![0u8; n];
    for w in offsets.unwrap_or(&whole).windows(2) {
        let range = w[0] as usize..w[1] as usize;
        let run = &mut expected[range.clone()];
        run.sort_by(|&a, &b| compare(keys, a, b));
        for p in range.clone() {
            let starts = p == range.start || compare(keys, expected[p - 1], expected[p]).is_ne();
            flags[p] = u8::from(starts);
        }
    }
    // Small ones reach all paths with few elements.
    let sizes = [Sizes::default(), Sizes { block: 2, small: 3 }, Sizes { block: 1, small: 0 }];
    let sizes = if n <= 3000 { &sizes[..] } else { &sizes[..1] };
    for (team, sizes) in teams.iter().flat_map(|team| sizes.iter().map(move |sizes| (team, *sizes))) {
        let mut order = vec![-1; n];
        argsort(keys, segments, sizes, team, pool, &mut order).unwrap();
        assert!(order == expected, "{n} elements, {} threads, {sizes:?}, {offsets:?}", team.threads());
        let mut found = vec![9; n];
        let groups = group_flags(keys, segments, &order, sizes, team, &mut found).unwrap();
        assert!(found == flags && groups == flags.iter().filter(|&&f| f != 0).count());
    }
}

fn teams() -> Vec<Team> {
    [1, 2, 5].map(Team::new).into()
}

/// Scaled down where every step is checked.
fn size(n: usize) -> usize {
    if cfg!(miri) { n.min(300) } else { n }
}

/// Bits of all kinds: dense, spread, few different, sorted.
fn columns(random: &mut Random, n: usize) -> [Vec<u64>; 5] {
    let few = random.below(20) as u64 + 1;
    let mut sorted: Vec<u64> = (0..n).map(|_| random.next()).collect();
    sorted.sort();
    [
        (0..n).map(|_| random.next()).collect(),
        (0..n).map(|_| random.next() % few).collect(),
        (0..n).map(|_| random.next() >> random.below(64)).collect(),
        vec![random.next(); n],
        sorted,
    ]
}

#[test]
fn every_type_is_sorted_as_the_interpreter_does() {
    let (mut random, pool, teams) = (Random(1), Pool::new(None), teams());
    for n in [0, 1, 2, 20, 257, size(1000)] {
        for bits in columns(&mut random, n) {
            macro_rules! check_as {
                ($($variant:ident $t:ty),*) => { $({
                    let column: Vec<$t> = bits.iter().map(|&x| x as $t).collect();
                    check(&[Key::$variant(&column)], n, None, &teams, &pool);
                })* };
            }
            check_as!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64);
            let bools: Vec<u8> = bits.iter().map(|&x| (x % 2) as u8).collect();
            check(&[Key::Bool(&bools)], n, None, &teams, &pool);
        }
    }
}

fn special_floats(random: &mut Random, n: usize) -> Vec<f64> {
    let special = [f64::NAN, -f64::NAN, 0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX];
    let any = |r: &mut Random| f64::from_bits(r.next());
    (0..n).map(|_| if random.below(3) == 0 { any(random) } else { special[random.below(special.len())] }).collect()
}

#[test]
fn floats_with_nans_and_zeros() {
    let (mut random, pool, teams) = (Random(2), Pool::new(None), teams());
    for n in [10, 300, size(5000)] {
        let f64s = special_floats(&mut random, n);
        let f32s: Vec<f32> = f64s.iter().map(|&x| x as f32).collect();
        check(&[Key::F64(&f64s)], n, None, &teams, &pool);
        check(&[Key::F32(&f32s)], n, None, &teams, &pool);
        check(&[Key::F32(&f32s), Key::F64(&f64s)], n, None, &teams, &pool);
    }
}

#[test]
fn components_count_from_the_first() {
    let (mut random, pool, teams) = (Random(3), Pool::new(None), teams());
    for round in 0..if cfg!(miri) { 3 } else { 60 } {
        let n = random.below(size(3000));
        let [wide, few, spread, same, sorted] = columns(&mut random, n);
        let few: Vec<i32> = few.iter().map(|&x| x as i32 - 3).collect();
        let few2: Vec<u8> = wide.iter().map(|&x| (x % 3) as u8).collect();
        let spread: Vec<f64> = spread.iter().map(|&x| x as f64).collect();
        let keys =
            [Key::I32(&few), Key::U8(&few2), Key::F64(&spread), Key::U64(&same), Key::U64(&wide), Key::U64(&sorted)];
        // Any order of any of them.
        let mut chosen: Vec<Key<'_>> = keys.iter().filter(|_| random.below(2) == 0).copied().collect();
        if !chosen.is_empty() {
            let by = random.below(chosen.len());
            chosen.rotate_left(by);
        }
        let cuts = random_offsets(&mut random, n, 1 + round);
        check(&chosen, n, None, &teams, &pool);
        check(&chosen, n, Some(&cuts), &teams, &pool);
    }
}

fn random_offsets(random: &mut Random, n: usize, segments: usize) -> Vec<i64> {
    let mut cuts: Vec<i64> = (1..segments).map(|_| random.below(n + 1) as i64).collect();
    cuts.extend([0, n as i64]);
    cuts.sort();
    cuts
}

#[test]
fn many_tiny_and_few_huge_segments() {
    let (mut random, pool, teams) = (Random(4), Pool::new(None), teams());
    let n = size(400_000);
    for kind in 0..2 {
        let keys: Vec<u64> = (0..n).map(|_| if kind == 0 { random.next() } else { random.next() % 1000 }).collect();
        for segments in [1, 3, size(150_000)] {
            let offsets = random_offsets(&mut random, n, segments);
            check(&[Key::U64(&keys)], n, Some(&offsets), &teams, &pool);
        }
        // Huge ones between tiny and empty ones.
        let mut offsets: Vec<i64> = (0..50).chain(0..50).collect();
        offsets.extend([n as i64 / 2, n as i64 - 60, n as i64 - 60]);
        offsets.extend(n as i64 - 50..=n as i64);
        offsets.sort();
        check(&[Key::U64(&keys)], n, Some(&offsets), &teams, &pool);
    }
}

#[test]
fn one_huge_segment_of_every_shape() {
    let (mut random, pool, teams) = (Random(5), Pool::new(None), teams());
    let n = size(500_000);
    let shapes = columns(&mut random, n);
    for bits in &shapes {
        check(&[Key::U64(bits)], n, None, &teams, &pool);
    }
    let reversed: Vec<i64> = (0..n as i64).rev().collect();
    check(&[Key::I64(&reversed)], n, None, &teams, &pool);
    let uniform: Vec<f64> = (0..n).map(|_| (random.next() >> 11) as f64 / (1u64 << 53) as f64).collect();
    check(&[Key::F64(&uniform)], n, None, &teams, &pool);
    // Two words, both of them wide, and one that is nearly always the same.
    let mut nearly = vec![7u64; n];
    nearly[n / 3] = u64::MAX;
    check(&[Key::U64(&nearly), Key::F64(&uniform)], n, None, &teams, &pool);
}

#[test]
fn all_equal_and_no_keys_keep_their_order() {
    let (pool, teams) = (Pool::new(None), teams());
    let n = size(100_000);
    check(&[], n, None, &teams, &pool);
    check(&[Key::F64(&vec![f64::NAN; n])], n, None, &teams, &pool);
    check(&[Key::I8(&[])], 0, Some(&[0, 0, 0]), &teams, &pool);
    check(&[Key::I8(&[])], 0, Some(&[0]), &teams, &pool);
}
