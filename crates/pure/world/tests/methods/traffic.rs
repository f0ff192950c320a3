// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bytes that both drivers count are those of arithmetic.

use crate::methods::rig::{Machine, Quick, Rig, Timed, build, key, value};
use saker_host::{Method, Pacing};
use saker_link::{Rule, Traffic};
use saker_nvme::Status;
use saker_world::{Clocked, Inline};

/// Value bytes; PRP, piggyback, inline, SGL by the rule `protocol`, one command at a time.
const TABLE: [[u64; 5]; 12] = [
    [4, 4184, 88, 152, 92],
    [35, 4184, 88, 152, 123],
    [36, 4184, 176, 152, 124],
    [64, 4184, 176, 152, 152],
    [91, 4184, 176, 216, 179],
    [92, 4184, 264, 216, 180],
    [128, 4184, 264, 216, 216],
    [256, 4184, 440, 344, 344],
    [512, 4184, 880, 600, 600],
    [1024, 4184, 1672, 1112, 1112],
    [2048, 4184, 3256, 2136, 2136],
    [4096, 4184, 6512, 4184, 4184],
];

fn of_one_store<D: Machine>(rig: &mut Rig<D>, method: Method, bytes: usize) -> Traffic {
    rig.choose(0, method, Pacing::Passthrough);
    rig.pump();
    let before = rig.traffic();
    assert_eq!(rig.put(0, &key(1), &value(2, bytes)), Status::SUCCESS);
    rig.pump();
    rig.traffic() - before
}

fn protocol<D: Machine>(rig: &mut Rig<D>, method: Method, bytes: usize) -> u64 {
    of_one_store(rig, method, bytes).bytes(&Rule::Protocol).total()
}

fn table<D: Machine>() {
    let mut rig = Rig::<D>::new(&build(), &[(100, 1)]);
    for row in TABLE {
        let methods = [Method::Prp, Method::Piggyback, Method::Inline, Method::Sgl];
        let counted = methods.map(|m| protocol(&mut rig, m, row[0] as usize));
        assert_eq!(counted, row[1..], "{} bytes", row[0]);
    }
    let hybrid = [4, 56, 128, 256, 512, 1024, 2048].map(|t| protocol(&mut rig, Method::Hybrid, 4096 + t));
    assert_eq!(hybrid, [4272, 4272, 4448, 4624, 5064, 5856, 7440]);
    let mmio = [1, 64, 65, 4096].map(|v| protocol(&mut rig, Method::Mmio, v));
    assert_eq!(mmio, [152, 152, 216, 4184]);
}

#[test]
fn the_table_without_time() {
    table::<Inline>();
}

#[test]
fn the_table_in_virtual_time() {
    table::<Clocked>();
}

/// What a method carries is whole at every size, also where it takes no more, and is on the link what the method says.
fn small_sizes<D: Machine>() {
    let mut rig = Rig::<D>::new(&build(), &[(100, 1)]);
    for method in Method::ALL {
        for bytes in (0..=600).chain(4096..=4300).filter(|bytes| method.takes(*bytes as u32)) {
            let counted = of_one_store(&mut rig, method, bytes);
            let counted = Traffic { sq_doorbells: 0, cq_doorbells: 0, ..counted };
            assert_eq!(counted, method.traffic(bytes as u32), "{method:?}, {bytes} bytes");
            assert!(rig.get(0, &key(1)).data == value(2, bytes), "{method:?}, {bytes} bytes");
        }
    }
}

#[test]
fn every_small_size_without_time() {
    small_sizes::<Inline>();
}

#[test]
fn every_small_size_in_virtual_time() {
    small_sizes::<Clocked>();
}

/// A value inline is one command: one completion, one ring of the doorbell.
#[test]
fn inline_is_one_completion_and_one_doorbell() {
    let mut rig = Timed::new(&build(), &[(200, 4)]);
    for (bytes, slots) in [(0, 0), (1, 1), (64, 1), (65, 2), (4096, 64), (8192, 128)] {
        let t = of_one_store(&mut rig, Method::Inline, bytes);
        let counted = (t.sqe_fetches, t.inline_slots, t.cqes, t.sq_doorbells, t.cq_doorbells);
        assert_eq!(counted, (1, slots, 1, 1, 1), "{bytes} bytes");
        assert_eq!((t.to_device.bytes(), t.lists.bytes()), (0, 0));
    }
}

/// Pipelined, the commands of a value share a doorbell.
#[test]
fn pipelined_commands_share_a_doorbell() {
    let mut rig = Quick::new(&build(), &[(200, 100)]);
    rig.choose(0, Method::Piggyback, Pacing::Pipelined);
    rig.pump();
    let before = rig.traffic();
    assert_eq!(rig.put(0, &key(1), &value(2, 4096)), Status::SUCCESS);
    rig.pump();
    let t = rig.traffic() - before;
    assert_eq!((t.sqe_fetches, t.cqes, t.sq_doorbells), (74, 74, 1));
}

/// Lists are counted apart: the device reads the entries behind PRP1.
#[test]
fn prp_lists_and_the_way_back() {
    let mut rig = Quick::new(&build(), &[(32, 4)]);
    let t = of_one_store(&mut rig, Method::Prp, 5 * 4096);
    assert_eq!((t.to_device.bytes(), t.lists.bytes()), (5 * 4096, 4 * 8));
    rig.pump();
    let before = rig.traffic();
    assert_eq!(rig.get(0, &key(1)).data.len(), 5 * 4096);
    let t = rig.traffic() - before;
    assert_eq!((t.to_host.bytes(), t.to_device.bytes(), t.lists.bytes()), (5 * 4096, 0, 4 * 8));
}
