//! Walking a function: the shapes of its variables and the values of its sizes.
//!
//! Every variable gets a [`Shape`], in terms of symbols. Sizes of vectors come from the types, in which each atom is replaced
//! by its bound ([`Walk::upper`]); lengths of sequences, values of integers, and sizes that a statement binds come from separate
//! rules (`results.rs`).
//!
//! # Quantities known only at run time
//! In the function's own body such a quantity is a symbol, since it is one number. In a body that runs many times it would be one for each run: there its
//! bound replaces it, or, without a bound, a symbol for the maximum of all runs.
//!
//! # Positions
//! Inside a body that runs for each element the position is [`Atom::At`] a *stand-in*, a body that no function has, one for each analysis of a
//! body. When the walk leaves the body, it is bound by a Σ or a maximum.

use super::formula::Formula;
use super::memory::Memory;
use super::shape::{Bound, Shape, loosen};
use super::symbols::{Origin, Symbol, Symbols};
use super::{Summary, memory};
use deckle_diag::Span;
use deckle_ir::array::Function;
use deckle_ir::cost::{self, Cost, Measure};
use deckle_ir::entity::{Body, Path, SizeVar, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;
use deckle_ir::value::Space;
use std::collections::HashMap;

/// The remaining stack below which more is allocated before a body is walked, and how much.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// After this many statements of a body, large formulas are given names.
const SEGMENT: usize = 32;

/// The state of walking a function.
pub struct Walk<'a> {
    pub summaries: &'a [Summary],
    pub function: &'a Function,
    pub symbols: Symbols,
    /// The number of enclosing bodies that may run more than once.
    pub lanes: u32,
    pub shapes: Vec<Option<Shape>>,
    measures: Vec<Option<Measure<Formula>>>,
    /// For each variable, the number of such bodies around it.
    pub lanes_of: Vec<u32>,
    /// For each size variable its value, under as many binders as it takes positions.
    sizes: Vec<Option<Bound>>,
    /// For each variable the size variables that its type binds.
    binds: Vec<Vec<SizeVar>>,
    /// The stand-in of each body that is being walked.
    pub at: Vec<Option<Body>>,
    stand_ins: u32,
    /// Symbols for integers and elements that are otherwise unknown.
    pub values: HashMap<Path, Bound>,
    pub elements: HashMap<Path, Bound>,
    /// Symbols for quantities known only from runs of a function that is called from a body.
    pub shared: HashMap<(usize, SizeVar), Bound>,
}

/// The analysis of a body.
#[derive(Clone, Debug)]
pub struct Ran {
    pub cost: Cost<Formula>,
    pub result: Shape,
    pub memory: Memory,
    /// `‖v‖` of its arguments.
    pub args: Space<Formula>,
}

impl<'a> Walk<'a> {
    pub fn new(summaries: &'a [Summary], function: &'a Function) -> Self {
        let mut binds = vec![Vec::new(); function.vars.len()];
        for (i, data) in function.sizes.iter().enumerate() {
            if let Some(list) = binds.get_mut(data.binder.index()) {
                list.push(SizeVar(i as u32));
            }
        }
        Walk {
            summaries,
            function,
            symbols: Symbols::new(),
            lanes: 0,
            shapes: vec![None; function.vars.len()],
            measures: vec![None; function.vars.len()],
            lanes_of: vec![0; function.vars.len()],
            sizes: vec![None; function.sizes.len()],
            binds,
            at: vec![None; function.bodies.len()],
            stand_ins: 0,
            values: HashMap::new(),
            elements: HashMap::new(),
            shared: HashMap::new(),
        }
    }

    /// A new stand-in: a body that no function has.
    pub fn stand_in(&mut self) -> Body {
        self.stand_ins += 1;
        Body(u32::MAX - self.stand_ins)
    }

    /// Walks a body with these arguments.
    pub fn body(&mut self, body: Body, at: Option<Body>, params: Vec<Shape>) -> Ran {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let data = self.function.body(body);
            self.at[body.index()] = at;
            let mut args = Space::default();
            for (&p, shape) in data.params.iter().zip(params) {
                self.define(p, shape);
                args = args.plus(self.measure(p).space);
            }
            let mut costs: Vec<(Cost<Formula>, Space<Formula>)> = Vec::with_capacity(data.stmts.len());
            let mut memories: Vec<(Memory, Memory)> = Vec::with_capacity(data.stmts.len());
            for &v in &data.stmts {
                let (cost, held, memory) = self.statement(v);
                costs.push((cost, held));
                memories.push(memory);
            }
            let result = self.shape(data.result);
            let tail = data.stmts.last() == Some(&data.result);
            let cost = self.chain(costs, self.measure(data.result).space, tail);
            let memory = memory::in_order(&memories, &mut self.symbols);
            Ran { cost, result, memory, args }
        })
    }

    /// The cost of a chain of lets, from its end, a segment at a time.
    fn chain(
        &mut self,
        mut costs: Vec<(Cost<Formula>, Space<Formula>)>,
        result: Space<Formula>,
        tail: bool,
    ) -> Cost<Formula> {
        let mut from = costs.len().saturating_sub(SEGMENT);
        let last = cost::body(&costs.split_off(from), result, tail);
        let mut rest = self.named(last);
        while from > 0 {
            from = from.saturating_sub(SEGMENT);
            let mut segment = costs.split_off(from);
            segment.push((rest, Space::default()));
            let cost = cost::body(&segment, Space::default(), true);
            rest = self.named(cost);
        }
        rest
    }

    /// The cost, with names for large formulas.
    pub fn named(&mut self, cost: Cost<Formula>) -> Cost<Formula> {
        Cost {
            work: self.symbols.named(cost.work),
            depth: self.symbols.named(cost.depth),
            space: Space { seq: self.symbols.named(cost.space.seq), par: self.symbols.named(cost.space.par) },
        }
    }

    /// The shape of a variable that has been walked.
    pub fn shape(&self, v: Var) -> Shape {
        self.shapes.get(v.index()).cloned().flatten().unwrap_or(Shape::UNKNOWN)
    }

    /// Sets the shape of a variable, and the values of the size variables that it binds.
    pub fn define(&mut self, v: Var, shape: Shape) {
        self.unify(v, self.function.ty(v), &shape, &mut Vec::new());
        self.lanes_of[v.index()] = self.lanes;
        self.measures[v.index()] = Some(Measure {
            space: shape.space(&self.symbols),
            items: shape.items().map_or(Formula::default(), |(len, _)| len.size.clone().into()),
            is_seq: shape.is_seq(),
        });
        self.shapes[v.index()] = Some(shape);
    }

    /// The facts about a walked variable that the rules need.
    pub fn measure(&self, v: Var) -> Measure<Formula> {
        let none = || Measure { space: Space::default(), items: Formula::default(), is_seq: false };
        self.measures.get(v.index()).cloned().flatten().unwrap_or_else(none)
    }

    /// Determines the size variables bound by `v` from its shape. `counts` are the enclosing lengths.
    fn unify(&mut self, v: Var, ty: &Type, shape: &Shape, counts: &mut Vec<Size>) {
        if self.binds[v.index()].is_empty() {
            return;
        }
        if let (Type::Array(a), Some((len, _))) = (ty, shape.items())
            && let Some((s, at, extra)) = a.size.determines()
            && self.sizes[s.index()].is_none()
            && self.binds[v.index()].contains(&s)
        {
            let depth = counts.len();
            let around: Vec<Size> = (0..depth as u32).rev().map(Size::pos).collect();
            let len = if at == around { len.clone() } else { self.everywhere(len.clone(), counts) };
            let size = len.size.sub(&Size::constant(extra));
            self.sizes[s.index()] = Some(Bound { size, exact: len.exact });
        }
        match (ty, shape) {
            (Type::Array(_) | Type::Seq(_), Shape::Array(len, elem) | Shape::Seq(len, elem)) => {
                if let Some(inner) = ty.elem() {
                    counts.push(len.size.clone());
                    self.unify(v, inner, elem, counts);
                    counts.pop();
                }
            }
            (_, Shape::Tuple(shapes)) => {
                for (t, s) in ty.parts().unwrap_or_default().into_iter().zip(shapes) {
                    self.unify(v, t, s, counts);
                }
            }
            _ => {}
        }
    }

    /// The maximum at all enclosing positions: `counts`, the outermost first.
    pub fn everywhere(&self, bound: Bound, counts: &[Size]) -> Bound {
        counts.iter().rev().fold(bound, |b, count| loosen(&b, 0, count, &self.symbols))
    }

    /// A symbol for a quantity known only at run time. In a body it has no positions, and is not needed if there is a bound.
    pub fn unknown(&mut self, name: &str, arity: u32, bound: Option<Size>, span: Span, why: String) -> Bound {
        if self.lanes > 0 {
            if let Some(bound) = bound {
                return Bound::at_most(bound);
            }
            let var = self.symbol(name, 0, None, None, span, format!("{why}, at most"));
            return Bound::at_most(Size::var(var));
        }
        let var = self.symbol(name, arity, bound, None, span, why);
        Bound::exact(family(var, arity))
    }

    /// As [`Walk::unknown`], for a family with a known sum.
    pub fn unknown_family(&mut self, name: &str, bound: Size, total: Size, span: Span, why: String) -> Bound {
        if self.lanes > 0 || bound.any_atom(&mut |a, _| matches!(a, Atom::At(_))) {
            return Bound::at_most(bound);
        }
        let var = self.symbol(name, 1, Some(bound), Some(total), span, why);
        Bound::exact(family(var, 1))
    }

    fn symbol(
        &mut self,
        name: &str,
        arity: u32,
        bound: Option<Size>,
        total: Option<Size>,
        span: Span,
        why: String,
    ) -> SizeVar {
        self.symbols.add(Symbol { name: name.into(), arity, origin: Origin::Run, bound, total, span, why })
    }

    /// Makes a symbol of every unknown size variable that `v` binds.
    pub fn open(&mut self, v: Var, name: &str, why: &str) {
        for s in self.binds[v.index()].clone() {
            let arity = self.function.sizes[s.index()].arity;
            let bound = self.unknown(name, arity, None, self.function.span(v), why.to_string());
            self.sizes[s.index()] = Some(bound);
        }
    }

    /// Sets an upper bound of each size variable bound by `v`.
    pub fn open_bounded(&mut self, v: Var, name: &str, bound: &Size, why: &str) {
        for s in self.binds[v.index()].clone() {
            if self.function.sizes[s.index()].arity == 0 {
                let known = self.unknown(name, 0, Some(bound.clone()), self.function.span(v), why.to_string());
                self.sizes[s.index()] = Some(known);
            }
        }
    }

    /// The shape given by the type of a variable, with unknown integers. The size variables that it binds must be known.
    pub fn typed_shape(&mut self, v: Var, why: &str) -> Shape {
        self.shape_of_type(self.function.ty(v), &mut Vec::new(), self.function.span(v), why)
    }

    /// As [`Walk::typed_shape`], for a type inside vectors or sequences of these lengths.
    pub fn shape_of_type(&mut self, ty: &Type, around: &mut Vec<Size>, span: Span, why: &str) -> Shape {
        let (len, elem, is_seq) = match ty {
            Type::Scalar(_) => return Shape::UNKNOWN,
            Type::Array(a) => (self.length(&a.size, around), &a.elem, false),
            Type::Seq(e) => (self.unknown("m", around.len() as u32, None, span, why.to_string()), &**e, true),
            Type::Tuple(_) | Type::Record(_) => {
                let parts = ty.parts().unwrap_or_default();
                return Shape::Tuple(parts.into_iter().map(|t| self.shape_of_type(t, around, span, why)).collect());
            }
        };
        around.push(len.size.clone());
        let elem = self.shape_of_type(elem, around, span, why);
        around.pop();
        Shape::coll(is_seq, len, elem)
    }

    /// The length that a type gives for a vector inside others of these lengths. The length of a row that is a difference, `off[i + 1] -
    /// off[i]`, gets a name: it is a natural number, which its parts do not show, and the sum of all rows is known.
    pub fn length(&mut self, size: &Size, around: &[Size]) -> Bound {
        let len = self.upper(size);
        let difference = len.size.terms().iter().any(|(m, c)| *c < 0 && !m.is_empty());
        match around.last() {
            Some(count) if difference && len.size.mentions_pos(0) => {
                let total = self.symbols.sum(count, &len.size);
                let named = self.symbols.row(&len.size, total);
                Bound { size: named, exact: len.exact }
            }
            _ => len,
        }
    }

    /// Sets the elements of a vector of integers.
    pub fn refine(&mut self, v: Var, elem: Shape) {
        if let Some(Shape::Array(len, _)) = &self.shapes[v.index()] {
            self.shapes[v.index()] = Some(Shape::Array(len.clone(), Box::new(elem)));
        }
    }

    /// Sets the value of a size variable.
    pub fn set_size(&mut self, s: SizeVar, bound: Bound) {
        self.sizes[s.index()] = Some(bound);
    }

    /// The value of a size variable, if known.
    pub fn size(&self, s: SizeVar) -> Option<&Bound> {
        self.sizes.get(s.index())?.as_ref()
    }
}

/// A symbol applied to all enclosing positions.
pub fn family(var: SizeVar, arity: u32) -> Size {
    Atom::Var(var, (0..arity).rev().map(Size::pos).collect()).into()
}
