use deckle::prelude::*;

#[derive(Clone, Copy, Elt)]
enum Shape {
    Circle(f32),
    Square,
}

fn main() {}
