// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Options that a URL gives and that would do nothing: whoever writes one expects something.

use super::{Backing, DeviceUrl, Timing};
use saker_sim::Chance;
use std::collections::BTreeSet;

/// What does nothing beside the others, and what to write instead.
pub(super) fn without_effect(
    url: &DeviceUrl,
    names: &BTreeSet<&str>,
) -> Option<(&'static str, &'static str)> {
    let faults = &url.faults;
    let is_real = url.timing == Timing::Real;
    let happens = |chance: &Chance| chance.times > 0;
    let fails = ["fault.program", "fault.erase", "fault.read", "fault.spike", "fault.cut"];
    if matches!(url.place, Backing::Memory { shards: 2.., blocks: 1.., .. }) {
        return Some(("blocks with shards", "leave one of them out: shards have pairs only"));
    }
    if matches!(url.place, Backing::Memory { blocks: 0, map_cache: 1.., .. }) {
        return Some(("map_cache without blocks", "give blocks=SIZE, too: it is their map's"));
    }
    if names.contains("background_threads") && is_real {
        return Some((
            "background_threads with timing=real",
            "leave it out: the profile says what a device's cores do, and when",
        ));
    }
    if names.contains("background_threads") && matches!(url.place, Backing::Memory { shards: 2.., .. }) {
        return Some((
            "background_threads with shards",
            "leave one of them out: with threads=1 each shard has a thread",
        ));
    }
    if names.contains("main") && url.hybrid.is_none() {
        return Some((
            "main without hybrid",
            "add hybrid: it is the main tree of a store over both namespaces",
        ));
    }
    if url.hybrid.is_some() {
        let alone = [
            ("engine", "hybrid with engine", "leave engine out: both trees are lsm"),
            ("nsid", "hybrid with nsid", "leave nsid out: the store has both namespaces"),
            ("blocks", "hybrid with blocks", "leave blocks out: the store has blocks of its own"),
            ("shards", "hybrid with shards", "leave one of them out"),
            (
                "readonly",
                "hybrid with readonly",
                "leave one of them out: opening the store writes its number",
            ),
            ("salvage", "hybrid with salvage", "open the namespaces one by one, with nsid"),
            (
                "prefault",
                "hybrid with prefault",
                "leave prefault out: it lays out the index of one namespace",
            ),
        ];
        if let Some((_, what, todo)) = alone.into_iter().find(|(name, ..)| names.contains(name)) {
            return Some((what, todo));
        }
        if matches!(url.place, Backing::Linux(_)) {
            return Some((
                "hybrid behind the kernel's driver",
                "open the device by vfio-user: or tcp:, with both namespaces",
            ));
        }
    }
    if names.contains("ctrl_secret_file") && !names.contains("secret_file") {
        return Some((
            "ctrl_secret_file alone",
            "add secret_file: a target authenticates only to hosts that do",
        ));
    }
    if happens(&faults.spike) && !is_real {
        return Some((
            "fault.spike without timing=real",
            "add timing=real: an untimed device has no latencies",
        ));
    }
    if happens(&faults.spike) && faults.spike_ns == 0 {
        return Some(("fault.spike without a length", "add fault.spike_ns=1000000"));
    }
    if faults.spike_ns > 0 && !happens(&faults.spike) {
        return Some(("fault.spike_ns without fault.spike", "add fault.spike=1/100"));
    }
    (names.contains("fault.seed") && !fails.iter().any(|name| names.contains(name)))
        .then_some(("fault.seed without a fault", "add one, such as fault.program=1/1000"))
}

impl DeviceUrl {
    /// Whether the URL has that option.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.given.contains(name)
    }
}
