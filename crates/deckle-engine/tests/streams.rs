//! Sequences that come from outside and go there while the program runs.

use deckle_diag::{Code, SourceMap};
use deckle_engine::{Chunks, Data, Effort, Input, Native, Options, Settings};
use deckle_runtime::stream::{Error, Sink, Source};
use deckle_runtime::{Buffer, Form, Pool};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

fn native(text: &str) -> Native {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "streams.dk", text.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == "main").unwrap().func;
    let options = Options { chunks: Chunks::Needed, effort: Effort::Little, ..Options::default() };
    Native::compile(&compiled.program, func, options).unwrap()
}

/// The numbers from 0 below an end, a few at a time; then an error, if there is to be one. Counts how many it has given.
struct Numbers {
    next: i64,
    end: i64,
    fails: bool,
    given: Arc<AtomicI64>,
}

impl Numbers {
    fn below(end: i64) -> Numbers {
        Numbers { next: 0, end, fails: false, given: Arc::default() }
    }
}

impl Source for Numbers {
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Data>, Error> {
        if self.next == self.end {
            return if self.fails { Err(Error::Failed("the line is dead".into())) } else { Ok(None) };
        }
        let n = (bytes as i64 / 8).min(self.next % 1000 + 1).min(self.end - self.next);
        let all: Vec<i64> = (self.next..self.next + n).collect();
        self.next += n;
        self.given.fetch_add(n, Relaxed);
        Ok(Some(Data::copied(&all, pool, "numbers")?))
    }
}

/// Rows 0, 1, 2, ... where row `i` has `i % 4` times `i`.
struct Rows(i64, i64);

impl Source for Rows {
    fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Data>, Error> {
        let n = 7.min(self.1 - self.0);
        let (mut offsets, mut all) = (vec![0i64], Vec::new());
        for i in self.0..self.0 + n {
            all.extend((0..i % 4).map(|_| i));
            offsets.push(all.len() as i64);
        }
        self.0 += n;
        let rows = Data::rows(pool.alloc_from(&offsets, "rows")?, Data::copied(&all, pool, "rows")?).unwrap();
        Ok((n > 0).then_some(rows))
    }
}

/// All at once.
struct Once(Option<Data>);

impl Source for Once {
    fn next(&mut self, _: usize, _: &Pool) -> Result<Option<Data>, Error> {
        Ok(self.0.take())
    }
}

/// Keeps what it takes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<(Vec<i64>, bool)>>);

impl Sink for Log {
    fn take(&mut self, block: Data) -> Result<(), Error> {
        let b = block.as_scalars().unwrap();
        assert_eq!(b.len(), block.len() * 8);
        self.0.lock().unwrap().0.extend(b.as_slice::<i64>());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.0.lock().unwrap().1 = true;
        Ok(())
    }
}

fn chunk(n: Option<i64>) -> Settings {
    Settings { chunk: n, ..Settings::new(2, None) }
}

const SIZES: [Option<i64>; 5] = [Some(1), Some(7), Some(64), Some(i64::MAX), None];

fn ints(data: &Data) -> Vec<i64> {
    match data.form() {
        Form::Scalars(_, b) => b.as_slice().to_vec(),
        Form::Tuple(parts) => parts.iter().flat_map(ints).collect(),
        Form::Equal(_, elem) | Form::Offsets(_, elem) => ints(elem),
    }
}

#[test]
fn a_sequence_from_outside_is_folded_as_it_comes() {
    let f = native("def main(xs: {int}) = (sum(xs), length({x : x in xs | x % 3 == 0}), max({x * 2 : x in xs}))");
    for size in SIZES {
        let settings = chunk(size);
        let result = f.stream(vec![Input::Stream(Box::new(Numbers::below(20_000)))], None, &settings).unwrap();
        assert_eq!(ints(&result), [199_990_000, 6667, 39_998], "{size:?}");
        assert_eq!(settings.progress.pulled.load(Relaxed), 20_000);
    }
}

#[test]
fn a_result_is_handed_over_as_it_comes_about() {
    let f = native("def main(xs: {int}) = {x * x : x in xs | x % 2 == 1}");
    for size in SIZES {
        let (log, settings) = (Log::default(), chunk(size));
        let input = Input::Stream(Box::new(Numbers::below(3000)));
        let result = f.stream(vec![input], Some(Box::new(log.clone())), &settings).unwrap();
        assert_eq!(ints(&result), [1500]);
        let wanted: Vec<i64> = (0..3000).filter(|x| x % 2 == 1).map(|x| x * x).collect();
        assert_eq!(*log.0.lock().unwrap(), (wanted, true));
    }
}

#[test]
fn rows_come_and_go_with_their_offsets() {
    let f = native("def main(rows: {[int]}) = {[x + 1 : x in row] : row in rows | length(row) != 2}");
    for size in SIZES {
        let result = f.stream(vec![Input::Stream(Box::new(Rows(0, 50)))], None, &chunk(size)).unwrap();
        let rows = result.into_elements().unwrap();
        let Form::Offsets(offsets, inner) = rows.form() else { panic!("{rows:?}") };
        let wanted: Vec<Vec<i64>> = (0..50).filter(|i| i % 4 != 2).map(|i| vec![i + 1; i as usize % 4]).collect();
        assert_eq!((rows.len(), ints(inner)), (wanted.len(), wanted.concat()));
        assert_eq!(offsets.as_slice::<i64>().last(), Some(&(wanted.concat().len() as i64)));
    }
}

#[test]
fn two_that_come_must_be_as_long() {
    let f = native("def main(xs: {int}, ys: {int}) = sum({x * y : x in xs; y in ys})");
    let run = |n: i64, m: i64, size| {
        let inputs = [n, m].map(|n| Input::Stream(Box::new(Numbers::below(n)) as Box<dyn Source>));
        f.stream(inputs.into(), None, &chunk(size)).map(|d| ints(&d)[0])
    };
    for size in SIZES {
        assert_eq!(run(1000, 1000, size).unwrap(), (0..1000).map(|x| x * x).sum::<i64>());
        for (n, m) in [(1000, 1001), (1001, 1000), (0, 1), (1, 0)] {
            assert_eq!(run(n, m, size).unwrap_err().code, Code::LengthMismatch, "{n} {m} {size:?}");
        }
    }
}

#[test]
fn an_error_comes_after_what_was_made_of_the_elements_before_it() {
    let f = native("def main(xs: {int}) = {x + 1 : x in xs}");
    for size in SIZES {
        let log = Log::default();
        let input = Input::Stream(Box::new(Numbers { fails: true, ..Numbers::below(100) }));
        let e = f.stream(vec![input], Some(Box::new(log.clone())), &chunk(size)).unwrap_err();
        assert_eq!((e.code, e.message.as_str()), (Code::Stream, "the line is dead"));
        assert_eq!(*log.0.lock().unwrap(), ((1..=100).collect(), false));
    }
}

/// Passes on what it takes, for as long as somebody wants it.
struct To(SyncSender<Data>);

impl Sink for To {
    fn take(&mut self, block: Data) -> Result<(), Error> {
        self.0.send(block).map_err(|_| Error::Closed)
    }
}

#[test]
fn whoever_stops_taking_stops_everything_before_it() {
    let f = native("def main(xs: {int}) = {x * 3 : x in xs}");
    let source = Numbers::below(i64::MAX);
    let given = Arc::clone(&source.given);
    let settings = chunk(Some(10));
    let (to, from): (_, Receiver<Data>) = sync_channel(0);
    let e = std::thread::scope(|s| {
        let run = s.spawn(|| f.stream(vec![Input::Stream(Box::new(source))], Some(Box::new(To(to))), &settings));
        let taken: Vec<i64> = (0..3).flat_map(|_| ints(&from.recv().unwrap())).collect();
        assert_eq!(taken, (0..taken.len() as i64).map(|x| x * 3).collect::<Vec<i64>>());
        drop(from);
        run.join().unwrap().unwrap_err()
    });
    assert_eq!(e.code, Code::Stream);
    // Within what fits into the queues.
    assert!((0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        Arc::strong_count(&given) == 1 && settings.pool.stats().current == 0
    }));
    assert!(given.load(Relaxed) < 100_000, "{given:?}");
}

#[test]
fn what_cannot_go_in_chunks_is_read_as_a_whole() {
    // Rows of one size, which only all of them together have.
    let f = native("def main(xs: {[int; n]}) = sum({sum(x) : x in xs})");
    let rows = |m: i64| {
        let (offsets, all): (Vec<i64>, Vec<i64>) = ((0..=4).map(|i| i * m).collect(), (0..4 * m).collect());
        let data = Data::rows(Buffer::from_vec(offsets), Data::numbers(all)).unwrap();
        Box::new(Once(Some(data)))
    };
    let result = f.stream(vec![Input::Stream(rows(5))], None, &chunk(None)).unwrap();
    assert_eq!(ints(&result), [190]);
    let f = native("def main(xs: {int}) = xs");
    let log = Log::default();
    let input = Input::Stream(Box::new(Numbers::below(10)));
    f.stream(vec![input], Some(Box::new(log.clone())), &chunk(None)).unwrap();
    assert_eq!(*log.0.lock().unwrap(), ((0..10).collect(), true));
}

#[test]
fn what_comes_is_held_against_the_sizes_of_its_type() {
    let f = native("def main(xs: {[int; 3]}) = sum({sum(x) : x in xs})");
    let e = f.stream(vec![Input::Stream(Box::new(Rows(0, 9)))], None, &chunk(None)).unwrap_err();
    assert_eq!(e.code, Code::SizeCheck);
}

#[test]
fn a_stream_takes_little_memory_however_long_it_is() {
    let f = native("def main(xs: {int}) = {x / 7 : x in xs | x % 5 == 0}");
    let settings = Settings::new(2, Some(4 << 20));
    struct Count(u64);
    impl Sink for Count {
        fn take(&mut self, block: Data) -> Result<(), Error> {
            self.0 += block.len() as u64;
            Ok(())
        }
    }
    let input = Input::Stream(Box::new(Numbers::below(3_000_000)));
    let result = f.stream(vec![input], Some(Box::new(Count(0))), &settings).unwrap();
    assert_eq!(ints(&result), [600_000]);
    assert!(settings.pool.stats().peak < 4 << 20);
}

#[test]
fn an_argument_that_is_no_sequence_of_its_type_is_refused() {
    let f = native("def main(rows: {[int]}) = sum({sum(row) : row in rows})");
    let call = |data: Data| f.call(vec![data], &chunk(Some(1))).map(|d| ints(&d)[0]).map_err(|e| e.code);
    let rows = || Data::rows(Buffer::from_vec(vec![0i64, 2, 2, 5]), Data::numbers(vec![1i64; 5])).unwrap();
    assert_eq!(call(Data::array(rows())), Ok(5));
    assert_eq!(call(Data::array(Data::equal(2, 3, Data::numbers(vec![2i64; 6])).unwrap())), Ok(12));
    let reals = Data::equal(2, 3, Data::numbers(vec![2f64; 6])).unwrap();
    for odd in [rows(), Data::array(reals), Data::array(Data::array(rows())), Data::numbers(vec![1i64])] {
        assert_eq!(call(odd), Err(Code::BadArgument));
    }
}
