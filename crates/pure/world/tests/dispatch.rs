// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the dispatcher hands commands to the modelled cores: in turn, commands on one key overtake each other; by key they do
//! not, whatever they are, and other keys do not wait.

use saker_assembly::Build;
use saker_assembly::port;
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, Driver, KvQueue, TransferOptions};
use saker_nvme::Key;
use saker_nvme::group::{Form, Op, Packer};
use saker_nvme::kv::StoreOptions;
use saker_profile::Profile;
use saker_sim::{Duration, Rng, Seed};
use saker_world::Clocked;
use std::collections::BTreeMap;

const SLOTS: u16 = 32;

struct Rig {
    device: Clocked,
    kv: KvQueue,
    _connection: Connection,
}

impl Rig {
    fn new(dispatch: &str, cores: u32, engine: saker_engine::EngineKind) -> Self {
        let mut profile = Profile::builtin("tiny").expect("built in");
        profile.set("firmware.dispatch", dispatch).expect("a way to dispatch");
        profile.set("firmware.io_cores", &cores.to_string()).expect("a number of cores");
        // So slow that cores and not the link decide.
        profile.set("firmware.cpu.copy_byte_ps", "20000").expect("a price");
        let build = Build::kv(&profile, 64 << 20, 1).expect("large enough").with_engine(engine);
        let host = build.attach(2, SLOTS);
        let mut device = Clocked(build.timed(host.clone()));
        let mut connection =
            Connection::connect(port(&host), &mut device, ConnectOptions::default()).expect("connects");
        let options = KvQueueOptions { entries: u32::from(SLOTS) + 1, slots: SLOTS };
        let mut kv = connection.create_kv_queue(&mut device, 1, options).expect("a queue");
        connection.set_transfer(&mut device, &mut kv, TransferOptions::default()).expect("log pages");
        Self { device, kv, _connection: connection }
    }

    /// Waits for all; the data of each, by the number of its submission.
    fn finish(&mut self, tickets: &[saker_host::Ticket]) -> Vec<Vec<u8>> {
        let mut ended = BTreeMap::new();
        self.kv.ring();
        for _ in 0..100_000 {
            while let Some(done) = self.kv.poll(|d| (d.ticket, d.status, d.into_vec())) {
                let (ticket, status, data) = done.expect("an answer to a command");
                assert!(status.is_success() || data.is_empty(), "{status}");
                let n = tickets.iter().position(|t| *t == ticket).expect("in flight");
                ended.insert(n, data);
            }
            if ended.len() == tickets.len() {
                return ended.into_values().collect();
            }
            self.device.drive();
        }
        panic!("no answer");
    }

    fn get(&mut self, key: &Key) -> Vec<u8> {
        let ticket = self.kv.retrieve(key, 8192).expect("room");
        self.finish(&[ticket]).remove(0)
    }
}

fn key(n: u64) -> Key {
    Key::new(&n.to_le_bytes()[..3]).expect("three bytes")
}

/// A value that tells which write it is of.
fn value(n: u32, bytes: usize) -> Vec<u8> {
    let mut value = n.to_le_bytes().to_vec();
    value.resize(4 + bytes, 7);
    value
}

/// Commands of all kinds on few keys, `SLOTS` in flight; how many reads and last values were not those of the order of
/// submission.
fn overtakings(rig: &mut Rig, rng: &mut Rng) -> usize {
    let (mut last, mut wrong) = (BTreeMap::new(), 0);
    for round in 0..20 {
        let (mut tickets, mut expected) = (Vec::new(), Vec::new());
        for n in 0..u32::from(SLOTS) {
            let (k, write) = (rng.below(3), round * 100 + n);
            let bytes = if rng.below(4) == 0 { 3000 } else { rng.below(60) as usize };
            let (ticket, read) = match rng.below(8) {
                0..4 => {
                    last.insert(k, value(write, bytes));
                    (rig.kv.store(&key(k), &last[&k], StoreOptions::NONE), Vec::new())
                }
                4 => {
                    let mut payload = vec![0; 8192];
                    let mut packer = Packer::new(Form::All(Op::Store), &mut payload).expect("room");
                    for k in [k, (k + 1) % 3] {
                        last.insert(k, value(write, bytes));
                        packer.push(Op::Store, key(k).as_bytes(), &last[&k]).expect("room");
                    }
                    let bytes = packer.finish();
                    (rig.kv.group(Form::All(Op::Store), None, &payload[..bytes]), Vec::new())
                }
                _ => (rig.kv.retrieve(&key(k), 8192), last.get(&k).cloned().unwrap_or_default()),
            };
            tickets.push(ticket.expect("room"));
            expected.push(read);
        }
        let found = rig.finish(&tickets);
        wrong += found.iter().zip(&expected).filter(|(f, e)| f != e).count();
        wrong += (0..3).filter(|k| last.get(k).is_some_and(|v| rig.get(&key(*k)) != *v)).count();
        // What is there is what the next round begins with.
        last = (0..3).map(|k| (k, rig.get(&key(k)))).filter(|(_, v)| !v.is_empty()).collect();
    }
    wrong
}

#[test]
fn in_turn_commands_on_one_key_overtake_each_other_and_by_key_they_do_not() {
    for engine in saker_engine::EngineKind::ALL {
        let count = |dispatch: &str| {
            overtakings(&mut Rig::new(dispatch, 4, *engine), &mut Seed(5).child(engine.name()).rng())
        };
        assert!(count("round_robin") > 0, "{}", engine.name());
        assert_eq!(count("by_key"), 0, "{}", engine.name());
    }
}

/// How long 64 stores take, under as many keys.
fn duration(dispatch: &str, cores: u32, keys: u64) -> Duration {
    let mut rig = Rig::new(dispatch, cores, saker_engine::EngineKind::HASH_STORE);
    let begun = rig.device.0.now();
    for _ in 0..4 {
        let tickets: Vec<_> = (0..u64::from(SLOTS))
            .map(|n| rig.kv.store(&key(n % keys), &[1; 2000], StoreOptions::NONE).expect("room"))
            .collect();
        rig.finish(&tickets);
    }
    rig.device.0.now().since(begun)
}

#[test]
fn other_keys_use_other_cores_and_one_key_one() {
    for dispatch in ["shared", "round_robin", "by_key"] {
        let (one, four) = (duration(dispatch, 1, 1000), duration(dispatch, 4, 1000));
        assert!(four * 2 < one, "{dispatch}: {one:?} on one core, {four:?} on four");
    }
    let (one, four) = (duration("by_key", 1, 1), duration("by_key", 4, 1));
    assert_eq!(one, four, "one key has one core");
}
