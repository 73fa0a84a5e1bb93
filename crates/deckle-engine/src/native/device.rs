//! What the host asks of a device: memory, and that kernels run. Everything else is the same for all; see [`crate::native::run`].

use crate::native::early::Coming;
use crate::native::fault::Failure;
use crate::native::gpu::Remote;
use crate::native::run::Memory;
use deckle_ir::kernel::{Buf, Kernel};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_runtime::Buffer;

/// Memory that kernels can reach. Clones are handles of the same memory.
pub(crate) trait Handle: Clone {
    /// How many bytes.
    fn bytes(&self) -> usize;

    /// Whether this is the only handle, and kernels may write.
    fn is_alone(&mut self) -> bool;
}

impl Handle for Buffer {
    fn bytes(&self) -> usize {
        self.len()
    }

    fn is_alone(&mut self) -> bool {
        self.is_unique()
    }
}

/// What is to be sorted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sort<'a> {
    /// The keys, the most significant component first.
    pub keys: &'a [Buf],
    /// The number of elements.
    pub len: i64,
    /// Where rows begin, which are sorted separately. Without it, all have the same length.
    pub offsets: Option<Buf>,
    /// The number of rows.
    pub rows: i64,
    /// The name of the result.
    pub name: &'a str,
}

/// Where kernels run.
pub(crate) trait Device: Sized {
    /// Its memory.
    type Mem: Handle;

    /// Whether kernels check their accesses with what [`Pool::checked`](deckle_runtime::Pool::checked) memory keeps.
    fn is_checked(&self) -> bool;

    /// New memory, whatever it holds.
    fn alloc(&self, bytes: usize, name: &str) -> Result<Self::Mem, Failure>;

    /// New memory for a result, of elements of so many bytes.
    fn alloc_result(&self, bytes: usize, _elem: usize, name: &str) -> Result<Self::Mem, Failure> {
        self.alloc(bytes, name)
    }

    /// Memory that holds what a buffer of this machine does.
    fn put(&self, buffer: Buffer, name: &str) -> Result<Self::Mem, Failure>;

    /// Memory with the contents of an array, which may already be on the device.
    fn place(&self, array: Remote, name: &str) -> Result<Self::Mem, Failure>;

    /// The first bytes of memory, without copying.
    fn leave(&self, mem: &Self::Mem, bytes: usize) -> Result<Remote, Failure>;

    /// A buffer of this machine that holds what is in memory.
    fn get(&self, mem: &Self::Mem) -> Result<Buffer, Failure>;

    /// The same for a result; its elements have this many bytes.
    fn get_result(&self, mem: &Self::Mem, _elem: usize) -> Result<Buffer, Failure> {
        self.get(mem)
    }

    /// One element; zero where there is none.
    fn element(&self, mem: &Self::Mem, ty: ScalarType, at: usize) -> Result<Scalar, Failure>;

    /// New memory with the contents of other memory, as far as there is room.
    fn copy(&self, mem: &Self::Mem, bytes: usize, name: &str) -> Result<Self::Mem, Failure>;

    /// The bytes that can still be allocated, if there is a budget.
    fn room(&self) -> Option<u64>;

    /// Whether it has memory of its own: chunks need not fit the caches of this machine, and small ones are not worth a copy.
    fn is_remote(&self) -> bool {
        false
    }

    /// Starts to copy arrays to the device while its kernels run. `None` if it cannot do so, or has no room.
    fn bring_early(&self, _arrays: Vec<Buffer>, _name: &str) -> Result<Option<Box<dyn Coming>>, Failure> {
        Ok(None)
    }

    /// Whether kernels can run without the host waiting for them.
    fn defers(&self) -> bool {
        false
    }

    /// Runs the kernel of that number. Returns whether no check failed. With `defer`, a failed check may be noticed later: the next read of
    /// memory, or [`Device::settle`], then fails with [`Failure::Unlocated`].
    fn run(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize, defer: bool) -> Result<bool, Failure>;

    /// The stable order of keys within rows, as the numbers of elements.
    fn sort(&self, memory: &Memory<'_, Self>, sort: &Sort<'_>) -> Result<Self::Mem, Failure>;

    /// Waits for deferred kernels; an error if a check has failed in them.
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs a kernel that has failed again, in order, to see where it fails first.
    fn diagnose(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize) -> Result<Failure, Failure>;
}
