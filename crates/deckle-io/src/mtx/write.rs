//! From a value to a matrix, and from that to text.

use super::value::{Form, is_sparse_row, scalars};
use super::{Layout, Matrix, Symmetry, Values};
use crate::item::Item;
use crate::text::type_name;
use crate::{Error, Result};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_runtime::Data;
use std::fmt::Write;

/// The place of the entries in a value.
enum Source<'a> {
    /// `[[(int, t)]]` or `[[int]]`.
    Rows,
    /// `[(int, int, t)]`.
    Triples,
    /// `[[t]]`.
    Dense,
    /// `rows` of a record is one of the first.
    Record(&'a str),
    /// `row`, `col` and perhaps `val` of a record.
    Coordinates,
    /// `off`, `col` and perhaps `val` of a record.
    Compressed,
}

fn source(ty: &Type) -> Option<Source<'_>> {
    let is_vector = |ty: &Type| ty.elem().is_some_and(|e| e.as_scalar().is_some());
    match Form::of(ty)? {
        Form::Rows => Some(Source::Rows),
        Form::Triples => Some(Source::Triples),
        Form::Dense(_) => Some(Source::Dense),
        Form::Fields(fields) => {
            let known = |name: &str, check: &dyn Fn(&Type) -> bool| fields.iter().any(|(n, t)| *n == name && check(t));
            let is_rows = |ty: &Type| {
                ty.elem().is_some_and(|row| {
                    is_sparse_row(row) || row.elem().and_then(Type::as_scalar).is_some_and(ScalarType::is_int)
                })
            };
            if known("rows", &is_rows) {
                Some(Source::Record("rows"))
            } else if known("col", &is_vector) && known("row", &is_vector) {
                Some(Source::Coordinates)
            } else if known("col", &is_vector) && known("off", &is_vector) {
                Some(Source::Compressed)
            } else {
                None
            }
        }
    }
}

/// Whether values of a type can be written.
///
/// # Errors
/// If no value of this type is a matrix.
pub fn check_type(ty: &Type) -> Result<()> {
    source(ty).map(drop).ok_or_else(|| {
        Error::new(format!("a .mtx file holds a matrix, and `{}` is none", type_name(ty))).help(
            "a matrix is { off: [int], rows: [[(int, real)]] }, [[(int, real)]], [(int, int, real)] or [[real]], say",
        )
    })
}

/// The matrix of the only value of flat data. If the number of columns is not given, it follows from the entries.
///
/// # Errors
/// If the value is no matrix.
pub fn from_data(ty: &Type, data: &Data) -> Result<Matrix> {
    let value = Item { data, at: 0 };
    let mut list = List::default();
    match source(ty) {
        None => {
            check_type(ty)?;
        }
        Some(Source::Dense) => return dense(value),
        Some(Source::Rows) => list.rows(ty, value)?,
        Some(Source::Triples) => {
            for triple in value.iter() {
                let mut parts = triple.parts();
                let (Some(i), Some(j), Some(v)) = (parts.next(), parts.next(), parts.next()) else { continue };
                list.push(i.index("a row")?, j.index("a column")?, Some(v.scalar()?));
            }
        }
        Some(Source::Record(name)) => {
            let fields = Fields::new(ty, value);
            if let Some((ty, value)) = fields.get(name) {
                list.rows(ty, value)?;
            }
            list.announce(&fields)?;
        }
        Some(Source::Coordinates) => {
            let fields = Fields::new(ty, value);
            let (row, col, val) = (fields.indices("row")?, fields.indices("col")?, fields.values()?);
            fields.same_length("row", row.len(), "col", col.len())?;
            list.all(row.into_iter().zip(col), val)?;
            list.announce(&fields)?;
        }
        Some(Source::Compressed) => {
            let fields = Fields::new(ty, value);
            let (off, col, val) = (fields.indices("off")?, fields.indices("col")?, fields.values()?);
            if off.first() != Some(&0) || off.last() != Some(&col.len()) || !off.is_sorted() {
                return Err(Error::new("`off` does not rise from 0 to the length of `col`"));
            }
            let row = off.windows(2).enumerate().flat_map(|(i, w)| std::iter::repeat_n(i, w[1] - w[0]));
            list.all(row.zip(col), val)?;
            list.rows = list.rows.max(off.len() - 1);
            list.announce(&fields)?;
        }
    }
    list.matrix()
}

fn dense(value: Item<'_>) -> Result<Matrix> {
    let rows: Vec<Item<'_>> = value.iter().collect();
    let cols = rows.first().map_or(0, |row| row.len());
    let mut list = List { rows: rows.len(), cols, ..List::default() };
    for (i, row) in rows.iter().enumerate() {
        let len = row.len();
        if len != cols {
            let message = format!("a dense matrix is regular, and row {i} has {len} elements, row 0 has {cols}");
            return Err(Error::new(message).help("write it as .json, which keeps the rows as they are"));
        }
    }
    for j in 0..cols {
        for (i, row) in rows.iter().enumerate() {
            if let Some(element) = row.iter().nth(j) {
                list.push(i, j, Some(element.scalar()?.number()));
            }
        }
    }
    Ok(Matrix { layout: Layout::Array, ..list.matrix()? })
}

trait Number {
    fn number(self) -> Scalar;
}

impl Number for Scalar {
    /// A boolean as 0 or 1: a dense matrix has no pattern.
    fn number(self) -> Scalar {
        if self.ty() == ScalarType::Bool { self.cast(ScalarType::I64) } else { self }
    }
}

/// The fields of a record or of a tuple of coordinates.
struct Fields<'a>(Vec<(&'a str, &'a Type, Item<'a>)>);

impl<'a> Fields<'a> {
    fn new(ty: &'a Type, value: Item<'a>) -> Self {
        let Some(Form::Fields(fields)) = Form::of(ty) else { return Fields(Vec::new()) };
        Fields(fields.into_iter().zip(value.parts()).map(|((n, t), v)| (n, t, v)).collect())
    }

    fn get(&self, name: &str) -> Option<(&'a Type, Item<'a>)> {
        self.0.iter().find(|f| f.0 == name).map(|f| (f.1, f.2))
    }

    fn indices(&self, name: &str) -> Result<Vec<usize>> {
        let items = self.get(name).into_iter().flat_map(|(_, value)| value.iter());
        items.map(|v| v.index(&format!("an element of `{name}`"))).collect()
    }

    fn values(&self) -> Result<Option<Vec<Scalar>>> {
        let Some((_, value)) = self.get("val") else { return Ok(None) };
        value.iter().map(Item::scalar).collect::<Result<_>>().map(Some)
    }

    fn same_length(&self, a: &str, m: usize, b: &str, n: usize) -> Result<()> {
        if m == n { Ok(()) } else { Err(Error::new(format!("`{a}` has {m} elements, and `{b}` has {n}"))) }
    }
}

/// A list of entries under construction.
#[derive(Default)]
struct List {
    rows: usize,
    cols: usize,
    row: Vec<usize>,
    col: Vec<usize>,
    values: Vec<Scalar>,
}

impl List {
    fn push(&mut self, i: usize, j: usize, v: Option<Scalar>) {
        (self.rows, self.cols) = (self.rows.max(i + 1), self.cols.max(j + 1));
        self.row.push(i);
        self.col.push(j);
        self.values.extend(v);
    }

    fn all(&mut self, places: impl Iterator<Item = (usize, usize)>, values: Option<Vec<Scalar>>) -> Result<()> {
        places.for_each(|(i, j)| self.push(i, j, None));
        if let Some(values) = values {
            if values.len() != self.row.len() {
                let message = format!("`val` has {} elements, and `col` has {}", values.len(), self.row.len());
                return Err(Error::new(message));
            }
            self.values = values;
        }
        Ok(())
    }

    fn rows(&mut self, ty: &Type, value: Item<'_>) -> Result<()> {
        let pairs = ty.elem().and_then(Type::elem).is_some_and(|e| !scalars(e).is_empty());
        for (i, row) in value.iter().enumerate() {
            self.rows = self.rows.max(i + 1);
            for entry in row.iter() {
                let mut parts = entry.parts();
                let (j, v) = if pairs { (parts.next(), parts.next()) } else { (Some(entry), None) };
                if let Some(j) = j {
                    self.push(i, j.index("a column")?, v.map(Item::scalar).transpose()?);
                }
            }
        }
        Ok(())
    }

    /// Takes the sizes that a record has in addition to its entries.
    fn announce(&mut self, fields: &Fields) -> Result<()> {
        for (name, size) in [("rows", &mut self.rows), ("cols", &mut self.cols)] {
            if let Some((Type::Scalar(_), value)) = fields.get(name) {
                let n = value.index(&format!("`{name}`"))?;
                if n < *size {
                    return Err(Error::new(format!("`{name}` is {n}, and an entry needs {size}")));
                }
                *size = n;
            }
        }
        Ok(())
    }

    fn matrix(self) -> Result<Matrix> {
        let kind = self.values.first().map(|v| v.ty());
        let values = match kind {
            None => Values::Pattern,
            Some(ScalarType::Bool) => {
                if let Some(k) = self.values.iter().position(|v| *v == Scalar::Bool(false)) {
                    let message = format!("the entry of row {}, column {} is `false`", self.row[k], self.col[k]);
                    return Err(Error::new(message).help("a pattern lists the entries that are `true`"));
                }
                Values::Pattern
            }
            Some(ty) if ty.is_float() => {
                Values::Real(self.values.iter().map(|v| v.as_float().unwrap_or(f64::NAN)).collect())
            }
            Some(_) => {
                let whole = |v: &Scalar| {
                    v.as_int()
                        .and_then(|v| i64::try_from(v).ok())
                        .ok_or_else(|| Error::new(format!("{v} is outside the range of the integers of a .mtx file")))
                };
                Values::Integer(self.values.iter().map(whole).collect::<Result<_>>()?)
            }
        };
        let List { rows, cols, row, col, .. } = self;
        let (layout, symmetry) = (Layout::Coordinate, Symmetry::General);
        Ok(Matrix { rows, cols, layout, symmetry, row, col, values })
    }
}

pub(super) fn write(m: &Matrix) -> Vec<u8> {
    let symmetry = match m.symmetry {
        Symmetry::General => "general",
        Symmetry::Symmetric => "symmetric",
        Symmetry::Skew => "skew-symmetric",
    };
    // The text of a matrix without entries has no kind; a dense one must have one.
    let field = if m.layout == Layout::Array && m.values == Values::Pattern { "real" } else { m.values.field() };
    let mut out = String::new();
    let layout = if m.layout == Layout::Array { "array" } else { "coordinate" };
    let _ = writeln!(out, "%%MatrixMarket matrix {layout} {field} {symmetry}");
    let _ = write!(out, "{} {}", m.rows, m.cols);
    let _ = if m.layout == Layout::Coordinate { writeln!(out, " {}", m.len()) } else { writeln!(out) };
    for k in 0..m.len() {
        if m.layout == Layout::Coordinate {
            let _ = write!(out, "{} {}", m.row[k] + 1, m.col[k] + 1);
        }
        let blank = if m.layout == Layout::Coordinate { " " } else { "" };
        let _ = match &m.values {
            Values::Pattern => writeln!(out),
            Values::Integer(v) => writeln!(out, "{blank}{}", v[k]),
            Values::Real(v) => writeln!(out, "{blank}{:?}", v[k]),
        };
    }
    out.into_bytes()
}
