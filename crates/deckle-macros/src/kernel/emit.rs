//! From statements to the tokens of the twin.
//!
//! A conditional returns the variables that its branches assign and that are read later; the state of a loop is those of its body that are read later or in the
//! next round. So the translation knows, backwards, which variables are read after each statement.
//!
//! ```text
//! If(c, [Set(x, e)], [])      (x, ()) = branch(c, move || { let mut x = x; x = e; (x, ()) }, move || { let mut x = x; (x, ()) });
//! ```

use super::ir::{Code, For, Names, Stmt, Var, While, assigned};
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use std::collections::BTreeSet;

type Vars = BTreeSet<Var>;

/// The tokens of a function's body; `last` are the variables that are read at its end.
pub fn emit(stmts: &[Stmt], last: &Vars, names: &Names) -> TokenStream {
    let mut read = last.clone();
    reads(stmts, &mut read);
    Emit { names, read }.block(stmts, last)
}

/// Whether any expression reads a variable.
pub fn is_read(var: Var, stmts: &[Stmt]) -> bool {
    let mut all = Vars::new();
    reads(stmts, &mut all);
    all.contains(&var)
}

/// All variables that any expression reads.
fn reads(stmts: &[Stmt], all: &mut Vars) {
    for stmt in stmts {
        match stmt {
            Stmt::Let(_, _, Some(code)) | Stmt::Set(_, code) | Stmt::Do(code) => all.extend(&code.reads),
            Stmt::Update(var, _, code) => {
                all.insert(*var);
                all.extend(&code.reads);
            }
            Stmt::If(cond, yes, no) => {
                all.extend(&cond.reads);
                reads(yes, all);
                reads(no, all);
            }
            Stmt::While(w) => {
                all.extend(&w.test.reads);
                [&w.before, &w.body, &w.after].into_iter().for_each(|stmts| reads(stmts, all));
            }
            Stmt::For(f) => {
                all.extend(&f.steps.reads);
                reads(&f.body, all);
            }
            Stmt::Let(_, _, None) | Stmt::Item(_) | Stmt::Flag(..) | Stmt::Exit(_) => {}
        }
    }
}

/// The variables that are read in the statements or after them, given those that are read after them.
fn live(stmts: &[Stmt], after: &Vars) -> Vars {
    let mut now = after.clone();
    for stmt in stmts.iter().rev() {
        match stmt {
            Stmt::Let(var, _, value) => {
                now.remove(var);
                now.extend(value.iter().flat_map(|code| &code.reads));
            }
            Stmt::Set(var, code) => {
                now.remove(var);
                now.extend(&code.reads);
            }
            Stmt::Update(var, _, code) => {
                now.insert(*var);
                now.extend(&code.reads);
            }
            Stmt::Do(code) => now.extend(&code.reads),
            Stmt::Flag(var, _) => {
                now.remove(var);
            }
            Stmt::If(cond, yes, no) => {
                let other = live(no, &now);
                now = live(yes, &now);
                now.extend(other);
                now.extend(&cond.reads);
            }
            Stmt::While(w) => now = head(w, &now),
            Stmt::For(f) => {
                now = around(&now, |now| live(&f.body, now));
                now.extend(&f.steps.reads);
                now.remove(&f.var);
            }
            Stmt::Item(_) | Stmt::Exit(_) => {}
        }
    }
    now
}

/// The variables that are read after the beginning of a loop: of any round.
fn head(w: &While, after: &Vars) -> Vars {
    around(after, |now| {
        let mut next = live(&w.body, &live(&w.after, now));
        next.extend(&w.test.reads);
        live(&w.before, &next)
    })
}

fn around(after: &Vars, round: impl Fn(&Vars) -> Vars) -> Vars {
    let mut now = after.clone();
    loop {
        let mut next = round(&now);
        next.extend(&now);
        if next == now {
            return now;
        }
        now = next;
    }
}

struct Emit<'a> {
    names: &'a Names,
    /// Everything that is ever read.
    read: Vars,
}

impl Emit<'_> {
    fn block(&self, stmts: &[Stmt], after: &Vars) -> TokenStream {
        let mut now = after.clone();
        let mut tokens = Vec::new();
        for stmt in stmts.iter().rev() {
            tokens.push(self.stmt(stmt, &now));
            now = live(std::slice::from_ref(stmt), &now);
        }
        tokens.into_iter().rev().collect()
    }

    fn stmt(&self, stmt: &Stmt, after: &Vars) -> TokenStream {
        match stmt {
            Stmt::Let(var, ty, value) => {
                let (ident, ty) = (self.names.ident(*var), ty.iter());
                match value {
                    Some(code) => quote! { let mut #ident #(: #ty)* = #code; },
                    None => quote! { let mut #ident #(: #ty)* = __k::unset(); },
                }
            }
            Stmt::Set(var, code) => {
                let ident = self.names.ident(*var);
                quote! { #ident = #code; }
            }
            Stmt::Update(var, f, code) => {
                let ident = self.names.ident(*var);
                quote_spanned! { f.span() => #ident = __k::#f(#ident, #code); }
            }
            Stmt::Do(code) => quote! { let _ = #code; },
            Stmt::Item(tokens) => tokens.clone(),
            Stmt::Flag(var, _) if !self.read.contains(var) => TokenStream::new(),
            Stmt::Flag(var, value) => {
                let ident = self.names.ident(*var);
                quote! { #ident = __k::lit(#value); }
            }
            Stmt::If(cond, yes, no) => self.conditional(cond, yes, no, after),
            Stmt::While(w) => self.while_loop(w, after),
            Stmt::For(f) => self.for_loop(f, after),
            Stmt::Exit(_) => TokenStream::new(),
        }
    }

    /// The assigned variables, without flags that nothing reads.
    fn assigned(&self, stmts: &[Stmt]) -> Vars {
        assigned(stmts).intersection(&self.read).copied().chain(self.unread(stmts)).collect()
    }

    /// Variables that are assigned and never read: their types are inferred from what is assigned.
    fn unread(&self, stmts: &[Stmt]) -> Vars {
        let mut flags = Vars::new();
        flags_of(stmts, &mut flags);
        assigned(stmts).into_iter().filter(|v| !self.read.contains(v) && !flags.contains(v)).collect()
    }

    /// A list of variables, `(a, (b, ()))`, with something before each.
    fn list(&self, vars: &Vars, before: &TokenStream) -> TokenStream {
        vars.iter().rev().fold(quote! { () }, |rest, var| {
            let ident = self.names.ident(*var);
            quote! { (#before #ident, #rest) }
        })
    }

    fn own(&self, vars: impl IntoIterator<Item = Var>) -> TokenStream {
        let idents: Vec<_> = vars.into_iter().map(|v| self.names.ident(v)).collect();
        quote! { #(let mut #idents = #idents;)* }
    }

    fn conditional(&self, cond: &Code, yes: &[Stmt], no: &[Stmt], after: &Vars) -> TokenStream {
        let all: Vars = self.assigned(yes).union(&self.assigned(no)).copied().collect();
        let results: Vars = all.intersection(after).copied().collect();
        let list = self.list(&results, &TokenStream::new());
        let own = self.own(all);
        let (yes, no) = (self.block(yes, after), self.block(no, after));
        quote! {
            #list = __k::branch(#cond, move || { #own #yes #list }, move || { #own #no #list });
        }
    }

    fn while_loop(&self, w: &While, after: &Vars) -> TokenStream {
        let inside: Vec<Stmt> = [&w.before[..], &w.body, &w.after].concat();
        let all = self.assigned(&inside);
        let read = head(w, after);
        let state: Vars = all.intersection(&read).copied().collect();
        let list = self.list(&state, &TokenStream::new());
        let params = self.list(&state, &quote! { mut });
        let own = self.own(all.difference(&state).copied());
        let mut tested = read.clone();
        tested.extend(&w.test.reads);
        let (before, test) = (self.block(&w.before, &tested), &w.test);
        let round = self.block(&[&w.body[..], &w.after].concat(), &read);
        quote! {
            #list = __k::repeated(#list, move |#params| { #own #before #test }, move |#params| { #own #round #list });
        }
    }

    fn for_loop(&self, f: &For, after: &Vars) -> TokenStream {
        let all = self.assigned(&f.body);
        let read = around(after, |now| live(&f.body, now));
        let state: Vars = all.intersection(&read).copied().filter(|v| *v != f.var).collect();
        let list = self.list(&state, &TokenStream::new());
        let params = self.list(&state, &quote! { mut });
        let own = self.own(all.difference(&state).copied().filter(|v| *v != f.var));
        let (steps, var) = (&f.steps, self.names.ident(f.var));
        if let Some((items, values, updates)) = self.accumulation(f, &all, &state) {
            return quote! {
                #list = __k::accumulated(
                    #steps,
                    #list,
                    move |mut #var| { #items #values },
                    move |#params, #values| { #updates #list },
                );
            };
        }
        let round = self.block(&f.body, &read);
        quote! {
            #list = __k::counted(#steps, #list, move |mut #var, #params| { #own #round #list });
        }
    }
}

impl Emit<'_> {
    /// A loop that only adds to its variables what does not depend on them: what is added, its names, and the additions.
    fn accumulation(&self, f: &For, all: &Vars, state: &Vars) -> Option<(TokenStream, TokenStream, TokenStream)> {
        // What other statements read or assign.
        let (mut updated, mut read) = (Vars::new(), Vars::new());
        let (mut items, mut updates, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (k, stmt) in f.body.iter().enumerate() {
            if let Stmt::Update(var, op, code) = stmt {
                updated.insert(*var);
                read.extend(&code.reads);
                let (ident, name) = (self.names.ident(*var), format_ident!("__u{k}"));
                items.push(quote! { let #name = #code; });
                updates.push(quote_spanned! { op.span() => #ident = __k::#op(#ident, #name); });
                names.push(name);
            } else {
                let one = std::slice::from_ref(stmt);
                reads(one, &mut read);
                read.extend(assigned(one));
                // Inside of this statement nothing assigned is read later, except what it declares.
                items.push(self.stmt(stmt, &self.read));
            }
        }
        let is_simple = !updated.is_empty() && updated == *all && all == state && read.is_disjoint(state);
        if !is_simple || f.body.iter().any(has_loop) {
            return None;
        }
        let values = names.iter().rev().fold(quote! { () }, |rest, name| quote! { (#name, #rest) });
        Some((quote! { #(#items)* }, values, quote! { #(#updates)* }))
    }
}

/// Whether there is a loop in a statement.
fn has_loop(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::While(_) | Stmt::For(_) => true,
        Stmt::If(_, yes, no) => yes.iter().chain(no).any(has_loop),
        _ => false,
    }
}

fn flags_of(stmts: &[Stmt], flags: &mut Vars) {
    for stmt in stmts {
        match stmt {
            Stmt::Flag(var, _) => {
                flags.insert(*var);
            }
            Stmt::If(_, yes, no) => {
                flags_of(yes, flags);
                flags_of(no, flags);
            }
            Stmt::While(w) => {
                flags_of(&w.body, flags);
                flags_of(&w.after, flags);
            }
            Stmt::For(f) => flags_of(&f.body, flags),
            _ => {}
        }
    }
}
