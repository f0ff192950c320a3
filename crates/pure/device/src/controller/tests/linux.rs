// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The order in which Linux 6.1 brings a controller up over PCIe (`nvme_reset_work`, `nvme_init_ctrl_finish`,
//! `nvme_scan_work`), and what it must find on the way to a Key Value namespace.

use saker_link::offset;
use saker_nvme::NSID_ALL;
use saker_nvme::admin::feature::fid;
use saker_nvme::admin::{CreateCq, CreateSq, FeatureSelect, GetLogPage, build};

use super::support::*;
use crate::controller::{Action, Controller, RegisterAction, ShutdownKind};

/// `NVME_CAP_CSS_CSI`: CAP bit 43.
const CAP_ALL_COMMAND_SETS: u64 = 1 << 43;

fn bring_up() -> Bench {
    let mut bench = Bench::disabled(identity());
    let cap = bench.regs.load_u64(offset::CAP).expect("exists");
    assert_ne!(cap & CAP_ALL_COMMAND_SETS, 0);
    assert_eq!(bench.csts(), 0);
    bench.write_cc(0);
    bench.store(offset::AQA, 0x001F_001F);
    assert_eq!(bench.write_cc(CC_ALL & !1), RegisterAction::None);
    assert!(matches!(bench.write_cc(CC_ALL), RegisterAction::Enable { .. }));
    bench.controller.ready(&bench.regs);
    assert_eq!(bench.csts(), 1);
    bench
}

fn init(bench: &mut Bench) {
    let id = bench.data(&identify(0x01, 0, 0));
    assert_eq!(id[261] >> 1 & 1, 1, "LPA: effects log");
    bench.data(&build::get_log_page(&log(0x05, 4096, 0)));
    assert_eq!(u16_at(&id, 520) >> 6 & 1, 0, "ONCS: no timestamp, so no feature 0Eh");
    assert_eq!((u16_at(&id, 128), u32_at(&id, 96) >> 15 & 1), (0, 0), "no CRDT, no ELBAS: no feature 16h");
    assert_eq!((id[265], u32_at(&id, 272)), (0, 0), "APSTA, HMPRE: no features 0Ch, 0Dh");
    let smart = GetLogPage { nsid: NSID_ALL, ..log(0x02, 512, 0) };
    assert_eq!(u16_at(&bench.data(&build::get_log_page(&smart)), 1), 313);
    for threshold in [0, 1 << 20] {
        bench.result(&get(0, fid::TEMPERATURE_THRESHOLD, FeatureSelect::Current, threshold));
    }
}

fn make_queues(bench: &mut Bench) {
    assert_eq!(bench.result(&set(0, fid::NUMBER_OF_QUEUES, 0x0003_0003)), 0x0003_0003);
    for qid in 1..=4 {
        let base = u64::from(qid) << 20;
        let (entries, contiguous) = (1024, true);
        bench.action(&build::create_cq(&CreateCq {
            qid,
            entries,
            contiguous,
            interrupts_enabled: true,
            interrupt_vector: qid,
            base,
        }));
        let sq = CreateSq { qid, entries, contiguous, priority: 2, cqid: qid, base: base + 0x8_0000 };
        bench.action(&build::create_sq(&sq));
    }
}

fn scan(bench: &mut Bench) {
    bench.result(&set(0, fid::ASYNC_EVENT_CONFIG, 1 << 8));
    assert_eq!(bench.action(&build::async_event_request()), Action::HoldAsyncEvent);
    bench.data(&identify(0x06, 0, 0));
    bench.data(&build::get_log_page(&log(0x04, 4096, 0)));
    let list = bench.data(&identify(0x02, 0, 0));
    assert_eq!((u32_at(&list, 0), u32_at(&list, 4), u32_at(&list, 8)), (KV, BLOCK, 0));

    let descriptors = bench.data(&identify(0x03, KV, 0));
    assert_eq!(descriptors[..5], [4, 1, 0, 0, 1], "CSI descriptor: Key Value");
    assert_eq!(bench.data(&identify(0x08, KV, 0))[14] & 1, 1, "NSTAT: ready");
    let effects = bench.data(&build::get_log_page(&log(0x05, 4096, 1)));
    assert_eq!(u32_at(&effects, 1024 + 4), 3, "Store");
    assert_eq!(bench.data(&identify(0x03, BLOCK, 0))[..5], [4, 1, 0, 0, 0]);
    assert_eq!(u64_at(&bench.data(&identify(0x00, BLOCK, 0)), 0), 0x1_0000);
}

fn shut_down(bench: &mut Bench) {
    for qid in 1..=4 {
        bench.action(&build::delete_sq(qid));
    }
    for qid in 1..=4 {
        bench.action(&build::delete_cq(qid));
    }
    let shutdown = RegisterAction::Shutdown(ShutdownKind::Normal);
    assert_eq!(bench.write_cc(CC_ALL | 0x4000), shutdown);
    bench.controller.shutdown_done(&bench.regs);
    assert_eq!(bench.csts() >> 2 & 3, 2);
}

#[test]
fn linux_finds_its_way() {
    let mut bench = bring_up();
    init(&mut bench);
    make_queues(&mut bench);
    scan(&mut bench);
    shut_down(&mut bench);
    let errors = bench.data(&build::get_log_page(&log(0x01, 1024, 0)));
    assert_eq!(errors, vec![0; 1024], "Linux met no refusal");
}

#[test]
fn the_controller_can_move_to_another_thread() {
    fn movable<T: Send>() {}
    movable::<Controller>();
}
