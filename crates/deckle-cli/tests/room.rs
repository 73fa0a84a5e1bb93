//! Arguments from files that are decoded as a whole, on every backend, and what happens if there is no room for them: an error of the budget, never an abort.
#![cfg(unix)]

use std::path::PathBuf;
use std::process::Command;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("deckle-room-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), contents).unwrap();
    }

    /// The exit code, and both outputs together, of a line of the shell in which `deckle` is the command.
    fn run(&self, line: &str) -> (Option<i32>, String) {
        let line = line.replace("deckle", &format!("'{}'", env!("CARGO_BIN_EXE_deckle")));
        let output = Command::new("sh").args(["-c", &line]).current_dir(&self.0).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A grey picture of so many rows and columns.
fn picture(rows: usize, columns: usize) -> Vec<u8> {
    let pixels = (0..rows * columns).map(|i| i as u8);
    format!("P5 {columns} {rows} 255\n").into_bytes().into_iter().chain(pixels).collect()
}

#[test]
fn matrices_pictures_and_archives_are_the_same_on_all_backends() {
    let folder = Folder::new("same");
    folder.write("picture.dk", "def main(p: [[u8; w]; h]) = ([ sum([ int(x) : x in r ]) : r in p ], p)");
    folder.write("a.pgm", picture(3, 4));
    folder.write("sparse.dk", "type csr = { off: [int], rows: [[(int, real)]] }\ndef main(m: csr) = (m.off, m.rows)");
    let head = "%%MatrixMarket matrix coordinate real symmetric\n";
    folder.write("a.mtx", format!("{head}3 3 3\n3 1 2.5\n1 1 7\n2 2 1\n"));
    folder.write("rows.dk", "def main(m: [[(int, real)]]) = m");
    folder
        .write("dense.dk", "def main(m: [[real; n]; n], v: [real; n]) = [ sum([ a * b : a in r; b in v ]) : r in m ]");
    folder.write("out.dk", "type r = { x: [real], n: int }\ndef main(n: int) = r([ real(i) : i in iota(n) ], n)");
    folder.write("in.dk", "type r = { n: int, x: [real] }\ndef main(r: r) = (r.n, r.x)");
    let (code, said) = folder.run("deckle run out.dk n=3 --out a.npz");
    assert_eq!(code, Some(0), "{said}");
    for (arguments, expected) in [
        ("picture.dk p=@a.pgm", "([6, 22, 38], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])"),
        ("sparse.dk m=@a.mtx", "([0, 2, 3, 4], [[(0, 7.0), (2, 2.5)], [(1, 1.0)], [(0, 2.5)]])"),
        ("rows.dk m=@a.mtx", "[[(0, 7.0), (2, 2.5)], [(1, 1.0)], [(0, 2.5)]]"),
        ("dense.dk m=@a.mtx v='[1, 2, 4]'", "[17.0, 2.0, 2.5]"),
        ("in.dk r=@a.npz", "(3, [0.0, 1.0, 2.0])"),
    ] {
        for on in ["interp", "seq", "cpu"] {
            let (code, said) = folder.run(&format!("deckle run --full --on {on} {arguments}"));
            let plain: String = said.split_whitespace().collect();
            let wanted: String = expected.split_whitespace().collect();
            assert_eq!((code, plain), (Some(0), wanted), "{arguments} on {on}: {said}");
        }
    }
    for on in ["interp", "seq"] {
        let (code, said) = folder.run(&format!("deckle run --on {on} dense.dk m=@a.mtx v='[1, 2]'"));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("D0309") && said.contains("elements"), "{said}");
    }
}

#[test]
fn what_the_budget_has_no_room_for_is_an_error() {
    let folder = Folder::new("budget");
    folder.write("picture.dk", "def main(p: [[u8]]) = sum([ length(r) : r in p ])");
    folder.write("a.pgm", picture(2000, 2000));
    let (code, said) = folder.run("deckle run --memory 1M picture.dk p=@a.pgm");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("D0310"), "{said}");
    let (code, said) = folder.run("deckle run --memory 64M picture.dk p=@a.pgm");
    assert_eq!((code, said.trim()), (Some(0), "4000000"));
}

/// The interpreter has arrays as trees, which take more than there is here; through sequences it goes one element at a time.
#[test]
#[cfg(target_os = "linux")]
fn the_interpreter_refuses_arguments_that_it_has_no_memory_for() {
    let folder = Folder::new("interpreter");
    folder.write("lines.dk", "def main(s: {[u8]}) = sum({ length(l) : l in s })");
    folder.write("vector.dk", "def main(s: [[u8]]) = length(s)");
    folder.write("picture.dk", "def main(p: [[u8]]) = length(p)");
    folder.write("fill.dk", "def main(n: int) = sum(fill(1, n))");
    folder.write("a.txt", "many short lines\n".repeat(1 << 18));
    folder.write("a.pgm", picture(2500, 2500));
    for arguments in ["vector.dk s=@a.txt", "picture.dk p=@a.pgm", "fill.dk n=100000000"] {
        let (code, said) = folder.run(&format!("ulimit -v 200000; deckle run --on interp {arguments}"));
        assert_eq!(code, Some(1), "{arguments}: {said}");
        assert!(said.contains("D0310"), "{arguments}: {said}");
    }
    let (code, said) = folder.run("ulimit -v 200000; deckle run --on interp lines.dk s=@a.txt");
    assert_eq!((code, said.trim()), (Some(0), "4194304"));
}
