// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where time is kept the engine is refused by its name.

use super::{SAKER, engine, image};
use saker::Kv;
use std::process::Command;

const WHY: &str = "`rocksdb` has threads of its own";

#[test]
fn a_device_that_keeps_time() {
    engine();
    let folder = tempfile::tempdir().expect("a folder");
    let url = image(&folder.path().join("disk.img"), 320 << 20, "default");
    for url in ["mem:?engine=rocksdb&timing=real".to_owned(), format!("{url}?timing=real")] {
        let error = Kv::open(&url).map(drop).expect_err("it is refused").to_string();
        assert!(error.contains(WHY), "{url}: {error}");
    }
}

#[test]
fn virtual_time() {
    for arguments in [
        &["compare", "--store", "rocksdb", "--timing", "virtual"][..],
        &["bench", "history", "--engine", "rocksdb"],
    ] {
        let done = Command::new(SAKER).args(arguments).output().expect("runs");
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(!done.status.success() && errors.contains(WHY), "{arguments:?}: {errors}");
    }
}
