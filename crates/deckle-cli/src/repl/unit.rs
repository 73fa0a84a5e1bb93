//! A text to compile, composed of pieces that the user wrote, and the mapping of its places back to theirs.

use super::item::{Part, Source};
use deckle_diag::{Diagnostic, FileId, SourceMap, Span};
use std::ops::Range;
use std::rc::Rc;

/// Diagnostics, and the files that they refer to.
#[derive(Debug)]
pub struct Failure {
    pub diagnostics: Vec<Diagnostic>,
    pub sources: SourceMap,
}

impl Failure {
    /// A diagnostic without a place.
    pub fn nowhere(diagnostic: Diagnostic) -> Failure {
        Failure { diagnostics: vec![diagnostic], sources: SourceMap::new() }
    }

    /// Diagnostics of a source that was file 0.
    pub fn in_source(source: &Source, diagnostics: Vec<Diagnostic>) -> Failure {
        let mut sources = SourceMap::new();
        sources.add(&source.name, &source.text);
        Failure { diagnostics, sources }
    }

    /// A diagnostic at a place of a source.
    pub fn at(part: &Part, diagnostic: impl FnOnce(Span) -> Diagnostic) -> Failure {
        let span = Span::new(FileId(0), part.range.start as u32, part.range.end as u32);
        Failure::in_source(&part.source, vec![diagnostic(span)])
    }
}

/// A text to compile.
#[derive(Debug, Default)]
pub struct Unit {
    pub text: String,
    pieces: Vec<Piece>,
}

/// A piece of the text and its origin.
#[derive(Debug)]
struct Piece {
    range: Range<usize>,
    part: Part,
    /// Whether it is a copy, so that places inside it correspond.
    copied: bool,
}

impl Unit {
    /// The file name under which units are compiled. It is in the working directory, which imports are relative to.
    pub const NAME: &str = "repl";

    /// Text that the user has not written.
    pub fn glue(&mut self, text: &str) {
        self.text += text;
    }

    /// A copy of text that the user has written.
    pub fn copy(&mut self, part: &Part) {
        self.add(part, part.text(), true);
    }

    /// Text that replaces what the user has written.
    pub fn stand_for(&mut self, part: &Part, text: &str) {
        self.add(part, text, false);
    }

    fn add(&mut self, part: &Part, text: &str, copied: bool) {
        let start = self.text.len();
        self.text += text;
        self.pieces.push(Piece { range: start..self.text.len(), part: part.clone(), copied });
    }

    /// The part that holds the primary place of a diagnostic about this unit.
    pub fn part_of(&self, d: &Diagnostic, sources: &SourceMap) -> Option<&Part> {
        let label = d.labels.first()?;
        let root = root(sources)?;
        (label.span.file == root).then(|| self.piece(label.span.lo as usize).map(|p| &p.part)).flatten()
    }

    /// Maps the places of diagnostics about this unit to the user's text.
    pub fn translate(&self, mut diagnostics: Vec<Diagnostic>, mut sources: SourceMap) -> Failure {
        let mut known: Vec<(*const Source, FileId)> = Vec::new();
        let root = root(&sources);
        for d in &mut diagnostics {
            for note in &mut d.notes {
                *note = note.replace(&format!("relative to `{}`", Unit::NAME), "relative to the working directory");
            }
            let labels = std::mem::take(&mut d.labels);
            for (i, mut label) in labels.into_iter().enumerate() {
                if Some(label.span.file) == root {
                    let Some((part, range)) = self.place(label.span, i == 0) else { continue };
                    let source = Rc::as_ptr(&part.source);
                    let file = known.iter().find(|k| k.0 == source).map(|k| k.1).unwrap_or_else(|| {
                        let file = sources.add(&part.source.name, &part.source.text);
                        known.push((source, file));
                        file
                    });
                    label.span = Span::new(file, range.start as u32, range.end as u32);
                }
                d.labels.push(label);
            }
        }
        diagnostics.dedup();
        Failure { diagnostics, sources }
    }

    /// The origin of a place. Glue has none, unless one is required: then it is the last piece of the user before it.
    fn place(&self, span: Span, needed: bool) -> Option<(&Part, Range<usize>)> {
        let (lo, hi) = (span.lo as usize, span.hi as usize);
        let Some(piece) = self.piece(lo) else {
            let last = self.pieces.last().filter(|_| needed)?;
            return Some((&last.part, last.part.range.clone()));
        };
        if !piece.copied {
            return Some((&piece.part, piece.part.range.clone()));
        }
        let back =
            |at: usize| at.clamp(piece.range.start, piece.range.end) - piece.range.start + piece.part.range.start;
        Some((&piece.part, back(lo)..back(hi)))
    }

    fn piece(&self, at: usize) -> Option<&Piece> {
        // An error at the end of a piece belongs to it.
        self.pieces.iter().rev().find(|p| p.range.start <= at && at <= p.range.end)
    }
}

fn root(sources: &SourceMap) -> Option<FileId> {
    sources.files().find(|(_, f)| f.name == Unit::NAME).map(|f| f.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_diag::Code;

    #[test]
    fn places_lead_back_to_what_was_written() {
        let source = Rc::new(Source { name: "in".into(), text: ":type a + b".into() });
        let part = Part { source, range: 6..11 };
        let mut unit = Unit::default();
        unit.glue("def it() =\n");
        unit.copy(&part);
        unit.glue("\n");
        let mut sources = SourceMap::new();
        let file = sources.add(Unit::NAME, &unit.text);
        let at = |lo, hi| Diagnostic::new(Code::UnknownName, "m", Span::new(file, lo, hi), "");
        let all = vec![at(15, 16), at(16, 17), at(0, 3), at(11, 12).label(Span::new(file, 4, 6), "glue")];
        let failure = unit.translate(all, sources);
        let places: Vec<(u32, u32)> =
            failure.diagnostics.iter().map(|d| (d.labels[0].span.lo, d.labels[0].span.hi)).collect();
        assert_eq!(places, [(10, 11), (11, 11), (6, 11), (6, 7)]);
        assert_eq!(failure.diagnostics[3].labels.len(), 1);
        assert_eq!(failure.sources.get(failure.diagnostics[0].labels[0].span.file).unwrap().name, "in");
    }
}
