//! The command and data files: the commands of `docs/data.md`, and what it says about files that do not fit.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A directory of its own, which goes away with it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("deckle-cli-data-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), contents).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Runs a command line of words without blanks in them.
    fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deckle"));
        let output = command.arg("run").args(line.split(' ')).current_dir(&self.0).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn prints(&self, line: &str, expected: &str) {
        let (code, out, err) = self.run(line);
        assert_eq!((code, out.as_str()), (Some(0), expected), "{err}");
    }

    #[track_caller]
    fn fails(&self, line: &str, code: i32, words: &[&str]) {
        let (actual, out, err) = self.run(line);
        assert_eq!((actual, out.as_str()), (Some(code), ""), "{err}");
        for word in words {
            assert!(err.contains(word), "`{word}` is not in\n{err}");
        }
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SPARSE: &str = "\
type csr = { off: [int; n + 1], rows: [i -> [(int, real); off[i+1] - off[i]]; n] }
def main(a: csr, x: [real]) = tab({ sum({ v * x[j] : (j, v) in row }) : row in a.rows })
def same(a: csr) = a
def arrays(off: [int], col: [int], val: [real]) = (off, col, val)
def dense(a: [[real]]) = a
";

const MATRIX: &str = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 7\n3 2 2\n3 3 3\n";

#[test]
fn matrices() {
    let dir = Dir::new("mtx");
    dir.file("spmv.dk", SPARSE);
    dir.file("a.mtx", MATRIX);
    dir.file("bad.mtx", MATRIX.replace("3 2 2", "4 2 2"));
    dir.prints("spmv.dk a=@a.mtx x=[1,10,100]", "[7.0, 0.0, 320.0]\n");
    dir.prints("spmv.dk a=@a.mtx --entry same --out b.mtx.gz", "");
    dir.prints("spmv.dk a=@b.mtx.gz x=[1,10,100]", "[7.0, 0.0, 320.0]\n");
    let picked = "off=@a.mtx:off col=@a.mtx:col val=@a.mtx:val";
    dir.prints(&format!("spmv.dk --entry arrays {picked}"), "([0, 1, 1, 3], [0, 1, 2], [7.0, 2.0, 3.0])\n");
    dir.prints("spmv.dk --entry dense a=@a.mtx", "[[7.0, 0.0, 0.0],\n [0.0, 0.0, 0.0],\n [0.0, 2.0, 3.0]]\n");
    dir.fails("spmv.dk a=@bad.mtx x=[1,1,1]", 1, &["D0403", "the row is 4, and there are 3", "at line 4 of the file"]);
    dir.fails("spmv.dk a=@a.mtx x=@a.mtx", 1, &["D0402", "`x: [real]` cannot come from `a.mtx`", "a matrix is no"]);
}

#[test]
fn archives() {
    let dir = Dir::new("npz");
    dir.file("ab.dk", "type ab = { a: [real], n: int }\ndef main(r: ab) = r\ndef total(xs: [real]) = sum(xs)\n");
    dir.prints("ab.dk r=([1,2],3) --out r.npz", "");
    dir.prints("ab.dk r=@r.npz", "ab(a = [1.0, 2.0], n = 3)\n");
    dir.prints("ab.dk xs=@r.npz:a --entry total", "3.0\n");
    dir.fails("ab.dk xs=@r.npz:b --entry total", 1, &["D0402", "no array `b`", "`a`, `n`"]);
}

#[test]
fn tables() {
    let dir = Dir::new("csv");
    dir.file(
        "t.dk",
        "type trade = { price: [real], volume: [int] }\n\
         def main(t: trade) = sum({ p * real(v) : p in t.price; v in t.volume })\n\
         def total(xs: [int]) = sum(xs)\n\
         def same(m: [[real]]) = m\n",
    );
    dir.file("t.csv", "name,volume,price\nfirst,2,1.5\n\"second, third\",3,10\n");
    dir.file("bad.csv", "name,volume,price\nfirst,2,1.5\nsecond,many,10\n");
    dir.prints("t.dk t=@t.csv", "33.0\n");
    dir.prints("t.dk xs=@t.csv:volume --entry total", "5\n");
    dir.prints("t.dk m=[[1,2],[3,4]] --entry same --out m.csv", "");
    assert_eq!(dir.text("m.csv"), "1.0,2.0\n3.0,4.0\n");
    dir.fails("t.dk t=@bad.csv", 1, &["D0403", "`volume`: `many` is not of type `int`", "at line 3, column 2"]);
}

#[test]
fn text() {
    let dir = Dir::new("text");
    dir.file(
        "w.dk",
        "def main(ws: [[u8]]) = [ length(w) : w in ws ]\ndef stream(ws: {[u8]}) = sum({ length(w) : w in ws })\n",
    );
    dir.file("book.txt", "to be or\nnot to be\n");
    dir.prints("w.dk ws=@book.txt", "[8, 9]\n");
    dir.prints("w.dk ws=@book.txt:words", "[2, 2, 2, 3, 2, 2]\n");
    dir.prints("w.dk ws=@book.txt:words --entry stream", "13\n");
    dir.fails("w.dk ws=@book.txt:verses", 1, &["D0402", "no `verses`"]);
}

#[test]
fn pictures_and_sound() {
    let dir = Dir::new("media");
    dir.file(
        "p.dk",
        "def main(p: [[u8]]) = [ reverse(row) : row in p ]\n\
         def colour(p: [[(u8, u8, u8)]]) = p\n\
         def louder(s: [real]) = [ 2.0 * x : x in s ]\n",
    );
    dir.prints("p.dk p=[[1,2],[3,4]] --out p.png", "");
    dir.prints("p.dk p=@p.png --out p.pgm", "");
    assert!(fs::read(dir.0.join("p.pgm")).unwrap().starts_with(b"P5\n2 2\n255\n\x01\x02\x03\x04"));
    dir.prints("p.dk p=@p.pgm --entry colour", "[[(1, 1, 1), (2, 2, 2)],\n [(3, 3, 3), (4, 4, 4)]]\n");
    dir.prints("p.dk s=[0.25,-0.5] --entry louder --out s.wav", "");
    dir.prints("p.dk s=@s.wav --entry louder", "[1.0, -2.0]\n");
    dir.fails("p.dk p=[[1]] --out p.parquet", 3, &["limitation", ".parquet"]);
    dir.fails("p.dk p=[[1],[2,3]] --out p.png", 1, &["D0403", "row 1 has 2 pixels"]);
}
