//! Lowering for GPUs: from kernels to functions of the loop IR that run on a grid of threads.
//!
//! The outermost dimension is cut into parts; see [`GridLaunch`]. Who takes a part, and which of its points, is in the schedule ([`Take`]); the rules are in `choose/gpu.rs`.
//! - *A part for a block* ([`Gpu::by_blocks`]): its threads take the points round-robin or in successive ranges. What they fold is combined within the block and from block to block; see `meet.rs`.
//! - *A part for a block, in rounds* ([`Gpu::by_rounds`]): what is scanned needs two more functions, one that folds all parts, and one in which a block computes what comes before each of them; see
//!   `scanned.rs`.
//! - *A part for a thread* ([`Gpu::by_threads`]): the same, where a thread takes all points of a part.
//! - *A part for a block, of points that are sorted* by where they scatter, with one more function, for the keys; see `gpu_scatter.rs`.
//! - *One thread* does all of it, in order.
//!
//! Beside the first there may be functions in which a group of threads takes each point; see `group.rs`. In another one, warps take runs of rows; see `gpu_runs.rs`.

use super::dense::joined_dims;
use super::emit::{Emitter, Res, Width};
use super::{LoweredKernel, Lowering, NotLowered, Purpose, Range, groups, launch_name, verified};
use crate::choose::gpu::{OnGrid, TILE, launches};
use crate::cuts::Cuts;
use crate::facts::grid::{all_commute, bin_bytes, binned, needs_order, stays_together};
use crate::facts::product::Product;
use crate::facts::ragged::Ragged;
use crate::facts::{Facts, adds_floats};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Kernel, Node, Program, ROOT, Region};
use deckle_ir::loops::{Axis, Buf, Builder, Expr, Function, Gathers, GridLaunch, Parts, Phase, Stores, Val, Wide};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::{Grid, Item, Schedule, Share, Take, Threads, Walks};

/// The threads that a multiprocessor should have room for, so that some run while others wait for memory: they have up to 64 registers each.
const RESIDENT: u32 = 1024;

/// Functions with more values than this compute much with what they load.
const LARGE: usize = 150;

/// What a schedule for a GPU is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridPurpose {
    /// The threads of a block where the schedule is chosen, a multiple of 32.
    pub threads: u32,
    /// Whether folds round the products that they add only once, with the addition.
    pub contract: bool,
    /// The sizes at which work is cut.
    pub cuts: Cuts,
}

/// The functions of a kernel for a GPU: one launch or more for each outermost dimension, to be run in order. A function for which a schedule is given follows that.
///
/// # Errors
/// See [`NotLowered`].
pub fn lower_gpu(
    program: &Program,
    kernel: &Kernel,
    name: &str,
    purpose: GridPurpose,
    given: Option<&Schedule>,
) -> Result<LoweredKernel<GridLaunch>, NotLowered> {
    let (mut lowered, mut functions) = (Vec::new(), Vec::new());
    let GridPurpose { threads, contract, cuts } = purpose;
    let (gathers, stores) = (Gathers::Native, Stores::Anywhere);
    let purpose = Purpose { gathers, stores, diagnose: false, compare: false, contract, cuts };
    for (i, (first, sinks)) in groups(program, kernel).into_iter().enumerate() {
        for (sinks, mark) in launches(program, sinks) {
            let s = Lowering::new(program, &sinks, first, &(launch_name(name, i) + mark), purpose);
            let mut gpu = Gpu { s: Lowering { grid: true, given, ..s }, threads, split_over: None };
            let launch = gpu.launch();
            lowered.push(gpu.s.unless_illegal(launch)?);
            functions.append(&mut gpu.s.chosen.take());
        }
    }
    Ok(LoweredKernel { launches: lowered, schedule: Schedule { functions } })
}

/// The emitter of a function, its scratch buffers, its scalars and who runs it.
pub(super) type Opened<'k> = (Emitter<'k>, Vec<Buf>, Who);

pub(super) struct Gpu<'k> {
    pub s: Lowering<'k>,
    /// The threads of a block.
    pub threads: u32,
    /// The rows of which blocks share the long ones, if the schedule says so.
    pub split_over: Option<Ragged>,
}

/// The scalars of every function, and who runs it.
pub(super) struct Who {
    /// The points of a part, and how many parts there are.
    pub points: Val,
    pub parts: Val,
    pub block: Val,
    pub thread: Val,
}

impl<'k> Gpu<'k> {
    fn launch(&mut self) -> Res<GridLaunch> {
        let product = self.product();
        let on_grid = OnGrid { product: product.as_ref().map(|t| t.bytes(self.s.p)), ..self.on_grid() };
        let threads = self.share(&on_grid, "", on_grid.threads(self.threads, self.s.purpose.cuts))?;
        self.s.threads.set(Some(threads));
        let take = match threads.share {
            Share::Grid(grid) => {
                self.threads = grid.threads;
                grid.take
            }
            Share::One => {
                // One traversal of all points: what is folded or scanned has no parts.
                self.s.folds.clear();
                self.s.scans.clear();
                let phases = vec![Phase { function: self.single()?, alone: true }];
                return Ok(self.launch_of(phases, (Vec::new(), Parts::Block, 1)));
            }
            share => return Err(format!("lower_gpu: `{share}` is not for a grid")),
        };
        let mut groups = Vec::new();
        for (part, chosen) in on_grid.groups(self.threads, self.s.purpose.cuts) {
            groups.push((part, self.share(&on_grid, part, chosen)?));
        }
        let split = |t: &Threads| t.share.grid().and_then(|grid| grid.split);
        let splits = groups.iter().map(|(_, t)| t).chain([&threads]).any(|t| split(t).is_some());
        if splits && product.is_none() {
            self.split_over = self.splittable();
        }
        let sorted = match take {
            Take::Sorted => {
                let len = self.scattered().ok_or("lower_gpu: nothing is scattered in order")?;
                Some(self.keys(len)?)
            }
            _ => None,
        };
        let mut phases = Vec::new();
        let mut phase = |function: Function, alone: bool| phases.push(Phase { function, alone });
        let least = match take {
            Take::Binned { .. } => self.s.purpose.cuts.binned_part,
            Take::Rounds { each } => i64::from(each) * i64::from(self.threads),
            _ => 1,
        };
        let parts = match take {
            Take::Parts => {
                let levels = self.s.levels();
                for level in 0..levels.len() {
                    phase(self.totals(&levels, level)?, false);
                    phase(self.prefix(&levels[level], level)?, true);
                }
                phase(self.by_threads()?, false);
                Parts::Thread
            }
            Take::Rounds { each } => {
                let levels = self.s.levels();
                for level in 0..levels.len() {
                    phase(self.totals_of_blocks(&levels, level, each)?, false);
                    phase(self.prefix(&levels[level], level)?, true);
                }
                phase(self.by_rounds(each)?, false);
                Parts::Block
            }
            Take::Strided | Take::Binned { .. } | Take::Successive => {
                phase(self.by_blocks(take)?, false);
                Parts::Block
            }
            Take::Sorted => {
                phase(self.by_elements()?, false);
                Parts::Block
            }
            Take::Groups { .. } | Take::Runs { .. } | Take::Tiles { .. } => {
                return Err(format!("lower_gpu: `{take}` is for a function of its own"));
            }
        };
        if self.s.sinks.iter().any(|s| self.s.p.sink_parts(s).0 == ROOT) {
            phase(self.finish()?, true);
        }
        let wide = groups.iter().map(|(part, threads)| self.wide(part, *threads)).collect::<Res<Vec<Wide>>>()?;
        let tiles = match (&product, on_grid.tiles(self.threads, self.s.purpose.cuts)) {
            (Some(product), Some(chosen)) => Some(self.tiles(TILE, self.share(&on_grid, TILE, chosen)?, product)?),
            _ => None,
        };
        let (rows, split) = (self.split_rows()?, split(&threads));
        let launch = self.launch_of(phases, (self.shared_sizes(""), parts, least));
        Ok(GridLaunch { wide, tiles, rows, split, sorted, ..launch })
    }

    fn launch_of(&self, phases: Vec<Phase>, (sizes, parts, least): (Vec<Node>, Parts, i64)) -> GridLaunch {
        let (buffers, scratch) = (self.s.buffers.iter().map(|(b, _)| *b).collect(), self.s.scratch_types());
        let wide = Vec::new();
        let needed = self.s.sinks.iter().flat_map(|sink| self.s.p.sink_needs(sink));
        let adds_floats = needed.into_iter().any(|n| adds_floats(self.s.p, n));
        let (split, rows, tiles, sorted) = (None, None, None, None);
        GridLaunch { buffers, scratch, sizes, parts, least, phases, wide, adds_floats, split, rows, tiles, sorted }
    }

    /// The product that the launch computes, if it does.
    fn product(&self) -> Option<Product> {
        let s = &self.s;
        let free = s.scans.is_empty() && s.folds.is_empty() && !s.alone;
        Facts::new(s.p, s.sinks, s.purpose.cuts).product(s.first).filter(|_| free)
    }

    /// What is known of the points.
    fn on_grid(&self) -> OnGrid {
        let (p, s) = (self.s.p, &self.s);
        let known = matches!(p.space(s.first).region, Region::Dim(size) if p.space_of(size) == ROOT);
        let in_order = s.sinks.iter().any(|sink| needs_order(p, sink));
        let sorted = known && in_order && self.scattered().is_some();
        let alone = match known {
            _ if sorted => None,
            _ if in_order => {
                Some("several points may store to the same element, and no atomic instruction combines them")
            }
            _ if s.alone => Some("an ordered fold or scan takes one element after another"),
            false => Some("there is no dimension to share"),
            true => None,
        };
        let taken = s.taken_by_groups();
        OnGrid {
            alone,
            scans: !s.scans.is_empty(),
            folds: !s.folds.is_empty(),
            commutes: all_commute(p, &s.folds),
            product: None,
            bin: bin_bytes(p, &binned(p, s.sinks)),
            shared: !sorted && s.shares_points(taken),
            together: stays_together(p, s.sinks, taken),
            rows: !sorted && self.splittable().is_some(),
            run_bytes: if sorted { 0 } else { self.run_bytes() },
            sorted,
        }
    }

    /// How threads share the points in the function of that name part: as it is chosen, or given.
    fn share(&self, on_grid: &OnGrid, part: &str, chosen: Threads) -> Res<Threads> {
        let name = format!("{}{part}", self.s.name);
        let legal = |threads| on_grid.legal(threads, part);
        let Some(given) = self.s.given_function(&name).and_then(|f| f.threads) else {
            legal(chosen).map_err(|why| format!("lower_gpu: a schedule was chosen that is not legal: {why}"))?;
            return Ok(chosen);
        };
        match legal(given) {
            Ok(()) => Ok(given),
            Err(why) => self.s.refuse(&name, &why),
        }
    }

    /// The emitter of a function that traverses items from the root on.
    pub(super) fn open(&self, part: &str, items: &[Item]) -> Res<Opened<'k>> {
        Ok(self.open_with(part, self.s.walks(part, |c| c.walks(items, false))?))
    }

    pub(super) fn open_with(&self, part: &str, walks: Walks) -> Opened<'k> {
        let name = format!("{}{part}", self.s.name);
        let joined = joined_dims(&walks);
        let mut e = Emitter::new(self.s.p, self.s.sinks, &name, &self.s.buffers, self.s.purpose, walks);
        e.grid.on = true;
        e.grid.joined = joined;
        let types = self.s.scratch_types();
        let scratch = types.into_iter().map(|ty| e.b.buffer(ty, deckle_ir::loops::Access::Write)).collect();
        let lists = self.piece_bufs(&mut e);
        let (points, parts) = (e.b.scalar(ScalarType::I64), e.b.scalar(ScalarType::I64));
        self.set_split(&mut e, lists);
        let (block, thread) = (e.b.let_(Expr::Id(Axis::Block)), e.b.let_(Expr::Id(Axis::Thread)));
        (e, scratch, Who { points, parts, block, thread })
    }

    pub(super) fn close(e: Emitter<'_>, threads: u32) -> Res<Function> {
        let mut function = e.b.finish().map_err(|faults| faults.join("; "))?;
        function.block = threads;
        function.resident = if function.vals.len() > LARGE { RESIDENT / 2 } else { RESIDENT };
        verified(function)
    }

    /// A function whose body one thread runs.
    pub(super) fn one(
        &self,
        part: &str,
        items: &[Item],
        body: impl FnOnce(&mut Emitter<'k>, &[Buf], &Who) -> Res<()>,
    ) -> Res<Function> {
        let (mut e, scratch, who) = self.open(part, items)?;
        begin_first(&mut e, who.thread);
        body(&mut e, &scratch, &who)?;
        e.b.end(&[]);
        Gpu::close(e, 32)
    }

    /// A function whose body a thread runs for each part.
    fn each(
        &self,
        part: &str,
        items: &[Item],
        body: impl FnOnce(&mut Emitter<'k>, &[Buf], &Who, Val) -> Res<()>,
    ) -> Res<Function> {
        let (mut e, scratch, who) = self.open(part, items)?;
        let base = e.b.mul_const(who.block, i64::from(self.threads));
        let mine = e.b.add(base, who.thread);
        let there = e.b.lt(mine, who.parts);
        e.b.begin_if(there);
        e.root_here();
        body(&mut e, &scratch, &who, mine)?;
        e.b.end(&[]);
        Gpu::close(e, self.threads)
    }

    /// The bounds of a part.
    pub(super) fn bounds(&self, e: &mut Emitter<'k>, who: &Who, part: Val) -> Res<(Val, Val)> {
        if !e.grid.joined.is_empty() {
            return self.joined_bounds(e, who, part);
        }
        let range = Range { first: part, last: part, block: who.points, blocks: who.parts, piece: who.points };
        self.s.bounds(e, &range, part)
    }

    /// All of it, in order.
    fn single(&self) -> Res<Function> {
        self.one("", &self.s.items(), |e, _, _| {
            e.traverse(ROOT, &self.s.items(), None)?;
            self.root_sinks(e)
        })
    }

    pub(super) fn root_sinks(&self, e: &mut Emitter<'k>) -> Res<()> {
        let sinks = self.s.sinks;
        sinks.iter().filter(|s| self.s.p.sink_parts(s).0 == ROOT).try_for_each(|sink| e.sink(sink, Width::One))
    }

    pub(super) fn begin_folds(&self, e: &mut Emitter<'k>, nodes: &[Node]) -> Res<()> {
        for n in nodes {
            let acc = self.s.nothing(e, *n)?;
            e.accs.insert(*n, acc);
        }
        Ok(())
    }

    /// A block takes a part, and its threads the points as is said.
    fn by_blocks(&self, take: Take) -> Res<Function> {
        let (mut e, scratch, who) = self.open("", &self.s.items())?;
        let (lo, hi) = self.bounds(&mut e, &who, who.block)?;
        let threads = i64::from(self.threads);
        let range = if take != Take::Successive {
            e.grid.stride = threads;
            (e.b.add(lo, who.thread), hi)
        } else {
            self.share_of_thread(&mut e.b, &who, (lo, hi))
        };
        self.begin_folds(&mut e, &self.s.folds)?;
        match take {
            Take::Binned { bytes } => self.in_bins(&mut e, &who, range, bytes)?,
            _ => e.traverse(ROOT, &self.s.items(), Some(range))?,
        }
        self.end_folds(&mut e, &scratch, &who)?;
        Gpu::close(e, self.threads)
    }

    /// The successive numbers of a range that a thread of a block takes.
    pub(super) fn share_of_thread(&self, b: &mut Builder, who: &Who, range: (Val, Val)) -> (Val, Val) {
        let threads = b.i64(i64::from(self.threads));
        share(b, range, who.thread, threads)
    }

    /// Stores what the block has folded.
    pub(super) fn end_folds(&self, e: &mut Emitter<'k>, scratch: &[Buf], who: &Who) -> Res<()> {
        if self.s.folds.is_empty() { Ok(()) } else { self.store_totals(e, scratch, who, &self.s.folds) }
    }

    /// Stores what the block has of some folds or scans, for its part.
    pub(super) fn store_totals(&self, e: &mut Emitter<'k>, scratch: &[Buf], who: &Who, nodes: &[Node]) -> Res<()> {
        self.store_met(e, who, nodes, |k| (scratch, self.s.place(nodes[k]).0), who.block)
    }

    /// Stores what the threads of the block have of some folds or scans together.
    ///
    /// `to` returns the buffers of each, and the number of the first.
    pub(super) fn store_met<'b>(
        &self,
        e: &mut Emitter<'k>,
        who: &Who,
        nodes: &[Node],
        to: impl Fn(usize) -> (&'b [Buf], usize),
        at: Val,
    ) -> Res<()> {
        let shared = self.meet(e, who, nodes)?;
        begin_first(e, who.thread);
        for (k, (n, shared)) in nodes.iter().zip(&shared).enumerate() {
            let total = self.total(e, *n, shared)?;
            let (bufs, first) = to(k);
            self.s.store(e, bufs, &total, first, at);
        }
        e.b.end(&[]);
        Ok(())
    }

    /// A thread takes a part, and knows what comes before.
    fn by_threads(&self) -> Res<Function> {
        self.each("", &self.s.items(), |e, scratch, who, mine| {
            for n in &self.s.scans {
                let before = self.s.load(e, scratch, *n, self.s.place(*n).1, mine);
                let mut acc = self.s.nothing(e, *n)?;
                acc.before = Some(Box::new(before));
                e.accs.insert(*n, acc);
            }
            self.begin_folds(e, &self.s.folds)?;
            let bounds = self.bounds(e, who, mine)?;
            e.traverse(ROOT, &self.s.items(), Some(bounds))?;
            for n in &self.s.folds {
                let acc = e.accs.remove(n).ok_or("a fold was lost")?;
                self.s.store(e, scratch, &acc, self.s.place(*n).0, mine);
            }
            Ok(())
        })
    }

    /// What each part adds to the scans of a level.
    fn totals(&self, levels: &[Vec<Node>], level: usize) -> Res<Function> {
        let items: Vec<Item> = levels[level].iter().map(|n| Item::Scan(*n)).collect();
        self.each(&format!("_totals{level}"), &items, |e, scratch, who, mine| {
            self.s.begin_level(e, scratch, (levels, level), mine)?;
            let bounds = self.bounds(e, who, mine)?;
            self.s.end_level(e, scratch, &levels[level], bounds, mine)?;
            e.accs.clear();
            Ok(())
        })
    }

    /// A block takes a part, a group of its threads each point, which share the points inside.
    fn wide(&self, part: &str, threads: Threads) -> Res<Wide> {
        let (in_block, split, width, at_least) = match threads.share.grid() {
            Some(Grid { threads, take: Take::Groups { width, at_least }, split }) => (threads, split, width, at_least),
            Some(grid @ Grid { take: Take::Runs { .. }, .. }) => return self.by_runs(part, threads, grid),
            _ => return Err(format!("lower_gpu: `{threads}` does not share points by groups")),
        };
        let items = self.s.items();
        let (mut e, _, who) = self.open_with(part, self.s.walks_of(part, Some(threads), |c| c.walks(&items, false))?);
        let (lo, hi) = self.bounds(&mut e, &who, who.block)?;
        let groups = i64::from(in_block / width);
        let taken = e.grid.joined.last().copied().unwrap_or(self.s.first);
        let from = e.begin_groups((taken, width), lo, who.thread);
        e.grid.stride = groups;
        e.traverse(ROOT, &items, Some((from, hi)))?;
        let (function, sizes) = (Gpu::close(e, in_block)?, self.shared_sizes(part));
        let inside = self.s.sizes_inside(taken);
        Ok(Wide { function, at_least, groups, split, sizes, inside })
    }
}

/// Successive numbers of a range, of which `number` of `of` takes a share: the last ones may have none.
pub(super) fn share(b: &mut Builder, (lo, hi): (Val, Val), number: Val, of: Val) -> (Val, Val) {
    let count = b.sub(hi, lo);
    // Without overflow, however many there are.
    let less = b.add_const(count, -1);
    let share = b.binary(BinOp::Div, less, of);
    let share = b.add_const(share, 1);
    let skip = b.mul(share, number);
    let from = b.add(lo, skip);
    let from = b.min(from, hi);
    let to = b.add(from, share);
    (from, b.min(to, hi))
}

/// Opens a block that the first thread runs, and lets it have what is computed for the root.
pub(super) fn begin_first(e: &mut Emitter<'_>, thread: Val) {
    let zero = e.b.i64(0);
    let first = e.b.binary(BinOp::Eq, thread, zero);
    e.b.begin_if(first);
    e.root_here();
}
