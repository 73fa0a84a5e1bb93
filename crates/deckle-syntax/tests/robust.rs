//! Robustness of the front end: any text gives a program that verifies, or errors for the user, in bounded time.

use deckle_diag::{Class, Code, Diagnostic, SourceMap, render_all};
use deckle_syntax::{Compiled, compile};
use std::time::{Duration, Instant};

/// The time limit for any one text. Far more than necessary, since test machines are busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// Compiles, and checks the properties of the outcome for any text.
fn survive_bytes(bytes: Vec<u8>) -> Result<Compiled, Vec<Diagnostic>> {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
    let mut sources = SourceMap::default();
    let start = Instant::now();
    let mut load = |_: &str, path: &str| Err(format!("there is no `{path}` here"));
    let outcome = compile(&mut sources, "main.dk", bytes, &mut load);
    match &outcome {
        Ok(compiled) => {
            if let Err(faults) = deckle_ir::array::verify(&compiled.program) {
                panic!("does not verify: {faults:?}\n{shown}");
            }
        }
        Err(diags) => {
            assert!(!diags.is_empty(), "refused without a reason:\n{shown}");
            for d in diags {
                assert!(d.class() != Class::Bug, "{}: {}\n{shown}", d.code, d.message);
                for l in &d.labels {
                    let file = sources.get(l.span.file).unwrap_or_else(|| panic!("{d:?}\n{shown}"));
                    assert!(file.text.get(l.span.lo as usize..l.span.hi as usize).is_some(), "{d:?}\n{shown}");
                }
                let said = [&d.message].into_iter().chain(&d.notes).chain(&d.helps);
                for text in said.chain(d.labels.iter().map(|l| &l.text)) {
                    assert!(!names_an_entity(text, &shown), "speaks of what only the compiler knows: {text}\n{shown}");
                }
            }
            render_all(diags, &sources, false);
        }
    }
    let took = start.elapsed();
    assert!(took < PATIENCE, "took {took:?}:\n{shown}");
    outcome
}

fn survive(text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    survive_bytes(text.as_bytes().to_vec())
}

/// Whether a message contains a name such as `v12` that the user never wrote.
fn names_an_entity(text: &str, source: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|w| {
        let entity = w.len() > 1 && w.starts_with(['v', 'n']) && w[1..].chars().all(|c| c.is_ascii_digit());
        entity && !source.contains(w)
    })
}

/// The code of the only error.
fn refused(text: &str) -> Code {
    let diags = survive(text).expect_err("an error");
    assert_eq!(diags.len(), 1, "{diags:#?}");
    diags[0].code
}

fn accepted(text: &str) -> Compiled {
    survive(text).unwrap_or_else(|d| panic!("{:#?}\n{}", &d[..d.len().min(3)], &text[..text.len().min(400)]))
}

/// A random number generator with a fixed seed.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

const MANY: usize = 100_000;

#[test]
fn deep_nesting_is_refused() {
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{", "1", "}"),
        ("(1, ", "1", ")"),
        ("f(", "1", ")"),
        ("xs[", "1", "]"),
        ("-", "1", ""),
        ("!", "true", ""),
        ("\\x -> ", "1", ""),
        ("let x = 1 in ", "1", ""),
        ("let x = ", "1", " in 1"),
        ("if true then 1 else ", "1", ""),
        ("if ", "true", " then 1 else 2"),
        ("loop x = 1 for i < 3 do ", "1", ""),
        ("loop x = 1 while false do ", "1", ""),
        ("[ x : x in ", "xs", " ]"),
        ("{ x : x in ", "xs", " }"),
        ("map(\\x -> ", "1", ", xs)"),
        ("p with (x = ", "1", ")"),
    ] {
        let text = format!("def main(xs: [int]) = {}{inner}{}", open.repeat(MANY), close.repeat(MANY));
        let diags = survive(&text).expect_err("an error");
        assert!(diags.iter().any(|d| d.code == Code::TooDeep), "{open}: {diags:#?}");
    }
    for (open, close) in [("[", "]"), ("{", "}"), ("(", ")"), ("(int, ", ")"), ("t[", "]"), ("[i -> ", "; 3]")] {
        for head in ["def main(x: ", "type t = ", "def main(x: int) = let y: "] {
            let text = format!("{head}{}int{}", open.repeat(MANY), close.repeat(MANY));
            survive(&text).expect_err("an error");
        }
    }
}

#[test]
fn long_chains_are_refused_or_accepted() {
    for part in [" + 1", " ++ xs", " * xs[0]", " && true", "[0]", ".x", ".0", "(1)", " with (x = 1)", " == 1"] {
        survive(&format!("def main(xs: [int]) = xs{}", part.repeat(MANY))).expect_err("an error");
    }
    let sum = |n: usize| format!("def main(x: int) = x{}", " + x".repeat(n));
    assert_eq!(refused(&sum(MANY)), Code::TooDeep);
    accepted(&sum(2500));
    accepted(&format!("def main(xs: [int]) = xs{}", " ++ xs".repeat(500)));
    accepted(&format!("def main(x: int) = {} x", "let x = x + 1\n".repeat(2500) + "in"));
    accepted(&format!("def main(x: int) = {} x", "if x < 0 then 1 else ".repeat(1000)));
    accepted(&format!("def main() = [{}]", "1, ".repeat(MANY)));
    accepted(&format!("def main() = {{{}}}", "1, ".repeat(10_000)));
    let strings = format!("def main() = \"{}\"", "a".repeat(1 << 20));
    accepted(&strings);
}

#[test]
fn lets_that_double_their_types_or_sizes_end() {
    let doubling = |line: &str, n: usize| format!("def main(x: int, xs: [int]) = {}in 1", line.repeat(n));
    assert_eq!(refused(&doubling("let x = (x, x)\n", 2000)), Code::TooDeep);
    assert_eq!(refused(&doubling("let x = [x]\n", 2000)), Code::TooDeep);
    assert_eq!(refused(&doubling("let x = {x}\n", 2000)), Code::TooDeep);
    assert_eq!(refused(&doubling("let (x, y) = ((x, x), x)\n", 2000)), Code::TooDeep);
    survive(&doubling("let xs = xs ++ xs\n", 100)).expect("accepted");
    let _ = survive(&doubling("let xs = xs ++ xs\n", 1000));
    let _ = survive(&doubling("let xs = flatten([ xs : x in xs ])\n", 100));
    let _ = survive(&doubling("let xs = generate(length(xs) * length(xs) + x, \\i -> i)\n", 100));
    let _ = survive(&doubling("let xs = if x > 0 then xs else tail(xs)\n", 200));
    let _ = survive(&doubling("let xs = loop xs = xs for i < x do xs ++ xs\n", 100));
}

/// An integer that is used as a size is decomposed only while that stays small.
#[test]
fn sizes_made_by_doubling_end() {
    let doubled = "let x = x + x ".repeat(60);
    accepted(&format!("def main(x: int) = {doubled} in length(iota(x))"));
    let squared = "let x = (x + length(xs)) * (x + length(xs)) ".repeat(30);
    accepted(&format!("def main(x: int, xs: [int]) = {squared} in take(x, xs)"));
}

#[test]
fn many_functions_are_no_burden() {
    let chain = |n: usize, first: &str, last: &str| {
        let mut text = String::from(first);
        (1..n).for_each(|k| text.push_str(&format!("def f{k}(x: int) = f{}(x) + {k}\n", k - 1)));
        text.push_str(last);
        text
    };
    let up = chain(10_000, "def f0(x: int) = x\n", "def main(x: int) = f9999(x)\n");
    let down: Vec<&str> = up.lines().rev().collect();
    assert_eq!(accepted(&up).entries.len(), 10_001);
    assert_eq!(accepted(&down.join("\n")).entries.len(), 10_001);
    // A circle of ten thousand.
    let circle = chain(10_000, "def f0(x: int) = f9999(x)\n", "");
    assert_eq!(refused(&circle), Code::Recursive);
    // Unknown names, each of which is compared with all others.
    let unknown: String = (0..3000).map(|k| format!("def g{k}(x: int) = h{k}(x)\n")).collect();
    assert_eq!(survive(&unknown).expect_err("errors").len(), 3000);
}

#[test]
fn calls_do_not_multiply() {
    let tower = |line: &dyn Fn(usize) -> String, base: &str, n: usize, main: &str| {
        let mut text = format!("{base}\n");
        (1..=n).for_each(|k| text.push_str(&format!("{}\n", line(k))));
        text + main
    };
    let twice = |k: usize| format!("def f{k}(x) = f{}(x) + f{0}(x)", k - 1);
    accepted(&tower(&twice, "def f0(x) = x + 1", 40, "def main(x: int) = f40(x)"));
    let inside = |k: usize| format!("def f{k}(x: int) = f{}(f{0}(x))", k - 1);
    accepted(&tower(&inside, "def f0(x: int) = x + 1", 40, "def main(x: int) = f40(x)"));
    let append = |k: usize| format!("def f{k}(xs: [int]) = f{}(xs) ++ f{0}(xs)", k - 1);
    accepted(&tower(&append, "def f0(xs: [int]) = xs", 40, "def main(xs: [int]) = f40(xs)"));
    let _ = survive(&tower(&append, "def f0(xs: [int]) = xs", 200, "def main(xs: [int]) = f200(xs)"));
    let nested = |k: usize| format!("def f{k}(xs: [int]) = f{}(f{0}(xs))", k - 1);
    let _ = survive(&tower(&nested, "def f0(xs: [int]) = xs ++ tail(xs)", 40, "def main(xs: [int]) = f40(xs)"));
}

#[test]
fn polymorphic_explosions_are_refused() {
    let tower = |base: &str, line: &str, n: usize, main: &str| {
        let mut text = format!("{base}\n");
        for k in 1..=n {
            text.push_str(&line.replace("$k", &k.to_string()).replace("$p", &(k - 1).to_string()));
            text.push('\n');
        }
        text + &main.replace("$n", &n.to_string())
    };
    let main = "def main(x: int) = f$n(x)";
    for (base, line) in [
        ("def f0(x) = (x, x)", "def f$k(x) = f$p(f$p(x))"),
        ("def f0(x) = [x]", "def f$k(x) = f$p(f$p(x))"),
        ("def f0(x) = x", "def f$k(x) = (f$p(x), f$p(x))"),
        ("def f0(x) = x", "def f$k(x) = f$p((x, x))"),
        ("def f0(x) = 1", "def f$k(x) = f$p((x, x))"),
        ("def f0(x) = 1", "def f$k(x) = f$p([x]) + f$p((x, 1))"),
        ("type p[t] = { a: t, b: t }\ndef f0(x) = p(x, x)", "def f$k(x) = f$p(f$p(x))"),
    ] {
        assert_eq!(refused(&tower(base, line, 60, main)), Code::TooDeep, "{line}");
    }
    for (base, line, main) in [
        ("type t0 = int", "type t$k = (t$p, t$p)", "def main(x: t$n) = x"),
        ("type t0 = { a: int }", "type t$k = { a: t$p, b: t$p }", "def main(x: t$n) = x"),
        ("type t0[a] = (a, a)", "type t$k[a] = t$p[t$p[a]]", "def main(x: t$n[int]) = x"),
        ("type t0[a] = { x: a, y: a }", "type t$k[a] = { x: t$p[t$p[a]] }", "def main(x: t$n[int]) = x"),
        ("type t0[a] = int", "type t$k[a] = t$p[t$p[a]]", "def main(x: t$n[int]) = x"),
        ("type t0 = int", "type t$k = [t$p]", "def main(x: t$n) = x"),
    ] {
        let diags = survive(&tower(base, line, 200, main)).expect_err("too large");
        assert!(diags.iter().all(|d| d.code == Code::TooDeep), "{line}: {diags:#?}");
        assert!(diags.len() <= 2, "{line}: {diags:#?}");
    }
    accepted(&tower("type t0 = int", "type t$k = t$p", 300, "def main(x: t$n) = x + 1"));
    accepted(&tower("type t0 = (int, int)", "type t$k = { a: t$p }", 60, "def main(x: t$n) = x"));
}

#[test]
fn types_that_contain_themselves_are_refused() {
    for text in [
        "type t = t",
        "type t = (t, t)",
        "type t = [t]",
        "type a = b\ntype b = c\ntype c = (a, b)",
        "type r = { x: r }",
        "type r = { x: [r] }",
        "type a = { x: b }\ntype b = { y: a }",
        "type a = { x: b }\ntype b = [a]",
        "type p[t] = p[t]",
        "type p[t] = { x: p[p[t]] }",
    ] {
        let diags = survive(&format!("{text}\ndef main(x: int) = x")).expect_err("an error");
        assert!(diags.iter().all(|d| d.code == Code::InfiniteType), "{text}: {diags:#?}");
    }
}

#[test]
fn odd_files_are_survived() {
    for text in [
        "",
        "\n\n\n",
        "// nothing\n",
        "/* nothing */",
        "/// a page of nothing\n",
        "\u{feff}def main() = 1",
        "\u{feff}",
        "def main() =\r\n  let x = 1\r\n  in x\r\n",
        "def main() = 1\r// old",
        "def main() = 1\0",
        "\0\0\0",
        "def \0main() = 1",
        "def main() = \"\0\"",
        "def main() = 99999999999999999999999999999999",
        "def main() = 0xffffffffffffffffffffffff",
        "def main() = 18446744073709551615",
        "def main() = -9223372036854775808",
        "def main() = -9223372036854775809",
        "def main() = 1e999",
        "def main() = 1e-999",
        "def main() = 1e999f32",
        "def main() = 1.0e2147483648",
        "def main(x: [int; 99999999999999999999]) = x",
        "def main(x: [int; 18446744073709551615]) = x",
        "def main(x: [int; 9223372036854775807 * 9223372036854775807 * 9223372036854775807]) = x ++ x",
        "def main(x: [int; 0 - 5]) = x",
        "def main(x: [int; 1 / 0]) = x",
        "def main(n: int, x: [int; n / 0]) = x",
        "def main() = (1, 2).99999999999999999999",
        "def main() = fill(0, 9223372036854775807, 9223372036854775807)",
        "def main() = 1..9223372036854775807",
        "def main() = transpose([[1]], (18446744073709551615, 0))",
        "def main() = stencil(18446744073709551615, clamp, \\w -> 1, [1])",
    ] {
        let _ = survive(text);
    }
    accepted("");
    accepted("// only a comment");
    accepted("\u{feff}def main() = 1");
    accepted("def main() =\r\n  let x = 1\r\n  in x\r\n");
    let digits = "9".repeat(MANY);
    let _ = survive(&format!("def main() = {digits}"));
    let _ = survive(&format!("def main() = {digits}.{digits}e{digits}"));
    let _ = survive(&format!("def main({}: int) = 1", "x".repeat(MANY)));
    let _ = survive(&format!("def main(x: int) = {}", "y".repeat(MANY)));
    for bytes in [
        vec![0xff],
        vec![0xc3, 0x28],
        b"def main() = \xf0\x9f".to_vec(),
        vec![0xef, 0xbb, 0xbf, 0xff],
        vec![0; 1 << 20],
    ] {
        survive_bytes(bytes).expect_err("not a program");
    }
}

#[test]
fn noise_is_survived() {
    for seed in 1..4 {
        let mut rng = Rng(seed);
        survive_bytes((0..1 << 20).map(|_| rng.below(256) as u8).collect()).expect_err("noise");
        survive_bytes((0..1 << 20).map(|_| rng.below(96) as u8 + 32).collect()).expect_err("noise");
    }
}

#[test]
fn wide_things_are_survived() {
    let list = |n: usize, item: &dyn Fn(usize) -> String| (0..n).map(item).collect::<Vec<_>>().join(", ");
    accepted(&format!("def main({}) = a0", list(2000, &|k| format!("a{k}: int"))));
    let _ = survive(&format!("def f({}) = a0\ndef main(x: int) = x", list(5000, &|k| format!("a{k}"))));
    assert_eq!(refused(&format!("def main() = ({})", list(5000, &|k| k.to_string()))), Code::TooDeep);
    let record = format!("type r = {{ {} }}", list(1000, &|k| format!("a{k}: int")));
    accepted(&format!("{record}\ndef main(x: r) = x.a999 + x.a0"));
    let _ = survive(&format!("{record}\ndef main() = r({})", list(1000, &|k| format!("a{k} = {k}"))));
    let _ = survive(&format!("def main() = [{}]", list(3000, &|k| format!("[{k}, 1]"))));
    let _ = survive(&format!(
        "def main(xs: [int]) = {{ 1 : {} }}",
        list(500, &|k| format!("a{k} in xs")).replace(',', ";")
    ));
    let _ = survive(&format!("def main() = f({})", list(5000, &|k| format!("\\x -> {k}"))));
}

#[test]
fn many_imports_are_survived() {
    let many = |n: usize, chain: bool| {
        let mut sources = SourceMap::default();
        let root: String = match chain {
            true => "import \"m1.dk\"\ndef main(x: int) = m1.f(x)\n".into(),
            false => (1..n).map(|k| format!("import \"m{k}.dk\"\n")).collect::<String>() + "def main(x: int) = m1.f(x)",
        };
        let mut load = |_: &str, path: &str| {
            let k: usize = path.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
            let next = match chain && k + 1 < n {
                true => format!("import \"m{0}.dk\"\ndef f(x: int) = m{0}.f(x) + 1\n", k + 1),
                false => "def f(x: int) = x\n".into(),
            };
            Ok((path.to_string(), next.into_bytes()))
        };
        compile(&mut sources, "main.dk", root.into_bytes(), &mut load)
    };
    for chain in [false, true] {
        let compiled = many(900, chain).unwrap_or_else(|d| panic!("{:?}", d[0]));
        assert!(deckle_ir::array::verify(&compiled.program).is_ok());
        let diags = many(5000, chain).expect_err("too many files");
        assert!(diags.iter().all(|d| d.code == Code::BadImport), "{:?}", diags[0]);
    }
}

/// The words of programs, in valid and invalid combinations.
fn vocabulary() -> Vec<String> {
    let mut words: Vec<String> = "def type import let in if then else loop while for do by with not true false _ x y xs ys s t p q m f g \
        int real bool u8 i32 f32 0 1 2 7 2.5 1u8 300 'a' \"st\" ( ) [ ] { } ( ) [ ] { } ( ) , , , ; : . .. ..< = == < > | || && & ^ << ++ + - * \
        ** / % ! ~ \\ -> => .0 .1 .x clamp wrap"
        .split_whitespace()
        .map(str::to_string)
        .collect();
    words.extend(deckle_syntax::builtins::names().map(str::to_string));
    words
}

#[test]
fn any_jumble_of_words_is_survived() {
    let words = vocabulary();
    let mut rng = Rng(3);
    for _ in 0..4000 {
        let mut text = String::from(
            "type t = { x: int, y: real }\ndef f(x, y) = (x, y)\ndef main(x: int, y: real, xs: [int], ys: [[real]], p: t) = ",
        );
        for _ in 0..rng.below(25) {
            text.push_str(&words[rng.below(words.len())]);
            text.push(' ');
        }
        let _ = survive(&text);
    }
}

/// Random expressions that parse, most of which are well-typed or nearly so.
fn random_expr(rng: &mut Rng, depth: usize, out: &mut String) {
    let names =
        ["x", "y", "xs", "ys", "b", "s", "p", "m", "1", "2.5", "true", "[1, 2]", "{1, 2}", "(1, 2.5)", "[[1], [2, 3]]"];
    if depth == 0 || rng.below(6) == 0 {
        out.push_str(names[rng.below(names.len())]);
        return;
    }
    let forms = [
        "@ + @",
        "@ * @",
        "@ == @",
        "@ ++ @",
        "@ < @",
        "(@, @)",
        "[@, @]",
        "{@, @}",
        "@[@]",
        "@[@, @]",
        "@[@:@]",
        "@[:, @]",
        "(@).0",
        "(@).1",
        "(@).x",
        "if @ then @ else @",
        "let a = @ in @",
        "let (a, c) = @ in @",
        "sum(@)",
        "length(@)",
        "tab(@)",
        "seq(@)",
        "map(\\a -> @, @)",
        "map(\\a c -> @, @, @)",
        "fold(+, @, @)",
        "fold(\\a c -> @, @, @)",
        "scan(+, @, @)",
        "[ @ : a in @ ]",
        "{ @ : a in @ }",
        "{ @ : a in @; c in @ | @ }",
        "[ @ : a in @; c in @ | @ ]",
        "{ @ | @ }",
        "filter(\\a -> @, @)",
        "zip(@, @)",
        "unzip(@)",
        "flatten(@)",
        "transpose(@)",
        "transpose(@, (1, 0))",
        "reverse(@)",
        "reverse(@, 1)",
        "take(@, @)",
        "real(@)",
        "int(@)",
        "generate(@, \\i -> @)",
        "generate(@, @, \\i j -> @)",
        "fill(@, @)",
        "iota(@)",
        "sort(@)",
        "sort_by(\\a -> @, @)",
        "group_by(\\a -> @, @)",
        "expand(\\a -> @, \\a i -> @, @)",
        "scatter(@, @, @)",
        "permute(+, @, @, @)",
        "histogram(+, @, @, @, @)",
        "histogram(\\a c -> @, @, @, @, @)",
        "loop a = @ for i < @ do @",
        "loop a = @ while @ do @",
        "loop (a, c) = (@, @) for i in 0..@ do @",
        "stencil(1, clamp, \\w -> @, @)",
        "stencil((1, 1), wrap, \\w -> @, @)",
        "stencil(1, \\i -> @, \\w -> @, @)",
        "split(@, @)",
        "pad(@, @, @, @)",
        "pad_on(1, @, @, @, @)",
        "concat_on(1, @, @)",
        "shape(@)",
        "shapes(@)",
        "elements(@)",
        "reshape(@, @, @)",
        "size(@)",
        "tiles(@, @)",
        "tabulate(@)",
        "flagpart(@, @)",
        "the(@)",
        "empty(@)",
        "produce(@, \\i -> @)",
        "fold_all(+, @, @)",
        "fold1(\\a c -> @, @)",
        "max(@)",
        "argmax(@)",
        "any(@)",
        "select(@, @, @)",
        "gather(@, @)",
        "backpermute(@, \\i -> @, @)",
        "partition(\\a -> @, @)",
        "imap(\\i a -> @, @)",
        "seg_fold(+, @, @, @)",
        "seg_scan(+, @, @, @)",
        "sort_by_key(@, @)",
        "group_by_key(@, @)",
        "scan_full(+, @, @)",
        "scan_incl(\\a c -> @, @)",
        "unit(@)",
        "rows(@)",
        "f(@)",
        "g(@, @)",
        "h(@)",
        "q(@)",
        "t(@, @)",
        "p with (x = @)",
        "@ .. @",
        "0..<@",
        "@ ! @",
        "-(@)",
        "!(@)",
        "compact(@, @)",
        "replicate(@, @)",
        "let c: [int] = @ in @",
        "let c: [int; x] = @ in @",
        "let c: [real; x, x] = @ in @",
        "init(@)",
        "tail(@)",
        "drop(@, @)",
    ];
    let form = forms[rng.below(forms.len())];
    for part in form.split_inclusive('@') {
        match part.strip_suffix('@') {
            Some(text) => {
                out.push_str(text);
                let simple = depth == 1;
                out.push_str(if simple { "" } else { "(" });
                random_expr(rng, depth - 1, out);
                out.push_str(if simple { "" } else { ")" });
            }
            None => out.push_str(part),
        }
    }
}

#[test]
fn random_expressions_are_survived() {
    let mut rng = Rng(11);
    let mut accepted = 0;
    let rounds = 10_000;
    for _ in 0..rounds {
        let mut text = String::from(
            "type t = { x: int, y: [real] }\ndef f(z) = [z, z]\ndef g(z, w) = { (z, w) : k in 0..<3 }\ndef h(z) = z.x\n\
             def q(z) = { u : u in z }\ndef main(x: int, y: real, xs: [int], ys: [[real]], b: bool, s: {int}, p: t, m: [int; 2, 3]) =\n  ",
        );
        let depth = 1 + rng.below(3);
        random_expr(&mut rng, depth, &mut text);
        accepted += usize::from(survive(&text).is_ok());
    }
    // Otherwise lowering is hardly tested.
    assert!(accepted > rounds / 100, "only {accepted} were programs");
}

fn examples() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "dk") {
            out.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap_or_default()));
        }
    }
    out.sort();
    out
}

/// Words, numbers, and single other characters, with the space before each.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut word = false;
    for c in text.chars() {
        let part = c.is_alphanumeric() || c == '_';
        match out.last_mut() {
            Some(last) if (word && part) || last.ends_with(char::is_whitespace) => last.push(c),
            _ => out.push(c.to_string()),
        }
        word = part;
    }
    out
}

#[test]
fn mutations_of_the_examples_are_survived() {
    let all = examples();
    assert!(!all.is_empty());
    let words = vocabulary();
    let mut rng = Rng(5);
    for (name, text) in all.iter().filter(|(_, t)| !t.contains("import ")) {
        accepted(text);
        let original = tokens(text);
        for _ in 0..250 {
            let mut now = original.clone();
            for _ in 0..1 + rng.below(3) {
                let (i, j) = (rng.below(now.len()), rng.below(now.len()));
                match rng.below(5) {
                    0 => drop(now.remove(i)),
                    1 => now.insert(i, original[rng.below(original.len())].clone()),
                    2 => now.swap(i, j),
                    3 => now[i] = format!(" {} ", words[rng.below(words.len())]),
                    _ => now[i] = original[rng.below(original.len())].clone(),
                }
            }
            let mutated = now.concat();
            let outcome = std::panic::catch_unwind(|| {
                let _ = survive(&mutated);
            });
            assert!(outcome.is_ok(), "{name}, as above, mutated to\n{mutated}");
        }
    }
}

#[test]
fn a_long_script_compiles_quickly() {
    // Two thousand lines of typical code. The bound is generous, since test machines are busy; in a release build on an idle
    // machine this takes a few hundredths of a second.
    let mut text = String::new();
    for k in 0..200 {
        text.push_str(&format!(
            "/// Page {k}.\n\
             type pair{k}[t] = {{ first: t, second: [t] }}\n\
             def dot{k}(xs: [real; n], ys: [real; n]) =\n  \
               sum({{ x * y : x in xs; y in ys }})\n\
             def step{k}(a: [real; n, m], x: [real; m], rounds: int) =\n  \
               let y = [ dot{k}(row, x) : row in a ]\n  \
               let total = loop t = 0.0 for i < rounds do t + sum(y) * real(i)\n  \
               let best = if total > 1.0 then max(y) else min(y)\n  \
               let p = pair{k}(best, scan(+, 0.0, y))\n  \
               in (p.first, filter(\\v -> v > best / 2.0, p.second), total)\n"
        ));
    }
    text.push_str("def main(a: [real; n, m], x: [real; m]) = step0(a, x, 3)\n");
    assert!(text.lines().count() >= 2000);
    accepted(&text);
    let start = Instant::now();
    let mut sources = SourceMap::default();
    let mut load = |_: &str, _: &str| Err(String::new());
    assert!(compile(&mut sources, "main.dk", text.into_bytes(), &mut load).is_ok());
    let took = start.elapsed();
    eprintln!("2,000 lines: {took:?}");
    assert!(took < Duration::from_secs(3), "took {took:?}");
}
