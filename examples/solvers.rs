//! Systems of linear equations with sparse matrices. The twin of `solvers.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// The rows of a matrix: columns and values.
type Matrix = Arr<Arr<(i64, f64)>>;

fn dot(x: Arr<f64>, y: Arr<f64>) -> Exp<f64> {
    x.zip(y).stream().map(|e| e.unpack().0 * e.unpack().1).sum()
}

fn times(a: Matrix, x: Arr<f64>) -> Arr<f64> {
    a.map(|row| row.stream().map(|e| e.unpack().1 * x.at(e.unpack().0)).sum())
}

/// One divided by the elements on the diagonal.
fn scales(a: Matrix) -> Arr<f64> {
    a.imap(|i, row| 1.0 / row.stream().filter(|e| e.unpack().0.equals(i)).map(|e| e.unpack().1).sum())
}

/// Conjugate gradients, for symmetric positive definite matrices: the solution, and the number of rounds.
fn conjugate(a: Matrix, b: Arr<f64>, error: Exp<f64>, most: Exp<i64>) -> (Arr<f64>, Exp<i64>) {
    let scale = scales(a);
    let goal = error * error * dot(b, b);
    let z = scale.zip_with(b, |s, r| s * r);
    let (x, _, _, _, rounds) = loop_while(
        (fill(0.0, b.len()), b, z, dot(b, z), 0),
        |(_, r, _, _, rounds)| dot(r, r).gt(goal).and(|| rounds.lt(most)),
        |(x, r, p, rz, rounds)| {
            let ap = times(a, p);
            let step = rz / dot(p, ap);
            let x = x.zip_with(p, |u, v| u + step * v);
            let r = r.zip_with(ap, |u, v| u - step * v);
            let z = scale.zip_with(r, |s, u| s * u);
            let next = dot(r, z);
            (x, r, z.zip_with(p, |u, v| u + next / rz * v), next, rounds + 1)
        },
    );
    (x, rounds)
}

/// The numbers for which the sum of the columns of `h`, times these, is nearest to `(size, 0, ..., 0)`. Column `j` has `j + 2` elements.
fn nearest(h: Arr<Arr<f64>>, size: Exp<f64>) -> Arr<f64> {
    let m = h.len();
    let rows = iota(m + 1).map(|i| {
        let of = h.map(|column| choose(i.lt(column.len()), || column.at(i), || 0.0));
        of.append(array([choose(i.equals(0), || size, || 0.0)]))
    });
    let upper = repeat(m, rows, |j, rows| {
        let (p, q) = (rows.at(j).at(j), rows.at(j + 1).at(j));
        let length = p.hypot(q);
        let (c, s) = choose(length.gt(0.0), || (p / length, q / length), || (constant(1.0), 0.0));
        rows.imap(|i, row| {
            row.imap(|k, x| {
                let (above, below) = (|| rows.at(j).at(k), || rows.at(j + 1).at(k));
                choose(
                    i.equals(j),
                    || c * above() + s * below(),
                    || choose(i.equals(j + 1), || c * below() - s * above(), || x),
                )
            })
        })
    });
    repeat(m, fill(0.0, m), |k, y| {
        let i = m - 1 - k;
        let row = upper.at(i);
        let rest = row.at(m) - count_to(m).map(|j| row.at(j) * y.at(j)).sum();
        let here = choose(row.at(i).differs(0.0), || rest / row.at(i), || 0.0);
        y.scatter(array([i]), array([here]))
    })
}

/// GMRES, for any matrix, started again after `width` rounds: the solution, and the number of products.
fn general(a: Matrix, b: Arr<f64>, width: Exp<i64>, error: Exp<f64>, most: Exp<i64>) -> (Arr<f64>, Exp<i64>) {
    let n = b.len();
    let scale = scales(a);
    let goal = error * dot(b, b).sqrt();
    let without = |w: Arr<f64>, along: Arr<f64>, basis: Arr<Arr<f64>>| {
        w.imap(|i, u| u - along.zip_with(basis, |c, v| c * v.at(i)).stream().sum())
    };
    let (x, _, rounds) = loop_while(
        (fill(0.0, n), b, 0),
        |(_, r, rounds)| dot(r, r).sqrt().gt(goal).and(|| rounds.lt(most)),
        |(x, r, rounds)| {
            let size = dot(r, r).sqrt();
            let none = iota(0).map(|_| constant_array::<f64>(&[]));
            let first = iota(1).map(|_| r.map(|u| u / size));
            let (basis, h) = repeat(width, (first, none), |j, (basis, h)| {
                let w = times(a, scale.zip_with(basis.at(j), |s, v| s * v));
                // To be at right angles in spite of rounding, what is along the basis is taken away twice.
                let first = basis.map(|v| dot(v, w));
                let w = without(w, first, basis);
                let second = basis.map(|v| dot(v, w));
                let w = without(w, second, basis);
                let rest = dot(w, w).sqrt();
                let next = w.map(|u| choose(rest.gt(0.0), || u / rest, || 0.0));
                let column = first.zip_with(second, |p, q| p + q).append(array([rest]));
                (basis.append(iota(1).map(|_| next)), h.append(iota(1).map(|_| column)))
            });
            let y = nearest(h, size);
            let along = |i| count_to(width).map(|j| y.at(j) * basis.at(j).at(i)).sum();
            let x = x.zip_with(scale, |u, s| pack((u, s))).imap(|i, e| e.unpack().0 + e.unpack().1 * along(i));
            (x, b.zip_with(times(a, x), |u, v| u - v), rounds + width)
        },
    );
    (x, rounds)
}

/// Builds the program for symmetric positive definite matrices: offsets, entries, the right side, the error, and the most rounds.
pub fn program()
-> Result<Compiled<(Arr<i64>, Arr<(i64, f64)>, Arr<f64>, Exp<f64>, Exp<i64>), (Arr<f64>, Exp<i64>)>, Error> {
    compile(|off: Arr<i64>, entries: Arr<(i64, f64)>, b: Arr<f64>, error: Exp<f64>, most: Exp<i64>| {
        conjugate(entries.split_offsets(off), b, error, most)
    })
}

/// Builds the program for any matrix.
pub fn any_matrix()
-> Result<Compiled<(Arr<i64>, Arr<(i64, f64)>, Arr<f64>, Exp<i64>, Exp<f64>, Exp<i64>), (Arr<f64>, Exp<i64>)>, Error> {
    compile(|off: Arr<i64>, entries: Arr<(i64, f64)>, b: Arr<f64>, width: Exp<i64>, error: Exp<f64>, most: Exp<i64>| {
        general(entries.split_offsets(off), b, width, error, most)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let entries = || vec![(0i64, 4.0), (1, -1.0), (0, -1.0), (1, 4.0), (2, -1.0), (1, -1.0), (2, 4.0)];
    let (x, rounds) = program()?.call([0, 2, 5, 7], entries(), [1.0, 2.0, 3.0], 1e-9, 100)?;
    println!("{:?} {rounds}", x.to_vec());
    let (x, rounds) = any_matrix()?.call([0, 2, 5, 7], entries(), [1.0, 2.0, 3.0], 3, 1e-9, 100)?;
    println!("{:?} {rounds}", x.to_vec());
    Ok(())
}
