//! Removes exits: what follows a statement that may exit is executed under a condition.
//!
//! ```text
//! if c { return a }          if c { result = a }
//! s; b                  ⇒    else { s; result = b }
//!
//! while t { .. return a .. }       while goes && t { .. result = a; returned = true; goes = false .. }
//! s; b                        ⇒    if !returned { s; result = b }
//! ```
//!
//! A branch that always exits takes the rest into the other branch, without a flag: so most functions with early returns need none. Flags that nothing reads are
//! dropped by `emit.rs`.

use super::ir::{Code, Exit, Flags, For, Names, Stmt, While, always_exits, exits};
use proc_macro2::Span;
use quote::{quote, quote_spanned};
use std::collections::BTreeSet;

/// What a block belongs to: the function, with the flag of its returns, or a loop.
#[derive(Clone, Copy)]
pub enum Level {
    Function { returned: usize },
    Loop(Flags),
}

/// The statements without exits.
pub fn remove(stmts: Vec<Stmt>, level: Level, names: &Names) -> Vec<Stmt> {
    let mut done = Vec::new();
    let mut rest = stmts.into_iter();
    while let Some(stmt) = rest.next() {
        let escaping = exits(std::slice::from_ref(&stmt));
        match stmt {
            Stmt::Exit(_) => return done,
            Stmt::If(cond, yes, no) if !escaping.is_empty() => {
                let mut rest: Vec<Stmt> = rest.collect();
                let (mut yes, mut no) = (yes, no);
                let both = always_exits(&yes) && always_exits(&no);
                if both {
                    rest.clear();
                } else if always_exits(&yes) {
                    no.append(&mut rest);
                } else if always_exits(&no) {
                    yes.append(&mut rest);
                }
                done.push(Stmt::If(cond, remove(yes, level, names), remove(no, level, names)));
                done.extend(guarded(rest, &escaping, level, names));
                return done;
            }
            Stmt::If(cond, yes, no) => done.push(Stmt::If(cond, remove(yes, level, names), remove(no, level, names))),
            Stmt::While(w) => {
                let body = remove(w.body, Level::Loop(w.flags), names);
                done.push(Stmt::While(While { body, ..w }));
                if !escaping.is_empty() {
                    done.extend(guarded(rest.collect(), &escaping, level, names));
                    return done;
                }
            }
            Stmt::For(f) => {
                let body = remove(f.body, Level::Loop(f.flags), names);
                done.push(Stmt::For(For { body, ..f }));
            }
            other => done.push(other),
        }
    }
    done
}

/// The statements under the condition that none of the exits was taken.
fn guarded(rest: Vec<Stmt>, escaping: &BTreeSet<Exit>, level: Level, names: &Names) -> Option<Stmt> {
    if rest.is_empty() {
        return None;
    }
    let cond = match level {
        Level::Function { returned } => not(returned, names),
        Level::Loop(flags) => {
            let skips = escaping.contains(&Exit::Continue(flags.id));
            let leaves = escaping.iter().any(|e| *e != Exit::Continue(flags.id));
            match (leaves, skips) {
                (true, false) => read(flags.goes, names),
                (false, _) => not(flags.skips, names),
                (true, true) => {
                    let (goes, skips) = (read(flags.goes, names), not(flags.skips, names));
                    Code::of(quote! { __k::both(#goes, #skips) }, [&goes, &skips])
                }
            }
        }
    };
    Some(Stmt::If(cond, remove(rest, level, names), Vec::new()))
}

/// The value of a variable.
pub fn read(var: usize, names: &Names) -> Code {
    let ident = names.ident(var);
    Code { tokens: quote! { #ident }, reads: BTreeSet::from([var]), is_constant: false }
}

fn not(var: usize, names: &Names) -> Code {
    let flag = read(var, names);
    Code::of(quote_spanned! { Span::call_site() => __k::not(#flag) }, [&flag])
}
