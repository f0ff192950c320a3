// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A server one of whose images is damaged does not start, and leaves all images as they were: none counts as one that was in use.

use std::path::Path;

use saker::image::{Access, BootId, open_as};
use saker::{ImagePlan, Kv};
use saker_tcp::{Served, Server};

use crate::loopback::support::config;

/// How the image would be found after a crash of the operating system.
fn after_a_crash(path: &Path) -> String {
    let opened = open_as(path, Access::Read, BootId::of("another run of the kernel")).expect("opens");
    format!("{:?}", opened.history)
}

#[test]
fn a_damaged_image_leaves_no_mark_on_those_beside_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let names = ["a.img", "b.img", "c.img"];
    let paths = names.map(|name| dir.path().join(name));
    for (seed, path) in (1..).zip(&paths) {
        ImagePlan::kv(8 << 20, "tiny", seed).create(path).expect("made");
        let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
        kv.put(b"key", &[b'V'; 900]).expect("stored");
        kv.close().expect("closes");
    }
    let sound = std::fs::read(&paths[1]).expect("reads");
    let mut spoilt = sound.clone();
    let at = spoilt.windows(900).rposition(|bytes| bytes == [b'V'; 900]).expect("it is in its page");
    spoilt[at + 500] ^= 1;
    std::fs::write(&paths[1], &spoilt).expect("writes");
    let mut served = config("");
    served.subsystems = paths
        .iter()
        .map(|path| Served { url: format!("file:{}", path.display()), ..Served::default() })
        .collect();
    for _ in 0..2 {
        let error = Server::start(served.clone()).map(drop).expect_err("one is damaged").to_string();
        assert!(error.contains("damaged"), "{error}");
        assert_eq!(paths.each_ref().map(|path| after_a_crash(path)), ["Clean", "Clean", "Clean"]);
    }
    std::fs::write(&paths[1], &sound).expect("writes");
    // So does any other reason not to start.
    let mut twice = served.clone();
    twice.subsystems.iter_mut().for_each(|served| served.nqn = Some("nqn.2026-11.dev.saker:one".to_owned()));
    Server::start(twice).map(drop).expect_err("one name for all");
    assert_eq!(paths.each_ref().map(|path| after_a_crash(path)), ["Clean", "Clean", "Clean"]);
    Server::start(served).expect("all are sound").stop().expect("stops");
}
