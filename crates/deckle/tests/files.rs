//! Host values and files: written values are read back, and a mismatch is an error that names the file.

use deckle::io::{Kind, read, write};
use deckle::prelude::*;
use std::path::PathBuf;

#[path = "../../../examples/life.rs"]
mod life;
#[path = "../../../examples/mandelbrot.rs"]
mod mandelbrot;

/// A folder of its own for a test, removed when that ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("deckle-files-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_glider_is_written_as_a_picture() {
    let folder = Folder::new("life");
    let path = folder.0.join("life.png");
    let (size, zoom) = (6, 2);
    write(&path, &life::picture().unwrap().call(size, 4, zoom).unwrap()).unwrap();
    let pixels: Array<u8, D2> = read(&path).unwrap();
    assert_eq!(pixels.shape(), [12, 12]);
    // After four generations a glider is the same, one further down and to the right.
    let alive = [(2, 3), (3, 4), (4, 2), (4, 3), (4, 4)];
    for (i, row) in pixels.to_rows().iter().enumerate() {
        for (j, pixel) in row.iter().enumerate() {
            assert_eq!(*pixel == 0, alive.contains(&(i / 2, j / 2)), "pixel {i}, {j}");
            assert!([0, 255].contains(pixel));
        }
    }
}

#[test]
fn the_mandelbrot_set_is_written_as_a_picture() {
    let folder = Folder::new("mandelbrot");
    let made = mandelbrot::picture().unwrap().call(32, 24, 20).unwrap();
    for name in ["m.png", "m.pgm"] {
        let path = folder.0.join(name);
        write(&path, &made).unwrap();
        assert_eq!(read::<Array<u8, D2>>(&path).unwrap(), made, "{name}");
    }
    // The origin is in the set, the corner escapes at once.
    let rows = made.to_rows();
    assert_eq!((rows[12][22], rows[0][0]), (0, 255 - 255 / 20));
}

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Trade {
    price: f64,
    volume: i64,
}

#[test]
fn values_of_every_kind_come_back() {
    let folder = Folder::new("kinds");
    let at = |name: &str| folder.0.join(name);
    fn same<T: deckle::io::Stored + PartialEq + std::fmt::Debug>(path: PathBuf, value: T) {
        write(&path, &value).unwrap();
        assert_eq!(read::<T>(&path).unwrap(), value, "{}", path.display());
    }
    same(at("n.txt"), 7i64);
    same(at("v.npy"), Array::from([1.5f32, 2.5]));
    same(at("m.npy.gz"), Array::<i64, D2>::from([[1, 2], [3, 4]]));
    same(at("c.npy"), Array::<u16, D3>::new(&[1, 2, 3], (0..6).collect()).unwrap());
    same(at("e.mtx"), vec![(0i64, 1i64, 2.0f64), (3, 0, -1.0)]);
    same(at("t.csv"), vec![Trade { price: 1.5, volume: 2 }, Trade { price: 0.25, volume: -3 }]);
    same(at("jagged.txt"), vec![vec![1i64, 2], vec![], vec![3]]);
    same(at("matrices.txt"), vec![Array::<i64, D2>::from([[1, 2]]), Array::from([[3], [4]])]);
    same(at("lines.txt"), vec![b"one".to_vec(), b"two words".to_vec()]);
    assert_eq!(read::<Vec<Vec<u8>>>(at("lines.txt:words")).unwrap().len(), 3);
    assert_eq!(read::<Array<i64>>(at("t.csv:volume")).unwrap().to_vec(), [2, -3]);
    assert_eq!(read::<Vec<i64>>(at("e.mtx:off")).unwrap(), [0, 1, 1, 1, 2]);
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_file() {
    let folder = Folder::new("misfits");
    let path = folder.0.join("rows.txt");
    std::fs::write(&path, "[[1, 2], [3]]\n").unwrap();
    let e = read::<Array<i64, D2>>(&path).unwrap_err();
    assert_eq!((e.kind, e.path.as_deref()), (Kind::Misfit, Some(&*path)));
    assert!(e.to_string().contains("one length"), "{e}");
    assert_eq!(read::<Vec<Vec<i64>>>(&path).unwrap(), [vec![1, 2], vec![3]]);

    let e = write(folder.0.join("a.png"), &vec![1.5]).unwrap_err();
    assert!(e.to_string().contains("a.png"), "{e}");
    assert!(!folder.0.join("a.png").exists());
    assert!(read::<i64>(folder.0.join("none.txt")).unwrap_err().to_string().contains("no such file"));
}
