//! The IR of a kernel: structured statements over variables.
//!
//! Every variable of the function has a number, so shadowing is resolved. Expressions are tokens of the twin, with the variables that they read. Conditionals have no
//! value: what they compute is assigned. `break`, `continue` and `return` are exits at the end of a block, after flags were set.
//!
//! ```text
//! if x < 0.0 { return 0.0; }      If(lt(x, lit(0.0)), [Set(result, lit(0.0)), Flag(returned, true), Exit(Return)], [])
//! ```

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident};
use std::collections::BTreeSet;

/// A variable of the function or of its translation.
pub type Var = usize;

/// The variables, in order of declaration.
#[derive(Default)]
pub struct Names(Vec<Ident>);

impl Names {
    /// A new variable, whose name is unique.
    pub fn fresh(&mut self, name: &str, span: Span) -> Var {
        let n = self.0.len();
        self.0.push(format_ident!("__{}_{}", name, n, span = span));
        n
    }

    pub fn ident(&self, var: Var) -> &Ident {
        &self.0[var]
    }
}

/// An expression of the twin.
#[derive(Clone, Default)]
pub struct Code {
    pub tokens: TokenStream,
    pub reads: BTreeSet<Var>,
    /// A literal or constant: it may be evaluated at any time.
    pub is_constant: bool,
}

impl Code {
    /// Tokens that read no variables.
    pub fn constant(tokens: TokenStream) -> Code {
        Code { tokens, reads: BTreeSet::new(), is_constant: true }
    }

    /// Tokens that contain these expressions.
    pub fn of<'a>(tokens: TokenStream, parts: impl IntoIterator<Item = &'a Code>) -> Code {
        let reads = parts.into_iter().flat_map(|c| c.reads.iter().copied()).collect();
        Code { tokens, reads, is_constant: false }
    }
}

impl ToTokens for Code {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.tokens.to_tokens(tokens);
    }
}

/// The number of a loop.
pub type LoopId = usize;

/// Where an exit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Return,
    Break(LoopId),
    Continue(LoopId),
}

/// A statement.
#[derive(Clone)]
pub enum Stmt {
    /// Declares a variable, with its type if it is written; without a value it is assigned later.
    Let(Var, Option<TokenStream>, Option<Code>),
    Set(Var, Code),
    /// `x += e`: the function of the operator, and the second operand.
    Update(Var, Ident, Code),
    /// Evaluates something that may fail.
    Do(Code),
    /// A constant or an import.
    Item(TokenStream),
    /// Sets a variable that only exits set. It is dropped if nothing reads the variable.
    Flag(Var, bool),
    If(Code, Vec<Stmt>, Vec<Stmt>),
    While(While),
    For(For),
    /// Nothing after it in its block is executed.
    Exit(Exit),
}

/// A loop with a condition.
#[derive(Clone)]
pub struct While {
    pub flags: Flags,
    /// Computes the condition; assigns no variables from outside.
    pub before: Vec<Stmt>,
    pub test: Code,
    pub body: Vec<Stmt>,
    /// Executed after each round, even one that a `continue` ended.
    pub after: Vec<Stmt>,
}

/// A loop over the values of a range, which nothing leaves early.
#[derive(Clone)]
pub struct For {
    pub flags: Flags,
    pub steps: Code,
    pub var: Var,
    pub body: Vec<Stmt>,
}

/// The flags of a loop: whether it continues with another round, and whether the rest of this round is skipped.
#[derive(Clone, Copy)]
pub struct Flags {
    pub id: LoopId,
    pub goes: Var,
    pub skips: Var,
}

/// The variables that statements assign, except those they declare.
pub fn assigned(stmts: &[Stmt]) -> BTreeSet<Var> {
    let mut all = BTreeSet::new();
    let mut own = BTreeSet::new();
    for stmt in stmts {
        match stmt {
            Stmt::Let(var, ..) => {
                own.insert(*var);
            }
            Stmt::Set(var, _) | Stmt::Update(var, ..) | Stmt::Flag(var, _) => {
                all.insert(*var);
            }
            Stmt::If(_, yes, no) => all.extend(assigned(yes).into_iter().chain(assigned(no))),
            Stmt::While(w) => {
                let inside: Vec<Stmt> = [&w.before[..], &w.body, &w.after].concat();
                all.extend(assigned(&inside));
            }
            Stmt::For(f) => all.extend(assigned(&f.body)),
            Stmt::Do(_) | Stmt::Item(_) | Stmt::Exit(_) => {}
        }
    }
    all.difference(&own).copied().collect()
}

/// The exits that leave statements.
pub fn exits(stmts: &[Stmt]) -> BTreeSet<Exit> {
    let mut all = BTreeSet::new();
    for stmt in stmts {
        match stmt {
            Stmt::Exit(exit) => {
                all.insert(*exit);
            }
            Stmt::If(_, yes, no) => all.extend(exits(yes).into_iter().chain(exits(no))),
            Stmt::While(While { flags, body, .. }) | Stmt::For(For { flags, body, .. }) => {
                let own = [Exit::Break(flags.id), Exit::Continue(flags.id)];
                all.extend(exits(body).into_iter().filter(|e| !own.contains(e)));
            }
            _ => {}
        }
    }
    all
}

/// Whether nothing after these statements is executed.
pub fn always_exits(stmts: &[Stmt]) -> bool {
    match stmts.last() {
        Some(Stmt::Exit(_)) => true,
        Some(Stmt::If(_, yes, no)) => always_exits(yes) && always_exits(no),
        _ => false,
    }
}
