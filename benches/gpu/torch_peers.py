"""PyTorch as a peer, with results as lines of JSON like those of the other peers. Started by peers.py."""

import json
import os
import statistics
import sys

import numpy as np
import torch
import torch.nn.functional as F

ONLY = [t for t in os.environ.get("PEERS_ONLY", "").split("\n") if t]
SKIP = set(os.environ.get("PEERS_SKIP", "").split("\n"))
DEVICE = torch.device("cuda")
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
TYPES = {"f32": torch.float32, "f64": torch.float64}


def say(**fields):
    print(json.dumps(fields), flush=True)


def wanted(name):
    return not ONLY or any(text in name for text in ONLY)


class Failure(Exception):
    pass


def near(got, right, tolerance):
    error = abs(float(got) - float(right)) / max(abs(float(right)), 1e-300)
    if not error <= tolerance:
        raise Failure(f"wrong result: {got} in the place of {right}")
    return error


def near_all(got, right, tolerance):
    """Of arrays, relative to the largest element."""
    error = float((got.double() - right.double()).abs().max() / right.double().abs().max().clamp_min(1e-300))
    if not error <= tolerance:
        raise Failure(f"wrong result: off by {error:.1e}")
    return error


flush = None


def timed(run):
    global flush
    if flush is None:
        flush = torch.zeros(128 << 20, dtype=torch.int32, device=DEVICE)

    def once(cold):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if cold:
            flush.max()
        torch.cuda._sleep(400_000)  # cycles, in which the host queues what follows
        a.record()
        run()
        b.record()
        b.synchronize()
        return a.elapsed_time(b) * 1e-3

    first = once(False)
    if first > 1:
        return first, first, 1
    estimate = once(False)
    runs = 1 if estimate > 1 else 3 if estimate > 0.2 else 10 if estimate > 0.02 else 21
    cold = statistics.median(once(True) for _ in range(runs))
    warm = statistics.median(once(False) for _ in range(runs))
    return cold, warm, runs


def peer(name, label, make):
    """`make()` returns what to run and what checks its result."""
    label = f"torch {torch.__version__.split('+')[0]}: {label}"
    if not wanted(name) or f"{name}|{label}" in SKIP:
        return
    say(begin=True, name=name, peer=label)
    try:
        with torch.no_grad():
            run, check = make()
            cold, warm, runs = timed(run)
            error = check(run())
            torch.cuda.synchronize()
        say(name=name, peer=label, seconds=cold, warm_seconds=warm, runs=runs, error=error, bytes=0)
    except Exception as e:  # noqa: BLE001: whatever it is, the others go on
        say(name=name, peer=label, failed=f"{type(e).__name__}: {e}"[:500])
        try:
            torch.cuda.synchronize()
        except Exception:  # noqa: BLE001: the device is lost for this process
            os._exit(3)
    torch.cuda.empty_cache()


def random(*shape, dtype):
    return torch.rand(*shape, dtype=dtype, device=DEVICE)


def vectors(kind, dtype):
    n = 1 << (27 if kind == "f32" else 26)
    loose = 1e-4 if kind == "f32" else 1e-10

    def total():
        x = random(n, dtype=dtype)
        return lambda: torch.sum(x), lambda s: near(s, x.double().sum(), loose)

    def dot():
        x, y = random(n, dtype=dtype), random(n, dtype=dtype)
        return lambda: torch.dot(x, y), lambda s: near(s, (x.double() * y.double()).sum(), loose)

    def axpy():
        x, y = random(n, dtype=dtype), random(n, dtype=dtype)
        return lambda: y.add_(x, alpha=1e-3), lambda _: 0.0

    peer(f"sum-{kind}", "sum", total)
    peer(f"dot-{kind}", "dot", dot)
    peer(f"saxpy-{kind}", "add_", axpy)


def rows(name, kind, dtype, offsets):
    if not wanted(f"{name}-sum-{kind}") and not wanted(f"{name}-max-{kind}"):
        return
    off = torch.from_numpy(offsets).to(DEVICE)
    lengths = (off[1:] - off[:-1]).cpu().numpy()
    starts = np.flatnonzero(lengths)[:1000]
    for op in ["sum", "max"]:
        if name == "one-row" and op == "max":
            continue

        def make(op=op):
            x = random(int(offsets[-1]), dtype=dtype)
            first = {"sum": 0.0, "max": float("-inf")}[op]

            def check(got):
                # The rows at the beginning, one by one.
                worst = 0.0
                for i in starts[:50]:
                    row = x[int(offsets[i]) : int(offsets[i + 1])].double()
                    worst = max(worst, near(got[int(i)], row.sum() if op == "sum" else row.max(), 1e-4))
                return worst

            return lambda: torch.segment_reduce(x, op, offsets=off, unsafe=True, initial=first), check

        peer(f"{name}-{op}-{kind}", "segment_reduce", make)


def dense(kind, dtype):
    def product():
        n = 2048
        a, b = random(n, n, dtype=dtype) * 2 - 1, random(n, n, dtype=dtype) * 2 - 1
        return lambda: a @ b, lambda c: near_all(c, a.double() @ b.double(), 1e-5 if kind == "f32" else 1e-13)

    def picture():
        image, mask = random(1, 1, 3200, 4000, dtype=dtype), random(1, 1, 5, 5, dtype=dtype) * 2 - 1

        def check(out):
            right = F.conv2d(image[..., :40, :40].cpu().double(), mask.cpu().double())
            return near_all(out[..., :36, :36].cpu(), right, 1e-5 if kind == "f32" else 1e-13)

        return lambda: F.conv2d(image, mask), check

    def transform():
        n, m = 999936, 8192
        xs, taps = random(n + m, dtype=dtype), random(m, dtype=dtype) * 2 - 1
        size = 1 << 20

        def run():
            return torch.fft.irfft(torch.fft.rfft(xs, size) * torch.fft.rfft(taps, size).conj(), size)[:n]

        def check(out):
            at = [0, 1, 12345, n - 2, n - 1]
            right = torch.stack([(xs[i : i + m].double() * taps.double()).sum() for i in at])
            return near_all(out[at], right, 1e-3 if kind == "f32" else 1e-10)

        return run, check

    peer(f"matmul-{kind}", "matmul", product)
    peer(f"conv2d-{kind}", "conv2d", picture)
    peer(f"conv1d-{kind}+fft", "Fourier transforms", transform)


def flat():
    n = 1 << 28

    def scan():
        x = random(n, dtype=torch.float32)
        out = torch.empty_like(x)
        return lambda: torch.cumsum(x, 0, out=out), lambda s: near(s[-1], x.double().sum(), 1e-4)

    def select():
        x = random(n, dtype=torch.float32)
        return lambda: x[x < 0.5], lambda s: near(s.numel(), int((x < 0.5).sum()), 0)

    peer("scan-f32", "cumsum", scan)
    peer("filter-f32", "x[x < 0.5]", select)


def short_rows():
    with np.errstate(over="ignore"):
        lengths = (np.arange(10_000_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(61)
    return np.concatenate([[0], np.cumsum(lengths.astype(np.int64))]).astype(np.int64)


def uniform_product(kind, dtype):
    """PyTorch's own way to cuSPARSE, in case that the peer in C++ cannot be compiled."""

    def make():
        rows = 2_000_000
        off = torch.arange(rows + 1, device=DEVICE, dtype=torch.int32) * 16
        cols = torch.randint(rows, (rows, 16), device=DEVICE, dtype=torch.int32).sort(1).values.flatten()
        vals, x = random(16 * rows, dtype=dtype), random(rows, dtype=dtype)
        a = torch.sparse_csr_tensor(off, cols, vals, (rows, rows))
        right = (vals * x[cols.long()]).view(rows, 16).sum(1)
        return lambda: a @ x, lambda y: near_all(y, right, 1e-5 if kind == "f32" else 1e-13)

    peer(f"spmv-uniform-{kind}", "sparse_csr @ vector", make)


def main():
    if not torch.cuda.is_available():
        say(name="all", peer="torch", failed="PyTorch sees no GPU")
        return
    zipf = os.environ.get("PEERS_OFFSETS", "")
    for kind, dtype in TYPES.items():
        vectors(kind, dtype)
        dense(kind, dtype)
        uniform_product(kind, dtype)
    flat()
    # Last, since they may be slow.
    for kind, dtype in TYPES.items():
        rows("short-rows", kind, dtype, short_rows())
        if os.path.exists(zipf):
            rows("ragged", kind, dtype, np.fromfile(zipf, dtype=np.int64))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
