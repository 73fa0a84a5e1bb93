//! Programs that can be streamed, and programs that cannot.

use super::*;
use crate::testing::{function, program};
use deckle_ir::array::Coll;

#[test]
fn a_total_is_not_known_while_the_sequence_is_read_again() {
    let p = program(&["{i64}"], |b, p| {
        let t = sum(b, p[0]);
        plus(b, p[0], t)
    });
    let stuck = sticks(&p, &[ints(&[1, 2])]);
    assert!(stuck.waiting.iter().any(|w| w.why == "needs the value of v1"), "{stuck:?}");
    flows(&p, &[ints(&[])]);
    may_stick(&p);
}

#[test]
fn a_total_after_the_sequence_is_known() {
    let p = program(&["{i64}"], |b, p| {
        let t = sum(b, p[0]);
        let t = single(b, t);
        b.op(Op::Append, &[p[0], t])
    });
    flows(&p, &[ints(&[1, 2, 3])]);
    flows(&p, &[ints(&[])]);
    never_sticks(&p);
    let p = program(&["{i64}"], |b, p| {
        let t = sum(b, p[0]);
        let t = single(b, t);
        b.op(Op::Append, &[t, p[0]])
    });
    sticks(&p, &[ints(&[1, 2, 3])]);
    may_stick(&p);
}

#[test]
fn what_is_left_of_a_sequence_does_not_keep_pace_with_it() {
    let p = program(&["{i64}"], |b, p| {
        let kept = nonzero(b, p[0]);
        let n = b.op(Op::Length, &[kept]);
        let all = b.op(Op::Append, &[kept, p[0]]);
        b.op(Op::Tuple, &[all, n])
    });
    // Appending a sequence to one computed from it reads it twice.
    sticks(&p, &[ints(&[1, 2])]);
    let p = program(&["{i64}", "{i64}"], |b, p| {
        let kept = nonzero(b, p[0]);
        let pad = b.op(Op::Append, &[kept, p[1]]);
        b.op(Op::Zip, &[pad, p[0]])
    });
    flows(&p, &[ints(&[1, 2, 3]), ints(&[])]);
    sticks(&p, &[ints(&[1, 0, 3]), ints(&[9])]);
    may_stick(&p);
}

#[test]
fn scans_keep_pace() {
    for kind in [ScanKind::Inclusive, ScanKind::Exclusive] {
        let p = program(&["{i64}"], |b, p| {
            let scanned = sums(b, p[0], kind);
            b.op(Op::Zip, &[scanned, p[0]])
        });
        flows(&p, &[ints(&[5, 6, 7])]);
        flows(&p, &[ints(&[])]);
        never_sticks(&p);
    }
    // The start of a full scan comes before the first element, so that all others come with the element before.
    let p = program(&["{i64}"], |b, p| {
        let scanned = sums(b, p[0], ScanKind::Full);
        let zero = b.int(0);
        let end = single(b, zero);
        let ended = b.op(Op::Append, &[p[0], end]);
        b.op(Op::Zip, &[scanned, ended])
    });
    sticks(&p, &[ints(&[5, 6, 7])]);
    let p = program(&["{i64}"], |b, p| {
        let scanned = sums(b, p[0], ScanKind::Full);
        let zero = b.int(0);
        let begin = single(b, zero);
        let begun = b.op(Op::Append, &[begin, p[0]]);
        b.op(Op::Zip, &[scanned, begun])
    });
    flows(&p, &[ints(&[5, 6, 7])]);
    never_sticks(&p);
}

#[test]
fn emptiness_is_known_at_once() {
    let p = program(&["{i64}"], |b, p| {
        let none = b.op(Op::Empty, p);
        b.op2(Op::If, &[none], |b, _| b.int(0), |b, _| b.op(Op::Reduce(Monoid::Max), p))
    });
    flows(&p, &[ints(&[3, 9, 4])]);
    flows(&p, &[ints(&[])]);
    never_sticks(&p);
    let p = program(&["{i64}"], |b, p| {
        let n = b.op(Op::Length, p);
        let zero = b.int(0);
        let none = b.bin(BinOp::Eq, n, zero);
        b.op2(Op::If, &[none], |b, _| b.int(0), |b, _| b.op(Op::Reduce(Monoid::Max), p))
    });
    sticks(&p, &[ints(&[3, 9, 4])]);
    flows(&p, &[ints(&[])]);
    may_stick(&p);
}

#[test]
fn sums_of_inner_sequences() {
    let p = program(&["{{i64}}"], |b, p| b.op1(Op::Map, p, |b, q| sum(b, q[0])));
    flows(&p, &[rows(&[&[1, 2], &[], &[3]])]);
    never_sticks(&p);
    // The total of a row and the row itself: two readers of each inner sequence.
    let p = program(&["{{i64}}"], |b, p| {
        b.op1(Op::Map, p, |b, q| {
            let t = sum(b, q[0]);
            b.op(Op::Tuple, &[t, q[0]])
        })
    });
    flows(&p, &[rows(&[&[1, 2], &[], &[3]])]);
    never_sticks(&p);
    let p = program(&["{{i64}}"], |b, p| {
        b.op1(Op::Map, p, |b, q| {
            let t = sum(b, q[0]);
            plus(b, q[0], t)
        })
    });
    sticks(&p, &[rows(&[&[1, 2], &[], &[3]])]);
    flows(&p, &[rows(&[&[], &[]])]);
    may_stick(&p);
}

#[test]
fn inner_sequences_may_have_readers_in_several_places() {
    let p = program(&["{{i64}}"], |b, p| {
        let totals = b.op1(Op::Map, p, |b, q| sum(b, q[0]));
        let flat = b.op(Op::Flatten, p);
        let twice = b.op1(Op::Map, p, |b, q| plus_self(b, q[0]));
        b.op(Op::Tuple, &[totals, flat, twice])
    });
    flows(&p, &[rows(&[&[1, 2], &[], &[3]])]);
    never_sticks(&p);
    // A total that a reader of the same row needs comes too late.
    let p = program(&["{{i64}}"], |b, p| {
        let totals = b.op1(Op::Map, p, |b, q| sum(b, q[0]));
        b.op1(Op::Map, &[p[0], totals], |b, q| plus(b, q[0], q[1]))
    });
    sticks(&p, &[rows(&[&[1, 2], &[], &[3]])]);
    may_stick(&p);
}

fn plus_self(b: &mut Builder<'_>, s: Var) -> Var {
    b.op1(Op::Map, &[s], |b, q| b.bin(BinOp::Add, q[0], q[0]))
}

/// Splitting a text into words.
#[test]
fn a_sequence_is_cut_by_a_test_of_its_own_elements() {
    let p = program(&["{i64}"], |b, p| {
        let zero = b.int(0);
        let flags = b.op1(Op::Map, p, |b, q| b.bin(BinOp::Eq, q[0], zero));
        let letters = nonzero(b, p[0]);
        let words = b.op(Op::FlagPart, &[letters, flags]);
        b.op1(Op::Map, &[words], |b, q| {
            let n = b.op(Op::Length, q);
            b.op(Op::Tuple, &[n, q[0]])
        })
    });
    flows(&p, &[ints(&[1, 2, 0, 0, 3, 0])]);
    flows(&p, &[ints(&[])]);
    let [_, stuck, _] = trials(&p);
    assert_eq!(stuck, 0);
}

#[test]
fn guards_may_use_sequences_from_outside() {
    let p = program(&["bool", "{i64}"], |b, p| {
        let each = b.op1(Op::Guard, &p[..1], |b, _| plus_self(b, p[1]));
        b.op(Op::Tuple, &[each, p[1]])
    });
    for c in [true, false] {
        flows(&p, &[Value::bool(c), ints(&[1, 2])]);
    }
    never_sticks(&p);
    // The body is run element by element like everything else.
    let p = program(&["bool", "{i64}"], |b, p| {
        b.op1(Op::Guard, &p[..1], |b, _| {
            let t = sum(b, p[1]);
            plus(b, p[1], t)
        })
    });
    sticks(&p, &[Value::bool(true), ints(&[1, 2])]);
    flows(&p, &[Value::bool(false), ints(&[1, 2])]);
    may_stick(&p);
}

#[test]
fn a_branch_reads_only_what_it_uses() {
    let p = program(&["bool", "{i64}", "{i64}"], |b, p| {
        let chosen = b.op2(Op::If, &p[..1], |_, _| p[1], |b, _| b.op(Op::Append, &[p[2], p[1]]));
        let n = b.op(Op::Length, &[chosen]);
        b.op(Op::Tuple, &[chosen, n, p[2]])
    });
    for c in [true, false] {
        flows(&p, &[Value::bool(c), ints(&[1, 2]), ints(&[3])]);
    }
    never_sticks(&p);
}

#[test]
fn callees_read_the_sequences_of_their_caller() {
    let mean = function(&[], "mean", &["{i64}"], |b, p| {
        let (t, n) = (sum(b, p[0]), b.op(Op::Length, p));
        b.bin(BinOp::Div, t, n)
    });
    let spread = |funcs: &[deckle_ir::array::Function], twice: bool| {
        function(funcs, "main", &["{i64}"], |b, p| {
            let m = b.op(Op::Call(Func(0)), p);
            if twice { plus(b, p[0], m) } else { single(b, m) }
        })
    };
    for twice in [false, true] {
        let funcs = vec![mean.clone()];
        let main = spread(&funcs, twice);
        let p = Program { funcs: vec![mean.clone(), main] };
        match twice {
            false => {
                flows(&p, &[ints(&[1, 5])]);
                never_sticks(&p);
            }
            true => {
                sticks(&p, &[ints(&[1, 5])]);
                may_stick(&p);
            }
        }
    }
}

#[test]
fn bodies_over_vectors_are_run_under_the_discipline_too() {
    let inner = |late: bool| {
        program(&["[i64; n0]"], |b, p| {
            b.op1(Op::Map, p, |b, q| {
                let s = b.op(Op::Iota(Coll::Seq), q);
                let t = sum(b, s);
                match late {
                    false => t,
                    true => {
                        let s = plus(b, s, t);
                        sum(b, s)
                    }
                }
            })
        })
    };
    let args = [crate::testing::ints(&[2, 0, 3])];
    flows(&inner(false), &args);
    never_sticks(&inner(false));
    sticks(&inner(true), &args);
    flows(&inner(true), &[crate::testing::ints(&[0])]);
    may_stick(&inner(true));
}

#[test]
fn everything_must_come_to_its_end() {
    // The sequence that gets stuck is not part of the result.
    let p = program(&["{i64}"], |b, p| {
        let t = sum(b, p[0]);
        plus(b, p[0], t);
        b.int(1)
    });
    sticks(&p, &[ints(&[1])]);
    // One without readers runs on its own.
    let p = program(&["{i64}"], |b, p| {
        plus_self(b, p[0]);
        b.int(1)
    });
    flows(&p, &[ints(&[1, 2])]);
    never_sticks(&p);
}

#[test]
fn a_sequence_cannot_be_two_elements() {
    let p = program(&["{i64}"], |b, p| b.op(Op::MkSeq(Type::seq(Type::INT)), &[p[0], p[0]]));
    sticks(&p, &[ints(&[])]);
    may_stick(&p);
    // Not even without readers.
    let p = program(&["{i64}"], |b, p| {
        let both = b.op(Op::MkSeq(Type::seq(Type::INT)), &[p[0], p[0]]);
        b.op(Op::Length, &[both])
    });
    sticks(&p, &[ints(&[])]);
    may_stick(&p);
    let p = program(&["{i64}", "{i64}"], |b, p| {
        let both = b.op(Op::MkSeq(Type::seq(Type::INT)), p);
        b.op(Op::Flatten, &[both])
    });
    flows(&p, &[ints(&[1, 2]), ints(&[3])]);
    never_sticks(&p);
}

#[test]
fn opposite_conditions_agree() {
    // Exactly one of the two exists, whatever the data are.
    let p = program(&["i64", "i64"], |b, p| {
        let (lt, ge) = (b.bin(BinOp::Lt, p[0], p[1]), b.bin(BinOp::Ge, p[0], p[1]));
        let one = b.op1(Op::Guard, &[lt], |b, _| b.op(Op::Iota(Coll::Seq), &p[..1]));
        let other = b.op1(Op::Guard, &[ge], |b, _| b.op(Op::Iota(Coll::Seq), &p[1..]));
        let both = b.op(Op::Append, &[one, other]);
        b.op(Op::The, &[both])
    });
    assert_eq!(trials(&p), [200, 0, 0]);
}

#[test]
fn deep_nests_of_bodies_do_not_exhaust_the_stack() {
    fn nest(b: &mut Builder<'_>, s: Var, depth: usize) -> Var {
        b.op1(Op::Map, &[s], |b, q| {
            if depth == 0 {
                return q[0];
            }
            let s = single(b, q[0]);
            let inner = nest(b, s, depth - 1);
            sum(b, inner)
        })
    }
    let p = program(&["{i64}"], |b, p| nest(b, p[0], 150));
    flows(&p, &[ints(&[1, 2])]);
    never_sticks(&p);
}
