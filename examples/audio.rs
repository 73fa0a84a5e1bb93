//! Sound through windows whose length depends on the signal, and of each its spectrum, a matrix of a size of its own. The twin of `audio.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// A subsequence for each window: from one upward crossing of silence to the next.
fn windows(sound: Seq<f64>) -> Seq<Seq<f64>> {
    let before = sound.scan(0.0, |_, x| x);
    let crosses = sound.zip_with(before, |x, p| p.lt(0.0) & x.ge(0.0));
    let ends = crosses.flat_map(|c| only_if(c, || true).chain(only_if(constant(true), || false)));
    sound.flagpart(ends.chain(only_if(constant(true), || true)))
}

/// A row for each frequency that fits: how much of a cosine and how much of a sine of it there is.
fn spectrum(w: Arr<f64>) -> Arr<Arr<f64>> {
    let n = w.len();
    let angle = std::f64::consts::TAU / n.max(1).cast::<f64>();
    iota(n / 2 + 1).map(|k| {
        let part = |wave: &dyn Fn(Exp<f64>) -> Exp<f64>| {
            w.stream().zip_with(count_to(n), |x, t| x * wave(angle * (k * t % n).cast::<f64>())).sum()
        };
        array([part(&|a| a.cos()), part(&|a| a.sin())])
    })
}

/// Builds the program: the length of each window that is not silent, the number of its strongest frequency, and its energy.
pub fn program() -> Result<Compiled<(Seq<f64>,), Seq<(i64, i64, i64)>>, Error> {
    compile(|sound: Seq<f64>| {
        let found = windows(sound).map(|w| {
            let w = w.tab();
            let strengths = spectrum(w).map(|row| row.at(0) * row.at(0) + row.at(1) * row.at(1));
            (w.len(), strengths.argmax(), w.stream().map(|x| x * x).sum())
        });
        found.filter(|f| f.unpack().2.gt(0.01)).map(|f| {
            let (n, k, energy) = f.unpack();
            (n, k, (energy * 1000.0).cast::<i64>())
        })
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let sound = (0..4000).map(|t| (f64::from(t) * (0.1 + f64::from(t) * 1e-5)).sin() * 0.5);
    for window in program()?.on(Cpu).stream(feed(sound)).take(5) {
        println!("{:?}", window?);
    }
    Ok(())
}
