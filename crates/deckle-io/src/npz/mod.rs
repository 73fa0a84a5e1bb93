//! NumPy's `.npz`: several arrays, each with a name, in a zip archive.
//!
//! | type | read from |
//! |---|---|
//! | a record | the members that have the names of its fields |
//! | a tuple | `arr_0`, `arr_1`, ..., the names that `np.savez(f, a, b)` uses |
//! | an array | the only member, or the selected one (`FILE.npz:NAME`) |
//!
//! Members are stored (`np.savez`) or deflated (`np.savez_compressed`); stored ones are written. Other members are
//! ignored.

mod zip;

use crate::build::Build;
use crate::format::Format;
use crate::text::type_name;
use crate::{Error, Result, contents, fit, npy, tree};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::Data;
use flate2::Crc;
use std::io::{self, Write};

/// A value of a type from the contents of a file; `part` names a member.
///
/// # Errors
/// If the file is damaged, has no such members, or they do not fit.
pub fn read_bytes(bytes: &[u8], ty: &Type, part: Option<&str>) -> Result<Value> {
    let mut build = Build::new(ty);
    fill(bytes, ty, part, &mut build)?;
    Ok(tree::value(ty, &build.into_data(), 0))
}

/// The same into flat memory.
pub(crate) fn fill(bytes: &[u8], ty: &Type, part: Option<&str>, build: &mut Build) -> Result<()> {
    let archive = zip::Archive::open(bytes)?;
    match (part, fields(ty)) {
        (Some(name), _) => member(&archive, name, ty, build),
        (None, Some(fields)) => {
            fields.iter().zip(build.parts()).try_for_each(|((name, ty), build)| member(&archive, name, ty, build))
        }
        (None, None) => match archive.names()[..] {
            [name] => member(&archive, name, ty, build),
            [] => Err(Error::misfit("the file holds no array")),
            [first, ..] => {
                let message = format!("the file holds {}, and `{}` is one", listed(&archive), type_name(ty));
                Err(Error::misfit(message).help(format!("pick one: @FILE.npz:{}", stem(first))))
            }
        },
    }
}

/// The members for the components of a record or tuple.
fn fields(ty: &Type) -> Option<Vec<(String, &Type)>> {
    match ty {
        Type::Record(r) => Some(r.fields.iter().map(|(name, ty)| (name.clone(), ty)).collect()),
        Type::Tuple(parts) => Some(parts.iter().enumerate().map(|(i, ty)| (format!("arr_{i}"), ty)).collect()),
        _ => None,
    }
}

fn member(archive: &zip::Archive, name: &str, ty: &Type, build: &mut Build) -> Result<()> {
    let Some(found) = archive.find(name).or_else(|| archive.find(&format!("{name}.npy"))) else {
        let message = format!("the file has no array `{name}`; it holds {}", listed(archive));
        let near = deckle_diag::closest(name, archive.names().into_iter().map(stem));
        let error = Error::misfit(message);
        return Err(match near {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        });
    };
    npy::fill(&archive.contents(found)?, ty, build).map_err(|mut e| {
        // Bytes are counted from the start of the member, which may be compressed: they are no positions in the archive.
        let place = e.offset.take().map_or(String::new(), |at| format!(", byte {at}"));
        e.message = format!("in `{name}`{place}: {}", e.message);
        e
    })
}

fn stem(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

fn listed(archive: &zip::Archive) -> String {
    const MOST: usize = 10;
    let names = archive.names();
    if names.is_empty() {
        return "nothing".to_string();
    }
    let mut shown: Vec<String> =
        names.iter().take(MOST).map(|n| format!("`{}`", fit::show(stem(n).as_bytes()))).collect();
    if names.len() > MOST {
        shown.push("...".to_string());
    }
    shown.join(", ")
}

/// Whether values of a type can be written, if their rows have equal length.
///
/// # Errors
/// If no value of this type can be a `.npz` file.
pub fn check_type(ty: &Type) -> Result<()> {
    let single = [("arr_0".to_string(), ty)];
    let fields = fields(ty);
    for (name, ty) in fields.as_deref().unwrap_or(&single) {
        npy::check_type(ty).map_err(|e| in_member(e, name))?;
    }
    Ok(())
}

fn in_member(mut e: Error, name: &str) -> Error {
    e.message = format!("`{name}`: {}", e.message);
    e
}

/// The contents of a file that holds a value: a record by its fields, a tuple or a single array as `arr_0` and so on.
///
/// # Errors
/// If a part is no regular array of scalars.
pub fn write_bytes(ty: &Type, value: &Value) -> Result<Vec<u8>> {
    contents::bytes(Format::Npz, ty, value)
}

/// The arrays of a value, each of which is known to be regular, and the archive around them.
pub(crate) struct Plan<'d> {
    members: Vec<npy::encode::Plan<'d>>,
    frame: zip::Frame,
}

impl<'d> Plan<'d> {
    /// For the only value, which is of the type.
    pub(crate) fn new(ty: &Type, data: &'d Data) -> Result<Plan<'d>> {
        let single = || vec![("arr_0".to_string(), ty)];
        let fields = fields(ty).unwrap_or_else(single);
        let (mut members, mut entries) = (Vec::new(), Vec::new());
        for (k, (name, ty)) in fields.into_iter().enumerate() {
            let array = npy::encode::Plan::new(ty, data.component(k).unwrap_or(data));
            let array = array.map_err(|e| in_member(e, &name))?;
            let mut crc = Crc::new();
            let summed = array.parts(&mut |part| {
                crc.update(part);
                Ok(())
            });
            summed.map_err(|e| Error::io(&e))?;
            entries.push(zip::Entry { name: format!("{name}.npy"), size: array.len(), crc: crc.sum() });
            members.push(array);
        }
        Ok(Plan { members, frame: zip::frame(&entries)? })
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (head, array) in self.frame.heads.iter().zip(&self.members) {
            out.write_all(head)?;
            array.write(out)?;
        }
        out.write_all(&self.frame.end)
    }
}

#[cfg(test)]
mod tests;
