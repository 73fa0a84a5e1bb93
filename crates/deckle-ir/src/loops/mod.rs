//! The loop IR: structured loops over typed buffers.
//!
//! A schedule lowers a kernel to it, and it is compiled to machine code. It has no arrays, sizes or raggedness: those
//! have become loops, loads and numbers. CPU and GPU schedules both produce it; [`crate::loops`] programs run as native code, as
//! PTX, or on the lock-step simulator.
//!
//! # Meaning
//! - A [`Function`] has buffers and scalar parameters, and a body. Values are in single static assignment: each [`Val`] is defined by exactly one
//!   statement, and may be used after it in its own block and in the blocks inside. A block passes values outward only through its `results`.
//! - A value has a [`Ty`]: a scalar type and a number of lanes. One lane is a scalar. Operators work lane by lane, and all their operands have
//!   as many lanes, except where an operator says otherwise. A mask is `bool` with lanes.
//! - Scalar operators have the semantics of `scalar_eval`, with two differences: integer division and remainder by zero and integer powers with a negative
//!   exponent give 0 (the emitter has checked the operand); and one divided by a square root, with several lanes, may be computed at once, within
//!   1.1 units in the last place (docs/mathematics.md promises no more of it). A multiplication and an addition are two operations, each rounded, unless they are written as [`Expr::Fma`].
//! - Buffers do not overlap, except that one buffer may be passed for two parameters that are both read-only.
//! - Buffers hold `bool` as one byte, 0 or 1. Indices count elements and are `i64`.
//! - Every buffer can be read at index 0, even if it has no elements.
//!
//! # Failures
//! Code does not stop at an error. [`Stmt::Flag`] records a failure; when the function returns and the flag is set, it has stored 1
//! into the first word of its error record, and its results are meaningless. The caller may then run the diagnosing version of the function:
//! there a [`Stmt::Fail`] writes the site and the operands of the first failure into the record, and later ones have no effect.
//!
//! # Threads
//! On a CPU a function runs on one thread; the calls of one kernel differ in their scalar parameters. On a GPU
//! ([`Function::block`] is not 0) it runs on all threads of all blocks of a grid at once; [`Expr::Id`] distinguishes them. Threads of a block
//! share [`Local`]s of kind [`Place::Shared`] and synchronise at [`Stmt::Barrier`], which all or none of them reach. 32 successive threads are a warp
//! and can exchange values by [`Expr::Shuffle`] and [`Expr::Ballot`] or order their accesses by [`Stmt::WarpBarrier`], which all of them reach together.

mod build;
mod fold;
mod launch;
mod parse;
mod print;
mod shorthand;
#[cfg(test)]
mod tests;
mod typing;
mod unroll;
mod verify;
mod walk;

pub use build::Builder;
pub use launch::{
    Copies, Found, GridLaunch, GridSort, Launch, Lengths, Long, Owned, Parts, Phase, Rows, ScanLevel, SortColumn,
    SortFill, SortedPoints, SplitRows, Tiles, Turns, Wide, Work,
};
pub use parse::parse;
pub use typing::{Names, regroups};
pub use verify::verify;
pub use walk::operands;

use crate::array::{BinOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use std::fmt;

/// The threads of a warp.
pub const WARP: u32 = 32;

/// A value of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Val(pub u32);

/// A buffer of a function: a parameter or, numbered after these, a local one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buf(pub u32);

macro_rules! handle {
    ($name:ident, $prefix:literal) => {
        impl $name {
            /// Its place in the arena.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}
handle!(Val, "x");
handle!(Buf, "b");

/// The type of a value: printed `f64`, or `f64x8` if there are several lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    /// The type of each lane.
    pub scalar: ScalarType,
    /// The number of lanes, at least 1.
    pub lanes: u16,
}

impl From<ScalarType> for Ty {
    fn from(scalar: ScalarType) -> Ty {
        Ty { scalar, lanes: 1 }
    }
}

impl Ty {
    /// `bool` with the same number of lanes.
    pub fn mask(self) -> Ty {
        Ty { scalar: ScalarType::Bool, lanes: self.lanes }
    }

    /// Another scalar type with the same number of lanes.
    pub fn with(self, scalar: ScalarType) -> Ty {
        Ty { scalar, lanes: self.lanes }
    }
}

/// The accesses of a function to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only loads.
    Read,
    /// Loads, stores and atomics.
    Write,
}

/// A buffer that is passed to a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// The type of its elements.
    pub elem: ScalarType,
    /// Its accesses.
    pub access: Access,
}

/// The memory of a local buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Private to each thread.
    Private,
    /// Shared by the threads of a block. GPU only.
    Shared,
}

/// A buffer of fixed size that exists while the function runs. Its contents are unspecified at first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// The type of its elements.
    pub elem: ScalarType,
    /// The number of elements.
    pub len: u32,
    /// Its memory.
    pub place: Place,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Its buffer parameters: `Buf(0)` and on.
    pub buffers: Vec<Param>,
    /// The local buffers: those after the parameters.
    pub locals: Vec<Local>,
    /// Its scalar parameters, all of one lane.
    pub scalars: Vec<Val>,
    /// The type of each value.
    pub vals: Vec<Ty>,
    /// Its body, without results.
    pub body: Block,
    /// On a GPU the number of threads in a block, a multiple of 32; 0 on a CPU.
    pub block: u32,
    /// On a GPU the threads that a multiprocessor should have room for, which bounds their registers; 0 if that is left open.
    pub resident: u32,
}

/// Statements that run in order, and the values that the block passes outward.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// The results.
    pub results: Vec<Val>,
}

/// A value that a loop carries from round to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    /// Before the first round.
    pub init: Val,
    /// At the start of each round.
    pub param: Val,
    /// After the last round.
    pub result: Val,
}

/// Information from the schedule about a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoopHint {
    /// None.
    #[default]
    Plain,
    /// Few rounds, those of a short row or of a window: code that can fail does not test for failures between them.
    Short,
    /// The rounds are independent, except for carried values that are combined with [`Expr::Assoc`]: the loop may be vectorised.
    Independent,
    /// Few rounds, to be unrolled: by the builder if their number is constant and the body contains no blocks, otherwise by LLVM.
    Unroll,
}

/// The kind of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StoreHint {
    /// As usual.
    #[default]
    Cached,
    /// Bypasses the cache: the stored data exceeds the cache and will not be read soon. With several lanes and no mask, to an index that is a multiple of their number in a
    /// buffer that is aligned to 64 bytes; with one lane, this has no effect.
    Streaming,
    /// To locations to which other threads may concurrently store the same value.
    Shared,
    /// Several lanes, from a scalar index on: the lanes whose mask is `true`, contiguously.
    Packed,
}

/// How lanes with an index each are loaded. It is not part of the loop IR, but a schedule may depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathers {
    /// By the gather instruction.
    Native,
    /// By one scalar load for each lane.
    Emulated,
    /// By scalar loads, which are combined as scalars: without masked vectors, to collect the elements of a short row takes longer than its sum.
    Scalar,
}

/// The speed of vector stores that cross a cache line. A schedule may depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// About that of other stores.
    Anywhere,
    /// Several times slower if the lines come from memory: whole lines are better.
    InLines,
}

/// The maximal number of recorded operands of a failed check.
pub const MOST_OPERANDS: usize = 62;

/// The words of an error record: whether there is a failure, its site, the number of operands, the operands.
pub const RECORD: usize = 3 + MOST_OPERANDS;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `x3: f64 = mul(x1, x2)` — defines a value.
    Let(Val, Expr),
    /// `store b0[x1] = x2` — with a scalar index and several lanes, to successive elements; with one index for each lane, to each of them, in the order of the
    /// lanes. Lanes where the mask is `false` store nothing: `store b0[x1] = x2 where x3`.
    Store {
        /// The buffer.
        buf: Buf,
        /// The index.
        at: Val,
        /// The value.
        value: Val,
        /// The mask; all lanes, if there is none.
        mask: Option<Val>,
        /// The kind.
        hint: StoreHint,
    },
    /// `atomic add b0[x1] = x2` — combines into an element, indivisibly. Scalars only. `atomic add b0[x1] = x2 -> x3: i64` also defines the value that the element had before; that
    /// depends on the order of the threads. GPU only.
    Atomic {
        /// An operator that [`is_atomic`] for the type of the elements. A NaN result is the same for all operands.
        op: BinOp,
        /// The buffer.
        buf: Buf,
        /// The index.
        at: Val,
        /// The value.
        value: Val,
        /// The element before, if it is needed: of a sum of integers of 32 or 64 bits.
        before: Option<Val>,
    },
    /// `for x1 = x2 .. x3 step 1 (x5: f64 = x4 -> x6) { ... }` — the body for `var` from `lo` below `hi` in steps; its results are the next
    /// carried values. `hi + step` does not overflow.
    For {
        /// The counter, `i64`.
        var: Val,
        /// Its first value.
        lo: Val,
        /// Its upper bound, exclusive.
        hi: Val,
        /// Its increment, at least 1.
        step: i64,
        /// The carried values.
        carries: Vec<Carry>,
        /// The body.
        body: Block,
        /// Information from the schedule.
        hint: LoopHint,
    },
    /// `while (x5: f64 = x4 -> x6) { ... } { ... }` — `test` runs first in each round; if its one result, a scalar `bool`, is `true`, `body` follows, whose results are the next
    /// carried values. Definitions in `test` are visible in `body`.
    While {
        /// The carried values.
        carries: Vec<Carry>,
        /// The test.
        test: Block,
        /// The body.
        body: Block,
    },
    /// `if x1 { ... } { ... } -> (x5: f64)` — one of two blocks, by a scalar `bool`; the results of that block become the results.
    If {
        /// The condition.
        cond: Val,
        /// If `true`.
        yes: Block,
        /// If `false`.
        no: Block,
        /// The results.
        results: Vec<Val>,
    },
    /// `flag x1` — records a failure if any lane is `true`.
    Flag(Val),
    /// `fail 3 (x1, x2)` — records a failure with its site and scalar operands, if it is the first. At most [`MOST_OPERANDS`], each stored as 64 bits: integers
    /// sign-extended, floats as their bits. A function that also flags may lose the record.
    Fail {
        /// The site of the check.
        site: u32,
        /// Its operands.
        operands: Vec<Val>,
    },
    /// `barrier` — waits until all threads of the block have arrived. GPU only.
    Barrier,
    /// `barrier warp` — waits until all threads of the warp have arrived: their earlier accesses are ordered before all later ones. GPU only.
    WarpBarrier,
}

/// Whether several threads can combine into an element with an operator, in any order, and the result is always the same: sums, products, extremes and bits of integers and truth values, and extremes of floats.
pub fn is_atomic(op: BinOp, ty: ScalarType) -> bool {
    use BinOp::*;
    match ty {
        ScalarType::Bool => matches!(op, And | Or | Xor),
        _ if ty.is_float() => matches!(op, Min | Max),
        _ => matches!(op, Add | Mul | Min | Max | And | Or | Xor),
    }
}

/// The number of a thread or block: see [`Expr::Id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The number of this block in the grid.
    Block,
    /// The number of blocks of the grid.
    Blocks,
    /// The number of this thread in its block.
    Thread,
}

/// The source lane of a [`Expr::Shuffle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// The lane with that number.
    From,
    /// The lane this many below; below the first, its own.
    Up,
    /// The lane this many above; above the last, its own.
    Down,
    /// The lane whose number differs in these bits.
    Xor,
}

/// The definition of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// `const 3i64` — in every lane.
    Const(Scalar),
    /// `lanes` — 0, 1, 2 and so on: the number of each lane, `i64`.
    Lanes,
    /// `splat x1` — a scalar in every lane.
    Splat(Val),
    /// `sqrt(x1)`
    Unary(UnOp, Val),
    /// `add(x1, x2)`
    Binary(BinOp, Val, Val),
    /// `assoc add(x1, x2)` — as [`Expr::Binary`], of an operator whose applications may be grouped and, if it commutes, ordered in another way: by
    /// a schedule, or by a compiler where that does not change the value.
    Assoc(BinOp, Val, Val),
    /// `fma(x1, x2, x3)` — `x1 * x2 + x3`, rounded once.
    Fma(Val, Val, Val),
    /// `rint(x1)` — the nearest integer, halves to even.
    Rint(Val),
    /// `copysign(x1, x2)` — the magnitude of the first with the sign of the second.
    CopySign(Val, Val),
    /// `cast f64 (x1)` — value conversion, as in the array IR.
    Cast(ScalarType, Val),
    /// `bitcast i64 (x1)` — the bits reinterpreted as another type of that width.
    Bitcast(ScalarType, Val),
    /// `select(x1, x2, x3)` — lane by lane; the condition may be a scalar.
    Select(Val, Val, Val),
    /// `load b0[x1]` — with a scalar index and several lanes, successive elements; with one index for each lane, one from each. Lanes whose
    /// mask is `false` read nothing and are 0: `load b0[x1] where x2`.
    Load {
        /// The buffer.
        buf: Buf,
        /// The index.
        at: Val,
        /// The mask; all lanes, if there is none.
        mask: Option<Val>,
    },
    /// `total add(x1)` — all lanes combined to a scalar; float sums and products by halving: lanes `i` and `i + n/2` first. The number of lanes is a power of two.
    Total(BinOp, Val),
    /// `lane x1[3]` — one lane, a scalar.
    Lane(Val, u16),
    /// `swizzle(x1, x2) [0, 8, 1, 9]` — lanes of the first, counted from 0, and of the second, numbered after them.
    Swizzle(Val, Val, Vec<u16>),
    /// `unaligned b0` — the offset of a buffer parameter from a multiple of 64 bytes, in elements. `i64`.
    Unaligned(Buf),
    /// `failed` — whether this thread has recorded a failure so far, or another one has ended with one.
    Failed,
    /// `id thread` — the number of the thread or block. GPU only. `i64`.
    Id(Axis),
    /// `shuffle xor (x1, x2)` — the value of another thread of the warp. GPU only; scalars; the second operand is `i64` and counts
    /// modulo 32.
    Shuffle(Shuffle, Val, Val),
    /// `ballot(x1)` — in which threads of the warp a scalar `bool` is `true`: a bit for each, that of the first the lowest. GPU only. `u32`.
    Ballot(Val),
}
