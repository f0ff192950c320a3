// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace of a target that several threads share.

use crate::loopback::shared_block_cases::{everything, until_it_ends};
use crate::loopback::support::{serve, url};
use saker::{Block, ImagePlan, NamespacePlan};

#[test]
fn threads_share_a_connection_until_the_target_goes() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("disk.img");
    let namespaces = vec![NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    ImagePlan { namespaces, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("made");
    let server = serve(&format!("file:{}", path.display()));
    for (seed, options) in ["nsid=1", "nsid=1&depth=2", "nsid=1&digest=both"].into_iter().enumerate() {
        let disk = Block::open(&url(&server, options)).expect("the block namespace").share();
        everything(&disk, seed as u64, 60);
        disk.close().expect("closes");
    }
    let disk = Block::open(&url(&server, "nsid=1&reconnect=0")).expect("the block namespace").share();
    until_it_ends(&disk, 9, |_| drop(server));
}
