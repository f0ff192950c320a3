// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How writes are gathered, and what of reads is kept.

use crate::cache::CacheOptions;

/// How writes are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Writes after which a container leaves; 1 sends each alone.
    pub batch: u16,
    /// Bytes of a container: of its payload, with lengths and padding. What does not fit an empty one goes alone.
    pub container_bytes: usize,
    /// Containers of a session that may wait for a slot of its queue before its next write has to wait.
    pub closed_max: usize,
    /// Memory of all parked writes together, in bytes, before another has to wait.
    pub parked_bytes_max: usize,
    /// Memory of the values of a session that are too long for containers, in bytes; one may always be on its way.
    pub long_bytes_max: usize,
    /// Stripes of the index; 0 takes about as many as writes can be on their way.
    pub stripes: usize,
    /// Doorbells are rung and completions taken whenever a container leaves. Virtual time does both itself.
    pub eager: bool,
    /// Completed writes survive a cut only after a Flush (Identify Controller, VWC).
    pub volatile: bool,
    /// The read cache of all sessions together.
    pub cache: CacheOptions,
}

impl Default for Options {
    /// 64 writes, 4 KiB: the largest batch and the capacity of the paper (SYSTOR'25, sections 3.3 and 4).
    fn default() -> Self {
        Self {
            batch: 64,
            container_bytes: 4096,
            closed_max: 2,
            parked_bytes_max: 1 << 20,
            long_bytes_max: 4 << 20,
            stripes: 0,
            eager: true,
            volatile: true,
            cache: CacheOptions::NONE,
        }
    }
}

impl Options {
    /// Stripes for that many sessions with so many commands in flight each.
    pub(super) fn stripes_for(&self, lanes: usize, slots: usize) -> usize {
        if self.stripes > 0 {
            return self.stripes;
        }
        let on_their_way = lanes * (slots + self.closed_max + 1) * usize::from(self.batch.max(1));
        on_their_way.clamp(64, 1 << 16)
    }
}
