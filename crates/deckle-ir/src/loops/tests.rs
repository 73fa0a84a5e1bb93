//! Building, printing, reading and verifying the loop IR.

use super::*;
use ScalarType::{Bool, F32, F64, I64};

/// At least one of every construct.
fn everything(block: u32) -> Function {
    let mut b = Builder::for_gpu("everything", block);
    let (xs, out) = (b.buffer(F64, Access::Read), b.buffer(F64, Access::Write));
    let scratch = b.local(F64, 16, Place::Private);
    let n = b.scalar(I64);
    let counts = b.buffer(I64, Access::Write);
    let (zero, start) = (b.i64(0), b.f64(-0.0));
    let sums = b.for_(zero, n, 1, &[start, zero], LoopHint::Independent, |b, i, c| {
        let x = b.load(xs, i);
        let y = b.unary(UnOp::Sqrt, x);
        let z = b.fma(x, y, c[0]);
        let big = b.lt(c[0], z);
        let picked = b.if_(big, |b| vec![b.add(z, x)], |b| vec![b.unary(UnOp::Neg, x)]);
        b.store(out, i, picked[0]);
        vec![b.assoc(BinOp::Add, c[0], picked[0]), b.add_const(c[1], 1)]
    });
    b.store(scratch, zero, sums[0]);
    let back = b.load(scratch, zero);
    let lanes = b.lanes(8);
    let count = b.splat(n, 8);
    let mask = b.lt(lanes, count);
    let wide = b.load_lanes(xs, zero, 8, Some(mask));
    let rounded = b.let_(Expr::Rint(wide));
    let signed = b.let_(Expr::CopySign(rounded, wide));
    b.store_with(out, zero, signed, Some(mask), StoreHint::Cached);
    b.store_with(out, zero, signed, None, StoreHint::Streaming);
    b.store_with(out, zero, signed, None, StoreHint::Shared);
    b.store_with(out, zero, signed, Some(mask), StoreHint::Packed);
    let gathered = b.load_lanes(xs, lanes, 8, None);
    let mixed = b.let_(Expr::Swizzle(wide, gathered, vec![0, 8, 1, 9]));
    let one = b.let_(Expr::Lane(mixed, 3));
    let total = b.total(BinOp::Max, wide);
    let narrow = b.cast(F32, total);
    let bits = b.let_(Expr::Bitcast(ScalarType::U32, narrow));
    let bits = b.cast(I64, bits);
    b.atomic(BinOp::Max, counts, zero, bits);
    b.flag(mask);
    let behind = b.let_(Expr::Unaligned(counts));
    b.atomic(BinOp::Max, counts, zero, behind);
    let failed = b.let_(Expr::Failed);
    let worst = b.select(failed, one, back);
    let is_nan = b.unary(UnOp::IsNan, worst);
    b.when(is_nan, |b| b.fail(7, &[worst, n]));
    let found = b.while_(
        &[zero],
        |b, c| b.lt(c[0], n),
        |b, c| {
            let next = b.add_const(c[0], 3);
            vec![next]
        },
    );
    if block != 0 {
        let thread = b.let_(Expr::Id(Axis::Thread));
        let shared = b.local(I64, block, Place::Shared);
        b.store(shared, thread, found[0]);
        b.barrier();
        b.warp_barrier();
        let one = b.i64(1);
        let other = b.let_(Expr::Shuffle(Shuffle::Xor, thread, one));
        b.store(shared, thread, other);
        let before = b.fetch_add(counts, zero, thread);
        b.store(shared, thread, before);
        let is_first = b.binary(BinOp::Eq, thread, zero);
        let bits = b.let_(Expr::Ballot(is_first));
        let bits = b.cast(I64, bits);
        b.store(shared, thread, bits);
    }
    let mut f = b.finish().unwrap();
    f.resident = 8 * block;
    f
}

#[test]
fn text_round_trips() {
    for block in [0, 64] {
        let f = everything(block);
        assert_eq!(verify(&f), Ok(()), "{f}");
        let again = parse(&f.to_string()).unwrap_or_else(|e| panic!("{e}\n{f}"));
        assert_eq!(again, [f]);
    }
}

#[test]
fn the_builder_folds_and_shares() {
    let mut b = Builder::new("f");
    let n = b.scalar(I64);
    let (zero, one) = (b.i64(0), b.i64(1));
    assert_eq!(b.add(n, zero), n);
    assert_eq!(b.mul(one, n), n);
    assert_eq!(b.mul(n, zero), zero);
    let two = b.add(one, one);
    assert_eq!(b.constant_of(two), Some(Scalar::I64(2)));
    assert_eq!(b.i64(2), two);
    let sum = b.add(n, one);
    assert_eq!(b.add(n, one), sum);
    let nothing = b.binary(BinOp::Div, one, zero);
    assert_eq!(nothing, zero);
}

#[test]
fn statements_can_go_to_an_enclosing_block() {
    let mut b = Builder::new("f");
    let (n, m) = (b.scalar(I64), b.scalar(I64));
    let zero = b.i64(0);
    b.for_(zero, n, 1, &[], LoopHint::Plain, |b, i, _| {
        b.for_(zero, m, 1, &[], LoopHint::Plain, |b, j, _| {
            let outer = b.hoist(Expr::Binary(BinOp::Mul, n, m), 1);
            let middle = b.hoist(Expr::Binary(BinOp::Mul, n, i), 1);
            let inner = b.hoist(Expr::Binary(BinOp::Mul, j, i), 1);
            assert_eq!([outer, middle, inner].map(|v| b.depth_of(v)), [0, 1, 2]);
            Vec::new()
        });
        Vec::new()
    });
    let f = b.finish().unwrap();
    assert_eq!(verify(&f), Ok(()));
    let at = |block: &Block| block.stmts.iter().filter(|s| matches!(s, Stmt::Let(_, Expr::Binary(..)))).count();
    assert_eq!(at(&f.body), 1);
    let Some(Stmt::For { body, .. }) = f.body.stmts.last() else { panic!("{f}") };
    assert_eq!(at(body), 1);
}

#[test]
fn the_builder_tells_what_is_wrong() {
    let mut b = Builder::new("f");
    let (n, x) = (b.i64(1), b.f64(1.0));
    b.add(n, x);
    b.begin_if(n);
    assert_eq!(b.finish().unwrap_err().len(), 2);
    let mut b = Builder::new("f");
    b.end(&[]);
    b.begin_else(&[]);
    b.begin_body(Val(0));
    b.end(&[]);
    b.at_depth(7, |_| ());
    assert!(b.finish().is_err());
}

#[test]
fn the_verifier_finds_each_fault() {
    let faults = [
        ("x1: i64 = add(x0, x2)\n x2: i64 = const 1i64", "x2 is not known here"),
        ("x1: f64 = const 1i64", "x1 is f64, but `const 1i64` is i64"),
        ("x1: i64 = splat x0\n store b0[x1] = x1", "b0 is only read"),
        ("store b1[x0] = x0", "store: x0 is i64, not f64"),
        ("store b7[x0] = x0", "there is no b7"),
        ("barrier", "barrier without threads"),
        ("shared b2: i64[4]", "b2 is shared by no threads"),
        ("for x1 = x0 .. x0 step 0 () {}", "a step of 0"),
        ("for x1 = x0 .. x0 step 1 (x2: f64 = x0 -> x3) { yield x2 }", "for: x0 is i64, not f64"),
        ("for x1 = x0 .. x0 step 1 (x2: i64 = x0 -> x3) {}", "for: 0 results where 1 are expected"),
        ("if x0 {} {}", "if: x0 is i64, not bool"),
        ("atomic mul b1[x0] = x0", "atomic: x0 is i64, not f64"),
        ("for x1 = x0 .. x0 step 1 () { x2: i64 = lanes }\n flag x2", "x2 is not known here"),
        ("x1: i64x3 = lanes\n x2: i64 = total add(x1)", "x2: total add of i64x3"),
        ("x1: i64 = lane x0[1]", "x1: i64 has no lane 1"),
        ("yield x0", "the function: 1 results where 0 are expected"),
    ];
    let many = format!("fail 1 ({})", vec!["x0"; MOST_OPERANDS + 1].join(", "));
    let too_many = format!("fail with {} operands", MOST_OPERANDS + 1);
    for (body, fault) in faults.into_iter().chain([(&many[..], &too_many[..])]) {
        let text = format!("fn f (b0: read i64, b1: write f64) (x0: i64) {{\n {body}\n}}");
        let f = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let found = verify(&f[0]).unwrap_err();
        assert!(found.contains(&fault.to_string()), "{text}\n{found:?}");
    }
}

#[test]
fn damaged_texts_are_refused_without_panic() {
    let text = everything(64).to_string().trim_end().to_string();
    let pieces: Vec<char> = text.chars().collect();
    for k in 0..pieces.len() {
        let cut: String = pieces[..k].iter().collect();
        assert!(k == 0 || parse(&cut).is_err(), "{cut}");
        let mut swapped = pieces.clone();
        swapped[k] = if swapped[k] == '1' { '9' } else { '1' };
        if let Ok(functions) = parse(&swapped.iter().collect::<String>()) {
            functions.iter().for_each(|f| drop(verify(f)));
        }
    }
    let deep = format!("fn f () () {{ {} }}", "if x0 { ".repeat(10_000));
    assert!(parse(&deep).is_err());
}

#[test]
fn types_print_with_their_lanes() {
    assert_eq!(Ty { scalar: Bool, lanes: 8 }.to_string(), "boolx8");
    assert_eq!(Ty::from(F64).to_string(), "f64");
}

#[test]
fn groups_take_points_with_elements_of_their_own_or_too_few_points() {
    let wide = |width: i64, at_least| {
        let function = Builder::for_gpu("g", 256).finish().unwrap();
        Wide { function, at_least, groups: 256 / width, split: None, sizes: Vec::new(), inside: Vec::new() }
    };
    let launch = GridLaunch {
        buffers: Vec::new(),
        scratch: Vec::new(),
        sizes: Vec::new(),
        parts: Parts::Block,
        least: 1,
        phases: Vec::new(),
        wide: vec![wide(8, 4), wide(32, 32), wide(256, 2048)],
        adds_floats: false,
        split: None,
        rows: None,
        tiles: None,
        sorted: None,
    };
    let chosen = |points, elements, inside| launch.wide(&[Found { points, elements, inside }; 3], None);
    assert_eq!(chosen(1 << 20, 40, 1), Some(1));
    assert_eq!(chosen(1 << 20, 1, 1 << 13), None);
    assert_eq!(chosen(1 << 14, 1, 1 << 14), Some(1));
    assert_eq!(chosen(1 << 12, 1, 1 << 14), Some(2));
    assert_eq!(chosen(100, 1, 3), None);
    assert_eq!(chosen(i64::MAX, 0, i64::MAX), None);
}
