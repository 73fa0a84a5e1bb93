//! Rules for operators that move elements, fold, scan, and read neighbours.

use super::{TypeError, Typer, fail, with_dims};
use crate::array::{Boundary, Coll, Direction, Inst, Monoid, Op, ScanKind};
use crate::entity::{Body, Var};
use crate::size::{Atom, Size};
use crate::types::Type;

impl Typer<'_> {
    pub(super) fn moving(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        let a = &inst.args;
        let b = &inst.bodies;
        match &inst.op {
            Op::Permute | Op::Scatter => self.permute(inst),
            Op::Filter => {
                self.want_bool(self.body(b[0]).result)?;
                let (_, elem) = self.array(a[0])?;
                let elem = self.blur(&elem, 1);
                Ok(Type::array(self.fresh_size(0), elem))
            }
            Op::Compact => {
                let (n, elem) = self.array(a[0])?;
                let (m, flag) = self.array(a[1])?;
                if flag != Type::BOOL {
                    return fail("the flags of `compact` must be truth values");
                }
                self.same_length("compact", &n, &m)?;
                let elem = self.blur(&elem, 1);
                Ok(Type::array(self.fresh_size(0), elem))
            }
            Op::Partition => {
                self.want_bool(self.body(b[0]).result)?;
                let (n, elem) = self.array(a[0])?;
                let k = self.fresh_size(0);
                let (yes, no) = (self.blur(&elem, 1), self.blur(&elem, 1));
                Ok(Type::tuple(vec![Type::array(k.clone(), yes), Type::array(n.sub(&k), no)]))
            }
            Op::Expand => self.expand(inst),
            Op::Sort => {
                let (n, elem) = self.array(a[0])?;
                if !elem.is_flat() {
                    return fail("`sort` needs flat elements");
                }
                Ok(Type::array(n, elem))
            }
            Op::SortBy => {
                self.flat_result(b[0], "the key of `sort_by`")?;
                let (n, elem) = self.array(a[0])?;
                let elem = self.blur(&elem, 1);
                Ok(Type::array(n, elem))
            }
            Op::GroupBy => {
                self.flat_result(b[0], "the key of `group_by`")?;
                let (_, elem) = self.array(a[0])?;
                let key = self.result_of(b[0]).clone();
                let groups = self.fresh_size(0);
                let members = self.fresh_size(1);
                let elem = self.relocate(&elem, 1, 2);
                Ok(Type::array(groups, Type::tuple(vec![key, Type::array(members, elem)])))
            }
            Op::Fold => {
                let (_, elem) = self.coll(a[1])?;
                self.operator(a[0], &elem, b[0])?;
                let start = self.ty(a[0]).clone();
                if self.keeps_sizes(b[0], 0) { Ok(start) } else { self.total(start) }
            }
            Op::Fold1 => {
                let (_, elem) = self.coll(a[0])?;
                let elem = elem.instantiate(&Size::constant(0));
                self.endo(&elem, b[0])?;
                self.total(elem)
            }
            Op::FoldOrdered => {
                let (_, _, state) = self.in_order(inst)?;
                match state {
                    Some(state) => Ok(state),
                    None => self.total(self.ty(a[0]).clone()),
                }
            }
            Op::ScanOrdered => {
                let (coll, _, state) = self.in_order(inst)?;
                let state = match state {
                    Some(state) => state,
                    None => self.unknown(self.ty(a[0]), 1),
                };
                match coll {
                    Coll::Seq => Ok(Type::seq(state)),
                    Coll::Array => Ok(Type::array(self.array(a[1])?.0, state)),
                }
            }
            Op::Reduce(m) => self.reduce(*m, a[0]),
            Op::Scan(direction, kind) => self.scan(inst, *direction, *kind),
            Op::Stencil(radii, boundary) => self.stencil(inst, radii, *boundary),
            _ => fail("not a moving operator"),
        }
    }

    fn flat_result(&self, body: Body, what: &str) -> Result<(), TypeError> {
        if self.result_of(body).is_flat() { Ok(()) } else { fail(format!("{what} must be made of scalars")) }
    }

    /// The number of indices in a vector of targets: 1 for integers, k for tuples of k.
    pub(super) fn target_depth(&self, targets: Var) -> Result<u32, TypeError> {
        let (_, elem) = self.array(targets)?;
        match elem.parts() {
            Some(parts) if !parts.is_empty() && parts.iter().all(|t| **t == Type::INT) => Ok(parts.len() as u32),
            None if elem == Type::INT => Ok(1),
            _ => fail("targets must be integers, or tuples of integers"),
        }
    }

    fn permute(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        let a = &inst.args;
        let depth = self.target_depth(a[1])?;
        let old = self.inner(self.ty(a[0]), depth as usize)?;
        let (n, _) = self.array(a[1])?;
        let (m, new) = self.array(a[2])?;
        self.same_length("permute", &n, &m)?;
        if let Some(&mask) = a.get(3) {
            let (k, flag) = self.array(mask)?;
            if flag != Type::BOOL {
                return fail("the mask must hold truth values");
            }
            self.same_length("permute", &n, &k)?;
        }
        let stored = match inst.bodies.first() {
            Some(&body) => self.result_of(body),
            None => &new,
        };
        if !stored.same_kind(&old) {
            return fail("what is stored has not the type of what it replaces");
        }
        // Sizes that are equal for all elements, old and new, stay.
        let stays = || *stored == old && !old.any_atom(&mut |a, under| matches!(a, Atom::Pos(p) if *p >= under));
        if old.is_flat() || stays() {
            return Ok(self.ty(a[0]).clone());
        }
        let dims = (0..depth as usize).scan(self.ty(a[0]).clone(), |t, _| {
            let array = t.as_array()?.clone();
            *t = array.elem;
            Some(array.size)
        });
        let dims: Vec<Size> = dims.collect();
        let inner = self.unknown(&old, depth);
        Ok(with_dims(&dims, inner))
    }

    fn expand(&mut self, inst: &Inst) -> Result<Type, TypeError> {
        let (count, get) = (inst.bodies[0], inst.bodies[1]);
        let (n, _) = self.array(inst.args[0])?;
        if *self.result_of(count) != Type::INT {
            return fail("the first body of `expand` must give an `i64`");
        }
        // The size body's result, as the size of a row, is lifted like any size that leaves a body.
        let row = self.lift_size(count, &inst.args);
        let size = match row {
            Some(row) => Size::sum(&n, &row),
            None => self.fresh_size(0),
        };
        let elem = self.result_of(get).shift(1);
        self.concrete(&elem)?;
        let elem = self.seal(&elem, 1, count);
        Ok(Type::array(size, elem))
    }

    /// The result of an integer body as a size under one binder, if it is visible outside.
    fn lift_size(&mut self, body: Body, args: &[Var]) -> Option<Size> {
        let own = self.func.size_of(self.body(body).result);
        let row = Type::array(own, Type::INT);
        let lifted = self.lift_type(&row, body, args);
        let size = lifted.as_array()?.size.clone();
        let data = self.body(body);
        self.func.visible(&size, data.first, body).then_some(size)
    }

    /// The operands of a fold or scan with a state type of its own: the collection kind, its element type, and the type of the state if its sizes stay.
    fn in_order(&self, inst: &Inst) -> Result<(Coll, Type, Option<Type>), TypeError> {
        let (coll, elem) = self.coll(inst.args[1])?;
        let (state, body) = (self.ty(inst.args[0]), inst.bodies[0]);
        self.concrete(&elem)?;
        self.concrete(state)?;
        if !self.result_of(body).same_kind(state) {
            return fail("the function of a fold in order must give a state");
        }
        Ok((coll, elem, self.keeps_sizes(body, 0).then(|| state.clone())))
    }

    fn operator(&self, z: Var, elem: &Type, body: Body) -> Result<(), TypeError> {
        let z = self.ty(z);
        if !z.same_kind(elem) {
            return fail("the start of a fold has not the type of the elements");
        }
        self.endo(z, body)
    }

    fn endo(&self, ty: &Type, body: Body) -> Result<(), TypeError> {
        self.concrete(ty)?;
        if self.result_of(body).same_kind(ty) { Ok(()) } else { fail("the operator of a fold must give what it takes") }
    }

    /// Whether an operator returns values of the sizes of one of its operands. If that is the accumulator, all partial results have the sizes of the start.
    fn keeps_sizes(&self, body: Body, operand: usize) -> bool {
        self.body(body).params.get(operand).is_some_and(|v| self.ty(*v) == self.result_of(body))
    }

    fn total(&mut self, ty: Type) -> Result<Type, TypeError> {
        Ok(self.unknown(&ty, 0))
    }

    fn reduce(&mut self, m: Monoid, v: Var) -> Result<Type, TypeError> {
        let (_, elem) = self.coll(v)?;
        let Some(t) = elem.as_scalar() else { return fail("`reduce` needs scalars") };
        match m {
            Monoid::Any | Monoid::All if elem == Type::BOOL => Ok(Type::BOOL),
            Monoid::Any | Monoid::All => fail("`any` and `all` need truth values"),
            _ if !t.is_num() => fail("this reduction needs numbers"),
            Monoid::ArgMin | Monoid::ArgMax => Ok(Type::INT),
            _ => Ok(elem),
        }
    }

    fn scan(&mut self, inst: &Inst, direction: Direction, kind: ScanKind) -> Result<Type, TypeError> {
        let (z, xs) = match inst.args.as_slice() {
            [xs] => (None, *xs),
            [z, xs] => (Some(*z), *xs),
            _ => return fail("`scan` takes one or two operands"),
        };
        let (coll, elem) = self.coll(xs)?;
        match z {
            Some(z) => self.operator(z, &elem, inst.bodies[0])?,
            None if kind == ScanKind::Inclusive => self.endo(&elem, inst.bodies[0])?,
            None => return fail("only an inclusive `scan` can do without a start"),
        }
        let accumulator = usize::from(direction == Direction::Right);
        let elem = match z {
            Some(z) if self.keeps_sizes(inst.bodies[0], accumulator) => self.ty(z).clone(),
            _ => self.unknown(&elem, 1),
        };
        match coll {
            Coll::Seq if direction == Direction::Right => fail("a sequence can be scanned from the left only"),
            Coll::Seq => Ok(Type::seq(elem)),
            Coll::Array => {
                let (n, _) = self.array(xs)?;
                let n = if kind == ScanKind::Full { n.add(&1.into()) } else { n };
                Ok(Type::array(n, elem))
            }
        }
    }

    /// The window that is passed to a stencil's body.
    pub(super) fn window(&self, v: Var, radii: &[u32]) -> Result<Type, TypeError> {
        let (_, inner) = self.regular(v, radii.len())?;
        if !inner.is_flat() {
            return fail("`stencil` needs flat elements");
        }
        let extents: Vec<Size> = radii.iter().map(|r| Size::constant(2 * *r as i128 + 1)).collect();
        Ok(with_dims(&extents, inner))
    }

    fn stencil(&mut self, inst: &Inst, radii: &[u32], boundary: Boundary) -> Result<Type, TypeError> {
        if radii.is_empty() || radii.len() > 3 {
            return fail("`stencil` works in 1 to 3 dimensions");
        }
        let (dims, inner) = self.regular(inst.args[0], radii.len())?;
        let want = (1 + usize::from(boundary == Boundary::Constant), 1 + usize::from(boundary == Boundary::Function));
        if (inst.args.len(), inst.bodies.len()) != want {
            return fail("`stencil` has an operand or body that its boundary does not take, or lacks one");
        }
        if boundary == Boundary::Constant && *self.ty(inst.args[1]) != inner {
            return fail("the boundary element of `stencil` has another type than the array's");
        }
        if boundary == Boundary::Function && *self.result_of(inst.bodies[1]) != inner {
            return fail("the boundary function of `stencil` gives another type than the array's");
        }
        self.flat_result(inst.bodies[0], "the result of a stencil")?;
        Ok(with_dims(&dims, self.result_of(inst.bodies[0]).clone()))
    }
}
