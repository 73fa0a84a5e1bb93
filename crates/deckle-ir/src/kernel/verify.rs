//! The invariants of every kernel program.

use super::*;
use std::collections::HashSet;

/// Checks that nodes refer backwards and outwards, that types fit, that rows name their offsets, that steps name existing buffers and do not ask the host for values that only a
/// kernel computes, and that streams name their sources, sinks and state.
///
/// # Errors
/// Everything that is wrong.
pub fn verify(program: &Program) -> Result<(), Vec<String>> {
    let mut wrong = Vec::new();
    let scans = program.nodes.iter().filter_map(|data| match data.op {
        Op::Scan { from, .. } => Some((data.space, from)),
        _ => None,
    });
    let scans: Vec<(Space, Space)> = scans.collect();
    for (i, data) in program.nodes.iter().enumerate() {
        let n = Node(i as u32);
        for operand in program.operands(n) {
            if operand >= n {
                wrong.push(format!("{n} uses {operand}, which is not made before it"));
                return Err(wrong);
            }
        }
        let direct: Vec<Node> = match &data.op {
            Op::Fold { init, .. } | Op::Scan { init, .. } => init.iter().flatten().copied().collect(),
            Op::If { .. } => Vec::new(),
            Op::Loop { init, .. } => init.clone(),
            _ => program.operands(n),
        };
        for operand in direct {
            if !program.encloses(program.space_of(operand), data.space) {
                wrong.push(format!("{n} at {} uses {operand} at {}", data.space, program.space_of(operand)));
            }
        }
        if let Op::Fold { over, elems, .. } = &data.op {
            if !program.encloses(data.space, *over) {
                wrong.push(format!("{n} folds over {over}, which is not below {}", data.space));
            }
            for e in elems {
                if !program.encloses(program.space_of(*e), *over) {
                    wrong.push(format!("{n} folds {e}, which is not of {over}"));
                }
            }
        }
        if let Op::If { yes, then, no, other } = &data.op {
            for (side, values) in [(*yes, then), (*no, other)] {
                // Few programs have such a scan, and collecting the dependencies of a value takes long.
                let some =
                    scans.iter().any(|(space, from)| program.encloses(side, *space) && !program.encloses(side, *from));
                if let Some(scan) = some.then(|| program.scan_across(side, values)).flatten() {
                    wrong.push(format!("{n} needs {scan}, which goes from point to point of {side}"));
                }
            }
        }
        if let Op::Binary(op, a, b) = data.op
            && program.ty(a) != program.ty(b)
        {
            wrong.push(format!("{n}: {} of {} and {}", op.name(), program.ty(a), program.ty(b)));
        }
        if matches!(data.op, Op::Pos) && !matches!(program.space(data.space).region, Region::Dim(_)) {
            wrong.push(format!("{n} is a position in {}, which is no dimension", data.space));
        }
        if let Op::Load(b, _) = data.op
            && program.bufs[b.index()].elem != data.ty
        {
            wrong.push(format!("{n} is {}, but {b} holds {}", data.ty, program.bufs[b.index()].elem));
        }
        if let Op::Fma(x, y, z) = data.op
            && !(data.ty.is_float() && [x, y, z].iter().all(|n| program.ty(*n) == data.ty))
        {
            wrong.push(format!("{n}: fma of other types than its own"));
        }
        if let Op::Select(c, x, y) = data.op
            && (program.ty(x) != program.ty(y) || program.ty(c) != ScalarType::Bool)
        {
            wrong.push(format!("{n} selects between different types"));
        }
    }
    for (i, s) in program.spaces.iter().enumerate() {
        if let Region::Dim(n) | Region::Guard(n, _) = s.region
            && !program.encloses(program.space_of(n), s.parent)
        {
            wrong.push(format!("{} is measured by {n} of {}", Space(i as u32), program.space_of(n)));
        }
        let offsets = if let Region::Dim(n) = s.region { program.offsets_of(s.parent, n) } else { None };
        if s.offsets != offsets {
            let name = |b: Option<Buf>| b.map_or("no buffer".to_string(), |b| b.to_string());
            wrong.push(format!("{} has rows of {}, and says of {}", Space(i as u32), name(offsets), name(s.offsets)));
        }
    }
    steps(program, &program.steps, &mut wrong);
    on_host(program, &mut wrong);
    stream::check(program, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn condition(program: &Program, n: Node, wrong: &mut Vec<String>) {
    if program.space_of(n) != ROOT || program.ty(n) != ScalarType::Bool {
        wrong.push(format!("{n} is no condition of the root"));
    }
}

fn steps(program: &Program, list: &[Step], wrong: &mut Vec<String>) {
    for step in list {
        match step {
            Step::Alloc(_, n) | Step::Take(_, _, n) | Step::Pull { count: n, .. } if program.space_of(*n) != ROOT => {
                wrong.push(format!("{n} is not of the root"));
            }
            Step::Run(kernel) => {
                for sink in &kernel.sinks {
                    let (space, nodes) = program.sink_parts(sink);
                    if let Sink::Write { buf, value, .. } = sink
                        && program.bufs[buf.index()].elem != program.ty(*value)
                    {
                        wrong.push(format!("{value} is written to {buf}, which is of another type"));
                    }
                    let here =
                        if let Sink::Scatter { values, .. } = sink { &nodes[..2 + values.len()] } else { &nodes };
                    for n in here {
                        if !program.encloses(program.space_of(*n), space) {
                            wrong.push(format!("a sink at {space} uses {n} at {}", program.space_of(*n)));
                        }
                    }
                }
            }
            Step::If(cond, yes, no) => {
                condition(program, *cond, wrong);
                steps(program, yes, wrong);
                steps(program, no, wrong);
            }
            Step::While { test, cond, body, .. } => {
                condition(program, *cond, wrong);
                steps(program, test, wrong);
                steps(program, body, wrong);
            }
            _ => {}
        }
    }
}

/// The host computes sizes, counts, conditions and checks: nodes of the root that do not depend on a loop.
fn on_host(program: &Program, wrong: &mut Vec<String>) {
    let mut todo = program.result.sizes();
    asked(&program.steps, &mut todo);
    let mut seen = HashSet::new();
    while let Some(n) = todo.pop() {
        if !seen.insert(n) {
            continue;
        }
        match &program.node(n).op {
            // The operands of a failed check may depend on loops: a kernel computes them then.
            Op::Check { cond, value, .. } => todo.extend([*cond, *value]),
            Op::Part(group, _) => match &program.node(*group).op {
                Op::If { yes, then, other, .. } => {
                    if let Region::Guard(cond, _) = program.space(*yes).region {
                        todo.push(cond);
                    }
                    todo.extend(then.iter().chain(other));
                }
                _ => wrong.push(format!("the host is asked for {n}, which is part of a fold or loop")),
            },
            Op::Fold { .. } | Op::Scan { .. } | Op::Loop { .. } | Op::Pos | Op::Var(_) => {
                wrong.push(format!("the host is asked for {n}, which only a kernel computes"));
            }
            _ => todo.extend(program.operands(n)),
        }
    }
}

/// The nodes that steps require the host to compute.
fn asked(list: &[Step], all: &mut Vec<Node>) {
    for step in list {
        match step {
            Step::Alloc(_, n) | Step::Take(_, _, n) | Step::Check(n) => all.push(*n),
            Step::Sort { len, rows, .. } => all.extend([*len, *rows]),
            Step::Pull { count, rep, .. } => {
                all.push(*count);
                all.extend(rep.sizes());
            }
            Step::Push { rep, .. } => all.extend(rep.sizes()),
            Step::If(cond, yes, no) => {
                all.push(*cond);
                asked(yes, all);
                asked(no, all);
            }
            Step::While { test, cond, body, .. } => {
                all.push(*cond);
                asked(test, all);
                asked(body, all);
            }
            Step::Run(_) | Step::Bind(_) | Step::Free(_) => {}
        }
    }
}
