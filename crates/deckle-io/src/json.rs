//! Results as JSON.
//!
//! The shape follows from the type alone: vectors, sequences and tuples are arrays, records are objects, and bytes are numbers
//! even if they spell a text. Floats that JSON cannot represent are strings: `"nan"`, `"inf"`, `"-inf"`.

use crate::tree;
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_runtime::{Data, Form};
use std::io::{self, Write};

/// Writes the value of a type at a place, which must exist, on one line, without a line end.
pub fn write(ty: &Type, data: &Data, at: usize, out: &mut dyn Write) -> io::Result<()> {
    match (ty, data.form()) {
        (_, Form::Scalars(own, buffer)) => scalar(tree::scalar(*own, buffer, at), out),
        (Type::Record(r), Form::Tuple(parts)) => {
            list(b"{}", r.fields.iter().zip(parts), out, |((name, ty), part), out| {
                string(name, out)?;
                out.write_all(b":")?;
                write(ty, part, at, out)
            })
        }
        (_, Form::Tuple(parts)) => {
            let types = ty.parts().unwrap_or_default();
            list(b"[]", types.into_iter().zip(parts), out, |(ty, part), out| write(ty, part, at, out))
        }
        (_, Form::Equal(_, elements) | Form::Offsets(_, elements)) => {
            let (elem, (lo, hi)) = (ty.elem().unwrap_or(ty), data.row(at).unwrap_or((0, 0)));
            list(b"[]", lo..hi, out, |i, out| write(elem, elements, i, out))
        }
    }
}

fn list<T>(
    brackets: &[u8; 2],
    items: impl Iterator<Item = T>,
    out: &mut dyn Write,
    mut item: impl FnMut(T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(&brackets[..1])?;
    for (i, x) in items.enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        item(x, out)?;
    }
    out.write_all(&brackets[1..])
}

/// A text in quotes. Control characters are among the first 256, so four digits are enough.
fn string(text: &str, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c))?,
            c => write!(out, "{c}")?,
        }
    }
    out.write_all(b"\"")
}

fn scalar(s: Scalar, out: &mut dyn Write) -> io::Result<()> {
    match s {
        Scalar::Bool(b) => write!(out, "{b}"),
        Scalar::F32(v) if v.is_finite() => write!(out, "{v:?}"),
        Scalar::F64(v) if v.is_finite() => write!(out, "{v:?}"),
        Scalar::F32(_) | Scalar::F64(_) => match s.as_float() {
            Some(f64::INFINITY) => out.write_all(b"\"inf\""),
            Some(f64::NEG_INFINITY) => out.write_all(b"\"-inf\""),
            _ => out.write_all(b"\"nan\""),
        },
        other => write!(out, "{}", other.as_int().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::scalar::ScalarType as T;
    use deckle_ir::types::RecordType;
    use deckle_ir::value::Value;
    use std::sync::Arc;

    fn json(ty: impl Into<Type>, value: Value) -> String {
        let mut out = Vec::new();
        let ty = ty.into();
        write(&ty, &tree::single(&ty, &value).unwrap(), 0, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_exact_and_the_rest_is_text() {
        assert_eq!(json(T::U64, Scalar::U64(u64::MAX).into()), "18446744073709551615");
        assert_eq!(json(T::I64, Value::int(i64::MIN)), "-9223372036854775808");
        assert_eq!(json(T::F64, Value::real(0.1)), "0.1");
        assert_eq!(json(T::F32, Scalar::F32(0.1).into()), "0.1");
        assert_eq!(json(T::F64, Value::real(f64::NAN)), "\"nan\"");
        assert_eq!(json(T::F64, Value::real(f64::NEG_INFINITY)), "\"-inf\"");
        assert_eq!(json(T::F32, Scalar::F32(f32::INFINITY).into()), "\"inf\"");
    }

    #[test]
    fn records_are_objects_and_tuples_arrays() {
        let pair = Type::tuple(vec![Type::BOOL, Type::seq(Type::INT)]);
        let fields = vec![("a\"b".to_string(), pair), ("c".to_string(), Type::INT)];
        let record = Type::Record(Arc::new(RecordType { name: "r".into(), fields }));
        let inner = Value::tuple(vec![Value::bool(true), Value::seq(vec![Value::int(1), Value::int(2)])]);
        let value = Value::tuple(vec![inner, Value::int(3)]);
        assert_eq!(json(record, value), r#"{"a\"b":[true,[1,2]],"c":3}"#);
        assert_eq!(json(Type::tuple(vec![]), Value::tuple(vec![])), "[]");
    }

    #[test]
    fn other_programs_read_the_same_values() {
        for x in [0.0, -0.0, 1.0, 0.1, 1e16, 1e-7, 123456.789, 5e-324, f64::MAX, -1.0 / 3.0] {
            let back: f64 = serde_json::from_str(&json(T::F64, Value::real(x))).unwrap();
            assert_eq!(back.to_bits(), x.to_bits(), "{x}");
        }
        let name = "a\"b\\c\n\u{7f}é";
        let record = RecordType { name: "r".into(), fields: vec![(name.to_string(), Type::INT)] };
        let text = json(Type::Record(Arc::new(record)), Value::tuple(vec![Value::int(3)]));
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back[name], 3);
    }
}
