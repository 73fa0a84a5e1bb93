//! A vector or sequence as printed, element after element: the same text as [`text::show`] of all of them together.

use super::{Writer, io};
use crate::Result;
use crate::text::{self, WIDTH};
use deckle_ir::types::Type;
use deckle_runtime::Data;
use std::io::Write;

pub(super) struct Shown {
    elem: Type,
    /// The text before all elements and after them.
    brackets: [&'static str; 2],
    layout: Layout,
    /// Whether anything has been written.
    any: bool,
    /// Elements that may still share a line: none once something has been written.
    held: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// All on a line.
    Line,
    /// On a line if that is short enough, else on lines of their own.
    Short,
    /// On lines of their own.
    Stacked,
}

impl Shown {
    /// `None` for vectors of scalars: the width of their columns depends on all rows.
    pub(super) fn new(elem: &Type, is_seq: bool) -> Option<Shown> {
        let layout = match elem {
            Type::Scalar(_) => Layout::Line,
            Type::Array(a) if a.elem.as_scalar().is_some() => return None,
            _ if elem.is_flat() => Layout::Short,
            _ => Layout::Stacked,
        };
        let brackets = if is_seq { ["{", "}"] } else { ["[", "]"] };
        Some(Shown { elem: elem.clone(), brackets, layout, any: false, held: Vec::new() })
    }

    /// Whether the held elements fit on one line.
    fn is_short(&self) -> bool {
        let width: usize = self.held.iter().map(|s| s.chars().count() + 2).sum();
        self.held.iter().all(|s| !s.contains('\n')) && (width <= WIDTH || self.held.len() < 2)
    }

    fn put(&mut self, elem: &str, out: &mut dyn Write) -> Result<()> {
        let before = match (self.any, self.layout) {
            (false, _) => self.brackets[0],
            (true, Layout::Line) => ", ",
            (true, _) => ",\n ",
        };
        self.any = true;
        out.write_all(before.as_bytes()).map_err(io)?;
        out.write_all(elem.replace('\n', "\n ").as_bytes()).map_err(io)
    }

    fn let_go(&mut self, out: &mut dyn Write) -> Result<()> {
        std::mem::take(&mut self.held).iter().try_for_each(|elem| self.put(elem, out))
    }
}

impl Writer for Shown {
    fn elements(&mut self, block: &Data, out: &mut dyn Write) -> Result<()> {
        for i in 0..block.len() {
            let shown = text::show_at(&self.elem, block, i, true);
            if self.layout != Layout::Short {
                self.put(&shown, out)?;
                continue;
            }
            self.held.push(shown);
            if !self.is_short() {
                self.layout = Layout::Stacked;
                self.let_go(out)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        if self.layout == Layout::Short {
            self.layout = Layout::Line;
        }
        self.let_go(out)?;
        let [open, close] = self.brackets;
        writeln!(out, "{}{close}", if self.any { "" } else { open }).map_err(io)
    }
}
