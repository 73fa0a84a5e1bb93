use deckle::prelude::*;

fn main() {
    let _ = compile(|a: Arr<f64, D2>, x: Arr<f64>| a.zip_with(x, |a, b| a * b));
}
