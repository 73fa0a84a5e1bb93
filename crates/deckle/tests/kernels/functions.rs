//! Calls of kernels, across modules, and generic kernels.

use crate::agree;
use deckle::prelude::*;

mod colours {
    use deckle::prelude::*;

    /// Luminance.
    #[kernel]
    pub fn grey(r: f32, g: f32, b: f32) -> f32 {
        0.299 * r + 0.587 * g + 0.114 * b
    }

    pub mod more {
        use deckle::prelude::*;

        #[kernel]
        pub(crate) fn mixed(a: f32, b: f32, t: f32) -> f32 {
            super::half(a) * (1.0 - t) + super::half(b) * t
        }
    }

    #[kernel]
    fn half(x: f32) -> f32 {
        x / 2.0
    }
}

use colours::{grey, more::mixed as blend};

#[kernel]
fn calls(x: f32, y: f32, z: f32) -> f32 {
    let g = grey(x, y * 2.0, z);
    blend(g, colours::more::mixed(x, y, 0.25), 0.5) + colours::grey(1.0, g, 0.0)
}

#[kernel]
fn square<T: Num>(x: T) -> T {
    x * x
}

#[kernel]
fn norm<T: Float>(x: T, y: T) -> T {
    (square(x) + square::<T>(y)).sqrt().max(x)
}

#[kernel]
fn norm_f32(x: f32, y: f32) -> f32 {
    norm(x, y)
}

#[kernel]
fn norm_f64(x: f64, y: f64) -> f64 {
    norm::<f64>(x, y) + square(2.0)
}

#[kernel]
fn greater<T: Num + From<u8>>(x: T, y: T) -> T {
    let ten = T::from(10u8);
    if x > y { x + ten } else { y }
}

#[kernel]
fn greater_u16(x: u16, y: u16) -> u16 {
    greater(x, y)
}

#[kernel]
fn total<const N: usize>(a: [i32; N]) -> i32 {
    let mut s = N as i32;
    for k in 0..N {
        s += a[k];
    }
    s
}

#[kernel]
fn totals(a: [i32; 3]) -> i32 {
    total(a) * total([1, a[0]])
}

#[kernel]
fn converted(x: u8, y: i16) -> (f64, i64, u32) {
    (f64::from(x) + f64::from(y), i64::from(y), u32::from(x > 3))
}

#[kernel]
fn by_path(x: f32, y: f32) -> f32 {
    f32::max(x, y) - f32::sqrt(f32::abs(x)) + f32::mul_add(x, 2.0, y)
}

#[kernel]
fn of_integers(x: i32, y: i32) -> i32 {
    std::cmp::max(x, y) * 2 - core::cmp::min(x, 3) + i32::pow(x, 2)
}

#[kernel]
fn specialised(x: f32, mode: i32) -> f32 {
    match mode {
        0 => x,
        1 => x * x,
        _ => -x,
    }
}

#[kernel]
fn specialise(x: f32) -> f32 {
    specialised(x, 1) + specialised(x, 5)
}

#[kernel]
fn sum_of(xs: &[f32]) -> f32 {
    let mut s = 0.0;
    for i in 0..xs.len() {
        s += xs[i];
    }
    s
}

#[kernel]
fn through_slices(xs: &[f32], x: f32) -> f32 {
    let three = [x, 1.0, x * 2.0];
    sum_of(xs) * x + sum_of(&three)
}

#[test]
fn kernels_call_kernels() {
    agree! {
        Small: calls(f32, f32, f32);
        Small: by_path(f32, f32);
        Small: of_integers(i32, i32);
        All: converted(u8, i16);
        All: specialise(f32);
        Small: totals([i32; 3]);
    }
    let sums = compile(|xs: Arr<f32>, ys: Arr<f32>| ys.map(|y| through_slices::kernel(xs, y))).unwrap();
    let xs = [1.0, 2.0, 3.5];
    assert_eq!(sums.call(xs, [2.0, -1.0]).unwrap().to_vec(), [2.0, -1.0].map(|y| through_slices(&xs, y)));
}

#[test]
fn generic_kernels() {
    agree! {
        All: norm_f32(f32, f32);
        All: norm_f64(f64, f64);
        Small: greater_u16(u16, u16);
    }
    let f = compile(|xs: Arr<f64>| xs.map(square::kernel)).unwrap();
    assert_eq!(f.call([1.5]).unwrap().to_vec(), [2.25]);
    let g = compile(|xs: Arr<f32>, ys: Arr<f32>| xs.zip_with(ys, norm::kernel)).unwrap();
    assert_eq!(g.call([3.0], [4.0]).unwrap().to_vec(), [5.0]);
}

#[test]
fn a_kernel_is_a_function_of_any_operator() {
    #[kernel]
    fn larger(x: i64, y: i64) -> i64 {
        if x > y { x } else { y }
    }
    #[kernel]
    fn is_odd(x: i64) -> bool {
        x % 2 == 1
    }
    let f = compile(|xs: Arr<i64>, n: Exp<i64>| {
        let odd = xs.filter(is_odd::kernel);
        (odd.fold(i64::MIN, larger::kernel), xs.scan_inclusive(larger::kernel), larger::kernel(n, 10))
    })
    .unwrap();
    let (greatest, running, one) = f.call([4, 7, 2, 9, 12], 3).unwrap();
    assert_eq!((greatest, running.to_vec(), one), (9, vec![4, 7, 7, 9, 12], 10));
    let streamed = compile(|xs: deckle::Seq<i64>| xs.map(|x| larger::kernel(x, 2)).sum()).unwrap();
    assert_eq!(streamed.call([1, 2, 3]).unwrap(), 7);
}
