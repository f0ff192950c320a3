// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A controller that is one of several, and one that is alone.

use saker_nvme::Status;
use saker_nvme::admin::feature::fid;
use saker_nvme::admin::{FeatureSelect, build};

use super::support::*;
use crate::controller::Access;

/// Notice 03h, log page 0Ch.
const ACCESS_CHANGED: u32 = 0x000C_0302;
/// Notice 00h, log page 04h.
const NAMESPACE_CHANGED: u32 = 0x0004_0002;

fn shared() -> Bench {
    let mut bench = Bench::enabled(CC_ALL);
    bench.controller.share(Access::Optimized);
    bench
}

fn listening() -> Bench {
    let mut bench = shared();
    bench.result(&set(0, fid::ASYNC_EVENT_CONFIG, 1 << 8 | 1 << 11));
    bench
}

fn access_log(bench: &mut Bench) -> Vec<u8> {
    bench.data(&build::get_log_page(&log(0x0C, 56, 0)))
}

#[test]
fn one_of_several_says_so_in_every_structure() {
    let mut bench = shared();
    let page = bench.data(&identify(0x01, 0, 0));
    assert_eq!((page[76], page[342], page[343]), (0b1011, 1, 0b100_0111), "CMIC, ANATT, ANACAP");
    assert_eq!((u32_at(&page, 344), u32_at(&page, 348), u32_at(&page, 540)), (1, 1, 1024), "groups, MNAN");
    assert_eq!(u32_at(&page, 92), 1 << 8 | 1 << 11, "OAES");
    let block = bench.data(&identify(0x00, BLOCK, 0));
    assert_eq!((block[30], u32_at(&block, 92)), (1, 1), "NMIC, ANAGRPID of blocks");
    let pairs = bench.data(&identify(0x05, KV, 1));
    assert_eq!((pairs[26], u32_at(&pairs, 36)), (1, 1), "NMIC, ANAGRPID of pairs");
    for nsid in [KV, BLOCK] {
        let any = bench.data(&identify(0x08, nsid, 0));
        assert_eq!((any[1], u32_at(&any, 4)), (1, 1), "NMIC, ANAGRPID");
    }
    // What is not there is not shared.
    for cns in [0x00, 0x05, 0x08] {
        assert_eq!(bench.data(&identify(cns, INACTIVE, 1)), vec![0; 4096], "{cns:#x}");
    }
}

#[test]
fn the_only_one_says_nothing_of_others() {
    let mut bench = Bench::enabled(CC_ALL);
    let page = bench.data(&identify(0x01, 0, 0));
    assert_eq!((page[76], page[343], u32_at(&page, 344), u32_at(&page, 92)), (0, 0, 0, 1 << 8));
    assert_eq!(bench.data(&identify(0x05, KV, 1))[26], 0);
    assert_eq!(bench.refusal(&build::get_log_page(&log(0x0C, 56, 0))), Status::INVALID_LOG_PAGE);
    bench.result(&set(0, fid::ASYNC_EVENT_CONFIG, 1 << 8 | 1 << 11));
    bench.controller.set_access(Access::Inaccessible);
    let events = bench.get(fid::ASYNC_EVENT_CONFIG, FeatureSelect::Current);
    assert_eq!((bench.controller.access(), events), (Access::Optimized, 1 << 8));
}

#[test]
fn the_log_has_one_group_of_all_namespaces() {
    let mut bench = shared();
    let page = access_log(&mut bench);
    assert_eq!((u64_at(&page, 0), u16_at(&page, 8)), (0, 1), "CHGCNT, groups");
    assert_eq!((u32_at(&page, 16), u32_at(&page, 20), u64_at(&page, 24), page[32]), (1, 2, 0, 1));
    assert_eq!((u32_at(&page, 48), u32_at(&page, 52)), (KV, BLOCK));
    bench.controller.set_access(Access::NonOptimized);
    bench.controller.set_access(Access::NonOptimized);
    let page = access_log(&mut bench);
    assert_eq!((u64_at(&page, 0), u64_at(&page, 24), page[32]), (1, 1, 2), "one change");
    let supported = bench.data(&build::get_log_page(&log(0x00, 1024, 0)));
    assert_eq!(u32_at(&supported, 0x0C * 4), 1);
}

#[test]
fn a_change_is_told_once_until_its_log_is_read_and_namespaces_are_told_besides() {
    let mut bench = listening();
    for _ in 0..3 {
        bench.action(&build::async_event_request());
    }
    bench.controller.set_access(Access::Inaccessible);
    bench.controller.namespace_changed(KV);
    assert_eq!(bench.controller.next_event(), Some(ACCESS_CHANGED));
    assert_eq!(bench.controller.next_event(), Some(NAMESPACE_CHANGED));
    bench.controller.set_access(Access::Optimized);
    assert_eq!(bench.controller.next_event(), None, "masked until the log is read");
    access_log(&mut bench);
    bench.controller.set_access(Access::NonOptimized);
    assert_eq!(bench.controller.next_event(), Some(ACCESS_CHANGED));
    assert_eq!(bench.controller.next_event(), None);
}

#[test]
fn a_closed_way_refuses_with_a_status_that_makes_hosts_try_another() {
    assert_eq!(Access::Inaccessible.check(), Err(Status::ASYMMETRIC_ACCESS_INACCESSIBLE));
    assert_eq!(
        (Status::ASYMMETRIC_ACCESS_INACCESSIBLE.sct(), Status::ASYMMETRIC_ACCESS_INACCESSIBLE.sc()),
        (3, 2)
    );
    assert_eq!((Access::Optimized.check(), Access::NonOptimized.check()), (Ok(()), Ok(())));
}
