//! Two texts, line by line.

/// The lines of both in one listing: `-` expected but missing, `+` present but not expected.
pub fn diff(expected: &[String], actual: &[String]) -> String {
    let (n, m) = (expected.len(), actual.len());
    // `common[i][j]` is the number of common lines of the remainders from `i` and `j`.
    let mut common = vec![vec![0usize; m + 1]; n + 1];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            common[i][j] = match expected[i] == actual[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let mut out = String::new();
    let (mut i, mut j) = (0, 0);
    while i < n || j < m {
        let (sign, line) = if i < n && j < m && expected[i] == actual[j] {
            (i, j) = (i + 1, j + 1);
            (' ', &expected[i - 1])
        } else if i < n && (j == m || common[i + 1][j] >= common[i][j + 1]) {
            i += 1;
            ('-', &expected[i - 1])
        } else {
            j += 1;
            ('+', &actual[j - 1])
        };
        out += format!("    {sign} {line}").trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_lines_are_shown_once() {
        let lines = |s: &str| s.split(' ').map(str::to_string).collect::<Vec<_>>();
        assert_eq!(diff(&lines("a b c"), &lines("a x c")), "      a\n    - b\n    + x\n      c\n");
        assert_eq!(diff(&[], &lines("a")), "    + a\n");
        assert_eq!(diff(&lines("a"), &[]), "    - a\n");
    }
}
