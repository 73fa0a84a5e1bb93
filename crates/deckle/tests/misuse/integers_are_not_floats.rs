use deckle::prelude::*;

fn main() {
    let _ = compile(|x: Exp<f64>| x * 2);
}
