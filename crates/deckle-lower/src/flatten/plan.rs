//! Which arrays are stored in memory, and why.
//!
//! An array is computed where it is used, unless
//! - it is used more than once, or once for each element of something else, and an element costs more than a load;
//! - it is accessed at arbitrary places, and an element costs more than a load;
//! - it has no positions (the result of a filter, concatenated rows), and positions are needed;
//! - it is a scan, and its elements are needed in another order.
//!
//! The first two are decided here, where a variable is defined or a function is called with it; the others where they occur. Of a tuple that is passed, each component is decided on its own.

use super::value::{Arr, Val};
use super::{Flattener, Frame, Res};
use deckle_ir::array::{BinOp, Function, Op, UnOp};
use deckle_ir::entity::{Body, Var};
use deckle_ir::kernel::{self, Node, Space};
use std::collections::HashMap;

/// The number of operations that may be recomputed rather than stored, for an array of any size and for one of few elements.
const CHEAP: [u32; 2] = [8, 40];
/// The same if they would be recomputed for each element of something else: more cost more than a load each time, without bound.
const CHEAP_REPEATED: u32 = 2;
/// The number of loads.
const CHEAP_LOADS: u32 = 2;

/// The uses of a variable.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    pub total: u32,
    /// Inside a body that runs many times each time the variable is defined.
    pub repeated: bool,
}

impl Use {
    /// Whether it is used at most once.
    fn is_single(self) -> bool {
        self.total <= 1 && !self.repeated
    }

    /// The number of operations an element may cost to be computed at each use.
    fn most(self) -> u32 {
        if self.repeated { CHEAP_REPEATED } else { CHEAP[0] }
    }
}

/// The uses of all variables of a function.
#[derive(Debug)]
pub(super) struct Uses {
    of: Vec<Use>,
    /// The components of tuples: of which variable, which one, and the variable that it becomes.
    parts: Vec<(Var, u32, Var)>,
    /// The operator of each body.
    ops: Vec<Option<&'static str>>,
}

/// Whether an operator runs its bodies at most once.
fn runs_once(op: &Op) -> bool {
    matches!(op, Op::If | Op::Guard)
}

impl Uses {
    pub(super) fn of(function: &Function) -> Uses {
        // For each body the body around it, and whether it is repeated there.
        let mut around: HashMap<Body, (Body, bool)> = HashMap::new();
        let mut ops = vec![None; function.bodies.len()];
        let mut home = vec![Function::ROOT; function.vars.len()];
        for (b, data) in function.bodies.iter().enumerate() {
            let body = Body(b as u32);
            for v in data.params.iter().chain(&data.stmts) {
                home[v.index()] = body;
            }
            for v in &data.stmts {
                if let Some(inst) = function.inst(*v) {
                    for inner in &inst.bodies {
                        around.insert(*inner, (body, !runs_once(&inst.op)));
                        // A use that is not in the source is not reported as a place.
                        let shown = !function.span(*v).is_none();
                        ops[inner.index()] = shown.then(|| inst.op.info().name);
                    }
                }
            }
        }
        let mut of = vec![Use::default(); function.vars.len()];
        let mut parts = Vec::new();
        for (b, data) in function.bodies.iter().enumerate() {
            let mut note = |v: Var| {
                let used = &mut of[v.index()];
                used.total += 1;
                let mut body = Body(b as u32);
                while body != home[v.index()] {
                    let Some((outer, repeated)) = around.get(&body) else { break };
                    used.repeated |= repeated;
                    body = *outer;
                }
            };
            for v in &data.stmts {
                // The length of an array does not need its elements.
                if let Some(inst) = function.inst(*v).filter(|i| i.op != Op::Length) {
                    inst.args.iter().for_each(|a| note(*a));
                    if let Op::Proj(k) = inst.op {
                        parts.push((inst.args[0], k, *v));
                    }
                }
            }
            note(data.result);
        }
        Uses { of, parts, ops }
    }

    /// The uses of a component of a tuple. Whoever uses the tuple as a whole uses all of them.
    fn of_part(&self, v: Var, part: u32) -> Use {
        let (mut all, mut used) = (self.get(v), Use::default());
        for (_, k, named) in self.parts.iter().filter(|(of, ..)| *of == v) {
            all.total -= 1;
            if *k == part {
                let own = self.get(*named);
                used = Use { total: used.total + own.total, repeated: used.repeated || own.repeated };
            }
        }
        // Where a component gets its name is where it is used, as far as is known here.
        Use { total: used.total + all.total, repeated: used.repeated || used.total + all.total > 0 && all.repeated }
    }

    /// The operator that a body belongs to, if it is in the source.
    pub(super) fn op_of(&self, body: Body) -> Option<&'static str> {
        self.ops[body.index()]
    }

    pub(super) fn get(&self, v: Var) -> Use {
        self.of[v.index()]
    }
}

impl<'p> Flattener<'p> {
    /// Decides whether a variable that was just defined is stored.
    pub(super) fn decide(&mut self, fx: &Frame<'p>, v: Var, val: Val, ctx: Space) -> Res<Val> {
        if !val.has_array() || !self.on_host(ctx) {
            return Ok(val);
        }
        let used = fx.uses.get(v);
        let inst = fx.function.inst(v);
        if inst.is_some_and(|i| matches!(i.op, Op::Tuple | Op::Record(_) | Op::Proj(_) | Op::Unzip)) {
            // Its parts have been decided already.
            return Ok(val);
        }
        if !self.options.fuse {
            return self.keep_val(&val, ctx);
        }
        if used.is_single() {
            return Ok(val);
        }
        // Finding the array of each element repeatedly costs more than copying once.
        let joined = inst.is_some_and(|i| matches!(i.op, Op::Concat(_)));
        self.keep_costly(&val, ctx, used, joined)
    }

    /// Decides whether an argument of a function is stored before the function computes anything.
    pub(super) fn decide_argument(&mut self, callee: &Frame<'p>, v: Var, val: Val, ctx: Space) -> Res<Val> {
        if !val.has_array() || !self.on_host(ctx) || !self.options.fuse {
            return Ok(val);
        }
        let Val::Tuple(parts) = &val else {
            let used = callee.uses.get(v);
            return if used.is_single() { Ok(val) } else { self.keep_costly(&val, ctx, used, false) };
        };
        let mut decided = Vec::new();
        for (k, part) in parts.iter().enumerate() {
            let used = callee.uses.of_part(v, k as u32);
            decided.push(if used.is_single() { part.clone() } else { self.keep_costly(part, ctx, used, false)? });
        }
        Ok(Val::tuple(decided))
    }

    fn keep_costly(&mut self, val: &Val, ctx: Space, used: Use, costly: bool) -> Res<Val> {
        match val {
            Val::Scalar(_) => Ok(val.clone()),
            Val::Tuple(parts) => {
                Ok(Val::tuple(parts.iter().map(|p| self.keep_costly(p, ctx, used, costly)).collect::<Res<_>>()?))
            }
            Val::Array(arr) => {
                let costly = match &**arr {
                    Arr::Kept { .. } => false,
                    _ if costly => true,
                    Arr::Chain { .. } => true,
                    Arr::Body { linear: true, .. } => true,
                    Arr::Body { dim, elem, .. } => !self.costs_at_most(*dim, elem, used.most())?,
                };
                if !costly {
                    return Ok(val.clone());
                }
                let why =
                    if used.repeated { "is used for each element of something else" } else { "is used more than once" };
                let (name, _) = self.label_of(arr);
                let note = format!("{name} is materialised: it {why}, and computing it again costs more than a load");
                if !self.k.notes.contains(&note) {
                    self.k.notes.push(note);
                }
                Ok(Val::Array(self.keep(arr, ctx)?))
            }
        }
    }

    /// Whether an element of a dimension costs no more than about a load.
    pub(super) fn is_cheap(&self, dim: Space, elem: &Val) -> Res<bool> {
        self.costs_at_most(dim, elem, CHEAP[0])
    }

    /// Whether an element of a dimension costs at most this number of operations and a load or two.
    fn costs_at_most(&self, dim: Space, elem: &Val, most: u32) -> Res<bool> {
        let mut roots = Vec::new();
        self.nodes_of(elem, &mut roots)?;
        if self.is_view(dim, elem) {
            return Ok(true);
        }
        let (mut work, mut loads) = (0, 0);
        for n in self.k.needs_to_run(&roots) {
            // Values that do not depend on the element are computed once.
            if !self.k.encloses(dim, self.k.space_of(n)) {
                continue;
            }
            match weight(&self.k.node(n).op) {
                Some(0) => {}
                Some(w) => work += w,
                None => return Ok(false),
            }
            loads += u32::from(matches!(self.k.node(n).op, kernel::Op::Load(..)));
        }
        // Of a few individually known elements, most are not computed where they are not used.
        let few = self.k.as_int(self.dim_size(dim)?).is_some_and(|n| n <= self.options.cuts.few_again);
        // Each component is needed on its own.
        let most_loads = CHEAP_LOADS * elem.leaves().map_or(1, |l| l.len().max(1) as u32);
        Ok(work <= if few { CHEAP[1] } else { most } && loads <= most_loads)
    }

    /// Whether an element is loaded from a place that sums and products of positions and sizes tell, as those of a transposed matrix or a slice are: a copy would have to be found the same way.
    fn is_view(&self, dim: Space, elem: &Val) -> bool {
        let inside = |n: Node| self.k.encloses(dim, self.k.space_of(n));
        let is_place = |n: Node| {
            use kernel::Op as K;
            self.k.needs_to_run(&[n]).into_iter().filter(|m| inside(*m)).all(|m| {
                matches!(self.k.node(m).op, K::Pos | K::Const(_) | K::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul, ..))
            })
        };
        match elem {
            Val::Scalar(n) => match self.k.node(*n).op {
                kernel::Op::Load(_, at) => is_place(at),
                _ => false,
            },
            Val::Tuple(parts) => parts.iter().all(|p| self.is_view(dim, p)),
            Val::Array(arr) => matches!(&**arr, Arr::Body { elem, .. } if self.is_view(dim, elem)),
        }
    }

    fn nodes_of(&self, val: &Val, nodes: &mut Vec<Node>) -> Res<()> {
        match val {
            Val::Scalar(n) => nodes.push(*n),
            Val::Tuple(parts) => parts.iter().try_for_each(|p| self.nodes_of(p, nodes))?,
            Val::Array(arr) => match &**arr {
                Arr::Kept { size, base, .. } => nodes.extend([*size, *base]),
                Arr::Body { dim, elem, .. } => {
                    nodes.push(self.dim_size(*dim)?);
                    self.nodes_of(elem, nodes)?;
                }
                // Certainly costly: a traversal of a filter or of rows.
                Arr::Chain { elem, .. } => self.nodes_of(elem, nodes)?,
            },
        }
        Ok(())
    }
}

/// The cost of an operator relative to an addition; `None` if it is unbounded.
fn weight(op: &kernel::Op) -> Option<u32> {
    use kernel::Op as K;
    Some(match op {
        K::Const(_) | K::Pos | K::Var(_) | K::Part(..) => 0,
        K::Load(..) | K::Cast(..) | K::Select(..) | K::Fma(..) | K::Check { .. } => 1,
        K::Unary(op, _) => match op {
            UnOp::Neg | UnOp::Not | UnOp::Abs | UnOp::IsNan | UnOp::Floor | UnOp::Ceil | UnOp::Trunc => 1,
            UnOp::Sqrt => 4,
            _ => 20,
        },
        K::Binary(op, ..) => match op {
            BinOp::Div | BinOp::Rem => 4,
            BinOp::Pow | BinOp::Atan2 | BinOp::Hypot => 20,
            _ => 1,
        },
        K::If { .. } => 2,
        K::Fold { .. } | K::Scan { .. } | K::Loop { .. } => return None,
    })
}
