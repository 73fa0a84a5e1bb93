//! A function as a list of instructions with jumps, so that a warp can be left at a barrier and taken up again.
//!
//! Masks are on a stack: [`Inst::Enter`] and [`Inst::Split`] save the threads that take part, [`Inst::Leave`] brings them back.

use deckle_ir::loops::{Block, Carry, Function, Stmt, Val};

/// An instruction.
pub(super) enum Inst<'a> {
    /// A statement without blocks.
    Plain(&'a Stmt),
    /// Values that become others, all at once.
    Copy(Vec<(Val, Val)>),
    /// Goes on with the threads for which the condition holds and keeps the others for [`Inst::Other`]; if there are none, jumps there.
    Split(Val, usize),
    /// Goes on with the threads that were kept; if there are none, jumps.
    Other(usize),
    /// Saves the mask before a loop.
    Enter,
    /// Threads for which the condition does not hold have left the loop; if none is left, jumps.
    Test(Val, usize),
    /// As [`Inst::Test`], for a counter and its bound.
    Below(Val, Val, usize),
    /// Advances a counter.
    Advance(Val, i64),
    /// Jumps.
    Jump(usize),
    /// Brings back the mask.
    Leave,
}

/// Flattens a function.
pub(super) fn flatten(function: &Function) -> Vec<Inst<'_>> {
    let mut code = Vec::new();
    block(&mut code, &function.body);
    code
}

fn block<'a>(code: &mut Vec<Inst<'a>>, b: &'a Block) {
    for stmt in &b.stmts {
        match stmt {
            Stmt::For { var, lo, hi, step, carries, body, .. } => {
                code.push(Inst::Enter);
                code.push(Inst::Copy(
                    std::iter::once((*var, *lo)).chain(carries.iter().map(|c| (c.param, c.init))).collect(),
                ));
                let head = code.len();
                code.push(Inst::Below(*var, *hi, 0));
                block(code, body);
                code.push(carry_on(carries, body));
                code.push(Inst::Advance(*var, *step));
                code.push(Inst::Jump(head));
                code[head] = Inst::Below(*var, *hi, code.len());
                end_loop(code, carries);
            }
            Stmt::While { carries, test, body } => {
                code.push(Inst::Enter);
                code.push(Inst::Copy(carries.iter().map(|c| (c.param, c.init)).collect()));
                let head = code.len();
                block(code, test);
                let at = code.len();
                code.push(Inst::Jump(0));
                block(code, body);
                code.push(carry_on(carries, body));
                code.push(Inst::Jump(head));
                if let Some(&go_on) = test.results.first() {
                    code[at] = Inst::Test(go_on, code.len());
                }
                end_loop(code, carries);
            }
            Stmt::If { cond, yes, no, results } => {
                let split = code.len();
                code.push(Inst::Split(*cond, 0));
                block(code, yes);
                code.push(Inst::Copy(results.iter().copied().zip(yes.results.iter().copied()).collect()));
                code[split] = Inst::Split(*cond, code.len());
                let other = code.len();
                code.push(Inst::Other(0));
                block(code, no);
                code.push(Inst::Copy(results.iter().copied().zip(no.results.iter().copied()).collect()));
                code[other] = Inst::Other(code.len());
                code.push(Inst::Leave);
            }
            plain => code.push(Inst::Plain(plain)),
        }
    }
}

fn carry_on<'a>(carries: &[Carry], body: &Block) -> Inst<'a> {
    Inst::Copy(carries.iter().map(|c| c.param).zip(body.results.iter().copied()).collect())
}

/// All threads are back, each with what it carried when it left.
fn end_loop(code: &mut Vec<Inst<'_>>, carries: &[Carry]) {
    code.push(Inst::Leave);
    code.push(Inst::Copy(carries.iter().map(|c| (c.result, c.param)).collect()));
}
