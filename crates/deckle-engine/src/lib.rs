//! Compile, bind, run, stream, report: what every front end uses.

mod native;
mod settings;

pub use deckle_passes::chunk::Chunks;
pub use deckle_passes::cuts::Cuts;
pub use deckle_runtime::Data;
pub use native::*;
pub use settings::{Progress, Settings, pool};
