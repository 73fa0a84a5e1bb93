//! Trees of values and flat data: one conversion each way.
//!
//! Trees are for literals, for printing and for the interpreter. A tree takes ten to a hundred times the memory of flat data, so large values are never converted to one.

use crate::build::Build;
use crate::text::collection;
use crate::{Result as Outcome, fit, room};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Buffer, Data, Form, OverBudget, Pool};

/// Values of a type in flat memory of a pool, under a name. Vectors and sequences have offsets even if they are all of one length.
///
/// # Errors
/// There is not enough memory.
pub fn flat<'v>(
    ty: &Type,
    values: impl IntoIterator<Item = &'v Value>,
    pool: &Pool,
    what: &str,
) -> Result<Data, OverBudget> {
    let mut build = Build::new(ty);
    let mut n = 0;
    for value in values {
        build.push_value(value);
        n += 1;
    }
    build.first(n, pool, what)
}

/// A value in flat memory without a pool, if it is one of the type. Sizes are not compared.
pub(crate) fn single(ty: &Type, value: &Value) -> Outcome<Data> {
    if !is_of(ty, value) {
        return Err(fit::confused());
    }
    let mut build = Build::new(ty);
    build.push_value(value);
    Ok(build.into_data())
}

fn is_of(ty: &Type, value: &Value) -> bool {
    match (ty, value) {
        (Type::Scalar(own), Value::Scalar(s)) => s.ty() == *own,
        (Type::Tuple(_) | Type::Record(_), Value::Tuple(values)) => {
            let types = ty.parts().unwrap_or_default();
            types.len() == values.len() && types.into_iter().zip(values.iter()).all(|(ty, value)| is_of(ty, value))
        }
        (Type::Array(_) | Type::Seq(_), Value::Array(items) | Value::Seq(items)) => {
            ty.elem().is_some_and(|ty| items.iter().all(|item| is_of(ty, item)))
        }
        _ => false,
    }
}

/// The value of a type at a place, which must exist.
pub fn value(ty: &Type, data: &Data, at: usize) -> Value {
    let row = |elem: &Data| {
        let (lo, hi) = data.row(at).unwrap_or((0, 0));
        let ty = ty.elem().unwrap_or(ty);
        (lo..hi).map(|i| value(ty, elem, i)).collect()
    };
    match data.form() {
        Form::Scalars(own, b) => Value::Scalar(scalar(*own, b, at)),
        Form::Tuple(parts) => {
            let types = ty.parts().unwrap_or_default();
            Value::tuple(types.into_iter().zip(parts).map(|(ty, part)| value(ty, part, at)).collect())
        }
        Form::Equal(_, elem) | Form::Offsets(_, elem) => collection(row(elem), ty),
    }
}

/// All values, which are of this type.
pub fn values(ty: &Type, data: &Data) -> Vec<Value> {
    (0..data.len()).map(|i| value(ty, data, i)).collect()
}

/// The scalar at a place, which must exist.
pub(crate) fn scalar(ty: ScalarType, b: &Buffer, i: usize) -> Scalar {
    let bits = match ty.bytes() {
        1 => b.as_slice::<u8>()[i].into(),
        2 => b.as_slice::<u16>()[i].into(),
        4 => b.as_slice::<u32>()[i].into(),
        _ => b.as_slice::<u64>()[i],
    };
    Scalar::from_bits(ty, bits)
}

/// Whether flat data is of a type. The lengths of its arrays are not compared.
pub fn fits(ty: &Type, data: &Data) -> bool {
    match (ty, data.form()) {
        (Type::Scalar(s), Form::Scalars(own, _)) => s == own,
        (Type::Tuple(_) | Type::Record(_), Form::Tuple(parts)) => {
            let types = ty.parts().unwrap_or_default();
            types.len() == parts.len() && types.into_iter().zip(parts).all(|(ty, part)| fits(ty, part))
        }
        (Type::Array(_) | Type::Seq(_), Form::Equal(_, elem) | Form::Offsets(_, elem)) => {
            ty.elem().is_some_and(|ty| fits(ty, elem))
        }
        _ => false,
    }
}

/// The approximate number of bytes of a number in a tree.
pub const NUMBER: u64 = room::VALUE;

/// The approximate number of bytes of values as trees.
pub fn bytes(data: &Data) -> u64 {
    let n = data.len() as u64;
    match data.form() {
        Form::Scalars(..) => room::array(n, 0),
        Form::Tuple(parts) => parts.iter().map(bytes).fold(room::tuples(n), u64::saturating_add),
        Form::Equal(_, elem) | Form::Offsets(_, elem) => room::array(0, n).saturating_add(bytes(elem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{byte, int, real, tuple, value as written, vector};

    #[test]
    fn a_tree_is_flat_data_and_a_tree_again() {
        let pool = Pool::new(None);
        let boolean = Type::BOOL;
        for (ty, text) in [
            (real(), "0.5"),
            (boolean, "true"),
            (tuple(&[int(), vector(byte())]), "(-1, \"ab\")"),
            (vector(vector(int())), "[[1, 2], [], [3]]"),
            (vector(vector(tuple(&[int(), vector(real())]))), "[[], [(1, [1, 2]), (2, [])]]"),
        ] {
            let tree = written(text, &ty);
            let data = flat(&ty, [&tree, &tree], &pool, "values").unwrap();
            assert!(fits(&ty, &data) && !fits(&vector(ty.clone()), &data));
            assert_eq!(values(&ty, &data), [tree.clone(), tree]);
        }
        assert_eq!(flat(&vector(int()), [], &pool, "values").unwrap().len(), 0);
    }

    #[test]
    fn a_tree_of_another_type_is_refused() {
        let pair = tuple(&[int(), real()]);
        assert_eq!(value(&pair, &single(&pair, &written("(1, 2)", &pair)).unwrap(), 0), written("(1, 2)", &pair));
        for (ty, other) in [(int(), real()), (tuple(&[int()]), pair.clone()), (vector(int()), int()), (int(), pair)] {
            let tree = if other == int() {
                "1"
            } else if other == real() {
                "1.5"
            } else {
                "(1, 2)"
            };
            assert!(single(&ty, &written(tree, &other)).unwrap_err().message.contains("not of the type"));
        }
    }
}
