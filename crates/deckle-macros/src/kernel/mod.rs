//! `#[kernel]`: from an ordinary function to its twin, a function of the language.
//!
//! The function stays as it is. Beside it there is a type of its name, which has no values, with the twin as an associated function: `f::kernel`. A type and a function may
//! have one name, and an import of one imports the other, so kernels find each other by the paths that the user writes.
//!
//! ```text
//! fn f(x: f32) -> f32 { x * x }
//!
//! struct f {}
//! impl f { fn kernel(x: impl IntoExp<f32>) -> Exp<f32> { Self::__kernel(x.into_exp()) }
//!          fn __kernel(x: Exp<f32>) -> Exp<f32> { mul(x, x) } }
//! ```
//!
//! `lower.rs`, `choices.rs`, `loops.rs`, `expr.rs`, `calls.rs`, `places.rs` and `pattern.rs` translate syntax to the IR (`ir.rs`), `exits.rs` removes early exits, `emit.rs` writes the twin. `types.rs` checks
//! types, and `refuse.rs` has the words for what cannot be translated.

mod calls;
mod choices;
mod emit;
mod exits;
mod expr;
mod ir;
mod loops;
mod lower;
mod pattern;
mod places;
mod refuse;
mod types;

use ir::Stmt;
use lower::Lower;
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericParam, Item, ItemFn, Pat, ReturnType};

/// The function and its twin, or the function and what is wrong with it.
pub fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Fn(function)) => function,
        Ok(other) => {
            let message = "`#[kernel]` is for a function: put it above a free `fn`";
            let error = Error::new(other.span(), message).to_compile_error();
            return quote! { #error #item };
        }
        Err(e) => {
            let error = e.to_compile_error();
            return quote! { #error #item };
        }
    };
    let mut errors = Vec::new();
    if !arguments.is_empty() {
        errors.push(Error::new(arguments.span(), "`#[kernel]` has no arguments"));
    }
    let twin = twin(&function, &mut errors);
    match errors.into_iter().reduce(|mut all, e| {
        all.combine(e);
        all
    }) {
        None => quote! { #[allow(dead_code)] #function #twin },
        Some(all) => {
            let all = all.to_compile_error();
            quote! { #[allow(dead_code)] #function #all }
        }
    }
}

/// A parameter of the twin: its name, its type for users, its exact type, and how it is converted.
struct Param {
    ident: syn::Ident,
    open: TokenStream,
    exact: TokenStream,
    convert: TokenStream,
}

fn twin(function: &ItemFn, errors: &mut Vec<Error>) -> TokenStream {
    let sig = &function.sig;
    check_signature(function, errors);
    let mut lower = Lower::new(&sig.ident);
    let mut params = Vec::new();
    for (k, input) in sig.inputs.iter().enumerate() {
        match input {
            FnArg::Receiver(r) => {
                errors.push(Error::new(
                    r.span(),
                    "a method is not a kernel: make it a free function, with the value as a parameter",
                ));
            }
            FnArg::Typed(p) => params.push(param(k, p, &mut lower, errors)),
        }
    }
    let result = match &sig.output {
        ReturnType::Type(_, ty) => {
            let ty = types::host(ty, errors);
            quote! { ::deckle::Exp<#ty> }
        }
        ReturnType::Default => {
            errors.push(Error::new(sig.ident.span(), refuse::NO_RESULT));
            quote! { ::deckle::Exp<f32> }
        }
    };
    lower.push(Stmt::Let(lower.result, Some(result.clone()), None));
    lower.push(Stmt::Let(lower.returned, None, Some(ir::Code::constant(quote! { __k::lit(false) }))));
    lower.block(&function.block, Some(lower.result));
    let stmts = lower.finish();
    errors.append(&mut lower.errors);
    let stmts = exits::remove(stmts, exits::Level::Function { returned: lower.returned }, &lower.names);
    // Most functions need no flag for early returns.
    let is_read = emit::is_read(lower.returned, &stmts);
    let stmts: Vec<Stmt> =
        stmts.into_iter().filter(|s| is_read || !matches!(s, Stmt::Let(var, ..) if *var == lower.returned)).collect();
    let body = emit::emit(&stmts, &BTreeSet::from([lower.result]), &lower.names);
    assemble(function, &params, &result, &body, lower.names.ident(lower.result))
}

fn check_signature(function: &ItemFn, errors: &mut Vec<Error>) {
    let sig = &function.sig;
    let mut refuse = |span, why: &str| errors.push(Error::new(span, why));
    if let Some(t) = &sig.asyncness {
        refuse(t.span, "an `async` function is not a kernel: it does not wait; remove `async`");
    }
    if let Some(t) = &sig.unsafety {
        refuse(
            t.span,
            "an `unsafe` function is not a kernel: it runs where the memory of this process is out of reach; use indices, which are checked",
        );
    }
    if let Some(t) = &sig.abi {
        refuse(t.span(), "a function with another calling convention is not a kernel: remove `extern`");
    }
    if let Some(t) = &sig.variadic {
        refuse(t.span(), "a kernel has a known number of parameters");
    }
    for param in &sig.generics.params {
        if let GenericParam::Lifetime(l) = param {
            refuse(
                l.span(),
                "a kernel has no lifetimes: values are copied, and references are not returned; write `&[T]`",
            );
        }
    }
}

fn param(k: usize, p: &syn::PatType, lower: &mut Lower<'_>, errors: &mut Vec<Error>) -> Param {
    let handle = types::handle(&p.ty, errors);
    let span = p.ty.span();
    // The language writes positions as `i64`, so these are accepted for `usize` and `isize`.
    let is_position = |ty: &TokenStream| ["usize", "isize"].contains(&ty.to_string().as_str());
    let slice = quote! { ::deckle::twin::Slice };
    let (open, convert, exact) = match types::slice(&p.ty) {
        Some(elem) => {
            let elem = types::host(elem, &mut Vec::new());
            let open = if is_position(&elem) {
                quote! { impl #slice<#elem> }
            } else {
                handle.clone()
            };
            (open, quote! {}, quote! { impl #slice<#elem> })
        }
        None => {
            let ty = types::host(&p.ty, &mut Vec::new());
            match is_position(&ty) {
                true => (quote! { impl ::deckle::twin::Position<#ty> }, quote! { .position() }, handle.clone()),
                false => {
                    (quote_spanned! { span => impl ::deckle::IntoExp<#ty> }, quote! { .into_exp() }, handle.clone())
                }
            }
        }
    };
    let name = match &*p.pat {
        Pat::Ident(name) if name.subpat.is_none() => name.ident.clone(),
        _ => format_ident!("__p{k}"),
    };
    // The parameter is a variable like any other: it may be assigned, or taken apart.
    let var = lower.declare(&name);
    let value = match types::slice(&p.ty) {
        None => quote! { #name },
        Some(_) => quote! { #slice::slice(#name) },
    };
    lower.push(Stmt::Let(var, Some(handle), Some(ir::Code::of(value, []))));
    if !matches!(&*p.pat, Pat::Ident(name) if name.subpat.is_none()) {
        lower.bind(&p.pat, var);
    }
    Param { ident: name, open, exact, convert }
}

fn assemble(
    function: &ItemFn,
    params: &[Param],
    result: &TokenStream,
    body: &TokenStream,
    value: &syn::Ident,
) -> TokenStream {
    let (name, vis, generics) = (&function.sig.ident, &function.vis, &function.sig.generics);
    let mut bounded = generics.clone();
    for p in bounded.type_params_mut() {
        p.bounds.push(syn::parse_quote! { ::deckle::Elt });
    }
    let (generic, _, condition) = bounded.split_for_impl();
    let cfgs: Vec<_> = function.attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    let idents: Vec<_> = params.iter().map(|p| &p.ident).collect();
    let open = params.iter().map(|p| &p.open);
    let convert = params.iter().map(|p| &p.convert);
    let exact = params.iter().map(|p| &p.exact);
    let about = format!("The twin of [`{name}()`] in the language, `{name}::kernel`, for operators on arrays.");
    quote! {
        #(#cfgs)*
        #[doc = #about]
        #[allow(non_camel_case_types, dead_code)]
        #vis struct #name {}

        #(#cfgs)*
        #[automatically_derived]
        #[allow(warnings, clippy::all)]
        impl #name {
            /// The function in the language.
            #vis fn kernel #generic (#(#idents: #open),*) -> #result #condition {
                #[allow(unused_imports)]
                use ::deckle::twin::Position as _;
                use ::deckle::IntoExp as _;
                Self::__kernel(#(#idents #convert),*)
            }

            #[doc(hidden)]
            #vis fn __kernel #generic (#(#idents: #exact),*) -> #result #condition {
                use ::deckle::twin as __k;
                #body
                #value
            }
        }
    }
}
