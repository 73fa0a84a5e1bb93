//! k-means clustering of points in the plane: assign each point to the nearest centre, move each centre to the mean of its points, and
//! again. The twin of `kmeans.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

type Point = (f64, f64);
/// The sum of some points, and how many they are.
type Sum = (f64, f64, i64);

fn dist2(a: Exp<Point>, b: Exp<Point>) -> Exp<f64> {
    let ((ax, ay), (bx, by)) = (a.unpack(), b.unpack());
    (ax - bx) * (ax - bx) + (ay - by) * (ay - by)
}

fn nearest(p: Exp<Point>, centres: Arr<Point>) -> Exp<i64> {
    centres.stream().map(|c| dist2(p, c)).argmin()
}

fn add(a: Exp<Sum>, b: Exp<Sum>) -> Exp<Sum> {
    let ((ax, ay, an), (bx, by, bn)) = (a.unpack(), b.unpack());
    pack((ax + bx, ay + by, an + bn))
}

fn advance(points: Arr<Point>, centres: Arr<Point>) -> Arr<Point> {
    let mine = points.map(|p| nearest(p, centres));
    let each = points.map(|p| (p.unpack().0, p.unpack().1, 1i64));
    let sums = each.histogram(mine, centres.len(), (0.0, 0.0, 0), add);
    sums.zip_with(centres, |sum, old| {
        let (x, y, n) = sum.unpack();
        choose(n.equals(0), || old, || (x / n.cast::<f64>(), y / n.cast::<f64>()))
    })
}

fn jitter(i: Exp<i64>) -> Exp<f64> {
    ((i * 7919 + 104729) % 1000).cast::<f64>() / 1000.0 - 0.5
}

/// Points around three corners.
fn cloud(n: Exp<i64>) -> Arr<Point> {
    let corners = constant_array(&[(0.0, 0.0), (5.0, 0.0), (0.0, 5.0)]);
    generate(n, |i| {
        let (x, y) = corners.at(i % 3).unpack();
        (x + jitter(2 * i), y + jitter(2 * i + 1))
    })
}

/// Builds the program: the centres of `k` clusters of `n` points after some rounds, and how many points each has.
pub fn program() -> Result<Compiled<(Exp<i64>, Exp<i64>, Exp<i64>), (Arr<Point>, Arr<i64>)>, Error> {
    compile(|n: Exp<i64>, k: Exp<i64>, rounds: Exp<i64>| {
        let points = cloud(n);
        let centres = repeat(rounds, points.take(k), |_, centres| advance(points, centres));
        let clusters = points.group_by(|p| nearest(p, centres));
        (centres, clusters.map(|cluster| cluster.unpack().1.len()))
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let (centres, sizes) = program()?.call(60, 3, 10)?;
    println!("{:?}\n{:?}", centres.to_vec(), sizes.to_vec());
    Ok(())
}
