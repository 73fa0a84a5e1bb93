//! The parameters of a function as symbols.

use super::shape::{Bound, Shape};
use super::symbols::{Origin, Place, Step, Symbol};
use super::walk::{Walk, family};
use deckle_ir::entity::Var;
use deckle_ir::size::Size;
use deckle_ir::types::Type;

impl Walk<'_> {
    /// The shapes of all parameters: every length and every integer in them is a symbol, unless its type determines it.
    pub fn params(&mut self) -> Vec<Shape> {
        let params: Vec<Var> = self.function.params().to_vec();
        let mut shapes = Vec::new();
        for (k, &v) in params.iter().enumerate() {
            let name = self.function.param_names.get(k).cloned().unwrap_or_else(|| format!("p{k}"));
            let ty = self.function.ty(v).clone();
            let shape = self.param(v, &ty, &Place { param: k, steps: Vec::new() }, &name, 0);
            // A size may be read from another component of the same parameter, so it is computed when all of them are known.
            self.define(v, shape.clone());
            let shape = self.settled(&ty, &shape, &mut Vec::new());
            self.define(v, shape.clone());
            shapes.push(shape);
        }
        shapes
    }

    /// The symbols of one parameter. Sizes that do not bind a variable are left for [`Walk::settled`].
    fn param(&mut self, v: Var, ty: &Type, place: &Place, name: &str, depth: u32) -> Shape {
        match ty {
            Type::Scalar(_) if *ty == Type::INT => {
                Shape::int(self.told(v, name.into(), depth, Origin::Value(place.clone())))
            }
            Type::Scalar(_) => Shape::UNKNOWN,
            Type::Tuple(parts) => {
                let part = |(k, t): (usize, &Type)| {
                    self.param(v, t, &place.then(Step::Field(k as u32)), &format!("{name}.{k}"), depth)
                };
                Shape::Tuple(parts.iter().enumerate().map(part).collect())
            }
            Type::Record(r) => {
                let part = |(k, (field, t)): (usize, &(String, Type))| {
                    self.param(v, t, &place.then(Step::Field(k as u32)), &format!("{name}.{field}"), depth)
                };
                Shape::Tuple(r.fields.iter().enumerate().map(part).collect())
            }
            Type::Array(a) => {
                let len = match a.size.determines() {
                    Some((s, at, extra)) if self.size(s).is_none() => {
                        let around = (0..depth).rev().map(Size::pos);
                        let arity = if at.iter().cloned().eq(around) { depth } else { 0 };
                        let named = self.function.size_names.iter().find(|(n, _)| *n == s).map(|(_, n)| n.clone());
                        let origin = Origin::Length(place.clone(), extra);
                        let symbol = self.told(v, named.unwrap_or_else(|| format!("|{name}|")), arity, origin);
                        self.set_size(s, symbol.clone());
                        Bound::exact(symbol.size.add(&Size::constant(extra)))
                    }
                    _ => Bound::exact(Size::constant(0)),
                };
                let elem = self.param(v, &a.elem, &place.then(Step::Elem), &format!("{name}[]"), depth + 1);
                Shape::coll(false, len, elem)
            }
            Type::Seq(e) => {
                let len = self.told(v, format!("|{name}|"), depth, Origin::Length(place.clone(), 0));
                let elem = self.param(v, e, &place.then(Step::Elem), &format!("{name}[]"), depth + 1);
                Shape::coll(true, len, elem)
            }
        }
    }

    fn told(&mut self, v: Var, name: String, arity: u32, origin: Origin) -> Bound {
        let why = match origin {
            Origin::Value(_) => "an integer of the arguments",
            _ => "a length of the arguments",
        };
        let span = self.function.span(v);
        let why = why.to_string();
        let var = self.symbols.add(Symbol { name, arity, origin, bound: None, total: None, span, why });
        Bound::exact(family(var, arity))
    }

    /// The shape with the lengths given by its type, inside vectors or sequences of these lengths.
    fn settled(&mut self, ty: &Type, shape: &Shape, around: &mut Vec<Size>) -> Shape {
        let (len, elem) = match (ty, shape) {
            (Type::Array(a), Shape::Array(_, elem)) => (self.length(&a.size, around), elem),
            (Type::Seq(_), Shape::Seq(len, elem)) => (len.clone(), elem),
            (_, Shape::Tuple(shapes)) => {
                let parts = ty.parts().unwrap_or_default();
                return Shape::Tuple(parts.into_iter().zip(shapes).map(|(t, s)| self.settled(t, s, around)).collect());
            }
            _ => return shape.clone(),
        };
        around.push(len.size.clone());
        let elem = ty.elem().map_or(Shape::UNKNOWN, |t| self.settled(t, elem, around));
        around.pop();
        Shape::coll(ty.is_seq(), len, elem)
    }
}
