//! Conditionals, matches, loops and early exits.

use crate::agree;
use deckle::prelude::*;

#[kernel]
fn sign(x: f64) -> i32 {
    if x > 0.0 {
        1
    } else if x < 0.0 {
        -1
    } else {
        0
    }
}

#[kernel]
fn early(x: f64) -> f64 {
    if x < 0.0 {
        return -1.0;
    }
    let y = x.sqrt();
    if y > 2.0 {
        return y;
    }
    y * 2.0
}

#[kernel]
fn returns_in_both(x: i32) -> i32 {
    if x % 2 == 0 {
        return x / 2;
    } else {
        return 3 * x + 1;
    }
}

#[kernel]
fn may_return(x: i32, y: i32) -> i32 {
    let mut z = x;
    if x > 0 {
        if y > 3 {
            return z - y;
        }
        z += 1;
    } else {
        z -= 1;
    }
    z *= 2;
    if z == 4 {
        return 77;
    }
    z + y
}

#[kernel]
fn statements(x: i32, y: i32) -> i32 {
    let mut a = 0;
    let mut b = 10;
    if x > y {
        a = x;
        if x > 5 {
            b += a;
        }
    }
    if y < 0 {
        b = -b;
    } else {
        a -= 3;
    }
    a * 100 + b
}

#[kernel]
fn if_lets(x: i32) -> i32 {
    if let 1..=4 = x {
        return 1;
    }
    if let n @ (-3 | 7) = x { n } else { 0 }
}

#[kernel]
fn classify(n: i32) -> i32 {
    match n {
        0 => 100,
        1 | 2 => 200,
        3..=6 => 300,
        -4..-2 => 350,
        x if x < 0 => -x,
        8.. => 400,
        x => x * 2,
    }
}

#[kernel]
fn match_pairs(x: i32, y: bool) -> i32 {
    match (x, y) {
        (0, _) => 1,
        (n, true) if n > 3 => n,
        (1 | 2, true) => 20,
        (n @ 5..=9, false) => n * 2,
        (_, flag) => flag as i32 - 5,
    }
}

#[kernel]
fn match_statements(x: u8) -> u32 {
    let mut s = 1;
    match x % 4 {
        0 => s += 10,
        1 => {
            s *= 7;
            s += 1;
        }
        2 => {}
        _ => return 999,
    }
    s + x as u32
}

#[kernel]
fn match_truth(x: bool, y: f32) -> f32 {
    let z = match x {
        true => y,
        false => return -1.0,
    };
    z + 1.0
}

#[kernel]
fn matching(x: i32) -> bool {
    matches!(x, 1..=3 | 7) || matches!(x, n if n % 5 == 0)
}

const LIMIT: i32 = 4;

#[kernel]
fn match_constants(x: i32) -> i32 {
    match x {
        LIMIT => 1,
        i32::MAX => 2,
        _ => 3,
    }
}

#[kernel]
fn collatz(n: u32) -> u32 {
    let mut n = n as u64 + 1;
    let mut steps = 0;
    while n != 1 {
        if n % 2 == 0 {
            n /= 2;
        } else {
            n = 3 * n + 1;
        }
        steps += 1;
    }
    steps
}

#[kernel]
fn greatest_divisor(x: u32, y: u32) -> u32 {
    let (mut a, mut b) = (x, y);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[kernel]
fn while_with_statements(n: u32) -> u32 {
    let mut i = 0;
    let mut calls = 0;
    while {
        calls += 1;
        i * i < n % 100
    } {
        i += 1;
    }
    i * 1000 + calls
}

#[kernel]
fn loop_with_value(x: i32) -> i32 {
    let mut k = 0;
    let found = loop {
        k += 1;
        if k * k > x {
            break k * 2;
        }
        if k == 3 {
            break -1;
        }
    };
    found + k
}

#[kernel]
fn loop_with_condition_first(x: i32) -> i32 {
    let mut x = x;
    loop {
        if x < 3 {
            break;
        }
        x /= 2;
    }
    x
}

#[kernel]
fn continues(n: i32) -> i32 {
    let mut s = 0;
    let mut i = 0;
    while i < n {
        i += 1;
        if i % 3 == 0 {
            continue;
        }
        s += i;
        if s > 40 {
            break;
        }
        s += 1;
    }
    s * 100 + i
}

#[kernel]
fn first_divisor(n: i32) -> i32 {
    let n = n + 12;
    for d in 2..n {
        if n % d == 0 {
            return d;
        }
    }
    n
}

#[kernel]
fn sum_to(n: i32) -> i32 {
    let mut s = 0;
    for i in 0..n {
        s += i;
    }
    s
}

#[kernel]
fn for_with_continue(n: i32) -> i32 {
    let mut s = 0;
    for i in -2..=n {
        if i % 2 == 0 {
            continue;
        }
        s += i * i;
    }
    s
}

#[kernel]
fn backwards(n: u8) -> u32 {
    let mut s = 0;
    for i in (0..n % 16).rev() {
        s = s * 3 % 1000 + i as u32;
    }
    for i in (1..=n % 16).rev().step_by(2) {
        s = s * 5 % 1000 + i as u32;
    }
    for i in (0..n as u32 % 16).step_by(3) {
        s = s * 7 % 1000 + i;
    }
    s
}

#[kernel]
fn unrolled(x: f32) -> f32 {
    let mut s = 0.0;
    for i in 0..4 {
        for j in (0..=i).rev() {
            s = s * x + (i * 4 + j) as f32;
        }
    }
    s
}

#[kernel]
fn nested_loops(n: i32, m: i32) -> i32 {
    let mut s = 0;
    for i in 0..n {
        let mut t = 1;
        for j in i..m {
            t = (t * (j + 2)) % 1009;
            if t == 1 {
                break;
            }
        }
        s += t;
    }
    s
}

#[kernel]
fn labels(n: i32, m: i32) -> i32 {
    let mut s = 0;
    'outer: for i in 0..n {
        for j in 0..m {
            if (i * j) % 7 == 6 {
                break 'outer;
            }
            if (i + j) % 5 == 4 {
                continue 'outer;
            }
            s += i * 10 + j;
        }
        s += 1000;
    }
    s
}

#[kernel]
fn return_from_inner(n: i32) -> i32 {
    let mut s = 0;
    let mut i = 0;
    loop {
        let mut j = 0;
        while j < 5 {
            s += i * j;
            if s > 30 {
                return s * 1000 + i * 10 + j;
            }
            j += 1;
        }
        i += 1;
        if i > n {
            break;
        }
    }
    -s
}

#[kernel]
fn mandelbrot(x: f32, y: f32) -> u32 {
    let (cx, cy) = (x / 5.0, y / 5.0);
    let (mut zx, mut zy) = (0.0, 0.0);
    let mut steps = 0;
    while zx * zx + zy * zy <= 4.0 && steps < 30 {
        (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
        steps += 1;
    }
    steps
}

#[kernel]
fn many_variables(x: i32, n: i32) -> i32 {
    let (mut a, mut b, mut c, mut d, mut e) = (x, 1, 2, 3, 4);
    let (mut f, mut g, mut h, mut i, mut j) = (5, 6, 7, 8, 9);
    for k in 0..n {
        (a, b, c, d, e) = (b, c, d, e, a + k);
        (f, g, h, i, j) = (j - f, f, g, h, i);
        if k % 4 == 3 {
            (a, j) = (j % 100, a % 100);
        }
        f %= 1000;
    }
    a + b * 2 + c * 3 + d * 5 + e * 7 + f + g * 2 + h * 3 + i * 5 + j * 7
}

#[kernel]
fn let_else(x: i32, y: i32) -> i32 {
    let (0..=5, z) = (x, y) else {
        return -y;
    };
    x * 100 + z
}

#[kernel]
fn while_let(x: i32) -> i32 {
    let mut x = x;
    let mut s = 0;
    while let n @ 3..=15 = x {
        s += n;
        x -= 2;
    }
    s * 100 + x
}

#[kernel]
fn elements(a: [i32; 4], x: i32) -> i32 {
    let mut s = x;
    for y in a {
        s = s * 3 % 1000 + y;
    }
    for (i, &y) in a.iter().enumerate() {
        if y == x {
            return i as i32;
        }
        s += y * i as i32;
    }
    for y in [1, x, s].iter() {
        s += *y;
    }
    s
}

#[kernel]
fn accumulation(n: i32, x: f32) -> (f32, i32, f32) {
    let (mut s, mut count, mut last) = (x, 0, 1.0);
    for k in 0..n + 30 {
        let y = x / (k as f32 + 1.0);
        s += if y > 0.25 { y } else { -y * 0.5 };
        count ^= k * 7;
        s *= 0.75;
        last -= y;
    }
    for k in 0..n {
        count += k;
    }
    for _ in n..n - 3 {
        last += 1.0;
    }
    for k in 0..n {
        count = k;
        count ^= k * 3;
    }
    let mut rounds = 0;
    while rounds < 3 {
        for k in rounds..n {
            s += k as f32;
        }
        rounds += 1;
    }
    (s, count, last)
}

#[test]
fn conditionals() {
    agree! {
        Small: let_else(i32, i32);
        All: sign(f64);
        All: early(f64);
        Small: returns_in_both(i32);
        Small: may_return(i32, i32);
        Small: statements(i32, i32);
        Small: if_lets(i32);
    }
}

#[test]
fn matches_of_every_kind() {
    agree! {
        Small: classify(i32);
        Small: match_pairs(i32, bool);
        All: match_statements(u8);
        All: match_truth(bool, f32);
        Small: matching(i32);
        All: match_constants(i32);
    }
}

#[test]
fn loops() {
    agree! {
        Small: collatz(u32);
        Small: greatest_divisor(u32, u32);
        Small: while_with_statements(u32);
        Small: loop_with_value(i32);
        All: loop_with_condition_first(i32);
        Small: continues(i32);
        Small: sum_to(i32);
        Small: accumulation(i32, f32);
        Small: for_with_continue(i32);
        All: backwards(u8);
        All: unrolled(f32);
    }
}

#[test]
fn loops_in_loops() {
    agree! {
        Small: first_divisor(i32);
        Small: nested_loops(i32, i32);
        Small: labels(i32, i32);
        Small: return_from_inner(i32);
        Small: mandelbrot(f32, f32);
        Small: many_variables(i32, i32);
        Small: while_let(i32);
        Small: elements([i32; 4], i32);
    }
}
