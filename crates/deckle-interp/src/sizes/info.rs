//! Static facts about the sizes of a function.

use deckle_ir::array::{Function, Inst, Op};
use deckle_ir::cost;
use deckle_ir::entity::{Body, SizeVar, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

/// Static facts about a function.
#[derive(Debug)]
pub(crate) struct Info {
    /// For each body, the widths of the variables that it uses from outside.
    pub aux: Vec<u64>,
    /// For each body, whether it is a single scalar operator applied to its two parameters.
    pub basic: Vec<bool>,
    /// For each variable, the size variables that it binds and that are read.
    pub(super) binds: Vec<Vec<SizeVar>>,
    /// For each size variable, whether its numbers must outlive the elements that determine them.
    pub(super) lasting: Vec<bool>,
}

impl Info {
    /// Without `all`, only the size variables are bound that `ensure`, `shape`, `transpose` and `call` may read.
    pub(crate) fn new(function: &Function, all: bool) -> Info {
        let mut wanted = vec![all; function.sizes.len()];
        let mut want = |ty: &Type| {
            ty.any_atom(&mut |a, _| {
                if let Atom::Var(s, _) = a
                    && let Some(w) = wanted.get_mut(s.index())
                {
                    *w = true;
                }
                false
            });
        };
        for v in (0..function.vars.len()).map(|i| Var(i as u32)) {
            match function.inst(v).map(|inst| (&inst.op, &inst.args)) {
                Some((Op::Ensure(ty), _)) => want(ty),
                Some((Op::Shape(_) | Op::Transpose(_) | Op::Call(_), args)) => {
                    args.iter().for_each(|a| want(function.ty(*a)))
                }
                _ => {}
            }
        }
        let mut binds = vec![Vec::new(); function.vars.len()];
        for (i, data) in function.sizes.iter().enumerate() {
            let parameter = function.params().contains(&data.binder);
            if let Some(list) = binds.get_mut(data.binder.index())
                && (wanted[i] || parameter)
            {
                list.push(SizeVar(i as u32));
            }
        }
        let bodies = || (0..function.bodies.len() as u32).map(Body);
        let aux = bodies().map(|b| cost::aux(function, b)).collect();
        let basic = bodies().map(|b| cost::basic(function, b)).collect();
        Info { aux, basic, binds, lasting: lasting(function) }
    }

    /// Whether a variable binds sizes that are read.
    pub(crate) fn binds_sizes(&self, v: Var) -> bool {
        !self.binds[v.index()].is_empty()
    }
}

/// Which size variables concern more than one element: those that are the same for all elements, and those that several
/// variables mention, or several parts of an element that are computed separately.
fn lasting(function: &Function) -> Vec<bool> {
    let mut mentions = vec![0; function.sizes.len()];
    let mut mention = |mut sizes: Vec<SizeVar>| {
        sizes.sort();
        sizes.dedup();
        sizes.into_iter().for_each(|s| mentions[s.index()] += 1);
    };
    for v in (0..function.vars.len()).map(|i| Var(i as u32)) {
        let param = function.params().contains(&v);
        if param || !function.ty(v).is_concrete() {
            for_each_concrete(function.ty(v), &mut |part| {
                let mut sizes = Vec::new();
                part.for_each_size(&mut |size, _| mentioned(size, &mut sizes));
                sizes.retain(|s| param || function.size_binder(*s) == Some(v));
                mention(sizes);
            });
        }
        if let Some(Inst { op: Op::Ensure(ty), args, .. }) = function.inst(v) {
            let (mut before, mut sizes) = (Vec::new(), Vec::new());
            function.ty(args[0]).for_each_size(&mut |size, _| before.push(size.clone()));
            let mut before = before.into_iter();
            ty.for_each_size(&mut |size, _| {
                if before.next().as_ref() != Some(size) {
                    mentioned(size, &mut sizes);
                }
            });
            mention(sizes);
        }
    }
    function.sizes.iter().zip(mentions).map(|(data, mentions)| data.arity == 0 || mentions > 1).collect()
}

/// Adds the size variables in a size.
fn mentioned(size: &Size, vars: &mut Vec<SizeVar>) {
    size.any_atom(&mut |a, _| {
        if let Atom::Var(s, _) = a {
            vars.push(*s);
        }
        false
    });
}

/// The largest parts of a type that are concrete.
fn for_each_concrete(ty: &Type, f: &mut dyn FnMut(&Type)) {
    match (ty.parts(), ty.as_seq()) {
        _ if ty.is_concrete() => f(ty),
        (Some(parts), _) => parts.into_iter().for_each(|part| for_each_concrete(part, f)),
        (_, Some(elem)) => for_each_concrete(elem, f),
        _ => {}
    }
}
