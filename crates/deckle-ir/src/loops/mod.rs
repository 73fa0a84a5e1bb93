//! The loop IR: structured loops over typed buffers.
//!
//! This is what a schedule makes of a kernel and what becomes machine code. It says nothing of arrays, sizes or raggedness: those
//! are loops, loads and numbers by now. CPU and GPU schedules both produce it; [`crate::loops`] programs run as native code, as
//! PTX, or on the lock-step simulator.
//!
//! # Meaning
//! - A [`Function`] has buffers and scalar parameters, and a body. Values are in single static assignment: each [`Val`] is defined by exactly one
//!   statement, and may be used after it in its own block and in the blocks inside. A block passes values outward only through its `results`.
//! - A value has a [`Ty`]: a scalar type and a number of lanes. One lane is a scalar. Operators work lane by lane, and all their operands have
//!   as many lanes, except where an operator says otherwise. A mask is `bool` with lanes.
//! - Scalar operators mean what `scalar_eval` says, with two differences: integer division and remainder by zero and integer powers with a negative
//!   exponent give 0 (whoever emits them has checked the operand); and one divided by a square root, with several lanes, may be computed at once, within
//!   1.1 units in the last place (docs/mathematics.md promises no more of it). A multiplication and an addition are two operations, each rounded, unless they are written as [`Expr::Fma`].
//! - Buffers do not overlap, except that one buffer may be passed for two parameters that are both only read.
//! - Buffers hold `bool` as one byte, 0 or 1. Indices count elements and are `i64`.
//! - Every buffer can be read at index 0, even if it has no elements.
//!
//! # Failing
//! Code does not stop at an error. [`Stmt::Flag`] notes that something went wrong; when the function returns and the flag is set, it has stored 1
//! into the first word of its error record, and its results mean nothing. Whoever called it may then run the version of the function that was made to find out what:
//! there a [`Stmt::Fail`] writes the site and the operands of the first failure into the record, and later ones do nothing.
//!
//! # Threads
//! On a CPU a function runs on one thread; the calls of one kernel differ in their scalar parameters. On a GPU
//! ([`Function::block`] is not 0) it runs on all threads of all blocks of a grid at once; [`Expr::Id`] tells them apart. Threads of a block
//! share [`Local`]s of kind [`Place::Shared`] and meet at [`Stmt::Barrier`], which all or none of them reach. 32 successive threads are a warp
//! and can exchange values by [`Expr::Shuffle`] or order their accesses by [`Stmt::WarpBarrier`], which all of them reach together.

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
pub use launch::{Copies, GridLaunch, Launch, Lengths, Long, Owned, Parts, Phase, Rows, ScanLevel, Turns, Wide, Work};
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

/// A buffer of a function: a parameter, or after these a local one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buf(pub u32);

macro_rules! handle {
    ($name:ident, $prefix:literal) => {
        impl $name {
            /// Its place in the arena.
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

/// The type of a value: printed `f64`, or `f64x8` where there are several lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    /// The type of each lane.
    pub scalar: ScalarType,
    /// How many lanes, at least 1.
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

/// What a function does with a buffer.
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
    /// What is done with it.
    pub access: Access,
}

/// Where a local buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Each thread has its own.
    Private,
    /// The threads of a block have one together. GPU only.
    Shared,
}

/// A buffer of fixed size that exists while the function runs. Its contents are unspecified at first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// The type of its elements.
    pub elem: ScalarType,
    /// How many elements.
    pub len: u32,
    /// Where.
    pub place: Place,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// The buffers that it is passed: `Buf(0)` and on.
    pub buffers: Vec<Param>,
    /// The local buffers: those after the parameters.
    pub locals: Vec<Local>,
    /// The scalars that it is passed, all of one lane.
    pub scalars: Vec<Val>,
    /// The type of each value.
    pub vals: Vec<Ty>,
    /// What it does. Has no results.
    pub body: Block,
    /// On a GPU the number of threads in a block, a multiple of 32; 0 on a CPU.
    pub block: u32,
}

/// Statements that run in order, and the values that the block passes outward.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// What is done.
    pub stmts: Vec<Stmt>,
    /// What comes out.
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

/// What a schedule knows about a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoopHint {
    /// Nothing.
    #[default]
    Plain,
    /// So few rounds, those of a short row or of a window, that code which can fail does not look between them whether something has failed.
    Short,
    /// The rounds are independent, but for carried values that are combined with [`Expr::Assoc`]: the loop may be vectorised.
    Independent,
    /// So few rounds that all should be written out: the builder does it where their number is constant and the body has no blocks inside, LLVM elsewhere.
    Unroll,
}

/// How a store is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StoreHint {
    /// As usual.
    #[default]
    Cached,
    /// Past it: what is stored is more than the cache holds and will not be read soon. With several lanes and no mask, to a multiple of them in a
    /// buffer that is aligned to 64 bytes; with one lane, this has no effect.
    Streaming,
    /// To places to which other threads may store the same value meanwhile.
    Shared,
    /// Several lanes, from a scalar index on: those where the mask is `true`, one after another.
    Packed,
}

/// How lanes with an index each are loaded. That is not said in the loop IR, but a schedule may have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathers {
    /// By the instruction for it.
    Native,
    /// By one load for each lane.
    Emulated,
}

/// How fast a processor stores vectors that begin in one cache line and end in the next. A schedule may have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// About as fast as others.
    Anywhere,
    /// Several times as slow, where the lines come from memory: whole lines are better.
    InLines,
}

/// So many operands of a failed check are recorded.
pub const MOST_OPERANDS: usize = 62;

/// The words of an error record: whether there is a failure, its site, how many operands there are, the operands.
pub const RECORD: usize = 3 + MOST_OPERANDS;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `x3: f64 = mul(x1, x2)` — defines a value.
    Let(Val, Expr),
    /// `store b0[x1] = x2` — with a scalar index and several lanes, to successive elements; with as many indices as lanes, to each of them, in the order of the
    /// lanes. Lanes where the mask is `false` store nothing: `store b0[x1] = x2 where x3`.
    Store {
        /// Where to.
        buf: Buf,
        /// Which element.
        at: Val,
        /// What.
        value: Val,
        /// Which lanes; all, if there is none.
        mask: Option<Val>,
        /// How.
        hint: StoreHint,
    },
    /// `atomic add b0[x1] = x2` — combines into an element, indivisibly. Scalars only.
    Atomic {
        /// An operator that [`is_atomic`] for the type of the elements. A NaN that results is the same, whatever the operands were.
        op: BinOp,
        /// Where to.
        buf: Buf,
        /// Which element.
        at: Val,
        /// What.
        value: Val,
    },
    /// `for x1 = x2 .. x3 step 1 (x5: f64 = x4 -> x6) { ... }` — the body for `var` from `lo` below `hi` in steps; its results are what is
    /// carried on. `hi + step` does not overflow.
    For {
        /// The counter, `i64`.
        var: Val,
        /// Its first value.
        lo: Val,
        /// What it stays below.
        hi: Val,
        /// How far it advances, at least 1.
        step: i64,
        /// What is carried.
        carries: Vec<Carry>,
        /// What is done.
        body: Block,
        /// What is known of it.
        hint: LoopHint,
    },
    /// `while (x5: f64 = x4 -> x6) { ... } { ... }` — `test` runs first in each round, and its one result, a scalar `bool`, says whether `body` follows, whose results are
    /// carried on. What `test` defines is visible in `body`.
    While {
        /// What is carried.
        carries: Vec<Carry>,
        /// Whether to go on.
        test: Block,
        /// What is done.
        body: Block,
    },
    /// `if x1 { ... } { ... } -> (x5: f64)` — one of two blocks, by a scalar `bool`; the results of that block become the results.
    If {
        /// Which.
        cond: Val,
        /// If `true`.
        yes: Block,
        /// If `false`.
        no: Block,
        /// What comes out.
        results: Vec<Val>,
    },
    /// `flag x1` — notes a failure if any lane is `true`.
    Flag(Val),
    /// `fail 3 (x1, x2)` — notes a failure and records its site and scalar operands, if it is the first. At most [`MOST_OPERANDS`], each stored as 64 bits: integers
    /// extended by their sign, floats as their bits. A function that flags as well may lose the record.
    Fail {
        /// Which check.
        site: u32,
        /// What it was about.
        operands: Vec<Val>,
    },
    /// `barrier` — waits until all threads of the block are here. GPU only.
    Barrier,
    /// `barrier warp` — waits until all threads of the warp are here: what they did before comes before what any of them does after. GPU only.
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

/// Who runs: see [`Expr::Id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The number of this block in the grid.
    Block,
    /// How many blocks the grid has.
    Blocks,
    /// The number of this thread in its block.
    Thread,
}

/// From where a [`Expr::Shuffle`] takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// The lane of that number.
    From,
    /// The lane so many below; below the first, its own.
    Up,
    /// The lane so many above; above the last, its own.
    Down,
    /// The lane whose number differs in these bits.
    Xor,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// `const 3i64` — in every lane.
    Const(Scalar),
    /// `lanes` — 0, 1, 2 and so on: each lane its number, `i64`.
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
    /// `copysign(x1, x2)` — the size of the first with the sign of the second.
    CopySign(Val, Val),
    /// `cast f64 (x1)` — conversion of values, as in the array IR.
    Cast(ScalarType, Val),
    /// `bitcast i64 (x1)` — the same bits as another type of that width.
    Bitcast(ScalarType, Val),
    /// `select(x1, x2, x3)` — lane by lane; the condition may be a scalar.
    Select(Val, Val, Val),
    /// `load b0[x1]` — with a scalar index and several lanes, successive elements; with as many indices as lanes, one from each. Lanes where
    /// the mask is `false` read nothing and are 0: `load b0[x1] where x2`.
    Load {
        /// From where.
        buf: Buf,
        /// Which element.
        at: Val,
        /// Which lanes; all, if there is none.
        mask: Option<Val>,
    },
    /// `total add(x1)` — all lanes combined to a scalar; float sums and products by halves: lanes `i` and `i + n/2` first. The number of lanes is a power of two.
    Total(BinOp, Val),
    /// `lane x1[3]` — one lane, a scalar.
    Lane(Val, u16),
    /// `swizzle(x1, x2) [0, 8, 1, 9]` — lanes of the first, counted from 0, and of the second, counted on.
    Swizzle(Val, Val, Vec<u16>),
    /// `unaligned b0` — how many elements a buffer that is passed begins behind a multiple of 64 bytes. `i64`.
    Unaligned(Buf),
    /// `failed` — whether this thread has noted a failure so far, or another one has ended with one.
    Failed,
    /// `id thread` — who runs. GPU only. `i64`.
    Id(Axis),
    /// `shuffle xor (x1, x2)` — the value of another thread of the warp. GPU only; scalars; the second operand is `i64` and counts
    /// modulo 32.
    Shuffle(Shuffle, Val, Val),
}
