//! What the compiler knows of a program before it runs, and what it makes of it.
//!
//! Every pass reads the array IR and depends on nothing that runs programs. [`stream`] decides whether a program can run with its
//! sequences traversed once; [`regularity`] how values inside a body are lifted; [`cost`] predicts work, depth and space.

pub mod cost;
pub mod explain;
pub mod regularity;
pub mod stream;
pub mod words;
