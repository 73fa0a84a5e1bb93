//! The value of options to buy and to sell, by Black and Scholes.

use super::hand::{ByHand, Plain, step};
use super::{Nine, floats, program};
use crate::case::{Bound, Size, vector};
use deckle::prelude::*;
use deckle_runtime::Pool;

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.30;

/// The normal distribution, by a polynomial.
#[kernel]
fn normal(d: f32) -> f32 {
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let poly = k * (0.319_381_54 + k * (-0.356_563_78 + k * (1.781_477_9 + k * (-1.821_255_9 + k * 1.330_274_5))));
    let tail = 0.398_942_3 * (-0.5 * d * d).exp() * poly;
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// Of the price now, the price agreed on and the years until then.
#[kernel]
fn value(price: f32, strike: f32, years: f32) -> (f32, f32) {
    let spread = VOLATILITY * years.sqrt();
    let d1 = ((price / strike).ln() + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread;
    let (a, b) = (normal(d1), normal(d1 - spread));
    let e = strike * (-RATE * years).exp();
    (price * a - e * b, e * (1.0 - b) - price * (1.0 - a))
}

struct Options {
    price: Vec<f32>,
    strike: Vec<f32>,
    years: Vec<f32>,
}

const ROW: usize = 8192;

/// The normal distribution, by the coefficients of Abramowitz and Stegun.
fn below(d: f32) -> f32 {
    let u = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let powers = [0.319_381_54, -0.356_563_78, 1.781_477_9, -1.821_255_9, 1.330_274_5];
    let above = (d * d / -2.0).exp() * 0.398_942_3 * powers.iter().rev().fold(0.0, |sum, c| (sum + c) * u);
    if d < 0.0 { above } else { 1.0 - above }
}

impl ByHand for Options {
    fn row<const VECTORS: bool>(&self, row: usize, out: &mut [f32]) {
        let (buy, sell) = out.split_at_mut(ROW);
        let here = row * ROW..(row + 1) * ROW;
        let (price, strike, years) = (&self.price[here.clone()], &self.strike[here.clone()], &self.years[here]);
        let options = price.iter().zip(strike).zip(years);
        for (((s, k), t), (buy, sell)) in options.zip(buy.iter_mut().zip(sell)) {
            let root = t.sqrt();
            let d1 = ((s / k).ln() + t * (RATE + VOLATILITY * VOLATILITY / 2.0)) / (VOLATILITY * root);
            let (a, b) = (below(d1), below(d1 - VOLATILITY * root));
            let now = k * (-RATE * t).exp();
            *buy = s * a - now * b;
            *sell = now * (1.0 - b) - s * (1.0 - a);
            step::<VECTORS>();
        }
    }
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let rows = size.of(1221, 24, 1);
    let n = rows * ROW;
    let options = Options {
        price: floats(n, 74, 5.0, 30.0),
        strike: floats(n, 75, 1.0, 100.0),
        years: floats(n, 76, 0.25, 10.0),
    };
    Nine {
        size: format!("{n} options"),
        paper: "10M options",
        script: "black_scholes.dk",
        kernel: program(compile(|price: Arr<f32>, strike: Arr<f32>, years: Arr<f32>| {
            price.zip_with3(strike, years, value::kernel)
        })),
        args: vec![vector(pool, &options.price), vector(pool, &options.strike), vector(pool, &options.years)],
        branches: false,
        picture: None,
        planes: 2,
        rows,
        width: ROW,
        share: 1,
        work: Bound { bytes: 20.0 * n as f64, ..Bound::none(n as f64, "option") },
        plain: Plain::new(options),
    }
}
