//! The nine programs as the paper draws them: how many times as fast as the baseline, in the order of their speed on all cores.

use crate::bars::Bars;
use crate::report::Row;
use serde_json::Value;
use std::collections::BTreeMap;

/// The picture of what was measured, or of lines that were printed earlier.
pub fn plot(rows: &[Row]) -> String {
    let of = |row: &Row| row.line["bench"].as_str().and_then(|b| b.strip_prefix("nine-")).map(str::to_string);
    let rows: Vec<(String, &Row)> = rows.iter().filter_map(|row| Some((of(row)?, row))).collect();
    let mut threads: Vec<u64> = rows.iter().filter_map(|(_, row)| row.line["threads"].as_u64()).collect();
    threads.sort_unstable();
    threads.dedup();
    let mut places: Vec<Value> = threads.into_iter().map(Value::from).collect();
    places.extend(rows.iter().map(|(_, row)| &row.line["threads"]).find(|t| t.is_string()).cloned());
    let mut series = Vec::new();
    for place in &places {
        let on = match place.as_u64() {
            Some(1) => "1 thread".to_string(),
            Some(n) => format!("{n} threads"),
            None => "GPU".to_string(),
        };
        if place.is_u64() {
            series.push(format!("Rust by hand, {on}"));
        }
        series.push(format!("Deckle, {on}"));
    }
    let mut groups = BTreeMap::<String, Vec<Option<f64>>>::new();
    for (name, _) in &rows {
        let mut bars = Vec::new();
        for place in &places {
            let row = rows.iter().find(|(n, row)| n == name && row.line["threads"] == *place).map(|(_, row)| *row);
            let baseline = row.and_then(|row| row.line["baseline_seconds"].as_f64());
            let times = |seconds: Option<f64>| Some(baseline? / seconds?);
            if place.is_u64() {
                bars.push(times(row.and_then(|row| row.rivals.values().next().copied())));
            }
            bars.push(times(row.and_then(|row| row.line["seconds"].as_f64())));
        }
        groups.insert(name.clone(), bars);
    }
    let mut groups: Vec<(String, Vec<Option<f64>>)> = groups.into_iter().collect();
    let cores = |bars: &[Option<f64>]| {
        bars.iter().zip(&series).filter(|(_, name)| !name.ends_with("GPU")).filter_map(|(b, _)| *b).fold(0.0, f64::max)
    };
    groups.sort_by(|a, b| cores(&a.1).total_cmp(&cores(&b.1)));
    let title = "times as fast as Rust by hand on one thread without vectors".to_string();
    Bars { title, series, groups }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_programs_come_first() {
        let line = |name: &str, threads: &str, seconds: f64| {
            let line = format!(
                "{{\"bench\": \"nine-{name}\", \"threads\": {threads}, \"seconds\": {seconds}, \"baseline_seconds\": 8.0, \"rivals\": {{\"rayon\": 2.0}}}}"
            );
            Row::from_json(&line).unwrap()
        };
        let rows = [line("fast", "1", 1.0), line("fast", "\"GPU\"", 0.5), line("slow", "1", 4.0)];
        let svg = plot(&rows);
        assert!(svg.find(">slow<") < svg.find(">fast<") && svg.contains("Deckle, GPU"), "{svg}");
        assert!(svg.contains("Rust by hand, 1 thread: 4.00") && svg.contains("Deckle, GPU: 16.0"), "{svg}");
    }
}
