//! Buffers: those that are passed, those that a block shares, and who has touched what since the last barrier.

use super::{SimError, is_shared};
use deckle_ir::loops::{Buf, Function, Local, Place, RECORD};
use deckle_ir::scalar::{Scalar, ScalarType};

/// A buffer: elements of one type, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferMem {
    elem: ScalarType,
    bytes: Vec<u8>,
}

impl BufferMem {
    /// A buffer of zeros.
    pub fn new(elem: ScalarType, len: usize) -> BufferMem {
        BufferMem { elem, bytes: vec![0; len * elem.bytes()] }
    }

    /// A buffer with these elements, converted to `elem` if they are not of that type.
    pub fn of(elem: ScalarType, items: &[Scalar]) -> BufferMem {
        let mut buffer = BufferMem::new(elem, items.len());
        for (k, s) in items.iter().enumerate() {
            buffer.set(k, s.cast(elem).bits());
        }
        buffer
    }

    /// A buffer that these bytes are; what is left of the last element is cut off.
    pub fn from_bytes(elem: ScalarType, mut bytes: Vec<u8>) -> BufferMem {
        bytes.truncate(bytes.len() / elem.bytes() * elem.bytes());
        BufferMem { elem, bytes }
    }

    /// A local buffer, whose contents mean nothing yet.
    fn garbage(local: &Local) -> BufferMem {
        let byte = if local.elem == ScalarType::Bool { 1 } else { 0xa5 };
        BufferMem { elem: local.elem, bytes: vec![byte; local.len as usize * local.elem.bytes()] }
    }

    /// The type of its elements.
    pub fn elem(&self) -> ScalarType {
        self.elem
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.elem.bytes()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Its memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its memory, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// An element, if there is one.
    pub fn get(&self, k: usize) -> Option<Scalar> {
        (k < self.len()).then(|| Scalar::from_bits(self.elem, self.bits(k)))
    }

    /// All elements.
    pub fn scalars(&self) -> Vec<Scalar> {
        (0..self.len()).map(|k| Scalar::from_bits(self.elem, self.bits(k))).collect()
    }

    fn bits(&self, k: usize) -> u64 {
        let size = self.elem.bytes();
        let mut word = [0; 8];
        if let Some(bytes) = self.bytes.get(k * size..(k + 1) * size) {
            word[..size].copy_from_slice(bytes);
        }
        u64::from_le_bytes(word)
    }

    fn set(&mut self, k: usize, bits: u64) {
        let size = self.elem.bytes();
        if let Some(bytes) = self.bytes.get_mut(k * size..(k + 1) * size) {
            bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
    }
}

/// The local buffers of a thread; those that are shared are left empty.
pub(super) fn private(function: &Function) -> Vec<BufferMem> {
    let one = |l: &Local| if l.place == Place::Shared { BufferMem::new(l.elem, 0) } else { BufferMem::garbage(l) };
    function.locals.iter().map(one).collect()
}

/// Nobody, in [`Touched`].
const NOBODY: u32 = u32::MAX;
/// More than one thread, in [`Touched`].
const MANY: u32 = u32::MAX - 1;

/// Which threads have used an element since the last barrier.
#[derive(Clone, Copy)]
struct Touched {
    writer: u32,
    reader: u32,
    /// Who combined into it; as often as they like.
    atomic: u32,
}

const UNTOUCHED: Touched = Touched { writer: NOBODY, reader: NOBODY, atomic: NOBODY };

/// What the threads of a block share.
pub(super) struct Shared {
    buffers: Vec<BufferMem>,
    touched: Vec<Vec<Touched>>,
}

impl Shared {
    pub(super) fn new(function: &Function) -> Shared {
        let buffers: Vec<BufferMem> = function.locals.iter().map(BufferMem::garbage).collect();
        let touched = buffers.iter().map(|b| vec![UNTOUCHED; b.len()]).collect();
        Shared { buffers, touched }
    }

    /// All threads have met.
    pub(super) fn barrier(&mut self) {
        self.touched.iter_mut().for_each(|t| t.fill(UNTOUCHED));
    }
}

/// What is done with an element.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Use {
    Load,
    Store(u64),
    /// The new bits are computed from the old.
    Atomic,
}

/// Everything that a warp can reach but for its own.
pub(super) struct Memory<'a> {
    pub(super) function: &'a Function,
    pub(super) passed: &'a mut [BufferMem],
    pub(super) shared: &'a mut Shared,
    pub(super) error: &'a mut [u64; RECORD],
}

impl Memory<'_> {
    /// Uses one element, and gives what it held; `own` are the local buffers of the thread.
    pub(super) fn access(
        &mut self,
        own: &mut [BufferMem],
        buf: Buf,
        index: i128,
        thread: (u64, u32),
        how: Use,
        combine: impl FnOnce(u64) -> u64,
    ) -> Result<u64, SimError> {
        let local = buf.index().checked_sub(self.passed.len());
        let shared = is_shared(self.function, buf);
        let buffer = match local {
            None => self.passed.get_mut(buf.index()),
            Some(k) if shared => self.shared.buffers.get_mut(k),
            Some(k) => own.get_mut(k),
        };
        let Some(buffer) = buffer else {
            return Err(SimError::IllFormed(vec![format!("there is no {buf}")]));
        };
        let len = buffer.len();
        let Some(k) = usize::try_from(index).ok().filter(|&k| k < len) else {
            return match how {
                Use::Load if len == 0 && index == 0 => Ok(0),
                _ => Err(SimError::OutOfRange { buf, index, len, thread }),
            };
        };
        let before = buffer.bits(k);
        match how {
            Use::Load => {}
            Use::Store(bits) => buffer.set(k, bits),
            Use::Atomic => buffer.set(k, combine(before)),
        }
        if let (true, Some(l)) = (shared, local) {
            let news = before != buffer.bits(k);
            let touched = &mut self.shared.touched[l][k];
            if conflict(touched, thread.1, how, news) {
                return Err(SimError::Race { buf, index: k, thread: thread.1 });
            }
        }
        Ok(before)
    }
}

/// Notes a use; tells whether it is at odds with another thread. A store of what is there already is not.
fn conflict(t: &mut Touched, me: u32, how: Use, news: bool) -> bool {
    let others = |who: u32| who != NOBODY && who != me;
    let (odds, slot) = match how {
        Use::Store(_) if !news => return false,
        Use::Load => (others(t.writer) || others(t.atomic), &mut t.reader),
        Use::Store(_) => (others(t.writer) || others(t.reader) || others(t.atomic), &mut t.writer),
        Use::Atomic => (others(t.writer) || others(t.reader), &mut t.atomic),
    };
    *slot = if *slot == NOBODY || *slot == me { me } else { MANY };
    odds
}
