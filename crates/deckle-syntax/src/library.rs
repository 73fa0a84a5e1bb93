//! The library: modules that come with Deckle and are imported by name, as in `import sparse`.
//!
//! They are ordinary scripts in `lib/`, part of the compiler's text. Nothing in the compiler knows what they define.

/// The modules: name, text.
const MODULES: [(&str, &str); 1] = [("sparse", include_str!("../../../lib/sparse.dk"))];

/// The text of a module.
pub fn text(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|m| m.0 == name).map(|m| m.1)
}

/// The names of all modules.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|m| m.0)
}

/// The file name of a module in messages. No file that a program imports has such a name.
pub fn file_name(module: &str) -> String {
    format!("<library>/{module}.dk")
}
