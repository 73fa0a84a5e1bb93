//! From a closure to a callable.

use crate::backend::{Backend, Cpu, Target};
use crate::bundle::{Bundle, IntoBundle};
use crate::elt::{Handle, Item};
use crate::error::{Error, Fault, misfit};
use crate::host::{HostItem, Hosted};
use crate::seq::Seq;
use crate::stream::{Arg, Argument, Results, Take};
use crate::trace::{Parameter, Traced, trace};
use deckle_diag::{Code, Diagnostic};
use deckle_ir::array::Program;
use deckle_runtime::{Data, OverBudget, lending};
use std::marker::PhantomData;
use std::sync::Arc;

/// A program that can be called any number of times, with arguments `A` and result `R`, on the backend `B`.
#[derive(Debug)]
pub struct Compiled<A, R, B = Cpu> {
    built: Arc<Built>,
    backend: B,
    of: PhantomData<fn(A) -> R>,
}

struct Built {
    target: Target,
    places: Vec<crate::error::Place>,
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.target.program)
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
        Compiled { built: self.built.clone(), backend, of: PhantomData }
    }

    /// The array IR of the program.
    pub fn program(&self) -> &Program {
        &self.built.target.program
    }

    fn run(&self, args: Vec<Result<Arg, OverBudget>>) -> Result<R::Host, Error>
    where
        R: Hosted,
    {
        let data = self.built.run(self.backend, args, None)?;
        R::from_data(data).ok_or_else(misfit)
    }
}

impl Built {
    fn run(
        &self,
        backend: impl Backend,
        args: Vec<Result<Arg, OverBudget>>,
        take: Option<Take>,
    ) -> Result<Data, Error> {
        let over = |e: OverBudget| Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string()));
        let args = args.into_iter().collect::<Result<Vec<Arg>, _>>().map_err(over);
        let fates: Vec<_> = args.iter().flatten().filter_map(Arg::fate).collect();
        let ran = args.and_then(|args| backend.run(&self.target, args, take));
        // If an iterator panicked, so does the call, whatever came of it.
        let mut causes: Vec<_> = fates.iter().filter_map(|fate| fate.take()).collect();
        ran.map_err(|d| {
            let place = d.labels.first().and_then(|l| self.places.get(l.span.lo as usize)).copied();
            let mut d = *d;
            d.labels.clear();
            let cause = if d.code == Code::Stream { causes.pop() } else { None };
            Error::new(Fault::Run(Box::new(d)), place).because(cause)
        })
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
    /// What it gives.
    type Result;
    #[doc(hidden)]
    #[track_caller]
    fn build(self) -> Result<Compiled<A, Self::Result>, Error>;
}

fn finish<A, R>(traced: Traced) -> Compiled<A, R> {
    let Traced { function, places } = traced;
    let target = Target::new(Program { funcs: vec![function] });
    Compiled { built: Arc::new(Built { target, places }), backend: Cpu, of: PhantomData }
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
                lending(self.backend.threads(), |_lender| self.run(vec![$($arg.into_arg(_lender)),*]))
            }
        }

        impl<Ret: HostItem, Back: Backend, $($name: Hosted),*> Compiled<($($name,)*), Seq<Ret>, Back> {
            /// Runs the program, on a thread of its own, and gives the elements of its result as they come about.
            #[allow(clippy::too_many_arguments)]
            pub fn stream(&self, $($arg: impl Argument<'static, $name> + Send + 'static),*) -> Results<Ret> {
                let (built, backend) = (self.built.clone(), self.backend);
                Results::of(move |take| {
                    lending(backend.threads(), |_lender| {
                        built.run(backend, vec![$($arg.into_arg(_lender)),*], Some(take)).map(drop)
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
/// The closure runs once, now; what comes back is called with ordinary Rust values, as often as you like.
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
