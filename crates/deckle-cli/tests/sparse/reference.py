"""The numbers of `ops.dk` as SciPy computes them: a line for each matrix and function, from Matrix Market files.

`diagonals` is left out for matrices of more than 10^6 elements, since some of its formats hold all of them.
"""

import sys
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular

def w(i):
    return 1.0 / (1 + i % 13)


def vector(x):
    x = np.asarray(x, dtype=float).ravel()
    at = w(np.arange(len(x)))
    return [len(x), (x * at).sum(), (abs(x) * at).sum()]


def matrix(a):
    a = sp.coo_array(a)
    at = w(a.row.astype(np.int64)) * w(7 * a.col.astype(np.int64))
    return [*a.shape, np.count_nonzero(a.data), (a.data * at).sum(), (abs(a.data) * at).sum()]


def stored(a):
    a = sp.coo_array(a)
    return [*a.shape, a.nnz, *matrix(a)[3:]]


def sample(n):
    return 1 + np.arange(n) % 5 - 2.3


def square(a):
    """The first columns, as many as there are rows; missing ones are empty."""
    n = a.shape[0]
    a = sp.csr_array(a[:, :n])
    return sp.csr_array((a.data, a.indices, a.indptr), shape=(n, n))


def results(m):
    a = sp.csr_array(m).astype(float)
    a.sum_duplicates()
    n, k = a.shape
    x, y = sample(k), sample(n)
    ax = vector(a @ x)
    # A dense matrix without rows has no columns.
    dense = a @ (x[:, None] * np.arange(1, 4)) if k else []
    yield "products", [ax, vector(a.T @ y)] + [ax] * 7 + [vector(dense)]
    rows, cols = np.asarray(a.sum(axis=1)), np.asarray(a.sum(axis=0))
    two = a.multiply(a)
    absolute = abs(a)
    greatest = lambda v: max(np.asarray(v).ravel(), default=0.0)
    yield "sums", [
        vector(rows), vector(cols), vector(np.sqrt(np.asarray(two.sum(axis=1)))), vector(np.sqrt(np.asarray(two.sum(axis=0)))),
        vector(np.pad(a.diagonal() if min(a.shape) else np.zeros(0), (0, n - min(n, k)))),
        vector([np.sqrt(two.sum()), greatest(absolute.sum(axis=1)), greatest(absolute.sum(axis=0))]),
    ]
    yield "formats", [matrix(a)] * 7 + [matrix(a.T)]
    yield "parts", [
        matrix(a[n // 4:n - n // 3]), matrix(a[:, k // 4:k - k // 3]), matrix(sp.tril(a)), matrix(sp.triu(a)), matrix(2.5 * a),
        matrix(sp.eye_array(n)), matrix(sp.diags_array(sample(n), shape=(n, n)) if n else sp.coo_array((0, 0))),
    ]
    q = square(a)
    low = sp.csr_array(sp.tril(0.5 * q))
    inside = low.astype(bool)
    masked = sp.csr_array(q.multiply(inside))
    yield "pairs", [
        matrix(q + low), matrix(q - low), matrix(q - q), matrix(q.multiply(low)), matrix(q.maximum(low)), matrix(q.minimum(low)),
        matrix(masked), matrix(q - masked), matrix(q),
    ]
    pattern = sp.csr_array((np.ones(a.nnz), a.indices, a.indptr), shape=a.shape)
    product = a @ a.T
    reach = pattern @ pattern.T
    reach.data[:] = 1.0
    yield "squares", [stored(product), matrix(reach)]
    sums = 1 + np.asarray(abs(q).sum(axis=1)).ravel()
    d = sp.csr_array(q + sp.diags_array(sums, shape=(n, n))) if n else q
    solve = lambda t, lower: vector(spsolve_triangular(sp.csr_array(t), y, lower=lower) if n else [])
    yield "solve", [solve(sp.tril(d), True), solve(sp.triu(d), False)]
    if n * k > 1_000_000:
        return
    lower, upper = sp.csr_array(sp.tril(q)), sp.csr_array(sp.triu(q))
    yield "diagonals", [ax, ax, matrix(a), matrix(a), matrix(a), vector(lower @ y), vector(upper @ y), matrix(lower), matrix(upper)]


def main(paths):
    for path in paths:
        name = Path(path).name.split(".")[0]
        for function, numbers in results(scipy.io.mmread(path)):
            print(name, function, *(f"{x:.17g}" for part in numbers for x in part))


main(sys.argv[1:])
