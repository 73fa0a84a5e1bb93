//! Matrix products on a GPU: tiles of the two dimensions in registers, what their points share in shared memory.
//!
//! A block takes a tile of rows and columns, and each of its threads several points of it, whose sums are in registers. The block goes along the folded dimension in steps of `deep`: its threads load
//! what differs from row to row and from column to column into shared memory, and each thread then combines this for all of its points.
//!
//! ```text
//! the next panels = loads for k = 0 .. deep
//! for k0 = 0 .. depth step deep {
//!     shared memory = the next panels;  barrier
//!     the next panels = loads for k0 + deep ..           // the results are needed a step later
//!     for k = k0 .. min(k0 + deep, depth) { sums of all points of the thread += elements from shared memory };  barrier
//! }
//! for each point of the thread, if there is one { what is computed and written there }
//! ```
//!
//! Rows, columns and steps beyond the last ones load those again, so that only the end of the fold and what is written ask where the edges are. A point adds up in the order of the fold.

use super::dense::joined_from;
use super::emit::{Emitter, Res, Width};
use super::folds::Acc;
use super::gpu::Gpu;
use super::points::Over;
use crate::facts::parts_of;
use crate::facts::product::{PAD, Product};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op, Region, Space};
use deckle_ir::loops::{Buf, LoopHint, Place, Tiles, Val};
use deckle_ir::schedule::{Grid, Level, Nest, Take, Threads, Walks};

/// The successive rows or columns of a thread, if it has as many: a load of 16 bytes.
const TOGETHER: u32 = 4;

/// The threads that a multiprocessor should have room for: the sums of a tile take many registers.
const RESIDENT: u32 = 512;

/// One of the two panels.
struct Panel {
    nodes: Vec<Node>,
    /// The dimension beside the folded one.
    dim: Space,
    shared: Vec<Buf>,
    /// The rows or columns of the tile, and the first of them.
    lines: u32,
    first: Val,
    last: Val,
    /// The positions that this thread loads: of its lines, and of the folded dimension from the start of a step on.
    loaded: Vec<(Val, Val, Val)>,
    /// The lines of this thread in the tile.
    own: Vec<Val>,
}

/// A product that is being computed by a block.
struct Tiling<'p> {
    product: &'p Product,
    inside: [Walks; 2],
    panels: [Panel; 2],
    depth: Val,
    deep: u32,
}

impl<'k> Gpu<'k> {
    /// The function in which a block takes a tile.
    pub(super) fn tiles(&self, part: &str, threads: Threads, product: &Product) -> Res<Tiles> {
        let Some(Grid { threads: in_block, take: Take::Tiles { rows, columns, across, deep, at_least }, .. }) =
            threads.share.grid()
        else {
            return Err(format!("lower_gpu: `{threads}` has no tiles"));
        };
        let items = self.s.items();
        let (mut opened, _, who) =
            self.open_with(part, self.s.walks_of(part, Some(threads), |c| c.walks(&items, false))?);
        let e = &mut opened;
        if e.grid.joined != [product.rows, product.columns] {
            let name = format!("{}{part}", self.s.name);
            return self.s.refuse(&name, "a tile is of two dimensions that are joined");
        }
        let shape = [rows * (in_block / across), columns * across];
        let sizes = [product.rows, product.columns].map(|dim| match self.s.p.space(dim).region {
            Region::Dim(size) => Ok(size),
            _ => Err(format!("{dim} is no dimension")),
        });
        let sizes = [sizes[0].clone()?, sizes[1].clone()?];
        let Region::Dim(depth) = self.s.p.space(product.inner).region else { return Err("no depth".into()) };
        let (counts, depth) = (e.all(&sizes)?, e.val(depth)?);
        // Which tile, and which points of it.
        let wide = i64::from(shape[1]);
        let more = e.b.add_const(counts[1], wide - 1);
        let wide = e.b.i64(wide);
        let tiles_across = e.b.binary(BinOp::Div, more, wide);
        let across_threads = e.b.i64(i64::from(across));
        let split = |e: &mut Emitter<'k>, x: Val, by: Val| [BinOp::Div, BinOp::Rem].map(|op| e.b.binary(op, x, by));
        let (tile, thread) = (split(e, who.block, tiles_across), split(e, who.thread, across_threads));
        let groups = [in_block / across, across];
        let mut panels = Vec::new();
        for (side, (dim, each)) in [(product.rows, rows), (product.columns, columns)].into_iter().enumerate() {
            let nodes = product.panels[side].clone();
            let lines = shape[side];
            let shared = |e: &mut Emitter<'k>, n: &Node| {
                let len = (deep - 1) * (lines + PAD) + lines;
                e.b.local(self.s.p.ty(*n), len, Place::Shared)
            };
            let shared = nodes.iter().map(|n| shared(e, n)).collect();
            let together = TOGETHER.min(each);
            let base = e.b.mul_const(thread[side], i64::from(together));
            let own = |r: u32| i64::from(r / together * groups[side] * together + r % together);
            let own = (0..each).map(|r| e.b.add_const(base, own(r))).collect();
            let (first, last) = (e.b.mul_const(tile[side], i64::from(lines)), e.b.add_const(counts[side], -1));
            let mut panel = Panel { nodes, dim, shared, lines, first, last, loaded: Vec::new(), own };
            self.share_loads(e, &mut panel, who.thread, (product.inner, deep), in_block);
            panels.push(panel);
        }
        let over = Over { space: product.rows, items: &items, inside: &Walks::from([]), short: false };
        let Nest::Level { level: Level::Joined, inside, .. } = e.nest_of(product.rows, &items)? else {
            return Err(format!("the points of {} are not joined", product.rows));
        };
        let below = |dim: Space| e.facts.below(dim, product.columns);
        let (dims, _) = joined_from(Level::Joined, Over { inside: &inside, ..over }, below)?;
        let [(_, rows_inside), (_, columns_inside)] = &dims[..] else { return Err("two dimensions are joined".into()) };
        let [below, beside] = <[Panel; 2]>::try_from(panels).map_err(|_| "a product has two panels")?;
        let inside = [rows_inside.clone(), columns_inside.clone()];
        let t = Tiling { product, inside, panels: [below, beside], depth, deep };
        let sums = t.sums(e)?;
        t.write(e, &items, &counts, sums)?;
        let shape = shape.map(i64::from);
        let mut function = Gpu::close(opened, in_block)?;
        function.resident = RESIDENT;
        Ok(Tiles { function, sizes, shape, at_least })
    }

    /// Divides what is loaded of a panel among the threads: neighbours load what lies side by side.
    fn share_loads(
        &self,
        e: &mut Emitter<'k>,
        panel: &mut Panel,
        thread: Val,
        (inner, deep): (Space, u32),
        in_block: u32,
    ) {
        let loads: Vec<Node> = self.s.p.needs(&panel.nodes).into_iter().collect();
        let along = |e: &mut Emitter<'k>, dim: Space| {
            loads.iter().any(|n| matches!(self.s.p.node(*n).op, Op::Load(_, at) if e.facts.goes_along(at, dim)))
        };
        let along_inner = along(e, inner) && !along(e, panel.dim);
        let by = if along_inner { deep } else { panel.lines };
        let by_val = e.b.i64(i64::from(by));
        for round in 0..panel.lines * deep / in_block {
            let number = e.b.add_const(thread, i64::from(round * in_block));
            let (fast, slow) = (e.b.binary(BinOp::Rem, number, by_val), e.b.binary(BinOp::Div, number, by_val));
            let (line, k) = if along_inner { (slow, fast) } else { (fast, slow) };
            let at = e.b.mul_const(k, i64::from(panel.lines + PAD));
            let at = e.b.add(at, line);
            let line = e.b.add(panel.first, line);
            let line = e.b.min(line, panel.last);
            panel.loaded.push((line, k, at));
        }
    }
}

impl Tiling<'_> {
    /// Opens a point of both dimensions.
    fn open(&self, e: &mut Emitter<'_>, [row, column]: [Option<Val>; 2]) {
        e.open_point(self.product.rows, row, &self.inside[0]);
        e.open_point(self.product.columns, column, &self.inside[1]);
    }

    fn close(e: &mut Emitter<'_>) {
        e.close();
        e.close();
    }

    /// What this thread loads of both panels for a step.
    fn load(&self, e: &mut Emitter<'_>, step: Val) -> Res<Vec<Val>> {
        let last = e.b.add_const(self.depth, -1);
        let mut vals = Vec::new();
        for (side, panel) in self.panels.iter().enumerate() {
            for (line, k, _) in &panel.loaded {
                let k = e.b.add(step, *k);
                let k = e.b.min(k, last);
                self.open(e, if side == 0 { [Some(*line), None] } else { [None, Some(*line)] });
                e.open(self.product.inner, Some(k), Vec::new());
                vals.extend(e.all(&panel.nodes)?);
                e.close();
                Tiling::close(e);
            }
        }
        Ok(vals)
    }

    /// Stores what was loaded.
    fn store(&self, e: &mut Emitter<'_>, vals: &[Val]) {
        let mut vals = vals.iter();
        for panel in &self.panels {
            for (_, _, at) in &panel.loaded {
                panel.shared.iter().zip(&mut vals).for_each(|(buf, v)| e.b.store(*buf, *at, *v));
            }
        }
    }

    /// The positions of the points of this thread, row by row.
    fn points(&self, e: &mut Emitter<'_>) -> Vec<[Val; 2]> {
        let [rows, columns] = [0, 1].map(|side: usize| {
            let panel = &self.panels[side];
            panel.own.iter().map(|own| e.b.add(panel.first, *own)).collect::<Vec<Val>>()
        });
        rows.iter().flat_map(|row| columns.iter().map(|column| [*row, *column])).collect()
    }

    /// The sums of all points.
    fn sums(&self, e: &mut Emitter<'_>) -> Res<Vec<Acc>> {
        let mut starts = Vec::new();
        for [row, column] in self.points(e) {
            let (row, column) = (e.b.min(row, self.panels[0].last), e.b.min(column, self.panels[1].last));
            self.open(e, [Some(row), Some(column)]);
            starts.push(e.start(self.product.fold)?);
            Tiling::close(e);
        }
        let before: Vec<Val> = starts.iter().map(|acc| acc.vals[0]).collect();
        let zero = e.b.i64(0);
        let any = e.b.lt(zero, self.depth);
        e.b.begin_if(any);
        let loaded = self.load(e, zero)?;
        let init = [before.clone(), loaded].concat();
        let (step, params) = e.b.begin_for(zero, self.depth, i64::from(self.deep), &init, LoopHint::Plain);
        let (sums, loaded) = params.split_at(before.len());
        self.store(e, loaded);
        e.b.barrier();
        let next = e.b.add_const(step, i64::from(self.deep));
        let loaded = self.load(e, next)?;
        let whole = e.b.binary(BinOp::Le, next, self.depth);
        e.b.begin_if(whole);
        let mut after = sums.to_vec();
        for k in 0..self.deep {
            let k = e.b.i64(i64::from(k));
            after = self.element(e, (step, k), &after)?;
        }
        e.b.begin_else(&after);
        let rest = e.b.sub(self.depth, step);
        let (k, params) = e.b.begin_for(zero, rest, 1, sums, LoopHint::Plain);
        let after = self.element(e, (step, k), &params)?;
        let after = e.b.end(&after);
        let after = e.b.end(&after);
        e.b.barrier();
        let mut after = e.b.end(&[after, loaded].concat());
        after.truncate(before.len());
        e.b.begin_else(&after);
        // Threads beyond the edges have loaded the start of a point that another one stores.
        e.b.barrier();
        let after = e.b.end(&before);
        let has = |acc: &Acc| acc.has.map(|_| any);
        Ok(starts.iter().zip(after).map(|(acc, v)| Acc { vals: vec![v], has: has(acc), before: None }).collect())
    }

    /// Adds an element to the sums of all points.
    fn element(&self, e: &mut Emitter<'_>, (step, k): (Val, Val), sums: &[Val]) -> Res<Vec<Val>> {
        let (_, elems, how) = parts_of(e.p, self.product.fold)?;
        let mut values: [Vec<Vec<Val>>; 2] = Default::default();
        for (panel, values) in self.panels.iter().zip(&mut values) {
            let start = e.b.mul_const(k, i64::from(panel.lines + PAD));
            for own in &panel.own {
                let at = e.b.add(start, *own);
                values.push(panel.shared.iter().map(|buf| e.b.load(*buf, at)).collect());
            }
        }
        let (points, pos) = (self.points(e), e.b.add(step, k));
        let mut after = Vec::new();
        for (number, (point, sum)) in points.into_iter().zip(sums).enumerate() {
            self.open(e, point.map(Some));
            e.open(self.product.inner, Some(pos), Vec::new());
            let wide = self.panels[1].own.len();
            for (side, line) in [number / wide, number % wide].into_iter().enumerate() {
                for (n, v) in self.panels[side].nodes.iter().zip(&values[side][line]) {
                    e.set_here(*n, vec![*v]);
                }
            }
            after.extend(e.add_elements(how, &[*sum], elems, Width::One)?);
            e.close();
            Tiling::close(e);
        }
        Ok(after)
    }

    /// What is computed and written at each point of this thread.
    fn write(
        &self,
        e: &mut Emitter<'_>,
        items: &[deckle_ir::schedule::Item],
        counts: &[Val],
        sums: Vec<Acc>,
    ) -> Res<()> {
        for (point, acc) in self.points(e).into_iter().zip(sums) {
            let [below, beside] = [0, 1].map(|side: usize| e.b.lt(point[side], counts[side]));
            let there = e.b.and(below, beside);
            e.b.begin_if(there);
            self.open(e, point.map(Some));
            e.accs.insert(self.product.fold, acc);
            let parts = e.folded(self.product.fold)?;
            e.set_here(self.product.fold, parts);
            e.inside(self.product.columns, items)?;
            Tiling::close(e);
            e.b.end(&[]);
        }
        Ok(())
    }
}
