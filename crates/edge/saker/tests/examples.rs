// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of this crate, one for each kind of URL, as their users run them.

#[path = "../examples/engines.rs"]
mod engines;
#[path = "../examples/url_file.rs"]
mod url_file;
#[path = "../examples/url_linux.rs"]
mod url_linux;
#[path = "../examples/url_mem.rs"]
mod url_mem;

#[test]
fn every_engine_has_its_row() {
    let rows = engines::run(500, "512MiB").expect("all pairs come back");
    assert_eq!(rows.len(), saker::EngineKind::ALL.len());
}

#[test]
fn memory() {
    url_mem::main().expect("runs");
}

#[test]
fn files_remember() {
    url_file::main().expect("runs");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let image = dir.path().join("disk.img");
    for runs in 0..3_u64 {
        url_file::run(&image).expect("runs");
        let url = format!("file:{}", image.display());
        let mut kv = saker::Kv::open(&url).expect("opens");
        assert_eq!(kv.get(b"runs").expect("gets"), Some((runs + 1).to_le_bytes().to_vec()));
        kv.close().expect("closes");
    }
}

#[test]
fn devices_of_linux_are_named_when_they_are_not_there() {
    url_linux::main().expect("says what to do");
    let error = url_linux::run("/dev/ng99n9").expect_err("there is none").to_string();
    assert!(error.contains("/dev/ng99n9"), "{error}");
}
