use deckle::prelude::*;

#[derive(Clone, Copy, Elt)]
struct Pair<T> {
    a: T,
    b: T,
}

#[derive(Clone, Copy, Elt)]
struct Tuple(f64, f64);

#[derive(Clone, Copy, Elt)]
union Either {
    a: f64,
    b: i64,
}

#[derive(Clone, Copy, Elt)]
struct Nothing;

fn main() {}
