//! The memory layout: one range of memory in three parts, each on pages of its own.
//!
//! ```text
//! code: executable sections, stubs │ constants: read-only sections, table of outside addresses │ data: writable sections
//! ```

use super::file::{File, Place, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS, SHF_WRITE, SHT_NOBITS, SHT_PROGBITS, Section};
use std::collections::HashMap;
use std::ops::Range;

/// The layout. Offsets are from the start of the mapping.
pub(crate) struct Layout {
    pub size: usize,
    /// For each section of the file its offset, if it is loaded.
    pub places: Vec<Option<usize>>,
    pub code: Range<usize>,
    pub constants: Range<usize>,
    /// For each symbol that is accessed through the table, its number there.
    pub slots: HashMap<usize, usize>,
    /// The stubs: [`STUB`] bytes per slot.
    pub stubs: usize,
    /// The table: 8 bytes per slot.
    pub table: usize,
}

pub(crate) const PAGE: usize = 4096;
pub(crate) const STUB: usize = 8;
/// More than any program needs, and far below the range of 32-bit distances.
const LARGEST: usize = 1 << 30;

/// Whether a section is loaded into memory. Unwinding tables are not.
pub(crate) fn is_loaded(section: &Section<'_>) -> bool {
    section.flags & SHF_ALLOC != 0 && section.name != ".eh_frame" && section.size > 0
}

impl Layout {
    pub(crate) fn plan(file: &File<'_>) -> Result<Layout, String> {
        for section in file.sections.iter().filter(|s| is_loaded(s)) {
            // Constructors are in sections of a type of their own, or in ordinary ones of these names.
            let runs = section.name.starts_with(".ctors") || section.name.starts_with(".dtors");
            let known = matches!(section.kind, SHT_PROGBITS | SHT_NOBITS) && !runs;
            if !known || section.flags & SHF_TLS != 0 || section.align > PAGE as u64 {
                return Err(format!("the section {} is of an unknown kind", section.name));
            }
        }
        let slots: HashMap<usize, usize> = slots(file).enumerate().map(|(slot, symbol)| (symbol, slot)).collect();
        let mut places = vec![None; file.sections.len()];
        let mut end = 0;
        let mut put = |end: &mut usize, writable: bool, executable: bool| -> Result<(), String> {
            for (section, place) in file.sections.iter().zip(&mut places).filter(|(s, _)| is_loaded(s)) {
                if (section.flags & SHF_WRITE != 0) != writable || (section.flags & SHF_EXECINSTR != 0) != executable {
                    continue;
                }
                let start = align(*end, section.align)?;
                *end = grow(start, section.size)?;
                *place = Some(start);
            }
            Ok(())
        };
        put(&mut end, false, true)?;
        let stubs = align(end, 16)?;
        let code = 0..align(grow(stubs, (slots.len() * STUB) as u64)?, PAGE as u64)?;
        end = code.end;
        put(&mut end, false, false)?;
        let table = align(end, 16)?;
        let constants = code.end..align(grow(table, (slots.len() * 8) as u64)?, PAGE as u64)?;
        end = constants.end;
        put(&mut end, true, false)?;
        if file.sections.iter().zip(&places).any(|(s, p)| is_loaded(s) && p.is_none()) {
            return Err("a section is both writable and executable".into());
        }
        Ok(Layout { size: align(end.max(1), PAGE as u64)?, places, code, constants, slots, stubs, table })
    }
}

/// The symbols that may need the table: all external ones, and those that code accesses through a table although they are internal.
fn slots<'a>(file: &'a File<'_>) -> impl Iterator<Item = usize> + 'a {
    let outside = file.symbols.iter().enumerate().skip(1).filter(|(_, s)| !s.name.is_empty());
    outside.filter(|(_, s)| s.place == Place::Outside || s.bind != 0).map(|(i, _)| i)
}

fn align(at: usize, to: u64) -> Result<usize, String> {
    let to = to.max(1);
    if !to.is_power_of_two() || to > PAGE as u64 {
        return Err(format!("an alignment of {to}"));
    }
    Ok(at.next_multiple_of(to as usize))
}

fn grow(at: usize, by: u64) -> Result<usize, String> {
    let end = usize::try_from(by).ok().and_then(|by| at.checked_add(by));
    end.filter(|&e| e <= LARGEST).ok_or_else(|| "it is larger than a gigabyte".into())
}
