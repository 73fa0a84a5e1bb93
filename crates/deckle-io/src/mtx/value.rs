//! From a matrix to a value of the requested type, in flat memory.

use super::parse::Entry;
use super::{Matrix, Values};
use crate::build::Build;
use crate::fit::exact;
use crate::text::{scalar_name, type_name};
use crate::{Error, Result, tree};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// The number of rows that any matrix may have, and the additional number per entry.
const FREE_ROWS: usize = 1 << 19;
const ROWS_PER_ENTRY: usize = 64;
/// The number of elements that any dense matrix may have, and the additional number per entry.
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
    let mut build = Build::new(ty);
    fill(matrix, ty, part, &mut build)?;
    Ok(tree::value(ty, &build.into_data(), 0))
}

/// The same into flat memory.
pub(crate) fn fill(matrix: Matrix, ty: &Type, part: Option<&str>, build: &mut Build) -> Result<()> {
    let entries = Entries::new(matrix.into_general()?);
    if let Some(name) = part {
        return entries.field(name, ty, build);
    }
    match Form::of(ty) {
        Some(Form::Fields(fields)) => {
            fields.iter().zip(build.parts()).try_for_each(|((name, ty), build)| entries.field(name, ty, build))
        }
        Some(Form::Rows) => entries.rows(ty, build),
        Some(Form::Triples) => entries.triples(ty, build),
        Some(Form::Dense(elem)) => entries.dense(elem, build),
        None => Err(Error::misfit(format!("a matrix is no `{}`", type_name(ty))).help(
            "a matrix is { off: [int], rows: [[(int, real)]] }, [[(int, real)]], [(int, int, real)] or [[real]], say",
        )),
    }
}

/// How a type is filled from a matrix.
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

    fn field(&self, name: &str, ty: &Type, build: &mut Build) -> Result<()> {
        let m = &self.matrix;
        match name {
            "rows" if ty.elem().is_some() => self.rows(ty, build),
            "rows" => whole(name, m.rows, ty, build),
            "cols" => whole(name, m.cols, ty, build),
            "nnz" => whole(name, m.len(), ty, build),
            "off" => vector(name, ty, &mut self.offsets()?.into_iter(), build),
            "row" => vector(name, ty, &mut self.order.iter().map(|k| m.row[*k]), build),
            "col" => vector(name, ty, &mut self.order.iter().map(|k| m.col[*k]), build),
            "val" => {
                let elem = ty.elem().and_then(Type::as_scalar).ok_or_else(|| wrong_type(name, ty, "[real]"))?;
                let values = build.push_regular(&[m.len()]);
                for &k in &self.order {
                    values.push(self.value(k, elem)?);
                }
                Ok(())
            }
            _ => Err(Error::misfit(format!("a matrix has no `{name}`")).help(format!("it has {FIELDS}"))),
        }
    }

    /// The start of each row in the order of entries, and the end of the last one.
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

    fn rows(&self, ty: &Type, build: &mut Build) -> Result<()> {
        let fault = || wrong_type("rows", ty, "[[(int, real)]]");
        let entry = ty.elem().and_then(Type::elem).ok_or_else(fault)?;
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
        let rows = build.push_regular(&[self.matrix.rows]);
        off.windows(2).for_each(|w| rows.end_row(w[1] - w[0]));
        drop(off);
        let parts = rows.inner().parts();
        for &k in &self.order {
            parts[0].push(number("col", self.matrix.col[k] as i128, col)?);
            if let (Some(val), [_, to]) = (val, &mut *parts) {
                to.push(self.value(k, val)?);
            }
        }
        Ok(())
    }

    fn triples(&self, ty: &Type, build: &mut Build) -> Result<()> {
        let [row, col, val] = ty.elem().map(scalars).unwrap_or_default()[..] else {
            return Err(wrong_type("entries", ty, "[(int, int, real)]"));
        };
        let [rows, cols, vals] = build.push_regular(&[self.order.len()]).parts() else { return Ok(()) };
        for &k in &self.order {
            rows.push(number("row", self.matrix.row[k] as i128, row)?);
            cols.push(number("col", self.matrix.col[k] as i128, col)?);
            vals.push(self.value(k, val)?);
        }
        Ok(())
    }

    fn dense(&self, elem: ScalarType, build: &mut Build) -> Result<()> {
        let m = &self.matrix;
        let most = m.len().saturating_mul(ELEMENTS_PER_ENTRY).saturating_add(FREE_ELEMENTS);
        if m.rows.saturating_mul(m.cols.max(1)) > most {
            let message = format!("a dense matrix of {} by {} is too large for {} entries", m.rows, m.cols, m.len());
            return Err(Error::misfit(message).help("ask for the rows that there are: [[(int, real)]]"));
        }
        let elements = build.push_regular(&[m.rows, m.cols]);
        let mut filled = 0;
        for &k in &self.order {
            let (i, j) = (m.row[k], m.col[k]);
            let at = i * m.cols + j;
            if at < filled {
                let message = format!("row {}, column {} is there twice, and a dense matrix has one", i + 1, j + 1);
                return Err(Error::misfit(message).help("ask for the rows as they are: [[(int, real)]]"));
            }
            (filled..at).for_each(|_| elements.push(Scalar::zero(elem)));
            elements.push(self.value(k, elem)?);
            filled = at + 1;
        }
        (filled..m.rows * m.cols).for_each(|_| elements.push(Scalar::zero(elem)));
        Ok(())
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

/// Whether this number of rows is allowed.
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

fn whole(name: &str, v: usize, ty: &Type, build: &mut Build) -> Result<()> {
    match ty {
        Type::Scalar(s) => number(name, v as i128, *s).map(|n| build.push(n)),
        _ => Err(wrong_type(name, ty, "int")),
    }
}

fn vector(name: &str, ty: &Type, numbers: &mut dyn ExactSizeIterator<Item = usize>, build: &mut Build) -> Result<()> {
    let elem = ty.elem().and_then(Type::as_scalar).ok_or_else(|| wrong_type(name, ty, "[int]"))?;
    let to = build.push_regular(&[numbers.len()]);
    for v in numbers {
        to.push(number(name, v as i128, elem)?);
    }
    Ok(())
}
