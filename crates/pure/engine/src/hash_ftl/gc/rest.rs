//! When collections rest. While nothing is written they go on only as long as they gain: copying a record changes a section,
//! and where each change becomes a page, collections of sections take back no more than collections of records have spent.

/// Collections in a row that leave no more segments free, after which the next waits for a write.
const FRUITLESS_MAX: u32 = 8;

/// What collections have gained since the last write.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    version: u64,
    most_free: u32,
    fruitless: u32,
}

impl Rest {
    /// A collection has ended, before the write of that version, and so many segments are free.
    pub fn ended(&mut self, version: u64, free: u32) {
        if version != self.version || free > self.most_free {
            *self = Self { version, most_free: free, fruitless: 0 };
        } else {
            self.fruitless += 1;
        }
    }

    /// Whether the next collection waits for the write of that version.
    pub fn is_resting(&self, version: u64) -> bool {
        version == self.version && self.fruitless >= FRUITLESS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_rest_without_gain_until_something_is_written() {
        let mut rest = Rest::default();
        (0..FRUITLESS_MAX).for_each(|_| rest.ended(5, 12));
        assert!(!rest.is_resting(5), "the first of them set the mark");
        rest.ended(5, 13);
        (1..FRUITLESS_MAX).for_each(|_| rest.ended(5, 13));
        assert!(!rest.is_resting(5));
        rest.ended(5, 12);
        assert!(rest.is_resting(5) && !rest.is_resting(6));
        rest.ended(6, 12);
        assert!(!rest.is_resting(6) && !rest.is_resting(5));
    }
}
