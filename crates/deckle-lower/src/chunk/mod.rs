//! Sequences in chunks.
//!
//! A program over sequences becomes one with loops: each traversal is a `stream`, a loop whose state is what goes on from chunk to chunk, and whose body
//! has the same statements, over the next elements only. A statement that makes a sequence of nothing but numbers or a vector makes a part of it instead; one that makes a
//! concrete value of a sequence becomes a part of the state; everything between them stays as it is. So chunks need no executor of their own: they are an array program, which the
//! interpreter runs too.
//!
//! ```text
//! v2 = iota<seq>(n)                        v9 = stream(chunk, (0, 0)) { s -> lt(s.0, n) } { s ->
//! v3 = map(v2) { i -> .. }            ⇒      v2 = the integers from s.0 below min(s.0 + chunk, n), as a sequence
//! v4 = flatten(v3)                           v3 = map(v2) { i -> .. }
//! v5 = reduce<sum>(v4)                       v4 = flatten(v3)
//!                                            (s.0 + chunk, s.1 + reduce<sum>(v4)) }
//! ```
//!
//! # From outside and to outside
//! A parameter that is a sequence is not there as a whole: `pull` has the next elements of it, and how many there are is known at the end only. A result that is a sequence is handed over by
//! `push`, part by part; in its place the function gives how many elements there were. Both are operators of the array IR; where elements come from and go to is the business of whoever runs it.
//!
//! # Which sequences go together
//! All that statements connect are traversed by one loop, so several consumers of a sequence share its traversal. How far each advances in a step is worked out in `group.rs`.
//!
//! # Bits
//! The size of a chunk is not known before the program runs, so the code is the same for all of them. What does not depend on how elements are grouped is combined chunk by
//! chunk. Sums of floats are taken of blocks counted from the beginning of the sequence; what is left of a chunk waits for the next (`state.rs`).
//!
//! # What is large
//! A chunk has whole elements. Where sequences inside an element would be kept, elements are taken in runs, and large ones alone, by loops of their own (`large.rs`); a group that flags have not ended is
//! gone through as it comes if it is large (`open.rs`).
//!
//! # Conditions
//! What belongs together with a sequence that a condition chooses is done in either branch, where it is known what is gone through (`plan.rs`).
//!
//! # What is left whole
//! Where a sequence cannot be gone through in this way (both parts of a `++` go through the same one, say), the function stays as it is: [`chunk`] says why.

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

/// Why a function is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// What stands in the way.
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
    /// It is left as it is, for a reason of its own.
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
    /// There is no copy of a function with its traversals in chunks.
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

/// What no well-formed function has, and so a bug: no copy is made in which something else stands for it.
fn bug(what: &str) -> Refused {
    Refused::Bug(what.to_string())
}

/// Something that every well-formed function has.
trait OrBug<T> {
    /// It, or the error that it is missing.
    fn or_bug(self, what: &str) -> Copied<T>;
}

impl<T> OrBug<T> for Option<T> {
    fn or_bug(self, what: &str) -> Copied<T> {
        self.ok_or_else(|| Refused::Bug(format!("{what} is missing")))
    }
}

/// The parameters that a function in chunks has beside those of the original, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// How many elements a chunk has at most.
    pub chunk: usize,
    /// How many elements are traversed at once inside elements.
    pub inside: usize,
}

/// A function with its traversals in chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunked {
    /// All functions before it, and in its place one with two parameters more.
    pub program: Program,
    /// Which parameters these are.
    pub sizes: ChunkSizes,
    /// For each sequence in the result, in order, the number of the `push` by which it is handed over.
    pub pushes: Vec<u32>,
}

/// The function with its traversals in chunks. `None` if it has no sequences.
///
/// # Errors
/// What stands in the way, or a bug.
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
    /// Those that are gone through at once inside elements.
    inside: Var,
}

impl Sizes {
    /// Which parameters they are.
    fn numbers(self, function: &Function) -> Option<ChunkSizes> {
        let number = |v: Var| function.params().iter().position(|p| *p == v);
        Some(ChunkSizes { chunk: number(self.chunk)?, inside: number(self.inside)? })
    }
}

/// The rewriting under way.
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
        // Those of the function itself have all been copied at once: a loop may stand further down than the first of its statements.
        match copy.old.body(Function::ROOT).stmts.binary_search(&s) {
            Ok(_) => Ok(()),
            Err(_) => copy.statement(self, s),
        }
    }
}

impl Chunker {
    /// Copies what units have.
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
        // A parameter that is a result is itself again in the other branch.
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

/// Fails if these, the lengths of the first of some operands and of another one, are not equal.
fn equal_operands(copy: &mut Copier<'_>, n: Var, (k, m): (usize, Var), span: Span) -> Copied<()> {
    let first = push(copy, Op::Iota(Coll::Array), &[n], span)?;
    let mut all = vec![first; k];
    all.push(push(copy, Op::Iota(Coll::Array), &[m], span)?);
    push(copy, Op::Zip, &all, span).map(|_| ())
}

/// Fails if sequences that are traversed together, which have had so many elements, are not as long.
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

/// What a body gives for each element of others.
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

/// A start and numbers, combined by an operator.
fn folded(copy: &mut Copier<'_>, op: BinOp, start: Var, all: Var, span: Span) -> Copied<Var> {
    let (body, params) = copy.b.begin_body_of(&Op::Fold, &[start, all], 0, span)?;
    let both = push(copy, Op::Binary(op), &params, span)?;
    copy.b.end_body(both);
    copy.b.push(Op::Fold, &[start, all], &[body], span).map_err(Refused::from)
}

/// The sums of numbers, each with all before it.
fn sums(copy: &mut Copier<'_>, xs: Var, span: Span) -> Copied<Var> {
    let zero = int(copy, 0, span)?;
    let scan = Op::Scan(Direction::Left, ScanKind::Inclusive);
    let (body, params) = copy.b.begin_body_of(&scan, &[zero, xs], 0, span)?;
    let sum = push(copy, Op::Binary(BinOp::Add), &params, span)?;
    copy.b.end_body(sum);
    copy.b.push(scan, &[zero, xs], &[body], span).map_err(Refused::from)
}

/// A value that depends on a condition.
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
