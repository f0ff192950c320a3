// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both namespaces leaves files on its blocks alone: they are another main tree's.

use saker::{Error, ImagePlan, Kv};

#[test]
fn files_on_its_blocks_are_no_main_tree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.img");
    ImagePlan::hybrid(24 << 20, "tiny", 1).create(&path).unwrap();
    let url = format!("file:{}", path.display());
    saker_files::make(&url, None).unwrap();
    let mut files = saker_files::open(&url).unwrap();
    files.create("kept", saker_files::now()).unwrap();
    saker_files::close(files).unwrap();
    let refused = Kv::open(&format!("{url}?hybrid")).map(drop);
    assert!(matches!(refused, Err(Error::MainTree(_))), "{refused:?}");
    assert!(saker_files::open(&url).unwrap().stat("kept").is_ok());
}
