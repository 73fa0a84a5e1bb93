//! `#[derive(Elt)]` for an enum without data: an element is the number of its variant, a `u8`.
//!
//! ```text
//! enum Side { Left, Right }      Side::Right is 1u8 in the language
//! ```

use crate::elt::handle_impls;
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{DataEnum, DeriveInput, Error, Fields, Result};

/// The items that the derive adds to an enum.
pub fn derive(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new(
            input.generics.span(),
            "a generic enum is not an element: an element is one type of the language",
        ));
    }
    if let Some(v) = data.variants.iter().find(|v| !matches!(v.fields, Fields::Unit)) {
        let message =
            "an enum with data is not an element: elements have one layout; use a struct with a tag, or a tuple";
        return Err(Error::new(v.fields.span(), message));
    }
    if data.variants.is_empty() || data.variants.len() > 256 {
        return Err(Error::new(data.enum_token.span, "an enum of the language has 1 to 256 variants"));
    }
    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|v| &v.ident).collect();
    let numbers: Vec<_> = (0..variants.len()).map(|k| Literal::u8_suffixed(k as u8)).collect();
    let (last, most) = (variants[variants.len() - 1], &numbers[variants.len() - 1]);
    let columns = columns(&quote! { #name });
    let handles = handle_impls(name);
    Ok(quote! {
        #columns
        #handles

        #[automatically_derived]
        impl ::deckle::twin::Variants for #name {
            const LAST: u8 = #most;
            fn number(self) -> u8 {
                match self { #(#name::#variants => #numbers),* }
            }
            #[allow(unreachable_patterns)]
            fn variant(number: u8) -> Self {
                match number { #(#numbers => #name::#variants,)* _ => #name::#last }
            }
        }

        #[automatically_derived]
        impl ::deckle::twin::Castable for #name {
            fn number(x: ::deckle::Exp<Self>) -> ::deckle::twin::ErasedScalar {
                ::deckle::twin::discriminant(x, &[#(#name::#variants as i64),*])
            }
        }

        #[automatically_derived]
        impl ::deckle::Elt for #name {
            type Columns = ::std::vec::Vec<u8>;
            fn ty() -> ::deckle::__private::Type {
                <u8 as ::deckle::Elt>::ty()
            }
            fn to_value(self) -> ::deckle::__private::Value {
                ::deckle::Elt::to_value(::deckle::twin::Variants::number(self))
            }
            fn from_value(value: &::deckle::__private::Value) -> ::std::option::Option<Self> {
                ::deckle::twin::variant_of(<u8 as ::deckle::Elt>::from_value(value)?)
            }
            fn lift(self) -> ::deckle::Exp<Self> {
                ::deckle::twin::variant(self)
            }
        }
    })
}

/// Elements in flat memory: their numbers.
fn columns(name: &TokenStream) -> TokenStream {
    let all = quote! { ::deckle::__private::Columns };
    let of = quote! { <::std::vec::Vec<u8> as #all<u8>> };
    quote! {
        #[automatically_derived]
        impl #all<#name> for ::std::vec::Vec<u8> {
            fn extend_with<S>(&mut self, items: &[S], get: impl ::std::ops::Fn(&S) -> #name + ::std::marker::Copy) {
                #of::extend_with(self, items, move |x| ::deckle::twin::Variants::number(get(x)));
            }
            fn reserve(&mut self, more: usize) {
                #of::reserve(self, more);
            }
            fn zeros(n: usize) -> Self {
                #of::zeros(n)
            }
            type Slots<'a> = #of::Slots<'a>;
            fn slots(&mut self) -> Self::Slots<'_> {
                #of::slots(self)
            }
            fn split<'a>(slots: Self::Slots<'a>, at: usize) -> (Self::Slots<'a>, Self::Slots<'a>) {
                #of::split(slots, at)
            }
            fn fill<S>(
                slots: Self::Slots<'_>,
                items: &[S],
                get: impl ::std::ops::Fn(&S) -> #name + ::std::marker::Copy,
            ) {
                #of::fill(slots, items, move |x| ::deckle::twin::Variants::number(get(x)));
            }
            fn into_data(
                self,
                pool: ::deckle::__private::Counts<'_>,
            ) -> ::std::result::Result<::deckle::__private::Data, ::deckle::__private::OverBudget> {
                #of::into_data(self, pool)
            }
            fn reader(
                data: &::deckle::__private::Data,
            ) -> ::std::option::Option<impl ::std::ops::Fn(usize) -> #name> {
                ::deckle::twin::variants(#of::reader(data)?, data.len())
            }
        }
    }
}
