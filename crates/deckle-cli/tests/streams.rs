//! Sequences from files and standard input, to files and standard output, while the program runs.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A folder, removed when it goes.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        // Not in memory, as the folder for temporary files may be.
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("streams-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deckle"));
        command.current_dir(&self.0).arg("run").args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// Exit code, standard output and standard error.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_was_complete_before_an_element_that_fails_is_printed_and_no_file_appears() {
    let folder = Folder::new("failing");
    folder.file("f.dk", b"def main(n: int, k: int) = { 1000 / (i - k) : i in iota(n) | i % 3 != 1 }");
    folder.file("g.dk", b"def main(xs: {int}, k: int) = { 1000 / (x - k) : x in xs | x % 3 != 1 }");
    let lines = |n: i64| (0..n).map(|i| format!("{i}\n")).collect::<String>();
    folder.file("xs.csv", lines(5000).as_bytes());
    for k in [0, 999, 4997] {
        let wanted: Vec<String> = (0..k).filter(|i| i % 3 != 1).map(|i: i64| (1000 / (i - k)).to_string()).collect();
        let k = format!("k={k}");
        for file in [["f.dk", "n=5000"], ["g.dk", "xs=@xs.csv"]] {
            for more in [&["--chunk", "1"][..], &["--chunk", "64"], &["--chunk", "100000"], &["--threads", "2"]] {
                let args = [&file, &[k.as_str()][..], more].concat();
                let (code, out, err) = folder.run(&[&args[..], &["--out", "-.csv"]].concat());
                assert_eq!(
                    (code, out.lines().collect::<Vec<_>>()),
                    (1, wanted.iter().map(String::as_str).collect()),
                    "{args:?} {err}"
                );
                assert!(err.contains("the integer 1000 is divided by zero"), "{err}");
            }
            let (code, ..) = folder.run(&[&file[..], &[k.as_str(), "--chunk", "64", "--out", "out.npy"]].concat());
            assert!(code == 1 && !folder.0.join("out.npy").exists(), "{file:?}");
        }
    }
}

/// Begins an array of NumPy.
fn npy(descr: &str, n: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({n},), }}");
    header += &" ".repeat(63 - (header.len() + 10) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes
}

fn doubles(xs: impl Iterator<Item = f64>) -> Vec<u8> {
    let data: Vec<u8> = xs.flat_map(f64::to_le_bytes).collect();
    [npy("<f8", data.len() / 8), data].concat()
}

const CHUNKS: [&str; 5] = ["1", "2", "7", "64", "auto"];

#[test]
fn every_format_gives_the_same_at_every_size_of_a_chunk() {
    let folder = Folder::new("formats");
    folder.file("xs.npy", &doubles((0..500).map(f64::from)));
    folder.file("t.csv", b"x,n\n1.5,1\n2.5,2\n-3,3\n");
    folder.file("m.mtx", b"%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 4\n3 1 5\n3 3 6\n");
    folder.file("lines.txt", b"one two\n\nthree\n");
    folder.file(
        "p.dk",
        b"type row = { x: real, n: int }
def numbers(xs: {real}) = (sum(xs), length({ x : x in xs | x > 100.0 }))
def table(t: {row}) = { r.x * real(r.n) : r in t }
def entries(m: {(int, int, real)}) = { (j, i, v) : (i, j, v) in m }
def rows(m: {[(int, real)]}) = { sum({ v : (j, v) in row }) : row in m }
def lines(text: {[u8]}) = { length(l) : l in text }
def bytes(text: {u8}) = length({ c : c in text | c == '\\n' })
",
    );
    for chunk in CHUNKS {
        for on in [&["--on", "seq"][..], &["--threads", "2"], &["--memory", "1M"]] {
            let run = |entry: &str, arg: &str| {
                let args = [&["p.dk", "--entry", entry, arg, "--chunk", chunk][..], on].concat();
                let (code, out, err) = folder.run(&args);
                assert_eq!(code, 0, "{err}");
                out
            };
            assert_eq!(run("numbers", "xs=@xs.npy"), "(124750.0, 399)\n");
            assert_eq!(run("table", "t=@t.csv"), "{1.5, 5.0, -9.0}\n");
            assert_eq!(run("entries", "m=@m.mtx"), "{(1, 0, 4.0), (0, 2, 5.0), (2, 2, 6.0)}\n");
            assert_eq!(run("rows", "m=@m.mtx"), "{4.0, 0.0, 11.0}\n");
            assert_eq!(run("lines", "text=@lines.txt"), "{7, 0, 5}\n");
            assert_eq!(run("lines", "text=@lines.txt:words"), "{3, 3, 5}\n");
            assert_eq!(run("bytes", "text=@lines.txt"), "3\n");
        }
    }
    // The interpreter has it all as a whole, and gives the same.
    assert_eq!(folder.run(&["p.dk", "--entry", "rows", "m=@m.mtx", "--on", "interp"]).1, "{4.0, 0.0, 11.0}\n");
}

#[test]
fn from_standard_input_to_standard_output_as_it_comes() {
    let folder = Folder::new("pipe");
    folder.file("p.dk", b"def main(text: {[u8]}) = { (length(l), l) : l in text | length(l) > 0 }");
    let mut child = folder.start(&["p.dk", "text=@-", "--out", "-.csv"]);
    let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(from).lines();
    for (line, wanted) in [("one", "3,one"), ("", ""), ("three", "5,three")] {
        writeln!(to, "{line}").unwrap();
        to.flush().unwrap();
        if !wanted.is_empty() {
            // It is there before the next line is.
            assert_eq!(lines.next().unwrap().unwrap(), wanted);
        }
    }
    drop(to);
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_is_no_sequence_comes_from_standard_input_as_a_whole() {
    let folder = Folder::new("whole");
    folder.file("p.dk", b"def main(xs: [real], n: int) = sum(xs) * real(n)");
    for (arg, input) in [("xs=@-", "[1, 2.5]"), ("xs=@-.txt", "[1, 2.5]"), ("xs=@-.csv", "1\n2.5\n")] {
        let mut child = folder.start(&["p.dk", arg, "n=2"]);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "7.0\n", "{arg}");
    }
    let child = folder.start(&["p.dk", "xs=@-.npy", "n=2"]);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && err.contains("D0403") && err.contains("`-`"), "{err}");
}

#[test]
fn whoever_reads_the_output_may_stop() {
    let folder = Folder::new("head");
    folder.file("p.dk", b"def main(text: {[u8]}) = { length(l) : l in text }");
    let mut child = folder.start(&["p.dk", "text=@-", "--out", "-.csv"]);
    let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let writer = std::thread::spawn(move || while to.write_all(b"four\n").is_ok() {});
    let mut lines = BufReader::new(from).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "4");
    drop(lines);
    let status = child.wait().unwrap();
    writer.join().unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((status.code(), err.as_str()), (Some(0), ""));
}

#[test]
fn results_go_to_files_in_parts_and_appear_as_a_whole() {
    let folder = Folder::new("out");
    folder.file("xs.npy", &doubles((0..100_000).map(f64::from)));
    folder.file("p.dk", b"def main(xs: {real}) = { x * 0.5 : x in xs | x < 99999.5 }\ndef bad(xs: {real}) = { [1, 2][int(x) / 50000] : x in xs }\ndef worse(xs: {real}) = { [1][int(x) / 99999] : x in xs }");
    let (code, out, err) = folder.run(&["p.dk", "--entry", "main", "xs=@xs.npy", "--out", "ys.npy"]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let bytes = std::fs::read(folder.0.join("ys.npy")).unwrap();
    let last = f64::from_le_bytes(bytes[bytes.len() - 8..].try_into().unwrap());
    assert_eq!(last, 99_999.0 * 0.5);
    let (code, json, _) = folder.run(&["p.dk", "--entry", "main", "xs=@xs.npy", "--json"]);
    assert!(code == 0 && json.starts_with("[0.0,0.5,1.0,") && json.ends_with(",49999.5]\n"), "{}", &json[..50]);
    // What fails in the end leaves nothing behind.
    assert_eq!(folder.run(&["p.dk", "--entry", "bad", "xs=@xs.npy", "--out", "zs.csv"]).0, 0);
    let (code, _, err) = folder.run(&["p.dk", "--entry", "worse", "xs=@xs.npy", "--out", "ws.csv"]);
    assert!(code == 1 && err.contains("D0301"), "{err}");
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn a_file_that_is_damaged_further_in_is_said_so() {
    let folder = Folder::new("damaged");
    let mut text = "1\n".repeat(50_000);
    text += "two\n";
    folder.file("t.csv", text.as_bytes());
    folder.file("p.dk", b"def main(t: {int}) = sum(t)");
    let (code, out, err) = folder.run(&["p.dk", "t=@t.csv"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("t.csv") && err.contains("line 50001"), "{err}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_within_a_second_and_says_how_far_it_came() {
    use nix::sys::signal::{Signal, kill};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    let folder = Folder::new("interrupt");
    folder.file("p.dk", b"def main(text: {[u8]}) = { length(l) : l in text | length(l) != 4 }");
    let mut child = folder.start(&["p.dk", "text=@-", "--out", "o.csv"]);
    let mut to = child.stdin.take().unwrap();
    let (lines, written) = ("seven..\nfour\n".repeat(1000), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&written);
    let writer = std::thread::spawn(move || {
        while to.write_all(lines.as_bytes()).is_ok() {
            count.fetch_add(lines.len(), Relaxed);
        }
    });
    // More than can be waiting to be gone through.
    let begun = Instant::now();
    while written.load(Relaxed) < 100 << 20 {
        assert!(begun.elapsed() < Duration::from_secs(100), "nothing is read");
        std::thread::sleep(Duration::from_millis(10));
    }
    kill(nix::unistd::Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let begun = Instant::now();
    let status = child.wait().unwrap();
    // Of which a second is for the program, and the rest for a machine that is busy with others.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    writer.join().unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(status.code(), Some(130), "{err}");
    assert!(err.contains("interrupted after") && err.contains("elements in") && err.contains("of the result"), "{err}");
    assert!(err.contains("no file has been written") && !folder.0.join("o.csv").exists(), "{err}");
}

#[test]
fn progress_is_shown_where_somebody_looks() {
    let folder = Folder::new("progress");
    folder.file("xs.npy", &doubles((0..200_000).map(f64::from)));
    folder.file("p.dk", b"def main(xs: {real}) = sum({ sin(x) : x in xs })");
    let (code, out, err) = folder.run(&["p.dk", "xs=@xs.npy", "--progress"]);
    // Standard error is no terminal here: the result is the same, and nothing else is said.
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, folder.run(&["p.dk", "xs=@xs.npy"]).1);
}

/// The budget, and files of ten times as many bytes.
const BUDGET: u64 = 128 << 20;
const LARGE: u64 = 10 * BUDGET;

/// Writes a file in parts, until one is empty; then it is shown to be as large as it should be.
fn large(path: &Path, mut more: impl FnMut(&mut Vec<u8>)) {
    let (mut out, mut part, mut written) = (File::create(path).unwrap(), Vec::new(), 0);
    loop {
        part.clear();
        more(&mut part);
        if part.is_empty() {
            break;
        }
        out.write_all(&part).unwrap();
        written += part.len() as u64;
    }
    assert!(written >= LARGE, "{written}");
}

/// Runs within the budget, and holds what the kernel says of the memory of the process against it.
fn within_budget(folder: &Folder, args: &[&str]) -> String {
    let (code, out, err) = folder.run(&[args, &["--memory", "128M", "--stats"]].concat());
    assert_eq!(code, 0, "{err}");
    let stats: serde_json::Value = serde_json::from_str(err.trim()).unwrap();
    let peak = stats["peak_bytes"].as_u64().unwrap();
    assert!(peak < BUDGET + BUDGET / 10 + (128 << 20), "{err}");
    out
}

#[test]
fn vectors_of_any_elements_are_read_flat() {
    let folder = Folder::new("flat");
    folder.file(
        "p.dk",
        b"type row = { x: real, n: int }
def lines(t: [[u8]]) = sum([ length(l) : l in t ])
def rows(t: [row]) = sum([ r.x : r in t ])
def matrix(t: [[real]]) = sum([ sum(r) : r in t ])
def sound(n: int) = [ i16(i % 7) : i in iota(n) ]
def loud(s: {real}) = length({ x : x in s | x > 0.0 })
",
    );
    let text = "a line of text that is like the others\n".repeat(300_000);
    folder.file("t.txt", text.as_bytes());
    let table: String = (0..300_000).map(|i| format!("{i}.5,{i}\n")).collect();
    folder.file("t.csv", format!("x,n\n{table}").as_bytes());
    for (entry, file, wanted) in
        [("lines", "t.txt", "11400000\n"), ("rows", "t.csv", "45000000000.0\n"), ("matrix", "t.csv", "89999850000.0\n")]
    {
        let (code, out, err) = folder.run(&["p.dk", "--entry", entry, &format!("t=@{file}"), "--stats"]);
        assert_eq!((code, out.as_str()), (0, wanted), "{err}");
        let stats: serde_json::Value = serde_json::from_str(err.trim()).unwrap();
        // The compiler's library takes as much again as the program.
        let most = (128 << 20) + 4 * std::fs::metadata(folder.0.join(file)).unwrap().len();
        assert!(stats["peak_bytes"].as_u64().unwrap() < most, "{entry}: {err}");
    }
    // A packed file of sixteen times the budget.
    assert_eq!(folder.run(&["p.dk", "--entry", "sound", "n=2000000", "--out", "a.wav.gz"]).0, 0);
    let (code, out, err) = folder.run(&["p.dk", "--entry", "loud", "s=@a.wav.gz", "--memory", "1M"]);
    assert_eq!((code, out.as_str()), (0, "1714285\n"), "{err}");
}

#[test]
fn the_memory_of_a_sort_is_counted() {
    let folder = Folder::new("sort");
    folder.file("p.dk", b"def main(n: int) = let s = sort([ i * 7919 % n : i in iota(n) ]) in (s[0], s[n - 1])");
    let (code, out, err) = folder.run(&["p.dk", "n=16000000", "--stats"]);
    assert_eq!((code, out.as_str()), (0, "(0, 15999999)\n"), "{err}");
    let stats: serde_json::Value = serde_json::from_str(err.trim()).unwrap();
    let [peak, arrays] = ["peak_bytes", "array_bytes"].map(|key| stats[key].as_u64().unwrap());
    // The program, the compiler and its library take the rest.
    assert!(peak < arrays + (112 << 20), "{err}");
}

/// The doubles of an array of NumPy.
fn read_doubles(path: &Path) -> Vec<f64> {
    let bytes = std::fs::read(path).unwrap();
    let data = &bytes[bytes.iter().position(|b| *b == b'\n').unwrap() + 1..];
    data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn files_ten_times_as_large_as_the_budget_stay_within_it() {
    let folder = Folder::new("large");
    count_words(&folder);
    multiply(&folder);
    rank(&folder);
}

/// Lines, words and characters of a text.
fn count_words(folder: &Folder) {
    folder.file(
        "count.dk",
        b"def blank(c: u8) = c == ' '
def words(l: [u8]) = length({ i : i in iota(length(l)) | !blank(l[i]) && (i == 0 || blank(l[max(i, 1) - 1])) })
def main(text: {[u8]}) = (length(text), sum({ words(l) : l in text }), sum({ length(l) + 1 : l in text }))
",
    );
    let verse = "we the people\n\nof the united  states\nin order to form a more perfect union\n";
    let (many, mut verses) = (verse.repeat(10_000), 0);
    large(&folder.0.join("text.txt"), |part| {
        if verses * verse.len() < LARGE as usize {
            verses += 10_000;
            part.extend(many.as_bytes());
        }
    });
    let out = within_budget(folder, &["count.dk", "text=@text.txt"]);
    assert_eq!(out, format!("({}, {}, {})\n", 4 * verses, 15 * verses, verse.len() * verses));
    std::fs::remove_file(folder.0.join("text.txt")).unwrap();
}

/// A sparse matrix, row by row, times a vector: row `i` has 20 entries from column `i % 1000` on.
fn multiply(folder: &Folder) {
    folder.file(
        "spmv.dk",
        b"def main(rows: {[(int, real)]}, x: [real]) = { sum({ v * x[j] : (j, v) in row }) : row in rows }",
    );
    let x: Vec<f64> = (0..1024).map(|j| f64::from(j % 7)).collect();
    folder.file("x.npy", &doubles(x.iter().copied()));
    let entries: Vec<String> = (0..1024).map(|j| format!(" {} {}.06250000000000000000\n", j + 1, j % 5)).collect();
    // Each line has that many bytes at least.
    let rows = LARGE as usize / (20 * 32) + 1;
    let mut row = 0;
    large(&folder.0.join("m.mtx"), |part| {
        if row == 0 {
            let size = format!("{rows} 1024 {}", rows * 20);
            part.extend(format!("%%MatrixMarket matrix coordinate real general\n{size}\n").as_bytes());
        }
        for i in row..rows.min(row + 1000) {
            let number = format!("{:07}", i + 1);
            for entry in &entries[i % 1000..i % 1000 + 20] {
                part.extend(number.as_bytes());
                part.extend(entry.as_bytes());
            }
        }
        row = rows.min(row + 1000);
    });
    within_budget(folder, &["spmv.dk", "rows=@m.mtx", "x=@x.npy", "--out", "y.npy"]);
    let y = read_doubles(&folder.0.join("y.npy"));
    assert_eq!(y.len(), rows);
    for (i, y) in y.iter().enumerate().step_by(997) {
        let wanted: f64 = (i % 1000..i % 1000 + 20).map(|j| ((j % 5) as f64 + 0.0625) * x[j]).sum();
        assert!((y - wanted).abs() < 1e-9, "{i}: {y} {wanted}");
    }
    std::fs::remove_file(folder.0.join("m.mtx")).unwrap();
}

/// A round of PageRank over the links to each vertex, 64 of them, one list after another.
fn rank(folder: &Folder) {
    folder.file(
        "rank.dk",
        b"def main(off: [int], src: {i32}, share: [real]) =
  let ends = concat({ {false : e in iota(off[v+1] - off[v])} ++ {true} : v in iota(length(off) - 1) })
  in { 0.15 + 0.85 * sum({ share[int(u)] : u in list }) : list in flagpart(src, ends) }",
    );
    let vertices = LARGE as usize / 256 + 1;
    let source = |e: usize| e * 7919 % vertices;
    let mut edges = 0;
    large(&folder.0.join("src.npy"), |part| {
        if edges == 0 {
            part.extend(npy("<i4", 64 * vertices));
        }
        let end = (64 * vertices).min(edges + (1 << 18));
        part.extend((edges..end).flat_map(|e| (source(e) as i32).to_le_bytes()));
        edges = end;
    });
    let offsets: Vec<u8> = (0..=vertices).flat_map(|v| (64 * v as i64).to_le_bytes()).collect();
    folder.file("off.npy", &[npy("<i8", vertices + 1), offsets].concat());
    folder.file("share.npy", &doubles((0..vertices).map(|v| (v % 3) as f64)));
    within_budget(folder, &["rank.dk", "off=@off.npy", "src=@src.npy", "share=@share.npy", "--out", "r.npy"]);
    let ranks = read_doubles(&folder.0.join("r.npy"));
    assert_eq!(ranks.len(), vertices);
    for (v, r) in ranks.iter().enumerate().step_by(1009) {
        let wanted: f64 = (64 * v..64 * v + 64).map(|e| (source(e) % 3) as f64).sum();
        assert!((r - 0.15 - 0.85 * wanted).abs() < 1e-9, "{v}: {r} {wanted}");
    }
}
