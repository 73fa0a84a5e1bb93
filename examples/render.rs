//! A picture of a mesh of triangles. The twin of `render.dk`; what is computed for a vertex, a triangle or a pixel is an ordinary Rust function.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// A corner on the screen: pixels to the right and down, and how far away.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
pub struct Corner {
    x: f64,
    y: f64,
    z: f64,
}

/// A triangle on the screen, with the light that it reflects and its bounding box: first pixel, pixels in a row, rows.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
pub struct Triangle {
    a: Corner,
    b: Corner,
    c: Corner,
    light: f64,
    left: i64,
    top: i64,
    wide: i64,
    high: i64,
}

/// What is seen at a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
pub struct Seen {
    far: f64,
    light: f64,
}

#[kernel]
fn nearer(p: Seen, q: Seen) -> Seen {
    if p.far < q.far { p } else { q }
}

/// Twice the signed area of a triangle.
#[kernel]
fn area(a: Corner, b: Corner, c: Corner) -> f64 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

/// From a vertex to the screen: turned around the vertical axis, tilted towards the viewer, and scaled to the height of the picture.
#[kernel]
fn project(v: &[f64], width: i64, height: i64, turn: f64) -> Corner {
    let tilt: f64 = 0.5;
    let (x, y, z) = (turn.cos() * v[0] + turn.sin() * v[2], v[1] - 1.6, turn.cos() * v[2] - turn.sin() * v[0]);
    let (up, back) = (tilt.cos() * y - tilt.sin() * z, tilt.sin() * y + tilt.cos() * z);
    let scale = height as f64 / 4.6;
    Corner { x: width as f64 / 2.0 + scale * x, y: height as f64 / 2.0 - scale * up, z: 0.0 - scale * back }
}

/// How a triangle reflects light that comes from the viewer's upper left. Both sides do.
#[kernel]
fn reflected(a: Corner, b: Corner, c: Corner) -> f64 {
    let (ux, uy, uz) = (b.x - a.x, b.y - a.y, b.z - a.z);
    let (vx, vy, vz) = (c.x - a.x, c.y - a.y, c.z - a.z);
    let (nx, ny, nz) = (uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx);
    let size = (nx * nx + ny * ny + nz * nz).sqrt();
    let facing = if nz > 0.0 { -1.0 } else { 1.0 };
    let cosine = facing * (-0.4 * nx - 0.6 * ny - 0.69 * nz) / (if size > 0.0 { size } else { 1.0 });
    0.15 + 0.85 * cosine.max(0.0)
}

#[kernel]
fn clip(x: f64, limit: i64) -> i64 {
    x.min(limit as f64).max(0.0) as i64
}

#[kernel]
fn place(f: &[i64], corners: &[Corner], width: i64, height: i64) -> Triangle {
    let (a, b, c) = (corners[f[0] as usize], corners[f[1] as usize], corners[f[2] as usize]);
    let (left, right) = (clip(a.x.min(b.x.min(c.x)).floor(), width), clip(a.x.max(b.x.max(c.x)).ceil(), width));
    let (top, bottom) = (clip(a.y.min(b.y.min(c.y)).floor(), height), clip(a.y.max(b.y.max(c.y)).ceil(), height));
    Triangle { a, b, c, light: reflected(a, b, c), left, top, wide: right - left, high: bottom - top }
}

/// The pixel with this number in the bounding box: its place, whether it is inside the triangle, and what is seen there.
#[kernel]
fn pixel(t: Triangle, k: i64, width: i64) -> (i64, bool, Seen) {
    let (x, y) = (t.left + k % t.wide, t.top + k / t.wide);
    let p = Corner { x: x as f64 + 0.5, y: y as f64 + 0.5, z: 0.0 };
    let whole = area(t.a, t.b, t.c);
    let (u, v, w) = (area(t.b, t.c, p) / whole, area(t.c, t.a, p) / whole, area(t.a, t.b, p) / whole);
    let far = u * t.a.z + v * t.b.z + w * t.c.z;
    (y * width + x, u >= 0.0 && v >= 0.0 && w >= 0.0, Seen { far, light: t.light })
}

#[kernel]
fn grey(s: Seen) -> u8 {
    if s.far < f64::INFINITY { (255.0 * s.light.sqrt()) as u8 } else { 255 }
}

/// Builds the program: from vertices, the vertices of each triangle, the width and height of the picture and an angle to a picture.
pub fn program() -> Result<Compiled<(Arr<f64, D2>, Arr<i64, D2>, Exp<i64>, Exp<i64>, Exp<f64>), Arr<u8, D2>>, Error> {
    compile(|vertices: Arr<f64, D2>, faces: Arr<i64, D2>, width: Exp<i64>, height: Exp<i64>, turn: Exp<f64>| {
        let corners = vertices.rows().map(|v| project::kernel(v, width, height, turn));
        let triangles = faces.rows().map(|f| place::kernel(f, corners, width, height));
        let pixels = triangles.expand(|t| t.wide() * t.high(), |t, k| pixel::kernel(t, k, width));
        let at = pixels.map(|p| p.unpack().0);
        let inside = pixels.map(|p| p.unpack().1);
        let what = pixels.map(|p| p.unpack().2);
        let nothing = Seen { far: f64::INFINITY, light: 0.0 };
        let picture = fill(nothing, width * height).permute_where(at, what, inside, nearer::kernel);
        picture.map(grey::kernel).reshape((height, width))
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    // A pyramid from above.
    let vertices = vec![
        vec![0.0, 3.0, 0.0],
        vec![-2.0, 1.0, 2.0],
        vec![2.0, 1.0, 2.0],
        vec![2.0, 1.0, -2.0],
        vec![-2.0, 1.0, -2.0],
    ];
    let faces = vec![vec![0, 1, 2], vec![0, 2, 3], vec![0, 3, 4], vec![0, 4, 1]];
    let picture = program()?.call(Array::from_rows(vertices)?, Array::from_rows(faces)?, 48, 20, 0.4)?;
    for row in picture.to_rows() {
        println!("{}", row.iter().map(|&g| b"@%#*+=-. "[g as usize / 29] as char).collect::<String>());
    }
    Ok(())
}
