//! Conway's game of life on a torus, by a stencil that wraps around. The twin of `life.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

fn next(board: Arr<u8, D2>) -> Arr<u8, D2> {
    board.stencil((1, 1), Edge::Wrap, |w| {
        let alive = w.at(1, 1);
        let neighbours = w.rows().flatten().sum() - alive;
        let lives = neighbours.equals(3).or(|| neighbours.equals(2).and(|| alive.equals(1)));
        choose(lives, || 1u8, || 0u8)
    })
}

/// Builds the program.
pub fn program() -> Result<Compiled<(Exp<i64>, Arr<u8, D2>), Arr<u8, D2>>, Error> {
    compile(|rounds: Exp<i64>, board: Arr<u8, D2>| repeat(rounds, board, |_, board| next(board)))
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let mut board = vec![vec![0u8; 12]; 12];
    for (i, j) in [(1, 2), (2, 3), (3, 1), (3, 2), (3, 3)] {
        board[i][j] = 1;
    }
    for row in program()?.call(8, Array::from_rows(board)?)?.to_rows() {
        println!("{}", row.iter().map(|c| if *c == 1 { '#' } else { '.' }).collect::<String>());
    }
    Ok(())
}
