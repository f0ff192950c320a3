// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RocksDB at the host as the main tree of a store over both namespaces (KVAccel, IPDPS'25): option `main=rocksdb` of a URL.
//!
//! | module | holds |
//! |---|---|
//! | [`tree`] | [`RocksTree`]: what the store asks of its main tree, and what is asked of RocksDB for that |
//! | `db` | the database on files of the block namespace |
//! | `settings` | options of the URL as RocksDB's |
//! | `views` | its snapshots |
//!
//! RocksDB's threads and the one that calls share a queue on the blocks; the device has a thread of its own. A write asks RocksDB with
//! `no_slowdown`: what would wait for the end of a stop comes back and goes to the device.

#[cfg(feature = "store")]
mod db;
#[cfg(feature = "store")]
mod settings;
pub mod tree;
#[cfg(feature = "store")]
mod views;

#[cfg(feature = "store")]
pub use db::open_tree;
#[cfg(feature = "store")]
pub use settings::{Asked, asked};
pub use tree::{Rocks, RocksTree};

/// The name of the tree in URLs.
pub const NAME: &str = "rocksdb";

/// Adds the tree to those of this program. Call it before anything is opened.
#[cfg(feature = "store")]
pub fn add() {
    saker::main_tree::add(NAME, |place| Ok(Box::new(open_tree(place)?)));
}
