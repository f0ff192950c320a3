// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions over the network with keys that the device takes for those of envelopes, and reads with versions.

use saker::EngineKind;

use super::marked_cases as cases;
use super::support::{open, serve};

#[test]
fn marked_keys_are_in_transactions_over_the_network() {
    for engine in EngineKind::ALL.iter().copied() {
        let server = serve(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name()));
        let mut kv = open(&server, "");
        cases::versions(&mut kv, engine);
        cases::marked_keys(&mut kv, engine);
        kv.close().expect("closes");
        server.stop().expect("stops");
    }
}
