//! Applying relocations.
//!
//! In the terms of the x86-64 ABI: S is the address of the symbol, A the addend, P the address of the place, G the address of the symbol's slot in the table
//! (the global offset table). An external function may be further away than 32 bits reach; calls to it go to a stub that jumps to the address in the slot.

use super::file::{File, Place, Relocation, SHT_REL, SHT_RELA, STB_GLOBAL, STB_WEAK};
use super::layout::{Layout, STUB};
use std::collections::HashMap;

const NONE: u32 = 0;
const ABS64: u32 = 1;
const PC32: u32 = 2;
const PLT32: u32 = 4;
const GOTPCREL: u32 = 9;
const ABS32: u32 = 10;
const ABS32S: u32 = 11;
const PC64: u32 = 24;
const GOTPCRELX: u32 = 41;
const REX_GOTPCRELX: u32 = 42;
const CODE_4_GOTPCRELX: u32 = 43;

/// Resolves external symbols by name.
pub(crate) type External<'a> = &'a dyn Fn(&str) -> Option<u64>;

struct Linking<'a> {
    layout: &'a Layout,
    /// The address of the mapping, and its bytes.
    base: u64,
    memory: &'a mut [u8],
    /// The address of each symbol of the file. None for symbols without references.
    addresses: Vec<Option<u64>>,
}

/// Fills `memory`, which will be at `base`, and returns the addresses of the global symbols.
pub(crate) fn relocate(
    file: &File<'_>,
    layout: &Layout,
    base: u64,
    memory: &mut [u8],
    external: External<'_>,
) -> Result<HashMap<String, u64>, String> {
    let mut addresses = Vec::with_capacity(file.symbols.len());
    for (i, symbol) in file.symbols.iter().enumerate() {
        addresses.push(match symbol.place {
            Place::Absolute => Some(symbol.value),
            Place::Section(section) if symbol.value <= file.sections[section].size => {
                layout.places[section].map(|offset| base + offset as u64 + symbol.value)
            }
            Place::Section(_) => return Err(format!("the symbol `{}` lies outside its section", symbol.name)),
            Place::Outside if i == 0 => None,
            Place::Outside => match external(symbol.name) {
                None if symbol.bind == STB_WEAK => Some(0),
                None => return Err(format!("`{}` is not defined anywhere", symbol.name)),
                found => found,
            },
        });
    }
    let mut linking = Linking { layout, base, memory, addresses };
    linking.fill_table()?;
    for section in &file.sections {
        let Some(place) = layout.places.get(section.info as usize).copied().flatten() else { continue };
        match section.kind {
            SHT_RELA => {
                let size = file.sections[section.info as usize].size;
                for relocation in file.relocations(section)? {
                    linking.apply(file, &relocation, place, size)?;
                }
            }
            SHT_REL => return Err("relocations without addends".into()),
            _ => {}
        }
    }
    let global = |s: u8| matches!(s, STB_GLOBAL | STB_WEAK);
    let defined =
        file.symbols.iter().zip(&linking.addresses).filter(|(s, _)| global(s.bind) && s.place != Place::Outside);
    Ok(defined.filter_map(|(s, address)| Some((s.name.to_string(), (*address)?))).collect())
}

impl Linking<'_> {
    /// Writes the slots, and a stub for each: `jmp *slot(%rip)`.
    fn fill_table(&mut self) -> Result<(), String> {
        for (&symbol, &slot) in &self.layout.slots {
            let Some(address) = self.addresses[symbol] else { continue };
            let (stub, entry) = (self.layout.stubs + slot * STUB, self.layout.table + slot * 8);
            self.memory[entry..entry + 8].copy_from_slice(&address.to_le_bytes());
            let distance = i32::try_from(entry as i64 - (stub as i64 + 6)).map_err(|_| "the table is out of reach")?;
            self.memory[stub..stub + 2].copy_from_slice(&[0xff, 0x25]);
            self.memory[stub + 2..stub + 6].copy_from_slice(&distance.to_le_bytes());
        }
        Ok(())
    }

    /// Applies one relocation of the section at `section`, of `size` bytes.
    fn apply(&mut self, file: &File<'_>, relocation: &Relocation, section: usize, size: u64) -> Result<(), String> {
        let Relocation { offset, kind, symbol, addend } = *relocation;
        if kind == NONE {
            return Ok(());
        }
        let width = if matches!(kind, ABS64 | PC64) { 8 } else { 4 };
        if offset.checked_add(width).is_none_or(|end| end > size) {
            return Err("a relocation lies outside its section".into());
        }
        let s = self.addresses.get(symbol).copied().flatten().ok_or("a relocation to nothing")?;
        let at = section + offset as usize;
        let p = self.base + at as u64;
        let relative = |target: u64| target.wrapping_add_signed(addend).wrapping_sub(p) as i64;
        let absolute = s.wrapping_add_signed(addend);
        let slot = self.layout.slots.get(&symbol);
        let through_table = || slot.map(|slot| relative(self.base + (self.layout.table + slot * 8) as u64));
        let name = file.symbols.get(symbol).map_or("", |s| s.name);
        let far = || format!("`{name}` is out of reach");
        let value = match kind {
            ABS64 => absolute as i64,
            PC64 => relative(s),
            ABS32 => u32::try_from(absolute).map_err(|_| far())? as i64,
            ABS32S => i32::try_from(absolute as i64).map_err(|_| far())? as i64,
            PC32 => relative(s),
            PLT32 if i32::try_from(relative(s)).is_ok() => relative(s),
            PLT32 => slot.map(|slot| relative(self.base + (self.layout.stubs + slot * STUB) as u64)).ok_or_else(far)?,
            GOTPCREL | GOTPCRELX | REX_GOTPCRELX | CODE_4_GOTPCRELX => through_table().ok_or_else(far)?,
            _ => return Err(format!("a relocation of the unknown kind {kind}")),
        };
        if width == 8 {
            self.memory[at..at + 8].copy_from_slice(&value.to_le_bytes());
        } else {
            let fits = kind == ABS32 || i32::try_from(value).is_ok();
            let value = if fits { value as u32 } else { return Err(far()) };
            self.memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }
}
