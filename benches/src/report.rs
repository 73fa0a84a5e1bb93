//! Figures as lines of JSON, as a table to read, and as the table of `docs/performance.md`.

use crate::goals::{Outcome, outcomes};
use crate::measure::Times;
use crate::rivals::Figure;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The share of a core used by others that spoils a figure.
const DISTURBING: f64 = 0.1;

/// The results of one benchmark on a number of threads, after all rounds.
#[derive(Clone, Debug)]
pub struct Row {
    /// The line of the last round, with the medians over all.
    pub line: Value,
    /// The seconds of each rival.
    pub rivals: BTreeMap<String, f64>,
}

impl Row {
    /// Combines the rounds of one benchmark.
    pub fn new(rounds: &[Value], rivals: &[Figure]) -> Option<Row> {
        let mut line = rounds.iter().rfind(|l| l["failed"].is_string()).or(rounds.last())?.clone();
        for key in ["seconds", "of_limit", "cpu_seconds", "others"] {
            let all: Vec<f64> = rounds.iter().filter_map(|l| l[key].as_f64()).collect();
            if !all.is_empty() {
                line[key] = json!(Times::new(all).median());
            }
        }
        let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let is_same = |f: &&Figure| {
            line["rival"] == f.bench.as_str() && line["size"] == f.size.as_str() && line["threads"] == f.threads
        };
        let same: Vec<&Figure> = rivals.iter().filter(is_same).collect();
        if let Some(others) = same.iter().map(|f| f.others).reduce(f64::max) {
            line["others_of_rivals"] = json!(others);
        }
        same.iter().for_each(|f| times.entry(f.peer.clone()).or_default().push(f.seconds));
        let chosen: Vec<f64> = rounds.iter().filter_map(|l| l["chosen_seconds"].as_f64()).collect();
        if !chosen.is_empty() {
            times.insert("the chosen schedule".to_string(), chosen);
        }
        let rivals = times.into_iter().map(|(p, t)| (p, Times::new(t).median())).collect();
        Some(Row { line, rivals })
    }

    /// A row as it was printed.
    pub fn from_json(text: &str) -> Option<Row> {
        let line: Value = serde_json::from_str(text).ok()?;
        let rivals = line["rivals"].as_object().into_iter().flatten();
        let rivals = rivals.filter_map(|(p, s)| Some((p.clone(), s.as_f64()?))).collect();
        Some(Row { line, rivals })
    }

    fn seconds(&self) -> Option<f64> {
        self.line["seconds"].as_f64()
    }

    /// The fastest rival.
    fn best(&self) -> Option<(&str, f64)> {
        self.rivals.iter().map(|(p, s)| (p.as_str(), *s)).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let (Some(bench), Some(seconds)) = (self.line["bench"].as_str(), self.seconds()) else { return Vec::new() };
        outcomes(bench, seconds, &self.rivals, self.line["of_limit"].as_f64())
    }

    /// One line of JSON.
    pub fn json(&self) -> Value {
        let mut line = self.line.clone();
        if let (Some((peer, best)), Some(seconds)) = (self.best(), self.seconds()) {
            line["rivals"] = json!(self.rivals);
            line["best_rival"] = json!(peer);
            line["ratio"] = json!(best / seconds);
        }
        let goal = |o: &Outcome| json!({"rival": o.goal.rival, "at_least": o.goal.at_least, "ratio": o.ratio, "met": o.is_met()});
        let goals: Vec<Value> = self.outcomes().iter().map(goal).collect();
        if !goals.is_empty() {
            line["goals"] = json!(goals);
        }
        line
    }

    /// Whether others used the cores for much of the time, here or with the rivals.
    fn is_disturbed(&self) -> bool {
        let busy = |key: &str| self.line[key].as_f64().is_some_and(|cores| cores > DISTURBING);
        busy("others") || busy("others_of_rivals")
    }

    /// The cells of a line of the table.
    fn cells(&self) -> [String; 8] {
        let text = |k: &str| self.line[k].as_str().unwrap_or_default().to_string();
        let threads = self.line["threads"].to_string().replace('"', "");
        let head = [text("bench"), text("size"), threads];
        let [bench, size, threads] = head;
        let Some(seconds) = self.seconds() else {
            let short = text("message").lines().next().unwrap_or_default().to_string();
            return [bench, size, threads, text("failed"), short, String::new(), String::new(), String::new()];
        };
        let limit = match self.line["of_limit"].as_f64() {
            Some(share) => format!("{share:.2} of {}", text("limit")),
            None => String::new(),
        };
        let rival = self.best().map_or(String::new(), |(p, s)| format!("{:.2} {p}", s / seconds));
        let mut verdict: Vec<String> = self.outcomes().iter().filter_map(verdict).collect();
        if self.line["wrong"].is_string() {
            verdict.push("WRONG".into());
        }
        if self.line["same_bits"] == false {
            verdict.push("BITS DIFFER".into());
        }
        let time = time(seconds) + if self.is_disturbed() { " !" } else { "" };
        [bench, size, threads, time, rate(&self.line, seconds), limit, rival, verdict.join(", ")]
    }
}

/// The outcome of a goal, in words.
fn verdict(o: &Outcome) -> Option<String> {
    let sign = if o.is_met()? { "ok" } else { "MISSED" };
    Some(format!("{sign} {:.2}/{} {}", o.ratio?, o.goal.at_least, o.goal.rival))
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} µs", s * 1e6),
    }
}

fn rate(line: &Value, seconds: f64) -> String {
    let (bytes, ops) = (line["bytes"].as_f64().unwrap_or(0.0), line["ops"].as_f64().unwrap_or(0.0));
    match line["unit"].as_str() {
        Some("flop") if bytes > 0.0 && !line["limit"].as_str().unwrap_or_default().starts_with("fma") => {
            format!("{:.1} GB/s", bytes / seconds / 1e9)
        }
        Some(unit) if ops > 0.0 => format!("{:.3} G{unit}/s", ops / seconds / 1e9),
        _ => String::new(),
    }
}

const HEADS: [&str; 8] =
    ["benchmark", "size", "threads", "time", "rate", "of the limit", "best rival / Deckle", "goals"];

/// A table for readers, line by line.
pub fn plain(row: &Row) -> String {
    let widths = [20, 24, 2, 12, 16, 28, 30, 0];
    let cell = |(text, w): (&String, usize)| format!("{text:w$}");
    row.cells().iter().zip(widths).map(cell).collect::<Vec<_>>().join(" ").trim_end().to_string()
}

/// The heads of that table.
pub fn plain_head() -> String {
    let widths = [20, 24, 2, 12, 16, 28, 30, 0];
    let heads = HEADS.map(|h| if h == "threads" { "th" } else { h });
    heads.iter().zip(widths).map(|(h, w)| format!("{h:w$}")).collect::<Vec<_>>().join(" ").trim_end().to_string()
}

/// The table of the documentation.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = format!("| {} |\n|{}\n", HEADS.join(" | "), "---|".repeat(HEADS.len()));
    for row in rows {
        let cells = row.cells().map(|c| c.replace('|', "\\|"));
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seconds: f64) -> Value {
        json!({"bench": "dot-f32", "rival": "dotp", "size": "2^27 f32", "threads": 1, "seconds": seconds, "of_limit": 0.5,
            "limit": "read 10.0 GB/s", "bytes": 1e9, "ops": 1e9, "unit": "flop", "same_bits": true})
    }

    #[test]
    fn rounds_come_together() {
        let figure = |peer: &str, seconds| Figure {
            bench: "dotp".into(),
            peer: peer.into(),
            size: "2^27 f32".into(),
            threads: 1,
            seconds,
            others: 0.0,
        };
        let rivals = [figure("C", 0.4), figure("C", 0.6), figure("C", 0.5), figure("D", 1.0)];
        let row = Row::new(&[line(0.2), line(0.3), line(0.25)], &rivals).unwrap();
        let json = row.json();
        assert_eq!((&json["seconds"], &json["best_rival"], &json["ratio"]), (&json!(0.25), &json!("C"), &json!(2.0)));
        assert_eq!(json["goals"][0]["met"], true);
        assert!(plain(&row).contains("MISSED 0.50/0.85 limit"), "{}", plain(&row));
        let again = Row::from_json(&json.to_string()).unwrap();
        assert_eq!((again.json(), plain(&again)), (json, plain(&row)));
    }

    #[test]
    fn failures_are_shown() {
        let failed = json!({"bench": "x", "size": "1", "threads": 1, "failed": "compile", "message": "no\nmore"});
        let row = Row::new(&[failed], &[]).unwrap();
        assert!(plain(&row).contains("compile") && markdown(&[row]).contains("| no |"));
    }
}
