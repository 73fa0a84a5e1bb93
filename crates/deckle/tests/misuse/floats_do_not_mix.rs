use deckle::prelude::*;

fn main() {
    let _ = compile(|x: Exp<f32>, y: Exp<f64>| y + x);
}
