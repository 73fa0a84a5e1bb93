//! Flattening: from nested array programs to kernels.
//!
//! The program is run symbolically, once. Where the interpreter has a value, flattening has a value *at every point of a space*: a scalar is a node,
//! and an array is a dimension below the space together with its element there. A body that runs for each element is gone through
//! once, at the points of that dimension. So nesting disappears: what was an array in an array is a space below a space.
//!
//! - A value that does not mention a position is a node of an outer space: *invariant* values are not lifted.
//! - A size that is a node of the root makes a dense dimension, any other a ragged one: *regular* values gain a dimension, others offsets.
//!
//! Arrays are computed where they are used (*vertical* fusion, through any number of operators, `let`s and tuples) unless
//! there is a reason to keep them in memory; see `plan.rs`. Dimensions of equal size below a space are one space, so
//! traversals of equal length meet in one loop (*horizontal* fusion).
//!
//! Sequences are arrays here: what is never kept is never in memory as a whole.
//!
//! ```text
//! sum([ x * y : x in xs; y in ys ])        s1 = dim root, n
//!                                          t1 @s1 = pos       t2 = load xs[t1]    t3 = load ys[t1]
//!                                          t4 @s1 = mul(t2, t3)
//!                                          t5 @root = fold s1 (t4) add
//! ```
//!
//! Time and space are proportional to the program with its calls written out.

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

/// Stack that must be left before going deeper, and how much more is made.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// So many statements a program may have with its calls written out. Functions that call each other twice have twice as many at every level.
pub(crate) const MOST_STATEMENTS: usize = 1 << 16;

/// And so many nodes.
const MOST_NODES: usize = 1 << 19;

/// How to flatten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether arrays are computed where they are used. Without, every array is kept.
    pub fuse: bool,
    /// The sizes at which work is cut.
    pub cuts: Cuts,
}

impl Default for Options {
    fn default() -> Options {
        Options { fuse: true, cuts: Cuts::default() }
    }
}

/// Why something cannot be flattened in one way.
#[derive(Debug)]
pub(crate) enum Stuck {
    /// A kernel is needed inside a loop that runs in a kernel.
    InLoop,
    /// Not at all.
    Limit(Box<Diagnostic>),
}

/// What no well-typed program has: a bug of this pass or of one before it. No value stands in for what is missing, so that a bug is not a wrong program.
fn bug(what: impl std::fmt::Display) -> Stuck {
    Stuck::Limit(Box::new(Diagnostic::nowhere(Code::Internal, format!("flatten: {what}"))))
}

type Res<T> = Result<T, Stuck>;

/// An array, and as it is kept.
type Kept = (Rc<Arr>, Rc<Arr>);

/// What is known between the braces of the host's control flow.
#[derive(Clone, Default)]
struct Scope {
    /// By the address of an array and the context: the array itself, so that the address stays its own, and as it is kept.
    kept: HashMap<(*const Arr, Space), Kept>,
    offsets: HashMap<Space, Buf>,
    /// How many points traversals from the root have.
    counts: HashMap<Space, Node>,
    /// The loads of conditions that are stored.
    masks: HashMap<Node, Node>,
    /// Sizes of arrays of the root. Here they are what sizes are (`extents.rs`): what could make them something else was checked in this block or around it.
    sizes: HashSet<Node>,
    /// The conditions of checks of sizes that the host has made or will make first.
    fitting: HashSet<Node>,
}

/// Steps of the host between two braces, so far.
#[derive(Default)]
struct Block {
    steps: Vec<Step>,
    scope: Scope,
}

/// Flattening under way.
struct Flattener<'p> {
    program: &'p array::Program,
    options: Options,
    k: kernel::Program,
    /// The block of the host's steps that is being made, and what is known in it.
    here: Block,
    /// The blocks around it, the outermost first.
    around: Vec<Block>,
    /// Where arrays that were kept lie, over the numbers of their contexts.
    kept: HashMap<*const Arr, Rep>,
    /// Nodes that are sizes wherever they are computed.
    sized: HashSet<Node>,
    /// The numbers of the rounds of loops in kernels, and what each is at most.
    counters: HashMap<Node, i128>,
    /// The buffers that hold offsets of arrays in memory.
    offset_bufs: HashSet<Buf>,
    /// The offsets of rows that have the same size at all points that there are, and that size: a node of the root.
    equal_rows: HashMap<Buf, Node>,
    alive: Vec<Rc<Arr>>,
    /// Checks that no kernel makes so far.
    pending: BTreeSet<Node>,
    /// What is being computed, in the words of the source, and where that stands.
    name: String,
    span: Span,
    /// What arrays are called, by their address: the array itself, so that the address stays its own.
    labels: HashMap<*const Arr, (Rc<Arr>, names::Label)>,
    /// Loops that cannot run inside a kernel: by the variable and the context.
    lifted: HashSet<(Func, Var)>,
    /// The parameter whose argument is being checked, if it is one.
    param: Span,
    /// Whether sequences are traversed in chunks.
    chunked: bool,
    /// The stream that is being made, as far as its steps are.
    stream: Option<kernel::Stream>,
    /// The runs of bodies around what is being computed, the outermost first.
    turns: Vec<Turn>,
    uses: Vec<Option<Rc<Uses>>>,
    proven: Vec<Option<Rc<Vec<bool>>>>,
    depth: usize,
    /// How many statements have been flattened.
    statements: usize,
}

/// A run of a body that runs again and again: which, and the numbers that say so, none if they are not known.
struct Turn {
    place: Place,
    at: Vec<Node>,
    /// Whether it is a round of a loop over the chunks of sequences, which the source does not have.
    hidden: bool,
}

/// How a body runs.
#[derive(Clone, Copy)]
enum Run<'a> {
    /// Once at most.
    Once,
    /// At an element, whose position is known where it has one.
    Element(Option<Node>),
    /// At the element of these indices; the flag says whether the first is the position that sizes mention.
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

/// One call being flattened.
struct Frame<'p> {
    func: Func,
    function: &'p Function,
    env: Vec<Option<Val>>,
    at: HashMap<Body, Node>,
    uses: Rc<Uses>,
    /// Which accesses are known to be in range.
    proven: Rc<Vec<bool>>,
    /// Of a function that is called: the sizes that the types of the arguments tell.
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

    /// What is known here, the innermost block first.
    fn scopes(&self) -> impl Iterator<Item = &Scope> {
        [&self.here].into_iter().chain(self.around.iter().rev()).map(|block| &block.scope)
    }

    /// What is made in a block of its own, and its steps.
    fn in_block<T>(&mut self, make: impl FnOnce(&mut Self) -> Res<T>) -> Res<(T, Vec<Step>)> {
        self.around.push(std::mem::take(&mut self.here));
        let made = make(self);
        let outside = self.around.pop().ok_or_else(|| bug("a block is closed that was not opened"))?;
        let block = std::mem::replace(&mut self.here, outside);
        Ok((made?, block.steps))
    }

    /// Makes a check, and sees to it that it is made. Where it fails it tells the operands, and in which runs of the bodies around it.
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

    /// Makes all checks that no kernel has made so far.
    fn flush(&mut self) -> Res<()> {
        self.make_checks(&BTreeSet::new());
        Ok(())
    }

    /// Makes the checks that no kernel has made so far, but for some.
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

    /// Goes through a body whose parameters have their values.
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

    /// Says which run of a body of an operator what follows is in.
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

    /// Goes through a body of a statement with these arguments.
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

    /// What a statement gives.
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

/// Whether a variable is what a traversal in chunks gives.
fn is_stream(v: &array::VarData) -> bool {
    matches!(&v.def, array::Def::Inst(inst) if inst.op == Op::Stream)
}

/// A statement being flattened: itself, where, and its type.
struct Cx<'p> {
    v: Var,
    inst: &'p Inst,
    ctx: Space,
    span: Span,
    ty: &'p Type,
}

/// The limitation that a program is too large with its calls written out.
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
