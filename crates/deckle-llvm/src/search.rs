//! The candidate files for libLLVM, best first, without opening any.
//!
//! 1. `$DECKLE_LLVM`, a file or a folder. If it is set, nothing else is tried: silently ignoring an explicit choice is worse than an error.
//! 2. The Rust toolchains under `$RUSTUP_HOME` or `~/.rustup`: the one in `$RUSTUP_TOOLCHAIN`, then the default, then the others.
//! 3. `$LD_LIBRARY_PATH` and the system's folders, newest first.
//! 4. Names that only the dynamic linker can resolve, and the output of `rustc --print sysroot`; see [`Place::Name`] and [`Place::Sysroot`].
//!
//! `rustc` comes last although its library is preferred: it takes 30 ms to answer, and if rustup has not installed it, it uses the
//! system's libLLVM. Folders are searched one by one and only as far as needed; the first usually has one, and all of them take a millisecond.
//!
//! The version is taken from the name of the file after resolving links (`libLLVM.so.22.1-rust-1.95.0-stable`, `libLLVM-16.so.1`), so that a cache entry
//! can be found without opening LLVM. A file without a version in its name remains a candidate, and is queried after opening.

use crate::library::{NEWEST, OLDEST};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A possible location of libLLVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file, and its major version if the name contains it.
    File(PathBuf, Option<u32>),
    /// A name for the dynamic linker to resolve.
    Name(String),
    /// In the folder printed by `rustc --print sysroot`.
    Sysroot,
}

/// The places to try, in order, and the skipped ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub places: Vec<Place>,
    /// Files that are too old according to their names.
    pub rejected: Vec<(PathBuf, String)>,
    /// Folders without any.
    pub looked: Vec<String>,
    /// Files that are already in one of the lists.
    pub seen: HashSet<PathBuf>,
}

/// Searches as the environment specifies: in all places, or until the first file whose name contains its version.
pub(crate) fn search(all: bool) -> Found {
    let mut found = Found::default();
    for folder in folders(&mut found) {
        found.folder(&folder);
        if !all && found.sure().is_some() {
            return found;
        }
    }
    if std::env::var_os("DECKLE_LLVM").is_some_and(|v| !v.is_empty()) {
        return found;
    }
    if cfg!(target_os = "linux") {
        found.places.extend((19..=NEWEST).rev().map(|v| Place::Name(format!("libLLVM.so.{v}.1"))));
        found.places.extend((OLDEST..19).rev().map(|v| Place::Name(format!("libLLVM-{v}.so.1"))));
    }
    found.places.push(Place::Sysroot);
    found
}

/// The folders to search, in order. An explicitly chosen file is added to `found` at once.
fn folders(found: &mut Found) -> impl Iterator<Item = PathBuf> + use<> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    let chosen = variable("DECKLE_LLVM").map(PathBuf::from);
    let is_chosen = chosen.is_some();
    if let Some(path) = chosen.as_ref().filter(|p| !p.is_dir()) {
        found.chosen(path);
    }
    let rustup = variable("RUSTUP_HOME").map(PathBuf::from);
    let rustup = rustup.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".rustup")));
    let toolchain = variable("RUSTUP_TOOLCHAIN").map(|t| t.to_string_lossy().into_owned());
    let searched = variable("LD_LIBRARY_PATH").map(|v| std::env::split_paths(&v).collect::<Vec<_>>());
    let chosen = chosen.into_iter().filter(|p| p.is_dir()).flat_map(|p| [p.join("lib"), p]);
    // Each part is searched only if those before it contained no library.
    let toolchains = rustup.into_iter().flat_map(move |r| toolchains(&r, toolchain.clone()));
    let system = std::iter::once(()).flat_map(|()| system_folders());
    let unasked = toolchains.chain(searched.into_iter().flatten()).chain(system);
    chosen.chain(unasked.take(if is_chosen { 0 } else { usize::MAX }))
}

/// The library folders of the toolchains under `rustup`: `first`, the default one, the rest.
fn toolchains(rustup: &Path, first: Option<String>) -> impl Iterator<Item = PathBuf> + use<> {
    let root = rustup.join("toolchains");
    let settings = rustup.join("settings.toml");
    let default =
        || std::iter::once(()).filter_map(move |()| default_toolchain(&std::fs::read_to_string(&settings).ok()?));
    let preferred = first.into_iter().chain(default()).map({
        let root = root.clone();
        move |toolchain| root.join(toolchain)
    });
    let rest = std::iter::once(()).flat_map(move |()| {
        let mut rest: Vec<PathBuf> =
            std::fs::read_dir(&root).into_iter().flatten().flatten().map(|e| e.path()).collect();
        rest.sort();
        rest.into_iter().rev()
    });
    preferred.chain(rest).map(|toolchain| toolchain.join("lib"))
}

impl Found {
    /// The file that will be opened unless it is unusable, if its version is known.
    pub(crate) fn sure(&self) -> Option<&Path> {
        match self.places.first() {
            Some(Place::File(path, Some(_))) => Some(path),
            _ => None,
        }
    }

    fn chosen(&mut self, path: &Path) {
        if path.is_file() {
            let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            let major = path.file_name().and_then(|n| major_of(&n.to_string_lossy()));
            self.add(path, major);
        } else {
            self.rejected.push((path.to_path_buf(), "DECKLE_LLVM names it, and it does not exist".into()));
        }
    }

    /// Adds the libraries in a folder, newest first, those without a version in their name last.
    pub(crate) fn folder(&mut self, folder: &Path) {
        let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name());
        let mut files: Vec<(Option<u32>, PathBuf)> = names
            .filter(|name| is_libllvm(&name.to_string_lossy()))
            .filter_map(|name| folder.join(name).canonicalize().ok())
            .filter(|path| path.metadata().is_ok_and(|m| m.is_file() && m.len() > LINKER_SCRIPT))
            .map(|path| (path.file_name().and_then(|n| major_of(&n.to_string_lossy())), path))
            .collect();
        files.sort_by(|a, b| b.cmp(a));
        if files.is_empty() {
            self.looked.push(folder.display().to_string());
        }
        for (major, path) in files {
            if self.seen.insert(path.clone()) {
                self.add(path, major);
            }
        }
    }

    fn add(&mut self, path: PathBuf, major: Option<u32>) {
        match major {
            Some(v) if v < OLDEST => self.rejected.push((path, format!("version {v} is too old"))),
            _ => self.places.push(Place::File(path, major)),
        }
    }
}

/// Files up to this size are linker scripts that name the library; the library itself is a hundred megabytes.
const LINKER_SCRIPT: u64 = 64 << 10;

fn system_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    if cfg!(target_os = "macos") {
        folders.extend(["/opt/homebrew/opt/llvm/lib", "/usr/local/opt/llvm/lib"].map(PathBuf::from));
        return folders;
    }
    let versions = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|e| e.path());
    let is_llvm = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("llvm"));
    let mut versions: Vec<PathBuf> = versions.filter(is_llvm).map(|p| p.join("lib")).collect();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    folders.extend([&multiarch, "/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from));
    folders
}

/// Whether a file name is that of the whole library, not of one of its components.
pub(crate) fn is_libllvm(name: &str) -> bool {
    let whole = name.strip_prefix("libLLVM").is_some_and(|rest| rest.starts_with(['.', '-']));
    whole && (name.contains(".so") || name.ends_with(".dylib"))
}

/// The major version in a file name. Numbers below 4 are those of the binary interface (`libLLVM.so.1`).
pub(crate) fn major_of(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("libLLVM")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).find(|d| !d.is_empty())?;
    digits.parse().ok().filter(|&v| v >= 4)
}

/// The default in rustup's settings, on a line of its own: `default_toolchain = "stable-x86_64-unknown-linux-gnu"`.
fn default_toolchain(settings: &str) -> Option<String> {
    let line = settings.lines().find_map(|l| l.trim().strip_prefix("default_toolchain"))?;
    Some(line.trim_start_matches([' ', '=']).trim_matches('"').to_string())
}

/// The output of `rustc --print sysroot`.
pub(crate) fn sysroot() -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = std::process::Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    out.status.success().then(|| PathBuf::from(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        for (name, version) in [
            ("libLLVM.so.22.1-rust-1.95.0-stable", Some(22)),
            ("libLLVM-17-rust-1.75.0-stable.so", Some(17)),
            ("libLLVM-14.0.6.so.1", Some(14)),
            ("libLLVM.so.19.1", Some(19)),
            ("libLLVM.so", None),
            ("libLLVM.so.1", None),
            ("libLLVM.dylib", None),
        ] {
            assert_eq!(major_of(name), version, "{name}");
            assert!(is_libllvm(name), "{name}");
        }
        for name in ["libLLVMCore.so", "libLLVM-16.a", "libLLVM", "libLLD.so.16"] {
            assert!(!is_libllvm(name), "{name}");
        }
    }

    #[test]
    fn the_default_toolchain_is_read_from_the_settings() {
        let text = "version = \"12\"\ndefault_toolchain = \"stable-x86_64-unknown-linux-gnu\"\nprofile = \"default\"\n";
        assert_eq!(default_toolchain(text).as_deref(), Some("stable-x86_64-unknown-linux-gnu"));
        assert_eq!(default_toolchain("version = \"12\"\n"), None);
    }

    #[cfg(unix)]
    #[test]
    fn folders_give_new_versions_first_each_file_once_and_no_scripts() {
        let folder = std::env::temp_dir().join(format!("deckle-search-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        let library = |name: &str| {
            let file = std::fs::File::create(folder.join(name)).unwrap();
            file.set_len(LINKER_SCRIPT + 1).unwrap();
        };
        library("libLLVM-16.so.1");
        library("libLLVM-17.so.1");
        library("libLLVM.so.19.1");
        std::os::unix::fs::symlink("libLLVM.so.19.1", folder.join("libLLVM-19.so")).unwrap();
        std::fs::write(folder.join("libLLVM-22.so"), "INPUT(libLLVM.so.22.1)").unwrap();
        let mut found = Found::default();
        found.folder(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        let file = |name: &str, v| Place::File(folder.join(name), Some(v));
        assert_eq!(found.places, [file("libLLVM.so.19.1", 19), file("libLLVM-17.so.1", 17)]);
        assert_eq!(found.rejected.len(), 1, "{:?}", found.rejected);
    }
}
