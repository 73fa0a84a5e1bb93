//! Lesson 2: sharing, choices and loops.
//!
//! Rust lets a library overload `+`, but not `if`, `<`, `&&` or `while`. Deckle has one method or function for each.

use deckle::prelude::*;

/// The lesson.
pub fn main() -> Result<(), Error> {
    // Comparisons are methods: `lt`, `le`, `gt`, `ge`, `equals`, `differs`. `choose` is `if`: it takes two closures, only one of which is
    // evaluated. That matters here: the division by zero never happens.
    let safe = compile(|xs: Arr<i64>| xs.map(|x| choose(x.equals(0), || 0, || 100 / x)))?;
    assert_eq!(safe.call([0, 7, -3])?.to_vec(), [0, 14, -33]);

    // `select` is for two values that are cheap and cannot fail. `and` and `or` evaluate their right side only if needed;
    // `&` and `|` evaluate both.
    let clamp = compile(|xs: Arr<f64>| xs.map(|x| select(x.lt(0.0) | x.is_nan(), 0.0, x)))?;
    assert_eq!(clamp.call([-1.0, f64::NAN, 2.0])?.to_vec(), [0.0, 0.0, 2.0]);

    // A value used twice is computed once. This is guaranteed, not an optional optimisation: the same operator on the same
    // operands *is* the same variable, so there is one multiplication in this program.
    let shared = compile(|x: Exp<f64>| {
        let y = x * x;
        y + y + x * x
    })?;
    let text = shared.program().to_string();
    println!("{text}");
    assert_eq!(text.matches("mul(").count(), 1);

    // Loops carry a state from round to round. Tuples of expressions are packed into one expression, and unpacked again.
    let gcd = compile(|a: Exp<i64>, b: Exp<i64>| {
        let (a, _) = loop_while(
            pack((a, b)),
            |s| s.unpack().1.differs(0),
            |s| {
                let (a, b) = s.unpack();
                (b, a % b)
            },
        )
        .unpack();
        a
    })?;
    assert_eq!(gcd.call(48, 36)?, 12);

    // `repeat` runs a number of rounds. The state may be an array. A Rust loop would be unrolled into the program; this one is not.
    let smooth = compile(|n: Exp<i64>, xs: Arr<f64>| {
        repeat(n, xs, |_, xs| xs.stencil(1, Edge::Clamp, |w| (w.at(0) + w.at(1) + w.at(2)) / 3.0))
    })?;
    let flat = smooth.call(200, [0.0, 0.0, 9.0, 0.0])?;
    assert!(flat.as_slice().iter().all(|x| (x - 2.25).abs() < 0.01));
    Ok(())
}
