//! Conditions: values that exist only if they hold.

use super::Place;
use super::clocks::{Class, Region};
use super::flow::Flow;
use super::graph::{Event, Why};
use super::join::Join;
use super::number::Id;
use super::walk::{At, Walk};
use deckle_ir::entity::Body;
use std::rc::Rc;

impl Walk<'_> {
    pub(super) fn guard(&mut self, at: &mut At<'_>, condition: &Flow) -> Flow {
        let (known, id) = condition.as_known();
        let (choice, way) = self.numbers.choice(id);
        let body = at.inst.bodies[0];
        self.captured(at, body, known);
        let rate = self.guard_class(at.region, id, at.place);
        let class = self.class();
        self.facts.rates.insert(class, rate);
        self.facts.filled_if.insert(class, (choice, way));
        if self.facts.never.contains(&rate) {
            self.facts.never.insert(class);
        }
        let region = at.region;
        let elem = match self.excluded(choice, way) {
            true => {
                self.facts.never.insert(class);
                let ty = self.function(at.func).ty(at.place.var);
                ty.elem().map_or(Flow::Tuple(Rc::from([])), |t| self.given_value(t, Event::ORIGIN))
            }
            false => self.assuming(choice, way, |w| w.body(at.func, at.env, body, region)),
        };
        // At most one element, of a value that may be a constant.
        if let Flow::Known(_, value) = elem
            && let Some(truth) = self.numbers.truth(value)
        {
            let passing = self.numbers.truth(id).map(u32::from);
            self.facts.truths.insert((class, value), if truth { [Some(0), passing] } else { [passing, Some(0)] });
        }
        let first = self.after(&[known], Why::Starts(at.place));
        let result = self.stream(class, first, Rc::new(elem));
        self.inner_as_it_is(&result);
        Flow::Seq(result)
    }

    /// Sequences that a branch uses wait until the condition is known.
    pub(super) fn captured(&mut self, at: &mut At<'_>, body: Body, condition: Event) {
        for flow in self.outside(at.func, at.env, body) {
            for s in flow.streams() {
                self.before(condition, s.ready, Why::Uses(at.place));
            }
        }
    }

    pub(super) fn conditional(&mut self, at: &mut At<'_>, condition: &Flow) -> Flow {
        let (known, id) = condition.as_known();
        let (choice, way) = self.numbers.choice(id);
        for &body in &at.inst.bodies {
            self.captured(at, body, known);
        }
        let region = at.region;
        let mut branch = |w: &mut Self, k: usize| {
            let body = at.inst.bodies[k];
            w.assuming(choice, way == (k == 0), |w| w.body(at.func, at.env, body, region))
        };
        // A branch that is never taken adds nothing.
        if self.excluded(choice, !way) {
            return branch(self, 0);
        }
        if self.excluded(choice, way) {
            return branch(self, 1);
        }
        let yes = branch(self, 0);
        let no = branch(self, 1);
        self.either(at.place, (known, id), &yes, &no)
    }

    /// The traversal of at most one element that a condition decides. Equal conditions give one traversal.
    pub(super) fn guard_class(&mut self, region: Region, id: Id, place: Place) -> Class {
        self.always(|w| w.guard_class_of(region, id, place))
    }

    pub(super) fn guard_class_of(&mut self, region: Region, id: Id, place: Place) -> Class {
        if let Some(class) = self.clocks.guard(region, id.0) {
            return class;
        }
        let join = self.facts.joins.get(&id.base()).copied().filter(|j| region == Region::Step(j.whole));
        let class = match join {
            // An element of `s ++ t` passes where that of `s`, or that of `t`, passes.
            Some(Join { whole, parts, seam }) => {
                let inner = parts.map(|(c, part)| {
                    let id = if id.is_not() { part.not() } else { part };
                    (c, self.guard_class(Region::Step(c), id, place))
                });
                let class = self.within_either(seam, whole, inner.map(|(_, c)| c));
                self.facts.seams.insert((whole, class), inner);
                class
            }
            None => self.class(),
        };
        match (self.numbers.truth(id), region) {
            (Some(false), _) => drop(self.facts.never.insert(class)),
            (Some(true), Region::Step(c)) => self.clocks.set_flat(c, class, c),
            (None, Region::Step(c)) if join.is_none() => self.guard_of_literals(c, class, id),
            _ => {}
        }
        self.clocks.set_guard(region, id.0, class);
        class
    }

    /// If each step of a traversal gives the flags of a literal, the number of those that pass is known.
    pub(super) fn guard_of_literals(&mut self, flat: Class, guard: Class, id: Id) {
        let Some(&(outer, inner)) = self.facts.flattened.get(&(flat, id.base())) else { return };
        let passing = self.truths(inner, id)[1].or(self.truths(inner, id.not())[0]);
        match passing {
            Some(0) => drop(self.facts.never.insert(guard)),
            Some(1) => self.clocks.set_flat(flat, guard, outer),
            _ => {}
        }
    }
}
