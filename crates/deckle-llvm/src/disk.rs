//! Objects on disk, for the next process; and PTX, and what drivers make of it.
//!
//! The folder is `code` in `$DECKLE_CACHE`, in `$XDG_CACHE_HOME/deckle`, or in `~/.cache/deckle`. `DECKLE_CACHE=off` does without.
//!
//! **Who is trusted.** An entry is machine code, so whoever can write the folder can run code as the user. Both folders must belong to the user, be no links, and be
//! writable by nobody else; otherwise nothing is cached. An entry must be an ordinary file of the user's too.
//!
//! **What is trusted.** Nothing: an entry starts with a magic number, its key, its length and a hash over all of it. One that does not agree is removed and
//! compiled anew. This finds damage, not malice; malice is kept out by the rights of the folder.
//!
//! **Many processes at once.** An entry is written to a file of its own name and then renamed, so that a reader sees all of it or none. Two that write the
//! same entry write the same bytes. An entry that is removed while it is read stays readable.
//!
//! **How much.** Entries that were not used for longest are removed until nine tenths of the limit are left (256 MiB and 4,096 entries; `DECKLE_CACHE_SIZE`
//! in bytes, or with `K`, `M`, `G`). Using an entry sets its time of change. To look at all entries takes longer than to write one, so a process looks when it first
//! writes, and again when it has filled a part of the room that it found then: others fill it too. All that fails here only costs time, so errors are not reported.

use crate::key::Key;
use crate::ptx::Gpu;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// A folder of objects.
#[derive(Clone, Debug)]
pub struct DiskCache {
    folder: PathBuf,
    limit: u64,
    room: Arc<Mutex<Room>>,
}

/// What may be written before all entries are looked at again.
#[derive(Debug, Default)]
struct Room {
    entries: usize,
    bytes: u64,
}

/// How full the cache is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheStats {
    /// The folder.
    pub path: PathBuf,
    /// The number of objects.
    pub entries: usize,
    /// Their size on disk, in bytes.
    pub bytes: u64,
    /// The size that is kept, in bytes.
    pub limit: u64,
}

const MAGIC: [u8; 8] = *b"DECKLE\x00\x01";
const HEADER: usize = MAGIC.len() + 32 + 8 + 32;
const DEFAULT_LIMIT: u64 = 256 << 20;
const MOST_ENTRIES: usize = 4096;
/// A process takes one part in so many of the room that is left.
const SHARE: usize = 8;
/// No object is larger, so a damaged length cannot make a reader allocate more.
const LARGEST: u64 = 64 << 20;
const ENDING: &str = "obj";
const TEMPORARY: &str = "tmp";
/// A temporary file of this age belongs to a process that died.
const ABANDONED: Duration = Duration::from_secs(3600);

impl DiskCache {
    /// The folder that the environment names, made if need be. None if there is no safe one.
    pub fn from_env() -> Option<DiskCache> {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        let base = match variable("DECKLE_CACHE") {
            Some(off) if off == "off" => return None,
            Some(folder) => PathBuf::from(folder),
            None => variable("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .filter(|p| p.is_absolute())
                .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?
                .join("deckle"),
        };
        let limit = variable("DECKLE_CACHE_SIZE").and_then(|v| parse_size(&v.to_string_lossy()));
        DiskCache::open(&base, limit.unwrap_or(DEFAULT_LIMIT))
    }

    /// The folder `code` in `base`, with room for `limit` bytes. None if it is not safe.
    pub fn open(base: &Path, limit: u64) -> Option<DiskCache> {
        let folder = base.join("code");
        for path in [base, &folder] {
            safety::make(path)?;
            safety::check_folder(path)?;
        }
        Some(DiskCache { folder, limit, room: Arc::default() })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Counts what is there.
    pub fn stats(&self) -> CacheStats {
        let entries = self.entries();
        let bytes = entries.iter().map(|e| e.size).sum();
        CacheStats { path: self.folder.clone(), entries: entries.len(), bytes, limit: self.limit }
    }

    /// Removes everything.
    pub fn clear(&self) {
        for path in self.files() {
            let _ = fs::remove_file(path);
        }
    }

    /// What the compiler of a driver has made of PTX for a GPU in an earlier process. It is as it was made: damage is found, and the rights of the folder keep others out.
    pub fn binary(&self, ptx: &str, gpu: &Gpu, driver: &str) -> Option<Vec<u8>> {
        self.get(&Key::of_binary(ptx, gpu, driver))
    }

    /// Keeps what it has made.
    pub fn keep_binary(&self, ptx: &str, gpu: &Gpu, driver: &str, binary: &[u8]) {
        self.put(&Key::of_binary(ptx, gpu, driver), binary);
    }

    /// The contents of an entry, if it is there and whole.
    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path_of(key);
        let mut file = safety::open(&path)?;
        let contents = read_entry(&mut file, key);
        match &contents {
            Some(_) => drop(file.set_modified(SystemTime::now())),
            None => drop(fs::remove_file(&path)),
        }
        contents
    }

    /// Keeps an entry.
    pub(crate) fn put(&self, key: &Key, contents: &[u8]) {
        let size = (HEADER + contents.len()) as u64;
        if size > self.limit.min(LARGEST) {
            return;
        }
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!("{key}.{}.{number}.{TEMPORARY}", std::process::id()));
        let write = || -> std::io::Result<()> {
            let mut file = safety::create(&temporary)?;
            file.write_all(&header(key, contents))?;
            file.write_all(contents)?;
            fs::rename(&temporary, self.path_of(key))
        };
        if write().is_err() {
            let _ = fs::remove_file(&temporary);
        }
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        *room = match (room.entries.checked_sub(1), room.bytes.checked_sub(size)) {
            (Some(entries), Some(bytes)) => Room { entries, bytes },
            _ => self.evict(),
        };
    }

    fn path_of(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}.{ENDING}"))
    }

    /// Files that the cache made.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|e| e.path());
        files.filter(|p| p.extension().is_some_and(|e| e == ENDING || e == TEMPORARY))
    }

    fn entries(&self) -> Vec<Entry> {
        let files = self.files().filter(|p| p.extension().is_some_and(|e| e == ENDING));
        files.filter_map(Entry::of).collect()
    }

    /// Removes what is too much, and says how much may be written before the next time.
    fn evict(&self) -> Room {
        let is_old = |e: &Entry| SystemTime::now().duration_since(e.used).is_ok_and(|age| age > ABANDONED);
        let temporary = self.files().filter(|p| p.extension().is_some_and(|e| e == TEMPORARY));
        for entry in temporary.filter_map(Entry::of).filter(is_old) {
            let _ = fs::remove_file(entry.path);
        }
        let mut entries = self.entries();
        let (mut bytes, mut count) = (entries.iter().map(|e| e.size).sum::<u64>(), entries.len());
        if bytes > self.limit || count > MOST_ENTRIES {
            entries.sort_by_key(|e| e.used);
            for entry in entries {
                if bytes <= self.limit / 10 * 9 && count <= MOST_ENTRIES / 10 * 9 {
                    break;
                }
                let _ = fs::remove_file(entry.path);
                bytes -= entry.size;
                count -= 1;
            }
        }
        Room { entries: (MOST_ENTRIES - count) / SHARE, bytes: (self.limit - bytes) / SHARE as u64 }
    }
}

struct Entry {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

impl Entry {
    fn of(path: PathBuf) -> Option<Entry> {
        let data = fs::symlink_metadata(&path).ok()?;
        Some(Entry { size: data.len(), used: data.modified().ok()?, path })
    }
}

/// Magic number, key, length, hash over all of these and the contents.
fn header(key: &Key, contents: &[u8]) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend(MAGIC);
    header.extend(key.0);
    header.extend((contents.len() as u64).to_le_bytes());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&header).update(contents);
    header.extend(hasher.finalize().as_bytes());
    header
}

fn read_entry(file: &mut File, key: &Key) -> Option<Vec<u8>> {
    let size = file.metadata().ok()?.len();
    if size > LARGEST {
        return None;
    }
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let (front, contents) = bytes.split_at_checked(HEADER)?;
    if front != header(key, contents) {
        return None;
    }
    bytes.drain(..HEADER);
    Some(bytes)
}

/// `268435456`, `512K`, `256M`, `1G`.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, 'K' | 'k') => (&text[..at], 10),
        (at, 'M' | 'm') => (&text[..at], 20),
        (at, 'G' | 'g') => (&text[..at], 30),
        _ => (text, 0),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Whose files these are, and who may write them.
#[cfg(unix)]
mod safety {
    #![allow(unsafe_code)]

    use super::*;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    const OTHERS_MAY_WRITE: u32 = 0o022;

    /// Makes a folder that only the user can enter, and those above it.
    pub(super) fn make(path: &Path) -> Option<()> {
        if path.symlink_metadata().is_ok() {
            return Some(());
        }
        // Two processes may both find it missing; `recursive` accepts that it exists by then.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).ok()
    }

    fn is_ours(data: &fs::Metadata) -> bool {
        // SAFETY: the function has no preconditions.
        data.uid() == unsafe { libc::geteuid() } && data.mode() & OTHERS_MAY_WRITE == 0
    }

    pub(super) fn check_folder(path: &Path) -> Option<()> {
        let data = path.symlink_metadata().ok()?;
        (data.is_dir() && is_ours(&data)).then_some(())
    }

    /// Opens an entry, which must be an ordinary file of the user's.
    pub(super) fn open(path: &Path) -> Option<File> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
        let data = file.metadata().ok()?;
        (data.is_file() && is_ours(&data)).then_some(file)
    }

    pub(super) fn create(path: &Path) -> std::io::Result<File> {
        File::options().write(true).create_new(true).mode(0o600).open(path)
    }
}

/// Elsewhere the rights of files are not understood, and nothing is cached.
#[cfg(not(unix))]
mod safety {
    use super::*;

    pub(super) fn make(_: &Path) -> Option<()> {
        None
    }
    pub(super) fn check_folder(_: &Path) -> Option<()> {
        None
    }
    pub(super) fn open(_: &Path) -> Option<File> {
        None
    }
    pub(super) fn create(_: &Path) -> std::io::Result<File> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, unix))]
mod tests;
