//! How long it takes to check a script of 2,000 lines: compiling it, deciding whether it can be streamed, and what else is decided
//! before a run. Prints one JSON line. The mark is 100 ms for compiling and streamability together, which is what `deckle check` does.

use deckle_analysis::{cost, regularity, stream};
use deckle_diag::SourceMap;
use deckle_lower::simplify;
use std::time::Instant;

/// A page of a script, with `#` for its number: arrays, sequences, loops, records and calls.
const PAGE: &str = "
type point# = { x: real, y: real }

/// The distance of two points.
def distance#(p: point#, q: point#) =
  let dx = p.x - q.x
  let dy = p.y - q.y
  in sqrt(dx * dx + dy * dy)

def logs#(n: int) = { log(real(x + 1)) : x in iota(n) }

def spread#(n: int) =
  let s = logs#(n)
  let m = sum(s)
  in sum({ x * x : x in s }) + real(length(s)) * m

def rows#(off: [int; n + 1], val: [real; k], x: [real]) =
  [ sum({ v * v : v in row }) + max(x) : row in split_offsets(val, off) ]

def nearest#(ps: [point#], qs: [point#]) =
  [ argmin([ distance#(p, q) : q in qs ]) : p in ps ]

def words#(text: {u8}) =
  let letters = { c : c in text | c != 32 }
  let flags = { c == 32 : c in text } ++ {true}
  in { length(w) : w in flagpart(letters, flags) }

def settle#(xs: [real; n], rounds: int) =
  loop ys = xs for r < rounds do
    [ 0.5 * (ys[max(0, i - 1)] + ys[min(length(ys) - 1, i + 1)]) : i in 0..<length(ys) ]

def main#(xs: [real; n], off: [int], text: {u8}, ps: [point#]) =
  let table = histogram(+, 0, 16, [ i % 16 : i in 0..<n ], fill(1, n))
  let near = nearest#(ps, ps)
  in (sum(settle#(xs, 3)), table, near, sum(words#(text)), spread#(length(off)))
";

fn main() {
    let mut script = String::new();
    for page in 0.. {
        if script.lines().count() >= 2000 {
            break;
        }
        script += &PAGE.replace('#', &page.to_string());
    }
    let mut best = [f64::INFINITY; 5];
    for _ in 0..9 {
        let mut sources = SourceMap::new();
        let mut seconds = [0.0; 5];
        let start = Instant::now();
        let compiled = deckle_syntax::compile(&mut sources, "bench.dk", script.clone().into_bytes(), &mut |_, _| {
            Err(String::new())
        });
        let program = compiled.expect("a program").program;
        seconds[0] = start.elapsed().as_secs_f64();
        let mut time = |k: usize, f: &mut dyn FnMut()| {
            let start = Instant::now();
            f();
            seconds[k] = start.elapsed().as_secs_f64();
        };
        time(1, &mut || assert!(stream::check(&program, &sources, None).is_empty()));
        time(2, &mut || drop(program.funcs.iter().map(regularity::decide).collect::<Vec<_>>()));
        time(3, &mut || drop(cost::predict(&program)));
        time(4, &mut || drop(simplify::simplify(&program)));
        best.iter_mut().zip(seconds).for_each(|(b, s)| *b = b.min(s));
    }
    let [compile, streams, lifting, cost, simple] = best.map(|s| s * 1e3);
    println!(
        "{{\"benchmark\":\"check\",\"lines\":{},\"check_ms\":{:.1},\"compile_ms\":{compile:.1},\"streams_ms\":{streams:.1},\"regularity_ms\":{lifting:.1},\"cost_ms\":{cost:.1},\"simplify_ms\":{simple:.1}}}",
        script.lines().count(),
        compile + streams,
    );
}
