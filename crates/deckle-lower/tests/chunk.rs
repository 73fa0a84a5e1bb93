//! A program in chunks gives what it gives as a whole, whatever the size of a chunk: in the interpreter, on random programs.
//!
//! New programs on every run: see `deckle_gen::sweep`.

use deckle_diag::{Code, Diagnostic};
use deckle_gen::sweep::{Sweep, number};
use deckle_gen::{Case, Config};
use deckle_interp::{Options, run};
use deckle_ir::array::{parse, verify};
use deckle_ir::entity::Func;
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_lower::chunk::{Chunked, Unchunked, chunk};
use deckle_lower::cuts::Cuts;
use deckle_lower::simplify::simplify;
use std::collections::BTreeMap;
use std::sync::Mutex;

type Run = Result<Value, Box<Diagnostic>>;

fn in_chunks(case: &Case, size: i64) -> Option<Run> {
    let simple = simplify(&case.program);
    let result = simple.funcs[case.entry.index()].result_type();
    let Chunked { program: chunked, sizes, pushes } = match chunk(&simple, case.entry, cuts(size)) {
        Ok(chunked) => chunked?,
        Err(Unchunked::Whole(_)) => return None,
        Err(Unchunked::Bug(d)) => return Some(Err(d)),
    };
    let func = chunked.funcs.len() - 1;
    assert_eq!(parse(&chunked.to_string()).unwrap().to_string(), chunked.to_string());
    verify(&chunked).unwrap_or_else(|e| panic!("{e:?}\n{simple}\n{chunked}"));
    let mut args = case.args.clone();
    for (k, n) in [(sizes.chunk, size), (sizes.inside, size.min(9))] {
        args.insert(k, Value::Scalar(Scalar::I64(n)));
    }
    let outcome = run(&chunked, Func(func as u32), &args, &limits());
    Some(outcome.map(|o| given(&o.value, result, &o.pushed, &mut pushes.into_iter())))
}

/// Small elements and groups are large, too.
fn cuts(size: i64) -> Cuts {
    if size == i64::MAX { Cuts::default() } else { Cuts { large: size.min(4), ..Cuts::small() } }
}

/// The result, with the elements that were handed over where it says how many there were.
fn given(value: &Value, ty: &Type, pushed: &[Vec<Value>], pushes: &mut dyn Iterator<Item = u32>) -> Value {
    match ty {
        Type::Seq(elem) => {
            let all = pushed.get(pushes.next().unwrap() as usize).map_or(&[][..], |all| all);
            assert_eq!(*value, Value::int(all.len() as i64));
            Value::seq(all.iter().map(|v| streamed(v, elem)).collect())
        }
        _ if ty.is_concrete() => value.clone(),
        _ => {
            let parts = value.parts().unwrap().iter().zip(ty.parts().unwrap());
            Value::tuple(parts.map(|(v, t)| given(v, t, pushed, pushes)).collect())
        }
    }
}

/// A value with sequences where the type has them.
fn streamed(value: &Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Tuple(parts), _) => {
            Value::tuple(parts.iter().zip(ty.parts().unwrap()).map(|(v, t)| streamed(v, t)).collect())
        }
        (Value::Array(items) | Value::Seq(items), _) => {
            let all = items.iter().map(|v| streamed(v, ty.elem().unwrap())).collect();
            if ty.is_seq() { Value::seq(all) } else { Value::array(all) }
        }
        _ => value.clone(),
    }
}

fn limits() -> Options {
    Options { max_steps: Some(400_000), max_elements: 40_000, ..Options::default() }
}

/// What is wrong with a case, if anything is.
fn wrong(case: &Case) -> Option<String> {
    let whole = run(&case.program, case.entry, &case.args, &limits()).map(|o| o.value);
    for size in [1, 2, 7, 64, i64::MAX] {
        let chunked = in_chunks(case, size)?;
        let fine = match (&whole, &chunked) {
            (Err(e), _) | (_, Err(e)) if e.code == Code::LimitExceeded => true,
            (Ok(a), Ok(b)) => a == b || format!("{a:?}") == format!("{b:?}"),
            // Of several errors another one may come first.
            (Err(_), Err(b)) => b.code != Code::Internal,
            _ => false,
        };
        if !fine {
            return Some(format!("in chunks of {size}: {chunked:?}\nas a whole: {whole:?}"));
        }
    }
    None
}

/// Elements inside which sequences wait for each other: each program is of one number.
const INSIDE: &str = "
def sizes(n: int) = { k * 5 % 35 : k in iota(n) | k % 3 != 2 }

def groups(n: int) =
  { let xs = { j * 7919 % 100 : j in iota(i) | j % 5 != 4 }
    in sum({ sum(g) * length(g) : g in flagpart(xs, { j % 5 == 4 : j in iota(i) }) }) : i in sizes(n) }

def follows(n: int) =
  { (i, sum({ x * y : x in { j : j in iota(2 * i) | j % 2 == 0 }; y in iota(i) })) : i in sizes(n) }

def vectors(n: int) =
  { tab({ x + y : x in { j : j in iota(i) | j % 2 == 0 }; y in { j : j in iota(i) | j % 2 == i % 2 } })
      : i in { 2 * k : k in sizes(n) } }

def chosen(n: int) =
  { let xs = if i % 2 == 0 then { j * j : j in iota(i) | j % 3 == 0 } else iota((i + 2) / 3)
    in sum({ x - y : x in xs; y in { j : j in iota(i) | j % 3 == 0 } }) : i in sizes(n) }

def deeper(n: int) =
  { sum({ x * sum({ a * b : a in { k : k in iota(2 * j) | k % 2 == 1 }; b in iota(j) })
          : x in { j : j in iota(i) | j % 3 == 1 }; j in iota((i + 1) / 3) }) : i in sizes(n) }

def uneven(n: int) = sum({ sum({ x + y : x in { j : j in iota(i) | j % 2 == 0 }; y in iota(i / 2) }) : i in sizes(n) })

def flattened(n: int) =
  flatten({ let xs = { j * 7919 % 100 : j in iota(i) | j % 5 != 4 }
            in { sum(g) * i : g in flagpart(xs, { j % 5 == 4 : j in iota(i) }) } : i in sizes(n) })

def summed(n: int) =
  let all = flatten({ { (x * y, i) : x in { j : j in iota(2 * i) | j % 2 == 0 }; y in iota(i) } : i in sizes(n) })
  in (sum({ a + b : (a, b) in all }), length(all))

def of_vectors(n: int) =
  { sum({ sum(g) * v[0] : g in flagpart(seq(v), flatten({ if x % 3 == 0 then {false, true} else {false} : x in seq(v) })) })
      : v in { [ (k + j) * j : j in iota(k % 9) ] ++ [0] : k in iota(n) } }
";

/// Groups, some of them large. Elements come as flags do, before them or after them; some have no end, or no elements.
const GROUPS: &str = "
def flags(n: int) = flatten({ if i * i % 37 < 3 then {false, true} else {false} : i in iota(n) }) ++ {true}
def values(n: int) = { i * 3 % 11 : i in iota(n) }

def several(n: int) =
  { (sum(g), length(g) * n, sum({ x * x : x in g | x % 2 == 0 })) : g in flagpart(values(n), flags(n)) }

def twice(n: int) =
  let gs = flagpart(values(n), flags(n))
  in (sum({ sum(g) * length(g) : g in gs }), sum({ let m = n * n in fold(max, m, g) + length(g) : g in gs }))

def late_flags(n: int) =
  { sum(g) : g in flagpart(values(n), { false : i in iota(n / 2) } ++ { i % 5 == 4 : i in iota(n) | n % 2 == 0 } ++ {true}) }

def late_values(n: int) =
  { (length(g), tab(g)) : g in flagpart({ i : i in iota(3 * n) | i >= 2 * n }, flags(n)) }

def unended(n: int) = { sum(g) : g in flagpart(values(n), flatten({ {i % 9 == 8, false} : i in iota(n) })) }

def too_few(n: int) = sum({ sum(g) : g in flagpart(values(n - 1), flags(n)) })

def scanned(n: int) = { sum({ x * y : x in scan(+, 1, g); y in g }) : g in flagpart(values(n), flags(n)) }
";

/// Functions that others call, with sizes in their sequences, and scans without a start.
const SIMPLER: &str = "
def rows(vs: {[int]}) = { sum(v) * length(v) : v in vs }
def pairs(vs: {[int; 2]}) = { v[0] - v[1] : v in vs }

def called(n: int) = sum(rows({ iota(k % 5) : k in iota(n) | k % 3 != 0 })) - sum(rows({ [k, 2 * k] : k in iota(n) }))
def told(n: int) = sum(pairs({ [k * k, n] : k in iota(n) | k % 3 != 0 }))
def inside(n: int) = { sum(rows({ iota(j) : j in iota(k) | j % 2 == 1 })) : k in iota(n % 12) }

def three(n: int) =
  sum({ x * y - z * w : x in { i : i in iota(2 * n) | i >= n }; y in { i : i in iota(3 * n) | i % 3 == 1 };
                        z in { i : i in iota(2 * n) | i < n }; w in iota(n) })
def uneven(n: int) =
  { (x, y, z) : x in { i : i in iota(n) | i % 2 == 0 }; y in { i : i in iota(n) | i % 2 == 1 }; z in { i : i in iota(n) | i < n / 2 } }

def joined(n: int) =
  let all = flatten({ { k : k in iota(n) | k % 2 == 0 }, iota(n), {7, n} })
  in (sum(all), length(all), tab(flatten({ { k * k : k in iota(n) } })))

def running(n: int) =
  let xs = { k * 5 % 13 - 6 : k in iota(n) | k % 4 != 3 }
  in (tab(scan_incl(+, xs)), tab(scan_incl(max, xs)), tab(scan_incl(min, { f32(x) : x in xs })))
";

/// Holds the functions of a file, but for these, against themselves in chunks.
fn in_chunks_and_as_a_whole(text: &str, helpers: &[&str], has_large: bool, numbers: &[i64]) {
    let mut sources = deckle_diag::SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "inside.dk", text.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    for entry in compiled.entries.iter().filter(|e| !helpers.contains(&&*e.name)) {
        let simple = simplify(&compiled.program);
        let in_chunks = |cuts| chunk(&simple, entry.func, cuts).unwrap().unwrap();
        let (usual, few) = (Cuts::default(), Cuts { large: 1, ..Cuts::default() });
        assert_eq!(in_chunks(few) != in_chunks(usual), has_large, "whether something in {} is large", entry.name);
        for n in numbers {
            let case =
                Case { program: compiled.program.clone(), entry: entry.func, args: vec![Value::int(*n)], seed: 0 };
            if let Some(fault) = wrong(&case) {
                panic!("{} of {n}: {fault}", entry.name);
            }
        }
    }
}

#[test]
fn elements_inside_which_much_is_gone_through_are_taken_in_runs_or_alone() {
    in_chunks_and_as_a_whole(INSIDE, &["sizes"], true, &[0, 1, 2, 7, 40]);
}

#[test]
fn groups_may_be_larger_than_what_is_kept() {
    in_chunks_and_as_a_whole(GROUPS, &["flags", "values"], true, &[0, 1, 2, 9, 30, 77]);
}

#[test]
fn what_is_wrong_with_flags_is_said_as_of_the_whole() {
    let mut sources = deckle_diag::SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "groups.dk", GROUPS.as_bytes().to_vec(), &mut load).unwrap();
    for name in ["too_few", "unended"] {
        let entry = compiled.entries.iter().find(|e| e.name == name).unwrap().func;
        for n in [2, 30, 77] {
            let case = Case { program: compiled.program.clone(), entry, args: vec![Value::int(n)], seed: 0 };
            let whole = run(&case.program, entry, &case.args, &limits()).unwrap_err();
            for size in [1, 2, 7, 64, i64::MAX] {
                let chunked = in_chunks(&case, size).unwrap().unwrap_err();
                assert_eq!(chunked.message, whole.message, "{name} of {n} in chunks of {size}");
            }
        }
    }
}

#[test]
fn a_parameter_that_is_a_result_is_gone_through_in_either_branch() {
    // What can fail keeps the branches apart.
    let text = "fn main [n0] (v0 a: [bool; n0], v1 b: bool, v2 c: {i64}) -> {i64} {
  v6: {i64} = if(v1) ^1() {
    v3: i64 = const<0i64>()
    v4: [i64; 2] = array<i64>(v3, v3)
    v5: [i0 -> [bool; v4[i0]]; 2] = split<lengths>(v0, v4)
    v2
  } ^2() {
    v2
  }
  v2
}";
    let program = parse(text).unwrap();
    let numbers = Value::seq([3, 1, 2].map(Value::int).to_vec());
    let args = vec![Value::array(Vec::new()), Value::bool(true), numbers];
    let case = Case { program, entry: Func(0), args, seed: 0 };
    assert!(in_chunks(&case, 2).is_some());
    assert_eq!(wrong(&case), None);
}

#[test]
fn what_a_traversal_decides_cannot_choose_it() {
    let text = "def first(s: {int}) = if empty(s) then 0 else max(s)";
    let mut sources = deckle_diag::SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "first.dk", text.as_bytes().to_vec(), &mut load).unwrap();
    let chunked = chunk(&simplify(&compiled.program), compiled.entries[0].func, Cuts::default());
    let Err(Unchunked::Whole(whole)) = chunked else { panic!("{chunked:?}") };
    assert_eq!(whole.why, "it needs a result of a traversal before that ends");
}

#[test]
fn calls_are_written_out_and_scans_get_a_start() {
    in_chunks_and_as_a_whole(SIMPLER, &["rows", "pairs"], false, &[0, 1, 2, 9, 30]);
}

#[test]
fn random_programs_give_the_same_in_chunks() {
    // Floats are added in another order.
    let config = Config { float_sums: false, ..Config::default() };
    let seen = Mutex::new(BTreeMap::<String, usize>::new());
    let name = "random_programs_give_the_same_in_chunks";
    let sweep = Sweep { test: ["deckle-lower", "chunk", name], config: &config, cases: 4000, of: 4000, threads: 2 };
    sweep.run(&|case| {
        let simple = simplify(&case.program);
        let what = match chunk(&simple, case.entry, Cuts::default()) {
            Ok(Some(c)) => match chunk(&simple, case.entry, Cuts { large: 1, ..Cuts::default() }) {
                Ok(Some(few)) if few == c => "in chunks".to_string(),
                _ => "in chunks and runs".to_string(),
            },
            Ok(None) => "no sequences".to_string(),
            Err(Unchunked::Whole(whole)) => whole.why,
            Err(Unchunked::Bug(d)) => return Err(d.message),
        };
        *seen.lock().unwrap().entry(what).or_default() += 1;
        wrong(case).map_or(Ok(()), Err)
    });
    let seen = seen.into_inner().unwrap();
    println!("{seen:#?}");
    assert!(number("DECKLE_SEED").is_some() || seen.get("in chunks").is_some_and(|n| *n > 100), "{seen:#?}");
}
