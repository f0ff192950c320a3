// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long the records are that live: what a segment can lose at its end follows from the longest of them, and the
//! capacity from that. What was deleted or replaced does not count any more.

/// Classes of lengths: sixteen between a power of two and the next.
const CLASSES: usize = 464;

/// Records of a class.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    records: u64,
    /// The longest one since the class was empty, in bytes.
    longest: u32,
}

/// Records by length, those that are longer than a floor.
#[derive(Clone, Debug)]
pub struct Lengths {
    floor: u32,
    /// The longest class that is not empty, if any is not.
    top: usize,
    classes: Vec<Class>,
}

/// The class of a length: its power of two and the four bits behind that.
#[inline]
fn class_of(bytes: u32) -> usize {
    let shift = (u32::BITS - bytes.leading_zeros()).saturating_sub(5);
    ((shift as usize) << 4) + (bytes >> shift) as usize
}

impl Lengths {
    /// No records. None is taken for shorter than `floor` bytes.
    pub fn new(floor: u32) -> Self {
        Self { floor, top: 0, classes: vec![Class::default(); CLASSES] }
    }

    /// The length below which none is looked at, in bytes.
    #[inline]
    pub fn floor(&self) -> u32 {
        self.floor
    }

    /// Bytes of the longest record that lives: never less, and more by a sixteenth at most.
    #[inline]
    pub fn longest(&self) -> u32 {
        self.floor.max(self.classes[self.top].longest)
    }

    /// A record lives from now on.
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        if bytes > self.floor {
            self.add_long(bytes);
        }
    }

    #[inline]
    fn add_long(&mut self, bytes: u32) {
        let at = class_of(bytes);
        let class = &mut self.classes[at];
        *class = Class { records: class.records + 1, longest: class.longest.max(bytes) };
        self.top = self.top.max(at);
    }

    /// A record of that length does not live any more. Panics if none of its class did.
    #[inline]
    pub fn sub(&mut self, bytes: u32) {
        if bytes > self.floor {
            self.sub_long(bytes);
        }
    }

    #[inline]
    fn sub_long(&mut self, bytes: u32) {
        let class = &mut self.classes[class_of(bytes)];
        assert!(class.records > 0, "more records of a length died than lived");
        class.records -= 1;
        if class.records > 0 {
            return;
        }
        class.longest = 0;
        while self.top > 0 && self.classes[self.top].records == 0 {
            self.top -= 1;
        }
    }

    /// Compares it with the records that live.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, lengths: impl Iterator<Item = u32>) -> Result<(), String> {
        let mut found = Self::new(self.floor);
        lengths.for_each(|bytes| found.add(bytes));
        for (n, (noted, found)) in self.classes.iter().zip(&found.classes).enumerate() {
            if noted.records != found.records || noted.longest < found.longest {
                return Err(format!("records of class {n}: {found:?}, noted: {noted:?}"));
            }
        }
        if self.top == found.top { Ok(()) } else { Err(format!("class {} is the longest", found.top)) }
    }
}

/// The most pairs of that length whose records the capacity for so many holds: it falls as they become more.
pub fn most_pairs(record_bytes: u64, capacity_for: impl Fn(u64) -> u64) -> u64 {
    let (mut fit, mut too_many) = (0, capacity_for(0) / record_bytes.max(1) + 1);
    while too_many - fit > 1 {
        let n = fit + (too_many - fit) / 2;
        if n * record_bytes <= capacity_for(n) { fit = n } else { too_many = n }
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_each_other() {
        for bytes in 1..70_000 {
            let step = class_of(bytes + 1) - class_of(bytes);
            assert!(step <= 1, "{bytes}");
        }
        assert_eq!((class_of(16), class_of(31), class_of(32), class_of(33)), (16, 31, 32, 32));
        assert_eq!(class_of(u32::MAX) + 1, CLASSES);
    }

    #[test]
    fn the_longest_is_that_of_what_lives() {
        let mut lengths = Lengths::new(296);
        assert_eq!(lengths.longest(), 296);
        [300, 100, 5000, 2 << 20, 5001].into_iter().for_each(|n| lengths.add(n));
        assert_eq!(lengths.longest(), 2 << 20);
        lengths.sub(2 << 20);
        assert_eq!(lengths.longest(), 5001);
        lengths.sub(5001);
        assert_eq!(lengths.longest(), 5001, "5000 is of its class");
        lengths.sub(5000);
        assert_eq!(lengths.longest(), 300);
        lengths.sub(100);
        lengths.sub(300);
        assert_eq!(lengths.longest(), 296);
    }

    #[test]
    fn lengths_agree_with_a_list() {
        let (mut lengths, mut all, mut rng) = (Lengths::new(100), Vec::new(), saker_sim::Seed(7).rng());
        for _ in 0..20_000 {
            if all.is_empty() || rng.below(100) < 50 {
                let bytes = 1 + (rng.below(1 << 21) >> rng.below(20)) as u32;
                lengths.add(bytes);
                all.push(bytes);
            } else {
                let gone: u32 = all.swap_remove(rng.below(all.len() as u64) as usize);
                lengths.sub(gone);
            }
            let longest = all.iter().copied().max().unwrap_or(0).max(100);
            let known = lengths.longest();
            assert_eq!(lengths.check(all.iter().copied()), Ok(()));
            assert!(lengths.check(all.iter().copied().chain([4096])).is_err(), "one more");
            assert!(longest <= known && known - longest <= longest / 16, "{longest} {known}");
        }
    }
}
