//! Cases as files.
//!
//! ```json
//! {"name": "tests/ops/sum.dk:12", "kind": "file", "seed": null, "func": 0, "ptx": "0003.ptx",
//!  "ir": "fn main ...", "args": ["[1i64, 2i64]"], "expected": {"value": "3i64"}}
//! ```
//! `expected` may be `{"error": "D0301: ..."}`; benchmarks have neither arguments nor an expected result. Floats are written with all their digits.

use deckle_gen::Show;
use deckle_ir::array::{self, Program};
use deckle_ir::entity::Func;
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;
use serde_json::json;

/// A case.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// `file`, `example`, `random` or `benchmark`.
    pub kind: String,
    /// The seed of a random program.
    pub seed: Option<u64>,
    /// The program.
    pub program: Program,
    /// The function.
    pub func: Func,
    /// Its arguments.
    pub args: Vec<Value>,
    /// The value or the error of the interpreter.
    pub expected: Option<Result<Value, String>>,
    /// The file of its code.
    pub ptx: String,
}

impl Stored {
    /// As JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let expected = self.expected.as_ref().map(|run| match run {
            Ok(value) => json!({"value": Show(value).to_string()}),
            Err(error) => json!({"error": error}),
        });
        json!({
            "name": self.name, "kind": self.kind, "seed": self.seed, "func": self.func.index(), "ptx": self.ptx,
            "ir": self.program.to_string(),
            "args": self.args.iter().map(|v| Show(v).to_string()).collect::<Vec<_>>(), "expected": expected,
        })
    }

    /// From JSON.
    pub fn from_json(text: &str) -> Result<Stored, String> {
        let json: serde_json::Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let field = |name: &str| json[name].as_str().ok_or(format!("there is no text `{name}`"));
        let read = |text: &serde_json::Value| parse(text.as_str().unwrap_or_default()).ok_or("a value is damaged");
        let expected = match (&json["expected"]["value"], &json["expected"]["error"]) {
            (value, _) if value.is_string() => Some(Ok(read(value)?)),
            (_, error) => error.as_str().map(|e| Err(e.to_string())),
        };
        Ok(Stored {
            name: field("name")?.into(),
            kind: field("kind")?.into(),
            seed: json["seed"].as_u64(),
            program: array::parse(field("ir")?).map_err(|e| e.to_string())?,
            func: Func(json["func"].as_u64().ok_or("there is no number `func`")? as u32),
            args: json["args"].as_array().into_iter().flatten().map(read).collect::<Result<_, _>>()?,
            expected,
            ptx: field("ptx")?.into(),
        })
    }
}

/// Reads what [`Show`] writes.
fn parse(text: &str) -> Option<Value> {
    let mut rest = text;
    value(&mut rest).filter(|_| rest.trim().is_empty())
}

fn value(text: &mut &str) -> Option<Value> {
    *text = text.trim_start();
    let close = match text.chars().next()? {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        _ => {
            let (word, rest) = text.split_at(text.find([',', ')', ']', '}']).unwrap_or(text.len()));
            *text = rest;
            return Scalar::parse(word.trim_end()).map(Value::Scalar);
        }
    };
    *text = text[1..].trim_start();
    let mut parts = Vec::new();
    loop {
        if let Some(rest) = text.strip_prefix(close) {
            *text = rest;
            break;
        }
        parts.push(value(text)?);
        *text = text.trim_start();
        *text = text.strip_prefix(',').unwrap_or(text).trim_start();
    }
    Some(match close {
        ')' => Value::tuple(parts),
        ']' => Value::array(parts),
        _ => Value::seq(parts),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_gen::compare::same_bits;
    use deckle_gen::{Config, program};

    #[test]
    fn cases_are_read_as_they_are_written() {
        for seed in 0..20 {
            let case = program(seed, &Config::default());
            let expected = Some(Ok(Value::tuple(case.args.clone())));
            let (name, kind, ptx) = ("a".to_string(), "random".to_string(), "b.ptx".to_string());
            let (program, func, args) = (case.program, case.entry, case.args);
            let stored = Stored { name, kind, seed: Some(seed), program, func, args, expected, ptx };
            let read = Stored::from_json(&stored.to_json().to_string()).unwrap();
            assert_eq!((read.program, read.seed), (stored.program, stored.seed));
            assert!(
                read.args.len() == stored.args.len()
                    && read.args.iter().zip(&stored.args).all(|(a, b)| same_bits(a, b))
            );
            assert!(matches!((read.expected, stored.expected), (Some(Ok(a)), Some(Ok(b))) if same_bits(&a, &b)));
        }
    }

    #[test]
    fn damaged_values_are_errors() {
        for text in ["", "[1i64", "1", "(1i64, 2i64]", "1i64 2i64"] {
            assert!(parse(text).is_none(), "{text}");
        }
        let special = parse("[inff64, -inff32, -0.0f64, true]").unwrap();
        assert_eq!(Show(&special).to_string(), "[inff64, -inff32, -0.0f64, true]");
    }
}
