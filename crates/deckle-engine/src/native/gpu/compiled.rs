//! Programs compiled for a GPU.

use crate::Settings;
use crate::native::Options;
use crate::native::fault::Failure;
use crate::native::gpu::Unit;
use crate::native::gpu::kept::Kept;
use crate::native::gpu::port::Port;
use crate::native::gpu::run::{Run, Traffic};
use crate::native::grid::{Grids, Layout};
use crate::native::outside::{Input, collected, validated};
use crate::native::pipeline::Timings;
use crate::native::plan::Plan;
use crate::native::run;
use deckle_diag::Diagnostic;
use deckle_io::tree;
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Op};
use deckle_ir::loops::Function;
use deckle_ir::schedule::Schedule;
use deckle_ir::value::Value;
use deckle_runtime::Data;
use deckle_runtime::stream::Sink;
use std::sync::Arc;

/// A result.
#[derive(Debug)]
pub(crate) enum Taken {
    Data(Data),
    Kept(Kept),
}

/// Loads kernels.
type Load<'a, P> = dyn Fn(&[Function]) -> Result<<P as Port>::Code, Box<Diagnostic>> + 'a;

/// A program on a device.
#[derive(Debug)]
pub(crate) struct OnUnit<P: Port> {
    pub(super) unit: Arc<Unit<P>>,
    pub(super) plan: Plan,
    pub(super) grids: Grids,
    pub(super) layout: Layout,
    pub(super) code: P::Code,
    /// Whether a check may fail in a kernel.
    pub(super) can_fail: bool,
}

impl<P: Port> OnUnit<P> {
    pub(crate) fn compile(
        unit: Arc<Unit<P>>,
        (program, func): (&array::Program, Func),
        options: Options,
        layout: Layout,
        given: Option<&Schedule>,
        load: &Load<'_, P>,
    ) -> Result<OnUnit<P>, Box<Diagnostic>> {
        let plan = Plan::new(program, func, options, &mut Timings::default())?;
        let grids = Grids::new(&plan, layout, given)?;
        let code = load(&grids.functions().cloned().collect::<Vec<_>>())?;
        let can_fail = plan.program.nodes.iter().any(|n| matches!(n.op, Op::Check { .. }));
        Ok(OnUnit { unit, plan, grids, layout, code, can_fail })
    }

    pub(crate) fn program(&self) -> &kernel::Program {
        &self.plan.program
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = &Function> {
        self.grids.functions()
    }

    pub(crate) fn kernels(&self) -> usize {
        self.grids.launches.len()
    }

    /// Runs it on values.
    pub(crate) fn run_values(&self, args: &[Value], settings: &Settings) -> Result<Value, Box<Diagnostic>> {
        let report = |f: Failure| f.report(&self.plan.program);
        let args = run::inputs(&self.plan, args, settings).map_err(report)?;
        Ok(tree::value(&self.plan.result_ty, &self.call(args, settings)?, 0))
    }

    /// Runs it and copies the result back.
    pub(crate) fn call(&self, args: Vec<Input>, settings: &Settings) -> Result<Data, Box<Diagnostic>> {
        match self.run(args, None, false, settings).0? {
            Taken::Data(data) => Ok(data),
            Taken::Kept(kept) => kept.fetch(settings),
        }
    }

    /// Runs it. With `keep` the result stays on the device.
    pub(crate) fn run(
        &self,
        args: Vec<Input>,
        sink: Option<Box<dyn Sink>>,
        keep: bool,
        settings: &Settings,
    ) -> (Result<Taken, Box<Diagnostic>>, Traffic) {
        self.unit.pool.reset_peak();
        let mut traffic = Traffic::default();
        let taken = self.unit.works().and_then(|()| self.repeated(args, sink, keep, settings, &mut traffic));
        traffic.device_bytes = self.unit.pool.stats().peak;
        (taken.map_err(|f| f.report(&self.plan.program)), traffic)
    }

    /// Runs it without waiting for kernels. If one of them has failed, runs it again, to see what fails first.
    fn repeated(
        &self,
        args: Vec<Input>,
        sink: Option<Box<dyn Sink>>,
        keep: bool,
        settings: &Settings,
        traffic: &mut Traffic,
    ) -> Result<Taken, Failure> {
        let args = self.brought(args, settings)?;
        if !self.plan.program.streams().is_empty() {
            return std::thread::scope(|scope| {
                let mut run = Run::new(self, false, settings)?;
                if self.plan.pulled.contains(&true) {
                    run.feed(scope);
                }
                let taken = run::stream(&self.plan, &run, args, sink, settings).map(Taken::Data);
                run.add_to(traffic);
                taken
            });
        }
        let again = if self.can_fail { args.iter().map(Input::handle).collect::<Option<Vec<_>>>() } else { None };
        let run = Run::new(self, false, settings)?;
        let first = run.whole(args, keep);
        run.add_to(traffic);
        let taken = match (first, again) {
            (Ok(taken), _) => taken,
            (Err(failure), Some(args)) if run.has_failed(&failure) => {
                drop(run);
                let run = Run::new(self, true, settings)?;
                let second = run.whole(args, keep);
                run.add_to(traffic);
                second?;
                return Err(Failure::bug("a failure that could not be found again"));
            }
            (Err(failure), _) => return Err(failure),
        };
        match taken {
            Taken::Data(data) => run::handed_over(&self.plan, sink, data, settings).map(Taken::Data),
            kept => Ok(kept),
        }
    }

    /// Arguments in a form that a run can be repeated with: sources that are not pulled in chunks are read as a whole.
    fn brought(&self, args: Vec<Input>, settings: &Settings) -> Result<Vec<Input>, Failure> {
        let one = |(k, input): (usize, Input)| match input {
            Input::Kept(kept, _) if self.plan.pulled.get(k) == Some(&true) => Ok(Input::Data(kept.fetched(settings)?)),
            Input::Stream(source) if self.plan.pulled.get(k) == Some(&false) => {
                let (ty, name) = (&self.plan.param_types[k], &self.plan.param_names[k]);
                let source = validated(source, ty, name);
                Ok(Input::Data(collected(source, ty, self.plan.cuts.whole_read, settings)?))
            }
            other => Ok(other),
        };
        args.into_iter().enumerate().map(one).collect()
    }
}
