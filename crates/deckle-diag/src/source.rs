//! Files, and places in them.

/// A file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A half-open range of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
}

impl Span {
    /// A span of `file` from `lo` to `hi`.
    pub fn new(file: FileId, lo: u32, hi: u32) -> Self {
        Span { file, lo, hi }
    }

    /// The place of code that no source text stands for (a generated program, a Rust closure).
    pub const NONE: Span = Span { file: FileId(u32::MAX), lo: 0, hi: 0 };

    /// Whether this is [`Span::NONE`].
    pub fn is_none(self) -> bool {
        self.file.0 == u32::MAX
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        if self.is_none() {
            return other;
        }
        if other.is_none() || other.file != self.file {
            return self;
        }
        Span { file: self.file, lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// A file's name and text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Its name as shown to the user.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// The byte at which each line starts.
    line_starts: Vec<u32>,
}

/// All files of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// No files yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1))
            .collect();
        self.files.push(SourceFile { name: name.into(), text, line_starts });
        FileId(self.files.len() as u32 - 1)
    }

    /// The file behind an id, unless the id is foreign.
    pub fn get(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get(file.0 as usize)
    }

    /// All files, in the order in which they were added.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }
}

impl SourceFile {
    /// Line and column (in characters) of a byte, both from 1.
    pub fn line_col(&self, byte: u32) -> (usize, usize) {
        let byte = (byte as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|&s| s as usize <= byte) - 1;
        let start = self.line_starts[line] as usize;
        let col = self.text.as_bytes()[start..byte].iter().filter(|b| (**b & 0xC0) != 0x80).count();
        (line + 1, col + 1)
    }

    /// The text of a line (from 1), without its end.
    pub fn line(&self, line: usize) -> &str {
        let start = self.line_starts.get(line - 1).map_or(self.text.len(), |&s| s as usize);
        let end = self.line_starts.get(line).map_or(self.text.len(), |&s| s as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The number of lines.
    pub fn lines(&self) -> usize {
        self.line_starts.len()
    }
}
