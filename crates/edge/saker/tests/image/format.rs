// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A crash of the operating system at any moment of a Format: all pairs are there, or none. After the Format has been
//! answered none are, and what is flushed later stays.

use crate::image::support::directory;
use crate::image::watched::Watched;
use saker::image::{Access, BootId, FileCells, OpenImage, open_as};
use saker::{EngineKind, ImagePlan, device_config};
use saker_assembly::port;
use saker_device::{Attachment, Device, Untimed};
use saker_flash::{Cells, FaultPlan, Flash};
use saker_host::{ClientOptions, ConnectOptions, Connection, KvClient};
use saker_link::DmaSpace;
use saker_nvme::Key;
use saker_segment_store::PageBuffer;
use saker_sim::Seed;
use saker_world::Inline;
use std::path::Path;

const PAIRS: u8 = 40;

fn key(n: u8) -> Key {
    Key::new(&[n, 1]).expect("two bytes")
}

struct Host {
    connection: Connection,
    client: KvClient<Inline>,
}

fn connect<M: Cells>(path: &Path, boot: u64, over: impl FnOnce(FileCells) -> M) -> Host {
    let OpenImage { config, media, ring, .. } = open_as(path, Access::Write, BootId::of(&boot.to_string()))
        .unwrap_or_else(|e| panic!("boot {boot}: {e}"));
    let g = config.geometry;
    let ring = PageBuffer::new(ring, config.ring_slots, g.page_bytes, g.oob_bytes);
    let flash = Flash::power_on(Box::new(over(media)), ring, None, FaultPlan::default());
    let host = Attachment::new(DmaSpace::new(1024, 256), 2);
    let device: Device<Untimed> = Device::new(flash, device_config(&config), host.clone());
    assert!(device.damage().is_empty(), "boot {boot}: {:?}", device.damage());
    let mut driver = Inline(device);
    let mut connection =
        Connection::connect(port(&host), &mut driver, ConnectOptions::default()).expect("connects");
    let client = KvClient::open(&mut connection, driver, 1, ClientOptions::default()).expect("opens");
    Host { connection, client }
}

impl Host {
    fn put_all(&mut self, version: u8) {
        (0..PAIRS).for_each(|n| self.client.put(&key(n), &[version; 5000]).expect("stores"));
    }

    /// The version of all pairs; `None`: there are none.
    fn version(&mut self) -> Option<u8> {
        let found: Vec<_> = (0..PAIRS).map(|n| self.client.get(&key(n)).expect("reads")).collect();
        let version = found[0].as_ref().map(|value| value[0]);
        let expected = version.map(|version| vec![version; 5000]);
        assert!(found.iter().all(|value| *value == expected), "a mixture");
        version
    }

    fn watched(&mut self) -> &mut Watched {
        self.client.driver_mut().0.flash_mut().media_mut().get_mut().expect("watched cells")
    }

    fn format(&mut self) {
        self.connection.format(self.client.driver_mut(), 1).expect("formats");
    }
}

/// What the file can be after a crash at each media operation of a Format, and after it.
fn crashes(path: &Path, seed: u64) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut host = connect(path, 1, |media| Watched::new(media, path, seed));
    host.put_all(1);
    host.client.flush().expect("flushes");
    host.put_all(2);
    host.client.flush().expect("flushes");
    host.watched().watch();
    host.format();
    let media = host.watched();
    let crashes = media.crashes();
    let after = media.after_crash(&mut Seed(seed).child("after").rng());
    // What is stored now and flushed must not go with what is to be erased.
    host.put_all(3);
    host.client.flush().expect("flushes");
    let last = host.watched().after_crash(&mut Seed(seed).child("last").rng());
    drop(host);
    std::fs::write(path, last).expect("writes");
    let mut host = connect(path, 2, |media| media);
    assert_eq!(host.version(), Some(3), "what was flushed after the Format");
    (crashes, after)
}

fn campaign(engine: EngineKind, seed: u64) {
    let dir = directory();
    let path = dir.path().join("disk.img");
    let (mut all, mut none) = (0, 0);
    ImagePlan { engine, ..ImagePlan::kv(6 << 20, "tiny", 1) }.create(&path).expect("creates");
    let (crashes, after) = crashes(&path, seed);
    assert!(crashes.len() > 5, "{} media operations", crashes.len());
    for (n, left) in crashes.iter().enumerate() {
        std::fs::write(&path, left).expect("writes");
        // The boot after the crash, which dies as it recovers, and the one after that.
        let what = format!("{}, seed {seed}, operation {n}", engine.name());
        let mut host = connect(&path, 10 + n as u64, |media| Watched::new(media, &path, seed));
        let version = host.version();
        assert!(version.is_none() || version == Some(2), "{what}: {version:?}");
        assert!(none == 0 || version.is_none(), "{what}: what was gone is back");
        host.put_all(4);
        host.client.flush().expect("flushes");
        drop(host);
        assert_eq!(connect(&path, 1000, |media| media).version(), Some(4), "{what}");
        *(if version.is_some() { &mut all } else { &mut none }) += 1;
    }
    std::fs::write(&path, after).expect("writes");
    assert_eq!(connect(&path, 5, |media| media).version(), None, "{}: an acknowledged Format", engine.name());
    println!("{}, seed {seed}: {all} times all pairs, {none} times none", engine.name());
    assert!(none > 5);
}

#[test]
fn a_format_is_whole_after_a_crash_of_the_system() {
    for seed in saker_testing::seeds(saker_testing::tier(1, 20)) {
        EngineKind::ALL.iter().for_each(|engine| campaign(*engine, seed));
    }
}
