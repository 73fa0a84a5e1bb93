use deckle::prelude::*;

#[derive(Clone, Copy, Elt)]
enum Shape {
    Circle,
    Square,
}

fn main() {}
