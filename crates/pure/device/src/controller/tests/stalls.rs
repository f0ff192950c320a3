// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When writes were stopped or delayed: log page C2h.

use saker_engine::write_gate::{Held, Hold, Period, Stalls, WriteControl};
use saker_engine::{WriteCondition, WriteStallCause};
use saker_nvme::admin::{GetLogPage, build};
use saker_nvme::vendor_specific::{
    Capabilities, LID_WRITE_STALLS, Methods, WriteStallEntry, WriteStallsHead, WriteState,
};
use saker_nvme::{NSID_ALL, Sqe, Status};
use saker_sim::{Duration, Instant};
use zerocopy::FromBytes;

use super::support::*;
use crate::controller::{Identity, NamespaceKind};

const CAUSES: [WriteStallCause; 3] = WriteStallCause::ALL;

fn bench(writes: &WriteControl, methods: Option<Methods>) -> Bench {
    let vendor = methods.map(|methods| Capabilities::new(methods, 0, 0, 0));
    let mut bench = Bench::of(Identity { vendor, ..identity() }, CC_ALL);
    for facts in &mut bench.namespaces {
        if let NamespaceKind::Kv { writes: told, .. } = &mut facts.kind {
            **told = writes.clone();
        }
    }
    bench
}

fn ask(nsid: u32, bytes: u64) -> Sqe {
    build::get_log_page(&GetLogPage { nsid, ..log(LID_WRITE_STALLS, bytes, 0) })
}

fn page(bench: &mut Bench, entries: usize) -> (WriteStallsHead, Vec<WriteStallEntry>) {
    let bytes = size_of::<WriteStallsHead>() + entries * size_of::<WriteStallEntry>();
    let page = bench.data(&ask(KV, bytes as u64));
    let (head, rest) = WriteStallsHead::read_from_prefix(&page).expect("a head");
    let entries = rest.chunks_exact(size_of::<WriteStallEntry>());
    (head, entries.map(|bytes| WriteStallEntry::read_from_bytes(bytes).expect("an entry")).collect())
}

/// Sums that all differ, and two periods.
fn eventful(condition: WriteCondition) -> WriteControl {
    let held = |n: u64| Held { periods: n, time: Duration::from_nanos(n + 1), writes: n + 2 };
    let sums = Hold::ALL.map(|hold| CAUSES.map(|cause| held(100 * hold as u64 + 10 * cause as u64 + 1)));
    let period = |hold, cause, n| Period {
        hold,
        cause,
        begin: Instant::from_nanos(n),
        length: Duration::from_nanos(n + 1),
        writes: n + 2,
    };
    let recent = vec![period(Hold::Stopped, CAUSES[0], 1000), period(Hold::Delayed, CAUSES[2], 2000)];
    WriteControl { condition, now: Instant::from_nanos(77), stalls: Stalls::told(sums, recent) }
}

#[test]
fn the_page_has_sums_and_periods_of_one_namespace() {
    let writes = eventful(WriteCondition::Normal);
    let mut bench = bench(&writes, Some(Methods::ALL));
    let (head, entries) = page(&mut bench, 2);
    assert!(head.is_known() && head.count.get() == 2 && head.now.get() == 77);
    for (hold, sums) in [(Hold::Stopped, head.stopped), (Hold::Delayed, head.delayed)] {
        for (cause, sum) in CAUSES.into_iter().zip(sums) {
            let held = writes.stalls.of(hold, cause);
            let found = (sum.periods.get(), sum.nanos.get(), sum.writes.get());
            assert_eq!(found, (held.periods, held.time.as_nanos(), held.writes), "{hold:?}, {cause:?}");
        }
    }
    let told = |e: &WriteStallEntry| (e.state, e.cause, e.begin.get(), e.nanos.get(), e.writes.get());
    let stopped = (WriteState::Stopped as u8, 0, 1000, 1001, 1002);
    let delayed = (WriteState::Delayed as u8, 2, 2000, 2001, 2002);
    assert_eq!(entries.iter().map(told).collect::<Vec<_>>(), [stopped, delayed]);
    for nsid in [0, BLOCK, NSID_ALL, 99] {
        assert_eq!(bench.refusal(&ask(nsid, 64)), Status::INVALID_NAMESPACE_OR_FORMAT);
    }
}

#[test]
fn the_page_says_whether_writes_go_on() {
    let (rate, delay) = (1 << 20, 7);
    for cause in CAUSES {
        let number = cause as u8;
        let told = |condition| {
            let (head, _) = page(&mut bench(&eventful(condition), Some(Methods::ALL)), 0);
            (head.state, head.cause, head.rate.get(), head.delay.get())
        };
        let delayed = (WriteState::Delayed as u8, number, rate, delay);
        assert_eq!(told(WriteCondition::Delayed { cause, rate, delay }), delayed);
        assert_eq!(told(WriteCondition::Stopped { cause }), (WriteState::Stopped as u8, number, 0, 0));
        assert_eq!(told(WriteCondition::Normal), (WriteState::Normal as u8, 0, 0, 0));
    }
}

#[test]
fn a_controller_without_vendor_commands_does_not_know_the_page() {
    let mut bench = bench(&WriteControl::default(), None);
    assert_eq!(bench.refusal(&ask(KV, 64)), Status::INVALID_LOG_PAGE);
}
