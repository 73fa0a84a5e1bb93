//! Programs from disk.

use crate::Outcome;
use crate::file::bad_file;
use deckle_diag::{Diagnostic, SourceMap, closest};
use deckle_syntax::Compiled;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// The most bytes that a program may have. A file that never ends must not be read for ever.
const LONGEST: u64 = 64 << 20;

/// Reads and compiles a program with everything that it imports.
///
/// # Errors
/// A file that cannot be read, and everything that is wrong with the program.
pub fn compile(path: &Path, sources: &mut SourceMap) -> Outcome<Compiled> {
    let bytes = read(path).map_err(|e| vec![e])?;
    let mut load = |from: &str, written: &str| import(from, written);
    deckle_syntax::compile(sources, &path.display().to_string(), bytes, &mut load)
}

/// The bytes of a program.
///
/// # Errors
/// It cannot be read; if another one has nearly the same name, that is told.
pub fn read(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    contents(path).map_err(|e| {
        let missing = !path.exists();
        let d = bad_file(&e.in_file(path));
        match missing.then(|| neighbour(path)).flatten() {
            Some(other) => d.help(format!("did you mean `{}`?", other.display())),
            None => d,
        }
    })
}

/// The bytes of a file that is no larger than a program may be.
///
/// # Errors
/// It cannot be read, or is larger.
pub fn contents(path: &Path) -> deckle_io::Result<Vec<u8>> {
    let io = |e: std::io::Error| deckle_io::Error::io(&e);
    let mut bytes = Vec::new();
    File::open(path).map_err(io)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > LONGEST {
        return Err(deckle_io::Error::new(format!("it is no program: it has more than {} MiB", LONGEST >> 20)));
    }
    Ok(bytes)
}

/// A program in the same directory with nearly the same name.
fn neighbour(path: &Path) -> Option<PathBuf> {
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = fs::read_dir(directory)
        .ok()?
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".dk").map(str::to_string))
        .collect();
    let wanted = path.file_stem()?.to_str()?;
    let meant = closest(wanted, names.iter().map(String::as_str))?;
    Some(path.with_file_name(format!("{meant}.dk")))
}

/// The shown name and the bytes of an imported file; its path counts from the file that imports it.
///
/// # Errors
/// It cannot be read, in words.
pub fn import(from: &str, written: &str) -> Result<(String, Vec<u8>), String> {
    let path = resolve(Path::new(from), Path::new(written));
    match contents(&path) {
        Ok(bytes) => Ok((path.display().to_string(), bytes)),
        Err(e) => Err(format!("cannot read `{}`: {}", path.display(), e.message)),
    }
}

/// Where an imported file is; its path counts from the file that imports it.
pub fn resolve(from: &Path, written: &Path) -> PathBuf {
    let joined = from.parent().unwrap_or(Path::new("")).join(written);
    let tidy = without_dots(&joined);
    // Behind a symbolic link, `a/..` need not be where `a` is.
    match (fs::canonicalize(&joined), fs::canonicalize(&tidy)) {
        (Ok(a), Ok(b)) if a != b => joined,
        _ => tidy,
    }
}

/// `a/./b/../c` as `a/c`, so that a file has one name however it is reached.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match (part, out.components().next_back()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                out.pop();
            }
            _ => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_count_from_the_importing_file() {
        let of = |from: &str, written: &str| resolve(Path::new(from), Path::new(written));
        assert_eq!(of("main.dk", "lib.dk"), Path::new("lib.dk"));
        assert_eq!(of("a/main.dk", "./lib.dk"), Path::new("a/lib.dk"));
        assert_eq!(of("a/b/main.dk", "../lib.dk"), Path::new("a/lib.dk"));
        assert_eq!(of("main.dk", "../lib.dk"), Path::new("../lib.dk"));
        assert_eq!(of("a/main.dk", "/lib.dk"), Path::new("/lib.dk"));
    }
}
