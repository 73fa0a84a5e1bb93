//! Imports, types and functions.

use deckle_diag::{Code, Diagnostic};

use super::{Fail, Parsed, Parser};
use crate::ast::{Def, Import, Origin, Param, TypeDef, TypeId};
use crate::lex::Tok;

impl Parser<'_> {
    /// The whole file.
    pub(super) fn items(&mut self) {
        while !self.at(Tok::Eof) {
            let is_def = self.at(Tok::Def);
            let done = match self.tok() {
                Tok::Import => self.import(),
                Tok::Type => self.type_def(),
                Tok::Def => self.def(),
                _ => Err(self.report_no_item()),
            };
            if done.is_ok() && matches!(self.tok(), Tok::Import | Tok::Type | Tok::Def | Tok::Eof) {
                continue;
            }
            if done.is_ok() {
                let operator = if is_def { "an operator, or " } else { "" };
                self.unexpected(&format!("{operator}the next `def`, `type` or `import`"));
            }
            self.skip_item();
        }
    }

    fn skip_item(&mut self) {
        self.open.clear();
        while !self.at_item() {
            self.bump();
        }
    }

    fn import(&mut self) -> Parsed<()> {
        let lo = self.span();
        self.bump();
        let origin = match self.tok() {
            Tok::Str(id) => {
                self.bump();
                Origin::File(String::from_utf8_lossy(&self.lexed.strings[id.0 as usize]).into_owned())
            }
            Tok::Ident => Origin::Library(self.name("the name of a library module")?.text),
            _ => {
                let what = "a library module, as in `import sparse`, or the path of a file in quotes, as in `import \"lib/shapes.dk\"`";
                return Err(self.unexpected(what));
            }
        };
        let mut import = Import { origin, alias: None, names: None, span: lo };
        if self.eat(Tok::As) {
            import.alias = Some(self.name("the name by which the module is called here")?);
        } else if self.at(Tok::ParenL) {
            import.names = Some(self.list(|p| p.name("a name to import"))?);
        }
        import.span = self.since(lo);
        self.build.module.imports.push(import);
        Ok(())
    }

    fn type_def(&mut self) -> Parsed<()> {
        let lo = self.span();
        let doc = self.lexed.doc(self.pos);
        self.bump();
        let name = self.name("the name of the type")?;
        let mut params = Vec::new();
        if self.at(Tok::BracketL) {
            params = self.list(|p| p.name("the name of a type parameter"))?;
        }
        let body = match self.expect(Tok::Eq).and_then(|_| self.ty()) {
            Ok(body) => body,
            Err(fail) => {
                self.build.module.broken.push(name);
                return Err(fail);
            }
        };
        let span = self.since(lo);
        self.build.module.type_defs.push(TypeDef { name, params, body, doc, span });
        Ok(())
    }

    fn def(&mut self) -> Parsed<()> {
        let lo = self.span();
        let doc = self.lexed.doc(self.pos);
        self.bump();
        let name = self.name("the name of the function")?;
        let (params, ret) = match self.signature() {
            Ok(signature) => signature,
            Err(fail) => {
                self.build.module.broken.push(name);
                return Err(fail);
            }
        };
        let start = self.span();
        let body = self.expr();
        let failed = body.err();
        let body = body.unwrap_or_else(|_| {
            let span = self.since(start);
            self.error_expr(span)
        });
        let span = self.since(lo);
        self.build.module.defs.push(Def { name, params, ret, body, doc, span });
        failed.map_or(Ok(()), Err)
    }

    /// `(x: int, y): int =`
    fn signature(&mut self) -> Parsed<(Vec<Param>, Option<TypeId>)> {
        let params = if self.at(Tok::ParenL) { self.list(Self::param)? } else { self.report_no_parameters()? };
        if self.at(Tok::Arrow) {
            self.report(
                Diagnostic::new(Code::Unexpected, "`->` where `:` is meant", self.span(), "")
                    .note("the type of the result follows a colon, as that of a parameter does")
                    .help("write `def f(x: int): int = x + 1`"),
            );
        }
        let ret = if self.eat(Tok::Colon) || self.eat(Tok::Arrow) { Some(self.result_type()?) } else { None };
        if !self.eat(Tok::Eq) {
            self.unexpected("`=` and the value of the function");
            if !self.eat(Tok::FatArrow) {
                return Err(Fail::Here);
            }
        }
        Ok((params, ret))
    }

    fn param(&mut self) -> Parsed<Param> {
        let pat = self.pat()?;
        if self.at(Tok::Ident) {
            return Err(self.report(
                Diagnostic::new(Code::Unexpected, "two names in a row", self.span(), "expected `,`, `)` or `:`")
                    .help("a parameter and its type are written `x: int`; parameters are separated by `,`"),
            ));
        }
        let ty = if self.eat(Tok::Colon) { Some(self.ty()?) } else { None };
        Ok(Param { pat, ty })
    }

    fn result_type(&mut self) -> Parsed<TypeId> {
        if self.token().first || self.at(Tok::Eq) {
            return Err(self.unexpected("the type of the result after `:`"));
        }
        self.ty()
    }

    /// Reports `def f x = e` and `def f = e`; continues after the latter.
    fn report_no_parameters(&mut self) -> Parsed<Vec<Param>> {
        let name = self.text_of(self.span_of(self.before()));
        let message = "a function's parameters stand in parentheses";
        let diagnostic = Diagnostic::new(Code::Unexpected, message, self.span(), "expected `(`");
        if matches!(self.tok(), Tok::Eq | Tok::Colon) {
            self.report(diagnostic.help(format!("a function without parameters is written `def {name}() = ..`")));
            return Ok(Vec::new());
        }
        let help = match self.tok() {
            Tok::Ident => format!("write `def {name}({}) = ..`", self.word()),
            Tok::BracketL => {
                "type and size parameters are not declared: names in the types are found by themselves".into()
            }
            _ => format!("write `def {name}(x, y) = ..`"),
        };
        Err(self.report(diagnostic.help(help)))
    }

    fn report_no_item(&mut self) -> Fail {
        if self.at(Tok::Bad) {
            return Fail::Here;
        }
        let help = match (self.tok(), self.word()) {
            (Tok::Let, _) if self.ahead(2).tok == Tok::ParenL => "functions start with `def`: `def f(x) = ..`",
            (Tok::Let, _) => "a value for the whole file is a function without parameters: `def n() = 10`",
            (Tok::Ident, "fn" | "fun" | "func" | "function" | "defn" | "define" | "sub" | "proc") => {
                "functions start with `def`: `def f(x) = ..`"
            }
            (Tok::Ident, "entry") => "every `def` can be run by its name; there is no `entry`",
            (Tok::Ident, "struct" | "record" | "data" | "class" | "typedef" | "newtype" | "enum") => {
                "types start with `type`: `type point = { x: real, y: real }`"
            }
            (Tok::Ident, "use" | "open" | "include" | "from" | "require" | "using") => {
                "other files are reached by `import \"path\" as name`"
            }
            (Tok::Ident, "val" | "var" | "const" | "static") => {
                "a value for the whole file is a function without parameters: `def n() = 10`"
            }
            (Tok::Ident, _) if matches!(self.ahead(1).tok, Tok::Eq | Tok::ParenL) => "definitions start with `def`",
            (Tok::Semi, _) => "leave it out: nothing stands between definitions",
            _ if self.tok().is_closer() => "there is no opening bracket for it: perhaps one is closed twice above",
            _ => "a file is made of functions, types and imports; what is to be run goes into `def main() = ..`",
        };
        let message = format!("expected `def`, `type` or `import`, found {}", self.describe());
        let fail = self.report(Diagnostic::new(Code::Unexpected, message, self.span(), "").help(help));
        self.bump();
        fail
    }
}

#[cfg(test)]
mod tests {
    use deckle_diag::FileId;

    use super::super::parse;
    use super::super::tests::{dump, first_error};

    #[test]
    fn a_file_is_a_list_of_items() {
        let text = "import \"a/b\" as c\nimport \"d\" (e, f,)\nimport \"g\"\nimport h\nimport h as i\nimport h (j)\n\
                    type t[a, b] = { x: [a], y: {b}, }\n\
                    type u = [i -> [(u32, m.f[real]); off[i + 1] - off[i]]; n, 3]\n\
                    def f((a, _): (int, ()), b) : {real} = b def g() = 1";
        assert_eq!(dump(text), {
            "(import \"a/b\" as c)\n(import \"d\" (e f))\n(import \"g\")\n(import h)\n(import h as i)\n(import h (j))\n\
             (type t[a b] {x:[a] y:{b}})\n\
             (type u [i -> [(u32 m.f[real]); (- (index off (+ i 1)) (index off i))]; n 3])\n\
             (def f ((tuple a _):(int ()) b) :{real} b)\n(def g () 1)\n"
        });
    }

    #[test]
    fn docs_belong_to_what_follows() {
        let (module, _) = parse(FileId(0), "/// Adds.\n/// Twice.\ndef f(x) = x\n/// T.\ntype t = int\ndef g() = 1");
        assert_eq!(module.defs[0].doc, "Adds.\nTwice.");
        assert_eq!(module.type_defs[0].doc, "T.");
        assert_eq!(module.defs[1].doc, "");
    }

    #[test]
    fn every_broken_item_is_reported_and_the_others_are_kept() {
        let text = "def a() = 1 +\ndef b(x) = x\ndef c(= 2\ntype d = \ndef e() = (1, 2\ndef f() = b(1)\n";
        let (module, errors) = parse(FileId(0), text);
        assert_eq!(errors.len(), 4, "{errors:#?}");
        let names: Vec<_> = module.defs.iter().map(|d| &*d.name.text).collect();
        assert_eq!(names, ["a", "b", "e", "f"]);
        let broken: Vec<_> = module.broken.iter().map(|n| &*n.text).collect();
        assert_eq!(broken, ["c", "d"]);
    }

    #[test]
    fn functions_of_other_languages_are_recognised() {
        for text in ["fn f(x) = x", "fun f(x) = x", "function f(x) { }", "let f(x) = x"] {
            let error = first_error(text);
            assert!(error.helps[0].starts_with("functions start with `def`"), "{text}: {error:?}");
        }
        assert_eq!(first_error("f(x) = x").helps, ["definitions start with `def`"]);
        assert_eq!(first_error("def f(x) = x\ny = 2").helps, ["definitions start with `def`"]);
        assert_eq!(first_error("def pi = 3.14").helps, ["a function without parameters is written `def pi() = ..`"]);
        assert_eq!(first_error("def f x = x").helps, ["write `def f(x) = ..`"]);
        assert_eq!(first_error("def f(x) -> int = x").message, "`->` where `:` is meant");
        assert_eq!(first_error("def f(x) { x }").message, "expected `=` and the value of the function, found `{`");
    }
}
