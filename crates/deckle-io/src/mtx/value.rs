//! From a matrix to a value of the type that is asked for.

use super::parse::Entry;
use super::{Matrix, Values};
use crate::fit::exact;
use crate::text::{collection, scalar_name, type_name};
use crate::{Error, Result};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// How many rows any matrix may have, and how many more for each of its entries.
const FREE_ROWS: usize = 1 << 19;
const ROWS_PER_ENTRY: usize = 64;
/// How many elements any dense matrix may have, and how many more for each of its entries.
const FREE_ELEMENTS: usize = 1 << 20;
const ELEMENTS_PER_ENTRY: usize = 16;

/// The fields of a tuple of coordinates.
pub(super) const COORDINATES: [&str; 5] = ["rows", "cols", "row", "col", "val"];
const FIELDS: &str = "`rows`, `cols`, `nnz`, `off`, `row`, `col`, `val`";

/// The matrix as a value of a type; `part` names one of the fields of the module's table.
///
/// # Errors
/// If there is no such value.
pub fn to_value(matrix: Matrix, ty: &Type, part: Option<&str>) -> Result<Value> {
    let entries = Entries::new(matrix.into_general()?);
    if let Some(name) = part {
        return entries.field(name, ty);
    }
    match Form::of(ty) {
        Some(Form::Fields(fields)) => {
            let values: Result<Vec<Value>> = fields.iter().map(|(name, ty)| entries.field(name, ty)).collect();
            Ok(Value::tuple(values?))
        }
        Some(Form::Rows) => entries.rows(ty),
        Some(Form::Triples) => entries.triples(ty),
        Some(Form::Dense(elem)) => entries.dense(ty, elem),
        None => Err(Error::misfit(format!("a matrix is no `{}`", type_name(ty))).help(
            "a matrix is { off: [int], rows: [[(int, real)]] }, [[(int, real)]], [(int, int, real)] or [[real]], say",
        )),
    }
}

/// What a type makes of a matrix.
pub(crate) enum Form<'a> {
    /// Each of these.
    Fields(Vec<(&'a str, &'a Type)>),
    /// `[[(int, t)]]`.
    Rows,
    /// `[(int, int, t)]`.
    Triples,
    /// `[[t]]`.
    Dense(ScalarType),
}

impl<'a> Form<'a> {
    pub(crate) fn of(ty: &'a Type) -> Option<Form<'a>> {
        match ty {
            Type::Record(r) => return Some(Form::Fields(r.fields.iter().map(|(n, t)| (n.as_str(), t)).collect())),
            Type::Tuple(parts) if parts.len() == COORDINATES.len() => {
                return Some(Form::Fields(COORDINATES.into_iter().zip(parts.iter()).collect()));
            }
            _ => {}
        }
        let elem = ty.elem()?;
        match scalars(elem)[..] {
            [i, j, _] if i.is_int() && j.is_int() => return Some(Form::Triples),
            _ => {}
        }
        if is_sparse_row(elem) {
            return Some(Form::Rows);
        }
        elem.elem()?.as_scalar().map(Form::Dense)
    }
}

/// `[(int, t)]`.
pub(super) fn is_sparse_row(ty: &Type) -> bool {
    ty.elem().is_some_and(|pair| matches!(scalars(pair)[..], [j, _] if j.is_int()))
}

/// The types of the components of a tuple of scalars.
pub(crate) fn scalars(ty: &Type) -> Vec<ScalarType> {
    let parts: Option<Vec<ScalarType>> = ty.parts().and_then(|parts| parts.iter().map(|t| t.as_scalar()).collect());
    parts.unwrap_or_default()
}

/// The entries of a matrix in the order of rows and columns.
struct Entries {
    matrix: Matrix,
    order: Vec<usize>,
}

impl Entries {
    fn new(matrix: Matrix) -> Self {
        let mut order: Vec<usize> = (0..matrix.len()).collect();
        let place = |k: &usize| (matrix.row[*k], matrix.col[*k]);
        if !order.is_sorted_by_key(place) {
            order.sort_by_key(place);
        }
        Entries { matrix, order }
    }

    fn field(&self, name: &str, ty: &Type) -> Result<Value> {
        let m = &self.matrix;
        match name {
            "rows" if ty.elem().is_some() => self.rows(ty),
            "rows" => whole(name, m.rows, ty),
            "cols" => whole(name, m.cols, ty),
            "nnz" => whole(name, m.len(), ty),
            "off" => vector(name, ty, &mut self.offsets()?.into_iter().map(|n| n as i128)),
            "row" => vector(name, ty, &mut self.order.iter().map(|k| m.row[*k] as i128)),
            "col" => vector(name, ty, &mut self.order.iter().map(|k| m.col[*k] as i128)),
            "val" => {
                let elem = ty.elem().and_then(Type::as_scalar).ok_or_else(|| wrong_type(name, ty, "[real]"))?;
                let values: Result<Vec<Value>> =
                    self.order.iter().map(|k| self.value(*k, elem).map(Value::Scalar)).collect();
                Ok(collection(values?, ty))
            }
            _ => Err(Error::misfit(format!("a matrix has no `{name}`")).help(format!("it has {FIELDS}"))),
        }
    }

    /// Where each row begins in the order of entries, and where the last one ends.
    fn offsets(&self) -> Result<Vec<usize>> {
        let m = &self.matrix;
        check_rows(m.rows, m.len())?;
        let mut off = vec![0; m.rows + 1];
        for row in &m.row {
            off[row + 1] += 1;
        }
        for i in 0..m.rows {
            off[i + 1] += off[i];
        }
        Ok(off)
    }

    fn rows(&self, ty: &Type) -> Result<Value> {
        let fault = || wrong_type("rows", ty, "[[(int, real)]]");
        let row_ty = ty.elem().ok_or_else(fault)?;
        let entry = row_ty.elem().ok_or_else(fault)?;
        let (col, val) = match (entry, &scalars(entry)[..]) {
            (Type::Scalar(col), _) => (*col, None),
            (_, [col, val]) => (*col, Some(*val)),
            _ => return Err(fault()),
        };
        if val.is_none() && self.matrix.values != Values::Pattern {
            let kind = if let Values::Integer(_) = self.matrix.values { "integers" } else { "real numbers" };
            let message = format!("the entries are {kind}, and `{}` has no values", type_name(ty));
            return Err(Error::misfit(message));
        }
        let off = self.offsets()?;
        let make = |k: usize| -> Result<Value> {
            let j = number("col", self.matrix.col[k] as i128, col)?;
            Ok(match val {
                None => j.into(),
                Some(val) => Value::tuple(vec![j.into(), self.value(k, val)?.into()]),
            })
        };
        let empty = collection(Vec::new(), row_ty);
        let rows: Result<Vec<Value>> = off
            .windows(2)
            .map(|w| match &self.order[w[0]..w[1]] {
                [] => Ok(empty.clone()),
                row => Ok(collection(row.iter().map(|k| make(*k)).collect::<Result<_>>()?, row_ty)),
            })
            .collect();
        Ok(collection(rows?, ty))
    }

    fn triples(&self, ty: &Type) -> Result<Value> {
        let [row, col, val] = ty.elem().map(scalars).unwrap_or_default()[..] else {
            return Err(wrong_type("entries", ty, "[(int, int, real)]"));
        };
        let make = |k: &usize| -> Result<Value> {
            let i = number("row", self.matrix.row[*k] as i128, row)?;
            let j = number("col", self.matrix.col[*k] as i128, col)?;
            Ok(Value::tuple(vec![i.into(), j.into(), self.value(*k, val)?.into()]))
        };
        Ok(collection(self.order.iter().map(make).collect::<Result<_>>()?, ty))
    }

    fn dense(&self, ty: &Type, elem: ScalarType) -> Result<Value> {
        let m = &self.matrix;
        let most = m.len().saturating_mul(ELEMENTS_PER_ENTRY).saturating_add(FREE_ELEMENTS);
        if m.rows.saturating_mul(m.cols.max(1)) > most {
            let message = format!("a dense matrix of {} by {} is too large for {} entries", m.rows, m.cols, m.len());
            return Err(Error::misfit(message).help("ask for the rows that there are: [[(int, real)]]"));
        }
        let row_ty = ty.elem().unwrap_or(ty);
        let mut order = self.order.iter().copied().peekable();
        let mut rows = Vec::with_capacity(m.rows);
        for i in 0..m.rows {
            let mut row = vec![Value::Scalar(Scalar::zero(elem)); m.cols];
            let mut last = None;
            while let Some(k) = order.next_if(|k| m.row[*k] == i) {
                let j = m.col[k];
                if last.replace(j) == Some(j) {
                    let message = format!("row {}, column {} is there twice, and a dense matrix has one", i + 1, j + 1);
                    return Err(Error::misfit(message).help("ask for the rows as they are: [[(int, real)]]"));
                }
                row[j] = self.value(k, elem)?.into();
            }
            rows.push(collection(row, row_ty));
        }
        Ok(collection(rows, ty))
    }

    /// The value of an entry.
    fn value(&self, k: usize, ty: ScalarType) -> Result<Scalar> {
        let found = match &self.matrix.values {
            Values::Pattern => Entry::Pattern,
            Values::Integer(v) => Entry::Integer(v[k]),
            Values::Real(v) => Entry::Real(v[k]),
        };
        found.scalar((self.matrix.row[k], self.matrix.col[k]), ty)
    }
}

/// Whether there may be so many rows.
pub(crate) fn check_rows(rows: usize, entries: usize) -> Result<()> {
    if rows <= entries.saturating_mul(ROWS_PER_ENTRY).saturating_add(FREE_ROWS) {
        return Ok(());
    }
    let message = format!("{rows} rows are too many for a matrix of {entries} entries");
    Err(Error::misfit(message).help("ask for the entries alone: [(int, int, real)]"))
}

impl Entry {
    /// The value of the entry at a place, as a scalar of a type.
    pub(crate) fn scalar(self, (i, j): (usize, usize), ty: ScalarType) -> Result<Scalar> {
        let found = match self {
            Entry::Pattern => Some(Scalar::one(ty)),
            Entry::Integer(v) => exact(v.into(), ty),
            Entry::Real(v) => Scalar::float(ty, v),
        };
        found.ok_or_else(|| {
            let name = scalar_name(ty);
            match self {
                Entry::Integer(v) if ty != ScalarType::Bool => {
                    Error::misfit(format!("the entry {v} of row {}, column {} is no `{name}`", i + 1, j + 1))
                }
                _ => {
                    let error = Error::misfit(format!("the entries are {}, not `{name}`", self.kind()));
                    if ty == ScalarType::Bool { error } else { error.help("ask for `real`") }
                }
            }
        })
    }

    fn kind(self) -> &'static str {
        match self {
            Entry::Pattern => "without values",
            Entry::Integer(_) => "integers",
            Entry::Real(_) => "real numbers",
        }
    }
}

fn wrong_type(name: &str, ty: &Type, like: &str) -> Error {
    Error::misfit(format!("the `{name}` of a matrix is no `{}`", type_name(ty))).help(format!("it is, say, `{like}`"))
}

pub(crate) fn number(name: &str, v: i128, ty: ScalarType) -> Result<Scalar> {
    exact(v, ty).filter(|_| ty.is_int()).ok_or_else(|| {
        let message = format!("`{name}` of a matrix is {v}, which is no `{}`", scalar_name(ty));
        Error::misfit(message).help("ask for `int`")
    })
}

fn whole(name: &str, v: usize, ty: &Type) -> Result<Value> {
    match ty {
        Type::Scalar(s) => number(name, v as i128, *s).map(Value::Scalar),
        _ => Err(wrong_type(name, ty, "int")),
    }
}

fn vector(name: &str, ty: &Type, numbers: &mut dyn Iterator<Item = i128>) -> Result<Value> {
    let elem = ty.elem().and_then(Type::as_scalar).ok_or_else(|| wrong_type(name, ty, "[int]"))?;
    Ok(collection(numbers.map(|v| number(name, v, elem).map(Value::Scalar)).collect::<Result<_>>()?, ty))
}
