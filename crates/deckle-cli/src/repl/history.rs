//! The history file of earlier sessions.

use std::env;
use std::path::PathBuf;

/// The file, if a folder for it is known.
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
