//! Storing sequences in memory where a program needs that to run.

use super::{Fault, Place, Reason, analyse};
use deckle_diag::Span;
use deckle_ir::array::{Builder, Copied, Copier, Op, Program, Rewrite, TypeError, rewrite};
use deckle_ir::entity::{Func, Var};
use deckle_ir::types::Type;
use std::collections::HashMap;

/// A stored sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The vector that holds it, in the new program.
    pub place: Place,
    /// The place of the sequence in the source.
    pub span: Span,
    /// The place where it is traversed again.
    pub at: Span,
}

/// A copy of the program that can be streamed, and the sequences stored for that. `None` if no `tab` helps.
pub fn materialize(program: &Program) -> Option<(Program, Vec<Kept>)> {
    let mut now = (program.clone(), Vec::new());
    // Every round fixes something; there are no more faults than statements.
    let mut rounds: usize = program.funcs.iter().map(|f| f.vars.len()).sum();
    for k in 0..program.funcs.len() {
        let func = Func(k as u32);
        while let Some(fault) = analyse(&now.0, func).fault {
            rounds = rounds.checked_sub(1)?;
            now = mend(&now, func, &fault)?;
        }
    }
    Some(now)
}

type Mended = (Program, Vec<Kept>);

/// The first change that removes a fault.
fn mend(now: &Mended, func: Func, fault: &Fault) -> Option<Mended> {
    let mut fallback = None;
    for (place, seqs) in candidates(&now.0, fault) {
        let Some(changed) = keep(now, place, &seqs) else { continue };
        match analyse(&changed.0, func).fault {
            None => return Some(changed),
            // Another fault: this one is fixed, and the next round handles the other.
            Some(other) if !same_kind(&other, fault) && fallback.is_none() => fallback = Some(changed),
            Some(_) => {}
        }
    }
    fallback
}

fn same_kind(a: &Fault, b: &Fault) -> bool {
    match (a, b) {
        (Fault::Order(a), Fault::Order(b)) => a.len() == b.len(),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// Statements and the sequences that each uses that may be worth storing, the most likely first.
fn candidates(program: &Program, fault: &Fault) -> Vec<(Place, Vec<Var>)> {
    let (uses, others): (Vec<Place>, Vec<Place>) = match fault {
        Fault::TooLarge(_) => return Vec::new(),
        Fault::Rates(place) => (vec![*place], Vec::new()),
        Fault::Order(reasons) => {
            let of = |want: fn(&Reason) -> Option<Place>| reasons.iter().filter_map(want).collect::<Vec<_>>();
            let first = of(|r| match r {
                Reason::Uses(p) | Reason::Follows(p) => Some(*p),
                _ => None,
            });
            let rest = of(|r| match r {
                Reason::Together(p) | Reason::Ends(p) => Some(*p),
                _ => None,
            });
            (first, rest)
        }
    };
    let mut list = Vec::new();
    for place in uses.into_iter().chain(others) {
        let function = &program.funcs[place.func.index()];
        let Some(inst) = function.inst(place.var) else { continue };
        let mut seqs: Vec<Var> = inst.args.clone();
        if matches!(inst.op, Op::If | Op::Guard) {
            seqs.extend(inst.bodies.iter().flat_map(|b| function.free_vars(*b)));
        }
        seqs.retain(|v| function.ty(*v).is_seq());
        seqs.sort();
        seqs.dedup();
        // The last operands wait for those before them.
        list.extend(seqs.iter().rev().map(|&v| (place, vec![v])));
        if seqs.len() > 1 {
            list.push((place, seqs));
        }
    }
    list
}

/// A copy of the program in which sequences that a statement uses are stored in memory and traversed from there.
fn keep((program, kept): &Mended, place: Place, seqs: &[Var]) -> Option<Mended> {
    let k = place.func.index();
    let old = &program.funcs[k];
    let mut keeper = Keeper { place, seqs, kept: Vec::new(), moved: HashMap::new() };
    let mut funcs = program.funcs[..k].to_vec();
    funcs.push(rewrite(&program.funcs[..k], old, &mut keeper).ok()?);
    // Its callers are rebuilt, so that their sizes are correct.
    for later in &program.funcs[k + 1..] {
        let copy = rewrite(&funcs, later, &mut Same).ok()?;
        funcs.push(copy);
    }
    let mut kept = kept.clone();
    for old in kept.iter_mut().filter(|old| old.place.func == place.func) {
        old.place.var = *keeper.moved.get(&old.place.var)?;
    }
    kept.extend(keeper.kept.iter().zip(seqs).map(|(&var, &seq)| Kept {
        place: Place { func: place.func, var },
        span: old.span(seq),
        at: old.span(place.var),
    }));
    Some((Program { funcs }, kept))
}

struct Same;

impl Rewrite for Same {
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Copied<()> {
        copy.statement(self, s)
    }
}

struct Keeper<'a> {
    place: Place,
    seqs: &'a [Var],
    kept: Vec<Var>,
    moved: HashMap<Var, Var>,
}

impl Rewrite for Keeper<'_> {
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Copied<()> {
        if s == self.place.var {
            let inst = copy.inst(s)?;
            let mut args = inst.args.iter().map(|v| copy.var(*v)).collect::<Copied<Vec<_>>>()?;
            let mut before = Vec::new();
            for &v in self.seqs {
                let (now, span) = (copy.var(v)?, copy.old.span(v));
                let ty = copy.b.ty(now).clone();
                let array = whole(&mut copy.b, now, span)?;
                self.kept.push(array);
                // Each use is a traversal of its own.
                for k in (0..args.len()).filter(|&k| inst.args[k] == v) {
                    args[k] = streamed(&mut copy.b, array, &ty, span)?;
                }
                if !inst.args.contains(&v) {
                    let again = streamed(&mut copy.b, array, &ty, span)?;
                    before.push((v, now));
                    copy.stand(v, again);
                }
            }
            copy.statement_with(self, s, &args)?;
            // Later statements traverse the sequence itself.
            before.into_iter().for_each(|(v, now)| copy.stand(v, now));
        } else {
            copy.statement(self, s)?;
        }
        self.moved.insert(s, copy.var(s)?);
        Ok(())
    }
}

/// A value with vectors for its sequences.
pub fn whole(b: &mut Builder<'_>, v: Var, span: Span) -> Result<Var, TypeError> {
    let ty = b.ty(v).clone();
    match &ty {
        Type::Seq(elem) if elem.is_concrete() => b.push(Op::Tab, &[v], &[], span),
        Type::Seq(_) => {
            let (body, params) = b.begin_body_of(&Op::Map, &[v], 0, span)?;
            let inner = whole(b, params[0], span)?;
            b.end_body(inner);
            let all = b.push(Op::Map, &[v], &[body], span)?;
            b.push(Op::Tab, &[all], &[], span)
        }
        Type::Tuple(_) | Type::Record(_) if !ty.is_concrete() => each(b, v, span, &mut |b, v, _| whole(b, v, span)),
        _ => Ok(v),
    }
}

/// The value of type `ty` that [`whole`] was made from.
pub fn streamed(b: &mut Builder<'_>, v: Var, ty: &Type, span: Span) -> Result<Var, TypeError> {
    match ty {
        Type::Seq(elem) => {
            let seq = b.push(Op::Seq, &[v], &[], span)?;
            if elem.is_concrete() {
                return Ok(seq);
            }
            let (body, params) = b.begin_body_of(&Op::Map, &[seq], 0, span)?;
            let inner = streamed(b, params[0], elem, span)?;
            b.end_body(inner);
            b.push(Op::Map, &[seq], &[body], span)
        }
        Type::Tuple(_) | Type::Record(_) if !ty.is_concrete() => {
            let parts: Vec<Type> = ty.parts().unwrap_or_default().into_iter().cloned().collect();
            each(b, v, span, &mut |b, v, k| streamed(b, v, &parts[k], span))
        }
        _ => Ok(v),
    }
}

/// Applies `f` to each component of a tuple or record.
fn each(
    b: &mut Builder<'_>,
    v: Var,
    span: Span,
    f: &mut dyn FnMut(&mut Builder<'_>, Var, usize) -> Result<Var, TypeError>,
) -> Result<Var, TypeError> {
    let ty = b.ty(v).clone();
    let count = ty.parts().map_or(0, |p| p.len());
    let mut parts = Vec::with_capacity(count);
    for k in 0..count {
        let part = b.push(Op::Proj(k as u32), &[v], &[], span)?;
        parts.push(f(b, part, k)?);
    }
    let op = match &ty {
        Type::Record(r) => {
            let fields = r.fields.iter().map(|(n, _)| n.clone()).collect();
            Op::Record(std::sync::Arc::new(deckle_ir::array::RecordShape { name: r.name.clone(), fields }))
        }
        _ => Op::Tuple,
    };
    b.push(op, &parts, &[], span)
}
