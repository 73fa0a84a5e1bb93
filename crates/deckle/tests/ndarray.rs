//! Conversion from and to `ndarray`, without copying if the layout permits.

use deckle::prelude::*;
use ndarray::{Array1, Array2, Array3, arr2, s};

#[test]
fn standard_layout_is_moved_both_ways() {
    let matrix: Array2<f64> = arr2(&[[1.0, 2.0], [3.0, 4.0]]);
    let at = matrix.as_ptr();
    let ours: Array<f64, D2> = matrix.into();
    assert_eq!(ours.shape(), [2, 2]);
    assert_eq!(ours.as_slice().as_ptr(), at);
    let back: Array2<f64> = ours.into();
    assert_eq!(back.as_ptr(), at);
}

#[test]
fn every_rank_is_moved() {
    let data: Vec<u8> = (0..24).collect();
    let at = data.as_ptr();
    let cube: Array<u8, D3> = Array3::from_shape_vec((2, 3, 4), data).unwrap().into();
    assert_eq!((cube.as_slice().as_ptr(), cube.shape()), (at, &[2, 3, 4][..]));
    let vector: Array1<u8> = Array::<u8>::from(Array3::from(cube).into_raw_vec_and_offset().0).into();
    assert_eq!((vector.as_ptr(), vector.len()), (at, 24));
    let vector: Array<u8> = vector.into();
    assert_eq!(vector.as_slice().as_ptr(), at);
}

#[test]
fn other_layouts_are_copied() {
    let matrix = arr2(&[[1, 2, 3], [4, 5, 6]]);
    let turned: Array<i64, D2> = matrix.clone().reversed_axes().into();
    assert_eq!(turned.to_rows(), [[1, 4], [2, 5], [3, 6]]);
    let part: Array<i64, D2> = matrix.slice(s![.., 1..]).into();
    assert_eq!(part.to_rows(), [[2, 3], [5, 6]]);
    let sliced: Array<i64, D2> = matrix.slice_move(s![1.., ..]).into();
    assert_eq!(sliced.to_rows(), [[4, 5, 6]]);
}

#[test]
fn programs_take_and_give_them() {
    let f = compile(|a: Arr<f64, D3>| (a.sum_all(), a.map(|x| x + 1.0).sum())).unwrap();
    let (total, rows) = f.call(Array3::<f64>::ones((2, 3, 4))).unwrap();
    assert_eq!(total, 24.0);
    assert_eq!(Array2::from(rows), Array2::from_elem((2, 3), 8.0));
    let g = compile(|xs: Arr<i64>| xs.rev()).unwrap();
    assert_eq!(Array1::from(g.call(Array1::from(vec![1, 2])).unwrap()), Array1::from(vec![2, 1]));
}
