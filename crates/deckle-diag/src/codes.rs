//! The error index: every code, its class, a line about it, and its page.
//!
//! A page says when the error arises, shows a program that has it and the same program mended, and says what to do. Tests hold
//! the programs to that, and `docs/errors.md` to the pages. A code is never reused.

#![allow(rustdoc::invalid_codeblock_attributes)] // What stands behind `dk` are the arguments of the example.

use crate::Class;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $class:ident, $title:literal;)*) => {
        /// A stable error code such as `D0102`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $name,)* }

        /// Every code there is, in order.
        pub const CODES: &[(Code, CodeInfo)] = &[
            $((Code::$name, CodeInfo { id: $id, class: Class::$class, title: $title, doc: concat!($($doc, "\n"),+) }),)*
        ];
    };
}

/// What the index says of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// As printed.
    pub id: &'static str,
    /// Whose fault.
    pub class: Class,
    /// A line for the table of contents.
    pub title: &'static str,
    /// The page: when it arises, and what to do.
    pub doc: &'static str,
}

impl Code {
    /// The entry of the index.
    pub fn info(self) -> &'static CodeInfo {
        &CODES[self as usize].1
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info().id)
    }
}

codes! {
    /// The text is not UTF-8, or holds a character that no token starts with: a typographic quote or minus from a word
    /// processor, a `#` that was to start a comment, a `--`.
    ///
    /// ```dk error
    /// # Twice a number.
    /// def main(x: int) = x * 2
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// // Twice a number.
    /// def main(x: int) = x * 2
    /// ```
    ///
    /// Type the character that is meant. Comments start with `//`; strings stand between straight quotes.
    BadCharacter = "D0001", User, "a character that means nothing here";
    /// A number, character or string literal is malformed, or does not fit its type. A literal without a suffix takes
    /// the type that its neighbours have.
    ///
    /// ```dk error
    /// def main() = [0u8, 128, 256]
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main() = [0u16, 128, 256]
    /// ```
    ///
    /// Choose a type that holds the value. `int` is `i64` and `real` is `f64`; the others are `i8` to `i64`, `u8` to
    /// `u64`, and `f32`.
    BadLiteral = "D0002", User, "a malformed literal";
    /// A comment, string, bracket or brace is opened and never closed. The message shows where it was opened, and where
    /// its end was missed.
    ///
    /// ```dk error
    /// def main(xs: [int]) = sum(map(\x -> x * x, xs)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int]) = sum(map(\x -> x * x, xs))
    /// ```
    ///
    /// Close it where it ends. If the end is there, a bracket inside may be missing its own.
    Unclosed = "D0003", User, "opened and never closed";
    /// The parser met something that cannot stand here. It says what it expected, and where it recognises the habit of
    /// another language, how the same is written in Deckle.
    ///
    /// ```dk error
    /// def main(x: int) = if x = 0 then 1 else 2
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(x: int) = if x == 0 then 1 else 2
    /// ```
    ///
    /// A program is definitions, each of one expression: `let x = .. in ..`, `if c then a else b`, `loop x = .. while
    /// .. do ..`, calls with parentheses, and comprehensions `[ e : x in xs | c ]`. There are no statements, no blocks
    /// and no `return`.
    Unexpected = "D0004", User, "an unexpected token";
    /// Brackets, operators or type definitions are nested more deeply than the limit, a type has too many parts when it
    /// is written out, or functions without written types are used at too many types.
    ///
    /// ```text
    /// def f0(x) = (x, x)
    /// def f1(x) = f0(f0(f0(f0(x))))
    /// def f2(x) = f1(f1(f1(f1(x))))
    /// def main(n: int) = f2(n)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(n: int) = fill(n, 65536)
    /// ```
    ///
    /// Name parts of a large expression with `let`, or make functions of them. Where many values have one type, use a
    /// vector rather than tuples of tuples.
    TooDeep = "D0005", Limitation, "nested too deeply, or too large";
    /// A file that is imported cannot be read, or leads back to the file that imports it. Paths are relative to the
    /// file in which they are written.
    ///
    /// ```dk error
    /// import "no-such-file.dk"
    /// def main(x: int) = x
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(x: int) = x
    /// ```
    ///
    /// Correct the path. Where two files need each other, move what both need into a third one. A file whose name is no
    /// identifier is given one: `import "2d.dk" as plane`.
    BadImport = "D0006", User, "an import that cannot be followed";

    /// A name is used that nothing in scope defines: not a `let`, a parameter, a function of this file, an imported
    /// name, nor a built-in function. The nearest name that does exist is suggested.
    ///
    /// ```dk error
    /// def main(xs: [int]) = lenght(xs)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int]) = length(xs)
    /// ```
    ///
    /// Correct the spelling, define the name, or import it. Functions of a module are reached through its name:
    /// `sparse.spmv(m, x)`.
    UnknownName = "D0101", User, "an unknown name";
    /// A type is named that nothing defines.
    ///
    /// ```dk error
    /// def main(x: float) = x * 2.0
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(x: real) = x * 2.0
    /// ```
    ///
    /// The types of numbers are `int` (which is `i64`), `real` (which is `f64`), `i8` to `i64`, `u8` to `u64` and
    /// `f32`; there is `bool`, and text is `[u8]`. Others are defined with `type`.
    UnknownType = "D0102", User, "an unknown type";
    /// The same name is defined twice in one place: two functions or types of a file, two parameters, two fields, or
    /// two modules. There is no overloading: what a name means does not depend on its arguments.
    ///
    /// ```dk error
    /// def area(r: real) = pi * r * r
    /// def area(w: real, h: real) = w * h
    /// def main(r: real) = r
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def disc(r: real) = pi * r * r
    /// def rectangle(w: real, h: real) = w * h
    /// def main(r: real) = disc(r)
    /// ```
    ///
    /// Give one of them another name. A `let` may use a name again: the new one hides the old.
    Duplicate = "D0103", User, "defined twice";
    /// A function is called, or a type used, with the wrong number of arguments; a record is made without all of its
    /// fields; or a function argument takes another number of parameters than it will be given.
    ///
    /// ```dk error
    /// def main(xs: [int; n], ys: [int; n]) = map(\x y -> x + y, zip(xs, ys))
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int; n], ys: [int; n]) = map(\(x, y) -> x + y, zip(xs, ys))
    /// ```
    ///
    /// Parameters of a lambda stand side by side, `\x y -> ..`; one that takes a tuple apart is a pattern, `\(x, y) ->
    /// ..`. A function cannot be given some of its arguments: write `\x -> add(1, x)`.
    WrongArity = "D0104", User, "the wrong number of arguments";
    /// A function calls itself, directly or through others. Functions are compiled into what calls them, so that would
    /// never end.
    ///
    /// ```dk error
    /// def factorial(n: int) = if n == 0 then 1 else n * factorial(n - 1)
    /// def main(n: int) = factorial(n)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(n: int) = product({ i : i in 1..n })
    /// ```
    ///
    /// Say it of all elements at once, with `fold`, `scan`, `product` or a comprehension. Where each step needs the one
    /// before, use a loop: `loop x = 1 for i in 1..n do x * i`.
    Recursive = "D0105", User, "a recursive function";
    /// A record has no field of that name, a tuple no component of that number, or something is neither record nor
    /// tuple. Components are counted from 0.
    ///
    /// ```dk error
    /// def main(p: (int, int)) = p.1 + p.2
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(p: (int, int)) = p.0 + p.1
    /// ```
    ///
    /// Correct the name. Functions are no fields: it is `length(xs)`, not `xs.length`.
    NoField = "D0106", User, "no such field";
    /// A function is used as a value, or a value as a function. Functions are not values: they can be called, or given
    /// to built-in functions such as `map` and `fold`, and nothing else.
    ///
    /// ```dk error
    /// def main(x: int) = let double = \y -> y * 2 in double(x)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def double(y: int) = y * 2
    /// def main(x: int) = double(x)
    /// ```
    ///
    /// Define functions with `def`, side by side. An element of a vector is written `xs[0]`, not `xs(0)`; functions
    /// stand before their arguments, `map(f, xs)`, not `xs.map(f)`.
    NotAFunction = "D0107", User, "a function where a value is meant, or the reverse";

    /// Two types that must be the same are not: an argument and its parameter, the two branches of an `if`, the
    /// elements of a vector, the state of a loop and its next value, the operands of an operator. Numbers are never
    /// converted in silence.
    ///
    /// ```dk error
    /// def main(xs: [real]) = sum(xs) / length(xs)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [real]) = sum(xs) / real(length(xs))
    /// ```
    ///
    /// Convert a number with the name of a type: `real(i)`, `int(x)`, `u8(c)`. Stream a vector with `seq(xs)`;
    /// materialise a sequence with `tab(s)`. A condition is a comparison: `n % 2 != 0`.
    TypeMismatch = "D0201", User, "types that do not agree";
    /// An operator is used at a type that does not have it. Arithmetic and comparisons are for scalars; what is sorted,
    /// used as a key, or looked at by a stencil is made of scalars.
    ///
    /// ```dk error
    /// def main(xs: [real; n], ys: [real; n]) = xs + ys
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [real; n], ys: [real; n]) = [ x + y : x in xs; y in ys ]
    /// ```
    ///
    /// Apply the operator to each element, with a comprehension or `map`. Whether two vectors are equal is `all({ x ==
    /// y : x in xs; y in ys })`.
    NoInstance = "D0202", User, "an operator that its operands do not have";
    /// A type, or how many dimensions an array has, cannot be determined from what is there.
    ///
    /// ```dk error
    /// def main(n: int) = length([])
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(n: int) = let none: [int] = [] in length(none)
    /// ```
    ///
    /// Write the type, in a `let` or for a parameter.
    Ambiguous = "D0203", User, "a type that must be written";
    /// A vector, the state of a loop, or what a fold has combined so far is in memory as a whole, so it cannot hold a
    /// sequence, which never is.
    ///
    /// ```dk error
    /// def main(n: int) = [ { i * j : j in 0..<n } : i in 0..<n ]
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(n: int) = [ [ i * j : j in 0..<n ] : i in 0..<n ]
    /// ```
    ///
    /// Materialise the inner sequence, with `tab` or by writing `[ ]` for `{ }`; or make the outer one a sequence too.
    NotConcrete = "D0204", User, "a sequence where a materialised value is needed";
    /// A sequence from outside is used inside a comprehension, a function argument or a loop, where it would be
    /// traversed many times. A sequence is computed as it is traversed, once, and never all in memory.
    ///
    /// ```dk error
    /// def main(n: int) =
    ///   let s = { i * i : i in 0..<n }
    ///   in sum({ x * sum(s) : x in 0..<n })
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(n: int) =
    ///   let total = sum({ i * i : i in 0..<n })
    ///   in sum({ x * total : x in 0..<n })
    /// ```
    ///
    /// Compute what is needed of it before; or materialise it, `let xs = tab(s) in ..`; or write it out inside, so that
    /// it is computed again; or traverse both together, `{ .. : x in s; y in t }`.
    CapturedSequence = "D0205", User, "a sequence used more than once";
    /// Two sizes that must be equal are known to differ before the program runs: of vectors that are traversed
    /// together, or of an argument and its parameter. (Sizes that may differ are compared when the program runs: D0304,
    /// D0309.)
    ///
    /// ```dk error
    /// def main() = zip([1, 2, 3], [10, 20])
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main() = zip(take(2, [1, 2, 3]), [10, 20])
    /// ```
    ///
    /// Cut the longer one with `take`, pad the shorter one with `pad`, or correct the size that is written.
    SizeMismatch = "D0206", User, "sizes that cannot be equal";
    /// A type would have to contain itself: a definition leads back to itself, or a loop wraps its state up once more
    /// in each round.
    ///
    /// ```dk error
    /// type list = { head: int, tail: list }
    /// def main(x: list) = x.head
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// type node = { value: int, next: int }
    /// def main(nodes: [node]) = nodes[nodes[0].next].value
    /// ```
    ///
    /// Keep all elements in one vector, and store the positions of others in it.
    InfiniteType = "D0207", User, "a type that contains itself";
    /// An argument decides the type of the result, so it must be a literal: the axes of `transpose`, the axis of
    /// `reverse`, `concat_on` and `pad_on`, the radius and boundary of `stencil`.
    ///
    /// ```dk error
    /// def main(r: int, xs: [real]) = stencil(r, clamp, \w -> sum(w), xs)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [real]) = stencil(2, clamp, \w -> sum(w), xs)
    /// ```
    ///
    /// Write a literal. Where there are a few cases, choose between them with `if`.
    NotConstant = "D0208", User, "a value that must be known before running";
    /// A sequence is traversed once, element by element, and nothing is kept of it. This program needs a value that is known
    /// only at the end of a traversal while that traversal is under way, or needs two sequences made from one
    /// traversal to advance at different rates.
    ///
    /// ```dk error
    /// def main(n: int) =
    ///   let s = { log(real(x + 1)) : x in iota(n) } in
    ///   let m = sum(s) in
    ///   sum({ x * x + m : x in s })
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(n: int) =
    ///   let s = { log(real(x + 1)) : x in iota(n) } in
    ///   let m = sum(s) in
    ///   sum({ x * x : x in s }) + real(length(s)) * m
    /// ```
    ///
    /// There are three ways out. Restructure, as above: all sums are taken in one traversal. Materialise: `tab(s)` is a vector, which can be
    /// traversed as often as you like (`deckle run --materialize` puts the `tab`s in). Recompute: write the
    /// sequence twice, and it is computed twice.
    NotStreamable = "D0209", User, "a value that is needed before its sequence has been traversed";

    /// An index, or the target of a `scatter` or `permute`, lies outside its array. Positions run from 0 to the length
    /// less one.
    ///
    /// ```dk fails 'xs=[1, 2]'
    /// def main(xs: [int]) = xs[length(xs)]
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int]) = xs[length(xs) - 1]
    /// ```
    ///
    /// Test the index first. To leave elements out of a `scatter`, give it a mask.
    IndexRange = "D0301", User, "index out of range";
    /// A size or count is negative, or larger than anything that can exist.
    ///
    /// ```dk fails n=3
    /// def main(n: int) = fill(0, n - 10)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(n: int) = fill(0, max(0, n - 10))
    /// ```
    ///
    /// Use `max(0, ..)` where less than nothing means nothing.
    BadSize = "D0302", User, "a negative or impossible size";
    /// An integer is divided by zero, with `/` or `%`. (Between floats the result is infinite, or not a number.)
    ///
    /// ```dk fails 'xs=[]'
    /// def main(xs: [int]) = sum(xs) / length(xs)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int]) = if empty(xs) then 0 else sum(xs) / length(xs)
    /// ```
    ///
    /// Test the divisor first, with `if`: only the branch that is chosen is evaluated.
    DivideByZero = "D0303", User, "integer division by zero";
    /// Two vectors or sequences that are traversed together turn out to have different lengths: the generators of a
    /// comprehension, the arguments of `zip` or `map`.
    ///
    /// ```dk fails 'xs=[1]' 'ys=[1, 2]'
    /// def main(xs: [real], ys: [real]) = sum({ x * y : x in xs; y in ys })
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [real; n], ys: [real; n]) = sum({ x * y : x in xs; y in ys })
    /// ```
    ///
    /// Cut the longer one with `take`, or pad the shorter one. Where they are to be equal, write so in the types: then
    /// it is the argument that is refused, before anything is computed.
    LengthMismatch = "D0304", User, "unequal lengths";
    /// An operator that needs at least one element was given none: `min`, `max`, `argmin`, `argmax` or `fold1`.
    ///
    /// ```dk fails 'xs=[]'
    /// def main(xs: [int]) = max(xs)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int]) = fold(max, 0, xs)
    /// ```
    ///
    /// Give it a start, with `fold`, or test with `empty` first.
    Empty = "D0305", User, "empty where an element is needed";
    /// A nested array had to be regular, all rows alike, and is not: `transpose`, `shape`, `tiles` and stencils of more
    /// than one dimension need that.
    ///
    /// ```dk fails 'a=[[1], []]'
    /// def main(a: [[int]]) = transpose(a)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(a: [int; n, m]) = transpose(a)
    /// ```
    ///
    /// Cut or pad the rows to one length, or use what works on rows of any length: comprehensions, `map`, `flatten`.
    /// Write `[int; n, m]` for a matrix: then an argument with other rows is refused.
    NotRegular = "D0306", User, "rows of different length where a regular array is needed";
    /// `the` was applied to a sequence that does not have exactly one element.
    ///
    /// ```dk fails 'xs=[1, 2, 3]'
    /// def main(xs: [int]) = the({ x : x in xs | x > 1 })
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int]) = sum({ x : x in xs | x > 1 })
    /// ```
    ///
    /// Use `fold`, `sum` or `tab` where there may be none or several.
    NotSingleton = "D0307", User, "not exactly one element";
    /// The lengths, offsets or flags that cut a vector or sequence into segments do not describe it: lengths that do
    /// not add up to the number of elements, offsets that fall, or flags that take more elements than there are.
    ///
    /// ```dk fails 'xs=[1]' 'lengths=[2]'
    /// def main(xs: [int], lengths: [int]) = split(xs, lengths)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int], lengths: [int]) = split(take(sum(lengths), xs), lengths)
    /// ```
    ///
    /// Look at where the lengths come from. Offsets start at 0, never fall, and end at the number of elements.
    BadSegments = "D0308", User, "segments that do not fit their data";
    /// A value does not have the size that its written type demands: an argument whose length is not the `n` of
    /// another, a matrix that is not square, a record whose parts do not fit each other.
    ///
    /// ```dk fails 'a=[[1, 2]]'
    /// def trace(a: [real; n, n]) = sum({ a[i, i] : i in 0..<n })
    /// def main(a: [[real]]) = trace(a)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def trace(a: [real; n, n]) = sum({ a[i, i] : i in 0..<n })
    /// def main(a: [real; k, k]) = trace(a)
    /// ```
    ///
    /// Give values of the sizes that are written, or write the sizes that are meant. Names in sizes that are equal mean
    /// equal sizes.
    SizeCheck = "D0309", User, "a size that is not the one written";
    /// A loop ran longer, or a value grew larger, than the limit set for the run.
    ///
    /// ```dk
    /// def main(x: int) = loop y = x while y != 1 do if y % 2 == 0 then y / 2 else 3 * y + 1
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(x: int) =
    ///   let (y, steps) = loop (y, k) = (x, 0) while y != 1 && k < 1000 do (if y % 2 == 0 then y / 2 else 3 * y + 1, k + 1)
    ///   in steps
    /// ```
    ///
    /// Raise the limit, or bound the loop in the program.
    LimitExceeded = "D0310", User, "a limit of the run was passed";
    /// The function of a `fold`, `reduce` or `scan` is not associative, which a run that tries it has shown on three of its
    /// elements: `(a · b) · c` is not `a · (b · c)`. Elements are combined in order, but in groups that you do not
    /// choose, so the result depends on where and how the program runs.
    ///
    /// ```dk
    /// def main(xs: [int]) = fold(\a b -> 10 * a + b, 0, xs)
    /// ```
    ///
    /// Mended:
    ///
    /// ```dk
    /// def main(xs: [int]) = fold_ordered(\a b -> 10 * a + b, 0, xs)
    /// ```
    ///
    /// Use `fold_ordered` or `scan_ordered`, which take one element after another. Or give each element what makes the function
    /// associative, so that it can be done at once: here, the power of 10 by which what stands to its left is multiplied.
    NotAssociative = "D0311", User, "an operator that is not associative";

    /// No function is named `main`, none has the name given with `--entry`, or the types of that function leave open
    /// what its arguments are.
    ///
    /// For example:
    ///
    /// ```dk
    /// def main(xs: [int]) = sum(xs)
    /// ```
    ///
    /// Name the function to run `main`, or say which: `deckle run f.dk --entry total`. Write the types of its
    /// parameters.
    NoEntry = "D0401", User, "nothing to run";
    /// An argument on the command line is missing, unknown, or not of the type of its parameter.
    ///
    /// Arguments are given by name: `deckle run f.dk xs='[1, 2, 3]' k=2`, or from a file: `xs=@data.npy`. `deckle check
    /// f.dk` lists the parameters of every function.
    BadArgument = "D0402", User, "an argument that does not fit";
    /// A file cannot be read or written, or its contents are damaged or of another kind than its name says.
    ///
    /// The message names the file and what is wrong with it. Results are written whole or not at all, so nothing is
    /// left half done.
    BadFile = "D0403", User, "a file that cannot be used";
    /// A sequence comes from outside, from an iterator say, and ended with an error; or whoever takes the result could not go on.
    ///
    /// The message is theirs. All elements before the error were gone through, and what came of them was handed over.
    Stream = "D0404", User, "a sequence from outside that ended with an error";

    /// The program is right, but this version of Deckle cannot run it as asked.
    ///
    /// The message says what is missing. `--on interp` runs every program, slowly.
    Unsupported = "D0801", Limitation, "not supported yet";
    /// The program was to be compiled, and no LLVM can be used on this machine.
    ///
    /// Every Rust toolchain brings one, so installing Rust is enough (<https://rustup.rs>); so is a system package such as
    /// `libllvm19` or newer, or `DECKLE_LLVM` set to a libLLVM. `deckle doctor` tells what is found. `--on interp` runs every program
    /// without, slowly; so does a `deckle run` that does not say where to run.
    NoLlvm = "D0802", Limitation, "no LLVM to compile with";
    /// The program was to run on a GPU, and none can be used: there is no NVIDIA driver, it is too old, or there is no such device.
    ///
    /// The message has the reason. Only the driver is needed, not the CUDA toolkit, and a device of compute capability 7.0 or more (Volta and
    /// later). `deckle doctor` lists the devices that the driver finds. Without `--on gpu` the program runs on all cores of this machine, with the same result.
    NoGpu = "D0803", Limitation, "no GPU to run on";
    /// The GPU failed while a program used it: it was reset or removed, or has a memory error.
    ///
    /// The message has the driver's reason. The results of the run are lost, and this process cannot use the device again. Run the
    /// program again in a new process, and check the system log if it happens again.
    LostGpu = "D0804", Limitation, "the GPU was lost";
    /// Something that should be impossible happened inside Deckle. It is not the program's fault.
    ///
    /// Please report it, with the program, its data and the command line. Often writing the part that is named in
    /// another way helps until it is mended.
    Internal = "D0901", Bug, "a bug in Deckle";
}
