//! Sequences in chunks.
//!
//! The pass rewrites a program over sequences into one with loops: each traversal is a `stream`, a loop whose state is carried from chunk to chunk, and whose body
//! has the same statements, over the next elements only. A statement that creates a sequence from numbers or a vector creates the next part of it instead; one that computes a
//! concrete value from a sequence becomes a part of the state; everything between them is unchanged. So chunks need no executor of their own: the result is an array program, which the
//! interpreter can run too.
//!
//! ```text
//! v2 = iota<seq>(n)                        v9 = stream(chunk, (0, 0)) { s -> lt(s.0, n) } { s ->
//! v3 = map(v2) { i -> .. }            ⇒      v2 = the integers from s.0 below min(s.0 + chunk, n), as a sequence
//! v4 = flatten(v3)                           v3 = map(v2) { i -> .. }
//! v5 = reduce<sum>(v4)                       v4 = flatten(v3)
//!                                            (s.0 + chunk, s.1 + reduce<sum>(v4)) }
//! ```
//!
//! # Input and output
//! A parameter that is a sequence is not in memory as a whole: `pull` returns its next elements, and its length is known only at the end. A result that is a sequence is delivered by
//! `push`, part by part; in its place the function returns the number of elements. Both are operators of the array IR; the executor decides where elements come from and go to.
//!
//! # Shared traversals
//! One loop traverses all sequences that statements connect, so several consumers of a sequence share its traversal. `group.rs` computes how far each advances in a step.
//!
//! # Bits
//! The chunk size is unknown before the program runs, so the code is the same for all sizes. Results that are independent of grouping are combined chunk by
//! chunk. Sums of floats are computed in blocks counted from the beginning of the sequence; an incomplete block waits for the next chunk (`state.rs`).
//!
//! # Large elements
//! A chunk has whole elements. Where sequences inside an element would be materialised, elements are processed in runs, and large ones alone, by their own loops (`large.rs`); a large group without an end flag yet is
//! processed incrementally (`open.rs`).
//!
//! # Conditions
//! If a condition selects a sequence, everything connected with that sequence is duplicated in both branches, where the sequence is known (`plan.rs`).
//!
//! # Unchunked functions
//! If a sequence cannot be traversed in this way (both operands of a `++` traverse the same one, say), the function is unchanged: [`chunk`] returns the reason.

mod align;
mod choose;
mod cut;
mod group;
mod inline;
mod large;
mod open;
mod plan;
mod source;
mod state;
mod traversal;

pub use choose::Chunks;
pub(crate) use choose::is_chunked;

use crate::cuts::Cuts;
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array::{
    BinOp, Coll, Copied, Copier, Direction, Function, Op, Program, Refused, Rewrite, ScanKind, rewrite,
};
use deckle_ir::entity::{Func, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use plan::{Branch, Unit};
use traversal::Traversal;

/// Why a function is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The reason.
    pub why: String,
    /// Where.
    pub span: Span,
}

impl Whole {
    fn new(why: impl Into<String>, span: Span) -> Whole {
        Whole { why: why.into(), span }
    }
}

/// Why a function is not in chunks.
#[derive(Clone, Debug)]
pub enum Unchunked {
    /// It is unchanged, for a reason in the function itself.
    Whole(Whole),
    /// A bug of this pass.
    Bug(Box<Diagnostic>),
}

impl From<Box<Diagnostic>> for Unchunked {
    fn from(bug: Box<Diagnostic>) -> Unchunked {
        Unchunked::Bug(bug)
    }
}

impl From<Whole> for Unchunked {
    fn from(whole: Whole) -> Unchunked {
        Unchunked::Whole(whole)
    }
}

impl Unchunked {
    /// No copy of a function with chunked traversals exists.
    fn refused(why: &Refused, function: &Function) -> Unchunked {
        match why {
            Refused::Sizes(_) => Whole::new("its sizes depend on sequences", function.span).into(),
            Refused::Bug(why) => {
                let message = format!("chunk: `{}` is not well formed in chunks: {why}", function.name);
                Unchunked::Bug(Box::new(Diagnostic::nowhere(Code::Internal, message)))
            }
        }
    }
}

/// A case that no well-formed function has, and so a bug: no copy is made with a stand-in for it.
fn bug(what: &str) -> Refused {
    Refused::Bug(what.to_string())
}

/// A value that every well-formed function has.
trait OrBug<T> {
    /// The value, or the error that it is missing.
    fn or_bug(self, what: &str) -> Copied<T>;
}

impl<T> OrBug<T> for Option<T> {
    fn or_bug(self, what: &str) -> Copied<T> {
        self.ok_or_else(|| Refused::Bug(format!("{what} is missing")))
    }
}

/// The parameters that a chunked function has besides those of the original, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// The maximal number of elements in a chunk.
    pub chunk: usize,
    /// The number of inner elements that are processed at once.
    pub inside: usize,
}

/// A function with chunked traversals.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunked {
    /// All functions before it, and in its place one with two more parameters.
    pub program: Program,
    /// Which parameters these are.
    pub sizes: ChunkSizes,
    /// For each sequence in the result, in order, the number of the `push` that delivers it.
    pub pushes: Vec<u32>,
}

/// The function with chunked traversals. `None` if it has no sequences.
///
/// # Errors
/// The reason why it cannot be chunked, or a bug.
pub fn chunk(program: &Program, func: Func, cuts: Cuts) -> Result<Option<Chunked>, Unchunked> {
    let before = &program.funcs[..func.index()];
    let old = &program.funcs[func.index()];
    let flat = inline::inline(before, old).map_err(|why| Unchunked::refused(&why, old))?;
    let units = plan::units(&flat, cuts)?;
    if units.iter().all(|unit| matches!(unit, Unit::Statement(_))) {
        return Ok(None);
    }
    let mut chunks = Chunker { units, sizes: None };
    let new = rewrite(before, &flat, &mut chunks).map_err(|why| Unchunked::refused(&why, &flat))?;
    let sizes = chunks.sizes.and_then(|sizes| sizes.numbers(&new)).or_bug("a size of chunks");
    let sizes = sizes.map_err(|why| Unchunked::refused(&why, &flat))?;
    let mut funcs = before.to_vec();
    funcs.push(new);
    Ok(Some(Chunked { program: Program { funcs }, sizes, pushes: plan::pushes(&flat) }))
}

/// Numbers of elements, in the copy.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Those of a chunk.
    chunk: Var,
    /// The limit on inner elements processed at once.
    inside: Var,
}

impl Sizes {
    /// The numbers of these parameters.
    fn numbers(self, function: &Function) -> Option<ChunkSizes> {
        let number = |v: Var| function.params().iter().position(|p| *p == v);
        Some(ChunkSizes { chunk: number(self.chunk)?, inside: number(self.inside)? })
    }
}

/// The state of the rewriting.
#[derive(Default)]
struct Chunker {
    units: Vec<Unit>,
    /// Those of the function, once it has them.
    sizes: Option<Sizes>,
}

impl Rewrite for Chunker {
    fn begin(&mut self, copy: &mut Copier<'_>) -> Copied<()> {
        let [chunk, inside] = ["chunk", "inside"].map(|name| copy.b.param(name, Type::INT, copy.old.span));
        let (units, sizes) = (std::mem::take(&mut self.units), Sizes { chunk, inside });
        self.sizes = Some(sizes);
        self.all(copy, &units, sizes)
    }

    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Copied<()> {
        // The statements of the function itself have all been copied at once: a loop may come later than the first of its statements.
        match copy.old.body(Function::ROOT).stmts.binary_search(&s) {
            Ok(_) => Ok(()),
            Err(_) => copy.statement(self, s),
        }
    }
}

impl Chunker {
    /// Copies the statements of units.
    fn all(&mut self, copy: &mut Copier<'_>, units: &[Unit], sizes: Sizes) -> Copied<()> {
        units.iter().try_for_each(|unit| match unit {
            Unit::Statement(s) => copy.statement(self, *s),
            Unit::Decided(s, v) => {
                let v = copy.var(*v)?;
                copy.stand(*s, v);
                Ok(())
            }
            Unit::Loop(group) => Traversal::make(copy, self, group, sizes),
            Unit::Branch(branch) => self.branch(copy, branch, sizes),
        })
    }

    fn branch(&mut self, copy: &mut Copier<'_>, branch: &Branch, sizes: Sizes) -> Copied<()> {
        let span = copy.old.span(branch.stmt);
        let cond = copy.var(*copy.inst(branch.stmt)?.args.first().or_bug("a body or operand")?)?;
        // A parameter that is a result represents itself again in the other branch.
        let before: Vec<(Var, Var)> = branch.gives.iter().filter_map(|v| Some((*v, copy.var(*v).ok()?))).collect();
        let mut bodies = Vec::new();
        for (which, units) in branch.ways.iter().enumerate() {
            let (body, _) = copy.b.begin_body_of(&Op::If, &[cond], which, span)?;
            self.all(copy, units, sizes)?;
            let given = branch.gives.iter().map(|v| copy.var(*v)).collect::<Copied<Vec<_>>>()?;
            let given = push(copy, Op::Tuple, &given, span)?;
            copy.b.end_body(given);
            before.iter().for_each(|(v, now)| copy.stand(*v, *now));
            bodies.push(body);
        }
        let given = copy.b.push(Op::If, &[cond], &bodies, span)?;
        for (k, v) in branch.gives.iter().enumerate() {
            let value = part(copy, given, k as u32, span)?;
            copy.stand(*v, value);
        }
        Ok(())
    }
}

/// Fails if the lengths of the first of some operands and of another one are not equal.
fn equal_operands(copy: &mut Copier<'_>, n: Var, (k, m): (usize, Var), span: Span) -> Copied<()> {
    let first = push(copy, Op::Iota(Coll::Array), &[n], span)?;
    let mut all = vec![first; k];
    all.push(push(copy, Op::Iota(Coll::Array), &[m], span)?);
    push(copy, Op::Zip, &all, span).map(|_| ())
}

/// Fails if sequences that are traversed in lockstep differ in length; `n` and `m` are the lengths.
fn equal(copy: &mut Copier<'_>, n: Var, m: Var, span: Span) -> Copied<()> {
    let a = push(copy, Op::Iota(Coll::Seq), &[n], span)?;
    let b = push(copy, Op::Iota(Coll::Seq), &[m], span)?;
    push(copy, Op::Zip, &[a, b], span).map(|_| ())
}

/// The variables that a statement uses.
fn uses(function: &Function, s: Var) -> Vec<Var> {
    let Some(inst) = function.inst(s) else { return Vec::new() };
    let mut all = inst.args.clone();
    all.extend(inst.bodies.iter().flat_map(|b| function.free_vars(*b)));
    all
}

fn int(copy: &mut Copier<'_>, n: i64, span: Span) -> Copied<Var> {
    copy.b.push(Op::Const(Scalar::I64(n)), &[], &[], span).map_err(Refused::from)
}

fn part(copy: &mut Copier<'_>, tuple: Var, k: u32, span: Span) -> Copied<Var> {
    copy.b.push(Op::Proj(k), &[tuple], &[], span).map_err(Refused::from)
}

/// An operator without bodies.
fn push(copy: &mut Copier<'_>, op: Op, args: &[Var], span: Span) -> Copied<Var> {
    copy.b.push(op, args, &[], span).map_err(Refused::from)
}

/// Maps a body over the elements of vectors.
fn map(
    copy: &mut Copier<'_>,
    args: &[Var],
    span: Span,
    body: impl FnOnce(&mut Copier<'_>, &[Var]) -> Copied<Var>,
) -> Copied<Var> {
    let (b, params) = copy.b.begin_body_of(&Op::Map, args, 0, span)?;
    let result = body(copy, &params)?;
    copy.b.end_body(result);
    copy.b.push(Op::Map, args, &[b], span).map_err(Refused::from)
}

/// Folds numbers with an operator, from a start.
fn folded(copy: &mut Copier<'_>, op: BinOp, start: Var, all: Var, span: Span) -> Copied<Var> {
    let (body, params) = copy.b.begin_body_of(&Op::Fold, &[start, all], 0, span)?;
    let both = push(copy, Op::Binary(op), &params, span)?;
    copy.b.end_body(both);
    copy.b.push(Op::Fold, &[start, all], &[body], span).map_err(Refused::from)
}

/// The inclusive prefix sums of numbers.
fn sums(copy: &mut Copier<'_>, xs: Var, span: Span) -> Copied<Var> {
    let zero = int(copy, 0, span)?;
    let scan = Op::Scan(Direction::Left, ScanKind::Inclusive);
    let (body, params) = copy.b.begin_body_of(&scan, &[zero, xs], 0, span)?;
    let sum = push(copy, Op::Binary(BinOp::Add), &params, span)?;
    copy.b.end_body(sum);
    copy.b.push(scan, &[zero, xs], &[body], span).map_err(Refused::from)
}

/// A conditional value.
fn chosen(
    copy: &mut Copier<'_>,
    cond: Var,
    span: Span,
    yes: impl FnOnce(&mut Copier<'_>) -> Copied<Var>,
    no: impl FnOnce(&mut Copier<'_>) -> Copied<Var>,
) -> Copied<Var> {
    let (a, _) = copy.b.begin_body_of(&Op::If, &[cond], 0, span)?;
    let result = yes(copy)?;
    copy.b.end_body(result);
    let (b, _) = copy.b.begin_body_of(&Op::If, &[cond], 1, span)?;
    let result = no(copy)?;
    copy.b.end_body(result);
    copy.b.push(Op::If, &[cond], &[a, b], span).map_err(Refused::from)
}
