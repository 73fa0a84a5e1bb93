//! Values, types and signatures as users write and read them.
//!
//! [`parse`] and [`show`] are inverse to one another, unless the text was shortened. The notation is that of the script
//! language, so that a result can be pasted into a program or passed to the next run.

mod names;
mod parse;
mod show;

pub use names::{parameters, records, scalar_name, signature, type_name};
pub use parse::{Wrong, bytes_value, collection, example, is_text, parse};
pub(crate) use show::WIDTH;
pub(crate) use show::show_at;
pub use show::{Ends, grouped, show};
