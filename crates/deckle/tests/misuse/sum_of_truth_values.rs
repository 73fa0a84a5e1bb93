use deckle::prelude::*;

fn main() {
    let _ = compile(|xs: Arr<bool>| xs.sum());
}
