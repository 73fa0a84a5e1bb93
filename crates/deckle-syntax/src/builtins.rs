//! The built-in functions: one table, which is also the reference.
//!
//! An entry gives a name, a signature and a page. In a signature a single letter is any type, `n:num` a type of
//! a class, `[t]` a vector, `{t}` a sequence, `c<t>` either (the same in one signature for the same letter), and
//! `fn(a, b) r` a function argument. Entries with one name differ in the number of arguments.
//! Entries whose signature is `special` have typing code of their own in `infer/special.rs`.

use deckle_ir::array::UnOp;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A built-in function.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// As written.
    pub name: &'static str,
    /// Its type.
    pub signature: &'static str,
    /// The chapter of the reference.
    pub chapter: &'static str,
    /// What it does.
    pub doc: &'static str,
}

macro_rules! builtins {
    ($($chapter:literal { $($name:literal $sig:literal $doc:literal;)* })*) => {
        /// All of them except the scalar mathematics of one operand, which [`UnOp`] lists.
        pub const BUILTINS: &[Builtin] = &[$($(Builtin { name: $name, signature: $sig, chapter: $chapter, doc: $doc },)*)*];
    };
}

builtins! {
    "Scalars" {
        "min" "n:num, n -> n" "The lesser of two numbers; NaN if either is.";
        "max" "n:num, n -> n" "The greater of two numbers; NaN if either is.";
        "pow" "n:num, n -> n" "The power, also written `x ** y`.";
        "atan2" "x:float, x -> x" "The angle of the point (y, x), y first.";
        "fma" "x:float, x, x -> x" "`fma(x, y, z)`: `x * y + z`, rounded once.";
        "hypot" "x:float, x -> x" "The length of the vector (x, y).";
        "xor" "b:bits, b -> b" "Exclusive or, also written `x ^ y`.";
        "int" "s:scalar -> i64" "Converts to `int`, which is `i64`; floats lose their fraction.";
        "real" "s:scalar -> f64" "Converts to `real`, which is `f64`.";
        "i8" "s:scalar -> i8" "Converts to `i8`; integers wrap.";
        "i16" "s:scalar -> i16" "Converts to `i16`; integers wrap.";
        "i32" "s:scalar -> i32" "Converts to `i32`; integers wrap.";
        "i64" "s:scalar -> i64" "Converts to `i64`.";
        "u8" "s:scalar -> u8" "Converts to `u8`; integers wrap.";
        "u16" "s:scalar -> u16" "Converts to `u16`; integers wrap.";
        "u32" "s:scalar -> u32" "Converts to `u32`; integers wrap.";
        "u64" "s:scalar -> u64" "Converts to `u64`; integers wrap.";
        "f32" "s:scalar -> f32" "Converts to `f32`.";
        "f64" "s:scalar -> f64" "Converts to `f64`.";
        "bool" "s:scalar -> bool" "Whether a number is not zero.";
    }
    "Constructing" {
        "unit" "a -> [a]" "The vector of one element. Deckle has no arrays of rank zero: a scalar is a value of its own.";
        "generate" "int, fn(int) a -> [a]" "The vector whose element at `i` is `f(i)`.";
        "generate" "int, int, fn(int, int) a -> [[a]]" "The matrix whose element at `(i, j)` is `f(i, j)`.";
        "generate" "int, int, int, fn(int, int, int) a -> [[[a]]]" "The array of rank 3 whose element at `(i, j, k)` is `f(i, j, k)`.";
        "fill" "a, int -> [a]" "`n` times the same element.";
        "fill" "a, int, int -> [[a]]" "A matrix of one element.";
        "fill" "a, int, int, int -> [[[a]]]" "An array of rank 3 of one element.";
        "replicate" "int, a -> [a]" "`n` times the same, as a new outer dimension.";
        "iota" "int -> c<int>" "The integers from 0 below `n`: a sequence in a generator, a vector where one is needed. The range `0..<n` is the same.";
    }
    "Element by element" {
        "map" "fn(a) b, c<a> -> c<b>" "Applies a function to each element.";
        "map" "fn(a, b) d, c<a>, c<b> -> c<d>" "Applies a function to corresponding elements; the lengths must be equal.";
        "map" "fn(a, b, d) e, c<a>, c<b>, c<d> -> c<e>" "The same with three.";
        "map" "fn(a, b, d, e) f, c<a>, c<b>, c<d>, c<e> -> c<f>" "The same with four.";
        "zip_with" "fn(a, b) d, c<a>, c<b> -> c<d>" "Another name for `map` with two.";
        "zip_with" "fn(a, b, d) e, c<a>, c<b>, c<d> -> c<e>" "Another name for `map` with three.";
        "zip_with" "fn(a, b, d, e) f, c<a>, c<b>, c<d>, c<e> -> c<f>" "Another name for `map` with four.";
        "imap" "fn(int, a) b, [a] -> [b]" "Applies a function to the position and the element.";
        "zip" "c<a>, c<b> -> c<(a, b)>" "Pairs of corresponding elements; the lengths must be equal.";
        "zip" "c<a>, c<b>, c<d> -> c<(a, b, d)>" "Triples of corresponding elements.";
        "zip" "c<a>, c<b>, c<d>, c<e> -> c<(a, b, d, e)>" "Quadruples of corresponding elements.";
        "unzip" "c<(a, b)> -> (c<a>, c<b>)" "The first components, and the second ones.";
        "unzip3" "c<(a, b, d)> -> (c<a>, c<b>, c<d>)" "The same for triples.";
        "select" "[bool], [a], [a] -> [a]" "At each position the element of the first vector where the flag is true, else of the second.";
    }
    "Shape" {
        "length" "c<a> -> int" "How many elements; of a sequence, known at its end.";
        "shape" "special" "`shape(a)`: the sizes of all dimensions of a regular array, as a tuple; of a vector, its length.";
        "size" "[a] -> int" "How many elements there are in all dimensions together, jagged or not.";
        "reshape" "special" "`reshape(a, n)`, `reshape(a, n, m)`, `reshape(a, n, m, k)`: all elements of `a`, in order, as an array of these sizes.";
        "flatten" "c<d<a>> -> c<a>" "All inner collections one after another. Another name is `concat`.";
        "concat" "c<d<a>> -> c<a>" "All inner collections one after another, as in NESL.";
        "concat_on" "special" "`concat_on(axis, a, b)`: two arrays one after another along an axis, which must be a literal.";
        "append" "c<a>, c<a> -> c<a>" "One after another, also written `xs ++ ys`.";
        "split" "[a], [int] -> [[a]]" "Cuts a vector into rows of the lengths given.";
        "split_offsets" "[a], [int] -> [[a]]" "Cuts a vector into rows: row `i` holds the elements from `off[i]` below `off[i+1]`, as in CSR.";
        "transpose" "[[a]] -> [[a]]" "Exchanges rows and columns of a regular array.";
        "transpose" "special" "`transpose(a, (2, 0, 1))`: axis `k` of the result is the axis of `a` named at place `k`.";
        "reverse" "[a] -> [a]" "From last to first.";
        "reverse" "special" "`reverse(a, axis)`: from last to first along an axis, which must be a literal.";
        "take" "int, [a] -> [a]" "The first `n` elements, or all if there are fewer.";
        "drop" "int, [a] -> [a]" "All but the first `n` elements.";
        "init" "[a] -> [a]" "All elements but the last; none if there are none.";
        "tail" "[a] -> [a]" "All elements but the first; none if there are none.";
        "pad" "int, int, a, [a] -> [a]" "`pad(lo, hi, x, xs)`: `lo` times `x` before and `hi` times after.";
        "pad_on" "special" "`pad_on(axis, lo, hi, x, a)`: the same along an axis, which must be a literal.";
    }
    "Moving" {
        "gather" "[a], [int] -> [a]" "`gather(xs, is)`: the elements of `xs` at these positions.";
        "backpermute" "int, fn(int) int, [a] -> [a]" "`backpermute(n, f, xs)`: the vector of `n` elements whose element at `i` is `xs[f(i)]`.";
        "backpermute" "int, int, fn(int, int) (int, int), [[a]] -> [[a]]" "The same for matrices.";
        "permute" "special" "`permute(f, into, targets, xs)`: combines each element of `xs` into `into` at its target by `f(new, old)`, in order. For matrices targets are pairs. A fifth argument, a vector of `bool`, leaves out elements.";
        "scatter" "special" "`scatter(into, targets, xs)`: stores each element at its target; of several the last stays. A fourth argument, a vector of `bool`, leaves out elements.";
        "filter" "fn(a) bool, c<a> -> c<a>" "The elements for which the function gives `true`.";
        "compact" "[a], [bool] -> [a]" "The elements whose flag is true.";
        "partition" "fn(a) bool, [a] -> ([a], [a])" "The elements for which the function gives `true`, and the others.";
        "expand" "fn(a) int, fn(a, int) b, [a] -> [b]" "`expand(size, get, xs)`: for each `x` the `get(x, i)` for `i` below `size(x)`, all one after another.";
        "sort" "[a] -> [a]" "In ascending order, stable; tuples component by component, NaN last.";
        "sort_by" "fn(a) b, [a] -> [a]" "In ascending order of a key.";
        "sort_by_key" "[b], [a] -> [a]" "`sort_by_key(keys, xs)`: the elements in ascending order of their keys.";
        "group_by" "fn(a) b, [a] -> [(b, [a])]" "For each key that occurs, in ascending order, the key and its elements.";
        "group_by_key" "[b], [a] -> [(b, [a])]" "`group_by_key(keys, xs)`: the same with the keys in a vector.";
    }
    "Folding" {
        "fold" "fn(a, a) a, a, c<a> -> a" "`fold(f, z, xs)`: all elements combined with an associative function, starting with `z`.";
        "reduce" "fn(a, a) a, a, c<a> -> a" "Another name for `fold`.";
        "fold1" "fn(a, a) a, c<a> -> a" "The same without a start; at least one element is needed.";
        "fold_all" "special" "`fold_all(f, z, a)`: all elements of all dimensions combined.";
        "fold_ordered" "fn(b, a) b, b, c<a> -> b" "`fold_ordered(f, s, xs)`: a state that starts from `s` and takes one element after another. It has a type of its own, and `f` need not be associative; so this is one step at a time.";
        "sum" "c<n:num> -> n" "The sum; 0 if there are no elements.";
        "product" "c<n:num> -> n" "The product; 1 if there are no elements.";
        "min" "c<n:num> -> n" "The least; at least one element is needed.";
        "max" "c<n:num> -> n" "The greatest; at least one element is needed.";
        "any" "c<bool> -> bool" "Whether any is true.";
        "all" "c<bool> -> bool" "Whether all are true.";
        "argmin" "c<n:num> -> int" "The position of the first least element.";
        "argmax" "c<n:num> -> int" "The position of the first greatest element.";
        "seg_fold" "fn(a, a) a, a, [a], [int] -> [a]" "`seg_fold(f, z, xs, lengths)`: `fold` of each segment of a vector.";
        "seg_sum" "[n:num], [int] -> [n]" "The sum of each segment.";
        "histogram" "fn(a, a) a, a, int, [int], [a] -> [a]" "`histogram(f, z, bins, is, xs)`: a vector of `bins` elements that starts with `z` everywhere and combines each element into its bin: reduce by index.";
    }
    "Scanning" {
        "scan" "fn(a, a) a, a, c<a> -> c<a>" "`scan(f, z, xs)`: exclusive, as in the papers: `[z, z+a, ...]`, as many as there are elements.";
        "scan_incl" "fn(a, a) a, c<a> -> c<a>" "Inclusive: `[a, a+b, ...]`.";
        "scan_incl" "fn(a, a) a, a, c<a> -> c<a>" "Inclusive with a start: `[z+a, z+a+b, ...]`.";
        "scan_full" "fn(a, a) a, a, [a] -> [a]" "Exclusive, and the total at the end: one more than there are elements.";
        "scan_right" "fn(a, a) a, a, [a] -> [a]" "Exclusive from the right.";
        "scan_incl_right" "fn(a, a) a, [a] -> [a]" "Inclusive from the right.";
        "scan_incl_right" "fn(a, a) a, a, [a] -> [a]" "Inclusive from the right with a start.";
        "scan_full_right" "fn(a, a) a, a, [a] -> [a]" "Exclusive from the right, and the total at the beginning.";
        "scan_ordered" "fn(b, a) b, b, c<a> -> c<b>" "`scan_ordered(f, s, xs)`: the state of `fold_ordered` after each element: filters, automata.";
        "seg_scan" "fn(a, a) a, a, [a], [int] -> [a]" "`seg_scan(f, z, xs, lengths)`: `scan` of each segment.";
        "seg_scan_incl" "fn(a, a) a, [a], [int] -> [a]" "`scan_incl` of each segment.";
    }
    "Stencils" {
        "stencil" "special" "`stencil(radius, boundary, f, a)`: at each position `f` of the window around it. The radius is a literal, or a tuple of two or three; the boundary is `clamp`, `mirror`, `wrap`, `constant(x)`, or a function from indices to an element. The window is an array of `2r+1` elements along each axis.";
    }
    "Sequences" {
        "empty" "c<a> -> bool" "Whether there are no elements.";
        "the" "{a} -> a" "The only element of a sequence.";
        "flagpart" "{a}, {bool} -> {{a}}" "Cuts a sequence into subsequences: each `false` takes an element, each `true` ends one.";
        "tab" "{a} -> [a]" "Materialises a sequence as a vector.";
        "seq" "[a] -> {a}" "Streams the elements of a vector.";
        "rows" "[a] -> {a}" "Streams the rows of an array; another name for `seq`.";
        "produce" "int, fn(int) a -> {a}" "The sequence of `f(i)` for `i` from 0 below `n`.";
        "tiles" "[a], int -> {[a]}" "The pieces of a vector, of at most the given number of elements.";
        "tiles" "[[a]], int, int -> {[[a]]}" "The sub-arrays of a matrix, of at most the given numbers of rows and columns, row by row.";
        "tiles" "[[[a]]], int, int, int -> {[[[a]]]}" "The same for rank 3.";
        "elements" "special" "`elements(s)`: all elements of all arrays of a sequence, as one vector.";
        "tabulate" "{[a]} -> [[a]]" "Materialises a sequence of arrays as one array, cut to the least extent along each inner dimension.";
        "shapes" "special" "`shapes(s)`: the sequence of the shapes of its arrays.";
    }
}

/// Constants available in every script: name, value and a description.
pub const CONSTANTS: &[(&str, f64, &str)] = &[
    ("pi", std::f64::consts::PI, "The circumference of a circle of diameter 1."),
    ("inf", f64::INFINITY, "Positive infinity."),
    ("nan", f64::NAN, "Not a number."),
];

/// The entries of a name.
pub fn lookup(name: &str) -> &'static [Builtin] {
    static TABLE: OnceLock<HashMap<&'static str, Vec<Builtin>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: HashMap<&'static str, Vec<Builtin>> = HashMap::new();
        for b in BUILTINS.iter().copied().chain(mathematics()) {
            table.entry(b.name).or_default().push(b);
        }
        table
    });
    table.get(name).map_or(&[], |v| v.as_slice())
}

/// The scalar mathematics of one operand, by the names of the IR.
pub fn mathematics() -> impl Iterator<Item = Builtin> {
    use deckle_ir::array::{OperandClass, ResultClass};
    UnOp::ALL.iter().filter(|op| !matches!(op, UnOp::Neg | UnOp::Not)).map(|op| Builtin {
        name: op.name(),
        signature: match (op.operands(), op.result()) {
            (OperandClass::Float, ResultClass::Same) => "x:float -> x",
            (OperandClass::Float, ResultClass::Bool) => "x:float -> bool",
            (OperandClass::Int, _) => "n:int -> n",
            _ => "n:num -> n",
        },
        chapter: "Scalars",
        doc: op.doc(),
    })
}

/// All names that a script may use without defining them.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().map(|b| b.name).chain(mathematics().map(|b| b.name)).chain(CONSTANTS.iter().map(|c| c.0))
}
