//! Values in buffers, and blocks of them.

use crate::buffer::Buffer;
use crate::pool::{OverBudget, Pool};

/// Values in buffers: `n` of them, one after another. What a program is called with and gives back without going through trees; how many there are
/// is known from where it stands.
#[derive(Clone, Debug)]
pub enum Data {
    /// Scalars, of the type that the program has there; `bool` is a byte.
    Scalars(Buffer),
    /// Each component for itself.
    Tuple(Vec<Data>),
    /// Arrays of equal size.
    Equal(usize, Box<Data>),
    /// Arrays that begin and end at offsets, of `i64`: one more than there are arrays.
    Offsets(Buffer, Box<Data>),
}

/// Elements of a sequence, one after another.
///
/// # Invariants
/// Buffers hold what belongs to the elements and nothing else: so many scalars, so many offsets and one more, the first of which is 0, and what they end with inside.
#[derive(Clone, Debug)]
pub struct Block {
    /// The elements.
    pub data: Data,
    /// How many.
    pub len: usize,
}

impl Block {
    /// These elements.
    pub fn new(data: Data, len: usize) -> Block {
        Block { data, len }
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        bytes(&self.data)
    }

    /// The elements from `lo` below `hi`, which share the memory of these.
    ///
    /// # Errors
    /// There is no room for offsets that are counted from another place.
    pub fn slice(&self, lo: usize, hi: usize, pool: &Pool) -> Result<Block, OverBudget> {
        Ok(Block { data: slice(&self.data, self.len, lo, hi, pool)?, len: hi - lo })
    }

    /// All blocks as one. They have the same parts, and there is at least one of them.
    ///
    /// # Errors
    /// There is no room.
    pub fn join(blocks: &[Block], pool: &Pool) -> Result<Block, OverBudget> {
        if let [one] = blocks {
            return Ok(one.clone());
        }
        let parts: Vec<(&Data, usize)> = blocks.iter().map(|b| (&b.data, b.len)).collect();
        Ok(Block { data: join(&parts, pool)?, len: blocks.iter().map(|b| b.len).sum() })
    }
}

fn bytes(data: &Data) -> usize {
    match data {
        Data::Scalars(b) => b.len(),
        Data::Tuple(parts) => parts.iter().map(bytes).sum(),
        Data::Equal(_, elem) => bytes(elem),
        Data::Offsets(b, elem) => b.len() + bytes(elem),
    }
}

const WHAT: &str = "a part of a sequence";

fn slice(data: &Data, n: usize, lo: usize, hi: usize, pool: &Pool) -> Result<Data, OverBudget> {
    Ok(match data {
        Data::Scalars(b) => {
            let size = b.len().checked_div(n).unwrap_or(0);
            Data::Scalars(b.slice(lo * size, hi * size))
        }
        Data::Tuple(parts) => Data::Tuple(parts.iter().map(|p| slice(p, n, lo, hi, pool)).collect::<Result<_, _>>()?),
        Data::Equal(m, elem) => Data::Equal(*m, Box::new(slice(elem, n * m, lo * m, hi * m, pool)?)),
        Data::Offsets(b, elem) => {
            let offsets = b.as_slice::<i64>();
            let all = offsets.last().map_or(0, |n| *n as usize);
            let (first, last) = (offsets[lo], offsets[hi]);
            let elem = slice(elem, all, first as usize, last as usize, pool)?;
            let moved = if first == 0 {
                b.slice(lo * 8, (hi + 1) * 8)
            } else {
                let mut moved = pool.alloc((hi - lo + 1) * 8, WHAT)?;
                for (to, from) in moved.get_mut::<i64>().into_iter().flatten().zip(&offsets[lo..=hi]) {
                    *to = from - first;
                }
                moved
            };
            Data::Offsets(moved, Box::new(elem))
        }
    })
}

fn join(parts: &[(&Data, usize)], pool: &Pool) -> Result<Data, OverBudget> {
    Ok(match parts[0].0 {
        Data::Scalars(_) => {
            let buffers: Vec<&Buffer> = parts.iter().filter_map(|(d, _)| scalars(d)).collect();
            let mut all = pool.alloc(buffers.iter().map(|b| b.len()).sum(), WHAT)?;
            let mut rest = all.get_mut::<u8>().unwrap_or_default();
            for b in buffers {
                let (here, after) = rest.split_at_mut(b.len());
                here.copy_from_slice(b.as_slice());
                rest = after;
            }
            Data::Scalars(all)
        }
        Data::Tuple(first) => {
            let column = |k: usize| {
                let parts: Vec<(&Data, usize)> =
                    parts.iter().filter_map(|(d, n)| Some((component(d, k)?, *n))).collect();
                join(&parts, pool)
            };
            Data::Tuple((0..first.len()).map(column).collect::<Result<_, _>>()?)
        }
        // Those of another size, if there are any, are told apart by offsets.
        Data::Equal(m, _) if parts.iter().all(|(d, _)| matches!(d, Data::Equal(k, _) if k == m)) => {
            let inner: Vec<(&Data, usize)> = parts.iter().filter_map(|(d, n)| Some((inside(d)?, n * m))).collect();
            Data::Equal(*m, Box::new(join(&inner, pool)?))
        }
        Data::Equal(..) | Data::Offsets(..) => {
            let rows: usize = parts.iter().map(|(_, n)| n).sum();
            let mut offsets = pool.alloc((rows + 1) * 8, WHAT)?;
            let (mut inner, mut at, mut total) = (Vec::new(), 1, 0i64);
            let to = offsets.get_mut::<i64>().unwrap_or_default();
            to[0] = 0;
            for (d, n) in parts {
                let begins = total;
                for i in 1..=*n {
                    total = begins + end(d, i);
                    to[at] = total;
                    at += 1;
                }
                inner.extend(inside(d).map(|elem| (elem, (total - begins) as usize)));
            }
            Data::Offsets(offsets, Box::new(join(&inner, pool)?))
        }
    })
}

fn scalars(data: &Data) -> Option<&Buffer> {
    if let Data::Scalars(b) = data { Some(b) } else { None }
}

fn component(data: &Data, k: usize) -> Option<&Data> {
    if let Data::Tuple(parts) = data { parts.get(k) } else { None }
}

fn inside(data: &Data) -> Option<&Data> {
    if let Data::Equal(_, elem) | Data::Offsets(_, elem) = data { Some(elem) } else { None }
}

/// Where the row before `i` ends.
fn end(data: &Data, i: usize) -> i64 {
    match data {
        Data::Equal(m, _) => (i * m) as i64,
        Data::Offsets(b, _) => b.as_slice::<i64>()[i],
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(pool: &Pool, xs: &[i64]) -> Data {
        Data::Scalars(pool.alloc_from(xs, "xs").unwrap())
    }

    fn rows(pool: &Pool, rows: &[&[i64]]) -> Block {
        let mut offsets = vec![0i64];
        rows.iter().for_each(|r| offsets.push(offsets[offsets.len() - 1] + r.len() as i64));
        let offsets = pool.alloc_from(&offsets, "offsets").unwrap();
        Block::new(Data::Offsets(offsets, Box::new(ints(pool, &rows.concat()))), rows.len())
    }

    fn shown(data: &Data) -> String {
        match data {
            Data::Scalars(b) => format!("{:?}", b.as_slice::<i64>()),
            Data::Tuple(parts) => format!("({})", parts.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Data::Equal(m, elem) => format!("{m} of {}", shown(elem)),
            Data::Offsets(b, elem) => format!("{:?} of {}", b.as_slice::<i64>(), shown(elem)),
        }
    }

    #[test]
    fn a_part_of_ragged_rows_is_counted_from_its_beginning() {
        let pool = Pool::new(None);
        let block = rows(&pool, &[&[1, 2], &[], &[3], &[4, 5, 6]]);
        assert_eq!(shown(&block.slice(0, 2, &pool).unwrap().data), "[0, 2, 2] of [1, 2]");
        assert_eq!(shown(&block.slice(2, 4, &pool).unwrap().data), "[0, 1, 4] of [3, 4, 5, 6]");
        assert_eq!(shown(&block.slice(4, 4, &pool).unwrap().data), "[0] of []");
    }

    #[test]
    fn what_was_cut_is_joined_again() {
        let pool = Pool::new(None);
        let pairs =
            Data::Tuple(vec![ints(&pool, &[1, 2, 3]), Data::Equal(2, Box::new(ints(&pool, &[1, 2, 3, 4, 5, 6])))]);
        for block in [rows(&pool, &[&[1, 2], &[], &[3], &[4, 5, 6]]), Block::new(pairs, 3)] {
            for k in 0..=block.len {
                let parts = [block.slice(0, k, &pool).unwrap(), block.slice(k, block.len, &pool).unwrap()];
                let joined = Block::join(&parts, &pool).unwrap();
                assert_eq!((shown(&joined.data), joined.len), (shown(&block.data), block.len));
                assert_eq!(parts[0].len + parts[1].len, block.len);
            }
        }
    }

    #[test]
    fn rows_of_different_equal_sizes_are_ragged_together() {
        let pool = Pool::new(None);
        let of = |m: usize, xs: &[i64]| Block::new(Data::Equal(m, Box::new(ints(&pool, xs))), xs.len() / m);
        let joined = Block::join(&[of(1, &[7, 8]), of(2, &[1, 2])], &pool).unwrap();
        assert_eq!(shown(&joined.data), "[0, 1, 2, 4] of [7, 8, 1, 2]");
    }
}
