//! What the host asks of a device: memory, and that kernels run. Everything else is the same for all; see [`crate::native::run`].

use crate::native::fault::Failure;
use crate::native::run::Memory;
use crate::native::simulated::Cells;
use deckle_ir::kernel::Kernel;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_runtime::Buffer;
use deckle_runtime::cuda::DeviceBuffer;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

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

impl Handle for Rc<RefCell<Cells>> {
    fn bytes(&self) -> usize {
        self.borrow().bytes.len()
    }

    fn is_alone(&mut self) -> bool {
        Rc::get_mut(self).is_some()
    }
}

impl Handle for Arc<DeviceBuffer> {
    fn bytes(&self) -> usize {
        self.len()
    }

    fn is_alone(&mut self) -> bool {
        Arc::get_mut(self).is_some()
    }
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
    fn put(&self, buffer: Buffer) -> Result<Self::Mem, Failure>;

    /// A buffer of this machine that holds what is in memory.
    fn get(&self, mem: &Self::Mem) -> Result<Buffer, Failure>;

    /// One element; zero where there is none.
    fn element(&self, mem: &Self::Mem, ty: ScalarType, at: usize) -> Result<Scalar, Failure>;

    /// New memory with the contents of other memory, as far as there is room.
    fn copy(&self, mem: &Self::Mem, bytes: usize, name: &str) -> Result<Self::Mem, Failure>;

    /// Runs the kernel of that number. Whether no check failed.
    fn run(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize) -> Result<bool, Failure>;

    /// Runs a kernel that has failed again, in order, to see where it fails first.
    fn diagnose(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize) -> Result<Failure, Failure>;
}
