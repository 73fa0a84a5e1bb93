//! Between flat data and a program's memory.

#![allow(unsafe_code)] // What compiled code wrote is not looked at again.

use crate::native::device::Device;
use crate::native::fault::Failure;
use crate::native::gpu::{Kept, KeptForm};
use crate::native::run::Memory;
use deckle_diag::Span;
use deckle_ir::kernel::{Buf, Op, Rep, Rows};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_runtime::{Buffer, Data, Form, OverBudget, Pool};

/// A buffer of scalars of one type.
pub(crate) fn buffer_of(pool: &Pool, ty: ScalarType, scalars: &[Scalar], name: &str) -> Result<Buffer, OverBudget> {
    let mut bytes = Vec::with_capacity(scalars.len() * ty.bytes());
    for s in scalars {
        bytes.extend_from_slice(&s.bits().to_le_bytes()[..ty.bytes()]);
    }
    pool.alloc_from(&bytes, name)
}

/// No values of a type.
pub(crate) fn none_of(ty: &Type, pool: &Pool) -> Result<Data, OverBudget> {
    deckle_io::tree::flat(ty, [], pool, "nothing")
}

impl<D: Device> Memory<'_, D> {
    /// Gives the buffers of a representation what is in others, without copying what is on the device.
    pub(crate) fn take(&mut self, rep: &Rep, data: Kept, name: &str) -> Result<(), Failure> {
        let wrong = || Failure::Argument(name.to_string());
        let (n, what) = (data.len, format!("argument `{name}`"));
        match (rep, data.form) {
            (Rep::Scalar(b), KeptForm::Scalars(ty, array)) if self.program.bufs[b.index()].elem == ty => {
                let mem = self.device.place(array, &what)?;
                self.hold(*b, mem);
                Ok(())
            }
            (Rep::Tuple(reps), KeptForm::Tuple(parts)) if reps.len() == parts.len() => {
                reps.iter().zip(parts).try_for_each(|(r, d)| self.take(r, d, name))
            }
            (Rep::Array(Rows::Equal(m), elem), KeptForm::Equal(size, data)) => {
                if let Op::Load(b, _) = self.program.node(*m).op {
                    self.set(b, size as i64)?;
                }
                self.take(elem, *data, name)
            }
            (Rep::Array(Rows::Offsets(b), elem), KeptForm::Offsets(offsets, data)) => {
                let mem = self.device.place(offsets, &what)?;
                self.hold(*b, mem);
                self.take(elem, *data, name)
            }
            (Rep::Array(Rows::Equal(m), elem), KeptForm::Offsets(offsets, data)) => {
                let offsets = offsets.fetch(self.settings)?;
                let all = offsets.as_slice::<i64>();
                let size = all.get(1).copied().unwrap_or(0);
                if let Some(row) = all.windows(2).position(|w| w[1] - w[0] != size) {
                    let len = all[row + 1] - all[row];
                    return Err(Failure::Irregular { what, span: Span::NONE, rows: n, row, len, first: size });
                }
                // A size that no row shows is told by another argument, or is 0.
                if let (Op::Load(b, _), true) = (&self.program.node(*m).op, n > 0) {
                    self.set(*b, size)?;
                }
                self.take(elem, *data, name)
            }
            (Rep::Array(Rows::Offsets(b), elem), KeptForm::Equal(size, data)) => {
                let offsets: Vec<i64> = (0..=n).map(|i| (i * size) as i64).collect();
                let mem = self.device.put(self.settings.pool.alloc_from(&offsets, name)?, &what)?;
                self.hold(*b, mem);
                self.take(elem, *data, name)
            }
            _ => Err(wrong()),
        }
    }

    /// What is in the buffers of a representation, from `lo` below `hi`, and nothing else.
    pub(crate) fn give(&self, rep: &Rep, lo: usize, hi: usize) -> Result<Data, Failure> {
        let get = |b: &Buf| {
            let mem = self.host().buf(*b).ok_or_else(|| Failure::bug("no result"))?;
            self.device.get_result(mem, self.program.bufs[b.index()].elem.bytes())
        };
        let form = match rep {
            Rep::Scalar(b) => {
                let ty = self.program.bufs[b.index()].elem;
                let (buffer, size) = (get(b)?, ty.bytes());
                if buffer.len() < hi * size {
                    return Err(Failure::bug("a result that is too short"));
                }
                let is_all = lo == 0 && hi * size == buffer.len();
                let part = if is_all { buffer } else { buffer.slice(lo * size, hi * size) };
                if let Some(at) = part.unwritten() {
                    let message = format!("element {} of the result in {b} has not been written", lo + at / size);
                    return Err(Failure::Bug(message));
                }
                Form::Scalars(ty, part)
            }
            Rep::Tuple(parts) => Form::Tuple(parts.iter().map(|p| self.give(p, lo, hi)).collect::<Result<_, _>>()?),
            Rep::Array(Rows::Equal(n), elem) => {
                let n = usize::try_from(self.host().int(*n)?).unwrap_or(0);
                Form::Equal(n, Box::new(self.give(elem, lo * n, hi * n)?))
            }
            Rep::Array(Rows::Offsets(b), elem) => {
                let offsets = get(b)?;
                if offsets.len() < (hi + 1) * 8 {
                    return Err(Failure::bug("offsets that are too short"));
                }
                let mut offsets = offsets.slice(lo * 8, (hi + 1) * 8);
                let all = offsets.as_slice::<i64>();
                let (first, last) = (all[0], all[hi - lo]);
                if first < 0 || last < first {
                    return Err(Failure::bug("offsets that are none"));
                }
                let elem = self.give(elem, first as usize, last as usize)?;
                if first != 0 {
                    let moved: Vec<i64> = all.iter().map(|n| n - first).collect();
                    offsets = self.settings.pool.alloc_from(&moved, "the offsets of a result")?;
                }
                Form::Offsets(offsets, Box::new(elem))
            }
        };
        // SAFETY: lengths are those of the parts above. That offsets do not decrease and truth values are 0 or 1 is what kernels promise: offsets are scans of sizes, which
        // have been checked, and truth values come of comparisons.
        Ok(unsafe { Data::new_unchecked(hi - lo, form) })
    }

    /// Lets a buffer hold one number.
    pub(crate) fn set(&mut self, b: Buf, n: i64) -> Result<(), Failure> {
        let buffer = self.settings.pool.alloc_from(&[n], "a size")?;
        let mem = self.device.put(buffer, "a size")?;
        self.hold(b, mem);
        Ok(())
    }
}
