//! Sequences in chunks.
//!
//! A program over sequences becomes one with loops: each traversal is a `while` whose state is what goes on from chunk to chunk, and whose body
//! has the same statements, over the next elements only. A statement that makes a sequence of nothing but numbers or a vector makes a part of it instead; one that makes a
//! concrete value of a sequence becomes a part of the state; everything between them stays as it is. So chunks need no executor of their own: they are an array program, which the
//! interpreter runs too.
//!
//! ```text
//! v2 = iota<seq>(n)                        v9 = while((0, 0)) { s -> lt(s.0, n) } { s ->
//! v3 = map(v2) { i -> .. }            ⇒      v2 = the integers from s.0 below min(s.0 + chunk, n), as a sequence
//! v4 = flatten(v3)                           v3 = map(v2) { i -> .. }
//! v5 = reduce<sum>(v4)                       v4 = flatten(v3)
//!                                            (s.0 + chunk, s.1 + reduce<sum>(v4)) }
//! ```
//!
//! # Which sequences go together
//! All that statements connect are traversed by one loop (`group.rs`), so several consumers of a sequence share its traversal. There is one position for all that begin in it: they
//! advance together. What is made of them by `flatten` has as many elements in a chunk as it has.
//!
//! # Bits
//! The size of a chunk is not known before the program runs, so the code is the same for all of them. What does not depend on how elements are grouped is combined chunk by
//! chunk. Sums of floats are taken of blocks counted from the beginning of the sequence; what is left of a chunk waits for the next (`state.rs`).
//!
//! # What is left whole
//! Where sequences that advance together begin or end in different ways (`++`, `flagpart`, two filters), the function stays as it is: [`chunk`] says why.

mod group;
mod inline;
mod source;
mod state;

use deckle_diag::Span;
use deckle_ir::array::{BinOp, Copier, Function, Op, Program, Rewrite, rewrite};
use deckle_ir::entity::{Func, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use group::Group;
use state::State;

/// Why a function is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// What stands in the way.
    pub why: &'static str,
    /// Where.
    pub span: Span,
}

/// The function with its traversals in chunks: all functions before it, and in its place one with a parameter more, the number of elements of a chunk. `None` if it has no sequences.
///
/// # Errors
/// What stands in the way.
pub fn chunk(program: &Program, func: Func) -> Result<Option<Program>, Whole> {
    let before = &program.funcs[..func.index()];
    let flat = inline::inline(before, &program.funcs[func.index()]);
    let groups = group::groups(&flat)?;
    if groups.is_empty() {
        return Ok(None);
    }
    let unlike = Whole { why: "its sizes depend on sequences", span: flat.span };
    let mut chunks = Chunks { groups, size: None };
    let new = rewrite(before, &flat, &mut chunks).ok_or(unlike)?;
    let mut funcs = before.to_vec();
    funcs.push(new);
    Ok(Some(Program { funcs }))
}

/// The rewriting under way.
struct Chunks {
    groups: Vec<Group>,
    /// The number of elements of a chunk, in the copy.
    size: Option<Var>,
}

impl Rewrite for Chunks {
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Option<()> {
        let root = &copy.old.body(Function::ROOT).stmts;
        if root.binary_search(&s).is_err() {
            return copy.statement(self, s);
        }
        // All at once, when the first is asked for: a loop may stand further down than the first of its statements.
        if self.size.is_none() {
            self.size = Some(copy.b.param("chunk", Type::INT, copy.old.span));
            self.all(copy)?;
        }
        Some(())
    }
}

/// What is copied at once.
#[derive(Clone, Copy)]
enum Unit {
    Statement(Var),
    Loop(usize),
}

impl Chunks {
    /// Copies the statements of the function, each when what it needs is there.
    fn all(&mut self, copy: &mut Copier<'_>) -> Option<()> {
        let old = copy.old;
        let mut units = Vec::new();
        for &s in &old.body(Function::ROOT).stmts {
            match self.groups.iter().position(|g| g.stmts.contains(&s)) {
                Some(k) if self.groups[k].stmts.first() == Some(&s) => units.push(Unit::Loop(k)),
                Some(_) => {}
                None => units.push(Unit::Statement(s)),
            }
        }
        while !units.is_empty() {
            let ready = units.iter().position(|unit| {
                let needs = match unit {
                    Unit::Statement(s) => uses(old, *s),
                    Unit::Loop(k) => self.groups[*k].outside(old),
                };
                needs.into_iter().all(|v| copy.var(v).is_some())
            })?;
            match units.remove(ready) {
                Unit::Statement(s) => copy.statement(self, s)?,
                Unit::Loop(k) => self.traversal(copy, k)?,
            }
        }
        Some(())
    }

    /// A loop over the chunks of a group.
    fn traversal(&mut self, copy: &mut Copier<'_>, k: usize) -> Option<()> {
        let group = self.groups[k].clone();
        let span = copy.old.span(*group.stmts.first()?);
        let chunk = self.size?;
        let zero = int(copy, 0, span)?;
        let mut length: Option<Var> = None;
        let mut sources = Vec::new();
        for &s in &group.sources {
            let source = source::begin(copy, self, s)?;
            length = Some(match length {
                None => source.length,
                // As where they are traversed together.
                Some(n) => {
                    let both = [n, source.length].map(|n| copy.b.push(Op::Iota(deckle_ir::array::Coll::Array), &[n], &[], span).ok());
                    copy.b.push(Op::Zip, &[both[0]?, both[1]?], &[], span).ok()?;
                    n
                }
            });
            sources.push(source);
        }
        let length = length?;
        let mut states = Vec::new();
        let mut first = vec![zero];
        for &s in &group.stmts {
            for state in State::all(copy.old, s, group.keeps(s)) {
                first.push(state.init(copy, s)?);
                states.push((s, state));
            }
        }
        let start = copy.b.push(Op::Tuple, &first, &[], span).ok()?;
        let (test, params) = copy.b.begin_body_of(&Op::While, &[start], 0, span).ok()?;
        let pos = part(copy, params[0], 0, span)?;
        let more = copy.b.push(Op::Binary(BinOp::Lt), &[pos, length], &[], span).ok()?;
        copy.b.end_body(more);
        let (step, params) = copy.b.begin_body_of(&Op::While, &[start], 1, span).ok()?;
        let now = params[0];
        let pos = part(copy, now, 0, span)?;
        // Without overflow: the chunk may be as large as a number can be.
        let left = copy.b.push(Op::Binary(BinOp::Sub), &[length, pos], &[], span).ok()?;
        let count = copy.b.push(Op::Binary(BinOp::Min), &[left, chunk], &[], span).ok()?;
        let end = copy.b.push(Op::Binary(BinOp::Add), &[pos, count], &[], span).ok()?;
        let mut next = vec![end];
        for source in sources.iter().filter(|source| copy.old.inst(source.stmt).is_none()) {
            source::part(copy, self, source, (pos, end, count))?;
        }
        for &s in &group.stmts {
            if let Some(source) = sources.iter().find(|source| source.stmt == s) {
                source::part(copy, self, source, (pos, end, count))?;
            } else if State::of(copy.old, s).is_none() {
                copy.statement(self, s)?;
            }
            for (_, state) in states.iter().filter(|(t, _)| *t == s) {
                let before = part(copy, now, next.len() as u32, span)?;
                next.push(state.step(copy, self, s, before)?);
            }
        }
        let after = copy.b.push(Op::Tuple, &next, &[], span).ok()?;
        copy.b.end_body(after);
        let end = copy.b.push(Op::While, &[start], &[test, step], span).ok()?;
        for (at, (s, state)) in states.iter().enumerate() {
            let last = part(copy, end, at as u32 + 1, span)?;
            let result = state.finish(copy, self, *s, last)?;
            copy.stand(*s, result);
        }
        Some(())
    }
}

/// The variables that a statement uses.
fn uses(function: &Function, s: Var) -> Vec<Var> {
    let Some(inst) = function.inst(s) else { return Vec::new() };
    let mut all = inst.args.clone();
    all.extend(inst.bodies.iter().flat_map(|b| function.free_vars(*b)));
    all
}

fn int(copy: &mut Copier<'_>, n: i64, span: Span) -> Option<Var> {
    copy.b.push(Op::Const(Scalar::I64(n)), &[], &[], span).ok()
}

fn part(copy: &mut Copier<'_>, tuple: Var, k: u32, span: Span) -> Option<Var> {
    copy.b.push(Op::Proj(k), &[tuple], &[], span).ok()
}

/// An operator without bodies.
fn push(copy: &mut Copier<'_>, op: Op, args: &[Var], span: Span) -> Option<Var> {
    copy.b.push(op, args, &[], span).ok()
}
