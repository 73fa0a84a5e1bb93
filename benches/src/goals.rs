//! The goals for the figures, from `goals.list`.

use std::collections::BTreeMap;

const LIST: &str = include_str!("../goals.list");

/// A goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The benchmark, or a prefix of its name.
    bench: String,
    /// The rival, or `limit`.
    pub rival: String,
    /// The minimal ratio.
    pub at_least: f64,
}

/// The distance of a figure from a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The goal.
    pub goal: Goal,
    /// The ratio; `None` if the rival is not available.
    pub ratio: Option<f64>,
}

impl Outcome {
    /// Whether it is reached, if that is known.
    pub fn is_met(&self) -> Option<bool> {
        self.ratio.map(|r| r >= self.goal.at_least)
    }
}

fn goals() -> Vec<Goal> {
    let goal = |line: &str| {
        let mut parts = line.split('|').map(str::trim);
        let (bench, rival) = (parts.next()?.to_string(), parts.next()?.to_string());
        Some(Goal { bench, rival, at_least: parts.next()?.parse().ok()? })
    };
    LIST.lines().filter(|l| !l.starts_with('#')).filter_map(goal).collect()
}

/// The goals of a benchmark, with the ratios reached: from its seconds, those of its rivals, and its share of the limit.
pub fn outcomes(bench: &str, seconds: f64, rivals: &BTreeMap<String, f64>, limit: Option<f64>) -> Vec<Outcome> {
    let is_meant =
        |g: &Goal| bench == g.bench || bench.strip_prefix(&g.bench).is_some_and(|rest| rest.starts_with('-'));
    let ratio = |g: &Goal| {
        if g.rival == "limit" {
            return limit;
        }
        let named = |peer: &str| match g.rival.strip_suffix('*') {
            Some(start) => peer.starts_with(start),
            None => peer == g.rival,
        };
        rivals.iter().filter(|(p, _)| named(p)).map(|(_, s)| s / seconds).reduce(f64::min)
    };
    goals().into_iter().filter(is_meant).map(|goal| Outcome { ratio: ratio(&goal), goal }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read() {
        let lines = LIST.lines().filter(|l| !l.starts_with('#')).count();
        assert!(lines > 20 && goals().len() == lines);
    }

    #[test]
    fn the_best_rival_counts() {
        let rivals = BTreeMap::from([("C".to_string(), 2.0), ("D".to_string(), 3.0)]);
        let all = outcomes("dot-f32", 1.0, &rivals, Some(0.5));
        assert_eq!(
            all.iter().map(|o| (o.ratio, o.is_met())).collect::<Vec<_>>(),
            [(Some(2.0), Some(true)), (Some(0.5), Some(false))]
        );
        assert!(outcomes("matmul-f32", 1.0, &rivals, None).iter().all(|o| o.ratio.is_none()));
        assert!(outcomes("mapsum-f32", 1.0, &rivals, None).iter().all(|o| o.goal.bench == "mapsum"));
    }
}
