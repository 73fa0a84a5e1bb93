//! The Mandelbrot set: how many rounds until a point escapes, as text or as a picture. The twin of `mandelbrot.dk`.
//!
//! Prints the text, and writes the picture to the file given, or else to `mandelbrot.png` in the folder for temporary files.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

fn escape(cx: Exp<f64>, cy: Exp<f64>, limit: Exp<i64>) -> Exp<i64> {
    let (_, _, n) = loop_while(
        (0.0, 0.0, 0),
        |(x, y, n)| n.lt(limit).and(|| (x * x + y * y).le(4.0)),
        |(x, y, n)| (x * x - y * y + cx, 2.0 * x * y + cy, n + 1),
    );
    n
}

fn escapes(width: Exp<i64>, height: Exp<i64>, limit: Exp<i64>) -> Arr<i64, D2> {
    generate2(height, width, |j, i| {
        let cx = -2.2 + 3.2 * i.cast::<f64>() / width.cast::<f64>();
        let cy = -1.2 + 2.4 * j.cast::<f64>() / height.cast::<f64>();
        escape(cx, cy, limit)
    })
}

type Args = (Exp<i64>, Exp<i64>, Exp<i64>);

/// Builds the program: the set as text.
pub fn program() -> Result<Compiled<Args, Arr<u8, D2>>, Error> {
    compile(|width: Exp<i64>, height: Exp<i64>, limit: Exp<i64>| {
        let ramp = constant_array(b" .:-=+*#%@");
        escapes(width, height, limit).map(|n| ramp.at(n * 9 / limit))
    })
}

/// Builds the picture: the set in black; around it, the lighter the sooner a point escapes.
pub fn picture() -> Result<Compiled<Args, Arr<u8, D2>>, Error> {
    compile(|width: Exp<i64>, height: Exp<i64>, limit: Exp<i64>| {
        escapes(width, height, limit).map(|n| (255 - 255 * n / limit).cast::<u8>())
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for row in program()?.call(64, 24, 60)?.to_rows() {
        println!("{}", String::from_utf8_lossy(&row));
    }
    let path = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("mandelbrot.png"), Into::into);
    deckle::io::write(&path, &picture()?.call(320, 240, 60)?)?;
    println!("the picture is in {}", path.display());
    Ok(())
}
