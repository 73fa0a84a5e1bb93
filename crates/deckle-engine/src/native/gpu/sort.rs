//! Sorting on a device, by one digit after another: see [`GridSort`].

use crate::native::device::Sort;
use crate::native::fault::Failure;
use crate::native::gpu::memory::Mem;
use crate::native::gpu::port::Port;
use crate::native::gpu::run::Run;
use crate::native::grid::Calls;
use crate::native::run::Memory;
use deckle_ir::loops::{Function, GridSort, SortFill, SortedPoints};
use deckle_ir::scalar::ScalarType;

/// The bits of a word.
const WORD: u32 = 64;
/// The name of the memory that is needed beside the result.
const ENTRIES: &str = "the entries of a sort";
/// The most blocks of functions whose threads share all elements.
const BLOCKS: i64 = 1 << 12;

/// A column of the keys.
struct Column<'a, P: Port> {
    fill: &'a Function,
    /// The values, or the offsets of rows.
    from: Option<&'a Mem<P>>,
    /// What `fill` is passed as the least ordinal.
    least: i64,
    /// How many bits tell ordinals apart.
    bits: u32,
}

/// A word of the entries.
struct Word<'a, P: Port> {
    /// The columns in it, each with its lowest bit.
    columns: Vec<(Column<'a, P>, u32)>,
    /// The bit after the last one.
    end: u32,
}

/// The entries, in their order so far, and room for the next order.
struct Entries<P: Port> {
    words: [Mem<P>; 2],
    /// The numbers of the elements, if they are not in the words.
    numbers: Option<[Mem<P>; 2]>,
    counts: Mem<P>,
    totals: Mem<P>,
}

impl<P: Port> Run<'_, P> {
    /// The order of keys: see [`Device::sort`](crate::native::device::Device::sort).
    pub(super) fn sorted(&self, memory: &Memory<'_, Self>, sort: &Sort<'_>) -> Result<Mem<P>, Failure> {
        let functions = self.on.grids.sorts.as_ref().ok_or_else(|| Failure::bug("a sort that was not compiled"))?;
        let n = sort.len;
        let columns = if n > 1 { self.columns(memory, sort, functions)? } else { Vec::new() };
        self.in_order(functions, columns, n, sort.name)
    }

    /// Adds the keys of the points of a launch, of which none is greater than `most`, and the order of the points.
    pub(super) fn pass_sorted(
        &self,
        sorted: &SortedPoints,
        most: i64,
        calls: &Calls<'_>,
        passed: &mut Vec<Mem<P>>,
    ) -> Result<(), Failure> {
        let functions = self.on.grids.sorts.as_ref().ok_or_else(|| Failure::bug("a sort that was not compiled"))?;
        let of =
            functions.column(ScalarType::U64).ok_or_else(|| Failure::bug("a sort of a type that was not compiled"))?;
        let keys = self.array(calls.points, "the list of where points store")?;
        self.clear(&keys)?;
        passed.push(keys.clone());
        let all: Vec<&Mem<P>> = passed.iter().collect();
        self.enqueue(&sorted.keys, calls.parts as u64, &all, &calls.scalars)?;
        let bits = u64::BITS - (most.max(0) as u64).leading_zeros();
        let column =
            (calls.points > 1 && bits > 0).then_some(Column { fill: &of.fill, from: Some(&keys), least: 0, bits });
        passed.push(self.in_order(functions, Vec::from_iter(column), calls.points, "the order of points")?);
        Ok(())
    }

    /// The numbers of so many elements, in the order of some columns.
    fn in_order(
        &self,
        functions: &GridSort,
        columns: Vec<Column<'_, P>>,
        n: i64,
        name: &str,
    ) -> Result<Mem<P>, Failure> {
        let new = || self.array(n, name);
        let number_bits = u64::BITS - (n.max(1) as u64 - 1).leading_zeros();
        let are_packed = columns.iter().map(|c| c.bits).sum::<u32>() + number_bits <= WORD;
        let low = if are_packed { number_bits } else { 0 };
        let words = words(columns, low);
        if words.is_empty() {
            let order = new()?;
            self.share(&functions.number, n, &[&order], &[])?;
            return Ok(order);
        }
        let mut entries = Entries {
            words: [self.array(n, ENTRIES)?, self.array(n, ENTRIES)?],
            numbers: if are_packed { None } else { Some([new()?, new()?]) },
            counts: self.array((n / functions.points(n) + 1) << functions.bits, ENTRIES)?,
            totals: self.array(1 << functions.bits, ENTRIES)?,
        };
        let mut is_listed = false;
        for word in words {
            self.fill(&entries, n, &word, is_listed)?;
            if let (Some([numbers, _]), false) = (&entries.numbers, is_listed) {
                self.share(&functions.number, n, &[numbers], &[])?;
            }
            is_listed = entries.numbers.is_some();
            for shift in (low..word.end).step_by(functions.bits as usize) {
                self.pass(functions, &mut entries, n, shift)?;
            }
        }
        if let Some([order, _]) = entries.numbers {
            return Ok(order);
        }
        let (order, mask) = (new()?, (1 << number_bits) - 1);
        self.share(&functions.numbers, n, &[&entries.words[0], &order], &[mask])?;
        Ok(order)
    }

    /// The columns that tell elements apart, the most significant first.
    fn columns<'m>(
        &'m self,
        memory: &'m Memory<'_, Self>,
        sort: &Sort<'_>,
        functions: &'m GridSort,
    ) -> Result<Vec<Column<'m, P>>, Failure> {
        let mut columns = Vec::new();
        if sort.rows > 1 {
            let from = sort.offsets.map(|b| memory.buffer(b)).transpose()?;
            let (fill, least) = match from {
                Some(_) => (&functions.rows, sort.rows),
                None => (&functions.equal_rows, sort.len / sort.rows),
            };
            from.map_or(Ok(()), |mem| self.bring(mem))?;
            columns.push(Column { fill, from, least, bits: u64::BITS - (sort.rows as u64 - 1).leading_zeros() });
        }
        let mut ranges = Vec::new();
        for b in sort.keys {
            let (mem, ty) = (memory.buffer(*b)?, memory.program.bufs[b.index()].elem);
            self.bring(mem)?;
            let of = functions.column(ty).ok_or_else(|| Failure::bug("a sort of a type that was not compiled"))?;
            let (least, bits) = all_of(ty);
            if bits > 16 {
                let range = self.array(2, ENTRIES)?;
                self.clear(&range)?;
                self.share(&of.measure, sort.len, &[mem, &range], &[])?;
                ranges.push((columns.len(), range));
            }
            columns.push(Column { fill: &of.fill, from: Some(mem), least, bits });
        }
        let parts: Vec<_> = ranges.iter().map(|(_, range)| (range, 0, 16)).collect();
        let bytes = self.read(&parts)?;
        for ((at, _), bytes) in ranges.iter().zip(bytes.chunks_exact(16)) {
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
            let (least, greatest) = (!number(&bytes[..8]), number(&bytes[8..]));
            columns[*at].least = least as i64;
            columns[*at].bits = u64::BITS - greatest.wrapping_sub(least).leading_zeros();
        }
        columns.retain(|c| c.bits > 0);
        Ok(columns)
    }

    /// Computes a word of all entries.
    fn fill(&self, entries: &Entries<P>, n: i64, word: &Word<'_, P>, is_listed: bool) -> Result<(), Failure> {
        let begins = match (&entries.numbers, is_listed) {
            (None, _) => [SortFill::Number, SortFill::Add],
            (Some(_), false) => [SortFill::Zero, SortFill::Add],
            (Some(_), true) => [SortFill::ZeroListed, SortFill::AddListed],
        };
        // Without a list another array is passed, and not read.
        let list = entries.numbers.as_ref().map_or(&entries.totals, |[numbers, _]| numbers);
        for (k, (column, shift)) in word.columns.iter().enumerate() {
            let arrays: Vec<&Mem<P>> = column.from.into_iter().chain([list, &entries.words[0]]).collect();
            let scalars = [column.least, i64::from(*shift), begins[k.min(1)] as i64];
            self.share(column.fill, n, &arrays, &scalars)?;
        }
        Ok(())
    }

    /// Sorts entries by a digit.
    fn pass(&self, functions: &GridSort, entries: &mut Entries<P>, n: i64, shift: u32) -> Result<(), Failure> {
        let points = functions.points(n);
        let parts = (n - 1) / points + 1;
        let Entries { words: [words, sorted], numbers, counts, totals } = &*entries;
        let scalars = [n, i64::from(shift), points, parts];
        let run = |function, grid: i64, arrays: &[&Mem<P>]| self.enqueue(function, grid as u64, arrays, &scalars);
        if parts == 1 {
            // Nothing comes before the only part.
            self.clear(counts)?;
            run(&functions.count, parts, &[words, totals])?;
        } else {
            run(&functions.count, parts, &[words, counts])?;
            run(&functions.places, 1 << functions.bits, &[counts, totals])?;
        }
        match numbers {
            None => run(&functions.move_words, parts, &[words, counts, totals, sorted])?,
            Some([from, to]) => run(&functions.move_pairs, parts, &[words, counts, totals, sorted, from, to])?,
        }
        entries.words.swap(0, 1);
        entries.numbers.iter_mut().for_each(|numbers| numbers.swap(0, 1));
        Ok(())
    }

    /// Runs a function whose threads share so many elements, which is its first scalar.
    fn share(&self, function: &Function, n: i64, arrays: &[&Mem<P>], scalars: &[i64]) -> Result<(), Failure> {
        let threads = i64::from(function.block.max(1));
        let blocks = n / threads + i64::from(n % threads > 0);
        let scalars = [&[n], scalars].concat();
        self.enqueue(function, blocks.min(BLOCKS) as u64, arrays, &scalars)
    }

    fn array(&self, elements: i64, name: &str) -> Result<Mem<P>, Failure> {
        let bytes = usize::try_from(elements).ok().and_then(|n| n.checked_mul(8)).unwrap_or(usize::MAX);
        Mem::new(&self.on.unit, bytes, name)
    }
}

/// The words of entries that have these columns, from bit `low` on: the least significant word first.
fn words<P: Port>(columns: Vec<Column<'_, P>>, low: u32) -> Vec<Word<'_, P>> {
    let mut words: Vec<Word<'_, P>> = Vec::new();
    for column in columns.into_iter().rev() {
        let bits = column.bits;
        match words.last_mut().filter(|word| word.end + bits <= WORD) {
            Some(word) => {
                word.columns.push((column, word.end));
                word.end += bits;
            }
            None => words.push(Word { columns: vec![(column, low)], end: low + bits }),
        }
    }
    words
}

/// The least ordinal of a type, and how many bits all of them have.
fn all_of(ty: ScalarType) -> (i64, u32) {
    let bits = if ty == ScalarType::Bool { 1 } else { 8 * ty.bytes() as u32 };
    let least = if ty.is_signed() { (1u64 << 63).wrapping_sub(1 << (bits - 1)) } else { 0 };
    (least as i64, bits)
}
