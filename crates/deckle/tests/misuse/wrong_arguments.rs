use deckle::prelude::*;

fn main() {
    let f = compile(|xs: Arr<f64>, n: Exp<i64>| xs.take(n)).unwrap();
    let _ = f.call(vec![1.0]);
    let _ = f.call(vec![1.0], "one");
}
