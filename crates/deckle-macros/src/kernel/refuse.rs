//! What a kernel cannot contain: the reason, and what to write instead.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, Path};

pub const ITEM: &str = "an item in a kernel: only `const` and `use` are possible here; move it out of the function";
pub const CFG: &str =
    "a statement under `cfg` would be part of the kernel in any case: put the condition on the function";
pub const PATTERN: &str = "a pattern that a kernel cannot match: use names, literals, ranges, tuples, structs, arrays and variants without data";
pub const NO_RESULT: &str = "a kernel returns a value: it has no effect but its result; return what is computed";
pub const LABEL: &str = "no loop here has this label: in a kernel `break` and `continue` are for loops, not for blocks";
pub const ENDLESS: &str =
    "a `loop` without `break` or `return` never ends, and what never ends cannot run on a GPU: add a condition";
pub const FOR_PATTERN: &str = "the items of `enumerate` are pairs: write `(i, x)`";
pub const OPEN_RANGE: &str = "a range without both ends: a `for` in a kernel has a first and a last value, `a..b`";
pub const ITERATOR: &str = "a `for` in a kernel is over a range, with `.rev()` and `.step_by(n)`, or the elements of a slice or array, with `.iter()` and `.enumerate()`: use `for i in 0..xs.len()` and `xs[i]`";
pub const REST: &str = "`..` in a kernel is at the end of a pattern: write `_` for each component before";
pub const OR_BINDS: &str = "a variable in an or-pattern: use an arm for each alternative";
pub const BY_REF: &str = "`ref` in a kernel: values are copied, so bind the name alone";
pub const MUTABLE: &str =
    "a mutable reference: a kernel changes only its own variables, since points run in any order; return the new value";
pub const CHAR: &str = "a `char` is not an element of the language: use `u8`, `b'a'`, or `u32`";
pub const STRING: &str = "a kernel has no strings: it runs where there is no memory to allocate; use numbers";
pub const ASSIGNMENT_VALUE: &str = "an assignment is not a value: make it a statement of its own";
pub const SLICING: &str = "a part of a slice: pass the whole slice and add the first index, `xs[first + i]`";
pub const STATIC: &str = "a kernel assigns only its own variables: this is none, since points run in any order";
pub const PLACE: &str = "a kernel assigns variables, their fields and their elements only";
pub const CLOSURE: &str = "a kernel calls functions by name: closures and function pointers are not known when it is compiled; use a function with `#[kernel]`";
pub const RECURSION: &str = "a kernel cannot call itself: a GPU has no stack for it; use a loop, with an array `[T; N]` as the stack if necessary";
pub const STANDARD: &str = "a function of the standard library that is no part of kernels: they have the methods of numbers, `std::cmp::min` and `std::cmp::max`";
pub const ASSOCIATED: &str = "an associated function is not a kernel: make it a free function with `#[kernel]`";
pub const SLICE: &str = "a slice is a parameter of its own, `xs: &[f32]`: it cannot be a result, or a part of a tuple or struct; pass an index, or an array `[T; N]`";
pub const LONG_TUPLE: &str = "a tuple of the language has 2 to 8 components: use a struct that derives `Elt`";
pub const IMPL_TRAIT: &str = "`impl Trait`: a kernel needs to know the type; use a type parameter, `T: Float`";
pub const TRAIT_OBJECT: &str = "a trait object: its functions are not known when the kernel is compiled; use a type parameter, or an enum without data and `match`";
pub const POINTER: &str =
    "a raw pointer: a kernel runs where the memory of this process is out of reach; pass a slice `&[T]`";
pub const TYPE: &str = "a type that is not an element of the language: use numbers, `bool`, tuples, arrays `[T; N]`, and structs that derive `Elt`";

/// Why an expression is no part of kernels.
pub fn expression(e: &Expr) -> String {
    let text = match e {
        Expr::Closure(_) => CLOSURE,
        Expr::Async(_) | Expr::Await(_) => "a kernel does not wait: it has no effects, and runs to its end",
        Expr::Unsafe(_) => {
            "`unsafe` in a kernel: it runs where the memory of this process is out of reach; use indices, which are checked"
        }
        Expr::Try(_) => {
            "`?` in a kernel: there is no `Option` and no `Result`; return a flag with the value, `(bool, T)`"
        }
        Expr::Range(_) => "a range is no value in a kernel: only `for` takes one",
        Expr::Let(_) => "`let` in a condition: only `if let` with this one condition is possible; use `match`",
        Expr::Block(_) => "a block with a label: use `loop` and `break`, or `if`",
        Expr::Const(_) => "a `const` block: declare a `const` item",
        Expr::While(_) | Expr::ForLoop(_) => NO_RESULT,
        Expr::Assign(_) => ASSIGNMENT_VALUE,
        Expr::Tuple(t) if t.elems.is_empty() => NO_RESULT,
        Expr::Tuple(_) => LONG_TUPLE,
        Expr::Infer(_) => "`_` is no value",
        _ => {
            "an expression that is no part of kernels: use arithmetic, variables, conditionals, loops and calls of kernels"
        }
    };
    text.into()
}

/// The token at which an expression is refused.
pub fn token(e: &Expr) -> Span {
    match e {
        Expr::Closure(c) => c.or1_token.span,
        Expr::Async(a) => a.async_token.span,
        Expr::Await(a) => a.await_token.span,
        Expr::Unsafe(u) => u.unsafe_token.span,
        Expr::Try(t) => t.question_token.span,
        Expr::Let(l) => l.let_token.span,
        Expr::Const(c) => c.const_token.span,
        e => e.span(),
    }
}

/// Why a variant or tuple struct with data is no part of kernels.
pub fn data(path: &Path) -> String {
    known_path(path).unwrap_or_else(|| {
        let name = path.to_token_stream().to_string().replace(' ', "");
        format!(
            "`{name}(...)` holds data without names: an enum of the language has no data, and a struct has named fields and derives `Elt`"
        )
    })
}

/// Why something from the standard library is no part of kernels.
pub fn known_path(path: &Path) -> Option<String> {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    let one = names.len() == 1;
    match names.last().map(String::as_str) {
        Some("Some" | "None") if one => Some(option()),
        Some("Ok" | "Err") if one => Some(result()),
        Some("drop" | "panic") if one => Some(STANDARD.into()),
        Some("swap" | "replace" | "take") if names.iter().any(|n| n == "mem") => {
            Some("`std::mem` works on mutable references, which a kernel does not have: write `(a, b) = (b, a)`".into())
        }
        _ => names.iter().rev().skip(1).find_map(|n| unsuitable(n)),
    }
}

fn option() -> String {
    "a kernel has no `Option`: an element has one layout; return a flag with the value, `(bool, T)`, or a value that stands for none".into()
}

fn result() -> String {
    "a kernel has no `Result`: return a flag with the value, `(bool, T)`".into()
}

/// Why a type is not an element, if that is known.
pub fn unsuitable(name: &str) -> Option<String> {
    Some(match name {
        "char" => CHAR.into(),
        "String" | "str" | "OsString" | "CString" => STRING.into(),
        "i128" | "u128" => {
            format!("`{name}` is not an element of the language: the widest integers have 64 bits; use two `u64`")
        }
        "f16" | "f128" => format!("`{name}` is not an element of the language: use `f32` or `f64`"),
        "Option" => option(),
        "Result" => result(),
        "Vec" | "VecDeque" | "BinaryHeap" | "LinkedList" => {
            format!("a kernel does not allocate, so it has no `{name}`: take a slice `&[T]`, or use an array `[T; N]`")
        }
        "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" => {
            format!("a kernel does not allocate, so it has no `{name}`: look things up in a sorted slice `&[T]`")
        }
        "Box" | "Rc" | "Arc" | "Cow" => {
            format!("a kernel does not allocate, so it has no `{name}`: use the value itself")
        }
        "Cell" | "RefCell" | "Mutex" | "RwLock" | "OnceLock" => {
            format!("a kernel changes only its own variables, so it has no `{name}`: use `let mut`")
        }
        _ => return None,
    })
}

/// Why a macro is no part of kernels.
pub fn macro_call(path: &Path) -> String {
    let name = path.segments.last().map_or(String::new(), |s| s.ident.to_string());
    match name.as_str() {
        "println" | "print" | "eprintln" | "eprint" | "dbg" | "write" | "writeln" => {
            format!("`{name}!` in a kernel: it has no effect but its result; return what is to be printed")
        }
        "panic" | "todo" | "unimplemented" | "unreachable" | "assert" | "assert_eq" | "assert_ne" | "debug_assert"
        | "debug_assert_eq" | "debug_assert_ne" => {
            format!(
                "`{name}!` in a kernel: only arithmetic and indices fail; return a value that stands for the failure, or a flag with it"
            )
        }
        "vec" | "format" => format!("`{name}!` in a kernel: it does not allocate; use an array `[T; N]`"),
        _ => format!("`{name}!` in a kernel: of macros only `matches!` is known; write what it expands to"),
    }
}

/// Why a method is no part of kernels.
pub fn method(name: &str) -> String {
    let instead = match name {
        "to_bits" | "from_bits" => "the language does not reinterpret bits; use arithmetic",
        "iter" | "into_iter" | "iter_mut" | "map" | "fold" | "sum" | "zip" | "enumerate" | "windows" | "chunks" => {
            "a kernel has no iterators; use `for i in 0..xs.len()` and `xs[i]`"
        }
        "unwrap" | "expect" | "is_some" | "is_none" | "unwrap_or" | "ok" | "get" | "first" | "last" => {
            "a kernel has no `Option`; index, which is checked, or compare with `xs.len()` first"
        }
        "into" | "try_into" | "as_ref" | "borrow" => "write the type, `f64::from(x)` or `x as f64`",
        "cmp" | "partial_cmp" | "total_cmp" => "compare with `<`, `==` and `>`",
        "push" | "pop" | "insert" | "remove" | "extend" | "to_vec" | "collect" | "to_string" | "to_owned" => {
            "a kernel does not allocate; use an array `[T; N]`"
        }
        "swap" | "sort" | "fill" | "reverse" => "assign elements one by one, `(a[i], a[j]) = (a[j], a[i])`",
        _ if name.starts_with("checked_") => {
            "a kernel has no `Option`; compare before, or use `wrapping_` and `saturating_`"
        }
        _ if name.starts_with("overflowing_") => "use `wrapping_` and a comparison",
        _ => return nearest(name),
    };
    format!("`{name}` is no method of kernels: {instead}")
}

fn nearest(name: &str) -> String {
    let all = super::calls::METHODS.iter().flat_map(|names| names.iter());
    let near = all.filter(|m| m.starts_with(name) || name.starts_with(**m)).max_by_key(|m| m.len());
    match near {
        Some(near) if *near == name => format!("`{name}` has another number of arguments in kernels"),
        Some(near) => format!("`{name}` is no method of kernels; there is `{near}`"),
        None => format!(
            "`{name}` is no method of kernels: they have those of numbers and the length of slices; call a function with `#[kernel]`"
        ),
    }
}
