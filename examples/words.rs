//! The words of a text and their lengths: a stream of bytes is cut into words on the fly. The twin of `words.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

fn is_letter(c: Exp<u8>) -> Exp<bool> {
    let between = |a: u8, b: u8| c.ge(a).and(|| c.le(b));
    between(b'a', b'z').or(|| between(b'A', b'Z').or(|| c.equals(b'\'')))
}

/// Builds the program.
pub fn program() -> Result<Compiled<(Arr<u8>,), Arr<i64>>, Error> {
    compile(|text: Arr<u8>| {
        let letters = text.stream().filter(is_letter);
        let flags = text.stream().map(|c| !is_letter(c)).chain(only_if(constant(true), || true));
        letters.flagpart(flags).map(|word| word.count()).filter(|n| n.gt(0)).tab()
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    println!("{:?}", program()?.call(b"we the people of the united states".to_vec())?.to_vec());
    Ok(())
}
