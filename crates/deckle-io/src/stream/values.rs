//! Blocks to values, and back.

#[cfg(test)]
use crate::build::Build;
use crate::room;
use crate::text::collection;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Block, Buffer, Data};
#[cfg(test)]
use deckle_runtime::{OverBudget, Pool};

/// The elements of a block, which are of this type.
pub fn values(ty: &Type, block: &Block) -> Vec<Value> {
    items(ty, &block.data, 0, block.len)
}

/// About how many bytes a number takes in a tree.
pub const TREE_BYTES: u64 = room::VALUE;

/// About how many bytes the elements of a block, which are of this type, take as trees.
pub fn tree_bytes(ty: &Type, block: &Block) -> u64 {
    tree(ty, &block.data, block.len)
}

fn tree(ty: &Type, data: &Data, n: usize) -> u64 {
    let elem = ty.elem().unwrap_or(ty);
    match data {
        Data::Scalars(_) => room::array(n as u64, 0),
        Data::Tuple(parts) => {
            let parts = ty.parts().unwrap_or_default().into_iter().zip(parts).map(|(ty, part)| tree(ty, part, n));
            parts.fold(room::tuples(n as u64), u64::saturating_add)
        }
        Data::Equal(m, data) => room::array(0, n as u64).saturating_add(tree(elem, data, n * m)),
        Data::Offsets(ends, data) => {
            let all = ends.as_slice::<i64>().get(n).map_or(0, |n| *n as usize);
            room::array(0, n as u64).saturating_add(tree(elem, data, all))
        }
    }
}

/// A block of these elements, which are of this type. Vectors and sequences have offsets even where they are all of one length.
///
/// # Errors
/// There is no room in the pool.
#[cfg(test)]
pub fn block(ty: &Type, elems: &[Value], pool: &Pool) -> Result<Block, OverBudget> {
    let mut build = Build::new(ty);
    elems.iter().for_each(|elem| build.push_value(elem));
    build.take(elems.len(), pool)
}

fn items(ty: &Type, data: &Data, lo: usize, hi: usize) -> Vec<Value> {
    (lo..hi).map(|i| value(ty, data, i)).collect()
}

fn value(ty: &Type, data: &Data, i: usize) -> Value {
    let row = |elem: &Data, lo: usize, hi: usize| collection(items(ty.elem().unwrap_or(ty), elem, lo, hi), ty);
    match data {
        Data::Scalars(b) => Value::Scalar(scalar(ty.as_scalar().unwrap_or(ScalarType::U8), b, i)),
        Data::Tuple(parts) => {
            let types = ty.parts().unwrap_or_default();
            Value::tuple(types.into_iter().zip(parts).map(|(ty, part)| value(ty, part, i)).collect())
        }
        Data::Equal(m, elem) => row(elem, i * m, (i + 1) * m),
        Data::Offsets(b, elem) => {
            let ends = b.as_slice::<i64>();
            row(elem, ends[i] as usize, ends[i + 1] as usize)
        }
    }
}

fn scalar(ty: ScalarType, b: &Buffer, i: usize) -> Scalar {
    let bits = match ty.bytes() {
        1 => b.as_slice::<u8>()[i].into(),
        2 => b.as_slice::<u16>()[i].into(),
        4 => b.as_slice::<u32>()[i].into(),
        _ => b.as_slice::<u64>()[i],
    };
    Scalar::from_bits(ty, bits)
}
