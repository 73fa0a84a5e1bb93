//! What the compiler knows of a program before it runs, and what it makes of it.
//!
//! Every pass reads the array IR and depends on nothing that runs programs. [`stream`] decides whether a program can run with its
//! sequences traversed once; [`regularity`] how values inside a body are lifted; [`cost`] predicts work, depth and space.
//! [`chunk`](mod@chunk) makes loops over chunks of them. [`simplify`](mod@simplify) makes a program smaller without changing what it means, and [`bounds`] says which indices need no check.

pub mod bounds;
pub mod chunk;
pub mod contract;
pub mod cost;
pub mod cuts;
pub mod explain;
pub mod flatten;
pub mod kernels;
pub mod regularity;
pub mod reuse;
pub mod schedule;
pub mod simplify;
pub mod stream;
pub mod words;
