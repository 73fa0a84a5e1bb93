//! The type of an expression, as a function of the types of its operands.
//!
//! An expression that does not determine its number of lanes (constants, `lanes`, `splat`, loads from successive
//! elements) has the requested number.

use super::*;
use crate::array::ResultClass;

/// The context of expressions: the values and buffers of a function.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// The type of each value.
    pub vals: &'a [Ty],
    /// The buffer parameters.
    pub buffers: &'a [Param],
    /// The local buffers.
    pub locals: &'a [Local],
}

impl Function {
    /// Its values and buffers.
    pub fn names(&self) -> Names<'_> {
        Names { vals: &self.vals, buffers: &self.buffers, locals: &self.locals }
    }

    /// The type of the elements of a buffer, if it exists.
    pub fn elem(&self, buf: Buf) -> Option<ScalarType> {
        self.names().elem(buf)
    }
}

impl Names<'_> {
    /// The type of a value.
    pub fn ty(&self, v: Val) -> Result<Ty, String> {
        self.vals.get(v.index()).copied().ok_or_else(|| format!("there is no {v}"))
    }

    /// The type of the elements of a buffer, if it exists.
    pub fn elem(&self, buf: Buf) -> Option<ScalarType> {
        let param = self.buffers.get(buf.index()).map(|p| p.elem);
        param.or_else(|| self.locals.get(buf.index().wrapping_sub(self.buffers.len())).map(|l| l.elem))
    }

    fn buffer(&self, buf: Buf) -> Result<ScalarType, String> {
        self.elem(buf).ok_or_else(|| format!("there is no {buf}"))
    }

    fn same(&self, a: Val, b: Val) -> Result<Ty, String> {
        let (x, y) = (self.ty(a)?, self.ty(b)?);
        if x == y { Ok(x) } else { Err(format!("{a} is {x} but {b} is {y}")) }
    }

    fn float(&self, v: Val) -> Result<Ty, String> {
        let ty = self.ty(v)?;
        if ty.scalar.is_float() { Ok(ty) } else { Err(format!("{v} is {ty}, not a float")) }
    }

    /// Checks that a value has a type.
    pub fn expect(&self, v: Val, ty: Ty) -> Result<(), String> {
        let found = self.ty(v)?;
        if found == ty { Ok(()) } else { Err(format!("{v} is {found}, not {ty}")) }
    }

    /// Checks the index of a load or store of `lanes` lanes.
    pub fn place(&self, at: Val, mask: Option<Val>, lanes: u16) -> Result<(), String> {
        let index = self.ty(at)?;
        if index.scalar != ScalarType::I64 || (index.lanes != 1 && index.lanes != lanes) {
            return Err(format!("{at} is {index}, which is no index of {lanes} lanes"));
        }
        mask.map_or(Ok(()), |m| self.expect(m, Ty { scalar: ScalarType::Bool, lanes }))
    }

    /// The type of a binary operator's result.
    fn binary(&self, op: BinOp, a: Val, b: Val) -> Result<Ty, String> {
        let ty = self.same(a, b)?;
        if !op.operands().has(ty.scalar) {
            return Err(format!("{} of {ty}", op.name()));
        }
        Ok(if op.result() == ResultClass::Bool { ty.mask() } else { ty })
    }

    /// The type of an expression; `lanes` is its number of lanes if the expression does not determine it.
    pub fn result(&self, expr: &Expr, lanes: u16) -> Result<Ty, String> {
        match *expr {
            Expr::Const(s) => Ok(Ty { scalar: s.ty(), lanes }),
            Expr::Lanes => Ok(Ty { scalar: ScalarType::I64, lanes }),
            Expr::Splat(v) => match self.ty(v)? {
                Ty { scalar, lanes: 1 } => Ok(Ty { scalar, lanes }),
                ty => Err(format!("splat of {v}, which is {ty}")),
            },
            Expr::Unary(op, v) => {
                let ty = self.ty(v)?;
                if !op.operands().has(ty.scalar) {
                    return Err(format!("{} of {ty}", op.name()));
                }
                Ok(if op.result() == ResultClass::Bool { ty.mask() } else { ty })
            }
            Expr::Binary(op, a, b) => self.binary(op, a, b),
            Expr::Assoc(op, a, b) if regroups(op) => self.binary(op, a, b),
            Expr::Assoc(op, ..) => Err(format!("{} cannot be regrouped", op.name())),
            Expr::Fma(a, b, c) => {
                self.same(a, b)?;
                self.same(b, c)?;
                self.float(a)
            }
            Expr::Rint(v) => self.float(v),
            Expr::CopySign(a, b) => {
                self.same(a, b)?;
                self.float(a)
            }
            Expr::Cast(to, v) => Ok(self.ty(v)?.with(to)),
            Expr::Bitcast(to, v) => {
                let ty = self.ty(v)?;
                let bools = [to, ty.scalar].contains(&ScalarType::Bool);
                if to.bytes() != ty.scalar.bytes() || bools {
                    return Err(format!("the bits of {ty} are not those of {to}"));
                }
                Ok(ty.with(to))
            }
            Expr::Select(c, a, b) => {
                let (cond, ty) = (self.ty(c)?, self.same(a, b)?);
                if cond.scalar == ScalarType::Bool && (cond.lanes == 1 || cond.lanes == ty.lanes) {
                    Ok(ty)
                } else {
                    Err(format!("{c} is {cond} and chooses between {ty}"))
                }
            }
            Expr::Load { buf, at, mask } => {
                let scalar = self.buffer(buf)?;
                let own = self.ty(at)?.lanes.max(mask.map_or(Ok(1), |m| self.ty(m).map(|t| t.lanes))?);
                let lanes = if own == 1 { lanes } else { own };
                self.place(at, mask, lanes)?;
                Ok(Ty { scalar, lanes })
            }
            Expr::Total(op, v) => {
                let ty = self.binary(op, v, v)?;
                if !regroups(op) || !ty.lanes.is_power_of_two() {
                    return Err(format!("total {} of {ty}", op.name()));
                }
                Ok(ty.scalar.into())
            }
            Expr::Lane(v, lane) => {
                let ty = self.ty(v)?;
                if lane < ty.lanes { Ok(ty.scalar.into()) } else { Err(format!("{ty} has no lane {lane}")) }
            }
            Expr::Swizzle(a, b, ref from) => {
                let ty = self.same(a, b)?;
                let most = 2 * u32::from(ty.lanes);
                match from.iter().find(|&&l| u32::from(l) >= most) {
                    Some(l) => Err(format!("two {ty} have no lane {l}")),
                    None if from.is_empty() || from.len() > usize::from(u16::MAX) => Err("no lanes".to_string()),
                    None => Ok(Ty { scalar: ty.scalar, lanes: from.len() as u16 }),
                }
            }
            Expr::Unaligned(buf) => self.buffer(buf).map(|_| ScalarType::I64.into()),
            Expr::Failed => Ok(ScalarType::Bool.into()),
            Expr::Id(_) => Ok(ScalarType::I64.into()),
            Expr::Shuffle(_, v, by) => {
                self.expect(by, ScalarType::I64.into())?;
                match self.ty(v)? {
                    ty @ Ty { lanes: 1, .. } => Ok(ty),
                    ty => Err(format!("shuffle of {ty}")),
                }
            }
            Expr::Ballot(v) => self.expect(v, ScalarType::Bool.into()).map(|()| ScalarType::U32.into()),
        }
    }
}

/// Operators whose applications may be regrouped.
pub fn regroups(op: BinOp) -> bool {
    use BinOp::*;
    matches!(op, Add | Mul | Min | Max | And | Or | Xor | AddSat | MulSat)
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => write!(f, "{}", self.scalar),
            n => write!(f, "{}x{n}", self.scalar),
        }
    }
}
