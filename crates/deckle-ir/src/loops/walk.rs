//! Visiting what expressions and statements use.

use super::*;

/// Calls `see` with every value that an expression uses.
pub fn operands(expr: &Expr, mut see: impl FnMut(Val)) {
    match *expr {
        Expr::Const(_) | Expr::Lanes | Expr::Failed | Expr::Unaligned(_) | Expr::Id(_) => {}
        Expr::Splat(a)
        | Expr::Unary(_, a)
        | Expr::Rint(a)
        | Expr::Cast(_, a)
        | Expr::Bitcast(_, a)
        | Expr::Total(_, a)
        | Expr::Lane(a, _) => see(a),
        Expr::Binary(_, a, b)
        | Expr::Assoc(_, a, b)
        | Expr::CopySign(a, b)
        | Expr::Swizzle(a, b, _)
        | Expr::Shuffle(_, a, b) => {
            see(a);
            see(b);
        }
        Expr::Fma(a, b, c) | Expr::Select(a, b, c) => {
            see(a);
            see(b);
            see(c);
        }
        Expr::Load { at, mask, .. } => {
            see(at);
            mask.into_iter().for_each(see);
        }
    }
}
