//! Scheduling for CPUs: from kernels to functions of the loop IR.
//!
//! The outermost dimension of a kernel is cut into blocks; see [`Launch`]. Everything further in runs in order within a point.
//! What is folded or scanned along the outermost dimension is combined block by block, in the order of the blocks, whoever ran them: so
//! the bits of a result do not depend on the number of threads.

mod anyway;
mod bins;
mod blocks;
mod combine;
mod dense;
mod edges;
mod emit;
mod folds;
mod gpu;
mod gpu_runs;
mod gpu_scatter;
mod gpu_sort;
mod gpu_tile;
mod group;
mod lanes;
mod lines;
mod loads;
mod meet;
mod nodes;
mod pack;
mod points;
mod rounds;
mod rows;
mod scanned;
mod scans;
mod short;
mod sinks;
mod split;
mod staged;
mod streams;
mod tile;
mod turns;

pub use gpu::{GridPurpose, lower_gpu};
pub use gpu_sort::grid_sort;
pub use rows::lower_long;

use crate::choose::{Chooser, Outermost};
use crate::cuts::Cuts;
use crate::facts::Facts;
use crate::facts::parts_of;
use crate::facts::ragged::{Ragged, goes_in_order, rows_of};
use crate::kernels::legend;
use deckle_ir::kernel::{self, Kernel, Node, Op, Program, ROOT, Region, Sink, Space};
use deckle_ir::loops::{Function, Gathers, Launch, Stores, Val, Work};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::{self, Item, Legend, Schedule, Share, Threads, Walks};
use emit::{Emitter, Res};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a schedule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// How elements from anywhere are loaded.
    pub gathers: Gathers,
    /// Whether stores should keep to cache lines.
    pub stores: Stores,
    /// Whether the first failure is to be recorded.
    pub diagnose: bool,
    /// Whether the schedule says what other levels would take.
    pub compare: bool,
    /// Whether folds round the products that they add only once, with the addition.
    pub contract: bool,
    /// The sizes at which work is cut.
    pub cuts: Cuts,
}

/// The functions of a kernel, and the schedule that they follow.
#[derive(Clone, Debug)]
pub struct LoweredKernel<L = Launch> {
    /// A launch for each outermost dimension; on a GPU, one more for scatters that have an order.
    pub launches: Vec<L>,
    /// How each function runs.
    pub schedule: Schedule,
}

/// Why a kernel was not lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLowered {
    /// A schedule that was given is not legal.
    Illegal(String),
    /// A bug: a kernel that is not well formed, or a legal schedule that could not be followed.
    Bug(String),
}

impl fmt::Display for NotLowered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (NotLowered::Illegal(why) | NotLowered::Bug(why)) = self;
        f.write_str(why)
    }
}

/// Lowers a kernel to functions of the loop IR. A function for which a schedule is given follows that, the others follow one that is chosen.
///
/// # Errors
/// See [`NotLowered`].
pub fn lower_kernel(
    program: &Program,
    kernel: &Kernel,
    name: &str,
    purpose: Purpose,
    given: Option<&Schedule>,
) -> Result<LoweredKernel, NotLowered> {
    let (mut launches, mut functions) = (Vec::new(), Vec::new());
    for (i, (first, sinks)) in groups(program, kernel).into_iter().enumerate() {
        let lowering = Lowering { given, ..Lowering::new(program, &sinks, first, &launch_name(name, i), purpose) };
        launches.push(lowering.unless_illegal(lowering.launch())?);
        functions.append(&mut lowering.chosen.take());
    }
    Ok(LoweredKernel { launches, schedule: Schedule { functions } })
}

/// The name of a launch of a kernel.
fn launch_name(kernel: &str, number: usize) -> String {
    if number == 0 { kernel.to_string() } else { format!("{kernel}_{number}") }
}

/// The sinks of a kernel by their outermost dimension.
fn groups(program: &Program, kernel: &Kernel) -> BTreeMap<Space, Vec<Sink>> {
    let mut groups: BTreeMap<Space, Vec<Sink>> = BTreeMap::new();
    for sink in &anyway::without_redundant_checks(program, &kernel.sinks) {
        let (space, _) = program.sink_parts(sink);
        let mut first = program.between(ROOT, space).first().copied().unwrap_or(ROOT);
        if first == ROOT {
            // A value of the root belongs to the fold that gives it.
            let over = program.sink_needs(sink).into_iter().find_map(|n| root_fold(program, n));
            first = over.unwrap_or(ROOT);
        }
        groups.entry(first).or_default().push(sink.clone());
    }
    groups
}

/// The outermost dimension of a fold of the root.
fn root_fold(program: &Program, n: Node) -> Option<Space> {
    match program.node(n).op {
        Op::Fold { over, .. } if program.space_of(n) == ROOT => program.between(ROOT, over).first().copied(),
        _ => None,
    }
}

/// The emitter of a function, its scratch buffers, and its scalars.
type Opened<'k> = (Emitter<'k>, Vec<deckle_ir::loops::Buf>, Range);

struct Lowering<'k> {
    p: &'k Program,
    sinks: &'k [Sink],
    first: Space,
    name: String,
    purpose: Purpose,
    /// The folds and scans of the root along the first dimension.
    folds: Vec<Node>,
    scans: Vec<Node>,
    buffers: Vec<(kernel::Buf, bool)>,
    /// The dimension of rows of different lengths below the first, if there is one.
    rows: Option<Ragged>,
    /// Whether long rows have been run before.
    long: bool,
    /// Whether one thread has to traverse all points, one after another.
    alone: bool,
    /// Whether this is for a GPU.
    grid: bool,
    /// How threads share the points of the first dimension, once that is decided.
    threads: Cell<Option<Threads>>,
    /// What is to be followed where it has a function of that name.
    given: Option<&'k Schedule>,
    /// Why what is given is not legal, once that is known.
    illegal: RefCell<Option<String>>,
    /// The schedules of the functions that have been made.
    chosen: RefCell<Vec<schedule::Function>>,
}

/// The scalars of every function.
struct Range {
    first: Val,
    last: Val,
    block: Val,
    blocks: Val,
    piece: Val,
}

impl Range {
    fn new(e: &mut Emitter<'_>) -> Range {
        let mut scalar = || e.b.scalar(ScalarType::I64);
        Range { first: scalar(), last: scalar(), block: scalar(), blocks: scalar(), piece: scalar() }
    }
}

impl<'k> Lowering<'k> {
    fn new(p: &'k Program, sinks: &'k [Sink], first: Space, name: &str, purpose: Purpose) -> Lowering<'k> {
        let mut needed: BTreeSet<Node> = BTreeSet::new();
        sinks.iter().for_each(|s| needed.extend(p.sink_needs(s)));
        let mut buffers: BTreeMap<kernel::Buf, bool> = BTreeMap::new();
        for n in &needed {
            if let Op::Load(b, _) = p.node(*n).op {
                buffers.entry(b).or_insert(false);
            }
        }
        for sink in sinks {
            match sink {
                Sink::Write { buf, .. } => buffers.extend([(*buf, true)]),
                Sink::Scatter { bufs, .. } => buffers.extend(bufs.iter().map(|b| (*b, true))),
                Sink::Check(_) => {}
            }
        }
        let alone = needed.iter().any(|n| goes_in_order(p, *n, ROOT));
        let is_dim = matches!(p.space(first).region, Region::Dim(_)) && !alone;
        let folds = needed.iter().copied().filter(|n| is_dim && root_fold(p, *n) == Some(first)).collect();
        let scans = needed.iter().copied().filter(|n| {
            let from_root = matches!(p.node(*n).op, Op::Scan { from: ROOT, .. });
            is_dim && from_root && p.between(ROOT, p.space_of(*n)).first() == Some(&first)
        });
        let scans = scans.collect();
        let (name, buffers) = (name.to_string(), buffers.into_iter().collect());
        let rows = if purpose.diagnose { None } else { rows_of(p, sinks, first, &needed, purpose.cuts.few_in_row) };
        let (grid, long, given) = (false, false, None);
        let (threads, illegal, chosen) = (Cell::default(), RefCell::default(), RefCell::default());
        Lowering {
            p,
            sinks,
            first,
            name,
            purpose,
            folds,
            scans,
            buffers,
            rows,
            long,
            alone,
            grid,
            threads,
            given,
            illegal,
            chosen,
        }
    }

    /// What the function of that name part traverses, as it is chosen.
    fn walks(&self, part: &str, choose: impl FnOnce(&mut Chooser<'k>) -> Walks) -> Res<Walks> {
        self.walks_of(part, self.threads.get().filter(|_| part.is_empty()), choose)
    }

    /// The same for a function whose points threads share so.
    fn walks_of(
        &self,
        part: &str,
        threads: Option<Threads>,
        choose: impl FnOnce(&mut Chooser<'k>) -> Walks,
    ) -> Res<Walks> {
        let take = threads.and_then(|t| t.share.grid()).map(|grid| grid.take);
        let mut chooser = Chooser {
            facts: Facts::new(self.p, self.sinks, self.purpose.cuts),
            gathers: self.purpose.gathers,
            stores: self.purpose.stores,
            vectors: !self.purpose.diagnose && !self.grid,
            rows: self.row_dim(),
            staged: None,
            joined: Vec::new(),
            at_edges: false,
            grouped: None,
        };
        if let Some(take) = take {
            self.join(&mut chooser, part, take)?;
        }
        let mut walks = choose(&mut chooser);
        let name = format!("{}{part}", self.name);
        if let Some(given) = self.given_function(&name) {
            if given.threads.is_some() && threads.is_none() {
                return self.refuse(&name, "its threads are given by another function");
            }
            if let Err(why) = chooser.legal(&given.walks, &walks) {
                return self.refuse(&name, &why);
            }
            walks = given.walks.clone();
        }
        let walks = if self.purpose.compare { chooser.compared(&walks) } else { walks };
        let legend = Legend(legend(self.p, self.sinks, &walks, self.purpose.contract));
        self.chosen.borrow_mut().push(schedule::Function { name, threads, walks: walks.clone(), legend });
        Ok(walks)
    }

    /// An emitter for the function of that name part, which traverses items from the root on: a range of the first dimension, if `ranged`.
    fn emitter(&self, part: &str, items: &[Item], ranged: bool) -> Res<Opened<'k>> {
        let walks = self.walks(part, |c| match self.long && ranged {
            // Ranges are those between rows that were run before, and these rows are points on their own.
            true => {
                let at_points = c.facts.with_scans(ROOT, items);
                [c.walks(items, false), c.walks_at_points(self.first, &at_points, false)].concat().into()
            }
            false => c.walks(items, ranged),
        })?;
        Ok(self.emitter_for(part, walks))
    }

    /// An emitter for a function that runs after all blocks.
    fn emitter_after(&self, part: &str) -> Res<Opened<'k>> {
        let folds: Vec<Item> = self.folds.iter().map(|n| Item::Fold(*n)).collect();
        let walks = self.walks(part, |c| c.root_walks(&folds))?;
        Ok(self.emitter_for(part, walks))
    }

    /// An emitter for a function that opens the points of the first dimension itself.
    fn emitter_at_points(&self, part: &str, items: &[Item]) -> Res<Opened<'k>> {
        let walks = self.walks(part, |c| c.walks_at_points(self.first, items, false))?;
        Ok(self.emitter_for(part, walks))
    }

    fn emitter_for(&self, part: &str, walks: Walks) -> Opened<'k> {
        let name = format!("{}{part}", self.name);
        let mut e = Emitter::new(self.p, self.sinks, &name, &self.buffers, self.purpose, walks);
        let scratch = self.scratch_types();
        let scratch = scratch.into_iter().map(|ty| e.b.buffer(ty, deckle_ir::loops::Access::Write)).collect();
        let range = Range::new(&mut e);
        self.set_rows(&mut e, range.piece);
        (e, scratch, range)
    }

    /// For each fold its components and whether there is a value; for each scan the same twice: what a block adds, and what comes before it.
    fn scratch_types(&self) -> Vec<ScalarType> {
        let folds = self.folds.iter().flat_map(|n| self.types_of(*n));
        folds.chain(self.scans.iter().flat_map(|n| [self.types_of(*n), self.types_of(*n)].concat())).collect()
    }

    /// The components of a fold or scan, and whether there is a value.
    fn types_of(&self, n: Node) -> Vec<ScalarType> {
        let elems = parts_of(self.p, n).map_or(Vec::new(), |(_, e, _)| e.clone());
        elems.iter().map(|e| self.p.ty(*e)).chain([ScalarType::Bool]).collect()
    }

    /// Where in the scratch a fold begins, or a scan: what it adds, and what comes before.
    fn places(&self) -> Vec<(Node, usize, usize)> {
        let mut at = 0;
        let mut places = Vec::new();
        for n in &self.folds {
            places.push((*n, at, at));
            at += self.width(*n);
        }
        for n in &self.scans {
            places.push((*n, at, at + self.width(*n)));
            at += 2 * self.width(*n);
        }
        places
    }

    fn width(&self, n: Node) -> usize {
        parts_of(self.p, n).map_or(0, |(_, e, _)| e.len()) + 1
    }

    fn place(&self, n: Node) -> (usize, usize) {
        self.places().iter().find(|(m, ..)| *m == n).map_or((0, 0), |(_, a, b)| (*a, *b))
    }

    fn items(&self) -> Vec<Item> {
        let folds = self.folds.iter().map(|n| Item::Fold(*n));
        let sinks = (0..self.sinks.len()).filter(|i| self.p.sink_parts(&self.sinks[*i]).0 != ROOT).map(Item::Sink);
        folds.chain(sinks).collect()
    }

    /// How threads share the points of the first dimension: as it is chosen, or given.
    fn share(&self) -> Res<(Threads, Outermost)> {
        let size = match self.p.space(self.first).region {
            Region::Dim(size) => Some(size),
            _ => None,
        };
        let outermost = Outermost {
            whole: self.alone || size.is_none_or(|n| self.p.space_of(n) != ROOT),
            folds: !self.folds.is_empty(),
            scans: !self.scans.is_empty(),
            nested: self.work() != Work::Little,
            ordered: self.sinks.iter().any(|s| crate::facts::is_ordered(self.p, s)) && !self.scatters_one(),
            copies: self.can_copy(),
            owners: self.can_own(),
            rows: self.rows.is_some(),
        };
        let chosen = outermost.threads(self.purpose.cuts);
        let given = self.given_function(&self.name).and_then(|f| f.threads);
        if let Some(Err(why)) = given.map(|threads| outermost.legal(threads)) {
            return self.refuse(&self.name, &why);
        }
        Ok((given.unwrap_or(chosen), outermost))
    }

    /// The schedule that is given for a function.
    fn given_function(&self, name: &str) -> Option<&'k schedule::Function> {
        self.given.and_then(|s| s.functions.iter().find(|f| f.name == name))
    }

    /// Refuses the schedule that is given for a function.
    fn refuse<T>(&self, name: &str, why: &str) -> Res<T> {
        let why = format!("the schedule of `{name}` is not legal: {why}");
        self.illegal.replace(Some(why.clone()));
        Err(why)
    }

    /// What was made, or why it was not.
    fn unless_illegal<T>(&self, made: Res<T>) -> Result<T, NotLowered> {
        match self.illegal.take() {
            Some(why) => Err(NotLowered::Illegal(why)),
            None => made.map_err(NotLowered::Bug),
        }
    }

    fn launch(&self) -> Res<Launch> {
        let Region::Dim(size) = self.p.space(self.first).region else { return self.single() };
        let (threads, outermost) = self.share()?;
        self.threads.set(Some(threads));
        if outermost.whole {
            return self.single();
        }
        let main = self.main()?;
        let at_root = self.sinks.iter().any(|s| self.p.sink_parts(s).0 == ROOT);
        let finish = if at_root { Some(self.finish()?) } else { None };
        let share = threads.share;
        Ok(Launch {
            buffers: self.buffers.iter().map(|(b, _)| *b).collect(),
            scratch: self.scratch_types(),
            size: Some(size),
            private: main.private,
            work: self.work(),
            block: threads.block,
            together: main.together,
            ordered: share == Share::One || outermost.ordered,
            rows: if matches!(share, Share::Rows | Share::Owners) { self.launch_rows()? } else { None },
            copies: if share == Share::Copies { Some(self.copies()?) } else { None },
            owned: if share == Share::Owners { Some(self.owned()?) } else { None },
            scans: self.scan_levels()?,
            main: main.function,
            finish,
        })
    }

    /// How much is done at a point of the first dimension.
    fn work(&self) -> Work {
        let mut needed: BTreeSet<Node> = BTreeSet::new();
        self.sinks.iter().for_each(|s| needed.extend(self.p.sink_needs(s)));
        let mut spaces: BTreeSet<Space> = self.sinks.iter().map(|s| self.p.sink_parts(s).0).collect();
        spaces.extend(needed.iter().map(|n| self.p.space_of(*n)));
        let mut inner = BTreeSet::new();
        for s in spaces.into_iter().filter(|s| self.p.encloses(self.first, *s)) {
            inner.extend(self.p.between(self.first, s));
        }
        let looped = |s: &Space| matches!(self.p.space(*s).region, Region::Loop);
        let mut sizes = Vec::new();
        for s in &inner {
            match self.p.space(*s).region {
                Region::Dim(size) if self.p.space_of(size) == ROOT => sizes.push(size),
                Region::Dim(size) if !self.is_loaded(size) => return Work::Unknown,
                _ => {}
            }
        }
        let nested = inner.iter().any(|s| matches!(self.p.space(*s).region, Region::Dim(_)));
        match nested {
            _ if inner.iter().any(looped) => Work::Unknown,
            true => Work::Rounds(sizes),
            false => Work::Little,
        }
    }

    /// Whether a size comes from memory at each point: then arrays that are read are as long as all such sizes together.
    fn is_loaded(&self, size: Node) -> bool {
        self.p.needs(&[size]).iter().any(|n| matches!(self.p.node(*n).op, Op::Load(..)) && self.p.space_of(*n) != ROOT)
    }
}

fn finished(e: Emitter<'_>) -> Res<Function> {
    verified(e.b.finish().map_err(|faults| faults.join("; "))?)
}

fn verified(function: Function) -> Res<Function> {
    match deckle_ir::loops::verify(&function) {
        Ok(()) => Ok(function),
        Err(wrong) => Err(format!("{}\n{function}", wrong.join("; "))),
    }
}
