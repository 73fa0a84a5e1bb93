use deckle::prelude::*;

fn main() {
    let _ = compile(|x: Exp<i64>| if x.gt(0) { x } else { -x });
}
