// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the device tells of itself and its namespaces.

use crate::config::{DeviceConfig, NamespaceKind, TRANSFER_BYTES_MAX};
use crate::controller::{Identity, NamespaceFacts, NamespaceKind as FactsKind, SettingFacts, Transport};
use crate::methods;
use crate::namespace::{Namespace, Store};
use crate::stats::{Fits, NamespaceSnapshot};
use saker_engine::write_gate::WriteControl;
use saker_engine::{Engine, EngineKind, Inspect, Memory, Setting, Settings};
use saker_flash::Flash;
use saker_nvme::vendor_specific::Methods;
use saker_sim::{Class, Instant, Seed};

/// Lengths of values of which a namespace says how many it holds, in bytes.
const FITTING_VALUES: [u32; 4] = [100, 4 << 10, 64 << 10, 1 << 20];

pub(super) fn identity(config: &DeviceConfig) -> Identity {
    let seed = Seed(config.identity).child("identity");
    let serial = format!("SAKER{:015X}", seed.child("serial").0 >> 4);
    let mut uuid = [0; 16];
    seed.child("uuid").rng().fill(&mut uuid);
    Identity {
        subnqn: format!("nqn.2026-11.dev.saker:{serial}"),
        serial,
        model: "Saker key-value SSD".into(),
        firmware: env!("CARGO_PKG_VERSION").into(),
        uuid,
        controller_id: 1,
        max_queue_pairs: config.queue_pairs_max,
        max_queue_entries: config.queue_entries_max,
        max_transfer_bytes: TRANSFER_BYTES_MAX,
        volatile_write_cache: !config.capacitor,
        sgl: config.sgl,
        transport: Transport::Memory,
        vendor: (config.methods != Methods::default()).then(|| methods::capabilities(config.methods)),
    }
}

pub(super) fn facts(ns: &Namespace, identity: u64, flash: &mut Flash) -> NamespaceFacts {
    let id = Seed(identity).child("namespace").index(u64::from(ns.config.nsid));
    let (mut nguid, mut eui64) = ([0; 16], [0; 8]);
    id.child("nguid").rng().fill(&mut nguid);
    id.child("eui64").rng().fill(&mut eui64);
    let now = flash.now();
    let view = flash.view(ns.owner(), Class::Foreground);
    let kind = match (&ns.config.kind, &ns.store) {
        (NamespaceKind::Kv { value_bytes_max, engine, .. }, store) => {
            let (size_bytes, used_bytes) = match store {
                Store::Kv(s) => (s.capacity_bytes(&view), s.stats().pair_bytes),
                _ => (0, 0),
            };
            FactsKind::Kv {
                key_bytes_max: 16,
                value_bytes_max: *value_bytes_max,
                size_bytes,
                used_bytes: used_bytes.min(size_bytes),
                ednek: ns.error_on_delete,
                engine: engine.name(),
                settings: settings(ns, *engine),
                writes: Box::new(write_control(ns, now)),
            }
        }
        (NamespaceKind::Block { block_bytes, blocks, .. }, store) => {
            let used_blocks = if let Store::Block(s) = store { s.blocks_in_use() } else { 0 };
            FactsKind::Block { block_bytes: *block_bytes, blocks: *blocks, used_blocks }
        }
    };
    NamespaceFacts { nsid: ns.config.nsid, kind, nguid, eui64 }
}

/// Its engine's settings: as the store has them, or as it is asked for them while there is none.
fn settings(ns: &Namespace, engine: EngineKind) -> Vec<SettingFacts> {
    let now = if let Store::Kv(store) = &ns.store { store.settings() } else { Settings::NONE };
    let now = now.over(&ns.config.settings);
    let facts = |setting: &'static Setting| SettingFacts { setting, number: now.get(setting.name) };
    engine.settings().iter().map(facts).collect()
}

fn write_control(ns: &Namespace, now: Instant) -> WriteControl {
    WriteControl { condition: ns.write_condition(), now, stalls: ns.gate.stalls(now) }
}

pub(super) fn namespace_snapshot(ns: &Namespace, flash: &mut Flash) -> NamespaceSnapshot {
    let stalls = ns.gate.stalls(flash.now());
    let view = flash.view(ns.owner(), Class::Foreground);
    let mut snapshot = NamespaceSnapshot { nsid: ns.config.nsid, stalls, ..NamespaceSnapshot::default() };
    snapshot.kind = if matches!(ns.config.kind, NamespaceKind::Kv { .. }) { "kv" } else { "block" };
    match &ns.store {
        Store::Kv(s) => {
            (snapshot.store, snapshot.log, snapshot.memory) = (s.stats(), s.log_stats(), s.memory());
            (snapshot.live_bytes, snapshot.capacity_bytes) = (s.live_bytes(), s.capacity_bytes(&view));
            // An engine from outside has its name there alone.
            snapshot.engine =
                if let NamespaceKind::Kv { engine, .. } = ns.config.kind { engine.name() } else { "" };
            snapshot.counters = s.counters();
            let fits = |value_bytes| Fits { value_bytes, pairs: s.pairs_that_fit(16, value_bytes, &view) };
            snapshot.fits = FITTING_VALUES.map(fits).into_iter().filter(|fits| fits.pairs > 0).collect();
        }
        Store::Block(s) => {
            let stats = s.stats();
            snapshot.log = s.log_stats();
            (snapshot.store.checkpoints, snapshot.store.gc_segments) = (stats.checkpoints, stats.gc_segments);
            let [index_bytes, directory_bytes, segment_bytes] = s.memory();
            snapshot.memory = Memory { index_bytes, directory_bytes, segment_bytes };
            snapshot.counters = s.counters();
            (snapshot.blocks_written, snapshot.gc_blocks_copied) =
                (stats.blocks_written, stats.gc_blocks_copied);
            snapshot.block_bytes = s.config().block_bytes;
            let bytes = u64::from(snapshot.block_bytes);
            (snapshot.live_bytes, snapshot.capacity_bytes) =
                (s.blocks_in_use() * bytes, s.config().blocks * bytes);
        }
        Store::Damaged(d) => snapshot.damage = Some(d.to_string()),
        Store::KvRecovery(_) | Store::BlockRecovery(_) | Store::Erasing(..) => {}
    }
    snapshot
}
