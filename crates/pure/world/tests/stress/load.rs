// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work under a load that never pauses.

use crate::stress::rig::{self, KV, Machine, Rig};
use crate::stress::tier;
use saker_assembly::Build;
use saker_host::RawData;
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, Sqe};
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::Clocked;

const IN_FLIGHT: usize = rig::DEPTH as usize;
const VALUE_BYTES: u32 = 900;
const KEYS: u64 = 40;

/// The small device on a medium of four parameters whose reads and writes are slower than the rest of the device.
fn saturated() -> Build {
    let mut build = rig::roomy(true, 5);
    let mut profile = Profile::builtin("saker-mid").expect("built in");
    for path in ["media.read_bandwidth_bytes_per_s", "media.write_bandwidth_bytes_per_s"] {
        profile.set(path, "100_000_000").expect("a number");
    }
    profile.set("geometry.power_safe_ring_slots", "48").expect("a number");
    build.profile = profile;
    build
}

/// One store or retrieve of a few keys.
fn submit(rig: &mut Rig<Clocked>, rng: &mut saker_sim::Rng, reads: u64) {
    let key = Key::new(&rng.below(KEYS).to_le_bytes()).expect("8 bytes");
    let value = [7; VALUE_BYTES as usize];
    let (sqe, data): (Sqe, _) = if rng.below(100) < reads {
        (kv::retrieve(KV, &key, 4096), RawData::FromDevice(4096))
    } else {
        (kv::store(KV, &key, VALUE_BYTES, StoreOptions::NONE), RawData::ToDevice(&value))
    };
    rig.kv.raw(sqe, data).expect("the queue has room");
}

/// Keeps the queue full for that many commands; how many checkpoints were completed meanwhile.
fn load(rig: &mut Rig<Clocked>, commands: u32, reads: u64) -> u64 {
    let checkpoints = |rig: &mut Rig<_>| Machine::stats(&mut rig.machine).namespaces[0].store.checkpoints;
    let before = checkpoints(rig);
    let mut rng = Seed(u64::from(commands)).child("load").rng();
    let (mut sent, mut in_flight) = (0, 0);
    while sent < commands {
        while in_flight < IN_FLIGHT {
            submit(rig, &mut rng, reads);
            (sent, in_flight) = (sent + 1, in_flight + 1);
        }
        rig.kv.ring();
        saker_host::Driver::drive(&mut rig.machine);
        while let Some(done) = rig.kv.poll(|d| d.status) {
            let status = done.expect("an answer to a command");
            assert!(status.is_success() || status.is(saker_nvme::Status::KEY_DOES_NOT_EXIST), "{status}");
            in_flight -= 1;
        }
    }
    checkpoints(rig) - before
}

/// 40 KiB of log are worth a checkpoint: the load is worth dozens.
#[test]
fn checkpoints_complete_while_the_medium_is_saturated() {
    for reads in [0, 50, 90] {
        let mut rig = Rig::<Clocked>::new(&saturated());
        let completed = load(&mut rig, tier(4_000, 40_000), reads);
        assert!(completed >= tier(4, 40), "{completed} checkpoints with {reads} % reads");
    }
}
