// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Asynchronous Event Request and the changed namespace log.

use saker_nvme::Status;
use saker_nvme::admin::feature::fid;
use saker_nvme::admin::{GetLogPage, build};

use super::support::*;
use crate::controller::Action;

/// Notice 00h, log page 04h.
const CHANGED: u32 = 0x0004_0002;

fn listening() -> Bench {
    let mut bench = Bench::enabled(CC_ALL);
    bench.result(&set(0, fid::ASYNC_EVENT_CONFIG, 1 << 8));
    bench
}

fn changed(bench: &mut Bench) -> Vec<u32> {
    let page = bench.data(&build::get_log_page(&log(4, 4096, 0)));
    page.chunks_exact(4).map(|nsid| u32_at(nsid, 0)).take_while(|nsid| *nsid != 0).collect()
}

#[test]
fn requests_are_held_up_to_a_limit() {
    let mut bench = listening();
    for _ in 0..4 {
        assert_eq!(bench.action(&build::async_event_request()), Action::HoldAsyncEvent);
    }
    assert_eq!(bench.refusal(&build::async_event_request()), Status::AER_LIMIT_EXCEEDED);
    bench.controller.undo(&Action::HoldAsyncEvent);
    bench.action(&build::async_event_request());
    bench.controller.namespace_changed(KV);
    assert_eq!(bench.controller.next_event(), Some(CHANGED));
    bench.action(&build::async_event_request());
    assert_eq!(bench.refusal(&build::async_event_request()), Status::AER_LIMIT_EXCEEDED);
}

#[test]
fn an_event_is_told_once_until_its_log_is_read() {
    let mut bench = listening();
    bench.controller.namespace_changed(BLOCK);
    assert_eq!(bench.controller.next_event(), None, "no request");
    assert_eq!(bench.result(&build::async_event_request()), CHANGED, "the event waited");
    bench.action(&build::async_event_request());
    bench.controller.namespace_changed(KV);
    assert_eq!(bench.controller.next_event(), None, "masked");
    let retain = GetLogPage { retain_event: true, ..log(4, 8, 0) };
    assert_eq!(bench.data(&build::get_log_page(&retain)), [1, 0, 0, 0, 2, 0, 0, 0]);
    bench.controller.namespace_changed(KV);
    assert_eq!(bench.controller.next_event(), None, "still masked");
    assert_eq!(changed(&mut bench), [KV, BLOCK]);
    assert_eq!(changed(&mut bench), [0; 0]);
    bench.controller.namespace_changed(KV);
    assert_eq!(bench.controller.next_event(), Some(CHANGED));
    assert_eq!(bench.controller.next_event(), None);
}

#[test]
fn only_what_the_host_asked_for_is_told() {
    let mut bench = Bench::enabled(CC_ALL);
    bench.action(&build::async_event_request());
    bench.controller.namespace_changed(KV);
    assert_eq!(bench.controller.next_event(), None);
    assert_eq!(changed(&mut bench), [KV]);
}

#[test]
fn too_many_changes_are_all_changes() {
    let mut bench = listening();
    (1..=1024).for_each(|nsid| bench.controller.namespace_changed(nsid));
    assert_eq!(changed(&mut bench).len(), 1024);
    (1..=1025).for_each(|nsid| bench.controller.namespace_changed(nsid));
    assert_eq!(changed(&mut bench), [0xFFFF_FFFF]);
}
