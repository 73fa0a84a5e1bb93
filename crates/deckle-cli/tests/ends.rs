//! The ways in which a run ends early: signals, full disks, readers that go away. Whatever it is, files appear whole or not at all, and
//! nothing else is left behind.
#![cfg(unix)]

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often each is tried.
const TIMES: u64 = 20;

/// A folder with programs, removed when it goes.
struct Folder(PathBuf);

/// `rows` streams lines to a file; `all` writes a vector as a whole; `few` ends by itself.
const PROGRAM: &[u8] = b"def rows(n: int) = { (i, i * i, i / 3) : i in seq(iota(n)) }
def all(n: int) = [ (i, i * i, i / 3) : i in iota(n) ]
def few(n: int) = [ i * i : i in iota(n) ]
def input(xs: {int}) = { x + 1 : x in xs }
def total(xs: {int}) = sum(xs)
";

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ends-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("p.dk"), PROGRAM).unwrap();
        Folder(path)
    }

    /// A command line of a shell, in which `deckle` is the command.
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &line.replace("deckle", concat!("'", env!("CARGO_BIN_EXE_deckle"), "'"))]);
        command.current_dir(&self.0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Exit code, standard output and standard error of a command line.
    fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let output = self.shell(line).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// Begins a run, which is the process itself.
    fn start(&self, line: &str) -> Child {
        self.shell(&format!("exec {line}")).spawn().unwrap()
    }

    /// The files that are there, but for the program; how many are temporary.
    fn left(&self) -> (Vec<String>, usize) {
        let names = std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let (temporary, others): (Vec<_>, Vec<_>) =
            names.filter(|n| n != "p.dk").partition(|n| n.starts_with(".deckle-"));
        (others, temporary.len())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

/// Waits, but not for ever.
fn end(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("the run does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a run has begun to write its file.
fn writing(folder: &Folder, child: &mut Child) {
    let begun = Instant::now();
    while folder.left().1 == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the run has ended");
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs which are ended while they write, each a little further in.
fn ended(name: &str, signal: Signal, mut each: impl FnMut(&Folder, ExitStatus)) {
    let folder = Folder::new(name);
    std::fs::write(folder.0.join("o.csv.gz"), "old").unwrap();
    // The second writes its result as a whole, for longer than it is left alone.
    let entries = ["rows n=1000000000", "all n=500000"];
    for k in 0..TIMES {
        let entry = entries[k as usize % 2];
        let mut child = folder.start(&format!("deckle run p.dk --entry {entry} --out o.csv.gz --on seq"));
        writing(&folder, &mut child);
        std::thread::sleep(Duration::from_millis(k));
        send(&child, signal);
        let status = end(&mut child);
        assert!(std::fs::read(folder.0.join("o.csv.gz")).unwrap() == b"old", "{entry} {k}: {status}");
        each(&folder, status);
    }
}

#[test]
fn an_interrupt_stops_a_write_and_leaves_nothing() {
    ended("int", Signal::SIGINT, |folder, status| {
        assert_eq!((status.code(), folder.left().1), (Some(130), 0));
    });
}

#[test]
fn a_request_to_terminate_stops_a_write_and_leaves_nothing() {
    ended("term", Signal::SIGTERM, |folder, status| {
        assert_eq!((status.code(), folder.left().1), (Some(143), 0));
    });
}

#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next() {
    ended("kill", Signal::SIGKILL, |folder, status| {
        assert_eq!((status.code(), folder.left().1), (None, 1));
        let (code, _, err) = folder.run("deckle run p.dk --entry few n=3 --out few.npy");
        assert_eq!((code, folder.left().1), (Some(0), 0), "{err}");
    });
}

#[test]
fn two_runs_in_one_folder_leave_each_other_alone() {
    let folder = Folder::new("two");
    let mut child = folder.start("deckle run p.dk --entry rows n=1000000000 --out o.csv");
    writing(&folder, &mut child);
    assert_eq!(folder.run("deckle run p.dk --entry few n=3 --out few.npy").0, Some(0));
    assert_eq!(folder.left(), (vec!["few.npy".to_string()], 1));
    send(&child, Signal::SIGINT);
    assert_eq!(end(&mut child).code(), Some(130));
}

#[test]
fn a_disk_that_is_full_is_an_error_and_leaves_nothing() {
    let folder = Folder::new("full");
    std::fs::write(folder.0.join("o.csv"), "old").unwrap();
    std::fs::write(folder.0.join("o.npy"), "old").unwrap();
    for k in 0..TIMES {
        let (entry, out) = [("rows", "o.csv"), ("all", "o.csv"), ("few", "o.npy"), ("few", "o.csv.gz")][k as usize % 4];
        // The most blocks of a file: what is left on a disk, for one.
        let limit = 20 + 37 * k;
        let line = format!("ulimit -f {limit}; exec deckle run p.dk --entry {entry} n=1000000 --out {out} --on seq");
        let (code, _, err) = folder.run(&line);
        assert_eq!(code, Some(1), "{line}: {err}");
        assert!(err.contains("D0403") && err.contains(out), "{err}");
        let (mut left, temporary) = folder.left();
        left.sort();
        assert_eq!((left, temporary), (vec!["o.csv".into(), "o.npy".into()], 0), "{line}");
    }
    assert!(["o.csv", "o.npy"].iter().all(|name| std::fs::read(folder.0.join(name)).unwrap() == b"old"));
    for line in ["--entry few", "--entry few --out -.csv", "--entry rows --out -.csv", "--entry rows --json"] {
        let (code, _, err) = folder.run(&format!("deckle run p.dk {line} n=100000 --full > /dev/full"));
        assert!(code == Some(1) && err.contains("D0403") && err.contains("no space"), "{line}: {code:?} {err}");
    }
}

#[test]
fn a_reader_that_goes_away_has_seen_enough() {
    let folder = Folder::new("pipe");
    let outs = ["--full", "--json", "--out -.csv", "--out -.txt", "--out -.json"];
    for k in 0..TIMES {
        let entry = ["rows", "all", "few"][k as usize % 3];
        let out = outs[k as usize % outs.len()];
        let mut child = folder.start(&format!("deckle run p.dk --entry {entry} n=300000 {out} --on seq"));
        let mut from = BufReader::new(child.stdout.take().unwrap());
        // At once, behind some bytes, behind a line.
        match k % 3 {
            0 => {}
            1 => from.read_exact(&mut [0; 10]).unwrap(),
            _ => assert!(from.read_line(&mut String::new()).unwrap() > 0),
        }
        drop(from);
        let status = end(&mut child);
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((status.code(), err.as_str()), (Some(0), ""), "{entry} {out}");
    }
    assert_eq!(folder.left(), (vec![], 0));
}

#[test]
fn a_result_that_cannot_be_printed_is_an_error() {
    let folder = Folder::new("closed");
    for line in ["--entry few", "--entry few --json", "--entry few --out -.csv", "--entry rows --out -.csv"] {
        for on in ["seq", "interp"] {
            let (code, _, err) = folder.run(&format!("deckle run p.dk n=3 {line} --on {on} >&-"));
            assert!(code == Some(1) && err.contains("standard output is closed"), "{line}: {code:?} {err}");
        }
    }
    // Where nothing is printed nothing is missing.
    assert_eq!(folder.run("deckle run p.dk --entry few n=3 --out few.npy >&-").0, Some(0));
    assert_eq!(folder.run("deckle run p.dk --entry few n=3 >/dev/null").0, Some(0));
    let (code, _, err) = folder.run("deckle run p.dk --entry total xs=@- <&-");
    assert!(code == Some(1) && err.contains("standard input is closed"), "{code:?} {err}");
}

#[test]
fn whoever_waits_for_a_stalled_pipe_can_be_stopped() {
    let folder = Folder::new("stalled");
    for line in ["--entry total xs=@-", "--entry input xs=@- --out o.csv", "--entry few n=@-"] {
        for on in ["seq", "interp"] {
            let mut command = folder.shell(&format!("exec deckle run p.dk {line} --on {on}"));
            let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(300));
            send(&child, Signal::SIGINT);
            let status = end(&mut child);
            assert_eq!((status.code(), folder.left()), (Some(130), (vec![], 0)), "{line} {on}");
        }
    }
    // One who does not read what is printed.
    let mut child = folder.start("deckle run p.dk --entry few n=1000000 --full");
    std::thread::sleep(Duration::from_millis(1000));
    send(&child, Signal::SIGINT);
    assert_eq!(end(&mut child).code(), Some(130));
}
