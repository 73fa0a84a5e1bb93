//! Which statements of a function go through sequences together, and whether they can do so in chunks.

use super::{Whole, uses};
use super::state::State;
use deckle_ir::array::{Coll, Direction, Function, Op, ScanKind};
use deckle_ir::entity::Var;
use std::collections::HashMap;

/// Statements that one loop goes through.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// All of them, in order.
    pub stmts: Vec<Var>,
    /// Those in which sequences begin.
    pub sources: Vec<Var>,
    /// A sequence that is the result of the function.
    result: Option<Var>,
}

impl Group {
    /// What its statements use from outside.
    pub(super) fn outside(&self, function: &Function) -> Vec<Var> {
        let all = self.stmts.iter().flat_map(|s| uses(function, *s));
        all.filter(|v| self.stmts.binary_search(v).is_err()).collect()
    }

    /// Whether a sequence is kept, as the result of the function.
    pub(super) fn keeps(&self, s: Var) -> bool {
        self.result == Some(s)
    }
}

/// The representative of a variable, among those that belong together.
fn find(parents: &mut HashMap<Var, Var>, v: Var) -> Var {
    let parent = *parents.entry(v).or_insert(v);
    if parent == v {
        return v;
    }
    let root = find(parents, parent);
    parents.insert(v, root);
    root
}

/// The groups of a function's own statements, in the order of their first statements.
///
/// # Errors
/// What keeps one from being traversed in chunks.
pub(super) fn groups(function: &Function) -> Result<Vec<Group>, Whole> {
    let body = function.body(Function::ROOT);
    let is_seq = |v: &Var| !function.ty(*v).is_concrete();
    if body.params.contains(&body.result) && is_seq(&body.result) {
        return Err(Whole { why: "a parameter is the result", span: function.span(body.result) });
    }
    let mut parents = HashMap::new();
    let mut stmts = Vec::new();
    for &s in &body.stmts {
        let mut touched: Vec<Var> = uses(function, s).into_iter().filter(is_seq).collect();
        if touched.is_empty() && !is_seq(&s) {
            continue;
        }
        touched.push(s);
        stmts.push(s);
        for v in touched {
            let (a, b) = (find(&mut parents, s), find(&mut parents, v));
            parents.insert(a, b);
        }
    }
    let mut groups: Vec<(Var, Group)> = Vec::new();
    for s in stmts {
        let root = find(&mut parents, s);
        let at = groups.iter().position(|(r, _)| *r == root).unwrap_or_else(|| {
            groups.push((root, Group { stmts: Vec::new(), sources: Vec::new(), result: None }));
            groups.len() - 1
        });
        let group = &mut groups[at].1;
        group.stmts.push(s);
        if body.result == s && is_seq(&s) {
            group.result = Some(s);
        }
    }
    let mut all: Vec<Group> = groups.into_iter().map(|(_, g)| g).collect();
    all.iter_mut().try_for_each(|g| together(function, g))?;
    Ok(all)
}

/// Sees to it that all sequences of a group that begin in it advance together, and that everything else follows from them.
fn together(function: &Function, group: &mut Group) -> Result<(), Whole> {
    // The rate of each sequence; `None` is that of those that begin here.
    let mut rates: HashMap<Var, Option<Var>> = HashMap::new();
    for v in group.outside(function).into_iter().filter(|v| !function.ty(*v).is_concrete()) {
        if !function.ty(v).is_seq() {
            return Err(Whole { why: "a parameter holds several sequences", span: function.span(v) });
        }
        if rates.insert(v, None).is_none() {
            group.sources.push(v);
        }
    }
    for &s in &group.stmts {
        let span = function.span(s);
        let no = |why| Err(Whole { why, span });
        let Some(inst) = function.inst(s) else { return no("it is a parameter") };
        let ty = function.ty(s);
        let operands: Vec<Option<Var>> = inst.args.iter().filter_map(|v| rates.get(v).copied()).collect();
        let same = operands.windows(2).all(|w| w[0] == w[1]);
        if group.result == Some(s) && !ty.is_seq() {
            return no("the result holds several sequences");
        }
        match &inst.op {
            Op::Iota(Coll::Seq) | Op::Range(Coll::Seq, _) | Op::Produce | Op::Seq | Op::MkSeq(_) | Op::Use(_)
                if operands.is_empty() && ty.is_seq() =>
            {
                group.sources.push(s);
                rates.insert(s, None);
            }
            Op::Map | Op::Zip if same && ty.is_seq() => {
                rates.insert(s, operands.first().copied().flatten());
            }
            Op::Map | Op::Zip => return no("sequences that advance at different rates go together"),
            Op::Flatten => {
                rates.insert(s, Some(s));
            }
            Op::Scan(Direction::Left, ScanKind::Inclusive | ScanKind::Exclusive)
                if inst.args.len() == 2 && State::of(function, s).is_some() =>
            {
                rates.insert(s, operands.first().copied().flatten());
            }
            _ if ty.is_concrete() && State::of(function, s).is_some() => {}
            _ => return no(inst.op.info().name),
        }
    }
    match group.sources.is_empty() {
        true => Err(Whole { why: "it begins nowhere", span: function.span }),
        false => Ok(()),
    }
}
