//! Measures what the runtime promises: dispatch in less than 5 µs, arrays without page faults, sorting faster than `std`.
//!
//! `cargo bench -p deckle-runtime [dispatch|pool|sort]`. The median of several runs each.

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
    for threads in [1, 2, 3, 5] {
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
        let both = if threads == 1 { f64::NAN } else { seconds(2000, || (), |()| both()) };
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
