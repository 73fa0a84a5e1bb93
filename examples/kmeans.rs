//! k-means clustering of points in the plane. The twin of `kmeans.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

type Point = (f64, f64);

fn dist2(a: Exp<Point>, b: Exp<Point>) -> Exp<f64> {
    let ((ax, ay), (bx, by)) = (a.unpack(), b.unpack());
    (ax - bx) * (ax - bx) + (ay - by) * (ay - by)
}

fn nearest(p: Exp<Point>, centres: Arr<Point>) -> Exp<i64> {
    centres.map(|c| dist2(p, c)).argmin()
}

fn advance(points: Arr<Point>, centres: Arr<Point>) -> Arr<Point> {
    let mine = points.map(|p| nearest(p, centres));
    let ones = points.map(|p| {
        let (x, y) = p.unpack();
        (x, y, constant(1))
    });
    let nothing = fill(pack((constant(0.0), constant(0.0), constant(0))), centres.len());
    let sums = nothing.permute(mine, ones, |new, old| {
        let ((ax, ay, an), (bx, by, bn)) = (new.unpack(), old.unpack());
        pack((ax + bx, ay + by, an + bn))
    });
    sums.zip_with(centres, |s, c| {
        let (x, y, n) = s.unpack();
        let count = n.cast::<f64>();
        choose(n.equals(0), || c, || (x / count, y / count))
    })
}

/// Builds the program.
pub fn program() -> Result<Compiled<(Arr<Point>, Exp<i64>, Exp<i64>), Arr<Point>>, Error> {
    compile(|points: Arr<Point>, k: Exp<i64>, rounds: Exp<i64>| {
        repeat(rounds, points.take(k), |_, centres| advance(points, centres))
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let points: Vec<Point> =
        (0..60).map(|i| ((i % 3) as f64 * 5.0 + (i % 7) as f64 * 0.1, (i % 2) as f64 * 0.2)).collect();
    println!("{:?}", program()?.call(points, 3, 10)?.to_vec());
    Ok(())
}
