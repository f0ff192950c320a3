// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The public doors, on every engine, in memory and on images. One program, so that it is linked once.

mod backup;
mod beside;
mod blocks_killed;
mod blocks_on_flash;
mod cache;
mod capacity;
mod commit_through;
#[path = "support/commit_through.rs"]
mod commit_through_cases;
mod device_cpus;
mod due;
mod examples;
mod flips;
mod format;
mod format_kill;
mod full;
mod groups;
mod held_back;
mod hostfs;
mod hybrid;
mod identity;
mod image;
mod kv_cache;
mod lasting;
mod leaving;
mod live;
#[path = "support/long_values.rs"]
mod long_value_cases;
mod long_values;
mod longest_transaction;
mod marked;
#[path = "support/marked.rs"]
mod marked_cases;
mod namespaces;
mod open;
mod packing;
mod panics;
mod prefetched;
mod put_off;
#[path = "support/queued_gets.rs"]
mod queued_get_cases;
mod queued_gets;
mod ranges;
mod reads;
mod refused;
mod reserved;
mod salvage;
mod sessions;
mod settings;
#[path = "support/shared_blocks.rs"]
mod shared_block_cases;
mod shared_blocks;
mod sigkill;
#[path = "support/split_between.rs"]
mod split_between;
mod split_doors;
#[path = "support/split_model.rs"]
mod split_model;
mod stores;
mod support;
mod transactions;
mod transfer_kill;
mod unwound;
