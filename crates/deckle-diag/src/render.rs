//! Diagnostics as text for a terminal.
//!
//! ```text
//! error[D0201]: these two types must be the same
//!   --> file.dk:3:16
//!    |
//!  3 | def f(x) = x + true
//!    |            -   ^^^^ this is `bool`
//!    |            |
//!    |            but this is `int`
//!    = note: both operands of `+` have one type
//! ```
//!
//! Labels are grouped by file and line. A line is shown through a window of at most [`WINDOW`]
//! characters; labels of one long line that do not share a window get an excerpt each. Spans are
//! clamped to the text, so a wrong span misplaces a caret and never loses the message.

use crate::paint::{Paint, Row, Style};
use crate::width::show;
use crate::{Class, Diagnostic, FileId, Label, SourceFile, SourceMap};
use std::fmt::Write;

/// The maximal number of characters of a source line that are shown at once.
const WINDOW: usize = 160;
/// Characters shown before the first caret when the start of a line is cut off.
const LEAD: usize = 40;
/// The maximal number of diagnostics that [`render_all`] writes.
const SHOWN: usize = 20;
const CUT: &str = "...";

/// A label on one line of one file. Bytes count from the start of the line.
struct Mark<'a> {
    lo: usize,
    hi: usize,
    text: &'a str,
    primary: bool,
}

/// The excerpt of one file: the place of its first label, and the marks of each line.
struct Excerpt<'a> {
    id: FileId,
    file: &'a SourceFile,
    at: (usize, usize),
    lines: Vec<(usize, Vec<Mark<'a>>)>,
}

/// The diagnostic with the source lines that it refers to, ending in a newline.
pub fn render(d: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    let excerpts = excerpts(d, sources);
    let last_line = excerpts.iter().flat_map(|e| e.lines.iter().map(|l| l.0)).max().unwrap_or(1);
    let (word, style) = match d.class() {
        Class::User => ("error", Style::Error),
        Class::Limitation => ("limitation", Style::Limitation),
        Class::Bug => ("bug", Style::Bug),
    };
    let gutter = last_line.to_string().len() + 1;
    let mut page = Page { out: String::new(), paint: Paint { color }, primary: style, gutter };
    page.paint.put(&mut page.out, style, &format!("{word}[{}]", d.code));
    page.paint.put(&mut page.out, Style::Bold, &format!(": {}", one_line(&d.message)));
    page.out.push('\n');
    for (i, excerpt) in excerpts.iter().enumerate() {
        page.excerpt(excerpt, i == 0);
    }
    let placeless = d.labels.iter().filter(|l| sources.get(l.span.file).is_none() && !l.text.is_empty());
    for text in placeless.map(|l| &l.text).chain(&d.notes) {
        page.remark("note", text);
    }
    for text in &d.helps {
        page.remark("help", text);
    }
    page.out
}

/// Several diagnostics with blank lines between them and a count at the end; nothing for none.
pub fn render_all(ds: &[Diagnostic], sources: &SourceMap, color: bool) -> String {
    let mut out = String::new();
    for d in ds.iter().take(SHOWN) {
        out += &render(d, sources, color);
        out.push('\n');
    }
    if ds.len() > SHOWN {
        let _ = writeln!(out, "... and {} more\n", ds.len() - SHOWN);
    }
    let counts: Vec<String> = [(Class::User, "error"), (Class::Limitation, "limitation"), (Class::Bug, "bug")]
        .into_iter()
        .map(|(class, word)| (ds.iter().filter(|d| d.class() == class).count(), word))
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}{}", if n == 1 { "" } else { "s" }))
        .collect();
    if !counts.is_empty() {
        let _ = writeln!(out, "{}", counts.join(", "));
    }
    out
}

fn excerpts<'a>(d: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Excerpt<'a>> {
    let mut excerpts: Vec<Excerpt> = Vec::new();
    for (i, label) in d.labels.iter().enumerate() {
        let Some(file) = sources.get(label.span.file) else { continue };
        let (at, mark) = place(file, label, i == 0);
        let known = excerpts.iter().position(|e| e.id == label.span.file);
        let known = known.unwrap_or_else(|| {
            excerpts.push(Excerpt { id: label.span.file, file, at, lines: Vec::new() });
            excerpts.len() - 1
        });
        let lines = &mut excerpts[known].lines;
        match lines.binary_search_by_key(&at.0, |l| l.0) {
            Ok(line) => lines[line].1.push(mark),
            Err(line) => lines.insert(line, (at.0, vec![mark])),
        }
    }
    excerpts
}

/// Line and column of a label, and its part of that line: a span of several lines is truncated at the
/// end of its first.
fn place<'a>(file: &SourceFile, label: &'a Label, primary: bool) -> ((usize, usize), Mark<'a>) {
    let text = &file.text;
    let mut lo = (label.span.lo as usize).min(text.len());
    while !text.is_char_boundary(lo) {
        lo -= 1;
    }
    let mut hi = (label.span.hi as usize).clamp(lo, text.len());
    while !text.is_char_boundary(hi) {
        hi += 1;
    }
    let at = file.line_col(lo as u32);
    let start = text[..lo].rfind('\n').map_or(0, |newline| newline + 1);
    let len = file.line(at.0).len();
    let mark = Mark { lo: (lo - start).min(len), hi: (hi - start).min(len), text: &label.text, primary };
    (at, mark)
}

/// The window that shows `mark`: all of a short line, else some text before it and more after.
fn window(line: &str, mark: &Mark) -> (usize, usize) {
    let back = |from: usize, chars: usize| line[..from].char_indices().rev().take(chars).last().map_or(from, |c| c.0);
    let start = back(mark.lo, LEAD).min(back(line.len(), WINDOW));
    let end = line[start..].char_indices().nth(WINDOW).map_or(line.len(), |c| start + c.0);
    (start, end)
}

struct Page {
    out: String,
    paint: Paint,
    primary: Style,
    gutter: usize,
}

impl Page {
    fn excerpt(&mut self, excerpt: &Excerpt, first: bool) {
        let arrow = if first { "-->" } else { ":::" };
        if !first {
            self.margin("", "|");
            self.out.push('\n');
        }
        let (line, column) = excerpt.at;
        self.paint.put(&mut self.out, Style::Frame, &format!("{:>1$}", arrow, self.gutter + 3));
        let _ = writeln!(self.out, " {}:{line}:{column}", excerpt.file.name);
        self.margin("", "|");
        self.out.push('\n');
        let mut previous = None;
        for (number, marks) in &excerpt.lines {
            if previous.is_some_and(|p| p + 1 < *number) {
                self.paint.put(&mut self.out, Style::Frame, CUT);
                self.out.push('\n');
            }
            previous = Some(*number);
            self.line(*number, excerpt.file.line(*number), marks);
        }
    }

    fn line(&mut self, number: usize, line: &str, marks: &[Mark]) {
        let mut rest: Vec<&Mark> = marks.iter().collect();
        rest.sort_by_key(|m| m.lo);
        while let Some(first) = rest.first() {
            let (start, end) = window(line, first);
            let fits = 1 + rest[1..].iter().take_while(|m| m.hi <= end).count();
            let here: Vec<&Mark> = rest.drain(..fits).collect();
            self.source(number, line, (start, end), &here);
        }
    }

    /// A window of a line, its underlines, and the texts of its marks from right to left.
    fn source(&mut self, number: usize, line: &str, (start, end): (usize, usize), marks: &[&Mark]) {
        let mut shown = String::new();
        let mut columns = vec![0; end - start + 1];
        let mut column = 0;
        if start > 0 {
            shown += CUT;
            column = CUT.len();
        }
        for (i, c) in line[start..end].char_indices() {
            columns[i] = column;
            column += show(c, &mut shown);
        }
        columns[end - start] = column;
        if end < line.len() {
            shown += CUT;
        }
        self.margin(&number.to_string(), "|");
        let shown = shown.trim_end();
        if !shown.is_empty() {
            let _ = write!(self.out, " {shown}");
        }
        self.out.push('\n');

        let at = |byte: usize| columns[byte.clamp(start, end) - start];
        let spans: Vec<(usize, usize)> = marks.iter().map(|m| (at(m.lo), at(m.hi).max(at(m.lo) + 1))).collect();
        let right = spans.iter().map(|s| s.1).max().unwrap_or(0);
        let mut row = Row::default();
        for primary in [false, true] {
            for (mark, span) in marks.iter().zip(&spans).filter(|(m, _)| m.primary == primary) {
                let caret = if mark.primary { "^" } else { "-" };
                row.put(span.0, &caret.repeat(span.1 - span.0), self.style(mark));
            }
        }
        let mut texts: Vec<usize> = (0..marks.len()).filter(|&i| !marks[i].text.is_empty()).collect();
        texts.sort_by_key(|&i| (std::cmp::Reverse(spans[i].0), !marks[i].primary));
        if let Some(beside) = texts.iter().position(|&i| spans[i].1 == right) {
            let i = texts.remove(beside);
            row.put(right + 1, &one_line(marks[i].text), self.style(marks[i]));
        }
        self.row(row);
        for (done, &i) in texts.iter().enumerate() {
            let mut row = Row::default();
            if done == 0 {
                self.stems(&mut row, &texts, marks, &spans);
                self.row(std::mem::take(&mut row));
            }
            let left: Vec<usize> = texts[done..].iter().copied().filter(|&k| spans[k].0 < spans[i].0).collect();
            self.stems(&mut row, &left, marks, &spans);
            row.put(spans[i].0, &one_line(marks[i].text), self.style(marks[i]));
            self.row(row);
        }
    }

    fn stems(&self, row: &mut Row, which: &[usize], marks: &[&Mark], spans: &[(usize, usize)]) {
        for &i in which {
            row.put(spans[i].0, "|", self.style(marks[i]));
        }
    }

    fn remark(&mut self, word: &str, text: &str) {
        let indent = " ".repeat(self.gutter + 1 + "= : ".len() + word.len());
        for (i, line) in text.lines().enumerate() {
            if i == 0 {
                self.margin("", "=");
                self.out.push(' ');
                self.paint.put(&mut self.out, Style::Bold, word);
                let _ = writeln!(self.out, ": {}", one_line(line));
            } else {
                let _ = writeln!(self.out, "{}", format!("{indent}{}", one_line(line)).trim_end());
            }
        }
    }

    fn row(&mut self, row: Row) {
        self.margin("", "|");
        self.out.push(' ');
        row.write(self.paint, &mut self.out);
        self.out.push('\n');
    }

    fn margin(&mut self, number: &str, bar: &str) {
        self.paint.put(&mut self.out, Style::Frame, &format!("{number:>0$} {bar}", self.gutter));
    }

    fn style(&self, mark: &Mark) -> Style {
        if mark.primary { self.primary } else { Style::Frame }
    }
}

/// Text that may quote the source, without characters that disturb the terminal or the layout.
fn one_line(text: &str) -> String {
    let mut out = String::new();
    for c in text.split(['\n', '\r', '\t']).collect::<Vec<_>>().join(" ").chars() {
        show(c, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Span};

    fn one_file(text: &str) -> (SourceMap, FileId) {
        let mut sources = SourceMap::new();
        let file = sources.add("file.dk", text);
        (sources, file)
    }

    /// The rendering of a type error whose labels are the given byte ranges of one file.
    fn labelled(text: &str, labels: &[(u32, u32, &str)]) -> String {
        let (sources, file) = one_file(text);
        let mut d = Diagnostic::nowhere(Code::TypeMismatch, "types differ");
        for &(lo, hi, label) in labels {
            d = d.label(Span::new(file, lo, hi), label);
        }
        render(&d, &sources, false)
    }

    #[track_caller]
    fn check(actual: &str, expected: &[&str]) {
        let expected: String = expected.iter().flat_map(|line| [*line, "\n"]).collect();
        assert_eq!(actual, expected, "\n{actual}\n{expected}");
    }

    #[test]
    fn labels_of_one_line_hang_below_it() {
        let (sources, file) = one_file("\n\ndef f(x) = x + true\n");
        let d = Diagnostic::new(Code::TypeMismatch, "types differ", Span::new(file, 17, 21), "this is `bool`")
            .label(Span::new(file, 13, 14), "but this is `int`")
            .label(Span::new(file, 6, 7), "in `f`")
            .note("one\ntwo")
            .help("write `x + 1`");
        check(
            &render(&d, &sources, false),
            &[
                "error[D0201]: types differ",
                "  --> file.dk:3:16",
                "   |",
                " 3 | def f(x) = x + true",
                "   |     -      -   ^^^^ this is `bool`",
                "   |     |      |",
                "   |     |      but this is `int`",
                "   |     in `f`",
                "   = note: one",
                "           two",
                "   = help: write `x + 1`",
            ],
        );
    }

    #[test]
    fn lines_and_files_are_told_apart() {
        let (mut sources, file) = one_file("a\nb\nc\nd\ne\n");
        let other = sources.add("lib.dk", "x\ny = z\n");
        let d = Diagnostic::new(Code::Unsupported, "no", Span::new(file, 6, 7), "here")
            .label(Span::new(other, 6, 7), "there")
            .label(Span::new(file, 0, 1), "first")
            .label(Span::new(file, 2, 3), "")
            .label(Span::NONE, "somewhere")
            .label(Span::new(FileId(77), 0, 9), "elsewhere");
        check(
            &render(&d, &sources, false),
            &[
                "limitation[D0801]: no",
                "  --> file.dk:4:1",
                "   |",
                " 1 | a",
                "   | - first",
                " 2 | b",
                "   | -",
                "...",
                " 4 | d",
                "   | ^ here",
                "   |",
                "  ::: lib.dk:2:5",
                "   |",
                " 2 | y = z",
                "   |     - there",
                "   = note: somewhere",
                "   = note: elsewhere",
            ],
        );
    }

    #[test]
    fn nested_labels_share_a_row() {
        check(
            &labelled("f(a, b)", &[(2, 3, "inner"), (0, 7, "outer"), (2, 3, "again")]),
            &[
                "error[D0201]: types differ",
                "  --> file.dk:1:3",
                "   |",
                " 1 | f(a, b)",
                "   | --^---- outer",
                "   |   |",
                "   |   inner",
                "   |   again",
            ],
        );
    }

    #[test]
    fn a_span_of_several_lines_ends_with_its_first() {
        check(
            &labelled("let x = [1,\r\n 2]", &[(8, 16, "here")]),
            &["error[D0201]: types differ", "  --> file.dk:1:9", "   |", " 1 | let x = [1,", "   |         ^^^ here"],
        );
    }

    #[test]
    fn carets_stand_under_tabs_and_wide_characters() {
        check(
            &labelled("\té語 + x", &[(9, 10, "x"), (1, 6, "name")]),
            &[
                "error[D0201]: types differ",
                "  --> file.dk:1:7",
                "   |",
                " 1 |     é語 + x",
                "   |     ---   ^ x",
                "   |     |",
                "   |     name",
            ],
        );
    }

    #[test]
    fn an_empty_span_has_one_caret() {
        check(
            &labelled("f()", &[(2, 2, "an argument")]),
            &["error[D0201]: types differ", "  --> file.dk:1:3", "   |", " 1 | f()", "   |   ^ an argument"],
        );
        check(
            &labelled("f(\n", &[(3, 3, "`)`")]),
            &["error[D0201]: types differ", "  --> file.dk:2:1", "   |", " 2 |", "   | ^ `)`"],
        );
    }

    #[test]
    fn long_lines_are_shown_through_windows() {
        let noise = "é".repeat(500_000);
        let out = labelled(&noise, &[(400_000, 400_004, "a"), (999_998, 1_000_000, "b"), (0, 1_000_000, "c")]);
        let shown = "é".repeat(WINDOW);
        check(
            &out,
            &[
                "error[D0201]: types differ",
                "  --> file.dk:1:200001",
                "   |",
                &format!(" 1 | {shown}..."),
                &format!("   | {} c", "-".repeat(WINDOW)),
                &format!(" 1 | ...{shown}..."),
                &format!("   | {}^^ a", " ".repeat(3 + LEAD)),
                &format!(" 1 | ...{shown}"),
                &format!("   | {}- b", " ".repeat(3 + WINDOW - 1)),
            ],
        );
    }

    #[test]
    fn no_span_panics() {
        let text = "é\tb\r\n語\n";
        let ends = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 99, u32::MAX - 1, u32::MAX];
        for text in [text, "", "\n"] {
            for lo in ends {
                for hi in ends {
                    labelled(text, &[(lo, hi, "a"), (hi, lo, "b")]);
                }
            }
        }
    }

    #[test]
    fn the_source_cannot_speak_to_the_terminal() {
        check(
            &labelled("\x1B[2J", &[(0, 1, "`\x1B`\nagain")]),
            &["error[D0201]: types differ", "  --> file.dk:1:1", "   |", " 1 | ␛[2J", "   | ^ `␛` again"],
        );
    }

    #[test]
    fn colour_only_adds_escapes() {
        let (sources, file) = one_file("x + y");
        let d = Diagnostic::new(Code::Internal, "m", Span::new(file, 0, 1), "l").note("n");
        check(
            &render(&d, &sources, true).replace('\x1B', "~"),
            &[
                "~[1;35mbug[D0901]~[0m~[1m: m~[0m",
                "~[1;34m  -->~[0m file.dk:1:1",
                "~[1;34m   |~[0m",
                "~[1;34m 1 |~[0m x + y",
                "~[1;34m   |~[0m ~[1;35m^~[0m ~[1;35ml~[0m",
                "~[1;34m   =~[0m ~[1mnote~[0m: n",
            ],
        );
    }

    #[test]
    fn many_are_cut_and_counted() {
        let sources = SourceMap::new();
        let d = Diagnostic::nowhere(Code::NoEntry, "nothing");
        assert_eq!(render_all(&[], &sources, false), "");
        let two = [d.clone(), Diagnostic::nowhere(Code::Unsupported, "not yet")];
        check(
            &render_all(&two, &sources, false),
            &["error[D0401]: nothing", "", "limitation[D0801]: not yet", "", "1 error, 1 limitation"],
        );
        let out = render_all(&vec![d; 50], &sources, false);
        assert!(out.ends_with("error[D0401]: nothing\n\n... and 30 more\n\n50 errors\n"));
        assert_eq!(out.matches("nothing").count(), SHOWN);
    }
}
