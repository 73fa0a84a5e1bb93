"""The operations of `programs/sparse.dk` in SciPy and MKL, for `deckle-bench sparse`.

Each line of the input is the file of a matrix and an operation; the answer is a line of JSON: the seconds of each library, and the sum of the
elements of the result. MKL is used if its package `mkl` is installed; its number of threads is that of the environment (`MKL_NUM_THREADS`).
SciPy has one thread. Columns of its products have no order in a row; `SciPy sorted` also sorts them, as Deckle and MKL do here. With one
thread, seconds are those of the CPU.
"""

import ctypes
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular

def ones(n):
    return 1.0 + np.arange(n) % 7


def triangle(a):
    below = sp.tril(a, -1, format="csr")
    return (below + sp.diags_array(1.0 + abs(below).sum(axis=1), format="csr")).tocsr()


class Descr(ctypes.Structure):
    """`struct matrix_descr`: a general matrix."""

    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


GENERAL = Descr(20, 0, 0)


def find_mkl():
    """The library, as its package installs it, or None."""
    for name in sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*")) + ["libmkl_rt.so"]:
        try:
            return ctypes.CDLL(str(name))
        except OSError:
            pass
    return None


def call(function, *arguments):
    status = function(*arguments)
    if status != 0:
        raise RuntimeError(f"MKL: status {status}")


def pointer(v):
    return ctypes.c_void_p(v.ctypes.data)


MKL = find_mkl()


class Mkl:
    """A matrix in MKL, with 32-bit indices."""

    def __init__(self, lib, a):
        self.lib, self.a = lib, a
        self.arrays = [a.indptr.astype(np.int32), a.indices.astype(np.int32), a.data]
        self.handle = ctypes.c_void_p()
        off, col, val = map(pointer, self.arrays)
        after = ctypes.c_void_p(off.value + 4)
        sizes = [ctypes.c_int(n) for n in a.shape]
        call(lib.mkl_sparse_d_create_csr, ctypes.byref(self.handle), 0, *sizes, off, after, col, val)

    def mv(self, x, transposed):
        """The product of a matrix that MKL has inspected for many products."""
        how, y = ctypes.c_int(11 if transposed else 10), np.zeros(self.a.shape[1 if transposed else 0])
        call(self.lib.mkl_sparse_set_mv_hint, self.handle, how, GENERAL, ctypes.c_int(1000))
        call(self.lib.mkl_sparse_optimize, self.handle)
        one, zero = ctypes.c_double(1.0), ctypes.c_double(0.0)
        return lambda: call(self.lib.mkl_sparse_d_mv, how, one, self.handle, GENERAL, pointer(x), zero, pointer(y))

    def mul(self):
        """The product with itself, which stays in memory of MKL."""
        product = ctypes.c_void_p()
        call(self.lib.mkl_sparse_spmm, ctypes.c_int(10), self.handle, self.handle, ctypes.byref(product))
        call(self.lib.mkl_sparse_order, product)
        call(self.lib.mkl_sparse_destroy, product)


def sorted_product(a):
    c = a @ a
    c.sort_indices()
    return c


def ways(m, op):
    """The functions of an operation on a matrix by the names of their libraries."""
    m = sp.coo_array(m).astype(float)
    a = sp.csr_array(m)
    a.sum_duplicates()
    n, k = a.shape
    x = ones(n) if op == "tmv" else ones(k)
    mkl = None if MKL is None else Mkl(MKL, a)
    if op in ("mv", "mv32"):
        return {"SciPy": lambda: a @ x, **({"MKL": mkl.mv(x, False)} if mkl else {})}
    if op == "tmv":
        return {"SciPy": lambda: a.T @ x, **({"MKL": mkl.mv(x, True)} if mkl else {})}
    if op == "transpose":
        return {"SciPy": lambda: a.T.tocsr()}
    if op == "convert":
        return {"SciPy": lambda: m.tocsr()}
    if op == "add":
        return {"SciPy": lambda: a + a}
    if op == "hadamard":
        return {"SciPy": lambda: a.multiply(a)}
    if op == "mul":
        return {"SciPy": lambda: a @ a, "SciPy sorted": lambda: sorted_product(a), **({"MKL": mkl.mul} if mkl else {})}
    if op == "solve":
        t, b = triangle(a), ones(n)
        return {"SciPy": lambda: spsolve_triangular(t, b, lower=True)}
    raise ValueError(op)


def seconds(run):
    """The median of runs of 20 ms together, or of one."""
    clock = time.process_time if os.environ.get("MKL_NUM_THREADS") == "1" else time.perf_counter
    times = []
    while sum(times) < 0.02 and len(times) < 1000:
        begun = clock()
        run()
        times.append(clock() - begun)
    return float(np.median(times))


def main():
    prepared = {}
    for line in sys.stdin:
        path, op = line.rstrip("\n").rsplit(" ", 1)
        if (path, op) not in prepared:
            prepared = {(path, op): ways(scipy.io.mmread(path), op)}
        runs = prepared[path, op]
        result = runs["SciPy"]()
        total = float(result.data.sum() if sp.issparse(result) else result.sum())
        print(json.dumps({"sum": total, "seconds": {name: seconds(run) for name, run in runs.items()}}), flush=True)


main()
