// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that come back in the completion queue.

use crate::methods::rig::{Machine, Rig, build, key, value};
use saker_host::{Method, Pacing};
use saker_link::Rule;
use saker_nvme::Status;
use saker_world::{Clocked, Inline};

fn small<D: Machine>(rig: &mut Rig<D>, name: u32, capacity: u32) -> crate::methods::rig::Answer {
    let ticket = rig.queues[0].retrieve_small(&key(name), capacity).expect("room");
    rig.wait(0, ticket)
}

fn hold<D: Machine>() {
    let mut rig = Rig::<D>::new(&build(), &[(90, 8)]);
    rig.choose(0, Method::Prp, Pacing::Pipelined);
    let sizes = [0, 1, 4, 5, 13, 14, 15, 28, 29, 100, 511, 1024, 1025, 5000];
    for (n, bytes) in sizes.into_iter().enumerate() {
        assert_eq!(rig.put(0, &key(n as u32), &value(3, bytes)), Status::SUCCESS);
    }
    // Often enough for the completion queue to wrap at every offset.
    for round in 0..40 {
        for (n, bytes) in sizes.into_iter().enumerate() {
            for capacity in [4, 5, 14, 100, 1024, 1025] {
                let answer = small(&mut rig, n as u32, capacity);
                let shown = if capacity == 4 && bytes > 4 { 0 } else { bytes.min(capacity as usize) };
                assert_eq!((answer.status, answer.dw0), (Status::SUCCESS, bytes as u32), "{round}");
                assert!(answer.data == value(3, bytes)[..shown], "{bytes} bytes into {capacity}");
            }
        }
        assert_eq!(small(&mut rig, 99, 100).status, Status::KEY_DOES_NOT_EXIST);
        assert_eq!(small(&mut rig, 99, 4).status, Status::KEY_DOES_NOT_EXIST);
        rig.get(0, &key(0));
    }
}

#[test]
fn without_time() {
    hold::<Inline>();
}

#[test]
fn in_virtual_time() {
    hold::<Clocked>();
}

/// Bytes of a read by the rule `protocol`: 88 and the entries of payload, where a page would be 4184.
#[test]
fn small_reads_move_no_page() {
    let mut rig = Rig::<Inline>::new(&build(), &[(200, 1)]);
    rig.choose(0, Method::Prp, Pacing::Pipelined);
    for (bytes, expected) in [(4, 88), (14, 88 + 16), (32, 88 + 3 * 16), (1024, 88 + 74 * 16)] {
        assert_eq!(rig.put(0, &key(1), &value(1, bytes)), Status::SUCCESS);
        rig.pump();
        let before = rig.traffic();
        small(&mut rig, 1, bytes as u32);
        rig.pump();
        let t = rig.traffic() - before;
        assert_eq!(t.bytes(&Rule::Protocol).total(), expected, "{bytes} bytes");
        let before = rig.traffic();
        rig.get(0, &key(1));
        rig.pump();
        assert_eq!((rig.traffic() - before).bytes(&Rule::Protocol).total(), 4184, "{bytes} bytes");
    }
}

/// Several at once, with completions of other commands between them, on a queue that is nearly full.
#[test]
fn payload_and_completions_mix() {
    let mut rig = Rig::<Clocked>::new(&build(), &[(64, 8)]);
    rig.choose(0, Method::Prp, Pacing::Pipelined);
    for n in 0..8 {
        assert_eq!(rig.put(0, &key(n), &value(n, 40 + 30 * n as usize)), Status::SUCCESS);
    }
    for round in 0..60u32 {
        let tickets: Vec<_> = (0..8)
            .map(|n| match (n + round) % 3 {
                0 => rig.queues[0].exist(&key(n)),
                1 => rig.queues[0].retrieve(&key(n), 4096),
                _ => rig.queues[0].retrieve_small(&key(n), 40 + 30 * n),
            })
            .collect();
        for (n, ticket) in tickets.into_iter().enumerate() {
            let answer = rig.wait(0, ticket.expect("room"));
            assert_eq!(answer.status, Status::SUCCESS);
            let shown = if (n as u32 + round).is_multiple_of(3) { 0 } else { 40 + 30 * n };
            assert!(answer.data == value(n as u32, 40 + 30 * n)[..shown], "round {round}, key {n}");
        }
    }
}
