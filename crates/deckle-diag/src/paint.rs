//! Colour, and rows of underlines and words that are drawn over one another.

/// The visual style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Frame,
    Error,
    Limitation,
    Bug,
}

impl Style {
    fn escape(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Bold => "\x1B[1m",
            Style::Frame => "\x1B[1;34m",
            Style::Error => "\x1B[1;31m",
            Style::Limitation => "\x1B[1;33m",
            Style::Bug => "\x1B[1;35m",
        }
    }
}

/// Whether styles become escape sequences.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) color: bool,
}

impl Paint {
    pub(crate) fn put(self, out: &mut String, style: Style, text: &str) {
        if self.color && style != Style::Plain {
            out.extend([style.escape(), text, "\x1B[0m"]);
        } else {
            out.push_str(text);
        }
    }
}

/// A row of a page in which each character knows its style; later text covers earlier.
#[derive(Default)]
pub(crate) struct Row {
    cells: Vec<(char, Style)>,
}

impl Row {
    pub(crate) fn put(&mut self, column: usize, text: &str, style: Style) {
        for (i, c) in text.chars().enumerate() {
            if self.cells.len() <= column + i {
                self.cells.resize(column + i + 1, (' ', Style::Plain));
            }
            self.cells[column + i] = (c, style);
        }
    }

    pub(crate) fn write(&self, paint: Paint, out: &mut String) {
        for run in self.cells.chunk_by(|a, b| a.1 == b.1) {
            let text: String = run.iter().map(|c| c.0).collect();
            paint.put(out, run[0].1, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_text_covers_earlier() {
        let mut row = Row::default();
        row.put(1, "----", Style::Frame);
        row.put(2, "^^", Style::Error);
        let mut out = String::new();
        row.write(Paint { color: false }, &mut out);
        assert_eq!(out, " -^^-");
    }

    #[test]
    fn plain_text_is_not_escaped() {
        let mut row = Row::default();
        row.put(2, "^", Style::Error);
        let mut out = String::new();
        row.write(Paint { color: true }, &mut out);
        assert_eq!(out, "  \x1B[1;31m^\x1B[0m");
    }
}
