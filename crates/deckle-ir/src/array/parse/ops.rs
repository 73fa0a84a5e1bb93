//! Reading operators and their attributes.

use super::*;
use crate::array::print::{COLLS, DIRECTIONS, ENDS, PULLS, SCANS, SLICERS, SPLITS};
use crate::scalar::{Scalar, ScalarType};
use crate::value::Value;
use std::sync::Arc;

/// The operators without attributes.
const PLAIN: &[Op] = &[
    Op::Select,
    Op::Fma,
    Op::Tuple,
    Op::Index,
    Op::If,
    Op::While,
    Op::For,
    Op::Stream,
    Op::Replicate,
    Op::Generate,
    Op::Map,
    Op::Zip,
    Op::Unzip,
    Op::Length,
    Op::Flatten,
    Op::Take,
    Op::Drop,
    Op::Permute,
    Op::Scatter,
    Op::Filter,
    Op::Compact,
    Op::Partition,
    Op::Expand,
    Op::Sort,
    Op::SortBy,
    Op::GroupBy,
    Op::Fold,
    Op::Fold1,
    Op::FoldOrdered,
    Op::ScanOrdered,
    Op::Empty,
    Op::The,
    Op::Append,
    Op::FlagPart,
    Op::Tab,
    Op::Seq,
    Op::Guard,
    Op::Produce,
];

impl Reader<'_, '_> {
    pub(super) fn op(&mut self) -> Read<Op> {
        let place = self.cursor.here();
        let name = self.cursor.word("an operator")?;
        if let Some(op) = UnOp::from_name(name) {
            return Ok(Op::Unary(op));
        }
        if let Some(op) = BinOp::from_name(name) {
            return Ok(Op::Binary(op));
        }
        if let Some(op) = PLAIN.iter().find(|op| op.info().name == name) {
            return Ok(op.clone());
        }
        if !self.cursor.eat("<") {
            return self.cursor.error_at(place, format!("there is no operator `{name}` without attributes"));
        }
        let op = self.with_attributes(place, name)?;
        self.cursor.expect(">")?;
        Ok(op)
    }

    fn with_attributes(&mut self, place: usize, name: &str) -> Read<Op> {
        let funcs = self.funcs;
        let c = &mut self.cursor;
        Ok(match name {
            "const" => Op::Const(scalar(c)?),
            "cast" => Op::Cast(scalar_type(c)?),
            "record" => Op::Record(Arc::new(record_shape(c)?)),
            "call" => Op::Call(callee(c, funcs)?),
            "ensure" => Op::Ensure(c.ty()?),
            "array" => Op::Array(c.ty()?),
            "mkseq" => Op::MkSeq(c.ty()?),
            "use" => Op::Use(Arc::new(constant(c)?)),
            "iota" => Op::Iota(word(c, &COLLS)?),
            "range" => {
                let coll = word(c, &COLLS)?;
                c.expect(",")?;
                Op::Range(coll, word(c, &ENDS)?)
            }
            "proj" => Op::Proj(count(c)?),
            "shape" => Op::Shape(count(c)?),
            "size" => Op::Size(count(c)?),
            "reshape" => Op::Reshape(count(c)?),
            "reverse" => Op::Reverse(count(c)?),
            "concat" => Op::Concat(count(c)?),
            "pad" => Op::Pad(count(c)?),
            "tiles" => Op::Tiles(count(c)?),
            "tabulate" => Op::Tabulate(count(c)?),
            "pull" => Op::Pull(word(c, &PULLS)?),
            "push" => Op::Push(count(c)?),
            "split" => Op::Split(word(c, &SPLITS)?),
            "slice" => {
                c.expect("[")?;
                Op::Slice(c.list("]", |c| word(c, &SLICERS))?)
            }
            "transpose" => {
                c.expect("[")?;
                Op::Transpose(c.list("]", count)?)
            }
            "reduce" => Op::Reduce(word(c, &Monoid::ALL)?),
            "scan" => {
                let direction = word(c, &DIRECTIONS)?;
                c.expect(",")?;
                Op::Scan(direction, word(c, &SCANS)?)
            }
            "stencil" => {
                c.expect("[")?;
                let radii = c.list("]", count)?;
                c.expect(",")?;
                Op::Stencil(radii, word(c, &Boundary::ALL)?)
            }
            _ => return c.error_at(place, format!("there is no operator `{name}` with attributes")),
        })
    }
}

fn count(c: &mut Cursor) -> Read<u32> {
    c.number("a number")
}

fn word<T: Copy>(c: &mut Cursor, words: &[(T, &'static str)]) -> Read<T> {
    let found = c.peek_word();
    match words.iter().find(|(_, w)| *w == found) {
        Some((item, w)) => c.keyword(w).map(|()| *item),
        None => {
            let all: Vec<String> = words.iter().map(|(_, w)| format!("`{w}`")).collect();
            c.expected(&format!("one of {}", all.join(", ")))
        }
    }
}

fn scalar(c: &mut Cursor) -> Read<Scalar> {
    let place = c.here();
    let text = c.scalar_text();
    match Scalar::parse(text) {
        Some(s) => Ok(s),
        None => {
            c.rewind(place);
            c.expected("a scalar such as `3i64`")
        }
    }
}

fn scalar_type(c: &mut Cursor) -> Read<ScalarType> {
    match ScalarType::from_name(c.peek_word()) {
        Some(t) => c.keyword(t.name()).map(|()| t),
        None => c.expected("a scalar type"),
    }
}

fn record_shape(c: &mut Cursor) -> Read<RecordShape> {
    let name = c.name("the name of a record")?;
    c.expect("{")?;
    let fields = c.list("}", |c| c.name("the name of a field"))?;
    Ok(RecordShape { name, fields })
}

fn callee(c: &mut Cursor, funcs: &[Function]) -> Read<Func> {
    c.expect("@")?;
    let place = c.here();
    let name = c.name("the name of a function")?;
    match funcs.iter().position(|f| f.name == name) {
        Some(k) => Ok(Func(k as u32)),
        None => c.error_at(place, format!("no function before this one is called `{name}`")),
    }
}

fn constant(c: &mut Cursor) -> Read<Constant> {
    let ty = c.ty()?;
    c.expect("=")?;
    Ok(Constant { ty, value: value(c)? })
}

fn value(c: &mut Cursor) -> Read<Value> {
    c.nested(|c| {
        if c.eat("[") {
            return c.list("]", value).map(Value::array);
        }
        if c.eat("{") {
            return c.list("}", value).map(Value::seq);
        }
        if c.eat("(") {
            return c.tuple(value).map(Value::tuple);
        }
        scalar(c).map(Value::from)
    })
}
