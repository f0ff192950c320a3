// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a store over a value log leaves to the structure that keeps its entries in order: the levels of an LSM tree, or a
//! copy-on-write tree.
//!
//! One trait for each concern, beside what uses it:
//!
//! | trait | concern | asked by |
//! |---|---|---|
//! | [`Search`] | finding entries | `retrieve`, `scan`, `gc` |
//! | [`Versions`] | what snapshots see | `scan`, `gc` |
//! | [`Buffers`] | memtables, and whether writes may go on | `ops`, `manifest`, `space` |
//! | [`Room`] | what may be stored, and what is kept back | `space`, `ops` |
//! | [`Collected`] | what collections of the value log ask | `gc` |
//! | [`Chores`] | background work | `background` |
//! | [`Manifests`] | describing the structure | `manifest` |
//! | [`Rebuild`] | the way back from a manifest | `recover` |
//! | [`Checked`] | whether it agrees with itself | `check` |
//! | [`Tuned`] | settings by name, and those that change while the store is open | `engine` |
//!
//! Functions take the structure alone where that is all they need; those that read the value log, the memtable or what the
//! store counts take the store.

mod buffers;
mod checked;
mod chores;
mod collected;
mod manifests;
mod rebuild;
mod room;
mod search;
mod tuned;
mod versions;

pub use buffers::{Buffers, Turn, Write};
pub use checked::Checked;
pub use chores::Chores;
pub use collected::Collected;
pub use manifests::Manifests;
pub use rebuild::Rebuild;
pub use room::{Content, Room};
pub use search::{Found, Search, Sought, Visited};
pub use tuned::Tuned;
pub use versions::Versions;

use super::placement::Inside;
use super::{Settings, Store};
use saker_segment_store::SegmentStore;
use saker_sim::Digest;
use std::fmt::Debug;

/// What has settings of its own beside those of every store.
pub trait Configured: Clone + Debug + Sized {
    /// Its settings.
    type Config: Copy + Debug + Into<Settings>;
}

/// A structure of sorted entries that follow from a value log's records.
pub trait Structure:
    Configured + Search + Versions + Buffers + Room + Collected + Chores + Manifests + Rebuild + Checked + Tuned
{
    /// An empty one.
    fn new(config: &Self::Config, m: &dyn SegmentStore) -> Self;

    /// Modelled bytes in memory, frozen memtables excluded.
    fn memory_bytes(&self, page_bytes: u64) -> u64;

    /// Which values go beside their keys from now on, where the store decides it.
    fn place(store: &mut Store<Self>) -> Inside {
        store.placement.inside()
    }

    /// Adds what operations can observe of it.
    fn digest(&self, digest: &mut Digest);

    /// Counters of its own mechanisms.
    fn counters(store: &Store<Self>) -> Vec<(&'static str, u64)>;

    /// One of them that is had without all others, if it is such a one.
    fn counter(store: &Store<Self>, name: &str) -> Option<u64> {
        let _ = (store, name);
        None
    }
}
