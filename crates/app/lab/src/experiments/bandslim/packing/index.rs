// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the index costs: pages of sorted tables for each pair, from the LSM store itself.

use saker_engine::{Condition, Context, Engine, Job, LsmConfig, LsmStore};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_segment_store::{Geometry, PageBuffer, Step};
use saker_sim::{Class, Free, Seed};

const OWNER: u16 = 1;

/// Bytes of tables programmed for each pair with a 4-byte key, when `pairs` unique pairs in random order fill so many
/// memtables.
pub fn bytes_per_pair(pairs: u64, memtables: u64, seed: u64) -> f64 {
    let geometry = Geometry { page_bytes: 16_384, oob_bytes: 64, segment_pages: 64, segments: 256 };
    let mut flash = Flash::power_on(
        MemCells::new(Shape { geometry, channels: 4, luns: 8 }),
        PageBuffer::heap(64, geometry.page_bytes, geometry.oob_bytes),
        None,
        FaultPlan::default(),
    );
    flash.pool_mut().set_quota(OWNER, geometry.segments);
    let write_buffer_size = (pairs * 72 / memtables).max(1 << 12);
    let defaults = LsmConfig::new(OWNER, &geometry, geometry.segments, true);
    let config = LsmConfig { write_buffer_size, max_bytes_for_level_base: 2 * write_buffer_size, ..defaults };
    let mut store = LsmStore::new(config, &flash.view(OWNER, Class::Foreground));
    let mix = Seed(seed).0 | 1;
    for n in 0..pairs {
        let key = (n as u32).wrapping_mul(0x9E37_79B1).wrapping_add(mix as u32).to_be_bytes();
        put(&mut store, &mut flash, &key);
    }
    let pages = store.lsm_stats().table_pages_written;
    pages as f64 * f64::from(geometry.page_bytes) / pairs as f64
}

fn put(store: &mut LsmStore, flash: &mut Flash, key: &[u8]) {
    let mut stored = false;
    while !stored {
        let value = &mut &[0u8; 8][..];
        let view = &mut flash.view(OWNER, Class::Foreground);
        stored = match store.store(key, value, Condition::Always, &mut Context::new(view, &mut Free)) {
            Step::Done(result) => {
                assert!(result.is_ok(), "the flash is large enough");
                true
            }
            Step::Need(_) | Step::Blocked(_) => false,
        };
        if !stored || store.job(&flash.view(OWNER, Class::Foreground)).is_some() {
            let finished = flash.finished();
            let _ = store.background(
                Job::UPKEEP,
                finished,
                &mut Context::new(&mut flash.view(OWNER, Class::Background), &mut Free),
            );
        }
        while let Some((_, done)) = flash.take_completion() {
            store.completed(&done, &mut flash.view(OWNER, Class::Background));
        }
    }
}
