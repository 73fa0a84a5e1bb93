//! Sizes and types as text: how they are written in messages and dumps, and how they are read back.
//!
//! | size | text | | type | text |
//! |---|---|---|---|---|
//! | polynomial | `2*n0*n1 - 3` | | scalar | `f64` |
//! | variable, family | `n0`, `n2(i0)` | | tuple | `()`, `(f64,)`, `(f64, i64)` |
//! | integer of the program | `v3`, `v3.0` | | record | `csr{off: [i64; n0 + 1], data: [f64; n1]}` |
//! | element read | `v3[i0 + 1]` | | vector | `[f64; n0]`, `[i0 -> [f64; n1(i0)]; n0]` |
//! | sum | `sum(i1 < n0: v3[i1])` | | sequence | `{f64}`, `{i0 -> [f64; n3(i0)]}` |
//! | extremes | `min(n0, 3)`, `max(n0, 3)` | | | |
//! | conditional, quotient | `if(v3, n0, 1)`, `div(n0, 2)` | | | |
//! | logarithm, maximum | `log(n0)`, `most(i1 < n0: v3[i1])` | | | |
//! | position of a body | `^2` | | | |
//!
//! A position is named after the level of its binder, counted from the outermost binder of the whole type, so a name
//! has one meaning only. A vector or sequence type names its position only if its element type mentions it.
//! A position that nothing binds, which no well-formed type has, is `#0`, `#1`, ... counted from the inside out.
//!
//! Reading does not simplify sums, extremes, conditionals and quotients: the value read
//! is exactly the one that was written.

mod read;
pub(crate) mod scan;
mod show;

pub use read::{parse_size, parse_type};
pub use scan::ParseError;
pub(crate) use show::{Name, comma_separated};
