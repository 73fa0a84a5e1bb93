//! Reading sizes and types.

use super::scan::{Cursor, ParseError, Read};
use crate::entity::{Body, Path, SizeVar, Var};
use crate::scalar::ScalarType;
use crate::size::{Atom, Size};
use crate::types::{RecordType, Type};
use std::sync::Arc;

/// Reads the text of a type.
pub fn parse_type(text: &str) -> Result<Type, ParseError> {
    whole(text, |c| c.ty())
}

/// Reads the text of a size.
pub fn parse_size(text: &str) -> Result<Size, ParseError> {
    whole(text, |c| c.size())
}

fn whole<T>(text: &str, read: impl FnOnce(&mut Cursor) -> Read<T>) -> Read<T> {
    let mut cursor = Cursor::new(text);
    let result = read(&mut cursor)?;
    if cursor.at_end() { Ok(result) } else { cursor.expected("the end of the text") }
}

impl Cursor<'_> {
    /// A type.
    pub(crate) fn ty(&mut self) -> Read<Type> {
        self.nested(Cursor::ty_here)
    }

    fn ty_here(&mut self) -> Read<Type> {
        if self.eat("[") {
            let elem = self.elem()?;
            self.expect(";")?;
            let size = self.size()?;
            self.expect("]")?;
            return Ok(Type::array(size, elem));
        }
        if self.eat("{") {
            let elem = self.elem()?;
            self.expect("}")?;
            return Ok(Type::seq(elem));
        }
        if self.eat("(") {
            return Ok(Type::tuple(self.tuple(Cursor::ty)?));
        }
        if let Some(scalar) = ScalarType::from_name(self.peek_word()) {
            self.word("a type")?;
            return Ok(scalar.into());
        }
        let name = self.name("a type")?;
        self.expect("{")?;
        let fields = self.list("}", |c| {
            let field = c.name("the name of a field")?;
            c.expect(":")?;
            Ok((field, c.ty()?))
        })?;
        Ok(Type::Record(Arc::new(RecordType { name, fields })))
    }

    /// An element type under its binder, which the text may name.
    fn elem(&mut self) -> Read<Type> {
        let place = self.here();
        let level = self.handle('i', "a position").ok().filter(|_| self.eat("->"));
        match level {
            Some(level) => self.check_level(place, level)?,
            None => self.rewind(place),
        }
        self.binders.push(level.is_some());
        let elem = self.ty();
        self.binders.pop();
        elem
    }

    fn check_level(&self, place: usize, level: u32) -> Read<()> {
        let here = self.binders.len();
        if level as usize == here {
            return Ok(());
        }
        self.error_at(place, format!("the position bound here is `i{here}`, not `i{level}`"))
    }

    /// A size: terms with signs between them.
    pub(crate) fn size(&mut self) -> Read<Size> {
        self.nested(|c| {
            let mut negative = c.eat("-");
            let mut total = Size::constant(0);
            loop {
                total = total.add(&c.term(negative)?);
                negative = c.eat("-");
                if !negative && !c.eat("+") {
                    return Ok(total);
                }
            }
        })
    }

    /// A product of numbers and atoms.
    fn term(&mut self, negative: bool) -> Read<Size> {
        let place = self.here();
        let mut factor = 1u128;
        let mut atoms = Vec::new();
        loop {
            if self.peek_word().starts_with(|c: char| c.is_ascii_digit()) {
                let Some(product) = factor.checked_mul(self.number("a number")?) else {
                    return self.error_at(place, "this number is too large");
                };
                factor = product;
            } else {
                atoms.push(self.atom()?);
            }
            if !self.eat("*") {
                break;
            }
        }
        let signed = if negative { 0i128.checked_sub_unsigned(factor) } else { i128::try_from(factor).ok() };
        let Some(signed) = signed else { return self.error_at(place, "this number is too large") };
        Ok(atoms.into_iter().fold(Size::constant(signed), |s, a| s.mul(&a.into())))
    }

    fn atom(&mut self) -> Read<Atom> {
        if self.eat("^") {
            return self.number("the number of a body").map(|b| Atom::At(Body(b)));
        }
        if self.eat("#") {
            let free: u32 = self.number("the number of a position")?;
            let Some(pos) = free.checked_add(self.binders.len() as u32) else { return self.expected("a position") };
            return Ok(Atom::Pos(pos));
        }
        match self.peek_word() {
            "sum" => self.bound("sum").map(|(n, b)| Atom::Sum(n, b)),
            "most" => self.bound("most").map(|(n, b)| Atom::Most(n, b)),
            "log" => {
                self.keyword("log")?;
                self.expect("(")?;
                let of = self.size()?;
                self.expect(")")?;
                Ok(Atom::Log(Box::new(of)))
            }
            "min" => Ok(Atom::Min(self.operands("min")?)),
            "max" => Ok(Atom::Max(self.operands("max")?)),
            "if" => {
                self.keyword("if")?;
                self.expect("(")?;
                let cond = self.path()?;
                self.expect(",")?;
                let (yes, no) = self.pair()?;
                Ok(Atom::If(cond, yes, no))
            }
            "div" => {
                self.keyword("div")?;
                self.expect("(")?;
                let (a, b) = self.pair()?;
                Ok(Atom::Div(a, b))
            }
            word if word.starts_with('i') => self.position(),
            word if word.starts_with('n') => {
                let var = SizeVar(self.handle('n', "a size variable")?);
                let at = if self.eat("(") { self.list(")", Cursor::size)? } else { Vec::new() };
                Ok(Atom::Var(var, at))
            }
            word if word.starts_with('v') => {
                let path = self.path()?;
                if self.eat("[") { Ok(Atom::Read(path, self.list("]", Cursor::size)?)) } else { Ok(Atom::Value(path)) }
            }
            _ => self.expected("a size"),
        }
    }

    /// A count, and a size under the position that runs below it.
    fn bound(&mut self, word: &str) -> Read<(Box<Size>, Box<Size>)> {
        self.keyword(word)?;
        self.expect("(")?;
        let place = self.here();
        let level = self.handle('i', "a position")?;
        self.check_level(place, level)?;
        self.expect("<")?;
        let count = self.size()?;
        self.expect(":")?;
        self.binders.push(true);
        let body = self.size();
        self.binders.pop();
        let body = body?;
        self.expect(")")?;
        Ok((Box::new(count), Box::new(body)))
    }

    fn operands(&mut self, word: &str) -> Read<Vec<Size>> {
        self.keyword(word)?;
        self.expect("(")?;
        let place = self.here();
        let operands = self.list(")", Cursor::size)?;
        if operands.len() < 2 {
            self.error_at(place, format!("`{word}` takes two or more sizes"))
        } else {
            Ok(operands)
        }
    }

    fn pair(&mut self) -> Read<(Box<Size>, Box<Size>)> {
        let a = self.size()?;
        self.expect(",")?;
        let b = self.size()?;
        self.expect(")")?;
        Ok((Box::new(a), Box::new(b)))
    }

    fn position(&mut self) -> Read<Atom> {
        let place = self.here();
        let level = self.handle('i', "a size")?;
        match self.binders.get(level as usize) {
            Some(true) => Ok(Atom::Pos(self.binders.len() as u32 - 1 - level)),
            _ => self.error_at(place, format!("nothing around this binds `i{level}`")),
        }
    }

    /// A variable or a component of one.
    fn path(&mut self) -> Read<Path> {
        let mut path = Path::from(Var(self.handle('v', "a variable")?));
        while self.eat(".") {
            path.fields.push(self.number("the number of a component")?);
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_round_trip() {
        let texts = [
            "f64",
            "()",
            "(f64,)",
            "(f64, i64)",
            "[f64; n0]",
            "[i0 -> [f64; n1(i0)]; n0]",
            "{i0 -> [f64; n3(i0)]}",
            "[[i1 -> [f64; v3[i1 + 1] - v3[i1]]; n0]; 7]",
            "{{[bool; ^2 + 1]}}",
            "csr{off: [i64; n0 + 1], rows: [i0 -> [f64; v0.1[i0]]; n0]}",
            "\"a \\\"b\\\" \\u{7}\"{}",
            "[f64; sum(i0 < n0: sum(i1 < v3[i0]: v4.0.1[i0, i1]))]",
            "[i0 -> [i1 -> [f64; n4(i0, i1)]; min(n0, i0, 3)]; max(div(n0, 2), if(v1.0, n0, -1))]",
            "[i64; #0 + #3]",
            "[i64; log(n0 + 1) + most(i0 < n0: n1(i0))]",
            "[i64; -170141183460469231731687303715884105728]",
            "[i64; n0 + 2*n0*n0*n1 - 3]",
        ];
        for text in texts {
            let ty = parse_type(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(ty.to_string(), text);
            assert_eq!(parse_type(&ty.to_string()), Ok(ty));
        }
    }

    #[test]
    fn sizes_are_read_in_any_order() {
        assert_eq!(parse_size("3 + n1*2*n0 - 4"), parse_size("2*n0*n1 - 1"));
        assert_eq!(parse_size("n0 - n0"), Ok(Size::constant(0)));
    }

    #[test]
    fn errors_say_where_and_what() {
        let error = |text: &str| parse_type(text).unwrap_err().to_string();
        assert_eq!(error("[f64; n0"), "1:9: expected `]`, found the end of the text");
        assert_eq!(error("[[f64; i0]; n0]"), "1:8: nothing around this binds `i0`");
        assert_eq!(error("[i1 ->\n f64; n0]"), "1:2: the position bound here is `i0`, not `i1`");
        assert_eq!(error("(f64)"), "1:5: expected `,`, found `)`");
        assert_eq!(error("[f64;\n n01]"), "2:2: expected a size variable, found `n01`");
        assert_eq!(error("[f64; min(n0)]"), "1:11: `min` takes two or more sizes");
        assert_eq!(
            error("[f64; 99999999999999999999999999999999999999999]"),
            "1:7: the number 99999999999999999999999999999999999999999 is too large"
        );
        assert_eq!(error("f64 f64"), "1:5: expected the end of the text, found `f64`");
        assert!(error(&"[".repeat(100_000)).contains("nested more than"));
        assert!(error(&format!("[f64; {}", "div(".repeat(100_000))).contains("nested more than"));
    }
}
