//! Machine code of kernels. What is always run is compiled at once; what a condition chooses is compiled when it is first chosen: much of that is there for rare cases, and never runs.

use crate::native::cpu::{self, Entries, Make};
use crate::native::fault::Failure;
use crate::native::pipeline::Timings;
use deckle_ir::kernel::Step;
use deckle_ir::loops::Launch;
use deckle_llvm::Code;
use deckle_runtime::cpu::usable_cores;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The code of all kernels.
#[derive(Debug)]
pub(crate) struct Codes {
    /// The launches of each kernel, in the order of the text.
    pub launches: Vec<Vec<Launch>>,
    pub make: Make,
    /// The first has what is always run.
    parts: Vec<Part>,
    /// For each kernel its part, and its place there.
    places: Vec<(usize, usize)>,
}

/// Kernels that are compiled together.
#[derive(Debug, Default)]
struct Part {
    kernels: Vec<usize>,
    code: OnceLock<Result<Loaded, String>>,
}

#[derive(Debug)]
struct Loaded {
    entries: Vec<Vec<Entries>>,
    _codes: Vec<Arc<Code>>,
}

/// Code of so many values is worth a thread that compiles it.
const SHARE: usize = 400;

impl Codes {
    /// Compiles what is always run.
    pub(crate) fn new(
        steps: &[Step],
        launches: Vec<Vec<Launch>>,
        make: Make,
        timings: &mut Timings,
    ) -> Result<Codes, String> {
        let mut codes = Codes { launches, make, parts: vec![Part::default()], places: Vec::new() };
        codes.divide(steps, 0, false);
        let loaded = codes.load(&codes.parts[0], timings)?;
        let _ = codes.parts[0].code.set(Ok(loaded));
        Ok(codes)
    }

    /// Gives kernels their parts, in the order of the text: each branch of a condition has its own, but not in a loop, which is likely to choose all of them.
    fn divide(&mut self, steps: &[Step], part: usize, in_loop: bool) {
        for step in steps {
            match step {
                Step::Run(_) => {
                    let kernels = &mut self.parts[part].kernels;
                    kernels.push(self.places.len());
                    self.places.push((part, kernels.len() - 1));
                }
                Step::If(_, yes, no) => {
                    for branch in [yes, no] {
                        let mut own = part;
                        if part == 0 || !in_loop {
                            own = self.parts.len();
                            self.parts.push(Part::default());
                        }
                        self.divide(branch, own, in_loop);
                    }
                }
                Step::While { test, body, .. } => {
                    self.divide(test, part, true);
                    self.divide(body, part, true);
                }
                _ => {}
            }
        }
    }

    fn load(&self, part: &Part, timings: &mut Timings) -> Result<Loaded, String> {
        let launches: Vec<&[Launch]> = part.kernels.iter().map(|at| &self.launches[*at][..]).collect();
        let shares = shares(&launches, usable_cores());
        let compiled = std::thread::scope(|scope| {
            let others: Vec<_> = shares[1..]
                .iter()
                .map(|share| scope.spawn(|| cpu::load(share, &self.make, &mut Timings::default())))
                .collect();
            let mut all = vec![cpu::load(shares[0], &self.make, timings)];
            let done = Instant::now();
            let crashed = |_| Err("a thread that compiles has panicked".to_string());
            all.extend(others.into_iter().map(|other| other.join().unwrap_or_else(crashed)));
            // It has taken as long as the last of them.
            if let Some((_, time)) = timings.passes.last_mut() {
                *time += done.elapsed();
            }
            all
        });
        let mut loaded = Loaded { entries: Vec::new(), _codes: Vec::new() };
        for one in compiled {
            let (code, entries) = one?;
            loaded.entries.extend(entries);
            loaded._codes.push(code);
        }
        Ok(loaded)
    }

    /// The entry points of a kernel.
    pub(crate) fn entries(&self, at: usize) -> Result<&[Entries], Failure> {
        let (part, place) = self.places[at];
        let part = &self.parts[part];
        match part.code.get_or_init(|| self.load(part, &mut Timings::default())) {
            Ok(loaded) => Ok(&loaded.entries[place]),
            Err(message) => Err(Failure::Bug(message.clone())),
        }
    }

    /// How many kernels there is code for.
    pub(crate) fn compiled(&self) -> usize {
        self.parts.iter().filter(|p| p.code.get().is_some()).map(|p| p.kernels.len()).sum()
    }
}

/// Divides kernels, in order, among as many threads as are worth it, at least one.
fn shares<'a, 'l>(kernels: &'a [&'l [Launch]], threads: usize) -> Vec<&'a [&'l [Launch]]> {
    let size = |launches: &[Launch]| launches.iter().flat_map(Launch::functions).map(|f| f.vals.len()).sum::<usize>();
    let all: usize = kernels.iter().map(|k| size(k)).sum();
    let count = threads.min(all / SHARE).max(1);
    let (mut shares, mut from, mut sum) = (Vec::new(), 0, 0);
    for (k, kernel) in kernels.iter().enumerate() {
        sum += size(kernel);
        if sum * count >= all * (shares.len() + 1) && shares.len() + 1 < count {
            shares.push(&kernels[from..=k]);
            from = k + 1;
        }
    }
    shares.push(&kernels[from..]);
    shares
}
