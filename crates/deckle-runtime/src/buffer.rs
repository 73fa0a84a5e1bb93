//! Arrays as bytes: reference-counted, aligned and padded.
//!
//! # Invariants
//!
//! - A padded buffer begins at a multiple of 64 bytes if it is the pool's, and at least 64 bytes past its last byte can be
//!   read, so that compiled code may load element 0 of an empty array, or a full vector at the last element, and discard
//!   the excess. It must never *write* there.
//! - The padding of a buffer of the pool is zero when it is allocated and after [`Buffer::set_len`]; after [`Buffer::shrink`] it holds
//!   the bytes that were cut off.
//! - Memory with several handles is never written: writers must call [`Buffer::get_mut`] or
//!   [`Buffer::as_mut_ptr`], which succeed only for the single owner. So an operator may reuse its operand's memory exactly
//!   when it consumes the last handle.
//! - All bytes are initialised.
//! - A buffer of a few bytes without a pool is stored next to its reference count ([`Buffer::inside`]), with its padding, aligned for any scalar.
//! - In checked mode ([`Pool::checked`]) the padding is a red zone instead, and unwritten memory is poison: see [`crate::guarded`].
//!
//! # External memory
//!
//! [`Buffer::from_external`] borrows memory with its owner and copies nothing. Such a buffer cannot be written.
//! [`Buffer::from_vec`] takes over the memory of a `Vec`, and [`Buffer::into_vec`] returns memory as a `Vec`: that of a `Vec` that came in, and that of
//! [`Pool::alloc_vec`]. Neither moves an element. The memory of a `Vec` may be written like the pool's.
//!
//! Both count as padded if the 64 bytes after the last byte lie in its page, or still belong to the memory: protection is per page, so compiled code can
//! read them whatever their owner (Rust code may not, and nothing here does). Otherwise [`Buffer::padded`] makes a copy.

#![allow(unsafe_code)] // Typed views of raw memory.

use crate::block::{Block, PADDING};
use crate::guarded::Guarded;
use crate::pool::{OverBudget, Pool, Shared};
use deckle_ir::scalar::ScalarType;
use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

/// No page is smaller on a machine that Deckle runs on.
const PAGE: usize = 4096;

/// Bytes that can be shared between threads and viewed as a slice of scalars.
#[derive(Clone)]
pub struct Buffer {
    memory: Arc<Memory>,
    /// The start of this handle's bytes.
    from: usize,
    len: usize,
}

struct Memory {
    /// The first byte, unless the bytes are inside.
    start: NonNull<u8>,
    source: Source,
    /// In checked mode.
    guarded: Option<Guarded>,
}

enum Source {
    /// `Some` until the memory is dropped. The number of bytes that were requested.
    Pool(Option<Block>, Arc<Shared>, usize),
    /// The memory of a `Vec`, with the layout to free it, and the pool that counts it, if one does.
    Vec { layout: Layout, padded: bool, counted: Option<(Arc<Shared>, u64)> },
    /// Valid while the owner is held.
    External { _owner: Arc<dyn Send + Sync>, bytes: usize, padded: bool },
    /// A few bytes next to their reference count, and the padding, not counted by a pool. Passing a number to a program, or taking it from one, needs one allocation.
    Inside(UnsafeCell<[u64; (INSIDE + PADDING) / 8]>),
    /// The static block of empty arrays.
    Nothing,
}

/// Up to this many bytes, a scalar or two, are not worth a separate allocation.
const INSIDE: usize = 16;

impl Memory {
    fn start(&self) -> NonNull<u8> {
        match &self.source {
            // Computed each time: a pointer to the contents does not outlive a `&mut` of the whole.
            Source::Inside(bytes) => NonNull::from(bytes).cast(),
            _ => self.start,
        }
    }
}

impl Source {
    fn may_be_written(&self) -> bool {
        matches!(self, Source::Pool(..) | Source::Vec { .. } | Source::Inside(_))
    }
}

// SAFETY: memory is written only through a unique `&mut Buffer` (invariant above), blocks are tied to no thread, and
// external owners are `Send + Sync` by their type.
unsafe impl Send for Memory {}
// SAFETY: as above; through `&Memory` the bytes are only read.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Source::Pool(block, pool, asked) = &mut self.source
            && let Some(block) = block.take()
        {
            if let Some(damage) = self.guarded.as_ref().and_then(|g| g.damage(&block)) {
                pool.note_damage(damage);
            }
            pool.put(block, *asked as u64);
        }
        if let Source::Vec { layout, counted, .. } = &mut self.source {
            // SAFETY: the memory was allocated with this layout, and no other code frees it.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), *layout) };
            release(counted);
        }
    }
}

/// Removes memory from the pool's count.
fn release(counted: &mut Option<(Arc<Shared>, u64)>) {
    if let Some((pool, data)) = counted.take() {
        pool.release(data);
    }
}

/// Whether the 64 bytes after these lie in the page of the last.
fn is_padded_by_page(start: *const u8, bytes: usize) -> bool {
    let end_in_page = (start as usize).wrapping_add(bytes) % PAGE;
    end_in_page != 0 && end_in_page <= PAGE - PADDING
}

#[repr(align(64))]
struct Zeros([u8; 2 * PADDING]);
static ZEROS: Zeros = Zeros([0; 2 * PADDING]);

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Scalars for which any bytes are a value: the views of a [`Buffer`]. Booleans are viewed as `u8`.
pub trait Plain: Copy + Send + Sync + fmt::Debug + PartialEq + sealed::Sealed + 'static {}

/// Scalars of the language, except booleans, since not every byte is one.
pub trait Number: Plain {
    /// The scalar type.
    const TYPE: ScalarType;
}

macro_rules! plain {
    ($($t:ident $ty:ident)*) => {
        $(
            impl sealed::Sealed for $t {}
            impl Plain for $t {}
            impl Number for $t {
                const TYPE: ScalarType = ScalarType::$ty;
            }
        )*
    };
}
plain!(u8 U8 u16 U16 u32 U32 u64 U64 i8 I8 i16 I16 i32 I32 i64 I64 f32 F32 f64 F64);

impl Buffer {
    /// Takes over a block of the pool, for a payload of `len` bytes.
    pub(crate) fn pooled(block: Block, pool: Arc<Shared>, len: usize, guarded: Option<Guarded>) -> Buffer {
        let start = if guarded.is_some() { Guarded::start(&block) } else { block.start() };
        let source = Source::Pool(Some(block), pool, len);
        let mut buffer = Buffer { memory: Arc::new(Memory { start, source, guarded }), from: 0, len };
        buffer.clear_padding();
        buffer
    }

    /// `len` zeros without a pool, if they are few.
    pub(crate) fn inside(len: usize) -> Option<Buffer> {
        let source = (len <= INSIDE).then(|| Source::Inside(UnsafeCell::default()))?;
        let memory = Memory { start: NonNull::dangling(), source, guarded: None };
        Some(Buffer { memory: Arc::new(memory), from: 0, len })
    }

    /// One scalar.
    pub(crate) fn of_one<T: Plain>(scalar: T) -> Buffer {
        let Some(mut buffer) = Buffer::inside(size_of::<T>()) else { return Buffer::from_vec(vec![scalar]) };
        if let Some(all) = buffer.get_mut::<T>() {
            all.fill(scalar);
        }
        buffer
    }

    /// An empty array.
    pub fn empty() -> Buffer {
        let start = NonNull::from(&ZEROS.0).cast();
        Buffer { memory: Arc::new(Memory { start, source: Source::Nothing, guarded: None }), from: 0, len: 0 }
    }

    /// The `bytes` at `start`, which live as long as `owner`. For an empty array the owner is dropped: it becomes [`Buffer::empty`].
    ///
    /// # Safety
    /// While `owner` is held, the bytes can be read and no thread writes them.
    pub unsafe fn from_external(owner: Arc<dyn Send + Sync>, start: *const u8, bytes: usize) -> Buffer {
        let Some(place) = NonNull::new(start.cast_mut()).filter(|_| bytes > 0) else { return Buffer::empty() };
        let padded = is_padded_by_page(start, bytes);
        let source = Source::External { _owner: owner, bytes, padded };
        Buffer { memory: Arc::new(Memory { start: place, source, guarded: None }), from: 0, len: bytes }
    }

    /// The memory of a vector, without copying, except that it may have to grow by 64 bytes. One without capacity becomes [`Buffer::empty`].
    pub fn from_vec<T: Plain>(mut elements: Vec<T>) -> Buffer {
        let len = size_of_val(&elements[..]);
        if len > 0 && !is_padded_by_page(elements.as_ptr().cast(), len) {
            // Large memory is mapped, and grows without a move; small memory is cheap to move.
            elements.reserve_exact(PADDING / size_of::<T>());
        }
        let mut elements = ManuallyDrop::new(elements);
        let layout = Layout::array::<T>(elements.capacity()).expect("a vector was allocated with its layout");
        match NonNull::new(elements.as_mut_ptr().cast::<u8>()).filter(|_| layout.size() > 0) {
            Some(start) => Buffer::of_vec(start, layout, len, None),
            None => Buffer::empty(),
        }
    }

    /// The memory of a vector of booleans.
    pub fn from_bools(elements: Vec<bool>) -> Buffer {
        let mut elements = ManuallyDrop::new(elements);
        // SAFETY: `bool` has the layout of `u8`, and each is a valid `u8`.
        let bytes =
            unsafe { Vec::from_raw_parts(elements.as_mut_ptr().cast::<u8>(), elements.len(), elements.capacity()) };
        Buffer::from_vec(bytes)
    }

    /// Takes over memory that was allocated with this layout and whose first bytes are initialised.
    pub(crate) fn of_vec(
        start: NonNull<u8>,
        layout: Layout,
        len: usize,
        counted: Option<(Arc<Shared>, u64)>,
    ) -> Buffer {
        let padded = layout.size() - len >= PADDING || is_padded_by_page(start.as_ptr(), len);
        let source = Source::Vec { layout, padded, counted };
        Buffer { memory: Arc::new(Memory { start, source, guarded: None }), from: 0, len }
    }

    /// The same, with a pool that has counted `bytes` for it. The memory is that of a vector, and this its only handle.
    pub(crate) fn counted(mut self, pool: &Arc<Shared>, bytes: u64) -> Buffer {
        match Arc::get_mut(&mut self.memory).map(|m| &mut m.source) {
            Some(Source::Vec { counted, .. }) => *counted = Some((pool.clone(), bytes)),
            // An empty array counts nothing.
            _ => pool.release(bytes),
        }
        self
    }

    /// The elements as a vector: without copying if this is the only handle and a vector can own the memory.
    ///
    /// # Panics
    /// If the length is not a whole number of elements.
    pub fn into_vec<T: Plain>(mut self) -> Vec<T> {
        let (n, size) = (self.elements::<T>(), size_of::<T>());
        if self.from == 0
            && let Some(memory) = Arc::get_mut(&mut self.memory)
            && let Source::Vec { layout, counted, .. } = &mut memory.source
            && layout.align() == align_of::<T>()
            && layout.size().is_multiple_of(size)
        {
            release(counted);
            let capacity = layout.size() / size;
            memory.source = Source::Nothing;
            // SAFETY: the memory was allocated with the layout of a vector of `capacity` elements, of which the first `n` are initialised, and any
            // bytes are one. No other code frees it: the handle is unique, and its source is `Nothing` from now on.
            return unsafe { Vec::from_raw_parts(memory.start.as_ptr().cast::<T>(), n, capacity) };
        }
        self.as_slice::<T>().to_vec()
    }

    /// The elements as booleans, as [`Buffer::into_vec`]; `None` if a byte is neither 0 nor 1.
    pub fn into_bools(self) -> Option<Vec<bool>> {
        if self.as_slice::<u8>().iter().fold(0, |all, b| all | b) > 1 {
            return None;
        }
        let mut bytes = ManuallyDrop::new(self.into_vec::<u8>());
        // SAFETY: `u8` has the layout of `bool`, and each is 0 or 1.
        Some(unsafe { Vec::from_raw_parts(bytes.as_mut_ptr().cast::<bool>(), bytes.len(), bytes.capacity()) })
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first byte; never null, and of a readable block even if the array is empty.
    pub fn as_ptr(&self) -> *const u8 {
        // SAFETY: `from` is not beyond the bytes of the memory.
        unsafe { self.memory.start().as_ptr().add(self.from) }
    }

    /// The bytes from `lo` below `hi`, in the same memory.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn slice(&self, lo: usize, hi: usize) -> Buffer {
        assert!(lo <= hi && hi <= self.len, "a buffer of {} bytes has none from {lo} below {hi}", self.len);
        Buffer { memory: Arc::clone(&self.memory), from: self.from + lo, len: hi - lo }
    }

    /// The largest length that [`Buffer::set_len`] accepts.
    pub fn capacity(&self) -> usize {
        match &self.memory.source {
            Source::Pool(Some(block), ..) if self.memory.guarded.is_none() => block.capacity() - PADDING - self.from,
            _ => self.len,
        }
    }

    /// Whether 64 bytes past the last one can be read by compiled code.
    pub fn is_padded(&self) -> bool {
        match self.memory.source {
            Source::External { padded: false, bytes, .. } => self.from + self.len + PADDING <= bytes,
            Source::Vec { padded: false, layout, .. } => self.from + self.len + PADDING <= layout.size(),
            _ => true,
        }
    }

    /// Whether the memory is external.
    pub fn is_external(&self) -> bool {
        matches!(self.memory.source, Source::External { .. })
    }

    /// This buffer if it is padded, and guarded if the pool is in checked mode; otherwise such a copy from the pool.
    pub fn padded(&self, pool: &Pool, what: &str) -> Result<Buffer, OverBudget> {
        let guarded = self.memory.guarded.is_some() || !pool.is_checked();
        if self.is_padded() && guarded { Ok(self.clone()) } else { pool.alloc_from(self.as_slice::<u8>(), what) }
    }

    /// In checked mode, the shadow of the first byte: one byte for each, 0 if it has been written.
    pub fn shadow(&self) -> Option<*mut u8> {
        self.memory.guarded.as_ref().map(|g| g.shadow(self.from))
    }

    /// In checked mode, the first byte that has not been written.
    pub fn unwritten(&self) -> Option<usize> {
        self.memory.guarded.as_ref()?.unwritten(self.from, self.len)
    }

    /// In checked mode, a description of damage to the red zones. No thread may write to the array meanwhile.
    pub fn damage(&self) -> Option<String> {
        match &self.memory.source {
            Source::Pool(Some(block), ..) => self.memory.guarded.as_ref()?.damage(block),
            _ => None,
        }
    }

    /// Copies the first bytes of another array, if this is the only handle. In checked mode, bytes that are unwritten there are unwritten here, and so is
    /// the rest of this array.
    pub fn copy_from(&mut self, other: &Buffer, bytes: usize) {
        if let Some(all) = self.get_mut::<u8>() {
            all[..bytes].copy_from_slice(&other.as_slice()[..bytes]);
        }
        if let Some(guarded) = &self.memory.guarded {
            guarded.as_written_as(other.memory.guarded.as_ref().map(|g| (g, other.from)), bytes);
        }
    }

    /// Whether this is the only handle of memory that may be written, from its beginning on.
    pub fn is_unique(&mut self) -> bool {
        self.from == 0 && Arc::get_mut(&mut self.memory).is_some_and(|m| m.source.may_be_written())
    }

    /// Whether this is the only handle of memory that may be written, at this moment.
    pub fn is_sole(&self) -> bool {
        self.memory.source.may_be_written() && Arc::strong_count(&self.memory) == 1
    }

    /// The first byte, for writing, if this is the only handle and the memory may be written.
    pub fn as_mut_ptr(&mut self) -> Option<*mut u8> {
        self.is_unique().then(|| self.memory.start().as_ptr())
    }

    /// The elements, for writing, if this is the only handle and the memory may be written.
    ///
    /// # Panics
    /// If the length is not a whole number of elements.
    pub fn get_mut<T: Plain>(&mut self) -> Option<&mut [T]> {
        let n = self.elements::<T>();
        let start = self.as_mut_ptr()?;
        if let Some(guarded) = &self.memory.guarded {
            guarded.written();
        }
        // SAFETY: the block holds `len` initialised bytes; any bytes are a `T`; `elements` checked length and alignment;
        // the handle is unique and borrowed for as long as the slice lives.
        Some(unsafe { std::slice::from_raw_parts_mut(start.cast::<T>(), n) })
    }

    /// The elements.
    ///
    /// # Panics
    /// If the length is not a whole number of elements, or external memory is not aligned for them.
    pub fn as_slice<T: Plain>(&self) -> &[T] {
        let n = self.elements::<T>();
        // SAFETY: as in `get_mut`; no thread writes while a shared handle is borrowed. Static and external memory holds `len`
        // bytes by construction.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast::<T>(), n) }
    }

    fn elements<T: Plain>(&self) -> usize {
        let size = size_of::<T>();
        assert!(self.len.is_multiple_of(size), "{} bytes are not elements of {size} bytes", self.len);
        assert!(self.as_ptr().cast::<T>().is_aligned(), "external memory is not aligned for elements of {size} bytes");
        self.len / size
    }

    /// Makes the array shorter: this handle's only. The memory stays.
    ///
    /// # Panics
    /// If `len` is more than the length.
    pub fn shrink(&mut self, len: usize) {
        assert!(len <= self.len, "a buffer of {} bytes cannot shrink to {len}", self.len);
        self.len = len;
    }

    /// Changes the length within the capacity, if this is the only handle: the old contents, followed by
    /// unspecified bytes. Returns whether it did.
    #[must_use]
    pub fn set_len(&mut self, len: usize) -> bool {
        let done = len <= self.capacity() && self.is_unique();
        if done {
            self.len = len;
            self.clear_padding();
        }
        done
    }

    /// Zeroes the padding, and the rest of the first 64 bytes of a short array. The handle is unique and the pool's.
    fn clear_padding(&mut self) {
        if self.memory.guarded.is_some() || !matches!(self.memory.source, Source::Pool(..)) {
            return;
        }
        let end = self.len.max(PADDING) + PADDING;
        // SAFETY: a block has room for the payload or 64 bytes, whichever is more, and the padding (`capacity_for`,
        // `capacity`); the caller's handle is unique.
        unsafe { self.memory.start.as_ptr().add(self.len).write_bytes(0, end - self.len) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.memory.source {
            Source::Pool(..) => "pool",
            Source::Vec { .. } => "vector",
            Source::External { .. } => "external",
            Source::Inside(_) => "inside",
            Source::Nothing => "empty",
        };
        write!(f, "Buffer({} bytes, {kind}, {} owners)", self.len, Arc::strong_count(&self.memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::Team;

    fn padding_of(buffer: &Buffer) -> &[u8] {
        // SAFETY: the pool's buffers have 64 initialised bytes past their payload.
        unsafe { std::slice::from_raw_parts(buffer.as_ptr().add(buffer.len()), PADDING) }
    }

    #[test]
    fn every_buffer_is_aligned_and_padded_with_zeros() {
        let pool = Pool::new(None);
        for len in [0, 1, 63, 64, 65, 4096, if cfg!(miri) { 8192 } else { 3 << 20 }] {
            // The second time, the block is dirty.
            for _ in 0..2 {
                let mut b = pool.alloc(len, "b").unwrap();
                assert_eq!((b.len(), b.as_ptr() as usize % 64), (len, 0));
                assert!(b.is_padded() && padding_of(&b).iter().all(|&x| x == 0));
                b.get_mut::<u8>().unwrap().fill(0xff);
                let all = b.capacity();
                assert!(b.set_len(all) && padding_of(&b).iter().all(|&x| x == 0));
                b.get_mut::<u8>().unwrap().fill(0xff);
            }
        }
    }

    #[test]
    fn a_few_bytes_lie_inside() {
        let pool = Pool::new(Some(0));
        let mut b = pool.alloc_vec(16, 8, &Team::new(1), "b").unwrap();
        assert!(b.is_padded() && padding_of(&b).iter().all(|&x| x == 0) && pool.stats().current == 0);
        b.get_mut::<i64>().unwrap().copy_from_slice(&[1, 2]);
        assert!(b.is_sole() && b.is_unique());
        let c = b.slice(8, 16);
        assert!(!b.is_sole() && b.get_mut::<i64>().is_none());
        assert_eq!(c.as_slice::<i64>(), [2]);
        assert_eq!(c.into_vec::<i64>(), [2]);
        assert_eq!(b.into_vec::<i64>(), [1, 2]);
        assert!(pool.alloc_vec(17, 1, &Team::new(1), "b").is_err());
        assert_eq!(
            (Buffer::of_one(2.5f64).as_slice::<f64>(), Buffer::of_one(7u8).into_vec::<u8>()),
            ([2.5].as_slice(), vec![7])
        );
    }

    #[test]
    fn elements_are_read_back_at_every_type() {
        let pool = Pool::new(None);
        let b = pool.alloc_from(&[1.5f64, -0.0, f64::NAN], "b").unwrap();
        assert_eq!(b.as_slice::<f64>()[0], 1.5);
        assert_eq!(b.as_slice::<u64>()[1], 1 << 63);
        assert_eq!(b.as_slice::<i16>().len(), 12);
        assert_eq!(pool.alloc_from::<i32>(&[], "none").unwrap().as_slice::<i32>(), []);
    }

    #[test]
    #[should_panic(expected = "12 bytes are not elements of 8 bytes")]
    fn half_an_element_is_refused() {
        let pool = Pool::new(None);
        pool.alloc(12, "b").unwrap().as_slice::<f64>();
    }

    #[test]
    fn only_the_single_owner_may_write() {
        let pool = Pool::new(None);
        let mut a = pool.alloc_from(&[1u32, 2, 3], "a").unwrap();
        let mut b = a.clone();
        assert!(!a.is_unique() && a.get_mut::<u32>().is_none() && b.as_mut_ptr().is_none() && !b.set_len(4));
        drop(b);
        a.get_mut::<u32>().unwrap()[0] = 9;
        assert_eq!(a.as_slice::<u32>(), [9, 2, 3]);
    }

    #[test]
    fn shrinking_is_of_one_handle() {
        let pool = Pool::new(None);
        let mut a = pool.alloc_from(&[1u32, 2, 3], "a").unwrap();
        let b = a.clone();
        a.shrink(4);
        assert_eq!((a.as_slice::<u32>(), b.as_slice::<u32>()), (&[1][..], &[1, 2, 3][..]));
        drop(b);
        assert!(a.set_len(12));
        assert_eq!(a.as_slice::<u32>(), [1, 2, 3]);
    }

    #[test]
    fn a_slice_shares_memory_and_is_not_written() {
        let pool = Pool::new(None);
        let a = pool.alloc_from(&[1u32, 2, 3, 4], "a").unwrap();
        let mut b = a.slice(4, 12).slice(0, 8);
        assert_eq!(b.as_slice::<u32>(), [2, 3]);
        drop(a);
        assert!(b.is_padded() && !b.is_unique() && b.get_mut::<u32>().is_none() && !b.set_len(4));
        assert_eq!(b.slice(8, 8).as_slice::<u32>(), []);
        let owner = Arc::new(vec![1u8; 3 * PAGE]);
        let first_page = owner.as_ptr().align_offset(PAGE);
        // SAFETY: the vector is not changed.
        let c = unsafe { Buffer::from_external(owner.clone(), owner.as_ptr(), first_page + PAGE) };
        assert!(!c.is_padded() && !c.slice(0, c.len() - 63).is_padded() && c.slice(9, c.len() - 64).is_padded());
    }

    #[test]
    fn external_memory_is_shared_and_released() {
        let owner = Arc::new(vec![5i64; 1000]);
        let pool = Pool::new(None);
        // SAFETY: the vector is not changed while it is shared.
        let mut b = unsafe { Buffer::from_external(owner.clone(), owner.as_ptr().cast(), 8000) };
        assert!(b.is_external() && !b.is_unique() && b.get_mut::<i64>().is_none());
        assert_eq!(b.as_slice::<i64>(), &owner[..]);
        assert_eq!(Arc::strong_count(&owner), 2);
        let padded = b.padded(&pool, "b").unwrap();
        assert_eq!(padded.is_external(), b.is_padded());
        assert_eq!(padded.as_slice::<i64>(), &owner[..]);
        drop((b, padded));
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn external_memory_is_padded_unless_its_end_is_near_the_end_of_a_page() {
        let pool = Pool::new(None);
        let owner = Arc::new(vec![1u8; 3 * PAGE]);
        let first_page = owner.as_ptr().align_offset(PAGE);
        // SAFETY: one to two pages of a vector of three, which is not changed.
        let to = |end: usize| unsafe { Buffer::from_external(owner.clone(), owner.as_ptr(), first_page + end) };
        assert!(to(PAGE - 64).is_padded() && to(PAGE + 1).is_padded());
        for end in [PAGE - 63, PAGE] {
            let b = to(end);
            assert!(!b.is_padded());
            let copy = b.padded(&pool, "b").unwrap();
            assert!(copy.is_padded() && !copy.is_external() && copy.as_slice::<u8>() == b.as_slice::<u8>());
        }
    }

    #[test]
    fn a_vector_goes_in_and_comes_out_in_its_own_memory() {
        let pool = Pool::new(None);
        let mut v = Vec::with_capacity(1000);
        v.extend((0..900).map(f64::from));
        let at = v.as_ptr();
        let mut b = Buffer::from_vec(v);
        assert!(b.is_unique() && b.is_sole() && !b.is_external() && b.is_padded());
        b.get_mut::<f64>().unwrap()[0] = 7.0;
        let other = b.clone();
        assert!(!b.is_unique() && b.get_mut::<f64>().is_none());
        // As long as there are two handles, one has to be a copy.
        let copy = other.into_vec::<f64>();
        assert!(copy.as_ptr() != at && copy[..2] == [7.0, 1.0]);
        // Integers of the same layout may also take it; other types may not.
        let ints = b.into_vec::<i64>();
        assert!(ints.as_ptr().cast() == at && ints.len() == 900 && ints.capacity() == 1000);
        let b = Buffer::from_vec(ints);
        let narrow = b.into_vec::<i32>();
        assert!(narrow.as_ptr().cast() != at && narrow.len() == 1800);
        assert!(Buffer::from_vec(Vec::<u8>::new()).into_vec::<u8>().is_empty());
        let full = Buffer::from_vec(vec![1u8; 3 * PAGE]);
        let padded = full.padded(&pool, "b").unwrap();
        assert_eq!(padded.as_slice::<u8>(), full.as_slice::<u8>());
    }

    #[test]
    fn truth_values_are_bytes_that_are_0_or_1() {
        // With capacity for reads past the end by compiled code, it is never moved.
        let mut v = Vec::with_capacity(3 + PADDING);
        v.extend([true, false, true]);
        let at = v.as_ptr();
        let back = Buffer::from_bools(v).into_bools().unwrap();
        assert_eq!((back.as_ptr(), &back[..]), (at, &[true, false, true][..]));
        assert_eq!(Buffer::from_vec(vec![0u8, 2]).into_bools(), None);
    }

    #[test]
    fn a_vector_of_the_pool_counts_until_it_is_handed_over() {
        let pool = Pool::new(Some(1 << 20));
        let mut b = pool.alloc_vec(8000, 8, &Team::new(1), "b").unwrap();
        assert!(pool.stats().current >= 8000 && b.is_padded() && b.as_slice::<u64>().iter().all(|x| *x == 0));
        b.get_mut::<u64>().unwrap()[999] = 5;
        let at = b.as_ptr();
        let v = b.into_vec::<f64>();
        assert_eq!((v.as_ptr().cast(), v.len(), v[999].to_bits()), (at, 1000, 5));
        assert_eq!(pool.stats().current, 0);
        drop(pool.alloc_vec(1 << 19, 4, &Team::new(1), "b").unwrap());
        assert_eq!(pool.stats().current, 0);
        assert!(pool.alloc_vec(1 << 20, 4, &Team::new(1), "b").is_err());
    }

    #[test]
    fn an_empty_external_array_is_a_block_of_zeros() {
        let owner = Arc::new(());
        // SAFETY: no bytes.
        let b = unsafe { Buffer::from_external(owner.clone(), std::ptr::null(), 0) };
        assert!(b.is_padded() && b.is_empty() && !b.as_ptr().is_null() && b.as_slice::<f64>().is_empty());
        assert!(padding_of(&b).iter().all(|&x| x == 0));
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}
