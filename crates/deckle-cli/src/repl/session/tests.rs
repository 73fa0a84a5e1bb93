//! Sessions without a terminal.

use super::*;

fn part(text: &str) -> Part {
    Part::whole(Rc::new(Source { name: "in".into(), text: text.into() }))
}

fn define(session: &mut Session, text: &str) -> Defined {
    session.define(&part(text).source).unwrap_or_else(|f| panic!("{:?}", f.diagnostics))
}

fn value(session: &mut Session, text: &str) -> String {
    let e = session.evaluate(&part(text)).unwrap_or_else(|f| panic!("{:?}", f.diagnostics));
    e.show(true)
}

fn bind(session: &mut Session, text: &str) {
    session.bind(&part(text)).map(drop).unwrap_or_else(|f| panic!("{:?}", f.diagnostics));
}

fn fails(session: &mut Session, text: &str) -> (String, String) {
    let Err(failure) = session.evaluate(&part(text)) else { panic!("`{text}` is right") };
    let d = &failure.diagnostics[0];
    let span = d.labels[0].span;
    let text = &failure.sources.get(span.file).unwrap().text;
    (d.message.clone(), text[span.lo as usize..span.hi as usize].to_string())
}

#[test]
fn the_last_value_is_it() {
    let mut s = Session::default();
    assert_eq!(value(&mut s, "1 + 1"), "2");
    assert_eq!(value(&mut s, "[it, it * 10]"), "[2, 20]");
    assert_eq!(value(&mut s, "sum(it)"), "22");
}

#[test]
fn values_are_kept_with_their_types() {
    let mut s = Session::default();
    bind(&mut s, "let rows = [[1.5], [], [2, 3]]");
    bind(&mut s, "let (n, flag) = (length(rows), true) let s = {1, 2u8}");
    assert_eq!(value(&mut s, "[ sum(r) : r in rows ]"), "[1.5, 0.0, 5.0]");
    assert_eq!(value(&mut s, "(n, flag, sum(s))"), "(3, true, 3)");
    bind(&mut s, "let n = n + 1 // once more");
    assert_eq!(value(&mut s, "n"), "4");
}

#[test]
fn records_are_kept_by_name() {
    let mut s = Session::default();
    define(&mut s, "type point = { x: real, y: real }\ntype pair[a, b] = { fst: a, rest: [(int, b)] }");
    bind(&mut s, "let ps = [point(1, 2)]");
    bind(&mut s, "let q = pair(ps[0], [(1, true)])");
    assert_eq!(value(&mut s, "(ps[0].y, q.fst.x, q.rest[0])"), "(2.0, 1.0, (1, true))");
    define(&mut s, "type point = { x: int, y: int }");
    assert_eq!(fails(&mut s, "1 + length(ps)").0, "`ps` cannot be used any more");
    assert_eq!(value(&mut s, "point(1, 2).x"), "1");
}

#[test]
fn dependants_see_a_new_definition() {
    let mut s = Session::default();
    define(&mut s, "def f(x: int) = x + 1");
    define(&mut s, "def g(x: int) = f(x) * 10");
    assert_eq!(value(&mut s, "g(1)"), "20");
    assert_eq!(define(&mut s, "def f(x: int) = x + 2").broken, Vec::<String>::new());
    assert_eq!(value(&mut s, "g(1)"), "30");
    assert_eq!(define(&mut s, "def f(x: int, y: int) = x + y").broken, ["g"]);
    assert_eq!(value(&mut s, "f(1, 2)"), "3");
    assert_eq!(fails(&mut s, "g(1)").1, "f(x)");
    define(&mut s, "def g(x: int) = f(x, 1)");
    assert_eq!(value(&mut s, "g(1)"), "2");
}

#[test]
fn a_wrong_definition_changes_nothing() {
    let mut s = Session::default();
    define(&mut s, "def f(x: int) = x");
    assert!(s.define(&part("def f(x: int) = nothing").source).is_err());
    assert!(s.define(&part("def f(x: int) = f(x)").source).is_err());
    assert_eq!(value(&mut s, "f(3)"), "3");
}

#[test]
fn definitions_do_not_see_values_and_are_told_so() {
    let mut s = Session::default();
    bind(&mut s, "let n = 3");
    let failure = s.define(&part("def f(x) = x + n").source).unwrap_err();
    assert!(failure.diagnostics[0].notes.iter().any(|n| n.starts_with("`n` is a value of this session")));
}

#[test]
fn errors_point_into_the_input() {
    let mut s = Session::default();
    bind(&mut s, "let xs = [1, 2]");
    assert_eq!(fails(&mut s, "length(xs) + y").1, "y");
    assert_eq!(fails(&mut s, "1 + true").1, "true");
    assert_eq!(fails(&mut s, "10 + xs[2]").1, "xs[2]");
    assert_eq!(fails(&mut s, "(1 + ").1, "+");
    assert_eq!(fails(&mut s, "1 def f(x) = x").1, "def f(x) = x");
}

#[test]
fn a_function_may_be_called_it() {
    let mut s = Session::default();
    define(&mut s, "def it(x: int) = x");
    assert_eq!(value(&mut s, "it(7)"), "7");
    assert_eq!(value(&mut s, "it"), "7");
}

#[test]
fn imports_and_files_are_followed() {
    let folder = std::env::temp_dir().join(format!("deckle-session-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("lib")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("lib/shapes.dk", "type box = { w: real, h: real }\ndef area(b: box) = b.w * b.h");
    write("main.dk", "import \"lib/shapes.dk\"\nimport \"lib/shapes.dk\" (area)\ndef two() = shapes.box(2, 1)");
    let mut s = Session::default();
    let main = folder.join("main.dk");
    s.load(&main).unwrap();
    bind(&mut s, "let b = two()");
    assert_eq!(value(&mut s, "area(b) + shapes.area(b with (h = 3))"), "8.0");
    write("main.dk", "def two() = 2");
    assert_eq!(s.load(&main).unwrap().names, ["two"]);
    assert_eq!(value(&mut s, "two()"), "2");
    assert_eq!(fails(&mut s, "area(3)").1, "area");
    write("main.dk", "def two() = ");
    assert!(s.load(&main).is_err());
    assert_eq!(value(&mut s, "two()"), "2");
    assert!(s.load(&folder.join("mian.dk")).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_interrupt_stops_a_run_and_not_the_session() {
    let mut s = Session::default();
    define(&mut s, "def it_is(x: int) = x");
    let flag = s.interrupt.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        flag.store(true, Ordering::Relaxed);
    });
    // Even an endless loop in compiled code does not block the session.
    let Err(failure) = s.evaluate(&part("loop x = 0 while true do x + 1")) else { panic!("it ended") };
    assert!(failure.diagnostics[0].message.starts_with("interrupted after"), "{:?}", failure.diagnostics);
    stopper.join().unwrap();
    s.interrupt.store(false, Ordering::Relaxed);
    assert_eq!(value(&mut s, "it_is(1)"), "1");
}
