//! The tables of a relocatable ELF file for x86-64. Everything is checked before use, and borrows from the file.

use std::str;

/// A section, in memory or not.
pub(crate) struct Section<'a> {
    pub kind: u32,
    pub flags: u64,
    /// Empty for a section of zeros.
    pub data: &'a [u8],
    /// The size in memory.
    pub size: u64,
    pub align: u64,
    /// The symbol table of a relocation section.
    pub link: u32,
    /// The section that a relocation section modifies.
    pub info: u32,
    pub name: &'a str,
}

/// A symbol.
pub(crate) struct Symbol<'a> {
    pub name: &'a str,
    pub bind: u8,
    pub place: Place,
    pub value: u64,
}

/// The location of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In another file.
    Outside,
    /// A number, not an address.
    Absolute,
    /// In the section with this index.
    Section(usize),
}

/// A place in a section that needs an address.
pub(crate) struct Relocation {
    pub offset: u64,
    pub kind: u32,
    pub symbol: usize,
    pub addend: i64,
}

/// The file.
pub(crate) struct File<'a> {
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
}

pub(crate) const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
pub(crate) const SHT_RELA: u32 = 4;
pub(crate) const SHT_NOBITS: u32 = 8;
pub(crate) const SHT_REL: u32 = 9;
pub(crate) const SHF_WRITE: u64 = 1;
pub(crate) const SHF_ALLOC: u64 = 2;
pub(crate) const SHF_EXECINSTR: u64 = 4;
pub(crate) const SHF_TLS: u64 = 0x400;
pub(crate) const STB_GLOBAL: u8 = 1;
pub(crate) const STB_WEAK: u8 = 2;
const STT_FILE: u8 = 4;
const SHN_UNDEF: u16 = 0;
const SHN_ABS: u16 = 0xfff1;
const SHN_RESERVED: u16 = 0xff00;

const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const RELOCATION: usize = 24;

/// The part of `bytes` from `start` of length `size`.
fn part(bytes: &[u8], start: u64, size: u64) -> Result<&[u8], String> {
    let range = || Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(size)?).ok()?);
    range().and_then(|r| bytes.get(r)).ok_or_else(|| format!("{size} bytes at {start} lie outside the file"))
}

/// Numbers at fixed offsets of a record, whose length the caller has checked.
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut out = [0; N];
        out.copy_from_slice(&self.0[at..at + N]);
        out
    }
    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(at))
    }
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }
    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }
}

fn name_at(strings: &[u8], start: u32) -> Result<&str, String> {
    let rest = strings.get(start as usize..).ok_or("a name lies outside its table")?;
    let end = rest.iter().position(|&b| b == 0).ok_or("a name does not end")?;
    str::from_utf8(&rest[..end]).map_err(|_| "a name is not UTF-8".to_string())
}

impl<'a> File<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<File<'a>, String> {
        let header = Record(part(bytes, 0, HEADER as u64)?);
        // 64 bits, little-endian, version 1; relocatable; x86-64.
        if header.0[..7] != *b"\x7fELF\x02\x01\x01" || header.u16(16) != 1 || header.u16(18) != 62 {
            return Err("not a relocatable ELF file for x86-64".into());
        }
        if header.u16(58) as usize != SECTION {
            return Err("section headers of an unknown size".into());
        }
        let table = part(bytes, header.u64(40), header.u16(60) as u64 * SECTION as u64)?;
        let records: Vec<Record<'_>> = table.chunks_exact(SECTION).map(Record).collect();
        let names = records.get(header.u16(62) as usize).ok_or("no table of section names")?;
        let names = part(bytes, names.u64(24), names.u64(32))?;
        let section = |r: &Record<'_>| -> Result<Section<'a>, String> {
            let (kind, size) = (r.u32(4), r.u64(32));
            let data = if kind == SHT_NOBITS { &[] } else { part(bytes, r.u64(24), size)? };
            let (link, info) = (r.u32(40), r.u32(44));
            Ok(Section {
                kind,
                flags: r.u64(8),
                data,
                size,
                align: r.u64(48),
                link,
                info,
                name: name_at(names, r.u32(0))?,
            })
        };
        let sections = records.iter().map(section).collect::<Result<Vec<_>, _>>()?;
        let symbols = match sections.iter().find(|s| s.kind == SHT_SYMTAB) {
            Some(table) => {
                let strings = sections.get(table.link as usize).ok_or("no table of symbol names")?.data;
                let symbol = |r: &[u8]| Symbol::read(&Record(r), strings, sections.len());
                table.data.chunks_exact(SYMBOL).map(symbol).collect::<Result<_, _>>()?
            }
            None => Vec::new(),
        };
        Ok(File { sections, symbols })
    }

    /// The relocations of a relocation section.
    pub(crate) fn relocations(&self, section: &Section<'a>) -> Result<Vec<Relocation>, String> {
        if self.sections.get(section.link as usize).is_none_or(|s| s.kind != SHT_SYMTAB) {
            return Err("relocations without a symbol table".into());
        }
        let relocation = |r: Record<'_>| Relocation {
            offset: r.u64(0),
            kind: r.u32(8),
            symbol: r.u32(12) as usize,
            addend: r.u64(16) as i64,
        };
        Ok(section.data.chunks_exact(RELOCATION).map(|r| relocation(Record(r))).collect())
    }
}

impl<'a> Symbol<'a> {
    fn read(r: &Record<'_>, strings: &'a [u8], sections: usize) -> Result<Symbol<'a>, String> {
        let name = name_at(strings, r.u32(0))?;
        let (info, index) = (r.bytes::<1>(4)[0], r.u16(6));
        // No type, data, function, section, file: the others (common, thread-local, indirect) need more than an address.
        if info & 15 > STT_FILE {
            return Err(format!("the symbol `{name}` is of an unknown type"));
        }
        let place = match index {
            SHN_UNDEF => Place::Outside,
            SHN_ABS => Place::Absolute,
            SHN_RESERVED.. => return Err(format!("the symbol `{name}` is in no ordinary section")),
            _ if (index as usize) < sections => Place::Section(index as usize),
            _ => return Err(format!("the symbol `{name}` is in a section that does not exist")),
        };
        Ok(Symbol { name, bind: info >> 4, place, value: r.u64(8) })
    }
}
