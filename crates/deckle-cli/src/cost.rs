//! `deckle cost`: the predicted cost of a program, as formulas and as numbers, and the metered cost of a run.

use crate::args::CostArgs;
use crate::report::{fail, print};
use deckle_analysis::cost::{Numbers, Prediction, predict};
use deckle_diag::{Code, Diagnostic, SourceMap, closest};
use deckle_engine::{Native, Options as NativeOptions, Outcome, Settings, bind, entry, source};
use deckle_interp::{Cost, Options};
use deckle_io::text::signature;
use deckle_ir::array::{Function, Program};
use deckle_ir::entity::Func;
use deckle_ir::size::Size;
use deckle_ir::value::Value;
use std::fmt::Write;
use std::time::Instant;

/// A run is metered if its predicted work is at most this: a few seconds.
const QUICK: u64 = 20_000_000;

/// Predicts the cost of a program and returns the exit code.
pub fn cost(args: &CostArgs) -> u8 {
    let mut sources = SourceMap::new();
    match show(args, &mut sources) {
        Ok(()) => 0,
        Err(diagnostics) => fail(&diagnostics, &sources),
    }
}

fn show(args: &CostArgs, sources: &mut SourceMap) -> Outcome<()> {
    let compiled = source::compile(&args.file, sources)?;
    let predictions = predict(&compiled.program);
    let mut text = String::new();
    if args.arguments.is_empty() && args.entry.is_none() && args.memory.is_none() {
        for (k, e) in compiled.entries.iter().enumerate() {
            let blank = if k == 0 { "" } else { "\n" };
            let function = entry::function(&compiled, e);
            let _ = writeln!(text, "{blank}{}", signature(&e.name, function));
            text += &table(&predictions[e.func.index()], args, sources, None);
        }
        return print(|out| write!(out, "{text}"));
    }
    let entry = entry::choose(&compiled, args.entry.as_deref()).map_err(|d| vec![d])?;
    let function = entry::function(&compiled, entry);
    let prediction = &predictions[entry.func.index()];
    let given: Vec<String> = args.arguments.iter().map(|a| plain(a)).collect();
    let names: Vec<&str> = given.iter().filter_map(|a| a.split_once('=')).map(|(n, _)| n.trim()).collect();
    let whole = function.param_names.iter().all(|p| names.contains(&p.as_str()));
    let values = match whole {
        true => Some(bind::values(&entry.name, function, &given, sources)?),
        false => None,
    };
    let mut numbers = Numbers::of_arguments(values.as_deref().unwrap_or(&[]));
    if values.is_none() {
        sizes(&given, prediction, function, &mut numbers)?;
    }
    let _ = writeln!(text, "{}", signature(&entry.name, function));
    let predicted = prediction.evaluate(&numbers);
    let metered = values.as_deref().map(|v| meter(&compiled.program, entry.func, v, predicted.as_ref()));
    let measured = values.as_deref().and_then(|v| measure(&compiled.program, entry.func, v, args));
    text += &table(prediction, args, sources, Some(&Figures { numbers, predicted, metered, measured }));
    print(|out| write!(out, "{text}"))
}

/// The known numbers.
struct Figures<'v> {
    numbers: Numbers<'v>,
    predicted: Option<Cost>,
    metered: Option<Result<Cost, String>>,
    /// For native code.
    measured: Option<Result<Measured, String>>,
}

/// The resources of a native run.
struct Measured {
    seconds: f64,
    /// The bytes of all arrays at the peak.
    peak: u64,
}

/// The same argument with a number such as `1e6` expanded.
fn plain(argument: &str) -> String {
    let Some((name, text)) = argument.split_once('=') else { return argument.to_string() };
    let number = text.replace('_', "");
    match number.parse::<f64>() {
        Ok(x) if number.contains(['e', 'E']) && x.fract() == 0.0 && x.abs() < 9e15 => format!("{name}={}", x as i64),
        _ => argument.to_string(),
    }
}

/// Numbers for the symbols of a prediction.
fn sizes(given: &[String], prediction: &Prediction, function: &Function, numbers: &mut Numbers<'_>) -> Outcome<()> {
    let mut faults = Vec::new();
    for argument in given {
        let bad = |message: String| Diagnostic::nowhere(Code::BadArgument, message);
        let parsed = argument.split_once('=').map(|(name, text)| (name.trim(), text.replace('_', "").parse::<u64>()));
        match parsed {
            None => faults.push(bad(format!("the argument `{argument}` has no name")).help("write `n=1000000`, say")),
            Some((name, Err(_))) => faults.push(
                bad(format!("`{name}` is given a value, but not all parameters of `{}` are", function.name))
                    .help("give numbers for sizes and integers, or a value for every parameter"),
            ),
            Some((name, Ok(number))) if !numbers.set(prediction, name, number) => {
                let known: Vec<&str> = prediction.symbols_used().into_iter().map(|(_, s)| s.name.as_str()).collect();
                let fault = bad(format!("nothing in the cost of `{}` is called `{name}`", function.name));
                faults.push(match closest(name, known.iter().copied()) {
                    Some(meant) => fault.help(format!("did you mean `{meant}`?")),
                    None => fault.note(format!("it is written in {}", known.join(", "))),
                });
            }
            Some(_) => {}
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The metered cost of a run, or why it is not known.
fn meter(program: &Program, func: Func, values: &[Value], predicted: Option<&Cost>) -> Result<Cost, String> {
    match predicted {
        Some(cost) if cost.work > QUICK => return Err(format!("not run: more than {QUICK} operations")),
        _ => {}
    }
    let options = Options { max_steps: Some(10 * QUICK), ..Options::default() };
    deckle_interp::run(program, func, values, &options).map(|o| o.cost).map_err(|d| format!("not known: {}", d.message))
}

/// The resources of native code, with this number of elements of a sequence at once and of threads; or why they are not known. `None` without an LLVM.
fn measure(program: &Program, func: Func, values: &[Value], args: &CostArgs) -> Option<Result<Measured, String>> {
    let chunk = i64::try_from(args.chunk).ok();
    let native = match Native::compile(program, func, NativeOptions { given: NativeOptions::ALL, ..Default::default() })
    {
        Ok(native) => native,
        Err(d) if d.code == Code::NoLlvm => return None,
        Err(d) => return Some(Err(format!("not known: {}", d.message))),
    };
    let settings = Settings { chunk, ..Settings::new(usize::try_from(args.threads).unwrap_or(1), args.memory) };
    let started = Instant::now();
    let ran = native.run(values, &settings);
    let seconds = started.elapsed().as_secs_f64();
    let peak = settings.pool.stats().data_peak;
    Some(ran.map(|_| Measured { seconds, peak }).map_err(|d| format!("not known: {}", d.message)))
}

fn table(prediction: &Prediction, args: &CostArgs, sources: &SourceMap, figures: Option<&Figures<'_>>) -> String {
    let cost = &prediction.cost;
    let predicted = figures.map(|f| f.predicted);
    let metered = figures.and_then(|f| f.metered.as_ref());
    type Row<'a> = (&'a str, &'a Size, fn(&Cost) -> u64);
    let rows: [Row<'_>; 4] = [
        ("work", &cost.work, |c| c.work),
        ("depth", &cost.depth, |c| c.depth),
        ("space, one element at a time", &cost.space.seq, |c| c.space.seq),
        ("space, all at once", &cost.space.par, |c| c.space.par),
    ];
    let mut lines = vec![["".to_string(), "formula".into(), "predicted".into(), "metered".into()]];
    for (name, formula, pick) in rows {
        let number = |c: Option<Cost>| c.map_or("not known".into(), |c| grouped(pick(&c)));
        lines.push([
            name.to_string(),
            prediction.show(formula),
            predicted.map_or(String::new(), number),
            metered.map_or(String::new(), |m| m.as_ref().map_or("-".into(), |c| grouped(pick(c)))),
        ]);
    }
    let bytes = figures.map(|f| prediction.peak_bytes(&f.numbers, args.chunk, args.threads));
    let peak = bytes.map_or(String::new(), |b| b.map_or("not known".into(), grouped));
    let measured = figures.and_then(|f| f.measured.as_ref());
    let taken = measured.map_or(String::new(), |m| m.as_ref().map_or("-".into(), |m| grouped(m.peak)));
    lines.push(["bytes at the peak, at most".into(), prediction.show(&prediction.peak), peak, taken]);
    let mut out = columns(&lines);
    match measured {
        Some(Ok(m)) => {
            let _ = writeln!(out, "  native code took {:.6} seconds; its bytes are those of all arrays", m.seconds);
        }
        Some(Err(why)) => {
            let _ = writeln!(out, "  native code: {why}");
        }
        None => {}
    }
    if let Some(Err(why)) = metered {
        let _ = writeln!(out, "  metered: {why}");
    }
    if figures.is_some() {
        let _ =
            writeln!(out, "  bytes are for {} elements of a sequence at once, threads = {}", args.chunk, args.threads);
    }
    if let (Some(budget), Some(f)) = (args.memory, figures) {
        let _ = match prediction.chunk_for(&f.numbers, budget, args.threads) {
            Some(chunk) if chunk >= u64::from(u32::MAX) => {
                writeln!(out, "  {} bytes are enough for any chunk", grouped(budget))
            }
            Some(chunk) => {
                writeln!(out, "  {} bytes are enough for chunks of {} elements", grouped(budget), grouped(chunk))
            }
            None if prediction.peak_bytes(&f.numbers, 1, args.threads).is_none() => {
                writeln!(out, "  whether {} bytes are enough is not known: give numbers for the sizes", grouped(budget))
            }
            None => writeln!(out, "  {} bytes are not enough, not even for one element at a time", grouped(budget)),
        };
    }
    for (_, symbol) in prediction.symbols_used() {
        let place =
            sources.get(symbol.span.file).filter(|_| !symbol.span.is_none()).map(|f| f.line_col(symbol.span.lo));
        let place = place.map_or(String::new(), |(line, column)| format!("  {line}:{column}"));
        let _ = writeln!(out, "  where {}{place}", prediction.describe(symbol));
    }
    out
}

/// A table with aligned columns; empty ones are omitted.
fn columns(lines: &[[String; 4]]) -> String {
    let width = |k: usize| lines.iter().map(|l| l[k].chars().count()).max().unwrap_or(0);
    let used: Vec<usize> = (0..4).filter(|&k| k < 2 || lines[1..].iter().any(|l| !l[k].is_empty())).collect();
    let mut out = String::new();
    for line in lines {
        let cells = used.iter().map(|&k| {
            let pad = " ".repeat(width(k) - line[k].chars().count());
            // Numbers are right-aligned.
            if k < 2 { format!("{}{pad}", line[k]) } else { format!("{pad}{}", line[k]) }
        });
        let _ = writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

/// `1_000_000`, with separators.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (k, d) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push('_');
        }
        out.push(d);
    }
    out
}
