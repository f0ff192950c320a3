// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files beside everything else that a device does.

use saker::{Block, EngineKind, ImagePlan, Kv, NamespacePlan};
use saker_files::FsError;
use saker_tcp::{Server, ServerConfig};
use std::path::Path;

const BLOCKS: NamespacePlan = NamespacePlan::Block { bytes: Some(3 << 20), block_bytes: 512 };
const ON_FLASH: NamespacePlan =
    NamespacePlan::BlockOnFlash { bytes: Some(3 << 20), block_bytes: 512, map_cache_bytes: 2 << 10 };

/// An image with pairs and blocks, whose map is in memory or on flash.
fn image(dir: &Path, engine: EngineKind, blocks: NamespacePlan) -> String {
    let path = dir.join("disk.img");
    let namespaces = vec![NamespacePlan::Kv { flash_bytes: None }, blocks];
    ImagePlan { engine, namespaces, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
    format!("file:{}", path.display())
}

fn bytes(salt: usize, many: usize) -> Vec<u8> {
    (0..many).map(|n| (n * 31 + salt) as u8).collect()
}

/// Files of some lengths, one of them replaced by rename.
fn write(url: &str) {
    let mut files = saker_files::open(url).expect("mounts");
    files.make_directory("db", 1).expect("makes");
    for (n, many) in [0, 1, 511, 512, 70_000, 300_000].into_iter().enumerate() {
        let file = files.create(&format!("db/{n}"), 1).expect("makes");
        bytes(n, many).chunks(1111).for_each(|part| files.append(file, part, 1).expect("fits"));
        files.sync_file(file).expect("syncs");
        files.close(file).expect("closes");
    }
    files.rename("db/4", "db/5").expect("renames");
    saker_files::close(files).expect("closes");
}

fn verify(url: &str) {
    let mut files = saker_files::open(url).expect("mounts");
    let names: Vec<_> = files.list("db").expect("is there").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["0", "1", "2", "3", "5"]);
    for (name, (salt, many)) in [("0", (0, 0)), ("2", (2, 511)), ("3", (3, 512)), ("5", (4, 70_000))] {
        let file = files.open(&format!("db/{name}")).expect("is there");
        let mut out = vec![0; 80_000];
        let read = files.read_at(file, 0, &mut out).expect("reads");
        assert!(out[..read] == bytes(salt, many), "{name}");
        files.close(file).expect("closes");
    }
}

#[test]
fn files_in_an_image_live_beside_the_pairs_of_every_engine() {
    let maps = [BLOCKS, ON_FLASH];
    for (engine, blocks) in EngineKind::ALL.iter().flat_map(|engine| maps.map(|blocks| (engine, blocks))) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let url = image(dir.path(), *engine, blocks);
        saker_files::make(&url, None).expect("makes");
        write(&url);
        let mut kv = Kv::open(&url).expect("opens");
        (0..200_u32).for_each(|n| kv.put(&n.to_le_bytes(), &[7; 900]).expect("stores"));
        kv.close().expect("closes");
        verify(&url);
        let mut kv = Kv::open(&url).expect("opens");
        kv.format().expect("erases the pairs");
        kv.close().expect("closes");
        verify(&url);
        assert_eq!(saker_files::check(&url).expect("is sound").problems, [""; 0], "{engine:?}, {blocks:?}");
    }
}

/// Format erases the files, and says so.
#[test]
fn a_formatted_namespace_has_no_files() {
    for blocks in [BLOCKS, ON_FLASH] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let url = image(dir.path(), EngineKind::HASH_STORE, blocks);
        saker_files::make(&url, None).expect("makes");
        write(&url);
        let mut block = Block::open(&url).expect("opens");
        block.format().expect("erases");
        block.close().expect("closes");
        let error = saker_files::open(&url).expect_err("there are none");
        assert!(matches!(error, saker_files::Error::Files(FsError::NoFileSystem)), "{error}");
        saker_files::make(&url, None).expect("makes");
        write(&url);
        verify(&url);
    }
}

/// Removed files give their blocks back to the device, whose pairs and other blocks can have their flash.
#[test]
fn a_device_takes_files_again_and_again() {
    for blocks in [BLOCKS, ON_FLASH] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let url = image(dir.path(), EngineKind::HASH_STORE, blocks);
        let space = saker_files::make(&url, None).expect("makes");
        let mut files = saker_files::open(&url).expect("mounts");
        for round in 0..12 {
            let file = files.create("large", 1).expect("makes");
            let part = bytes(round, 100_000);
            let mut stored = 0;
            while files.append(file, &part, 1).is_ok() {
                stored += part.len() as u64;
            }
            assert!(stored + 100_000 > space.free, "round {round}: {stored} of {}", space.free);
            files.sync_file(file).expect("a sync needs no space");
            files.close(file).expect("closes");
            files.remove("large").expect("removes");
            files.sync_names().expect("syncs");
        }
        assert_eq!(files.space().free, space.free);
    }
}

#[test]
fn files_over_a_network() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let image = image(dir.path(), EngineKind::LSM, ON_FLASH);
    let mut config = ServerConfig::new(&image);
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server = Server::start(config).expect("starts");
    let url = format!("tcp://{}/{}", server.addresses()[0], server.names()[0]);
    saker_files::make(&url, None).expect("makes");
    write(&url);
    verify(&url);
    server.stop().expect("stops");
    verify(&image);
}
