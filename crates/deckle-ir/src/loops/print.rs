//! The text form of the loop IR.
//!
//! ```text
//! fn sum (b0: read f64, b1: write f64) (x0: i64) {
//!   local b2: f64[16]
//!   x1: i64 = const 0i64
//!   x2: f64 = const 0.0f64
//!   for x3 = x1 .. x0 step 1 independent (x4: f64 = x2 -> x7) {
//!     x5: f64 = load b0[x3]
//!     x6: f64 = assoc add(x4, x5)
//!     yield x6
//!   }
//!   store b1[x1] = x7
//! }
//! ```
//! After the name come the buffers and the scalars, and on a GPU `block` with the number of threads, and `resident` with that for which a multiprocessor should have room. Local buffers are `local` or `shared`.
//! A mask follows `where`: `load b0[x1] where x2`. The results of a block follow `yield`, at its end.
//!
//! A function that does not verify is printed as far as possible.

use super::*;
use crate::text::{Name, comma_separated};
use std::fmt::{Display, Formatter, Result};

/// The words for a keyword, in the printer and the parser.
pub(super) type Words<T, const N: usize> = [(T, &'static str); N];

pub(super) const AXES: Words<Axis, 3> = [(Axis::Block, "block"), (Axis::Blocks, "blocks"), (Axis::Thread, "thread")];
pub(super) const SHUFFLES: Words<Shuffle, 4> =
    [(Shuffle::From, "from"), (Shuffle::Up, "up"), (Shuffle::Down, "down"), (Shuffle::Xor, "xor")];
pub(super) const ACCESSES: Words<Access, 2> = [(Access::Read, "read"), (Access::Write, "write")];
pub(super) const PLACES: Words<Place, 2> = [(Place::Private, "local"), (Place::Shared, "shared")];

fn word<T: PartialEq>(words: &[(T, &'static str)], item: &T) -> &'static str {
    words.iter().find(|(t, _)| t == item).map_or("?", |(_, w)| w)
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Printer { function: self }.function(f)
    }
}

struct Printer<'a> {
    function: &'a Function,
}

/// A value and its type.
struct Typed<'a>(Val, &'a Function);

impl Display for Typed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.1.vals.get(self.0.index()) {
            Some(ty) => write!(f, "{}: {ty}", self.0),
            None => write!(f, "{}: ?", self.0),
        }
    }
}

impl Printer<'_> {
    fn function(&self, f: &mut Formatter<'_>) -> Result {
        let function = self.function;
        write!(f, "fn {} (", Name(&function.name))?;
        comma_separated(f, function.buffers.iter().enumerate(), |f, (k, b)| {
            write!(f, "b{k}: {} {}", word(&ACCESSES, &b.access), b.elem)
        })?;
        f.write_str(") (")?;
        comma_separated(f, &function.scalars, |f, &v| write!(f, "{}", Typed(v, function)))?;
        f.write_str(") ")?;
        if function.block != 0 {
            write!(f, "block {} ", function.block)?;
        }
        if function.resident != 0 {
            write!(f, "resident {} ", function.resident)?;
        }
        f.write_str("{\n")?;
        for (k, l) in function.locals.iter().enumerate() {
            let number = function.buffers.len() + k;
            writeln!(f, "  {} b{number}: {}[{}]", word(&PLACES, &l.place), l.elem, l.len)?;
        }
        self.statements(f, &function.body, 1)?;
        f.write_str("}\n")
    }

    fn statements(&self, f: &mut Formatter<'_>, block: &Block, depth: usize) -> Result {
        for stmt in &block.stmts {
            write!(f, "{:1$}", "", 2 * depth)?;
            self.stmt(f, stmt, depth)?;
            f.write_str("\n")?;
        }
        if !block.results.is_empty() {
            write!(f, "{:1$}yield ", "", 2 * depth)?;
            comma_separated(f, &block.results, |f, v| write!(f, "{v}"))?;
            f.write_str("\n")?;
        }
        Ok(())
    }

    fn block(&self, f: &mut Formatter<'_>, block: &Block, depth: usize) -> Result {
        if block.stmts.is_empty() && block.results.is_empty() {
            return f.write_str("{}");
        }
        f.write_str("{\n")?;
        self.statements(f, block, depth + 1)?;
        write!(f, "{:1$}}}", "", 2 * depth)
    }

    fn carries(&self, f: &mut Formatter<'_>, carries: &[Carry]) -> Result {
        f.write_str("(")?;
        comma_separated(f, carries, |f, c| {
            write!(f, "{} = {} -> {}", Typed(c.param, self.function), c.init, c.result)
        })?;
        f.write_str(") ")
    }

    fn stmt(&self, f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> Result {
        match stmt {
            Stmt::Let(v, expr) => write!(f, "{} = {expr}", Typed(*v, self.function)),
            Stmt::Store { buf, at, value, mask, hint } => {
                write!(f, "store {buf}[{at}] = {value}")?;
                if let Some(m) = mask {
                    write!(f, " where {m}")?;
                }
                f.write_str(match hint {
                    StoreHint::Cached => "",
                    StoreHint::Streaming => " streaming",
                    StoreHint::Shared => " shared",
                    StoreHint::Packed => " packed",
                })
            }
            Stmt::Atomic { op, buf, at, value, before } => {
                write!(f, "atomic {} {buf}[{at}] = {value}", op.name())?;
                before.map_or(Ok(()), |v| write!(f, " -> {}", Typed(v, self.function)))
            }
            Stmt::For { var, lo, hi, step, carries, body, hint } => {
                write!(f, "for {var} = {lo} .. {hi} step {step} ")?;
                f.write_str(match hint {
                    LoopHint::Plain => "",
                    LoopHint::Short => "short ",
                    LoopHint::Independent => "independent ",
                    LoopHint::Unroll => "unroll ",
                })?;
                self.carries(f, carries)?;
                self.block(f, body, depth)
            }
            Stmt::While { carries, test, body } => {
                f.write_str("while ")?;
                self.carries(f, carries)?;
                self.block(f, test, depth)?;
                f.write_str(" ")?;
                self.block(f, body, depth)
            }
            Stmt::If { cond, yes, no, results } => {
                write!(f, "if {cond} ")?;
                self.block(f, yes, depth)?;
                f.write_str(" ")?;
                self.block(f, no, depth)?;
                if results.is_empty() {
                    return Ok(());
                }
                f.write_str(" -> (")?;
                comma_separated(f, results, |f, &v| write!(f, "{}", Typed(v, self.function)))?;
                f.write_str(")")
            }
            Stmt::Flag(v) => write!(f, "flag {v}"),
            Stmt::Fail { site, operands } => {
                write!(f, "fail {site} (")?;
                comma_separated(f, operands, |f, v| write!(f, "{v}"))?;
                f.write_str(")")
            }
            Stmt::Barrier => f.write_str("barrier"),
            Stmt::WarpBarrier => f.write_str("barrier warp"),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Expr::Const(s) => write!(f, "const {s}"),
            Expr::Lanes => f.write_str("lanes"),
            Expr::Splat(v) => write!(f, "splat {v}"),
            Expr::Unary(op, v) => write!(f, "{}({v})", op.name()),
            Expr::Binary(op, a, b) => write!(f, "{}({a}, {b})", op.name()),
            Expr::Assoc(op, a, b) => write!(f, "assoc {}({a}, {b})", op.name()),
            Expr::Fma(a, b, c) => write!(f, "fma({a}, {b}, {c})"),
            Expr::Rint(v) => write!(f, "rint({v})"),
            Expr::CopySign(a, b) => write!(f, "copysign({a}, {b})"),
            Expr::Cast(to, v) => write!(f, "cast {to} ({v})"),
            Expr::Bitcast(to, v) => write!(f, "bitcast {to} ({v})"),
            Expr::Select(c, a, b) => write!(f, "select({c}, {a}, {b})"),
            Expr::Load { buf, at, mask: None } => write!(f, "load {buf}[{at}]"),
            Expr::Load { buf, at, mask: Some(m) } => write!(f, "load {buf}[{at}] where {m}"),
            Expr::Total(op, v) => write!(f, "total {}({v})", op.name()),
            Expr::Lane(v, lane) => write!(f, "lane {v}[{lane}]"),
            Expr::Swizzle(a, b, from) => {
                write!(f, "swizzle({a}, {b}) [")?;
                comma_separated(f, from, |f, l| write!(f, "{l}"))?;
                f.write_str("]")
            }
            Expr::Unaligned(buf) => write!(f, "unaligned {buf}"),
            Expr::Failed => f.write_str("failed"),
            Expr::Id(axis) => write!(f, "id {}", word(&AXES, axis)),
            Expr::Ballot(v) => write!(f, "ballot({v})"),
            Expr::Shuffle(how, v, by) => write!(f, "shuffle {} ({v}, {by})", word(&SHUFFLES, how)),
        }
    }
}
