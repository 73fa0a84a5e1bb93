//! The benchmarks, one file for one or two folders of rivals.

mod dense;
mod graphs;
mod maps;
mod md5;
mod ragged;
mod scalars;
mod scatter;

use crate::case::{Case, Job, Size};
use deckle_runtime::Pool;

/// All of them, in the order of the rivals' folders.
pub fn all() -> Vec<Case> {
    let mut cases = maps::cases();
    cases.extend(scalars::cases());
    cases.extend(ragged::cases());
    cases.extend(dense::cases());
    cases.extend(scatter::cases());
    cases.extend(graphs::cases());
    cases.extend(md5::cases());
    cases
}

/// A benchmark of a folder, which the rivals call `rival`, with their name of its size.
fn case(
    name: impl Into<String>,
    (group, rival, size): (&'static str, &'static str, impl Into<String>),
    (program, entry): (&'static str, impl Into<String>),
    make: impl Fn(&Pool, Size) -> Job + 'static,
) -> Case {
    let (name, size, entry) = (name.into(), size.into(), entry.into());
    Case { name, group, rival, size, program, entry, make: Box::new(make) }
}
