//! The likely intended name for a misspelt one.

/// The maximal length of compared names: a longer one is not a typing error.
const LONGEST: usize = 64;

/// The candidate that was probably meant by `word`: at most a third of it is wrong. Of several the first in the alphabet.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let len = |s: &str| s.chars().count();
    let limit = (len(word) / 3).max(1);
    let near = |(d, c): &(usize, &str)| *d <= limit && *d < len(word).min(len(c));
    candidates.into_iter().map(|c| (distance(word, c), c)).filter(near).min().map(|(_, c)| c)
}

/// The number of characters to insert, delete or change, a swap of neighbours counting as one. Upper and lower case
/// count as equal.
fn distance(a: &str, b: &str) -> usize {
    let letters = |s: &str| s.chars().flat_map(char::to_lowercase).take(LONGEST).collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["length", "filter", "flatten", "sum"];
        assert_eq!(closest("lenght", names), Some("length"));
        assert_eq!(closest("filtre", names), Some("filter"));
        assert_eq!(closest("wieghts", ["weights", "x"]), Some("weights"));
        assert_eq!(closest("N", ["n", "k"]), Some("n"));
        assert_eq!(closest("cuont", ["count"]), Some("count"));
    }

    #[test]
    fn far_names_are_not() {
        let names = ["length", "filter", "flatten", "sum"];
        assert_eq!(closest("quux", names), None);
        assert_eq!(closest("s", names), None);
        assert_eq!(closest("x", ["n"]), None);
        assert_eq!(closest("abc", ["xyz"]), None);
        assert_eq!(closest("", ["xyz"]), None);
    }

    #[test]
    fn long_names_do_not_take_long() {
        assert_eq!(closest(&"a".repeat(100_000), ["b"]), None);
    }
}
