//! Where the lines of earlier sessions are.

use std::env;
use std::path::PathBuf;

/// The file, if there is a place for it.
pub fn file() -> Option<PathBuf> {
    let set = |key: &str| env::var_os(key).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|h| h.join("Library/Application Support"))
    } else {
        set("XDG_DATA_HOME").filter(|p| p.is_absolute()).or_else(|| set("HOME").map(|h| h.join(".local/share")))
    };
    Some(base?.join("deckle").join("history"))
}
