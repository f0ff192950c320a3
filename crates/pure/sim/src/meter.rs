// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPU work is metered in machine-level units; only profiles know what a unit costs.
//!
//! Engines and host code report what they did through [`Meter`]. The untimed meter [`Free`] compiles to
//! nothing; [`CpuMeter`] adds the work up at a profile's prices.

use crate::Duration;

/// A unit of CPU work. None of them knows what a key-value store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Decoding one command or record header.
    Decode,
    /// Building one record header.
    Encode,
    /// A dependent access to a random cache line (one index probe).
    Probe,
    /// Comparing one key.
    Compare,
    /// Moving one byte between buffers.
    CopyByte,
    /// Checksumming one byte.
    ChecksumByte,
    /// Taking and releasing an uncontended lock.
    Lock,
    /// Opening or closing a page or segment.
    PageSwitch,
    /// Producing one entry of a list.
    ListEntry,
    /// Moving one index entry.
    Move,
}

impl Unit {
    /// Number of units.
    pub const COUNT: usize = 10;
    /// All units, in the order of a profile's `cpu` table.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Decode,
        Self::Encode,
        Self::Probe,
        Self::Compare,
        Self::CopyByte,
        Self::ChecksumByte,
        Self::Lock,
        Self::PageSwitch,
        Self::ListEntry,
        Self::Move,
    ];
}

/// Takes note of CPU work.
pub trait Meter {
    /// `n` units of work were done.
    fn work(&mut self, unit: Unit, n: u64);
    /// Whether [`Meter::touch`] does anything. Code may arrange its work for it when it is true.
    #[inline(always)]
    fn touches(&self) -> bool {
        false
    }
    /// This memory will be needed soon: a hint to the processor, without effect on any result. Trait objects touch nothing.
    #[inline(always)]
    fn touch<T>(&mut self, _: &T)
    where
        Self: Sized,
    {
    }
}

/// Counts nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Free;

impl Meter for Free {
    #[inline(always)]
    fn work(&mut self, _: Unit, _: u64) {}
}

/// What each unit costs, in picoseconds, from a profile's `cpu` table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuPrices {
    picos: [u64; Unit::COUNT],
}

impl CpuPrices {
    /// Prices in picoseconds, in the order of [`Unit::ALL`].
    pub const fn from_picos(picos: [u64; Unit::COUNT]) -> Self {
        Self { picos }
    }
}

/// Adds up work at fixed prices.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuMeter {
    prices: CpuPrices,
    picos: u64,
    units: [u64; Unit::COUNT],
}

impl CpuMeter {
    /// An empty meter with those prices.
    pub const fn new(prices: CpuPrices) -> Self {
        Self { prices, picos: 0, units: [0; Unit::COUNT] }
    }

    /// The time noted since the last call, rounded up to nanoseconds; the meter starts again at zero.
    pub fn take(&mut self) -> Duration {
        Duration::from_nanos(std::mem::take(&mut self.picos).div_ceil(1000))
    }

    /// Bytes that a core copied since the meter was made.
    pub const fn copied_bytes(&self) -> u64 {
        self.units[Unit::CopyByte as usize]
    }

    /// Work since the meter was made, in the order of [`Unit::ALL`].
    pub const fn units(&self) -> [u64; Unit::COUNT] {
        self.units
    }
}

impl Meter for CpuMeter {
    #[inline]
    fn work(&mut self, unit: Unit, n: u64) {
        self.picos += self.prices.picos[unit as usize] * n;
        self.units[unit as usize] += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_adds_up_at_the_profile_prices() {
        let mut picos = [0; Unit::COUNT];
        picos[Unit::Probe as usize] = 80_000;
        picos[Unit::CopyByte as usize] = 50;
        let mut m = CpuMeter::new(CpuPrices::from_picos(picos));
        m.work(Unit::Probe, 2);
        m.work(Unit::CopyByte, 30);
        assert_eq!(m.take(), Duration::from_nanos(162));
        assert_eq!(m.take(), Duration::ZERO);
        assert_eq!(m.copied_bytes(), 30);
    }

    #[test]
    fn units_index_their_prices() {
        for (i, unit) in Unit::ALL.into_iter().enumerate() {
            assert_eq!(unit as usize, i);
        }
    }
}
