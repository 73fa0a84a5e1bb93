//! What was complete before an element that fails is handed over first: as much as the interpreter hands over, which goes through one element at a time, whatever the size of chunks. Then comes the same error.

use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_engine::{Chunks, Cuts, Data, Effort, Input, Native, Options, Settings};
use deckle_gen::Config;
use deckle_gen::compare::close;
use deckle_gen::sweep::Sweep;
use deckle_interp::{Argument, Consumer, Streamed, run_streaming};
use deckle_io::tree;
use deckle_ir::array::{Function, Program};
use deckle_ir::entity::Func;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::Pool;
use deckle_runtime::stream::{Error, Sink, Source};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The elements that were handed over, and how the run ended.
type Ended = (Vec<Value>, Option<Box<Diagnostic>>);

struct Tested {
    program: Program,
    func: Func,
    natives: Vec<Native>,
    /// On 1, 2 and 3 threads.
    settings: Vec<Settings>,
}

/// Elements of a type, some at a time: blocks of 1, 2, 3, ... of them.
struct Few {
    left: Vec<Value>,
    elem: Type,
    size: usize,
}

impl Source for Few {
    fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Data>, Error> {
        let n = self.size.min(self.left.len());
        self.size += 1;
        let block: Vec<Value> = self.left.drain(..n).collect();
        if n == 0 { Ok(None) } else { Ok(Some(tree::flat(&self.elem, &block, pool, "elements")?)) }
    }
}

/// Keeps what it takes.
#[derive(Clone)]
struct Log(Arc<Mutex<Vec<Value>>>, Type);

impl Sink for Log {
    fn take(&mut self, block: Data) -> Result<(), Error> {
        self.0.lock().unwrap().extend(tree::values(&self.1, &block));
        Ok(())
    }
}

const SIZES: [Option<i64>; 8] = [Some(1), Some(2), Some(3), Some(7), Some(64), Some(1000), Some(i64::MAX), None];

fn int(n: i64) -> Value {
    Value::int(n)
}

fn ints(all: impl IntoIterator<Item = i64>) -> Value {
    Value::seq(all.into_iter().map(int).collect())
}

fn rows(all: impl IntoIterator<Item = Vec<i64>>) -> Value {
    Value::seq(all.into_iter().map(|row| Value::array(row.into_iter().map(int).collect())).collect())
}

/// One element at a time, in the interpreter; `None` if that gets stuck.
fn reference(program: &Program, func: Func, args: &[Value]) -> Option<Ended> {
    let taken = Mutex::new(Vec::new());
    let take = |value| {
        taken.lock().unwrap().push(value);
        ControlFlow::Continue(())
    };
    let args = args.iter().map(|value| match value {
        Value::Seq(items) => {
            let mut items = items.iter().cloned();
            Argument::Elements(Box::new(move || Ok(items.next())))
        }
        value => Argument::Value(value.clone()),
    });
    let consumer = Box::new(take) as Consumer<'_>;
    let limits = deckle_interp::Options { max_steps: Some(1_000_000), ..Default::default() };
    let error = match run_streaming(program, func, args.collect(), Some(consumer), &limits) {
        Ok(Streamed::Stuck(_)) => return None,
        ran => ran.err(),
    };
    Some((taken.into_inner().unwrap(), error))
}

/// Native code, with sequences as arguments or bit by bit.
fn run(function: &Function, native: &Native, args: &[Value], settings: &Settings, streams: bool) -> Ended {
    let log = Log(Arc::default(), function.result_type().elem().unwrap().clone());
    let types = function.params().iter().map(|p| function.ty(*p));
    let input = |(value, ty): (&Value, &Type)| match value {
        Value::Seq(items) if streams => {
            let elem = ty.elem().unwrap().clone();
            Input::Stream(Box::new(Few { left: items.to_vec(), elem, size: 1 }))
        }
        value => Input::Data(tree::flat(ty, [value], &settings.pool, "argument").unwrap()),
    };
    let inputs = args.iter().zip(types).map(input).collect();
    let ran = native.stream(inputs, Some(Box::new(log.clone())), settings);
    let taken = std::mem::take(&mut *log.0.lock().unwrap());
    (taken, ran.err())
}

impl Tested {
    fn new(text: &str) -> Tested {
        let mut sources = SourceMap::new();
        let mut load = |_: &str, _: &str| Err("no imports".to_string());
        let compiled = deckle_syntax::compile(&mut sources, "failing.dk", text.as_bytes().to_vec(), &mut load)
            .unwrap_or_else(|d| panic!("{d:?}"));
        let func = compiled.entries.iter().find(|e| e.name == "main").unwrap().func;
        let ways = [Cuts::default(), Cuts::small()];
        let options = |cuts| Options { chunks: Chunks::Always, effort: Effort::Little, cuts, ..Options::default() };
        let native = |cuts| Native::compile(&compiled.program, func, options(cuts)).unwrap();
        let natives = ways.map(native).into();
        let settings = (1..=3).map(|n| Settings::new(n, Some(64 << 20))).collect();
        Tested { program: compiled.program, func, natives, settings }
    }

    fn reference(&self, args: &[Value]) -> Ended {
        reference(&self.program, self.func, args).expect("it streams")
    }

    fn native(&self, native: &Native, args: &[Value], settings: &Settings, streams: bool) -> Ended {
        run(&self.program.funcs[self.func.index()], native, args, settings, streams)
    }

    /// The same is handed over and said, in chunks of any size, on some threads.
    #[track_caller]
    fn agrees(&mut self, args: &[Value]) -> Ended {
        let wanted = self.reference(args);
        for (k, size) in SIZES.into_iter().enumerate() {
            self.settings[k % 3].chunk = size;
            let (cuts, streams) = (k / 2 % 2, k % 2 == 0);
            let got = self.native(&self.natives[cuts], args, &self.settings[k % 3], streams);
            let how = format!("in chunks of {size:?}, cuts {cuts}, streams {streams}, {args:?}");
            let (all, wanted_all) = (Value::seq(got.0), Value::seq(wanted.0.clone()));
            assert!(close(&all, &wanted_all), "{how}: {all:?} but not {wanted_all:?}, {:?}", got.1);
            assert_eq!(said(&got.1), said(&wanted.1), "{how}");
        }
        wanted
    }
}

/// What an error says. Native code knows both of two lengths that are not equal.
fn said(error: &Option<Box<Diagnostic>>) -> Option<(Code, &str)> {
    error.as_ref().map(|d| (d.code, if d.code == Code::LengthMismatch { "" } else { &d.message }))
}

/// Where elements fail, of so many.
const PLACES: [i64; 12] = [0, 1, 2, 5, 6, 7, 8, 63, 64, 100, 198, 199];

fn with_zero(at: i64) -> Value {
    ints((0..200).map(|i| i - at))
}

#[test]
fn a_map_over_what_comes() {
    let mut f = Tested::new("def main(xs: {int}) = {100 / x : x in xs}");
    for at in PLACES {
        assert_eq!(f.agrees(&[with_zero(at)]).0.len(), at as usize);
    }
    assert_eq!(f.agrees(&[with_zero(500)]).0.len(), 200);
}

#[test]
fn an_index_out_of_range() {
    let mut f = Tested::new("def main(table: [int], xs: {int}) = {table[x] : x in xs}");
    for at in PLACES {
        let table = Value::array((0..at).map(int).collect());
        assert_eq!(f.agrees(&[table, ints(0..200)]).0.len(), at as usize);
    }
}

#[test]
fn what_is_made_inside() {
    let mut f = Tested::new("def main(n: int, k: int) = {100 / (i - k) : i in iota(n)}");
    for at in PLACES {
        assert_eq!(f.agrees(&[int(200), int(at)]).0.len(), at as usize);
    }
}

#[test]
fn a_filter_that_fails_and_one_before_what_fails() {
    let mut f = Tested::new("def main(xs: {int}) = {x : x in xs | 100 / x < 30}");
    let mut g = Tested::new("def main(xs: {int}) = {100 / y : y in {x : x in xs | x % 3 != 1}}");
    for at in PLACES {
        f.agrees(&[with_zero(at)]);
        g.agrees(&[with_zero(at)]);
    }
}

#[test]
fn scans_of_all_kinds() {
    for text in [
        "def main(xs: {int}) = {a + 100 / x : x in xs; a in scan(+, 0, xs)}",
        "def main(xs: {int}) = scan_incl(\\a b -> a + b, 5, {100 / x : x in xs})",
        "def main(xs: {int}) = scan_incl(+, 0.5, {1.0 / real(100 / x) : x in xs})",
        "def main(xs: {int}) = scan_incl(\\a b -> [p + q : p in a; q in b], [0, 0, 0], {[x, 100 / x, 1] : x in xs})",
    ] {
        let mut f = Tested::new(text);
        for at in PLACES {
            f.agrees(&[with_zero(at)]);
        }
    }
}

#[test]
fn rows_as_elements() {
    let mut f = Tested::new("def main(rows: {[int]}) = {[100 / x : x in row] : row in rows | length(row) != 2}");
    let mut g = Tested::new("def main(rows: {[int]}) = {row[1] : row in rows}");
    for at in PLACES {
        f.agrees(&[rows((0..200).map(|i| vec![i - at; i as usize % 4]))]);
        g.agrees(&[rows((0..200).map(|i| vec![i; if i == at { 1 } else { 2 + i as usize % 3 }]))]);
    }
}

#[test]
fn two_that_come() {
    let mut f = Tested::new("def main(xs: {int}, ys: {int}) = {x / y : x in xs; y in ys}");
    for at in PLACES {
        f.agrees(&[ints(0..200), with_zero(at)]);
        f.agrees(&[ints(0..200), ints(1..=at)]);
        f.agrees(&[ints(0..at), ints(1..=200)]);
    }
}

#[test]
fn sequences_of_different_rates() {
    for text in [
        "def main(xs: {int}) = {x / (y - 30) : x in {x : x in xs | x % 2 == 0}; y in {y : y in xs | y % 2 == 0}}",
        "def main(xs: {int}) = {x : x in xs | x % 2 == 0} ++ {100 / (i - 20) : i in iota(50)}",
        "def main(xs: {int}) = {100 / x : x in xs} ++ {i : i in iota(50)}",
    ] {
        let mut f = Tested::new(text);
        for at in PLACES {
            f.agrees(&[with_zero(at)]);
        }
    }
}

#[test]
fn groups() {
    for text in [
        "def main(xs: {int}) = {100 / sum(g) : g in flagpart({x : x in xs | x % 4 != 0}, {x % 4 == 0 : x in xs})}",
        "def main(xs: {int}) = {sum(g) : g in flagpart({100 / x : x in xs | x % 4 != 1}, {x % 4 == 1 : x in xs})}",
        "def main(xs: {int}) = {sum(sort(tab(g))) : g in flagpart({100 / x : x in xs | x % 20 != 1}, {x % 20 == 1 : x in xs})}",
    ] {
        let mut f = Tested::new(text);
        for at in PLACES {
            f.agrees(&[ints((1..=200).map(|i| i - at))]);
        }
    }
}

#[test]
fn two_of_different_rates() {
    for text in [
        "def main(xs: {int}, ys: {int}) = {x + y : x in {100 / x : x in xs | x % 3 != 1}; y in {y : y in ys | y % 2 == 0}}",
        "def main(xs: {int}, ys: {int}) = {x + y : x in {x : x in xs | x % 3 != 1}; y in {100 / (y - 9) : y in ys | y % 2 == 0}}",
        "def main(xs: {int}, ys: {int}) = {sum(g) : g in flagpart(xs, {100 / (y - 9) % 2 == 0 : y in ys})}",
    ] {
        let mut f = Tested::new(text);
        for at in PLACES {
            f.agrees(&[with_zero(at % 70), ints(0..150)]);
        }
    }
}

/// A group is handed over when its flag has come, and no element is needed for that; the interpreter may come to the next element first.
#[test]
fn groups_whose_flags_come_by_themselves() {
    let mut f = Tested::new(
        "def main(xs: {int}, ys: {int}) = {sum(g) : g in flagpart({100 / x : x in xs}, {y % 2 == 0 : y in ys})}",
    );
    for at in PLACES.map(|at| at % 70) {
        let args = [with_zero(at), ints(0..150)];
        let wanted = f.reference(&args);
        for (k, size) in SIZES.into_iter().enumerate() {
            f.settings[k % 3].chunk = size;
            let got = f.native(&f.natives[k / 2 % 2], &args, &f.settings[k % 3], k % 2 == 0);
            assert_eq!((got.0.len(), said(&got.1)), (at as usize + 1, said(&wanted.1)), "{size:?}");
            assert!(got.0.starts_with(&wanted.0));
        }
    }
}

/// Sequences that are as long as they are before they are gone through, and not as long as each other.
#[test]
fn lengths_that_are_known() {
    let mut f = Tested::new("def main(n: int, m: int, k: int) = {x * y / (k - x) : x in iota(n); y in iota(m)}");
    for (n, m, k) in [(20, 30, 99), (30, 20, 99), (0, 5, 99), (100, 0, 0), (70, 80, 69), (70, 80, 70), (70, 80, 75)] {
        f.agrees(&[int(n), int(m), int(k)]);
    }
}

/// Of the element itself that fails nothing is handed over, though the interpreter may have something of it by then; that does not depend on the size of chunks either.
#[test]
fn results_of_the_element_that_fails() {
    for (text, each) in [
        ("def main(xs: {int}) = concat({ {x * 10 + 60 / (x * 10 + y - 5) : y in iota(10)} : x in xs })", 10),
        ("def main(xs: {int}) = scan(+, 0, {100 / x : x in xs})", 1),
    ] {
        let mut f = Tested::new(text);
        for at in [0, 1, 7, 100] {
            let wanted = f.reference(&[with_zero(at)]);
            for (k, size) in SIZES.into_iter().enumerate() {
                f.settings[k % 3].chunk = size;
                let got = f.native(&f.natives[k % 2], &[with_zero(at)], &f.settings[k % 3], k % 2 == 0);
                assert_eq!(got.0[..], wanted.0[..at as usize * each], "{size:?}");
                assert_eq!(said(&got.1), said(&wanted.1));
            }
            assert!(wanted.0.len() > at as usize * each);
        }
    }
}

/// Elements that are kept are memory that every round works on in place: a round that fails goes back to before some rounds that have handed results over.
#[test]
fn a_large_state() {
    let mut f = Tested::new("def main(xs: {int}) = let third = tab(xs)[2] in {100 / x : x in xs | x % 7 != 3}");
    for at in [100, 11_000] {
        assert!(f.agrees(&[ints((0..12_000).map(|i| i - at))]).1.is_some());
    }
    let mut f = Tested::new(
        "def main(n: int, k: int) =
           {sum(sort(tab(g))) : g in flagpart({100 / (i - k) : i in iota(n)}, {i % 11 == 10 && i < 300 : i in iota(2 * n)})}",
    );
    for k in [105, 305, 3003] {
        f.agrees(&[int(4000), int(k)]);
    }
}

/// What a chunk has no room for has room in smaller ones; and what never has is an error after all that had.
#[test]
fn a_budget() {
    let f = Tested::new("def main(xs: {int}) = {sum(sort([ (i * 7919 + x) % 1000 : i in iota(x) ])) : x in xs}");
    let sizes = (0..200).map(|i| if i == 150 { 10_000_000 } else { 1000 });
    for chunk in SIZES {
        let settings = Settings { chunk, ..Settings::new(2, Some(1 << 20)) };
        let (got, error) = f.native(&f.natives[0], &[ints(sizes.clone())], &settings, true);
        assert_eq!((got.len(), error.map(|d| d.code)), (150, Some(Code::LimitExceeded)), "{chunk:?}");
        assert!(settings.pool.stats().peak <= 1 << 20);
    }
}

/// What has room once, but not twice, runs.
#[test]
fn a_budget_for_one_state() {
    let f = Tested::new("def main(xs: {int}) = let third = tab(xs)[2] in {x : x in xs | x % 1000 == 0}");
    for chunk in [Some(64), None] {
        let settings = Settings { chunk, ..Settings::new(1, Some(1 << 20)) };
        let (got, error) = f.native(&f.natives[0], &[ints(0..40_000)], &settings, true);
        assert_eq!((got.len(), error), (40, None), "{chunk:?}");
    }
}

/// Whatever fails where in random programs: what is handed over does not depend on the size of chunks, and is as much as the interpreter hands over, or less or more where a statement beside the
/// sequence fails, which either of them may come to first.
#[test]
fn random_programs() {
    let config = Config { risk: 40, ..Config::default() };
    let sweep = Sweep {
        test: ["deckle-engine", "failing", "random_programs"],
        config: &config,
        cases: 2000,
        of: 2000,
        threads: 2,
    };
    sweep.run(&|case| {
        let function = &case.program.funcs[case.entry.index()];
        if !function.result_type().is_seq() {
            return Ok(());
        }
        let Some((wanted, Some(_))) = reference(&case.program, case.entry, &case.args) else { return Ok(()) };
        let options =
            Options { chunks: Chunks::Always, effort: Effort::None, cuts: Cuts::small(), ..Options::default() };
        let native = Native::compile(&case.program, case.entry, options).map_err(|d| d.message)?;
        let mut first: Option<Vec<Value>> = None;
        for (k, chunk) in SIZES.into_iter().enumerate() {
            let settings = Settings { chunk, ..Settings::new(1 + k % 3, Some(1 << 30)) };
            let (got, _) = run(function, &native, &case.args, &settings, k % 2 == 0);
            let same = |n: usize, all: &[Value]| close(&Value::seq(got[..n].to_vec()), &Value::seq(all[..n].to_vec()));
            if !same(got.len().min(wanted.len()), &wanted) {
                return Err(format!("{wanted:?}\nbut in chunks of {chunk:?}\n{got:?}"));
            }
            if let Some(first) = first.as_ref().filter(|first| first.len() != got.len() || !same(got.len(), first)) {
                return Err(format!("{first:?}\nbut in chunks of {chunk:?}\n{got:?}"));
            }
            first = first.or(Some(got));
        }
        Ok(())
    });
}
