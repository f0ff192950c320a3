// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Payload in the entries of both queues: it arrives whole wherever the rings wrap, or nothing moves.

use super::rings::{Bench, bench};
use proptest::prelude::*;
use saker_link::{Cqe, PostError, Sqe};
use saker_nvme::Status;

fn bytes(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|n| (seed * 31 + n * 7) as u8).collect()
}

proptest! {
    /// Completions with payload between completions without.
    #[test]
    fn behind_completions(entries in 3u32..20, lengths in prop::collection::vec(0usize..200, 1..60)) {
        let Bench { mut host, mut cq, .. } = bench(4, entries);
        for (n, length) in lengths.into_iter().enumerate() {
            let payload = bytes(n, length);
            let cqe = Cqe::new(n as u64, 0, 2, n as u16, Status::SUCCESS);
            let slots = length.div_ceil(14) as u32;
            if slots + 1 > entries - 1 {
                prop_assert_eq!(cq.post_with(&cqe, &payload), Err(PostError::Full));
                prop_assert_eq!(host.poll(), None);
                continue;
            }
            prop_assert_eq!(cq.post_with(&cqe, &payload), Ok(()));
            prop_assert_eq!(cq.room(), Ok(entries - 2 - slots));
            let taken = host.poll().map(|cqe| cqe.cid.get());
            prop_assert_eq!(taken, Some(n as u16));
            let mut out = vec![0; length];
            host.take_payload(&mut out);
            prop_assert_eq!(out, payload);
            prop_assert_eq!(host.poll(), None, "payload is no completion");
            host.ring_cq();
        }
    }

    /// Commands with payload, announced in parts.
    #[test]
    fn behind_commands(entries in 4u32..30, lengths in prop::collection::vec(0usize..900, 1..60)) {
        let Bench { mut host, mut sq, mut cq, .. } = bench(entries, 4);
        for (n, length) in lengths.into_iter().enumerate() {
            let slots = length.div_ceil(64) as u32;
            if slots + 1 > host.free_entries() {
                continue;
            }
            host.submit(&Sqe::new(0xCC, 1).with_cid(n as u16)).expect("room");
            host.ring();
            prop_assert!(sq.fetch().expect("a good doorbell").is_some());
            let (payload, mut out, mut had) = (bytes(n, slots as usize * 64), Vec::new(), 0);
            for (k, slot) in payload.chunks(64).enumerate() {
                host.submit_payload(slot.try_into().expect("64 bytes")).expect("room");
                if k % 3 == n % 3 {
                    host.ring();
                    had += sq.fetch_payload(slots - had, &mut out).expect("a good doorbell");
                    prop_assert_eq!(had as usize, k + 1);
                }
            }
            host.ring();
            had += sq.fetch_payload(slots - had, &mut out).expect("a good doorbell");
            prop_assert_eq!((had, out), (slots, payload));
            prop_assert_eq!(sq.fetch(), Ok(None));
            cq.post(&Cqe::new(0, sq.head(), 2, n as u16, Status::SUCCESS)).expect("room");
            prop_assert!(host.poll().is_some());
            host.ring_cq();
            prop_assert_eq!(host.free_entries(), entries - 1, "the head is behind the payload");
        }
    }
}

#[test]
fn what_is_announced_can_be_thrown_away() {
    let Bench { mut host, mut sq, .. } = bench(8, 4);
    for n in 0..3 {
        host.submit(&Sqe::new(1, 1).with_cid(n)).expect("room");
    }
    host.ring();
    host.submit(&Sqe::new(1, 1).with_cid(3)).expect("room");
    sq.discard_announced().expect("a good doorbell");
    assert_eq!((sq.fetch(), sq.head()), (Ok(None), 3));
    host.ring();
    assert_eq!(sq.fetch().expect("a good doorbell").map(|sqe| sqe.cid.get()), Some(3));
}
