// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The counters that every binding tells.

use saker::{NamespaceSnapshot, Stats};

/// Names of counters, and what they say of a device, its namespaces together. Whole numbers; sizes in bytes. Later versions have more of them.
pub fn counters(stats: &Stats) -> Vec<(&'static str, u64)> {
    let sum = |of: fn(&NamespaceSnapshot) -> u64| stats.namespaces.iter().map(of).sum::<u64>();
    vec![
        ("commands", stats.device.commands),
        ("pairs", sum(|ns| ns.store.pairs)),
        ("pair_bytes", sum(|ns| ns.store.pair_bytes)),
        ("user_bytes_written", sum(|ns| ns.store.user_bytes_written)),
        ("gc_bytes_copied", sum(|ns| ns.store.gc_bytes_copied)),
        ("capacity_bytes", sum(|ns| ns.capacity_bytes)),
        ("live_bytes", sum(|ns| ns.live_bytes)),
        ("pages_programmed", stats.flash.pages_programmed),
        ("pages_read", stats.flash.pages_read),
        ("segments_erased", stats.flash.segments_erased),
    ]
}
