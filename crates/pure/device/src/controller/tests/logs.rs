// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Get Log Page.

use saker_nvme::admin::{GetLogPage, build};
use saker_nvme::vendor_specific::{Capabilities, Methods};
use saker_nvme::{NSID_ALL, Sqe, Status, csi};
use zerocopy::IntoBytes;

use super::support::*;
use crate::controller::{Identity, Transport};
use crate::stats::HealthCounters;

fn page(bench: &mut Bench, lid: u8, bytes: u64, csi: u8) -> Vec<u8> {
    let data = bench.data(&build::get_log_page(&log(lid, bytes, csi)));
    assert_eq!(data.len() as u64, bytes);
    data
}

#[test]
fn supported_pages_are_listed() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = page(&mut bench, 0x00, 1024, 0);
    let supported: Vec<_> = (0..256).filter(|lid| u32_at(&data, lid * 4) == 1).collect();
    assert_eq!(supported, [0, 1, 2, 3, 4, 5]);
    for lid in 0..=255 {
        let outcome = bench.admin(&build::get_log_page(&log(lid, 4, 0)));
        let expected = if lid <= 5 { Status::SUCCESS } else { Status::INVALID_LOG_PAGE };
        assert_eq!(outcome.status, expected, "{lid:#x}");
    }
}

#[test]
fn errors_are_logged_the_latest_first() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(page(&mut bench, 0x01, 1024, 0), vec![0; 1024]);
    bench.refusal(&Sqe::new(0x7F, 3).with_cid(0x1234));
    let retrieve = Sqe::new(0x02, KV).with_cid(9);
    bench.controller.note_failure(2, &retrieve, csi::KV, Status::UNRECOVERED_ERROR);
    for answer in [Status::KEY_DOES_NOT_EXIST, Status::KEY_EXISTS, Status::COMPARE_FAILURE] {
        bench.controller.note_failure(2, &retrieve, csi::KV, answer);
    }
    let data = page(&mut bench, 0x01, 1024, 0);
    let status = Status::UNRECOVERED_ERROR.to_word(false);
    assert_eq!((u64_at(&data, 0), u16_at(&data, 8), u16_at(&data, 10), u16_at(&data, 12)), (2, 2, 9, status));
    assert_eq!((u16_at(&data, 14), u32_at(&data, 24), data[30], data[31], data[63]), (0xFFFF, KV, 1, 2, 1));
    // 01h with DNR: bits 15:1 of the word.
    assert_eq!((u64_at(&data, 64), u16_at(&data, 72), u16_at(&data, 74)), (1, 0, 0x1234));
    assert_eq!((u16_at(&data, 76), u32_at(&data, 88), data[94], data[95]), (0x8002, 3, 0, 0x7F));
    assert_eq!(data[128..], [0; 1024 - 128]);
}

#[test]
fn the_error_log_keeps_the_last_sixteen() {
    let mut bench = Bench::enabled(CC_ALL);
    for _ in 0..20 {
        bench.refusal(&Sqe::new(0x7F, 0));
    }
    let data = page(&mut bench, 0x01, 1024, 0);
    let counts: Vec<_> = data.chunks_exact(64).map(|entry| u64_at(entry, 0)).collect();
    assert_eq!(counts, (5..=20).rev().collect::<Vec<_>>());
    assert_eq!(u64_at(&page(&mut bench, 0x02, 512, 0), 176), 20);
}

#[test]
fn health_counts_commands_and_data() {
    let mut bench = Bench::enabled(CC_ALL);
    let mut counters = HealthCounters::default();
    counters.read(512_000);
    counters.read(1);
    counters.wrote(512);
    counters.media_errors = 1;
    bench.controller.note_counters(counters);
    let data = page(&mut bench, 0x02, 512, 0);
    assert_eq!((data[0], u16_at(&data, 1), data[3], data[4], data[5]), (0, 313, 100, 10, 0));
    let counters = [32, 48, 64, 80, 160, 176].map(|at| u64_at(&data, at));
    assert_eq!(counters, [2, 1, 2, 1, 1, 0]);
    let of = |nsid| build::get_log_page(&GetLogPage { nsid, ..log(0x02, 512, 0) });
    assert_eq!(bench.data(&of(NSID_ALL)), data);
    assert_eq!(bench.refusal(&of(KV)), Status::INVALID_FIELD);
}

#[test]
fn there_is_one_firmware() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = page(&mut bench, 0x03, 512, 0);
    assert_eq!((data[0], &data[8..16], &data[16..512]), (1, &b"0.1.0   "[..], &[0; 496][..]));
}

#[test]
fn effects_depend_on_the_command_set() {
    let io = |data: &[u8]| -> Vec<(usize, u32)> {
        let all = (0..256).map(|opcode| (opcode, u32_at(data, 1024 + opcode * 4)));
        all.filter(|(_, effects)| *effects != 0).collect()
    };
    let kv = [(0x00, 1), (0x01, 3), (0x02, 1), (0x06, 1), (0x10, 3), (0x14, 1)];
    let nvm = [(0, 1), (1, 3), (2, 1), (5, 1), (8, 3), (9, 3), (0x0C, 1), (0x19, 3)];
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(io(&page(&mut bench, 0x05, 4096, 1)), kv);
    assert_eq!(io(&page(&mut bench, 0x05, 4096, 0)), nvm);
    assert_eq!(bench.refusal(&build::get_log_page(&log(0x05, 4096, 2))), Status::INVALID_FIELD);
    let mut bench = Bench::enabled(CC_NVM);
    assert_eq!(io(&page(&mut bench, 0x05, 4096, 1)), nvm);
    let mut bench = Bench::enabled(CC_ADMIN);
    let admin_only = page(&mut bench, 0x05, 4096, 0);
    assert_eq!((io(&admin_only), u32_at(&admin_only, 0x06 * 4)), (vec![], 1));
}

#[test]
fn every_admin_command_with_effects_is_decided() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = page(&mut bench, 0x05, 4096, 0);
    for opcode in 0..=255_u8 {
        let listed = u32_at(&data, usize::from(opcode) * 4) & 1 != 0;
        let known = bench.admin(&Sqe::new(opcode, 0)).status != Status::INVALID_OPCODE;
        assert_eq!(listed, known, "{opcode:#x}");
    }
}

#[test]
fn effects_name_what_the_transport_offers() {
    let of = |transport, csi| {
        let mut bench = Bench::of(Identity { transport, ..identity() }, CC_ALL);
        let data = page(&mut bench, 0x05, 4096, csi);
        let named =
            |from: usize| (0..256).filter(|n| u32_at(&data, from + n * 4) & 1 != 0).collect::<Vec<_>>();
        (named(0), named(1024))
    };
    let memory = [0, 1, 2, 4, 5, 6, 8, 9, 0x0A, 0x0C, 0x18, 0x80];
    assert_eq!(of(Transport::Memory, 1), (memory.to_vec(), vec![0, 1, 2, 6, 0x10, 0x14]));
    // Queues are connections; 7Fh is the Fabrics commands.
    let fabrics = vec![2, 6, 8, 9, 0x0A, 0x0C, 0x18, 0x7F, 0x80];
    assert_eq!(of(Transport::Fabrics, 1), (fabrics, vec![0, 1, 2, 6, 0x10, 0x14, 0x7F]));
    let discovery = vec![2, 6, 8, 9, 0x0A, 0x0C, 0x18, 0x7F];
    assert_eq!(of(Transport::Discovery, 0), (discovery, vec![0x7F]));
}

#[test]
fn pages_are_cut_to_offset_and_length() {
    let mut bench = Bench::enabled(CC_ALL);
    let whole = page(&mut bench, 0x05, 4096, 1);
    let part = GetLogPage { offset: 1024, ..log(0x05, 8, 1) };
    assert_eq!(bench.data(&build::get_log_page(&part)), whole[1024..1032]);
    let over_the_end = GetLogPage { offset: 508, ..log(0x03, 8, 0) };
    assert_eq!(bench.data(&build::get_log_page(&over_the_end)), [0; 8]);
    for offset in [512, 4096, u64::MAX - 3] {
        let beyond = GetLogPage { offset, ..log(0x03, 4, 0) };
        assert_eq!(bench.refusal(&build::get_log_page(&beyond)), Status::INVALID_FIELD);
    }
    let indexed = GetLogPage { offset_is_index: true, ..log(0x01, 64, 0) };
    assert_eq!(bench.refusal(&build::get_log_page(&indexed)), Status::INVALID_FIELD);
    assert_eq!(page(&mut bench, 0x03, 4 << 20, 0)[512..], vec![0; (4 << 20) - 512]);
    for bytes in [(4 << 20) + 4, 1 << 34] {
        assert_eq!(bench.refusal(&build::get_log_page(&log(0x03, bytes, 0))), Status::INVALID_FIELD);
    }
}

#[test]
fn vendor_commands_are_told_in_their_pages() {
    let methods = Methods::default().with_piggyback(true).with_retrieve_tiny(true);
    let page_of = Capabilities::new(methods, 1000, 2000, 3000);
    let mut bench = Bench::of(Identity { vendor: Some(page_of), ..identity() }, CC_ALL);
    let data = page(&mut bench, 0x00, 1024, 0);
    let supported: Vec<_> = (0..256).filter(|lid| u32_at(&data, lid * 4) == 1).collect();
    assert_eq!(supported, [0, 1, 2, 3, 4, 5, 0xC0, 0xC1, 0xC2, 0xC3]);
    assert_eq!(page(&mut bench, 0xC0, 64, 0), page_of.as_bytes());
    let io = |data: &[u8]| -> Vec<(usize, u32)> {
        let effects = (0xC0..256).map(|opcode| (opcode, u32_at(data, 1024 + opcode * 4)));
        effects.filter(|(_, effects)| *effects != 0).collect()
    };
    // CSUPP, and LBCC of what stores: only the commands of these methods, only for Key Value.
    let kv = page(&mut bench, 0x05, 4096, csi::KV);
    assert_eq!(io(&kv), [(0xC0, 0b11), (0xC4, 0b11), (0xD4, 0b01)]);
    assert_eq!(io(&page(&mut bench, 0x05, 4096, csi::NVM)), []);
}
