//! Flattening: from nested array programs to kernels.
//!
//! The program is executed symbolically, once. Where the interpreter has a value, flattening has a value *at every point of a space*: a scalar is a node,
//! and an array is a dimension below the space together with its element there. A body that runs for each element is flattened
//! once, at the points of that dimension. So nesting disappears: an array in an array becomes a space below a space.
//!
//! - A value that does not mention a position is a node of an outer space: *invariant* values are not lifted.
//! - A size that is a node of the root makes a dense dimension, any other a ragged one: *regular* values gain a dimension, others offsets.
//!
//! Arrays are computed where they are used (*vertical* fusion, through any number of operators, `let`s and tuples) unless
//! there is a reason to keep them in memory; see `plan.rs`. Dimensions of equal size below a space are one space, so
//! traversals of equal length meet in one loop (*horizontal* fusion).
//!
//! Sequences are arrays here: one that is never materialised is never in memory as a whole.
//!
//! ```text
//! sum([ x * y : x in xs; y in ys ])        s1 = dim root, n
//!                                          t1 @s1 = pos       t2 = load xs[t1]    t3 = load ys[t1]
//!                                          t4 @s1 = mul(t2, t3)
//!                                          t5 @root = fold s1 (t4) add
//! ```
//!
//! Time and space are proportional to the program after inlining.

mod arrays;
mod checked;
mod control;
mod extents;
mod fold;
mod lift;
mod moving;
mod names;
mod outside;
mod permute;
mod plan;
mod proofs;
mod scalars;
mod sequences;
mod shape;
mod sizes;
mod sort;
mod stencil;
mod store;
mod subst;
mod unread;
mod value;

use crate::cuts::Cuts;
use control::Counter;
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::array::{self, Function, Inst, Op};
use deckle_ir::entity::{Body, Func, SizeVar, Var};
use deckle_ir::fault::MOST_PLACES;
use deckle_ir::kernel::{self, Buf, Fault, Node, Place, ROOT, Rep, SiteData, Space, Step};
use deckle_ir::loops::MOST_OPERANDS;
use deckle_ir::types::Type;
use plan::Uses;
use sizes::Shown;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use value::{Arr, Val};

/// The remaining stack below which more is allocated before recursing, and how much.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// The maximal number of statements of a program after inlining. If functions call each other twice, the number doubles at every level.
pub(crate) const MOST_STATEMENTS: usize = 1 << 16;

/// The maximal number of nodes.
const MOST_NODES: usize = 1 << 19;

/// Options of flattening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether arrays are computed where they are used. Otherwise, every array is stored.
    pub fuse: bool,
    /// The sizes at which work is cut.
    pub cuts: Cuts,
}

impl Default for Options {
    fn default() -> Options {
        Options { fuse: true, cuts: Cuts::default() }
    }
}

/// Why a program cannot be flattened in one way.
#[derive(Debug)]
pub(crate) enum Stuck {
    /// A kernel is needed inside a loop that runs in a kernel.
    InLoop,
    /// Flattening is impossible.
    Limit(Box<Diagnostic>),
}

/// A case that no well-typed program has: a bug of this pass or of an earlier one. No stand-in replaces the missing value, so that a bug is not a wrong program.
fn bug(what: impl std::fmt::Display) -> Stuck {
    Stuck::Limit(Box::new(Diagnostic::nowhere(Code::Internal, format!("flatten: {what}"))))
}

type Res<T> = Result<T, Stuck>;

/// An array, and its stored form.
type Kept = (Rc<Arr>, Rc<Arr>);

/// Facts within one block of the host's control flow.
#[derive(Clone, Default)]
struct Scope {
    /// By the address of an array and the context: the array itself, so that the address stays its own, and its stored form.
    kept: HashMap<(*const Arr, Space), Kept>,
    offsets: HashMap<Space, Buf>,
    /// The number of points of traversals from the root.
    counts: HashMap<Space, Node>,
    /// The loads of stored conditions.
    masks: HashMap<Node, Node>,
    /// Sizes of arrays of the root. Here they satisfy the invariant of sizes (`extents.rs`): what could violate it was checked in this block or around it.
    sizes: HashSet<Node>,
    /// The conditions of checks of sizes that the host has made or will make first.
    fitting: HashSet<Node>,
}

/// The steps of a block of the host, so far.
#[derive(Default)]
struct Block {
    steps: Vec<Step>,
    scope: Scope,
}

/// The state of flattening.
struct Flattener<'p> {
    program: &'p array::Program,
    options: Options,
    k: kernel::Program,
    /// The current block of the host's steps, and the facts in it.
    here: Block,
    /// The blocks around it, the outermost first.
    around: Vec<Block>,
    /// The places of stored arrays, over the numbers of their contexts.
    kept: HashMap<*const Arr, Rep>,
    /// Nodes that are sizes wherever they are computed.
    sized: HashSet<Node>,
    /// The round counters of loops in kernels.
    counters: HashMap<Node, Counter>,
    /// The variables of loops that are never below zero.
    natural: HashMap<Node, i128>,
    /// The buffers that hold offsets of arrays in memory.
    offset_bufs: HashSet<Buf>,
    /// The offsets of rows that have the same size at all existing points, and that size: a node of the root.
    equal_rows: HashMap<Buf, Node>,
    alive: Vec<Rc<Arr>>,
    /// Checks that no kernel makes yet.
    pending: BTreeSet<Node>,
    /// A description of the current computation, in the words of the source, and its place there.
    name: String,
    span: Span,
    /// The names of arrays, by their address: the array itself, so that the address stays its own.
    labels: HashMap<*const Arr, (Rc<Arr>, names::Label)>,
    /// Loops that cannot run inside a kernel: by the variable and the context.
    lifted: HashSet<(Func, Var)>,
    /// The parameter whose argument is being checked, if it is one.
    param: Span,
    /// Whether sequences are traversed in chunks.
    chunked: bool,
    /// The stream under construction, as far as its steps are.
    stream: Option<kernel::Stream>,
    /// The runs of bodies around the current computation, the outermost first.
    turns: Vec<Turn>,
    uses: Vec<Option<Rc<Uses>>>,
    proven: Vec<Option<Rc<Vec<bool>>>>,
    depth: usize,
    /// How many statements have been flattened.
    statements: usize,
}

/// A run of a body that runs repeatedly: the body, and the numbers that identify the run, none if they are not known.
struct Turn {
    place: Place,
    at: Vec<Node>,
    /// Whether it is a round of a loop over the chunks of sequences, which the source does not have.
    hidden: bool,
}

/// How a body runs.
#[derive(Clone, Copy)]
enum Run<'a> {
    /// At most once.
    Once,
    /// At an element, with its position if it has one.
    Element(Option<Node>),
    /// At the element of these indices; the flag is set if the first is the position that sizes mention.
    Indices(&'a [Node], bool),
    /// In a step of a loop.
    Step(Node),
    /// In a step of a loop over the chunks of sequences. Positions of elements inside are those in the chunk.
    Chunk,
}

impl Run<'_> {
    fn position(&self) -> Option<Node> {
        match *self {
            Run::Element(at) => at,
            Run::Indices(at, true) => at.first().copied(),
            _ => None,
        }
    }
}

/// A call that is being flattened.
struct Frame<'p> {
    func: Func,
    function: &'p Function,
    env: Vec<Option<Val>>,
    at: HashMap<Body, Node>,
    uses: Rc<Uses>,
    /// Which accesses are known to be in range.
    proven: Rc<Vec<bool>>,
    /// For a called function: the sizes given by the types of the arguments.
    typed: Option<Vec<(SizeVar, Shown)>>,
}

/// Flattens a function of a program, with everything it calls.
///
/// # Errors
/// A limitation.
pub fn flatten(program: &array::Program, func: Func, options: Options) -> Result<kernel::Program, Box<Diagnostic>> {
    let mut f = Flattener {
        program,
        options,
        k: kernel::Program::default(),
        here: Block::default(),
        around: Vec::new(),
        kept: HashMap::new(),
        sized: HashSet::new(),
        counters: HashMap::new(),
        natural: HashMap::new(),
        offset_bufs: HashSet::new(),
        equal_rows: HashMap::new(),
        alive: Vec::new(),
        pending: BTreeSet::new(),
        name: "the result".into(),
        span: Span::NONE,
        labels: HashMap::new(),
        lifted: HashSet::new(),
        param: Span::NONE,
        chunked: program.funcs[func.index()].vars.iter().any(is_stream),
        stream: None,
        turns: Vec::new(),
        uses: vec![None; program.funcs.len()],
        proven: vec![None; program.funcs.len()],
        depth: 0,
        statements: 0,
    };
    match f.whole(func) {
        Ok(()) => {
            f.k.steps = f.here.steps;
            unread::take_out(&mut f.k);
            checked::into_rows(&mut f.k);
            Ok(f.k)
        }
        Err(Stuck::Limit(d)) => Err(d),
        Err(Stuck::InLoop) => {
            Err(Box::new(Diagnostic::nowhere(Code::Internal, "flatten: a kernel is needed where none can be run")))
        }
    }
}

impl<'p> Flattener<'p> {
    fn whole(&mut self, func: Func) -> Res<()> {
        let function = &self.program.funcs[func.index()];
        let mut fx = self.frame(func, function);
        self.parameters(&mut fx)?;
        let result = self.body(&mut fx, Function::ROOT, ROOT)?;
        let result_var = function.body(Function::ROOT).result;
        self.name = "the result".into();
        self.span = function.span(result_var);
        let ty = function.ty(result_var).clone();
        self.k.result = self.store_result(&result, &ty)?;
        self.flush()
    }

    fn frame(&mut self, func: Func, function: &'p Function) -> Frame<'p> {
        let uses = Rc::clone(self.uses[func.index()].get_or_insert_with(|| Rc::new(Uses::of(function))));
        let proven =
            self.proven[func.index()].get_or_insert_with(|| Rc::new(deckle_analysis::bounds::proven(function)));
        let proven = Rc::clone(proven);
        Frame { func, function, env: vec![None; function.vars.len()], at: HashMap::new(), uses, proven, typed: None }
    }

    fn step(&mut self, step: Step) {
        self.here.steps.push(step);
    }

    /// The known facts, the innermost block first.
    fn scopes(&self) -> impl Iterator<Item = &Scope> {
        [&self.here].into_iter().chain(self.around.iter().rev()).map(|block| &block.scope)
    }

    /// Runs `make` in a new block; returns its value and the steps.
    fn in_block<T>(&mut self, make: impl FnOnce(&mut Self) -> Res<T>) -> Res<(T, Vec<Step>)> {
        self.around.push(std::mem::take(&mut self.here));
        let made = make(self);
        let outside = self.around.pop().ok_or_else(|| bug("a block is closed that was not opened"))?;
        let block = std::mem::replace(&mut self.here, outside);
        Ok((made?, block.steps))
    }

    /// Creates a check, and ensures that it is made. On failure it reports the operands, and the runs of the bodies around it.
    fn check(&mut self, cond: Node, value: Node, fault: Fault, span: Span, operands: &[Node], ctx: Space) -> Node {
        let mut operands = operands.to_vec();
        let mut places = Vec::new();
        let turns = self.turns.iter().rev().filter(|t| !t.hidden).take(MOST_PLACES);
        let around: Vec<(Place, Vec<Node>)> = turns.map(|t| (t.place.clone(), t.at.clone())).collect();
        for (place, at) in around {
            let at: Vec<Node> = at.into_iter().map(|n| self.first_position(n, ctx)).collect();
            let known = !at.is_empty() && at.iter().all(|n| self.k.encloses(self.k.space_of(*n), ctx));
            if known && operands.len() + at.len() <= MOST_OPERANDS {
                places.push(place);
                operands.extend(at);
            }
        }
        operands.truncate(MOST_OPERANDS);
        let site = self.k.site(SiteData { kind: fault, span, places, param: self.param });
        let n = self.k.check(cond, value, site, operands, ctx);
        if n != value {
            self.pending.insert(n);
        }
        n
    }

    /// Lets the host make the checks that it can.
    fn check_at_root(&mut self) {
        let mine = |f: &Self, n: Node| f.k.space_of(n) == ROOT && f.is_light(n);
        let here: Vec<Node> = self.pending.iter().copied().filter(|n| mine(self, *n)).collect();
        for n in here {
            self.pending.remove(&n);
            self.step(Step::Check(n));
        }
    }

    /// Makes all checks that no kernel makes yet.
    fn flush(&mut self) -> Res<()> {
        self.make_checks(&BTreeSet::new());
        Ok(())
    }

    /// Makes the checks that no kernel makes yet, except some.
    fn make_checks(&mut self, but: &BTreeSet<Node>) {
        if self.pending.is_subset(but) {
            return;
        }
        self.check_at_root();
        let mine = |f: &Self, n: &Node| f.on_host(f.k.space_of(*n)) && !but.contains(n);
        let here: Vec<Node> = self.pending.iter().copied().filter(|n| mine(self, n)).collect();
        let mut by_dim: Vec<(Space, Vec<kernel::Sink>)> = Vec::new();
        for n in here {
            if !self.pending.contains(&n) {
                continue;
            }
            let first = self.k.between(ROOT, self.k.space_of(n)).first().copied().unwrap_or(ROOT);
            let sink = kernel::Sink::Check(n);
            match by_dim.iter_mut().find(|(d, _)| *d == first) {
                Some((_, sinks)) => sinks.push(sink),
                None => by_dim.push((first, vec![sink])),
            }
        }
        for (_, sinks) in by_dim {
            self.run("checks", sinks);
        }
    }

    /// Flattens a body whose parameters have their values.
    fn body(&mut self, fx: &mut Frame<'p>, body: Body, ctx: Space) -> Res<Val> {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let data = fx.function.body(body);
            let label = (self.name.clone(), self.span);
            self.within(label, |f| data.stmts.iter().try_for_each(|v| f.define(fx, *v, ctx)))?;
            self.get(fx, data.result)
        })
    }

    /// Gives a variable its value.
    fn define(&mut self, fx: &mut Frame<'p>, v: Var, ctx: Space) -> Res<()> {
        self.statements += 1;
        if self.statements > MOST_STATEMENTS || self.k.nodes.len() > MOST_NODES {
            return Err(Stuck::Limit(Box::new(too_large(fx.function, v))));
        }
        self.begin(fx.function, v);
        let val = self.statement(fx, v, ctx)?;
        self.remember(fx, v, &val);
        let val = self.decide(fx, v, val, ctx)?;
        fx.env[v.index()] = Some(val);
        Ok(())
    }

    /// Records which run of an operator's body follows.
    fn turn(&mut self, run: Run<'_>, op: Option<&'static str>) {
        let (place, mut at) = match (run, op) {
            (Run::Element(at), Some(op)) => (Place::element(op, 1), at.into_iter().collect()),
            (Run::Indices(at, _), Some(op)) => (Place::element(op, at.len() as u32), at.to_vec()),
            (Run::Step(at), Some(op)) => (Place::step(op), vec![at]),
            (Run::Chunk, _) => (Place::step("stream"), Vec::new()),
            (Run::Once, _) | (_, None) => return,
        };
        let hidden = matches!(run, Run::Chunk);
        if self.turns.last().is_some_and(|t| t.hidden) {
            at.clear();
        }
        self.turns.push(Turn { place, at, hidden });
    }

    /// Flattens a body of a statement with these arguments.
    fn inside(&mut self, fx: &mut Frame<'p>, body: Body, args: &[Val], ctx: Space, run: Run<'_>) -> Res<Val> {
        let params = fx.function.body(body).params.clone();
        for (p, arg) in params.iter().zip(args) {
            fx.env[p.index()] = Some(arg.clone());
        }
        match run.position() {
            Some(n) => fx.at.insert(body, n),
            None => fx.at.remove(&body),
        };
        let depth = self.turns.len();
        self.turn(run, fx.uses.op_of(body));
        let result = self.body(fx, body, ctx);
        self.turns.truncate(depth);
        self.at_home(result?, ctx)
    }

    fn get(&self, fx: &Frame<'p>, v: Var) -> Res<Val> {
        fx.env[v.index()].clone().ok_or_else(|| bug(format!("`{}` uses {v} before it is defined", fx.function.name)))
    }

    fn scalar(&self, fx: &Frame<'p>, v: Var) -> Res<Node> {
        self.get(fx, v)?.scalar()
    }

    fn array(&self, fx: &Frame<'p>, v: Var) -> Res<Rc<Arr>> {
        as_array(&self.get(fx, v)?)
    }

    /// The value of a statement.
    fn statement(&mut self, fx: &mut Frame<'p>, v: Var, ctx: Space) -> Res<Val> {
        let inst = fx.function.inst(v).ok_or_else(|| bug(format!("{v} is no statement")))?;
        let inst: &'p Inst = inst;
        let cx = Cx { v, inst, ctx, span: fx.function.span(v), ty: fx.function.ty(v) };
        match &inst.op {
            Op::Const(c) => Ok(Val::Scalar(self.k.constant(*c))),
            Op::Unary(_) | Op::Binary(_) | Op::Cast(_) | Op::Select | Op::Fma => self.arithmetic(fx, &cx),
            Op::Tuple | Op::Record(_) => {
                Ok(Val::tuple(inst.args.iter().map(|a| self.get(fx, *a)).collect::<Res<_>>()?))
            }
            Op::Proj(k) => {
                let part = self.get(fx, inst.args[0])?.parts()?.get(*k as usize).cloned();
                part.ok_or_else(|| bug(format!("{v} is part {k} of a tuple that has fewer")))
            }
            Op::Index => self.index(fx, &cx),
            Op::If => self.if_(fx, &cx),
            Op::While | Op::For | Op::Stream => self.looped(fx, &cx),
            Op::Call(f) => self.call(fx, &cx, *f),
            Op::Ensure(ty) => self.ensure(fx, &cx, ty),
            Op::Use(c) => self.constant(&c.value, &c.ty),
            Op::Array(elem) | Op::MkSeq(elem) => self.literal(fx, &cx, elem),
            Op::Replicate => self.replicate(fx, &cx),
            Op::Generate | Op::Produce => self.generate(fx, &cx),
            Op::Iota(_) => self.iota(fx, &cx),
            Op::Range(_, inclusive) => self.range(fx, &cx, *inclusive),
            Op::Map => self.map(fx, &cx),
            Op::Zip => self.zip(fx, &cx),
            Op::Unzip => self.unzip(fx, &cx),
            Op::Length => {
                let arr = self.array(fx, inst.args[0])?;
                Ok(Val::Scalar(self.size(&arr, ctx)?))
            }
            Op::Shape(depth) => self.shape(fx, &cx, *depth as usize),
            Op::Size(depth) => self.total_size(fx, &cx, *depth as usize),
            Op::Reshape(depth) => self.reshape(fx, &cx, *depth as usize),
            Op::Flatten => self.flatten_rows(fx, &cx),
            Op::Split(by) => self.split(fx, &cx, *by),
            Op::Slice(spec) => self.slice(fx, &cx, spec),
            Op::Transpose(axes) => self.transpose(fx, &cx, axes),
            Op::Reverse(axis) => self.reverse(fx, &cx, *axis as usize),
            Op::Take => self.take(fx, &cx),
            Op::Drop => self.drop_first(fx, &cx),
            Op::Concat(axis) => self.concat(fx, &cx, *axis as usize),
            Op::Append => self.concat(fx, &cx, 0),
            Op::Pad(axis) => self.pad(fx, &cx, *axis as usize),
            Op::Permute | Op::Scatter => self.permute(fx, &cx),
            Op::Filter => self.filter(fx, &cx, true),
            Op::Compact => self.compact(fx, &cx),
            Op::Partition => self.partition(fx, &cx),
            Op::Expand => self.expand(fx, &cx),
            Op::Sort | Op::SortBy => self.sort(fx, &cx),
            Op::GroupBy => self.group_by(fx, &cx),
            Op::Fold | Op::Fold1 => self.fold_by(fx, &cx),
            Op::Reduce(monoid) => self.reduce(fx, &cx, *monoid),
            Op::FoldOrdered => self.fold_in_order(fx, &cx),
            Op::ScanOrdered => self.scan_in_order(fx, &cx),
            Op::Scan(direction, kind) => self.scan_by(fx, &cx, *direction, *kind),
            Op::Stencil(radii, boundary) => self.stencil(fx, &cx, radii, *boundary),
            Op::Empty => {
                let arr = self.array(fx, inst.args[0])?;
                let n = self.size(&arr, ctx)?;
                let zero = self.k.int(0);
                Ok(Val::Scalar(self.k.binary(array::BinOp::Eq, n, zero)))
            }
            Op::The => self.the(fx, &cx),
            Op::FlagPart => self.flagpart(fx, &cx),
            Op::Tab | Op::Seq => self.get(fx, inst.args[0]),
            Op::Guard => self.guarded(fx, &cx),
            Op::Tiles(depth) => self.tiles(fx, &cx, *depth as usize),
            Op::Tabulate(depth) => self.tabulate(fx, &cx, *depth as usize),
            Op::Pull(all) => self.pull(fx, &cx, *all),
            Op::Push(to) => self.push(fx, &cx, *to),
        }
    }
}

/// Whether a variable is the result of a chunked traversal.
fn is_stream(v: &array::VarData) -> bool {
    matches!(&v.def, array::Def::Inst(inst) if inst.op == Op::Stream)
}

/// The statement that is being flattened: itself, its context, and its type.
struct Cx<'p> {
    v: Var,
    inst: &'p Inst,
    ctx: Space,
    span: Span,
    ty: &'p Type,
}

/// The limitation that a program is too large after inlining.
fn too_large(function: &Function, v: Var) -> Diagnostic {
    let message = format!("with its calls written out, the program has more than {MOST_STATEMENTS} statements");
    let note = "native code has a copy of a function for each call: functions that call each other twice double at every level";
    let help = "call a function once for all elements of an array, or run the program in the interpreter";
    let span = function.span(v);
    let code = Code::Unsupported;
    let d = match span.is_none() {
        true => Diagnostic::nowhere(code, message),
        false => Diagnostic::new(code, message, span, "written out once more here"),
    };
    d.note(note).help(help)
}

fn as_array(val: &Val) -> Res<Rc<Arr>> {
    match val {
        Val::Array(arr) => Ok(Rc::clone(arr)),
        _ => Err(bug("an array is expected, and something else is there")),
    }
}

/// The type of the elements of a vector or sequence.
fn elem_of(ty: &Type) -> Res<&Type> {
    ty.elem().ok_or_else(|| bug("a type has no elements where a vector or sequence is expected"))
}

/// The types of the components of a tuple or record.
fn parts_of(ty: &Type) -> Res<Vec<&Type>> {
    ty.parts().ok_or_else(|| bug("a type has no components where a tuple or record is expected"))
}
