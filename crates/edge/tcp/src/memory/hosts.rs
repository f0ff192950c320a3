// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the connections of one host hold together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One host at one subsystem. Its numbers change under the lock of the accounts, and are looked at without.
#[derive(Debug)]
pub(crate) struct HostMemory {
    /// Bytes above the floors that its connections may hold.
    max: AtomicUsize,
    /// Bytes that they hold.
    used: AtomicUsize,
}

impl HostMemory {
    /// Other limits hold from now on; what is held already stays.
    pub fn set_max(&self, max: Option<usize>) {
        self.max.store(max.unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    pub fn free(&self) -> usize {
        self.max.load(Ordering::Relaxed).saturating_sub(self.used.load(Ordering::Relaxed))
    }

    pub(super) fn change(&self, from: usize, to: usize) {
        self.used.fetch_add(to.wrapping_sub(from), Ordering::Relaxed);
    }
}

/// All hosts of a server that are connected, by subsystem and name.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    known: Mutex<BTreeMap<(String, String), Weak<HostMemory>>>,
    /// First commands that waited because their host held as much as it may.
    pub waits: AtomicU64,
}

impl Hosts {
    pub fn of(&self, subsystem: &str, host: &str) -> Arc<HostMemory> {
        // Each change is one call: the map is whole whatever else has failed.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, host| host.strong_count() > 0);
        let name = (subsystem.to_owned(), host.to_owned());
        if let Some(host) = known.get(&name).and_then(Weak::upgrade) {
            return host;
        }
        let host = Arc::new(HostMemory { max: usize::MAX.into(), used: 0.into() });
        known.insert(name, Arc::downgrade(&host));
        host
    }
}
