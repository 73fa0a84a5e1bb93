//! Conway's game of life on a torus, by a stencil that wraps around. The twin of `life.dk`.
//!
//! Prints a glider after eight generations, and writes its picture to the file given, or else to `life.png` in the folder for temporary files.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

fn next(board: Arr<u8, D2>) -> Arr<u8, D2> {
    board.stencil((1, 1), Edge::Wrap, |w| {
        let alive = w.at(1, 1);
        let neighbours = w.sum_all() - alive;
        let lives = neighbours.equals(3).or(|| neighbours.equals(2).and(|| alive.equals(1)));
        choose(lives, || 1u8, || 0u8)
    })
}

fn glider(size: Exp<i64>) -> Arr<u8, D2> {
    let cells = constant_array(&[(1, 2), (2, 3), (3, 1), (3, 2), (3, 3)]);
    fill(0u8, (size, size)).scatter(cells, fill(1u8, 5))
}

fn after(rounds: Exp<i64>, board: Arr<u8, D2>) -> Arr<u8, D2> {
    repeat(rounds, board, |_, board| next(board))
}

/// Builds the program: a glider after some generations, as text.
pub fn program() -> Result<Compiled<(Exp<i64>, Exp<i64>), Arr<u8, D2>>, Error> {
    compile(|size: Exp<i64>, rounds: Exp<i64>| {
        after(rounds, glider(size)).map(|c| choose(c.equals(1), || b'#', || b'.'))
    })
}

/// Builds the picture: the living in black on white, each a square of `zoom` pixels.
pub fn picture() -> Result<Compiled<(Exp<i64>, Exp<i64>, Exp<i64>), Arr<u8, D2>>, Error> {
    compile(|size: Exp<i64>, rounds: Exp<i64>, zoom: Exp<i64>| {
        let board = after(rounds, glider(size));
        generate2(size * zoom, size * zoom, |i, j| choose(board.at(i / zoom, j / zoom).equals(1), || 0u8, || 255u8))
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for row in program()?.call(12, 8)?.to_rows() {
        println!("{}", String::from_utf8_lossy(&row));
    }
    let path = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("life.png"), Into::into);
    deckle::io::write(&path, &picture()?.call(12, 8, 16)?)?;
    println!("the picture is in {}", path.display());
    Ok(())
}
