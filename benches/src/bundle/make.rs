//! Builds the folder: collects the cases, runs them in the interpreter, and compiles their functions.

use super::stored::Stored;
use super::{Asked, SCHEMA, compare, streams};
use crate::{cases, machine, program};
use deckle_diag::{Class, Code, SourceMap};
use deckle_engine::{Options, entry, pipeline, source};
use deckle_gen::Config;
use deckle_gen::compare::is_limit;
use deckle_ir::array::{self, Program};
use deckle_ir::entity::Func;
use deckle_ir::value::Value;
use deckle_llvm::Gpu;
use rayon::prelude::*;
use serde_json::json;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The least compute capability: the driver compiles this code for every newer device.
const TARGET: (u32, u32) = (7, 0);
/// The number of random programs, if none is given.
const RANDOM: u64 = 300;
/// The limits on steps and elements of a case in the interpreter: with more, it is no case.
const STEPS: u64 = 20_000_000;
const ELEMENTS: u64 = 1 << 22;

const RUN: &str = "\
#!/bin/sh
# Runs the tests and benchmarks of this folder on the GPU of this machine, and writes results.json. See docs/gpu.md of Deckle.
here=$(dirname \"$0\")
exec \"$here/deckle-bench\" gpu-run \"$here\" \"$@\"
";

/// How functions are compiled, here and on the machine with the GPU: all arguments are given away.
pub fn options() -> Options {
    Options { given: Options::ALL, ..Options::default() }
}

/// Builds the folder.
pub fn make(asked: &Asked) -> Result<ExitCode, String> {
    let dir = asked.dir.clone().unwrap_or_else(|| deckle_filetests::root().join("target/gpu-bundle"));
    prepare(&dir)?;
    let mut cases = files(asked);
    cases.extend(random(asked.seed, asked.random.unwrap_or(RANDOM)));
    cases.extend(benchmarks(asked)?);
    let (left_out, is_broken) = compile(&mut cases, &dir)?;
    cases.retain(|case| !case.ptx.is_empty());
    let mut names = Vec::new();
    for (k, case) in cases.iter().enumerate() {
        names.push(format!("{k:04}.json"));
        write(&dir.join("cases").join(&names[k]), &case.to_json().to_string())?;
    }
    copy_program(&dir)?;
    let manifest = json!({
        "schema": SCHEMA, "made": machine::today(), "target": format!("sm_{}{}", TARGET.0, TARGET.1),
        "seed": asked.seed, "cases": names, "tests": cases.iter().filter(|c| c.kind != "benchmark").count(), "left_out": left_out,
    });
    // Last, so that a folder with a manifest is complete.
    write(&dir.join("manifest.json"), &format!("{manifest:#}\n"))?;
    for kind in ["file", "example", "random", "benchmark"] {
        println!("{kind:10} {:5}", cases.iter().filter(|c| c.kind == kind).count());
    }
    println!("left out   {:5}\n{}", left_out.len(), dir.display());
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Creates an empty folder, in place of an earlier one.
fn prepare(dir: &Path) -> Result<(), String> {
    let fault = |e: std::io::Error| format!("{}: {e}", dir.display());
    if dir.join("manifest.json").exists() {
        fs::remove_dir_all(dir).map_err(fault)?;
    }
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{}: the folder has other files", dir.display()));
    }
    ["cases", "ptx"].iter().try_for_each(|name| fs::create_dir_all(dir.join(name)).map_err(fault))
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// This program, and how it is started.
fn copy_program(dir: &Path) -> Result<(), String> {
    let copied = std::env::current_exe().and_then(|this| fs::copy(this, dir.join("deckle-bench")));
    copied.map_err(|e| format!("{}: {e}", dir.display()))?;
    write(&dir.join("run.sh"), RUN)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(dir.join("run.sh"), all).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    Ok(())
}

/// A case with the result of the interpreter; nothing if that reaches a limit. The program is the one that is read from its text.
fn case(
    name: String,
    kind: &str,
    seed: Option<u64>,
    (program, func): (&Program, Func),
    args: Vec<Value>,
) -> Option<Stored> {
    let program = array::parse(&program.to_string()).ok()?;
    let limits = deckle_interp::Options { max_steps: Some(STEPS), max_elements: ELEMENTS, ..Default::default() };
    let expected = match deckle_interp::run(&program, func, &args, &limits) {
        Err(d) if is_limit(&d) => return None,
        run => Some(run.map(|o| o.value).map_err(|d| compare::line(&d))),
    };
    Some(Stored { name, kind: kind.into(), seed, program, func, args, expected, ptx: String::new() })
}

/// The runs of test files, and the examples.
fn files(asked: &Asked) -> Vec<Stored> {
    let runs = deckle_filetests::runs(&|name| asked.is_wanted(name));
    let one = |run: deckle_filetests::FileRun| {
        let kind = if run.name.starts_with("examples/") { "example" } else { "file" };
        case(run.name, kind, None, (&run.program, run.func), run.args)
    };
    runs.into_par_iter().filter_map(one).collect()
}

/// Random programs of all kinds in turn; those that reach a limit do not count.
fn random(seed: u64, count: u64) -> Vec<Stored> {
    let kinds = [
        Config::flat(),
        Config::nested(),
        Config::default(),
        Config::nested().with_idioms(),
        Config::default().with_idioms(),
        // Several blocks of threads.
        Config::nested().with_idioms().at_size(4000),
    ];
    let one = |seed: u64| {
        let random = deckle_gen::program(seed, &kinds[(seed % kinds.len() as u64) as usize]);
        case(format!("random {seed}"), "random", Some(seed), (&random.program, random.entry), random.args)
    };
    let (mut cases, mut seed) = (Vec::new(), seed);
    while cases.len() < count as usize {
        let next = seed + (count - cases.len() as u64);
        cases.extend((seed..next).into_par_iter().filter_map(one).collect::<Vec<_>>());
        seed = next;
    }
    cases
}

/// Benchmarks, whose data is computed where they run.
fn benchmarks(asked: &Asked) -> Result<Vec<Stored>, String> {
    let cases = cases::all().into_iter().map(|bench| (bench.name, bench.program, bench.entry));
    let streams = streams::ALL.iter().map(|(name, entry)| (name.to_string(), streams::PROGRAM, entry.to_string()));
    let wanted = cases.chain(streams).filter(|(name, ..)| asked.is_wanted(name));
    let one = |(name, file, entry): (String, &str, String)| {
        let mut sources = SourceMap::new();
        let compiled = source::compile(&program::folder().join(file), &mut sources);
        let compiled = compiled.map_err(|ds| deckle_diag::render_all(&ds, &sources, false))?;
        let func = entry::choose(&compiled, Some(&entry)).map_err(|d| d.message)?.func;
        let program = array::parse(&compiled.program.to_string()).map_err(|e| e.to_string())?;
        let (kind, ptx) = ("benchmark".into(), String::new());
        Ok(Stored { name, kind, seed: None, program, func, args: Vec::new(), expected: None, ptx })
    };
    wanted.map(one).collect()
}

/// Compiles each function once and writes its code. Cases that cannot be compiled keep no code, and are returned with the reason, and with whether one of them shows a bug.
fn compile(cases: &mut [Stored], dir: &Path) -> Result<(Vec<serde_json::Value>, bool), String> {
    let key = |case: &Stored| (case.program.to_string(), case.func);
    let keys: Vec<_> = cases.iter().map(key).collect();
    let mut functions: HashMap<_, usize> = HashMap::new();
    let mut first = Vec::new();
    for (k, key) in keys.iter().enumerate() {
        functions.entry(key).or_insert_with(|| {
            first.push(k);
            first.len() - 1
        });
    }
    let target = Gpu::new(TARGET.0, TARGET.1);
    let ptx = |k: &usize| pipeline::ptx(&cases[*k].program, cases[*k].func, options(), &target);
    let compiled: Vec<_> = first.par_iter().map(ptx).collect();
    let (mut left_out, mut is_broken) = (Vec::new(), false);
    for (n, ptx) in compiled.iter().enumerate() {
        if let Ok(ptx) = ptx {
            write(&dir.join("ptx").join(format!("{n:04}.ptx")), ptx)?;
        }
    }
    for (case, key) in cases.iter_mut().zip(&keys) {
        let n = functions[key];
        match &compiled[n] {
            Ok(_) => case.ptx = format!("{n:04}.ptx"),
            Err(d) if d.code == Code::NoLlvm => return Err(format!("{}: {}", case.name, compare::line(d))),
            Err(d) => {
                if d.class() == Class::Bug {
                    eprintln!("{} does not compile: {}", case.name, compare::line(d));
                    is_broken = true;
                }
                left_out.push(json!({"name": case.name, "why": compare::line(d)}));
            }
        }
    }
    Ok((left_out, is_broken))
}
