//! Completion with Tab.

use super::command::COMMANDS;
use super::help::{KEYWORDS, OPERATORS, signature};
use super::item::{Bring, Item, Kind, module};
use super::scan::{Kind as TokenKind, is_word_part, is_word_start, scan};
use super::session::{Kept, Session};
use deckle_io::text::type_name;
use deckle_ir::types::Type;
use deckle_syntax::builtins::{self, CONSTANTS, mathematics};

/// A completion: the inserted text, and the displayed one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    pub text: String,
    pub shown: String,
}

impl Choice {
    fn new(text: &str, shown: impl Into<String>) -> Choice {
        Choice { text: text.to_string(), shown: shown.into() }
    }
}

/// The completions of a session: a copy of the names it knows.
#[derive(Clone, Debug, Default)]
pub struct Names {
    words: Vec<Choice>,
    /// The possible names after `NAME.`.
    members: Vec<(String, Choice)>,
}

impl Names {
    /// Those of a session, and those of every session.
    pub fn of(session: &Session) -> Names {
        let mut names = Names::default();
        session.values.iter().for_each(|v| names.value(v));
        session.items.iter().for_each(|i| names.item(i));
        for b in builtins::BUILTINS.iter().copied().chain(mathematics()) {
            names.words.push(Choice::new(b.name, signature(&b)));
        }
        names.words.extend(CONSTANTS.iter().map(|c| Choice::new(c.0, format!("{}: real", c.0))));
        names.words.extend(KEYWORDS.iter().map(|k| Choice::new(k.0, k.0)));
        names
    }

    fn value(&mut self, kept: &Kept) {
        self.words.push(Choice::new(&kept.name, format!("{}: {}", kept.name, type_name(&kept.ty))));
        if let Type::Record(r) = &kept.ty {
            let fields = r.fields.iter().map(|(f, t)| Choice::new(f, format!("{f}: {}", type_name(t))));
            self.members.extend(fields.map(|c| (kept.name.clone(), c)));
        }
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            Kind::Def(name) | Kind::Type(name) => {
                let first = item.part.text().lines().next().unwrap_or_default().trim_end();
                self.words.push(Choice::new(name, first.trim_end_matches('=').trim_end()));
            }
            Kind::Import { bring: Bring::Names(names), .. } => {
                self.words.extend(names.iter().map(|n| Choice::new(n, n)));
            }
            Kind::Import { origin, bring: Bring::Module(alias) } => {
                self.words.push(Choice::new(alias, item.part.text()));
                let Some(module) = module(origin) else { return };
                let types = module.type_defs.iter().map(|t| &t.name.text);
                let all = module.defs.iter().map(|d| &d.name.text).chain(types);
                self.members.extend(all.map(|n| (alias.clone(), Choice::new(n, &**n))));
            }
        }
    }

    /// The start of the text to be replaced, and its possible replacements.
    pub fn complete(&self, text: &str, cursor: usize) -> (usize, Vec<Choice>) {
        let before = &text[..cursor];
        let command = before.trim_start();
        if command.starts_with(':') && !command.contains(char::is_whitespace) {
            return (cursor - command.len(), commands(command));
        }
        let start = before.rfind(|c| !is_word_part(c)).map_or(0, |at| at + last_len(&before[at..]));
        let word = &before[start..];
        if word.is_empty() {
            return operators(before);
        }
        if !word.starts_with(is_word_start) {
            return (cursor, Vec::new());
        }
        let mut choices: Vec<Choice> = match owner(&before[..start]) {
            Some(owner) => self.members.iter().filter(|m| m.0 == owner).map(|m| m.1.clone()).collect(),
            None => self.words.iter().cloned().chain(self.locals(text, start)).collect(),
        };
        choices.retain(|c| c.text.starts_with(word));
        choices.sort();
        choices.dedup();
        (start, choices)
    }

    /// Names in the input itself, except the one at `start`.
    fn locals(&self, text: &str, start: usize) -> Vec<Choice> {
        let words = scan(text).tokens.into_iter().filter(|t| t.kind == TokenKind::Word && t.at != start);
        words.filter(|t| self.words.iter().all(|w| w.text != t.text)).map(|t| Choice::new(t.text, t.text)).collect()
    }
}

fn last_len(rest: &str) -> usize {
    rest.chars().next().map_or(0, char::len_utf8)
}

fn commands(prefix: &str) -> Vec<Choice> {
    let shown = |name: &str, takes: &str| format!(":{name} {takes}").trim_end().to_string();
    let all = COMMANDS.iter().map(|c| Choice::new(&format!(":{}", c.name), shown(c.name, c.takes)));
    all.filter(|c| c.text.starts_with(prefix)).collect()
}

/// The name before a dot.
fn owner(before: &str) -> Option<&str> {
    let before = before.strip_suffix('.')?;
    let start = before.rfind(|c| !is_word_part(c)).map_or(0, |at| at + last_len(&before[at..]));
    Some(&before[start..]).filter(|w| w.starts_with(is_word_start))
}

/// Operators with the prefix before the cursor.
fn operators(before: &str) -> (usize, Vec<Choice>) {
    let sign = scan(before).tokens.last().copied().filter(|t| t.kind == TokenKind::Sign);
    let Some(sign) = sign.filter(|t| t.at + t.text.len() == before.len()) else { return (before.len(), Vec::new()) };
    let all = OPERATORS.iter().filter(|o| o.0.starts_with(sign.text));
    (sign.at, all.map(|o| Choice::new(o.0, format!("{}: {}  ({})", o.0, o.1, o.2))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::item::{Part, Source};
    use std::rc::Rc;

    fn session() -> Session {
        let mut session = Session::default();
        let source = |text: &str| Rc::new(Source { name: "in".into(), text: text.into() });
        session.define(&source("type point = { x: real, yy: real }\ndef double(x: int) = 2 * x")).unwrap();
        session.bind(&Part::whole(source("let origin = point(0, 0)"))).unwrap();
        session
    }

    fn complete(text: &str) -> (usize, Vec<String>) {
        let (at, choices) = Names::of(&session()).complete(text, text.len());
        (at, choices.into_iter().map(|c| c.shown).collect())
    }

    #[test]
    fn names_come_with_their_signatures() {
        assert_eq!(complete("1 + dou"), (4, vec!["def double(x: int) = 2 * x".to_string()]));
        assert_eq!(complete("orig"), (0, vec!["origin: point".to_string()]));
        assert_eq!(complete("flagp"), (0, vec!["flagpart: {a}, {bool} -> {{a}}".to_string()]));
        assert_eq!(complete("resh"), (0, vec!["reshape(a, n)".to_string()]));
        assert_eq!(complete("whi"), (0, vec!["while".to_string()]));
        assert_eq!(complete("zip(").1.len(), 0);
        assert_eq!(complete("zip_w").1.len(), 3);
    }

    #[test]
    fn locals_of_the_input_are_offered() {
        assert_eq!(complete("def f(longest) = long").1, ["longest"]);
        assert_eq!(complete("def f(long) = qqq").1.len(), 0);
    }

    #[test]
    fn fields_follow_a_dot() {
        assert_eq!(complete("origin.y"), (7, vec!["yy: real".to_string()]));
        assert_eq!(complete("nothing.y").1.len(), 0);
    }

    #[test]
    fn commands_and_operators_are_completed() {
        assert_eq!(complete(":ty"), (0, vec![":type EXPR".to_string()]));
        assert_eq!(complete(":type dou").0, 6);
        let (at, operators) = complete("xs +");
        assert_eq!((at, operators.len()), (3, 2));
        assert!(operators[1].starts_with("++: c<a>, c<a> -> c<a>"), "{operators:?}");
    }
}
