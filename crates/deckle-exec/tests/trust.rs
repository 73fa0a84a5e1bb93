//! What is not well-formed is refused before it reaches compiled code; checked mode and its memory belong together.

use deckle_diag::{Code, SourceMap};
use deckle_exec::{Data, Input, Native, Options, Settings};
use deckle_ir::value::Value;
use deckle_runtime::stream::{Error, Source};
use deckle_runtime::{Block, Plain, Pool};

const PROGRAMS: &str = r"
def sums(rows: [[int]]) = [ sum(r) : r in rows ]
def total(rows: {[int]}) = sum({ sum(r) : r in rows })
def kept(flags: [bool]) = length([ 1 : f in flags | f ])
def pairs(ps: [(int, bool)]) = sum([ if b then x else 0 : (x, b) in ps ])
def dot(xs: [f64; n], ys: [f64; n]) = sum([ x * y : x in xs; y in ys ])
";

fn native(entry: &str, options: Options) -> Native {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "trust.dk", PROGRAMS.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    Native::compile(&compiled.program, func, options).unwrap()
}

fn scalars<T: Plain>(pool: &Pool, xs: &[T]) -> Data {
    Data::Scalars(pool.alloc_from(xs, "xs").unwrap())
}

fn rows(pool: &Pool, offsets: &[i64], xs: &[i64]) -> Data {
    Data::Offsets(pool.alloc_from(offsets, "offsets").unwrap(), Box::new(scalars(pool, xs)))
}

/// Offsets of three rows that are no offsets of six elements.
const BAD: [&[i64]; 7] = [
    &[0, 4, 2, 6],
    &[1, 2, 4, 6],
    &[0, -1, 4, 6],
    &[0, 2, 4, 7],
    &[0, 2, 4, i64::MAX],
    &[0, i64::MAX, i64::MIN, 6],
    &[0, 2, 4],
];

#[test]
fn offsets_that_are_none_are_refused() {
    let (f, s) = (native("sums", Options::default()), Settings::new(2, None));
    let call =
        |offsets: &[i64]| f.call(vec![Data::Equal(3, Box::new(rows(&s.pool, offsets, &[1, 2, 3, 4, 5, 6])))], &s);
    assert!(call(&[0, 2, 2, 6]).is_ok());
    for bad in BAD {
        assert_eq!(call(bad).unwrap_err().code, Code::BadArgument, "{bad:?}");
    }
}

#[test]
fn bytes_that_are_no_bools_are_refused() {
    let s = Settings::new(1, None);
    let flags = |bytes: &[u8]| Data::Equal(bytes.len(), Box::new(scalars(&s.pool, bytes)));
    let f = native("kept", Options::default());
    assert!(f.call(vec![flags(&[0, 1, 1])], &s).is_ok());
    for bad in [[0, 2, 1], [0, 1, 255]] {
        assert_eq!(f.call(vec![flags(&bad)], &s).unwrap_err().code, Code::BadArgument);
    }
}

#[test]
fn components_of_other_lengths_are_refused() {
    let (f, s) = (native("pairs", Options::default()), Settings::new(1, None));
    let call = |xs: &[i64], bs: &[u8]| {
        let both = Data::Tuple(vec![scalars(&s.pool, xs), scalars(&s.pool, bs)]);
        f.call(vec![Data::Equal(3, Box::new(both))], &s)
    };
    assert!(call(&[1, 2, 3], &[1, 0, 1]).is_ok());
    assert_eq!(call(&[1, 2, 3], &[1, 0]).unwrap_err().code, Code::BadArgument);
    assert_eq!(call(&[1, 2], &[1, 0, 1]).unwrap_err().code, Code::BadArgument);
}

/// Three rows of six numbers, with these offsets, once.
struct Rows(Option<&'static [i64]>);

impl Source for Rows {
    fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Block>, Error> {
        Ok(self.0.take().map(|offsets| Block::new(rows(pool, offsets, &[1, 2, 3, 4, 5, 6]), 3)))
    }
}

#[test]
fn a_source_is_not_trusted() {
    let (f, s) = (native("total", Options::default()), Settings::new(2, None));
    let run = |offsets| f.stream(vec![Input::Stream(Box::new(Rows(Some(offsets))))], None, &s);
    assert!(run(&[0, 2, 2, 6]).is_ok());
    for bad in BAD {
        let e = run(bad).unwrap_err();
        assert_eq!(e.code, Code::Stream, "{bad:?}: {}", e.message);
        assert!(e.message.contains("`rows`"), "{}", e.message);
    }
}

#[test]
fn code_and_memory_are_in_checked_mode_together() {
    let reals = |xs: &[f64]| Value::array(xs.iter().map(|x| Value::real(*x)).collect());
    let args = [reals(&[1.0, 2.0, 3.0]), reals(&[4.0, 5.0, 6.0])];
    let (plain, checked) = (Settings::new(1, None), Settings::checked(1, None));
    for is_checked in [false, true] {
        let f = native("dot", Options { checked: is_checked, ..Options::default() });
        let (right, wrong) = if is_checked { (&checked, &plain) } else { (&plain, &checked) };
        assert_eq!(f.run(&args, right).unwrap(), Value::real(32.0));
        assert_eq!(f.run(&args, wrong).unwrap_err().code, Code::Internal);
    }
}
