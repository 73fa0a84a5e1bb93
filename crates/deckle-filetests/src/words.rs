//! Splitting command lines into words, almost like a shell.

/// Splits at blanks outside quotes and brackets. Quotes outside brackets are removed and join their contents; inside brackets they belong
/// to the value.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut closing: Vec<char> = Vec::new();
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let bracketed = !closing.is_empty();
        if let Some(q) = quote {
            if c == q {
                quote = None;
            }
            if c != q || bracketed {
                word.get_or_insert_default().push(c);
            }
            if c == '\\' && bracketed {
                word.get_or_insert_default().extend(chars.next());
            }
            continue;
        }
        if c.is_whitespace() && !bracketed {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match c {
            '\'' | '"' => {
                quote = Some(c);
                if bracketed {
                    word.push(c);
                }
                continue;
            }
            '[' => closing.push(']'),
            '(' => closing.push(')'),
            '{' => closing.push('}'),
            _ if closing.last() == Some(&c) => {
                closing.pop();
            }
            _ => {}
        }
        word.push(c);
    }
    words.extend(word);
    match quote.or(closing.pop()) {
        Some(c) => Err(format!("`{c}` is missing at the end of `{line}`")),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_reach_over_their_brackets() {
        assert_eq!(
            split("run xs=[1, 2] p=(1, [2, 3]) --full").unwrap(),
            ["run", "xs=[1, 2]", "p=(1, [2, 3])", "--full"]
        );
        assert_eq!(split("  ").unwrap(), [""; 0]);
    }

    #[test]
    fn quotes_go_outside_brackets_only() {
        assert_eq!(split(r#"a='we the' b="x" c=''"#).unwrap(), ["a=we the", "b=x", "c="]);
        assert_eq!(split(r#"ws=["a ]", "b\" c", '"']"#).unwrap(), [r#"ws=["a ]", "b\" c", '"']"#]);
    }

    #[test]
    fn what_is_opened_must_be_closed() {
        assert!(split("xs=[1, 2").is_err());
        assert!(split("t='a").is_err());
    }
}
