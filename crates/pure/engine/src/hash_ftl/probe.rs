//! From a key to its hash indexes.

use crate::index::{Mixer, Place};

/// Hash indexes a key may be at. Longer chains do not arise below the fill that capacity allows.
pub const PROBES_MAX: u64 = 4096;

/// The hash of a store.
#[derive(Clone, Debug)]
pub struct Probe {
    mixer: Mixer,
    slots: u64,
}

impl Probe {
    /// The hash of that seed over so many hash indexes.
    pub fn new(seed: u64, slots: u64) -> Self {
        Self { mixer: Mixer::new(seed), slots }
    }

    /// The hash index that is looked at first; `None` if the key is empty or longer than 16 bytes.
    #[inline]
    pub fn home(&self, key: &[u8]) -> Option<u64> {
        let hash = match self.mixer.place(key)? {
            Place::Short(k, bytes) => spread(k ^ u64::from(bytes)),
            Place::Long((a, b), bytes) => spread(a ^ spread(b ^ u64::from(bytes))),
        };
        Some(((u128::from(hash) * u128::from(self.slots)) >> 64) as u64)
    }

    /// The `n`th hash index after a home: quadratic, by triangular numbers.
    #[inline]
    pub fn slot(&self, home: u64, n: u64) -> u64 {
        let at = home + n * (n + 1) / 2;
        if at < self.slots { at } else { at % self.slots }
    }

    /// How many indexes were passed on the way from `home` to `slot`.
    pub fn distance(&self, home: u64, slot: u64) -> Option<u64> {
        (0..PROBES_MAX).find(|n| self.slot(home, *n) == slot)
    }
}

#[inline]
fn spread(n: u64) -> u64 {
    let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n ^ (n >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_triangular_and_wrap() {
        let probe = Probe::new(1, 100);
        let slots: Vec<_> = (0..6).map(|n| probe.slot(95, n)).collect();
        assert_eq!(slots, [95, 96, 98, 1, 5, 10]);
        assert_eq!(probe.distance(95, 5), Some(4));
        assert_eq!(Probe::new(1, 1 << 40).distance(5, 4), None);
    }

    #[test]
    fn homes_are_even() {
        let probe = Probe::new(7, 1000);
        let mut found = [0u32; 10];
        for n in 0..10_000u64 {
            found[probe.home(&n.to_be_bytes()).expect("a key") as usize / 100] += 1;
        }
        // 1000 each; four standard deviations are 120.
        assert!(found.iter().all(|n| n.abs_diff(1000) < 120), "{found:?}");
        assert_eq!(probe.home(&[]), None);
        assert_eq!(probe.home(&[0; 17]), None);
    }
}
