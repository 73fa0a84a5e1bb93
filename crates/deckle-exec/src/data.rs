//! Between values and buffers, and between buffers and a program's memory.

use crate::device::Device;
use crate::fault::Failure;
use crate::host::element;
use crate::run::Memory;
use deckle_diag::Span;
use deckle_ir::kernel::{Buf, Op, Rep, Rows};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Buffer, Data, OverBudget, Pool};

/// The bytes of scalars of one type.
fn bytes_of(ty: ScalarType, scalars: &mut dyn Iterator<Item = Scalar>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for s in scalars {
        match s {
            Scalar::Bool(b) => bytes.push(u8::from(b)),
            Scalar::F32(v) => bytes.extend(v.to_ne_bytes()),
            Scalar::F64(v) => bytes.extend(v.to_ne_bytes()),
            other => {
                let v = other.as_int().unwrap_or(0).to_le_bytes();
                bytes.extend(&v[..ty.bytes()]);
            }
        }
    }
    bytes
}

/// A buffer of scalars of one type.
pub(crate) fn buffer_of(
    pool: &Pool,
    ty: ScalarType,
    scalars: &mut dyn Iterator<Item = Scalar>,
    name: &str,
) -> Result<Buffer, OverBudget> {
    pool.alloc_from(&bytes_of(ty, scalars), name)
}

/// Values of a type, one after another. All rows have offsets, as those of elements from outside do.
///
/// # Errors
/// There is no room.
pub fn data_of(ty: &Type, values: &[&Value], pool: &Pool, name: &str) -> Result<Data, OverBudget> {
    Ok(match ty {
        Type::Scalar(s) => {
            let mut scalars = values.iter().map(|v| v.as_scalar().unwrap_or(Scalar::zero(*s)));
            Data::Scalars(buffer_of(pool, *s, &mut scalars, name)?)
        }
        Type::Array(_) | Type::Seq(_) => {
            let lists: Vec<&[Value]> = values.iter().map(|v| v.items().unwrap_or_default()).collect();
            let mut offsets = vec![0i64];
            lists.iter().for_each(|list| offsets.push(offsets[offsets.len() - 1] + list.len() as i64));
            let all: Vec<&Value> = lists.into_iter().flatten().collect();
            let elem = data_of(ty.elem().unwrap_or(ty), &all, pool, name)?;
            Data::Offsets(pool.alloc_from(&offsets, name)?, Box::new(elem))
        }
        _ => {
            let component = |(k, ty): (usize, &Type)| {
                let column: Vec<&Value> = values.iter().filter_map(|v| v.parts()?.get(k)).collect();
                data_of(ty, &column, pool, name)
            };
            Data::Tuple(
                ty.parts().unwrap_or_default().into_iter().enumerate().map(component).collect::<Result<_, _>>()?,
            )
        }
    })
}

/// The value of a type at a place.
pub fn value_of(ty: &Type, data: &Data, at: usize) -> Value {
    match (ty, data) {
        (Type::Scalar(s), Data::Scalars(b)) => Value::Scalar(element(b, *s, at)),
        (_, Data::Tuple(parts)) => {
            let parts = parts.iter().zip(ty.parts().unwrap_or_default());
            Value::tuple(parts.map(|(d, t)| value_of(t, d, at)).collect())
        }
        (_, Data::Equal(_, inner) | Data::Offsets(_, inner)) => {
            let (lo, hi) = row(data, at);
            let elem = ty.elem().unwrap_or(ty);
            let elems = (lo..hi).map(|i| value_of(elem, inner, i)).collect();
            if ty.is_seq() { Value::seq(elems) } else { Value::array(elems) }
        }
        // A type and its data belong together.
        (_, Data::Scalars(_)) => Value::tuple(Vec::new()),
    }
}

/// Where a row begins and ends.
fn row(data: &Data, at: usize) -> (usize, usize) {
    match data {
        Data::Equal(n, _) => (at * n, at * n + n),
        Data::Offsets(b, _) => (offset(b, at), offset(b, at + 1)),
        _ => (0, 0),
    }
}

fn offset(b: &Buffer, at: usize) -> usize {
    element(b, ScalarType::I64, at).as_int().map_or(0, |n| n.max(0) as usize)
}

/// No values of a type.
pub(crate) fn none_of(ty: &Type, pool: &Pool) -> Result<Data, OverBudget> {
    data_of(ty, &[], pool, "nothing")
}

/// Where `n` rows end, if these are offsets of so many: they begin with 0 and do not decrease. Compiled code relies on it.
pub(crate) fn end_of(offsets: &Buffer, n: usize) -> Option<usize> {
    if !offsets.len().is_multiple_of(8) {
        return None;
    }
    let all = offsets.as_slice::<i64>().get(..=n)?;
    if all[0] != 0 || !all.is_sorted() {
        return None;
    }
    usize::try_from(all[n]).ok()
}

/// Whether the first bytes are `bool`s: 0 or 1.
pub(crate) fn are_bools(buffer: &Buffer, bytes: usize) -> bool {
    buffer.as_slice::<u8>()[..bytes].iter().fold(0, |all, b| all | b) <= 1
}

impl<D: Device> Memory<'_, D> {
    /// Gives the buffers of a representation what is in others, of which there are `n`, without copying.
    pub(crate) fn take(&mut self, rep: &Rep, data: Data, n: usize, name: &str) -> Result<(), Failure> {
        let wrong = || Failure::Argument(name.to_string());
        match (rep, data) {
            (Rep::Scalar(b), Data::Scalars(buffer)) => {
                let bytes = n.checked_mul(self.program.bufs[b.index()].elem.bytes());
                let Some(bytes) = bytes.filter(|bytes| *bytes <= buffer.len()) else { return Err(wrong()) };
                if self.program.bufs[b.index()].elem == ScalarType::Bool && !are_bools(&buffer, bytes) {
                    return Err(wrong());
                }
                let mem = self.device.put(self.padded(buffer, name)?)?;
                self.hold(*b, mem);
                Ok(())
            }
            (Rep::Tuple(reps), Data::Tuple(parts)) if reps.len() == parts.len() => {
                reps.iter().zip(parts).try_for_each(|(r, d)| self.take(r, d, n, name))
            }
            (Rep::Array(Rows::Equal(m), elem), Data::Equal(size, data)) => {
                if let Op::Load(b, _) = self.program.node(*m).op {
                    self.set(b, size as i64)?;
                }
                self.take(elem, *data, n.checked_mul(size).ok_or_else(wrong)?, name)
            }
            (Rep::Array(Rows::Offsets(b), elem), Data::Offsets(offsets, data)) => {
                let all = end_of(&offsets, n).ok_or_else(wrong)?;
                let mem = self.device.put(self.padded(offsets, name)?)?;
                self.hold(*b, mem);
                self.take(elem, *data, all, name)
            }
            (Rep::Array(Rows::Equal(m), elem), Data::Offsets(offsets, data)) => {
                let end = end_of(&offsets, n).ok_or_else(wrong)?;
                let all = &offsets.as_slice::<i64>()[..=n];
                let size = all.get(1).map_or(0, |first| first - all[0]);
                if let Some(row) = all.windows(2).position(|w| w[1] - w[0] != size) {
                    let (what, len) = (format!("argument `{name}`"), all[row + 1] - all[row]);
                    return Err(Failure::Irregular { what, span: Span::NONE, rows: n, row, len, first: size });
                }
                // A size that no row shows is told by another argument, or is 0.
                if let (Op::Load(b, _), true) = (&self.program.node(*m).op, n > 0) {
                    self.set(*b, size)?;
                }
                self.take(elem, *data, end, name)
            }
            (Rep::Array(Rows::Offsets(_), _), Data::Equal(size, data)) => {
                let offsets: Vec<i64> = (0..=n).map(|i| (i * size) as i64).collect();
                let offsets = self.settings.pool.alloc_from(&offsets, name)?;
                self.take(rep, Data::Offsets(offsets, data), n, name)
            }
            _ => Err(wrong()),
        }
    }

    fn padded(&self, buffer: Buffer, name: &str) -> Result<Buffer, Failure> {
        Ok(buffer.padded(&self.settings.pool, &format!("argument `{name}`"))?)
    }

    /// What is in the buffers of a representation, from `lo` below `hi`, and nothing else.
    pub(crate) fn give(&self, rep: &Rep, lo: usize, hi: usize) -> Result<Data, Failure> {
        let get = |b: &Buf| self.device.get(self.host().buf(*b).ok_or(Failure::bug("no result"))?);
        Ok(match rep {
            Rep::Scalar(b) => {
                let (buffer, size) = (get(b)?, self.program.bufs[b.index()].elem.bytes());
                if buffer.len() < hi * size {
                    return Err(Failure::bug("a result that is too short"));
                }
                let part = buffer.slice(lo * size, hi * size);
                if let Some(at) = part.unwritten() {
                    let message = format!("element {} of the result in {b} has not been written", lo + at / size);
                    return Err(Failure::Bug(message));
                }
                Data::Scalars(part)
            }
            Rep::Tuple(parts) => Data::Tuple(parts.iter().map(|p| self.give(p, lo, hi)).collect::<Result<_, _>>()?),
            Rep::Array(Rows::Equal(n), elem) => {
                let n = usize::try_from(self.host().int(*n)?).unwrap_or(0);
                Data::Equal(n, Box::new(self.give(elem, lo * n, hi * n)?))
            }
            Rep::Array(Rows::Offsets(b), elem) => {
                let offsets = get(b)?;
                if offsets.len() < (hi + 1) * 8 {
                    return Err(Failure::bug("offsets that are too short"));
                }
                let (first, last) = (offset(&offsets, lo), offset(&offsets, hi));
                let elem = self.give(elem, first, last)?;
                let mut offsets = offsets.slice(lo * 8, (hi + 1) * 8);
                if first != 0 {
                    let moved: Vec<i64> = offsets.as_slice::<i64>().iter().map(|n| n - first as i64).collect();
                    offsets = self.settings.pool.alloc_from(&moved, "the offsets of a result")?;
                }
                Data::Offsets(offsets, Box::new(elem))
            }
        })
    }

    /// Lets a buffer hold one number.
    pub(crate) fn set(&mut self, b: Buf, n: i64) -> Result<(), Failure> {
        let buffer = buffer_of(&self.settings.pool, ScalarType::I64, &mut [Scalar::I64(n)].into_iter(), "a size")?;
        let mem = self.device.put(buffer)?;
        self.hold(b, mem);
        Ok(())
    }
}
