//! Lesson 3: a size is an expression.
//!
//! Every array in a program has a size in its type, and the size is an expression: a number, a variable, a sum, a value read from
//! another array. You write none of them; they are inferred while the program is built, and the compiler relies on them.

use deckle::prelude::*;

/// The lesson.
pub fn main() -> Result<(), Error> {
    // The rows of a matrix have one length, which is in its type: `[[f64; n1]; n0]`. A row's product with `x` requires `x` to have
    // that length too, and the type shows where this is checked.
    let matvec = compile(|a: Arr<f64, D2>, x: Arr<f64>| a.rows().map(|row| row.zip_with(x, |a, b| a * b).sum()))?;
    println!("{}", matvec.program());

    // `take` returns at most the given number: the size is a minimum. `append` adds sizes. The size of a range follows from its ends.
    let sizes = compile(|n: Exp<i64>, xs: Arr<f64>| xs.take(n).append(iota(n + 1).map(|i| i.cast::<f64>())))?;
    let text = sizes.program().to_string();
    println!("{text}");
    assert!(text.contains("min("), "the size of `take` is a minimum");

    // The interesting case: a size that depends on the position. `iota(n)` for each `n` of a vector has rows of different
    // lengths, and the type gives them: row `i` has `v0[i]` elements. This is the meaning of "ragged" here; it is not a special kind of array.
    let rows = compile(|ns: Arr<i64>| ns.map(|n| iota(n)).flatten())?;
    let text = rows.program().to_string();
    println!("{text}");
    assert!(text.contains("[i0 -> [i64; v0[i0]]; n0]"), "rows are as long as the numbers say");
    // Flattened, the number of elements is the total of all rows: a sum.
    assert!(text.contains("sum(i0 < n0: v0[i0])"));
    assert_eq!(rows.call([2, 0, 3])?.to_vec(), [0, 1, 0, 1, 2]);

    // If the sum has a closed form, it is found. Rows split by offsets have off[i+1] - off[i] elements each, and all
    // of them together off[n] - off[0]: no addition remains.
    let cut = compile(|off: Arr<i64>, xs: Arr<f64>| xs.split_offsets(off).map(|row| row.map(|x| x * 2.0)).flatten())?;
    let text = cut.program().to_string();
    println!("{text}");
    assert!(!text.contains("sum("));
    assert_eq!(cut.call([0, 2, 2, 3], [1.0, 2.0, 3.0])?.to_vec(), [2.0, 4.0, 6.0]);
    Ok(())
}
