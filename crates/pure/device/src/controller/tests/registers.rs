// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Enable, disable, shutdown and subsystem reset.

use proptest::prelude::*;
use saker_link::offset;
use saker_nvme::admin::feature::fid;
use saker_nvme::admin::{FeatureSelect, build};

use super::support::*;
use crate::controller::{CommandSets, Controller, IdentityError, RegisterAction, ShutdownKind};

const RDY: u32 = 1;
const CFS: u32 = 2;
const SHST_OCCURRING: u32 = 1 << 2;
const SHST_COMPLETE: u32 = 2 << 2;
const NSSRO: u32 = 1 << 4;

#[test]
fn cap_and_vs_are_published() {
    let bench = Bench::disabled(identity());
    // MQES 1023, CQR, TO 60; NSSRS (bit 36), CSS bits 37 and 43; pages of 4 KiB.
    assert_eq!(bench.regs.load_u64(offset::CAP), Ok(0x0000_0830_3C01_03FF));
    assert_eq!(bench.controller.caps().0, 0x0000_0830_3C01_03FF);
    assert_eq!((bench.load(offset::VS), bench.controller.version().0), (0x0002_0000, 0x0002_0000));
}

#[test]
fn a_host_enables_and_disables() {
    let mut bench = Bench::disabled(identity());
    assert_eq!(bench.write_cc(0x0046_0060), RegisterAction::None);
    let expected =
        RegisterAction::Enable { asq: 0x10_0000, acq: 0x20_0000, asq_entries: 32, acq_entries: 32 };
    assert_eq!(bench.write_cc(CC_ALL), expected);
    assert_eq!((bench.csts(), bench.step()), (0, RegisterAction::None));
    bench.controller.ready(&bench.regs);
    assert_eq!((bench.csts(), bench.step()), (RDY, RegisterAction::None));
    assert_eq!(bench.controller.command_sets(), CommandSets::All);

    assert_eq!(bench.write_cc(CC_ALL & !1), RegisterAction::Disable);
    assert_eq!((bench.csts(), bench.step()), (RDY, RegisterAction::None));
    bench.controller.disabled(&bench.regs);
    assert_eq!((bench.csts(), bench.step()), (0, RegisterAction::None));
    assert_eq!(bench.load(offset::ASQ), 0x10_0000);
    assert!(matches!(bench.write_cc(CC_NVM), RegisterAction::Enable { .. }));
    assert_eq!(bench.controller.command_sets(), CommandSets::Nvm);
}

#[test]
fn a_bad_configuration_is_fatal_until_it_is_reset() {
    let bad_cc = [
        0x0046_00E1, // MPS 1
        0x0046_0011, // CSS 001b
        0x0045_0061, // IOSQES 5
        0x0036_0061, // IOCQES 3
        0x0000_0061, // no entry sizes
        0x0046_0861, // AMS 1
        0x0046_4061, // shutdown and start at once
    ];
    for cc in bad_cc {
        let mut bench = Bench::disabled(identity());
        while bench.write_cc(cc) != RegisterAction::None {}
        assert_eq!(bench.csts() & (RDY | CFS), CFS, "CC {cc:#x}");
        bench.controller.ready(&bench.regs);
        assert_eq!(bench.csts() & (RDY | CFS), CFS, "no such request: CC {cc:#x}");
        assert_eq!(bench.write_cc(0), RegisterAction::Disable);
        bench.controller.disabled(&bench.regs);
        assert_eq!(bench.csts(), 0);
        assert!(matches!(bench.write_cc(CC_ALL), RegisterAction::Enable { .. }));
    }
}

#[test]
fn bad_admin_queues_are_fatal() {
    for (at, value) in [
        (offset::AQA, 0x001F_0000),
        (offset::AQA, 0x0000_001F),
        (offset::ASQ, 0x10_0800),
        (offset::ACQ, 0x20_0001),
    ] {
        let mut bench = Bench::disabled(identity());
        bench.store(at, value);
        assert_eq!(bench.write_cc(CC_ALL), RegisterAction::None);
        assert_eq!(bench.csts(), CFS, "{at:#x} = {value:#x}");
    }
    let mut bench = Bench::disabled(identity());
    bench.store(offset::AQA, 0x0FFF_0FFF);
    let RegisterAction::Enable { asq_entries, acq_entries, .. } = bench.write_cc(CC_ALL) else {
        panic!("the largest admin queues are fine");
    };
    assert_eq!((asq_entries, acq_entries), (4096, 4096));
}

#[test]
fn entry_sizes_do_not_matter_without_command_sets() {
    let mut bench = Bench::disabled(identity());
    assert!(matches!(bench.write_cc(0x0000_0071), RegisterAction::Enable { .. }));
    assert_eq!(bench.controller.command_sets(), CommandSets::AdminOnly);
}

#[test]
fn the_device_may_fail() {
    let mut bench = Bench::disabled(identity());
    bench.controller.fail(&bench.regs);
    assert_eq!(bench.csts(), 0, "nothing to reset yet");
    bench.write_cc(CC_ALL);
    bench.controller.fail(&bench.regs);
    assert_eq!(bench.csts(), CFS);
    let mut bench = Bench::enabled(CC_ALL);
    bench.controller.fail(&bench.regs);
    assert_eq!((bench.csts(), bench.controller.status().0), (RDY | CFS, RDY | CFS));
    assert_eq!(bench.write_cc(0), RegisterAction::Disable);
}

#[test]
fn a_host_shuts_down() {
    for (shn, kind) in [(0x4000, ShutdownKind::Normal), (0x8000, ShutdownKind::Abrupt)] {
        let mut bench = Bench::enabled(CC_ALL);
        assert_eq!(bench.write_cc(CC_ALL | shn), RegisterAction::Shutdown(kind));
        assert_eq!((bench.csts(), bench.step()), (RDY | SHST_OCCURRING, RegisterAction::None));
        bench.controller.shutdown_done(&bench.regs);
        assert_eq!((bench.csts(), bench.step()), (RDY | SHST_COMPLETE, RegisterAction::None));
        assert_eq!(bench.write_cc(CC_ALL & !1), RegisterAction::Disable);
        bench.controller.disabled(&bench.regs);
        assert!(matches!(bench.write_cc(CC_ALL), RegisterAction::Enable { .. }));
        assert_eq!(bench.csts(), 0);
    }
}

#[test]
fn the_reserved_shutdown_is_none() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(bench.write_cc(CC_ALL | 0xC000), RegisterAction::None);
    bench.controller.shutdown_done(&bench.regs);
    assert_eq!(bench.csts(), RDY);
}

#[test]
fn a_reset_with_a_shutdown_is_both_in_turn() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(bench.write_cc(0x4000), RegisterAction::Disable);
    bench.controller.disabled(&bench.regs);
    assert_eq!(bench.step(), RegisterAction::Shutdown(ShutdownKind::Normal));
    bench.controller.shutdown_done(&bench.regs);
    assert_eq!((bench.csts(), bench.step()), (SHST_COMPLETE, RegisterAction::None));
}

#[test]
fn a_start_waits_for_the_end_of_a_reset() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(bench.write_cc(0), RegisterAction::Disable);
    assert_eq!(bench.write_cc(CC_ALL), RegisterAction::None);
    bench.controller.disabled(&bench.regs);
    assert!(matches!(bench.step(), RegisterAction::Enable { .. }));
}

#[test]
fn the_subsystem_is_reset_by_its_name() {
    let mut bench = Bench::enabled(CC_ALL);
    bench.store(offset::NSSR, 0x4E56_4D64);
    assert_eq!((bench.step(), bench.load(offset::NSSR)), (RegisterAction::None, 0));
    bench.store(offset::NSSR, 0x4E56_4D65);
    assert_eq!(bench.step(), RegisterAction::SubsystemReset);
    bench.controller.disabled(&bench.regs);
    assert_eq!((bench.csts(), bench.step()), (NSSRO, RegisterAction::None));
    for at in [offset::CC, offset::NSSR, offset::AQA, offset::ASQ, offset::ACQ] {
        assert_eq!(bench.load(at), 0, "register {at:#x}");
    }
}

#[test]
fn nssro_is_cleared_by_writing_it() {
    let mut bench = Bench::enabled(CC_ALL);
    bench.store(offset::NSSR, 0x4E56_4D65);
    bench.step();
    bench.controller.disabled(&bench.regs);
    bench.store(offset::CSTS, NSSRO | RDY);
    bench.step();
    assert_eq!(bench.csts(), 0);
}

#[test]
fn read_only_registers_are_put_right() {
    let mut bench = Bench::enabled(CC_ALL);
    for at in [offset::CAP, offset::CAP + 4, offset::VS, offset::CSTS] {
        let before = bench.load(at);
        bench.store(at, !before & !NSSRO);
        assert_eq!(bench.step(), RegisterAction::None);
        assert_eq!(bench.load(at), before, "register {at:#x}");
    }
}

#[test]
fn a_reset_forgets_features_and_queues() {
    let mut bench = Bench::enabled(CC_ALL);
    let fresh = bench.features();
    for (fid, value) in [(fid::ARBITRATION, 3), (fid::NUMBER_OF_QUEUES, 0), (fid::KEEP_ALIVE_TIMER, 5000)] {
        bench.admin(&set(0, fid, value));
    }
    bench.admin(&super::queues::cq(1));
    bench.admin(&build::async_event_request());
    assert_ne!(bench.features(), fresh);
    bench.write_cc(0);
    bench.controller.disabled(&bench.regs);
    bench.write_cc(CC_ALL);
    bench.controller.ready(&bench.regs);
    assert_eq!(bench.features(), fresh);
    assert_eq!(bench.get(fid::NUMBER_OF_QUEUES, FeatureSelect::Current), 0x0007_0007);
    bench.action(&super::queues::cq(1));
    bench.controller.namespace_changed(KV);
    assert_eq!(bench.controller.next_event(), None, "the held request is gone");
}

#[test]
fn stale_words_of_the_device_change_nothing() {
    let mut bench = Bench::enabled(CC_ALL);
    bench.admin(&set(0, fid::ARBITRATION, 3));
    bench.controller.disabled(&bench.regs);
    bench.controller.shutdown_done(&bench.regs);
    assert_eq!(bench.csts(), RDY);
    assert_eq!(bench.get(fid::ARBITRATION, FeatureSelect::Current), 3);
}

#[test]
fn an_identity_must_fit_the_wire() {
    let refused = |change: fn(&mut crate::controller::Identity)| {
        let mut identity = identity();
        change(&mut identity);
        Controller::new(identity).expect_err("must not fit")
    };
    assert!(matches!(refused(|i| i.serial = "x".repeat(21)), IdentityError::Text { max: 20, .. }));
    assert!(matches!(refused(|i| i.model = "Säker".into()), IdentityError::Text { max: 40, .. }));
    assert!(matches!(refused(|i| i.firmware = "123456789".into()), IdentityError::Text { max: 8, .. }));
    assert_eq!(refused(|i| i.subnqn = String::new()), IdentityError::Subnqn);
    assert_eq!(refused(|i| i.subnqn = format!("nqn.{}", "x".repeat(220))), IdentityError::Subnqn);
    assert_eq!(refused(|i| i.max_queue_pairs = 0), IdentityError::QueuePairs(0));
    assert_eq!(refused(|i| i.max_queue_pairs = 65535), IdentityError::QueuePairs(65535));
    assert_eq!(refused(|i| i.max_queue_entries = 1), IdentityError::QueueEntries(1));
    assert_eq!(refused(|i| i.max_queue_entries = 65537), IdentityError::QueueEntries(65537));
    assert_eq!(refused(|i| i.max_transfer_bytes = 2048), IdentityError::Transfer(2048));
    assert_eq!(refused(|i| i.max_transfer_bytes = 5000), IdentityError::Transfer(5000));
}

proptest! {
    /// Whatever a host writes in whatever order, and whenever the device answers: RDY comes only after an accepted
    /// start, and a reset always leads back to a controller that can be started.
    #[test]
    fn any_writes_leave_a_controller_that_a_reset_cures(
        writes in prop::collection::vec((0_u32..16, any::<u32>(), 0_u8..6), 0..40),
    ) {
        let mut bench = Bench::disabled(identity());
        let mut accepted = false;
        for (dword, value, answer) in writes {
            let value = if value % 3 == 0 { CC_ALL ^ (value & 0xC001) } else { value };
            bench.store(dword * 4, value);
            accepted |= matches!(bench.step(), RegisterAction::Enable { .. });
            match answer {
                0 => bench.controller.ready(&bench.regs),
                1 => bench.controller.disabled(&bench.regs),
                2 => bench.controller.shutdown_done(&bench.regs),
                3 => bench.controller.fail(&bench.regs),
                _ => {}
            }
            prop_assert!(accepted || bench.csts() & RDY == 0);
        }
        bench.store(offset::CC, 0);
        while bench.step() != RegisterAction::None {}
        bench.controller.disabled(&bench.regs);
        bench.store(offset::AQA, 0x001F_001F);
        bench.regs.store_u64(offset::ASQ, 0x1000).expect("exists");
        bench.regs.store_u64(offset::ACQ, 0x2000).expect("exists");
        let started = matches!(bench.write_cc(CC_ALL), RegisterAction::Enable { .. });
        prop_assert!(started);
        bench.controller.ready(&bench.regs);
        prop_assert_eq!(bench.csts() & !NSSRO, RDY);
    }
}
