//! Reading the signatures of the table of built-in functions.

use super::types::{Node, Ty, Types};
use deckle_ir::array::OperandClass;
use deckle_ir::scalar::ScalarType;
use std::collections::HashMap;

/// A parameter of a built-in function.
#[derive(Clone, Debug)]
pub(crate) enum Param {
    /// A value.
    Value(Ty),
    /// A function: its parameters and its result.
    Func(Vec<Ty>, Ty),
}

/// A signature with fresh variables.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub params: Vec<Param>,
    pub result: Ty,
}

/// The signature written in `text`, or `None` for a special one.
pub(crate) fn read(text: &'static str, types: &mut Types) -> Option<Signature> {
    if text == "special" {
        return None;
    }
    let mut reader = Reader { rest: text, types, vars: HashMap::new(), kinds: HashMap::new() };
    let mut params = Vec::new();
    while !reader.eat("->") {
        params.push(reader.param());
        reader.eat(",");
    }
    let result = reader.ty();
    Some(Signature { params, result })
}

/// How many arguments a signature takes; `None` for a special one.
pub(crate) fn arity(text: &str) -> Option<usize> {
    let before = text.split_once("->")?.0;
    let mut depth = 0;
    let commas = before.chars().filter(|c| {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        *c == ',' && depth == 0
    });
    Some(commas.count() + 1)
}

struct Reader<'a> {
    rest: &'static str,
    types: &'a mut Types,
    vars: HashMap<&'static str, Ty>,
    kinds: HashMap<&'static str, Ty>,
}

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'static str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn param(&mut self) -> Param {
        if !self.eat("fn(") {
            return Param::Value(self.ty());
        }
        let mut params = Vec::new();
        while !self.eat(")") {
            params.push(self.ty());
            self.eat(",");
        }
        Param::Func(params, self.ty())
    }

    fn ty(&mut self) -> Ty {
        if self.eat("[") {
            let elem = self.ty();
            self.eat("]");
            return self.types.array(elem);
        }
        if self.eat("{") {
            let elem = self.ty();
            self.eat("}");
            return self.types.seq(elem);
        }
        if self.eat("(") {
            let mut parts = Vec::new();
            while !self.eat(")") {
                parts.push(self.ty());
                self.eat(",");
            }
            return self.types.tuple(parts);
        }
        let word = self.word();
        if self.eat("<") {
            let kind = *self.kinds.entry(word).or_insert_with(|| self.types.fresh_kind());
            let elem = self.ty();
            self.eat(">");
            return self.types.add(Node::Coll(kind, elem));
        }
        if self.eat(":") {
            let class = match self.word() {
                "num" => OperandClass::Num,
                "int" => OperandClass::Int,
                "float" => OperandClass::Float,
                "bits" => OperandClass::Bits,
                _ => OperandClass::Any,
            };
            let var = self.types.fresh_of(class);
            self.vars.insert(word, var);
            return var;
        }
        match word {
            "int" => self.types.int(),
            "real" => self.types.scalar(ScalarType::F64),
            _ => match ScalarType::from_name(word) {
                Some(t) => self.types.scalar(t),
                None => *self.vars.entry(word).or_insert_with(|| self.types.fresh()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::{BUILTINS, mathematics};

    #[test]
    fn every_signature_reads_to_its_end() {
        for b in BUILTINS.iter().copied().chain(mathematics()) {
            let mut types = Types::new();
            let Some(s) = read(b.signature, &mut types) else { continue };
            assert_eq!(Some(s.params.len()), arity(b.signature), "{}", b.name);
        }
    }
}
