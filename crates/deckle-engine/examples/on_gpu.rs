//! Programs on a GPU, each compared with the interpreter, then some that are timed.
//!
//! `on_gpu` compiles and runs them. `on_gpu ptx DIR` only writes what would be run, for `on_gpu run DIR` on a machine without LLVM.
//! Where there is no GPU it says so, which is a success too.

use deckle_diag::SourceMap;
use deckle_engine::{Callable, Chunks, Gpu, Input, Layout, On, Options, RanOn, Settings, pipeline};
use deckle_io::tree;
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::value::Value;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn options() -> Options {
    Options { chunks: Chunks::Never, ..Options::default() }
}

const PROGRAMS: &str = r#"
def dot(xs: [f64; n], ys: [f64; n]) = sum({ x * y : x in xs; y in ys })
def saxpy(a: f32, xs: [f32; n], ys: [f32; n]) = [ a * x + y : x in xs; y in ys ]
def extremes(xs: [f64]) = (min(xs), max(xs), sum(xs))
def matrices(n: int) =
  fold(\(a, b, c, d) (e, f, g, h) -> (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h), (1, 0, 0, 1),
       [ (i, i + 1, 1, 2 * i) : i in iota(n) ])
def counts(keys: [int], bins: int) = histogram(+, 0u32, bins, keys, fill(1u32, length(keys)))
def weights(keys: [int; n], xs: [f64; n], bins: int) = histogram(+, 0.0, bins, keys, xs)
def rows(xss: [[f64]]) = [ sum(xs) : xs in xss ]
def shares(xss: [[f64]]) = [ let s = sum(xs) in [ x / s : x in xs ] : xs in xss ]
def spmv(off: [int], cols: [int; nnz], vals: [f64; nnz], x: [f64]) =
  [ sum({ v * x[j] : (j, v) in row }) : row in split_offsets(zip(cols, vals), off) ]
def sums(xs: [int]) = scan_incl(+, xs)
def small(xs: [int]) = [ x : x in xs | x % 3 == 0 ]
def primes(n: int) =
  let few = [ p : p in 2..int(sqrt(real(n))) | !any({ p % d == 0 : d in 2..int(sqrt(real(p))) }) ]
  let prime = scatter(fill(true, n), expand(\p -> (n - 1) / p - 1, \p i -> p * (i + 2), few), fill(false, sum([ (n - 1) / p - 1 : p in few ])))
  in [ i : i in 2..<n | prime[i] ]
def escape(cx: real, cy: real, limit: int) =
  let (x, y, n) = loop (x, y, n) = (0.0, 0.0, 0) while n < limit && x * x + y * y <= 4.0 do
    (x * x - y * y + cx, 2 * x * y + cy, n + 1)
  in n
def mandelbrot(width: int, height: int, limit: int) =
  generate(height, width, \j i -> escape(-2.2 + 3.2 * real(i) / real(width), -1.2 + 2.4 * real(j) / real(height), limit))
def inside(width: int, height: int, limit: int) = sum(flatten(mandelbrot(width, height, limit)))
def ordered(xs: [f64]) = sort(xs)
def added(xs: [f64; n], xss: [f64; n, m]) = [ x + sum(row) * x : x in xs; row in xss ]
def halved(xs: [f64], rounds: int) = loop ys = xs for i < rounds do [ y * 0.5 + 1.0 : y in ys ]
def placed(xs: [int], rounds: int) = loop ys = xs for i < rounds do scatter(ys, [i, 2 * i], [i * i, ys[0]])
def marked(xs: [int], rounds: int) = loop ys = xs for i < rounds do scatter(ys, [i, 2 * i], [i * i, i])
def broken(xs: [int], at: [int]) = [ xs[i] : i in at ]
def logsum(n: int) = sum({ log(f64(i)) : i in 1..n })
def halves(n: int) = sum({ f32(i) * 0.5f32 : i in 1..n })
"#;

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn below(&mut self, n: u64) -> i64 {
        (self.next() % n) as i64
    }

    fn ints(&mut self, n: usize, below: u64) -> Value {
        Value::array((0..n).map(|_| int(self.below(below))).collect())
    }

    fn floats(&mut self, n: usize, ty: ScalarType) -> Value {
        let one = |r: &mut Numbers| Value::Scalar(Scalar::F64(r.below(1 << 20) as f64 / 1e6 - 0.3).cast(ty));
        Value::array((0..n).map(|_| one(self)).collect())
    }

    /// Mostly short rows, some without elements, and a long one.
    fn rows(&mut self, n: usize) -> Value {
        let length = |r: &mut Numbers, i: usize| if i == n / 2 { 5000 } else { r.below(30).max(5) as usize - 5 };
        Value::array(
            (0..n)
                .map(|i| {
                    let k = length(self, i);
                    self.floats(k, ScalarType::F64)
                })
                .collect(),
        )
    }
}

fn int(n: i64) -> Value {
    Value::Scalar(Scalar::I64(n))
}

/// The programs that are compared, with their arguments.
fn compared() -> Vec<(&'static str, Vec<Value>)> {
    let mut r = Numbers(1);
    let (f32s, f64s) = (ScalarType::F32, ScalarType::F64);
    let n = 100_000;
    let mut off = vec![0];
    (0..3000).for_each(|_| off.push(off.last().copied().unwrap_or(0) + r.below(40)));
    let nnz = off.last().copied().unwrap_or(0) as usize;
    let off = Value::array(off.into_iter().map(int).collect());
    let a = Value::Scalar(Scalar::F32(2.5));
    vec![
        ("dot", vec![r.floats(n, f64s), r.floats(n, f64s)]),
        ("dot", vec![r.floats(0, f64s), r.floats(0, f64s)]),
        ("saxpy", vec![a, r.floats(n, f32s), r.floats(n, f32s)]),
        ("extremes", vec![r.floats(n, f64s)]),
        ("matrices", vec![int(50_000)]),
        ("counts", vec![r.ints(n, 1000), int(1000)]),
        ("weights", vec![r.ints(20_000, 100), r.floats(20_000, f64s), int(100)]),
        ("rows", vec![r.rows(3000)]),
        ("shares", vec![r.rows(3000)]),
        ("spmv", vec![off, r.ints(nnz, 500), r.floats(nnz, f64s), r.floats(500, f64s)]),
        ("sums", vec![r.ints(n, 1 << 30)]),
        ("small", vec![r.ints(n, 1 << 30)]),
        ("primes", vec![int(20_000)]),
        ("mandelbrot", vec![int(160), int(100), int(50)]),
        ("inside", vec![int(160), int(100), int(50)]),
        ("ordered", vec![r.floats(10_000, f64s)]),
        ("added", vec![r.floats(3000, f64s), Value::array((0..3000).map(|_| r.floats(70, f64s)).collect())]),
        ("halved", vec![r.floats(n, f64s), int(20)]),
        ("placed", vec![r.ints(n, 100), int(50)]),
        ("marked", vec![r.ints(n, 100), int(50)]),
        ("broken", vec![r.ints(100, 9), r.ints(5000, 101)]),
        ("logsum", vec![int(n as i64)]),
    ]
}

/// Those that are timed: they make their data themselves.
fn timed() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("logsum", vec![int(1 << 28)]),
        ("halves", vec![int(1 << 30)]),
        ("inside", vec![int(8192), int(8192), int(200)]),
        ("matrices", vec![int(1 << 24)]),
    ]
}

fn close(a: &Value, b: &Value) -> bool {
    if let (Value::Scalar(x), Value::Scalar(y)) = (a, b) {
        return match (x.as_float(), y.as_float()) {
            (Some(p), Some(q)) => {
                let scale = if x.ty() == ScalarType::F32 { 1e-6 } else { 1e-9 };
                p == q || (p - q).abs() <= scale * p.abs().max(q.abs()).max(1.0)
            }
            _ => x == y,
        };
    }
    let parts = |v: &Value| v.items().or(v.parts()).unwrap_or_default().to_vec();
    let (x, y) = (parts(a), parts(b));
    x.len() == y.len() && x.iter().zip(&y).all(|(x, y)| close(x, y))
}

fn compile() -> Result<(Program, Vec<(String, Func)>), String> {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, name: &str| Err(format!("there is no {name}"));
    let compiled = deckle_syntax::compile(&mut sources, "on_gpu.dk", PROGRAMS.into(), &mut load);
    let compiled = compiled.map_err(|e| format!("{e:?}"))?;
    let entries = compiled.entries.iter().map(|e| (e.name.clone(), e.func)).collect();
    Ok((compiled.program, entries))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match all(args.first().map(String::as_str), args.get(1).map(Path::new)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            println!("FAILED: {e}");
            ExitCode::FAILURE
        }
    }
}

/// How kernels are laid out, to be compared: as usual, a thread for each point in many parts, a warp for each point.
const LAYOUTS: [(&str, Option<bool>, Option<i64>); 3] =
    [("usual", None, None), ("threads", Some(false), Some(77)), ("warps", Some(true), None)];

fn all(how: Option<&str>, dir: Option<&Path>) -> Result<bool, String> {
    let (program, entries) = compile()?;
    let find = |name: &str| entries.iter().find(|e| e.0 == name).map(|e| e.1).ok_or(format!("no {name}"));
    if let (Some("ptx"), Some(dir)) = (how, dir) {
        std::fs::create_dir_all(dir).map_err(|e| e.to_string())?;
        for (name, _) in compared().into_iter().chain(timed()) {
            let ptx = pipeline::ptx(&program, find(name)?, options(), &deckle_llvm::Gpu::new(9, 0));
            let ptx = ptx.map_err(|e| format!("{name}: {}", e.message))?;
            std::fs::write(dir.join(format!("{name}.ptx")), ptx).map_err(|e| e.to_string())?;
        }
        return Ok(true);
    }
    let gpu = match Gpu::open(0, None) {
        Ok(gpu) => gpu,
        Err(e) => {
            println!("{}", e.message);
            return Ok(true);
        }
    };
    println!("{}, {:?}", gpu.name(), gpu.memory());
    let (on, settings) = (On::Gpu(gpu.clone()), Settings { measured: true, ..Settings::new(1, None) });
    let load = |name: &str, layout: Layout| {
        let callable = Callable::with(program.clone(), find(name)?, options()).laid_out(layout);
        let text = dir.and_then(|d| std::fs::read_to_string(d.join(format!("{name}.ptx"))).ok());
        Ok::<_, String>(match text {
            Some(text) => callable.with_ptx(text),
            None => callable,
        })
    };
    let call = |callable: &Callable, args: &[Value]| {
        let types = callable.function().params().iter().map(|p| callable.function().ty(*p));
        let flat = types.zip(args).map(|(ty, v)| tree::flat(ty, [v], &settings.pool, "an argument").map(Input::Data));
        let flat = flat.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        callable.call(&on, flat, None, &settings).map_err(|e| e.message.clone())
    };
    let mut fine = true;
    for (name, args) in compared() {
        let reference = deckle_interp::run(&program, find(name)?, &args, &deckle_interp::Options::default());
        let reference = reference.map(|o| o.value).map_err(|e| e.message.clone());
        for (layout, wide, parts) in LAYOUTS {
            let callable = load(name, Layout { wide, parts, ..Layout::default() })?;
            let found = call(&callable, &args).map(|ran| {
                let result = ran.result.map(|data| tree::value(callable.function().result_type(), &data, 0));
                result.unwrap_or(Value::Tuple([].into()))
            });
            let same = match (&reference, &found) {
                (Ok(a), Ok(b)) => close(a, b),
                (Err(a), Err(b)) => a == b,
                _ => false,
            };
            fine &= same;
            let error = found.err().unwrap_or_default();
            println!("{} {name}, {layout} {error}", if same { "ok" } else { "WRONG" });
        }
    }
    for (name, args) in timed() {
        let callable = load(name, Layout::default())?;
        let (mut best, mut kernels) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..5 {
            let start = Instant::now();
            let ran = call(&callable, &args)?;
            best = best.min(start.elapsed().as_secs_f64());
            if let RanOn::Gpu { traffic, .. } = ran.report.on {
                kernels = kernels.min(traffic.kernel_seconds);
            }
        }
        println!("{name}: {:.3} ms, kernels {:.3} ms", best * 1e3, kernels * 1e3);
    }
    println!("{:?}", gpu.memory());
    Ok(fine)
}
