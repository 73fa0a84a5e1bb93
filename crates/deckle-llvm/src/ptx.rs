//! Textual IR for `nvptx64-nvidia-cuda` to PTX, the assembly that NVIDIA's driver compiles.
//!
//! A kernel has the calling convention `ptx_kernel`, and its pointers to global memory are in address space 1:
//!
//! ```llvm
//! define ptx_kernel void @double(ptr addrspace(1) %xs) {
//!   %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//!   %p = getelementptr float, ptr addrspace(1) %xs, i32 %i
//!   %x = load float, ptr addrspace(1) %p
//!   %y = fadd float %x, %x
//!   store float %y, ptr addrspace(1) %p
//!   ret void
//! }
//! declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//! ```
//!
//! The `.version` of the PTX comes from the features and not from the processor, and a driver refuses versions that are newer than itself:
//! `+ptx80` is CUDA 12.0, which knows `sm_90`.

use crate::compile::{self, Pipeline, on_worker};
use crate::error::{Error, Stage};
use crate::ffi;
use crate::module::Target;
use std::sync::OnceLock;

/// Which GPU, and which version of PTX.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gpu {
    /// The processor: `sm_80`, `sm_90`.
    pub cpu: String,
    /// The features: `+ptx80`.
    pub features: String,
}

impl Gpu {
    /// A GPU of compute capability `major.minor`, in the oldest version of PTX that every LLVM from 16 on can write for it.
    pub fn new(major: u32, minor: u32) -> Gpu {
        let ptx = match 10 * major + minor {
            ..80 => 63,
            80..89 => 71,
            89..100 => 78,
            100..120 => 86,
            _ => 87,
        };
        Gpu { cpu: format!("sm_{major}{minor}"), features: format!("+ptx{ptx}") }
    }
}

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// PTX for a module.
pub(crate) fn ptx(ir: &str, gpu: &Gpu, pipeline: &Pipeline) -> Result<String, Error> {
    static HAS_NVPTX: OnceLock<bool> = OnceLock::new();
    let (gpu, pipeline) = (gpu.clone(), pipeline.clone());
    on_worker(ir, move |llvm, ir| {
        if !*HAS_NVPTX.get_or_init(|| ffi::initialize(&llvm.library, "NVPTX")) {
            let text = format!("{} was built without the target NVPTX", llvm.path.display());
            return Err((Stage::Target, text));
        }
        let target = Target { triple: TRIPLE, cpu: &gpu.cpu, features: &gpu.features, level: 3 };
        compile::emit_text(llvm, ir, &target, &pipeline)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_gpus_need_newer_ptx() {
        assert_eq!(Gpu::new(8, 0), Gpu { cpu: "sm_80".into(), features: "+ptx71".into() });
        assert_eq!(Gpu::new(9, 0), Gpu { cpu: "sm_90".into(), features: "+ptx78".into() });
        assert_eq!(Gpu::new(10, 0).features, "+ptx86");
    }
}
