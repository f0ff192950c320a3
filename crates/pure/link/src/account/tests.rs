// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Byte counts by hand, and the table of methods, through the real encoders.

use super::{Data, LinkBytes, Rule, TlpShape, Traffic};
use proptest::prelude::*;
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::vendor_specific;
use saker_nvme::{Key, Sqe};

const SHAPE: TlpShape = TlpShape { overhead_bytes: 24, payload_bytes_max: 256, read_request_bytes_max: 512 };

/// One command at a time: each rings both doorbells.
fn commands(entries: &[Sqe]) -> Traffic {
    let n = entries.len() as u64;
    Traffic { sqe_fetches: n, cqes: n, sq_doorbells: n, cq_doorbells: n, ..Traffic::default() }
}

fn key() -> Key {
    Key::new(b"key4").expect("4 bytes")
}

fn prp(value: &[u8]) -> Traffic {
    let mut t = commands(&[kv::store(1, &key(), value.len() as u32, StoreOptions::NONE)]);
    t.to_device.add_pages(value.len().div_ceil(4096) as u64);
    t
}

fn sgl(value: &[u8]) -> Traffic {
    let mut t = commands(&[kv::store(1, &key(), value.len() as u32, StoreOptions::NONE)]);
    t.to_device.add_exact(0x1000, value.len() as u64);
    t
}

fn piggyback(value: &[u8]) -> Traffic {
    let mut entries = vec![vendor_specific::store_piggyback(1, &key(), value, StoreOptions::NONE)];
    let rest = value.get(vendor_specific::PIGGYBACK_BYTES..).unwrap_or_default();
    let parts = rest.chunks(vendor_specific::TRANSFER_BYTES).enumerate();
    entries.extend(parts.map(|(n, part)| vendor_specific::transfer(1, n as u32 + 1, part)));
    assert_eq!(entries.len() as u32, vendor_specific::piggyback_commands(value.len() as u32));
    commands(&entries)
}

fn hybrid(value: &[u8]) -> Traffic {
    let pages = value.len() / 4096;
    let parts = value[pages * 4096..].chunks(vendor_specific::TRANSFER_BYTES).enumerate();
    let mut entries: Vec<_> = parts.map(|(n, part)| vendor_specific::tail(1, n as u32, part)).collect();
    assert_eq!(entries.len() as u32, vendor_specific::tail_commands(value.len() as u32));
    let rest = &value[pages * 4096..];
    entries.push(vendor_specific::store_hybrid(1, &key(), value.len() as u32, rest, StoreOptions::NONE));
    let mut t = commands(&entries);
    t.to_device.add_pages(pages as u64);
    t
}

fn inline(value: &[u8]) -> Traffic {
    let mut t = commands(&[vendor_specific::store_inline(1, &key(), value.len() as u32, StoreOptions::NONE)]);
    t.inline_slots = u64::from(vendor_specific::inline_slots(value.len() as u32));
    t
}

fn protocol(t: &Traffic) -> u64 {
    t.bytes(&Rule::Protocol).total()
}

/// Value bytes; PRP; piggyback (commands); inline (entries); SGL. BandSlim sections 3.2 and 4.2 at 88 bytes a command.
const TABLE: [[u64; 7]; 12] = [
    [4, 4184, 88, 1, 152, 2, 92],
    [35, 4184, 88, 1, 152, 2, 123],
    [36, 4184, 176, 2, 152, 2, 124],
    [64, 4184, 176, 2, 152, 2, 152],
    [91, 4184, 176, 2, 216, 3, 179],
    [92, 4184, 264, 3, 216, 3, 180],
    [128, 4184, 264, 3, 216, 3, 216],
    [256, 4184, 440, 5, 344, 5, 344],
    [512, 4184, 880, 10, 600, 9, 600],
    [1024, 4184, 1672, 19, 1112, 17, 1112],
    [2048, 4184, 3256, 37, 2136, 33, 2136],
    [4096, 4184, 6512, 74, 4184, 65, 4184],
];

#[test]
fn the_table_of_methods_to_the_byte() {
    for row in TABLE {
        let value = vec![7; row[0] as usize];
        let (p, i) = (piggyback(&value), inline(&value));
        let entries = i.sqe_fetches + i.inline_slots;
        let counted = [
            row[0],
            protocol(&prp(&value)),
            protocol(&p),
            p.sqe_fetches,
            protocol(&i),
            entries,
            protocol(&sgl(&value)),
        ];
        assert_eq!(counted, row);
    }
}

#[test]
fn hybrid_is_a_page_and_the_commands_of_its_tail() {
    let tails = [4, 56, 128, 256, 512, 1024, 2048].map(|t| protocol(&hybrid(&vec![7; 4096 + t])));
    assert_eq!(tails, [4272, 4272, 4448, 4624, 5064, 5856, 7440]);
}

#[test]
fn four_rules_count_one_store_of_32_bytes() {
    let (page, small) = (prp(&[7; 32]), piggyback(&[7; 32]));
    let all = |t: &Traffic| Rule::all(SHAPE).map(|rule| t.bytes(&rule));
    let by = |to_device, to_host, mmio_apart| LinkBytes { to_device, to_host, mmio_apart };
    assert_eq!(
        all(&page),
        [
            by(64 + 4096, 0, 0),
            by(64 + 8 + 4096, 16, 0),
            by(64 + 4096, 64, 8),
            // The page comes in 8 requests and 16 packets.
            by(88 + 2 * 28 + 4096 + 16 * 24, 24 + 40 + 8 * 24, 0),
        ]
    );
    assert_eq!(all(&small), [by(64, 0, 0), by(72, 16, 0), by(64, 64, 8), by(88 + 2 * 28, 24 + 40, 0)]);
}

#[test]
fn both_directions_stores_and_lists() {
    let mut t = Traffic { mmio_bytes: 100, mmio_stores: 2, cq_slots: 3, ..Traffic::default() };
    t.to_host.add_exact(60, 8);
    t.lists.add_exact(0x2000, 24);
    let by = |rule| t.bytes(&rule);
    assert_eq!(by(Rule::SqeOnly), LinkBytes { to_device: 100, to_host: 8, mmio_apart: 0 });
    assert_eq!(by(Rule::Protocol), LinkBytes { to_device: 100, to_host: 8 + 48, mmio_apart: 0 });
    assert_eq!(by(Rule::PcmLines), LinkBytes { to_device: 64, to_host: (2 + 3) * 64, mmio_apart: 100 });
    let tlp = LinkBytes { to_device: 148 + 24 + 24, to_host: 3 * 40 + 24 + 8 + 24, mmio_apart: 0 };
    assert_eq!(by(Rule::Tlp(SHAPE)), tlp);
}

proptest! {
    /// A transfer touches the units that a walk over its bytes finds.
    #[test]
    fn units_are_those_that_bytes_fall_into(start in 0u64..20_000, bytes in 0u64..20_000, shift in 6u32..=12) {
        let mut data = Data::default();
        data.add_exact(start, bytes);
        let units: std::collections::BTreeSet<_> = (start..start + bytes).map(|at| at >> shift).collect();
        prop_assert_eq!(data.units(1 << shift), units.len() as u64);
        prop_assert_eq!(data.bytes(), bytes);
    }

    #[test]
    fn pages_are_exact_transfers_of_pages(pages in 0u64..9, shift in 6u32..=12) {
        let (mut whole, mut exact) = (Data::default(), Data::default());
        whole.add_pages(pages);
        exact.add_exact(0x5000, pages * 4096);
        prop_assert_eq!(whole.units(1 << shift), exact.units(1 << shift));
        prop_assert_eq!(whole.bytes(), exact.bytes());
        prop_assert_eq!((whole + exact) - exact, whole);
    }
}
