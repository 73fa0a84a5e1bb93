//! Streamability, on the examples and on random programs, against the machine that runs a program one element at a time.

use deckle_diag::{SourceMap, render_all};
use deckle_passes::stream;
use deckle_syntax::Compiled;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compiled(path: &Path) -> (Result<Compiled, String>, SourceMap) {
    let mut sources = SourceMap::new();
    let mut load = |from: &str, written: &str| {
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(written);
        std::fs::read(&path).map(|bytes| (path.display().to_string(), bytes)).map_err(|e| e.to_string())
    };
    let bytes = std::fs::read(path).unwrap();
    let result = deckle_syntax::compile(&mut sources, &path.display().to_string(), bytes, &mut load);
    (result.map_err(|e| render_all(&e, &sources, false)), sources)
}

#[test]
fn every_example_can_be_streamed() {
    let mut wrong = String::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "dk") {
            continue;
        }
        let (compiled, sources) = compiled(&path);
        let program = compiled.unwrap().program;
        wrong += &render_all(&stream::check(&program, &sources), &sources, false);
        seen += 1;
    }
    assert!(seen >= 14 && wrong.is_empty(), "{wrong}");
}
