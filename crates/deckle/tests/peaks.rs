//! The peak memory of a process that calls a program: at most its data, 10 % more, and 64 MiB, which include the compiler.
//!
//! Each case runs in a process of its own, which is this test again: its peak is known at its end (`VmHWM`).
#![cfg(target_os = "linux")]

use deckle::prelude::*;
use std::process::Command;

/// The number of four-byte numbers.
const N: usize = 40_000_000;
/// The length of each row of a ragged array.
const ROW: usize = 16;
const WHAT: &str = "DECKLE_PEAK_OF";

/// The names of the cases, and the bytes of data of each, arguments and results.
const CASES: [(&str, usize); 4] =
    [("moved", 4 * N), ("lent", 4 * N), ("new", 8 * N), ("ragged", 4 * N + 2 * 8 * (N / ROW + 1))];

fn numbers() -> Vec<f32> {
    (0..N).map(|i| (i % 1000) as f32).collect()
}

fn run(case: &str) {
    let halved = || compile(|xs: Arr<f32>| xs.map(|x| x * 0.5)).unwrap();
    let is_half = |ys: &[f32]| (0..N).step_by(1001).all(|i| ys[i] == (i % 1000) as f32 * 0.5);
    match case {
        "moved" => assert!(is_half(halved().call(numbers()).unwrap().as_slice())),
        "lent" => {
            let most = compile(|xs: Arr<f32>| xs.fold(0.0, |a, b| a.max(b))).unwrap();
            let xs = numbers();
            assert_eq!(most.call(&xs).unwrap(), 999.0);
        }
        "new" => {
            let xs = numbers();
            assert!(is_half(halved().call(&xs).unwrap().as_slice()));
        }
        _ => {
            let offsets = (0..=N / ROW).map(|i| (i * ROW) as i64).collect();
            let rows = Ragged::new(offsets, numbers()).unwrap();
            let sums = compile(|rows: Arr<Arr<f32>>| rows.map(|row| row.sum())).unwrap();
            assert_eq!(sums.call(&rows).unwrap().as_slice()[0], (0..ROW).sum::<usize>() as f32);
        }
    }
}

/// Not a test: the body of a process.
#[test]
fn in_a_process_of_its_own() {
    let Ok(case) = std::env::var(WHAT) else { return };
    run(&case);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    println!("held {peak}");
}

#[test]
fn a_call_holds_its_data_and_little_more() {
    for (case, data) in CASES {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "in_a_process_of_its_own", "--nocapture", "--test-threads=1"]);
        let output = command.env(WHAT, case).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{case}: {said}{}", String::from_utf8_lossy(&output.stderr));
        let held = said.lines().find_map(|l| l.split_once("held ")).unwrap_or_else(|| panic!("{said}")).1;
        let held = held.trim().parse::<usize>().unwrap() << 10;
        let most = data + data / 10 + (64 << 20);
        assert!(held <= most, "{case}: {} MiB for {} MiB of data", held >> 20, data >> 20);
    }
}
