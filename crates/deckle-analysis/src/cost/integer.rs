//! Facts about the results of integer arithmetic.
//!
//! A bound that is not exact does not limit how small a number may be: it may be negative. So a difference with it is unknown, and
//! a product is known only with a factor that is.

use super::shape::{Bound, Shape};
use deckle_ir::array::{BinOp, Op, UnOp};
use deckle_ir::scalar::ScalarType;
use deckle_ir::size::Size;
use deckle_ir::types::Type;

/// The value of a scalar operator whose result is an `i64`.
pub fn scalar(op: &Op, from: &Type, args: &[&Shape]) -> Shape {
    let arg = |k: usize| args.get(k).and_then(|a| a.as_int());
    let value = match op {
        Op::Const(c) => c.as_int().map(|n| Bound::exact(Size::constant(n))),
        Op::Unary(UnOp::Neg) => arg(0).filter(|a| a.exact).map(|a| Bound::exact(a.size.scale(-1))),
        Op::Binary(op) => binary(*op, arg(0), arg(1)),
        Op::Cast(_) => match from.as_scalar() {
            Some(ScalarType::I64) => arg(0).cloned(),
            Some(ScalarType::U8) => Some(Bound::at_most(Size::constant(255))),
            Some(ScalarType::Bool) => Some(Bound::at_most(Size::constant(1))),
            _ => None,
        },
        _ => None,
    };
    value.map_or(Shape::UNKNOWN, Shape::int)
}

fn binary(op: BinOp, a: Option<&Bound>, b: Option<&Bound>) -> Option<Bound> {
    let natural = |x: &Bound| x.exact && x.size.is_natural();
    let constant = b.filter(|b| b.exact).and_then(|b| b.size.as_constant());
    match op {
        BinOp::Add => Some(a?.plus(b?)),
        BinOp::Sub => {
            let (a, b) = (a?, b.filter(|b| b.exact)?);
            Some(Bound { size: a.size.sub(&b.size), exact: a.exact })
        }
        BinOp::Mul => match (a?, b?) {
            (a, b) if a.exact && b.exact => Some(Bound::exact(a.size.mul(&b.size))),
            (a, b) if natural(a) || natural(b) => Some(Bound::at_most(a.size.mul(&b.size))),
            _ => None,
        },
        BinOp::Div => match (a?, constant) {
            (a, Some(c)) if c > 0 && natural(a) => Some(Bound::exact(a.size.div(&Size::constant(c)))),
            (a, Some(c)) if c > 0 => Some(Bound::at_most(a.size.div(&Size::constant(c)).greater(&Size::constant(0)))),
            (a, _) if natural(a) => Some(Bound::at_most(a.size.clone())),
            _ => None,
        },
        BinOp::Rem => match (constant, b) {
            (Some(c), _) => Some(Bound::at_most(Size::constant(c.saturating_abs().saturating_sub(1)))),
            (None, Some(b)) if natural(b) => Some(Bound::at_most(b.size.clone())),
            _ => a.filter(|a| natural(a)).map(|a| Bound::at_most(a.size.clone())),
        },
        BinOp::Min => match (a, b) {
            (Some(a), Some(b)) => Some(Bound { size: a.size.lesser(&b.size), exact: a.exact && b.exact }),
            (Some(x), None) | (None, Some(x)) => Some(Bound::at_most(x.size.clone())),
            (None, None) => None,
        },
        BinOp::Max => {
            let (a, b) = (a?, b?);
            Some(Bound { size: a.size.greater(&b.size), exact: a.exact && b.exact })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::text::parse_size;

    fn check(op: BinOp, a: Option<Bound>, b: Option<Bound>, expected: Option<(&str, bool)>) {
        let expected = expected.map(|(s, exact)| Bound { size: parse_size(s).unwrap(), exact });
        assert_eq!(binary(op, a.as_ref(), b.as_ref()), expected);
    }

    #[test]
    fn bounds_are_kept_where_they_hold() {
        let exact = |s: &str| Some(Bound::exact(parse_size(s).unwrap()));
        let most = |s: &str| Some(Bound::at_most(parse_size(s).unwrap()));
        check(BinOp::Sub, exact("n2"), exact("n3 + 1"), Some(("n2 - n3 - 1", true)));
        check(BinOp::Sub, exact("n2"), most("n3"), None);
        check(BinOp::Mul, most("n2"), exact("3"), Some(("3*n2", false)));
        check(BinOp::Mul, most("n2"), most("n3"), None);
        check(BinOp::Div, exact("n2 + 8"), exact("64"), Some(("div(n2 + 8, 64)", true)));
        check(BinOp::Div, exact("n2"), None, Some(("n2", false)));
        check(BinOp::Rem, None, exact("16"), Some(("15", false)));
        check(BinOp::Min, None, exact("n2"), Some(("n2", false)));
        check(BinOp::Max, None, exact("n2"), None);
    }
}
