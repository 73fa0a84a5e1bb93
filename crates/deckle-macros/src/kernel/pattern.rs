//! Patterns: the condition under which one matches, and the variables that it binds.
//!
//! A name that begins with a capital letter is a constant or a variant, any other a variable: Rust's own convention, of which the compiler warns otherwise.
//!
//! ```text
//! (0, n @ 1..=9)      t.0 == 0 && (t.1 >= 1 && t.1 <= 9)      n = t.1
//! ```

use super::ir::{Code, Stmt, Var};
use super::lower::{Lower, always};
use super::refuse;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Member, Pat};

/// Whether a name in a pattern is a constant.
fn is_constant(name: &Ident) -> bool {
    name.unraw().to_string().starts_with(char::is_uppercase)
}

/// The condition that both hold; `None` always holds.
fn both(a: Option<Code>, b: Option<Code>) -> Option<Code> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Code::of(quote! { __k::both(#a, #b) }, [&a, &b])),
        (a, b) => a.or(b),
    }
}

impl Lower<'_> {
    /// The component of a value, in a variable of its own.
    fn component(&mut self, whole: Var, member: &TokenStream, name: &str, span: Span) -> Var {
        let whole = self.read(whole);
        let part = Code::of(quote_spanned! { span => __k::field(#whole, #name, |__s| __s #member) }, [&whole]);
        self.temporary(part, span)
    }

    /// The parts of a value that the parts of a pattern match.
    fn parts<'p>(&mut self, pat: &'p Pat, whole: Var) -> Vec<(&'p Pat, Var)> {
        match pat {
            Pat::Tuple(t) => self.elements(&t.elems, whole, false),
            Pat::Slice(s) => self.elements(&s.elems, whole, true),
            Pat::Struct(s) => {
                let mut parts = Vec::new();
                for f in &s.fields {
                    let (member, name) = member(&f.member);
                    parts.push((&*f.pat, self.component(whole, &member, &name, f.span())));
                }
                parts
            }
            _ => Vec::new(),
        }
    }

    fn elements<'p>(
        &mut self,
        elems: &'p syn::punctuated::Punctuated<Pat, syn::Token![,]>,
        whole: Var,
        of_array: bool,
    ) -> Vec<(&'p Pat, Var)> {
        let mut parts = Vec::new();
        for (k, pat) in elems.iter().enumerate() {
            if let Pat::Rest(rest) = pat {
                // What follows `..` is counted from the end, which the translation does not know.
                if k + 1 != elems.len() {
                    self.refuse(rest.span(), refuse::REST);
                }
                break;
            }
            let at = syn::Index::from(k);
            let member = if of_array {
                quote! { [#at] }
            } else {
                quote! { .#at }
            };
            parts.push((pat, self.component(whole, &member, &k.to_string(), pat.span())));
        }
        parts
    }

    /// The condition under which a pattern matches; `None` if it always does.
    pub fn test(&mut self, pat: &Pat, whole: Var) -> Option<Code> {
        let value = self.read(whole);
        let span = pat.span();
        let equals = |x: TokenStream| Some(Code::of(quote_spanned! { span => __k::is(#value, #x) }, [&value]));
        match pat {
            Pat::Wild(_) | Pat::Rest(_) => None,
            Pat::Ident(p) => match &p.subpat {
                Some((_, pat)) => self.test(pat, whole),
                None if is_constant(&p.ident) => {
                    let name = &p.ident;
                    equals(quote_spanned! { span => __k::lit(#name) })
                }
                None => None,
            },
            Pat::Paren(p) => self.test(&p.pat, whole),
            Pat::Reference(r) => self.test(&r.pat, whole),
            Pat::Type(t) => self.test(&t.pat, whole),
            Pat::Lit(l) => match self.literal(&l.lit, false) {
                code if code.is_constant => equals(code.tokens),
                code => Some(code),
            },
            Pat::Path(p) => {
                let path = &p.path;
                equals(quote_spanned! { span => __k::lit(#path) })
            }
            Pat::Range(r) => {
                let mut at_end = |e: &Option<Box<syn::Expr>>, how: TokenStream| {
                    let end = self.value(e.as_deref()?);
                    Some(Code::of(quote_spanned! { span => __k::#how(#value, #end) }, [&value, &end]))
                };
                let from = at_end(&r.start, quote! { ge });
                let to = match r.limits {
                    syn::RangeLimits::HalfOpen(_) => at_end(&r.end, quote! { lt }),
                    syn::RangeLimits::Closed(_) => at_end(&r.end, quote! { le }),
                };
                both(from, to)
            }
            Pat::Or(or) => {
                let mut any: Option<Code> = None;
                for pat in &or.cases {
                    if let Some(name) = bound(pat) {
                        self.refuse(name.span(), refuse::OR_BINDS);
                    }
                    let one = self.test(pat, whole)?;
                    any = Some(match any {
                        None => one,
                        Some(any) => Code::of(quote! { __k::bitor(#any, #one) }, [&any, &one]),
                    });
                }
                any
            }
            Pat::Tuple(_) | Pat::Slice(_) | Pat::Struct(_) => {
                let parts = self.parts(pat, whole);
                parts.into_iter().fold(None, |all, (pat, part)| {
                    let one = self.test(pat, part);
                    both(all, one)
                })
            }
            Pat::TupleStruct(t) => Some(self.refuse(t.span(), refuse::data(&t.path))),
            other => Some(self.refuse(other.span(), refuse::PATTERN)),
        }
    }

    /// Declares the variables that a pattern binds.
    pub fn bind(&mut self, pat: &Pat, whole: Var) {
        match pat {
            Pat::Ident(p) => {
                if let Some(by_ref) = &p.by_ref {
                    self.refuse(by_ref.span, refuse::BY_REF);
                }
                match &p.subpat {
                    None if is_constant(&p.ident) => return,
                    None => {}
                    Some((_, pat)) => self.bind(pat, whole),
                }
                let value = self.read(whole);
                let var = self.declare(&p.ident);
                self.push(Stmt::Let(var, None, Some(value)));
            }
            Pat::Paren(p) => self.bind(&p.pat, whole),
            Pat::Reference(r) => {
                if let Some(m) = &r.mutability {
                    self.refuse(m.span, refuse::MUTABLE);
                }
                self.bind(&r.pat, whole);
            }
            Pat::Type(t) => self.bind(&t.pat, whole),
            Pat::Tuple(_) | Pat::Slice(_) | Pat::Struct(_) => {
                if bound(pat).is_some() {
                    for (pat, part) in self.parts(pat, whole) {
                        self.bind(pat, part);
                    }
                }
            }
            Pat::Wild(_) | Pat::Rest(_) | Pat::Lit(_) | Pat::Path(_) | Pat::Range(_) | Pat::Or(_) => {}
            Pat::TupleStruct(t) => {
                self.refuse(t.span(), refuse::data(&t.path));
            }
            other => {
                self.refuse(other.span(), refuse::PATTERN);
            }
        }
    }

    /// `matches!(x, pattern if guard)`
    pub fn matches(&mut self, whole: Var, pat: &Pat, guard: Option<&syn::Expr>) -> Code {
        let cond = self.test(pat, whole).unwrap_or_else(always);
        let Some(guard) = guard else { return cond };
        let holds = self.temporary(Code::constant(quote! { __k::lit(false) }), guard.span());
        let (inside, ()) = self.inside(|this| {
            this.bind(pat, whole);
            let value = this.value(guard);
            this.push(Stmt::Set(holds, value));
        });
        self.push(Stmt::If(cond, inside, Vec::new()));
        self.read(holds)
    }
}

/// A field: how Rust accesses it, and its name.
pub fn member(member: &Member) -> (TokenStream, String) {
    match member {
        Member::Named(name) => (quote! { .#name }, name.unraw().to_string()),
        Member::Unnamed(at) => (quote! { .#at }, at.index.to_string()),
    }
}

/// A variable that a pattern binds.
fn bound(pat: &Pat) -> Option<&Ident> {
    match pat {
        Pat::Ident(p) => match &p.subpat {
            None if is_constant(&p.ident) => None,
            _ => Some(&p.ident),
        },
        Pat::Paren(p) => bound(&p.pat),
        Pat::Reference(r) => bound(&r.pat),
        Pat::Type(t) => bound(&t.pat),
        Pat::Tuple(t) => t.elems.iter().find_map(bound),
        Pat::Slice(s) => s.elems.iter().find_map(bound),
        Pat::Struct(s) => s.fields.iter().find_map(|f| bound(&f.pat)),
        Pat::Or(or) => or.cases.iter().find_map(bound),
        _ => None,
    }
}
