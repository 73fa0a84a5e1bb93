//! Running programs: values are converted exactly, and run-time errors have a place.

use deckle::prelude::*;

/// The code of a failed run, and its line in this file.
fn blame<T: std::fmt::Debug>(result: Result<T, Error>) -> (String, u32) {
    let e = result.unwrap_err();
    let Fault::Run(d) = e.fault() else { panic!("{e}") };
    let (file, line) = e.place().unwrap_or_else(|| panic!("no place: {e}"));
    assert_eq!(file, file!());
    assert!(e.to_string().contains(&format!("{file}:{line}")), "{e}");
    let text = format!("{:?}", d.code);
    (text, line)
}

#[test]
fn faults_of_a_run_name_the_line() {
    let at = line!();
    let index = compile(|xs: Arr<i64>, i: Exp<i64>| xs.at(i)).unwrap();
    assert_eq!(blame(index.call([1, 2], 2)), ("IndexRange".into(), at + 1));
    assert_eq!(blame(index.call([1, 2], -1)), ("IndexRange".into(), at + 1));
    let size = compile(|n: Exp<i64>| iota(n)).unwrap();
    assert_eq!(blame(size.call(-1)), ("BadSize".into(), at + 4));
    let div = compile(|x: Exp<i64>| 1 / x).unwrap();
    assert_eq!(blame(div.call(0)), ("DivideByZero".into(), at + 6));
    let zip = compile(|xs: Arr<i64>, ys: Arr<i64>| xs.zip_with(ys, |x, y| x + y)).unwrap();
    assert_eq!(blame(zip.call([1], [])), ("LengthMismatch".into(), at + 8));
    let empty = compile(|xs: Arr<i64>| xs.max()).unwrap();
    assert_eq!(blame(empty.call([])), ("Empty".into(), at + 10));
    let jagged = compile(|xs: Arr<Arr<i64>>| xs.regular()).unwrap();
    assert_eq!(blame(jagged.call(vec![vec![1], vec![]])), ("NotRegular".into(), at + 12));
    let the = compile(|s: Seq<i64>| s.the()).unwrap();
    assert_eq!(blame(the.call(vec![])), ("NotSingleton".into(), at + 14));
    let split = compile(|xs: Arr<i64>, ls: Arr<i64>| xs.split(ls)).unwrap();
    assert_eq!(blame(split.call([1, 2], [1])), ("BadSegments".into(), at + 16));
}

#[test]
fn faults_inside_derived_operators_are_blamed_on_their_use() {
    let at = line!();
    let gather = compile(|xs: Arr<i64>, is: Arr<i64>| xs.gather(is)).unwrap();
    assert_eq!(blame(gather.call([1], [3])), ("IndexRange".into(), at + 1));
    let deep = compile(|a: Arr<i64, D3>| a.map(|x| x).fold1(|a, b| a + b)).unwrap();
    assert_eq!(blame(deep.call(Array::new(&[1, 1, 0], vec![]).unwrap())), ("Empty".into(), at + 3));
}

#[test]
fn arguments_that_do_not_fit_are_errors() {
    let e = Array::<i64, D2>::from_rows(vec![vec![1], vec![2, 3]]).unwrap_err();
    assert!(matches!(e.fault(), Fault::Argument(m) if m.contains("row 1")), "{e}");
    assert!(matches!(Array::<i64, D2>::new(&[3], vec![1, 2, 3]).unwrap_err().fault(), Fault::Argument(_)));
    assert!(matches!(Array::<u8>::new(&[usize::MAX], vec![]).unwrap_err().fault(), Fault::Argument(_)));
}

#[test]
fn a_loop_that_never_ends_is_stopped_and_named() {
    let f = compile(|x: Exp<i64>| loop_while(x, |x| x.ge(0), |x| x)).unwrap();
    assert_eq!(blame(f.on(Interp.at_most(1_000)).call(1)).0, "LimitExceeded");
    assert_eq!(f.on(Interp.at_most(1_000)).call(-1).unwrap(), -1);
}

#[test]
fn values_too_large_for_the_interpreter_are_errors() {
    let f = compile(|n: Exp<i64>| fill(0u8, n).len()).unwrap();
    assert!(f.call(i64::MAX).is_err());
}

#[test]
fn buffers_are_moved_and_not_copied() {
    let data = vec![1i64, 2, 3, 4, 5, 6];
    let at = data.as_ptr();
    let vector: Array<i64> = data.into();
    assert_eq!(vector.as_slice().as_ptr(), at);
    let cube = Array::<i64, D3>::new(&[1, 2, 3], vector.into_vec()).unwrap();
    assert_eq!(cube.as_slice().as_ptr(), at);
    assert_eq!(AsRef::<[i64]>::as_ref(&cube).as_ptr(), at);
    let back: Vec<i64> = cube.into();
    assert_eq!((back.as_ptr(), back.len()), (at, 6));

    let jagged = vec![vec![1i64, 2], vec![], vec![3]];
    let rows: Vec<*const i64> = jagged.iter().map(|r| r.as_ptr()).collect();
    let array: Array<Vec<i64>> = jagged.into();
    assert!(array.into_iter().map(|r| r.as_ptr()).eq(rows));
}

#[test]
fn slices_and_rows_are_copied() {
    let data = [1.5, 2.5];
    let copy: Array<f64> = data[..].into();
    assert_eq!((copy.to_vec(), copy.as_slice().as_ptr() == data.as_ptr()), (data.to_vec(), false));
    let f = compile(|xs: Arr<f64>| xs.sum()).unwrap();
    assert_eq!((f.call(&data[..]).unwrap(), f.call(&copy).unwrap()), (4.0, 4.0));
}

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Point {
    x: f64,
    y: f64,
}

mod bodies {
    use super::Point;
    use deckle::prelude::*;

    /// A struct in a struct, a tuple, and a name that is a keyword of Rust.
    #[derive(Clone, Copy, Debug, PartialEq, Elt)]
    pub(crate) struct Body {
        pub at: Point,
        pub kind: (u8, bool),
        pub r#type: i32,
        pub exp: f32,
    }
}
use bodies::{Body, BodyExp};

#[test]
fn structs_come_and_go() {
    let body = Body { at: Point { x: 1.0, y: 2.0 }, kind: (3, true), r#type: -4, exp: 0.5 };
    let same = compile(|b: Exp<Body>| b).unwrap();
    assert_eq!(same.call(body).unwrap(), body);
    let moved = compile(|bs: Arr<Body>, by: Exp<Point>| {
        bs.map(|b| {
            let (tag, live) = b.kind().unpack();
            let at = Point::exp(b.at().x() + by.x(), b.at().y() + by.y());
            Body::exp(at, (tag + 1, live), b.r#type(), b.exp() * 2.0)
        })
    })
    .unwrap();
    let out = moved.call([body], Point { x: 10.0, y: 20.0 }).unwrap();
    assert_eq!(out.to_vec(), [Body { at: Point { x: 11.0, y: 22.0 }, kind: (4, true), r#type: -4, exp: 1.0 }]);
    let text = moved.program().to_string();
    assert!(text.contains("Body") && text.contains("Point"), "{text}");
}

#[test]
fn structs_are_constants_keys_and_state() {
    let origin = Point { x: 0.0, y: 0.0 };
    let f = compile(|ps: Arr<Point>| {
        let centre = ps.fold(origin, |a, b| Point::exp(a.x() + b.x(), a.y() + b.y()));
        let last = repeat(2, centre, |_, c| Point::exp(c.y(), c.x() + 1.0));
        (constant_array(&[origin]).append(ps).sort(), last, choose(ps.is_empty(), || origin, || ps.at(0)))
    })
    .unwrap();
    let (sorted, last, first) = f.call([Point { x: 2.0, y: 1.0 }, Point { x: 1.0, y: 3.0 }]).unwrap();
    assert_eq!(sorted.to_vec(), [origin, Point { x: 1.0, y: 3.0 }, Point { x: 2.0, y: 1.0 }]);
    assert_eq!((last, first), (Point { x: 4.0, y: 5.0 }, Point { x: 2.0, y: 1.0 }));
}

#[test]
fn arrays_nest_to_any_depth() {
    let f = compile(|a: Arr<Arr<Arr<i64>>>| {
        (a.map(|m| m.map(|row| row.map(|x| x + 1))), a.map(|m| m.flatten()).flatten().sum())
    })
    .unwrap();
    let deep = vec![vec![vec![1, 2], vec![]], vec![], vec![vec![3]]];
    let (out, sum) = f.call(deep).unwrap();
    assert_eq!(out.into_vec(), [vec![vec![2, 3], vec![]], vec![], vec![vec![4]]]);
    assert_eq!(sum, 6);
}

#[test]
fn sequences_nest_to_any_depth() {
    let f = compile(|s: Seq<Seq<Seq<i64>>>| s.map(|t| t.map(|u| u.sum()).scan(0, |a, b| a + b))).unwrap();
    assert_eq!(f.call(vec![vec![vec![1, 2], vec![3]], vec![]]).unwrap(), [vec![0, 3], vec![]]);
    let g = compile(|n: Exp<i64>| count_to(n).map(|i| count_to(i).map(|j| count_to(j)))).unwrap();
    assert_eq!(g.call(3).unwrap(), [vec![], vec![vec![]], vec![vec![], vec![0]]]);
    let h = compile(|s: Seq<Arr<f64, D2>>| s.map(|a| a.transpose())).unwrap();
    let a = Array::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_eq!(h.call(vec![a]).unwrap()[0].to_rows(), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
}

#[test]
fn tuples_pack_up_to_eight() {
    let f = compile(|x: Exp<i64>| pack((x, 1u8, 2.5, (x, true), x, x, x, x)).unpack().3).unwrap();
    assert_eq!(f.call(7).unwrap(), (7, true));
    type Eight = (i64, i64, i64, i64, i64, i64, i64, i64);
    let g = compile(|ps: Arr<Eight>| ps).unwrap();
    assert_eq!(g.call([(1, 2, 3, 4, 5, 6, 7, 8)]).unwrap().to_vec(), [(1, 2, 3, 4, 5, 6, 7, 8)]);
}

/// A tuple of every arity: inside expressions and vectors, as a result, as the state of a loop, and with arrays in it.
macro_rules! arities {
    ($($name:ident: $($part:ident $value:literal),+;)*) => {$(
        #[test]
        fn $name() {
            let f = compile(|x: Exp<i64>| {
                let ($($part,)+) = pack(($(x + $value,)+)).unpack();
                let state = repeat(2, ($($part,)+), |_, ($($part,)+)| ($($part * 2,)+));
                let row = fill(pack(($($part,)+)), 1).map(|t| {
                    let ($($part,)+) = t.unpack();
                    ($($part - x,)+)
                });
                let arrays = fill(x, 1).map(|y| tup(($(fill(y, $value),)+)));
                let lengths = arrays.map(|t| {
                    let ($($part,)+) = t.unpack();
                    ($($part.len(),)+)
                });
                (state, row, arrays, lengths)
            })
            .unwrap();
            let (state, row, arrays, lengths) = f.call(10).unwrap();
            assert_eq!(state, ($((10 + $value) * 4,)+));
            assert_eq!(row.to_vec(), [($($value,)+)]);
            assert_eq!(arrays.to_vec(), [($(vec![10i64; $value],)+)]);
            assert_eq!(lengths.to_vec(), [($($value,)+)]);
            let same = compile(|ts: Arr<($(as_i64!($value),)+)>| ts).unwrap();
            assert_eq!(same.call(row.clone()).unwrap(), row);
        }
    )*};
}

macro_rules! as_i64 {
    ($value:literal) => {
        i64
    };
}

arities! {
    tuples_of_two: a 1, b 2;
    tuples_of_three: a 1, b 2, c 3;
    tuples_of_four: a 1, b 2, c 3, d 4;
    tuples_of_five: a 1, b 2, c 3, d 4, e 5;
    tuples_of_six: a 1, b 2, c 3, d 4, e 5, f 6;
    tuples_of_seven: a 1, b 2, c 3, d 4, e 5, f 6, g 7;
    tuples_of_eight: a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8;
}

/// Scales to a largest element of 1, at any rank.
fn normalised<D: Rank>(a: Arr<f64, D>) -> Arr<f64, D> {
    let top = a.fold_all(f64::NEG_INFINITY, |x, y| x.max(y));
    a.zip_with(a.map(|_| top), |x, t| x / t)
}

/// The total of each row, at any rank above a vector.
fn of_rows<D: Above>(a: Arr<f64, D>) -> Arr<i64> {
    a.rows().map(|row| row.size())
}

#[test]
fn functions_work_at_every_rank() {
    let f = compile(|xs: Arr<f64>, a: Arr<f64, D2>, c: Arr<f64, D3>| {
        (normalised(xs), normalised(a), normalised(c), of_rows(a), of_rows(c))
    })
    .unwrap();
    let cube = Array::<f64, D3>::new(&[1, 2, 3], (1..=6).map(f64::from).collect()).unwrap();
    let (xs, a, c, rows, planes) = f.call([1.0, 2.0], [[1.0, 4.0], [2.0, 0.0]], cube).unwrap();
    assert_eq!((xs.to_vec(), a.to_rows()), (vec![0.5, 1.0], vec![vec![0.25, 1.0], vec![0.5, 0.0]]));
    assert_eq!((c.shape(), c.as_slice()[5]), (&[1, 2, 3][..], 1.0));
    assert_eq!((rows.to_vec(), planes.to_vec()), (vec![2, 2], vec![6]));
}

#[test]
fn results_and_state_are_tuples_of_anything() {
    let f = compile(|xs: Arr<f64>, n: Exp<i64>| {
        let (ys, steps) = loop_while((xs, 0i64), |(ys, _)| ys.len().lt(n), |(ys, k)| (ys.append(ys), k + 1));
        (ys, steps, ys.stream(), (ys.sum(), 1i64))
    })
    .unwrap();
    let (ys, steps, seq, (sum, one)) = f.call([1.0, 2.0], 3).unwrap();
    assert_eq!((ys.to_vec(), steps, seq.len()), (vec![1.0, 2.0, 1.0, 2.0], 1, 4));
    assert_eq!((sum, one), (6.0, 1));
}

#[test]
fn a_compiled_program_is_called_often_and_from_other_threads() {
    let f = compile(|x: Exp<i64>| x + 1).unwrap();
    let g = f.on(Interp);
    let there = std::thread::spawn(move || g.call(1).unwrap());
    assert_eq!((f.call(2).unwrap(), there.join().unwrap()), (3, 2));
}

#[test]
fn empty_matrices_keep_what_can_be_seen() {
    let f = compile(|a: Arr<f64, D2>| (a, a.shape(), a.size())).unwrap();
    let (a, shape, size) = f.call(Array::new(&[3, 0], vec![]).unwrap()).unwrap();
    assert_eq!((a.shape(), shape, size), (&[3, 0][..], (3, 0), 0));
}
