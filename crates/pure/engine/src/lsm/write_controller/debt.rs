// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes that compactions owe (`VersionStorageInfo::EstimateCompactionBytesNeeded`).

/// What compactions read until no level has more than it should, by the bytes of each level. `level0_is_due`: level 0 is to be merged into
/// level 1. `most`: bytes that a level behind level 0 should have at most.
pub fn needed_bytes(levels: &[u64], level0_is_due: bool, most: impl Fn(usize) -> u64) -> u64 {
    // Lines 3374 to 3381: level 0 is merged with all of level 1, and goes there.
    let mut arriving = if level0_is_due { levels[0] } else { 0 };
    let mut needed = if level0_is_due { levels[0] + levels[1] } else { 0 };
    // Lines 3386 to 3431. Nothing is merged out of the deepest level.
    for level in 1..levels.len() - 1 {
        let bytes = levels[level] + std::mem::take(&mut arriving);
        let Some(excess) = bytes.checked_sub(most(level)).filter(|excess| *excess > 0) else { continue };
        arriving = excess;
        // It meets its share of the next level; where that is empty it is moved, which costs nothing.
        let next = levels[level + 1];
        if next > 0 {
            needed += excess + (u128::from(excess) * u128::from(next) / u128::from(bytes)) as u64;
        }
    }
    needed
}
