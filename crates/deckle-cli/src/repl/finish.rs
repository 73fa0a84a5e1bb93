//! Whether an input is complete, or continues in the next line.
//!
//! It continues while a bracket, a comment, an `if` or a `loop` is open, while a `let` inside of it has no `in`, and after any token that
//! requires an operand or body: an operator, `=`, a comma, a keyword. A `let` with which an input *begins* may end without
//! `in`: then it names a value for the session.

use super::scan::{Kind, Scan, Token, scan};

/// Words that must be followed by something.
const EXPECTANT: [&str; 15] =
    ["def", "type", "import", "as", "let", "in", "if", "then", "else", "loop", "while", "for", "do", "with", "not"];

/// Words with which a definition begins.
pub const DEFINING: [&str; 3] = ["def", "type", "import"];

/// The open constructs at some place of a text.
#[derive(Default)]
struct Open {
    brackets: Vec<Level>,
    here: Level,
    /// `if`s without `else`, and `loop`s without `do`.
    ifs: usize,
    loops: usize,
}

/// The open constructs between two brackets.
#[derive(Default)]
struct Level {
    /// Groups of `let`s that wait for their `in`; whether the group is the one with which the input begins.
    lets: Vec<bool>,
    /// Whether the next `in` belongs to a `for`.
    counter: bool,
}

/// Whether more lines are needed.
pub fn goes_on(text: &str) -> bool {
    let Scan { tokens, in_comment, trailing_doc } = scan(text);
    let Some(last) = tokens.last() else { return in_comment || trailing_doc };
    in_comment || trailing_doc || expects_more(last) || header_only(&tokens) || something_open(&tokens)
}

fn expects_more(last: &Token) -> bool {
    match last.kind {
        Kind::Word => EXPECTANT.contains(&last.text),
        Kind::Literal => false,
        Kind::Sign => !matches!(last.text, ")" | "]" | "}" | ";") && last.text.is_ascii() && last.text != "'",
    }
}

/// `def f(x)` or `type t[a]` before its `=`.
fn header_only(tokens: &[Token]) -> bool {
    let Some(start) = tokens.iter().rposition(|t| t.kind == Kind::Word && DEFINING.contains(&t.text)) else {
        return false;
    };
    // `def` inside of an expression is an error already, which more lines cannot correct.
    tokens[start].text != "import" && (start == 0 || ends_operand(&tokens[start - 1])) && {
        let mut depth = 0usize;
        !tokens[start..].iter().any(|t| {
            match t.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && t.text == "="
        })
    }
}

/// Whether an input is `let`s without `in`, which name values for the session.
pub fn is_binding(text: &str) -> bool {
    walk(&scan(text).tokens).is_some_and(|open| {
        let level = open.brackets.first().unwrap_or(&open.here);
        level.lets.first() == Some(&true)
    })
}

fn something_open(tokens: &[Token]) -> bool {
    walk(tokens).is_some_and(|open| {
        let waiting = open.here.lets.iter().any(|first| !first);
        !open.brackets.is_empty() || open.ifs > 0 || open.loops > 0 || waiting
    })
}

/// The open constructs at the end; none if there is a superfluous closing bracket, an error which more lines cannot correct.
fn walk(tokens: &[Token]) -> Option<Open> {
    let mut open = Open::default();
    for (i, token) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| &tokens[i]);
        match token.text {
            "(" | "[" | "{" => open.brackets.push(std::mem::take(&mut open.here)),
            ")" | "]" | "}" => open.here = open.brackets.pop()?,
            // A `let` after an operand belongs to the group before it: one `in` closes both.
            "let" if before.is_some_and(ends_operand) && !open.here.lets.is_empty() => {}
            "let" => open.here.lets.push(i == 0),
            "for" => open.here.counter = true,
            "in" if std::mem::take(&mut open.here.counter) => {}
            "in" => drop(open.here.lets.pop()),
            "do" => (open.here.counter, open.loops) = (false, open.loops.saturating_sub(1)),
            "if" => open.ifs += 1,
            "else" => open.ifs = open.ifs.saturating_sub(1),
            "loop" => open.loops += 1,
            _ => {}
        }
    }
    Some(open)
}

/// Whether an operand can end with this token.
fn ends_operand(token: &Token) -> bool {
    match token.kind {
        Kind::Word => !EXPECTANT.contains(&token.text),
        Kind::Literal => true,
        Kind::Sign => matches!(token.text, ")" | "]" | "}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_inputs_are_whole() {
        for text in [
            "",
            "  // nothing",
            "1 + 1",
            "x'",
            "let x = 5",
            "let x = 5 in x",
            "let a = 1 let b = 2",
            "let a = 1 let b = 2 in a + b",
            "let a = (let b = 1 in b)",
            "def f(x) = x",
            "def f(x) =\n  let y = x\n  in y",
            "[ x : x in xs ]",
            "[ let y = x in y : x in xs ]",
            "if a then b else c",
            "loop x = 0 for i in 0..<9 do x + i",
            "loop x = 0 while x < 9 do let y = x in y + 1",
            "type p = { x: real }",
            "import \"a.dk\"",
            "\"(\"",
            "1 )",
            "import \"a.dk\" as a",
        ] {
            assert!(!goes_on(text), "{text}");
        }
    }

    #[test]
    fn bindings_are_told_from_expressions() {
        for text in ["let x = 5", "let a = 1 let b = 2", "let x = [ let y = 1 in y : z in zs ]", "let x = (1"] {
            assert!(is_binding(text), "{text}");
        }
        for text in ["let x = 5 in x", "1", "[ let x = 1", "let a = let b = 1 in b in a", ""] {
            assert!(!is_binding(text), "{text}");
        }
    }

    #[test]
    fn open_things_go_on() {
        for text in [
            "(1,",
            "[1, 2",
            "f(\n",
            "1 +",
            "x &&",
            "def f(x)",
            "def f(x: [int; n])",
            "def f(x) =",
            "def f(x) =\n  let y = x",
            "def f(x) =\n  let y = x\n  let z = y",
            "let x =",
            "let x = let y = 1",
            "[ let y = x",
            "1 + let x = 2",
            "if a",
            "if a then b",
            "if a then b else",
            "loop x = 0 for i in 0..<9",
            "def f(x) =\n  let y = loop s = 0 for i in 0..<x do s + i",
            "type p",
            "/* open",
            "/// The mean.",
            "\"(\" ++ // comment",
            "def f(x) = x def g(y)",
        ] {
            assert!(goes_on(text), "{text}");
        }
    }
}
