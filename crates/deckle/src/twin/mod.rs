//! The support code of `#[kernel]`: what the twin of a function is made of.
//!
//! The attribute translates an expression of the host type `T` to one of type `Exp<T>`, operator by operator: `x * 2.0` becomes `mul(x, lit(2.0))`. Every function
//! here has the type that the operator has in Rust, with `Exp` around each operand and the result, so Rust infers the types of the twin as it infers those of the
//! function, literals included. What depends on fields is inferred from closures over host values that never run.
//!
//! ```text
//! let d = p.x - 1.0;      let d = sub(field(p, "x", |s| s.x), lit(1.0));
//! ```
//!
//! - `value.rs`: literals, tuples, structs, arrays and their parts
//! - `index.rs`: indexing into arrays, slices and constants
//! - `arithmetic.rs`: operators, comparisons, casts
//! - `methods.rs`, `floats.rs`: the methods of numbers
//! - `control.rs`: conditionals and loops, and the variables that they assign

mod arithmetic;
mod control;
mod floats;
mod index;
mod methods;
mod value;

pub use arithmetic::*;
pub use control::*;
pub use floats::*;
pub use index::*;
pub use methods::*;
pub use value::*;
