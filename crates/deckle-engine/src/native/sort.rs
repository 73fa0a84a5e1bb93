//! Sorting on the cores of this machine.

use crate::native::cpu::Cpu;
use crate::native::device::Sort;
use crate::native::fault::Failure;
use crate::native::run::Memory;
use deckle_diag::Span;
use deckle_ir::scalar::ScalarType;
use deckle_runtime::sort::{self, Key, Segments};
use deckle_runtime::{Buffer, OverBudget, Pool};

impl Cpu<'_> {
    /// The order of keys: see [`Device::sort`](crate::native::device::Device::sort).
    pub(super) fn sorted(&self, memory: &Memory<'_, Self>, sort: &Sort<'_>) -> Result<Buffer, Failure> {
        let (settings, program) = (self.settings, memory.program);
        let over = |e| Failure::Memory(e, Span::default());
        let len = usize::try_from(sort.len).unwrap_or(usize::MAX);
        let mut result = settings.pool.alloc(len.saturating_mul(8), sort.name).map_err(over)?;
        let offsets = match sort.offsets {
            Some(b) => memory.buffer(b)?.clone(),
            None => equal_offsets(sort.len, sort.rows, &settings.pool).map_err(over)?,
        };
        let offsets = offsets.as_slice::<i64>();
        let segments = Segments::Offsets(&offsets[..=(sort.rows as usize).min(offsets.len().saturating_sub(1))]);
        let mut columns = Vec::new();
        for b in sort.keys {
            let (buffer, elem) = (memory.buffer(*b)?, program.bufs[b.index()].elem);
            if buffer.slice(0, len * elem.bytes()).unwritten().is_some() {
                return Err(Failure::Bug(format!("{b} is sorted, but not all of it has been written")));
            }
            columns.push(column(buffer, elem, len));
        }
        let to = result.get_mut::<i64>().ok_or_else(|| Failure::bug("an order of a sort that is shared"))?;
        let sizes = sort::Sizes { block: self.make.cuts.sort_block, small: self.make.cuts.sort_small };
        sort::argsort(&columns, segments, sizes, &settings.team, &settings.pool, to).map_err(|e| match e {
            sort::Error::OverBudget(e) => over(e),
            sort::Error::Interrupted => Failure::Interrupted,
        })?;
        Ok(result)
    }
}

/// The offsets of `rows` rows of equal length, which have `len` elements together.
fn equal_offsets(len: i64, rows: i64, pool: &Pool) -> Result<Buffer, OverBudget> {
    let each = len.checked_div(rows).unwrap_or(0);
    let bytes = usize::try_from(rows).ok().and_then(|n| n.checked_add(1)?.checked_mul(8)).unwrap_or(usize::MAX);
    let mut offsets = pool.alloc(bytes, "the offsets of sorted rows")?;
    let all = offsets.get_mut::<i64>().unwrap_or_default();
    all.iter_mut().zip(0..).for_each(|(at, i)| *at = each * i);
    Ok(offsets)
}

fn column(buffer: &Buffer, ty: ScalarType, n: usize) -> Key<'_> {
    match ty {
        ScalarType::Bool => Key::Bool(&buffer.as_slice()[..n]),
        ScalarType::I8 => Key::I8(&buffer.as_slice()[..n]),
        ScalarType::I16 => Key::I16(&buffer.as_slice()[..n]),
        ScalarType::I32 => Key::I32(&buffer.as_slice()[..n]),
        ScalarType::I64 => Key::I64(&buffer.as_slice()[..n]),
        ScalarType::U8 => Key::U8(&buffer.as_slice()[..n]),
        ScalarType::U16 => Key::U16(&buffer.as_slice()[..n]),
        ScalarType::U32 => Key::U32(&buffer.as_slice()[..n]),
        ScalarType::U64 => Key::U64(&buffer.as_slice()[..n]),
        ScalarType::F32 => Key::F32(&buffer.as_slice()[..n]),
        ScalarType::F64 => Key::F64(&buffer.as_slice()[..n]),
    }
}
