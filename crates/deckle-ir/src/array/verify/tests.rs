//! Each invariant violated once.

use super::*;
use crate::types::Type;

const GOOD: &str = "
    fn f [n0, n1] (v0 xs: [f64; n0], v1 z: f64) -> [f64; n1] {
      v4: [f64; n0] = map(v0) ^1(v2: f64) { v3: f64 = add(v2, v1) v3 }
      v7: [f64; n1] = filter(v4) ^2(v5: f64) { v6: bool = lt(v5, v1) v6 }
      v7
    }";

fn complaints(program: &Program) -> Vec<String> {
    verify(program).err().unwrap_or_default().iter().map(|e| e.to_string()).collect()
}

/// The faults of a text that parses.
fn says(text: &str) -> Vec<String> {
    complaints(&parse(text).unwrap_or_else(|e| panic!("{e}: {text}")))
}

/// The faults of [`GOOD`] after a change.
fn says_after(change: impl FnOnce(&mut Function)) -> Vec<String> {
    let mut program = parse(GOOD).unwrap();
    change(&mut program.funcs[0]);
    complaints(&program)
}

fn inst_mut(func: &mut Function, v: usize) -> &mut Inst {
    match &mut func.vars[v].def {
        Def::Inst(inst) => inst,
        Def::Param(..) => panic!("v{v} is a parameter"),
    }
}

#[test]
fn the_good_program_is_good() {
    assert_eq!(says(GOOD), [""; 0]);
}

#[test]
fn arenas_hold_everything_once_and_in_order() {
    assert_eq!(says_after(|f| f.bodies.clear()), ["@f0: there is no body ^0"]);
    assert_eq!(says_after(|f| f.bodies[0].params.swap(0, 1)), ["@f0 v1: is not the next variable of ^0, v0"]);
    assert_eq!(says_after(|f| f.bodies[1].stmts.clear()), ["@f0 v4: is not the next variable of ^0, v3"]);
    assert_eq!(says_after(|f| f.bodies[0].stmts.push(Var(7))), ["@f0 v7: ^2 is not the next body, ^3"]);
    assert_eq!(says_after(|f| f.bodies[0].stmts.truncate(1)), ["@f0 v5: is in no body"]);
    assert_eq!(says_after(|f| f.bodies.push(f.bodies[1].clone())), ["@f0: ^3 is used by no statement"]);
    assert_eq!(says_after(|f| inst_mut(f, 7).bodies[0] = Body(1)), ["@f0 v7: ^1 is not the next body, ^2"]);
    assert_eq!(says_after(|f| inst_mut(f, 7).bodies[0] = Body(0)), ["@f0 v7: ^0 is not the next body, ^2"]);
    assert_eq!(says_after(|f| f.bodies.truncate(2)), ["@f0 v7: there is no body ^2"]);
    assert_eq!(says_after(|f| f.bodies[2].first = Var(4)), ["@f0 v7: ^2 begins at v5, not at v4"]);
    assert_eq!(says_after(|f| f.vars[2].def = Def::Param(Body(0), 0)), ["@f0 v2: is not defined as parameter 0 of ^1"]);
    assert_eq!(
        says_after(|f| f.vars[3].def = Def::Param(Body(1), 1)),
        ["@f0 v3: is a statement of ^1 but not defined as one"]
    );
    assert_eq!(says_after(|f| inst_mut(f, 3).args[0] = Var(99)), ["@f0 v3: there is no variable v99"]);
    assert_eq!(says_after(|f| f.bodies[1].result = Var(99)), ["@f0 v4: there is no variable v99"]);
    assert_eq!(says_after(|f| drop(f.param_names.pop())), ["@f0: 2 parameters have 1 names"]);
}

#[test]
fn operands_and_results_are_in_scope() {
    assert_eq!(says_after(|f| inst_mut(f, 4).args[0] = Var(7)), ["@f0 v4: the operand v7 is not in scope"]);
    assert_eq!(says_after(|f| inst_mut(f, 3).args[0] = Var(3)), ["@f0 v3: the operand v3 is not in scope"]);
    assert_eq!(says_after(|f| inst_mut(f, 6).args[0] = Var(2)), ["@f0 v6: the operand v2 is not in scope"]);
    assert_eq!(says_after(|f| f.bodies[2].result = Var(3)), ["@f0 v7: the result v3 of ^2 is not in scope"]);
    assert_eq!(says_after(|f| f.bodies[0].result = Var(6)), ["@f0: the result v6 of ^0 is not in scope"]);
}

#[test]
fn operators_take_as_much_as_the_table_says() {
    assert_eq!(says_after(|f| inst_mut(f, 3).args.truncate(1)), ["@f0 v3: `add` does not take 1 operands"]);
    let bare = "fn f [n0] (v0 xs: [f64; n0]) -> [f64; n0] { v1: [f64; n0] = map(v0) v1 }";
    assert_eq!(says(bare), ["@f0 v1: `map` does not take 0 bodies"]);
}

#[test]
fn functions_call_backwards_and_have_names_of_their_own() {
    let mut program = parse("fn f (v0 x: i64) -> i64 { v1: i64 = neg(v0) v1 }").unwrap();
    inst_mut(&mut program.funcs[0], 1).op = Op::Call(Func(0));
    assert_eq!(complaints(&program), ["@f0 v1: calls @f0, which does not come before"]);
    let mut program = parse(GOOD).unwrap();
    program.funcs.push(program.funcs[0].clone());
    assert_eq!(complaints(&program), ["@f1: there are two functions called `f`"]);
}

/// A function of one statement `v2: ty = tuple()`, for what is wrong with the type alone.
fn says_of_type(ty: &str) -> Vec<String> {
    let head = "[n0, n1/1] (v0 x: [i0 -> [(i64, bool); n1(i0)]; n0], v1 y: (i64, [u8; n0], bool)) -> ()";
    says(&format!("fn f {head} {{ v2: {ty} = tuple() v3: () = tuple() v3 }}"))
}

#[test]
fn sizes_are_well_scoped() {
    let first = |ty: &str| says_of_type(ty).first().cloned().unwrap_or_default();
    assert_eq!(first("[f64; #0]"), "@f0 v2: its type has a free position #0");
    assert_eq!(first("[i0 -> [f64; i0 + #1]; n0]"), "@f0 v2: its type has a free position #1");
    assert_eq!(first("[f64; ^0 + ^1]"), "@f0 v2: its type mentions the position of ^1, which is not around it");
    assert_eq!(first("[f64; n7]"), "@f0 v2: its type mentions n7, which does not exist");
    assert_eq!(first("[f64; n1]"), "@f0 v2: its type applies n1 to 0 positions, not to 1");
    assert_eq!(first("[f64; n0(1)]"), "@f0 v2: its type applies n0 to 1 positions, not to 0");
    assert_eq!(first("[f64; v3]"), "@f0 v2: its type mentions v3, which is not in scope");
    assert_eq!(first("[f64; v2]"), "@f0 v2: its type mentions v2, which is not in scope");
    assert_eq!(first("[f64; v0]"), "@f0 v2: its type mentions v0, which is not an integer");
    assert_eq!(first("[f64; v1.5]"), "@f0 v2: its type mentions v1.5, which is not an integer");
    assert_eq!(first("[f64; v1.2]"), "@f0 v2: its type mentions v1.2, which is not an integer");
    assert_eq!(first("[f64; v1.1[0, 0]]"), "@f0 v2: its type mentions v1.1, which is not an array of integers");
    assert_eq!(first("[f64; v1.1[]]"), "@f0 v2: its type mentions v1.1, which is not an array of integers");
    assert_eq!(first("[f64; if(v1.0, 1, 2)]"), "@f0 v2: its type mentions v1.0, which is not a truth value");
    assert_eq!(first("[{f64}; n0]"), "@f0 v2: its type has an array of sequences");
    let fine = "[f64; v1.0 + v1.1[3] + n1(2) + if(v1.2, ^0, 1)]";
    assert!(first(fine).contains("but the rule of `tuple` gives"), "{}", first(fine));
}

#[test]
fn attributes_are_scoped_too() {
    let text = "fn f (v0 x: [f64; 3]) -> [f64; 3] { v1: [f64; 3] = ensure<[f64; v9]>(v0) v1 }";
    assert_eq!(says(text), ["@f0 v1: its attribute mentions v9, which is not in scope"]);
}

#[test]
fn size_variables_are_bound_where_they_are_first_mentioned() {
    let wrong = "@f0 v0: mentions n0 first, but v1 is said to bind it";
    assert!(says_after(|f| f.sizes[0].binder = Var(1)).contains(&wrong.to_string()));
    let product = "fn f [n0] (v0 xs: [f64; 2*n0]) -> i64 { v1: i64 = length(v0) v1 }";
    assert_eq!(says(product), ["@f0 v0: binds n0, which no size in its type determines"]);
    let leaked = "fn f [n0] (v0 xs: [f64; 4], v1 c: bool) -> [f64; n0] {
        v4: {[f64; n0]} = guard(v1) ^1() { v3: [f64; n0] = filter(v0) ^2(v2: f64) { v1 } v3 }
        v5: [f64; n0] = the(v4) v5 }";
    assert_eq!(says(leaked)[0], "@f0 v4: its type mentions n0, whose binder v3 is not in scope");
    assert_eq!(
        says_after(|f| f.sizes.push(SizeVarData { arity: 0, binder: Var(8) })),
        ["@f0: n2 is bound by v8, which does not exist"]
    );
}

#[test]
fn statements_have_the_type_of_their_rule() {
    assert_eq!(
        says_after(|f| f.vars[3].ty = Type::BOOL),
        ["@f0 v3: has type `bool`, but the rule of `add` gives `f64`"]
    );
    let text = "fn f [n0] (v0 xs: [f64; n0]) -> i64 { v1: i64 = reduce<any>(v0) v2: i64 = neg(v1) v2 }";
    assert_eq!(says(text), ["@f0 v1: `any` and `all` need truth values"]);
    // The result of a filter has its own size, not that of another one.
    let shared = "fn f [n0, n1] (v0 xs: [f64; n0], v1 c: bool) -> [f64; n1] {
        v3: [f64; n1] = filter(v0) ^1(v2: f64) { v1 } v5: [f64; n1] = filter(v0) ^2(v4: f64) { v1 } v5 }";
    assert_eq!(says(shared), ["@f0 v5: has type `[f64; n1]`, but the rule of `filter` gives `[f64; n2]`"]);
    // Two fresh sizes of one statement are not equal either.
    let merged = "fn f [n0, n1] (v0 g: [[f64; 2]; 3], v1 s: {[f64; 2]}) -> [[f64; n0]; n0] { v2: [[f64; n0]; n0] = tabulate<1>(v1) v2 }";
    let complaint = "@f0 v2: has type `[[f64; n0]; n0]`, but the rule of `tabulate` gives `[[f64; n3]; n2]`";
    assert_eq!(says(&merged.replace(", n1]", ", n1@v0]")), [complaint]);
}

#[test]
fn parameters_of_bodies_have_the_type_of_the_rule() {
    assert!(says_after(|f| f.vars[2].ty = Type::BOOL)[0].starts_with("@f0 v3: "));
    let text = "fn f [n0] (v0 xs: [f64; n0]) -> [i64; n0] { v2: [i64; n0] = map(v0) ^1(v1: i64) { v1 } v2 }";
    assert!(says(text)[0].starts_with("@f0 v2: parameter v1 of a body of `map`"));
}

#[test]
fn faults_do_not_cascade() {
    let text = "fn f (v0 x: i64) -> i64 { v1: i64 = sqrt(v0) v2: i64 = neg(v1) v3: bool = neg(v0) v2 }
        fn g (v0 x: i64) -> bool { v1: bool = call<@f>(v0) v1 }";
    let found = says(text);
    assert_eq!(
        found,
        ["@f0 v1: `sqrt` is not defined for `i64`", "@f0 v3: has type `bool`, but the rule of `neg` gives `i64`",]
    );
}

#[test]
fn bodies_over_sequences_capture_no_sequence() {
    let text = "fn f (v0 n: i64, v1 s: {f64}) -> {f64} {
        v4: {f64} = produce(v0) ^1(v2: i64) { v3: f64 = reduce<sum>(v1) v3 } v4 }";
    assert_eq!(says(text), ["@f0 v4: v1 is a sequence from outside, used in a body that runs more than once"]);
    let text = "fn f (v0 n: i64, v1 s: {f64}) -> {f64} {
        v4: {f64} = map(v1) ^1(v2: f64) { v3: f64 = reduce<sum>(v1) v3 } v4 }";
    assert_eq!(says(text).len(), 1);
    let guarded = "fn f (v0 c: bool, v1 s: {f64}) -> {{f64}} { v2: {{f64}} = guard(v0) ^1() { v1 } v2 }";
    assert_eq!(says(guarded), [""; 0]);
}

#[test]
fn constants_have_their_type() {
    let with = |value: &str| says(&format!("fn f () -> [i64; 2] {{ v0: [i64; 2] = use<[i64; 2] = {value}>() v0 }}"));
    assert_eq!(with("[1i64, 2i64]"), [""; 0]);
    for wrong in ["[1i64]", "[1i64, 2i32]", "{1i64, 2i64}", "(1i64, 2i64)", "1i64"] {
        assert_eq!(with(wrong), ["@f0 v0: the value of `use` is not a `[i64; 2]`"], "{wrong}");
    }
}

#[test]
fn a_record_may_mention_its_own_components() {
    let row = "[i0 -> [f64; v0.0[i0 + 1] - v0.0[i0]]; n0]";
    let text =
        format!("fn f [n0] (v0 a: csr{{off: [i64; n0 + 1], rows: {row}}}) -> {row} {{ v1: {row} = proj<1>(v0) v1 }}");
    assert_eq!(says(&text), [""; 0]);
}
