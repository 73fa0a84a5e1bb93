//! The form of a character of a source line in a terminal, and its width in columns.

/// Columns of a tab. Tabs do not align to stops, so that a window into a line looks like the line.
const TAB: &str = "    ";

/// Ranges that combine with the character before them and take no column.
const ZERO: &[(char, char)] = &[
    ('\u{300}', '\u{36F}'),
    ('\u{483}', '\u{489}'),
    ('\u{591}', '\u{5BD}'),
    ('\u{610}', '\u{61A}'),
    ('\u{64B}', '\u{65F}'),
    ('\u{1AB0}', '\u{1AFF}'),
    ('\u{1DC0}', '\u{1DFF}'),
    ('\u{200B}', '\u{200D}'),
    ('\u{2060}', '\u{2060}'),
    ('\u{20D0}', '\u{20FF}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FE20}', '\u{FE2F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{E0100}', '\u{E01EF}'),
];

/// East Asian wide characters and emoji, which take two columns.
const WIDE: &[(char, char)] = &[
    ('\u{1100}', '\u{115F}'),
    ('\u{2E80}', '\u{303E}'),
    ('\u{3041}', '\u{4DBF}'),
    ('\u{4E00}', '\u{A4CF}'),
    ('\u{A960}', '\u{A97F}'),
    ('\u{AC00}', '\u{D7A3}'),
    ('\u{F900}', '\u{FAFF}'),
    ('\u{FE30}', '\u{FE6F}'),
    ('\u{FF00}', '\u{FF60}'),
    ('\u{FFE0}', '\u{FFE6}'),
    ('\u{1F300}', '\u{1F64F}'),
    ('\u{1F680}', '\u{1F6FF}'),
    ('\u{1F900}', '\u{1F9FF}'),
    ('\u{1FA70}', '\u{1FAFF}'),
    ('\u{20000}', '\u{3FFFD}'),
];

/// Appends `c` to `out` in a form that cannot disturb the terminal, and returns its columns.
///
/// Control characters become their pictures and direction marks the replacement character:
/// a source file must not be able to colour, move or reverse the text of a diagnostic.
pub(crate) fn show(c: char, out: &mut String) -> usize {
    match c {
        '\t' => {
            out.push_str(TAB);
            return TAB.len();
        }
        '\0'..='\x1F' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{FFFD}')),
        '\x7F' => out.push('\u{2421}'),
        '\u{80}'..='\u{9F}' | '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            out.push('\u{FFFD}')
        }
        _ => {
            out.push(c);
            return columns(c);
        }
    }
    1
}

fn columns(c: char) -> usize {
    if c.is_ascii() {
        1
    } else if within(ZERO, c) {
        0
    } else if within(WIDE, c) {
        2
    } else {
        1
    }
}

fn within(ranges: &[(char, char)], c: char) -> bool {
    let after = ranges.partition_point(|&(lo, _)| lo <= c);
    after > 0 && c <= ranges[after - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_follow_the_terminal() {
        let of = |c| show(c, &mut String::new());
        assert_eq!((of('a'), of('é'), of('\u{301}'), of('語'), of('🦀'), of('\t')), (1, 1, 0, 2, 2, 4));
    }

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        let mut out = String::new();
        for c in "\x1B[31m\u{202E}\x7F\r".chars() {
            show(c, &mut out);
        }
        assert_eq!(out, "␛[31m\u{FFFD}␡␍");
    }

    #[test]
    fn ranges_are_sorted() {
        for ranges in [ZERO, WIDE] {
            assert!(ranges.windows(2).all(|w| w[0].1 < w[1].0));
        }
    }
}
