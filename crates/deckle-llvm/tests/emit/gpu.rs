//! Loop IR for GPUs: what LLVM makes of it. That it computes the right thing is for a machine that has one.

use deckle_ir::array::BinOp;
use deckle_ir::loops::{Access, Axis, Builder, Expr, LoopHint, Place, Shuffle};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_llvm::{Gpu, Pipeline, emit};

#[test]
fn kernels_become_ptx() {
    let mut b = Builder::for_gpu("block_sum", 128);
    let (xs, out) = (b.buffer(ScalarType::F64, Access::Read), b.buffer(ScalarType::I64, Access::Write));
    let (n, scale) = (b.scalar(ScalarType::I64), b.scalar(ScalarType::F32));
    let quiet = b.scalar(ScalarType::Bool);
    let partial = b.local(ScalarType::F64, 4, Place::Shared);
    let own = b.local(ScalarType::I32, 8, Place::Private);
    let (t, block) = (b.let_(Expr::Id(Axis::Thread)), b.let_(Expr::Id(Axis::Block)));
    let blocks = b.let_(Expr::Id(Axis::Blocks));
    let base = b.mul_const(block, 128);
    let (first, zero) = (b.add(base, t), b.f64(0.0));
    let wide = b.cast(ScalarType::F64, scale);
    let mut x = b.for_(first, n, 1024, &[zero], LoopHint::Plain, |b, i, c| {
        let x = b.load(xs, i);
        vec![b.fma(x, wide, c[0])]
    })[0];
    for how in [Shuffle::Xor, Shuffle::Up, Shuffle::Down, Shuffle::From] {
        let one = b.i64(1);
        let other = b.let_(Expr::Shuffle(how, x, one));
        x = b.add(x, other);
        let bits = b.cast(ScalarType::I8, x);
        let bits = b.let_(Expr::Shuffle(how, bits, one));
        let bits = b.cast(ScalarType::I32, bits);
        b.store(own, one, bits);
        let narrow = b.cast(ScalarType::F32, x);
        let narrow = b.let_(Expr::Shuffle(how, narrow, one));
        let narrow = b.cast(ScalarType::F64, narrow);
        x = b.add(x, narrow);
    }
    let positive = b.lt(zero, x);
    let ballot = b.let_(Expr::Ballot(positive));
    let ballot = b.cast(ScalarType::F64, ballot);
    x = b.add(x, ballot);
    let four = b.i64(4);
    let slot = b.binary(BinOp::Rem, t, four);
    b.store(partial, slot, x);
    b.barrier();
    b.warp_barrier();
    let total = b.load(partial, slot);
    let whole = b.cast(ScalarType::I64, total);
    b.atomic(BinOp::Add, out, block, whole);
    b.atomic(BinOp::Max, out, blocks, whole);
    let nan = b.unary(deckle_ir::array::UnOp::IsNan, total);
    let noisy = b.not(quiet);
    let bad = b.and(nan, noisy);
    b.flag(bad);
    let failed = b.let_(Expr::Failed);
    b.flag(failed);
    b.when(bad, |b| b.fail(5, &[total, t]));
    let seven = b.constant(Scalar::I32(7));
    let back = b.load(own, slot);
    let sum = b.add(back, seven);
    let sum = b.cast(ScalarType::I64, sum);
    b.store(out, t, sum);
    let f = b.finish().unwrap();
    assert_eq!(deckle_ir::loops::verify(&f), Ok(()));
    let text = emit::nvptx(&[f]);
    let compiler = super::compiler();
    let ptx = compiler.ptx(&text, &Gpu::new(9, 0), Pipeline::O3).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for word in
        [".entry block_sum", "shfl.sync.bfly", "shfl.sync.up", "bar", "ld.shared", "atom", "%ctaid.x", "fma.rn.f64"]
    {
        assert!(ptx.contains(word), "no {word} in\n{ptx}");
    }
}

#[test]
fn registers_are_bounded_and_independent_loads_overlap() {
    let ptx = |hint: LoopHint| {
        let mut b = Builder::for_gpu("doubled", 128);
        let (xs, out) = (b.buffer(ScalarType::F32, Access::Read), b.buffer(ScalarType::F32, Access::Write));
        let n = b.scalar(ScalarType::I64);
        let t = b.let_(Expr::Id(Axis::Thread));
        b.for_(t, n, 128, &[], hint, |b, i, _| {
            let x = b.load(xs, i);
            let twice = b.add(x, x);
            b.store(out, i, twice);
            Vec::new()
        });
        let mut f = b.finish().unwrap();
        f.resident = 512;
        assert_eq!(deckle_ir::loops::verify(&f), Ok(()));
        let text = emit::nvptx(&[f]);
        super::compiler().ptx(&text, &Gpu::new(9, 0), Pipeline::O3).unwrap_or_else(|e| panic!("{e}\n{text}"))
    };
    let independent = ptx(LoopHint::Independent);
    for word in [".maxntid 128", ".minnctapersm 4"] {
        assert!(independent.contains(word), "no {word} in\n{independent}");
    }
    let loads = |ptx: &str| ptx.matches("ld.global").count();
    assert!(loads(&independent) >= loads(&ptx(LoopHint::Plain)) + 3, "{independent}");
}
