//! The kernel IR: spaces, scalar programs over them, and sinks.
//!
//! Flattening makes it from the array IR. There are no arrays in it any more, only scalars that exist at every point of a space, and buffers in
//! which they are kept.
//!
//! # Spaces
//! A [`Space`] is what a computation runs over. Spaces form a tree. The root has one point. Below a space `s`
//! - [`Region::Dim`] has a point for each position below a size, for each point of `s`. If the size is the same at all points of `s` the dimension is
//!   *dense*, else it is *ragged*. The rows of a matrix, the entries of a sparse one and what an `expand` makes are dimensions. Where the size is the difference
//!   of two successive elements of a buffer of offsets, at the position in `s`, the dimension names that buffer ([`SpaceData::offsets`]): its points are *rows*;
//! - [`Region::Guard`] has one point or none for each point of `s`: the branches of a conditional, and what a filter keeps;
//! - [`Region::Loop`] has a point for each round of a sequential loop;
//! - [`Region::Lambda`] is the body of a combining function: it runs whenever that is applied.
//!
//! Dimensions and guards of equal size or condition below the same space are the same space. So two traversals that have nothing to do with each
//! other but their length share a loop.
//!
//! # Nodes
//! A [`Node`] is a scalar at every point of its space, computed from nodes of that space and of spaces around it, all made before it. Nodes are *pure*: where one is computed,
//! and how often, does not matter, so equal nodes are the same node, and a node lives in the outermost space in which it can. Three kinds live
//! where they are needed and no further out: loads and loops stay inside the guards around them, and checks stay inside the dimensions too.
//! Folds, conditionals and loops give several scalars; [`Op::Part`] picks one.
//!
//! # Steps
//! A [`Program`] is run by a host, which executes [`Step`]s in order: it makes buffers, runs kernels, and decides branches and loops that contain kernels.
//! Buffers are its variables: [`Step::Bind`] lets one name the memory of another, [`Step::Free`] lets go of it.
//! A [`Kernel`] is a list of [`Sink`]s. What they need determines everything else: their spaces are the loops, the nodes they depend on are the
//! program at each point. A scalar of the host is a buffer of one element. A loop over the chunks of sequences names what it traverses ([`Stream`]).
//!
//! # Failing
//! A [`Op::Check`] whose condition does not hold makes the run fail, with the lowest failing point of a kernel first. Its value is then zero, so that nothing
//! is read or written out of range even so.

use crate::array::{BinOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use deckle_diag::{Diagnostic, Span};
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
    /// A buffer. It is a variable of the host: a step may let it name other memory.
    Buf "b";
    /// A place in the source where something is checked.
    Site "c";
}

/// What kind of space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// One point.
    Root,
    /// A point for each position below a size, a node of the space around.
    Dim(Node),
    /// A point where the condition, a node of the space around, is as the flag says.
    Guard(Node, bool),
    /// A point for each round. Its [`Op::Var`]s are the state.
    Loop,
    /// A point for each application. Its [`Op::Var`]s are the operands.
    Lambda,
}

/// A space: what it is, and what it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpaceData {
    /// The space around; the root's is itself.
    pub parent: Space,
    /// How many spaces are around it.
    pub depth: u32,
    /// What it is.
    pub region: Region,
    /// Of a dimension whose points are the elements of rows: the buffer of offsets. The size is the difference of two successive elements of this buffer, at the
    /// position in the dimension around, unless a check on which it depends fails. [`Program::dim`] derives it from the size.
    pub offsets: Option<Buf>,
}

/// How the elements of a fold or scan are combined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Each component by an operator of its own.
    Ops(Vec<BinOp>),
    /// By a function: its operands are the variables of the space, first all components of the left one, then those of the right one.
    Lambda(Space, Vec<Node>),
    /// The same by a function that is not associative: one element after another, with what has been combined before on the left.
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

/// What a node is.
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
    /// Of two values that are both computed.
    Select(Node, Node, Node),
    /// A product and a sum of floats, rounded once.
    Fma(Node, Node, Node),
    /// An element of a buffer. The index is in range wherever the node is computed.
    Load(Buf, Node),
    /// The value if the condition holds, else zero, and the run fails.
    Check {
        /// What must hold.
        cond: Node,
        /// What is then the value.
        value: Node,
        /// What to say.
        site: Site,
        /// And of which numbers.
        operands: Vec<Node>,
    },
    /// All points of `over`, a space below the node's own with dimensions and guards between, combined in order. Has a part for each component, and one
    /// more: whether there was any point.
    Fold {
        /// Over which points.
        over: Space,
        /// What to start from. If there is nothing to start from and no point, zero.
        init: Option<Vec<Node>>,
        /// What is combined.
        elems: Vec<Node>,
        /// And how.
        combine: Combine,
    },
    /// All points of the node's own space so far, from the beginning at each point of `from`, a space around it. Has a part for each component.
    Scan {
        /// Where it begins anew.
        from: Space,
        /// What to start from.
        init: Option<Vec<Node>>,
        /// What is combined.
        elems: Vec<Node>,
        /// And how.
        combine: Combine,
        /// Whether the point itself is left out. Needs an init.
        exclusive: bool,
    },
    /// The values of the first guard where its condition holds, else those of the second.
    If {
        /// The guard that holds.
        yes: Space,
        /// Its values.
        then: Vec<Node>,
        /// The guard that holds otherwise.
        no: Space,
        /// Its values.
        other: Vec<Node>,
    },
    /// The state after the last round: as long as `cond`, of the space, holds, the state becomes `next`, of a guard below it.
    Loop {
        /// Its space.
        space: Space,
        /// The state at first.
        init: Vec<Node>,
        /// Whether there is another round.
        cond: Node,
        /// The guard under which the next state is computed.
        inside: Space,
        /// The next state.
        next: Vec<Node>,
        /// Checks that every round makes.
        checks: Vec<Node>,
    },
    /// A component of a fold, scan, conditional or loop.
    Part(Node, u32),
}

/// A node: what it is, of which type, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeData {
    /// What.
    pub op: Op,
    /// The type; of what has parts, that of the first.
    pub ty: ScalarType,
    /// Where.
    pub space: Space,
}

/// A buffer: its element type, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufData {
    /// Of what.
    pub elem: ScalarType,
    /// What it holds, in the words of the source: `` `xs` ``, "the result of `scan`".
    pub name: String,
    /// Where that stands in the source.
    pub span: Span,
    /// How many elements, where a node of the root tells that wherever the buffer has memory.
    pub len: Option<Node>,
}

/// What a check is about. The operands of the check are those of the fault, and then those of each place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SiteData {
    /// Which.
    pub kind: Fault,
    /// Where in the source.
    pub span: Span,
    /// In which runs of the bodies around it, the innermost first.
    pub places: Vec<Place>,
    /// The parameter whose argument is checked, if it is one.
    pub param: Span,
}

impl SiteData {
    /// A failure of the check with these operands, in words.
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

/// What becomes of the values at each point of a space.
#[derive(Clone, Debug, PartialEq)]
pub enum Sink {
    /// Kept in a buffer. No two points have the same index.
    Write {
        /// At which points.
        space: Space,
        /// Where.
        buf: Buf,
        /// At which index, in range.
        at: Node,
        /// What.
        value: Node,
    },
    /// Combined into buffers, in the order of the points: the left operand is the value, the right one what is there. Without `combine` the
    /// last value stays.
    Scatter {
        /// At which points.
        space: Space,
        /// Where: a buffer for each component.
        bufs: Vec<Buf>,
        /// At which index, in range.
        at: Node,
        /// How many elements the buffers have.
        len: Node,
        /// Points of this space have elements of their own: no two of them share one.
        within: Space,
        /// What.
        values: Vec<Node>,
        /// How.
        combine: Option<Combine>,
    },
    /// Only checked.
    Check(Node),
}

impl Sink {
    /// The buffers that it changes.
    pub fn bufs(&self) -> &[Buf] {
        match self {
            Sink::Write { buf, .. } => std::slice::from_ref(buf),
            Sink::Scatter { bufs, .. } => bufs,
            Sink::Check(_) => &[],
        }
    }
}

/// What runs at once: sinks over spaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// All that it does.
    pub sinks: Vec<Sink>,
    /// What it is for, in the words of the source.
    pub name: String,
}

/// What the host does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Makes a buffer of so many elements, a node of the root.
    Alloc(Buf, Node),
    /// Runs a kernel.
    Run(Kernel),
    /// Makes a check, a node of the root.
    Check(Node),
    /// Fills `order`: for each row the positions of its elements in the buffers of the keys, in ascending order of these, stable. Rows are given by offsets;
    /// without, there is one.
    Sort {
        /// Of `i64`, as long as the keys.
        order: Buf,
        /// The most significant component first.
        keys: Vec<Buf>,
        /// How many elements, a node of the root.
        len: Node,
        /// Where rows begin and end.
        offsets: Option<Buf>,
        /// How many rows, a node of the root.
        rows: Node,
    },
    /// Fills the buffers of a representation with the next elements of a sequence that comes from outside: `count` of them, a node of the root, or those that there are. If
    /// not all of them are asked for, some will do, one at least unless there are none.
    Pull {
        /// Which parameter it is; its own representation has no buffers.
        param: u32,
        /// How many.
        count: Node,
        /// Whether all are asked for.
        all: bool,
        /// An array of one element, the vector of these. All rows inside have offsets.
        rep: Rep,
    },
    /// Hands the elements of a vector over to whoever takes a result.
    Push {
        /// The number of that result among those that are taken so.
        to: u32,
        /// An array of one element, the vector.
        rep: Rep,
    },
    /// Lets buffers name the memory of others, all at once.
    Bind(Vec<(Buf, Buf)>),
    /// Lets the first buffer have the contents of the second for itself alone, and so many elements; the second then names nothing. The memory stays the same,
    /// where nobody else has it and it is as large as needed; else it is copied as far as there is room.
    Take(Buf, Buf, Node),
    /// Lets buffers name nothing: their memory is nobody's, unless others name it.
    Free(Vec<Buf>),
    /// One of two lists of steps, by a node of the root.
    If(Node, Vec<Step>, Vec<Step>),
    /// As long as a node of the root, computed anew after `test`, holds: `body`.
    While {
        /// What is done before each test.
        test: Vec<Step>,
        /// Whether to go on.
        cond: Node,
        /// What is done then.
        body: Vec<Step>,
        /// What it traverses, if its rounds are chunks of sequences.
        stream: Option<Stream>,
    },
}

/// How an array of values of some type lies in buffers.
#[derive(Clone, Debug, PartialEq)]
pub enum Rep {
    /// One scalar after another.
    Scalar(Buf),
    /// Each component for itself.
    Tuple(Vec<Rep>),
    /// The elements of the first, then of the second, and so on.
    Array(Rows, Box<Rep>),
}

impl Rep {
    /// The sizes of its rows, where all are equal.
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

/// Where each row begins and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All have this size, a node of the root.
    Equal(Node),
    /// Row `i` runs from the `i`th offset below the next.
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
    /// Buffers that are part of the program.
    pub data: Vec<(Buf, Vec<Scalar>)>,
    /// The parameters: each an array of one element.
    pub params: Vec<Rep>,
    /// What is done.
    pub steps: Vec<Step>,
    /// The result: an array of one element.
    pub result: Rep,
    /// What was decided on the way, and why, in the words of the source.
    pub notes: Vec<String>,
    /// Checks of the root that steps make before every kernel that needs them, where that has been looked at: see [`Program::silent`].
    pub settled: BTreeSet<Node>,
    pub(crate) made_nodes: HashMap<NodeData, Node>,
    pub(crate) made_spaces: HashMap<SpaceData, Space>,
    pub(crate) made_sites: HashMap<SiteData, Site>,
}

/// The space with one point.
pub const ROOT: Space = Space(0);
