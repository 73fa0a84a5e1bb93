use deckle::prelude::*;

fn main() {
    let _ = compile(|x: Exp<i64>| format!("{x:?}"));
}
