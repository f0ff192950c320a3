// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that never become whole: the host rings early, lies about lengths, aborts, deletes the queue, resets.

use crate::methods::rig::{Machine, Rig, build, key, payload, value};
use saker_device::{DeviceConfig, NamespaceConfig};
use saker_link::{HostQueuePair, Sqe, offset};
use saker_nvme::admin::build as admin;
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Cqe, Status, vendor_specific};
use saker_world::{Clocked, Inline};

const NONE: StoreOptions = StoreOptions::NONE;

/// Turns until nothing happens any more; what has completed.
fn settle<D: Machine>(rig: &mut Rig<D>, pair: &mut HostQueuePair) -> Vec<Cqe> {
    let mut all = Vec::new();
    for _ in 0..200 {
        rig.machine.drive();
        while let Some(cqe) = pair.poll() {
            all.push(cqe);
            pair.ring_cq();
        }
    }
    all
}

fn statuses(all: &[Cqe]) -> Vec<(u16, Status)> {
    all.iter().map(|cqe| (cqe.cid.get(), cqe.status())).collect()
}

fn rig<D: Machine>(entries: u32) -> (Rig<D>, HostQueuePair) {
    // The second queue pair is the test's own.
    let mut rig = Rig::<D>::new(&build(), &[(32, 8), (2, 1)]);
    rig.queues.truncate(1);
    rig.connection.delete_queue(&mut rig.machine, 2).expect("deleted");
    let pair = rig.connection.create_queue(&mut rig.machine, entries).expect("made");
    assert_eq!(pair.queue(), 2);
    (rig, pair)
}

fn store(name: u32, bytes: usize, cid: u16) -> Sqe {
    vendor_specific::store_inline(1, &key(name), bytes as u32, NONE).with_cid(cid)
}

/// The doorbell covers the command but not its value: the queue waits, others go on, and the rest makes it whole.
fn truncated<D: Machine>() {
    let (mut rig, mut pair) = rig::<D>(16);
    let bytes = value(1, 200);
    pair.submit(&store(1, 200, 5)).expect("room");
    let slots = payload(&bytes);
    pair.submit_payload(&slots[0]).expect("room");
    pair.ring();
    assert_eq!(statuses(&settle(&mut rig, &mut pair)), []);
    assert_eq!(rig.machine.gathered(), 64);
    assert_eq!(rig.put(0, &key(2), b"other"), Status::SUCCESS);
    for slot in &slots[1..] {
        assert_eq!(statuses(&settle(&mut rig, &mut pair)), []);
        pair.submit_payload(slot).expect("room");
        pair.ring();
    }
    let all = settle(&mut rig, &mut pair);
    assert_eq!(statuses(&all), [(5, Status::SUCCESS)]);
    assert_eq!(all[0].sqhd.get(), 5, "the head is behind the value");
    assert_eq!(rig.get(0, &key(1)).data, bytes);
    assert_eq!(rig.machine.gathered(), 0);
}

/// Abort of a store that waits: it ends with 07h, its late value is passed over, the next command is none of it.
fn aborted<D: Machine>() {
    let (mut rig, mut pair) = rig::<D>(16);
    pair.submit(&store(1, 128, 9)).expect("room");
    pair.ring();
    assert_eq!(statuses(&settle(&mut rig, &mut pair)), []);
    let wrong = rig.connection.execute_admin(&mut rig.machine, admin::abort(2, 8)).expect("completes");
    assert_eq!(wrong.result_dw0() & 1, 1, "not aborted");
    let cqe = rig.connection.execute_admin(&mut rig.machine, admin::abort(2, 9)).expect("completes");
    assert_eq!(cqe.result_dw0() & 1, 0, "aborted");
    assert_eq!(statuses(&settle(&mut rig, &mut pair)), [(9, Status::ABORT_REQUESTED)]);
    for slot in payload(&[0xCC; 128]) {
        pair.submit_payload(&slot).expect("room");
    }
    pair.submit(&kv::exist(1, &key(1)).with_cid(3)).expect("room");
    pair.ring();
    assert_eq!(statuses(&settle(&mut rig, &mut pair)), [(3, Status::KEY_DOES_NOT_EXIST)]);
    assert_eq!(rig.machine.gathered(), 0);
}

/// Lengths that the queue or the gathering memory cannot hold are refused, and payload is never taken for commands.
fn malformed_lengths<D: Machine>() {
    let (mut rig, mut pair) = rig::<D>(300);
    let delete = |cid| kv::delete(1, &key(1)).with_cid(cid);
    assert_eq!(rig.put(0, &key(1), b"kept"), Status::SUCCESS);
    for (n, bytes) in [u32::MAX, 300 * 64, 298 * 64 + 1].into_iter().enumerate() {
        let sqe = vendor_specific::store_inline(1, &key(2), bytes, NONE).with_cid(n as u16);
        pair.submit(&sqe).expect("room");
        // Payload that looks like a Delete of a key that must stay.
        pair.submit(&delete(40)).expect("room");
        pair.ring();
        assert_eq!(statuses(&settle(&mut rig, &mut pair)), [(n as u16, Status::INVALID_FIELD)]);
    }
    // Too much to gather, but the queue holds it: passed over exactly.
    pair.submit(&store(2, (16 << 10) + 1, 7)).expect("room");
    for _ in 0..257 {
        pair.submit_payload(&zerocopy::transmute!(delete(41))).expect("room");
    }
    pair.submit(&kv::exist(1, &key(1)).with_cid(8)).expect("room");
    pair.ring();
    let all = settle(&mut rig, &mut pair);
    assert_eq!(statuses(&all), [(7, Status::INVALID_FIELD), (8, Status::SUCCESS)]);
    // So are values of commands that are refused for other reasons.
    let mut bad_nsid = store(2, 64, 1);
    bad_nsid.nsid = 9.into();
    for sqe in [bad_nsid, vendor_specific::store_inline(1, &key(2), 64, NONE).with_cid(1)] {
        let mut sqe = sqe;
        if sqe.nsid.get() == 1 {
            sqe.cdw11 = 0.into();
        }
        pair.submit(&sqe).expect("room");
        pair.submit_payload(&zerocopy::transmute!(delete(42))).expect("room");
        pair.ring();
        let all = statuses(&settle(&mut rig, &mut pair));
        assert!(all.len() == 1 && all[0].0 == 1 && !all[0].1.is_success(), "{all:?}");
    }
    assert_eq!(rig.get(0, &key(1)).data, b"kept");
    assert_eq!(rig.machine.gathered(), 0);
}

/// The rest of a value that was open when its queue went away belongs to nothing.
fn queue_deletion<D: Machine>() {
    let (mut rig, mut pair) = rig::<D>(16);
    let bytes = value(1, 100);
    let opened = [
        vendor_specific::store_piggyback(1, &key(1), &bytes, NONE).with_cid(1),
        vendor_specific::tail(1, 0, &bytes[..56]).with_cid(1),
        store(1, 100, 1),
    ];
    for open in opened {
        pair.submit(&open).expect("room");
        pair.ring();
        let ended = settle(&mut rig, &mut pair).len();
        rig.connection.delete_queue(&mut rig.machine, 2).expect("deleted");
        assert_eq!(rig.machine.gathered(), 0, "{open:?}");
        pair = rig.connection.create_queue(&mut rig.machine, 16).expect("made");
        let rest = vendor_specific::transfer(1, 1, &bytes[35..91]).with_cid(2);
        let tail = vendor_specific::tail(1, 1, &bytes[..1]).with_cid(3);
        pair.submit(&rest).expect("room");
        pair.submit(&tail).expect("room");
        pair.ring();
        let late = statuses(&settle(&mut rig, &mut pair));
        assert_eq!(late, [(2, Status::COMMAND_SEQUENCE_ERROR), (3, Status::COMMAND_SEQUENCE_ERROR)]);
        assert!(ended <= 1);
    }
    assert_eq!(rig.get(0, &key(1)).status, Status::KEY_DOES_NOT_EXIST);
}

/// So with a controller reset.
fn reset<D: Machine>() {
    let (mut rig, mut pair) = rig::<D>(16);
    pair.submit(&vendor_specific::store_piggyback(1, &key(1), &value(1, 100), NONE)).expect("room");
    pair.submit(&store(1, 640, 1)).expect("room");
    pair.ring();
    settle(&mut rig, &mut pair);
    let registers = rig.connection.port().registers.clone();
    let cc = registers.load_u32(offset::CC).expect("exists");
    registers.store_u32(offset::CC, cc & !1).expect("exists");
    settle(&mut rig, &mut pair);
    assert_eq!(rig.machine.gathered(), 0);
}

/// For a block namespace the opcodes mean nothing: 01h at once, and what follows are commands.
fn block_namespaces<D: Machine>() {
    let mut build = build();
    let g = build.shape.geometry;
    let kinds =
        vec![NamespaceConfig::kv(1, &g, g.segments - 12, 7), NamespaceConfig::block(2, &g, 12, true, 512)];
    build.config = DeviceConfig::with(kinds, true, 7);
    let mut rig = Rig::<D>::new(&build, &[(32, 8), (2, 1)]);
    rig.queues.truncate(1);
    rig.connection.delete_queue(&mut rig.machine, 2).expect("deleted");
    let mut pair = rig.connection.create_queue(&mut rig.machine, 16).expect("made");
    for (opcode, ..) in vendor_specific::COMMANDS {
        let mut sqe = Sqe::new(opcode, 2).with_cid(1);
        sqe.cdw10 = 238.into();
        pair.submit(&sqe).expect("room");
        pair.submit(&kv::exist(1, &key(1)).with_cid(2)).expect("room");
        pair.ring();
        let all = statuses(&settle(&mut rig, &mut pair));
        assert_eq!(all, [(1, Status::INVALID_OPCODE), (2, Status::KEY_DOES_NOT_EXIST)], "{opcode:#x}");
    }
}

/// A commit takes what was stored since the last one: nothing twice, nothing of another queue, nothing from outside.
fn mmio<D: Machine>() {
    let (mut rig, mut pair) = rig::<D>(16);
    let bar = rig.connection.port().bar.clone();
    let bytes = value(1, 100);
    let commit = |at, len, cid| vendor_specific::store_mmio(1, &key(1), len, at, NONE).with_cid(cid);
    bar.store(2, 64, &bytes).expect("in the region");
    bar.store(1, 0, &[9; 64]).expect("in the region");
    let lost = Status::COMMAND_SEQUENCE_ERROR;
    let cases = [
        (commit(0, 64, 1), lost),
        (commit(64, 100, 2), Status::SUCCESS),
        (commit(64, 100, 3), lost),
        (commit(8192, 1, 4), Status::INVALID_FIELD),
        (commit(8128, 65, 5), Status::INVALID_FIELD),
        (commit(8, 8, 6), Status::INVALID_FIELD),
        (commit(0, 10_000, 7), Status::INVALID_FIELD),
    ];
    for (sqe, expected) in cases {
        pair.submit(&sqe).expect("room");
        pair.ring();
        assert_eq!(statuses(&settle(&mut rig, &mut pair)), [(sqe.cid.get(), expected)], "{sqe:?}");
    }
    assert_eq!(rig.get(0, &key(1)).data, bytes);
    assert_eq!(rig.machine.gathered(), 0);
}

macro_rules! on_both_drivers {
    ($($name:ident),+ $(,)?) => { $(
        mod $name {
            #[test]
            fn without_time() {
                super::$name::<super::Inline>();
            }
            #[test]
            fn in_virtual_time() {
                super::$name::<super::Clocked>();
            }
        }
    )+ };
}

on_both_drivers!(truncated, aborted, malformed_lengths, queue_deletion, reset, mmio, block_namespaces);
