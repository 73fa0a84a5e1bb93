//! Measures the runtime against its goals: dispatch in less than 5 µs, arrays without page faults, sorting faster than `std`.
//!
//! `cargo bench -p deckle-runtime [dispatch|pool|sort]`. The median of several runs each.

use deckle_runtime::sort::{Key, Segments, Sizes, argsort};
use deckle_runtime::{Pool, Team, cpu};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    println!("{} cores, {:?}", cpu::usable_cores(), cpu::caches());
    if wants("dispatch") {
        dispatch();
    }
    if wants("pool") {
        pool();
    }
    if wants("sort") {
        sort();
    }
}

/// Median seconds of `runs` calls, each after a `setup` that is not counted.
fn seconds<S>(runs: usize, mut setup: impl FnMut() -> S, mut f: impl FnMut(S)) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let state = setup();
            let start = Instant::now();
            f(state);
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[runs / 2]
}

fn dispatch() {
    for threads in [2, 3, 5] {
        let team = Team::new(threads);
        let empty = || team.run(2, &|_, _| ()).unwrap();
        let warm = seconds(20_000, || (), |()| empty());
        // Both must take part: the caller's task waits for the other one.
        let both = || {
            let inside = std::sync::atomic::AtomicUsize::new(0);
            team.run(2, &|_, _| {
                inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                while inside.load(std::sync::atomic::Ordering::SeqCst) < 2 {
                    std::hint::spin_loop();
                }
            })
            .unwrap();
        };
        let both = seconds(2000, || (), |()| both());
        let asleep = seconds(200, || std::thread::sleep(std::time::Duration::from_millis(1)), |()| empty());
        println!(
            "dispatch of 2 empty tasks, {threads} threads: {:.2} µs warm, {:.2} µs until the second thread answers, {:.2} µs after a sleep",
            1e6 * warm,
            1e6 * both,
            1e6 * asleep
        );
    }
}

fn pool() {
    let bytes = 64 << 20;
    let write = |b: &mut deckle_runtime::Buffer| b.get_mut::<u64>().unwrap().fill(black_box(1));
    let gib = |s: f64| bytes as f64 / s / (1u64 << 30) as f64;
    let fresh = seconds(9, Pool::default, |pool| write(&mut pool.alloc(bytes, "a").unwrap()));
    let pool = Pool::new(None);
    let reused = seconds(9, || (), |()| write(&mut pool.alloc(bytes, "a").unwrap()));
    let vec = seconds(9, || (), |()| drop(black_box(vec![black_box(1u64); bytes / 8])));
    println!("64 MiB written: {:.1} GiB/s fresh, {:.1} reused, {:.1} in a new Vec", gib(fresh), gib(reused), gib(vec));
    let small = seconds(2000, || (), |()| drop(black_box(pool.alloc(4096, "a"))));
    println!("4 KiB allocated and freed: {:.0} ns", 1e9 * small);
}

/// Compared with the obvious code using `std`: pairs of key and index, sorted by key. Both sides include the time to build the pairs and to
/// write the indices.
fn sort() {
    let n = 10_000_000;
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 32
    };
    let bits: Vec<u64> = (0..n).map(|_| random()).collect();
    let f64s: Vec<f64> = bits.iter().map(|&x| (x >> 11) as f64 / (1u64 << 53) as f64).collect();
    let u32s: Vec<u32> = bits.iter().map(|&x| (x >> 32) as u32).collect();
    let few: Vec<i64> = bits.iter().map(|&x| (x % 1000) as i64).collect();
    let ids: Vec<i64> = bits.iter().map(|&x| (x % n as u64) as i64).collect();
    let sorted: Vec<i64> = (0..n as i64).collect();
    let zipf: Vec<i64> = f64s.iter().map(|&x| (1.0 / (x + 1e-7)) as i64).collect();
    let whole = [0, n as i64];
    let tens: Vec<i64> = (0..=n as i64).step_by(10).collect();
    let thousands: Vec<i64> = (0..=n as i64).step_by(1000).collect();
    type Case<'a, K> = (&'a str, &'a [K], Key<'a>, &'a [i64]);
    fn case<K: Copy>((name, keys, key, offsets): Case<'_, K>, compare: fn(&K, &K) -> std::cmp::Ordering) {
        let n = keys.len();
        let pool = Pool::new(None);
        let mut order = vec![0i64; n];
        let std_time = seconds(
            1,
            || (),
            |()| {
                let mut pairs: Vec<(K, i64)> = keys.iter().copied().zip(0..).collect();
                for w in offsets.windows(2) {
                    pairs[w[0] as usize..w[1] as usize].sort_by(|a, b| compare(&a.0, &b.0));
                }
                order.iter_mut().zip(&pairs).for_each(|(o, p)| *o = p.1);
            },
        );
        let expected = order.clone();
        print!("sort {name}: std {:.1} ns/element", 1e9 * std_time / n as f64);
        let cores = cpu::usable_cores();
        for threads in if cores > 2 { vec![1, 2, cores] } else { vec![1, 2] } {
            let team = Team::new(threads);
            let time = seconds(
                3,
                || (),
                |()| {
                    argsort(&[key], Segments::Offsets(offsets), Sizes::default(), &team, &pool, &mut order).unwrap();
                },
            );
            print!("; {threads} threads {:.1} ({:.1}x)", 1e9 * time / n as f64, std_time / time);
        }
        assert!(order == expected);
        println!();
    }
    case(("f64 uniform", &f64s, Key::F64(&f64s), &whole), f64::total_cmp);
    case(("u64 uniform", &bits, Key::U64(&bits), &whole), u64::cmp);
    case(("u32 uniform", &u32s, Key::U32(&u32s), &whole), u32::cmp);
    case(("i64 below n", &ids, Key::I64(&ids), &whole), i64::cmp);
    case(("i64 below 1000", &few, Key::I64(&few), &whole), i64::cmp);
    case(("i64 Zipf", &zipf, Key::I64(&zipf), &whole), i64::cmp);
    case(("i64 in order", &sorted, Key::I64(&sorted), &whole), i64::cmp);
    case(("f64 in segments of 1000", &f64s, Key::F64(&f64s), &thousands), f64::total_cmp);
    case(("f64 in segments of 10", &f64s, Key::F64(&f64s), &tens), f64::total_cmp);
    case(("i64 below n in segments of 10", &ids, Key::I64(&ids), &tens), i64::cmp);
}
