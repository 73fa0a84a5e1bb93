//! `if` and `match`: a chain of conditionals, whose branches assign the value.
//!
//! ```text
//! match n { 0 => a, k if k < 9 => b, _ => c }      if n == 0 { v = a } else { taken = false; if true { let k = n; taken = k < 9 }
//!                                                                             if taken { let k = n; v = b } else { v = c } }
//! ```

use super::ir::{Code, Stmt, Var};
use super::lower::{Lower, always};
use quote::quote;
use syn::Expr;
use syn::spanned::Spanned;

impl Lower<'_> {
    pub fn conditional(&mut self, e: &syn::ExprIf, to: Option<Var>) {
        if let Expr::Let(l) = &*e.cond {
            let whole = self.value(&l.expr);
            let whole = self.temporary(whole, l.span());
            let (test, (cond, (yes, ()))) = self.inside(|this| {
                let cond = this.test(&l.pat, whole);
                let yes = this.inside(|this| {
                    this.bind(&l.pat, whole);
                    this.block(&e.then_branch, to);
                });
                (cond, yes)
            });
            test.into_iter().for_each(|s| self.push(s));
            let no = self.otherwise(e, to);
            return self.push(Stmt::If(cond.unwrap_or_else(always), yes, no));
        }
        let cond = self.value(&e.cond);
        let (yes, ()) = self.inside(|this| this.block(&e.then_branch, to));
        let no = self.otherwise(e, to);
        self.push(Stmt::If(cond, yes, no));
    }

    fn otherwise(&mut self, e: &syn::ExprIf, to: Option<Var>) -> Vec<Stmt> {
        match &e.else_branch {
            Some((_, no)) => self.inside(|this| this.assign_to(no, to)).0,
            None => Vec::new(),
        }
    }

    /// `match`: a chain of conditionals, of which the last arm needs no test.
    pub fn matching(&mut self, e: &Expr, arms: &[syn::Arm], to: Option<Var>) {
        let whole = self.value(e);
        let whole = self.temporary(whole, e.span());
        self.arms(arms, whole, to);
    }

    fn arms(&mut self, arms: &[syn::Arm], whole: Var, to: Option<Var>) {
        let Some((arm, rest)) = arms.split_first() else { return };
        let cond = if rest.is_empty() && arm.guard.is_none() { None } else { self.test(&arm.pat, whole) };
        let Some((_, guard)) = &arm.guard else {
            let (yes, ()) = self.inside(|this| {
                this.bind(&arm.pat, whole);
                this.assign_to(&arm.body, to);
            });
            return match cond {
                None => yes.into_iter().for_each(|s| self.push(s)),
                Some(cond) => {
                    let (no, ()) = self.inside(|this| this.arms(rest, whole, to));
                    self.push(Stmt::If(cond, yes, no));
                }
            };
        };
        // The guard is evaluated where the pattern holds, with its variables.
        let taken = self.temporary(Code::constant(quote! { __k::lit(false) }), guard.span());
        let (test, ()) = self.inside(|this| {
            this.bind(&arm.pat, whole);
            let holds = this.value(guard);
            this.push(Stmt::Set(taken, holds));
        });
        self.push(Stmt::If(cond.unwrap_or_else(always), test, Vec::new()));
        let (yes, ()) = self.inside(|this| {
            this.bind(&arm.pat, whole);
            this.assign_to(&arm.body, to);
        });
        let (no, ()) = self.inside(|this| this.arms(rest, whole, to));
        let taken = self.read(taken);
        self.push(Stmt::If(taken, yes, no));
    }
}
