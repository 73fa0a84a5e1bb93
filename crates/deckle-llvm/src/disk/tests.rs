//! The disk cache by itself; `tests/cache.rs` tries it with compiled code and with several processes.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("deckle-disk-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn cache(&self, limit: u64) -> DiskCache {
        DiskCache::open(&self.0, limit).expect("a fresh folder is safe")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key(n: u64) -> Key {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&n.to_le_bytes());
    Key(bytes)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn gives_back_what_was_put() {
    let folder = Folder::new("put");
    let cache = folder.cache(1 << 20);
    assert_eq!(cache.get(&key(1)), None);
    cache.put(&key(1), b"one");
    cache.put(&key(2), b"");
    assert_eq!(cache.get(&key(1)).as_deref(), Some(&b"one"[..]));
    assert_eq!(cache.get(&key(2)).as_deref(), Some(&b""[..]));
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.bytes), (2, 2 * HEADER as u64 + 3));
    cache.clear();
    assert_eq!(cache.stats().entries, 0);
    assert_eq!(cache.get(&key(1)), None);
}

#[test]
fn any_damaged_byte_and_any_lost_end_is_a_miss_and_the_entry_goes() {
    let folder = Folder::new("damage");
    let cache = folder.cache(1 << 20);
    let path = cache.path_of(&key(1));
    cache.put(&key(1), b"contents");
    let whole = fs::read(&path).unwrap();
    let check = |bytes: &[u8], what: String| {
        fs::write(&path, bytes).unwrap();
        mode(&path, 0o600);
        assert_eq!(cache.get(&key(1)), None, "{what}");
        assert!(!path.exists(), "{what}: the entry is still there");
    };
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        check(&damaged, format!("byte {at}"));
        check(&whole[..at], format!("cut at {at}"));
    }
    check(&[&whole[..], b"x"].concat(), "one byte more".into());
    fs::write(&path, &whole).unwrap();
    mode(&path, 0o600);
    assert_eq!(cache.get(&key(1)).as_deref(), Some(&b"contents"[..]));
}

#[test]
fn an_entry_under_anothers_name_is_a_miss() {
    let folder = Folder::new("foreign");
    let cache = folder.cache(1 << 20);
    cache.put(&key(1), b"one");
    fs::rename(cache.path_of(&key(1)), cache.path_of(&key(2))).unwrap();
    assert_eq!(cache.get(&key(2)), None);
}

#[test]
fn an_entry_of_another_form_is_a_miss() {
    let folder = Folder::new("form");
    let cache = folder.cache(1 << 20);
    // Whole and consistent, but with the magic number of a later form.
    let mut bytes = [b"DECKLE\x00\x02".as_slice(), &key(1).0, &3u64.to_le_bytes()].concat();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes).update(b"one");
    bytes.extend(hasher.finalize().as_bytes());
    bytes.extend(b"one");
    fs::write(cache.path_of(&key(1)), &bytes).unwrap();
    mode(&cache.path_of(&key(1)), 0o600);
    assert_eq!(cache.get(&key(1)), None);
}

#[test]
fn folders_that_others_may_write_are_refused() {
    let folder = Folder::new("rights");
    let cache = folder.cache(1 << 20);
    let made = |p: &Path| p.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((made(&folder.0), made(cache.path())), (0o700, 0o700));
    for path in [&folder.0, &cache.folder] {
        for rights in [0o770, 0o702, 0o777] {
            mode(path, rights);
            assert!(DiskCache::open(&folder.0, 1 << 20).is_none(), "{rights:o}");
        }
        mode(path, 0o755);
        assert!(DiskCache::open(&folder.0, 1 << 20).is_some());
    }
}

#[test]
fn links_and_files_in_place_of_folders_are_refused() {
    let (real, other) = (Folder::new("real"), Folder::new("link"));
    real.cache(1 << 20);
    symlink(&real.0, &other.0).unwrap();
    assert!(DiskCache::open(&other.0, 1 << 20).is_none());
    fs::remove_file(&other.0).unwrap();
    fs::write(&other.0, "a file").unwrap();
    assert!(DiskCache::open(&other.0, 1 << 20).is_none());
    fs::remove_file(&other.0).unwrap();
}

#[test]
fn an_entry_that_is_a_link_or_that_others_may_write_is_a_miss() {
    let folder = Folder::new("entry");
    let cache = folder.cache(1 << 20);
    cache.put(&key(1), b"one");
    let path = cache.path_of(&key(1));
    mode(&path, 0o666);
    assert_eq!(cache.get(&key(1)), None);
    mode(&path, 0o600);
    let aside = folder.0.join("aside");
    fs::rename(&path, &aside).unwrap();
    symlink(&aside, &path).unwrap();
    assert_eq!(cache.get(&key(1)), None);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(cache.get(&key(1)), None);
}

#[test]
fn the_limit_holds_and_what_was_used_last_stays() {
    let folder = Folder::new("evict");
    let limit = 20_000;
    let cache = folder.cache(limit);
    let old = SystemTime::now() - Duration::from_secs(100);
    for n in 0..100 {
        cache.put(&key(n), &[n as u8; 1000]);
        assert!(cache.stats().bytes <= limit, "{n}");
        // All in the past, each newer than the one before.
        let time = old + Duration::from_millis(n);
        File::options().write(true).open(cache.path_of(&key(n))).unwrap().set_modified(time).unwrap();
        // The first is used again and again.
        assert!(cache.get(&key(0)).is_some(), "{n}");
    }
    assert!(cache.get(&key(99)).is_some() && cache.get(&key(50)).is_none());
    assert!(cache.stats().entries > 10);
}

#[test]
fn what_is_larger_than_the_limit_is_not_kept() {
    let folder = Folder::new("large");
    let cache = folder.cache(1000);
    cache.put(&key(1), &[1; 10]);
    cache.put(&key(2), &[2; 2000]);
    assert!(cache.get(&key(1)).is_some() && cache.get(&key(2)).is_none());
}

#[test]
fn remains_of_a_process_that_died_are_removed() {
    let folder = Folder::new("remains");
    let cache = folder.cache(1 << 20);
    let (dead, live) = (cache.folder.join("dead.1.0.tmp"), cache.folder.join("live.2.0.tmp"));
    fs::write(&dead, "half").unwrap();
    fs::write(&live, "half").unwrap();
    let long_ago = SystemTime::now() - 2 * ABANDONED;
    File::options().write(true).open(&dead).unwrap().set_modified(long_ago).unwrap();
    cache.put(&key(1), b"one");
    assert!(!dead.exists() && live.exists());
}

#[test]
fn threads_race_without_harm() {
    let folder = Folder::new("race");
    let cache = folder.cache(30_000);
    std::thread::scope(|scope| {
        for t in 0..8u64 {
            let cache = &cache;
            scope.spawn(move || {
                for round in 0..60 {
                    let n = (t * 7 + round) % 20;
                    let contents = vec![n as u8; 500 + 100 * n as usize];
                    if let Some(found) = cache.get(&key(n)) {
                        assert_eq!(found, contents);
                    }
                    cache.put(&key(n), &contents);
                }
            });
        }
    });
    assert!(cache.stats().bytes <= 30_000);
    assert!(fs::read_dir(cache.path()).unwrap().flatten().all(|e| e.path().extension().unwrap() == ENDING));
}

#[test]
fn sizes_are_read_with_and_without_a_unit() {
    for (text, size) in
        [("1000", Some(1000)), ("512K", Some(512 << 10)), (" 256m ", Some(256 << 20)), ("1G", Some(1 << 30))]
    {
        assert_eq!(parse_size(text), size, "{text}");
    }
    for text in ["", "M", "-1", "many", "99999999999999999999", "99999999999G"] {
        assert_eq!(parse_size(text), None, "{text}");
    }
}
