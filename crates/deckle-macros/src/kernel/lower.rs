//! From Rust's syntax to the IR of kernels: blocks, statements and control flow. `for` is in `loops.rs`, expressions in `expr.rs`, patterns in `pattern.rs`.
//!
//! An expression that contains statements (`if`, `match`, blocks, loops) is assigned to a variable first, so that what remains are operators on values. Operands that
//! are evaluated before such a variable are computed before, too: Rust's order of evaluation is kept.

use super::exits::read;
use super::ir::{Code, Exit, Flags, LoopId, Names, Stmt, Var, While, assigned, exits};
use super::refuse;
use super::types;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use std::collections::HashMap;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Block, Expr, Label, Lifetime, Local, Pat};

/// A loop around the code that is translated.
pub struct LoopCx {
    label: Option<Ident>,
    pub flags: Flags,
    /// Where `break` leaves its value.
    value: Option<Var>,
    pub leaves: bool,
    skips: bool,
}

/// The translation of one function.
pub struct Lower<'a> {
    pub names: Names,
    pub errors: Vec<syn::Error>,
    /// The name of the function, which it may not call.
    pub own: &'a Ident,
    /// The result of the function, and whether it has returned.
    pub result: Var,
    pub returned: Var,
    scopes: Vec<HashMap<String, Var>>,
    blocks: Vec<Vec<Stmt>>,
    loops: Vec<LoopCx>,
    loops_so_far: usize,
}

impl<'a> Lower<'a> {
    pub fn new(own: &'a Ident) -> Lower<'a> {
        let mut names = Names::default();
        let result = names.fresh("result", Span::call_site());
        let returned = names.fresh("returned", Span::call_site());
        Lower {
            names,
            errors: Vec::new(),
            own,
            result,
            returned,
            scopes: vec![HashMap::new()],
            blocks: vec![Vec::new()],
            loops: Vec::new(),
            loops_so_far: 0,
        }
    }

    /// The statements so far.
    pub fn finish(&mut self) -> Vec<Stmt> {
        self.blocks.pop().unwrap_or_default()
    }

    pub fn refuse(&mut self, span: Span, message: impl std::fmt::Display) -> Code {
        self.errors.push(syn::Error::new(span, message));
        Code::constant(quote! { __k::unset() })
    }

    pub fn push(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    /// The number of statements in the current block.
    pub fn mark(&self) -> usize {
        self.blocks.last().map_or(0, Vec::len)
    }

    pub fn insert(&mut self, at: usize, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.insert(at, stmt);
        }
    }

    /// What is translated meanwhile, as a block of its own.
    pub fn inside<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> (Vec<Stmt>, R) {
        self.blocks.push(Vec::new());
        self.scopes.push(HashMap::new());
        let made = f(self);
        self.scopes.pop();
        (self.blocks.pop().unwrap_or_default(), made)
    }

    pub fn read(&self, var: Var) -> Code {
        read(var, &self.names)
    }

    pub fn lookup(&self, name: &Ident) -> Option<Var> {
        let name = name.unraw().to_string();
        self.scopes.iter().rev().find_map(|s| s.get(&name).copied())
    }

    /// A variable of the function, visible from now on.
    pub fn declare(&mut self, name: &Ident) -> Var {
        let var = self.names.fresh(&name.unraw().to_string(), name.span());
        self.show(name, var);
        var
    }

    pub fn show(&mut self, name: &Ident, var: Var) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.unraw().to_string(), var);
        }
    }

    /// A variable of the translation, with this value.
    pub fn temporary(&mut self, value: Code, span: Span) -> Var {
        let var = self.names.fresh("t", span);
        self.push(Stmt::Let(var, None, Some(value)));
        var
    }

    /// A variable of the translation that is assigned later.
    pub fn later(&mut self, span: Span) -> Var {
        let var = self.names.fresh("v", span);
        self.push(Stmt::Let(var, None, None));
        var
    }

    /// Translates a block; its value, if it is wanted, is assigned.
    pub fn block(&mut self, block: &Block, to: Option<Var>) {
        self.scopes.push(HashMap::new());
        for (k, stmt) in block.stmts.iter().enumerate() {
            let is_last = k + 1 == block.stmts.len();
            match stmt {
                syn::Stmt::Local(local) => self.local(local),
                syn::Stmt::Item(item) => self.item(item),
                syn::Stmt::Expr(e, None) if is_last => self.assign_to(e, to),
                syn::Stmt::Expr(e, _) => self.assign_to(e, None),
                syn::Stmt::Macro(m) if is_last && m.semi_token.is_none() => {
                    let value = self.macro_call(&m.mac);
                    self.deliver(value, to);
                }
                syn::Stmt::Macro(m) => {
                    let value = self.macro_call(&m.mac);
                    self.push(Stmt::Do(value));
                }
            }
        }
        self.scopes.pop();
    }

    fn item(&mut self, item: &syn::Item) {
        match item {
            syn::Item::Const(c) => self.push(Stmt::Item(quote! { #c })),
            syn::Item::Use(u) => self.push(Stmt::Item(quote! { #u })),
            other => {
                self.refuse(other.span(), refuse::ITEM);
            }
        }
    }

    fn local(&mut self, local: &Local) {
        if let Some(attr) = local.attrs.iter().find(|a| a.path().is_ident("cfg")) {
            self.refuse(attr.span(), refuse::CFG);
        }
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        let ty = ty.map(|ty| types::handle(ty, &mut self.errors));
        let Some(init) = &local.init else {
            match pat {
                Pat::Ident(p) => {
                    let var = self.declare(&p.ident);
                    self.push(Stmt::Let(var, ty, None));
                }
                other => {
                    self.refuse(other.span(), refuse::PATTERN);
                }
            }
            return;
        };
        let value = self.value(&init.expr);
        match pat {
            pat if init.diverge.is_some() => {
                let whole = self.names.fresh("t", pat.span());
                self.push(Stmt::Let(whole, ty, Some(value)));
                let cond = self.test(pat, whole).unwrap_or_else(always);
                let otherwise = init.diverge.iter().map(|(_, e)| &**e);
                let (no, ()) = self.inside(|this| otherwise.for_each(|e| this.assign_to(e, None)));
                self.push(Stmt::If(cond, Vec::new(), no));
                self.bind(pat, whole);
            }
            Pat::Ident(p) if p.subpat.is_none() && p.by_ref.is_none() => {
                let var = self.declare(&p.ident);
                self.push(Stmt::Let(var, ty, Some(value)));
            }
            Pat::Wild(_) => {
                let var = self.names.fresh("unused", pat.span());
                self.push(Stmt::Let(var, ty, Some(value)));
            }
            pat => {
                let whole = self.names.fresh("t", pat.span());
                self.push(Stmt::Let(whole, ty, Some(value)));
                self.bind(pat, whole);
            }
        }
    }

    /// Assigns a value, or only evaluates it.
    pub fn deliver(&mut self, value: Code, to: Option<Var>) {
        match to {
            Some(var) => self.push(Stmt::Set(var, value)),
            None if value.is_constant => {}
            None => self.push(Stmt::Do(value)),
        }
    }

    /// Translates an expression, control flow included; its value, if it is wanted, is assigned.
    pub fn assign_to(&mut self, e: &Expr, to: Option<Var>) {
        match e {
            Expr::If(e) => self.conditional(e, to),
            Expr::Match(e) => self.matching(&e.expr, &e.arms, to),
            Expr::Block(e) if e.label.is_none() => self.block(&e.block, to),
            Expr::While(e) => self.while_loop(e),
            Expr::Loop(e) => self.endless(e, to),
            Expr::ForLoop(e) => self.for_loop(e),
            Expr::Return(e) => {
                match &e.expr {
                    Some(value) => self.assign_to(value, Some(self.result)),
                    None => {
                        self.refuse(e.span(), refuse::NO_RESULT);
                    }
                }
                self.push(Stmt::Flag(self.returned, true));
                self.leave(self.loops.len(), Exit::Return);
            }
            Expr::Break(e) => self.break_loop(e),
            Expr::Continue(e) => {
                if let Some(at) = self.target(e.label.as_ref(), e.span()) {
                    self.loops[at].skips = true;
                    let flags = self.loops[at].flags;
                    self.push(Stmt::Flag(flags.skips, true));
                    self.leave(self.loops.len() - at - 1, Exit::Continue(flags.id));
                }
            }
            Expr::Assign(e) => self.assignment(&e.left, &e.right),
            Expr::Binary(b) if super::places::compound(&b.op).is_some() => self.compound(b),
            Expr::Paren(p) => self.assign_to(&p.expr, to),
            Expr::Group(g) => self.assign_to(&g.expr, to),
            Expr::Tuple(t) if t.elems.is_empty() && to.is_none() => {}
            // A semicolon of its own.
            Expr::Verbatim(tokens) if tokens.is_empty() => {}
            other => {
                let value = self.value(other);
                self.deliver(value, to);
            }
        }
    }

    /// Ends the innermost loops, and with them this block.
    fn leave(&mut self, loops: usize, exit: Exit) {
        let first = self.loops.len() - loops;
        for k in first..self.loops.len() {
            self.loops[k].leaves = true;
            let goes = self.loops[k].flags.goes;
            self.push(Stmt::Flag(goes, false));
        }
        self.push(Stmt::Exit(exit));
    }

    /// The loop that an exit means.
    fn target(&mut self, label: Option<&Lifetime>, span: Span) -> Option<usize> {
        let found = match label {
            Some(label) => self.loops.iter().rposition(|l| l.label.as_ref() == Some(&label.ident)),
            None => self.loops.len().checked_sub(1),
        };
        if found.is_none() {
            self.refuse(span, refuse::LABEL);
        }
        found
    }

    fn break_loop(&mut self, e: &syn::ExprBreak) {
        let Some(at) = self.target(e.label.as_ref(), e.span()) else { return };
        if let Some(value) = &e.expr {
            self.assign_to(value, self.loops[at].value);
        }
        let id = self.loops[at].flags.id;
        self.leave(self.loops.len() - at, Exit::Break(id));
    }

    /// Translates the body of a loop. The result says how it is left.
    pub fn looping(
        &mut self,
        label: Option<&Label>,
        value: Option<Var>,
        body: impl FnOnce(&mut Self),
    ) -> (LoopCx, Vec<Stmt>) {
        let id: LoopId = self.loops_so_far;
        self.loops_so_far += 1;
        let goes = self.names.fresh("goes", Span::call_site());
        let skips = self.names.fresh("skips", Span::call_site());
        let label = label.map(|l| l.name.ident.clone());
        self.loops.push(LoopCx { label, flags: Flags { id, goes, skips }, value, leaves: false, skips: false });
        let (mut stmts, ()) = self.inside(body);
        let cx = self.loops.pop();
        let cx =
            cx.unwrap_or(LoopCx { label: None, flags: Flags { id, goes, skips }, value, leaves: false, skips: false });
        if cx.skips {
            stmts.insert(0, flag(skips, false));
        }
        (cx, stmts)
    }

    /// Adds a loop that runs while the condition holds and nothing has left it.
    pub fn add_loop(&mut self, cx: &LoopCx, test: (Vec<Stmt>, Option<Code>), body: Vec<Stmt>, after: Vec<Stmt>) {
        let (before, test) = test;
        let goes = self.read(cx.flags.goes);
        let test = match (cx.leaves, test) {
            (true, Some(test)) => Code::of(quote! { __k::and(#goes, move || #test) }, [&goes, &test]),
            (true, None) => goes,
            (false, Some(test)) => test,
            (false, None) => always(),
        };
        if cx.leaves {
            self.push(flag(cx.flags.goes, true));
        }
        self.push(Stmt::While(While { flags: cx.flags, before, test, body, after }));
    }

    /// Leaves the loop if a condition does not hold.
    fn leave_unless(&mut self, cond: Code) {
        let id = self.loops.last().map_or(0, |l| l.flags.id);
        let (no, ()) = self.inside(|this| this.leave(1, Exit::Break(id)));
        self.push(Stmt::If(cond, Vec::new(), no));
    }

    fn while_loop(&mut self, e: &syn::ExprWhile) {
        if let Expr::Let(l) = &*e.cond {
            let (cx, body) = self.looping(e.label.as_ref(), None, |this| {
                let whole = this.value(&l.expr);
                let whole = this.temporary(whole, l.span());
                let cond = this.test(&l.pat, whole).unwrap_or_else(always);
                this.leave_unless(cond);
                this.bind(&l.pat, whole);
                this.block(&e.body, None);
            });
            return self.add_loop(&cx, (Vec::new(), None), body, Vec::new());
        }
        let errors = self.errors.len();
        let (before, test) = self.inside(|this| this.value(&e.cond));
        if assigned(&before).is_empty() && exits(&before).is_empty() {
            let (cx, body) = self.looping(e.label.as_ref(), None, |this| this.block(&e.body, None));
            return self.add_loop(&cx, (before, Some(test)), body, Vec::new());
        }
        // A condition that assigns or exits is evaluated in the loop, which it may leave.
        self.errors.truncate(errors);
        let (cx, body) = self.looping(e.label.as_ref(), None, |this| {
            let test = this.value(&e.cond);
            this.leave_unless(test);
            this.block(&e.body, None);
        });
        self.add_loop(&cx, (Vec::new(), None), body, Vec::new());
    }

    fn endless(&mut self, e: &syn::ExprLoop, to: Option<Var>) {
        let (cx, body) = self.looping(e.label.as_ref(), to, |this| this.block(&e.body, None));
        // `loop { if c { break } .. }` is `while !c { .. }`.
        if let Some(Stmt::If(cond, yes, no)) = body.first()
            && let [Stmt::Flag(flag, false), Stmt::Exit(Exit::Break(id))] = yes[..]
            && (flag, id) == (cx.flags.goes, cx.flags.id)
            && no.is_empty()
        {
            let test = Code::of(quote! { __k::not(#cond) }, [cond]);
            let rest = body[1..].to_vec();
            let leaves = !exits(&rest).iter().all(|e| *e == Exit::Continue(id));
            let cx = LoopCx { leaves, ..cx };
            return self.add_loop(&cx, (Vec::new(), Some(test)), rest, Vec::new());
        }
        self.add_loop(&cx, (Vec::new(), None), body, Vec::new());
        if !cx.leaves {
            self.refuse(e.loop_token.span, refuse::ENDLESS);
        }
    }
}

/// A condition that holds.
pub fn always() -> Code {
    Code::constant(quote! { __k::lit(true) })
}

fn flag(var: Var, value: bool) -> Stmt {
    let tokens: TokenStream = quote! { __k::lit(#value) };
    Stmt::Let(var, None, Some(Code::constant(tokens)))
}
