#!/usr/bin/env python3
"""Writes coefficients.rs: the constants of Deckle's mathematical functions.

    python3 coefficients.py > coefficients.rs        (needs mpmath; gmpy2 makes it faster; a few minutes)

Every polynomial is a weighted minimax fit, found by Remez's exchange on a fine grid in 60 digits. Coefficients are then
rounded to the format one after the other, lowest first, and what is left is fitted again, so that the later ones
make up for the rounding of the earlier ones. The comment on each constant gives the fit's largest weighted error,
as a power of two: what the polynomial contributes, before rounding errors of its evaluation.
"""
import sys
from mpmath import mp, mpf, matrix, lu_solve, pi, log, exp, sqrt, sin, cos, erf, erfc, atan, asin, tanh, sinh, cosh, cbrt, atanh

mp.dps = 60


def to_format(x, bits, rounding=mp.nint):
    """A number of so many significant bits, ignoring the exponent's range; the nearest unless told otherwise."""
    if x == 0:
        return mpf(0)
    _, e = mp.frexp(x)
    scale = mpf(2) ** (bits - e)
    return rounding(x * scale) / scale


def remez(f, w, grid, degree, fixed):
    """Coefficients fixed + best rest, and the largest weighted error, on the grid."""
    k = len(fixed)
    free = degree + 1 - k
    rest = [fx - sum(c * x**i for i, c in enumerate(fixed)) for fx, x in zip(f, grid)]
    if free == 0:
        return fixed, max(abs(wx * r) for wx, r in zip(w, rest))
    m = len(grid)
    at = [int(round((m - 1) * (1 - mp.cos(pi * j / free)) / 2)) for j in range(free + 1)]
    best = None
    for _ in range(30):
        a = matrix(free + 1, free + 1)
        b = matrix(free + 1, 1)
        for row, p in enumerate(at):
            power = grid[p] ** k
            for i in range(free):
                a[row, i] = power * w[p]
                power *= grid[p]
            a[row, free] = (-1) ** row
            b[row] = rest[p] * w[p]
        s = lu_solve(a, b)
        c = [s[i] for i in range(free)]
        err = []
        for x, wx, r in zip(grid, w, rest):
            v = mpf(0)
            for ci in reversed(c):
                v = v * x + ci
            err.append(wx * (v * x**k - r))
        top = max(abs(e) for e in err)
        if best is None or top < best[1]:
            best = (list(fixed) + c, top)
        if top <= abs(s[free]) * mpf("1.002"):
            break
        # One extremum from each run of equal signs, then the longest alternating row of the right length.
        runs = []
        for p, e in enumerate(err):
            if runs and (e > 0) == (err[runs[-1]] > 0):
                if abs(e) > abs(err[runs[-1]]):
                    runs[-1] = p
            else:
                runs.append(p)
        while len(runs) > free + 1:
            if len(runs) == free + 2:
                runs.pop(0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else -1)
            else:
                j = min(range(len(runs)), key=lambda j: abs(err[runs[j]]))
                del runs[j]
                if 0 < j < len(runs):
                    # The neighbours now have equal signs: keep the larger.
                    del runs[j if abs(err[runs[j]]) < abs(err[runs[j - 1]]) else j - 1]
        if len(runs) < free + 1:
            break
        at = runs
    return best


def fit(name, f, w, lo, hi, degree, bits, rounded=4, long_first=False):
    points = max(200, 24 * degree)
    lo, hi = mpf(lo), mpf(hi)
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(pi * (j + mpf(1) / 3) / points) for j in range(points)]
    fs = [f(x) for x in grid]
    ws = [w(x) for x in grid]
    fixed = []
    if long_first:
        # The first coefficient is a sum of two numbers.
        c, _ = remez(fs, ws, grid, degree, fixed)
        high = to_format(c[0], bits)
        fixed = [high + to_format(c[0] - high, bits)]
    for _ in range(min(rounded, degree + 1)):
        c, _ = remez(fs, ws, grid, degree, fixed)
        fixed = fixed + [to_format(c[len(fixed)], bits)]
    c, ideal = remez(fs, ws, grid, degree, fixed)
    c = fixed + [to_format(x, bits) for x in c[len(fixed):]]
    _, top = remez(fs, ws, grid, degree, c)
    note = float(mp.log(top, 2))
    print(f"{name}: degree {degree}, 2^{note:.1f} (ideal 2^{float(mp.log(ideal, 2)):.1f})", file=sys.stderr, flush=True)
    return c, note


def tail(f, subtract, shift):
    """(f(x) - sum subtract_i x^i) / x^shift, for x not too near zero at this precision."""
    return lambda x: (f(x) - sum(c * x**i for i, c in enumerate(subtract))) / x**shift


def by_square(f):
    """f of the square root: for even and odd functions written in z = x²."""
    return lambda z: f(sqrt(z))


LN2 = log(mpf(2))
HALF_LN2 = LN2 / 2 * mpf("1.0001")
ERFC = {64: (mpf(13) / 16, mpf(4)), 32: (mpf(13) / 16, mpf(3))}
QUARTER_PI_SQUARED = (pi / 4 * mpf("1.0001")) ** 2


def polynomials(width):
    d = (lambda f64, f32: f64) if width == 64 else (lambda f64, f32: f32)
    bits = d(53, 24)
    half = mpf(1) / 2

    def go(doc, name, *args, **kw):
        c, note = fit(name, *args, bits=bits, **kw)
        emit(doc, name, c, note)

    go("(exp(r) - 1 - r) / r² for |r| ≤ ln(2)/2", "EXP", tail(exp, [1, 1], 2), lambda r: r * r / exp(r), -HALF_LN2, HALF_LN2, d(9, 4))
    go("the same, more exactly", "EXPM1", tail(exp, [1, 1], 2), lambda r: r * r / mp.expm1(r), -HALF_LN2, HALF_LN2, d(10, 5))
    go("(log(1 + f) - f + f²/2) / f³ for 1 + f from √½ to √2", "LOG", tail(mp.log1p, [0, 1, -half], 3),
       lambda f: f**3 / mp.log1p(f), sqrt(half) - 1, sqrt(mpf(2)) - 1, d(18, 7))
    go("(2 atanh(s) - 2s - ⅔s³) / s⁵ in s², for |s| ≤ 3 - 2√2", "LOG_S",
       by_square(lambda s: (2 * atanh(s) - 2 * s - 2 * s**3 / 3) / s**5), lambda z: z**2, 0, (3 - 2 * sqrt(mpf(2))) ** 2 * mpf("1.001"), d(7, 3))
    go("(r - sin(r)) / r³ in r², for |r| ≤ π/4", "SIN", by_square(lambda r: (r - sin(r)) / r**3), lambda z: z, 0, QUARTER_PI_SQUARED, d(5, 2))
    go("(cos(r) - 1 + r²/2) / r⁴ in r², for |r| ≤ π/4", "COS", by_square(lambda r: (cos(r) - 1 + r * r / 2) / r**4), lambda z: z * z, 0, QUARTER_PI_SQUARED, d(5, 2))
    go("erf(x)/x - 1 in x², for |x| ≤ 1", "ERF", by_square(lambda x: erf(x) / x - 1), by_square(lambda x: x / erf(x)), 0, 1, d(12, 6))
    a = mpf(1)
    go("(log erfc(1 + t) - log erfc(1)) / t, as exactly as erf needs it", "LOG_ERFC", lambda t: (log(erfc(a + t)) - log(erfc(a))) / t,
       lambda t: t * erfc(a + t) / erf(a + t), 0, d(mpf(5), mpf("2.95")), d(16, 6))
    # The factor y + b makes the function nearly constant.
    b, c = ERFC[width]
    y = lambda v: 2 * c / (1 - v) - c
    v = lambda y: 1 - 2 * c / (y + c)
    g = lambda v: exp(y(v) ** 2) * erfc(y(v)) * (y(v) + b)
    c, note = fit("ERFC", g, lambda v: 1 / g(v), v(mpf(0)), v(d(mpf("27.3"), mpf("10.1"))), d(22, 10), bits, rounded=0, long_first=True)
    high = to_format(c[0], bits)
    OUT.append(f"    /// The first coefficient of ERFC, as a sum.\n    const ERFC_START: (f64, f64) = ({literal(high)}, {literal(c[0] - high)});\n")
    emit("exp(y²) erfc(y) (y + b) in 1 - 2c/(y + c), for y ≥ 0, without its first coefficient", "ERFC", c[1:], note)
    go("(atan(x)/x - 1) / x² in x², for |x| ≤ 1", "ATAN", by_square(lambda x: (atan(x) / x - 1) / x**2), lambda z: z, 0, 1, d(19, 8), rounded=8)
    go("(asin(x) - x) / x³ in x², for |x| ≤ ½", "ASIN", by_square(lambda x: (asin(x) / x - 1) / x**2), lambda z: z, 0, mpf("0.2501"), d(11, 4))
    go("(tanh(x) - x) / x³ in x², for |x| ≤ 0.55", "TANH", by_square(lambda x: (tanh(x) / x - 1) / x**2), lambda z: z, 0, mpf("0.303"), d(9, 4))
    go("(sinh(r) - r) / r³ in r², for |r| ≤ ln(2)/2", "SINH", by_square(lambda r: (sinh(r) / r - 1) / r**2), lambda z: z, 0, HALF_LN2**2, d(4, 2))
    go("(cosh(r) - 1) / r² in r², for |r| ≤ ln(2)/2", "COSH", by_square(lambda r: (cosh(r) - 1) / r**2), lambda z: z, 0, HALF_LN2**2, d(5, 2))
    go("m^(-1/3) for m from 1 to 2", "CBRT", lambda m: 1 / cbrt(m), cbrt, 1, 2, d(6, 3))


def constants(width):
    d = (lambda f64, f32: f64) if width == 64 else (lambda f64, f32: f32)
    bits = d(53, 24)

    def number(doc, name, x):
        OUT.append(f"    /// {doc}.\n    const {name}: f64 = {literal(to_format(x, bits))};\n")

    def pair(doc, name, x, short=None):
        """x as an unevaluated sum of two numbers, the first of `short` bits."""
        hi = to_format(x, short or bits)
        lo = to_format(x - hi, bits)
        OUT.append(f"    /// {doc}, as a sum.\n    const {name}: (f64, f64) = ({literal(hi)}, {literal(lo)});\n")

    def whole(name, x):
        OUT.append(f"    const {name}: {'u32' if name == 'MANTISSA' else 'i64'} = {x};\n")

    whole("MANTISSA", bits - 1)
    whole("BIAS", d(1023, 127))
    number("log₂(e)", "LOG2_E", 1 / LN2)
    pair("ln(2)", "LN2", LN2)
    pair("ln(2), the first part so short that its product with any exponent is exact", "LN2_SHORT", LN2, d(42, 15))
    pair("log₂(e)", "PER_LN2", 1 / LN2)
    pair("log₁₀(e)", "PER_LN10", 1 / log(mpf(10)))
    pair("log₁₀(2), the first part short", "LOG10_2_SHORT", LN2 / log(mpf(10)), d(42, 15))
    number("2/π", "TWO_PER_PI", 2 / pi)
    pair("π", "PI", pi)
    pair("π/2", "HALF_PI", pi / 2)
    # Three parts of π/2. The second is so short that its product with any quadrant up to LARGE is exact.
    # All are positive: the sign of a zero depends on it.
    p1 = to_format(pi / 2, bits, mp.floor)
    p2 = to_format(pi / 2 - p1, d(30, 12), mp.floor)
    p3 = to_format(pi / 2 - p1 - p2, bits)
    OUT.append(f"    const HALF_PI_PARTS: [f64; 3] = [{literal(p1)}, {literal(p2)}, {literal(p3)}];\n")
    number("From here on the quadrant is found by `reduce::large`", "LARGE", mpf(2) ** d(22, 11))
    chunks = []
    mp.dps = 420
    rest = 2 / +pi
    for _ in range(d(23, 9)):
        rest *= mpf(2) ** bits
        whole_part = mp.floor(rest)
        rest -= whole_part
        chunks.append(mp.ldexp(whole_part, -bits))
    emit("The digits of 2/π, a mantissa's worth in each, all scaled to lie below 1", "TWO_PER_PI_DIGITS", chunks)
    mp.dps = 60
    number("log(erfc(1))", "LOG_ERFC_1", log(erfc(mpf(1))))
    b, c = ERFC[width]
    OUT.append(f"    /// b and c in the fit of ERFC.\n    const ERFC_SHIFTS: (f64, f64) = ({literal(b)}, {literal(c)});\n")
    pair("⅔", "TWO_THIRDS", mpf(2) / 3)
    number("2^(-1/3)", "CBRT_HALF", 1 / cbrt(mpf(2)))
    number("2^(-2/3)", "CBRT_QUARTER", 1 / cbrt(mpf(4)))


OUT = []


def literal(x):
    """The shortest decimal that Rust reads back as this number, grouped as Rust's lints want."""
    s = repr(float(x))
    return s.replace("e+", "e")


def emit(doc, name, c, note=None):
    about = "" if note is None else f"; error 2^{note:.1f}"
    OUT.append(f"    /// {doc}{about}.\n    const {name}: &[f64] = &[\n" + "".join(f"        {literal(x)},\n" for x in c) + "    ];\n")


HEAD = """\
//! The constants of the functions, for both formats. Written by `coefficients.py`; do not edit.

use super::format::{F32, F64, Format};
"""

if __name__ == "__main__":
    print(HEAD)
    for width in (64, 32):
        OUT.clear()
        constants(width)
        polynomials(width)
        print("#[allow(clippy::approx_constant, clippy::excessive_precision)]")
        print(f"impl Format for F{width} {{\n" + "".join(OUT) + "}" + ("\n" if width == 64 else ""))
