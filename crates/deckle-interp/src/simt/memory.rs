//! Buffers: those that are passed, those that a block shares, and which of their elements have been stored.

use super::touched::{Touched, Use, Who};
use super::{SimError, is_shared};
use deckle_ir::loops::{Access, Buf, Function, Local, Place, RECORD};
use deckle_ir::scalar::{Scalar, ScalarType};

/// A buffer: elements of one type, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferMem {
    elem: ScalarType,
    bytes: Vec<u8>,
    /// Which elements have been stored: the others hold nothing that a program may load.
    stored: Vec<bool>,
}

impl BufferMem {
    /// A buffer of zeros.
    pub fn new(elem: ScalarType, len: usize) -> BufferMem {
        BufferMem { elem, bytes: vec![0; len * elem.bytes()], stored: vec![true; len] }
    }

    /// A buffer in which nothing has been stored.
    pub fn unset(elem: ScalarType, len: usize) -> BufferMem {
        let byte = if elem == ScalarType::Bool { 1 } else { 0xa5 };
        BufferMem { elem, bytes: vec![byte; len * elem.bytes()], stored: vec![false; len] }
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
        let len = bytes.len() / elem.bytes();
        bytes.truncate(len * elem.bytes());
        BufferMem { elem, bytes, stored: vec![true; len] }
    }

    /// The same, of which only those elements are stored all of whose bytes are.
    pub fn partly(elem: ScalarType, bytes: Vec<u8>, stored: &[bool]) -> BufferMem {
        let mut buffer = BufferMem::from_bytes(elem, bytes);
        let elements = stored.chunks_exact(elem.bytes()).map(|bytes| bytes.iter().all(|b| *b));
        buffer.stored.iter_mut().zip(elements).for_each(|(known, all)| *known = all);
        buffer
    }

    /// A local buffer, whose contents mean nothing yet.
    fn garbage(local: &Local) -> BufferMem {
        BufferMem::unset(local.elem, local.len as usize)
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

    /// Which elements have been stored.
    pub fn stored(&self) -> &[bool] {
        &self.stored
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
            self.stored[k] = true;
        }
    }
}

/// The local buffers of a thread; those that are shared are left empty.
pub(super) fn private(function: &Function) -> Vec<BufferMem> {
    let one = |l: &Local| if l.place == Place::Shared { BufferMem::new(l.elem, 0) } else { BufferMem::garbage(l) };
    function.locals.iter().map(one).collect()
}

/// The buffers that the threads of a block share, and who has used their elements.
pub(super) struct Shared {
    buffers: Vec<BufferMem>,
    touched: Vec<Vec<Touched>>,
}

impl Shared {
    pub(super) fn new(function: &Function) -> Shared {
        let buffers: Vec<BufferMem> = function.locals.iter().map(BufferMem::garbage).collect();
        let touched = buffers.iter().map(|b| vec![Touched::NEVER; b.len()]).collect();
        Shared { buffers, touched }
    }
}

/// What is known of a launch: who has used the elements of the buffers that are passed, and the first thing that was found wrong.
pub(super) struct Launched {
    /// For each buffer; of those that are only read there is nothing to know.
    touched: Vec<Vec<Touched>>,
    pub(super) wrong: Option<SimError>,
}

impl Launched {
    pub(super) fn new(function: &Function, passed: &[BufferMem]) -> Launched {
        let len = |(k, b): (usize, &BufferMem)| match function.buffers[k].access {
            Access::Read => 0,
            Access::Write => b.len(),
        };
        Launched { touched: passed.iter().enumerate().map(|b| vec![Touched::NEVER; len(b)]).collect(), wrong: None }
    }
}

/// Everything that a warp can reach but for its own.
pub(super) struct Memory<'a> {
    pub(super) function: &'a Function,
    pub(super) passed: &'a mut [BufferMem],
    pub(super) shared: &'a mut Shared,
    pub(super) launched: &'a mut Launched,
    pub(super) error: &'a mut [u64; RECORD],
}

impl Memory<'_> {
    /// Uses one element, and gives what it held; `own` are the local buffers of the thread.
    pub(super) fn access(
        &mut self,
        own: &mut [BufferMem],
        (buf, index): (Buf, i128),
        who: Who,
        how: Use,
        combine: impl FnOnce(u64) -> u64,
    ) -> Result<u64, SimError> {
        let local = buf.index().checked_sub(self.passed.len());
        let shared = is_shared(self.function, buf);
        let (buffer, touched) = match local {
            None => (self.passed.get_mut(buf.index()), self.launched.touched.get_mut(buf.index())),
            Some(k) if shared => (self.shared.buffers.get_mut(k), self.shared.touched.get_mut(k)),
            Some(k) => (own.get_mut(k), None),
        };
        let Some(buffer) = buffer else {
            return Err(SimError::IllFormed(vec![format!("there is no {buf}")]));
        };
        let (len, thread) = (buffer.len(), (who.block, who.thread));
        let Some(k) = usize::try_from(index).ok().filter(|&k| k < len) else {
            return match how {
                Use::Load if len == 0 && index == 0 => Ok(0),
                _ => Err(SimError::OutOfRange { buf, index, len, thread }),
            };
        };
        let (before, was_stored) = (buffer.bits(k), buffer.stored[k]);
        match how {
            Use::Load => {}
            Use::Store(bits, _) => buffer.set(k, bits),
            Use::Atomic => buffer.set(k, combine(before)),
        }
        let news = !was_stored || before != buffer.bits(k);
        let race = touched.and_then(|t| t.get_mut(k)).is_some_and(|t| t.by(who, how, news));
        let unset = !was_stored && !matches!(how, Use::Store(..));
        let wrong = match (race, unset) {
            (true, _) => Some(SimError::Race { buf, index: k, thread }),
            (_, true) => Some(SimError::Unset { buf, index: k, thread }),
            _ => None,
        };
        self.launched.wrong = self.launched.wrong.take().or(wrong);
        Ok(before)
    }
}
