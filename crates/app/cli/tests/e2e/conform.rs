// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker conform` on every kind of device that can be had here.

use crate::e2e::support::Desk;
use saker::EngineKind;

/// Every engine in memory and in an image. `tests/serve.rs` has them over the network.
#[test]
fn every_engine_conforms_in_memory_and_in_an_image() {
    let desk = Desk::new();
    for engine in EngineKind::ALL.iter().map(|kind| kind.name()) {
        let image = format!("{engine}.img");
        desk.saker(&["create", &image, "--size", "64MiB", "--profile", "tiny", "--engine", engine]).good();
        for device in [format!("mem:?size=64MiB&profile=tiny&engine={engine}"), format!("file:{image}")] {
            let report = desk.saker(&["conform", &device]).good();
            let counts = report.lines().last().unwrap_or_default();
            assert!(counts.contains(" 0 failed, "), "{device}: {report}");
        }
        desk.saker(&["check", &image]).good();
    }
}

#[test]
fn the_document_has_every_clause() {
    let desk = Desk::new();
    let text = desk.saker(&["conform", "mem:?size=512MiB", "--json"]).good();
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["schema"], "saker.conform.v1");
    let findings = document["findings"].as_array().expect("a list");
    assert!(findings.len() > 45 && document["failed"] == 0);
    assert!(
        findings.iter().all(|f| f["id"].is_string() && f["verdict"].is_string() && f["source"].is_string())
    );
}
