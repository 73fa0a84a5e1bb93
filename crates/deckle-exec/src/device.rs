//! What the host asks of a device: memory, and that kernels run. Everything else is the same for all; see [`crate::run`].

use crate::fault::Failure;
use crate::run::Memory;
use deckle_ir::kernel::Kernel;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_runtime::Buffer;

/// Where kernels run.
pub(crate) trait Device: Sized {
    /// Memory that kernels can reach. Clones are handles of the same memory.
    type Mem: Clone;

    /// New memory, whatever it holds.
    fn alloc(&self, bytes: usize, name: &str) -> Result<Self::Mem, Failure>;

    /// Memory that holds what a buffer of this machine does.
    fn put(&self, buffer: Buffer) -> Result<Self::Mem, Failure>;

    /// A buffer of this machine that holds what is in memory.
    fn get(&self, mem: &Self::Mem) -> Result<Buffer, Failure>;

    /// One element; zero where there is none.
    fn element(&self, mem: &Self::Mem, ty: ScalarType, at: usize) -> Result<Scalar, Failure>;

    /// Other memory with the same contents.
    fn copy(&self, mem: &Self::Mem) -> Result<Self::Mem, Failure>;

    /// Runs the kernel of that number.
    fn run(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize) -> Result<(), Failure>;
}
