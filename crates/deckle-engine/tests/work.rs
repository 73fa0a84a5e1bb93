//! Work is held to the cost model: the rounds of all loops of compiled code, which checked mode counts, stay within a constant of the work that the
//! interpreter meters, on programs that once did not, at growing sizes, and on random ones.

use deckle_diag::SourceMap;
use deckle_engine::{Chunks, Native, Options, Settings};
use deckle_gen::Config;
use deckle_gen::sweep::Sweep;
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;
use std::sync::atomic::Ordering::Relaxed;

/// So many rounds for each unit of work. A filter is counted, then written; a row of one element is a round of its row, one of its elements, and those that add up
/// offsets.
const ROUNDS: u64 = 8;
/// So many beside: what a program does once, however little there is to do.
const FIXED: u64 = 2000;

/// How many rounds native code takes; nothing if it fails.
fn rounds(program: &Program, func: Func, args: &[Value], chunks: Chunks) -> Option<u64> {
    let options = Options { checked: true, chunks, ..Options::default() };
    let native = Native::compile(program, func, options).unwrap();
    let settings = Settings::checked(2, Some(1 << 30));
    native.run(args, &settings).ok()?;
    Some(settings.progress.rounds.load(Relaxed))
}

/// The work that the interpreter meters; nothing if the program fails, or works for long.
fn work(program: &Program, func: Func, args: &[Value]) -> Option<u64> {
    let limits = deckle_interp::Options { max_steps: Some(20_000_000), ..Default::default() };
    Some(deckle_interp::run(program, func, args, &limits).ok()?.cost.work)
}

const PROGRAMS: &str = r"
def norm(r: [real]) = let s = sum(r) in [ v / s : v in r ]
def xs(n: int) = [ real(i % 97) + 1.0 : i in iota(n) ]
def branch(n: int) = sum([ sum(q) : q in [ if empty(r) then r else norm(r) : r in split(xs(n), [n / 2, n - n / 2]) ] ])
def rounds(n: int) = sum([ sum(q) : q in [ loop s = r for k < 3 do norm(s) : r in split(xs(n), [n / 2, n - n / 2]) ] ])
def cum(v: [real]) = scan_incl(+, v)
def chunks(n: int) = let p = cum(xs(n)) in sum({ p[t] * p[t + 1] : t in iota(n - 1) })
def scatter_rows(n: int) = length(scatter(replicate(n, [0, 0, 0]), [ i * 7 % n : i in iota(n) ], [ [i, i, i] : i in iota(n) ]))
def scatter_ragged(n: int) = length(scatter([ iota(i % 3) : i in iota(n) ], [ i * 7 % n : i in iota(n) ], [ iota(i % 5) : i in iota(n) ]))
def scan_rows(n: int) = length(scan_incl(\x y -> map(+, x, y), [0, 0, 0], replicate(n, [1, 2, 3])))
def product(n: int) =
  let a = generate(n / 40, 40, \i j -> real(i * 7 + j) / 3.0)
  let b = generate(40, 40, \i j -> real(i - j * 2))
  in [ [ sum([ a[i, k] * b[k, j] : k in iota(40) ]) : j in iota(40) ] : i in iota(n / 40) ]
def filters(n: int) = length([ x : x in xs(n); y in scan_incl(max, xs(n)) | x >= y ])
def groups(n: int) = length(group_by(\i -> i % 10, iota(n)))
";

fn compiled(entry: &str) -> (Program, Func) {
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let text = PROGRAMS.as_bytes().to_vec();
    let compiled = deckle_syntax::compile(&mut SourceMap::new(), "work.dk", text, &mut load);
    let compiled = compiled.unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    (compiled.program, func)
}

#[test]
fn programs_take_as_many_rounds_as_they_have_work_at_growing_sizes() {
    let entries =
        ["branch", "rounds", "chunks", "scatter_rows", "scatter_ragged", "scan_rows", "product", "filters", "groups"];
    for entry in entries {
        let (program, func) = compiled(entry);
        for n in [200, 2000, 20_000] {
            let args = [Value::Scalar(Scalar::I64(n))];
            let work = work(&program, func, &args).unwrap();
            for chunks in [Chunks::Needed, Chunks::Always] {
                let rounds = rounds(&program, func, &args, chunks).unwrap();
                assert!(rounds <= ROUNDS * work + FIXED, "{entry} of {n}, {chunks:?}: {rounds} rounds, {work} work");
            }
        }
    }
}

#[test]
fn random_programs_take_as_many_rounds_as_they_have_work() {
    let config = Config::default();
    let sweep = Sweep { test: ["deckle-engine", "work", "random"], config: &config, cases: 150, of: 150, threads: 2 };
    sweep.run(&|case| {
        let Some(work) = work(&case.program, case.entry, &case.args) else { return Ok(()) };
        for chunks in [Chunks::Needed, Chunks::Always] {
            let Some(rounds) = rounds(&case.program, case.entry, &case.args, chunks) else { continue };
            if rounds > ROUNDS * work + FIXED {
                return Err(format!("{rounds} rounds, but {work} units of work, with {chunks:?}"));
            }
        }
        Ok(())
    });
}
