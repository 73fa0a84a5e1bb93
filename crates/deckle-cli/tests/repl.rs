//! `deckle repl` on a pseudo-terminal, as a user sees it, and from a pipe.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of its own, which goes away with it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("deckle-repl-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The command, with nothing of the user's own around it.
fn deckle(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deckle"));
    command.arg("repl").current_dir(dir).env("HOME", dir).env("XDG_DATA_HOME", dir.join("data"));
    command.env("LOCALAPPDATA", dir.join("data")).env("TERM", "xterm").env("NO_COLOR", "1");
    command
}

fn piped(dir: &Dir, input: &str) -> Output {
    let mut command = deckle(&dir.0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn files_are_read_and_expressions_run_as_native_code() {
    let dir = Dir::new("read");
    dir.file("trades.csv", "price,volume\n1.5,2\n10,3\n");
    dir.file("xs.txt", "[0.5, 1.5]");
    let typed = "type trade = { price: real, volume: int }\n";
    let lines = ":read ts: [trade] = trades.csv\n:read xs: [real] = \"xs.txt\"\n:read vs: {int} = @trades.csv:volume\n";
    let used = "sum([ t.price * real(t.volume) : t in ts ])\nsum(xs) + it\nsum(vs)\n";
    // In the interpreter this takes minutes.
    let much = "sum({ i % 7 : i in iota(100000000) })\n";
    let output = piped(&dir, &format!("{typed}{lines}{used}{much}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    let wanted = "defined trade\nts: [trade; k]\nxs: [real; k]\nvs: {int}\n33.0\n35.0\n5\n299999995\n";
    let plain =
        |text: &str| text.replace("; n]", "; k]").replace("[trade]", "[trade; k]").replace("[real]", "[real; k]");
    assert_eq!(plain(&out), wanted, "{err}");
    for (wrong, said) in [
        (":read xs = a.txt", "a name, a type and a file are needed"),
        (":read xs: [real] = missing.npy", "missing.npy"),
        (":read xs: [reel] = xs.txt", "reel"),
        (":read ts: [int] = trades.csv", "ts"),
    ] {
        let output = piped(&dir, wrong);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && err.contains(said), "{wrong}: {err}");
    }
}

#[test]
fn inputs_from_a_pipe_are_answered_without_a_prompt() {
    let dir = Dir::new("pipe");
    let output = piped(&dir, "let xs = [1,\n 2]\nsum(xs)\n\ndef f(x: int) =\n  x + it\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "xs: [int; 2]\n3\n");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("`it` is a value of this session"), "{err}");
    assert!(err.contains("--> repl[4]:2:7"), "{err}");
    assert_eq!(output.status.code(), Some(1));
    let output = piped(&dir, "1 + 1");
    assert_eq!((output.status.code(), &output.stdout[..], &output.stderr[..]), (Some(0), &b"2\n"[..], &b""[..]));
    assert!(!dir.0.join("data").exists());
}

#[test]
fn a_pipe_may_leave_early() {
    let output = piped(&Dir::new("early"), "1\n:quit\n2\n");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"1\n"[..]));
}

/// The first block of the manual: what stands after a prompt, or far to the right after that, was typed.
#[test]
fn the_transcript_of_the_manual_is_true() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/repl.md");
    let manual = fs::read_to_string(manual).unwrap();
    let block = manual.split("```console\n").nth(1).and_then(|b| b.split("```").next()).unwrap();
    let (mut typed, mut printed, mut typing) = (String::new(), String::new(), false);
    for line in block.lines() {
        let input = line.strip_prefix("deckle> ").or(line.strip_prefix("        ").filter(|_| typing));
        typing = input.is_some();
        let to = if typing { &mut typed } else { &mut printed };
        *to += &format!("{}\n", input.unwrap_or(line));
    }
    let dir = Dir::new("manual");
    let out = fs::File::create(dir.0.join("out")).unwrap();
    let mut command = deckle(&dir.0);
    let err = out.try_clone().unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(out).stderr(err).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_to_string(dir.0.join("out")).unwrap(), printed);
}

#[cfg(unix)]
mod terminal {
    use super::*;
    use nix::pty::{OpenptyResult, Winsize, openpty};
    use nix::sys::termios::{LocalFlags, tcgetattr};
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::process::CommandExt;
    use std::process::Child;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
    use std::time::{Duration, Instant};

    const PROMPT: &str = "deckle> ";
    const CTRL_C: &str = "\x03";
    const CTRL_D: &str = "\x04";
    const UP: &str = "\x1b[A";

    /// Far more than anything here takes, also where the machine is busy.
    const PATIENCE: Duration = Duration::from_secs(120);

    /// A session whose terminal is ours.
    struct Terminal {
        child: Child,
        keys: File,
        screen: Receiver<Vec<u8>>,
        /// Everything seen, without escape sequences; and how much of it has been looked at.
        seen: String,
        done: usize,
        raw: Vec<u8>,
    }

    impl Terminal {
        fn new(dir: &Dir) -> Terminal {
            let size = Winsize { ws_row: 50, ws_col: 150, ws_xpixel: 0, ws_ypixel: 0 };
            let OpenptyResult { master, slave } = openpty(&size, None).unwrap();
            let stdio = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
            let mut command = deckle(&dir.0);
            command.stdin(stdio(&slave)).stdout(stdio(&slave)).stderr(stdio(&slave));
            #[expect(unsafe_code, reason = "only in the child can its terminal be chosen, on which Ctrl-C is a signal")]
            // SAFETY: between fork and exec only these two system calls are made, which may be made there.
            unsafe {
                command.pre_exec(|| {
                    nix::unistd::setsid()?;
                    nix::errno::Errno::result(nix::libc::ioctl(0, nix::libc::TIOCSCTTY as _, 0))?;
                    Ok(())
                });
            }
            let child = command.spawn().unwrap();
            drop((command, slave));
            let keys = File::from(master);
            let mut from = keys.try_clone().unwrap();
            let (to, screen) = channel();
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                // The end of the child ends its terminal, which is an error or an end depending on the system.
                while let Ok(n @ 1..) = from.read(&mut buffer) {
                    if to.send(buffer[..n].to_vec()).is_err() {
                        return;
                    }
                }
            });
            let mut terminal = Terminal { child, keys, screen, seen: String::new(), done: 0, raw: Vec::new() };
            terminal.wait_for(PROMPT);
            terminal
        }

        fn press(&mut self, keys: &str) {
            self.keys.write_all(keys.as_bytes()).unwrap();
        }

        /// Waits for a text after everything waited for before, and gives what came before it.
        #[track_caller]
        fn wait_for(&mut self, text: &str) -> String {
            let end = Instant::now() + PATIENCE;
            loop {
                if let Some(at) = self.seen[self.done..].find(text) {
                    let before = self.seen[self.done..self.done + at].to_string();
                    self.done += at + text.len();
                    return before;
                }
                match self.screen.recv_timeout(end.saturating_duration_since(Instant::now())) {
                    Ok(bytes) => {
                        self.raw.extend(bytes);
                        self.seen = plain(&String::from_utf8_lossy(&self.raw));
                    }
                    Err(e) => panic!("`{text}` has not come ({e}) after\n{}", &self.seen[self.done..]),
                }
            }
        }

        /// Presses Ctrl-C in an evaluation that would not end.
        #[track_caller]
        fn interrupt(&mut self) {
            let end = Instant::now() + PATIENCE;
            // While the line editor has the terminal, the key would be one of its own.
            let is_signal = || tcgetattr(&self.keys).unwrap().local_flags.contains(LocalFlags::ISIG);
            while !is_signal() {
                assert!(Instant::now() < end, "the line editor keeps the terminal");
                std::thread::sleep(Duration::from_millis(20));
            }
            std::thread::sleep(Duration::from_millis(500));
            self.press(CTRL_C);
            self.wait_for("interrupted after");
        }

        /// Types a line and gives what is printed until the next prompt.
        #[track_caller]
        fn line(&mut self, line: &str) -> String {
            self.press(line);
            self.wait_for(line);
            self.press("\r");
            self.answer()
        }

        /// What is printed until the prompt of the next line. The line that was typed may be drawn again before it.
        #[track_caller]
        fn answer(&mut self) -> String {
            self.wait_for("\n");
            let before = self.wait_for(PROMPT);
            before.replace('\r', "")
        }

        /// Waits for the end and gives the exit code.
        #[track_caller]
        fn end(mut self) -> Option<i32> {
            let end = Instant::now() + PATIENCE;
            loop {
                match self.screen.recv_timeout(end.saturating_duration_since(Instant::now())) {
                    Ok(_) => {}
                    Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap().code(),
                    Err(RecvTimeoutError::Timeout) => panic!("the session has not ended"),
                }
            }
        }
    }

    impl Drop for Terminal {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// The text without escape sequences. One that is cut off is left out until the rest has come.
    fn plain(text: &str) -> String {
        let mut out = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c != '\x1b' {
                out.push(c);
            } else if chars.next() == Some('[') {
                chars.find(|c| ('\x40'..='\x7e').contains(c));
            }
        }
        out
    }

    #[test]
    fn expressions_and_values() {
        let mut t = Terminal::new(&Dir::new("values"));
        assert_eq!(t.line("1 + 1"), "2\n");
        assert_eq!(t.line("let xs = [it, 3]"), "xs: [int; 2]\n");
        assert_eq!(t.line("sum(xs) * it"), "10\n");
        t.press(CTRL_D);
        assert_eq!(t.end(), Some(0));
    }

    #[test]
    fn a_definition_over_several_lines() {
        let mut t = Terminal::new(&Dir::new("lines"));
        for line in ["def mean(xs: [real]) =", "  let n = real(length(xs))"] {
            t.press(line);
            t.wait_for(line);
            t.press("\r");
        }
        assert_eq!(t.line("  in sum(xs) / n"), "defined mean\n");
        assert_eq!(t.line("mean([1, 2, 4.5])"), "2.5\n");
        t.press(":quit\r");
        assert_eq!(t.end(), Some(0));
    }

    #[test]
    fn tab_completes() {
        let mut t = Terminal::new(&Dir::new("tab"));
        assert_eq!(t.line("let elements_of_it = 7"), "elements_of_it: int\n");
        t.press("1 + elements_\t");
        t.wait_for("1 + elements_of_it");
        t.press("\r");
        assert_eq!(t.answer(), "8\n");
        t.press("zip_w\t");
        t.wait_for("zip_with");
        t.press("\t\t");
        t.wait_for("zip_with: fn(a, b) d, c<a>, c<b> -> c<d>");
        t.wait_for("deckle> zip_with");
        t.press(CTRL_C);
        t.wait_for(PROMPT);
        t.press(":na\t");
        t.wait_for(":names");
        t.press("\r");
        assert!(t.answer().contains("elements_of_it: int\n"));
    }

    #[test]
    fn errors_point_into_the_line() {
        let mut t = Terminal::new(&Dir::new("carets"));
        let answer = t.line("1 + nothing");
        assert!(answer.contains("there is no name `nothing`"), "{answer}");
        assert!(answer.contains("1 | 1 + nothing\n   |     ^^^^^^^ "), "{answer}");
        let answer = t.line(":type 2 * true");
        assert!(answer.contains("1 | :type 2 * true\n   |           ^^^^ "), "{answer}");
        assert_eq!(t.line("2 * 2"), "4\n");
    }

    #[test]
    fn arrow_up_brings_lines_back_also_in_a_later_session() {
        let dir = Dir::new("history");
        let mut t = Terminal::new(&dir);
        assert_eq!(t.line("20 + 2"), "22\n");
        assert_eq!(t.line("30 + 3"), "33\n");
        t.press(UP);
        t.wait_for("30 + 3");
        t.press(UP);
        t.wait_for("20 + 2");
        t.press("0\r");
        assert_eq!(t.answer(), "40\n");
        t.press(CTRL_D);
        assert_eq!(t.end(), Some(0));
        let mut t = Terminal::new(&dir);
        t.press(UP);
        t.wait_for("20 + 20");
        t.press("\r");
        assert_eq!(t.answer(), "40\n");
    }

    #[test]
    fn a_history_that_cannot_be_kept_does_no_harm() {
        let dir = Dir::new("nowhere");
        dir.file("data", "a file, not a folder");
        dir.file("Library", "a file, not a folder");
        let mut t = Terminal::new(&dir);
        assert_eq!(t.line("1 + 1"), "2\n");
        assert_eq!(t.line("it"), "2\n");
    }

    #[test]
    fn ctrl_c_stops_an_evaluation_or_a_line_and_never_the_session() {
        let mut t = Terminal::new(&Dir::new("interrupt"));
        for _ in 0..2 {
            let endless = "loop x = 0 while true do x + 1";
            t.press(endless);
            t.wait_for(endless);
            t.press("\r");
            t.wait_for("\n");
            t.interrupt();
            t.wait_for(PROMPT);
            assert_eq!(t.line("1 + 1"), "2\n");
        }
        t.press("half a line (");
        t.wait_for("half a line (");
        t.press(CTRL_C);
        t.wait_for(PROMPT);
        t.press(CTRL_C);
        t.wait_for(PROMPT);
        assert_eq!(t.line("it + 1"), "3\n");
        t.press(CTRL_D);
        assert_eq!(t.end(), Some(0));
    }

    #[test]
    fn commands() {
        let dir = Dir::new("commands");
        dir.file("lib.dk", "/// Two times.\ndef twice(x: int) = 2 * x\n");
        let mut t = Terminal::new(&dir);
        assert_eq!(t.line(":type [1.5]"), "[real; 1]\n");
        assert_eq!(t.line(":load lib.dk"), "lib.dk: 1 definition\n");
        assert_eq!(t.line("twice(4)"), "8\n");
        assert_eq!(t.line(":type twice"), "twice(x: int): int\n");
        assert_eq!(t.line(":help twice"), "twice(x: int): int\nTwo times.\n");
        let ir = t.line(":ir twice");
        assert!(ir.starts_with("fn twice (v0 x: i64) -> i64 {\n") && ir.contains("= mul("), "{ir}");
        let ir = t.line(":ir twice(1) + 1");
        assert!(ir.contains("fn twice") && ir.contains("call<@twice>"), "{ir}");
        assert_eq!(t.line(":cost 1 + 2"), "work   3\ndepth  3\nspace  3 sequential, 3 parallel\n");
        let time = t.line(":time twice(5)");
        assert!(time.starts_with("10\ncompiled in ") && time.contains(", ran in "), "{time}");
        dir.file("lib.dk", "def twice(x: int) = x + x + 1\n");
        assert_eq!(t.line(":reload"), "lib.dk: 1 definition\n");
        assert_eq!(t.line("twice(4)"), "9\n");
        assert_eq!(t.line(":names"), "def twice(x: int): int\nit: int\n");
        assert!(t.line(":help sum").starts_with("sum: c<n:num> -> n\n  The sum"));
        assert!(t.line(":help").contains(":cost EXPR"));
        assert!(t.line(":lod lib.dk").contains("did you mean `:load`?"));
        t.press(":quit\r");
        assert_eq!(t.end(), Some(0));
    }
}
