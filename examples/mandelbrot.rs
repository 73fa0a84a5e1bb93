//! The Mandelbrot set as text. The twin of `mandelbrot.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

fn escape(cx: Exp<f64>, cy: Exp<f64>, limit: Exp<i64>) -> Exp<i64> {
    let start = pack((constant(0.0), constant(0.0), constant(0)));
    let (_, _, n) = loop_while(
        start,
        |s| {
            let (x, y, n) = s.unpack();
            n.lt(limit).and(|| (x * x + y * y).le(4.0))
        },
        |s| {
            let (x, y, n) = s.unpack();
            (x * x - y * y + cx, 2.0 * x * y + cy, n + 1)
        },
    )
    .unpack();
    n
}

type Args = (Exp<i64>, Exp<i64>, Exp<i64>);

/// Builds the program.
pub fn program() -> Result<Compiled<Args, Arr<u8, D2>>, Error> {
    compile(|width: Exp<i64>, height: Exp<i64>, limit: Exp<i64>| {
        generate2(height, width, |j, i| {
            let ramp = constant_array(b" .:-=+*#%@");
            let cx = -2.2 + 3.2 * i.cast::<f64>() / width.cast::<f64>();
            let cy = -1.2 + 2.4 * j.cast::<f64>() / height.cast::<f64>();
            let n = escape(cx, cy, limit);
            ramp.at(choose(n.equals(limit), || 9, || n * 9 / limit))
        })
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    for row in program()?.call(64, 24, 60)?.to_rows() {
        println!("{}", String::from_utf8_lossy(&row));
    }
    Ok(())
}
