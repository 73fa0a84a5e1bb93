//! Unrolling loops.
//!
//! Loops are unrolled here, while a function is built, instead of by LLVM: values that the number of a round makes constant are folded at once, common subexpressions of rounds are built once, and the time of LLVM grows with the square of
//! the loops that it unrolls in a function. Inner loops are unrolled before the loop around them.

use super::walk::{rename, rename_in, renamed};
use super::*;
use std::collections::HashMap;

/// The maximal number of statements of all rounds of a loop.
const MOST_STATEMENTS: i64 = 512;

/// A loop to be unrolled.
pub(super) struct Rounds<'b> {
    pub var: Val,
    pub lo: i64,
    pub hi: i64,
    pub step: i64,
    /// The carried values: before the first round, and at the start of each.
    pub carries: &'b [(Val, Val)],
    pub body: &'b Block,
}

impl Rounds<'_> {
    /// Whether the loop is short, and contains no blocks.
    pub(super) fn is_short(&self) -> bool {
        let is_plain = |s: &Stmt| {
            matches!(
                s,
                Stmt::Let(..)
                    | Stmt::Store { .. }
                    | Stmt::Atomic { before: None, .. }
                    | Stmt::Flag(_)
                    | Stmt::Fail { .. }
            )
        };
        !self.is_long() && self.body.stmts.iter().all(is_plain)
    }

    /// Whether all rounds would have too many statements. Then LLVM does not unroll them either: its time for long blocks grows with the square of their length.
    pub(super) fn is_long(&self) -> bool {
        let rounds = self.hi.saturating_sub(self.lo).max(0) / self.step + 1;
        rounds.saturating_mul(statements(self.body)) > MOST_STATEMENTS
    }
}

/// The number of statements of a block, including those of the blocks inside.
fn statements(block: &Block) -> i64 {
    let count = |s: &Stmt| match s {
        Stmt::For { body, .. } => statements(body),
        Stmt::While { test, body, .. } => statements(test) + statements(body),
        Stmt::If { yes, no, .. } => statements(yes) + statements(no),
        _ => 0,
    };
    block.stmts.iter().map(|s| 1 + count(s)).sum()
}

impl Builder {
    /// Builds the rounds of a loop into the open block; returns the values carried out of the last.
    pub(super) fn write_out(&mut self, rounds: &Rounds<'_>) -> Vec<Val> {
        let mut carried: Vec<Val> = rounds.carries.iter().map(|(init, _)| *init).collect();
        let mut at = rounds.lo;
        while at < rounds.hi {
            let params = rounds.carries.iter().map(|(_, param)| *param);
            let mut names: HashMap<Val, Val> = params.zip(carried).collect();
            names.insert(rounds.var, self.i64(at));
            for stmt in &rounds.body.stmts {
                self.repeat(stmt, &mut names);
            }
            carried = rounds.body.results.iter().map(|v| *names.get(v).unwrap_or(v)).collect();
            at += rounds.step;
        }
        carried
    }

    /// Builds a statement again, with other names.
    fn repeat(&mut self, stmt: &Stmt, names: &mut HashMap<Val, Val>) {
        let name = |v: Val| *names.get(&v).unwrap_or(&v);
        if let Stmt::Let(v, expr) = stmt {
            let value = self.let_lanes(renamed(expr, name), self.ty(*v).lanes);
            names.insert(*v, value);
            return;
        }
        let mut again = stmt.clone();
        rename_in(&mut again, &name);
        self.stmt(again);
    }
}

/// Numbers the values of a function without gaps: those of unrolled loops have no definition.
pub(super) fn renumber(function: &mut Function) {
    let mut defined = vec![false; function.vals.len()];
    function.scalars.iter().for_each(|v| defined[v.index()] = true);
    note_defined(&function.body, &mut defined);
    let mut numbers = Vec::new();
    let mut vals = Vec::new();
    for (ty, is_defined) in function.vals.iter().zip(defined) {
        numbers.push(Val(vals.len() as u32));
        vals.extend(is_defined.then_some(*ty));
    }
    let name = |v: Val| numbers.get(v.index()).copied().unwrap_or(v);
    function.scalars.iter_mut().for_each(|v| *v = name(*v));
    rename(&mut function.body, &name);
    function.vals = vals;
}

fn note_defined(block: &Block, defined: &mut [bool]) {
    for stmt in &block.stmts {
        let mut note = |v: Val| {
            if let Some(at) = defined.get_mut(v.index()) {
                *at = true;
            }
        };
        match stmt {
            Stmt::Let(v, _) | Stmt::Atomic { before: Some(v), .. } => note(*v),
            Stmt::For { var, carries, body, .. } => {
                note(*var);
                carries.iter().flat_map(|c| [c.param, c.result]).for_each(note);
                note_defined(body, defined);
            }
            Stmt::While { carries, test, body } => {
                carries.iter().flat_map(|c| [c.param, c.result]).for_each(note);
                note_defined(test, defined);
                note_defined(body, defined);
            }
            Stmt::If { yes, no, results, .. } => {
                results.iter().copied().for_each(note);
                note_defined(yes, defined);
                note_defined(no, defined);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType::{F64, I64};

    fn text(hi: i64, inside: impl Fn(&mut Builder, Val)) -> String {
        let mut b = Builder::new("f");
        let (xs, out) = (b.buffer(F64, Access::Read), b.buffer(F64, Access::Write));
        let n = b.scalar(I64);
        let (zero, start, end) = (b.i64(0), b.f64(0.0), b.i64(hi));
        let sum = b.for_(zero, end, 2, &[start], LoopHint::Unroll, |b, i, c| {
            inside(b, n);
            let at = b.add(n, i);
            let x = b.load(xs, at);
            vec![b.add(c[0], x)]
        });
        b.store(out, zero, sum[0]);
        let function = b.finish().unwrap_or_else(|faults| panic!("{faults:?}"));
        assert_eq!(verify(&function), Ok(()));
        function.to_string()
    }

    #[test]
    fn rounds_stand_one_after_another_and_share_what_they_have_in_common() {
        let written = text(5, |_, _| {});
        assert!(!written.contains("for"), "{written}");
        // Positions 0, 2 and 4: the first is the scalar itself, and a sum with zero stays, for the sign of zero.
        assert_eq!(written.matches("load").count(), 3, "{written}");
        assert_eq!(written.matches("= add(x0,").count(), 2, "{written}");
    }

    #[test]
    fn a_loop_without_rounds_leaves_what_it_began_with() {
        let written = text(0, |_, _| {});
        assert!(!written.contains("load") && written.contains("store"), "{written}");
    }

    #[test]
    fn a_loop_with_a_block_inside_or_too_many_statements_stays() {
        let blocks = text(5, |b, n| {
            let zero = b.i64(0);
            let positive = b.lt(zero, n);
            b.when(positive, |b| b.fail(0, &[n]));
        });
        assert!(blocks.contains("unroll"), "{blocks}");
        // A long one is not unrolled by LLVM either.
        let long = text(MOST_STATEMENTS, |_, _| {});
        assert!(long.contains("for") && !long.contains("unroll"), "{long}");
    }
}
