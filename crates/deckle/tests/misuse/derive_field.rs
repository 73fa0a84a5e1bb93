use deckle::prelude::*;

#[derive(Clone, Copy, Elt)]
struct Named {
    name: &'static str,
}

fn main() {}
