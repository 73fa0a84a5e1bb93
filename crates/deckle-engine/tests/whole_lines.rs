//! Rows that are gathered to whole cache lines, or joined to one: every element is written, no other is, and the bits are those of rows that are written one by one.

use deckle_diag::SourceMap;
use deckle_engine::{Cuts, Data, Native, Options, Settings};
use deckle_ir::loops::Stores;
use deckle_runtime::{Form, Number, Plain};

const PROGRAMS: &str = r"
def scans(off: [int], xs: [f32]) = flatten([ scan_incl(+, r) : r in split_offsets(xs, off) ])
def exclusive(off: [int], xs: [f64]) = flatten([ scan(+, 0.5, r) : r in split_offsets(xs, off) ])
def shares(off: [int], xs: [f32]) = flatten([ let s = sum(r) in [ x / (s + 1.0) : x in r ] : r in split_offsets(xs, off) ])
def both(off: [int], xs: [f64]) =
  unzip(flatten([ let s = sum(r) in [ (x - s, f32(x) + f32(s)) : x in r ] : r in split_offsets(xs, off) ]))
def sums_too(off: [int], xs: [f32]) =
  let rows = split_offsets(xs, off) in ([ sum(r) : r in rows ], flatten([ scan_incl(+, r) : r in rows ]))
def given(rows: [[f64]]) = [ scan_incl(+, r) : r in rows ]
def halves(off: [int], xs: [f32]) = flatten([ [ x * 0.5 + 1 : x in r ] : r in split_offsets(xs, off) ])
def both_halves(off: [int], xs: [f64]) = unzip(flatten([ [ (x * 0.5, f32(x)) : x in r ] : r in split_offsets(xs, off) ]))
def given_halves(rows: [[f64]]) = [ [ x * 0.5 : x in r ] : r in rows ]
def numbered(off: [int], xs: [f64]) = flatten([ [ x + real(i) : x in r; i in iota(length(r)) ] : r in split_offsets(xs, off) ])
";

/// The program, its elements beyond the caches if it has a few hundred bytes.
fn native(entry: &str, options: Options) -> Native {
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut SourceMap::new(), "rows.dk", PROGRAMS.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    Native::compile(&compiled.program, func, options).unwrap()
}

fn array<T: Number>(settings: &Settings, elements: &[T]) -> Data {
    Data::array(Data::copied(elements, &settings.pool, "data").unwrap())
}

/// The bits of all floats of a value.
fn bits(data: &Data) -> Vec<u64> {
    fn each<T: Plain>(b: &[T], bits: impl Fn(&T) -> u64) -> Vec<u64> {
        b.iter().map(bits).collect()
    }
    match data.form() {
        Form::Scalars(ty, b) => match ty.bytes() {
            4 => each(b.as_slice::<f32>(), |x| u64::from(x.to_bits())),
            _ => each(b.as_slice::<f64>(), |x| x.to_bits()),
        },
        Form::Equal(_, elem) | Form::Offsets(_, elem) => bits(elem),
        Form::Tuple(parts) => parts.iter().flat_map(bits).collect(),
    }
}

/// Offsets of rows of these lengths. The first elements belong to no row.
fn offsets(lengths: &[i64], unused: i64) -> Vec<i64> {
    let mut off = vec![unused];
    lengths.iter().for_each(|n| off.push(off[off.len() - 1] + n));
    off
}

/// What a program is called with: rows of these lengths, of numbers of which the first five are in no row.
fn args(entry: &str, s: &Settings, lengths: &[i64], numbers: &[f64], narrow: &[f32]) -> Vec<Data> {
    match entry {
        "given" | "given_halves" => {
            let off = s.pool.alloc_from(&offsets(lengths, 0), "off").unwrap();
            let elements = Data::copied(&numbers[5..], &s.pool, "data").unwrap();
            vec![Data::array(Data::rows(off, elements).unwrap())]
        }
        "scans" | "shares" | "sums_too" | "halves" => vec![array(s, &offsets(lengths, 5)), array(s, narrow)],
        _ => vec![array(s, &offsets(lengths, 5)), array(s, numbers)],
    }
}

/// Lengths around the borders of vectors, lines, stages and blocks.
fn shapes() -> Vec<Vec<i64>> {
    let borders = [0, 1, 15, 16, 17, 0, 31, 32, 33, 63, 64, 65, 0, 0, 7, 127, 128, 129];
    let few: Vec<i64> = (0..3000).map(|i| i * 7919 % 9).collect();
    let mixed: Vec<i64> = (0..1500).map(|i| borders[(i * 7919 % 18) as usize]).collect();
    let long = vec![3, 16384 + 5, 0, 1, 40_000, 15];
    let ones = vec![1; 700];
    let mut all: Vec<Vec<i64>> = vec![vec![], vec![0, 0, 0], borders.to_vec(), few, mixed, long, ones];
    all.extend((1..=20).map(|n| vec![n]));
    all
}

#[test]
fn rows_in_whole_lines_have_the_same_bits() {
    // Everything is large; the same with blocks of a few rows; lines of vectors of a few lanes; and all cuts small.
    let large = Cuts { non_temporal: 1, ..Cuts::default() };
    let blocks = Cuts { rows_in_block: 3, row_block: 40, worth: 1, long: 100, ..large };
    let narrow = Cuts { register: 16, lanes: 4, whole_lines: 3, ..blocks };
    for (k, cuts) in [large, blocks, narrow, Cuts { non_temporal: 1, ..Cuts::small() }].into_iter().enumerate() {
        for (i, entry) in ["scans", "exclusive", "shares", "both", "sums_too", "given"].into_iter().enumerate() {
            // Checked code finds what is stored outside of the arrays.
            let checked = (i + k) % 2 == 0;
            let with = |stores| Options { stores: Some(stores), cuts, checked, ..Options::default() };
            let [plain, lines] = [Stores::Anywhere, Stores::InLines].map(|s| native(entry, with(s)));
            assert!(lines.schedule().to_string().contains(" lines "), "{entry}: {}", lines.schedule());
            assert!(!plain.schedule().to_string().contains(" lines "), "{entry}");
            for lengths in shapes() {
                let total: i64 = lengths.iter().sum();
                let numbers: Vec<f64> = (0..total + 5).map(|i| (i * 7919 % 1013) as f64 * 0.37 - 90.0).collect();
                let narrow: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
                let run = |f: &Native, threads: usize| {
                    let s = if checked { Settings::checked(threads, None) } else { Settings::new(threads, None) };
                    bits(&f.call(args(entry, &s, &lengths, &numbers, &narrow), &s).unwrap())
                };
                let wanted = run(&plain, 1);
                for threads in [1, 2, 5] {
                    assert!(run(&lines, threads) == wanted, "{entry}, cuts {k}, {threads} threads, {lengths:?}");
                }
            }
        }
    }
}

#[test]
fn joined_rows_are_written_as_one() {
    let large = Cuts { non_temporal: 1, ..Cuts::default() };
    for (k, cuts) in [Cuts::default(), large, Cuts::small()].into_iter().enumerate() {
        for (i, entry) in ["halves", "both_halves", "given_halves", "numbered"].into_iter().enumerate() {
            let checked = (i + k) % 2 == 0;
            let f = native(entry, Options { cuts, checked, stores: Some(Stores::Anywhere), ..Options::default() });
            // Where an element is in its row is part of what is computed from it. Of elements in memory nothing says that they are in rows.
            let text = f.schedule().to_string();
            assert_eq!(text.contains("joined") || !text.contains("(ragged)"), entry != "numbered", "{text}");
            for lengths in shapes() {
                let total: i64 = lengths.iter().sum();
                let numbers: Vec<f64> = (0..total + 5).map(|i| (i * 7919 % 1013) as f64 * 0.25 - 90.0).collect();
                let narrow: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
                let used = &numbers[5..];
                let half = |x: &f64| (x * 0.5).to_bits();
                let single = |x: f32| u64::from(x.to_bits());
                let wanted: Vec<u64> = match entry {
                    "halves" => used.iter().map(|x| single(*x as f32 * 0.5 + 1.0)).collect(),
                    "given_halves" => used.iter().map(half).collect(),
                    "both_halves" => used.iter().map(half).chain(used.iter().map(|x| single(*x as f32))).collect(),
                    _ => {
                        let places = lengths.iter().flat_map(|n| 0..*n);
                        used.iter().zip(places).map(|(x, i)| (x + i as f64).to_bits()).collect()
                    }
                };
                for threads in [1, 2, 5] {
                    let s = if checked { Settings::checked(threads, None) } else { Settings::new(threads, None) };
                    let got = bits(&f.call(args(entry, &s, &lengths, &numbers, &narrow), &s).unwrap());
                    assert!(got == wanted, "{entry}, cuts {k}, {threads} threads, {lengths:?}");
                }
            }
        }
    }
}
