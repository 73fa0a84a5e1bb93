//! What is known of a program before it runs. Nothing here changes a program but `stream::materialize`, which asks `stream` after each change whether it helped.
//!
//! [`stream`] decides whether its sequences can be traversed once, all at the same time; [`regularity`] how values inside a body are lifted; [`bounds`] which indices need no
//! check; [`cost`] predicts work, depth and space. [`explain`](mod@explain) says it in words.

pub mod bounds;
pub mod cost;
pub mod explain;
pub mod regularity;
pub mod stream;
pub mod words;
