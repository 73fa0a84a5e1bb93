use deckle::prelude::*;

fn main() {
    let _ = compile(|xs: Arr<String>| xs.len());
}
