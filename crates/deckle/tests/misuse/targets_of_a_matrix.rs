use deckle::prelude::*;

fn main() {
    let _ = compile(|a: Arr<f64, D2>, at: Arr<i64>, xs: Arr<f64>| a.scatter(at, xs));
}
