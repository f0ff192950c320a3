// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the lanes of a client have in common.

use saker_link::ShortLock;

use saker_nvme::Key;
use saker_sim::Meter;

use super::container::Write;
use super::flusher::Flusher;
use super::index::Index;
use super::options::Options;
use crate::cache::ReadCache;

#[derive(Debug)]
pub(super) struct Shared {
    pub index: Index,
    pub options: Options,
    /// Memory of parked writes in bytes.
    pub parked_bytes: ShortLock<usize>,
    pub flusher: ShortLock<Flusher>,
    /// Changed only while the stripe of the key is held: whoever holds it sees index and cache as one.
    pub cache: Option<ReadCache>,
}

impl Shared {
    /// A write of the key is in the index from now on; its stripe is held.
    #[inline]
    pub fn keep_current(&self, key: &Key, write: Write<'_>, meter: &mut impl Meter) {
        if let Some(cache) = &self.cache {
            cache.update(key, write, meter);
        }
    }

    /// What was written may not be what is stored; the key's stripe is held.
    pub fn forget(&self, key: &Key) {
        if let Some(cache) = &self.cache {
            cache.remove(key);
        }
    }
}
