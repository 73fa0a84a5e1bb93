//! Results as text for users.
//!
//! ```text
//! [1, 2, 3]                                        a vector
//! [0, 1, 2, ..., 997, 998, 999] (1,000 elements)   a long one
//! [[ 1, 2],                                        a matrix, aligned
//!  [10, 3]]
//! {[1],                                            a sequence of rows of different length
//!  [2, 3]}
//! point(x = 1.0, y = 2.0)                          a record
//! "text"                                           a [u8] that is text
//! ```
//! All output has a form that [`super::parse`] reads back, unless it was shortened.

use crate::item::Item;
use crate::tree;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Data, Form, Pool};
use std::collections::VecDeque;
use std::ops::Range;

/// The maximal number of elements that are shown without shortening.
const SHORT: usize = 20;
/// The numbers of elements shown of a longer one: at the beginning and at the end.
const ENDS: (usize, usize) = (10, 3);
/// The same for text, in characters.
const SHORT_TEXT: usize = 400;
const TEXT_ENDS: (usize, usize) = (200, 60);
/// Elements that are not scalars share a line up to this width.
pub(crate) const WIDTH: usize = 100;
const DOTS: &str = "...";

/// The first value of flat data, which is of the type, over as many lines as it needs, without the last line end. If the output is shortened, only the
/// shown elements are read.
pub fn show(ty: &Type, data: &Data, full: bool) -> String {
    show_at(ty, data, 0, full)
}

/// The same for the value at a place, which must exist.
pub(crate) fn show_at(ty: &Type, data: &Data, at: usize, full: bool) -> String {
    Shower { full }.lines(ty, Item { data, at }).join("\n")
}

/// The shown part of a sequence whose elements come block by block: the same text as [`show`] of all of them.
#[derive(Debug)]
pub struct Ends {
    ty: Type,
    /// The first elements, as many as are shown of a short one, and the last.
    head: Vec<Value>,
    tail: VecDeque<Value>,
    about: About,
}

impl Ends {
    /// An empty sequence of a type.
    pub fn new(ty: &Type) -> Ends {
        Ends { ty: ty.clone(), head: Vec::new(), tail: VecDeque::new(), about: About::default() }
    }

    fn elem(&self) -> &Type {
        self.ty.elem().unwrap_or(&self.ty)
    }

    /// Adds more elements.
    pub fn push(&mut self, block: &Data) {
        self.about.add(block, 0..block.len());
        let first = block.len().min(SHORT - self.head.len());
        let head: Vec<Value> = (0..first).map(|i| tree::value(self.elem(), block, i)).collect();
        self.head.extend(head);
        for i in block.len().saturating_sub(ENDS.1)..block.len() {
            self.tail.push_back(tree::value(self.elem(), block, i));
        }
        self.tail.drain(..self.tail.len().saturating_sub(ENDS.1));
    }

    /// All of them, over as many lines as that needs.
    pub fn show(&self) -> String {
        let is_long = self.about.len > SHORT;
        let head = &self.head[..if is_long { ENDS.0 } else { self.head.len() }];
        let shown = head.iter().chain(self.tail.iter().filter(|_| is_long));
        let Ok(data) = tree::flat(self.elem(), shown, &Pool::new(None), "what is shown") else {
            return DOTS.to_string();
        };
        let mut chosen: Vec<Option<Item<'_>>> = (0..data.len()).map(|at| Some(Item { data: &data, at })).collect();
        if is_long {
            chosen.insert(ENDS.0, None);
        }
        Shower { full: false }.listed(self.elem(), &Listed { chosen, about: self.about }, "{", "}").join("\n")
    }
}

/// Facts about all elements that are needed to show some of them.
#[derive(Clone, Copy, Debug, Default)]
struct About {
    len: usize,
    /// The length of the first one, if it is a vector.
    first: usize,
    /// Whether not all are vectors of that length, and whether not all are texts.
    uneven: bool,
    no_text: bool,
}

impl About {
    /// Adds more elements.
    fn add(&mut self, data: &Data, range: Range<usize>) {
        if let Form::Equal(..) | Form::Offsets(..) = data.form() {
            if self.len == 0 && !range.is_empty() {
                self.first = Item { data, at: range.start }.len();
            }
            for item in range.clone().map(|at| Item { data, at }) {
                self.uneven |= item.len() != self.first;
                self.no_text = self.no_text || item.elements().is_none_or(|(elem, range)| text(elem, range).is_none());
            }
        }
        self.len += range.len();
    }
}

/// Elements to show, with `None` for an omitted part.
struct Listed<'a> {
    chosen: Vec<Option<Item<'a>>>,
    about: About,
}

struct Shower {
    full: bool,
}

impl Shower {
    fn lines(&self, ty: &Type, item: Item<'_>) -> Vec<String> {
        let Item { data, at } = item;
        match (ty, data.form()) {
            (_, Form::Scalars(..)) => vec![cell(item)],
            (Type::Record(r), Form::Tuple(parts)) => {
                let fields = r.fields.iter().zip(parts);
                let lines = fields.map(|((n, t), data)| prefixed(&format!("{n} = "), self.lines(t, Item { data, at })));
                prefixed(&r.name, bracketed("(", ")", lines.collect(), ""))
            }
            (_, Form::Tuple(parts)) => {
                let types = ty.parts().unwrap_or_default();
                let lines = types.iter().zip(parts).map(|(t, data)| self.lines(t, Item { data, at }));
                bracketed("(", ")", lines.collect(), "")
            }
            (_, Form::Equal(..) | Form::Offsets(..)) => {
                let (open, close) = if ty.is_seq() { ("{", "}") } else { ("[", "]") };
                let (elem, range) = item.elements().unwrap_or((data, 0..0));
                self.items(ty.elem().unwrap_or(ty), (elem, range), open, close)
            }
        }
    }

    fn items(&self, elem: &Type, (data, range): (&Data, Range<usize>), open: &str, close: &str) -> Vec<String> {
        if *elem == Type::Scalar(ScalarType::U8)
            && open == "["
            && let Some(text) = text(data, range.clone())
        {
            return vec![self.string(text)];
        }
        let mut about = About::default();
        match elem {
            Type::Array(_) => about.add(data, range.clone()),
            _ => about.len = range.len(),
        }
        self.listed(elem, &Listed { chosen: self.chosen(data, range), about }, open, close)
    }

    fn listed(&self, elem: &Type, list: &Listed<'_>, open: &str, close: &str) -> Vec<String> {
        let len = list.about.len;
        let count = |what: &str| self.is_long(len).then(|| format!(" ({} {what})", grouped(len)));
        match elem {
            Type::Scalar(_) => {
                let suffix = count("elements").unwrap_or_default();
                vec![format!("{open}{}{close}{suffix}", cells(&list.chosen).join(", "))]
            }
            Type::Array(a) if matches!(a.elem, Type::Scalar(_)) => self.rows(&a.elem, elem, list, open, close),
            _ => {
                let shown = list.chosen.iter().map(|i| i.map_or(dots(), |v| self.lines(elem, v)));
                let shown: Vec<Vec<String>> = shown.collect();
                let suffix = count("elements").unwrap_or_default();
                if elem.is_flat() {
                    bracketed(open, close, shown, &suffix)
                } else {
                    stacked(open, close, shown, &suffix)
                }
            }
        }
    }

    /// Vectors of scalars: texts, a matrix, or rows of different length.
    fn rows(&self, scalar: &Type, row: &Type, list: &Listed<'_>, open: &str, close: &str) -> Vec<String> {
        let Listed { chosen, about } = list;
        let count = if self.is_long(about.len) { format!(" ({} rows)", grouped(about.len)) } else { String::new() };
        if *scalar == Type::Scalar(ScalarType::U8) && !about.no_text {
            let shown = chosen.iter().map(|i| i.map_or(dots(), |v| self.lines(row, v))).collect();
            return bracketed(open, close, shown, &count);
        }
        let regular = !about.uneven;
        let cells: Vec<Option<Vec<String>>> = chosen
            .iter()
            .map(|i| i.map(|v| v.elements().map_or(Vec::new(), |(d, r)| cells(&self.chosen(d, r)))))
            .collect();
        let columns = if regular { cells.iter().flatten().map(Vec::len).max().unwrap_or(0) } else { 0 };
        let widths: Vec<usize> =
            (0..columns).map(|c| cells.iter().flatten().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
        let lines = cells.into_iter().zip(chosen).map(|(cells, item)| {
            let Some(cells) = cells else { return dots() };
            let aligned =
                cells.iter().enumerate().map(|(c, s)| format!("{s:>0$}", widths.get(c).copied().unwrap_or(0)));
            let len = item.map_or(0, Item::len);
            let suffix =
                if !regular && self.is_long(len) { format!(" ({} elements)", grouped(len)) } else { String::new() };
            vec![format!("[{}]{suffix}", aligned.collect::<Vec<_>>().join(", "))]
        });
        let suffix = match about.len > 0 && regular && (self.is_long(about.len) || self.is_long(about.first)) {
            true => format!(" ({} x {} elements)", grouped(about.len), grouped(about.first)),
            false => count,
        };
        stacked(open, close, lines.collect(), &suffix)
    }

    fn is_long(&self, len: usize) -> bool {
        !self.full && len > SHORT
    }

    /// The items to show, with `None` for an omitted part.
    fn chosen<'a>(&self, data: &'a Data, range: Range<usize>) -> Vec<Option<Item<'a>>> {
        let item = |at| Some(Item { data, at });
        if !self.is_long(range.len()) {
            return range.map(item).collect();
        }
        let (head, tail) = (range.start..range.start + ENDS.0, range.end - ENDS.1..range.end);
        head.map(item).chain([None]).chain(tail.map(item)).collect()
    }

    fn string(&self, text: &str) -> String {
        let count = text.chars().count();
        if self.full || count <= SHORT_TEXT {
            return quoted(text);
        }
        let head: String = text.chars().take(TEXT_ENDS.0).collect();
        let tail: String = text.chars().skip(count - TEXT_ENDS.1).collect();
        format!("{} ... {} ({} bytes)", quoted(&head), quoted(&tail), grouped(text.len()))
    }
}

/// A scalar, as text.
fn cell(item: Item<'_>) -> String {
    item.scalar().map_or_else(|_| String::new(), scalar)
}

/// Scalars, as text.
fn cells(chosen: &[Option<Item<'_>>]) -> Vec<String> {
    chosen.iter().map(|i| i.map_or(DOTS.to_string(), cell)).collect()
}

fn dots() -> Vec<String> {
    vec![DOTS.to_string()]
}

/// On one line if that is short enough, else stacked.
fn bracketed(open: &str, close: &str, blocks: Vec<Vec<String>>, suffix: &str) -> Vec<String> {
    let width: usize = blocks.iter().flatten().map(|l| l.chars().count() + 2).sum();
    if blocks.iter().all(|b| b.len() == 1) && (width <= WIDTH || blocks.len() < 2) {
        return vec![format!("{open}{}{close}{suffix}", blocks.concat().join(", "))];
    }
    stacked(open, close, blocks, suffix)
}

/// Each block on lines of its own.
fn stacked(open: &str, close: &str, blocks: Vec<Vec<String>>, suffix: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let last = blocks.len().saturating_sub(1);
    for (i, mut block) in blocks.into_iter().enumerate() {
        // Dots replace elements and their commas.
        if let Some(line) = block.last_mut().filter(|l| i < last && **l != DOTS) {
            line.push(',');
        }
        lines.extend(block);
    }
    let mut lines = prefixed(open, if lines.is_empty() { vec![String::new()] } else { lines });
    if let Some(line) = lines.last_mut() {
        line.push_str(close);
        line.push_str(suffix);
    }
    lines
}

/// A block after a prefix; its further lines are indented by the prefix.
fn prefixed(words: &str, block: Vec<String>) -> Vec<String> {
    let blanks = " ".repeat(words.chars().count());
    let shift = |(i, line): (usize, String)| format!("{}{line}", if i == 0 { words } else { &blanks });
    block.into_iter().enumerate().map(shift).collect()
}

/// The shortest text that is read back as the same value.
fn scalar(s: Scalar) -> String {
    match s {
        Scalar::Bool(b) => b.to_string(),
        Scalar::F32(v) if v.is_nan() => "nan".to_string(),
        Scalar::F64(v) if v.is_nan() => "nan".to_string(),
        Scalar::F32(v) => format!("{v:?}"),
        Scalar::F64(v) => format!("{v:?}"),
        other => other.as_int().unwrap_or(0).to_string(),
    }
}

/// The text that bytes spell, if they are bytes and spell one.
fn text(data: &Data, range: Range<usize>) -> Option<&str> {
    let Form::Scalars(ScalarType::U8, bytes) = data.form() else { return None };
    let text = std::str::from_utf8(bytes.as_slice::<u8>().get(range)?).ok()?;
    let printable = |c: char| matches!(c, '\n' | '\t' | '\r') || !(c.is_control() || is_direction(c));
    text.chars().all(printable).then_some(text)
}

/// Characters that change how a terminal orders what follows.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '"' | '\\' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out + "\""
}

/// `1000` as `1,000`.
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(d);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::entity::SizeVar;
    use deckle_ir::scalar::ScalarType as T;
    use deckle_ir::size::Size;
    use deckle_ir::types::RecordType;
    use std::sync::Arc;

    fn vector(elem: impl Into<Type>) -> Type {
        Type::array(Size::var(SizeVar(0)), elem.into())
    }

    fn ints(v: impl IntoIterator<Item = i64>) -> Value {
        Value::array(v.into_iter().map(Value::int).collect())
    }

    fn bytes(s: &str) -> Value {
        Value::array(s.bytes().map(|b| Scalar::U8(b).into()).collect())
    }

    fn point() -> Type {
        let fields = vec![("x".to_string(), T::F64.into()), ("row".to_string(), vector(vector(T::I64)))];
        Type::Record(Arc::new(RecordType { name: "point".into(), fields }))
    }

    /// As flat data, which it is shown from.
    fn show(ty: &Type, value: &Value, full: bool) -> String {
        super::show(ty, &tree::single(ty, value).unwrap(), full)
    }

    #[track_caller]
    fn shows(ty: &Type, value: &Value, expected: &[&str]) {
        let shown = show(ty, value, false);
        assert_eq!(shown, expected.join("\n"), "\n{shown}");
    }

    #[test]
    fn scalars_are_plain() {
        for (s, text) in [
            (Scalar::I64(-3), "-3"),
            (Scalar::U64(u64::MAX), "18446744073709551615"),
            (Scalar::F64(0.1), "0.1"),
            (Scalar::F64(3.0), "3.0"),
            (Scalar::F64(1e300), "1e300"),
            (Scalar::F32(0.1), "0.1"),
            (Scalar::F64(f64::NAN), "nan"),
            (Scalar::F64(f64::NEG_INFINITY), "-inf"),
            (Scalar::Bool(true), "true"),
        ] {
            shows(&s.ty().into(), &s.into(), &[text]);
        }
    }

    #[test]
    fn long_vectors_are_shortened() {
        shows(&vector(T::I64), &ints([1, 2, 3]), &["[1, 2, 3]"]);
        shows(&vector(T::I64), &ints([]), &["[]"]);
        let long = ints(0..1000);
        let expected = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..., 997, 998, 999] (1,000 elements)";
        shows(&vector(T::I64), &long, &[expected]);
        assert!(show(&vector(T::I64), &long, true).ends_with("996, 997, 998, 999]"));
        let seq = Value::seq((0..3).map(Value::int).collect());
        shows(&Type::seq(Type::INT), &seq, &["{0, 1, 2}"]);
    }

    #[test]
    fn elements_that_come_in_blocks_are_shown_as_all_together() {
        let same = |elem: Type, elems: Vec<Value>| {
            let ty = Type::seq(elem);
            let expected = show(&ty, &Value::seq(elems.clone()), false);
            for block in [1, 2, 7, 100] {
                let mut ends = Ends::new(&ty);
                for some in elems.chunks(block) {
                    ends.push(&tree::flat(ty.elem().unwrap(), some, &Pool::new(None), "a block").unwrap());
                }
                assert_eq!(ends.show(), expected, "in blocks of {block}");
            }
        };
        for n in [0, 1, 3, 19, 20, 21, 22, 100] {
            same(Type::INT, (0..n).map(Value::int).collect());
            same(vector(T::I64), (0..n).map(|i| ints([i, 2 * i])).collect());
            same(vector(T::I64), (0..n).map(|i| ints(0..i % 30)).collect());
            same(vector(T::U8), (0..n).map(|i| bytes(&"word".repeat(i as usize % 3))).collect());
            same(
                Type::tuple(vec![Type::INT, Type::INT]),
                (0..n).map(|i| Value::tuple(vec![Value::int(i); 2])).collect(),
            );
        }
        let mut words: Vec<Value> = (0..30).map(|_| bytes("word")).collect();
        words[15] = bytes("\x01");
        same(vector(T::U8), words);
    }

    #[test]
    fn matrices_are_aligned_and_jagged_rows_are_not() {
        let ty = vector(vector(T::I64));
        shows(&ty, &Value::array(vec![ints([1, 2]), ints([10, -3])]), &["[[ 1,  2],", " [10, -3]]"]);
        shows(&ty, &Value::array(vec![ints([1, 2]), ints([]), ints([3])]), &["[[1, 2],", " [],", " [3]]"]);
        shows(&ty, &Value::array(vec![]), &["[]"]);
        let rows = Value::array((0..30).map(|i| ints([i, i])).collect());
        let shown = show(&ty, &rows, false);
        assert!(shown.ends_with(" [ 9,  9],\n ...\n [27, 27],\n [28, 28],\n [29, 29]] (30 x 2 elements)"), "{shown}");
    }

    #[test]
    fn deeper_nesting_is_indented() {
        let ty = Type::seq(vector(vector(T::I64)));
        let block = Value::array(vec![ints([1, 2]), ints([3, 4])]);
        shows(&ty, &Value::seq(vec![block.clone(), block]), &["{[[1, 2],", "  [3, 4]],", " [[1, 2],", "  [3, 4]]}"]);
    }

    #[test]
    fn tuples_and_records_name_their_parts() {
        let pair = Type::tuple(vec![Type::INT, T::F64.into()]);
        let value = Value::tuple(vec![Value::int(1), Value::real(2.0)]);
        shows(&pair, &value, &["(1, 2.0)"]);
        shows(&vector(pair), &Value::array(vec![value.clone(), value]), &["[(1, 2.0), (1, 2.0)]"]);
        let record = Value::tuple(vec![Value::real(1.5), Value::array(vec![ints([1]), ints([2])])]);
        shows(&point(), &record, &["point(x = 1.5,", "      row = [[1],", "             [2]])"]);
        shows(&Type::tuple(vec![]), &Value::tuple(vec![]), &["()"]);
    }

    #[test]
    fn bytes_that_are_text_are_shown_as_text() {
        shows(&vector(T::U8), &bytes("hé \"x\"\n"), &[r#""hé \"x\"\n""#]);
        shows(&vector(T::U8), &bytes("\x1B[2J"), &["[27, 91, 50, 74]"]);
        shows(&vector(vector(T::U8)), &Value::array(vec![bytes("a"), bytes("")]), &[r#"["a", ""]"#]);
        shows(&vector(vector(T::U8)), &Value::array(vec![bytes("a"), bytes("\x01")]), &["[[97],", " [ 1]]"]);
        let long = show(&vector(T::U8), &bytes(&"x".repeat(5000)), false);
        assert!(long.ends_with("xx\" (5,000 bytes)") && long.len() < 400, "{long}");
    }

    #[test]
    fn what_is_shown_in_full_is_read_back() {
        let words = Value::array(vec![bytes("a b"), bytes("\"\\")]);
        let record = Value::tuple(vec![Value::real(f64::INFINITY), Value::array(vec![ints(0..40), ints([2])])]);
        let seq = Value::seq(vec![record.clone(), record]);
        for (ty, value) in [(vector(vector(T::U8)), words), (Type::seq(point()), seq)] {
            assert_eq!(crate::text::parse(&show(&ty, &value, true), &ty), Ok(value));
        }
    }
}
