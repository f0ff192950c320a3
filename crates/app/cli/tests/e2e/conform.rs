//! `saker conform` on every kind of device that can be had here.

use crate::support::Desk;

#[test]
fn memory_and_images_conform() {
    let desk = Desk::new();
    desk.saker(&["create", "disk.img", "--size", "512MiB"]).good();
    for device in ["mem:?size=512MiB", "file:disk.img"] {
        let report = desk.saker(&["conform", device]).good();
        assert!(report.lines().last().is_some_and(|line| line.contains(" 0 failed, ")), "{report}");
    }
    desk.saker(&["check", "disk.img"]).good();
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
