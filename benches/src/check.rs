//! Comparison with a reference of higher precision.

use crate::case::elements;
use crate::data::Float;
use deckle_engine::Data;

/// A compensated sum (Neumaier).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    /// Adds.
    pub fn add(&mut self, x: f64) {
        let next = self.sum + x;
        self.lost += if self.sum.abs() >= x.abs() { (self.sum - next) + x } else { (x - next) + self.sum };
        self.sum = next;
    }

    /// Adds a product, exactly.
    pub fn add_product(&mut self, x: f64, y: f64) {
        let p = x * y;
        self.add(p);
        self.lost += x.mul_add(y, -p);
    }

    /// The sum.
    pub fn total(self) -> f64 {
        self.sum + self.lost
    }
}

/// The sum of numbers, as exactly as possible.
pub fn sum(xs: impl Iterator<Item = f64>) -> f64 {
    let mut s = Sum::default();
    xs.for_each(|x| s.add(x));
    s.total()
}

/// The logarithm of `n!`, by Stirling's series.
pub fn log_factorial(n: f64) -> f64 {
    if n < 16.0 {
        return (1..=n as u64).map(|i| (i as f64).ln()).sum();
    }
    let half_log_tau = 0.918_938_533_204_672_8;
    (n + 0.5) * n.ln() - n + half_log_tau + 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3)) + 1.0 / (1260.0 * n.powi(5))
}

/// The relative error of one number, within a tolerance.
pub fn near(got: f64, wanted: f64, tolerance: f64) -> Result<f64, String> {
    let error = (got - wanted).abs() / wanted.abs().max(f64::MIN_POSITIVE);
    if error <= tolerance || got == wanted {
        Ok(error)
    } else {
        Err(format!("{got} in the place of {wanted}, off by {error:.1e}, which is over {tolerance:.1e}"))
    }
}

/// The only number of a result.
pub fn one<T: Float>(data: &Data, wanted: f64, tolerance: f64) -> Result<f64, String> {
    near(elements::<T>(data, 1)?[0].to_f64(), wanted, tolerance)
}

/// The largest error of elements, relative to the `scale` of each, within a tolerance. `wanted` returns an element and its scale: the sum of
/// the magnitudes of its terms.
pub fn each<T: Float>(
    got: &[T],
    places: impl Iterator<Item = usize>,
    tolerance: f64,
    wanted: impl Fn(usize) -> (f64, f64),
) -> Result<f64, String> {
    let mut worst = 0.0f64;
    for i in places {
        let (want, scale) = wanted(i);
        let got = got.get(i).ok_or("too short")?.to_f64();
        let error = (got - want).abs() / scale.abs().max(f64::MIN_POSITIVE);
        if got != want && error.is_nan() || error > tolerance {
            return Err(format!(
                "{got} at {i} in the place of {want}, off by {error:.1e}, which is over {tolerance:.1e}"
            ));
        }
        if got != want {
            worst = worst.max(error);
        }
    }
    Ok(worst)
}

/// Exact equality.
pub fn same<T: PartialEq + std::fmt::Debug>(got: &[T], wanted: &[T]) -> Result<f64, String> {
    match got.iter().zip(wanted).position(|(a, b)| a != b) {
        Some(i) => Err(format!("{:?} at {i} in the place of {:?}", got[i], wanted[i])),
        None if got.len() != wanted.len() => Err(format!("{} in the place of {}", got.len(), wanted.len())),
        None => Ok(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_what_is_lost() {
        assert_eq!(sum([1e100, 1.0, -1e100].into_iter()), 1.0);
        let mut s = Sum::default();
        s.add_product(1e8 + 1.0, 1e8 + 1.0);
        s.add_product(-1e8, 1e8);
        assert_eq!(s.total(), 2e8 + 1.0);
    }

    #[test]
    fn checks_can_fail() {
        assert!(near(1.0, 1.1, 1e-3).is_err() && near(f64::NAN, 1.0, 1e-3).is_err());
        let wanted = |i: usize| (i as f64, 1.0);
        assert!(each(&[0.0, 1.5], 0..2, 0.1, wanted).is_err());
        assert!(each(&[0.0, f64::NAN], 0..2, 0.1, wanted).is_err());
        assert!(each(&[0.0], 0..2, 0.1, wanted).is_err());
        assert_eq!(each(&[0.0, 1.0], 0..2, 0.1, wanted), Ok(0.0));
        assert!(same(&[1, 2], &[1, 3]).is_err() && same(&[1], &[1, 3]).is_err());
    }

    #[test]
    fn factorials() {
        for n in [1u64, 15, 16, 17, 40] {
            let exact: f64 = (1..=n).map(|i| (i as f64).ln()).sum();
            assert!((log_factorial(n as f64) - exact).abs() < 1e-12 * exact.max(1.0), "{n}");
        }
    }
}
