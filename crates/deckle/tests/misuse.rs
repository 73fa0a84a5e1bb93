//! Misuse that Rust's types catch does not compile, and the message says what to do.

#[test]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
