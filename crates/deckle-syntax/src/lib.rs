//! The `.dk` script language: from text to array IR.

pub mod ast;
