//! Sorting on a grid of threads, by one digit of the keys after another, the lowest first: see [`GridSort`].
//!
//! ```text
//! for each digit:
//!     count    a block counts the digits of its part, in shared memory
//!     places   a warp takes a digit, and computes for each part how many entries with that digit come before it
//!     move     a block takes its part, in rounds: a warp finds the rank of each entry among those of the same digit by ballots,
//!              the block the first place of each digit; entries are exchanged in shared memory, so that those of a digit
//!              are stored next to each other
//! ```
//!
//! Every step keeps the order of equal digits, so the sort is stable, and its result the same on every run.

use super::emit::Res;
use super::gpu::share;
use super::{GridPurpose, verified};
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::loops::{
    Access, Axis, Buf, Builder, Expr, Function, GridSort, LoopHint, Place, Shuffle, SortColumn, SortFill, Val, WARP,
};
use deckle_ir::scalar::{Scalar, ScalarType};

use ScalarType::{I32, I64, U32, U64};

/// The most bits of a digit: a thread of a block takes each digit.
const MOST_BITS: u32 = 8;
/// The bytes of shared memory in which entries are exchanged.
const EXCHANGED: u32 = 32 << 10;

/// The functions that sort keys of these types.
pub fn grid_sort(types: &[ScalarType], purpose: GridPurpose) -> Res<GridSort> {
    let threads = purpose.threads.min(1 << MOST_BITS);
    let s = Sort { threads, bits: threads.ilog2(), most_each: purpose.cuts.sort_each };
    let column =
        |ty: &ScalarType| Ok((*ty, SortColumn { measure: s.measure(*ty)?, fill: s.fill(Column::Values(*ty))? }));
    Ok(GridSort {
        columns: types.iter().map(column).collect::<Res<_>>()?,
        rows: s.fill(Column::Rows)?,
        equal_rows: s.fill(Column::EqualRows)?,
        number: s.number()?,
        numbers: s.numbers()?,
        count: s.count()?,
        places: Sort { threads: WARP, ..s }.places()?,
        move_words: s.move_entries(false)?,
        move_pairs: s.move_entries(true)?,
        bits: s.bits,
        round: i64::from(s.each(false) * threads),
        parts: purpose.cuts.sort_parts,
    })
}

#[derive(Clone, Copy)]
struct Sort {
    /// The threads of a block, at least as many as digits.
    threads: u32,
    /// The bits of a digit.
    bits: u32,
    /// The most entries of a thread in a round.
    most_each: u32,
}

/// What an ordinal is computed from.
#[derive(Clone, Copy)]
enum Column {
    Values(ScalarType),
    Rows,
    EqualRows,
}

/// A part of the entries.
struct Part {
    lo: Val,
    hi: Val,
    shift: Val,
    parts: Val,
    block: Val,
    thread: Val,
}

impl Sort {
    fn warps(&self) -> u32 {
        self.threads / WARP
    }

    fn digits(&self) -> i64 {
        1 << self.bits
    }

    /// The entries of a thread in a round.
    fn each(&self, pairs: bool) -> u32 {
        let bytes = if pairs { 16 } else { 8 };
        (EXCHANGED / bytes / self.threads).clamp(1, self.most_each)
    }

    fn close(b: Builder) -> Res<Function> {
        verified(b.finish().map_err(|faults| faults.join("; "))?)
    }

    /// A loop over the numbers below `n`, which all threads of the grid share.
    fn over_all(
        &self,
        b: &mut Builder,
        n: Val,
        inits: &[Val],
        body: impl FnOnce(&mut Builder, Val, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let [block, blocks, thread] = [Axis::Block, Axis::Blocks, Axis::Thread].map(|axis| b.let_(Expr::Id(axis)));
        let threads = i64::from(self.threads);
        let zero = b.i64(0);
        let (lo, hi) = share(b, (zero, n), block, blocks);
        let lo = b.add(lo, thread);
        b.for_(lo, hi, threads, inits, LoopHint::Plain, body)
    }

    fn measure(&self, ty: ScalarType) -> Res<Function> {
        let mut b = Builder::for_gpu(&format!("sort_measure_{ty}"), self.threads);
        let (values, range) = (b.buffer(ty, Access::Read), b.buffer(U64, Access::Write));
        let n = b.scalar(I64);
        let shared = b.local(U64, 2, Place::Shared);
        let thread = b.let_(Expr::Id(Axis::Thread));
        let none = b.constant(Scalar::U64(0));
        let [zero, one, two] = [0, 1, 2].map(|k| b.i64(k));
        let some = b.lt(thread, two);
        b.when(some, |b| b.store(shared, thread, none));
        b.barrier();
        let found = self.over_all(&mut b, n, &[none, none], |b, i, found| {
            let value = b.load(values, i);
            let greatest = ordinal(b, value);
            let least = b.not(greatest);
            vec![b.max(found[0], least), b.max(found[1], greatest)]
        });
        b.atomic(BinOp::Max, shared, zero, found[0]);
        b.atomic(BinOp::Max, shared, one, found[1]);
        b.barrier();
        b.when(some, |b| {
            let found = b.load(shared, thread);
            b.atomic(BinOp::Max, range, thread, found);
        });
        Sort::close(b)
    }

    fn fill(&self, column: Column) -> Res<Function> {
        let (name, ty) = match column {
            Column::Values(ty) => (format!("sort_fill_{ty}"), ty),
            Column::Rows => ("sort_fill_rows".to_string(), I64),
            Column::EqualRows => ("sort_fill_equal_rows".to_string(), U64),
        };
        let mut b = Builder::for_gpu(&name, self.threads);
        let values = match column {
            Column::EqualRows => None,
            _ => Some(b.buffer(ty, Access::Read)),
        };
        let (listed, words) = (b.buffer(I64, Access::Read), b.buffer(U64, Access::Write));
        let [n, least, shift, how] = [(); 4].map(|()| b.scalar(I64));
        let is = |b: &mut Builder, of: &[SortFill]| {
            let mut any = b.bool(false);
            for one in of {
                let one = b.i64(*one as i64);
                let same = b.binary(BinOp::Eq, how, one);
                any = b.or(any, same);
            }
            any
        };
        let by_list = is(&mut b, &[SortFill::AddListed, SortFill::ZeroListed]);
        let adds = is(&mut b, &[SortFill::Add, SortFill::AddListed]);
        let numbers = is(&mut b, &[SortFill::Number]);
        let shift = b.cast(U64, shift);
        let least_bits = b.let_(Expr::Bitcast(U64, least));
        self.over_all(&mut b, n, &[], |b, i, _| {
            let at = b.let_(Expr::Load { buf: listed, at: i, mask: Some(by_list) });
            let at = b.select(by_list, at, i);
            let own = match (column, values) {
                (Column::Values(_), Some(values)) => {
                    let value = b.load(values, at);
                    let own = ordinal(b, value);
                    b.sub(own, least_bits)
                }
                (Column::Rows, Some(offsets)) => {
                    let row = row_of(b, offsets, least, at);
                    b.cast(U64, row)
                }
                _ => {
                    let row = b.binary(BinOp::Div, at, least);
                    b.cast(U64, row)
                }
            };
            let own = b.binary(BinOp::Shl, own, shift);
            let (before, number) = (b.let_(Expr::Load { buf: words, at: i, mask: Some(adds) }), b.cast(U64, i));
            let before = b.select(numbers, number, before);
            let word = b.or(before, own);
            b.store(words, i, word);
            Vec::new()
        });
        Sort::close(b)
    }

    fn number(&self) -> Res<Function> {
        let mut b = Builder::for_gpu("sort_number", self.threads);
        let (list, n) = (b.buffer(I64, Access::Write), b.scalar(I64));
        self.over_all(&mut b, n, &[], |b, i, _| {
            b.store(list, i, i);
            Vec::new()
        });
        Sort::close(b)
    }

    fn numbers(&self) -> Res<Function> {
        let mut b = Builder::for_gpu("sort_numbers", self.threads);
        let (words, list) = (b.buffer(U64, Access::Read), b.buffer(I64, Access::Write));
        let [n, mask] = [(); 2].map(|()| b.scalar(I64));
        self.over_all(&mut b, n, &[], |b, i, _| {
            let word = b.load(words, i);
            let word = b.let_(Expr::Bitcast(I64, word));
            let number = b.and(word, mask);
            b.store(list, i, number);
            Vec::new()
        });
        Sort::close(b)
    }

    /// The part of the entries that a block takes, after the scalars that tell it.
    fn part(&self, b: &mut Builder) -> Part {
        let [n, shift, points, parts] = [(); 4].map(|()| b.scalar(I64));
        let [block, thread] = [Axis::Block, Axis::Thread].map(|axis| b.let_(Expr::Id(axis)));
        let lo = b.mul(block, points);
        let hi = b.add(lo, points);
        let (lo, hi) = (b.min(lo, n), b.min(hi, n));
        Part { lo, hi, shift: b.cast(U64, shift), parts, block, thread }
    }

    /// The digit of a word.
    fn digit(&self, b: &mut Builder, word: Val, shift: Val) -> Val {
        let mask = b.constant(Scalar::U64(self.digits() as u64 - 1));
        let digit = b.binary(BinOp::Shr, word, shift);
        let digit = b.and(digit, mask);
        b.cast(I64, digit)
    }

    fn count(&self) -> Res<Function> {
        let mut b = Builder::for_gpu("sort_count", self.threads);
        let (words, counts) = (b.buffer(U64, Access::Read), b.buffer(I64, Access::Write));
        let part = self.part(&mut b);
        let found = b.local(I32, 1 << self.bits, Place::Shared);
        let (none, one, digits) = (b.constant(Scalar::I32(0)), b.constant(Scalar::I32(1)), b.i64(self.digits()));
        let has_digit = b.lt(part.thread, digits);
        b.when(has_digit, |b| b.store(found, part.thread, none));
        b.barrier();
        let lo = b.add(part.lo, part.thread);
        b.for_(lo, part.hi, i64::from(self.threads), &[], LoopHint::Plain, |b, i, _| {
            let word = b.load(words, i);
            let digit = self.digit(b, word, part.shift);
            b.atomic(BinOp::Add, found, digit, one);
            Vec::new()
        });
        b.barrier();
        b.when(has_digit, |b| {
            let count = b.load(found, part.thread);
            let count = b.cast(I64, count);
            let at = b.mul(part.thread, part.parts);
            let at = b.add(at, part.block);
            b.store(counts, at, count);
        });
        Sort::close(b)
    }

    fn places(&self) -> Res<Function> {
        let mut b = Builder::for_gpu("sort_places", self.threads);
        let (counts, totals) = (b.buffer(I64, Access::Write), b.buffer(I64, Access::Write));
        let part = self.part(&mut b);
        let shared = b.local(I64, self.warps(), Place::Shared);
        let zero = b.i64(0);
        let first = b.mul(part.block, part.parts);
        let total = b.for_(zero, part.parts, i64::from(self.threads), &[zero], LoopHint::Plain, |b, round, sum| {
            let at = b.add(round, part.thread);
            let inside = b.lt(at, part.parts);
            let at = b.add(first, at);
            let count = b.let_(Expr::Load { buf: counts, at, mask: Some(inside) });
            let (before, all) = self.scan(b, shared, part.thread, count);
            b.when(inside, |b| {
                let before = b.add(sum[0], before);
                b.store(counts, at, before);
            });
            vec![b.add(sum[0], all)]
        });
        let is_first = b.binary(BinOp::Eq, part.thread, zero);
        b.when(is_first, |b| b.store(totals, part.block, total[0]));
        Sort::close(b)
    }

    /// The sum of the numbers of the threads before, and of all.
    fn scan(&self, b: &mut Builder, shared: Buf, thread: Val, number: Val) -> (Val, Val) {
        let (width, zero, last) = (b.i64(i64::from(WARP)), b.i64(0), b.i64(i64::from(WARP) - 1));
        let (warp, lane) = (b.binary(BinOp::Div, thread, width), b.binary(BinOp::Rem, thread, width));
        let mut sum = number;
        for apart in [1, 2, 4, 8, 16] {
            let apart = b.i64(apart);
            let more = b.let_(Expr::Shuffle(Shuffle::Up, sum, apart));
            let there = b.binary(BinOp::Ge, lane, apart);
            let more = b.select(there, more, zero);
            sum = b.add(sum, more);
        }
        let is_last = b.binary(BinOp::Eq, lane, last);
        b.when(is_last, |b| b.store(shared, warp, sum));
        b.barrier();
        let (mut before, mut all) = (zero, zero);
        for k in 0..self.warps() {
            let k = b.i64(i64::from(k));
            let more = b.load(shared, k);
            let earlier = b.lt(k, warp);
            all = b.add(all, more);
            let more = b.select(earlier, more, zero);
            before = b.add(before, more);
        }
        b.barrier();
        let own = b.sub(sum, number);
        (b.add(before, own), all)
    }

    fn move_entries(&self, pairs: bool) -> Res<Function> {
        let name = if pairs { "sort_move_pairs" } else { "sort_move_words" };
        let (mut b, each) = (Builder::for_gpu(name, self.threads), self.each(pairs));
        let (warps, digits, round) = (self.warps(), self.digits(), each * self.threads);
        let (words, counts) = (b.buffer(U64, Access::Read), b.buffer(I64, Access::Read));
        let (totals, sorted) = (b.buffer(I64, Access::Read), b.buffer(U64, Access::Write));
        let numbers = pairs.then(|| [Access::Read, Access::Write].map(|access| b.buffer(I64, access)));
        let part = self.part(&mut b);
        let shared = b.local(I64, self.warps(), Place::Shared);
        // For each warp and digit: how many entries there are, then the place of the first of them in the round.
        let found = b.local(I32, warps << self.bits, Place::Shared);
        // For each digit: the place of the first entry of the round, less that in the round.
        let starts = b.local(I64, 1 << self.bits, Place::Shared);
        let exchanged = b.local(U64, round, Place::Shared);
        let exchanged_numbers = pairs.then(|| b.local(I64, round, Place::Shared));

        let (width, none, zero) = (b.i64(i64::from(WARP)), b.constant(Scalar::I32(0)), b.i64(0));
        let (warp, lane) = (b.binary(BinOp::Div, part.thread, width), b.binary(BinOp::Rem, part.thread, width));
        let (one, lane_bit) = (b.constant(Scalar::U32(1)), b.cast(U32, lane));
        let lane_bit = b.binary(BinOp::Shl, one, lane_bit);
        let lanes_before = b.sub(lane_bit, one);
        let own_found = b.mul_const(warp, digits);
        let (all_digits, most) = (b.i64(digits), b.i64(digits - 1));
        let has_digit = b.lt(part.thread, all_digits);
        let digit = b.min(part.thread, most);

        // A thread takes a digit, and carries where the next entry with it goes.
        let total = b.let_(Expr::Load { buf: totals, at: digit, mask: Some(has_digit) });
        let (before, _) = self.scan(&mut b, shared, part.thread, total);
        let at = b.mul(digit, part.parts);
        let at = b.add(at, part.block);
        let earlier = b.load(counts, at);
        let start = b.add(before, earlier);

        b.for_(part.lo, part.hi, i64::from(round), &[start], LoopHint::Plain, |b, lo, next| {
            let all = b.i64(i64::from(warps) * digits);
            b.for_(part.thread, all, i64::from(self.threads), &[], LoopHint::Plain, |b, at, _| {
                b.store(found, at, none);
                Vec::new()
            });
            b.barrier();
            // A warp takes successive entries.
            let own = b.mul_const(warp, i64::from(each * WARP));
            let own = b.add(own, lane);
            let own = b.add(lo, own);
            let entries: Vec<Entry> = (0..each)
                .map(|k| {
                    let at = b.add_const(own, i64::from(k * WARP));
                    let there = b.lt(at, part.hi);
                    let mut load = |buf| b.let_(Expr::Load { buf, at, mask: Some(there) });
                    let (word, number) = (load(words), numbers.map(|[from, _]| load(from)));
                    Entry { there, word, number }
                })
                .collect();
            let mut ranked = Vec::new();
            for entry in entries {
                let digit = self.digit(b, entry.word, part.shift);
                let same = self.same_digit(b, digit, entry.there);
                let before = b.and(same, lanes_before);
                let (before, count) = (b.unary(UnOp::Popcount, before), b.unary(UnOp::Popcount, same));
                let (before, count) = (b.cast(I32, before), b.cast(I32, count));
                let at = b.add(own_found, digit);
                let earlier = b.load(found, at);
                let rank = b.add(earlier, before);
                b.warp_barrier();
                let is_first = b.binary(BinOp::Eq, before, none);
                let is_first = b.and(is_first, entry.there);
                b.when(is_first, |b| {
                    let more = b.add(earlier, count);
                    b.store(found, at, more);
                });
                b.warp_barrier();
                ranked.push((entry, at, rank));
            }
            b.barrier();
            // The places of the first entries of a digit: those of the first warp, then of the second, and so on.
            let mut sum = none;
            let mut places = Vec::new();
            for k in 0..warps {
                let at = b.add_const(digit, i64::from(k) * digits);
                let count = b.load(found, at);
                places.push((at, sum));
                sum = b.add(sum, count);
            }
            let sum = b.cast(I64, sum);
            let count = b.select(has_digit, sum, zero);
            let (before, _) = self.scan(b, shared, part.thread, count);
            b.when(has_digit, |b| {
                let first = b.cast(I32, before);
                for (at, skip) in places {
                    let place = b.add(first, skip);
                    b.store(found, at, place);
                }
                let start = b.sub(next[0], before);
                b.store(starts, digit, start);
            });
            b.barrier();
            for (entry, at, rank) in ranked {
                b.when(entry.there, |b| {
                    let first = b.load(found, at);
                    let place = b.add(first, rank);
                    let place = b.cast(I64, place);
                    b.store(exchanged, place, entry.word);
                    if let (Some(buf), Some(number)) = (exchanged_numbers, entry.number) {
                        b.store(buf, place, number);
                    }
                });
            }
            b.barrier();
            let (most, left) = (b.i64(i64::from(round)), b.sub(part.hi, lo));
            let all = b.min(left, most);
            b.for_(part.thread, all, i64::from(self.threads), &[], LoopHint::Plain, |b, place, _| {
                let word = b.load(exchanged, place);
                let digit = self.digit(b, word, part.shift);
                let start = b.load(starts, digit);
                let at = b.add(start, place);
                b.store(sorted, at, word);
                if let (Some(buf), Some([_, to])) = (exchanged_numbers, numbers) {
                    let number = b.load(buf, place);
                    b.store(to, at, number);
                }
                Vec::new()
            });
            b.barrier();
            vec![b.add(next[0], count)]
        });
        Sort::close(b)
    }

    /// In which threads of the warp there are entries with the digit of this thread.
    fn same_digit(&self, b: &mut Builder, digit: Val, there: Val) -> Val {
        let mut same = b.let_(Expr::Ballot(there));
        for bit in 0..self.bits {
            let (mask, zero) = (b.i64(1 << bit), b.i64(0));
            let bit = b.and(digit, mask);
            let is_set = b.binary(BinOp::Ne, bit, zero);
            let set = b.let_(Expr::Ballot(is_set));
            let unset = b.not(set);
            let alike = b.select(is_set, set, unset);
            same = b.and(same, alike);
        }
        same
    }
}

/// An entry that a thread moves.
struct Entry {
    there: Val,
    word: Val,
    number: Option<Val>,
}

/// The unsigned integer of the same order; see `deckle_runtime::sort`.
fn ordinal(b: &mut Builder, value: Val) -> Val {
    let ty = b.ty(value).scalar;
    let sign = b.constant(Scalar::U64(1 << 63));
    if ty.is_float() {
        let (bits, int, sign, nan) = if ty == ScalarType::F32 {
            (U32, I32, Scalar::U32(1 << 31), Scalar::U32(f32::INFINITY.to_bits() | 1 << 31))
        } else {
            (U64, I64, Scalar::U64(1 << 63), Scalar::U64(f64::INFINITY.to_bits() | 1 << 63))
        };
        let signed = b.let_(Expr::Bitcast(int, value));
        let none = b.constant(Scalar::zero(int));
        let negative = b.lt(signed, none);
        let bits = b.let_(Expr::Bitcast(bits, value));
        let (sign, nan) = (b.constant(sign), b.constant(nan));
        // NaN is the one after infinity.
        let one = b.constant(Scalar::wrap_int(b.ty(nan).scalar, 1).unwrap_or(Scalar::U64(1)));
        let nan = b.add(nan, one);
        let (above, below) = (b.or(bits, sign), b.not(bits));
        let ordered = b.select(negative, below, above);
        let is_nan = b.unary(UnOp::IsNan, value);
        let ordered = b.select(is_nan, nan, ordered);
        return b.cast(U64, ordered);
    }
    if ty.is_signed() {
        let wide = b.cast(I64, value);
        let wide = b.let_(Expr::Bitcast(U64, wide));
        return b.binary(BinOp::Xor, wide, sign);
    }
    b.cast(U64, value)
}

/// The row that an element is in: the last one that begins at it or before.
fn row_of(b: &mut Builder, offsets: Buf, rows: Val, element: Val) -> Val {
    let zero = b.i64(0);
    let found = b.while_(
        &[zero, rows],
        |b, range| {
            let next = b.add_const(range[0], 1);
            b.lt(next, range[1])
        },
        |b, range| {
            let sum = b.add(range[0], range[1]);
            let two = b.i64(2);
            let middle = b.binary(BinOp::Div, sum, two);
            let start = b.load(offsets, middle);
            let after = b.lt(element, start);
            vec![b.select(after, range[0], middle), b.select(after, middle, range[1])]
        },
    );
    found[0]
}
