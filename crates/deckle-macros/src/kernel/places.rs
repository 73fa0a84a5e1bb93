//! Assignments: to variables, their fields and their elements.
//!
//! Values do not change, so an assignment to a part makes a new whole.
//!
//! ```text
//! p.x[i] += 1.0      p = with_field(p, "x", with_element(p.x, i, add(p.x[i], lit(1.0))))
//! ```

use super::expr::plain;
use super::ir::{Code, Stmt, Var};
use super::lower::Lower;
use super::pattern::member;
use super::refuse;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Expr};

/// The function of a compound assignment.
pub fn compound(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::AddAssign(_) => "add",
        BinOp::SubAssign(_) => "sub",
        BinOp::MulAssign(_) => "mul",
        BinOp::DivAssign(_) => "div",
        BinOp::RemAssign(_) => "rem",
        BinOp::BitXorAssign(_) => "bitxor",
        BinOp::BitAndAssign(_) => "bitand",
        BinOp::BitOrAssign(_) => "bitor",
        BinOp::ShlAssign(_) => "shl",
        BinOp::ShrAssign(_) => "shr",
        _ => return None,
    })
}

/// What can be assigned: a variable, or a part of one.
struct Place {
    var: Var,
    path: Vec<Step>,
}

enum Step {
    Field(TokenStream, String, Span),
    Element(Code, Span),
}

impl Lower<'_> {
    /// `place = value`
    pub fn assignment(&mut self, left: &Expr, right: &Expr) {
        match plain(left) {
            Expr::Tuple(t) => self.destructure(&t.elems, right, false),
            Expr::Array(a) => self.destructure(&a.elems, right, true),
            Expr::Infer(_) => {
                let value = self.value(right);
                self.push(Stmt::Do(value));
            }
            left => {
                // Rust evaluates the value before the indices of the place.
                let value = self.value(right);
                let Some(place) = self.place(left) else { return };
                self.store(&place, value);
            }
        }
    }

    fn destructure(&mut self, elems: &syn::punctuated::Punctuated<Expr, syn::Token![,]>, right: &Expr, of_array: bool) {
        let whole = self.value(right);
        let whole = self.temporary(whole, right.span());
        for (k, left) in elems.iter().enumerate() {
            if matches!(left, Expr::Infer(_)) {
                continue;
            }
            let (at, name) = (syn::Index::from(k), k.to_string());
            let member = if of_array {
                quote! { [#at] }
            } else {
                quote! { .#at }
            };
            let from = self.read(whole);
            let part = Code::of(quote_spanned! { left.span() => __k::field(#from, #name, |__s| __s #member) }, [&from]);
            let Some(place) = self.place(left) else { continue };
            self.store(&place, part);
        }
    }

    /// `place += value`
    pub fn compound(&mut self, b: &syn::ExprBinary) {
        let Some(name) = compound(&b.op) else { return };
        let value = self.value(&b.right);
        let mark = self.mark();
        let Some(place) = self.place(&b.left) else { return };
        if place.path.is_empty() {
            let f = format_ident!("{name}", span = b.op.span());
            return self.push(Stmt::Update(place.var, f, value));
        }
        // The value is computed before the indices of the place, and read with them.
        let kept = self.names.fresh("t", b.right.span());
        self.insert(mark, Stmt::Let(kept, None, Some(value)));
        let value = self.read(kept);
        let now = self.load(&place, place.path.len());
        let name = format_ident!("{name}");
        let next = Code::of(quote_spanned! { b.op.span() => __k::#name(#now, #value) }, [&now, &value]);
        self.store(&place, next);
    }

    /// A value that is read more than once.
    fn kept(&mut self, value: Code, span: Span) -> Code {
        if value.is_constant {
            return value;
        }
        let var = self.temporary(value, span);
        self.read(var)
    }

    fn place(&mut self, e: &Expr) -> Option<Place> {
        match plain(e) {
            Expr::Path(p) => match p.path.get_ident().and_then(|name| self.lookup(name)) {
                Some(var) => Some(Place { var, path: Vec::new() }),
                None => {
                    self.refuse(p.span(), refuse::STATIC);
                    None
                }
            },
            Expr::Field(f) => {
                let mut place = self.place(&f.base)?;
                let (member, name) = member(&f.member);
                place.path.push(Step::Field(member, name, f.span()));
                Some(place)
            }
            Expr::Index(i) => {
                let mut place = self.place(&i.expr)?;
                let at = self.value(&i.index);
                let at = self.kept(at, i.index.span());
                place.path.push(Step::Element(at, i.span()));
                Some(place)
            }
            other => {
                self.refuse(other.span(), refuse::PLACE);
                None
            }
        }
    }

    /// The value of the first steps of a place.
    fn load(&self, place: &Place, steps: usize) -> Code {
        let mut value = self.read(place.var);
        for step in &place.path[..steps] {
            value = match step {
                Step::Field(member, name, span) => {
                    Code::of(quote_spanned! { *span => __k::field(#value, #name, |__s| __s #member) }, [&value])
                }
                Step::Element(i, span) => Code::of(quote_spanned! { *span => __k::at(#value, #i) }, [&value, i]),
            };
        }
        value
    }

    fn store(&mut self, place: &Place, value: Code) {
        let mut value = value;
        for k in (0..place.path.len()).rev() {
            let whole = self.load(place, k);
            value = match &place.path[k] {
                Step::Field(member, name, span) => Code::of(
                    quote_spanned! { *span => __k::with_field(#whole, #name, |__s| __s #member, #value) },
                    [&whole, &value],
                ),
                Step::Element(i, span) => {
                    Code::of(quote_spanned! { *span => __k::with_element(#whole, #i, #value) }, [&whole, i, &value])
                }
            };
        }
        self.push(Stmt::Set(place.var, value));
    }
}
