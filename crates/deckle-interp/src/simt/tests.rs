//! The simulator: masks, barriers, shuffles, and what it refuses.

use super::*;
use deckle_ir::array::BinOp;
use deckle_ir::loops::{Access, Axis, Builder, Expr, LoopHint, Shuffle, StoreHint, Val};
use deckle_ir::scalar::ScalarType::{Bool, F64, I64};

fn ints(items: &[i64]) -> BufferMem {
    BufferMem::of(I64, &items.iter().map(|&n| Scalar::I64(n)).collect::<Vec<_>>())
}

fn to_ints(buffer: &BufferMem) -> Vec<i128> {
    buffer.scalars().iter().filter_map(|s| s.as_int()).collect()
}

/// An error record that begins so.
fn record(words: &[u64]) -> [u64; RECORD] {
    let mut record = [0; RECORD];
    record[..words.len()].copy_from_slice(words);
    record
}

fn simulate(b: Builder, grid: u64, buffers: &mut [BufferMem], scalars: &[Scalar]) -> Result<[u64; RECORD], SimError> {
    let mut error = [0; RECORD];
    let function = b.finish().map_err(SimError::IllFormed)?;
    run(&function, grid, buffers, scalars, &mut error)?;
    Ok(error)
}

fn thread(b: &mut Builder) -> Val {
    b.let_(Expr::Id(Axis::Thread))
}

#[test]
fn loops_carry_values_on_one_thread() {
    let mut b = Builder::new("sum");
    let (xs, out) = (b.buffer(I64, Access::Read), b.buffer(I64, Access::Write));
    let n = b.scalar(I64);
    let zero = b.i64(0);
    let sums = b.for_(zero, n, 2, &[zero, zero], LoopHint::Plain, |b, i, c| {
        let x = b.load(xs, i);
        // Both at once: the second gets the first's old value.
        vec![b.add(c[0], x), c[0]]
    });
    b.store(out, zero, sums[0]);
    let one = b.i64(1);
    b.store(out, one, sums[1]);
    let mut buffers = [ints(&[1, 2, 3, 4, 5]), ints(&[0, 0])];
    assert_eq!(simulate(b, 1, &mut buffers, &[Scalar::I64(5)]), Ok([0; RECORD]));
    assert_eq!(to_ints(&buffers[1]), [9, 4]);
}

#[test]
fn threads_part_and_meet_again() {
    let mut b = Builder::for_gpu("collatz", 64);
    let out = b.buffer(I64, Access::Write);
    let (t, block) = (thread(&mut b), b.let_(Expr::Id(Axis::Block)));
    let base = b.mul_const(block, 64);
    let i = b.add(base, t);
    let (one, zero) = (b.i64(1), b.i64(0));
    let start = b.add(i, one);
    let steps = b.while_(
        &[start, zero],
        |b, c| b.binary(BinOp::Ne, c[0], one),
        |b, c| {
            let odd = b.and(c[0], one);
            let odd = b.cast(Bool, odd);
            let next = b.if_(
                odd,
                |b| {
                    let three = b.mul_const(c[0], 3);
                    vec![b.add_const(three, 1)]
                },
                |b| vec![b.binary(BinOp::Shr, c[0], one)],
            );
            vec![next[0], b.add_const(c[1], 1)]
        },
    );
    b.store(out, i, steps[1]);
    let mut buffers = [ints(&[-1; 128])];
    assert_eq!(simulate(b, 2, &mut buffers, &[]), Ok([0; RECORD]));
    let collatz = |mut n: i128| {
        let mut steps = 0;
        while n != 1 {
            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
            steps += 1;
        }
        steps
    };
    assert_eq!(to_ints(&buffers[0]), (1..=128).map(collatz).collect::<Vec<i128>>());
}

/// The sum of a block by shuffles, shared memory and an atomic.
fn block_sum(with_barrier: bool) -> Builder {
    let mut b = Builder::for_gpu("sum", 128);
    let (xs, out) = (b.buffer(I64, Access::Read), b.buffer(I64, Access::Write));
    let partial = b.local(I64, 4, Place::Shared);
    let t = thread(&mut b);
    let block = b.let_(Expr::Id(Axis::Block));
    let base = b.mul_const(block, 128);
    let i = b.add(base, t);
    let mut x = b.load(xs, i);
    for distance in [16, 8, 4, 2, 1] {
        let distance = b.i64(distance);
        let other = b.let_(Expr::Shuffle(Shuffle::Xor, x, distance));
        x = b.add(x, other);
    }
    let five = b.i64(5);
    let warp = b.binary(BinOp::Shr, t, five);
    b.store_with(partial, warp, x, None, StoreHint::Shared);
    if with_barrier {
        b.barrier();
    }
    let (zero, four) = (b.i64(0), b.i64(4));
    let first = b.binary(BinOp::Eq, t, zero);
    b.when(first, |b| {
        let sums = b.for_(zero, four, 1, &[zero], LoopHint::Unroll, |b, k, c| {
            let x = b.load(partial, k);
            vec![b.add(c[0], x)]
        });
        b.atomic(BinOp::Add, out, zero, sums[0]);
    });
    b
}

#[test]
fn all_threads_of_a_warp_see_its_ballot() {
    let mut b = Builder::for_gpu("ballot", 64);
    let out = b.buffer(I64, Access::Write);
    let t = thread(&mut b);
    let seven = b.i64(7);
    let rest = b.binary(BinOp::Rem, t, seven);
    let zero = b.i64(0);
    let is_multiple = b.binary(BinOp::Eq, rest, zero);
    let bits = b.let_(Expr::Ballot(is_multiple));
    let bits = b.cast(I64, bits);
    b.store(out, t, bits);
    let mut buffers = [ints(&[0; 64])];
    assert_eq!(simulate(b, 1, &mut buffers, &[]), Ok([0; RECORD]));
    let expected = |warp: u32| (0..32).filter(|t| (32 * warp + t).is_multiple_of(7)).map(|t| 1i128 << t).sum::<i128>();
    assert_eq!(to_ints(&buffers[0]), [[expected(0); 32], [expected(1); 32]].concat());
}

#[test]
fn a_block_sums_by_shuffles_and_shared_memory() {
    let items: Vec<i64> = (0..256).map(|k| k * k).collect();
    let mut buffers = [ints(&items), ints(&[0])];
    assert_eq!(simulate(block_sum(true), 2, &mut buffers, &[]), Ok([0; RECORD]));
    assert_eq!(to_ints(&buffers[1]), [items.iter().map(|&n| i128::from(n)).sum::<i128>()]);
}

#[test]
fn a_missing_barrier_is_found() {
    let mut buffers = [ints(&[1; 128]), ints(&[0])];
    let error = simulate(block_sum(false), 1, &mut buffers, &[]).unwrap_err();
    // The first thread loads before the others have stored; in another order it would be a race.
    assert!(matches!(error, SimError::Unset { buf: Buf(2), .. }), "{error}");
    let function = block_sum(false).finish().unwrap();
    let mut buffers = [ints(&[1; 128]), ints(&[0])];
    let found = run_in(Order::Descending, &function, 1, &mut buffers, &[], &mut [0; RECORD]);
    assert!(matches!(found, Err(SimError::Race { buf: Buf(2), .. })), "{found:?}");
}

/// Each thread of two blocks of 32 stores its number at its place plus `apart` for the second block, and loads from there.
fn stores_apart(apart: i64, hint: StoreHint) -> Builder {
    let mut b = Builder::for_gpu("stores", 32);
    let out = b.buffer(I64, Access::Write);
    let (t, block) = (thread(&mut b), b.let_(Expr::Id(Axis::Block)));
    let base = b.mul_const(block, apart);
    let at = b.add(base, t);
    b.store_with(out, at, t, None, hint);
    b
}

#[test]
fn races_between_blocks_are_found_in_any_order() {
    for order in [Order::Ascending, Order::Descending, Order::Shuffled(3)] {
        for (apart, hint, race) in [
            (32, StoreHint::Cached, false),
            (31, StoreHint::Cached, true),
            (0, StoreHint::Cached, true),
            (0, StoreHint::Shared, false),
            (1, StoreHint::Shared, true),
        ] {
            let function = stores_apart(apart, hint).finish().unwrap();
            let mut buffers = [ints(&[-1; 64])];
            let found = run_in(order, &function, 2, &mut buffers, &[], &mut [0; RECORD]);
            let is_race = matches!(found, Err(SimError::Race { buf: Buf(0), .. }));
            assert_eq!((is_race, found.is_ok()), (race, !race), "{order:?}, {apart}: {found:?}");
        }
    }
}

#[test]
fn a_barrier_orders_the_threads_of_its_block_only() {
    // Thread 0 stores, and after a barrier all threads load.
    for (blocks, race) in [(1, false), (2, true)] {
        let mut b = Builder::for_gpu("f", 64);
        let out = b.buffer(I64, Access::Write);
        let (t, zero) = (thread(&mut b), b.i64(0));
        let first = b.binary(BinOp::Eq, t, zero);
        b.when(first, |b| b.store(out, zero, t));
        b.barrier();
        b.load(out, zero);
        let found = simulate(b, blocks, &mut [ints(&[5])], &[]);
        assert_eq!(matches!(found, Err(SimError::Race { .. })), race, "{found:?}");
        assert_eq!(found.is_ok(), !race);
    }
}

#[test]
fn a_barrier_of_a_warp_orders_its_threads_only() {
    // Thread 0 stores after all threads have loaded.
    for (threads, syncs, race) in [(32, false, true), (32, true, false), (64, true, true)] {
        let mut b = Builder::for_gpu("f", threads);
        let out = b.buffer(I64, Access::Write);
        let (t, zero) = (thread(&mut b), b.i64(0));
        b.load(out, zero);
        if syncs {
            b.warp_barrier();
        }
        let first = b.binary(BinOp::Eq, t, zero);
        b.when(first, |b| b.store(out, zero, t));
        let found = simulate(b, 1, &mut [ints(&[5])], &[]);
        assert_eq!(matches!(found, Err(SimError::Race { .. })), race, "{found:?}");
        assert_eq!(found.is_ok(), !race);
    }
}

#[test]
fn atomics_race_with_other_uses_only() {
    for (loads, race) in [(false, false), (true, true)] {
        let mut b = Builder::for_gpu("f", 64);
        let out = b.buffer(I64, Access::Write);
        let (one, zero) = (b.i64(1), b.i64(0));
        b.atomic(BinOp::Add, out, zero, one);
        if loads {
            b.load(out, zero);
        }
        let found = simulate(b, 2, &mut [ints(&[5])], &[]);
        assert_eq!(matches!(found, Err(SimError::Race { .. })), race, "{found:?}");
    }
}

#[test]
fn threads_that_add_to_an_element_get_different_numbers() {
    let mut b = Builder::for_gpu("f", 64);
    let (count, out) = (b.buffer(I64, Access::Write), b.buffer(I64, Access::Write));
    let (two, zero) = (b.i64(2), b.i64(0));
    let (block, t) = (b.let_(Expr::Id(Axis::Block)), thread(&mut b));
    let first = b.mul_const(block, 64);
    let at = b.add(first, t);
    let before = b.fetch_add(count, zero, two);
    b.store(out, at, before);
    let mut buffers = [ints(&[5]), ints(&[0; 128])];
    simulate(b, 2, &mut buffers, &[]).unwrap();
    let mut found: Vec<i128> = buffers[1].scalars().iter().filter_map(|s| s.as_int()).collect();
    found.sort_unstable();
    assert_eq!(found, (0..128).map(|k| 5 + 2 * k).collect::<Vec<_>>());
    assert_eq!(buffers[0].get(0), Some(Scalar::I64(5 + 256)));
}

#[test]
fn a_load_of_what_was_never_stored_is_found() {
    let function = |stores: bool, fails: bool| {
        let mut b = Builder::new("f");
        let xs = b.buffer(I64, Access::Write);
        let (one, failed) = (b.i64(1), b.bool(fails));
        if stores {
            b.store(xs, one, one);
        }
        b.load(xs, one);
        b.flag(failed);
        b.finish().unwrap()
    };
    for (stores, fails) in [(false, false), (true, false), (false, true)] {
        let mut buffers = [BufferMem::unset(I64, 2)];
        let found = run(&function(stores, fails), 1, &mut buffers, &[], &mut [0; RECORD]);
        let unset = Err(SimError::Unset { buf: Buf(0), index: 1, thread: (0, 0) });
        assert_eq!(found, if stores || fails { Ok(()) } else { unset });
        assert_eq!(buffers[0].stored(), [false, stores]);
    }
}

#[test]
fn barriers_and_shuffles_are_for_all() {
    for shuffles in [false, true] {
        let mut b = Builder::for_gpu("f", 64);
        let t = thread(&mut b);
        let limit = b.i64(40);
        let some = b.lt(t, limit);
        b.when(some, |b| {
            if shuffles {
                b.let_(Expr::Shuffle(Shuffle::Down, t, limit));
            } else {
                b.barrier();
            }
        });
        let what = if shuffles { "shuffle" } else { "barrier" };
        assert_eq!(simulate(b, 1, &mut [], &[]), Err(SimError::Divergent { what, block: 0 }));
    }
    // The first warp as a whole reaches a barrier that the second does not.
    let mut b = Builder::for_gpu("f", 64);
    let t = thread(&mut b);
    let limit = b.i64(32);
    let some = b.lt(t, limit);
    b.when(some, Builder::barrier);
    assert_eq!(simulate(b, 1, &mut [], &[]), Err(SimError::Divergent { what: "barrier", block: 0 }));
}

#[test]
fn indices_are_checked() {
    for (len, at, fault) in [(3, 3, true), (3, -1, true), (3, 2, false), (0, 0, false), (0, 1, true)] {
        let mut b = Builder::new("f");
        let xs = b.buffer(I64, Access::Write);
        let at = b.i64(at);
        b.load(xs, at);
        assert_eq!(simulate(b, 1, &mut [ints(&vec![7; len])], &[]).is_err(), fault);
    }
    let mut b = Builder::new("f");
    let xs = b.buffer(I64, Access::Write);
    let (zero, lanes) = (b.i64(0), b.lanes(4));
    b.store(xs, zero, lanes);
    let error = simulate(b, 1, &mut [ints(&[0; 3])], &[]).unwrap_err();
    assert_eq!(error.to_string(), "b0[3] is out of range: it has 3 elements (block 0, thread 0)");
}

#[test]
fn masked_lanes_touch_nothing() {
    let mut b = Builder::new("f");
    let (xs, out) = (b.buffer(F64, Access::Read), b.buffer(F64, Access::Write));
    let n = b.scalar(I64);
    let (zero, lanes) = (b.i64(0), b.lanes(4));
    let mask = b.lt(lanes, n);
    let x = b.load_lanes(xs, zero, 4, Some(mask));
    b.store_with(out, zero, x, Some(mask), StoreHint::Cached);
    let total = b.total(BinOp::Add, x);
    let two = b.i64(2);
    b.store(out, two, total);
    let mut buffers = [BufferMem::of(F64, &[Scalar::F64(1.5), Scalar::F64(2.5)]), BufferMem::new(F64, 3)];
    assert_eq!(simulate(b, 1, &mut buffers, &[Scalar::I64(2)]), Ok([0; RECORD]));
    assert_eq!(buffers[1].scalars(), [1.5, 2.5, 4.0].map(Scalar::F64));
}

#[test]
fn the_first_failure_is_recorded() {
    let mut b = Builder::for_gpu("f", 32);
    let t = thread(&mut b);
    let limit = b.i64(5);
    let bad = b.lt(limit, t);
    b.when(bad, |b| b.fail(9, &[t, limit]));
    assert_eq!(simulate(b, 1, &mut [], &[]), Ok(record(&[1, 9, 2, 6, 5])));
    let mut b = Builder::new("f");
    let lanes = b.lanes(4);
    let limit = b.scalar(I64);
    let bad = b.lt(limit, lanes);
    b.flag(bad);
    let f = b.finish().unwrap();
    for (limit, failed) in [(3, 0), (2, 1)] {
        let mut error = [0; RECORD];
        run(&f, 1, &mut [], &[Scalar::I64(limit)], &mut error).unwrap();
        assert_eq!(error, record(&[failed]));
    }
}

#[test]
fn what_does_not_end_is_stopped() {
    let mut b = Builder::new("f");
    b.while_(&[], |b, _| b.bool(true), |_, _| Vec::new());
    assert_eq!(simulate(b, 1, &mut [], &[]), Err(SimError::Endless));
}

#[test]
fn wrong_arguments_are_refused() {
    let mut b = Builder::new("f");
    b.buffer(I64, Access::Read);
    b.scalar(F64);
    let f = b.finish().unwrap();
    assert!(matches!(run(&f, 1, &mut [], &[], &mut [0; RECORD]), Err(SimError::IllFormed(f)) if f.len() == 2));
    let mut wrong = [BufferMem::new(F64, 1)];
    assert!(
        matches!(run(&f, 1, &mut wrong, &[Scalar::I64(1)], &mut [0; RECORD]), Err(SimError::IllFormed(f)) if f.len() == 2)
    );
}
