//! The `.dk` script language: from text to array IR.

pub mod ast;
mod lex;
mod parse;

pub use lex::{NotUtf8, decode};
pub use parse::parse;
