//! What the compiler knows of a program before it runs, and what it makes of it.
//!
//! Every pass reads the array IR and depends on nothing that runs programs. [`cost`] predicts work, depth and space.

pub mod cost;
