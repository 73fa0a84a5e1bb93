//! The kernel IR: spaces, scalar programs over them, and sinks.
//!
//! Flattening creates it from the array IR. There are no arrays in it any more, only scalars that exist at every point of a space, and buffers that
//! store them.
//!
//! # Spaces
//! A [`Space`] is the set of points of a computation. Spaces form a tree. The root has one point. Below a space `s`
//! - [`Region::Dim`] has a point for each position below a size, for each point of `s`. If the size is the same at all points of `s` the dimension is
//!   *dense*, else it is *ragged*. The rows of a matrix, the entries of a sparse one and the results of an `expand` are dimensions. If the size is the difference
//!   of two successive elements of a buffer of offsets, at the position in `s`, the dimension names that buffer ([`SpaceData::offsets`]): its points are *rows*;
//! - [`Region::Guard`] has one point or none for each point of `s`: the branches of a conditional, and the elements that pass a filter;
//! - [`Region::Loop`] has a point for each round of a sequential loop;
//! - [`Region::Lambda`] is the body of a combining function: it runs whenever the function is applied.
//!
//! Dimensions and guards of equal size or condition below the same space are the same space. So two traversals that have only their length
//! in common share a loop.
//!
//! # Nodes
//! A [`Node`] is a scalar at every point of its space, computed from earlier nodes of that space and of enclosing spaces. Nodes are *pure*: it does not matter where
//! and how often one is computed, so equal nodes are the same node, and a node lives in the outermost possible space. Three kinds live
//! no further out than they are needed: loads and loops stay inside the guards around them, and checks stay inside the dimensions too.
//! Folds, conditionals and loops have several scalar results; [`Op::Part`] selects one.
//!
//! # Steps
//! A host runs a [`Program`] by executing its [`Step`]s in order: it allocates buffers, runs kernels, and decides branches and loops that contain kernels.
//! Buffers are its variables: [`Step::Bind`] lets one name the memory of another, [`Step::Free`] drops the memory.
//! A [`Kernel`] is a list of [`Sink`]s. Their needs determine everything else: their spaces are the loops, the nodes they depend on are the
//! program at each point. A scalar of the host is a buffer of one element. A loop over the chunks of sequences names the sequences it traverses ([`Stream`]).
//!
//! # Failures
//! A [`Op::Check`] whose condition does not hold makes the run fail; the lowest failing point of a kernel is reported. Its value is then zero, so that no
//! access is out of range even then.

use crate::array::{BinOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use deckle_diag::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

mod build;
mod linear;
mod needs;
mod parse;
mod print;
mod rename;
mod stream;
#[cfg(test)]
mod tests;
mod uses;
mod verify;

pub use crate::fault::{Fault, Place};
pub use build::FoldSpec;
pub use linear::Linear;
pub use parse::parse;
pub use stream::Stream;
pub use uses::{StepUses, Uses};
pub use verify::verify;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
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
    )*};
}

handles! {
    /// A space.
    Space "s";
    /// A scalar at every point of a space.
    Node "t";
    /// A buffer. It is a variable of the host: a step may bind it to other memory.
    Buf "b";
    /// A place in the source of a check.
    Site "c";
}

/// The kind of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// One point.
    Root,
    /// A point for each position below a size, a node of the enclosing space.
    Dim(Node),
    /// A point if the condition, a node of the enclosing space, equals the flag.
    Guard(Node, bool),
    /// A point for each round. Its [`Op::Var`]s are the state.
    Loop,
    /// A point for each application. Its [`Op::Var`]s are the operands.
    Lambda,
}

/// A space: its kind, and its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpaceData {
    /// The enclosing space; the root is its own parent.
    pub parent: Space,
    /// The number of enclosing spaces.
    pub depth: u32,
    /// Its kind.
    pub region: Region,
    /// Of a dimension whose points are the elements of rows: the buffer of offsets. The size is the difference of two successive elements of this buffer, at the
    /// position in the enclosing dimension, unless a check on which it depends fails. [`Program::dim`] derives it from the size.
    pub offsets: Option<Buf>,
}

/// How the elements of a fold or scan are combined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Each component by an operator of its own.
    Ops(Vec<BinOp>),
    /// By a function: its operands are the variables of the space, first all components of the left operand, then those of the right one.
    Lambda(Space, Vec<Node>),
    /// The same by a function that is not associative: sequentially, with the accumulator on the left.
    InOrder(Space, Vec<Node>),
}

impl Combine {
    /// The space of a function, and its results.
    pub fn function(&self) -> Option<(Space, &[Node])> {
        match self {
            Combine::Ops(_) => None,
            Combine::Lambda(space, results) | Combine::InOrder(space, results) => Some((*space, results)),
        }
    }
}

/// The operation of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A number.
    Const(Scalar),
    /// The position in the node's own space, a [`Region::Dim`].
    Pos,
    /// The state or operand of that number in the node's own space, a loop or lambda.
    Var(u32),
    /// A scalar operator.
    Unary(UnOp, Node),
    /// A scalar operator. Division by zero gives zero.
    Binary(BinOp, Node, Node),
    /// A conversion.
    Cast(ScalarType, Node),
    /// One of two values that are both computed.
    Select(Node, Node, Node),
    /// A product and a sum of floats, rounded once.
    Fma(Node, Node, Node),
    /// An element of a buffer. The index is in range wherever the node is computed.
    Load(Buf, Node),
    /// The value if the condition holds, else zero, and the run fails.
    Check {
        /// The condition.
        cond: Node,
        /// The value if it holds.
        value: Node,
        /// The place and the message.
        site: Site,
        /// The operands of the message.
        operands: Vec<Node>,
    },
    /// All points of `over`, a space below the node's own with dimensions and guards between, combined in order. Has a part for each component, and an
    /// additional one: whether there was any point.
    Fold {
        /// The points.
        over: Space,
        /// The initial values. Without initial values and points, zero.
        init: Option<Vec<Node>>,
        /// The values that are combined.
        elems: Vec<Node>,
        /// How they are combined.
        combine: Combine,
    },
    /// All points of the node's own space so far, starting at each point of `from`, an enclosing space. Has a part for each component.
    Scan {
        /// Where it restarts.
        from: Space,
        /// The initial values.
        init: Option<Vec<Node>>,
        /// The values that are combined.
        elems: Vec<Node>,
        /// How they are combined.
        combine: Combine,
        /// Whether the point itself is excluded. Needs an init.
        exclusive: bool,
    },
    /// The values of the first guard if its condition holds, else those of the second.
    If {
        /// The guard of the first branch.
        yes: Space,
        /// Its values.
        then: Vec<Node>,
        /// The guard of the second branch.
        no: Space,
        /// Its values.
        other: Vec<Node>,
    },
    /// The state after the last round: while `cond`, of the space, holds, the state becomes `next`, of a guard below it.
    Loop {
        /// Its space.
        space: Space,
        /// The initial state.
        init: Vec<Node>,
        /// Whether there is another round.
        cond: Node,
        /// The guard under which the next state is computed.
        inside: Space,
        /// The next state.
        next: Vec<Node>,
        /// The checks of every round.
        checks: Vec<Node>,
    },
    /// A component of a fold, scan, conditional or loop.
    Part(Node, u32),
}

/// A node: its operation, type and space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeData {
    /// Its operation.
    pub op: Op,
    /// Its type; with several parts, that of the first.
    pub ty: ScalarType,
    /// Its space.
    pub space: Space,
}

/// A buffer: its element type, and the facts about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufData {
    /// Its element type.
    pub elem: ScalarType,
    /// Its contents, in source terms: `` `xs` ``, "the result of `scan`".
    pub name: String,
    /// Their span in the source.
    pub span: Span,
    /// The number of elements, if a node of the root gives it whenever the buffer has memory.
    pub len: Option<Node>,
}

/// The subject of a check. The operands of the check are those of the fault, and then those of each place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SiteData {
    /// The fault.
    pub kind: Fault,
    /// Its span in the source.
    pub span: Span,
    /// The runs of the enclosing bodies, the innermost first.
    pub places: Vec<Place>,
    /// The parameter whose argument is checked, if it is one.
    pub param: Span,
}

impl SiteData {
    /// The message of a failure of the check with these operands.
    pub fn report(&self, operands: &[i128]) -> Diagnostic {
        let more: usize = self.places.iter().map(Place::operands).sum();
        let (own, mut rest) = operands.split_at(operands.len().saturating_sub(more));
        let mut d = self.kind.report(self.span, own);
        for place in &self.places {
            let (at, others) = rest.split_at(place.operands().min(rest.len()));
            d = d.note(place.note(at));
            rest = others;
        }
        if self.param.is_none() || self.span.is_none() { d } else { d.label(self.param, "this parameter") }
    }
}

/// The use of values at each point of a space.
#[derive(Clone, Debug, PartialEq)]
pub enum Sink {
    /// Stored in a buffer. No two points have the same index.
    Write {
        /// The points.
        space: Space,
        /// The buffer.
        buf: Buf,
        /// The index, in range.
        at: Node,
        /// The value.
        value: Node,
    },
    /// Combined into buffers, in the order of the points: the left operand is the value, the right one the current element. Without `combine` the
    /// last value remains.
    Scatter {
        /// The points.
        space: Space,
        /// A buffer for each component.
        bufs: Vec<Buf>,
        /// The index, in range.
        at: Node,
        /// The number of elements of the buffers.
        len: Node,
        /// Points of this space have disjoint elements: no two of them share one.
        within: Space,
        /// The values.
        values: Vec<Node>,
        /// How they are combined.
        combine: Option<Combine>,
    },
    /// Only checked.
    Check(Node),
}

impl Sink {
    /// The buffers that it writes.
    pub fn bufs(&self) -> &[Buf] {
        match self {
            Sink::Write { buf, .. } => std::slice::from_ref(buf),
            Sink::Scatter { bufs, .. } => bufs,
            Sink::Check(_) => &[],
        }
    }
}

/// One launch: sinks over spaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its sinks.
    pub sinks: Vec<Sink>,
    /// Its purpose, in source terms.
    pub name: String,
}

/// A step of the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Allocates a buffer; the number of elements is a node of the root.
    Alloc(Buf, Node),
    /// Runs a kernel.
    Run(Kernel),
    /// Makes a check, a node of the root.
    Check(Node),
    /// Fills `order`: for each row the positions of its elements in the buffers of the keys, in ascending order of these, stable. Offsets give the rows;
    /// without them, all have the same length.
    Sort {
        /// Of `i64`, with the length of the keys.
        order: Buf,
        /// The keys, the most significant component first.
        keys: Vec<Buf>,
        /// The number of elements, a node of the root.
        len: Node,
        /// The bounds of the rows.
        offsets: Option<Buf>,
        /// The number of rows, a node of the root.
        rows: Node,
    },
    /// Fills the buffers of a representation with the next elements of a sequence that comes from outside: `count` of them, a node of the root, or all that remain. Unless
    /// `all` are requested, fewer are allowed, but at least one unless none remain.
    Pull {
        /// The parameter; its own representation has no buffers.
        param: u32,
        /// The number of elements.
        count: Node,
        /// Whether all are requested.
        all: bool,
        /// An array of one element, the vector of the elements. All rows inside have offsets.
        rep: Rep,
    },
    /// Passes the elements of a vector to the consumer of a result.
    Push {
        /// The number of the result among the streamed results.
        to: u32,
        /// An array of one element, the vector.
        rep: Rep,
    },
    /// Binds buffers to the memory of others, all at once.
    Bind(Vec<(Buf, Buf)>),
    /// Gives the first buffer the contents of the second for exclusive use, with the given number of elements; the second is then unbound. The memory stays the same
    /// if it has no other handle and the required size; otherwise the contents are copied, as far as they fit.
    Take(Buf, Buf, Node),
    /// Unbinds buffers: their memory is freed, unless others name it.
    Free(Vec<Buf>),
    /// One of two lists of steps, by a node of the root.
    If(Node, Vec<Step>, Vec<Step>),
    /// While a node of the root, recomputed after `test`, holds: `body`.
    While {
        /// The steps before each test.
        test: Vec<Step>,
        /// The condition.
        cond: Node,
        /// The steps of a round.
        body: Vec<Step>,
        /// The sequences it traverses, if its rounds are chunks of sequences.
        stream: Option<Stream>,
    },
}

/// The layout of an array of values of some type in buffers.
#[derive(Clone, Debug, PartialEq)]
pub enum Rep {
    /// Contiguous scalars.
    Scalar(Buf),
    /// Each component separately.
    Tuple(Vec<Rep>),
    /// The elements of the first, then of the second, and so on.
    Array(Rows, Box<Rep>),
}

impl Rep {
    /// The sizes of its rows, if all are equal.
    pub fn sizes(&self) -> Vec<Node> {
        match self {
            Rep::Scalar(_) => Vec::new(),
            Rep::Tuple(parts) => parts.iter().flat_map(Rep::sizes).collect(),
            Rep::Array(rows, elem) => {
                let mut all = elem.sizes();
                if let Rows::Equal(n) = rows {
                    all.push(*n);
                }
                all
            }
        }
    }
}

/// The bounds of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All have this size, a node of the root.
    Equal(Node),
    /// Row `i` runs from offset `i` to offset `i + 1`, exclusive.
    Offsets(Buf),
}

/// A program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// All spaces; the first is the root.
    pub spaces: Vec<SpaceData>,
    /// All nodes.
    pub nodes: Vec<NodeData>,
    /// All buffers.
    pub bufs: Vec<BufData>,
    /// All sites.
    pub sites: Vec<SiteData>,
    /// Buffers that are data of the program.
    pub data: Vec<(Buf, Vec<Scalar>)>,
    /// The parameters: each an array of one element.
    pub params: Vec<Rep>,
    /// The steps.
    pub steps: Vec<Step>,
    /// The result: an array of one element.
    pub result: Rep,
    /// The decisions on the way, with reasons, in source terms.
    pub notes: Vec<String>,
    /// Checks of the root that steps make before every kernel that needs them, if that has been determined: see [`Program::silent`].
    pub settled: BTreeSet<Node>,
    pub(crate) made_nodes: FxHashMap<NodeData, Node>,
    pub(crate) made_spaces: FxHashMap<SpaceData, Space>,
    pub(crate) made_sites: FxHashMap<SiteData, Site>,
}

/// The space with one point.
pub const ROOT: Space = Space(0);
