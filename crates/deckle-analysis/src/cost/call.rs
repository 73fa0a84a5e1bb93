//! Calls: the facts about a function, in terms of the arguments of a call.
//!
//! A function is walked once. Its formulas are in terms of its own symbols; at a call each of them is replaced by the quantity at
//! its place in the argument. A quantity known only from a run of the function is a symbol of the caller too.

use super::Summary;
use super::formula::Formula;
use super::raise::{Leaves, apply, raise};
use super::shape::{Bound, Shape};
use super::statement::Done;
use super::symbols::{CHUNK, Origin, Place, Step, Symbol, Symbols, THREADS};
use super::walk::{Walk, family};
use deckle_ir::cost::{Cost, Runs};
use deckle_ir::entity::{Path, SizeVar, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::value::Space;

/// One call.
struct Calling<'w, 'a> {
    walk: &'w mut Walk<'a>,
    callee: &'a Summary,
    func: usize,
    vars: &'w [Var],
    args: &'w [Shape],
    /// The values of the symbols of the callee here.
    known: Vec<Option<Bound>>,
}

impl Walk<'_> {
    /// A call of function number `func`.
    pub fn call(&mut self, func: usize, vars: &[Var], args: &[Shape]) -> Done {
        let Some(callee) = self.summaries.get(func) else { return Done::default() };
        let known = vec![None; callee.symbols.list().len()];
        let mut call = Calling { walk: self, callee, func, vars, args, known };
        let cost = call.cost(&callee.cost);
        let result = callee.result.map(&mut |b, _| call.bound(b));
        let memory = callee.memory.map(&mut |s| raise(s, &mut call).size);
        let mut runs = Runs::default();
        runs.add(Space::default(), Space::default(), self.named(cost));
        Done { runs: [runs, Runs::default()], result: Some(result), memory }
    }
}

impl Calling<'_, '_> {
    fn cost(&mut self, cost: &Cost<Formula>) -> Cost<Formula> {
        let mut formula = |f: &Formula| f.map_variables(|s| raise(s, self).size);
        Cost {
            work: formula(&cost.work),
            depth: formula(&cost.depth),
            space: Space { seq: formula(&cost.space.seq), par: formula(&cost.space.par) },
        }
    }

    fn bound(&mut self, bound: &Bound) -> Bound {
        let here = raise(&bound.size, self);
        let size = self.walk.symbols.named_size(&here.size);
        Bound { size, exact: here.exact && bound.exact }
    }

    /// The value of a symbol of the callee, under as many binders as it takes positions.
    fn symbol(&mut self, var: SizeVar) -> Bound {
        if let Some(Some(known)) = self.known.get(var.index()) {
            return known.clone();
        }
        let Some(symbol) = self.callee.symbols.get(var) else { return Bound::exact(Size::constant(0)) };
        let known = match &symbol.origin {
            Origin::Chunk => Bound::exact(Size::var(CHUNK)),
            Origin::Threads => Bound::exact(Size::var(THREADS)),
            Origin::Formula => {
                let bound = symbol.bound.as_ref().map(|b| raise(b, self));
                let bound = bound.unwrap_or(Bound::exact(Size::constant(0)));
                // A row keeps its name; a formula that was named for its size keeps a name if it is still large.
                let size = match symbol.total.as_ref().map(|t| raise(t, self).size) {
                    Some(total) if bound.exact => self.walk.symbols.row(&bound.size, total),
                    _ => self.walk.symbols.named_size(&bound.size),
                };
                Bound { size, exact: bound.exact }
            }
            Origin::Length(place, less) => self.length(symbol, place, *less, var),
            Origin::Value(place) => self.value(symbol, place, var),
            Origin::Run => self.run(symbol, var),
        };
        if let Some(slot) = self.known.get_mut(var.index()) {
            *slot = Some(known.clone());
        }
        known
    }

    /// The shape at a place of an argument, and the enclosing lengths.
    fn at(&self, place: &Place) -> Option<(Shape, Vec<Size>)> {
        let mut counts = Vec::new();
        let mut shape = self.args.get(place.param)?;
        for step in &place.steps {
            shape = match step {
                Step::Field(k) => shape.part(*k)?,
                Step::Elem => {
                    let (len, elem) = shape.items()?;
                    counts.push(len.size.clone());
                    elem
                }
            };
        }
        Some((shape.clone(), counts))
    }

    fn length(&mut self, symbol: &Symbol, place: &Place, less: i128, var: SizeVar) -> Bound {
        let found = self.at(place).and_then(|(shape, counts)| Some((shape.items()?.0.clone(), counts)));
        let Some((len, counts)) = found else { return self.greatest(symbol, var) };
        let len = if symbol.arity as usize == counts.len() { len } else { self.walk.everywhere(len, &counts) };
        Bound { size: len.size.sub(&Size::constant(less)), exact: len.exact }
    }

    fn value(&mut self, symbol: &Symbol, place: &Place, var: SizeVar) -> Bound {
        let fields: Option<Vec<u32>> =
            place.steps.iter().map(|s| if let Step::Field(k) = s { Some(*k) } else { None }).collect();
        match (self.at(place), fields) {
            (Some((Shape::Scalar(Some(value)), _)), _) => value,
            (_, Some(fields)) => {
                let path = self.walk.function.path(self.vars[place.param]);
                let path = fields.into_iter().fold(path, Path::field);
                self.walk.int_at(&path)
            }
            _ => self.greatest(symbol, var),
        }
    }

    /// A quantity known only from the run of the callee: in a body its bound, or the maximum of all runs.
    fn run(&mut self, symbol: &Symbol, var: SizeVar) -> Bound {
        let bound = symbol.bound.as_ref().map(|b| raise(b, self).size);
        if self.walk.lanes > 0 {
            return match bound {
                Some(bound) => Bound::at_most(bound),
                None => self.greatest(symbol, var),
            };
        }
        let total = symbol.total.as_ref().map(|t| raise(t, self).size);
        let new = self.walk.symbols.add(Symbol { bound, total, ..symbol.clone() });
        Bound::exact(family(new, symbol.arity))
    }

    /// One symbol for all calls of this function from bodies.
    fn greatest(&mut self, symbol: &Symbol, var: SizeVar) -> Bound {
        let key = (self.func, var);
        if let Some(known) = self.walk.shared.get(&key) {
            return known.clone();
        }
        let symbol = Symbol { arity: 0, origin: Origin::Run, bound: None, total: None, ..symbol.clone() };
        let bound = Bound::at_most(Size::var(self.walk.symbols.add(symbol)));
        self.walk.shared.insert(key, bound.clone());
        bound
    }
}

impl Leaves for Calling<'_, '_> {
    fn leaf(&mut self, atom: &Atom, at: &[Bound]) -> Bound {
        match atom {
            Atom::Var(s, _) => {
                let known = self.symbol(*s);
                let depends = known.size.varies(at.len() as u32);
                match (at.iter().all(|a| a.exact) || !depends, self.callee.symbols.get(*s)) {
                    (false, Some(symbol)) => self.greatest(symbol, *s),
                    _ => apply(&known, at),
                }
            }
            _ => Bound::exact(atom.clone().into()),
        }
    }

    fn symbols(&self) -> &Symbols {
        &self.walk.symbols
    }
}
