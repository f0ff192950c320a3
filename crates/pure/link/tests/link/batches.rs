// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Completions that are published together, and payload that is read where it lies.

use super::rings::{Bench, bench};
use proptest::prelude::*;
use saker_link::{Cqe, PostError, Sqe};
use saker_nvme::Status;

fn success(cid: u16) -> Cqe {
    Cqe::new(u64::from(cid) << 20, 0, 2, cid, Status::SUCCESS)
}

#[test]
fn a_completion_posted_for_later_is_seen_when_its_line_is_full_or_published() {
    let Bench { mut host, mut cq, .. } = bench(16, 16);
    for cid in 0..3 {
        cq.post_later(&success(cid)).expect("room");
        assert_eq!(host.poll(), None, "the line has room for more");
    }
    cq.post_later(&success(3)).expect("room");
    for cid in 0..4 {
        assert_eq!(host.poll().map(|cqe| cqe.cid.get()), Some(cid));
    }
    cq.post_later(&success(4)).expect("room");
    assert_eq!(host.poll(), None);
    cq.publish();
    assert_eq!(host.poll().map(|cqe| cqe.cid.get()), Some(4));
    // A line that was begun goes on where it was left.
    cq.post_later(&success(5)).expect("room");
    cq.post(&success(6)).expect("room");
    assert_eq!([host.poll(), host.poll()].map(|cqe| cqe.map(|cqe| cqe.cid.get())), [Some(5), Some(6)]);
}

proptest! {
    /// A model of the queue: what was posted comes in order, at the latest when published; as much fits as without batches.
    #[test]
    fn batches_keep_order_and_room(
        entries in 2u32..20,
        steps in prop::collection::vec((any::<bool>(), 0usize..6, any::<bool>()), 1..120),
    ) {
        let Bench { mut host, mut cq, .. } = bench(4, entries);
        let (mut posted, mut taken, mut reported) = (0u16, 0u16, 0u16);
        for (publishes, takes, reports) in steps {
            let full = u32::from(posted - reported) == entries - 1;
            let outcome = cq.post_later(&success(posted));
            prop_assert_eq!(outcome, if full { Err(PostError::Full) } else { Ok(()) });
            posted += u16::from(!full);
            if publishes {
                cq.publish();
                let waiting = u32::from(posted - taken);
                prop_assert!(waiting == 0 || host.has_completed(waiting), "{} of {}", waiting, entries);
                prop_assert!(waiting + 1 >= entries || !host.has_completed(waiting + 1));
            }
            for _ in 0..takes {
                let Some(cqe) = host.poll() else { break };
                prop_assert_eq!(cqe.cid.get(), taken);
                taken += 1;
            }
            if reports {
                host.ring_cq();
                reported = taken;
            }
        }
        cq.publish();
        while let Some(cqe) = host.poll() {
            prop_assert_eq!(cqe.cid.get(), taken);
            taken += 1;
        }
        prop_assert_eq!(taken, posted);
    }

    /// Any range of the announced payload, wherever the ring wraps; nothing beyond it.
    #[test]
    fn payload_is_read_where_it_lies(
        entries in 4u32..30,
        turns in prop::collection::vec((0usize..900, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..40),
    ) {
        let Bench { mut host, mut sq, mut cq, .. } = bench(entries, 4);
        for (n, (length, from, to)) in turns.into_iter().enumerate() {
            let slots = length.div_ceil(64) as u32;
            if slots + 1 > host.free_entries() {
                continue;
            }
            host.submit(&Sqe::new(0xCC, 1).with_cid(n as u16)).expect("room");
            let payload: Vec<u8> = (0..slots as usize * 64).map(|k| (n * 31 + k * 7) as u8).collect();
            for slot in payload.chunks(64) {
                host.submit_payload(slot.try_into().expect("64 bytes")).expect("room");
            }
            host.ring();
            prop_assert!(sq.fetch().expect("a good doorbell").is_some());
            prop_assert_eq!(sq.has_announced(slots), Ok(true));
            prop_assert_eq!(sq.has_announced(slots + 1), Ok(false));
            let from = from.index(payload.len() + 1);
            let mut out = vec![0; to.index(payload.len() - from + 1)];
            prop_assert!(sq.read_payload(from, &mut out));
            prop_assert_eq!(&out, &payload[from..from + out.len()]);
            prop_assert!(!sq.read_payload(payload.len(), &mut [0]));
            prop_assert!(!sq.read_payload(usize::MAX, &mut [0]));
            sq.skip_payload(slots);
            prop_assert_eq!(sq.fetch(), Ok(None));
            cq.post(&Cqe::new(0, sq.head(), 2, n as u16, Status::SUCCESS)).expect("room");
            prop_assert!(host.poll().is_some());
            host.ring_cq();
            prop_assert_eq!(host.free_entries(), entries - 1, "the head is behind the payload");
        }
    }
}
