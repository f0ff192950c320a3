// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks that are damaged when a merge that is computed elsewhere meets them.

use super::{key, late, rig};
use crate::ordered::bench::{Bench as Rig, shape};
use saker_engine::{Condition, KvError, LsmStore};
use saker_flash::nand::{Cell, Cells};
use saker_segment_store::PageAddr;

/// A block that is not as it was written ends the merge that meets it, and no entry of it is lost silently.
#[test]
fn a_damaged_block_is_found_where_it_is_merged() {
    for at in [0, 9, 22, 40, 100] {
        let mut bench = rig(late, u32::MAX);
        for n in 0..60 {
            bench.put(&key(n), &[7; 70], Condition::Always).expect("there is room");
        }
        damage_tables(&mut bench, at);
        let refused = (60..1000).find_map(|n| bench.put(&key(n % 300), &[8; 70], Condition::Always).err());
        assert_eq!(refused, Some(KvError::Corrupt), "byte {at} of blocks");
    }
}

/// Changes that byte of the first block of each page of pairs.
fn damage_tables(bench: &mut Rig<LsmStore>, at: usize) {
    const PAIRS: u8 = 3;
    let media = bench.flash.media_mut().get_mut::<saker_flash::MemCells>().expect("it is in memory");
    let g = shape().geometry;
    let mut damaged = 0;
    for page in (0..u64::from(g.segments) * u64::from(g.segment_pages)).map(PageAddr) {
        let Cell::Programmed { data, oob } = media.cell(page) else { continue };
        if data[23] == PAIRS {
            let (mut data, oob) = (data.to_vec(), oob.to_vec());
            data[at] ^= 1;
            media.program(page, &data, &oob).expect("it is in memory");
            damaged += 1;
        }
    }
    assert!(damaged > 0, "tables were written");
}
