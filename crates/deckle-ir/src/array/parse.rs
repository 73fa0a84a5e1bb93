//! Reading the text form of the array IR, which the printer describes.
//!
//! Reading a printed program gives the same program back. Variables and bodies must be numbered
//! as by a builder: a body's parameters and statements one after another, a statement after its bodies, bodies
//! in the order in which they begin. So a text has exactly one numbering, which determines where each body
//! begins.
//!
//! Nothing else is checked: the verifier finds operands that are not in scope and types that no rule gives.

mod ops;

use super::*;
use crate::text::ParseError;
use crate::text::scan::{Cursor, Read};

/// Reads a program.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let mut program = Program::default();
    let mut cursor = Cursor::new(text);
    while !cursor.at_end() {
        let place = cursor.here();
        let reader = Reader { cursor, funcs: &program.funcs, vars: Vec::new(), bodies: Vec::new() };
        let (func, rest) = reader.function()?;
        if program.find(&func.name).is_some() {
            return rest.error_at(place, format!("there are two functions called `{}`", func.name));
        }
        cursor = rest;
        program.funcs.push(func);
    }
    Ok(program)
}

/// Reads one function; `vars` and `bodies` are its arenas so far.
struct Reader<'t, 'f> {
    cursor: Cursor<'t>,
    funcs: &'f [Function],
    vars: Vec<VarData>,
    bodies: Vec<BodyData>,
}

/// A size variable of the list after the name: its arity, and its binder unless that is inferred.
type SizeEntry = (u32, Option<Var>);

impl<'t> Reader<'t, '_> {
    fn function(mut self) -> Read<(Function, Cursor<'t>)> {
        self.cursor.keyword("fn")?;
        let name = self.cursor.name("the name of a function")?;
        let place = self.cursor.here();
        let sizes = if self.cursor.eat("[") { self.size_list()? } else { Vec::new() };
        let root = self.begin_body();
        self.cursor.expect("(")?;
        let param_names = self.params(root, true)?;
        self.cursor.expect("->")?;
        let result_place = self.cursor.here();
        let result_type = self.cursor.ty()?;
        self.block(root)?;
        let result = self.bodies[root.index()].result;
        if self.vars.get(result.index()).is_none_or(|data| data.ty != result_type) {
            return self.cursor.error_at(result_place, format!("this is not the type of the result {result}"));
        }
        let span = Span::NONE;
        let mut func = Function {
            name,
            param_names,
            span,
            sizes: Vec::new(),
            size_names: Vec::new(),
            vars: self.vars,
            bodies: self.bodies,
        };
        func.sizes = sizes.iter().map(|(arity, _)| SizeVarData { arity: *arity, binder: Var(0) }).collect();
        let mentions = func.first_mentions();
        for (k, (_, given)) in sizes.into_iter().enumerate() {
            match given.or(mentions[k]) {
                Some(binder) => func.sizes[k].binder = binder,
                None => return self.cursor.error_at(place, format!("no type mentions {}", SizeVar(k as u32))),
            }
        }
        Ok((func, self.cursor))
    }

    fn size_list(&mut self) -> Read<Vec<SizeEntry>> {
        let mut next = 0;
        self.cursor.list("]", |c| {
            let place = c.here();
            let number = c.handle('n', "a size variable")?;
            if number != next {
                return c.error_at(place, format!("the next size variable is {}", SizeVar(next)));
            }
            next += 1;
            let arity = if c.eat("/") { c.number("a number of positions")? } else { 0 };
            let binder = if c.eat("@") { Some(Var(c.handle('v', "a variable")?)) } else { None };
            Ok((arity, binder))
        })
    }

    fn begin_body(&mut self) -> Body {
        let first = Var(self.vars.len() as u32);
        self.bodies.push(BodyData { first, params: Vec::new(), stmts: Vec::new(), result: first });
        Body(self.bodies.len() as u32 - 1)
    }

    /// A variable definition must have the next number of the arena.
    fn check_number(&self, place: usize, v: Var) -> Read<()> {
        let next = Var(self.vars.len() as u32);
        if v == next {
            Ok(())
        } else {
            self.cursor.error_at(place, format!("this is {v}, but the next number is {next}"))
        }
    }

    fn var(&mut self) -> Read<Var> {
        self.cursor.handle('v', "a variable").map(Var)
    }

    /// Parameters after the opening parenthesis. Those of a function have names, which are returned.
    fn params(&mut self, body: Body, named: bool) -> Read<Vec<String>> {
        let mut names = Vec::new();
        while !self.cursor.eat(")") {
            let index = self.bodies[body.index()].params.len();
            if index > 0 {
                self.cursor.expect(",")?;
            }
            let place = self.cursor.here();
            let v = self.var()?;
            self.check_number(place, v)?;
            if named {
                names.push(self.cursor.name("the name of a parameter")?);
            }
            self.cursor.expect(":")?;
            let ty = self.cursor.ty()?;
            self.vars.push(VarData { ty, def: Def::Param(body, index as u32), span: Span::NONE, name: None });
            self.bodies[body.index()].params.push(v);
        }
        Ok(names)
    }

    /// Statements and result, in braces.
    fn block(&mut self, body: Body) -> Read<()> {
        self.cursor.enter()?;
        self.cursor.expect("{")?;
        loop {
            let place = self.cursor.here();
            let v = self.var()?;
            if !self.cursor.eat(":") {
                self.bodies[body.index()].result = v;
                break;
            }
            let ty = self.cursor.ty()?;
            self.cursor.expect("=")?;
            let inst = self.inst()?;
            self.check_number(place, v)?;
            self.vars.push(VarData { ty, def: Def::Inst(inst), span: Span::NONE, name: None });
            self.bodies[body.index()].stmts.push(v);
        }
        self.cursor.expect("}")?;
        self.cursor.leave();
        Ok(())
    }

    fn inst(&mut self) -> Read<Inst> {
        let op = self.op()?;
        self.cursor.expect("(")?;
        let args = self.cursor.list(")", |c| c.handle('v', "a variable").map(Var))?;
        let mut bodies = Vec::new();
        while self.cursor.sees("^") {
            let place = self.cursor.here();
            self.cursor.eat("^");
            let number = Body(self.cursor.number("the number of a body")?);
            let body = self.begin_body();
            if number != body {
                return self.cursor.error_at(place, format!("this is {number}, but the next body is {body}"));
            }
            self.cursor.expect("(")?;
            self.params(body, false)?;
            self.block(body)?;
            bodies.push(body);
        }
        Ok(Inst { op, args, bodies })
    }
}
