//! In which order blocks, and the warps of a block, run: on a GPU it is not known, so no result may depend on it.

/// An order of blocks and warps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last.
    #[default]
    Ascending,
    /// From the last to the first.
    Descending,
    /// Any; the number decides which.
    Shuffled(u64),
}

impl Order {
    /// The numbers below a limit in this order. `salt` makes one shuffle differ from another.
    pub(super) fn of(self, limit: u64, salt: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..limit).collect();
        match self {
            Order::Ascending => {}
            Order::Descending => all.reverse(),
            Order::Shuffled(seed) => {
                let mut state = seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
                for k in (1..all.len()).rev() {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    all.swap(k, ((state >> 33) % (k as u64 + 1)) as usize);
                }
            }
        }
        all
    }
}
