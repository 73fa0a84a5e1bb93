use deckle::prelude::*;

fn main() {
    let _ = compile(|x: Arr<f64>| x.rows());
}
