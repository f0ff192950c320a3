// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings by name. Names and meaning are those of RocksDB's options where it has them (its `include/rocksdb/options.h` and
//! `advanced_options.h`).

use super::options::{LsmConfig, OWN_BLOCK_BYTES, table_pages};
use super::pairs::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, PAGE_BYTES_MIN};
use crate::ordered::AUTO;
use saker_engine_api::settings::{BitField, Idle, Phase, Setting, Settings, Values};
use saker_segment_store::Geometry;
use saker_value_log::packing::Packing;

const U32: u64 = u32::MAX as u64;
/// More than any device holds.
pub(super) const BYTES: u64 = 1 << 48;

/// Fewer pages of a table, and its description, which takes whole pages too, would be a large part of it.
pub(super) const PAGES_MIN: u32 = 4;

/// What a profile says unless a user does: bytes that a core copies while
/// [`PRICED_BYTES`](saker_value_log::packing::PRICED_BYTES) are programmed.
pub const PROGRAM_PRICE: &str = "program_price";

/// Where values go in the value log.
pub const PACKING: &str = "packing";

/// No policy, and then the policies: images have these numbers.
const PACKINGS: [&str; 1 + Packing::ALL.len()] = {
    let mut words = ["none"; 1 + Packing::ALL.len()];
    let mut n = 0;
    while n < Packing::ALL.len() {
        words[n + 1] = Packing::ALL[n].name();
        n += 1;
    }
    words
};

/// The namespace's word has these bits for it in all images.
const PACKING_PLACE: BitField = BitField { shift: 8, bits: 4 };

/// Values of at least so many bytes go to the value log.
pub const MIN_BLOB_SIZE: &str = "min_blob_size";
/// The same of the main tree of a hybrid, of which this namespace is the device's tree: kept here, used there.
pub const MAIN_MIN_BLOB_SIZE: &str = "main_min_blob_size";
/// How long blocks of tables are.
const BLOCK_SIZE: &str = "block_size";

/// What all values are longer or shorter than, and sizes between; and that the store decides: images have these numbers.
const BLOB_SIZES: [&str; 16] = [
    "0",
    "16",
    "32",
    "64",
    "128",
    "256",
    "512",
    "1024",
    "2048",
    "4096",
    "8192",
    "16384",
    "32768",
    "65536",
    "unlimited",
    "auto",
];
const BLOB_SIZE_MIN: u32 = 16;
/// The places of the last two words.
const UNLIMITED: u64 = BLOB_SIZES.len() as u64 - 2;
const AUTOMATIC: u64 = BLOB_SIZES.len() as u64 - 1;
const BLOB_SIZE_PLACE: BitField = BitField { shift: 12, bits: 4 };
const MAIN_BLOB_SIZE_PLACE: BitField = BitField { shift: 20, bits: 4 };

/// The engine's own, and other lengths: images have these numbers.
const BLOCK_SIZES: [&str; 8] = ["own", "512", "1024", "2048", "4096", "8192", "16384", "32768"];
const BLOCK_SIZE_PLACE: BitField = BitField { shift: 16, bits: 4 };
const _: () = {
    assert!(BLOCK_BYTES_MIN << (BLOCK_SIZES.len() - 2) <= BLOCK_BYTES_MAX, "the longest is the last");
    assert!(OWN_BLOCK_BYTES >= BLOCK_BYTES_MIN && OWN_BLOCK_BYTES <= BLOCK_BYTES_MAX);
};

/// Limits that change while a store is open, since what may be stored does not depend on them.
const WRITE_BUFFER_LIMIT: &str = "write_buffer_limit";
const THREADS_LIMIT: &str = "compaction_threads_limit";
const LEVEL_BASE_LIMIT: &str = "level_base_limit";

const fn number(name: &'static str, range: (u64, u64), default: &'static str, help: &'static str) -> Setting {
    Setting { name, values: Values::Number(range.0, range.1), phase: Phase::AtOpen, default, help }.checked()
}

/// One that room does not depend on: neither what may be stored nor what is kept back for merges.
const fn live(name: &'static str, range: (u64, u64), default: &'static str, help: &'static str) -> Setting {
    Setting { phase: Phase::Live, ..number(name, range, default, help) }.checked()
}

/// All of them.
pub static SETTINGS: [Setting; 25] = [
    number("write_buffer_size", (1 << 10, 1 << 32), "S/64, 16KiB to 64MiB", "bytes that fill a memtable"),
    number("max_write_buffer_number", (2, 64), "2", "memtables, with the one that is written"),
    number("compaction_threads", (1, 64), "1", "compactions at once"),
    number(
        "compaction_readahead_size",
        (0, 1 << 30),
        "0",
        "bytes that a compaction reads at once of each of its tables; 0: a block's pages",
    ),
    live("level0_file_num_compaction_trigger", (1, U32), "4", "tables in level 0 that start a compaction"),
    live("level0_slowdown_writes_trigger", (1, U32), "20", "tables in level 0 that slow writes down"),
    live("level0_stop_writes_trigger", (1, U32), "36", "tables in level 0 that stop writes"),
    live("soft_pending_compaction_bytes_limit", (1, BYTES), "S/2", "compaction debt that slows writes down"),
    live("hard_pending_compaction_bytes_limit", (1, BYTES), "S", "compaction debt that stops writes"),
    live(
        "delayed_write_rate",
        (1, BYTES),
        "16MiB",
        "bytes a second at which writes that are slowed down begin",
    ),
    Setting {
        name: "slowdown",
        values: Values::Switch,
        phase: Phase::Live,
        default: "on",
        help: "whether writes slow down before they stop; off: what would slow them down does nothing",
    },
    number(
        "target_file_size_base",
        (1 << 10, BYTES),
        "half a memtable",
        "bytes of a table, at most half a superblock",
    ),
    live(
        "max_compaction_bytes",
        (0, BYTES),
        "0",
        "bytes that a compaction should have at most; 0: 25 times target_file_size_base",
    ),
    number("max_bytes_for_level_base", (1 << 10, BYTES), "two memtables", "bytes of level 1"),
    Setting {
        name: MIN_BLOB_SIZE,
        values: Values::Words(&BLOB_SIZES),
        phase: Phase::Stored(BLOB_SIZE_PLACE),
        default: "0",
        help: "bytes from which on values go to the value log; shorter ones stay in the tree; auto: by length, puts and reads",
    }
    .checked(),
    Setting {
        name: MAIN_MIN_BLOB_SIZE,
        values: Values::Words(&BLOB_SIZES),
        phase: Phase::Stored(MAIN_BLOB_SIZE_PLACE),
        default: "0",
        help: "min_blob_size of a hybrid's main tree, kept here for it; does nothing to this tree",
    }
    .checked(),
    Setting {
        name: BLOCK_SIZE,
        values: Values::Words(&BLOCK_SIZES),
        phase: Phase::Stored(BLOCK_SIZE_PLACE),
        default: "own",
        help: "bytes of tables' blocks, at most a page; own: 4096, or a page if that is no multiple of 4096",
    }
    .checked(),
    live("max_bytes_for_level_multiplier", (2, 1000), "10", "growth from level to level"),
    live("bloom_bits_per_key", (0, 64), "10", "bits of the Bloom filters for each key"),
    number("pinned_levels", (0, 7), "0", "levels, from 0 on, whose tables stay in memory"),
    Setting {
        name: PACKING,
        values: Values::Words(&PACKINGS),
        phase: Phase::Kept(PACKING_PLACE),
        default: "none",
        help: "where values go in the value log",
    }
    .checked(),
    live(PROGRAM_PRICE, (0, U32), "the profile's", "for `auto-time`: bytes copied while 1024 are programmed"),
    live(
        WRITE_BUFFER_LIMIT,
        (1 << 10, 1 << 32),
        "4GiB",
        "bytes that fill a memtable, if fewer than write_buffer_size",
    ),
    live(THREADS_LIMIT, (1, 64), "64", "compactions at once, if fewer than compaction_threads"),
    live(
        LEVEL_BASE_LIMIT,
        (1 << 10, BYTES),
        "none",
        "bytes of level 1, if fewer than max_bytes_for_level_base",
    ),
];

/// The packing policy that was asked for.
pub fn packing(settings: &Settings) -> Option<Packing> {
    settings.get(PACKING)?.checked_sub(1).and_then(|n| Packing::ALL.get(n as usize)).copied()
}

/// What asks for a policy.
pub fn asking_for(policy: Packing) -> Settings {
    let at = Packing::ALL.iter().position(|known| *known == policy).map_or(0, |at| at as u64 + 1);
    Settings::told(&[(PACKING, at)])
}

/// From how many bytes on values go to the value log, by what was asked for.
fn min_blob_size(choice: u64) -> u32 {
    match choice.checked_sub(1) {
        None => 0,
        Some(_) if choice == UNLIMITED => u32::MAX,
        Some(_) if choice == AUTOMATIC => AUTO,
        Some(n) => BLOB_SIZE_MIN << n,
    }
}

/// Bytes of a block, if they were asked for.
fn block_size(choice: u64) -> Option<u32> {
    choice.checked_sub(1).map(|n| BLOCK_BYTES_MIN << n)
}

/// A store's settings by name, of pages of so many bytes.
pub fn told(c: &LsmConfig, page_bytes: u32) -> Settings {
    let blob = (0..BLOB_SIZES.len()).position(|choice| min_blob_size(choice as u64) == c.min_blob_size);
    let block = c.block_size.and_then(|bytes| BLOCK_SIZES.iter().position(|word| word.parse() == Ok(bytes)));
    let packing = c.packing.map_or(Settings::NONE, asking_for).get(PACKING);
    let place = |at: Option<usize>| at.unwrap_or(0) as u64;
    Settings::told(&[
        ("write_buffer_size", c.write_buffer_size),
        ("max_write_buffer_number", c.max_write_buffer_number.into()),
        ("compaction_threads", c.compaction_threads.into()),
        ("compaction_readahead_size", c.compaction_readahead_size),
        ("level0_file_num_compaction_trigger", c.level0_file_num_compaction_trigger.into()),
        ("level0_slowdown_writes_trigger", c.level0_slowdown_writes_trigger.into()),
        ("level0_stop_writes_trigger", c.level0_stop_writes_trigger.into()),
        ("soft_pending_compaction_bytes_limit", c.soft_pending_compaction_bytes_limit),
        ("hard_pending_compaction_bytes_limit", c.hard_pending_compaction_bytes_limit),
        ("delayed_write_rate", c.delayed_write_rate),
        ("slowdown", c.slowdown.into()),
        ("target_file_size_base", u64::from(c.target_file_pages) * u64::from(page_bytes)),
        ("max_compaction_bytes", c.max_compaction_bytes),
        ("max_bytes_for_level_base", c.max_bytes_for_level_base),
        ("max_bytes_for_level_multiplier", c.max_bytes_for_level_multiplier),
        (MIN_BLOB_SIZE, place(blob)),
        (MAIN_MIN_BLOB_SIZE, c.main_min_blob_size.into()),
        (BLOCK_SIZE, place(block)),
        ("bloom_bits_per_key", c.bloom_bits_per_key.into()),
        ("pinned_levels", c.pinned_levels.into()),
        (PACKING, packing.unwrap_or(0)),
        (PROGRAM_PRICE, c.program_price.into()),
        (WRITE_BUFFER_LIMIT, c.limits.write_buffer),
        (THREADS_LIMIT, c.limits.compaction_threads.into()),
        (LEVEL_BASE_LIMIT, c.limits.level_base),
    ])
}

/// The settings with those that may change while a store is open as `now` has them.
pub fn retuned(config: LsmConfig, now: &LsmConfig) -> LsmConfig {
    LsmConfig {
        level0_file_num_compaction_trigger: now.level0_file_num_compaction_trigger,
        level0_slowdown_writes_trigger: now.level0_slowdown_writes_trigger,
        level0_stop_writes_trigger: now.level0_stop_writes_trigger,
        soft_pending_compaction_bytes_limit: now.soft_pending_compaction_bytes_limit,
        hard_pending_compaction_bytes_limit: now.hard_pending_compaction_bytes_limit,
        delayed_write_rate: now.delayed_write_rate,
        slowdown: now.slowdown,
        max_compaction_bytes: now.max_compaction_bytes,
        max_bytes_for_level_multiplier: now.max_bytes_for_level_multiplier,
        bloom_bits_per_key: now.bloom_bits_per_key,
        program_price: now.program_price,
        limits: now.limits,
        ..config
    }
}

/// Settings that do nothing beside the others.
pub fn idle(settings: &Settings) -> Vec<Idle> {
    let is_priced = settings.get(PROGRAM_PRICE).is_some() && packing(settings) != Some(Packing::AutoTime);
    let why = "only packing=auto-time has a price of programs";
    is_priced
        .then_some(Idle { name: PROGRAM_PRICE, why, todo: "add packing=auto-time, or leave it out" })
        .into_iter()
        .collect()
}

/// Whether tables of pages of so many bytes can be as was asked for.
///
/// # Errors
/// Why not, in words.
pub fn fits(page_bytes: u32, settings: &Settings) -> Result<(), String> {
    if let Some(bytes) = settings.get(BLOCK_SIZE).and_then(block_size)
        && bytes > page_bytes
    {
        return Err(format!("blocks of {bytes} bytes do not fit pages of {page_bytes}"));
    }
    let is_packed = [MIN_BLOB_SIZE, BLOCK_SIZE].iter().any(|name| settings.get(name).is_some_and(|n| n > 0));
    if is_packed && page_bytes < PAGE_BYTES_MIN {
        return Err(format!("pages of {page_bytes} bytes are too short for values in the tree"));
    }
    Ok(())
}

/// A store's settings with what was asked for. Pinned levels go without filters unless both are asked for (PinK, ATC'20, section
/// 3.2), and triggers are raised to those before them, as RocksDB does, since writes would otherwise stop before anything is
/// due.
pub fn apply(settings: &Settings, mut config: LsmConfig, geometry: &Geometry) -> LsmConfig {
    let c = &mut config;
    for (name, n) in settings.iter() {
        match name {
            "write_buffer_size" => c.write_buffer_size = n,
            "max_write_buffer_number" => c.max_write_buffer_number = n as u32,
            "compaction_threads" => c.compaction_threads = n as u32,
            "compaction_readahead_size" => c.compaction_readahead_size = n,
            "level0_file_num_compaction_trigger" => c.level0_file_num_compaction_trigger = n as u32,
            "level0_slowdown_writes_trigger" => c.level0_slowdown_writes_trigger = n as u32,
            "level0_stop_writes_trigger" => c.level0_stop_writes_trigger = n as u32,
            "soft_pending_compaction_bytes_limit" => c.soft_pending_compaction_bytes_limit = n,
            "hard_pending_compaction_bytes_limit" => c.hard_pending_compaction_bytes_limit = n,
            "delayed_write_rate" => c.delayed_write_rate = n,
            "slowdown" => c.slowdown = n == 1,
            "target_file_size_base" => c.target_file_pages = table_pages(geometry, n).max(PAGES_MIN),
            "max_compaction_bytes" => c.max_compaction_bytes = n,
            "max_bytes_for_level_base" => c.max_bytes_for_level_base = n,
            "max_bytes_for_level_multiplier" => c.max_bytes_for_level_multiplier = n,
            MIN_BLOB_SIZE => c.min_blob_size = min_blob_size(n),
            MAIN_MIN_BLOB_SIZE => c.main_min_blob_size = n as u8,
            BLOCK_SIZE => c.block_size = block_size(n),
            "bloom_bits_per_key" => c.bloom_bits_per_key = n as u32,
            "pinned_levels" => c.pinned_levels = n as u32,
            PACKING => c.packing = packing(settings),
            PROGRAM_PRICE => c.program_price = n as u32,
            WRITE_BUFFER_LIMIT => c.limits.write_buffer = n,
            THREADS_LIMIT => c.limits.compaction_threads = n as u32,
            LEVEL_BASE_LIMIT => c.limits.level_base = n,
            _ => {}
        }
    }
    if c.pinned_levels > 0 && settings.get("bloom_bits_per_key").is_none() {
        c.bloom_bits_per_key = 0;
    }
    c.level0_slowdown_writes_trigger =
        c.level0_slowdown_writes_trigger.max(c.level0_file_num_compaction_trigger);
    c.level0_stop_writes_trigger = c.level0_stop_writes_trigger.max(c.level0_slowdown_writes_trigger);
    c.soft_pending_compaction_bytes_limit =
        c.soft_pending_compaction_bytes_limit.min(c.hard_pending_compaction_bytes_limit);
    config
}

#[cfg(test)]
mod tests;
