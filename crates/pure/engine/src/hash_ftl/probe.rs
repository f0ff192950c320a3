// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a key to its hash indexes.

use super::table::levels::Levels;
use crate::mix::{MixedKey, Mixer};

/// Hash indexes a key may be at. Longer chains do not arise below the fill that capacity allows.
const PROBES_MAX: u64 = 4096;

/// The hash of a store.
#[derive(Clone, Debug)]
pub struct Probe {
    mixer: Mixer,
    slots: u64,
    doubling: Option<Doubling>,
}

/// Of a table that doubles.
#[derive(Clone, Copy, Debug)]
struct Doubling {
    levels: Levels,
    section_slots: u64,
}

impl Doubling {
    /// A home's place in its section.
    fn offset(&self, home: u64) -> u64 {
        home % self.section_slots
    }

    fn finest(&self, home: u64) -> u32 {
        (home / self.section_slots) as u32
    }

    fn slot(&self, home: u64, n: u64) -> u64 {
        self.slot_at(home, (self.offset(home) + n * (n + 1) / 2) % self.section_slots)
    }

    fn slot_at(&self, home: u64, offset: u64) -> u64 {
        let id = self.levels.section(self.levels.level(), self.finest(home));
        u64::from(id) * self.section_slots + offset
    }
}

impl Probe {
    /// The hash of that seed over so many hash indexes.
    pub fn new(seed: u64, slots: u64) -> Self {
        Self { mixer: Mixer::new(seed), slots, doubling: None }
    }

    /// The hash of that seed over a table that doubles.
    pub fn doubling(seed: u64, levels: Levels, section_slots: u32) -> Self {
        let section_slots = u64::from(section_slots);
        let slots = u64::from(levels.sections_last()) * section_slots;
        Self { mixer: Mixer::new(seed), slots, doubling: Some(Doubling { levels, section_slots }) }
    }

    /// The sizes of a table that doubles.
    pub fn levels(&self) -> Option<Levels> {
        self.doubling.map(|d| d.levels)
    }

    /// The table has doubled, or was found at that level.
    pub fn set_level(&mut self, level: u32) {
        if let Some(doubling) = &mut self.doubling {
            doubling.levels = doubling.levels.at(level);
        }
    }

    /// How many homes there are.
    pub fn homes(&self) -> u64 {
        self.slots
    }

    /// Hash indexes a key may be at.
    pub fn probes_max(&self) -> u64 {
        self.doubling.map_or(PROBES_MAX, |d| d.section_slots)
    }

    /// A key's home: the hash index that is looked at first, or would be in the largest table, whatever the table's size is now.
    /// `None` if the key is empty or longer than 16 bytes.
    #[inline]
    pub fn home(&self, key: &[u8]) -> Option<u64> {
        let place = self.mixer.place(key)?;
        let bytes = u64::from(place.key_bytes());
        let hash = match place.mixed() {
            MixedKey::Short(k) => spread(k ^ bytes),
            MixedKey::Long([a, b]) => spread(a ^ spread(b ^ bytes)),
        };
        let of = |hash: u64, n: u64| ((u128::from(hash) * u128::from(n)) >> 64) as u64;
        Some(match self.doubling {
            None => of(hash, self.slots),
            Some(d) => {
                let finest = of(hash, u64::from(d.levels.sections_last()));
                finest * d.section_slots + of(spread(hash), d.section_slots)
            }
        })
    }

    /// The `n`th hash index after a home: quadratic, by triangular numbers. In a table that doubles it stays in the section.
    #[inline]
    pub fn slot(&self, home: u64, n: u64) -> u64 {
        if let Some(doubling) = &self.doubling {
            return doubling.slot(home, n);
        }
        let at = home + n * (n + 1) / 2;
        if at < self.slots { at } else { at % self.slots }
    }

    /// The hash index that a record has now, given the one that it was written with, and its key's home.
    #[inline]
    pub fn now(&self, written: u64, home: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let Some(doubling) = &self.doubling else { return Some(written) };
        Some(doubling.slot_at(home()?, written % doubling.section_slots))
    }

    /// What an entry keeps of a key's hash.
    #[inline]
    pub fn tag(&self, home: u64) -> u8 {
        self.doubling.map_or(0, |d| d.levels.tag(d.finest(home)))
    }

    /// How many indexes were passed on the way from `home` to `slot`.
    pub fn distance(&self, home: u64, slot: u64) -> Option<u64> {
        (0..self.probes_max()).find(|n| self.slot(home, *n) == slot)
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

    #[test]
    fn a_key_stays_at_its_place_in_a_section_when_the_table_doubles() {
        let mut probe = Probe::doubling(7, Levels::up_to(8), 128);
        let levels = probe.levels().expect("it doubles");
        for key in 0..200u64 {
            let home = probe.home(&key.to_be_bytes()).expect("a key");
            let mut ids = Vec::new();
            for level in 0..=levels.last() {
                probe.set_level(level);
                assert_eq!(probe.home(&key.to_be_bytes()), Some(home));
                let slots: Vec<_> = (0..128).map(|n| probe.slot(home, n)).collect();
                let mut offsets: Vec<_> = slots.iter().map(|slot| slot % 128).collect();
                assert!(slots.iter().all(|slot| slot / 128 == slots[0] / 128), "one section");
                assert_eq!(offsets[..3], [home % 128, (home + 1) % 128, (home + 3) % 128]);
                offsets.sort_unstable();
                assert_eq!(offsets, (0..128).collect::<Vec<_>>(), "all of it");
                ids.push((slots[0] / 128) as u32);
                assert_eq!(probe.now(5 * 128 + 9, || Some(home)), Some(slots[0] / 128 * 128 + 9));
            }
            for pair in ids.windows(2) {
                assert_eq!(levels.parent(pair[1]), Some(pair[0]));
            }
        }
    }
}
