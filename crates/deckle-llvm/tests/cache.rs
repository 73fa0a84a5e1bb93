//! The caches with compiled code: what is found again, what is compiled anew, and several processes at once.

#![cfg(unix)]
#![allow(unsafe_code)]

mod needed;

use deckle_llvm::{Code, Compiler, DiskCache, Error, Gpu, Origin, Pipeline, Stage};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("deckle-cache-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A compiler with an empty memory and the cache in a folder, as a new process would have.
fn compiler(folder: &Path) -> Compiler {
    needed::compiler(DiskCache::open(folder, 1 << 20))
}

fn answer(n: i64) -> String {
    format!("define i64 @answer() {{ ret i64 {n} }}")
}

fn call(code: &Code) -> i64 {
    // SAFETY: this is the type in the IR.
    let f: extern "C" fn() -> i64 = unsafe { std::mem::transmute(code.symbol("answer").unwrap()) };
    f()
}

fn origin(compiler: &Compiler, n: i64) -> Origin {
    let loaded = compiler.load_timed(&answer(n), Pipeline::O3).unwrap();
    assert_eq!(call(&loaded.code), n);
    assert!(loaded.seconds >= 0.0);
    loaded.from
}

#[test]
fn compiled_then_from_memory_then_from_disk() {
    let folder = Folder::new("order");
    let first = compiler(&folder.0);
    assert_eq!(origin(&first, 1), Origin::Compiled);
    assert_eq!(origin(&first, 1), Origin::Memory);
    assert_eq!(origin(&first, 2), Origin::Compiled);
    let second = compiler(&folder.0);
    assert_eq!(origin(&second, 1), Origin::Disk);
    assert_eq!(origin(&second, 1), Origin::Memory);
    let pipeline = second.load_timed(&answer(1), Pipeline::O1).unwrap();
    assert_eq!(pipeline.from, Origin::Compiled);
    let cache = second.disk_cache().unwrap();
    assert_eq!(cache.stats().entries, 3);
    cache.clear();
    second.forget();
    assert_eq!(origin(&second, 1), Origin::Compiled);
}

#[test]
fn damaged_entries_are_compiled_anew() {
    let folder = Folder::new("damage");
    let first = compiler(&folder.0);
    assert_eq!(origin(&first, 1), Origin::Compiled);
    let code = first.disk_cache().unwrap().path().to_path_buf();
    let entry = std::fs::read_dir(&code).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&entry).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 9) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        for bytes in [&damaged[..], &whole[..at]] {
            std::fs::write(&entry, bytes).unwrap();
            assert_eq!(origin(&compiler(&folder.0), 1), Origin::Compiled, "byte {at}");
            assert_eq!(std::fs::read(&entry).unwrap().len(), whole.len());
            assert_eq!(origin(&compiler(&folder.0), 1), Origin::Disk);
        }
    }
}

#[test]
fn an_unsafe_folder_means_no_cache_and_no_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("unsafe");
    std::fs::create_dir(&folder.0).unwrap();
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let compiler = compiler(&folder.0);
    assert!(compiler.disk_cache().is_none());
    assert_eq!(origin(&compiler, 1), Origin::Compiled);
}

const RACER: &str = "DECKLE_TEST_RACER";

/// Not a test by itself: what each process of the next test runs.
#[test]
fn racer() {
    let Some(folder) = std::env::var_os(RACER) else { return };
    for _ in 0..3 {
        let compiler = compiler(Path::new(&folder));
        for n in 0..12 {
            origin(&compiler, n);
        }
    }
}

#[test]
fn processes_race_without_harm() {
    let folder = Folder::new("race");
    let compiler = compiler(&folder.0);
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["racer", "--exact"]).env(RACER, &folder.0).spawn().unwrap()
    };
    let processes: Vec<_> = (0..6).map(|_| start()).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    for n in 0..12 {
        assert_eq!(origin(&compiler, n), Origin::Disk);
    }
    assert_eq!(compiler.disk_cache().unwrap().stats().entries, 12);
}

const LEAVER: &str = "DECKLE_TEST_LEAVER";

/// Not a test by itself: a process that starts to open LLVM and ends after some microseconds.
#[test]
fn leaver() {
    let Some(wait) = std::env::var(LEAVER).ok().and_then(|w| w.parse().ok()) else { return };
    Compiler::with_cache(None).unwrap().prepare();
    std::thread::sleep(std::time::Duration::from_micros(wait));
    std::process::exit(0);
}

#[test]
fn a_process_may_end_while_llvm_is_at_work() {
    needed::compiler(None);
    for wait in [0, 300, 1000, 3000, 6000, 9000, 12_000, 15_000, 20_000, 25_000, 30_000] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let status = command.args(["leaver", "--exact"]).env(LEAVER, wait.to_string()).status().unwrap();
        assert!(status.success(), "after {wait} microseconds: {status}");
    }
}

#[test]
fn ptx_is_kept_on_disk() {
    let folder = Folder::new("ptx");
    let Some(disk) = DiskCache::open(&folder.0, 1 << 20) else { return eprintln!("skipped: no safe folder") };
    let compiler = needed::compiler(Some(disk.clone()));
    let ir = "define ptx_kernel void @kept(ptr addrspace(1) %p) {\n  store i32 1, ptr addrspace(1) %p\n  ret void\n}";
    let ptx = |minor| match compiler.ptx(ir, &Gpu::new(8, minor), Pipeline::O3) {
        Err(Error::Refused(e)) if e.stage == Stage::Target => None,
        made => Some(made.unwrap()),
    };
    if let Some(first) = ptx(0) {
        assert_eq!((ptx(0), disk.stats().entries), (Some(first.clone()), 1));
        assert!(ptx(6).is_some() && disk.stats().entries == 2);
        // What a driver makes of it is kept beside it, for that driver.
        let gpu = Gpu::new(8, 0);
        disk.keep_binary(&first, &gpu, "CUDA 12.4", b"code");
        assert_eq!(disk.binary(&first, &gpu, "CUDA 12.4").as_deref(), Some(&b"code"[..]));
        assert_eq!(disk.binary(&first, &gpu, "CUDA 12.5"), None);
    } else {
        eprintln!("skipped: this LLVM has no NVPTX");
    }
}
