//! Types in kernels: what a parameter, result, `let` or cast may have, and the type of its twin.
//!
//! ```text
//! f32             Exp<f32>
//! (f32, &Body)    Exp<(f32, Body)>
//! &[f32]          Arr<f32>, as a parameter
//! ```

use super::refuse;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{Error, Type};

const NUMBERS: [&str; 15] =
    ["f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "bool", "i128", "u128"];

/// Whether a name is that of a number type.
pub fn is_number(name: &str) -> bool {
    NUMBERS.contains(&name)
}

/// Whether a name looks like a type parameter: `T`, or `T1`.
pub fn is_parameter(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.all(|c| c.is_ascii_digit())
}

/// Whether a path begins in the standard library.
pub fn is_standard(name: &Ident) -> bool {
    ["std", "core", "alloc"].iter().any(|s| name == s)
}

/// Whether a type is written as an integer type.
pub fn is_integer(ty: &Type) -> bool {
    matches!(ty, Type::Path(p) if p.path.get_ident().is_some_and(|name| {
        let name = name.to_string();
        is_number(&name) && !name.starts_with('f') && name != "bool"
    }))
}

/// The elements of a slice.
pub fn slice(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Reference(r) if r.mutability.is_none() => match &*r.elem {
            Type::Slice(s) => Some(&s.elem),
            _ => None,
        },
        Type::Paren(p) => slice(&p.elem),
        Type::Group(g) => slice(&g.elem),
        _ => None,
    }
}

/// The type of a value's twin.
pub fn handle(ty: &Type, errors: &mut Vec<Error>) -> TokenStream {
    if let Some(elem) = slice(ty) {
        let elem = host(elem, errors);
        return quote! { ::deckle::Arr<#elem> };
    }
    let ty = host(ty, errors);
    quote! { ::deckle::Exp<#ty> }
}

/// The type without references, which mean nothing for values.
pub fn host(ty: &Type, errors: &mut Vec<Error>) -> TokenStream {
    let mut refuse = |at: proc_macro2::Span, why: &str| {
        errors.push(Error::new(at, why));
        quote! { f32 }
    };
    match ty {
        Type::Path(p) => match p.path.segments.last().and_then(|s| refuse::unsuitable(&s.ident.to_string())) {
            Some(why) => refuse(p.path.span(), &why),
            None => quote! { #ty },
        },
        Type::Reference(r) => match &r.mutability {
            Some(m) => refuse(m.span(), refuse::MUTABLE),
            None => match &*r.elem {
                Type::Slice(s) => refuse(s.span(), refuse::SLICE),
                elem => host(elem, errors),
            },
        },
        Type::Paren(p) => host(&p.elem, errors),
        Type::Group(g) => host(&g.elem, errors),
        Type::Tuple(t) if t.elems.is_empty() => refuse(t.span(), refuse::NO_RESULT),
        Type::Tuple(t) if !(2..=8).contains(&t.elems.len()) => refuse(t.span(), refuse::LONG_TUPLE),
        Type::Tuple(t) => {
            let parts: Vec<_> = t.elems.iter().map(|ty| host(ty, errors)).collect();
            quote! { (#(#parts),*) }
        }
        Type::Array(a) => {
            let (elem, n) = (host(&a.elem, errors), &a.len);
            quote! { [#elem; #n] }
        }
        Type::Infer(_) => quote! { _ },
        Type::BareFn(_) => refuse(ty.span(), refuse::CLOSURE),
        Type::ImplTrait(_) => refuse(ty.span(), refuse::IMPL_TRAIT),
        Type::TraitObject(_) => refuse(ty.span(), refuse::TRAIT_OBJECT),
        Type::Ptr(_) => refuse(ty.span(), refuse::POINTER),
        _ => refuse(ty.span(), refuse::TYPE),
    }
}
