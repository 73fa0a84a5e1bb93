//! Expressions, thread by thread and lane by lane, by the rules of `scalar_eval`.

use super::SimError;
use super::memory::Memory;
use super::quick;
use super::touched::Use;
use super::warp::Warp;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::loops::{Axis, Expr, Shuffle, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::scalar_eval;

/// Computes a value in the active threads.
pub(super) fn define(w: &mut Warp<'_>, v: Val, expr: &Expr, memory: &mut Memory<'_>) -> Result<(), SimError> {
    if quick::define(w, v, expr) {
        return Ok(());
    }
    match *expr {
        Expr::Shuffle(how, of, by) => return shuffle(w, v, how, of, by),
        Expr::Ballot(of) => return ballot(w, v, of),
        Expr::Load { buf, at, mask } => {
            for t in w.active() {
                for lane in 0..w.lanes(v) {
                    let bits = if mask.is_none_or(|m| w.holds(m, t, lane)) {
                        let index = w.index(at, t, lane);
                        w.access(memory, buf, index, t, Use::Load, |b| b)?
                    } else {
                        0
                    };
                    let ty = w.function.vals[v.index()].scalar;
                    w.set(v, t, lane, Scalar::from_bits(ty, bits));
                }
            }
            return Ok(());
        }
        _ => {}
    }
    for t in w.active() {
        for lane in 0..w.lanes(v) {
            let s = lane_of(w, expr, t, lane);
            w.set(v, t, lane, s);
        }
    }
    Ok(())
}

/// One lane of an expression in one thread.
fn lane_of(w: &Warp<'_>, expr: &Expr, t: u32, lane: u16) -> Scalar {
    let get = |v: Val| w.get(v, t, lane);
    match *expr {
        Expr::Const(s) => s,
        Expr::Lanes => Scalar::I64(i64::from(lane)),
        Expr::Splat(v) => w.get(v, t, 0),
        Expr::Unary(op, v) => unary(op, get(v)),
        Expr::Binary(op, a, b) | Expr::Assoc(op, a, b) => binary(op, get(a), get(b)),
        Expr::Fma(a, b, c) => scalar_eval::fma(get(a), get(b), get(c)),
        Expr::Rint(v) => match get(v) {
            Scalar::F32(x) => Scalar::F32(x.round_ties_even()),
            Scalar::F64(x) => Scalar::F64(x.round_ties_even()),
            other => other,
        },
        Expr::CopySign(a, b) => match (get(a), get(b)) {
            (Scalar::F32(a), Scalar::F32(b)) => Scalar::F32(a.copysign(b)),
            (Scalar::F64(a), Scalar::F64(b)) => Scalar::F64(a.copysign(b)),
            (other, _) => other,
        },
        Expr::Cast(to, v) => get(v).cast(to),
        Expr::Bitcast(to, v) => Scalar::from_bits(to, get(v).bits()),
        Expr::Select(c, a, b) => get(if w.holds(c, t, lane) { a } else { b }),
        Expr::Total(op, v) => total(op, (0..w.lanes(v)).map(|l| w.get(v, t, l)).collect()),
        Expr::Lane(v, from) => w.get(v, t, from),
        Expr::Swizzle(a, b, ref from) => {
            let (from, lanes) = (from.get(usize::from(lane)).copied().unwrap_or(0), w.lanes(a));
            if from < lanes { w.get(a, t, from) } else { w.get(b, t, from - lanes) }
        }
        // Memory of the simulator begins where it should.
        Expr::Unaligned(_) => Scalar::I64(0),
        Expr::Failed => Scalar::Bool(w.failed >> t & 1 == 1),
        Expr::Id(axis) => Scalar::I64(match axis {
            Axis::Block => w.place.0 as i64,
            Axis::Blocks => w.place.1 as i64,
            Axis::Thread => i64::from(w.place.2 + t),
        }),
        // These are for the warp as a whole.
        Expr::Load { .. } | Expr::Shuffle(..) | Expr::Ballot(_) => Scalar::zero(ScalarType::I64),
    }
}

fn unary(op: UnOp, x: Scalar) -> Scalar {
    scalar_eval::unary(op, x).unwrap_or(x)
}

/// Where the operator has no value, 0.
fn binary(op: BinOp, a: Scalar, b: Scalar) -> Scalar {
    scalar_eval::binary(op, a, b).unwrap_or(Scalar::zero(a.ty()))
}

/// By halves.
fn total(op: BinOp, mut lanes: Vec<Scalar>) -> Scalar {
    while lanes.len() > 1 {
        let high = lanes.split_off(lanes.len() / 2);
        lanes = lanes.into_iter().zip(high).map(|(a, b)| binary(op, a, b)).collect();
    }
    lanes.first().copied().unwrap_or(Scalar::I64(0))
}

/// The second operand counts modulo 32.
fn shuffle(w: &mut Warp<'_>, v: Val, how: Shuffle, of: Val, by: Val) -> Result<(), SimError> {
    if !w.full() {
        return Err(SimError::Divergent { what: "shuffle", block: w.place.0 });
    }
    let all: Vec<Scalar> = w.active().map(|t| w.get(of, t, 0)).collect();
    for t in w.active() {
        let n = (w.int(by, t, 0) & 31) as u32;
        let from = match how {
            Shuffle::From => n,
            Shuffle::Up => t.checked_sub(n).unwrap_or(t),
            Shuffle::Down => Some(t + n).filter(|&k| k < 32).unwrap_or(t),
            Shuffle::Xor => t ^ n,
        };
        let s = all.get(from as usize).copied().unwrap_or(all[t as usize]);
        w.set(v, t, 0, s);
    }
    Ok(())
}

fn ballot(w: &mut Warp<'_>, v: Val, of: Val) -> Result<(), SimError> {
    if !w.full() {
        return Err(SimError::Divergent { what: "ballot", block: w.place.0 });
    }
    let bits = w.active().filter(|t| w.holds(of, *t, 0)).fold(0u32, |bits, t| bits | 1 << t);
    for t in w.active() {
        w.set(v, t, 0, Scalar::U32(bits));
    }
    Ok(())
}
