//! The one libLLVM of the process.
//!
//! It is opened at most once, when code must be compiled, and never closed: LLVM registers functions that run when the process ends.
//! A second libLLVM must not be loaded next to one that is already mapped, for example by a graphics driver: they share symbol names, and have been
//! seen to call into each other (intel/compute-runtime #122). So a mapped library is used if it is suitable, and otherwise none.
//!
//! Opening takes 8 to 9 ms of relocation with the file in memory, most of the run time of a small program. [`identity`] therefore determines which
//! library *would* be opened from its file alone, which is sufficient to find objects that it compiled earlier.

#![allow(unsafe_code)]

use crate::error::Unavailable;
use crate::ffi::{self, Api};
use crate::search::{self, Found, Place};
use libloading::Library;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The oldest version that is used. Earlier ones cannot compile the minimum and maximum of floats on x86.
pub(crate) const OLDEST: u32 = 17;
/// The newest version whose name is passed to the dynamic linker. Newer files are used where they are found.
pub(crate) const NEWEST: u32 = 30;

/// An opened libLLVM.
pub(crate) struct Llvm {
    pub library: Library,
    pub api: Api,
    pub path: PathBuf,
    pub version: (u32, u32, u32),
    /// Whether other code had opened it before.
    pub shared: bool,
}

static OPENED: OnceLock<Result<Llvm, Unavailable>> = OnceLock::new();

/// The file that will probably be opened.
fn likely() -> Option<&'static Path> {
    static LIKELY: OnceLock<Option<PathBuf>> = OnceLock::new();
    LIKELY.get_or_init(|| search::search(false).sure().map(Path::to_path_buf)).as_deref()
}

/// The library, opened on the first call.
pub(crate) fn open() -> Result<&'static Llvm, Unavailable> {
    OPENED.get_or_init(open_any).as_ref().map_err(Clone::clone)
}

/// Whether [`open`] may succeed, if possible without opening anything.
pub(crate) fn expected() -> Result<(), Unavailable> {
    if likely().is_some() { Ok(()) } else { open().map(|_| ()) }
}

/// A text that differs between libraries that may compile differently: the name of the file, its size and its modification time.
/// None if that is unknown before a library is opened, and none is open.
pub(crate) fn identity() -> Option<&'static str> {
    static OF_OPENED: OnceLock<String> = OnceLock::new();
    static OF_LIKELY: OnceLock<Option<String>> = OnceLock::new();
    if let Some(Ok(llvm)) = OPENED.get() {
        let or_else = || format!("{} {:?}", llvm.path.display(), llvm.version);
        return Some(OF_OPENED.get_or_init(|| identity_of(&llvm.path).unwrap_or_else(or_else)));
    }
    OF_LIKELY.get_or_init(|| identity_of(likely()?)).as_deref()
}

fn identity_of(path: &Path) -> Option<String> {
    let (name, data) = (path.file_name()?, path.metadata().ok()?);
    let changed = data.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", name.to_string_lossy(), data.len(), changed.as_nanos()))
}

fn open_any() -> Result<Llvm, Unavailable> {
    let mapped = mapped();
    if mapped.is_none()
        && let Some(llvm) = likely().and_then(|path| open_file(path, false).ok())
    {
        return Ok(llvm);
    }
    open_first(&search::search(true), mapped)
}

fn open_first(found: &Found, mapped: Option<PathBuf>) -> Result<Llvm, Unavailable> {
    let mut failed = Unavailable { rejected: found.rejected.clone(), looked: found.looked.clone() };
    if let Some(path) = mapped {
        return open_file(&path, true).map_err(|why| Unavailable {
            rejected: vec![(path, format!("it is part of this process already, so no other can be opened, but {why}"))],
            looked: Vec::new(),
        });
    }
    let mut attempt = |path: &Path| match open_file(path, false) {
        Ok(llvm) => Some(llvm),
        Err(why) => {
            failed.rejected.push((path.to_path_buf(), why));
            None
        }
    };
    let mut names = Vec::new();
    for place in &found.places {
        let opened = match place {
            Place::File(path, _) => attempt(path),
            Place::Name(name) => {
                names.push(name.as_str());
                open_file(Path::new(name), false).ok()
            }
            Place::Sysroot => {
                let mut inner = Found::default();
                search::sysroot().into_iter().for_each(|root| inner.folder(&root.join("lib")));
                failed.looked.push("`rustc --print sysroot`".into());
                inner.places.iter().find_map(|p| if let Place::File(path, _) = p { attempt(path) } else { None })
            }
        };
        if let Some(llvm) = opened {
            return Ok(llvm);
        }
    }
    if let [newest, .., oldest] = names[..] {
        failed.looked.push(format!("the dynamic linker's folders ({oldest} to {newest})"));
    }
    Err(failed)
}

fn open_file(path: &Path, shared: bool) -> Result<Llvm, String> {
    let library = dynamic::open(path, shared)?;
    let version = ffi::version(&library);
    let version = version.filter(|v| v.0 >= OLDEST).ok_or_else(|| format!("its version is older than {OLDEST}"))?;
    let api = Api::load(&library)?;
    if !ffi::initialize(&library, HOST) {
        return Err(format!("it was built without the target {HOST}"));
    }
    // The dynamic linker may have found it by name; the memory map contains its file.
    let path = if path.is_absolute() { path.to_path_buf() } else { mapped().unwrap_or_else(|| path.to_path_buf()) };
    Ok(Llvm { library, api, path, version, shared })
}

/// LLVM's name of the host's processor family.
const HOST: &str = if cfg!(target_arch = "aarch64") {
    "AArch64"
} else if cfg!(target_arch = "riscv64") {
    "RISCV"
} else {
    "X86"
};

/// The file of a libLLVM that is part of this process.
fn mapped() -> Option<PathBuf> {
    first_libllvm(&std::fs::read_to_string("/proc/self/maps").ok()?)
}

fn first_libllvm(maps: &str) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let path = &line[line.find('/')?..];
        let path = Path::new(path.strip_suffix(" (deleted)").unwrap_or(path));
        search::is_libllvm(&path.file_name()?.to_string_lossy()).then(|| path.to_path_buf())
    })
}

impl Llvm {
    /// Makes LLVM's functions visible to code that LLVM looks up at run time; ORC of version 17 needs it (llvm-project #74671).
    pub(crate) fn make_global(&self) {
        dynamic::make_global(&self.path);
    }
}

#[cfg(unix)]
mod dynamic {
    use super::*;
    use libloading::os::unix;

    pub(super) fn open(path: &Path, loaded: bool) -> Result<Library, String> {
        let flags = unix::RTLD_LAZY | unix::RTLD_LOCAL | if loaded { libc::RTLD_NOLOAD } else { 0 };
        // SAFETY: opening runs the constructors of libLLVM, which register options and targets and do not depend on our state.
        let library = unsafe { unix::Library::open(Some(path), flags) };
        library.map(Library::from).map_err(|e| format!("it cannot be opened: {e}"))
    }

    pub(super) fn make_global(path: &Path) {
        // SAFETY: the library is open already; this only widens the visibility of its symbols.
        let again = unsafe { unix::Library::open(Some(path), unix::RTLD_LAZY | unix::RTLD_GLOBAL | libc::RTLD_NOLOAD) };
        std::mem::forget(again);
    }
}

#[cfg(not(unix))]
mod dynamic {
    use super::*;

    pub(super) fn open(path: &Path, _: bool) -> Result<Library, String> {
        // SAFETY: opening runs the constructors of libLLVM, which do not depend on our state.
        unsafe { Library::new(path) }.map_err(|e| format!("it cannot be opened: {e}"))
    }

    pub(super) fn make_global(_: &Path) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_library_is_seen() {
        let maps = "7f00-7f01 r--p 0 00:00 0\n\
                    7f01-7f02 r-xp 0 08:01 77    /usr/lib/libz.so.1\n\
                    7f02-7f03 r-xp 0 08:01 78    /opt/my llvm/libLLVM.so.19.1\n";
        assert_eq!(first_libllvm(maps), Some("/opt/my llvm/libLLVM.so.19.1".into()));
        assert_eq!(first_libllvm("7f02-7f03 r-xp 0 08:01 78    /usr/lib/libLLVMSupport.so.14\n"), None);
    }

    #[test]
    fn nothing_found_lists_where() {
        let found = Found { looked: vec!["/nowhere".into()], ..Found::default() };
        let Err(e) = open_first(&found, None) else { panic!("opened something") };
        assert!(e.to_string().contains("/nowhere"));
    }

    #[test]
    fn a_file_that_is_no_library_is_rejected_with_a_reason() {
        let path = std::env::temp_dir().join(format!("deckle-not-llvm-{}.so", std::process::id()));
        std::fs::write(&path, "no ELF file").unwrap();
        let found = Found { places: vec![Place::File(path.clone(), None)], ..Found::default() };
        let Err(e) = open_first(&found, None) else { panic!("opened something") };
        std::fs::remove_file(&path).unwrap();
        assert!(e.rejected[0].1.contains("cannot be opened"), "{e}");
    }

    #[test]
    fn a_mapped_library_that_does_not_suit_rules_out_all_others() {
        let found = Found { places: vec![Place::Sysroot], ..Found::default() };
        let Err(e) = open_first(&found, Some("/nowhere/libLLVM-14.so.1".into())) else { panic!("opened another") };
        assert!(e.to_string().contains("part of this process already"), "{e}");
    }
}
