//! Values whose arrays may be on a device: results that stay there, and are arguments of later calls.
#![allow(unsafe_code)] // What compiled code wrote is not looked at again.

use crate::Settings;
use crate::native::device::{Device, Handle};
use crate::native::fault::Failure;
use crate::native::gpu::memory::Mem;
use crate::native::gpu::port::Port;
use crate::native::run::Memory;
use deckle_diag::Diagnostic;
use deckle_ir::kernel::{Rep, Rows};
use deckle_ir::scalar::ScalarType;
use deckle_runtime::{Buffer, Data, Form, OverBudget, Pool};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// An array on any device.
pub(crate) trait OnDevice: Any + fmt::Debug + Send + Sync {
    /// How many bytes.
    fn size(&self) -> usize;

    /// For a downcast to the type of the device.
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    /// A copy on this machine.
    fn fetch(&self, settings: &Settings) -> Result<Buffer, Failure>;
}

/// The name of copies on this machine.
pub(super) const COPY: &str = "a copy of an array of the GPU";

impl<P: Port> Mem<P> {
    /// Fills a buffer of this machine, which is as long.
    pub(super) fn fetch_into(&self, mut buffer: Buffer, settings: &Settings) -> Result<Buffer, Failure> {
        let bytes = buffer.get_mut::<u8>().ok_or_else(|| Failure::bug("new memory that is shared"))?;
        match self.known() {
            Some(known) => bytes.copy_from_slice(&known[..bytes.len()]),
            None => self.unit().download(self, bytes, settings)?,
        }
        Ok(buffer)
    }
}

impl<P: Port> OnDevice for Mem<P> {
    fn size(&self) -> usize {
        self.bytes()
    }

    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn fetch(&self, settings: &Settings) -> Result<Buffer, Failure> {
        let buffer = settings.pool.alloc(self.bytes(), COPY)?;
        self.fetch_into(buffer, settings)
    }
}

/// Where an array is.
#[derive(Clone, Debug)]
pub(crate) enum Remote {
    /// On this machine.
    Here(Buffer),
    /// On a device.
    There(Arc<dyn OnDevice>),
}

impl Remote {
    /// The array on this machine; copied from the device if it is there.
    pub(crate) fn fetch(self, settings: &Settings) -> Result<Buffer, Failure> {
        match self {
            Remote::Here(buffer) => Ok(buffer),
            Remote::There(mem) => mem.fetch(settings),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Remote::Here(buffer) => buffer.len(),
            Remote::There(mem) => mem.size(),
        }
    }
}

/// A result that stays where it was computed. Clones are handles of the same arrays.
///
/// As an argument of a call on the same device it is not copied.
#[derive(Clone, Debug)]
pub struct Kept {
    pub(crate) len: usize,
    pub(crate) form: KeptForm,
}

/// As [`Form`], with arrays anywhere.
#[derive(Clone, Debug)]
pub(crate) enum KeptForm {
    Scalars(ScalarType, Remote),
    Tuple(Vec<Kept>),
    Equal(usize, Box<Kept>),
    Offsets(Remote, Box<Kept>),
}

impl From<Data> for Kept {
    fn from(data: Data) -> Kept {
        let len = data.len();
        let form = match data.into_form() {
            Form::Scalars(ty, buffer) => KeptForm::Scalars(ty, Remote::Here(buffer)),
            Form::Tuple(parts) => KeptForm::Tuple(parts.into_iter().map(Kept::from).collect()),
            Form::Equal(n, elem) => KeptForm::Equal(n, Box::new((*elem).into())),
            Form::Offsets(offsets, elem) => KeptForm::Offsets(Remote::Here(offsets), Box::new((*elem).into())),
        };
        Kept { len, form }
    }
}

impl Kept {
    /// The bytes of its arrays.
    pub fn bytes(&self) -> usize {
        match &self.form {
            KeptForm::Scalars(_, at) => at.bytes(),
            KeptForm::Tuple(parts) => parts.iter().map(Kept::bytes).sum(),
            KeptForm::Equal(_, elem) => elem.bytes(),
            KeptForm::Offsets(at, elem) => at.bytes() + elem.bytes(),
        }
    }

    /// Copies the arrays that are in memory which was only lent.
    ///
    /// # Errors
    /// There is no room.
    pub fn owned(self, pool: &Pool, what: &str) -> Result<Kept, OverBudget> {
        let own = |at: Remote| match at {
            Remote::Here(b) if b.is_external() => pool.alloc_from(b.as_slice::<u8>(), what).map(Remote::Here),
            at => Ok(at),
        };
        let form = match self.form {
            KeptForm::Scalars(ty, at) => KeptForm::Scalars(ty, own(at)?),
            KeptForm::Tuple(parts) => {
                KeptForm::Tuple(parts.into_iter().map(|p| p.owned(pool, what)).collect::<Result<_, _>>()?)
            }
            KeptForm::Equal(n, elem) => KeptForm::Equal(n, Box::new(elem.owned(pool, what)?)),
            KeptForm::Offsets(at, elem) => KeptForm::Offsets(own(at)?, Box::new(elem.owned(pool, what)?)),
        };
        Ok(Kept { len: self.len, form })
    }

    /// Its values on this machine: copied from the device, if they are there. Waits until they have been computed.
    ///
    /// # Errors
    /// There is no room, the run is interrupted, or the device is lost.
    pub fn fetch(self, settings: &Settings) -> Result<Data, Box<Diagnostic>> {
        self.fetched(settings).map_err(Failure::report_alone)
    }

    pub(crate) fn fetched(self, settings: &Settings) -> Result<Data, Failure> {
        let form = match self.form {
            KeptForm::Scalars(ty, at) => Form::Scalars(ty, at.fetch(settings)?),
            KeptForm::Tuple(parts) => {
                Form::Tuple(parts.into_iter().map(|p| p.fetched(settings)).collect::<Result<_, _>>()?)
            }
            KeptForm::Equal(n, elem) => Form::Equal(n, Box::new(elem.fetched(settings)?)),
            KeptForm::Offsets(at, elem) => Form::Offsets(at.fetch(settings)?, Box::new(elem.fetched(settings)?)),
        };
        // SAFETY: it was made of well-formed data, or of what compiled code wrote, which is taken as it is: see `Memory::give`.
        Ok(unsafe { Data::new_unchecked(self.len, form) })
    }
}

impl<D: Device> Memory<'_, D> {
    /// The first values of a representation, without copying.
    pub(crate) fn keep(&self, rep: &Rep, n: usize) -> Result<Kept, Failure> {
        let mem = |b| self.host().buf(b).ok_or_else(|| Failure::bug("no result"));
        let form = match rep {
            Rep::Scalar(b) => {
                let ty = self.program.bufs[b.index()].elem;
                KeptForm::Scalars(ty, self.device.leave(mem(*b)?, n * ty.bytes())?)
            }
            Rep::Tuple(parts) => KeptForm::Tuple(parts.iter().map(|p| self.keep(p, n)).collect::<Result<_, _>>()?),
            Rep::Array(Rows::Equal(m), elem) => {
                let m = usize::try_from(self.host().int(*m)?).unwrap_or(0);
                KeptForm::Equal(m, Box::new(self.keep(elem, n * m)?))
            }
            Rep::Array(Rows::Offsets(b), elem) => {
                let offset = |at| self.device.element(mem(*b)?, ScalarType::I64, at);
                let [first, last] = [offset(0)?, offset(n)?].map(|s| s.as_int().unwrap_or(-1));
                let count = usize::try_from(last).ok().filter(|_| first == 0);
                let count = count.ok_or_else(|| Failure::bug("offsets that are none"))?;
                let offsets = self.device.leave(mem(*b)?, (n + 1) * 8)?;
                KeptForm::Offsets(offsets, Box::new(self.keep(elem, count)?))
            }
        };
        Ok(Kept { len: n, form })
    }
}
