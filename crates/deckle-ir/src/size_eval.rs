//! Evaluating sizes: a variable before the run is a number during it.

use crate::entity::{Body, Path, SizeVar};
use crate::size::{Atom, Size, log2};

/// The source of the values of atoms. `None`: the value is not known here.
pub trait SizeEnv {
    /// A size variable at these positions.
    fn var(&self, var: SizeVar, at: &[i128]) -> Option<i128>;
    /// An integer of the program.
    fn value(&self, path: &Path) -> Option<i128>;
    /// A truth value of the program.
    fn truth(&self, path: &Path) -> Option<bool>;
    /// An element of an integer array of the program.
    fn read(&self, path: &Path, at: &[i128]) -> Option<i128>;
    /// The position at which a body runs.
    fn at(&self, body: Body) -> Option<i128>;
}

impl Size {
    /// Its value, if everything it mentions is known. `positions` are those of the binders around
    /// it, outermost first.
    pub fn eval(&self, env: &dyn SizeEnv, positions: &mut Vec<i128>) -> Option<i128> {
        let mut total = 0i128;
        for (m, c) in self.terms() {
            let mut product = *c;
            for a in m {
                product = product.checked_mul(eval_atom(a, env, positions)?)?;
            }
            total = total.checked_add(product)?;
        }
        Some(total)
    }
}

fn eval_atom(atom: &Atom, env: &dyn SizeEnv, positions: &mut Vec<i128>) -> Option<i128> {
    let all = |list: &[Size], positions: &mut Vec<i128>| -> Option<Vec<i128>> {
        list.iter().map(|s| s.eval(env, positions)).collect()
    };
    match atom {
        Atom::Pos(p) => positions.iter().rev().nth(*p as usize).copied(),
        Atom::At(body) => env.at(*body),
        Atom::Var(v, args) => env.var(*v, &all(args, positions)?),
        Atom::Value(path) => env.value(path),
        Atom::Read(path, args) => env.read(path, &all(args, positions)?),
        Atom::Sum(count, body) => over(count, body, env, positions, i128::checked_add),
        Atom::Most(count, body) => over(count, body, env, positions, |most, term| Some(most.max(term))),
        Atom::Log(x) => Some(log2(x.eval(env, positions)?)),
        Atom::Min(list) => all(list, positions)?.into_iter().min(),
        Atom::Max(list) => all(list, positions)?.into_iter().max(),
        Atom::If(cond, yes, no) => (if env.truth(cond)? { yes } else { no }).eval(env, positions),
        Atom::Div(a, b) => {
            let (a, b) = (a.eval(env, positions)?, b.eval(env, positions)?);
            if b == 0 { None } else { Some(a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)) }
        }
    }
}

/// `body` at every position below `count`, combined from 0 on.
fn over(
    count: &Size,
    body: &Size,
    env: &dyn SizeEnv,
    positions: &mut Vec<i128>,
    combine: fn(i128, i128) -> Option<i128>,
) -> Option<i128> {
    let mut total = 0i128;
    for k in 0..count.eval(env, positions)? {
        positions.push(k);
        let term = body.eval(env, positions);
        positions.pop();
        total = combine(total, term?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Var;

    struct Env;
    const OFF: [i128; 5] = [2, 5, 5, 9, 14];
    impl SizeEnv for Env {
        fn var(&self, v: SizeVar, at: &[i128]) -> Option<i128> {
            Some(v.0 as i128 + 4 + at.iter().sum::<i128>())
        }
        fn value(&self, p: &Path) -> Option<i128> {
            Some(p.root.0 as i128)
        }
        fn truth(&self, p: &Path) -> Option<bool> {
            Some(p.root.0 == 1)
        }
        fn read(&self, _: &Path, at: &[i128]) -> Option<i128> {
            OFF.get(at[0] as usize).copied()
        }
        fn at(&self, _: Body) -> Option<i128> {
            None
        }
    }
    fn num(s: &Size) -> i128 {
        s.eval(&Env, &mut Vec::new()).unwrap()
    }
    fn c(n: i64) -> Size {
        n.into()
    }
    fn n() -> Size {
        Size::var(SizeVar(0))
    }
    fn off(i: Size) -> Size {
        Atom::Read(Var(9).into(), vec![i]).into()
    }
    fn open_sum(count: &Size, body: &Size) -> i128 {
        let k = num(count);
        (0..k).map(|i| num(&body.instantiate(&Size::constant(i)))).sum()
    }

    #[test]
    fn equality_is_by_normal_form() {
        let m = Size::var(SizeVar(1));
        assert_eq!(n().add(&m).mul(&n()), n().mul(&m).add(&n().mul(&n())));
        assert_eq!(n().add(&c(1)).sub(&c(1)), n());
        assert_ne!(n(), m);
        assert_eq!(n().sub(&n()), c(0));
    }

    #[test]
    fn telescoping_sums_close() {
        let i = Size::pos(0);
        let row = off(i.add(&c(1))).sub(&off(i.clone()));
        let total = Size::sum(&n(), &row);
        assert_eq!(total, off(n()).sub(&off(c(0))));
        assert_eq!(num(&total), 12);
        let twice = Size::sum(&n(), &row.scale(2).add(&c(3)));
        assert_eq!(num(&twice), open_sum(&n(), &row.scale(2).add(&c(3))));
        assert!(!twice.any_atom(&mut |a, _| matches!(a, Atom::Sum(..))));
    }

    #[test]
    fn sums_of_invariants_and_positions_close() {
        assert_eq!(Size::sum(&n(), &c(3)), n().scale(3));
        assert_eq!(num(&Size::sum(&n(), &Size::pos(0).add(&c(1)))), 1 + 2 + 3 + 4);
        let lengths = Size::sum(&n(), &off(Size::pos(0)));
        assert!(matches!(lengths.as_atom(), Some(Atom::Sum(..))));
        assert_eq!(num(&lengths), 2 + 5 + 5 + 9);
    }

    #[test]
    fn nested_sums_keep_their_positions_apart() {
        // Σ_{i<4} Σ_{j<off[i]} off[j']: the inner body mentions both binders.
        let inner = Size::sum(&c(2), &off(Size::pos(0)).mul(&off(Size::pos(1))));
        let both = Size::sum(&n(), &inner);
        assert_eq!(num(&both), (2 + 5 + 5 + 9) * (2 + 5));
    }

    #[test]
    fn extremes_fold_what_is_decided() {
        assert_eq!(n().lesser(&n().add(&c(1))), n());
        assert_eq!(n().greater(&n().add(&c(1))), n().add(&c(1)));
        assert_eq!(n().greater(&c(0)), n());
        assert_eq!(c(3).lesser(&c(5)), c(3));
        let m = Size::var(SizeVar(1));
        assert_eq!(n().lesser(&m), m.lesser(&n()));
        assert_eq!(n().lesser(&m).lesser(&n()), n().lesser(&m));
        assert_eq!(num(&n().lesser(&m)), 4);
        let v = Size::value(Var(3));
        assert_eq!(c(0).greater(&v).greater(&n()), v.greater(&n()), "zero beside a natural number says nothing");
    }

    #[test]
    fn conditionals_with_equal_branches_vanish() {
        assert_eq!(Size::select(Var(1).into(), &n(), &n()), n());
        assert_eq!(num(&Size::select(Var(1).into(), &n(), &c(7))), 4);
        assert_eq!(num(&Size::select(Var(2).into(), &n(), &c(7))), 7);
    }

    #[test]
    fn quotients_round_down() {
        assert_eq!(c(-7).div(&c(2)), c(-4));
        assert_eq!(c(7).div(&c(-2)), c(-4));
        assert_eq!(n().scale(4).div(&c(2)), n().scale(2));
        assert_eq!(num(&n().add(&c(3)).div(&c(2))), 3);
    }

    #[test]
    fn instantiation_goes_under_binders() {
        let s = Size::sum(&Size::pos(0), &off(Size::pos(0)).mul(&off(Size::pos(1))));
        let at3 = s.instantiate(&c(3));
        assert_eq!(num(&at3), (2 + 5 + 5) * 9);
    }

    #[test]
    fn logarithms_and_greatest() {
        assert_eq!([-3, 0, 1, 2, 3, 4, 5].map(|n| num(&c(n).log2())), [0, 0, 0, 1, 2, 2, 3]);
        assert_eq!(num(&n().scale(5).log2()), 5);
        let longest = Size::greatest(&n(), &off(Size::pos(0)).add(&c(1)));
        assert!(matches!(longest.as_atom(), Some(Atom::Most(..))));
        assert_eq!(num(&longest), 10);
        assert_eq!(num(&Size::greatest(&n().sub(&c(4)), &c(7))), 0, "of nothing");
        assert_eq!(Size::greatest(&c(3), &n()), n());
        assert_eq!(Size::greatest(&c(0), &n()), c(0));
    }

    #[test]
    fn what_is_at_least_shows_in_the_coefficients() {
        let m = Size::var(SizeVar(1));
        assert!(n().scale(5).add(&m).is_at_least(&n().scale(2).add(&m)));
        assert!(!n().is_at_least(&m));
        assert!(n().is_at_least(&n().sub(&m)));
        assert!(!n().sub(&m).is_at_least(&n()));
        assert!(n().add(&c(1)).is_at_least(&c(1)));
        assert!(!Size::value(Var(1)).is_at_least(&c(0)), "an integer may be negative");
    }

    #[test]
    fn a_polynomial_above_both() {
        let m = Size::var(SizeVar(1));
        assert_eq!(n().sub(&m).upper(&c(7)), n().add(&c(7)));
        let v = Size::value(Var(1));
        let bound = v.scale(2).add(&c(5)).upper(&c(7));
        assert_eq!(bound.to_string(), "2*max(0, v1) + 7", "an integer may be negative");
        assert_eq!(c(7).upper(&v.scale(2).add(&c(5))), bound);
    }
}
