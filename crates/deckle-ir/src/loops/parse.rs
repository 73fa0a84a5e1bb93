//! Reading the text form of the loop IR, which the printer describes.
//!
//! Reading printed text gives the same functions back. Values may be numbered in any order, but without gaps and each
//! defined once. Nothing else is checked: that is for the verifier.

use super::print::{ACCESSES, AXES, PLACES, SHUFFLES};
use super::*;
use crate::text::ParseError;
use crate::text::scan::{Cursor, Read};
use std::collections::BTreeMap;

/// Reads functions.
pub fn parse(text: &str) -> std::result::Result<Vec<Function>, ParseError> {
    let mut functions = Vec::new();
    let mut reader = Reader { cursor: Cursor::new(text), types: BTreeMap::new() };
    while !reader.cursor.at_end() {
        functions.push(reader.function()?);
    }
    Ok(functions)
}

/// Reads one function after another; `types` holds the definitions of the current one.
struct Reader<'t> {
    cursor: Cursor<'t>,
    types: BTreeMap<Val, Ty>,
}

impl Reader<'_> {
    fn function(&mut self) -> Read<Function> {
        self.types.clear();
        let start = self.cursor.here();
        self.cursor.keyword("fn")?;
        let name = self.cursor.name("the name of a function")?;
        self.cursor.expect("(")?;
        let mut next = 0;
        let buffers = self.cursor.list(")", |c| {
            expect_buffer(c, next)?;
            next += 1;
            let access = one_of(c, &ACCESSES, "`read` or `write`")?;
            Ok(Param { access, elem: scalar_type(c)? })
        })?;
        self.cursor.expect("(")?;
        let types = &mut self.types;
        let scalars = self.cursor.list(")", |c| define(c, types))?;
        let [block, resident] = ["block", "resident"].map(|word| match self.eat_word(word) {
            true => self.cursor.number("a number of threads"),
            false => Ok(0),
        });
        let (block, resident) = (block?, resident?);
        self.cursor.expect("{")?;
        let mut locals = Vec::new();
        while let Some(&(place, word)) = PLACES.iter().find(|(_, w)| *w == self.cursor.peek_word()) {
            self.cursor.keyword(word)?;
            expect_buffer(&mut self.cursor, next)?;
            next += 1;
            let elem = scalar_type(&mut self.cursor)?;
            self.cursor.expect("[")?;
            let len = self.cursor.number("a number of elements")?;
            self.cursor.expect("]")?;
            locals.push(Local { elem, len, place });
        }
        let body = self.statements()?;
        let known = std::mem::take(&mut self.types);
        for (k, v) in known.keys().enumerate() {
            if v.index() != k {
                return self.cursor.error_at(start, format!("{} is defined nowhere in `{name}`", Val(k as u32)));
            }
        }
        Ok(Function { name, buffers, locals, scalars, vals: known.into_values().collect(), body, block, resident })
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.cursor.peek_word() == word && self.cursor.eat(word)
    }

    fn val(&mut self) -> Read<Val> {
        val(&mut self.cursor)
    }

    fn buf(&mut self) -> Read<Buf> {
        self.cursor.handle('b', "a buffer").map(Buf)
    }

    fn scalar_type(&mut self) -> Read<ScalarType> {
        scalar_type(&mut self.cursor)
    }

    /// Statements and results, up to the closing brace.
    fn statements(&mut self) -> Read<Block> {
        self.cursor.enter()?;
        let mut block = Block::default();
        while !self.cursor.eat("}") {
            if self.eat_word("yield") {
                block.results.push(self.val()?);
                while self.cursor.eat(",") {
                    block.results.push(self.val()?);
                }
                self.cursor.expect("}")?;
                break;
            }
            let stmt = self.stmt()?;
            block.stmts.push(stmt);
        }
        self.cursor.leave();
        Ok(block)
    }

    fn block(&mut self) -> Read<Block> {
        self.cursor.expect("{")?;
        self.statements()
    }

    fn carries(&mut self) -> Read<Vec<Carry>> {
        self.cursor.expect("(")?;
        let types = &mut self.types;
        self.cursor.list(")", |c| {
            let param = define(c, types)?;
            c.expect("=")?;
            let init = val(c)?;
            c.expect("->")?;
            let place = c.here();
            let result = val(c)?;
            let ty = types.get(&param).copied().unwrap_or(ScalarType::I64.into());
            insert(c, types, place, result, ty)?;
            Ok(Carry { init, param, result })
        })
    }

    fn stmt(&mut self) -> Read<Stmt> {
        let place = self.cursor.here();
        let word = self.cursor.peek_word();
        match word {
            "store" => {
                self.cursor.keyword(word)?;
                let (buf, at) = self.element()?;
                self.cursor.expect("=")?;
                let value = self.val()?;
                let mask = if self.eat_word("where") { Some(self.val()?) } else { None };
                let hint = match () {
                    () if self.eat_word("streaming") => StoreHint::Streaming,
                    () if self.eat_word("shared") => StoreHint::Shared,
                    () if self.eat_word("packed") => StoreHint::Packed,
                    () => StoreHint::Cached,
                };
                Ok(Stmt::Store { buf, at, value, mask, hint })
            }
            "atomic" => {
                self.cursor.keyword(word)?;
                let op = self.binary_op()?;
                let (buf, at) = self.element()?;
                self.cursor.expect("=")?;
                let value = self.val()?;
                let before = match self.cursor.eat("->") {
                    true => Some(define(&mut self.cursor, &mut self.types)?),
                    false => None,
                };
                Ok(Stmt::Atomic { op, buf, at, value, before })
            }
            "for" => {
                self.cursor.keyword(word)?;
                let place = self.cursor.here();
                let var = self.val()?;
                insert(&self.cursor, &mut self.types, place, var, ScalarType::I64.into())?;
                self.cursor.expect("=")?;
                let lo = self.val()?;
                self.cursor.expect("..")?;
                let hi = self.val()?;
                self.cursor.keyword("step")?;
                let step = self.cursor.number("a step")?;
                let hint = match () {
                    () if self.eat_word("short") => LoopHint::Short,
                    () if self.eat_word("independent") => LoopHint::Independent,
                    () if self.eat_word("unroll") => LoopHint::Unroll,
                    () => LoopHint::Plain,
                };
                let carries = self.carries()?;
                Ok(Stmt::For { var, lo, hi, step, carries, body: self.block()?, hint })
            }
            "while" => {
                self.cursor.keyword(word)?;
                Ok(Stmt::While { carries: self.carries()?, test: self.block()?, body: self.block()? })
            }
            "if" => {
                self.cursor.keyword(word)?;
                let (cond, yes, no) = (self.val()?, self.block()?, self.block()?);
                let mut results = Vec::new();
                if self.cursor.eat("->") {
                    self.cursor.expect("(")?;
                    let types = &mut self.types;
                    results = self.cursor.list(")", |c| define(c, types))?;
                }
                Ok(Stmt::If { cond, yes, no, results })
            }
            "flag" => {
                self.cursor.keyword(word)?;
                Ok(Stmt::Flag(self.val()?))
            }
            "fail" => {
                self.cursor.keyword(word)?;
                let site = self.cursor.number("the number of a site")?;
                self.cursor.expect("(")?;
                Ok(Stmt::Fail { site, operands: self.cursor.list(")", val)? })
            }
            "barrier" => {
                self.cursor.keyword(word)?;
                let of_warp = self.cursor.peek_word() == "warp" && self.cursor.eat("warp");
                Ok(if of_warp { Stmt::WarpBarrier } else { Stmt::Barrier })
            }
            _ => {
                self.cursor.rewind(place);
                if !word.starts_with('x') {
                    return self.cursor.expected("a statement");
                }
                let v = define(&mut self.cursor, &mut self.types)?;
                self.cursor.expect("=")?;
                Ok(Stmt::Let(v, self.expr()?))
            }
        }
    }

    /// A buffer and an index in it.
    fn element(&mut self) -> Read<(Buf, Val)> {
        let buf = self.buf()?;
        self.cursor.expect("[")?;
        let at = self.val()?;
        self.cursor.expect("]")?;
        Ok((buf, at))
    }

    fn binary_op(&mut self) -> Read<BinOp> {
        match BinOp::from_name(self.cursor.peek_word()) {
            Some(op) => self.cursor.keyword(op.name()).map(|()| op),
            None => self.cursor.expected("an operator of two operands"),
        }
    }

    /// A given number of operands in parentheses.
    fn operands<const N: usize>(&mut self) -> Read<[Val; N]> {
        let place = self.cursor.here();
        self.cursor.expect("(")?;
        let list = self.cursor.list(")", val)?;
        let found = list.len();
        <[Val; N]>::try_from(list)
            .or_else(|_| self.cursor.error_at(place, format!("{found} operands where {N} are expected")))
    }

    fn expr(&mut self) -> Read<Expr> {
        let word = self.cursor.word("an expression")?;
        Ok(match word {
            "const" => {
                let place = self.cursor.here();
                let text = self.cursor.scalar_text();
                match Scalar::parse(text) {
                    Some(s) => Expr::Const(s),
                    None => return self.cursor.error_at(place, "expected a scalar"),
                }
            }
            "lanes" => Expr::Lanes,
            "splat" => Expr::Splat(self.val()?),
            "assoc" => {
                let op = self.binary_op()?;
                let [a, b] = self.operands()?;
                Expr::Assoc(op, a, b)
            }
            "fma" => {
                let [a, b, c] = self.operands()?;
                Expr::Fma(a, b, c)
            }
            "rint" => Expr::Rint(self.operands::<1>()?[0]),
            "copysign" => {
                let [a, b] = self.operands()?;
                Expr::CopySign(a, b)
            }
            "cast" => Expr::Cast(self.scalar_type()?, self.operands::<1>()?[0]),
            "bitcast" => Expr::Bitcast(self.scalar_type()?, self.operands::<1>()?[0]),
            "select" => {
                let [c, a, b] = self.operands()?;
                Expr::Select(c, a, b)
            }
            "load" => {
                let (buf, at) = self.element()?;
                let mask = if self.eat_word("where") { Some(self.val()?) } else { None };
                Expr::Load { buf, at, mask }
            }
            "total" => Expr::Total(self.binary_op()?, self.operands::<1>()?[0]),
            "lane" => {
                let v = self.val()?;
                self.cursor.expect("[")?;
                let lane = self.cursor.number("a lane")?;
                self.cursor.expect("]")?;
                Expr::Lane(v, lane)
            }
            "swizzle" => {
                let [a, b] = self.operands()?;
                self.cursor.expect("[")?;
                Expr::Swizzle(a, b, self.cursor.list("]", |c| c.number("a lane"))?)
            }
            "unaligned" => Expr::Unaligned(self.buf()?),
            "failed" => Expr::Failed,
            "id" => Expr::Id(one_of(&mut self.cursor, &AXES, "`block`, `blocks` or `thread`")?),
            "shuffle" => {
                let how = one_of(&mut self.cursor, &SHUFFLES, "`from`, `up`, `down` or `xor`")?;
                let [v, by] = self.operands()?;
                Expr::Shuffle(how, v, by)
            }
            "ballot" => Expr::Ballot(self.operands::<1>()?[0]),
            word => return self.scalar_op(word),
        })
    }

    fn scalar_op(&mut self, word: &str) -> Read<Expr> {
        if let Some(op) = UnOp::from_name(word) {
            return Ok(Expr::Unary(op, self.operands::<1>()?[0]));
        }
        match BinOp::from_name(word) {
            Some(op) => {
                let [a, b] = self.operands()?;
                Ok(Expr::Binary(op, a, b))
            }
            None => {
                let place = self.cursor.here();
                self.cursor.error_at(place, format!("there is no operator `{word}`"))
            }
        }
    }
}

fn val(c: &mut Cursor<'_>) -> Read<Val> {
    c.handle('x', "a value").map(Val)
}

/// A value definition, with its type.
fn define(c: &mut Cursor<'_>, types: &mut BTreeMap<Val, Ty>) -> Read<Val> {
    let place = c.here();
    let v = val(c)?;
    c.expect(":")?;
    let ty = ty(c)?;
    insert(c, types, place, v, ty)?;
    Ok(v)
}

fn insert(c: &Cursor<'_>, types: &mut BTreeMap<Val, Ty>, place: usize, v: Val, ty: Ty) -> Read<()> {
    match types.insert(v, ty) {
        None => Ok(()),
        Some(_) => c.error_at(place, format!("{v} is defined a second time")),
    }
}

/// A scalar type, or one with lanes: `f64x8`.
fn ty(c: &mut Cursor<'_>) -> Read<Ty> {
    let place = c.here();
    let word = c.word("a type")?;
    let (scalar, lanes) = match word.split_once('x') {
        Some((scalar, lanes)) => (scalar, lanes.parse().ok().filter(|&n: &u16| n > 1)),
        None => (word, Some(1)),
    };
    match (ScalarType::from_name(scalar), lanes) {
        (Some(scalar), Some(lanes)) => Ok(Ty { scalar, lanes }),
        _ => c.error_at(place, format!("there is no type `{word}`")),
    }
}

fn scalar_type(c: &mut Cursor<'_>) -> Read<ScalarType> {
    match ScalarType::from_name(c.peek_word()) {
        Some(ty) => c.keyword(ty.name()).map(|()| ty),
        None => c.expected("a scalar type"),
    }
}

fn one_of<T: Copy>(c: &mut Cursor<'_>, words: &[(T, &'static str)], what: &str) -> Read<T> {
    let word = c.peek_word();
    match words.iter().find(|(_, w)| *w == word) {
        Some((item, _)) => c.keyword(word).map(|()| *item),
        None => c.expected(what),
    }
}

/// The buffer of that number, and a colon.
fn expect_buffer(c: &mut Cursor<'_>, number: u32) -> Read<()> {
    let place = c.here();
    let found = c.handle('b', "a buffer")?;
    if found != number {
        return c.error_at(place, format!("this is {}, but the next buffer is {}", Buf(found), Buf(number)));
    }
    c.expect(":")
}
