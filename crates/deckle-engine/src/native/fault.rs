//! What goes wrong while a program runs. What a check is about is told in the words of the common table, [`deckle_ir::fault`].

use crate::native::plan::Plan;
use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::kernel::{Fault, Node, Program, Site, SiteData};
use deckle_runtime::pool::Bytes;
use deckle_runtime::{Interrupted, OverBudget, stream};

/// What is said when whoever took the result has gone.
pub(crate) const CLOSED: &str = "the consumer of the result is closed";

/// Why a run ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A check failed, with these operands.
    Check(Site, Vec<i64>),
    /// A check of the host failed, and what there is to tell of it only a kernel computes.
    Untold(Node),
    /// A kernel failed. Where does not matter: smaller chunks will tell.
    Unlocated,
    /// The budget is spent. Where the array stands in the source.
    Memory(OverBudget, Span),
    /// The budget of a GPU is exceeded, or it has no memory left. The location of the array in the source.
    DeviceMemory(OverBudget, Span),
    /// A GPU has failed.
    Lost(String),
    /// An argument is not of the parameter's type.
    Argument(String),
    /// The rows of an argument are not of one size: which one has how many elements, and how many the first has.
    Irregular { what: String, span: Span, rows: usize, row: usize, len: i64, first: i64 },
    /// A row of an argument does not have as many elements as its type says.
    Row { what: String, span: Span, size: String, row: usize, len: i64, expected: i64 },
    /// An array of so many elements. Where it stands in the source.
    TooLarge(String, i64, Span),
    /// A simulated kernel takes more steps than are simulated.
    Steps(String),
    /// From outside.
    Interrupted,
    /// Nobody takes the result any more.
    Closed,
    /// A sequence from outside, or whoever takes a result, says so.
    Stream(Box<dyn std::error::Error + Send + Sync>),
    /// Deckle's own.
    Bug(String),
}

impl From<OverBudget> for Failure {
    fn from(e: OverBudget) -> Failure {
        Failure::Memory(e, Span::NONE)
    }
}

impl From<stream::Error> for Failure {
    fn from(e: stream::Error) -> Failure {
        match e {
            stream::Error::OverBudget(e) => e.into(),
            stream::Error::Interrupted => Failure::Interrupted,
            stream::Error::Closed => Failure::Closed,
            stream::Error::Failed(e) => Failure::Stream(e),
        }
    }
}

impl From<Interrupted> for Failure {
    fn from(_: Interrupted) -> Failure {
        Failure::Interrupted
    }
}

impl Failure {
    pub(crate) fn bug(what: &str) -> Failure {
        Failure::Bug(format!("the host met {what}"))
    }

    /// Whether it comes of some element, so that those before it may pass without it; not of what the run depends on.
    pub(crate) fn is_of_elements(&self) -> bool {
        use Failure::*;
        matches!(
            self,
            Check(..)
                | Untold(_)
                | Unlocated
                | Memory(..)
                | DeviceMemory(..)
                | Argument(_)
                | Irregular { .. }
                | Row { .. }
                | TooLarge(..)
        )
    }

    /// A limit that is passed at a place of the source.
    pub(crate) fn at(self, span: Span) -> Failure {
        match self {
            Failure::Memory(e, _) => Failure::Memory(e, span),
            Failure::DeviceMemory(e, _) => Failure::DeviceMemory(e, span),
            other => other,
        }
    }

    /// The same of a parameter of a program.
    pub(crate) fn of_parameter(self, plan: &Plan, at: usize) -> Failure {
        match self {
            Failure::Irregular { what, rows, row, len, first, .. } => {
                let what = format!("{what} of `{}`", plan.name);
                let span = plan.param_spans.get(at).copied().unwrap_or(Span::NONE);
                match plan.square.get(at).cloned().flatten() {
                    Some(size) => {
                        let (row, len) = if first == rows as i64 { (row, len) } else { (0, first) };
                        Failure::Row { what, span, size, row, len, expected: rows as i64 }
                    }
                    None => Failure::Irregular { what, span, rows, row, len, first },
                }
            }
            other => other,
        }
    }

    /// As an error outside of any program.
    pub(crate) fn report_alone(self) -> Box<Diagnostic> {
        self.report_of(&[])
    }

    /// As an error with its place.
    pub(crate) fn report(self, program: &Program) -> Box<Diagnostic> {
        self.report_of(&program.sites)
    }

    fn report_of(self, sites: &[SiteData]) -> Box<Diagnostic> {
        Box::new(match self {
            Failure::Bug(message) => Diagnostic::nowhere(Code::Internal, message),
            Failure::Steps(message) => Diagnostic::nowhere(Code::LimitExceeded, message),
            Failure::Untold(n) => Diagnostic::nowhere(Code::Internal, format!("nobody told why {n} failed")),
            Failure::Unlocated => Diagnostic::nowhere(Code::Internal, "a round has failed, and was not repeated"),
            Failure::Argument(name) => unfit(&name),
            Failure::Row { what, span, size, row, len, expected } => {
                Fault::Size(what.into(), Some(size)).report(span, &[len.into(), expected.into(), row as i128])
            }
            Failure::Irregular { what, span, row, len, first, .. } => {
                Fault::UnequalRows(what.into()).report(span, &[len.into(), first.into(), row as i128])
            }
            Failure::TooLarge(name, n, span) => Fault::TooMany(name.into()).report(span, &[n.into()]),
            Failure::Stream(e) => match e.downcast::<Diagnostic>() {
                Ok(d) => *d,
                Err(e) => Diagnostic::nowhere(Code::Stream, e.to_string())
                    .help("the elements before it were processed: check their source and their sink"),
            },
            Failure::Closed => Diagnostic::nowhere(Code::Stream, CLOSED),
            Failure::Interrupted => Fault::Interrupted.report(Span::NONE, &[]),
            Failure::Memory(e, span) => error(Code::LimitExceeded, e.to_string(), span, "made here")
                .help("raise the budget, or use a sequence instead of an array"),
            Failure::DeviceMemory(e, span) => {
                let OverBudget { what, asked, in_use, budget } = e;
                let (asked, in_use) = (Bytes(asked), Bytes(in_use));
                let limit = match budget {
                    Some(budget) => format!("the budget is {}", Bytes(budget)),
                    None => "the GPU has no more".to_string(),
                };
                let message = format!("{what} needs {asked} of the GPU's memory, but {in_use} are in use and {limit}");
                error(Code::LimitExceeded, message, span, "made here")
                    .help("raise `--device-memory`, use a sequence instead of an array, or run it on the CPU")
            }
            Failure::Lost(why) => Diagnostic::nowhere(Code::LostGpu, format!("the GPU was lost: {why}"))
                .help("run the program again, in a new process; `deckle doctor` says whether the GPU still works"),
            Failure::Check(site, operands) => match sites.get(site.index()) {
                Some(data) => data.report(&operands.iter().map(|n| i128::from(*n)).collect::<Vec<_>>()),
                None => Diagnostic::nowhere(Code::Internal, format!("{site} is not known")),
            },
        })
    }
}

/// An argument that is not of the type of its parameter.
pub(crate) fn unfit(name: &str) -> Diagnostic {
    Diagnostic::nowhere(Code::BadArgument, format!("argument `{name}` is not of the type of its parameter"))
        .help("give a value of the parameter's type")
}

fn error(code: Code, message: String, span: Span, label: &str) -> Diagnostic {
    if span.is_none() { Diagnostic::nowhere(code, message) } else { Diagnostic::new(code, message, span, label) }
}
