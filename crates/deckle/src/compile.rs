//! From a closure to a callable.

use crate::arr::{Arr, Rank};
use crate::backend::{Backend, Cpu, Limits};
use crate::bundle::{Bundle, IntoBundle};
use crate::elt::{Elt, Handle, Item};
use crate::error::{Error, Fault, limit, misfit};
use crate::flat::{Elements, Flat, shape_of};
use crate::host::{HostItem, Hosted, Resident};
use crate::seq::Seq;
use crate::stream::{Arg, Argument, Fate, Results, Take, Taker};
use crate::trace::{Parameter, Traced, trace};
use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_engine::{Callable, Input, Kept, On, Progress, Settings, file};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_runtime::stream::Sink;
use deckle_runtime::{Buffer, Data, Number, OverBudget, lending};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

/// A program that can be called any number of times, with arguments `A` and result `R`, on the backend `B`.
#[derive(Debug)]
pub struct Compiled<A, R, B = Cpu> {
    built: Arc<Built>,
    backend: B,
    limits: Limits,
    /// The settings of its runs, after the first run.
    settings: OnceLock<Arc<Settings>>,
    of: PhantomData<fn(A) -> R>,
}

struct Built {
    callable: Callable,
    places: Vec<crate::error::Place>,
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.callable.program())
    }
}

impl<A, R, B: Backend> Compiled<A, R, B> {
    /// The same program on another backend.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<i64>| x + 1).unwrap().on(Interp);
    /// assert_eq!(f.call(1).unwrap(), 2);
    /// ```
    pub fn on<C: Backend>(&self, backend: C) -> Compiled<A, R, C> {
        Compiled::new(self.built.clone(), backend, self.limits.clone())
    }

    /// The same program with a limit on the bytes of all arrays at once, including arguments and results. A program that needs more fails with an error that names the array; sequences are processed in
    /// smaller chunks.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let total = compile(|xs: Seq<i64>| xs.map(|x| x % 7).sum())?.memory(1 << 20);
    /// assert_eq!(total.call(feed(0..1_000_000))?, 2_999_997);
    /// let sorted = compile(|n: Exp<i64>| iota(n).map(|x| -x).sort())?.memory(1 << 20);
    /// assert!(sorted.call(1_000_000).is_err());
    /// # Ok::<(), deckle::Error>(())
    /// ```
    pub fn memory(&self, bytes: u64) -> Compiled<A, R, B> {
        self.limited(Limits { memory: Some(bytes), ..self.limits.clone() })
    }

    /// The same program with this number of elements of a sequence at a time, at least one, instead of an automatic number. Results do not depend on it.
    pub fn chunk(&self, elements: usize) -> Compiled<A, R, B> {
        self.limited(Limits { chunk: Some(i64::try_from(elements).unwrap_or(i64::MAX).max(1)), ..self.limits.clone() })
    }

    /// The same program, whose runs report their progress.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let far = std::sync::Arc::new(Progress::default());
    /// let total = compile(|xs: Seq<i64>| xs.sum())?.progress(&far);
    /// total.call(feed(0..1000))?;
    /// assert_eq!(far.pulled.load(std::sync::atomic::Ordering::Relaxed), 1000);
    /// # Ok::<(), deckle::Error>(())
    /// ```
    pub fn progress(&self, progress: &Arc<Progress>) -> Compiled<A, R, B> {
        self.limited(Limits { progress: Some(progress.clone()), ..self.limits.clone() })
    }

    fn limited(&self, limits: Limits) -> Compiled<A, R, B> {
        Compiled::new(self.built.clone(), self.backend, limits)
    }

    fn new(built: Arc<Built>, backend: B, limits: Limits) -> Compiled<A, R, B> {
        Compiled { built, backend, limits, settings: OnceLock::new(), of: PhantomData }
    }

    fn settings(&self) -> &Arc<Settings> {
        self.settings.get_or_init(|| self.limits.settings(self.backend.threads()))
    }

    /// The array IR of the program.
    pub fn program(&self) -> &Program {
        self.built.callable.program()
    }

    /// The decisions about the program before it runs: what is fused, materialised and streamed, with reasons; the text of `deckle explain`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let dot = compile(|xs: Arr<f64>, ys: Arr<f64>| xs.zip_with(ys, |x, y| x * y).sum())?;
    /// assert!(dot.explain().contains("kernel"));
    /// # Ok::<(), deckle::Error>(())
    /// ```
    pub fn explain(&self) -> String {
        deckle_engine::explain(self.program(), &SourceMap::new(), &[Func(0)])
    }

    /// The cost of the program in the cost model, as formulas in the sizes of its arguments: work, depth, and the space with one element of a sequence at a time and with all
    /// at once; the text of `deckle cost`.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let dot = compile(|xs: Arr<f64>, ys: Arr<f64>| xs.zip_with(ys, |x, y| x * y).sum())?;
    /// assert!(dot.cost().contains("work"));
    /// # Ok::<(), deckle::Error>(())
    /// ```
    pub fn cost(&self) -> String {
        deckle_engine::cost(self.program(), Func(0))
    }

    fn run<const N: usize>(&self, args: [Result<Arg, OverBudget>; N], room: Option<Buffer>) -> Result<Data, Error> {
        self.built.run(self.backend, self.settings(), args, To { take: None, room })?.ok_or_else(misfit)
    }
}

/// The destination of a result: a consumer of streamed elements, or existing memory.
struct To {
    take: Option<Take>,
    room: Option<Buffer>,
}

impl Built {
    fn run<const N: usize>(
        &self,
        backend: impl Backend,
        settings: &Settings,
        args: [Result<Arg, OverBudget>; N],
        to: To,
    ) -> Result<Option<Data>, Error> {
        let sink = to.take.map(|take| Box::new(Taker(take)) as Box<dyn Sink>);
        let call = |place: &On, inputs| self.callable.call_into(place, inputs, sink, to.room, settings);
        Ok(self.ran(backend, args, call)?.result)
    }

    fn keep<const N: usize>(
        &self,
        backend: impl Backend,
        settings: &Settings,
        args: [Result<Arg, OverBudget>; N],
    ) -> Result<Kept, Error> {
        Ok(self.ran(backend, args, |place, inputs| self.callable.keep(place, inputs, settings))?.0)
    }

    /// Runs a function of the engine with the converted arguments.
    fn ran<const N: usize, T>(
        &self,
        backend: impl Backend,
        args: [Result<Arg, OverBudget>; N],
        run: impl FnOnce(&On, Vec<Input>) -> Result<T, Box<Diagnostic>>,
    ) -> Result<T, Error> {
        let mut fates = Vec::new();
        let inputs = self.inputs(args, &mut fates);
        let ran = inputs.and_then(|inputs| run(&backend.place()?, inputs));
        // If an iterator panicked, so does the call, whatever its outcome.
        let mut causes: Vec<_> = fates.iter().filter_map(|fate| fate.take()).collect();
        ran.map_err(|d| {
            let place = d.labels.first().and_then(|l| self.places.get(l.span.lo as usize)).copied();
            let mut d = *d;
            d.labels.clear();
            let cause = if d.code == Code::Stream { causes.pop() } else { None };
            Error::new(Fault::Run(Box::new(d)), place).because(cause)
        })
    }

    /// The arguments, with files opened, and the fates of streamed ones.
    fn inputs<const N: usize>(
        &self,
        args: [Result<Arg, OverBudget>; N],
        fates: &mut Vec<Fate>,
    ) -> Result<Vec<Input>, Box<Diagnostic>> {
        let function = self.callable.function();
        let mut inputs = Vec::with_capacity(N);
        for (arg, (name, var)) in args.into_iter().zip(function.param_names.iter().zip(function.params())) {
            inputs.push(match arg.map_err(|e| limit(&e))? {
                Arg::Input(input) => input,
                Arg::Feed(input, fate) => {
                    fates.push(fate);
                    input
                }
                Arg::File(path) => Input::Stream(file::open(name, function.ty(*var), &path)?),
                Arg::Wrong(why) => {
                    let message = format!("argument `{name}` is no value: {why}");
                    return Err(Box::new(Diagnostic::nowhere(Code::BadArgument, message)));
                }
            });
        }
        Ok(inputs)
    }
}

/// A closure that builds a program.
#[diagnostic::on_unimplemented(
    message = "`compile` cannot build a program from this",
    label = "expected a closure from handles to handles",
    note = "write the type of each parameter, of which there are at most eight: `|xs: Arr<f64>, n: Exp<i64>| ...`",
    note = "its result is a handle, a scalar, or a tuple of these"
)]
pub trait Builds<A> {
    /// Its result.
    type Result;
    #[doc(hidden)]
    #[track_caller]
    fn build(self) -> Result<Compiled<A, Self::Result>, Error>;
}

fn finish<A, R>(traced: Traced) -> Compiled<A, R> {
    let Traced { function, places } = traced;
    let callable = Callable::new(Program { funcs: vec![function] }, Func(0));
    Compiled::new(Arc::new(Built { callable, places }), Cpu, Limits::default())
}

macro_rules! arities {
    ($(($($name:ident $arg:ident $index:tt),*);)*) => {$(
        impl<Fun, Ret, $($name),*> Builds<($($name,)*)> for Fun
        where
            Fun: FnOnce($($name),*) -> Ret,
            Ret: IntoBundle,
            Ret::Bundle: Hosted,
            $($name: Handle + Hosted,)*
        {
            type Result = Ret::Bundle;
            #[track_caller]
            fn build(self) -> Result<Compiled<($($name,)*), Ret::Bundle>, Error> {
                let params = [$(Parameter { kind: <$name::Item as Item>::kind(), rank: $name::Item::RANK }),*];
                let result = |_p: &[_]| self($($name::from_raw(_p[$index])),*).into_bundle().bundle_raw();
                let traced = trace("main", &params, result)?;
                Ok(finish(traced))
            }
        }

        impl<Ret: Hosted, Back: Backend, $($name: Hosted),*> Compiled<($($name,)*), Ret, Back> {
            /// Runs the program.
            #[allow(clippy::too_many_arguments, clippy::extra_unused_lifetimes)]
            pub fn call<'a>(&self, $($arg: impl Argument<'a, $name>),*) -> Result<Ret::Host, Error> {
                // A result may be lent memory, so it is converted before that is returned.
                lending(self.backend.threads(), |_lender| {
                    Ret::from_data(self.run([$($arg.into_arg(_lender)),*], None)?).ok_or_else(misfit)
                })
            }

            /// Runs the program and leaves its result in the engine, as an argument of other calls: see [`Resident`].
            #[allow(clippy::too_many_arguments, clippy::extra_unused_lifetimes)]
            pub fn keep<'a>(&self, $($arg: impl Argument<'a, $name>),*) -> Result<Resident<Ret>, Error> {
                lending(self.backend.threads(), |_lender| {
                    let settings = self.settings();
                    let kept = self.built.keep(self.backend, settings, [$($arg.into_arg(_lender)),*])?;
                    let kept = kept.owned(&settings.pool, "a result that is kept").map_err(crate::error::over)?;
                    Ok(Resident::new(kept, settings.clone()))
                })
            }
        }

        impl<Ret: Elt + Number, Dim: Rank, Back: Backend, $($name: Hosted),*> Compiled<($($name,)*), Arr<Ret, Dim>, Back> {
            /// Runs the program and replaces the elements of a `Vec` by those of its result, row by row: in the same memory, if there were at least as many. After an error it is
            /// empty.
            ///
            /// ```
            /// # use deckle::prelude::*;
            /// let step = compile(|xs: Arr<f64>| xs.map(|x| x * 0.5))?;
            /// let (xs, mut ys) = (vec![1.0; 1000], Vec::with_capacity(1024));
            /// ys.resize(1000, 0.0);
            /// let place = ys.as_ptr();
            /// step.call_into(&mut ys, &xs)?;
            /// assert_eq!((ys[999], ys.as_ptr()), (0.5, place));
            /// # Ok::<(), deckle::Error>(())
            /// ```
            #[allow(clippy::too_many_arguments, clippy::extra_unused_lifetimes)]
            pub fn call_into<'a>(&self, out: &mut Vec<Ret>, $($arg: impl Argument<'a, $name>),*) -> Result<(), Error> {
                let room = Buffer::from_vec(std::mem::take(out));
                *out = lending(self.backend.threads(), |_lender| {
                    let data = self.run([$($arg.into_arg(_lender)),*], Some(room))?;
                    let (_, elems) = shape_of(data, Dim::N).ok_or_else(misfit)?;
                    Elements::<Ret>::into_vec(elems).ok_or_else(misfit)
                })?;
                Ok(())
            }
        }

        impl<Ret: HostItem, Back: Backend, $($name: Hosted),*> Compiled<($($name,)*), Seq<Ret>, Back> {
            /// Runs the program on a thread of its own, and returns the elements of its result as they are computed.
            #[allow(clippy::too_many_arguments)]
            pub fn stream(&self, $($arg: impl Argument<'static, $name> + Send + 'static),*) -> Results<Ret> {
                let (built, backend, settings) = (self.built.clone(), self.backend, self.settings().clone());
                Results::of(move |take| {
                    lending(backend.threads(), |_lender| {
                        let to = To { take: Some(take), room: None };
                        built.run(backend, &settings, [$($arg.into_arg(_lender)),*], to).map(drop)
                    })
                })
            }
        }
    )*};
}

arities! {
    ();
    (A a 0);
    (A a 0, B b 1);
    (A a 0, B b 1, C c 2);
    (A a 0, B b 1, C c 2, D d 3);
    (A a 0, B b 1, C c 2, D d 3, E e 4);
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5);
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6);
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7);
}

/// Builds a program from a closure over handles.
///
/// The closure runs once, immediately; the compiled program is called with ordinary Rust values, any number of times.
///
/// ```
/// # use deckle::prelude::*;
/// let saxpy = compile(|a: Exp<f32>, xs: Arr<f32>, ys: Arr<f32>| xs.zip_with(ys, |x, y| a * x + y))?;
/// let out = saxpy.call(2.0, vec![1.0, 2.0], vec![10.0, 20.0])?;
/// assert_eq!(out.to_vec(), [12.0, 24.0]);
/// # Ok::<(), deckle::Error>(())
/// ```
///
/// Several results are a tuple:
///
/// ```
/// # use deckle::prelude::*;
/// let stats = compile(|xs: Arr<f64>| (xs.sort(), xs.sum(), xs.stream().map(|x| x * x)))?;
/// let (sorted, sum, squares) = stats.call([2.0, 1.0])?;
/// assert_eq!((sorted.to_vec(), sum, squares), (vec![1.0, 2.0], 3.0, vec![4.0, 1.0]));
/// # Ok::<(), deckle::Error>(())
/// ```
///
/// # Errors
/// A handle that left its closure or comes from another program, a closure that builds without end, or an operator that
/// does not take its operands. See [`crate::Fault`].
#[track_caller]
pub fn compile<A, F: Builds<A>>(f: F) -> Result<Compiled<A, F::Result>, Error> {
    f.build()
}
