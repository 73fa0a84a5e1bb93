//! Arrays of NumPy: the elements, and then the shape, for which room was left before them.

use super::{failed, io};
use crate::Result;
use crate::atomic::{Output, is_standard};
use crate::npy::convert::swap;
use crate::npy::encode::{check_type, header, ragged, written_size};
use crate::{Error, fit};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use deckle_runtime::stream::{self, Sink};
use deckle_runtime::{Data, Form};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The length of a header. It is that of every array of up to [`MOST_DIMS`] dimensions: their sizes have at most 20 digits together and one more
/// each, unless an array without elements claims otherwise.
const ROOM: usize = 128;
const MOST_DIMS: usize = 8;

pub(super) fn create(path: &Path, ty: &Type, is_packed: bool) -> Result<Option<Box<dyn Sink>>> {
    let elem = check_type(ty)?;
    // There is no way back to the beginning of a pipe.
    let is_special = is_standard(path) || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
    if is_packed || is_special || fit::nesting(ty).0 > MOST_DIMS {
        return Ok(None);
    }
    let mut out = Output::create(path).map_err(|e| io(e).in_file(path))?;
    out.write_all(&[0; ROOM]).map_err(|e| io(e).in_file(path))?;
    Ok(Some(Box::new(Array { out, path: path.to_path_buf(), ty: ty.clone(), elem, count: 0, inner: None })))
}

struct Array {
    out: Output,
    path: PathBuf,
    ty: Type,
    elem: ScalarType,
    /// How many elements there have been.
    count: usize,
    /// The shape of each, once there is one.
    inner: Option<Vec<usize>>,
}

impl Sink for Array {
    fn take(&mut self, block: Data) -> std::result::Result<(), stream::Error> {
        self.elements(&block).map_err(|e| failed(e, &self.path))
    }

    fn finish(self: Box<Self>) -> std::result::Result<(), stream::Error> {
        let path = self.path.clone();
        self.complete().map_err(|e| failed(e, &path))
    }
}

impl Array {
    fn elements(&mut self, block: &Data) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let inner = self.inner.get_or_insert_with(|| shape(&self.ty, Some(block)));
        let (mut data, mut rows) = (block, block.len());
        for (level, size) in inner.iter().enumerate() {
            if let Some((at, has)) = (0..rows).map(|i| (i, row_len(data, i))).find(|(_, has)| has != size) {
                let mut place = vec![0; level + 1];
                let mut rest = at;
                for (k, n) in inner[..level].iter().enumerate().rev() {
                    (place[k + 1], rest) = (rest % n, rest / n);
                }
                place[0] = self.count + rest;
                return Err(ragged(&place, has, *size));
            }
            rows *= size;
            data = elements(data);
        }
        self.count += block.len();
        let Some(b) = data.as_scalars() else { return Ok(()) };
        if cfg!(target_endian = "big") {
            let mut bytes = b.as_slice::<u8>().to_vec();
            swap(&mut bytes, self.elem.bytes());
            return self.out.write_all(&bytes).map_err(io);
        }
        self.out.write_all(b.as_slice()).map_err(io)
    }

    fn complete(mut self) -> Result<()> {
        let mut dims = vec![self.count];
        dims.extend(self.inner.take().unwrap_or_else(|| shape(&self.ty, None)));
        let header = header(self.elem, &dims);
        if header.len() != ROOM {
            return Err(Error::new("the shape of the array takes more room than was left for it"));
        }
        self.out.begin_with(&header).map_err(io)?;
        self.out.finish().map_err(io)
    }
}

/// The shape of the first element of a sequence; where there is none the type may still know the sizes.
fn shape(ty: &Type, mut first: Option<&Data>) -> Vec<usize> {
    let mut dims = Vec::new();
    let mut inner = ty.elem();
    while let Some(row) = inner.filter(|ty| ty.elem().is_some()) {
        let size = first.map_or_else(|| written_size(row), |data| row_len(data, 0));
        dims.push(size);
        first = first.filter(|_| size > 0).map(elements);
        inner = row.elem();
    }
    dims
}

fn row_len(data: &Data, i: usize) -> usize {
    data.row(i).map_or(0, |(lo, hi)| hi - lo)
}

/// The elements of rows.
fn elements(data: &Data) -> &Data {
    if let Form::Equal(_, elem) | Form::Offsets(_, elem) = data.form() { elem } else { data }
}
