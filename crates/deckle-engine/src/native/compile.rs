//! Functions of the loop IR to machine code, in modules that are compiled side by side.
#![allow(unsafe_code)] // Entry points are pointers into compiled code.

use crate::native::pipeline::{Stage, Timings};
use deckle_ir::loops::{Block, Function, Gathers, Launch, Stmt, Stores};
use deckle_llvm::{Code, Compiler, Origin, Pipeline, emit};
use deckle_lower::cuts::Cuts;
use deckle_lower::lower::Purpose;
use deckle_runtime::cpu::usable_cores;
use std::sync::Arc;

/// How code is made.
#[derive(Debug)]
pub(crate) struct Make {
    pub pipeline: Pipeline,
    pub gathers: Gathers,
    pub stores: Stores,
    pub cuts: Cuts,
    /// Whether accesses of memory are checked.
    pub checked: bool,
    /// Whether folds round the products that they add only once.
    pub contract: bool,
}

impl Make {
    /// What schedules are for, when they record what fails and when they do not.
    pub fn purpose(&self, diagnose: bool) -> Purpose {
        let (gathers, stores) = (self.gathers, self.stores);
        Purpose { gathers, stores, diagnose, compare: false, contract: self.contract, cuts: self.cuts }
    }
}

/// A compiled function: buffers, scalars, error record.
pub(crate) type Entry = unsafe extern "C" fn(*const *mut u8, *const u64, *mut u64);

/// The entry points of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    /// The totals and the prefix of each level of scans.
    pub scans: Vec<(Entry, Entry)>,
    pub main: Entry,
    pub finish: Option<Entry>,
    pub merge: Option<Entry>,
    pub turns: Option<Entry>,
    pub owned: Option<Entry>,
    pub lengths: Option<Entry>,
}

/// Machine code of functions, alive as long as this is.
#[derive(Debug)]
pub(crate) struct Compiled(Vec<Arc<Code>>);

impl Compiled {
    /// Compiles functions.
    pub(crate) fn new<'a>(
        functions: impl IntoIterator<Item = &'a Function>,
        make: &Make,
        timings: &mut Timings,
    ) -> Result<Compiled, String> {
        let functions: Vec<Function> = functions.into_iter().cloned().collect();
        let modules = modules(&functions, usable_cores());
        let options = emit::Options { gathers: make.gathers, checked: make.checked, strip: make.cuts.strip };
        let texts = timings
            .time(Stage::Llvm, || side_by_side(&modules, |m| emit::host_with(m.functions.iter().copied(), options)))?;
        let compiler = Compiler::host().map_err(|e| e.to_string())?;
        let all: Vec<(&Module<'_>, &String)> = modules.iter().zip(&texts).collect();
        let loaded = timings.time(Stage::Asm, || {
            side_by_side(&all, |(module, text)| {
                let pipeline = if module.is_deep { Pipeline::O0 } else { make.pipeline.clone() };
                compiler.load_timed(text, pipeline).map_err(|e| e.to_string())
            })
        })?;
        let mut codes = Vec::new();
        for loaded in loaded {
            let loaded = loaded?;
            // What took longest tells where the code came from.
            timings.origin = Some(slower(timings.origin, loaded.from));
            codes.push(loaded.code);
        }
        Ok(Compiled(codes))
    }

    /// The entry point of a function.
    pub(crate) fn entry(&self, f: &Function) -> Result<Entry, String> {
        let found = self.0.iter().find_map(|code| code.symbol(&f.name));
        let p = found.ok_or_else(|| format!("`{}` is not there", f.name))?;
        // SAFETY: `emit::host_with` gives every function this signature.
        Ok(unsafe { std::mem::transmute::<std::ptr::NonNull<std::ffi::c_void>, Entry>(p) })
    }

    /// The entry points of a launch.
    pub(crate) fn entries(&self, l: &Launch) -> Result<Entries, String> {
        let entry = |f: &Function| self.entry(f);
        Ok(Entries {
            scans: l.scans.iter().map(|s| Ok((entry(&s.totals)?, entry(&s.prefix)?))).collect::<Result<_, String>>()?,
            main: entry(&l.main)?,
            finish: l.finish.as_ref().map(entry).transpose()?,
            merge: l.copies.as_ref().map(|c| entry(&c.merge)).transpose()?,
            turns: l.copies.as_ref().and_then(|c| c.turns.as_ref()).map(|t| entry(&t.function)).transpose()?,
            owned: l.owned.as_ref().map(|o| entry(&o.function)).transpose()?,
            lengths: l.lengths().map(entry).transpose()?,
        })
    }
}

fn slower(a: Option<Origin>, b: Origin) -> Origin {
    let all = [Origin::Compiled, Origin::Disk, Origin::Memory];
    all.into_iter().find(|o| a == Some(*o) || b == *o).unwrap_or(b)
}

/// Functions that are compiled together.
#[derive(Debug, Default, PartialEq)]
struct Module<'a> {
    functions: Vec<&'a Function>,
    /// Whether loops are so deep in each other that the code is not optimised.
    is_deep: bool,
    size: usize,
}

/// How deep loops may be in each other in code that is optimised. What LLVM unrolls and versions multiplies with every level, so that a dozen may take
/// minutes. The examples have 6.
const DEEPEST: usize = 9;

/// A module of such a size is worth a thread that compiles it: it takes ten times as long as to start one, and to begin and end a module.
const WORTH: usize = 40;

/// Divides functions among modules, at most one for each thread, and those that are too deep. The largest function goes first, always to what is the smallest module then.
fn modules(functions: &[Function], threads: usize) -> Vec<Module<'_>> {
    let (deep, shallow): (Vec<&Function>, Vec<&Function>) = functions.iter().partition(|f| depth(&f.body) > DEEPEST);
    let mut sized: Vec<(usize, &Function)> = shallow.into_iter().map(|f| (size(f), f)).collect();
    sized.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let all: usize = sized.iter().map(|(size, _)| size).sum();
    let mut modules: Vec<Module<'_>> = Vec::new();
    modules.resize_with(threads.min(all / WORTH).max(1), Module::default);
    for (size, function) in sized {
        if let Some(least) = modules.iter_mut().min_by_key(|m| m.size) {
            least.functions.push(function);
            least.size += size;
        }
    }
    modules.extend(deep.into_iter().map(|f| Module { functions: vec![f], is_deep: true, size: size(f) }));
    modules.retain(|m| !m.functions.is_empty());
    modules
}

/// About how long it takes to compile a function: how many registers of 64 bytes its values take.
fn size(f: &Function) -> usize {
    f.vals.iter().map(|ty| (ty.lanes as usize * ty.scalar.bytes()).div_ceil(64)).sum()
}

/// How deep loops are in each other.
fn depth(block: &Block) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::For { body, .. } => 1 + depth(body),
        Stmt::While { test, body, .. } => 1 + depth(test).max(depth(body)),
        Stmt::If { yes, no, .. } => depth(yes).max(depth(no)),
        _ => 0,
    };
    block.stmts.iter().map(of).max().unwrap_or(0)
}

/// Does something for each of some, each on a thread of its own.
fn side_by_side<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Result<Vec<R>, String> {
    let Some((first, others)) = all.split_first() else { return Ok(Vec::new()) };
    std::thread::scope(|scope| {
        let others: Vec<_> = others.iter().map(|one| scope.spawn(|| work(one))).collect();
        let mut done = vec![work(first)];
        for other in others {
            done.push(other.join().map_err(|_| "a thread that compiles has panicked".to_string())?);
        }
        Ok(done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::loops::{LoopHint, Ty, Val};
    use deckle_ir::scalar::ScalarType;

    /// A function with so many values.
    fn function(name: &str, vals: usize, body: Block) -> Function {
        Function {
            name: name.into(),
            buffers: Vec::new(),
            locals: Vec::new(),
            scalars: Vec::new(),
            vals: vec![Ty { scalar: ScalarType::I64, lanes: 1 }; vals],
            body,
            block: 0,
            resident: 0,
        }
    }

    fn names(modules: &[Module<'_>]) -> Vec<Vec<String>> {
        modules.iter().map(|m| m.functions.iter().map(|f| f.name.clone()).collect()).collect()
    }

    #[test]
    fn modules_are_about_equal_and_worth_a_thread() {
        let all: Vec<Function> = [("a", 30), ("b", 100), ("c", 60), ("d", 50)]
            .map(|(name, vals)| function(name, vals, Block::default()))
            .into();
        assert_eq!(names(&modules(&all, 2)), [vec!["b", "a"], vec!["c", "d"]]);
        assert_eq!(names(&modules(&all, 1)), [["b", "c", "d", "a"]]);
        // 240 values are worth 6 threads, for which there are not as many functions.
        assert_eq!(modules(&all, 16).len(), 4);
        assert_eq!(modules(&all[..1], 16).len(), 1);
        assert!(modules(&[], 16).is_empty());
    }

    #[test]
    fn deep_loops_have_a_module_of_their_own() {
        let nested = |levels: usize| {
            (0..levels).fold(Block::default(), |body, _| {
                let (var, carries, hint) = (Val(0), Vec::new(), LoopHint::default());
                let stmts = vec![Stmt::For { var, lo: var, hi: var, step: 1, carries, body, hint }];
                Block { stmts, ..Block::default() }
            })
        };
        assert_eq!(depth(&nested(DEEPEST)), DEEPEST);
        let (a, b) = (function("a", 1, Block::default()), function("b", 1, nested(DEEPEST + 1)));
        let all = [a, b];
        let modules = modules(&all, 8);
        assert_eq!(names(&modules), [["a"], ["b"]]);
        assert_eq!(modules.iter().map(|m| m.is_deep).collect::<Vec<_>>(), [false, true]);
    }
}
