//! A warp: its place in the code, its masks, and the values of its threads.

use super::flat::Inst;
use super::memory::{BufferMem, Memory, private};
use super::touched::{Use, Who};
use super::{SimError, eval};
use deckle_ir::array::BinOp;
use deckle_ir::loops::{Buf, Function, Stmt, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::scalar_eval;

/// Why a warp does not go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It waits at a barrier, in this place.
    Barrier(usize),
    /// It is done.
    End,
}

/// A saved mask, and the threads that take the second block of an `if`.
struct Saved {
    mask: u32,
    others: u32,
}

/// A warp in the midst of a function.
pub(super) struct Warp<'a> {
    pub(super) function: &'a Function,
    code: &'a [Inst<'a>],
    /// How many threads, at most 32.
    pub(super) threads: u32,
    /// The block, how many there are, and the number of the first thread in the block.
    pub(super) place: (u64, u64, u32),
    at: usize,
    pub(super) mask: u32,
    saved: Vec<Saved>,
    /// The bits of all values, and where those of each value begin: lane after lane of thread after thread.
    bits: Vec<u64>,
    starts: Vec<usize>,
    own: Vec<Vec<BufferMem>>,
    /// How many barriers it has passed.
    barriers: u32,
    /// And of its own.
    syncs: u32,
    pub(super) failed: u32,
}

impl<'a> Warp<'a> {
    pub(super) fn new(
        function: &'a Function,
        code: &'a [Inst<'a>],
        threads: u32,
        place: (u64, u64, u32),
        scalars: &[Scalar],
    ) -> Warp<'a> {
        let mut total = 0;
        let mut starts = Vec::with_capacity(function.vals.len());
        for ty in &function.vals {
            starts.push(total);
            total += usize::from(ty.lanes) * threads as usize;
        }
        let full = u32::MAX >> (32 - threads);
        let own = (0..threads).map(|_| private(function)).collect();
        let bits = vec![0; total];
        let (at, mask, saved, barriers, syncs, failed) = (0, full, Vec::new(), 0, 0, 0);
        let mut warp =
            Warp { function, code, threads, place, at, mask, saved, bits, starts, own, barriers, syncs, failed };
        for (&v, s) in function.scalars.iter().zip(scalars) {
            for t in 0..threads {
                warp.set(v, t, 0, *s);
            }
        }
        warp
    }

    pub(super) fn failed(&self) -> bool {
        self.failed != 0
    }

    pub(super) fn full(&self) -> bool {
        self.mask == u32::MAX >> (32 - self.threads)
    }

    pub(super) fn active(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.mask;
        (0..32).filter(move |t| mask >> t & 1 == 1)
    }

    pub(super) fn lanes(&self, v: Val) -> u16 {
        self.function.vals[v.index()].lanes
    }

    fn slot(&self, v: Val, thread: u32, lane: u16) -> usize {
        self.starts[v.index()] + thread as usize * usize::from(self.lanes(v)) + usize::from(lane)
    }

    /// One lane of a value; of a scalar the only one.
    pub(super) fn get(&self, v: Val, thread: u32, lane: u16) -> Scalar {
        let ty = self.function.vals[v.index()];
        let lane = if ty.lanes == 1 { 0 } else { lane };
        Scalar::from_bits(ty.scalar, self.bits[self.slot(v, thread, lane)])
    }

    pub(super) fn set(&mut self, v: Val, thread: u32, lane: u16, s: Scalar) {
        let slot = self.slot(v, thread, lane);
        self.bits[slot] = s.bits();
    }

    /// Sets a scalar in the active threads, from the bits of other scalars.
    pub(super) fn set_bits<const N: usize>(&mut self, v: Val, of: [Val; N], f: impl Fn([u64; N]) -> u64) {
        let (to, from) = (self.starts[v.index()], of.map(|u| self.starts[u.index()]));
        for t in self.active() {
            let t = t as usize;
            self.bits[to + t] = f(from.map(|start| self.bits[start + t]));
        }
    }

    pub(super) fn int(&self, v: Val, thread: u32, lane: u16) -> i128 {
        let ty = self.function.vals[v.index()];
        match (ty.scalar, ty.lanes) {
            // Nearly all indices.
            (ScalarType::I64, 1) => i128::from(self.bits[self.starts[v.index()] + thread as usize] as i64),
            _ => self.get(v, thread, lane).as_int().unwrap_or(0),
        }
    }

    pub(super) fn holds(&self, v: Val, thread: u32, lane: u16) -> bool {
        let ty = self.function.vals[v.index()];
        match (ty.scalar, ty.lanes) {
            (ScalarType::Bool, 1) => self.bits[self.starts[v.index()] + thread as usize] & 1 == 1,
            _ => self.get(v, thread, lane).as_bool().unwrap_or(false),
        }
    }

    /// The active threads for which something is so.
    fn those(&self, mut so: impl FnMut(u32) -> bool) -> u32 {
        self.active().filter(|&t| so(t)).fold(0, |m, t| m | 1 << t)
    }

    /// Goes on to the next barrier, or to the end.
    pub(super) fn run(&mut self, memory: &mut Memory<'_>, steps: &mut u64) -> Result<Stop, SimError> {
        let code = self.code;
        while let Some(inst) = code.get(self.at) {
            *steps = steps.checked_sub(1).ok_or(SimError::Endless)?;
            self.at += 1;
            match inst {
                Inst::Plain(Stmt::Barrier) => {
                    if !self.full() {
                        return Err(SimError::Divergent { what: "barrier", block: self.place.0 });
                    }
                    self.barriers += 1;
                    return Ok(Stop::Barrier(self.at));
                }
                Inst::Plain(stmt) => self.plain(stmt, memory)?,
                Inst::Copy(pairs) => self.copy(pairs),
                Inst::Split(cond, other) => {
                    let yes = self.those(|t| self.holds(*cond, t, 0));
                    self.saved.push(Saved { mask: self.mask, others: self.mask & !yes });
                    self.go_on_with(yes, *other);
                }
                Inst::Other(end) => {
                    let others = self.saved.last().map_or(0, |s| s.others);
                    self.go_on_with(others, *end);
                }
                Inst::Enter => self.saved.push(Saved { mask: self.mask, others: 0 }),
                Inst::Test(cond, end) => {
                    let left = self.those(|t| self.holds(*cond, t, 0));
                    self.go_on_with(left, *end);
                }
                Inst::Below(var, hi, end) => {
                    let left = self.those(|t| self.int(*var, t, 0) < self.int(*hi, t, 0));
                    self.go_on_with(left, *end);
                }
                Inst::Advance(var, step) => {
                    for t in self.active() {
                        let next = (self.int(*var, t, 0) as i64).saturating_add(*step);
                        self.set(*var, t, 0, Scalar::I64(next));
                    }
                }
                Inst::Jump(to) => self.at = *to,
                Inst::Leave => self.mask = self.saved.pop().map_or(0, |s| s.mask),
            }
        }
        Ok(Stop::End)
    }

    fn go_on_with(&mut self, mask: u32, otherwise: usize) {
        self.mask = mask;
        if mask == 0 {
            self.at = otherwise;
        }
    }

    fn copy(&mut self, pairs: &[(Val, Val)]) {
        let mut all: Vec<(Val, u16, Scalar)> = Vec::new();
        for t in self.active() {
            for &(to, from) in pairs {
                for lane in 0..self.lanes(to) {
                    all.push((to, lane, self.get(from, t, lane)));
                }
            }
            for (to, lane, s) in all.drain(..) {
                self.set(to, t, lane, s);
            }
        }
    }

    fn plain(&mut self, stmt: &Stmt, memory: &mut Memory<'_>) -> Result<(), SimError> {
        match stmt {
            Stmt::Let(v, expr) => eval::define(self, *v, expr, memory)?,
            Stmt::Store { buf, at, value, mask, hint } => {
                for t in self.active() {
                    let lanes = self.lanes(*value);
                    let first = self.int(*at, t, 0);
                    let together = lanes > 1 && self.lanes(*at) == 1 && mask.is_none();
                    if *hint == StoreHint::Streaming && together && first.rem_euclid(i128::from(lanes)) != 0 {
                        return Err(SimError::Misaligned { buf: *buf, index: first });
                    }
                    let mut stored = 0;
                    for lane in 0..lanes {
                        if mask.is_some_and(|m| !self.holds(m, t, lane)) {
                            continue;
                        }
                        let bits = self.get(*value, t, lane).bits();
                        let packed = *hint == StoreHint::Packed;
                        let index = if packed { first + stored } else { self.index(*at, t, lane) };
                        stored += 1;
                        self.access(memory, *buf, index, t, Use::Store(bits, *hint == StoreHint::Shared), |b| b)?;
                    }
                }
            }
            Stmt::Atomic { op, buf, at, value, before } => {
                for t in self.active() {
                    let (with, index) = (self.get(*value, t, 0), self.int(*at, t, 0));
                    let held = self.access(memory, *buf, index, t, Use::Atomic, |held| combined(*op, held, with))?;
                    if let Some(before) = before {
                        self.set(*before, t, 0, Scalar::from_bits(with.ty(), held));
                    }
                }
            }
            Stmt::Flag(v) => {
                self.failed |= self.those(|t| (0..self.lanes(*v)).any(|lane| self.holds(*v, t, lane)));
            }
            Stmt::Fail { site, operands } => {
                self.failed |= self.mask;
                for t in self.active() {
                    if memory.error[0] == 0 {
                        memory.error[0] = 1;
                        memory.error[1] = u64::from(*site);
                        memory.error[2] = operands.len() as u64;
                        for (word, &v) in memory.error[3..].iter_mut().zip(operands) {
                            *word = self.get(v, t, 0).bits();
                        }
                    }
                }
            }
            // Flattened, or handled where the warp stops.
            Stmt::For { .. } | Stmt::While { .. } | Stmt::If { .. } | Stmt::Barrier => {}
            Stmt::WarpBarrier if self.full() => self.syncs += 1,
            Stmt::WarpBarrier => return Err(SimError::Divergent { what: "barrier", block: self.place.0 }),
        }
        Ok(())
    }

    /// Where a lane goes: to its own index, or so many elements on.
    pub(super) fn index(&self, at: Val, thread: u32, lane: u16) -> i128 {
        let own = self.lanes(at) > 1;
        self.int(at, thread, lane) + if own { 0 } else { i128::from(lane) }
    }

    pub(super) fn access(
        &mut self,
        memory: &mut Memory<'_>,
        buf: Buf,
        index: i128,
        thread: u32,
        how: Use,
        combine: impl FnOnce(u64) -> u64,
    ) -> Result<u64, SimError> {
        let who =
            Who { block: self.place.0, thread: self.place.2 + thread, barriers: self.barriers, syncs: self.syncs };
        memory.access(&mut self.own[thread as usize], (buf, index), who, how, combine)
    }
}

fn combined(op: BinOp, before: u64, with: Scalar) -> u64 {
    let ty: ScalarType = with.ty();
    let new = scalar_eval::binary(op, with, Scalar::from_bits(ty, before)).unwrap_or(with);
    let is_nan = new.as_float().is_some_and(f64::is_nan);
    Scalar::float(ty, f64::NAN).filter(|_| is_nan).unwrap_or(new).bits()
}
