//! Statements that must be evaluated: those that are used, that can fail, or that might not end.

use deckle_analysis::bounds::{Facts, in_range, walk};
use deckle_ir::array::{BinOp, Function, Inst, Monoid, Op};
use deckle_ir::entity::{Path, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

/// Liveness of the statements of a function.
#[derive(Debug)]
pub(super) struct Liveness {
    live: Vec<bool>,
    fails: Vec<bool>,
}

impl Liveness {
    /// Analyses a function.
    pub fn of(safe: &[bool], func: &Function) -> Liveness {
        let mut liveness = Liveness { live: vec![false; func.vars.len()], fails: failing(func, safe) };
        liveness.mark(func);
        liveness
    }

    /// Whether a statement must stay.
    pub fn lives(&self, v: Var) -> bool {
        self.live[v.index()]
    }

    /// Whether a statement may fail, or not end.
    pub fn fails(&self, v: Var) -> bool {
        self.fails[v.index()]
    }

    fn mark(&mut self, func: &Function) {
        let mut pending: Vec<Var> = Vec::new();
        let mut bodies = vec![Function::ROOT];
        loop {
            while let Some(b) = bodies.pop() {
                let data = func.body(b);
                pending.push(data.result);
                pending.extend(data.stmts.iter().filter(|s| self.fails[s.index()]));
                // The type of the state of a loop is explicit.
                data.params.iter().for_each(|p| mentioned(func, func.ty(*p), &mut pending));
            }
            let Some(v) = pending.pop() else { return };
            if std::mem::replace(&mut self.live[v.index()], true) {
                continue;
            }
            let Some(inst) = func.inst(v) else { continue };
            pending.extend(&inst.args);
            bodies.extend(&inst.bodies);
            if let Op::Ensure(t) | Op::Array(t) | Op::MkSeq(t) = &inst.op {
                mentioned(func, t, &mut pending);
            }
        }
    }
}

/// The variables that an explicit type needs.
fn mentioned(func: &Function, ty: &Type, out: &mut Vec<Var>) {
    ty.any_atom(&mut |a, _| {
        match a {
            Atom::Value(Path { root, .. }) | Atom::Read(Path { root, .. }, _) | Atom::If(Path { root, .. }, ..) => {
                out.push(*root);
            }
            Atom::Var(s, _) => out.extend(func.size_binder(*s)),
            _ => {}
        }
        false
    });
}

/// Whether a call of a function cannot fail: no statement in it can, and its arguments need no checks.
pub(super) fn is_safe(safe: &[bool], func: &Function) -> bool {
    let mut seen = Vec::new();
    let mut free = true;
    for &p in func.params() {
        func.ty(p).for_each_size(&mut |s, depth| match s.as_atom() {
            Some(Atom::Var(v, at)) if at.len() as u32 == depth && !seen.contains(v) => seen.push(*v),
            _ => free = false,
        });
    }
    free && !failing(func, safe).contains(&true)
}

/// For each statement whether it may fail, or not end. For calls, `safe` gives the answer.
fn failing(func: &Function, safe: &[bool]) -> Vec<bool> {
    let mut fails = vec![false; func.vars.len()];
    walk(func, &mut Facts::default(), Function::ROOT, &mut |facts, s, inst| {
        let inside = inst.bodies.iter().any(|b| func.body(*b).stmts.iter().any(|s| fails[s.index()]));
        let itself = match &inst.op {
            Op::Call(f) => !safe.get(f.index()).copied().unwrap_or(false),
            _ => can_fail(func, facts, inst),
        };
        fails[s.index()] = inside || itself;
    });
    fails
}

/// Whether an operator that is not a call may fail, apart from its bodies.
pub(super) fn can_fail(func: &Function, facts: &Facts, inst: &Inst) -> bool {
    let a = &inst.args;
    let natural = |v: &Var| facts.is_natural(func, *v);
    let size = |v: Var| func.ty(v).as_array().map(|t| t.size.clone()).filter(|s| facts.trusted(func, s));
    let one_length = |list: &[Var]| list.windows(2).all(|w| size(w[0]).is_some() && size(w[0]) == size(w[1]));
    let some = |v: Var| size(v).is_some_and(|n| facts.natural(func, &n.sub(&1.into())));
    let is_regular = |depth: usize| func.ty(a[0]).regular_dims(depth).is_some();
    match &inst.op {
        Op::Const(_) | Op::Unary(_) | Op::Cast(_) | Op::Select | Op::Fma | Op::Tuple | Op::Record(_) | Op::Proj(_) => {
            false
        }
        Op::Binary(op) => scalar_can_fail(func, *op, a),
        Op::Index | Op::Slice(_) => !in_range(func, facts, inst),
        Op::If | Op::For | Op::Guard => false,
        Op::While | Op::Stream | Op::Call(_) | Op::Ensure(_) => true,
        Op::Use(_) | Op::Array(_) | Op::MkSeq(_) => false,
        Op::Replicate | Op::Take | Op::Drop => !natural(&a[1]),
        Op::Generate | Op::Iota(_) | Op::Produce => !a.iter().all(natural),
        Op::Range(..) => constant(func, a[2]).is_none_or(|step| step == 0),
        Op::Map | Op::Zip | Op::Compact => a.len() > 1 && !one_length(a),
        Op::Unzip | Op::Length | Op::Size(_) | Op::Flatten | Op::Reverse(_) => false,
        Op::Shape(depth) => !is_regular(*depth as usize),
        Op::Transpose(axes) => !is_regular(axes.len()),
        Op::Stencil(radii, _) => !is_regular(radii.len()),
        Op::Reshape(depth) => !reshapes(func, facts, inst, *depth),
        Op::Concat(0) => false,
        Op::Pad(_) => !a[1..3].iter().all(natural),
        Op::Filter | Op::Partition | Op::Sort | Op::SortBy | Op::GroupBy => false,
        Op::Fold | Op::FoldOrdered | Op::Scan(..) | Op::ScanOrdered => false,
        Op::Empty | Op::Append | Op::Tab | Op::Seq | Op::Tabulate(_) => false,
        Op::Fold1 => !some(a[0]),
        Op::Reduce(m) => match m {
            Monoid::Sum | Monoid::Product | Monoid::Any | Monoid::All => false,
            Monoid::Min | Monoid::Max | Monoid::ArgMin | Monoid::ArgMax => !some(a[0]),
        },
        Op::Tiles(depth) if !is_regular(*depth as usize) => true,
        Op::Tiles(_) => !a[1..].iter().all(|v| facts.natural(func, &facts.exact(func, *v).sub(&1.into()))),
        Op::Pull(_) | Op::Push(_) => true,
        Op::Split(_) | Op::Concat(_) | Op::Permute | Op::Scatter | Op::Expand | Op::The | Op::FlagPart => true,
    }
}

fn scalar_can_fail(func: &Function, op: BinOp, args: &[Var]) -> bool {
    let Some(ty) = func.ty(args[0]).as_scalar() else { return true };
    let second = constant(func, args[1]);
    match op {
        BinOp::Div | BinOp::Rem if ty.is_int() => second.is_none_or(|d| d == 0),
        BinOp::Pow if ty.is_signed() => second.is_none_or(|e| e < 0),
        _ => false,
    }
}

fn constant(func: &Function, v: Var) -> Option<i128> {
    match func.inst(v)?.op {
        Op::Const(c) => c.as_int(),
        _ => None,
    }
}

/// Whether the number of elements certainly equals the product of the new sizes.
fn reshapes(func: &Function, facts: &Facts, inst: &Inst, depth: u32) -> bool {
    let product = |sizes: &[Size]| sizes.iter().fold(Size::constant(1), |p, s| p.mul(s));
    let Some(from) = func.ty(inst.args[0]).regular_dims(depth as usize) else { return false };
    let to: Vec<Size> = inst.args[1..].iter().map(|v| facts.exact(func, *v)).collect();
    from.iter().all(|s| facts.trusted(func, s))
        && product(&from) == product(&to)
        && to.iter().all(|s| facts.natural(func, s))
}
