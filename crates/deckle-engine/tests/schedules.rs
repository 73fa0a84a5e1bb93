//! Schedules that are given: what is not legal is refused with the reason, before any code is made.

use deckle_diag::{Code, SourceMap};
use deckle_engine::pipeline::{self, Target};
use deckle_engine::{Layout, Options};
use deckle_gen::schedules::leave_rounds;
use deckle_ir::loops::Stores;
use deckle_ir::schedule::{Function, Item, Level, Nest, Schedule, Take, Walk, When, parse};
use deckle_syntax::Compiled;

fn compiled(text: &str) -> Compiled {
    let mut load = |_: &str, _: &str| Err("nothing is imported".to_string());
    deckle_syntax::compile(&mut SourceMap::new(), "a.dk", text.as_bytes().to_vec(), &mut load).unwrap()
}

/// The schedule of a program, some functions of which are given.
fn scheduled(text: &str, given: Option<Function>) -> Result<Schedule, String> {
    scheduled_for(Target::Cpu, text, given)
}

/// The same for cores or for a GPU.
fn scheduled_for(target: Target, text: &str, given: Option<Function>) -> Result<Schedule, String> {
    let Compiled { program, .. } = compiled(text);
    let func = program.find("main").unwrap();
    let given = given.map(|function| Schedule { functions: vec![function] });
    // The same on all machines.
    let options = Options { stores: Some(Stores::Anywhere), ..Options::default() };
    let given = given.as_ref();
    let scheduled = match target {
        Target::Cpu => pipeline::scheduled(&program, func, options, given),
        Target::Gpu => pipeline::scheduled_on_grid(&program, func, options, Layout::default(), given),
    };
    scheduled.map_err(|refused| {
        assert_eq!(refused.code, Code::BadFile, "{}", refused.message);
        refused.message.clone()
    })
}

/// Why a program refuses a schedule in which the nest of the outermost walk is another.
fn refusal(text: &str, nest: impl Fn(&Walk) -> Nest) -> String {
    let mut function = scheduled(text, None).unwrap().functions[0].clone();
    function.walks = function.walks.iter().map(|w| Walk { nest: nest(w), ..w.clone() }).collect();
    scheduled(text, Some(function)).expect_err("it is not legal")
}

/// The same with a level that is written out, and nothing inside.
fn refused_level(text: &str, level: &str) -> String {
    let read = parse(&format!("function f {{ s1: {{ {level} }} }}")).unwrap();
    refusal(text, |_| read.functions[0].walks[0].nest.clone())
}

#[test]
fn what_an_operator_forbids_is_refused() {
    let in_order = "def main(xs: [real]) = fold_ordered(\\s x -> 0.5 * s + x, 0.0, xs)";
    assert!(refused_level(in_order, "lanes 8 x 1").contains("one after another"));
    assert!(refused_level(in_order, "accumulators 4").contains("only folds with operators"));
    assert!(refused_level(in_order, "independent").contains("order of points matters"));
    let scatter = "def main(keys: [int], n: int) = histogram(+, 0, n, keys, fill(1, length(keys)))";
    let scan = "def main(xs: [int]) = scan_incl(+, xs)";
    assert!(refused_level(scan, "lanes 8 x 2").contains("one vector after another"));
    assert!(refused_level(scan, "accumulators 2").contains("only folds"));
    let sum = "def main(xs: [real]) = sum(xs)";
    for level in ["lanes 3 x 1", "lanes 32 x 1", "lanes 1 x 1", "lanes 8 x 3"] {
        assert!(refused_level(sum, level).contains("powers of two"), "{level}");
    }
    assert!(refused_level(sum, "unrolled").contains("not known to be small"));
    assert!(refused_level(sum, "lanes 8 x 4 non_temporal").contains("non-temporal"));
    assert!(refused_level(sum, "lanes 8 x 2 masked").contains("under a mask have one vector"));
    assert!(refused_level(sum, "windows 512 lanes 8").contains("no rows"));
    assert!(refused_level(sum, "tile 6 lanes 8 x 4").contains("cannot be tiled"));
    assert!(refused_level(sum, "when interior { serial } else { serial }").contains("grouped differently"));
    assert!(refused_level(scatter, "when interior { serial } else { serial }").contains("no edges"));
}

#[test]
fn what_is_missing_or_too_much_is_refused() {
    let rows = "def main(rows: [[real]]) = [ sum(r) : r in rows ]";
    let without = |w: &Walk| match &w.nest {
        Nest::Level { level, .. } => Nest::level(*level, [], ""),
        nest => nest.clone(),
    };
    assert!(refusal(rows, without).contains("there is no walk over"));
    let twice = |w: &Walk| {
        let inner = Walk { nest: Nest::level(Level::Serial, [], ""), ..w.clone() };
        match &w.nest {
            Nest::Level { level, inside, .. } => Nest::level(*level, [&inside[..], &[inner]].concat(), ""),
            nest => nest.clone(),
        }
    };
    assert!(refusal(rows, twice).contains("nothing needs the walk"));
    let sum = "def main(xs: [int]) = sum(xs)";
    let negative = |w: &Walk| Nest::when(When::Fewer(-1), w.nest.clone(), w.nest.clone());
    assert!(refusal(sum, negative).contains("when fewer -1"));
}

#[test]
fn only_rows_that_are_written_in_order_leave_in_whole_lines() {
    let sums = "def main(rows: [[real]]) = [ sum(r) : r in rows ]";
    assert!(refused_level(sums, "lines 4").contains("written side by side"));
    assert!(refused_level(sums, "when elements 5 { serial } else { serial }").contains("written side by side"));
    let bytes = "def main(rows: [[u8]]) = [ scan_incl(+, r) : r in rows ]";
    assert!(refused_level(bytes, "lines 4").contains("written side by side"));
    // A check that fails would leave elements out.
    let checked = "def main(rows: [[real]], at: [int]) = [ [ rows[i][0] + x : x in rows[i] ] : i in at ]";
    assert!(refused_level(checked, "lines 4").contains("written side by side"));
    let shares = "def main(rows: [[real]]) = [ let s = sum(r) in [ x / s : x in r ] : r in rows ]";
    assert!(refused_level(shares, "lines 0").contains("a few lines"));
    let with = |level: &str| {
        let read = parse(&format!("function f {{ s1: {{ {level} }} }}")).unwrap().functions[0].walks[0].nest.clone();
        move |w: &Walk| {
            let Nest::Level { inside, .. } = &w.nest else { panic!("{w:?}") };
            let is_sink = |w: &Walk| w.items.iter().any(|i| matches!(i, Item::Sink(_)));
            let other = |w: &Walk| if is_sink(w) { read.clone() } else { w.nest.clone() };
            let inside: Vec<Walk> = inside.iter().map(|w| Walk { nest: other(w), ..w.clone() }).collect();
            Nest::level(Level::Lines { together: 2, non_temporal: false }, inside, "")
        }
    };
    assert!(refusal(shares, with("independent")).contains("in order"));
    assert!(refusal(shares, with("when fewer 5 { serial } else { lanes 8 x 2 apart }")).contains("in order"));
    let mut function = scheduled(shares, None).unwrap().functions[0].clone();
    let legal = with("when fewer 5 { serial } else { lanes 8 x 2 }");
    function.walks = function.walks.iter().map(|w| Walk { nest: legal(w), ..w.clone() }).collect();
    assert!(scheduled(shares, Some(function)).unwrap().to_string().contains("lines 2"));
}

/// The last function of a program that threads share, how, and which other ways are legal, of all there are.
fn shares(target: Target, text: &str) -> (String, Vec<String>) {
    let chosen = scheduled_for(target, text, None).unwrap();
    let function = chosen.functions.iter().rfind(|f| f.threads.is_some()).unwrap();
    let words = ["one", "blocks", "rows", "copies", "owners"];
    let on_grid = [
        "64 strided",
        "64 binned 64",
        "64 successive",
        "64 rounds 2",
        "64 parts",
        "64 sorted",
        "64 groups 32 at_least 3",
        "64 groups 64 at_least 3",
        "64 tiles 4 x 4 across 8 deep 8 at_least 3",
        "64 tiles 3 x 4 across 8 deep 8 at_least 3",
        "64 tiles 8 x 8 across 8 deep 32 at_least 3",
        "64 tiles 1 x 1 across 64 deep 1 at_least 3",
        "33 parts",
        "2048 strided",
        "64 rounds 0",
        "64 binned 1",
    ];
    let all = words.into_iter().flat_map(|w| [w.to_string(), format!("{w} 0"), format!("{w} 100")]);
    let all = all.chain(on_grid.map(|words| format!("grid {words}")));
    let legal = all.filter(|words| {
        let read = parse(&format!("function f {{ threads {words} }}")).unwrap();
        let mut given = Function { threads: read.functions[0].threads, ..function.clone() };
        if !words.contains("rounds") {
            leave_rounds(&mut given);
        }
        match scheduled_for(target, text, Some(given.clone())) {
            Ok(followed) => followed.functions.contains(&given),
            Err(why) => {
                assert!(why.contains(&format!("is not legal: `threads {words}`: ")), "{why}");
                false
            }
        }
    });
    (function.threads.unwrap().to_string(), legal.collect())
}

#[test]
fn threads_share_points_as_results_allow() {
    let is = |text: &str, chosen: &str, legal: &[&str]| {
        assert_eq!(
            shares(Target::Cpu, text),
            (format!("threads {chosen}"), legal.iter().map(|w| w.to_string()).collect()),
            "{text}"
        );
    };
    is("def main(xs: [real]) = [ 2.0 * x : x in xs ]", "blocks", &["one", "blocks"]);
    is("def main(xs: [real]) = sum(xs)", "blocks 16384", &["one 100", "blocks 100"]);
    is("def main(xs: [int]) = scan_incl(+, xs)", "blocks 16384", &["one 100", "blocks 100"]);
    is("def main(rows: [[real]]) = [ sum(r) : r in rows ]", "rows", &["one", "blocks", "rows"]);
    is("def main(rows: [[real]]) = sum([ sum(r) : r in rows ])", "rows 16", &["one 100", "blocks 100", "rows 100"]);
    is("def main(xs: [real]) = fold_ordered(\\s x -> 0.5 * s + x, 0.0, xs)", "one", &["one"]);
    let keys = "def main(keys: [int], n: int) =";
    is(&format!("{keys} histogram(+, 0, n, keys, fill(1, length(keys)))"), "copies", &["one", "copies"]);
    is(&format!("{keys} scatter(fill(0, n), keys, iota(length(keys)))"), "one", &["one"]);
    let multiples = "expand(\\p -> n / p - 1, \\p i -> p * (i + 2), keys)";
    is(
        &format!("{keys} let at = {multiples} in scatter(fill(0, n), at, fill(1, length(at)))"),
        "owners",
        &["one", "blocks", "owners"],
    );
}

#[test]
fn threads_of_a_gpu_share_points_as_results_allow() {
    let is = |text: &str, chosen: &str, legal: &[&str]| {
        let legal = legal.iter().map(|w| w.to_string()).collect();
        assert_eq!(shares(Target::Gpu, text), (format!("threads {chosen}"), legal), "{text}");
    };
    let [strided, successive, parts] = ["grid 64 strided", "grid 64 successive", "grid 64 parts"];
    is("def main(xs: [real]) = [ 2.0 * x : x in xs ]", "grid 256 strided", &["one", strided, successive, parts]);
    is("def main(xs: [real]) = sum(xs)", "grid 256 strided", &["one", strided, successive, parts]);
    let horner = "fold(\\(a, b) (c, d) -> (a * c, b * c + d), (1.0, 0.0), ps)";
    let horner = format!("def main(ps: [(real, real)]) = {horner}");
    is(&horner, "grid 256 successive", &["one", successive, parts]);
    is("def main(xs: [int]) = scan_incl(+, xs)", "grid 256 rounds 4", &["one", "grid 64 rounds 2", parts]);
    is("def main(xs: [real]) = fold_ordered(\\s x -> 0.5 * s + x, 0.0, xs)", "one", &["one"]);
    let rows = "def main(rows: [[real]]) = [ sum(r) : r in rows ]";
    is(rows, "grid 256 groups 256 at_least 2048 split 32768", &["grid 64 groups 64 at_least 3"]);
    let product = "[ [ sum([ x * y : x in row; y in column ]) : column in transpose(b) ] : row in a ]";
    let product = format!("def main(a: [f32; n, m], b: [f32; m, k]) = {product}");
    let tiles = "grid 256 tiles 8 x 8 across 16 deep 8 at_least 262144";
    let [small, deep] =
        ["4 x 4 across 8 deep 8", "8 x 8 across 8 deep 32"].map(|t| format!("grid 64 tiles {t} at_least 3"));
    is(&product, tiles, &[&small, &deep]);
    let keys = "def main(keys: [int], xs: [real], n: int) =";
    let atomic = format!("{keys} histogram(+, 0, n, keys, fill(1, length(keys)))");
    is(&atomic, "grid 256 binned 16384", &["one", strided, "grid 64 binned 64", successive, parts]);
    is(&format!("{keys} histogram(+, 0.0, n, keys, xs)"), "grid 256 sorted", &["one", "grid 64 sorted"]);
    let two = format!("{keys} scatter(fill((0, 0.0), n), keys, [ (i, x) : i in iota(length(keys)); x in xs ])");
    is(&two, "grid 256 sorted", &["one", "grid 64 sorted"]);
}

#[test]
fn sorted_points_are_traversed_in_one_way() {
    let text = "def main(keys: [int], xs: [real], n: int) = histogram(+, 0.0, n, keys, xs)";
    let chosen = scheduled_for(Target::Gpu, text, None).unwrap();
    let sorted = |f: &&Function| f.threads.is_some_and(|t| t.share.grid().is_some_and(|g| g.take == Take::Sorted));
    let function = chosen.functions.iter().find(sorted).unwrap();
    let with = |level: &str| {
        let changed = function.to_string().replace("serial  ", level);
        assert_ne!(changed, function.to_string());
        let given = parse(&changed).unwrap().functions[0].clone();
        scheduled_for(Target::Gpu, text, Some(given)).map(|_| ())
    };
    let both = "when fewer 5 { serial } else { serial }";
    assert!(with(both).unwrap_err().contains("all points are traversed in one way"));
    assert!(with("independent").unwrap_err().contains("order of points matters"));
}

#[test]
fn what_a_group_shares_is_a_level() {
    let wide = |text: &str, level: &str| {
        let chosen = scheduled_for(Target::Gpu, text, None).unwrap();
        let function = chosen.functions.iter().find(|f| f.name.ends_with("_warp")).unwrap();
        let changed = function.to_string().replace("group  ", level);
        assert_ne!(changed, function.to_string());
        let given = parse(&changed).unwrap().functions[0].clone();
        scheduled_for(Target::Gpu, text, Some(given)).map(|_| ())
    };
    // A fold may be computed by all threads of a group alike; a store may not.
    assert_eq!(wide("def main(rows: [[real]]) = [ sum(r) : r in rows ]", "serial"), Ok(()));
    let doubles = "def main(rows: [[real]]) = [ [ 2.0 * x : x in r ] : r in rows ]";
    assert!(wide(doubles, "serial").unwrap_err().contains("all threads of the group would store"));
    assert!(wide(doubles, "lanes 8 x 4").unwrap_err().contains("all threads of the group would store"));
    let no_group = "no group takes the point around it";
    assert!(refused_level("def main(xs: [real]) = sum(xs)", "group").contains(no_group));
}

#[test]
fn dense_dimensions_are_joined_where_nothing_is_in_between() {
    let main = |text: &str, from: &str, to: &str| {
        let chosen = scheduled_for(Target::Gpu, text, None).unwrap();
        let changed = chosen.functions[0].to_string().replacen(from, to, 1);
        assert_ne!(changed, chosen.functions[0].to_string());
        let given = parse(&changed).unwrap().functions[0].clone();
        scheduled_for(Target::Gpu, text, Some(given)).map(|_| ())
    };
    let cube = "def main(a: [real; n, m, k]) = [ [ [ 2.0 * x : x in r ] : r in s ] : s in a ]";
    assert!(main(cube, "joined {", "serial {").unwrap_err().contains("points are traversed one by one here"));
    let outer = main(cube, "joined {                              //", "serial {                              //");
    assert_eq!(outer, Ok(()));
    assert!(main(cube, "grid 256 strided", "one").unwrap_err().contains("points are traversed one by one here"));
    for apart in [
        "def main(rows: [[real]]) = [ [ 2.0 * x : x in r ] : r in rows ]",
        "def main(rows: [real; n, m]) = [ let s = sum(r) in [ s * x : x in r ] : r in rows ]",
        "def main(rows: [int; n, m]) = [ scan_incl(+, r) : r in rows ]",
    ] {
        assert!(main(apart, "serial {", "joined {").unwrap_err().contains("points are traversed one by one here"));
    }
    // At the edges it is the same dimensions that are joined.
    let stencil = "def main(a: [real; n, m, k]) = stencil((1, 1, 1), constant(0.0), \\v -> v[0, 1, 1] + v[2, 1, 0], a)";
    let refused = main(stencil, "} else {\n      joined {", "} else {\n      serial {").unwrap_err();
    assert!(refused.contains("all points are traversed in one way here"), "{refused}");
}

/// A line of a schedule can be changed without taking out the functions that are then not needed.
#[test]
fn functions_that_another_share_has_are_known() {
    let Compiled { program, .. } =
        compiled("def main(keys: [int], n: int) = histogram(+, 0, n, keys, fill(1, length(keys)))");
    let func = program.find("main").unwrap();
    let scheduled = |given: Option<&Schedule>| pipeline::scheduled(&program, func, Options::default(), given);
    let names = |s: &Schedule| s.functions.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
    let mut given = scheduled(None).unwrap();
    assert!(names(&given).contains(&"k1_turns".to_string()), "{given}");
    let one = parse("function k { threads one }").unwrap().functions[0].threads;
    given.functions.iter_mut().filter(|f| f.name == "k1").for_each(|f| f.threads = one);
    assert_eq!(names(&scheduled(Some(&given)).unwrap()), ["k0", "k1"]);
    given.functions[0].name = "k9".into();
    assert!(scheduled(Some(&given)).unwrap_err().message.contains("`k9`, which the program does not have"));
}
