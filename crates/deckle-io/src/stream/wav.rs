//! Sound, moment after moment.

use super::input::Window;
use super::{Outcome, Reader, unpacked};
use crate::build::Build;
use crate::fit::{count, show};
use crate::wav::{self, Frame, Layout};
use crate::{Error, Result};
use deckle_ir::types::Type;
use deckle_runtime::{Data, Pool};

/// The maximal length of a chunk before the samples.
const LONGEST: u64 = 1 << 20;
/// The approximate number of bytes of a file in memory at a time. Few in tests, so that samples are split anywhere.
const PIECE: usize = if cfg!(test) { 11 } else { 1 << 18 };

/// Whether a file is read in blocks as this type: samples without their rate.
pub(super) fn is_streamed(ty: &Type) -> bool {
    wav::Form::of(ty).is_some_and(|form| form.rate.is_none())
}

pub(super) fn open(mut window: Window, ty: &Type) -> Result<Box<dyn Reader>> {
    let is_packed = window.is_packed();
    let (layout, at, left, said) = begin(&mut window).map_err(|e| unpacked(e, is_packed))?;
    let form = wav::fits(&layout, ty)?;
    Ok(Box::new(Samples {
        layout,
        sample: form.sample,
        frame: form.frame,
        at,
        left,
        // The writer of a pipe may not know its length, and then gives an arbitrary one.
        said: is_packed.then_some(said),
        window,
        build: Build::new(ty.elem().unwrap_or(ty)),
    }))
}

/// Reads up to the samples: their layout and position, and the claimed numbers of bytes of the samples and of the file.
fn begin(window: &mut Window) -> Result<(Layout, u64, u64, u64)> {
    have(window, 12)?;
    let bytes = window.bytes();
    if bytes.len() < 12 || !bytes.starts_with(b"RIFF") || &bytes[8..12] != b"WAVE" {
        return Err(Error::at(0, wav::NO_WAV));
    }
    let said = wav::number(&bytes[4..8]);
    if let Some(len) = window.file_len() {
        wav::check_length(said, len)?;
    }
    window.take(12);
    let (mut at, mut layout) = (12u64, None);
    loop {
        have(window, 8)?;
        let Some(head) = window.bytes().get(..8) else {
            let missing = if layout.is_some() { "data" } else { "fmt " };
            return Err(Error::at(at as usize, format!("the file has no chunk `{missing}`")));
        };
        let (name, len) = ([head[0], head[1], head[2], head[3]], wav::number(&head[4..]));
        if &name == b"data" {
            let layout: Layout =
                layout.ok_or_else(|| Error::at(at as usize, "the samples come before the chunk `fmt `"))?;
            wav::check_frames(len, &layout, at as usize + 8)?;
            if let Some(all) = window.file_len().filter(|all| at + 8 + len > *all) {
                let message = format!("the file ends within its chunk `data`, which should have {len} bytes");
                return Err(Error::at(at as usize, message).help(format!("it has {all} bytes in all")));
            }
            window.take(8);
            return Ok((layout, at + 8, len, said));
        }
        if len > LONGEST {
            return Err(Error::at(at as usize, format!("its chunk `{}` has {len} bytes", show(&name))));
        }
        // Chunks begin at even bytes.
        let whole = (8 + len + len % 2) as usize;
        have(window, whole)?;
        let Some(body) = window.bytes().get(8..8 + len as usize) else {
            let message = format!("the file ends within its chunk `{}`, which should have {len} bytes", show(&name));
            return Err(Error::at(at as usize, message));
        };
        if &name == b"fmt " {
            layout = Some(wav::format(body, at as usize)?);
        }
        window.take(whole.min(window.bytes().len()));
        at += whole as u64;
    }
}

/// Reads on until there are `len` bytes, or the end.
fn have(window: &mut Window, len: usize) -> Result<()> {
    while window.bytes().len() < len && !window.has_ended() {
        window.begin()?;
    }
    Ok(())
}

struct Samples {
    window: Window,
    layout: Layout,
    sample: deckle_ir::scalar::ScalarType,
    frame: Frame,
    /// The position of the next samples in the file, and the number of remaining bytes.
    at: u64,
    left: u64,
    /// The claimed length of the file, if it is to be compared after the samples.
    said: Option<u64>,
    build: Build,
}

impl Samples {
    /// Reads at most `most` bytes of samples, and returns their number.
    fn decode(&mut self, most: usize, pool: &Pool) -> Outcome<usize> {
        let size = self.layout.moment();
        self.window.wait(size, most, pool)?;
        let here = self.window.bytes().len().min(most) / size * size;
        if here == 0 {
            let message = format!("the file ends {} too soon", count(self.left as usize, "byte"));
            return Err(unpacked(Error::at(self.at as usize, message), self.window.is_packed()).into());
        }
        self.layout.decode(&self.window.bytes()[..here], self.frame, self.sample, &mut self.build);
        self.window.take(here);
        self.at += here as u64;
        self.left -= here as u64;
        Ok(here)
    }

    /// Counts the bytes after the samples.
    fn check_end(&mut self, bytes: usize, pool: &Pool) -> Outcome<()> {
        let Some(said) = self.said.take() else { return Ok(()) };
        loop {
            self.window.wait(1, bytes, pool)?;
            let more = self.window.bytes().len();
            if more == 0 {
                break;
            }
            self.window.take(more);
            self.at += more as u64;
        }
        Ok(wav::check_length(said, self.at).map_err(|e| unpacked(e, self.window.is_packed()))?)
    }
}

impl Reader for Samples {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Data>) -> Outcome<()> {
        let size = self.layout.moment();
        if self.left == 0 {
            return self.check_end(bytes, pool);
        }
        let want = ((bytes / size).max(1) * size).min(self.left as usize);
        self.layout.reserve(want / size, self.frame, &mut self.build);
        let mut done = 0;
        let outcome = loop {
            match self.decode((want - done).min((PIECE / size).max(1) * size), pool) {
                Ok(here) => done += here,
                Err(fault) => break Err(fault),
            }
            if done == want || !self.window.is_eager() {
                break Ok(());
            }
        };
        if done > 0 {
            *found = Some(self.build.take(done / size, pool)?);
        }
        outcome
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.window.progress()
    }
}
