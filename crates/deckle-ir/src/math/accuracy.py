#!/usr/bin/env python3
"""Measures the functions against MPFR, and writes the reference values of the tests.

    python3 accuracy.py PROGRAM [COUNT [OP ...]]     the largest error of each function, in units in the last place
    python3 accuracy.py --table PROGRAM > FILE       reference values for tests/math.rs

PROGRAM is the built example `math_values`. Needs gmpy2.
"""
import struct
import subprocess
import sys

import gmpy2
from gmpy2 import mpfr

gmpy2.get_context().precision = 160
gmpy2.get_context().emax = 1 << 28
gmpy2.get_context().emin = -(1 << 28)

UNARY = {
    "exp": gmpy2.exp, "exp2": gmpy2.exp2, "expm1": gmpy2.expm1, "log": gmpy2.log, "log2": gmpy2.log2,
    "log10": gmpy2.log10, "log1p": gmpy2.log1p, "cbrt": gmpy2.cbrt, "sin": gmpy2.sin, "cos": gmpy2.cos,
    "tan": gmpy2.tan, "asin": gmpy2.asin, "acos": gmpy2.acos, "atan": gmpy2.atan, "sinh": gmpy2.sinh,
    "cosh": gmpy2.cosh, "tanh": gmpy2.tanh, "erf": gmpy2.erf, "erfc": gmpy2.erfc, "sqrt": gmpy2.sqrt,
}
BINARY = {"pow": lambda x, y: x**y, "atan2": gmpy2.atan2, "hypot": gmpy2.hypot, "rem": gmpy2.fmod}
# (bits, exponent of the least subnormal, exponent of the greatest number's ulp)
FORMAT = {"f64": (53, -1074, 971), "f32": (24, -149, 104)}


def reference(op, args):
    if op == "pow" and args[0] > 0 and args[1] != 0 and gmpy2.is_finite(args[0]) and gmpy2.is_finite(args[1]):
        # MPFR's power is slow where the result is absurdly large or small.
        size = gmpy2.log2(mpfr(args[0])) * mpfr(args[1])
        if abs(size) > 3000:
            return mpfr(2) ** (5000 if size > 0 else -5000)
    return (UNARY.get(op) or BINARY[op])(*(mpfr(x) for x in args))


def ulp(exact, width):
    """The unit in the last place of the binade of the exact value."""
    bits, least, _ = FORMAT[width]
    if exact == 0:
        return mpfr(2) ** least
    exponent = gmpy2.frexp(exact)[0]
    return mpfr(2) ** max(exponent - bits, least)


def error(got, exact, width):
    """In ulp; infinity for a special value that should have been another."""
    if gmpy2.is_nan(exact) or got != got:
        return 0.0 if gmpy2.is_nan(exact) and got != got else float("inf")
    bits, _, top = FORMAT[width]
    limit = mpfr(2) ** (top + bits)
    if abs(exact) >= limit - mpfr(2) ** (top - 1):
        exact = gmpy2.copy_sign(mpfr("inf"), exact)
    if abs(got) == float("inf"):
        if gmpy2.is_infinite(exact):
            return 0.0 if (got > 0) == (exact > 0) else float("inf")
        got = gmpy2.copy_sign(limit, mpfr(got))
    elif gmpy2.is_infinite(exact):
        exact = gmpy2.copy_sign(limit, exact)
    return float(abs(mpfr(got) - exact) / ulp(min(abs(exact), limit / 2), width))


def run(program, op, width, count, seed):
    out = subprocess.run([program, op, width, str(count), str(seed)], capture_output=True, check=True).stdout
    columns = 2 if op in UNARY else 3
    return list(struct.iter_unpack("<" + "d" * columns, out))


def measure(program, op, width, count, seed):
    worst, where, square = 0.0, None, 0.0
    for *args, got in run(program, op, width, count, seed):
        e = error(got, reference(op, args), width)
        if e > worst:
            worst, where = e, (*args, got)
    return worst, where


if __name__ == "__main__":
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    for op in sys.argv[3:] or [*UNARY, *BINARY]:
        for width in ("f64", "f32"):
            worst, where = measure(program, op, width, count, 1)
            print(f"{op:6} {width} {worst:8.4f} at {where}", flush=True)
