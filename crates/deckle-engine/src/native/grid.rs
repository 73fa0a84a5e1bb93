//! What all devices have in common that run kernels on a grid of threads.

use crate::native::compile::Make;
use crate::native::cpu::Cpu;
use crate::native::device::Device;
use crate::native::fault::Failure;
use crate::native::plan::Plan;
use crate::native::rows::LongCodes;
use crate::native::run::Memory;
use deckle_diag::{Diagnostic, Span};
use deckle_ir::kernel::{Kernel, Node};
use deckle_ir::loops::{Found, Function, Gathers, GridLaunch, GridSort, Stores};
use deckle_ir::schedule::Schedule;
use deckle_llvm::Pipeline;
use deckle_lower::cuts::Cuts;
use deckle_lower::lower::{GridPurpose, LoweredKernel};
use deckle_lower::pipeline::{Passes, grid_sorts, grids, in_chunks};

/// How kernels are laid out on a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many threads a block has where the schedule is chosen, a multiple of 32.
    pub threads: u32,
    /// Into how many parts the outermost dimension is cut, if it has as many points: if not given, what suits the device.
    pub parts: Option<i64>,
    /// Whether a group of threads takes a point, or a block tiles of a product, where they can: if not given, as the schedule says.
    pub wide: Option<bool>,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { threads: 256, parts: None, wide: None }
    }
}

impl Layout {
    /// What kernels are lowered for.
    pub(crate) fn purpose(self, plan: &Plan) -> GridPurpose {
        GridPurpose { threads: self.threads, contract: plan.contract, cuts: plan.cuts }
    }
}

/// The functions of all kernels, and the schedules that they follow. Functions for which a schedule is given follow that.
pub(crate) fn lowered(
    plan: &Plan,
    layout: Layout,
    given: Option<&Schedule>,
) -> Result<Vec<LoweredKernel<GridLaunch>>, Box<Diagnostic>> {
    grids(&plan.program, layout.purpose(plan), given, &mut Passes::default())
}

/// All functions of a program.
#[derive(Debug)]
pub(crate) struct Grids {
    /// The launches of each kernel.
    pub launches: Vec<Vec<GridLaunch>>,
    /// Which kernels run for each chunk of a sequence.
    pub in_chunks: Vec<bool>,
    /// The functions that sort, if the program does.
    pub sorts: Option<GridSort>,
}

impl Grids {
    pub(crate) fn new(plan: &Plan, layout: Layout, given: Option<&Schedule>) -> Result<Grids, Box<Diagnostic>> {
        let launches: Vec<_> = lowered(plan, layout, given)?.into_iter().map(|k| k.launches).collect();
        let sorts = grid_sorts(&plan.program, &launches, layout.purpose(plan), &mut Passes::default())?;
        Ok(Grids { launches, in_chunks: in_chunks(&plan.program.steps), sorts })
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = &Function> {
        let sorts = self.sorts.iter().flat_map(GridSort::functions);
        self.launches.iter().flatten().flat_map(GridLaunch::functions).chain(sorts)
    }
}

/// The launches of functions, in order, and what all of them are passed.
pub(crate) struct Calls<'a> {
    pub parts: i64,
    /// The points that are divided into parts.
    pub points: i64,
    pub scalars: Vec<i64>,
    pub rows: Option<PieceSizes>,
    pub all: Vec<(&'a Function, u64)>,
}

/// The sizes of the lists for rows that are split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceSizes {
    /// The elements of the lists of pieces, and of the list of rows.
    pub pieces: i64,
    pub rows: i64,
    /// Whether there may be such rows.
    pub used: bool,
}

/// Rows of computed length are not split if there are more of them than elements of any array, and than this many for each piece: a number is stored for each row.
const MOST_ROWS: i64 = 64;

/// The number of points of dimensions with these sizes. There may be more than can be counted, if nothing of them is stored.
fn count<D: Device>(memory: &Memory<'_, D>, sizes: &[Node]) -> Result<i64, Failure> {
    let mut all = 1i64;
    for n in sizes {
        let size = memory.host().int(*n)?.max(0);
        let many = || Failure::TooLarge("the points of a kernel".into(), i64::MAX, Span::default());
        all = all.checked_mul(size).ok_or_else(many)?;
        if all == 0 {
            break;
        }
    }
    Ok(all)
}

/// What to launch. `elements` is how many the largest buffer has. In chunks of a sequence, floats are grouped in one way for chunks of all sizes.
pub(crate) fn calls<'a, D: Device>(
    memory: &Memory<'_, D>,
    launch: &'a GridLaunch,
    layout: Layout,
    elements: i64,
    in_chunks: bool,
) -> Result<Calls<'a>, Failure> {
    let one_way = in_chunks && launch.adds_floats;
    if let Some(tiles) = &launch.tiles {
        let [rows, columns] = tiles.sizes.map(|n| count(memory, &[n]));
        if let Some((tiles, blocks)) = launch.tiles([rows?, columns?], layout.wide) {
            let all = Vec::from_iter((blocks > 0).then_some((&tiles.function, blocks as u64)));
            return Ok(Calls { parts: blocks, points: blocks, scalars: vec![1, blocks], rows: None, all });
        }
    }
    let wide = launch.wide.iter().map(|w| count(memory, &w.sizes)).collect::<Result<Vec<i64>, Failure>>()?;
    let mut found = Vec::new();
    for (points, wide) in wide.iter().zip(&launch.wide) {
        let mut inside = 1;
        for sizes in &wide.inside {
            let sizes = sizes.iter().map(|n| memory.host().int(*n)).collect::<Result<Vec<i64>, Failure>>()?;
            inside = inside.max(sizes.into_iter().fold(1, |all, n| i64::saturating_mul(all, n.max(0))));
        }
        found.push(Found { points: *points, elements: elements / (*points).max(1), inside });
    }
    // Products in tiles are grouped as by one thread.
    let chosen = match (one_way, &launch.tiles) {
        (false, _) => launch.wide(&found, layout.wide),
        (true, None) => (!launch.wide.is_empty() && layout.wide != Some(false)).then_some(0),
        (true, Some(_)) => None,
    };
    let (wide, size) = match chosen {
        Some(k) => (Some(&launch.wide[k]), wide[k]),
        None => (None, count(memory, &launch.sizes)?),
    };
    let suits = wide.map_or_else(|| launch.points(size), |w| w.points(size));
    let points = layout.parts.map_or(suits, |parts| size / parts.max(1) + i64::from(size % parts.max(1) > 0)).max(1);
    let parts = size / points + i64::from(size % points > 0);
    let (mut all, mut scalars) = (Vec::new(), vec![points, parts]);
    let rows = launch.rows.as_ref().map(|rows| {
        let split = wide.map_or(launch.split, |w| w.split).filter(|n| match rows.lengths {
            // With less room than all pieces need, longer rows are split, and how long they are follows from all of them.
            Some(_) => !one_way && size <= elements.max(rows.room.saturating_mul(MOST_ROWS)),
            // What is read at the elements of a row is an array that is as long.
            None => elements > *n,
        });
        let least = if rows.lengths.is_some() { rows.room } else { 1 };
        let pieces = split.map_or(1, |n| (elements / n.max(1) + 1).max(least));
        scalars.extend([split.unwrap_or(i64::MAX), pieces]);
        if split.is_some() && size > 0 {
            let threads = i64::from(rows.list.block.max(1));
            let [over_rows, over_pieces] = [size / threads + 1, pieces].map(|n| n.min(rows.blocks) as u64);
            all.extend(rows.lengths.iter().chain([&rows.list]).map(|f| (f, over_rows)));
            all.extend(rows.phases.iter().map(|f| (f, over_pieces)));
        }
        PieceSizes { pieces, rows: size, used: split.is_some() }
    });
    for phase in &launch.phases {
        match wide {
            Some(wide) if !phase.alone => all.push((&wide.function, parts as u64)),
            _ => all.push((&phase.function, launch.grid(phase, parts))),
        }
    }
    all.retain(|(_, grid)| *grid > 0);
    Ok(Calls { parts, points: size, scalars, rows, all })
}

/// Runs a kernel that has failed again, on this machine, to see where it fails first.
pub(crate) fn diagnose<D: Device>(
    memory: &Memory<'_, D>,
    kernel: &Kernel,
    at: usize,
    contract: bool,
) -> Result<Failure, Failure> {
    let checked = memory.settings.pool.is_checked();
    let make = Make {
        pipeline: Pipeline::O1,
        gathers: Gathers::Native,
        stores: Stores::Anywhere,
        cuts: Cuts::default(),
        checked,
        contract,
    };
    let long = LongCodes::default();
    let cpu = Cpu { codes: None, long: &long, make: &make, settings: memory.settings, room: None };
    cpu.diagnose(&memory.brought_to(&cpu)?, kernel, at)
}
