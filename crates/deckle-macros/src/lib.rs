//! `#[derive(Elt)]`, which makes a struct of elements an element of Deckle's arrays, and `#[kernel]`, which makes a function one of the language. Use them through the crate `deckle`.

mod elt;
mod kernel;
mod variants;

use proc_macro::TokenStream;

/// Makes a struct of elements an element: a record of the language.
///
/// For a struct `Body { pos: (f64, f64), mass: f64 }` it generates
/// - `Body: Elt`, so that `Exp<Body>`, `Arr<Body>` and `Array<Body>` exist;
/// - `Body::exp(pos, mass)`, an `Exp<Body>` constructed from its fields;
/// - the trait `BodyExp`, with the visibility of the struct, whose methods are the fields of an `Exp<Body>`: `b.mass()`.
///
/// The struct must be `Copy`, and have named fields, each of which is an element. An enum without data is an element, too: the number of its variant.
#[proc_macro_derive(Elt)]
pub fn derive_elt(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    elt::derive(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// Makes an ordinary function a function of the language, too.
///
/// The function stays as it is. Its twin is `f::kernel`, which has an expression for each parameter, and an array for each slice: for `map` and any other operator, on every backend.
///
/// ```text
/// #[kernel]
/// fn clamped(x: f32, limit: f32) -> f32 {
///     if x > limit { return limit; }
///     x.max(-limit)
/// }
///
/// clamped(3.0, 2.0)                                                a call in Rust
/// compile(|xs: Arr<f32>| xs.map(|x| clamped::kernel(x, 2.0)))      a program
/// ```
///
/// The body may contain arithmetic, variables and assignments, `if`, `match`, loops, early returns, tuples, structs and enums that derive `Elt`, arrays, slices, the methods of numbers, constants, and calls of
/// other kernels; what it cannot contain is refused with a reason. `docs/kernels.md` lists both, and where the twin differs from the function.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(arguments.into(), item.into()).into()
}
