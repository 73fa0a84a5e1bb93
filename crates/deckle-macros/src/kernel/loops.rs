//! `for`: over the values of a range, or the elements of a slice or array.
//!
//! ```text
//! for (i, x) in xs.iter().enumerate() { .. }      for i in 0..xs.len() { let x = xs[i]; .. }
//! ```

use super::expr::plain;
use super::ir::{Code, For, Stmt, Var, always_exits};
use super::lower::Lower;
use super::refuse;
use proc_macro2::Span;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Pat};

/// What a `for` iterates over.
enum Over {
    Range(Code),
    /// The elements of something that can be indexed, with their positions.
    Elements {
        steps: Code,
        of: Of,
        with_position: bool,
    },
}

/// What has elements: a variable, or a constant.
enum Of {
    Variable(Var),
    Constant(syn::ExprPath),
}

impl Lower<'_> {
    pub fn for_loop(&mut self, e: &syn::ExprForLoop) {
        let Some(over) = self.over(&e.expr) else { return };
        let (Over::Range(steps) | Over::Elements { steps, .. }) = &over;
        let steps = self.temporary(steps.clone(), e.expr.span());
        let var = self.names.fresh("i", e.pat.span());
        let (cx, mut body) = self.looping(e.label.as_ref(), None, |this| {
            this.bind_item(&over, &e.pat, var, e.expr.span());
            this.block(&e.body, None);
        });
        let steps = self.read(steps);
        if !cx.leaves && !always_exits(&body) {
            return self.push(Stmt::For(For { flags: cx.flags, steps, var, body }));
        }
        let round = self.names.fresh("round", Span::call_site());
        self.push(Stmt::Let(round, None, Some(Code::constant(quote! { __k::lit(0i64) }))));
        let round_now = self.read(round);
        let span = e.for_token.span;
        let value = Code::of(quote_spanned! { span => #steps.at(#round_now) }, [&steps, &round_now]);
        let test = Code::of(quote_spanned! { span => #steps.has(#round_now) }, [&steps, &round_now]);
        let next = Code::of(quote! { __k::add(#round_now, __k::lit(1i64)) }, [&round_now]);
        body.insert(0, Stmt::Let(var, None, Some(value)));
        self.add_loop(&cx, (Vec::new(), Some(test)), body, vec![Stmt::Set(round, next)]);
    }

    /// Binds the pattern of a loop to the item at a position, or to the value of a range.
    fn bind_item(&mut self, over: &Over, pat: &Pat, var: Var, span: Span) {
        let Over::Elements { of, with_position, .. } = over else { return self.bind(pat, var) };
        let at = self.read(var);
        let item = match of {
            Of::Variable(of) => {
                let of = self.read(*of);
                Code::of(quote_spanned! { span => __k::at(#of, #at) }, [&of, &at])
            }
            Of::Constant(path) => Code::of(quote_spanned! { span => __k::in_table(&#path, #at) }, [&at]),
        };
        let item = self.temporary(item, span);
        match pat {
            Pat::Tuple(t) if *with_position && t.elems.len() == 2 => {
                self.bind(&t.elems[0], var);
                self.bind(&t.elems[1], item);
            }
            pat if *with_position => {
                self.refuse(pat.span(), refuse::FOR_PATTERN);
            }
            pat => self.bind(pat, item),
        }
    }

    fn over(&mut self, e: &Expr) -> Option<Over> {
        match plain(e) {
            Expr::Range(_) => self.steps(e).map(Over::Range),
            Expr::MethodCall(m) if m.method == "rev" || m.method == "step_by" => self.steps(e).map(Over::Range),
            Expr::MethodCall(m) if m.method == "enumerate" && m.args.is_empty() => match plain(&m.receiver) {
                Expr::MethodCall(m) if m.method == "iter" && m.args.is_empty() => {
                    Some(self.over_elements(&m.receiver, true))
                }
                other => {
                    self.refuse(other.span(), refuse::ITERATOR);
                    None
                }
            },
            Expr::MethodCall(m) if m.method == "iter" && m.args.is_empty() => {
                Some(self.over_elements(&m.receiver, false))
            }
            Expr::MethodCall(m) => {
                self.refuse(m.method.span(), refuse::ITERATOR);
                None
            }
            other => Some(self.over_elements(other, false)),
        }
    }

    fn over_elements(&mut self, e: &Expr, with_position: bool) -> Over {
        let span = e.span();
        if let Some(path) = self.constant(e) {
            let steps = quote_spanned! { span => __k::range(__k::lit(0usize), __k::lit(#path.len())) };
            return Over::Elements { steps: Code::constant(steps), of: Of::Constant(path.clone()), with_position };
        }
        let value = self.value(e);
        let of = self.temporary(value, span);
        let value = self.read(of);
        let steps = quote_spanned! { span => __k::range(__k::lit(0usize), __k::len(#value)) };
        Over::Elements { steps: Code::of(steps, [&value]), of: Of::Variable(of), with_position }
    }

    /// The values of a range: `a..b`, `.rev()` and `.step_by(n)` of it.
    fn steps(&mut self, e: &Expr) -> Option<Code> {
        match plain(e) {
            Expr::Range(r) => {
                let (Some(from), Some(to)) = (&r.start, &r.end) else {
                    self.refuse(r.span(), refuse::OPEN_RANGE);
                    return None;
                };
                let ends = self.operands(&[from, to]);
                let make = match r.limits {
                    syn::RangeLimits::HalfOpen(_) => quote! { range },
                    syn::RangeLimits::Closed(_) => quote! { range_inclusive },
                };
                let (a, b) = (&ends[0], &ends[1]);
                Some(Code::of(quote_spanned! { r.span() => __k::#make(#a, #b) }, &ends))
            }
            Expr::MethodCall(m) if m.method == "rev" && m.args.is_empty() => {
                let steps = self.steps(&m.receiver)?;
                Some(Code::of(quote_spanned! { m.method.span() => #steps.rev() }, [&steps]))
            }
            Expr::MethodCall(m) if m.method == "step_by" && m.args.len() == 1 => {
                let steps = self.steps(&m.receiver)?;
                let n = self.value(&m.args[0]);
                Some(Code::of(quote_spanned! { m.method.span() => #steps.step_by(#n) }, [&steps, &n]))
            }
            other => {
                self.refuse(other.span(), refuse::ITERATOR);
                None
            }
        }
    }
}
