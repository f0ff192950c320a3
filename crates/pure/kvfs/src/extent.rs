// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs of blocks.

/// Blocks in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// The first block, by its number on the device.
    pub start: u64,
    /// How many; never 0.
    pub blocks: u64,
}

impl Extent {
    /// The block behind it.
    pub fn end(&self) -> u64 {
        self.start + self.blocks
    }
}

/// The blocks of a file, in the order of its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents(Vec<Extent>);

impl Extents {
    /// How many blocks.
    pub fn blocks(&self) -> u64 {
        self.0.iter().map(|extent| extent.blocks).sum()
    }

    /// In their order.
    pub fn iter(&self) -> impl Iterator<Item = Extent> {
        self.0.iter().copied()
    }

    /// How many runs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These blocks come next.
    pub fn push(&mut self, extent: Extent) {
        match self.0.last_mut() {
            Some(last) if last.end() == extent.start => last.blocks += extent.blocks,
            _ => self.0.push(extent),
        }
    }

    /// The blocks from one on: where block `n` of the file lies, and all behind it.
    pub fn from(&self, n: u64) -> impl Iterator<Item = Extent> {
        let mut skip = n;
        self.iter().filter_map(move |extent| {
            let skipped = skip.min(extent.blocks);
            skip -= skipped;
            let rest = Extent { start: extent.start + skipped, blocks: extent.blocks - skipped };
            (rest.blocks > 0).then_some(rest)
        })
    }

    /// Where block `n` lies, and how many follow it in a row.
    pub fn run(&self, n: u64) -> Option<Extent> {
        self.from(n).next()
    }

    /// Keeps `blocks` and returns the others.
    pub fn cut(&mut self, blocks: u64) -> Vec<Extent> {
        let cut: Vec<Extent> = self.from(blocks).collect();
        let mut left = blocks;
        for extent in &mut self.0 {
            extent.blocks = extent.blocks.min(left);
            left -= extent.blocks;
        }
        self.0.retain(|extent| extent.blocks > 0);
        assert_eq!(self.blocks() + left, blocks, "so many are left, if there were so many");
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(all: &[(u64, u64)]) -> Extents {
        let mut extents = Extents::default();
        all.iter().for_each(|&(start, blocks)| extents.push(Extent { start, blocks }));
        extents
    }

    #[test]
    fn neighbours_become_one_run() {
        let all = extents(&[(10, 2), (12, 3), (20, 1)]);
        assert_eq!((all.len(), all.blocks()), (2, 6));
        assert_eq!(all.run(4), Some(Extent { start: 14, blocks: 1 }));
        assert_eq!(all.run(5), Some(Extent { start: 20, blocks: 1 }));
        assert_eq!(all.run(6), None);
    }

    #[test]
    fn a_cut_returns_what_is_behind_it() {
        let mut all = extents(&[(10, 5), (20, 4)]);
        assert_eq!(all.cut(6), [Extent { start: 21, blocks: 3 }]);
        assert_eq!(all, extents(&[(10, 5), (20, 1)]));
        assert_eq!(all.cut(9), []);
        assert_eq!(all.cut(0), [Extent { start: 10, blocks: 5 }, Extent { start: 20, blocks: 1 }]);
        assert!(all.is_empty());
    }
}
