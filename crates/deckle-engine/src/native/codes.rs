//! Machine code of kernels. What is always run is compiled at once; what a condition chooses is compiled when it is first chosen: much of that is there for rare cases, and never runs.

use crate::native::compile::{Compiled, Entries, Make};
use crate::native::fault::Failure;
use crate::native::pipeline::Timings;
use deckle_ir::kernel::Step;
use deckle_ir::loops::Launch;
use std::sync::OnceLock;

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
    _code: Compiled,
}

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
        let launches = || part.kernels.iter().map(|at| &self.launches[*at]);
        let code = Compiled::new(launches().flatten().flat_map(Launch::functions), &self.make, timings)?;
        let of_kernel = |launches: &Vec<Launch>| launches.iter().map(|l| code.entries(l)).collect();
        let entries = launches().map(of_kernel).collect::<Result<_, String>>()?;
        Ok(Loaded { entries, _code: code })
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
