// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which kinds of operation, in which shares.

use crate::error::WorkloadError;
use saker_sim::Rng;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Store a value under a key of the population, new or not.
    Put,
    /// Store a value under a key that no operation had before; the population grows.
    Insert,
    /// Read a value.
    Get,
    /// Remove a key.
    Delete,
    /// Ask whether a key is there.
    Exist,
    /// List keys from a key on.
    List,
}

impl Kind {
    /// All kinds, in the order of a mix's weights.
    pub const ALL: [Self; 6] = [Self::Put, Self::Insert, Self::Get, Self::Delete, Self::Exist, Self::List];

    /// Whether the operation carries a value.
    pub const fn writes_value(self) -> bool {
        matches!(self, Self::Put | Self::Insert)
    }
}

/// Weights of the kinds: of `sum` operations, that many on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// Weight of [`Kind::Put`].
    pub put: u32,
    /// Weight of [`Kind::Insert`].
    pub insert: u32,
    /// Weight of [`Kind::Get`].
    pub get: u32,
    /// Weight of [`Kind::Delete`].
    pub delete: u32,
    /// Weight of [`Kind::Exist`].
    pub exist: u32,
    /// Weight of [`Kind::List`].
    pub list: u32,
}

impl Mix {
    /// Puts only.
    pub const PUTS: Self = Self { put: 1, insert: 0, get: 0, delete: 0, exist: 0, list: 0 };
    /// Gets only.
    pub const GETS: Self = Self { put: 0, insert: 0, get: 1, delete: 0, exist: 0, list: 0 };

    const fn weights(&self) -> [u32; 6] {
        [self.put, self.insert, self.get, self.delete, self.exist, self.list]
    }

    pub(crate) fn picker(&self) -> Result<KindPicker, WorkloadError> {
        let mut total = 0;
        let ends = self.weights().map(|weight| {
            total += u64::from(weight);
            total
        });
        if total == 0 { Err(WorkloadError::EmptyMix) } else { Ok(KindPicker { ends, total }) }
    }
}

/// Draws kinds by cumulative weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindPicker {
    ends: [u64; 6],
    total: u64,
}

impl KindPicker {
    #[inline]
    pub(crate) fn pick(&self, rng: &mut Rng) -> Kind {
        let at = rng.below(self.total);
        // Six comparisons without a branch: the kinds whose range ends at or before `at`.
        let passed = self.ends.iter().map(|&end| usize::from(end <= at)).sum::<usize>();
        Kind::ALL[passed]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;

    #[test]
    fn shares_follow_the_weights() {
        let mix = Mix { put: 5, get: 80, delete: 10, list: 5, ..Mix::default() };
        let (picker, mut rng) = (mix.picker().unwrap(), Seed(1).rng());
        let mut counts = [0u32; 6];
        (0..100_000).for_each(|_| counts[picker.pick(&mut rng) as usize] += 1);
        for (count, weight) in counts.into_iter().zip(mix.weights()) {
            assert!(count.abs_diff(weight * 1000) < 600, "{counts:?}");
            assert_eq!(count == 0, weight == 0);
        }
    }

    #[test]
    fn a_mix_needs_a_weight() {
        assert_eq!(Mix::default().picker().unwrap_err(), WorkloadError::EmptyMix);
    }
}
