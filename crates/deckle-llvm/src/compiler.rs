//! [`Compiler`]: from text to code through both caches.

use crate::code::Code;
use crate::compile::{self, Pipeline};
use crate::disk::DiskCache;
use crate::error::{Error, Stage, Unavailable};
use crate::key::Key;
use crate::library;
use crate::memory::MemoryCache;
use crate::object::Object;
use crate::ptx::{self, Gpu};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Compiles for the machine that it runs on. All functions may be called from any number of threads at once.
pub struct Compiler {
    memory: MemoryCache,
    disk: Option<DiskCache>,
}

/// Code, and what it took to get it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The code.
    pub code: Arc<Code>,
    /// Where it came from.
    pub from: Origin,
    /// How long that took.
    pub seconds: f64,
}

/// Where code came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This process had it.
    Memory,
    /// An earlier process had compiled it.
    Disk,
    /// It was compiled.
    Compiled,
}

/// Which LLVM, and what it compiles for.
#[derive(Clone, Debug)]
pub struct Description {
    /// The file of the library.
    pub path: PathBuf,
    /// Its version: major, minor, patch.
    pub version: (u32, u32, u32),
    /// The target triple.
    pub triple: String,
    /// LLVM's name of the processor.
    pub cpu: String,
    /// Its features, as LLVM writes them: `+avx2,-avx512f`.
    pub features: String,
}

impl Compiler {
    /// The compiler of this process, with the disk cache that the environment names. LLVM itself is opened when something has to be compiled; where its file tells
    /// its version, as is usual, not before.
    pub fn host() -> Result<&'static Compiler, Unavailable> {
        static HOST: OnceLock<Result<Compiler, Unavailable>> = OnceLock::new();
        HOST.get_or_init(|| Compiler::with_cache(DiskCache::from_env())).as_ref().map_err(Clone::clone)
    }

    /// A compiler with caches of its own: an empty one in memory, and this one on disk.
    pub fn with_cache(disk: Option<DiskCache>) -> Result<Compiler, Unavailable> {
        library::expected()?;
        Ok(Compiler { memory: MemoryCache::default(), disk })
    }

    /// Callable code for a module: from memory, from disk, or compiled.
    pub fn load(&self, ir: &str, pipeline: Pipeline) -> Result<Arc<Code>, Error> {
        Ok(self.load_timed(ir, pipeline)?.code)
    }

    /// As [`load`](Compiler::load), and says where it came from and how long that took.
    pub fn load_timed(&self, ir: &str, pipeline: Pipeline) -> Result<Loaded, Error> {
        let start = Instant::now();
        let key = match Key::of(ir, &pipeline) {
            Some(key) => Some(key),
            // Which LLVM it will be is not known before one is open.
            None => library::open().map(|_| Key::of(ir, &pipeline))?,
        };
        let (code, made) = match key {
            Some(key) => self.memory.get_or_make(key, || self.make(key, ir, &pipeline))?,
            None => (link(&compile::object(ir, &pipeline)?, ir)?, Some(Origin::Compiled)),
        };
        Ok(Loaded { code, from: made.unwrap_or(Origin::Memory), seconds: start.elapsed().as_secs_f64() })
    }

    /// From disk or from LLVM.
    fn make(&self, key: Key, ir: &str, pipeline: &Pipeline) -> Result<(Arc<Code>, Origin), Error> {
        if let Some(code) = self.read_disk(&key) {
            return Ok((code, Origin::Disk));
        }
        // The LLVM that was expected may turn out not to open; entries belong to the one that does.
        library::open()?;
        let actual = Key::of(ir, pipeline).unwrap_or(key);
        if actual != key
            && let Some(code) = self.read_disk(&actual)
        {
            return Ok((code, Origin::Disk));
        }
        let object = compile::object(ir, pipeline)?;
        let code = link(&object, ir)?;
        if let Some(disk) = &self.disk {
            disk.put(&actual, &object.encode());
        }
        Ok((code, Origin::Compiled))
    }

    /// An entry that is whole but cannot be linked is compiled anew, too.
    fn read_disk(&self, key: &Key) -> Option<Arc<Code>> {
        let object = Object::decode(&self.disk.as_ref()?.get(key)?)?;
        Code::link(&object).ok().map(Arc::new)
    }

    /// The module after the passes, as text.
    pub fn optimised_ir(&self, ir: &str, pipeline: Pipeline) -> Result<String, Error> {
        compile::optimised_ir(ir, &pipeline)
    }

    /// The machine code, as assembly.
    pub fn assembly(&self, ir: &str, pipeline: Pipeline) -> Result<String, Error> {
        compile::assembly(ir, &pipeline)
    }

    /// PTX for a module written for `nvptx64-nvidia-cuda`, from disk or compiled; see [`Gpu`].
    pub fn ptx(&self, ir: &str, gpu: &Gpu, pipeline: Pipeline) -> Result<String, Error> {
        let key = || Key::of_ptx(ir, gpu, &pipeline);
        let kept = self.disk.as_ref().zip(key()).and_then(|(disk, key)| disk.get(&key));
        if let Some(text) = kept.and_then(|bytes| String::from_utf8(bytes).ok()) {
            return Ok(text);
        }
        let text = ptx::ptx(ir, gpu, &pipeline)?;
        // By now it is known which LLVM it was.
        if let Some((disk, key)) = self.disk.as_ref().zip(key()) {
            disk.put(&key, text.as_bytes());
        }
        Ok(text)
    }

    /// Opens LLVM on another thread, so that a program can do so while it reads its input. Compiling waits for it.
    pub fn prepare(&self) {
        compile::prepare();
    }

    /// Which LLVM this is and what it compiles for. Opens it.
    pub fn describe(&self) -> Result<Description, Unavailable> {
        let llvm = library::open()?;
        let host = compile::host(llvm).clone();
        let (triple, cpu, features) = (host.triple, host.cpu, host.features);
        Ok(Description { path: llvm.path.clone(), version: llvm.version, triple, cpu, features })
    }

    /// The cache on disk, if there is one.
    pub fn disk_cache(&self) -> Option<&DiskCache> {
        self.disk.as_ref()
    }

    /// Forgets what is in memory. Code that somebody holds stays.
    pub fn forget(&self) {
        self.memory.clear();
    }
}

fn link(object: &Object, ir: &str) -> Result<Arc<Code>, Error> {
    Code::link(object).map(Arc::new).map_err(|message| compile::refused(Stage::Link, message, ir.into()))
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler").field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.version;
        write!(f, "LLVM {major}.{minor}.{patch} ({}) for {} on {}", self.path.display(), self.cpu, self.triple)
    }
}
