// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Get and Set Features, good and bad.

use saker_nvme::admin::feature::fid;
use saker_nvme::admin::{FeatureSelect, SetFeatures, build};
use saker_nvme::{NSID_ALL, Status};

use super::support::*;
use crate::controller::{Action, Identity, NamespaceKind, Outcome, Transport};

use FeatureSelect::{Current, Default, Saved, Supported};

/// Capabilities, bit 2: changeable.
const CHANGEABLE: u32 = 0b100;

#[test]
fn features_are_kept_beside_their_defaults() {
    let mut bench = Bench::enabled(CC_ALL);
    for (fid, value, kept, default) in [
        (fid::ARBITRATION, 0x0102_0304, 0x0102_0304, 0),
        (fid::POWER_MANAGEMENT, 0x20, 0, 0),
        (fid::TEMPERATURE_THRESHOLD, 350, 350, 343),
        (fid::INTERRUPT_COALESCING, 0xABCD_1234, 0x1234, 0),
        (fid::WRITE_ATOMICITY, 0xFFFF_FFFF, 1, 0),
        (fid::ASYNC_EVENT_CONFIG, 0xFFFF_FFFF, 0x11F, 0),
        (fid::KEEP_ALIVE_TIMER, 5000, 5000, 0),
        (fid::COMMAND_SET_PROFILE, 0, 0, 0),
    ] {
        assert_eq!(bench.get(fid, Current), default, "{fid:#x}");
        assert_eq!(bench.result(&set(0, fid, value)), 0);
        assert_eq!(bench.get(fid, Current), kept, "{fid:#x}");
        assert_eq!((bench.get(fid, Default), bench.get(fid, Saved)), (default, default), "{fid:#x}");
        assert_eq!(bench.get(fid, Supported), CHANGEABLE);
    }
    assert_eq!(bench.controller.keep_alive_ms(), 5000);
}

#[test]
fn unknown_features_are_refused() {
    let mut bench = Bench::enabled(CC_ALL);
    let known = [1, 2, 4, 5, 6, 7, 8, 9, 0x0A, 0x0B, 0x0F, 0x19, 0x20, 0x81];
    let before = bench.features();
    for fid in (0..=255).filter(|fid| !known.contains(fid)) {
        assert_eq!(bench.refusal(&set(0, fid, 1)), Status::INVALID_FIELD, "{fid:#x}");
        assert_eq!(bench.refusal(&get(0, fid, Current, 0)), Status::INVALID_FIELD, "{fid:#x}");
        assert_eq!(bench.refusal(&get(0, fid, Supported, 0)), Status::INVALID_FIELD, "{fid:#x}");
    }
    assert_eq!(bench.features(), before);
}

#[test]
fn features_of_the_controller_are_neither_saved_nor_per_namespace() {
    let mut bench = Bench::enabled(CC_ALL);
    let save = SetFeatures { nsid: 0, fid: fid::ARBITRATION, save: true, cdw11: 1 };
    assert_eq!(bench.refusal(&build::set_features(&save)), Status::FEATURE_NOT_SAVEABLE);
    let of_one = set(KV, fid::ARBITRATION, 1);
    assert_eq!(bench.refusal(&of_one), Status::FEATURE_NOT_NAMESPACE_SPECIFIC);
    assert_eq!(bench.get(fid::ARBITRATION, Current), 0);
    assert_eq!(bench.result(&set(NSID_ALL, fid::ARBITRATION, 1)), 0);
    assert_eq!(bench.get(fid::ARBITRATION, Current), 1);
    let save_unknown = SetFeatures { fid: 0xDE, ..save };
    assert_eq!(bench.refusal(&build::set_features(&save_unknown)), Status::INVALID_FIELD);
}

#[test]
fn values_out_of_range_are_refused() {
    let mut bench = Bench::enabled(CC_ALL);
    let before = bench.features();
    for (fid, value, status) in [
        (fid::POWER_MANAGEMENT, 1, Status::INVALID_FIELD),
        (fid::TEMPERATURE_THRESHOLD, 350 | 1 << 16, Status::INVALID_FIELD),
        (fid::TEMPERATURE_THRESHOLD, 350 | 2 << 20, Status::INVALID_FIELD),
        (fid::INTERRUPT_VECTOR, 9, Status::INVALID_FIELD),
        (fid::COMMAND_SET_PROFILE, 1, Status::COMMAND_SET_COMBINATION_REJECTED),
        (fid::COMMAND_SET_PROFILE, 0x1FF, Status::COMMAND_SET_COMBINATION_REJECTED),
        (fid::NUMBER_OF_QUEUES, 0x0001_FFFF, Status::INVALID_FIELD),
        (fid::NUMBER_OF_QUEUES, 0xFFFF_0001, Status::INVALID_FIELD),
    ] {
        assert_eq!(bench.refusal(&set(0, fid, value)), status, "{fid:#x} {value:#x}");
    }
    assert_eq!(bench.features(), before);
}

#[test]
fn each_threshold_and_vector_is_its_own() {
    let mut bench = Bench::enabled(CC_ALL);
    bench.result(&set(0, fid::TEMPERATURE_THRESHOLD, 270 | 1 << 20));
    bench.result(&set(0, fid::TEMPERATURE_THRESHOLD, 355 | 0xF << 16));
    let mut threshold = |cdw11| bench.result(&get(0, fid::TEMPERATURE_THRESHOLD, Current, cdw11));
    assert_eq!((threshold(0), threshold(1 << 20)), (355, 270));
    let other_sensor = get(0, fid::TEMPERATURE_THRESHOLD, Current, 1 << 16);
    assert_eq!(bench.refusal(&other_sensor), Status::INVALID_FIELD);

    bench.result(&set(0, fid::INTERRUPT_VECTOR, 1 << 16 | 8));
    let mut vector = |cdw11| bench.result(&get(0, fid::INTERRUPT_VECTOR, Current, cdw11));
    assert_eq!((vector(8), vector(7)), (1 << 16 | 8, 7));
    bench.result(&set(0, fid::INTERRUPT_VECTOR, 8));
    assert_eq!(bench.result(&get(0, fid::INTERRUPT_VECTOR, Current, 8)), 8);
    assert_eq!(bench.refusal(&get(0, fid::INTERRUPT_VECTOR, Current, 9)), Status::INVALID_FIELD);
}

#[test]
fn queues_are_granted_before_there_are_any() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(bench.get(fid::NUMBER_OF_QUEUES, Current), 0x0007_0007);
    assert_eq!(bench.result(&set(0, fid::NUMBER_OF_QUEUES, 0x0100_0001)), 0x0007_0001);
    assert_eq!(bench.result(&set(0, fid::NUMBER_OF_QUEUES, 0x0001_0000)), 0x0001_0000);
    assert_eq!(bench.get(fid::NUMBER_OF_QUEUES, Current), 0x0001_0000);
    assert_eq!(bench.refusal(&super::queues::cq(3)), Status::INVALID_QUEUE_ID);
    bench.action(&super::queues::cq(2));
    assert_eq!(bench.refusal(&set(0, fid::NUMBER_OF_QUEUES, 0)), Status::COMMAND_SEQUENCE_ERROR);
    bench.action(&build::delete_cq(2));
    assert_eq!(bench.result(&set(0, fid::NUMBER_OF_QUEUES, 0)), 0);
}

#[test]
fn the_write_cache_is_a_feature_only_where_there_is_one() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(
        (bench.get(fid::VOLATILE_WRITE_CACHE, Current), bench.controller.write_cache_enabled()),
        (1, true)
    );
    assert_eq!(bench.action(&set(0, fid::VOLATILE_WRITE_CACHE, 0)), Action::SetWriteCache(false));
    assert_eq!(
        (bench.get(fid::VOLATILE_WRITE_CACHE, Current), bench.controller.write_cache_enabled()),
        (0, false)
    );
    assert_eq!(bench.result(&set(0, fid::VOLATILE_WRITE_CACHE, 0)), 0);
    bench.controller.undo(&Action::SetWriteCache(false));
    assert_eq!(bench.get(fid::VOLATILE_WRITE_CACHE, Current), 1);

    let mut bench = Bench::of(Identity { volatile_write_cache: false, ..identity() }, CC_ALL);
    assert_eq!(bench.refusal(&set(0, fid::VOLATILE_WRITE_CACHE, 1)), Status::INVALID_FIELD);
    assert_eq!(bench.refusal(&get(0, fid::VOLATILE_WRITE_CACHE, Current, 0)), Status::INVALID_FIELD);
    assert!(!bench.controller.write_cache_enabled());
}

#[test]
fn ednek_belongs_to_a_key_value_namespace() {
    let mut bench = Bench::enabled(CC_ALL);
    let change = Outcome::act(Action::SetEdnek { nsid: KV, value: true });
    assert_eq!(bench.admin(&set(KV, fid::KV_CONFIG, 1)), change);
    let save = SetFeatures { nsid: KV, fid: fid::KV_CONFIG, save: true, cdw11: 1 };
    assert_eq!(bench.admin(&build::set_features(&save)), change);
    assert_eq!(bench.result(&set(KV, fid::KV_CONFIG, 0)), 0, "no change, no action");

    for kv in bench.namespaces.iter_mut().filter(|facts| facts.nsid == KV) {
        let NamespaceKind::Kv { ednek, .. } = &mut kv.kind else { panic!("a Key Value namespace") };
        *ednek = true;
    }
    let told = [(Current, 1), (Saved, 1), (Default, 0), (Supported, 0b111)];
    for (select, value) in told {
        assert_eq!(bench.result(&get(KV, fid::KV_CONFIG, select, 0)), value, "{select:?}");
    }
    for nsid in [0, BLOCK, INACTIVE, 1025, NSID_ALL] {
        let status = Status::INVALID_NAMESPACE_OR_FORMAT;
        assert_eq!(bench.refusal(&set(nsid, fid::KV_CONFIG, 1)), status, "{nsid:#x}");
        assert_eq!(bench.refusal(&get(nsid, fid::KV_CONFIG, Current, 0)), status, "{nsid:#x}");
    }
    let mut bench = Bench::enabled(CC_NVM);
    let hidden = bench.refusal(&set(KV, fid::KV_CONFIG, 1));
    assert_eq!(hidden, Status::INVALID_NAMESPACE_OR_FORMAT);
}

#[test]
fn error_recovery_belongs_to_each_block_namespace() {
    let mut bench = Bench::enabled(CC_ALL);
    let of = |select| get(BLOCK, fid::ERROR_RECOVERY, select, 0);
    assert_eq!([Current, Default, Saved, Supported].map(|s| bench.result(&of(s))), [0, 0, 0, 0b110]);
    assert_eq!(bench.result(&set(BLOCK, fid::ERROR_RECOVERY, 0x0001_2345 & 0xFFFF)), 0);
    assert_eq!((bench.result(&of(Current)), bench.result(&of(Default))), (0x2345, 0));
    assert_eq!(bench.result(&set(NSID_ALL, fid::ERROR_RECOVERY, 7)), 0);
    assert_eq!(bench.result(&of(Current)), 7);
    let dulbe = set(BLOCK, fid::ERROR_RECOVERY, 1 << 16 | 9);
    assert_eq!(bench.refusal(&dulbe), Status::INVALID_FIELD, "NSFEAT says that there is no such error");
    let save = SetFeatures { nsid: BLOCK, fid: fid::ERROR_RECOVERY, save: true, cdw11: 9 };
    assert_eq!(bench.refusal(&build::set_features(&save)), Status::FEATURE_NOT_SAVEABLE);
    for nsid in [0, KV, INACTIVE, 1025] {
        let status = Status::INVALID_NAMESPACE_OR_FORMAT;
        assert_eq!(bench.refusal(&set(nsid, fid::ERROR_RECOVERY, 1)), status, "{nsid:#x}");
        assert_eq!(bench.refusal(&get(nsid, fid::ERROR_RECOVERY, Current, 0)), status, "{nsid:#x}");
    }
    assert_eq!(bench.result(&of(Current)), 7, "refusals change nothing");
    reset(&mut bench);
    assert_eq!(bench.result(&of(Current)), 0, "a reset does");
}

/// CC.EN to 0 and back.
fn reset(bench: &mut Bench) {
    bench.write_cc(0);
    bench.controller.disabled(&bench.regs);
    bench.write_cc(CC_ALL);
    bench.controller.ready(&bench.regs);
}

const HOST: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

#[test]
fn a_host_identifier_is_fetched_and_told() {
    let mut bench = Bench::enabled(CC_ALL);
    let of = |exhid| get(0, fid::HOST_IDENTIFIER, Current, exhid);
    assert_eq!((bench.data(&of(0)), bench.data(&of(1))), (vec![0; 8], vec![0; 16]));
    assert_eq!(bench.get(fid::HOST_IDENTIFIER, Supported), CHANGEABLE);
    for (exhid, extended) in [(0, false), (1, true)] {
        let action = bench.action(&set(0, fid::HOST_IDENTIFIER, exhid));
        assert_eq!(action, Action::SetHostIdentifier { extended });
        bench.controller.note_host_identifier(HOST, extended);
        assert_eq!(bench.data(&of(exhid)), HOST[..if extended { 16 } else { 8 }]);
        assert_eq!(bench.refusal(&of(1 - exhid)), Status::HOST_ID_INCONSISTENT_FORMAT);
    }
    assert_eq!(bench.data(&get(0, fid::HOST_IDENTIFIER, Default, 1)), vec![0; 16]);
    assert_eq!(bench.refusal(&set(KV, fid::HOST_IDENTIFIER, 1)), Status::FEATURE_NOT_NAMESPACE_SPECIFIC);
    reset(&mut bench);
    assert_eq!(bench.data(&of(1)), vec![0; 16]);
}

#[test]
fn over_fabrics_connect_names_the_host_and_the_keep_alive_time() {
    let mut bench = Bench::of(Identity { transport: Transport::Fabrics, ..identity() }, CC_ALL);
    bench.controller.note_host_identifier(HOST, true);
    bench.controller.connect_keep_alive(15_000);
    for _ in 0..2 {
        assert_eq!(bench.data(&get(0, fid::HOST_IDENTIFIER, Current, 1)), HOST);
        assert_eq!(bench.refusal(&get(0, fid::HOST_IDENTIFIER, Current, 0)), Status::INVALID_FIELD);
        assert_eq!(bench.refusal(&set(0, fid::HOST_IDENTIFIER, 1)), Status::COMMAND_SEQUENCE_ERROR);
        assert_eq!(bench.get(fid::HOST_IDENTIFIER, Supported), 0);
        assert_eq!(
            (bench.get(fid::KEEP_ALIVE_TIMER, Current), bench.controller.keep_alive_ms()),
            (15_000, 15_000)
        );
        assert_eq!(bench.get(fid::KEEP_ALIVE_TIMER, Default), 15_000);
        bench.result(&set(0, fid::KEEP_ALIVE_TIMER, 0));
        assert_eq!(bench.controller.keep_alive_ms(), 0, "switched off");
        reset(&mut bench);
    }
}
