//! Bodies that attract each other: all pairs, a few steps of leapfrog. The twin of `nbody.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// A point or an arrow in space.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
pub struct Vec3 {
    x: f64,
    y: f64,
    z: f64,
}

/// What attracts and is attracted.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
pub struct Body {
    pos: Vec3,
    vel: Vec3,
    mass: f64,
}

const ZERO: Vec3 = Vec3 { x: 0.0, y: 0.0, z: 0.0 };

fn add(a: Exp<Vec3>, b: Exp<Vec3>) -> Exp<Vec3> {
    Vec3::exp(a.x() + b.x(), a.y() + b.y(), a.z() + b.z())
}

fn sub(a: Exp<Vec3>, b: Exp<Vec3>) -> Exp<Vec3> {
    Vec3::exp(a.x() - b.x(), a.y() - b.y(), a.z() - b.z())
}

fn scale(k: Exp<f64>, a: Exp<Vec3>) -> Exp<Vec3> {
    Vec3::exp(k * a.x(), k * a.y(), k * a.z())
}

fn dot(a: Exp<Vec3>, b: Exp<Vec3>) -> Exp<f64> {
    a.x() * b.x() + a.y() * b.y() + a.z() * b.z()
}

/// What `b` does to `a`; the small constant keeps close bodies from flying apart.
fn pull(a: Exp<Body>, b: Exp<Body>) -> Exp<Vec3> {
    let d = sub(b.pos(), a.pos());
    let r2 = dot(d, d) + 0.01;
    scale(b.mass() / (r2 * r2.sqrt()), d)
}

fn force(a: Exp<Body>, all: Arr<Body>) -> Exp<Vec3> {
    all.stream().map(|b| pull(a, b)).fold(ZERO, add)
}

fn step(dt: Exp<f64>, all: Arr<Body>) -> Arr<Body> {
    all.map(|a| {
        let vel = add(a.vel(), scale(dt, force(a, all)));
        let pos = add(a.pos(), scale(dt, vel));
        Body::exp(pos, vel, a.mass())
    })
}

/// Bodies on a spiral, so that the example needs no data.
fn galaxy(n: Exp<i64>) -> Arr<Body> {
    generate(n, |i| {
        let t = 0.7 * i.cast::<f64>();
        let r = 1.0 + 0.1 * i.cast::<f64>();
        let pos = Vec3::exp(r * t.cos(), r * t.sin(), 0.05 * (i % 3).cast::<f64>());
        let vel = Vec3::exp(0.0 - t.sin() / r.sqrt(), t.cos() / r.sqrt(), 0.0);
        Body::exp(pos, vel, 1.0 / n.cast::<f64>())
    })
}

/// Builds the program: the positions after some steps, and the total momentum, which stays.
pub fn program() -> Result<Compiled<(Exp<i64>, Exp<i64>), (Arr<Vec3>, Exp<Vec3>)>, Error> {
    compile(|n: Exp<i64>, steps: Exp<i64>| {
        let all = repeat(steps, galaxy(n), |_, all| step(constant(0.01), all));
        let momentum = all.stream().map(|b| scale(b.mass(), b.vel())).fold(ZERO, add);
        (all.map(|b| b.pos()), momentum)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let (positions, momentum) = program()?.call(12, 10)?;
    for p in positions {
        println!("{:8.4} {:8.4} {:8.4}", p.x, p.y, p.z);
    }
    println!("momentum {momentum:?}");
    Ok(())
}
