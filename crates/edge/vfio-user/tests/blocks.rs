// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace beside pairs.

use crate::rig::Rig;

#[test]
fn blocks_and_pairs_are_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let namespaces = vec![
        saker::NamespacePlan::Kv { flash_bytes: None },
        saker::NamespacePlan::Block { bytes: Some(8 << 20), block_bytes: 512 },
    ];
    let plan = saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(64 << 20, "tiny", 1) };
    plan.create(&folder.path().join("disk.img")).unwrap();
    let mut rig = Rig::in_folder(folder, "file:FOLDER/disk.img", false);
    let device = format!("vfio-user:{}", rig.socket.display());
    let data: Vec<u8> = (0..3 * 512_u32).map(|n| (n % 251) as u8).collect();
    let mut blocks = saker::Block::open(&device).unwrap();
    blocks.write(5, &data).unwrap();
    let mut read = vec![0; data.len()];
    blocks.read(5, &mut read).unwrap();
    assert_eq!(read, data);
    blocks.close().unwrap();
    let mut kv = saker::Kv::open(&device).unwrap();
    kv.put(b"beside", b"blocks").unwrap();
    kv.close().unwrap();
    rig.stop();
    // What was acknowledged is in the image, which was closed in order.
    let path = rig.folder.path().join("disk.img");
    assert!(saker::image::check(&path, &mut |_| {}).unwrap().findings.is_empty());
    let url = format!("file:{}", path.display());
    let mut blocks = saker::Block::open(&url).unwrap();
    blocks.read(5, &mut read).unwrap();
    assert_eq!(read, data);
    blocks.close().unwrap();
    let mut kv = saker::Kv::open(&url).unwrap();
    assert_eq!(kv.get(b"beside").unwrap().as_deref(), Some(&b"blocks"[..]));
}
