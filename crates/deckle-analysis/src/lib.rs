//! Static analysis of programs. Nothing here changes a program except `stream::materialize`, which calls `stream` after each change to test whether it helped.
//!
//! [`stream`] decides whether its sequences can be traversed once, all at the same time; [`regularity`] how values inside a body are lifted; [`bounds`] which index checks are
//! redundant; [`cost`] predicts work, depth and space. [`explain`](mod@explain) describes the results in words.

pub mod bounds;
pub mod cost;
pub mod explain;
pub mod regularity;
pub mod stream;
pub mod words;
