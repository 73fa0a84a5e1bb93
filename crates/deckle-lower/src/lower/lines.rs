//! Rows that leave in whole cache lines.
//!
//! Rows of different lengths that are written side by side end anywhere in a cache line, so that most vectors cross the end of one, which some processors store slowly, and none can bypass
//! the caches. So they go into a small buffer in the nearest cache. Whenever it has some whole lines, these leave it together.
//!
//! ```text
//! the array    ····|··aaabbb|bbccdddd|ddddeeee|ff······|     a line between bars
//! the buffer                |bbccdddd|ddddeeee|ff            after row f: two lines leave next
//!                  |··aaabbb|                                the first line is kept until all rows have been traversed: others write into it, too
//! ```
//!
//! The buffer begins with room for the first line, which belongs to these rows in part. Then come the lines that leave together, and room for the vector that is put there last.
//! What is neither is stored under masks at the end. So no element is written that is not of these rows: other threads write those.
//!
//! Nothing is put twice or left out, since each row begins where the last one ended ([`SuccessiveRows`](crate::facts::lines::SuccessiveRows)).

use super::emit::{Emitter, Res};
use super::points::Over;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{self, Node, Region, Sink, Space};
use deckle_ir::loops::{Buf, Expr, LoopHint, Place, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{Item, all_walks};

/// The bytes of a cache line.
const LINE: usize = 64;

/// A sink whose elements are gathered.
#[derive(Clone, Debug)]
pub(super) struct LineBuffer {
    /// What the sink writes, and where.
    sink: (kernel::Buf, Node),
    array: Buf,
    /// The elements that have not left yet: a line of room, those that leave together, and those behind.
    local: Buf,
    /// Where in the array the first element of that would be.
    origin: Buf,
    /// The elements of a line, of those that leave together, and of the vectors that are put.
    line: i64,
    together: i64,
    most: i64,
    /// The lanes that are copied at once.
    count: u16,
    hint: StoreHint,
}

impl Emitter<'_> {
    /// Traverses the points from `lo` below `hi` one after another, the rows that are written side by side through buffers.
    pub(super) fn in_whole_lines(
        &mut self,
        over: Over<'_>,
        (lo, hi): (Val, Val),
        (lines, past): (u16, bool),
    ) -> Res<()> {
        let space = over.space;
        let rows = self.facts.successive_rows(space, over.items);
        let rows = rows.ok_or_else(|| format!("{space} has no rows that are written side by side"))?;
        let most = all_walks(over.inside).iter().flat_map(|w| levels(&w.nest)).max().unwrap_or(1);
        let some = self.b.lt(lo, hi);
        self.b.begin_if(some);
        let elements = self.elements_between(rows.offsets, (lo, hi))?;
        let (mut buffers, mut ends) = (Vec::new(), Vec::new());
        for k in rows.sinks {
            let Sink::Write { buf, at, value, .. } = self.sinks[k] else { return Err("a buffer of no array".into()) };
            let start = self.first_place((space, lo), rows.row, at, over)?;
            let (buffer, first) = self.line_buffer((buf, at), self.p.ty(value), (lines, most, past), start)?;
            let end = self.b.add(start, elements);
            ends.push((start, first, end));
            buffers.push(buffer);
        }
        let outer = std::mem::replace(&mut self.line_buffers, buffers);
        self.one_by_one(over, (lo, hi, 1), LoopHint::Plain)?;
        let buffers = std::mem::replace(&mut self.line_buffers, outer);
        for (buffer, ends) in buffers.iter().zip(ends) {
            self.leave(buffer, ends);
        }
        self.b.begin_else(&[]);
        self.b.end(&[]);
        Ok(())
    }

    /// Traverses the elements of the rows of the points from `lo` below `hi` as one row: that of the first point, which goes on to the end of the last.
    pub(super) fn joined(&mut self, over: Over<'_>, (lo, hi): (Val, Val)) -> Res<()> {
        let rows = self.facts.joined_rows(over.space, over.items);
        let rows = rows.ok_or_else(|| format!("the rows of {} cannot be joined", over.space))?;
        let some = self.b.lt(lo, hi);
        self.b.begin_if(some);
        let elements = self.elements_between(rows.offsets, (lo, hi))?;
        let zero = self.int(0);
        let end = self.unless_failed(zero, elements);
        self.open_point(over.space, Some(lo), over.inside);
        let done = self.dimension(rows.row, over.items, (zero, end, 1));
        self.close();
        self.b.begin_else(&[]);
        self.b.end(&[]);
        done
    }

    /// How many elements the rows at all points of a dimension have.
    pub(super) fn elements_in_rows(&mut self, space: Space, items: &[Item]) -> Res<Val> {
        let rows = self.facts.rows_side_by_side(space, items);
        let rows = rows.ok_or_else(|| format!("{space} has no rows that are written side by side"))?;
        let Region::Dim(size) = self.p.space(space).region else { return Err(format!("{space} is no dimension")) };
        let (zero, size) = (self.int(0), self.val(size)?);
        self.elements_between(rows.offsets, (zero, size))
    }

    fn elements_between(&mut self, offsets: kernel::Buf, (lo, hi): (Val, Val)) -> Res<Val> {
        let offsets = self.buf(offsets)?;
        let (from, to) = (self.b.load(offsets, lo), self.b.load(offsets, hi));
        Ok(self.b.sub(to, from))
    }

    /// Where the first element of a row is written.
    fn first_place(&mut self, (space, at): (Space, Val), row: Space, place: Node, over: Over<'_>) -> Res<Val> {
        let zero = self.int(0);
        self.open_point(space, Some(at), over.inside);
        self.open(row, Some(zero), Vec::new());
        let start = self.val(place);
        self.close();
        self.close();
        start
    }

    /// A buffer for elements from `start` on, and where the first line begins that is theirs alone.
    fn line_buffer(
        &mut self,
        sink: (kernel::Buf, Node),
        ty: ScalarType,
        (lines, most, past): (u16, u16, bool),
        start: Val,
    ) -> Res<(LineBuffer, Val)> {
        let cuts = self.facts.cuts;
        let line = (LINE / ty.bytes()) as i64;
        let count = (cuts.register / ty.bytes()).clamp(2, cuts.lanes) as u16;
        // Copies are of whole vectors.
        let most = i64::from(most.max(count).next_multiple_of(count));
        // As many leave as a vector puts: the next one has room then.
        let together = (i64::from(lines) * line).max((most as u64).next_multiple_of(line as u64) as i64);
        let array = self.buf(sink.0)?;
        let local = self.b.local(ty, (line + together + most) as u32, Place::Private);
        let origin = self.b.local(ScalarType::I64, 1, Place::Private);
        let hint = if past { StoreHint::Streaming } else { StoreHint::Cached };
        let buffer = LineBuffer { sink, array, local, origin, line, together, most, count, hint };
        // What is behind the last element is copied along with it.
        let none = self.b.constant_lanes(Scalar::zero(ty), count);
        for at in (0..line + together + most).step_by(usize::from(count)) {
            let at = self.int(at);
            self.b.store(local, at, none);
        }
        let behind = self.b.let_(Expr::Unaligned(array));
        let behind = self.b.add(behind, start);
        let whole = self.int(line);
        let behind = self.b.binary(BinOp::Rem, behind, whole);
        let missing = self.b.sub(whole, behind);
        let missing = self.b.binary(BinOp::Rem, missing, whole);
        let first = self.b.add(start, missing);
        let before = self.b.sub(first, whole);
        let zero = self.int(0);
        self.b.store(origin, zero, before);
        Ok((buffer, first))
    }

    /// The buffer of a sink, if it has one here.
    pub(super) fn buffer_of(&self, buf: kernel::Buf, at: Node) -> Option<LineBuffer> {
        self.line_buffers.iter().find(|s| s.sink == (buf, at)).cloned()
    }

    /// Puts the elements from a place on into a buffer: all lanes, of which those under no mask are put again.
    pub(super) fn put(&mut self, buffer: LineBuffer, at: Val, value: Val) -> Res<()> {
        let lanes = self.b.ty(value).lanes;
        if self.b.ty(at).lanes > 1 || i64::from(lanes) > buffer.most {
            return Err("what leaves in whole lines does not lie side by side".into());
        }
        let zero = self.int(0);
        let origin = self.b.load(buffer.origin, zero);
        let k = self.b.sub(at, origin);
        let last = self.int(buffer.line + buffer.together - 1);
        let full = self.b.lt(last, k);
        self.b.begin_if(full);
        let step = usize::from(buffer.count);
        for j in (buffer.line..buffer.line + buffer.together).step_by(step) {
            let (from, to) = (self.int(j), self.b.add_const(origin, j));
            let v = self.b.load_lanes(buffer.local, from, buffer.count, None);
            self.b.store_with(buffer.array, to, v, None, buffer.hint);
        }
        for j in (buffer.line..buffer.line + buffer.most).step_by(step) {
            let (from, to) = (self.int(j + buffer.together), self.int(j));
            let v = self.b.load_lanes(buffer.local, from, buffer.count, None);
            self.b.store(buffer.local, to, v);
        }
        let next = self.b.add_const(origin, buffer.together);
        self.b.store(buffer.origin, zero, next);
        self.b.begin_else(&[]);
        self.b.end(&[]);
        let origin = self.b.load(buffer.origin, zero);
        let k = self.b.sub(at, origin);
        self.b.store(buffer.local, k, value);
        Ok(())
    }

    /// Stores what has not left: the part of the first line, and all behind the last line that has.
    fn leave(&mut self, buffer: &LineBuffer, (start, first, end): (Val, Val, Val)) {
        let head = self.b.min(first, end);
        let before = self.b.add_const(first, -buffer.line);
        self.copy(buffer, before, (start, head));
        let zero = self.int(0);
        let origin = self.b.load(buffer.origin, zero);
        let next = self.b.add_const(origin, buffer.line);
        self.copy(buffer, origin, (next, end));
    }

    /// Copies elements of a range of the array from a buffer with that origin.
    fn copy(&mut self, buffer: &LineBuffer, origin: Val, (lo, hi): (Val, Val)) {
        let (at, _) = self.b.begin_for(lo, hi, i64::from(buffer.count), &[], LoopHint::Plain);
        let from = self.b.sub(at, origin);
        let left = self.b.sub(hi, at);
        let most = self.int(i64::from(buffer.count));
        let left = self.b.min(left, most);
        let left = self.b.cast(ScalarType::I32, left);
        let mask = self.first_lanes(left, buffer.count);
        let v = self.b.load_lanes(buffer.local, from, buffer.count, Some(mask));
        self.b.store_with(buffer.array, at, v, Some(mask), StoreHint::Cached);
        self.b.end(&[]);
    }
}

/// How many elements each level of a nest stores at once.
fn levels(nest: &deckle_ir::schedule::Nest) -> Vec<u16> {
    use deckle_ir::schedule::Nest;
    match nest {
        Nest::When(_, then, other) => [levels(then), levels(other)].concat(),
        Nest::Level { level, .. } => vec![level.together()],
    }
}
