//! The programs on the pages of the error index have the errors that they show, and the corrected ones have none.

use deckle_analysis::stream::check;
use deckle_diag::{CODES, SourceMap, render_all};
use deckle_syntax::compile;

fn programs(page: &str) -> Vec<String> {
    let lines = page.lines().map(|l| l.strip_prefix(' ').unwrap_or(l));
    let mut out = Vec::new();
    let mut inside = false;
    for line in lines {
        match line {
            "```" => inside = false,
            _ if line.starts_with("```") => {
                inside = true;
                out.push(String::new());
            }
            _ if inside => {
                out.iter_mut().last().into_iter().for_each(|text: &mut String| text.push_str(&format!("{line}\n")))
            }
            _ => {}
        }
    }
    out
}

#[test]
fn every_page_shows_its_error_and_the_mended_program() {
    for (code, info) in CODES {
        let programs = programs(info.doc);
        let run_time = info.id >= "D0300";
        for (k, text) in programs.iter().enumerate() {
            let mut sources = SourceMap::default();
            let mut load = |_: &str, _: &str| Err("there is no such file".to_string());
            let outcome = compile(&mut sources, "page.dk", text.clone().into_bytes(), &mut load);
            let outcome = outcome.and_then(|compiled| match check(&compiled.program, &sources, None) {
                faults if faults.is_empty() => Ok(()),
                faults => Err(faults),
            });
            let wrong = k == 0 && programs.len() == 2;
            match outcome {
                Ok(_) => assert!(!wrong || run_time, "{code} is not found in\n{text}"),
                // A page may show with literals an error that is found statically.
                Err(diags) => {
                    let shown = render_all(&diags, &sources, false);
                    assert!(wrong, "{code}: the mended program is wrong\n{shown}");
                    assert!(run_time || diags.iter().all(|d| d.code == *code), "{code} is something else\n{shown}");
                }
            }
        }
        assert!(programs.len() == 2 || info.id >= "D0400", "{code} lacks programs");
    }
}
