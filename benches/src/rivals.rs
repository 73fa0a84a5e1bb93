//! Rival programs: located, built and run as listed in `rivals.list`.
//!
//! Nothing is written into their folder, and nothing is installed: unavailable rivals are omitted, and reported.

use crate::machine::Watch;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LIST: &str = include_str!("../rivals.list");

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    group: String,
    needs: String,
    build: String,
    run: String,
}

/// A program that can be run.
#[derive(Clone, Debug)]
struct Program {
    group: String,
    command: Vec<String>,
}

/// The available rivals.
#[derive(Debug)]
pub struct Rivals {
    peers: PathBuf,
    build: PathBuf,
    programs: Vec<Program>,
}

/// The measurement of one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Their name of the benchmark.
    pub bench: String,
    /// The name of the rival.
    pub peer: String,
    /// Their name of its size.
    pub size: String,
    /// The threads.
    pub threads: usize,
    /// The median.
    pub seconds: f64,
    /// The average number of cores used by others meanwhile.
    pub others: f64,
}

/// The folder of the rivals.
pub fn folder() -> Option<PathBuf> {
    let beside = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
        Some(root.parent()?.join("shared/peers"))
    };
    std::env::var_os("DECKLE_PEERS").map(PathBuf::from).or_else(beside).filter(|p| p.is_dir())
}

fn lines() -> Vec<Line> {
    let line = |text: &str| {
        let mut parts = text.splitn(4, '|').map(|p| p.trim().to_string());
        let mut next = || parts.next().unwrap_or_default();
        Line { group: next(), needs: next(), build: next(), run: next() }
    };
    let said = |l: &&str| !l.starts_with('#') && !l.trim().is_empty();
    let (words, lines): (Vec<&str>, Vec<&str>) = LIST.lines().filter(said).partition(|l| l.starts_with('='));
    let mut text = lines.join("\n");
    for (name, meaning) in words.iter().filter_map(|w| w[1..].split_once('|')) {
        text = text.replace(&format!("{{{}}}", name.trim()), meaning.trim());
    }
    text.lines().map(line).collect()
}

impl Rivals {
    /// Builds all selected programs that can be built.
    pub fn build(groups: &[&str]) -> Result<Rivals, String> {
        let peers = folder().ok_or("no folder of rivals: set DECKLE_PEERS")?;
        let home =
            std::env::var_os("PEERS_BUILD").map_or_else(|| std::env::temp_dir().join("peers-build"), PathBuf::from);
        let build = home.join("deckle-bench");
        std::fs::create_dir_all(&build).map_err(|e| format!("{}: {e}", build.display()))?;
        let text = |p: &Path| p.display().to_string();
        let mut words = HashMap::from([
            ("peers".to_string(), text(&peers)),
            ("venv".to_string(), text(&home.join("venv"))),
            ("build".to_string(), text(&build)),
            ("stubs".to_string(), text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("stubs"))),
        ]);
        let mut rivals = Rivals { peers, build, programs: Vec::new() };
        let lines = lines();
        let is_wanted = |l: &&Line| groups.contains(&l.group.as_str());
        let texts: Vec<String> = lines.iter().filter(is_wanted).map(|l| format!("{} {}", l.build, l.run)).collect();
        for (at, line) in lines.iter().enumerate() {
            let made_once = line.group.strip_prefix("* ").map(|n| n.trim().to_string());
            let is_used = |n: &String| n == "gen" || texts.iter().any(|t| t.contains(&format!("{{{n}}}")));
            if !made_once.as_ref().map_or(is_wanted(&line), is_used) {
                continue;
            }
            match rivals.prepare(at, line, made_once.as_deref(), &mut words) {
                Ok(Some(program)) => rivals.programs.push(program),
                Ok(None) => {}
                Err(why) => eprintln!("left out: {} ({} {}): {why}", line.group, line.build, line.run),
            }
        }
        Ok(rivals)
    }

    /// Builds the program of a line. A program created once is built, and run if requested, and referred to by name afterwards.
    fn prepare(
        &self,
        at: usize,
        line: &Line,
        made_once: Option<&str>,
        words: &mut HashMap<String, String>,
    ) -> Result<Option<Program>, String> {
        match line.needs.strip_prefix('!') {
            Some(path) if find(&replaced(path, words)).is_some() => return Ok(None),
            None if !line.needs.is_empty() => {
                let path = replaced(&line.needs, words);
                let Some(found) = find(&path) else { return Err(format!("no {path}")) };
                words.insert("need".into(), found.display().to_string());
            }
            _ => {}
        }
        let out = self.build.join(made_once.map_or(format!("rival{at}"), |n| format!("lib{n}.so")));
        words.insert("bin".into(), out.display().to_string());
        let folder = self.peers.join(if made_once.is_some() { "common" } else { &line.group });
        if !line.build.is_empty() && (made_once.is_none() || !out.exists()) {
            self.compile(&arguments(&line.build, words), &folder, &out)?;
        }
        let Some(name) = made_once else {
            return Ok(Some(Program { group: line.group.clone(), command: arguments(&line.run, words) }));
        };
        if line.run.is_empty() {
            words.insert(name.into(), out.display().to_string());
            return Ok(None);
        }
        let data = self.build.join(name);
        let unfinished = self.build.join(format!("{name}-unfinished"));
        words.insert("data".into(), unfinished.display().to_string());
        words.insert(name.into(), data.display().to_string());
        if !data.is_dir() {
            std::fs::create_dir_all(&unfinished).map_err(|e| e.to_string())?;
            let done = self.command(&arguments(&line.run, words), &folder).status().map_err(|e| e.to_string())?;
            if !done.success() {
                return Err(format!("{done}"));
            }
            std::fs::rename(&unfinished, &data).map_err(|e| e.to_string())?;
        }
        Ok(None)
    }

    fn compile(&self, args: &[String], folder: &Path, out: &Path) -> Result<(), String> {
        let compiler = std::env::var("CC").unwrap_or("cc".into());
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-w", "-march=native", "-mprefer-vector-width=512"]);
        command.arg(format!("-I{}", self.peers.join("common").display()));
        command.args(args).args(["-fopenmp", "-lm", "-o"]).arg(out).current_dir(folder);
        let done = command.output().map_err(|e| e.to_string())?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
    }

    fn command(&self, words: &[String], folder: &Path) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(folder);
        command.env("LD_LIBRARY_PATH", &self.build).env("PEERS_LIBGEN", self.build.join("libgen.so"));
        command
    }

    /// The number of programs in a group.
    pub fn count(&self, group: &str) -> usize {
        self.programs.iter().filter(|p| p.group == group).count()
    }

    /// Runs the programs of a group once.
    pub fn run(&self, group: &str) -> Vec<Figure> {
        let mut figures = Vec::new();
        for program in self.programs.iter().filter(|p| p.group == group) {
            let mut command = self.command(&program.command, &self.peers.join(group));
            let watch = Watch::start();
            match command.stderr(Stdio::null()).output() {
                Ok(done) => {
                    let others = watch.others();
                    let lines = String::from_utf8_lossy(&done.stdout).into_owned();
                    figures.extend(lines.lines().filter_map(figure).map(|f| Figure { others, ..f }));
                    if !done.status.success() {
                        eprintln!("{}: {}", program.command.join(" "), done.status);
                    }
                }
                Err(e) => eprintln!("{}: {e}", program.command.join(" ")),
            }
        }
        figures
    }
}

/// Reads an output line of a rival. A sieve that finds no primes is a stub.
fn figure(line: &str) -> Option<Figure> {
    let v: Value = serde_json::from_str(line).ok()?;
    let text = |k: &str| v[k].as_str().map(String::from);
    if v["extra"]["primes"] == 0 {
        return None;
    }
    let threads = v["threads"].as_u64()? as usize;
    let seconds = v["seconds"].as_f64()?;
    Some(Figure { bench: text("bench")?, peer: text("peer")?, size: text("size")?, threads, seconds, others: 0.0 })
}

/// Substitutes the words in braces.
fn replaced(text: &str, words: &HashMap<String, String>) -> String {
    words.iter().fold(text.to_string(), |t, (k, v)| t.replace(&format!("{{{k}}}"), v))
}

/// Words between blanks; quotes protect blanks, and are preserved in the definition of a label.
fn arguments(text: &str, words: &HashMap<String, String>) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        quoted ^= c == '"';
        match (c, quoted) {
            (' ', false) => all.push(String::new()),
            _ => all.last_mut().unwrap_or(&mut String::new()).push(c),
        }
    }
    all.iter().filter(|w| !w.is_empty()).map(|w| replaced(w, words)).collect()
}

/// The first path that matches; `*` stands for the rest of a name.
fn find(pattern: &str) -> Option<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|p| !p.is_empty()) {
        let matching = |folder: PathBuf| -> Vec<PathBuf> {
            let Some(start) = part.strip_suffix('*') else { return vec![folder.join(part)] };
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut names: Vec<PathBuf> =
                entries.filter(|e| e.file_name().to_string_lossy().starts_with(start)).map(|e| e.path()).collect();
            names.sort();
            names
        };
        found = found.into_iter().flat_map(matching).collect();
    }
    found.into_iter().find(|p| p.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read() {
        let lines = lines();
        assert!(lines.len() > 20);
        assert!(lines.iter().all(|l| l.group.starts_with("* ") || !l.run.is_empty()));
        assert!(lines.iter().all(|l| !l.build.is_empty() || !l.run.contains("{bin}")));
    }

    #[test]
    fn quotes_keep_blanks() {
        let words = HashMap::from([("a".to_string(), "b".to_string())]);
        assert_eq!(arguments(r#"-D="x y"  {a}.c"#, &words), [r#"-D="x y""#, "b.c"]);
    }

    #[test]
    fn figures_of_rivals() {
        let line = r#"{"bench":"sum","peer":"C","size":"2^27 f32","threads":2,"seconds":0.5,"extra":{"runs":5}}"#;
        assert_eq!(figure(line).map(|f| (f.peer, f.threads, f.seconds)), Some(("C".into(), 2, 0.5)));
        assert_eq!(figure("graph: 3 nodes"), None);
        assert_eq!(figure(&line.replace("\"runs\":5", "\"primes\":0")), None);
    }
}
