//! Operation counts of functions: an arithmetic that counts.

use super::arith::Arith;

/// Operations by kind. Constants and bit reinterpretations are free and not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ops {
    /// Additions, multiplications, fused ones, minima, signs, roundings.
    pub float: u32,
    /// Divisions and square roots.
    pub division: u32,
    /// Comparisons, selects and operations on masks.
    pub choice: u32,
    /// Operations on integers.
    pub int: u32,
    /// Everything under `if_any`.
    pub rare: u32,
}

impl Ops {
    /// All except the rare ones.
    pub fn usual(&self) -> u32 {
        self.float + self.division + self.choice + self.int
    }
}

/// Another arithmetic, with the operations that were requested of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count<A> {
    inner: A,
    /// The counts so far.
    pub ops: Ops,
}

macro_rules! counted {
    ($($kind:ident: $($name:ident($($arg:ident $ty:ident),*) $result:ident),*;)*) => {
        $($(
            fn $name(&mut self, $($arg: Self::$ty),*) -> Self::$result {
                self.ops.$kind += 1;
                self.inner.$name($($arg),*)
            }
        )*)*
    };
}

impl<A: Arith + Default> Arith for Count<A> {
    type F = A::F;
    type I = A::I;
    type M = A::M;

    counted! {
        float: add(x F, y F) F, sub(x F, y F) F, mul(x F, y F) F, fma(x F, y F, z F) F, fnma(x F, y F, z F) F,
            fms(x F, y F, z F) F, neg(x F) F, abs(x F) F, copysign(x F, y F) F, floor(x F) F, ceil(x F) F, trunc(x F) F,
            rint(x F) F, min(x F, y F) F, max(x F, y F) F;
        division: div(x F, y F) F, sqrt(x F) F;
        choice: lt(x F, y F) M, le(x F, y F) M, eq(x F, y F) M, is_nan(x F) M, select(m M, x F, y F) F,
            select_i(m M, x I, y I) I, and_m(x M, y M) M, or_m(x M, y M) M, not_m(x M) M, eq_i(x I, y I) M,
            lt_i(x I, y I) M;
        int: add_i(x I, y I) I, sub_i(x I, y I) I, and_i(x I, y I) I, or_i(x I, y I) I, xor_i(x I, y I) I;
    }

    fn f(&mut self, value: f64) -> A::F {
        self.inner.f(value)
    }
    fn i(&mut self, value: i64) -> A::I {
        self.inner.i(value)
    }
    fn bits_of(&mut self, x: A::F) -> A::I {
        self.inner.bits_of(x)
    }
    fn of_bits(&mut self, x: A::I) -> A::F {
        self.inner.of_bits(x)
    }
    fn shl(&mut self, x: A::I, by: u32) -> A::I {
        self.ops.int += 1;
        self.inner.shl(x, by)
    }
    fn lshr(&mut self, x: A::I, by: u32) -> A::I {
        self.ops.int += 1;
        self.inner.lshr(x, by)
    }

    fn if_any<const N: usize>(
        &mut self,
        mask: A::M,
        usual: [A::F; N],
        rare: impl FnOnce(&mut Self) -> [A::F; N],
    ) -> [A::F; N] {
        let before = self.ops;
        let values = rare(self);
        let spent = self.ops.usual() - before.usual() + self.ops.rare - before.rare;
        self.ops = Ops { rare: before.rare + spent, ..before };
        let mut chosen = usual;
        for (to, from) in chosen.iter_mut().zip(values) {
            *to = self.inner.select(mask, from, *to);
        }
        chosen
    }

    fn repeat<const N: usize>(
        &mut self,
        times: u32,
        mut state: [A::F; N],
        mut step: impl FnMut(&mut Self, [A::F; N]) -> [A::F; N],
    ) -> [A::F; N] {
        for _ in 0..times {
            state = step(self, state);
        }
        state
    }
}
