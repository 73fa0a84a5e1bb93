//! Printing, reading and verifying the kernel IR.

use super::*;
use ScalarType::F64;

/// At least one of every construct.
const EVERYTHING: &str = r#"b0: i64 "the size of `xs`"
b1: f64 [t2] "`xs`"
b2: i64 [t1] "a \"list\""
b9: i64 [t1] "the number of rounds"
data b2 [-1i64, 9223372036854775807i64]
c0 = index "an index"
c1 = negative size
c2 = offset_beyond in element 2 map in step for
c3 = size "argument `xs`" of "n + 1"
t0: i64 @s0 = const 0i64
t1: i64 @s0 = const 1i64
t2: i64 @s0 = load b0[t0]
params ([b1; t2], (b9))
t5: bool @s0 = ge(t2, t1)
t6: i64 @s0 = check t5 c1(t2) t2
check t6
alloc b3: f64 [t6] "`sums`"
kernel "`sums`" {
  s1 = dim s0, t6
  s2 = guard s1, t9
  s3 = guard s1, not t9
  s4 = lambda s0
  s5 = loop s1
  s6 = guard s5, t17
  t0: i64 @s0 = const 0i64
  t1: i64 @s0 = const 1i64
  t2: i64 @s0 = load b0[t0]
  t5: bool @s0 = ge(t2, t1)
  t6: i64 @s0 = check t5 c1(t2) t2
  t7: i64 @s1 = pos
  t8: f64 @s1 = load b1[t7]
  t9: bool @s1 = is_nan(t8)
  t10: f64 @s2 = neg(t8)
  t11: f64 @s1 = if s2 (t10) s3 (t8)
  t12: f64 @s1 = t11.0
  t13: f64 @s4 = var 0
  t14: f64 @s4 = var 1
  t15: f64 @s4 = max(t13, t14)
  t16: f64 @s5 = var 0
  t17: bool @s5 = lt(t16, t12)
  t18: f64 @s6 = add(t16, t12)
  t19: i64 @s6 = check t17 c0(t7, t6) t7
  t20: f64 @s1 = loop s5 (t8) while t17 s6 (t18) checks (t19)
  t21: f64 @s1 = t20.0
  t22: f64 @s1 = scan s0 (t21) s4 { t15 }
  t23: f64 @s1 = t22.0
  t24: i64 @s1 = scan exclusive s0 (t0) (t1) add
  t25: i64 @s1 = t24.0
  t26: f64 @s1 = cast f64 (t25)
  t27: f64 @s1 = select(t9, t26, t23)
  check t19
  write @s1 b3[t7] = t27
}
alloc b4: f64 [t1] "the result"
kernel "the result" {
  s1 = dim s0, t6
  s4 = lambda s0
  t0: i64 @s0 = const 0i64
  t1: i64 @s0 = const 1i64
  t2: i64 @s0 = load b0[t0]
  t5: bool @s0 = ge(t2, t1)
  t6: i64 @s0 = check t5 c1(t2) t2
  t7: i64 @s1 = pos
  t13: f64 @s4 = var 0
  t14: f64 @s4 = var 1
  t15: f64 @s4 = max(t13, t14)
  t28: f64 @s1 = load b3[t7]
  t29: f64 @s0 = fold s1 (t28, t28) add, mul
  t30: f64 @s0 = t29.1
  write @s0 b4[t0] = t30
  scatter @s1 within s0 (b4)[t0 of t1] = (t28)
  scatter @s1 within s0 (b4)[t0 of t1] = (t28) min
  scatter @s1 within s0 (b4)[t0 of t1] = (t28) s4 { t15 }
}
alloc b7: i64 [t6] "the lengths"
kernel "the lengths" {
  s1 = dim s0, t6
  s7 = rows s1, b2, t38
  t0: i64 @s0 = const 0i64
  t1: i64 @s0 = const 1i64
  t2: i64 @s0 = load b0[t0]
  t5: bool @s0 = ge(t2, t1)
  t6: i64 @s0 = check t5 c1(t2) t2
  t7: i64 @s1 = pos
  t35: i64 @s1 = add(t1, t7)
  t36: i64 @s1 = load b2[t35]
  t37: i64 @s1 = load b2[t7]
  t38: i64 @s1 = sub(t36, t37)
  t39: i64 @s1 = fold s7 (t0) (t1) add
  t40: i64 @s1 = t39.0
  write @s1 b7[t7] = t40
}
alloc b5: i64 [t6] "the order"
sort b5 (b3, b1) of t6 rows t1
sort b5 (b3) of t6 offsets b2 rows t1
while {
  t31: i64 @s0 = load b9[t0]
  t32: i64 @s0 = check t5 c2(t31) t31
  check t32
  t33: bool @s0 = lt(t31, t2)
} t33 {
  if t5 {
    take b6: f64 [t6] "`sums`" = b3
    bind (b3 = b6, b9 = b0)
  } else {
    bind ()
  }
  free b6, b5
}
t34: i64 @s0 = check t33 c3(t31) t31
result ([b4; offsets b2], [(b3, b4); t34])
note "`sums` is kept"
note plain"#;

#[test]
fn text_round_trips() {
    let program = parse(EVERYTHING).unwrap();
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(program.to_string(), EVERYTHING);
    // Missing numbers are unused, and existing nodes are found again.
    assert_eq!((program.nodes.len(), program.spaces.len(), program.bufs.len(), program.sites.len()), (41, 8, 10, 4));
    let mut again = program.clone();
    assert_eq!(again.int(1), Node(1));
    assert_eq!(again.dim(ROOT, Node(6)), Space(1));
    assert_eq!(again.dim(Space(1), Node(38)), Space(7));
}

#[test]
fn a_dimension_of_successive_offsets_is_one_of_rows() {
    let mut p = Program::default();
    let (offsets, others) = (p.buf(ScalarType::I64, "offsets"), p.buf(ScalarType::I64, "others"));
    let (n, one) = (p.int(3), p.int(1));
    let outer = p.dim(ROOT, n);
    let at = p.pos(outer);
    let after = p.binary(BinOp::Add, at, one);
    let size = |p: &mut Program, end: (Buf, Node), start: (Buf, Node)| {
        let (end, start) = (p.load(end.0, end.1, outer), p.load(start.0, start.1, outer));
        p.binary(BinOp::Sub, end, start)
    };
    let length = size(&mut p, (offsets, after), (offsets, at));
    let rows = p.dim(outer, length);
    assert_eq!((p.space(rows).region, p.space(rows).offsets), (Region::Dim(length), Some(offsets)));
    assert_eq!(p.dim(outer, length), rows);
    // Checked rows are rows, too.
    let site = p.site(SiteData { kind: Fault::Range, span: Span::NONE, places: Vec::new(), param: Span::NONE });
    let (zero, row) = (p.int(0), p.load(offsets, at, outer));
    let ok = p.binary(BinOp::Ge, row, zero);
    let checked = p.check(ok, length, site, Vec::new(), outer);
    let checked = p.dim(outer, checked);
    assert_ne!(checked, rows);
    assert_eq!(p.space(checked).offsets, Some(offsets));
    // Of another buffer, in another order, and at another position they are not.
    let mixed = size(&mut p, (offsets, after), (others, at));
    let backwards = size(&mut p, (offsets, at), (offsets, after));
    for length in [mixed, backwards, n] {
        let dim = p.dim(outer, length);
        assert_eq!(p.space(dim).offsets, None);
    }
    let inner = p.dim(outer, n);
    let elsewhere = p.dim(inner, length);
    assert_eq!(p.space(elsewhere).offsets, None);
    // Loads from another space make them rows of that.
    let sink = Sink::Write { space: rows, buf: others, at: length, value: length };
    let kernel = Kernel { sinks: vec![sink], name: "k".into() };
    let renamed = p.with_loads_from(&kernel, &HashMap::from([(offsets, others)]));
    let (space, _) = p.sink_parts(&renamed.sinks[0]);
    assert_eq!(p.space(space).offsets, Some(others));
    assert_eq!(verify(&p), Ok(()));
}

#[test]
fn what_is_built_is_printed_in_full() {
    let mut p = Program::default();
    let xs = p.buf(F64, "`xs`");
    let ys = p.buf(F64, "`ys`");
    let n = p.int(3);
    let dim = p.dim(ROOT, n);
    let pos = p.pos(dim);
    // Nothing depends on this.
    p.constant(Scalar::Bool(true));
    let x = p.load(xs, pos, dim);
    let site = p.site(SiteData {
        kind: Fault::NotSingleton,
        span: Span::NONE,
        places: vec![Place::element("map", 1), Place::step("for")],
        param: Span::NONE,
    });
    let some = p.unary(UnOp::IsNan, x);
    let value = p.check(some, x, site, vec![pos, pos, pos], dim);
    p.params.push(Rep::Array(Rows::Equal(n), Box::new(Rep::Scalar(xs))));
    p.steps.push(Step::Alloc(ys, n));
    p.steps
        .push(Step::Run(Kernel { sinks: vec![Sink::Write { space: dim, buf: ys, at: pos, value }], name: "k".into() }));
    p.result = Rep::Array(Rows::Equal(n), Box::new(Rep::Scalar(ys)));
    let text = p.to_string();
    let again = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.to_string(), text);
    assert_eq!((again.node(value), again.space(dim)), (p.node(value), p.space(dim)));
}

#[test]
fn errors_say_where() {
    let wrong = [
        (
            "t0: i64 @s0 = const 0i64\nt0: i64 @s0 = const 1i64\nparams ()\nresult ()",
            "2:1: t0 was something else above",
        ),
        ("params ()\ncheck t3\nresult ()", "2:7: t3 is told nowhere"),
        ("params ()\nfree b0\nresult b0", "2:6: b0 is told nowhere"),
        ("s2 = dim s3, t0\nparams ()\nresult ()", "1:1: s2 is in s3, which does not come before it"),
        ("s1 = row s0\nparams ()\nresult ()", "1:1: there is no kind of space `row`"),
        ("t0: i64 @s0 = frob(t0)\nparams ()\nresult ()", "1:15: there is no operator `frob`"),
        ("t0: i64 @s0 = add(t0)\nparams ()\nresult ()", "1:18: 1 operands where 2 are expected"),
        ("c0 = oops\nparams ()\nresult ()", "1:6: there is no fault `oops`"),
        ("params ()\nalloc b0: i64 x\nresult b0", "2:7: b0 needs a size here"),
        ("params ()\njump\nresult ()", "2:1: expected a step, found `jump`"),
        ("params ()\nresult ()\nmore", "3:1: expected the end of the text, found `more`"),
        ("params ()", "1:10: expected a step, found the end of the text"),
        ("t9999999: i64 @s0 = const 0i64\nparams ()\nresult ()", "1:1: the number 9999999 is too large"),
    ];
    for (text, message) in wrong {
        assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn the_verifier_finds_each_fault() {
    let faults = [
        (
            "t0: i64 @s0 = neg(t1)\nt1: i64 @s0 = const 0i64\nparams ()\ncheck t0",
            "t0 uses t1, which is not made before it",
        ),
        (
            "b0: i64 x\nt0: i64 @s0 = const 0i64\nt1: f64 @s0 = load b0[t0]\nparams ()\ncheck t1",
            "t1 is f64, but b0 holds i64",
        ),
        ("t0: i64 @s0 = const 0i64\nparams ()\nif t0 {} else {}", "t0 is no condition of the root"),
        (
            "b0: i64 x\nt0: i64 @s0 = const 0i64\ns1 = rows s0, b0, t0\nt1: i64 @s1 = pos\nparams ()\ncheck t1",
            "s1 has rows of no buffer, and says of b0",
        ),
        (
            "b0: i64 x\nt0: i64 @s0 = const 1i64\ns1 = dim s0, t0\nt1: i64 @s1 = pos\nt2: i64 @s1 = add(t0, t1)
t3: i64 @s1 = load b0[t2]\nt4: i64 @s1 = load b0[t1]\nt5: i64 @s1 = sub(t3, t4)\ns2 = dim s1, t5\nparams ()\ncheck t5",
            "s2 has rows of b0, and says of no buffer",
        ),
        ("t0: i64 @s0 = pos\nparams ()\ncheck t0", "t0 is a position in s0, which is no dimension"),
        (
            "t0: i64 @s0 = const 0i64\ns1 = dim s0, t0\nt1: i64 @s1 = pos\nparams ()\nalloc b0: i64 [t1] x",
            "t1 is not of the root",
        ),
        (
            "t0: i64 @s0 = const 3i64\ns1 = dim s0, t0\nt1: i64 @s1 = pos\nt2: i64 @s0 = fold s1 (t1) add
t3: i64 @s0 = t2.0\nparams ()\nalloc b0: i64 [t3] x",
            "the host is asked for t3, which is part of a fold or loop",
        ),
    ];
    for (text, fault) in faults {
        let program = parse(&format!("{text}\nresult ()")).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let found = verify(&program).unwrap_err();
        assert!(found.contains(&fault.to_string()), "{text}\n{found:?}");
    }
}

#[test]
fn damaged_texts_are_refused_without_panic() {
    let pieces: Vec<char> = EVERYTHING.chars().collect();
    for k in 0..pieces.len() {
        let mut swapped = pieces.clone();
        swapped[k] = if swapped[k] == '1' { '9' } else { '1' };
        if let Ok(program) = parse(&swapped.iter().collect::<String>()) {
            drop(verify(&program));
            let text = program.to_string();
            assert_eq!(parse(&text).map(|p| p.to_string()), Ok(text));
        }
        let cut: String = pieces[..k].iter().collect();
        drop(parse(&cut));
    }
    let deep = format!("params () {} result ()", "while { ".repeat(10_000));
    assert!(parse(&deep).is_err());
}
