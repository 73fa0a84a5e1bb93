//! Random numbers that are the same on every machine and in every version.

/// SplitMix64 (Steele, Lea and Flood, 2014): one word of state, every seed is valid.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator that gives the same numbers for the same seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number from `lo` to `hi`, both included.
    pub fn between(&mut self, lo: i64, hi: i64) -> i64 {
        let span = hi.abs_diff(lo) as usize;
        lo.wrapping_add(self.below(span.saturating_add(1)) as i64)
    }

    /// `true` in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a list.
    pub fn of<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        list.get(self.below(list.len())).copied()
    }

    /// One of a list, by weight.
    pub fn weighted<T>(&mut self, list: &[T], weight: impl Fn(&T) -> u32) -> usize {
        let total: usize = list.iter().map(|t| weight(t) as usize).sum();
        let mut at = self.below(total);
        for (k, t) in list.iter().enumerate() {
            match at.checked_sub(weight(t) as usize) {
                Some(rest) => at = rest,
                None => return k,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_never_change() {
        let mut rng = Rng::new(0);
        assert_eq!([rng.bits(), rng.bits()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        let mut rng = Rng::new(7);
        let few: Vec<i64> = (0..6).map(|_| rng.between(-2, 2)).collect();
        assert!(few.iter().all(|n| (-2..=2).contains(n)));
        assert_eq!(Rng::new(1).below(0), 0);
    }
}
