//! Between values and buffers.

use crate::device::Device;
use crate::fault::Failure;
use crate::host;
use crate::run::Memory;
use deckle_ir::kernel::{Buf, Op, Rep, Rows};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Buffer, Data, Pool};

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
) -> Result<Buffer, Failure> {
    Ok(pool.alloc_from(&bytes_of(ty, scalars), name)?)
}

impl<D: Device> Memory<'_, D> {
    /// Gives the buffers of a representation these values, one after another.
    pub(crate) fn fill(&mut self, rep: &Rep, values: &[&Value], name: &str) -> Result<(), Failure> {
        match rep {
            Rep::Scalar(b) => {
                let ty = self.program.bufs[b.index()].elem;
                let mut scalars = values.iter().map(|v| v.as_scalar().unwrap_or(Scalar::zero(ty)));
                let buffer = buffer_of(&self.settings.pool, ty, &mut scalars, name)?;
                self.bufs[b.index()] = Some(self.device.put(buffer)?);
            }
            Rep::Tuple(parts) => {
                for (k, part) in parts.iter().enumerate() {
                    let column: Vec<&Value> = values.iter().filter_map(|v| v.parts()?.get(k)).collect();
                    self.fill(part, &column, name)?;
                }
            }
            Rep::Array(rows, elem) => {
                let lists: Vec<&[Value]> = values.iter().map(|v| v.items().unwrap_or_default()).collect();
                match rows {
                    Rows::Equal(n) => {
                        // A size that no row shows is told by another argument, or is 0.
                        if let (Op::Load(b, _), Some(first)) = (&self.program.node(*n).op, lists.first()) {
                            self.set(*b, first.len() as i64)?;
                        }
                    }
                    Rows::Offsets(b) => {
                        let mut total = 0i64;
                        let mut offsets = vec![Scalar::I64(0)];
                        for list in &lists {
                            total += list.len() as i64;
                            offsets.push(Scalar::I64(total));
                        }
                        let buffer = buffer_of(&self.settings.pool, ScalarType::I64, &mut offsets.into_iter(), name)?;
                        self.bufs[b.index()] = Some(self.device.put(buffer)?);
                    }
                }
                let all: Vec<&Value> = lists.into_iter().flatten().collect();
                self.fill(elem, &all, name)?;
            }
        }
        Ok(())
    }

    /// Gives the buffers of a representation what is in others, of which there are `n`, without copying.
    pub(crate) fn take(&mut self, rep: &Rep, data: Data, n: usize, name: &str) -> Result<(), Failure> {
        let wrong = || Failure::Argument(name.to_string());
        match (rep, data) {
            (Rep::Scalar(b), Data::Scalars(buffer)) => {
                let bytes = n.checked_mul(self.program.bufs[b.index()].elem.bytes());
                if bytes.is_none_or(|bytes| bytes > buffer.len()) {
                    return Err(wrong());
                }
                self.bufs[b.index()] = Some(self.device.put(self.padded(buffer, name)?)?);
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
                if offsets.len() % 8 != 0 || offsets.len() / 8 <= n {
                    return Err(wrong());
                }
                let all = host::element(&offsets, ScalarType::I64, n).as_int().unwrap_or(0);
                let all = usize::try_from(all).map_err(|_| wrong())?;
                self.bufs[b.index()] = Some(self.device.put(self.padded(offsets, name)?)?);
                self.take(elem, *data, all, name)
            }
            _ => Err(wrong()),
        }
    }

    fn padded(&self, buffer: Buffer, name: &str) -> Result<Buffer, Failure> {
        Ok(buffer.padded(&self.settings.pool, &format!("argument `{name}`"))?)
    }

    /// What is in the buffers of a representation.
    pub(crate) fn give(&self, rep: &Rep) -> Result<Data, Failure> {
        let get = |b: &Buf| self.device.get(self.host().buf(*b).ok_or(Failure::bug("no result"))?);
        Ok(match rep {
            Rep::Scalar(b) => Data::Scalars(get(b)?),
            Rep::Tuple(parts) => Data::Tuple(parts.iter().map(|p| self.give(p)).collect::<Result<_, _>>()?),
            Rep::Array(Rows::Equal(n), elem) => {
                let n = usize::try_from(self.host().int(*n)?).unwrap_or(0);
                Data::Equal(n, Box::new(self.give(elem)?))
            }
            Rep::Array(Rows::Offsets(b), elem) => Data::Offsets(get(b)?, Box::new(self.give(elem)?)),
        })
    }

    /// Lets a buffer hold one number.
    pub(crate) fn set(&mut self, b: Buf, n: i64) -> Result<(), Failure> {
        let buffer = buffer_of(&self.settings.pool, ScalarType::I64, &mut [Scalar::I64(n)].into_iter(), "a size")?;
        self.bufs[b.index()] = Some(self.device.put(buffer)?);
        Ok(())
    }

    /// The value of a type at element `at` of a representation.
    pub(crate) fn read(&self, rep: &Rep, ty: &Type, at: usize) -> Result<Value, Failure> {
        match rep {
            Rep::Scalar(b) => {
                let buffer = self.host().buf(*b).ok_or(Failure::bug("no result"))?;
                Ok(Value::Scalar(self.device.element(buffer, self.program.bufs[b.index()].elem, at)?))
            }
            Rep::Tuple(parts) => {
                let tys = ty.parts().unwrap_or_default();
                let parts = parts.iter().zip(tys).map(|(p, t)| self.read(p, t, at));
                Ok(Value::tuple(parts.collect::<Result<_, _>>()?))
            }
            Rep::Array(rows, elem) => {
                let (lo, hi) = match rows {
                    Rows::Equal(n) => {
                        let n = usize::try_from(self.host().int(*n)?).unwrap_or(0);
                        (at * n, at * n + n)
                    }
                    Rows::Offsets(b) => {
                        let offsets = self.host().buf(*b).ok_or(Failure::bug("no result"))?;
                        let get = |i: usize| -> Result<usize, Failure> {
                            let offset = self.device.element(offsets, ScalarType::I64, i)?;
                            Ok(offset.as_int().unwrap_or(0).max(0) as usize)
                        };
                        (get(at)?, get(at + 1)?)
                    }
                };
                let elem_ty = ty.elem().cloned().unwrap_or(Type::BOOL);
                let elems = (lo..hi).map(|i| self.read(elem, &elem_ty, i)).collect::<Result<Vec<_>, _>>()?;
                Ok(if ty.is_seq() { Value::seq(elems) } else { Value::array(elems) })
            }
        }
    }
}
