//! Parsing the signatures of the table of built-in functions.

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

/// The number of arguments of a signature; `None` for a special one.
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

/// The usage and description of a function, for a message: `take(int, [a]) -> [a]`.
pub(crate) fn usage(form: &crate::builtins::Builtin) -> String {
    if form.signature == "special" || form.doc.starts_with(&format!("`{}(", form.name)) {
        return form.doc.trim_end_matches('.').to_string();
    }
    let (params, result) = form.signature.rsplit_once("->").unwrap_or((form.signature, ""));
    let mut out = format!(
        "`{}({}) -> {}`",
        form.name,
        plain(params.trim(), form.signature),
        plain(result.trim(), form.signature)
    );
    let either = form.signature.contains("c<");
    if either {
        out.push_str(", for vectors and sequences alike");
    }
    let mut doc = form.doc.chars();
    if let Some(first) = doc.next() {
        out.push_str(": ");
        out.extend(first.to_lowercase());
        out.push_str(doc.as_str().trim_end_matches('.'));
    }
    out
}

/// A part of a signature without its own notation: `c<a>` is `[a]`, `n:num` a number, `fn(a) b` is `a -> b`.
fn plain(part: &str, signature: &str) -> String {
    let mut classes: Vec<(char, &str)> = Vec::new();
    for (at, _) in signature.match_indices(':') {
        let var = signature[..at].chars().next_back().unwrap_or(' ');
        let class = signature[at + 1..].split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        classes.push((
            var,
            match class {
                "float" => "real",
                "int" | "bits" => "integer",
                _ => "number",
            },
        ));
    }
    let mut out = String::new();
    let mut words = part.split_inclusive(|c: char| !c.is_alphanumeric()).peekable();
    let mut closers = Vec::new();
    while let Some(piece) = words.next() {
        let (word, end) = match piece.char_indices().next_back() {
            Some((at, c)) if !c.is_alphanumeric() => (&piece[..at], Some(c)),
            _ => (piece, None),
        };
        if word == "fn" && end == Some('(') {
            out.push('(');
            closers.push(true);
            continue;
        }
        if word.len() == 1 && end == Some('<') {
            out.push('[');
            continue;
        }
        if end == Some(':') {
            // The class follows, and belongs to the variable.
            let class = words.next().unwrap_or("");
            let tail = class.trim_start_matches(char::is_alphanumeric);
            let var = word.chars().next().unwrap_or(' ');
            out.push_str(classes.iter().find(|c| c.0 == var).map_or(word, |c| c.1));
            out.push_str(&tail.replace('>', "]"));
            continue;
        }
        match classes.iter().find(|c| word.len() == 1 && word.starts_with(c.0)) {
            Some((_, class)) => out.push_str(class),
            None => out.push_str(word),
        }
        match end {
            Some('(') => {
                out.push('(');
                closers.push(false);
            }
            Some(')') => {
                out.push(')');
                if closers.pop() == Some(true) {
                    out.push_str(" ->");
                }
            }
            Some('>') => out.push(']'),
            Some(c) => out.push(c),
            None => {}
        }
    }
    out.replace("i64", "int").replace("f64", "real")
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
    fn usage_is_in_plain_words() {
        let shown = |name: &str| crate::builtins::lookup(name).iter().map(usage).collect::<Vec<_>>().join("\n");
        assert!(shown("take").starts_with("`take(int, [a]) -> [a]`: the first `n`"), "{}", shown("take"));
        assert!(shown("log").starts_with("`log(real) -> real`"), "{}", shown("log"));
        assert!(shown("sum").starts_with("`sum([number]) -> number`, for vectors and sequences"), "{}", shown("sum"));
        assert!(shown("fold1").starts_with("`fold1((a, a) -> a, [a]) -> a`"), "{}", shown("fold1"));
        assert!(shown("fold").starts_with("`fold(f, z, xs)`: all elements"), "{}", shown("fold"));
        assert!(shown("flatten").starts_with("`flatten([[a]]) -> [a]`"), "{}", shown("flatten"));
        for b in BUILTINS.iter().copied().chain(mathematics()) {
            assert!(!usage(&b).contains("c<") && !usage(&b).contains("fn("), "{}", usage(&b));
        }
    }

    #[test]
    fn every_signature_reads_to_its_end() {
        for b in BUILTINS.iter().copied().chain(mathematics()) {
            let mut types = Types::new();
            let Some(s) = read(b.signature, &mut types) else { continue };
            assert_eq!(Some(s.params.len()), arity(b.signature), "{}", b.name);
        }
    }
}
