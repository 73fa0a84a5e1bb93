//! Calls: methods of numbers, other kernels, and functions of the standard library that are methods of numbers.

use super::expr::plain;
use super::ir::Code;
use super::lower::Lower;
use super::{refuse, types};
use quote::{format_ident, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Expr, Pat, Token};

/// The methods of numbers that the language has, by the number of their arguments. Each is a function of `deckle::twin`.
pub const METHODS: [&[&str]; 3] = [
    &[
        "sqrt",
        "cbrt",
        "exp",
        "exp2",
        "exp_m1",
        "ln",
        "log2",
        "log10",
        "ln_1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "floor",
        "ceil",
        "round",
        "trunc",
        "fract",
        "recip",
        "sin_cos",
        "to_degrees",
        "to_radians",
        "is_nan",
        "is_infinite",
        "is_finite",
        "is_sign_negative",
        "is_sign_positive",
        "abs",
        "signum",
        "is_negative",
        "is_positive",
        "count_ones",
        "count_zeros",
        "leading_zeros",
        "leading_ones",
        "trailing_zeros",
        "trailing_ones",
        "is_power_of_two",
        "wrapping_neg",
        "wrapping_abs",
        "unsigned_abs",
        "len",
        "is_empty",
        "clone",
    ],
    &[
        "min",
        "max",
        "powf",
        "powi",
        "pow",
        "log",
        "atan2",
        "hypot",
        "copysign",
        "rem_euclid",
        "div_euclid",
        "wrapping_add",
        "wrapping_sub",
        "wrapping_mul",
        "wrapping_div",
        "wrapping_rem",
        "wrapping_shl",
        "wrapping_shr",
        "saturating_add",
        "saturating_sub",
        "abs_diff",
        "rotate_left",
        "rotate_right",
        "is_multiple_of",
    ],
    &["mul_add", "clamp"],
];

fn is_method(name: &str, args: usize) -> bool {
    METHODS.get(args).is_some_and(|names| names.contains(&name))
}

impl Lower<'_> {
    pub fn method(&mut self, m: &syn::ExprMethodCall) -> Code {
        let name = m.method.to_string();
        if !is_method(&name, m.args.len()) {
            return self.refuse(m.method.span(), refuse::method(&name));
        }
        let exprs: Vec<&Expr> = std::iter::once(&*m.receiver).chain(&m.args).collect();
        let parts = self.operands(&exprs);
        let f = format_ident!("{name}", span = m.method.span());
        Code::of(quote_spanned! { m.method.span() => __k::#f(#(#parts),*) }, &parts)
    }

    pub fn call(&mut self, c: &syn::ExprCall) -> Code {
        let Expr::Path(p) = plain(&c.func) else {
            return self.refuse(c.func.span(), refuse::CLOSURE);
        };
        let path = &p.path;
        let span = path.span();
        let Some(last) = path.segments.last() else { return self.refuse(span, refuse::CLOSURE) };
        let name = last.ident.to_string();
        if let Some(single) = path.get_ident() {
            if self.lookup(single).is_some() {
                return self.refuse(span, refuse::CLOSURE);
            }
            if single == self.own {
                return self.refuse(span, refuse::RECURSION);
            }
        }
        let owner = path.segments.len().checked_sub(2).map(|k| path.segments[k].ident.to_string());
        let of_standard =
            path.segments.len() > 1 && path.segments.first().is_some_and(|s| types::is_standard(&s.ident));
        let compares = owner.as_deref() == Some("cmp") && (name == "min" || name == "max");
        if let Some(owner) = &owner
            && (types::is_number(owner) || types::is_parameter(owner) || compares)
        {
            let args: Vec<&Expr> = c.args.iter().collect();
            if name == "from" && args.len() == 1 {
                let x = self.value(args[0]);
                let ty = format_ident!("{owner}", span = span);
                return Code::of(quote_spanned! { span => __k::from::<#ty, _>(#x) }, [&x]);
            }
            return match args.len().checked_sub(1).is_some_and(|n| is_method(&name, n)) {
                true => {
                    let parts = self.operands(&args);
                    let f = format_ident!("{name}", span = last.ident.span());
                    Code::of(quote_spanned! { span => __k::#f(#(#parts),*) }, &parts)
                }
                false => self.refuse(last.ident.span(), refuse::method(&name)),
            };
        }
        if let Some(why) = refuse::known_path(path) {
            return self.refuse(span, why);
        }
        if of_standard {
            return self.refuse(span, refuse::STANDARD);
        }
        if name.starts_with(char::is_uppercase) {
            return self.refuse(span, refuse::data(path));
        }
        if owner.is_some_and(|owner| owner.starts_with(char::is_uppercase)) {
            return self.refuse(span, refuse::ASSOCIATED);
        }
        let parts = self.operands(&c.args.iter().collect::<Vec<_>>());
        let generics = last.arguments.clone();
        let mut of = path.clone();
        if let Some(last) = of.segments.last_mut() {
            last.arguments = syn::PathArguments::None;
        }
        Code::of(quote_spanned! { span => <#of>::__kernel #generics (#(#parts),*) }, &parts)
    }

    pub fn macro_call(&mut self, mac: &syn::Macro) -> Code {
        if !mac.path.is_ident("matches") {
            return self.refuse(mac.path.span(), refuse::macro_call(&mac.path));
        }
        match mac.parse_body::<Matches>() {
            Ok(Matches { value, pat, guard }) => {
                let whole = self.value(&value);
                let whole = self.temporary(whole, value.span());
                self.matches(whole, &pat, guard.as_ref())
            }
            Err(e) => self.refuse(e.span(), &e),
        }
    }
}

/// The arguments of `matches!`.
struct Matches {
    value: Expr,
    pat: Pat,
    guard: Option<Expr>,
}

impl Parse for Matches {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let value = input.parse()?;
        input.parse::<Token![,]>()?;
        let pat = Pat::parse_multi_with_leading_vert(input)?;
        let guard = match input.parse::<Option<Token![if]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        input.parse::<Option<Token![,]>>()?;
        Ok(Matches { value, pat, guard })
    }
}
