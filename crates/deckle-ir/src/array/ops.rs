//! The operators of the array IR: one table, from which the reference is generated.
//!
//! Each entry gives the variant, its name in the text form, the number of operands and bodies, and a
//! doc comment with the operator's meaning, its typing rule, its size rule and its cost.
//! `docs/operators.md` is generated from it.
//!
//! # How to read the costs
//! `W` is work, `D` is depth, both after figure 3 of the streaming NESL paper; space is given only where
//! it is not that of the result. `‖v‖` is the parallel size of a value, `|T|` the width of a type,
//! `l` the number of elements, and *aux* the sum of the widths of the variables that a body uses from
//! outside. Unless an entry says otherwise, space is `‖result‖` (both sequential and parallel).
//! For a body run at each element: *distributed* means `W = (l+1)·aux + Σ Wᵢ`, `D = aux + max Dᵢ`, and space
//! - over a sequence: `M = 1 + aux + max(Mvᵢ + Mᵢ)`, `N = 1 + l·aux + Σ(Nvᵢ + Nᵢ)`, as in figure 3;
//! - over a vector: `M = 1 + aux + ‖result‖ + max Mᵢ`, `N = 1 + l·aux + ‖result‖ + Σ Nᵢ`: the result is
//!   there as a whole either way, the temporaries of a body only at once when all run at once.

use super::attrs::*;
use super::scalar_ops::{BinOp, UnOp};
use crate::entity::Func;
use crate::scalar::{Scalar, ScalarType};
use crate::types::Type;
use std::sync::Arc;

/// A chapter of the operator reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Chapter {
    Scalar,
    Control,
    Construct,
    Elementwise,
    Shape,
    Moving,
    Folding,
    Scanning,
    Stencil,
    Sequence,
}

/// The entry of an operator in the table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// In the text form.
    pub name: &'static str,
    /// Its chapter in the reference.
    pub chapter: Chapter,
    /// The minimal number of operands.
    pub min_args: usize,
    /// The maximal number of operands, if there is one.
    pub max_args: Option<usize>,
    /// The minimal and maximal number of bodies.
    pub bodies: (usize, usize),
    /// Its text in the reference.
    pub doc: &'static str,
}

impl Op {
    /// The operators that only the compiler introduces.
    pub const OF_THE_COMPILER: [&'static str; 3] = ["stream", "pull", "push"];
}

macro_rules! operators {
    ($($(#[doc = $doc:literal])+ $chapter:ident $variant:ident $(($($payload:ty),+))? = $name:literal, $min:literal $(..= $max:literal)? $(.. $($unused:literal)?)?, $bmin:literal $(..= $bmax:literal)?;)*) => {
        /// An operator with its static attributes.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op { $($(#[doc = $doc])+ $variant $(($($payload),+))?,)* }

        impl Op {
            /// Its entry in the table.
            pub fn info(&self) -> &'static OpInfo {
                let name = match self { $(operators!(@pat $variant $($($payload),+)?) => $name,)* };
                Op::TABLE.iter().find(|info| info.name == name).unwrap_or(&Op::TABLE[0])
            }

            /// The partial results of a scan, if it is one.
            pub fn scan_kind(&self) -> Option<ScanKind> {
                match self {
                    Op::Scan(_, kind) => Some(*kind),
                    Op::ScanOrdered => Some(ScanKind::Inclusive),
                    _ => None,
                }
            }

            /// The whole table, in the order of the reference.
            pub const TABLE: &'static [OpInfo] = &[$(OpInfo {
                name: $name,
                chapter: Chapter::$chapter,
                min_args: $min,
                max_args: operators!(@max $min $(..= $max)? $(.. $($unused)?)?),
                bodies: ($bmin, operators!(@bmax $bmin $($bmax)?)),
                doc: concat!($($doc, "\n"),+),
            },)*];
        }
    };
    (@pat $variant:ident) => { Op::$variant };
    (@pat $variant:ident $($payload:ty),+) => { Op::$variant(..) };
    (@max $min:literal) => { Some($min) };
    (@max $min:literal ..) => { None };
    (@max $min:literal ..= $max:literal) => { Some($max) };
    (@bmax $bmin:literal) => { $bmin };
    (@bmax $bmin:literal $bmax:literal) => { $bmax };
}

operators! {
    /// `const<3i64>()` — a scalar written in the program.
    ///
    /// Type: that of the literal. Cost: W 1, D 1.
    Scalar Const(Scalar) = "const", 0, 0;

    /// `sqrt(x)` — a scalar operator of one operand; the names are listed below the table.
    ///
    /// Type: `T → T` or `T → bool`, for the types that the operator has. Cost: W 1, D 1.
    Scalar Unary(UnOp) = "unary", 1, 0;

    /// `add(x, y)` — a scalar operator of two operands of one type.
    ///
    /// Type: `T, T → T` or `T, T → bool`. Errors: integer division by zero (D0303). Cost: W 1, D 1.
    Scalar Binary(BinOp) = "binary", 2, 0;

    /// `cast<f64>(x)` — conversion between scalar types: integers wrap, floats truncate towards zero and
    /// saturate (NaN gives 0), `false` and `true` are 0 and 1.
    ///
    /// Type: `S → T`. Cost: W 1, D 1.
    Scalar Cast(ScalarType) = "cast", 1, 0;

    /// `select(c, x, y)` — `x` if `c`, else `y`, both of which are already evaluated.
    ///
    /// Type: `bool, T, T → T` for flat `T`. Cost: W 1, D 1.
    Scalar Select = "select", 3, 0;

    /// `fma(x, y, z)` — `x * y + z`, rounded once.
    ///
    /// Type: `F, F, F → F` for a float `F`. Cost: W 1, D 1.
    Scalar Fma = "fma", 3, 0;

    /// `tuple(x, y, ...)` — a tuple of any number of values of any types.
    ///
    /// Type: `T, U, ... → (T, U, ...)`. Cost: none (W 0, D 0): nothing moves.
    Scalar Tuple = "tuple", 0 .., 0;

    /// `record<name{a, b}>(x, y)` — a record: a tuple whose components have names.
    ///
    /// Type: `T, U → name{a: T, b: U}`. Cost: none.
    Scalar Record(Arc<RecordShape>) = "record", 0 .., 0;

    /// `proj<1>(t)` — a component of a tuple or record, counted from 0.
    ///
    /// Type: `(T, U, ...) → U`. Cost: none.
    Scalar Proj(u32) = "proj", 1, 0;

    /// `index(a, i, j, ...)` — the element of `a` at `i`, of that the element at `j`, and so on.
    ///
    /// Type: `[i -> T; n], i64, ... → T` at that position. Errors: an index below 0 or not below the
    /// size (D0301). Cost: W 1, D 1.
    Scalar Index = "index", 2 .., 0;

    /// `if(c) { x } { y }` — the value of one of two bodies.
    ///
    /// Type: both bodies give `T` up to sizes. Size: where both branches agree, that; where both are known
    /// outside, the conditional size; else a new variable. Cost: that of its definition in section 2.1 of the paper,
    /// `the({x | c} ++ {y | not c})`.
    Control If = "if", 1, 2;

    /// `while(s) { s -> c } { s -> s' }` — starts from `s` and applies the second body as long as the first
    /// returns `true`.
    ///
    /// Type: `T → T` for concrete `T`. Size: sizes that no step changes stay; others are variables. Cost: W and D are the sums
    /// over all steps, space the greatest of any step beside the state.
    Control While = "while", 1, 2;

    /// `for(n, s) { i, s -> s' }` — starts from `s` and applies the body for `i` from 0 below `n`; not at all if
    /// `n` is not positive.
    ///
    /// Type: `i64, T → T` for concrete `T`. Size and cost: as `while`.
    Control For = "for", 2, 1;

    /// `stream(n, s) { s -> c } { s -> s' }` — as `while`, but a step takes a chunk of at most about `n` elements of sequences, or of what is inside them. The compiler inserts it for sequences that are
    /// traversed in chunks; the source has no such loop, so no error mentions its steps. The host chooses `n` before each step of an outermost `stream`.
    ///
    /// Type: `i64, T → T` for concrete `T`. Size and cost: as `while`.
    Control Stream = "stream", 2, 2;

    /// `call<@f>(x, ...)` — applies a function defined earlier in the program. Sizes in its parameter types are bound to those
    /// of the arguments and checked once (D0309).
    ///
    /// Type: as the function's signature. Size: the function's result size in terms of the arguments; a
    /// size that its body binds becomes a new variable. Cost: that of the body.
    Control Call(Func) = "call", 0 .., 0;

    /// `ensure<T>(x)` — `x`, having checked that its sizes are those of `T`; variables that `T` mentions first
    /// are bound. This is how a written size, or the regularity that an operator needs, is checked once.
    ///
    /// Type: `S → T` where `S` and `T` differ in sizes only. Errors: another size (D0309), rows of
    /// different length (D0306). Cost: W 1, D 1.
    Control Ensure(Type) = "ensure", 1, 0;

    /// `use<...>()` — a host value that is part of the program.
    ///
    /// Type: its own, with constant sizes. Cost: W 1, D 1.
    Construct Use(Arc<Constant>) = "use", 0, 0;

    /// `array<T>(x, y, ...)` — the vector of these elements. The attribute is the element type, for when there are none.
    ///
    /// Type: `T, T, ... → [T; k]`. Size: `k`; inner sizes that differ become a jagged dimension.
    /// Cost: W `‖result‖`, D 1.
    Construct Array(Type) = "array", 0 .., 0;

    /// `replicate(x, n)` — `n` copies of `x` along a new outer dimension.
    ///
    /// Type: `T, i64 → [T; n]` for concrete `T`. Errors: negative `n` (D0302). Cost: W `‖result‖`, D 1.
    Construct Replicate = "replicate", 2, 0;

    /// `generate(n, m, ...) { i, j, ... -> x }` — the array whose element at `(i, j, ...)` is `x`.
    ///
    /// Type: `i64, ... → [...[T]...]`, one dimension for each operand. Size: as given; inner sizes that mention an
    /// index are position-dependent. Errors: a negative size (D0302). Cost: distributed over `n·m·...` elements.
    Construct Generate = "generate", 1 .., 1;

    /// `iota<array>(n)`, `iota<seq>(n)` — the integers from 0 below `n`.
    ///
    /// Type: `i64 → [i64; n]` or `{i64}`. Errors: negative `n` (D0302). Cost: W `‖result‖`, D 1.
    Construct Iota(Coll) = "iota", 1, 0;

    /// `range<array, inclusive>(a, b, s)` — the integers from `a` to `b` in steps of `s`, which may be negative; `b` itself is left
    /// out in the form `exclusive`. None if `b` lies on the wrong side of `a`.
    ///
    /// Type: `T, T, T → [T; k]` or `{T}` for integers `T`. Size: for a constant step and `i64`, computed; else a
    /// variable. Errors: step 0 (D0302). Cost: W `‖result‖`, D 1.
    Construct Range(Coll, bool) = "range", 3, 0;

    /// `map(xs, ys, ...) { x, y, ... -> z }` — applies the body at each position of one or more vectors, or sequences, of equal
    /// length. Over sequences this is the general comprehension `{z : x in xs; y in ys}`: the body then may use from outside only concrete
    /// variables.
    ///
    /// Type: `[T; n], [U; n], ... → [V; n]`, `{T}, {U}, ... → {V}`. Size: `n`; inner sizes that mention the position are
    /// position-dependent. Errors: unequal lengths (D0304). Cost: distributed; with several operands D + 1.
    Elementwise Map = "map", 1 .., 1;

    /// `zip(xs, ys, ...)` — the vector, or sequence, of tuples of corresponding elements.
    ///
    /// Type: `[T; n], [U; n], ... → [(T, U, ...); n]`, likewise for sequences. Errors: unequal lengths (D0304). Cost: W 0, D 1.
    Elementwise Zip = "zip", 1 .., 0;

    /// `unzip(xs)` — the tuple of vectors, or sequences, of components.
    ///
    /// Type: `[(T, U, ...); n] → ([T; n], [U; n], ...)`, likewise for sequences. Cost: W 0, D 1.
    Elementwise Unzip = "unzip", 1, 0;

    /// `length(xs)` — the number of elements; that of a sequence is known at its end.
    ///
    /// Type: `[T; n] → i64`, `{T} → i64`. Cost: W 1 (of a sequence: `l`), D 1.
    Shape Length = "length", 1, 0;

    /// `shape<2>(a)` — the sizes of the outer dimensions of a regular array.
    ///
    /// Type: `[[T; m]; n] → (i64, i64)`. Errors: rows of different length (D0306). Cost: W 1, D 1.
    Shape Shape(u32) = "shape", 1, 0;

    /// `size<2>(a)` — the number of elements of the outer dimensions together, ragged or not.
    ///
    /// Type: `[[T]] → i64`. Cost: W `l`, D 1.
    Shape Size(u32) = "size", 1, 0;

    /// `reshape<1>(a, n, m, ...)` — the elements of the outer dimensions of `a` (as many as the attribute says), in
    /// order, as an array of the sizes given.
    ///
    /// Type: `[...[T]...], i64, ... → [...[T; m]; n]`. Errors: another number of elements (D0304), a negative
    /// size (D0302). Cost: W `‖result‖`, D 1.
    Shape Reshape(u32) = "reshape", 2 .., 0;

    /// `flatten(xss)` — all inner vectors, or sequences, concatenated: NESL's `concat`.
    ///
    /// Type: `[i -> [T; s(i)]; n] → [T; Σ s]`, `{{T}} → {T}`. Size: Σ in closed form where it has one.
    /// Cost: vectors W `‖result‖`, sequences W `l`; D 1.
    Shape Flatten = "flatten", 1, 0;

    /// `split<lengths>(xs, ls)`, `split<offsets>(xs, os)` — cuts a vector into rows. With `offsets` row `i` holds the
    /// elements from `os[i]` below `os[i+1]`, as in CSR; elements before `os[0]` are in no row.
    ///
    /// Type: `[T; k], [i64; n] → [i -> [T; ls[i]]; n]`, `[T; k], [i64; n+1] → [i -> [T; os[i+1]-os[i]]; n]`.
    /// Errors: negative lengths, decreasing offsets, or rows that do not fit the data (D0308). Cost: W `n`, D 1.
    Shape Split(SplitBy) = "split", 2, 0;

    /// `slice<[at, all, range]>(a, i, lo, hi)` — for each outer axis: all of it, one position (the axis is dropped), or a half-open range.
    ///
    /// Type: `[...] → [...]`. Size: a range has `hi - lo`. Errors: an index outside (D0301), a range not within
    /// `0 ≤ lo ≤ hi ≤ n` (D0301). Cost: W `‖result‖`, D 1.
    Shape Slice(Vec<Slicer>) = "slice", 1 .., 0;

    /// `transpose<[1, 0]>(a)` — exchanges axes of a regular array: axis `k` of the result is the axis of `a` that stands at place `k`.
    ///
    /// Type: `[[T; m]; n] → [[T; n]; m]`. Errors: rows of different length (D0306). Cost: W `‖result‖`, D 1.
    Shape Transpose(Vec<u32>) = "transpose", 1, 0;

    /// `reverse<0>(a)` — the elements of an axis from last to first.
    ///
    /// Type: unchanged; the outer size of a jagged array stays, the inner ones are mirrored. Cost: W `‖result‖`, D 1.
    Shape Reverse(u32) = "reverse", 1, 0;

    /// `take(xs, k)` — the first `k` elements, or all if there are fewer.
    ///
    /// Type: `[T; n], i64 → [T; min(n, k)]`. Errors: negative `k` (D0302). Cost: W `‖result‖`, D 1.
    Shape Take = "take", 2, 0;

    /// `drop(xs, k)` — all but the first `k` elements, or none if there are fewer.
    ///
    /// Type: `[T; n], i64 → [T; max(0, n - k)]`. Errors: negative `k` (D0302). Cost: W `‖result‖`, D 1.
    Shape Drop = "drop", 2, 0;

    /// `concat<0>(a, b, ...)` — arrays concatenated along an axis.
    ///
    /// Type: `[T; n], [T; m], ... → [T; n + m + ...]` for axis 0. Errors: outer axes of different
    /// size (D0304). Cost: W `‖result‖`, D 1.
    Shape Concat(u32) = "concat", 1 .., 0;

    /// `pad<0>(a, lo, hi, x)` — `lo` times `x` before and `hi` times after the elements of an axis.
    ///
    /// Type: `[T; n], i64, i64, T → [T; n + lo + hi]` for axis 0. Errors: a negative count (D0302).
    /// Cost: W `‖result‖`, D 1.
    Shape Pad(u32) = "pad", 4, 0;

    /// `permute(into, targets, xs) { new, old -> x }` — combines each element of `xs` into `into` at its target, in the order of
    /// the elements. A target is an `i64`, or for an array of rank k a tuple of k. A fourth operand, a vector
    /// of `bool`, leaves out the elements where it is `false`.
    ///
    /// Type: `[T; m], [i64; n], [U; n], [bool; n] → [T; m]` with a body `U, T → T`. Errors: a target outside (D0301), unequal
    /// lengths (D0304). Cost: W `‖result‖ + l + Σ Wᵢ`, D `1 + max Dᵢ`, space M `‖result‖ + max Mᵢ`, N `‖result‖ + Σ Nᵢ`.
    Moving Permute = "permute", 3 ..=4, 1;

    /// `scatter(into, targets, xs)` — as `permute` where the new element wins: of several elements with one target, the last.
    ///
    /// Type: `[T; m], [i64; n], [T; n], [bool; n] → [T; m]`. Errors: as `permute`. Cost: W `‖result‖ + l`, D 1.
    Moving Scatter = "scatter", 3 ..=4, 0;

    /// `filter(xs) { x -> c }` — the elements for which the body gives `true`, in order.
    ///
    /// Type: `[T; n] → [T; k]`. Size: a new variable. Cost: distributed, and W + `l`, D + 1.
    Moving Filter = "filter", 1, 1;

    /// `compact(xs, flags)` — the elements whose flag is `true`, in order.
    ///
    /// Type: `[T; n], [bool; n] → [T; k]`. Size: a new variable. Errors: unequal lengths (D0304). Cost: W `l + ‖result‖`, D 1.
    Moving Compact = "compact", 2, 0;

    /// `partition(xs) { x -> c }` — the elements for which the body gives `true`, and the others, each in order.
    ///
    /// Type: `[T; n] → ([T; k], [T; n - k])`. Cost: as `filter`.
    Moving Partition = "partition", 1, 1;

    /// `expand(xs) { x -> n } { x, i -> y }` — for each `x` the `y` for `i` from 0 below `n`, concatenated.
    ///
    /// Type: `[T; m] → [U; Σ n]` with bodies `T → i64` and `T, i64 → U`. Size: Σ where the size is known outside, else a new
    /// variable. Errors: negative `n` (D0302). Cost: both bodies distributed, over `m` and over Σ n elements.
    Moving Expand = "expand", 1, 2;

    /// `sort(xs)` — in ascending order, stable. Tuples and records compare component by component; NaN comes last.
    ///
    /// Type: `[T; n] → [T; n]` for flat `T`. Cost: W `l·⌈log₂ l⌉ + ‖result‖`, D `⌈log₂ l⌉ + 1`.
    Moving Sort = "sort", 1, 0;

    /// `sort_by(xs) { x -> key }` — in ascending order of a key, stable.
    ///
    /// Type: `[T; n] → [T; n]` with a body `T → K`, `K` flat. Cost: the keys distributed, then as `sort`.
    Moving SortBy = "sort_by", 1, 1;

    /// `group_by(xs) { x -> key }` — for each key that occurs, in ascending order, the key and the elements that have it, in order.
    ///
    /// Type: `[T; n] → [i -> (K, [T; s(i)]); g]` with a body `T → K`, `K` flat. Size: new variables. Cost: as `sort_by`.
    Moving GroupBy = "group_by", 1, 1;

    /// `fold(z, xs) { a, b -> c }` — `z` and all elements combined with an associative operator, in order. The fold of an empty array is `z`.
    ///
    /// Type: `T, [T; n] → T`, `T, {T} → T`, with a body `T, T → T` for concrete `T`. Cost: W `l + Σ Wᵢ`, D `1 + ⌈log₂(l+1)⌉·max Dᵢ`,
    /// space M `max(Mvᵢ + Mᵢ)` and N `Σ(Nvᵢ + Nᵢ)` over the applications, `vᵢ` being their operands, but at least `‖result‖`.
    /// A body that is one scalar operator applied to its parameters is one of the paper's basic monoids: W `l`, D 1, space `‖result‖`.
    Folding Fold = "fold", 2, 1;

    /// `fold1(xs) { a, b -> c }` — as `fold` without an initial value.
    ///
    /// Type: `[T; n] → T`, `{T} → T`. Errors: no elements (D0305). Cost: as `fold`.
    Folding Fold1 = "fold1", 1, 1;

    /// `fold_ordered(z, xs) { s, x -> t }` — a state that starts from `z` and takes one element after another; for an empty array, `z`. The function need not be
    /// associative, and the state has a type of its own, so that it is sequential: only the elements are computed in parallel.
    ///
    /// Type: `S, [T; n] → S`, `S, {T} → S`, with a body `S, T → S` for concrete `S` and `T`. Cost: W `l + Σ Wᵢ`, D `1 + Σ Dᵢ`,
    /// space M and N `max(vᵢ + Mᵢ)` over the applications, `vᵢ` being their operands, but at least `‖result‖`.
    Folding FoldOrdered = "fold_ordered", 2, 1;

    /// `reduce<sum>(xs)` — `sum`, `product`, `min`, `max`, `any`, `all`, `argmin` or `argmax` of a vector or sequence of
    /// scalars. The last two give the first position. NaN wins `min` and `max`.
    ///
    /// Type: `[T; n] → T`, `{T} → T` (`i64` for the last two). Errors: `min`, `max`, `argmin`, `argmax` of nothing (D0305). Cost: W `l`, D 1.
    Folding Reduce(Monoid) = "reduce", 1, 0;

    /// `scan<left, exclusive>(z, xs) { a, b -> c }` — all partial combinations with an associative operator. `inclusive` gives
    /// as many as there are elements and may do without `z`; `exclusive` starts with `z` and leaves out the last; `full` has
    /// one more element than `xs`. `right` runs from the last element.
    ///
    /// Type: `T, [T; n] → [T; n]` (`full`: `n + 1`), likewise for sequences, there from the left only. Cost: W `‖result‖ + Σ Wᵢ`,
    /// D `1 + ⌈log₂(l+1)⌉·max Dᵢ`, space M `‖result‖ + max Mᵢ`, N `‖result‖ + Σ Nᵢ`. With a body that is one scalar operator:
    /// W `‖result‖`, D 1, space `‖result‖`.
    Scanning Scan(Direction, ScanKind) = "scan", 1 ..=2, 1;

    /// `scan_ordered(z, xs) { s, x -> t }` — the state of `fold_ordered` after each element.
    ///
    /// Type: `S, [T; n] → [S; n]`, `S, {T} → {S}`, with a body `S, T → S` for concrete `S` and `T`. Cost: W `‖result‖ + Σ Wᵢ`, D `1 + Σ Dᵢ`,
    /// space M and N `‖result‖ + max(vᵢ + Mᵢ)`.
    Scanning ScanOrdered = "scan_ordered", 2, 1;

    /// `stencil<[1, 1], wrap>(a) { w -> x }` — for each position of a regular array of rank 1 to 3 the body applied to the window
    /// around it: an array of `2r+1` elements along each axis of radius `r`, whose middle is the position. Beyond the edge:
    /// `clamp`, `mirror`, `wrap`, `constant` (a second operand), or `function` (a second body from indices to an element).
    ///
    /// Type: `[[T; m]; n] → [[U; m]; n]` with a body `[[T; 2r+1]; 2q+1] → U`. Errors: rows of different length
    /// (D0306). Cost: distributed, where a window counts as a pointer.
    Stencil Stencil(Vec<u32>, Boundary) = "stencil", 1 ..=2, 1 ..= 2;

    /// `mkseq<T>(x, y, ...)` — the sequence of these elements.
    ///
    /// Type: `T, T, ... → {T}`. Cost: W `‖result‖`, D 1.
    Sequence MkSeq(Type) = "mkseq", 0 .., 0;

    /// `empty(s)` — whether a sequence has no elements.
    ///
    /// Type: `{T} → bool`. Cost: W 1, D 1.
    Sequence Empty = "empty", 1, 0;

    /// `the(s)` — the only element of a sequence.
    ///
    /// Type: `{T} → T`. Errors: none or several (D0307). Cost: W 0, D 1.
    Sequence The = "the", 1, 0;

    /// `append(s, t)` — one sequence after another: `++`.
    ///
    /// Type: `{T}, {T} → {T}`. Cost: W `‖result‖`, D 1.
    Sequence Append = "append", 2, 0;

    /// `flagpart(s, flags)` — cuts a sequence into subsequences: each `false` takes an element, each `true` ends a subsequence.
    ///
    /// Type: `{T}, {bool} → {{T}}`. Errors: the flags do not end in `true`, or have not as many `false` as
    /// there are elements (D0308). Cost: W `‖result‖`, D 1.
    Sequence FlagPart = "flagpart", 2, 0;

    /// `tab(s)` — materialises a sequence as a vector.
    ///
    /// Type: `{T} → [T; k]` for concrete `T`. Size: a new variable, or known where the sequence's length is. Cost: W `‖result‖`, D 1.
    Sequence Tab = "tab", 1, 0;

    /// `seq(xs)` — streams the elements of a vector.
    ///
    /// Type: `[T; n] → {T}`. Cost: W `‖result‖`, D 1.
    Sequence Seq = "seq", 1, 0;

    /// `guard(c) { x }` — the restricted comprehension `{x | c}`: one element if `c`, else none. The body runs at most once, so it may use
    /// sequences from outside.
    ///
    /// Type: `bool → {T}`. Cost: if `c`, W `aux + W`, D `aux + D`, space `1 + aux +` that of the body; else W and D `aux`, space 1.
    Sequence Guard = "guard", 1, 1;

    /// `produce(n) { i -> x }` — the sequence of `x` for `i` from 0 below `n`.
    ///
    /// Type: `i64 → {T}`. Errors: negative `n` (D0302). Cost: that of `{x : i in iota(n)}`.
    Sequence Produce = "produce", 1, 1;

    /// `tiles<2>(a, p, q)` — the sub-arrays of a regular array of at most `p` by `q` elements, row by row; those at the far edges are
    /// smaller where the size does not divide.
    ///
    /// Type: `[[T; m]; n], i64, i64 → {[[T]]}`. Errors: a tile size below 1 (D0302), rows of different length
    /// (D0306). Cost: W `‖result‖`, D 1.
    Sequence Tiles(u32) = "tiles", 2 .., 0;

    /// `tabulate<1>(s)` — materialises a sequence of arrays as one array with one more dimension; all are cut to the least extent along
    /// each of the inner dimensions, as many as the attribute says.
    ///
    /// Type: `{[T]} → [[T; k]; n]`. Size: new variables. Cost: W `‖s‖`, D 1.
    Sequence Tabulate(u32) = "tabulate", 1, 0;

    /// `pull<all>(s, i, n)`, `pull<some>(s, i, n)` — the elements of a sequence, a parameter of the function, from position `i` on: `n` of them, or as many as are left; in the form
    /// `some` possibly fewer, but at least one unless none is left or `n` is 0. The compiler inserts it for sequences from outside, whose next elements the host provides. So bodies that
    /// run more than once may use `s`, but positions must follow each other.
    ///
    /// Type: `{T}, i64, i64 → [T; k]`, with vectors in the place of sequences inside `T`. Size: new variables. Cost: W `‖result‖`, D 1.
    Sequence Pull(bool) = "pull", 3, 0;

    /// `push<0>(n, xs)` — passes the elements of a vector to the consumer of a result of the function; the attribute is the number of the result. `n` elements were passed
    /// before; returns how many there are now. The compiler inserts it for sequences that are results.
    ///
    /// Type: `i64, [T; k] → i64`. Cost: W `‖xs‖`, D 1.
    Sequence Push(u32) = "push", 2, 0;
}
