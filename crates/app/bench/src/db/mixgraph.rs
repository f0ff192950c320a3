// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mixgraph: gets, puts and seeks after a model of production traffic (Cao et al., FAST'20, section 7; parameters and defaults
//! of RocksDB's db_bench). Ranges of keys are hot by a two-term exponential, keys in a range by a power function; sizes of
//! values and lengths of scans are generalised Pareto.

use super::DbOptions;
use super::jobs::{Act, Job, Picks, Sought};
use saker_lab::error::LabError;
use saker_sim::{Rng, Seed};
use saker_workload::Permutation;

/// Parameters by db_bench's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixOptions {
    /// Weight of gets.
    pub mix_get_ratio: f64,
    /// Weight of puts.
    pub mix_put_ratio: f64,
    /// Weight of seeks.
    pub mix_seek_ratio: f64,
    /// Ranges of keys.
    pub keyrange_num: u64,
    /// Heat of range x: a exp(b x) + c exp(d x). All 0: keys are alike over all ranges.
    pub keyrange_dist: [f64; 4],
    /// Heat of key x in its range: a x^b. One of them 0: alike.
    pub key_dist: (f64, f64),
    /// Theta, k and sigma of the sizes of values.
    pub value: (f64, f64, f64),
    /// The same of the lengths of scans.
    pub iter: (f64, f64, f64),
    /// Values are shorter.
    pub mix_max_value_size: u32,
    /// Scans are shorter.
    pub mix_max_scan_len: u32,
}

impl Default for MixOptions {
    fn default() -> Self {
        let (k, sigma) = saker_workload::suite::MIXGRAPH;
        Self {
            mix_get_ratio: 1.0,
            mix_put_ratio: 0.0,
            mix_seek_ratio: 0.0,
            keyrange_num: 1,
            keyrange_dist: [0.0; 4],
            key_dist: (0.0, 0.0),
            value: (0.0, k, sigma),
            iter: (0.0, 2.517, 14.236),
            mix_max_value_size: 1024,
            mix_max_scan_len: 10_000,
        }
    }
}

pub(super) struct MixGraph {
    options: MixOptions,
    picks: Picks,
    rng: Rng,
    left: u64,
    /// Cumulative weights of get, put and seek.
    kinds: [f64; 3],
    /// Cumulative heat of the ranges, if they differ.
    ranges: Vec<f64>,
    /// Where the ranges lie: the hot ones are not neighbours.
    places: Permutation,
}

impl MixGraph {
    pub(super) fn new(all: &DbOptions, picks: Picks, thread: u64, operations: u64) -> Result<Self, LabError> {
        let options = all.mix;
        let weights = [options.mix_get_ratio, options.mix_put_ratio, options.mix_seek_ratio];
        let sound = weights.iter().all(|w| *w >= 0.0 && w.is_finite()) && weights.iter().sum::<f64>() > 0.0;
        let num = options.keyrange_num.clamp(1, picks.num);
        let ranges = heats(&options, num);
        let heat = ranges.last().copied().unwrap_or(1.0);
        let is_hot = heat > 0.0 && heat.is_finite();
        if !sound || !is_hot || options.mix_max_value_size == 0 {
            let what = "mixgraph needs weights above 0, hot key ranges, and values of at least a byte";
            return Err(LabError::Trace(what.into()));
        }
        let places = Permutation::new(Seed(all.seed).child("key ranges").0, num);
        let rng = picks.rng(thread);
        Ok(Self { options, picks, rng, left: operations, kinds: cumulative(weights), ranges, places })
    }

    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        1.0 - self.rng.unit()
    }

    fn key_number(&mut self) -> u64 {
        let num = self.picks.num;
        if self.ranges.is_empty() {
            return self.in_range(num);
        }
        let total = self.ranges.last().copied().unwrap_or(0.0);
        let at = self.rng.unit() * total;
        let range = self.ranges.partition_point(|end| *end <= at).min(self.ranges.len() - 1);
        let bytes = num / self.places.len();
        self.places.map(range as u64) * bytes + self.in_range(bytes)
    }

    /// A key of so many: alike, or by its heat, at a place that follows from its rank.
    fn in_range(&mut self, keys: u64) -> u64 {
        let (a, b) = self.options.key_dist;
        if a == 0.0 || b == 0.0 {
            return self.rng.below(keys);
        }
        let rank = (self.unit() / a).powf(1.0 / b).ceil();
        Seed(rank as u64).child("rank").rng().below(keys)
    }

    fn pareto(&mut self, (theta, k, sigma): (f64, f64, f64)) -> f64 {
        let u = self.unit();
        let drawn = if k == 0.0 { theta - sigma * u.ln() } else { theta + sigma * (u.powf(-k) - 1.0) / k };
        drawn.ceil()
    }

    /// A draw below `limit`, as db_bench keeps it there.
    fn below(&mut self, parameters: (f64, f64, f64), limit: u32) -> u32 {
        let drawn = self.pareto(parameters).clamp(0.0, 1e15) as u64;
        (drawn % u64::from(limit.max(1))) as u32
    }
}

impl Job for MixGraph {
    fn next(
        &mut self,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Act, Option<u64>)>, LabError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let at = self.rng.unit() * self.kinds[2];
        let number = self.key_number();
        self.picks.key(number, key);
        value.clear();
        let act = match self.kinds.partition_point(|end| *end <= at) {
            0 => Act::Get,
            1 => {
                let bytes = self.below(self.options.value, self.options.mix_max_value_size);
                self.picks.value(number, self.left, bytes.max(1), value);
                Act::Put
            }
            _ => Act::Seek(Sought::behind(self.below(self.options.iter, self.options.mix_max_scan_len))),
        };
        Ok(Some((act, None)))
    }
}

fn cumulative<const N: usize>(weights: [f64; N]) -> [f64; N] {
    let mut sum = 0.0;
    weights.map(|weight| {
        sum += weight;
        sum
    })
}

/// Cumulative heat of each range; none if they are alike.
fn heats(options: &MixOptions, num: u64) -> Vec<f64> {
    let [a, b, c, d] = options.keyrange_dist;
    if options.keyrange_dist == [0.0; 4] {
        return Vec::new();
    }
    let mut sum = 0.0;
    let heat = |x: u64| (a * (b * x as f64).exp() + c * (d * x as f64).exp()).max(0.0);
    (1..=num)
        .map(|x| {
            sum += heat(x);
            sum
        })
        .collect()
}
