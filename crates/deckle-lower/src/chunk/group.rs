//! Which statements of a function share a traversal, and how far each sequence advances in a step.
//!
//! Sequences with the same number of elements have one *rate*. A rate is either that of a *clock*, where sequences begin, or that of a statement whose output has another number of elements than its input.
//! `zip` and `map` unify two rates. Two clocks that meet become one. If a clock meets a computed sequence, the sequences that begin at the clock *follow*: they advance by the number of elements
//! computed in the step. `++` orders clocks: those of its second operand do not advance until those of the first have ended. Elements and flags of `flagpart`, and
//! computed sequences that are traversed in lockstep, may have different rates: whichever is ahead waits for the others.

use super::Whole;
use super::large::{self, Runs};
use super::open::Open;
use super::plan::{self, Text};
use super::state::State;
use crate::cuts::Cuts;
use deckle_diag::Span;
use deckle_ir::array::{Coll, Def, Direction, Function, Inst, Op, ScanKind};
use deckle_ir::entity::Var;
use deckle_ir::size::Atom;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Statements that share one loop.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// All of them, in execution order.
    pub stmts: Vec<Var>,
    /// The statements and parameters in which sequences begin, and how they advance.
    pub sources: Vec<(Var, Pace)>,
    /// For sources that are traversed in lockstep with an earlier sequence: the first such place.
    pub meets: HashMap<Var, Meet>,
    /// For each clock those that have to end before it.
    pub clocks: Vec<BTreeSet<usize>>,
    /// Statements in which one sequence may be ahead of another.
    pub meetings: Vec<Meeting>,
    /// Sequences that are the result of the function, or parts of it, of any group, each once.
    pub results: Vec<Var>,
    /// Whether these are gathered rather than delivered.
    pub gathers: bool,
    /// Conditions that are decided, and the value of each.
    pub decided: Vec<(Var, Var)>,
    /// Statements whose elements are processed in runs.
    pub runs: Vec<Runs>,
    /// Statements whose groups may be open.
    pub opens: Vec<Open>,
    pub cuts: Arc<Cuts>,
}

impl Group {
    /// The open groups of a statement, if its groups may be open.
    pub(super) fn opens(&self, s: Var) -> Option<&Open> {
        self.opens.iter().find(|open| open.stmt == s)
    }

    /// Where a source is first traversed in lockstep with another.
    pub(super) fn meets(&self, source: Var) -> Option<Meet> {
        let pace = self.sources.iter().find(|(s, _)| *s == source)?.1;
        let others = self.sources.iter().filter(|(_, p)| *p == pace).map(|(s, _)| s);
        [&source].into_iter().chain(others).find_map(|s| self.meets.get(s)).copied()
    }

    /// How sequences of different rates meet in a statement, if they do.
    pub(super) fn meeting(&self, s: Var) -> Option<&Meeting> {
        self.meetings.iter().find(|m| m.stmt == s)
    }

    /// How a statement that is a result is delivered.
    pub(super) fn given(&self, s: Var) -> Option<State> {
        let number = self.results.iter().position(|v| *v == s)?;
        Some(if self.gathers { State::Gathered } else { State::Pushed(number as u32) })
    }

    /// Whether elements have to wait for others.
    pub(super) fn has_to_wait(&self) -> bool {
        !self.meetings.is_empty() || self.sources.iter().any(|(_, pace)| matches!(pace, Pace::Follows(_)))
    }
}

/// Where a source is traversed in lockstep with another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meet {
    pub span: Span,
    /// The operand that is compared with the first one there.
    pub operand: usize,
    /// Whether the source is at the rate of the first one.
    pub is_first: bool,
}

/// Where sequences of different rates meet: elements and flags of a `flagpart`, or the operands of a `zip` or `map`.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    pub stmt: Var,
    /// For each operand its side: those of one side have one rate.
    pub sides: Vec<usize>,
    /// For each side the clocks that advance with no other side.
    pub clocks: Vec<BTreeSet<usize>>,
}

/// How a sequence that begins in a group advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// With a clock.
    Clock(usize),
    /// By the number of elements that a statement has computed.
    Follows(Var),
}

/// Disjoint sets: each element points to another one of its set, up to a root that points to itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets(HashMap<Var, Var>);

impl Sets {
    pub(super) fn find(&mut self, v: Var) -> Var {
        let next = *self.0.entry(v).or_insert(v);
        if next == v {
            return v;
        }
        let root = self.find(next);
        self.0.insert(v, root);
        root
    }

    pub(super) fn join(&mut self, a: Var, b: Var) {
        let (a, b) = (self.find(a), self.find(b));
        self.0.insert(a, b);
    }
}

/// The analysis of a group.
#[derive(Default)]
struct Rates {
    /// Sequences of one rate.
    same: Sets,
    /// Where sequences begin.
    sources: Vec<Var>,
    /// See [`Group::meets`].
    meets: HashMap<Var, Meet>,
    /// Statements whose output has another number of elements than their inputs, which are listed.
    made: Vec<(Var, Vec<Var>)>,
    /// Operands of `++`.
    appended: Vec<(Var, Var, Span)>,
    /// Statements whose operands have several rates, and the rate of each.
    meetings: Vec<(Var, Vec<usize>)>,
}

impl Rates {
    /// The statement that computes the elements of a sequence, if their number is not that of a clock.
    fn maker(&mut self, v: Var) -> Option<Var> {
        let rate = self.same.find(v);
        let made: Vec<Var> = self.made.iter().map(|(s, _)| *s).collect();
        made.into_iter().find(|s| self.same.find(*s) == rate)
    }

    /// Unifies the rates of the first and of another operand.
    fn meet(&mut self, first: Var, (operand, other): (usize, Var), span: Span) {
        let rates = [self.same.find(first), self.same.find(other)];
        if rates[0] == rates[1] {
            return;
        }
        // The source of each rate that meets no earlier one. The earlier one remains such a source.
        let free = rates.map(|rate| {
            let at = self.sources.clone().into_iter().position(|s| self.same.find(s) == rate);
            at.filter(|i| !self.meets.contains_key(&self.sources[*i]))
        });
        if let Some(i) = free.into_iter().flatten().max() {
            let is_first = free[0] == Some(i);
            self.meets.insert(self.sources[i], Meet { span, operand, is_first });
        }
        self.same.join(first, other);
    }

    /// Sequences are traversed in lockstep: they have one rate, unless several of them are computed, each in its own way.
    fn together(&mut self, s: Var, seqs: &[Var], span: Span) {
        let makers: Vec<Option<Var>> = seqs.iter().map(|v| self.maker(*v)).collect();
        let mut distinct: Vec<Var> = makers.iter().flatten().copied().collect();
        distinct.sort();
        distinct.dedup();
        if distinct.len() < 2 {
            seqs.iter().enumerate().for_each(|(k, v)| self.meet(seqs[0], (k, *v), span));
            self.same.join(seqs[0], s);
            return;
        }
        // The others advance with the first.
        let first = seqs.iter().zip(&makers).find(|(_, m)| **m == Some(distinct[0])).map(|(v, _)| *v);
        let plain = seqs.iter().zip(&makers).enumerate().filter(|(_, (_, m))| m.is_none()).map(|(k, (v, _))| (k, *v));
        plain.zip(first.into_iter().cycle()).for_each(|(v, first)| self.meet(first, v, span));
        let side = |m: &Option<Var>| distinct.iter().position(|d| Some(*d) == *m).unwrap_or(0);
        self.meetings.push((s, makers.iter().map(side).collect()));
        self.made.push((s, seqs.to_vec()));
    }
}

/// The group of some statements.
///
/// # Errors
/// The reason why it cannot be traversed in chunks.
pub(super) fn group(text: &Text<'_>, stmts: Vec<Var>, results: &[Var]) -> Result<Group, Whole> {
    let function = text.function;
    let is_seq = |v: &Var| !function.ty(*v).is_concrete();
    let mut group = Group {
        stmts,
        sources: Vec::new(),
        meets: HashMap::new(),
        clocks: Vec::new(),
        meetings: Vec::new(),
        results: results.to_vec(),
        gathers: text.gathers,
        decided: text.decided.clone(),
        runs: Vec::new(),
        opens: Vec::new(),
        cuts: text.cuts.clone(),
    };
    let mut rates = Rates::default();
    for v in text.outside(&group.stmts).into_iter().filter(is_seq) {
        // The sequences in a parameter begin where they are projected out of it.
        if function.ty(v).is_seq() && !rates.sources.contains(&v) {
            rates.sources.push(v);
        }
    }
    for &s in &group.stmts {
        if names_its_position(function, s) {
            return Err(Whole::new("a size depends on the position in a sequence", function.span(s)));
        }
        statement(text, s, &mut rates)?;
        // A value is known at the end of the traversal.
        let known = |v: &Var| group.stmts.contains(v) && !is_seq(v);
        if text.uses(s).iter().any(known) {
            return Err(Whole::new("it needs a result of a traversal before that ends", function.span(s)));
        }
        if results.contains(&s) && !function.ty(s).is_seq() {
            return Err(Whole::new("the result holds several sequences", function.span(s)));
        }
    }
    pace(function, &mut group, &mut rates)?;
    group.meets = rates.meets;
    group.stmts = in_order(text, &group)
        .ok_or(Whole::new("sequences follow each other in a circle", function.span(group.stmts[0])))?;
    group.opens = group.stmts.iter().filter_map(|s| Open::of(text, &group, *s)).collect();
    group.runs = group.stmts.iter().filter_map(|s| runs(text, &group, *s)).collect();
    Ok(group)
}

/// How a statement processes its elements in runs, if it has to: something would be materialised inside each of them. If each returns a sequence, these are concatenated at once.
fn runs(text: &Text<'_>, group: &Group, s: Var) -> Option<Runs> {
    let function = text.function;
    let inst = function.inst(s).filter(|inst| inst.op == Op::Map)?;
    let is_plain = |v: &Var| function.ty(*v).as_seq().is_some_and(|elem| elem.is_concrete());
    if !inst.args.iter().all(is_plain)
        || group.meetings.iter().any(|m| m.stmt == s)
        || group.results.contains(&s) && !is_plain(&s)
    {
        return None;
    }
    let body = *inst.bodies.first()?;
    let mut flattened = None;
    if !is_plain(&s) {
        let users: Vec<Var> = group.stmts.iter().copied().filter(|t| text.uses(*t).contains(&s)).collect();
        let [user] = users[..] else { return None };
        let is_flat = function.ty(user).as_seq().is_some_and(|elem| elem.is_flat());
        function.inst(user).filter(|inst| inst.op == Op::Flatten && is_flat)?;
        function.inst(function.body(body).result).filter(|_| text.stands_for(user).is_none())?;
        flattened = Some(user);
    }
    let units = plan::inside(text, body, flattened.is_some()).ok()?;
    large::keep_something(&units).then_some(Runs { stmt: s, flattened, units, large: text.cuts.large })
}

/// Whether a type written inside the bodies of a statement has a size that depends on the position in the traversed sequence: in a chunk that position differs.
fn names_its_position(function: &Function, s: Var) -> bool {
    let Some(inst) = function.inst(s) else { return false };
    let Some(first) = inst.bodies.iter().map(|b| function.body(*b).first).min() else { return false };
    let here = |a: &Atom| matches!(a, Atom::At(b) if inst.bodies.contains(b));
    function.vars[first.index()..s.index()].iter().any(|v| {
        let Def::Inst(Inst { op: Op::Ensure(ty) | Op::Array(ty) | Op::MkSeq(ty), .. }) = &v.def else { return false };
        let mut found = false;
        ty.for_each_size(&mut |size, _| found |= size.any_atom(&mut |a, _| here(a)));
        found
    })
}

/// The effect of a statement on rates.
fn statement(text: &Text<'_>, s: Var, rates: &mut Rates) -> Result<(), Whole> {
    let function = text.function;
    let span = function.span(s);
    if let Some(v) = text.stands_for(s) {
        rates.same.join(v, s);
        return Ok(());
    }
    let Some(inst) = function.inst(s) else {
        // A parameter that is a result, too.
        rates.sources.push(s);
        return Ok(());
    };
    let ty = function.ty(s);
    let seqs: Vec<Var> = inst.args.iter().copied().filter(|v| !function.ty(*v).is_concrete()).collect();
    let inside = inst.bodies.iter().flat_map(|b| function.free_vars(*b)).any(|v| !function.ty(v).is_concrete());
    match &inst.op {
        Op::Iota(Coll::Seq)
        | Op::Range(Coll::Seq, _)
        | Op::Produce
        | Op::Seq
        | Op::MkSeq(_)
        | Op::Use(_)
        | Op::Guard
        | Op::Tiles(_)
            if seqs.is_empty() && ty.is_seq() && !inside =>
        {
            rates.sources.push(s);
        }
        Op::Proj(_) if function.inst(inst.args[0]).is_none() && ty.is_seq() => rates.sources.push(s),
        Op::Unzip | Op::Proj(_) if !ty.is_concrete() => rates.same.join(inst.args[0], s),
        Op::Map | Op::Zip if ty.is_seq() && !inside => rates.together(s, &seqs, span),
        Op::Flatten => rates.made.push((s, seqs)),
        Op::FlagPart => {
            rates.meetings.push((s, vec![0, 1]));
            rates.made.push((s, seqs));
        }
        Op::Append => {
            rates.appended.push((inst.args[0], inst.args[1], span));
            rates.made.push((s, seqs));
        }
        Op::Scan(Direction::Left, ScanKind::Inclusive | ScanKind::Exclusive) | Op::ScanOrdered
            if State::of(function, s).is_some() =>
        {
            rates.same.join(inst.args[1], s);
        }
        _ if ty.is_concrete() && State::of(function, s).is_some() && !inside => {}
        op => return Err(Whole::new(format!("`{}` cannot be, as it is used here", op.info().name), span)),
    }
    Ok(())
}

/// How the sources of a group advance.
fn pace(function: &Function, group: &mut Group, rates: &mut Rates) -> Result<(), Whole> {
    // The computed sequence of each rate, if there is one.
    let mut makers: HashMap<Var, Var> = HashMap::new();
    for (s, _) in &rates.made {
        if makers.insert(rates.same.find(*s), *s).is_some() {
            return Err(Whole::new("two filters or the like advance together", function.span(*s)));
        }
    }
    let mut clocks: Vec<Var> = Vec::new();
    for &s in &rates.sources {
        let rate = rates.same.find(s);
        let pace = match makers.get(&rate) {
            Some(maker) => Pace::Follows(*maker),
            None => {
                let known = clocks.iter().position(|c| *c == rate);
                Pace::Clock(known.unwrap_or_else(|| {
                    clocks.push(rate);
                    clocks.len() - 1
                }))
            }
        };
        group.sources.push((s, pace));
    }
    group.clocks = vec![BTreeSet::new(); clocks.len()];
    for (first, second, span) in rates.appended.clone() {
        let (before, after) = (behind(rates, &clocks, first), behind(rates, &clocks, second));
        if !before.is_disjoint(&after) {
            return Err(Whole::new("both parts go through the same sequence", span));
        }
        after.iter().for_each(|c| group.clocks[*c].extend(&before));
    }
    for (s, sides) in rates.meetings.clone() {
        let mut all = vec![BTreeSet::new(); sides.iter().max().map_or(0, |k| k + 1)];
        for (v, side) in function.inst(s).into_iter().flat_map(|i| i.args.clone()).zip(&sides) {
            all[*side].extend(behind(rates, &clocks, v));
        }
        let only = |k: usize| {
            let others = all.iter().enumerate().filter(|(j, _)| *j != k).flat_map(|(_, c)| c.iter().copied());
            &all[k] - &others.collect()
        };
        let clocks = (0..all.len()).map(only).collect();
        group.meetings.push(Meeting { stmt: s, sides, clocks });
    }
    // Nothing waits for itself.
    let mut going: BTreeSet<usize> = BTreeSet::new();
    loop {
        let next = (0..clocks.len()).find(|c| !going.contains(c) && group.clocks[*c].is_subset(&going));
        match next {
            Some(c) => going.insert(c),
            None => break,
        };
    }
    match going.len() == clocks.len() && !clocks.is_empty() {
        true => Ok(()),
        false => Err(Whole::new("nothing can begin", function.span)),
    }
}

/// The clocks that a sequence advances with.
fn behind(rates: &mut Rates, clocks: &[Var], v: Var) -> BTreeSet<usize> {
    let made: Vec<(Var, Vec<Var>)> = rates.made.iter().map(|(s, from)| (*s, from.clone())).collect();
    let (mut found, mut seen, mut pending) = (BTreeSet::new(), BTreeSet::new(), vec![v]);
    while let Some(v) = pending.pop() {
        let rate = rates.same.find(v);
        if !seen.insert(rate) {
            continue;
        }
        found.extend(clocks.iter().position(|c| *c == rate));
        for (s, from) in &made {
            if rates.same.find(*s) == rate {
                pending.extend(from);
            }
        }
    }
    found
}

/// The statements, each after those that it uses and follows.
fn in_order(text: &Text<'_>, group: &Group) -> Option<Vec<Var>> {
    let mut done: Vec<Var> = Vec::new();
    let mut left = group.stmts.clone();
    let follows = |s: Var| match group.sources.iter().find(|(v, _)| *v == s) {
        Some((_, Pace::Follows(maker))) => Some(*maker),
        _ => None,
    };
    while !left.is_empty() {
        let ready = left.iter().position(|s| {
            // A parameter that follows another sequence is available when that is.
            let used = text.uses(*s);
            let makers = used.iter().filter(|v| !group.stmts.contains(v)).filter_map(|v| follows(*v));
            let mut needs: Vec<Var> = used.iter().copied().filter(|v| group.stmts.contains(v)).collect();
            needs.extend(makers);
            needs.extend(follows(*s));
            needs.iter().all(|v| done.contains(v))
        })?;
        done.push(left.remove(ready));
    }
    Some(done)
}
