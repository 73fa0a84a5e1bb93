//! Every operator of the array IR is built by some method: one program per chapter, each of which verifies, round-trips and runs.

use deckle::Backend;
use deckle::prelude::*;
use deckle_diag::Diagnostic;
use deckle_engine::On;
use deckle_ir::array::{BinOp, Boundary, Def, Monoid, Op, Program, UnOp, parse, verify};
use std::collections::BTreeSet;

/// Whether the embedded language builds an operator: a Rust function is a function of the language, and is inlined; the compiler introduces the operators for traversals of sequences.
fn is_made(name: &str) -> bool {
    name != "call" && !Op::OF_THE_COMPILER.contains(&name)
}

/// The interpreter, checking every value against the sizes in its type.
#[derive(Clone, Copy)]
struct Checked;

impl Backend for Checked {
    fn place(self) -> Result<On, Box<Diagnostic>> {
        Ok(On::Interp(deckle_engine::Interp { check_sizes: true, ..Default::default() }))
    }
}

fn check<A, R>(name: &str, f: &Compiled<A, R>, seen: &mut BTreeSet<String>) -> Compiled<A, R, Checked> {
    let program: &Program = f.program();
    assert_eq!(verify(program), Ok(()), "{name}:\n{program}");
    let text = program.to_string();
    let again = parse(&text).unwrap_or_else(|e| panic!("{name}: {e:?}\n{text}"));
    assert_eq!(again.to_string(), text, "{name}");
    for v in program.funcs.iter().flat_map(|f| &f.vars) {
        let Def::Inst(inst) = &v.def else { continue };
        seen.insert(inst.op.info().name.into());
        match &inst.op {
            Op::Unary(op) => seen.insert(op.name().into()),
            Op::Binary(op) => seen.insert(op.name().into()),
            Op::Reduce(m) => seen.insert(format!("reduce {m:?}")),
            Op::Stencil(r, b) => seen.insert(format!("stencil {} {b:?}", r.len())),
            Op::Scan(d, k) => seen.insert(format!("scan {d:?} {k:?}")),
            _ => true,
        };
    }
    f.on(Checked)
}

fn square(n: usize) -> Array<f64, D2> {
    Array::new(&[n, n], (0..n * n).map(|x| x as f64).collect()).unwrap()
}

fn scalars(seen: &mut BTreeSet<String>) {
    let f = compile(|x: Exp<f64>, n: Exp<i64>, b: Exp<bool>| {
        let powers = x.sqrt() + x.cbrt() + x.exp() + x.exp2() + x.exp_m1() + x.pow(2.0);
        let logs = x.ln() + x.log2() + x.log10() + x.ln_1p();
        let waves = x.sin() + x.cos() + x.tan() + x.asin() + x.acos() + x.atan() + x.atan2(x) + x.hypot(x);
        let more =
            x.sinh() + x.cosh() + x.tanh() + x.erf() + x.erfc() + x.mul_add(x, 1.0) - x.abs() * x.signum() / x % x;
        let rounds = (-x).floor().min(x.ceil()).max(x.round()).clamp(x.trunc(), 9.0);
        let bits = (!n & n | n ^ 3) << 1 >> 1;
        let counts = n.count_ones() + n.leading_zeros() + n.trailing_zeros();
        let tests = x.lt(1.0) | x.le(1.0) | x.gt(1.0) | x.ge(1.0) | x.equals(1.0) | x.differs(1.0) | x.is_nan();
        let floats = powers + logs + waves + more + rounds;
        (select(tests & b, floats, 0.0), bits + counts, (n.cast::<f32>(), !b))
    })
    .unwrap();
    let f = check("scalars", &f, seen);
    assert!(f.call(0.5, 5, true).unwrap().0.is_finite());
}

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Pair {
    key: i64,
    value: f64,
}

fn control_and_construction(seen: &mut BTreeSet<String>) {
    let f = compile(|n: Exp<i64>, xss: Arr<Arr<i64>>| {
        let chosen = choose(n.gt(0), || n, || -n);
        let looped = loop_while(chosen, |s| s.lt(100), |s| s * 2);
        let counted = repeat(n, looped, |i, s| s + i);
        let pair = Pair::exp(counted, counted.cast::<f64>());
        let made = (fill(1.5, (n, 2, 2)), generate((n, n), |(i, j)| i * j), iota(n), range_by(n, 0, -1));
        (pair.value(), array([n, n]), made, constant_array(&[1i64, 2]), xss.regular().shape(), range_inclusive(1, n))
    })
    .unwrap();
    let f = check("control", &f, seen);
    let (value, pair, _, _, shape, range) = f.call(3, vec![vec![1, 2]]).unwrap();
    assert_eq!((value, pair.to_vec(), shape, range.to_vec()), (195.0, vec![3, 3], (1, 2), vec![1, 2, 3]));
}

fn shapes(seen: &mut BTreeSet<String>) {
    let f = compile(|a: Arr<f64, D2>, xs: Arr<i64>, ls: Arr<i64>| {
        let turned = a.transpose().rev_on(1).append_on(1, a).pad_on(1, 1, 1, 0.0).slice_on(1, 1, 3);
        let cut = turned.take(2).skip(1).reshape(2).zip(xs.take(2));
        let (b, c) = cut.unzip();
        let solid = a.replicate(2).transpose([2, 0, 1]);
        let rows = (xs.split(ls).flatten(), xs.scan_full(0, |a, b| a + b).slice(0, 2));
        let elements = (solid.pick_on(2, 0).elements(), solid.imap(|(i, j, k), _| i + j * k).sum_all());
        (b, c.len(), a.size(), solid.shape(), rows, elements, xs.split_offsets(ls.scan_full(0, |a, b| a + b)))
    })
    .unwrap();
    let f = check("shapes", &f, seen);
    let (_, _, size, shape, (flat, _), _, cut) = f.call(square(2), [1, 2, 3], [1, 2]).unwrap();
    assert_eq!((size, shape, flat.to_vec()), (4, (2, 2, 2), vec![1, 2, 3]));
    assert_eq!(cut.to_vec(), [vec![1], vec![2, 3]]);
}

fn moving(seen: &mut BTreeSet<String>) {
    let f = compile(|xs: Arr<i64>, flags: Arr<bool>| {
        let (low, high) = xs.partition(|x| x.lt(2));
        let kept = xs.filter(|x| x.gt(0)).append(xs.compact(flags)).append(low).append(high);
        let grown = kept.expand(|x| x, |x, i| x + i).sort().sort_by_key(|x| -x);
        let grid = fill(0i64, (3, 3)).permute(xs.map(|x| (x % 3, x % 3)), xs, |new, old| new + old);
        let masked = fill(0i64, 9).permute_where(xs, xs, flags, |a, b| a.max(b));
        let stored = (masked.scatter(xs, xs), masked.scatter_where(xs, xs, flags));
        let groups = (xs.group_by(|x| x % 2), xs.group_with(flags), xs.sort_with(xs.map(|x| -x)));
        (grown.len(), grid, stored, groups, xs.histogram(xs, 9, 0, |a, b| a + b), xs.gather(xs.map(|_| 0i64)))
    })
    .unwrap();
    let f = check("moving", &f, seen);
    let (_, grid, _, (groups, ..), histogram, _) = f.call([1, 2, 4], [true, false, true]).unwrap();
    assert_eq!(grid.to_rows(), [[0, 0, 0], [0, 5, 0], [0, 0, 2]]);
    assert_eq!(groups.to_vec(), [(0, vec![2, 4]), (1, vec![1])]);
    assert_eq!(histogram.to_vec(), [0, 1, 2, 0, 4, 0, 0, 0, 0]);
}

fn folding_and_scanning(seen: &mut BTreeSet<String>) {
    let f = compile(|xs: Arr<i64>, a: Arr<f64, D2>, ls: Arr<i64>| {
        let plus = |a: Exp<i64>, b: Exp<i64>| a + b;
        let sums = (xs.fold(0, plus), xs.fold1(plus), xs.product(), xs.min(), xs.max(), xs.argmin(), xs.argmax());
        let flags = xs.map(|x| x.gt(1));
        let left = (xs.scan(0, plus), xs.scan_inclusive(plus), xs.scan_full(0, plus), xs.scan_inclusive_from(1, plus));
        let right = (xs.scan_right(0, plus), xs.scan_right_inclusive(plus), xs.scan_right_full(0, plus));
        let segments = (xs.seg_fold(ls, 0, plus), xs.seg_sum(ls), xs.seg_scan(ls, 0, plus));
        let ordered = (xs.fold_ordered(0, |s, x| x - s), xs.scan_ordered(0, |s, x| x - s));
        let last = (xs.seg_scan_inclusive(ls, plus), xs.scan_right_inclusive_from(1, plus), ordered.0, ordered.1);
        (sums, flags.any(), flags.all(), a.sum(), left, right, segments, last)
    })
    .unwrap();
    let f = check("folding", &f, seen);
    let (sums, any, all, rows, .., last) = f.call([1, 2, 3], square(2), [2, 1]).unwrap();
    assert_eq!((last.2, last.3.to_vec()), (2, vec![1, 1, 2]));
    assert_eq!((sums, any, all, rows.to_vec()), ((6, 6, 6, 1, 3, 0, 2), true, false, vec![1.0, 5.0]));
}

fn stencils(seen: &mut BTreeSet<String>) {
    let f = compile(|xs: Arr<f64>, a: Arr<f64, D2>| {
        let one = xs.stencil(1, Edge::Clamp, |w| w.at(0)).stencil(1, Edge::Mirror, |w| w.at(2));
        let two = a.stencil((1, 1), Edge::Constant(1.0.into()), |w| w.sum_all());
        let three = a.replicate(2).stencil((1, 0, 0), Edge::Wrap, |w| w.at(0, 0, 0));
        (one.stencil_by(2, |i| i.cast::<f64>(), |w| w.at(4)), two, three)
    })
    .unwrap();
    let f = check("stencils", &f, seen);
    let (_, two, three) = f.call([1.0, 2.0], square(2)).unwrap();
    assert_eq!(two.to_rows(), [[11.0, 11.0], [11.0, 11.0]]);
    assert_eq!(three.shape(), [2, 2, 2]);
}

fn sequences(seen: &mut BTreeSet<String>) {
    let f = compile(|s: Seq<i64>, flags: Seq<bool>, a: Arr<i64, D2>| {
        let literal = sequence([1i64, 2]).chain(s).chain(count_to(2)).chain(count(0, 2));
        let parts = s.flagpart(flags).map(|part| (part.sum(), part.is_empty()));
        let some = s.filter(|x| x.gt(1)).zip(s.filter(|x| x.gt(1))).unzip().0;
        let rows = a.rows().stream().map(|row| row.stream().scan_inclusive(|a, b| a + b));
        let tiles = a.tiles((1, 2)).map(|t| t.elements()).tabulate();
        let only = only_if(a.is_empty(), || 1i64).count() + sequence([a.len()]).the();
        let folds = (s.fold(0, |a, b| a + b), s.fold1(|a, b| a + b), s.argmax(), s.count());
        (literal.tab(), parts, some, rows, (tiles, only), folds, produce(2, |i| iota(i)).elements())
    })
    .unwrap();
    let f = check("sequences", &f, seen);
    let flags = vec![false, true, false, false, true];
    let (literal, parts, some, rows, (tiles, only), folds, made) =
        f.call(vec![1, 2, 3], flags, Array::from([[1, 2], [3, 4]])).unwrap();
    assert_eq!(literal.to_vec(), [1, 2, 1, 2, 3, 0, 1, 0, 1]);
    assert_eq!((parts, some), (vec![(1, false), (5, false)], vec![2, 3]));
    assert_eq!((rows, tiles.to_rows()), (vec![vec![1, 3], vec![3, 7]], vec![vec![1, 2], vec![3, 4]]));
    assert_eq!((only, folds, made.to_vec()), (2, (6, 6, 2, 3), vec![0]));
}

#[test]
fn every_operator_is_made_by_a_method() {
    let mut seen = BTreeSet::new();
    scalars(&mut seen);
    control_and_construction(&mut seen);
    shapes(&mut seen);
    moving(&mut seen);
    folding_and_scanning(&mut seen);
    stencils(&mut seen);
    sequences(&mut seen);
    let ops = Op::TABLE.iter().map(|info| info.name.to_string()).filter(|n| is_made(n));
    let unary = UnOp::ALL.iter().map(|op| op.name().to_string());
    let binary = BinOp::ALL.iter().map(|op| op.name().to_string());
    let monoids = Monoid::ALL.iter().map(|(m, _)| format!("reduce {m:?}"));
    let wanted: BTreeSet<String> = ops.chain(unary).chain(binary).chain(monoids).collect();
    let missing: Vec<&String> = wanted.difference(&seen).collect();
    assert!(missing.is_empty(), "no method makes {missing:?}");
    assert_eq!(seen.iter().filter(|n| n.starts_with("stencil ")).count(), Boundary::ALL.len());
    assert_eq!(seen.iter().filter(|n| n.starts_with("scan ")).count(), 6);
}
