//! What the host computes itself: nodes of the root, that is numbers of elements, conditions and checks.

use crate::native::device::Device;
use crate::native::fault::Failure;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Buf, Node, Op, Program, Region};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::scalar_eval;
use deckle_runtime::Buffer;
use smallvec::{SmallVec, smallvec};
use std::cell::{Cell, RefCell};

/// The element of a buffer; zero where there is none.
pub(crate) fn element(buffer: &Buffer, ty: ScalarType, at: usize) -> Scalar {
    macro_rules! get {
        ($variant:ident, $t:ty) => {
            Scalar::$variant(buffer.as_slice::<$t>().get(at).copied().unwrap_or_default())
        };
    }
    match ty {
        ScalarType::Bool => Scalar::Bool(buffer.as_slice::<u8>().get(at).is_some_and(|b| *b != 0)),
        ScalarType::I8 => get!(I8, i8),
        ScalarType::I16 => get!(I16, i16),
        ScalarType::I32 => get!(I32, i32),
        ScalarType::I64 => get!(I64, i64),
        ScalarType::U8 => get!(U8, u8),
        ScalarType::U16 => get!(U16, u16),
        ScalarType::U32 => get!(U32, u32),
        ScalarType::U64 => get!(U64, u64),
        ScalarType::F32 => get!(F32, f32),
        ScalarType::F64 => get!(F64, f64),
    }
}

/// In checked mode, that an element has been written, if there is one.
pub(crate) fn written(buffer: &Buffer, ty: ScalarType, at: usize) -> Result<(), Failure> {
    let size = ty.bytes();
    let range = at.checked_mul(size).filter(|from| buffer.len() >= size && *from <= buffer.len() - size);
    match range.and_then(|from| buffer.slice(from, from + size).unwritten()) {
        Some(_) => Err(Failure::Bug(format!("the host reads element {at} of an array, which has not been written"))),
        None => Ok(()),
    }
}

/// What is known of nodes as long as memory stays as it is: many steps ask for the same ones, and these have much in common.
#[derive(Debug)]
pub(crate) struct Known {
    values: RefCell<SmallVec<[(u64, Scalar); 8]>>,
    /// Values of another time are forgotten.
    now: Cell<u64>,
}

impl Known {
    pub(crate) fn new(program: &Program) -> Known {
        Known { values: RefCell::new(smallvec![(0, Scalar::Bool(false)); program.nodes.len()]), now: Cell::new(1) }
    }

    /// Memory has changed.
    pub(crate) fn forget(&self) {
        self.now.set(self.now.get() + 1);
    }

    fn get(&self, n: Node) -> Option<Scalar> {
        let (time, value) = *self.values.borrow().get(n.index())?;
        (time == self.now.get()).then_some(value)
    }

    fn set(&self, n: Node, value: Scalar) {
        if let Some(place) = self.values.borrow_mut().get_mut(n.index()) {
            *place = (self.now.get(), value);
        }
    }
}

/// Evaluates nodes of the root.
pub(crate) struct Host<'a, D: Device> {
    pub program: &'a Program,
    pub device: &'a D,
    pub bufs: &'a [Option<D::Mem>],
    pub known: &'a Known,
}

impl<'a, D: Device> Host<'a, D> {
    /// The buffer, if it is there.
    pub(crate) fn buf(&self, b: Buf) -> Option<&'a D::Mem> {
        self.bufs.get(b.index())?.as_ref()
    }

    pub(crate) fn int(&self, n: Node) -> Result<i64, Failure> {
        Ok(self.eval(n)?.as_int().unwrap_or(0) as i64)
    }

    pub(crate) fn truth(&self, n: Node) -> Result<bool, Failure> {
        Ok(self.eval(n)?.as_bool().unwrap_or(false))
    }

    pub(crate) fn eval(&self, n: Node) -> Result<Scalar, Failure> {
        if let Some(known) = self.known.get(n) {
            return Ok(known);
        }
        let value = self.computed(n)?;
        self.known.set(n, value);
        Ok(value)
    }

    fn computed(&self, n: Node) -> Result<Scalar, Failure> {
        let data = self.program.node(n);
        Ok(match &data.op {
            Op::Const(c) => *c,
            Op::Unary(op, x) => scalar_eval::unary(*op, self.eval(*x)?).map_err(|_| Failure::bug("an operator"))?,
            Op::Binary(op, a, b) => {
                let (a, b) = (self.eval(*a)?, self.eval(*b)?);
                match (op, b.as_int()) {
                    (BinOp::Div | BinOp::Rem, Some(0)) => Scalar::zero(data.ty),
                    _ => scalar_eval::binary(*op, a, b).unwrap_or(Scalar::zero(data.ty)),
                }
            }
            Op::Cast(to, x) => self.eval(*x)?.cast(*to),
            Op::Select(c, x, y) => self.eval(if self.truth(*c)? { *x } else { *y })?,
            Op::Fma(x, y, z) => scalar_eval::fma(self.eval(*x)?, self.eval(*y)?, self.eval(*z)?),
            Op::Load(b, at) => {
                let at = self.int(*at)?;
                match (self.buf(*b), usize::try_from(at)) {
                    (Some(mem), Ok(at)) => self.device.element(mem, data.ty, at)?,
                    _ => Scalar::zero(data.ty),
                }
            }
            Op::Check { cond, value, site, operands } => {
                if self.truth(*cond)? {
                    self.eval(*value)?
                } else {
                    let light = |n: &Node| {
                        !matches!(self.program.node(*n).op, Op::Fold { .. } | Op::Scan { .. } | Op::Loop { .. })
                    };
                    if !self.program.needs(operands).iter().all(light) {
                        return Err(Failure::Untold(n));
                    }
                    let operands = operands.iter().map(|o| self.int(*o)).collect::<Result<_, _>>()?;
                    return Err(Failure::Check(*site, operands));
                }
            }
            Op::Part(group, k) => match &self.program.node(*group).op {
                Op::If { yes, then, other, .. } => {
                    let Region::Guard(cond, when) = self.program.space(*yes).region else {
                        return Err(Failure::bug("a guard"));
                    };
                    let chosen = if self.truth(cond)? == when { then } else { other };
                    self.eval(chosen[*k as usize])?
                }
                _ => return Err(Failure::bug("a fold or loop outside a kernel")),
            },
            _ => return Err(Failure::bug("something that only a kernel computes")),
        })
    }
}
