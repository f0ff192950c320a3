// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Create and delete I/O queues; Abort.

use saker_nvme::admin::{CreateCq, CreateSq, build};
use saker_nvme::{Sqe, Status};

use super::support::*;
use crate::controller::{Action, Outcome};

const CQ: CreateCq = CreateCq {
    qid: 1,
    entries: 64,
    contiguous: true,
    interrupts_enabled: true,
    interrupt_vector: 1,
    base: 0x30_0000,
};
const SQ: CreateSq =
    CreateSq { qid: 1, entries: 64, contiguous: true, priority: 0, cqid: 1, base: 0x40_0000 };

pub fn cq(qid: u16) -> Sqe {
    build::create_cq(&CreateCq { qid, ..CQ })
}

fn sq(qid: u16, cqid: u16) -> Sqe {
    build::create_sq(&CreateSq { qid, cqid, ..SQ })
}

#[test]
fn queues_come_and_go() {
    let mut bench = Bench::enabled(CC_ALL);
    let made = Action::CreateCq { qid: 1, entries: 64, iova: 0x30_0000, vector: Some(1) };
    assert_eq!(bench.action(&cq(1)), made);
    let made = Action::CreateSq { qid: 3, cqid: 1, entries: 64, iova: 0x40_0000 };
    assert_eq!(bench.action(&sq(3, 1)), made);
    bench.action(&sq(4, 1));
    assert_eq!(bench.refusal(&build::delete_cq(1)), Status::INVALID_QUEUE_DELETION);
    assert_eq!(bench.action(&build::delete_sq(3)), Action::DeleteSq { qid: 3, cqid: 1 });
    assert_eq!(bench.refusal(&build::delete_cq(1)), Status::INVALID_QUEUE_DELETION);
    bench.action(&build::delete_sq(4));
    assert_eq!(bench.action(&build::delete_cq(1)), Action::DeleteCq { qid: 1 });
    assert_eq!(bench.refusal(&sq(1, 1)), Status::CQ_INVALID);
    assert_eq!(
        bench.action(&cq(1)),
        Action::CreateCq { qid: 1, entries: 64, iova: 0x30_0000, vector: Some(1) }
    );
}

#[test]
fn an_interrupt_vector_is_one_of_those_there_are() {
    let mut bench = Bench::enabled(CC_ALL);
    let vectors = bench.controller.identity().vectors();
    let with = |interrupt_vector, interrupts_enabled| {
        build::create_cq(&CreateCq { interrupt_vector, interrupts_enabled, ..CQ })
    };
    assert_eq!(bench.refusal(&with(vectors, true)), Status::INVALID_INTERRUPT_VECTOR);
    let polled = Action::CreateCq { qid: 1, entries: 64, iova: 0x30_0000, vector: None };
    assert_eq!(bench.action(&with(vectors, false)), polled, "who looks by itself needs no vector");
    bench.action(&build::delete_cq(1));
    let last = Action::CreateCq { qid: 1, entries: 64, iova: 0x30_0000, vector: Some(vectors - 1) };
    assert_eq!(bench.action(&with(vectors - 1, true)), last);
}

#[test]
fn queue_identifiers_are_checked() {
    let mut bench = Bench::enabled(CC_ALL);
    bench.action(&cq(1));
    bench.action(&sq(1, 1));
    for bad in [cq(0), cq(9), cq(1), sq(0, 1), sq(9, 1), sq(1, 1), sq(2, 0), sq(2, 9)] {
        assert_eq!(bench.refusal(&bad), Status::INVALID_QUEUE_ID);
    }
    for qid in [0, 2, 9, 0xFFFF] {
        assert_eq!(bench.refusal(&build::delete_sq(qid)), Status::INVALID_QUEUE_ID);
        assert_eq!(bench.refusal(&build::delete_cq(qid)), Status::INVALID_QUEUE_ID);
    }
    assert_eq!(bench.refusal(&sq(2, 8)), Status::CQ_INVALID);
    bench.action(&cq(8));
    bench.action(&sq(8, 8));
}

#[test]
fn queue_memory_is_checked() {
    let mut bench = Bench::enabled(CC_ALL);
    let completion = |change: CreateCq| build::create_cq(&change);
    for entries in [1, 1025, 65536] {
        let too = completion(CreateCq { entries, ..CQ });
        assert_eq!(bench.refusal(&too), Status::INVALID_QUEUE_SIZE, "{entries}");
    }
    let scattered = completion(CreateCq { contiguous: false, ..CQ });
    assert_eq!(bench.refusal(&scattered), Status::INVALID_FIELD);
    let unaligned = completion(CreateCq { base: 0x30_0010, ..CQ });
    assert_eq!(bench.refusal(&unaligned), Status::PRP_OFFSET_INVALID);
    bench.action(&completion(CreateCq { entries: 1024, ..CQ }));
    bench.action(&completion(CreateCq { entries: 2, qid: 2, ..CQ }));

    let submission = |change: CreateSq| build::create_sq(&change);
    let huge = submission(CreateSq { entries: 1025, ..SQ });
    assert_eq!(bench.refusal(&huge), Status::INVALID_QUEUE_SIZE);
    let scattered = submission(CreateSq { contiguous: false, ..SQ });
    assert_eq!(bench.refusal(&scattered), Status::INVALID_FIELD);
    let unaligned = submission(CreateSq { base: 1 << 11, ..SQ });
    assert_eq!(bench.refusal(&unaligned), Status::PRP_OFFSET_INVALID);
    bench.action(&submission(SQ));
}

#[test]
fn without_command_sets_there_are_no_queues() {
    let mut bench = Bench::enabled(CC_ADMIN);
    assert_eq!(bench.refusal(&cq(1)), Status::INVALID_QUEUE_ID);
    assert_eq!(bench.refusal(&sq(1, 1)), Status::INVALID_QUEUE_ID);
}

#[test]
fn what_the_device_cannot_do_is_taken_back() {
    let mut bench = Bench::enabled(CC_ALL);
    let made = bench.action(&cq(1));
    bench.controller.undo(&made);
    let made = bench.action(&cq(1));
    assert_eq!(made, Action::CreateCq { qid: 1, entries: 64, iova: 0x30_0000, vector: Some(1) });

    let made = bench.action(&sq(1, 1));
    bench.controller.undo(&made);
    bench.action(&sq(1, 1));
    let removed = bench.action(&build::delete_sq(1));
    bench.controller.undo(&removed);
    assert_eq!(bench.refusal(&build::delete_cq(1)), Status::INVALID_QUEUE_DELETION);
    bench.action(&build::delete_sq(1));
    let removed = bench.action(&build::delete_cq(1));
    bench.controller.undo(&removed);
    assert_eq!(bench.refusal(&cq(1)), Status::INVALID_QUEUE_ID);
}

#[test]
fn aborts_are_limited() {
    let mut bench = Bench::enabled(CC_ALL);
    bench.action(&cq(1));
    bench.action(&sq(1, 1));
    let expected = Outcome { dw0: 1, ..Outcome::act(Action::Abort { sqid: 1, cid: 77 }) };
    assert_eq!(bench.admin(&build::abort(1, 77)), expected);
    for cid in 0..3 {
        assert_eq!(bench.action(&build::abort(0, cid)), Action::Abort { sqid: 0, cid });
    }
    assert_eq!(bench.refusal(&build::abort(1, 78)), Status::ABORT_LIMIT_EXCEEDED);
    bench.controller.abort_done();
    bench.action(&build::abort(1, 78));
    bench.controller.undo(&Action::Abort { sqid: 1, cid: 78 });
    assert_eq!(bench.result(&build::abort(2, 1)), 1, "nothing to abort in a queue that does not exist");
    bench.action(&build::abort(1, 79));
}

#[test]
fn opcodes_and_flags_are_checked() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(bench.refusal(&Sqe::new(0x7F, 0)), Status::INVALID_OPCODE);
    assert_eq!(bench.refusal(&Sqe::new(0x0D, KV)), Status::INVALID_OPCODE);
    let mut sgl = build::keep_alive();
    sgl.flags = 0x40;
    assert_eq!(bench.refusal(&sgl), Status::INVALID_FIELD);
    assert_eq!(bench.result(&build::keep_alive()), 0);
    let mut with_sgl = Bench::of(crate::controller::Identity { sgl: true, ..identity() }, CC_ALL);
    assert_eq!(with_sgl.result(&sgl), 0);
}
