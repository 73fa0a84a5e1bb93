//! The cost of one statement: its bodies are walked, their runs are counted, and the rules of [`deckle_ir::cost`] are applied.

use super::formula::Formula;
use super::memory::Memory;
use super::shape::{Bound, Shape};
use super::symbols::close;
use super::walk::{Ran, Walk};
use deckle_ir::array::{Inst, Op};
use deckle_ir::cost::{self, Bodies, Cost, Measure, Quantity, Runs};
use deckle_ir::entity::{Body, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::value::Space;

/// The positions at which a body runs: below each of these counts, the outermost first.
pub type Over = Vec<(Size, Body)>;

/// The analysis of the bodies of a statement.
#[derive(Default)]
pub struct Done {
    pub runs: [Runs<Formula>; 2],
    /// The shape of the result, if its type does not determine it.
    pub result: Option<Shape>,
    /// The memory needed in addition to the result.
    pub memory: Memory,
}

impl Walk<'_> {
    /// The cost of a statement, the space of its result, and its bytes while it runs and after.
    pub fn statement(&mut self, v: Var) -> (Cost<Formula>, Space<Formula>, (Memory, Memory)) {
        let function = self.function;
        let Some(inst) = function.inst(v) else { return Default::default() };
        let args: Vec<Shape> = inst.args.iter().map(|a| self.shape(*a)).collect();
        let done = self.run_bodies(v, inst, &args);
        let shape = match done.result {
            Some(shape) => shape,
            None => self.result(v, inst, &args),
        };
        self.define(v, shape);
        let shape = self.shape(v);
        let measures: Vec<Measure<Formula>> = inst.args.iter().map(|a| self.measure(*a)).collect();
        let result = self.measure(v);
        let bodies = Bodies::of(function, inst);
        let rule = |runs: &[Runs<Formula>; 2]| cost::statement(&inst.op, bodies, &measures, &result, runs);
        let [first, second] = done.runs;
        let cost = match inst.op {
            // One of the two runs.
            Op::If => rule(&[first, Runs::default()]).or(rule(&[Runs::default(), second])),
            _ => rule(&[first, second]),
        };
        let value = Memory::of(function.ty(v), &shape, &self.symbols);
        let value = match inst.op {
            // No data is moved.
            Op::Tuple | Op::Record(_) | Op::Proj(_) | Op::Zip | Op::Unzip => Memory::default(),
            _ => value,
        };
        let running = done.memory.beside(&value).named(&mut self.symbols);
        (self.named(cost), result.space, (running, value))
    }

    /// Walks the bodies of a statement.
    fn run_bodies(&mut self, v: Var, inst: &Inst, args: &[Shape]) -> Done {
        let body = |k: usize| inst.bodies.get(k).copied().unwrap_or(Body(0));
        let elem_at = |arg: &Shape, at: Body| arg.items().map_or(Shape::UNKNOWN, |(_, e)| e.at(&Atom::At(at).into()));
        let len_of = |arg: usize| args.get(arg).and_then(|a| a.items()).map_or(Bound::exact(0.into()), |i| i.0.clone());
        match &inst.op {
            Op::If => {
                let (yes, no) = (self.body(body(0), None, Vec::new()), self.body(body(1), None, Vec::new()));
                let result = Some(yes.result.or(&no.result));
                let memory = yes.memory.clone().or(&no.memory);
                Done { runs: [once(&yes), once(&no)], result, memory }
            }
            Op::Guard => {
                let ran = self.body(body(0), None, Vec::new());
                let result = Shape::coll(true, Bound::at_most(1.into()), ran.result.shift(1));
                Done { runs: [once(&ran), Runs::default()], result: Some(result), memory: ran.memory }
            }
            Op::While | Op::For | Op::Stream => self.looped(v, inst),
            Op::Call(f) => self.call(f.index(), &inst.args, args),
            Op::Generate | Op::Produce => {
                let mut over = Over::new();
                for &n in &inst.args {
                    over.push((self.int(n).size, self.stand_in()));
                }
                let params = over.iter().map(|(_, at)| Shape::int(Bound::exact(Atom::At(*at).into()))).collect();
                let ran = self.each(body(0), None, params);
                let mut shape = ran.result.clone();
                for (k, (_, at)) in over.iter().enumerate().rev() {
                    let len = self.int(inst.args[k]);
                    shape = Shape::coll(inst.op == Op::Produce, len, shape.close(*at));
                }
                self.done(&ran, &over, Some(shape))
            }
            Op::Map => {
                let at = self.stand_in();
                let ran = self.each(body(0), Some(at), args.iter().map(|a| elem_at(a, at)).collect());
                let len = len_of(0);
                let shape = Shape::coll(args[0].is_seq(), len.clone(), ran.result.close(at));
                self.done(&ran, &vec![(len.size, at)], Some(shape))
            }
            Op::Filter | Op::Partition | Op::SortBy | Op::GroupBy => {
                let at = self.stand_in();
                let ran = self.each(body(0), Some(at), vec![elem_at(&args[0], at)]);
                let len = len_of(0).size;
                let key = ran.result.close(at).loosen(&len, &self.symbols);
                let result = (inst.op == Op::GroupBy).then(|| self.groups(v, &args[0], key));
                self.done(&ran, &vec![(len, at)], result)
            }
            Op::Expand => self.expand(v, inst, args),
            Op::Permute => {
                let at = self.stand_in();
                let params = self.function.body(body(0)).params.clone();
                let params = params.iter().map(|p| self.opened(*p, "a size of an element")).collect();
                let ran = self.each(body(0), Some(at), params);
                self.done(&ran, &vec![(len_of(2).size, at)], None)
            }
            Op::Fold | Op::Fold1 | Op::FoldOrdered | Op::Scan(..) | Op::ScanOrdered => {
                let xs = args.len().saturating_sub(1);
                let at = self.stand_in();
                let params = self.function.body(body(0)).params.clone();
                let mut shapes: Vec<Shape> =
                    params.iter().map(|p| self.opened(*p, "a size of what is combined")).collect();
                if let (Some(last), true) = (shapes.last_mut(), params.iter().all(|p| self.function.ty(*p).is_flat())) {
                    *last = elem_at(&args[xs], at);
                }
                let ran = self.each(body(0), Some(at), shapes);
                let mut done = self.done(&ran, &vec![(len_of(xs).size, at)], None);
                let partial = Memory::of(self.function.ty(params[0]), &ran.result, &self.symbols);
                done.memory = done.memory.beside(&partial.for_each_thread());
                done
            }
            Op::Stencil(radii, _) => self.stencil(inst, &args[0], radii),
            Op::Sort => {
                let copy = Memory::of(self.function.ty(inst.args[0]), &args[0], &self.symbols);
                Done { memory: copy, ..Done::default() }
            }
            _ => Done::default(),
        }
    }

    /// Walks a body that may run more than once.
    pub fn each(&mut self, body: Body, at: Option<Body>, params: Vec<Shape>) -> Ran {
        self.lanes += 1;
        let ran = self.body(body, at, params);
        self.lanes -= 1;
        ran
    }

    fn done(&mut self, ran: &Ran, over: &Over, result: Option<Shape>) -> Done {
        Done { runs: [self.runs(ran, over), Runs::default()], result, memory: ran.memory.lifted(over, &self.symbols) }
    }

    /// The shape of a parameter whose type determines which of its sizes are its own: those are symbols.
    fn opened(&mut self, param: Var, why: &str) -> Shape {
        self.lanes += 1;
        self.open(param, "m", why);
        let shape = self.typed_shape(param, why);
        self.lanes -= 1;
        shape
    }

    /// The runs of a body at all these positions.
    fn runs(&self, ran: &Ran, over: &Over) -> Runs<Formula> {
        let held = ran.args.clone().plus(ran.cost.space.clone());
        let results = ran.result.space(&self.symbols);
        let gather = |s: &Space<Formula>| Space { seq: self.greatest(&s.seq, over), par: self.total(&s.par, over) };
        Runs {
            count: self.total(&Formula::number(1), over),
            work: self.total(&ran.cost.work, over),
            depth: self.greatest(&ran.cost.depth, over),
            depth_sum: self.total(&ran.cost.depth, over),
            space: gather(&ran.cost.space),
            beside: gather(&held),
            in_turn: Space { seq: self.greatest(&held.seq, over), par: self.greatest(&held.par, over) },
            results: Space { seq: self.total(&results.seq, over), par: self.total(&results.par, over) },
        }
    }

    fn total(&self, f: &Formula, over: &Over) -> Formula {
        over.iter()
            .rev()
            .fold(f.clone(), |f, (count, at)| self.symbols.sum_all(count, &f.map_variables(|s| close(s, *at))))
    }

    fn greatest(&self, f: &Formula, over: &Over) -> Formula {
        over.iter()
            .rev()
            .fold(f.clone(), |f, (count, at)| self.symbols.most_all(count, &f.map_variables(|s| close(s, *at))))
    }

    fn looped(&mut self, v: Var, inst: &Inst) -> Done {
        let rounds = match inst.op {
            Op::For => self.int(inst.args[0]).size.greater(&Size::constant(0)),
            _ => self.unknown("t", 0, None, self.function.span(v), "the rounds of this loop".into()).size,
        };
        let at = self.stand_in();
        let Some(&step) = inst.bodies.last() else { return Done::default() };
        let params = self.function.body(step).params.clone();
        let Some(&state) = params.last() else { return Done::default() };
        let shape = self.opened(state, "a size of the state of a loop");
        let index = Shape::int(Bound::exact(Atom::At(at).into()));
        let over = vec![(rounds.clone(), at)];
        // The old state is an argument of the round.
        let held = Memory::of(self.function.ty(state), &shape, &self.symbols);
        let result = Some(shape.clone());
        if inst.op == Op::For {
            let ran = self.each(step, None, vec![index, shape]);
            let memory = ran.memory.in_turn(&over[0], &self.symbols).beside(&held);
            return Done { runs: [self.runs(&ran, &over), Runs::default()], result, memory };
        }
        let test = self.each(inst.bodies[0], None, vec![shape.clone()]);
        let ran = self.each(step, None, vec![shape]);
        let tests = vec![(rounds.add(&1.into()), at)];
        let memory = test.memory.clone().or(&ran.memory).in_turn(&over[0], &self.symbols).beside(&held);
        Done { runs: [self.runs(&test, &tests), self.runs(&ran, &over)], result, memory }
    }

    fn expand(&mut self, v: Var, inst: &Inst, args: &[Shape]) -> Done {
        let (at, index) = (self.stand_in(), self.stand_in());
        let Some((len, elem)) = args[0].items() else { return Done::default() };
        let counted = self.each(inst.bodies[0], Some(at), vec![elem.at(&Atom::At(at).into())]);
        let outer = vec![(len.size.clone(), at)];
        let row = counted.result.as_int().cloned();
        let rows = row.clone().map(|r| self.symbols.sum(&len.size, &close(&r.size, at)));
        let known = row.filter(|r| r.exact);
        // The size of the result is a Σ in its type, or a variable that it binds: then only the total of all rows is known.
        if let Some(rows) = &rows {
            self.open_bounded(v, "m", rows, "how many elements this makes");
        }
        self.open(v, "m", "how many elements this makes");
        let ty = self.function.ty(v).clone();
        let size = match ty.as_array() {
            Some(a) => self.upper(&a.size),
            None => Bound::exact(Size::constant(0)),
        };
        let (params, over) = match known {
            Some(row) => {
                let params = vec![elem.at(&Atom::At(at).into()), Shape::int(Bound::exact(Atom::At(index).into()))];
                (params, vec![(len.size.clone(), at), (row.size, index)])
            }
            None => (vec![elem.loosen(&len.size, &self.symbols), Shape::UNKNOWN], vec![(size.size.clone(), index)]),
        };
        let ran = self.each(inst.bodies[1], Some(at), params);
        let mut elem = ran.result.clone();
        for (count, at) in over.iter().rev() {
            elem = elem.close(*at).loosen(count, &self.symbols);
        }
        let memory = counted.memory.lifted(&outer, &self.symbols).or(&ran.memory.lifted(&over, &self.symbols));
        let runs = [self.runs(&counted, &outer), self.runs(&ran, &over)];
        Done { runs, result: Some(Shape::coll(false, size, elem.shift(1))), memory }
    }

    fn stencil(&mut self, inst: &Inst, array: &Shape, radii: &[u32]) -> Done {
        let mut dims = Vec::new();
        let mut shape = array.clone();
        for _ in radii {
            let Some((len, elem)) = shape.items() else { return Done::default() };
            dims.push(len.size.clone());
            shape = elem.loosen(&len.size, &self.symbols);
        }
        let Some(&body) = inst.bodies.first() else { return Done::default() };
        let window = self.function.body(body).params.first().copied();
        let window = window.map(|w| self.typed_shape(w, "a size of the window"));
        let over: Over = dims.iter().map(|n| (n.clone(), self.stand_in())).collect();
        let ran = self.each(body, None, window.into_iter().collect());
        let mut done = self.done(&ran, &over, None);
        if let Some(&beyond) = inst.bodies.get(1) {
            // Along an axis of radius r there are at most r (r + 1) neighbours beyond the edge, for every one along the others.
            let beside = |k: usize| (0..dims.len()).filter(move |j| *j != k);
            let edge = |k: usize| {
                let r = radii[k] as i128;
                let others = |j: usize| dims[j].scale(2 * radii[j] as i128 + 1);
                beside(k).fold(Size::constant(r * (r + 1)), |n, j| n.mul(&others(j)))
            };
            let outside = (0..dims.len()).fold(Size::constant(0), |n, k| n.add(&edge(k)));
            let over = vec![(outside, self.stand_in())];
            let ran = self.each(beyond, None, radii.iter().map(|_| Shape::UNKNOWN).collect());
            done.runs[1] = self.runs(&ran, &over);
            done.memory = done.memory.beside(&ran.memory.lifted(&over, &self.symbols));
        }
        done
    }
}

/// The only run of a body.
fn once(ran: &Ran) -> Runs<Formula> {
    let mut runs = Runs::default();
    runs.add(ran.args.clone(), Space::default(), ran.cost.clone());
    runs
}
