//! What the host does for a GPU, on the simulator: memory within a budget, launches that nobody waits for, failures that are noticed later, results that stay on the device, and
//! devices that are lost or come to no end.

use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_engine::{
    Callable, Chunks, Cuts, Data, Gpu, Hold, Input, Interp, Kept, On, Options, RanOn, Settings, Simulator, Traffic,
};
use deckle_io::tree;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::stream::{Error, Sink, Source};
use deckle_runtime::{Pool, Team};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// A program whose `main` is called.
struct Program(Callable);

/// What a call on a GPU gave, and what it took.
type Ran = Result<(Value, Traffic), Box<Diagnostic>>;

fn compiled(text: &str, options: Options) -> Callable {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "gpu.dk", text.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == "main").unwrap().func;
    Callable::with(compiled.program, func, options)
}

impl Program {
    fn new(text: &str) -> Program {
        Program(compiled(text, Options::default()))
    }

    fn types(&self) -> Vec<Type> {
        let function = self.0.function();
        function.params().iter().map(|p| function.ty(*p).clone()).collect()
    }

    fn inputs(&self, args: &[Value]) -> Vec<Input> {
        let flat = |(ty, v): (&Type, &Value)| tree::flat(ty, [v], &Pool::new(None), "an argument").unwrap();
        self.types().iter().zip(args).map(flat).map(Input::Data).collect()
    }

    fn value(&self, data: &Data) -> Value {
        tree::value(self.0.function().result_type(), data, 0)
    }

    fn with(&self, on: &Gpu, inputs: Vec<Input>, settings: &Settings) -> Ran {
        let ran = self.0.call(&On::Gpu(on.clone()), inputs, None, settings)?;
        let RanOn::Gpu { traffic, .. } = ran.report.on else { panic!("not on a GPU") };
        Ok((self.value(&ran.result.unwrap()), traffic))
    }

    fn on(&self, gpu: &Gpu, args: &[Value]) -> Ran {
        self.with(gpu, self.inputs(args), &settings())
    }

    fn keep(&self, gpu: &Gpu, inputs: Vec<Input>) -> (Kept, Traffic) {
        let (kept, report) =
            self.0.keep(&On::Gpu(gpu.clone()), inputs, &settings()).unwrap_or_else(|d| panic!("{d:?}"));
        let RanOn::Gpu { traffic, .. } = report.on else { panic!("not on a GPU") };
        (kept, traffic)
    }

    fn native(&self, args: &[Value]) -> Result<Value, Box<Diagnostic>> {
        let ran = self.0.call(&On::Native, self.inputs(args), None, &settings())?;
        Ok(self.value(&ran.result.unwrap()))
    }
}

fn settings() -> Settings {
    Settings::new(1, None)
}

fn gpu(memory: Option<u64>) -> Gpu {
    Gpu::simulated(Simulator::default(), memory)
}

fn ints(all: impl IntoIterator<Item = i64>) -> Value {
    Value::array(all.into_iter().map(Value::int).collect())
}

#[test]
fn an_array_beyond_the_budget_is_named() {
    let p = Program::new("def main(n: int) = let squares = [ i * i % 1009 : i in iota(n) ] in sum(sort(squares))");
    assert!(p.on(&gpu(Some(MIB)), &[Value::int(1000)]).is_ok());
    for gpu in [gpu(Some(MIB)), Gpu::simulated(Simulator::new(MIB), Some(64 * MIB))] {
        let e = p.on(&gpu, &[Value::int(500_000)]).unwrap_err();
        assert_eq!(e.code, Code::LimitExceeded);
        assert!(
            e.message.contains("result of `sort`") && e.message.contains("3.8 MiB of the GPU's memory"),
            "{}",
            e.message
        );
        assert!(e.helps.iter().any(|h| h.contains("--device-memory")), "{e:?}");
        // Nothing is held afterwards, and smaller runs go on.
        assert_eq!(gpu.memory().in_use, 0);
        assert!(p.on(&gpu, &[Value::int(1000)]).is_ok());
    }
    // An argument is named too.
    let p = Program::new("def main(xs: [int]) = sum(xs)");
    let e = p.on(&gpu(Some(MIB)), &[ints(0..200_000)]).unwrap_err();
    assert!(e.message.starts_with("argument `xs` needs"), "{}", e.message);
}

#[test]
fn memory_is_used_again_and_given_back_where_it_is_short() {
    let p = Program::new("def main(n: int) = sum(sort([ (i * 7919) % 1013 : i in iota(n) ]))");
    // By the budget, and by what the device has.
    for gpu in [gpu(Some(2 * MIB)), Gpu::simulated(Simulator::new(2 * MIB), Some(64 * MIB))] {
        for n in [10_000, 20_000, 15_000, 30_000, 12_345, 40_000, 10_000] {
            let (value, _) = p.on(&gpu, &[Value::int(n)]).unwrap_or_else(|e| panic!("{n}: {e:?}"));
            assert_eq!(Ok(value), p.native(&[Value::int(n)]));
            let stats = gpu.memory();
            assert!(stats.in_use == 0 && stats.cached > 0 && stats.cached <= 2 * MIB, "{stats:?}");
        }
    }
    let gpu = gpu(None);
    p.on(&gpu, &[Value::int(5000)]).unwrap();
    let before = gpu.memory();
    p.on(&gpu, &[Value::int(5000)]).unwrap();
    assert_eq!(gpu.memory(), before);
}

/// Programs whose kernels fail, of which the first does in different places.
const FAILING: [(&str, &[&[i64]]); 6] = [
    // The second kernel would read where the first failed to say.
    (
        "def main(xs: [int; n], at: [int]) = let ys = [ xs[i] : i in at ] in let zs = sort(ys) in [ xs[z] : z in zs ]",
        &[&[1, 2, 3], &[0, 5, 9]],
    ),
    (
        "def main(xs: [int; n], at: [int]) = let ys = [ xs[i] : i in at ] in (ys, sum([ xs[y] : y in ys ]))",
        &[&[7, 0], &[1, 0]],
    ),
    (
        "def main(xs: [int; n], at: [int]) = let ys = [ 10 / x : x in xs ] in (sum(ys), [ ys[i] : i in at ])",
        &[&[1, 0, 2], &[8]],
    ),
    // Sizes that a failed kernel leaves.
    (
        "def main(xs: [int; n], at: [int]) = let ys = scan_incl(+, [ 10 / x : x in xs ]) in [ y : y in ys | y > 3 ]",
        &[&[1, 2, 0, 4], &[]],
    ),
    (
        "def main(xs: [int; n], at: [int]) = loop ys = xs for i < 5 do [ ys[y % (4 - i)] : y in ys ]",
        &[&[1, 2, 3, 4, 5], &[]],
    ),
    // An error of the host, behind one of a kernel that nobody has looked at.
    (
        "def main(xs: [int; n], at: [int]) = let ys = [ xs[i] : i in at ] in let k = length(at) - 10 in (ys, generate(k, \\i -> i))",
        &[&[1, 2], &[0, 4]],
    ),
];

#[test]
fn what_fails_first_is_reported_as_on_the_cores() {
    for (text, args) in FAILING {
        let p = Program::new(text);
        let args: Vec<Value> = args.iter().map(|xs| ints(xs.iter().copied())).collect();
        let gpu = gpu(None);
        let [here, there] = [p.native(&args).unwrap_err(), p.on(&gpu, &args).unwrap_err()];
        assert_eq!(there, here, "{text}");
        assert_eq!(gpu.memory().in_use, 0);
        // The device goes on.
        let fine = [ints([0, 1, 2]), ints([])];
        assert_eq!(p.on(&gpu, &fine).map(|r| r.0).map_err(|e| e.code), p.native(&fine).map_err(|e| e.code), "{text}");
    }
}

/// A list for rows of computed length would have a number for each of them.
#[test]
fn rows_that_are_not_stored_need_no_memory() {
    let text =
        "def main(n: int) = sum([ sum([ j % 3 : j in iota(if i % 1000 == 0 then i / 3 else 0) ]) : i in iota(n) ])";
    let p = Program(compiled(text, Options { cuts: Cuts::small(), ..Options::default() }));
    let args = [Value::int(20_000)];
    let (value, traffic) = p.on(&gpu(None), &args).unwrap();
    assert_eq!(Ok(value), p.native(&args));
    assert!(traffic.device_bytes < 100_000, "{traffic:?}");
}

#[test]
fn nobody_waits_between_kernels() {
    let text = "def main(xs: [int; n]) =
        let a = scan_incl(+, xs) in let b = scan_incl(max, [ x % 17 : x in a ]) in let c = scan_incl(+, b) in c";
    let p = Program::new(text);
    let args = [ints((0..3000).map(|i| i % 11))];
    let (value, traffic) = p.on(&gpu(None), &args).unwrap();
    assert_eq!(value, p.native(&args).unwrap());
    assert!(traffic.launches >= 6, "{traffic:?}");
    // The result, and nothing on the way to it.
    assert_eq!((traffic.copies_out, traffic.bytes_out), (1, 8 * 3000), "{traffic:?}");
    assert_eq!(traffic.kernel_seconds, 0.0);
    let measured = Settings { measured: true, ..settings() };
    assert!(p.with(&gpu(None), p.inputs(&args), &measured).unwrap().1.kernel_seconds > 0.0);
}

/// More launches than there are words for failures, with numbers that the host reads on the way.
#[test]
fn launches_happen_in_order_however_many_there_are() {
    let text = "def main(xs: [int; n], rounds: int) =
        loop ys = xs for i < rounds do [ ys[(j + 1) % n] + y % 3 : (j, y) in zip(iota(n), ys) ]";
    let p = Program::new(text);
    let args = [ints(0..7), Value::int(5000)];
    let (value, traffic) = p.on(&gpu(None), &args).unwrap();
    assert_eq!(value, p.native(&args).unwrap());
    assert!(traffic.launches >= 5000 && traffic.copies_out < 50, "{traffic:?}");

    let text = "def main(xs: [int]) = loop ys = xs while length(ys) > 3 do [ y + 1 : y in ys | (y * 7919) % 5 != 0 ]";
    let p = Program::new(text);
    let args = [ints(0..500)];
    assert_eq!(p.on(&gpu(None), &args).unwrap().0, p.native(&args).unwrap());
}

#[test]
fn results_stay_on_the_device() {
    let gpu = gpu(None);
    let rows = Program::new("def main(n: int) = [ [ real(i * j) : j in iota(i % 5) ] : i in iota(n) ]");
    let sums = Program::new("def main(xss: [[real]]) = [ sum(xs) : xs in xss ]");
    let (kept, traffic) = rows.keep(&gpu, rows.inputs(&[Value::int(1000)]));
    assert!(traffic.bytes_out <= 64, "{traffic:?}");
    assert!(gpu.memory().in_use > 0 && kept.bytes() > 8 * 2000);
    let wanted = sums.native(&[rows.native(&[Value::int(1000)]).unwrap()]).unwrap();
    for _ in 0..2 {
        let input = vec![Input::Kept(kept.clone(), Hold::Lent)];
        let (value, traffic) = sums.with(&gpu, input, &settings()).unwrap();
        assert_eq!(value, wanted);
        assert!(traffic.bytes_in <= 64, "{traffic:?}");
    }
    // Elsewhere it is copied: to another device, to the cores, to the interpreter.
    let other = self::gpu(None);
    let (value, traffic) = sums.with(&other, vec![Input::Kept(kept.clone(), Hold::Lent)], &settings()).unwrap();
    assert!(value == wanted && traffic.bytes_in > 8 * 2000, "{traffic:?}");
    for on in [On::Native, On::Interp(Interp::default())] {
        let ran = sums.0.call(&on, vec![Input::Kept(kept.clone(), Hold::Lent)], None, &settings()).unwrap();
        assert_eq!(sums.value(&ran.result.unwrap()), wanted);
    }
    assert_eq!(rows.value(&kept.clone().fetch(&settings()).unwrap()), rows.native(&[Value::int(1000)]).unwrap());
    // What is of another type is refused.
    let e = rows.with(&gpu, vec![Input::Kept(kept.clone(), Hold::Lent)], &settings()).unwrap_err();
    assert_eq!(e.code, Code::BadArgument);
    drop(kept);
    assert_eq!(gpu.memory().in_use, 0);
}

#[test]
fn what_is_given_away_is_overwritten_and_what_is_lent_is_not() {
    let gpu = gpu(None);
    let make = Program::new("def main(n: int) = [ i : i in iota(n) ]");
    let step = Program::new("def main(xs: [int]) = [ x + 1 : x in xs ]");
    let (mut kept, _) = make.keep(&gpu, make.inputs(&[Value::int(50_000)]));
    let (lent, _) = step.keep(&gpu, vec![Input::Kept(kept.clone(), Hold::Lent)]);
    assert_eq!(make.value(&kept.clone().fetch(&settings()).unwrap()), ints(0..50_000));
    drop(lent);
    for _ in 0..10 {
        kept = step.keep(&gpu, vec![Input::Kept(kept, Hold::Given)]).0;
    }
    let (_, traffic) = step.keep(&gpu, vec![Input::Kept(kept.clone(), Hold::Lent)]);
    assert!(traffic.bytes_in <= 16, "{traffic:?}");
    // In place: one array, beside the words for failures.
    let peak = step.keep(&gpu, vec![Input::Kept(kept, Hold::Given)]).1.device_bytes;
    assert!(peak < 2 * 8 * 50_000, "{peak}");

    // A run that has to be repeated still has its argument.
    let fails = Program::new("def main(xs: [int]) = let ys = [ x + 1 : x in xs ] in [ 7 / (y - 30) : y in ys ]");
    let (kept, _) = make.keep(&gpu, make.inputs(&[Value::int(100)]));
    let e = fails.with(&gpu, vec![Input::Kept(kept, Hold::Given)], &settings()).unwrap_err();
    assert_eq!(*e, *fails.native(&[ints(0..100)]).unwrap_err());
}

#[test]
fn a_kept_result_that_fails_is_an_error_of_its_own_call() {
    let p = Program::new("def main(xs: [int; n], at: [int]) = [ xs[i] : i in at ]");
    let args = [ints(0..3), ints([0, 7])];
    let e = p.0.keep(&On::Gpu(gpu(None)), p.inputs(&args), &settings()).unwrap_err();
    assert_eq!(*e, *p.native(&args).unwrap_err());
}

#[test]
fn a_lost_device_is_an_error_of_the_run() {
    let p = Program::new("def main(xs: [int]) = let ys = scan_incl(+, xs) in sum([ y : y in ys | y % 2 == 0 ])");
    let args = [ints(0..1000)];
    let wanted = p.native(&args).unwrap();
    let mut lost = 0;
    for launches in 0..20 {
        let gpu = Gpu::simulated(Simulator::default().lost_after(launches), None);
        match p.on(&gpu, &args) {
            Ok((value, _)) => assert_eq!(value, wanted),
            Err(e) => {
                lost += 1;
                assert_eq!(e.code, Code::LostGpu, "{e:?}");
                assert!(e.message.contains("the simulated GPU"), "{}", e.message);
                // Nothing works on it after that, and that is said at once.
                assert_eq!(p.on(&gpu, &args).unwrap_err().code, Code::LostGpu);
            }
        }
    }
    assert!((2..20).contains(&lost), "{lost}");
}

#[test]
fn a_device_that_comes_to_no_end_can_be_interrupted() {
    let p = Program::new("def main(xs: [int]) = sum(scan_incl(+, xs))");
    let gpu = Gpu::simulated(Simulator::default().stuck_after(1), None);
    let flag = Arc::new(AtomicBool::new(false));
    let settings = Settings::with(Team::with_interrupt(1, flag.clone()), Pool::new(None));
    let begun = Instant::now();
    let e = std::thread::scope(|s| {
        s.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            flag.store(true, Ordering::Relaxed);
        });
        p.with(&gpu, p.inputs(&[ints(0..100)]), &settings).unwrap_err()
    });
    assert!(begun.elapsed() >= Duration::from_millis(200) && begun.elapsed() < Duration::from_secs(20));
    let cores = p.0.call(&On::Native, p.inputs(&[ints(0..100)]), None, &settings).unwrap_err();
    assert_eq!((e.code, &e.message), (cores.code, &cores.message));
}

/// Keeps what it takes.
#[derive(Clone)]
struct Log(Arc<Mutex<Vec<Value>>>);

impl Sink for Log {
    fn take(&mut self, block: Data) -> Result<(), Error> {
        self.0.lock().unwrap().extend(tree::values(&Type::INT, &block));
        Ok(())
    }
}

/// The elements that were handed over, and the error behind them.
fn streamed(p: &Callable, on: &On, items: &[i64], settings: &Settings) -> (Vec<Value>, Option<Box<Diagnostic>>) {
    let log = Log(Arc::default());
    let items = Value::seq(items.iter().copied().map(Value::int).collect());
    let ty = p.function().ty(p.function().params()[0]).clone();
    let data = tree::flat(&ty, [&items], &settings.pool, "an argument").unwrap();
    let ran = p.call(on, vec![Input::Data(data)], Some(Box::new(log.clone())), settings);
    let taken = std::mem::take(&mut *log.0.lock().unwrap());
    (taken, ran.err())
}

#[test]
fn streams_hand_over_what_was_complete_before_an_error() {
    let text = "def main(xs: {int}): {int} = { 100 / (x - 40) + length(tab({ y : y in seq(iota(x % 3)) })) : x in xs }";
    let p = compiled(text, Options { chunks: Chunks::Always, ..Options::default() });
    let all: Vec<i64> = (0..60).collect();
    for (items, chunk) in [(&all[..], None), (&all[..], Some(7)), (&all[..40], Some(16)), (&all[39..43], Some(64))] {
        let settings = Settings { chunk, ..settings() };
        let [here, there] = [On::Native, On::Gpu(gpu(None))].map(|on| streamed(&p, &on, items, &settings));
        assert_eq!(there, here, "{chunk:?}");
        assert_eq!(there.1.is_some(), items.contains(&40));
    }
}

#[test]
fn a_stream_larger_than_the_device_runs_in_chunks() {
    let text = "def main(n: int): int = sum({ sum(sort([ (i * j) % 101 : j in iota(50) ])) : i in seq(iota(n)) })";
    let p = Program(compiled(text, Options::default()));
    let n = Value::int(500);
    let wanted = p.native(std::slice::from_ref(&n)).unwrap();
    let gpu = gpu(Some(100 << 10));
    let (value, traffic) = p.on(&gpu, &[n]).unwrap();
    assert_eq!(value, wanted);
    // All elements at once would take 200 KB.
    assert!(traffic.device_bytes <= 100 << 10, "{traffic:?}");
}

/// Programs over a sequence with a sequence as result: a map, several kernels for each chunk, a filter, state that is carried, rows, and two sequences that advance together. In each, the element 40 fails.
const OVER: [&str; 6] = [
    "def main(xs: {int}): {int} = { 100 / (x - 40) : x in xs }",
    "def main(xs: {int}): {int} = { 100 / (x - 40) + length(tab({ y : y in seq(iota(x * x % 3)) })) : x in xs }",
    "def main(xs: {int}): {int} = { 100 / (x - 40) : x in xs | x % 3 != 0 }",
    "def main(xs: {int}): {int} = scan_incl(+, { 100 / (x - 40) : x in xs })",
    "def main(xs: {int}): {int} = { sum([ 100 / (x - 40) + j : j in iota(x * x % 5) ]) + 7 / (x - 40) : x in xs }",
    "def main(xs: {int}): {int} = let ys = { x * x : x in xs } in { 100 / (x - 40) + y : (x, y) in zip(xs, ys) }",
];

fn in_chunks(text: &str) -> Callable {
    compiled(text, Options { chunks: Chunks::Always, cuts: Cuts::small(), ..Options::default() })
}

fn sizes() -> impl Iterator<Item = Option<i64>> {
    [None].into_iter().chain([1, 2, 5, 8, 31, 1000].map(Some))
}

#[test]
fn chunks_of_all_sizes_have_the_results_of_the_cores() {
    for text in OVER {
        let p = in_chunks(text);
        let (all, gpu): (Vec<i64>, _) = ((41..110).chain(-30..0).collect(), gpu(None));
        for items in [&all[..], &all[..1], &[]] {
            let (wanted, none) = streamed(&p, &On::Native, items, &settings());
            assert!(none.is_none() && (items.len() < 2 || wanted.len() > 50), "{text}: {none:?}");
            for chunk in sizes() {
                let got = streamed(&p, &On::Gpu(gpu.clone()), items, &Settings { chunk, ..settings() });
                assert_eq!(got, (wanted.clone(), None), "{text}, {chunk:?}");
            }
        }
    }
}

#[test]
fn a_failing_element_is_found_wherever_it_is() {
    for text in OVER {
        let p = in_chunks(text);
        let gpu = gpu(None);
        for at in [0, 7, 30, 63] {
            let items: Vec<i64> = (0..64).map(|i| if i == at { 40 } else { 100 + i }).collect();
            let wanted = streamed(&p, &On::Native, &items, &settings());
            assert_eq!(wanted.1.as_ref().unwrap().code, Code::DivideByZero);
            for chunk in [None, Some(1), Some(3), Some(8), Some(31), Some(64)] {
                let got = streamed(&p, &On::Gpu(gpu.clone()), &items, &Settings { chunk, ..settings() });
                assert_eq!(got, wanted, "{text}, {at}, {chunk:?}");
                assert_eq!(gpu.memory().in_use, 0);
            }
        }
    }
}

/// Programs that return one value, so that no sink takes results while they run.
#[test]
fn programs_without_streamed_results_do_not_wait_for_each_kernel() {
    let text =
        "def main(xs: {int}): int = sum({ 100 / (x - 40) + length(tab({ y : y in seq(iota(x % 3)) })) : x in xs })";
    let p = Program(in_chunks(text));
    for at in [None, Some(0), Some(33), Some(63)] {
        let items: Vec<Value> = (0..64).map(|i| Value::int(if Some(i) == at { 40 } else { 100 + i })).collect();
        let args = [Value::seq(items)];
        let wanted = p.native(&args);
        assert_eq!(wanted.is_err(), at.is_some());
        for chunk in sizes() {
            let got = p.with(&gpu(None), p.inputs(&args), &Settings { chunk, ..settings() }).map(|ran| ran.0);
            assert_eq!(got, wanted, "{at:?}, {chunk:?}");
        }
    }
    // One look for each chunk, and the number of filtered elements of one that is stored.
    let text = "def main(xs: {int}): int = let ys = { sum(scan_incl(+, [ x + j : j in iota(20) ])) : x in xs } in sum({ y / 3 : y in ys })";
    let p = Program(in_chunks(text));
    let args = [Value::seq((0..600).map(Value::int).collect())];
    let settings = Settings { chunk: Some(100), ..settings() };
    let (value, traffic) = p.with(&gpu(None), p.inputs(&args), &settings).unwrap();
    assert_eq!(Ok(value), p.native(&args));
    assert!(traffic.copies_out < traffic.launches, "{traffic:?}");
    // All chunks but the first.
    assert!(traffic.bytes_early >= 8 * 500 && traffic.bytes_in < 8 * 1200, "{traffic:?}");
}

/// Rows of very different lengths, whose sums are grouped as the schedule says, whatever is in a chunk.
#[test]
fn sums_of_rows_have_the_same_bits_in_chunks_of_all_sizes() {
    let computed = "def main(xs: {int}): [real] = tab({ sum([ sqrt(real(x * j)) : j in iota(x) ]) : x in xs })";
    let read = "def main(rows: {[real]}): [real] = tab({ sum(r) : r in rows })";
    let product = "def main(rows: {[real; 9]}): [[real]] = tab({ [ sum([ x * real(j + k) : x in r; j in iota(9) ]) : k in iota(7) ] : r in rows })";
    let lengths = (0..40).map(|i| if i % 17 == 0 { 500 } else { [60, 3][i % 2] });
    let row = |n: usize| Value::array((0..n).map(|i| Value::real(i as f64 * 0.37)).collect());
    let cases = [
        (computed, Value::seq(lengths.clone().map(|n| Value::int(n as i64)).collect())),
        (read, Value::seq(lengths.map(row).collect())),
        (product, Value::seq((0..60).map(|_| row(9)).collect())),
    ];
    for (text, arg) in cases {
        let p = Program(in_chunks(text));
        let run = |chunk| {
            let settings = Settings { chunk, ..settings() };
            format!("{:?}", p.with(&gpu(None), p.inputs(std::slice::from_ref(&arg)), &settings).unwrap().0)
        };
        let first = run(Some(64));
        for chunk in [None, Some(1), Some(2), Some(18), Some(39)] {
            assert_eq!(run(chunk), first, "{text} in chunks of {chunk:?}");
        }
    }
}

#[test]
fn floats_have_the_same_bits_in_chunks_of_all_sizes() {
    let p = Program(in_chunks("def main(xs: {real}): real = sum({ sqrt(x) : x in xs })"));
    let args = [Value::seq((0..300).map(|i| Value::real(f64::from(i) * 0.37)).collect())];
    let bits = |value: Value| format!("{value:?}");
    let gpu = gpu(None);
    let run = |chunk| p.with(&gpu, p.inputs(&args), &Settings { chunk, ..settings() }).unwrap().0;
    let first = bits(run(Some(64)));
    for chunk in sizes() {
        assert_eq!(bits(run(chunk)), first, "{chunk:?}");
        assert_eq!(bits(run(chunk)), first, "{chunk:?}");
    }
}

#[test]
fn several_chunks_in_flight_stay_within_the_budget() {
    let options = Options { cuts: Cuts { copied_early: 4 << 10, ..Cuts::default() }, ..Options::default() };
    let sum = Program(compiled("def main(xs: {int}): int = sum({ x % 7 : x in xs })", options));
    let items: Vec<i64> = (0..1 << 17).collect();
    let budget = MIB / 4;
    let args = [Value::seq(items.iter().copied().map(Value::int).collect())];
    let gpu = gpu(Some(budget));
    // Four times the budget.
    let (value, traffic) = sum.on(&gpu, &args).unwrap();
    assert_eq!(Ok(value), sum.native(&args));
    assert!(traffic.device_bytes <= budget && traffic.bytes_in >= 4 * budget, "{traffic:?}");
    assert!(traffic.bytes_early >= 2 * budget, "{traffic:?}");
    let stats = gpu.memory();
    assert!(stats.in_use == 0 && stats.cached <= budget, "{stats:?}");
    // A sequence in and out; also in chunks of a size of which only one fits.
    let map = compiled("def main(xs: {int}): {int} = { x % 7 : x in xs }", options);
    for chunk in [None, Some(5000), Some(12_000), Some(1 << 14), Some(1 << 15)] {
        let gpu = self::gpu(Some(budget));
        let (taken, error) = streamed(&map, &On::Gpu(gpu.clone()), &items, &Settings { chunk, ..settings() });
        assert!(error.is_none() && taken.len() == items.len(), "{error:?}");
        assert!(taken.iter().zip(&items).all(|(v, x)| *v == Value::int(x % 7)));
        assert!(gpu.memory().peak <= budget && gpu.memory().in_use == 0, "{:?}", gpu.memory());
    }
}

/// What was on its way to the device comes again, or the run fails.
#[test]
fn no_element_is_lost_where_an_early_copy_fails() {
    let items: Vec<i64> = (0..4000).collect();
    let settings = Settings { chunk: Some(500), ..settings() };
    let map = in_chunks("def main(xs: {int}): {int} = { x % 7 : x in xs }");
    let mut complete = 0;
    for number in 0..6 {
        let gpu = Gpu::simulated(Simulator::default().without_area(number), None);
        let (taken, error) = streamed(&map, &On::Gpu(gpu), &items, &settings);
        assert!(taken.iter().zip(&items).all(|(v, x)| *v == Value::int(x % 7)), "area {number}");
        match error {
            Some(d) => assert_eq!(d.code, Code::LimitExceeded, "area {number}: {}", d.message),
            None => {
                assert_eq!(taken.len(), items.len(), "area {number}");
                complete += 1;
            }
        }
    }
    assert!(complete >= 4, "{complete} of 6 runs ended well");
}

#[test]
fn a_device_that_is_lost_with_an_early_copy_is_an_error() {
    let items: Vec<i64> = (0..4000).collect();
    let map = in_chunks("def main(xs: {int}): {int} = { x % 7 : x in xs }");
    for number in 0..4 {
        let gpu = Gpu::simulated(Simulator::default().lost_with_early_copy(number), None);
        let (taken, error) = streamed(&map, &On::Gpu(gpu), &items, &Settings { chunk: Some(500), ..settings() });
        assert_eq!(error.map(|d| d.code), Some(Code::LostGpu), "copy {number}");
        assert!(taken.iter().zip(&items).all(|(v, x)| *v == Value::int(x % 7)), "copy {number}");
    }
}

/// Two sequences that advance together.
#[test]
fn all_sequences_of_a_chunk_are_copied_early() {
    let text = "def main(xs: {int}, ys: {int}): int = sum({ x * y : (x, y) in zip(xs, ys) })";
    let p = Program(in_chunks(text));
    let [xs, ys] = [1, 3].map(|k| Value::seq((0..4000).map(|i| Value::int(i * k % 101)).collect()));
    let args = [xs, ys];
    let settings = Settings { chunk: Some(500), ..settings() };
    let (value, traffic) = p.with(&gpu(None), p.inputs(&args), &settings).unwrap();
    assert_eq!(Ok(value), p.native(&args));
    // Of both, all chunks but the first.
    assert_eq!(traffic.bytes_early, 2 * 8 * 3500, "{traffic:?}");
}

/// Elements of a sequence in blocks, then an error. If the flag is given, the second block waits for it.
struct Blocks {
    left: Vec<Vec<i64>>,
    fails: bool,
    waits: Option<Arc<AtomicBool>>,
}

impl Source for Blocks {
    fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Data>, Error> {
        if self.left.is_empty() {
            return if self.fails { Err(Error::Failed("no more".into())) } else { Ok(None) };
        }
        if self.left.len() == 1
            && let Some(flag) = &self.waits
        {
            let begun = Instant::now();
            while !flag.load(Ordering::Relaxed) {
                assert!(
                    begun.elapsed() < Duration::from_secs(20),
                    "the first block is not processed before the second comes"
                );
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(Some(Data::copied(&self.left.remove(0), pool, "a block")?))
    }
}

#[test]
fn an_error_of_a_source_comes_after_blocks_that_were_copied_early() {
    let p = in_chunks("def main(xs: {int}): {int} = { x + 1 : x in xs }");
    for chunk in sizes() {
        let log = Log(Arc::default());
        let left = (0..20).map(|b| (10 * b..10 * b + 10).collect()).collect();
        let source = Blocks { left, fails: true, waits: None };
        let settings = Settings { chunk, ..settings() };
        let inputs = vec![Input::Stream(Box::new(source))];
        let e = p.call(&On::Gpu(gpu(None)), inputs, Some(Box::new(log.clone())), &settings).unwrap_err();
        assert!(e.message.contains("no more"), "{e:?}");
        assert_eq!(Value::seq(log.0.lock().unwrap().clone()), Value::seq((1..=200).map(Value::int).collect()));
    }
}

#[test]
fn elements_are_processed_before_later_ones_come() {
    struct Flag(Arc<AtomicBool>, usize);
    impl Sink for Flag {
        fn take(&mut self, block: Data) -> Result<(), Error> {
            self.1 += block.len();
            self.0.store(self.1 >= 30, Ordering::Relaxed);
            Ok(())
        }
    }
    let p = in_chunks("def main(xs: {int}): {int} = { x + 1 : x in xs }");
    let flag = Arc::new(AtomicBool::new(false));
    let source = Blocks { left: vec![(0..30).collect(), (30..60).collect()], fails: false, waits: Some(flag.clone()) };
    let inputs = vec![Input::Stream(Box::new(source))];
    let settings = Settings { chunk: Some(5), ..settings() };
    p.call(&On::Gpu(gpu(None)), inputs, Some(Box::new(Flag(flag, 0))), &settings).unwrap_or_else(|e| panic!("{e:?}"));
}

#[test]
fn streams_end_when_the_device_is_lost_or_stuck() {
    let p = in_chunks(OVER[1]);
    let items: Vec<i64> = (41..141).collect();
    let wanted = streamed(&p, &On::Native, &items, &settings()).0;
    let mut lost = 0;
    for launches in (0..60).step_by(3) {
        let gpu = Gpu::simulated(Simulator::default().lost_after(launches), None);
        let (taken, error) = streamed(&p, &On::Gpu(gpu), &items, &Settings { chunk: Some(16), ..settings() });
        assert_eq!(taken[..], wanted[..taken.len()]);
        if let Some(e) = error {
            lost += 1;
            assert_eq!(e.code, Code::LostGpu, "{e:?}");
        }
    }
    assert!(lost > 2, "{lost}");
    for launches in [2, 6] {
        let gpu = Gpu::simulated(Simulator::default().stuck_after(launches), None);
        let flag = Arc::new(AtomicBool::new(false));
        let settings =
            Settings { chunk: Some(16), ..Settings::with(Team::with_interrupt(1, flag.clone()), Pool::new(None)) };
        let (taken, error) = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                flag.store(true, Ordering::Relaxed);
            });
            streamed(&p, &On::Gpu(gpu), &items, &settings)
        });
        assert!(taken.len() < items.len() && taken[..] == wanted[..taken.len()]);
        assert!(error.is_some_and(|e| e.message.contains("interrupted")));
    }
}
