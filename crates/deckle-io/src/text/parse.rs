//! Values from text, parsed according to the required type.
//!
//! ```text
//! int, real, ...   12   -3   0xff   1_000   1.5   1e-9   inf   nan   'a' for a u8
//! bool             true   false
//! [t]              [1, 2, 3]; of u8 also "text"
//! {t}              {1, 2, 3} or [1, 2, 3]; of u8 also "text"
//! (t, u)           (1, 2.0)
//! record           (x = 1.0, y = 2.0), (1.0, 2.0) or point(x = 1.0, y = 2.0)
//! ```
//! Text for a `[u8]` needs no quotes if it is the whole value.

use super::names::{scalar_name, type_name};
use deckle_diag::closest;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::{RecordType, Type};
use deckle_ir::value::Value;

/// An error in a text, and its position.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The range of bytes.
    pub range: (usize, usize),
    /// The message.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

type Read<T> = Result<T, Wrong>;

/// Reads a whole text as a value of a type.
pub fn parse(text: &str, ty: &Type) -> Read<Value> {
    if is_text(ty) && !text.trim_start().starts_with(['"', '[', '{']) {
        return Ok(bytes_value(text.as_bytes(), ty));
    }
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(ty)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => wrong((reader.at, text.len()), "the value has ended before this"),
    }
}

/// Whether it is a vector or sequence of bytes.
pub fn is_text(ty: &Type) -> bool {
    matches!(ty.elem(), Some(Type::Scalar(ScalarType::U8)))
}

/// Bytes as a vector or sequence, according to `ty`.
pub fn bytes_value(bytes: &[u8], ty: &Type) -> Value {
    collection(bytes.iter().map(|b| Value::Scalar(Scalar::U8(*b))).collect(), ty)
}

/// A vector or a sequence, according to `ty`.
pub fn collection(items: Vec<Value>, ty: &Type) -> Value {
    if ty.is_seq() { Value::seq(items) } else { Value::array(items) }
}

/// An example of the notation of a type.
pub fn example(ty: &Type) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match ty {
        Type::Scalar(ScalarType::Bool) => "true".to_string(),
        Type::Scalar(s) if s.is_float() => "1.5".to_string(),
        Type::Scalar(_) => "1".to_string(),
        Type::Tuple(parts) => format!("({})", list(parts.iter().map(example).collect())),
        Type::Record(r) => {
            format!("({})", list(r.fields.iter().map(|(name, ty)| format!("{name} = {}", example(ty))).collect()))
        }
        Type::Array(_) if is_text(ty) => "\"text\"".to_string(),
        Type::Array(a) => format!("[{0}, {0}]", example(&a.elem)),
        Type::Seq(elem) => format!("{{{0}, {0}}}", example(elem)),
    }
}

fn wrong<T>(range: (usize, usize), message: impl Into<String>) -> Read<T> {
    Err(Wrong { range, message: message.into(), help: None })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next character that is not blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    /// The range of the next word, or of the next character if there is no word.
    fn here(&mut self) -> (usize, usize) {
        self.peek();
        let next = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        (self.at, self.at + self.word_len().max(next))
    }

    fn word_len(&self) -> usize {
        let rest = &self.text[self.at..];
        rest.find(|c: char| c.is_whitespace() || ",()[]{}=\"'".contains(c)).unwrap_or(rest.len())
    }

    fn word(&mut self) -> &'a str {
        self.peek();
        let len = self.word_len();
        self.at += len;
        &self.text[self.at - len..self.at]
    }

    fn value(&mut self, ty: &Type) -> Read<Value> {
        match ty {
            Type::Scalar(s) => self.scalar(*s).map(Value::Scalar),
            Type::Tuple(parts) => self.tuple(parts, ty),
            Type::Record(record) => self.record(record, ty),
            Type::Array(_) | Type::Seq(_) => self.items(ty),
        }
    }

    fn items(&mut self, ty: &Type) -> Read<Value> {
        if is_text(ty) && self.peek() == Some('"') {
            return Ok(bytes_value(&self.string()?, ty));
        }
        let close = match self.peek() {
            Some('[') => ']',
            Some('{') if ty.is_seq() => '}',
            _ => {
                let range = self.here();
                let what = if ty.is_seq() { "a sequence" } else { "a vector" };
                return wrong(range, format!("{what} `{}` is written like `{}`", type_name(ty), example(ty)));
            }
        };
        self.at += 1;
        let Some(elem) = ty.elem() else { return Ok(Value::array(Vec::new())) };
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(self.value(elem)?);
            self.comma(close)?;
        }
        Ok(collection(items, ty))
    }

    /// A comma, or the closing bracket, which stays.
    fn comma(&mut self, close: char) -> Read<()> {
        if self.eat(',') || self.peek() == Some(close) {
            return Ok(());
        }
        let range = self.here();
        wrong(range, format!("`,` or `{close}` is missing here"))
    }

    fn tuple(&mut self, parts: &[Type], ty: &Type) -> Read<Value> {
        let (mut values, open) = (Vec::new(), self.here());
        if !self.eat('(') {
            return wrong(open, format!("a tuple `{}` is written like `{}`", type_name(ty), example(ty)));
        }
        while !self.eat(')') {
            let Some(part) = parts.get(values.len()) else {
                let range = self.here();
                return wrong(range, format!("`{}` has {} components", type_name(ty), parts.len()));
            };
            values.push(self.value(part)?);
            self.comma(')')?;
        }
        if values.len() < parts.len() {
            let message = format!("`{}` has {} components, not {}", type_name(ty), parts.len(), values.len());
            return wrong((open.0, self.at), message);
        }
        Ok(Value::tuple(values))
    }

    fn record(&mut self, record: &RecordType, ty: &Type) -> Read<Value> {
        let start = self.here();
        let name = self.word();
        if !(name.is_empty() || name == record.name) || !self.eat('(') {
            return wrong(start, format!("a record `{}` is written like `{}`", record.name, example(ty)));
        }
        let mut values: Vec<Option<Value>> = vec![None; record.fields.len()];
        let mut next = 0;
        while !self.eat(')') {
            let range = self.here();
            let index = match self.field_name() {
                Some(field) => self.field_index(record, field, range)?,
                None => next,
            };
            let Some((field, ty)) = record.fields.get(index) else {
                return wrong(range, format!("`{}` has {} fields", record.name, record.fields.len()));
            };
            if values[index].is_some() {
                return wrong(range, format!("the field `{field}` is given twice"));
            }
            values[index] = Some(self.value(ty)?);
            next = index + 1;
            self.comma(')')?;
        }
        let missing: Vec<String> =
            record.fields.iter().zip(&values).filter(|(_, v)| v.is_none()).map(|(f, _)| format!("`{}`", f.0)).collect();
        if !missing.is_empty() {
            let message = format!("`{}` also has {}", record.name, missing.join(", "));
            return wrong((start.0, self.at), message);
        }
        Ok(Value::tuple(values.into_iter().flatten().collect()))
    }

    /// The `x` of `x = `, if that is what comes next.
    fn field_name(&mut self) -> Option<&'a str> {
        self.peek();
        let start = self.at;
        let name = self.word();
        if !name.is_empty() && self.eat('=') {
            return Some(name);
        }
        self.at = start;
        None
    }

    fn field_index(&self, record: &RecordType, field: &str, range: (usize, usize)) -> Read<usize> {
        record.fields.iter().position(|f| f.0 == field).ok_or_else(|| Wrong {
            range,
            message: format!("`{}` has no field `{field}`", record.name),
            help: closest(field, record.fields.iter().map(|f| f.0.as_str())).map(|f| format!("did you mean `{f}`?")),
        })
    }

    fn scalar(&mut self, ty: ScalarType) -> Read<Scalar> {
        let range = self.here();
        if ty == ScalarType::U8 && self.peek() == Some('\'') {
            return self.character();
        }
        let word = self.word();
        if word.is_empty() {
            return wrong(range, format!("a value of type `{}` is missing here", scalar_name(ty)));
        }
        scalar(word, ty).map_err(|(message, help)| Wrong { range, message, help })
    }

    /// `'a'`, a byte.
    fn character(&mut self) -> Read<Scalar> {
        let start = self.at;
        let bytes = self.quoted('\'')?;
        match bytes[..] {
            [byte] => Ok(Scalar::U8(byte)),
            _ => wrong((start, self.at), "a character in quotes is one byte"),
        }
    }

    fn string(&mut self) -> Read<Vec<u8>> {
        self.quoted('"')
    }

    fn quoted(&mut self, quote: char) -> Read<Vec<u8>> {
        let start = self.at;
        let mut bytes = Vec::new();
        let mut chars = self.text[start + 1..].char_indices();
        while let Some((i, c)) = chars.next() {
            let here = start + 1 + i;
            if c == quote {
                self.at = here + 1;
                return Ok(bytes);
            }
            if c != '\\' {
                bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            match chars.next().map(|e| e.1) {
                Some('n') => bytes.push(b'\n'),
                Some('t') => bytes.push(b'\t'),
                Some('r') => bytes.push(b'\r'),
                Some('0') => bytes.push(0),
                Some(c @ ('\\' | '"' | '\'')) => bytes.push(c as u8),
                Some('x') => {
                    let digits: String = chars.by_ref().take(2).map(|d| d.1).collect();
                    match u8::from_str_radix(&digits, 16) {
                        Ok(byte) if digits.len() == 2 && !digits.starts_with('+') => bytes.push(byte),
                        _ => return wrong((here, here + 2), "`\\x` takes two hexadecimal digits"),
                    }
                }
                _ => return wrong((here, here + 1), "only `\\n \\t \\r \\0 \\\\ \\\" \\' \\x41` are known here"),
            }
        }
        wrong((start, self.text.len()), format!("`{quote}` is not closed"))
    }
}

/// A word as a scalar, or an error and a suggestion.
fn scalar(word: &str, ty: ScalarType) -> Result<Scalar, (String, Option<String>)> {
    let name = scalar_name(ty);
    let not = || (format!("`{word}` is not of type `{name}`"), None);
    if ty == ScalarType::Bool {
        return match word {
            "true" => Ok(Scalar::Bool(true)),
            "false" => Ok(Scalar::Bool(false)),
            _ => Err((not().0, Some("write `true` or `false`".to_string()))),
        };
    }
    let digits = word.strip_suffix(ty.name()).filter(|d| !d.is_empty()).unwrap_or(word).replace('_', "");
    if let Some((lo, hi)) = ty.int_range() {
        let outside = || (format!("`{word}` is outside the range of `{name}`, {lo} to {hi}"), None);
        return match integer(&digits) {
            Some(Some(v)) if (lo..=hi).contains(&v) => Scalar::wrap_int(ty, v).ok_or_else(not),
            Some(_) => Err(outside()),
            None => Err((not().0, as_integer(&digits).map(|v| format!("write `{v}`")))),
        };
    }
    // An `f32` is rounded once, from the text.
    let value = match ty {
        ScalarType::F32 => digits.parse().ok().map(Scalar::F32),
        _ => digits.parse().ok().map(Scalar::F64),
    };
    match value {
        Some(v) if v.as_float().is_some_and(f64::is_infinite) && digits.contains(|c: char| c.is_ascii_digit()) => {
            Err((format!("`{word}` is outside the range of `{name}`"), Some("write `inf` for infinity".to_string())))
        }
        Some(v) => Ok(v),
        None => Err(not()),
    }
}

/// The integer value of a word: `None` if it is none, `Some(None)` if it is too large for any type.
fn integer(word: &str) -> Option<Option<i128>> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let radixes = [("0x", 16), ("0o", 8), ("0b", 2)];
    let (digits, radix) =
        radixes.iter().find_map(|(p, r)| digits.strip_prefix(p).map(|d| (d, *r))).unwrap_or((digits, 10));
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some(i128::from_str_radix(digits, radix).ok().map(|v| if negative { -v } else { v }))
}

/// `1e6` or `3.0` as an integer.
fn as_integer(word: &str) -> Option<i64> {
    let v: f64 = word.parse().ok()?;
    (v.fract() == 0.0 && v.abs() < 9e15).then_some(v as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType as T;
    use std::sync::Arc;

    fn vector(elem: impl Into<Type>) -> Type {
        Type::array(deckle_ir::size::Size::var(deckle_ir::entity::SizeVar(0)), elem.into())
    }

    fn point() -> Type {
        let fields = vec![("x".to_string(), T::F64.into()), ("y".to_string(), Type::INT)];
        Type::Record(Arc::new(RecordType { name: "point".into(), fields }))
    }

    fn ints(v: &[i64]) -> Vec<Value> {
        v.iter().map(|x| Value::int(*x)).collect()
    }

    #[track_caller]
    fn reads(text: &str, ty: impl Into<Type>, value: Value) {
        assert_eq!(parse(text, &ty.into()), Ok(value), "{text}");
    }

    #[track_caller]
    fn refuses(text: &str, ty: impl Into<Type>, marked: &str, words: &str) {
        let w = parse(text, &ty.into()).unwrap_err();
        assert!(w.message.contains(words), "{}", w.message);
        assert_eq!(text.get(w.range.0..w.range.1), Some(marked), "{}", w.message);
    }

    #[test]
    fn scalars_are_read_by_their_type() {
        reads("12", T::I64, Value::int(12));
        reads(" -1_000 ", T::I64, Value::int(-1000));
        reads("0xff", T::U8, Scalar::U8(255).into());
        reads("12u8", T::U8, Scalar::U8(12).into());
        reads("'a'", T::U8, Scalar::U8(97).into());
        reads("18446744073709551615", T::U64, Scalar::U64(u64::MAX).into());
        reads("12", T::F64, Value::real(12.0));
        reads("1e9", T::F64, Value::real(1e9));
        reads("-inf", T::F64, Value::real(f64::NEG_INFINITY));
        reads("nan", T::F64, Value::real(f64::NAN));
        reads("0.1", T::F32, Scalar::F32(0.1).into());
        reads("true", T::Bool, Value::bool(true));
    }

    #[test]
    fn scalars_out_of_range_are_refused() {
        refuses("300", T::U8, "300", "outside the range of `u8`, 0 to 255");
        refuses("-1", T::U64, "-1", "outside the range");
        refuses(&"9".repeat(60), T::I64, &"9".repeat(60), "outside the range of `int`");
        refuses("1e400", T::F64, "1e400", "outside the range of `real`");
        refuses("1.5", T::I64, "1.5", "not of type `int`");
        refuses("yes", T::Bool, "yes", "not of type `bool`");
        refuses("", T::I64, "", "missing");
        assert_eq!(parse("1e6", &Type::INT).unwrap_err().help.as_deref(), Some("write `1000000`"));
    }

    #[test]
    fn vectors_nest() {
        reads("[]", vector(T::I64), Value::array(vec![]));
        reads("[1, 2,3,]", vector(T::I64), Value::array(ints(&[1, 2, 3])));
        let nested = Value::array(vec![Value::array(ints(&[1])), Value::array(vec![])]);
        reads("[[1], []]", vector(vector(T::I64)), nested);
        refuses("[1, 2", vector(T::I64), "", "`,` or `]`");
        refuses("[1 2]", vector(T::I64), "2", "`,` or `]`");
        refuses("[1, x]", vector(T::I64), "x", "not of type `int`");
        refuses("[1] 2", vector(T::I64), "2", "has ended");
        refuses("5", vector(T::I64), "5", "written like `[1, 1]`");
        refuses("{5}", vector(T::I64), "{", "written like `[1, 1]`");
    }

    #[test]
    fn sequences_take_either_bracket() {
        for text in ["{1, 2}", "[1, 2]"] {
            reads(text, Type::seq(Type::INT), Value::seq(ints(&[1, 2])));
        }
        refuses("{1]", Type::seq(Type::INT), "]", "`,` or `}`");
    }

    #[test]
    fn text_is_bytes() {
        let hi = bytes_value(b"hi", &vector(T::U8));
        for text in ["hi", "\"hi\"", "[104, 105]", "['h', 'i']", r#""\x68i""#] {
            reads(text, vector(T::U8), hi.clone());
        }
        reads("a, \"b\"", vector(T::U8), bytes_value(b"a, \"b\"", &vector(T::U8)));
        reads("[\"hi\", \"\"]", vector(vector(T::U8)), Value::array(vec![hi, Value::array(vec![])]));
        refuses("\"hi", vector(T::U8), "\"hi", "not closed");
        refuses(r#""\q""#, vector(T::U8), "\\", "known here");
        refuses("'ab'", T::U8, "'ab'", "one byte");
    }

    #[test]
    fn tuples_and_records_are_read() {
        let pair = || Type::tuple(vec![Type::INT, T::F64.into()]);
        reads("(1, 2)", pair(), Value::tuple(vec![Value::int(1), Value::real(2.0)]));
        reads("()", Type::tuple(vec![]), Value::tuple(vec![]));
        refuses("(1)", pair(), "(1)", "2 components, not 1");
        refuses("(1, 2, 3)", pair(), "3", "has 2 components");
        let value = Value::tuple(vec![Value::real(1.5), Value::int(2)]);
        for text in ["(x = 1.5, y = 2)", "(y=2,x=1.5)", "(1.5, 2)", "point(1.5, y = 2)"] {
            reads(text, point(), value.clone());
        }
        refuses("(x = 1)", point(), "(x = 1)", "also has `y`");
        refuses("(x = 1, x = 2)", point(), "x", "given twice");
        refuses("(z = 1)", point(), "z", "no field `z`");
        refuses("(1, 2, 3)", point(), "3", "has 2 fields");
        refuses("other(1, 2)", point(), "other", "written like `(x = 1.5, y = 1)`");
    }

    #[test]
    fn examples_are_values() {
        for ty in
            [vector(T::U8), vector(vector(T::F32)), Type::seq(point()), Type::tuple(vec![Type::BOOL, T::I8.into()])]
        {
            assert!(parse(&example(&ty), &ty).is_ok(), "{}", example(&ty));
        }
    }

    #[test]
    fn no_text_panics() {
        let types = [vector(T::U8), vector(vector(T::F32)), point(), Type::seq(point()), T::I8.into()];
        let pieces =
            ["[", "]", "(", ")", "{", "}", ",", "=", "\"", "'", "\\", "x", "é", "1", "-", " ", "point", "\\x4"];
        let mut state = 1u64;
        for _ in 0..40_000 {
            let mut text = String::new();
            for _ in 0..8 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text += pieces[(state >> 33) as usize % pieces.len()];
            }
            for ty in &types {
                if let Err(w) = parse(&text, ty) {
                    assert!(w.range.0 <= text.len() && text.get(w.range.0..).is_some(), "{text}");
                }
            }
        }
    }
}
