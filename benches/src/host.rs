//! The performance that a Rust program sees: calls of the crate `deckle` compared to plain Rust, rayon and ndarray on the same `Vec`s, including conversion.
//!
//! Each benchmark takes ordinary host data, calls a compiled program like any user, and is timed until the result is available. The rivals do the same work with the same result,
//! alternating with it.

use crate::measure::Times;
use crate::options::Options;
use crate::report::Row;
use deckle::prelude::*;
use ndarray::{ArrayView1, ArrayView2};
use rayon::prelude::*;
use serde_json::json;
use std::time::Instant;

const NAMES: [&str; 13] = [
    "host-dot",
    "host-saxpy",
    "host-softmax",
    "host-means",
    "host-csr",
    "host-histogram",
    "host-blackscholes",
    "host-pagerank",
    "host-inout",
    "host-copied",
    "host-call",
    "host-feed",
    "host-feed-records",
];
const TRIES: usize = 9;

/// The names of the selected benchmarks.
pub fn wanted(options: &Options) -> Vec<&'static str> {
    let is_meant = |n: &&str| options.names.is_empty() || options.names.iter().any(|w| w == n || w == "host");
    NAMES.into_iter().filter(is_meant).collect()
}

/// Runs them.
pub fn run(options: &Options, tell: &mut dyn FnMut(Row)) {
    for name in wanted(options) {
        for &threads in &options.threads {
            let mut line = json!({"bench": name, "threads": threads});
            let mut rivals = Vec::new();
            match bench(name, threads, options.quick) {
                Ok(done) => {
                    line["size"] = json!(done.size);
                    for (way, times) in done.times {
                        if way == DECKLE {
                            line["seconds"] = json!(times.median());
                            line["min"] = json!(times.min());
                            line["max"] = json!(times.max());
                            line["runs"] = json!(times.len());
                        } else {
                            rivals.push((way.to_string(), times.median()));
                        }
                    }
                    if let (Some(most), Some(seconds)) = (done.most, line["seconds"].as_f64()) {
                        line["of_limit"] = json!(most / seconds);
                        line["limit"] = json!(format!("{:.3} µs asked for", most * 1e6));
                    }
                    if let Some(bytes) = done.bytes {
                        (line["bytes"], line["unit"]) = (json!(bytes), json!("flop"));
                    }
                }
                Err(message) => (line["failed"], line["message"]) = (json!("run"), json!(message)),
            }
            tell(Row { line, rivals: rivals.into_iter().collect() });
        }
    }
}

/// The outcome of a benchmark.
struct Done {
    size: String,
    /// The minimal bytes read and written, if that is the bound.
    bytes: Option<f64>,
    /// The goal in seconds.
    most: Option<f64>,
    times: Vec<(&'static str, Times)>,
}

const DECKLE: &str = "Deckle";

type Outcome<T> = Result<T, String>;

/// A timed function: it returns its own seconds.
type Way<'a> = (&'static str, Box<dyn FnMut() -> Outcome<f64> + 'a>);

/// The times of all, alternating. The first round is a warm-up.
fn in_turns(mut ways: Vec<Way<'_>>) -> Outcome<Vec<(&'static str, Times)>> {
    let mut all = vec![Vec::new(); ways.len()];
    for round in 0..=TRIES {
        for ((_, way), times) in ways.iter_mut().zip(&mut all) {
            let seconds = way()?;
            if round > 0 {
                times.push(seconds);
            }
        }
    }
    Ok(ways.iter().map(|w| w.0).zip(all.into_iter().map(Times::new)).collect())
}

/// The result of `f`, and its seconds.
fn timed<R>(f: impl FnOnce() -> R) -> (R, f64) {
    let begun = Instant::now();
    let result = f();
    (result, begun.elapsed().as_secs_f64())
}

/// Times a function that returns a number, which must be close to another.
fn near<'a>(wanted: f64, mut f: impl FnMut() -> Outcome<f64> + 'a) -> Box<dyn FnMut() -> Outcome<f64> + 'a> {
    Box::new(move || {
        let (got, seconds) = timed(&mut f);
        let got = got?;
        if (got - wanted).abs() <= 1e-3 * wanted.abs().max(1e-6) {
            Ok(seconds)
        } else {
            Err(format!("{got} in the place of {wanted}"))
        }
    })
}

/// Times a function that returns a vector, which must be close to another where it is sampled.
fn near_all<'a, V: AsRef<[f32]>>(
    wanted: &'a [f32],
    mut f: impl FnMut() -> Outcome<V> + 'a,
) -> Box<dyn FnMut() -> Outcome<f64> + 'a> {
    Box::new(move || {
        let (got, seconds) = timed(&mut f);
        let got = got?;
        let got = got.as_ref();
        if got.len() != wanted.len() {
            return Err(format!("{} elements in the place of {}", got.len(), wanted.len()));
        }
        let step = (got.len() / 1000).max(1);
        let is_far = |i: &usize| (got[*i] - wanted[*i]).abs() > 1e-3 * wanted[*i].abs().max(1e-3);
        match (0..got.len()).step_by(step).find(is_far) {
            Some(i) => Err(format!("element {i} is {} in the place of {}", got[i], wanted[i])),
            None => Ok(seconds),
        }
    })
}

fn said(e: Error) -> String {
    e.to_string()
}

fn floats(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1000) as f32 * 0.001 + 0.25).collect()
}

fn sum(xs: &[f32]) -> f64 {
    xs.iter().map(|x| f64::from(*x)).sum()
}

fn bench(name: &str, threads: usize, quick: bool) -> Outcome<Done> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| e.to_string())?;
    let on = Cpu::threads(threads);
    let big = |log: u32| 1usize << if quick { log.min(16) } else { log };
    match name {
        "host-dot" => {
            let n = big(25);
            let (xs, ys) = (floats(n), floats(n));
            let f = compile(|xs: Arr<f32>, ys: Arr<f32>| xs.zip_with(ys, |x, y| x * y).sum()).map_err(said)?.on(on);
            let wanted = xs.iter().zip(&ys).map(|(x, y)| f64::from(x * y)).sum::<f64>();
            let mut ways: Vec<Way<'_>> = vec![
                (DECKLE, near(wanted, || f.call(&xs, &ys).map(f64::from).map_err(said))),
                (
                    "rayon",
                    near(wanted, || {
                        // In parts, to limit the rounding error of a long sum.
                        let dot = |(x, y): (&[f32], &[f32])| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
                        Ok(pool.install(|| xs.par_chunks(4096).zip(ys.par_chunks(4096)).map(dot).map(f64::from).sum()))
                    }),
                ),
            ];
            if threads == 1 {
                let (x, y) = (ArrayView1::from(&xs), ArrayView1::from(&ys));
                ways.push(("ndarray", near(wanted, move || Ok(f64::from(x.dot(&y))))));
            }
            Ok(Done {
                size: format!("2^{} f32, lent", n.ilog2()),
                bytes: Some(8.0 * n as f64),
                most: None,
                times: in_turns(ways)?,
            })
        }
        "host-saxpy" => {
            let n = big(25);
            let xs = floats(n);
            let (mut ours, mut theirs) = (Some(vec![1f32; n]), vec![1f32; n]);
            let f = compile(|a: Exp<f32>, xs: Arr<f32>, ys: Arr<f32>| xs.zip_with(ys, move |x, y| a * x + y));
            let f = f.map_err(said)?.on(on);
            let deckle = || {
                let ys = ours.take().unwrap_or_default();
                let (out, seconds) = timed(|| f.call(0.001, &xs, ys));
                ours = Some(out.map_err(said)?.into_vec());
                Ok(seconds)
            };
            let rayon = || {
                let update = |(y, x): (&mut f32, &f32)| *y += 0.001 * x;
                Ok(timed(|| pool.install(|| theirs.par_iter_mut().zip(&xs).for_each(update))).1)
            };
            let times = in_turns(vec![(DECKLE, Box::new(deckle)), ("rayon", Box::new(rayon))])?;
            let (a, b) = (sum(&ours.unwrap_or_default()), sum(&theirs));
            if (a - b).abs() > 1e-3 * b.abs() {
                return Err(format!("{a} in the place of {b}"));
            }
            Ok(Done { size: format!("2^{} f32, in place", n.ilog2()), bytes: Some(12.0 * n as f64), most: None, times })
        }
        "host-softmax" => {
            let (rows, cols) = (big(12), 2048);
            let m = Array::<f32, D2>::new(&[rows, cols], floats(rows * cols)).map_err(said)?;
            let f = compile(|m: Arr<f32, D2>| {
                m.rows()
                    .map(|row| {
                        let most = row.max();
                        let powers = row.map(|x| (x - most).exp());
                        let all = powers.sum();
                        powers.map(|x| x / all)
                    })
                    .regular()
            });
            let f = f.map_err(said)?.on(on);
            let plain = |row: &[f32]| {
                let most = row.iter().copied().fold(f32::MIN, f32::max);
                let powers: Vec<f32> = row.iter().map(|x| (x - most).exp()).collect();
                let all: f32 = powers.iter().sum();
                powers.into_iter().map(move |x| x / all)
            };
            let wanted: Vec<f32> = m.as_slice().chunks(cols).flat_map(plain).collect();
            let softmax = |(to, row): (&mut [f32], &[f32])| {
                let most = row.iter().copied().fold(f32::MIN, f32::max);
                let mut all = 0.0;
                to.iter_mut().zip(row).for_each(|(t, x)| {
                    *t = (x - most).exp();
                    all += *t;
                });
                to.iter_mut().for_each(|t| *t /= all);
            };
            let mut ways: Vec<Way<'_>> = vec![
                (DECKLE, near_all(&wanted, || f.call(&m).map(Array::into_vec).map_err(said))),
                (
                    "rayon",
                    near_all(&wanted, || {
                        let mut out = vec![0f32; rows * cols];
                        let parts = || out.par_chunks_mut(cols).zip(m.as_slice().par_chunks(cols)).for_each(softmax);
                        pool.install(parts);
                        Ok(out)
                    }),
                ),
            ];
            if threads == 1 {
                let view = ArrayView2::from_shape((rows, cols), m.as_slice()).map_err(|e| e.to_string())?;
                ways.push((
                    "ndarray",
                    near_all(&wanted, move || {
                        let mut out = ndarray::Array2::<f32>::zeros((rows, cols));
                        for (row, mut to) in view.rows().into_iter().zip(out.rows_mut()) {
                            let most = row.fold(f32::MIN, |a, b| a.max(*b));
                            to.assign(&row.mapv(|x| (x - most).exp()));
                            let all = to.sum();
                            to /= all;
                        }
                        Ok(out.into_raw_vec_and_offset().0)
                    }),
                ));
            }
            let size = format!("{rows} rows of {cols} f32");
            Ok(Done { size, bytes: Some(8.0 * (rows * cols) as f64), most: None, times: in_turns(ways)? })
        }
        "host-means" => {
            let ragged = rows_of(big(20))?;
            let f = compile(|rows: Arr<Arr<f32>>| rows.map(|row| row.sum() / row.len().cast::<f32>()));
            let f = f.map_err(said)?.on(on);
            let mean = |i: usize| {
                let row = ragged.row(i).unwrap_or_default();
                row.iter().sum::<f32>() / row.len() as f32
            };
            let wanted: Vec<f32> = (0..ragged.len()).map(mean).collect();
            let ways: Vec<Way<'_>> = vec![
                (DECKLE, near_all(&wanted, || f.call(&ragged).map(Array::into_vec).map_err(said))),
                (
                    "rayon",
                    near_all(&wanted, || {
                        Ok(pool.install(|| (0..ragged.len()).into_par_iter().map(mean).collect::<Vec<f32>>()))
                    }),
                ),
            ];
            let bytes = 4.0 * ragged.data().len() as f64 + 12.0 * ragged.len() as f64;
            Ok(Done {
                size: format!("2^{} rows, {} f32", ragged.len().ilog2(), ragged.data().len()),
                bytes: Some(bytes),
                most: None,
                times: in_turns(ways)?,
            })
        }
        "host-csr" | "host-pagerank" => {
            let n = big(20);
            let lengths = rows_of(n)?;
            let (off, all) = (lengths.offsets().to_vec(), lengths.data().len());
            let cols: Vec<i32> = (0..all).map(|k| ((k * 2_654_435_761) % n) as i32).collect();
            let x = floats(n);
            let size = format!("2^{} rows, {all} entries", n.ilog2());
            if name == "host-csr" {
                let vals = floats(all);
                let f = compile(|off: Arr<i64>, cols: Arr<i32>, vals: Arr<f32>, x: Arr<f32>| {
                    cols.zip(vals).split_offsets(off).map(|row| {
                        row.map(|e| {
                            let (col, val) = e.unpack();
                            val * x.at(col.cast::<i64>())
                        })
                        .sum()
                    })
                });
                let f = f.map_err(said)?.on(on);
                let row = |i: usize| {
                    let (lo, hi) = (off[i] as usize, off[i + 1] as usize);
                    cols[lo..hi].iter().zip(&vals[lo..hi]).map(|(c, v)| v * x[*c as usize]).sum::<f32>()
                };
                let wanted: Vec<f32> = (0..n).map(row).collect();
                let ways: Vec<Way<'_>> = vec![
                    (DECKLE, near_all(&wanted, || f.call(&off, &cols, &vals, &x).map(Array::into_vec).map_err(said))),
                    (
                        "rayon",
                        near_all(
                            &wanted,
                            || Ok(pool.install(|| (0..n).into_par_iter().map(row).collect::<Vec<f32>>())),
                        ),
                    ),
                ];
                let bytes = 8.0 * all as f64 + 16.0 * n as f64;
                return Ok(Done { size, bytes: Some(bytes), most: None, times: in_turns(ways)? });
            }
            let degree: Vec<f32> = (0..n).map(|i| (1 + i % 31) as f32).collect();
            let f = compile(|off: Arr<i64>, cols: Arr<i32>, rank: Arr<f32>, degree: Arr<f32>| {
                let share = rank.zip_with(degree, |r, d| r / d);
                let n = rank.len().cast::<f32>();
                cols.split_offsets(off).map(|row| row.map(|u| share.at(u.cast::<i64>())).sum() * 0.85f32 + 0.15f32 / n)
            });
            let f = f.map_err(said)?.on(on);
            let round = |share: &[f32], i: usize| {
                let row = &cols[off[i] as usize..off[i + 1] as usize];
                row.iter().map(|u| share[*u as usize]).sum::<f32>() * 0.85 + 0.15 / n as f32
            };
            let share: Vec<f32> = x.iter().zip(&degree).map(|(r, d)| r / d).collect();
            let wanted: Vec<f32> = (0..n).map(|i| round(&share, i)).collect();
            let ways: Vec<Way<'_>> = vec![
                (DECKLE, near_all(&wanted, || f.call(&off, &cols, &x, &degree).map(Array::into_vec).map_err(said))),
                (
                    "rayon",
                    near_all(&wanted, || {
                        Ok(pool.install(|| {
                            let share: Vec<f32> = x.par_iter().zip(&degree).map(|(r, d)| r / d).collect();
                            (0..n).into_par_iter().map(|i| round(&share, i)).collect::<Vec<f32>>()
                        }))
                    }),
                ),
            ];
            let bytes = 4.0 * all as f64 + 28.0 * n as f64;
            Ok(Done { size, bytes: Some(bytes), most: None, times: in_turns(ways)? })
        }
        "host-histogram" => {
            let n = big(26);
            let xs: Vec<u8> = (0..n).map(|i| ((i * 2_654_435_761) >> 7) as u8).collect();
            let f = compile(|xs: Arr<u8>| {
                fill(1i64, xs.len()).histogram(xs.map(|x| x.cast::<i64>()), 256, 0, |a, b| a + b)
            });
            let f = f.map_err(said)?.on(on);
            let count = |part: &[u8]| {
                let mut bins = [0i64; 256];
                part.iter().for_each(|x| bins[usize::from(*x)] += 1);
                bins
            };
            let both = |mut a: [i64; 256], b: [i64; 256]| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            };
            let bins = count(&xs);
            let check =
                |got: &[i64], seconds: f64| if got == bins { Ok(seconds) } else { Err("other counts".to_string()) };
            let deckle = || {
                let (got, seconds) = timed(|| f.call(&xs));
                check(got.map_err(said)?.as_slice(), seconds)
            };
            let rayon = || {
                let (got, seconds) =
                    timed(|| pool.install(|| xs.par_chunks(1 << 16).map(count).reduce(|| [0; 256], both)));
                check(&got, seconds)
            };
            let times = in_turns(vec![(DECKLE, Box::new(deckle)), ("rayon", Box::new(rayon))])?;
            Ok(Done { size: format!("2^{} u8, 256 bins", n.ilog2()), bytes: Some(n as f64), most: None, times })
        }
        "host-blackscholes" => {
            let n = big(22);
            let options: Vec<Quote> = (0..n).map(quote).collect();
            let f = compile(|options: Arr<Quote>| {
                options.map(|o| {
                    let (s, k, t) = (o.spot(), o.strike(), o.years());
                    let spread = t.sqrt() * VOLATILITY;
                    let d1 = ((s / k).ln() + t * (RATE + 0.5 * VOLATILITY * VOLATILITY)) / spread;
                    let normal = |d: Exp<f32>| {
                        let a = d.abs();
                        let u = constant(1.0f32) / (a * 0.231_641_9 + 1.0);
                        let p = u
                            * (u * (u * (u * (u * 1.330_274_5 - 1.821_255_9) + 1.781_477_9) - 0.356_563_78)
                                + 0.319_381_54);
                        let tail = (a * a * -0.5).exp() * p * 0.398_942_3;
                        select(d.lt(0.0), tail, constant(1.0f32) - tail)
                    };
                    s * normal(d1) - k * (t * -RATE).exp() * normal(d1 - spread)
                })
            });
            let f = f.map_err(said)?.on(on);
            let wanted: Vec<f32> = options.iter().map(price).collect();
            let ways: Vec<Way<'_>> = vec![
                (DECKLE, near_all(&wanted, || f.call(&options).map(Array::into_vec).map_err(said))),
                (
                    "rayon",
                    near_all(&wanted, || Ok(pool.install(|| options.par_iter().map(price).collect::<Vec<f32>>()))),
                ),
            ];
            Ok(Done {
                size: format!("2^{} structs of 3 f32", n.ilog2()),
                bytes: None,
                most: None,
                times: in_turns(ways)?,
            })
        }
        "host-inout" | "host-copied" => {
            let n = if quick { 100_000 } else { 100_000_000 };
            let f = compile(|xs: Arr<f32>| xs.map(|x| x + 1.0)).map_err(said)?.on(on);
            if name == "host-copied" {
                let xs = floats(n);
                let wanted: Vec<f32> = xs.iter().map(|x| x + 1.0).collect();
                let ways: Vec<Way<'_>> = vec![
                    (DECKLE, near_all(&wanted, || f.call(&xs).map(Array::into_vec).map_err(said))),
                    (
                        "rayon",
                        near_all(&wanted, || Ok(pool.install(|| xs.par_iter().map(|x| x + 1.0).collect::<Vec<f32>>()))),
                    ),
                ];
                return Ok(Done {
                    size: format!("{n} f32, lent and new"),
                    bytes: Some(8.0 * n as f64),
                    most: None,
                    times: in_turns(ways)?,
                });
            }
            let (mut ours, mut theirs) = (Some(floats(n)), floats(n));
            let deckle = || {
                let xs = ours.take().unwrap_or_default();
                let at = xs.as_ptr();
                let (out, seconds) = timed(|| f.call(xs).map(Array::into_vec));
                let out = out.map_err(said)?;
                if out.as_ptr() != at {
                    return Err("the result is not where the argument was".into());
                }
                ours = Some(out);
                Ok(seconds)
            };
            let rayon = || Ok(timed(|| pool.install(|| theirs.par_iter_mut().for_each(|x| *x += 1.0))).1);
            let times = in_turns(vec![(DECKLE, Box::new(deckle)), ("rayon", Box::new(rayon))])?;
            Ok(Done { size: format!("{n} f32, moved in and out"), bytes: Some(8.0 * n as f64), most: None, times })
        }
        "host-call" => {
            let f = compile(|x: Exp<i64>| x + 1).map_err(said)?;
            let (one, many) = (f.on(Seq), f.on(on));
            let mut n = 0;
            // Together, so that the calls are measured and not the clock; for half a second, in which an idle core reaches its full clock rate.
            let mut calls = || {
                let (got, seconds) = timed(|| {
                    (0..CALLS).try_for_each(|_| {
                        let got = if threads == 1 { one.call(n) } else { many.call(n) }.map_err(said)?;
                        n += 1;
                        if got == n { Ok(()) } else { Err("another number".to_string()) }
                    })
                });
                got.map(|()| seconds / f64::from(CALLS))
            };
            let times = (0..if quick { 10 } else { 500 }).map(|_| calls()).collect::<Outcome<Vec<f64>>>()?;
            let most = if threads == 1 { 1e-6 } else { 3e-6 };
            Ok(Done { size: "x + 1".into(), bytes: None, most: Some(most), times: vec![(DECKLE, Times::new(times))] })
        }
        "host-feed" | "host-feed-records" => {
            let n = if quick { 100_000 } else { 10_000_000 };
            let (most, times) = if name == "host-feed" {
                let f = compile(|xs: Seq<f64>| xs.sum()).map_err(said)?.on(on);
                let wanted = (0..n).map(|i| i as f64).sum::<f64>();
                (5e-9, in_turns(vec![(DECKLE, near(wanted, || f.call(feed((0..n).map(|i| i as f64))).map_err(said)))])?)
            } else {
                let f = compile(|xs: Seq<Record>| xs.map(|r| r.a() + r.b() * r.j()).sum()).map_err(said)?.on(on);
                let wanted = (0..n).map(record).map(|r| f64::from(r.a + r.b * r.j)).sum::<f64>();
                let call = || f.call(feed((0..n).map(record))).map(f64::from).map_err(said);
                (60e-9, in_turns(vec![(DECKLE, near(wanted, call))])?)
            };
            Ok(Done { size: format!("{n} elements of an iterator"), bytes: None, most: Some(most * n as f64), times })
        }
        _ => Err("no such benchmark".into()),
    }
}

/// The number of calls that are timed together.
const CALLS: u32 = 1000;

/// Rows of lengths from 1 to 32.
fn rows_of(n: usize) -> Outcome<Ragged<f32>> {
    let mut offsets = vec![0i64];
    (0..n).for_each(|i| offsets.push(offsets[i] + 1 + ((i * 7919) % 32) as i64));
    let all = offsets[n] as usize;
    Ragged::new(offsets, floats(all)).map_err(said)
}

const VOLATILITY: f32 = 0.3;
const RATE: f32 = 0.02;

/// A call option.
#[derive(Clone, Copy, Debug, Elt)]
struct Quote {
    spot: f32,
    strike: f32,
    years: f32,
}

fn quote(i: usize) -> Quote {
    let part = |k: usize| ((i * k) % 1000) as f32 * 0.001;
    Quote { spot: 5.0 + 25.0 * part(7919), strike: 1.0 + 99.0 * part(104_729), years: 0.25 + 9.75 * part(1_299_709) }
}

/// The value of an option, by Black and Scholes.
fn price(o: &Quote) -> f32 {
    let spread = VOLATILITY * o.years.sqrt();
    let d1 = ((o.spot / o.strike).ln() + o.years * (RATE + 0.5 * VOLATILITY * VOLATILITY)) / spread;
    let normal = |d: f32| {
        let u = 1.0 / (1.0 + 0.231_641_9 * d.abs());
        let p = u * (u * (u * (u * (u * 1.330_274_5 - 1.821_255_9) + 1.781_477_9) - 0.356_563_78) + 0.319_381_54);
        let tail = (-0.5 * d * d).exp() * p * 0.398_942_3;
        if d < 0.0 { tail } else { 1.0 - tail }
    };
    o.spot * normal(d1) - o.strike * (-RATE * o.years).exp() * normal(d1 - spread)
}

/// A record of ten numbers.
#[derive(Clone, Copy, Debug, Elt)]
struct Record {
    a: f32,
    b: f32,
    c: f32,
    d: f32,
    e: f32,
    f: f32,
    g: f32,
    h: f32,
    i: f32,
    j: f32,
}

fn record(k: usize) -> Record {
    let x = (k % 1000) as f32 * 0.001;
    Record { a: x, b: 0.5, c: x, d: x, e: x, f: x, g: x, h: x, i: x, j: 1.0 - x }
}
