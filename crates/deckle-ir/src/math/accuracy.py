#!/usr/bin/env python3
"""Measures the functions against MPFR, and writes the reference values of the tests.

    python3 accuracy.py PROGRAM [COUNT [f32|f64 [OP ...]]]     the largest error of each function, in units in the last place
    python3 accuracy.py --table PROGRAM > FILE                 reference values for tests/math.rs

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
    worst, where = 0.0, None
    for *args, got in run(program, op, width, count, seed):
        e = error(got, reference(op, args), width)
        if e > worst:
            worst, where = e, (*args, got)
    return worst, where


SPECIAL = [0.0, 5e-324, 2.5e-320, 2.2250738585072014e-308, 2.225073858507201e-308, 1e-300, 1e-160, 2.0**-54, 2.0**-53, 1e-8, 0.1,
           0.25, 0.5, 0.5000000000000001, 0.55, 0.7071067811865475, 0.7071067811865476, 0.75, 0.9999999999999999, 1.0,
           1.0000000000000002, 1.4142135623730951, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 10.0, 22.5, 27.0, 64.0, 100.0, 709.782712893384,
           709.7827128933841, 710.4758600739439, 710.475860073944, 745.1332191019411, 745.1332191019412, 708.3964185322641,
           1022.0, 1023.9999999999999, 1024.0, 1074.0, 1075.0, 4194303.9, 4194304.0, 1e10, 1e22, 9007199254740993.0, 1e100,
           6381956970095103.0 * 2.0**797, 1e300, 1.7976931348623157e308]


def hard_angles():
    """Numbers next to multiples of π/2."""
    for n in [*range(1, 40), 1000, 12345, 2670176, 2670177, 10**7, 10**12, 2**60, 2**200 + 1]:
        yield float(gmpy2.const_pi() / 2 * n)


def points(program, op, width):
    columns = 1 if op in UNARY else 2
    specials = [s * x for x in SPECIAL for s in (1, -1)]
    chosen = []
    if columns == 1:
        chosen += [(x,) for x in specials]
        if op in ("sin", "cos", "tan"):
            chosen += [(x,) for x in hard_angles()]
    ran = run(program, op, width, 20000, 7)
    measured = [(error(got, reference(op, args), width), tuple(args)) for *args, got in ran[:8000]]
    chosen += [args for _, args in sorted(measured, key=lambda m: -m[0])[:100]]
    chosen += [tuple(row[:columns]) for row in ran[8000:8300]]
    return [args for args in dict.fromkeys(chosen) if all(x - x == 0 for x in args)]


def table(program):
    """One line a point: operator, arguments, the nearest f64, and what is missing to the exact result, in ulp."""
    for op in [*UNARY, *BINARY]:
        for args in points(program, op, "f64"):
            exact = reference(op, args)
            if not gmpy2.is_finite(exact):
                continue
            near = float(gmpy2.mpfr(exact, 53)) if abs(exact) > 2.0**-1021 else float(exact)
            if near - near != 0:
                continue
            rest = float((exact - mpfr(near)) / ulp(exact, "f64"))
            bits = " ".join(struct.pack(">d", x).hex() for x in (*args, near))
            print(f"{op} {bits} {rest:+.3f}")


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        table(sys.argv[2])
        sys.exit()
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    width = sys.argv[3] if len(sys.argv) > 3 else "f64"
    for op in sys.argv[4:] or [*UNARY, *BINARY]:
        worst, where = measure(program, op, width, count, 1)
        print(f"{op:6} {width} {worst:8.4f} at {where}", flush=True)
