//! The subset of zip that `.npz` files need: members that are stored or deflated, with checksums, in one archive.
//!
//! ```text
//! local header, contents | local header, contents | ... | central directory | end of the directory
//! ```
//! The directory is authoritative; of a local header only the length is used. Archives and members beyond 4 GiB (zip64) are
//! read, and not written. The archive must end where its last record says, and the decompressed size of members is limited as for gzip.

use crate::{Error, Result, fit, gz};
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Read;

const LOCAL: &[u8] = b"PK\x03\x04";
const ENTRY: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const END_LEN: usize = 22;
const LONGEST_COMMENT: usize = u16::MAX as usize;
const STORED: u64 = 0;
const DEFLATED: u64 = 8;
/// The tag of the extra field with sizes of 64 bits.
const EXTRA_64: u64 = 1;

/// A member, as the directory describes it.
#[derive(Debug)]
pub(super) struct Member {
    name: String,
    encrypted: bool,
    method: u64,
    crc: u64,
    packed: u64,
    size: u64,
    /// The position of its local header.
    at: u64,
}

/// The bytes of an archive, and its directory.
#[derive(Debug)]
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    members: Vec<Member>,
}

/// A little-endian number of `len` bytes.
fn number(bytes: &[u8], at: usize, len: usize, what: &str) -> Result<u64> {
    Ok(slice(bytes, at, len, what)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

fn slice<'a>(bytes: &'a [u8], at: usize, len: usize, what: &str) -> Result<&'a [u8]> {
    let end = at.checked_add(len).filter(|end| *end <= bytes.len());
    end.map(|end| &bytes[at..end]).ok_or_else(|| Error::at(bytes.len(), format!("the file ends within its {what}")))
}

fn signature(bytes: &[u8], at: usize, expected: &[u8], what: &str) -> Result<()> {
    if slice(bytes, at, 4, what)? == expected {
        Ok(())
    } else {
        Err(Error::at(at, format!("the {what} is damaged: it does not begin as one")))
    }
}

/// A position in the file that another part of it gives.
fn position(bytes: &[u8], at: u64, named_at: usize, what: &str) -> Result<usize> {
    usize::try_from(at).ok().filter(|at| *at <= bytes.len()).ok_or_else(|| {
        Error::at(named_at, format!("the {what} is said to be at byte {at}, beyond the end of the file"))
    })
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self> {
        if !bytes.starts_with(LOCAL) && !bytes.starts_with(END) {
            return Err(Error::at(0, "this is no .npz file: it does not begin with `PK`"));
        }
        let (count, mut at) = directory(bytes)?;
        let mut members: Vec<Member> = Vec::new();
        let mut names = HashSet::new();
        for _ in 0..count {
            let (member, next) = entry(bytes, at)?;
            if !names.insert(member.name.clone()) {
                let message = format!("the file has two members `{}`", fit::show(member.name.as_bytes()));
                return Err(Error::at(at, message));
            }
            members.push(member);
            at = next;
        }
        Ok(Archive { bytes, members })
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.members.iter().map(|m| m.name.as_str()).collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|m| m.name == name)
    }

    pub(super) fn contents(&self, member: &Member) -> Result<Cow<'a, [u8]>> {
        let what = format!("member `{}`", fit::show(member.name.as_bytes()));
        let at = position(self.bytes, member.at, self.bytes.len(), &what)?;
        signature(self.bytes, at, LOCAL, &what)?;
        let name = number(self.bytes, at + 26, 2, &what)? as usize;
        let extra = number(self.bytes, at + 28, 2, &what)? as usize;
        let data_at = at + 30 + name + extra;
        let packed = usize::try_from(member.packed).unwrap_or(usize::MAX);
        let data = slice(self.bytes, data_at, packed, &what)?;
        if member.encrypted {
            return Err(Error::at(at, format!("the {what} is encrypted")));
        }
        let contents = match member.method {
            STORED => Cow::Borrowed(data),
            DEFLATED => Cow::Owned(inflate(data, data_at, member, self.bytes.len(), &what)?),
            other => {
                let message = format!("the {what} is packed by method {other}; only 0 and 8 are known");
                return Err(Error::at(at, message).help("save it with np.savez or np.savez_compressed"));
            }
        };
        if contents.len() as u64 != member.size {
            let message = format!("the {what} has {} bytes, not {} as the directory says", contents.len(), member.size);
            return Err(Error::at(data_at, message));
        }
        let mut crc = Crc::new();
        crc.update(&contents);
        if u64::from(crc.sum()) != member.crc {
            return Err(Error::at(data_at, format!("the {what} is damaged: its checksum is another one")));
        }
        Ok(contents)
    }
}

fn inflate(data: &[u8], at: usize, member: &Member, file: usize, what: &str) -> Result<Vec<u8>> {
    let limit = gz::limit(file);
    if member.size > limit {
        let message = format!("the {what} unpacks to {} bytes, which is taken for an attack", member.size);
        return Err(Error::at(at, message).help("if it is meant to be that large, save it with np.savez"));
    }
    let mut contents = Vec::new();
    let read = DeflateDecoder::new(data).take(member.size + 1).read_to_end(&mut contents);
    read.map_err(|e| Error::at(at, format!("the {what} cannot be unpacked: {e}")))?;
    Ok(contents)
}

/// The number of members, and the position of the directory.
fn directory(bytes: &[u8]) -> Result<(u64, usize)> {
    let earliest = bytes.len().saturating_sub(END_LEN + LONGEST_COMMENT);
    let is_end = |at: &usize| {
        bytes[*at..].starts_with(END)
            && number(bytes, at + 20, 2, "end").is_ok_and(|comment| at + END_LEN + comment as usize == bytes.len())
    };
    let latest = bytes.len().saturating_sub(END_LEN);
    let end = (earliest..=latest).rev().find(is_end).ok_or_else(|| {
        Error::at(bytes.len(), "the file ends too soon, or something follows it: the end of its directory is missing")
    })?;
    let what = "directory";
    let (mut count, mut at) = (number(bytes, end + 10, 2, what)?, number(bytes, end + 16, 4, what)?);
    let locator = end.checked_sub(20).filter(|at| bytes[*at..].starts_with(LOCATOR_64));
    if let Some(locator) = locator.filter(|_| count == 0xFFFF || at == 0xFFFF_FFFF) {
        let end_64 = position(bytes, number(bytes, locator + 8, 8, what)?, locator, what)?;
        signature(bytes, end_64, END_64, what)?;
        (count, at) = (number(bytes, end_64 + 32, 8, what)?, number(bytes, end_64 + 48, 8, what)?);
    }
    Ok((count, position(bytes, at, end, what)?))
}

/// An entry of the directory, and the position of the next one.
fn entry(bytes: &[u8], at: usize) -> Result<(Member, usize)> {
    let what = "directory";
    signature(bytes, at, ENTRY, what)?;
    let field = |offset: usize, len: usize| number(bytes, at + offset, len, what);
    let (name_len, extra_len) = (field(28, 2)? as usize, field(30, 2)? as usize);
    let name = slice(bytes, at + 46, name_len, what)?;
    let name = std::str::from_utf8(name).map_err(|_| Error::at(at + 46, "the name of a member is not UTF-8"))?;
    let mut member = Member {
        name: name.to_string(),
        encrypted: field(8, 2)? & 1 != 0,
        method: field(10, 2)?,
        crc: field(16, 4)?,
        packed: field(20, 4)?,
        size: field(24, 4)?,
        at: field(42, 4)?,
    };
    let extra_at = at + 46 + name_len;
    let mut extra = slice(bytes, extra_at, extra_len, what)?;
    // Each: a tag, a length, and as many bytes.
    while extra.len() >= 4 {
        let (tag, len) = (number(extra, 0, 2, what)?, number(extra, 2, 2, what)? as usize);
        let mut body = slice(extra, 4, len, what).map_err(|_| Error::at(extra_at, "an extra field is damaged"))?;
        extra = &extra[4 + len..];
        if tag != EXTRA_64 {
            continue;
        }
        // Only values that do not fit into 32 bits are present, in this order.
        for value in [&mut member.size, &mut member.packed, &mut member.at] {
            if *value == 0xFFFF_FFFF {
                *value = number(body, 0, 8, what).map_err(|_| Error::at(extra_at, "a size of 64 bits is missing"))?;
                body = &body[8..];
            }
        }
    }
    Ok((member, extra_at + extra_len + field(32, 2)? as usize))
}

/// A member to be written: its name, its size and its checksum.
pub(super) struct Entry {
    pub name: String,
    pub size: usize,
    pub crc: u32,
}

/// The bytes around the contents of members.
pub(super) struct Frame {
    /// Before the contents of each.
    pub heads: Vec<Vec<u8>>,
    /// After those of the last.
    pub end: Vec<u8>,
}

/// The archive of members that are stored.
pub(super) fn frame(entries: &[Entry]) -> Result<Frame> {
    let large = || Error::new("a .npz file of 4 GiB or more cannot be written").help("write .npy");
    let word = |n: usize| u32::try_from(n).map_err(|_| large());
    let count = u16::try_from(entries.len()).map_err(|_| Error::new("the record has too many fields"))?;
    let (mut heads, mut directory, mut at) = (Vec::new(), Vec::new(), 0usize);
    for Entry { name, size, crc } in entries {
        let name_len = u16::try_from(name.len()).map_err(|_| Error::new("the name of a field is too long"))?;
        let (begins, size_32) = (word(at)?, word(*size)?);
        let mut fixed = Vec::new();
        // Version 2.0; names in UTF-8; stored; the first day that zip knows.
        for half in [20u16, 0x0800, STORED as u16, 0, 0x21] {
            fixed.extend(half.to_le_bytes());
        }
        for word in [*crc, size_32, size_32] {
            fixed.extend(word.to_le_bytes());
        }
        fixed.extend(name_len.to_le_bytes());
        fixed.extend(0u16.to_le_bytes());
        let head = [LOCAL, &fixed, name.as_bytes()].concat();
        at += head.len() + size;
        heads.push(head);
        directory.extend(ENTRY.iter().chain(&20u16.to_le_bytes()).chain(&fixed));
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(begins.to_le_bytes().iter().chain(name.as_bytes()));
    }
    let (begins, len) = (word(at)?, word(directory.len())?);
    let mut end = directory;
    end.extend(END.iter().chain(&[0; 4]));
    end.extend(count.to_le_bytes().iter().chain(&count.to_le_bytes()));
    end.extend(len.to_le_bytes().iter().chain(&begins.to_le_bytes()).chain(&[0; 2]));
    Ok(Frame { heads, end })
}
