//! Streaming reads and writes the same as reading and writing as a whole.

mod read;
mod write;

use super::*;
use crate::{Kind, gz, read_value, tree};
use deckle_ir::value::Value;
use std::io::Read;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The sizes of the blocks.
const BYTES: [usize; 5] = [1, 7, 64, 300, 1 << 20];

/// Returns a few bytes at a time, like a pipe.
struct Trickle(Vec<u8>, usize);

impl Read for Trickle {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(self.0.len()).min(to.len());
        to[..n].copy_from_slice(&self.0[..n]);
        self.0.drain(..n);
        Ok(n)
    }
}

/// All elements of a source, and the error after them.
fn collected(source: &mut dyn Source, elem: &Type, bytes: usize) -> (Vec<Value>, Option<Error>) {
    let (pool, mut all) = (Pool::new(None), Vec::new());
    loop {
        match source.next(bytes, &pool) {
            Ok(None) => return (all, None),
            Ok(Some(block)) => {
                assert!(!block.is_empty() && tree::fits(elem, &block));
                all.extend(tree::values(elem, &block));
            }
            Err(stream::Error::Failed(e)) => return (all, Some(*e.downcast::<Error>().unwrap())),
            Err(e) => panic!("{e}"),
        }
    }
}

/// The results for a file, and for the same bytes through a pipe, in blocks of every size.
fn streamed(path: &Path, ty: &Type) -> Vec<(Vec<Value>, Option<Error>)> {
    let elem = ty.elem().unwrap();
    let through = |source: Result<Box<dyn Source>>, bytes: usize| match source {
        Ok(mut source) => collected(&mut *source, elem, bytes),
        Err(e) => (Vec::new(), Some(e)),
    };
    let piped = |few: usize| {
        let place = Place::of(path);
        let contents = std::fs::read(&place.path).map_err(|e| Error::io(&e))?;
        let input = |place: &Place| Ok(Input::new(Box::new(Trickle(contents, few)), None, Format::of(&place.name).1));
        let reader = reader(&place, input, ty).map_err(|e| e.in_file(&place.path))?;
        Ok(Box::new(Stream { reader, path: place.path, failed: None, given: None }) as Box<dyn Source>)
    };
    let files = BYTES.map(|bytes| through(open(path, ty), bytes));
    let pipes = [(1, 1), (3, 64), (100, 7), (1 << 20, 1 << 20)].map(|(few, bytes)| through(piped(few), bytes));
    files.into_iter().chain(pipes).collect()
}

/// A file of a name in a directory of its own, which is removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Folder(crate::atomic::tests::directory(&format!("stream-{name}-{}", COUNT.fetch_add(1, Relaxed))))
    }

    fn file(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        if name.ends_with(".gz") {
            let mut packed = Vec::new();
            gz::pack(&mut packed, contents).unwrap();
            std::fs::write(&path, packed).unwrap();
        } else {
            std::fs::write(&path, contents).unwrap();
        }
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn seq(elem: impl Into<Type>) -> Type {
    Type::seq(elem.into())
}
