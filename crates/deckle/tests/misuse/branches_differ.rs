use deckle::prelude::*;

fn main() {
    let _ = compile(|x: Exp<i64>, y: Exp<f64>| choose(x.gt(0), || x, || y));
}
