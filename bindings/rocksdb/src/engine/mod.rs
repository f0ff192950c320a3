// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RocksDB in the device: an engine from outside for namespaces of pairs, with the name `rocksdb`.
//!
//! | module | holds |
//! |---|---|
//! | [`store`] | the engine: operations, blocks |
//! | [`recover`] | how it comes back |
//! | [`relay`] | how RocksDB's threads get blocks |
//! | [`front`] | the thread that calls RocksDB |
//! | [`call`] | what is asked and answered |
//! | `db` | the database |
//! | `at_host` | RocksDB at the host, for comparisons |
//!
//! Its flash is a map of blocks, as that of a block namespace; on these are the files of [`saker_files`], and in them RocksDB keeps its
//! own. RocksDB's threads wait for blocks, which only the device's thread can bring. It brings them while a command waits for RocksDB
//! ([`Stall::Worker`](saker_segment_store::Stall::Worker)) and between commands.

#[cfg(feature = "store")]
pub mod at_host;
pub mod call;
#[cfg(feature = "store")]
pub mod db;
pub mod front;
pub mod recover;
pub mod relay;
pub mod store;

pub use relay::{Relay, RelayDisk};

use crate::outcome::Failure;
use recover::Recovery;
use saker_engine::{Capabilities, Capability, EngineConfig, EngineKind, Factory, Registration, Settings};
use saker_flash::page_map::PageMapConfig;
use saker_flash::page_map::entry::ENTRY_BYTES;
use saker_segment_store::SegmentStore;
use saker_segment_store::header::HEADER_BYTES;
use std::sync::Arc;
use store::RocksDb;

/// Bytes of a block, where pages have as many.
const BLOCK_BYTES: u32 = 4096;
/// Longest value. RocksDB takes longer ones; the device's own engines do not.
const VALUE_BYTES_MAX: u32 = 2 << 20;

/// Makes the engine.
#[derive(Clone, Copy, Debug)]
pub struct RocksDbs;

impl Factory for RocksDbs {
    type Engine = RocksDb;
    type Recovery = Recovery;
    const NAME: &'static str = "rocksdb";
    const SUMMARY: &'static str = "RocksDB, with its files on blocks of the namespace";
    const CODE: Option<u8> = Some(200);
    const CAPABILITIES: Capabilities = Capabilities::of(&[Capability::List, Capability::Workers]);
    /// RocksDB estimates how many keys there are.
    const COUNTS_PAIRS: bool = false;

    fn oob_bytes(page_bytes: u32, _: &Settings) -> u32 {
        HEADER_BYTES as u32 + page_bytes / BLOCK_BYTES.min(page_bytes) * ENTRY_BYTES as u32
    }

    fn create(config: &EngineConfig, m: &dyn SegmentStore) -> RocksDb {
        RocksDb::new(store::Config::of(config, m), m)
    }

    fn recover(config: &EngineConfig, m: &dyn SegmentStore) -> Recovery {
        Recovery::new(store::Config::of(config, m), m)
    }
}

static REGISTRATION: Registration = Registration::outside::<RocksDbs>();

/// Adds the engine to those of this program, and RocksDB to the main trees of stores over both namespaces. Call it before anything is opened.
pub fn add() -> EngineKind {
    let engine = EngineKind::add(&REGISTRATION);
    #[cfg(feature = "store")]
    saker_bench::clock::add_at_host(engine, at_host::open);
    #[cfg(feature = "store")]
    crate::main_tree::add();
    engine
}

/// RocksDB, where it is built in: the rest is type-checked without it.
fn open_database(
    relay: &Arc<Relay>,
    facts: Arc<call::Facts>,
    is_readonly: bool,
) -> Result<Box<dyn call::Serves>, Failure> {
    #[cfg(feature = "store")]
    return Ok(Box::new(db::Database::open(relay, facts, is_readonly)?));
    #[cfg(not(feature = "store"))]
    {
        let _ = (relay, facts, is_readonly);
        Err(Failure::io("it was built without RocksDB".to_owned()))
    }
}

/// The blocks of a namespace.
fn blocks(config: &EngineConfig, m: &dyn SegmentStore) -> PageMapConfig {
    let geometry = m.geometry();
    let block_bytes = BLOCK_BYTES.min(geometry.page_bytes);
    let own = PageMapConfig::new(config.owner, &geometry, m.quota_segments(), config.ring_lasts, block_bytes);
    PageMapConfig { checkpoint_bytes: config.checkpoint_bytes.unwrap_or(own.checkpoint_bytes), ..own }
}
