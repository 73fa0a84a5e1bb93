//! Tuples, structs, enums, arrays, slices and constants.

use crate::agree;
use deckle::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Body {
    pos: (f32, f32),
    mass: f32,
    id: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
enum Side {
    Left,
    Right,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
enum Level {
    Low = 10,
    High = 20,
}

#[kernel]
fn tuples(x: f32, y: f32) -> (f32, f32) {
    let p = (x, (y, 1.0));
    let (a, (b, c)) = p;
    let mut q = (a + c, b);
    q.0 *= 2.0;
    q.1 = q.0 - (p.1).0;
    q
}

#[kernel]
fn tuple_parameter((x, y): (f32, i32), z: f32) -> f32 {
    x * y as f32 + z
}

#[kernel]
fn tuple_equality(x: i32, y: i32) -> bool {
    (x, y % 2) == (y, x % 2) || (x, 1) != (y, 1) && x > y
}

fn body(x: f32, y: f32) -> Body {
    Body { pos: (x, y), mass: 2.0, id: 7 }
}

#[kernel]
fn structs(x: f32, y: f32) -> f32 {
    let b = Body { mass: x, pos: (y, 1.0), id: 3 };
    let mut c = Body { id: b.id + 1, ..b };
    c.pos.0 += 0.5;
    c.mass = b.mass - c.pos.1;
    let Body { pos: (u, _), mass, .. } = c;
    u * mass + c.id as f32 + b.pos.0
}

#[kernel]
fn moved(b: Body, by: f32) -> Body {
    let pos = (b.pos.0 + by, b.pos.1);
    Body { pos, ..b }
}

#[kernel]
fn match_struct(x: f32, n: i32) -> f32 {
    let b = Body { pos: (x, x), mass: 1.0, id: n };
    match b {
        Body { id: 0, .. } => 10.0,
        Body { id: 1..=3, pos: (u, _), .. } => u,
        Body { mass, .. } => mass,
    }
}

#[kernel]
fn side_of(x: i32) -> Side {
    if x < 0 {
        Side::Left
    } else if x > 0 {
        Side::Right
    } else {
        Side::Both
    }
}

#[kernel]
fn enums(x: i32, y: i32) -> i32 {
    let side = side_of(x);
    let n = match side {
        Side::Left => y,
        Side::Right | Side::Both => -y,
    };
    let more = if side == Side::Both { 100 } else { side as i32 };
    let level = if y > 2 { Level::High } else { Level::Low };
    n + more + level as i32
}

#[kernel]
fn arrays(x: i32, y: i32) -> i32 {
    let a = [x, y, 3, x + y];
    let mut b = [0; 5];
    b[0] = a[1];
    b[4] = a[3] - b[0];
    b[2] += a[0];
    let [p, q, ..] = a;
    b[0] * 2 + b[1] + b[2] * 3 + b[4] + p - q
}

#[kernel]
fn computed_index(x: i32, at: usize) -> i32 {
    let mut a = [1, x, 3, x * 2, 5];
    let at = at % 5;
    a[at] += 10;
    a[(at + 2) % 5] = a[at] - 1;
    let mut s = 0;
    for k in 0..a.len() {
        s = s * 3 + a[k];
    }
    s % 10007
}

#[kernel]
fn array_parameter(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[kernel]
fn insertion_sort(a: [i32; 5]) -> [i32; 5] {
    let mut a = a;
    for i in 1..5 {
        let mut j = i;
        while j > 0 && a[j - 1] > a[j] {
            (a[j - 1], a[j]) = (a[j], a[j - 1]);
            j -= 1;
        }
    }
    a
}

#[kernel]
fn matrix(x: f32, y: f32) -> f32 {
    let mut m = [[0.0; 2]; 2];
    m[0][0] = x;
    m[0][1] = y;
    m[1] = [y - x, 1.0];
    let mut trace = 0.0;
    for k in 0..2 {
        trace += m[k][k];
    }
    trace * m[1][0] - m[0][1]
}

#[kernel]
fn array_of_tuples(n: usize) -> i32 {
    let mut a = [(0, 1); 3];
    a[n % 3].0 = 7;
    a[1].1 += 4;
    let last = a[2];
    a[0].0 * 100 + a[1].1 * 10 + last.0
}

const PRIMES: [u32; 6] = [2, 3, 5, 7, 11, 13];
const WEIGHTS: &[f32] = &[0.25, 0.5, 0.25];
static OFFSETS: [(i32, i32); 2] = [(1, -1), (2, 5)];

#[kernel]
fn tables(at: usize, x: f32) -> f32 {
    const SCALE: f32 = 2.0;
    let p = PRIMES[at % PRIMES.len()];
    let (u, v) = OFFSETS[at % 2];
    (p as f32 + WEIGHTS[1] * x) * SCALE + (u * v) as f32 + WEIGHTS[at % 3]
}

#[kernel]
fn constants(x: f32) -> f32 {
    if x > f32::MAX / 2.0 { f32::INFINITY } else { x * std::f32::consts::PI + f32::EPSILON + u8::MAX as f32 }
}

#[kernel]
fn stencil(xs: &[f32], i: usize) -> f32 {
    let n = xs.len();
    if i == 0 || i + 1 >= n {
        return xs[i];
    }
    (xs[i - 1] + xs[i] * 2.0 + xs[i + 1]) / 4.0
}

#[kernel]
fn search(xs: &[i32], x: i32) -> usize {
    let (mut lo, mut hi) = (0, xs.len());
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if xs[mid] < x {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    lo
}

#[kernel]
fn dot(xs: &[f32], at: &[usize], i: usize) -> f32 {
    let mut s = 0.0;
    for k in 0..at.len() {
        s += xs[at[k]] * xs[i];
    }
    for (k, x) in xs.iter().enumerate() {
        if k > i + 2 {
            break;
        }
        s += x * 0.5;
    }
    for w in WEIGHTS {
        s *= w * 2.0;
    }
    s
}

#[kernel]
fn mean(row: &[f64]) -> f64 {
    let mut s = 0.0;
    for x in row {
        s += x;
    }
    if row.is_empty() { 0.0 } else { s / row.len() as f64 }
}

#[kernel]
fn picked(xs: &[i32], at: &[usize], step: isize) -> i32 {
    let k = (step.rem_euclid(at.len() as isize)) as usize;
    xs[at[k]]
}

#[test]
fn rows_of_any_length_are_slices() {
    let rows = vec![vec![1.0, 2.0], vec![], vec![5.0, 7.0, 9.0]];
    let means = compile(|rows: Arr<Arr<f64>>| rows.map(mean::kernel)).unwrap();
    let expected: Vec<f64> = rows.iter().map(|row| mean(row)).collect();
    assert_eq!(means.call(rows.clone()).unwrap().to_vec(), expected);
    assert_eq!(means.on(Interp).call(rows.clone()).unwrap().to_vec(), expected);
    assert_eq!(means.on(agree::Simulated).call(rows).unwrap().to_vec(), expected);
}

#[test]
fn positions_of_programs_are_sizes() {
    let f = compile(|xs: Arr<i32>, at: Arr<i64>| iota(5).map(|k| picked::kernel(xs, at, k - 3))).unwrap();
    let (xs, at) = ([10, 20, 30], [2usize, 0, 1, 1]);
    let expected: Vec<i32> = (0..5).map(|k| picked(&xs, &at, k - 3)).collect();
    assert_eq!(f.call(xs, at.map(|k| k as i64)).unwrap().to_vec(), expected);
}

#[test]
fn tuples_and_structs() {
    agree! {
        All: tuples(f32, f32);
        Small: tuple_equality(i32, i32);
        Small: structs(f32, f32);
        Small: match_struct(f32, i32);
        Small: enums(i32, i32);
    }
    let by = compile(|xs: Arr<(f32, i32)>| xs.map(|p| tuple_parameter::kernel(p, 0.5))).unwrap();
    assert_eq!(by.call([(2.0, 3)]).unwrap().to_vec(), [tuple_parameter((2.0, 3), 0.5)]);
    let shift = compile(|bs: Arr<Body>| bs.map(|b| moved::kernel(b, 1.5))).unwrap();
    let b = body(1.0, 2.0);
    assert_eq!(shift.call([b]).unwrap().to_vec(), [moved(b, 1.5)]);
}

#[test]
fn enums_are_elements() {
    let sides = compile(|xs: Arr<i32>| xs.map(side_of::kernel)).unwrap();
    let expected = [Side::Left, Side::Both, Side::Right];
    assert_eq!(sides.call([-3, 0, 9]).unwrap().to_vec(), expected);
    assert_eq!(sides.on(Interp).call([-3, 0, 9]).unwrap().to_vec(), expected);
    #[kernel]
    fn turned(side: Side) -> Side {
        match side {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
            other => other,
        }
    }
    let turn = compile(|xs: Arr<Side>| xs.map(turned::kernel)).unwrap();
    assert_eq!(turn.call(expected).unwrap().to_vec(), expected.map(turned));
    let keys = compile(|xs: Arr<Side>, s: Exp<Side>| xs.map(|x| (x, s))).unwrap();
    assert_eq!(keys.call(vec![Side::Right], Side::Both).unwrap().to_vec(), [(Side::Right, Side::Both)]);
}

#[test]
fn arrays_of_fixed_length() {
    agree! {
        Small: arrays(i32, i32);
        Small: computed_index(i32, usize);
        Small: array_parameter([f32; 3], [f32; 3]);
        Small: insertion_sort([i32; 5]);
        All: matrix(f32, f32);
        Small: array_of_tuples(usize);
        Small: tables(usize, f32);
        All: constants(f32);
    }
}

#[test]
fn slices() {
    let xs: Vec<f32> = (0..1000).map(|k| (k * k % 37) as f32).collect();
    let smooth = compile(|xs: Arr<f32>| iota(xs.len()).map(|i| stencil::kernel(xs, i))).unwrap();
    let expected: Vec<f32> = (0..xs.len()).map(|i| stencil(&xs, i)).collect();
    assert_eq!(smooth.call(&xs).unwrap().to_vec(), expected);
    assert_eq!(smooth.on(Interp).call(&xs).unwrap().to_vec(), expected);
    assert_eq!(smooth.on(agree::Simulated).call(&xs).unwrap().to_vec(), expected);

    let sorted: Vec<i32> = (0..500).map(|k| k * 3).collect();
    let find = compile(|xs: Arr<i32>, keys: Arr<i32>| keys.map(|x| search::kernel(xs, x))).unwrap();
    let keys: Vec<i32> = (-5..1600).collect();
    let expected: Vec<usize> = keys.iter().map(|x| search(&sorted, *x)).collect();
    assert_eq!(find.call(&sorted, &keys).unwrap().to_vec(), expected);
    assert_eq!(find.on(Interp).call(&sorted, &keys).unwrap().to_vec(), expected);
    assert_eq!(find.on(agree::Simulated).call(&sorted, &keys).unwrap().to_vec(), expected);

    let at = [3usize, 0, 999];
    let gather = compile(|xs: Arr<f32>, at: Arr<usize>| iota(4).map(|i| dot::kernel(xs, at, i))).unwrap();
    let expected: Vec<f32> = (0..4).map(|i| dot(&xs, &at, i)).collect();
    assert_eq!(gather.call(&xs, at).unwrap().to_vec(), expected);
}
