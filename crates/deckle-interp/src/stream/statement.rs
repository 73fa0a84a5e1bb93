//! The process of each statement.

use super::channel::{Flow, Out, Port};
use super::collect::{Count, Literal, Whole};
use super::control::{Branch, The};
use super::elements::{Map, Unzip, Zip};
use super::net::{Data, Env, Group, Label, Net};
use super::pass::{FlagPart, Flatten, Forward};
use super::scan::{Fold, Scan};
use deckle_ir::array::{Function, Inst, Op};
use deckle_ir::entity::{Func, Var};
use deckle_ir::types::Type;
use std::rc::Rc;

/// The remaining stack below which more is allocated before the statements of a callee become processes, and how much.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// Starts the process of a statement of a frame, which is registered with everything that it will read, and returns its result.
pub(super) fn start<'p, D: Data<'p>>(
    net: &mut Net<'p, '_, D>,
    env: &Rc<Env<'p, D>>,
    v: Var,
    group: &Group,
) -> Flow<D::V> {
    let function = env.function;
    let Some(inst) = function.inst(v) else { return Flow::of_type(function.ty(v)) };
    let of = Label { func: env.func, var: v, span: function.span(v) };
    let operands: Vec<Flow<D::V>> =
        inst.args.iter().map(|a| env.flow(*a).unwrap_or_else(|| Flow::of_type(function.ty(*a)))).collect();
    if let Some(flow) = alias(function, v, inst, &operands) {
        return flow;
    }
    if let Op::Call(f) = inst.op
        && !(function.ty(v).is_concrete() && inst.args.iter().all(|a| function.ty(*a).is_concrete()))
    {
        return stacker::maybe_grow(RED_ZONE, MORE_STACK, || call(net, env, f, operands, group, of));
    }
    let first_is_stream = matches!(operands.first(), Some(Flow::Stream(_)));
    let result = match (&inst.op, function.ty(v).parts()) {
        // Also for empty tuples: there is no value to wait for.
        (Op::Unzip, Some(parts)) if first_is_stream => Flow::Tuple(parts.into_iter().map(Flow::of_type).collect()),
        _ => Flow::of_type(function.ty(v)),
    };
    let wants = wants(function, inst);
    let port = |k: usize| match operands.get(k) {
        Some(Flow::Stream(channel)) => Some(Port::new(channel)),
        _ => None,
    };
    let streams = || operands.iter().filter_map(|o| if let Flow::Stream(c) = o { Some(Port::new(c)) } else { None });
    match (&inst.op, inst.bodies.as_slice()) {
        (Op::If | Op::Guard, bodies) => net.spawn(group, of, Branch::new(env, of, inst.args[0], bodies, &result)),
        (Op::MkSeq(_), _) => net.spawn(group, of, Literal::new(operands, &result)),
        (Op::Produce, [body]) => {
            net.spawn(group, of, Map::new(env, of, *body, wants, Vec::new(), &result).produce(inst.args[0]))
        }
        (Op::Map, [body]) if first_is_stream => {
            let ports = streams().collect();
            net.spawn(group, of, Map::new(env, of, *body, wants, ports, &result))
        }
        (Op::Zip, _) if first_is_stream => net.spawn(group, of, Zip::new(streams().collect(), &result, of)),
        (Op::Append, _) => net.spawn(group, of, Forward::new(streams().collect(), Out::of(&result))),
        (Op::Scan(..) | Op::ScanOrdered, _) if !function.ty(v).is_concrete() => {
            let start = (inst.args.len() == 2).then(|| inst.args[0]);
            if let (Some(port), Some(kind)) = (port(inst.args.len() - 1), inst.op.scan_kind()) {
                net.spawn(group, of, Scan::new(env, of, (kind, start), wants, port, &result))
            }
        }
        (Op::Fold | Op::Fold1 | Op::FoldOrdered | Op::Reduce(_), _) if folds_in_time(function, v, inst) => {
            if let Some(port) = port(inst.args.len() - 1) {
                net.spawn(group, of, Fold::new(env, of, wants, port, &result))
            }
        }
        (Op::FlagPart, _) => {
            if let (Some(elems), Some(flags)) = (port(0), port(1)) {
                net.spawn(group, of, FlagPart::new(elems, flags, &result, of.span))
            }
        }
        (Op::Unzip | Op::Flatten | Op::Length | Op::Empty, _) if first_is_stream => {
            let Some(port) = port(0) else { return result };
            match inst.op {
                Op::Unzip => net.spawn(group, of, Unzip::new(port, &result)),
                Op::Flatten => net.spawn(group, of, Flatten::new(port, &result)),
                _ => net.spawn(group, of, Count::new(port, &result, matches!(inst.op, Op::Empty))),
            }
        }
        (Op::The, _) if !function.ty(v).is_concrete() => {
            if let Some(port) = port(0) {
                net.spawn(group, of, The::new(port, &result, of))
            }
        }
        _ => net.spawn(group, of, Whole::new(env, of, wants, &operands, &result, group)),
    }
    result
}

/// The result of a statement that only builds or destructures tuples: it need not wait for all parts.
fn alias<V: Clone>(function: &Function, v: Var, inst: &Inst, operands: &[Flow<V>]) -> Option<Flow<V>> {
    match (&inst.op, operands) {
        (Op::Tuple | Op::Record(_), _) => Some(Flow::Tuple(operands.into())),
        (Op::Proj(k), [Flow::Tuple(parts)]) => parts.get(*k as usize).cloned(),
        (Op::Ensure(_), [flow]) if !function.ty(v).is_concrete() => Some(flow.clone()),
        _ => None,
    }
}

/// Whether a fold is one of a sequence of concrete elements.
fn folds_in_time(function: &Function, v: Var, inst: &Inst) -> bool {
    let operand = inst.args.last().map(|xs| function.ty(*xs));
    let elem = operand.filter(|ty| !ty.is_concrete()).and_then(Type::elem);
    elem.is_some_and(Type::is_concrete) && function.ty(v).is_concrete()
}

/// The concrete variables that a statement needs before it begins: operands, and those that its bodies use. The sizes that `ensure`
/// compares are not among them: unknown ones are compared later.
fn wants(function: &Function, inst: &Inst) -> Vec<Var> {
    let mut wants: Vec<Var> = inst.args.clone();
    wants.extend(inst.bodies.iter().flat_map(|b| function.free_vars(*b)));
    wants.retain(|w| function.ty(*w).is_concrete());
    wants.sort();
    wants.dedup();
    wants
}

/// The statements of a callee become processes of the caller; they read the arguments in place of its parameters.
fn call<'p, D: Data<'p>>(
    net: &mut Net<'p, '_, D>,
    caller: &Rc<Env<'p, D>>,
    func: Func,
    args: Vec<Flow<D::V>>,
    group: &Group,
    of: Label,
) -> Flow<D::V> {
    let local = net.data.callee(caller, of.var, func);
    let env = Env::root(net.program, func, Function::ROOT, local);
    for (&p, arg) in env.function.params().iter().zip(args) {
        env.define(p, arg);
    }
    net.watch_params(&env, group, of.span);
    net.start(&env, group)
}
