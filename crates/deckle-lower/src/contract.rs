//! Contraction: in sums of products, the product and the addition become one operation that rounds once.
//!
//! ```text
//! for i (acc -> sum) { p = mul(x, y); next = add(acc, p) }   ─►   for i (acc -> sum) { p = mul(x, y); next = fma(x, y, acc) }
//! ```
//!
//! Only what a loop accumulates is contracted: an addition to a value that the loop carries, or to a sum that was contracted itself. Other products
//! and sums are rounded as they are written, so that `y * y - x * z` is zero where both products are equal. Nothing is contracted unless the user asks for it; what is contracted then
//! is decided here, from the loops alone, and no backend contracts anything else.
//!
//! Loops of one lane that LLVM is to vectorise on a CPU are left alone: it does not vectorise a sum of fused operations.
//!
//! Takes time in proportion to the size of the function.

use deckle_ir::array::BinOp;
use deckle_ir::loops::{Block, Expr, Function, LoopHint, Stmt, Ty, Val};
use std::collections::{HashMap, HashSet};

/// Contracts the sums of products of a function.
pub fn contract(function: &mut Function) {
    let Function { vals, body, block, .. } = function;
    let mut pass = Contract { vals, on_cpu: *block == 0, products: HashMap::new(), sums: HashSet::new() };
    pass.block(body, false);
}

struct Contract<'f> {
    vals: &'f [Ty],
    on_cpu: bool,
    /// Products of floats, and of what.
    products: HashMap<Val, (Val, Val)>,
    /// What loops accumulate.
    sums: HashSet<Val>,
}

impl Contract<'_> {
    fn block(&mut self, block: &mut Block, vectorised: bool) {
        for stmt in &mut block.stmts {
            match stmt {
                Stmt::Let(v, expr) => self.expr(*v, expr, vectorised),
                Stmt::For { carries, body, hint, .. } => {
                    self.sums.extend(carries.iter().map(|c| c.param));
                    self.block(body, *hint == LoopHint::Independent);
                }
                Stmt::While { carries, test, body } => {
                    self.sums.extend(carries.iter().map(|c| c.param));
                    self.block(test, false);
                    self.block(body, false);
                }
                Stmt::If { yes, no, .. } => {
                    self.block(yes, vectorised);
                    self.block(no, vectorised);
                }
                Stmt::Store { .. } | Stmt::Atomic { .. } | Stmt::Flag(_) | Stmt::Fail { .. } | Stmt::Barrier => {}
            }
        }
    }

    fn expr(&mut self, v: Val, expr: &mut Expr, vectorised: bool) {
        let Some(ty) = self.vals.get(v.index()).filter(|ty| ty.scalar.is_float()) else { return };
        match *expr {
            Expr::Binary(BinOp::Mul, x, y) => {
                self.products.insert(v, (x, y));
            }
            Expr::Binary(BinOp::Add, a, b) | Expr::Assoc(BinOp::Add, a, b) => {
                if vectorised && self.on_cpu && ty.lanes == 1 {
                    return;
                }
                for (sum, product) in [(a, b), (b, a)] {
                    if let (true, Some(&(x, y))) = (self.sums.contains(&sum), self.products.get(&product)) {
                        *expr = Expr::Fma(x, y, sum);
                        self.sums.insert(v);
                        return;
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::loops::{Access, Builder, verify};
    use deckle_ir::scalar::ScalarType::F64;

    /// A dot product, and a difference of products of each pair.
    fn dot(hint: LoopHint) -> Function {
        let mut b = Builder::new("dot");
        let (xs, ys) = (b.buffer(F64, Access::Read), b.buffer(F64, Access::Read));
        let out = b.buffer(F64, Access::Write);
        let (lo, hi, zero) = (b.i64(0), b.i64(10), b.f64(0.0));
        let sums = b.for_(lo, hi, 1, &[zero], hint, |b, i, c| {
            let (x, y) = (b.load(xs, i), b.load(ys, i));
            let (xy, xx) = (b.mul(x, y), b.mul(x, x));
            let both = b.add(xx, xy);
            b.store(out, i, both);
            vec![b.assoc(BinOp::Add, c[0], xy)]
        });
        b.store(out, lo, sums[0]);
        b.finish().unwrap()
    }

    fn count(text: &str, what: &str) -> usize {
        text.matches(what).count()
    }

    #[test]
    fn what_a_loop_accumulates_is_contracted_and_nothing_else() {
        let mut f = dot(LoopHint::Plain);
        contract(&mut f);
        assert_eq!(verify(&f), Ok(()));
        let text = f.to_string();
        assert_eq!((count(&text, "fma("), count(&text, "assoc add("), count(&text, "= add(")), (1, 0, 1), "{text}");
    }

    #[test]
    fn what_llvm_vectorises_is_left_alone() {
        let mut f = dot(LoopHint::Independent);
        let before = f.clone();
        contract(&mut f);
        assert_eq!(f, before);
    }
}
