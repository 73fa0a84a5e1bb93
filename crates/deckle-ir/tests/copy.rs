//! A function that cannot be copied with a change says why.

use deckle_diag::Span;
use deckle_ir::array::{BinOp, Builder, Copied, Copier, Function, Op, Refused, Rewrite, UnOp, rewrite};
use deckle_ir::entity::Var;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::text::parse_type;
use deckle_ir::types::Type;

const HERE: Span = Span::NONE;

/// Puts something else in the place of a statement.
struct Instead<F>(Var, F);

impl<F: FnMut(&mut Copier<'_>) -> Copied<Option<Var>>> Rewrite for Instead<F> {
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Copied<()> {
        if s != self.0 {
            return copy.statement(self, s);
        }
        if let Some(new) = (self.1)(copy)? {
            copy.stand(s, new);
        }
        Ok(())
    }
}

fn copied(
    func: &Function,
    s: Var,
    instead: impl FnMut(&mut Copier<'_>) -> Copied<Option<Var>>,
) -> Result<Function, Refused> {
    rewrite(&[], func, &mut Instead(s, instead))
}

/// `-(x + x)`, and the variables of the sum and of the result.
fn negated() -> (Function, Var, Var) {
    let mut b = Builder::new(&[], "f", HERE);
    let x = b.param("x", Type::INT, HERE);
    let sum = b.push(Op::Binary(BinOp::Add), &[x, x], &[], HERE).unwrap();
    let result = b.push(Op::Unary(UnOp::Neg), &[sum], &[], HERE).unwrap();
    (b.finish(result), sum, result)
}

#[test]
fn what_is_left_out_and_used_is_a_bug() {
    let (func, sum, _) = negated();
    let why = copied(&func, sum, |_| Ok(None)).unwrap_err();
    assert_eq!(why, Refused::Bug(format!("{sum} is not in the copy")));
}

#[test]
fn a_type_that_does_not_fit_is_a_bug() {
    let (func, sum, _) = negated();
    let text = |copy: &mut Copier<'_>| Ok(Some(copy.b.push(Op::Const(Scalar::Bool(true)), &[], &[], HERE)?));
    assert!(matches!(copied(&func, sum, text), Err(Refused::Bug(_))));
}

#[test]
fn a_statement_that_is_none_is_a_bug() {
    let (func, _, result) = negated();
    let x = func.params()[0];
    let why = copied(&func, result, |copy| copy.inst(x).map(|_| None));
    assert_eq!(why, Err(Refused::Bug(format!("{x} is no statement"))));
}

#[test]
fn rows_that_are_no_longer_known_to_be_equal_are_a_matter_of_sizes() {
    let mut b = Builder::new(&[], "f", HERE);
    let rows = b.new_size(0);
    let columns = b.new_size(0);
    let matrix = b.param("m", parse_type(&format!("[[i64; n{}]; n{}]", columns.0, rows.0)).unwrap(), HERE);
    let two = b.push(Op::Const(Scalar::I64(2)), &[], &[], HERE).unwrap();
    let count = b.push(Op::Binary(BinOp::Add), &[two, two], &[], HERE).unwrap();
    let shape = b.push(Op::Shape(2), &[matrix], &[], HERE).unwrap();
    let func = b.finish(shape);
    // In the place of a number that nothing uses, and then of the matrix, rows of any length.
    let ragged = |copy: &mut Copier<'_>| {
        let n = copy.var(two)?;
        let (body, params) = copy.b.begin_body_of(&Op::Generate, &[n], 0, HERE)?;
        let row = copy.b.push(Op::Iota(deckle_ir::array::Coll::Array), &params, &[], HERE)?;
        copy.b.end_body(row);
        let rows = copy.b.push(Op::Generate, &[n], &[body], HERE)?;
        copy.stand(matrix, rows);
        copy.b.push(Op::Cast(ScalarType::I64), &[n], &[], HERE).map(Some).map_err(Refused::from)
    };
    assert!(matches!(copied(&func, count, ragged), Err(Refused::Sizes(_))));
}
