//! Arrays of NumPy: the elements, and then the shape, for which space was reserved before them.

use super::{failed, io};
use crate::Result;
use crate::atomic::{Output, is_standard};
use crate::npy::encode::{check_rows, check_type, header, inner_shape, little_endian};
use crate::{Error, fit};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use deckle_runtime::Data;
use deckle_runtime::stream::{self, Sink};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The length of a header. It is that of every array of up to [`MOST_DIMS`] dimensions: their sizes have at most 20 digits together and one more
/// each, unless an array without elements claims otherwise.
const ROOM: usize = 128;
const MOST_DIMS: usize = 8;

pub(super) fn create(path: &Path, ty: &Type, is_packed: bool) -> Result<Option<Box<dyn Sink>>> {
    let elem = check_type(ty)?;
    // A pipe cannot be rewound.
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
    /// The number of elements so far.
    count: usize,
    /// The shape of each, once known.
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
        let inner = self.inner.get_or_insert_with(|| inner_shape(&self.ty, Some(block)));
        let scalars = check_rows(block, inner, self.count)?;
        self.count += block.len();
        let Some(b) = scalars.as_scalars() else { return Ok(()) };
        little_endian(b.as_slice(), self.elem.bytes(), &mut |part| self.out.write_all(part)).map_err(io)
    }

    fn complete(mut self) -> Result<()> {
        let mut dims = vec![self.count];
        dims.extend(self.inner.take().unwrap_or_else(|| inner_shape(&self.ty, None)));
        let header = header(self.elem, &dims);
        if header.len() != ROOM {
            return Err(Error::new("the shape of the array takes more room than was left for it"));
        }
        self.out.begin_with(&header).map_err(io)?;
        self.out.finish().map_err(io)
    }
}
