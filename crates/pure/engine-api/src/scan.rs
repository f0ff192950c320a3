// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans of engines that keep their keys in order and can look at a moment that has passed.

use crate::capabilities::{Capability, Unsupported};
use crate::context::Context;
use crate::kv::KvError;
use saker_segment_store::{SegmentStore, Step};
use saker_sim::Meter;
use std::ops::Bound;

/// Snapshots, and scans of them ([`Capability::Snapshots`] and [`Capability::Scan`]).
pub trait Scans {
    /// The store as it is now, until it is released as often as it was taken and shared.
    ///
    /// # Errors
    /// [`Unsupported`] without the capability. The other functions are asked only about a snapshot that was taken.
    fn snapshot(&mut self) -> Result<Snapshot, Unsupported> {
        Err(Unsupported(Capability::Snapshots))
    }

    /// One more holder of a snapshot.
    fn share(&mut self, snapshot: Snapshot) {
        let _ = snapshot;
    }

    /// One holder of a snapshot less.
    fn release(&mut self, snapshot: Snapshot) {
        let _ = snapshot;
    }

    /// Shows the pairs of a snapshot in the order of their keys while `pairs` wants them.
    ///
    /// # Errors
    /// [`KvError::KeySize`] for a bound that cannot be a key, [`KvError::Corrupt`] and [`KvError::Unrecovered`] for what cannot be
    /// read; [`KvError::Unsupported`] without the capability.
    fn scan<M: SegmentStore, W: Meter, P: Pairs>(
        &mut self,
        scan: &Scan<'_>,
        pairs: &mut P,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Scanned, KvError>> {
        let _ = (scan, pairs, cx);
        Step::Done(Err(Unsupported(Capability::Scan).into()))
    }
}

/// A point in the order of writes at which reads can be repeated, until it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot(u64);

impl Snapshot {
    /// The point behind the write of that version, in the order of the engine's writes. Only the engine that keeps such points makes
    /// them.
    #[inline]
    pub const fn at(version: u64) -> Self {
        Self(version)
    }

    /// The version of the last write that it sees.
    #[inline]
    pub const fn version(self) -> u64 {
        self.0
    }
}

/// What is to be read, in the order of the bytes of keys.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// As this snapshot sees it.
    pub snapshot: Snapshot,
    /// The key to begin at or behind (backwards: before); unbounded: at the first (last) one.
    pub from: Bound<&'a [u8]>,
    /// In falling order.
    pub backwards: bool,
    /// Whether values are read.
    pub values: bool,
}

/// Who takes the pairs of a scan. A step that is not done may have shown some: the next one begins anew.
pub trait Pairs {
    /// Whether the next pair is wanted; if not, the scan ends before it. Its value has at most so many bytes.
    fn wants(&mut self, key: &[u8], value_bytes_max: u32) -> bool;
    /// A pair that was wanted, in order; of a scan without values `value_bytes` is 0.
    fn pair(&mut self, key: &[u8], value_bytes: u32);
    /// The next bytes of the value of the last pair.
    fn value(&mut self, bytes: &[u8]);
    /// A pair that was wanted, with its whole value.
    #[inline]
    fn whole(&mut self, key: &[u8], value: &[u8]) {
        self.pair(key, value.len() as u32);
        if !value.is_empty() {
            self.value(value);
        }
    }
}

/// Most pairs that a call reads: what it looks at stays in memory together.
pub const SCAN_PAIRS_MAX: usize = 1024;

/// How a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// Nothing is left.
    All,
    /// Before a pair that was not wanted, or at [`SCAN_PAIRS_MAX`].
    Some,
}
