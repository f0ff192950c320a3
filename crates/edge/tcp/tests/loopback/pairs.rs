// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Features of a target in pairs: connections that end while others work, with formats, features and the same keys.

use std::sync::atomic::{AtomicBool, Ordering};

use saker::{Hold, Kv, WriteStallCause};
use saker_nvme::admin::{FormatNvm, SetFeatures, build, feature::fid};
use saker_nvme::{Sqe, Status, kv};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::Server;

use crate::loopback::raw::RawQueue;
use crate::loopback::support::{DEVICE, config, count, open, serve, value};

fn store(key: u32, bytes: usize, cid: u16) -> Sqe {
    let mut sqe = Sqe::new(kv::opcode::STORE, 1).with_cid(cid);
    sqe.cdw2.set(key);
    (sqe.cdw10, sqe.cdw11) = ((bytes as u32).into(), 4.into());
    sqe
}

fn connected(server: &Server) -> (RawQueue, RawQueue) {
    let (address, nqn) = (server.addresses()[0], &server.names()[0]);
    let (admin, cntlid) = RawQueue::admin(address, nqn);
    let (queue, _) = RawQueue::connect(address, nqn, cntlid, (1, 64)).expect("connected");
    (admin, queue)
}

/// A way is lost with many old values of a key under way; what another way stores then is never replaced by one of them.
fn no_older_write_comes_behind(url: &str, rounds: u32) {
    let server = serve(url);
    let mut other = open(&server, "");
    for round in 0..rounds {
        let (admin, mut queue) = connected(&server);
        for cid in 0..32 {
            let bytes = 8_000 - usize::from(cid);
            assert!(queue.protocol.submit(store(7, bytes, cid), Data::Send(vec![cid as u8; bytes]), 8192));
        }
        queue.send();
        if round % 2 == 0 {
            // Some have been carried out.
            queue.answer();
        }
        drop((queue, admin));
        let newest = value(7, round, 100);
        other.put(&7_u32.to_le_bytes(), &newest).expect("stored");
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            let found = other.get(&7_u32.to_le_bytes()).expect("read");
            assert!(
                found.as_ref() == Some(&newest),
                "round {round}: {} bytes",
                found.unwrap_or_default().len()
            );
        }
    }
    drop(other);
    server.stop().expect("stopped");
}

#[test]
fn what_a_lost_way_had_under_way_does_not_replace_what_another_stored() {
    no_older_write_comes_behind(DEVICE, count(300) as u32);
    no_older_write_comes_behind("mem:?size=512MiB&engine=lsm", count(100) as u32);
}

#[test]
fn what_a_lost_way_had_under_way_in_a_slow_device_does_not_either() {
    no_older_write_comes_behind("mem:?size=512MiB&timing=real", count(100) as u32);
}

/// Hosts that store, one that formats, and some that leave in the middle of what they say.
#[test]
fn hosts_leave_and_one_formats() {
    let server = serve(DEVICE);
    let stop = AtomicBool::new(false);
    let address = server.addresses()[0];
    let nqn = &server.names()[0];
    std::thread::scope(|scope| {
        for host in 0..4_u32 {
            let (server, stop) = (&server, &stop);
            scope.spawn(move || {
                let mut kv = open(server, "");
                for n in 0_u32.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    kv.put(
                        &((host << 16) | (n % 50)).to_le_bytes(),
                        &value(n, host, (n as usize * 997) % 40_000),
                    )
                    .expect("stored");
                }
            });
        }
        for _ in 0..count(100) {
            // Half a value, then gone.
            let (admin, cntlid) = RawQueue::admin(address, nqn);
            let (mut queue, _) = RawQueue::connect(address, nqn, cntlid, (1, 32)).expect("connected");
            assert!(queue.protocol.submit(store(1, 1 << 20, 0), Data::Send(vec![1; 1 << 20]), 0));
            queue.send();
            drop((queue, admin));
            let (mut admin, _) = RawQueue::admin(address, nqn);
            let format = FormatNvm { nsid: 1, format_index: 0, secure_erase: 0 };
            assert_eq!(admin.execute(build::format_nvm(&format), Data::None).cqe.status(), Status::SUCCESS);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let mut kv = open(&server, "");
    kv.put(b"last", b"and sound").expect("stored");
    assert_eq!(kv.get(b"last").expect("read"), Some(b"and sound".to_vec()));
    drop(kv);
    for _ in 0..500 {
        if server.memory_in_use() == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(server.memory_in_use(), 0);
    server.stop().expect("stopped");
}

fn write_cache(admin: &mut RawQueue, is_on: bool) {
    let set = SetFeatures { nsid: 0, fid: fid::VOLATILE_WRITE_CACHE, save: false, cdw11: is_on.into() };
    assert_eq!(admin.execute(build::set_features(&set), Data::None).cqe.status(), Status::SUCCESS);
}

/// Two controllers of one host share the device's write cache, also while one of them is lost again and again: a command of
/// the other fails at no time, and both wrote whole values.
#[test]
fn a_reset_of_one_controller_leaves_the_others_commands_alone() {
    // Without a capacitor, so that there is a cache to switch.
    let mut config = config("mem:?size=512MiB&profile=nvmevirt-970pro");
    config.listen.push("127.0.0.1:0".parse().expect("an address"));
    let server = Server::start(config).expect("the server starts");
    let nqn = &server.names()[0];
    let (mut one, cntlid) = RawQueue::admin(server.addresses()[0], nqn);
    let (mut queue, _) = RawQueue::connect(server.addresses()[0], nqn, cntlid, (1, 64)).expect("connected");
    let mut other = Kv::open(&format!("tcp://{}/{nqn}", server.addresses()[1])).expect("open");
    for round in 0..count(200) as u32 {
        for cid in 0..16 {
            let bytes = 3_000;
            assert!(queue.protocol.submit(
                store(u32::from(cid), bytes, cid),
                Data::Send(value(1, round, bytes)),
                8192
            ));
        }
        queue.send();
        for key in 0..16_u32 {
            other.put(&key.to_le_bytes(), &value(2, round, 3_000)).expect("stored");
        }
        // Both wrote the same keys: each holds one of the two values, whole.
        for _ in 0..16 {
            assert_eq!(queue.answer().cqe.status(), Status::SUCCESS);
        }
        for key in 0..16_u32 {
            let found = other.get(&key.to_le_bytes()).expect("read");
            let either = [value(1, round, 3_000), value(2, round, 3_000)];
            assert!(found.is_some_and(|found| either.contains(&found)), "round {round}, key {key}");
        }
        if round % 4 == 3 {
            write_cache(&mut one, round % 8 == 3);
            drop((queue, one));
            let (admin, cntlid) = RawQueue::admin(server.addresses()[0], nqn);
            one = admin;
            (queue, _) = RawQueue::connect(server.addresses()[0], nqn, cntlid, (1, 64)).expect("connected");
        }
    }
    drop((queue, one, other));
    server.stop().expect("stopped");
}

/// Writes that the device's engine delays or stops, from a host that knows nothing of it; with a live setting from there.
#[test]
fn writes_that_are_held_back_over_the_network_are_stored() {
    for limit in ["40", "1"] {
        let server = serve(&format!(
            "mem:?profile=tiny&size=8MiB&engine=lsm&timing=real&write_buffer_size=2KiB&level0_file_num_compaction_trigger=1\
             &level0_slowdown_writes_trigger=1&delayed_write_rate=64KiB&level0_stop_writes_trigger={limit}"
        ));
        let mut kv = open(&server, "");
        for version in 0..2 {
            for n in 0..300 {
                kv.put_queued(&key_of(n), &value(n, version, 100)).expect("queued");
            }
            kv.drain().expect("stored");
            kv.set_setting("slowdown", "off").expect("live");
        }
        (0..300).for_each(|n| assert_eq!(kv.get(&key_of(n)), Ok(Some(value(n, 1, 100))), "pair {n}"));
        kv.delete(&key_of(7)).expect("deleted");
        assert_eq!(kv.get(&key_of(7)), Ok(None));
        let told = kv.write_control().expect("asked").expect("told").stalls;
        let hold = if limit == "1" { Hold::Stopped } else { Hold::Delayed };
        assert!(told.of(hold, WriteStallCause::L0FileCountLimit).writes > 0, "{told:?}");
        drop(kv);
        server.stop().expect("stopped");
    }
}

fn key_of(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}
