//! Kernels as code for GPUs: those of the examples are compiled to PTX; where NVIDIA's assembler is found, those of all test files, and it assembles them.
//!
//! `ptxas` is looked for at `$PTXAS`, on the path, and in `/usr/local/cuda/bin`. The Python package `nvidia-cuda-nvcc-cu12` has it, too.

use deckle_diag::{Class, Code};
use deckle_engine::{Options, pipeline};
use deckle_filetests::FileRun;
use deckle_llvm::Gpu;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The oldest GPUs, and one whose code has all that Deckle uses of newer ones.
const TARGETS: [(u32, u32); 2] = [(7, 0), (9, 0)];

/// The assembler of CUDA.
struct Assembler {
    program: PathBuf,
    folder: PathBuf,
    /// The oldest device that it knows: CUDA 13 knows no device before 7.5, but assembles code for older ones.
    oldest: &'static str,
}

impl Assembler {
    fn find() -> Option<Assembler> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).map(|folder| folder.join("ptxas"));
        let given = std::env::var_os("PTXAS").map(PathBuf::from);
        let program = match given {
            Some(program) => program,
            None => on_path.chain(["/usr/local/cuda/bin/ptxas".into()]).find(|p| p.is_file())?,
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ptx");
        std::fs::create_dir_all(&folder).unwrap();
        let found = |oldest| Assembler { program: program.clone(), folder: folder.clone(), oldest };
        let nothing = ".version 6.3\n.target sm_70\n.address_size 64\n";
        let knows = |a: &Assembler| a.assemble("nothing", nothing, a.oldest).status.success();
        let oldest = ["sm_70", "sm_75"].map(found).into_iter().find(knows);
        Some(oldest.unwrap_or_else(|| panic!("{} assembles nothing", program.display())))
    }

    fn assemble(&self, name: &str, ptx: &str, device: &str) -> Output {
        let (from, to) = (self.folder.join(format!("{name}.ptx")), self.folder.join(format!("{name}.cubin")));
        std::fs::write(&from, ptx).unwrap();
        let run = Command::new(&self.program).arg(format!("-arch={device}")).arg(&from).arg("-o").arg(&to).output();
        run.unwrap_or_else(|e| panic!("{}: {e}", self.program.display()))
    }
}

/// Compiles the functions of a run, and assembles them; tells what is wrong.
fn fault(run: &FileRun, number: usize, assembler: Option<&Assembler>) -> Option<String> {
    let options = Options { given: Options::ALL, ..Options::default() };
    let (major, minor) = TARGETS[number % TARGETS.len()];
    let ptx = match pipeline::ptx(&run.program, run.func, options, &Gpu::new(major, minor)) {
        Ok(ptx) => ptx,
        // What Deckle does not compile for GPUs is told to the user.
        Err(d) if d.class() != Class::Bug && d.code != Code::NoLlvm => return None,
        Err(d) => return Some(format!("{}: {}", run.name, d.message)),
    };
    let assembler = assembler?;
    let device = if (major, minor) == TARGETS[0] { assembler.oldest } else { "sm_90" };
    let output = assembler.assemble(&format!("{number}"), &ptx, device);
    let said = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("{} for {device}: {said}", run.name))
}

#[test]
fn kernels_are_assembled() {
    let assembler = Assembler::find();
    let filter = std::env::var("DECKLE_FILTER").unwrap_or_default();
    let all = assembler.is_some();
    let mut runs = deckle_filetests::runs(&|name| (all || name.starts_with("examples/")) && name.contains(&filter));
    let mut seen = HashSet::new();
    runs.retain(|run| seen.insert((run.program.to_string(), run.func)));
    assert!(!runs.is_empty(), "no file has `{filter}` in its path");

    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(run) = runs.get(number) else { break };
                    faults.lock().unwrap().extend(fault(run, number, assembler.as_ref()));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    let what = if all { "assembled" } else { "compiled; no `ptxas` was found" };
    println!("{} functions {what}", runs.len());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}
