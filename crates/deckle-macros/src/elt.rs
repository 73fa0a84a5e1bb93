//! The code that `#[derive(Elt)]` writes.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Result, Type};

/// A field: its name in Rust, its name in the language, its type, and its place.
struct Field<'a> {
    ident: &'a Ident,
    name: String,
    ty: &'a Type,
    at: Literal,
}

/// What the derive adds to a struct.
pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let fields = fields(input)?;
    let elt = elt_impl(&input.ident, &fields);
    let handles = handle_impls(&input.ident);
    let access = access(input, &fields);
    Ok(quote! { #elt #handles #access })
}

fn fields(input: &DeriveInput) -> Result<Vec<Field<'_>>> {
    let data = match &input.data {
        Data::Struct(data) => data,
        Data::Enum(e) => {
            let message = "an enum is not an element: elements have one layout; use a struct with a tag, or a number";
            return Err(Error::new(e.enum_token.span, message));
        }
        Data::Union(u) => return Err(Error::new(u.union_token.span, "a union is not an element: use a struct")),
    };
    if !input.generics.params.is_empty() {
        let message = "a generic struct is not an element: an element is one type of the language; give the struct concrete fields";
        return Err(Error::new(input.generics.span(), message));
    }
    let named = match &data.fields {
        Fields::Named(named) if !named.named.is_empty() => named,
        Fields::Unnamed(fields) => {
            let message = "the fields of an element need names: name them, or use a tuple, which is an element already";
            return Err(Error::new(fields.span(), message));
        }
        _ => return Err(Error::new(input.ident.span(), "an element has at least one field")),
    };
    let mut fields = Vec::new();
    for (k, f) in named.named.iter().enumerate() {
        let Some(ident) = &f.ident else { continue };
        fields.push(Field { ident, name: ident.unraw().to_string(), ty: &f.ty, at: Literal::usize_unsuffixed(k) });
    }
    Ok(fields)
}

fn elt_impl(name: &Ident, fields: &[Field<'_>]) -> TokenStream {
    let text = name.unraw().to_string();
    let idents: Vec<_> = fields.iter().map(|f| f.ident).collect();
    let names: Vec<_> = fields.iter().map(|f| &f.name).collect();
    let types: Vec<_> = fields.iter().map(|f| f.ty).collect();
    let at: Vec<_> = fields.iter().map(|f| &f.at).collect();
    // Pairs in pairs: `(A, (B, (C, ())))` has any number of components, and a default.
    let column = |ty: &Type| quote! { <#ty as ::deckle::Elt>::Columns };
    let nested =
        |parts: Vec<TokenStream>| parts.into_iter().rev().fold(quote! { () }, |rest, part| quote! { (#part, #rest) });
    let each: Vec<_> = types.iter().map(|ty| column(ty)).collect();
    let columns = nested(each.clone());
    let places_in = |all: TokenStream| {
        let place = |k: usize| (0..k).fold(all.clone(), |all, _| quote! { #all.1 });
        (0..fields.len()).map(place).collect::<Vec<_>>()
    };
    let (places, slot_places) = (places_in(quote! { self }), places_in(quote! { slots }));
    // Fields have any names.
    let readers: Vec<_> = (0..fields.len()).map(|k| format_ident!("read_{k}", span = Span::mixed_site())).collect();
    let of: Vec<_> =
        each.iter().zip(&types).map(|(c, ty)| quote! { <#c as ::deckle::__private::Columns<#ty>> }).collect();
    let zeros = nested(of.iter().map(|c| quote! { #c::zeros(n) }).collect());
    let slots = nested(of.iter().map(|c| quote! { #c::Slots<'a> }).collect());
    let all_slots = nested(of.iter().zip(&places).map(|(c, at)| quote! { #c::slots(&mut #at.0) }).collect());
    let firsts = nested(readers.iter().map(|r| quote! { #r.0 }).collect());
    let seconds = nested(readers.iter().map(|r| quote! { #r.1 }).collect());
    quote! {
        #[automatically_derived]
        impl ::deckle::__private::Columns<#name> for #columns {
            fn extend_with<S>(&mut self, items: &[S], get: impl ::std::ops::Fn(&S) -> #name + ::std::marker::Copy) {
                #(::deckle::__private::Columns::<#types>::extend_with(&mut #places.0, items, move |x| get(x).#idents);)*
            }
            fn reserve(&mut self, more: usize) {
                #(::deckle::__private::Columns::<#types>::reserve(&mut #places.0, more);)*
            }
            fn zeros(n: usize) -> Self {
                #zeros
            }
            type Slots<'a> = #slots;
            fn slots(&mut self) -> Self::Slots<'_> {
                #all_slots
            }
            fn split<'a>(slots: Self::Slots<'a>, at: usize) -> (Self::Slots<'a>, Self::Slots<'a>) {
                #(let #readers = #of::split(#slot_places.0, at);)*
                (#firsts, #seconds)
            }
            fn fill<S>(
                slots: Self::Slots<'_>,
                items: &[S],
                get: impl ::std::ops::Fn(&S) -> #name + ::std::marker::Copy,
            ) {
                #(#of::fill(#slot_places.0, items, move |x| get(x).#idents);)*
            }
            fn into_data(
                self,
                pool: ::deckle::__private::Counts<'_>,
            ) -> ::std::result::Result<::deckle::__private::Data, ::deckle::__private::OverBudget> {
                ::std::result::Result::Ok(::deckle::__private::tuples(::std::vec![
                    #(::deckle::__private::Columns::<#types>::into_data(#places.0, pool)?),*
                ]))
            }
            fn reader(
                data: &::deckle::__private::Data,
            ) -> ::std::option::Option<impl ::std::ops::Fn(usize) -> #name> {
                #(let #readers = #of::reader(data.component(#at)?)?;)*
                ::std::option::Option::Some(move |at: usize| #name { #(#idents: #readers(at)),* })
            }
        }

        #[automatically_derived]
        impl ::deckle::Elt for #name {
            type Columns = #columns;
            fn ty() -> ::deckle::__private::Type {
                ::deckle::__private::record_type(#text, &[#((#names, <#types as ::deckle::Elt>::ty())),*])
            }
            fn to_value(self) -> ::deckle::__private::Value {
                ::deckle::__private::Value::tuple(::std::vec![#(::deckle::Elt::to_value(self.#idents)),*])
            }
            fn from_value(value: &::deckle::__private::Value) -> ::std::option::Option<Self> {
                let parts = value.parts()?;
                ::std::option::Option::Some(#name {
                    #(#idents: <#types as ::deckle::Elt>::from_value(parts.get(#at)?)?,)*
                })
            }
            fn lift(self) -> ::deckle::Exp<Self> {
                ::deckle::__private::record(#text, &[
                    #((#names, ::deckle::__private::ErasedExp::from(::deckle::Elt::lift(self.#idents)))),*
                ])
            }
        }
    }
}

fn handle_impls(name: &Ident) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl ::deckle::IntoExp<#name> for #name {
            fn into_exp(self) -> ::deckle::Exp<#name> {
                ::deckle::Elt::lift(self)
            }
        }
        #[automatically_derived]
        impl ::deckle::IntoHandle for #name {
            type Handle = ::deckle::Exp<#name>;
            fn into_handle(self) -> ::deckle::Exp<#name> {
                ::deckle::Elt::lift(self)
            }
        }
        #[automatically_derived]
        impl ::deckle::IntoBundle for #name {
            type Bundle = ::deckle::Exp<#name>;
            fn into_bundle(self) -> ::deckle::Exp<#name> {
                ::deckle::Elt::lift(self)
            }
        }
    }
}

/// `Body::exp` and the trait `BodyExp`.
fn access(input: &DeriveInput, fields: &[Field<'_>]) -> TokenStream {
    let (name, vis) = (&input.ident, &input.vis);
    let text = name.unraw().to_string();
    let fields_of = format_ident!("{}Exp", name.unraw(), span = name.span());
    let idents: Vec<_> = fields.iter().map(|f| f.ident).collect();
    let names: Vec<_> = fields.iter().map(|f| &f.name).collect();
    let types: Vec<_> = fields.iter().map(|f| f.ty).collect();
    let at: Vec<_> = fields.iter().map(|f| &f.at).collect();
    let docs: Vec<_> = names.iter().map(|n| format!("The field `{n}`.")).collect();
    let of_trait = format!("The fields of an expression of [`{text}`].");
    let of_exp = format!("An expression of `{text}`, put together from its fields.");
    quote! {
        #[automatically_derived]
        #[allow(private_interfaces, private_bounds)]
        impl #name {
            #[doc = #of_exp]
            #[allow(clippy::too_many_arguments, dead_code)]
            #[track_caller]
            #vis fn exp(#(#idents: impl ::deckle::IntoExp<#types>),*) -> ::deckle::Exp<#name> {
                ::deckle::__private::record(#text, &[
                    #((#names, ::deckle::__private::ErasedExp::from(::deckle::IntoExp::<#types>::into_exp(#idents)))),*
                ])
            }
        }

        #[doc = #of_trait]
        #[allow(private_interfaces, dead_code)]
        #vis trait #fields_of {
            #(#[doc = #docs] #[track_caller] fn #idents(self) -> ::deckle::Exp<#types>;)*
        }

        #[automatically_derived]
        #[allow(private_interfaces)]
        impl #fields_of for ::deckle::Exp<#name> {
            #(#[track_caller] fn #idents(self) -> ::deckle::Exp<#types> { self.component(#at) })*
        }
    }
}
