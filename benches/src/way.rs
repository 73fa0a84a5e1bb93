//! A program on a backend, as one of several ways that are measured in turns.

use deckle_engine::{Callable, Data, Input, On, Options, RanOn, Settings};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;

/// A program on a backend.
pub struct Way {
    name: String,
    callable: Callable,
    on: On,
    settings: Settings,
}

impl Way {
    /// A function of a program, on some threads or on a GPU.
    pub fn new(name: String, (program, func): (Program, Func), options: Options, on: On, threads: usize) -> Way {
        let settings = Settings { measured: true, ..Settings::new(threads, None) };
        Way { name, callable: Callable::with(program, func, options), on, settings }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The seconds of a run, of the kernels alone on a GPU, where the result stays.
    pub fn seconds(&self, args: &[Data]) -> Result<f64, String> {
        let args = args.iter().cloned().map(Input::Data).collect();
        let begun = std::time::Instant::now();
        let kept = self.callable.keep(&self.on, args, &self.settings);
        let seconds = begun.elapsed().as_secs_f64();
        let (_, report) = kept.map_err(|d| format!("{}: {}: {}", self.name, d.code, d.message))?;
        Ok(match report.on {
            RanOn::Gpu { traffic, .. } => traffic.kernel_seconds,
            _ => seconds,
        })
    }

    /// The result of a run.
    pub fn result(&self, args: &[Data]) -> Result<Data, String> {
        let args = args.iter().cloned().map(Input::Data).collect();
        let ran = self.callable.call(&self.on, args, None, &self.settings);
        let ran = ran.map_err(|d| format!("{}: {}: {}", self.name, d.code, d.message))?;
        ran.result.ok_or_else(|| "no result".to_string())
    }
}
