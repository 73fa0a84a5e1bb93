//! Common subexpressions: statements with the same operator, attributes, operands and bodies.
//!
//! Each statement has a text that is unique to its meaning; bodies are written with variables numbered
//! from inside. A constant is written as its value, so that its place does not matter; it is shared
//! only within its own body, since a body should not need a variable from outside for it.

use deckle_ir::array::{BinOp, Function, Inst, Op};
use deckle_ir::entity::{Body, Var};
use deckle_ir::scalar::Scalar;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// Statements with more statements than this in their bodies are not compared. Each nested body would be compared with everything in it.
const LONG: usize = 500;

/// The statements so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// By their text, with the number of bodies that were open, the innermost last.
    table: HashMap<String, Vec<(usize, Var)>>,
    /// The texts of each open body.
    open: Vec<Vec<String>>,
    /// The number of statements in each body of the new function.
    sizes: Vec<usize>,
}

impl Seen {
    /// Enters a body.
    pub fn enter(&mut self) {
        self.open.push(Vec::new());
    }

    /// Leaves a body: its statements are no longer visible.
    pub fn leave(&mut self) {
        for key in self.open.pop().unwrap_or_default() {
            if let Some(found) = self.table.get_mut(&key) {
                found.pop();
                if found.is_empty() {
                    self.table.remove(&key);
                }
            }
        }
    }

    /// Leaves all bodies except the outer `depth`.
    pub fn unwind(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.leave();
        }
    }

    /// Records the size of a complete body.
    pub fn measure(&mut self, func: &Function, body: Body) {
        let size = size_of(func, body, &self.sizes);
        let room = self.sizes.len().max(body.index() + 1);
        self.sizes.resize(room, 0);
        self.sizes[body.index()] = size;
    }

    fn is_long(&self, bodies: &[Body]) -> bool {
        bodies.iter().map(|b| self.sizes[b.index()]).sum::<usize>() > LONG
    }

    /// An equal statement.
    pub fn find(&self, func: &Function, op: &Op, args: &[Var], bodies: &[Body]) -> Option<Var> {
        if self.is_long(bodies) {
            return None;
        }
        let (depth, v) = *self.table.get(&key(func, op, args, bodies))?.last()?;
        (depth == self.open.len() || !matches!(op, Op::Const(_))).then_some(v)
    }

    /// Records a statement, unless it holds a sequence: one that is written twice is traversed twice.
    pub fn insert(&mut self, func: &Function, v: Var) {
        let depth = self.open.len();
        if let (Some(inst), Some(open)) = (func.inst(v), self.open.last_mut())
            && func.ty(v).is_concrete()
            && inst.bodies.iter().map(|b| self.sizes[b.index()]).sum::<usize>() <= LONG
        {
            let key = key(func, &inst.op, &inst.args, &inst.bodies);
            self.table.entry(key.clone()).or_default().push((depth, v));
            open.push(key);
        }
    }
}

/// The number of statements in a body, including those of inner bodies, whose sizes are known.
fn size_of(func: &Function, body: Body, sizes: &[usize]) -> usize {
    let inside = |v: &Var| func.inst(*v).map_or(0, |i| i.bodies.iter().map(|b| sizes[b.index()]).sum());
    func.body(body).stmts.iter().map(|v| 1 + inside(v)).sum()
}

/// The number of statements in each body, including those of inner bodies. Inner bodies come after it.
pub(super) fn sizes(func: &Function) -> Vec<usize> {
    let mut sizes = vec![0; func.bodies.len()];
    for b in (0..func.bodies.len()).rev() {
        sizes[b] = size_of(func, Body(b as u32), &sizes);
    }
    sizes
}

fn key(func: &Function, op: &Op, args: &[Var], bodies: &[Body]) -> String {
    let mut writer = Writer { func, text: String::new(), names: HashMap::new() };
    writer.statement(op, args, bodies);
    writer.text
}

/// Whether two bodies of a function mean the same. Long ones are not compared.
pub(super) fn same_bodies(func: &Function, a: Body, b: Body, sizes: &[usize]) -> bool {
    if sizes[a.index()] != sizes[b.index()] || sizes[a.index()] > LONG {
        return false;
    }
    let text = |body: Body| {
        let mut writer = Writer { func, text: String::new(), names: HashMap::new() };
        writer.body(body);
        writer.text
    };
    text(a) == text(b)
}

struct Writer<'a> {
    func: &'a Function,
    text: String,
    names: HashMap<Var, usize>,
}

impl Writer<'_> {
    fn statement(&mut self, op: &Op, args: &[Var], bodies: &[Body]) {
        let _ = match op {
            Op::Const(c) => {
                self.constant(*c);
                return;
            }
            Op::Use(c) => write!(self.text, "use {:p}", Arc::as_ptr(c)),
            op => write!(self.text, "{op:?}"),
        };
        let mut operands: Vec<String> = args.iter().map(|v| self.operand(*v)).collect();
        if commutes(self.func, op, args) {
            operands.sort();
        }
        let _ = write!(self.text, "({})", operands.join(","));
        bodies.iter().for_each(|b| self.body(*b));
    }

    fn body(&mut self, body: Body) {
        let data = self.func.body(body);
        let _ = write!(self.text, "{{{}:", data.params.len());
        data.params.iter().for_each(|p| self.name(*p));
        for &s in &data.stmts {
            if let Some(Inst { op, args, bodies }) = self.func.inst(s) {
                self.statement(op, args, bodies);
                self.text.push(';');
            }
            self.name(s);
        }
        let result = self.operand(data.result);
        let _ = write!(self.text, "{result}}}");
    }

    fn name(&mut self, v: Var) {
        let next = self.names.len();
        self.names.insert(v, next);
    }

    fn operand(&self, v: Var) -> String {
        match (self.func.inst(v), self.names.get(&v)) {
            (Some(Inst { op: Op::Const(c), .. }), _) => constant(*c),
            (_, Some(name)) => format!("%{name}"),
            _ => v.to_string(),
        }
    }

    fn constant(&mut self, c: Scalar) {
        self.text += &constant(c);
    }
}

/// A constant, as its bits.
pub(super) fn constant(c: Scalar) -> String {
    match c {
        Scalar::F32(x) => format!("#f32:{:x}", x.to_bits()),
        Scalar::F64(x) => format!("#f64:{:x}", x.to_bits()),
        other => format!("#{other:?}"),
    }
}

/// Whether the order of the operands does not matter. A sum of two NaNs keeps the first.
fn commutes(func: &Function, op: &Op, args: &[Var]) -> bool {
    use BinOp::{Add, And, Eq, Max, Min, Mul, Ne, Or, Xor};
    matches!(op, Op::Binary(Add | Mul | Min | Max | And | Or | Xor | Eq | Ne))
        && func.ty(args[0]).as_scalar().is_some_and(|t| !t.is_float())
}
