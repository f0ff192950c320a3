// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any entry is answered; what is refused changes nothing.

use proptest::prelude::*;
use saker_nvme::admin::opcode;
use saker_nvme::{Sqe, Status};

use super::support::*;
use crate::controller::Outcome;

const OPCODES: &[u8] = &[
    opcode::DELETE_SQ,
    opcode::CREATE_SQ,
    opcode::GET_LOG_PAGE,
    opcode::DELETE_CQ,
    opcode::CREATE_CQ,
    opcode::IDENTIFY,
    opcode::ABORT,
    opcode::SET_FEATURES,
    opcode::GET_FEATURES,
    opcode::ASYNC_EVENT_REQUEST,
    opcode::KEEP_ALIVE,
    opcode::FORMAT_NVM,
];

/// Small values reach further into the decisions than those of all bits.
fn dword() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(0),
        Just(u32::MAX),
        0_u32..40,
        (0_u32..40, 0_u32..40).prop_map(|(low, high)| low | high << 16),
        (0_u32..3).prop_map(|csi| csi << 24),
        // Features of namespaces and of the host, and the structures of Identify that have lists.
        prop::sample::select(vec![0x05_u32, 0x0A, 0x81, 0x181, 0x281, 0x381, 0x09, 0x12, 0x13, 0x1_0012]),
        any::<u32>(),
    ]
}

fn entry() -> impl Strategy<Value = Sqe> {
    let opcode = prop_oneof![8 => prop::sample::select(OPCODES), 1 => any::<u8>()];
    let flags = prop_oneof![8 => Just(0), 1 => any::<u8>()];
    let dwords = prop::array::uniform6(dword());
    let prp1 = prop_oneof![Just(0x1000_u64), any::<u64>()];
    (opcode, flags, any::<u16>(), dword(), dwords, prp1).prop_map(
        |(opcode, flags, cid, nsid, dwords, prp1)| {
            let mut sqe = Sqe::new(opcode, nsid).with_cid(cid).with_prp(prp1, 0);
            sqe.flags = flags;
            [sqe.cdw10, sqe.cdw11, sqe.cdw12, sqe.cdw13, sqe.cdw14, sqe.cdw15] = dwords.map(Into::into);
            sqe
        },
    )
}

/// The bytes a host expects of a command that returns data.
fn data_bytes(sqe: &Sqe) -> Option<u64> {
    let numd = u64::from(sqe.cdw10.get() >> 16) | u64::from(sqe.cdw11.get() & 0xFFFF) << 16;
    match sqe.opcode {
        opcode::IDENTIFY => Some(4096),
        opcode::GET_LOG_PAGE => Some((numd + 1) * 4),
        // Host Identifier, but its capabilities: 16 bytes with EXHID.
        opcode::GET_FEATURES if sqe.cdw10.get() & 0x7FF & !0x300 == 0x81 && sqe.cdw10.get() >> 8 & 7 != 3 => {
            Some(if sqe.cdw11.get() & 1 == 1 { 16 } else { 8 })
        }
        _ => None,
    }
}

fn check(sqe: &Sqe, outcome: &Outcome) -> Result<(), TestCaseError> {
    if outcome.status.is_success() {
        prop_assert_eq!(outcome.data.as_ref().map(|data| data.len() as u64), data_bytes(sqe));
        prop_assert!(outcome.data.is_none() || outcome.action.is_none());
    } else {
        prop_assert_eq!(outcome, &Outcome::refused(outcome.status));
        prop_assert!(outcome.status.name().is_some());
    }
    if !OPCODES.contains(&sqe.opcode) {
        prop_assert_eq!(outcome.status, Status::INVALID_OPCODE);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_entries_are_answered(
        entries in prop::collection::vec((entry(), any::<bool>()), 1..60),
        cc in prop::sample::select(vec![CC_ALL, CC_NVM, CC_ADMIN]),
    ) {
        let mut bench = Bench::enabled(cc);
        for (sqe, fails) in entries {
            let features = bench.features();
            let outcome = bench.admin(&sqe);
            check(&sqe, &outcome)?;
            if let Some(action) = outcome.action.as_ref().filter(|_| fails) {
                bench.controller.undo(action);
            }
            let changed = bench.features() != features;
            prop_assert!(!changed || (sqe.opcode == opcode::SET_FEATURES && outcome.status.is_success()));
            let undone = fails && outcome.action.is_some();
            prop_assert!(!(changed && undone));
        }
    }

    /// Queues that the answers made and removed agree with a model of sets.
    #[test]
    fn queues_follow_a_model(steps in prop::collection::vec((0_u8..4, 0_u16..10, 0_u16..10), 1..80)) {
        use std::collections::{BTreeMap, BTreeSet};
        use saker_nvme::admin::{CreateSq, build};
        let mut bench = Bench::enabled(CC_ALL);
        let (mut cqs, mut sqs) = (BTreeSet::new(), BTreeMap::new());
        for (step, qid, cqid) in steps {
            let valid = (1..=8).contains(&qid);
            let (sqe, expected) = match step {
                0 => (super::queues::cq(qid), valid && cqs.insert(qid)),
                1 => {
                    let free = valid && !sqs.contains_key(&qid) && cqs.contains(&cqid);
                    if free { sqs.insert(qid, cqid); }
                    let new = CreateSq { qid, entries: 2, contiguous: true, priority: 0, cqid, base: 0 };
                    (build::create_sq(&new), free)
                }
                2 => (build::delete_sq(qid), sqs.remove(&qid).is_some()),
                _ => {
                    let unused = !sqs.values().any(|used| *used == qid);
                    (build::delete_cq(qid), unused && cqs.remove(&qid))
                }
            };
            prop_assert_eq!(bench.admin(&sqe).status.is_success(), expected, "{:?}", sqe);
        }
    }
}
