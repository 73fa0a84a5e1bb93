//! What is not well-formed is refused before it reaches compiled code; checked mode and its memory belong together.

use deckle_diag::{Code, SourceMap};
use deckle_engine::{Data, Input, Native, Options, Settings};
use deckle_gen::Rng;
use deckle_ir::scalar::ScalarType;
use deckle_ir::value::Value;
use deckle_runtime::stream::{Error, Source};
use deckle_runtime::{Buffer, Malformed, Pool};

const PROGRAMS: &str = r"
def sums(rows: [[int]]) = [ sum(r) : r in rows ]
def total(rows: {[int]}) = sum({ sum(r) : r in rows })
def dot(xs: [f64; n], ys: [f64; n]) = sum([ x * y : x in xs; y in ys ])
def deep(rows: [[[(int, bool)]]]) = [ [ sum([ if b then x else 0 : (x, b) in p ]) : p in r ] : r in rows ]
def last(lens: [int; n], rows: [i -> [int; lens[i]]; n]) = [ if lens[i] > 0 then rows[i][lens[i] - 1] else 0 : i in iota(n) ]
def ends(off: [int; n + 1], xs: [int]) = [ off[i + 1] : i in iota(n) ]
";

fn native(entry: &str, options: Options) -> Native {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "trust.dk", PROGRAMS.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    Native::compile(&compiled.program, func, options).unwrap()
}

fn rows(offsets: &[i64], elements: Data) -> Result<Data, Malformed> {
    Data::rows(Buffer::from_vec(offsets.to_vec()), elements)
}

fn ints(xs: &[i64]) -> Data {
    Data::array(Data::numbers(xs.to_vec()))
}

/// Elements of another type, once.
struct Other(Option<Data>);

impl Source for Other {
    fn next(&mut self, _: usize, _: &Pool) -> Result<Option<Data>, Error> {
        Ok(self.0.take())
    }
}

#[test]
fn a_source_is_not_trusted() {
    let (f, s) = (native("total", Options::default()), Settings::new(2, None));
    let run = |data| f.stream(vec![Input::Stream(Box::new(Other(Some(data))))], None, &s);
    assert!(run(rows(&[0, 2, 2, 6], Data::numbers(vec![1i64; 6])).unwrap()).is_ok());
    let flat = Data::numbers(vec![1i64; 6]);
    for odd in
        [rows(&[0, 2, 2, 6], Data::numbers(vec![1f64; 6])).unwrap(), flat.clone(), Data::array(Data::array(flat))]
    {
        let e = run(odd).unwrap_err();
        assert_eq!(e.code, Code::Stream, "{}", e.message);
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

/// Offsets of so many rows of 0 to 3 elements.
fn some_offsets(rng: &mut Rng, rows: usize) -> Vec<i64> {
    let mut all = vec![0];
    (0..rows).for_each(|_| all.push(all[all.len() - 1] + rng.below(4) as i64));
    all
}

/// Makes something of offsets that are none: their first, one in the middle or the last is wrong, or one is missing.
fn damage(rng: &mut Rng, offsets: &mut Vec<i64>) {
    let (n, end) = (offsets.len() - 1, offsets[offsets.len() - 1]);
    match rng.below(5) {
        0 => offsets[0] = [-1, 1, i64::MIN][rng.below(3)],
        1 => offsets[n] = end + [1, 1 << 40, i64::MAX - end][rng.below(3)],
        2 => offsets.truncate(n),
        _ => offsets[1 + rng.below(n - 1)] = [-1, end + 1, i64::MAX, i64::MIN][rng.below(4)],
    }
}

#[test]
fn five_hundred_damaged_arguments_are_errors() {
    let s = Settings::new(2, None);
    let deep = native("deep", Options::default());
    let mut rng = Rng::new(17);
    for k in 0..500 {
        let outer = some_offsets(&mut rng, 5);
        let mut levels = [outer.clone(), some_offsets(&mut rng, outer[5] as usize)];
        let count = levels[1][levels[1].len() - 1] as usize;
        let (mut numbers, mut flags) = (vec![1i64; count], vec![1u8; count]);
        let whole = k % 10 == 0;
        match rng.below(4) {
            _ if whole => {}
            0 => damage(&mut rng, &mut levels[0]),
            1 if levels[1].len() > 2 => damage(&mut rng, &mut levels[1]),
            2 if count > 0 => flags[rng.below(count)] = 2 + rng.below(254) as u8,
            _ if count > 0 && rng.chance(50) => numbers.truncate(count - 1),
            _ if count > 0 => flags.truncate(count - 1),
            _ => damage(&mut rng, &mut levels[0]),
        }
        let made = || {
            let flags = Data::scalars(ScalarType::Bool, Buffer::from_vec(flags.clone()))?;
            let pairs = Data::tuples(count, vec![Data::numbers(numbers.clone()), flags])?;
            Data::equal(1, 5, rows(&levels[0], rows(&levels[1], pairs)?)?)
        };
        match made() {
            Ok(data) => assert!(whole && deep.call(vec![data], &s).is_ok(), "{k}: {levels:?} {numbers:?} {flags:?}"),
            Err(why) => assert!(!whole, "{k}: {why}: {levels:?} {numbers:?} {flags:?}"),
        }
    }
}

#[test]
fn what_has_another_form_than_its_type_is_refused() {
    let s = Settings::new(2, None);
    let (deep, total) = (native("deep", Options::default()), native("total", Options::default()));
    let one = || Data::numbers(vec![1i64]);
    let none = Data::tuples(1, vec![]).unwrap();
    let many = Data::equal(2, 1, Data::numbers(vec![1i64, 2])).unwrap();
    for odd in [one(), none, Data::array(one()), Data::tuples(1, vec![one(), one()]).unwrap(), many] {
        for f in [&deep, &total] {
            assert_eq!(f.call(vec![odd.clone()], &s).unwrap_err().code, Code::BadArgument);
        }
    }
    assert_eq!(deep.call(vec![], &s).unwrap_err().code, Code::BadArgument);
    // Numbers of as many bytes, but of another type.
    let dot = native("dot", Options::default());
    assert_eq!(dot.call(vec![ints(&[1, 2]), ints(&[1, 2])], &s).unwrap_err().code, Code::BadArgument);
}

/// Index proofs rest on what types say of sizes, so flat data is held against it.
#[test]
fn sizes_that_types_tell_are_compared_with_flat_data() {
    let s = Settings::new(1, None);
    let f = native("last", Options::default());
    let call = |lens: &[i64], offsets: &[i64]| {
        f.call(vec![ints(lens), Data::array(rows(offsets, Data::numbers(vec![1i64, 2, 3])).unwrap())], &s)
    };
    assert!(call(&[2, 0, 1], &[0, 2, 2, 3]).is_ok());
    for lens in [[2, 0, 2], [2, 0, 1_000_000], [2, -1, 1], [2, 0, i64::MAX]] {
        assert_eq!(call(&lens, &[0, 2, 2, 3]).unwrap_err().code, Code::SizeCheck, "{lens:?}");
    }
    assert_eq!(call(&[2, 0], &[0, 2, 2, 3]).unwrap_err().code, Code::SizeCheck);
    // Of `n + 1` elements there is at least one.
    let f = native("ends", Options::default());
    assert!(f.call(vec![ints(&[0]), ints(&[])], &s).is_ok());
    assert_eq!(f.call(vec![ints(&[]), ints(&[])], &s).unwrap_err().code, Code::SizeCheck);
}
