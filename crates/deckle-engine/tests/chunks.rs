//! Programs over sequences in chunks: in little memory, and with the same bits whatever the size of a chunk.

use deckle_diag::SourceMap;
use deckle_engine::{Chunks, Data, Native, Options, Settings};
use deckle_runtime::{Form, Plain};

const PROGRAMS: &str = "
// The greatest sum of a group: four elements, then a flag that ends it.
def groups(n: int) =
  let xs = { i * 7919 % 1000 : i in iota(n) | i % 5 != 4 }
  in max({ sum(g) : g in flagpart(xs, { i % 5 == 4 : i in iota(n) }) })

def floats(n: int) =
  let xs = { 1.0 / real(i + 1) : i in iota(n) | i % 3 != 0 }
  in (sum(xs), fold(\\a b -> a + b, 0.5, xs), length(xs), max(xs))

// Blocks are put together, or combined where they are computed: of little work, of much, of pairs, of small floats, of gathered ones, under a function of one's own.
def sums(n: int) =
  let table = [ 1.0 / real(k + 1) : k in iota(1000) ]
  in (sum({ 1.0 / real(i + 1) : i in iota(n) }),
      sum({ sin(real(i)) * exp(0.0 - real(i % 50)) + sqrt(real(i)) : i in iota(n) }),
      sum({ f32(i % 1000) * 0.1f32 : i in iota(n) }),
      sum({ table[i * 7919 % 1000] : i in iota(n) }),
      product({ 1.0 + 1.0 / real((i + 1) * (i + 3)) : i in iota(n) }),
      fold(\\a b -> a + b + a * b * 0.0000001, 0.0, { 1.0 / real(i + 1) : i in iota(n) }),
      fold1(\\a b -> a + b * 0.999, { real(i % 7) : i in iota(n) }),
      sum({ let x = real(i) * 0.001 in if i % 2 == 0 then x else 0.0 - x : i in iota(n) }))

def extremes(n: int) =
  let one = real(n) / real(n)
  in (max({ -one / 0.0 : i in iota(n) | i % 2 == 0 }),
      min({ one / 0.0 : i in iota(n) | i % 2 == 0 }),
      max({ if i == 3 then 0.0 / 0.0 else real(i) : i in iota(n) | i % 2 == 1 }),
      fold1(max, { 0 * i - 9223372036854775807 - 1 : i in iota(n) | i % 2 == 0 }))

def running(n: int) =
  let xs = { 1.0 / real(i + 1) : i in iota(n) | i % 3 != 0 }
  in tab(zip(scan(+, 0.5, xs), scan_incl(+, 0.5, xs)))

def vectors(n: int) =
  fold(\\a b -> [ x + y : x in a; y in b ], fill(0.0, 3), { [real(i), 1.0, 2.0] : i in iota(n) })

def kept(n: int) = tab({ (i, real(i) * 0.5) : i in iota(n) | i % 7 == 0 })

def behind(n: int) = sum({ x * y : x in { i : i in iota(2 * n) | i % 2 == 0 }; y in iota(n) })

def crossed(n: int) =
  sum({ x * y : x in { i : i in iota(n) | i < n / 2 }; y in { i : i in iota(n) | i >= n / 2 } })

def alternating(n: int) =
  sum({ x * y : x in { i : i in iota(n) | i % 2 == 0 }; y in { i : i in iota(n) | i % 2 == 1 } })

// What is gone through is chosen, twice; and whether anything is.
def chosen(n: int) =
  let xs = { i * 3 : i in iota(n) | i % 4 != 1 }
  let ys = if n % 2 == 0 then { x + 1 : x in xs } else { i : i in iota(n) | i % 3 == 0 }
  let zs = if n % 3 == 0 then ys else { -y : y in ys }
  in (sum(ys), length(zs), sum({ y * z % 1000 : y in ys; z in zs }), if n % 5 == 0 then max(xs) else 100 / (n % 5))

// Groups inside an element, of which one is large.
def inside(n: int) =
  tab({ let xs = { j * 7919 % 1000 : j in iota(i) | j % 5 != 4 }
        in (max({ sum(g) : g in flagpart(xs, { j % 5 == 4 : j in iota(i) }) }), sum({ 1.0 / real(x + 1) : x in xs }))
          : i in {5, 100, n, 10, 300} })

// Small groups, an empty one, and one that has nearly all elements.
def open(n: int) =
  tab({ (sum(g), length(g), sum({ 1.0 / real(x + 1) : x in g }))
          : g in flagpart({ i : i in iota(n + 9) | i != 0 }, { i == 2 || i == 3 || i == n + 6 || i == n + 11 : i in iota(n + 12) }) })

def both(n: int) = tab({ i : i in iota(n) } ++ { -i : i in iota(n) | i % 2 == 1 })
";

fn native(entry: &str, chunks: Chunks) -> Native {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "chunks.dk", PROGRAMS.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    Native::compile(&compiled.program, func, Options { chunks, ..Options::default() }).unwrap()
}

fn number(settings: &Settings, n: i64) -> Data {
    Data::copied(&[n], &settings.pool, "n").unwrap()
}

fn elements<T: Plain>(data: &Data) -> Vec<T> {
    match data.form() {
        Form::Scalars(_, b) => b.as_slice().to_vec(),
        Form::Equal(_, elem) => elements(elem),
        other => panic!("{other:?}"),
    }
}

fn parts(data: &Data) -> &[Data] {
    match data.form() {
        Form::Tuple(parts) => parts,
        Form::Equal(_, elem) => parts(elem),
        other => panic!("{other:?}"),
    }
}

/// Runs in chunks of several sizes, and of sizes that are found out, on one thread and on two, and gives the result, which all have in common.
fn on_all<R: PartialEq + std::fmt::Debug>(entry: &str, n: i64, sizes: &[i64], result: &dyn Fn(&Data) -> R) -> R {
    let native = native(entry, Chunks::Always);
    let mut first = None;
    let found_out = [None, None];
    for (k, chunk) in sizes.iter().copied().map(Some).chain(found_out).enumerate() {
        let settings = Settings { chunk, ..Settings::new(1 + k % 2, None) };
        let r = result(&native.call(vec![number(&settings, n)], &settings).unwrap());
        match &first {
            None => first = Some(r),
            Some(f) => assert_eq!(*f, r, "in chunks of {chunk:?}"),
        }
    }
    first.unwrap()
}

#[test]
fn groups_need_little_memory() {
    let n = 5_000_000;
    let budget = 24 << 20;
    let settings = Settings::new(2, Some(budget));
    let whole = native("groups", Chunks::Never).call(vec![number(&settings, n)], &settings);
    assert!(whole.unwrap_err().message.contains("memory"), "as a whole it needs more");
    let groups = (0..n / 5).map(|g| (0..4).map(|k| (5 * g + k) * 7919 % 1000).sum::<i64>());
    let native = native("groups", Chunks::Needed);
    let greatest = native.call(vec![number(&settings, n)], &settings).unwrap();
    assert_eq!(elements::<i64>(&greatest), [groups.max().unwrap()]);
    assert!(settings.pool.stats().peak <= budget);
}

#[test]
fn sums_of_floats_have_the_same_bits_for_every_size_of_a_chunk() {
    let sizes = [1 << 20, 32 << 10, 100_000, 3333, 64 << 10, 6 << 10];
    let (sum, folded, count, most) = on_all("floats", 200_000, &sizes, &|d| {
        let bits = |k: usize| elements::<f64>(&parts(d)[k])[0].to_bits();
        (bits(0), bits(1), elements::<i64>(&parts(d)[2])[0], bits(3))
    });
    let wanted: f64 = (0..200_000).filter(|i| i % 3 != 0).map(|i| 1.0 / f64::from(i + 1)).sum();
    assert!((f64::from_bits(sum) - wanted).abs() < 1e-11 * wanted);
    assert!((f64::from_bits(folded) - wanted - 0.5).abs() < 1e-11 * wanted);
    assert_eq!((count, f64::from_bits(most)), (133_333, 0.5));
}

#[test]
fn blocks_have_the_same_bits_wherever_they_are_combined() {
    let sizes = [1 << 20, 61, 777, 32_767, 32_768, 32_769, 80_000, 98_305];
    let n = 104_000;
    let bits = on_all("sums", n, &sizes, &|d| {
        let bits = |p: &Data| match p.form() {
            Form::Scalars(_, b) if b.len() == 4 => u64::from(b.as_slice::<u32>()[0]),
            _ => elements::<f64>(p)[0].to_bits(),
        };
        parts(d).iter().map(bits).collect::<Vec<_>>()
    });
    let wanted: f64 = (0..n).map(|i| 1.0 / (i + 1) as f64).sum();
    assert!((f64::from_bits(bits[0]) - wanted).abs() < 1e-11 * wanted);
    assert_eq!(bits.len(), 8);
}

#[test]
fn extremes_are_found_where_all_are_as_far_as_numbers_go() {
    let all = on_all("extremes", 50, &[1 << 20, 1, 7], &|d| {
        let of = |k: usize| elements::<f64>(&parts(d)[k])[0];
        (of(0), of(1), of(2).is_nan(), elements::<i64>(&parts(d)[3])[0])
    });
    assert_eq!(all, (f64::NEG_INFINITY, f64::INFINITY, true, i64::MIN));
    let settings = Settings::new(1, None);
    let failed = native("extremes", Chunks::Always).call(vec![number(&settings, 0)], &settings).unwrap_err();
    assert!(failed.message.contains("no elements"), "{}", failed.message);
}

#[test]
fn scans_of_floats_have_the_same_bits_for_every_size_of_a_chunk() {
    let sizes = [1 << 20, 32 << 10, 80_000, 3333, 64 << 10, 6 << 10];
    let count = 70_000;
    let (before, with) = on_all("running", 105_000, &sizes, &|d| {
        let bits = |k: usize| elements::<f64>(&parts(d)[k])[..count].iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        (bits(0), bits(1))
    });
    let mut sum = 0.5;
    for (k, i) in (0..105_000).filter(|i| i % 3 != 0).enumerate() {
        assert!((f64::from_bits(before[k]) - sum).abs() < 1e-11 * sum, "{k}");
        sum += 1.0 / f64::from(i + 1);
        assert!((f64::from_bits(with[k]) - sum).abs() < 1e-11 * sum, "{k}");
    }
}

#[test]
fn vectors_are_folded_one_after_another() {
    let sums = on_all("vectors", 3000, &[1, 7, 64, 1 << 20], &elements::<f64>);
    assert_eq!(sums[..3], [4_498_500.0, 3000.0, 6000.0]);
}

#[test]
fn a_condition_may_choose_what_is_gone_through() {
    for n in [0, 1, 30_000, 30_001, 30_002, 30_003] {
        if n == 0 {
            let settings = Settings::new(1, None);
            let failed = native("chosen", Chunks::Always).call(vec![number(&settings, n)], &settings).unwrap_err();
            assert!(failed.message.contains("no elements"), "{}", failed.message);
            continue;
        }
        let xs: Vec<i64> = (0..n).filter(|i| i % 4 != 1).map(|i| i * 3).collect();
        let ys: Vec<i64> =
            if n % 2 == 0 { xs.iter().map(|x| x + 1).collect() } else { (0..n).filter(|i| i % 3 == 0).collect() };
        let zs: Vec<i64> = if n % 3 == 0 { ys.clone() } else { ys.iter().map(|y| -y).collect() };
        let products = ys.iter().zip(&zs).map(|(y, z)| y * z % 1000).sum();
        let most = if n % 5 == 0 { *xs.iter().max().unwrap() } else { 100 / (n % 5) };
        let wanted = [ys.iter().sum(), zs.len() as i64, products, most];
        let all = on_all("chosen", n, &[1 << 20, 7, 1000], &|d| {
            parts(d).iter().map(|p| elements::<i64>(p)[0]).collect::<Vec<_>>()
        });
        assert_eq!(all, wanted, "{n}");
    }
    let (n, budget) = (5_000_000, 24 << 20);
    let settings = Settings::new(2, Some(budget));
    let [whole, chunks] = [Chunks::Never, Chunks::Needed].map(|c| native("chosen", c));
    assert!(whole.call(vec![number(&settings, n)], &settings).unwrap_err().message.contains("memory"));
    chunks.call(vec![number(&settings, n)], &settings).unwrap();
    assert!(settings.pool.stats().peak <= budget);
}

#[test]
fn what_is_inside_a_large_element_is_gone_through_in_chunks_too() {
    let (n, budget) = (5_000_000, 24 << 20);
    let settings = Settings::new(2, Some(budget));
    let whole = native("inside", Chunks::Never).call(vec![number(&settings, n)], &settings);
    assert!(whole.unwrap_err().message.contains("memory"), "as a whole it needs more");
    let all = on_all("inside", n, &[1 << 20, 1, 2], &|d| {
        let sums = elements::<f64>(&parts(d)[1])[..5].to_vec();
        (elements::<i64>(&parts(d)[0])[..5].to_vec(), sums.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
    });
    for (k, i) in [5, 100, n, 10, 300].into_iter().enumerate() {
        let xs: Vec<i64> = (0..i).filter(|j| j % 5 != 4).map(|j| j * 7919 % 1000).collect();
        assert_eq!(all.0[k], xs.chunks(4).map(|g| g.iter().sum()).max().unwrap());
        let sum: f64 = xs.iter().map(|x| 1.0 / (x + 1) as f64).sum();
        assert!((f64::from_bits(all.1[k]) - sum).abs() <= 1e-11 * sum, "{i}");
    }
    native("inside", Chunks::Needed).call(vec![number(&settings, n)], &settings).unwrap();
    assert!(settings.pool.stats().peak <= budget);
}

#[test]
fn a_group_may_be_larger_than_memory() {
    let (n, budget) = (4_000_000, 24 << 20);
    let settings = Settings::new(2, Some(budget));
    let whole = native("open", Chunks::Never).call(vec![number(&settings, n)], &settings);
    assert!(whole.unwrap_err().message.contains("memory"), "as a whole it needs more");
    // All of it in one chunk, the end in another, and much less.
    let all = on_all("open", n, &[5_000_000, 3_999_999, 100_000, 1 << 20], &|d| {
        let numbers = |k: usize| elements::<i64>(&parts(d)[k])[..4].to_vec();
        (numbers(0), numbers(1), elements::<f64>(&parts(d)[2])[..4].iter().map(|x| x.to_bits()).collect::<Vec<_>>())
    });
    let groups = [1..3, 3..3, 3..n + 5, n + 5..n + 9];
    assert_eq!(all.0, groups.clone().map(|g| g.sum::<i64>()));
    assert_eq!(all.1, groups.clone().map(|g| g.end - g.start));
    for (bits, g) in all.2.iter().zip(groups) {
        let sum: f64 = g.map(|x| 1.0 / (x + 1) as f64).sum();
        assert!((f64::from_bits(*bits) - sum).abs() <= 1e-11 * sum);
    }
    let native = native("open", Chunks::Needed);
    let at_first = native.compiled_kernels();
    native.call(vec![number(&settings, 50)], &settings).unwrap();
    assert!(native.compiled_kernels() < native.kernels(), "there is code for what did not happen");
    native.call(vec![number(&settings, n)], &settings).unwrap();
    assert!(at_first < native.compiled_kernels());
    assert!(settings.pool.stats().peak <= budget);
}

#[test]
fn what_is_kept_is_all_there() {
    let n = 30_000;
    let count = (n as usize).div_ceil(7);
    let (places, halves) = on_all("kept", n, &[1 << 20, 1, 7, 1000], &|d| {
        let p = parts(d);
        assert!(matches!(d.form(), Form::Equal(n, _) if *n == count));
        (elements::<i64>(&p[0])[..count].to_vec(), elements::<f64>(&p[1])[..count].to_vec())
    });
    assert!((0..count).all(|k| places[k] == 7 * k as i64 && halves[k] == 3.5 * k as f64));
}

#[test]
fn one_sequence_follows_another() {
    let n = 10_000;
    let sum = on_all("behind", n, &[1 << 20, 1, 7, 64, 4096], &|d| elements::<i64>(d)[0]);
    assert_eq!(sum, (0..n).map(|k| 2 * k * k).sum::<i64>());
}

#[test]
fn one_sequence_comes_after_another() {
    let n = 10_000;
    let all = on_all("both", n, &[1 << 20, 1, 7, 64, 4096], &elements::<i64>);
    let wanted: Vec<i64> = (0..n).chain((0..n).filter(|i| i % 2 == 1).map(|i| -i)).collect();
    assert_eq!(all, wanted);
}

#[test]
fn two_filters_wait_for_each_other() {
    let n = 30_000;
    // One leaves its elements at the beginning, the other at the end.
    let sum = on_all("crossed", n, &[1 << 20, 1, 7, 64, 4096], &|d| elements::<i64>(d)[0]);
    let wanted: i64 = (0..n / 2).map(|i| i * (n / 2 + i)).sum();
    assert_eq!(sum, wanted);
    let settings = Settings { chunk: Some(64), ..Settings::new(2, None) };
    let native = native("alternating", Chunks::Needed);
    let result = native.call(vec![number(&settings, 1_000_000)], &settings).unwrap();
    assert_eq!(elements::<i64>(&result), [(0..500_000i64).map(|i| 2 * i * (2 * i + 1)).sum::<i64>()]);
    assert!(settings.pool.stats().peak < 1 << 20, "{:?}", settings.pool.stats());
}
