//! Floats are combined in the order that `docs/order-of-floats.md` specifies, to the last bit, whatever the schedule, the threads and the chunks: plain Rust computes what the page says of
//! folds, of folds of products, of scans, of rows, of sequences and of scatters.

use deckle_diag::SourceMap;
use deckle_engine::{Cuts, Data, Effort, Native, Options, Settings, pipeline};
use deckle_gen::Rng;
use deckle_ir::schedule::{Function, Item, Lanes, Level, Nest, Walk, all_walks};
use deckle_llvm::fuses_here;
use deckle_runtime::{Form, Offsets};
use deckle_syntax::Compiled;

fn compiled(text: &str) -> Compiled {
    let mut load = |_: &str, _: &str| Err("nothing is imported".to_string());
    deckle_syntax::compile(&mut SourceMap::new(), "sums.dk", text.as_bytes().to_vec(), &mut load).unwrap()
}

/// Values added by halves: `k` and `k + n/2` first, until so many are left.
fn halved(mut all: Vec<f64>, left: usize) -> Vec<f64> {
    while all.len() > left {
        let half = all.len() / 2;
        all = (0..half).map(|k| all[k] + all[k + half]).collect();
    }
    all
}

/// How element `i` is added to a sum.
type Add<'a> = &'a dyn Fn(f64, usize) -> f64;

/// A fold of the elements `lo..hi` in one block, as the page says.
fn block(level: Level, (lo, hi): (usize, usize), add: Add) -> f64 {
    let whole = |together: usize| (hi - lo) / together * together;
    match level {
        Level::Accumulators(n) => {
            let n = usize::from(n);
            let mut sums = vec![-0.0; n];
            (0..whole(n)).for_each(|i| sums[i % n] = add(sums[i % n], lo + i));
            (lo + whole(n)..hi).for_each(|i| sums[0] = add(sums[0], i));
            halved(sums, 1)[0]
        }
        Level::Lanes(Lanes { width, vectors, apart, .. }) => {
            let (width, vectors) = (usize::from(width), usize::from(vectors));
            let whole = whole(width * vectors);
            let mut sums = vec![-0.0; width * vectors];
            let part = whole / vectors;
            for i in 0..whole {
                let lane = if apart { i / part * width + i % part % width } else { i % (width * vectors) };
                sums[lane] = add(sums[lane], lo + i);
            }
            let mut sums = halved(sums, width);
            (lo + whole..hi).enumerate().for_each(|(k, i)| sums[k % width] = add(sums[k % width], i));
            halved(sums, 1)[0]
        }
        _ => (lo..hi).fold(-0.0, add),
    }
}

/// A fold of `n` elements, as the page says: blocks in order, from 0.
fn total(level: Level, n: usize, size: usize, add: Add) -> f64 {
    let blocks = (0..n).step_by(size).map(|lo| block(level, (lo, n.min(lo + size)), add));
    blocks.fold(0.0, |sum, part| sum + (-0.0 + part))
}

/// A scan of a block, as the page says: each element with those before it in the block, and the total.
fn scanned(level: Level, xs: &[f64]) -> (Vec<f64>, f64) {
    let Level::Lanes(Lanes { width, .. }) = level else {
        let add = |sum: &mut f64, x: &f64| {
            *sum += x;
            Some(*sum)
        };
        let all: Vec<f64> = xs.iter().scan(-0.0, add).collect();
        let total = all[all.len() - 1];
        return (all, total);
    };
    let width = usize::from(width);
    let (mut all, mut before) = (Vec::new(), -0.0);
    for xs in xs.chunks(width) {
        let mut sums: Vec<f64> = xs.iter().copied().chain(std::iter::repeat(-0.0)).take(width).collect();
        let mut by = 1;
        while by < width {
            sums = (0..width).map(|i| if i < by { -0.0 } else { sums[i - by] } + sums[i]).collect();
            by *= 2;
        }
        all.extend(sums[..xs.len()].iter().map(|sum| before + sum));
        before += sums[width - 1];
    }
    (all, before)
}

/// A scan, as the page says: what comes before a block, and then the scan of the block.
fn running(level: Level, xs: &[f64], size: usize) -> Vec<f64> {
    let (mut all, mut before) = (Vec::new(), -0.0);
    for xs in xs.chunks(size) {
        let (sums, total) = scanned(level, xs);
        all.extend(sums.iter().map(|sum| before + sum));
        before += total;
    }
    all
}

/// The points of a block: more blocks than there may be are larger ones.
fn block_size(cuts: Cuts, n: usize) -> usize {
    let mut size = cuts.block as usize;
    while n as i64 / size as i64 >= cuts.partial {
        size *= 2;
    }
    size
}

fn with_level(walks: &[Walk], level: Level) -> Vec<Walk> {
    let change = |w: &Walk| {
        let Nest::Level { inside, .. } = &w.nest else { panic!("a walk with a condition") };
        Walk { nest: Nest::level(level, inside.clone(), ""), ..w.clone() }
    };
    walks.iter().map(change).collect()
}

/// Compiles `main` so that all dimensions of the root are traversed as `level` says, or those below them.
fn with(text: &str, options: Options, level: Level, below: bool) -> Native {
    let Compiled { program, .. } = compiled(text);
    let func = program.find("main").unwrap();
    let mut given = pipeline::scheduled(&program, func, options, None).unwrap();
    // What finishes a launch traverses nothing.
    given.functions.retain(|f| !f.walks.is_empty());
    for Function { walks, .. } in &mut given.functions {
        *walks = match below {
            false => with_level(walks, level).into(),
            true => {
                let outer = |w: &Walk| {
                    let inside: Vec<Walk> =
                        all_walks(std::slice::from_ref(w))[1..].iter().map(|w| (*w).clone()).collect();
                    Walk { nest: Nest::level(Level::Serial, with_level(&inside, level), ""), ..w.clone() }
                };
                walks.iter().map(outer).collect::<Vec<_>>().into()
            }
        };
    }
    let native =
        Native::compile_as(&program, func, options, Some(&given)).unwrap_or_else(|d| panic!("{level}: {}", d.message));
    assert!(given.functions.iter().all(|f| native.schedule().functions.contains(f)), "{level}");
    native
}

#[track_caller]
fn same(got: &[f64], wanted: &[f64], what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert_eq!(got.to_bits(), wanted.to_bits(), "{what}, at {i}: {got} for {wanted}");
    }
}

fn call(native: &Native, args: Vec<Data>, threads: usize, chunk: Option<i64>) -> Vec<f64> {
    let settings = Settings { chunk, ..Settings::new(threads, None) };
    let result = native.call(args, &settings).unwrap();
    let elements = match result.form() {
        Form::Scalars(..) => result,
        _ => result.into_elements().unwrap(),
    };
    elements.as_numbers::<f64>().unwrap().to_vec()
}

fn options(cuts: Cuts) -> Options {
    Options { effort: Effort::Little, cuts, checked: false, ..Options::default() }
}

fn all_levels() -> Vec<Level> {
    let lanes = |width, vectors, apart| Level::Lanes(Lanes { vectors, apart, ..Lanes::of_width(width) });
    let mut levels = vec![Level::Serial, Level::Independent];
    levels.extend([1, 2, 4, 8].map(Level::Accumulators));
    for width in [2, 4, 8, 16] {
        levels.extend([1, 2, 4].map(|vectors| lanes(width, vectors, false)));
        levels.extend([2, 4].map(|vectors| lanes(width, vectors, true)));
        levels.push(Level::Lanes(Lanes { masked: true, ..Lanes::of_width(width) }));
    }
    levels
}

/// Numbers whose sums round.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| rng.between(-1_000_000, 1_000_000) as f64 * 1e-3 + 1e7).collect()
}

/// Sizes around the borders of lanes, rounds and blocks.
fn sizes(cuts: Cuts) -> Vec<usize> {
    let few = [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100];
    let large = [16_383, 16_384, 16_385, 32_768 + 77, 40_000];
    few.into_iter().chain(large.into_iter().filter(|_| cuts.block > 3)).collect()
}

fn array(xs: &[f64]) -> Data {
    Data::array(Data::numbers(xs.to_vec()))
}

#[test]
fn sums_follow_the_page_at_every_level() {
    let (xs, ys) = (numbers(40_000, 7), numbers(40_000, 8));
    for cuts in [Cuts::default(), Cuts::small()] {
        for level in all_levels() {
            let native = with("def main(xs: [real]) = sum(xs)", options(cuts), level, false);
            let product = "def main(xs: [real], ys: [real]) = sum([ x * y : x in xs; y in ys ])";
            let fused = with(product, options(cuts), level, false);
            let apart = with(product, Options { contract: false, ..options(cuts) }, level, false);
            for n in sizes(cuts) {
                let size = block_size(cuts, n);
                let sum = total(level, n, size, &|sum, i| sum + xs[i]);
                let once = total(level, n, size, &|sum, i| {
                    if fuses_here() { xs[i].mul_add(ys[i], sum) } else { sum + xs[i] * ys[i] }
                });
                let twice = total(level, n, size, &|sum, i| sum + xs[i] * ys[i]);
                for threads in [1, 2, 5] {
                    let what = format!("{level}, {n} elements on {threads} threads");
                    let both = || vec![array(&xs[..n]), array(&ys[..n])];
                    same(&call(&native, vec![array(&xs[..n])], threads, None), &[sum], &what);
                    same(&call(&fused, both(), threads, None), &[once], &format!("products, {what}"));
                    same(&call(&apart, both(), threads, None), &[twice], &format!("products rounded, {what}"));
                }
            }
        }
    }
}

#[test]
fn scans_follow_the_page_at_every_level() {
    let xs = numbers(40_000, 9);
    for cuts in [Cuts::default(), Cuts::small()] {
        for level in [Level::Serial].into_iter().chain([2, 4, 8, 16].map(|w| Level::Lanes(Lanes::of_width(w)))) {
            let native = with("def main(xs: [real]) = scan_incl(+, xs)", options(cuts), level, false);
            for n in sizes(cuts) {
                let wanted = running(level, &xs[..n], block_size(cuts, n));
                for threads in [1, 2, 5] {
                    let what = format!("{level}, {n} elements on {threads} threads");
                    same(&call(&native, vec![array(&xs[..n])], threads, None), &wanted, &what);
                }
            }
        }
    }
}

/// Rows of these lengths, and others around the borders of lanes and blocks.
fn rows(xs: &[f64], cuts: Cuts) -> (Vec<usize>, Data) {
    let mut rng = Rng::new(11);
    let mut lengths = sizes(cuts);
    lengths.extend((0..200).map(|_| rng.between(0, 40) as usize));
    let mut offsets = vec![0];
    lengths.iter().for_each(|n| offsets.push(offsets[offsets.len() - 1] + *n as i64));
    let end = offsets[lengths.len()] as usize;
    let rows = Data::rows_at(Offsets::new(offsets).unwrap(), Data::numbers(xs[..end].to_vec())).unwrap();
    (lengths, Data::array(rows))
}

#[test]
fn rows_follow_the_page_at_every_level() {
    let xs = numbers(200_000, 10);
    for cuts in [Cuts::default(), Cuts::small()] {
        let (lengths, data) = rows(&xs, cuts);
        for level in all_levels() {
            let native = with("def main(rows: [[real]]) = [ sum(r) : r in rows ]", options(cuts), level, true);
            let (mut lo, mut wanted) = (0, Vec::new());
            for n in &lengths {
                let row = &xs[lo..lo + n];
                // A row of more than one block is combined block by block.
                let size = (cuts.row_block as usize).max(1);
                wanted.push(total(level, *n, size, &|sum, i| sum + row[i]));
                lo += n;
            }
            for threads in [1, 2, 5] {
                same(
                    &call(&native, vec![data.clone()], threads, None),
                    &wanted,
                    &format!("{level} on {threads} threads"),
                );
            }
        }
    }
}

#[test]
fn short_rows_side_by_side_follow_the_page() {
    let xs = numbers(200_000, 13);
    let text = "def main(rows: [[real]]) = [ sum(r) : r in rows ]";
    for cuts in [Cuts::default(), Cuts::small()] {
        let (lengths, data) = rows(&xs, cuts);
        let Compiled { program, .. } = compiled(text);
        let native = Native::compile(&program, program.find("main").unwrap(), options(cuts)).unwrap();
        let Nest::Level { level: Level::Windows { width, crosswise: true, .. }, .. } =
            native.schedule().functions[0].walks[0].nest
        else {
            panic!("rows are not folded side by side: {}", native.schedule())
        };
        let (width, level) = (usize::from(width), first_level(&native));
        let (mut lo, mut wanted) = (0, Vec::new());
        for n in &lengths {
            let row = &xs[lo..lo + n];
            let longest = width.min(cuts.row_block as usize);
            wanted.push(if *n <= longest {
                let lanes = row.iter().copied().chain(std::iter::repeat(-0.0)).take(width).collect();
                0.0 + halved(lanes, 1)[0]
            } else {
                total(level, *n, cuts.row_block as usize, &|sum, i| sum + row[i])
            });
            lo += n;
        }
        for threads in [1, 2, 5] {
            same(&call(&native, vec![data.clone()], threads, None), &wanted, &format!("{level} on {threads} threads"));
        }
    }
}

#[test]
fn sequences_follow_the_page_in_chunks_of_every_size() {
    let xs = numbers(100_000, 12);
    let native = {
        let Compiled { program, .. } = compiled("def main(xs: {real}) = sum(xs)");
        let func = program.find("main").unwrap();
        Native::compile(&program, func, options(Cuts::default())).unwrap()
    };
    let level = first_level(&native);
    for n in [0, 1, 32_767, 32_768, 32_769, 65_536 + 3, 100_000] {
        let size = Cuts::default().float_block as usize;
        let of = |xs: &[f64]| total(level, xs.len(), Cuts::default().block as usize, &|sum, i| sum + xs[i]);
        let wanted = xs[..n].chunks(size).fold(0.0, |sum, xs| sum + of(xs));
        for (threads, chunk) in [(1, None), (1, Some(1 << 10)), (2, Some(7777)), (2, Some(1 << 15)), (5, Some(1 << 20))]
        {
            let what = format!("{level}, {n} elements on {threads} threads in chunks of {chunk:?}");
            same(&call(&native, vec![array(&xs[..n])], threads, chunk), &[wanted], &what);
        }
    }
}

/// The level at which a program folds first.
fn first_level(native: &Native) -> Level {
    let folds = |w: &&Walk| w.items.iter().any(|i| matches!(i, Item::Fold(_)));
    let functions = native.schedule().functions.iter();
    let walk = functions.flat_map(|f| all_walks(&f.walks)).find(folds).expect("a fold");
    match walk.nest {
        Nest::Level { level, .. } => level,
        Nest::When(..) => panic!("a walk with a condition"),
    }
}

/// Numbers added to the elements of an array at given places, as the page says: parts of the points into copies, each of one or more tables.
fn scattered(into: &[f64], at: &[i64], xs: &[f64], cuts: Cuts) -> Vec<f64> {
    let (points, len) = (at.len(), into.len() as i64);
    let mut all = into.to_vec();
    let parts = (cuts.copied / len.max(1)).clamp(cuts.copies[0], cuts.copies[1]);
    if parts > points as i64 / (cuts.points_for_copied * len.max(cuts.least_copied)) {
        at.iter().zip(xs).for_each(|(at, x)| all[*at as usize] += x);
        return all;
    }
    // Tables of 8 bytes an element, as many as there is room for.
    let room = |tables: &i64| len * 8 * tables <= cuts.cached_copies;
    let tables = [cuts.tables, cuts.tables / 2].into_iter().find(room).unwrap_or(1) as usize;
    let size = points.div_ceil(parts as usize);
    for (at, xs) in at.chunks(size).zip(xs.chunks(size)) {
        let whole = if tables > 1 { xs.len() / cuts.tables as usize * cuts.tables as usize } else { 0 };
        let mut copies = vec![vec![-0.0; into.len()]; tables];
        for (k, (at, x)) in at.iter().zip(xs).enumerate() {
            let table = if k < whole { k % cuts.tables as usize % tables } else { 0 };
            copies[table][*at as usize] += x;
        }
        for copy in copies {
            all.iter_mut().zip(copy).for_each(|(all, x)| *all += x);
        }
    }
    all
}

#[test]
fn scatters_follow_the_page_for_targets_of_every_size() {
    let cuts = Cuts::default();
    let native = {
        let text = "def main(into: [real], at: [int], xs: [real]) = permute(+, into, at, xs)";
        let Compiled { program, .. } = compiled(text);
        Native::compile(&program, program.find("main").unwrap(), options(cuts)).unwrap()
    };
    let xs = numbers(400_003, 14);
    let mut rng = Rng::new(15);
    // Eight tables, four, one, and no copies for so few points.
    for (points, len) in [(100_003, 100), (100_003, 512), (100_003, 513), (400_003, 5000), (1000, 100), (100_003, 5000)]
    {
        let at: Vec<i64> = (0..points).map(|_| rng.between(0, len as i64 - 1)).collect();
        let into = numbers(len, 16);
        let wanted = scattered(&into, &at, &xs[..points], cuts);
        for threads in [1, 2, 5] {
            let places = Data::array(Data::numbers(at.clone()));
            let got = call(&native, vec![array(&into), places, array(&xs[..points])], threads, None);
            same(&got, &wanted, &format!("{points} points into {len} elements on {threads} threads"));
        }
    }
}
