//! The same program on every backend: results, errors with their places, and calls from several threads.

use deckle::prelude::*;
use deckle::{Backend, Hosted};

/// Runs something on every backend; all results must agree.
macro_rules! everywhere {
    ($program:expr, $($arg:expr),*) => {{
        let program = $program;
        let reference = program.on(Interp).call($($arg.clone()),*);
        assert_eq!(program.on(Seq).call($($arg.clone()),*), reference);
        assert_eq!(program.on(Cpu).call($($arg.clone()),*), reference);
        assert_eq!(program.on(Cpu::threads(3)).call($($arg.clone()),*), reference);
        reference
    }};
}

#[test]
fn results_are_the_same() {
    let total = compile(|xs: Arr<i64>| xs.map(|x| x * x % 7).sum()).unwrap();
    let many: Vec<i64> = (0..200_000).collect();
    assert_eq!(everywhere!(&total, many), Ok(many.iter().map(|x| x * x % 7).sum()));
    let rows = compile(|rows: Arr<Arr<i64>>| rows.map(|row| row.sum())).unwrap();
    let jagged = vec![vec![1, 2], vec![], vec![3]];
    assert_eq!(everywhere!(&rows, jagged).unwrap().to_vec(), [3, 0, 3]);
    let pair = compile(|xs: Arr<i64>, n: Exp<i64>| (xs.sort(), xs.stream().map(|x| x + n))).unwrap();
    let (sorted, moved) = everywhere!(&pair, [3i64, 1, 2], 10i64).unwrap();
    assert_eq!((sorted.to_vec(), moved), (vec![1, 2, 3], vec![13, 11, 12]));
}

#[test]
fn errors_have_the_place_in_the_source() {
    let pick = compile(|xs: Arr<i64>, i: Exp<i64>| xs.map(|x| x + xs.at(i))).unwrap();
    let on_interp = pick.on(Interp).call([1, 2], 5).unwrap_err();
    let place = on_interp.place().unwrap();
    assert!(place.0.ends_with("backends.rs"));
    for error in [pick.on(Seq).call([1, 2], 5), pick.on(Cpu).call([1, 2], 5)].map(Result::unwrap_err) {
        assert_eq!(error.place(), Some(place));
        assert!(error.to_string().contains("index 5 is out of range for an array of 2 elements"), "{error}");
    }
    // Arguments are checked before anything runs.
    let both = compile(|xs: Arr<i64>, ys: Arr<i64>| xs.zip_with(ys, |x, y| x * y)).unwrap();
    assert!(both.on(Cpu).call([1, 2], [1]).is_err());
}

#[test]
fn a_program_may_be_called_from_many_threads() {
    let total = compile(|n: Exp<i64>| count_to(n).map(|x| x % 5).sum()).unwrap().on(Cpu);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let total = &total;
            scope.spawn(move || {
                let n = 10_000 * n;
                assert_eq!(total.call(n), Ok((0..n).map(|x| x % 5).sum()));
            });
        }
    });
}

/// A function can be written for any backend.
fn twice<B: Backend>(f: &Compiled<(Exp<i64>,), Exp<i64>>, on: B) -> i64
where
    Exp<i64>: Hosted<Host = i64>,
{
    f.on(on).call(21).unwrap()
}

#[test]
fn backends_are_values_of_one_trait() {
    let double = compile(|x: Exp<i64>| x * 2).unwrap();
    assert_eq!([twice(&double, Interp), twice(&double, Seq), twice(&double, Cpu)], [42; 3]);
}

#[test]
fn one_word_moves_a_computation() {
    #[kernel]
    fn shifted(x: f64, by: f64) -> f64 {
        if x > 0.0 { x + by } else { x - by }
    }
    let xs = vec![1.0, -2.0, 3.0];
    let program = |xs: Arr<f64>, by: Exp<f64>| xs.map(|x| shifted::kernel(x, by));
    let expected: Vec<f64> = xs.iter().map(|x| shifted(*x, 0.5)).collect();
    assert_eq!(compute((&xs, 0.5), program).on(Seq).unwrap().to_vec(), expected);
    assert_eq!(compute((&xs, 0.5), program).on(Cpu).unwrap().to_vec(), expected);
    assert_eq!(compute((&xs, 0.5), program).on(Interp).unwrap().to_vec(), expected);
    let kept = compute((xs, 0.5), program).keep_on(Cpu).unwrap();
    assert_eq!(compute(&kept, |xs: Arr<f64>| xs.sum()).on(Cpu).unwrap(), expected.iter().sum());
    assert_eq!(compute((), || iota(3).sum()).on(Cpu).unwrap(), 3);
    assert!(compute([1, 2], |xs: Arr<i64>| xs.at(7)).on(Cpu).unwrap_err().to_string().contains("D0301"));
}
