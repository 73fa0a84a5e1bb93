#!/usr/bin/env python3
"""Measures peers of Deckle's GPU benchmarks on this machine, and compares them with the results of the GPU bundle. See README.md."""

import argparse
import concurrent.futures
import glob
import json
import os
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Programs: file, how the names of its benchmarks begin, libraries. What takes longest to compile comes first.
PROGRAMS = [
    ("histogram", ["histogram"], []),
    ("segmented_reduce", ["ragged-sum", "ragged-max", "short-rows", "one-row-sum"], []),
    ("segmented_scan", ["ragged-scan", "one-row-scan"], []),
    ("dense", ["conv2d", "stencil7", "conv1d"], []),
    ("scan", ["scan-", "filter-"], []),
    ("sort", ["sort-"], []),
    ("transform", ["saxpy", "map-"], []),
    ("reduce", ["sum-", "dot-", "mapsum"], []),
    ("flat", ["copy", "transfer", "sum-", "dot-", "saxpy", "map-", "mapsum"], []),
    ("spmv", ["spmv", "pagerank"], ["cusparse"]),
    ("blas", ["matmul", "dot-", "saxpy"], ["cublas"]),
    ("arith", ["logsum", "blackscholes", "nbody"], []),
    ("discrete", ["md5", "sieve"], []),
]
TORCH = ["sum-", "dot-", "saxpy", "matmul", "conv2d", "conv1d", "spmv-uniform", "ragged", "short-rows", "scan-", "filter-"]
# The seconds that one program may take.
PATIENCE = 60


def is_asked(only, prefixes):
    """Whether a program may have a benchmark whose name contains one of the texts."""
    return not only or any(text in prefix or prefix in text or text.rstrip("-") in prefix for text in only for prefix in prefixes) or any(
        # A text from the middle or the end of a name, such as `f64`.
        not any(prefix.split("-")[0] in text for _, known, _ in PROGRAMS for prefix in known)
        for text in only
    )


def find_nvcc():
    places = [os.environ.get("NVCC"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"]
    places += [p for folder in packages() for p in sorted(glob.glob(f"{folder}/nvidia/*/bin/nvcc"))]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def packages():
    """The folders of Python's packages, which may have parts of the CUDA toolkit."""
    folders = [sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    try:
        folders += site.getsitepackages() + [site.getusersitepackages()]
    except AttributeError:
        pass
    return list(dict.fromkeys(f for f in folders if os.path.isdir(f)))


def library(nvcc, name):
    """The arguments for the compiler to find a library and its header, which may come with the toolkit or with a Python package."""
    header = {"cublas": "cublas_v2.h"}.get(name, f"{name}.h")
    root = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    roots = [root, f"{root}/targets/x86_64-linux", f"{root}/targets/sbsa-linux", "/usr/local/cuda", "/usr"]
    roots += [p for folder in packages() for p in sorted(glob.glob(f"{folder}/nvidia/*"))]
    arguments = []
    include = next((f"{r}/include" for r in roots if os.path.exists(f"{r}/include/{header}")), None)
    if include and include != "/usr/include":
        arguments.append(f"-I{include}")
    folders = [f"{r}/{lib}" for r in roots for lib in ("lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")]
    # Of the same toolkit as the header, if possible.
    folders.sort(key=lambda f: not (include and os.path.dirname(f).startswith(os.path.dirname(include))))
    for folder in folders:
        files = [f"{folder}/lib{name}.so"] if os.path.exists(f"{folder}/lib{name}.so") else sorted(glob.glob(f"{folder}/lib{name}.so.*"))
        if files:
            # Others that it needs may lie beside it.
            return arguments + [f"-L{folder}", "-Xlinker", f"-l:{os.path.basename(files[-1])}", "-Xlinker", f"-rpath={folder}", "-Xlinker", f"-rpath-link={folder}"]
    return arguments + [f"-l{name}"]


def compiled(nvcc, arch, build, program):
    """Compiles a program, unless it is there; returns why it could not be compiled, or None."""
    name, _, libraries = program
    source, target = f"{HERE}/{name}.cu", f"{build}/{name}"
    sources = [source] + glob.glob(f"{HERE}/*.cuh")
    if os.path.exists(target) and os.path.getmtime(target) > max(map(os.path.getmtime, sources)):
        return None
    command = [nvcc, "-O3", f"-arch={arch}", "-std=c++17", source, "-o", f"{target}.new", "-Xcompiler", "-pthread"]
    for lib in libraries:
        command += library(nvcc, lib)
    # Some packages have no libcudart.so, and the static one elsewhere.
    root = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    if os.path.exists(f"{root}/lib/libcudart_static.a"):
        command += [f"-L{root}/lib"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines()
        errors = [line for line in lines if "error" in line] or lines
        return "nvcc: " + " | ".join(errors[:4])
    os.replace(f"{target}.new", target)
    return None


def run(command, only, offsets, results):
    """Runs a program and collects its results. If it dies, starts it again without what it has tried."""
    tried = []
    deadline = time.time() + PATIENCE
    while True:
        before = len(tried)
        env = dict(os.environ, PEERS_ONLY="\n".join(only), PEERS_SKIP="\n".join(tried), PEERS_OFFSETS=offsets)
        current = None
        with tempfile.TemporaryFile("w+") as errors:
            try:
                child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
            except OSError as e:
                results.append({"name": os.path.basename(command[-1]), "peer": "the program", "failed": str(e)})
                return
            late = threading.Event()

            def stop():
                late.set()
                child.kill()

            timer = threading.Timer(max(1.0, deadline - time.time()), stop)
            timer.start()
            for line in child.stdout:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if event.pop("begin", False):
                    current = event
                    tried.append(f"{event['name']}|{event['peer']}")
                else:
                    current = None
                    results.append(event)
                    show(event)
            code = child.wait()
            timer.cancel()
            errors.seek(0)
            said = errors.read().strip().splitlines()[-1:]
        if code == 0:
            return
        why = f"it takes more than {PATIENCE} s" if late.is_set() else signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if current or code != 3:
            event = dict(current or {"name": os.path.basename(command[-1]), "peer": "the program"}, failed=": ".join([why] + said))
            results.append(event)
            show(event)
        if late.is_set() or len(tried) == before:
            return


def show(event):
    if "failed" in event:
        print(f"  {event['name']}: {event['peer']}: {event['failed']}", file=sys.stderr, flush=True)


def deckle_times(path):
    """Deckle's seconds by benchmark, in order, and remarks."""
    with open(path, encoding="utf-8") as f:
        results = json.load(f)
    times, remarks = {}, []
    copy = results.get("copy_bytes_per_second")
    if copy:
        times["copy"] = 2 * (1 << 30) / copy
    for result in results.get("results", []):
        if result.get("kind") != "benchmark":
            continue
        name, size = result["name"], str(result.get("size") or "")
        if size.endswith((" quick", " tiny")):
            remarks.append(f"{name} was run with less data ({size}), so it is not compared")
            times[name] = None
        elif result.get("status") != "passed":
            remarks.append(f"{name} did not pass in Deckle: {result.get('why')}")
            times[name] = None
        else:
            times[name] = result.get("kernel_seconds")
    return times, remarks, (results.get("device") or {}).get("name")


def device_name():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
        return done.stdout.strip().splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return None


def milliseconds(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.4f}" if seconds < 1e-2 else f"{1e3 * seconds:.2f}"


def summary(times, results):
    """One row per benchmark: the best peer, and the ratio."""
    best = {}
    for result in results:
        name = result["name"]
        if "seconds" in result and (name not in best or result["seconds"] < best[name]["seconds"]):
            best[name] = result
    names = list(times)
    for name in best:
        if name not in names:
            base = name.split("+")[0]
            at = max((k for k, n in enumerate(names) if n.split("+")[0] == base), default=len(names) - 1)
            names.insert(at + 1, name)
    rows = []
    for name in names:
        peer, deckle = best.get(name), times.get(name.split("+")[0])
        row = {"name": name, "deckle_seconds": deckle, "peer": None, "peer_seconds": None, "peer_warm_seconds": None, "ratio": None}
        if peer:
            row.update(peer=peer["peer"], peer_seconds=peer["seconds"], peer_warm_seconds=peer["warm_seconds"])
            if deckle:
                row["ratio"] = peer["seconds"] / deckle
            if peer.get("bytes"):
                row["bytes_per_second"] = peer["bytes"] / peer["seconds"]
        rows.append(row)
    return rows


def table(rows):
    wide = max([len(r["name"]) for r in rows] + [9])
    print(f"{'benchmark':{wide}} {'Deckle ms':>10} {'peer ms':>10} {'cached ms':>10} {'ratio':>7}  peer")
    for r in rows:
        ratio = "-" if r["ratio"] is None else f"{r['ratio']:.2f}"
        label = r["peer"] or "none"
        if r.get("bytes_per_second"):
            label += f", {r['bytes_per_second'] / 1e9:.1f} GB/s"
        print(
            f"{r['name']:{wide}} {milliseconds(r['deckle_seconds']):>10} {milliseconds(r['peer_seconds']):>10} "
            f"{milliseconds(r['peer_warm_seconds']):>10} {ratio:>7}  {label}"
        )
    print("ratio: peer / Deckle; above 1, Deckle is faster. cached: the peer again, with its data in the cache as far as it fits.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="?", help="results.json of the GPU bundle")
    parser.add_argument("--json", metavar="FILE", help="write all times as JSON")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="only benchmarks whose name contains this; may be repeated")
    parser.add_argument("--arch", default="native", help="what nvcc compiles for (native)")
    parser.add_argument("--build", default=f"{HERE}/build", help="the folder of the compiled programs")
    parser.add_argument("--compile-only", action="store_true", help="compile the programs, and run nothing")
    parser.add_argument("--no-torch", action="store_true", help="leave out PyTorch")
    asked = parser.parse_args()
    begun = time.time()
    times, remarks, device = {}, [], None
    if asked.results:
        times, remarks, device = deckle_times(asked.results)
        times = {n: t for n, t in times.items() if not asked.only or any(text in n for text in asked.only)}
    results, nvcc = [], find_nvcc()
    programs = [p for p in PROGRAMS if is_asked(asked.only, p[1])]
    ready = []
    if nvcc is None:
        results.append({"name": "all", "peer": "CUDA C++", "failed": "nvcc is not found; its path can be given in NVCC"})
        show(results[-1])
    else:
        os.makedirs(asked.build, exist_ok=True)
        print(f"compiling {len(programs)} programs with {nvcc}", file=sys.stderr, flush=True)
        with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
            faults = list(pool.map(lambda p: compiled(nvcc, asked.arch, asked.build, p), programs))
        for program, fault in zip(programs, faults):
            if fault:
                results.append({"name": program[0] + ".cu", "peer": "its compilation", "failed": fault})
                show(results[-1])
            else:
                ready.append(program)
        print(f"compiled in {time.time() - begun:.0f} s", file=sys.stderr, flush=True)
    if asked.compile_only:
        sys.exit(len(ready) != len(programs))
    with tempfile.TemporaryDirectory() as folder:
        torch = not asked.no_torch and is_asked(asked.only, TORCH)
        for program in ready:
            print(f"running {program[0]}", file=sys.stderr, flush=True)
            offsets = f"{folder}/offsets" if program[0] == "segmented_scan" and torch else ""
            run([f"{asked.build}/{program[0]}"], asked.only, offsets, results)
        if torch:
            print("running PyTorch", file=sys.stderr, flush=True)
            run([sys.executable, f"{HERE}/torch_peers.py"], asked.only, f"{folder}/offsets", results)
    rows = summary(times, results)
    name = device_name()
    print(f"{name or 'unknown device'}; {time.time() - begun:.0f} s")
    if device and name and device not in name:
        remarks.append(f"Deckle's results are of another device: {device}")
    table(rows)
    for remark in remarks:
        print(remark)
    failed = [r for r in results if "failed" in r]
    if failed:
        print(f"{len(failed)} peers failed:")
        for r in failed:
            print(f"  {r['name']}: {r['peer']}: {r['failed']}")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as f:
            json.dump({"schema": 1, "device": name, "rows": rows, "peers": results, "remarks": remarks}, f, indent=1)
            f.write("\n")
        print(asked.json)


if __name__ == "__main__":
    main()
