// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power is cut at events of a device that flushes a memtable and merges tables in several places at once, each on a core.

use crate::contract::stores::side_by_side;
use saker_assembly::{Build, port};
use saker_device::{Attachment, Costs, Device, EngineKind, NamespaceConfig, timings};
use saker_engine::{JobKind, Settings};
use saker_flash::Flash;
use saker_flash::nand::Shape;
use saker_host::{ClientOptions, ConnectOptions, Connection, Driver, KvClient, Patience};
use saker_nvme::Key;
use saker_profile::Profile;
use saker_segment_store::Geometry;
use saker_world::Clocked;

const KEYS: u64 = 500;
const PUTS: u64 = 2500;
/// One event in so many is cut of those that count, so often at most: each costs a recovery.
const CUT_EVERY: u64 = 10;
const CUTS_MAX: u64 = 60;
const PATIENCE: Patience = Patience { polls_max: 10_000_000 };

/// Where values are, and how many bytes compactions read ahead.
type Asked = (u64, u64);

fn build((min_blob_size, ahead): Asked, capacitor: bool) -> Build {
    let mut profile = Profile::builtin("tiny").expect("built in");
    profile.firmware.background_cores.value = 5;
    let geometry = Geometry { page_bytes: 1024, oob_bytes: 96, segment_pages: 32, segments: 96 };
    let namespace = NamespaceConfig::kv(1, &geometry, geometry.segments, 1);
    let shape = Shape { geometry, channels: 2, luns: 4 };
    let mut build = Build::with(&profile, shape, vec![namespace], 1).with_engine(EngineKind::LSM);
    build.config.capacitor = capacitor;
    build.ask(&side_by_side(min_blob_size));
    build.ask(&Settings::told(&[("compaction_readahead_size", ahead)]));
    build
}

fn opened<D: Driver>(host: &Attachment, mut device: D) -> KvClient<D> {
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(host), &mut device, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    KvClient::open(&mut connection, device, 1, options).expect("opens")
}

fn key(n: u64) -> Key {
    Key::new(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()).expect("eight bytes")
}

/// The key of a put, and its value.
fn put(n: u64) -> (u64, Vec<u8>) {
    (n * 211 % KEYS, [n.to_le_bytes(); 10].concat())
}

/// A device that is looked at after every event.
struct Cut {
    device: Clocked,
    build: Build,
    /// Puts that were answered.
    answered: u64,
    /// Events beside a flush, by compactions.
    met: [u64; 4],
}

impl Driver for Cut {
    fn drive(&mut self) {
        let now = self.device.0.now();
        self.device.0.advance(now);
        if let Some(next) = self.device.0.next_deadline() {
            self.device.0.step(next);
            self.look();
        }
    }
}

impl Cut {
    fn look(&mut self) {
        let device = &self.device.0;
        let has = |kind| device.jobs_under_way(0).filter(|job| job.kind == kind).count();
        let compactions = has(JobKind::Compaction);
        if has(JobKind::Flush) == 0 || compactions < 2 {
            return;
        }
        let met = self.met.iter().sum::<u64>();
        self.met[compactions.min(3)] += 1;
        if met.is_multiple_of(CUT_EVERY) && met < CUT_EVERY * CUTS_MAX {
            let flash = self.build.after_cut(device.flash(), met, Some(timings(&self.build.profile)));
            self.survives(flash);
        }
    }

    /// Every key has the value of its last put that was answered, or of the one that is on its way.
    fn survives(&self, flash: Flash) {
        let host = self.build.attach(1, 8);
        let config = self.build.device_config();
        let device = Device::timed(flash, config, host.clone(), Costs::of(&self.build.profile));
        let mut client = opened(&host, Clocked(device));
        let mut expected = vec![None; KEYS as usize];
        (0..self.answered).map(put).for_each(|(key, value)| expected[key as usize] = Some(value));
        let (last, on_way) = put(self.answered);
        for (n, expected) in expected.into_iter().enumerate() {
            let found = client.get(&key(n as u64)).expect("it reads");
            let is_last = n as u64 == last && found.as_ref() == Some(&on_way);
            assert!(found == expected || is_last, "key {n} after {} puts", self.answered);
        }
    }
}

#[test]
fn power_is_cut_while_a_flush_and_two_compactions_are_under_way() {
    for asked in [(0, 0), (14, 0), (14, 4096)] {
        let build = build(asked, true);
        let host = build.attach(1, 8);
        let device = Clocked(build.timed(host.clone()));
        let mut client = opened(&host, Cut { device, build, answered: 0, met: [0; 4] });
        for n in 0..PUTS {
            let (number, value) = put(n);
            client.put(&key(number), &value).expect("there is room");
            client.driver_mut().answered = n + 1;
        }
        let met = client.driver_mut().met;
        println!("{asked:?}: events beside a flush, by compactions: {met:?}");
        assert!(met[2] + met[3] > 8 * CUT_EVERY, "{asked:?}: {met:?}");
    }
}
